"""What ``ordinate stretch`` is asked for, checked as far as that is possible before the model is loaded."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinate.stretching.results import Results
    from ordinate.stretching.settings import Settings, Text
    from ordinate.stretching.subject import Subject
    from ordinate.stretching.work import Worker

LONGEST = 2**24


def prepared(options: argparse.Namespace) -> tuple[Results, Worker]:
    """Turn options into an empty result and a worker with the model loaded.

    Args:
        options: from the parser.

    Returns:
        Both.

    Raises:
        ValueError: for bad input, before the model is loaded where that is possible.
    """
    from transformers.utils import logging

    from ordinate.stretching import settings as of
    from ordinate.stretching.expected import expected
    from ordinate.stretching.results import Results
    from ordinate.stretching.rules import require_rules
    from ordinate.stretching.subject import located, read_subject
    from ordinate.stretching.work import Worker

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    subject = read_subject(located(options.model), options.trained)
    tests, lengths = _tests(options, subject), _lengths(options, subject)
    settings = of.Settings(
        lengths=tuple(sorted(set(lengths))),
        rules=require_rules(options.rules, subject, lengths),
        tests=tests,
        start=options.start,
        chunk=options.chunk,
        windows=options.windows,
        protocol=options.protocol,
        stride=options.stride,
        dtype=options.dtype,
        device_map=options.device_map,
        continued=subject.kind == "continued",
    )
    _require_work(settings, subject, options)
    text = of.read_text(options.text)
    worker = Worker(subject.checkpoint, options.trained, settings, text)
    _require_text(worker, settings, text)
    found = expected(subject, settings.rules, settings.lengths)
    return Results(subject, settings, text, len(worker.tokens), found), worker


def _tests(options: argparse.Namespace, subject: Subject) -> tuple[str, ...]:
    from ordinate.stretching import settings as of

    known = {"encoder table": (of.DRIFT,), "continued": (of.PPL,)}.get(subject.kind, of.TESTS)
    tests = options.tests or tuple(test for test in known if test != of.SHIFT or subject.kind == "rotary")
    unknown = [name for name in tests if name not in known]
    if unknown:
        raise ValueError(f"--tests: needed some of {', '.join(known)} for {subject.plan.model_type}, got {', '.join(unknown)}")
    return tuple(tests)


def _lengths(options: argparse.Namespace, subject: Subject) -> tuple[int, ...]:
    from ordinate.stretching.perplexity import BINS

    lengths: tuple[int, ...] = options.lengths or (round((options.to or 2.0) * subject.trained),)
    short = [length for length in lengths if length < subject.trained]
    if short:
        raise ValueError(f"--lengths: needed at least the trained length, {subject.trained}, got {', '.join(map(str, short))}")
    if min(lengths) < BINS:
        raise ValueError(f"--lengths: needed at least {BINS} tokens, got {min(lengths)}")
    if max(lengths) > LONGEST:
        raise ValueError(f"--lengths: needed at most {LONGEST} tokens, got {max(lengths)}")
    return lengths


def _require_work(settings: Settings, subject: Subject, options: argparse.Namespace) -> None:
    """Refuse settings that leave nothing to do; say what is left out."""
    from ordinate.stretching.rules import NONE
    from ordinate.stretching.settings import NEEDLE
    from ordinate.stretching.stretch import first_cells

    if not first_cells(settings, subject) and NEEDLE not in settings.tests:
        tests, rules = ", ".join(settings.tests), ", ".join(settings.rules)
        raise ValueError(f"nothing to measure: {subject.plan.model_type} has no {tests} under {rules} there")
    if NONE in options.rules and NONE not in settings.rules and subject.kind == "rotary":
        print("ordinate stretch: none is left out: the checkpoint has no rule of its own, native says the same", file=sys.stderr)
    if settings.protocol == "sliding" and settings.stride > settings.lengths[0]:
        raise ValueError(f"--stride: needed at most the shortest length, {settings.lengths[0]}, got {settings.stride}")


def _require_text(worker: Worker, settings: Settings, text: Text) -> None:
    """Refuse a text that is too short for the longest window, and lengths that have no room for the needle."""
    from ordinate.stretching import settings as of
    from ordinate.stretching.needle import needles_of, room_for_text

    needed = of.tokens_needed(settings, settings.lengths[-1])
    if len(worker.tokens) < needed:
        raise ValueError(
            f"--text: needed at least {needed} tokens for {settings.lengths[-1]} from token {settings.start} on, got "
            f"{len(worker.tokens)} from {text.source}; give more text, or smaller --lengths, --start or --windows"
        )
    if of.NEEDLE in settings.tests:
        shortest = settings.lengths[0] - room_for_text(needles_of(worker.tokenizer, settings), settings.lengths[0]) + 1
        if settings.lengths[0] < shortest:
            raise ValueError(
                f"--tests: the needle needs lengths of {shortest} tokens at least, got {settings.lengths[0]}; leave needle out"
            )
