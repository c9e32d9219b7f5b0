"""The hidden values of a conversation: dates and times of day as people write them, read, and
written again in the same way; parts of names; and amounts (`amounts`).

By hand, since libraries guess: a value that can be read in two ways ("1.240", "03/04/2025") is not
read at all, unless the other values of the conversation show which way is theirs.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import pairwise

from sanitizer.answers.amounts import GROUPED, THOUSAND, Amount, read_amount
from sanitizer.answers.languages import LANGUAGES, Language

_LEAP_FREE, _LARGEST_DAY, _LAST_MONTH = 2001, 31, 12


_SHORT_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_MONTHS = (*(each.months for each in LANGUAGES.values()), _SHORT_MONTHS)
_SHORT_DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
_SHORTENED = frozenset(day.lower() for day in _SHORT_DAYS)
_WEEKDAYS = (*(each.weekdays for each in LANGUAGES.values()), _SHORT_DAYS)
_DAY_FIRST = re.compile(
    r"(?:the )?([0-9]{1,2})(?:st|nd|rd|th|\.)?[ -](?:of |de )?([^\W\d_]{3,12})\.?"
    r"(?:,?[ -](?:(?:de |of )?([0-9]{4})|['\u2019]?([0-9]{2})))?"
)
_MONTH_FIRST = re.compile(
    r"([^\W\d_]{3,12})\.? (?:the )?([0-9]{1,2})(?:st|nd|rd|th)?(?:,? ([0-9]{4}))?"
)
_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DIGITAL = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})")
_SHORT_DIGITAL = re.compile(r"([0-9]{1,2})(/)([0-9]{1,2})()")
_WEEKDAY = re.compile(r"(?P<name>[^\W\d_]{3,10}(?:-feira)?)(?P<sign>\.?,? )(?:the |den |el |le )?")
_CLOCK = re.compile(
    r"(?P<hour>[01]?[0-9]|2[0-4])(?:(?P<sign>[:.h]|H)(?P<minute>[0-5][0-9])(?::[0-5][0-9](?:\.[0-9]+)?)?)?"
    r"(?P<after> ?(?:[ap]\.?m\.?|Uhr|uur|hours?|hrs?|h|o['\u2019]clock|Z)\b\.?)?",
    re.I,
)
_HALF = 12  # hours
_BARE = re.compile(r"[12]?[0-9]|3[01]")
_DAY_ALONE = re.compile(
    r"(?i)(?:week )?(?:(?P<weekday>(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|"
    r"sun)(?:day)?),? )?"
    r"(?:the )?(?P<day>[12]?[0-9]|3[01])(?:st|nd|rd|th)?"
)
_YEAR_ALONE = re.compile(r"(?:19|20)[0-9]{2}")
_NOON = {"noon": 720, "midday": 720, "midnight": 0}
_TIME_BEHIND = re.compile(
    r"(?i)(?P<day>.{3,40}?)(?P<sign>,? (?:at |about |around |ca\.? |vers |gegen |um |om |a las? |"
    r"\u00e0 |alle |from )?|T)"
    r"(?P<time>[0-9]{1,2}(?:[:.h]|(?= ?[ap]\.?m)).{0,12}|noon|midday|midnight)"
)
_HOURS = "one two three four five six seven eight nine ten eleven twelve".split()
_SPOKEN_TIME = re.compile(
    rf"(?i)(?:a )?(?P<part>half past|quarter past|quarter to) (?P<hour>{'|'.join(_HOURS)})"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_SPELLED = re.compile(rf"(?i)(?:the )?({'|'.join(_ORDINALS)}) of ([a-z]{{3,9}}),?( [0-9]{{4}})?")
_MONTH_ALONE = re.compile(r"(?i)([a-z]{3,9})\.?( [0-9]{4})?")
_WEEKDAY_TIME = re.compile(
    r"(?i)(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?,? (?:at |from )?"
    r"(?P<time>[0-9].{0,10})"
)
_PART_OF_DAY = re.compile(r"(?i) in the (morning|afternoon|evening)$")
_END = re.compile(r"(?i)(?:the )?(end|last day|beginning|start) of ([a-z]{3,9}),?( [0-9]{4})?")


@dataclass(frozen=True)
class Moment:
    """A date, a time of day, or both, and how they were written.

    Attributes:
        day: the date. form: how it was written, with "{d}", "{m}", "{y}" and names of months.
        weekday: what is between it and its name, "" if none; named: its number, from Monday.
        minutes: of the day. clock: how the time was written: "24" or "12", its sign, and what
            stands behind. between: what is before it.
        guessed: the year is that of most other dates of the conversation. amount: what the text is
            if it is no time of day: "14.20". bare: an hour, or perhaps a day: "9";
            day_of: that day of the month that the next date names, "23 to 27 September".
    """

    day: date | None = None
    form: str = ""
    months: Sequence[str] = ()
    padded: bool = False
    has_year: bool = True
    short_year: bool = False
    weekday: str = ""
    weekdays: Sequence[str] = ()
    named: int | None = None
    minutes: int | None = None
    clock: tuple[str, str, str, bool] = ("24", ":", "", True)
    between: str = " "
    guessed: bool = False
    amount: Amount | None = None
    bare: bool = False
    day_of: Moment | None = None

    def __str__(self) -> str:
        return self.between.join(part for part in (self._date(), self._time()) if part)

    def _date(self) -> str:
        if self.day is None:
            return ""
        width = 2 if self.padded else 1
        month = self.months[self.day.month - 1] if self.months else f"{self.day.month:0{width}}"
        year = f"{self.day.year % 100:02}" if self.short_year else f"{self.day.year:04}"
        written = self.form.format(d=f"{self.day.day:0{width}}", m=month, y=year)
        if not self.weekday:
            return written
        number = self.day.weekday() if self.has_year else self.named
        name = None if number is None else self.weekdays[number]
        return f"{name}{self.weekday}{written}" if name else written

    def _time(self) -> str:
        if self.minutes is None:
            return ""
        kind, sign, after, padded = self.clock
        hour, minute = divmod(self.minutes % 1440, 60)
        if kind == "24":
            return f"{hour:0{2 if padded else 1}}{sign or ':'}{minute:02}{after}"
        half = "pm" if hour >= _HALF else "am"
        dotted = after.strip().lower().count(".") > 1
        shown = f"{half[0]}.{half[1]}." if dotted else half
        shown = shown.upper() if after.strip().isupper() else shown
        minutes = f"{sign or ':'}{minute:02}" if minute or sign else ""
        return f"{hour % _HALF or _HALF}{minutes}{' ' * after.startswith(' ')}{shown}"

    @property
    def has_day(self) -> bool:
        """Whether it names a day of a month, and no month or year alone."""
        return self.day is not None and "{d}" in self.form

    def iso(self) -> str:
        """Return it as ISO 8601 writes it."""
        day = (
            "" if self.day is None else f"{self.day.year:04}-{self.day.month:02}-{self.day.day:02}"
        )
        time = "" if self.minutes is None else "{:02}:{:02}".format(*divmod(self.minutes, 60))
        return "T".join(part for part in (day, time) if part)

    def within(self, language: Language, written: str) -> str:
        """Return it as another language writes it.

        Args:
            written: the original, for its weekday.
        """
        parts = []
        if self.day is not None:
            form = language.dated
            form = form if "{d}" in self.form else form[form.index("{m}") :]
            form = form if self.has_year else form[: form.index("{m}") + len("{m}")]
            month = language.months[self.day.month - 1]
            parts.append(form.format(d=self.day.day, m=month, y=self.day.year))
            number = weekday_in(written)
            if number is not None:
                parts = [language.led.format(w=language.weekdays[number], date=parts[0])]
        if self.minutes is not None:
            hour, minute = divmod(self.minutes % 1440, 60)
            parts.append(language.clock.format(h=hour, n=f"{minute:02}"))
        return ", ".join(parts)


def named_in(text: str, language: Language) -> str | None:
    """Return a text with its months, weekdays and ordinals as another language has them: "Monday
    4", "11 to 15 August", "25th"; None if it has none.
    """
    found = False

    def named(match: re.Match[str]) -> str:
        nonlocal found
        if match["nth"]:
            found = True
            return match["nth"] + "." * language.dated.startswith("{d}.")
        for every, names in ((_MONTHS, language.months), (_WEEKDAYS, language.weekdays)):
            place = next((at for each in every if (at := _place(match[0], each)) >= 0), None)
            if place is not None:
                found = True
                return names[place]
        return match[0]

    shown = re.sub(
        r"(?:\bthe )?(?P<nth>[0-9]{1,2})(?:st|nd|rd|th)\b|[^\W\d_]+(?:-feira)?", named, text
    )
    return shown if found else None


Value = Amount | Moment | str


class Reader:
    """Reads the values of one conversation.

    Args:
        originals: placeholder -> original.
    """

    def __init__(self, originals: Mapping[str, str]) -> None:
        self.originals = originals

    def value(self, placeholder: str) -> Amount | Moment | None:
        """Return the value that a placeholder stands for, None if it cannot be read for sure."""
        original = self.originals.get(placeholder)
        if original is None:
            return None
        if not placeholder.startswith("<DATE"):
            return self.read(original)
        if _BARE.fullmatch(original.strip()):
            return self._bare(placeholder, int(original))
        if day := _DAY_ALONE.fullmatch(original.strip()):
            return self._day_alone(placeholder, day)
        if _YEAR_ALONE.fullmatch(original.strip()):
            return Moment(date(int(original), 1, 1), form="{y}")
        return self.read(original, amounts=False)  # "2025" is no number of days

    def _bare(self, placeholder: str, number: int) -> Moment | None:
        """Return a number alone that was taken for a date: an hour, or a day like the next one."""
        following = self._next_date.get(placeholder)
        found = self.read(self.originals[following], amounts=False) if following else None
        day_of = None
        if isinstance(found, Moment) and found.day is not None and 0 < number < found.day.day:
            day_of = replace(found, day=found.day.replace(day=number), weekday="", minutes=None)
        if number > 2 * _HALF and day_of is None:
            return None
        minutes = 60 * number if number <= 2 * _HALF else None
        clock = "24", ":", "", False
        return Moment(minutes=minutes, clock=clock, bare=True, day_of=day_of)

    def _day_alone(self, placeholder: str, match: re.Match[str]) -> Moment | None:
        """Return the first such day from the date on that the conversation names before it: "the
        19th" behind "14 November"; without one, the last before the next date.

        A weekday before it has to be that of the day, where the year is known.
        """
        names = [name for name in self.originals if name.startswith("<DATE")]
        at, day = names.index(placeholder), int(match["day"])
        before = next(filter(None, map(self._whole_day, reversed(names[:at]))), None)
        after = next(filter(None, map(self._whole_day, names[at + 1 :])), None)
        near = before or after
        if near is None or near.day is None:
            return None
        months = range(3) if before else range(0, -3, -1)
        for step in months:
            month = near.day.month - 1 + step
            year, month = near.day.year + month // 12, month % 12 + 1
            if day > monthrange(year, month)[1]:
                continue
            found = date(year, month, day)
            if (before and found >= near.day) or (not before and found <= near.day):
                break
        else:
            return None
        sure = near.has_year or near.guessed
        weekday = weekday_in(match["weekday"] + " ") if match["weekday"] else None
        if weekday is not None and sure and found.weekday() != weekday:
            return None
        return replace(near, day=found, weekday="", named=None, minutes=None)

    def _whole_day(self, placeholder: str) -> Moment | None:
        """Return the day that a placeholder stands for if its month is named too."""
        original = self.originals[placeholder].strip()
        if _DAY_ALONE.fullmatch(original) or _BARE.fullmatch(original):
            return None
        found = self.read(original, amounts=False)
        return found if isinstance(found, Moment) and found.has_day else None

    def read(self, text: str, amounts: bool = True) -> Amount | Moment | None:
        """Return the value of a text, None if it has none or may have two."""
        plain = text.strip().strip(",;")
        if plain[:1] in ("-", "\u2212") and amounts:
            found = self.read(plain[1:])
            return replace(found, value=-found.value) if isinstance(found, Amount) else None
        moment = read_moment(plain, self._day_first, short=not amounts)
        if moment is not None and not (amounts and moment.amount):
            return self._in_year(moment, plain)
        amount = read_amount(plain) or (read_amount(plain, self._point) if self._point else None)
        if amount is None or not amounts:
            return None
        short = not amount.group and abs(amount.value) < THOUSAND and amount.is_plain
        return replace(amount, group=self._group) if short else amount

    def _in_year(self, moment: Moment, written: str) -> Moment:
        """Return a date without a year in that of all others of the conversation."""
        if moment.day is None or moment.has_year or not self._year:
            return moment
        dated = read_moment(f"{written} {self._year}")  # February may have another end
        try:
            day = dated.day if dated and dated.day else moment.day.replace(year=self._year)
        except ValueError:
            return moment
        return replace(moment, day=day, guessed=True)

    @cached_property
    def _dates(self) -> list[str]:
        return [
            original
            for name, original in self.originals.items()
            if name.startswith("<DATE_") and not name.startswith("<DATE_OF")
            if not original.strip().isdecimal()
        ]

    @cached_property
    def _next_date(self) -> dict[str, str]:
        return dict(pairwise(name for name in self.originals if name.startswith("<DATE")))

    @cached_property
    def _year(self) -> int:
        """The year that two in three of the dates say which say one; 0 if there is none."""
        said = Counter(
            int(year)
            for original in self._dates
            for year in re.findall(r"(?<![0-9])20[0-9]{2}(?![0-9])", original)
        )
        year, n = said.most_common(1)[0] if said else (0, 0)
        return year if 3 * n >= 2 * said.total() else 0

    @cached_property
    def _day_first(self) -> bool | None:
        """Whether dates such as "3/4/25" begin with the day; None if the others do not show it."""
        shown = {
            int(date[1]) > _LAST_MONTH
            for original in self.originals.values()
            if (date := _in_digits(original.strip())) and date[2] != "."
            if (int(date[1]) > _LAST_MONTH) != (int(date[3]) > _LAST_MONTH)
        }
        return shown.pop() if len(shown) == 1 else None

    @cached_property
    def _group(self) -> str:
        """The sign between the groups of digits in a sum of four digits, or else in a larger one;
        "" if none shows it.
        """
        sums = [each for name, each in self.originals.items() if name.startswith("<MONEY")]
        read = [read_amount(each.strip(), self._point) for each in sums]
        long = [each for each in read if each and each.value >= THOUSAND]
        short = [each for each in long if each.value < GROUPED]
        return next((each.group for each in short or long if each.group), "")

    @cached_property
    def _point(self) -> str:
        """The sign before decimals in values that have only one reading, "" if they differ."""
        found = set()
        for name, original in self.originals.items():
            if name.startswith(("<MONEY", "<NUMBER")):
                number = re.search(r"[0-9](?:[0-9.,]*[0-9])?", original)
                grouped = name.startswith("<MONEY")
                found.add(_shows_point(number.group(), grouped) if number else "")
        found.discard("")
        return found.pop() if len(found) == 1 else ""


def _in_digits(text: str) -> re.Match[str] | None:
    return _DIGITAL.fullmatch(text) or _SHORT_DIGITAL.fullmatch(text)


def _shows_point(number: str, is_money: bool) -> str:
    """Return the sign before the decimals of a number, "" if it shows none.

    Args:
        is_money: no sum has three decimals from ten on; "1.459" may be a price of fuel.
    """
    if re.fullmatch(r"[0-9]+([.,])(?:[0-9]{1,2}|[0-9]{4,})", number):
        return "," if "," in number else "."
    groups = r"[0-9]{1,3}(?:([.,])[0-9]{3}){2,}" + r"|[0-9]{2,3}[.,][0-9]{3}" * is_money
    if re.fullmatch(groups, number):
        return "." if "," in number else ","
    signs = [c for c in number if c in ".,"]
    return signs[-1] if len(set(signs)) > 1 else ""


def read_moment(text: str, day_first: bool | None = None, short: bool = False) -> Moment | None:
    """Return a date or a time of day; None for any other text, and for what may be two.

    Args:
        day_first: whether "3/4/25" is in April; None if nobody knows. short: "3/4" is a day.
    """
    if part := _PART_OF_DAY.search(text):
        half = "am" if part[1].lower() == "morning" else "pm"
        return _read_clock(f"{text[: part.start()].replace('.', ':')} {half}")
    digital = _DIGITAL.fullmatch(text) or (_SHORT_DIGITAL.fullmatch(text) if short else None)
    if digital is not None and digital[2] != ".":
        first, second = int(digital[1]) > _LAST_MONTH, int(digital[3]) > _LAST_MONTH
        day_first = first if first != second else day_first  # "28/10" has one reading
        if day_first is not None:
            return _digital_day(digital, day_first)
    found = _read_clock(text) or _spelled_day(text) or _read_day(text)
    if found is not None:
        return found
    both = _TIME_BEHIND.fullmatch(text)
    if both is None:
        return None
    day, time = _read_day(both["day"]), _read_clock(both["time"])
    if time is None or day is None:
        return None
    return replace(day, minutes=time.minutes, clock=time.clock, between=both["sign"])


def _read_clock(text: str) -> Moment | None:
    timed = _WEEKDAY_TIME.fullmatch(text)
    text = timed["time"] if timed else text
    if text.lower() in _NOON:
        return Moment(minutes=_NOON[text.lower()])
    if spoken := _SPOKEN_TIME.fullmatch(text):
        hour = _HOURS.index(spoken["hour"].lower()) + 1
        part = {"half past": 30, "quarter past": 15, "quarter to": -15}[spoken["part"].lower()]
        return Moment(minutes=60 * hour + part, clock=("24", ":", "", False))
    match = _CLOCK.fullmatch(text.strip())
    if match is None or (match["minute"] is None and not match["after"]):
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    after, sign = match["after"] or "", match["sign"] or ""
    told = re.sub(r"[^a-z]", "", after.lower())
    if told in ("am", "pm") and 1 <= hour <= _HALF:
        hour = hour % _HALF + _HALF * (told == "pm")
        return Moment(minutes=60 * hour + minute, clock=("12", sign, after, False))
    how_long = told in ("hour", "hours", "hr", "hrs") and not sign
    if told in ("am", "pm", "o" + "clock") or how_long:
        return None
    clock = "24", sign.lower(), after, len(match["hour"]) > 1
    amount = read_amount(text) if sign == "." and not after else None  # "9.30" may be a sum
    return Moment(minutes=60 * hour + minute, clock=clock, amount=amount)


def weekday_in(text: str) -> int | None:
    """Return the number of the weekday that a text begins with, from Monday."""
    named = _WEEKDAY.match(text)
    if named is None:
        return None
    return next((at for names in _WEEKDAYS if (at := _place(named["name"], names)) >= 0), None)


def _read_day(text: str) -> Moment | None:
    """Return a date; None for any other text, and for one that may be two dates."""
    named = _WEEKDAY.match(text)
    if named is not None:
        names = next((each for each in _WEEKDAYS if _place(named["name"], each) >= 0), None)
        if names is not None:
            day = _plain_day(text[named.end() :])
            number = _place(named["name"], names)
            return day and replace(day, weekday=named["sign"], weekdays=names, named=number)
    return _plain_day(text)


def _spelled_day(text: str) -> Moment | None:
    """Return a day in words, the first one of a month alone: "the first of March", "July"."""
    if spelled := _SPELLED.fullmatch(text):
        number = _ORDINALS.index(spelled[1].lower()) + 1
        return _plain_day(f"{number} {spelled[2]}{spelled[3] or ''}")
    if named := _MONTH_ALONE.fullmatch(text):
        first = _plain_day(f"1 {named[1]}{named[2] or ''}")
        return first and replace(first, form="{m} {y}" if named[2] else "{m}")
    if ending := _END.fullmatch(text):
        first = _plain_day(f"1 {ending[2]}{ending[3] or ''}")
        if first is None or first.day is None or ending[1].lower() in ("beginning", "start"):
            return first
        last = monthrange(first.day.year, first.day.month)[1]
        return replace(first, day=first.day.replace(day=last))
    return None


def _plain_day(text: str) -> Moment | None:
    if iso := _ISO.fullmatch(text):
        return _moment(int(iso[1]), int(iso[2]), int(iso[3]), form="{y}-{m}-{d}", padded=True)
    if digital := _DIGITAL.fullmatch(text):
        first, second = int(digital[1]), int(digital[3])
        if digital[2] == "." or first > _LAST_MONTH or first == second:
            return _digital_day(digital, day_first=True)
        return _digital_day(digital, day_first=False) if second > _LAST_MONTH else None
    for pattern, day, month, form in (
        (_DAY_FIRST, 1, 2, "{d} {m}"),
        (_MONTH_FIRST, 2, 1, "{m} {d}"),
    ):
        match = pattern.fullmatch(text)
        months = match and next((m for m in _MONTHS if _place(match[month], m) >= 0), None)
        if match and months and int(match[day]) <= _LARGEST_DAY:
            return _named_day(match, match[day], match[month], months, form)
    return None


def _digital_day(digital: re.Match[str], day_first: bool) -> Moment | None:
    """Return a date in digits, whose first number is the day or the month."""
    first, second, year = int(digital[1]), int(digital[3]), int(digital[4] or _LEAP_FREE)
    short = len(digital[4]) == len("25")
    padded, sign = len(digital[1]) == len(digital[3]) == len("03"), digital[2]
    form = sign.join(["{d}", "{m}"] if day_first else ["{m}", "{d}"])
    month, day = (second, first) if day_first else (first, second)
    return _moment(
        year + 2000 * short,
        month,
        day,
        form=f"{form}{sign}{{y}}" if digital[4] else form,
        padded=padded,
        has_year=bool(digital[4]),
        short_year=short,
    )


def _named_day(
    match: re.Match[str], day: str, month: str, months: Sequence[str], form: str
) -> Moment | None:
    """Return a date whose month has a name."""
    last = match[4] if match.re.groups > len(("day", "month", "year")) else None
    year = match[3] or (last and f"20{last}")
    sign = "-" if "-" in match.group() else ", " if form == "{m} {d}" else " "
    form = form.replace(" ", "-") if sign == "-" else form
    lowered = month[0].islower() and months[0][0].isupper()
    return _moment(
        int(year or _LEAP_FREE),
        _place(month, months) + 1,
        int(day),
        form=f"{form}{sign}{{y}}" if year else form,
        months=[name.lower() for name in months] if lowered else months,
        has_year=bool(year),
        short_year=bool(last),
    )


def _moment(
    year: int,
    month: int,
    day: int,
    *,
    form: str,
    months: Sequence[str] = (),
    padded: bool = False,
    has_year: bool = True,
    short_year: bool = False,
) -> Moment | None:
    try:
        when = date(year, month, day)
    except ValueError:
        return None
    return Moment(when, form, months, padded, has_year, short_year)


def _place(name: str, names: Iterable[str]) -> int:
    lowered = [each.lower() for each in names]
    plain = "sep" if name.lower() == "sept" else name.lower()
    plain = plain[:3] if plain[:3] in _SHORTENED and len(plain) < len("monday") else plain
    return lowered.index(plain) if plain in lowered else -1


def first_name(name: str) -> str:
    """Return the given names of a person: "Jan" of "Jan van der Berg", and of "BERG Jan"."""
    n_capitals = _n_capitals(name)
    if n_capitals:
        return " ".join(name.split()[n_capitals:])
    return name.rpartition(",")[2].split(maxsplit=1)[0]


def _n_capitals(name: str) -> int:
    """Return how many words of a last name come first: "GRZYBOWSKA Halina"."""
    words = name.split()
    n = next((i for i, word in enumerate(words) if not word.isupper() or len(word) == 1), 0)
    return n if "," not in name else 0


def last_name(name: str) -> str:
    """Return the family name of a person, with what belongs to it: "van der Berg"."""
    if "," in name:
        return name.partition(",")[0].strip()
    words = name.split()
    if n_capitals := _n_capitals(name):
        return " ".join(words[:n_capitals])
    particles = [i for i, word in enumerate(words[1:-1], 1) if word.islower()]
    return " ".join(words[particles[0] if particles else -1 :])


def in_form(name: str, value: Amount | Moment | None, original: str, how: str) -> str | None:
    """Return a value as a function writes it, None if it cannot.

    Args:
        name: "VALUE", "ISO", "FORMAT", "CURRENCY", "WEEKDAY" or "IN". value: None where nothing
            can be read.
        how: a language, or a form with "YYYY", "MM", "DD", "HH" and "mm", or with "0".
    """
    if name == "CURRENCY":
        return value.unit[:3] if isinstance(value, Amount) and value.is_money else None
    if name == "IN":
        return _in_language(value, original, how.strip().lower())
    if name == "FORMAT" and how == "YYYY" and re.fullmatch("(?:19|20)[0-9]{2}", original):
        return original
    if name in ("VALUE", "FORMAT") and (value is None or _BARE.fullmatch(original.strip())):
        value = read_amount(original)  # "0012", whatever it was taken for
    if isinstance(value, Moment):
        return _dated(name, value.day_of or value, how)
    return _digits(value, how) if value and name in ("VALUE", "FORMAT") else None


def _in_language(value: Amount | Moment | None, original: str, name: str) -> str | None:
    language = LANGUAGES.get(name)
    if language is None:
        return original  # as it is written
    if value is None or _DAY_ALONE.fullmatch(original.strip()):
        return named_in(original, language) or original
    if isinstance(value, Moment):
        return original if value.bare else value.within(language, original)
    return _measured(value, original, name)


def _dated(name: str, value: Moment, how: str) -> str | None:
    """Return a date or time in another form."""
    sure = value.has_year or value.guessed
    if value.bare or value.form == "{y}":
        return None
    if name == "ISO":
        return value.iso() if sure or value.day is None else None
    if name == "WEEKDAY" and value.day is not None and sure:
        names = LANGUAGES.get(how.strip().lower() or "english", LANGUAGES["english"])
        return names.weekdays[value.day.weekday()]
    return _formatted(value, how) if name == "FORMAT" and how else None


def _digits(value: Amount, form: str) -> str | None:
    """Return a number alone, in a form such as "0.00" or "0000" if there is one."""
    if not form:
        return value.bare()
    if re.fullmatch(r"0{1,12}(?:[.,]0{1,12})?", form) is None:
        return None
    comma = "," in form
    places = len(form.replace(",", ".").partition(".")[2])
    written = f"{value.value:0{len(form)}.{places}f}"
    return written.replace(".", ",") if comma else written


def _formatted(value: Moment, form: str) -> str | None:
    day, found = value.day, form
    if "YY" in form and (day is None or not (value.has_year or value.guessed)):
        found = re.sub(r"[^A-Za-z]*YY(?:YY)?$", "", form)
        if day is None or re.fullmatch("MMMM?", found) is None:
            return None  # "MMMM YYYY" is the month alone
    if day is not None:
        parts = {
            "YYYY": f"{day.year:04}",
            "YY": f"{day.year % 100:02}",
            "MMMM": LANGUAGES["english"].months[day.month - 1],
            "MMM": LANGUAGES["english"].months[day.month - 1][:3],
            "MM": f"{day.month:02}",
            "DD": f"{day.day:02}",
            "M": str(day.month),
            "D": str(day.day),
        }
        found = re.sub(
            "YYYY|YY|MMMM|MMM|MM|DD|(?<![A-Za-z])[MD](?![A-Za-z])", lambda m: parts[m[0]], found
        )
    if value.minutes is not None:
        hour, minute = divmod(value.minutes, 60)
        found = found.replace("HH", f"{hour:02}").replace("mm", f"{minute:02}")
    elif "HH" in form or "mm" in form:
        return None
    return found


def _measured(value: Amount, original: str, language: str) -> str:
    """Return a duration or an age as another language says it; other amounts with its signs."""
    base, _, old = value.unit.partition(" ")
    names = LANGUAGES[language].units.get(base)
    if names is None or old not in ("", "old"):
        if not value.is_money:
            return named_in(original, LANGUAGES[language]) or original
        group, point = _SIGNS.get(language, (".", ","))
        value = replace(value, point=point, group=group if value.group else "")
        return str(_with_sign(value, language))
    unit = names[0] if value.value == 1 else names[1]
    form = LANGUAGES[language].aged if old else "{n} {unit}"
    return form.format(n=value.bare(), unit=unit)


def _with_sign(value: Amount, language: str) -> Amount:
    """Return a sum with its sign where a language has it: "23.500 €", "€ 23.500", "€23,500"."""
    sign, rest = value.before.strip(), value.after
    if sign not in _SYMBOLS:
        sign, rest = rest.strip()[:1], rest.strip()[1:]
        if sign not in _SYMBOLS or value.before.strip():
            return value
    if language in ("english", "dutch"):
        return replace(value, before=sign + " " * (language == "dutch"), after=rest)
    return replace(value, before="", after=f"\u00a0{sign}{rest}")


_SYMBOLS = frozenset("€£$¥")
_SIGNS = {"english": (",", "."), "french": ("\u00a0", ",")}
"""Language -> the signs between groups of digits and before decimals, where others have ".,"."""
