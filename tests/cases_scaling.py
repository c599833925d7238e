"""Settings of Rope with a scaling rule, for the table of cases: rules whose magnitude is 1, so that they only turn.

Each has numbers that touch every band of its pairs; ``stretched`` is the frequencies for the oracle, from the reference.
"""

from __future__ import annotations

from typing import Any

from ordinate import reference
from ordinate.scaling import DynamicNTK, Llama3, LongRoPE, Proportional, YaRN

_SHORT, _LONG = (1.0, 1.5, 2.0), (1.25, 3.0, 8.0)

SCALED: dict[str, dict[str, Any]] = {
    "rope yarn": {
        "layout": "half",
        # pair 0 is kept, pair 1 half way, pairs 2 and 3 slowed
        "scaling": YaRN(factor=4.0, original_length=512, attention_factor=1.0),
        "stretched": reference.yarn(10000.0, 8, 4.0, 512, 32.0, 1.0, True),
    },
    "rope llama3": {
        "layout": "interleaved",
        # 31.8, 3.18, 0.318 and 0.0318 turns
        "scaling": Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=200),
        "stretched": reference.llama3(10000.0, 8, 8.0, 1.0, 4.0, 200),
    },
    "rope dynamic": {
        "layout": "half",
        "scaling": DynamicNTK(factor=2.0, original_length=4),
        "length": 9,
        "stretched": reference.rope_frequencies(reference.ntk_base(10000.0, 8, 2.0 * 9 / 4 - 1.0), 8),
    },
    "rope longrope partial": {
        "head_dim": 11,
        "layout": "half",
        "rotary_dim": 6,
        "scaling": LongRoPE(short_factors=_SHORT, long_factors=_LONG, original_length=4, factor=8.0, attention_factor=1.0),
        "length": 5,
        "stretched": reference.longrope(10000.0, 6, _SHORT, _LONG, 4, 5),
    },
    "rope proportional": {
        "layout": "interleaved",
        "scaling": Proportional(proportion=0.75, factor=2.0),
        "stretched": reference.proportional(10000.0, 8, 0.75, 2.0),
    },
}
