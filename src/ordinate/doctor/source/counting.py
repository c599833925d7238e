"""Positions that a forward pass counts by itself, without looking at its cache, its documents or its padding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ordinate.doctor.source.names import dotted, last, named, number
from ordinate.doctor.source.slices import flowing_into
from ordinate.doctor.source.spotted import Spotted, note, warning
from ordinate.doctor.source.tree import Function, Source
from ordinate.doctor.source.vocabulary import CACHES, OFFSETS, POSITIONS

CACHE, PACKED, PADDED = "decode-offset", "packed-positions", "mask-blind-positions"
DOCUMENTS = frozenset({"cu_seqlens", "cu_seq_lens", "document_ids", "doc_ids", "seq_idx", "segment_lengths", "sequence_ids"})
MASKS = frozenset({"attention_mask", "padding_mask", "key_padding_mask", "src_key_padding_mask"})
LENGTHS = frozenset({"shape", "size", "len", "seq_len", "seq_length", "seqlen", "sequence_length", "T", "t", "n", "L"})
# Who asks a cache for its length has thought of it.
ASKING = frozenset({"get_seq_length", "cache_position", "past_key_values_length", "input_pos", "start_pos", "cache_seqlens"})
TABLE = re.compile(r"wpe|\w*pos(ition(al)?)?(s|_ids)?_?(emb\w*|enc\w*|table)|embed_positions?|pe")
TURNING = re.compile(r"\w*(rope|rotary|rotate)\w*")
# A cache holds the decoder's own keys: what stands beside them is counted from 0.
BESIDE = re.compile(r"_*(encoder|memory|cross|context|image|vision|audio)")
ADD = "add the number of tokens in the cache: torch.arange(past, past + T), or take position_ids as an argument"
RESET = "count from 0 in every document: arange(T) less the start of the token's document"
REAL = "count real tokens: (attention_mask.cumsum(-1) - 1).clamp(min=0)"


@dataclass(frozen=True)
class Counted:
    """Positions 0 .. T - 1 that a pass makes.

    Attributes:
        name: that they get; "" where they are an argument at once.
        values: all that the name gets.
        place: where they are made.
        table: whether a table is read by them.
    """

    name: str
    values: tuple[ast.expr, ...]
    place: ast.expr
    table: bool


def spot(source: Source) -> Iterator[Spotted]:
    """Find positions that are 0 .. T - 1 whatever else the forward pass was given.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    for function in source.functions:
        if function.name != "forward":
            continue
        for counted in _counted(function):
            words = {word for node in flowing_into(function, [*counted.values]) for word in _words(node)}
            yield from _without_cache(function, counted, words)
            if counted.table and not any(POSITIONS.fullmatch(each) for each in function.parameters):
                yield from _blind(
                    function, counted, words, DOCUMENTS, PACKED, "positions run on over the borders of documents", RESET
                )
                yield from _blind(function, counted, words, MASKS, PADDED, "padding on the left is counted", REAL)


def _counted(function: Function) -> Iterator[Counted]:
    for name, pairs in function.assigned.items():
        values = tuple(value for _, value in pairs)
        place = next((each for value in values for each in _from_zero(value)), None)
        if POSITIONS.fullmatch(name) and place is not None:
            yield Counted(name, values, place, any(_reads(call, name) for call in function.calls))
    for call in function.calls:
        called = last(call.func)
        if TABLE.fullmatch(called) or TURNING.fullmatch(called):
            for value in call.args:
                place = next(_from_zero(value), None)
                if place is not None:
                    yield Counted("", (value,), place, TABLE.fullmatch(called) is not None)


def _from_zero(value: ast.expr) -> Iterator[ast.Call]:
    """Find ``arange(T)`` and ``arange(0, T)`` for a length of the input."""
    for node in ast.walk(value):
        if not isinstance(node, ast.Call) or last(node.func) != "arange" or not node.args:
            continue
        end = node.args[1] if len(node.args) > 1 else node.args[0]
        if (len(node.args) == 1 or number(node.args[0]) == 0) and len(node.args) < 3 and named(end) & LENGTHS:
            yield node


def _reads(call: ast.Call, name: str) -> bool:
    return TABLE.fullmatch(last(call.func)) is not None and any(name in named(each) for each in call.args)


def _words(node: ast.AST) -> set[str]:
    """Names that flow, and those in the bounds of ``arange`` and of slices."""
    if isinstance(node, ast.Subscript):
        return named(node.slice)
    return {last(node)} if isinstance(node, (ast.Name, ast.Attribute)) else set()


def _without_cache(function: Function, counted: Counted, words: set[str]) -> Iterator[Spotted]:
    used = [each for each in function.parameters if CACHES.fullmatch(each) and each in function.words]
    if (
        not used
        or function.words & ASKING
        or any(map(BESIDE.match, named(counted.place)))
        or any(CACHES.fullmatch(word) or OFFSETS.fullmatch(word) for word in words)
    ):
        return
    if counted.name and any(_moved(node, counted.name) for node in function.nodes):
        return
    if any(_added_to(node, counted.place) for value in counted.values for node in ast.walk(value)):
        return
    called = counted.name or "arange"
    unless = " unless it is given" if counted.name in function.parameters else ""
    message = f"{called} starts at 0 in every call{unless}, though the pass takes {used[0]}: a new token is at position 0 again"
    yield warning(CACHE, counted.place, message, ADD)


def _added_to(node: ast.AST, place: ast.AST) -> bool:
    """A sum of it and of something that is no plain number."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub)):
        return False
    sides = (node.left, node.right)
    return any(place in ast.walk(one) and number(other) is None for one, other in (sides, sides[::-1]))


def _moved(node: ast.AST, name: str) -> bool:
    """A sum with the positions, or a part of them that a cache chooses."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return name in (dotted(node.left), dotted(node.right))
    return isinstance(node, ast.Subscript) and dotted(node.value) == name and any(map(OFFSETS.fullmatch, named(node.slice)))


def _blind(
    function: Function, counted: Counted, words: set[str], telling: frozenset[str], kind: str, what: str, remedy: str
) -> Iterator[Spotted]:
    given = sorted(telling & {*function.parameters} & function.words)
    if given and not words & telling:
        yield note(kind, counted.place, f"a table is read by positions that ignore {given[0]}: {what}", remedy)
