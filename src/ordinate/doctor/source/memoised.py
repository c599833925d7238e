"""Tables that are kept between calls under a key that lacks something."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ordinate.doctor.source.names import argument, assignments, dotted, last, named, written
from ordinate.doctor.source.slices import flowing_into
from ordinate.doctor.source.spotted import Spotted, warning
from ordinate.doctor.source.tree import Function, Source

KIND = "cache-key-and-sharing"
KEEPING = ("lru_cache", "cache")
TABLES = frozenset({"cos", "sin", "polar", "arange", "outer", "einsum"})
GROWN = ("max_seq_len_cached", "max_seqlen_cached", "_seq_len_cached", "seq_len_cached", "max_seq_length_cached", "cached_len")


def spot(source: Source) -> Iterator[Spotted]:
    """Find caches of tables whose key lacks what the table depends on.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    variables = _variables(source)
    shared, own = _shared_dictionaries(source), _own_dictionaries(source)
    for function in source.functions:
        yield from _memoised_method(function)
        yield from _memoised_function(function, variables)
        yield from _last_one(function)
        yield from _stored_under(function, shared, {name for owner, name in own if owner is function.owner})
        yield from _by_length(function)


def _shared_dictionaries(source: Source) -> set[str]:
    """Names of dictionaries of a module or class, as functions write them."""
    found: set[str] = set()
    holders: tuple[ast.Module | ast.ClassDef, ...] = (source.tree, *source.classes)
    for holder in holders:
        for statement in holder.body:
            names = [dotted(target) for target, value in assignments(statement) if _dictionary(value)]
            if isinstance(holder, ast.ClassDef):
                names = [f"{prefix}.{name}" for name in names for prefix in ("self", "cls", holder.name)]
            found.update(names)
    return found


def _own_dictionaries(source: Source) -> set[tuple[ast.ClassDef, str]]:
    """Dictionaries that an object makes for itself: its own settings need no place in their keys."""
    return {
        (owner, name)
        for owner, methods in source.methods.items()
        for method in methods
        if method.name == "__init__"
        for name, pairs in method.assigned.items()
        if name.startswith("self.") and any(_dictionary(value) for _, value in pairs)
    }


def _dictionary(value: ast.expr | None) -> bool:
    empty_call = isinstance(value, ast.Call) and last(value.func) in ("dict", "OrderedDict") and not value.args
    return empty_call or (isinstance(value, ast.Dict) and not value.keys)


def _mutable_defaults(function: Function) -> set[str]:
    """Arguments whose default is one dictionary for all calls."""
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value is not None]
    return {name.arg for name, value in pairs if _dictionary(value)}


def _tabulates(function: Function) -> bool:
    return any(last(call.func) in TABLES for call in function.calls)


def _memoised_method(function: Function) -> Iterator[Spotted]:
    """A method whose answers are kept by its arguments: what it reads of the object is no part of the key's value."""
    kept = [each for each in function.node.decorator_list if last(each) in KEEPING]
    if not kept or function.owner is None or function.parameters[:1] != ("self",) or not _tabulates(function):
        return
    read = sorted({dotted(node) for node in function.nodes if isinstance(node, ast.Attribute) and dotted(node).startswith("self.")})
    if read:
        also = ", ".join(read[:4])
        message = f"{function.name} is memoised by its arguments, but also reads {also}: a cast or moved module gets old tables"
        yield warning(KIND, kept[0], message, "take all that it depends on, dtype and device too, as arguments of a plain function")


def _variables(source: Source) -> set[str]:
    """Names of a module that stand for an object; constants are in capitals."""
    pairs = (pair for statement in source.tree.body for pair in assignments(statement))
    return {dotted(target) for target, _ in pairs if not dotted(target).isupper()} - {""}


def _memoised_function(function: Function, variables: set[str]) -> Iterator[Spotted]:
    """A function whose answers are kept by its arguments and that reads a variable of its module."""
    kept = [each for each in function.node.decorator_list if last(each) in KEEPING]
    if not kept or function.owner is not None or not _tabulates(function):
        return
    names = {node.id for node in function.nodes if isinstance(node, ast.Name)} - {*function.parameters, *function.assigned}
    read = sorted(names & variables)
    if read:
        message = f"{function.name} is memoised by its arguments, but also reads {', '.join(read[:4])}: a change there is not seen"
        yield warning(KIND, kept[0], message, "take what it depends on as arguments")


def _last_one(function: Function) -> Iterator[Spotted]:
    """``global table``, made anew only where it is too short."""
    shared = {name for node in function.nodes if isinstance(node, ast.Global) for name in node.names}
    for node in function.nodes if shared else ():
        if not isinstance(node, ast.If) or not shared & named(node.test):
            continue
        made = [
            (target, value)
            for part in node.body
            for target, value in assignments(part)
            if shared & {dotted(target)} and value is not None
        ]
        for target, value in made:
            flowing = list(flowing_into(function, [value], through_turns=True))
            missing = sorted(_inputs(function, _everything(function, flowing)) - named(node.test))
            if missing and any(isinstance(each, ast.Call) and last(each.func) in TABLES for each in flowing):
                lacking = ", ".join(missing[:5])
                message = (
                    f"{dotted(target)} serves all later calls and is made anew by {written(node.test, 40)}, whatever {lacking}"
                )
                yield warning(
                    KIND, value, message, "put them into a key, or keep no table: positions and base are enough to compute it"
                )


def _stored_under(function: Function, shared: set[str], own: set[str]) -> Iterator[Spotted]:
    """``cache[key] = table`` where the table depends on more than the key."""
    kept = shared | own | _mutable_defaults(function)
    for node in function.nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Subscript) or dotted(target.value) not in kept:
            continue
        made = list(flowing_into(function, [node.value], through_turns=True))
        if not any(isinstance(each, ast.Call) and last(each.func) in TABLES for each in made):
            continue
        key = _inputs(function, flowing_into(function, [target.slice]))
        missing = sorted(_inputs(function, _everything(function, made)) - key)
        if dotted(target.value) in own:
            missing = [name for name in missing if not name.startswith("self.")]
        if missing:
            lacking = ", ".join(missing[:5])
            message = (
                f"{dotted(target.value)} serves all later calls and is keyed by {written(target.slice, 40)}, without {lacking}"
            )
            yield warning(
                KIND, node, message, "put them into the key, or keep no table: positions and base are enough to compute it"
            )


def _everything(function: Function, nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Also dtype and device, which flow into a table without being operands."""
    for node in nodes:
        yield node
        if isinstance(node, ast.Call):
            given = [keyword.value for keyword in node.keywords if keyword.arg in ("dtype", "device")]
            yield from flowing_into(function, given)


def _inputs(function: Function, nodes: Iterator[ast.AST]) -> set[str]:
    """Arguments and attributes of self among some nodes."""
    names = {dotted(node) for node in nodes if isinstance(node, (ast.Name, ast.Attribute))}
    taken = {name for name in names if name.startswith("self.") and name.count(".") == 1}
    return taken | (names & (set(function.parameters) - {"self", "cls"}))


def _by_length(function: Function) -> Iterator[Spotted]:
    """``if seq_len > self.max_seq_len_cached: build(dtype=x.dtype)``: the first dtype stays for all later calls."""
    for node in function.nodes:
        if not isinstance(node, ast.If) or not isinstance(node.test, (ast.Compare, ast.BoolOp)):
            continue
        asked = {last(each) for each in ast.walk(node.test) if isinstance(each, (ast.Name, ast.Attribute))}
        if not asked & set(GROWN) or asked & {"dtype", "device"}:
            continue
        casts = [
            each for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call) and _dtype_of_input(function, each)
        ]
        if casts:
            message = "the table is kept by length alone, but built in the dtype of the input: the first call's dtype stays"
            yield warning(
                KIND, casts[0], message, "keep it in float32 and cast what is handed out, or ask for dtype and device too"
            )


def _dtype_of_input(function: Function, call: ast.Call) -> bool:
    given = argument(call, None, "dtype")
    return isinstance(given, ast.Attribute) and given.attr == "dtype" and dotted(given.value) in function.parameters
