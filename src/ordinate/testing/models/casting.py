"""A cast of the whole model to bfloat16 rounds weights, and must not reach frequencies, slopes or tables of angles."""

from __future__ import annotations

import warnings

import torch
from torch import nn

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.preparing import as_dtype
from ordinate.testing.models.subject import STRICT, Subject, apart, same

PROPERTY = "angles survive .to(torch.bfloat16)"
KIND = "low-precision-phase"
FAR = 4096


def survives_cast(subject: Subject) -> Finding:
    """Compare the cast model with one whose parameters alone were rounded.

    Args:
        subject: the model.

    Returns:
        The finding: faults are buffers whose rounding changes logits, though not those of a lone token at position 0.
    """
    if subject.module is None:
        return not_asked(PROPERTY, "a function has no weights to cast")
    places, by_hand, cast = _places(subject), _rounded(subject), _cast(subject)
    expected, actual = _at(by_hand.fresh(), places), attempt(lambda: _at(cast.fresh(), places))
    if not isinstance(actual, Failed) and same(actual, expected, STRICT):
        return holds(PROPERTY, f"at positions up to {places[-1]}")
    names = [] if isinstance(actual, Failed) else _guilty(by_hand, places)
    if not isinstance(actual, Failed) and not names and same(_at(_with_all(by_hand), places), actual, STRICT):
        return holds(PROPERTY, "buffers that are cast change logits, but not by position")
    told = apart(expected, actual) if isinstance(actual, torch.Tensor) else ("logits", str(actual))
    return broken(
        PROPERTY,
        KIND,
        f"the cast reaches {', '.join(names)}" if names else "after the cast angles differ, and no buffer alone explains it",
        smallest=f"model.to(torch.bfloat16).float(), a token each at positions {_few(places)}",
        expected=f"{_value(by_hand, names)}{told[0]}",
        actual=f"{_value(cast, names)}{told[1]}",
        remedy="keep frequencies as Python numbers, or work them out in float32 in forward; a buffer is cast with the weights"
        if names
        else None,
    )


def _cast(subject: Subject) -> Subject:
    cast = subject.fresh(own_weights=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex buffers lose their imaginary parts
        as_dtype(_module(cast), torch.bfloat16)
        attempt(lambda: cast.logits(cast.rows(1, cast.length)))  # tables that are made when they are needed
        as_dtype(_module(cast), torch.float32)
    return cast


def _rounded(subject: Subject) -> Subject:
    by_hand = subject.fresh(own_weights=True)
    with torch.no_grad():
        for parameter in _module(by_hand).parameters():
            if parameter.is_floating_point():
                parameter.copy_(parameter.to(torch.bfloat16).to(parameter.dtype))
    return by_hand


def _module(subject: Subject) -> nn.Module:
    assert subject.module is not None
    return subject.module


def _places(subject: Subject) -> list[int]:
    """Where tokens are: far apart, since rounded frequencies show by distance; as far as the model goes."""
    fars = [min(subject.maximum or FAR, FAR) - 1, subject.limit - 1]
    if subject.positions is None:
        return list(range(min(subject.limit, 256)))
    for far in fars:
        places = sorted({*(place for place in (0, 1, 3, 10, 30, 100, 300, 1000) if place < far), far})
        if not isinstance(attempt(lambda places=places: _at(subject.fresh(), places)), Failed):  # type: ignore[misc]
            return places
    return list(range(subject.length))


def _at(subject: Subject, places: list[int]) -> torch.Tensor:
    """Logits there, and of a short row: a rule may have other frequencies for it."""
    ids = subject.rows(1, len(places))
    spread = subject.logits(ids, positions=None if subject.positions is None else torch.tensor([places], device=ids.device))
    return torch.cat((subject.logits(subject.rows(1, min(16, subject.limit))), spread), dim=1)


def _few(places: list[int]) -> str:
    return str(places) if len(places) <= 12 else f"0 to {places[-1]}"


def _changed(subject: Subject) -> list[tuple[str, torch.Tensor]]:
    """Buffers that a cast changes, as they are after it."""
    floating = [(name, buffer) for name, buffer in _module(subject).named_buffers() if buffer.is_floating_point()]
    cast = [(name, buffer, buffer.to(torch.bfloat16).to(buffer.dtype)) for name, buffer in floating]
    return [(name, rounded) for name, buffer, rounded in cast if not torch.equal(rounded.nan_to_num(), buffer.nan_to_num())]


def _with_buffer(subject: Subject, name: str, value: torch.Tensor) -> Subject:
    again = subject.fresh()
    dict(_module(again).named_buffers())[name].data = value.clone()
    return again


def _with_all(by_hand: Subject) -> Subject:
    """Every buffer rounded, and nothing else done."""
    again = by_hand
    for name, value in _changed(by_hand):
        again = _with_buffer(again, name, value)
    return again


def _guilty(by_hand: Subject, places: list[int]) -> list[str]:
    """Buffers whose rounding alone changes logits, though not those of tokens that are all at position 0."""
    expected, names = _at(by_hand.fresh(), places), []
    for name, value in _changed(by_hand):
        if by_hand.positions is None and value.numel() == 1:
            continue  # a scale, most likely, and no way to tell
        rounded = _with_buffer(by_hand, name, value)
        at_zero = same(_at_zero(rounded.fresh()), _at_zero(by_hand.fresh()), STRICT)
        if at_zero and not same(_at(rounded, places), expected, STRICT):
            names.append(name)
    return names


def _at_zero(subject: Subject) -> torch.Tensor:
    if subject.positions is None:
        return subject.logits(subject.rows(1, 1))
    ids = subject.rows(1, 4)
    return subject.logits(ids, positions=torch.zeros_like(ids))


def _value(subject: Subject, names: list[str]) -> str:
    """A number of the first buffer: the second one, since the first of frequencies is 1."""
    if not names:
        return ""
    buffer = dict(_module(subject).named_buffers())[names[0]].flatten()
    index = min(1, len(buffer) - 1)
    return f"{names[0]}[{index}] = {buffer[index].item():.7g}; "
