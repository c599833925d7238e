"""What ``read`` takes for keys that are left out, tables and biases, against what transformers' classes fill in."""

import pytest
from reading_models import config_of, plan_of

from ordinate.checkpoints.reading import ADDED

SIZES = {"num_hidden_layers": 24, "num_attention_heads": 4, "hidden_size": 768}
PAIR = {"encoder_layers": 2, "encoder_attention_heads": 4, "decoder_layers": 2, "decoder_attention_heads": 4, "d_model": 64}
NAMES = {
    "distilbert": ("n_layers", "n_heads", "dim"),
    "xlm": ("n_layers", "n_heads", "emb_dim"),
    "flaubert": ("n_layers", "n_heads", "emb_dim"),
    **dict.fromkeys(("gpt2", "gpt_bigcode", "imagegpt", "openai-gpt"), ("n_layer", "n_head", "n_embd")),
    "gpt_neo": ("num_layers", "num_heads", "hidden_size"),
    "trocr": ("decoder_layers", "decoder_attention_heads", "d_model"),
    "xglm": ("num_layers", "attention_heads", "d_model"),
    "mpt": ("n_layers", "n_heads", "d_model"),
    "bloom": ("n_layer", "n_head", "hidden_size"),
    **dict.fromkeys(("t5", "umt5", "switch_transformers", "pop2piano"), ("num_layers", "num_heads", "d_model")),
}
PAIRED = ("bart", "mbart", "mvp", "plbart", "blenderbot", "blenderbot-small", "marian", "pegasus", "m2m_100", "nllb-moe", "fsmt")
PAIRED += ("speech_to_text", "whisper")


def sizes_of(model_type):
    if model_type in PAIRED:
        return {"model_type": model_type, **PAIR}
    names = NAMES.get(model_type, tuple(SIZES))
    return {"model_type": model_type, **dict(zip(names, SIZES.values(), strict=True))}


@pytest.mark.parametrize("model_type", ADDED)
def test_defaults(model_type):
    sizes = sizes_of(model_type)
    filled = config_of(sizes).to_dict()
    assert len(filled) > len(sizes)
    assert plan_of(sizes).stacks == plan_of(filled).stacks
