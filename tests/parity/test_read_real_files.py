"""Published configuration files, read by both: rotary modules, layers, windows, tables and scales of the real sizes."""

import json
import re
from pathlib import Path

import pytest
import torch
from reading_compare import FAR, NEAR, compare_all
from reading_models import MODELS, SINUSOIDS, config_of, file_of, plan_of
from transformers import AutoModel

from ordinate.checkpoints.wholes import WHOLES

FOLDER = Path(__file__).parents[1] / "checkpoints" / "configs"
VALUES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
OLD_NAMES = {"RefinedWeb": "falcon", "RefinedWebModel": "falcon", "kimi_k2": "deepseek_v3"}
TABLES = ("bert", "roberta", "gpt2", "opt", "bart", "whisper")
BIASES = ("bloom", "mpt", "t5", "mt5", "umt5", "deberta", "deberta-v2")
OLD_SIZES = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_head_kv": "num_kv_heads"}
REFUSED = {"jina_embeddings_v2_base_en": "a BERT in name, with ALiBi", "nomic_embed_text_v1_5": "its own code's names"}
# transformers 5.24 leaves attn_factor out, and LongRoPE's long factors: see test_read_where_transformers_errs and _stops.
READ_OTHERWISE = ("deepseek_r1_0528_qwen3_8b", "phi_3_5_moe")
ONE_WINDOW = ("mistral", "ministral3", "mixtral", "phi3", "phimoe", "starcoder2")


def known(values):
    model_type = values["model_type"]
    return model_type in {*MODELS, *WHOLES, *OLD_NAMES, *TABLES, *BIASES}


KNOWN = {name: values for name, values in VALUES.items() if known(values) and name not in REFUSED}
PLANS = {name: plan_of(values) for name, values in KNOWN.items()}
ROTARY = [name for name, plan in PLANS.items() if plan.model_type in {*MODELS, *OLD_NAMES} and not KNOWN[name].get("alibi")]


def theirs_of(name):
    """transformers' configuration of the text model; spellings that it does not know any more are written anew."""
    values = dict(KNOWN[name])
    if values["model_type"] in OLD_NAMES:
        values = {OLD_SIZES.get(key, key): value for key, value in values.items()}
        values["model_type"] = OLD_NAMES[values["model_type"]]
    if name == "omnigen_v1_phi3_su":
        values["rope_scaling"] = {**values["rope_scaling"], "type": "longrope"}
    return config_of(values).get_text_config()


def attention_of(config, index):
    """One layer's attention module, without weights."""
    file = file_of(config.model_type)
    kinds = [kind for key, kind in vars(file).items() if re.search(r"^(?!.*(Vision|Audio)).*Attention$", key)]
    with torch.device("meta"):
        return kinds[0](config, index)


def scale_of(module):
    for key in ("scaling", "inv_norm_factor"):
        if hasattr(module, key):
            return getattr(module, key)
    return module.head_dim**-0.5


def test_how_many_files_there_are():
    assert len(VALUES) >= 124
    assert len(ROTARY) >= 70
    assert len(KNOWN) - len(ROTARY) >= 19


@pytest.mark.parametrize("name", [name for name in ROTARY if name not in READ_OTHERWISE])
def test_rotary_modules_bit_for_bit(name):
    config = theirs_of(name)
    assert compare_all(config, PLANS[name], [NEAR] if config.model_type in SINUSOIDS else [NEAR, FAR]) >= 8


@pytest.mark.parametrize("name", ROTARY)
def test_layers(name):
    config, layers = theirs_of(name), PLANS[name].layers
    assert len(layers) == config.num_hidden_layers
    for index, layer in enumerate(layers):
        if not layer.attends:
            continue
        module = attention_of(config, index)
        one = getattr(config, "sliding_window", None) if config.model_type in ONE_WINDOW else None
        reach = getattr(module, "sliding_window", one) if getattr(module, "is_sliding", True) else None
        assert layer.window == reach
        assert abs(layer.softmax_scale / scale_of(module) - 1) <= 2**-52
        assert layer.softmax_scale == scale_of(module) or config.model_type == "falcon"
    if getattr(config, "layer_types", None) is not None:
        assert [layer.kind for layer in layers] == config.layer_types
    turning = getattr(config, "no_rope_layers", None)
    if turning is None and config.model_type in ("cohere2", "exaone4"):
        turning = [kind == "sliding_attention" for kind in config.layer_types]
    assert [layer.scheme is not None for layer in layers] == (
        [layer.attends for layer in layers] if turning is None else list(map(bool, turning))
    )


@pytest.mark.parametrize("name", ["llama_4_scout", "llama_4_scout_instruct"])
def test_llama4s_chunks_and_factors(name):
    config = theirs_of(name)
    for layer in PLANS[name].layers:
        assert layer.chunk == (config.attention_chunk_size if layer.kind == "chunked_attention" else None)
        assert (layer.query_scale is None) == (layer.scheme is not None or not config.attn_temperature_tuning)
        if layer.query_scale is not None:
            assert (layer.query_scale.strength, layer.query_scale.length) == (config.attn_scale, config.floor_scale)


@pytest.mark.parametrize("name", [name for name, plan in PLANS.items() if plan.model_type == "ministral3"])
def test_ministral3s_factors(name):
    rope = theirs_of(name).rope_parameters
    expected = (rope["llama_4_scaling_beta"], rope["original_max_position_embeddings"], 0)
    for layer in PLANS[name].layers:
        assert (layer.query_scale.strength, layer.query_scale.length, layer.query_scale.first) == expected


@pytest.mark.parametrize("name", [name for name in PLANS if name not in ROTARY])
def test_shapes_of_the_other_models(name):
    """Every table of the plan has the shape of one in the model, and every stack as many layers."""
    with torch.device("meta"):
        model = AutoModel.from_config(theirs_of(name))
    shapes = {tuple(weight.shape) for weight in model.parameters()} | {tuple(weight.shape) for weight in model.buffers()}
    for stack in PLANS[name].stacks:
        with torch.device("meta"):
            built = stack.build()
        for module in (built.input, built.table, *built.schemes):
            for weight in () if module is None else module.parameters():
                assert tuple(weight.shape) in shapes
    layers = [stack for stack in model.modules() if isinstance(stack, torch.nn.ModuleList)]
    assert {len(stack.layers) for stack in PLANS[name].stacks} <= {len(stack) for stack in layers}


@pytest.mark.parametrize(
    "name", [name for name, values in KNOWN.items() if values.get("alibi") or values["model_type"] in ("bloom", "mpt")]
)
def test_scales_of_the_models_with_alibi(name):
    config = theirs_of(name)
    with torch.device("meta"):
        modules = [module for module in AutoModel.from_config(config).modules() if hasattr(module, "head_dim")]
    found = {getattr(module, "softmax_scale", None) or module.inv_norm_factor for module in modules}
    assert all(abs(layer.softmax_scale / scale - 1) <= 2**-52 for layer in PLANS[name].layers for scale in found)
    assert len(found) == 1
