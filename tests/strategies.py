"""What the property tests draw: positions of every form, sizes, and the float64 numbers they stand for."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import strategies as st

FAR = 2**31 - 1
SIZES = st.sampled_from((1, 2, 3, 5, 7))
DTYPES = st.sampled_from((torch.float32, torch.float64, torch.bfloat16, torch.float16))


def ranges(length: int, lowest: int = -FAR, highest: int = FAR) -> st.SearchStrategy[range]:
    """Ranges of this many positions inside the bounds, rising and falling."""

    def build(pair: tuple[int, int]) -> range:
        start, step = pair
        ends = {sign: start + sign * step * (length - 1) for sign in (1, -1)}
        fitting = [sign for sign in (1, -1) if lowest <= ends[sign] <= highest]
        if not fitting:
            start, step, fitting = min(start, highest - length + 1), 1, [1]
        return range(start, start + fitting[0] * step * length, fitting[0] * step)

    starts = st.one_of(st.integers(max(lowest, -50), min(highest, 50)), st.integers(lowest, highest))
    return st.tuples(starts, st.sampled_from((1, 1, 2, 3, -1, -2, 1000))).map(build)


def whole(shape: tuple[int, ...], lowest: int = -FAR, highest: int = FAR) -> st.SearchStrategy[torch.Tensor]:
    """Unordered whole positions, near and far, as int32 or int64."""
    near, far = st.integers(max(lowest, -60), min(highest, 60)), st.integers(lowest, highest)
    count = torch.Size(shape).numel()
    values = st.one_of(*(st.lists(numbers, min_size=count, max_size=count) for numbers in (near, far)))
    dtypes = st.sampled_from((torch.int64, torch.int32))
    return st.tuples(values, dtypes).map(lambda drawn: torch.tensor(drawn[0], dtype=drawn[1]).view(shape))


def fractional(shape: tuple[int, ...]) -> st.SearchStrategy[torch.Tensor]:
    """Positions between whole ones, near and far, as float32 or float64."""
    count = torch.Size(shape).numel()
    numbers = st.one_of(*(st.floats(-bound, bound, width=32) for bound in (4.0, 1000.0, 2.0**31)))
    dtypes = st.sampled_from((torch.float64, torch.float32))
    drawn = st.tuples(st.lists(numbers, min_size=count, max_size=count), dtypes)
    return drawn.map(lambda pair: torch.tensor(pair[0], dtype=torch.float64).to(pair[1]).view(shape))


def places(batch: int, length: int, fractions: bool = True, lowest: int = -FAR, highest: int = FAR) -> st.SearchStrategy[Any]:
    """Positions of any form for x [batch, ..., length, ...]: a range, one row for all, or one a batch row."""
    shapes = ((length,), (1, length), (batch, length))
    forms = [ranges(length, lowest, highest), *(whole(shape, lowest, highest) for shape in shapes)]
    return st.one_of(*forms, *((fractional(shape) for shape in shapes) if fractions else ()))


def numbers_of(positions: Any, batch: int) -> list[list[float]]:
    """The positions as Python numbers, one list a batch row."""
    if isinstance(positions, range):
        return [list(positions)] * batch
    return positions.expand(batch, positions.shape[-1]).tolist()


def normal(data: Any, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Normal numbers with a drawn seed and a drawn memory layout."""
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**20), label="seed"))
    x = torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)
    layout = data.draw(st.sampled_from(("contiguous", "swapped", "sliced")), label="layout")
    if layout == "swapped" and x.ndim > 2:
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    return x.repeat_interleave(2, -2)[..., ::2, :] if layout == "sliced" and x.ndim > 1 else x
