"""How a text can be read: Unicode's other digits, signs and invisible characters, and escapes.

A reading is a text in which patterns for ASCII find what is written otherwise, with the place of
each of its characters in the original. Characters are judged by their Unicode properties (general
category, digit value, compatibility decomposition), not by lists.

Not protected: letters of other scripts that only look like Latin ones, and escapes in escapes.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import unescape

_ODD = re.compile(r"[^\t\n\r\x20-\x7e]")
"""What is no printable ASCII character, a tab or a line end."""
# Default_Ignorable_Code_Point of DerivedCoreProperties.txt, where the category is not Cf.
_IGNORABLE = (
    (0x34F, 0x34F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
_MANY = 40
"""Different characters from which on a translation takes less time than replacements."""
_REACH = 160
"""Characters around a change that an identifier and the words which announce it may take."""
_SIGNS = {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u3002": ".", "\uff61": ".", "\u2212": "-"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it can be read.

    Attributes:
        starts, ends: offsets in the original of each character of it and after it; None: the same.
        covers: whether what is found may take the place of what an earlier reading found inside.
        escapes: offsets in the reading of decoded escapes, of which a find must hold one; None:
            finds need none.
    """

    text: str
    starts: list[int] | None = None
    ends: list[int] | None = None
    covers: bool = True
    escapes: list[int] | None = None


@cache
def _twin(char: str) -> str:
    """Return the ASCII twin of a character, "" if it is invisible, itself if it has none."""
    category, number = unicodedata.category(char), ord(char)
    if category in {"Cc", "Cf", "Me"} or any(low <= number <= high for low, high in _IGNORABLE):
        return ""
    if char in _SIGNS or category == "Zs":
        return _SIGNS.get(char, " ")
    if category == "Pd":
        return "-"
    plain = unicodedata.normalize("NFKC", char)
    if len(plain) == 1 and plain.isascii():
        return plain
    digit = unicodedata.digit(char, None)
    return char if digit is None else str(digit)


@cache
def _seen_as(char: str) -> tuple[str, bool, bool]:
    """Return what a character is read as, whether it is small, and whether it has no case.

    Small are digits that may be a mark beside a number, such as superscripts; letters without case
    are those of Chinese, Japanese or Arabic.
    """
    twin, category = _twin(char), unicodedata.category(char)
    return twin, category == "No", category in {"Lo", "Lm"} and twin == char


def folded(text: str) -> str:
    """Return the text with ASCII twins, without invisible characters."""
    return _translated(text, {char: _twin(char) for char in set(_ODD.findall(text))})


def _translated(text: str, table: Mapping[str, str]) -> str:
    if len(table) > _MANY:
        return text.translate({ord(char): new for char, new in table.items()})
    for char, new in table.items():  # a replacement takes far less time than a translation
        if new != char:
            text = text.replace(char, new)
    return text


def readings(text: str) -> list[Reading]:
    """Return the readings of a text, the plainest first.

    Invisible characters are read as a border and as nothing; superscript and circled digits as a
    border and as digits; letters of scripts without case as a border and as letters; escapes
    (`%40`, `&#64;`, `=40`, `\\u0040`) as what they stand for; and those of strings of code for line
    ends and letters (`\\n`, `\\t`, `\\u00e9`) as a border.
    """
    found, plain = _unicode_readings(text) if _ODD.search(text) else ([Reading(text)], text)
    if "\\" in plain and (ends := [(*m.span(), "\n") for m in _LINE_ENDS.finditer(plain)]):
        found.append(_around(plain, ends, {}))
    decoded = _decoded(plain)
    return [*found, decoded] if decoded else found


def _unicode_readings(text: str) -> tuple[list[Reading], str]:
    """Return readings, and the text with twins at the same offsets."""
    seen = {char: _seen_as(char) for char in set(_ODD.findall(text))}
    twins = {char: twin for char, (twin, _, _) in seen.items() if twin not in {"", char}}
    border = {char: " " for char, (twin, _, _) in seen.items() if not twin}
    small = {char: " " for char, (_, is_small, _) in seen.items() if is_small}
    apart = {char: "\n" for char, (_, _, is_foreign) in seen.items() if is_foreign}
    plain = _translated(text, twins | border)
    first = _translated(text, twins | border | small | apart) if small or apart else plain
    found = [Reading(first)]
    if border or small:
        places = [i for i, char in enumerate(text) if char in border or char in small]
        found.append(_around(text, [(i, i + 1, _twin(text[i])) for i in places], twins | apart))
    if apart:
        found.append(Reading(plain, covers=False))
    return found, plain


def _around(
    text: str, changes: list[tuple[int, int, str]], table: Mapping[str, str], mark: bool = False
) -> Reading:
    """Return a reading of what stands around some changes, one line for each place.

    Args:
        changes: start, end and what is read in place of it, ascending.
        table: other characters and what is read in place of them.
        mark: whether what is found must hold a change.
    """
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    marks: list[int] = []  # offsets in the reading
    at = 0
    for i, (start, end, new) in enumerate(changes):
        if start - at > _REACH:
            parts.append("\n")
            starts.append(start - _REACH)
            ends.append(start - _REACH)
            at = start - _REACH
        parts += [_translated(text[at:start], table), new]
        starts += range(at, start)
        ends += range(at + 1, start + 1)
        if new:
            marks.append(len(starts))
            starts.append(start)
            ends.append(end)
        following = changes[i + 1][0] if i + 1 < len(changes) else len(text)
        at = min(following, end + _REACH)
        parts.append(_translated(text[end:at], table))
        starts += range(end, at)
        ends += range(end + 1, at + 1)
    return Reading("".join(parts), starts, ends, escapes=marks if mark else None)


_ESCAPE = re.compile(
    r"%[0-9A-Fa-f]{2}|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|commat|period|colon|hyphen|dash|lowbar"
    r"|nbsp);|\\{1,8}u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|=[0-9A-F]{2}|\\[nrt]"
)
_ENDS = frozenset({"\\n", "\\r", "\\t"})
_LINE_ENDS = re.compile(r"\\(?:[nrt]|u(?!00[2-7])[0-9a-fA-F]{4})")
_PERCENT = re.compile("%[2-7][0-9A-Fa-f]")


def _decoded(text: str) -> Reading | None:
    """Return the text with escapes decoded, or None if it has none that could be one."""
    quoted = "=" in text and "=40" in text
    if not (
        ("%" in text and _PERCENT.search(text))
        or ("&" in text and ("&#" in text or "&commat;" in text))
        or ("\\" in text and ("\\u" in text or "\\x" in text))
        or quoted
    ):
        return None
    changes = [
        (m.start(), m.end(), char)
        for m in _ESCAPE.finditer(text)
        if (quoted or m[0][0] != "=") and (char := _character(m[0]))
    ]
    return _around(text, changes, {}, mark=True) if changes else None


_CODED_END = re.compile(r"(?<!\\)\\{1,8}[nrt](?=\w)")
_DOMAIN = re.compile(r"(?<!\w)[A-Z][A-Z0-9-]{1,14}\Z")
"""A domain of Windows (`CORP\\nina`): the first letter of what follows is no line end."""


def without_coded_ends(text: str) -> str:
    """Return the text with line ends of strings of code (`\\n`) as borders, at the same offsets."""

    def border(m: re.Match[str]) -> str:
        low = max(0, m.start() - 16)
        return m[0] if _DOMAIN.search(text, low, m.start()) else "\n" * len(m[0])

    return _CODED_END.sub(border, text)


def _character(escape: str) -> str:
    """Return the printable ASCII character of an escape or its twin, or ""; line ends are one."""
    if escape in _ENDS:
        return "\n"
    char = unescape(escape) if escape[0] == "&" else chr(int(escape.lstrip("%=\\ux"), 16))
    char = char if char.isascii() else _twin(char)
    return char if len(char) == 1 and char.isascii() and char.isprintable() else ""


def unescaped(text: str) -> str:
    """Return the text with its escapes decoded."""
    quoted = "=40" in text

    def plain(m: re.Match[str]) -> str:
        return (_character(m[0]) if quoted or m[0][0] != "=" else "") or m[0]

    return _ESCAPE.sub(plain, text)


_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){7,}")
_TOKEN_SIGNS = frozenset("+/_-")
_OF_PRINTABLE = frozenset("CDHIJKLMNOPQRSTUVWXYZabcdef")
"""First characters in base64 of what begins with a printable ASCII character or white space."""
_REST_OF_TOKEN = re.compile("[A-Za-z0-9+/_-]*=*")


def token_around(text: str, start: int, end: int, floor: int) -> tuple[int, int]:
    """Return the run of letters, digits and `+/_-`, with `=` at its end, around a stretch.

    Args:
        floor: offset before which nothing is read.
    """
    while start > floor and (
        (char := text[start - 1]) in _TOKEN_SIGNS or (char.isascii() and char.isalnum())
    ):
        start -= 1
    run = _REST_OF_TOKEN.match(text, end)
    return start, run.end() if run else end


_ASCII, _SHORTEST = re.compile(rb"\s*[ -~]+\s*"), 6
"""What a token says in base64 or hexadecimal, and a length that it exceeds."""


def plain_texts(token: str) -> Iterator[str]:
    """Yield what a token says if it is printable ASCII in hexadecimal or base64."""
    digits = token[2:] if token[:2] in {"0x", "0X"} else token
    if _HEX.fullmatch(digits):
        yield from _printable(bytes.fromhex(digits))
    body = token.rstrip("=")
    if len(body) % 4 != 1 and token[0] in _OF_PRINTABLE:
        alphabet = b"-_" if "-" in body or "_" in body else b"+/"
        try:
            raw = base64.b64decode(body + "=" * (-len(body) % 4), alphabet, validate=True)
        except (binascii.Error, ValueError):
            return
        yield from _printable(raw)


def _printable(raw: bytes) -> Iterator[str]:
    """Yield the text of bytes; the last ones may be of a word that is glued to the token."""
    found = _ASCII.match(raw)
    text = found[0].decode("ascii").strip() if found else ""
    if len(text) > _SHORTEST and 4 * len(text) > 3 * len(raw):
        yield text
