"""What attention and the schemes must give, from the definitions in ``ordinate.reference``: float64 loops that share no code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import ordinate
from cases import Case
from contract_tools import FEW, few, is_input, qkv, sizes, tokens, weights
from ordinate import reference


def rows_of(positions: Any, batch: int) -> list[list[float]]:
    """Positions as one Python list a batch row."""
    if isinstance(positions, range):
        return [list(positions)] * batch
    values = positions.tolist()
    return values if positions.ndim == 2 and len(values) == batch else [values[0] if positions.ndim == 2 else values] * batch


def expected_layer(
    case: Case, x: torch.Tensor, positions: Any, added: Any = 0.0, scale: float | None = None, **seen: Any
) -> torch.Tensor:
    """What ``layer`` must give, from the definitions in ``ordinate.reference``: float64, loops, no code of the fast forms."""
    out = []
    for row, places in enumerate(rows_of(positions, x.shape[0])):
        vectors = x[row].double().numpy()
        if is_input(case.make()):
            vectors = vectors + case.oracle(places)
        q, k, v = ((vectors @ weight.numpy()).reshape(len(places), -1, case.head_dim) for weight in weights(case))
        heads = (part.swapaxes(0, 1) for part in (q, k, v))
        out.append(expected_row(case, *heads, places, places, visible_pairs(places, places, row, **seen), added, scale))
    return torch.from_numpy(np.stack(out))


def expected_row(
    case: Case,
    q: Any,
    k: Any,
    v: Any,
    asked: Sequence[float],
    held: Sequence[float],
    visible: Any,
    added: Any = 0.0,
    scale: float | None = None,
) -> Any:
    """Attention of one batch row by definition: q [H, Q, D], k and v [H_kv, K, D] at the places ``asked`` and ``held``."""
    scheme, scale = case.make(), case.scale if scale is None else scale
    bias = np.zeros((case.n_heads, len(asked), len(held))) + added
    if isinstance(scheme, ordinate.ScoreScheme):
        bias = bias + expected_bias(case, q, k, asked, held, scale)
    if isinstance(scheme, ordinate.QueryKeyScheme):
        q, k = [case.oracle(head, asked) for head in q], [case.oracle(head, held) for head in k]
    group = case.n_heads // case.n_kv_heads

    def attended(values: Any) -> Any:
        heads = range(case.n_heads)
        return np.stack([reference.attention(q[h], k[h // group], values[h // group], scale, bias[h], visible) for h in heads])

    out = attended(v)
    if case.added is not None:
        # With the identity as values the output is the weights.
        out = out + case.added(attended([np.eye(len(held))] * case.n_kv_heads), asked, held)
    return out


def expected_bias(case: Case, q: Any, k: Any, asked: Sequence[float], held: Sequence[float], scale: float) -> Any:
    """The scheme's part of the scores of one batch row by definition, [H, Q, K]."""
    return case.oracle(q, k, asked, held) * (scale if case.content else 1.0)


def visible_pairs(
    asked: Sequence[float],
    held: Sequence[float],
    row: int = 0,
    *,
    causal: bool,
    window: int | None = None,
    document_ids: Any = None,
    mask: Any = None,
) -> Any:
    """Which keys each query sees, pair by pair; ids [B, T] and a padding mask [B, 1, 1, K]."""
    visible = np.ones((len(asked), len(held)), dtype=bool)
    for i, j in np.ndindex(visible.shape):
        ahead = held[j] - asked[i]
        later, far = causal and ahead > 0, window is not None and abs(ahead) >= window
        foreign = document_ids is not None and document_ids[row][i].item() != document_ids[row][j].item()
        masked = mask is not None and not mask[row, 0, 0, j].item()
        visible[i, j] = not (later or far or foreign or masked)
    return visible


def expected_acts(case: Case, positions: Any, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """What ``acts`` must give, from the definitions; contents are first rounded to the dtype."""
    scheme, (batch, length) = case.make(), sizes(positions)
    places, x = rows_of(positions, batch), tokens(case, batch, length, dtype)
    one_for_all = isinstance(positions, range) or positions.ndim == 1
    if scheme is None:
        return (expected_layer(case, x, positions, causal=True),)
    if is_input(scheme):
        vectors = torch.from_numpy(np.stack([case.oracle(row) for row in places]))
        return vectors[0] if one_for_all else vectors, x.double() + vectors
    q, k, _ = qkv(case, scheme, x, positions)
    if isinstance(scheme, ordinate.QueryKeyScheme):
        turned = [_turned(case, heads, places) for heads in (q, k)]
        return (*turned, *turned)
    q, k, asked, held, shares = (part.double().numpy() for part in (q, k, *few(case, positions, dtype)))
    pairs = list(enumerate(places))
    biases = [np.stack([expected_bias(case, q[b], held[b], row, FEW, case.scale) for b, row in pairs])]
    biases += [np.stack([expected_bias(case, asked[b], k[b], FEW, row, case.scale) for b, row in pairs])]
    if one_for_all and not case.content:
        biases = [bias[:1] for bias in biases]
    added = [] if case.added is None else [np.stack([case.added(shares[b], row, FEW) for b, row in pairs])]
    return tuple(torch.from_numpy(part) for part in (*biases, *added))


def _turned(case: Case, heads: torch.Tensor, places: list[list[float]]) -> torch.Tensor:
    rows = [[case.oracle(head.double().numpy(), row) for head in heads[b]] for b, row in enumerate(places)]
    return torch.from_numpy(np.array(rows).reshape(heads.shape))
