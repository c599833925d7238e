"""How often YaRN's magnitude is multiplied in: cosine and sine once each, and the softmax by a number of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ordinate.doctor.source.names import dotted, last, number, written
from ordinate.doctor.source.spotted import Spotted, warning
from ordinate.doctor.source.tree import Function, Source

KIND = "yarn-magnitude"
MAGNITUDE = re.compile(r"_*(attention_scaling|attention_factor|attn_factor|mscale|magnitude_scaling|yarn_scale)")
SOFTMAX = re.compile(r"(softmax_scale|softmax_factor|scaling|scale|attn_scale|attention_scale|sm_scale)")
ONCE = "multiply both by it, once"
APART = "leave one of the two out: scaled cosines and sines already scale every score by the square"


def spot(source: Source) -> Iterator[Spotted]:
    """Find magnitudes that one of cosine and sine lacks, that are squared, or that the softmax gets too.

    Args:
        source: the file.

    Yields:
        What is found.
    """
    scaled: set[str] = set()
    for function in source.functions:
        cosines, sines = ([*_products(function, name)] for name in ("cos", "sin"))
        if not cosines and not sines:
            continue
        scaled |= {last(factor) for _, factor, _ in (*cosines, *sines)}
        place, factor, _ = (*cosines, *sines)[-1]
        if not (cosines and sines):
            if {"cos", "sin"} <= function.words:
                lacking = "sine" if cosines else "cosine"
                yield warning(KIND, place, f"{written(factor, 40)} is multiplied into one of the two: the {lacking} lacks it", ONCE)
        elif _twice(cosines) and _twice(sines):
            yield warning(KIND, place, f"cosine and sine get {written(factor, 40)} twice", ONCE)
    if scaled and "mscale_all_dim" not in source.words:
        for function in source.functions:
            yield from _softmax_too(function, scaled)


Product = tuple[ast.expr, ast.expr, int]


def _products(function: Function, name: str) -> Iterator[Product]:
    """Place, magnitude and its power, for ``x.cos() * m``, ``cos * m`` and ``cos *= m``."""
    for node in function.nodes:
        sides: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            sides = [(node.target, node.value)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [(node.left, node.right), (node.right, node.left)]
        for turned, factor in sides:
            base, power = _power(factor)
            inner = _first_factor(turned)
            if last(inner) == name and dotted(base) and MAGNITUDE.fullmatch(last(base)):
                yield inner, base, power


def _first_factor(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        node = node.left
    return node


def _power(factor: ast.expr) -> tuple[ast.expr, int]:
    if isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Pow) and number(factor.right) == 2:
        return factor.left, 2
    return factor, 1


def _twice(products: list[Product]) -> bool:
    """A square, two factors in one product, or one at the call and one at its name."""
    squared = any(power == 2 for _, _, power in products)
    places = [place for place, _, _ in products]
    chained = len({id(place) for place in places}) < len(places)
    called = {isinstance(place, ast.Call) for place in places}
    return squared or chained or called == {True, False}


def _softmax_too(function: Function, scaled: set[str]) -> Iterator[Spotted]:
    for name, pairs in function.assigned.items():
        for _, value in pairs:
            factors = _factors(value) if SOFTMAX.fullmatch(name.split(".")[-1]) else []
            again = [factor for factor in factors if last(factor) in scaled]
            if again:
                message = f"{name} is multiplied by {written(again[0], 40)}, which cosines and sines already carry"
                yield warning(KIND, value, message, APART)


def _factors(value: ast.expr) -> list[ast.expr]:
    """All factors of a product of two or more."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Mult, ast.Pow)):
        return []
    left: list[ast.expr] = [value]
    found = []
    while left:
        part = left.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
            left += [part.left, part.right]
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow):
            left.append(part.left)
        elif dotted(part):
            found.append(part)
    return found
