"""Model types with rotary embeddings: all of them, and the model files' own rotary modules."""

import contextlib
import copy
import dataclasses
import importlib
import warnings
from unittest import mock

import reading_multimodal as several
import torch
from reading_gemma4 import GEMMA4
from reading_kin import KIN
from reading_multimodal import MULTIMODAL, pair_by_pair, theirs
from reading_sizes import FULLY
from reading_speech import EMBEDDERS, SPEECH, SPEECH_CLASSES, SPEECH_FOLDERS, Handed
from reading_text import TEXT
from transformers import AutoConfig, AutoModel, PreTrainedModel

from ordinate.checkpoints import read

MODELS = {**FULLY, **KIN, **MULTIMODAL, **GEMMA4, **TEXT, **SPEECH}
BESIDE = ("evolla", "moshi")  # with stacks that test_read_stacked holds
# Types whose models take no tokens: tests of their own hold them.
HELD_APART = {"muse_glimmer_assistant", "dots3_note_audio_encoder"}
NEW_ONLY = ("mellum", "laguna", "ultrabert", "mimo_v2_flash", *GEMMA4, "dory")  # types that never had the old spelling
NEW_ONLY += ("beam", "lfm3", "zaya", "step3p5", *several.BY_LAYER_TYPE)
NO_OLD = (*NEW_ONLY, "cohere2_moe", "mistral4")  # types that do not read it, or not all of it
OWN_ROTARY = ("idefics", "recurrent_gemma")  # every attention module has a rotary module of its own
QUERY_SCALED = ("ministral3", "mistral4")  # queries grow with the position
PER_TYPE = ("gemma3_text", "olmo3", "modernbert", "modernbert-decoder", "gemma3n_text", *NEW_ONLY)
FOLDERS = {"gemma3_text": "gemma3", "llama4_text": "llama4", "apertus1p5_text": "apertus1p5", "aria_text": "aria"}
FOLDERS |= {"csm_depth_decoder_model": "csm", "emu3_text_model": "emu3", "granite4_vision_text": "granite4_vision"}
FOLDERS |= {"granite_docling_text": "granite_docling", "sarvam_moe": "glm4_moe", "sarvam_mla": "deepseek_v3"}
FOLDERS |= {
    "modernbert-decoder": "modernbert_decoder",
    "deepseek_ocr2_text": "deepseek_ocr2",
    "deepseek_ocr2_encoder": "deepseek_ocr2",
    "gemma3n_text": "gemma3n",
}
FOLDERS |= {"deepseek_ocr2_encoder": "deepseek_ocr2"}
FOLDERS |= {"muse_glimmer_text": "muse_glimmer", "muse_spark_text": "muse_spark"}
FOLDERS |= several.FOLDERS
FOLDERS |= dict.fromkeys(("exaone", "internlm3", "iquestcoder"), "llama")
FOLDERS |= {"mllama_text_model": "mllama", "unlimited_ocr_text": "unlimited_ocr"}
FOLDERS |= {name: name.removesuffix("_text") for name in GEMMA4}
FOLDERS |= {"molmo2_text": "molmo2", "minimax_m3_vl_text": "minimax_m3_vl", "step3p5": "step3p7"}
FOLDERS |= SPEECH_FOLDERS
LABELS = {"zaya": ("hybrid", "hybrid_sliding")}  # other names of layers that see everything and of those with a window
# Models that no Auto class makes.
CLASSES = {"csm_depth_decoder_model": "CsmDepthDecoderModel", "emu3_text_model": "Emu3TextModel"}
CLASSES |= {"step3p5": "Step3p7TextModel", **SPEECH_CLASSES}
CLASSES |= {
    "mllama_text_model": "MllamaTextModel",
    "unlimited_ocr_text": "UnlimitedOcrTextModel",
    "diffusion_gemma_text": "DiffusionGemmaEncoderTextModel",
    "deepseek_ocr2_encoder": "DeepseekOcr2VisionEncoder",
    "deepseek_ocr2_text": "DeepseekOcr2TextModel",
    "csm": "CsmBackboneModel",
    "granite4_vision_text": "Granite4VisionTextModel",
    **several.CLASSES,
}

NAMES = {
    "llama4_text": "Llama4TextRotaryEmbedding",
    "deepseek_ocr2_encoder": "DeepseekOcr2VisionRotaryEmbedding",
    "evolla": "EvollaRotaryEmbedding",
    "gptj": "GPTJRotaryEmbedding",
    "codegen": "CodeGenRotaryEmbedding",
    **several.ROTARY,
}
SINUSOIDS = ("gptj", "codegen")  # modules that keep a table of sin beside cos
PAIRED = ("cohere", "cohere2", "cohere2_moe", *several.NEIGHBOURS_TURN)  # each cos is there twice in a row
IN_HALVES = (
    "deepseek_v32",
    "glm_moe_dsa",
    "axk2",
    "deepseek_v3",
    "bailing_hybrid",
    "axk1",
    "youtu",
    "sarvam_mla",
    "glm4_moe_lite",
    "mistral4",
    "longcat_flash",
)  # pairs go in as neighbours and come out as halves
COMPLEX = ("llama4_text", "deepseek_v2")


def config_of(values):
    """Give transformers' configuration; it changes what it is given, so it gets a copy."""
    settings = copy.deepcopy(values)
    if values["model_type"] == "qwen3_omni_moe_code2wav":
        return _code2wav()(**{key: value for key, value in settings.items() if key != "model_type"})
    return AutoConfig.for_model(settings.pop("model_type"), **settings)


def _code2wav():
    """Its configuration has no model type, so that it cannot be told from others."""
    home = importlib.import_module("transformers.models.qwen3_omni_moe.configuration_qwen3_omni_moe")
    return type("Code2Wav", (home.Qwen3OmniMoeCode2WavConfig,), {"model_type": "qwen3_omni_moe_code2wav"})


def model_from(config, implementation):
    """Give the model of a configuration, with drawn weights."""
    name, file = CLASSES.get(config.model_type), file_of(config.model_type)
    if name and not issubclass(getattr(file, name), PreTrainedModel):
        config._attn_implementation = implementation
        return getattr(file, name)(config)
    make = getattr(file, name)._from_config if name else AutoModel.from_config
    embedder = EMBEDDERS.get(config.model_type)
    with mock.patch.object(file, embedder, Handed) if embedder else contextlib.nullcontext():
        return make(config, attn_implementation=implementation)


def plan_of(values):
    """Give our plan; keys that change nothing are warned of elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return main_part(read(copy.deepcopy(values)))


def main_part(plan):
    """Give a plan of the one stack that is held here, of models with others beside it."""
    return dataclasses.replace(plan, stacks=(plan.stack("decoder"),)) if plan.model_type in BESIDE else plan


def file_of(model_type):
    folder = FOLDERS.get(model_type, model_type)
    return importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")


def rotary_of(config):
    """Give the rotary module of a configuration's model type."""
    file = file_of(config.model_type)
    name = NAMES.get(config.model_type)
    found = [key for key in vars(file) if key.endswith("RotaryEmbedding") and "VisionRotary" not in key]
    return getattr(file, name or found[0])(config)


OTHER_WAY = ("nanochat",)  # pairs turn by negative angles


def frequencies(module, model_type, label):
    """Give inverse frequencies and magnitude of a layer type."""
    if model_type in PER_TYPE:
        return getattr(module, f"{label}_inv_freq"), getattr(module, f"{label}_attention_scaling")
    found = pair_by_pair(module.inv_freq, module, model_type)
    return -found if model_type in OTHER_WAY else found, module.attention_scaling


def cos_sin(module, model_type, positions, label):
    """Give cos and sin of each pair, once, in float32."""
    x = torch.zeros(1)
    if model_type in SINUSOIDS:
        sin, cos = module(x, positions[None])
        return cos[0], sin[0]
    made = module(x, theirs(positions), *((label,) if model_type in PER_TYPE else ()))
    if model_type in COMPLEX:
        return made.real[0], made.imag[0]
    cos, sin = made[0][0], made[1][0]
    if model_type in PAIRED:
        return cos[:, 0::2], sin[:, 0::2]
    pairs = frequencies(module, model_type, label)[0].numel()
    return cos[:, :pairs], -sin[:, :pairs] if model_type in OTHER_WAY else sin[:, :pairs]
