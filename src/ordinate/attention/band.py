"""Which diagonals of the score matrix may be seen, told from ranges alone.

Where queries and keys are ranges of one step, everything about a score but its content depends on u = j - i, the column minus the
row. A causal mask and a window leave one band lowest <= u <= highest of diagonals; rows whose part of it is empty see nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from ordinate.positions import Positions, count
from ordinate.visibility import Sight


class Band(NamedTuple):
    """Diagonals u = j - i that may be seen, in a matrix of ``height`` rows and ``width`` columns.

    Example:
        >>> band = Band(lowest=-3, highest=-2, height=6, width=6)
        >>> band.rows, band.columns(3, 4)
        (range(2, 6), range(0, 3))
    """

    lowest: int
    highest: int
    height: int
    width: int

    @property
    def rows(self) -> range:
        """The rows that see something."""
        if self.lowest > self.highest:
            return range(0)
        return range(max(0, -self.highest), min(self.height, self.width - self.lowest))

    def columns(self, first: int, last: int) -> range:
        """The columns that rows first .. last see together, at least one of which each sees."""
        return range(max(0, first + self.lowest), min(self.width, last + self.highest + 1))


def band_of(sight: Sight) -> Band | None:
    """Find the band, where all that hides keys is causal order and a window over ranges of one step.

    Args:
        sight: who may see whom.

    Returns:
        The band, or None where more than ranges would have to be read.

    Example:
        >>> band_of(Sight(True, 3, (range(4, 8), range(8)), None, None))
        Band(lowest=2, highest=4, height=4, width=8)
    """
    rows, columns = sight.order
    if sight.mask is not None or sight.documents is not None or not one_step(rows, columns):
        return None
    assert isinstance(rows, range)
    assert isinstance(columns, range)
    height, width, ahead, step = count(rows), count(columns), columns.start - rows.start, rows.step
    lowest, highest = 1 - height, width - 1
    farthest = None if sight.window is None else sight.window - 1
    # ahead + u step, the distance on diagonal u, lies between -farthest and 0 (or farthest)
    least, most = None if farthest is None else -farthest, 0 if sight.causal else farthest
    if step < 0:
        least, most, ahead, step = None if most is None else -most, None if least is None else -least, -ahead, -step
    if least is not None:
        lowest = max(lowest, -((ahead - least) // step))
    if most is not None:
        highest = min(highest, (most - ahead) // step)
    return Band(lowest, highest, height, width)


def one_step(rows: Positions, columns: Positions) -> bool:
    """Whether both are ranges of one step with something in them.

    Args:
        rows: of queries.
        columns: of keys.

    Returns:
        True if every diagonal of their distances is one number.

    Example:
        >>> one_step(range(3), range(5, 9)), one_step(range(3), range(0, 9, 3))
        (True, False)
    """
    if not (isinstance(rows, range) and isinstance(columns, range)):
        return False
    return rows.step == columns.step and count(rows) > 0 and count(columns) > 0


def farthest_nearest(band: Band, ahead: int, step: int) -> int:
    """How far the nearest key that it may see is from the row that has it farthest.

    Args:
        band: what may be seen.
        ahead: first key position - first query position.
        step: of both ranges.

    Returns:
        A distance >= 0.

    Example:
        >>> farthest_nearest(Band(-3, 0, 4, 4), 0, 1), farthest_nearest(Band(-3, 3, 4, 4), -500, 1)
        (0, 500)
    """

    def nearest(row: int) -> int:
        ends = (max(band.lowest, -row), min(band.highest, band.width - 1 - row))
        sizes = [ahead + u * step for u in ends]
        return 0 if min(sizes) <= 0 <= max(sizes) and abs(step) == 1 else min(_within(ahead, step, *ends))

    # both ends of what a row sees move one way from row to row, so the farthest is at an end
    return max(nearest(band.rows[0]), nearest(band.rows[-1]))


def _within(ahead: int, step: int, first: int, last: int) -> list[int]:
    """Sizes of the distances at both ends and next to where they change sign."""
    turn = -ahead // step
    return [abs(ahead + u * step) for u in (first, last, turn, turn + 1) if first <= u <= last]
