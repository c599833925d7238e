"""A model that is checked: called always in the same way, whatever its forward names things."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import nn

from ordinate.testing.models.forms import BLOCK_FORMS, MASK_FORMS, POSITION_FORMS, cache_of, logits_of
from ordinate.testing.models.names import Names

# Of the largest logit. Another order of sums costs 30 layers 3e-6, a fault of positions more than 1e-4.
TOLERANCE = 2e-5
STRICT = 1e-6  # where the same operators run on the same numbers, and nothing but memory's alignment differs
LONGEST = 256  # tokens in one call


class Cached(Protocol):
    """How a model is asked that keeps keys and values in its own way.

    The cache is None for a sequence's first tokens, and after that what the call before gave back.
    """

    def __call__(self, ids: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        """Give logits [B, T, vocabulary] for ids [B, T], which follow those in the cache, and the cache with them in it."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model, and how it takes what it is asked.

    Attributes:
        model: ids [B, T] to logits [B, T, V], in evaluation mode.
        names: of its arguments.
        vocabulary: ids are smaller.
        maximum: longest sequence that it declares or takes, None if unknown.
        trained: length up to which a length-dependent rule changes nothing, None if it is the maximum.
        limit: tokens that one call may have here.
        rule: the kind of fault that its length-dependent rule has, if its configuration declares such a rule.
        make: makes another model of the same settings.
        cached: asks it with a cache, in place of its forward.
        given: ids to use, in place of random ones.
        mask: name in MASK_FORMS, None if no form fits.
        block: name in BLOCK_FORMS, None if no form fits.
        positions: name in POSITION_FORMS, None if no form fits.
        first: position of a sequence's first token.
    """

    model: Callable[..., Any]
    names: Names
    vocabulary: int = 2
    maximum: int | None = None
    trained: int | None = None
    limit: int = LONGEST
    rule: str | None = None
    make: Callable[[], nn.Module] | None = None
    cached: Cached | None = None
    given: torch.Tensor | None = None
    mask: str | None = None
    block: str | None = None
    positions: str | None = None
    first: int = 0

    # What it is

    @property
    def module(self) -> nn.Module | None:
        """The model, if it is a module."""
        return self.model if isinstance(self.model, nn.Module) else None

    @property
    def of_transformers(self) -> bool:
        """Whether it is a model of transformers."""
        package = sys.modules.get("transformers")
        return package is not None and isinstance(self.model, package.PreTrainedModel)

    @property
    def length(self) -> int:
        """Tokens of a short call."""
        return min(8, self.limit)

    def fresh(self, *, own_weights: bool = False) -> Subject:
        """Give the same with a copy of the model, which remembers nothing of later calls; a function is itself.

        Args:
            own_weights: whether the copy has weights of its own, to be changed, or shares them.

        Returns:
            The subject.
        """
        if self.module is None:
            return self
        shared = {} if own_weights else {id(weight): weight for weight in self.module.parameters()}
        return dataclasses.replace(self, model=copy.deepcopy(self.module, shared))

    # What it is given

    def rows(self, count: int, length: int, *, start: int = 0) -> torch.Tensor:
        """Give ids [count, length], other ones in every row, the same at every call."""
        device = next((parameter.device for parameter in self.module.parameters()), None) if self.module is not None else None
        if self.given is not None:
            places = torch.arange(length) % self.given.shape[1]
            rows = [self.given[row % len(self.given), places.roll(row)] for row in range(start, start + count)]
        else:
            low = 3 if self.vocabulary > 8 else 0  # the first ones are padding, begin and end in most models
            seeds = [torch.Generator().manual_seed(row) for row in range(start, start + count)]
            rows = [torch.randint(low, self.vocabulary, (length,), generator=seed) for seed in seeds]
        return torch.stack(rows).to(device)

    def at(self, ids: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Give positions [B, T] in order, counted from ``start``."""
        return torch.arange(start, start + ids.shape[1], device=ids.device).expand(ids.shape)

    # What it says

    @torch.no_grad()
    def logits(
        self,
        ids: torch.Tensor,
        *,
        positions: torch.Tensor | None = None,
        real: torch.Tensor | None = None,
        visible: torch.Tensor | None = None,
        documents: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Give logits [B, T, V], for ids with these positions, real tokens [B, T], visible keys [B, T, T] and documents."""
        named = self._named(ids, positions, documents)
        if self.names.use_cache:
            named["use_cache"] = False  # with an empty cache, transformers takes no positions that start again for documents
        if real is None and visible is None and documents is None and positions is not None and self.of_transformers and self.mask:
            real = torch.ones_like(ids, dtype=torch.bool)  # else positions that do not follow each other count as documents
        if visible is not None and self.block is not None:
            named[str(self.names.mask)] = BLOCK_FORMS[self.block](visible)
        elif real is not None and self.mask is not None:
            named[str(self.names.mask)] = MASK_FORMS[self.mask](real)
        return logits_of(self.model(ids, **named)).float()

    @torch.no_grad()
    def step(
        self,
        ids: torch.Tensor,
        cache: Any,
        *,
        done: int = 0,
        positions: torch.Tensor | None = None,
        real: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, Any]:
        """Give logits for ids that follow ``done`` tokens in a cache, and the cache; ``real`` is of all tokens."""
        if self.cached is not None:
            logits, cache = self.cached(ids, cache)
            return logits_of(logits).float(), cache
        if positions is None and self.names.needs_positions:
            positions = self.at(ids, done)
        named = self._named(ids, positions, None)
        if real is not None and self.mask is not None:
            named[str(self.names.mask)] = MASK_FORMS[self.mask](real)
        if self.names.use_cache:
            named["use_cache"] = True
        name = str(self.names.cache)
        output = self.model(ids, **{name: cache}, **named)
        return logits_of(output).float(), cache_of(output, name)

    def decoded(self, ids: torch.Tensor, chunks: tuple[int, ...]) -> list[torch.Tensor]:
        """Give logits of chunks of tokens, one after the other with a cache."""
        found, cache, done = [], None, 0
        for chunk in chunks:
            logits, cache = self.step(ids[:, done : done + chunk], cache, done=done)
            found.append(logits)
            done += chunk
        return found

    def _named(self, ids: torch.Tensor, positions: torch.Tensor | None, documents: torch.Tensor | None) -> dict[str, Any]:
        named: dict[str, Any] = {}
        if positions is None and self.names.needs_positions:
            positions = self.at(ids)
        if positions is not None:
            named[str(self.names.positions)] = POSITION_FORMS[self.positions or "[B, T]"](positions + self.first)
        if documents is not None:
            named[str(self.names.documents)] = documents
        return named


def difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """Give how far logits are from others, as a part of the largest; infinite where one of them is no number.

    Args:
        one: logits.
        other: of the same shape.

    Returns:
        max |one - other| / max |other|.

    Example:
        >>> difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        0.5
    """
    if one.shape != other.shape or not bool(one.isfinite().all()) or not bool(other.isfinite().all()):
        return float("inf")
    return float((one - other).abs().max() / other.abs().max().clamp(min=1e-30))


def same(one: torch.Tensor, other: torch.Tensor, tolerance: float = TOLERANCE) -> bool:
    """Whether logits are equal but for rounding.

    Args:
        one: logits.
        other: of the same shape.
        tolerance: part of the largest.

    Returns:
        Whether they are.

    Example:
        >>> same(torch.tensor([1.0]), torch.tensor([1.00001]))
        True
    """
    return difference(one, other) <= tolerance


def shown(logits: torch.Tensor) -> str:
    """Show the first logits of the last token.

    Args:
        logits: [B, T, V].

    Returns:
        A line.

    Example:
        >>> shown(torch.zeros(1, 2, 5))
        '[0.0000, 0.0000, 0.0000, ...]'
    """
    row = logits[0, -1, :3].tolist()
    return f"[{', '.join(f'{number:.4f}' for number in row)}{', ...' if logits.shape[-1] > 3 else ''}]"


def apart(expected: torch.Tensor, actual: torch.Tensor) -> tuple[str, str]:
    """Show logits where they differ most.

    Args:
        expected: [B, T, V].
        actual: of the same shape.

    Returns:
        Two lines; where shapes differ, the first logits of the last token of each.

    Example:
        >>> apart(torch.zeros(1, 2, 5), torch.tensor([[[0.0] * 5, [0.0, 0.0, 0.0, 0.0, 1.0]]]))
        ('token 1: [0.0000, 0.0000, 0.0000, 0.0000, 0.0000]', 'token 1: [0.0000, 0.0000, 0.0000, 0.0000, 1.0000]')
    """
    if expected.shape != actual.shape:
        return shown(expected), shown(actual)
    moved = (actual - expected).abs().nan_to_num(nan=float("inf"))[0]
    token = int(moved.amax(dim=-1).argmax())
    entries = sorted(moved[token].argsort(descending=True)[:5].tolist())
    whole = len(entries) == expected.shape[-1]
    told = f"token {token}" if whole else f"token {token}, logits {', '.join(map(str, entries))}"
    first, second = ([f"{number:.4f}" for number in each[0, token, entries].tolist()] for each in (expected, actual))
    return f"{told}: [{', '.join(first)}]", f"{told}: [{', '.join(second)}]"
