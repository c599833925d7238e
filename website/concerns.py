"""Which schemes a kind of fault and a decision concern."""

from __future__ import annotations

ROTARY = ("rope", "axial_rope", "multimodal_rope", "entrywise_rope")
RELATIVE = ("shaw", "t5", "deberta", "transformer_xl")
INPUT = ("sinusoidal", "learned")
ALL = (*INPUT, *ROTARY, "alibi", *RELATIVE)

# By kind, as in ordinate.faults.
FAULTS: dict[str, tuple[str, ...]] = {
    "config-key-dropped": ("rope", "multimodal_rope", "learned", "t5", "deberta"),
    "per-layer-schedule": ("rope", "nope"),
    "partial-rotary": ("rope",),
    "yarn-magnitude": ("rope",),
    "longrope-switch": ("rope",),
    "dynamic-ntk": ("rope",),
    "low-precision-phase": ("sinusoidal", *ROTARY),
    "backend-dtype": ("rope", "axial_rope"),
    "layout-mismatch": ROTARY,
    "fused-kernel-shape": ("rope",),
    "decode-offset": ALL,
    "packed-positions": ALL,
    "mask-blind-positions": ALL,
    "mrope-index": ("multimodal_rope",),
    "grid-order-and-resize": ("learned", "axial_rope", "multimodal_rope"),
    "context-parallel-slice": ALL,
    "cos-sin-range": ("rope", "axial_rope"),
    "alibi-slopes": ("alibi",),
    "alibi-geometry": ("alibi",),
    "relative-index-logic": RELATIVE,
    "sinusoid-construction": ("sinusoidal", "transformer_xl"),
    "table-range-and-base": ("learned",),
    "derived-keys-in-checkpoint": ("sinusoidal", "rope"),
    "derived-buffer-uninit": ("sinusoidal", "rope", "alibi"),
    "cache-key-and-sharing": ("sinusoidal", "learned", "rope", "alibi"),
    "compile-unfriendly": ("sinusoidal", "rope", "alibi"),
    "provenance-mix": ("learned", "rope"),
}
# By number, as the files of docs/decisions begin.
DECISIONS: dict[int, tuple[str, ...]] = {
    1: ("sinusoidal", *ROTARY, "transformer_xl"),
    3: ("alibi", *RELATIVE),
    4: ("sinusoidal",),
    9: ("shaw", "deberta", "transformer_xl"),
    10: ("t5", "deberta"),
    12: ("rope", "multimodal_rope", "entrywise_rope"),
    16: ("rope", "multimodal_rope"),
    17: ("axial_rope", "multimodal_rope", "entrywise_rope"),
    18: ("multimodal_rope",),
    19: ("shaw", "transformer_xl"),
    20: ("rope", "axial_rope", "multimodal_rope"),
    21: ("alibi", "t5"),
    22: ("rope",),
}
