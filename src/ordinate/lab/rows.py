"""The rows of a comparison: every scheme in the same small Transformer, and a recurrent network that needs none."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ordinate.catalogue import NO_SCHEME, applied_at, build, position_parameters
from ordinate.lab.model import Transformer
from ordinate.lab.recurrent import Recurrent
from ordinate.schemes import SCHEMES, require_name
from ordinate.schemes.learned import Overflow
from ordinate.sites import Facts

GRU = "gru"
ROWS = (*SCHEMES, GRU)
READING_ORDER = Facts(
    parameters="within its weights",
    max_length="any, with a weak memory",
    encodes="the order of reading",
    source="Cho et al. 2014, https://arxiv.org/abs/1406.1078",
)


@dataclass(frozen=True)
class Budget:
    """What every row gets alike: the model's size, the training and the lengths it is tested at."""

    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    batch_size: int = 24
    length: int = 64
    steps: int = 220
    learning_rate: float = 5e-3
    multiples: tuple[int, ...] = (1, 2, 4, 8)
    windows: int = 128
    overflow: Overflow = "wrap"

    @property
    def longest(self) -> int:
        """Longest context that is tested."""
        return self.length * max(self.multiples)


def require_row(name: str) -> str:
    """Check a row's name.

    Args:
        name: a scheme's, or "gru".

    Returns:
        The name.

    Raises:
        ValueError: if there is no such row.

    Example:
        >>> require_row("gru")
        'gru'
    """
    return require_name(name, (*ROWS,))


def build_row(
    name: str, budget: Budget, *, vocabulary_size: int, causal: bool, seed: int = 0
) -> tuple[Transformer | Recurrent, int]:
    """Build the model of a row.

    The scheme is built first, so that for every scheme the shared parts draw the same weights.

    Args:
        name: as in ``ROWS``.
        budget: sizes.
        vocabulary_size: number of tokens.
        causal: whether tokens see only those before them; a recurrent network always does.
        seed: of the initial weights.

    Returns:
        The model, and how many of its parameters hold positions.
    """
    require_row(name)
    torch.manual_seed(seed)
    if name == GRU:
        return Recurrent(vocabulary_size=vocabulary_size, d_model=budget.d_model, n_layers=budget.n_layers), 0
    d_model, n_heads = budget.d_model, budget.n_heads
    parts = build(name, d_model=d_model, n_heads=n_heads, max_length=budget.length, causal=causal, overflow=budget.overflow)
    torch.manual_seed(seed)
    model = Transformer(
        vocabulary_size=vocabulary_size,
        d_model=d_model,
        n_layers=budget.n_layers,
        n_heads=n_heads,
        causal=causal,
        input_scheme=parts.input_scheme,
        attention_scheme=parts.attention_scheme,
        table=parts.table,
    )
    return model, position_parameters(parts)


def facts_of(name: str) -> Facts:
    """Give what the table says of a row.

    Args:
        name: as in ``ROWS``.

    Returns:
        Its facts.

    Example:
        >>> facts_of("gru").encodes
        'the order of reading'
    """
    if name == GRU:
        return READING_ORDER
    kind = SCHEMES[name]
    return NO_SCHEME if kind is None else kind.facts


def site_of(name: str) -> str:
    """Say where a row's scheme is applied.

    Args:
        name: as in ``ROWS``.

    Returns:
        Words; "reading order" for the recurrent network.
    """
    return "reading order" if name == GRU else applied_at(SCHEMES[name])
