"""What positional code calls its things, as regular expressions over whole names."""

from __future__ import annotations

import re

FREQUENCIES = re.compile(r"_*(original_|rope_|local_|rotary_)?(inv_?freqs?|inverse_?freq(uencie)?s?)(_expanded)?")
POSITIONS = re.compile(r"(input_|token_|decoder_)?(pos|posit?ions?|position_?ids|pos_?ids|positions_ids|input_pos)(_expanded)?")
DERIVED = re.compile(
    r"_*(\w+_)?(inv_?freqs?|inverse_?freq(uencie)?s?|(cos|sin)_?(cached?|table)|cos_?sin_?cached?|freqs_(cis|complex)|rope_cache)"
)
COSINES = re.compile(r"_*(\w+_)?(cos|sin)(_?(cached?|table))?|_*cos_?sin_?cached?|freqs_cis")
POSITIONAL_CLASS = re.compile(r"(?i)\w*(rotary|rope|alibi|sinusoid|relative_?pos|position(al)?_?(embed|enc|bias))\w*")
ROTATING = re.compile(r"_*(apply|rotate)\w*(rot(ary|ate)?|rope)\w*|_*rotary\w*|_*apply_rope\w*|_*rope_apply")
CACHES = re.compile(r"past_key_values?|layer_pasts?|past|past_kvs?|past_states|kv_?caches?|[kv]_?caches?|caches?|inference_params")
OFFSETS = re.compile(r"\w*(past|cache|offset|start|prefix|shift|prev)\w*")
LENGTHS = re.compile(r"\w*(seq|length|_len|max_pos|cached)\w*")
