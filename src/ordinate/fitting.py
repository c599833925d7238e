"""Whether tensors and positions fit a scheme: what was needed, what came. And the distances between two position vectors."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ordinate.checks import described, whole_number
from ordinate.positions import Positions, as_tensor, check

FARTHEST = 2**62
LARGEST_SPAN = 2**61  # added to a distance, it still fits in int64


class ScoreAt(NamedTuple):
    """The two position vectors that a score scheme works from: O(Q + K) numbers, never a matrix."""

    q_positions: Positions
    k_positions: Positions


def score_at(q_positions: Positions, k_positions: Positions, *, fractional: bool) -> ScoreAt:
    """Check two position vectors and keep them.

    Args:
        q_positions: where the queries are.
        k_positions: where the keys are.
        fractional: whether fractional positions are allowed.

    Returns:
        The two.

    Raises:
        TypeError: if one is neither a range nor a tensor.
        ValueError: if a dtype or shape does not fit.

    Example:
        >>> score_at(range(2), range(3), fractional=False)
        ScoreAt(q_positions=range(0, 2), k_positions=range(0, 3))
    """
    check(q_positions, name="q_positions", fractional=fractional)
    check(k_positions, name="k_positions", fractional=fractional)
    return ScoreAt(q_positions, k_positions)


def check_scores(
    q: torch.Tensor, k: torch.Tensor, at: ScoreAt, *, scheme: str, n_heads: int | None = None, head_dim: int | None = None
) -> None:
    """Refuse queries, keys or an ``at`` that do not fit a score scheme.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        at: what ``scheme.at`` gave.
        scheme: the scheme's name.
        n_heads: the number of query heads that it needs, if any.
        head_dim: the width that it needs, if any.

    Raises:
        ValueError: if shapes, heads, width or positions do not fit.

    Example:
        >>> q = torch.zeros(1, 2, 3, 8)
        >>> check_scores(q, q, ScoreAt(range(3), range(3)), scheme="ALiBi", n_heads=4)
        Traceback (most recent call last):
        ValueError: ALiBi(n_heads=4): needed q with 4 heads, got 2; build the scheme with the model's head count, ...
    """
    if not isinstance(at, ScoreAt):
        raise ValueError(f"at: needed {scheme}.at(q_positions, k_positions), got {described(at)}")
    if q.ndim != 4 or k.ndim != 4:
        raise ValueError(f"q, k: needed tensors [B, H, T, D], got {described(q)} and {described(k)}")
    if n_heads is not None and q.shape[1] != n_heads:
        raise ValueError(
            f"{scheme}(n_heads={n_heads}): needed q with {n_heads} heads, got {q.shape[1]}; "
            "build the scheme with the model's head count, or take heads(start, stop) of it"
        )
    if head_dim is not None and (q.shape[3] != head_dim or k.shape[3] != head_dim):
        raise ValueError(f"{scheme}(head_dim={head_dim}): needed q and k of that width, got {q.shape[3]} and {k.shape[3]}")
    if q.shape[1] % max(k.shape[1], 1) or k.shape[1] == 0:
        raise ValueError(f"k: needed a number of heads that divides q's {q.shape[1]}, got {k.shape[1]}")
    check(at.q_positions, name="q_positions", length=q.shape[-2], batch=q.shape[0])
    check(at.k_positions, name="k_positions", length=k.shape[-2], batch=k.shape[0])


def check_heads(start: int, stop: int, n_heads: int | None = None) -> None:
    """Refuse a slice of heads that is empty or not there.

    Args:
        start: first head.
        stop: one past the last head.
        n_heads: how many there are, if that is known.

    Raises:
        ValueError: unless 0 <= start < stop <= n_heads.

    Example:
        >>> check_heads(2, 5, 4)
        Traceback (most recent call last):
        ValueError: heads: needed 0 <= start < stop <= 4, got 2, 5
    """
    start, stop = whole_number("start", start), whole_number("stop", stop)
    if not 0 <= start < stop or (n_heads is not None and stop > n_heads):
        end = "" if n_heads is None else f" <= {n_heads}"
        raise ValueError(f"heads: needed 0 <= start < stop{end}, got {start}, {stop}")


def whole_distances(distance: torch.Tensor) -> torch.Tensor:
    """Give distances as int64 that can be negated and added to without overflow; no table holds one beyond 2^62.

    Args:
        distance: key position - query position, whole numbers in any dtype.

    Returns:
        int64, those beyond 2^62 cut to it.

    Shape:
        any -> the same

    Raises:
        ValueError: if a distance is no whole number, or not finite (values are not read while compiling).

    Example:
        >>> whole_distances(torch.tensor([-2.0, 0.5]))
        Traceback (most recent call last):
        ValueError: distance: needed whole numbers, got float32 [2] with fractions or infinities
    """
    if distance.is_floating_point() and not torch.compiler.is_compiling() and not distance.is_meta:
        whole = (distance == distance.round()) & (distance.abs() <= FARTHEST)
        if not bool(whole.all()):
            raise ValueError(f"distance: needed whole numbers, got {described(distance)} with fractions or infinities")
    return distance.long().clamp(-FARTHEST, FARTHEST)


def distances(at: ScoreAt, device: torch.device | str | None = None) -> torch.Tensor:
    """Give key position - query position for every pair.

    Args:
        at: the two position vectors.
        device: where ranges become tensors.

    Returns:
        int64, or float64 for fractional positions.

    Shape:
        [Q, K], or [B, Q, K] for positions [B, T]

    Example:
        >>> distances(ScoreAt(range(3, 5), range(3)))
        tensor([[-3, -2, -1],
                [-4, -3, -2]])
    """
    rows, columns = as_tensor(at.q_positions, device), as_tensor(at.k_positions, device)
    return columns[..., None, :] - rows[..., :, None]


def check_tokens(x: torch.Tensor, positions: Positions, *, d_model: int, fractional: bool = True) -> None:
    """Refuse token vectors that do not fit a scheme of the input site.

    Args:
        x: token vectors.
        positions: their positions.
        d_model: the scheme's width.
        fractional: whether fractional positions are allowed.

    Raises:
        ValueError: if dtype, width, length, batch or device does not fit.

    Example:
        >>> check_tokens(torch.zeros(1, 3, 4), range(3), d_model=8)
        Traceback (most recent call last):
        ValueError: x: needed a floating tensor [B, T, 8] (d_model=8), got float32 [1, 3, 4]
    """
    if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.ndim not in (2, 3) or x.shape[-1] != d_model:
        raise ValueError(f"x: needed a floating tensor [B, T, {d_model}] (d_model={d_model}), got {described(x)}")
    check(positions, length=x.shape[-2], batch=x.shape[0] if x.ndim > 2 else 1, fractional=fractional)
    check_device("positions", positions, x)


def as_rows(vectors: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Fit position vectors to token vectors: those of positions [1, T] lose their batch where x has none.

    Args:
        vectors: position vectors [T, d] or [B, T, d].
        x: token vectors [T, d] or [B, T, d].

    Returns:
        What can be added to x without changing its shape.

    Shape:
        [1, T, d] -> [T, d] for x [T, d]; else unchanged

    Example:
        >>> as_rows(torch.zeros(1, 3, 4), torch.zeros(3, 4)).shape
        torch.Size([3, 4])
    """
    return vectors[0] if vectors.ndim > x.ndim else vectors


def check_device(name: str, positions: Positions, x: torch.Tensor) -> None:
    """Refuse positions that live on another device than the vectors; moving them in every layer would be slow and silent.

    Args:
        name: what the caller calls the positions.
        positions: a range fits every device.
        x: the vectors.

    Raises:
        ValueError: if the devices differ.

    Example:
        >>> check_device("positions", range(3), torch.zeros(3))
    """
    if isinstance(positions, torch.Tensor) and positions.device != x.device:
        raise ValueError(
            f"{name}: needed device {x.device}, where the vectors are, got {positions.device}; move them once with .to(device)"
        )
