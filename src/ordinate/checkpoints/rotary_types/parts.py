"""Stacks that stand in a larger model only, or whose configuration is the larger model's."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_kinds import windowed
from ordinate.checkpoints.layer_reach import pairs_of_windows, resting
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.plain import alike
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import PARTIAL

OF_DECODER = {"num_hidden_layers": "decoder_num_hidden_layers", "num_attention_heads": "decoder_num_attention_heads"}
MOONSHINE = RotaryType(
    layout="interleaved", rope=RopeKeys(partial=PARTIAL, default_partial=0.9), defaults={"max_position_embeddings": 512}
)
STREAMING = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.8}
XCODEC2 = replace(alike(4096, head_dim=64), causal=False, counted_from="heads")
SEEN = ((16, 4), (16, 4), (16, 0), (16, 0), (16, 4), (16, 4))


def _sizes(layers: int, heads: int, width: int, length: int) -> dict[str, int]:
    return {
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "hidden_size": width,
        "max_position_embeddings": length,
    }


PARTS: dict[str, RotaryType] = {
    "moonshine_encoder": replace(MOONSHINE, causal=False),
    "moonshine_decoder": replace(MOONSHINE, sizes=OF_DECODER),
    "moonshine_streaming": RotaryType(
        layout="interleaved", rope=RopeKeys(partial=PARTIAL, absent=STREAMING), defaults={"max_position_embeddings": 4096}
    ),
    "moonshine_streaming_encoder": RotaryType(
        causal=False,
        layers=pairs_of_windows(cycle=SEEN),
        rope=RopeKeys(theta=()),
        defaults=_sizes(6, 8, 320, 4096),
        declares_reach=True,
    ),
    "moshi_depth": RotaryType(layers=resting(windowed(default=8)), rope=RopeKeys(theta=()), defaults=_sizes(6, 16, 1024, 9)),
    "neucodec": XCODEC2,
    "xcodec2": XCODEC2,
}
