"""Frequencies that depend on a sequence's length: chosen for each row by its own tokens; kept, changed or refused on a switch.

A row's length is the largest position or coordinate of its real tokens + 1 where the caller gives positions, and the number of its
real tokens where the model counts by itself: neither other rows nor padding nor earlier calls change it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import nn

from ordinate.attaching.angles import Angles, Scheme, wheel_of

OnSwitch = Literal["returned", "pin", "error"]
CACHE_NAMES = ("cache", "past_key_values", "layer_past")  # what models call a cache of keys
GIVEN_ALL_PLACES = ("qwen4_exp_text",)  # whose rotary module is given the positions of cached tokens, too
Table = tuple[torch.Tensor, torch.Tensor]


@dataclasses.dataclass(kw_only=True)
class Record:
    """What is known of the sequences in a cache: lengths at their first forward, and where all tokens are, [B, K] or [B, K, A]."""

    lengths: list[int]
    places: torch.Tensor


@dataclasses.dataclass(kw_only=True)
class Pass:
    """One forward: whether the model's own, its cache, mask [B, all tokens] and whether positions were given; what came of them."""

    inside: bool = False
    cache: Any = None
    mask: torch.Tensor | None = None
    given: bool = True
    record: Record | None = None
    lengths: list[int] = dataclasses.field(default_factory=list)
    keys: dict[str, Table] = dataclasses.field(default_factory=dict)


class Lengths:
    """Angles by the lengths of rows, for a model that has a rule which needs them.

    Args:
        angles: the model's frequencies, whose schemes have such a rule.
        on_switch: what happens when a sequence with cached keys grows into other frequencies.

    Example:
        >>> from ordinate import Rope
        >>> from ordinate.scaling import DynamicNTK
        >>> rope = Rope(head_dim=4, layout="half", scaling=DynamicNTK(factor=2.0, original_length=4), phases="float32")
        >>> angles = Angles({"full_attention": rope}, phases="float32", arithmetic="input", form="cos sin")
        >>> lengths, places = Lengths(angles, on_switch="pin"), torch.tensor([[0, 1, 2, 3], [0, 7, 8, 9]])
        >>> cos, sin = lengths(torch.zeros(2, 4, 8), places, None)
        >>> torch.equal(cos[:1], angles(torch.zeros(1, 4, 8), places[:1], None)[0])
        True
    """

    def __init__(self, angles: Angles, *, on_switch: OnSwitch) -> None:
        self.angles, self.on_switch = angles, on_switch
        self.records: WeakKeyDictionary[Any, Record] = WeakKeyDictionary()
        self.now = Pass()

    def enter(self, inputs: Mapping[str, Any]) -> None:
        """Begin a forward of the model with these inputs."""
        mask = inputs.get("attention_mask")
        self.now = Pass(
            inside=True,
            cache=next((inputs[name] for name in CACHE_NAMES if inputs.get(name) is not None), None),
            mask=mask if isinstance(mask, torch.Tensor) and mask.ndim == 2 else None,
            given=inputs.get("position_ids") is not None,
        )

    def leave(self) -> None:
        """End it."""
        self.now = Pass()

    def adopt(self, cache: Any) -> None:
        """Keep what is known of the sequences beside the cache that their keys go to; the model may have made it just now."""
        if self.now.record is None:
            raise ValueError("attach: needed the model's own forward, or its rotary module before its layers, got a layer alone")
        self.records[cache] = self.now.record

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # lengths are read
    def __call__(self, x: torch.Tensor, positions: torch.Tensor, layer_type: str | None) -> Any:
        """Give what the model's layers take for cos and sin."""
        label, places = self.angles.label(layer_type), self.angles.coordinates_last(positions)
        if not self.now.inside:
            self.now = Pass()  # a rotary module that is called by hand: nothing of the call before counts
        if self.now.record is None:
            self._begin(places)
        cos, sin = self._tables(label, _for_rows(places, len(self.now.lengths)))
        if self.on_switch == "returned" and self.now.record is not None:
            keys = self._tables(label, self.now.record.places)
            self.now.keys[label] = (keys[0].to(x.dtype), keys[1].to(x.dtype)) if self.angles.arithmetic != "float32" else keys
        return self.angles.handed_on(cos, sin, x.dtype)

    def _begin(self, places: torch.Tensor) -> None:
        """Find what is known of the rows, their lengths, and the lengths whose frequencies they have.

        Rows that share positions and have no mask are one row.
        """
        now = self.now
        past = 0 if now.cache is None else int(now.cache.get_seq_length())
        known = self.records.get(now.cache) if now.cache is not None and past else None
        if past and (known is None or known.places.shape[1] < past):
            raise ValueError(
                f"on_switch={self.on_switch!r}: needed a cache that was filled while attached, got one of {past} tokens that was "
                "not; begin with an empty cache"
            )
        rows = max(len(places), 1 if now.mask is None else len(now.mask), 1 if known is None else len(known.lengths))
        places = _for_rows(places, rows)
        if known is not None and len(known.lengths) != rows:
            known = Record(lengths=known.lengths * rows, places=_for_rows(known.places, rows))
        places = places if known is None else torch.cat((known.places[:, :past], places), dim=1)
        lengths = _row_lengths(now, places)
        if known is not None and self.on_switch == "error":
            self._check_switch(known.lengths, lengths)
        now.record = Record(lengths=lengths if known is None else known.lengths, places=places)
        now.lengths = now.record.lengths if self.on_switch == "pin" else lengths

    def _check_switch(self, before: list[int], after: list[int]) -> None:
        for row, (old, new) in enumerate(zip(before, after, strict=True)):
            for rope in self.angles.ropes.values():
                first, second = rope.at_length(old), rope.at_length(new)
                if first.inverse_frequencies != second.inverse_frequencies or first.magnitude != second.magnitude:
                    raise ValueError(
                        f"on_switch='error': needed sequences that keep their frequencies, got row {row} growing from {old} to "
                        f"{new} tokens, where {type(rope.scaling).__name__} has others than the keys in the cache; use 'returned' "
                        "or 'pin', or run the whole sequence without a cache"
                    )

    def _tables(self, label: str, places: torch.Tensor) -> Table:
        """Cos and sin [B, T, n], each row by its own frequencies."""
        rope = self.angles.ropes[label]
        lengths = [_settled(rope, length) for length in self.now.lengths]
        wheels = {length: wheel_of(rope.at_length(length), self.angles.phases) for length in set(lengths)}
        if len(wheels) == 1:
            return wheels[lengths[0]].cos_sin(places)
        rows = [wheels[length].cos_sin(places[row : row + 1]) for row, length in enumerate(lengths)]
        cos, sin = zip(*rows, strict=True)
        return torch.cat(cos), torch.cat(sin)


def _for_rows(places: torch.Tensor, rows: int) -> torch.Tensor:
    """[1, T] or [B, T], with coordinates or without: one for each row."""
    return places.expand(rows, *places.shape[1:])


def _settled(rope: Scheme, length: int) -> int:
    """One length for all that have the same frequencies, where that is known."""
    original = getattr(rope.scaling, "original_length", None)
    if rope.scaling is None or not rope.scaling.needs_length or (original is not None and length <= original):
        return 1
    return length


def _row_lengths(now: Pass, places: torch.Tensor) -> list[int]:
    """How long each row is, at least 1: patches of an image that come later need not be farther, so all tokens' places count."""
    mask = None if now.mask is None or len(now.mask) != len(places) else now.mask[:, : places.shape[1]]
    if mask is not None and not now.given:
        return [max(int(count), 1) for count in mask.ne(0).sum(dim=1).tolist()]
    ends = (places if places.ndim == 2 else places.amax(dim=-1)) + 1
    if mask is not None:
        ends = ends.masked_fill(mask.eq(0), 0)
    return [max(int(end), 1) for end in ends.amax(dim=1).tolist()]


class Entering:
    """Tells lengths of a forward's inputs. An object, which a deep copy of the model copies together with the lengths.

    Args:
        lengths: what is told.
        names: of the forward's arguments.

    Example:
        >>> from types import SimpleNamespace
        >>> told = SimpleNamespace(enter=print)
        >>> Entering(told, ["input_ids"])(nn.Identity(), (5,), {"cache": None})
        {'input_ids': 5, 'cache': None}
    """

    def __init__(self, lengths: Lengths, names: list[str]) -> None:
        self.lengths, self.names = lengths, names

    def __call__(self, _module: nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Begin."""
        self.lengths.enter({**dict(zip(self.names, positional, strict=False)), **named})


class Leaving:
    """Tells lengths that a forward has ended.

    Args:
        lengths: what is told.

    Example:
        >>> from types import SimpleNamespace
        >>> Leaving(SimpleNamespace(leave=lambda: print("ended")))(nn.Identity(), (), None)
        ended
    """

    def __init__(self, lengths: Lengths) -> None:
        self.lengths = lengths

    def __call__(self, _module: nn.Module, _positional: Any, _output: Any) -> None:
        """End."""
        self.lengths.leave()


def watch(owner: nn.Module, lengths: Lengths) -> None:
    """Let a model's forwards begin and end with these lengths.

    Args:
        owner: in whose forward the rotary modules run.
        lengths: told of each forward's cache, mask and positions.

    Example:
        >>> from ordinate import Rope
        >>> angles = Angles({"full_attention": Rope(head_dim=4, layout="half")}, phases="exact", arithmetic="input", form="cos sin")
        >>> owner = nn.Identity()
        >>> watch(owner, Lengths(angles, on_switch="pin"))
        >>> unwatch(owner)
        >>> len(owner._forward_pre_hooks)
        0
    """
    owner.register_forward_pre_hook(Entering(lengths, list(inspect.signature(owner.forward).parameters)), with_kwargs=True)
    owner.register_forward_hook(Leaving(lengths), always_call=True)


def unwatch(owner: nn.Module) -> None:
    """Take out what ``watch`` put in, from a model or a deep copy of it.

    Args:
        owner: any module.

    Example:
        >>> unwatch(nn.Identity())
    """
    for hooks, also in (
        (owner._forward_pre_hooks, (owner._forward_pre_hooks_with_kwargs,)),
        (owner._forward_hooks, (owner._forward_hooks_with_kwargs, owner._forward_hooks_always_called)),
    ):
        mine = [key for key, hook in hooks.items() if getattr(hook, "__module__", None) == __name__]
        for key in mine:
            del hooks[key]
            for other in also:
                other.pop(key, None)
