"""Queries and keys to turn: shapes, storages, and a forward pass with or without its backward."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

STORAGES = ("[B, H, T, D]", "[B, T, H, D]")


@dataclass(frozen=True)
class Shape:
    batch: int
    q_heads: int
    k_heads: int
    length: int
    head_dim: int
    start: int = 0

    @property
    def positions(self):
        return range(self.start, self.start + self.length)


@dataclass(frozen=True)
class Vectors:
    """Queries, keys and, where there is a backward pass, the gradients that come in; all [B, H, T, D] views of what is stored."""

    shape: Shape
    dtype: torch.dtype
    stored: tuple[torch.Tensor, torch.Tensor]
    incoming: tuple[torch.Tensor, torch.Tensor] | None
    heads_first: bool

    def seen(self, tensors, sequence_dim):
        """[B, H, T, D] for -2, [B, T, H, D] for -3, whatever is stored."""
        return tensors if (sequence_dim == -2) == self.heads_first else tuple(x.transpose(1, 2) for x in tensors)


def made(shape, dtype, storage, backward):
    """Random vectors; the stored tensors are the autograd leaves."""
    heads_first = storage == STORAGES[0]

    def random(heads):
        sizes = (shape.batch, heads, shape.length) if heads_first else (shape.batch, shape.length, heads)
        return torch.randn(*sizes, shape.head_dim, dtype=dtype)

    heads = (shape.q_heads, shape.k_heads)
    stored = tuple(random(n).requires_grad_(backward) for n in heads)
    return Vectors(shape, dtype, stored, tuple(random(n) for n in heads) if backward else None, heads_first)


def timed(turn: Callable, vectors: Vectors, sequence_dim: int) -> Callable:
    """What is timed: the forward pass, or forward, backward and the gradients of the stored tensors."""
    if vectors.incoming is None:
        q, k = vectors.seen(vectors.stored, sequence_dim)
        return lambda: turn(q, k)
    q, k = vectors.stored
    incoming = vectors.seen(vectors.incoming, sequence_dim)

    def both():
        out = turn(*vectors.seen(vectors.stored, sequence_dim))
        torch.autograd.backward(out, incoming)
        gradients = q.grad, k.grad
        q.grad = k.grad = None
        return (*out, *gradients)

    return both


def in_place(turn: Callable, vectors: Vectors, sequence_dim: int) -> Callable:
    """Turns copies of its own, again and again."""
    q, k = vectors.seen(tuple(x.detach().clone() for x in vectors.stored), sequence_dim)
    return lambda: turn(q, k)
