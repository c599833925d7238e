"""How much a layer's attention scores depend on distance: two numbers from queries and keys that do not turn yet."""

from __future__ import annotations

from dataclasses import dataclass

import torch

QUERIES, PAIRS, DISTANCES = 16, 64, 64


@dataclass(frozen=True, kw_only=True)
class Turning:
    """How scores follow from a distance d = query position - key position.

    Attributes:
        frequencies: w, radians a position, one a pair of entries.
        first: index of each pair's first entry in a head.
        second: index of its second.
        sign: 1 where a query turns by +position, -1 where it turns by -position.
        magnitude: factor of cos and sin.
    """

    frequencies: tuple[float, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]
    sign: int = 1
    magnitude: float = 1.0


def scores(q: torch.Tensor, k: torch.Tensor, turning: Turning, distances: torch.Tensor) -> torch.Tensor:
    """Give the scores of queries and keys as if the key were a distance before the query.

    s(q, k, d) = magnitude^2 sum_i ((q1 k1 + q2 k2) cos(d w_i) - sign (q2 k1 - q1 k2) sin(d w_i)) + the sum of q k over entries that
    do not turn, where 1 and 2 are the entries of pair i. The softmax scale is left out: it cancels in what is made of scores here.

    Args:
        q: queries, not turned.
        k: keys, not turned.
        turning: of the layer.
        distances: d.

    Returns:
        Scores, float64.

    Shape:
        q and k [..., D], distances broadcast with [...] -> [...]

    Example:
        >>> quarter = Turning(frequencies=(1.5707963267948966,), first=(0,), second=(1,))
        >>> x, y = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
        >>> scores(x, y, quarter, torch.tensor([0, 1])).round().tolist()
        [0.0, 1.0]
    """
    q, k = q.double(), k.double()
    frequencies = torch.tensor(turning.frequencies, dtype=torch.float64, device=q.device)
    first, second = list(turning.first), list(turning.second)
    still = [entry for entry in range(q.shape[-1]) if entry not in {*first, *second}]
    along = q[..., first] * k[..., first] + q[..., second] * k[..., second]
    across = q[..., second] * k[..., first] - q[..., first] * k[..., second]
    angles = distances[..., None].to(q.device).double() * frequencies
    turned = (along * angles.cos() - turning.sign * across * angles.sin()).sum(-1)
    return turning.magnitude**2 * turned + (q[..., still] * k[..., still]).sum(-1)


def positional_sensitivity(q: torch.Tensor, k: torch.Tensor, turning: Turning) -> float:
    """Give how much scores change when all relative positions move by one.

    sqrt(mean (s(q_i, k_j, i - j + 1) - s(q_i, k_j, i - j))^2) / std s(q_i, k_j, i - j), over heads, queries i (16 of them, spread
    evenly) and keys j at or before them: 0 for a layer without positions.

    Args:
        q: queries of a passage, not turned.
        k: keys, not turned; fewer heads are repeated.
        turning: of the layer.

    Returns:
        The number.

    Shape:
        q [H, T, D], k [H or fewer, T, D]

    Example:
        >>> still = Turning(frequencies=(), first=(), second=())
        >>> positional_sensitivity(torch.randn(1, 4, 2), torch.randn(1, 4, 2), still)
        0.0
    """
    k = k.repeat_interleave(len(q) // len(k), dim=0)
    total, moved, square, count = 0.0, 0.0, 0.0, 0
    for place in _queries(q.shape[1]):
        query, keys = q[:, place : place + 1], k[:, : place + 1]
        distances = place - torch.arange(place + 1)
        at, after = scores(query, keys, turning, distances), scores(query, keys, turning, distances + 1)
        total, square, count = total + at.sum().item(), square + at.square().sum().item(), count + at.numel()
        moved += (after - at).square().sum().item()
    deviation = max(square / count - (total / count) ** 2, 0.0) ** 0.5
    return float((moved / count) ** 0.5 / deviation) if deviation > 0 else 0.0


def semantic_stability(q: torch.Tensor, k: torch.Tensor, turning: Turning, *, trained: int) -> float:
    """Give how often two keys keep their order as their distance to the query moves over the trained length.

    The share of (head, query i, keys a and b at or before it, distance d) with
    sign(s(q_i, k_a, d) - s(q_i, k_b, d)) = sign(s(q_i, k_a, 0) - s(q_i, k_b, 0)): both keys stand at the same distance, so that
    content alone orders them. 16 queries, 64 pairs of keys each, drawn with a fixed seed, and up to 64 distances from 1 to
    trained - 1, evenly in their logarithm. 1: content decides at every distance; 0.5: chance.

    Args:
        q: queries of a passage, not turned.
        k: keys, not turned; fewer heads are repeated.
        turning: of the layer.
        trained: length.

    Returns:
        The share.

    Shape:
        q [H, T, D], k [H or fewer, T, D]

    Example:
        >>> still = Turning(frequencies=(), first=(), second=())
        >>> semantic_stability(torch.randn(1, 4, 2), torch.randn(1, 4, 2), still, trained=9)
        1.0
    """
    k = k.repeat_interleave(len(q) // len(k), dim=0)
    grid, kept, count = distance_grid(trained), 0, 0
    for place in _queries(q.shape[1]):
        one, other = key_pairs(place)
        apart = (k[:, one] - k[:, other])[:, :, None]  # scores are linear in the key
        query = q[:, place, None, None]
        before = scores(query, apart, turning, torch.zeros(1)).sign()
        after = scores(query, apart, turning, grid).sign()
        kept, count = kept + int((before == after).sum()), count + after.numel()
    return kept / count


def distance_grid(trained: int) -> torch.Tensor:
    """Give distances from 1 to trained - 1, evenly in their logarithm.

    Args:
        trained: length, 2 at least.

    Returns:
        Whole numbers, each once.

    Example:
        >>> distance_grid(5).tolist()
        [1, 2, 3, 4]
    """
    ends = torch.linspace(0, 1, DISTANCES, dtype=torch.float64)
    found: torch.Tensor = torch.unique((float(max(trained - 1, 1)) ** ends).round().long())
    return found


def key_pairs(place: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw pairs of different keys at or before a query, the same at every call.

    Args:
        place: of the query, 1 at least.

    Returns:
        Places of the first and of the second key of each pair.

    Example:
        >>> one, other = key_pairs(1)
        >>> sorted({*one.tolist()}), bool((one != other).all())
        ([0, 1], True)
    """
    seed = torch.Generator().manual_seed(place)
    one = torch.randint(0, place + 1, (PAIRS,), generator=seed)
    return one, (one + torch.randint(1, place + 1, (PAIRS,), generator=seed)) % (place + 1)


def _queries(length: int) -> list[int]:
    """Places of the queries: not the first token, which has no key to choose."""
    return sorted({round(place) for place in torch.linspace(1, length - 1, QUERIES, dtype=torch.float64).tolist()})
