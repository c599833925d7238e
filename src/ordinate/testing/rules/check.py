"""``check_frequencies``: inverse frequencies under a scaling rule, by length, against the published rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import RAISED, told
from ordinate.testing.findings import Finding, Report, broken, holds, not_asked
from ordinate.testing.rules.variants import Array, Rule, Variant, variants

CLOSE = 3e-6  # relative: float32, and a few of its roundings
NAME = "frequencies by length"


def check_frequencies(
    fn: Callable[..., Any],
    *,
    rule: str,
    width: int,
    base: float = 10000.0,
    original_length: int = 2048,
    name: str | None = None,
    **settings: Any,
) -> Report:
    """Hold a function that makes inverse frequencies to a published scaling rule.

    Args:
        fn: length -> inverse frequencies [width / 2], or () -> the same where they do not depend on it; a pair (frequencies,
            magnitude) is taken apart.
        rule: "default", "linear", "ntk", "dynamic", "yarn", "longrope", "llama3" or "proportional".
        width: entries that turn.
        base: also called theta.
        original_length: trained length.
        name: for the report.
        **settings: of the rule, by the names of config.json: ``factor``, ``beta_fast``, ``short_factor``, ``attention_factor`` ...

    Returns:
        A report: the frequencies at the lengths where the rule changes, the magnitude, and whether earlier calls matter.

    Raises:
        ValueError: for an unknown rule.

    Example:
        >>> def inverted(length):  # YaRN's blend the wrong way round
        ...     plain = 10000.0 ** (-torch.arange(0, 128, 2, dtype=torch.float64) / 128)
        ...     right = torch.tensor(__import__("ordinate").reference.yarn(10000.0, 128, 4.0, 2048, 32.0, 1.0, True))
        ...     return plain + plain / 4 - right
        >>> report = check_frequencies(inverted, rule="yarn", width=128, factor=4.0)
        >>> report.broken[0].said
        'the blend is inverted: fast pairs are slowed, slow ones kept'
    """
    if rule == "longrope" and not {"short_factor", "long_factor"} <= set(settings):
        raise ValueError("short_factor, long_factor: needed for longrope, a number a pair each")
    asked = Rule(name=rule, base=base, width=width, original=original_length, settings=settings)
    known = variants(asked)
    try:
        got = {length: _called(fn, length) for length in asked.lengths()}
        history = _history(asked, fn, got)
    except RAISED as fault:
        finding = broken(NAME, "config-key-dropped", "raises an error", expected="numbers", actual=told(fault))
        return Report(name or _name(fn), (finding,))
    found = [_frequencies(asked, known, {length: values for length, (values, _) in got.items()}), _magnitude(asked, got)]
    return Report(name or _name(fn), (*found, history))


def assert_frequencies(fn: Callable[..., Any], **expected: Any) -> None:
    """Raise what ``check_frequencies`` finds.

    Args:
        fn: as there.
        **expected: as there.

    Raises:
        AssertionError: if a property is broken.

    Example:
        >>> assert_frequencies(lambda: [1.0, 0.1, 0.01, 0.001], rule="default", width=8)
    """
    check_frequencies(fn, **expected).raise_if_broken()


def _frequencies(rule: Rule, known: list[Variant], got: dict[int, Array]) -> Finding:
    right = known[0]
    wrong = [length for length, values in got.items() if not _same(values, right.by_length(length))]
    if not wrong:
        return holds(NAME, f"{rule.name} at {', '.join(map(str, got))} tokens")
    length = wrong[0]
    want, values = right.by_length(length), got[length]
    if values.shape != want.shape:
        said = f"{len(values)} frequencies for {rule.width} entries that turn"
        return broken(NAME, "partial-rotary", said, expected=str(len(want)), actual=str(len(values)))
    cause = next((each for each in known[1:] if all(_same(got[at], each.by_length(at)) for at in got)), None)
    pair = int((np.abs(values - want) > CLOSE * want).argmax())
    return broken(
        NAME,
        (cause and cause.kind) or _kind_of(rule),
        cause.said if cause else f"frequencies are not those of {rule.name}, nor those of a known mistake in it",
        smallest=f"{length} tokens, pair {pair} of {len(want)}",
        expected=f"{want[pair]:.6e}",
        actual=f"{values[pair]:.6e}",
        remedy=cause.remedy if cause else None,
    )


def _magnitude(rule: Rule, got: dict[int, tuple[Array, float | None]]) -> Finding:
    name = "magnitude"
    came = {length: value for length, (_, value) in got.items() if value is not None}
    if not came:
        return not_asked(name, "the function gives frequencies alone")
    want, (length, value) = rule.magnitude(), next(iter(came.items()))
    if abs(value - want) <= 1e-5:
        return holds(name, f"{want:.6f}")
    forms = ((1.0, "the magnitude is never applied"), (want**2, "the magnitude is applied twice"), (1 / want, "it divides"))
    said = next((text for factor, text in forms if abs(value - factor) <= 1e-5), "the magnitude is another")
    return broken(name, "yarn-magnitude", said, smallest=f"{length} tokens", expected=f"{want:.6f}", actual=f"{value:.6f}")


def _history(rule: Rule, fn: Callable[..., Any], got: dict[int, tuple[Array, float | None]]) -> Finding:
    """The shortest length again, after the longest."""
    name, lengths = "call history", rule.lengths()
    if not _takes_length(fn):
        return not_asked(name, "the function takes no length")
    _called(fn, max(lengths))
    for length in lengths:
        again = _called(fn, length)[0]
        if not _same(again, got[length][0]):
            kind = {"longrope": "longrope-switch", "dynamic": "dynamic-ntk"}.get(rule.name, "cache-key-and-sharing")
            return broken(
                name,
                kind,
                f"after {max(lengths)} tokens, {length} tokens get other frequencies than before",
                smallest=f"{max(lengths)} tokens, then {length}",
                expected=f"{got[length][0][-1]:.6e} (last pair)",
                actual=f"{again[-1]:.6e}",
            )
        _called(fn, max(lengths))
    return holds(name, f"every length again after {max(lengths)}")


def _kind_of(rule: Rule) -> str:
    return {"longrope": "longrope-switch", "dynamic": "dynamic-ntk"}.get(rule.name, "config-key-dropped")


def _same(values: Array, want: Array) -> bool:
    return values.shape == want.shape and bool((np.abs(values - want) <= CLOSE * np.abs(want) + 1e-30).all())


def _called(fn: Callable[..., Any], length: int) -> tuple[Array, float | None]:
    came = fn(length) if _takes_length(fn) else fn()
    values, magnitude = came if isinstance(came, tuple) else (came, None)
    values = values.detach().double().numpy() if isinstance(values, torch.Tensor) else values
    return np.array(values, dtype=np.float64).ravel(), None if magnitude is None else float(magnitude)


def _takes_length(fn: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return True


def _name(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or type(fn).__name__
