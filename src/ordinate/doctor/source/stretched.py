"""Rules that stretch a rotation: YaRN's magnitude, dynamic NTK's base, LongRoPE's choice of factors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ordinate.doctor.source.buffers import buffers_of
from ordinate.doctor.source.names import dotted, last, named, number, written
from ordinate.doctor.source.spotted import Spotted, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import FREQUENCIES, LENGTHS

NTK, LONG = "dynamic-ntk", "longrope-switch"
KEPT = re.compile(r"base|theta|rope_theta|" + FREQUENCIES.pattern)
GUARDS = frozenset({"max", "maximum", "clamp", "clip", "where", "clamp_min"})
ORIGINAL = re.compile(r"(original_max_position_embeddings|original_max_seq_len|original_max_positions?|original_length)")
RESET = "work base and frequencies out of this sequence's length alone, every time, and keep neither"
WHOLE = "choose once by the length of the whole sequence, given as a Python int, and turn cached keys again when the choice changes"


def spot(source: Source) -> Iterator[Spotted]:
    """Find bases that are not reset, bases that change below the trained length, and factors chosen by one call's positions.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for owner, methods in source.methods.items():
        yield from _never_reset(owner, methods)
    for function in source.functions:
        yield from _below_the_trained(function)
        yield from _switch(function)


def _never_reset(owner: ast.ClassDef, methods: list[Function]) -> Iterator[Spotted]:
    """``if seq_len > self.max: self.base = ...`` and no way back."""
    running = [method for method in methods if method.name != "__init__"]
    changes = [(name, place, test) for method in running for name, place, test in _changes(method)]
    for name, place, test in changes:
        same = [each for each in changes if each[0] == name]
        if test is not None and len(same) == 1:
            message = f"{owner.name} changes self.{name} when an input is long ({written(test, 60)}) and never changes it back"
            yield warning(NTK, place, message, RESET)


def _changes(method: Function) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    """Attribute, place, and the test on a length under which it changes."""
    tests = {
        id(inner): node.test
        for node in method.nodes
        if isinstance(node, ast.If) and _longer(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for name, pairs in method.assigned.items():
        kept = name.removeprefix("self.")
        if name.startswith("self.") and KEPT.fullmatch(kept):
            yield from ((kept, value, tests.get(id(value))) for _, value in pairs)
    for buffer in buffers_of(method):
        if KEPT.fullmatch(buffer.name) and f"self.{buffer.name}" not in method.assigned:
            yield buffer.name, buffer.place, tests.get(id(buffer.place))


def _longer(test: ast.expr) -> bool:
    """A comparison of a length with ``>``."""
    ordered = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Gt, ast.GtE))
    return isinstance(test, ast.Compare) and ordered and any(map(LENGTHS.fullmatch, named(test.left)))


def _below_the_trained(function: Function) -> Iterator[Spotted]:
    """``base * (factor * n / trained - (factor - 1)) ** (d / (d - 2))`` for any n."""
    if function.words & GUARDS or any(isinstance(node, (ast.If, ast.IfExp)) and _longer(node.test) for node in function.nodes):
        return
    for node in function.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow) or not _ntk_exponent(node.right):
            continue
        inside = [each for each in ast.walk(node.left) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div)]
        if any(re.fullmatch(r"\w*(seq_?len|length|n_tokens)\w*", word) for each in inside for word in named(each.left)):
            message = "below the trained length the base gets smaller than trained: nothing holds the length at that bound"
            yield warning(NTK, node, message, "use max(length, original_max_position_embeddings) in the formula")


def _ntk_exponent(node: ast.expr) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or not isinstance(node.right, ast.BinOp):
        return False
    below = node.right
    return isinstance(below.op, ast.Sub) and number(below.right) == 2 and dotted(below.left) == dotted(node.left) != ""


def _switch(function: Function) -> Iterator[Spotted]:
    for node in function.nodes:
        if not isinstance(node, (ast.If, ast.IfExp)) or not isinstance(node.test, ast.Compare):
            continue
        first, second = _chosen(node)
        if {first, second} != {"long", "short"}:
            continue
        if _by_positions(function, node.test):
            message = (
                "short or long factors are chosen by the largest position of this call: keys cached before keep the other ones"
            )
            yield warning(LONG, node.test, message, WHOLE)
        elif _off_by_one(node.test, first):
            message = "the long factors start one token early: a sequence of exactly the original length still has the short ones"
            yield warning(LONG, node.test, message, "compare with length > original_max_position_embeddings")


def _chosen(node: ast.If | ast.IfExp) -> tuple[str, str]:
    return _long_or_short(node.body), _long_or_short(node.orelse)


def _long_or_short(part: list[ast.stmt] | ast.expr) -> str:
    words = {word for each in (part if isinstance(part, list) else [part]) for word in named(each)}
    long, short = (
        any(re.fullmatch(rf"_*{side}_(factors?|mscale|inv_freqs?)", word) for word in words) for side in ("long", "short")
    )
    return "" if long == short else "long" if long else "short"


def _by_positions(function: Function, test: ast.Compare) -> bool:
    """``position_ids.max()`` in the test, or in the last value of a name in it."""
    earlier = ([value for end, value in function.assigned.get(word, []) if end < test.lineno][-1:] for word in named(test))
    parts = (each for value in (test, *(one for values in earlier for one in values)) for each in ast.walk(value))
    calls = (each for each in parts if isinstance(each, ast.Call) and last(each.func) in ("max", "amax"))
    return any("pos" in word for call in calls for word in named(call))


def _off_by_one(test: ast.Compare, first: str) -> bool:
    if (
        len(test.ops) != 1
        or not any(map(ORIGINAL.fullmatch, named(test.comparators[0])))
        or isinstance(test.comparators[0], ast.BinOp)
    ):
        return False
    early = isinstance(test.ops[0], ast.GtE) if first == "long" else isinstance(test.ops[0], ast.Lt)
    return early and not isinstance(test.left, ast.BinOp)
