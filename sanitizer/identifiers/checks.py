"""Checks whether a string of the right shape is an identifier: check digits, ranges and lists.

python-stdnum has most of them; here is what it has not, or what it takes too easily.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from functools import cache
from hashlib import sha256
from math import log2

from stdnum import iban, luhn, numdb
from stdnum.bitcoin import b58decode
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
    return compact.isascii() and bool(iban.is_valid(compact, check_country=False))


def is_ssn(digits: str) -> bool:
    """Return True if nine digits can be a US social security number or an ITIN.

    An ITIN has the first digit 9, and fourth and fifth digits of the issued ranges.
    """
    digits = "".join(filter(str.isdigit, digits))
    area, group, serial = digits[:3], int(digits[3:5]), digits[5:]
    if area in {"000", "666"} or group == 0 or serial == "0000":
        return False
    return area < "900" or (group >= 50 and group not in {66, 67, 68, 69, 89, 93})


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
    return 3 <= n_letters <= 14 and with_check_character(number) == number


def with_check_character(number: str) -> str:
    """Return the number of a vehicle with the right ninth character (17 characters, no I, O, Q)."""
    places = zip(number.upper(), _VIN_WEIGHTS, strict=True)
    total = sum(_VIN_VALUES[c] * weight for c, weight in places)
    return number[:8] + "0123456789X"[total % 11] + number[9:]


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def is_base58check(address: str) -> bool:
    """Return True if an address or a key in base 58 ends in the checksum of its other bytes."""
    return base58check(b58decode(address)[:-4]) == address


def base58check(payload: bytes) -> str:
    """Return bytes, of which the first says the network, in base 58 with their checksum."""
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


_NO_STREET = frozenset(
    """
    a an in on at to by for from per down up along across off near or with is was are were this
    that each every more other different mile miles minute minutes hour hours day days year years
    people cars feet meters blocks block times percent side dirt gravel busy month months week weeks
    i we he she it they you my our his her their but who which pay paid live lives lived kids
    children adults rooms bedrooms have has had be been way lane lanes and of the
    """.split()
)
"""Words that no street has between its number and its type: "5 months old, and flat 12 is cold"."""
_MOST_WORDS = 7
UK_AREAS = frozenset(
    """
    AB AL B BA BB BD BF BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY
    E EC EH EN EX FK FY G GL GU GY HA HD HG HP HR HS HU HX IG IM IP IV JE KA KT KW KY L LA LD LE LL
    LN LS LU M ME MK ML N NE NG NN NP NR NW OL OX PA PE PH PL PO PR RG RH RM S SA SE SG SK SL SM SN
    SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB W WA WC WD WF WN WR WS WV YO ZE
    """.split()
)


def is_street_name(words: str) -> bool:
    """Return True if words between the number of a house and its street may be a name."""
    found = re.findall(r"[^\W\d_]+", words.lower())
    return 0 < len(found) <= _MOST_WORDS and _NO_STREET.isdisjoint(found)


def is_uk_postcode(code: str) -> bool:
    """Return True if a code begins with an area of Royal Mail, and is no "b2 1st" and no hash."""
    upper = code.upper()
    area = upper[: 2 if upper[1].isalpha() else 1]
    is_hash = set(code) <= set("0123456789abcdef")
    return area in UK_AREAS and code[-3:] not in {"1st", "2nd", "3rd"} and not is_hash
