"""Serving the page on this machine: marimo's application under uvicorn, in this process, so that nothing is left when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.notes.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Callable

APP = Path(__file__).with_name("app.py")
# Settings of the user's other notebooks have no say here.
OWN_FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME")
STOPPED = 130


def serve(*, host: str, port: int, started: Callable[[], None]) -> None:
    """Serve the page until Ctrl-C, or until the process is told to end or its terminal is closed; the process ends here.

    Args:
        host: the address to listen at.
        port: its port.
        started: is called once the page can be opened.
    """
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    _end_with_the_terminal(told)
    try:
        with tempfile.TemporaryDirectory(prefix="ordinate-notes-", ignore_cleanup_errors=True) as folder:
            os.environ.update(dict.fromkeys(OWN_FOLDERS, folder), MARIMO_SKIP_UPDATE_CHECK="1")
            import uvicorn

            app = guarded(page(), host=host)
            server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="error", timeout_graceful_shutdown=1))
            asyncio.run(_until_stopped(server, started, told))
        status = 128 + told[0] if told else 1  # nobody stopped it: it could not start, and has said why
    except KeyboardInterrupt:
        print("\nordinate: stopped", file=sys.stderr)
        status = STOPPED
    sys.stdout.flush()
    sys.stderr.flush()
    # Pages are threads, and one may be in the middle of a figure: an interpreter that waits hangs, one that does not is aborted.
    os._exit(status)


def page() -> Any:
    """Make marimo's application of the packaged page, without code, token or tracebacks.

    Returns:
        An ASGI application.

    Example:
        >>> type(page()).__name__
        'Starlette'
    """
    import marimo

    return marimo.create_asgi_app(quiet=True, include_code=False).with_app(path="", root=str(APP)).build()


def _end_with_the_terminal(told: list[int]) -> None:
    """A closed terminal ends the process as SIGTERM does, unless it was told to outlive it (nohup)."""
    closed = getattr(signal, "SIGHUP", None)  # Windows has none
    if closed is None or signal.getsignal(closed) is signal.SIG_IGN:
        return

    def end(number: int, _: Any) -> None:
        told.append(number)
        signal.raise_signal(signal.SIGTERM)  # uvicorn listens to this one

    signal.signal(closed, end)


async def _until_stopped(server: Any, started: Callable[[], None], told: list[int]) -> None:
    serving = asyncio.create_task(server.serve())
    await asyncio.sleep(0)  # here uvicorn begins to listen to signals; those that came before are in told
    server.should_exit = server.should_exit or bool(told)
    while not server.started and not serving.done():
        await asyncio.sleep(0.05)
    if server.started and not server.should_exit:
        started()
    await serving
