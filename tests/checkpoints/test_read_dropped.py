"""Settings that are easily dropped or taken otherwise: each is honoured, or refused by its name."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from mutations import accepted, refused, small
from small_configs import LLAMA, ORIGINAL, ruled
from transformers import AutoConfig
from transformers.models.ministral3.modeling_ministral3 import Ministral3RotaryEmbedding

from ordinate import checkpoints
from ordinate.checkpoints import convert_layout, split_derived
from ordinate.scaling import Linear

DECODERS = ("llama", "qwen2", "mistral", "gemma2", "gemma3_text", "gpt_neox", "gptj", "gpt2", "opt", "bloom", "falcon")


@pytest.mark.parametrize("model_type", [*DECODERS, "bert", "modernbert"])
def test_which_way_attention_looks(model_type: str) -> None:
    own = model_type in DECODERS
    assert accepted(small(model_type, is_causal=own)).stack().causal == own
    refused(small(model_type, is_causal=not own), f"is_causal: cannot be honoured: needed {own} for {model_type}, got {not own}")


def test_the_base_of_ministral3_without_one() -> None:
    """1e6 belongs to the dictionary that stands in for an absent one; a dictionary without a base has 1e4."""
    rope = {"rope_type": "yarn", "factor": 16.0, ORIGINAL: 512, "llama_4_scaling_beta": 0.1}
    for given in ({"rope_parameters": rope}, {}):
        values = {**small("ministral3", head_dim=16), **given}
        config = AutoConfig.for_model(**json.loads(json.dumps(values)))
        (scheme,) = accepted(values).build().schemes
        assert list(scheme.inverse_frequencies) == Ministral3RotaryEmbedding(config).inv_freq.tolist()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (small("modernbert", sliding_window=5), "sliding_window: cannot be honoured"),
        (small("bloom", alibi=False), "alibi: cannot be honoured"),
        (small("llama", use_rotary_embedding=False), "use_rotary_embedding: cannot be honoured"),
        (small("llama", use_rope=False), "use_rope: cannot be honoured"),
        (small("gptj", rotary=False, rotary_dim=4), "rotary: cannot be honoured"),
        (small("bert", position_biased_input=False), "position_biased_input: cannot be honoured"),
        (small("deepseek_v2", rope_interleave=False), "rope_interleave: cannot be honoured"),
        (small("llama", use_dynamic_ntk=True), "use_dynamic_ntk: cannot be honoured"),
        (small("llama", beta_fast=32.0), "beta_fast: cannot be honoured"),
        (small("llama", attention_window=64), "attention_window: cannot be honoured"),
        (small("llama", text_config={"rope_theta": 5.0}), "text_config: cannot be honoured"),
        ({"model_type": "gemma3", "text_config": small("gemma3_text"), "rope_teta": 5}, "rope_teta: looks like a key of positions"),
        (ruled("yarn", truncate=None) | {"max_position_embeddings": 512}, "truncate: needed true or false, got null"),
        (ruled("yarn", factor=None, **{ORIGINAL: 1024}), "factor: needed, since max_position_embeddings = 512 is below"),
        (small("deberta", pos_att_type="c2p|c2p", relative_attention=True), "pos_att_type: needed c2p and p2c alone, each once"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_honoured_is_refused(config: dict[str, Any], said: str) -> None:
    if "truncate" in said:
        config["rope_scaling"]["truncate"] = None
    refused(config, said)


@pytest.mark.parametrize(
    ("model_type", "change"),
    [
        ("mistral", {"sliding_window": 8, "use_sliding_window": False}),
        ("llama", {"seq_length": 4096}),
        ("llama", {"max_seq_len": 4096}),
        ("llama", {"log_scaling_alpha": 0.1}),
        ("qwen2", {"sliding_window": 8}),
    ],
)
def test_what_changes_nothing_warns(model_type: str, change: dict[str, Any]) -> None:
    assert len(accepted(small(model_type, **change)).warnings) == 1


def test_a_falcon_with_alibi_may_carry_a_rope_dictionary() -> None:
    """transformers adds one to every Falcon."""
    config = AutoConfig.for_model("falcon", alibi=True, num_hidden_layers=2, hidden_size=64, num_attention_heads=4)
    (scheme,) = checkpoints.read(config).build().schemes
    assert type(scheme).__name__ == "ALiBi"


def test_an_empty_dictionary_says_nothing() -> None:
    both = {**LLAMA, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}, "rope_scaling": {}}
    assert accepted(both).layers[0].scheme.base == 5e5  # type: ignore[union-attr]


def test_plans_can_be_hashed() -> None:
    plan = accepted(small("qwen3", layer_types=["full_attention"] * 4))
    assert hash(plan) == hash(accepted(small("qwen3", layer_types=["full_attention"] * 4)))
    hash(accepted(ruled("longrope")))


def gguf(path: Path, **values: float | bool | int | str) -> Path:
    """A Llama's header with more keys."""
    own: dict[str, Any] = {"block_count": 2, "embedding_length": 64, "context_length": 512, "attention.head_count": 4}
    entries = {"general.architecture": "llama", **{f"llama.{key}": value for key, value in {**own, **values}.items()}}
    written = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries))
    for key, value in entries.items():
        kind, form = {bool: (7, "<?"), int: (4, "<I"), float: (6, "<f"), str: (8, "")}[type(value)]
        raw = struct.pack("<Q", len(value)) + value.encode() if isinstance(value, str) else struct.pack(form, value)
        written += struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + raw
    path.write_bytes(written)
    return path


def test_a_gguf_factor_without_a_type_is_linear(tmp_path: Path) -> None:
    plan = checkpoints.read(gguf(tmp_path / "a.gguf", **{"rope.scaling.factor": 4.0}))
    assert plan.layers[0].scheme.scaling == Linear(factor=4.0)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"rope\.scaling.*needed one of default"):
        checkpoints.read(gguf(tmp_path / "b.gguf", **{"rope.scaling.type": "none", "rope.scaling.factor": 4.0}))
    plain = checkpoints.read(gguf(tmp_path / "c.gguf", **{"rope.scaling.type": "none"}))
    assert plain.layers[0].scheme.scaling is None  # type: ignore[union-attr]


def test_a_gguf_is_read_as_it_is(tmp_path: Path) -> None:
    for options in ({"model_type": "llama"}, {"ignore": ["rope_theta"]}):
        with pytest.raises(ValueError, match="needed no model_type= and no ignore="):
            checkpoints.read(gguf(tmp_path / "a.gguf"), **options)


def test_a_gguf_that_looks_both_ways_is_refused(tmp_path: Path) -> None:
    assert checkpoints.read(gguf(tmp_path / "a.gguf", **{"attention.causal": True})).stack().causal
    with pytest.raises(ValueError, match=r"llama\.attention\.causal: cannot be honoured: needed True"):
        checkpoints.read(gguf(tmp_path / "b.gguf", **{"attention.causal": False}))


def test_learned_tensors_stay_and_meta_tensors_do_not_matter() -> None:
    learned = {
        "embed_positions": torch.zeros(4, 8),
        "attn.bias": torch.zeros(1, 1, 4, 4),
        "x.position_ids": torch.randn(4, 4),
    }
    assert split_derived(learned).derived == {}
    meta = {"attn.bias": torch.ones(1, 1, 4, 4, device="meta"), "embed_positions": torch.ones(4, 8, device="meta")}
    assert set(split_derived(meta).derived) == set(meta)


def test_odd_weights_are_converted_too() -> None:
    assert convert_layout(torch.zeros(8, 0), to="half", n_heads=2, head_dim=4).shape == (8, 0)
    images = torch.randn(8, 3, 2, 2).to(memory_format=torch.channels_last)
    assert convert_layout(images, to="half", n_heads=2, head_dim=4).is_contiguous()
    with pytest.raises(ValueError, match="pass n_kv_heads=3"):
        convert_layout(torch.zeros(192, 8), to="half", n_heads=9, head_dim=64)
