"""``ordinate notes`` as a server: how signals end it, and whom it answers; by real processes and requests."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from ordinate.notes.guard import served_at

PATIENCE = 180
# The signals come where they are hardest to hear: before uvicorn listens to any.
EARLY = """
import os, signal
from ordinate.notes import serving
made = serving.page
def page():
    {before}
    return made()
serving.page = page
serving.serve(host="127.0.0.1", port={port}, started=lambda: {after})
"""
TELL = "os.kill(os.getpid(), signal.{name})"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def ended(code: str, temporary: Path, *, hang_up: str = "SIG_DFL") -> int:
    """The exit status of a server that ends itself; nothing may be left in the folder for temporary files.

    Tests that run under nohup would hand it on: what a hang-up does is set anew.
    """
    environment = {**os.environ, "TMPDIR": str(temporary)}
    code = f"import signal; signal.signal(signal.SIGHUP, signal.{hang_up})\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=PATIENCE, capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == ""
    assert list(temporary.glob("ordinate-notes-*")) == []
    return done.returncode


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_during_the_start_ends_it(name: str, tmp_path: Path) -> None:
    code = EARLY.format(before=TELL.format(name=name), port=free_port(), after="print('started')")
    assert ended(code, tmp_path) == 128 + getattr(signal, name)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_it_once_it_serves(name: str, tmp_path: Path) -> None:
    code = EARLY.format(before="pass", port=free_port(), after=TELL.format(name=name))
    assert ended(code, tmp_path) == 128 + getattr(signal, name)


def test_under_nohup_it_outlives_its_terminal(tmp_path: Path) -> None:
    code = EARLY.format(before=TELL.format(name="SIGHUP"), port=free_port(), after=TELL.format(name="SIGTERM"))
    assert ended(code, tmp_path, hang_up="SIG_IGN") == 128 + signal.SIGTERM


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    given = free_port()
    command = [sys.executable, "-m", "ordinate.cli.main", "notes", "--no-browser", "--port", str(given)]
    process = subprocess.Popen(command, cwd=tmp_path_factory.mktemp("here"), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == f"http://127.0.0.1:{given}"
        yield given
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def asked(port: int, host: str, *, method: str = "GET", **headers: str) -> tuple[int, list[str], str]:
    """Status, headers that would share the answer with other sites, and the text."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request(method, "/", headers={"Host": host, **headers})
        answer = connection.getresponse()
        sharing = [name for name in answer.headers if name.lower().startswith("access-control-")]
        return answer.status, sharing, answer.read().decode()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:{port}", "[::1]:{port}"])
@pytest.mark.parametrize("origin", [None, "http://localhost:{port}", "http://127.0.0.1"])
def test_the_page_is_served_under_its_names(host: str, origin: str | None, port: int) -> None:
    headers = {} if origin is None else {"Origin": origin.format(port=port)}
    status, sharing, page = asked(port, host.format(port=port), **headers)
    assert (status, sharing) == (200, [])
    assert "<title>ordinate notes</title>" in page


@pytest.mark.parametrize("host", ["elsewhere.example", "127.0.0.1.elsewhere.example:{port}", "192.0.2.1", "[::1", ""])
def test_other_hosts_are_refused(host: str, port: int) -> None:
    status, _, said = asked(port, host.format(port=port))
    assert status == 403
    assert said.startswith("ordinate notes: needed a request to the address that it printed")


@pytest.mark.parametrize("origin", ["http://elsewhere.example", "https://localhost.elsewhere.example", "null", "http://192.0.2.1"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_pages_of_other_sites_are_refused(origin: str, method: str, port: int) -> None:
    asks = {"Access-Control-Request-Method": "POST"} if method == "OPTIONS" else {}
    status, sharing, _ = asked(port, f"127.0.0.1:{port}", method=method, Origin=origin, **asks)
    assert (status, sharing) == (403, [])


def socket_of(port: int) -> str:
    return f"ws://127.0.0.1:{port}/ws?session_id=s_{uuid.uuid4().hex[:6]}"


def test_a_page_of_its_own_gets_a_kernel(port: int) -> None:
    with connect(socket_of(port), origin=f"http://localhost:{port}", open_timeout=PATIENCE) as opened:  # type: ignore[arg-type]
        assert "kernel-ready" in str(opened.recv(timeout=PATIENCE))


@pytest.mark.parametrize("origin", ["http://elsewhere.example", "null", None])
def test_a_page_of_another_site_gets_none(origin: str | None, port: int) -> None:
    with pytest.raises(InvalidStatus) as refused, connect(socket_of(port), origin=origin, open_timeout=PATIENCE):  # type: ignore[arg-type]
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    ("name", "host", "served"),
    [
        ("mybox", "mybox", True),
        ("mybox", "MyBox", True),
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.2", "192.0.2.1", False),
        ("192.0.2.2", "0.0.0.0", True),
        ("192.0.2.2", "::", True),
        (socket.gethostname().lower(), "0.0.0.0", True),
        ("elsewhere.example", "0.0.0.0", False),
        (None, "0.0.0.0", False),
    ],
)
def test_names_under_which_it_is_served(name: str | None, host: str, served: bool) -> None:
    assert served_at(name, host) == served
