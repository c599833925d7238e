"""Score schemes in FlexAttention against float64 loops: every scheme and kind of positions, uncompiled; one compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from cases import CASES, Case
from ordinate import ALiBi, Deberta, DistanceScheme, Rope, ScoreScheme, Shaw, Sinusoidal, T5Bias, TransformerXL, reference
from ordinate.attention.flex import score_mod
from ordinate.positions import Positions

INDUCTOR_WARNS = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
UNCOMPILED_WARNS = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")

SCORED = {
    name: case
    for name, case in CASES.items()
    if case.added is None and isinstance(case.make(), (DistanceScheme, Shaw, Deberta))
}  # fmt: skip
QUERIES, KEYS, FARTHEST = 5, 8, 60
SHUFFLED = torch.tensor([[40, 3, 17, 4, 0, 22, 21, 5], [1, 59, 2, 9, 9, 30, 12, 8]])
PLACES: dict[str, tuple[Positions, Positions]] = {
    "ranges": (range(3, 8), range(8)),
    "ranges far ahead": (range(2**40, 2**40 + 5), range(8)),
    "strides": (range(0, 15, 3), range(-1, 23, 3)),
    "falling": (range(4, -1, -1), range(7, -1, -1)),
    "steps differ": (range(2**40, 2**40 + 10, 2), range(2**40 - 4, 2**40 + 4)),
    "tensors": (SHUFFLED[1, :5], SHUFFLED[0]),
    "rows": (SHUFFLED[:, 3:], SHUFFLED.flip(0)),
    "one row for all": (SHUFFLED[:1, :5].int(), SHUFFLED[0]),
    "range and rows": (range(20, 25), SHUFFLED),
}


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """FlexAttention's formula itself, without the tracing that its uncompiled form does first."""
    monkeypatch.setattr(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.fixture
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def drawn(case: Case, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, case.n_heads, QUERIES, case.head_dim), *[(2, case.n_kv_heads, KEYS, case.head_dim)] * 2]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def listed(places: Positions, row: int) -> list[int]:
    if isinstance(places, range):
        return list(places)
    return list((places if places.ndim == 1 else places[row % len(places)]).tolist())


def biases(case: Case, q: torch.Tensor, k: torch.Tensor, places: tuple[Positions, Positions], scale: float) -> Any:
    """[B, H, Q, K] in loops."""
    rows = [case.oracle(q[b].double().numpy(), k[b].double().numpy(), *(listed(side, b) for side in places)) for b in range(len(q))]
    return np.stack(rows) * (scale if case.content else 1.0)


def in_loops(case: Case, vectors: list[torch.Tensor], bias: Any, visible: Any, scale: float) -> torch.Tensor:
    q, k, v = (x.double().numpy() for x in vectors)
    out = np.zeros((*q.shape[:3], v.shape[-1]))
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            kv = h // (case.n_heads // case.n_kv_heads)
            out[b, h] = reference.attention(q[b, h], k[b, kv], v[b, kv], scale, bias[b, h], visible[b])
    return torch.from_numpy(out)


def seen_from(places: tuple[Positions, Positions], causal: bool, farthest: int | None = None) -> torch.Tensor:
    q_places, k_places = (torch.tensor([listed(side, row) for row in range(2)]) for side in places)
    ahead = k_places[:, None, :] - q_places[:, :, None]
    seen = ahead <= 0 if causal else torch.ones_like(ahead, dtype=torch.bool)
    return seen if farthest is None else seen & (ahead.abs() <= farthest)


def block_mask(visible: torch.Tensor) -> Any:
    return create_block_mask(lambda b, _h, i, j: visible[b, i, j], 2, None, *visible.shape[1:], device="cpu")


def at_once(mod: Any, q: torch.Tensor, k: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What the function adds to scores of 0, [B, H, Q, K]."""
    sizes = (*q.shape[:3], k.shape[2])
    indices = [torch.arange(n, device=q.device).view([-1 if axis == d else 1 for d in range(4)]) for axis, n in enumerate(sizes)]
    added: torch.Tensor = mod(torch.zeros(sizes, dtype=dtype, device=q.device), *indices)
    return added


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("form", PLACES)
@pytest.mark.parametrize("case", SCORED.values(), ids=SCORED)
def test_attention_is_that_of_the_loops(case: Case, form: str) -> None:
    places, (q, k, v) = PLACES[form], drawn(case)
    scheme, visible = case.make(), seen_from(PLACES[form], causal=True)
    with torch.no_grad():
        mod = score_mod(scheme, q, k, scheme.at(*places), extras=case.extras(), farthest=FARTHEST)
        out = flex_attention(
            q, k, v, score_mod=mod, block_mask=block_mask(visible), scale=scheme.softmax_scale(case.head_dim), enable_gqa=True
        )
    slow = in_loops(case, [q, k, v], biases(case, q, k, places, case.scale), visible.numpy(), case.scale)
    assert (out - slow).abs().max() < 1e-13


@UNCOMPILED_WARNS
@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("name", "form"), [("alibi authors 6", "ranges"), ("t5", "rows"), ("deberta buckets", "tensors")])
def test_uncompiled_as_users_call_it(name: str, form: str) -> None:
    case, places = CASES[name], PLACES[form]
    q, k, v = drawn(case, torch.float32)
    scheme = case.make()
    with torch.no_grad():
        mod = score_mod(scheme, q, k, scheme.at(*places), extras=case.extras(), farthest=FARTHEST)
        out = flex_attention(q, k, v, score_mod=mod, scale=scheme.softmax_scale(case.head_dim), enable_gqa=True)
    everything = np.ones((2, QUERIES, KEYS), dtype=bool)
    slow = in_loops(case, [q, k, v], biases(case, q, k, places, case.scale), everything, case.scale)
    assert out.dtype == torch.float32
    assert (out - slow).abs().max() < 2e-6


@INDUCTOR_WARNS
@pytest.mark.usefixtures("fresh")
def test_compiled() -> None:
    """bfloat16 cannot tell the biases of far keys apart: they must be float32 in the kernel. Two queries see beyond farthest."""
    case, farthest = CASES["alibi given"], 310
    places = (
        torch.tensor([[300, 301, 302, 303, 311], [320, 298, 300, 307, 299]]),
        torch.tensor([[*range(7), 9999], [*range(3, 11)]]),
    )
    q, k, v = drawn(case, torch.bfloat16)
    visible = seen_from(places, causal=True)
    alibi = case.make()
    mod = score_mod(alibi, q, k, alibi.at(*places), farthest=farthest)
    compiled = torch.compile(flex_attention, fullgraph=True, dynamic=False)
    out = compiled(q, k, v, score_mod=mod, block_mask=block_mask(visible), enable_gqa=True)
    slow = in_loops(case, [q, k, v], biases(case, q, k, places, 1.0), visible.numpy(), case.scale)
    beyond = torch.tensor([[False, False, False, False, True], [True, False, False, False, False]])[:, None, :, None]
    assert torch.equal(out.isnan(), beyond.expand_as(out))
    assert (out - slow).masked_fill(beyond, 0.0).abs().max() < 1e-2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("case", SCORED.values(), ids=SCORED)
def test_biases_are_float32_beside_any_vectors(case: Case, dtype: torch.dtype) -> None:
    scheme, places = case.make(), PLACES["rows"]
    q, k, _ = drawn(case, dtype)
    with torch.autocast("cpu", torch.bfloat16):
        mod = score_mod(scheme, q, k, scheme.at(*places), extras=case.extras(), farthest=FARTHEST)
    added = at_once(mod, q, k, torch.float32)
    slow = torch.from_numpy(biases(case, q, k, places, case.scale))
    assert added.dtype == torch.float32
    assert (added - slow).abs().max() < 2e-6
    exact = at_once(score_mod(scheme, q.double(), k.double(), scheme.at(*places), extras=case.extras(), farthest=99), q, k, q.dtype)
    assert exact.dtype == torch.float64


@pytest.mark.parametrize("case", [case for case in SCORED.values() if case.content], ids=lambda case: case.name)
def test_a_scale_reaches_the_terms_of_content(case: Case) -> None:
    scheme, places = case.make(), PLACES["ranges"]
    q, k, _ = drawn(case)
    added = at_once(score_mod(scheme, q, k, scheme.at(*places), scale=0.7, extras=case.extras()), q, k, q.dtype)
    assert np.abs(added.detach().numpy() - biases(case, q, k, places, 0.7)).max() < 1e-13


@pytest.mark.usefixtures("plain")
def test_beyond_farthest_is_nan_unless_hidden() -> None:
    alibi, x = ALiBi(n_heads=1, slopes=(0.25,)), torch.zeros(1, 1, 3, 4)
    places = torch.tensor([0, 7, 8])
    mod = score_mod(alibi, x, x, alibi.at(places, places), farthest=7)
    out = flex_attention(x, x, x, score_mod=mod)
    assert out.isnan().all(-1).tolist() == [[[True, False, True]]]
    bias = at_once(mod, x, x, torch.float32)[0, 0]
    assert torch.equal(bias.isnan(), torch.tensor([[0, 0, 1], [0, 0, 0], [1, 0, 0]]) > 0)
    assert bias.nan_to_num(9.0).tolist() == [[0.0, -1.75, 9.0], [-1.75, 0.0, -0.25], [9.0, -0.25, 0.0]]
    near = (places[:, None] - places).abs()[None] <= 7
    assert flex_attention(x, x, x, score_mod=mod, block_mask=block_mask(near.expand(2, -1, -1))).isfinite().all()


@pytest.mark.parametrize("case", SCORED.values(), ids=SCORED)
def test_no_value_is_read(case: Case) -> None:
    """Meta tensors have none."""
    scheme, (q, k, _) = case.make().to("meta"), (x.to("meta") for x in drawn(case))
    places = [side.to("meta") for side in PLACES["rows"]]
    extras = {name: table.to("meta") for name, table in case.extras().items()}
    mod = score_mod(scheme, q, k, scheme.at(*places), extras=extras, farthest=FARTHEST)
    assert at_once(mod, q, k, q.dtype).shape == (2, case.n_heads, QUERIES, KEYS)


def test_no_tokens() -> None:
    alibi, x = ALiBi(n_heads=1, slopes=(0.25,)), torch.zeros(1, 1, 0, 4)
    assert at_once(score_mod(alibi, x, x, alibi.at(range(0), range(0))), x, x, torch.float32).shape == (1, 1, 0, 0)


def test_pytorch_has_no_backward_on_the_cpu() -> None:
    alibi, x = ALiBi(n_heads=1, slopes=(0.25,)), torch.zeros(1, 1, 3, 4, requires_grad=True)
    with pytest.raises(NotImplementedError, match="does not support backward on CPU"):
        flex_attention(x, x, x, score_mod=score_mod(alibi, x, x, alibi.at(range(3), range(3))))


class Own(ScoreScheme):
    """A scheme that says nothing of how its bias is made."""

    def at(self, q_positions: Positions, k_positions: Positions) -> Any: ...

    def bias(self, q: torch.Tensor, k: torch.Tensor, at: Any) -> Any: ...

    def added_values(self, at: Any) -> None: ...

    def heads(self, start: int, stop: int) -> Any: ...

    def softmax_scale(self, head_dim: int) -> Any: ...


LARGE = TransformerXL(n_heads=2, head_dim=4, d_model=8, layout="sin_cos")


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        (
            Shaw(head_dim=4, max_distance=2, values=True),
            r"got Shaw, whose value table \(values=True\) adds to the output; use attend",
        ),
        (LARGE, "got TransformerXL, whose queries meet every distance: that table is larger than the scores; use attend"),
        (LARGE.heads(0, 1), "got TransformerXLHeads, whose queries meet every distance"),
        (Rope(head_dim=4, layout="half"), r"got Rope, which turns queries and keys: give flex_attention scheme.queries\(q, at\)"),
        (Sinusoidal(d_model=8), "needed a score scheme, got Sinusoidal, which acts at the input"),
        (
            Own(),
            "needed a DistanceScheme, Shaw without values or Deberta, got Own, whose bias may be no entry of a table; use attend",
        ),
        (None, "needed a DistanceScheme, .* got NoneType"),
        (ALiBi, "needed a DistanceScheme, .* got ABCMeta"),
    ],
)
def test_schemes_that_cannot(scheme: Any, why: str) -> None:
    x = torch.zeros(1, 2, 3, 4)
    with pytest.raises(TypeError, match=f"scheme: .*{why}"):
        score_mod(scheme, x, x, ALiBi(n_heads=2, slopes="paper").at(range(3), range(3)))


X, THREE = torch.zeros(1, 2, 3, 4), torch.arange(3)
T5, PAPER = T5Bias(n_heads=2, bidirectional=True), ALiBi(n_heads=2, slopes="paper")
TWO = Deberta(n_heads=2, head_dim=4, content_to_position=True, position_to_content=True, max_distance=3)
TABLE = torch.zeros(6, 2, 4)


@pytest.mark.parametrize(
    ("scheme", "places", "more", "what"),
    [
        (
            T5,
            (THREE, range(3)),
            {},
            r"farthest: .* positions int64 \[3\] and range\(0, 3\), whose values are not read, got None; give",
        ),
        (PAPER, (range(3), THREE), {"farthest": -1}, "farthest: needed a whole number >= 0, got -1"),
        (
            PAPER,
            (THREE / 2, range(3)),
            {"farthest": 9},
            r"q_positions: needed whole positions \(int32 or int64\), got float32 \[3\]",
        ),
        (PAPER, (range(3), THREE.double()), {"farthest": 9}, "k_positions: needed whole positions .* got float64"),
        (PAPER, (range(3), THREE.to("meta")), {"farthest": 9}, "k_positions: needed device cpu"),
        (PAPER, (range(4), range(3)), {}, "q_positions: needed 3 positions, one a token, got 4"),
        (ALiBi(n_heads=4, slopes="paper"), (range(3), range(3)), {}, "needed q with 4 heads, got 2"),
        (Shaw(head_dim=8, max_distance=2, values=False), (THREE, THREE), {}, "needed q and k of that width, got 4 and 4"),
        (PAPER, (range(3), range(3)), {"scale": float("nan")}, "scale: needed a finite number"),
        (PAPER, (range(3), range(3)), {"extras": {"keys": TABLE}}, "extras: needed none for ALiBi, got keys"),
        (TWO, (range(3), range(3)), {}, "extras: needed keys and queries for Deberta, got none"),
        (TWO, (range(3), range(3)), {"extras": TABLE}, "extras: needed keys and queries for Deberta, got float32"),
        (
            TWO,
            (range(3), range(3)),
            {"extras": {"keys": TABLE, "queries": TABLE[1:]}},
            r"queries: needed .* \[6, 2, 4\], got .*\[5, ",
        ),
    ],
)
def test_bad_input(scheme: Any, places: tuple[Positions, Positions], more: dict[str, Any], what: str) -> None:
    at = PAPER.at(*places)  # takes any positions, so that it is the function that refuses
    with pytest.raises(ValueError, match=what):
        score_mod(scheme, X, X, at, **more)
