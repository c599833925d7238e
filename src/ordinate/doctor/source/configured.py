"""Settings that code ignores or replaces silently."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ordinate.doctor.source.names import argument, dotted, last, number, written
from ordinate.doctor.source.spotted import Spotted, note, warning
from ordinate.doctor.source.tree import Function, Source

DROPPED, PARTIAL = "config-key-dropped", "partial-rotary"
SETTINGS = re.compile(
    r"rope_theta|rope_base|rotary_base|rope_scaling|rope_type|rope_factor|partial_rotary_factor|rotary_pct|rotary_dim"
    r"|attention_factor|beta_fast|beta_slow|low_freq_factor|high_freq_factor|original_max_position_embeddings"
    r"|short_factor|long_factor|mrope_section|theta|base"
)
DECISIVE = re.compile(r"rope_theta|rotary_emb_base|rotary_base|rope_scaling|partial_rotary_factor|rotary_pct|rope_parameters")
SAY = "read it, or refuse a value that is not the default"
KEY = "read the key without a default, so that a file that lacks or renames it is refused"


def spot(source: Source) -> Iterator[Spotted]:
    """Find settings that are taken and never read, defaults in place of keys, and frequencies of two widths.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    # The rule of that name divides by the whole head, and turns a part of it.
    proportional = any("proportional" in word for word in source.words)
    for function in source.functions:
        yield from _never_read(function)
        yield from _silent_default(function)
        if not proportional:
            yield from _two_widths(function)
    yield from _old_spelling(source)


def _never_read(function: Function) -> Iterator[Spotted]:
    """An argument of a function that makes frequencies, and nothing comes of it."""
    if not _makes_frequencies(function) or function.node.args.kwarg is not None or "locals" in function.words:
        return
    inner = {word for node in ast.walk(function.node) if isinstance(node, (ast.Name, ast.Delete)) for word in _loaded(node)}
    for each in (*function.node.args.args, *function.node.args.kwonlyargs):
        if SETTINGS.fullmatch(each.arg) and each.arg not in inner:
            message = f"{function.name} takes {each.arg} and never reads it: a value given there changes nothing"
            yield Spotted(
                kind=DROPPED,
                severity="warning",
                line=each.lineno,
                message=message,
                evidence=f"def {function.name}(... {each.arg} ...)",
                remedy=SAY,
            )


def _loaded(node: ast.AST) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set()


def _makes_frequencies(function: Function) -> bool:
    """``base ** (arange(...) / width)`` in its body."""
    return any(True for _ in _powers(function))


def _powers(function: Function) -> Iterator[tuple[ast.BinOp, ast.Call, ast.expr]]:
    """Powers whose exponent is an arange over a width, with both."""
    for node in function.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow):
            continue
        exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        if not isinstance(exponent, ast.BinOp) or not isinstance(exponent.op, ast.Div):
            continue
        made = next((each for each in ast.walk(exponent.left) if isinstance(each, ast.Call) and last(each.func) == "arange"), None)
        if made is not None:
            yield node, made, exponent.right


def _silent_default(function: Function) -> Iterator[Spotted]:
    """``getattr(config, "rope_theta", 10000)`` and ``config.get("rope_theta", 10000)``; a factor of 1 is no setting at all."""
    for call in function.calls:
        place = 1 if dotted(call.func) == "getattr" else 0 if last(call.func) == "get" else None
        key = argument(call, place, "") if place is not None else None
        default = argument(call, place + 1, "") if place is not None else None
        named = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        if default is not None and DECISIVE.fullmatch(named) and number(default) not in (None, 1) and _of_configuration(call):
            yield note(DROPPED, call, f"{named} becomes {written(default, 20)} where a file lacks or renames it", KEY)


def _of_configuration(call: ast.Call) -> bool:
    asked = call.func.value if isinstance(call.func, ast.Attribute) else call.args[0]
    return re.search("config|cfg|args|rope_(parameters|scaling)", written(asked)) is not None


def _old_spelling(source: Source) -> Iterator[Spotted]:
    """``rope_scaling["type"]`` in a file that does not know ``rope_type``."""
    if "rope_type" in source.words:
        return
    for node in source.parents:
        if isinstance(node, ast.Subscript) and last(node.value) == "rope_scaling" and _is_type(node.slice):
            message = 'the rule is read as rope_scaling["type"] alone: files since 2024 call it rope_type'
            yield warning(DROPPED, node, message, 'read "rope_type", and "type" where it is absent')
            return


def _is_type(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value == "type"


def _two_widths(function: Function) -> Iterator[Spotted]:
    """``arange(0, rotary_dim, 2) / head_dim``: the number of pairs is that of one width, the exponents are of another."""
    for node, made, below in _powers(function):
        end = made.args[1] if len(made.args) == 3 else None
        if end is None or not dotted(end) or not dotted(below) or dotted(end) == dotted(below) or number(made.args[2]) != 2:
            continue
        if not _same(function, end, below):
            message = f"pairs are counted over {dotted(end)}, exponents over {dotted(below)}: the frequencies fit neither"
            yield warning(PARTIAL, node, message, f"divide by {dotted(end)}: base ** (arange(0, {dotted(end)}, 2) / {dotted(end)})")


def _same(function: Function, one: ast.expr, other: ast.expr) -> bool:
    """Whether one is the other under a second name, or a fixed part of it such as ``dim // 2``."""
    for name, source in ((dotted(one), dotted(other)), (dotted(other), dotted(one))):
        for _, value in function.assigned.get(name, []):
            fixed = value.left if isinstance(value, ast.BinOp) and number(value.right) is not None else value
            if isinstance(fixed, ast.Call) and dotted(fixed.func) in ("int", "float") and fixed.args:
                fixed = fixed.args[0]
            if dotted(fixed) == source:
                return True
    return False
