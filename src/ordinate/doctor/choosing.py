"""Which findings are wanted: ``--select``, ``--ignore`` and the ``[tool.ordinate]`` table of the nearest pyproject.toml."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.checkpoints.kinds import printable, short
from ordinate.doctor.catalogue import ENTRIES
from ordinate.doctor.finding import CANNOT, Diagnosis

NAME = "pyproject.toml"
LARGEST = 2**20
KEYS = ("select", "ignore", "exclude")


@dataclass(frozen=True)
class Choice:
    """Codes that are wanted and not wanted, by their beginnings, and targets that are passed over.

    Attributes:
        select: beginnings of codes; empty for all.
        ignore: beginnings of codes; the longer beginning wins over ``select``.
        exclude: patterns of paths.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def wants(self, code: str) -> bool:
        """Tell whether a code's findings are wanted; what could not be looked at always is.

        Args:
            code: of a finding.

        Returns:
            Whether they are.

        Example:
            >>> choice = Choice(select=("ORD1",), ignore=("ORD11",))
            >>> [choice.wants(code) for code in ("ORD101", "ORD110", "ORD202", "ORD901")]
            [True, False, False, True]
        """
        if code == CANNOT:
            return True
        chosen = max((len(each) for each in self.select if code.startswith(each)), default=-1 if self.select else 0)
        refused = max((len(each) for each in self.ignore if code.startswith(each)), default=-1)
        return chosen >= 0 and chosen > refused

    def kept(self, found: Iterable[Diagnosis]) -> list[Diagnosis]:
        """Give the findings that are wanted.

        Args:
            found: all.

        Returns:
            Some of them.
        """
        return [each for each in found if self.wants(each.code)]

    def passes_over(self, target: str) -> bool:
        """Tell whether a target is excluded.

        Args:
            target: as it was given.

        Returns:
            Whether a pattern fits it, its name or a folder that it is in.

        Example:
            >>> choice = Choice(exclude=("tests/*", "broken.json"))
            >>> [choice.passes_over(target) for target in ("tests/a/config.json", "x/broken.json", "config.json")]
            [True, True, False]
        """
        parts = (target, Path(target).name, Path(target).as_posix())
        return any(fnmatch.fnmatch(part, pattern) for part in parts for pattern in self.exclude)


def chosen(start: Path, select: Sequence[str], ignore: Sequence[str]) -> Choice:
    """Put the command line's choice over that of the nearest pyproject.toml.

    Args:
        start: folder to look from, upwards.
        select: of the command line; replaces the table's if there is any.
        ignore: of the command line; added to the table's, which count only where nothing is selected here.

    Returns:
        The choice.

    Raises:
        ValueError: if a beginning fits no code, or the table does not fit.
    """
    table, where = _table(start)
    unknown = set(table) - set(KEYS)
    if unknown:
        raise ValueError(f"{where}: [tool.ordinate]: needed {', '.join(KEYS)}, got {printable(', '.join(sorted(unknown)))}")
    of_table = {key: _row(table.get(key, []), f"{where}: [tool.ordinate] {key}") for key in KEYS}
    of_table |= {key: tuple(code.strip().upper() for code in of_table[key]) for key in ("select", "ignore")}
    choice = Choice(tuple(select) or of_table["select"], (*(() if select else of_table["ignore"]), *ignore), of_table["exclude"])
    for each in (*choice.select, *choice.ignore):
        if not each or not any(code.startswith(each) for code in ENTRIES):
            raise ValueError(f"needed the beginning of a code, as ORD1 or ORD104, got {short(each)}")
    return choice


def _table(start: Path) -> tuple[dict[str, Any], str]:
    """The table, and the file's name; a nearer file without a table ends the search."""
    for folder in (start, *start.parents):
        path = folder / NAME
        if path.is_file():
            if path.stat().st_size > LARGEST:
                raise ValueError(f"{path}: needed at most {LARGEST} bytes, got {path.stat().st_size}")
            try:
                tool = tomllib.loads(path.read_bytes().decode("utf-8")).get("tool", {})
            except (ValueError, RecursionError):
                raise ValueError(f"{path}: needed TOML, got something else") from None
            table = tool.get("ordinate", {}) if isinstance(tool, dict) else {}
            if not isinstance(table, dict):
                raise ValueError(f"{path}: [tool.ordinate]: needed a table, got {short(table)}")
            return table, str(path)
    return {}, NAME


def _row(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{where}: needed a list of texts, got {short(value)}")
    return tuple(value)
