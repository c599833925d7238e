"""The compiled CPU kernel: the formula's bits on every instruction set, every form of memory, and safety when it is misused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from ordinate import formula, reference, rotate
from ordinate.formula import Pairs
from ordinate.kernels import cpu
from ordinate.rotation import rotate_

pytestmark = pytest.mark.skipif(cpu.CALL is None, reason=f"no compiled kernel here: {cpu.REASON}")

LEVELS = cpu.MODULE.levels() if cpu.MODULE else []
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    before = cpu.MODULE.chosen()[0]
    cpu.MODULE.choose(request.param)
    yield request.param
    cpu.MODULE.choose(before)


def drawn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Numbers of very different sizes, subnormal results among them."""
    generator = torch.Generator().manual_seed(seed)
    size = torch.exp(6 * torch.randn(*shape, generator=generator, dtype=torch.float64))
    return (torch.randn(*shape, generator=generator, dtype=torch.float64) * size).to(dtype)


def angles(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    angle = 7 * torch.rand(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def work(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def by_kernel(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> torch.Tensor | None:
    out = torch.full_like(x, 7.0)
    return out if cpu.turn([(x, out)], cos, sin, pairs) else None


def same_bits(got: torch.Tensor, want: torch.Tensor) -> bool:
    kinds = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    kind = kinds[got.element_size()]
    return bool((got.contiguous().view(kind) == want.contiguous().view(kind)).all())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("rounds", [False, True])
def test_the_formulas_bits(level: str, dtype: torch.dtype, layout: Any, rounds: bool) -> None:
    served = not (dtype == torch.float16 and (rounds or level == "baseline"))
    for pairs_count in (1, 2, 3, 5, 8, 16, 17, 33, 64, 100):
        x = drawn(2, 3, 5, 2 * pairs_count, dtype=dtype)
        cos, sin = angles(5, pairs_count, dtype=work(dtype))
        if rounds:
            cos, sin = formula.tables(cos, sin, dtype, "input")
        pairs = Pairs(layout, 0, 1, -2, rounds and dtype != torch.float32 and dtype != torch.float64)
        got, want = by_kernel(x, cos, sin, pairs), formula.turned(x, cos, sin, pairs)
        if served or (not pairs.rounds and level != "baseline"):
            assert got is not None
            assert same_bits(got, want), pairs_count
        else:
            assert got is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.usefixtures("level")
def test_values_against_loops(dtype: torch.dtype) -> None:
    for layout in ("half", "interleaved"):
        x = torch.randn(2, 2, 6, 20, generator=torch.Generator().manual_seed(3)).to(dtype)
        exponents = np.arange(8) / 8
        angle = np.arange(6)[:, None] * 10000.0**-exponents
        cos, sin = (torch.from_numpy(table).float() for table in (np.cos(angle), np.sin(angle)))
        got = rotate(x, cos, sin, layout=layout, start=3)
        for b in range(2):
            for h in range(2):
                slow = reference.rope(x[b, h].double().numpy(), range(6), layout, rotary_dim=16, rotary_start=3)
                gap = np.abs(got[b, h].double().numpy() - slow).max()
                assert gap < (2e-6 if dtype == torch.float32 else 2e-2)


FORMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "as it is": lambda x: x,
    "heads last": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "tokens outermost": lambda x: x.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3),
    "every other head": lambda x: x.repeat_interleave(2, dim=1)[:, ::2],
    "part of wider rows": lambda x: torch.cat((x, x), dim=-1)[..., : x.shape[-1]],
    "off by one entry": lambda x: torch.cat((x.flatten()[:1], x.flatten()))[1:].view(x.shape),
    "one row for all heads": lambda x: x[:, :1].expand(-1, x.shape[1], -1, -1),
    "one row for all tokens": lambda x: x[:, :, :1].expand(-1, -1, x.shape[2], -1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.usefixtures("level")
def test_any_strides(form: str, dtype: torch.dtype) -> None:
    cos, sin = angles(5, 6)
    per_row = angles(2, 5, 6)
    for layout in ("half", "interleaved"):
        x = FORMS[form](drawn(2, 4, 5, 16, dtype=dtype))
        before = x.clone()
        want = formula.turned(x, cos, sin, Pairs(layout, 3, 1, -2, False))
        assert same_bits(rotate(x, cos, sin, layout=layout, start=3), want)
        rows = formula.turned(x, *per_row, Pairs(layout, 0, 2, -2, False))
        assert same_bits(rotate(x, *per_row, layout=layout, parts=2), rows)
        other = x.transpose(1, 2)
        assert same_bits(rotate(other, cos, sin, layout=layout, start=3, sequence_dim=-3).transpose(1, 2), want)
        assert same_bits(rotate(other[0], cos, sin, layout=layout, start=3, sequence_dim=-3).transpose(0, 1), want[0])
        assert same_bits(x, before)


@pytest.mark.usefixtures("level")
def test_tables_of_any_strides() -> None:
    x = drawn(2, 3, 5, 8)
    cos, sin = angles(5, 4)
    want = formula.turned(x, cos, sin, Pairs("half", 0, 1, -2, False))
    wide = torch.cat((cos, cos), dim=-1)[:, :4], torch.cat((sin, sin), dim=-1)[:, :4]
    strided = torch.stack((cos, cos), dim=-1)[..., 0], torch.stack((sin, sin), dim=-1)[..., 0]
    for tables in (wide, strided, (cos.T.contiguous().T, sin.T.contiguous().T), (wide[0], sin), (cos[None], sin[None])):
        assert same_bits(rotate(x, *tables, layout="half"), want)
    one = formula.turned(x, cos[:1], sin[:1], Pairs("half", 0, 1, -2, False))
    assert same_bits(rotate(x, cos[:1].expand(5, 4), sin[:1].expand(5, 4), layout="half"), one)


@pytest.mark.parametrize("shape", [(0, 2, 3, 8), (2, 0, 3, 8), (2, 2, 0, 8), (1, 1, 1, 8)])
@pytest.mark.usefixtures("level")
def test_empty_and_single(shape: tuple[int, ...]) -> None:
    x = drawn(*shape)
    cos, sin = angles(shape[2], 4)
    assert same_bits(rotate(x, cos, sin, layout="half"), formula.turned(x, cos, sin, Pairs("half", 0, 1, -2, False)))
    assert torch.equal(rotate(x, cos[:, :0], sin[:, :0], layout="half"), x)


@pytest.mark.usefixtures("level")
def test_many_threads_and_one_give_one_result() -> None:
    x, (cos, sin) = drawn(3, 5, 700, 66), angles(700, 32)
    want = formula.turned(x, cos, sin, Pairs("half", 1, 1, -2, False))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 7):
            torch.set_num_threads(threads)
            assert same_bits(rotate(x, cos, sin, layout="half", start=1), want)
    finally:
        torch.set_num_threads(before)


def test_entries_beyond_two_to_the_31() -> None:
    """Memory that is asked for and not touched costs nothing; addresses beyond 2^31 entries must be right."""
    far = 2**31 + 8
    store = torch.empty(2 * far, dtype=torch.bfloat16)
    x = store.as_strided((2, 1, 3, 8), (far, 8, 8, 1))
    x.copy_(drawn(2, 1, 3, 8, dtype=torch.bfloat16))
    cos, sin = angles(3, 4)
    want = formula.turned(x, cos, sin, Pairs("half", 0, 1, -2, False))
    assert same_bits(rotate(x, cos, sin, layout="half"), want)
    assert same_bits(rotate_(x, cos, sin, layout="half"), want)


@pytest.mark.usefixtures("level")
def test_not_a_number_and_infinity() -> None:
    for dtype in DTYPES:
        x = torch.tensor([[[[float("nan"), 1.0, float("inf"), 2.0, 3.0, 4.0, -float("inf"), 5.0]]]], dtype=dtype)
        cos, sin = angles(1, 4, dtype=work(dtype))
        for layout in ("half", "interleaved"):
            got = rotate(x, cos, sin, layout=layout)
            want = formula.turned(x, cos, sin, Pairs(layout, 0, 1, -2, False))
            assert torch.equal(got.isnan(), want.isnan())
            assert torch.equal(got.nan_to_num(7.0), want.nan_to_num(7.0))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_subnormal_results(level: str, dtype: torch.dtype, layout: Any) -> None:
    """Sums that float32 has as subnormals are rounded, not flushed, wherever in a row they lie; the vectors' dtype's, too."""
    pairs, (cos, sin) = Pairs(layout, 0, 1, -2, False), angles(6, 96, dtype=work(dtype))
    smallest = torch.finfo(work(dtype)).tiny
    for scale in (smallest, smallest * 2.0**-5, torch.finfo(dtype).tiny, torch.finfo(dtype).tiny * 2.0**-3):
        x = torch.randn(2, 3, 6, 192, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        for row, tiny in enumerate((slice(0, 192), slice(0, 0), slice(100, 101), slice(0, 1), slice(191, 192), slice(40, 60))):
            both = torch.arange(192)[tiny]
            if layout == "half":
                both = torch.cat((both, (both + 96) % 192)).unique()
            x[:, :, row, both] *= scale
        x = x.to(dtype)
        got, want = by_kernel(x, cos, sin, pairs), formula.turned(x, cos, sin, pairs)
        assert got is not None or (dtype == torch.float16 and level == "baseline")
        assert got is None or same_bits(got, want)
        if scale == smallest * 2.0**-5 and dtype != torch.float16:
            assert 0 < want[:, :, 0].abs().max() < smallest


def test_a_negated_view_is_not_read_as_it_lies() -> None:
    x = torch.complex(drawn(1, 2, 3, 8), drawn(1, 2, 3, 8, seed=5)).conj().imag
    assert x.is_neg()
    cos, sin = angles(3, 4)
    want = formula.turned(x.clone(), cos, sin, Pairs("half", 0, 1, -2, False))
    assert torch.equal(rotate(x[..., :8], cos, sin, layout="half"), want)
    other = torch.complex(cos, sin).conj().imag  # -sin, and says so by a bit
    assert torch.equal(
        rotate(x.clone(), cos, other, layout="half"), formula.turned(x.clone(), cos, -sin, Pairs("half", 0, 1, -2, False))
    )
    assert torch.equal(rotate_(x, cos, sin, layout="half"), want)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.usefixtures("level")
def test_in_place(dtype: torch.dtype) -> None:
    cos, sin = angles(5, 6, dtype=work(dtype))
    for layout in ("half", "interleaved"):
        for form in ("as it is", "heads last", "every other head", "part of wider rows", "off by one entry"):
            x = FORMS[form](drawn(2, 4, 5, 16, dtype=dtype))
            want, version = rotate(x, cos, sin, layout=layout, start=3), x._version
            assert rotate_(x, cos, sin, layout=layout, start=3) is x
            assert same_bits(x, want)
            assert x._version > version


def test_in_place_leaves_neighbours_alone() -> None:
    whole = drawn(2, 4, 5, 32)
    before = whole.clone()
    cos, sin = angles(5, 8)
    rotate_(whole[..., :16], cos, sin, layout="half")
    assert same_bits(whole[..., 16:], before[..., 16:])
    assert not torch.equal(whole[..., :16], before[..., :16])


def test_misused_it_does_nothing() -> None:
    """Every wrong size, stride and number of dims is refused before memory is touched."""
    x, out, (cos, sin) = drawn(2, 3, 5, 8), torch.full((2, 3, 5, 8), 7.0), angles(5, 4)

    def call(**changed: Any) -> bool:
        given: dict[str, Any] = {
            "dtype": 0,
            "flags": 0,
            "sequence_dim": -2,
            "parts": 1,
            "start": 0,
            "width": 0,
            "cos": cos.data_ptr(),
            "sin": sin.data_ptr(),
            "sizes": cos.shape,
            "strides": cos.stride(),
            "sin_sizes": sin.shape,
            "sin_strides": sin.stride(),
            "x": x.data_ptr(),
            "out": out.data_ptr(),
            "x_sizes": x.shape,
            "x_strides": x.stride(),
            "out_strides": out.stride(),
        }
        return bool(cpu.CALL(*{**given, **changed}.values()))

    refused: list[dict[str, Any]] = [
        {"start": 1},
        {"start": 2**31 - 1},
        {"width": 7},
        {"parts": 3},
        *({"sizes": wrong, "sin_sizes": wrong} for wrong in ((5, 5), (4, 4), (6, 4), (5, -4))),
        {"sin_sizes": (4, 4)},
        {"sin_sizes": (5, 3)},
        dict.fromkeys(("sizes", "sin_sizes"), (3, 5, 4)) | dict.fromkeys(("strides", "sin_strides"), (20, 4, 1)),
        dict.fromkeys(("sizes", "sin_sizes"), (4,)) | dict.fromkeys(("strides", "sin_strides"), (1,)),
        {"strides": (4, 2)},
        {"sin_strides": (8, 1)},
        {"sequence_dim": -3},
        {"x_sizes": (2, 3, 5), "x_strides": (15, 5, 1), "out_strides": (15, 5, 1)},
        {"x_sizes": (3, 8), "x_strides": (8, 1), "out_strides": (8, 1)},
        {"x_strides": (120, 40, 8, 2)},
        {"out_strides": (120, 40, 8, 2)},
        {"x_strides": (120, 40, 8)},
        {"x_sizes": (1, 2, 3, 5, 8), "x_strides": (0, 0, 0, 8, 1)},
        {"x_sizes": (2, -3, 5, 8)},
        {"x": 0},
        {"out": 0},
        {"cos": 0},
        {"sin": 0},
    ]
    refused += [
        {"x_strides": None, "x_sizes": (2, 3, 5), "out_strides": (15, 5, 1)},
        {"x_strides": None, "x_sizes": (1, 1, 2, 3, 5, 8)},
        {"x_strides": None, "x_sizes": (2, 3, 5, 7), "start": 1},
        {"x_strides": None, "x_sizes": (2**62, 2**62, 4, 8)},
        {"strides": None, "sizes": (4,), "sin_strides": None, "sin_sizes": (4,)},
        {"strides": None, "sizes": (6, 4)},
        {"strides": None, "sin_strides": (8, 1)},
    ]
    for change in refused:
        assert call(**change) is False, change
        assert (out == 7.0).all(), change
    for change in ({"dtype": 4}, {"dtype": -1}, {"flags": 4}, {"parts": 0}, {"start": -1}, {"start": 2**31}):
        with pytest.raises(ValueError, match="needed dtype"):
            call(**change)
    for change in ({"x": "here"}, {"x_sizes": [2, 3, 5, 8]}, {"x_sizes": (2, 3, 5, "8")}, {"dtype": None}):
        with pytest.raises(TypeError):
            call(**change)
    with pytest.raises(OverflowError):
        call(x=2**70)
    with pytest.raises(TypeError, match="needed 17 or 22 arguments, got 3"):
        cpu.CALL(0, 0, 0)
    with pytest.raises(ValueError, match="levels"):
        cpu.MODULE.choose("avx1024")
    assert (out == 7.0).all()
    assert call() is True
    expected = out.clone()
    out.fill_(7.0)
    assert call(strides=None, sin_strides=None, x_strides=None, out_strides=None) is True
    assert torch.equal(out, expected)


def _said(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_the_names_are_the_kernels_own() -> None:
    assert cpu.LEVELS[: len(LEVELS)] == tuple(LEVELS)


def test_the_switch() -> None:
    code = "from ordinate.kernels import cpu; print(cpu.CALL is None, cpu.REASON)"
    assert _said(code, ORDINATE_KERNEL="off").stdout.strip() == "True ORDINATE_KERNEL=off"
    for name in LEVELS:
        assert _said(code, ORDINATE_KERNEL=name).stdout.startswith(f"False {name},")
    wrong = _said(code, ORDINATE_KERNEL="fastest")
    assert wrong.returncode == 1
    assert "ORDINATE_KERNEL: needed one of off, baseline" in wrong.stderr


def test_threads_are_those_of_pytorch() -> None:
    assert cpu.MODULE.chosen()[1] == 1, "no OpenMP library found in the process"
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "libgomp" in line or "libomp" in line}
    assert len(libraries) == 1, libraries
