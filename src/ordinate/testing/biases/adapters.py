"""From the usual signatures of biases to one: fn(q_positions, k_positions) -> [H, Q, K]."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ordinate.sites import DistanceScheme
from ordinate.testing.biases.function import BiasFunction

LENGTH_NAMES = ("length", "seq_len", "seq_length", "sequence_length", "max_len", "n", "t")
QUERY_LENGTH_NAMES = ("q_len", "qlen", "query_length", "query_len", "q_length", "seq_len_q", "seqlen_q", "len_q", "tgt_len")
DISTANCE_NAMES = ("distance", "distances")
BUCKET_NAMES = ("relative_position", "relative_positions", "rel_pos")


def required(fn: Callable[..., Any]) -> list[str]:
    """Names of the arguments that a function must be given.

    Args:
        fn: the function, or a module.

    Returns:
        The names, in order.

    Example:
        >>> required(lambda q_len, k_len, device=None: None)
        ['q_len', 'k_len']
    """
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(fn.forward if isinstance(fn, nn.Module) else fn).parameters.values()
    return [each.name for each in parameters if each.kind in by_position and each.default is inspect.Parameter.empty]


def from_lengths(fn: Callable[..., Any]) -> BiasFunction:
    """Take fn(q_len, k_len), whose queries are the last ones, or fn(length).

    Args:
        fn: gives [H, Q, K], [1, H, Q, K], or one row of keys for all queries, [H, 1, K].

    Returns:
        The bias.

    Example:
        >>> row = lambda length: -0.5 * (length - 1 - torch.arange(length)).view(1, 1, -1)
        >>> from_lengths(row).ask((range(2), range(2))).tolist()
        [[[-0.5, -0.0], [-0.5, -0.0]]]
    """
    if len(required(fn)) == 1:
        return BiasFunction(lambda _, k: fn(len(k)), takes="length")
    return BiasFunction(lambda q, k: fn(len(q), len(k)), takes="lengths")


def from_score_mod(score_mod: Callable[..., Any], n_heads: int) -> BiasFunction:
    """Take a score_mod(score, b, h, q_idx, kv_idx) of FlexAttention, called with a score of 0.

    Args:
        score_mod: the function.
        n_heads: how many heads.

    Returns:
        The bias.

    Example:
        >>> bias = from_score_mod(lambda score, b, h, q_idx, kv_idx: score + (kv_idx - q_idx) / 2 ** (h + 1), n_heads=2)
        >>> bias.ask(([2], [0, 1, 2])).tolist()
        [[[-1.0, -0.5, 0.0]], [[-0.5, -0.25, 0.0]]]
    """
    zero, batch = torch.zeros(()), torch.zeros((), dtype=torch.int64)

    def one(head: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(score_mod(zero, batch, head, query, key))

    def call(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        heads = torch.arange(n_heads)
        return torch.stack([torch.stack([torch.stack([one(head, i, j) for j in k]) for i in q]) for head in heads])

    return BiasFunction(call, hides=True)


def from_additive_mask(fn: Callable[..., Any]) -> BiasFunction:
    """Take a mask that is added to the scores, with -inf (or the dtype's lowest number) at hidden keys, which are not compared.

    Args:
        fn: of positions or of lengths, as ``adapted`` tells by its signature.

    Returns:
        The bias.

    Example:
        >>> def mask(length):
        ...     places = torch.arange(length)
        ...     return (places[None, :] - places[:, None]).double().masked_fill(places[None, :] > places[:, None], -torch.inf)
        >>> from_additive_mask(mask).ask((range(2), range(2))).tolist()
        [[[0.0, nan], [-1.0, 0.0]]]
    """
    return dataclasses.replace(adapted(fn), hides=True)


def from_distance(fn: Callable[[torch.Tensor], Any]) -> BiasFunction:
    """Take fn(distance) -> [H, ...], distance = key position - query position.

    Args:
        fn: the function.

    Returns:
        The bias.

    Example:
        >>> from_distance(lambda distance: distance[None] / 2).ask(([2], [0, 1, 2])).tolist()
        [[[-1.0, -0.5, 0.0]]]
    """
    return BiasFunction(lambda q, k: fn(k[None, :] - q[:, None]))


def from_buckets(fn: Callable[[torch.Tensor], Any], *, query_minus_key: bool = False) -> BiasFunction:
    """Take fn(relative_position) -> numbers of buckets: the "bias" is then the number of the row that is read.

    Args:
        fn: of key position - query position, as T5 counts.
        query_minus_key: of query position - key position instead, as DeBERTa counts.

    Returns:
        The rows.

    Example:
        >>> from_buckets(lambda relative_position: relative_position.clamp(-1, 1) + 1).ask(([2], [0, 2, 9])).tolist()
        [[[0.0, 1.0, 2.0]]]
    """
    sign = -1 if query_minus_key else 1
    return BiasFunction(lambda q, k: fn(sign * (k[None, :] - q[:, None])), everywhere=True)


def from_vectors(fn: Callable[[torch.Tensor, torch.Tensor], Any]) -> BiasFunction:
    """Take fn(q_positions, k_positions) -> [Q, K, D], a vector for every pair, as Shaw's tables give.

    Args:
        fn: the function.

    Returns:
        The vectors' entries in place of heads: give the table to ``check_bias``.

    Example:
        >>> from_vectors(lambda q, k: torch.ones(len(q), len(k), 2)).ask(([0], [0, 1])).tolist()
        [[[1.0, 1.0]], [[1.0, 1.0]]]
    """
    return BiasFunction(lambda q, k: torch.as_tensor(fn(q, k)).movedim(-1, 0))


def adapted(fn: Any, n_heads: int | None = None) -> BiasFunction:
    """Choose the adapter by a function's signature, where that leaves no doubt.

    Args:
        fn: a ``BiasFunction``, a scheme of this library that looks at distances, or a function of positions, lengths, a distance,
            relative positions (buckets), or what FlexAttention passes to a score_mod.
        n_heads: how many heads, for a score_mod.

    Returns:
        The bias.

    Raises:
        ValueError: if the signature is none of these.

    Example:
        >>> adapted(lambda q_len, k_len: torch.zeros(1, q_len, k_len)).takes
        'lengths'
        >>> adapted(lambda a, b, c: None)
        Traceback (most recent call last):
        ValueError: fn: needed a function of (q_positions, k_positions), got one of (a, b, c); wrap it by an adapter: ...
    """
    if isinstance(fn, BiasFunction):
        return fn
    if isinstance(fn, DistanceScheme):
        return from_distance(fn.by_distance)
    try:
        names = [name.lower() for name in required(fn)]
    except (TypeError, ValueError):
        names = ["?"]
    if len(names) == 5 and names[0] == "score" and n_heads is not None:
        return from_score_mod(fn, n_heads)
    if len(names) == 2:
        return from_lengths(fn) if names[0] in QUERY_LENGTH_NAMES else BiasFunction(fn)
    if len(names) == 1 and names[0] in LENGTH_NAMES:
        return from_lengths(fn)
    if len(names) == 1 and names[0] in DISTANCE_NAMES:
        return from_distance(fn)
    if len(names) == 1 and names[0] in BUCKET_NAMES:
        return from_buckets(fn)
    raise ValueError(
        f"fn: needed a function of (q_positions, k_positions), got one of ({', '.join(names)}); wrap it by an adapter: "
        "from_lengths, from_score_mod, from_additive_mask, from_distance, from_buckets or from_vectors"
    )
