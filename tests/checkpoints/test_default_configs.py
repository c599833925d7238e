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
# Default values that fit no model: 4096 entries for 96 heads; layers of no type.
UNFIT = ("glm4_moe:Glm4MoeConfig", "lfm2_moe:Lfm2MoeConfig")
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
    assert set(found["plans"].values()) >= set(MODEL_TYPES) - {name.split(":")[0] for name in UNFIT} - set(WHOLES) - set(SAME)
    for name, text in found["others"].items():
        assert name in UNFIT or text.startswith(("refused: model type", "refused: it has no model type", "not made")), text


PAGES = [("README.md", "for {} rotary model types"), ("README.ru.md", "для {} типов моделей с RoPE")]


@pytest.mark.parametrize(("page", "words"), PAGES)
def test_pages_count_the_types_that_there_are(page: str, words: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert words.format(len(ROTARY_TYPES)) in text
    assert re.search(rf"\b{len(OTHER_TYPES)} (more|складывают)", " ".join(text.split()))
    assert re.search(rf"\b{len(WHOLES)} (image and speech|моделей с картинками)", " ".join(text.split()))
