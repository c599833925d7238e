"""Every configuration class of transformers, with its default values, ends in a plan or in a reason."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from ordinate.checkpoints.reading import MODEL_TYPES, OTHER_TYPES, SAME
from ordinate.checkpoints.rotary_types import ROTARY_TYPES
from ordinate.checkpoints.wholes import WHOLES

ROOT = Path(__file__).parents[2]
# Default values that fit no model: 4096 entries for 96 heads or 2048 for 28; sections for half of the pairs; layers of no type, or
# without a dictionary; no padding token where it counts; distances where a rotation is read.
UNFIT = {
    "cohere_compass:CohereCompassConfig": "rope_parameters: needed, got nothing",
    "cohere_compass:CohereCompassTextConfig": "rope_parameters: needed, got nothing",
    "esm:EsmConfig": "pad_token_id: needed, got nothing",
    "glm46v:Glm46VConfig": "mrope_section: needed two numbers or more that add up to 64 pairs, got (8, 12, 12)",
    "glm4_moe:Glm4MoeConfig": "hidden_size: needed a multiple of the 96 heads, got 4096",
    "glm4v:Glm4vConfig": "mrope_section: needed two numbers or more that add up to 64 pairs, got (8, 12, 12)",
    "glm4v:Glm4vTextConfig": "mrope_section: needed two numbers or more that add up to 64 pairs, got (8, 12, 12)",
    "glm4v_moe:Glm4vMoeConfig": "hidden_size: needed a multiple of the 96 heads, got 4096",
    "glm4v_moe:Glm4vMoeTextConfig": "hidden_size: needed a multiple of the 96 heads, got 4096",
    "glm_image:GlmImageConfig": "mrope_section: needed two numbers or more that add up to 64 pairs, got (8, 12, 12)",
    "glm_image:GlmImageTextConfig": "mrope_section: needed two numbers or more that add up to 64 pairs, got (8, 12, 12)",
    "hunyuan_vl:HunYuanVLConfig": "mrope_section: needed two numbers or more, the pairs of each coordinate, got None",
    "hunyuan_vl:HunYuanVLTextConfig": "mrope_section: needed two numbers or more, the pairs of each coordinate, got None",
    "lfm2_moe:Lfm2MoeConfig": "layer_types: needed, got nothing",
    "qwen3_omni_moe:Qwen3OmniMoeConfig": "hidden_size: needed a multiple of the 28 heads, got 2048",
    "qwen3_omni_moe:Qwen3OmniMoeTextConfig": "hidden_size: needed a multiple of the 28 heads, got 2048",
    "qwen3_omni_moe:Qwen3OmniMoeThinkerConfig": "hidden_size: needed a multiple of the 28 heads, got 2048",
    "seamless_m4t:SeamlessM4TConfig": "position_embeddings_type: needed one of rotary, got 'relative'",
}
# Types with no class of default values that fits, and one whose class has no name of a type.
UNPLANNED = {
    "cohere_compass_text",
    "esm",
    "glm4_moe",
    "glm4v_moe_text",
    "glm4v_text",
    "glm_image_text",
    "hunyuan_vl_text",
    "lfm2_moe",
}
UNPLANNED |= {"qwen3_omni_moe_code2wav", "qwen3_omni_moe_text", "seamless_m4t"}
KEPT = ROOT / "benchmarks" / "results" / "default_configs_transformers_5_24.json"


def test_the_tally_is_the_one_kept(capsys: pytest.CaptureFixture[str]) -> None:
    transformers = pytest.importorskip("transformers")
    kept = json.loads(KEPT.read_text())
    if transformers.__version__ != kept["versions"]["transformers"]:
        pytest.skip(f"the tally was kept for transformers {kept['versions']['transformers']}, not {transformers.__version__}")
    specification = importlib.util.spec_from_file_location("default_configs", ROOT / "benchmarks" / "default_configs.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    found = module.tally()
    with capsys.disabled():
        print(f"\nconfigurations of transformers {transformers.__version__}: {found['counts']}")
    for part in ("counts", "plans", "others"):
        assert found[part] == kept[part]
    assert sum(found["counts"].values()) == 848
    assert found["counts"]["not made"] == 2
    assert set(MODEL_TYPES) - set(found["plans"].values()) - set(WHOLES) - set(SAME) == UNPLANNED
    for name, text in found["others"].items():
        if name in UNFIT:
            assert UNFIT[name] in text
        else:
            assert text.startswith(("refused: model type", "refused: it has no model type", "not made")), text


PAGES = [("README.md", "for {} rotary model types"), ("README.ru.md", "для {} типов моделей с RoPE")]


@pytest.mark.parametrize(("page", "words"), PAGES)
def test_pages_count_the_types_that_there_are(page: str, words: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert words.format(len(ROTARY_TYPES)) in text
    assert re.search(rf"\b{len(OTHER_TYPES)} (more|складывают)", " ".join(text.split()))
    assert re.search(rf"\b{len(WHOLES)} (image and speech|моделей с картинками)", " ".join(text.split()))
