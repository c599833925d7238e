"""All schemes side by side: built for a model by name, and the table that compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from ordinate.attention import AttentionScheme
from ordinate.checks import whole_number
from ordinate.schemes import AXES_SCHEMES, SCHEMES, ALiBi, Deberta, Learned, Rope, Shaw, Sinusoidal, T5Bias, require_name
from ordinate.schemes.deberta_table import DebertaTable
from ordinate.schemes.learned import Overflow
from ordinate.schemes.transformer_xl import TransformerXL
from ordinate.sites import Facts, InputScheme, QueryKeyScheme, ScoreScheme

WIDEST, LONGEST, SHORTEST = 2**16, 2**17, 4
SHAW_DISTANCE = 16  # the paper's k for translation
NO_SCHEME = Facts(
    parameters="0", max_length="none", encodes="nothing", source="Kazemnejad et al. 2023, https://arxiv.org/abs/2305.19466"
)


class Parts(NamedTuple):
    """What a model needs of a scheme: one of the two schemes or neither, and DeBERTa's table."""

    input_scheme: InputScheme | None = None
    attention_scheme: AttentionScheme | None = None
    table: DebertaTable | None = None


@dataclass(frozen=True)
class SchemeRow:
    """One scheme of the table."""

    name: str
    scheme: str
    applied: str
    parameters: str
    count: int
    max_length: str
    encodes: str
    source: str


def build(name: str, *, d_model: int, n_heads: int, max_length: int, causal: bool, overflow: Overflow = "error") -> Parts:
    """Build a scheme by name, in the settings that its paper or first checkpoints have, for a model's sizes.

    Shaw clips at distance 16 and has values; T5 has 32 buckets up to 128; DeBERTa is v3's: half as many buckets as positions, a
    normalised table, both terms; ALiBi's slopes follow the paper; RoPE turns halves.

    Args:
        name: as in ``SCHEMES``.
        d_model: width of the model.
        n_heads: heads of a layer.
        max_length: training length: rows of a learned table, distances of DeBERTa's.
        causal: whether the model's attention is; T5's buckets depend on it.
        overflow: what a learned table does past its end.

    Returns:
        The parts; all None for "nope".

    Raises:
        ValueError: for an unknown name, or sizes that do not fit.

    Example:
        >>> build("alibi", d_model=64, n_heads=4, max_length=64, causal=True).attention_scheme
        ALiBi(n_heads=4, slopes='paper')
    """
    require_name(name)
    whole_number("max_length", max_length, least=1)
    if not isinstance(causal, bool):
        raise ValueError(f"causal: needed True or False, got {causal!r}")
    if whole_number("d_model", d_model, least=1) % whole_number("n_heads", n_heads, least=1):
        raise ValueError(f"n_heads: needed a number that divides d_model={d_model}, got {n_heads}")
    head_dim = d_model // n_heads
    match name:
        case "sinusoidal":
            return Parts(input_scheme=Sinusoidal(d_model=d_model))
        case "learned":
            return Parts(input_scheme=Learned(max_length=max_length, d_model=d_model, overflow=overflow))
        case "shaw":
            return Parts(attention_scheme=Shaw(head_dim=head_dim, max_distance=SHAW_DISTANCE, values=True))
        case "t5":
            return Parts(attention_scheme=T5Bias(n_heads=n_heads, bidirectional=not causal))
        case "deberta":
            return _deberta(d_model, n_heads, max_length)
        case "alibi":
            return Parts(attention_scheme=ALiBi(n_heads=n_heads, slopes="paper"))
        case "rope":
            return Parts(attention_scheme=Rope(head_dim=head_dim, layout="half"))
        case _:
            return Parts()


def _deberta(d_model: int, n_heads: int, max_length: int) -> Parts:
    scheme = Deberta(
        n_heads=n_heads,
        head_dim=d_model // n_heads,
        content_to_position=True,
        position_to_content=True,
        buckets=max(max_length // 2, 4),
        max_distance=max_length,
    )
    return Parts(attention_scheme=scheme, table=DebertaTable(d_model=d_model, span=scheme.span, layer_norm=True))


def schemes_table(*, d_model: int = 768, n_heads: int = 12, max_length: int = 512) -> list[SchemeRow]:
    """Compare all schemes: where each is applied, its parameters, its maximum length and what it encodes.

    Args:
        d_model: width of the model that parameters are counted for (BERT-base by default).
        n_heads: its heads.
        max_length: its training length.

    Returns:
        One row a scheme; ``parameters`` is the formula, ``count`` the number at these sizes, of one table (a layer's for Shaw and
        Transformer-XL).

    Raises:
        ValueError: if sizes do not fit, or are beyond those of any model.

    Example:
        >>> [(row.name, row.applied, row.count) for row in schemes_table() if row.count or row.name == "rope"]
        [('learned', 'input', 393216), ('shaw', 'scores', 4224), ('t5', 'scores', 384), ('deberta', 'scores', 393216),
         ('rope', 'queries and keys', 0), ('transformer_xl', 'scores', 591360)]
    """
    whole_number("d_model", d_model, least=1, most=WIDEST)
    whole_number("max_length", max_length, least=SHORTEST, most=LONGEST)
    if whole_number("n_heads", n_heads, least=1) > d_model or d_model % n_heads or d_model // n_heads % 2:
        raise ValueError(f"n_heads: needed an even width a head, d_model / n_heads, got {d_model} / {n_heads}")
    rows = []
    for name, kind in SCHEMES.items():
        with torch.device("meta"):  # tables are counted, not filled
            parts = build(name, d_model=d_model, n_heads=n_heads, max_length=max_length, causal=True)
        facts = NO_SCHEME if kind is None else kind.facts
        title = "None" if kind is None else kind.__name__
        rows.append(SchemeRow(name, title, applied_at(kind), facts.parameters, position_parameters(parts), *facts[1:]))
    for name, axial in AXES_SCHEMES.items():  # no table to count
        rows.append(SchemeRow(name, axial.__name__, applied_at(axial), axial.facts.parameters, 0, *axial.facts[1:]))
    with torch.device("meta"):
        large = TransformerXL(n_heads=n_heads, head_dim=d_model // n_heads, d_model=d_model, layout="sin_cos")
    count = position_parameters(Parts(attention_scheme=large))
    rows.append(SchemeRow("transformer_xl", "TransformerXL", "scores", large.facts.parameters, count, *large.facts[1:]))
    return rows


def applied_at(kind: type[Any] | None) -> str:
    """Say where a scheme is applied.

    Args:
        kind: a scheme's class, or None.

    Returns:
        "nowhere", "input", "queries and keys" or "scores".

    Example:
        >>> applied_at(Rope)
        'queries and keys'
    """
    if kind is None:
        return "nowhere"
    if issubclass(kind, InputScheme):
        return "input"
    return "queries and keys" if issubclass(kind, QueryKeyScheme) else "scores"


def position_parameters(parts: Parts) -> int:
    """Count the learned numbers that hold positions; a normalisation's are not among them.

    Args:
        parts: from ``build``.

    Returns:
        How many.

    Example:
        >>> position_parameters(build("learned", d_model=8, n_heads=2, max_length=4, causal=True))
        32
    """
    tables = [part for part in parts if isinstance(part, (InputScheme, QueryKeyScheme, ScoreScheme, DebertaTable))]
    return sum(weight.numel() for part in tables for weight in part.parameters(recurse=False))
