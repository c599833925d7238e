"""Every planted fault is found under its code and kind, and the clean original gives no error and no warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checkpoints_on_disk import LLAMA, found_in, loud, written
from planted_configs import BARE, LONG, PLANTED, YARN, ruled

IDS = [f"{kind}, {name}" for kind, name, *_ in PLANTED]


@pytest.mark.parametrize(("kind", "name", "clean", "changed", "code"), PLANTED, ids=IDS)
def test_planted(kind: str, name: str, clean: dict[str, Any], changed: dict[str, Any], code: str, tmp_path: Path) -> None:  # noqa: ARG001
    assert loud(found_in(written(tmp_path / "clean", clean))) == []
    found = [each for each in found_in(written(tmp_path / "changed", changed)) if each.severity != "note"]
    assert code in {each.code for each in found}, found
    assert {each.kind for each in found if each.code == code} == {kind}, found
    others = {each.code for each in found} - {code}
    assert others <= ({"ORD104"} if kind == "dynamic-ntk" else set()), found  # it does not reach the declared length, either
    for each in found:
        assert each.remedy
        assert each.target.endswith("changed")


def test_at_least_two_variants_a_kind() -> None:
    kinds = [kind for kind, *_ in PLANTED]
    once = {"layout-mismatch"}  # the other variants are pairs of files
    assert {kind for kind in kinds if kinds.count(kind) < 2} == once


def evidence(tmp_path: Path, config: dict[str, Any], code: str) -> str:
    return next(each.evidence for each in found_in(written(tmp_path, config)) if each.code == code)


def test_evidence_is_in_numbers(tmp_path: Path) -> None:
    base = {**LLAMA, "rope_parameters": {"rope_theta": 1e6}}
    assert (
        evidence(tmp_path, base, "ORD102") == "position 1000, pair 1 of 64: 805.8422 rad by base 1e+06, 865.9643 rad by base 10000"
    )
    assert evidence(tmp_path, {**LLAMA, "rope_teta": 1e6}, "ORD101").endswith("805.8422 rad by base 1e+06")
    assert evidence(tmp_path, ruled(LONG, YARN, factor=2.0), "ORD104") == "2 x 32768 = 65536 < 131072"
    dynamic = {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 2048}
    told = evidence(tmp_path, ruled({**LLAMA, "max_position_embeddings": 4096}, dynamic), "ORD109")
    assert told == "at 4096 tokens the base is 10000; with a trained length of 2048 it would be 30527.7"
    squared = evidence(tmp_path, ruled(LONG, YARN, attention_factor=1.138629**2), "ORD107")
    assert squared.startswith("1.296476 beside 1.138629")


def test_notes(tmp_path: Path) -> None:
    found = {
        each.code: each for each in found_in(written(tmp_path, {**LONG, "torch_dtype": "bfloat16", "rope_scaling": {"type": "su"}}))
    }
    assert found["ORD110"].message == "old spellings: rope_scaling, now rope_parameters; type, now rope_type; su, now longrope"
    found = {each.code: each for each in found_in(written(tmp_path, {**LONG, "torch_dtype": "bfloat16"}))}
    assert found["ORD203"].evidence == "angles off by up to 3.14 rad; 512 neighbouring positions are one number"
    assert found["ORD203"].kind == "low-precision-phase"
    assert found["ORD202"].message == "15 of 64 pairs never complete a turn within 131072 tokens"
    half = {each.code: each for each in found_in(written(tmp_path, {**LONG, "dtype": "float16"}))}
    assert half["ORD203"].evidence == "angles overflow; positions overflow"
    assert {each.severity for each in found.values()} == {"note"}


def test_what_nobody_knows_hides_nothing_else(tmp_path: Path) -> None:
    config = {**ruled(LONG, YARN, factor=2.0), "rope_mystery": 3}
    found = {each.code: each.severity for each in found_in(written(tmp_path, config))}
    assert found["ORD111"] == "note"
    assert found["ORD104"] == "warning"


def test_sizes_may_be_left_out(tmp_path: Path) -> None:
    assert loud(found_in(written(tmp_path, {"model_type": "gpt_neox"}))) == []
    assert loud(found_in(written(tmp_path, {"model_type": "gpt_neox", "rope_thetta": 1e6})))[0][0] == "ORD101"


def test_no_type_and_an_unknown_type(tmp_path: Path) -> None:
    for config in (BARE, {**BARE, "model_type": "mymodel"}):
        found = found_in(written(tmp_path, config))
        assert loud(found) == []
        assert "ORD902" in {each.code for each in found}
    unknown = {**BARE, "model_type": "mymodel", "rope_scaling": {"rope_type": "ours", "factor": 2.0}}
    assert loud(found_in(written(tmp_path, unknown))) == []
