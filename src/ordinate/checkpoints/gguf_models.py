"""Reading the header of a GGUF file: its keys in the words of configurations, and the layout its converter stores.

Converters store the query and key weights of some architectures ("llama") for interleaved pairs, whatever the original had. A plan
is of the weights as they lie in the file; transformers turns them back when it loads one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.checkpoints import bias_models, table_models
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.gguf_header import GGUFHeader, read_header, read_small_tensor
from ordinate.checkpoints.kinds import MOST, ordinary, printable, short
from ordinate.checkpoints.plan import PositionPlan, StackPlan
from ordinate.checkpoints.recording import Record, finished
from ordinate.checkpoints.rotary_models import read_rotary
from ordinate.checkpoints.rotary_types import ROTARY_TYPES
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.scaling import LongRoPE

if TYPE_CHECKING:
    from ordinate.rotation import Layout


@dataclass(frozen=True)
class Architecture:
    """The model type of a GGUF architecture, and the layout of its stored weights."""

    model_type: str
    layout: Layout = "half"


ARCHITECTURES = {
    "llama": Architecture("llama", "interleaved"),
    "granite": Architecture("granite", "interleaved"),
    "command-r": Architecture("cohere", "interleaved"),
    "qwen2": Architecture("qwen2"),
    "qwen2moe": Architecture("qwen2_moe"),
    "qwen3": Architecture("qwen3"),
    "qwen3moe": Architecture("qwen3_moe"),
    "gemma": Architecture("gemma"),
    "phi2": Architecture("phi"),
    "phi3": Architecture("phi3"),
    "starcoder2": Architecture("starcoder2"),
    "stablelm": Architecture("stablelm"),
    "gptneox": Architecture("gpt_neox"),
    "falcon": Architecture("falcon"),
    "olmo2": Architecture("olmo2"),
    "gpt2": Architecture("gpt2"),
    "bloom": Architecture("bloom"),
    "bert": Architecture("bert"),
}
OTHERS = {name: {**table_models.READERS, **bias_models.READERS}[name] for name in ("gpt2", "bert", "bloom")}
# Keys of an architecture, without its name, in the words of configurations.
WORDS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "attention.head_count": "num_attention_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "rope.freq_base": "rope_theta",
    "attention.sliding_window": "sliding_window",
    "attention.scale": "attention_multiplier",
}
SCALING_WORDS = {
    "rope.scaling.type": "rope_type",
    "rope.scaling.factor": "factor",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
    "rope.scaling.attn_factor": "attn_factor",
    "rope.scaling.finetuned": "finetuned",
}
READ_BESIDE = {"rope.dimension_count", "attention.head_count_kv", "attention.value_length", "attention.causal"}
POSITIONAL = re.compile(r"rope|sliding|alibi|relative|temperature|attention\.scale|key_length|chunk")
DIVISORS = "rope_freqs.weight"
SHORT, LONG = "rope_factors_short.weight", "rope_factors_long.weight"


def read_gguf(path: Path) -> PositionPlan:
    """Read what a GGUF file's header says of positions; no weight is read, but for small tables of frequency factors.

    Args:
        path: of the file.

    Returns:
        The plan of the weights as they lie in the file.

    Raises:
        ValueError: if it is no GGUF file, its architecture is unknown, or something cannot be honoured.
        OSError: if it cannot be read.

    Example:
        >>> read_gguf(Path("missing.gguf"))
        Traceback (most recent call last):
        FileNotFoundError: ...
    """
    return finished(*record_gguf(path))


def record_gguf(path: Path) -> Record:
    """Read as ``read_gguf`` does, and give the record of it, faults included.

    Args:
        path: of the file.

    Returns:
        The record.

    Raises:
        ValueError: if it is no GGUF file, or its architecture is unknown.
        OSError: if it cannot be read.

    Example:
        >>> record_gguf(Path("missing.gguf"))
        Traceback (most recent call last):
        FileNotFoundError: ...
    """
    header = read_header(path)
    name = header.metadata.get("general.architecture")
    if not isinstance(name, str) or name not in ARCHITECTURES:
        known = ", ".join(sorted(ARCHITECTURES))
        raise ValueError(f"{printable(path.name)}: general.architecture {short(name)} is not in the table; known are {known}")
    architecture = ARCHITECTURES[name]
    fields = _fields(path, header, name, architecture)
    fields.note(
        "general.architecture", name, f"model type {architecture.model_type}, weights stored for {architecture.layout} pairs"
    )
    stacks = OTHERS[name](fields) if name in OTHERS else (_rotary(path, header, fields, architecture),)
    _check_causal(fields, header.metadata.get(f"{name}.attention.causal"), f"{name}.attention.causal", stacks[0].causal)
    _refuse_unread(fields, header.metadata, name)
    return Record(fields, stacks, architecture.model_type)


def _check_causal(fields: Fields, value: Any, key: str, causal: bool) -> None:
    if value is not None and value is not causal:
        fields.refuse(f"{key}: cannot be honoured: needed {causal} for {fields.model_type}, got {short(value)}")


def _fields(path: Path, header: GGUFHeader, name: str, architecture: Architecture) -> Fields:
    """The header's keys in the words of configurations, each with its own name."""
    metadata, prefix = header.metadata, f"{name}."
    values = {word: metadata[prefix + key] for key, word in WORDS.items() if prefix + key in metadata}
    names = {word: prefix + key for key, word in WORDS.items()}
    scaling = {word: metadata[prefix + key] for key, word in SCALING_WORDS.items() if prefix + key in metadata}
    if scaling.get("rope_type") == "none":
        scaling = {key: value for key, value in scaling.items() if key == "factor" and value != 1.0}
        if scaling:
            scaling["rope_type"] = "none"  # refused: a factor of no rule
    elif "factor" in scaling:
        scaling.setdefault("rope_type", "linear")  # what readers of the format take
    if scaling:
        values["rope_scaling"] = scaling
    names["rope_scaling"] = f"{prefix}rope.scaling"
    names["general.architecture"] = "general.architecture"
    kind = ROTARY_TYPES.get(architecture.model_type)
    defaults = {} if kind is None else {key: value for key, value in kind.defaults.items() if key != "sliding_window"}
    return Fields(values, source=printable(path.name), model_type=architecture.model_type, defaults=defaults, names=names)


def _rotary(path: Path, header: GGUFHeader, fields: Fields, architecture: Architecture) -> StackPlan:
    kind = ROTARY_TYPES[architecture.model_type]
    kind = replace(kind, rope=replace(kind.rope, base=10000.0))  # readers of the format have one default for all
    key = f"{_name(header)}.rope.dimension_count"
    factors = _factors(path, header, fields)
    turning = header.metadata.get(key)
    if kind.rope.partial and isinstance(turning, int):
        # Configurations give a share of the head, headers the entries.
        values = {**fields.values, kind.rope.partial[0]: turning / _head_dim(fields)}
        fields.values, fields.names = values, {**fields.names, kind.rope.partial[0]: key}
    stack = read_rotary(fields, kind, layout=architecture.layout)
    scheme = next((layer.scheme for layer in stack.layers if layer.scheme is not None), None)
    if isinstance(scheme, RopePlan) and turning is not None and not fields.faults:
        fields.names = {**fields.names, key: key}
        fields.note(key, turning, f"first {scheme.rotary_dim} entries of a head turn")
        if turning != scheme.rotary_dim:
            fields.fault(key, f"needed {scheme.rotary_dim}, got {short(turning)}")
    return stack if factors is None or fields.faults else _divided(fields, stack, factors)


def _factors(path: Path, header: GGUFHeader, fields: Fields) -> dict[str, tuple[float, ...]] | None:
    """Divisors of frequencies that stand among the tensors: Llama 3's, or LongRoPE's two lists."""
    found = {name: read_small_tensor(path, header, name) for name in (DIVISORS, SHORT, LONG) if name in header.tensors}
    if DIVISORS in found and "rope_scaling" in fields.values:
        fields.refuse(f"{DIVISORS}: cannot be honoured beside {fields.name('rope_scaling')}")
    if (SHORT in found) != (LONG in found):
        fields.refuse(f"{SHORT}, {LONG}: needed both or neither, got one")
    if DIVISORS in found:
        return {SHORT: found[DIVISORS], LONG: found[DIVISORS], DIVISORS: found[DIVISORS]}
    if found:
        scaling = dict(fields.values.get("rope_scaling", {}))
        scaling |= {"rope_type": "longrope", "short_factor": list(found.get(SHORT, ())), "long_factor": list(found.get(LONG, ()))}
        if "attn_factor" in scaling:
            scaling["attention_factor"] = scaling.pop("attn_factor")
        fields.values = {**fields.values, "rope_scaling": scaling}
    return None


def _divided(fields: Fields, stack: StackPlan, factors: Mapping[str, tuple[float, ...]]) -> StackPlan:
    """Every frequency divided by its own number, whatever the length."""
    for number in factors[DIVISORS]:
        _, lacking = ordinary()(number)
        if lacking:
            fields.refuse(f"{DIVISORS}: {lacking}")
            return stack
    scheme = next(layer.scheme for layer in stack.layers if isinstance(layer.scheme, RopePlan))
    if scheme.rotary_dim != 2 * len(factors[DIVISORS]):
        fields.refuse(f"{DIVISORS}: needed {scheme.rotary_dim // 2} numbers, got {len(factors[DIVISORS])}")
        return stack
    rule = LongRoPE(
        short_factors=factors[SHORT],
        long_factors=factors[LONG],
        original_length=MOST,  # one list for all lengths
        factor=1.0,
        attention_factor=1.0,
    )
    fields.note(DIVISORS, list(rule.short_factors), "divides each frequency by its own number")
    layers = tuple(
        replace(layer, scheme=replace(layer.scheme, scaling=rule)) if isinstance(layer.scheme, RopePlan) else layer
        for layer in stack.layers
    )
    return replace(stack, layers=layers)


def _head_dim(fields: Fields) -> int:
    """For a share of it only: what is wrong with the numbers is said when they are read."""
    found = fields.values.get("head_dim")
    hidden, heads = fields.values.get("hidden_size"), fields.values.get("num_attention_heads")
    if isinstance(found, int) and found > 0:
        return found
    return max(hidden // heads, 1) if isinstance(hidden, int) and isinstance(heads, int) and heads > 0 else 1


def _name(header: GGUFHeader) -> str:
    return str(header.metadata["general.architecture"])


def _refuse_unread(fields: Fields, metadata: Mapping[str, Any], name: str) -> None:
    known = {*WORDS, *SCALING_WORDS, *READ_BESIDE}
    for key, value in metadata.items():
        word = key.removeprefix(f"{name}.")
        if key.startswith(f"{name}.") and word not in known and POSITIONAL.search(word) and value not in (0, 0.0, False):
            fields.refuse(f"{printable(key)}: cannot be honoured, got {short(value)}", key=printable(key), sort="unread")
    for key, word in WORDS.items():
        if word in fields.values and word not in fields.used and POSITIONAL.search(key) and fields.values[word]:
            fields.fault(word, f"cannot be honoured: {fields.model_type} reads no such key", sort="unread")
