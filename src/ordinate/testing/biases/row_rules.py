"""Which row of a table a distance reads: the published rules (T5, Shaw, DeBERTa) and the mistakes that people make of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from ordinate import reference

RowOf = Callable[[int], int]


@dataclass(frozen=True)
class Variant:
    """A mistaken rule.

    Attributes:
        said: what is wrong.
        remedy: how to mend it.
        row: the rule.
    """

    said: str
    remedy: str
    row: RowOf


def t5_row(
    distance: int,
    n_buckets: int,
    max_distance: int,
    bidirectional: bool,
    *,
    halved: bool = True,
    exact: int | None = None,
    rounded: Callable[[float], int] = math.floor,
    clipped: bool = True,
    dtype: torch.dtype = torch.float32,
) -> int:
    """T5's formula as most code has it: right as it stands (in float32), wrong with any of the keywords.

    Args:
        distance: key position - query position.
        n_buckets: rows in all.
        max_distance: distances from here on share a row.
        bidirectional: whether past and future have rows of their own.
        halved: whether two directions share the rows.
        exact: distances below have a row each; half of the rows if None.
        rounded: from a share of the rows to a row.
        clipped: whether the farthest distances share the last row.
        dtype: of the logarithm.

    Returns:
        A row.

    Example:
        >>> [t5_row(-32, 32, 128, True, dtype=dtype) for dtype in (torch.float32, torch.bfloat16)]
        [12, 11]
    """
    rows = n_buckets // 2 if bidirectional and halved else n_buckets
    first = n_buckets // 2 if bidirectional and distance > 0 else 0
    reach = abs(distance) if bidirectional else max(-distance, 0)
    exact = rows // 2 if exact is None else exact
    if reach < exact:
        return first + reach
    logarithm = torch.log(torch.tensor(reach).to(dtype) / exact)
    share = float(logarithm / math.log(max_distance / exact) * (rows - exact))
    row = exact + rounded(share)
    return first + (min(row, rows - 1) if clipped else row)


def t5_variants(n_buckets: int, max_distance: int, bidirectional: bool) -> tuple[Variant, ...]:
    """Mistaken forms of T5's rule.

    Args:
        n_buckets: rows in all.
        max_distance: distances from here on share a row.
        bidirectional: whether past and future have rows of their own.

    Returns:
        The variants.

    Example:
        >>> t5_variants(32, 128, True)[0].row(-20), reference.t5_bucket(20, 32, 128, True)
        (26, 26)
    """
    right = (n_buckets, max_distance, bidirectional)
    per_way = n_buckets // 2 if bidirectional else n_buckets
    other = "one direction (causal)" if bidirectional else "two directions"
    mine = "two directions" if bidirectional else "one direction (causal)"
    logarithm = "take the logarithm in float32, whatever the model's dtype"
    way = "in two-way attention the future reads the rows from n_buckets / 2 on, by distance > 0"

    def signed_row(distance: int) -> int:
        """The past reads the future's rows, 0 stays."""
        return reference.t5_bucket(-distance, *right)

    def zero_as_future(distance: int) -> int:
        return per_way if bidirectional and distance == 0 else reference.t5_bucket(distance, *right)

    variants = [
        Variant(
            "the sign of the distance is wrong: query - key where key - query is meant",
            "distance = key position - query position; the past is negative",
            signed_row,
        ),
        Variant(
            f"the rows are split for {other}, where attention has {mine}",
            f"pass bidirectional={bidirectional}",
            lambda d: reference.t5_bucket(d, n_buckets, max_distance, not bidirectional),
        ),
        Variant("distance 0 is counted with the future", way, zero_as_future),
        Variant("the rows are not halved between the two directions", way, lambda d: t5_row(d, *right, halved=False)),
        Variant(
            "a causal bias counts keys after the query by their distance",
            "keys after the query read row 0",
            lambda d: reference.t5_bucket(-abs(d), *right),
        ),
        Variant("the logarithm is taken in bfloat16", logarithm, lambda d: t5_row(d, *right, dtype=torch.bfloat16)),
        Variant("the logarithm is taken in float16", logarithm, lambda d: t5_row(d, *right, dtype=torch.float16)),
        Variant("the share of rows is rounded to the nearest", "cut it off", lambda d: t5_row(d, *right, rounded=round)),
        Variant("the share of rows is rounded up", "cut it off", lambda d: t5_row(d, *right, rounded=math.ceil)),
        Variant(
            "far distances run past the last row",
            "take the smaller one of the row and the last row of the direction",
            lambda d: t5_row(d, *right, clipped=False),
        ),
        Variant(
            "distances beyond the exact rows are clipped: no logarithm",
            "far distances share rows that widen in geometric progression",
            lambda d: _linear(d, n_buckets, bidirectional),
        ),
    ]
    for exact in (per_way // 2 - 1, per_way // 2 + 1, per_way // 4):
        if 0 < exact < min(max_distance, per_way):
            said = f"{exact} distances have a row each, not {per_way // 2}"
            row = partial(t5_row, n_buckets=n_buckets, max_distance=max_distance, bidirectional=bidirectional, exact=exact)
            variants.append(Variant(said, "half of a direction's rows are exact", row))
    for reach in (max_distance - 1, max_distance + 1, max_distance // 2, 2 * max_distance, 20, 64, 128, 256, 512):
        if reach > per_way // 2 and reach != max_distance:
            row = partial(reference.t5_bucket, n_buckets=n_buckets, max_distance=reach, bidirectional=bidirectional)
            variants.append(Variant(f"max_distance is {reach}, not {max_distance}", "pass the configuration's max_distance", row))
    for count in (n_buckets - 2, n_buckets - 1, n_buckets + 1, n_buckets // 2, 2 * n_buckets):
        if count >= 4 and max_distance > count // 2:
            row = partial(reference.t5_bucket, n_buckets=count, max_distance=max_distance, bidirectional=bidirectional)
            variants.append(Variant(f"there are {count} rows, not {n_buckets}", "pass the configuration's number of buckets", row))
    return tuple(variants)


def _linear(distance: int, n_buckets: int, bidirectional: bool) -> int:
    per_way = n_buckets // 2 if bidirectional else n_buckets
    reach = abs(distance) if bidirectional else max(-distance, 0)
    return min(reach, per_way - 1) + (per_way if bidirectional and distance > 0 else 0)


def clipped_row(distance: int, max_distance: int) -> int:
    """Shaw's row: clip(distance, -m, m) + m.

    Args:
        distance: key position - query position.
        max_distance: m.

    Returns:
        A row of 2 m + 1.

    Example:
        >>> [[clipped_row(j - i, 1) for j in range(3)] for i in range(3)]
        [[1, 2, 2], [0, 1, 2], [0, 0, 1]]
    """
    return max(-max_distance, min(distance, max_distance)) + max_distance


def shaw_variants(max_distance: int) -> tuple[Variant, ...]:
    """Mistaken forms of Shaw's rule.

    Args:
        max_distance: m.

    Returns:
        The variants.

    Example:
        >>> [variant.row(5) for variant in shaw_variants(2)][:3]
        [0, 7, 2]
    """
    m = max_distance
    clip = f"clip the distance to -{m} .. {m} before adding {m}: the table has {2 * m + 1} rows"
    return (
        Variant(
            "the sign of the distance is wrong: query - key where key - query is meant",
            "distance = key position - query position; the past is negative",
            lambda d: clipped_row(-d, m),
        ),
        Variant("the distance is not clipped: rows run past the table", clip, lambda d: d + m),
        Variant(
            "the distance is clipped and not moved: rows below 0 are read from the table's end",
            clip,
            lambda d: clipped_row(d, m) - m,
        ),
        Variant("the same, wrapped around", clip, lambda d: (clipped_row(d, m) - m) % (2 * m + 1)),
        Variant("past and future share rows: the distance has lost its sign", clip, lambda d: min(abs(d), m)),
        Variant("past and future share rows: the distance has lost its sign", clip, lambda d: min(abs(d), m) + m),
        Variant(f"the distance is clipped at {m - 1}", clip, lambda d: clipped_row(d, m - 1)),
        Variant(f"the distance is clipped at {m - 1}", clip, lambda d: clipped_row(d, m - 1) + 1),
        Variant(f"the distance is clipped at {m + 1}", clip, lambda d: clipped_row(d, m + 1)),
        Variant("rows are one too high", clip, lambda d: clipped_row(d, m) + 1),
        Variant("only one side is clipped", clip, lambda d: min(d, m) + m),
        Variant("only one side is clipped", clip, lambda d: max(d, -m) + m),
        Variant("distances wrap around instead of being clipped", clip, lambda d: (d + m) % (2 * m + 1)),
    )


def deberta_variants(buckets: int, max_distance: int) -> tuple[Variant, ...]:
    """Mistaken forms of DeBERTa's signed buckets of a distance = key - query; the right one counts query - key.

    Args:
        buckets: buckets of one direction.
        max_distance: M.

    Returns:
        The variants.

    Example:
        >>> deberta_variants(256, 512)[0].row(-7)
        -7
    """
    middle = buckets // 2

    def logarithmic(distance: int, end: float, rounded: Callable[[float], int], dtype: torch.dtype = torch.float64) -> int:
        reach = abs(distance)
        if reach <= middle:
            return -distance
        share = float(torch.log(torch.tensor(reach).to(dtype) / middle) / math.log(end / middle) * (middle - 1))
        return int(math.copysign(middle + rounded(share), -distance))

    last = max_distance - 1
    return (
        Variant(
            "the sign of the distance is wrong: key - query where DeBERTa counts query - key",
            "count query position - key position",
            lambda d: reference.deberta_bucket(d, buckets, max_distance),
        ),
        Variant("the share is rounded down", "round it up", lambda d: logarithmic(d, last, math.floor)),
        Variant("the share is rounded to the nearest", "round it up", lambda d: logarithmic(d, last, round)),
        Variant(
            "the logarithm ends at max_distance, not one before", "log((M - 1) / m)", lambda d: logarithmic(d, last + 1, math.ceil)
        ),
        Variant(
            "the logarithm is taken in bfloat16",
            "take the logarithm in float32, whatever the model's dtype",
            lambda d: logarithmic(d, last, math.ceil, torch.bfloat16),
        ),
        Variant(
            "the logarithm is taken in float16",
            "take the logarithm in float32, whatever the model's dtype",
            lambda d: logarithmic(d, last, math.ceil, torch.float16),
        ),
        Variant("far distances keep a bucket each: no logarithm", "log buckets beyond the middle", lambda d: -d),
        Variant(
            "far distances are clipped: no logarithm", "log buckets beyond the middle", lambda d: -max(-middle, min(d, middle))
        ),
        Variant(
            "the sign is lost",
            "multiply by the distance's sign",
            lambda d: abs(reference.deberta_bucket(-d, buckets, max_distance)),
        ),
    )
