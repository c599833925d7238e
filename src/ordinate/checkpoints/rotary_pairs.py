"""Encoders and decoders that both turn queries and keys, each with a configuration of its own inside the whole (T5Gemma)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import short
from ordinate.checkpoints.layer_kinds import by_pattern
from ordinate.checkpoints.layer_sides import sides
from ordinate.checkpoints.plan import Entry, StackPlan
from ordinate.checkpoints.recording import check_leftovers
from ordinate.checkpoints.rotary_models import read_rotary
from ordinate.checkpoints.rotary_types import RotaryType
from ordinate.checkpoints.rotary_types.windows import GEMMA2, GEMMA3_ROPE
from ordinate.checkpoints.table_models import Reader, Stacks

SIZES = {"num_hidden_layers": 26, "num_attention_heads": 8, "hidden_size": 2304, "head_dim": 256, "query_pre_attn_scalar": 256}
T5GEMMA = replace(GEMMA2, defaults={**SIZES, "max_position_embeddings": 8192}, crosses=True)
T5GEMMA_ENCODER = replace(
    T5GEMMA,
    layers=by_pattern(period=2, window=4096, inclusive=True),
    causal=False,
    declares_reach=True,
    crosses=False,
    beside="flash attention sees a token less either way than the masks, which the plan follows",
)
EVERY_SIXTH = by_pattern(keys=("sliding_window_pattern",), period=6, window=4096)
T5GEMMA2 = RotaryType(
    layers=EVERY_SIXTH,
    scale="query_pre_attn_scalar",
    rope=GEMMA3_ROPE,
    defaults={**SIZES, "max_position_embeddings": 131072},
    beside="queries meet the encoder's keys, which do not turn, in the same softmax as their own: the plan is of their own",
)
T5GEMMA2_ENCODER = replace(T5GEMMA2, layers=sides(EVERY_SIXTH), causal=False, declares_reach=True, beside="")


def _t5gemma(fields: Fields) -> Stacks:
    """Read T5Gemma: two Gemma 2 stacks; attention to the encoder does not turn."""
    return _part(fields, ("encoder",), T5GEMMA_ENCODER), _part(fields, ("decoder",), T5GEMMA)


def _t5gemma2(fields: Fields) -> Stacks:
    """Read T5Gemma 2: two Gemma 3 stacks; the decoder attends to itself and the encoder in one softmax."""
    return _part(fields, ("encoder", "text_config"), T5GEMMA2_ENCODER), _part(fields, ("decoder",), T5GEMMA2)


def _part(fields: Fields, path: tuple[str, ...], kind: RotaryType) -> StackPlan:
    """Read the configuration that stands at a path of keys; what it leaves out is the type's default."""
    part, there = fields, True
    for key in path:
        part.used.add(key)
        value = part.values.get(key)
        if there and not isinstance(value, Mapping):
            part.fault(key, "needed, got nothing" if value is None else f"needed a dictionary, got {short(value)}")
        there = isinstance(value, Mapping)
        inner = part.part(key, value if isinstance(value, Mapping) else {})
        inner.used.add("model_type")
        if part is not fields:
            check_leftovers(part)
        part = inner
        if isinstance(part.values.get("vision_config"), Mapping):
            count = f"{len(part.values['vision_config'])} keys"
            became = "not read: the plan is of the text"
            part.entries.append(Entry(key=part.name("vision_config"), value=count, source=part.source, became=became))
    part.defaults, part.sizes_given = kind.defaults, False
    stack = read_rotary(part, kind)
    check_leftovers(part)
    return stack


READERS: dict[str, Reader] = {"t5gemma": _t5gemma, "t5gemma2": _t5gemma2}
