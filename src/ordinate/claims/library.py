"""What the library's own schemes do, as functions of NumPy arrays: checks hold them against formulas worked out apart from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.claims.layers import Array

if TYPE_CHECKING:
    import torch

    from ordinate.formula import Layout


def rope(x: Array, positions: Sequence[float], layout: Layout, *, transformed: bool = False) -> Array:
    """Turn vectors by ``Rope``.

    Args:
        x: vectors.
        positions: one a row.
        layout: "half" or "interleaved".
        transformed: under ``torch.func.vmap``, where PyTorch's own operators turn and no kernel.

    Returns:
        The turned vectors.

    Shape:
        [T, D] -> [T, D]

    Example:
        >>> for transformed in (False, True):
        ...     rope(np.array([[1.0, 2.0, 3.0, 4.0]]), [1], "half", transformed=transformed).round(6).tolist()
        [[-1.984111, 1.959901, 2.462378, 4.0198]]
        [[-1.984111, 1.959901, 2.462378, 4.0198]]
    """
    import torch

    from ordinate.schemes import Rope

    scheme = Rope(head_dim=x.shape[1], layout=layout)
    at = scheme.at(torch.tensor(list(positions)))

    def turn(vectors: torch.Tensor) -> torch.Tensor:
        return scheme.queries(vectors, at)

    given = torch.tensor(x)[None, None]
    turned: Array = (torch.func.vmap(turn)(given[None])[0] if transformed else turn(given))[0, 0].numpy()
    return turned


def t5_rows(distances: range, bidirectional: bool) -> list[int]:
    """Read from the bias of ``T5Bias`` which of 32 rows each distance uses: the table holds the numbers of its rows.

    Args:
        distances: key position - query position.
        bidirectional: as T5's encoder (True) or decoder.

    Returns:
        A row a distance.

    Example:
        >>> t5_rows(range(-9, 2, 5), True), t5_rows(range(-9, 2, 5), False)
        ([8, 4, 17], [9, 4, 0])
    """
    import torch

    from ordinate.schemes import T5Bias

    scheme = T5Bias(n_heads=1, bidirectional=bidirectional)
    with torch.no_grad():
        scheme.weight.copy_(torch.arange(32.0)[:, None])
    query, keys = torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, len(distances), 4)
    bias = scheme.bias(query, keys, scheme.at(range(1000, 1001), torch.tensor(distances) + 1000)).detach()
    return [int(row) for row in bias.flatten()]


def alibi(positions: range, n_heads: int) -> Array:
    """Give the bias of ``ALiBi`` with the paper's slopes.

    Args:
        positions: of queries and keys.
        n_heads: how many heads.

    Returns:
        The bias.

    Shape:
        [n_heads, T, T]

    Example:
        >>> alibi(range(3), 8)[0].tolist()
        [[-0.0, -0.5, -1.0], [-0.5, -0.0, -0.5], [-1.0, -0.5, -0.0]]
    """
    import torch

    from ordinate.schemes import ALiBi

    scheme, x = ALiBi(n_heads=n_heads, slopes="paper"), torch.zeros(1, n_heads, len(positions), 4, dtype=torch.float64)
    bias: Array = scheme.bias(x, x, scheme.at(positions, positions))[0].numpy()
    return bias


def wrapped(table: Array, positions: range) -> Array:
    """Look positions up in ``Learned`` with overflow="wrap".

    Args:
        table: its weights.
        positions: any, not negative.

    Returns:
        Their rows.

    Shape:
        [N, D] -> [T, D]

    Example:
        >>> wrapped(np.array([[1.0], [2.0]]), range(3)).tolist()
        [[1.0], [2.0], [1.0]]
    """
    import torch

    from ordinate.schemes import Learned

    scheme = Learned(max_length=len(table), d_model=table.shape[1], overflow="wrap").double()
    with torch.no_grad():
        scheme.weight.copy_(torch.tensor(table))
    rows: Array = scheme.at(positions).detach().numpy()
    return rows


def attended_causally(q: Array, k: Array, v: Array, *, by_range: bool = True) -> Array:
    """Give ``attend`` with causal=True and no scheme.

    Args:
        q: queries of one head.
        k: keys.
        v: values.
        by_range: positions as a range, for which PyTorch's own causal attention serves, or as a tensor, for which a mask is made.

    Returns:
        One vector a query.

    Shape:
        [T, D] -> [T, D]

    Example:
        >>> attended_causally(*np.eye(3)[:, None, :1], by_range=False).tolist()
        [[0.0]]
    """
    import torch

    from ordinate import attend

    places: Any = range(len(q)) if by_range else torch.arange(len(q))
    vectors = [torch.tensor(x)[None, None] for x in (q, k, v)]
    out: Array = attend(*vectors, scheme=None, q_positions=places, k_positions=places, causal=True)[0, 0].numpy()
    return out


def shaw(q: Array, table: Array) -> Array:
    """Give what ``Shaw`` adds to the scores of one head, keys and queries at the same positions.

    Args:
        q: queries.
        table: one row for every clipped distance.

    Returns:
        The scaled term of the scores.

    Shape:
        [T, D], [2 m + 1, D] -> [T, T]

    Example:
        >>> shaw(np.ones((2, 1)), np.array([[1.0], [2.0], [3.0]])).tolist()
        [[2.0, 3.0], [1.0, 2.0]]
    """
    import torch

    from ordinate.schemes import Shaw

    scheme = Shaw(head_dim=q.shape[1], max_distance=len(table) // 2, values=False).double()
    with torch.no_grad():
        scheme.key_weight.copy_(torch.tensor(table))
    x = torch.tensor(q)[None, None]
    bias: Array = scheme.bias(x, x, scheme.at(range(len(q)), range(len(q))))[0, 0].detach().numpy()
    return bias


def stretched(rule: str, frequencies: Array, base: float, times: float, trained: int) -> tuple[Array, float]:
    """Give what a rule of ``ordinate.scaling`` makes of RoPE's frequencies.

    Args:
        rule: "linear", "ntk" or "yarn".
        frequencies: as trained, the fastest first.
        base: that they were made from.
        times: how much longer the context is.
        trained: the trained length.

    Returns:
        The new frequencies, and the factor of cosines and sines.

    Raises:
        KeyError: for another name.

    Shape:
        [D / 2] -> [D / 2]

    Example:
        >>> stretched("linear", np.array([1.0, 0.01]), 10000.0, 4.0, 2048)[0].tolist()
        [0.25, 0.0025]
    """
    from ordinate import scaling

    rules = {
        "linear": scaling.Linear(factor=times),
        "ntk": scaling.NTK(alpha=times),
        "yarn": scaling.YaRN(factor=times, original_length=trained),
    }
    found = rules[rule].apply(frequencies.tolist(), base=base)
    return np.array(found.inverse_frequencies), found.magnitude
