"""What arithmetic says of a rotary embedding at a length, before anything runs: wavelengths, turns, unseen phases, precision.

    wavelength_i = 2 pi / w_i tokens;  turns_i(n) = n / wavelength_i;  phase reached at length n: (n - 1) w_i

A pair that has made a full turn within the trained length has shown every phase. One that has not has shown phases up to
(trained - 1) w_i only: at a longer length it reaches phases that no weight has met, unless a rule slows it enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ordinate.scaling.rule import Rule, Scaled, positive, require, whole

# Bits of the significand with the hidden one, and the largest number, of the dtypes that angles are computed in.
DTYPES = {"float32": (24, 3.4e38), "bfloat16": (8, 3.4e38), "float16": (11, 65504.0)}
EXACT_ERROR, EXACT_LENGTH = 2.0**-24 * 0.51, 2**48
TOLERANCE = 1e-9
WIDEST = 2**16


@dataclass(frozen=True)
class PairTheory:
    """One pair of entries: as trained, and under the rule at the length."""

    pair: int
    wavelength: float
    turns_trained: float
    scaled_wavelength: float
    turns_at_length: float
    slowed_by: float
    complete: bool
    unseen: bool


@dataclass(frozen=True)
class Theory:
    """All pairs, and what follows for the whole."""

    pairs: tuple[PairTheory, ...]
    never_complete: int
    unseen: int
    magnitude: float
    softmax_factor: float
    angle_errors: dict[str, float | None]
    merged_positions: dict[str, int | None]


def theory(
    *, base: float, rotary_dim: int, trained: int, length: int, rule: Rule | None = None, trained_rule: Rule | None = None
) -> Theory:
    """Work out what a rotary embedding does at a length.

    Args:
        base: also called theta.
        rotary_dim: entries that turn, even.
        trained: length of the training sequences.
        length: length that is asked about.
        rule: of ``ordinate.scaling``, or None.
        trained_rule: the rule that the model was trained with, if any.

    Returns:
        Every pair, and how many never complete a turn within the trained length, how many reach unseen phases at the length;
        the rule's magnitudes; per dtype the largest error of an angle at the last position, in radians (None: no bound), and
        how many neighbouring positions share one number there.

    Raises:
        ValueError: if a number does not fit; all faults in one message.

    Example:
        >>> found = theory(base=10000.0, rotary_dim=128, trained=4096, length=16384)
        >>> found.never_complete, found.unseen
        (18, 18)
        >>> from ordinate.scaling import Linear
        >>> theory(base=10000.0, rotary_dim=128, trained=4096, length=16384, rule=Linear(factor=4.0)).unseen
        0
    """
    faults = positive("base", base) + whole("trained", trained, least=1) + whole("length", length, least=1)
    widths = whole("rotary_dim", rotary_dim, least=2)
    if not widths and (rotary_dim % 2 or rotary_dim > WIDEST):
        widths = [f"rotary_dim: needed an even number up to {WIDEST}, got {rotary_dim}"]
    if not faults and base <= 1:
        faults = [f"base: needed a number > 1, got {base}"]
    require("theory", faults + widths)
    frequencies = [base ** (-2 * i / rotary_dim) for i in range(rotary_dim // 2)]
    scaled = Scaled(tuple(frequencies), 1.0, 1.0) if rule is None else rule.apply(frequencies, base=base, length=length)
    seen = frequencies if trained_rule is None else trained_rule.apply(frequencies, base=base, length=trained).inverse_frequencies
    both = zip(seen, scaled.inverse_frequencies, strict=True)
    pairs = tuple(_pair(i, old, new, trained, length) for i, (old, new) in enumerate(both))
    return Theory(
        pairs=pairs,
        never_complete=sum(not pair.complete for pair in pairs),
        unseen=sum(pair.unseen for pair in pairs),
        magnitude=scaled.magnitude,
        softmax_factor=scaled.softmax_factor,
        angle_errors={
            "exact": EXACT_ERROR if length <= EXACT_LENGTH else None,
            **{name: _angle_error(name, length, scaled) for name in DTYPES},
        },
        merged_positions={name: _merged(name, length) for name in DTYPES},
    )


def _pair(index: int, trained_frequency: float, frequency: float, trained: int, length: int) -> PairTheory:
    wavelength, stretched = _wavelength(trained_frequency), _wavelength(frequency)
    complete = trained >= wavelength
    reached, seen = (length - 1) * frequency, (trained - 1) * trained_frequency
    return PairTheory(
        pair=index,
        wavelength=wavelength,
        turns_trained=trained / wavelength,
        scaled_wavelength=stretched,
        turns_at_length=length / stretched,
        slowed_by=1.0 if stretched == wavelength else stretched / wavelength,
        complete=complete,
        # a rule that stretches exactly to the length reaches (length - 1) / factor, at most one token's phase beyond the last seen
        unseen=not complete and reached > seen + trained_frequency + TOLERANCE,
    )


def _wavelength(frequency: float) -> float:
    return math.inf if frequency == 0 else 2 * math.pi / frequency


def _angle_error(dtype: str, length: int, scaled: Scaled) -> float | None:
    """Half a unit in the last place of the largest angle; beyond pi nothing is left of it."""
    bits, largest = DTYPES[dtype]
    angle = (length - 1) * max(scaled.inverse_frequencies)
    if length - 1 > largest or angle > largest:
        return None
    if angle == 0:
        return 0.0
    return min(2.0 ** (math.frexp(angle)[1] - bits - 1), math.pi)


def _merged(dtype: str, length: int) -> int | None:
    """How many neighbouring whole positions are one number of the dtype at the end of the sequence."""
    bits, largest = DTYPES[dtype]
    return None if length - 1 > largest else 1 << max((length - 1).bit_length() - bits, 0)
