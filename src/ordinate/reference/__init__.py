"""Every scheme's definition in plain NumPy float64 loops: the executable specification, and the tests' oracle.

Slow, literal, no tensors, no shared code with the fast forms. Read this to know what a scheme means.
"""

from __future__ import annotations

from ordinate.reference.attending import attention as attention
from ordinate.reference.frequencies import llama3 as llama3
from ordinate.reference.frequencies import longrope as longrope
from ordinate.reference.frequencies import longrope_magnitude as longrope_magnitude
from ordinate.reference.frequencies import ntk_base as ntk_base
from ordinate.reference.frequencies import proportional as proportional
from ordinate.reference.frequencies import rope_frequencies as rope_frequencies
from ordinate.reference.frequencies import yarn as yarn
from ordinate.reference.frequencies import yarn_magnitude as yarn_magnitude
from ordinate.reference.inputs import learned as learned
from ordinate.reference.inputs import sinusoidal as sinusoidal
from ordinate.reference.relative import transformer_xl as transformer_xl
from ordinate.reference.rotary import rope as rope
from ordinate.reference.rotary_axes import axial_rope as axial_rope
from ordinate.reference.rotary_axes import entrywise_rope as entrywise_rope
from ordinate.reference.rotary_axes import multimodal_rope as multimodal_rope
from ordinate.reference.scores import alibi as alibi
from ordinate.reference.scores import alibi_slopes as alibi_slopes
from ordinate.reference.scores import deberta as deberta
from ordinate.reference.scores import deberta_bucket as deberta_bucket
from ordinate.reference.scores import shaw as shaw
from ordinate.reference.scores import shaw_values as shaw_values
from ordinate.reference.scores import t5 as t5
from ordinate.reference.scores import t5_bucket as t5_bucket

__all__ = [
    "alibi",
    "alibi_slopes",
    "attention",
    "axial_rope",
    "deberta",
    "deberta_bucket",
    "entrywise_rope",
    "learned",
    "llama3",
    "longrope",
    "longrope_magnitude",
    "multimodal_rope",
    "ntk_base",
    "proportional",
    "rope",
    "rope_frequencies",
    "shaw",
    "shaw_values",
    "sinusoidal",
    "t5",
    "t5_bucket",
    "transformer_xl",
    "yarn",
    "yarn_magnitude",
]
