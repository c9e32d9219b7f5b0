"""Bodies of requests that come compressed: read within a limit, or refused."""

from __future__ import annotations

import zlib
from typing import Any

from sanitizer.errors import RequestRefused, to_install

MAX_WINDOW = 8 * 2**20
"""Bytes of the largest window of zstd, as RFC 8878 recommends (3.1.1.1.2)."""
_BITS = (32 + zlib.MAX_WBITS, -zlib.MAX_WBITS)  # with the header of gzip or zlib, or with none


def decoded(encoding: str, body: bytes, most: int) -> bytes:
    """Return the body that a header `content-encoding` describes, undone.

    >>> import gzip
    >>> decoded("gzip", gzip.compress(b"{}"), most=2), decoded("", b"{}", most=2)
    (b'{}', b'{}')
    >>> decoded("gzip", gzip.compress(bytes(10**6)), most=2)
    Traceback (most recent call last):
    sanitizer.errors.RequestRefused: the body is longer than 2 bytes

    Args:
        encoding: value of the header: "gzip", "deflate", "br", "zstd", or none.
        most: bytes of the result; no more than a buffer above it is ever held.

    Raises:
        RequestRefused: 413 "size"; 400 "content-encoding", a body that is not so encoded; 415
            "content-encoding", another encoding, or one whose library is not installed.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    readers = {"gzip": _zlib, "deflate": _zlib, "br": _brotli, "zstd": _zstd}
    if name not in readers:
        told = "a body may be encoded as gzip, deflate, br or zstd, or be plain"
        raise RequestRefused(told, "content-encoding", 415)
    try:
        body = readers[name](body, most + 1)
    except ImportError as error:
        told = f"{name} needs {error.name}: {to_install('proxy')}, or send it plain"
        raise RequestRefused(told, "content-encoding", 415) from None
    except Exception:  # each library has errors of its own; their text may quote the body
        told = f"the body is no {name}, or is cut off"
        raise RequestRefused(told, "content-encoding") from None
    if len(body) > most:
        raise RequestRefused(f"the body is longer than {most} bytes", "size", 413)
    return body


def _zlib(body: bytes, limit: int) -> bytes:
    # Some clients leave out the header of "deflate", which RFC 9110 wants (8.4.1.2).
    is_zlib = body[:1] and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    bits = _BITS[not (is_zlib or body[:2] == b"\x1f\x8b")]
    found = bytearray()
    while body and len(found) < limit:  # gzip may have several members
        member = zlib.decompressobj(bits)
        found += member.decompress(body, limit - len(found))
        if not member.eof and len(found) < limit:
            raise EOFError
        body = member.unused_data
    return bytes(found)


def _brotli(body: bytes, limit: int) -> bytes:
    import brotli

    reader, found = brotli.Decompressor(), bytearray()
    while not reader.is_finished() and len(found) < limit:
        found += reader.process(body, output_buffer_limit=limit - len(found))
        if body == b"" and reader.can_accept_more_data():
            raise EOFError
        body = b""
    return bytes(found)


def _zstd(body: bytes, limit: int) -> bytes:
    import zstandard

    reader: Any = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
    found: bytes = reader.stream_reader(body, read_across_frames=True).read(limit)
    return found
