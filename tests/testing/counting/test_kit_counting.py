"""The kit's checks of builders of positions: originals pass, planted faults are found and named with the smallest input."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from ordinate import positions
from ordinate.multimodal import qwen2_5_vl_positions, qwen2_vl_positions
from ordinate.testing.counting import (
    check_context_parallel,
    check_frame_times,
    check_grid,
    check_masked,
    check_multimodal,
    check_packed,
    check_resize,
)
from ordinate.testing.findings import Finding, Report


def only(report: Report, kind: str, code: str) -> Finding:
    assert len(report.broken) == 1, str(report)
    (finding,) = report.broken
    assert (finding.kind, finding.code) == (kind, code), str(report)
    assert finding.smallest
    assert finding.expected
    assert finding.actual
    return finding


def clean(report: Report) -> None:
    assert report.broken == (), str(report)
    assert any(finding.verdict == "holds" for finding in report)


def joined(rows: list[list[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(rows))


def test_packed_originals_pass() -> None:
    clean(check_packed(positions.packed))
    clean(check_packed(lambda cu: positions.packed(cu_seqlens=cu), given="cu_seqlens"))
    clean(check_packed(lambda ids: [int((ids[:n] == ids[n]).sum()) for n in range(len(ids))], given="document_ids"))
    clean(check_packed(lambda lengths: torch.cat([torch.arange(length) for length in lengths])[None]))


PACKED: dict[str, tuple[Callable[[list[int]], Any], str, str]] = {
    "runs on": (lambda lengths: range(sum(lengths)), "run on over the border", "lengths [1, 1]"),
    "from 1": (lambda lengths: joined([[*range(1, n + 1)] for n in lengths]), "counted from 1", "lengths [1]"),
    "ids": (lambda lengths: joined([[d] * n for d, n in enumerate(lengths)]), "number of the document", "lengths [2]"),
    "again at 1": (
        lambda lengths: joined([[*range(d > 0, n + (d > 0))] for d, n in enumerate(lengths)]),
        "begin again at 1",
        "lengths [1, 1]",
    ),
    "as the longest": (
        lambda lengths: [n % max(lengths) for n in range(sum(lengths))],
        "as long as the longest",
        "lengths [1, 2]",
    ),
    "too few": (lambda lengths: range(max(lengths)), "no known mistake", "lengths [1, 1]"),
    "raises": (lambda lengths: lengths[7], "no value", "lengths [1]"),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_faults_are_named(name: str) -> None:
    fn, said, smallest = PACKED[name]
    finding = only(check_packed(fn), "packed-positions", "ORD402")
    assert said in finding.said
    assert finding.smallest == smallest


def test_masked_originals_pass() -> None:
    clean(check_masked(positions.from_padding_mask))
    clean(check_masked(lambda mask: (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)))
    counted = lambda mask: torch.arange(mask.shape[1]).expand(mask.shape)  # noqa: E731
    clean(check_masked(counted, relative=True))


MASKED: dict[str, tuple[Callable[[torch.Tensor], Any], str, str]] = {
    "places": (
        lambda mask: torch.arange(mask.shape[1]).expand(mask.shape),
        "padding on the left: padding is counted",
        "mask [[0, 1]]",
    ),
    "from 1": (lambda mask: mask.cumsum(-1), "no padding: positions are counted from 1", "mask [[1]]"),
    "first row": (
        lambda mask: (mask[:1].cumsum(-1) - 1).clamp(min=0).expand(mask.shape),
        "padding on the left: the first row's mask",
        "mask [[0, 1, 1], [1, 1, 1]]",
    ),
    "left alone": (
        lambda mask: torch.arange(mask.shape[1]) - (mask == 0).sum(-1, keepdim=True),
        "padding on the right: padding is always taken to be on the left",
        "mask [[1, 0]]",
    ),
    "empty rows": (
        lambda mask: torch.stack([torch.arange(mask.shape[1]) - int(row.nonzero()[0]) for row in mask]),
        "rows of padding alone: it gives no value",
        "mask [[0, 0], [1, 1]]",
    ),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_faults_are_named(name: str) -> None:
    fn, said, smallest = MASKED[name]
    broken = check_masked(fn).broken
    assert broken[0].code == "ORD403"
    assert f"{broken[0].property}: {broken[0].said}".startswith(said), str(broken[0])
    assert broken[0].smallest == smallest


def raster(height: int, width: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(height) for column in range(width)]


def test_grid_originals_pass() -> None:
    clean(check_grid(positions.grid, axes="row, column"))
    clean(check_grid(lambda h, w: positions.grid(h, w).flip(-1), axes="x, y"))
    clean(check_grid(lambda h, w: positions.grid(h, w).flip(-1)))
    clean(check_grid(lambda h, w: torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")))
    clean(check_grid(lambda h, w: torch.tensor(raster(h, w)).view(h, w, 2)))


GRIDS: dict[str, tuple[Callable[[int, int], Any], str]] = {
    "columns first": (lambda h, w: [(n % h, n // h) for n in range(h * w)], "column after column"),
    "sides exchanged": (lambda h, w: raster(w, h), "height and width are exchanged"),
    "divided by the height": (lambda h, w: [divmod(n, h) for n in range(h * w)], "exchanged"),
    "square": (lambda h, _: raster(h, h), "the height counts for both"),
    "square root": (lambda h, w: [divmod(n, int((h * w) ** 0.5)) for n in range(h * w)], "taken to be square"),
    "from 1": (lambda h, w: [(row + 1, column + 1) for row, column in raster(h, w)], "counted from 1"),
    "from below": (lambda h, w: [(h - 1 - row, column) for row, column in raster(h, w)], "from below"),
    "reshape": (lambda h, w: torch.tensor(raster(h, w)).view(h, h, 2), "no value"),
}


@pytest.mark.parametrize("name", GRIDS)
def test_grid_faults_are_named(name: str) -> None:
    fn, said = GRIDS[name]
    assert said in only(check_grid(fn), "grid-order-and-resize", "ORD405").said


def test_declared_axes_count() -> None:
    finding = only(check_grid(positions.grid, axes="x, y"), "grid-order-and-resize", "ORD405")
    assert finding.said == "the coordinates are exchanged: x, y is needed"
    assert finding.smallest == "1 rows, 2 columns"


def resized(table: torch.Tensor, old: tuple[int, int], new: tuple[int, int], **how: Any) -> torch.Tensor:
    grid = table.view(1, *old, -1).permute(0, 3, 1, 2)
    return F.interpolate(grid, size=new, **how)[0].permute(1, 2, 0).flatten(0, 1)


@pytest.mark.parametrize(
    "how",
    [
        {"mode": "bilinear"},
        {"mode": "bilinear", "align_corners": True},
        {"mode": "bicubic"},
        {"mode": "bicubic", "align_corners": True},
        {"mode": "bilinear", "antialias": True},
        {"mode": "nearest"},
        {"mode": "nearest-exact"},
        {"mode": "area"},
    ],
    ids=str,
)
def test_all_interpolations_pass(how: dict[str, Any]) -> None:
    clean(check_resize(lambda table, old, new: resized(table, old, new, **how)))
    kept = lambda table, old, new: torch.cat((table[:1], resized(table[1:], old, new, **how)))  # noqa: E731
    clean(check_resize(kept, prefix=1))


def _written_by_columns(table: torch.Tensor, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    return resized(table, old, new, mode="bilinear").view(*new, -1).transpose(0, 1).flatten(0, 1)


def _read_by_columns(table: torch.Tensor, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    return resized(table.view(old[1], old[0], -1).transpose(0, 1).reshape(len(table), -1), old, new, mode="bilinear")


def _sequence(table: torch.Tensor, _: Any, new: tuple[int, int]) -> torch.Tensor:
    return F.interpolate(table.T[None], size=new[0] * new[1], mode="linear")[0].T


def _square(table: torch.Tensor, _: Any, new: tuple[int, int]) -> torch.Tensor:
    side = int(len(table) ** 0.5)
    return resized(table, (side, side), new, mode="bilinear")


RESIZES: dict[str, tuple[Callable[..., Any], str]] = {
    "written by columns": (_written_by_columns, "the new patches go column after column"),
    "read by columns": (_read_by_columns, "the old table is read column after column"),
    "new sides exchanged": (
        lambda table, old, new: resized(table, old, new[::-1], mode="bilinear"),
        "the new height and width are exchanged",
    ),
    "cut": (
        lambda table, _, new: F.pad(table, (0, 0, 0, max(0, new[0] * new[1] - len(table))))[: new[0] * new[1]],
        "cut or continued",
    ),
    "one long row": (_sequence, "no known mistake"),
    "square": (_square, "no known mistake"),
}


@pytest.mark.parametrize("name", RESIZES)
def test_resize_faults_are_named(name: str) -> None:
    fn, said = RESIZES[name]
    finding = only(check_resize(fn), "grid-order-and-resize", "ORD405")
    assert said in finding.said or (name == "square" and "RuntimeError" in str(finding.actual)), str(finding)


def test_class_tokens_that_are_resized_along() -> None:
    def changed(table: torch.Tensor, old: Any, new: Any) -> torch.Tensor:
        return torch.cat((table[:1] * 2, resized(table[1:], old, new, mode="bilinear")))

    finding = only(check_resize(changed, prefix=1), "grid-order-and-resize", "ORD405")
    assert finding.said == "the rows before the patches change"


def test_multimodal_originals_pass() -> None:
    clean(check_multimodal(lambda types, grids: qwen2_vl_positions(types, image_grids=grids, spatial_merge=1)))
    clean(check_multimodal(lambda types, grids: qwen2_vl_positions(types, image_grids=grids, spatial_merge=1).positions))

    def by_hand(types: torch.Tensor, grids: list[tuple[int, int, int]]) -> torch.Tensor:
        return laid_out(types, grids)

    clean(check_multimodal(by_hand))


def laid_out(
    types: torch.Tensor,
    grids: list[tuple[int, int, int]],
    advance: Callable[[int, int], int] = max,
    place: Callable[[int, int, int], tuple[int, int, int]] = lambda p, row, column: (p, p + row, p + column),
) -> torch.Tensor:
    """Right as it stands; each keyword plants a fault."""
    out: list[tuple[int, int, int]] = []
    start, index, left = 0, 0, list(grids)
    while index < types.shape[1]:
        if types[0, index] == 0:
            out.append((start,) * 3)
            start, index = start + 1, index + 1
        else:
            _, rows, columns = left.pop(0)
            out += [place(start, *divmod(n, columns)) for n in range(rows * columns)]
            start, index = start + advance(rows, columns), index + rows * columns
    return torch.tensor(out).T[:, None]


MULTIMODAL: dict[str, tuple[dict[str, Any], str, str]] = {
    "counts patches": ({"advance": lambda rows, columns: rows * columns}, "counts all its patches", "1 text + 1 x 2 x 2"),
    "one position": ({"advance": lambda *_: 1}, "goes on after one position", "3 text + 1 x 2 x 2 image + 2 text"),
    "rows alone": ({"advance": lambda rows, _: rows}, "goes on after its rows", "1 text + 1 x 2 x 3 image"),
    "columns alone": ({"advance": lambda _, columns: columns}, "goes on after its columns", "2 text + 1 x 3 x 1"),
    "exchanged": ({"place": lambda p, row, column: (p, p + column, p + row)}, "rows and columns are exchanged", "1 x 2 x 2"),
    "from 0": ({"place": lambda _, row, column: (0, row, column)}, "an image begins at 0", "1 text + 1 x 1 x 1 image"),
    "time rises": (
        {"place": lambda p, row, column: (p + row, p + row, p + column)},
        "no known mistake",
        "1 x 2 x 2 image",
    ),
    "too late": ({"advance": lambda *sides: max(sides) + 1}, "one position too late", "1 text + 1 x 1 x 1 image"),
}


@pytest.mark.parametrize("name", MULTIMODAL)
def test_multimodal_faults_are_named(name: str) -> None:
    changed, said, smallest = MULTIMODAL[name]
    finding = only(check_multimodal(lambda types, grids: laid_out(types, grids, **changed)), "mrope-index", "ORD404")
    assert said in finding.said, str(finding)
    assert smallest in str(finding.smallest) or name == "counts patches"


DELTAS: dict[str, tuple[Callable[[torch.Tensor], float], str]] = {
    "none": (lambda _: 0, "delta is 0"),
    "largest": (lambda p: int(p.max()) - p.shape[-1], "at the largest position itself"),
    "next": (lambda p: int(p.max()) + 1, "not its difference"),
    "sign": (lambda p: p.shape[-1] - int(p.max()) - 1, "wrong sign"),
}


@pytest.mark.parametrize("name", DELTAS)
def test_wrong_deltas_are_named(name: str) -> None:
    delta, said = DELTAS[name]

    def fn(types: torch.Tensor, grids: Any) -> Any:
        placed = laid_out(types, grids)
        return placed, torch.tensor([delta(placed)])

    finding = only(check_multimodal(fn), "mrope-index", "ORD404")
    assert finding.property == "next position"
    assert said in finding.said


def test_numbers_by_hand() -> None:
    """3 text + 1x2x2 image + 2 text: t=0,1,2,3,3,3,3,5,6 ..., delta -2, next 7."""
    types = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 0, 0]])
    placed = laid_out(types, [(1, 2, 2)])[:, 0]
    assert placed.tolist() == [[0, 1, 2, 3, 3, 3, 3, 5, 6], [0, 1, 2, 3, 3, 4, 4, 5, 6], [0, 1, 2, 3, 4, 3, 4, 5, 6]]
    wrong = check_multimodal(lambda types, grids: (laid_out(types, grids), torch.zeros(1)))
    assert wrong.broken[0].smallest == "1 x 2 x 2 image"
    assert check_context_parallel(lambda *_: [[0, 1, 6, 7], [2, 3, 4, 5]]).broken[0].smallest == "length 2 on 1 ranks"


TIMES: dict[str, tuple[Callable[[int, float, float], Any], str]] = {
    "seconds cut": (lambda n, seconds, tokens: [i * int(seconds) * tokens for i in range(n)], "seconds are cut to whole ones"),
    "tokens cut": (lambda n, seconds, tokens: [i * int(seconds * tokens) for i in range(n)], "tokens a frame are cut"),
    "cut in between": (lambda n, seconds, tokens: [int(i * seconds) * tokens for i in range(n)], "before the tokens"),
    "not cut": (lambda n, seconds, tokens: [i * seconds * tokens for i in range(n)], "not cut"),
    "frames": (lambda n, *_: range(n), "frames are counted"),
}


@pytest.mark.parametrize("name", TIMES)
def test_times_are_named(name: str) -> None:
    fn, said = TIMES[name]
    assert said in only(check_frame_times(fn), "mrope-index", "ORD404").said


def test_times_of_an_original_pass() -> None:
    def times(frames: int, seconds: float, tokens: float) -> torch.Tensor:
        types = torch.full((1, frames), 2)
        settings = {"video_grids": [(frames, 1, 1)], "spatial_merge": 1, "tokens_per_second": tokens}
        placed = qwen2_5_vl_positions(types, seconds_per_grid=[seconds], **settings)
        return placed.positions[0, :, 0]

    clean(check_frame_times(times))


def zigzag(length: int, ranks: int) -> list[torch.Tensor]:
    chunks = torch.arange(length).chunk(2 * ranks)
    return [torch.cat((chunks[rank], chunks[2 * ranks - 1 - rank])) for rank in range(ranks)]


def test_context_parallel_originals_pass() -> None:
    clean(check_context_parallel(zigzag))
    clean(check_context_parallel(lambda length, ranks: torch.arange(length).chunk(ranks), slices="contiguous"))
    assert [part.tolist() for part in zigzag(8, 2)] == [[0, 1, 6, 7], [2, 3, 4, 5]]


SHARDS: dict[str, tuple[Callable[[int, int], Any], str]] = {
    "contiguous": (lambda length, ranks: torch.arange(length).chunk(ranks), "positions are contiguous, tokens zigzag"),
    "from 0": (lambda length, ranks: [torch.arange(length // ranks)] * ranks, "every rank counts from 0"),
    "first rank's": (lambda length, ranks: [zigzag(length, ranks)[0]] * ranks, "the first rank's positions"),
    "dealt out": (lambda length, ranks: [torch.arange(rank, length, ranks) for rank in range(ranks)], "one by one"),
    "exchanged": (lambda length, ranks: [part.roll(len(part) // 2) for part in zigzag(length, ranks)], "are exchanged"),
    "ranks reversed": (lambda length, ranks: zigzag(length, ranks)[::-1], "reverse order"),
}


@pytest.mark.parametrize("name", SHARDS)
def test_shards_are_named(name: str) -> None:
    fn, said = SHARDS[name]
    assert said in only(check_context_parallel(fn), "context-parallel-slice", "ORD406").said
