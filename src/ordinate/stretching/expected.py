"""What arithmetic says of each rule before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ordinate.stretching.rules import NATIVE, setting_of
from ordinate.stretching.subject import Subject
from ordinate.turning import theory


@dataclass(frozen=True)
class Expected:
    """One rule at one length.

    Attributes:
        rule: as the command takes it.
        length: in tokens.
        pairs: of entries that turn.
        never_complete: pairs that made no full turn within the trained length.
        unseen: pairs that reach phases at the length that training did not show.
        slowest: longest wavelength in tokens, as trained.
        slowest_now: the same under the rule.
        magnitude: factor of cos and sin.
    """

    rule: str
    length: int
    pairs: int
    never_complete: int
    unseen: int
    slowest: float
    slowest_now: float
    magnitude: float

    @property
    def breaks(self) -> bool:
        """Whether phases appear that no weight has met."""
        return self.unseen > 0


def expected(subject: Subject, rules: tuple[str, ...], lengths: tuple[int, ...]) -> list[Expected]:
    """Work out every rule at every length.

    Args:
        subject: a checkpoint; one without rotations has nothing to work out.
        rules: names.
        lengths: in tokens.

    Returns:
        One a rule and length.
    """
    if subject.kind != "rotary":
        return []
    rotation, native = subject.rotation, subject.native_rule
    found = []
    for length in lengths:
        for name in rules:
            rule = native if name == NATIVE else setting_of(name, subject, length).rule
            said = theory(
                base=rotation.base,
                rotary_dim=rotation.rotary_dim,
                trained=subject.trained,
                length=length,
                rule=rule,
                trained_rule=native,
            )
            found.append(
                Expected(
                    rule=name,
                    length=length,
                    pairs=len(said.pairs),
                    never_complete=said.never_complete,
                    unseen=said.unseen,
                    slowest=max(pair.wavelength for pair in said.pairs),
                    slowest_now=max(pair.scaled_wavelength for pair in said.pairs),
                    magnitude=said.magnitude,
                )
            )
    return found


def as_json(rows: list[Expected]) -> list[dict[str, Any]]:
    """Give the rows as plain values.

    Args:
        rows: of ``expected``.

    Returns:
        One mapping a row.
    """
    return [{**vars(row), "expected_to_break": row.breaks} for row in rows]
