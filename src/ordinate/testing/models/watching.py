"""What operators a forward calls: reads of tables, and dtypes that some backends have not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True)
class Read:
    """One look into a table.

    Attributes:
        rows: of the table.
        last: the row that was read for the last token.
        learned: whether the table is a parameter.
    """

    rows: int
    last: int
    learned: bool


@dataclass(frozen=True)
class Watched:
    """What was seen.

    Attributes:
        reads: of tables.
        complexes: operators that gave complex numbers.
        doubles: operators that made float64 of activations.
    """

    reads: list[Read] = field(default_factory=list)
    complexes: list[str] = field(default_factory=list)
    doubles: list[str] = field(default_factory=list)


class Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Watches a forward; activations are what comes out of an embedding of ids, and all that is made of it.

    Example:
        >>> with Watching() as watching:
        ...     _ = torch.nn.functional.embedding(torch.tensor([[1]]), torch.zeros(3, 2)).double()
        >>> watching.seen.reads, watching.seen.doubles
        ([Read(rows=3, last=1, learned=False)], ['aten._to_copy.default'])
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = Watched()
        self._activations: dict[int, torch.Tensor] = {}  # held, so that no id is given twice

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator and note what it did."""
        output = func(*args, **(kwargs or {}))
        name = str(func)
        if name == "aten.embedding.default":
            self._read(args[0], args[1])
        elif name == "aten.index.Tensor" and args[1] and args[1][0] is not None and args[0].ndim == 2:
            self._read(args[0], args[1][0])
        inputs = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        active = name == "aten.embedding.default" or any(id(leaf) in self._activations for leaf in inputs)
        for leaf in tree_leaves(output):
            if isinstance(leaf, torch.Tensor):
                self._note(name, leaf, active)
        return output

    def _read(self, table: torch.Tensor, rows: torch.Tensor) -> None:
        if rows.dtype != torch.bool and rows.numel():
            self.seen.reads.append(Read(len(table), int(rows.flatten()[-1]), table.requires_grad))

    def _note(self, name: str, output: torch.Tensor, active: bool) -> None:
        if output.is_complex():
            self.seen.complexes.append(name)
        if active and (output.is_floating_point() or output.is_complex()):
            self._activations[id(output)] = output
            if output.dtype == torch.float64:
                self.seen.doubles.append(name)
