"""Which layers turn, and how far each sees: explicit lists, patterns and switches, as each model type reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import flag, one_of, row_of, short, whole

WINDOW = ("sliding_window", "sliding_window_size")
FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"


@dataclass(frozen=True, kw_only=True)
class LayerKind:
    """A layer's type, whether it attends and turns, by the scaling rule or the base alone, and how far it sees."""

    kind: str = FULL
    attends: bool = True
    turns: bool = True
    scaled: bool = True
    window: int | None = None
    window_back: int | None = None
    window_ahead: int | None = None
    chunk: int | None = None


Kinds = list[LayerKind]
Policy = Callable[[Fields, int], Kinds]


def all_alike(fields: Fields, n_layers: int) -> Kinds:
    """Give layers that turn and see everything.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> len(all_alike(Fields({}, source="mapping", model_type="llama"), 2))
        2
    """
    _refuse_types(fields, n_layers, sliding=False)
    return [LayerKind()] * n_layers


def windowed(*, default: int | None = None, switch: bool = False, inclusive: bool = False) -> Policy:
    """Say that every layer has the window ``sliding_window``.

    Args:
        default: the window if none is declared.
        switch: whether ``use_sliding_window`` must turn it on.
        inclusive: whether the key at the window's distance is seen, too.

    Returns:
        A policy.

    Example:
        >>> windowed()(Fields({"sliding_window": 8}, source="mapping", model_type="mistral"), 1)
        [LayerKind(kind='full_attention', attends=True, turns=True, scaled=True, window=8, window_back=None, window_ahead=None,
        chunk=None)]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        window = declared_window(fields, default=default) if not switch or switched_on(fields) else None
        if not switch and window is not None and fields.values.get("use_sliding_window") is False:
            fields.used.add("use_sliding_window")
            fields.note("use_sliding_window", False, "nothing")
            fields.warn("use_sliding_window", f"changes nothing: {fields.model_type} reads no such key, and the window is on")
        _refuse_types(fields, n_layers, sliding=window is not None)
        return [LayerKind(window=window if window is None else window + inclusive)] * n_layers

    return read


def by_pattern(
    *,
    keys: Sequence[str] = (),
    period: int,
    full_first: bool = False,
    window: int,
    window_keys: Sequence[str] = WINDOW,
    turns_only_sliding: bool = False,
    inclusive: bool = False,
    halved: bool = False,
    list_counts: bool = False,
) -> Policy:
    """Say that one layer of each period sees everything and the others have a window, unless ``layer_types`` lists them.

    Args:
        keys: spellings of the period.
        period: the period if none is declared.
        full_first: whether the full layer is the first of its period, not the last.
        window: default of ``sliding_window``.
        window_keys: its spellings.
        turns_only_sliding: whether full layers have no rotation.
        inclusive: whether the key at the window's distance is seen, too.
        list_counts: whether saved configurations have the period beside the list, which then counts.
        halved: whether the window counts both directions, of which a decoder has one.

    Returns:
        A policy.

    Example:
        >>> fields = Fields({}, source="mapping", model_type="gemma2")
        >>> [layer.window for layer in by_pattern(period=2, window=4096)(fields, 3)]
        [4096, None, 4096]
    """

    def read(fields: Fields, n_layers: int) -> Kinds:
        every = fields.take(keys, whole(least=1), "one layer of each {} sees everything", default=period) if keys else period
        full = 0 if full_first else every - 1
        pattern = [FULL if layer % every == full else SLIDING for layer in range(n_layers)]
        kinds = types_of(fields, n_layers, (FULL, SLIDING), default=pattern)
        # configurations saved by transformers 5 have the other spelling too, whatever the list says
        if keys and not list_counts and fields.has(keys[0]) and fields.has("layer_types") and kinds != pattern:
            fields.disagree((fields.name(keys[0]), every), (fields.name("layer_types"), fields.values["layer_types"]))
        reach = declared_window(fields, default=window, keys=window_keys, least=1 + halved) if SLIDING in kinds else None
        if reach is not None:
            reach = (reach // 2 if halved else reach) + inclusive
        return [
            LayerKind(kind=kind, window=reach if kind == SLIDING else None, turns=kind == SLIDING or not turns_only_sliding)
            for kind in kinds
        ]

    return read


def both_ways(layers: Kinds) -> Kinds:
    """Give layers whose declared window is the width of both directions together.

    Args:
        layers: as declared.

    Returns:
        The same, with windows of one direction.

    Example:
        >>> both_ways([LayerKind(window=9), LayerKind()])[0].window
        5
    """
    return [layer if layer.window is None else replace(layer, window=layer.window // 2 + 1) for layer in layers]


def switched_on(fields: Fields) -> bool:
    """Read ``use_sliding_window``; a window beside it changes nothing if it is off.

    Args:
        fields: the configuration.

    Returns:
        Whether it is on.

    Example:
        >>> switched_on(Fields({"use_sliding_window": True}, source="mapping", model_type="qwen2"))
        True
    """
    on = fields.take(("use_sliding_window",), flag, "windows are on: {}", default=False)
    if not on and fields.has("sliding_window"):
        fields.used.add("sliding_window")
        fields.note("sliding_window", fields.values["sliding_window"], "nothing, since use_sliding_window is off")
        if not fields.has("use_sliding_window"):
            fields.warn("sliding_window", "changes nothing without use_sliding_window")
    return on


def declared_window(fields: Fields, *, default: int | None, keys: Sequence[str] = WINDOW, least: int = 1) -> int | None:
    """Read the window; null says there is none, also where the model type has a default.

    Args:
        fields: the configuration.
        default: the window if none is declared.
        keys: its spellings.
        least: smallest allowed.

    Returns:
        The window, or None.

    Example:
        >>> declared_window(Fields({"sliding_window": 8}, source="mapping", model_type="mistral"), default=None)
        8
    """
    fields.used.update(keys)
    if not fields.has(*keys) and (keys[0] in fields.values or default is None):
        return None
    return fields.take(keys, whole(least=least), "window of {} tokens", default=default)


def types_of(fields: Fields, n_layers: int, known: tuple[str, ...], *, default: list[str]) -> list[str]:
    """Read the listed types, or take those that follow from other keys.

    Args:
        fields: the configuration.
        n_layers: how many layers.
        known: types that the model has.
        default: types without a list.

    Returns:
        One a layer.

    Example:
        >>> types_of(Fields({}, source="mapping", model_type="gemma2"), 1, (FULL, SLIDING), default=[FULL])
        ['full_attention']
    """
    fields.used.add("layer_types")
    if not fields.has("layer_types"):
        return default
    # a stand-in for a faulty number of layers would only bring a fault of its own
    length, before = None if fields.faults else n_layers, len(fields.faults)
    listed = fields.take(("layer_types",), row_of(one_of(*known), length=length), "types of the layers")
    return default if before or len(fields.faults) > before else list(listed)


def _refuse_types(fields: Fields, n_layers: int, *, sliding: bool) -> None:
    """Some types keep all layers alike: a list that says otherwise cannot be honoured."""
    if not fields.has("layer_types"):
        return
    wanted, length = (FULL, SLIDING) if sliding else (FULL,), None if fields.faults else n_layers
    listed = fields.take(("layer_types",), row_of(one_of(*wanted), length=length), "types of the layers")
    if len(set(listed)) > 1:
        fields.fault(
            "layer_types", f"cannot be honoured: {fields.model_type} keeps all layers alike, got {short(sorted(set(listed)))}"
        )
