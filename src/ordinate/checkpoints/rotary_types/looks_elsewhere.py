"""Text models that also look at pictures or a standing prompt, and those whose layers are shared, run in loops or recurrent."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_blocks import attention_blocks, dory, griffin
from ordinate.checkpoints.layer_kinds import windowed
from ordinate.checkpoints.layer_mixes import HYBRID, mixed, only_with, zamba2
from ordinate.checkpoints.layer_sources import mllama, reference
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.plain import alike
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import PARTIAL
from ordinate.checkpoints.rotary_types.windows import YARN_128K

LOOKS_ELSEWHERE: dict[str, RotaryType] = {
    "mllama_text_model": replace(alike(131072, base=500000.0), head="divided", layers=mllama, crosses=True),
    "idefics": replace(alike(2048), head="divided", crosses=True, counted_from="mask"),
    "unlimited_ocr_text": replace(alike(32768), head="divided", layers=reference),
    "dory": RotaryType(
        count=attention_blocks,
        layers=dory,
        rope=RopeKeys(base=1e7, local_base=1e4, per_type=True),
        defaults={"max_position_embeddings": 8192, "head_dim": 256},
        beside="queries are scaled by channel after they turn: scheme.queries and scheme.keys, the scales, attend without a scheme",
    ),
    "zamba2": RotaryType(
        head="doubled",
        scale="half_head",
        layers=only_with("use_mem_rope", True, mixed(zamba2, attends=(HYBRID,), list_keys=("layers_block_type", "layer_types"))),
        defaults={"max_position_embeddings": 4096},
        values={"use_long_context": (False,)},
    ),
    "recurrent_gemma": RotaryType(
        head="divided",
        endless=True,
        layers=griffin,
        rope=RopeKeys(partial=PARTIAL, default_partial=0.5, types=("default",)),
    ),
    "phimoe": RotaryType(
        layers=windowed(),
        rope=RopeKeys(base=1e6, types=("default", "longrope"), two_magnitudes=True),
        defaults={"max_position_embeddings": 131072},
        beside="transformers divides by LongRoPE's short factors at any length; here the long ones count beyond the trained one",
    ),
    "openai_privacy_filter": RotaryType(
        layout="interleaved",
        causal=False,
        layers=windowed(default=128, inclusive=True),
        rope=RopeKeys(base=150000.0, absent={**YARN_128K, "original_max_position_embeddings": 4096}),
        defaults={"max_position_embeddings": 131072, "head_dim": 64},
        declares_reach=True,
        beside="queries and keys are each multiplied by head_dim^-0.25 after they turn, which the softmax scale does here at once",
    ),
}
