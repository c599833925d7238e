"""Tables, sinusoids and vectors of distances by model type: published files, what is said of them, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mutations import CONFIGS, accepted, refused, small

from ordinate.checkpoints.left_out import LEFT_OUT
from ordinate.checkpoints.reading import MODEL_TYPES
from ordinate.checkpoints.scheme_plans import LearnedPlan, ShawPlan, SinusoidalPlan, T5Plan, TransformerXLPlan


def published(name: str) -> Any:
    return json.loads(Path(CONFIGS / f"{name}.json").read_text())


def test_published_tables() -> None:
    assert accepted(published("albert_base_v1")).input == LearnedPlan(max_length=512, d_model=128)
    assert accepted(published("distilbert_base")).input == LearnedPlan(max_length=512, d_model=768)
    neo = accepted(published("gpt_neo_125m"))
    assert [layer.window for layer in neo.layers] == [None, 256] * 6
    assert {layer.softmax_scale for layer in neo.layers} == {1.0}
    mpnet = accepted(published("mpnet_base"))
    assert mpnet.input == LearnedPlan(max_length=512, d_model=768, padding_offset=2)
    assert {layer.scheme for layer in mpnet.layers} == {T5Plan(n_heads=12, n_buckets=32, max_distance=128, bidirectional=True)}


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_what_is_left_out_says_why(name: str) -> None:
    assert name not in MODEL_TYPES
    refused({"model_type": name}, f"model_type '{name}' is not in the table", LEFT_OUT[name])


def test_sinusoids_say_where_they_begin() -> None:
    plan = accepted(small("m2m_100", pad_token_id=1))
    assert plan.stack("encoder").position_ids.first == 2
    assert "real tokens are counted from 2, all but padding token 1" in plan.explain()
    assert "positions: 2, 3, 4, ... in order, after what is cached" in accepted(small("xglm")).explain()
    sinusoids = SinusoidalPlan(d_model=64, layout="sin_cos", spacing="open")
    assert [stack.input for stack in accepted(small("marian")).stacks] == [sinusoids, sinusoids]


def test_kinds_of_distances() -> None:
    learned = accepted(small("wav2vec2-bert", position_embeddings_type="relative_key"))
    assert learned.layers[3].scheme == ShawPlan(head_dim=16, max_distance=64, max_future=8, values=False, table=3)
    for model_type in ("wav2vec2-bert", "wav2vec2-conformer"):
        plan = accepted(small(model_type, position_embeddings_type="relative"))
        assert plan.layers[1].scheme == TransformerXLPlan(n_heads=4, head_dim=16, d_model=64, layout="interleaved", table=1)
        assert accepted(small(model_type, position_embeddings_type=None)).layers[1].scheme is None
        refused(small(model_type, position_embeddings_type="absolute"), "position_embeddings_type: needed one of")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attention_types": [[["global"], 3]]}, "attention_types: needed one entry for each of 4 layers, got 3"),
        ({"attention_layers": ["local"] * 5}, "attention_layers: needed one entry for each of 4 layers, got 5"),
        ({"attention_types": [[["global"], 4]], "attention_layers": ["local"] * 4}, "disagree"),
        ({"attention_types": [["global", 4]]}, "attention_types: needed a list"),
        ({"attention_types": [[["global"], 10**9]]}, "attention_types: needed a whole number from 0 to 10000"),
        ({"attention_types": [[["global", "local"], 9999]]}, "attention_types: needed at most 10000 layers, got more"),
        ({"attention_types": ["global"]}, "attention_types: needed pairs of a list and how often it is repeated"),
        ({"attention_types": [[["across"], 4]]}, "needed one of global, local"),
    ],
)
def test_layers_of_gpt_neo(change: dict[str, Any], said: str) -> None:
    refused(small("gpt_neo", **change), said)


@pytest.mark.parametrize(
    ("model_type", "change", "said"),
    [
        ("mobilebert", {"intra_bottleneck_size": 3}, "intra_bottleneck_size: needed at least the 4 heads, got 3"),
        ("camembert", {"pad_token_id": 511}, "max_position_embeddings: needed more than the 512 rows before position 0, got 512"),
        ("pegasus", {"d_model": 60, "encoder_attention_heads": 8}, "d_model: needed a multiple of the 8 heads"),
        ("m2m_100", {"d_model": 5, "encoder_attention_heads": 1, "decoder_attention_heads": 1}, "d_model: needed an even width"),
        ("xglm", {"pad_token_id": 2}, "pad_token_id: cannot be honoured"),
        ("speech_to_text", {"pad_token_id": 0}, "pad_token_id: cannot be honoured"),
        ("mpnet", {"relative_attention_num_buckets": 64}, "relative_attention_num_buckets: cannot be honoured"),
        ("electra", {"position_embedding_type": "relative_key"}, "position_embedding_type: needed one of absolute"),
        (
            "wav2vec2-bert",
            {"left_max_position_embeddings": 0, "position_embeddings_type": "relative_key"},
            "left_max_position_embeddings: needed a whole number from 1",
        ),
    ],
)
def test_what_cannot_be_honoured(model_type: str, change: dict[str, Any], said: str) -> None:
    refused(small(model_type, **change), said)
