"""``ordinate read``: what a checkpoint's files say of positions, key by key."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "read",
        help="what a checkpoint says of positions: every key, where it came from, what it became",
        description="Read config.json, a GGUF file's header, or a folder with one. Nothing is executed, no weight is loaded.",
    )
    parser.add_argument("path", metavar="PATH", help="config.json, a .gguf file, or a model's folder")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--model-type", metavar="TYPE", help="for a configuration without model_type, or with an unknown one")
    parser.add_argument("--ignore", metavar="KEY", action="append", default=[], help="pass over a key; may be repeated")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the plan.

    Args:
        options: from the parser.

    Returns:
        0, or 2 for what cannot be read or honoured.
    """
    from ordinate import checkpoints
    from ordinate.checkpoints.explaining import as_values
    from ordinate.checkpoints.kinds import printable

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the plan keeps them, and explain() prints them
            plan = checkpoints.read(options.path, model_type=options.model_type, ignore=options.ignore)
    except ValueError as fault:
        print(f"ordinate read: {fault}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ordinate read: {printable(options.path)}: could not read ({error.strerror or error})", file=sys.stderr)
        return 2
    print(json.dumps(as_values(plan), indent=1) if options.json else plan.explain())
    return 0
