"""Mails (.eml) and the text of PDF files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from email.charset import QP, Charset
from email.header import Header, decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from functools import partial
from pathlib import Path
from typing import Any

from sanitizer.documents.files import Document, Piece, check_images, refused, target_pieces
from sanitizer.errors import PolicyError

_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Subject", "Date")
"""Headers that stay, sanitized; others tell of servers and programs, and are removed."""
_MIME = ("Content-Type", "Content-Transfer-Encoding", "MIME-Version")
_LONGEST_LINE = 900
"""Characters of a line of plain text; a mail may have 998 bytes in one."""
_ATTRIBUTES = ("href", "alt", "title", "content", "value", "src", "background", "cite")
_LAYOUT = frozenset(
    "align valign width height style class border cellpadding cellspacing bgcolor color face size "
    "colspan rowspan dir lang charset http-equiv rel type target".split()
)


def read(path: Path, images: bool) -> Document:
    """Read an .eml or .pdf file; see `open_document`."""
    return _pdf(path) if path.suffix.lower() == ".pdf" else _mail(path, images)


# ---- PDF ----


def _pdf(path: Path) -> Document:
    """Read the text layer of a PDF file; it is written as text, since its layout is fixed."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    # Its warnings quote bytes of the file, on standard error.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        pages = [page.extract_text() for page in PdfReader(path).pages]
    except (PyPdfError, ValueError, KeyError):
        raise PolicyError("the document is damaged or encrypted") from None
    if not any(page.strip() for page in pages):
        raise refused("no text, but perhaps images of text")
    text = ["\n\n".join(pages)]

    def write(to: Path) -> None:
        to.write_text(text[0], "utf-8")

    return Document([Piece(text[0], partial(text.__setitem__, 0))], write, ".txt")


# ---- mail ----


def _mail(path: Path, images: bool) -> Document:
    with path.open("rb") as file:
        mail: Message = BytesParser(policy=compat32).parse(file)
    ends: list[Callable[[], None]] = []
    pieces = [piece for part in mail.walk() for piece in _part(part, images, ends)]

    def write(to: Path) -> None:
        for end in ends:
            end()
        to.write_bytes(mail.as_bytes())

    return Document(pieces, write, ".eml")


def _part(part: Message, images: bool, ends: list[Callable[[], None]]) -> Iterator[Piece]:
    for name in set(part.keys()):
        if name.title() not in (*(each.title() for each in (*_SHOWN, *_MIME)), "Content-Id"):
            del part[name]
    for name in _SHOWN:
        if part[name] is not None:
            shown = str(make_header(decode_header(str(part[name]))))
            yield Piece(f"{name}: ")
            yield Piece(shown.replace("\r", "").replace("\n", ""), partial(_put_header, part, name))
            yield Piece("\n")
    kind = part.get_content_type()
    if part.is_multipart():
        if kind == "message/rfc822" or not kind.startswith("multipart/"):
            raise refused("another mail")
        part.preamble = part.epilogue = None
    elif part.get_filename() or kind not in ("text/plain", "text/html"):
        if not kind.startswith("image/"):
            raise refused("an attachment")
        check_images(1, images)
        part.del_param("name")
    else:
        yield Piece("\n")
        if kind == "text/html":
            yield from _html(part, ends)
        else:
            yield Piece(_content(part), partial(_put_content, part))
        yield Piece("\n")


def _put_header(part: Message, name: str, text: str) -> None:
    part.replace_header(name, text if text.isascii() else Header(text, "utf-8").encode())


def _content(part: Message) -> str:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    try:
        return payload.decode(part.get_content_charset() or "ascii")
    except (LookupError, UnicodeDecodeError):
        raise PolicyError("the mail's text is not in the encoding that it names") from None


def _put_content(part: Message, text: str) -> None:
    """Write a text so that it can be read in the file too: as it is, or its signs as "=C3=BC"."""
    del part["Content-Transfer-Encoding"]
    plain = text.isascii() and max(map(len, text.split("\n"))) < _LONGEST_LINE
    charset = Charset("us-ascii")
    if not plain:
        charset = Charset("utf-8")
        charset.body_encoding = QP
    part.set_payload(text, charset)


def _html(part: Message, ends: list[Callable[[], None]]) -> Iterator[Piece]:
    """Yield the texts of a page and what its attributes say; scripts and comments are removed.

    `ends` takes what puts the page into the mail once its texts are in place.
    """
    from lxml import html

    root: Any = html.document_fromstring(_content(part) or "<html></html>")
    for element in list(root.iter()):
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "base"):
            element.drop_tree()
    ends.append(lambda: _put_content(part, html.tostring(root, encoding="unicode")))
    yield from _element(root)


def _element(element: Any) -> Iterator[Piece]:
    """Yield the texts of an element and of those in it, in order."""
    for key in set(element.attrib) - _LAYOUT - set(_ATTRIBUTES):
        del element.attrib[key]
    for key in _ATTRIBUTES:
        if element.get(key):
            yield Piece("\n")
            yield from target_pieces(element.get(key), partial(element.set, key))
    if element.text:
        yield Piece(element.text, partial(setattr, element, "text"))
    for child in element:
        yield from _element(child)
        if child.tail:
            yield Piece(child.tail, partial(setattr, child, "tail"))
