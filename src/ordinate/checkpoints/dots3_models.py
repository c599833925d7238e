"""Reading Dots 3 Note's text model: layers with a window have heads, bases and an arithmetic of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, flag, short, whole
from ordinate.checkpoints.layer_kinds import FULL, SLIDING, types_of
from ordinate.checkpoints.layer_lists import INDEXED
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.rope_dictionary import RopeKeys, RopeSettings, read_rope
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.checkpoints.table_models import Reader, Stacks
from ordinate.checkpoints.wide_heads import WIDEST_HEAD

KEYS = RopeKeys(base=8e7, local_theta=("swa_rope_theta",), local_base=5e4, per_type=True, labels=(INDEXED, SLIDING, FULL))
DEFAULTS = {"num_hidden_layers": 46, "max_position_embeddings": 524288, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
DEFAULTS |= {"swa_head_dim": 256, "swa_qk_nope_head_dim": 192, "head_dim": 256}
CHOSEN = "an indexer, which turns vectors of its own, chooses the keys: the plan is of the attention to those"
Widths = tuple[int, int]  # first entries of a head, which stay; last ones, which turn
OwnKeys = dict[int, tuple[str, Mapping[str, Any]]]  # a layer's key as it is written, and what it holds


def _dots3(fields: Fields) -> Stacks:
    """Read the decoder: indexed layers, or full ones, and layers with a window."""
    fields.defaults = DEFAULTS
    n_layers = fields.size(("num_hidden_layers",), "{} layers", most=MOST_LAYERS)
    max_length = fields.take(("max_position_embeddings",), whole(least=1), "longest sequence {}", needed=True)
    kinds = _kinds(fields, n_layers)
    own = _by_layer(fields)
    widths = {kind: _widths(fields, kind, kinds, own) for kind in dict.fromkeys(kinds)}
    settings = _settings(fields, kinds, widths, max_length)
    window = _window(fields) if SLIDING in kinds else None
    layers = {kind: _layer(kind, widths[kind], settings[kind], window) for kind in widths}
    if INDEXED in kinds:
        fields.note("layer_types", fields.values.get("layer_types"), CHOSEN)
    plans = tuple(layers[kind] for kind in kinds)
    return (StackPlan(name="decoder", causal=True, max_length=max_length, input=None, layers=plans),)


def _kinds(fields: Fields, n_layers: int) -> list[str]:
    """The listed types, under the names that ``use_dsa`` gives them, or every fourth layer and the first two without a window."""
    given = fields.has("use_dsa") or "per_layer_config" not in fields.values
    indexed = fields.take(("use_dsa",), flag, "layers without a window choose their keys: {}", default=True)
    windows = fields.take(("use_sliding_window",), flag, "windows are on: {}", default=True)
    plain = INDEXED if indexed else FULL
    pattern = [plain if not windows or layer < 2 or layer % 4 == 1 else SLIDING for layer in range(n_layers)]
    kinds = types_of(fields, n_layers, (INDEXED, FULL, SLIDING), default=pattern)
    return [plain if given and kind != SLIDING else kind for kind in kinds]


def _widths(fields: Fields, kind: str, kinds: Sequence[str], own: OwnKeys) -> Widths:
    if kind != SLIDING or fields.has("per_layer_config"):
        found = {_own_widths(fields, own.get(layer)) for layer, name in enumerate(kinds) if name == kind}
        if len(found) > 1:
            fields.fault(
                "per_layer_config", f"cannot be honoured: needed heads alike in all layers of {kind}, got {short(sorted(found))}"
            )
        return min(found)
    head = fields.take(("swa_head_dim",), whole(least=2, most=WIDEST_HEAD), "width of a head of sliding layers {}")
    still = fields.take(("swa_qk_nope_head_dim",), whole(most=WIDEST_HEAD), "first {} entries of it stay")
    turns = fields.take(
        ("swa_qk_rope_head_dim",), whole(most=WIDEST_HEAD), "last {} entries of it turn", default=max(head - still, 0)
    )
    return _checked(fields, "swa_head_dim", (still, turns), head)


def _own_widths(fields: Fields, named: tuple[str, Mapping[str, Any]] | None) -> Widths:
    still = fields.take(("qk_nope_head_dim",), whole(most=WIDEST_HEAD), "first {} entries of a head stay")
    turns = fields.take(("qk_rope_head_dim",), whole(least=2, most=WIDEST_HEAD), "last {} entries of a head turn")
    if named is None:
        return _checked(fields, "qk_rope_head_dim", (still, turns), None)
    part = fields.part("per_layer_config", {}).part(named[0], named[1])
    still = part.take(("qk_nope_head_dim",), whole(most=WIDEST_HEAD), "first {} entries of a head stay", default=still)
    turns = part.take(("qk_rope_head_dim",), whole(most=WIDEST_HEAD), "last {} entries of a head turn", default=turns)
    return _checked(fields, "qk_rope_head_dim", (still, turns), None)


def _by_layer(fields: Fields) -> OwnKeys:
    """What single layers have of their own, by number; files write numbers as text, with zeros before them."""
    declared = fields.values.get("per_layer_config")
    found: OwnKeys = {}
    fields.used.add("per_layer_config")
    for key, value in declared.items() if isinstance(declared, Mapping) else ():
        if str(key).isdecimal() and len(str(key)) < 9 and isinstance(value, Mapping):
            found[int(key)] = (str(key), value)
        else:
            fields.fault("per_layer_config", f"needed dictionaries by layer number, got {short(key)}: {short(value)}")
    if declared is not None and not isinstance(declared, Mapping):
        fields.fault("per_layer_config", f"needed a dictionary or null, got {short(declared)}")
    return found


def _checked(fields: Fields, key: str, widths: Widths, head: int | None) -> Widths:
    still, turns = widths
    if not fields.faults and (turns < 2 or turns % 2):
        fields.fault(key, f"needed an even number of entries to turn, got {turns}")
    if not fields.faults and head is not None and head != still + turns:
        fields.fault(key, f"needed {still + turns}, those that stay and those that turn, got {head}")
    return (still, turns) if not fields.faults else (0, 2)


def _settings(fields: Fields, kinds: Sequence[str], widths: Mapping[str, Widths], max_length: int) -> dict[str, RopeSettings]:
    """The dictionary may repeat the share of a head that turns, of the declared width; the widths decide."""
    fields.used.update(("head_dim", "partial_rotary_factor"))
    if fields.has("rope_scaling"):
        fields.fault("rope_scaling", "cannot be honoured: needed rope_parameters, a dictionary for each layer type")
    declared = fields.values.get("rope_parameters")
    if isinstance(declared, Mapping):
        declared = {kind: _without_share(value) for kind, value in declared.items()}
    view = Fields(
        {**fields.values, "rope_parameters": declared}, source=fields.source, model_type=fields.model_type, prefix=fields.prefix
    )
    view.entries, view.faults, view.warnings, view.said, view.used = (
        fields.entries,
        fields.faults,
        fields.warnings,
        fields.said,
        fields.used,
    )
    return read_rope(view, KEYS, list(kinds), max_length=max_length, width=min(turns for _, turns in widths.values()))


def _without_share(value: Any) -> Any:
    return {key: part for key, part in value.items() if key != "partial_rotary_factor"} if isinstance(value, Mapping) else value


def _window(fields: Fields) -> int:
    return fields.take(("sliding_window", "sliding_window_size"), whole(least=1), "window of {} tokens", default=512)


def _layer(kind: str, widths: Widths, setting: RopeSettings, window: int | None) -> LayerPlan:
    still, turns = widths
    scheme = RopePlan(
        head_dim=still + turns,
        layout="interleaved",
        base=setting.base,
        rotary_dim=turns,
        rotary_start=still,
        scaling=setting.rule,
        arithmetic="float32" if kind == INDEXED else "input",
    )
    return LayerPlan(
        scheme=scheme, softmax_scale=float((still + turns) ** -0.5), window=window if kind == SLIDING else None, kind=kind
    )


READERS: dict[str, Reader] = {"dots3_note_text": _dots3}
