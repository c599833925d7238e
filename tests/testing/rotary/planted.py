"""Faults planted in the Rope of fifteen lines, at least two a kind, with what the report must say."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from testing.rotary.ten_mistakes import Right

Both = tuple[torch.Tensor, torch.Tensor]


class HalfDeclared(Right):
    """Turns halves, as rotate_half does."""

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.float()[..., ::2], x.float()[..., 1::2]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2).to(x.dtype)


class CrossedTheOtherWay(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        rotated = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return (x * torch.cat((cos, cos), -1) + rotated * torch.cat((sin, sin), -1)).to(x.dtype)


class NoMinus(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.float().chunk(2, -1)
        return torch.cat((a * cos + b * sin, b * cos + a * sin), -1).to(x.dtype)


class KeysStill(Right):
    def forward(self, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Both:
        return super().forward(q, k, positions)[0], k


class HalfPositions(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(positions.to(torch.float16))


class AllInBfloat16(Right):
    """Angles in bfloat16, and so cos and sin."""

    def tables(self, positions: torch.Tensor) -> Both:
        angles = self.angles(positions).bfloat16()
        cos, sin = angles.cos().float(), angles.sin().float()
        return (cos, sin) if positions.ndim == 1 else (cos[:, None], sin[:, None])


class BuffersInTheModel(Right):
    """Frequencies as a buffer, which a cast of the model reaches."""

    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.register_buffer("inv_freq", super().frequencies(), persistent=False)

    def frequencies(self) -> torch.Tensor:
        return self.inv_freq.float()

    def reset_parameters(self) -> None:
        self.inv_freq.copy_(super().frequencies())


class Outer(Right):
    """A matrix product, which autocast rounds."""

    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return positions[..., None].float() @ self.frequencies()[None]


class TableRounded(Right):
    def tables(self, positions: torch.Tensor) -> Both:
        cos, sin = super().tables(positions)
        return cos.bfloat16().float(), sin.bfloat16().float()


class Complex(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        turned = torch.complex(*x.float().chunk(2, -1)) * torch.complex(cos, sin)
        return torch.cat((turned.real, turned.imag), -1).to(x.dtype)


class Float64(Right):
    def frequencies(self) -> torch.Tensor:
        return self.base ** (-torch.arange(0, self.head_dim, 2).double() / self.head_dim)

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return super().turn(x, cos.to(x.dtype), sin.to(x.dtype))


class Float32Back(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return super().turn(x.float(), cos, sin)


class InPlace(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        turned = super().turn(x, cos, sin)
        with torch.no_grad():
            x.copy_(turned)
        return turned


class NoGradient(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return super().turn(x.detach(), cos, sin)


class _TurnsOn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(cos, sin)
        return Right(2).turn(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return Right(2).turn(gradients[0], *ctx.saved_tensors), None, None


class BackwardTurnsOn(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return _TurnsOn.apply(x, cos, sin)  # type: ignore[no-any-return]


class OneHeadWrong(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return super().turn(x, cos, sin) if x.shape[1] < 3 else x.clone()


class FromOne(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(positions + 1)


class Sorted(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(positions.sort(-1).values)


class RunOn(Right):
    """Positions that start again go on."""

    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(positions[..., :1] + torch.arange(positions.shape[-1]))


class FirstRowForAll(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(positions if positions.ndim == 1 else positions[:1].expand_as(positions))


class RowsFromZero(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(positions if positions.ndim == 1 else torch.arange(positions.shape[-1]).expand_as(positions))


class Wrapped(Right):
    """A table of 64 rows; negative positions read it from its end."""

    def tables(self, positions: torch.Tensor) -> Both:
        cos, sin = super().tables(torch.arange(8192))
        cos, sin = cos[positions.long()], sin[positions.long()]
        return (cos, sin) if positions.ndim == 1 else (cos[:, None], sin[:, None])


class Clamped(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(positions.clamp(max=4000))


class IdentityPastTheEnd(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(torch.where(positions < 4000, positions, 0))


class Persistent(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.register_buffer("inv_freq", super().frequencies())

    def reset_parameters(self) -> None:
        self.inv_freq.copy_(super().frequencies())


class FrozenParameter(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.freqs = nn.Parameter(super().frequencies(), requires_grad=False)


class LostOnMeta(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.register_buffer("inv_freq", super().frequencies(), persistent=False)

    def frequencies(self) -> torch.Tensor:
        return self.inv_freq


class TablesLost(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.register_buffer("kept", super().angles(torch.arange(512)), persistent=False)

    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return self.kept[positions.long()]


SHARED: dict[int, torch.Tensor] = {}


class SharedByWidth(Right):
    """A table for all instances of a width, whatever their base."""

    def frequencies(self) -> torch.Tensor:
        if self.head_dim not in SHARED:
            SHARED[self.head_dim] = super().frequencies()
        return SHARED[self.head_dim]


class StaleDtype(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.kept: torch.Tensor | None = None

    def forward(self, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Both:
        if self.kept is None:
            self.kept = self.frequencies().to(q.dtype)
        angles = positions[..., None].float() * self.kept.float()
        cos, sin = (angles.cos(), angles.sin()) if positions.ndim == 1 else (angles.cos()[:, None], angles.sin()[:, None])
        return self.turn(q, cos, sin), self.turn(k, cos, sin)


class ReadsNumbers(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        longest = int(positions.max())
        return super().angles(positions) if longest >= 0 else super().angles(positions) * 1


class GrowsByOne(Right):
    """A table as long as the longest call: each length is traced anew."""

    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.longest = 0

    def forward(self, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Both:
        self.longest = max(self.longest, q.shape[2])
        angles = self.angles(torch.arange(self.longest))[: q.shape[2]] * 0 + self.angles(positions)
        cos, sin = (angles.cos(), angles.sin()) if positions.ndim == 1 else (angles.cos()[:, None], angles.sin()[:, None])
        return self.turn(q, cos, sin), self.turn(k, cos, sin)


class Partial(Right):
    """Half of the head turns, the first half."""

    def __init__(self, head_dim: int, base: float = 10000.0, rotary_dim: int | None = None) -> None:
        super().__init__(rotary_dim or head_dim, base)

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        width = self.head_dim
        return torch.cat((super().turn(x[..., :width], cos, sin), x[..., width:]), -1)


class PartialOfTheWholeHead(Partial):
    def __init__(self, head_dim: int, base: float = 10000.0, rotary_dim: int | None = None) -> None:
        super().__init__(head_dim, base, rotary_dim)
        self.whole = head_dim

    def frequencies(self) -> torch.Tensor:
        return self.base ** (-torch.arange(0, self.head_dim, 2).float() / self.whole)


class PartialTail(Partial):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        kept = x.shape[-1] - self.head_dim
        return torch.cat((x[..., :kept], Right.turn(self, x[..., kept:], cos, sin)), -1)


class Everything(Partial):
    """Ignores how many entries should turn."""

    def __init__(self, head_dim: int, base: float = 10000.0, rotary_dim: int | None = None) -> None:  # noqa: ARG002
        super().__init__(head_dim, base)


class Magnified(Right):
    POWER = 1

    def tables(self, positions: torch.Tensor) -> Both:
        cos, sin = super().tables(positions)
        return cos * 1.2**self.POWER, sin * 1.2**self.POWER


class MagnifiedTwice(Magnified):
    POWER = 2


class NeverMagnified(Magnified):
    POWER = 0


class OtherBase(Right):
    def __init__(self, head_dim: int) -> None:
        super().__init__(head_dim, 500000.0)
        del self.base
        self.hidden = 500000.0

    def frequencies(self) -> torch.Tensor:
        return self.hidden ** (-torch.arange(0, self.head_dim, 2).float() / self.head_dim)


class DefaultKept(Right):
    def __init__(self, head_dim: int, rope_theta: float = 10000.0) -> None:  # noqa: ARG002
        super().__init__(head_dim)


class Gathered(Right):
    """Turns interleaved pairs and gives them back as halves, which leaves scores as they are."""

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.float()[..., ::2], x.float()[..., 1::2]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


YARN: dict[str, Any] = {"magnitude": 1.2}
CLEAN: list[tuple[type, dict[str, Any]]] = [(Right, {}), (Partial, {}), (Magnified, YARN), (Gathered, {})]
PLANTED: list[tuple[type, dict[str, Any], str, str]] = [
    (HalfDeclared, {}, "layout-mismatch", "pairs are entries 2i and 2i + 1 (interleaved) where entries i and i + d/2 (half)"),
    (CrossedTheOtherWay, {}, "layout-mismatch", "angles are laid out for half pairs"),
    (NoMinus, {}, "layout-mismatch", "the minus before the sine is missing"),
    (KeysStill, {}, "layout-mismatch", "keys do not turn"),
    (HalfPositions, {}, "low-precision-phase", "positions are rounded to float16"),
    (AllInBfloat16, {}, "low-precision-phase", "angles, cos and sin are rounded to bfloat16"),
    (BuffersInTheModel, {}, "low-precision-phase", "a cast of the whole module reaches frequencies"),
    (Outer, {}, "low-precision-phase", "inside autocast(bfloat16) positions 65536 and 65537"),
    (TableRounded, {}, "low-precision-phase", "cos and sin are rounded to bfloat16"),
    (Complex, {}, "backend-dtype", "complex64 on the way"),
    (Float64, {}, "backend-dtype", "float64 on the way"),
    (Float32Back, {}, "backend-dtype", "bfloat16 comes back as float32"),
    (InPlace, {}, "fused-kernel-shape", "queries are written over"),
    (NoGradient, {}, "fused-kernel-shape", "there is no gradient"),
    (BackwardTurnsOn, {}, "fused-kernel-shape", "the gradient is not the transpose"),
    (OneHeadWrong, {}, "fused-kernel-shape", "some shapes are turned otherwise"),
    (FromOne, {}, "decode-offset", "positions count from 1"),
    (Sorted, {}, "packed-positions", "positions in another order give other angles"),
    (RunOn, {}, "packed-positions", "positions in another order give other angles"),
    (FirstRowForAll, {}, "mask-blind-positions", "all rows are turned by the positions of the first"),
    (RowsFromZero, {}, "mask-blind-positions", "positions are ignored where there are several rows"),
    (Wrapped, {}, "cos-sin-range", "it reads the last row of a table"),
    (Clamped, {}, "cos-sin-range", "a table is read past its end by its last row"),
    (IdentityPastTheEnd, {}, "cos-sin-range", "far positions do not turn at all"),
    (Persistent, {}, "derived-keys-in-checkpoint", "inv_freq stands in the state dict"),
    (FrozenParameter, {}, "derived-keys-in-checkpoint", "freqs stands in the state dict"),
    (LostOnMeta, {}, "derived-buffer-uninit", "inv_freq keeps what the memory held"),
    (TablesLost, {}, "derived-buffer-uninit", "kept keeps what the memory held"),
    (SharedByWidth, {}, "config-key-dropped", "the base is ignored"),
    (StaleDtype, {}, "cache-key-and-sharing", "the same call gives something else after another one"),
    (ReadsNumbers, {}, "compile-unfriendly", "tracing breaks"),
    (GrowsByOne, {}, "compile-unfriendly", "graphs for 3 lengths"),
    (PartialOfTheWholeHead, {}, "partial-rotary", "frequencies are those of the whole head"),
    (PartialTail, {}, "partial-rotary", "the last 8 entries turn in place of the first"),
    (Everything, {}, "partial-rotary", "all 16 entries turn where 8 should"),
    (MagnifiedTwice, YARN, "yarn-magnitude", "the magnitude 1.2 is applied twice"),
    (NeverMagnified, YARN, "yarn-magnitude", "the magnitude 1.2 is applied never"),
    (OtherBase, {}, "config-key-dropped", "the base is 500000 whatever is asked for"),
    (DefaultKept, {}, "config-key-dropped", "the base is ignored"),
]
