"""What stands in for a model's own apply functions: the same arguments, ordinate's ``rotate``.

cos and sin are ordinate's: [B, T, n], one number a pair, in the dtype that the model's own would have.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import FunctionType
from typing import Literal

import torch

from ordinate.attaching.functions import Function
from ordinate.rotation import Arithmetic, Layout, rotate

Form = Literal["cos sin", "sin cos", "one tensor"]

# The arguments that apply functions have, and the form in which the model hands cos and sin on to them.
FORMS: dict[tuple[str, ...], Form] = {
    ("q", "k", "cos", "sin", "unsqueeze_dim"): "cos sin",
    ("q", "k", "cos", "sin", "position_ids", "unsqueeze_dim"): "cos sin",
    ("x", "cos", "sin", "unsqueeze_dim"): "cos sin",
    ("tensor", "sin", "cos"): "sin cos",
    ("xq", "xk", "freqs_cis"): "one tensor",
}
# Where complex factors are meant for, which their apply functions' arguments do not say.
COMPLEX_SEQUENCE_DIM = {"llama4_text": -3, "deepseek_v2": -2}
INTO_HALVES = "apply_rotary_pos_emb_interleave"  # takes neighbours and gives halves
SEQUENCE_DIMS = {-3: -2, -2: -3}  # where tokens are, by where heads are


@dataclass(frozen=True, kw_only=True)
class Turn:
    """How a model turns: which entries make a pair, in which arithmetic, and where the pairs begin in a whole head."""

    layout: Layout
    arithmetic: Arithmetic
    head_dim: int
    start: int

    def __call__(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, sequence_dim: int) -> torch.Tensor:
        """Turn queries or keys, whole heads or the slice of them that turns.

        Shape:
            x [B, H, T, D] or [B, T, H, D], cos and sin [B, T, n] -> as x
        """
        start = self.start if x.shape[-1] == self.head_dim else 0
        if self.arithmetic != "input":  # cos and sin came rounded, where the model rounds them
            return rotate(x, cos, sin, layout=self.layout, start=start, sequence_dim=sequence_dim, arithmetic="float32")
        x = x.to(torch.promote_types(x.dtype, cos.dtype))  # under autocast the model's products widen, too
        return rotate(x, cos, sin, layout=self.layout, start=start, sequence_dim=sequence_dim, arithmetic="input")


def form_of(function: FunctionType) -> Form | None:
    """Give the form of cos and sin that an apply function takes, or None if its arguments are not known.

    Args:
        function: a model's own.

    Returns:
        A form.

    Example:
        >>> def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1): ...
        >>> form_of(apply_rotary_pos_emb)
        'cos sin'
    """
    return FORMS.get(tuple(inspect.signature(function).parameters))


def stand_in(name: str, function: FunctionType, turn: Turn, *, complex_dim: int | None, keys: bool = True) -> Function:
    """Make what is called in place of an apply function.

    Args:
        name: of the apply function.
        function: the apply function, for its arguments.
        turn: how the model turns.
        complex_dim: where the sequence is, for functions that take one tensor of complex factors.
        keys: whether keys turn; if not, they are given back as they came.

    Returns:
        A function with the same arguments.

    Example:
        >>> def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1): ...
        >>> turn = Turn(layout="half", arithmetic="input", head_dim=4, start=0)
        >>> quarter = (torch.zeros(1, 1, 2), torch.ones(1, 1, 2))
        >>> x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
        >>> stand_in("apply_rotary_pos_emb", apply_rotary_pos_emb, turn, complex_dim=None)(x, x, *quarter)[0]
        tensor([[[[-3., -4.,  1.,  2.]]]])
    """
    arguments = inspect.signature(function).parameters
    names = tuple(arguments)

    def pair(
        q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, unsqueeze_dim: int = 1
    ) -> tuple[torch.Tensor, ...]:
        place = _sequence_dim(cos, unsqueeze_dim)
        return turn(q, cos, sin, place), turn(k, cos, sin, place) if keys else k

    def pair_or_alone(
        q: torch.Tensor,
        k: torch.Tensor | None = None,
        cos: torch.Tensor | None = None,
        sin: torch.Tensor | None = None,
        unsqueeze_dim: int = 1,
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        assert cos is not None
        assert sin is not None
        return alone(q, cos, sin, unsqueeze_dim) if k is None else pair(q, k, cos, sin, unsqueeze_dim)

    def neighbours_to_halves(
        q: torch.Tensor,
        k: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        position_ids: torch.Tensor | None = None,  # noqa: ARG001
        unsqueeze_dim: int = 1,
    ) -> tuple[torch.Tensor, ...]:
        return pair(_halves(q), _halves(k), cos, sin, unsqueeze_dim)

    def alone(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, unsqueeze_dim: int = 1) -> torch.Tensor:
        return turn(x, cos, sin, _sequence_dim(cos, unsqueeze_dim))

    def alone_after_sin(tensor: torch.Tensor, sin: torch.Tensor, cos: torch.Tensor) -> torch.Tensor:
        return turn(tensor, cos, sin, -3)

    def complex_pair(xq: torch.Tensor, xk: torch.Tensor, freqs_cis: torch.Tensor) -> tuple[torch.Tensor, ...]:
        cos, sin = freqs_cis.unbind(-1)
        assert complex_dim is not None
        return turn(xq, cos, sin, complex_dim), turn(xk, cos, sin, complex_dim)

    if name == INTO_HALVES:
        return neighbours_to_halves
    if names[1] == "k" and arguments["k"].default is None:
        return pair_or_alone
    by_first: dict[str, Function] = {"q": pair, "x": alone, "tensor": alone_after_sin, "xq": complex_pair}
    return by_first[names[0]]


def _sequence_dim(cos: torch.Tensor, unsqueeze_dim: int) -> int:
    """Where tokens are in vectors that cos [B, T, n] or [T, n] fits once it has a dim for heads."""
    return SEQUENCE_DIMS[unsqueeze_dim - cos.ndim - 1]


def _halves(x: torch.Tensor) -> torch.Tensor:
    """The first entries of all pairs of neighbours, then the second ones."""
    return torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1)
