"""Wrong formulas for the claims about sinusoids: what implementations get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from perturbations_words import with_losses

from ordinate import reference
from ordinate.claims.collisions import frequencies
from ordinate.claims.shift import shift_matrix
from ordinate.claims.sinusoid_code import filled_table
from ordinate.schemes import Learned, Sinusoidal

Frequency = Callable[[int, int], float]


def _table(frequency: Frequency, *, first: int = 0, limit: float = math.inf) -> Any:
    def rows(positions: Any, width: int) -> Any:
        places = np.minimum(np.array([*positions], dtype=np.float64) + first, limit)
        angles = places[:, None] * np.array([frequency(i, width) for i in range(width // 2)])
        return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(len(places), width)

    return rows


def _right(i: int, width: int) -> float:
    return float(10000 ** (-2 * i / width))


def _half_exponent(i: int, width: int) -> float:
    return float(10000 ** (-i / width))


def _swapped(positions: Any, width: int) -> Any:
    return reference.sinusoidal(positions, width, layout="interleaved").reshape(-1, width // 2, 2)[..., ::-1].reshape(-1, width)


def _negative(positions: Any, width: int) -> Any:
    return reference.sinusoidal(positions, width) * np.tile([-1, 1], width // 2)


def _closed(positions: Any, width: int) -> Any:
    return reference.sinusoidal(positions, width, spacing="closed")


def _in_blocks(positions: Any, width: int) -> Any:
    return reference.sinusoidal(positions, width, layout="sin_cos")


def _sines_only(positions: Any, width: int) -> Any:
    return reference.sinusoidal(positions, width) * np.tile([1, 0], width // 2)


def _hundred_times(positions: Any, width: int) -> Any:
    return 100 * reference.sinusoidal(positions, width)


def _sign_exchanged(omega: float, k: float) -> Any:
    return shift_matrix(omega, k).T


def _no_rotation(omega: float, k: float) -> Any:
    return shift_matrix(omega, k) * 1.01


def _cosines_first(length: int, width: int) -> Any:
    return filled_table(length, width).reshape(1, length, -1, 2)[..., ::-1].reshape(1, length, width)


def _by_row(x: Any, positions: Any) -> Any:
    rows = torch.from_numpy(reference.sinusoidal([*positions], x.shape[-1]))
    return x + torch.stack((rows, rows.flip(0)))


def _drops_positions(x: Any, positions: Any) -> Any:
    rows = torch.from_numpy(reference.sinusoidal([*positions], x.shape[-1]))
    return x + torch.nn.functional.dropout(rows, 0.5)


EXPONENT, FROM_ONE, CLAMPED = _table(_half_exponent), _table(_right, first=1), _table(_right, limit=20)
LINEAR = _table(lambda i, width: 1 - 2 * i / width)
EIGHTHS = _table(lambda i, _: 2 * math.pi / 8 * 0.1**i)
IRRATIONAL = _table(lambda i, width: float(math.exp(9) ** (-2 * i / width)))
SOLVED = (0.0, 0.0, 0.0, 0.0)

PERTURBED_SINUSOIDS: dict[str, list[dict[str, Any]]] = {
    "one-angle-a-pair": [{"table": table} for table in (EXPONENT, FROM_ONE, CLAMPED, _swapped, _negative, _closed, _in_blocks)],
    "geometric-frequencies": [{"table": table} for table in (EXPONENT, LINEAR, _closed)],
    "wavelength-ends": [{"table": table} for table in (EXPONENT, _closed)],
    "wavelength-numbers": [{"table": table} for table in (EXPONENT, _closed)],
    "wavelength-limit": [{"table": table} for table in (EXPONENT, _closed)],
    "fast-and-slow": [{"table": table} for table in (_in_blocks, CLAMPED, _table(lambda *_: 1.0))],
    "example-frequencies": [{"table": table} for table in (EXPONENT, _closed)],
    "example-table": [{"table": table} for table in (EXPONENT, FROM_ONE, _swapped, _negative, _closed, _in_blocks)],
    "rows-distinct-bounded": [{"table": table} for table in (_hundred_times, _table(_right, limit=2))],
    "slow-step": [{"table": table} for table in (EXPONENT, CLAMPED, _closed)],
    "slow-near-far": [{"table": _table(lambda *_: 2 * math.pi / 29)}, {"table": _table(_right, limit=0)}],
    "sqrt-scaling": [{"scale": lambda _: 1.0}, {"scale": float}, {"table": _hundred_times}],
    "same-table": [{"add": _by_row}, {"add": lambda x, _: 2 * x}],
    "shift-is-rotation": [{"matrix": _sign_exchanged}, {"matrix": _no_rotation}, {"table": CLAMPED}],
    "dot-product-of-shift": [{"table": table} for table in (_sines_only, CLAMPED)],
    "projection-selects-offset": [
        {"matrix": _sign_exchanged},
        {"table": CLAMPED},
        {"results": with_losses((2.0, 2.0, 2.0, 2.0), "sinusoidal")},
    ],
    "sinusoids-have-no-parameters": [{"make": lambda: Learned(max_length=4, d_model=8)}],
    "formula-at-any-position": [{"table": table} for table in (CLAMPED, EXPONENT, FROM_ONE)],
    "worse-beyond-training": [{"results": with_losses(SOLVED, "sinusoidal", tasks=(task,))} for task in ("text", "shift", "last")],
    "one-sine-repeats": [{"table": table} for table in (EIGHTHS, CLAMPED, EXPONENT)],
    "incommensurate-periods": [{"table": IRRATIONAL}, {"table": _table(_right, limit=100)}],
    "no-collision": [
        {"angular": lambda width: np.full(width // 2, 2 * math.pi / 8)},
        {"angular": lambda width: 1e-8 * frequencies(width)},
        {"rounded": lambda values: values},
    ],
    "exponential-form": [{"form": lambda width: np.exp(-np.arange(width // 2) * math.log(10000) / width)}],
    "table-shape": [
        {"fill": lambda length, width: filled_table(length + 1, width)[:, 1:]},
        {"fill": _cosines_first},
        {"rows": FROM_ONE},
    ],
    "untrained-parameter": [{"trained": True}],
    "dropout-on-sum": [{"add": _drops_positions}, {"add": Sinusoidal(d_model=16)}],
}
