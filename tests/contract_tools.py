"""What the contract's checks share: inputs, one attention layer around any scheme, its definition in loops, and comparison."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import ordinate
from cases import Case

LENGTH = 7
SHUFFLED = (5, 0, 9, 3, 1, 8, 2)
PER_ROW = ((5, 0, 9, 3, 1, 8, 2), (2, 4, 6, 7, 0, 1, 10))
# Outputs have size 1 to 4; the bounds are some 10 roundings of that size, and a bias or score some 20 times larger before it.
TOLERANCE = {torch.float64: 2e-14, torch.float32: 6e-6, torch.bfloat16: 4e-2, torch.float16: 5e-3}


def near(got: torch.Tensor, want: torch.Tensor, tolerance: float | None = None, what: str = "") -> None:
    """Assert entrywise agreement; the absolute bound follows from the dtype of what came."""
    assert tuple(got.shape) == tuple(want.shape), f"{what}: shape {tuple(got.shape)}, needed {tuple(want.shape)}"
    if got.numel() == 0:
        return
    bound = TOLERANCE[got.dtype] if tolerance is None else tolerance
    gap = (got.double() - want.double()).abs()
    worst = gap.max().item()
    assert worst <= bound, f"{what}: off by {worst:.3g} (allowed {bound:.3g}) at {np.unravel_index(int(gap.argmax()), gap.shape)}"


def identical(got: Any, want: Any, what: str = "") -> None:
    """Assert equality bit for bit of two tensors, or of two tuples of tensors."""
    if isinstance(got, torch.Tensor):
        got, want = (got,), (want,)
    for first, second in zip(got, want, strict=True):
        assert first.dtype == second.dtype, f"{what}: {first.dtype}, needed {second.dtype}"
        assert torch.equal(first, second), f"{what}: off by {(first.double() - second.double()).abs().max().item():.3g}"


def differ(first: torch.Tensor, second: torch.Tensor, least: float, what: str = "") -> None:
    """Assert that two results are told apart by at least ``least`` somewhere."""
    gap = (first.double() - second.double()).abs().max().item()
    assert gap > least, f"{what}: differ by {gap:.3g} only, needed more than {least:.3g}"


def refuses(call: Callable[[], object], error: type[Exception], text: str) -> None:
    """Assert that a call is refused with this error and text; a wrong acceptance is an AssertionError too."""
    said = ""
    try:
        call()
    except error as fault:
        said = str(fault)
    assert text in said, f"needed a refusal with {text!r}, got {said!r}"


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Normal numbers, the same in every run and, up to rounding, in every dtype."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def tokens(case: Case, batch: int = 2, length: int = LENGTH, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return draw(batch, length, case.d_model, seed=length, dtype=dtype)


@functools.cache
def weights(case: Case, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Fixed query, key and value maps; 1.2 makes the attention uneven."""
    heads = (case.n_heads, case.n_kv_heads, case.n_kv_heads)
    size = 1.2 / math.sqrt(case.d_model)
    return [(draw(case.d_model, n * case.head_dim, seed=90 + i, dtype=torch.float64) * size).to(dtype) for i, n in enumerate(heads)]


@functools.cache
def tables(case: Case, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """The tensors that come with every call, for ``attend(extras=)``."""
    return {name: table.to(dtype) for name, table in case.extras().items()}


def is_input(scheme: Any) -> bool:
    return isinstance(scheme, ordinate.InputScheme)


def inner(scheme: Any) -> Any:
    """The scheme that attention is given."""
    return None if is_input(scheme) else scheme


def qkv(case: Case, scheme: Any, x: torch.Tensor, positions: Any, maps: list[torch.Tensor] | None = None) -> list[torch.Tensor]:
    """q, k, v [B, H, T, D] of tokens; an input scheme acts here."""
    if is_input(scheme):
        x = scheme(x, positions)
    maps = weights(case, x.dtype) if maps is None else maps
    return [(x @ weight).unflatten(-1, (-1, case.head_dim)).transpose(1, 2) for weight in maps]


def layer(
    case: Case, scheme: Any, x: torch.Tensor, positions: Any, *, maps: list[torch.Tensor] | None = None, **given: Any
) -> torch.Tensor:
    """Self-attention with the scheme at its site."""
    return attend(case, scheme, qkv(case, scheme, x, positions, maps), positions, positions, **given)


def attend(
    case: Case,
    scheme: Any,
    parts: Sequence[torch.Tensor],
    q_positions: Any,
    k_positions: Any,
    *,
    extras: dict[str, torch.Tensor] | None = None,
    **given: Any,
) -> torch.Tensor:
    """Attention of q, k, v with the scheme, unless it has acted at the input, and with the tables that its calls take."""
    q, k, v = parts
    extras = tables(case, q.dtype) if extras is None else extras
    places = {"q_positions": q_positions, "k_positions": k_positions}
    return ordinate.attend(q, k, v, scheme=inner(scheme), **places, extras=extras, **given)


def sizes(positions: Any) -> tuple[int, int]:
    batch = positions.shape[0] if isinstance(positions, torch.Tensor) and positions.ndim == 2 else 2
    return batch, ordinate.positions.count(positions)


def acts(case: Case, scheme: Any, positions: Any, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """All that a scheme does at these positions to fixed contents: vectors and sums, turned queries and keys, or biases and values.

    The contents are made outside autocast.
    """
    x = tokens(case, *sizes(positions), dtype)
    if scheme is None:
        return (layer(case, None, x, positions, causal=True),)
    if is_input(scheme):
        return scheme.at(positions), scheme(x, positions)
    with torch.autocast("cpu", enabled=False):
        q, k, _ = qkv(case, scheme, x, positions)
    if isinstance(scheme, ordinate.QueryKeyScheme):
        at = scheme.at(positions)
        return scheme.queries(q, at), scheme.keys(k, at), *scheme(q, k, positions)
    asked, held, shares = few(case, positions, dtype)
    at, extras = scheme.at(positions, FEW), tables(case, dtype)
    add = scheme.added_values(at)
    biases = scheme.bias(q, held, at, **extras), scheme.bias(asked, k, scheme.at(FEW, positions), **extras)
    return biases if add is None else (*biases, add(shares))


FEW = range(3, 8)


def few(case: Case, positions: Any, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Queries and keys at FEW, and weights over FEW for queries at the positions."""
    batch, length = sizes(positions)
    asked, held = (draw(batch, n, len(FEW), case.head_dim, dtype=dtype) for n in (case.n_heads, case.n_kv_heads))
    wide = torch.promote_types(dtype, torch.float32)
    return asked, held, draw(batch, case.n_heads, length, len(FEW), seed=2).softmax(-1).to(wide)
