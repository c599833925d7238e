"""What a Rope's arguments come to: what is wrong with them, and the frequencies that they mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ordinate import phases as phase_recipes
from ordinate.checks import described
from ordinate.fitting import FARTHEST
from ordinate.phases import Frequencies, Phases
from ordinate.scaling.rule import Rule, whole


def width_faults(head_dim: int, width: int, start: int, given: tuple[float, ...] | None) -> list[str]:
    """Find what is wrong with the entries that should turn.

    Args:
        head_dim: width of a head.
        width: entries that turn.
        start: the first of them.
        given: frequencies, one a pair, or None.

    Returns:
        Faults.

    Example:
        >>> width_faults(8, 6, 2, None), len(width_faults(8, 7, 0, None))
        ([], 1)
    """
    faults = []
    if start > head_dim - 2:
        faults.append(f"rotary_start: needed room for a pair in head_dim={head_dim}, got {start}")
    elif width < 2 or width % 2 or start + width > head_dim:
        faults.append(
            f"rotary_dim: needed an even number from 2 to {head_dim - start} (head_dim={head_dim}, rotary_start={start}), "
            f"got {width}; an odd head turns all but its last entry with rotary_dim={max((head_dim - start) // 2 * 2, 2)}"
        )
    elif given is not None and len(given) != width // 2:
        faults.append(f"inverse_frequencies: needed {width // 2} numbers (rotary_dim={width}), got {len(given)}")
    return faults


def base_faults(name: str, base: object) -> list[str]:
    """Find what is wrong with a base.

    Args:
        name: what the caller calls it.
        base: also called theta.

    Returns:
        Faults.

    Example:
        >>> base_faults("base", 10000.0), base_faults("base", -1)
        ([], ['base: needed a positive finite number, got -1'])
    """
    fits = isinstance(base, (int, float)) and not isinstance(base, bool) and 0 < base < math.inf
    return [] if fits else [f"{name}: needed a positive finite number, got {base!r}"]


def scaling_faults(scaling: object, length: Any, given: tuple[float, ...] | None) -> list[str]:
    """Find what is wrong with a scaling rule and a length.

    Args:
        scaling: a rule or None.
        length: of the sequence, or None.
        given: frequencies that were given, or None.

    Returns:
        Faults.

    Example:
        >>> scaling_faults(None, 4096, None)
        ['length: needed a scaling rule beside it, got 4096 alone']
    """
    faults = []
    if scaling is not None and not isinstance(scaling, Rule):
        faults.append(f"scaling: needed a rule of ordinate.scaling or None, got {described(scaling)}")
    elif scaling is not None and given is not None:
        faults.append("scaling: needed base beside it, got inverse_frequencies; apply the rule to them first, scaling.apply(...)")
    if length is not None:
        if scaling is None:
            faults.append(f"length: needed a scaling rule beside it, got {length!r} alone")
        wrong = whole("length", length, least=1)
        faults += wrong if wrong or int(length) <= FARTHEST else [f"length: needed at most {FARTHEST}, got {length}"]
    return faults


def frequencies_of(base: float, width: int, given: tuple[float, ...] | None, phases: Phases) -> Frequencies:
    """Give the frequencies base^(-2i / width), or those given.

    Args:
        base: also called theta.
        width: entries that turn.
        given: one a pair, or None.
        phases: "float32" rounds as transformers does.

    Returns:
        The frequencies.

    Example:
        >>> frequencies_of(10000.0, 4, None, "exact").radians
        (1.0, 0.01)
    """
    if given is None and phases == "exact":
        return phase_recipes.from_base(base, [(2 * i, width) for i in range(width // 2)])
    if given is None:
        phase_recipes.from_base(base, [])
        return phase_recipes.from_values(phase_recipes.float32_from_base(base, width))
    if phases == "float32":
        given = tuple(torch.tensor(given, dtype=torch.float32, device="cpu").tolist())
    return phase_recipes.from_values(given)


def scaled_frequencies(
    scaling: Rule, base: float, width: int, length: int | None, phases: Phases
) -> tuple[Frequencies, float, float]:
    """Give a rule's frequencies, its magnitude of cos and sin, and its softmax factor.

    Args:
        scaling: the rule.
        base: also called theta.
        width: entries that turn.
        length: of the sequence, or None.
        phases: "float32" takes every step in float32, in the order of transformers.

    Returns:
        Frequencies, magnitude, softmax factor.

    Example:
        >>> from ordinate.scaling import Linear
        >>> scaled_frequencies(Linear(factor=4.0), 10000.0, 4, None, "exact")[0].radians
        (0.25, 0.0025)
    """
    if phases == "float32":
        # Models of transformers give the length as a tensor, so that a base made from it is rounded to float32.
        asked: Any = None if length is None else torch.tensor(length, device="cpu")
        base, pairs = scaling.source(base, width, asked)
        periods = base ** (torch.arange(0, 2 * pairs, 2, dtype=torch.float32, device="cpu") / width)
        values, magnitude, softmax_factor = scaling.scale(periods.numpy(), base=base, width=width, length=length)
        return phase_recipes.from_values(values.tolist()), magnitude, softmax_factor
    base, pairs = scaling.source(base, width, length)
    exact = phase_recipes.from_base(base, [(2 * i, width) for i in range(pairs)])
    values, magnitude, softmax_factor = scaling.scale(1.0 / np.array(exact.radians), base=base, width=width, length=length)
    return exact if scaling.only_base else phase_recipes.from_values(values.tolist()), magnitude, softmax_factor
