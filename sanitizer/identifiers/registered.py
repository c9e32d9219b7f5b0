"""Numbers that prove themselves: national identity numbers, vehicles, wallets, coordinates.

They count without a word that announces them, by their form and check characters. Each is read from
a chunk of digits or a long word, over a bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from sanitizer.identifiers.checks import is_day

Span = tuple[int, int, str]

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_FORMS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<dni>(?:[0-9]{8}|[0-9]{2}\.[0-9]{3}\.[0-9]{3})-?[A-HJ-NP-TV-Z])"
    r"|(?P<nie>[XYZ]-?[0-9]{7}-?[A-HJ-NP-TV-Z])"
    r"|(?P<fiscale>[A-Z]{6}[0-9LMNP-V]{2}[A-EHLMPR-T][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z])"
    r"|(?P<nino>[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D])"
    r"|(?P<nir>[12] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2})"
    r"|(?P<cpf>[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2})"
    r"|(?P<ahv>756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2})"
    r"|(?P<steuer>[1-9][0-9] [0-9]{3} [0-9]{3} [0-9]{3})"
    r"|(?P<rente>[0-9]{2} ?[0-3][0-9][01][0-9][0-9]{2} ?[A-Z] ?[0-9]{3})"
    r"|(?P<emirates>784-[0-9]{4}-[0-9]{7}-[0-9])"
    r"|(?P<ric>[1-9][0-9]{16}[0-9Xx])"
    r"|(?P<nric>[0-9]{6}-[0-9]{2}-[0-9]{4})"
    r"|(?P<vin>[A-HJ-NPR-Z0-9]{17})"
    r")(?![A-Za-z0-9]|[.-][0-9])"
)
_NO_NINO = frozenset("BG GB KN NK NT TN ZZ".split())
_REACH = 10
"""Characters before the first digit of such a number: six letters of a codice fiscale, and more."""


def in_chunk(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield identity and vehicle numbers that hold the chunk of digits from `start` to `end`."""
    begin = start
    while (
        begin > max(0, start - _REACH) and text[begin - 1].isascii() and text[begin - 1].isalnum()
    ):
        begin -= 1
    if begin == start and start > 2 and text[start - 1] in " -" and text[start - 2].isalpha():
        begin = start - (3 if text[start - 3].isalpha() else 2)
    m = _FORMS.match(text, begin)
    if (m is None or m.end() <= start) and begin < start and text[start - 1] in " -":
        m = _FORMS.match(text, start)  # the letters before are a word
    if m is None or m.end() <= start:
        return
    name = m.lastgroup or ""
    if _CHECKS[name]("".join(c for c in m[0].upper() if c.isalnum())):
        yield m.start(), m.end(), "VEHICLE" if name == "vin" else "NATIONAL_ID"


def _is_dni(number: str) -> bool:
    digits = number[:-1].translate(str.maketrans("XYZ", "012"))
    return _DNI_LETTERS[int(digits) % 23] == number[-1]


_ODD = (
    1,
    0,
    5,
    7,
    9,
    13,
    15,
    17,
    19,
    21,
    2,
    4,
    18,
    20,
    11,
    3,
    6,
    8,
    12,
    14,
    16,
    10,
    22,
    25,
    24,
    23,
)


def _is_fiscale(number: str) -> bool:
    """Return True if the last letter of a codice fiscale is the sum of the others by its table."""
    places = [int(c) if c.isdigit() else ord(c) - 65 for c in number[:-1]]
    total = sum(value if i % 2 else _ODD[value] for i, value in enumerate(places))
    return total % 26 == ord(number[-1]) - 65


def _is_nino(number: str) -> bool:
    return number[:2] not in _NO_NINO


def _is_nir(number: str) -> bool:
    digits = number.replace("2A", "19").replace("2B", "18")
    if not digits.isdecimal() or not 1 <= int(digits[3:5]) <= 12:
        return False
    return 97 - int(digits[:-2]) % 97 == int(digits[-2:])


def _is_cpf(number: str) -> bool:
    digits = [int(c) for c in number]
    for n in (9, 10):
        rest = 11 - sum((n + 1 - i) * digits[i] for i in range(n)) % 11
        if digits[n] != (0 if rest > 9 else rest):
            return False
    return len(set(number)) > 1


def _is_steuer(number: str) -> bool:
    """Return True for a German tax number: one digit of ten repeated, and ISO 7064 mod 11,10."""
    if sorted(map(number[:10].count, set(number[:10])))[-2:] not in ([1, 2], [1, 3]):
        return False
    product = 10
    for digit in number[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(number[10])


def _is_rente(number: str) -> bool:
    """Return True for a number of the German pension insurance, by its last digit."""
    digits = number[:8] + f"{ord(number[8]) - 64:02}" + number[9:11]
    weighted = (
        int(c) * w for c, w in zip(digits, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True)
    )
    return sum(value // 10 + value % 10 for value in weighted) % 10 == int(number[11])


def _is_nric(number: str) -> bool:
    """Return True for a Malaysian number: a date of birth, and a place that is in use."""
    year, month, day = int(number[:2]), int(number[2:4]), int(number[4:6])
    return is_day(2000 + year, month, day) and number[6:8] != "00"


def _is_ahv(number: str) -> bool:
    total = sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(number[:-1]))
    return -total % 10 == int(number[-1])


def _is_ric(number: str) -> bool:
    """Return True for a Chinese identity number: a date of birth, and ISO 7064 mod 11-2."""
    if not is_day(int(number[6:10]), int(number[10:12]), int(number[12:14])):
        return False
    total = sum(int(c) * pow(2, 17 - i, 11) for i, c in enumerate(number[:-1]))
    return "10X98765432"[total % 11] == number[-1]


_VIN_VALUES = dict(
    zip(
        "ABCDEFGHJKLMNPRSTUVWXYZ0123456789",
        map(int, "12345678123457923456789" + "0123456789"),
        strict=True,
    )
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def _is_vin(number: str) -> bool:
    """Return True if the ninth character is the check character of ISO 3779 in North America."""
    n_letters = sum(c.isalpha() for c in number)
    total = sum(_VIN_VALUES[c] * w for c, w in zip(number, _VIN_WEIGHTS, strict=True))
    return 3 <= n_letters <= 14 and "0123456789X"[total % 11] == number[8]


def with_check_character(number: str) -> str:
    """Return the number of a vehicle with the right ninth character (17 characters, no I, O, Q)."""
    places = zip(number.upper(), _VIN_WEIGHTS, strict=True)
    total = sum(_VIN_VALUES[c] * weight for c, weight in places)
    return number[:8] + "0123456789X"[total % 11] + number[9:]


_CHECKS = {
    "dni": _is_dni,
    "nie": _is_dni,
    "fiscale": _is_fiscale,
    "nino": _is_nino,
    "nir": _is_nir,
    "cpf": _is_cpf,
    "ahv": _is_ahv,
    "nric": _is_nric,
    "emirates": str.isdigit,
    "steuer": _is_steuer,
    "rente": _is_rente,
    "ric": _is_ric,
    "vin": _is_vin,
}

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE58 = re.compile(r"(?<![A-Za-z0-9])[13LMDTt][1-9A-HJ-NP-Za-km-z]{25,34}(?![A-Za-z0-9])")
_BECH32 = re.compile(
    r"(?<![A-Za-z0-9])(?:bc1|ltc1|tb1|addr1)[02-9ac-hj-np-z]{38,98}(?![A-Za-z0-9])", re.IGNORECASE
)
_HEX_WALLET = re.compile(r"(?<![A-Za-z0-9])0x[0-9a-fA-F]{40}(?![A-Za-z0-9])")
_MONERO = re.compile(r"(?<![A-Za-z0-9])[48][0-9AB][1-9A-HJ-NP-Za-km-z]{93}(?![A-Za-z0-9])")


_ON_SOLANA = re.compile(r"(?=[A-Za-z]{0,43}[0-9])[1-9A-HJ-NP-Za-km-z]{32,44}")
_LONGEST_ON_SOLANA = 44
_SOLANA = re.compile(r"(?i)\b(?:sol|solana|phantom|wallet)(?: address| wallet)?(?: is)?\W{1,3}\Z")
_EXPORTED_KEY = re.compile(r"(?<![A-Za-z0-9])[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])")


def is_exported_key(text: str) -> bool:
    """Return True for a private key of Bitcoin as wallets export it, by its checksum."""
    value = _base58_value(text)
    size = 37 if len(text) == 51 else 38
    if value >= 1 << (8 * size):
        return False
    raw = value.to_bytes(size, "big")
    return sha256(sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def wallets(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield addresses of wallets inside one long word."""
    if end - start < 26:
        return
    if (
        end - start <= _LONGEST_ON_SOLANA
        and _ON_SOLANA.fullmatch(text, start, end)
        and _SOLANA.search(text, max(0, start - 24), start)
    ):
        yield start, end, "WALLET"
    for pattern in (_BECH32, _HEX_WALLET, _MONERO):
        for m in pattern.finditer(text, start, end):
            yield m.start(), m.end(), "WALLET"
    for m in _EXPORTED_KEY.finditer(text, start, end):
        if is_exported_key(m[0]):
            yield m.start(), m.end(), "WALLET"
    for m in _BASE58.finditer(text, start, end):
        if is_base58check(m[0]):
            yield m.start(), m.end(), "WALLET"


def _base58_value(text: str) -> int:
    value = 0
    for char in text:
        value = value * 58 + BASE58.index(char)
    return value


def is_base58check(address: str) -> bool:
    """Return True if an address in base 58 ends in the checksum of the 21 bytes before."""
    value = _base58_value(address)
    if value >= 1 << 200:
        return False
    raw = value.to_bytes(25, "big")
    return sha256(sha256(raw[:21]).digest()).digest()[:4] == raw[21:]


def version_of(address: str) -> int:
    """Return the first byte of a valid address in base 58, which says its network."""
    return _base58_value(address) >> 192


def base58check(payload: bytes) -> str:
    """Return the address in base 58 of a version byte and 20 bytes, with its checksum."""
    raw = payload + sha256(sha256(payload).digest()).digest()[:4]
    value, address = int.from_bytes(raw, "big"), ""
    while value:
        value, rest = divmod(value, 58)
        address = BASE58[rest] + address
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + address


_DEGREES = r"-?[0-9]{1,3}\.[0-9]{4,8}(?![0-9])"
_PAIR = re.compile(
    rf"(?<![\w.,;\[-])(?<![,;\[] )(?P<lat>{_DEGREES})°?(?: ?[NS])?(?:, ?| )"
    rf"(?P<lon>{_DEGREES})°?(?: ?[EWO]\b)?(?!\w|[.,;] ?-?[0-9]|\]| -?[0-9]+\.)"
)
_ARC = (
    r"[0-9]{1,3} ?° ?[0-9]{1,2} ?['’′]"
    r"(?: ?[0-9]{1,2}(?:[.,][0-9]{1,4})? ?(?:\"|''|”|″))? ?"
)
_SEXAGESIMAL = re.compile(rf"(?<![\w.]){_ARC}[NSns],? ?{_ARC}[EWOewo](?!\w)")


def coordinates(text: str) -> Iterator[Span]:
    """Yield places on the Earth: latitude and longitude with four decimals, or with minutes."""
    if "°" in text:
        for m in _SEXAGESIMAL.finditer(text):
            yield m.start(), m.end(), "COORDINATES"


def pairs(text: str, start: int) -> Iterator[Span]:
    """Yield the pair of decimal degrees whose latitude begins at `start`."""
    begin = start - (text[start - 1 : start] in {"-", "+"})
    m = _PAIR.match(text, begin)
    if m and 1 <= abs(float(m["lat"])) <= 90 and 1 <= abs(float(m["lon"])) <= 180:
        yield m.start(), m.end(), "COORDINATES"
