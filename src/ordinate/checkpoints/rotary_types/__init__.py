"""Model types that turn queries and keys: what their configurations do not say.

Layout, arithmetic and slice are in no configuration, but for a few keys. The tests hold every row against the model's own module.
"""

from __future__ import annotations

from ordinate.checkpoints.rotary_types.encoders import ENCODERS
from ordinate.checkpoints.rotary_types.gemma4 import GEMMA4
from ordinate.checkpoints.rotary_types.hybrids import HYBRIDS
from ordinate.checkpoints.rotary_types.latent import LATENT
from ordinate.checkpoints.rotary_types.looks_elsewhere import LOOKS_ELSEWHERE
from ordinate.checkpoints.rotary_types.multimodal import MULTIMODAL
from ordinate.checkpoints.rotary_types.nope import NOPE
from ordinate.checkpoints.rotary_types.plain import PLAIN
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.singular import SINGULAR
from ordinate.checkpoints.rotary_types.sizes import sized
from ordinate.checkpoints.rotary_types.slices import SLICES
from ordinate.checkpoints.rotary_types.speech import SPEECH
from ordinate.checkpoints.rotary_types.windows import WINDOWS

_ROWS: dict[str, RotaryType] = {**PLAIN, **SLICES, **WINDOWS, **NOPE, **LATENT, **HYBRIDS, **ENCODERS, **MULTIMODAL}
_ROWS |= {**GEMMA4, **LOOKS_ELSEWHERE, **SINGULAR, **SPEECH}
ROTARY_TYPES: dict[str, RotaryType] = {name: sized(name, kind) for name, kind in _ROWS.items()}

__all__ = ["ROTARY_TYPES", "RotaryType"]
