"""Encoders of images that turn queries and keys: what their configurations do not say."""

from ordinate.checkpoints.axial_types.merged import MERGED_TYPES
from ordinate.checkpoints.axial_types.others import OTHER_AXIAL_TYPES
from ordinate.checkpoints.axial_types.record import AxialType as AxialType
from ordinate.checkpoints.axial_types.segmenters import SEGMENTERS

AXIAL_TYPES: dict[str, AxialType] = {**MERGED_TYPES, **OTHER_AXIAL_TYPES, **SEGMENTERS}
