"""``ordinate doctor``: what is wrong with positions in configurations, checkpoints and code."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.doctor.finding import Diagnosis
    from ordinate.doctor.looked import Looked
    from ordinate.doctor.probe.measuring import ProbeResult

EPILOG = """\
exit status: 0 nothing found, or notes alone; 1 an error or a warning; 2 something could not be looked at

examples:
  ordinate doctor config.json
  ordinate doctor checkpoint/ merged/          two checkpoints: also compared with each other
  ordinate doctor model.gguf --json
  ordinate doctor mypackage.rope:RotaryEmbedding
  ordinate doctor config.json --report page.html
  ordinate doctor --explain ORD104

[tool.ordinate] in pyproject.toml holds select, ignore and exclude.
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "doctor",
        help="what is wrong with positions in a configuration, a checkpoint or code",
        description="Look for positional faults. No weight is loaded, nothing is unpickled, and code runs only as module:Object.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", metavar="TARGET", nargs="*", help="config.json, a folder, .gguf, module:Object or .py")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0, for code review tools")
    parser.add_argument("--quiet", action="store_true", help="leave notes out")
    parser.add_argument("--apart", action="store_true", help="do not compare two targets with each other")
    parser.add_argument(
        "--select", metavar="CODE", action="append", default=[], help="only codes that begin so; commas, or repeated"
    )
    parser.add_argument("--ignore", metavar="CODE", action="append", default=[], help="no codes that begin so; commas, or repeated")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a page with figures, too; needs ordinate[plots]")
    parser.add_argument("--explain", metavar="CODE", help="print a code's page")
    parser.add_argument("--probe", action="store_true", help="run the models on a short text and measure; needs transformers")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Look at the targets and print what was found.

    Args:
        options: from the parser.

    Returns:
        The exit status.
    """
    if options.explain is not None:
        return _explain(options.explain)
    if not options.targets:
        return _refused("needed a TARGET, or --explain CODE")
    if options.json and options.sarif:
        return _refused("needed --json or --sarif, got both")
    if options.probe and options.sarif:
        return _refused("--probe: needed --json or neither, got --sarif, which has no place for what is measured")
    from ordinate.doctor.choosing import chosen
    from ordinate.doctor.finding import exit_status
    from ordinate.doctor.targets import compared, look

    try:
        choice = chosen(Path.cwd(), _codes(options.select), _codes(options.ignore))
    except (ValueError, OSError) as fault:
        return _refused(str(fault))
    targets = [target for target in options.targets if not choice.passes_over(target)]
    if not targets:
        print(f"{', '.join(options.targets)}: excluded, so nothing was looked at", file=sys.stderr)
        return 0  # hooks pass files that a project leaves out
    looked = [look(target) for target in targets]
    found = [each for one in looked for each in one.findings]
    if len(looked) == 2 and not options.apart:
        found += compared(*looked)
    found = choice.kept(found)
    probes, lacking = _probed(targets) if options.probe else ([], 0)
    _print(found, [one.target for one in looked], probes, options)
    status = max(exit_status(found), lacking)
    return status if options.report is None else max(status, _report(found, looked, options.report))


def _codes(given: list[str]) -> list[str]:
    return [code.strip().upper() for each in given for code in each.split(",")]


def _print(found: list[Diagnosis], targets: list[str], probes: list[tuple[str, ProbeResult]], options: argparse.Namespace) -> None:
    if options.json or options.sarif:
        from ordinate.doctor.exchange import as_sarif, as_values

        measured = {"probes": [{"target": name, **dataclasses.asdict(result)} for name, result in probes]} if probes else {}
        print(json.dumps(as_sarif(found) if options.sarif else {**as_values(found, targets), **measured}, indent=1))
        return
    from ordinate.doctor.showing import lines_of

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = min(max(shutil.get_terminal_size((120, 24)).columns, 40), 132)
    print("\n".join(lines_of(found, targets, colour=colour, quiet=options.quiet, width=width)))
    for target, result in probes:
        from ordinate.doctor.probe.report import lines_of as probe_lines_of

        print("\n".join(probe_lines_of(result, target)))


def _report(found: list[Diagnosis], looked: list[Looked], path: Path) -> int:
    """Write the page; where that fails the findings are out already."""
    from ordinate.doctor.reporting import page

    try:
        path.write_text(page(found, looked), encoding="utf-8")
    except (OSError, ImportError) as fault:
        return _refused(f"--report: could not write {path} ({fault})")
    print(f"written: {path}", file=sys.stderr)
    return 0


def _explain(code: str) -> int:
    from ordinate.doctor.catalogue import ENTRIES
    from ordinate.doctor.pages import page

    entry = ENTRIES.get(code.strip().upper())
    if entry is None:
        return _refused(f"--explain: needed one of {', '.join(ENTRIES)}, got {code[:40]!r}")
    print(page(entry), end="")
    return 0


def _probed(targets: list[str]) -> tuple[list[tuple[str, ProbeResult]], int]:
    """Run the models; whatever is missing for that is said in a line."""
    from ordinate.doctor.probe.report import probed

    found = []
    for target in targets:
        try:
            found.append((target, probed(target)))
        except ModuleNotFoundError as error:
            return found, _refused(f"--probe: needed {error.name}, which is not installed")
        except (ValueError, OSError, ImportError) as fault:
            return found, _refused(f"{' '.join(str(fault).split())}")
    return found, 0


def _refused(why: str) -> int:
    print(f"ordinate doctor: {why}", file=sys.stderr)
    return 2
