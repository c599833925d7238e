"""Models of several rotary stacks: encoder and decoder, or a part for each sort of input, each with a configuration of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ordinate.checkpoints import clvp_models, conformer_models, esm_models
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import short, whole
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.recording import check_causal, check_leftovers
from ordinate.checkpoints.rotary_models import read_rotary
from ordinate.checkpoints.rotary_types import ROTARY_TYPES
from ordinate.checkpoints.rotary_types.parts import PARTS
from ordinate.checkpoints.scheme_plans import LearnedPlan
from ordinate.checkpoints.table_models import Reader

READERS: dict[str, Reader] = {**esm_models.READERS, **conformer_models.READERS, **clvp_models.READERS}
PART_READERS: dict[str, Reader] = {**READERS, "saprot": esm_models.saprot}
ROWS = {**ROTARY_TYPES, **PARTS}
TEXT = "text_config"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One stack, and where its configuration stands.

    Attributes:
        name: of the stack.
        model_type: of its row.
        key: of its configuration, with dots between keys; None if it is the whole's own.
        cross_scale: softmax scale of attention to another stack, which does not turn; "own" if it is the layers'; None without one.
        cross_table: key of the stack to whose states a learned table is added before that attention; None without one.
        defaults: of the whole, in place of the row's, where the part leaves keys out.
        dropped_by: key that drops the part where it is there and null.
        renamed: keys of the part's own row, and the whole's keys that stand for them.
        check: what else the whole's configuration must hold.

    Example:
        >>> Part(name="encoder", model_type="dia_encoder", key="encoder_config").cross_scale is None
        True
    """

    name: str
    model_type: str
    key: str | None = None
    cross_scale: float | Literal["own"] | None = None
    cross_table: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    dropped_by: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Fields], None] | None = None


Parts = tuple[Part, ...]


def _halves(model_type: str) -> Parts:
    """A codec: its encoder and its decoder each have such a transformer, and both look back only."""
    return tuple(Part(name=half, model_type=f"{model_type}_{half}", dropped_by=f"{half}_config") for half in ("encoder", "decoder"))


def _sizes(layers: int, heads: int, width: int) -> dict[str, int]:
    return {"num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": width}


def _equal(key: str, other: str) -> Callable[[Fields], None]:
    """Numbers of heads that transformers' code must find equal."""

    def check(fields: Fields) -> None:
        one, two = fields.values.get(key), fields.values.get(other)
        if one is not None and two is not None and one != two:
            fields.fault(key, f"cannot be honoured: needed as many as {other}, {short(two)}, got {short(one)}")

    return check


CODEC_HEADS = _equal("num_key_value_heads", "num_attention_heads")
OF_ENCODER = {key: f"encoder_{key}" for key in ("num_hidden_layers", "num_attention_heads")}
LLAMA_OF_GLMASR = {**_sizes(28, 16, 2048), "max_position_embeddings": 8192}
VOXTRAL_TEXT = {**_sizes(26, 32, 3072), "rope_theta": 1e6, "head_dim": 128, "sliding_window": 8192}
PE_TEXT = Part(
    name="text",
    model_type="modernbert",
    key=TEXT,
    defaults=_sizes(22, 16, 1024),
)

STACKED: dict[str, Parts] = {
    "clvp": (
        Part(name="text", model_type="clvp_encoder", key=TEXT, defaults=_sizes(20, 12, 768)),
        Part(name="speech", model_type="clvp_encoder", key="speech_config", defaults=_sizes(20, 12, 768)),
        Part(name="decoder", model_type="clvp_decoder", key="decoder_config", defaults=_sizes(30, 16, 1024)),
    ),
    "dia": (
        Part(name="encoder", model_type="dia_encoder", key="encoder_config"),
        Part(name="decoder", model_type="dia_decoder", key="decoder_config", cross_scale=1.0),
    ),
    "evolla": (
        Part(name="encoder", model_type="saprot", key="protein_encoder_config", defaults=_sizes(33, 20, 1280)),
        Part(name="decoder", model_type="evolla"),
    ),
    "glmasr": (
        Part(name="encoder", model_type="glmasr_encoder", key="audio_config"),
        Part(name="decoder", model_type="llama", key=TEXT, defaults=LLAMA_OF_GLMASR),
    ),
    "lasr_ctc": (Part(name="encoder", model_type="lasr_encoder", key="encoder_config"),),
    "mimi": _halves("mimi"),
    "moonshine": (
        Part(
            name="encoder",
            model_type="moonshine_encoder",
            renamed=OF_ENCODER,
            check=_equal("encoder_num_attention_heads", "decoder_num_attention_heads"),
        ),
        Part(name="decoder", model_type="moonshine_decoder", cross_scale="own"),
    ),
    "moonshine_streaming": (
        Part(name="encoder", model_type="moonshine_streaming_encoder", key="encoder_config"),
        Part(name="decoder", model_type="moonshine_streaming", cross_scale="own", cross_table="encoder_config"),
    ),
    "moshi": (
        Part(name="decoder", model_type="moshi"),
        Part(name="depth", model_type="moshi_depth", key="depth_decoder_config"),
    ),
    "nemotron3_5_transcribe_audio": (
        Part(name="encoder", model_type="nemotron3_5_transcribe_asr_audio", key="asr_config"),
        Part(name="diarization", model_type="nemotron3_diarization_audio", key="diarization_config.audio_config"),
    ),
    "nemotron3_diarization": (Part(name="encoder", model_type="nemotron3_diarization_audio", key="audio_config"),),
    "neucodec": (Part(name="decoder", model_type="neucodec", check=CODEC_HEADS),),
    "pe_audio": (PE_TEXT, Part(name="audio", model_type="pe_audio_encoder", key="audio_config")),
    "pe_audio_video": (
        PE_TEXT,
        Part(name="audio and video", model_type="pe_audio_video_encoder", key="audio_video_config"),
        Part(name="audio", model_type="pe_audio_encoder", key="audio_video_config.audio_config"),
        Part(name="video", model_type="pe_video_encoder", key="audio_video_config.video_config"),
    ),
    "pe_video": (PE_TEXT, Part(name="video", model_type="pe_video_encoder", key="video_config")),
    "pocket_tts_audio_tokenizer": _halves("pocket_tts_audio_tokenizer"),
    "voxtral_realtime": (
        Part(name="encoder", model_type="voxtral_realtime_encoder", key="audio_config"),
        Part(name="decoder", model_type="voxtral_realtime_text", key=TEXT, defaults=VOXTRAL_TEXT),
    ),
    "xcodec2": (Part(name="decoder", model_type="xcodec2", check=CODEC_HEADS),),
}


def read_stacked(fields: Fields, parts: Parts) -> tuple[StackPlan, ...]:
    """Read every part's stack.

    Args:
        fields: the whole's configuration.
        parts: where the stacks' configurations stand.

    Returns:
        One a part that is there.

    Example:
        >>> config = {"encoder_config": {"num_hidden_layers": 2}, "decoder_config": {"num_hidden_layers": 3}}
        >>> encoder, decoder = read_stacked(Fields(config, source="mapping", model_type="dia"), STACKED["dia"])
        >>> len(encoder.layers), len(decoder.layers), decoder.cross_attention.softmax_scale
        (2, 3, 1.0)
    """
    found = []
    for part in parts:
        if part.dropped_by is not None and part.dropped_by in fields.values:
            if fields.values[part.dropped_by] is None:
                fields.note(part.dropped_by, None, f"no {part.name}")
                continue
            fields.fault(part.dropped_by, f"needed null or nothing, got {short(fields.values[part.dropped_by])}")
        found.append(_stack(fields, part))
    if not found:
        fields.refuse(f"{fields.model_type}: needed one of its halves, got {' and '.join(part.name for part in parts)} null")
        found = [_stack(fields, parts[0])]
    return tuple(found)


def _stack(fields: Fields, part: Part) -> StackPlan:
    if part.check is not None:
        part.check(fields)
    inner = _inside(fields, part)
    read = PART_READERS.get(inner.model_type)
    stack = read_rotary(inner, ROWS[inner.model_type]) if read is None else read(inner)[0]
    if part.key is None:
        fields.used |= inner.used | set(part.renamed.values())
    else:
        check_causal(inner, (stack,))
        check_leftovers(inner)
    scale = stack.layers[0].softmax_scale if part.cross_scale == "own" else part.cross_scale
    cross = None if scale is None else LayerPlan(scheme=None, softmax_scale=scale)
    return replace(stack, name=part.name, cross_attention=cross, cross_input=_cross_table(fields, part, stack.max_length))


def _cross_table(fields: Fields, part: Part, length: int | None) -> LearnedPlan | None:
    """As wide as the other stack's states."""
    if part.cross_table is None:
        return None
    other = replace(part, key=part.cross_table, model_type=f"{part.model_type}_encoder")
    width = _inside(fields, other).take(("hidden_size",), whole(least=1), "width {} of the encoder's states", needed=True)
    return LearnedPlan(max_length=length or 1, d_model=width)


def _inside(fields: Fields, part: Part) -> Fields:
    """The part's configuration; one that is not there is all defaults."""
    if part.key is None:
        return _renamed(fields, part)
    inner = fields
    for key in part.key.split("."):
        values = inner.values.get(key)
        if values is not None and not isinstance(values, Mapping):
            inner.fault(key, f"needed a dictionary or null, got {short(values)}")
        inner = inner.part(key, values if isinstance(values, Mapping) else {})
    inner.model_type, inner.sizes_given = _type_of(inner, part), False
    inner.defaults = {**(ROWS[inner.model_type].defaults if inner.model_type in ROWS else {}), **part.defaults}
    return inner


def _renamed(fields: Fields, part: Part) -> Fields:
    """The whole's configuration with the part's keys, and the whole's record."""
    values = {key: value for key, value in fields.values.items() if key not in part.renamed}
    values |= {key: fields.values[whole_key] for key, whole_key in part.renamed.items() if whole_key in fields.values}
    inner = Fields(
        values,
        source=fields.source,
        model_type=part.model_type,
        defaults=ROWS[part.model_type].defaults,
        prefix=fields.prefix,
        names={**fields.names, **part.renamed},
        sizes_given=fields.sizes_given,
    )
    inner.entries, inner.faults, inner.warnings, inner.said = fields.entries, fields.faults, fields.warnings, fields.said
    return inner


def _type_of(inner: Fields, part: Part) -> str:
    """A text part may be of any type with a row; the others are the whole's own."""
    declared = inner.values.get("model_type")
    if declared in (None, "", part.model_type):
        return part.model_type
    if part.key == TEXT and part.model_type in ROTARY_TYPES and isinstance(declared, str) and declared in ROTARY_TYPES:
        return declared
    inner.fault("model_type", f"needed {part.model_type}, got {short(declared)}")
    return part.model_type
