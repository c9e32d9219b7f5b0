"""What of a text is encoded: base64, hexadecimal and dumps of it, percent, quoted-printable.

An API may ask an agent to encode a file before it shows it. What these say is found here, through
compression too; who reads it decides what is hidden. Not found: other encodings (base32, octal,
uuencode), one letter a line, and what is encoded by a program of its own.
"""

from __future__ import annotations

import binascii
import bz2
import lzma
import quopri
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from sanitizer.identifiers.checks import entropy

MOST_BYTES = 4_000_000
"""Bytes that are decompressed; what is longer cannot be read."""
_DIGITS = "[A-Za-z0-9+/_-]"
_BLOCK = re.compile(
    rf"(?<![A-Za-z0-9+/_=.-])(?:(?:{_DIGITS}{{8,}}\r?\n[ \t]*)+{_DIGITS}+|{_DIGITS}{{20,}})={{0,2}}"
    r"(?![A-Za-z0-9+/_=-])"
)
_DUMP = re.compile(
    r"(?m)^[ \t]*[0-9a-fA-F]{4,16}:?[ \t]+(?P<hex>(?:[0-9a-fA-F]{2,8}[ \t]{1,2}){1,16}"
    r"[0-9a-fA-F]{0,8})(?:[ \t]+\|?.{1,16}\|?)?$\n?"
)
_PERCENT = re.compile(r"[^\s\"'<>`%]*(?:%[0-9A-Fa-f]{2}[^\s\"'<>`%]*){2,}")
_QUOTED = re.compile(r"(?m)(?:^.*(?:=[C-F][0-9A-F](?:=[89AB][0-9A-F])+.*|[^=]{60}=$)\n?)+")
_OF_HASHES = frozenset([32, 40, 48, 56, 64, 96, 128])
"""Hexadecimal digits of the usual hashes."""
_NAMED_HASH = re.compile(r"(?i)sha-?[0-9]{1,3}-")
_LEAST_UNREAD = 60
"""Characters from which on what looks random and says no text is encoded, and no name."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ufffd]")


def encoded(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield (start, end, what it says) of what is encoded; None if that cannot be read.

    >>> [said for *_, said in encoded("see QW5uYSBMdW5kLCBIYW1idXJn and %41nna%20Lund")]
    ['Anna Lund, Hamburg', 'Anna Lund']
    """
    for block in _BLOCK.finditer(text):
        token = "".join(block.group().split())
        raw, is_hex = _bytes(token)
        said = None if raw is None else _said(raw)
        lines = block.group().split("\n")
        if said is None:
            even = len({len(line.strip()) for line in lines[:-1]}) < 2
            is_hash = is_hex and len(lines) == 1 and len(token) in _OF_HASHES
            is_hash = is_hash or bool(_NAMED_HASH.match(token))
            signs = sum(map(token.count, "/-_"))
            random = len(token) >= _LEAST_UNREAD and entropy(token) > (3 if is_hex else 4.6)
            if is_hash or not (even and random and signs * 12 < len(token)):
                continue
        yield *block.span(), said
    at = 0
    rows: list[re.Match[str]] = []
    for row in [*_DUMP.finditer(text), None]:
        if rows and (row is None or row.start() != at):
            digits = "".join("".join(each["hex"].split()) for each in rows)
            raw, is_hex = _bytes(digits)
            said = _said(raw) if raw is not None and is_hex else None
            if said is not None or (len(rows) > 1 and len(digits) >= _LEAST_UNREAD):
                yield rows[0].start(), rows[-1].end(), said
            rows = []
        if row:
            rows.append(row)
            at = row.end()
    written = [(m, unquote_to_bytes(m.group())) for m in _PERCENT.finditer(text)]
    written += [(m, quopri.decodestring(m.group().encode())) for m in _QUOTED.finditer(text)]
    for found, raw in written:
        if (said := _text(raw)) is not None:
            yield *found.span(), said


def _bytes(token: str) -> tuple[bytes | None, bool]:
    """Return what a token says in hexadecimal or base64, and whether it is hexadecimal."""
    with suppress(ValueError):
        return bytes.fromhex(token), True
    body = token.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    with suppress(binascii.Error):
        return b64decode(body[: len(body) - (len(body) % 4 == 1)] + "=" * (-len(body) % 4)), False
    return None, False


def _said(raw: bytes) -> str | None:
    """Return the text that bytes are, decompressed if they can be."""
    for _ in range(3):
        unpack = next((make for start, make in _PACKED.items() if raw.startswith(start)), None)
        if unpack is not None:
            with suppress(zlib.error, OSError, ValueError, lzma.LZMAError):
                raw = unpack().decompress(raw, MOST_BYTES)
    return _text(raw)


def _text(raw: bytes) -> str | None:
    """Return the text of bytes, whose last letter may be cut; None if they are none."""
    code = "utf-16-le" if b"\0" in raw[:2] else "utf-8"
    for end in range(len(raw), max(0, len(raw) - 4), -1):
        with suppress(UnicodeDecodeError):
            text = raw[:end].decode(code)
            return None if _CONTROL.search(text) else text
    return None


_PACKED: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": partial(zlib.decompressobj, 47),  # the header of gzip or zlib
    b"\x78": partial(zlib.decompressobj, 47),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}
"""What compressed bytes begin with -> what unpacks them."""
