"""Numbers that need no words: by form and check digits, and dates, IBANs and telephones.

Rows say the forms of numbers that prove themselves (`alone`); this module finds where they may
begin. Dates, IBANs, pairs of coordinates and telephone numbers are found by chunks of digits. Every
pattern is bounded in length, so the time is linear in the text.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from sanitizer.identifiers.checks import calling_code, iban_length, is_day, is_iban, is_numeric_day
from sanitizer.identifiers.rows import FOLDER, WORD, Registry, Row, Search, any_of, words_of

Span = tuple[int, int, str]

_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]*+[0-9]")
_CODE_BEFORE = re.compile(r"(?<![^\W_])(?<!\w[-.])[A-ZÄÖÜ]{1,4}[ -](?:[A-Z]{1,2} )?\Z")
_INSIDE = re.compile(r"(?:[0-9][./_-]|[A-Za-z][.-])\Z")
_NEAR = 60


def proved(text: str, registry: Registry, wanted: frozenset[str]) -> Iterator[tuple[int, int, Row]]:
    """Yield numbers that prove themselves.

    Of two readings of the same digits nobody can say which is meant: they are one stretch.
    """
    last: tuple[int, int, Row] | None = None
    for token in _TOKEN.finditer(text):
        start = token.start()
        code = None
        if text[start - 1 : start] in {" ", "-"}:
            code = _CODE_BEFORE.search(text, max(0, start - 10), start)
        found = _proved_at(text, code.start(), registry, wanted) if code else None
        if found is None and not _INSIDE.search(text, max(0, start - 2), start):
            found = _proved_at(text, start, registry, wanted)
        if found is None and token.end() - start > 1:
            found = _proved_at(text, token.end() - 1, registry, wanted, glued=True)
        if found and last and found[2] is last[2] and found[0] < last[1]:
            last = (last[0], max(last[1], found[1]), last[2])
        elif found:
            if last:
                yield last
            last = found
    if last:
        yield last


def _proved_at(
    text: str, start: int, registry: Registry, wanted: frozenset[str], glued: bool = False
) -> tuple[int, int, Row] | None:
    """Return the longest number at an offset that proves itself; `glued`: behind a letter."""
    if not registry.alone.match(text, start):
        return None
    found = []
    for row in registry.proved:
        tried = row.kind in wanted and (row.glued or not glued)
        m = row.pattern_alone.match(text, start) if tried else None
        if m and row.passes(m[0]):
            low, high = max(0, start - _NEAR), m.end() + _NEAR
            if not row.near or row.pattern_near.search(text, low, high):
                found.append((start, m.end(), row))
    return max(found, key=lambda each: each[1], default=None)


CHUNK = re.compile(r"[0-9]+(?:[ .\-/()]{1,3}[0-9]+)*")
_BACK = 48
"""Characters before a number that are searched for words which announce it."""
_AHEAD = 32
"""Characters after a chunk that an extension, a time or a time zone may take."""
_LETTER = re.compile(r"[^\W\d_]")


def find(asked: Search) -> Iterator[Span]:
    """Yield dates, IBANs, coordinates and telephone numbers, each with the name of its row."""
    text, wanted = asked.text, asked.wanted
    for chunk in CHUNK.finditer(text):
        start, end = chunk.span()
        size = end - start
        if size < 5:
            near = text[max(0, start - 3) : start]
            # A small number is part of an identifier only beside words, or after two letters that
            # belong to it, such as the country of an IBAN.
            is_inside = len(near) == 3 and near.isascii() and near.isalnum()
            if is_inside or not _LETTER.search(near + text[end : end + 3]):
                continue
        taken = [*_ibans(text, start), *_days(text, start, end)]
        yield from taken
        if size > 5 and "COORDINATES" in wanted:
            yield from _pairs(text, start)
        if size >= 5 and "PHONE" in wanted:
            others = [*(each[:2] for each in taken), *_overlapping(asked.proved, start, end)]
            yield from _phones(text, start, end, others)


# --- IBANs

_IBAN_REST = re.compile(r"[0-9] ?[0-9](?:[ .\-\r\n\t>]{0,3}[A-Za-z0-9]){11,31}")
_SPREAD_COUNTRY = re.compile(r"(?<![A-Za-z0-9])[A-Z] [A-Z] \Z")
"""The country of an IBAN with a space after each character."""
_BANK_AFTER = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?(?![A-Za-z0-9])")
"""The code of a bank (BIC) that follows without a space."""


def _ibans(text: str, start: int) -> Iterator[Span]:
    """Yield the IBAN whose check digits begin at `start`, in groups or not, in either case."""
    before = text[start - 1 : start] if start > 1 else ""
    if not (before.isalpha() or (before == " " and text[start - 2].isupper())):
        return
    begin = start - 2 - (before == " ")
    country = text[max(0, begin) : max(0, begin) + 2]
    if before == " " and _SPREAD_COUNTRY.search(text, max(0, start - 5), start):
        begin = start - 4
        country = text[begin] + text[begin + 2]
    length = iban_length(country.upper())
    glued = begin > 0 and text[begin - 1].isalnum() and text[max(0, begin - 4) : begin] != "IBAN"
    if not length or glued or not (m := _IBAN_REST.match(text, start)):
        return
    compact, end = "", start
    while end < m.end() and len(compact) < length - 2:
        compact += text[end] if text[end].isalnum() else ""
        end += 1
    glued = end < len(text) and text[end].isalnum() and not _BANK_AFTER.match(text, end)
    if not glued and is_iban(country + compact):
        yield begin, end, "iban"


# --- Dates


@cache
def _months() -> dict[str, int]:
    """Return the number of each name of a month."""
    table = tomllib.loads((FOLDER / "words.toml").read_text("utf-8"))["months"]
    numbered = [pair for names in table.values() for pair in enumerate(names, 1)]
    return {name: number for number, names in numbered for name in names.split()}


_MONTH = any_of(_months()) + r"\b\.?"
_TIME = (
    r"(?:[T ,]{1,2}(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-6][0-9](?:\.[0-9]{1,9})?)?"
    r"(?: ?[AaPp][Mm]\b)?(?:Z\b| ?[+-][0-9]{2}:?[0-9]{2})?)?"
)
_DAY = re.compile(
    r"(?<![\w])(?<![0-9][.\-/+])(?:([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})"
    rf"|([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\6([0-9]{{4}}|[0-9]{{2}})){_TIME}(?![0-9]|[-/.][0-9]|[A-Za-z])"
)
_COMPACT_DAY = re.compile(r"(?<!\w)[0-9]{8}(?!\w)")
_NEAR_MONTH = re.compile(r"[0-9]{1,4}(?:[a-z]{2}|\.)?[ /-](?:d?[eo][efl]? )?[^\W\d]", re.IGNORECASE)
_DAY_FIRST = re.compile(
    rf"(?i)(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|er|\.)?(?: |-|/)(?:of |de )?(?P<month>{_MONTH})"
    rf"(?:(?:,? |-|/| del? )(?P<year>[0-9]{{4}}|[0-9]{{2}}(?=\b(?! ?[:%]))))?{_TIME}(?![0-9])"
)
_YEAR_FIRST = re.compile(
    rf"(?i)(?P<year>[12][0-9]{{3}})(?: |-|/)(?P<month>{_MONTH})(?: |-|/)(?P<day>[0-9]{{1,2}})"
    rf"(?:st|nd|rd|th)?\b{_TIME}"
)
_AFTER_MONTH = re.compile(
    r"(?i)(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?:(?:,? |, ?|-)(?P<year>[12][0-9]{3}))?\b(?!:)"
    + _TIME
)
_BEFORE_DAY = re.compile(r"(?<!\w)([^\W\d_]{3,9})\.?[ -]{1,2}\Z")
_BIRTH = re.compile(rf"(?i)(?<![^\W_]){any_of(words_of('birth'))}(?![^\W_])[^0-9]{{0,40}}\Z")
_DATED = re.compile(rf"(?i)\b{any_of(words_of('dated'))}\b\W{{0,3}}\Z")


def _kind_of_day(text: str, start: int) -> str:
    return "date-of-birth" if _BIRTH.search(text, max(0, start - _BACK), start) else "date"


def _days(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield dates in digits, and with the name of a month."""
    if end - start <= 7:
        yield from _month_days(text, start)
    if text[start:end].isdigit():
        yield from _compact_days(text, start, end)
    elif end - start > 5:
        yield from _numeric_days(text, start, end)


def _numeric_days(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield dates in digits.

    Two-digit years need slashes, or words before them that announce a date.
    """
    for m in _DAY.finditer(text, start, min(len(text), end + _AHEAD)):
        if m.start() >= end:
            return
        kind = _kind_of_day(text, m.start())
        if m[1]:
            valid = is_day(int(m[1]), int(m[3]), int(m[4]))
        else:
            plain = m[6] == "/" or len(m[8]) == 4 or kind != "date"
            said = plain or _DATED.search(text, max(0, m.start() - _BACK), m.start())
            valid = bool(said) and is_numeric_day(m[8], m[5], m[7])
        if valid:
            yield m.start(), m.end(), kind


def _compact_days(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a date of birth in eight digits, after words that announce one."""
    m = _COMPACT_DAY.match(text, start) if end - start == 8 else None
    if m and _kind_of_day(text, start) == "date-of-birth":
        whole = m[0]
        days = ((whole[:4], whole[4:6], whole[6:]), (whole[4:], whole[:2], whole[2:4]))
        if any(is_numeric_day(*day) for day in days):
            yield start, end, "date-of-birth"


def _month_days(text: str, start: int) -> Iterator[Span]:
    """Yield the date with the name of a month around the number at `start`.

    Without a year it counts only as a date of birth.
    """
    before = text[start - 1] if start else ""
    if before.isalnum() or before in {"_", "."}:
        return
    begin, m = start, None
    if _NEAR_MONTH.match(text, start):
        m = _DAY_FIRST.match(text, start) or _YEAR_FIRST.match(text, start)
    month = m["month"] if m else ""
    if m is None and before in {" ", "-"} and before:
        named = _BEFORE_DAY.search(text, max(0, start - 13), start)
        if named and named[1].lower() in _months():
            begin, month, m = named.start(), named[1], _AFTER_MONTH.match(text, start)
    if m is None:
        return
    kind, year = _kind_of_day(text, begin), m["year"]
    full = 2000 if year is None else int(year) if len(year) == 4 else 2000 + int(year)
    number = _months()[month.lower().rstrip(".")]
    if (year or kind == "date-of-birth") and is_day(full, number, int(m["day"])):
        yield begin, m.end(), kind


# --- Coordinates

_DEGREES = r"-?[0-9]{1,3}\.[0-9]{4,8}(?![0-9])"
_PAIR = re.compile(
    rf"(?<![\w.,;\[-])(?<![,;\[] )(?P<lat>{_DEGREES})°?(?: ?[NS])?(?:, ?| )"
    rf"(?P<lon>{_DEGREES})°?(?: ?[EWO]\b)?(?!\w|[.,;] ?-?[0-9]|\]| -?[0-9]+\.)"
)


def _pairs(text: str, start: int) -> Iterator[Span]:
    """Yield the pair of decimal degrees whose latitude begins at `start`."""
    m = _PAIR.match(text, start - (text[start - 1 : start] in {"-", "+"}))
    if m and 1 <= abs(float(m["lat"])) <= 90 and 1 <= abs(float(m["lon"])) <= 180:
        yield m.start(), m.end(), "coordinates-pair"


# --- Telephones

_SEP = r"(?:\) ?|\)-|[ .\-/]\(?|\(| \(| [/-] )?"
_EXT = r"(?: ?[,;]? ?(?:x|ext[.=]?|extension) ?[0-9]{1,6}\b)?"
_EDGE = r"(?<![\w$€£#])(?<![0-9][.,\-/])(?<![$€£] )"
_STOP = r"(?![0-9%])(?![.\-/:][0-9]|,[0-9]{3}(?![0-9]))(?![A-Za-wyz_])"
"""Where a telephone number ends; the next cell of a table may follow its comma."""
_INTERNATIONAL = re.compile(
    rf"(?<![\w+.-])\(?(?:\+|00(?=[1-9]))\(?[1-9](?:{_SEP}[0-9]){{6,14}}{_EXT}{_STOP}"
)
_NATIONAL = re.compile(
    rf"(?:{_EDGE}|(?<=[0-9],)(?=\())"  # "720,(555)": a comma between two numbers, not in one
    r"(?:(?:(?:1|001|01)[ .\-]|1)?(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}([.\- ]))"
    r"[2-9][0-9]{2}[.\- ][0-9]{4}"
    r"|\(?0[1-9](?:[0-9]{0,3}\)? ?[0-9]{3,4}[ -][0-9]{3,4}|[0-9]{3}\)?[ -][0-9]{6}"
    r"|(?:[ .\-][0-9]{2}){4})"
    r"|0[1-9][0-9]{1,4} ?/ ?[1-9][0-9]{1,5}(?:[ -]?[0-9]{1,4}){1,3}"
    r"|8 ?\([0-9]{3}\) ?[0-9]{3}-[0-9]{2}-[0-9]{2}"
    r"|0[0-9]{1,4}-[0-9]{1,4}-[0-9]{4}(?<=[0-9-]{12})"
    rf"|07[1-9][0-9]{{8}}|06[ -][0-9]{{8}}|0[1-9][0-9]{{1,2}}(?: [0-9]{{2,3}}){{3}}){_EXT}{_STOP}"
)
_LOOSE = re.compile(rf"{_EDGE}\(?\+?\(?[0-9](?:{_SEP}[0-9]){{4,14}}{_EXT}{_STOP}")
_HOME = re.compile(r"\(?0[0-9]{1,4}(?:\) ?| ?[/-] ?| )[0-9]{2,8}(?:[ -][0-9]{2,5}){0,3}")
"""A number whose code begins with 0, as it is dialled at home."""
_AMOUNT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]{1,5}/[0-9]{2}|[01]?[0-9]/[12][0-9]{3}")
"""A sum with points between thousands, a file of a year, a month."""
_CODE_BEFORE_AREA = re.compile(r"(0?0?1 ?)\([0-9]{3}\)")
_TOUCHING = re.compile(r"[^\W\d_][\s.:#]{0,4}\Z")
"""A word with nothing else between it and a number."""
_PHONE, _CALL, _AT, _OTHER = (frozenset(words_of(t)) for t in ("phone", "call", "at", "other"))
_OWNERS = frozenset(words_of("owners")) - {"the", "a"}
_NUMBER = _PHONE | frozenset(words_of("numbering"))
_BEHIND = re.compile(
    rf",? (?:{any_of(words_of('copulas'))}|for) "
    rf"{any_of(words_of('owners'))} (\w+(?: \w+)?)"
)
_FEWEST, _SHORTEST, _SHORTEST_ABROAD = 6, 5, 10
"""Digits of a telephone number after words, of one that is to be called, and of one after `00`."""


def _phones(text: str, start: int, end: int, others: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield telephone numbers: international, in a national form, or announced by words.

    Args:
        others: other identifiers in the chunk, which no number overlaps.
    """
    begin, stop = max(0, start - 3), min(len(text), end + _AHEAD)
    found = []
    if text.find("+", begin, end) >= 0 or text.find("00", begin, end) >= 0:
        dialled = (m for m in _INTERNATIONAL.finditer(text, begin, stop) if m.start() < end)
        found = [m.span() for m in dialled if _is_dialled(m[0]) and not _meets(m.span(), others)]
    # without a sign between its digits only a British mobile has a form of its own
    if not text[start:end].isdigit() or text.startswith("07", start):
        national = (m.span() for m in _NATIONAL.finditer(text, begin, stop) if m.start() < end)
        found += [s for s in national if not _meets(s, found)]
    if found and text.find("(", start, end) >= 0:
        # What looks like a code before "(555)" may be the end of the number before it.
        codes = [
            (m, last) for m, last in ((_CODE_BEFORE_AREA.match(text, *s), s[1]) for s in found)
        ]
        found += [(m.end(1), last) for m, last in codes if m]
    found = [s for s in found if not _meets(s, others)]
    loose = _LOOSE.search(text, begin, stop)
    longer = loose and loose.start() <= start and not (found and found[0][1] >= loose.end())
    if loose and longer and not _meets(loose.span(), others):
        found = [loose.span()] if _is_said(text, loose.span(), loose[0]) else found
    # Words before a chunk announce its first number only: "order 118-77-1949. (555) 234-5009".
    other = bool(found) and _is_other(text, start)
    yield from ((first, last, "phone") for first, last in found if not other or first > start)


def _overlapping(
    spans: Sequence[tuple[int, int]], start: int, end: int
) -> Sequence[tuple[int, int]]:
    """Return the spans, ascending and apart, that share a character with a stretch."""
    first = bisect_left(spans, (start,))
    first -= bool(first and spans[first - 1][1] > start)
    return spans[first : bisect_left(spans, (end,), lo=first)]


def _meets(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in spans)


def _is_dialled(number: str) -> bool:
    written = "".join(filter(str.isdigit, re.split("[xe,;]", number)[0]))
    digits = written.removeprefix("00")
    code = calling_code(digits)
    enough = digits == written or len(digits) >= _SHORTEST_ABROAD
    return enough and code is not None and (code != "1" or len(digits) == 11)


def _is_other(text: str, start: int) -> bool:
    """Return True if the words right before a number say that it is none of a telephone."""
    if not _TOUCHING.search(text, max(0, start - _BACK), start):
        return False
    words = WORD.findall(text[max(0, start - _BACK) : start].lower())
    while words and words[-1] in {"number", "no", "id", "is", "nr"} and len(words) > 1:
        words.pop()
    near = WORD.findall(text[max(0, start - 24) : start].lower())
    return bool(words) and words[-1] in _OTHER and words[-1] in near


def _is_said(text: str, span: tuple[int, int], number: str) -> bool:
    """Return True if words about a number, or its groups alone, say that it is dialled."""
    n_digits = sum(map(str.isdigit, number))
    if n_digits < _SHORTEST or _AMOUNT.fullmatch(number):
        return False
    # The words before it in its sentence, back to another number or one or two lines.
    tail = re.split(r"[0-9]|(?<=[a-z]{4})[.!?] ", text[max(0, span[0] - _BACK) : span[0]])[-1]
    if words := WORD.findall("\n".join(tail.split("\n")[-2:]).lower()):
        asked = words[-1] in _AT and not _CALL.isdisjoint(words[-5:])
        if asked or not _CALL.isdisjoint(words[-2:]):
            return True
        owned = words[-2:] == ["number", "is"] and not _OWNERS.isdisjoint(words[-3:-2])
        owned = owned or words == ["number"] or words[-2:] == ["my", "number"]
        if n_digits >= _FEWEST and (owned or not _PHONE.isdisjoint(words[-5:])):
            return True
    behind = _BEHIND.match(text, span[1])
    if behind and not _NUMBER.isdisjoint(behind[1].lower().split()):
        return True
    return (
        n_digits > _FEWEST + 1
        and bool(_HOME.fullmatch(number))
        and is_dialled_at_home("".join(filter(str.isdigit, number)))
    )


@lru_cache(4096)
def is_dialled_at_home(digits: str) -> bool:
    """Return True if a number that begins with 0 is one of a country where they do."""
    import phonenumbers  # its tables take time to load

    for region in words_of("phone_regions"):
        try:
            number = phonenumbers.parse(digits, region)
        except phonenumbers.NumberParseException:
            return False
        if phonenumbers.is_valid_number_for_region(number, region):
            return True
    return False
