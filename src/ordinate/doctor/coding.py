"""From what the reader of configurations refuses, or warns of, to findings with codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordinate.checkpoints.faulty import Fault
from ordinate.checkpoints.kinds import short
from ordinate.checkpoints.rope_rules import ORIGINAL
from ordinate.doctor.finding import Diagnosis, diagnosis

# Keys whose faults have a kind of their own, by the last part of their names.
MAGNITUDES = {"attention_factor", "attn_factor", "mscale", "mscale_all_dim"}
LISTS = {"short_factor", "long_factor", "short_mscale", "long_mscale"}
SHARES = {
    "partial_rotary_factor",
    "partial_rotary_factors",
    "rotary_dim",
    "rotary_pct",
    "rope_pct",
    "rotary width",
    "qk_rope_head_dim",
}
LAYERS = {"layer_types", "rope_local_base_freq", "no_rope_layers", "nope_layers", "sliding_window_pattern", "local_rope_theta"}
LAYERS |= {"_sliding_window_pattern", "global_attn_every_n_layers", "swa_rope_theta", "layer_rope_theta", "attention_layers"}
LAYERS |= {"rope_scaling_layers", "global_rope_theta", "hybrid_layer_pattern", "full_attention_interval", "attention_types"}
COORDINATES = {"mrope_section", "mrope_interleaved", "xdrope_section"}
LAYOUTS = {"rope_interleave", "rope_interleaved", "interleaved"}
BUCKETS = {"relative_attention_num_buckets", "relative_attention_max_distance", "position_buckets", "max_relative_positions"}
CODES = {"ORD106": SHARES, "ORD105": LAYERS, "ORD404": COORDINATES, "ORD301": LAYOUTS, "ORD503": BUCKETS}
OF_RULES = {"ORD107": MAGNITUDES, "ORD108": LISTS, "ORD109": {"alpha"}}
BY_SORT = {
    "disagree": "ORD102",
    "unread": "ORD101",
    "unknown": "ORD101",
    "layers": "ORD105",
    "missing": "ORD103",
    "value": "ORD103",
}
SIZES = {"num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings", "head_dim", "depth", "embed_dim"}
SIZES |= {"n_layer", "n_head", "n_embd", "num_layers", "num_heads", "d_model", "n_layers", "n_heads", "encoder_layers"}
SIZES |= {"decoder_layers", "d_kv"}
# What a rule's number is where it says nothing.
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "factor": (1.0,),
    "attention_factor": (1.0,),
    "attn_factor": (1.0,),
    "beta_fast": (32.0,),
    "beta_slow": (1.0,),
    "mscale": (0.0, 1.0),
    "mscale_all_dim": (0.0, 1.0),
    "truncate": (True,),
    "finetuned": (True, False),
}
# Names that other programs, papers or older code have for a key.
RENAMED = {
    **dict.fromkeys(
        ("rope_base", "rotary_base", "rope_freq_base", "rope_frequency_base", "freq_base", "rotary_theta"), "rope_theta"
    ),
    **dict.fromkeys(("rope_base_freq", "rope_theta_base", "theta", "rope_base_frequency", "base_theta"), "rope_theta"),
    **dict.fromkeys(("scaling_factor", "scale", "rope_factor", "scale_factor", "rope_scaling_factor"), "factor"),
    **dict.fromkeys(("scaling_type", "rope_scaling_type", "method", "rule"), "rope_type"),
    **dict.fromkeys(
        ("original_length", "original_max_length", "orig_ctx", "original_context_length", "original_max_seq_len"), ORIGINAL
    ),
    "low_frequency_factor": "low_freq_factor",
    "high_frequency_factor": "high_freq_factor",
    "rotary_percent": "rotary_pct",
    "rotary_emb_fraction": "partial_rotary_factor",
    "long_factors": "long_factor",
    "short_factors": "short_factor",
}


def of_fault(fault: Fault, *, rule: object = None) -> Diagnosis | None:
    """Give a fault its code.

    Args:
        fault: of the reader.
        rule: the rule's name as the file has it, if there is one.

    Returns:
        The finding; None for a size that is not there or does not fit, which is no matter of positions.

    Example:
        >>> of_fault(Fault("mscale: needed a finite number, got 'x'", key="rope_scaling.mscale")).code
        'ORD107'
        >>> of_fault(Fault("x: looks like ...", key="rope_x", sort="unknown")).severity
        'note'
    """
    where = fault.key or fault.split(":")[0]
    last = where.split(".")[-1]
    of_others = fault.sort == "missing" or (
        fault.sort == "value" and last != "max_position_embeddings" and ("multiple" in fault or "got nothing" in fault)
    )
    if last in SIZES and of_others:
        return None
    if last == "position_embeddings_type":  # Conformers have another type, which only the reader does not know
        return diagnosis("ORD902", _sentence(fault), where=where)
    if fault.sort == "unknown":
        return _unknown(fault, where)
    return diagnosis(_code(fault, last, rule), _sentence(fault), where=where, severity="error", remedy=_remedy(fault))


def _code(fault: Fault, last: str, rule: object) -> str:
    groups = {**CODES, "ORD109": {"alpha"}} if fault.sort == "unread" else {**CODES, **OF_RULES}
    found = next((code for code, keys in groups.items() if last in keys), None)
    if found is not None:
        return found
    if rule in ("longrope", "su") and last in (ORIGINAL, "factor") and fault.sort in ("missing", "value"):
        return "ORD108"
    return BY_SORT[fault.sort]


def _unknown(fault: Fault, where: str) -> Diagnosis:
    """A slip of a known name is an error; a name that resembles none may be somebody's own."""
    words = str(fault).replace(",", " ").replace(";", " ").replace(":", " ").split()
    renamed = [f"{word} is {RENAMED[word]} here" for word in words if word in RENAMED]
    if renamed or "did you mean" in fault:
        return diagnosis("ORD101", _sentence(fault), where=where, remedy="; ".join(dict.fromkeys(renamed)) or None)
    return diagnosis("ORD111", _sentence(fault), where=where, remedy="nobody reads it; remove it, or tell its readers")


def _sentence(fault: Fault) -> str:
    """The reader's words, without its hint to an argument that the doctor has not."""
    return str(fault).replace("; if it is not one, pass it in ignore=", "")


def _remedy(fault: Fault) -> str | None:
    match fault.sort:
        case "disagree":
            return "keep the one that the weights were trained with"
        case "missing":
            return "declare it"
        case "unread":
            return "use the key that this model type reads, or remove it"
        case "layers":
            return "one dictionary for each layer type"
        case _:
            return None


def of_warning(text: str, said: Mapping[str, Any]) -> Diagnosis | None:
    """Give a warning of the reader its code.

    Args:
        text: "key: what".
        said: what the dictionary of the rule says.

    Returns:
        A note; a warning for a number that somebody meant to count; None for what another rule looks at.

    Example:
        >>> of_warning("rope_scaling.factor: changes nothing beside the rule default", {"factor": 4.0}).severity
        'warning'
    """
    where, _, what = text.partition(": ")
    last = where.split(".")[-1]
    if "is taken as the trained length" in what:
        return diagnosis("ORD103", text, where=where, severity="warning", remedy=f"declare {ORIGINAL}, the length of the training")
    if "changes nothing beside the rule" not in what:
        return diagnosis("ORD111", text, where=where)
    if last == ORIGINAL:
        return None  # lengths are looked at by rules of their own
    value = said.get(last)
    if value in NEUTRAL.get(last, ()):
        return diagnosis("ORD111", text, where=where)
    code = "ORD107" if last in MAGNITUDES else "ORD108" if last in LISTS else "ORD111"
    return diagnosis(
        code, f"{text}, got {short(value)}", where=where, severity="warning", remedy="choose the rule that reads it, or remove it"
    )
