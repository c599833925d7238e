"""torch.compile takes the whole forward as one graph, and two graphs are enough for all lengths."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.subject import Subject, same

PROPERTY = "torch.compile(fullgraph=True)"
KIND = "compile-unfriendly"
LENGTHS = (8, 9, 10)
MOST = 2  # a graph for the first length, and one for any


def compiles(subject: Subject) -> Finding:
    """Compile, and ask with three lengths.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.limit < LENGTHS[-1]:
        return not_asked(PROPERTY, f"it takes {subject.limit} tokens, and lengths up to {LENGTHS[-1]} are asked")
    model, graphs = subject.fresh().model, Counting()
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend=graphs)
    try:
        for length in LENGTHS:
            finding = _asked(subject, compiled, graphs, length)
            if finding is not None:
                return finding
    finally:
        torch._dynamo.reset()
    return holds(PROPERTY, f"{graphs.count} graphs for lengths {', '.join(map(str, LENGTHS))}")


class Counting:
    """A backend that runs graphs as they are, and counts them.

    Example:
        >>> graphs = Counting()
        >>> graphs(torch.fx.symbolic_trace(torch.nn.Identity()), [])(5), graphs.count
        (5, 1)
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, graph: torch.fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        """Count."""
        self.count += 1
        return graph.forward


def _asked(subject: Subject, compiled: Callable[..., Any], graphs: Counting, length: int) -> Finding | None:
    ids = subject.rows(1, length)
    expected = subject.fresh().logits(ids)
    actual = attempt(lambda: dataclasses.replace(subject, model=compiled).logits(ids))
    told = f"ids [1, {length}]" if length == LENGTHS[0] else f"ids [1, {LENGTHS[0]}] to [1, {length}], one after the other"
    if isinstance(actual, Failed):
        return broken(PROPERTY, KIND, "tracing breaks", smallest=told, expected="one graph", actual=str(actual))
    if graphs.count > MOST:
        said = "it compiles again for every length"
        return broken(PROPERTY, KIND, said, smallest=told, expected=f"{MOST} graphs at most", actual=f"{graphs.count} graphs")
    if not same(actual, expected):
        said = "the compiled forward differs"
        return broken(PROPERTY, KIND, said, smallest=told, expected="logits as without", actual="others")
    return None
