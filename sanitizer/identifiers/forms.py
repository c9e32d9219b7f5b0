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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from sanitizer.identifiers.checks import (
    BASE58,
    MONTHS,
    UK_AREAS,
    base58check,
    calling_code,
    iban_remainder,
    is_base58check,
    luhn_digit,
    version_of,
    with_check_character,
)
from sanitizer.identifiers.networks import MACHINE_ROLE, OF_MACHINE
from sanitizer.identifiers.rows import packaged
from sanitizer.randomness import Source

_DIGITS, _LOWER = "0123456789", "abcdefghijklmnopqrstuvwxyz"
_ONSETS, _VOWELS = (
    "b d f g h k l m n p r s t v br dr gr kl st tr".split(),
    "a e i o u ai ea".split(),
)
_CARD_PREFIX = {12: "5018", 13: "4", 14: "36", 15: "37", 16: "4", 17: "62", 18: "62", 19: "62"}
_HOSTS = ("example.com", "example.net", "example.org")
_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM"
    " NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY"
).split()
_STREET_ENDINGS = tuple(
    "straße strasse str. gasse platz allee straat laan gracht plein gatan vägen gata gade vej"
    " veien stræde torvet ntie katu kuja kaari raitti rinne polku weg steig promenade kade".split()
)
_UK_INWARD, _CANADA_FIRST = "ABDEFGHJLNPQRSTUWXYZ", "ABCEGHJKLMNPRSTVXY"
_CANADA_LETTERS = "ABCEGHJKLMNPRSTVWXYZ"
_KEPT_WORDS = frozenset(
    """
    street st avenue ave av road rd boulevard blvd lane ln drive dr court ct place pl square sq
    terrace ter way wy parkway pkwy highway hwy circle cir trail trl crescent cres close grove
    gardens gdns mews alley aly plz row walk loop path broadway turnpike tpke freeway fwy expressway
    quay esplanade promenade hill point pike run wharf parade crest croft
    apt apartment suite ste unit flat room rm floor bldg building lot p o po box post office
    postfach psc cmr apo fpo dpo n s e w ne nw se sw north south east west rua rue via viale
    calle c avenida av avda plaza piazza ul al pl boulevard chemin place quai carrer paseo
    corso strada camino de du des la le les del della do da dos of the st nd rd th
    """.split()
)


def _one(options: Sequence[str], source: Source) -> str:
    return options[source.randbelow(len(options))]


def _digits(n: int, source: Source) -> str:
    return "".join(_one(_DIGITS, source) for _ in range(n))


def _word(source: Source, syllables: int = 3) -> str:
    return "".join(_one(_ONSETS, source) + _one(_VOWELS, source) for _ in range(syllables))


def _cased(word: str, like: str) -> str:
    return (
        word.upper()
        if like.isupper() and len(like) > 1
        else word.capitalize()
        if like[:1].isupper()
        else word
    )


def _scrambled(text: str, source: Source) -> str:
    """Replace each digit and letter by one drawn from its class; everything else stays.

    Where all letters are hexadecimal digits, the new ones are too.
    """
    hexadecimal = len(text) >= 16 and not re.search("[G-Zg-z]", text)
    return "".join(_same_class(c, source, "abcdef" if hexadecimal else _LOWER) for c in text)


def _same_class(char: str, source: Source, letters: str) -> str:
    if char.isalpha():
        return _one(letters.upper() if char.isupper() and char.isascii() else letters, source)
    return _one(_DIGITS, source) if char.isalnum() else char


def _with_digits(text: str, digits: str) -> str:
    """Return the text with its digits replaced in order."""
    fresh: Iterator[str] = iter(digits)
    return "".join(next(fresh) if c.isdecimal() else c for c in text)


def _card(text: str, source: Source) -> str:
    n = sum(c.isdecimal() for c in text)
    prefix = _CARD_PREFIX.get(n, "4")
    body = prefix + _digits(n - len(prefix) - 1, source)
    return _with_digits(text, body + luhn_digit(body))


def _iban(text: str, source: Source) -> str:
    compact = "".join(c for c in text if c.isalnum())
    body = _scrambled(compact[4:], source)
    check = 98 - iban_remainder(compact[:2] + "00" + body)
    fresh = iter(f"{compact[:2]}{check:02}{body}")
    return "".join(next(fresh) if c.isalnum() else c for c in text)


def _ssn(text: str, source: Source) -> str:
    area = 1 + source.randbelow(898)
    return _with_digits(
        text,
        f"{area + (area >= 666):03}{1 + source.randbelow(99):02}{1 + source.randbelow(9999):04}",
    )


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
    digits = [f"{source.randbelow(16):x}" for _ in range(12)]
    digits[1] = _one("26ae", source)
    upper = text.upper() == text and text.lower() != text
    fresh = iter(digits)
    new = "".join(next(fresh) if c.isalnum() else c for c in text)
    return new.upper() if upper else new


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


_PEM_KEPT = re.compile(
    r"(-----(?:BEGIN|END) (?:(?:RSA|DSA|EC|ENCRYPTED|OPENSSH|PGP) ){0,2}PRIVATE KEY"
    r"(?: BLOCK)?-----|\\[nr])"
)
_SUB_PREFIX = re.compile(
    r"(?:(?<=sk-ant-api)[0-9]{2}-|ant-(?:api|admin)?[0-9]{0,2}-?|proj-|svcacct-|admin-|or-v1-|lf-|[abeprs]-)"
)


def _key(text: str, source: Source) -> str:
    if text.startswith("-----BEGIN"):
        # every second part is a mark, or a line break that was escaped
        parts = _PEM_KEPT.split(text)
        return "".join(part if i % 2 else _scrambled(part, source) for i, part in enumerate(parts))
    if text.startswith("eyJ"):
        return ".".join(
            "eyJ" * part.startswith("eyJ") + _scrambled(part.removeprefix("eyJ"), source)
            for part in text.split(".")
        )
    if text.startswith(("https://", "http://")):
        host, slash, path = text.partition("/api/" if "/api/" in text else ".com/")
        return host + slash + _scrambled(path, source)
    mark = max((m for m in packaged().begun if text.startswith(m)), key=len, default="")
    if mark and (m := _SUB_PREFIX.match(text, len(mark))):
        mark = text[: m.end()]
    return mark + _scrambled(text[len(mark) :], source)


def _phone(text: str, source: Source) -> str:
    """Return a telephone number with the same calling code, trunk zero and signs."""
    m = re.search(r"(?i)[ ,]*(?:x|ext)", text)
    body, extension = (text[: m.start()], text[m.start() :]) if m else (text, "")
    digits = "".join(c for c in body if c.isdecimal())
    return _with_digits(body, _number(digits, body, source)) + re.sub(
        "[0-9]", lambda _: _one(_DIGITS, source), extension
    )


def _number(digits: str, body: str, source: Source) -> str:
    kept = (calling_code(digits) or "") if "+" in body else ""
    rest = digits[len(kept) :]
    if not kept and len(rest) > 10 and rest[-11] == "1":
        kept, rest = rest[:-10], rest[-10:]
    if len(rest) == 10 and rest[0] not in "01" and kept[-1:] in {"", "1"}:
        area = _one("23456789", source) + _one("02345678", source) + _one("2345678", source)
        return f"{kept}{area}55501{_digits(2, source)}"
    zeros = len(rest) - len(rest.lstrip("0"))
    # British mobile numbers begin with 07, which is not a trunk zero and an area code.
    lead = rest[:2] if rest.startswith("07") else rest[:zeros][:2]
    return kept + lead + _one("123456789", source) + _digits(len(rest) - len(lead) - 1, source)


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

    So days are 1 to 12.
    """
    new = date(1950 + source.randbelow(60), 1 + source.randbelow(12), 1 + source.randbelow(12))
    parts = list(_DATE_PARTS.finditer(text))
    if not _DATE_WORDS.fullmatch(_DATE_PARTS.sub(" ", text)):
        raise ValueError("part of this date is not known")
    numbers = [m for m in parts if m["small"]]
    named, has_year = any(m["month"] for m in parts), any(m["year"] for m in parts)
    padded = all(len(m["small"]) == 2 for m in numbers)
    fields = iter(_fields(new, named, has_year, padded))

    def fresh(m: re.Match[str]) -> str:
        if not m["small"]:
            return _long_part(m, new, source)
        field = next(fields, f"{new.day:02}")
        return f"{int(field)}{_ordinal(int(field))}" if m["th"] else field

    return _DATE_PARTS.sub(fresh, text)


def _long_part(m: re.Match[str], new: date, source: Source) -> str:
    """Return a new part of a date that is not a number of one or two digits."""
    if m["time"]:
        return _time(m["time"], source) + (m["zone"] or "")
    if m["compact"]:
        return _compact(m["compact"], new)
    if m["month"]:
        name = MONTHS[new.month - 1]
        return _cased(name if len(m["month"]) > 4 else name[:3], m["month"])
    return str(new.year)


def _fields(new: date, named: bool, has_year: bool, padded: bool) -> list[str]:
    """Return the numbers of one or two digits in the order of the notation.

    A year of two digits comes last.
    """
    small = [new.day] if named else [new.month, new.day]
    return [f"{n:02}" if padded else str(n) for n in small] + [f"{new.year % 100:02}"] * (
        not has_year
    )


def _compact(text: str, new: date) -> str:
    year_first = text[:2] in {"18", "19", "20", "21"} and 1 <= int(text[4:6]) <= 12
    return new.strftime("%Y%m%d") if year_first else new.strftime("%m%d%Y")


def _ordinal(n: int) -> str:
    return "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


def _time(text: str, source: Source) -> str:
    hour, *rest = re.split(r"([:.])", text)
    width = len(hour)
    fresh = [f"{1 + source.randbelow(9 if width == 1 else 12):0{width}}"]
    for part in rest:
        fresh.append(
            part
            if not part.isdecimal()
            else f"{source.randbelow(60):02}"
            if len(part) == 2
            else _digits(len(part), source)
        )
    return "".join(fresh)


_PLACE_PARTS = re.compile(r"[^\W\d_]+|\d+")


def _address(text: str, source: Source) -> str:
    """Return an address with fresh numbers, names, state and postal code.

    Words such as Street, Apt. or PO Box stay.
    """

    def fresh(m: re.Match[str]) -> str:
        part = m[0]
        if part.isdecimal():
            return _one("123456789", source) + _digits(len(part) - 1, source)
        if part in _STATES:
            return _one(_STATES, source)
        if part.lower() in _KEPT_WORDS or len(part) == 1:
            return part
        kept = next((end for end in _STREET_ENDINGS if part.lower().endswith(end)), "")
        return _cased(_word(source), part) + kept

    def agreeing(m: re.Match[str]) -> str:
        return m[1] + _ordinal(int(m[1]))

    outward = re.search(r"[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}\Z", text)
    rest = text[: outward.start()] if outward else text
    new = re.sub(r"([0-9]+)(?:st|nd|rd|th)\b", agreeing, _PLACE_PARTS.sub(fresh, rest))
    return new + (_postcode(outward[0], source) if outward else "")


def _postcode(text: str, source: Source) -> str:
    if re.fullmatch(r"[A-Za-z]{1,2}[0-9][0-9A-Za-z]? ?[0-9][A-Za-z]{2}", text):
        letters = len(text) - len(text.lstrip(_LOWER + _LOWER.upper()))
        area = _one(sorted(a for a in UK_AREAS if len(a) == letters), source)
        new = area + re.sub("[0-9]", lambda _: _one("123456789", source), text[letters:-2])
        return new + _one(_UK_INWARD, source) + _one(_UK_INWARD, source)
    if re.fullmatch(r"[A-Za-z][0-9][A-Za-z][ -]?[0-9][A-Za-z][0-9]", text):
        rest = (
            _one(_CANADA_LETTERS, source)
            if c.isalpha()
            else _one(_DIGITS, source)
            if c.isdecimal()
            else c
            for c in text[1:]
        )
        return _one(_CANADA_FIRST, source) + "".join(rest)
    first = re.search("[0-9]", text)
    if first is None:
        raise ValueError("a postal code has a digit")
    return (
        _scrambled(text[: first.start()], source)
        + _one("123456789", source)
        + _scrambled(text[first.end() :], source)
    )


def _vehicle(text: str, source: Source) -> str:
    """Return a number of a vehicle without I, O and Q, with its check character if it is whole."""
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    drawn = "".join(
        (_one(letters, source) if c.isupper() else _one(letters, source).lower())
        if c.isalpha()
        else _one("123456789", source)
        if c.isdecimal()
        else c
        for c in text
    )
    return with_check_character(drawn) if len(drawn) == 17 else drawn


def _device(text: str, source: Source) -> str:
    body = _digits(sum(c.isdecimal() for c in text) - 1, source)
    return _with_digits(text, body + luhn_digit(body))


def _wallet(text: str, source: Source) -> str:
    """Return an address of the same network, with its checksum in base 58."""
    if text[:2].lower() == "0x":
        return text[:2] + "".join(_one("0123456789abcdef", source) for _ in text[2:])
    known = next((p for p in ("bc1", "ltc1", "tb1", "addr1") if text.lower().startswith(p)), "")
    if known:
        return text[: len(known)] + "".join(
            _one("023456789acdefghjklmnpqrstuvwxyz", source) for _ in text[len(known) :]
        )
    if is_base58check(text):
        body = bytes(source.randbelow(256) for _ in range(20))
        return base58check(bytes([version_of(text)]) + body)
    return text[:2] + "".join(_one(BASE58, source) for _ in text[2:])


def _coordinates(text: str, source: Source) -> str:
    """Return another place: every number has as many digits and fits degrees and minutes."""

    def fresh(m: re.Match[str]) -> str:
        if len(m[0]) == 3 and text[m.start() - 1 : m.start()] != ".":
            return "1" + _one("01234567", source) + _one(_DIGITS, source)
        return _one("12345", source) + _digits(len(m[0]) - 1, source)

    return re.sub("[0-9]+", fresh, text)


def _host(text: str, source: Source) -> str:
    name, dot, ending = text.rpartition(".")
    if dot:
        return _scrambled(name, source) + dot + ending
    *parts, last = text.split("-")
    if parts and last.isascii() and last.islower() | last.isdigit() and last[-1].isdigit():
        zero = "0" * last.startswith("0")  # four digits, or many would come back as they were
        letters = _scrambled(last.rstrip(_DIGITS), source)
        last = letters + zero + "".join(_one(_DIGITS, source) for _ in range(4 - len(zero)))
    else:
        last = _scrambled(last, source)
    kept = (part if MACHINE_ROLE.fullmatch(part) else _scrambled(part, source) for part in parts)
    return "-".join([*kept, last])


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
    "LICENCE": _scrambled,
    "PASSPORT": _scrambled,
    "NATIONAL_ID": _scrambled,
    "MEDICAL": _scrambled,
    "INSURANCE": _scrambled,
    "VEHICLE": _vehicle,
    "DEVICE": _device,
    "PLATE": _scrambled,
    "ACCOUNT": _scrambled,
    "WALLET": _wallet,
    "COORDINATES": _coordinates,
    "HOST": _host,
    "ENCODED": _scrambled,
    "ID": _scrambled,
    "PHONE": _phone,
    "ADDRESS": _address,
    "POSTCODE": _postcode,
}


@dataclass
class _Counted:
    """Source that counts its draws."""

    source: Source
    n_draws: int = 0

    def randbelow(self, n: int, /) -> int:
        self.n_draws += 1
        return self.source.randbelow(n)


def another_value(kind: str, text: str, source: Source) -> str:
    """Draw a realistic other value of the same form.

    Args:
        kind: one of `KINDS`.
        text: an identifier that `find` gave as that kind, folded.
        source: source of the draws.

    Raises:
        ValueError: the kind is unknown, or no part of the text can be drawn anew. The message does
            not quote the text.
    """
    if kind not in _FORMS:
        raise ValueError(f"kind must be of {', '.join(_FORMS)}; got {kind!r}")
    counted = _Counted(source)
    try:
        value = _FORMS[kind](text, counted)
    # RuntimeError: the text has more digits than the form, so an iterator of fresh ones ended
    except (ValueError, LookupError, RuntimeError):
        counted.n_draws = 0
    if not counted.n_draws:
        raise ValueError(f"this {kind} cannot be given another form")
    return value
