"""What stays in a text for its layout: syntax of code, names of fields; and escapes, decoded.

Everything here follows from punctuation, fixed sets of words, and a name's own words: whether one
stretch stays moves nothing else.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from sanitizer.detect.view import Document, document, is_everyday
from sanitizer.text import Piece, is_code_word, merged, overlapping, pieces

_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
"""Words of a name such as "firstName" or "first_name_2"."""
_FENCE = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,})[ \t]*([\w+-]{1,20})")
_ESCAPED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|"
    r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&#(?:[0-9]{2,7}|x[0-9a-fA-F]{2,6});|&[A-Za-z]{2,8};|"
    r"(?:%[0-9a-fA-F]{2})+|(?:=[0-9A-F]{2})+"
)


def _syntax(text: str, parts: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the stretches of code that stay: keywords, tags, and names of everyday words."""
    found = [tag.span(1) for tag in _FENCE.finditer(text)]
    for piece in parts:
        name = text[piece.start : piece.end]
        if piece.role in ("keyword", "tag") or (
            piece.role == "name" and (is_code_word(name, piece) or _is_everyday(name))
        ):
            found.append((piece.start, piece.end))
    return sorted(found)


def _is_everyday(name: str) -> bool:
    """Return True if each word of a name such as "salary_per_month" is an everyday word."""
    return all(is_everyday(part) for part in _NAME_PARTS.findall(name))


def _cells(text: str, parts: Sequence[Piece]) -> list[int]:
    """Return where the cells of tables begin, ascending: no run goes across.

    Where a line has a blank behind its commas, one without is a part of a number: "Lund, £2,310".
    """
    found = []
    for piece in parts:
        if piece.language == "csv":
            line = text[text.rfind("\n", 0, piece.start) + 1 : piece.start]
            if text[piece.start - 1 : piece.start] != "," or ", " not in line:
                found.append(piece.start)
    return found


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text whose escaped letters are letters, and where each of its characters came from.

    Attributes:
        text: decoded. origins: offset of each character, and of the end; empty if nothing changed.
    """

    text: str
    origins: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Decoded:
        r"""Decode what is escaped as in JSON, HTML, addresses and mail.

        Example:
            >>> Decoded.of(r"\u0410\u043d\u043d\u0430 &#1054; M=C3=BCller").text
            'Анна О Müller'
        """
        parts: list[str] = []
        origins: list[int] = []
        at = 0
        for escape in _ESCAPED.finditer(text):
            letters = _meant(escape.group())
            if not letters:
                continue
            parts += [text[at : escape.start()], letters]
            origins += range(at, escape.start())
            origins += [escape.start()] * len(letters)
            at = escape.end()
        if not parts:
            return cls(text, ())
        parts.append(text[at:])
        return cls("".join(parts), (*origins, *range(at, len(text) + 1)))

    def origin(self, offset: int) -> int:
        """Return where an offset of the decoded text is in the original."""
        return self.origins[offset] if self.origins else offset

    def inside(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return stretches of the original as stretches of the decoded text."""
        if not self.origins:
            return list(spans)
        return [(bisect_left(self.origins, a), bisect_left(self.origins, b)) for a, b in spans]


@dataclass(frozen=True, slots=True)
class Opened:
    """A text parted into what is visible and what is hidden.

    Attributes:
        document: of the decoded text. decoded: with the way back. code: what stays as syntax, as
            offsets in the text. pieces: all code of the text.
    """

    document: Document
    decoded: Decoded
    code: tuple[tuple[int, int], ...]
    pieces: tuple[Piece, ...]


def opened(
    text: str,
    taken: Sequence[tuple[int, int, str]] = (),
    declared: Sequence[tuple[int, int]] = (),
) -> Opened:
    """Part a text as it is read.

    Args:
        taken: (start, end, kind) of what is hidden as a whole, ascending, apart.
        declared: stretches that are visible whatever they hold, ascending, apart from those.

    Raises:
        ModelError: a list is missing or damaged.
    """
    parts = pieces(text)
    closed = merged([*((start, end) for start, end, _ in taken), *declared])
    code = [span for span in merged(_syntax(text, parts)) if not overlapping(closed, *span)]
    decoded = Decoded.of(text)
    spans = decoded.inside([(start, end) for start, end, _ in taken])
    hidden = [(a, b, kind) for (a, b), (_, _, kind) in zip(spans, taken, strict=True)]
    borders = [start for start, _ in decoded.inside([(at, at) for at in _cells(text, parts)])]
    shown = decoded.inside(merged([*declared, *code]))
    return Opened(document(decoded.text, hidden, shown, borders), decoded, tuple(code), parts)


def _meant(escape: str) -> str:
    """Return what an escape stands for, "" if it is none.

    Of `=20` and `%20` letters only: a sum or a share may be written so.
    """
    if escape[0] == "&":
        found = html.unescape(escape)
    elif escape[0] == "\\":
        units = b"".join(int(part[1:], 16).to_bytes(2) for part in escape.split("\\")[1:])
        found = units.decode("utf-16-be", "replace")
    else:
        found = unquote_to_bytes(escape.replace("=", "%")).decode("utf-8", "replace")
        found = found if found.isalpha() else ""
    return found if found != escape else ""
