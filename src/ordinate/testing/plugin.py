"""The pytest plugin: ``pytest --ordinate package.module:Object`` has a test for every property of the contract.

Tests of one's own get the same findings, one at a time, by the fixture ``ordinate_finding``; targets then stand in the
configuration, a line each, as ``ordinate = mypkg.rope:MyRope layout=half``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ordinate.testing.findings import Finding

HELP = "hold this to the contract: 'package.module:Object', or 'package.module:Object key=value ...'; may be repeated"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--ordinate`` and the configuration's key.

    Args:
        parser: of pytest.
    """
    group = parser.getgroup("ordinate", "positional schemes")
    group.addoption("--ordinate", action="append", default=[], metavar="TARGET", help=HELP)
    parser.addini("ordinate", "targets of the fixture ordinate_finding, a line each", type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Collect nothing else, unless paths were given, too.

    Args:
        config: of pytest.
    """
    if config.getoption("ordinate") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for every finding.

    Args:
        session: of pytest.
        config: with the targets.
        items: grow.
    """
    for target in config.getoption("ordinate"):
        for number, finding in enumerate(_findings(config, target)):
            name = f"{target.strip()}[{finding.property}]"
            item = ContractItem.from_parent(session, name=name, nodeid=f"{name}#{number}" if _repeated(items, name) else name)
            item.finding = finding
            items.append(item)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give ``ordinate_finding`` its values.

    Args:
        metafunc: of pytest.
    """
    if "ordinate_finding" in metafunc.fixturenames:
        targets = metafunc.config.getini("ordinate")
        found = [
            (f"{target.split()[0]}-{finding.property}", finding)
            for target in targets
            for finding in _findings(metafunc.config, target)
        ]
        metafunc.parametrize("ordinate_finding", [finding for _, finding in found], ids=[name for name, _ in found])


class ContractItem(pytest.Item):
    """One property of one target."""

    finding: Finding

    def runtest(self) -> None:
        """Fail if it is broken, and skip if it does not apply.

        Raises:
            ContractError: if it is broken.
        """
        if self.finding.verdict == "does not apply":
            pytest.skip(self.finding.said)
        if self.finding.verdict == "broken":
            raise ContractError(str(self.finding).strip())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the finding, and no traceback of this file."""
        if isinstance(excinfo.value, ContractError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where the test stands."""
        return self.path, None, f"{self.name.partition('[')[0]}: {self.finding.property}"


class ContractError(AssertionError):
    """A property that is broken."""


def _repeated(items: Iterable[pytest.Item], name: str) -> bool:
    return any(item.name == name for item in items)


def _findings(config: pytest.Config, target: str) -> list[Finding]:
    """All findings of a target; the folder that pytest runs in, and src below it, may hold it."""
    for folder in (config.rootpath / "src", config.rootpath, config.invocation_params.dir):
        if str(folder) not in sys.path and folder.is_dir():
            sys.path.insert(0, str(folder))
    try:
        return list(_checked_once(target))
    except ValueError as fault:
        raise pytest.UsageError(f"--ordinate {fault}") from None


@functools.cache
def _checked_once(target: str) -> Any:
    from ordinate.testing.targets import checked

    return checked(target)
