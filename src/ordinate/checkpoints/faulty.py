"""What is wrong with a configuration: sentences that also know which key they are about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

# A value that does not fit; two places that differ; a key that this model type does not read; one that nobody knows; one that is
# not there; settings that layer types need for themselves.
Sort = Literal["value", "disagree", "unread", "unknown", "missing", "layers"]


class Fault(str):
    """A sentence on what is wrong.

    Attributes:
        key: full name of the key that it is about; empty if it is about several.
        sort: of the fault.
        names: of the keys inside ``key`` that it is about, where that is a dictionary.

    Example:
        >>> fault = Fault("rope_theta: needed, got nothing", key="rope_theta", sort="missing")
        >>> fault, fault.sort
        ('rope_theta: needed, got nothing', 'missing')
    """

    key: str
    sort: Sort
    names: tuple[str, ...]

    def __new__(cls, text: str, *, key: str = "", sort: Sort = "value", names: Iterable[str] = ()) -> Fault:
        """Make a sentence."""
        made = super().__new__(cls, text)
        made.key, made.sort, made.names = key, sort, tuple(names)
        return made
