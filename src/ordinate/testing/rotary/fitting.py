"""From an object of unknown signature to the one shape of the checks, where that is unambiguous."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ordinate.testing.rotary import adapters
from ordinate.testing.rotary.subject import RaisedError, Turn, called, drawn

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos", "pos_ids", "ids", "t", "token_positions", "seq_pos")
OFFSETS = (
    "offset",
    "start",
    "start_pos",
    "start_index",
    "seqlen_offset",
    "seqlen_offsets",
    "past_length",
    "position_offset",
    "past_len",
)
LENGTHS = ("seq_len", "length", "seq_length", "sequence_length")
KEYS = ("k", "key", "keys", "xk", "key_states", "query_key")
APPLIED = ("apply_rotary_pos_emb", "apply_rotary_emb", "apply_rotary", "apply_rope", "rotate")


def adapted(target: Any, head_dim: int) -> Turn:
    """Find the shape of a function or module by its arguments' names, and try it.

    Args:
        target: a function, or a module; one that gives cos and sin needs ``apply_rotary_pos_emb`` (or a like name) beside it.
        head_dim: entries of a head.

    Returns:
        A function (q, k, positions) -> (q, k) of [B, H, T, D].

    Raises:
        ValueError: if no usual signature fits, with what was tried.

    Example:
        >>> turn = adapted(lambda x, offset=0: x, 8)
        >>> turn(torch.ones(1, 1, 2, 8), torch.ones(1, 1, 2, 8), torch.arange(2))[0].shape
        torch.Size([1, 1, 2, 8])
    """
    tried = []
    for turn, name in _candidates(target):
        for shaped, axes in _shapes(turn):
            try:
                if _runs_along_the_sequence(shaped, head_dim):
                    return shaped
            except (RaisedError, ValueError) as fault:
                tried.append(f"{name} of {axes}: {fault}")
    for turn, _ in _candidates(target):  # positions that are ignored altogether run along nothing
        for shaped in (turn, adapters.without_heads(turn)):
            try:
                called(copy.deepcopy(shaped), *_ones(head_dim), torch.arange(3))
            except RaisedError:
                continue
            return shaped
    raise ValueError(
        "needed (q, k, positions), (x, positions), (x, offset) or a module that gives cos and sin beside apply_rotary_pos_emb; "
        f"wrap it with an adapter of ordinate.testing. Tried: {'; '.join(tried[:3]) or 'nothing, its arguments have other names'}"
    )


def _shapes(turn: Turn) -> list[tuple[Turn, str]]:
    """The axes that a function may have, the usual ones first."""
    by_rows = adapters.by_rows(turn)
    return [
        (turn, "[B, H, T, D]"),
        (adapters.sequence_first(turn), "[B, T, H, D]"),
        (by_rows, "[B, H, T, D], positions [B, T]"),
        (adapters.sequence_first(by_rows), "[B, T, H, D], positions [B, T]"),
        (adapters.without_heads(turn), "[B, T, D]"),
    ]


def parameters_of(target: Any) -> dict[str, inspect.Parameter]:
    """Give the arguments of a function, of a class, or of a module's forward.

    Args:
        target: any of these.

    Returns:
        By name, without ``self``.
    """
    called = target.forward if isinstance(target, torch.nn.Module) else target
    try:
        return dict(inspect.signature(called).parameters)
    except (TypeError, ValueError):
        return {}


def _candidates(target: Any) -> list[tuple[Turn, str]]:
    """Shapes that the names allow, the likeliest first."""
    names = [name for name, each in parameters_of(target).items() if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    at = next((name for name in names[1:] if name in POSITIONS), None)
    offset = next((name for name in names[1:] if name in OFFSETS), None)
    two = len(names) > 1 and (names[1] in KEYS or (names[0] in ("q", "query", "queries", "xq", "query_states")))
    found: list[tuple[Turn, str]] = []
    if at and two:
        found.append((adapters.named(target, at), f"(q, k, {at})"))
    if at and not two:
        apply = _apply_beside(target)
        if apply is not None:
            found.append((adapters.of_transformers(target, apply), f"(x, {at}) -> (cos, sin)"))
        found.append((adapters.by_tensor(adapters.named(target, at)), f"(x, {at})"))
    if offset:
        adapter = adapters.both_by_offset if two else adapters.by_offset
        found.append((adapter(adapters.named(target, offset)), f"({'q, k' if two else 'x'}, {offset})"))
    if not at and not offset:
        found += _without_names(target, names, two)
    return found


def _without_names(target: Any, names: Sequence[str], two: bool) -> list[tuple[Turn, str]]:
    """Shapes of functions whose arguments are no usual words for positions."""
    apply = _apply_beside(target)
    found: list[tuple[Turn, str]] = []
    if len(names) > 1 and names[1] in LENGTHS and apply is not None:
        return [(adapters.by_length(target, apply), f"({names[0]}, {names[1]}) -> (cos, sin)")]
    if names and names[0] in POSITIONS:
        return found if apply is None else [(adapters.cos_sin(target, apply), f"({names[0]}) -> (cos, sin)")]
    if len(names) > 2 and two:
        found.append((target, f"(q, k, {names[2]})"))
    elif len(names) > 1 and not two:
        found.append((adapters.by_tensor(target), f"(x, {names[1]})"))
    if names:
        found.append((adapters.counting_from_zero(target, both=two), "(q, k)" if two else "(x)"))
    return found


def _apply_beside(target: Any) -> Callable[..., Any] | None:
    """The function that turns with cos and sin: a method of the module, or a function of its file."""
    for name in APPLIED:
        if callable(own := getattr(target, name, None)):
            return own  # type: ignore[no-any-return]
    home = sys.modules.get(getattr(target, "__module__", "") or "")
    return next((getattr(home, name) for name in APPLIED if callable(getattr(home, name, None))), None)


def _ones(head_dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = drawn(1, 1, 1, head_dim).expand(1, 3, 3, head_dim).clone()
    return x, x.clone()


def _runs_along_the_sequence(turn: Turn, head_dim: int) -> bool:
    """Whether equal tokens come out different along the sequence, and equal along the heads."""
    q, _ = called(copy.deepcopy(turn), *_ones(head_dim), torch.arange(3))
    q = q.detach()
    along_tokens = (q[0, 0, 0] - q[0, 0, 2]).abs().max().item() > 1e-4
    along_heads = (q[0, 0, 2] - q[0, 2, 2]).abs().max().item() > 1e-4
    return along_tokens and not along_heads
