"""Formulas over hidden values, computed on this machine when an answer is restored.

An API cannot add, sort, compare or translate what it does not see, but it can write down what is to
be done: `{{= <MONEY_1> + <MONEY_2> }}`. `INSTRUCTION` tells it how. Arithmetic is exact
(`decimal`), there is no name but the functions below, nothing is evaluated as Python, and
everything is bounded: an API may be hostile. A formula that does not parse, mixes currencies, or
holds a value that can be read in two ways stays as it came: never a wrong result.

Guarantee: no result decides what a program asks for that shows an answer. Formulas are computed
only in an answer that holds nothing to ask for: no link, image, tag of HTML or definition of a
reference that was not sent, wherever in it (`Links.holds_other`, which reads what the API wrote and
no value). A stream is held from its first formula to its end, so that nothing comes behind. Results
are escaped, and each has a letter or a digit: an answer is never blank because of a value.
"""

from __future__ import annotations

import ast
import operator
import re
from calendar import monthrange
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
from functools import partial
from html import escape, unescape
from importlib.resources import files
from statistics import mean, median
from typing import Any

from sanitizer.answers.amounts import MOST_DIGITS, PERCENT, Amount
from sanitizer.answers.links import MAY_LINK
from sanitizer.answers.values import DAY, TIMED, Moment, Reader, Value, in_form, parts_of_name

OPENS, CLOSES = "{{=", "}}"
LONGEST, MOST_ROWS, DEEPEST = 12_000, 200, 20
"""Characters of a formula, its rows, and its parentheses."""
INSTRUCTION = files("sanitizer.answers").joinpath("instruction.txt").read_text("utf-8").rstrip("\n")
"""What an API must be told. It is the same in every conversation."""

_PLACEHOLDER = r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>"
_BARE = re.compile(r"(?<![<\w])[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){2}(?![>\w])")
"""A placeholder as it stands in code."""
_TOKEN = re.compile(
    rf"\s*(?:(?P<held>{_PLACEHOLDER})|(?P<number>[0-9]{{1,{MOST_DIGITS}}}(?:\.[0-9]{{1,12}})?%?)"
    r"|(?P<name>[A-Za-z]{2,8})|\"(?P<text>[^\"\n]{0,400})\"|(?P<sign>>=|<=|!=|<>|[-+*/(),<>=]))\s*"
)
_ROWS = re.compile(
    r"\s*ROWS\b(?P<how>(?:[ \t]+(?:ASC|DESC))?)(?:[ \t]+FIRST[ \t]+(?P<first>[0-9]{1,3}))?"
    r"(?:[ \t]+WHERE[ \t]+(?P<op>>=|<=|!=|[<>=])(?P<limit>[^\n]+))?[ \t]*\n(?P<rows>.*)",
    re.S,
)
_CALLED = re.compile(r"\s*[-(]*(?:SUM|AVERAGE|ROUND|MAX|MIN|IF|ABS|DAYS|WEEKS|MONTHS|YEARS)\(")
"""A formula over visible values alone, as it is written among others."""
_ARITHMETIC = re.compile(rf"(?:{_PLACEHOLDER}|[0-9][0-9.,]*%?(?![0-9.,%])|[-+*/() ]){{1,80}}")
_RANGE = re.compile(
    r"([0-9]+(?:[.,][0-9]+)?) ?[-\u2013] ?([0-9]+(?:[.,][0-9]+)?) ?(?P<unit>[^0-9\n]{0,20})"
)
"""Two numbers and what is between them, such as the norm of a laboratory."""
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_PYTHON = {"=": "==", "<>": "!="}
"""Signs that Python writes otherwise."""
_HALF_YEAR = timedelta(days=182)
_DOMAIN = re.compile(r"[^\W\d_][\w-]*\.[^\W\d_]{2}")
"""What some programs show as a link."""
_ACTIVE = re.compile(r"[\\`\[\]|~]|^[-+*#](?=\s)|(?P<html>[<>]|&(?=#?\w+;))")
"""Signs of Markdown, and of HTML, that would do more than be shown."""
_MOST_PERIODS = 1200  # months of a loan, and the largest exponent
_LEAST_MONTH = 28  # days
_HUNDRED = Decimal(100)
_PARTICLES = "van|von|de|der|den|del|della|da|di|dos|du|la|le|ten|ter|zu|bin|ibn|al"
_OF_NAMES: dict[str, Callable[[str], str]] = {
    "FIRST": lambda name: parts_of_name(name)[0],
    "LAST": lambda name: parts_of_name(name)[1],
    "UPPER": str.upper,
    "LOWER": str.lower,
    "TITLE": lambda name: titled(name),  # noqa: PLW0108  # it stands below
}
_OF_TEXT = {*_OF_NAMES, "VALUE", "IN", "ISO", "FORMAT", "CURRENCY", "WEEKDAY"}
"""Functions that write a value in another way; what they give is text."""


def titled(name: str) -> str:
    """Return a name with capitals, but for particles.

    >>> titled("jan van der berg"), titled("quill & sons")
    ('Jan van der Berg', 'Quill & Sons')
    """
    return re.sub(
        rf"(?<![\w'\u2019])(?:(?<= )(?:{_PARTICLES})(?= )|\w)",
        lambda m: m[0].upper() if len(m[0]) == 1 else m[0],
        name.lower() if name.isupper() else name,
    )


class _Words(str):
    """An original that has no value: it can be shown, and be equal to another."""


class _Unclear(Exception):
    """A formula that cannot be computed, or can be read in two ways."""


_FAILED = (_Unclear, DecimalException, OverflowError, ValueError, SyntaxError, RecursionError)


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
    inner = _inner(written, originals)
    # Which link is shown would tell whoever is asked for it how values compare.
    if not is_one(written, originals) or MAY_LINK.search(inner) or _DOMAIN.search(inner):
        return None
    reader = reader or Reader(originals)
    try:
        with localcontext(prec=2 * MOST_DIGITS):
            rows = _ROWS.fullmatch(inner)
            if rows:
                return _shown(_sorted(rows, reader, restore))
            result = str(_Expression(inner, reader).value).strip()
    except _FAILED:
        return None
    if "\n" in result or MAY_LINK.search(result):
        return None
    return _shown(_ACTIVE.sub(lambda m: escape(m[0]) if m["html"] else f"\\{m[0]}", result))


def is_one(written: str, originals: Mapping[str, str]) -> bool:
    """Return True for a formula with a hidden value, or with a function of visible ones."""
    inner = _inner(written, originals)
    held = re.findall(_PLACEHOLDER, inner)
    hidden = any(each in originals for each in held) or (not held and _CALLED.match(inner))
    return len(written) <= LONGEST and bool(hidden)


def _inner(written: str, originals: Mapping[str, str]) -> str:
    inner = unescape(written.removeprefix(OPENS).removesuffix(CLOSES)).replace("\\_", "_")
    return _BARE.sub(lambda m: f"<{m[0]}>" if f"<{m[0]}>" in originals else m[0], inner)


def _shown(result: str) -> str | None:
    """Return a result; None for a blank one: an answer that is stripped would tell of it."""
    return result.strip() if any(map(str.isalnum, result)) else None


def _sorted(rows: re.Match[str], reader: Reader, restore: Callable[[str], str]) -> str:
    """Return the rows of a formula, sorted and chosen by their keys.

    What cannot be compared is shown last, and never left out.
    """
    lines = [line.partition("::") for line in rows["rows"].split("\n") if line.strip()]
    if not lines or len(lines) > MOST_ROWS or not all(mark for _, mark, _ in lines):
        raise _Unclear
    if any(text.lstrip().startswith(">") for _, _, text in lines):
        raise _Unclear  # marks of quotation are no part of an answer that comes back
    keyed = [(_key(key, reader, restore), text.strip()) for key, _, text in lines]
    n_first = int(rows["first"] or MOST_ROWS)
    if rows["op"]:
        _Expression(rows["limit"], reader)  # has a value
        tests = [f"IF({key} {rows['op']} {rows['limit']}, 1, 0)" for key, _, _ in lines]
        holds = [str(_key(test, reader, restore)) != "0" for test in tests]
        keyed = [each for each, held in zip(keyed, holds, strict=True) if held]
    descending = rows["how"].strip() == "DESC"
    last: list[str] = []
    if rows["how"] and all(isinstance(key, str) for key, _ in keyed):
        keyed.sort(key=lambda each: str(each[0]).casefold(), reverse=descending)
    elif rows["how"] or rows["first"]:
        last = [text for key, text in keyed if not isinstance(key, Amount | Moment)]
        keyed = [each for each in keyed if isinstance(each[0], Amount | Moment)]
        if rows["how"]:
            places = _places([key for key, _ in keyed])
            order = sorted(range(len(keyed)), key=places.__getitem__, reverse=descending)
            keyed = [keyed[i] for i in order]
    return "\n".join(map(restore, [*(text for _, text in keyed[:n_first]), *last]))


def _key(written: str, reader: Reader, restore: Callable[[str], str]) -> Value | None:
    """Return what a row is sorted by: a value, or a name; None if it cannot be computed."""
    try:
        value = _Expression(written, reader).value
        return _readable(value, reader) or restore(str(value))
    except _FAILED:
        return None


def _readable(value: Value, reader: Reader) -> Amount | Moment | None:
    """Return a value to calculate with; a text in quotes is one, a name is None."""
    if isinstance(value, _Words):
        return None
    return reader.read(value, written=True) if isinstance(value, str) else value


class _Expression:
    """One expression. Python's parser sees its signs, the names of functions and "v0", "v1", ..."""

    def __init__(self, text: str, reader: Reader) -> None:
        self._reader = reader
        self._leaves: dict[str, Value] = {}
        self._originals: dict[str, str] = {}
        words, done, depth = [""], 0, 0
        while done < len(text):
            token = _TOKEN.match(text, done)
            if token is None:
                raise _Unclear
            kind, written, done = token.lastgroup, token[token.lastgroup or 0], token.end()
            depth += (written == "(") - (written == ")")
            if depth > DEEPEST or (written == "-" == words[-1]):
                raise _Unclear
            if kind in ("sign", "name"):
                words.append(_PYTHON.get(written, written.upper()))
            else:
                words.append(f"v{len(self._leaves)}")
                self._leaves[words[-1]] = self._leaf(kind, written, words[-1])
        self.value = self._of(ast.parse(" ".join(words).strip(), mode="eval").body)
        if self.value == "":
            raise _Unclear

    def _leaf(self, kind: str | None, written: str, name: str) -> Value:
        """Return the value of a number, a placeholder or a text in quotes."""
        originals = self._reader.originals
        if kind == "text":
            return re.sub(_PLACEHOLDER, lambda each: originals.get(each[0], each[0]), written)
        if kind == "held":
            found = self._reader.value(written)
            self._originals[name] = originals.get(written, "")
            return _Words(self._originals[name]) if found is None else found
        number = written.rstrip("%")
        places = len(number.partition(".")[2])
        if number != written:
            return Amount(Decimal(number) / _HUNDRED, PERCENT, after=PERCENT, decimals=places)
        return Amount(Decimal(number), decimals=places, literal=True)

    def _of(self, node: ast.AST) -> Value:
        """Return the value of a part."""
        value: Value
        match node:
            case ast.Name(name) if name in self._leaves:
                value = self._leaves[name]
            case ast.UnaryOp(ast.USub(), operand):
                value = _multiplied(Amount(Decimal(-1)), _amount(self._of(operand)), "*")
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                value = _added(self._read(left), self._read(right), isinstance(op, ast.Sub))
            case ast.BinOp(left, op, right):
                sign = "*" if isinstance(op, ast.Mult) else "/"
                value = _multiplied(_amount(self._read(left)), _amount(self._read(right)), sign)
            case ast.Call(ast.Name("IF"), [ast.Compare(left, [op], [right]), yes, no]):
                value = self._of(yes if self._holds(op, left, right) else no)
            case ast.Call(ast.Name(name), [first, *others]) if name in _OF_TEXT:
                value = self._shown(name, first, *others)
            case ast.Call(ast.Name(name), arguments):
                read = self._ends if name in ("MIN", "MAX") else lambda node: [self._read(node)]
                value = _function(name, [each for node in arguments for each in read(node)])
            case _:
                raise _Unclear
        return value

    def _read(self, node: ast.AST) -> Amount | Moment:
        """Return the value of a part to calculate with."""
        found = _readable(self._of(node), self._reader)
        if found is None:
            raise _Unclear
        return found

    def _ends(self, node: ast.AST) -> list[Amount | Moment]:
        """Return the value of an argument; of a hidden range both ends: MIN of "12.0-15.5"."""
        original = self._originals.get(node.id, "") if isinstance(node, ast.Name) else ""
        ends = _RANGE.fullmatch(original.strip())
        if ends is None:
            return [self._read(node)]
        found = [self._reader.read(f"{end} {ends['unit']}".strip()) for end in ends.group(1, 2)]
        return [each for each in found if each is not None]

    def _holds(self, sign: ast.cmpop, left: ast.AST, right: ast.AST) -> bool:
        values = self._of(left), self._of(right)
        compared = _COMPARED[type(sign)]
        if [_readable(each, self._reader) for each in values] != [None, None]:
            return compared(*_comparable(self._read(left), self._read(right)))
        if not isinstance(sign, ast.Eq | ast.NotEq):
            raise _Unclear
        return compared(*(str(each).strip().casefold() for each in values))

    def _shown(self, name: str, first: ast.AST, *others: ast.AST) -> Value:
        """Return a value written in another way; of a placeholder its original, as it is."""
        if isinstance(first, ast.Name) and first.id in self._originals:
            original = self._originals[first.id]
            value = _readable(self._leaves[first.id], self._reader)
        else:
            found = self._of(first)
            original, value = str(found), _readable(found, self._reader)
        if name in _OF_NAMES:
            return _Words(_OF_NAMES[name](original))
        shown = in_form(name, value, original, str(self._of(others[0])) if others else "")
        if shown is None:
            raise _Unclear
        if name == "VALUE" and isinstance(value, Amount):
            return Amount(value.shown, decimals=value.decimals, text=shown)
        # A text that was written here is not read again: "11/02/2026" would have two readings.
        return shown if name == "ISO" or shown.isdecimal() else _Words(shown)


def _amount(value: Value) -> Amount:
    if not isinstance(value, Amount):
        raise _Unclear
    return value


def _shared_unit(*amounts: Amount) -> None:
    """Raise unless amounts have one unit; a plain number has any but per cents."""
    units = {each.unit for each in amounts}
    if len(units - {""}) > 1 or units == {"", PERCENT}:
        raise _Unclear


def _comparable(first: Value | None, second: Value | None) -> tuple[Any, Any]:
    """Return what two values are compared by; a plain number fits every unit."""
    if isinstance(first, Moment) and isinstance(second, Moment):
        if first.day and second.day and first.sure == second.sure:
            if not (_said(first, second) or abs(first.day - second.day) <= _HALF_YEAR):
                raise _Unclear  # is 3 December before 5 January?
            return (first.day, first.minutes or 0), (second.day, second.minutes or 0)
        if first.day or second.day or first.minutes is None or second.minutes is None:
            raise _Unclear
        return first.minutes, second.minutes
    if not (isinstance(first, Amount) and isinstance(second, Amount)):
        raise _Unclear
    units = {first.unit, second.unit} - {""}
    if units and units <= TIMED.keys():
        ones, twos = TIMED[first.unit or second.unit], TIMED[second.unit or first.unit]
        return first.value * ones, second.value * twos
    if PERCENT in (first.unit, second.unit) and first.unit != second.unit:
        return _as_share(first), _as_share(second)
    _shared_unit(first, second)
    for share, other in ((first, second), (second, first)):
        if share.shared and not share.unit and other.literal and other.value > 1:
            raise _Unclear  # a part of one beside per cents: twice "10 %" and 30
    return first.value, second.value


def _said(*moments: Moment) -> bool:
    """Return True if all of them say their years."""
    return all("y" in each.codes for each in moments)


def _places(values: Sequence[Value | None]) -> list[Any]:
    """Return what several values are sorted by; plain numbers have the unit of the others."""
    like = next((each for each in values if isinstance(each, Amount) and each.unit), None)
    return [_comparable(each, like or values[0])[0] for each in values]


def _as_share(amount: Amount) -> Decimal:
    """Return what an amount is beside one in per cent: a visible 20 is a fifth, and so is .2."""
    if amount.literal and abs(amount.value) >= 1:
        return amount.value / _HUNDRED
    if amount.unit != PERCENT and (amount.unit or abs(amount.value) > 1):
        raise _Unclear
    return amount.value


def _added(first: Amount | Moment, second: Amount | Moment, less: bool) -> Value:
    if isinstance(first, Moment) and isinstance(second, Moment) and less:
        return _between("DAYS" if first.day else "MINUTES", [first, second])
    two = _amount(second)
    by = -two.value if less else two.value
    if isinstance(first, Moment):
        return _moved(first, by, two.unit)
    if PERCENT in (first.unit, two.unit) and first.unit != two.unit:
        whole = first if two.unit == PERCENT else two
        if not (whole.literal and whole.value == 1):
            raise _Unclear  # so many per cent of what?
        return Amount(first.value + by, decimals=2)
    if first.unit in TIMED and two.unit in TIMED:
        by = by * TIMED[two.unit] / TIMED[first.unit]
    else:
        _shared_unit(first, two)
    return first.like(first.value + by, two)


def _moved(moment: Moment, number: Decimal, unit: str) -> Moment:
    """Return a date or time so many minutes, days, weeks, months or years later."""
    day = moment.day
    if number != int(number):
        raise _Unclear
    if unit in ("minute", "hour") and moment.minutes is not None:
        days, minutes = divmod(moment.minutes + int(number) * TIMED[unit], DAY)
        return replace(moment, day=day and day + timedelta(days=days), minutes=minutes)
    if day is None:
        raise _Unclear
    if unit in ("", "day", "week", "calendar day"):
        moved = day + timedelta(days=int(number) * (7 if unit == "week" else 1))
        early, late = sorted((day, moved))
        leaps = early < date(late.year, 3, 1) <= late or late - early > _HALF_YEAR
    elif unit in ("month", "year"):
        months = day.month - 1 + int(number) * (12 if unit == "year" else 1)
        year, month = day.year + months // 12, months % 12 + 1
        moved = date(year, month, min(day.day, monthrange(year, month)[1]))
        leaps = day.day > _LEAST_MONTH or "w" in moment.codes
    else:
        raise _Unclear
    if leaps and not moment.sure:
        raise _Unclear  # whether there is a 29 February in between is not known
    return replace(moment, day=moved)


def _multiplied(one: Amount, two: Amount, sign: str) -> Amount:
    value = one.value * two.value if sign == "*" else one.value / two.value
    if sign == "/" and two.literal and two.value == _HUNDRED:  # per cents were taken already
        value = one.value if one.shared or one.unit == PERCENT else value
    if two.is_money and (one.is_money or sign == "/") and (sign == "*" or one.unit != two.unit):
        raise _Unclear
    if PERCENT in (one.unit, two.unit):
        by_hundred = two.literal and two.value == _HUNDRED and sign == "/"
        if one.unit == two.unit or (one.unit == PERCENT and by_hundred):
            return Amount(value, decimals=2)
        other = two if one.unit == PERCENT and sign == "*" else one
        return replace(other.lasting().like(value), shared=sign == "*")
    if two.unit and one.is_money == two.is_money and (one.unit or sign == "/"):
        return Amount(value, decimals=0 if sign == "/" else max(one.decimals, two.decimals))
    # "5.40 a square foot" times "1,840 sq ft" is money
    other = max(one, two, key=lambda each: (each.is_money, bool(each.unit), not each.literal))
    return other.lasting().like(value)


def _rounded(how: str, one: Amount, digits: Amount | None = None) -> Amount:
    places = int(digits.value) if digits else 0
    if not 0 <= places <= MOST_DIGITS:
        raise _Unclear
    value = one.shown.quantize(Decimal(1).scaleb(-places), rounding=how)
    whole = value == value.to_integral_value() and not one.decimals
    value = value / _HUNDRED if one.unit == PERCENT else value
    return replace(one, value=value, decimals=0 if whole else places, scale="", text="")


def _power(base: Amount, exponent: Amount) -> Amount:
    if abs(exponent.value) > _MOST_PERIODS or exponent.unit:
        raise _Unclear
    return Amount(base.value**exponent.value, decimals=2)


def _payment(rate: Amount, months: Amount, loan: Amount) -> Amount:
    """Return the payment of each month that pays back a loan."""
    share = rate.value
    if not 0 < months.value <= _MOST_PERIODS or not 0 <= share < 1:
        raise _Unclear
    if not share:
        return loan.like(loan.value / months.value)
    return loan.like(loan.value * share / (1 - (1 + share) ** -months.value))


_OF_ALL: dict[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "SUM": lambda values: sum(values, Decimal(0)),
    **dict.fromkeys(("AVERAGE", "AVG", "MEAN"), mean),
    "MEDIAN": median,
}
_ROUNDED = {
    "ROUND": ROUND_HALF_UP,
    "FLOOR": ROUND_FLOOR,
    **dict.fromkeys(("CEILING", "CEIL"), ROUND_CEILING),
}
_OF_AMOUNTS: dict[tuple[str, int], Callable[..., Amount]] = {
    **{(name, n): partial(_rounded, how) for name, how in _ROUNDED.items() for n in (1, 2)},
    ("ABS", 1): lambda one: one.like(abs(one.value)),
    ("POWER", 2): _power,
    ("PMT", 3): _payment,
}
"""Function, and how many amounts it takes -> what it gives."""


def _function(name: str, given: Sequence[Amount | Moment]) -> Amount | Moment:
    """Return the value of a function that takes several values."""
    if name in ("DAYS", "WEEKS", "MONTHS", "YEARS", "HOURS", "MINUTES"):
        return _between(name, given)
    if not given:
        raise _Unclear
    if name == "COUNT":
        return Amount(Decimal(len(given)))
    if name in ("MIN", "MAX"):
        places = _places(given)
        return given[places.index(min(places) if name == "MIN" else max(places))]
    amounts = [_amount(each) for each in given]
    if name in _OF_ALL:
        _shared_unit(*amounts)
        return amounts[0].like(_OF_ALL[name]([each.value for each in amounts]), *amounts[1:])
    if (name, len(amounts)) not in _OF_AMOUNTS:
        raise _Unclear
    return _OF_AMOUNTS[name, len(amounts)](*amounts)


def _between(name: str, given: Sequence[Amount | Moment]) -> Amount:
    """Return how long it is from the second date or time to the first, in whole units."""
    if len(given) != len(("later", "earlier")):
        raise _Unclear
    later, earlier = given
    if not (isinstance(later, Moment) and isinstance(earlier, Moment)):
        raise _Unclear
    days = 0
    if later.day and earlier.day:
        if later.sure != earlier.sure:
            raise _Unclear
        days = (later.day - earlier.day).days
    if name in ("HOURS", "MINUTES"):
        if later.minutes is None or earlier.minutes is None:
            raise _Unclear
        minutes = Decimal(DAY * days + later.minutes - earlier.minutes)
        if minutes < 0 and not (later.day and earlier.day):
            raise _Unclear  # over midnight?
        return Amount(minutes, "minute") if name == "MINUTES" else Amount(minutes / 60, "hour")
    if not (later.day and earlier.day) or (days < 0 and name != "DAYS"):
        raise _Unclear  # "-1 full years"
    if not _said(later, earlier) and not 0 <= days <= _HALF_YEAR.days:
        raise _Unclear  # over the end of a year that nobody names?
    if name in ("DAYS", "WEEKS"):
        return Amount(Decimal(days if name == "DAYS" else days // 7))
    late, early = later.day, earlier.day
    months = 12 * (late.year - early.year) + late.month - early.month - (late.day < early.day)
    return Amount(Decimal(months if name == "MONTHS" else months // 12))


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

    >>> plainly("{{= <ID_1_1> - <MONEY_1_2> }}"), plainly("{{= DAYS(<DATE_1_1>, 3) }}")
    ('<ID_1_1> - <MONEY_1_2>', None)
    """
    inner = unescape(written.removeprefix(OPENS).removesuffix(CLOSES)).strip()
    hidden = re.search(_PLACEHOLDER, inner) is not None
    return inner if hidden and _ARITHMETIC.fullmatch(inner) else None


def longest_begun(text: str) -> int:
    """Return how many of the last characters may begin a formula's opening mark."""
    return next((n for n in range(len(OPENS) - 1, 0, -1) if text.endswith(OPENS[:n])), 0)
