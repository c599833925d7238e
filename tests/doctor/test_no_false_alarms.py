"""What must never be flagged: published files, the default configurations of transformers, two real checkpoints, seven cases."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkpoints_on_disk import LLAMA, found_in, frequencies, loud, row, table, written

from ordinate.checkpoints.sources import find_source
from ordinate.doctor.configuration import of_configuration

PUBLISHED = sorted((Path(__file__).parents[1] / "checkpoints" / "configs").glob("*.json"))
# Published files with an error, each with its reason.
DEFENDED_FILES = {
    "jina_embeddings_v2_base_en": "declares ALiBi for model type bert, which has none: right with its own code alone, unnamed here",
}
SECTIONS = "mrope_section shares out 32 of the 64 pairs: the published models declare a partial_rotary_factor of 0.5 beside it"
NO_SECTIONS = "no mrope_section: its module cannot be made without one"
NO_DICTIONARY = "no rope_parameters, which its module reads by layer type"
# Default configurations with an error or a warning, each with its reason: default values that fit no model.
DEFENDED = {
    "cohere_compass:CohereCompassConfig": ("ORD105", NO_DICTIONARY),
    "cohere_compass:CohereCompassTextConfig": ("ORD105", NO_DICTIONARY),
    "esm:EsmConfig": ("ORD103", "no pad_token_id, from which its positions are counted"),
    "glm46v:Glm46VConfig": ("ORD404", SECTIONS),
    "glm4v:Glm4vConfig": ("ORD404", SECTIONS),
    "glm4v:Glm4vTextConfig": ("ORD404", SECTIONS),
    "glm_image:GlmImageConfig": ("ORD404", SECTIONS),
    "glm_image:GlmImageTextConfig": ("ORD404", SECTIONS),
    "glmga:GlmgaConfig": ("ORD404", SECTIONS),
    "hunyuan_vl:HunYuanVLConfig": ("ORD404", NO_SECTIONS),
    "hunyuan_vl:HunYuanVLTextConfig": ("ORD404", NO_SECTIONS),
    "lfm2_moe:Lfm2MoeConfig": ("ORD105", "no layer_types: nothing says which layers attend"),
}


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_files(path: Path) -> None:
    assert bool(loud(found_in(path))) == (path.stem in DEFENDED_FILES)


def default_configurations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every configuration class of the installed transformers, with its default values, as it would be saved."""
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    for folder in pkgutil.iter_modules(transformers.models.__path__):
        package = importlib.import_module(f"transformers.models.{folder.name}")
        for file in pkgutil.iter_modules(getattr(package, "__path__", [])):
            if not file.name.startswith("configuration_"):
                continue
            module = importlib.import_module(f"{package.__name__}.{file.name}")
            for name, kind in vars(module).items():
                own = (
                    inspect.isclass(kind) and issubclass(kind, transformers.PreTrainedConfig) and kind.__module__ == module.__name__
                )
                if own and f"{folder.name}:{name}" not in NOT_MADE:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        yield f"{folder.name}:{name}", json.loads(json.dumps(kind().to_dict(), default=str))


NOT_MADE = ("gemma4_assistant:Gemma4AssistantConfig", "nougat:NougatConfig")  # they want arguments


def test_default_configurations() -> None:
    flagged, count = {}, 0
    for name, values in default_configurations():
        count += 1
        found = of_configuration(find_source(values))[0]
        codes = {each.code for each in found if each.severity != "note"}
        if codes:
            flagged[name] = codes
    import transformers

    if transformers.__version__.startswith("5.24."):
        assert count == 846
        assert flagged == {name: {code} for name, (code, _) in DEFENDED.items()}
    assert count > 300


def test_smollm2(smollm2_gguf: Path) -> None:
    assert loud(found_in(smollm2_gguf)) == []


def test_minilm(minilm_folder: Path) -> None:
    assert loud(found_in(minilm_folder)) == []


# The seven cases that look like bugs


def test_half_split_pairs_are_a_layout(tmp_path: Path) -> None:
    assert loud(found_in(written(tmp_path, LLAMA, {"rotary_emb.inv_freq": row(frequencies(1e4, 128))}))) == []


BLOOM = {"model_type": "bloom", "n_layer": 2, "n_head": 4, "hidden_size": 64}
MPT = {"model_type": "mpt", "n_layers": 2, "n_heads": 4, "d_model": 64, "attn_config": {"alibi": True}}


@pytest.mark.parametrize("alibi", [BLOOM, MPT])
def test_causal_alibi_of_any_form(alibi: dict[str, Any], tmp_path: Path) -> None:
    assert loud(found_in(written(tmp_path, alibi))) == []


@pytest.mark.parametrize("name", ["marian", "whisper", "m2m_100"])
def test_sine_block_then_cosine_block(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(name)
    assert loud(found_in(written(tmp_path, json.loads(config.to_json_string(use_diff=False))))) == []


@pytest.mark.parametrize("name", ["qwen2_vl", "qwen2_5_vl", "pixtral"])
def test_names_of_rows_and_columns(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(name)
    assert loud(found_in(written(tmp_path, json.loads(config.to_json_string(use_diff=False))))) == []


@pytest.mark.parametrize("heads", [3, 6, 12, 71])
def test_slopes_out_of_order(heads: int, tmp_path: Path) -> None:
    config = {"model_type": "bloom", "n_layer": 2, "n_head": heads, "hidden_size": 64 * heads}
    assert loud(found_in(written(tmp_path, config))) == []


def test_left_padding_with_rope(tmp_path: Path) -> None:
    tokenizer = {"padding_side": "left", "model_max_length": 131072}
    assert loud(found_in(written(tmp_path, {**LLAMA, "pad_token_id": 0}, tokenizer_config=tokenizer))) == []


def test_keys_that_nobody_knows(tmp_path: Path) -> None:
    """DeepSeek-R1's distilled Qwen3 cancels YaRN's default: 0.8782489 = 1 / 1.1386294."""
    rule = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "attn_factor": 0.8782488562869419}
    config = {**LLAMA, "model_type": "qwen3", "max_position_embeddings": 131072, "rope_scaling": rule}
    assert loud(found_in(written(tmp_path / "r1", config))) == []
    assert loud(found_in(written(tmp_path / "bare", {**config, "model_type": "ours"}))) == []
    assert loud(found_in(written(tmp_path / "own", {**config, "rope_mystery": 3, "rope_scaling": {**rule, "our_own": 1}}))) == []


def test_heads_need_not_share_the_width(tmp_path: Path) -> None:
    assert loud(found_in(written(tmp_path, {**LLAMA, "head_dim": 96}))) == []
    assert (
        loud(found_in(written(tmp_path, {"head_dim": 96, "hidden_size": 512, "num_attention_heads": 4, "rope_theta": 1e4}))) == []
    )


def test_llama3_is_exempt(tmp_path: Path) -> None:
    rule = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    rule["original_max_position_embeddings"] = 8192
    for config in ({**LLAMA, "max_position_embeddings": 131072}, {"head_dim": 128, "rope_theta": 5e5}):
        assert loud(found_in(written(tmp_path, {**config, "rope_scaling": rule}))) == []


def test_tables_of_another_tower(tmp_path: Path) -> None:
    tensors = {"vision_model.embeddings.position_embedding.weight": table(577, 512)}
    assert loud(found_in(written(tmp_path, LLAMA, tensors))) == []
