"""The bank of mistakes: each changes a form in one way, and has a name, a kind and a remedy."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ordinate.testing.rotary.forms import Array, Form, PhaseRounding, changed, rounded, turning

CLOSE = 2e-4  # of matrices of size 1 in float32, at positions below 20
EITHER_WAY = 0.1
BFLOAT16, FLOAT16 = 8, 11


@dataclass(frozen=True)
class Mistake:
    """A way to be wrong.

    Attributes:
        said: what is done.
        kind: of the fault.
        remedy: what to do in its place.
        changes: of the form.
    """

    said: str
    kind: str
    remedy: str
    changes: tuple[tuple[str, object], ...]


def mistakes(form: Form) -> list[Mistake]:
    """Give all single mistakes that would show in a form.

    Args:
        form: the right one.

    Returns:
        Mistakes.
    """
    other = "interleaved" if form.layout == "half" else "half"
    pairs = {"half": "entries i and i + d/2", "interleaved": "entries 2i and 2i + 1"}
    found = [
        Mistake(
            f"pairs are {pairs[other]} ({other}) where {pairs[form.layout]} ({form.layout}) are declared",
            "layout-mismatch",
            f"turn {pairs[form.layout]}, or permute the rows of the query and key weights",
            (("layout", other),),
        ),
        Mistake(
            f"angles are laid out for {other} pairs, and {form.layout} pairs are turned, so the two entries of a pair turn by "
            "different angles",
            "layout-mismatch",
            "cat((angles, angles)) goes with halves, repeat_interleave(2) with neighbours",
            (("crossed", True),),
        ),
        Mistake("the angle has the wrong sign", "layout-mismatch", "(a, b) -> (a cos - b sin, b cos + a sin)", (("sign", -1),)),
    ]
    for trigonometry, said in (
        ("swapped", "cos and sin are exchanged"),
        ("first half swapped", "cos and sin are exchanged in the first entry of every pair"),
        ("second half swapped", "cos and sin are exchanged in the second entry of every pair"),
        ("without the minus", "the minus before the sine is missing: this is no rotation"),
        ("both minus", "both sines have a minus: this is no rotation"),
    ):
        remedy = "(a, b) -> (a cos - b sin, b cos + a sin)"
        found.append(Mistake(said, "layout-mismatch", remedy, (("trigonometry", trigonometry),)))
    for shift, said in ((1, "positions count from 1"), (-1, "positions count from -1")):
        found.append(Mistake(said, "decode-offset", "the first token is at position 0", (("shift", shift),)))
    return [*found, *_of_parts(form), *_of_frequencies(form), *_of_magnitudes(form)]


def _of_frequencies(form: Form) -> list[Mistake]:
    if form.law == "given":
        return []
    right = "w_i = base^(-2i / d), d entries that turn, i = 0 ... d/2 - 1"
    found = []
    for law, said in (
        ("i/d", "the exponent is i/d in place of 2i/d"),
        ("i/(d/2-1)", "the exponent is i/(d/2 - 1) in place of 2i/d"),
        ("2(i+1)/d", "pairs are counted from 1 in the exponent"),
        ("rising", "frequencies rise: the exponent has the wrong sign"),
        ("reversed", "frequencies are in reverse order"),
        ("times 2 pi", "angles are 2 pi times too large"),
    ):
        found.append(Mistake(said, "sinusoid-construction", right, (("law", law),)))
    for base in (10000.0, 500000.0, 1000000.0):
        if base != form.base:
            said = f"the base is {base:g} whatever is asked for; {form.base:g} was"
            found.append(Mistake(said, "config-key-dropped", "use the base that was given", (("base", base),)))
    return found


def _of_parts(form: Form) -> list[Mistake]:
    whole = Mistake(
        f"all {form.head_dim} entries turn where {form.rotary_dim} should",
        "partial-rotary",
        f"turn entries 0 to {form.rotary_dim - 1}, and leave the others as they are",
        (("rotary_dim", form.head_dim),),
    )
    if form.rotary_dim == form.head_dim:
        return []
    if form.law == "given":
        return [_tail(form)]
    return [
        whole,
        _tail(form),
        Mistake(
            "frequencies are those of the whole head",
            "partial-rotary",
            f"divide by the {form.rotary_dim} entries that turn, not by {form.head_dim}",
            (("law", "2i/head_dim"),),
        ),
    ]


def _tail(form: Form) -> Mistake:
    return Mistake(
        f"the last {form.rotary_dim} entries turn in place of the first",
        "partial-rotary",
        f"turn entries 0 to {form.rotary_dim - 1}",
        (("at_the_tail", True),),
    )


def _of_magnitudes(form: Form) -> list[Mistake]:
    if form.magnitude == 1.0:
        return []
    found = []
    for factor, said in ((1.0, "never"), (form.magnitude**2, "twice"), (1 / form.magnitude, "as a divisor")):
        remedy = f"multiply cos and sin by {form.magnitude:.6g} once"
        text = f"the magnitude {form.magnitude:.6g} is applied {said}"
        found.append(Mistake(text, "yarn-magnitude", remedy, (("magnitude", factor),)))
    return found


@dataclass(frozen=True)
class Match:
    """What a function turned out to do.

    Attributes:
        form: that it follows.
        mistakes: that lead there from the right form; none if it is right.
        rounding: what is said of bits that are lost already at near positions, or None.
    """

    form: Form
    mistakes: tuple[Mistake, ...]
    rounding: str | None = None


def recognised(maps: Array, form: Form) -> Match | None:
    """Find the fewest mistakes that explain what a function does.

    Args:
        maps: its matrices at positions 0, 1, ....
        form: the right one.

    Returns:
        The match, or None if neither two mistakes nor one and a rounding explain it.

    Shape:
        maps [P, D, D]
    """
    known = mistakes(form)
    for number, rounded_too in ((0, False), (1, False), (0, True), (2, False), (1, True)):
        for together in _together(known, number):
            tried = form
            for mistake in together:
                tried = changed(tried, mistake.changes)
            if not rounded_too and _fits(maps, tried):
                return Match(tried, together)
            if rounded_too:
                fitting = {said: each for said, each in roundings().items() if _fits(maps, tried, each)}
                if fitting:
                    return Match(tried, together, min(fitting, key=lambda said: _mean_gap(maps, tried, fitting[said])))
    return None


def _together(known: list[Mistake], number: int) -> Iterator[tuple[Mistake, ...]]:
    for chosen in itertools.combinations(known, number):
        names = [name for mistake in chosen for name, _ in mistake.changes]
        if len(set(names)) == len(names):
            yield chosen


def _fits(maps: Array, form: Form, rounding: PhaseRounding | None = None) -> bool:
    """Whether all matrices are a form's; a number that lies between two of a short type may be rounded either way."""
    order = [len(maps) - 1, 1, *range(len(maps))]  # the far end tells most forms apart, so it is looked at first
    for position in order:
        gap = np.abs(maps[position] - turning(form, position, rounding))
        if not (gap.max() < CLOSE or (rounding is not None and gap.max() < EITHER_WAY and (gap < CLOSE).mean() > 0.9)):
            return False
    return True


def _mean_gap(maps: Array, form: Form, rounding: PhaseRounding) -> float:
    return float(np.mean([np.abs(each - turning(form, position, rounding)).mean() for position, each in enumerate(maps)]))


@functools.cache
def roundings() -> dict[str, PhaseRounding]:
    """Give the ways in which bits get lost before sine and cosine: every set of places, in either short type, few places first.

    Returns:
        By what is said of it.
    """
    places = {"frequencies": "frequencies", "positions": "positions", "angles": "angles", "tables": "cos and sin"}
    found = {}
    for count in range(1, len(places) + 1):
        for chosen in itertools.combinations(places, count):
            for digits, name in ((BFLOAT16, "bfloat16"), (FLOAT16, "float16")):
                cast = functools.partial(rounded, digits=digits)
                said = ", ".join(places[each] for each in chosen)
                found[f"{said} are rounded to {name}"] = PhaseRounding(**dict.fromkeys(chosen, cast))
    return found
