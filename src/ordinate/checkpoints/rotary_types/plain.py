"""Decoders whose layers are all alike and turn whole heads of pairs that lie half a head apart."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_counts import of_cycles
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

LLAMA3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
APERTUS = RotaryType(
    rope=RopeKeys(base=12e6, absent={**LLAMA3, "factor": 8.0, "original_max_position_embeddings": 8192}),
    defaults={"max_position_embeddings": 65536},
)
HIGGS = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 0.125, "high_freq_factor": 0.5}
HUNYUAN = RotaryType(
    rope=RopeKeys(ntk_alpha=True),
    normed_after=True,
    values={"use_rotary_pos_emb": (True,)},
    defaults={"max_position_embeddings": 2048},
)
GRANITE = RotaryType(scale="attention_multiplier", defaults={"max_position_embeddings": 2048, "attention_multiplier": 1.0})


def alike(length: int, *, base: float = 10000.0, head_dim: int | None = None) -> RotaryType:
    """Give Llama's code with other defaults.

    Args:
        length: longest sequence.
        base: of the frequencies.
        head_dim: width of a head; None divides the width among the heads.

    Returns:
        The row.

    Example:
        >>> alike(4096).defaults
        {'max_position_embeddings': 4096}
    """
    return RotaryType(
        rope=RopeKeys(base=base),
        defaults={"max_position_embeddings": length, **({} if head_dim is None else {"head_dim": head_dim})},
    )


PLAIN: dict[str, RotaryType] = {
    "llama": alike(2048),
    "apertus": APERTUS,
    "apertus1p5_text": APERTUS,
    "arcee": alike(4096),
    "aria_text": alike(2048),
    "bitnet": alike(2048, base=500000.0),
    "csm": alike(2048, base=500000.0),
    "csm_depth_decoder_model": alike(33, base=500000.0),
    "deepseek_ocr2_encoder": RotaryType(
        values={"use_sliding_window": (False,)},
        idle=("sliding_window", "max_window_layers"),
        defaults={"max_position_embeddings": 32768},
        beside="the patches of an image, which come first, see each other both ways; the queries after them look back only",
    ),
    "deepseek_ocr2_text": RotaryType(head="divided", defaults={"max_position_embeddings": 2048}),
    "diffllama": alike(2048),
    "emu3_text_model": alike(9216, base=1e6),
    "exaone": alike(4096, base=500000.0),
    "falcon_h1": alike(8192),
    "gemma": alike(8192, head_dim=256),
    "hrm_text": replace(
        alike(2048, head_dim=128),
        count=of_cycles,
        beside="tokens of an instruction, where they are marked, see all of it: the plan is of those that are not",
    ),
    "hy_v3": alike(131072, base=11158840.0, head_dim=128),
    "internlm3": alike(32768, head_dim=128),
    "iquestcoder": alike(131072, head_dim=128),
    "jais2": alike(8192),
    "jetmoe": replace(alike(4096, head_dim=128), sizes={"head_dim": "kv_channels"}),
    "olmoe": alike(4096),
    "seed_oss": alike(524288, head_dim=128),
    "solar_open": alike(131072, base=1e6, head_dim=128),
    "higgs_audio_v2": RotaryType(
        rope=RopeKeys(base=500000.0, absent={**HIGGS, "original_max_position_embeddings": 1024}),
        defaults={"max_position_embeddings": 2048, "head_dim": 128},
    ),
    "hunyuan_v1_dense": HUNYUAN,
    "hunyuan_v1_moe": HUNYUAN,
    "falcon": RotaryType(
        head="divided",
        sizes={"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embed"},
        defaults={"max_position_embeddings": 2048},
    ),
    "chameleon": RotaryType(head="divided", defaults={"max_position_embeddings": 4096}),
    "hyperclovax": RotaryType(scale="attention_multiplier", defaults={"max_position_embeddings": 2048}),
    "granite": GRANITE,
    "granitemoe": GRANITE,
    "granitemoeshared": GRANITE,
    "granite4_vision_text": GRANITE,
    "granite_docling_text": RotaryType(
        scale="attention_multiplier", defaults={"max_position_embeddings": 32768, "attention_multiplier": 0.015625}
    ),
    "olmo": RotaryType(arithmetic="float32", defaults={"max_position_embeddings": 2048}),
    "olmo2": RotaryType(arithmetic="float32", defaults={"max_position_embeddings": 2048}),
    "flex_olmo": RotaryType(arithmetic="float32", rope=RopeKeys(base=500000.0), defaults={"max_position_embeddings": 4096}),
}
