"""Reading DeepSeek-V4: values turn with keys, outputs back, and most layers see keys made of many tokens beside a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, number, one_of, row_of, short, whole
from ordinate.checkpoints.layer_kinds import SLIDING
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.rope_dictionary import RopeKeys, RopeSettings, read_rope
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.checkpoints.table_models import Reader, Stacks
from ordinate.checkpoints.wide_heads import WIDEST_HEAD

SPARSE, HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"
MAIN, COMPRESS = "main", "compress"
RATIOS = {0: SLIDING, 4: SPARSE, 128: HEAVY}
RATES = {SPARSE: (4, "compress_rate_csa"), HEAVY: (128, "compress_rate_hca")}
KEYS = RopeKeys(base=1e4, local_theta=("compress_rope_theta",), local_base=16e4, labels=(MAIN, COMPRESS), per_type=True)
SHARE = "partial_rotary_factor"
CHOSEN = "keys made of many tokens are chosen by an indexer, which turns vectors of its own"


def _deepseek_v4(fields: Fields) -> Stacks:
    """Read the decoder."""
    n_layers = fields.size(("num_hidden_layers",), "{} layers", most=MOST_LAYERS)
    max_length = fields.take(("max_position_embeddings",), whole(least=1), "longest sequence {}", default=1048576)
    head_dim = fields.take(("head_dim",), whole(least=2, most=WIDEST_HEAD), "width of a head {}", default=512)
    turns = _turning(fields, head_dim)
    kinds = _kinds(fields, n_layers)
    window = fields.take(("sliding_window",), whole(least=1), "window of {} tokens", default=128)
    settings = _settings(fields, turns / head_dim, max_length, turns)
    rates = _rates(fields)
    layers = {kind: _layer(kind, head_dim, turns, settings, window, rates.get(kind)) for kind in dict.fromkeys(kinds)}
    if SPARSE in kinds:
        fields.note("layer_types", fields.values.get("layer_types"), CHOSEN)
    plans = tuple(layers[kind] for kind in kinds)
    return (StackPlan(name="decoder", causal=True, max_length=max_length, input=None, layers=plans),)


def _turning(fields: Fields, head_dim: int) -> int:
    """How many of the last entries of a head turn: declared, or an eighth."""
    if fields.has(SHARE):
        turns = int(head_dim * fields.take((SHARE,), number(most=1.0), "share of the head that turns: {}"))
    else:
        turns = fields.take(("qk_rope_head_dim",), whole(most=head_dim), "last {} entries of a head turn", default=head_dim // 8)
    fields.used.update((SHARE, "qk_rope_head_dim"))
    if not fields.faults and fields.values.get("qk_rope_head_dim", turns) != turns:
        fields.fault("qk_rope_head_dim", f"needed {turns}, as {SHARE} says, got {short(fields.values['qk_rope_head_dim'])}")
    if not fields.faults and (turns < 2 or turns % 2):
        fields.fault("qk_rope_head_dim", f"needed an even number of entries to turn, got {turns} of {head_dim}")
    return turns if not fields.faults else 2


def _kinds(fields: Fields, n_layers: int) -> list[str]:
    """Listed types; or numbers of tokens that make a key, 0 for none; or a pattern. Lists may go on for layers beyond the last."""
    pattern = [HEAVY if layer < 2 or layer % 2 == 0 else SPARSE for layer in range(n_layers)]
    fields.used.update(("layer_types", "compress_ratios"))
    before = len(fields.faults)
    if fields.has("layer_types"):
        found = list(fields.take(("layer_types",), row_of(one_of(SLIDING, SPARSE, HEAVY)), "types of the layers"))
    elif fields.has("compress_ratios"):
        ratios = fields.take(("compress_ratios",), row_of(whole(most=128)), "tokens that make a key, layer by layer; 0: none")
        found = [RATIOS.get(ratio, "") for ratio in ratios]
        if "" in found and len(fields.faults) == before:
            fields.fault("compress_ratios", f"needed 0, 4 or 128, got {short(sorted(set(ratios) - set(RATIOS)))}")
    else:
        return pattern
    if len(found) < n_layers and not fields.faults:
        fields.fault("layer_types", f"needed one a layer, {n_layers}, got {len(found)} of them")
    return pattern if fields.faults else found[:n_layers]


def _rates(fields: Fields) -> dict[str, int]:
    declared = fields.values.get("compress_rates")
    if declared is not None and not isinstance(declared, Mapping):
        fields.fault("compress_rates", f"needed a dictionary or null, got {short(declared)}")
    part = fields.part("compress_rates", declared if isinstance(declared, Mapping) else {})
    found = {}
    for kind, (usual, older) in RATES.items():
        found[kind] = part.take((kind,), whole(least=1), "keys of {} tokens", default=usual)
        found[kind] = fields.take((older,), whole(least=1), "keys of {} tokens", default=found[kind])
    return found


def _settings(fields: Fields, share: float, max_length: int, turns: int) -> dict[str, RopeSettings]:
    """A flat dictionary is the rule of layers that make keys; theirs is YaRN without a magnitude, unless it says one."""
    values = {key: value for key, value in fields.values.items() if key != SHARE}
    for key in ("rope_parameters", "rope_scaling"):
        declared = values.get(key)
        if not isinstance(declared, Mapping) or not declared:
            continue
        if MAIN in declared and COMPRESS in declared:
            values[key] = {label: _without_share(fields, key, label, part, share) for label, part in declared.items()}
            _drop_bases(fields, values, declared)
            continue
        flat = {name: value for name, value in declared.items() if name != "rope_theta"}
        if declared.get("rope_theta") is not None:
            fields.fault(
                key, f"needed rope_theta and compress_rope_theta beside it, or {MAIN} and {COMPRESS} in it, got rope_theta in it"
            )
        if flat.get("rope_type", flat.get("type")) == "yarn":
            flat.setdefault("attention_factor", 1.0)
        values[key] = {COMPRESS: flat}
    view = Fields(values, source=fields.source, model_type=fields.model_type, prefix=fields.prefix)
    view.entries, view.faults, view.warnings, view.said, view.used = (
        fields.entries,
        fields.faults,
        fields.warnings,
        fields.said,
        fields.used,
    )
    return read_rope(view, KEYS, [MAIN, COMPRESS], max_length=max_length, width=turns)


def _drop_bases(fields: Fields, values: dict[str, Any], declared: Mapping[str, Any]) -> None:
    """Saved configurations have the bases beside the dictionary too, whatever it says; it counts."""
    for label, key in ((MAIN, "rope_theta"), (COMPRESS, "compress_rope_theta")):
        part = declared[label]
        if not isinstance(part, Mapping) or part.get("rope_theta") is None or values.get(key) is None:
            continue
        fields.used.add(key)
        if values.pop(key) != part["rope_theta"]:
            fields.note(key, fields.values[key], f"nothing beside the base of {label}")
            fields.warn(key, f"changes nothing beside the base of {label}, {short(part['rope_theta'])}")


def _without_share(fields: Fields, key: str, label: str, part: Any, share: float) -> Any:
    if not isinstance(part, Mapping):
        return part
    if part.get(SHARE) != share and not fields.faults:
        fields.fault(key, f"needed {SHARE} = {share} in {label}, as beside it, got {short(part.get(SHARE))}")
    return {name: value for name, value in part.items() if name != SHARE}


def _layer(kind: str, head_dim: int, turns: int, settings: Mapping[str, RopeSettings], window: int, rate: int | None) -> LayerPlan:
    setting = settings[MAIN if kind == SLIDING else COMPRESS]
    scheme = RopePlan(
        head_dim=head_dim,
        layout="interleaved",
        base=setting.base,
        rotary_dim=turns,
        rotary_start=head_dim - turns,
        scaling=setting.rule,
        arithmetic="mixed",
    )
    return LayerPlan(
        scheme=scheme,
        softmax_scale=float(head_dim**-0.5),
        window=window,
        kind=kind,
        values_turn=True,
        compressed=None if kind == SLIDING else rate,
    )


READERS: dict[str, Reader] = {"deepseek_v4": _deepseek_v4}
