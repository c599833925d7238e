"""Entry point of the ``ordinate`` command."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys

import ordinate
from ordinate.cli import claims, compare, doctor, info, notes, plot, read, schemes, stretch, theory


def parser() -> argparse.ArgumentParser:
    """Give the parser with all subcommands.

    Returns:
        It sets ``run``, the function that takes the options.
    """
    whole = argparse.ArgumentParser(prog="ordinate", description="Positional schemes for Transformers.")
    whole.add_argument("--version", action="version", version=f"ordinate {ordinate.__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    claims.add_parser(commands)
    compare.add_parser(commands)
    doctor.add_parser(commands)
    info.add_parser(commands)
    notes.add_parser(commands)
    plot.add_parser(commands)
    read.add_parser(commands)
    schemes.add_parser(commands)
    stretch.add_parser(commands)
    theory.add_parser(commands)
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Run the command; bad input ends in one line and exit status 2.

    Args:
        arguments: in place of the command line's.

    Returns:
        The exit status.
    """
    _open_closed_streams()
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the letter is no reason to lose a run
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except OSError as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (nothing more can be written where it went)
        if not isinstance(error, BrokenPipeError):  # its reader has left, as `head` does, and needs no word
            with contextlib.suppress(OSError):  # nor can stderr, perhaps
                print(f"ordinate: could not write ({error.strerror or error})", file=sys.stderr)
        return getattr(options, "not_written", 1)
    except KeyboardInterrupt:
        print("\nordinate: stopped", file=sys.stderr)
        return 130
    return status


def _open_closed_streams() -> None:
    """Python has None for a stream that was closed before it started (``>&-``); what is printed there is lost, as was asked."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open to the end)


if __name__ == "__main__":
    sys.exit(main())
