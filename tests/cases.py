"""The one table of cases: every scheme of ``ordinate.SCHEMES`` in settings that differ in kind. A new scheme adds lines here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import ordinate
from ordinate import reference

FAR = 2**31 - 1
FREQUENCIES = (1.0, 0.3, 0.05, 0.0007)


@dataclass(frozen=True)
class Case:
    """One scheme in one setting.

    ``oracle`` is its definition in float64, by site: input (positions) -> [T, d_model]; queries and keys (x [T, D], positions) ->
    [T, D]; scores (q_positions, k_positions) -> [H, Q, K]. ``other`` makes the same shapes with other settings. ``lowest`` and
    ``highest`` bound the positions that are told apart.
    """

    name: str
    scheme: str
    make: Callable[[], Any]
    other: Callable[[], Any]
    oracle: Callable[..., Any] | None
    n_heads: int = 4
    n_kv_heads: int = 2
    head_dim: int = 8
    fractional: bool = True
    lowest: int = -FAR
    highest: int = FAR
    phase_error: float = 0.0  # radians a position that the scheme's own rounding of angles may cost

    @property
    def d_model(self) -> int:
        return self.n_heads * self.head_dim


def _table(rows: int, width: int) -> torch.Tensor:
    """Learned rows of size 1 instead of 0.02, so that positions are as loud as contents."""
    return torch.randn(rows, width, generator=torch.Generator("cpu").manual_seed(rows), device="cpu")


def _learned_with(**settings: Any) -> ordinate.Learned:
    scheme = ordinate.Learned(**settings)
    with torch.no_grad():
        scheme.weight.copy_(_table(*scheme.weight.shape))
    return scheme


def _sinusoidal(name: str, n_heads: int, n_kv_heads: int, head_dim: int, **settings: Any) -> Case:
    width = n_heads * head_dim
    return Case(
        name,
        "sinusoidal",
        lambda: ordinate.Sinusoidal(d_model=width, **settings),
        lambda: ordinate.Sinusoidal(d_model=width, **{**settings, "base": 77.0}),
        lambda positions: reference.sinusoidal(positions, width, **settings),
        n_heads,
        n_kv_heads,
        head_dim,
    )


def _learned(name: str, highest: int, **settings: Any) -> Case:
    rows = settings["max_length"] + settings.get("padding_offset", 0)
    rules = {key: settings[key] for key in ("padding_offset", "overflow") if key in settings}
    return Case(
        name,
        "learned",
        lambda: _learned_with(d_model=32, **settings),
        lambda: _learned_with(d_model=32, **{**settings, "max_length": settings["max_length"] + 3}),
        lambda positions: reference.learned(_table(rows, 32).double().numpy(), [int(place) for place in positions], **rules),
        fractional=False,
        lowest=0,
        highest=highest,
    )


def _rope(name: str, head_dim: int = 8, **settings: Any) -> Case:
    other = {**settings, "base": 500000.0}
    if "inverse_frequencies" in settings:
        other = {**settings, "inverse_frequencies": tuple(reversed(settings["inverse_frequencies"]))}
    known = ("layout", "base", "rotary_dim", "rotary_start", "inverse_frequencies")
    return Case(
        name,
        "rope",
        lambda: ordinate.Rope(head_dim=head_dim, **settings),
        lambda: ordinate.Rope(head_dim=head_dim, **other),
        lambda x, positions: reference.rope(x, positions, **{key: settings[key] for key in known if key in settings}),
        head_dim=head_dim,
    )


def _float32_rope(x: Any, positions: Sequence[float]) -> Any:
    """The recipe of most checkpoints, written out: frequency and angle each rounded to float32, "half" pairs, base 10000, D = 8."""
    out = np.array(x, dtype=np.float64)
    for row, position in enumerate(positions):
        for i in range(4):
            frequency = np.float32(1.0) / np.float32(10000.0 ** (2 * i / 8))
            angle = float(np.float32(position) * frequency)
            first, second = out[row, i], out[row, i + 4]
            out[row, i] = first * math.cos(angle) - second * math.sin(angle)
            out[row, i + 4] = second * math.cos(angle) + first * math.sin(angle)
    return out


def _alibi(name: str, n_heads: int, n_kv_heads: int, slopes: Any) -> Case:
    values = reference.alibi_slopes(n_heads, slopes) if isinstance(slopes, str) else slopes
    return Case(
        name,
        "alibi",
        lambda: ordinate.ALiBi(n_heads=n_heads, slopes=slopes),
        lambda: ordinate.ALiBi(n_heads=n_heads, slopes=tuple(0.9 / (head + 2) for head in range(n_heads))),
        lambda q_positions, k_positions: reference.alibi(q_positions, k_positions, values),
        n_heads,
        n_kv_heads,
    )


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("nope", "nope", lambda: None, lambda: None, None),
        _sinusoidal("sinusoidal", 4, 2, 8),
        _sinusoidal("sinusoidal odd", 3, 1, 5),
        _sinusoidal("sinusoidal blocks", 3, 1, 5, layout="sin_cos", spacing="closed"),
        _sinusoidal("sinusoidal cosines first", 4, 1, 4, layout="cos_sin", base=500.0),
        _learned("learned", 63, max_length=64),
        _learned("learned offset wrap", FAR, max_length=11, padding_offset=2, overflow="wrap"),
        _learned("learned clamp", 11, max_length=12, overflow="clamp"),
        _rope("rope half", layout="half"),
        _rope("rope interleaved", layout="interleaved", base=1e6),
        _rope("rope partial", 11, layout="half", rotary_dim=6),
        _rope("rope tail", 9, layout="interleaved", rotary_dim=4, rotary_start=5),
        _rope("rope given", layout="half", inverse_frequencies=FREQUENCIES),
        Case(
            "rope as checkpoints",
            "rope",
            lambda: ordinate.Rope(head_dim=8, layout="half", phases="float32", arithmetic="input"),
            lambda: ordinate.Rope(head_dim=8, layout="half", phases="float32", arithmetic="input", base=500000.0),
            _float32_rope,
            phase_error=2.0**-24,
        ),
        _alibi("alibi", 4, 2, "paper"),
        _alibi("alibi paper 6", 6, 3, "paper"),
        _alibi("alibi authors 6", 6, 2, "authors"),
        _alibi("alibi given", 3, 1, (0.5, 0.03, 1.25)),
    )
}
