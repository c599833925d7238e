"""Code that was asked for: objects are imported and held to the contract, files of source are read and never run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ordinate.doctor.finding import Diagnosis, cannot, diagnosis

if TYPE_CHECKING:
    from ordinate.testing.findings import Finding


def diagnose_object(spec: str) -> list[Diagnosis]:
    """Import an object and hold it to the contract.

    Args:
        spec: ``package.module:Object``, then settings as ``ordinate.testing`` takes them.

    Returns:
        What is broken; nothing if all holds.

    Example:
        >>> print(diagnose_object("nowhere.at_all:Rope")[0].message)
        nowhere.at_all:Rope: could not import nowhere.at_all (No module named 'nowhere')
    """
    from ordinate.testing.targets import checked

    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as for python -m: a project's own modules are found where it stands
    try:
        report = checked(spec)
    except ValueError as fault:
        return [cannot(str(fault))]
    except ImportError as fault:
        return [cannot(f"needed {fault.name}, which is not installed")]
    return [_of(finding) for finding in report.broken]


def diagnose_source(path: str) -> list[Diagnosis]:
    """Read a file of Python source.

    Args:
        path: of the file.

    Returns:
        What it shows.
    """
    from ordinate.doctor.source.diagnosing import diagnose_source as diagnose

    return list(diagnose(path))


def _of(finding: Finding) -> Diagnosis:
    assert finding.code is not None
    rows = (("input", finding.smallest), ("expected", finding.expected), ("got", finding.actual))
    evidence = "; ".join(f"{name} {value}" for name, value in rows if value is not None)
    return diagnosis(finding.code, finding.said, where=finding.property, evidence=evidence, remedy=finding.remedy, severity="error")
