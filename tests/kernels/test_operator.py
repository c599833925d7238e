"""Gradients of a rotation: backward is the inverse rotation, nothing of the vectors is kept, and transforms see the formula."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

from ordinate import Rope, rotate
from ordinate.formula import Pairs, turned
from ordinate.kernels import cpu, operator
from ordinate.rotation import rotate_

INDUCTOR_WARNS = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")


@pytest.fixture(params=["kernel", "formula"], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "formula":
        monkeypatch.setattr(cpu, "CALL", None)
    elif cpu.CALL is None:
        pytest.skip(f"no compiled kernel here: {cpu.REASON}")
    return str(request.param)


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def angles(*shape: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    angle = 7 * torch.rand(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return angle.cos().to(dtype), angle.sin().to(dtype)


FORMS: list[dict[str, Any]] = [
    {"layout": "half"},
    {"layout": "interleaved"},
    {"layout": "half", "start": 1, "parts": 2},
    {"layout": "interleaved", "start": 1, "parts": 2},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("batched", [False, True])
def test_gradients_of_all_orders(form: dict[str, Any], batched: bool) -> None:
    x = drawn(2, 1, 2, 10).requires_grad_()
    tables = [table.requires_grad_() for table in angles(*([2] if batched else []), 2, 4)]
    assert torch.autograd.gradcheck(lambda x: rotate(x, *(t.detach() for t in tables), **form), (x,))
    assert torch.autograd.gradgradcheck(lambda x: rotate(x, *(t.detach() for t in tables), **form), (x,))
    # cos and sin are learned, and no longer of one angle: any two numbers that are not both 0
    assert torch.autograd.gradcheck(lambda *given: rotate(*given, **form), (x, *tables))
    assert torch.autograd.gradgradcheck(lambda *given: rotate(*given, **form), (x, *tables))
    with torch.no_grad():
        tables[0].mul_(1.7)
    assert torch.autograd.gradcheck(lambda *given: rotate(*given, **form), (x, *tables))


@pytest.mark.parametrize("sequence_dim", [-2, -3])
def test_gradients_of_single_learned_tables(sequence_dim: int) -> None:
    x = drawn(2, 3, 3, 8).requires_grad_()
    cos, sin = angles(3, 4)
    for learned in (cos, sin):
        learned.requires_grad_()
        assert torch.autograd.gradcheck(lambda *_: rotate(x, cos, sin, layout="half", sequence_dim=sequence_dim), (learned,))
        assert torch.autograd.gradcheck(lambda *_: rotate(x, cos, sin, layout="half", sequence_dim=sequence_dim), (x, learned))
        learned.requires_grad_(False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("arithmetic", ["float32", "input", "mixed"])
def test_backward_is_the_inverse_rotation_to_the_bit(dtype: torch.dtype, arithmetic: Any) -> None:
    x = drawn(2, 3, 5, 12, dtype=dtype).requires_grad_()
    cos, sin = angles(5, 4, dtype=torch.float32)
    gradient = drawn(2, 3, 5, 12, seed=4, dtype=dtype)
    rotate(x, cos, sin, layout="half", start=2, arithmetic=arithmetic).backward(gradient)
    assert torch.equal(x.grad, rotate(gradient, cos, -sin, layout="half", start=2, arithmetic=arithmetic))


@contextlib.contextmanager
def kept() -> Iterator[list[torch.Tensor]]:
    found: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield found


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_nothing_of_the_vectors_is_kept(dtype: torch.dtype) -> None:
    rope = Rope(head_dim=16, layout="half")
    q, k = drawn(2, 4, 32, 16, dtype=dtype).requires_grad_(), drawn(2, 2, 32, 16, dtype=dtype).requires_grad_()
    at = rope.at(range(32))
    with kept() as found:
        rope(q, k, at)
    assert sum(x.numel() for x in found) <= 2 * 32 * 8
    with kept() as found:
        out = rotate(q, at.cos.clone().requires_grad_(), at.sin, layout="half")
    # learned: the result, which the attention keeps anyway, and nothing else of its size
    assert {x.data_ptr() for x in found if x.numel() > 2 * 32 * 8} == {out.data_ptr()}


def test_gradients_that_do_not_lie_as_the_vectors_do() -> None:
    x = drawn(2, 3, 5, 8).requires_grad_()
    cos, sin = angles(5, 4)
    for loss in (lambda y: y.sum(), lambda y: y[..., 0].sum(), lambda y: (y.mT @ y).sum(), lambda y: y[:, 1].sum()):
        ours, plain = (
            torch.autograd.grad(loss(y), x)[0]
            for y in (rotate(x, cos, sin, layout="half"), turned(x, cos, sin, Pairs("half", 0, 1, -2, False)))
        )
        assert torch.allclose(ours, plain, rtol=1e-12, atol=1e-12)


def test_results_lie_as_vectors_do_or_in_order() -> None:
    """Attention in bfloat16 rounds by layout, so a rotation must lay its result out as the models that it stands in for do."""
    for width, strides in ((8, (120, 8, 40, 1)), (4, (120, 24, 8, 1))):
        rope, x = Rope(head_dim=8, rotary_dim=width, layout="half"), drawn(2, 3, 5, 8, dtype=torch.float32).transpose(1, 2)
        at = rope.at(range(3))
        for made in (rope.queries(x, at), rope(x, x, at)[1], rope.queries(x.clone().requires_grad_(), at)):
            assert made.stride() == strides


def test_one_of_two_wants_a_gradient() -> None:
    rope = Rope(head_dim=8, layout="half")
    q, k = drawn(1, 2, 3, 8, dtype=torch.float32), drawn(1, 2, 3, 8, dtype=torch.float32).requires_grad_()
    turned_q, turned_k = rope(q, k, range(3))
    assert not turned_q.requires_grad
    assert turned_k.requires_grad
    (turned_q.sum() + turned_k[..., 0].sum()).backward()
    assert k.grad is not None
    q.requires_grad_()
    turned_q, _ = rope(q, k, range(3))
    assert torch.autograd.grad(turned_q.sum(), k, allow_unused=True, materialize_grads=True)[0].abs().max() == 0


@INDUCTOR_WARNS
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_function_transforms() -> None:
    x, (cos, sin) = drawn(4, 2, 3, 8), angles(3, 4)
    want = rotate(x, cos, sin, layout="half")

    def turn(x: torch.Tensor) -> torch.Tensor:
        return rotate(x, cos, sin, layout="half")

    assert torch.equal(torch.func.vmap(turn)(x), want)
    assert torch.equal(torch.func.vmap(turn, in_dims=1, out_dims=1)(x), want)
    one, all_primals = torch.func.jvp(turn, (x,), (2 * x,))
    assert torch.equal(one, want)
    assert torch.equal(all_primals, 2 * want)
    gradient = torch.func.grad(lambda x: turn(x)[..., 0].sum())(x)
    x.requires_grad_()
    turn(x)[..., 0].sum().backward()
    assert torch.allclose(gradient, x.grad)
    with forward_ad.dual_level():
        dual = turn(forward_ad.make_dual(x.detach(), 3 * x.detach()))
        assert torch.allclose(forward_ad.unpack_dual(dual).tangent, 3 * want)
    jacobian = torch.func.jacrev(lambda x: turn(x)[0, 0, 1])(x.detach()[:1, :1])
    assert torch.allclose((jacobian.flatten(1) @ x.detach()[0, 0].flatten()), want[0, 0, 1])


def test_the_operator_is_a_good_citizen() -> None:
    vectors = [drawn(1, 2, 3, 8, dtype=torch.float32).requires_grad_(), drawn(1, 1, 3, 8, dtype=torch.float32)]
    cos, sin = angles(3, 4, dtype=torch.float32)
    torch.library.opcheck(torch.ops.ordinate.rotate.default, (vectors, cos, sin, "half", 0, 1, -2, False))


def test_watchers_of_operators_see_it() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x, (cos, sin) = drawn(1, 2, 3, 8, dtype=torch.float32), angles(3, 4, dtype=torch.float32)
    want = rotate(x, cos, sin, layout="half")
    with Watch():
        got = rotate(x, cos, sin, layout="half")
    assert torch.equal(got, want)
    assert seen == ["ordinate.rotate.default"]


def test_checkpointed_and_fake() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    x, (cos, sin) = drawn(1, 2, 3, 8).requires_grad_(), angles(3, 4)
    out = torch.utils.checkpoint.checkpoint(lambda x: rotate(x, cos, sin, layout="half"), x, use_reentrant=False)
    out[..., 0].sum().backward()
    assert torch.allclose(x.grad, rotate(torch.eye(8, dtype=torch.float64)[0].expand(1, 2, 3, 8), cos, -sin, layout="half"))
    with FakeTensorMode():
        y = Rope(head_dim=8, layout="half")(torch.empty(1, 2, 3, 8), torch.empty(1, 1, 3, 8), range(3))
    assert [tuple(part.shape) for part in y] == [(1, 2, 3, 8), (1, 1, 3, 8)]
    on_meta = rotate(torch.empty(1, 2, 3, 8, device="meta"), cos.to("meta"), sin.to("meta"), layout="half")
    assert on_meta.is_meta


@INDUCTOR_WARNS
def test_compiled_it_gives_the_same_bits() -> None:
    torch.compiler.reset()
    rope, at = Rope(head_dim=8, layout="half"), Rope(head_dim=8, layout="half").at(range(5))
    compiled = torch.compile(lambda q, k: rope(q, k, at), fullgraph=True)
    for dtype in (torch.float32, torch.bfloat16):
        q, k = drawn(1, 4, 5, 8, dtype=dtype), drawn(1, 2, 5, 8, dtype=dtype)
        for got, want in zip(compiled(q, k), rope(q, k, at), strict=True):
            assert torch.equal(got, want)


def test_in_place_refuses_what_would_go_wrong() -> None:
    rope, (cos, sin) = Rope(head_dim=8, layout="half"), angles(3, 4, dtype=torch.float32)
    q, k = drawn(1, 2, 3, 8, dtype=torch.float32), drawn(1, 1, 3, 8, dtype=torch.float32)
    before = q.clone()
    with pytest.raises(ValueError, match="requires_grad=True; use rotate, or no_grad"):
        rotate_(q.clone().requires_grad_(), cos, sin, layout="half")
    with pytest.raises(ValueError, match="got an expanded tensor"):
        rotate_(q[:, :1].expand(1, 2, 3, 8), cos, sin, layout="half")
    with pytest.raises(ValueError, match="one memory for both"):
        rope.rotate_(q, q, range(3))
    with pytest.raises(ValueError, match="k: needed q's dtype and dims"):
        rope.rotate_(q, k.double(), range(3))
    with pytest.raises(ValueError, match="needed 3 positions"):
        rope.rotate_(q, k, range(4))
    assert torch.equal(q, before)
    with torch.no_grad():
        x = q.clone().requires_grad_()
        assert torch.equal(rotate_(x, cos, sin, layout="half"), rotate(q, cos, sin, layout="half"))
    with torch.inference_mode():
        inside = q.clone()
        assert torch.equal(rotate_(inside, cos, sin, layout="half"), rotate(q, cos, sin, layout="half"))


def test_in_place_under_fake_tensors_and_compiled() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    rope = Rope(head_dim=8, layout="half")
    with FakeTensorMode():
        q = torch.empty(1, 2, 3, 8)
        assert rope.rotate_(q, torch.empty(1, 1, 3, 8), range(3))[0] is q
        with pytest.raises(ValueError, match="one memory for both"):
            rope.rotate_(q, q, range(3))
    q, k = drawn(1, 2, 3, 8, dtype=torch.float32), drawn(1, 1, 3, 8, dtype=torch.float32)
    want = rope(q, k, range(3))
    compiled = torch.compile(lambda q, k, at: rope.rotate_(q, k, at), backend="eager", fullgraph=True)
    assert all(torch.equal(got, need) for got, need in zip(compiled(q, k, rope.at(range(3))), want, strict=True))
    assert torch.equal(q, want[0])


def test_in_place_with_a_rule_and_rounding() -> None:
    from ordinate.scaling import YaRN

    rule = YaRN(factor=4.0, original_length=8)
    for arithmetic in ("float32", "input", "mixed"):
        rope = Rope(head_dim=8, layout="interleaved", scaling=rule, arithmetic=arithmetic)
        q, k = drawn(1, 4, 5, 8, dtype=torch.bfloat16), drawn(1, 2, 5, 8, dtype=torch.bfloat16)
        want = rope(q, k, range(5))
        assert all(torch.equal(got, need) for got, need in zip(rope.rotate_(q, k, range(5)), want, strict=True))


def test_blocks_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """The eager formula cuts its work; every cut gives the same bits."""
    from ordinate import formula

    x, (cos, sin) = drawn(2, 3, 7, 12, dtype=torch.bfloat16), angles(2, 7, 4, dtype=torch.float32)
    pairs = Pairs("half", 2, 2, -2, False)
    want = turned(x, cos, sin, pairs)
    for size in (1, 5, 50, 10**6):
        monkeypatch.setattr(formula, "BLOCK", size)
        out = torch.empty_like(x)
        formula.turn_into(out, x, cos, sin, pairs)
        assert torch.equal(out, want)
        formula.turn_into(moved := x.clone(), moved, cos, sin, pairs)
        assert torch.equal(moved, want)
    assert operator.rotate([], cos, sin, pairs) == []
