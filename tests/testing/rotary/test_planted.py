"""Every planted fault is found and named; the clean originals, and right code of others, have none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ordinate
from ordinate.testing import by_offset, check_rotary, cos_sin, of_transformers, sequence_first
from testing.rotary.planted import CLEAN, PLANTED, SHARED


@pytest.mark.parametrize(("made", "settings"), CLEAN, ids=[made.__name__ for made, _ in CLEAN])
def test_clean(made: type, settings: dict[str, Any]) -> None:
    assert check_rotary(made, **settings).broken == ()


@pytest.mark.parametrize(("made", "settings", "kind", "said"), PLANTED, ids=[row[0].__name__ for row in PLANTED])
def test_planted(made: type, settings: dict[str, Any], kind: str, said: str) -> None:
    SHARED.clear()
    report = check_rotary(made, **settings)
    assert [each for each in report.broken if each.kind == kind and said in each.said], str(report)
    assert all(each.remedy and (each.smallest or each.actual) for each in report.broken)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("phases", ["exact", "float32"])
def test_our_own(layout: Any, phases: Any) -> None:
    rope = ordinate.Rope(head_dim=16, layout=layout, phases=phases, base=500000.0)
    assert check_rotary(rope, layout=layout, base=500000.0).broken == ()
    assert "layout-mismatch" in check_rotary(rope, layout="half" if layout == "interleaved" else "interleaved").kinds


@pytest.mark.parametrize("sizes", [{"head_dim": 8}, {"head_dim": 64}, {"head_dim": 64, "rotary_dim": 32}])
def test_an_object_says_its_own_widths(sizes: dict[str, int]) -> None:
    rope = ordinate.Rope(layout="half", **sizes)
    assert check_rotary(rope).broken == ()
    with pytest.raises(ValueError, match="needed"):
        check_rotary(rope, head_dim=24)  # what is asked for goes before what it says


def test_usual_signatures() -> None:
    frequencies = 1e4 ** (-torch.arange(0, 16, 2) / 16)

    def tables(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        angles = positions[..., None] * frequencies
        return (angles.cos(), angles.sin()) if positions.ndim == 1 else (angles.cos()[:, None], angles.sin()[:, None])

    def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)

    def by_start(x: torch.Tensor, start_pos: int = 0) -> torch.Tensor:
        return turned(x, *tables(start_pos + torch.arange(x.shape[-2])))

    def tokens_first(xq: torch.Tensor, xk: torch.Tensor, pos: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, k = (turned(x.transpose(1, 2), *tables(pos)).transpose(1, 2) for x in (xq, xk))
        return q, k

    adapted = (by_start, tokens_first, by_offset(by_start), cos_sin(tables, turned), sequence_first(tokens_first))
    for fn in (*adapted, lambda x: by_start(x), lambda x, t: turned(x, *tables(t))):
        assert check_rotary(fn, head_dim=16).broken == ()
    with pytest.raises(ValueError, match="needed a function, a module, a class or an adapter"):
        check_rotary(3)
    with pytest.raises(ValueError, match="needed \\(q, k, positions\\)"):
        check_rotary(lambda a, b, c, d: (a, b, c, d))


def test_transformers_llama() -> None:
    """A cast reaches its frequencies, and memory that was never filled stays so: both are known, and nothing else is said."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    module = LlamaRotaryEmbedding(LlamaConfig(head_dim=16))
    for fn in (of_transformers(module, apply_rotary_pos_emb), module):
        assert check_rotary(fn, layout="half").kinds == ("low-precision-phase", "derived-buffer-uninit")


class OldStyle(torch.nn.Module):
    """Tables for a length, as transformers made them before; pairs of halves."""

    def __init__(self, dim: int, base: float = 10000.0, wrong: bool = False) -> None:
        super().__init__()
        self.dim, self.base, self.wrong = dim, base, wrong

    def forward(self, x: torch.Tensor, seq_len: int) -> tuple[torch.Tensor, torch.Tensor]:
        angles = torch.arange(seq_len)[:, None] * self.base ** (-torch.arange(0, self.dim, 2).float() / self.dim)
        angles = torch.cat((angles, angles), -1)
        return angles.cos().to(x.dtype), (-angles if self.wrong else angles).sin().to(x.dtype)

    @staticmethod
    def apply_rotary_pos_emb(q: Any, k: Any, cos: Any, sin: Any, position_ids: Any) -> Any:
        cos, sin = cos[position_ids][:, None], sin[position_ids][:, None]
        return tuple(x * cos + torch.cat((-x.chunk(2, -1)[1], x.chunk(2, -1)[0]), -1) * sin for x in (q, k))


def test_tables_by_length() -> None:
    report = check_rotary(OldStyle)
    assert set(report.kinds) <= {"low-precision-phase"}, str(report)  # cos and sin are rounded to x's dtype, which bfloat16 shows
    assert "the angle has the wrong sign" in [each.said for each in check_rotary(OldStyle, settings={"wrong": True}).broken]


def test_a_function_that_takes_a_base() -> None:
    def rope(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0, used: bool = True) -> torch.Tensor:
        angles = positions[..., None] * (theta if used else 10000.0) ** (-torch.arange(0, 16, 2) / 16)
        angles = angles if positions.ndim == 1 else angles[:, None]
        a, b = x.chunk(2, -1)
        return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1).to(x.dtype)

    assert check_rotary(rope).broken == ()

    def ignoring(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
        return rope(x, positions, theta, used=False)

    assert check_rotary(ignoring).kinds == ("config-key-dropped",)
