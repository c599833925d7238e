"""The kit's checks of learned tables and of cached cosines and sines: originals pass, planted faults are found and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ordinate
from ordinate.testing.findings import Report
from ordinate.testing.inputs import assert_input, check_input, check_learned, check_table, from_embeddings

ROWS, D = 6, 4


def weights(extra: int = 0) -> torch.Tensor:
    return torch.randn(ROWS + extra, D, generator=torch.Generator().manual_seed(1))


def found(report: Report) -> dict[str, str]:
    """What is broken: property -> what was said."""
    assert all(finding.smallest for finding in report.broken)
    return {finding.property: f"{finding.said} {finding.kind}" for finding in report.broken}


def checked(positions: torch.Tensor, table: torch.Tensor, rows: int = ROWS, offset: int = 0) -> torch.Tensor:
    if positions.is_floating_point() or int(positions.min()) < 0 or int(positions.max()) >= rows:
        raise ValueError(f"needed whole positions 0 .. {rows - 1}, got {positions}")
    return table[positions + offset]


class Added(nn.Module):
    """x + the first rows."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(weights())
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(x + self.weight[: x.shape[1]])


RIGHT: dict[str, tuple[Any, int]] = {
    "scheme": (ordinate.Learned(max_length=ROWS, d_model=D), 0),
    "scheme with an offset": (ordinate.Learned(max_length=ROWS, d_model=D, padding_offset=2), 2),
    "nn.Embedding": (nn.Embedding(ROWS, D), 0),
    "function": (lambda positions: checked(positions, weights()), 0),
    "function with an offset": (lambda positions: checked(positions, weights(2), offset=2), 2),
    "module of vectors": (Added(), 0),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_forms_pass(name: str) -> None:
    fn, offset = RIGHT[name]
    table = fn.weight if isinstance(fn, nn.Module) else weights(offset)
    for given in (None, table):
        report = check_input(fn, scheme="learned", d_model=D, max_length=ROWS, table=given, padding_offset=offset)
        assert report.broken == (), str(report)


def test_declared_overflow() -> None:
    for overflow in ("wrap", "clamp"):
        scheme = ordinate.Learned(max_length=ROWS, d_model=D, overflow=overflow)
        assert_input(scheme, scheme="learned", d_model=D, max_length=ROWS, overflow=overflow)
        other = "wrap" if overflow == "clamp" else "clamp"
        assert list(found(check_learned(scheme, d_model=D, max_length=ROWS, overflow=other))) == ["past the end"]
        assert list(found(check_learned(scheme, d_model=D, max_length=ROWS))) == ["past the end"]


FAULTS: dict[str, tuple[Callable[[torch.Tensor], Any], dict[str, str]]] = {
    "plain indexing": (
        lambda positions: weights()[positions],
        {"negative positions": "a negative position wraps around to the last row cos-sin-range"},
    ),
    "modulo": (
        lambda positions: weights()[positions.long() % ROWS],
        {
            "past the end": "position 6 wraps around to the first row table-range-and-base",
            "negative positions": "a negative position wraps around to the last row cos-sin-range",
            "fractional positions": "a floating position is cut to an integer cos-sin-range",
        },
    ),
    "clamped": (
        lambda positions: F.embedding(positions.clamp(0, ROWS - 1), weights()),
        {
            "past the end": "position 6 reads the last row again table-range-and-base",
            "negative positions": "a negative position reads row 0 cos-sin-range",
        },
    ),
    "cast": (
        lambda positions: F.embedding(positions.long(), weights()),
        {"fractional positions": "a floating position is cut to an integer cos-sin-range"},
    ),
    "a longer table": (
        lambda positions: checked(positions, weights(3), ROWS + 3),
        {"past the end": "position 6 reads a vector that no position has table-range-and-base"},
    ),
    "one vector for all": (
        lambda positions: checked(0 * positions, weights()),
        {"rows of the table": "two positions have one vector table-range-and-base"},
    ),
    "last row out of reach": (
        lambda positions: checked(positions, weights(), ROWS - 1),
        {"rows of the table": "positions of the table give no value table-range-and-base"},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named(name: str) -> None:
    fn, said = FAULTS[name]
    assert found(check_learned(fn, d_model=D, max_length=ROWS)) == said


BASES: dict[str, tuple[int, int, str]] = {
    "not added": (0, 2, "the padding offset is not added"),
    "added twice": (4, 2, "the padding offset is added twice"),
    "needless": (2, 0, "a padding offset of 2 is added"),
    "one too high": (3, 2, "the first row read is one too high"),
    "one too low": (1, 2, "the first row read is one too low"),
}


@pytest.mark.parametrize("name", BASES)
def test_wrong_bases_are_named(name: str) -> None:
    read, right, said = BASES[name]
    table = weights(4)
    fn = lambda positions: checked(positions, torch.cat((table, table)), offset=read)  # noqa: E731
    report = check_learned(fn, d_model=D, max_length=ROWS + 4 - right, padding_offset=right, table=table)
    assert said in report.broken[0].said, str(report)
    assert report.kinds[0] == "table-range-and-base"


def test_a_table_of_zeros_tells_nothing() -> None:
    report = check_learned(lambda positions: checked(positions, torch.zeros(ROWS, D)), d_model=D, max_length=ROWS)
    assert report.broken == ()
    assert "all vectors are 0" in str(report)


def test_modules_of_vectors_past_the_end() -> None:
    module = from_embeddings(lambda x: x + weights()[torch.arange(x.shape[1]) % ROWS], D)
    assert found(check_learned(module, d_model=D, max_length=ROWS)) == {
        "past the end": "position 6 wraps around to the first row table-range-and-base"
    }


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"table: needed 6 \+ 2 rows"):
        check_learned(nn.Embedding(ROWS, D), d_model=D, max_length=ROWS, padding_offset=2, table=weights())
    with pytest.raises(ValueError, match="scheme: needed one of sinusoidal, learned"):
        check_input(nn.Embedding(ROWS, D), scheme="rope", d_model=D)  # type: ignore[arg-type]


def _cached() -> tuple[torch.Tensor, torch.Tensor]:
    angles = torch.arange(4.0)[:, None] * torch.tensor([1.0, 0.1])
    return angles.cos(), angles.sin()


def guarded(positions: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(checked(positions, part, 4) for part in _cached())


CACHES: dict[str, tuple[Callable[[torch.Tensor], Any], set[str]]] = {
    "indexed": (lambda p: tuple(part[p] for part in _cached()), {"position -1"}),
    "sliced by the largest": (
        lambda p: tuple(part[: int(p.max()) + 1][p.long()] for part in _cached()),
        {"position 2.0"},
    ),
    "clamped": (
        lambda p: tuple(part[p.clamp(max=3).long()] for part in _cached()),
        {"position 4", "position -1", "position 2.0"},
    ),
    "wrapped, batched": (lambda p: _cached()[0][p % 4][None], {"position 4", "position -1"}),
    "too short": (lambda p: _cached()[0][p[p < 4]], {"position 4", "position -1"}),
}


def test_guarded_caches_pass() -> None:
    assert check_table(guarded, 4).broken == ()
    assert check_table(nn.Embedding(4, 2), 4).broken == ()


@pytest.mark.parametrize("name", CACHES)
def test_open_caches_are_found(name: str) -> None:
    fn, smallest = CACHES[name]
    report = check_table(fn, 4)
    assert {finding.smallest for finding in report.broken} == smallest, str(report)
    assert report.kinds == ("cos-sin-range",)
    assert report.broken[0].code == "ORD407"


def test_a_cache_without_its_last_row() -> None:
    report = check_table(lambda p: checked(p, _cached()[0], 3), 4)
    assert found(report) == {"rows of the table": "a position of the table gives no value cos-sin-range"}


def test_classes_are_made() -> None:
    assert check_input(ordinate.Learned, d_model=D, max_length=ROWS).broken == ()
    assert check_input(nn.Embedding, d_model=D, max_length=ROWS, name="Embedding").broken == ()
    with pytest.raises(ValueError, match="max_length: needed the number of usable positions"):
        check_input(ordinate.Learned, d_model=D)


def test_a_modules_own_table_is_found() -> None:
    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(ROWS + 2, D)

        def forward(self, positions: torch.Tensor) -> torch.Tensor:
            return self.table(positions)

    report = check_learned(Late(), d_model=D, max_length=ROWS, padding_offset=2)
    assert found(report) == {"rows of the table": "the padding offset is not added table-range-and-base"}
