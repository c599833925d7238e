"""Words that configurations use for positions: to tell a key that changes nothing from one that was forgotten."""

from __future__ import annotations

import re

# Keys that choose a scheme or a layer's part in it: a model type that does not read them would drop what they say.
TELLING = {
    "alibi",
    "alibi_bias_max",
    "attention_windows",
    "compress_rope_theta",
    "global_head_dim",
    "global_rope_theta",
    "layer_rope_theta",
    "layer_types",
    "learned_pos_emb",
    "local_rope_theta",
    "no_rope_layers",
    "partial_rotary_factor",
    "partial_rotary_factors",
    "pos_att_type",
    "position_biased_input",
    "position_buckets",
    "position_embedding_type",
    "position_embeddings_type",
    "relative_attention",
    "rope_interleave",
    "rope_interleaved",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_pct",
    "rope_scaling",
    "rope_scaling_layers",
    "rope_theta",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_embedding_base",
    "rotary_pct",
    "rotary_value",
    "swa_rope_theta",
    "use_bidirectional_attention",
    "use_mem_rope",
    "use_rotary_embedding",
}
TELLING |= {
    "apply_rope",
    "attention_factor",
    "attention_layers",
    "attention_types",
    "attention_window",
    "attn_factor",
    "beta_fast",
    "beta_slow",
    "full_attention_interval",
    "high_freq_factor",
    "llama_4_scaling_beta",
    "local_window",
    "long_factor",
    "low_freq_factor",
    "mrope_section",
    "mscale",
    "mscale_all_dim",
    "nope_layers",
    "pe_type",
    "pos_encoding",
    "positional_encoding",
    "rope_type",
    "short_factor",
    "use_dynamic_ntk",
    "use_logn_attn",
    "use_long_context",
    "use_rope",
    "window_size",
    "xpos",
}
# Switches that are on in every model that has what they switch.
NEEDED_ON = {"apply_rope", "position_biased_input", "rotary", "use_rope", "use_rotary_embedding"}
# Keys that belong to one of the above, or to tables of a size.
OTHERS = {
    "_sliding_window_pattern",
    "attention_chunk_size",
    "attention_multiplier",
    "attn_scale",
    "attn_temperature_tuning",
    "axial_pos_embds_dim",
    "axial_pos_shape",
    "context_length",
    "d_rel",
    "floor_scale",
    "initial_context_length",
    "global_attn_every_n_layers",
    "local_attention",
    "log_scaling_alpha",
    "log_scaling_n_floor",
    "max_bucket_distance",
    "max_position_embeddings",
    "max_rel_2d_pos",
    "max_seq_len",
    "max_seq_length",
    "max_relative_positions",
    "max_sequence_length",
    "max_source_positions",
    "max_target_positions",
    "max_window_layers",
    "model_max_length",
    "n_ctx",
    "n_positions",
    "num_buckets",
    "no_rope_layer_interval",
    "norm_rel_ebd",
    "offset_alibi",
    "original_max_position_embeddings",
    "pretrained_window_sizes",
    "query_pre_attn_scalar",
    "rel_2d_pos_bins",
    "rel_extent",
    "rel_l2_clip_threshold",
    "relative_attention_max_distance",
    "relative_attention_num_buckets",
    "scale_attn_by_inverse_layer_idx",
    "seq_length",
    "share_att_key",
    "sliding_window",
    "sliding_window_pattern",
    "sliding_window_size",
    "use_sliding_window",
}
KNOWN = TELLING | OTHERS
# Keys that have one of the words below in them, and are about something else, or repeat what the model type says.
BESIDE = {
    "dropout_positions",
    "layer_switch",
    "max_position_embeddings_per_layer",
    "order_of_interleaved_layers",
    "rotary_scaling_factor",
    "use_position_embeddings",
    "position_ids",
    "position_id_per_seconds",
}
LOOKS_POSITIONAL = re.compile(r"rope|rotary|alibi|yarn|ntk_|sinusoid|rel_pos|relative_|position_|_position|pos_emb|sliding|theta")


def looks_positional(key: str) -> bool:
    """Tell whether a key seems to be about positions.

    Args:
        key: of a configuration.

    Returns:
        Whether it is known to be, or has a word of the field in it.

    Example:
        >>> [looks_positional(key) for key in ("rope_teta", "hidden_size", "rope_theta")]
        [True, False, True]
    """
    return key in KNOWN or key in NEEDED_ON or (key not in BESIDE and LOOKS_POSITIONAL.search(key) is not None)


def is_off(value: object) -> bool:
    """Tell whether a value says nothing: null, false, an empty list, or 1 as a share of the head.

    Args:
        value: of a key that nobody read.

    Returns:
        Whether it may be passed over.

    Example:
        >>> [is_off(value) for value in (None, False, [], {}, 0, 10000.0)]
        [True, True, True, True, False, False]
    """
    return value is None or value is False or (isinstance(value, (list, tuple, dict, str)) and not value)
