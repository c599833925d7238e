"""What is added to the attention scores, in loops: ALiBi, T5, Shaw, DeBERTa."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def alibi_slopes(n_heads: int, rule: str) -> list[float]:
    """Slopes of ALiBi: "paper" 2^(-8h / H); "authors" the same for powers of two, else two interleaved series.

    Args:
        n_heads: how many heads.
        rule: "paper" or "authors".

    Returns:
        One slope a head.

    Raises:
        ValueError: for an unknown rule.

    Example:
        >>> alibi_slopes(6, "authors")
        [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]

    Reference:
        Press, Smith and Lewis 2022, https://arxiv.org/abs/2108.12409, section 3 and the authors' get_slopes
    """
    if rule not in ("paper", "authors"):
        raise ValueError(f"unknown rule {rule!r}")
    if rule == "paper":
        return [2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)]
    power = 1
    while power * 2 <= n_heads:
        power *= 2
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    step = 1
    while len(slopes) < n_heads:
        slopes.append(2 ** (-8 * step / (2 * power)))
        step += 2
    return slopes


def alibi(q_positions: Sequence[float], k_positions: Sequence[float], slopes: Sequence[float]) -> Array:
    """ALiBi's bias: bias[h, i, j] = -slopes[h] |k_positions[j] - q_positions[i]|.

    Args:
        q_positions: one a query.
        k_positions: one a key.
        slopes: one a head.

    Returns:
        The bias.

    Shape:
        [H, Q, K]

    Example:
        >>> alibi([4], range(5), [0.5]).tolist()
        [[[-2.0, -1.5, -1.0, -0.5, -0.0]]]
    """
    bias = np.zeros((len(slopes), len(q_positions), len(k_positions)))
    for head, slope in enumerate(slopes):
        for i, query in enumerate(q_positions):
            for j, key in enumerate(k_positions):
                bias[head, i, j] = -slope * abs(key - query)
    return bias


def t5_bucket(distance: int, n_buckets: int, max_distance: int, bidirectional: bool) -> int:
    """T5's row for a distance = key position - query position, as the authors' code counts it, in float64.

    Args:
        distance: a whole number.
        n_buckets: rows in all.
        max_distance: distances from here on share a row.
        bidirectional: whether past and future have half of the rows each.

    Returns:
        A row.

    Example:
        >>> [t5_bucket(-20, 32, 128, bidirectional) for bidirectional in (False, True)]
        [17, 10]

    Reference:
        Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section 2.1
    """
    first = 0
    if bidirectional:
        n_buckets //= 2
        first = n_buckets if distance > 0 else 0
        reach = abs(distance)
    else:
        reach = max(-distance, 0)
    exact = n_buckets // 2
    if reach < exact:
        return first + reach
    # 1e-12: a border that is a whole number belongs to the wider bucket, whatever the logarithm's last digit.
    share = math.log(reach / exact) / math.log(max_distance / exact) * (n_buckets - exact)
    return first + min(exact + math.floor(share + 1e-12), n_buckets - 1)


def t5(q_positions: Sequence[int], k_positions: Sequence[int], table: Array, max_distance: int, bidirectional: bool) -> Array:
    """T5's bias: bias[h, i, j] = table[bucket(k_positions[j] - q_positions[i]), h].

    Args:
        q_positions: one a query.
        k_positions: one a key.
        table: one row a bucket, one column a head.
        max_distance: distances from here on share a bucket.
        bidirectional: as in ``t5_bucket``.

    Returns:
        The bias.

    Shape:
        table [n_buckets, H] -> [H, Q, K]

    Example:
        >>> t5([1], [0, 1, 2], np.array([[0.0], [1.0], [2.0], [3.0]]), 8, True).tolist()
        [[[1.0, 0.0, 3.0]]]
    """
    bias = np.zeros((table.shape[1], len(q_positions), len(k_positions)))
    for i, query in enumerate(q_positions):
        for j, key in enumerate(k_positions):
            bias[:, i, j] = table[t5_bucket(key - query, len(table), max_distance, bidirectional)]
    return bias


def shaw(q: Array, q_positions: Sequence[int], k_positions: Sequence[int], table: Array, *, past: int | None = None) -> Array:
    """Shaw's term of the scores, not yet scaled: bias[i, j] = q_i . table[clip(k_positions[j] - q_positions[i], -m, m) + m].

    Args:
        q: queries of one head.
        q_positions: one a query.
        k_positions: one a key.
        table: the keys' table, 2 m + 1 rows.
        past: rows before that of distance 0, if not m: the rest is the future's.

    Returns:
        The term.

    Shape:
        q [Q, D], table [2 m + 1, D] -> [Q, K]

    Example:
        >>> shaw(np.array([[2.0]]), [1], [0, 1, 5], np.array([[-1.0], [0.0], [1.0]])).tolist()
        [[-2.0, 0.0, 2.0]]

    Reference:
        Shaw, Uszkoreit and Vaswani 2018, https://arxiv.org/abs/1803.02155, equation 4
    """
    bias = np.zeros((len(q_positions), len(k_positions)))
    for i, query in enumerate(q_positions):
        for j, key in enumerate(k_positions):
            row = table[_clipped(key - query, len(table), past)]
            bias[i, j] = sum(q[i, c] * row[c] for c in range(len(row)))
    return bias


def shaw_values(
    weights: Array, q_positions: Sequence[int], k_positions: Sequence[int], table: Array, *, past: int | None = None
) -> Array:
    """Shaw's term of the output: out[i] = sum_j weights[i, j] table[clip(k_positions[j] - q_positions[i], -m, m) + m].

    Args:
        weights: attention weights of one head.
        q_positions: one a query.
        k_positions: one a key.
        table: the values' table, 2 m + 1 rows.
        past: rows before that of distance 0, if not m: the rest is the future's.

    Returns:
        The term.

    Shape:
        weights [Q, K], table [2 m + 1, E] -> [Q, E]

    Example:
        >>> shaw_values(np.array([[0.25, 0.75]]), [0], [0, 9], np.array([[9.0], [1.0], [2.0]])).tolist()
        [[1.75]]

    Reference:
        Shaw, Uszkoreit and Vaswani 2018, https://arxiv.org/abs/1803.02155, equation 3
    """
    out = np.zeros((len(q_positions), table.shape[1]))
    for i, query in enumerate(q_positions):
        for j, key in enumerate(k_positions):
            out[i] += weights[i, j] * table[_clipped(key - query, len(table), past)]
    return out


def _clipped(distance: int, rows: int, past: int | None) -> int:
    before = rows // 2 if past is None else past
    return max(0, min(distance + before, rows - 1))


def deberta_bucket(distance: int, buckets: int, max_distance: int) -> int:
    """DeBERTa v2's bucket of a distance: itself up to the middle m, then sign (m + ceil((m - 1) log(r / m) / log((M - 1) / m))).

    Args:
        distance: query position - key position.
        buckets: buckets of one direction.
        max_distance: M.

    Returns:
        The bucket, with the distance's sign; not yet clipped.

    Example:
        >>> deberta_bucket(-100, 256, 512), deberta_bucket(511, 256, 512)
        (-100, 255)

    Reference:
        He et al. 2021, https://arxiv.org/abs/2006.03654, appendix A.5, and the authors' code
    """
    middle = buckets // 2
    reach = abs(distance)
    if reach <= middle:
        return distance
    share = math.log(reach / middle) / math.log((max_distance - 1) / middle) * (middle - 1)
    return int(math.copysign(middle + math.ceil(share - 1e-12), distance))


def deberta(
    q: Array,
    k: Array,
    q_positions: Sequence[int],
    k_positions: Sequence[int],
    keys: Array | None,
    queries: Array | None,
    max_distance: int,
    buckets: int | None = None,
    index: str = "released",
) -> Array:
    """DeBERTa's terms of the scores, not yet scaled: q_i . keys[r(i, j)] + k_j . queries[r(i, j)] ("paper": queries[r(j, i)]).

    r(i, j) = clip(b(q_positions[i] - k_positions[j]) + span, 0, 2 span - 1), with b the distance or its bucket.

    Args:
        q: queries of one head.
        k: keys of one head.
        q_positions: one a query.
        k_positions: one a key.
        keys: the table that queries meet, or None.
        queries: the table that keys meet, or None.
        max_distance: span without buckets.
        buckets: span with them.
        index: "released" (the authors' code and all checkpoints) or "paper".

    Returns:
        The terms' sum.

    Shape:
        q [Q, D], k [K, D], keys and queries [2 span, D] -> [Q, K]

    Raises:
        ValueError: for an unknown index.

    Example:
        >>> one, table = np.ones((1, 1)), np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> [deberta(one, one, [4], [3], None, table, 2, index=index).item() for index in ("released", "paper")]
        [3.0, 1.0]

    Reference:
        He et al. 2021, https://arxiv.org/abs/2006.03654, equations 3 and 4
    """
    if index not in ("released", "paper"):
        raise ValueError(f"unknown index {index!r}")

    def row(distance: int) -> int:
        place = distance if buckets is None else deberta_bucket(distance, buckets, max_distance)
        span = max_distance if buckets is None else buckets
        return max(0, min(place + span, 2 * span - 1))

    bias = np.zeros((len(q_positions), len(k_positions)))
    for i, query in enumerate(q_positions):
        for j, key in enumerate(k_positions):
            if keys is not None:
                bias[i, j] += sum(q[i, c] * keys[row(query - key), c] for c in range(q.shape[1]))
            if queries is not None:
                place = row(query - key) if index == "released" else row(key - query)
                bias[i, j] += sum(k[j, c] * queries[place, c] for c in range(k.shape[1]))
    return bias
