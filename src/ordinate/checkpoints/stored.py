"""What checkpoints store of positions though it follows from the configuration: frequencies, position numbers, masks, tables.

Loading them is how wrong numbers get in: they may be rounded to bfloat16, made from another base, or left uninitialised. Here they
are taken out of a state dict, so that weights load strictly whether or not a file has them; stored frequencies are compared with
those of a scheme, and never used in their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch

from ordinate.checks import described
from ordinate.schemes.rope import Rope

Cause = Literal[
    "equal",
    "rounded to bfloat16",
    "rounded to float16",
    "without the scaling rule",
    "another base",
    "divided by a factor",
    "other",
]

# Different orders of float32 operations, exp(-log) or 1 / power, up to base 1e8: less than 1e-6.
FLOAT32_ERROR = 2e-6
MOST_DIGITS = 7


class SplitState(NamedTuple):
    """A state dict in two: what was learned, and what is derived.

    Example:
        >>> split = split_derived({"q.weight": torch.zeros(2, 2), "position_ids": torch.arange(7)})
        >>> list(split.weights), list(split.derived)
        (['q.weight'], ['position_ids'])
    """

    weights: dict[str, Any]
    derived: dict[str, torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class StoredFrequencies:
    """How stored frequencies compare with a scheme's.

    Args:
        largest: relative difference |stored - own| / own, at most; infinite where a stored number is not finite.
        pair: the pair that has it.
        cause: "equal" (to float32 rounding), "rounded to bfloat16", "rounded to float16", "without the scaling rule" of the scheme,
            "another base" and no rule, "divided by a factor" (one number for all pairs), or "other".
        base: the other base, if that is the cause.
        factor: what the scheme's frequencies were divided by, if that is the cause.

    Example:
        >>> report = StoredFrequencies(largest=0.0, pair=0, cause="equal")
        >>> report.base is None
        True
    """

    largest: float
    pair: int
    cause: Cause
    base: float | None = None
    factor: float | None = None


def split_derived(state_dict: Mapping[str, Any]) -> SplitState:
    """Take out of a state dict what is no weight but follows from the configuration.

    By the last part of the name, and only where the tensor looks so: rotary frequencies (``inv_freq``, ``original_inv_freq``,
    ``rope.freqs``), cached cos, sin and sinusoids (``cos_cached``, ``sin_cached``, ``freqs_cis``, ``embed_positions``),
    ``position_ids``, ``token_type_ids`` and ``relative_position_index``, causal masks (``attn.bias`` of zeros and ones,
    ``masked_bias``), fairseq's ``_float_tensor``; and GGUF's ``rope_freqs.weight`` and ``rope_factors_*.weight``: numbers that
    frequencies are divided by, a scaling rule rather than weights. Sinusoids stored as a weight (``embed_positions.weight``) stay:
    nothing says whether they were learned.

    Args:
        state_dict: names and tensors.

    Returns:
        Two dicts in the order given, whose tensors are those given: the rest, which loads with ``strict=True`` into modules that
        keep no such buffers, and what was taken out.

    Example:
        >>> state = {"q.weight": torch.zeros(8, 8), "rotary_emb.inv_freq": torch.ones(4), "attn.bias": torch.zeros(8)}
        >>> weights, derived = split_derived(state)
        >>> list(weights), list(derived)
        (['q.weight', 'attn.bias'], ['rotary_emb.inv_freq'])
    """
    derived = {name: value for name, value in state_dict.items() if isinstance(value, torch.Tensor) and _is_derived(name, value)}
    return SplitState({name: value for name, value in state_dict.items() if name not in derived}, derived)


def compare_frequencies(stored: torch.Tensor, rope: Rope) -> StoredFrequencies:
    """Compare stored inverse frequencies with a scheme's, and name the likely cause of a difference.

    A base or factor is the one of fewest digits, up to 7, that gives every stored number to the precision in which it is stored.

    Args:
        stored: radians a position, one number a pair.
        rope: the scheme that the configuration asks for, with its scaling rule.

    Returns:
        The largest relative difference, where it is, and its likely cause.

    Raises:
        ValueError: if stored is no row of as many numbers as the scheme has pairs.

    Shape:
        stored [rotary_dim / 2]

    Example:
        >>> rope = Rope(head_dim=8, layout="half")
        >>> compare_frequencies(torch.tensor([1.0, 0.1, 0.01, 0.001]), rope).cause
        'equal'
        >>> report = compare_frequencies(torch.tensor([500000.0 ** (-i / 4) for i in range(4)]), rope)
        >>> report.cause, report.base
        ('another base', 500000.0)
    """
    if not isinstance(rope, Rope):
        raise ValueError(f"rope: needed a Rope, got {described(rope)}; a layer without a rotation has no frequencies")
    own = torch.tensor(rope.inverse_frequencies, dtype=torch.float64, device="cpu")
    if not isinstance(stored, torch.Tensor) or not stored.is_floating_point() or stored.shape != own.shape or stored.is_meta:
        raise ValueError(
            f"stored: needed a floating tensor [{len(own)}], one number a pair (rotary_dim={rope.rotary_dim}), got "
            f"{described(stored)}; another number of pairs means another rotary_dim"
        )
    precision = _precision(stored)
    stored = stored.detach().double().cpu()
    difference = torch.where(stored == own, 0.0, (stored - own).abs() / own.abs()).nan_to_num(nan=math.inf, posinf=math.inf)
    largest, pair = difference.max(dim=0)
    cause, base, factor = _cause(stored, own, precision, rope)
    return StoredFrequencies(largest=float(largest), pair=int(pair), cause=cause, base=base, factor=factor)


# Names


def _is_row(value: torch.Tensor) -> bool:
    return value.is_floating_point() and value.ndim == 1


def _is_table(value: torch.Tensor) -> bool:
    return (value.is_floating_point() or value.is_complex()) and value.ndim >= 2


def _is_sinusoids(value: torch.Tensor) -> bool:
    """A table whose position 0 has sines 0 and cosines 1 only; on meta, any table."""
    if not _is_table(value) or not value.numel() or value.is_meta:
        return _is_table(value) and value.numel() > 0
    first = value[..., 0, :]
    return bool(((first == 0) | (first == 1)).all() and (first == 1).any())


def _is_whole(value: torch.Tensor) -> bool:
    return not value.is_floating_point() and not value.is_complex() and value.dtype != torch.bool


def _is_places(value: torch.Tensor) -> bool:
    """Position numbers, also where a cast of the whole model has made them floating."""
    if not value.is_floating_point() or value.ndim > 2:
        return value.ndim <= 2 and _is_whole(value)
    return value.is_meta or bool((value == value.round()).all())


def _is_mask(value: torch.Tensor) -> bool:
    """[1, 1, T, T] of zeros and ones, not zeros alone, in any dtype: no bias has that shape."""
    shape = value.shape
    if value.ndim != 4 or shape[:2] != (1, 1) or shape[2] != shape[3]:
        return False
    return value.is_meta or bool(((value == 0) | (value == 1)).all() and (value == 1).any())


def _is_one_number(value: torch.Tensor) -> bool:
    return value.numel() == 1


DERIVED: dict[str, Callable[[torch.Tensor], bool]] = {
    "rope.freqs": _is_row,
    "rope_freqs.weight": _is_row,
    "rope_factors_long.weight": _is_row,
    "rope_factors_short.weight": _is_row,
    "cos_cached": _is_table,
    "sin_cached": _is_table,
    "freqs_cis": _is_table,
    "embed_positions": _is_sinusoids,
    "position_ids": _is_places,
    "token_type_ids": _is_places,
    "relative_position_index": _is_whole,
    "attn.bias": _is_mask,
    "attention.bias": _is_mask,
    "self_attn.bias": _is_mask,
    "masked_bias": _is_one_number,
    "_float_tensor": _is_one_number,
}


def _is_derived(name: str, value: torch.Tensor) -> bool:
    parts = name.split(".")
    if parts[-1].endswith("inv_freq"):  # also sliding_attention_inv_freq and the like
        return _is_row(value)
    looks = DERIVED.get(".".join(parts[-2:])) or DERIVED.get(parts[-1])
    return looks is not None and looks(value)


# Causes


def _precision(stored: torch.Tensor) -> torch.dtype:
    """The narrowest dtype that holds every stored number; float32 for wider ones."""
    narrow = (dtype for dtype in (torch.bfloat16, torch.float16) if torch.equal(stored.to(dtype).to(stored.dtype), stored))
    return next(narrow, torch.float32)


def _gives(expected: torch.Tensor, stored: torch.Tensor, precision: torch.dtype) -> bool:
    """Whether the expected numbers, each within float32's errors, round to the stored ones."""
    low, high = ((expected * (1 + error)).to(precision).double() for error in (-FLOAT32_ERROR, FLOAT32_ERROR))
    return bool(((low <= stored) & (stored <= high)).all())


def _cause(stored: torch.Tensor, own: torch.Tensor, precision: torch.dtype, rope: Rope) -> tuple[Cause, float | None, float | None]:
    """The first cause that explains every number, with the base or the factor."""
    if _gives(own, stored, torch.float32):
        return "equal", None, None
    if precision != torch.float32 and _gives(own, stored, precision):
        return "rounded to bfloat16" if precision == torch.bfloat16 else "rounded to float16", None, None
    exponents = torch.arange(len(own), dtype=torch.float64, device="cpu") / len(own)
    if rope.scaling is not None and _gives(rope.base**-exponents, stored, precision):
        return "without the scaling rule", None, None
    if len(own) > 1:
        slope = exponents @ stored.log() / (exponents @ exponents)  # of log w_i = -(2i / d) log base
        base = _roundest(float((-slope).exp()), lambda base: _gives(base**-exponents, stored, precision))
        if base is not None:
            return "another base", base, None
    factor = _roundest(float((own / stored).median()), lambda factor: _gives(own / factor, stored, precision))
    return ("other", None, None) if factor is None else ("divided by a factor", None, factor)


def _roundest(value: float, fits: Callable[[float], bool]) -> float | None:
    """The number of fewest digits near a value that fits."""
    if not 0 < value < math.inf:  # NaN too: of stored numbers that are no frequencies
        return None
    return next((number for n in range(1, MOST_DIGITS + 1) if fits(number := float(f"{value:.{n}g}"))), None)
