"""Decoders in which some layers have no rotation."""

from __future__ import annotations

from ordinate.checkpoints.layer_kinds import by_pattern
from ordinate.checkpoints.layer_lists import listed
from ordinate.checkpoints.layer_nope import by_bases, exaone, llama4, smollm3
from ordinate.checkpoints.layer_prefix import cohere2_moe
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.record import RotaryType

EXAONE4 = RotaryType(layers=exaone(window=4096, period=4, key="sliding_window_pattern"), defaults={"max_position_embeddings": 2048})


def _granite(length: int) -> RotaryType:
    return RotaryType(
        scale="attention_multiplier",
        layers=by_bases(by_pattern(period=4, full_first=True, window=128), base=10000.0, rests=lambda *_: False),
        defaults={"max_position_embeddings": length, "attention_multiplier": 1.0},
    )


def _muse(length: int, *, base: float, head_dim: int) -> RotaryType:
    return RotaryType(
        layers=by_bases(listed(_fourth_from_last, window=2048), base=base, rests=_fourth_from_last),
        rope=RopeKeys(base=base),
        defaults={"max_position_embeddings": length, "head_dim": head_dim},
    )


def _fourth_from_last(layer: int, count: int) -> bool:
    return (count - 1 - layer) % 4 == 0


NOPE: dict[str, RotaryType] = {
    "afmoe": RotaryType(
        layers=by_pattern(keys=("global_attn_every_n_layers",), period=4, window=1024, turns_only_sliding=True, list_counts=True),
        defaults={"max_position_embeddings": 16384, "head_dim": 128},
    ),
    "exaone4": EXAONE4,
    "exaone_moe": EXAONE4,
    "flint": RotaryType(
        layers=listed(lambda layer, count: layer < 2 or layer % 4 == 1 or layer == count - 1, window=513, turns_only_sliding=True),
        defaults={"max_position_embeddings": 262144, "head_dim": 128},
    ),
    "granite_swa": _granite(8192),
    "granitemoe_swa": _granite(2048),
    "muse_glimmer_text": _muse(131072, base=10000.0, head_dim=128),
    "muse_spark_text": _muse(1048576, base=500000.0, head_dim=64),
    "kolibri1": RotaryType(layers=exaone(window=513, period=5), defaults={"max_position_embeddings": 262144, "head_dim": 128}),
    "cohere2": RotaryType(
        layout="interleaved",
        arithmetic="mixed",
        head="divided",
        layers=by_pattern(keys=("sliding_window_pattern",), period=4, window=4096, turns_only_sliding=True),
        defaults={"max_position_embeddings": 8192},
        values={
            "position_embedding_type": ("rope_gptj",),
            "rotary_pct": (1, 1.0),
            "order_of_interleaved_layers": ("local_attn_first",),
        },
    ),
    "cohere2_moe": RotaryType(
        layout="interleaved",
        arithmetic="mixed",
        layers=cohere2_moe,
        defaults={"max_position_embeddings": 8192, "head_dim": 128},
    ),
    "smollm3": RotaryType(layers=smollm3, rope=RopeKeys(base=2e6), defaults={"max_position_embeddings": 32768}),
    "llama4_text": RotaryType(
        layout="interleaved",
        arithmetic="float32",
        layers=llama4,
        query_scale="logarithm",
        rope=RopeKeys(base=500000.0),
        defaults={
            "max_position_embeddings": 131072,
            "head_dim": 128,
        },
    ),
}
