"""Decoders of text, images and videos, whose tokens have a time, a row and a column."""

from __future__ import annotations

from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

MROPE = {"mrope": "default"}

MULTIMODAL: dict[str, RotaryType] = {
    "qwen2_vl_text": RotaryType(
        head="divided",
        rope=RopeKeys(base=1000000.0, sections=(16, 24, 24), aliases=MROPE),
        defaults={"max_position_embeddings": 32768},
    ),
}
