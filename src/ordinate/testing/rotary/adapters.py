"""Usual signatures in the one shape that the checks call: (q, k, positions) -> (q, k), [B, H, T, D].

Adapters are records, so that a copy of one holds a copy of the module in it, and the module can be found.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ordinate.testing.rotary.subject import CannotAskError, Turn

Tensor = torch.Tensor
Both = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class by_tensor:  # noqa: N801 (it is called as a function)
    """Adapt a function that turns one tensor: (x, positions) -> x.

    Args:
        fn: the function.

    Example:
        >>> turn = by_tensor(lambda x, positions: x * positions[:, None])
        >>> turn(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), torch.arange(2))[0][0, 0].tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """

    fn: Callable[..., Tensor]

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        return self.fn(q, positions.clone()), self.fn(k, positions.clone())


@dataclass(frozen=True)
class by_offset:  # noqa: N801
    """Adapt a function that counts on from an offset: (x, offset) -> x; the positions are offset, offset + 1, ....

    Args:
        fn: the function.

    Example:
        >>> turn = by_offset(lambda x, offset: x + offset)
        >>> turn(torch.zeros(1, 1, 2, 1), torch.zeros(1, 1, 2, 1), torch.tensor([5, 6]))[0].flatten().tolist()
        [5.0, 5.0]
    """

    fn: Callable[..., Tensor]

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        first = _first_of_a_run(positions)
        return self.fn(q, first), self.fn(k, first)


@dataclass(frozen=True)
class both_by_offset:  # noqa: N801
    """Adapt a function that turns queries and keys and counts on from an offset: (q, k, offset) -> (q, k).

    Args:
        fn: the function.

    Example:
        >>> turn = both_by_offset(lambda q, k, offset: (q + offset, k))
        >>> turn(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1), torch.tensor([5]))[0].item()
        5.0
    """

    fn: Callable[..., Both]

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        return self.fn(q, k, _first_of_a_run(positions))


@dataclass(frozen=True)
class counting_from_zero:  # noqa: N801
    """Adapt a function that takes neither positions nor an offset: x -> x, or (q, k) -> (q, k); the positions are 0, 1, ....

    Args:
        fn: the function.
        both: whether it takes queries and keys at once.

    Example:
        >>> turn = counting_from_zero(lambda x: x)
        >>> turn(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1), torch.tensor([5]))
        Traceback (most recent call last):
        ordinate.testing.rotary.subject.CannotAskError: the function takes neither positions nor an offset: it always counts from 0
    """

    fn: Callable[..., Any]
    both: bool = False

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        if _first_of_a_run(positions):
            raise CannotAskError("the function takes neither positions nor an offset: it always counts from 0")
        turned: Both = self.fn(q, k) if self.both else (self.fn(q), self.fn(k))
        return turned


@dataclass(frozen=True)
class cos_sin:  # noqa: N801
    """Adapt a pair of functions: one makes cos and sin, the other turns with them.

    Args:
        tables: positions -> (cos, sin).
        apply: (q, k, cos, sin) -> (q, k), or (x, cos, sin) -> x.

    Example:
        >>> turn = cos_sin(lambda positions: (positions[:, None].cos(), positions[:, None].sin()), lambda x, cos, sin: x * cos)
        >>> turn(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1), torch.tensor([0]))[0].item()
        1.0
    """

    tables: Callable[..., Both]
    apply: Callable[..., Any]

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        return _applied(self.apply, q, k, *self.tables(positions))


@dataclass(frozen=True)
class of_transformers:  # noqa: N801
    """Adapt a rotary module of transformers and its ``apply_rotary_pos_emb``.

    Args:
        module: (x, position_ids [B, T]) -> (cos, sin) of [B, T, rotary_dim].
        apply: (q, k, cos, sin) -> (q, k).

    Example:
        >>> from transformers import LlamaConfig
        >>> from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
        >>> turn = of_transformers(LlamaRotaryEmbedding(LlamaConfig(head_dim=4)), apply_rotary_pos_emb)
        >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])[None, None, None]
        >>> [round(value, 6) for value in turn(x, x, torch.tensor([1]))[0].flatten().tolist()]
        [-1.984111, 1.959901, 2.462378, 4.0198]
    """

    module: Callable[..., Both]
    apply: Callable[..., Any]

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        rows = positions if positions.ndim == 2 else positions[None].expand(q.shape[0], -1)
        return _applied(self.apply, q, k, *self.module(q, rows))


@dataclass(frozen=True)
class by_length:  # noqa: N801
    """Adapt a module that makes cos and sin for a length, and its ``apply_rotary_pos_emb``, as transformers had them before.

    Args:
        module: (x, seq_len) -> (cos, sin) of [seq_len, rotary_dim], or with dims of 1 before.
        apply: (q, k, cos, sin, position_ids) -> (q, k), or (q, k, cos, sin) -> (q, k).

    Example:
        >>> def tables(x, seq_len):
        ...     return torch.arange(seq_len)[:, None].cos(), torch.arange(seq_len)[:, None].sin()
        >>> turn = by_length(tables, lambda q, k, cos, sin: (q * cos, k * cos))
        >>> turn(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1), torch.tensor([0]))[0].item()
        1.0
    """

    module: Callable[..., Both]
    apply: Callable[..., Any]

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        if positions.is_floating_point() or positions.min() < 0:
            raise CannotAskError("the module makes cos and sin for a length: positions are whole numbers from 0 on")
        cos, sin = self.module(q, int(positions.max()) + 1)
        if "position_ids" in inspect.signature(self.apply).parameters:
            rows = positions if positions.ndim == 2 else positions[None].expand(q.shape[0], -1)
            turned: Both = self.apply(q, k, cos, sin, rows)
            return turned
        cos, sin = (each.reshape(each.shape[-2:])[positions] for each in (cos, sin))
        rows_apart = (cos, sin) if positions.ndim == 1 else (cos[:, None], sin[:, None])
        return _applied(self.apply, q, k, *rows_apart)


@dataclass(frozen=True)
class sequence_first:  # noqa: N801
    """Adapt a function for [B, T, H, D].

    Args:
        turn: (q, k, positions) -> (q, k).

    Example:
        >>> turn = sequence_first(lambda q, k, positions: (q + positions[:, None, None], k))
        >>> turn(torch.zeros(1, 1, 2, 1), torch.zeros(1, 1, 2, 1), torch.tensor([5, 6]))[0].flatten().tolist()
        [5.0, 6.0]
    """

    turn: Turn

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        q, k = self.turn(q.transpose(1, 2), k.transpose(1, 2), positions)
        return q.transpose(1, 2), k.transpose(1, 2)


@dataclass(frozen=True)
class by_rows:  # noqa: N801
    """Adapt a function whose positions are [B, T].

    Args:
        turn: (q, k, positions) -> (q, k).

    Example:
        >>> turn = by_rows(lambda q, k, positions: (q + positions[:, None, :, None], k))
        >>> turn(torch.zeros(2, 1, 1, 1), torch.zeros(2, 1, 1, 1), torch.tensor([5]))[0].flatten().tolist()
        [5.0, 5.0]
    """

    turn: Turn

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        return self.turn(q, k, positions if positions.ndim == 2 else positions[None].expand(q.shape[0], -1))


@dataclass(frozen=True)
class without_heads:  # noqa: N801
    """Adapt a function for [B, T, D]: heads become rows.

    Args:
        turn: (q, k, positions) -> (q, k).

    Example:
        >>> turn = without_heads(lambda q, k, positions: (q + positions[:, None], k))
        >>> turn(torch.zeros(1, 2, 2, 1), torch.zeros(1, 1, 2, 1), torch.tensor([5, 6]))[0].flatten().tolist()
        [5.0, 6.0, 5.0, 6.0]
    """

    turn: Turn

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor) -> Both:
        """Turn queries and keys."""
        if positions.ndim == 2 and max(q.shape[1], k.shape[1]) > 1:
            if q.shape[1] != k.shape[1]:
                raise CannotAskError("the function takes no heads, so rows of their own positions need as many keys as queries")
            positions = positions.repeat_interleave(q.shape[1], 0)
        new_q, new_k = self.turn(q.flatten(0, 1), k.flatten(0, 1), positions)
        return new_q.reshape(q.shape), new_k.reshape(k.shape)


@dataclass(frozen=True)
class named:  # noqa: N801
    """Call a function with its last argument by name.

    Args:
        fn: the function.
        argument: the name.
    """

    fn: Callable[..., Any]
    argument: str

    def __call__(self, *given: Any) -> Any:
        """Call it."""
        return self.fn(*given[:-1], **{self.argument: given[-1]})


def compiled(turn: Any, **options: Any) -> Any:
    """Compile a function inside its adapters; those that read the first position as a number stay outside of the graph.

    Args:
        turn: a function.
        **options: of ``torch.compile``.

    Returns:
        The same with compiled parts.
    """
    if isinstance(turn, (sequence_first, without_heads, by_rows)):
        return dataclasses.replace(turn, turn=compiled(turn.turn, **options))
    if isinstance(turn, (by_offset, both_by_offset, counting_from_zero)):
        inner: Any = torch.compile(turn.fn, **options)
        return dataclasses.replace(turn, fn=inner)
    if isinstance(turn, by_length):
        module: Any = torch.compile(turn.module, **options)
        return dataclasses.replace(turn, module=module)
    return torch.compile(turn, **options)


def module_in(turn: Any) -> torch.nn.Module | None:
    """Find the module inside adapters.

    Args:
        turn: a function.

    Returns:
        The module, or None.

    Example:
        >>> module_in(by_tensor(torch.nn.Identity()))
        Identity()
    """
    if isinstance(turn, torch.nn.Module):
        return turn
    own = getattr(turn, "__self__", None)
    if isinstance(own, torch.nn.Module):
        return own
    if not dataclasses.is_dataclass(turn):
        return None
    parts = (getattr(turn, field.name) for field in dataclasses.fields(turn))
    return next((found for part in parts if (found := module_in(part)) is not None), None)


def _applied(apply: Callable[..., Any], q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Both:
    if _number_of_arguments(apply) == 4:
        turned: Both = apply(q, k, cos, sin)
        return turned
    return apply(q, cos, sin), apply(k, cos, sin)


def _first_of_a_run(positions: Tensor) -> int:
    """The first of positions that follow one another."""
    if positions.is_floating_point():
        raise CannotAskError("the function takes an offset, so positions are whole numbers")
    rows = positions.reshape(-1, positions.shape[-1])
    first = int(rows[0, 0])
    if not torch.equal(rows, torch.arange(first, first + rows.shape[1]).expand_as(rows)):
        raise CannotAskError("the function takes an offset: positions follow one another, the same in every row")
    return first


def _number_of_arguments(fn: Callable[..., Any]) -> int:
    """How many arguments must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = inspect.signature(fn).parameters.values()
    return sum(each.kind in kinds and each.default is inspect.Parameter.empty for each in given)
