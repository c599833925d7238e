"""What the GPU's kernel is tried on, and the process that tries it in Triton's interpreter: one line of JSON a case.

Triton takes the interpreter for the whole of a process, and PyTorch's compiler would meet it there. So these cases run in one of
their own.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch

from ordinate import reference
from ordinate.formula import Layout, Pairs, tables, turned
from ordinate.kernels import gpu

# Room around every tensor: what is written there is seen.
MARGIN = 64
BITS = {torch.float64: torch.int64, torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}
# Of numbers up to 4: the product, the sum and the result are rounded, and where every product is, to the dtype's own bits.
CLOSE = {torch.float64: 1e-14, torch.float32: 2e-6, torch.bfloat16: 2**-5, torch.float16: 2**-8}


@dataclass(frozen=True)
class Case:
    """Vectors, where they lie in memory, and how they are turned. heads: of queries and, if there are keys, of keys."""

    name: str
    layout: Layout = "half"
    dtype: torch.dtype = torch.float32
    heads: tuple[int, ...] = (4, 2)
    batch: int = 2
    tokens: int = 5
    width: int = 8
    n_pairs: int = 4
    start: int = 0
    parts: int = 1
    sequence_dim: int = -2
    dims: int = 4
    order: str = "bhtd"
    key_order: str = ""
    gaps: bool = False
    table: str = "one"
    in_place: bool = False
    rounds: bool = False
    inverse: bool = False

    @property
    def pairs(self) -> Pairs:
        return Pairs(self.layout, self.start, self.parts, self.sequence_dim, self.rounds)


VARIED: dict[str, dict[str, Any]] = {
    "queries alone": {"heads": (3,)},
    "as many keys as queries": {"heads": (3, 3)},
    "more heads than a tile": {"heads": (19, 3)},
    "more keys than queries": {"heads": (1, 9)},
    "one head": {"heads": (1, 1)},
    "more tokens than a tile": {"tokens": 9, "n_pairs": 64, "width": 128},
    "one token": {"tokens": 1},
    "one token, many rows": {"tokens": 1, "batch": 9},
    "no token": {"tokens": 0},
    "no row": {"batch": 0},
    "tokens first in memory": {"order": "bthd"},
    "rows inside tokens in memory": {"order": "tbhd"},
    "queries and keys in other orders": {"key_order": "tbhd"},
    "gaps in memory": {"gaps": True},
    "tokens first, gaps": {"order": "bthd", "gaps": True},
    "seen as tokens, heads": {"sequence_dim": -3, "order": "bthd"},
    "seen as tokens, heads; lies as heads, tokens": {"sequence_dim": -3},
    "packed": {"sequence_dim": -3, "order": "bthd", "dims": 3, "batch": 1, "tokens": 11},
    "heads without rows": {"dims": 3, "batch": 1},
    "angles of each row": {"table": "each row"},
    "angles of each row, tokens first": {"table": "each row", "sequence_dim": -3, "order": "bthd"},
    "angles of one row": {"table": "one row"},
    "angles of one token": {"table": "one token"},
    "sin inside a wider table": {"table": "wider sin"},
    "in part": {"n_pairs": 2},
    "in part, from an entry on": {"n_pairs": 2, "start": 3},
    "the last entries": {"n_pairs": 2, "start": 4},
    "many others": {"n_pairs": 3, "start": 7, "width": 37},
    "two parts": {"parts": 2},
    "three parts of five, from an entry on": {"parts": 3, "n_pairs": 15, "width": 35, "start": 2},
    "one pair": {"n_pairs": 1, "width": 2},
    "three pairs": {"n_pairs": 3, "width": 6},
    "five pairs": {"n_pairs": 5, "width": 10},
    "in place": {"in_place": True},
    "in place, in part, gaps": {"in_place": True, "n_pairs": 2, "start": 3, "gaps": True},
    "in place, two parts, tokens first": {"in_place": True, "parts": 2, "order": "bthd"},
    "inverse": {"inverse": True},
}
EACH_DTYPE: dict[str, dict[str, Any]] = {
    "": {"width": 11, "start": 1},
    "every product rounded": {"rounds": True, "width": 11, "start": 1},
    "every product rounded, in place, inverse": {"rounds": True, "in_place": True, "inverse": True, "parts": 2},
}


def _cases() -> Iterator[Case]:
    for layout in ("half", "interleaved"):
        for name, what in VARIED.items():
            yield Case(name=f"{name}, {layout}", layout=layout, **what)
        for dtype, (name, what) in product(BITS, EACH_DTYPE.items()):
            told = ", ".join(filter(None, (str(dtype).removeprefix("torch."), name, layout)))
            yield Case(name=told, layout=layout, dtype=dtype, **what)


CASES = {case.name: case for case in _cases()}
LIGHT = "Triton is not imported with the kernel's module"
# Strides so long that the third head, token or row lies beyond 2^31 entries.
FAR = {f"{dim} far apart": {"dim": dim} for dim in ("row", "head", "token")}


@dataclass(frozen=True)
class Stored:
    """A tensor as a view of memory in which every other entry is known, too."""

    memory: torch.Tensor
    case: Case
    heads: int
    order: str

    @property
    def view(self) -> torch.Tensor:
        sizes = {"b": self.case.batch, "h": self.heads, "t": self.case.tokens, "d": self.case.width}
        gap = 3 if self.case.gaps else 0
        whole = self.memory[MARGIN:-MARGIN].view([sizes[dim] + gap for dim in self.order])
        inner = whole[tuple(slice(gap // 3, gap // 3 + sizes[dim]) for dim in self.order)]
        seen = inner.permute([self.order.index(dim) for dim in ("bhtd" if self.case.sequence_dim == -2 else "bthd")])
        return seen if self.case.dims == 4 else seen.squeeze(0)


def _stored(case: Case, heads: int, order: str, generator: torch.Generator) -> Stored:
    gap = 3 if case.gaps else 0
    size = (case.batch + gap) * (heads + gap) * (case.tokens + gap) * (case.width + gap)
    numbers = torch.randn(size + 2 * MARGIN, generator=generator, dtype=torch.float64).clamp(-4, 4)
    return Stored(numbers.to(case.dtype), case, heads, order)


def _positions(case: Case) -> np.ndarray[Any, Any]:
    rows = case.batch if case.table in ("each row", "wider sin") else 1
    tokens = np.zeros(case.tokens) if case.table == "one token" else np.arange(case.tokens)
    places = tokens[None] + 3 + 7 * np.arange(rows)[:, None]
    return -places if case.inverse else places


def _frequencies(case: Case) -> np.ndarray[Any, Any]:
    return np.asarray(10000.0 ** (-np.arange(case.n_pairs) / case.n_pairs))


def _angles(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin, in a table of the case's form."""
    angles = torch.from_numpy(_positions(case)[..., None] * _frequencies(case))
    both = torch.cat((angles.cos(), angles.sin()), dim=-1).to(torch.promote_types(case.dtype, torch.float32))
    if case.table in ("one", "one token"):
        both = both[0]
    if case.table == "one token":
        both = both[:1]
    cos, sin = both.split(case.n_pairs, dim=-1)
    return cos.contiguous(), sin if case.table == "wider sin" else sin.contiguous()


def _slow(x: torch.Tensor, case: Case) -> np.ndarray[Any, Any]:
    """The loops of ``ordinate.reference``, part by part, on x as [B, H, T, D]."""
    places, found = _positions(case), x.double().numpy().copy()
    each = case.n_pairs // case.parts
    for b, h, part in product(range(found.shape[0]), range(found.shape[1]), range(case.parts)):
        turns = {"rotary_dim": 2 * each, "rotary_start": case.start + part * 2 * each}
        speeds = _frequencies(case)[part * each : (part + 1) * each]
        row = places[b if len(places) > 1 else 0]
        found[b, h] = reference.rope(found[b, h], row, case.layout, **turns, inverse_frequencies=speeds)
    return found


def _as_rows(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = x if case.dims == 4 else x.unsqueeze(0)
    return x if case.sequence_dim == -2 else x.transpose(1, 2)


def fault_of(case: Case, device: str = "cpu") -> str | None:
    """Turn by the kernel, and say what is wrong, if anything is.

    All of the memory is compared bit for bit with what the formula gives, and what was turned with the loops.
    """
    generator = torch.Generator().manual_seed(0)
    cos, sin = _angles(case)
    orders = (case.order, case.key_order or case.order)
    before = [_stored(case, *what, generator) for what in zip(case.heads, orders, strict=False)]
    outs = (
        before if case.in_place else [_stored(case, *what, generator) for what in zip(case.heads, ("bthd", "bhtd"), strict=False)]
    )
    on_device = {id(stored): replace(stored, memory=stored.memory.to(device, copy=True)) for stored in (*before, *outs)}
    xs, ys = ([on_device[id(stored)].view for stored in some] for some in (before, outs))
    vectors = [(x, x if case.in_place else y) for x, y in zip(xs, ys, strict=True)]
    if not gpu.turn(vectors, cos.to(device), sin.to(device), case.pairs):
        return "the kernel refused it"
    wanted_angles = tables(cos, sin, case.dtype, "input" if case.rounds else "float32")
    for name, x, out in zip(("queries", "keys"), before, outs, strict=False):
        wanted = replace(out, memory=out.memory.clone())
        wanted.view.copy_(turned(x.view, *wanted_angles, case.pairs))
        for told, stored, right in ((name, out, wanted), (f"{name} before", x, wanted if case.in_place else x)):
            found = on_device[id(stored)].memory.cpu()
            wrong = found.view(BITS[case.dtype]) != right.memory.view(BITS[case.dtype])
            if wrong.any():
                first = int(wrong.nonzero()[0])
                return f"{told}: {int(wrong.sum())} entries of memory differ; at {first} {found[first]}, not {right.memory[first]}"
        far = np.abs(_as_rows(wanted.view, case).double().numpy() - _slow(_as_rows(x.view, case), case))
        if far.size and far.max() > CLOSE[case.dtype] * (4 if case.rounds else 1):
            return f"{name}: {far.max()} away from the loops"
    return None


def far_fault_of(dim: str, device: str = "cpu") -> str | None:
    """Turn in place vectors whose third head, token or row lies 2^31 entries behind the first; only their own pages are touched."""
    memory = torch.empty(2**31 + 2**12, dtype=torch.bfloat16, device=device)
    sizes, strides = [1, 1, 1, 8], [64, 32, 16, 1]
    place = ("row", "head", "token").index(dim)
    sizes[place], strides[place] = 3, 2**30
    generator = torch.Generator().manual_seed(0)
    views = [memory.as_strided(sizes, strides, offset) for offset in (0, 2048)]
    before = [torch.randn(sizes, generator=generator).to(torch.bfloat16) for _ in views]
    for view, values in zip(views, before, strict=True):
        view.copy_(values)
    angles = torch.randn(sizes[2], 3, generator=generator)
    pairs = Pairs("half", 1, 1, -2, False)
    gpu.turn([(view, view) for view in views], angles.cos().to(device), angles.sin().to(device), pairs)
    right = all(
        torch.equal(view.cpu(), turned(values, angles.cos(), angles.sin(), pairs))
        for view, values in zip(views, before, strict=True)
    )
    return None if right else "wrong vectors"


def _round_as_hardware_does() -> None:
    """The interpreter cuts float32 off to bfloat16; a GPU, as PyTorch, rounds to the nearest, ties to even."""
    interpreter = importlib.import_module("triton.runtime.interpreter")
    cast = interpreter.InterpreterBuilder.cast_impl

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        if (str(src.dtype.scalar), str(dst_type.scalar)) != ("fp32", "bf16"):
            return cast(self, src, dst_type)
        rounded = torch.from_numpy(np.ascontiguousarray(src.data)).to(torch.bfloat16).view(torch.uint16)
        return interpreter.TensorHandle(rounded.numpy(), dst_type.scalar)

    interpreter.InterpreterBuilder.cast_impl = cast_impl


def _tell(name: str, fault: str | None) -> None:
    print(json.dumps([name, fault]), flush=True)


if __name__ == "__main__":
    _tell(LIGHT, "it is" if "triton" in sys.modules else None)
    _round_as_hardware_does()
    for name, case in CASES.items():
        _tell(name, fault_of(case))
    for name, what in FAR.items():
        _tell(name, far_fault_of(**what))
