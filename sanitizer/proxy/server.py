"""The proxy under uvicorn: the listening socket, the limits of connections, and the shutdown."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import strerror
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from sanitizer.urls import is_loopback, url_host

HEAD_BYTES = 65_536
SHUTDOWN_SECONDS = 30
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


@dataclass(frozen=True)
class Listener:
    """Address that the proxy listens on, and limits of its connections.

    >>> listener = Listener(port=8787)
    >>> listener.url(8787)
    'http://127.0.0.1:8787'
    >>> Listener("192.0.2.7").check(token=None)
    Traceback (most recent call last):
    ValueError: host 192.0.2.7 can be reached from other machines; if you mean it, add --expose

    Attributes:
        host: name or address to listen on.
        port: port to listen on; 0 takes a free one.
        certfile: PEM certificate, to serve https.
        keyfile: PEM key of the certificate, if it is not in the same file.
        exposed: True if the host may be one that other machines reach; needs a token.
        connections: connections open at once; further ones are closed.
        head_seconds: seconds within which the head of a request must arrive.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    certfile: Path | None = None
    keyfile: Path | None = None
    exposed: bool = False
    connections: int = 1000
    head_seconds: float = 10.0

    def check(self, token: str | None) -> None:
        """Check the address.

        Raises:
            ValueError: a host that other machines reach, without `exposed` or without a token; a
                port that does not exist; a key without a certificate.
        """
        if not 0 <= self.port <= 65_535:
            raise ValueError(f"port must be from 0 to 65535, got {self.port!r}")
        if self.keyfile is not None and self.certfile is None:
            raise ValueError("keyfile needs a certfile")
        if is_loopback(self.host):
            return
        if not self.exposed:
            raise ValueError(
                f"host {self.host} can be reached from other machines; if you mean it, add --expose"
            )
        if token is None:
            raise ValueError("--expose needs a token (--token-env NAME)")

    def open(self) -> socket.socket:
        """Return the listening socket.

        Raises:
            ValueError: the address is taken or not this machine's.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server(
                (self.host.strip("[]"), self.port), family=family, backlog=2048
            )
        except OSError as error:
            raise ValueError(
                f"cannot listen on {self.host}, port {self.port}: {strerror(error.errno or 0)}"
            ) from None

    def url(self, port: int) -> str:
        """Return the URL to tell the user."""
        return f"{'https' if self.certfile else 'http'}://{url_host(self.host)}:{port}"


def run(app: ASGIApp, listener: Listener, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; requests under way then have half a minute to end.

    >>> import signal
    >>> from sanitizer import Sanitizer
    >>> from sanitizer.proxy import ProxySettings, create_app
    >>> settings = ProxySettings("https://api.openai.com/v1")
    >>> app = create_app(Sanitizer(policy="identifiers"), settings)
    >>> def announce(url: str) -> None:
    ...     print(url.rpartition(":")[0])
    ...     signal.raise_signal(signal.SIGTERM)  # ends this example
    >>> run(app, Listener(port=0), announce)
    http://127.0.0.1

    Args:
        app: ASGI application, as `create_app` returns it.
        listener: address and limits of connections.
        announce: called with the URL once it can be reached.

    Raises:
        ValueError: a certificate that cannot be used, or an address that cannot be listened on.
    """
    with listener.open() as sock, _ended_by_signals():
        url = listener.url(sock.getsockname()[1])
        make_server(app, listener, lambda: announce(url)).run(sockets=[sock])


class _Server(uvicorn.Server):
    """Server that calls `ready` once it serves; from then on signals end it in order."""

    ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self.ready()


def make_server(
    app: ASGIApp, listener: Listener, ready: Callable[[], None] = lambda: None
) -> uvicorn.Server:
    """Return a server that does not listen yet.

    It keeps no access log: paths and queries are not written anywhere.
    """
    config = uvicorn.Config(
        app,
        http=limited_protocol(listener.connections, listener.head_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=listener.certfile,
        ssl_keyfile=listener.keyfile,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError):
        raise ValueError("certfile and keyfile must be a PEM certificate and its key") from None
    server = _Server(config)
    server.ready = ready
    return server


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn raises once more after it has ended in order."""
    kept = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, kept)


def limited_protocol(most: int, head_seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with three more limits.

    They are the number of connections, and the time and size of a request's head. A connection
    that sends a head slowly, or nothing, would stay open for ever otherwise.

    Args:
        most: connections open at once.
        head_seconds: seconds within which the head of a request must arrive.
    """
    base: Any = AutoHTTPProtocol

    class LimitedProtocol(base):  # type: ignore[misc]  # the server's choice of two classes
        _head: asyncio.TimerHandle | None = None
        _n_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.close()
            self._expect_head()

        def data_received(self, data: bytes) -> None:
            self._n_bytes += len(data)
            super().data_received(data)
            if self._is_idle():
                self._expect_head()
                if self._n_bytes > HEAD_BYTES and not self.transport.is_closing():
                    self.transport.write(TOO_LARGE)
                    self.transport.close()
            else:
                self._forget_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget_head()
            super().connection_lost(exc)

        def _is_idle(self) -> bool:
            """Return True if no request is under way, so that a head is expected."""
            return self.cycle is None or self.cycle.response_complete

        def _expect_head(self) -> None:
            if self._head is None:
                self._head = self.loop.call_later(head_seconds, self.transport.close)

        def _forget_head(self) -> None:
            self._n_bytes = 0
            if self._head is not None:
                self._head.cancel()
                self._head = None

    return LimitedProtocol
