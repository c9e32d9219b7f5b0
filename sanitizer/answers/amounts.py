"""Amounts as people write them: read, and written again in the same way.

By hand, since libraries guess: a number that can be read in two ways ("1.240") is not read at all,
unless the caller knows which sign is before the decimals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

MOST_DIGITS = 30
"""Digits of a value at most."""
PERCENT = "%"
TIMED = {"minute": 1, "hour": 60, "day": 1440, "week": 10080}
"""Unit of time -> its minutes."""
_SAME_UNIT = {
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "wk": "week",
    "wks": "week",
    "yr": "year",
    "yrs": "year",
    "percent": PERCENT,
    "per cent": PERCENT,
    "pct": PERCENT,
}
_CURRENCIES = {
    name: code
    for code, names in {
        "GBP": "£ gbp pound pounds quid",
        "EUR": "€ eur euro euros",
        "USD": "$ us$ usd dollar dollars",
        "INR": "₹ inr rs rupee rupees",
        "CHF": "chf franken francs",
        "JPY": "¥ jpy yen",
        "PLN": "zł pln złoty zloty",
        "SEK": "sek",
        "NOK": "nok",
        "DKK": "dkk",
        "CZK": "kč czk",
        "CAD": "c$ ca$ cad",
        "AUD": "a$ au$ aud",
        "BRL": "r$ brl reais",
        "XAF": "xaf fcfa cfa f\u00a0cfa",
        "XOF": "xof",
        "KES": "kes ksh kshs shilling shillings",
        "GHS": "ghs gh\u20b5 cedi cedis",
        "NGN": "ngn \u20a6 naira",
        "ZAR": "zar rand",
        "EGP": "egp",
        "MAD": "mad dh dirham dirhams",
        "AED": "aed",
        "SAR": "sar riyal riyals",
        "PKR": "pkr",
        "LKR": "lkr",
        "BDT": "bdt taka \u09f3",
        "VND": "vnd \u20ab",
        "IDR": "idr rp",
        "MYR": "myr rm",
        "PHP": "php \u20b1",
        "THB": "thb \u0e3f baht",
        "KRW": "krw \u20a9 won",
        "CNY": "cny rmb yuan",
        "TWD": "twd nt$",
        "HKD": "hkd hk$",
        "SGD": "sgd s$ sg$",
        "NZD": "nzd nz$",
        "MXN": "mxn mx$",
        "COP": "cop",
        "CLP": "clp",
        "ARS": "ars",
        "PEN": "pen s/ soles",
        "HUF": "huf ft forint",
        "RON": "ron lei",
        "TRY": "try \u20ba tl lira",
        "UAH": "uah \u20b4 hryvnia",
        "RUB": "rub \u20bd rubles roubles",
        "ILS": "ils \u20aa shekel shekels",
        "ISK": "isk",
    }.items()
    for name in names.split()
}
CODES = frozenset(_CURRENCIES.values())
WITHOUT_CENTS = frozenset("JPY KRW XAF XOF VND IDR CLP HUF ISK TZS UGX RWF".split())
"""Currencies whose sums are whole."""
_WITH_COMMA = frozenset(["EUR", "CHF", "PLN"])
"""Currencies whose sums are written with a comma in some countries."""
_SCALES = {
    name: Decimal(10) ** power
    for power, names in {
        3: "k thousand grand",
        5: "lakh lakhs",
        6: "m mn mio million",
        7: "crore crores",
        9: "bn billion",
    }.items()
    for name in names.split()
}
_AMOUNT = re.compile(
    r"(?:about |around |approx\.? |ca\.? |~)?"
    r"(?P<before>[^\w\s.,+-]{0,3}\s?|[A-Za-z]{1,3}\$?[ .]{0,2})"
    rf"(?P<number>[0-9](?:[0-9.,'\u2019\u00a0 ]{{0,{MOST_DIGITS}}}[0-9])?)"
    rf"(?:\s?(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})\b)?"
    r"(?P<after>[^0-9\n]{0,30})",
    re.I,
)
_FRACTION = re.compile(
    r"(?:(?P<whole>[0-9]{1,3}) )?(?P<over>[0-9]{1,3})/(?P<under>[1-9][0-9]{0,2})\b"
)
_TIMES = re.compile(
    r"(?P<n>[0-9]{1,3}) ?[x\u00d7] ?"
    r"(?P<each>[^\d\s]{0,2}[0-9]{1,5}(?:[.,][0-9]{1,2})?(?![0-9]).{0,20})",
    re.S,
)
"""So many of one price: "2x95"."""
_PENCE = re.compile(r"(?i)(?P<n>[0-9]{1,3}(?:\.[0-9])?) ?(?:p|pence)(?: (?:a|per|each)\b.{0,12})?")
_FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8"}
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMERALS = {
    **{word: i for i, word in enumerate(_ONES)},
    **{word: 10 * i for i, word in enumerate(_TENS, 2)},
    **{
        f"{tens}-{ones}": 10 * i + j
        for i, tens in enumerate(_TENS, 2)
        for j, ones in enumerate(_ONES[1:10], 1)
    },
}
_TAXED = re.compile(
    r"(?i)(?:\s*\b(?:net|gross|brutto|netto|each|total|pcm|pw|p\.?a\.?|excl\.?|incl\.?|vat|plus)\b\.?)+\s*\Z"
)
"""What is said of a sum behind it and holds for no other one."""
_LASTING = re.compile(r"\s*(?:/|\b(?:an?|per|each|every|pro|par|por)\b)\s*[^\W\d_]+\s*\Z", re.I)
_GROUPS = "[0-9]{{1,3}}(?:{0}[0-9]{{3}})+|[0-9]{{1,2}}(?:{0}[0-9]{{2}})+{0}[0-9]{{3}}"
"""Digits in groups, in thousands or as in India; to be filled with the sign between them."""
_BY_LITRE = re.compile(r"(?i)/ ?l|\blit(?:er|re)\b|kwh|gallon")
THOUSAND, GROUPED = 1000, 10_000  # the least sum whose digits are grouped if no value shows how


@dataclass(frozen=True)
class Amount:
    """A number with its unit, and how it was written.

    Attributes:
        unit: in one spelling; "" for a plain number. before, after: as written around the number.
        decimals: digits after the point. point, group: the signs. scale: "k" or the like.
        literal: it is written in the formula, and takes the unit of what it is added to.
        shared: it was multiplied with per cents last, so that "/ 100" behind says it twice.
    """

    value: Decimal
    unit: str = ""
    before: str = ""
    after: str = ""
    decimals: int = 0
    point: str = "."
    group: str = ""
    scale: str = ""
    literal: bool = False
    shared: bool = False

    def like(self, value: Decimal, *others: Amount) -> Amount:
        """Return another value, written like this one and these."""
        every = (self, *others)
        styled = next((each for each in every if each.unit), self).plain()
        group = next((each.group for each in every if each.group), "")
        if not group and styled.unit[:3] in CODES and abs(value) >= GROUPED:
            group = "." if styled.point == "," else ","
        scale = styled.scale if all(each.scale == styled.scale for each in every) else ""
        decimals = max(each.decimals for each in every)
        return replace(
            styled, value=value, group=group, scale=scale, decimals=decimals, shared=False
        )

    def plain(self) -> Amount:
        """Return it without what is said of it alone: "net", "pcm"."""
        said = _TAXED.search(self.after)
        return replace(self, after=self.after[: said.start()]) if said else self

    def lasting(self) -> Amount:
        """Return a sum without what it is paid for: twelve times "890 a month" is none a month."""
        plain = self.plain()
        said = _LASTING.search(plain.after)
        if said is None:
            return plain
        return replace(plain, unit=self.unit.partition(" ")[0], after=plain.after[: said.start()])

    @property
    def is_plain(self) -> bool:
        """Whether it is a sum: of money, or without a unit."""
        return not self.unit or self.is_money

    @property
    def is_money(self) -> bool:
        """Whether its unit is a currency."""
        return self.unit[:3] in CODES

    def bare(self) -> str:
        """Return the number alone, with a point and without groups, as data has it."""
        written = f"{self.value:f}"
        return written.rstrip("0").rstrip(".") if "." in written and not self.decimals else written

    def __str__(self) -> str:
        value = self.value / _SCALES[self.scale.lower()] if self.scale else self.value
        exact = value == value.to_integral_value()
        places = self.decimals if exact else max(self.decimals, 2)
        if exact and not self.is_money and self.unit:
            places = 0  # "2,015 kg" of 310 times "6.5 kg"
        digits = f"{abs(value):,.{places}f}"
        if not exact and places > self.decimals and self.unit not in CODES:
            digits = digits.rstrip("0").rstrip(".")
        written = digits.replace(",", "\0").replace(".", self.point).replace("\0", self.group)
        sign = "-" if value < 0 else ""
        return f"{sign}{self.before}{written}{self.scale}{self.after}"


def read_amount(text: str, point: str = "") -> Amount | None:
    """Return a number with its unit; None for any other text, and where its signs are unclear.

    Args:
        point: the sign before decimals where a number alone does not show it.
    """
    if (special := _special(text, point)) is not None:
        return special
    word, _, rest = text.partition(" ")
    if word.lower() in _NUMERALS:
        text = f"{_NUMERALS[word.lower()]} {rest}".strip()
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    unit = _unit(match["before"], match["after"])
    signs = _signs(match["number"], unit, bool(match["before"].strip()), point)
    if signs is None:
        return None
    group, found = signs
    whole_part = match["number"].partition(found)[0] if found else match["number"]
    if group and not re.fullmatch(_GROUPS.format(re.escape(group)), whole_part):
        return None
    plain = "".join(c for c in match["number"] if c.isdecimal() or (found and c == found))
    scale = (match["scale"] or "").lower()
    decimals = len(plain.rpartition(found)[2]) if found else 0
    return Amount(
        Decimal(plain.replace(",", ".")) * _SCALES.get(scale, Decimal(1)),
        unit,
        match["before"],
        match["after"],
        decimals,
        found or ("," if group == "." else "."),
        group,
        text[slice(*match.span("scale"))] if scale else "",
    )


def _special(text: str, point: str) -> Amount | None:
    """Return a fraction, a number of prices ("2x95") or pence; None for any other text."""
    for sign, written in _FRACTIONS.items():
        if sign in text:
            text = text.replace(sign, f" {written}").strip()
    fraction = _FRACTION.match(text)
    if fraction is not None:
        whole = Decimal(fraction["whole"] or 0)
        value = whole + Decimal(fraction["over"]) / Decimal(fraction["under"])
        after = text[fraction.end() :]
        return Amount(value, _unit("", after), "", after)
    if times := _TIMES.fullmatch(text):
        each = read_amount(times["each"], point)
        return each and each.like(each.value * int(times["n"]))
    if pence := _PENCE.fullmatch(text):
        return Amount(Decimal(pence["n"]) / 100, "GBP", "\u00a3", decimals=2)
    return None


def _unit(before: str, after: str) -> str:
    """Return the unit that is written around a number, in one spelling."""
    said = _TAXED.search(after)
    after = after[: said.start()] if said else after
    first, _, rest = after.strip(" .").lower().partition(" ")
    sign = before.strip(" .").lower()
    if first in _CURRENCIES or sign in _CURRENCIES:
        behind = rest if first in _CURRENCIES else f"{first} {rest}"
        code = _CURRENCIES.get(sign) or _CURRENCIES[first]
        return f"{code} {behind.strip()}".strip()
    written = f"{sign} {first} {rest}".strip()
    if written in _SAME_UNIT:
        return _SAME_UNIT[written]
    words = [_SAME_UNIT.get(word, word) for word in written.split()]
    return " ".join(word.removesuffix("s") if len(word) > 2 else word for word in words)


def _signs(number: str, unit: str, led: bool, point: str) -> tuple[str, str] | None:
    """Return the sign between groups and the point of a number, "" where it has none.

    Args:
        led: a sign such as "£" stands before it. point: as for `read_amount`.
    """
    space = next((c for c in number if c in "'\u2019\u00a0 "), "")
    dots, commas = number.count("."), number.count(",")
    if dots and commas:
        last = max(".,", key=number.rfind)
        if number.count(last) > 1:
            return None
        return ("," if last == "." else "."), last
    sign = "." if dots else "," if commas else ""
    if number.count(sign or "\0") > 1:
        return sign, ""
    behind = number.rpartition(sign)[2] if sign else ""
    if len(behind) != len("000") or len(number) > len("999,000") or space:
        return space, sign
    # No sum has three decimals, but prices of fuel have.
    thousands = unit[:3] in CODES and _BY_LITRE.search(unit) is None
    if number.startswith("0") or (sign == point and not thousands):
        return space, sign
    with_comma = unit.partition(" ")[0] in _WITH_COMMA and not led
    return (sign, "") if point or thousands or (sign == ".") == with_comma else None
