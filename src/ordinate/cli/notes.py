"""``ordinate notes``: the page with sliders, served on this machine."""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

NEEDS = ("marimo", "matplotlib")
HOST, PORT, TRIED = "127.0.0.1", 2718, 20
EPILOG = """\
examples:
  ordinate notes                              opens the page in a browser; Ctrl-C ends it
  ordinate notes --lang ru --port 8000        in Russian, at another port
  ordinate notes --results study              with the curves of your own `ordinate compare --output study`
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "notes",
        help="open an interactive page: encodings, rotations, scores and curves under sliders",
        description="Serve an interactive page on this machine, in English and Russian. Nothing is fetched from the network.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=_port, default=None, metavar="N", help=f"port (default: {PORT}, or the next that is free)")
    parser.add_argument("--host", default=HOST, help=f"address to listen at (default: {HOST}, for this machine alone)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    parser.add_argument("--lang", "--language", choices=("en", "ru"), default="en", help="language the page opens in (default: en)")
    parser.add_argument(
        "--results",
        type=Path,
        default=None,
        metavar="PATH",
        help="a results.json of `ordinate compare`, or its folder (default: compare-report, if it is here, or the package's)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check everything, then serve until Ctrl-C.

    Args:
        options: from the parser.

    Returns:
        0, or 2 for bad input.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        return _refuse(f"needed {' and '.join(missing)}, got none; install with: pip install 'ordinate[notes]'")
    try:
        port = _free_port(options.host, options.port)
        path = _results(options.results)
    except ValueError as fault:
        return _refuse(str(fault))
    from ordinate.notes import results, serving

    os.environ[results.LANGUAGE] = options.lang
    os.environ[results.RESULTS] = "" if path is None else str(path.resolve())
    address = f"http://{f'[{options.host}]' if ':' in options.host else options.host}:{port}"

    def started() -> None:
        print(f"{address}\nCtrl-C ends it", flush=True)
        if not options.no_browser:
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()  # some browsers return when they end

    serving.serve(host=options.host, port=port, started=started)
    return 0


def _free_port(host: str, asked: int | None) -> int:
    """The port that was asked for, or the first of some that is free."""
    faults = []
    for port in (asked,) if asked is not None else range(PORT, PORT + TRIED):
        try:
            for family, kind, protocol, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                with socket.socket(family, kind, protocol) as tried:
                    tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    tried.bind(place)
        except (OSError, UnicodeError) as error:
            faults.append(getattr(error, "strerror", None) or str(error))
        else:
            return port
    tried_ports = str(asked) if asked is not None else f"{PORT}..{PORT + TRIED - 1}"
    raise ValueError(f"needed a free port at {host}, got {tried_ports} ({faults[0]}); choose others with --port and --host")


def _results(asked: Path | None) -> Path | None:
    """The file or folder to read, which can be read; None for the package's own results."""
    from ordinate.lab.kept import read_comparison
    from ordinate.notes.results import USUAL

    path = asked if asked is not None else USUAL if USUAL.is_file() else None
    if path is None:
        return None
    try:
        read_comparison(path)
    except ValueError as fault:
        if asked is not None:
            raise ValueError(f"--results: {fault}") from None
        print(f"ordinate notes: warning: the package's results are shown: {fault}", file=sys.stderr)
        return None
    return path


def _refuse(reason: str) -> int:
    print(f"ordinate notes: {reason}", file=sys.stderr)
    return 2


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"needed a whole number from 1 to 65535, got {text[:40]!r}")
    return int(text)
