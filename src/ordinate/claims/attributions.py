"""Claims about who published what, held against the sources that the library's schemes name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from ordinate.claims import library
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.layers import Array

# Scheme, first author, year: as the note cites them.
CITED = (("sinusoidal", "Vaswani", 2017), ("shaw", "Shaw", 2018), ("alibi", "Press", 2022), ("rope", "Su", 2024))
TABLES = ("learned", "Gehring", 2017)


def scheme_sources() -> dict[str, str]:
    """Give the paper that each scheme names as its source.

    Returns:
        By scheme.

    Example:
        >>> scheme_sources()["shaw"]
        'Shaw, Uszkoreit and Vaswani 2018, https://arxiv.org/abs/1803.02155'
    """
    from ordinate.schemes import SCHEMES

    return {name: kind.facts.source for name, kind in SCHEMES.items() if kind is not None}


def _year(source: str) -> int:
    found = re.search(r"\b(19|20)\d\d\b", source)
    return int(found.group()) if found else 0


def _preprint_year(source: str) -> int:
    """The year in an arXiv number, as 21 in 2104.09864."""
    found = re.search(r"arxiv\.org/abs/(\d\d)\d\d\.", source)
    return 2000 + int(found.group(1)) if found else 0


def _papers(sources: Mapping[str, str] | None = None, relative: Callable[[Array, Array], Array] = library.shaw) -> Measured:
    """Compare first authors and years of four schemes; a preprint may be up to three years older.

    No other claim holds Shaw's scores against the paper's formula, q_i . a[clip(j - i, -m, m)] / sqrt(d): this one does.
    """
    known = scheme_sources() if sources is None else sources
    matching = [name for name, author, year in CITED if known[name].startswith(author) and year - 3 <= _year(known[name]) <= year]
    rope, alibi = _preprint_year(known["rope"]), _preprint_year(known["alibi"])
    q, table = np.random.default_rng(0).normal(size=(8, 4)), np.random.default_rng(1).normal(size=(7, 4))
    rows = np.clip(np.subtract.outer(np.arange(8), np.arange(8)).T, -3, 3) + 3
    off = float(np.abs(relative(q, table) - np.einsum("id,ijd->ij", q, table[rows]) / 2).max())
    agree = len(matching) == len(CITED) and off < 1e-12
    return judged(holds=agree, matching=len(matching), cited=len(CITED), rope=rope, alibi=alibi, ours=off)


def _tables_before(sources: Mapping[str, str] | None = None) -> Measured:
    """Compare the source of learned tables."""
    name, author, year = TABLES
    source = (scheme_sources() if sources is None else sources)[name]
    return judged(holds=source.startswith(author) and _year(source) == year, source=source)


CLAIMS = (
    Claim(
        name="papers",
        note=Note.REPRESENTATIONS,
        kind="attribution",
        statement=Text(
            "Sinusoids: Vaswani et al. 2017; relative representations: Shaw et al. 2018; ALiBi: Press, Smith and Lewis 2022; "
            "RoPE: Su et al. 2024.",
            "Синусоиды — Vaswani et al., 2017; относительные представления — Shaw et al., 2018; ALiBi — Press, Smith и Lewis, "
            "2022; RoPE — Su et al., 2024.",
        ),
        check=_papers,
        shown=Text(
            "{matching} of {cited} agree with the sources that the schemes name; preprints: RoPE {rope}, ALiBi {alibi}",
            "{matching} из {cited} совпадают с источниками, указанными у схем; препринты: RoPE — {rope}, ALiBi — {alibi}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Those are the years of publication: the preprints of RoPE and ALiBi are of 2021.",
            "Это годы публикации: препринты RoPE и ALiBi вышли в 2021 году.",
        ),
        schemes=("sinusoidal", "shaw", "alibi", "rope"),
    ),
    Claim(
        name="tables-before-transformers",
        note=Note.REPRESENTATIONS,
        kind="attribution",
        statement=Text(
            "Learned absolute positions in a model that is not recurrent: Gehring et al. 2017.",
            "Gehring et al., 2017: модель без рекуррентности с обучаемыми абсолютными позициями.",
        ),
        check=_tables_before,
        shown=Text("the source that the scheme names: {source}", "источник, указанный у схемы: {source}"),
        verdict=Verdict.HOLDS,
        schemes=("learned",),
    ),
)
