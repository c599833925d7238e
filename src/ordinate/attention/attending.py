"""``attend``: attention with a positional scheme at its site. The only place that asks which site a scheme acts at.

out = softmax(scale * (q . k) + bias, over the keys that may be seen) v
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import torch

from ordinate.attention.choosing import with_bias, without_bias
from ordinate.autocast import autocast_is_on
from ordinate.checks import described, finite_number, probability
from ordinate.fitting import ScoreAt
from ordinate.positions import Packed, Positions, count, described_places, same
from ordinate.sites import InputScheme, QueryKeyScheme, ScoreScheme
from ordinate.visibility import DocumentIds, Order, Sight, check_places, sight_of

AttentionScheme = QueryKeyScheme | ScoreScheme


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    scheme: AttentionScheme | None,
    q_positions: Positions,
    k_positions: Positions,
    causal: bool,
    at: Any = None,
    order: Order | None = None,
    document_ids: DocumentIds | None = None,
    mask: torch.Tensor | None = None,
    window: int | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    extras: Mapping[str, torch.Tensor] | None = None,
) -> torch.Tensor:
    """Attention: softmax(scale * (q . k) + bias) v over the keys each query may see, with the scheme at its site.

    A key is hidden from a query if any of these says so: causal and its place is later; window and it is too far;
    another document; the mask. A query that sees nothing gets exactly 0, with gradient 0. Hidden keys and values must be finite.

    Biases of distance alone, windows and causal offsets over ranges of one step take O(Q + K) memory on the CPU; what has to be
    held entry by entry is held a block of rows at a time. There, but for float64, a bias that only falls with distance (ALiBi's)
    is dropped where it lies more than 60 below the largest one among the keys that every row may see: such a weight, 1e-26 of the
    largest one's unless the scores q . k differ by dozens, would be a number that processors multiply slowly.

    Args:
        q: queries.
        k: keys; H must be a multiple of H_kv (grouped-query attention).
        v: values, one a key.
        scheme: a query-key scheme, a score scheme, or None: then q and k are used as they are, and a cache may hold turned keys.
        q_positions: where the queries are: a range, [Q] or [B, Q].
        k_positions: where the keys are: a range, [K] or [B, K].
        causal: hide key j from query i when k_positions[j] > q_positions[i].
        at: only saves work: ``attention_at(...)`` computed once for all layers; (q_at, k_at) for query-key schemes.
        order: (q_order, k_order), compared in place of the positions by causal and window; needed there if a token has several
            coordinates.
        document_ids: tokens of different documents never see each other: [T] or [B, T], a pair for queries and keys, or what
            ``positions.packed`` gave, which is attended to document by document.
        mask: [Q, K], or four dims that broadcast to [B, H, Q, K]; bool (true = may attend) or floating (added to the scores).
        window: keys at a distance of ``window`` or more are hidden, so each causal query sees at most ``window`` keys.
        scale: factor of q . k (and of the terms that a scheme makes of q or k, as Shaw's); the scheme's softmax_scale, or D^-0.5
            without a scheme, if None.
        dropout: probability of dropping an attention weight; 0 outside training is up to the caller.
        extras: tensors that the scheme's bias takes beside q, k and at, by name (DeBERTa's projected tables).

    Returns:
        A tensor with v's width and q's dtype (autocast's dtype under autocast, as PyTorch's own attention).

    Shape:
        q [B, H, Q, D], k [B, H_kv, K, D], v [B, H_kv, K, E] -> [B, H, Q, E]

    Raises:
        TypeError: if the scheme acts at the input, or is none of ours.
        ValueError: if shapes, heads, dtypes, devices, positions, masks, extras or numbers do not fit.

    Example:
        >>> from ordinate import Rope
        >>> rope = Rope(head_dim=8, layout="half")
        >>> q, k, v = torch.randn(1, 4, 6, 8), torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8)
        >>> full = attend(q, k, v, scheme=rope, q_positions=range(6), k_positions=range(6), causal=True)
        >>> last = attend(q[:, :, 5:], k, v, scheme=rope, q_positions=range(5, 6), k_positions=range(6), causal=True)
        >>> torch.allclose(full[:, :, 5:], last, atol=1e-6)
        True

    Reference:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.1
    """
    _check_vectors(q, k, v)
    check_places(q, k, q_positions, k_positions, axes=1 if isinstance(scheme, ScoreScheme) else None)
    dropout = probability("dropout", dropout)
    if scale is not None:
        scale = finite_number("scale", scale, hint="; a learned scale multiplies q")
    order = _order(q_positions, k_positions, needed=causal or window is not None) if order is None else order
    sight = sight_of(q, k, causal=causal, window=window, order=order, document_ids=document_ids, mask=mask)
    score_scheme: ScoreScheme | None = None
    # isinstance and not `match`: the compiler of PyTorch 2.9 does not know class patterns.
    if isinstance(scheme, QueryKeyScheme):
        scale = scheme.softmax_scale(q.shape[-1]) if scale is None else scale
        at = attention_at(scheme, q_positions, k_positions, device=q.device) if at is None else at
        q_at, k_at = checked_at(at, q_positions, k_positions)
        q, k = scheme.queries(q, q_at), scheme.keys(k, k_at)
    elif isinstance(scheme, ScoreScheme):
        scale = scheme.softmax_scale(q.shape[-1]) if scale is None else scale
        if isinstance(at, ScoreAt):
            _same_places(at.q_positions, q_positions, "q")
            _same_places(at.k_positions, k_positions, "k")
        elif at is not None:
            raise ValueError(f"at: needed {type(scheme).__name__}.at(q_positions, k_positions), got {described(at)}")
        score_scheme = scheme
    elif scheme is None:
        if at is not None:
            raise ValueError(f"at: needed None without a scheme, got {type(at).__name__}; turn q and k first, or give the scheme")
        scale = q.shape[-1] ** -0.5 if scale is None else scale
    else:
        _refuse(scheme)
    _check_extras(scheme, extras)
    if isinstance(document_ids, Packed) and _go_by_document(sight, document_ids, q_positions, k_positions):
        return _by_document(q, k, v, score_scheme, document_ids.lengths, sight, scale, dropout, extras)
    if score_scheme is None:
        return without_bias(q, k, v, sight, scale, dropout)
    at = score_scheme.at(q_positions, k_positions) if at is None else at
    if score_scheme.added_values(at) is not None and v.shape[-1] != score_scheme.head_dim:
        raise ValueError(f"v: needed width {score_scheme.head_dim}, that of the values of {score_scheme!r}, got {v.shape[-1]}")
    return with_bias(q, k, v, score_scheme, at, sight, scale, dropout, extras)


def _order(q_positions: Positions, k_positions: Positions, *, needed: bool) -> Order:
    """The order that causal masks and windows count in: the positions themselves, where a token has one."""
    if not any(isinstance(places, torch.Tensor) and places.ndim == 3 for places in (q_positions, k_positions)):
        return q_positions, k_positions
    if needed:
        raise ValueError(
            "order: needed order=(q_order, k_order) beside positions with several coordinates, which have no earlier and later; "
            "range(n) is the order of a sequence"
        )
    return range(count(q_positions)), range(count(k_positions))


def _check_extras(scheme: object, extras: Mapping[str, torch.Tensor] | None) -> None:
    if extras is not None and not isinstance(extras, Mapping):
        raise ValueError(f"extras: needed a dict of tensors by name, got {described(extras)}")
    needed = scheme.extras if isinstance(scheme, ScoreScheme) else ()
    given = () if extras is None else tuple(extras)
    if set(needed) != set(given):
        name = "no scheme" if scheme is None else type(scheme).__name__
        wanted = " and ".join(needed) or "none"
        got = ", ".join(map(str, given)) or "none"
        raise ValueError(f"extras: needed {wanted} for {name}, got {got}")


def attention_at(
    scheme: AttentionScheme | None,
    q_positions: Positions,
    k_positions: Positions,
    *,
    device: torch.device | str | None = None,
) -> Any:
    """Compute what depends on positions alone, for ``attend(at=...)``: once a forward, shared by layers with equal schemes.

    Args:
        scheme: what the layers use.
        q_positions: where the queries are.
        k_positions: where the keys are; the same object as q_positions is computed once.
        device: the model's device, for ranges.

    Returns:
        (q_at, k_at) for a query-key scheme, the two checked positions for a score scheme, None without a scheme.

    Example:
        >>> from ordinate import Rope
        >>> q_at, k_at = attention_at(Rope(head_dim=8, layout="half"), range(5, 6), range(6))
        >>> q_at.cos.shape, k_at.cos.shape
        (torch.Size([1, 4]), torch.Size([6, 4]))
    """
    if scheme is None:
        return None
    if isinstance(scheme, ScoreScheme):
        return scheme.at(q_positions, k_positions)
    q_at = scheme.at(q_positions, device=device)
    return q_at, q_at if same(q_positions, k_positions) else scheme.at(k_positions, device=device)


def checked_at(at: Any, q_positions: Positions, k_positions: Positions) -> tuple[Any, Any]:
    """Refuse an ``at`` of a query-key scheme that is none, or was made for other positions (an old decoding step's, say).

    Two tensors are compared by shape only: their values are not read.

    Args:
        at: what came.
        q_positions: where the queries are.
        k_positions: where the keys are.

    Returns:
        q_at and k_at.

    Raises:
        ValueError: if it does not fit.

    Example:
        >>> from ordinate import Rope
        >>> checked_at(attention_at(Rope(head_dim=8, layout="half"), range(4), range(4)), range(5), range(5))
        Traceback (most recent call last):
        ValueError: at: needed what was made for q positions range(0, 5), got one for range(0, 4); ...
    """
    if type(at) is not tuple or len(at) != 2:
        raise ValueError(f"at: needed (q_at, k_at), as attention_at gives it, got {type(at).__name__}")
    q_at, k_at = at
    _same_places(q_at.positions, q_positions, "q")
    _same_places(k_at.positions, k_positions, "k")
    return q_at, k_at


def _same_places(made_for: Positions, given: Positions, side: str) -> None:
    if isinstance(made_for, torch.Tensor) and isinstance(given, torch.Tensor):
        fits = made_for.shape == given.shape
    else:
        fits = same(made_for, given)
    if not fits:
        raise ValueError(
            f"at: needed what was made for {side} positions {described_places(given)}, got one for {described_places(made_for)}; "
            "call attention_at again when positions change"
        )


def _by_document(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scheme: ScoreScheme | None,
    lengths: tuple[int, ...],
    sight: Sight,
    scale: float,
    dropout: float,
    extras: Mapping[str, torch.Tensor] | None,
) -> torch.Tensor:
    """Packed documents one by one: no [N, N] mask, and each takes the fastest path."""
    parts = []
    start = 0
    for length in lengths:
        place = slice(start, start + length)
        parts.append(
            attend(
                q[:, :, place],
                k[:, :, place],
                v[:, :, place],
                scheme=scheme,
                q_positions=range(length),
                k_positions=range(length),
                causal=sight.causal,
                window=sight.window,
                scale=scale,
                dropout=dropout,
                extras=extras,
            )
        )
        start += length
    return torch.cat(parts, dim=2)


def _go_by_document(sight: Sight, packed: Packed, q_positions: Positions, k_positions: Positions) -> bool:
    """Only where positions and order are the packed ones: then every document counts from 0 and no value must be read."""
    places = (q_positions, k_positions, *sight.order)
    return len(packed.lengths) > 0 and sight.mask is None and all(place is packed.positions for place in places)


def _refuse(scheme: object) -> NoReturn:
    name = type(scheme).__name__
    if isinstance(scheme, type):
        raise TypeError(f"scheme: needed a scheme, got the class {scheme.__name__}; build it first: {scheme.__name__}(...)")
    if isinstance(scheme, InputScheme):
        raise TypeError(
            f"scheme: needed a query-key or score scheme, got {name}, which acts at the input: "
            "call it on the embeddings once, scheme(x, positions), and give attend scheme=None"
        )
    raise TypeError(f"scheme: needed a query-key scheme, a score scheme or None, got {name}")


def _check_vectors(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.ndim != 4:
            raise ValueError(f"{name}: needed a floating tensor [B, H, T, D], got {described(x)}")
    if not q.dtype == k.dtype == v.dtype and not autocast_is_on(q.device):
        raise ValueError(f"q, k, v: needed one dtype, got {q.dtype}, {k.dtype}, {v.dtype}")
    if not q.device == k.device == v.device:
        raise ValueError(f"q, k, v: needed one device, got {q.device}, {k.device}, {v.device}")
    shapes = f"got q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)}"
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(f"q, k, v: needed q [B, H, Q, D], k [B, H_kv, K, D], v [B, H_kv, K, E], {shapes}")
    if q.shape[3] == 0:
        raise ValueError(f"q: needed a width D of at least 1, {shapes}")
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        raise ValueError(f"k: needed a number of heads that divides q's {q.shape[1]}, got {k.shape[1]}")
