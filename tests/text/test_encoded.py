"""What is encoded is found and decoded, and nothing else is taken for it."""

from __future__ import annotations

import base64
import bz2
import gzip
import lzma
import os
import quopri
from urllib.parse import quote

import pytest

from sanitizer import Sanitizer
from sanitizer.text.encoded import encoded

TABLE = (
    """id,name,email,born
5561,Marit Solberg,marit@example.org,1980-02-03
5562,Bo Lindqvist,bo@example.org,1981-12-13
"""
    * 3
)
RAW = TABLE.encode()


def lines(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def dump(separator: str) -> str:
    rows = []
    for at in range(0, len(RAW), 16):
        part = RAW[at : at + 16]
        printed = "".join(chr(byte) if 31 < byte < 127 else "." for byte in part)
        rows.append(f"{at:08x}{separator} {part.hex(' ')}  |{printed}|")
    return "\n".join(rows)


B64 = base64.b64encode(RAW).decode()
FORMS = {
    "base64": lines(B64, 76),
    "one line": B64,
    "narrow": lines(B64, 20),
    "url": base64.urlsafe_b64encode(RAW).decode(),
    "shifted": B64[2:],
    "twice": base64.b64encode(B64.encode()).decode(),
    "utf-16": base64.b64encode(TABLE.encode("utf-16-le")).decode(),
    "gzip": lines(base64.b64encode(gzip.compress(RAW, mtime=0)).decode(), 76),
    "bzip2": lines(base64.b64encode(bz2.compress(RAW)).decode(), 76),
    "xz": lines(base64.b64encode(lzma.compress(RAW)).decode(), 76),
    "hexadecimal": lines(RAW.hex(), 64),
    "hexdump": dump(" "),
    "xxd": dump(":"),
    "percent": quote("Marit Solberg, Bo Lindqvist"),
    "random": base64.b64encode(os.urandom(120)).decode(),
}


@pytest.mark.parametrize("name", FORMS)
def test_an_encoded_table_is_hidden_whole_and_comes_back(name: str) -> None:
    sanitizer = Sanitizer(policy="code")
    text = f"$ show\n{FORMS[name]}\n$ done"
    sent = sanitizer.sanitize(text, role="tool").text
    assert all(part not in sent for part in FORMS[name].split("\n"))
    assert "ENCODED_" in sent
    assert sent.endswith("\n$ done")
    assert sanitizer.restore(sent) == text


def test_quoted_printable_is_read() -> None:
    text = quopri.encodestring("Grüße an Märit Sölberg und Zoë Lindqvist".encode()).decode()
    assert [said for *_, said in encoded(text)] == ["Grüße an Märit Sölberg und Zoë Lindqvist"]


@pytest.mark.parametrize(
    "text",
    [
        "sha256:4c1f0a3b8f0d0e6f9d3f5f0c5b5a7d0f5d4c3b2a190807060504030201ffeedd",
        '"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17L=="',
        "commit 9f3c2a7b1d4e5f60718293a4b5c6d7e8f9012345",
        "/usr/lib/python3/dist-packages/someVeryLongPackageName2/anotherModule/FooBarBaz/impl",
        "import SomeVeryLongJavaClassNameFactoryBeanProviderImplementation2Test",
        base64.b64encode(b"hello world, this is a sentence about trees").decode(),
        "if (a == b && c == d) return 0x1f;  x=AB",
    ],
)
def test_what_is_public_stays(text: str) -> None:
    assert Sanitizer(policy="code").sanitize(text, role="tool").text == text
