"""Positional representations for Transformers: every scheme as a swappable part, exact, with instruments to compare them.

Names load on first use, so that ``import ordinate`` is fast and tools that only read files import no torch.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate import checkpoints as checkpoints
    from ordinate import multimodal as multimodal
    from ordinate import phases as phases
    from ordinate import plots as plots
    from ordinate import positions as positions
    from ordinate import reference as reference
    from ordinate import scaling as scaling
    from ordinate import testing as testing
    from ordinate.attaching import attach as attach
    from ordinate.attaching import detach as detach
    from ordinate.attention import attend as attend
    from ordinate.attention import attention_at as attention_at
    from ordinate.attention.flex import score_mod as score_mod
    from ordinate.cache import KeyValueCache as KeyValueCache
    from ordinate.catalogue import schemes_table as schemes_table
    from ordinate.modules import MultiheadAttention as MultiheadAttention
    from ordinate.modules import TokenAndPositionEmbedding as TokenAndPositionEmbedding
    from ordinate.rotation import rotate as rotate
    from ordinate.rotation import rotate_ as rotate_
    from ordinate.schemes import SCHEMES as SCHEMES
    from ordinate.schemes.alibi import ALiBi as ALiBi
    from ordinate.schemes.axial_rope import AxialRope as AxialRope
    from ordinate.schemes.deberta import Deberta as Deberta
    from ordinate.schemes.deberta_table import DebertaTable as DebertaTable
    from ordinate.schemes.entrywise_rope import EntrywiseRope as EntrywiseRope
    from ordinate.schemes.learned import Learned as Learned
    from ordinate.schemes.multimodal_rope import MultimodalRope as MultimodalRope
    from ordinate.schemes.rope import Rope as Rope
    from ordinate.schemes.shaw import Shaw as Shaw
    from ordinate.schemes.sinusoidal import Sinusoidal as Sinusoidal
    from ordinate.schemes.t5 import T5Bias as T5Bias
    from ordinate.schemes.transformer_xl import TransformerXL as TransformerXL
    from ordinate.sites import DistanceScheme as DistanceScheme
    from ordinate.sites import InputScheme as InputScheme
    from ordinate.sites import QueryKeyScheme as QueryKeyScheme
    from ordinate.sites import ScoreScheme as ScoreScheme
    from ordinate.turning import theory as theory

__version__ = "0.1.0"

_MODULES = ("checkpoints", "multimodal", "phases", "plots", "positions", "reference", "scaling", "testing")
_HOMES = {
    "ALiBi": "schemes.alibi",
    "AxialRope": "schemes.axial_rope",
    "Deberta": "schemes.deberta",
    "DebertaTable": "schemes.deberta_table",
    "DistanceScheme": "sites",
    "EntrywiseRope": "schemes.entrywise_rope",
    "InputScheme": "sites",
    "KeyValueCache": "cache",
    "Learned": "schemes.learned",
    "MultiheadAttention": "modules",
    "MultimodalRope": "schemes.multimodal_rope",
    "QueryKeyScheme": "sites",
    "Rope": "schemes.rope",
    "SCHEMES": "schemes",
    "ScoreScheme": "sites",
    "Shaw": "schemes.shaw",
    "Sinusoidal": "schemes.sinusoidal",
    "T5Bias": "schemes.t5",
    "TokenAndPositionEmbedding": "modules",
    "TransformerXL": "schemes.transformer_xl",
    "attach": "attaching",
    "attend": "attention",
    "attention_at": "attention",
    "detach": "attaching",
    "rotate": "rotation",
    "rotate_": "rotation",
    "schemes_table": "catalogue",
    "score_mod": "attention.flex",
    "theory": "turning",
}

__all__ = [
    "ALiBi",
    "AxialRope",
    "Deberta",
    "DebertaTable",
    "DistanceScheme",
    "EntrywiseRope",
    "InputScheme",
    "KeyValueCache",
    "Learned",
    "MultiheadAttention",
    "MultimodalRope",
    "QueryKeyScheme",
    "Rope",
    "SCHEMES",
    "ScoreScheme",
    "Shaw",
    "Sinusoidal",
    "T5Bias",
    "TokenAndPositionEmbedding",
    "TransformerXL",
    "__version__",
    "attach",
    "attend",
    "attention_at",
    "checkpoints",
    "detach",
    "multimodal",
    "phases",
    "plots",
    "positions",
    "reference",
    "rotate",
    "rotate_",
    "scaling",
    "schemes_table",
    "score_mod",
    "testing",
    "theory",
]


if not TYPE_CHECKING:  # a type checker would take every name for one

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"ordinate.{name}")
        if name in _HOMES:
            value = getattr(importlib.import_module(f"ordinate.{_HOMES[name]}"), name)
            globals()[name] = value
            return value
        # name and obj let Python itself offer the nearest name.
        raise AttributeError(f"module 'ordinate' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return __all__
