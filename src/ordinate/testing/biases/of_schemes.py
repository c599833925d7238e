"""Checks of the published biases, one function a scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ordinate import reference
from ordinate.testing.attempts import Failed
from ordinate.testing.biases.adapters import adapted
from ordinate.testing.biases.alibi import ask_for_geometry
from ordinate.testing.biases.function import BiasFunction
from ordinate.testing.biases.places import history
from ordinate.testing.biases.row_rules import clipped_row, deberta_variants, shaw_variants, t5_row, t5_variants
from ordinate.testing.biases.rows import RowRule, Rows, ask_for_rows
from ordinate.testing.biases.slopes import Slopes, ask_for_slopes, measured_slopes
from ordinate.testing.classes import only_table
from ordinate.testing.comparing import as_array
from ordinate.testing.findings import Finding, Report, broken, holds, not_asked


def check_alibi(
    fn: Any,
    *,
    n_heads: int,
    causal: bool,
    slopes: Slopes = "authors",
    make: Callable[[int], Any] | None = None,
    log_sum_exp: bool = False,
) -> Report:
    """Check ALiBi: bias = -slope |key position - query position|.

    Causal attention may keep one row of keys for all queries, or any constant of each query: the softmax cancels it.

    Args:
        fn: as ``check_bias``.
        n_heads: how many heads.
        causal: whether keys after a query are hidden.
        slopes: "authors" (their list, also for head counts that are no powers of two), "paper" (one series) or one number a head.
        make: from a head count to such a function, to check the slopes of 1, 2, 3, 6, 8 and 12 heads.
        log_sum_exp: whether the log-sum-exp of the scores is used, so that constants of a query matter.

    Returns:
        A finding for each property.

    Raises:
        ValueError: if the function's signature is unknown.

    Example:
        >>> from ordinate import ALiBi
        >>> report = check_alibi(ALiBi(n_heads=3, slopes="paper"), n_heads=3, causal=True)
        >>> print(report.broken[0].said)
        the slopes are one geometric series 2^(-8 (h + 1) / n), also where n is no power of two
    """
    function = adapted(fn, n_heads)
    makes = None if make is None else lambda count: adapted(make(count), count)
    geometry = ask_for_geometry(function, causal=causal, log_sum_exp=log_sum_exp)
    if isinstance(measured_slopes(function), Failed):
        return Report("ALiBi's bias", (*geometry, not_asked("slopes", "it gives no bias")))
    return Report("ALiBi's bias", (ask_for_slopes(function, n_heads, slopes, makes), *geometry, _memory(function)))


def check_t5(
    fn: Any, *, causal: bool, n_heads: int | None = None, n_buckets: int = 32, max_distance: int = 128, table: Any = None
) -> Report:
    """Check T5's buckets, or a bias that is read from them.

    Args:
        fn: a function of relative positions (key - query) that gives buckets, or as ``check_bias`` with ``table``.
        causal: whether all buckets are the past's; two directions otherwise.
        n_heads: how many heads, for a score_mod.
        n_buckets: rows of the table.
        max_distance: distances from here on share a bucket.
        table: the learned values [n_buckets, H], if fn gives biases; rows that differ from each other. A module's own is found.

    Returns:
        A finding for each property.

    Raises:
        ValueError: if fn gives biases and there is no table.

    Example:
        >>> from ordinate import T5Bias
        >>> two_way = T5Bias(n_heads=2, bidirectional=True)
        >>> print(check_t5(two_way.buckets, causal=True).broken[0].said)
        the rows are split for two directions, where attention has one direction (causal)
        >>> check_t5(two_way, causal=False, table=two_way.weight).broken
        ()
    """

    def row(distance: int) -> int:
        return reference.t5_bucket(distance, n_buckets, max_distance, not causal)

    borders = [reach for reach in range(1, max_distance + 1) if row(-reach) != row(1 - reach)]
    sizes = {0, 5, 20, 90, max_distance - 1, max_distance, max_distance + 1, 1000, 5000}
    tried = sorted(sizes.union(borders, (border - 1 for border in borders)))
    # Where float32's own logarithm misses a border, no row is asked for.
    distances = [each for each in _both_ways(tried) if t5_row(each, n_buckets, max_distance, not causal) == row(each)]
    rule = RowRule(row=row, variants=t5_variants(n_buckets, max_distance, not causal), distances=distances)
    table = only_table(fn, n_buckets) if table is None else table
    return _rows_report("T5's buckets", fn, n_heads, causal, table, rule)


def check_shaw(fn: Any, *, max_distance: int, causal: bool = False, n_heads: int | None = None, table: Any = None) -> Report:
    """Check Shaw's rows: clip(key position - query position, -m, m) + m.

    Args:
        fn: fn(q_positions, k_positions) -> rows [Q, K]; fn(length), fn(q_len, k_len) and fn(relative_position) will do; or vectors
            [Q, K, D] through ``from_vectors``, with ``table``.
        max_distance: m.
        causal: whether keys after a query are hidden.
        n_heads: how many heads, for a score_mod.
        table: the learned rows [2 m + 1, D], if fn gives vectors.

    Returns:
        A finding for each property.

    Raises:
        ValueError: if fn gives vectors and there is no table.

    Example:
        >>> import torch
        >>> unclipped = lambda length: torch.arange(length)[None, :] - torch.arange(length)[:, None] + 1
        >>> print(check_shaw(unclipped, max_distance=1).broken[0].said)
        the distance is not clipped: rows run past the table
    """
    rule = RowRule(
        row=lambda distance: clipped_row(distance, max_distance),
        variants=shaw_variants(max_distance),
        distances=_both_ways(sorted({*range(max_distance + 3), 2 * max_distance, 2 * max_distance + 3, 100, 1000})),
    )
    return _rows_report("Shaw's rows", fn, n_heads, causal, table, rule)


def check_deberta(
    fn: Any,
    *,
    buckets: int = 256,
    max_distance: int = 512,
    causal: bool = False,
    n_heads: int | None = None,
    table: Any = None,
) -> Report:
    """Check DeBERTa's buckets of query position - key position, with a sign or as rows (plus ``buckets``, cut to the table).

    Args:
        fn: fn(q_positions, k_positions) -> buckets [Q, K]; a function of the distance goes through
            ``from_buckets(fn, query_minus_key=True)``.
        buckets: of one direction.
        max_distance: as the configuration's max_relative_positions.
        causal: whether keys after a query are hidden.
        n_heads: how many heads, for a score_mod.
        table: values [2 buckets, H], if fn gives biases.

    Returns:
        A finding for each property.

    Raises:
        ValueError: if fn gives biases and there is no table.

    Example:
        >>> import torch
        >>> def linear(q_positions, k_positions):
        ...     return (q_positions[:, None] - k_positions[None, :]).clamp(-128, 128)
        >>> print(check_deberta(linear).broken[0].said)
        far distances are clipped: no logarithm
    """
    middle = buckets // 2
    sizes = {0, 1, 2, 3, 5, 10, middle - 1, middle, middle + 1, middle + 2, 150, 200, max_distance - 1, max_distance, 1000}
    rule = RowRule(
        row=lambda distance: reference.deberta_bucket(-distance, buckets, max_distance),
        variants=deberta_variants(buckets, max_distance),
        distances=_both_ways(sorted(size for size in sizes if size >= 0)),
        allowed=(lambda bucket: max(0, min(bucket + buckets, 2 * buckets - 1)),),
    )
    return _rows_report("DeBERTa's buckets", fn, n_heads, causal, table, rule)


def _both_ways(sizes: list[int]) -> list[int]:
    return [distance for size in sizes for distance in ((-size, size) if size else (0,))]


def _rows_report(subject: str, fn: Any, n_heads: int | None, causal: bool, table: Any, rule: RowRule) -> Report:
    function = adapted(fn, n_heads)
    rows = Rows(function, causal, None if table is None else as_array(table))
    return Report(subject, (*ask_for_rows(rows, rule), _memory(function)))


def _memory(function: BiasFunction) -> Finding:
    same = history(function)
    if same is None:
        return not_asked("no memory", "it gives no value")
    if same:
        return holds("no memory", "length 3 before and after length 8")
    return broken(
        "no memory",
        "cache-key-and-sharing",
        "the answer for length 3 changes after one for length 8",
        smallest="length 3, then 8, then 3",
        expected="the first answer again",
        actual="another one",
    )
