"""Checks of the contract about dtypes, casts, layouts, compilation and gradients."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import torch

import ordinate
from cases import Case
from contract_oracles import expected_acts, expected_layer
from contract_tools import (
    LENGTH,
    SHUFFLED,
    acts,
    attend,
    differ,
    draw,
    identical,
    inner,
    is_input,
    layer,
    near,
    qkv,
    tables,
    tokens,
    weights,
)
from ordinate import weighing

HALVES = (torch.bfloat16, torch.float16)


def module_casts(case: Case) -> None:
    """A model-wide cast reaches weights only: frequencies, angles and biases stay to the last bit (the tables fit every dtype)."""
    positions = torch.tensor(SHUFFLED)
    for dtype in (*HALVES, torch.float64):
        want = acts(case, case.make(), positions)
        scheme = case.make()
        assert scheme is not None, "has nothing to cast"
        for cast in (scheme.to(dtype), scheme.to(device="cpu", dtype=dtype), torch.nn.Sequential(scheme).to(dtype)[0]):
            for got, right in zip(acts(case, cast, positions), want, strict=True):
                near(got, right, 0.0, str(dtype))


def autocast(case: Case) -> None:
    """Ambient autocast does not reach angles, biases or added values, far neighbours stay apart in it, and attention runs."""
    scheme = case.make()
    assert scheme is not None, "has neither angle nor bias"
    far = min(65536, case.highest - 1)
    want = [acts(case, scheme, torch.tensor([place])) for place in (far, far + 1)]
    with torch.autocast("cpu", torch.bfloat16):
        got = [acts(case, scheme, torch.tensor([place])) for place in (far, far + 1)]
    for inside, outside in zip(got, want, strict=True):
        identical(inside, outside, "inside autocast")
    differ(got[0][0], got[1][0], 1e-5, f"positions {far} and {far + 1}")
    parts, positions = qkv(case, scheme, tokens(case), torch.arange(LENGTH)), torch.arange(LENGTH)
    outside = attend(case, scheme, parts, positions, positions, causal=True)
    for fused in (True, False):
        with torch.autocast("cpu", torch.bfloat16), mock.patch.object(weighing, "_fused_is_exact", lambda *_, fused=fused: fused):
            attended = attend(case, scheme, parts, positions, positions, causal=True)
        assert attended.dtype == torch.bfloat16, f"attention has autocast's dtype, fused {fused}"
        near(attended, outside, _bound(case, torch.bfloat16), f"layer, fused {fused}")


def meta_device(case: Case) -> None:
    """Built on meta, emptied onto the CPU with every tensor NaN, then loaded: nothing derived was lost."""
    with torch.device("meta"):
        scheme = case.make()
    assert scheme is not None, "has nothing to build"
    scheme = scheme.to_empty(device="cpu")
    for tensor in (*scheme.parameters(), *scheme.buffers()):
        torch.nn.init.constant_(tensor, float("nan"))
    scheme.load_state_dict(case.make().state_dict(), strict=True)
    identical(acts(case, scheme, torch.tensor(SHUFFLED)), acts(case, case.make(), torch.tensor(SHUFFLED)))


def dtypes(case: Case) -> None:
    """Results have the input's dtype and device, and are as close to the definition as that dtype's rounding allows."""
    positions = torch.tensor(SHUFFLED)
    for dtype in HALVES if case.oracle else ():
        got, want = acts(case, case.make(), positions, dtype), expected_acts(case, positions, dtype)
        is_score = isinstance(case.make(), ordinate.ScoreScheme)
        for result, right in list(zip(got, want, strict=True))[1 if is_input(case.make()) else 0 :]:
            assert result.dtype == (torch.float32 if is_score else dtype), "a bias stays float32; all else has the input's dtype"
            epsilon = torch.finfo(result.dtype).eps
            # One rounding of each entry; arithmetic="input" rounds cos, sin, both products and the sum.
            allowed = right.abs() * epsilon / 2 + 1e-6 if not case.phase_error else 2 * epsilon * right.abs().max()
            worst = ((result.double() - right).abs() - allowed).max().item()
            assert worst <= 0, f"{dtype}: {worst:.3g} beyond the rounding of {dtype}"
    for dtype in (*HALVES, torch.float32, torch.float64):
        out = layer(case, case.make(), tokens(case, dtype=dtype), positions, causal=True)
        assert (out.dtype, out.device.type) == (dtype, "cpu")
        near(out, expected_layer(case, tokens(case, dtype=dtype), positions, causal=True), _bound(case, dtype), f"layer {dtype}")


def _bound(case: Case, dtype: torch.dtype) -> float | None:
    """Half-precision maps make q, k, v off by 2^-9 (2^-12) relative, scores by some 10 times that; float32 angles: 2e-7 each."""
    return {torch.bfloat16: 0.12, torch.float16: 0.015, torch.float64: 4e-6 if case.phase_error else None}.get(dtype)


def memory_layouts(case: Case) -> None:
    """Transposed, expanded and sliced inputs give what contiguous ones give, and no input is written to."""
    scheme, positions = case.make(), torch.tensor(SHUFFLED)
    x = tokens(case, batch=1).expand(3, -1, -1)
    plain = qkv(case, scheme, x.contiguous(), positions)
    want = _attended(case, scheme, [part.contiguous() for part in plain], positions)
    doubled = [part.repeat_interleave(2, 2)[:, :, ::2] for part in plain]
    transposed = [part.transpose(1, 2).contiguous().transpose(1, 2) for part in plain]
    expanded = [part[:1].expand(3, -1, -1, -1) for part in plain]
    strided = [part.mT.contiguous().mT for part in plain]
    for inputs in (doubled, transposed, expanded, strided):
        before = [part.clone() for part in inputs]
        near(_attended(case, scheme, inputs, positions), want)
        identical(tuple(inputs), tuple(before), "inputs were modified")
    if is_input(scheme):
        turned = x.transpose(0, 1).contiguous().transpose(0, 1)
        for vectors in (x, turned):
            before = vectors.clone()
            identical(scheme(vectors, positions), scheme(x.contiguous(), positions))
            identical(vectors, before, "inputs were modified")
    if isinstance(scheme, ordinate.QueryKeyScheme):
        by_token = plain[0].transpose(1, 2).contiguous()
        identical(scheme.queries(by_token, positions, sequence_dim=-3).transpose(1, 2), scheme.queries(plain[0], positions))


def _attended(case: Case, scheme: Any, inputs: list[torch.Tensor], positions: Any) -> torch.Tensor:
    return attend(case, scheme, inputs, positions, positions, causal=True)


def compiled(case: Case, backend: str = "eager") -> None:
    """One graph, at most two compilations over three lengths, with tensors and with ranges as arguments; equal to eager."""
    from torch._dynamo.testing import CompileCounterWithBackend

    scheme, maps, extras = case.make(), weights(case, torch.float32), tables(case)
    forms: list[tuple[str, Any]] = [("tensor", lambda n: torch.arange(2, 2 + n))]
    if case.name == case.scheme or backend != "eager" or case.name == "rope half":
        forms.append(("range", lambda n: range(2, 2 + n)))  # how a range is traced depends on the scheme, not on its settings
    for form, make in forms:
        torch._dynamo.reset()
        counter = CompileCounterWithBackend(backend)

        def forward(x: torch.Tensor, positions: Any) -> torch.Tensor:
            return layer(case, scheme, x, positions, maps=maps, extras=extras, causal=True)

        fast = torch.compile(forward, backend=counter, fullgraph=True)
        for length in (8, 9, 10):
            x = tokens(case, length=length)
            near(fast(x, make(length)), forward(x, make(length)), what=f"{form}, length {length}")
        assert counter.frame_count <= 2, f"{form}: {counter.frame_count} compilations over three lengths"
    torch._dynamo.reset()


def gradients(case: Case) -> None:
    """Analytic gradients equal numerical ones on the fused and on the plain path, for every way of hiding keys."""
    scheme = case.make()
    scheme = None if scheme is None else scheme.double()
    x = tokens(case, batch=1, length=3, dtype=torch.float64).requires_grad_()
    mask = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1]]).bool()
    documents = torch.tensor([0, 1, 0])
    float_mask = torch.tensor([[0.0, -1.5, 2.0], [-torch.inf, 0.3, 0.0], [0.0, 0.0, -torch.inf]], dtype=torch.float64)
    settings = ({}, {"window": 2}, {"document_ids": documents}, {"mask": mask}, {"mask": float_mask})
    extras = {name: table.clone().requires_grad_() for name, table in tables(case, torch.float64).items()}
    learned = (*(() if scheme is None else scheme.parameters()), *extras.values())
    for causal, seen, fused in itertools.product((True, False), settings, (True, False)):
        with mock.patch.object(weighing, "_fused_is_exact", lambda *_, fused=fused: fused):
            assert torch.autograd.gradcheck(
                lambda x, *_, causal=causal, seen=seen: layer(
                    case, scheme, x, torch.tensor([4, 1, 2]), causal=causal, extras=extras, **seen
                ),
                (x, *learned),
                fast_mode=True,
            )
    for causal in (True, False):  # a range takes the kernel's own causal mask
        assert torch.autograd.gradcheck(
            lambda x, *_, causal=causal: layer(case, scheme, x, range(2, 5), causal=causal, extras=extras),
            (x, *learned),
            fast_mode=True,
        )


def fused_equals_plain(case: Case) -> None:
    """PyTorch's fused attention and the formula written out agree, values and gradients."""
    scheme = case.make()
    for causal, window in itertools.product((True, False), (None, 3)):
        results = []
        for fused in (True, False):
            x = tokens(case).requires_grad_()
            with mock.patch.object(weighing, "_fused_is_exact", lambda *_, fused=fused: fused):
                out = layer(case, scheme, x, torch.tensor(SHUFFLED), causal=causal, window=window)
            (out * draw(*out.shape, seed=5)).sum().backward()
            results.append((out.detach(), x.grad))
        for got, want in zip(*results, strict=True):
            # gradients sum some 30 products of size 3
            near(got, want, 3e-5, f"causal {causal}, window {window}")


def empty_rows(case: Case) -> None:
    """A query that sees no key gives exactly 0 and gradient exactly 0, however its keys came to be hidden."""
    scheme = case.make()
    nobody = torch.ones(7, 7, dtype=torch.bool)
    nobody[2] = False
    infinite = torch.zeros(7, 7).masked_fill(~nobody, -torch.inf)
    ids = torch.tensor([0, 0, 5, 0, 0, 0, 0]), torch.zeros(7, dtype=torch.int64)
    late = torch.tensor([9, 8, 0, 7, 9, 9, 9]), torch.arange(1, 8)
    settings = (
        ("bool mask", {"mask": nobody, "causal": False}),
        ("-inf mask", {"mask": infinite, "causal": False}),
        ("documents", {"document_ids": ids, "causal": False}),
        ("early query", {"order": late, "causal": True}),
    )
    for (name, seen), fused in itertools.product(settings, (True, False)):
        parts = [part.detach().requires_grad_() for part in qkv(case, scheme, tokens(case), range(7))]
        extras = {name: table.clone().requires_grad_() for name, table in tables(case).items()}
        learned = inner(scheme).parameters() if inner(scheme) is not None else ()
        inputs = [*parts, *learned, *extras.values()]
        with mock.patch.object(weighing, "_fused_is_exact", lambda *_, fused=fused: fused):
            out = attend(case, scheme, parts, range(7), range(7), extras=extras, **seen)
            loss = out * draw(*out.shape, seed=6)
            without = torch.autograd.grad(loss[:, :, [0, 1, 3, 4, 5, 6]].sum(), inputs, retain_graph=True)
            got = torch.autograd.grad(loss.sum(), inputs)  # blocks are computed again here
        assert out[:, :, 2].eq(0).all(), f"{name}: {out[0, 0, 2]}"
        assert got[0][:, :, 2].eq(0).all(), f"{name}: {got[0][0, 0, 2]}"
        assert out[:, :, 3].ne(0).all(), f"{name}: a row that sees keys must not be 0"
        # gradients sum some 30 products of size 3
        for gradient, others in zip(got, without, strict=True):
            near(gradient, others, 3e-5, f"{name}: the row reaches other gradients")
