"""The hidden values of a conversation: dates and times of day as people write them, read, and
written again in the same way; parts of names; and amounts (`amounts`).

By hand, since libraries guess: a value that can be read in two ways ("1.240", "03/04/2025") is not
read at all, unless the other values of the conversation show which way is theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from functools import cached_property

from sanitizer.answers.amounts import FORMS, Amount, read_amount, rounded

TIMED = {"minute": 1, "hour": 60, "day": 1440, "week": 10080}
"""Unit of time -> its minutes."""
DAY = TIMED["day"]
"""Minutes of a day."""
_NO_LEAP = 2001  # stands for a year that nobody knows
_THREE_MONTHS = 92  # days
_LAST_MONTH = _NOON = 12


@dataclass(frozen=True)
class Language:
    """How a language writes dates, times, durations and sums: see forms.toml."""

    months: Sequence[str]
    weekdays: Sequence[str]
    dated: str = "{d} {m} {y}"
    led: str = "{w} {date}"
    clock: str = "{h}:{n}"
    units: Sequence[str] = ()
    aged: str = "{n} {unit}"
    money: str = "{n}\u00a0{s}"
    signs: str = ".,"

    def duration(self, value: Amount) -> str | None:
        """Return a duration or an age as this language says it, None for other amounts."""
        unit, _, old = value.unit.partition(" ")
        if unit not in _UNITS or old not in ("", "old") or not self.units:
            return None
        one, _, many = self.units[_UNITS.index(unit)].partition("/")
        named = one if value.value == 1 else many
        return (self.aged if old else "{n} {unit}").format(n=value.bare(), unit=named)

    def sum(self, value: Amount) -> str:
        """Return a sum with its sign where this language has it: "23.500 €", "€ 23.500"."""
        group, point = self.signs[0], self.signs[1]
        value = replace(value, point=point, group=group if value.group else "", text="")
        sign = value.before.strip() or value.after.strip()
        if sign not in tuple("€£$¥") or (value.before.strip() and value.after.strip()):
            return str(value)
        return self.money.format(n=replace(value, before="", after=""), s=sign)


_UNITS = ("minute", "hour", "day", "week", "month", "year")
_EVERY = {name: Language(**table) for name, table in FORMS["languages"].items()}
LANGUAGES = {name: language for name, language in _EVERY.items() if name != "short"}
"""Languages that a value can be written in, by their English names."""


def _numbered(names_of: str) -> dict[str, tuple[Sequence[str], int]]:
    """Return name of a month or weekday in any language -> the names that it is of, its number."""
    return {
        name.lower(): (names, number)
        for language in reversed(_EVERY.values())
        for names in [getattr(language, names_of)]
        for number, name in enumerate(names)
    }


_MONTHS = _numbered("months")
_MONTHS["sept"] = _MONTHS["sep"]
_WEEKDAYS = _numbered("weekdays")


# ---- dates and times of day ----

_NAME = r"[^\W\d_]{3,12}"
_DAY = (
    rf"(?:(?P<w>{_NAME}(?:-feira)?)\.?,? (?:the |den |el |le )?)?(?:(?:the )?"
    rf"(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[ -](?:of |de )?(?P<m>{_NAME})\.?"
    r"(?:,?[ -](?:(?:de |of )?(?P<y>[0-9]{4})|['\u2019]?(?P<y2>[0-9]{2})))?"
    rf"|(?P<m3>{_NAME})\.? (?:the )?(?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<y3>[0-9]{{4}}))?"
    r"|(?P<y4>[0-9]{4})-(?P<m4>[0-9]{2})-(?P<d4>[0-9]{2})"
    r"|(?P<a>[0-9]{1,2})(?:(?P<sign>[./-])(?P<b>[0-9]{1,2})(?P=sign)(?P<y5>[0-9]{4}|[0-9]{2})"
    r"|/(?P<b2>[0-9]{1,2})))"
)
_TIME = (
    r"(?P<h>[01]?[0-9]|2[0-3])(?:(?P<dot>[:.h])(?P<n>[0-5][0-9])(?::[0-5][0-9](?:\.[0-9]+)?)?)?"
    r"(?: ?(?P<p>[ap]\.?m\b\.?)|(?P<named> ?(?:Uhr|uur|Z)\b)|)"
)
_MOMENTS = [
    re.compile(pattern, re.I)
    for pattern in (_DAY, _TIME, rf"{_DAY}(?:,? (?:a )?(?:[^\W\d_]{{1,6}}\.? )?|T){_TIME}")
]
_DIGITAL = re.compile(r"([0-9]{1,2})([/-])([0-9]{1,2})(?:\2(?:[0-9]{4}|[0-9]{2}))?")
_DAY_ALONE = re.compile(
    rf"(?i)(?:week )?(?:(?P<w>(?!the ){_NAME}),? )?(?:the )?(?P<d>[12]?[0-9]|3[01])(?:st|nd|rd|th)?"
)


@dataclass(frozen=True)
class Moment:
    """A date, a time of day, or both, in the text that it was read in.

    Attributes:
        text: as it was written. spans: its parts by one letter: "w" a weekday, "d", "m" (a number
            or a name), "y", "h", "n" minutes, "p" am or pm; ascending.
        day: the date. minutes: of the day. read: the date that the text says.
        guessed: the year is that of most other dates of the conversation.
    """

    text: str
    spans: tuple[tuple[str, int, int], ...]
    day: date | None = None
    minutes: int | None = None
    read: date | None = None
    guessed: bool = False

    @property
    def codes(self) -> str:
        """The letters of its parts."""
        return "".join(code for code, _, _ in self.spans)

    @property
    def sure(self) -> bool:
        """Whether its year is known."""
        return "y" in self.codes or self.guessed

    def __str__(self) -> str:
        parts, at = [], 0
        new_year = self.day and self.read and self.day.year != self.read.year
        dated = [span for span in self.spans if span[0] in "dm"]
        for span in self.spans:
            code, start, end = span
            parts += [self.text[at:start], self._part(code, self.text[start:end])]
            at = end
            if new_year and self.day and self.guessed and span == dated[-1]:
                named = any(self.text[at].isalpha() for code, at, _ in dated if code == "m")
                between = ", " if dated[0][0] == "m" else " "
                parts.append(f"{between if named else '/'}{self.day.year}")
        return "".join([*parts, self.text[at:]])

    def _part(self, code: str, old: str) -> str:
        """Return what stands in place of a part."""
        if code in "hnp":
            return self._clock_part(code, old)
        if self.day is None or self.read is None or self.day == self.read:
            return old
        if code == "y":
            return f"{self.day.year:04}"[-len(old) :]
        if old[0].isalpha():
            names, number = (_WEEKDAYS if code == "w" else _MONTHS)[old.lower()]
            moved = (number + (self.day - self.read).days) % 7
            name = names[moved if code == "w" else self.day.month - 1]
            return name.lower() if old.islower() else name
        width = 2 if self._padded or old[0] == "0" else 1
        return f"{self.day.day if code == 'd' else self.day.month:0{width}}"

    def _clock_part(self, code: str, old: str) -> str:
        hour, minute = self.clock.hour, self.clock.minute
        if code == "n":
            return f"{minute:02}"
        if code == "p":
            half = "p" if hour >= _NOON else "a"
            return (half.upper() if old[0].isupper() else half) + old[1:]
        shown = f"{hour % _NOON or _NOON}" if "p" in self.codes else f"{hour:0{len(old)}}"
        return f"{shown}:{minute:02}" if minute and "n" not in self.codes else shown

    @property
    def _padded(self) -> bool:
        """Whether days and months have two digits: "25/12/2024"."""
        parts = [self.text[start:end] for code, start, end in self.spans if code in "dm"]
        return all(part.isdecimal() and len(part) > 1 for part in parts)

    def dated(self) -> Moment:
        """Return the date alone, without its weekday."""
        spans = [span for span in self.spans if span[0] in "dmy"]
        begin = min(start for _, start, _ in spans)
        text = self.text[begin : max(end for _, _, end in spans)]
        moved = tuple((code, start - begin, end - begin) for code, start, end in spans)
        return replace(self, text=text, spans=moved, minutes=None)

    def iso(self) -> str:
        """Return it as ISO 8601 writes it."""
        day = self.day.isoformat() if self.day else ""
        clock = "" if self.minutes is None else self.clock.isoformat("minutes")
        return "T".join(filter(None, (day, clock)))

    @property
    def clock(self) -> time:
        """Its time of day."""
        return time(*divmod(self.minutes or 0, 60))

    def within(self, language: Language) -> str:
        """Return it as another language writes it."""
        parts = []
        if self.day is not None:
            form = language.dated
            form = form if self.sure and "y" in self.codes else form[: form.index("{m}") + 3]
            month = language.months[self.day.month - 1]
            parts.append(form.format(d=self.day.day, m=month, y=self.day.year))
            if "w" in self.codes:
                name = self._part("w", next(self.text[a:b] for c, a, b in self.spans if c == "w"))
                weekday = language.weekdays[_WEEKDAYS[name.lower()][1]]
                parts = [language.led.format(w=weekday, date=parts[0])]
        if self.minutes is not None:
            parts.append(language.clock.format(h=self.clock.hour, n=f"{self.clock.minute:02}"))
        return ", ".join(parts)

    def formatted(self, form: str) -> str | None:
        """Return it in a form such as "DD/MM/YYYY" or "HH:mm", None if that says too much."""
        day, shown = self.day, dict[str, str]()
        if day is not None:
            month = LANGUAGES["english"].months[day.month - 1]
            shown |= {"MMMM": month, "MMM": month[:3], "MM": f"{day:%m}", "M": str(day.month)}
            shown |= {"DD": f"{day:%d}", "D": str(day.day)}
            shown |= {"YYYY": f"{day.year:04}", "YY": f"{day:%y}"} if self.sure else {}
        if self.minutes is not None:
            shown |= {"HH": f"{self.clock:%H}", "mm": f"{self.clock:%M}"}
        wanted = r"YYYY|YY|MMMM|MMM|MM|DD|HH|mm|(?<![A-Za-z])[MD](?![A-Za-z])"
        if any(part not in shown for part in re.findall(wanted, form)):
            return None
        return re.sub(wanted, lambda part: shown[part[0]], form)


def read_moment(
    text: str, day_first: bool | None = None, year: int = 0, dated: bool = False
) -> Moment | None:
    """Return a date or a time of day; None for any other text, and for what may be two.

    Args:
        day_first: whether "3/4/25" is in April; None if nobody knows.
        year: of dates that say none; 0 if nobody knows.
        dated: it is a date or time for sure: "3/4" is a day, and "9.30" a time.
    """
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _MOMENTS)), None)
    if match is None:
        return None
    found = {name: match.span(name) for name, part in match.groupdict().items() if part}
    doubtful = "n" not in found or (match["dot"] == "." and not dated)
    if ("b2" in found and not dated) or (
        "h" in found and doubtful and not (match["named"] or match["p"])
    ):
        return None
    if "a" in found:
        first, second = int(match["a"]), int(match["b"] or match["b2"])
        if match["sign"] == "." or first > _LAST_MONTH or first == second:
            day_first = True
        elif second > _LAST_MONTH:
            day_first = False
        if day_first is None:
            return None
        other = found.get("b") or found["b2"]
        found |= dict(zip("dm" if day_first else "md", (found["a"], other), strict=True))
    spans = {name[0]: span for name, span in found.items() if name.rstrip("2345") in set("wdmyhnp")}
    parts = {code: text[start:end] for code, (start, end) in spans.items()}
    try:
        day = _day_of(parts, year)
        minutes = _minutes_of(parts)
    except (KeyError, ValueError):  # no such month, weekday, day or hour
        return None
    ordered = sorted(((code, *span) for code, span in spans.items()), key=lambda each: each[1])
    return Moment(text, tuple(ordered), day, minutes, day, bool(year) and "y" not in parts)


def _alone(text: str) -> re.Match[str] | None:
    """Return the match of a day without its month, None for any other text."""
    match = _DAY_ALONE.fullmatch(text.strip())
    known = match and (match["w"] or "mon").lower() in _WEEKDAYS
    return match if known and not text.strip().isdecimal() else None


def _day_of(parts: Mapping[str, str], year: int) -> date | None:
    if "d" not in parts:
        return None
    if "w" in parts:
        _WEEKDAYS[parts["w"].lower()]
    said = parts.get("y", "")
    number = int(said) + 2000 * (len(said) == len("25")) if said else year or _NO_LEAP
    month = parts["m"]
    return date(
        number,
        int(month) if month[0].isdecimal() else _MONTHS[month.lower()][1] + 1,
        int(parts["d"]),
    )


def _minutes_of(parts: Mapping[str, str]) -> int | None:
    if "h" not in parts:
        return None
    hour, minute = int(parts["h"]), int(parts.get("n", 0))
    if "p" in parts:
        if not 1 <= hour <= _NOON:
            raise ValueError
        hour = hour % _NOON + _NOON * (parts["p"][0].lower() == "p")
    return 60 * hour + minute


# ---- the values of a conversation ----

Value = Amount | Moment | str


class Reader:
    """Reads the values of one conversation, from placeholder -> original."""

    def __init__(self, originals: Mapping[str, str]) -> None:
        self.originals = originals

    def value(self, placeholder: str) -> Amount | Moment | None:
        """Return the value that a placeholder stands for, None if it cannot be read for sure."""
        original = self.originals.get(placeholder)
        if original is None or not placeholder.startswith("<DATE"):
            return None if original is None else self.read(original)
        alone = _alone(original)
        return self._day_alone(placeholder, alone) if alone else self._dated(original)

    def read(self, text: str, written: bool = False) -> Amount | Moment | None:
        """Return the value of a text, None if it has none or may have two.

        Args:
            written: an API wrote it, whose signs and order need not be those of the conversation.
        """
        plain = text.strip().strip(",;")
        if plain[:1] in ("-", "\u2212"):
            found = self.read(plain[1:], written)
            return (
                replace(found, value=-found.value, text="") if isinstance(found, Amount) else None
            )
        day_first, point = (None, "") if written else (self._day_first, self._point)
        if (moment := read_moment(plain, day_first, self._year)) is not None:
            return moment
        return read_amount(plain) or (read_amount(plain, point) if point else None)

    def _dated(self, original: str) -> Moment | None:
        """Return a date or a time of day: "2025" is no number of days."""
        return read_moment(original.strip().strip(",;"), self._day_first, self._year, dated=True)

    def _day_alone(self, placeholder: str, match: re.Match[str]) -> Moment | None:
        """Return the first such day from the date on that the conversation names before it: "the
        19th" behind "14 November"; without one, the last before the next date.

        A weekday before it has to be that of the day, where the year is known.
        """
        names = [name for name in self.originals if name.startswith("<DATE")]
        at = names.index(placeholder)
        earlier, later = (
            [n for n in each if not self._says_no_day(n)] for each in (names[:at], names[at + 1 :])
        )
        nearest = [*earlier[-1:], *later[:1]][:1]
        near = self._dated(self.originals[nearest[0]]) if nearest else None
        if near is None or near.day is None:
            return None
        passed = (near.day + timedelta(n if earlier else -n) for n in range(_THREE_MONTHS))
        found = next((day for day in passed if day.day == int(match["d"])), None)
        weekday = match["w"] and _WEEKDAYS.get(match["w"].lower())
        if found is None or (weekday and near.sure and found.weekday() != weekday[1]):
            return None
        return replace(near.dated(), day=found)

    def _says_no_day(self, name: str) -> bool:
        """Return True for a day without its month, and for a time of day."""
        moment = self._dated(self.originals[name])
        return bool(_alone(self.originals[name]) or (moment and moment.day is None))

    @cached_property
    def _year(self) -> int:
        """The year that two in three of the dates say which say one; 0 if there is none."""
        said = Counter(
            int(year)
            for name, original in self.originals.items()
            if name.startswith("<DATE_") and not name.startswith("<DATE_OF")
            if not original.strip().isdecimal()
            for year in re.findall(r"(?<![0-9])20[0-9]{2}(?![0-9])", original)
        )
        year, n = said.most_common(1)[0] if said else (0, 0)
        return year if 3 * n >= 2 * said.total() else 0

    @cached_property
    def _day_first(self) -> bool | None:
        """Whether dates such as "3/4/25" begin with the day; None if the others do not show it."""
        dates = (text.strip() for name, text in self.originals.items() if name[:5] == "<DATE")
        digital = map(_DIGITAL.fullmatch, dates)
        both = [
            (int(each[1]) > _LAST_MONTH, int(each[3]) > _LAST_MONTH) for each in digital if each
        ]
        shown = {first for first, second in both if first != second}
        return shown.pop() if len(shown) == 1 else None

    @cached_property
    def _point(self) -> str:
        """The sign before decimals in values that have only one reading, "" if they differ."""
        found = {
            _shows_point(number[0], name.startswith("<MONEY"))
            for name, original in self.originals.items()
            if name.startswith(("<MONEY", "<NUMBER"))
            if (number := re.search(r"[0-9](?:[0-9.,]*[0-9])?", original))
        } - {""}
        return found.pop() if len(found) == 1 else ""


def _shows_point(number: str, is_money: bool) -> str:
    """Return the sign before the decimals of a number, "" if it shows none.

    Args:
        is_money: no sum has three decimals from ten on; "1.459" may be a price of fuel.
    """
    if re.fullmatch(r"[0-9]+[.,](?:[0-9]{1,2}|[0-9]{4,})", number):
        return "," if "," in number else "."
    groups = r"[0-9]{1,3}(?:([.,])[0-9]{3}){2,}" + r"|[0-9]{2,3}[.,][0-9]{3}" * is_money
    if re.fullmatch(groups, number):
        return "." if "," in number else ","
    signs = [c for c in number if c in ".,"]
    return signs[-1] if len(set(signs)) > 1 else ""


# ---- values in another form, and parts of names ----


def in_form(name: str, value: Amount | Moment | None, original: str, how: str) -> str | None:
    """Return a value as a function writes it, None if it cannot.

    Args:
        name: "VALUE", "ISO", "FORMAT", "CURRENCY", "WEEKDAY" or "IN". value: None where nothing
            can be read.
        how: a language, or a form with "YYYY", "MM", "DD", "HH" and "mm", or with "0".
    """
    language = LANGUAGES.get(how.strip().lower())
    if name == "IN":
        return original if language is None else _in_language(value, original, language)
    if value is None and name in ("VALUE", "FORMAT") and original.strip().isdecimal():
        value = read_amount(original)  # "0012", whatever it was taken for
    shown: str | None = None
    if isinstance(value, Moment):
        known = value.day is not None and value.sure
        if name == "ISO" and (known or value.day is None):
            shown = value.iso()
        elif name == "WEEKDAY" and value.day is not None and known:
            shown = (language or LANGUAGES["english"]).weekdays[value.day.weekday()]
        elif name == "FORMAT" and how:
            shown = value.formatted(how)
    elif value is not None and name == "CURRENCY":
        shown = value.unit[:3] if value.is_money else None
    elif value is not None and name in ("VALUE", "FORMAT"):
        shown = _digits(value, how)
    return shown


def _in_language(value: Amount | Moment | None, original: str, language: Language) -> str:
    """Return a value in another language; of what has none, the names in it and ordinals."""
    if isinstance(value, Moment) and not _alone(original):
        return value.within(language)
    if isinstance(value, Amount) and (value.is_money or language.duration(value)):
        return language.duration(value) or language.sum(value)

    nth = r"\1." if language.dated.startswith("{d}.") else r"\1"
    shown = re.sub(r"(?:\bthe )?\b([0-9]{1,2})(?:st|nd|rd|th)\b", nth, original)
    for word in set(re.findall(r"[^\W\d_]+(?:-feira)?", shown)):
        names, numbered = language.months, _MONTHS.get(word.lower())
        if numbered is None:
            names, numbered = language.weekdays, _WEEKDAYS.get(word.lower())
        if numbered is None:
            return original  # it says more than that
        shown = re.sub(rf"\b{word}\b", names[numbered[1]], shown)
    return shown


def _digits(value: Amount, form: str) -> str | None:
    """Return a number alone, in a form such as "0.00" or "0000" if there is one."""
    if not form:
        return value.bare()
    if re.fullmatch(r"0{1,12}(?:[.,]0{1,12})?", form) is None:
        return None
    places = len(form.replace(",", ".").partition(".")[2])
    written = f"{rounded(value.shown, places):0{len(form)}f}"
    return written.replace(".", ",") if "," in form else written


def part_of(original: str, part: str) -> str:
    """Return a part of an original, the whole of it where it has none such.

    >>> part_of("Jan van der Berg", "last"), part_of("AX-4471", "digits"), part_of("Jan", "digits")
    ('van der Berg', '4471', 'Jan')
    """
    parts: dict[str, Callable[[], str]] = {
        "first": lambda: parts_of_name(original)[0],
        "last": lambda: parts_of_name(original)[1],
        "initials": lambda: "".join(word[0].upper() for word in original.split()),
        "upper": original.upper,
        "digits": lambda: "".join(filter(str.isdecimal, original)),
    }
    return (parts[part]() if part in parts else "") or original


def parts_of_name(name: str) -> tuple[str, str]:
    """Return the given names and the family name of a person, with what belongs to it.

    >>> parts_of_name("Jan van der Berg"), parts_of_name("HOLM, Eva"), parts_of_name("BERG Jan")
    (('Jan', 'van der Berg'), ('Eva', 'HOLM'), ('Jan', 'BERG'))
    """
    if "," in name:
        last, _, first = name.partition(",")
        return "".join(first.split()[:1]), last.strip()
    words = name.split()
    n_capitals = next((i for i, w in enumerate(words) if not w.isupper() or len(w) == 1), 0)
    if n_capitals:
        return " ".join(words[n_capitals:]), " ".join(words[:n_capitals])
    particle = next((i for i, word in enumerate(words[1:-1], 1) if word.islower()), -1)
    return "".join(words[:1]), " ".join(words[particle:])
