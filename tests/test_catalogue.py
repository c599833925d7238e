"""The table of schemes against numbers worked out by hand, and formulas against the schemes that they speak of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ordinate.catalogue import Parts, applied_at, build, position_parameters, schemes_table
from ordinate.schemes import AXES_SCHEMES, LARGE_SCHEMES, SCHEMES, Shaw, T5Bias
from ordinate.schemes.deberta_table import DebertaTable
from ordinate.sites import Facts

# BERT-base: width 768, 12 heads of 64, 512 positions.
BASE = {
    "nope": ("None", "nowhere", 0),
    "sinusoidal": ("Sinusoidal", "input", 0),
    "learned": ("Learned", "input", 512 * 768),
    "shaw": ("Shaw", "scores", (2 * 16 + 1) * 64 * 2),
    "t5": ("T5Bias", "scores", 32 * 12),
    "deberta": ("Deberta", "scores", 2 * 256 * 768),
    "alibi": ("ALiBi", "scores", 0),
    "rope": ("Rope", "queries and keys", 0),
    "axial_rope": ("AxialRope", "queries and keys", 0),
    "multimodal_rope": ("MultimodalRope", "queries and keys", 0),
    "entrywise_rope": ("EntrywiseRope", "queries and keys", 0),
    "transformer_xl": ("TransformerXL", "scores", 768 * 770),
}
OTHER = {"transformer_xl": 48 * 50, "learned": 20 * 48, "shaw": 33 * 12 * 2, "t5": 32 * 4, "deberta": 2 * 10 * 48}
SIZES = {"d_model": 48, "n_heads": 4, "max_length": 20}


def test_table_for_bert_base() -> None:
    assert {row.name: (row.scheme, row.applied, row.count) for row in schemes_table()} == BASE
    assert [row.name for row in schemes_table()] == [*SCHEMES, *AXES_SCHEMES, *LARGE_SCHEMES]


def test_counts_follow_the_sizes() -> None:
    counts = {row.name: row.count for row in schemes_table(**SIZES)}
    assert counts == {name: OTHER.get(name, 0) for name in (*SCHEMES, *AXES_SCHEMES, *LARGE_SCHEMES)}


class Attributes(Mapping[str, Any]):
    """The attributes of what was built, as names for a formula."""

    def __init__(self, parts: Parts) -> None:
        self.parts = [part for part in parts if part is not None]

    def __getitem__(self, name: str) -> Any:
        values = [getattr(part, name) for part in self.parts if hasattr(part, name)]
        if not values:
            raise KeyError(name)
        assert values == values[:1] * len(values), name
        return values[0]

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", SCHEMES)
def test_formulas_in_the_schemes_own_attributes_are_the_counts(name: str, causal: bool) -> None:
    parts = build(name, causal=causal, **SIZES)
    (formula,) = (row.parameters for row in schemes_table() if row.name == name)
    assert eval(formula, {"__builtins__": {}}, Attributes(parts)) == position_parameters(parts) == OTHER.get(name, 0)


def test_formulas_hold_in_other_settings() -> None:
    for scheme, count in (
        (Shaw(head_dim=6, max_distance=5, values=False), 11 * 6),
        (Shaw(head_dim=6, max_distance=5, values=True), 11 * 6 * 2),
        (Shaw(head_dim=6, max_distance=5, values=True, max_future=2), 8 * 6 * 2),
        (T5Bias(n_heads=3, bidirectional=True, n_buckets=8, max_distance=16), 8 * 3),
    ):
        parts = Parts(attention_scheme=scheme)
        formula = type(scheme).facts.parameters
        assert eval(formula, {"__builtins__": {}}, Attributes(parts)) == position_parameters(parts) == count


@pytest.mark.parametrize("name", [*SCHEMES, *AXES_SCHEMES, *LARGE_SCHEMES])
def test_every_class_says_its_facts(name: str) -> None:
    kind = {**SCHEMES, **AXES_SCHEMES, **LARGE_SCHEMES}[name]
    (row,) = (row for row in schemes_table() if row.name == name)
    if kind is not None:
        # Its own, not those of a class that it derives from.
        assert isinstance(vars(kind)["facts"], Facts)
        assert (row.parameters, row.max_length, row.encodes, row.source) == kind.facts
    assert all(isinstance(value, str) and value for value in (row.parameters, row.max_length, row.encodes))
    authors, _, address = row.source.partition(", https://")
    assert authors[-4:].isdigit()
    assert address.startswith(("arxiv.org/abs/", "aclanthology.org/"))


def test_built_schemes_are_those_of_the_table_in_the_papers_settings() -> None:
    for name, kind in SCHEMES.items():
        built = [part for part in build(name, causal=True, **SIZES) if part is not None and not isinstance(part, DebertaTable)]
        assert [type(part) for part in built] == ([] if kind is None else [kind])
    for causal in (False, True):
        t5 = build("t5", causal=causal, **SIZES).attention_scheme
        assert (getattr(t5, "bidirectional"), getattr(t5, "n_buckets"), getattr(t5, "max_distance")) == (not causal, 32, 128)  # noqa: B009
    shaw = build("shaw", causal=True, **SIZES).attention_scheme
    assert repr(shaw) == "Shaw(head_dim=12, max_distance=16, values=True)"
    deberta = build("deberta", causal=True, **SIZES)
    assert deberta.table is not None
    assert (deberta.table.span, deberta.table.d_model, deberta.table.layer_norm) == (10, 48, True)
    for overflow in ("wrap", "clamp"):
        assert getattr(build("learned", causal=True, overflow=overflow, **SIZES).input_scheme, "overflow") == overflow  # noqa: B009


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"d_model": 10, "n_heads": 3}, r"n_heads: needed an even width a head, d_model / n_heads, got 10 / 3"),
        ({"n_heads": 24, "d_model": 24}, r"n_heads: needed an even width a head, d_model / n_heads, got 24 / 24"),
        ({"d_model": 0}, r"d_model: needed a whole number >= 1, got 0"),
        ({"n_heads": 0}, r"n_heads: needed a whole number >= 1, got 0"),
        ({"n_heads": 2.0}, r"n_heads: needed a whole number >= 1, got float 2\.0"),
        ({"max_length": 0}, r"max_length: needed a whole number >= 4, got 0"),
        ({"max_length": 3}, r"max_length: needed a whole number >= 4, got 3"),
        ({"d_model": 9, "n_heads": 3}, r"n_heads: needed an even width a head, d_model / n_heads, got 9 / 3"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schemes_table(**{**SIZES, **sizes})


def test_unknown_names_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"unknown scheme 'rop'; did you mean 'rope'\? There are nope, sinusoidal, .*, alibi, rope$"
    ):
        build("rop", causal=True, **SIZES)
    # The recurrent network is a row of the lab, no scheme.
    with pytest.raises(ValueError, match="unknown scheme 'gru'"):
        build("gru", causal=True, **SIZES)


def test_site_of_every_class() -> None:
    assert {name: applied_at(kind) for name, kind in {**SCHEMES, **AXES_SCHEMES, **LARGE_SCHEMES}.items()} == {
        name: row[1] for name, row in BASE.items()
    }
