"""A Rope of fifteen lines, and ten of the mistakes that are made in it."""

from __future__ import annotations

import torch
from torch import nn


class Right(nn.Module):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__()
        self.head_dim, self.base = head_dim, base

    def frequencies(self) -> torch.Tensor:
        return self.base ** (-torch.arange(0, self.head_dim, 2).float() / self.head_dim)

    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return positions[..., None].float() * self.frequencies()

    def tables(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        angles = self.angles(positions)
        cos, sin = angles.cos(), angles.sin()
        return (cos, sin) if positions.ndim == 1 else (cos[:, None], sin[:, None])

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.float().chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)

    def forward(self, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = self.tables(positions)
        return self.turn(q, cos, sin), self.turn(k, cos, sin)


class Layout(Right):
    """Interleaved angles, halves turned."""

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        rotated = torch.cat((-b, a), -1)
        return (x * cos.repeat_interleave(2, -1) + rotated * sin.repeat_interleave(2, -1)).to(x.dtype)


class Exponent(Right):
    def frequencies(self) -> torch.Tensor:
        return self.base ** (-torch.arange(self.head_dim // 2).float() / self.head_dim)


class Bfloat16(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return (positions[..., None].float() * self.frequencies()).bfloat16().float()


class OffsetIgnored(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return super().angles(torch.arange(positions.shape[-1]).expand_as(positions))


class Sign(Right):
    def angles(self, positions: torch.Tensor) -> torch.Tensor:
        return -super().angles(positions)


class Swapped(Right):
    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.float().chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * sin + a * cos), -1).to(x.dtype)


class Tail(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim // 2, base)

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        kept = x.shape[-1] - self.head_dim
        return torch.cat((x[..., :kept], super().turn(x[..., kept:], cos, sin)), -1)


class ThetaIgnored(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:  # noqa: ARG002
        super().__init__(head_dim)


class CachedByLength(Right):
    def __init__(self, head_dim: int, base: float = 10000.0) -> None:
        super().__init__(head_dim, base)
        self.kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def tables(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        length = positions.shape[-1]
        if length not in self.kept:
            self.kept[length] = super().tables(positions)
        return self.kept[length]


class BatchIgnored(Right):
    def forward(self, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if q.shape[0] > 1:
            positions = torch.arange(q.shape[2])
        return super().forward(q, k, positions)
