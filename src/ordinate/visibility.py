"""Which keys a query may see: causal order, windows, documents and masks, apart from any score."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch

from ordinate.checks import described, whole_number
from ordinate.fitting import check_device
from ordinate.positions import INTEGER_DTYPES, Packed, Positions, as_tensor, check, count, ends, same

DocumentIds = torch.Tensor | tuple[torch.Tensor, torch.Tensor] | Packed
Order = tuple[Positions, Positions]
Hides = Literal["nothing", "the future", "some keys"]


class Sight(NamedTuple):
    """What decides, beside the scores, which keys a query may see; each part may be absent."""

    causal: bool
    window: int | None
    order: Order
    documents: tuple[torch.Tensor, torch.Tensor] | None
    mask: torch.Tensor | None


def sight_of(
    q: torch.Tensor,
    k: torch.Tensor,
    *,
    causal: bool,
    window: int | None,
    order: Order,
    document_ids: DocumentIds | None,
    mask: torch.Tensor | None,
) -> Sight:
    """Check and gather what ``attend`` was told about who may see whom.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        causal: hide what comes later in the order.
        window: hide what is this far or farther in the order.
        order: (q_order, k_order).
        document_ids: tensor, pair, packed documents or None.
        mask: bool, floating or None.

    Returns:
        The parts, checked.

    Raises:
        ValueError: if one of them does not fit q and k.

    Example:
        >>> x = torch.zeros(1, 1, 3, 2)
        >>> sight = sight_of(x, x, causal=True, window=None, order=(range(3), range(3)), document_ids=None, mask=None)
        >>> hides(sight)
        'the future'
    """
    if not isinstance(causal, bool):
        raise ValueError(f"causal: needed True or False, got {described(causal)}; a mask of your own is mask=")
    if window is not None:
        window = whole_number("window", window, least=1)
    if not isinstance(order, tuple) or len(order) != 2:
        raise ValueError(f"order: needed a pair (q_order, k_order), got {described(order)}")
    check_places(q, k, *order, prefix="order ")
    return Sight(causal, window, order, document_pair(document_ids, q, k), _mask(mask, q, k))


def hides(sight: Sight) -> Hides:
    """Tell from settings and ranges alone, without reading a tensor, what is hidden.

    Args:
        sight: from ``sight_of``.

    Returns:
        "nothing", "the future" (queries and keys are one rising range under a causal mask), or "some keys".

    Example:
        >>> hides(Sight(True, None, (range(5, 6), range(6)), None, None))
        'nothing'
    """
    if sight.window is not None or sight.documents is not None or sight.mask is not None:
        return "some keys"
    if not sight.causal:
        return "nothing"
    rows, columns = sight.order
    if not (isinstance(rows, range) and isinstance(columns, range)):
        return "some keys"
    if same(rows, columns):
        return "the future" if rows.step > 0 else "some keys"
    all_before = count(rows) > 0 and count(columns) > 0 and ends(columns)[1] <= ends(rows)[0]
    return "nothing" if all_before else "some keys"


def visible_keys(sight: Sight, device: torch.device) -> torch.Tensor | None:
    """Which keys each query may see, without a floating mask's part.

    Args:
        sight: from ``sight_of``.
        device: where the result is made.

    Returns:
        bool, broadcastable to [B, H, Q, K], or None where nothing is hidden.

    Example:
        >>> visible_keys(Sight(True, 2, (range(3), range(3)), None, None), torch.device("cpu")).int()
        tensor([[[[1, 0, 0],
                  [1, 1, 0],
                  [0, 1, 1]]]], dtype=torch.int32)
    """
    parts: list[torch.Tensor] = []
    if sight.causal or sight.window is not None:
        rows, columns = (as_tensor(places, device) for places in sight.order)
        ahead = columns[..., None, :] - rows[..., :, None]
        if sight.causal:
            parts.append(four_dims(ahead <= 0, batched=True))
        if sight.window is not None:
            parts.append(four_dims(ahead.abs() < sight.window, batched=True))
    if sight.documents is not None:
        rows, columns = sight.documents
        parts.append(four_dims(columns[..., None, :] == rows[..., :, None], batched=True))
    if sight.mask is not None and sight.mask.dtype == torch.bool:
        parts.append(four_dims(sight.mask))
    visible: torch.Tensor | None = None
    for part in parts:
        visible = part if visible is None else visible & part
    return visible


def check_places(
    q: torch.Tensor, k: torch.Tensor, q_positions: Positions, k_positions: Positions, prefix: str = "", axes: int | None = 1
) -> None:
    """Refuse query and key positions that do not fit q and k.

    Args:
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].
        q_positions: one position a query.
        k_positions: one position a key.
        prefix: put before the names in errors.
        axes: coordinates of a token; None if any number will do.

    Raises:
        TypeError: if one is neither a range nor a tensor.
        ValueError: if dtype, shape, length, batch or device does not fit.

    Example:
        >>> x = torch.zeros(1, 1, 3, 2)
        >>> check_places(x, x, range(3), range(2))
        Traceback (most recent call last):
        ValueError: k_positions: needed 3 positions, one a token, got 2
    """
    for name, places, x in (("q_positions", q_positions, q), ("k_positions", k_positions, k)):
        check(places, name=prefix + name, axes=axes)
        # only where it is needed: a comparison with the heads would bind an exported graph to lengths other than theirs
        turned = count(places) != x.shape[2] and count(places) == x.shape[1]
        hint = f"; {name[0]} {list(x.shape)} is read as [B, H, T, D]" if turned else ""
        check(places, name=prefix + name, length=x.shape[2], batch=x.shape[0], axes=axes, hint=hint)
        check_device(prefix + name, places, x)


def four_dims(x: torch.Tensor, batched: bool = False) -> torch.Tensor:
    """Bring a mask or bias to four dimensions.

    Args:
        x: up to four dimensions.
        batched: three dimensions are [B, Q, K], so the heads come second.

    Returns:
        A view.

    Shape:
        [Q, K] -> [1, 1, Q, K]

    Example:
        >>> four_dims(torch.zeros(2, 3, 3), batched=True).shape
        torch.Size([2, 1, 3, 3])
    """
    if batched and x.ndim == 3:
        return x[:, None]
    while x.ndim < 4:
        x = x[None]
    return x


def document_pair(given: DocumentIds | None, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Give the document ids of queries and of keys, whichever way they were told.

    Args:
        given: a tensor for both, a pair, packed documents, or None.
        q: queries [B, H, Q, D].
        k: keys [B, H_kv, K, D].

    Returns:
        (q_ids, k_ids), checked, or None.

    Raises:
        ValueError: if they are no integers, or do not fit q and k.

    Example:
        >>> x = torch.zeros(1, 1, 2, 4)
        >>> [ids.tolist() for ids in document_pair(torch.tensor([0, 1]), x, x)]
        [[0, 1], [0, 1]]
    """
    if given is None:
        return None
    if isinstance(given, Packed):
        given = given.document_ids
    pair = given if isinstance(given, tuple) else (given, given)
    if len(pair) != 2:
        raise ValueError(f"document_ids: needed a tensor or a pair (q_ids, k_ids), got {len(pair)} tensors")
    for name, ids, x in (("queries", pair[0], q), ("keys", pair[1], k)):
        if not isinstance(ids, torch.Tensor) or ids.dtype not in INTEGER_DTYPES:
            raise ValueError(f"document_ids: needed integer tensors [T] or [B, T], got {described(ids)}")
        hint = "; give a pair (q_ids, k_ids) where queries and keys differ" if q.shape[2] != k.shape[2] else ""
        try:
            check(ids, name=f"document_ids of the {name}", length=x.shape[2], batch=x.shape[0])
        except ValueError as fault:
            raise ValueError(f"{fault}{hint}") from None
        check_device("document_ids", ids, x)
    return pair


def _mask(mask: torch.Tensor | None, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor | None:
    if mask is None:
        return None
    if not isinstance(mask, torch.Tensor) or not (mask.dtype == torch.bool or mask.is_floating_point()):
        hint = "; a mask of 0 and 1 is mask.bool()" if isinstance(mask, torch.Tensor) else ""
        raise ValueError(
            f"mask: needed a tensor, bool (true = may attend) or floating (added to scores), got {described(mask)}{hint}"
        )
    full = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    if mask.ndim not in (0, 1, 2, 4) or not _broadcasts(mask.shape, full):  # three dims could be [B, Q, K] or [H, Q, K]
        raise ValueError(
            f"mask: needed a shape that broadcasts to [B, H, Q, K] = {list(full)}, got {list(mask.shape)}; "
            "a padding mask [B, K] is mask[:, None, None, :], a mask [B, Q, K] is mask[:, None], a bias [H, Q, K] is mask[None]"
        )
    if mask.device != q.device:
        raise ValueError(f"mask: needed device {q.device}, got {mask.device}")
    return mask


def _broadcasts(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    """A plain loop with `==`: sizes may be symbolic, and not every compiler traces `all` and `in` over those."""
    for got, need in zip(shape, full[len(full) - len(shape) :], strict=True):  # noqa: SIM110
        if not (got == 1 or got == need):
            return False
    return True
