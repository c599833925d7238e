"""``ordinate claims``: the ledger of what the two course notes say, every check run anew."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.claims import Claim, Settled
    from ordinate.lab.results import Comparison

NOT_WRITTEN = 3
NAMED = 3  # of several unknown names
VERDICTS = ("holds", "condition", "fails")
EPILOG = """\
examples:
  ordinate claims                                       run every check and print what came of it
  ordinate claims --list                                the names, without running anything
  ordinate claims equivariance causal-mask --code       two of them, with the code of their checks
  ordinate claims --note words --verdict fails --lang ru    what the second note has wrong, in Russian
  ordinate claims --results compare-report              with the losses of one's own `ordinate compare`

exit status: 0 if every verdict is the recorded one, 1 if any is another, 2 for bad input,
3 if the output could not be written, or its reader left before the end
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "claims",
        help="check what two course notes say of positions, statement by statement",
        description="Run the check of every statement of two course notes on positions: verdict, measured values, what is true.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these claims (default: all)")
    parser.add_argument("--note", choices=("representations", "words"), default=None, help="only one note's")
    parser.add_argument("--verdict", choices=VERDICTS, default=None, help="only those with this recorded verdict")
    parser.add_argument("--list", action="store_true", help="run nothing: mark, name and statement, one line each")
    parser.add_argument("--code", action="store_true", help="print the code of each check as well")
    parser.add_argument("--json", action="store_true", help="print JSON, both languages in it")
    parser.add_argument("--lang", "--language", dest="language", choices=("en", "ru"), default="en", help="default: en")
    parser.add_argument(
        "--results",
        type=Path,
        default=None,
        metavar="PATH",
        help="a report of `ordinate compare` (its folder or results.json), in place of the losses that come with the package",
    )
    parser.set_defaults(run=run, not_written=NOT_WRITTEN)


def run(options: argparse.Namespace) -> int:
    """Choose, settle and print.

    Args:
        options: from the parser.

    Returns:
        0, 1 if a verdict is not the recorded one, or 2 for bad input.
    """
    try:
        chosen = _chosen(options)
        checked = chosen if options.list or options.results is None else _with_results(chosen, options.results)
    except ValueError as fault:
        print(f"ordinate claims: {fault}", file=sys.stderr)
        return 2
    for warning in _without_effect(options, chosen):
        print(f"ordinate claims: warning: {warning}", file=sys.stderr)
    if options.list:
        _print_list(options, chosen)
        return 0
    found = _print_json(options, chosen, checked) if options.json else _print_ledger(options, chosen, checked)
    changed = [settled for settled in found if not settled.as_recorded]
    sys.stdout.flush()
    for settled in changed:
        recorded, measured = settled.claim.verdict.value, settled.measured.verdict.value
        print(f"ordinate claims: {settled.claim.name}: recorded {recorded}, measured {measured}", file=sys.stderr)
    return 1 if changed else 0


def _chosen(options: argparse.Namespace) -> list[Claim]:
    """Claims asked for, one note after the other."""
    from ordinate.claims import CLAIMS, Note, Verdict, find

    named, faults = set(), []
    for name in options.names:
        try:
            named.add(find(name))
        except ValueError as fault:
            faults.append(str(fault))
    if faults:
        rest = [f"and {len(faults) - NAMED} more names that are unknown"] if len(faults) > NAMED else []
        raise ValueError("; ".join([*faults[:NAMED], *rest]))
    verdict = None if options.verdict is None else Verdict[options.verdict.upper()]
    chosen = [
        claim
        for note in Note
        for claim in CLAIMS
        if claim.note is note
        and (not named or claim in named)
        and options.note in (None, note.value)
        and verdict in (None, claim.verdict)
    ]
    if not chosen:
        raise ValueError("needed a choice that leaves a claim, got none: leave out a NAME, --note or --verdict")
    return chosen


def _with_results(chosen: Sequence[Claim], path: Path) -> list[Claim]:
    from ordinate.lab.kept import read_comparison

    try:
        results = read_comparison(path)
    except ValueError as fault:
        raise ValueError(f"--results: {fault}") from None
    return [_with_own(claim, results) if _reads_results(claim) else claim for claim in chosen]


def _with_own(claim: Claim, results: Comparison) -> Claim:
    """A remark was written for the package's own losses; a condition, and what is true instead, the check has measured."""
    from ordinate.claims import Text, Verdict

    truth = Text("", "") if claim.verdict is Verdict.HOLDS else claim.truth
    return dataclasses.replace(claim, check=functools.partial(claim.check, results=results), truth=truth)


def _reads_results(claim: Claim) -> bool:
    return "results" in inspect.signature(claim.check).parameters


def _without_effect(options: argparse.Namespace, chosen: Sequence[Claim]) -> Iterator[str]:
    if options.json and options.language != "en":
        yield "--lang has no effect on --json, which has both languages"
    if options.results is not None and options.list:
        yield "--results has no effect on --list"
    elif options.results is not None and not any(map(_reads_results, chosen)):
        yield "--results has no effect: none of these claims rests on trained models"


def _settled(claims: Sequence[Claim]) -> Iterator[Settled]:
    """Settle one after the other; how far it is stands on stderr while it runs, if that is a terminal."""
    shown: Callable[[str], None] = _show if sys.stderr.isatty() else lambda _: None
    for number, claim in enumerate(claims, 1):
        shown(f"{number} / {len(claims)}  {claim.name}")
        settled = _settle(claim)
        shown("")
        yield settled


def _show(text: str) -> None:
    print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


def _settle(claim: Claim) -> Settled:
    """A check that raises has settled nothing."""
    from ordinate.claims import Measured, Settled, Verdict, settle

    started = time.perf_counter()
    try:
        return settle(claim)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return Settled(claim, Measured(Verdict.UNSETTLED, {"error": what}), time.perf_counter() - started)


def _is_first(chosen: Sequence[Claim], claim: Claim) -> bool:
    return next(other for other in chosen if other.note is claim.note) is claim


def _print_ledger(options: argparse.Namespace, chosen: Sequence[Claim], checked: Sequence[Claim]) -> list[Settled]:
    """Print each entry as soon as it is settled."""
    from ordinate.cli.claims_text import ending, entry, heading

    started, found = time.perf_counter(), []
    for claim, settled in zip(chosen, _settled(checked), strict=True):
        found.append(settled)
        top = heading(claim.note, options.language) if _is_first(chosen, claim) else []
        print("\n".join([*top, *entry(settled, options.language), *_code_lines(options, claim), ""]), flush=True)
    print("\n".join(ending(found, options.language, seconds=time.perf_counter() - started)))
    return found


def _print_json(options: argparse.Namespace, chosen: Sequence[Claim], checked: Sequence[Claim]) -> list[Settled]:
    from ordinate.cli.claims_text import as_json

    found = list(_settled(checked))
    objects = [{**as_json(settled.claim, settled), **_code(options, claim)} for claim, settled in zip(chosen, found, strict=True)]
    _print_objects(objects)
    return found


def _print_objects(objects: list[dict[str, Any]]) -> None:
    """Letters as they are, or escaped where stdout's encoding has no place for them."""
    text = json.dumps(objects, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(objects, indent=1, allow_nan=False)
    print(text)


def _print_list(options: argparse.Namespace, chosen: Sequence[Claim]) -> None:
    from ordinate.cli.claims_text import as_json, heading, listed

    if options.json:
        _print_objects([{**as_json(claim), **_code(options, claim)} for claim in chosen])
        return
    longest = max(len(claim.name) for claim in chosen)
    for claim in chosen:
        if _is_first(chosen, claim):
            print("\n".join([*([] if claim is chosen[0] else [""]), *heading(claim.note, options.language)]))
        print("\n".join([listed(claim, options.language, longest=longest), *_code_lines(options, claim)]))


def _code(options: argparse.Namespace, claim: Claim) -> dict[str, str]:
    return {"code": inspect.getsource(claim.check)} if options.code else {}


def _code_lines(options: argparse.Namespace, claim: Claim) -> list[str]:
    return [f"    {line}".rstrip() for line in _code(options, claim).get("code", "").splitlines()]
