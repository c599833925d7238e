"""A claim: what one of the two course notes says, in our words, with the check that settles it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

Language = Literal["en", "ru"]
Value = float | int | bool | str


@dataclass(frozen=True)
class Text:
    """The same in both languages."""

    en: str
    ru: str

    def said(self, language: Language) -> str:
        """Give one of the two.

        Args:
            language: "en" or "ru".

        Returns:
            The text.

        Example:
            >>> Text("yes", "да").said("ru")
            'да'
        """
        return self.ru if language == "ru" else self.en


class Verdict(Enum):
    """How a claim fares; the value is what a program reads."""

    HOLDS = "holds"
    CONDITION = "holds with a condition"
    FAILS = "does not hold"
    UNSETTLED = "not settled"  # neither the claim nor what this package says of it: never recorded, only measured


VERDICTS = {
    Verdict.HOLDS: Text("holds", "верно"),
    Verdict.CONDITION: Text("holds with a condition", "верно при условии"),
    Verdict.FAILS: Text("does not hold", "неверно"),
    Verdict.UNSETTLED: Text("not settled", "не решено"),
}


class Note(Enum):
    """The two course notes, cited by title."""

    REPRESENTATIONS = "representations"
    WORDS = "words"


TITLES = {
    Note.REPRESENTATIONS: Text("Positional representations (course note, in Russian)", "Позиционные представления"),
    Note.WORDS: Text(
        "How do transformers take account of the position of words? (course note, in Russian)",
        "Как в трансформерах учитывается позиция слов?",
    ),
}


@dataclass(frozen=True)
class Measured:
    """What a check found: the verdict, and the figures it rests on."""

    verdict: Verdict
    values: Mapping[str, Value]


Kind = Literal["number", "identity", "property", "comparison", "attribution"]


@dataclass(frozen=True)
class Claim:
    """One checkable statement.

    Attributes:
        name: short and lasting, for links and tests.
        note: which of the two says it.
        kind: what sort of statement it is.
        statement: in our words.
        check: settles it; each formula that it rests on is an argument with a default, so that it can be exchanged for a wrong one.
        shown: the measured values in a sentence, a format string of their names.
        verdict: as recorded; a check that gives another is news.
        truth: the condition, or what is true instead; for a claim that holds, what follows or "".
        schemes: names of schemes that it is about.
    """

    name: str
    note: Note
    kind: Kind
    statement: Text
    check: Callable[..., Measured]
    shown: Text
    verdict: Verdict
    truth: Text = Text("", "")
    schemes: tuple[str, ...] = ()


def judged(*, holds: bool, with_condition: bool = False, instead: bool = False, **values: Value) -> Measured:
    """Turn facts into a verdict.

    Args:
        holds: the statement, as it stands.
        with_condition: it fails as it stands, and the condition that we name mends it.
        instead: it fails, and what we say is true instead was measured to be so.
        values: the figures.

    Returns:
        The verdict with the figures; "not settled" if nothing was shown.

    Example:
        >>> judged(holds=2 + 2 == 5, instead=2 + 2 == 4, sum=4).verdict.value
        'does not hold'
    """
    if holds:
        return Measured(Verdict.HOLDS, values)
    if with_condition:
        return Measured(Verdict.CONDITION, values)
    return Measured(Verdict.FAILS if instead else Verdict.UNSETTLED, values)
