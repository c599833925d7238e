"""Models of speech and sound whose layers are all alike or have one window: parts of larger models, and some of their own."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.layer_kinds import windowed
from ordinate.checkpoints.rope_dictionary import RopeKeys
from ordinate.checkpoints.rotary_types.plain import alike
from ordinate.checkpoints.rotary_types.record import RotaryType
from ordinate.checkpoints.rotary_types.slices import PARTIAL

Sizes = tuple[int, int, int]


def _sized(kind: RotaryType, sizes: Sizes, **defaults: int) -> RotaryType:
    """With default layers, heads and width, which parts of larger configurations leave out."""
    named = dict(zip(("num_hidden_layers", "num_attention_heads", "hidden_size"), sizes, strict=True))
    return replace(kind, defaults={**kind.defaults, **named, **defaults})


def _part(length: int, sizes: Sizes, rope: RopeKeys) -> RotaryType:
    """An encoder that turns a share of each head."""
    return _sized(RotaryType(causal=False, rope=rope), sizes, max_position_embeddings=length)


def _dia(length: int, sizes: Sizes) -> RotaryType:
    return _sized(replace(alike(length, head_dim=128), scale="one"), sizes)


# Half of each head turns without a dictionary, and whole heads with one that says no share.
TRANSCRIBE = RopeKeys(partial=PARTIAL, absent={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})
PE = _sized(replace(alike(10000, base=20000.0, head_dim=128), layout="interleaved", causal=False), (6, 14, 1792))

CODEC = _sized(replace(alike(8000), layers=windowed(default=250)), (8, 8, 512))
FACTORS = "queries are multiplied by learned factors of their entries after that norm, which stand for the softmax scale"

SPEECH: dict[str, RotaryType] = {
    "dia_encoder": replace(_dia(1024, (12, 16, 1024)), causal=False),
    "dia_decoder": _dia(3072, (18, 16, 2048)),
    "evolla": replace(alike(8192, base=500000.0), arithmetic="mixed"),
    "glmasr_encoder": _part(1500, (32, 20, 1280), RopeKeys(partial=PARTIAL, default_partial=0.5)),
    "gradium_phonon_tts": _sized(alike(8192), (6, 12, 768)),
    "kyutai_speech_to_text": replace(alike(750), layers=windowed(default=375)),
    "lasr_encoder": _sized(replace(alike(10000), causal=False), (17, 8, 512)),
    "mimi_decoder": CODEC,
    "mimi_encoder": CODEC,
    "moshi": replace(alike(3000), layers=windowed(default=3000)),
    "nemotron3_5_transcribe_asr_audio": _part(5000, (32, 10, 1280), TRANSCRIBE),
    "nemotron3_5_transcribe_word_timestamp": _part(5000, (2, 16, 1280), TRANSCRIBE),
    "nemotron3_diarization_audio": _part(5000, (31, 8, 512), RopeKeys(partial=PARTIAL)),
    "pe_audio_encoder": PE,
    "pe_audio_video_encoder": PE,
    "pe_video_encoder": PE,
    "pocket_tts": _sized(alike(8192), (6, 16, 1024)),
    "pocket_tts_audio_tokenizer_decoder": _sized(CODEC, (2, 8, 512)),
    "pocket_tts_audio_tokenizer_encoder": _sized(CODEC, (2, 8, 512)),
    "timesfm2_5": replace(alike(16384, head_dim=80), scale="one", normed_after=True, counted_from="mask", beside=FACTORS),
    "voxtral_realtime_text": _sized(replace(alike(131072), layers=windowed(default=4096)), (32, 32, 4096)),
    "voxtral_realtime_encoder": _sized(replace(alike(1500, head_dim=64), layers=windowed(default=750)), (32, 32, 1280)),
}
