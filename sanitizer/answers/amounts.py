"""Amounts as people write them: read, and written again in the same way.

By hand, since libraries guess: a number that can be read in two ways ("1.240") is not read at all,
unless the caller knows which sign is before the decimals.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files

FORMS = tomllib.loads(files("sanitizer.answers").joinpath("forms.toml").read_text("utf-8"))
"""What languages, currencies, units and numbers are called."""
MOST_DIGITS = 30
"""Digits of a value at most."""
PERCENT = "%"
"""Unit of per cents."""
_GROUPED = 1000
"""Least sum whose digits are grouped, if those that it is made of do not show how."""
_CURRENCIES = {
    name: code for code, names in FORMS["currencies"].items() for name in names.split(" ")
}
_SCALES = {name: Decimal(10) ** zeros for name, zeros in FORMS["scales"].items()}
_AMOUNT = re.compile(
    r"(?:about |around |approx\.? |ca\.? |~)?"
    r"(?P<before>[^\w\s.,+-]{0,3}\s?|[A-Za-z]{1,3}\$?[ .]{0,2})"
    rf"(?P<number>[0-9](?:[0-9.,'\u2019\u00a0 ]{{0,{MOST_DIGITS}}}[0-9])?)"
    rf"(?:\s?(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})\b)?"
    r"(?P<after>[^0-9\n]{0,30})",
    re.I,
)
_SAID = re.compile(
    r"(?i)(?:\s*\b(?:net|gross|brutto|netto|each|total|pcm|pw|p\.?a\.?|excl\.?|incl\.?|vat|plus)\b\.?)+\s*\Z"
)
"""What is said of a sum behind it and holds for no other one."""
_GROUPS = "[0-9]{{1,3}}(?:{0}[0-9]{{3}})+|[0-9]{{1,2}}(?:{0}[0-9]{{2}})+{0}[0-9]{{3}}"
"""Digits in groups, in thousands or as in India; to be filled with the sign between them."""


@dataclass(frozen=True)
class Amount:
    """A number with its unit, and how it was written.

    Attributes:
        unit: in one spelling; "" for a plain number. before, after: as written around the number.
        decimals: digits after the point. point, group: the signs. scale: "k" or the like.
        literal: it is written in the formula, and takes the unit of what it is added to.
        shared: it was multiplied with per cents last, so that "/ 100" behind says it twice.
        text: all of it as it was written; "" if it was computed.
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
    text: str = ""

    def like(self, value: Decimal, *others: Amount) -> Amount:
        """Return another value, written like this one and these."""
        every = (self, *others)
        styled = next((each for each in every if each.unit), self)
        same = (each.group for each in every if each.group and each.point == styled.point)
        group = styled.group or next(same, "")
        small = all(abs(each.value) < _GROUPED for each in every)
        if not group and styled.is_money and small and abs(value) >= _GROUPED:
            group = "." if styled.point == "," else ","
        return replace(
            styled,
            value=value,
            group=group,
            scale=styled.scale if all(each.scale == styled.scale for each in every) else "",
            decimals=max(each.decimals for each in every),
            literal=False,
            shared=False,
            text="",
        )

    def lasting(self) -> Amount:
        """Return a sum without what it is paid for: twelve times "890 a month" is none a month."""
        if not self.is_money:
            return self
        named = re.match(r"\s?\S+", self.after) if not self.before.strip() else None
        return replace(self, unit=self.unit.partition(" ")[0], after=named[0] if named else "")

    @property
    def shown(self) -> Decimal:
        """The number as it is written: 19 of "19 %", whose value is .19."""
        return self.value * 100 if self.unit == PERCENT else self.value

    @property
    def is_money(self) -> bool:
        """Whether its unit is a currency."""
        return self.unit.partition(" ")[0] in FORMS["currencies"]

    def bare(self) -> str:
        """Return the number alone, with a point and without groups, as data has it."""
        written = f"{self.shown:f}"
        return written.rstrip("0").rstrip(".") if "." in written and not self.decimals else written

    def __str__(self) -> str:
        if self.text:
            return self.text
        value = self.shown / _SCALES[self.scale.lower()] if self.scale else self.shown
        if self.scale and value != rounded(value, max(self.decimals, 2)):
            return str(replace(self, scale="", decimals=0))  # 1,234 and not "1.23k"
        exact = value == value.to_integral_value()
        places = self.decimals if exact else max(self.decimals, 2)
        if exact and self.unit and not self.is_money:
            places = 0  # "2,015 kg" of 310 times "6.5 kg"
        near = rounded(value, places)
        if value and not near:
            raise ValueError(f"{places} decimals are too few to say that it is not zero")
        digits = f"{abs(near):,.{places}f}"
        if not exact and places > self.decimals and not self.is_money:
            digits = digits.rstrip("0").rstrip(".")
        written = digits.translate({ord(","): self.group, ord("."): self.point})
        return f"{'-' * (value < 0)}{self.before}{written}{self.scale}{self.after}"


def rounded(value: Decimal, places: int) -> Decimal:
    """Return a number with so many decimals, halves rounded up as on a bill.

    >>> rounded(Decimal("9.805"), 2)
    Decimal('9.81')
    """
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def read_amount(text: str, point: str = "") -> Amount | None:
    """Return a number with its unit; None for any other text, and where its signs are unclear.

    Args:
        point: the sign before decimals where a number alone does not show it.
    """
    word, _, rest = text.partition(" ")
    word = str(FORMS["numerals"].get(word.lower(), word))
    match = _AMOUNT.fullmatch(f"{word} {rest}".rstrip())
    if match is None:
        return None
    before, number, after = match["before"], match["number"], _SAID.sub("", match["after"])
    unit = _unit(before, after)
    signs = _signs(number, unit, point)
    if signs is None:
        return None
    group, found = signs
    whole, _, decimals = number.partition(found) if found else (number, "", "")
    if group and not re.fullmatch(_GROUPS.format(re.escape(group)), whole):
        return None
    if unit in ("p", "pence") and not group:
        return Amount(Decimal(number) / 100, "GBP", "\u00a3", decimals=2, text=text)
    scale = match["scale"] or ""
    value = Decimal(f"{re.sub('[^0-9]', '', whole)}.{decimals}")
    return Amount(
        value * _SCALES.get(scale.lower(), Decimal(1)) / (100 if unit == PERCENT else 1),
        unit,
        before,
        after,
        len(decimals),
        found or ("," if group == "." else "."),
        group,
        scale,
        text=text,
    )


def _unit(before: str, after: str) -> str:
    """Return the unit that is written around a number, in one spelling."""
    sign, words = before.strip(" .").lower(), after.strip(" .").lower().split(" ")
    if sign in _CURRENCIES:
        return " ".join([_CURRENCIES[sign], *words]).strip()
    if words[0] in _CURRENCIES:
        return " ".join([_CURRENCIES[words[0]], *words[1:]])
    written = " ".join([sign, *words]).strip()
    if written in FORMS["units"]:
        return str(FORMS["units"][written])
    singular = (FORMS["units"].get(word, word) for word in written.split())
    return " ".join(word.removesuffix("s") if len(word) > 2 else word for word in singular)


def _signs(number: str, unit: str, point: str) -> tuple[str, str] | None:
    """Return the sign between groups and the point of a number, "" where it has none."""
    space = next((c for c in number if c in "'\u2019\u00a0 "), "")
    dots, commas = number.count("."), number.count(",")
    if dots and commas:
        last = max(".,", key=number.rfind)
        return ("," if last == "." else ".", last) if number.count(last) == 1 else None
    sign = "." if dots else "," if commas else ""
    if dots + commas > 1:
        return sign, ""
    behind = number.rpartition(sign)[2] if sign else ""
    if len(behind) != len("000") or len(number) > len("999,000") or space:
        return space, sign
    # No sum has three decimals, but prices of fuel have.
    thousands = unit in FORMS["currencies"]
    if number.startswith("0") or (sign == point and not thousands):
        return space, sign
    return (sign, "") if point or thousands or sign == "," else None
