"""Checks that decide whether a string of the right shape is an identifier: check digits, ranges,
lists.

Every function takes text of bounded length and is linear in it. Nothing here searches; see
`identifier_numbers`, `identifier_words` and `identifier_places`.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from ipaddress import ip_address
from math import log2


def plain_words(text: str) -> list[str]:
    """The words of a list written as one string."""
    return text.split()


# (lowest prefix, highest prefix, lengths): issuer ranges of ISO/IEC 7812 as the networks publish
# them.
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

IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC",
        32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip

CALLING_CODES = frozenset(
    plain_words(
        "1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 "
        "82 84 86 90 91 92 93 94 95 98 211 212 213 216 218"
    )
) | frozenset(
    f"{tens}{unit}"
    for tens in plain_words("22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99")
    for unit in range(10)
)

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip


def luhn_digit(digits: str) -> str:
    """The digit that makes `digits` plus it pass the Luhn check (ISO/IEC 7812-1, Annex B)."""
    total = 0
    for i, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 - i % 2)
        total += value - 9 * (value > 9)
    return str(-total % 10)


def passes_luhn(digits: str) -> bool:
    """Whether the digits end in their Luhn digit and are not one digit repeated."""
    return len(set(digits)) > 1 and luhn_digit(digits[:-1]) == digits[-1]


def is_issued(digits: str) -> bool:
    """Whether a card network issues numbers with this prefix and this length."""
    n = len(digits)
    return any(
        n in lengths and low <= digits[: len(low)] <= high for low, high, lengths in CARD_ISSUERS
    )


def iban_remainder(compact: str) -> int:
    """ISO 7064 mod 97-10 of an IBAN without spaces; 1 for a valid one."""
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97


def is_iban(compact: str) -> bool:
    """Whether the country, its length and the check digits agree."""
    return IBAN_LENGTHS.get(compact[:2].upper()) == len(compact) and iban_remainder(compact) == 1


def is_ssn(digits: str) -> bool:
    """Whether nine digits can be a US SSN, or an ITIN (first digit 9, fourth and fifth of the
    issued ranges).
    """
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
    """Whether the standard library reads `text` as an IPv4 or IPv6 address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_day(year: int, month: int, day: int) -> bool:
    """Whether the day exists in the proleptic Gregorian calendar and the year is 1800 to 2199."""
    try:
        return date(year, month, day).year in range(1800, 2200)
    except ValueError:
        return False


def is_numeric_day(year: str, first: str, second: str) -> bool:
    """Whether the two numbers are a month and a day of the year, in either order."""
    full = int(year) if len(year) == 4 else 2000 + int(year)
    return is_day(full, int(first), int(second)) or is_day(full, int(second), int(first))


def calling_code(digits: str) -> str | None:
    """The country calling code that begins `digits` (ITU-T E.164), if there is one."""
    return next((digits[:n] for n in (1, 2, 3) if digits[:n] in CALLING_CODES), None)


def entropy(text: str) -> float:
    """Shannon entropy of the characters, in bits per character."""
    n = len(text)
    return -sum(k / n * log2(k / n) for k in Counter(text).values())


_RANDOM_PARTS = re.compile(r"[0-9]+|[A-Z]+|[a-z]+")


def looks_random(secret: str) -> bool:
    """Whether a key of 16 characters or more looks drawn at random rather than written.

    It holds a digit, changes between digits, upper and lower case often, and repeats few
    characters.
    """
    parts = len(_RANDOM_PARTS.findall(secret))
    has_digit = any(c.isdigit() for c in secret)
    return has_digit and parts * 8 >= min(len(secret), 64) and entropy(secret) >= 2.8


# Top-level domains under which a bare name is taken for a domain. Left out: those that are also
# file
# extensions (py, sh, md, rs, pl, zip), attributes in code (name, id, top, app) or words (in, it,
# is, so, to).
_BARE = frozenset(
    plain_words(
        "com org net edu gov mil info biz io ai eu uk de fr nl se dk fi ch es pt cz sk hu ro bg gr "
        "ie jp cn kr hk ca mx "
        "ru ua tv lu li lv lt ee si no pl at be it us"
    )
)
_WORDS = frozenset(plain_words("li lu lt no pl at be it us info ch ai io pt es ie ro"))
_SECOND_LEVEL = frozenset(plain_words("co com org net gov edu ac or ne go"))
_COUNTRIES = frozenset(
    plain_words(
        "uk au nz br za jp kr in tr ar mx cn tw hk sg my th id ph vn il ke ng gh eg sa ae pk bd lk "
        "cy pl ua pe co ve ec uy "
        "gt do pr"
    )
)
FILE_ENDINGS = frozenset(
    plain_words(
        "png jpg jpeg gif svg webp bmp ico tif tiff css js ts jsx tsx mjs json yml yaml toml xml "
        "html htm txt csv tsv pdf "
        "doc docx xls xlsx ppt pptx zip gz tar rar py ipynb rb rs go java kt cpp hpp sh bat ps sql md rst log lock exe "
        "dll mp3 mp4 wav mov avi service target socket timer mount"
    )
)


def is_top_level(label: str) -> bool:
    """Whether `label` (lower case) is a top-level domain that this package knows."""
    return label in _BARE or label in _COUNTRIES


def is_bare_domain(name: str) -> bool:
    """Whether dotted labels without a scheme are a domain name and not a file, an attribute or two
    sentences.

    The top-level domain must be in lower case, unless the whole name is in upper case. Under
    endings that are also words or file types, only names with `www.` or a second-level ending
    (`co.pl`) count.
    """
    labels = name.split(".")
    if not (labels[-1].islower() or name.isupper()):
        return False
    lower = [label.lower() for label in labels]
    if lower[-1] in _COUNTRIES and len(labels) > 2 and lower[-2] in _SECOND_LEVEL:
        return True
    if lower[-1] in _WORDS and lower[-1] not in {"io", "ai"}:
        return lower[0] == "www"
    return lower[-1] in _BARE and (len(labels[-2]) > 1 or lower[-1] in {"com", "org", "net"})
