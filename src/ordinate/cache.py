"""What one attention layer keeps of earlier tokens while decoding."""

from __future__ import annotations

import torch

from ordinate.checks import described
from ordinate.positions import Positions, as_tensor, check, count, ends


class KeyValueCache:
    """Keys, values and key positions of one attention layer, for decoding; keys are held turned, so each is turned once.

    Under ``torch.compile`` give positions as tensors: a range of the growing length compiles again at every step.

    Example:
        >>> cache = KeyValueCache()
        >>> k = v = torch.zeros(1, 2, 3, 4)
        >>> _, _, positions = cache.extend(k, v, range(3))
        >>> _, _, positions = cache.extend(k, v, range(3, 6))
        >>> positions
        range(0, 6)
    """

    def __init__(self) -> None:
        self.k: torch.Tensor | None = None
        self.v: torch.Tensor | None = None
        self.positions: Positions | None = None

    def extend(self, k: torch.Tensor, v: torch.Tensor, positions: Positions) -> tuple[torch.Tensor, torch.Tensor, Positions]:
        """Add new keys and values.

        Args:
            k: turned keys.
            v: values.
            positions: where the keys are.

        Returns:
            All keys, all values and all positions so far.

        Shape:
            [B, H_kv, new, D] -> [B, H_kv, all, D]
        """
        self.k, self.v, self.positions = joined = self.joined(k, v, positions)
        return joined

    def joined(self, k: torch.Tensor, v: torch.Tensor, positions: Positions) -> tuple[torch.Tensor, torch.Tensor, Positions]:
        """Give what ``extend`` would give, and change nothing.

        Args:
            k: turned keys.
            v: values.
            positions: where the keys are.

        Returns:
            All keys, all values and all positions.

        Shape:
            [B, H_kv, new, D] -> [B, H_kv, all, D]

        Raises:
            ValueError: if the new keys or values do not fit the old ones.
        """
        check(positions, length=k.shape[2], batch=k.shape[0], axes=None)
        if self.k is None or self.v is None or self.positions is None:
            return k, v, positions
        for name, old, new in (("k", self.k, k), ("v", self.v, v)):
            if old.dtype != new.dtype or old.shape[:2] != new.shape[:2] or old.shape[3] != new.shape[3]:
                raise ValueError(f"cache: needed {name} like the cached {described(old)}, got {described(new)}")
        old_places = self.positions
        if isinstance(old_places, range) and isinstance(positions, range) and _overlap(old_places, positions):
            raise ValueError(
                f"cache: needed positions after the cached {old_places}, got {positions}; is the cache another layer's?"
            )
        places = _joined(old_places, positions, k.device)
        return torch.cat((self.k, k), dim=2), torch.cat((self.v, v), dim=2), places


def _joined(old: Positions, new: Positions, device: torch.device) -> Positions:
    """Two ranges that touch stay a range."""
    # A range made while compiling would be a constant: every token would compile again.
    if isinstance(old, range) and isinstance(new, range) and not torch.compiler.is_compiling() and _touch(old, new):
        return range(old.start, new.stop)
    first, second = as_tensor(old, device), as_tensor(new, device)
    axes = max(places.shape[-1] if places.ndim == 3 else 1 for places in (first, second))
    if axes > 1:
        first, second = _in_rows(first, axes), _in_rows(second, axes)
    elif first.ndim != second.ndim:
        first, second = (places if places.ndim == 2 else places[None] for places in (first, second))
    if first.ndim > 1:
        rows = max(len(first), len(second))
        first, second = first.expand(rows, *first.shape[1:]), second.expand(rows, *second.shape[1:])
    return torch.cat((first, second), dim=-2 if axes > 1 else -1)


def _in_rows(places: torch.Tensor, axes: int) -> torch.Tensor:
    """[B, T, A] of positions in any form: a token of text has one number for all coordinates."""
    if places.ndim == 3:
        return places
    return (places if places.ndim == 2 else places[None])[..., None].expand(-1, -1, axes)


def _overlap(old: range, new: range) -> bool:
    return count(old) > 0 and count(new) > 0 and ends(new)[0] <= ends(old)[1]


def _touch(old: range, new: range) -> bool:
    return old.step == new.step == 1 and old.stop == new.start
