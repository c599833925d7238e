"""Reading encoders with decoders, and decoders alone, that add learned vectors or sinusoids at the input."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import flag, whole
from ordinate.checkpoints.plan import IdsFrom, LayerPlan, PositionIds, StackPlan
from ordinate.checkpoints.scheme_plans import InputPlan, LearnedPlan, SinusoidalPlan
from ordinate.checkpoints.table_models import Reader, Stacks, head_scale, layers_of, sizes
from ordinate.checkpoints.table_types import NOTHING

if TYPE_CHECKING:
    from ordinate.schemes.sinusoidal import SinusoidLayout, Spacing

TROCR = MappingProxyType(
    {"num_hidden_layers": "decoder_layers", "num_attention_heads": "decoder_attention_heads", "hidden_size": "d_model"}
)
XGLM = MappingProxyType({"num_hidden_layers": "num_layers", "num_attention_heads": "attention_heads", "hidden_size": "d_model"})
FIRST_OF_XGLM = 2


class _Front(NamedTuple):
    """What stands before the first layer: the longest sequence, the scheme for a width, and how positions are counted."""

    length: int
    scheme: Callable[[int], InputPlan]
    ids: PositionIds = PositionIds()


def _bart(fields: Fields, *, rows: int = 1024, before: int = 2) -> Stacks:
    """Read BART and its kin: encoder and decoder with learned tables; position p reads row p + 2."""
    became = "learned tables for {} positions, after 2 rows" if before else "learned tables of {} rows"
    front = _learned(fields.take(("max_position_embeddings",), whole(least=1), became, default=rows), before)
    return _pair(fields, front, front)


def _marian(fields: Fields) -> Stacks:
    """Read Marian and Pegasus: all sines, then all cosines, of the paper's frequencies."""
    length = fields.take(("max_position_embeddings",), whole(least=1), "sinusoids for {} positions", default=1024)
    front = _Front(length, functools.partial(_sinusoids, fields, spacing="open"))
    return _pair(fields, front, front)


def _m2m_100(fields: Fields) -> Stacks:
    """Read M2M-100 and its kin: real tokens are counted from padding_idx + 1."""
    length = fields.take(("max_position_embeddings",), whole(least=1), "sinusoids for {} positions", default=1024)
    front = _padded(fields, length)
    return _pair(fields, front, front)


def _speech_to_text(fields: Fields) -> Stacks:
    """Read Speech2Text: as M2M-100, but frames of padding are marked with 1, which is the padding token in published files."""
    frames = fields.take(("max_source_positions",), whole(least=1), "sinusoids for {} frames", default=6000)
    tokens = fields.take(("max_target_positions",), whole(least=1), "sinusoids for {} tokens", default=1024)
    decoder = _padded(fields, tokens)
    padding = decoder.ids.padding_token
    if padding == 0:
        fields.fault("pad_token_id", "cannot be honoured: with 0 the model takes its frames for padding, needed 1, got 0")
    counting: IdsFrom = "mask" if padding == 1 else "order"
    ids = PositionIds(counted_from=counting, first=decoder.ids.first)
    return _pair(fields, _Front(frames, decoder.scheme, ids), decoder)


def _whisper(fields: Fields) -> Stacks:
    """Read Whisper: fixed sinusoids for the encoder's frames, a learned table for the decoder's tokens."""
    frames = fields.take(("max_source_positions",), whole(least=1), "sinusoids for {} frames", default=1500)
    tokens = fields.take(("max_target_positions",), whole(least=1), "learned table of {} rows", default=448)
    return _pair(fields, _Front(frames, functools.partial(_sinusoids, fields)), _learned(tokens, 0))


def _trocr(fields: Fields) -> Stacks:
    """Read TrOCR's decoder: a learned table after 2 rows, or sinusoids counted from padding_idx + 1."""
    became = "a learned table, otherwise sinusoids: {}"
    learned = fields.take(("use_learned_position_embeddings",), flag, became, default=True)
    length = fields.take(("max_position_embeddings",), whole(least=1), "up to {} positions", default=512)
    return _alone(fields, TROCR, _learned(length, 2) if learned else _padded(fields, length), crosses=True)


def _xglm(fields: Fields) -> Stacks:
    """Read XGLM: sinusoids, counted from 2 whatever the padding token is."""
    length = fields.take(("max_position_embeddings",), whole(least=1), "sinusoids for {} positions", default=2048)
    padding = fields.take(("pad_token_id",), whole(), "row {} of the sinusoids is zero", default=1)
    if padding >= FIRST_OF_XGLM:
        needed = f"needed at most {FIRST_OF_XGLM - 1}, before the first token's row"
        fields.fault(
            "pad_token_id", f"cannot be honoured: the padding token's row is zero for real tokens too, {needed}, got {padding}"
        )
    return _alone(fields, XGLM, _Front(length, functools.partial(_sinusoids, fields), PositionIds(first=FIRST_OF_XGLM)))


def _musicgen(fields: Fields, *, crosses: bool) -> Stacks:
    """Read MusicGen's decoder: all cosines, then all sines."""
    length = fields.take(("max_position_embeddings",), whole(least=1), "sinusoids for {} positions", default=2048)
    front = _Front(length, functools.partial(_sinusoids, fields, layout="cos_sin"))
    return _alone(fields, NOTHING, front, crosses=crosses)


def _learned(length: int, before: int) -> _Front:
    return _Front(length, lambda width: LearnedPlan(max_length=length, d_model=width, padding_offset=before))


def _padded(fields: Fields, length: int) -> _Front:
    """Sinusoids as fairseq counts them: padding stands still at padding_idx, real tokens follow."""
    padding = fields.take(("pad_token_id",), whole(most=2**31), "real tokens are counted from {} + 1", default=1)
    ids = PositionIds(counted_from="tokens", padding_token=padding, first=padding + 1)
    return _Front(length, functools.partial(_sinusoids, fields), ids)


def _sinusoids(fields: Fields, width: int, *, layout: SinusoidLayout = "sin_cos", spacing: Spacing = "closed") -> InputPlan:
    if not fields.faults and width % 2:
        fields.fault("d_model", f"needed an even width for sinusoids, got {width}")
    return SinusoidalPlan(d_model=width, layout=layout, spacing=spacing)


def _alone(fields: Fields, names: Mapping[str, str], front: _Front, *, crosses: bool = False) -> Stacks:
    """A decoder alone; what it may look at is another model's."""
    n_layers, n_heads, width = sizes(fields, names)
    return (_stack("decoder", front, n_layers, width, head_scale(fields, width, n_heads), crosses=crosses),)


def _pair(fields: Fields, encoder: _Front, decoder: _Front) -> Stacks:
    """Encoder and decoder, which looks at the encoder too."""
    stacks = []
    for name, front in (("encoder", encoder), ("decoder", decoder)):
        n_layers, n_heads, width = sizes(fields, prefix=f"{name}_")
        stacks.append(_stack(name, front, n_layers, width, head_scale(fields, width, n_heads), crosses=name == "decoder"))
    return tuple(stacks)


def _stack(name: str, front: _Front, n_layers: int, width: int, scale: float, *, crosses: bool) -> StackPlan:
    return StackPlan(
        name=name,
        causal=name == "decoder",
        max_length=front.length,
        input=front.scheme(width),
        layers=layers_of(n_layers, scale),
        position_ids=front.ids,
        cross_attention=LayerPlan(scheme=None, softmax_scale=scale) if crosses else None,
    )


READERS: dict[str, Reader] = {
    "bart": _bart,
    "mbart": _bart,
    "mvp": _bart,
    "plbart": _bart,
    "blenderbot": functools.partial(_bart, rows=128, before=0),
    "blenderbot-small": functools.partial(_bart, rows=512, before=0),
    "marian": _marian,
    "pegasus": _marian,
    "m2m_100": _m2m_100,
    "nllb-moe": _m2m_100,
    "fsmt": _m2m_100,
    "speech_to_text": _speech_to_text,
    "whisper": _whisper,
    "trocr": _trocr,
    "xglm": _xglm,
    "musicgen_decoder": functools.partial(_musicgen, crosses=True),
    "musicgen_melody_decoder": functools.partial(_musicgen, crosses=False),
}
