"""Which rule to take, in words and as a block for config.json that was read back before it is given out."""

from __future__ import annotations

import copy
import json
import warnings
from typing import Any

from ordinate.attaching.angles import rope_of
from ordinate.checkpoints.reading import read
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.stretching.results import HOLDS_WITHIN, Results
from ordinate.stretching.rules import NATIVE, config_block, setting_of

CLOSE = 1e-6


def said(results: Results) -> list[str]:
    """Say what was found, a line a finding.

    Args:
        results: with all cells.

    Returns:
        Lines.
    """
    lines = []
    for length in results.settings.lengths:
        winner = results.winner(length)
        if winner is None:
            continue
        beyond, inside = results.beyond(winner, length), results.inside(winner, length)
        own_inside, own_beyond = results.inside(NATIVE, length), results.beyond(NATIVE, length)
        where = "beyond the trained length" if length > results.subject.trained else "in all"
        line = f"{length} tokens: {_named(winner)} goes furthest: {beyond:.2f} nats a token {where}"
        if winner != NATIVE and own_beyond is not None:
            line += f", {_named(NATIVE)} {own_beyond:.2f}"
        if winner != NATIVE and inside is not None and own_inside is not None:
            line += f"; inside the trained length it costs {inside - own_inside:+.2f}"
        found = results.losses(winner, length)
        if results.holds(winner, length) is False and found is not None:
            line += f"; it does not hold: {found['bins'][-1]:.2f} in the last eighth, {own_inside:.2f} inside the trained length"
        lines.append(line)
    return [*lines, *_agreement(results)]


def recommended(results: Results) -> dict[str, Any] | None:
    """Give the block of the best rule at the longest length that has one, after reading it back.

    Args:
        results: with the losses.

    Returns:
        Rule, length, and the keys of config.json; None where there is no loss, or nothing that a configuration could say.
    """
    if results.subject.kind != "rotary":
        return None
    for length in reversed(results.settings.lengths):
        winner = results.winner(length)
        if winner is not None:
            block = config_block(setting_of(winner, results.subject, length), results.subject, length)
            fault = fault_of(block, results, winner, length)
            return {"rule": winner, "length": length, "config": block, "read_back": fault or "as measured"}
    return None


def fault_of(block: dict[str, Any], results: Results, rule: str, length: int) -> str | None:
    """Read a configuration with the block in it, and compare its frequencies with those that were measured.

    Args:
        block: keys and values of config.json.
        results: for the checkpoint.
        rule: that was measured.
        length: that it was measured at.

    Returns:
        What is otherwise; None if nothing is.
    """
    subject = results.subject
    config = copy.deepcopy(subject.config)
    for key, value in json.loads(json.dumps(block)).items():
        setattr(config, key, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            config = type(config).from_dict(config.to_dict())
            layers = [layer.scheme for layer in read(config).layers if isinstance(layer.scheme, RopePlan)]
    except (ValueError, KeyError, TypeError) as fault:
        return f"it could not be read: {fault}"
    measured = _frequencies(subject.rotation, setting_of(rule, subject, length).rule, length)
    found = [_frequencies(scheme, None, length) for scheme in layers]
    if any(all(abs(a / b - 1) < CLOSE for a, b in zip(one, measured, strict=True)) for one in found if len(one) == len(measured)):
        return None
    return "its frequencies are others than those that were measured"


def _frequencies(scheme: RopePlan, rule: Any, length: int) -> tuple[float, ...]:
    import dataclasses

    plan = scheme if rule is None else dataclasses.replace(scheme, scaling=rule)
    rope = rope_of(plan).at_length(length)
    return tuple(rope.inverse_frequencies)


def _agreement(results: Results) -> list[str]:
    """Say where the measurement is otherwise than arithmetic has it."""
    lines = []
    for row in results.expected:
        holds = results.holds(row.rule, row.length)
        if holds is None or row.length <= results.subject.trained:
            continue
        if row.breaks == holds:
            expectation = (
                f"{row.unseen} of {row.pairs} pairs reach unseen phases" if row.breaks else "no pair reaches unseen phases"
            )
            outcome = (
                "holds all the same" if holds else f"is worse by more than {HOLDS_WITHIN:g} nats in the last eighth all the same"
            )
            lines.append(f"{row.length} tokens: {_named(row.rule)}: {expectation}, and it {outcome}")
    return lines


def _named(rule: str) -> str:
    return "the checkpoint as it is" if rule == NATIVE else rule
