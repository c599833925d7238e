"""Tables of a grid's patches, resized to another grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ordinate.testing.attempts import Failed
from ordinate.testing.comparing import Array, numbers
from ordinate.testing.counting.answers import asked
from ordinate.testing.findings import Finding, Report, broken, holds, not_asked

KIND = "grid-order-and-resize"
Size = tuple[int, int]
Resize = Callable[[torch.Tensor, Size, Size], Any]
SIZES: tuple[tuple[Size, Size], ...] = (((2, 2), (4, 4)), ((2, 3), (4, 6)), ((3, 2), (3, 4)), ((2, 3), (3, 2)), ((4, 6), (2, 3)))


def check_resize(fn: Resize, *, prefix: int = 0) -> Report:
    """Check the resizing of a table of patches, whatever way it interpolates: rows stay rows, columns columns, corners corners.

    The table that is resized holds each patch's own row and column. Whatever lies between neighbours, the result's first number
    then rises with the new row and does not depend on the column, and the second the other way round.

    Args:
        fn: fn(table [prefix + h w, 2], (h, w), (H, W)) -> [prefix + H W, 2], both row after row.
        prefix: rows before the patches (a class token's), which stay as they are.

    Returns:
        A finding for each property.

    Example:
        >>> def columns_first(table, old, new):
        ...     rows, columns = torch.linspace(0, old[0] - 1, new[0]), torch.linspace(0, old[1] - 1, new[1])
        ...     return torch.stack((rows.repeat(new[1]), columns.repeat_interleave(new[0])), dim=-1)
        >>> print(check_resize(columns_first).broken[0].said)
        the new patches go column after column
    """
    same = _same_size(fn, prefix)
    name = "rows and columns"
    order = _order(name, fn, prefix) if same.verdict == "holds" else not_asked(name, "the table is wrong at the same size already")
    return Report("resized table", (same, order, _prefix(fn, prefix)))


def _table(size: Size, prefix: int, columns_first: bool = False) -> torch.Tensor:
    height, width = size
    cells = [(n % height, n // height) if columns_first else divmod(n, width) for n in range(height * width)]
    return torch.tensor([*[(-7.0 - n, 7.0 + n) for n in range(prefix)], *cells], dtype=torch.float32)


def _resized(fn: Resize, old: Size, new: Size, prefix: int, columns_first: bool = False) -> Array | Failed:
    """The new patches' rows and columns in the old grid."""
    table = _table(old, prefix, columns_first)
    shape = (prefix + new[0] * new[1], 2)
    return asked(lambda: fn(table, old, new), lambda given: given.reshape(shape)[prefix:])


def _shown(old: Size, new: Size) -> str:
    return f"a table of {old[0]} x {old[1]} patches for {new[0]} x {new[1]}"


def _same_size(fn: Resize, prefix: int) -> Finding:
    name, size = "the same size", (2, 3)
    got, right = _resized(fn, size, size, prefix), _table(size, 0).double().numpy()
    if isinstance(got, Failed) or np.abs(got - right).max() > 1e-4:
        actual = str(got) if isinstance(got, Failed) else numbers(got)
        said, remedy = _recognised(fn, prefix)
        where = _shown(size, size)
        return broken(name, KIND, said, smallest=where, expected=numbers(right), actual=actual, remedy=remedy)
    return holds(name, "the table stays as it is")


def _order(name: str, fn: Resize, prefix: int) -> Finding:
    for old, new in SIZES:
        got = _resized(fn, old, new, prefix)
        if isinstance(got, Failed):
            said = "it gives no table"
            expected = f"{new[0] * new[1]} rows"
            any_size = "take any height and width, not only equal ones"
            return broken(name, KIND, said, smallest=_shown(old, new), expected=expected, actual=str(got), remedy=any_size)
        if not _in_order(got, old, new):
            said, remedy = _recognised(fn, prefix)
            expected = "first numbers that rise with the new row alone, second ones with the new column alone"
            actual = numbers(got[: 2 * new[1]])
            return broken(name, KIND, said, smallest=_shown(old, new), expected=expected, actual=actual, remedy=remedy)
    return holds(name, f"from {_shown(*SIZES[0])} to {_shown(*SIZES[-1])}")


def _in_order(got: Array, old: Size, new: Size, axes: tuple[int, int] = (0, 1)) -> bool:
    """Whether numbers [H W, 2] are a product of two rising rows, inside of the old grid."""
    cells = got.reshape(*new, 2)[..., list(axes)]
    down, across = cells[..., 0], cells[..., 1]
    constant = np.ptp(down, axis=1).max() < 1e-4 and np.ptp(across, axis=0).max() < 1e-4
    rising = _rising(down[:, 0], old[0]) and _rising(across[0], old[1])
    return bool(constant and rising)


def _rising(line: Array, old: int) -> bool:
    """From the first old place to the last, as near as the coarsest way comes (nearest: old place floor(p old / new))."""
    steps_up = bool((np.diff(line) > -1e-4).all())
    last = (len(line) - 1) * old // len(line)
    passed = 0.3  # a bicubic kernel passes the ends a little
    return steps_up and -passed <= line[0] <= old - 1 - last + passed and last - passed <= line[-1] <= old - 1 + passed


def _recognised(fn: Resize, prefix: int) -> tuple[str, str | None]:
    """Name the mistake that explains all sizes."""
    orders: tuple[tuple[str, str, Callable[[Size, Size], bool]], ...] = (
        (
            "the new patches go column after column",
            "flatten the new grid row after row: [D, H, W] -> [H, W, D] -> [H W, D]",
            lambda old, new: _if_flat(fn, old, new, prefix, columns_first=False, transposed=True),
        ),
        (
            "the old table is read column after column",
            "view the old table as [h, w, D], row after row",
            lambda old, new: _if_flat(fn, old, new, prefix, columns_first=True, transposed=False),
        ),
        (
            "the old table is read, and the new one written, column after column",
            "view the old table as [h, w, D], and flatten the new grid row after row",
            lambda old, new: _if_flat(fn, old, new, prefix, columns_first=True, transposed=True),
        ),
        (
            "the new height and width are exchanged",
            "interpolate to size=(H, W)",
            lambda old, new: _if_exchanged(fn, old, new, prefix),
        ),
        (
            "the table is cut or continued, not resized",
            "interpolate over both axes of the grid",
            lambda old, new: _if_cut(fn, old, new, prefix),
        ),
    )
    found = ((said, remedy) for said, remedy, explains in orders if all(explains(old, new) for old, new in SIZES))
    return next(found, ("the table is not resized row by row and column by column, and it matches no known mistake", None))


def _if_flat(fn: Resize, old: Size, new: Size, prefix: int, *, columns_first: bool, transposed: bool) -> bool:
    got = _resized(fn, old, new, prefix, columns_first)
    if isinstance(got, Failed):
        return False
    if transposed:
        got = got.reshape(new[1], new[0], 2).transpose(1, 0, 2).reshape(-1, 2)
    return _in_order(got, old, new)


def _if_exchanged(fn: Resize, old: Size, new: Size, prefix: int) -> bool:
    got = _resized(fn, old, new, prefix)
    return not isinstance(got, Failed) and _in_order(got, old, (new[1], new[0]))


def _if_cut(fn: Resize, old: Size, new: Size, prefix: int) -> bool:
    got = _resized(fn, old, new, prefix)
    kept = min(old[0] * old[1], new[0] * new[1])
    return not isinstance(got, Failed) and bool(np.allclose(got[:kept], _table(old, 0).numpy()[:kept]))


def _prefix(fn: Resize, prefix: int) -> Finding:
    name = "rows before the patches"
    if prefix == 0:
        return not_asked(name, "there are none: prefix=0")
    old, new = SIZES[1]
    table = _table(old, prefix)
    got = asked(lambda: fn(table, old, new), lambda given: given[:prefix])
    right = table[:prefix].double().numpy()
    if isinstance(got, Failed) or got.shape != right.shape or np.abs(got - right).max() > 1e-6:
        actual = str(got) if isinstance(got, Failed) else numbers(got)
        remedy = f"split the first {prefix} rows off before resizing, and put them back"
        said = "the rows before the patches change"
        return broken(name, KIND, said, smallest=_shown(old, new), expected=numbers(right), actual=actual, remedy=remedy)
    return holds(name, "they stay as they are")
