"""Checks whether a string of the right shape is an identifier: check digits, ranges and lists.

python-stdnum has most of them; here is what it has not, or what it takes too easily.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from functools import cache
from hashlib import sha256
from ipaddress import ip_address
from math import log2

from stdnum import iban, luhn, numdb
from stdnum.iso7064 import mod_97_10

# Issuer ranges of ISO/IEC 7812, as published: lowest prefix, highest prefix, numbers of digits.
CARD_ISSUERS = (
    ("4", "4", (13, 16, 19)),
    ("51", "55", (16,)),
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),
    ("37", "37", (15,)),
    ("300", "305", (14,)),
    ("3095", "3095", (14,)),
    ("36", "36", (14,)),
    ("38", "39", (14,)),
    ("1800", "1800", (15,)),
    ("2131", "2131", (15,)),
    ("35", "35", (16,)),
    ("2200", "2204", (16, 17, 18, 19)),
    ("6011", "6011", (16, 17, 18, 19)),
    ("644", "659", (16, 17, 18, 19)),
    ("62", "62", (16, 17, 18, 19)),
    ("60", "69", (16,)),
    ("81", "82", (16,)),
    ("5018", "5018", tuple(range(12, 20))),
    ("5020", "5020", tuple(range(12, 20))),
    ("5038", "5038", tuple(range(12, 20))),
    ("56", "58", tuple(range(12, 20))),
    ("6304", "6304", tuple(range(12, 20))),
    ("6390", "6390", tuple(range(12, 20))),
    ("67", "67", tuple(range(12, 20))),
)

MONTHS = tuple(
    """
    january february march april may june july august september october november december
    """.split()
)


def luhn_digit(digits: str) -> str:
    """Return the digit that, appended to `digits`, passes the Luhn check (ISO/IEC 7812-1)."""
    return luhn.calc_check_digit(digits)


def passes_luhn(digits: str) -> bool:
    """Return True if the digits end in their Luhn digit and are not one digit repeated."""
    digits = "".join(filter(str.isdigit, digits))
    return len(set(digits)) > 1 and luhn.is_valid(digits)


def is_issued(digits: str) -> bool:
    """Return True if a card network issues numbers with this prefix and this length."""
    n = len(digits)
    return any(
        n in lengths and low <= digits[: len(low)] <= high for low, high, lengths in CARD_ISSUERS
    )


def iban_remainder(compact: str) -> int:
    """Return the remainder by ISO 7064 mod 97-10 of an IBAN without spaces; 1 for a valid one."""
    return mod_97_10.checksum(compact[4:] + compact[:4])


@cache
def iban_length(country: str) -> int:
    """Return the number of characters of a country's IBANs, as python-stdnum has it; 0 for none."""
    (_, found), *_ = numdb.get("iban").info(country)
    return 4 + sum(map(int, re.findall("[0-9]+", found["bban"]))) if found else 0


def is_iban(compact: str) -> bool:
    """Return True if an IBAN without spaces has its country's form and the right check digits."""
    return bool(iban.is_valid(compact, check_country=False))


def is_ssn(digits: str) -> bool:
    """Return True if nine digits can be a US social security number or an ITIN.

    An ITIN has the first digit 9, and fourth and fifth digits of the issued ranges.
    """
    digits = "".join(filter(str.isdigit, digits))
    area, group, serial = digits[:3], int(digits[3:5]), digits[5:]
    if area in {"000", "666"} or group == 0 or serial == "0000":
        return False
    return (
        area < "900"
        or 50 <= group <= 65
        or 70 <= group <= 88
        or 90 <= group <= 92
        or 94 <= group <= 99
    )


def is_ip(text: str) -> bool:
    """Return True if the standard library reads `text` as an IPv4 or IPv6 address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_day(year: int, month: int, day: int) -> bool:
    """Return True if the day exists in the Gregorian calendar and the year is 1800 to 2199."""
    try:
        return date(year, month, day).year in range(1800, 2200)
    except ValueError:
        return False


def is_numeric_day(year: str, first: str, second: str) -> bool:
    """Return True if the two numbers are a month and a day of the year, in either order."""
    full = int(year) if len(year) == 4 else 2000 + int(year)
    return is_day(full, int(first), int(second)) or is_day(full, int(second), int(first))


def calling_code(digits: str) -> str | None:
    """Return the country calling code (ITU-T E.164) that begins `digits`, or None."""
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE as CODES  # its tables take time to load

    return next((digits[:n] for n in (1, 2, 3) if int(digits[:n] or 0) in CODES), None)


def entropy(text: str) -> float:
    """Return the Shannon entropy of the characters, in bits per character."""
    n = len(text)
    return -sum(k / n * log2(k / n) for k in Counter(text).values())


_RUNS = re.compile(r"[0-9]+|[A-Z]+|[a-z]+")


def looks_random(secret: str) -> bool:
    """Return True if a key of 16 characters or more looks random rather than written by hand.

    A random key holds a digit, changes between digits, upper and lower case often, and repeats few
    characters.
    """
    n_runs = len(_RUNS.findall(secret))
    has_digit = any(c.isdigit() for c in secret)
    return has_digit and n_runs * 8 >= min(len(secret), 64) and entropy(secret) >= 2.8


# Top-level domains under which a bare name is taken for a domain. Left out are those that are also
# file extensions (py, sh, md, rs, zip), attributes in code (name, id, top, app) or words (in, is,
# so, to).
_BARE = frozenset(
    """
    com org net edu gov mil info biz io ai eu uk de fr nl se dk fi ch es pt cz sk hu ro bg
    gr ie jp cn kr hk ca mx ru ua tv lu li lv lt ee si no pl at be it us
    """.split()
)
# Those of them under which a name counts only with `www.`: they are also words or file types.
_WORDS = frozenset("li lu lt no pl at be it us info ch ai io pt es ie ro".split())
# Names of an object in code: "self.net" is no domain.
_OBJECTS = frozenset("self this cls".split())
_SECOND_LEVEL = frozenset("co com org net gov edu ac or ne go".split())
_COUNTRIES = frozenset(
    """
    uk au nz br za jp kr in tr ar mx cn tw hk sg my th id ph vn il ke ng gh eg sa ae pk bd
    lk cy pl ua pe co ve ec uy gt do pr
    """.split()
)
FILE_ENDINGS = frozenset(
    """
    png jpg jpeg gif svg webp bmp ico tif tiff css js ts jsx tsx mjs json yml yaml toml xml
    html htm txt csv tsv pdf doc docx xls xlsx ppt pptx zip gz tar rar py ipynb rb rs go
    java kt cpp hpp sh bat ps sql md rst log lock exe dll mp3 mp4 wav mov avi service target
    socket timer mount
    """.split()
)


def is_top_level(label: str) -> bool:
    """Return True if `label` (lower case) is a top-level domain that this package knows."""
    return label in _BARE or label in _COUNTRIES


def is_bare_domain(name: str) -> bool:
    """Return True if dotted labels without a scheme are a domain name.

    They may also be a file name, an attribute in code, or the end of one sentence and the beginning
    of the next.

    The top-level domain must be in lower case, unless the whole name is in upper case. Under
    endings that are also words or file types, only names with `www.` or a second-level ending
    (`co.pl`) count.
    """
    labels = name.split(".")
    if not (labels[-1].islower() or name.isupper()) or labels[0] in _OBJECTS:
        return False
    lower = [label.lower() for label in labels]
    if lower[-1] in _COUNTRIES and len(labels) > 2 and lower[-2] in _SECOND_LEVEL:
        return True
    if lower[-1] in _WORDS and lower[-1] not in {"io", "ai"}:
        return lower[0] == "www"
    return lower[-1] in _BARE and (len(labels[-2]) > 1 or lower[-1] in {"com", "org", "net"})


# --- National numbers that python-stdnum does not have

_NO_NINO = frozenset("BG GB KN NK NT TN ZZ".split())


def gb_nino(number: str) -> bool:
    """Return True if a British national insurance number has a prefix that is given."""
    return number[:2].upper() not in _NO_NINO


def de_pension(number: str) -> bool:
    """Return True for a number of the German pension insurance, by its last digit."""
    number = number.replace(" ", "")
    digits = number[:8] + f"{ord(number[8]) - 64:02}" + number[9:11]
    weighted = (
        int(c) * w for c, w in zip(digits, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True)
    )
    return sum(value // 10 + value % 10 for value in weighted) % 10 == int(number[11])


def au_medicare(number: str) -> bool:
    """Return True if the ninth digit of an Australian Medicare number is its weighted sum."""
    digits = [int(c) for c in number if c.isdigit()]
    return (
        sum(d * w for d, w in zip(digits, (1, 3, 7, 9, 1, 3, 7, 9), strict=False)) % 10 == digits[8]
    )


def us_npi(number: str) -> bool:
    """Return True if a number of a US provider passes the Luhn check behind 80840."""
    return passes_luhn("80840" + "".join(filter(str.isdigit, number)))


def us_dea(number: str) -> bool:
    """Return True if the last digit of a number of the US DEA is the sum of the others."""
    digits = [int(c) for c in number[2:]]
    return (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def hk_id(number: str) -> bool:
    """Return True if the character in brackets of a Hong Kong identity card is its weighted sum."""
    plain = re.sub("[^A-Z0-9]", "", number).rjust(9)
    values = [36 if c == " " else int(c, 36) for c in plain[:-1]]
    return -sum(v * w for v, w in zip(values, range(9, 1, -1), strict=True)) % 11 == int(
        plain[-1], 16
    )


def tw_id(number: str) -> bool:
    """Return True if the last digit of a Taiwanese identity number is its weighted sum."""
    first = "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(number[0]) + 10
    digits = [first // 10, *(int(c) * w for c, w in zip(number[1:9], range(8, 0, -1), strict=True))]
    return -(sum(digits) + first % 10 * 9) % 10 == int(number[9])


def is_card(number: str) -> bool:
    """Return True if a card network issues such numbers, and the Luhn digit is right."""
    return passes_luhn(number) and is_issued("".join(filter(str.isdigit, number)))


# --- Vehicles and wallets

_VIN_VALUES = dict(
    zip(
        "ABCDEFGHJKLMNPRSTUVWXYZ0123456789",
        map(int, "12345678123457923456789" + "0123456789"),
        strict=True,
    )
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_vin(number: str) -> bool:
    """Return True if the ninth character is the check character of ISO 3779 in North America."""
    n_letters = sum(c.isalpha() for c in number)
    total = sum(_VIN_VALUES[c] * w for c, w in zip(number, _VIN_WEIGHTS, strict=True))
    return 3 <= n_letters <= 14 and "0123456789X"[total % 11] == number[8]


def with_check_character(number: str) -> str:
    """Return the number of a vehicle with the right ninth character (17 characters, no I, O, Q)."""
    places = zip(number.upper(), _VIN_WEIGHTS, strict=True)
    total = sum(_VIN_VALUES[c] * weight for c, weight in places)
    return number[:8] + "0123456789X"[total % 11] + number[9:]


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def is_exported_key(text: str) -> bool:
    """Return True for a private key of Bitcoin as wallets export it, by its checksum."""
    value = _base58_value(text)
    size = 37 if len(text) == 51 else 38
    if value >= 1 << (8 * size):
        return False
    raw = value.to_bytes(size, "big")
    return sha256(sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


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


_RUN = re.compile(r"[A-Za-z0-9]{20,}")


def is_no_word(secret: str) -> bool:
    """Return True for what looks random, or is a run of letters of both cases that is no name."""
    from sanitizer.identifiers.secrets import is_mixed

    return looks_random(secret) or any(is_mixed(run) for run in _RUN.findall(secret))


def has_two_characters(secret: str) -> bool:
    """Return True if a value is not one character repeated."""
    return len(set(secret)) > 1
