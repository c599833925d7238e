"""Gemma 4 and its kin: wide heads in layers that see everything, of which a share turns; narrow ones in sliding layers."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_ends import last_sees_all
from ordinate.checkpoints.layer_kinds import by_pattern
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rope_rules import TYPES
from ordinate.checkpoints.rotary_types.record import RotaryType

LOCAL = {"rope_type": "default", "rope_theta": 10000.0}
QUARTER = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
ROPE = RopeKeys(
    base=1e6,
    local_base=1e4,
    per_type=True,
    absent={"sliding_attention": LOCAL, "full_attention": QUARTER},
    types=tuple(name for name in TYPES if name != "longrope"),
    reasons={"longrope": "transformers makes no such configuration of heads of two widths"},
)
SIZES = {"max_position_embeddings": 131072, "head_dim": 256, "global_head_dim": 512}
GEMMA4_TEXT = RotaryType(
    scale="one",
    layers=last_sees_all(by_pattern(period=6, window=512)),
    rope=ROPE,
    defaults=SIZES,
    # under "all" transformers' masks see a token farther, either way, than its flash attention does
    values={"use_bidirectional_attention": ("vision",)},
    wide_heads=True,
    beside="a picture's tokens may see all of it, also what is later: the plan is of text",
)

GEMMA4: dict[str, RotaryType] = {
    "gemma4_text": GEMMA4_TEXT,
    "gemma4_unified_text": replace(
        GEMMA4_TEXT,
        layers=last_sees_all(by_pattern(period=6, window=1024)),
        defaults={**SIZES, "max_position_embeddings": 262144},
    ),
    "diffusion_gemma_text": replace(
        GEMMA4_TEXT,
        beside="the canvas's own layers turn alike, look both ways and see of the text before it what their caches keep: "
        "the plan is of the layers that read the text",
    ),
    "embedding_gemma2_text": RotaryType(
        scale="one",
        causal=False,
        layers=last_sees_all(by_pattern(keys=("sliding_window_pattern",), period=6, window=512, inclusive=True)),
        rope=replace(ROPE, absent=None),
        defaults={**SIZES, "max_position_embeddings": 262144},
        declares_reach=True,
        wide_heads=True,
    ),
}
