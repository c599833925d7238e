"""Frequencies of rotary embeddings and the rules that stretch them, in loops: radians a position, one number a pair."""

from __future__ import annotations

import math
from collections.abc import Sequence


def rope_frequencies(base: float, width: int) -> list[float]:
    """RoPE's frequencies: w_i = base^(-2i / width).

    Args:
        base: also called theta.
        width: entries that turn.

    Returns:
        width / 2 numbers.

    Example:
        >>> rope_frequencies(10000.0, 4)
        [1.0, 0.01]

    Reference:
        Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2.2
    """
    return [base ** (-2 * i / width) for i in range(width // 2)]


def ntk_base(base: float, width: int, ratio: float) -> float:
    """The base with which the slowest pair is slower by a ratio: base ratio^(width / (width - 2)).

    Args:
        base: the old one.
        width: entries that turn.
        ratio: HunYuan's alpha; for dynamic NTK at length n: factor n / L - (factor - 1).

    Returns:
        The new base.

    Example:
        >>> round(ntk_base(10000.0, 8, 2 * 8 / 4 - (2 - 1)), 3)
        43267.487

    Reference:
        Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.1
    """
    return float(base * ratio ** (width / (width - 2)))


def yarn(
    base: float, width: int, factor: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool
) -> list[float]:
    """YaRN's frequencies: kept above beta_fast turns in the original length, divided by factor below beta_slow, a ramp between.

    Args:
        base: also called theta.
        width: entries that turn.
        factor: new length over original length.
        original_length: trained length.
        beta_fast: turns from which a pair is kept.
        beta_slow: turns up to which it is slowed.
        truncate: whether the ramp's ends are whole pairs, rounded outwards.

    Returns:
        width / 2 numbers.

    Example:
        >>> [round(w, 6) for w in yarn(10000.0, 8, 4.0, 512, 32.0, 1.0, False)]
        [1.0, 0.070399, 0.0025, 0.00025]

    Reference:
        Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.2
    """
    ends = []
    for turns in (beta_fast, beta_slow):
        # pair i turns L w_i / 2 pi times: solve for i
        wavelength = original_length / turns
        ends.append(width / 2 * math.log(wavelength / (2 * math.pi)) / math.log(base))
    low, high = (math.floor(ends[0]), math.ceil(ends[1])) if truncate else ends
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    scaled = []
    for i, frequency in enumerate(rope_frequencies(base, width)):
        slowed = min(max((i - low) / (high - low), 0.0), 1.0)
        scaled.append(frequency * (1 - slowed) + frequency / factor * slowed)
    return scaled


def yarn_magnitude(factor: float, strength: float = 1.0) -> float:
    """YaRN's magnitude: 0.1 strength log(factor) + 1, and 1 for factors up to 1.

    Args:
        factor: new length over original length.
        strength: 1, or DeepSeek's mscale.

    Returns:
        The magnitude.

    Example:
        >>> [round(yarn_magnitude(factor), 6) for factor in (4, 16, 32, 40, 64)]
        [1.138629, 1.277259, 1.346574, 1.368888, 1.415888]

    Reference:
        Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.4
    """
    return 1.0 if factor <= 1 else 0.1 * strength * math.log(factor) + 1.0


def longrope(
    base: float, width: int, short: Sequence[float], long: Sequence[float], original_length: int, length: int
) -> list[float]:
    """LongRoPE's frequencies: w_i / short_i up to the original length, w_i / long_i beyond.

    Args:
        base: also called theta.
        width: entries that turn.
        short: one factor a pair.
        long: one factor a pair.
        original_length: the boundary, which is still short.
        length: of the sequence.

    Returns:
        width / 2 numbers.

    Example:
        >>> longrope(10000.0, 4, [1.0, 2.0], [1.0, 4.0], 8, 9)
        [1.0, 0.0025]

    Reference:
        Ding et al. 2024, https://arxiv.org/abs/2402.13753
    """
    factors = long if length > original_length else short
    return [frequency / factors[i] for i, frequency in enumerate(rope_frequencies(base, width))]


def longrope_magnitude(factor: float, original_length: int) -> float:
    """LongRoPE's magnitude: sqrt(1 + log(factor) / log(original_length)), and 1 for factors up to 1.

    Args:
        factor: new length over original length.
        original_length: trained length.

    Returns:
        The magnitude.

    Example:
        >>> round(longrope_magnitude(32.0, 4096), 6)
        1.190238

    Reference:
        Ding et al. 2024, https://arxiv.org/abs/2402.13753
    """
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original_length))


def llama3(base: float, width: int, factor: float, low: float, high: float, original_length: int) -> list[float]:
    """Llama 3.1's frequencies: kept above ``high`` turns in the original length, divided by factor below ``low``, blended between.

    Args:
        base: also called theta.
        width: entries that turn.
        factor: new length over original length.
        low: low_freq_factor.
        high: high_freq_factor.
        original_length: trained length.

    Returns:
        width / 2 numbers.

    Example:
        >>> llama3(500000.0, 4, 8.0, 1.0, 4.0, 8192)[0]
        1.0

    Reference:
        Dubey et al. 2024, https://arxiv.org/abs/2407.21783, and the authors' code
    """
    scaled = []
    for frequency in rope_frequencies(base, width):
        turns = original_length * frequency / (2 * math.pi)
        if turns > high:
            scaled.append(frequency)
        elif turns < low:
            scaled.append(frequency / factor)
        else:
            share = (turns - low) / (high - low)
            scaled.append((1 - share) * frequency / factor + share * frequency)
    return scaled


def proportional(base: float, width: int, proportion: float, factor: float = 1.0) -> list[float]:
    """Proportional RoPE's frequencies: those of the full width for the fastest share of the pairs, 0 for the others.

    Args:
        base: also called theta.
        width: of the head.
        proportion: share of the pairs that turn.
        factor: divides them.

    Returns:
        width / 2 numbers.

    Example:
        >>> proportional(10000.0, 8, 0.5)
        [1.0, 0.1, 0.0, 0.0]

    Reference:
        Barbero et al. 2024, https://arxiv.org/abs/2410.06205
    """
    turning = int(proportion * width // 2)
    return [frequency / factor if i < turning else 0.0 for i, frequency in enumerate(rope_frequencies(base, width))]
