"""Formulas over hidden values, computed on this machine when an answer is restored.

An API cannot add, sort, compare or translate what it does not see, but it can write down what is to
be done: `{{= <MONEY_1> + <MONEY_2> }}`. `INSTRUCTION` tells it how. Arithmetic is exact
(`decimal`), there is no name but the functions below, nothing is evaluated as Python, and
everything is bounded: an API may be hostile. A formula that does not parse, mixes currencies, or
holds a value that can be read in two ways stays as it came: never a wrong result.
"""

from __future__ import annotations

import calendar
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Decimal,
    DecimalException,
    localcontext,
)
from html import unescape
from statistics import median
from typing import Any

from sanitizer.answers.amounts import MOST_DIGITS, PERCENT, TIMED, WITHOUT_CENTS, Amount
from sanitizer.answers.links import MAY_LINK
from sanitizer.answers.values import Moment, Reader, Value, first_name, in_form, last_name

OPENS, CLOSES = "{{=", "}}"
LONGEST, MOST_ROWS, DEEPEST = 12_000, 200, 20
"""Characters of a formula, its rows, and its parentheses."""
INSTRUCTION = """\
Some values of this conversation are hidden behind placeholders such as <MONEY_A> or <DATE_A>; the \
reader's machine puts them back. You cannot see them: never guess them, and write them exactly as \
they are. Where the answer has to calculate with them, compare, sort, translate or reformat them, \
write a formula; it is computed where they are:
{{= SUM(<MONEY_A>, <MONEY_B>) * (1 + <NUMBER_A>) }} with + - * / ( ), SUM, AVERAGE, MEDIAN, MIN, \
MAX, COUNT, ABS, FLOOR, CEILING, ROUND(x, 2), POWER(x, 3), PMT(rate a month, months, loan). A \
hidden "19 %" is used as it is: do not divide it \
by 100. Units and currencies are part of the values: one may \
stand for "7 months old" or "£1,250 net".
{{= DAYS(<DATE_B>, <DATE_A>) }} for the days from the second to the first; WEEKS, MONTHS, YEARS \
for whole ones; HOURS, MINUTES between times of day. {{= <DATE_A> + 14 }} for 14 days later, \
{{= <DATE_A> + "3 months" }}, {{= <DATE_A> + "45 minutes" }} for a time of day. Visible dates, \
times and sums stand in quotes: DAYS("12 May 2025", <DATE_A>).
{{= IF(<MONEY_A> > 500, "yes", "no") }}
{{= ROWS DESC FIRST 3 WHERE > 100
<MONEY_A> :: <ORGANIZATION_A>: <MONEY_A>
<MONEY_B> :: <ORGANIZATION_B>: <MONEY_B>
}} sorts lines by what stands before "::" (ASC or DESC), keeps those above 100, of these the first \
3, and shows what stands behind "::" (formulas too); each of the three may be left out. A name \
before "::" sorts by the alphabet.
{{= VALUE(<NUMBER_A>) }} for the number alone (JSON, SQL), ISO(<DATE_A>) for 2025-05-12, \
FORMAT(<DATE_A>, "DD/MM/YYYY"), FORMAT(<NUMBER_A>, "0.00"), IN(<DATE_A>, "German") for a date, \
time, duration or sum as that language writes it (in translations), CURRENCY(<MONEY_A>) for EUR, \
WEEKDAY(<DATE_A>), \
FIRST(<PERSON_A>) and LAST(<PERSON_A>) for parts of a name (FIRST behind "Hi", LAST behind \
"Dear Mr"), UPPER, LOWER, \
TITLE(<PERSON_A>).
Formulas stand in the text where their result belongs, without code marks. Calculate with visible \
numbers yourself; everything else is written as usual."""
"""What an API must be told. It is the same in every conversation."""

_PLACEHOLDER = r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>"
_BARE = re.compile(r"(?<![<\w])[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){2}(?![>\w])")
"""A placeholder, and one as it stands in code."""
_TOKEN = re.compile(
    rf"\s*(?:(?P<held>{_PLACEHOLDER})|(?P<number>[0-9]{{1,{MOST_DIGITS}}}(?:\.[0-9]{{1,12}})?%?)"
    r"|(?P<name>[A-Za-z]{2,8})|\"(?P<text>[^\"\n]{0,400})\"|(?P<sign>>=|<=|!=|<>|[-+*/(),<>=]))"
)
_ROWS = re.compile(
    r"\s*ROWS\b(?P<how>(?:[ \t]+(?:ASC|DESC))?)(?:[ \t]+FIRST[ \t]+(?P<first>[0-9]{1,3}))?"
    r"(?:[ \t]+WHERE[ \t]+(?P<op>>=|<=|!=|[<>=])(?P<limit>[^\n]+))?[ \t]*\n(?P<rows>.*)",
    re.S,
)
_CALLED = re.compile(r"\s*[-(]*(?:SUM|AVERAGE|ROUND|MAX|MIN|IF|ABS|DAYS|WEEKS|MONTHS|YEARS)\(")
"""A formula over visible values alone, as it is written among others."""
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}
_HALF_YEAR = timedelta(days=182)
_MOST_SHARES = 2  # a part of one; more are per cents without their sign, or none
_MOST_PERIODS = 1200  # months of a loan, and the largest exponent
_LEAST_MONTH = 28  # days
_HUNDRED, _DAY_LONG, _WEEK = Decimal(100), 1440, 7


_RANGE = re.compile(
    r"([0-9]+(?:[.,][0-9]+)?) ?[-\u2013] ?([0-9]+(?:[.,][0-9]+)?) ?(?P<unit>[^0-9\n]{0,20})"
)
"""Two numbers and what is between them, such as the norm of a laboratory."""


class _Words(str):
    """An original that has no value: it can be shown, and be equal to another."""


class _Unclear(Exception):
    """A formula that cannot be computed, or can be read in two ways."""


def compute(
    written: str,
    originals: Mapping[str, str],
    restore: Callable[[str], str],
    reader: Reader | None = None,
) -> str | None:
    """Return the result of a formula, None if it cannot be computed for sure.

    >>> hidden = {"<MONEY_1>": "£1,250.00", "<MONEY_2>": "£980.50"}
    >>> compute("{{= <MONEY_1> + <MONEY_2> }}", hidden, str)
    '£2,230.50'

    Args:
        written: the formula with its marks. originals: placeholder -> original.
        restore: restores the placeholders of a row that is shown.
        reader: of the originals, where there are many formulas; default a new one.
    """
    inner = unescape(written.removeprefix(OPENS).removesuffix(CLOSES)).replace("\\_", "_")
    inner = _BARE.sub(lambda m: f"<{m[0]}>" if f"<{m[0]}>" in originals else m[0], inner)
    held = re.findall(_PLACEHOLDER, inner)
    hidden = any(each in originals for each in held) or (not held and _CALLED.match(inner))
    if len(written) > LONGEST or not hidden:
        return None
    if MAY_LINK.search(inner):
        return None  # which link is shown would tell whoever is asked for it how values compare
    reader = reader or Reader(originals)
    try:
        with localcontext(prec=2 * MOST_DIGITS):
            rows = _ROWS.fullmatch(inner)
            if rows is not None:
                return _sorted(rows, reader, restore)
            if OPENS in inner:
                return None
            return str(_Parser(inner, reader).whole())
    except (_Unclear, DecimalException, OverflowError, ValueError, RecursionError):
        return None


def _sorted(rows: re.Match[str], reader: Reader, restore: Callable[[str], str]) -> str:
    """Return the rows of a formula, sorted and chosen by their keys."""
    lines = [line for line in rows["rows"].split("\n") if line.strip()]
    parted = [line.partition("::") for line in lines]
    if not lines or len(lines) > MOST_ROWS or not all(mark for _, mark, _ in parted):
        raise _Unclear
    keyed = [(_key(key, reader, restore), text.strip()) for key, _, text in parted]
    n_first = int(rows["first"] or MOST_ROWS)
    if rows["op"]:
        limit = _Parser(rows["limit"], reader).whole()
        keyed = [(key, text) for key, text in keyed if _passes(rows["op"], key, limit)]
    how = rows["how"].strip()
    unread = [text for key, text in keyed if key is None or isinstance(key, str)]
    by_name = len(unread) == len(keyed) and all(isinstance(key, str) for key, _ in keyed)
    if how and by_name:
        keyed.sort(key=lambda each: str(each[0]).casefold(), reverse=how == "DESC")
    elif how or rows["first"]:
        # What cannot be compared is shown last, and never left out.
        read = [(key, text) for key, text in keyed if key is not None and not isinstance(key, str)]
        if how and read:
            places = [_comparable(key, read[0][0])[0] for key, _ in read]
            order = sorted(range(len(read)), key=places.__getitem__, reverse=how == "DESC")
            read = [read[i] for i in order]
        keyed = [*read[:n_first], *((None, text) for text in unread)]
        n_first = MOST_ROWS
    return "\n".join(restore(text) for _, text in keyed[:n_first])


def _key(
    written: str, reader: Reader, restore: Callable[[str], str]
) -> Amount | Moment | str | None:
    """Return what a row is sorted by: a value, or a name; None if it cannot be computed."""
    try:
        key = _Parser(written, reader)
        value = key.whole()
        return key.readable(value) or restore(str(value))
    except (_Unclear, DecimalException, OverflowError, ValueError, RecursionError):
        return None


def _passes(sign: str, key: Amount | Moment | str | None, limit: Value) -> bool:
    """Return True for a row that is shown; what cannot be compared is."""
    if key is None:
        return True
    if isinstance(key, str):
        same = key.strip().casefold() == str(limit).strip().casefold()
        return same == (sign == "=") if sign in ("=", "!=", "<>") else True
    return _compared(sign, key, limit)


class _Parser:
    """Reads one expression by descent.

    Args:
        text: the expression. reader: of the values.
    """

    def __init__(self, text: str, reader: Reader) -> None:
        self._reader = reader
        self._tokens: list[tuple[str, str]] = []
        self._at, self._depth, done = 0, 0, 0
        text = text.strip()
        while done < len(text):
            token = _TOKEN.match(text, done)
            if token is None or token.lastgroup is None:
                raise _Unclear
            self._tokens.append((token.lastgroup, token[token.lastgroup]))
            done = token.end()

    def whole(self) -> Value:
        """Return the value of all of it."""
        value = self._sum()
        if self._at != len(self._tokens) or value == "":
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

    def _sum(self) -> Value:
        value = self._product()
        while sign := self._sign("+", "-"):
            value = _added(self.read(value), self.read(self._product()), sign)
        return value

    def _product(self) -> Value:
        value = self._one()
        while sign := self._sign("*", "/"):
            value = _multiplied(self.read(value), self.read(self._one()), sign)
        return value

    def read(self, value: Value) -> Amount | Moment:
        """Return a value to calculate with: a text in quotes is one."""
        found = self.readable(value)
        if found is None:
            raise _Unclear
        return found

    def readable(self, value: Value) -> Amount | Moment | None:
        """Return a value to calculate with, None for a name."""
        if isinstance(value, _Words):
            return None
        return self._reader.read(value) if isinstance(value, str) else value

    def _one(self) -> Value:
        if self._sign("-"):
            value = _amount(self._one())
            return replace(value, value=-value.value)
        if self._sign("("):
            return self._nested(self._sum, ")")
        if self._at == len(self._tokens):
            raise _Unclear
        kind, written = self._tokens[self._at]
        self._at += 1
        if kind != "name":
            return self._leaf(kind, written)
        self._need("(")
        name = written.upper()
        if name == "IF":
            return self._nested(self._choice, ")")
        if name in _OF_TEXT:
            return self._nested(lambda: self._shown(name), ")")
        return self._nested(lambda: _function(name, self._arguments()), ")")

    def _leaf(self, kind: str, written: str) -> Value:
        """Return the value of a number, a placeholder or a text."""
        if kind == "number":
            plain, share = Decimal(written.rstrip("%")), written.endswith("%")
            places = len(written.partition(".")[2])
            unit = PERCENT if share else ""
            return Amount(plain, unit, after=unit, decimals=places, literal=not share)
        if kind == "held":
            value = self._reader.value(written)
            return _Words(self._reader.originals.get(written, "")) if value is None else value
        if kind == "text":
            held = self._reader.originals
            return re.sub(_PLACEHOLDER, lambda each: held.get(each[0], each[0]), written)
        raise _Unclear

    def _nested(self, read: Callable[[], Value], closing: str) -> Value:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _Unclear
        value = read()
        self._need(closing)
        self._depth -= 1
        return value

    def _arguments(self) -> list[Amount | Moment]:
        found = self._argument()
        while self._sign(","):
            found += self._argument()
        return found

    def _argument(self) -> list[Amount | Moment]:
        """Return a value, both ends of a hidden range alone: MIN of "12.0-15.5" is its first."""
        kind, written = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        original = self._reader.originals.get(written, "") if kind == "held" else ""
        ends = _RANGE.fullmatch(original.strip())
        if ends and self._alone():
            self._at += 1
            return [self.read(f"{end} {ends['unit']}".strip()) for end in (ends[1], ends[2])]
        return [self.read(self._sum())]

    def _choice(self) -> Value:
        first = self._sum()
        sign = self._sign(*_COMPARED)
        if not sign:
            raise _Unclear
        second = self._sum()
        self._need(",")
        yes = self._sum()
        self._need(",")
        no = self._sum()
        words = self.readable(first) is None or self.readable(second) is None
        if words and sign in ("=", "!=", "<>"):
            same = str(first).strip().casefold() == str(second).strip().casefold()
            return yes if same == (sign == "=") else no
        return yes if _compared(sign, self.read(first), self.read(second)) else no

    def _shown(self, name: str) -> str:
        """Return a value written in another way.

        Its original is taken where it stands alone: names have no value, and a date in another
        language keeps its weekday.
        """
        kind, written = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        original = self._reader.originals.get(written) if kind == "held" else None
        if original is not None and self._alone():
            self._at += 1
            value = self._reader.value(written)
        else:
            original = str(self._sum())
            value = self._reader.read(original)
        how = ""
        if self._sign(","):
            how = str(self._sum())
        if name in _OF_NAMES:
            return _OF_NAMES[name](original)
        shown = in_form(name, value, original, how)
        if shown is None:
            raise _Unclear
        return shown

    def _alone(self) -> bool:
        following = self._tokens[self._at + 1 : self._at + 2]
        return following in ([("sign", ")")], [("sign", ",")])


def _amount(value: Value) -> Amount:
    if isinstance(value, Moment) and value.bare:
        day = value.day_of.day if value.day_of else None
        return Amount(Decimal(day.day if day else (value.minutes or 0) // 60))
    found = value.amount if isinstance(value, Moment) else value
    if not isinstance(found, Amount):
        raise _Unclear
    return found


def _years_fit(one: Moment, two: Moment) -> bool:
    """Return True if two dates both have a year, or both none."""
    return (one.has_year or one.guessed) == (two.has_year or two.guessed)


def _hour(first: Value, second: Value) -> tuple[Value, Value]:
    """Return two values, a plain number beside a time of day as the hour that it is."""
    if isinstance(second, Moment) and isinstance(first, Amount):
        return _hour(second, first)[::-1]
    if isinstance(first, Moment) and first.day is None and isinstance(second, Amount):
        hour = int(second.value)
        if not second.unit and second.value == hour and 0 <= hour <= _DAY_LONG // 60:
            return first, replace(first, minutes=60 * hour)
    return first, second


def _fits(*amounts: Amount) -> bool:
    """Return True if amounts have one unit; a plain number has that of the others."""
    return len({each.unit for each in amounts if each.unit}) <= 1


def _comparable(first: Value, second: Value) -> tuple[Decimal | tuple[date, int] | int, Any]:
    """Return what two values are compared by; a plain number fits every unit."""
    first, second = _hour(first, second)
    if isinstance(first, Moment) and isinstance(second, Moment):
        first = first if second.day is None else _as_day(first)
        second = second if first.day is None else _as_day(second)
        if not _years_fit(first, second) or (first.day is None) != (second.day is None):
            raise _Unclear
        if first.day is None or second.day is None:
            return first.minutes or 0, second.minutes or 0
        return (first.day, first.minutes or 0), (second.day, second.minutes or 0)
    one, two = _amount(first), _amount(second)
    if one.unit in TIMED and two.unit in TIMED:
        return one.value * TIMED[one.unit], two.value * TIMED[two.unit]
    if PERCENT in (one.unit, two.unit) and one.unit != two.unit:
        return _as_share(one), _as_share(two)
    if not _fits(one, two) or _mixes_shares(one, two):
        raise _Unclear
    return one.value, two.value


def _as_share(amount: Amount) -> Decimal:
    """Return what an amount is beside one in per cent: "71/80" is compared with "80 %" as .8875."""
    if amount.unit == PERCENT or (amount.literal and abs(amount.value) >= 1):
        return amount.value / _HUNDRED
    if not amount.literal and abs(amount.value) > _MOST_SHARES:
        raise _Unclear
    return amount.value


def _mixes_shares(one: Amount, two: Amount) -> bool:
    """Return True if a part of one is compared with per cents: twice "10 %" with 30."""
    return any(
        share.shared and not share.unit and other.literal and other.value > 1
        for share, other in ((one, two), (two, one))
    )


def _compared(sign: str, first: Value, second: Value) -> bool:
    return _COMPARED[sign](*_comparable(first, second))


def _added(first: Amount | Moment, second: Amount | Moment, sign: str) -> Value:
    sums = isinstance(first, Moment) and first.amount and _is_amount(second, sign)
    if isinstance(first, Moment) and not sums:
        if isinstance(second, Moment):
            if sign == "-":
                timed = first.day is None
                return _function("MINUTES" if timed else "DAYS", [first, second])
            raise _Unclear
        return _moved(first, second, -1 if sign == "-" else 1)
    one, two = _amount(first), _amount(second)
    if PERCENT in (one.unit, two.unit) and one.unit != two.unit:
        return _with_share(one, two, sign)
    if one.unit in TIMED and two.unit in TIMED and one.unit != two.unit:
        two = replace(two, value=two.value * TIMED[two.unit] / TIMED[one.unit])
    elif not _fits(one, two):
        raise _Unclear
    return one.like(one.value + two.value if sign == "+" else one.value - two.value, two)


def _is_amount(value: Amount | Moment, sign: str) -> bool:
    """Return True for what can be added to "14.20", which is no time of day then."""
    return isinstance(value, Amount) or (value.amount is not None and sign == "+")


def _with_share(one: Amount, two: Amount, sign: str) -> Amount:
    """Return one more or less so many per cent, or per cents and a plain number of them."""
    by = -1 if sign == "-" else 1
    if one.literal and one.value == 1:
        return Amount(1 + by * two.value / _HUNDRED, decimals=2)
    if two.literal and two.value == 1:
        return Amount(one.value / _HUNDRED + by, decimals=2)  # "125%" less one is a quarter
    if one.literal or two.literal:
        return one.like(one.value + by * two.value, two)
    raise _Unclear


def _as_day(moment: Moment) -> Moment:
    """Return the day that a number alone is, where a day is needed."""
    return moment.day_of or moment


def _moved(day: Moment, by: Value, sign: int) -> Moment:
    """Return a date or time so many minutes, days, weeks, months or years later."""
    amount = _amount(by)
    day = day if amount.unit in ("minute", "hour") else _as_day(day)
    if amount.unit in ("minute", "hour"):
        minutes = amount.value * TIMED[amount.unit] * sign
        if day.minutes is None or minutes != int(minutes):
            raise _Unclear
        days, rest = divmod(day.minutes + int(minutes), _DAY_LONG)
        moved = None if day.day is None else day.day + timedelta(days=days)
        return replace(day, day=moved, minutes=rest)
    number, begin = int(amount.value) * sign, day.day
    if number != amount.value * sign or begin is None:
        raise _Unclear
    if amount.unit in ("", "day", "week", "calendar day"):
        if not day.has_day:
            raise _Unclear  # no day of a month is named
        moved = begin + timedelta(days=number * (7 if amount.unit == "week" else 1))
        early, late = sorted((begin, moved))
        in_march = date(late.year, 3, 1)
        sure = day.has_year or day.guessed
        if not sure and (late - early > _HALF_YEAR or early < in_march <= late):
            raise _Unclear  # whether there is a 29 February in between is not known
        if day.guessed and moved.year != begin.year and day.months:
            between = ", " if day.form.startswith("{m}") else " "
            day = replace(day, form=f"{day.form}{between}{{y}}", has_year=True)
        named = None if day.named is None else (day.named + (moved - begin).days) % _WEEK
        return replace(day, day=moved, named=named)
    if amount.unit not in ("month", "year"):
        raise _Unclear
    if not (day.has_year or day.guessed) and begin.day > _LEAST_MONTH:
        raise _Unclear  # whether there is a 29 February is not known
    months = begin.month - 1 + number * (12 if amount.unit == "year" else 1)
    year, month = begin.year + months // 12, months % 12 + 1
    last = calendar.monthrange(year, month)[1]
    moved = date(year, month, min(begin.day, last))
    sure = day.has_year or day.guessed
    return replace(day, day=moved, named=moved.weekday() if sure and day.weekday else None)


def _multiplied(first: Value, second: Value, sign: str) -> Value:
    one, two = _amount(first), _amount(second)
    if sign == "/" and two.literal and two.value == _HUNDRED and one.shared:
        return replace(one, shared=False)  # per cents were taken already
    if sign == "/" and two.literal and two.value == _HUNDRED and one.unit == PERCENT:
        return Amount(one.value / _HUNDRED, decimals=2)
    if PERCENT in (one.unit, two.unit):
        return _shared(one, two, sign)
    value = one.value * two.value if sign == "*" else one.value / two.value
    by_money = two.is_money and (sign == "/" or one.is_money)
    if by_money and not (sign == "/" and one.unit == two.unit):
        raise _Unclear
    if one.is_money != two.is_money:  # "5.40 a square foot" times "1,840 sq ft"
        return (one if one.is_money else two).lasting().like(value)
    if (one.unit and two.unit) or (sign == "/" and two.unit):
        return Amount(value, decimals=0 if sign == "/" else max(one.decimals, two.decimals))
    other = not one.unit and (two.unit or one.literal)
    return (two if other else one).lasting().like(value)


def _shared(one: Amount, two: Amount, sign: str) -> Amount:
    """Return a product or quotient in which one side is per cent."""
    share = Amount(two.value / _HUNDRED) if two.unit == PERCENT else two
    if sign == "/":
        if two.unit == PERCENT:
            return one.like(one.value / share.value)
        return one.like(one.value / two.value)
    if one.unit == two.unit:
        return Amount(one.value * two.value / _HUNDRED / _HUNDRED)
    percent, other = (one, two) if one.unit == PERCENT else (two, one)
    found = other.lasting().like(other.value * percent.value / _HUNDRED)
    return replace(found, shared=True)


def _rounded(name: str, given: Sequence[Amount | Moment]) -> Amount:
    one = _amount(given[0])
    places = int(_amount(given[1]).value) if len(given) > 1 else 0
    if not 0 <= places <= MOST_DIGITS or len(given) > len(("x", "places")):
        raise _Unclear
    how = {"FLOOR": ROUND_FLOOR, "CEILING": ROUND_CEILING}.get(name, ROUND_HALF_UP)
    value = one.value.quantize(Decimal(1).scaleb(-places), rounding=how)
    cents = one.is_money and one.unit[:3] not in WITHOUT_CENTS
    whole = value == value.to_integral_value() and not (one.decimals or cents)
    return replace(one, value=value, decimals=0 if whole else places)


def _raised(name: str, given: Sequence[Amount]) -> Amount:
    """Return a power, or the payment of each month that pays back a loan: rate, months, loan."""
    if name == "POWER" and len(given) == len(("base", "exponent")):
        base, exponent = given
        if abs(exponent.value) > _MOST_PERIODS or exponent.unit:
            raise _Unclear
        value = base.value / _HUNDRED if base.unit == PERCENT else base.value
        return Amount(value**exponent.value, decimals=2)
    if len(given) != len(("rate", "months", "loan")):
        raise _Unclear
    rate, months, loan = given
    share = rate.value / _HUNDRED if rate.unit == PERCENT else rate.value
    if not 0 < months.value <= _MOST_PERIODS or not 0 <= share < 1:
        raise _Unclear
    paid = loan.value / months.value
    if share:
        paid = loan.value * share / (1 - (1 + share) ** -months.value)
    return loan.like(paid)


def _function(name: str, given: Sequence[Amount | Moment]) -> Amount | Moment:
    """Return the value of a function that takes several values."""
    if name == "COUNT":
        return Amount(Decimal(len(given)))
    if name in ("MIN", "MAX"):
        keys = [_comparable(each, given[0])[0] for each in given]
        return given[keys.index(min(keys) if name == "MIN" else max(keys))]
    if name in ("DAYS", "WEEKS", "MONTHS", "YEARS", "HOURS", "MINUTES"):
        return _between(name, given)
    if name in ("POWER", "PMT"):
        return _raised(name, [_amount(each) for each in given])
    if name in ("ROUND", "FLOOR", "CEILING", "CEIL"):
        return _rounded("CEILING" if name == "CEIL" else name, given)
    amounts = [_amount(each) for each in given]
    if not _fits(*amounts):
        raise _Unclear
    values = [each.value for each in amounts]
    if name == "SUM":
        value = sum(values, Decimal(0))
    elif name in ("AVERAGE", "AVG", "MEAN"):
        value = sum(values, Decimal(0)) / len(values)
    elif name == "MEDIAN":
        value = Decimal(median(values))
    elif name == "ABS" and len(values) == 1:
        value = abs(values[0])
    else:
        raise _Unclear
    return amounts[0].like(value, *amounts[1:])


def _between(name: str, given: Sequence[Amount | Moment]) -> Amount:
    """Return how long it is from the second date or time to the first, in whole units."""
    if len(given) != len(("later", "earlier")):
        raise _Unclear
    later, earlier = given
    if not (isinstance(later, Moment) and isinstance(earlier, Moment)):
        raise _Unclear
    if name in ("HOURS", "MINUTES"):
        return _timed(name, later, earlier)
    later, earlier = _as_day(later), _as_day(earlier)
    if not _years_fit(later, earlier) or later.day is None or earlier.day is None:
        raise _Unclear
    days = (later.day - earlier.day).days
    alone = "{y}" in (later.form, earlier.form)
    if (name in ("DAYS", "WEEKS") and not (later.has_day and earlier.has_day)) or alone:
        raise _Unclear
    if name in ("DAYS", "WEEKS"):
        return Amount(Decimal(days if name == "DAYS" else int(days / 7)))
    late, early = later.day, earlier.day
    months = 12 * (late.year - early.year) + late.month - early.month - (late.day < early.day)
    # From "Aug 2019" to 31 July 2024 it is five years.
    months += (
        "{d}" not in earlier.form and late.day == calendar.monthrange(late.year, late.month)[1]
    )
    return Amount(Decimal(months if name == "MONTHS" else months // 12))


def _timed(name: str, later: Moment, earlier: Moment) -> Amount:
    if later.minutes is None or earlier.minutes is None:
        raise _Unclear
    minutes = Decimal(later.minutes - earlier.minutes)
    if later.day is not None and earlier.day is not None:
        if not _years_fit(later, earlier):
            raise _Unclear
        minutes += _DAY_LONG * (later.day - earlier.day).days
    if name == "MINUTES":
        return Amount(minutes, "minute")
    return Amount(minutes / 60, "hour")


_PARTICLES = "van|von|de|der|den|del|della|da|di|dos|du|la|le|ten|ter|zu|bin|ibn|al"
_OF_NAMES: dict[str, Callable[[str], str]] = {
    "FIRST": first_name,
    "LAST": last_name,
    "UPPER": str.upper,
    "LOWER": str.lower,
    "TITLE": lambda name: re.sub(
        rf"(?<![\w'\u2019])(?:(?<= )(?:{_PARTICLES})(?= )|\w)",
        lambda m: m[0].upper() if len(m[0]) == 1 else m[0],
        name.lower() if name.isupper() else name,
    ),
}
_OF_TEXT = {*_OF_NAMES, "VALUE", "IN", "ISO", "FORMAT", "CURRENCY", "WEEKDAY"}
"""Functions that write a value in another way; what they give is text."""


def closing(text: str, start: int) -> int:
    """Return where the closing mark of a formula is that begins at a place, -1 if it is not there.

    Rows may hold formulas.
    """
    depth, at, stop = 1, start + len(OPENS), start + LONGEST
    while at < stop:
        end = text.find(CLOSES, at, stop)
        if end < 0:
            return -1
        inner = text.find(OPENS, at, end)
        if inner >= 0:
            depth, at = depth + 1, inner + len(OPENS)
            if depth > len(("rows", "a formula in them")):
                return -1
            continue
        depth, at = depth - 1, end + len(CLOSES)
        if not depth:
            return end
    return -1


def plainly(written: str) -> str | None:
    """Return a formula that cannot be computed without its marks, if it is mere arithmetic.

    Example:
        >>> plainly("{{= <ID_1_1> - <MONEY_1_2> }}"), plainly("{{= DAYS(<DATE_1_1>, 3) }}")
        ('<ID_1_1> - <MONEY_1_2>', None)
    """
    inner = unescape(written.removeprefix(OPENS).removesuffix(CLOSES)).strip()
    hidden = re.search(_PLACEHOLDER, inner) is not None
    return inner if hidden and _ARITHMETIC.fullmatch(inner) else None


_ARITHMETIC = re.compile(rf"(?:{_PLACEHOLDER}|[0-9][0-9.,]*%?|[-+*/() ]){{1,80}}")


def longest_begun(text: str) -> int:
    """Return how many of the last characters may begin a formula's opening mark."""
    return next((n for n in range(len(OPENS) - 1, 0, -1) if text.endswith(OPENS[:n])), 0)
