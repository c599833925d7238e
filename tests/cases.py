"""The one table of cases: every scheme of ``ordinate.SCHEMES`` in settings that differ in kind. A new scheme adds lines here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import ordinate
from cases_scaling import SCALED
from ordinate import reference

FAR = 2**31 - 1
FREQUENCIES = (1.0, 0.3, 0.05, 0.0007)


@dataclass(frozen=True)
class Case:
    """One scheme in one setting.

    ``oracle`` is its definition in float64, by site: input (positions) -> [T, d_model]; queries and keys (x [T, D], positions) ->
    [T, D]; scores (q [H, Q, D], k [H_kv, K, D], q_positions, k_positions) -> [H, Q, K]. ``other`` makes the same shapes with other
    settings. ``lowest`` and ``highest`` bound the positions that are told apart.
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
    terms: int = 1  # terms of the score, q . k included, that share the variance
    content: bool = False  # the oracle's scores are products with q or k, and are scaled as q . k is
    added: Callable[..., Any] | None = None  # the output's part: (weights [H, Q, K], q_positions, k_positions) -> [H, Q, D]
    extras: Callable[[], dict[str, torch.Tensor]] = dict  # tables [rows, H, D] that come with every call

    @property
    def d_model(self) -> int:
        return self.n_heads * self.head_dim

    @property
    def scale(self) -> float:
        """Factor of q . k, from the papers."""
        return 1 / math.sqrt(self.terms * self.head_dim)


def _table(*shape: int, seed: int = 0) -> torch.Tensor:
    """Learned rows of size 1 instead of 0.02, so that positions are as loud as contents; multiples of 1/32 fit every dtype."""
    generator = torch.Generator("cpu").manual_seed(shape[0] + 1000 * seed)
    return (32 * torch.randn(*shape, generator=generator, device="cpu")).round() / 32


def _numbers(*shape: int, seed: int = 0) -> Any:
    return _table(*shape, seed=seed).double().numpy()


def _drawn(scheme: Any) -> Any:
    """The scheme with loud tables, the i-th drawn with seed i."""
    with torch.no_grad():
        for seed, table in enumerate(scheme.parameters()):
            table.copy_(_table(*table.shape, seed=seed))
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
        lambda: _drawn(ordinate.Learned(d_model=32, **settings)),
        lambda: _drawn(ordinate.Learned(d_model=32, **{**settings, "max_length": settings["max_length"] + 3})),
        lambda positions: reference.learned(_numbers(rows, 32), [int(place) for place in positions], **rules),
        fractional=False,
        lowest=0,
        highest=highest,
    )


def _rope(name: str, head_dim: int = 8, stretched: list[float] | None = None, **settings: Any) -> Case:
    other = {**settings, "base": 500000.0}
    if "inverse_frequencies" in settings:
        other = {**settings, "inverse_frequencies": tuple(reversed(settings["inverse_frequencies"]))}
    known = ("layout", "base", "rotary_dim", "rotary_start", "inverse_frequencies")
    told = {key: settings[key] for key in known if key in settings} | ({"inverse_frequencies": stretched} if stretched else {})
    return Case(
        name,
        "rope",
        lambda: ordinate.Rope(head_dim=head_dim, **settings),
        lambda: ordinate.Rope(head_dim=head_dim, **other),
        lambda x, positions: reference.rope(x, positions, **told),
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
        lambda _q, _k, *places: reference.alibi(*places, values),
        n_heads,
        n_kv_heads,
    )


def _t5(name: str, n_heads: int, n_kv_heads: int, n_buckets: int, max_distance: int, bidirectional: bool) -> Case:
    settings = {"n_heads": n_heads, "max_distance": max_distance, "bidirectional": bidirectional}
    return Case(
        name,
        "t5",
        lambda: _drawn(ordinate.T5Bias(n_buckets=n_buckets, **settings)),
        lambda: _drawn(ordinate.T5Bias(n_buckets=n_buckets + 2, **settings)),
        lambda _q, _k, *places: reference.t5(*places, _numbers(n_buckets, n_heads), max_distance, bidirectional),
        n_heads,
        n_kv_heads,
        fractional=False,
        highest=12,
    )


def _shaw(
    name: str, n_heads: int, n_kv_heads: int, head_dim: int, max_distance: int, values: bool, max_future: int | None = None
) -> Case:
    settings = {"head_dim": head_dim, "values": values, "max_future": max_future}
    rows = max_distance + 1 + (max_distance if max_future is None else max_future)
    keys, added = (_numbers(rows, head_dim, seed=seed) for seed in (0, 1))
    return Case(
        name,
        "shaw",
        lambda: _drawn(ordinate.Shaw(max_distance=max_distance, **settings)),
        lambda: _drawn(ordinate.Shaw(max_distance=max_distance + 1, **settings)),
        lambda q, _k, *places: np.stack([reference.shaw(head, *places, keys, past=max_distance) for head in q]),
        n_heads,
        n_kv_heads,
        head_dim,
        fractional=False,
        highest=8,
        content=True,
        added=(lambda weights, *at: np.stack([reference.shaw_values(head, *at, added, past=max_distance) for head in weights]))
        if values
        else None,
    )


def _deberta(name: str, terms: str, n_heads: int, n_kv_heads: int, max_distance: int, buckets: int | None = None) -> Case:
    span, head_dim, group = buckets or max_distance, 8, n_heads // n_kv_heads
    wanted = {"keys": "c2p" in terms, "queries": "p2c" in terms}
    tables = {n: _table(2 * span, n_heads, head_dim, seed=seed) for seed, n in enumerate(wanted) if wanted[n]}
    numbers = {n: table.double().numpy() for n, table in tables.items()}

    def build(**sizes: Any) -> ordinate.Deberta:
        both = {"content_to_position": wanted["keys"], "position_to_content": wanted["queries"]}
        return ordinate.Deberta(n_heads=n_heads, head_dim=head_dim, **both, **sizes)

    def oracle(q: Any, k: Any, *places: Sequence[int]) -> Any:
        rows = [[numbers[n][:, h] if wanted[n] else None for n in wanted] for h in range(n_heads)]
        return np.stack([reference.deberta(q[h], k[h // group], *places, *rows[h], max_distance, buckets) for h in range(n_heads)])

    return Case(
        name,
        "deberta",
        lambda: build(max_distance=max_distance, buckets=buckets),
        lambda: build(max_distance=span) if buckets else build(max_distance=span + 9, buckets=span),  # the same span
        oracle,
        n_heads,
        n_kv_heads,
        head_dim,
        fractional=False,
        highest=8,
        terms=1 + len(tables),
        content=True,
        extras=lambda: tables,
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
        Case(
            "rope mixed",
            "rope",
            lambda: ordinate.Rope(head_dim=8, layout="half", phases="float32", arithmetic="mixed"),
            lambda: ordinate.Rope(head_dim=8, layout="half", phases="float32", arithmetic="mixed", base=500000.0),
            _float32_rope,
            phase_error=2.0**-24,
        ),
        *(_rope(name, **settings) for name, settings in SCALED.items()),
        _alibi("alibi", 4, 2, "paper"),
        _alibi("alibi paper 6", 6, 3, "paper"),
        _alibi("alibi authors 6", 6, 2, "authors"),
        _alibi("alibi given", 3, 1, (0.5, 0.03, 1.25)),
        _t5("t5", 4, 2, n_buckets=32, max_distance=128, bidirectional=True),
        _t5("t5 causal", 4, 1, n_buckets=32, max_distance=128, bidirectional=False),
        _t5("t5 few buckets", 6, 3, n_buckets=6, max_distance=20, bidirectional=True),
        _t5("t5 odd", 3, 1, n_buckets=7, max_distance=20, bidirectional=False),
        _shaw("shaw", 4, 2, 8, max_distance=4, values=True),
        _shaw("shaw keys only", 6, 2, 8, max_distance=3, values=False),
        _shaw("shaw past and future", 4, 4, 8, max_distance=4, values=True, max_future=1),
        _shaw("shaw neighbours", 3, 1, 5, max_distance=1, values=True),
        _deberta("deberta", "c2p p2c", 4, 2, max_distance=5),
        _deberta("deberta buckets", "c2p p2c", 6, 3, max_distance=12, buckets=6),
        _deberta("deberta c2p", "c2p", 3, 1, max_distance=4),
        _deberta("deberta p2c", "p2c", 4, 2, max_distance=11, buckets=5),
    )
}
