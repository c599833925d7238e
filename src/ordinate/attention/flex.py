"""Score schemes for PyTorch's FlexAttention: the bias is looked up where a score is made, so that no matrix of it is ever held.

    score_mod(score, b, h, i, j) = score + bias(b, h, i, j)

FlexAttention takes a function of one score and its indices and builds it into its kernel. It can look things up, but not multiply
vectors: a scheme fits if its biases are entries of tables that are small beside the scores. Schemes of distance alone have an entry
for every head and distance; Shaw's and DeBERTa's terms one for every query (or key) and row of the scheme's table, multiplied
beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

import torch
import torch.nn.functional as F

from ordinate.attention.band import one_step
from ordinate.autocast import without_autocast
from ordinate.checks import described, finite_number, whole_number
from ordinate.fitting import ScoreAt, check_device, check_scores
from ordinate.positions import Positions, as_tensor, count, described_places, ends
from ordinate.schemes.deberta import Deberta, bucket_ends
from ordinate.schemes.shaw import Shaw
from ordinate.schemes.transformer_xl import TransformerXL, TransformerXLHeads
from ordinate.sites import DistanceScheme, InputScheme, QueryKeyScheme, ScoreScheme

ScoreMod = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
# (batch, query, key) -> row of a table by distance
RowOf = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class Span(NamedTuple):
    """Distances lowest .. highest, key position - query position, of which a table has a row each.

    Example:
        >>> _span_of(ScoreAt(range(6, 8), range(8)))
        Span(lowest=-7, highest=1)
    """

    lowest: int
    highest: int


def score_mod(
    scheme: ScoreScheme,
    q: torch.Tensor,
    k: torch.Tensor,
    at: ScoreAt,
    *,
    scale: float | None = None,
    extras: Mapping[str, torch.Tensor] | None = None,
    farthest: int | None = None,
) -> ScoreMod:
    """Make the ``score_mod`` that adds a scheme's bias in ``torch.nn.attention.flex_attention.flex_attention``.

    score_mod(score, b, h, i, j) = score + bias[b, h, i, j], the bias of ``attend``: with ``scale=`` as below and the same keys
    hidden, flex_attention gives what ``attend`` gives. Causal order, windows and documents are the business of its ``block_mask``.
    Biases are float32, also for half-precision q and k; float64 for float64 q, which FlexAttention does not compile on the CPU.

    Make it anew for every q and k. What it holds: of a scheme of distance alone H numbers for every distance that ranges have or
    farthest allows; of Shaw and Deberta a number for every query (and key) and row of the table.

    On the CPU FlexAttention has no backward pass: PyTorch refuses q, k or v that require a gradient (NotImplementedError), and does
    not compile with weights that do unless under ``torch.no_grad()``. And the compiler fails there (PyTorch 2.13) on tables that it
    computes itself or whose sizes change: call ``score_mod`` outside of what is compiled, and compile with dynamic=False.

    Args:
        scheme: a scheme of distance alone (ALiBi, T5Bias, your own DistanceScheme), Shaw without values, or Deberta.
        q: queries, as flex_attention gets them.
        k: keys, likewise; other numbers of heads need its ``enable_gqa=True``.
        at: whole positions, from ``scheme.at``: ranges, [T] or [B, T].
        scale: what flex_attention gets as ``scale``, which the terms that Shaw and Deberta make of q and k carry as well; the
            scheme's softmax_scale if None. FlexAttention's own default is D^-0.5, which is not Deberta's.
        extras: tensors that the scheme's bias takes beside q, k and at, by name (DeBERTa's projected tables).
        farthest: the largest |key position - query position| among the keys that are not hidden. Schemes of distance alone need it
            where positions are tensors, whose values are not read; a pair that is farther apart and not hidden gets NaN.

    Returns:
        A function (score, b, h, q_idx, kv_idx) -> score.

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D]; five numbers -> one

    Raises:
        TypeError: if the scheme adds no bias to scores, adds more than that, or its bias is no entry of a small table.
        ValueError: if q, k, positions, extras or numbers do not fit, positions are fractional, or farthest is missing.

    Example:
        >>> from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        >>> from ordinate import ALiBi
        >>> alibi, q = ALiBi(n_heads=2, slopes=(0.5, 0.25)), torch.randn(1, 2, 128, 16)
        >>> mod = score_mod(alibi, q, q, alibi.at(range(128), range(128)))
        >>> mod(torch.tensor(1.0), *torch.tensor([0, 1, 7, 3]))  # head 1, query 7, key 3: 1 - 0.25 * 4
        tensor(0.)
        >>> causal = create_block_mask(lambda b, h, i, j: j <= i, None, None, 128, 128, device="cpu")
        >>> fast = torch.compile(flex_attention, dynamic=False)  # doctest: +SKIP
        >>> fast(q, q, q, score_mod=mod, block_mask=causal, scale=alibi.softmax_scale(16)).shape  # doctest: +SKIP
        torch.Size([1, 2, 128, 16])

    Reference:
        Dong et al. 2024, Flex Attention, https://arxiv.org/abs/2412.05496
    """
    if not isinstance(scheme, (DistanceScheme, Shaw, Deberta)) or (isinstance(scheme, Shaw) and scheme.values):
        _refuse(scheme)
    check_scores(q, k, at, scheme=type(scheme).__name__, n_heads=scheme.n_heads, head_dim=scheme.head_dim)
    for name, positions in (("q_positions", at.q_positions), ("k_positions", at.k_positions)):
        _check_places(name, positions, q)
    given = _checked_extras(scheme, extras)
    scale = scheme.softmax_scale(q.shape[-1]) if scale is None else finite_number("scale", scale)
    if isinstance(scheme, Deberta):
        return _of_deberta(scheme, q, k, at, scale, given)
    if isinstance(scheme, Shaw):
        return _of_shaw(scheme, q, at, scale)
    if one_step(*at):
        return _of_diagonals(scheme.diagonals(q, k, at), q)
    return _of_table(scheme, q, at, _span_of(at) or _given_span(farthest, at))


def _of_diagonals(table: torch.Tensor, q: torch.Tensor) -> ScoreMod:
    """Look up diagonal j - i of [H, Q + K - 1]."""
    lowest = _held(1 - q.shape[2], q)

    def mod(score: torch.Tensor, b: torch.Tensor, h: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
        return score + table[h, j - i - lowest]

    return mod


def _of_table(scheme: DistanceScheme, q: torch.Tensor, at: ScoreAt, span: Span) -> ScoreMod:
    """Look up the distance in a table of all in the span, between two NaNs."""
    # one query at 0 and a key at every distance, vectors of no width
    query, keys = q.new_empty(1, q.shape[1], 1, 0), q.new_empty(1, q.shape[1], span.highest - span.lowest + 1, 0)
    table = scheme.diagonals(query, keys, scheme.at(range(1), range(span.lowest, span.highest + 1)))
    table, row = F.pad(table, (1, 1), value=math.nan), _row_of(at, q, Span(span.lowest - 1, span.highest + 1))

    def mod(score: torch.Tensor, b: torch.Tensor, h: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        return score + table[h, row(b, i, j)]

    return mod


def _of_shaw(shaw: Shaw, q: torch.Tensor, at: ScoreAt, scale: float) -> ScoreMod:
    by_row, row = _products(q, shaw.key_weight, scale), _row_of(at, q, Span(-shaw.max_distance, shaw.max_future))

    def mod(score: torch.Tensor, b: torch.Tensor, h: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        return score + by_row[b, h, i, row(b, i, j)]

    return mod


def _of_deberta(
    deberta: Deberta, q: torch.Tensor, k: torch.Tensor, at: ScoreAt, scale: float, tables: Mapping[str, torch.Tensor]
) -> ScoreMod:
    # an empty bias: the scheme itself checks its tables
    deberta.bias(q[:, :, :0], k[:, :, :0], deberta.at(range(0), range(0)), **tables)
    span = _deberta_span(deberta, at)
    rows, place = deberta.rows(torch.arange(span.lowest, span.highest + 1, device=q.device)), _row_of(at, q, span)
    by_query = by_key = None
    if "keys" in tables:
        by_query = _products(q, tables["keys"].transpose(0, 1), scale)
    if "queries" in tables:
        by_key = _products(k.repeat_interleave(q.shape[1] // k.shape[1], dim=1), tables["queries"].transpose(0, 1), scale)

    def mod(score: torch.Tensor, b: torch.Tensor, h: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        row = rows[place(b, i, j)]
        if by_query is not None:
            score = score + by_query[b, h, i, row]
        return score if by_key is None else score + by_key[b, h, j, row]

    return mod


def _deberta_span(deberta: Deberta, at: ScoreAt) -> Span:
    """All distances, but those beyond the last that has a row of its own."""
    far = deberta.max_distance if deberta.buckets is None else bucket_ends(deberta.buckets, deberta.max_distance)[-1] + 1
    lowest, highest = _span_of(at) or (-far, far)
    return Span(max(-far, min(lowest, far)), max(-far, min(highest, far)))


def _products(vectors: torch.Tensor, table: torch.Tensor, scale: float) -> torch.Tensor:
    """Scaled products of every vector [B, H, T, D] with every row [rows, D] or [H, rows, D], in float32 or float64."""
    work = torch.promote_types(vectors.dtype, torch.float32)
    with without_autocast(vectors):
        return vectors.to(work) @ (scale * table.to(work)).mT


def _row_of(at: ScoreAt, q: torch.Tensor, span: Span) -> RowOf:
    """Where a pair's distance, cut to the span, stands in it."""
    q_places, k_places = (as_tensor(positions, q.device).expand(q.shape[0], -1) for positions in at)
    low, high = _held(span.lowest, q), _held(span.highest, q)

    def row(b: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        return (k_places[b, j] - q_places[b, i]).clamp(low, high) - low

    return row


def _held(number: int, q: torch.Tensor) -> torch.Tensor:
    """A number as a tensor: compilers compile again when a plain one changes, and the CPU's fails on what it computes of it."""
    return torch.full((), number, device=q.device)


def _span_of(at: ScoreAt) -> Span | None:
    """The distances between two ranges; None for tensors, whose values are not read."""
    rows, columns = at
    if not isinstance(rows, range) or not isinstance(columns, range):
        return None
    if not count(rows) or not count(columns):
        return Span(0, 0)
    (first_row, last_row), (first_column, last_column) = ends(rows), ends(columns)
    return Span(first_column - last_row, last_column - first_row)


def _given_span(farthest: int | None, at: ScoreAt) -> Span:
    if farthest is None:
        places = " and ".join(map(described_places, at))
        raise ValueError(
            f"farthest: needed the largest distance beside positions {places}, whose values are not read, got None; "
            "give the longest sequence's length, or positions as ranges"
        )
    farthest = whole_number("farthest", farthest)
    return Span(-farthest, farthest)


def _check_places(name: str, positions: Positions, q: torch.Tensor) -> None:
    check_device(name, positions, q)
    if isinstance(positions, torch.Tensor) and positions.is_floating_point():
        raise ValueError(
            f"{name}: needed whole positions (int32 or int64), got {described(positions)}; "
            "FlexAttention looks biases up by whole distances: attend takes fractional ones"
        )


def _checked_extras(scheme: ScoreScheme, extras: Mapping[str, torch.Tensor] | None) -> Mapping[str, torch.Tensor]:
    given = {} if extras is None else extras
    if not isinstance(given, Mapping) or set(given) != set(scheme.extras):
        wanted = " and ".join(scheme.extras) or "none"
        got = ", ".join(map(str, given)) if isinstance(given, Mapping) else described(given)
        raise ValueError(f"extras: needed {wanted} for {type(scheme).__name__}, got {got or 'none'}")
    return given


def _refuse(scheme: object) -> NoReturn:
    name = type(scheme).__name__
    if isinstance(scheme, QueryKeyScheme):
        needed = "a score scheme"
        why = "which turns queries and keys: give flex_attention scheme.queries(q, at) and scheme.keys(k, at), no score_mod"
    elif isinstance(scheme, InputScheme):
        needed, why = "a score scheme", "which acts at the input: call it on the embeddings once"
    elif isinstance(scheme, Shaw):
        needed, why = "one that only adds to scores", "whose value table (values=True) adds to the output; use attend"
    elif isinstance(scheme, (TransformerXL, TransformerXLHeads)):
        needed = "one whose bias is an entry of a small table"
        why = "whose queries meet every distance: that table is larger than the scores; use attend"
    else:
        needed, why = "a DistanceScheme, Shaw without values or Deberta", "whose bias may be no entry of a table; use attend"
    raise TypeError(f"scheme: needed {needed}, got {name}, {why}")
