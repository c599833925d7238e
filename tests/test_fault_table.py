"""27 kinds of faults, two planted variants each at least: found and named, and the clean original has none.

Rotations, rules, configurations, models and sources have larger tables of their own, whose tests run them; here they are counted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ordinate import reference
from ordinate.checkpoints.sources import find_source
from ordinate.doctor.configuration import of_configuration
from ordinate.faults import KINDS
from ordinate.testing import (
    Report,
    check_bias,
    check_context_parallel,
    check_frame_times,
    check_grid,
    check_input,
    check_masked,
    check_packed,
    check_resize,
    check_table,
    from_buckets,
)

Check = Callable[[Any], Report]


def in_order(lengths: Any) -> list[int]:
    return [position for length in lengths for position in range(length)]


def from_mask(mask: Any) -> torch.Tensor:
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def raster(height: int, width: int) -> list[tuple[int, int]]:
    return [(n // width, n % width) for n in range(height * width)]


def zigzag(length: int, ranks: int) -> list[list[int]]:
    size = length // (2 * ranks)
    blocks = [list(range(n * size, (n + 1) * size)) for n in range(2 * ranks)]
    return [blocks[rank] + blocks[2 * ranks - 1 - rank] for rank in range(ranks)]


def resized(table: torch.Tensor, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    grid = table.reshape(*old, -1).permute(2, 0, 1)[None]
    return torch.nn.functional.interpolate(grid, new, mode="bicubic", align_corners=False)[0].permute(1, 2, 0).flatten(0, 1)


def resized_crossed(table: torch.Tensor, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    return resized(table, old[::-1], new[::-1])


def alibi(slopes: Callable[[int], Any], bias: Callable[[Any, Any], Any]) -> Callable[..., torch.Tensor]:
    def fn(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return torch.tensor(slopes(6))[:, None, None] * bias(q[:, None], k[None])

    return fn


def authors(heads: int) -> list[float]:
    assert heads == 6
    return [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]  # the published list


def geometric(heads: int) -> list[float]:
    return [2.0 ** (-8 * (head + 1) / heads) for head in range(heads)]


def from_one(heads: int) -> list[float]:
    return [2 * slope for slope in authors(heads)]


def buckets(of: Callable[[int], int]) -> Any:
    def fn(distance: torch.Tensor) -> torch.Tensor:
        return torch.tensor([of(int(each)) for each in distance.flatten()]).reshape(distance.shape)

    return from_buckets(fn)


def t5(distance: int) -> int:
    return reference.t5_bucket(distance, 32, 128, True)


def sinusoids(exponent: Callable[[Any], Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    def fn(positions: torch.Tensor) -> torch.Tensor:
        angles = positions[:, None] * 10000.0 ** -exponent(torch.arange(0, 16, 2, dtype=torch.float64))
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2).float()

    return fn


ROWS = torch.randn(32, 16, generator=torch.Generator().manual_seed(0))


def checked_rows(positions: torch.Tensor) -> torch.Tensor:
    if positions.is_floating_point() or positions.min() < 0 or positions.max() >= 32:
        raise ValueError("needed whole positions from 0 to 31")
    return ROWS[positions]


def wrapped(positions: torch.Tensor) -> torch.Tensor:
    if positions.is_floating_point() or positions.min() < 0:
        raise ValueError("needed whole positions from 0 on")
    return ROWS[positions % 32]


def one_row_on(positions: torch.Tensor) -> torch.Tensor:
    return checked_rows((positions + 1).clamp(max=31))


PARTS: dict[str, tuple[Check, Any, list[Any]]] = {
    "packed-positions": (
        check_packed,
        in_order,
        [lambda lengths: list(range(sum(lengths))), lambda n: [p + 1 for p in in_order(n)]],
    ),
    "mask-blind-positions": (
        check_masked,
        from_mask,
        [lambda mask: torch.arange(mask.shape[1]).expand(mask.shape), lambda mask: mask.long().cumsum(-1)],
    ),
    "grid-order-and-resize": (
        check_grid,
        raster,
        [lambda h, w: [(n % h, n // h) for n in range(h * w)], lambda h, w: raster(w, h)],
    ),
    "context-parallel-slice": (
        check_context_parallel,
        zigzag,
        [
            lambda n, ranks: [list(range(n // ranks)) for _ in range(ranks)],
            lambda n, ranks: [list(range(rank, n, ranks)) for rank in range(ranks)],
        ],
    ),
    "alibi-slopes": (
        lambda fn: check_bias(fn, scheme="alibi", causal=True, n_heads=6),
        alibi(authors, lambda q, k: k - q),
        [alibi(geometric, lambda q, k: k - q), alibi(from_one, lambda q, k: k - q)],
    ),
    "alibi-geometry": (
        lambda fn: check_bias(fn, scheme="alibi", causal=True, n_heads=6),
        alibi(authors, lambda q, k: k - q),
        [
            alibi(authors, lambda q, k: q - k),
            alibi(authors, lambda q, k: (k - q).bfloat16().float() * 0 + (k.bfloat16() - q).float()),
        ],
    ),
    "relative-index-logic": (
        lambda fn: check_bias(fn, scheme="t5", causal=False),
        buckets(t5),
        [buckets(lambda d: t5(-d)), buckets(lambda d: t5(max(-100, min(100, d))) if abs(d) < 90 else 0)],
    ),
    "sinusoid-construction": (
        lambda fn: check_input(fn, scheme="sinusoidal", d_model=16),
        sinusoids(lambda i: i / 16),
        [sinusoids(lambda i: i / 32), sinusoids(lambda i: (i + 2) / 16)],
    ),
    "table-range-and-base": (
        lambda fn: check_input(fn, scheme="learned", d_model=16, max_length=32, table=ROWS),
        checked_rows,
        [wrapped, one_row_on],
    ),
    "cos-sin-range": (
        lambda fn: check_table(fn, 32),
        checked_rows,
        [lambda positions: ROWS[positions.long().clamp(0, 31)], lambda positions: ROWS[positions.long()]],
    ),
}


@pytest.mark.parametrize("kind", PARTS)
def test_functions_that_make_parts(kind: str) -> None:
    check, clean, planted = PARTS[kind]
    assert check(clean).broken == (), str(check(clean))
    for fault in planted:
        assert kind in check(fault).kinds, str(check(fault))


def test_resized_tables_and_times_of_frames() -> None:
    assert check_resize(resized).broken == ()
    assert check_resize(resized_crossed).kinds == ("grid-order-and-resize",)
    first, last = (lambda n, seconds, tokens: [int(i * seconds * tokens) for i in range(n)]), np.floor
    assert check_frame_times(first).broken == ()
    for wrong in (
        lambda n, seconds, tokens: [i * int(seconds) * tokens for i in range(n)],
        lambda n, seconds, tokens: last(np.arange(n) * seconds).astype(int) * int(tokens),
    ):
        assert check_frame_times(wrong).kinds == ("mrope-index",)


def test_every_kind_has_two_variants() -> None:
    """With the tables whose own tests run them; the code that a finding carries is its kind's."""
    for folder in ("doctor", "doctor/source", "testing/models"):
        sys.path.append(str(Path(__file__).parent / folder))  # as pytest does for their own tests
    import planted_configs
    import test_planted_models
    import test_planted_weights
    from planted_angles import ANGLES
    from planted_counting import COUNTING
    from planted_settings import SETTINGS
    from planted_state import STATE

    from testing.rotary.planted import PLANTED as ROTARY
    from testing.rules.test_check_frequencies import PLANTED as RULES

    count: Counter[str] = Counter()
    count.update({kind: len(planted) for kind, (_, _, planted) in PARTS.items()})
    count.update(row[2] for row in (*ROTARY, *RULES))
    count.update(row[0] for row in planted_configs.PLANTED)
    count.update(row[3] for row in test_planted_models.PLANTED)
    count.update(row.kind for row in (*ANGLES, *COUNTING, *SETTINGS, *STATE))
    count["provenance-mix"] += sum(row[3] is not None for row in test_planted_weights.PAIRS)
    assert {kind: count[kind] for kind in KINDS if count[kind] < 2} == {}
    assert len(KINDS) == 27


def test_a_configuration_in_which_all_is_said_once() -> None:
    config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 512, "num_attention_heads": 4, "rope_theta": 1e6}
    assert [each for each in of_configuration(find_source(config))[0] if each.severity != "note"] == []
    found = of_configuration(find_source({**config, "rope_parameters": {"rope_theta": 1e4}}))[0]
    assert [(each.code, each.kind) for each in found if each.severity == "error"] == [("ORD102", "config-key-dropped")]
