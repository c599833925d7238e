"""Wrong changes to the rules that stretch RoPE, the ways people get them wrong."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from mutant_tools import Mutant, Patch, Proxy, wrap
from ordinate.scaling import NTK, DynamicNTK, Llama3, LongRoPE, Proportional, YaRN, yarn
from ordinate.schemes import rope

# The ramp


def yarn_ramp_inverted(patch: Patch) -> None:
    wrap(patch, YaRN, "ramp_ends", lambda original, *args: original(*args)[::-1])


def yarn_floor_and_ceil_swapped(patch: Patch) -> None:
    patch.setattr(yarn, "math", Proxy(math, floor=math.ceil, ceil=math.floor))


def yarn_floor_before_the_division(patch: Patch) -> None:
    def floored(self: Any, times: float, base: float, width: int) -> float:
        return math.floor(width * math.log(self.original_length / (times * 2 * math.pi))) / (2 * math.log(base))

    patch.setattr(yarn, "math", Proxy(math, ceil=lambda number: number))
    patch.setattr(YaRN, "_pair_that_turns", floored)


def yarn_betas_swapped(patch: Patch) -> None:
    def other(original: Any, self: Any, times: float, base: float, width: int) -> float:
        return float(original(self, self.beta_fast + self.beta_slow - times, base, width))

    wrap(patch, YaRN, "_pair_that_turns", other)


def yarn_always_truncates(patch: Patch) -> None:
    wrap(
        patch,
        YaRN,
        "ramp_ends",
        lambda original, self, *args: (math.floor(original(self, *args)[0]), math.ceil(original(self, *args)[1])),
    )


# Magnitudes


def magnitude_squared(patch: Patch) -> None:
    wrap(patch, YaRN, "_magnitude", lambda original, self: original(self) ** 2)


def magnitude_dropped(patch: Patch) -> None:
    patch.setattr(YaRN, "_magnitude", lambda _: 1.0)


def magnitude_of_queries_only(patch: Patch) -> None:
    wrap(patch, rope.Rope, "keys", lambda original, self, *args, **named: original(self, *args, **named) / self.magnitude)


def given_magnitude_beside_the_default(patch: Patch) -> None:
    def both(original: Any, self: Any) -> float:
        return float(original(self) * (1.0 if self.attention_factor is None else self._m(1.0)))

    wrap(patch, YaRN, "_magnitude", both)


def magnitude_of_all_entries(patch: Patch) -> None:
    def all_entries(original: Any, self: Any, name: str, x: Any, *args: Any, **named: Any) -> Any:
        start, stop = self.rotary_start, self.rotary_start + self.rotary_dim
        out = original(self, name, x, *args, **named).clone()
        out[..., :start] *= self.magnitude
        out[..., stop:] *= self.magnitude
        return out

    wrap(patch, rope.Rope, "_rotate", all_entries)


def magnitude_again_in_a_shift(patch: Patch) -> None:
    def always(original: Any, self: Any, *args: Any, factor: float) -> Any:
        return original(self, *args, factor=self.magnitude if factor == 1.0 else factor)

    wrap(patch, rope.Rope, "_rotate", always)


def softmax_factor_in_cos_and_sin(patch: Patch) -> None:
    def folded(original: Any, *args: Any) -> tuple[Any, float, float]:
        frequencies, magnitude, softmax_factor = original(*args)
        return frequencies, magnitude * math.sqrt(softmax_factor), 1.0

    wrap(patch, rope, "scaled_frequencies", folded)


def softmax_factor_without_the_square(patch: Patch) -> None:
    wrap(patch, YaRN, "_softmax_factor", lambda original, self: math.sqrt(original(self)))


# Lengths


def base_of_the_longest_yet(patch: Patch) -> None:
    longest = [0]

    def remembered(original: Any, self: Any, base: float, width: int, length: int | None) -> Any:
        longest[0] = max(longest[0], length or 0)
        return original(self, base, width, longest[0] or None)

    wrap(patch, DynamicNTK, "source", remembered)


def base_shrinks_below_the_original_length(patch: Patch) -> None:
    def shrunk(self: Any, base: float, width: int, length: int | None) -> tuple[float, int]:
        ratio = max(self.factor * (length or self.original_length) / self.original_length - (self.factor - 1), 0.1)
        return base * ratio ** (width / (width - 2)), width // 2

    patch.setattr(DynamicNTK, "source", shrunk)


def base_ignores_the_factor(patch: Patch) -> None:
    def grown(self: Any, base: float, width: int, length: int | None) -> tuple[float, int]:
        return base * max((length or 1) / self.original_length, 1.0) ** (width / (width - 2)), width // 2

    patch.setattr(DynamicNTK, "source", grown)


def longrope_long_at_the_original_length(patch: Patch) -> None:
    def early(original: Any, self: Any, periods: Any, *, length: int | None, **named: Any) -> Any:
        return original(self, periods, length=None if length is None else length + 1, **named)

    wrap(patch, LongRoPE, "scale", early)


def longrope_always_short(patch: Patch) -> None:
    wrap(patch, LongRoPE, "scale", lambda original, self, periods, **named: original(self, periods, **{**named, "length": None}))


def longrope_multiplies(patch: Patch) -> None:
    def multiplied(original: Any, self: Any, periods: Any, **named: Any) -> Any:
        divided, magnitude, softmax_factor = original(self, periods, **named)
        return 1.0 / periods / (divided * periods), magnitude, softmax_factor

    wrap(patch, LongRoPE, "scale", multiplied)


def cached_keys_left_as_they_are(patch: Patch) -> None:
    patch.setattr(rope.Rope, "returned", lambda _, keys, *_args, **_named: keys)


# Bands, bases, pairs


def llama3_low_and_high_swapped(patch: Patch) -> None:
    def swapped(original: Any, self: Any, *args: Any, **named: Any) -> Any:
        low, high = self.low_frequency_factor, self.high_frequency_factor
        given = {"factor": self.factor, "original_length": self.original_length}
        return original(SimpleNamespace(low_frequency_factor=high, high_frequency_factor=low, **given), *args, **named)

    wrap(patch, Llama3, "scale", swapped)


def llama3_linear_in_the_wavelength(patch: Patch) -> None:
    def linear(self: Any, periods: Any, **_: Any) -> Any:
        longest, shortest = self.original_length / self.low_frequency_factor, self.original_length / self.high_frequency_factor
        share = np.clip((longest - 2 * math.pi * periods) / (longest - shortest), 0, 1)
        return ((1 - share) / self.factor + share) / periods, 1.0, 1.0

    patch.setattr(Llama3, "scale", linear)


def ntk_divides_the_frequencies(patch: Patch) -> None:
    patch.setattr(NTK, "only_base", False)
    patch.setattr(NTK, "source", lambda _, base, width, _length: (base, width // 2))
    patch.setattr(
        NTK, "scale", lambda self, periods, *, width, **_: (1.0 / periods / self.alpha ** (width / (width - 2)), 1.0, 1.0)
    )


def ntk_without_the_exponent(patch: Patch) -> None:
    patch.setattr(NTK, "source", lambda self, base, width, _: (base * self.alpha, width // 2))


def proportional_with_own_denominators(patch: Patch) -> None:
    def own(original: Any, self: Any, base: float, width: int, length: int | None) -> tuple[float, int]:
        base, pairs = original(self, base, width, length)
        return base ** (width / (2 * pairs)), pairs

    wrap(patch, Proportional, "source", own)


_YARN = (yarn_ramp_inverted, yarn_floor_and_ceil_swapped, yarn_floor_before_the_division, yarn_betas_swapped)
_MAGNITUDES = (
    magnitude_squared,
    magnitude_dropped,
    magnitude_of_queries_only,
    given_magnitude_beside_the_default,
    magnitude_of_all_entries,
    magnitude_again_in_a_shift,
)
_LENGTHS = (base_of_the_longest_yet, base_shrinks_below_the_original_length, base_ignores_the_factor)
_LONG = (longrope_long_at_the_original_length, longrope_always_short, longrope_multiplies, cached_keys_left_as_they_are)

MUTANTS = (
    *(Mutant(change, "yarn_ramp", None) for change in (*_YARN, yarn_always_truncates)),
    *(Mutant(change, "scheme_oracle", "rope yarn") for change in _YARN),
    *(Mutant(change, "yarn_magnitude", None) for change in _MAGNITUDES),
    Mutant(given_magnitude_beside_the_default, "norms_kept", "rope yarn"),
    *(
        Mutant(change, "softmax_is_scaled_apart", None)
        for change in (softmax_factor_in_cos_and_sin, softmax_factor_without_the_square)
    ),
    *(Mutant(change, "dynamic_ntk_history", None) for change in _LENGTHS),
    Mutant(base_ignores_the_factor, "scheme_oracle", "rope dynamic"),
    *(Mutant(change, "longrope_switch", None) for change in _LONG),
    *(Mutant(change, "scheme_oracle", "rope longrope partial") for change in (longrope_always_short, longrope_multiplies)),
    *(Mutant(change, "llama3_bands", None) for change in (llama3_low_and_high_swapped, llama3_linear_in_the_wavelength)),
    *(Mutant(change, "scheme_oracle", "rope llama3") for change in (llama3_low_and_high_swapped, llama3_linear_in_the_wavelength)),
    *(Mutant(change, "ntk_alpha", None) for change in (ntk_divides_the_frequencies, ntk_without_the_exponent)),
    Mutant(proportional_with_own_denominators, "proportional_pairs", None),
    Mutant(proportional_with_own_denominators, "scheme_oracle", "rope proportional"),
)
