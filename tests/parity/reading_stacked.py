"""Small configurations of models of several stacks, and of those with a rotation of their own sort."""

from reading_sizes import COMMON, DECLARED, DIVIDED
from reading_speech import SPEECH, WIDE

LENGTH = 40
HEADS = {f"{half}_{key}": DIVIDED[key] for half in ("encoder", "decoder") for key in ("num_hidden_layers", "num_attention_heads")}
MOONSHINE = {**COMMON, **HEADS, "hidden_size": 160, "max_position_embeddings": 4321}
ENCODER = {
    **WIDE,
    "num_key_value_heads": 4,
    "sliding_windows": [[16, 4], [16, 0], [9, 9], [5, 1]] * 2,
    "max_position_embeddings": 99,
}
ESM = {**DIVIDED, "position_embedding_type": "rotary", "hidden_size": 256, "vocab_size": 64, "max_position_embeddings": 1026}
ESM |= {"rope_theta": 4321.5, "token_dropout": False, "emb_layer_norm_before": False}
CLVP = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 32, "vocab_size": 64}
CLVP |= {"projection_dim": 384, "bos_token_id": 1, "eos_token_id": 2}  # 48 of 64 entries turn
CONFORMER = {**DIVIDED, "position_embeddings_type": "rotary", "rotary_embedding_base": 4321, "layerdrop": 0.0}
CONFORMER |= {"feature_projection_input_dim": 16, "conv_depthwise_kernel_size": 3}
CODEC = {**WIDE, "num_key_value_heads": 4, "rope_theta": 4321.5}
LLAMA = {**DECLARED, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}
MODERN = {**DIVIDED, "local_attention": 10}


def parts(**named):
    """Configurations of parts, without the sorts of their own."""
    return {key: {name: value for name, value in values.items() if name != "model_type"} for key, values in named.items()}


STACKED_VALUES = {
    "clvp": parts(
        text_config=CLVP,
        speech_config={**CLVP, "num_hidden_layers": 3, "use_rotary_embedding": False},
        decoder_config={**CLVP, "max_position_embeddings": 77, "num_mel_attn_blocks": 1},
    ),
    "dia": {"delay_pattern": [0, 1]}
    | parts(
        encoder_config={**SPEECH["dia_encoder"], "rope_theta": 4321.5},
        decoder_config={**SPEECH["dia_decoder"], "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4}},
    ),
    "evolla": {**SPEECH["evolla"], **parts(protein_encoder_config=ESM)},
    "glmasr": parts(audio_config=SPEECH["glmasr_encoder"], text_config=LLAMA),
    "lasr_ctc": parts(encoder_config=SPEECH["lasr_encoder"]),
    "mimi": {**SPEECH["mimi_encoder"], "rope_theta": 4321.5},
    "moonshine": {**MOONSHINE, "rope_theta": 4321.5, "partial_rotary_factor": 0.5},
    "moonshine_streaming": {
        **DIVIDED,
        "num_key_value_heads": 4,
        "rope_parameters": {"rope_type": "default", "rope_theta": 4321.5},
        "encoder_config": ENCODER,
    },
    "moshi": {
        **SPEECH["moshi"],
        "audio_vocab_size": 2048,
        **parts(depth_decoder_config={**WIDE, "ffn_dim": 32, "input_size": 128, "num_hidden_layers": 3, "sliding_window": 5}),
    },
    "nemotron3_5_transcribe_audio": parts(
        asr_config=SPEECH["nemotron3_5_transcribe_asr_audio"],
        diarization_config={
            "audio_config": SPEECH["nemotron3_diarization_audio"],
            "head_config": {"audio_hidden_size": 192},
        },
    ),
    "nemotron3_diarization": {
        **parts(audio_config=SPEECH["nemotron3_diarization_audio"]),
        "head_config": {"audio_hidden_size": 192},
    },
    "neucodec": CODEC,
    "pe_audio": parts(text_config=MODERN, audio_config=SPEECH["pe_audio_encoder"]),
    "pe_audio_video": parts(
        text_config=MODERN,
        audio_video_config={
            **SPEECH["pe_audio_video_encoder"],
            "audio_config": {**SPEECH["pe_audio_encoder"], "rope_theta": 123.5},
            "video_config": {**SPEECH["pe_video_encoder"], "num_hidden_layers": 3},
        },
    ),
    "pe_video": parts(text_config=MODERN, video_config=SPEECH["pe_video_encoder"]),
    "pocket_tts_audio_tokenizer": {**SPEECH["pocket_tts_audio_tokenizer_encoder"], "rope_theta": 4321.5},
    "voxtral_realtime": parts(
        text_config=SPEECH["voxtral_realtime_text"],
        audio_config={key: value for key, value in SPEECH["voxtral_realtime_encoder"].items() if key != "num_key_value_heads"},
    ),
    "xcodec2": CODEC,
}
FIXED_VALUES = {
    "clvp_decoder": {**CLVP, "max_position_embeddings": 77},
    "clvp_encoder": CLVP,
    "esm": ESM,
    "seamless_m4t": {
        **{key: value for key, value in CONFORMER.items() if not key.startswith("num_")},
        "speech_encoder_layers": 2,
        "speech_encoder_attention_heads": 4,
        "speech_encoder_layerdrop": 0.0,
    },
    "wav2vec2-bert": CONFORMER,
    "wav2vec2-conformer": CONFORMER,
}
