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

from sanitizer.detect.view import is_everyday
from sanitizer.text import Piece, is_code_word

_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
"""Words of a name such as "firstName" or "first_name_2"."""
_FENCE = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,})[ \t]*([\w+-]{1,20})")
_ESCAPED = re.compile(
    r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&#(?:[0-9]{2,7}|x[0-9a-fA-F]{2,6});|&[A-Za-z]{2,8};|"
    r"(?:%[0-9a-fA-F]{2})+|(?:=[0-9A-F]{2})+"
)


def syntax(text: str, parts: Sequence[Piece]) -> list[tuple[int, int]]:
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


def cells(text: str, parts: Sequence[Piece]) -> list[int]:
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
        r"""Decode the letters that are escaped as in JSON, HTML, addresses and mail.

        Example:
            >>> Decoded.of(r"\u0410\u043d\u043d\u0430 &#1054; M=C3=BCller").text
            'Анна О Müller'
        """
        parts: list[str] = []
        origins: list[int] = []
        at = 0
        for escape in _ESCAPED.finditer(text):
            letters = _letters(escape.group())
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

    def start(self, offset: int) -> int:
        """Return where a character of the decoded text begins in the original."""
        return self.origins[offset] if self.origins else offset

    def end(self, offset: int) -> int:
        """Return where what is before an offset of the decoded text ends in the original."""
        return self.origins[offset] if self.origins else offset

    def inside(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return stretches of the original as stretches of the decoded text."""
        if not self.origins:
            return list(spans)
        return [(bisect_left(self.origins, a), bisect_left(self.origins, b)) for a, b in spans]


def _letters(escape: str) -> str:
    """Return the letters that an escape stands for, "" if it stands for anything else."""
    if escape[0] == "&":
        found = html.unescape(escape)
    elif escape[0] == "\\":
        found = chr(int(escape[2:], 16))
    else:
        found = unquote_to_bytes(escape.replace("=", "%")).decode("utf-8", "replace")
    return found if found.isalpha() and found != escape else ""
