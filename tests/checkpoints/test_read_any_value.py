"""Any value under any key: a plan, or one line that names the key."""

from __future__ import annotations

import collections
import math
import types
from typing import Any

import numpy as np
import pytest
import torch
from mutations import (
    DICTIONARY_KEYS,
    HOSTILE,
    TOP_KEYS,
    accepted,
    outcome,
    refused,
    small,
)
from small_configs import GEMMA3, LLAMA, ORIGINAL, RULES, listed, ruled

from ordinate.checkpoints.plan import PositionPlan
from ordinate.checkpoints.reading import MODEL_TYPES
from ordinate.checkpoints.rope_rules import TYPES


def test_the_small_configurations_are_right() -> None:
    assert set(RULES) == set(TYPES)
    for model_type in MODEL_TYPES:
        accepted(small(model_type))
    for kind in RULES:
        accepted(ruled(kind))


# Any value under any key


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_any_value_under_every_key_that_is_read(model_type: str) -> None:
    keys = {entry.key for entry in accepted(small(model_type)).entries if "." not in entry.key}
    for key in sorted(keys):
        for _, value in listed(HOSTILE):
            outcome({**small(model_type), key: value})


@pytest.mark.parametrize("key", TOP_KEYS)
def test_any_value_under_every_key_of_positions(key: str) -> None:
    for number, (_, value) in enumerate(listed(HOSTILE)):
        model_type = MODEL_TYPES[(7 * number + len(key)) % len(MODEL_TYPES)]
        outcome({**small(model_type), key: value})
        outcome({**LLAMA, key: value})
        outcome({"model_type": "gemma3", "text_config": small("gemma3_text"), key: value})


@pytest.mark.parametrize("kind", RULES)
def test_any_value_in_a_rule(kind: str) -> None:
    for key in ("rope_type", "rope_theta", *RULES[kind]):
        for _, value in listed(HOSTILE):
            outcome(small("llama", max_position_embeddings=512, rope_scaling={"rope_type": kind, **RULES[kind], key: value}))


def test_any_value_under_any_key_of_the_dictionary() -> None:
    for at, key in enumerate(DICTIONARY_KEYS):
        for number, (_, value) in enumerate(listed(HOSTILE)):
            kind = list(RULES)[(at + number) % len(RULES)]
            config = small("llama", max_position_embeddings=512, rope_scaling={"rope_type": kind, **RULES[kind], key: value})
            outcome(config)


@pytest.mark.parametrize("key", ["rope_theta", "rope_scaling", "sliding_window", "head_dim", "layer_types", "no_rope_layers"])
@pytest.mark.parametrize(
    "value",
    [
        np.float32(10000.0),
        np.int64(8),
        np.float64(math.nan),
        np.bool_(True),
        np.ones(4),
        np.ones((4, 4)),
        np.zeros(0),
        np.array("x"),
        np.array([None, {}]),
        torch.tensor(8),
        torch.ones(4),
        torch.ones(4, 4),
        torch.ones(2, device="meta"),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}-{tuple(value.shape)}",
)
@pytest.mark.parametrize("model_type", ["llama", "smollm3", "falcon", "bert", "gemma3_text"])
def test_arrays_and_tensors(model_type: str, key: str, value: Any) -> None:
    outcome({**small(model_type), key: value})


@pytest.mark.parametrize(
    "config",
    [
        {**LLAMA, "rope_scaling": {"factor": np.ones(2)}, "rope_parameters": {"factor": np.ones(2)}},
        {**LLAMA, "rope_scaling": {"rope_type": "longrope", "short_factor": np.ones(8), "long_factor": np.ones(8), ORIGINAL: 64}},
        {**small("cohere2"), "rotary_pct": np.ones(2)},
        {**small("gpt2"), "partial_rotary_factor": np.ones(2)},
        {**small("modernbert"), "position_embedding_type": np.ones(2)},
        {"model_type": "gemma3", "text_config": small("gemma3_text", sliding_window=np.ones(2)), "sliding_window": np.ones(2)},
        {**small("mpt"), "attn_config": {"alibi": np.ones(2)}},
        {**small("deberta"), "pos_att_type": np.array(["c2p"])},
        {**LLAMA, "model_type": np.array(["llama"])},
    ],
)
def test_arrays_in_places_that_are_compared(config: dict[str, Any]) -> None:
    outcome(config)


class Unwritable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_a_value_that_cannot_be_written() -> None:
    refused({**LLAMA, "rope_theta": Unwritable()}, "rope_theta: needed a finite number")
    outcome({**LLAMA, "sliding_window": Unwritable()})


# Mappings of other classes


@pytest.mark.parametrize(
    "wrap",
    [
        collections.OrderedDict,
        collections.UserDict,
        collections.ChainMap,
        types.MappingProxyType,
        lambda config: collections.defaultdict(lambda: 5, config),
    ],
    ids=["OrderedDict", "UserDict", "ChainMap", "MappingProxyType", "defaultdict"],
)
def test_mappings_of_other_classes(wrap: Any) -> None:
    config = ruled("yarn")
    plan = accepted(wrap({**config, "rope_scaling": wrap(config["rope_scaling"])}))
    assert plan.layers == accepted(config).layers
    nested = {label: wrap({"rope_theta": 5e5}) for label in ("full_attention", "sliding_attention")}
    assert accepted(wrap(small("gemma3_text", rope_parameters=wrap(nested)))).layers[0].scheme.base == 5e5  # type: ignore[union-attr]


KEYS = (1, None, b"rope_theta", ("rope_theta",), 2.5, True, math.nan, frozenset({"a"}))


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_that_are_no_text(key: Any) -> None:
    assert accepted({**LLAMA, key: 1}).layers == accepted(LLAMA).layers
    for name in ("rope_scaling", "rope_parameters"):
        refused({**LLAMA, name: {key: 1}}, name)
        refused({**LLAMA, name: {"rope_type": "linear", "factor": 2.0, key: 1}}, name)
        refused({**LLAMA, name: {"full_attention": {key: 1}}}, f"{name}.full_attention")
        refused({**LLAMA, name: {"full_attention": {}, key: 1}}, name)
    outcome({**small("mpt"), "attn_config": {key: 1}})
    outcome({"model_type": "gemma3", "text_config": {**small("gemma3_text"), key: 1}, key: 2})


LINES = ("rope_\nx", "rope\u2028theta", "rope_theta\r", "position_\x1b[2Jx", "rope_\ud800", "rope_" + "x" * 10**5)


@pytest.mark.parametrize("key", LINES, ids=lambda key: ascii(key[:12]))
def test_keys_with_lines_and_long_keys(key: str) -> None:
    """Messages, warnings and explanations keep to their lines."""
    refused({**LLAMA, key: 1}, "is unknown")
    refused({**LLAMA, "rope_scaling": {key: 1}}, "rope_scaling: unknown keys")
    refused({**LLAMA, "rope_parameters": {"full_attention": {key: 1}}}, "rope_parameters.full_attention: unknown keys")
    refused({**LLAMA, "rope_parameters": {"full_attention": {}, key: 1}}, "rope_parameters: needed all keys inside")
    refused({**LLAMA, "rope_parameters": {"full_attention": {}, f"{key}_attention": {}, f"{key}_ attention": 2}}, "rope_parameters")
    for config in ({**LLAMA, "rope_parameters": {"full_attention": {}, f"{key}_attention": {}}}, {**LLAMA, key: None}):
        found = outcome(config)
        if isinstance(found, PositionPlan):
            lines = found.explain().split("\n")
            assert all(line.isprintable() and len(line) < 400 for line in lines)
    outcome({**LLAMA, "model_type": key})
    outcome({**GEMMA3, key: 1})
