"""Tiny models with position vectors at the input, their tables and projections by name, and batches with padding."""

import torch
import transformers
from reading_models import config_of, plan_of
from transformers import AutoModel
from transformers.models.bridgetower.modeling_bridgetower import BridgeTowerTextModel

from ordinate.positions import from_padding_mask

PAD = 5  # no model's default
ENDS = {"pad_token_id": PAD, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {"vocab_size": 64, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 6, "intermediate_size": 16, **ENDS}
SIZES["max_position_embeddings"] = 40
PAIR = {f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in (("layers", 2), ("ffn_dim", 16))}
PAIR |= {"vocab_size": 64, "d_model": 48, "encoder_attention_heads": 6, "decoder_attention_heads": 3, **ENDS}
PAIR |= {"decoder_start_token_id": 2, "forced_eos_token_id": None, "max_position_embeddings": 40}
GPT = {"vocab_size": 64, "n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": 40, "bos_token_id": 1, "eos_token_id": 2}
XLM = {"vocab_size": 64, "emb_dim": 48, "n_layers": 3, "n_heads": 6, "max_position_embeddings": 40, **ENDS, "mask_index": 3}
XLM |= {"bos_index": 1, "eos_index": 2, "pad_index": PAD, "unk_index": 4}
DISTILBERT = {"vocab_size": 64, "dim": 48, "n_layers": 3, "n_heads": 6, "hidden_dim": 16, "max_position_embeddings": 40, **ENDS}
GPT_NEO = {"num_layers": 3, "num_heads": 6, "window_size": 4, "attention_types": [[["global", "local"], 1], [["local"], 1]]}
MUSICGEN = {**SIZES, "ffn_dim": 16, "num_codebooks": 2}
TIMES = {"max_source_positions": 60, "max_target_positions": 40}
SPEECH = {**TIMES, "conv_channels": 16, "num_conv_layers": 1, "conv_kernel_sizes": (3,), "input_feat_per_channel": 8}

ENCODERS = ["bert", "bert-generation", "ernie", "megatron-bert", "roc_bert", "splinter", "roberta", "roberta-prelayernorm"]
ENCODERS += ["camembert", "data2vec-text", "xlm-roberta", "xlm-roberta-xl", "ibert", "altclip_text_model", "clap_text_model"]
ENCODERS += ["bridgetower_text_model", "align_text_model", "chinese_clip_text_model", "flava_text_model"]
CLIPS = ["clip_text_model", "clipseg_text_model", "groupvit_text_model", "metaclip_2_text_model", "xclip_text_model"]
CLIPS += ["owlvit_text_model", "owlv2_text_model", "siglip_text_model", "siglip2_text_model"]
PAIRS = ["bart", "mbart", "mvp", "plbart", "blenderbot", "blenderbot-small"]
SINUSOIDS = {"marian": 0, "pegasus": 0, "m2m_100": PAD + 1, "nllb-moe": PAD + 1}  # and position of the first token
MODELS = {
    **dict.fromkeys([*ENCODERS, *CLIPS, "opt", "biogpt"], SIZES),
    "roc_bert": {**SIZES, "pronunciation_vocab_size": 8, "shape_vocab_size": 8},
    "opt": {**SIZES, "ffn_dim": 16, "word_embed_proj_dim": 24},
    "xmod": {**SIZES, "languages": ("en_XX",), "default_language": "en_XX"},
    "albert": {**SIZES, "embedding_size": 24},
    "electra": {**SIZES, "embedding_size": 24},
    "rembert": {**SIZES, "input_embedding_size": 24},
    "squeezebert": {**SIZES, "embedding_size": 48, **{f"{part}_groups": 1 for part in ("q", "k", "v", "post_attention")}},
    "mobilebert": {**SIZES, "embedding_size": 24, "intra_bottleneck_size": 36, "true_hidden_size": 36},
    "distilbert": DISTILBERT,
    "xlm": XLM,
    "flaubert": XLM,
    **dict.fromkeys(("gpt2", "gpt_bigcode", "imagegpt", "openai-gpt"), GPT),
    "gpt_neo": {
        **{key: value for key, value in SIZES.items() if not key.startswith("num_") and key != "intermediate_size"},
        **GPT_NEO,
    },
    **dict.fromkeys([*PAIRS, "marian", "pegasus", "m2m_100", "nllb-moe"], PAIR),
    "fsmt": {**PAIR, "src_vocab_size": 64, "tgt_vocab_size": 64, "langs": ["en", "de"]},
    "whisper": {**PAIR, **TIMES, "num_mel_bins": 8},
    "speech_to_text": {**PAIR, **SPEECH},
    "trocr": {"vocab_size": 64, "d_model": 48, "decoder_layers": 2, "decoder_attention_heads": 6, "decoder_ffn_dim": 16, **ENDS}
    | {"max_position_embeddings": 40, "decoder_start_token_id": 2},
    "xglm": {"vocab_size": 64, "d_model": 48, "num_layers": 2, "attention_heads": 6, "ffn_dim": 16, **ENDS}
    | {"max_position_embeddings": 40, "decoder_start_token_id": 2, "pad_token_id": 1},
    **dict.fromkeys(("musicgen_decoder", "musicgen_melody_decoder"), MUSICGEN),
}
del MODELS["fsmt"]["vocab_size"]
# Models that AutoModel does not make.
CLASSES = {
    "siglip_text_model": "SiglipTextModel",
    "siglip2_text_model": "Siglip2TextModel",
    "chinese_clip_text_model": "ChineseCLIPTextModel",
    "align_text_model": "AlignTextModel",
    "altclip_text_model": "AltCLIPTextModel",
    "clipseg_text_model": "CLIPSegTextModel",
    "owlvit_text_model": "OwlViTTextModel",
    "owlv2_text_model": "Owlv2TextModel",
    "groupvit_text_model": "GroupViTTextModel",
    "xclip_text_model": "XCLIPTextModel",
    "metaclip_2_text_model": "MetaClip2TextModel",
    "clap_text_model": "ClapTextModel",
    "flava_text_model": "FlavaTextModel",
    "trocr": "TrOCRForCausalLM",
    "musicgen_decoder": "MusicgenForCausalLM",
    "musicgen_melody_decoder": "MusicgenMelodyForCausalLM",
}


def _table_names():
    found = {name: {"encoder": "embeddings.position_embeddings"} for name in MODELS if name in ENCODERS}
    found["altclip_text_model"] = {"encoder": "roberta.embeddings.position_embeddings"}
    more = ("xmod", "albert", "electra", "rembert", "squeezebert", "mobilebert", "distilbert")
    found |= {name: {"encoder": "embeddings.position_embeddings"} for name in more}
    found |= {name: {"encoder": "embeddings.position_embedding"} for name in CLIPS}
    found |= {name: {"encoder": "text_model.embeddings.position_embedding"} for name in CLIPS if name[:3] in ("owl", "gro")}
    found |= {name: {"encoder": "position_embeddings"} for name in ("xlm", "flaubert")}
    found |= {name: {"decoder": "wpe"} for name in ("gpt2", "gpt_bigcode", "imagegpt", "gpt_neo")}
    found |= {"openai-gpt": {"decoder": "positions_embed"}, "opt": {"decoder": "decoder.embed_positions"}}
    found |= {"biogpt": {"decoder": "embed_positions"}, "trocr": {"decoder": "model.decoder.embed_positions"}}
    found |= {name: {side: f"{side}.embed_positions" for side in ("encoder", "decoder")} for name in PAIRS}
    return {**found, "whisper": {"decoder": "decoder.embed_positions"}}


TABLES = _table_names()


def model_of(model_type, attention="eager", **changes):
    config = config_of({"model_type": model_type, **MODELS[model_type], **changes})
    torch.manual_seed(0)
    if model_type == "bridgetower_text_model":
        return BridgeTowerTextModel._from_config(config, attn_implementation=attention).eval()
    name = CLASSES.get(model_type)
    make = getattr(transformers, name)._from_config if name else AutoModel.from_config
    return make(config, attn_implementation=attention).eval()


def plan_for(model_type, **changes):
    return plan_of({"model_type": model_type, **MODELS[model_type], **changes})


def padded_batch(side):
    """Tokens and mask: three of padding in the first row, none in the second."""
    tokens = torch.randint(6, 60, (2, 10), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 10, dtype=torch.int64)
    if side != "none":
        mask[0, slice(None, 3) if side == "left" else slice(7, None)] = 0
    return tokens.masked_fill(mask == 0, PAD), mask


def inputs_of(model, tokens, mask):
    """What a model is called with."""
    inputs = {"input_ids": tokens, "attention_mask": mask}
    generator = torch.Generator().manual_seed(0)
    if model.config.model_type == "whisper":
        frames = torch.randn(2, 8, 120, generator=generator)
        return {"input_features": frames, "decoder_input_ids": tokens, "decoder_attention_mask": mask}
    if model.config.model_type == "speech_to_text":
        lengths = torch.tensor([14, 20])[:, None]
        own = (torch.arange(20) < lengths).long()
        frames = torch.randn(2, 20, 8, generator=generator)
        inputs = {"input_features": frames, "attention_mask": own}
    if model.config.is_encoder_decoder:
        inputs |= {"decoder_input_ids": tokens, "decoder_attention_mask": mask}
    return inputs


def given_by(model, name, tokens, mask):
    """What a module of the model gives when the model is run, and the module."""
    module, seen = model.get_submodule(name), []
    handle = module.register_forward_hook(lambda _, __, out: seen.append(out[0] if isinstance(out, tuple) else out))
    with torch.no_grad():
        model(**inputs_of(model, tokens, mask))
    handle.remove()
    return seen[0], module


def counted(ids, tokens, mask):
    """Positions as a plan says that they are counted."""
    if ids.counted_from == "order":
        return torch.arange(tokens.shape[1]).expand(tokens.shape) + ids.first
    return from_padding_mask(mask if ids.counted_from == "mask" else tokens != ids.padding_token) + ids.first
