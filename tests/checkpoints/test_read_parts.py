"""Parts of configurations of several models, read by themselves."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from mutations import small

from ordinate import checkpoints
from ordinate.checkpoints.reading import MODEL_TYPES
from ordinate.cli.main import main

VISION = {"depth": 2, "embed_dim": 64, "num_heads": 4, "hidden_size": 32, "spatial_merge_size": 2}
QWEN2_VL = {"model_type": "qwen2_vl", "text_config": small("qwen2_vl_text"), "vision_config": VISION}
QWEN2_5_VISION = {"depth": 3, "hidden_size": 64, "num_heads": 4, "window_size": 112, "fullatt_block_indexes": [1], "patch_size": 14}


def quietly(source: Any, **named: Any) -> checkpoints.PositionPlan:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return checkpoints.read(source, **named)


def test_a_part_is_what_it_is_alone() -> None:
    alone = quietly({"model_type": "qwen2_vl_vision", **VISION})
    for values in (QWEN2_VL, {**QWEN2_VL, "vision_config": {"model_type": "qwen2_vl_vision", **VISION}}):
        plan = quietly(values, part="vision_config")
        assert plan.stacks == alone.stacks
        assert (plan.model_type, plan.source) == ("qwen2_vl_vision", "mapping: vision_config")
    assert quietly(QWEN2_VL, part="text_config").stacks == quietly(QWEN2_VL).stacks
    inner = {"model_type": "sam3", "vision_config": {"backbone_config": small("sam3_vit_model")}}
    assert quietly(inner, part="vision_config.backbone_config").stacks == quietly(small("sam3_vit_model")).stacks


def test_published_parts_that_repeat_the_wholes_type() -> None:
    part = {"model_type": "qwen2_5_vl", **QWEN2_5_VISION}
    values = {"model_type": "qwen2_5_vl", "text_config": small("qwen2_5_vl_text"), "vision_config": part}
    assert quietly(values, part="vision_config").stacks == quietly({**part, "model_type": "qwen2_5_vl_vision"}).stacks


def test_the_record_says_how_a_part_is_read() -> None:
    said = {entry.key: entry.became for entry in quietly(QWEN2_VL).entries}
    assert said["vision_config"] == "not read: the plan is of the text model; part='vision_config' reads it"
    other = {"model_type": "llava", "text_config": small("llama"), "vision_config": {"model_type": "a_new_one"}}
    said = {entry.key: entry.became for entry in quietly(other).entries}
    assert said["vision_config"] == "not read: the plan is of the text model"


@pytest.mark.parametrize(
    ("values", "part", "message"),
    [
        (QWEN2_VL, "audio_config", "mapping: part: needed one of text_config, vision_config, got 'audio_config'"),
        (QWEN2_VL, "vision_config.depth", "part: needed one of text_config, vision_config, got"),
        (small("llama"), "vision_config", "part: needed one of several configurations, got 'vision_config'"),
        (
            {"model_type": "llava", "vision_config": {"depth": 2}},
            "vision_config",
            "mapping: vision_config: model_type: needed one of",
        ),
    ],
)
def test_parts_that_are_not_there(values: dict[str, Any], part: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        checkpoints.read(values, part=part)


def test_an_unknown_whole_says_which_parts_can_be_read() -> None:
    values = {"model_type": "a_new_one", "text_config": small("llama"), "vision_config": {"model_type": "another"}}
    with pytest.raises(ValueError, match=re.escape("of its parts text_config can be read, say it with part=")):
        checkpoints.read(values)


def test_parts_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN2_VL))
    assert main(["read", str(path)]) == 0
    assert "not read: the plan is of the text model; --part vision_config reads it" in capsys.readouterr().out
    assert main(["read", str(path), "--part", "vision_config"]) == 0
    assert "axial_rope, head_dim=16" in capsys.readouterr().out
    path.write_text(json.dumps({"model_type": "a_new_one", "text_config": small("llama")}))
    assert main(["read", str(path)]) == 2
    assert "of its parts text_config can be read, say it with --part;" in capsys.readouterr().err


def test_the_list_of_types_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "--types"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert tuple(row[0] for row in rows) == MODEL_TYPES
    of = {row[0]: row[1:] for row in rows}
    assert of["llama"] == ["rope", "half", "input"]
    assert of["inkling2_vision"] == ["axial", "rope", "interleaved", "float32"]
    assert of["moonshine"][:2] == ["several", "stacks"]
    assert of["gemma3"] == ["as", "gemma3_text"]
