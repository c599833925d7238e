"""Rules that stretch a rotary embedding beyond the length it was trained on. One file a rule; plain numbers, no torch.

``RULES`` is the one table from a rule's name, as configurations write ``rope_type``, to its class.
"""

from __future__ import annotations

from ordinate.scaling.dynamic_ntk import DynamicNTK as DynamicNTK
from ordinate.scaling.learned_scale import LearnedScale as LearnedScale
from ordinate.scaling.linear import Linear as Linear
from ordinate.scaling.llama3 import Llama3 as Llama3
from ordinate.scaling.longrope import LongRoPE as LongRoPE
from ordinate.scaling.ntk import NTK as NTK
from ordinate.scaling.proportional import Proportional as Proportional
from ordinate.scaling.rule import Rule as Rule
from ordinate.scaling.rule import Scaled as Scaled
from ordinate.scaling.turns import Turns as Turns
from ordinate.scaling.yarn import YaRN as YaRN

RULES: dict[str, type[Rule]] = {
    "linear": Linear,
    "ntk_alpha": NTK,
    "dynamic": DynamicNTK,
    "yarn": YaRN,
    "longrope": LongRoPE,
    "llama3": Llama3,
    "proportional": Proportional,
    "learned_scale": LearnedScale,
    "turns": Turns,
}
