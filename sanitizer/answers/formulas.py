"""Formulas over hidden values, computed on this machine when an answer is restored.

An API cannot add, sort or compare what it does not see, but it can write down what is to be done:
`{{= <MONEY_1> + <MONEY_2> }}`. `INSTRUCTION` tells it how. Arithmetic is exact (`decimal`), there
is no name but the functions below, nothing is evaluated as Python, and everything is bounded: an
API may be hostile. A formula that does not parse, mixes units, or holds a value that can be read in
two ways ("1.240", "03/04/2025") stays as it came: never a wrong result.
"""

from __future__ import annotations

import calendar
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal, DecimalException, localcontext
from html import unescape
from statistics import median
from typing import Any

from sanitizer.answers.links import MAY_LINK

OPENS, CLOSES = "{{=", "}}"
LONGEST, MOST_ROWS, DEEPEST, MOST_DIGITS = 4000, 200, 20, 30
"""Characters of a formula, its rows, its parentheses, and digits of a value."""
INSTRUCTION = """\
Some values of this conversation are hidden behind placeholders such as <MONEY_A> or <DATE_A>; the \
reader's machine puts them back. You cannot see them, so never guess them. Where the answer has to \
calculate with them, sort by them or compare them, write a formula; it is computed where they are:
{{= SUM(<MONEY_A>, <MONEY_B>) * 1.19 }} with + - * / ( ), SUM, AVERAGE, MEDIAN, MIN, MAX, COUNT, \
ROUND(x, 2);
{{= DAYS(<DATE_B>, <DATE_A>) }} for the days from the second date to the first, WEEKS and YEARS \
for whole ones, {{= <DATE_A> + 14 }} for a date;
{{= IF(<MONEY_A> > 500, "yes", "no") }};
{{= ROWS DESC FIRST 3 WHERE > 100
<MONEY_A> :: <ORGANIZATION_A>: <MONEY_A>
<MONEY_B> :: <ORGANIZATION_B>: <MONEY_B>
}} sorts lines by what stands before "::" (ASC or DESC), keeps those above 100, of these the first \
3, and shows what stands behind "::"; each of the three may be left out.
Write placeholders exactly as they are, and everything else as usual."""
"""What an API must be told, in about 350 tokens. It is the same in every conversation."""

_PLACEHOLDER = r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>"
_TOKEN = re.compile(
    rf"\s*(?:(?P<held>{_PLACEHOLDER})|(?P<number>[0-9]{{1,{MOST_DIGITS}}}(?:\.[0-9]{{1,12}})?%?)"
    r"|(?P<name>[A-Za-z]{2,8})|\"(?P<text>[^\"\n]{0,400})\"|(?P<sign>>=|<=|!=|[-+*/(),<>=]))"
)
_ROWS = re.compile(
    r"\s*ROWS\b(?P<how>(?:[ \t]+(?:ASC|DESC))?)(?:[ \t]+FIRST[ \t]+(?P<first>[0-9]{1,3}))?"
    r"(?:[ \t]+WHERE[ \t]+(?P<op>>=|<=|!=|[<>=])(?P<limit>[^\n]+))?[ \t]*\n(?P<rows>.*)",
    re.S,
)
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
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
    }.items()
    for name in names.split()
}
_WITH_COMMA = frozenset(["EUR", "CHF"])
"""Currencies whose sums are written with a comma in some countries."""
_SCALES = {
    name: Decimal(10) ** power
    for power, names in {
        3: "k thousand",
        5: "lakh lakhs",
        6: "m mn mio million",
        7: "crore crores",
        9: "bn billion",
    }.items()
    for name in names.split()
}
_AMOUNT = re.compile(
    r"(?P<before>[^\w\s.,+-]{0,3}\s?|[A-Za-z]{2,3}\$?[ .]{0,2})"
    rf"(?P<number>[0-9](?:[0-9.,'\u2019\u00a0 ]{{0,{MOST_DIGITS}}}[0-9])?)"
    rf"(?:\s?(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})\b)?"
    r"(?P<after>[^0-9\n]{0,30})",
    re.I,
)
_NUMERALS = {
    word: i
    for i, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
}
_MONTHS = tuple(
    names.split()
    for names in (
        "January February March April May June July August September October November December",
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
)
_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DIGITAL = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})")
_DAY_FIRST = re.compile(
    r"(?:[^\W\d_]{2,10},? (?:the )?)?([0-9]{1,2})(?:st|nd|rd|th|\.)? (?:of |de )?"
    r"([^\W\d_]{3,10})\.?"
    r",?(?: (?:de )?([0-9]{4}))?"
)
_MONTH_FIRST = re.compile(r"([^\W\d_]{3,10})\.? ([0-9]{1,2})(?:st|nd|rd|th)?(?:,? ([0-9]{4}))?")
_LASTING = re.compile(r"\s*(?:/|\b(?:an?|per|each|every|pro|par|por)\b)\s*[^\W\d_]+\s*\Z", re.I)
_GROUPS = "[0-9]{{1,3}}(?:{0}[0-9]{{3}})+|[0-9]{{1,2}}(?:{0}[0-9]{{2}})+{0}[0-9]{{3}}"
"""Digits in groups, in thousands or as in India; to be filled with the sign between them."""
_GROUPED = 10_000  # the least sum whose digits are grouped if no value shows how
_HALF_YEAR = timedelta(days=182)
_LARGEST_DAY, _LEAP_FREE, _LAST_MONTH = 31, 2001, 12


class _Unclear(Exception):
    """A formula that cannot be computed, or can be read in two ways."""


@dataclass(frozen=True)
class _Amount:
    """A number with its unit, and how it was written.

    Attributes:
        unit: in one spelling; "" for a plain number. before, after: as written around the number.
        decimals: digits after the point. point, group: the signs. scale: "k" or the like.
        literal: it is written in the formula, and takes the unit of what it is added to.
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

    def like(self, value: Decimal, *others: _Amount) -> _Amount:
        """Return another value, written like this one and these."""
        every = (self, *others)
        styled = next((each for each in every if each.unit), self)
        group = next((each.group for each in every if each.group), "")
        if not group and styled.unit[:3] in _CURRENCIES.values() and abs(value) >= _GROUPED:
            group = "." if styled.point == "," else ","
        scale = styled.scale if all(each.scale == styled.scale for each in every) else ""
        decimals = max(each.decimals for each in every)
        return replace(styled, value=value, group=group, scale=scale, decimals=decimals)

    def __str__(self) -> str:
        value = self.value / _SCALES[self.scale.lower()] if self.scale else self.value
        exact = value == value.to_integral_value()
        places = self.decimals if exact else max(self.decimals, 2)
        digits = f"{abs(value):,.{places}f}"
        if not exact and places > self.decimals and self.unit not in _CURRENCIES.values():
            digits = digits.rstrip("0").rstrip(".")
        written = digits.replace(",", "\0").replace(".", self.point).replace("\0", self.group)
        sign = "-" if value < 0 else ""
        return f"{sign}{self.before}{written}{self.scale}{self.after}"


@dataclass(frozen=True)
class _Day:
    """A date, and how it was written: a format with "{d}", "{m}", "{y}" and names of months."""

    day: date
    form: str
    months: Sequence[str] = ()
    padded: bool = False
    has_year: bool = True

    def __str__(self) -> str:
        width = 2 if self.padded else 1
        month = self.months[self.day.month - 1] if self.months else f"{self.day.month:0{width}}"
        return self.form.format(d=f"{self.day.day:0{width}}", m=month, y=f"{self.day.year:04}")


_Value = _Amount | _Day | str


def compute(
    written: str, originals: Mapping[str, str], restore: Callable[[str], str]
) -> str | None:
    """Return the result of a formula, None if it cannot be computed for sure.

    >>> hidden = {"<MONEY_1>": "£1,250.00", "<MONEY_2>": "£980.50"}
    >>> compute("{{= <MONEY_1> + <MONEY_2> }}", hidden, str)
    '£2,230.50'

    Args:
        written: the formula with its marks. originals: placeholder -> original.
        restore: restores the placeholders of a row that is shown.
    """
    inner = unescape(written.removeprefix(OPENS).removesuffix(CLOSES)).replace("\\_", "_")
    held = re.findall(_PLACEHOLDER, inner)
    if len(written) > LONGEST or not any(each in originals for each in held):
        return None
    if MAY_LINK.search(inner) or OPENS in inner:
        return None  # which link is shown would tell whoever is asked for it how values compare
    try:
        with localcontext(prec=2 * MOST_DIGITS):
            rows = _ROWS.fullmatch(inner)
            if rows is not None:
                return _sorted(rows, originals, restore)
            return str(_Parser(inner, originals).whole())
    except (_Unclear, DecimalException, OverflowError, ValueError, RecursionError):
        return None


def _sorted(
    rows: re.Match[str], originals: Mapping[str, str], restore: Callable[[str], str]
) -> str:
    """Return the rows of a formula, sorted and chosen by their keys."""
    lines = [line for line in rows["rows"].split("\n") if line.strip()]
    parted = [line.partition("::") for line in lines]
    if not lines or len(lines) > MOST_ROWS or not all(mark for _, mark, _ in parted):
        raise _Unclear
    keyed = [(_Parser(key, originals).whole(), text.strip()) for key, _, text in parted]
    if rows["op"]:
        limit = _Parser(rows["limit"], originals).whole()
        keyed = [(key, text) for key, text in keyed if _compared(rows["op"], key, limit)]
    how = rows["how"].strip()
    if how and keyed:
        places = [_comparable(key, keyed[0][0])[0] for key, _ in keyed]
        order = sorted(range(len(keyed)), key=places.__getitem__, reverse=how == "DESC")
        keyed = [keyed[i] for i in order]
    chosen = keyed[: int(rows["first"])] if rows["first"] else keyed
    return "\n".join(restore(text) for _, text in chosen)


class _Parser:
    """Reads one expression by descent.

    Args:
        text: the expression. originals: placeholder -> original.
    """

    def __init__(self, text: str, originals: Mapping[str, str]) -> None:
        self._originals = originals
        self._tokens: list[tuple[str, str]] = []
        self._at, self._depth, done = 0, 0, 0
        text = text.strip()
        while done < len(text):
            token = _TOKEN.match(text, done)
            if token is None or token.lastgroup is None:
                raise _Unclear
            self._tokens.append((token.lastgroup, token[token.lastgroup]))
            done = token.end()

    def whole(self) -> _Value:
        """Return the value of all of it."""
        value = self._sum()
        if self._at != len(self._tokens):
            raise _Unclear
        return value

    def _sign(self, *signs: str) -> str:
        """Take one of these signs if it is next, else return ""."""
        if self._at < len(self._tokens):
            kind, written = self._tokens[self._at]
            if kind == "sign" and written in signs:
                self._at += 1
                return written
        return ""

    def _need(self, sign: str) -> None:
        if not self._sign(sign):
            raise _Unclear

    def _sum(self) -> _Value:
        value = self._product()
        while sign := self._sign("+", "-"):
            value = _added(value, self._product(), sign)
        return value

    def _product(self) -> _Value:
        value = self._one()
        while sign := self._sign("*", "/"):
            value = _multiplied(value, self._one(), sign)
        return value

    def _one(self) -> _Value:
        if self._sign("-"):
            value = _amount(self._one())
            return replace(value, value=-value.value)
        if self._sign("("):
            return self._nested(self._sum, ")")
        if self._at == len(self._tokens):
            raise _Unclear
        kind, written = self._tokens[self._at]
        self._at += 1
        if kind == "name":
            self._need("(")
            choice, name = written.upper() == "IF", written.upper()
            read = self._choice if choice else lambda: _function(name, self._arguments())
            return self._nested(read, ")")
        return self._leaf(kind, written)

    def _leaf(self, kind: str, written: str) -> _Value:
        """Return the value of a number, a placeholder or a text."""
        if kind == "number":
            plain, share = Decimal(written.rstrip("%")), written.endswith("%")
            places = len(written.partition(".")[2])
            return _Amount(plain / 100 if share else plain, decimals=places, literal=not share)
        if kind == "held":
            return _read(self._originals, written)
        if kind == "text":
            return written
        raise _Unclear

    def _nested(self, read: Callable[[], _Value], closing: str) -> _Value:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _Unclear
        value = read()
        self._need(closing)
        self._depth -= 1
        return value

    def _arguments(self) -> list[_Value]:
        found = [self._sum()]
        while self._sign(","):
            found.append(self._sum())
        return found

    def _choice(self) -> _Value:
        first = self._sum()
        sign = self._sign(*_COMPARED)
        if not sign:
            raise _Unclear
        second = self._sum()
        self._need(",")
        yes = self._sum()
        self._need(",")
        no = self._sum()
        return yes if _compared(sign, first, second) else no


def _amount(value: _Value) -> _Amount:
    if not isinstance(value, _Amount):
        raise _Unclear
    return value


def _comparable(first: _Value, second: _Value) -> tuple[Decimal | date, Decimal | date]:
    """Return what two values are compared by; a number of the formula itself fits every unit."""
    if isinstance(first, _Day) and isinstance(second, _Day):
        if first.has_year != second.has_year:
            raise _Unclear
        return first.day, second.day
    one, two = _amount(first), _amount(second)
    if one.unit != two.unit and not (one.literal or two.literal):
        raise _Unclear
    return one.value, two.value


def _compared(sign: str, first: _Value, second: _Value) -> bool:
    return _COMPARED[sign](*_comparable(first, second))


def _added(first: _Value, second: _Value, sign: str) -> _Value:
    if isinstance(first, _Day):
        if isinstance(second, _Day):
            if sign == "-":
                return _function("DAYS", [first, second])
            raise _Unclear
        return _moved(first, second, -1 if sign == "-" else 1)
    one, two = _amount(first), _amount(second)
    if one.unit != two.unit and not (one.literal or two.literal):
        raise _Unclear
    return one.like(one.value + two.value if sign == "+" else one.value - two.value, two)


def _moved(day: _Day, by: _Value, sign: int) -> _Day:
    """Return a date so many days, weeks, months or years later."""
    amount = _amount(by)
    number = int(amount.value) * sign
    if number != amount.value * sign:
        raise _Unclear
    if amount.unit in ("", "day", "week"):
        moved = day.day + timedelta(days=number * (7 if amount.unit == "week" else 1))
        early, late = sorted((day.day, moved))
        in_march = date(late.year, 3, 1)
        if not day.has_year and (late - early > _HALF_YEAR or early < in_march <= late):
            raise _Unclear  # whether there is a 29 February in between is not known
        return replace(day, day=moved)
    if not day.has_year:
        raise _Unclear
    if amount.unit not in ("month", "year"):
        raise _Unclear
    months = day.day.month - 1 + number * (12 if amount.unit == "year" else 1)
    year, month = day.day.year + months // 12, months % 12 + 1
    last = calendar.monthrange(year, month)[1]
    return replace(day, day=date(year, month, min(day.day.day, last)))


def _multiplied(first: _Value, second: _Value, sign: str) -> _Value:
    one, two = _share(_amount(first)), _share(_amount(second))
    if sign == "/" and one.unit == two.unit and one.unit:
        return _Amount(one.value / two.value, decimals=0)
    if one.unit and two.unit:
        raise _Unclear
    if sign == "/" and two.unit:
        raise _Unclear
    value = one.value * two.value if sign == "*" else one.value / two.value
    lead = one if one.unit or not two.unit else two
    lasting = _LASTING.search(lead.after)
    if lasting:  # twelve times "890 pounds a month" is no sum a month
        unit = lead.unit.partition(" ")[0]
        lead = replace(lead, unit=unit, after=lead.after[: lasting.start()])
    return lead.like(value)


def _share(amount: _Amount) -> _Amount:
    """Return per cent as the number that they are of one."""
    return _Amount(amount.value / 100) if amount.unit == "%" else amount


def _function(name: str, given: Sequence[_Value]) -> _Value:
    """Return the value of a function that takes several values."""
    if name == "COUNT":
        return _Amount(Decimal(len(given)))
    if name in ("MIN", "MAX"):
        keys = [_comparable(each, given[0])[0] for each in given]
        return given[keys.index(min(keys) if name == "MIN" else max(keys))]
    if name in ("DAYS", "WEEKS", "YEARS"):
        return _between(name, given)
    if name == "ROUND":
        places = int(_amount(given[1]).value) if len(given) > 1 else 0
        one = _amount(given[0])
        if not 0 <= places <= MOST_DIGITS:
            raise _Unclear
        return replace(one, value=round(one.value, places), decimals=places)
    amounts = [_amount(each) for each in given]
    if len({each.unit for each in amounts}) > 1:
        raise _Unclear
    values = [each.value for each in amounts]
    if name == "SUM":
        value = sum(values, Decimal(0))
    elif name == "AVERAGE":
        value = sum(values, Decimal(0)) / len(values)
    elif name == "MEDIAN":
        value = Decimal(median(values))
    else:
        raise _Unclear
    return amounts[0].like(value, *amounts[1:])


def _between(name: str, given: Sequence[_Value]) -> _Amount:
    """Return the days, whole weeks or whole years from the second date to the first."""
    if len(given) != len(("later", "earlier")):
        raise _Unclear
    later, earlier = given
    if not (isinstance(later, _Day) and isinstance(earlier, _Day)):
        raise _Unclear
    if later.has_year != earlier.has_year:
        raise _Unclear
    days = (later.day - earlier.day).days
    if name != "YEARS":
        return _Amount(Decimal(days if name == "DAYS" else int(days / 7)))
    before = (later.day.month, later.day.day) < (earlier.day.month, earlier.day.day)
    return _Amount(Decimal(later.day.year - earlier.day.year - before))


def _read(originals: Mapping[str, str], placeholder: str) -> _Amount | _Day:
    """Return the value that a placeholder stands for."""
    original = originals.get(placeholder)
    if original is None:
        raise _Unclear
    plain = original.strip()
    found: _Amount | _Day | None = _read_day(plain)
    if found is None and not placeholder.startswith("<DATE"):  # "2025" is no number of days
        found = _read_amount(plain)
    if found is None:
        raise _Unclear
    return found


def _read_day(text: str) -> _Day | None:
    """Return a date; None for any other text, and for one that may be two dates."""
    if iso := _ISO.fullmatch(text):
        return _Day(date(*map(int, iso.groups())), "{y}-{m}-{d}", padded=True)
    if digital := _DIGITAL.fullmatch(text):
        first, second, year = int(digital[1]), int(digital[3]), int(digital[4])
        padded, sign = len(digital[1]) == len(digital[3]) == len("03"), digital[2]
        if sign == "." or first > _LAST_MONTH or first == second:
            return _Day(date(year, second, first), f"{{d}}{sign}{{m}}{sign}{{y}}", padded=padded)
        if second > _LAST_MONTH:
            return _Day(date(year, first, second), f"{{m}}{sign}{{d}}{sign}{{y}}", padded=padded)
        return None
    for pattern, day, month, form in (
        (_DAY_FIRST, 1, 2, "{d} {m}"),
        (_MONTH_FIRST, 2, 1, "{m} {d}"),
    ):
        match = pattern.fullmatch(text)
        months = match and next((m for m in _MONTHS if _place(match[month], m) >= 0), None)
        if match and months and int(match[day]) <= _LARGEST_DAY:
            said, comma = match[3], ", " if form == "{m} {d}" else " "
            whole = date(int(said or _LEAP_FREE), _place(match[month], months) + 1, int(match[day]))
            return _Day(whole, f"{form}{comma}{{y}}" if said else form, months, False, bool(said))
    return None


def _place(name: str, months: Sequence[str]) -> int:
    lowered = [month.lower() for month in months]
    plain = "sep" if name.lower() == "sept" else name.lower()
    return lowered.index(plain) if plain in lowered else -1


def _read_amount(text: str) -> _Amount | None:
    """Return a number with its unit; None for any other text, and where its signs are unclear."""
    word, _, rest = text.partition(" ")
    if word.lower() in _NUMERALS:
        text = f"{_NUMERALS[word.lower()]} {rest}".strip()
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    unit = _unit(match["before"], match["after"])
    signs = _signs(match["number"], unit, bool(match["before"].strip()))
    if signs is None:
        return None
    group, point = signs
    whole = match["number"].partition(point)[0] if point else match["number"]
    if group and not re.fullmatch(_GROUPS.format(re.escape(group)), whole):
        return None
    plain = "".join(c for c in match["number"] if c.isdecimal() or (point and c == point))
    value = Decimal(plain.replace(",", "."))
    scale = (match["scale"] or "").lower()
    decimals = len(plain.rpartition(point)[2]) if point else 0
    return _Amount(
        value * _SCALES.get(scale, Decimal(1)),
        unit,
        match["before"],
        match["after"],
        decimals,
        point or ("," if group == "." else "."),
        group,
        text[slice(*match.span("scale"))] if scale else "",
    )


def _unit(before: str, after: str) -> str:
    """Return the unit that is written around a number, in one spelling."""
    first, _, rest = after.strip(" .").lower().partition(" ")
    sign = before.strip(" .").lower()
    if first in _CURRENCIES or sign in _CURRENCIES:
        behind = rest if first in _CURRENCIES else f"{first} {rest}"
        code = _CURRENCIES.get(sign) or _CURRENCIES[first]
        return f"{code} {behind.strip()}".strip()
    words = f"{sign} {first} {rest}".split()
    return " ".join(word.removesuffix("s") if len(word) > 2 else word for word in words)


def _signs(number: str, unit: str, led: bool) -> tuple[str, str] | None:
    """Return the sign between groups and the point of a number, "" where it has none.

    Args:
        led: a sign such as "£" stands before it.
    """
    space = next((c for c in number if c in "'\u2019\u00a0 "), "")
    dots, commas = number.count("."), number.count(",")
    if dots and commas:
        point = max(".,", key=number.rfind)
        if number.count(point) > 1:
            return None
        return ("," if point == "." else "."), point
    sign = "." if dots else "," if commas else ""
    if number.count(sign or "\0") > 1:
        return sign, ""
    behind = number.rpartition(sign)[2] if sign else ""
    if len(behind) != len("000") or len(number) > len("999,000") or space:
        return space, sign
    with_comma = unit.partition(" ")[0] in _WITH_COMMA and not led
    return (sign, "") if (sign == ".") == with_comma else None


def longest_begun(text: str) -> int:
    """Return how many of the last characters may begin a formula's opening mark."""
    return next((n for n in range(len(OPENS) - 1, 0, -1) if text.endswith(OPENS[:n])), 0)
