"""``checkpoints.read``: sources, the six models that the course notes name, plans that are built, and what is said of every key."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate import Deberta, Learned, Rope, T5Bias, checkpoints, positions
from ordinate.checkpoints.explaining import as_values
from ordinate.checkpoints.plan import PositionIds, QueryScale
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.scaling import Llama3

CONFIGS = Path(__file__).parent / "configs"
LLAMA = {"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e5}


def config(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CONFIGS / f"{name}.json").read_text())
    return loaded


# Sources


def test_all_sources_give_one_plan(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    written = tmp_path / "config.json"
    written.write_text(json.dumps(LLAMA))
    plans = [checkpoints.read(source) for source in (LLAMA, written, str(written), tmp_path)]
    plans.append(checkpoints.read(transformers.LlamaConfig(**LLAMA)))
    assert {plan.stacks[0].layers for plan in plans} == {plans[0].stacks[0].layers}
    assert [plan.source for plan in plans] == ["mapping", "config.json", "config.json", "config.json", "LlamaConfig"]


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"needed config\.json or one GGUF file in the folder, got neither"):
        checkpoints.read(tmp_path)
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match="got 2 GGUF files; name one"):
        checkpoints.read(tmp_path)
    with pytest.raises(ValueError, match="needed a mapping, a path or a configuration object, got int"):
        checkpoints.read(5)


def test_a_model_is_no_configuration() -> None:
    transformers = pytest.importorskip("transformers")
    tiny = transformers.GPT2Config(n_layer=1, n_head=1, n_embd=4, n_positions=4, vocab_size=7, bos_token_id=0, eos_token_id=0)
    with pytest.raises(ValueError, match=r"pass its \.config"):
        checkpoints.read(transformers.GPT2Model(tiny))


def test_smollm2_in_two_formats_says_the_same(smollm2_gguf: Path) -> None:
    """The file's weights are stored for interleaved pairs; the published configuration is of weights for half pairs."""
    stored, published = checkpoints.read(smollm2_gguf), checkpoints.read(CONFIGS / "smollm2_135m.json")
    ours, theirs = stored.layers[0].scheme, published.layers[0].scheme
    assert isinstance(ours, RopePlan)
    assert isinstance(theirs, RopePlan)
    assert (ours.layout, theirs.layout) == ("interleaved", "half")
    assert (ours.base, ours.head_dim, ours.rotary_dim, ours.scaling) == (theirs.base, 64, 64, None) == (1e5, 64, 64, None)
    assert (len(stored.layers), stored.stacks[0].max_length) == (len(published.layers), 8192) == (30, 8192)
    assert [entry.key for entry in stored.entries if entry.became == "base 100000.0"] == ["llama.rope.freq_base"]


def test_minilm_is_a_bert(minilm_folder: Path) -> None:
    plan = checkpoints.read(minilm_folder)
    assert (plan.model_type, len(plan.layers), plan.stacks[0].causal) == ("bert", 6, False)
    table = plan.build().input
    assert isinstance(table, Learned)
    assert (table.max_length, table.d_model, table.padding_offset) == (512, 384, 0)


def test_reading_needs_no_torch(tmp_path: Path, smollm2_gguf: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config("gemma_3_4b_it")))
    for path in (tmp_path / "config.json", smollm2_gguf):
        code = "import sys; from ordinate.cli.main import main; main(sys.argv[1:]); assert 'torch' not in sys.modules"
        for more in ([], ["--json"]):
            subprocess.run([sys.executable, "-c", code, "read", str(path), *more], check=True, capture_output=True)


# The models that the course notes name


def test_bert_base() -> None:
    plan = checkpoints.read(CONFIGS / "bert_base_uncased.json")
    assert plan.position_ids == PositionIds(counted_from="order")
    assert sum(weight.numel() for weight in plan.build().parameters()) == 512 * 768 == 393216
    assert {layer.softmax_scale for layer in plan.layers} == {0.125}


def test_gpt2() -> None:
    plan = checkpoints.read({key: value for key, value in config("gpt2").items() if key != "n_ctx"})
    assert (plan.stacks[0].causal, len(plan.layers)) == (True, 12)
    built = plan.build().input
    assert isinstance(built, Learned)
    assert built.weight.shape == (1024, 768)


def test_t5() -> None:
    plan = checkpoints.read({key: value for key, value in config("t5_small").items() if key != "n_positions"})
    encoder, decoder = plan.stack("encoder").build(), plan.stack("decoder").build()
    for built, two_way in ((encoder, True), (decoder, False)):
        (scheme,) = built.schemes
        assert isinstance(scheme, T5Bias)
        assert (scheme.n_heads, scheme.n_buckets, scheme.max_distance, scheme.bidirectional) == (8, 32, 128, two_way)
    assert plan.stack("decoder").cross_attention is not None
    assert {layer.softmax_scale for stack in plan.stacks for layer in stack.layers} == {1.0}
    with pytest.raises(ValueError, match="needed the name of one stack"):
        plan.layers  # noqa: B018


def test_deberta() -> None:
    plan = checkpoints.read(CONFIGS / "deberta_v3_base.json")
    built = plan.build()
    (scheme,) = built.schemes
    assert isinstance(scheme, Deberta)
    assert (scheme.buckets, scheme.max_distance, scheme.content_to_position, scheme.position_to_content) == (256, 512, True, True)
    assert built.input is None
    assert built.table is not None
    assert built.table().shape == (512, 768)
    assert plan.layers[0].softmax_scale == (3 * 64) ** -0.5


def test_bloom() -> None:
    plan = checkpoints.read(CONFIGS / "bloom_176b.json")
    (scheme,) = plan.build().schemes
    assert (scheme.n_heads, len(plan.layers)) == (112, 70)
    near = [2 ** (-(8 / 64) * head) for head in range(1, 65)] + [2 ** (-(8 / 128) * head) for head in range(1, 96, 2)]
    assert scheme.slope_values == pytest.approx(near, rel=1e-15)


def test_llama_3_2() -> None:
    plan = checkpoints.read(CONFIGS / "llama_3_2_1b.json")
    rule = Llama3(factor=32.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=8192)
    wanted = RopePlan(head_dim=64, layout="half", base=500000.0, rotary_dim=64, scaling=rule)
    assert [layer.scheme for layer in plan.layers] == [wanted] * 16


# Plans


def test_equal_schemes_are_one_object_and_computed_once() -> None:
    plan = checkpoints.read(CONFIGS / "gemma_3_1b.json")
    built = plan.build()
    assert len({id(layer) for layer in built.layers}) == len(built.schemes) == 2
    at = built.at(range(5), range(7))
    assert len(at) == 26
    for layer, kind in enumerate(plan.layers):
        same = [other for other in range(26) if plan.layers[other].scheme == kind.scheme]
        assert all(at[layer] is at[other] for other in same)
    assert [rotation[0].cos.shape[0] for rotation in at[:1]] == [5]
    assert len(plan.at(range(3), range(3))) == 26


def test_tables_of_layers_are_their_own_where_the_model_has_them() -> None:
    umt5 = checkpoints.read(CONFIGS / "umt5_small.json").stack("encoder").build()
    assert len(umt5.schemes) == len({id(layer) for layer in umt5.layers}) == 8
    assert sum(weight.numel() for weight in umt5.parameters()) == 8 * 32 * 6


def test_building_for_a_length() -> None:
    built = checkpoints.read(CONFIGS / "phi_3_mini_128k.json").build()
    long = built.at_length(5000)
    assert built.at_length(4096).layers[0].inverse_frequencies == built.layers[0].inverse_frequencies  # type: ignore[union-attr]
    assert long.layers[0].inverse_frequencies != built.layers[0].inverse_frequencies  # type: ignore[union-attr]
    plain = checkpoints.read(LLAMA).build()
    assert plain.at_length(10**6) is plain


def test_other_numerics() -> None:
    built = checkpoints.read(LLAMA).build(phases="exact", arithmetic="float32")
    (scheme,) = built.schemes
    assert isinstance(scheme, Rope)
    assert (scheme.phases, scheme.arithmetic) == ("exact", "float32")
    assert built.plan.layers[0].scheme.phases == "float32"  # type: ignore[union-attr]


def test_queries_grow_by_position() -> None:
    llama4 = checkpoints.read(CONFIGS / "llama_4_scout.json")
    assert llama4.layers[3].query_scale == QueryScale(strength=0.1, length=8192, first=1, rounded=False)
    assert llama4.layers[2].query_scale is None
    built, q = llama4.build(), torch.ones(2, 1, 2, 4, dtype=torch.bfloat16)
    factors = built.scaled_queries(3, q, torch.tensor([[8190, 8191], [16382, 16383]]))[:, 0, :, 0]
    wanted = torch.tensor([[1.0, 1 + 0.1 * 0.6931471806], [1 + 0.1 * 0.6931471806, 1 + 0.1 * 1.0986122887]])
    assert torch.equal(factors, wanted.bfloat16())
    assert built.scaled_queries(2, q, range(2)) is q


# What is said


def test_every_key_of_positions_is_explained() -> None:
    """Each key of the file about positions has its line, with its value and what it became."""
    for name, keys in (
        (
            "llama_3_2_1b",
            {
                "rope_theta",
                "head_dim",
                "max_position_embeddings",
                *map("rope_scaling.{}".format, config("llama_3_2_1b")["rope_scaling"]),
            },
        ),
        (
            "gemma_3_1b",
            {
                "rope_theta",
                "rope_local_base_freq",
                "sliding_window",
                "sliding_window_pattern",
                "query_pre_attn_scalar",
                "rope_scaling",
            },
        ),
        (
            "deberta_v3_base",
            {"position_buckets", "pos_att_type", "norm_rel_ebd", "share_att_key", "relative_attention", "position_biased_input"},
        ),
        (
            "smollm3_3b",
            {"no_rope_layers", "no_rope_layer_interval", "use_sliding_window", "sliding_window", "rope_scaling", "layer_types"},
        ),
        ("command_r7b", {"position_embedding_type", "rotary_pct", "sliding_window", "sliding_window_pattern"}),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            plan = checkpoints.read(CONFIGS / f"{name}.json")
        said = {entry.key: entry for entry in plan.entries}
        assert keys <= set(said), keys - set(said)
        text = plan.explain()
        for key in keys:
            assert any(line.startswith(key) and said[key].became in line for line in text.splitlines()), key


def test_the_plan_as_json_holds_all_of_it() -> None:
    values = as_values(checkpoints.read(CONFIGS / "gemma_3_4b_it.json"))
    again = json.loads(json.dumps(values, allow_nan=False))
    (stack,) = again["stacks"]
    assert (len(stack["layers"]), len(stack["layer_plans"])) == (34, 2)
    layer = stack["layer_plans"][stack["layers"][5]]
    assert layer["scheme"] == {
        "scheme": "rope",
        "head_dim": 256,
        "layout": "half",
        "base": 1000000.0,
        "rotary_dim": 256,
        "rotary_start": 0,
        "scaling": {"rule": "Linear", "factor": 8.0},
        "sign": 1,
        "phases": "float32",
        "arithmetic": "input",
    }
    assert (layer["window"], layer["softmax_scale"], layer["kind"]) == (None, 0.0625, "full_attention")
    assert again["entries"][0]["key"] == "text_config.model_type"


# What newcomers try


def test_attention_of_a_layer_follows_the_plan() -> None:
    """Window, chunk, scale and factor of queries come with the layer; by one softmax over what a loop says is seen."""
    sizes = {"num_hidden_layers": 6, "num_attention_heads": 2, "hidden_size": 16, "head_dim": 8, "max_position_embeddings": 64}
    gemma = {"model_type": "gemma3_text", **sizes, "sliding_window": 3, "query_pre_attn_scalar": 4}
    llama = {"model_type": "llama4_text", **sizes, "attention_chunk_size": 4, "floor_scale": 2, "attn_scale": 0.5}
    q, k, v = torch.randn(3, 1, 2, 10, 8, dtype=torch.float64)
    for values, seen, layers in (
        (gemma, lambda i, j, layer: j <= i and (i - j < 3 or layer == 5), (0, 5)),
        (llama, lambda i, j, layer: j <= i and (i // 4 == j // 4 or layer == 3), (0, 3)),
    ):
        built = checkpoints.read(values).build(phases="exact")
        at = built.at(range(10), range(10))
        for layer in layers:
            plan, scheme = built.plan.layers[layer], built.layers[layer]
            turned = [x if scheme is None else scheme.queries(x, range(10)) for x in (q, k)]  # type: ignore[union-attr]
            scores = turned[0] @ turned[1].mT * plan.softmax_scale
            if plan.query_scale is not None:
                scores *= torch.tensor([1 + 0.5 * math.log1p((i + 1) // 2) for i in range(10)], dtype=torch.float64)[:, None]
            hidden = torch.tensor([[not seen(i, j, layer) for j in range(10)] for i in range(10)])
            want = scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
            for given in (None, at):
                got = built.attend(layer, q, k, v, q_positions=range(10), k_positions=range(10), at=given)
                assert (got - want).abs().max() < 1e-6
    assert {layer.softmax_scale for layer in checkpoints.read(gemma).layers} == {0.5}


def test_a_layer_that_does_not_attend_is_refused() -> None:
    values = {
        "model_type": "lfm2",
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "hidden_size": 16,
        "max_position_embeddings": 64,
    }
    plan = checkpoints.read({**values, "layer_types": ["conv", "full_attention"]})
    assert [layer.attends for layer in plan.layers] == [False, True]
    built, x = plan.build(), torch.randn(1, 2, 3, 8)
    built.attend(1, x, x, x, q_positions=range(3), k_positions=range(3))
    with pytest.raises(ValueError, match=r"layer: needed one that attends, got 0 \(conv\)"):
        built.attend(0, x, x, x, q_positions=range(3), k_positions=range(3))


def test_chunks_and_documents_together() -> None:
    values = {"model_type": "llama4_text", "num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 8, "head_dim": 8}
    built = checkpoints.read({**values, "attention_chunk_size": 4, "max_position_embeddings": 64}).build()
    q, k, v = torch.randn(3, 1, 1, 7, 8)
    places, documents = torch.tensor([0, 1, 2, 3, 4, 0, 1]), torch.tensor([0, 0, 0, 0, 0, 1, 1])
    told = ((documents, documents), documents, positions.packed([5, 2]))
    packed, *others = (built.attend(0, q, k, v, q_positions=places, k_positions=places, document_ids=ids) for ids in told)
    assert all(torch.equal(packed, other) for other in others)
    for start, stop, first in ((0, 4, 0), (4, 5, 4), (5, 7, 0)):
        parts, where = [x[:, :, start:stop] for x in (q, k, v)], range(first, first + stop - start)
        alone = built.attend(0, *parts, q_positions=where, k_positions=where)
        assert torch.allclose(packed[:, :, start:stop], alone, atol=1e-6)


def test_what_was_asked_for_is_said() -> None:
    other = {**LLAMA, "model_type": "vicuna"}
    with pytest.warns(UserWarning, match="model_type: 'vicuna' is declared, and read as llama, as asked"):
        plan = checkpoints.read(other, model_type="llama")
    (entry,) = (entry for entry in plan.entries if entry.key == "model_type")
    assert (entry.value, entry.source) == ("llama", "asked for")
    with pytest.warns(UserWarning, match="rope_theta: passed over, as asked"):
        plan = checkpoints.read(LLAMA, ignore=["rope_theta"])
    assert ("rope_theta", 1e5) in [(entry.key, entry.value) for entry in plan.entries]
    with pytest.raises(ValueError, match="ignore: needed keys of the configuration, got 'nosuch'"):
        checkpoints.read(LLAMA, ignore=["nosuch"])
    nested = {"model_type": "gemma3", "text_config": {"rope_teta": 5.0}}
    with pytest.raises(ValueError, match=r"text_config\.rope_teta: looks like .* did you mean rope_theta\?"):
        checkpoints.read(nested)
    assert checkpoints.read(nested, ignore=["text_config.rope_teta"]).layers


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rope_scaling": {"factor": 8.0}}, "rope_scaling.rope_type: needed beside factor, got nothing"),
        ({"rope_scaling": {"type": "linear", "facter": 8.0}}, "unknown keys facter; did you mean factor?"),
        ({"model_type": "llamma"}, "did you mean llama"),
    ],
)
def test_slips_are_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        checkpoints.read({**LLAMA, **change})


@pytest.mark.parametrize("name", ["reformer", "xlnet", "qwen", "mamba", "clip_vision_model"])
def test_other_architectures_are_no_slips(name: str) -> None:
    with pytest.raises(ValueError, match="is not in the table") as refused:
        checkpoints.read({**LLAMA, "model_type": name})
    assert "did you mean" not in str(refused.value)


def test_text_and_weights_are_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"pass json\.loads\(text\)"):
        checkpoints.read(json.dumps(LLAMA))
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ValueError, match=r"got weights; pass config\.json"):
        checkpoints.read(tmp_path / "model.safetensors")


def test_published_switches_of_llama4_may_be_numbers() -> None:
    values = {**config("llama_4_scout")["text_config"], "attn_temperature_tuning": 4}
    assert checkpoints.read(values).layers[3].query_scale is not None
    assert checkpoints.read({**values, "attn_temperature_tuning": 0}).layers[3].query_scale is None
