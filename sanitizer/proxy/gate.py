"""The way out of `sanitizer run`: an HTTP proxy that lets no host of a known API be reached."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from fnmatch import fnmatchcase
from socket import socket
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from sanitizer.urls import is_loopback

HEAD_BYTES = 65_536
"""Longest head of a request."""
SECONDS = 30.0
"""Time within which a head must arrive, and a connection be made."""
OF_HOPS = ("connection:", "proxy-connection:", "proxy-authorization:", "keep-alive:")
"""Headers that hold for one connection."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Gate:
    """HTTP proxy that refuses some hosts and passes all others on unread.

    Others are reached through the HTTP proxy that the environment names for them, if any.

    Guarantee: no connection is opened to a refused host, nor to this machine.
    Not protected: from programs that use no proxy, or that name a refused host by its number.

    Args:
        refused: domains, with all names below them; "*" in one stands for any characters.
        passed: exceptions.
        sealed: who asks has no other way to this machine, and shall have none by a name either.

    Attributes:
        n_refused: domain -> connections that were refused.
    """

    def __init__(
        self, refused: Iterable[str], passed: Iterable[str] = (), sealed: bool = False
    ) -> None:
        self._refused, self._passed, self._sealed = tuple(refused), frozenset(passed), sealed
        self._proxies = getproxies()
        self.n_refused: Counter[str] = Counter()

    def refusal(self, host: str) -> str | None:
        """Return the domain for which a host is refused, or None.

        >>> gate = Gate(["openai.com", "bedrock*.amazonaws.com"], passed=["auth.openai.com"])
        >>> gate.refusal("API.openai.com."), gate.refusal("bedrock-runtime.eu.amazonaws.com")
        ('openai.com', 'bedrock*.amazonaws.com')
        >>> [gate.refusal(host) for host in ("auth.openai.com", "files.example.org", "127.0.0.1")]
        [None, None, 'this machine']
        """
        name = host.lower().rstrip(".")
        if is_loopback(name) or name in ("", "0.0.0.0", "::"):  # noqa: S104  refused
            return "this machine"
        if name in self._passed:
            return None
        return next((each for each in self._refused if fnmatchcase(f".{name}", f"*.{each}")), None)

    async def serve(self, sock: socket) -> None:
        """Serve on a listening socket until cancelled."""
        server = await asyncio.start_server(self._client, sock=sock, limit=HEAD_BYTES)
        async with server:
            await server.serve_forever()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A side that breaks off, stays silent or sends no HTTP ends the connection, nothing else.
        # Cancelled is it at the end of `run` only; Python 3.11 would log that as an error.
        broken = (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError)
        with suppress(*broken, asyncio.CancelledError), ExitStack() as ends:
            ends.callback(writer.close)
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            lines = head[:-4].decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ")
            if not target.isascii():
                return  # other letters may become those of a refused host when it is looked up
            tunnels = method == "CONNECT"
            parts = urlsplit(f"//{target}" if tunnels else target)
            if (domain := self.refusal(parts.hostname or "")) is not None:
                self.n_refused[domain] += 1
                told = f"sanitizer run refuses connections to {domain}: "
                told += "requests to known APIs must go through its proxy"
                writer.write(_answer("403 Forbidden", told))
                return
            try:
                async with asyncio.timeout(SECONDS):
                    upper = await self._opened(parts, [] if tunnels else lines, ends)
            except (OSError, EOFError, TimeoutError, ValueError):
                writer.write(_answer("502 Bad Gateway", "the host cannot be reached"))
                return
            if tunnels:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(_pipe(reader, upper[1]))
                group.create_task(_pipe(upper[0], writer))

    async def _opened(self, parts: SplitResult, lines: list[str], ends: ExitStack) -> Streams:
        """Return a connection to a host, closed with `ends`.

        Args:
            parts: of the URL that is asked for.
            lines: head of a request without a tunnel, which is sent on; none for a tunnel.
        """
        other = self._proxies.get("http" if lines else "https")
        if other is not None and proxy_bypass(parts.hostname or ""):
            other = None
        place = parts if other is None else urlsplit(other if "://" in other else f"//{other}")
        if place.scheme not in ("", "http", "https"):
            raise ValueError("only HTTP proxies are known")
        secure = other is not None and place.scheme == "https"
        port = place.port or (80 if lines or other is not None else 443)
        context = ssl.create_default_context() if secure else None
        reader, writer = await asyncio.open_connection(place.hostname, port, ssl=context)
        ends.callback(writer.close)
        peer = writer.get_extra_info("peername")[0].removeprefix("::ffff:")
        if self._sealed and other is None and is_loopback(peer):
            raise ValueError("a name or another spelling of a number leads to this machine")
        if other is None and not lines:
            return reader, writer
        asked = [f"CONNECT {parts.netloc} HTTP/1.1", f"Host: {parts.netloc}"]
        if lines:
            # The connection ends with this request: the next one may be for another host.
            kept = [each for each in lines[1:] if not each.lower().startswith(OF_HOPS)]
            method, whole, version = lines[0].split(" ")
            path = parts._replace(scheme="", netloc="").geturl() or "/"
            first = f"{method} {path if other is None else whole} {version}"
            asked = [first, *kept, "Connection: close"]
        if place.username is not None:
            pair = f"{unquote(place.username)}:{unquote(place.password or '')}"
            asked.append(f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
        writer.write("\r\n".join([*asked, "", ""]).encode("latin-1"))
        if not lines and (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1] != b"200":
            raise ValueError("the other proxy refuses")
        return reader, writer


def _answer(status: str, told: str) -> bytes:
    body = f"{told}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Copy bytes to their end; then the other side learns of it."""
    with suppress(OSError):
        while piece := await source.read(HEAD_BYTES):
            sink.write(piece)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
