"""A browser, and a server of the built site beside it."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


READY = re.compile("Type to start searching|Начните печатать для поиска")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, on this machine alone."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on this machine")
    with api.sync_playwright() as running:
        started = running.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


def watched(browser: Any, address: str, faults: list[str]) -> Any:
    """A new page; what it complains of, and what it asks of others, goes into the list."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((address, "data:", "blob:")) else faults.append(request.url))
    return page


def found(page: Any, start: str, words: str) -> list[str]:
    """Pages that the search gives for some words, the best first. The field is filled without a key, as by pasting."""
    page.goto(start)
    page.locator("input.md-search__input").click()
    # The field is also read when the index is ready: that is not what is tried here.
    page.locator(".md-search-result__meta", has_text=READY).wait_for()
    page.locator("input.md-search__input").fill(words)
    page.wait_for_selector(".md-search-result__item > a")
    links = page.locator(".md-search-result__item > a").evaluate_all("links => links.map(link => link.href)")
    return [link.partition("?")[0].partition("#")[0] for link in links]
