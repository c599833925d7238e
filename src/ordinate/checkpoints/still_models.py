"""Reading decoders that have no position scheme at all: their recurrent layers tell order, their attention does not."""

from __future__ import annotations

from collections.abc import Sequence

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, Reading, short, whole
from ordinate.checkpoints.layer_kinds import FULL
from ordinate.checkpoints.layer_mixes import LINEAR, OLD
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.table_models import Reader, Stacks

# Settings of a rotation, which published files have and no layer reads.
OF_ROTATIONS = ("rope_theta", "rope_parameters", "rope_scaling", "partial_rotary_factor")
MIXERS = (FULL, LINEAR, "moe", "mlp")
LETTERS = {"M": LINEAR, "E": "moe", "*": FULL, "-": "mlp"}


def _jamba(fields: Fields) -> Stacks:
    """Read Jamba: one layer of each period attends."""
    n_layers = fields.size(("num_hidden_layers",), "{} layers", most=MOST_LAYERS)
    period = fields.take(("attn_layer_period",), whole(least=1), "one layer of each {} attends", default=8)
    offset = fields.take(("attn_layer_offset",), whole(), "the first of them is layer {}", default=4)
    if not fields.faults and offset >= period:
        fields.fault("attn_layer_offset", f"needed less than attn_layer_period = {period}, got {offset}")
    kinds = [FULL if layer % period == offset else LINEAR for layer in range(n_layers)]
    return (_stack(fields, kinds, max_length=262144, head_dim=None),)


def _nemotron_h(fields: Fields) -> Stacks:
    """Read Nemotron-H: a list or a row of letters says what each layer is."""
    keys = ("layers_block_type", "layer_types")
    fields.used.update((*keys, "hybrid_override_pattern"))
    kinds: tuple[str, ...] = (FULL,)
    if fields.has(*keys):  # then the letters are not read
        kinds = fields.take(keys, _known, "types of the layers")
    elif fields.has("hybrid_override_pattern"):
        kinds = fields.take(("hybrid_override_pattern",), _spelled_out, "types of the layers, a letter each")
    else:
        fields.fault(keys[0], "needed, got nothing (nor layer_types, hybrid_override_pattern)")
    if fields.has("num_hidden_layers") and not fields.faults:
        n_layers = fields.take(("num_hidden_layers",), whole(), "{} layers")
        if n_layers != len(kinds):
            fields.fault("num_hidden_layers", f"needed {len(kinds)}, as many as layers are listed, got {n_layers}")
    return (_stack(fields, kinds, max_length=4096, head_dim=128),)


def _known(value: object) -> Reading[tuple[str, ...]]:
    if not isinstance(value, (list, tuple)) or not 0 < len(value) <= MOST_LAYERS:
        return (FULL,), f"needed a list of 1 to {MOST_LAYERS} layer types, got {short(value)}"
    names = tuple(OLD.get(name, name) if isinstance(name, str) else name for name in value)
    wrong = next((name for name in names if name not in MIXERS), None)
    return (names, "") if wrong is None and None not in names else ((FULL,), f"needed {', '.join(MIXERS)}, got {short(wrong)}")


def _spelled_out(value: object) -> Reading[tuple[str, ...]]:
    if not isinstance(value, str) or not 0 < len(value) <= MOST_LAYERS or not set(value) <= set(LETTERS):
        return (FULL,), f"needed 1 to {MOST_LAYERS} letters of {' '.join(LETTERS)}, got {short(value)}"
    return tuple(LETTERS[letter] for letter in value), ""


def _stack(fields: Fields, kinds: Sequence[str], *, max_length: int, head_dim: int | None) -> StackPlan:
    for key in OF_ROTATIONS:
        fields.used.add(key)
        if fields.has(key):
            fields.note(key, fields.values[key], "nothing, since no layer turns")
            fields.warn(key, f"changes nothing: no layer of {fields.model_type} turns queries and keys")
    length = fields.take(("max_position_embeddings",), whole(least=1), "longest sequence {}", default=max_length)
    width = _head(fields, head_dim)
    layers = {
        kind: LayerPlan(scheme=None, softmax_scale=float(width**-0.5), kind=kind, attends=kind == FULL) for kind in set(kinds)
    }
    return StackPlan(name="decoder", causal=True, max_length=length, input=None, layers=tuple(layers[kind] for kind in kinds))


def _head(fields: Fields, default: int | None) -> int:
    """The declared width of a head, the type's, or the width divided among the heads."""
    if fields.has("head_dim") or (default is not None and "head_dim" not in fields.values):
        return fields.take(("head_dim",), whole(least=1), "width of a head {}", default=default)
    heads = fields.size(("num_attention_heads",), "{} heads")
    width = fields.size(("hidden_size",), "width {}, divided among the heads")
    if not fields.faults and width % heads:
        fields.fault("hidden_size", f"needed a multiple of the {heads} heads, got {width}")
    return max(width // heads, 1)


READERS: dict[str, Reader] = {"jamba": _jamba, "nemotron_h": _nemotron_h}
