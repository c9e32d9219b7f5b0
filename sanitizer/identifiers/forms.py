"""Another value of the same form for an identifier: grouping, prefixes and notation stay.

What is drawn depends on the form alone: the positions of signs, the country of an IBAN or of a "+"
number, the public prefix of a key, the words in an address that say what its parts are. The rest is
fresh, check digits included. E-mail hosts and URLs are under names reserved by RFC 2606, IP
addresses are private (RFC 1918) or for documentation (RFC 3849), North American telephone numbers
end in 555-01xx.

Check characters of national numbers are drawn like their other characters.

Texts come with their digits and signs in ASCII and without invisible characters: `same_form` in
`search` folds them. Where nothing would be redrawn, or a part is not understood, there is no other
value: a ValueError, never the original.

Not protected: the form itself, and the facts above that it keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from stdnum import luhn
from stdnum.bitcoin import b58decode

from sanitizer.identifiers.checks import (
    BASE58,
    MONTHS,
    UK_AREAS,
    base58check,
    calling_code,
    iban_remainder,
    is_base58check,
    with_check_character,
)
from sanitizer.identifiers.networks import MACHINE_ROLE, OF_MACHINE
from sanitizer.identifiers.rows import KINDS, packaged, word_lists
from sanitizer.randomness import Source

_DIGITS, _FROM_ONE, _LOWER = "0123456789", "123456789", "abcdefghijklmnopqrstuvwxyz"
_HEX = "0123456789abcdef"
_ONSETS, _VOWELS = (
    "b d f g h k l m n p r s t v br dr gr kl st tr".split(),
    "a e i o u ai ea".split(),
)
_CARD_PREFIX = {12: "5018", 13: "4", 14: "36", 15: "37", 16: "4", 17: "62", 18: "62", 19: "62"}
_HOSTS = ("example.com", "example.net", "example.org")
_UK_INWARD, _CANADA_FIRST = "ABDEFGHJLNPQRSTUWXYZ", "ABCEGHJKLMNPRSTVXY"
_WORDS = word_lists("form_words")
_STATES, _STREET_ENDINGS = _WORDS["states"], tuple(_WORDS["street_endings"])
_KEPT_WORDS = frozenset(_WORDS["kept"])


def _one(options: Sequence[str], source: Source) -> str:
    return options[source.randbelow(len(options))]


def _several(n: int, options: Sequence[str], source: Source) -> str:
    return "".join(_one(options, source) for _ in range(n))


def _number(n: int, source: Source) -> str:
    """Return a number of n digits that does not begin with 0."""
    return _one(_FROM_ONE, source) + _several(n - 1, _DIGITS, source)


def _word(source: Source, syllables: int = 3) -> str:
    return "".join(_one(_ONSETS, source) + _one(_VOWELS, source) for _ in range(syllables))


def _cased(word: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word


def _redrawn(text: str, source: Source, letters: str = _LOWER, digits: str = _DIGITS) -> str:
    """Replace each letter and digit by one of some; the case and everything else stay."""

    def fresh(char: str) -> str:
        if char.isalpha():
            return _one(letters.upper() if char.isupper() and char.isascii() else letters, source)
        return _one(digits, source) if char.isalnum() else char

    return "".join(map(fresh, text))


def _scrambled(text: str, source: Source) -> str:
    """Replace each digit and letter by one drawn from its class; everything else stays.

    Where all letters are hexadecimal digits, the new ones are too.
    """
    hexadecimal = len(text) >= 16 and not re.search("[G-Zg-z]", text)
    return _redrawn(text, source, "abcdef" if hexadecimal else _LOWER)


def _filled(text: str, fresh: Iterable[str], replaced: Callable[[str], bool] = str.isalnum) -> str:
    """Return the text with its letters and digits replaced in order."""
    new = iter(fresh)
    return "".join(next(new) if replaced(char) else char for char in text)


# --- Numbers with a check digit


def _luhn(text: str, source: Source, prefix: str = "") -> str:
    missing = sum(c.isdecimal() for c in text) - len(prefix) - 1
    body = prefix + _several(missing, _DIGITS, source)
    return _filled(text, body + luhn.calc_check_digit(body))


def _card(text: str, source: Source) -> str:
    return _luhn(text, source, _CARD_PREFIX.get(sum(c.isdecimal() for c in text), "4"))


def _iban(text: str, source: Source) -> str:
    compact = "".join(c for c in text if c.isalnum())
    body = _scrambled(compact[4:], source)
    check = 98 - iban_remainder(compact[:2] + "00" + body)
    return _filled(text, f"{compact[:2]}{check:02}{body}")


def _ssn(text: str, source: Source) -> str:
    area = 1 + source.randbelow(898)
    area += area >= 666  # no number is given out under 666
    return _filled(text, f"{area:03}{1 + source.randbelow(99):02}{1 + source.randbelow(9999):04}")


def _vehicle(text: str, source: Source) -> str:
    """Return a number of a vehicle without I, O and Q, with its check character if it is whole."""
    drawn = _redrawn(text, source, "abcdefghjklmnprstuvwxyz", _FROM_ONE)
    return with_check_character(drawn) if len(drawn) == 17 else drawn


def _wallet(text: str, source: Source) -> str:
    """Return an address of the same network, with its checksum in base 58."""
    if text[:2].lower() == "0x":
        return text[:2] + _several(len(text) - 2, _HEX, source)
    known = next((p for p in ("bc1", "ltc1", "tb1", "addr1") if text.lower().startswith(p)), "")
    if known:
        n = len(known)
        return text[:n] + _several(len(text) - n, "023456789acdefghjklmnpqrstuvwxyz", source)
    if is_base58check(text):
        version, *others = b58decode(text)[:-4]
        return base58check(bytes([version, *(source.randbelow(256) for _ in others)]))
    return text[:2] + _several(len(text) - 2, BASE58, source)


# --- Networks


def _email(text: str, source: Source) -> str:
    return f"{_word(source, 2)}.{_word(source)}@{_one(_HOSTS, source)}"


def _ip(text: str, source: Source) -> str:
    address, slash, prefix = text.partition("/")
    if ":" in address:
        groups = [f"{source.randbelow(1 << 16):x}" for _ in range(6)]
        return "2001:db8:" + ":".join(groups) + slash + prefix
    return "10." + ".".join(str(source.randbelow(256)) for _ in range(3)) + slash + prefix


def _mac(text: str, source: Source) -> str:
    """Return a locally administered unicast address: its second digit is 2, 6, a or e."""
    digits = _one(_HEX, source) + _one("26ae", source) + _several(10, _HEX, source)
    is_upper = text.upper() == text and text.lower() != text
    return _filled(text, digits.upper() if is_upper else digits)


_URL = re.compile(r"(?s)(\w[\w+.-]*://)?([^/@?#]*@)?(www\.)?([^/:?#]*)(:[0-9]+)?([^?#]*)(.*)")


def _url(text: str, source: Source) -> str:
    """Return a URL with fresh credentials, host, port and words.

    Scheme, `www.`, the number of path segments and that it is a machine's stay.
    """
    m = _URL.fullmatch(text)
    assert m, "every text has the shape of a reference"
    user = f"{_word(source, 2)}:{_scrambled('aB3dE6gH9k', source)}@" if m[2] else ""
    port = f":{8000 + source.randbelow(1000)}" if m[5] else ""
    path = re.sub(r"[^/]+", lambda _: _word(source), m[6])
    query = f"?q={_word(source)}" if m[7] else ""
    machine = f"{_word(source)}-{1 + source.randbelow(9)}." if OF_MACHINE.match(text) else ""
    host = f"{m[3] or ''}{machine}{_word(source)}.{_one(_HOSTS, source)}"
    return f"{m[1] or ''}{user}{host}{port}{path}{query}"


def _host(text: str, source: Source) -> str:
    name, dot, ending = text.rpartition(".")
    if dot:
        return _scrambled(name, source) + dot + ending
    *parts, last = text.split("-")
    if parts and last.isascii() and last.islower() | last.isdigit() and last[-1].isdigit():
        zero = "0" * last.startswith("0")  # four digits, or many would come back as they were
        letters = _scrambled(last.rstrip(_DIGITS), source)
        last = letters + zero + _several(4 - len(zero), _DIGITS, source)
    else:
        last = _scrambled(last, source)
    kept = (part if MACHINE_ROLE.fullmatch(part) else _scrambled(part, source) for part in parts)
    return "-".join([*kept, last])


# --- Keys

_PEM_KEPT = re.compile(
    r"(-----(?:BEGIN|END) (?:(?:RSA|DSA|EC|ENCRYPTED|OPENSSH|PGP) ){0,2}PRIVATE KEY"
    r"(?: BLOCK)?-----|\\[nr])"
)
"""Marks of a private key, and line breaks that were escaped."""
_HEADS = re.compile(r"((?:\A|(?<=\.))eyJ|\Ahttps?://[^/]+/(?:api/)?)")
"""What the parts of a JSON web token, and the address of a webhook, begin with."""
_SUB_PREFIX = re.compile(
    r"(?:(?<=sk-ant-api)[0-9]{2}-|ant-(?:api|admin)?[0-9]{0,2}-?|proj-|svcacct-|admin-|or-v1-|lf-|[abeprs]-)"
)


def _key(text: str, source: Source) -> str:
    kept = _PEM_KEPT if text.startswith("-----BEGIN") else _HEADS
    parts = kept.split(text)
    if len(parts) == 1:
        mark = max((m for m in packaged().begun if text.startswith(m)), key=len, default="")
        if mark and (m := _SUB_PREFIX.match(text, len(mark))):
            mark = text[: m.end()]
        parts = ["", mark, text[len(mark) :]]
    return "".join(part if i % 2 else _scrambled(part, source) for i, part in enumerate(parts))


# --- Telephone numbers


def _phone(text: str, source: Source) -> str:
    """Return a telephone number with the same calling code, trunk zero and signs."""
    m = re.search(r"(?i)[ ,]*(?:x|ext)", text)
    at = m.start() if m else len(text)
    body, extension = text[:at], text[at:]
    digits = "".join(c for c in body if c.isdecimal())
    new = _filled(body, _dialled(digits, body, source), str.isdecimal)
    return new + re.sub("[0-9]", lambda _: _one(_DIGITS, source), extension)


def _dialled(digits: str, body: str, source: Source) -> str:
    kept = (calling_code(digits) or "") if "+" in body else ""
    rest = digits[len(kept) :]
    if not kept and len(rest) > 10 and rest[-11] == "1":
        kept, rest = rest[:-10], rest[-10:]
    if len(rest) == 10 and rest[0] not in "01" and kept[-1:] in {"", "1"}:
        area = _one("23456789", source) + _one("02345678", source) + _one("2345678", source)
        return f"{kept}{area}55501{_several(2, _DIGITS, source)}"
    zeros = len(rest) - len(rest.lstrip("0"))
    # British mobile numbers begin with 07, which is not a trunk zero and an area code.
    lead = rest[:2] if rest.startswith("07") else rest[:zeros][:2]
    return kept + lead + _number(len(rest) - len(lead), source)


# --- Dates

_MONTH_NAME = "|".join(f"{m}|{m[:3]}" for m in MONTHS) + "|sept"
_DATE_PARTS = re.compile(
    r"(?i)(?P<time>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)"
    r"(?P<zone>(?: ?[ap]m)? ?[+-][0-9]{2}:?[0-9]{2}\Z)?"
    r"|(?P<compact>[0-9]{8})|(?P<year>[0-9]{4})"
    rf"|(?P<month>(?<![^\W\d_])(?:{_MONTH_NAME})(?![^\W\d_]))"
    r"|(?P<small>[0-9]{1,2})(?P<th>st|nd|rd|th)?"
)
_DATE_WORDS = re.compile(r"(?i)(?:[\W_]|of|t|z|am|pm)*")


def _day(text: str, source: Source) -> str:
    """Return a date in 1950 to 2009 in the same notation, valid also if day and month are swapped.

    So days are 1 to 12. A year of two digits comes last.
    """
    new = date(1950 + source.randbelow(60), 1 + source.randbelow(12), 1 + source.randbelow(12))
    parts = list(_DATE_PARTS.finditer(text))
    if not _DATE_WORDS.fullmatch(_DATE_PARTS.sub(" ", text)):
        raise ValueError("part of this date is not known")
    width = 2 if all(len(m["small"]) == 2 for m in parts if m["small"]) else 1
    numbers = [new.day] if any(m["month"] for m in parts) else [new.month, new.day]
    fields = [f"{n:0{width}}" for n in numbers]
    if not any(m["year"] for m in parts):
        fields.append(f"{new.year % 100:02}")
    left = iter(fields)

    def fresh(m: re.Match[str]) -> str:
        if m["time"]:
            return _time(m["time"], source) + (m["zone"] or "")
        if m["compact"]:
            year_first = m[0][:2] in {"18", "19", "20", "21"} and 1 <= int(m[0][4:6]) <= 12
            return new.strftime("%Y%m%d" if year_first else "%m%d%Y")
        if m["month"]:
            name = MONTHS[new.month - 1]
            return _cased(name if len(m["month"]) > 4 else name[:3], m["month"])
        if m["year"]:
            return str(new.year)
        field = next(left, f"{new.day:02}")
        return f"{int(field)}{_ordinal(int(field))}" if m["th"] else field

    return _DATE_PARTS.sub(fresh, text)


def _ordinal(n: int) -> str:
    return "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


def _time(text: str, source: Source) -> str:
    def fresh(m: re.Match[str]) -> str:
        n = len(m[0])
        if m.start() == 0:
            return f"{1 + source.randbelow(9 if n == 1 else 12):0{n}}"
        return f"{source.randbelow(60):02}" if n == 2 else _several(n, _DIGITS, source)

    return re.sub("[0-9]+", fresh, text)


# --- Places


def _address(text: str, source: Source) -> str:
    """Return an address with fresh numbers, names, state and postal code.

    Words such as Street, Apt. or PO Box stay.
    """

    def fresh(m: re.Match[str]) -> str:
        part = m[0]
        if part.isdecimal():
            return _number(len(part), source)
        if part in _STATES:
            return _one(_STATES, source)
        if part.lower() in _KEPT_WORDS or len(part) == 1:
            return part
        kept = next((end for end in _STREET_ENDINGS if part.lower().endswith(end)), "")
        return _cased(_word(source), part) + kept

    outward = re.search(r"[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}\Z", text)
    new = re.sub(r"[^\W\d_]+|\d+", fresh, text[: outward.start()] if outward else text)
    new = re.sub(r"([0-9]+)(?:st|nd|rd|th)\b", lambda m: m[1] + _ordinal(int(m[1])), new)
    return new + (_postcode(outward[0], source) if outward else "")


def _postcode(text: str, source: Source) -> str:
    first = re.search("[0-9]", text)
    if first is None:
        raise ValueError("a postal code has a digit")
    at = first.start()
    if re.fullmatch(r"[A-Za-z]{1,2}[0-9][0-9A-Za-z]? ?[0-9][A-Za-z]{2}", text):
        area = _one(sorted(a for a in UK_AREAS if len(a) == at), source)
        numbers = re.sub("[0-9]", lambda _: _one(_FROM_ONE, source), text[at:-2])
        return area + numbers + _several(2, _UK_INWARD, source)
    if re.fullmatch(r"[A-Za-z][0-9][A-Za-z][ -]?[0-9][A-Za-z][0-9]", text):
        rest = _redrawn(text[1:].upper(), source, "abceghjklmnprstvwxyz")
        return _one(_CANADA_FIRST, source) + rest
    new = _scrambled(text[:at], source) + _one(_FROM_ONE, source)
    return new + _scrambled(text[first.end() :], source)


def _coordinates(text: str, source: Source) -> str:
    """Return another place: every number has as many digits and fits degrees and minutes."""

    def fresh(m: re.Match[str]) -> str:
        if len(m[0]) == 3 and text[m.start() - 1 : m.start()] != ".":
            return "1" + _one("01234567", source) + _one(_DIGITS, source)
        return _one("12345", source) + _several(len(m[0]) - 1, _DIGITS, source)

    return re.sub("[0-9]+", fresh, text)


_FORMS: dict[str, Callable[[str, Source], str]] = {
    "KEY": _key,
    "EMAIL": _email,
    "URL": _url,
    "LINK": _url,
    "IBAN": _iban,
    "CARD": _card,
    "SSN": _ssn,
    "IP": _ip,
    "MAC": _mac,
    "DATE_OF_BIRTH": _day,
    "DATE": _day,
    "VEHICLE": _vehicle,
    "DEVICE": _luhn,
    "WALLET": _wallet,
    "COORDINATES": _coordinates,
    "HOST": _host,
    "PHONE": _phone,
    "ADDRESS": _address,
    "POSTCODE": _postcode,
}
"""Kinds whose other values are more than other letters and digits in the same places."""


@dataclass
class _Counted:
    """Source that counts its draws."""

    source: Source
    n_draws: int = 0

    def randbelow(self, n: int, /) -> int:
        self.n_draws += 1
        return self.source.randbelow(n)


def another_value(kind: str, text: str, source: Source) -> str:
    """Draw another value of the same form for a folded text; see `search.same_form`."""
    if kind not in KINDS:
        raise ValueError(f"kind must be of {', '.join(KINDS)}; got {kind!r}")
    counted = _Counted(source)
    try:
        value = _FORMS.get(kind, _scrambled)(text, counted)
    # RuntimeError: the text has more digits than the form, so an iterator of fresh ones ended
    except (ValueError, LookupError, RuntimeError):
        counted.n_draws = 0
    if not counted.n_draws:
        raise ValueError(f"this {kind} cannot be given another form")
    return value
