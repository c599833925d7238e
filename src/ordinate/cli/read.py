"""``ordinate read``: what a checkpoint's files say of positions, key by key."""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from typing import Any

from ordinate.cli.columns import aligned


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
    parser.add_argument("path", metavar="PATH", nargs="?", help="config.json, a .gguf file, or a model's folder")
    parser.add_argument("--json", action="store_true", help="print JSON; a stack's layers are numbers of its layer_plans")
    parser.add_argument("--types", action="store_true", help="print the model types that can be read")
    parser.add_argument("--model-type", metavar="TYPE", help="for a configuration without model_type, or with an unknown one")
    parser.add_argument("--part", metavar="KEY", help="read a part of a configuration of several models: vision_config, say")
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

    if options.types:
        print("\n".join(_types()))
        return 0
    if options.path is None:
        print("ordinate read: needed a PATH, or --types", file=sys.stderr)
        return 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the plan keeps them, and explain() prints them
            plan = checkpoints.read(options.path, model_type=options.model_type, part=options.part, ignore=options.ignore)
    except ValueError as fault:
        print(f"ordinate read: {_as_options(str(fault))}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ordinate read: {printable(options.path)}: could not read ({error.strerror or error})", file=sys.stderr)
        return 2
    print(json.dumps(as_values(plan), indent=1) if options.json else re.sub(r"part='([\w.]+)'", r"--part \1", plan.explain()))
    return 0


def _as_options(message: str) -> str:
    """The library's hints in the words of the command line."""
    options = {"say it with model_type=": "say it with --model-type", "pass it in ignore=": "pass it with --ignore"}
    for ours, option in {**options, "say it with part=": "say it with --part"}.items():
        message = message.replace(ours, option)
    return message


def _types() -> list[str]:
    from ordinate.checkpoints.axial_types import AXIAL_TYPES
    from ordinate.checkpoints.reading import ADDED, OTHER_TYPES, SAME
    from ordinate.checkpoints.rotary_types import ROTARY_TYPES
    from ordinate.checkpoints.stacked import READERS, STACKED
    from ordinate.checkpoints.wholes import WHOLES

    rows: dict[str, tuple[str, ...]] = {name: (f"as {other}", "", "") for name, other in {**WHOLES, **SAME}.items()}
    rows |= dict.fromkeys((*OTHER_TYPES, *READERS), ("rules of its own", "", ""))
    rows |= dict.fromkeys(ADDED, ("tables or biases", "", ""))
    rows |= {name: ("axial rope", kind.layout, kind.arithmetic) for name, kind in AXIAL_TYPES.items()}
    rows |= dict.fromkeys(STACKED, ("several stacks", "", ""))
    rows |= {name: ("rope", kind.layout, kind.arithmetic) for name, kind in ROTARY_TYPES.items()}
    return aligned([("model type", "positions", "layout", "arithmetic"), *((name, *rows[name]) for name in sorted(rows))])
