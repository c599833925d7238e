"""One file per scheme. ``SCHEMES`` is the one table from name to class; ``AXES_SCHEMES`` and ``LARGE_SCHEMES`` are beside it."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from ordinate.schemes.alibi import ALiBi as ALiBi
from ordinate.schemes.axial_rope import AxialRope as AxialRope
from ordinate.schemes.deberta import Deberta as Deberta
from ordinate.schemes.entrywise_rope import EntrywiseRope as EntrywiseRope
from ordinate.schemes.learned import Learned as Learned
from ordinate.schemes.multimodal_rope import MultimodalRope as MultimodalRope
from ordinate.schemes.rope import Rope as Rope
from ordinate.schemes.shaw import Shaw as Shaw
from ordinate.schemes.sinusoidal import Sinusoidal as Sinusoidal
from ordinate.schemes.t5 import T5Bias as T5Bias
from ordinate.schemes.transformer_xl import TransformerXL as TransformerXL
from ordinate.sites import InputScheme, QueryKeyScheme, ScoreScheme

SCHEMES: dict[str, type[InputScheme | QueryKeyScheme | ScoreScheme] | None] = {
    "nope": None,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "shaw": Shaw,
    "t5": T5Bias,
    "deberta": Deberta,
    "alibi": ALiBi,
    "rope": Rope,
}
# They turn patches and frames, which a comparison on sequences has not.
AXES_SCHEMES: dict[str, type[QueryKeyScheme]] = {"axial_rope": AxialRope, "multimodal_rope": MultimodalRope}
AXES_SCHEMES |= {"entrywise_rope": EntrywiseRope}  # for checkpoints alone: no rotation
# With a matrix of its own in every layer, which models of one size have no room for in a comparison.
LARGE_SCHEMES: dict[str, type[ScoreScheme]] = {"transformer_xl": TransformerXL}


def require_name(name: str, known: Collection[str] | None = None) -> str:
    """Check a scheme's name against the table.

    Args:
        name: as in ``SCHEMES``.
        known: other names that will do; those of ``SCHEMES`` if None.

    Returns:
        The name.

    Raises:
        ValueError: if there is no such scheme; names the nearest ones.

    Example:
        >>> require_name("rop")
        Traceback (most recent call last):
        ValueError: unknown scheme 'rop'; did you mean 'rope'? There are nope, ...
    """
    known = SCHEMES if known is None else known
    if name in known:
        return name
    near = difflib.get_close_matches(name.lower(), known, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}? There" if near else "there"
    raise ValueError(f"unknown scheme {name!r}; {hint} are {', '.join(known)}")
