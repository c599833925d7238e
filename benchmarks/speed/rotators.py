"""Every way to turn queries and keys: ours and the peers', each with the tables that its models make once a forward made before."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from benchmarks.speed import peers
from benchmarks.speed.reference import BASE
from benchmarks.speed.vectors import STORAGES

from ordinate import Rope, rotate


@dataclass(frozen=True)
class Rotator:
    """One way to turn.

    Attributes:
        turning: gives the function of (q, k) for a shape and a dtype.
        layout: which entries make a pair; None turns nothing.
        package: what it needs beside torch and ordinate.
        sequence_dim: -2 if it takes [B, H, T, D], -3 for [B, T, H, D].
        storages: where its models keep their vectors.
    """

    name: str
    turning: Callable
    layout: str | None
    package: str | None = None
    sequence_dim: int = -2
    storages: tuple[str, ...] = STORAGES
    in_place: bool = False


def compiled(rotator):
    """The same through torch.compile, for one shape only: the fastest code that it makes."""
    turning = rotator.turning
    name = f"{rotator.name} + compile"
    return replace(rotator, name=name, turning=lambda shape, dtype: torch.compile(turning(shape, dtype), dynamic=False))


class _Cloned(torch.autograd.Function):
    """A copy whose gradient is a copy: the least that an operation with results of its own can cost in both directions."""

    @staticmethod
    def forward(_context, x):
        return x.clone()

    @staticmethod
    def backward(_context, gradient):
        return gradient.clone()


def _clone(_shape, _dtype):
    def turn(q, k):
        if q.requires_grad:
            return _Cloned.apply(q), _Cloned.apply(k)
        return q.clone(), k.clone()

    return turn


def _ours(layout, sequence_dim=-2):
    def turning(shape, _dtype):
        rope = Rope(head_dim=shape.head_dim, layout=layout, base=BASE)
        at = rope.at(shape.positions)
        return lambda q, k: rope(q, k, at, sequence_dim=sequence_dim)

    return turning


def _ours_apart(shape, _dtype):
    rope = Rope(head_dim=shape.head_dim, layout="half", base=BASE)
    at = rope.at(shape.positions)
    return lambda q, k: (rope.queries(q, at), rope.keys(k, at))


def _ours_as_function(shape, _dtype):
    cos, sin, *_ = Rope(head_dim=shape.head_dim, layout="half", base=BASE).at(shape.positions)
    return lambda q, k: (rotate(q, cos, sin, layout="half"), rotate(k, cos, sin, layout="half"))


def _ours_in_place(layout):
    def turning(shape, _dtype):
        rope = Rope(head_dim=shape.head_dim, layout=layout, base=BASE)
        at = rope.at(shape.positions)

        return lambda q, k: rope.rotate_(q, k, at)

    return turning


def _transformers(shape, dtype):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    cos, sin = peers.llama_angles(shape.head_dim, shape.positions, dtype)
    return lambda q, k: apply_rotary_pos_emb(q, k, cos, sin)


def _gptj(shape, dtype):
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions

    table = create_sinusoidal_positions(shape.positions.stop, shape.head_dim)[None, shape.start :].to(dtype)
    sin, cos = table.chunk(2, dim=-1)
    return lambda q, k: (apply_rotary_pos_emb(q, sin, cos), apply_rotary_pos_emb(k, sin, cos))


def _torchtune(shape, _dtype):
    rope = peers.torchtune_positions().RotaryPositionalEmbeddings(shape.head_dim, max_seq_len=shape.positions.stop, base=int(BASE))
    places = torch.tensor(list(shape.positions))[None] if shape.start else None
    return lambda q, k: (rope(q, input_pos=places), rope(k, input_pos=places))


def _rotary_embedding_torch(shape, _dtype):
    from rotary_embedding_torch import RotaryEmbedding

    rope, start = RotaryEmbedding(dim=shape.head_dim, theta=BASE), shape.start
    return lambda q, k: (rope.rotate_queries_or_keys(q, offset=start), rope.rotate_queries_or_keys(k, offset=start))


def _x_transformers(shape, _dtype):
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    frequencies, scale = RotaryEmbedding(shape.head_dim, base=BASE)(torch.tensor(list(shape.positions)))
    return lambda q, k: (apply_rotary_pos_emb(q, frequencies, scale), apply_rotary_pos_emb(k, frequencies, scale))


def _complex(shape, _dtype):
    """As Meta's llama repository multiplies: model.py, apply_rotary_emb."""
    exponents = torch.arange(0, shape.head_dim, 2).float() / shape.head_dim
    turns = torch.outer(torch.arange(shape.start, shape.positions.stop).float(), 1.0 / BASE**exponents)
    factors = torch.polar(torch.ones_like(turns), turns)[None, :, None, :]

    def turn(x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * factors).flatten(3).type_as(x)

    return lambda q, k: (turn(q), turn(k))


HEADS_FIRST, LENGTH_FIRST = STORAGES
CLONE = Rotator("clone", _clone, None)
OURS = (
    Rotator("ordinate half", _ours("half"), "half"),
    Rotator("ordinate interleaved", _ours("interleaved"), "interleaved"),
    Rotator("ordinate half, sequence_dim=-3", _ours("half", -3), "half", sequence_dim=-3, storages=(LENGTH_FIRST,)),
)
IN_PLACE = (
    Rotator("ordinate half, in place", _ours_in_place("half"), "half", in_place=True),
    Rotator("ordinate interleaved, in place", _ours_in_place("interleaved"), "interleaved", in_place=True),
)
APART = Rotator("ordinate queries, keys", _ours_apart, "half")
AS_FUNCTION = Rotator("ordinate.rotate", _ours_as_function, "half")
TRANSFORMERS = Rotator("transformers", _transformers, "half", "transformers")
GPTJ = Rotator("transformers GPT-J", _gptj, "interleaved", "transformers", sequence_dim=-3, storages=(LENGTH_FIRST,))
PEERS = (
    TRANSFORMERS,
    GPTJ,
    Rotator("torchtune", _torchtune, "interleaved", "torchtune", sequence_dim=-3, storages=(LENGTH_FIRST,)),
    Rotator("rotary-embedding-torch", _rotary_embedding_torch, "interleaved", "rotary_embedding_torch", storages=(HEADS_FIRST,)),
    Rotator("x-transformers", _x_transformers, "interleaved", "x_transformers", storages=(HEADS_FIRST,)),
    Rotator("complex (llama)", _complex, "interleaved", sequence_dim=-3, storages=(LENGTH_FIRST,)),
)
