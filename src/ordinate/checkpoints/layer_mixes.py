"""Which layers attend, where a model mixes attention with convolutions, recurrences or linear attention."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST, Kind, flag, one_of, row_of, whole
from ordinate.checkpoints.layer_kinds import FULL, SLIDING, WINDOW, Kinds, LayerKind, Policy, declared_window
from ordinate.checkpoints.layer_lists import INDEXED, note_indexer

LINEAR, CONVOLUTION, HYBRID = "linear_attention", "conv", "hybrid"
OLD = {"attention": FULL, "mamba": LINEAR, "recurrent": LINEAR, "mamba2": LINEAR}
Pattern = Callable[[Fields, int], list[str]]


def mixed(
    pattern: Pattern,
    *,
    still: str = LINEAR,
    attends: Sequence[str] = (FULL,),
    turns: Collection[str] | None = None,
    window: int | None = None,
    everywhere: bool = False,
    list_keys: Sequence[str] = ("layer_types", "layers_block_type"),
    renamed: Mapping[str, str] = OLD,
) -> Policy:
    """Say that some layers attend and the others do something else in place of attention.

    Args:
        pattern: the layers' types, if no list declares them.
        still: type of the layers that do not attend.
        attends: types of those that do.
        turns: types of those that turn; None if all that attend do.
        window: default of ``sliding_window``, if some layers slide.
        everywhere: whether a declared window holds for all layers that attend.
        list_keys: spellings of the list of types.
        renamed: present names of types that older lists have.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="qwen3_next")
        >>> [layer.attends for layer in mixed(one_of_each(4))(fields, 4)]
        [False, False, False, True]
    """
    known = (*attends, still)

    def read(fields: Fields, n_layers: int) -> Kinds:
        kinds = pattern(fields, n_layers)
        fields.used.update(list_keys)
        if fields.has(*list_keys):
            length, before = None if fields.faults else n_layers, len(fields.faults)
            listed = fields.take(list_keys, row_of(_of_any_name(known, renamed), length=length), "types of the layers")
            kinds = kinds if before or len(fields.faults) > before else list(listed)
        reach = declared_window(fields, default=window, keys=WINDOW) if everywhere or SLIDING in kinds else None
        return [
            LayerKind(
                kind=kind,
                attends=kind != still,
                turns=kind != still and (turns is None or kind in turns),
                window=reach if kind == SLIDING or (everywhere and kind != still) else None,
            )
            for kind in kinds
        ]

    return read


def _of_any_name(known: Sequence[str], renamed: Mapping[str, str]) -> Kind[str]:
    """A type's present name, from an older one too."""
    read = one_of(*known)
    return lambda value: read(renamed.get(value, value) if isinstance(value, str) else value)


def one_of_each(period: int, *, key: str | None = None, first: bool = False, at_least_last: bool = False) -> Pattern:
    """Say that one layer of each period attends.

    Args:
        period: how many layers.
        key: what may declare it.
        first: whether it is the first of its period, not the last.
        at_least_last: whether the last layer attends if no other does.

    Returns:
        A pattern.

    Example:
        >>> one_of_each(2, first=True)(Fields({}, source="mapping", model_type="minimax"), 3)
        ['full_attention', 'linear_attention', 'full_attention']
    """

    def read(fields: Fields, n_layers: int) -> list[str]:
        every = period
        if key is not None:
            every = fields.take((key,), whole(least=1), "one layer of each {} attends", default=period)
        place = 0 if first else every - 1
        kinds = [FULL if layer % every == place else LINEAR for layer in range(n_layers)]
        return kinds if FULL in kinds or not at_least_last else [*kinds[:-1], FULL]

    return read


def listed_only(fields: Fields, n_layers: int) -> list[str]:
    """Say that the list must be there.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        A stand-in.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="lfm2_moe")
        >>> listed_only(fields, 1), fields.faults
        (['full_attention'], ['layer_types: needed, got nothing'])
    """
    if not fields.has("layer_types"):
        fields.fault("layer_types", "needed, got nothing")
    return [FULL] * n_layers


def at_places(key: str, *, still: str, absent: str) -> Pattern:
    """Say that a list of numbers says which layers attend.

    Args:
        key: of the list.
        still: type of the others.
        absent: type of all layers without a list.

    Returns:
        A pattern.

    Example:
        >>> fields = Fields({"attn_layer_indices": [1]}, source="mapping", model_type="bamba")
        >>> at_places("attn_layer_indices", still="linear_attention", absent="linear_attention")(fields, 3)
        ['linear_attention', 'full_attention', 'linear_attention']
    """

    def read(fields: Fields, n_layers: int) -> list[str]:
        fields.used.add(key)
        if fields.values.get(key) is None:
            return [absent] * n_layers
        places = set(fields.take((key,), row_of(whole(most=MOST if fields.faults else n_layers - 1)), "layers that attend"))
        return [FULL if layer in places else still for layer in range(n_layers)]

    return read


def repeated(cycle: Sequence[str]) -> Pattern:
    """Say that types follow each other in a cycle.

    Args:
        cycle: types, in order.

    Returns:
        A pattern.

    Example:
        >>> repeated(["conv", "full_attention"])(Fields({}, source="mapping", model_type="lfm2"), 3)
        ['conv', 'full_attention', 'conv']
    """
    return lambda _, n_layers: [cycle[layer % len(cycle)] for layer in range(n_layers)]


def zamba2(fields: Fields, n_layers: int) -> list[str]:
    """Give the types of Zamba2's 54 layers; another number must be listed.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> zamba2(Fields({}, source="mapping", model_type="zamba2"), 54).count("hybrid")
        9
    """
    usual = [LINEAR, *[*[LINEAR] * 5, HYBRID] * 7, *[LINEAR] * 4, HYBRID, *[LINEAR] * 3, HYBRID, *[LINEAR] * 2]
    if not fields.has("layers_block_type", "layer_types") and n_layers != len(usual):
        counted = "" if fields.faults else f", which stands for {len(usual)} layers, not {n_layers}"
        fields.fault("layers_block_type", f"needed, got nothing{counted}")
    return usual if n_layers == len(usual) else [HYBRID] * n_layers


def only_with(key: str, value: object, policy: Policy) -> Policy:
    """Say that layers turn only if a key has a value; otherwise none does (NoPE).

    Args:
        key: of the switch.
        value: that turns rotation on.
        policy: which layers attend.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="granitemoehybrid")
        >>> only_with("position_embedding_type", "rope", mixed(repeated([FULL])))(fields, 1)[0].turns
        False
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        on = fields.values.get(key) == value
        fields.used.add(key)
        if isinstance(value, bool):
            fields.take((key,), flag, "layers turn: {}", default=False)
        else:
            fields.note(key, fields.values.get(key), "layers turn" if on else f"no layer turns, since only {value!r} turns them")
        return [_resting(layer) if not on else layer for layer in policy(fields, n_layers)]

    return read


def unless_base_is_null(policy: Policy) -> Policy:
    """Say that no layer turns if the dictionary has a base and it is null (OLMo Hybrid's released models).

    Args:
        policy: which layers attend.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({"rope_parameters": {"rope_theta": None}}, source="mapping", model_type="olmo_hybrid")
        >>> unless_base_is_null(mixed(repeated([FULL])))(fields, 1)[0].turns
        False
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        declared = fields.values.get("rope_parameters")
        off = isinstance(declared, Mapping) and "rope_theta" in declared and declared["rope_theta"] is None
        if off:
            fields.note("rope_parameters.rope_theta", None, "no layer turns, since the base is null")
        return [_resting(layer) if off else layer for layer in policy(fields, n_layers)]

    return read


def linear_or_indexed(fields: Fields, n_layers: int) -> Kinds:
    """Give Qwen4's layers: every fourth attends to the keys that an indexer chooses by content, the others are linear.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> [layer.kind for layer in linear_or_indexed(Fields({}, source="mapping", model_type="qwen4_exp_text"), 4)][2:]
        ['linear_attention', 'indexed_attention']
    """
    fourth = one_of_each(4, key="full_attention_interval")
    new = {FULL: INDEXED}
    policy = mixed(lambda *told: [new.get(kind, kind) for kind in fourth(*told)], attends=(INDEXED,), renamed=new)
    layers = policy(fields, n_layers)
    note_indexer(fields)
    return layers


def _resting(layer: LayerKind) -> LayerKind:
    return LayerKind(kind=layer.kind, attends=layer.attends, turns=False, window=layer.window)
