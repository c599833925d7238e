"""What is known of one target after it was looked at."""

from __future__ import annotations

from dataclasses import dataclass

from ordinate.checkpoints.plan import PositionPlan
from ordinate.doctor.finding import Diagnosis
from ordinate.doctor.rotations import Rotation


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A target, what was found, and what is needed to compare it with another.

    Attributes:
        target: as it was given.
        findings: about it.
        plan: of its configuration, if there is one.
        rotations: that were understood.
        gguf: whether its weights lie as GGUF's converters store them.
        comparable: whether it is a checkpoint or a configuration at all.
    """

    target: str
    findings: tuple[Diagnosis, ...]
    plan: PositionPlan | None = None
    rotations: tuple[Rotation, ...] = ()
    gguf: bool = False
    comparable: bool = False
