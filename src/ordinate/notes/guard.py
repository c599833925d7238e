"""Who may talk to the page: a browser that opened it at an address where it is served, and no page of somebody else's."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Message, Receive, Send], Awaitable[None]]

NAMES = ("localhost", "127.0.0.1", "::1")
REFUSED, POLICY = 403, 1008


def guarded(app: App, *, host: str) -> App:
    """Put a guard around an application: other hosts' requests are refused, and so are those that other sites' pages make.

    Without it any page open in the same browser could read this one and start its computations.

    Args:
        app: an ASGI application.
        host: the address that it listens at.

    Returns:
        An ASGI application that answers 403 to whom it does not know, and lets no other site read an answer.

    Example:
        >>> callable(guarded(lambda scope, receive, send: None, host="127.0.0.1"))
        True
    """

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif not _welcome(scope, host):
            await _refuse(scope, send)
        else:
            await app(scope, receive, _without_sharing(send))

    return answer


def served_at(name: str | None, host: str) -> bool:
    """Say whether the page is served under a name.

    Args:
        name: a host's, without its port; None for none.
        host: the address that the page listens at.

    Returns:
        True for this machine's own names and the host; for any address in numbers, if the host stands for all addresses.

    Example:
        >>> served_at("localhost", "127.0.0.1"), served_at("elsewhere.example", "127.0.0.1"), served_at("192.0.2.1", "0.0.0.0")
        (True, False, True)
    """
    if name is None:
        return False
    if name in (*NAMES, host.lower()):
        return True
    # Served to the network: its numbers and this machine's name. Another name could be led here by whoever owns it.
    address = _address(host)
    return address is not None and address.is_unspecified and (_address(name) is not None or name == socket.gethostname().lower())


def _welcome(scope: Message, host: str) -> bool:
    """Asked for by a name it is served under; and, where a page asks, by a page from there. A socket is opened by a page alone."""
    asked = [_host("//" + value) for value in _values(scope, b"host")]
    if len(asked) != 1 or not served_at(asked[0], host):
        return False
    origins = [_host(value) for value in _values(scope, b"origin")]
    # Every address in numbers may name a server of all addresses, but only the one that was asked is surely this one.
    known = all(origin == asked[0] or (origin is not None and origin in (*NAMES, host.lower())) for origin in origins)
    return known and (bool(origins) or scope["type"] == "http")


def _values(scope: Message, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


async def _refuse(scope: Message, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": POLICY})
        return
    said = b"ordinate notes: needed a request to the address that it printed, from a page of its own, got another Host or Origin\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(said)).encode())]
    await send({"type": "http.response.start", "status": REFUSED, "headers": headers})
    await send({"type": "http.response.body", "body": said})


def _without_sharing(send: Send) -> Send:
    """The page needs no leave to read its own answers, and no other page gets it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", ()) if not pair[0].lower().startswith(b"access-control-")]
            message = {**message, "headers": kept}
        await send(message)

    return sent
