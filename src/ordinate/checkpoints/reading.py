"""``read``: from a checkpoint's files to a plan of its positions."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ordinate.checkpoints import (
    bias_models,
    blt_models,
    deepseek_v4_models,
    dit_models,
    dots3_models,
    entrywise_models,
    fast_conformers,
    pair_models,
    rotary_pairs,
    still_models,
    t5_models,
    table_models,
)
from ordinate.checkpoints.axial_models import read_axial
from ordinate.checkpoints.axial_types import AXIAL_TYPES
from ordinate.checkpoints.faulty import Fault
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import listed, printable, short
from ordinate.checkpoints.left_out import LEFT_OUT
from ordinate.checkpoints.parts import part_of, type_by
from ordinate.checkpoints.plan import Entry, PositionPlan
from ordinate.checkpoints.recording import Record, check_causal, check_leftovers, finished
from ordinate.checkpoints.rotary_models import read_rotary
from ordinate.checkpoints.rotary_types import ROTARY_TYPES, RotaryType
from ordinate.checkpoints.sources import Source, find_source
from ordinate.checkpoints.stacked import READERS, STACKED, read_stacked
from ordinate.checkpoints.table_models import Reader
from ordinate.checkpoints.vocabulary import KNOWN, is_off, looks_positional
from ordinate.checkpoints.wholes import PLACES, WHOLES

SHOWN = 60
BESIDE = ("vision_config", "audio_config", "talker_config", "token2wav_config", "code2wav_config")  # a text model's neighbours
ADDED = {**table_models.READERS, **pair_models.READERS, **t5_models.READERS, **bias_models.READERS}
OTHER_TYPES = {**ADDED, **rotary_pairs.READERS, **dict.fromkeys(AXIAL_TYPES, read_axial)}
OTHER_TYPES |= {**still_models.READERS, **blt_models.READERS, **dots3_models.READERS, **deepseek_v4_models.READERS}
OTHER_TYPES |= {**dit_models.READERS, **entrywise_models.READERS, **fast_conformers.READERS}
# Other names of a type: older ones, and types that share its code.
SAME = {"mt5": "t5", "gpt-sw3": "gpt2", "kimi_k2": "deepseek_v3", "RefinedWeb": "falcon", "RefinedWebModel": "falcon"}
MODELS_INSIDE = ("audio_encoder_config", "codec_config", "semantic_model_config")
MODEL_TYPES = tuple(sorted({*ROTARY_TYPES, *OTHER_TYPES, *READERS, *STACKED, *WHOLES, *SAME}))


def read(source: Any, *, model_type: str | None = None, part: str | None = None, ignore: Collection[str] = ()) -> PositionPlan:
    """Read what a checkpoint declares about positions, key by key; nothing is executed and no weight is loaded.

    Every position-related key is honoured, or refused with its name: sources that disagree, keys that this model type cannot
    honour, unknown rules and keys, and missing ones are listed in one error. What configurations do not say (layout of the pairs,
    arithmetic, which entries turn) comes from a table by model type.

    Args:
        source: a mapping, a path to config.json, to a GGUF file or to a folder with one of them, or a transformers configuration.
        model_type: in place of the configuration's own, for one that has none.
        part: of a configuration of several models, "vision_config" say, in place of its text model.
        ignore: keys to pass over.

    Returns:
        The plan: ``explain()`` it, or ``build()`` it.

    Raises:
        ValueError: if something cannot be read or honoured; all of it in one message.
        OSError: if a file cannot be read.

    Warns:
        UserWarning: for a key that changes nothing.

    Differs from:
        transformers, where it drops what a file says: YaRN's truncate inside a layer type's dictionary, one rope_theta for both
        layer types of OLMo 3, gpt_neox's rope_theta, DBRX's base in attn_config, MiniMax M3's rotary_dim, attn_factor, MPT's
        alibi_bias_max, a rule named by "type" in dictionaries by layer type. Lengths are one sequence's, told by ``at_length``;
        transformers remembers dynamic NTK's largest base and chooses LongRoPE's list by the longest row.

    Example:
        >>> config = {"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 32,
        ...           "head_dim": 64, "rope_theta": 500000.0, "max_position_embeddings": 131072,
        ...           "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        ...                            "original_max_position_embeddings": 8192}}
        >>> plan = read(config)
        >>> plan.layers[0].scheme.base, plan.layers[0].scheme.scaling.factor, len(plan.layers)
        (500000.0, 32.0, 16)
        >>> read({**config, "rope_parameters": {"rope_theta": 10000.0}, "rope_scaling": None})
        Traceback (most recent call last):
        ValueError: mapping: rope_parameters.rope_theta = 10000.0 and rope_theta = 500000.0 disagree; remove one of them
    """
    if isinstance(ignore, (str, bytes)) or not isinstance(ignore, Collection) or not all(isinstance(key, str) for key in ignore):
        raise ValueError(f"ignore: needed a list of keys, got {short(ignore)}")
    found, own = find_source(source), None
    if part is not None:
        found, own = part_of(found, part, MODEL_TYPES)
    plan = finished(*_record(found, own if model_type is None else model_type, ignore, is_part=part is not None))
    for text in plan.warnings:
        warnings.warn(f"{plan.source}: {text}", stacklevel=2)
    return plan


@dataclass(frozen=True)
class Examined:
    """What a reading found, right or wrong.

    Attributes:
        plan: None if anything is wrong.
        faults: what is wrong.
        warnings: what changes nothing, or had to be assumed.

    Example:
        >>> Examined(plan=None, faults=(Fault("alibi: cannot be honoured"),), warnings=()).faults[0].sort
        'value'
    """

    plan: PositionPlan | None
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]


def examine(source: Source, *, part: str | None = None) -> Examined:
    """Read as ``read`` does, and give what is wrong instead of raising it; sizes may be left to the model type's defaults.

    Args:
        source: from ``find_source``.
        part: of a configuration of several models.

    Returns:
        A plan or faults, and warnings.

    Raises:
        ValueError: if the model type is not in the table, or the file cannot be read at all.
        OSError: if a file cannot be read.

    Example:
        >>> examine(find_source({"model_type": "llama", "rope_theta": "x"})).faults
        ("rope_theta: needed a finite number >= 1, got 'x'",)
    """
    found, own = (source, None) if part is None else part_of(source, part, MODEL_TYPES)
    fields, stacks, model_type = _record(found, own, (), is_part=True)
    plan = None if fields.faults else finished(fields, stacks, model_type)
    return Examined(plan, tuple(fields.faults), tuple(fields.warnings))


def _record(source: Source, model_type: str | None, ignore: Collection[str], *, is_part: bool) -> Record:
    if source.gguf is not None:
        from ordinate.checkpoints.gguf_models import record_gguf

        if model_type is not None or ignore:
            raise ValueError(
                f"{source.name}: a GGUF file names its architecture and its keys; needed no model_type= and no ignore="
            )
        return record_gguf(source.gguf)
    values: Mapping[str, Any] = source.values or {}
    whole_type = _type_of(values, model_type, source.name)
    inner, around, prefix, inner_type = _text_part(values, whole_type, source.name)
    passed_over = {key.removeprefix(prefix) for key in ignore}
    reader, kind = _reader(inner_type, inner, source.name)
    fields = Fields(
        {key: value for key, value in inner.items() if key not in passed_over},
        source=source.name,
        model_type=inner_type,
        defaults=kind.defaults if kind is not None else {},
        prefix=prefix,
        sizes_given=not prefix and not is_part,
    )
    fields.used.add("model_type")
    for key in ("text_config", "language_config"):
        if not prefix and isinstance(inner.get(key), Mapping) and inner_type not in STACKED:
            fields.fault(key, f"cannot be honoured: {inner_type} is no composite of several models")
    _note_type(fields, values, model_type)
    _note_passed_over(fields, inner, passed_over)
    for key in MODELS_INSIDE:
        if isinstance(inner.get(key), Mapping):
            fields.note(key, f"{len(inner[key])} keys", "not read: the configuration of another model")
    stacks = reader(fields)
    check_causal(fields, stacks)
    check_leftovers(fields)
    for outer in around:
        _check_around(fields, outer)
        _note_other_parts(fields, outer, source.name)
    if not prefix:
        _note_other_parts(fields, values, source.name)
    return Record(fields, stacks, inner_type)


def _note_type(fields: Fields, values: Mapping[str, Any], asked: str | None) -> None:
    became = f"{fields.model_type}, in the table of model types: layout, arithmetic and what else no key says"
    declared = values.get("model_type")
    fields.note("model_type", asked or fields.values.get("model_type", declared), became, source="asked for" if asked else None)
    if asked is not None and declared not in (None, asked):
        fields.warnings.append(f"model_type: {short(declared)} is declared, and read as {asked}, as asked")


def _note_passed_over(fields: Fields, values: Mapping[str, Any], keys: Collection[str]) -> None:
    for key in sorted(keys):
        if key in values:
            fields.note(key, values[key], "nothing: passed over, as asked")
            if key in KNOWN and not is_off(values[key]):
                fields.warn(key, "passed over, as asked")
        else:
            fields.refuse(f"ignore: needed keys of the configuration, got {short(key)}")


def _type_of(values: Mapping[str, Any], asked: str | None, name: str) -> str:
    found = asked if asked is not None else values.get("model_type")
    if not isinstance(found, str) or not found:
        raise ValueError(f"{name}: model_type: needed one of the known types, got {short(found)}; say it with model_type=")
    return found


def _text_part(
    values: Mapping[str, Any], model_type: str, name: str
) -> tuple[Mapping[str, Any], list[Mapping[str, Any]], str, str]:
    """The text model's configuration, the larger ones that it stands in, the prefix of its keys and its type."""
    inner, around, prefix = values, [], ""
    for key in PLACES.get(model_type, ("text_config",)) if model_type in WHOLES else ():
        if inner.get(key) is None:
            return values, [], "", WHOLES[model_type]
        around.append(inner)
        inner, prefix = inner[key], f"{prefix}{key}."
        if not isinstance(inner, Mapping):
            raise ValueError(f"{name}: {prefix[:-1]}: needed a dictionary, got {short(inner)}")
    if not around:
        return values, [], "", model_type
    declared = inner.get("model_type", WHOLES[model_type])
    if not isinstance(declared, str) or declared not in {*ROTARY_TYPES, *OTHER_TYPES}:
        raise ValueError(
            f"{name}: {prefix}model_type {short(declared)} is not in the table; needed a text model, got {short(declared)}"
        )
    return inner, around, prefix, declared


def _reader(declared: str, values: Mapping[str, Any], name: str) -> tuple[Reader, RotaryType | None]:
    model_type = SAME.get(declared, declared)
    if model_type == "falcon" and values.get("alibi") is True:
        return bias_models.falcon_alibi, None
    if model_type in OTHER_TYPES:
        return OTHER_TYPES[model_type], None
    if model_type in READERS:
        return READERS[model_type], None
    if model_type in STACKED:
        return lambda fields: read_stacked(fields, STACKED[model_type]), ROTARY_TYPES.get(model_type)
    if model_type in ROTARY_TYPES:
        kind = ROTARY_TYPES[model_type]
        return lambda fields: (read_rotary(fields, kind),), kind
    close = difflib.get_close_matches(model_type[:SHOWN], MODEL_TYPES, n=3, cutoff=0.84)
    # a longer or shorter name is another architecture more often than a slip
    near = [name for name in close if not (name.startswith(model_type) or model_type.startswith(name) or model_type.endswith(name))]
    if model_type in LEFT_OUT:
        raise ValueError(
            f"{name}: model_type {short(model_type)} is not in the table, and nothing is guessed: {LEFT_OUT[model_type]}"
        )
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    inside = [key for key, value in values.items() if isinstance(value, Mapping) and value.get("model_type") in MODEL_TYPES]
    if inside:
        hint = f"of its parts {listed(inside)} can be read, say it with part=; "
    known = f"known are {len(MODEL_TYPES)} types, which `ordinate read --types` lists"
    raise ValueError(f"{name}: model_type {short(model_type)} is not in the table, and nothing is guessed; {hint}{known}")


def _check_around(fields: Fields, values: Mapping[str, Any]) -> None:
    """Keys beside text_config: the text model does not read them, so they must not say something else."""
    for key, value in values.items():
        if is_off(value) or not looks_positional(key):
            continue
        if key in fields.values and fields.values[key] != value:
            fields.disagree((key, value), (fields.name(key), fields.values[key]))
        elif key in KNOWN:
            fields.warnings.append(f"{key}: changes nothing beside text_config")
        else:
            fields.refuse(f"{printable(key)}: looks like a key of positions and is unknown beside text_config, got {short(value)}")


def _note_other_parts(fields: Fields, values: Mapping[str, Any], name: str) -> None:
    for key in BESIDE:
        if isinstance(values.get(key), Mapping):
            count = f"{len(values[key])} keys"
            own = type_by(values, values[key], key, MODEL_TYPES) or values[key].get("model_type")
            readable = own in MODEL_TYPES
            how = f"; part={key!r} reads it" if readable else ""
            became = f"not read: the plan is of the text model{how}"
            fields.entries.append(Entry(key=key, value=count, source=name, became=became))
