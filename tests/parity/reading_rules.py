"""Scaling rules as configurations write them, in the new spelling and the old one."""

from reading_models import LABELS, MODELS, PER_TYPE, QUERY_SCALED, SINUSOIDS
from reading_multimodal import sections_of
from reading_sizes import FULLY, LONGEST, TRAINED

# Every base is unlike its type's default, so that a spelling that is not read shows.
BASE, LOCAL_BASE = 123456.7, 7654.3
FACTORED = {"factor": LONGEST / TRAINED, "original_max_position_embeddings": TRAINED}
YARN = {"rope_type": "yarn", **FACTORED}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": TRAINED}
LONGROPE = {"rope_type": "longrope", "original_max_position_embeddings": TRAINED, "short_factor": [], "long_factor": []}
RULES = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.5},
    "yarn": YARN,
    "yarn without factor": {**YARN, "factor": None},
    "yarn, not truncated": {**YARN, "truncate": False},
    "yarn, attention factor": {**YARN, "attention_factor": 1.37},
    "yarn, mscales": {**YARN, "mscale": 0.707, "mscale_all_dim": 1.0},
    "yarn, equal mscales": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0},
    "yarn, mscale_all_dim alone": {**YARN, "mscale_all_dim": 0.8},
    "yarn, betas": {**YARN, "beta_fast": 20.0, "beta_slow": 2},
    "longrope": LONGROPE,
    "longrope, factor": {**LONGROPE, "factor": 7.0},
    "longrope, attention factor": {**LONGROPE, "attention_factor": 1.21},
    "llama3": {**LLAMA3, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "llama3, equal factors": {**LLAMA3, "low_freq_factor": 2.0, "high_freq_factor": 2.0},
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.5},
    "proportional, factor": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "factor": 3.0},
}
# Types whose code is another's: one rule of each kind.
SAMPLED = {*MODELS} - {*FULLY} - {"qwen2_vl_text", "qwen3_vl_text"}
SAMPLE = ("default", "linear", "dynamic", "yarn, mscales", "longrope, factor", "llama3", "proportional")
# Latent heads whose code turns more than the slice holds, but for rules that read a share.
SLICE_ONLY = {"mistral4": ("linear", "dynamic", "yarn", "longrope", "llama3")}
LENGTHS = {"dbrx": "max_seq_len"}  # other spellings of the longest length
# Types with a rule or two; a share of the head, unlike the default, where a share is declared, and how its key was spelled.
FEWER = {"gptj": ("default",), "codegen": ("default",), "phi3": ("default", "longrope")}
FEWER |= {"recurrent_gemma": ("default",), "phimoe": ("default",), "phi4_multimodal": ("default", "longrope")}
FEWER |= {"ernie4_5_vl_moe_text": ("default",), "cosmos3_edge_text": ("default",)}
PLAIN_ONLY = tuple(name for name, kinds in FEWER.items() if kinds == ("default",))
SHARES = {"phi": 0.25, "phi3": 0.75, "gpt_neox": 0.5, "glm4": 0.25, "stablelm": 0.5}
SHARES |= {
    "glm": 0.25,
    "glm4_moe": 0.25,
    "sarvam_moe": 0.5,
    "persimmon": 0.25,
    "nemotron": 0.25,
    "qwen3_next": 0.5,
    "bamba": 0.5,
    "laguna": 0.25,
}
SHARES |= {"zaya": 0.25, "minimax_m3_vl_text": 0.25, "step3p5": 0.25}
SHARES |= {"phi4_multimodal": 0.75, "gpt_neox_japanese": 0.5}
SHARES |= {"qwen3_5_text": 0.5, "qwen3_5_moe_text": 0.5, "glm4v_text": 0.5}
SHARES |= {"qwen4_exp_text": 0.5, "glm_ocr_text": 0.5, "glm4v_moe_text": 0.25, "glm_image_text": 0.5, "neomme": 0.5}
SHARES |= {"recurrent_gemma": 0.25, "minimax_m2": 0.25, "mimo_v2_flash": 0.25}
SHARES |= {"glmasr_encoder": 0.25, "nemotron3_diarization_audio": 0.5}
SHARES |= dict.fromkeys(("nemotron3_5_transcribe_asr_audio", "nemotron3_5_transcribe_word_timestamp"), 0.25)
# Their attention cuts the head by the share, and proportional RoPE fills the whole of it: the model stops with an error.
NOT_PROPORTIONAL = ("phi", "stablelm", "persimmon", "gpt_neox_japanese")
# Heads of two widths: transformers stops with an error, see test_read_where_transformers_stops.
NOT_LONGROPE = tuple(name for name, sizes in MODELS.items() if "global_head_dim" in sizes)
NOT_ALL = (*FEWER, *NOT_PROPORTIONAL, *NOT_LONGROPE, *SLICE_ONLY)
# Inside the dictionary of a layer type, transformers does not read it: see test_read_where_transformers_errs.
NOT_BY_TYPE = ("yarn, not truncated",)
OLD_SHARE = {"gpt_neox": "rotary_pct", "gpt_neox_japanese": "rotary_pct"}
OLD_THETA = {"gpt_neox_japanese": "rotary_emb_base"}
OLD_THETA |= {"gpt_neox": "rotary_emb_base", "modernbert": "global_rope_theta", "modernbert-decoder": "global_rope_theta"}
OLD_LOCAL_THETA = {
    "gemma3_text": "rope_local_base_freq",
    "gemma3n_text": "rope_local_base_freq",
    "modernbert": "local_rope_theta",
    "modernbert-decoder": "local_rope_theta",
}


def rules_of(model_type):
    """Give the names of the rules that a model type can have."""
    for name, rule in RULES.items():
        kind = rule["rope_type"]
        allowed = kind in FEWER.get(model_type, (kind,))
        allowed &= kind in SLICE_ONLY.get(model_type, (kind,))
        allowed &= kind != "proportional" or model_type not in NOT_PROPORTIONAL
        allowed &= kind != "longrope" or model_type not in NOT_LONGROPE
        allowed &= model_type not in SAMPLED or name in SAMPLE
        if allowed and not (name in NOT_BY_TYPE and model_type in PER_TYPE):
            yield name


def _filled(model_type, name):
    """The rule with lists of the right length and what its type needs beside it."""
    rule = dict(RULES[name])
    head = _head(MODELS[model_type])
    pairs = int(head * SHARES.get(model_type, 1.0)) // 2
    if "short_factor" in rule:
        rule |= {"short_factor": [1.0 + 0.01 * i for i in range(pairs)], "long_factor": [1.0 + 0.3 * i for i in range(pairs)]}
    sections = sections_of(model_type, head // 2 if rule["rope_type"] == "proportional" else pairs)
    if sections is not None:
        rule["mrope_section"] = sections
    if model_type in QUERY_SCALED:
        rule |= {"llama_4_scaling_beta": 0.1, "original_max_position_embeddings": TRAINED}
    return rule


def _head(sizes):
    """How many entries may turn."""
    if "qk_rope_head_dim" in sizes:
        return sizes["qk_rope_head_dim"]
    declared = sizes.get("head_dim") or sizes.get("kv_channels")
    return declared or sizes.get("hidden_size", 192) // sizes.get("num_attention_heads", 4)


def _sizes(model_type, name):
    """The model's sizes; the trained length of dynamic NTK is the longest one."""
    sizes = {"model_type": model_type, **MODELS[model_type]}
    if model_type == "minimax_m3_vl_text":  # its code reads the share alone
        sizes["rotary_dim"] = 48 if RULES[name]["rope_type"] == "proportional" else int(48 * SHARES[model_type])
    if model_type == "dbrx":  # its code needs the base here, too
        sizes["attn_config"] = {**sizes["attn_config"], "rope_theta": BASE}
    return (
        {**sizes, LENGTHS.get(model_type, "max_position_embeddings"): TRAINED} if RULES[name]["rope_type"] == "dynamic" else sizes
    )


def new_spelling(model_type, name):
    """Everything inside rope_parameters, as transformers 5 writes it."""
    if model_type in SINUSOIDS:
        return _sizes(model_type, name)
    rule = _filled(model_type, name)
    if model_type in SHARES:
        rule.setdefault("partial_rotary_factor", SHARES[model_type])
    rope = {"rope_theta": BASE, **rule}
    if model_type in PER_TYPE:
        full, sliding = LABELS.get(model_type, ("full_attention", "sliding_attention"))
        rope = {full: rope, sliding: {**rope, "rope_theta": LOCAL_BASE}}
    return {**_sizes(model_type, name), "rope_parameters": rope}


def old_spelling(model_type, name):
    """The base beside rope_scaling, and the rule's name under "type", as before transformers 5."""
    if model_type in SINUSOIDS:
        return _sizes(model_type, name)
    rule = _filled(model_type, name)
    if model_type not in PER_TYPE:  # there transformers does not read "type": see test_read_where_transformers_errs
        rule["type"] = rule.pop("rope_type")
    values = {**_sizes(model_type, name), OLD_THETA.get(model_type, "rope_theta"): BASE}
    if model_type in OLD_LOCAL_THETA:
        values[OLD_LOCAL_THETA[model_type]] = LOCAL_BASE
    if model_type == "olmo3":
        values["rope_theta"] = 500000.0  # the one base that transformers gives to both layer types
    if model_type in SHARES and RULES[name]["rope_type"] != "proportional":
        values[OLD_SHARE.get(model_type, "partial_rotary_factor")] = SHARES[model_type]
    return {**values, "rope_scaling": rule}


def plain_spelling(model_type, _name):
    """Sizes alone: base, rule and share are the type's defaults."""
    return {"model_type": model_type, **MODELS[model_type]}


def first_rule(model_type):
    """Give the name of the simplest rule that a model type can have."""
    return next(iter(rules_of(model_type)))
