"""Callables that raise, exit, write over their input or give something else: a finding or one ValueError, never a crash."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from ordinate.testing import by_tensor, check_rotary
from testing.rotary.ten_mistakes import Right


def turned(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    angles = positions[..., None] * 1e4 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = angles if positions.ndim == 1 else angles[:, None]
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1).to(x.dtype)


def in_place(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x.copy_(turned(x, positions))


def emptied(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    result = turned(x, positions)
    with torch.no_grad():
        x.zero_()
        positions.zero_()
    return result


@pytest.mark.parametrize("fn", [in_place, emptied])
def test_what_writes_over_its_input_is_said_so_and_nothing_else(fn: Any) -> None:
    found = check_rotary(fn, head_dim=8)
    said = [each.said for each in found.broken if each.property not in ("gradients", "tracing")]
    assert said in (["queries are written over"], ["positions are written over"]), str(found)


class Exits:
    def __call__(self, *_: torch.Tensor) -> torch.Tensor:
        raise SystemExit(3)


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def silent(*_: torch.Tensor) -> torch.Tensor:
    raise SilentError


ODD: list[Any] = [
    lambda x, _: x * 0,
    lambda x, _: x * float("nan"),
    lambda x, _: x > 0,
    lambda x, _: x.to("meta"),
    lambda *_: None,
    lambda x, _: x[..., :2],
    Exits(),
    silent,
]


@pytest.mark.parametrize("fn", ODD)
def test_odd_results_are_findings(fn: Any) -> None:
    assert check_rotary(by_tensor(fn), head_dim=8).broken


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base": float("nan")}, "base: needed a finite number > 0, got nan"),
        ({"base": 0}, "base: needed a finite number > 0, got 0"),
        ({"magnitude": -1.0}, "magnitude: needed a finite number > 0"),
        ({"layout": "foo"}, "layout: needed 'half' or 'interleaved', got 'foo'"),
        ({"inverse_frequencies": 3}, "inverse_frequencies: needed a row of numbers"),
        ({"inverse_frequencies": [float("inf")] * 8}, "inverse_frequencies: needed finite numbers"),
        ({"head_dim": 16.0}, "head_dim, rotary_dim: needed whole numbers up to 512"),
        ({"head_dim": 0}, "needed even numbers"),
        ({"head_dim": 4096}, "needed whole numbers up to 512"),
        ({"rotary_dim": 0}, "needed even numbers"),
    ],
)
def test_odd_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        check_rotary(turned, **settings)


def test_numbers_may_be_a_tensor() -> None:
    frequencies = 1e4 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    assert check_rotary(turned, head_dim=8, inverse_frequencies=frequencies).broken == ()
    assert check_rotary(lambda x, positions, base=1e4: turned(x, positions), head_dim=2).broken == ()  # noqa: ARG005


class Locked(Right):
    def __init__(self, head_dim: int) -> None:
        super().__init__(head_dim)
        self.lock = threading.Lock()


class Unmakable:
    def __init__(self, head_dim: int) -> None:
        raise ZeroDivisionError(head_dim)


def test_what_cannot_be_made_or_copied() -> None:
    with pytest.raises(ValueError, match="needed something that can be copied"):
        check_rotary(Locked)
    with pytest.raises(ValueError, match="Unmakable could not be made"):
        check_rotary(Unmakable)
