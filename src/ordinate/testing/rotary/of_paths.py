"""Checks of how a rotation runs: shapes, strides, dtypes, gradients, its input, tracing, and what a backend may lack."""

from __future__ import annotations

import copy
import os
import re
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate.testing.attempts import RAISED, told
from ordinate.testing.findings import Finding, broken, holds, not_asked, smallest
from ordinate.testing.rotary.adapters import compiled
from ordinate.testing.rotary.subject import SEEN, CannotAskError, Maps, RaisedError, Subject, Turn, called, drawn

TOLERANCE = 2e-3
LENGTHS = (8, 9, 10)


def shape_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Sweep batch, heads and length over 1, 2, 3, with fewer key heads, and inputs that are views.

    Args:
        subject: under test.
        maps: measured.

    Returns:
        Two findings.
    """
    return [_shapes(subject, maps), _views(subject, maps), _input(subject)]


def _shapes(subject: Subject, maps: Maps) -> Finding:
    name, width = "small shapes", subject.form.head_dim
    wrong = {}

    def fails(shape: tuple[int, int, int]) -> bool:
        q, k = drawn(*shape, width), drawn(shape[0], 1, shape[2], width, seed=1)
        positions = torch.arange(shape[2])
        try:
            got = subject(q, k, positions)
        except RaisedError as fault:
            wrong[shape] = (str(fault), "a value")
            return True
        gaps = [(x.detach().double() - maps.expected(y, positions)).abs().max().item() for x, y in zip(got, (q, k), strict=True)]
        wrong[shape] = (f"off by {max(gaps):.3g}", f"within {TOLERANCE:g}")
        return not max(gaps) <= TOLERANCE

    sizes = (1, 2, 3)
    found = smallest(((batch, heads, length) for batch in sizes for heads in sizes for length in sizes), fails)
    if found is None:
        return holds(name, "batch, heads and length over 1, 2, 3, one key head")
    said = "some shapes are turned otherwise than their vectors alone"
    shape = f"q [{found[0]}, {found[1]}, {found[2]}, {width}], k [{found[0]}, 1, {found[2]}, {width}]"
    actual, expected = wrong[found]
    return broken(name, "fused-kernel-shape", said, smallest=shape, expected=expected, actual=actual)


def _views(subject: Subject, maps: Maps) -> Finding:
    name, width = "inputs that are views", subject.form.head_dim
    x, positions = drawn(2, 5, 3, width).transpose(1, 2), torch.arange(5)
    packed = drawn(2, 3, 5, 2 * width)[..., :width]
    for each, said in ((x, "a transposed [B, T, H, D]"), (packed, "half of a wider tensor")):
        try:
            got = subject(each, torch.empty_like(each).copy_(each), positions)[0].detach().double()
        except RaisedError as fault:
            return broken(name, "fused-kernel-shape", "a view is refused", smallest=said, actual=str(fault))
        gap = (got - maps.expected(each, positions)).abs().max().item()
        if not gap <= TOLERANCE:
            return broken(name, "fused-kernel-shape", "a view is turned otherwise", smallest=said, actual=f"off by {gap:.3g}")
    return holds(name, "transposed, and half of a wider tensor")


def _input(subject: Subject) -> Finding:
    name, x = "the input stays as it is", drawn(1, 1, 4, subject.form.head_dim)
    q, k, positions = x.clone(), x.clone(), torch.arange(4)
    try:
        subject.used(q, k, positions)
    except CannotAskError:
        raise
    except RAISED as fault:
        raise RaisedError(fault) from fault
    if not torch.equal(positions, torch.arange(4)):
        return broken(name, "fused-kernel-shape", "positions are written over", smallest="4 tokens", expected="[0, 1, 2, 3]")
    if torch.equal(q, x) and torch.equal(k, x):
        return holds(name, "4 tokens")
    return broken(
        name,
        "fused-kernel-shape",
        f"{'queries' if not torch.equal(q, x) else 'keys'} are written over",
        smallest="4 tokens, one head",
        expected="the input unchanged",
        actual=f"changed by {max((q - x).abs().max().item(), (k - x).abs().max().item()):.3g}",
        remedy="write into a new tensor; a form that works in place has a name that says so",
    )


def dtype_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Look at dtypes: what comes out, and what appears on the way.

    Args:
        subject: under test.
        maps: measured.

    Returns:
        Two findings.
    """
    return [_dtype(subject, maps), _on_the_way(subject)]


def _dtype(subject: Subject, maps: Maps) -> Finding:
    name = "dtype as given"
    for dtype, allowed in ((torch.bfloat16, 6e-2), (torch.float16, 8e-3), (torch.float64, TOLERANCE)):
        x = drawn(1, 1, SEEN, subject.form.head_dim).to(dtype)
        try:
            got = subject(x, x.clone(), torch.arange(SEEN))[0]
        except RaisedError as fault:
            return broken(name, "backend-dtype", f"{_short(dtype)} is refused", smallest=_short(dtype), actual=str(fault))
        if got.dtype != dtype:
            said = f"{_short(dtype)} comes back as {_short(got.dtype)}"
            return broken(
                name, "backend-dtype", said, smallest=f"x in {_short(dtype)}", expected=_short(dtype), actual=_short(got.dtype)
            )
        gap = (got.detach().double() - maps.expected(x, torch.arange(SEEN))).abs().max().item()
        if not gap <= allowed * x.double().abs().max().item():
            said = f"{_short(dtype)} is off by more than its rounding"
            return broken(name, "low-precision-phase", said, smallest=f"x in {_short(dtype)}", actual=f"off by {gap:.3g}")
    return holds(name, "bfloat16, float16, float64")


class Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects the dtypes of all tensors that come out of operations, and the files that asked for float64."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtypes: set[torch.dtype] = set()
        self.files: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and look at what comes."""
        came = func(*args, **(kwargs or {}))
        for each in came if isinstance(came, (tuple, list)) else (came,):
            if isinstance(each, torch.Tensor):
                self.dtypes.add(each.dtype)
                if each.dtype == torch.float64:
                    self.files.add(_caller())
        return came

    @property
    def foreign(self) -> list[str]:
        """Dtypes that some backends lack: complex ones, and float64 where its file never asks what the device has."""
        unasked = any(not _asks_for_the_device(file) for file in self.files)
        return sorted(_short(dtype) for dtype in self.dtypes if dtype.is_complex or (dtype == torch.float64 and unasked))


def _caller() -> str:
    """The file of the nearest caller outside of torch."""
    frame = sys._getframe(2)
    while frame.f_back is not None and (os.sep + "torch" + os.sep) in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename


def _asks_for_the_device(file: str) -> bool:
    try:
        return bool(re.search(r"\bmps\b|\bxla\b|\bnpu\b|device\.type", Path(file).read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return False


def _on_the_way(subject: Subject) -> Finding:
    name, x = "no complex numbers, no float64", drawn(1, 1, 3, subject.form.head_dim)
    turn = copy.deepcopy(subject.turn)
    with Seen() as seen:
        called(turn, x, x.clone(), torch.arange(3))
    if not seen.foreign:
        return holds(name, "for float32 input, unless the device is asked")
    return broken(
        name,
        "backend-dtype",
        f"{' and '.join(seen.foreign)} on the way, which MPS, ONNX and many NPUs lack",
        smallest="3 tokens in float32",
        expected="real numbers in float32",
        actual=", ".join(seen.foreign),
    )


def gradient_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Whether gradients are those of the map: its transpose.

    Args:
        subject: under test.
        maps: measured.

    Returns:
        One finding.
    """
    name, width = "gradients", subject.form.head_dim
    x, out, positions = drawn(1, 2, 5, width).requires_grad_(), drawn(1, 2, 5, width, seed=3), torch.arange(5)
    got = subject(x, x, positions)[0]
    if not got.requires_grad:
        return [broken(name, "fused-kernel-shape", "there is no gradient", smallest="5 tokens that require one")]
    try:
        (gradient,) = torch.autograd.grad(got, x, out)
    except RuntimeError as fault:
        return [broken(name, "fused-kernel-shape", "backward fails", smallest="5 tokens", actual=told(fault))]
    want = torch.einsum("tji,bhtj->bhti", torch.tensor(maps.queries[:5]), out.double())
    gap = (gradient.double() - want).abs()
    if gap.max().item() <= TOLERANCE:
        return [holds(name, "backward turns back")]
    place = int(gap.flatten().nan_to_num(float("inf")).argmax())
    return [
        broken(
            name,
            "fused-kernel-shape",
            "the gradient is not the transpose of the rotation",
            smallest="5 tokens, 2 heads",
            expected=f"{want.flatten()[place].item():.6f}",
            actual=f"{gradient.flatten()[place].item():.6f}",
        )
    ]


def compile_findings(subject: Subject) -> list[Finding]:
    """Trace with torch.compile(fullgraph=True) over three lengths: no break, at most two graphs, the same numbers.

    Args:
        subject: under test.

    Returns:
        One finding.
    """
    name, graphs = "tracing", []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    turn = copy.deepcopy(subject.turn)
    traced: Turn = compiled(turn, backend=backend, fullgraph=True)
    try:
        for length in LENGTHS:
            x, positions = drawn(1, 2, length, subject.form.head_dim), torch.arange(length)
            got, want = (called(each, x, x.clone(), positions)[0].detach() for each in (traced, subject.used))
            if (got - want).abs().max().item() > TOLERANCE:
                said = "the traced function gives something else"
                return [broken(name, "compile-unfriendly", said, smallest=f"length {length}")]
    except CannotAskError as reason:
        return [not_asked(name, str(reason))]
    except RaisedError as fault:
        return [broken(name, "compile-unfriendly", "tracing breaks", smallest="length 8, fullgraph=True", actual=str(fault))]
    finally:
        torch._dynamo.reset()
    if len(graphs) > 2:
        said = f"{len(graphs)} graphs for {len(LENGTHS)} lengths: it is traced anew for each"
        return [
            broken(name, "compile-unfriendly", said, smallest=f"lengths {LENGTHS}", expected="2 at most", actual=str(len(graphs)))
        ]
    return [holds(name, f"lengths {LENGTHS}, {len(graphs)} graphs")]


def autocast_findings(subject: Subject) -> list[Finding]:
    """Whether two neighbours far away stay apart inside autocast.

    Args:
        subject: under test.

    Returns:
        One finding.
    """
    name, x = "autocast", drawn(1, 1, 1, subject.form.head_dim)
    for first in (65536, 4096, 1024):
        try:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                got = [subject(x, x.clone(), torch.tensor([first + step]))[0].detach().double() for step in (0, 1)]
            plain = [subject(x, x.clone(), torch.tensor([first + step]))[0].detach().double() for step in (0, 1)]
        except CannotAskError as reason:
            return [not_asked(name, str(reason))]
        except RaisedError:
            continue
        if not all(each.isfinite().all() for each in plain):
            continue
        gap = max((a - b).abs().max().item() for a, b in zip(got, plain, strict=True))
        if gap <= 0.05 * x.abs().max().item():
            return [holds(name, f"positions {first} and {first + 1} turn as without it")]
        said = f"inside autocast(bfloat16) positions {first} and {first + 1} are turned otherwise"
        if torch.equal(got[0], got[1]):
            said = f"inside autocast(bfloat16) positions {first} and {first + 1} turn alike"
        return [
            broken(
                name,
                "low-precision-phase",
                said,
                smallest=f"position {first}, autocast(bfloat16)",
                expected="the rotation without autocast",
                actual=f"off by {gap:.3g}",
                remedy="make angles by an elementwise product, or switch autocast off around it",
            )
        ]
    return [not_asked(name, "far positions are refused")]


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
