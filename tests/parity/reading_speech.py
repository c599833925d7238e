"""Small configurations of models of speech and sound, and what each is fed in place of tokens: forty places, as the others have."""

import torch
from reading_multimodal import WITHOUT_TOKENS
from reading_sizes import DECLARED, DIVIDED

LENGTH = 40
WIDE = {**DECLARED, "hidden_size": 128}  # for code whose heads make up the width
ENCODER = {**DIVIDED, "num_key_value_heads": 4, "num_mel_bins": 16}
FFN = {**{key: value for key, value in WIDE.items() if key != "intermediate_size"}, "ffn_dim": 32}  # Moshi's name of that size
CODEC = {**WIDE, "num_key_value_heads": 4, "sliding_window": 9}
PROTEINS = {**DIVIDED, "hidden_size": 64, "intermediate_size": 32, "vocab_size": 64}
PE = {**DECLARED, "num_key_value_heads": 4}
SPEECH = {
    "dia_encoder": DECLARED,
    "dia_decoder": {
        **DECLARED,
        "num_channels": 2,
        "cross_hidden_size": 96,
        "cross_head_dim": 32,
        "cross_num_attention_heads": 2,
        "cross_num_key_value_heads": 2,
    },
    "evolla": {**WIDE, "aligner_num_add_layers": 1, "resampler_depth": 1, "protein_encoder_config": PROTEINS},
    "glmasr_encoder": ENCODER,
    "gradium_phonon_tts": {**WIDE, "flow_head_config": {"condition_dim": 128}},
    "kyutai_speech_to_text": {**FFN, "num_codebooks": 2, "codebook_vocab_size": 8, "audio_pad_token_id": 3, "sliding_window": 64},
    "lasr_encoder": {**DECLARED, "num_key_value_heads": 4, "conv_kernel_size": 3, "layerdrop": 0.0},
    "mimi_decoder": CODEC,
    "mimi_encoder": CODEC,
    "moshi": {**FFN, "num_codebooks": 2, "sliding_window": 64},
    "nemotron3_5_transcribe_asr_audio": ENCODER,
    "nemotron3_5_transcribe_word_timestamp": {**ENCODER, "blank_token_id": 3},
    "nemotron3_diarization_audio": ENCODER,
    "pe_audio_encoder": PE,
    "pe_audio_video_encoder": PE,
    "pe_video_encoder": PE,
    "pocket_tts": {**WIDE, "flow_head_config": {"condition_dim": 128}},
    "pocket_tts_audio_tokenizer_decoder": CODEC,
    "pocket_tts_audio_tokenizer_encoder": CODEC,
    "timesfm2_5": {**WIDE, "num_key_value_heads": 4, "patch_length": 4},
    "voxtral_realtime_text": {**DECLARED, "sliding_window": 9},
    "voxtral_realtime_encoder": {**DECLARED, "num_key_value_heads": 4, "sliding_window": 9, "num_mel_bins": 16},
}
SPEECH_FOLDERS = {
    name: name.removesuffix(part) for name in SPEECH for part in ("_encoder", "_decoder", "_text") if name.endswith(part)
}
SPEECH_FOLDERS |= dict.fromkeys((name for name in SPEECH if name.startswith("nemotron3_5")), "nemotron3_5_transcribe")
SPEECH_FOLDERS["kyutai_speech_to_text"] = "kyutai_speech_to_text"
SPEECH_FOLDERS["nemotron3_diarization_audio"] = "nemotron3_diarization"
SPEECH_CLASSES = {
    "dia_encoder": "DiaEncoder",
    "dia_decoder": "DiaDecoder",
    "evolla": "EvollaModel",
    "voxtral_realtime_text": "VoxtralRealtimeTextModel",
}
SPEECH_CLASSES |= dict.fromkeys(("mimi_encoder", "mimi_decoder"), "MimiTransformerModel")
SPEECH_CLASSES |= dict.fromkeys(
    ("pocket_tts_audio_tokenizer_encoder", "pocket_tts_audio_tokenizer_decoder"), "PocketTTSAudioTokenizerTransformerModel"
)
# Parts that make embeddings from sounds and images; the layers are fed in their place.
EMBEDDERS = {
    "pe_audio_encoder": "PeAudioEncoderEmbedder",
    "pe_audio_video_encoder": "PeAudioVideoEncoderEmbedder",
    "pe_video_encoder": "PeVideoEncoderEmbedder",
    "lasr_encoder": "LasrEncoderSubsampling",
}
EMBEDDED = ("nemotron3_5_transcribe_asr_audio", "nemotron3_diarization_audio", "voxtral_realtime_encoder")


class Handed(torch.nn.Module):
    """Stands for an embedder: hands its input on."""

    def __init__(self, config):
        super().__init__()
        self.model_type = config.model_type

    def forward(self, states, *_, **__):
        several = {"pe_audio_encoder": 2, "pe_video_encoder": 2, "pe_audio_video_encoder": 4}.get(self.model_type)
        return states if several is None else (states, *[None] * (several - 1))


def feed(config, tokens):
    """Give what a model is called with."""
    kind, width = config.model_type, config.hidden_size
    drawn = torch.Generator().manual_seed(0)
    if kind == "glmasr_encoder":
        return (), {"input_features": torch.randn(1, config.num_mel_bins, 2 * LENGTH, generator=drawn)}
    if kind == "deepseek_ocr2_encoder":  # without patches its queries are a plain sequence
        return (), {"inputs_embeds": torch.randn(1, LENGTH, width, generator=drawn), "num_patches": 0}
    if kind in (*EMBEDDED, *WITHOUT_TOKENS):
        return (), {"inputs_embeds": torch.randn(1, LENGTH, width, generator=drawn)}
    if kind == "nemotron3_5_transcribe_word_timestamp":
        return (), {"inputs_embeds": torch.randn(1, LENGTH // 2, width, generator=drawn)}
    if kind in EMBEDDERS:
        return (torch.randn(1, LENGTH - (kind != "lasr_encoder"), width, generator=drawn),), {}  # the others put a token in front
    if kind == "timesfm2_5":
        return (torch.randn(1, LENGTH * config.patch_length, generator=drawn),), {}
    if kind in SPEECH_CLASSES and "Transformer" in SPEECH_CLASSES[kind]:
        return (torch.randn(1, LENGTH, width, generator=drawn),), {"use_cache": False}
    if kind == "kyutai_speech_to_text":
        return (torch.cat((tokens[..., None], torch.randint(0, 8, (1, tokens.shape[1], 2), generator=drawn)), dim=-1),), {
            "use_cache": False
        }
    if kind == "dia_decoder":
        return (tokens[..., None].expand(-1, -1, 2) % 60,), {"encoder_hidden_states": torch.randn(1, 5, 96, generator=drawn)}
    if kind == "voxtral_realtime_text":
        return (tokens,), {"t_cond": torch.randn(1, 1, width, generator=drawn), "use_cache": False}
    return (tokens[..., None] if kind == "csm" else tokens,), {}  # CSM: one number for each codebook


class HandedAngles(torch.nn.Module):
    """Stands for a rotary module inside an attention module (Moshi): gives the angles that the attention module was handed."""

    def __init__(self, own):
        super().__init__()
        self.own, self.made = own, None

    def forward(self, *_):
        return self.made


def handed_angles(module):
    """Let an attention module that makes its own angles take them as ``position_embeddings``, as the others do."""
    if not isinstance(getattr(module, "rotary_emb", None), torch.nn.Module):
        return
    module.rotary_emb = HandedAngles(module.rotary_emb)

    def hand(module, positional, named):
        if "position_embeddings" not in named:
            named["position_embeddings"] = module.rotary_emb.own(named["hidden_states"], named["position_ids"])
        module.rotary_emb.made = named["position_embeddings"]
        return positional, named

    module.register_forward_pre_hook(hand, with_kwargs=True)


def without_norms(module):
    """Take away what comes after a rotation, so that what is handed on is what was turned."""
    for name in ("query_layernorm", "key_layernorm", "q_norm", "k_norm"):
        if hasattr(module, name):
            setattr(module, name, torch.nn.Identity())
    if isinstance(getattr(module, "scaling", None), torch.nn.Parameter):  # TimesFM's factors: each is exactly 8
        torch.nn.init.constant_(module.scaling, EIGHTFOLD)


# Softplus leaves numbers above 20 as they are; TimesFM multiplies them by log2(e) / sqrt(32).
EIGHTFOLD = 8.0 / (1.442695041 / 32**0.5)
