"""Reading the Byte Latent Transformer: four stacks, each with its own configuration; bytes and patches are counted in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import flag, short
from ordinate.checkpoints.layer_kinds import LayerKind, Policy, declared_window, windowed
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.recording import check_leftovers
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_models import read_rotary
from ordinate.checkpoints.rotary_types import RotaryType
from ordinate.checkpoints.table_models import Reader, Stacks

LOCAL_WINDOW = "local_attention_window_len"
SIZES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings")
# Of a part that leaves them out: layers, heads, width, longest sequence; and the base.
PATCHER = ((14, 12, 768, 8192), 10000.0)
ENCODER = ((1, 16, 1024, 24576), 500000.0)
DECODER = ((9, 16, 1024, 24576), 500000.0)
GLOBAL = ((25, 16, 2048, 4096), 500000.0)


def _blt(fields: Fields) -> Stacks:
    """Read the stacks: the encoder and the decoder see bytes within a window, the global one patches."""
    if fields.has("rope_parameters"):
        fields.used.add("rope_parameters")
        fields.note("rope_parameters", fields.values["rope_parameters"], "nothing, since each part has its own")
    window = declared_window(fields, default=512, keys=(LOCAL_WINDOW,))
    encoder = _part(fields, "encoder_config", "encoder", ENCODER, _within(window))
    decoder = _part(fields, "decoder_config", "decoder", DECODER, _within(window))
    middle = _part(fields, "global_config", "global", GLOBAL, _within(None))
    stacks = (_across(encoder), middle, _across(decoder))
    if fields.take(("patch_in_forward",), flag, "a patcher of its own divides the bytes: {}", default=True):
        return (_part(fields, "patcher_config", "patcher", PATCHER, windowed(default=512)), *stacks)
    return stacks


def _part(fields: Fields, key: str, name: str, given: tuple[tuple[int, ...], float], layers: Policy) -> StackPlan:
    value: Any = fields.values.get(key)
    if value is not None and not isinstance(value, Mapping):
        fields.fault(key, f"needed a dictionary or null, got {short(value)}")
    part = fields.part(key, value if isinstance(value, Mapping) else {})
    part.sizes_given, part.defaults = False, dict(zip(SIZES, given[0], strict=True))
    part.used.add("model_type")
    kind = RotaryType(layout="interleaved", head="divided", layers=layers, rope=RopeKeys(base=given[1]))
    stack = read_rotary(part, kind)
    check_leftovers(part)
    return replace(stack, name=name)


def _within(window: int | None) -> Policy:
    """The whole's window; a part that repeats it must agree."""

    def read(fields: Fields, n_layers: int) -> list[LayerKind]:
        fields.used.add("sliding_window")
        if fields.has("sliding_window") and fields.values["sliding_window"] != window:
            got = short(fields.values["sliding_window"])
            fields.fault("sliding_window", f"cannot be honoured: needed {window}, as {LOCAL_WINDOW} says, got {got}")
        return [LayerKind(window=window)] * n_layers

    return read


def _across(stack: StackPlan) -> StackPlan:
    """Bytes and patches attend to each other without positions: who sees whom follows from the patches."""
    return replace(stack, cross_attention=LayerPlan(scheme=None, softmax_scale=stack.layers[0].softmax_scale))


READERS: dict[str, Reader] = {"blt": _blt}
