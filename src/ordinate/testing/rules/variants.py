"""Scaling rules as they are published, and as well-known mistakes make them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate import reference

Array = npt.NDArray[np.float64]
ByLength = Callable[[int], Array]


@dataclass(frozen=True)
class Variant:
    """One way to make frequencies.

    Attributes:
        said: what is done.
        kind: of the fault; None for the right way.
        remedy: what to do in its place.
        by_length: frequencies for a sequence's length.
    """

    said: str
    kind: str | None
    remedy: str
    by_length: ByLength


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule with its settings, as config.json has them.

    Attributes:
        name: "default", "linear", "ntk", "dynamic", "yarn", "longrope", "llama3" or "proportional".
        base: also called theta.
        width: entries that turn.
        original: trained length.
        settings: factor, beta_fast, beta_slow, truncate, short_factor, long_factor, low_freq_factor, high_freq_factor, proportion,
            attention_factor.
    """

    name: str
    base: float
    width: int
    original: int
    settings: dict[str, Any]

    @property
    def factor(self) -> float:
        """New length over trained length."""
        return float(self.settings.get("factor", 1.0))

    def plain(self, base: float | None = None) -> Array:
        """Frequencies without a rule."""
        return np.array(reference.rope_frequencies(self.base if base is None else base, self.width))

    def magnitude(self) -> float:
        """What cos and sin are multiplied by."""
        if self.settings.get("attention_factor") is not None:
            return float(self.settings["attention_factor"])
        if self.name == "yarn":
            return reference.yarn_magnitude(self.factor)
        return reference.longrope_magnitude(self.factor, self.original) if self.name == "longrope" else 1.0

    def lengths(self) -> tuple[int, ...]:
        """Lengths at which the rule, or a mistake in it, changes."""
        first = self.original
        return (
            (3 * first // 4, first - 1, first, first + 1, 2 * first, 4 * first)
            if self.name in ("dynamic", "longrope")
            else (first,)
        )


def variants(rule: Rule) -> list[Variant]:
    """Give the published form of a rule first, then its mistakes.

    Args:
        rule: with its settings.

    Returns:
        Variants.

    Raises:
        ValueError: for an unknown rule.
    """
    if rule.name not in _MAKERS:
        raise ValueError(f"rule: needed one of {', '.join(_MAKERS)}, got {rule.name!r}")
    found = _MAKERS[rule.name](rule)
    plain = rule.plain()
    ignored = Variant(f"the rule {rule.name} is ignored", "config-key-dropped", "apply the rule that is declared", lambda _: plain)
    return found + ([] if rule.name == "default" else [ignored]) + _of_bases(rule)


def _of_bases(rule: Rule) -> list[Variant]:
    """The right rule on another base."""
    found = []
    for base in (10000.0, 500000.0, 1000000.0):
        if base != rule.base:
            other = Rule(name=rule.name, base=base, width=rule.width, original=rule.original, settings=rule.settings)
            maker = _MAKERS[rule.name](other)
            said = f"the base is {base:g}; {rule.base:g} was asked for"
            found.append(Variant(said, "config-key-dropped", "use the base that is declared", maker[0].by_length))
    return found


def _always(values: Any) -> ByLength:
    fixed = np.array(values)
    return lambda _: fixed


def _default(rule: Rule) -> list[Variant]:
    right, pairs, d = "w_i = base^(-2i / d)", np.arange(rule.width // 2), rule.width
    return [
        Variant("no rule", None, "", _always(rule.plain())),
        Variant("the exponent is i/d", "sinusoid-construction", right, _always(rule.base ** (-pairs / d))),
        Variant("pairs are counted from 1", "sinusoid-construction", right, _always(rule.base ** (-2 * (pairs + 1) / d))),
        Variant("the exponent is i/(d/2 - 1)", "sinusoid-construction", right, _always(rule.base ** (-pairs / max(d / 2 - 1, 1)))),
        Variant(
            "frequencies are those of a width twice as large, the whole head's",
            "partial-rotary",
            "divide by the entries that turn",
            _always(rule.base ** (-2 * pairs / (2 * d))),
        ),
    ]


def _linear(rule: Rule) -> list[Variant]:
    plain, said = rule.plain(), "divide every frequency by the factor, once"
    return [
        Variant("linear", None, "", _always(plain / rule.factor)),
        Variant("frequencies are multiplied by the factor", "config-key-dropped", said, _always(plain * rule.factor)),
        Variant("frequencies are divided by the factor twice", "config-key-dropped", said, _always(plain / rule.factor**2)),
    ]


def _ntk(rule: Rule) -> list[Variant]:
    said = "base x factor^(d / (d - 2))"
    return [
        Variant("ntk", None, "", _always(rule.plain(reference.ntk_base(rule.base, rule.width, rule.factor)))),
        Variant("the base is multiplied by the factor itself", "dynamic-ntk", said, _always(rule.plain(rule.base * rule.factor))),
        Variant("positions are divided, as linear does", "dynamic-ntk", said, _always(rule.plain() / rule.factor)),
    ]


def _dynamic(rule: Rule) -> list[Variant]:
    def with_ratio(ratio: Callable[[int], float], power: bool = True) -> ByLength:
        def by_length(length: int) -> Array:
            of = ratio(length)
            return rule.plain(reference.ntk_base(rule.base, rule.width, of) if power else rule.base * of)

        return by_length

    def right(length: int) -> float:
        return rule.factor * max(length, rule.original) / rule.original - (rule.factor - 1)

    remedy = "base x (factor x max(length, trained) / trained - (factor - 1))^(d / (d - 2)), from the length alone"
    wrong = (
        ("below the trained length the base changes, too", lambda n: rule.factor * n / rule.original - (rule.factor - 1), True),
        ("factor - 1 is not taken off", lambda n: rule.factor * max(n, rule.original) / rule.original, True),
        ("the factor is the length's ratio alone", lambda n: max(n / rule.original, 1.0), True),
        ("the exponent d / (d - 2) is missing", right, False),
        ("the factor applies at every length", lambda _: rule.factor, True),
    )
    found = [Variant("dynamic", None, "", with_ratio(right))]
    for said, ratio, power in wrong:
        found.append(Variant(said, "dynamic-ntk", remedy, with_ratio(lambda n, r=ratio: max(r(n), 1e-6), power)))  # type: ignore[misc]
    return found


def _yarn(rule: Rule) -> list[Variant]:
    given = rule.settings
    fast, slow = float(given.get("beta_fast") or 32.0), float(given.get("beta_slow") or 1.0)
    truncate = bool(given.get("truncate", True))

    def made(factor: float = rule.factor, a: float = fast, b: float = slow, cut: bool = truncate, n: int = rule.original) -> Array:
        return np.array(reference.yarn(rule.base, rule.width, factor, n, a, b, cut))

    plain = rule.plain()
    right = made()
    share = (plain - right) / (plain - plain / rule.factor) if rule.factor > 1 else np.zeros_like(plain)
    inverted = plain * share + plain / rule.factor * (1 - share)
    remedy = "keep pairs of more than beta_fast turns in the trained length, divide those of fewer than beta_slow, blend between"
    return [
        Variant("yarn", None, "", _always(right)),
        Variant("the blend is inverted: fast pairs are slowed, slow ones kept", "config-key-dropped", remedy, _always(inverted)),
        Variant(
            "truncate is not as declared",
            "config-key-dropped",
            "round the ramp's ends where truncate is true",
            _always(made(cut=not truncate)),
        ),
        Variant(
            "beta_fast and beta_slow are 32 and 1 whatever is declared",
            "config-key-dropped",
            "read them",
            _always(made(a=32.0, b=1.0)),
        ),
        Variant(
            "the new length stands where the trained one should",
            "config-key-dropped",
            "use original_max_position_embeddings",
            _always(made(n=round(rule.original * rule.factor))),
        ),
        Variant("all pairs are divided by the factor, as linear does", "config-key-dropped", remedy, _always(plain / rule.factor)),
    ]


def _longrope(rule: Rule) -> list[Variant]:
    short, long = (np.array(rule.settings[key], dtype=np.float64) for key in ("short_factor", "long_factor"))
    plain, first = rule.plain(), rule.original
    remedy = f"short factors up to {first} tokens, long ones beyond, by the length of the sequence"
    wrong: tuple[tuple[str, ByLength], ...] = (
        ("the long factors begin one token early", lambda n: plain / (long if n >= first else short)),
        ("the long factors begin one token late", lambda n: plain / (long if n > first + 1 else short)),
        ("short and long factors are exchanged", lambda n: plain / (short if n > first else long)),
        ("the short factors are used at every length", lambda _: plain / short),
        ("the long factors are used at every length", lambda _: plain / long),
        ("frequencies are multiplied by the factors", lambda n: plain * (long if n > first else short)),
    )
    right = Variant("longrope", None, "", lambda n: plain / (long if n > first else short))
    return [right, *(Variant(said, "longrope-switch", remedy, by_length) for said, by_length in wrong)]


def _llama3(rule: Rule) -> list[Variant]:
    given = rule.settings
    low, high = float(given.get("low_freq_factor", 1.0)), float(given.get("high_freq_factor", 4.0))

    def made(a: float = low, b: float = high, n: int = rule.original) -> Array:
        return np.array(reference.llama3(rule.base, rule.width, rule.factor, a, b, n))

    plain, right = rule.plain(), made()
    turns = rule.original * plain / (2 * math.pi)
    banded = np.where((turns > low) & (turns < high), plain / rule.factor, right)
    remedy = (
        "keep pairs of more than high_freq_factor turns in the trained length, divide those below low_freq_factor, blend between"
    )
    share = np.where(plain > plain / rule.factor, (right - plain / rule.factor) / (plain - plain / rule.factor + 1e-300), 1.0)
    return [
        Variant("llama3", None, "", _always(right)),
        Variant(
            "the bands are dropped: all pairs are divided by the factor", "config-key-dropped", remedy, _always(plain / rule.factor)
        ),
        Variant("the middle band is not blended", "config-key-dropped", remedy, _always(banded)),
        Variant("the bands are inverted", "config-key-dropped", remedy, _always(plain * (1 - share) + plain / rule.factor * share)),
        Variant(
            "the new length stands where the trained one should",
            "config-key-dropped",
            "use original_max_position_embeddings",
            _always(made(n=round(rule.original * rule.factor))),
        ),
    ]


def _proportional(rule: Rule) -> list[Variant]:
    part = float(rule.settings.get("proportion", 0.25))
    right = np.array(reference.proportional(rule.base, rule.width, part, rule.factor))
    turning = int((right > 0).sum())
    own = np.where(right > 0, rule.base ** (-2 * np.arange(rule.width // 2) / max(2 * turning, 1)) / rule.factor, 0.0)
    remedy = "exponents of the whole width, and 0 for the pairs that stand still"
    return [
        Variant("proportional", None, "", _always(right)),
        Variant("frequencies are those of the pairs that turn alone", "partial-rotary", remedy, _always(own)),
    ]


_MAKERS: dict[str, Callable[[Rule], list[Variant]]] = {
    "default": _default,
    "linear": _linear,
    "ntk": _ntk,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
}
