"""Faults in weights and between checkpoints: stored frequencies, tables, pairs, adapters, merged parents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints_on_disk import LLAMA, found_in, frequencies, loud, row, safetensors, table, written

from ordinate.checkpoints import compare_frequencies
from ordinate.doctor.rotations import Rotation
from ordinate.doctor.stored import compare
from ordinate.doctor.tensors import read_row, read_tensors
from ordinate.schemes import Rope

NAME = "model.layers.{}.self_attn.rotary_emb.inv_freq"
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
GPT_NEOX = {"model_type": "gpt_neox", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4, "rotary_pct": 0.25}
BERT = {"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2, "max_position_embeddings": 64}
ROBERTA = {**BERT, "model_type": "roberta", "max_position_embeddings": 66, "pad_token_id": 1}
GPT2 = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8, "n_positions": 64}
T5 = {"model_type": "t5", "num_layers": 1, "d_model": 8, "num_heads": 2, "d_kv": 4, "relative_attention_num_buckets": 32}
BART = {
    "model_type": "bart",
    "d_model": 8,
    "max_position_embeddings": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
}
WHISPER = {**BART, "model_type": "whisper", "max_source_positions": 1500, "max_target_positions": 448}
del WHISPER["max_position_embeddings"]

# what is stored, its dtype, the configuration beside it, the code, a part of the message
STORED: list[tuple[str, list[float], str, dict[str, Any], str, str]] = [
    ("bfloat16", frequencies(1e4, 128), "BF16", LLAMA, "ORD701", "rounded to bfloat16"),
    ("float16", frequencies(1e4, 128), "F16", LLAMA, "ORD701", "rounded to float16"),
    ("another base", frequencies(5e5, 128), "F32", LLAMA, "ORD701", "of another base, 500000"),
    ("another base, rounded", frequencies(1e6, 128), "BF16", LLAMA, "ORD701", "of another base, 1e+06"),
    ("a factor", frequencies(1e4, 128, factor=4.0), "F32", LLAMA, "ORD701", "divided by another factor, 4"),
    ("no rule", frequencies(1e4, 128), "F32", {**LLAMA, "rope_scaling": YARN}, "ORD701", "made without the rule"),
    ("none", [1.0 / (1 + i) for i in range(64)], "F32", LLAMA, "ORD701", "of none of the known causes"),
    ("not finite", [float("nan")] * 64, "F32", LLAMA, "ORD701", "of none of the known causes"),
    ("the whole head", frequencies(1e4, 16, over=64), "F32", GPT_NEOX, "ORD106", "made for the whole head"),
    ("as many as the whole head", frequencies(1e4, 64), "F32", GPT_NEOX, "ORD106", "for the whole head"),
]


@pytest.mark.parametrize(("name", "values", "dtype", "config", "code", "said"), STORED, ids=[each[0] for each in STORED])
def test_stored_frequencies(
    name: str,  # noqa: ARG001
    values: list[float],
    dtype: str,
    config: dict[str, Any],
    code: str,
    said: str,
    tmp_path: Path,
) -> None:
    found = found_in(written(tmp_path, config, {NAME.format(0): row(values, dtype)}))
    ((got, message),) = loud(found)
    assert got == code
    assert said in message
    evidence = next(each.evidence for each in found if each.code == code)
    assert "differs" in evidence or "beside" in evidence


@pytest.mark.parametrize(
    "config", [LLAMA, {**LLAMA, "rope_scaling": {"type": "linear", "factor": 2.0}}, GPT_NEOX], ids=["", "rule", "part"]
)
def test_equal_frequencies_are_a_note(config: dict[str, Any], tmp_path: Path) -> None:
    width = 16 if config is GPT_NEOX else 128
    stored = frequencies(1e4, width, factor=2.0 if "rope_scaling" in config else 1.0)
    found = found_in(written(tmp_path, config, {NAME.format(i): row(stored) for i in range(2)}))
    assert loud(found) == []
    assert [each.message for each in found if each.code == "ORD701"] == [
        "2 stored vectors are equal to what the configuration says"
    ]


def test_the_same_without_torch_as_with_it() -> None:
    """The comparison of ``ordinate.checkpoints`` is an oracle: it was written against torch's own roundings."""
    names = {"made without the rule": "without the scaling rule", "of another base": "another base"}
    rope = Rope(head_dim=128, layout="half")
    turned = Rotation(where="", base=1e4, head_dim=128, rotary_dim=128, rule=None, max_length=4096, layout=None, layers=())
    plain = torch.tensor(frequencies(1e4, 128), dtype=torch.float64)
    given = [plain, plain.float(), plain.bfloat16(), plain.half(), plain / 8, plain.float() / 40]
    given += [torch.tensor(frequencies(base, 128), dtype=torch.float64) for base in (5e5, 1e6, 123456.0)]
    given += [(plain / 4).bfloat16(), plain.flip(0), plain * 1.001]
    for stored in given:
        theirs, ours = compare_frequencies(stored, rope), compare(stored.double().numpy(), turned)
        assert names.get(ours.cause, ours.cause) == theirs.cause
        assert ours.number == (theirs.base if theirs.base is not None else theirs.factor)
        assert ours.largest == pytest.approx(theirs.largest, rel=1e-6)


def test_layers_of_two_models_in_one_file(tmp_path: Path) -> None:
    one, other = row(frequencies(1e4, 128)), row(frequencies(5e5, 128))
    mixed = {NAME.format(i): one if i < 2 else other for i in range(4)}
    found = found_in(written(tmp_path / "mixed", LLAMA, mixed))
    assert {code for code, _ in loud(found)} == {"ORD701", "ORD801"}
    assert "2 of base 10000" in next(each.message for each in found if each.code == "ORD801")
    folder = written(tmp_path / "shards", LLAMA, {NAME.format(0): one})
    (folder / "model-00002.safetensors").write_bytes(safetensors({NAME.format(1): other}))
    assert "ORD801" in {code for code, _ in loud(found_in(folder))}


def test_layer_types_may_differ(tmp_path: Path) -> None:
    config = {"model_type": "gemma3_text", "num_hidden_layers": 6, "rope_theta": 1e6, "rope_local_base_freq": 1e4}
    tensors = {"rotary_emb.inv_freq": row(frequencies(1e6, 256)), "rotary_emb_local.inv_freq": row(frequencies(1e4, 256))}
    assert loud(found_in(written(tmp_path, config, tensors))) == []


def test_another_tower_is_left_alone(tmp_path: Path) -> None:
    assert loud(found_in(written(tmp_path, LLAMA, {"visual.rotary_pos_emb.inv_freq": row(frequencies(1e4, 40))}))) == []


# a configuration, the table's name and rows, the code or None
ROWS: list[tuple[dict[str, Any], str, int, str | None]] = [
    (BERT, "embeddings.position_embeddings.weight", 64, None),
    (BERT, "bert.embeddings.position_embeddings.weight", 32, "ORD602"),
    (GPT2, "wpe.weight", 64, None),
    (GPT2, "transformer.wpe.weight", 16, "ORD602"),
    (GPT2, "transformer.wpe.weight", 128, "ORD602"),
    (ROBERTA, "roberta.embeddings.position_embeddings.weight", 66, None),
    (ROBERTA, "roberta.embeddings.position_embeddings.weight", 64, "ORD603"),
    ({**ROBERTA, "max_position_embeddings": 64}, "roberta.embeddings.position_embeddings.weight", 66, "ORD603"),
    (BART, "model.encoder.embed_positions.weight", 66, None),
    (BART, "model.decoder.embed_positions.weight", 64, "ORD603"),
    (BART, "model.decoder.embed_positions.weight", 34, "ORD602"),
    (WHISPER, "model.encoder.embed_positions.weight", 1500, None),
    (WHISPER, "model.decoder.embed_positions.weight", 448, None),
    (WHISPER, "model.decoder.embed_positions.weight", 224, "ORD602"),
    (BERT, "embeddings.x_position_embeddings.weight", 1024, None),
    ({"hidden_size": 8, "max_position_embeddings": 64}, "position_embeddings.weight", 66, None),
    ({"hidden_size": 8, "max_position_embeddings": 64}, "position_embeddings.weight", 32, "ORD602"),
    ({"hidden_size": 8, "max_position_embeddings": 64}, "vision.position_embeddings.weight", 32, None),
]


@pytest.mark.parametrize(("config", "name", "rows", "code"), ROWS)
def test_rows_of_tables(config: dict[str, Any], name: str, rows: int, code: str | None, tmp_path: Path) -> None:
    found = loud(found_in(written(tmp_path, config, {name: table(rows, 8)})))
    assert [each for each, _ in found] == ([] if code is None else [code])


def test_buckets_of_t5(tmp_path: Path) -> None:
    name = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    assert loud(found_in(written(tmp_path / "a", T5, {name: table(32, 2)}))) == []
    assert [code for code, _ in loud(found_in(written(tmp_path / "b", T5, {name: table(16, 2)})))] == ["ORD602"]


def test_what_a_tokenizer_lets_through(tmp_path: Path) -> None:
    for length, codes in ((64, []), (10**30, []), (512, ["ORD602"])):
        folder = written(tmp_path / str(length), BERT, tokenizer_config={"model_max_length": length})
        assert [code for code, _ in loud(found_in(folder))] == codes
    assert [code for code, _ in loud(found_in(written(tmp_path, BERT, sentence_bert_config={"max_seq_length": 65})))] == ["ORD602"]


COHERE = {**LLAMA, "model_type": "cohere"}
# two configurations, the code or None
PAIRS: list[tuple[str, dict[str, Any], dict[str, Any], str | None]] = [
    ("equal", LLAMA, dict(LLAMA), None),
    ("another length", LLAMA, {**LLAMA, "max_position_embeddings": 32768}, None),
    (
        "an equal rule, written otherwise",
        {**LLAMA, "rope_scaling": YARN},
        {**LLAMA, "rope_parameters": {**YARN, "rope_theta": 1e4}},
        None,
    ),
    ("theta", LLAMA, {**LLAMA, "rope_theta": 5e5}, "ORD801"),
    ("theta, no type", {"rope_theta": 1e4, "head_dim": 128}, {"rope_theta": 5e5, "head_dim": 128}, "ORD801"),
    ("rule", LLAMA, {**LLAMA, "rope_scaling": YARN}, "ORD801"),
    ("factor", {**LLAMA, "rope_scaling": YARN}, {**LLAMA, "rope_scaling": {**YARN, "factor": 8.0}}, "ORD801"),
    ("magnitude", {**LLAMA, "rope_scaling": YARN}, {**LLAMA, "rope_scaling": {**YARN, "attention_factor": 1.0}}, "ORD801"),
    ("dynamic", LLAMA, {**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2.0}, "max_position_embeddings": 8192}, "ORD801"),
    ("width", LLAMA, {**LLAMA, "head_dim": 64}, "ORD801"),
    ("part", GPT_NEOX, {**GPT_NEOX, "rotary_pct": 0.5}, "ORD801"),
    ("scheme", LLAMA, BERT, "ORD801"),
    (
        "slopes",
        {"model_type": "bloom", "n_layer": 1, "n_head": 4, "hidden_size": 64},
        {"model_type": "bloom", "n_layer": 1, "n_head": 8, "hidden_size": 64},
        "ORD801",
    ),
    ("first row", BERT, ROBERTA, "ORD801"),
    ("layout", LLAMA, COHERE, "ORD301"),
    (
        "layout of GPT-J",
        {**GPT_NEOX, "rotary_pct": 1.0},
        {"model_type": "gptj", "n_layer": 2, "n_embd": 256, "n_head": 4, "rotary_dim": 64},
        "ORD301",
    ),
]


@pytest.mark.parametrize(("name", "one", "other", "code"), PAIRS, ids=[each[0] for each in PAIRS])
def test_pairs(name: str, one: dict[str, Any], other: dict[str, Any], code: str | None, tmp_path: Path) -> None:  # noqa: ARG001
    folders = written(tmp_path / "one", one), written(tmp_path / "other", other)
    for pair in (folders, folders[::-1]):
        assert {each for each, _ in loud(found_in(*pair))} == (set() if code is None else {code})


def test_the_number_of_a_mixture(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one", LLAMA), written(tmp_path / "other", {**LLAMA, "rope_theta": 5e5})
    (found,) = [each for each in found_in(one, other) if each.code == "ORD801"]
    assert found.evidence == "the last pair's frequency differs 47.04x"
    assert found.kind == "provenance-mix"


def test_an_adapter_and_its_base(tmp_path: Path) -> None:
    base = written(tmp_path / "base", LLAMA)
    for theta, codes in ((1e4, []), (5e5, ["ORD801"])):
        config = {**LLAMA, "rope_theta": theta}
        adapter = written(tmp_path / f"adapter {theta:g}", config, adapter_config={"base_model_name_or_path": str(base)})
        assert [code for code, _ in loud(found_in(adapter))] == codes
    alone = written(tmp_path / "alone", None, adapter_config={"base_model_name_or_path": "../base"})
    assert loud(found_in(alone)) == []
    assert loud(found_in(alone / "adapter_config.json")) == []
    far = written(tmp_path / "far", None, adapter_config={"base_model_name_or_path": "someone/somewhere"})
    assert [each.code for each in found_in(far)] == ["ORD902"]


def test_merged_parents(tmp_path: Path) -> None:
    written(tmp_path / "one", LLAMA)
    written(tmp_path / "other", {**LLAMA, "rope_theta": 5e5})
    merged = written(tmp_path / "merged", LLAMA)
    (merged / "mergekit_config.yml").write_text(
        'slices:\n- sources:\n  - model: ../one\n    layer_range: [0, 4]\n  - model: "../one"\n'
    )
    assert loud(found_in(merged)) == []
    (merged / "mergekit_config.yml").write_text("models:\n  - model: ../one\n  - model: ../other\nbase_model: ../one\n")
    assert {code for code, _ in loud(found_in(merged))} == {"ORD801"}


def test_rows_are_read_as_torch_reads_them(tmp_path: Path) -> None:
    values = torch.randn(33, dtype=torch.float64)
    content = {name: row(values.tolist(), name) for name in ("F64", "F32", "F16", "BF16")}
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors(content))
    kinds = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
    for found in read_tensors(path):
        assert np.array_equal(read_row(found), values.to(kinds[found.name]).double().numpy())
    assert sys.byteorder == "little"


def test_safetensors_own_writer(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    from safetensors.torch import save_file

    path = tmp_path / "own.safetensors"
    tensors = {"rotary.inv_freq": torch.tensor(frequencies(1e4, 128)), "wpe.weight": torch.zeros(4, 8, dtype=torch.bfloat16)}
    save_file(tensors, str(path), metadata={"format": "pt"})
    assert {found.name: found.shape for found in read_tensors(path)} == {"rotary.inv_freq": (64,), "wpe.weight": (4, 8)}
    written(tmp_path, LLAMA)
    assert [each.code for each in found_in(path) if each.code == "ORD701"] == ["ORD701"]
