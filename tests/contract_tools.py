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
from ordinate import reference

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
    case: Case, scheme: Any, x: torch.Tensor, positions: Any, *, maps: list[torch.Tensor] | None = None, **seen: Any
) -> torch.Tensor:
    """Self-attention with the scheme at its site."""
    q, k, v = qkv(case, scheme, x, positions, maps)
    return ordinate.attend(q, k, v, scheme=inner(scheme), q_positions=positions, k_positions=positions, **seen)


def rows_of(positions: Any, batch: int) -> list[list[float]]:
    """Positions as one Python list a batch row."""
    if isinstance(positions, range):
        return [list(positions)] * batch
    values = positions.tolist()
    return values if positions.ndim == 2 and len(values) == batch else [values[0] if positions.ndim == 2 else values] * batch


def expected_layer(case: Case, x: torch.Tensor, positions: Any, added: Any = 0.0, **seen: Any) -> torch.Tensor:
    """What ``layer`` must give, from the definitions in ``ordinate.reference``: float64, loops, no code of the fast forms."""
    out = []
    for row, places in enumerate(rows_of(positions, x.shape[0])):
        vectors = x[row].double().numpy()
        if is_input(case.make()):
            vectors = vectors + case.oracle(places)
        q, k, v = ((vectors @ weight.numpy()).reshape(len(places), -1, case.head_dim) for weight in weights(case))
        heads = (part.swapaxes(0, 1) for part in (q, k, v))
        out.append(expected_row(case, *heads, places, places, visible_pairs(places, places, row, **seen), added))
    return torch.from_numpy(np.stack(out))


def expected_row(
    case: Case, q: Any, k: Any, v: Any, asked: Sequence[float], held: Sequence[float], visible: Any, added: Any = 0.0
) -> Any:
    """Attention of one batch row by definition: q [H, Q, D], k and v [H_kv, K, D] at the places ``asked`` and ``held``."""
    scheme = case.make()
    bias = np.zeros((case.n_heads, len(asked), len(held))) + added
    if isinstance(scheme, ordinate.ScoreScheme):
        bias = bias + case.oracle(asked, held)
    if isinstance(scheme, ordinate.QueryKeyScheme):
        q, k = [case.oracle(head, asked) for head in q], [case.oracle(head, held) for head in k]
    group, scale = case.n_heads // case.n_kv_heads, case.head_dim**-0.5
    heads = range(case.n_heads)
    return np.stack([reference.attention(q[h], k[h // group], v[h // group], scale, bias[h], visible) for h in heads])


def visible_pairs(
    asked: Sequence[float],
    held: Sequence[float],
    row: int = 0,
    *,
    causal: bool,
    window: int | None = None,
    document_ids: Any = None,
    mask: Any = None,
) -> Any:
    """Which keys each query sees, pair by pair; ids [B, T] and a padding mask [B, 1, 1, K]."""
    visible = np.ones((len(asked), len(held)), dtype=bool)
    for i, j in np.ndindex(visible.shape):
        ahead = held[j] - asked[i]
        later, far = causal and ahead > 0, window is not None and abs(ahead) >= window
        foreign = document_ids is not None and document_ids[row][i].item() != document_ids[row][j].item()
        masked = mask is not None and not mask[row, 0, 0, j].item()
        visible[i, j] = not (later or far or foreign or masked)
    return visible


def acts(case: Case, scheme: Any, positions: Any, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """All that a scheme does at these positions to fixed contents: vectors and sums, turned queries and keys, or biases."""
    batch = positions.shape[0] if isinstance(positions, torch.Tensor) and positions.ndim == 2 else 2
    length = ordinate.positions.count(positions)
    if scheme is None:
        return (layer(case, None, tokens(case, batch, length, dtype), positions, causal=True),)
    if is_input(scheme):
        return scheme.at(positions), scheme(tokens(case, batch, length, dtype), positions)
    q, k, _ = qkv(case, scheme, tokens(case, batch, length, dtype), positions)
    if isinstance(scheme, ordinate.QueryKeyScheme):
        at = scheme.at(positions)
        return scheme.queries(q, at), scheme.keys(k, at), *scheme(q, k, positions)
    few = range(3, 8)
    x = draw(batch, case.n_kv_heads, 5, case.head_dim, dtype=dtype)
    asked = draw(batch, case.n_heads, 5, case.head_dim, dtype=dtype)
    return scheme.bias(q, x, scheme.at(positions, few)), scheme.bias(asked, k, scheme.at(few, positions))


def expected_acts(case: Case, positions: Any, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """What ``acts`` must give, from the definitions; contents are first rounded to the dtype."""
    scheme = case.make()
    batch = positions.shape[0] if isinstance(positions, torch.Tensor) and positions.ndim == 2 else 2
    length = ordinate.positions.count(positions)
    places, x = rows_of(positions, batch), tokens(case, batch, length, dtype)
    if scheme is None:
        return (expected_layer(case, x, positions, causal=True),)
    if is_input(scheme):
        vectors = torch.from_numpy(np.stack([case.oracle(row) for row in places]))
        one_for_all = isinstance(positions, range) or positions.ndim == 1
        return vectors[0] if one_for_all else vectors, x.double() + vectors
    if isinstance(scheme, ordinate.ScoreScheme):
        few = range(3, 8)
        both = (np.stack([case.oracle(row, few) for row in places]), np.stack([case.oracle(few, row) for row in places]))
        one_for_all = isinstance(positions, range) or positions.ndim == 1
        return tuple(torch.from_numpy(bias[:1] if one_for_all else bias) for bias in both)
    q, k, _ = qkv(case, scheme, x, positions)
    turned = [_turned(case, heads, places) for heads in (q, k)]
    return (*turned, *turned)


def _turned(case: Case, heads: torch.Tensor, places: list[list[float]]) -> torch.Tensor:
    rows = [[case.oracle(head.double().numpy(), row) for head in heads[b]] for b, row in enumerate(places)]
    return torch.from_numpy(np.array(rows).reshape(heads.shape))
