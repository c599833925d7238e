"""Drawn mappings, and real configurations with seeded changes: each ends in a plan that can be built, or in one clear error."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from mutations import CHANGES, DICTIONARY_KEYS, PLAUSIBLE, TOP_KEYS, mutated, outcome, real_configs, small

from ordinate import checkpoints
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.plan import PositionPlan, StackPlan
from ordinate.checkpoints.reading import MODEL_TYPES

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.integers(),
    st.floats(),
    st.floats(0.5, 64.0),
    st.text(max_size=12),
    st.sampled_from(PLAUSIBLE),
)
KEYS = st.one_of(st.sampled_from(DICTIONARY_KEYS), st.sampled_from(TOP_KEYS), st.text(max_size=12))
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(KEYS, inner, max_size=5)), max_leaves=12
)
RULES = st.fixed_dictionaries(
    {"rope_type": st.sampled_from(("yarn", "llama3", "longrope", "dynamic", "linear", "default", "proportional"))},
    optional={
        "factor": st.floats(0.5, 64.0),
        "original_max_position_embeddings": st.integers(0, 9000),
        "low_freq_factor": st.floats(0.0, 8.0),
        "high_freq_factor": st.floats(0.0, 8.0),
        "beta_fast": st.floats(0.0, 64.0),
        "beta_slow": st.floats(0.0, 64.0),
        "attention_factor": st.floats(0.0, 4.0),
        "attn_factor": st.floats(0.0, 4.0),
        "mscale": st.floats(0.0, 2.0),
        "mscale_all_dim": st.floats(0.0, 2.0),
        "rope_theta": st.floats(0.0, 1e9),
        "partial_rotary_factor": st.floats(0.0, 1.5),
        "short_factor": st.lists(st.floats(0.5, 64.0), min_size=7, max_size=9),
        "long_factor": st.lists(st.floats(0.5, 64.0), min_size=7, max_size=9),
        "truncate": st.booleans(),
    },
)
TYPES = st.sampled_from(MODEL_TYPES)
KINDS = ("plan", "not JSON", "unknown type", "disagree", "unknown key", "not honoured", "missing", "wrong value", "other")


@hypothesis.given(TYPES, st.dictionaries(KEYS, VALUES, max_size=8))
def test_drawn_mappings(model_type: str, drawn: dict[str, Any]) -> None:
    outcome({**drawn, "model_type": model_type})
    outcome({**small(model_type), **drawn, "model_type": model_type})
    outcome({"model_type": model_type, "text_config": {**small(model_type), **drawn}})


@hypothesis.given(TYPES, RULES, st.sampled_from(("rope_scaling", "rope_parameters")), st.booleans())
def test_drawn_rules(model_type: str, rule: dict[str, Any], name: str, nested: bool) -> None:
    config = small(model_type, max_position_embeddings=4096)
    outcome({**config, name: {"full_attention": rule, "sliding_attention": rule} if nested else rule})


@hypothesis.given(TYPES, st.dictionaries(st.sampled_from(TOP_KEYS), st.sampled_from(PLAUSIBLE), max_size=4))
def test_drawn_settings(model_type: str, drawn: dict[str, Any]) -> None:
    outcome({**small(model_type), **drawn, "model_type": model_type})


def kind_of(found: PositionPlan | str) -> str:
    """What an outcome is, by the first of its faults."""
    if isinstance(found, PositionPlan):
        return "plan"
    said = re.split("; ", found, maxsplit=1)[0]
    words = {
        "not JSON": "needed JSON|needed a JSON|is there twice|nested too deeply",
        "unknown type": "is not in the table|model_type: needed",
        "disagree": "disagree",
        "unknown key": "is unknown|unknown keys",
        "not honoured": "cannot be honoured",
        "missing": "got nothing|got neither",
        "wrong value": "needed",
    }
    return next((kind for kind, pattern in words.items() if re.search(pattern, said)), "other")


def tally(count: int, seed: int, folder: Path) -> tuple[Counter[str], Counter[str], list[str]]:
    """Outcomes by kind, first words of refusals, and what broke the rule."""
    kinds: Counter[str] = Counter()
    words: Counter[str] = Counter()
    broken = []
    for number, (name, changed) in enumerate(mutated(count, seed)):
        source: Any = changed
        if isinstance(changed, str):
            source = folder / name
            source.write_text(changed, encoding="utf-8")
        try:
            found = outcome(source)
        except Exception as fault:  # the list of all of them is what helps
            broken.append(f"{number} {name}: {type(fault).__name__}: {fault!s:.200}")
            continue
        kinds[kind_of(found)] += 1
        if isinstance(found, str):
            words[re.split(r"[ ;]", found.partition(": ")[2], maxsplit=1)[0].strip(":'")] += 1
    return kinds, words, broken


def test_changed_configurations(tmp_path: Path) -> None:
    kinds, _, broken = tally(600, 20, tmp_path)
    assert not broken, "\n".join(broken)
    assert sum(kinds.values()) == 600
    assert not kinds["other"]
    assert min(kinds[kind] for kind in KINDS if kind != "other") >= 3, kinds


@pytest.mark.slow
def test_ten_thousand_changed_configurations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds, words, broken = tally(10_000, 21, tmp_path)
    with capsys.disabled():
        print("\n" + ", ".join(f"{kind} {kinds[kind]}" for kind in KINDS) + f", broken {len(broken)}")
        print("first words of refusals: " + ", ".join(f"{word[:40]!r} {count}" for word, count in words.most_common(40)))
    assert not broken, f"{len(broken)} of 10000:\n" + "\n".join(broken[:40])
    assert sum(kinds.values()) == 10_000


def test_the_same_seed_gives_the_same_configurations() -> None:
    one, other, different = (repr(list(mutated(40, seed))) for seed in (1, 1, 2))
    assert one == other != different


def test_every_change_changes_something() -> None:
    real = real_configs()
    changed = dict.fromkeys(CHANGES, 0)
    for number, config in enumerate(real.values()):
        for change in changed:
            copied = _copied(config)
            change(copied, random.Random(number))
            changed[change] += repr(copied) != repr(config)
    assert min(changed.values()) > len(real) / 4, changed


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


# The rule can be broken: each fault in the code is found


def test_a_fault_of_another_kind_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fault(*_: object, **__: object) -> None:
        raise KeyError("layer_types")

    monkeypatch.setattr(Fields, "fault", fault)
    _, _, broken = tally(60, 20, tmp_path)
    assert len(broken) > 10
    assert "KeyError" in broken[0]


@pytest.mark.parametrize("ending", ["\n", " in two\u2028lines", "x" * 1000])
def test_a_message_without_bounds_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str) -> None:
    right = Fields.fault
    monkeypatch.setattr(Fields, "fault", lambda self, key, message, **named: right(self, key, message + ending, **named))
    assert len(tally(60, 20, tmp_path)[2]) > 10


def test_a_plan_that_cannot_be_built_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def build(self: StackPlan) -> None:
        raise ValueError(f"rotary_dim: needed an even number, got {len(self.layers)}")

    monkeypatch.setattr(StackPlan, "build", build)
    assert len(tally(60, 20, tmp_path)[2]) > 5


def test_a_number_that_is_not_finite_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from ordinate.checkpoints import rotary_models

    monkeypatch.setattr(rotary_models, "_softmax_scale", lambda *_: math.nan)
    assert isinstance(checkpoints.read(small("llama")), PositionPlan)
    with pytest.raises(AssertionError):
        outcome(small("llama"))
