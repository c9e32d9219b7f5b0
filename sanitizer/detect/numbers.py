"""Numbers: what their form and the visible words around them tell.

An age, a sum or a room belongs to somebody; a count, a term, a limit or a version belongs to the
task. Everything here is a function of visible text and of the number's own form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from sanitizer.detect.classes import (
    words_of,
)
from sanitizer.detect.skeleton import (
    NUMBER,
    NUMERAL,
    WORD,
    Skeleton,
    kind_of,
)
from sanitizer.detect.surroundings import LONG_MONTH, MONTH, NAMES
from sanitizer.text import (
    straight,
)

_PLACED = re.compile(
    r"(?i)\b(?:room|ward|bed|seat|flat|apartment|apt\.?|locker|suite|courtroom|cell)"
    r"(?: (?:no\.?|nr\.?|number))? ?#?$"
)
"""Visible text before the number of a room, a bed or a seat."""
OLD = re.compile(
    r"(?i)(?:\b(?:i|he|she|who|mother|father|mum|mom|dad|son|daughter|wife|husband)"
    r"(?:['\u2019](?:m|s)| am| is| was)|\b(?:im|hes|shes))(?: (?:now|only|just|almost|nearly))? $"
)
_AGE_AFTER = re.compile(
    r"(?i)[ -]?(?:years?[ -]old|yrs? old|yo\b|y/o)|[.,;!?)]|\s*$|"
    r" (?:and|with|from|living|male|female|but|so|yrs|years of age)\b"
)
"""Visible text before and after an age."""
_AFTER_NAME = re.compile(r"\ufffc(?:,| \(|, aged?) ?$")
_AGED = re.compile(r"(?i)(?: (?:years?|months?|weeks?))?(?:[),;]| -)")
OLD_AFTER = re.compile(r"(?i)[ -](?:years?|yrs?|months?|weeks?|days?)[ -]olds?\b")
"""Visible text around an age: after a name, in brackets or between commas, and before "old"."""
AGE_IN = re.compile(
    r"(?i)(?:\b(?:j['\u2019]ai|il a|elle a|\u00e2g\u00e9e? de|fils de|fille de|b\u00e9b\u00e9 de|"
    r"enfant de|beb\u00e9 de|gar\u00e7on de|tengo|tiene|tienen|cumple|cumpli\u00f3|hijo de|hija de|"
    r"ni\u00f1[oa] de)|\ufffc,? de|,) $"
)
_AGE_OF = re.compile(r"(?i) (?:ans|mois|a\u00f1os|meses|(?:jahre|monate|wochen) alt)\b")
"""Visible text around an age in French, Spanish and German."""
_AUDIENCE = re.compile(r"(?i)\b(?:to|for|like|by|with|teach(?:ing)?) (?:a|an|the|some)? ?$")
"""Visible text before the age of readers, such as "explain it to a 10 year old"."""
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_CLOCK_OR_SMALL = re.compile(rf"{_CLOCK.pattern}|\d{{1,2}}(?:\.\d+)?")
BRIEF = re.compile(r"\d{1,4}m?s|\d{1,2}h(?:rs?)?|\d{1,3}mins?")
_TENS = re.compile(r"[1-9]0s")
_DECADE = re.compile(r"(?i)(?:\b(?:her|his|my|their|our|your|the|early|mid|late)|'s|-|\ufffc) ?$")
_STAMPED = re.compile(r"(?:^|\n|\ufffc[ T])[\[(]?$|[\[(]$")
"""A time of day; visible text before that of a message or of a line of a log."""
_WEIGHS = re.compile(
    r"(?i)\b(?:i|he|she)(?: now| still| only| currently)? weigh(?:s|ed)?(?: about| only| just)? $"
)
_OWNED = re.compile(
    r"(?i)(?:\b(?:my|our|his|her|their) (?:\w+ )?(?:salary|rent|income|pension|bonus|deposit|"
    r"debts?|loan|mortgage|wages?|savings|overdraft|allowance|alimony)"
    r"(?: (?:is|was|of|about|only|now))*|"
    r"\b(?:i|we|he|she) (?:earns?|earned|owes?|owed|inherited)"
    r"(?: (?:about|only|around|him|her|them|me|us|you))*) ?[$\u00a3\u20ac]?$"
)
"""Visible text before a sum of a person."""
_KEYED = re.compile(
    r"(?i)(?<![^\W_])(?:salary|wages?|income|rent|deposit|loan|mortgage|bonus|pension|donation|gift|"
    r"severance|debts?|net_worth|invoiced?|fee)(?:_(?:eur|usd|gbp|amount|total|monthly|yearly|annual))?"
    r"[\"']?\]? ?(?:=|:|=>) ?$"
)
_REFERENCE, _ROUND = re.compile(r"[0-9]{8,}"), re.compile(r"[0-9]{1,3}0+|20[0-9]{6}")
"""A number with so many digits that it is that of something, and one that is not."""
_LEAST_SUM = 3  # digits of a sum that a program gives a name
ASKS = re.compile(
    r"(?i)(?:^|[.!?:;\n] *|\b(?:please|and|then|so) )(?:which|who|what|how (?:many|much)|list|"
    r"count|show|find|filter|select|sort|give|keep|remove|delete|drop|return|mark|highlight|add up|"
    r"calculate|compute|exclude|include|alert|fire|notify|warn|trigger|add|apply|set|use|raise|increase|reduce)\b(?P<asked>[^.!?\n]*)$"
)
"""Visible text from the word that asks to a number."""
_ISO_DAY = re.compile(
    r"(?:19|20)\d\d-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d(?:[.,]\d+)?)?)?Z?)?)?|"
    r"[0-3]?\d/[A-Z][a-z]{2}/(?:19|20)\d\d(?::\d\d){0,3}"
)
"""A day, perhaps with a time, as programs write it."""
YEAR_OR_TIME = re.compile(r"1[6-9]\d\d|20\d\d|[01]\d[0-5]\d|2[0-3][0-5]\d|20\d{6}")
_OF_NUMBERS = frozenset(["MONEY", "DATE", "NUMBER", "ID"])
_OF_PERSONS = frozenset(
    "CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME OCCUPATION FAMILY".split()
)


_LEAST_ID = 7
"""Digits in a row from which a number is a sum or some reference, no age and no count."""
_OF_WORDS = frozenset(["PERSON", "PLACE", "ORGANIZATION"])
_SUM = re.compile(r"(?i)[0-9.,]+(?:k|m|mn|mio|bn|tsd|eur|euros?|usd|gbp|chf|p)")
"""A sum in one word."""
_DOSE = re.compile(r"[0-9]+(?:[.,][0-9]+)?(?:mg|mcg|ug|ml|g|kg|cm|mm|km|lbs?|cal|kcal)")
"""How much of something in one word."""


def ruled_out(word: str) -> frozenset[str]:
    """Return the classes that a word or number cannot have, for its written form.

    Example:
        >>> sorted(ruled_out("courier")), sorted(ruled_out("Easter"))
        (['DATE', 'ID', 'MONEY', 'NUMBER'], ['ID', 'MONEY', 'NUMBER'])
        >>> [word for word in ("148/92", "4417", "31.50", "22/05", "8:15") if not may_be_day(word)]
        ['148/92', '4417', '31.50']
    """
    kind, plain = kind_of(word), straight(word).lower()
    if kind == NUMERAL:
        return _OF_PERSONS | {"ID"}
    if word[:1].isdecimal():
        return _of_number(word)
    if any(map(str.isdecimal, word)):
        return frozenset()
    out = set(_OF_NUMBERS)
    if word.isupper() and len(word) > 1:
        out.discard("ID")
    if plain in words_of("dates"):
        out.discard("DATE")
    if plain in words_of("sums"):
        out -= {"MONEY", "NUMBER"}
    return frozenset(out)


def _of_number(word: str) -> frozenset[str]:
    """Return the classes that a word which begins with a digit cannot have."""
    if _ISO_DAY.fullmatch(word) or _CLOCK.fullmatch(word):
        return _OF_PERSONS | {"MONEY", "NUMBER", "ID"}
    if any(map(str.isalpha, word)):
        if _DOSE.fullmatch(word):
            return _OF_PERSONS - {"TREATMENT"} | _OF_WORDS | {"DATE", "ID", "MONEY"}
        sums = set[str]() if _SUM.fullmatch(word) else {"MONEY"}
        return _OF_PERSONS - {"CONDITION", "TREATMENT"} | _OF_WORDS | sums
    short = {"ID"} if len(word) <= 2 else set[str]()
    long = {"NUMBER"} if word.isdecimal() and len(word) >= _LEAST_ID else set[str]()
    return _OF_PERSONS | short | long | (set() if may_be_day(word) else {"DATE"})


def may_be_day(number: str) -> bool:
    """Return True if digits may be a day, a month, a year, a time or a span of these."""
    parts = re.findall("[0-9]+", number)
    values = [int(part) for part in parts]
    if not all(len(part) <= 2 or YEAR_OR_TIME.fullmatch(part) for part in parts):
        return False
    if len(values) == 1:
        return values[0] <= 31 or len(parts[0]) > 2
    if len(values) == 2 and all(len(part) <= 2 for part in parts):
        one, other = values
        if ":" in number:
            return one <= 24 and other <= 59
        months = min(one, other) <= 12 and max(one, other) <= 31
        return months or (one <= 24 and other <= 59) or max(one, other) <= 31
    return True


SHORT = re.compile(
    r"(?i)[ -](?:(?:working|business|calendar|full) )?"
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|weekends?)\b"
    r"(?! (?:pregnant|late|old|along|sober|clean|overdue|postpartum|gestation|premature|"
    r"behind|sick|absent|in arrears))"
)
MONTHS_AFTER = re.compile(r"(?i)[ -](?:months?|years?)\b(?! (?:pregnant|old|sober|clean))")
_BEHIND = re.compile(
    r"(?i)[ -](?:(?:days?|weeks?|months?|years?) (?:late|behind|overdue|sick|absent|in arrears|"
    r"sober|clean|pregnant)|(?:day|week|month|year)s? (?:history|absence)(?: of)?)\b"
)
"""Visible text after how long something has been so, which is a fact and no term."""
_NEWBORN = re.compile(
    r"(?i)(?:\b(?:i|he|she|who|baby|son|daughter|boy|girl|twins|puppy|kitten|(?:mother|father|mum|mom|"
    r"dad|wife|husband|partner))(?:['\u2019](?:m|s|re)| am| is| was| are| were)|\b(?:im|hes|shes))"
    r"(?: (?:now|only|just|almost|nearly|about))? $"
)
_AGE_SAID = re.compile(
    r"(?i)[ -](?:months?|mths?|weeks?|wks?|days?)(?: (?:and|but|so|now|today|with)\b|[.,;!?)]|\s*$)"
)
_ENDURED = re.compile(
    r"(?i)\b(?:have|has|had|been|was|were|lived|worked|waited|slept|stayed|off|there|here|"
    r"(?:i|you|we|they|he|she|it)['\u2019](?:ve|s))\b[^.!?\n]{0,60}"
    r" for(?: (?:about|around|over|nearly|almost|only|just|like|the (?:last|past)))* $"
)
_ASKED_FOR = re.compile(
    r"(?i)\b(?:please|can|could|will|would|should|need|want|plan|make|give|write|cook|boil|bake|if|"
    r"must|how|which|what)\b"
)
_ENDS = re.compile(r"[.!?;\n]\s*")
"""Visible text around the age of somebody small, and before how long somebody endured something;
what tells that such a text asks, and ends of sentences."""
MOST_DIGITS = 3  # of a count


def is_of_somebody(before: str, after: str) -> bool:
    """Return True for an age in weeks, and for how long somebody endured something.

    Example:
        >>> is_of_somebody("my son is ", " weeks and"), is_of_somebody("boil it for ", " hours")
        (True, False)
        >>> is_of_somebody("I have had this cough for about ", " weeks now")
        True
    """
    if _NEWBORN.search(before) and _AGE_SAID.match(after):
        return True
    endured = _ENDURED.search(before)
    if endured is None or not (SHORT.match(after) or MONTHS_AFTER.match(after)):
        return False
    return _ASKED_FOR.search(_ENDS.split(before)[-1]) is None


def is_stamp(number: str) -> bool:
    """Return True for a day as programs write it, perhaps with a time.

    Example:
        >>> is_stamp("2025-11-02T03:14:07Z"), is_stamp("14/Oct/2024:03:11:52"), is_stamp("4.10.")
        (True, True, False)
    """
    return _ISO_DAY.fullmatch(number) is not None


_DATED_AFTER = re.compile(rf"(?:st|nd|rd|th)? of {MONTH}\b|(?:st|nd|rd|th)? {LONG_MONTH}\b")
"""Visible text after the day of a month; "may" and "march" are verbs too."""


_AGE_DIGITS = 2
_WHOLE_DAY = re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:19|20)\d\d")
_PADDED_DAY = re.compile(r"(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])")
_MEASURE = re.compile(
    r" ?(?:%|(?:k?g|kilos?|k?m|cm|mm|ml|l|lit(?:er|re)s?|lbs?|oz|miles?|hours?|h|feet|foot|"
    r"inches|yards|hectares?|acres?|square|met(?:er|re)s?|Prozent|percent|per cent|pour cent|"
    r"por ciento)\b(?!/))"
)


_YEARS = re.compile(r"(?:19|20)[0-9]{2} ?[-\u2013/] ?(?:(?:19|20)[0-9]{2}|[0-9]{2})")
_IN_YEAR = re.compile(r"(?i)\b(?:since|in|from|until|till|by|during|year) $")
_SUM_AFTER = re.compile(r"(?i) ?(?:lakhs?|crores?|quid|bucks)\b")
_CLOCKS = re.compile(r"(?:[01]?\d|2[0-4])[:.][0-5]\d ?[-\u2013] ?(?:[01]?\d|2[0-4])[:.][0-5]\d")
_PARTED = re.compile(r"(?=(?:-?\d){6})\d{2,}(?:-\d{2,})+")
_SPAN = re.compile(r"\d{1,2} ?[-\u2013] ?\d{1,2}")


def as_measured(number: str, before: str, after: str, label: str | None) -> str | None:
    """Return the class of a number: of a day, a time or a measure where its form or a unit tells
    it, and of an age; no sum has hyphens.

    Example:
        >>> as_measured("12/04/1988", "", ",", "MONEY"), as_measured("3.5", "", " kg of", "MONEY")
        ('DATE', 'NUMBER')
        >>> as_measured("11:00-12:00", "", "", "MONEY"), as_measured("5510-33", "", "", "MONEY")
        ('DATE', 'ID')
    """
    if label == "MONEY" and _AFTER_NAME.search(before) and _AGED.match(after):
        return "NUMBER" if number.isdecimal() and len(number) <= _AGE_DIGITS else label
    if label in ("MONEY", "NUMBER", "ID") and _is_date(number, before, after, label):
        return "DATE"
    if label == "MONEY" and _PARTED.fullmatch(number):
        return "ID"
    if label in ("DATE", "NUMBER") and _SUM_AFTER.match(after):
        return "MONEY"
    measured = label == "MONEY" and _MEASURE.match(after)
    spanned = label in ("MONEY", "ID") and _SPAN.fullmatch(number)
    return "NUMBER" if measured or spanned else label


def _is_date(number: str, before: str, after: str, label: str) -> bool:
    """Return True for a day, a year or a time by its form; clocks and years may be ids too."""
    if label != "ID" and _CLOCKS.fullmatch(number):
        return True
    if _YEARS.fullmatch(number) or (
        label != "NUMBER" and _YEAR.fullmatch(number) and _IN_YEAR.search(before)
    ):
        return True
    padded = _PADDED_DAY.fullmatch(number) and after.startswith(". ")
    whole = _WHOLE_DAY.fullmatch(number) and may_be_day(number)
    return bool(padded or whole) or is_stamp(number)


def is_brief(word: str, before: str) -> bool:
    """Return True for seconds, minutes and hours as logs and plans write them.

    Example:
        >>> is_brief("30s", "retrying in "), is_brief("30s", "a man in his "), is_brief("2h", "")
        (True, False, True)
    """
    decade = _TENS.fullmatch(word) is not None and _DECADE.search(before) is not None
    return BRIEF.fullmatch(word) is not None and not decade


_FORUM_AGE = re.compile(r"[MFmf][1-9][0-9]|[1-9][0-9][MFmf]")


def is_aged(word: str) -> bool:
    """Return True for an age with a sex, as forums write them.

    Example:
        >>> is_aged("34F"), is_aged("M36"), is_aged("34")
        (True, True, False)
    """
    return _FORUM_AGE.fullmatch(word) is not None


_RAN = re.compile(
    r"(?i)\b(?:run|process|pid|transaction|txn|job|batch|session|order|record|trace|event|thread|build)"
    r"(?: (?:id|no\.?|number))?[ :=#]{1,2}$|\[$"
)
_SERIAL = re.compile(r"[0-9]{5,}")
"""Visible text before the number of a process or a record, as logs write it, and the number."""
_DOSED = re.compile(r" ?(?:mg|mcg|\u00b5g|micrograms?|milligrams?)\b(?! ?(?:/|per\b))")
"""Visible text after a dose."""
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_LIVED = re.compile(
    r"(?i)\b(?:finished|graduated|qualified|born|joined|retired|married|divorced|moved|emigrated|hired|"
    r"diagnosed|bought|started|left)\b[^.!?;\n]{0,25} in $"
)
"""A year, and visible text before one of somebody's life."""
_PERCENT = re.compile(r"(?i) ?(?:%|per ?cent\b)")
_SHARE_AFTER = re.compile(
    r"(?i) ?(?:%|per ?cent) (?:bonus|discount|off\b|stake|share|equity|commission|of (?:the |all )?"
    r"(?:revenue|turnover|sales|profits?|shares|company|votes|salary|pay|wages?|income|capital|my|our|his|her|"
    r"their|its)\b)"
)
_SHARE_BEFORE = re.compile(
    r"(?i)\b(?:rate|share|stake|margin|pool|churn|equity|errors?|occupancy|turnover|revenue|sales|profits?|"
    r"attendance|bonus|commission|costs|(?:which|who) \w+ \w+ puts|puts (?:it|this|that))"
    r"(?: (?:is|was|of|at|up|down|to|by|from|now|about|fell|rose|dropped|went|grew|only))* $|"
    r"\b(?:your|their|his|her|my|our) \w+ puts at $"
)
"""Visible text around a share of somebody or of a firm."""
_TARGET = re.compile(
    r"(?i)\b(?:against|below|above|missed) (?:an?|the|her|his|our|my|their) "
    r"(?:target|quota|budget|plan|forecast)(?: of)? $"
)
"""Visible text before what somebody was to reach."""
_TO_THE_CENT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]{2}|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]{2}")
"""A number in thousands with two places: a sum."""


_TESTED = re.compile(
    r"(?i)\b(?:albumin|alt|ast|bmi|calcium|crp|creatinine|egfr|ferritin|glucose|hb|hba1c|hdl|inr|ldl|"
    r"mch|mcv|platelets|potassium|psa|rdw|rbc|sodium|spo2|troponin|tsh|urea|wbc)"
    r"(?: (?:is|was|at))?[ :=]+$"
)
"""Visible text before what a test of somebody showed."""


def role(before: str, after: str, number: str = "") -> str | None:
    """Return the class of a number that its form or visible words around it tell, or None."""
    if is_stamp(number) or (_CLOCK.fullmatch(number) and _STAMPED.search(before)):
        return "DATE"
    lived = _YEAR.fullmatch(number) and _LIVED.search(before)
    if lived or _DATED_AFTER.match(after):
        return "DATE"
    aged = (
        (_AFTER_NAME.search(before) and _AGED.match(after))
        or (OLD_AFTER.match(after) and not _AUDIENCE.search(before))
        or (OLD.search(before) and _AGE_AFTER.match(after))
        or (AGE_IN.search(before) and _AGE_OF.match(after))
        or _WEIGHS.search(before)
        or _TESTED.search(before)
        or _BEHIND.match(after)
        or _DOSED.match(after)
        or (_PERCENT.match(after) and _is_share(before, after))
        or _TARGET.search(before)
        or is_of_somebody(before, after)
    )
    if aged:
        return "NUMBER"
    serial = _SERIAL.fullmatch(number) and (_RAN.search(before) or before.endswith("#"))
    if serial or _PLACED.search(before):
        return "ID"
    if _REFERENCE.fullmatch(number) and not _ROUND.fullmatch(number):
        return "ID"
    keyed = sum(map(str.isdecimal, number)) >= _LEAST_SUM and _KEYED.search(before)
    a_sum = keyed or _TO_THE_CENT.fullmatch(number) or _OWNED.search(before)
    return "MONEY" if a_sum else None


def _is_share(before: str, after: str) -> bool:
    """Return True if visible words say that a percentage is somebody's or a firm's."""
    if ASKS.search(before) or _ORDERS.match(before, sentence_start(before)):
        return False
    return (_SHARE_AFTER.match(after) or _SHARE_BEFORE.search(before)) is not None


_SENTENCE = re.compile(r"(?:[.!?;]['\")\]]* +|\n)(?=[^.!?;\n]*$)")
REQUESTS = (
    r"(?:add|answer|apply|ask|assume|avoid|build|calculate|change|check|cite|clean|compare|compute|convert|"
    r"create|cut|delete|describe|design|draft|draw|explain|filter|find|fix|generate|give|help|improve|"
    r"include|increase|keep|let|limit|list|make|mention|need|offer|pick|plan|please|print|propose|put|rank|"
    r"rate|recommend|reduce|remove|rephrase|replace|return|rewrite|round|say|select|set|shorten|show|"
    r"solve|sort|split|structure|suggest|summari[sz]e|suppose|take|tell|test|translate|turn|use|write)"
)
_ORDERS = re.compile(rf"(?i)[\s>*|-]*(?:please |and |then )?{REQUESTS}\b")
"""The beginning of the last sentence; what makes it a request, a question or a rule, whose numbers
are those of the task."""
UNIT_AFTER = re.compile(
    r"[ \u00a0]?(?:%|m\u00b2|\u00b0 ?(?:[CF]\b|\ufffc)|"
    r"(?:kg|mg|mcg|\u00b5g|cm|mm|km|ha|sqm|bpm|mmol|mph|"
    r"(?i:per ?cent|kilos?|grams|tonnes?|tons?|hectares?|acres?|litres?|liters?|miles|metres|"
    r"meters|yards|units|square|points?|stone|lbs?|inches|feet|million|billion|shares|pallets|boxes|cases|cartons|bottles|"
    r"children|grandchildren|stitches|instal+ments|shifts|visits|complaints|warnings|offences|convictions))\b)"
)


def sentence_start(before: str) -> int:
    """Return where the last sentence begins."""
    begins = _SENTENCE.search(before)
    return begins.end() if begins else 0


def is_measured(after: str) -> bool:
    """Return True if a unit that is none of time follows a number.

    Example:
        >>> is_measured(" hectares of"), is_measured(" km"), is_measured(" pm")
        (True, True, False)
    """
    return UNIT_AFTER.match(after) is not None


_TO_COUNT, _COUNT_ENDS = (
    re.compile(r"[ :=\t]{1,3}"),
    re.compile(r"h?[,;|]?(?:[ \t]|\n|$)|h?\.?(?:\n|$)"),
)
_CELL_ENDS = re.compile(r"[,;] |[ \t]*(?:\n|$)|\.[0-9](?:[,;] |[ \t]*(?:\n|$))")
_COUNT = re.compile(r"\d{1,3}(?:[.,]\d{1,2})?")
_LEAST_LINES = 2
_DATED_BEFORE = re.compile(
    rf"(?i:\b(?:the|on|by|until|till|til|since|from|between|before|after|due|born|dated?|day|week|at|"
    rf"(?<!up )to|and|am|le|du|au|el|al|vom|bis|zum|ab|{MONTH}|"
    rf"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?))"
    r"[.,:]? ?$|[/\u2013\ufffc] ?$|\d[.:-] ?$"
)
_DATED_BEHIND = re.compile(
    rf"(?i)(?:st|nd|rd|th|h|am|pm|a\.m|p\.m)\b|[./:-]\d| ?[\ufffc/\u2013-]|[.,]? (?:of )?{MONTH}\b|"
    r"[.,]? ?(?:o['\u2019]?clock|uhr|heures|am|pm|a\.m|p\.m)\b"
)
"""Visible text around a day or an hour."""


def is_dated(before: str, after: str) -> bool:
    """Return True if a number up to 31 is beside something of a date or a time.

    Example:
        >>> is_dated("my scores went up to ", ")? "), is_dated("I leave on the ", ".")
        (False, True)
    """
    return _DATED_BEFORE.search(before) is not None or _DATED_BEHIND.match(after) is not None


def counts_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Release the counts of a list such as "Mon: Anna 6, Ben 8", of which somebody wants sums, and
    of rows such as "Anna, 6, 8".

    A list has several numbers, each behind a name, in one line and in another: values of a blood
    test, one a line, are none. Which runs are numbers is public; so is the text between runs.
    """
    runs, text = found.runs, found.text
    items = [
        i
        for i in range(1, len(runs))
        if runs[i].is_number
        and runs[i - 1].kind == WORD
        and _TO_COUNT.fullmatch(text, runs[i - 1].end, runs[i].start)
        and _COUNT_ENDS.match(text, runs[i].end)
    ]
    rows = [
        i
        for i in range(1, len(runs))
        if runs[i].kind == NUMBER
        and text[runs[i - 1].end : runs[i].start] in (", ", "; ", "., ")
        and _CELL_ENDS.match(text, runs[i].end)
    ]
    for kept, least in ((items, MOST_DIGITS + 1), (rows, MOST_DIGITS)):
        lines = Counter(text.count("\n", 0, runs[i].start) for i in kept)
        if sum(n > 1 for n in lines.values()) >= _LEAST_LINES:
            _count(found, decided, kept, least)


def _count(
    found: Skeleton, decided: list[list[str | None]], items: Sequence[int], least: int
) -> None:
    """Release numbers of up to three digits, and sums of fewer than `least`."""
    runs, text = found.runs, found.text
    for i in items:
        written = text[runs[i].start : runs[i].end]
        of_word = decided[i] in (["DATE"], ["PLACE"]) and decided[i - 1][-1:] == decided[i]
        n_digits = sum(map(str.isdecimal, written))
        if of_word or (decided[i] == ["MONEY"] and n_digits >= least):
            continue  # "Feb 25" in each row of a table
        if n_digits <= MOST_DIGITS and _COUNT.fullmatch(written):
            decided[i] = [None]


_PAST_YEAR = re.compile(r"(?:1[0-9]|20)[0-9]{2}")


def years_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Release the years of a question about the world, if no name or other date occurs in it."""
    others = (
        kinds
        for run, kinds in zip(found.runs, decided, strict=True)
        if kinds != ["DATE"] or not _PAST_YEAR.fullmatch(found.text, run.start, run.end)
    )
    if not any((NAMES | {"DATE"}).intersection(filter(None, kinds)) for kinds in others):
        for kinds in decided:
            kinds[:] = [None] if kinds == ["DATE"] else kinds


def exercise_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Release the numbers, sums and times of day of an exercise, if no name occurs in it.

    Which classes the other things have decides, and no letter of them.
    """
    if any(NAMES.intersection(filter(None, kinds)) for kinds in decided):
        return
    dated = any(
        "DATE" in kinds for run, kinds in zip(found.runs, decided, strict=True) if not run.is_number
    )
    for run, kinds in zip(found.runs, decided, strict=True):
        written = found.text[run.start : run.end]
        timed = kinds == ["DATE"] and not dated and _CLOCK_OR_SMALL.fullmatch(written)
        if run.is_number and (kinds in (["NUMBER"], ["MONEY"]) or timed):
            kinds[:] = [None]


_TO_MONTH = re.compile(r"(?:st|nd|rd|th|\.)? (?:(?:of|de) )?|/")
_TO_DAY = re.compile(
    r"(?:st|nd|rd|th|\.)?(?: ?[-\u2013/] ?| (?:to|and|or|until|till|bis|au|al) |, )"
)
_DAY = re.compile(r"[12]?[1-9]|10|20|3[01]")
_OPPOSED = re.compile(r" (?:vs\.?|versus|instead of|rather than) ")
_LISTED = re.compile(rf",? (?:and|or|und|oder|et|ou|y|o) |, |{_OPPOSED.pattern}")
_ZONE = re.compile(r":[0-5]\d ?[+-](?:0\d|1[0-4])(?:00|15|30|45)")
"""Text between a day and the month after it, and between two days; a day; text between the sums of
a list, and between what is compared; the end of a time stamp with its time zone."""


_RELEASE_HEAD = re.compile(r"v[0-9]{1,2}")


def _is_part_of_release(found: Skeleton, one: int) -> bool:
    """Return True if a run ends with a word such as "v2", and ".1" follows."""
    run, following, text = found.runs[one], found.runs[one + 1], found.text
    if run.kind != WORD or following.kind != NUMBER or text[run.end : following.start] != ".":
        return False
    return _RELEASE_HEAD.fullmatch(text, *run.words[-1]) is not None


def _is_tail(found: Skeleton, decided: list[list[str | None]], one: int) -> bool:
    """Return True if a number follows a hidden word after a dot, or one a number: "3.30pm"."""
    run, following = found.runs[one], found.runs[one + 1]
    if found.text[run.end : following.start] != "." or decided[one][-1:] in ([], [None]):
        return False
    numbered = run.kind == WORD and following.kind == NUMBER
    return numbered or (run.kind == NUMBER and decided[one + 1][:1] not in ([], [None]))


FRACTION = re.compile(r"[1-9]/(?:[2-9]|1[0-6])")
_SCALE = re.compile(r"(?i)hundred|thousand|dozen")
"""A part of a whole, such as "1/2", and so many of a number in digits."""


def _coded_ends(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Give a number behind a hyphen or slash the class of the code before it, "AB1204-2", and a
    fraction or "thousand" that of the number before it: "1 1/2", "15 thousand".
    """
    for one, (run, number) in enumerate(pairwise(found.runs)):
        coded = number.kind == NUMBER and decided[one][-1:] == ["ID"]
        free = decided[one + 1] in ([None], ["NUMBER"])
        between = found.text[run.end : number.start]
        if coded and free and between in ("-", "/"):
            decided[one + 1] = ["ID"]
        scale = _SCALE.fullmatch(found.text, number.start, number.end) is not None
        if run.kind == NUMBER and scale and between == " ":
            both = {*decided[one], *decided[one + 1]}
            decided[one] = decided[one + 1] = ["MONEY" if "MONEY" in both else "NUMBER"]
        fraction = FRACTION.fullmatch(found.text, number.start, number.end) is not None
        if fraction and between == " " and decided[one] == ["NUMBER"]:
            decided[one + 1] = ["NUMBER"]


def numbers_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Give words of one number the class of one of them: "four hundred ten", "12 thousand"; days
    the class of the month after them: "14 to 18 October"; and sums that of their currency.

    Which runs are numbers, and which are in words, is public; that a run is a date is its class.
    """
    for one in range(len(decided) - 1):
        if decided[one][-1:] == [None] and _is_part_of_release(found, one):
            decided[one + 1] = [None]
        elif _is_tail(found, decided, one):
            decided[one + 1] = [*decided[one][-1:], *decided[one + 1][1:]]
    for one in reversed(range(len(decided) - 1)):
        run, following = found.runs[one], found.runs[one + 1]
        day = run.kind == NUMBER and _DAY.fullmatch(found.text, run.start, run.end) is not None
        if day and decided[one + 1] and decided[one + 1][0] == "DATE":
            between = _TO_DAY if following.kind == NUMBER else _TO_MONTH
            if between.fullmatch(found.text, run.end, following.start):
                decided[one] = ["DATE"]
        zoned = decided[one] == ["DATE"] and following.kind == NUMBER
        if zoned and _ZONE.fullmatch(found.text, run.end - len(":00"), following.end):
            decided[one + 1] = ["DATE"]
    _coded_ends(found, decided)
    for one in range(len(decided) - 1):
        _after_word(found, decided, one)
        _before_sum(found, decided, one)
        _before_condition(found, decided, one)
    pairs = list(pairwise(range(len(decided))))
    for one, other in [*pairs, *((b, a) for a, b in reversed(pairs))]:
        first, last = sorted([found.runs[one], found.runs[other]], key=lambda run: run.start)
        beside = found.text[first.end : last.start] == " "
        if beside and first.is_number and last.kind == NUMERAL:
            decided[other] = [decided[other][0] or decided[one][0]]
        a_sum = (
            found.runs[one].kind == WORD and "MONEY" in decided[one] and decided[other] == [None]
        )
        near = found.text[first.end : last.start] in ("", " ", "-")
        if a_sum and near and found.runs[other].kind == NUMBER:
            decided[other] = ["MONEY"]
        if first.kind == last.kind == NUMBER and decided[other] == [None]:
            joins = _LISTED if decided[one] == ["MONEY"] else _OPPOSED
            joined = joins.fullmatch(found.text, first.end, last.start) is not None
            decided[other] = [decided[one][0]] if joined else [None]


def _before_sum(found: Skeleton, decided: list[list[str | None]], one: int) -> None:
    """Give a number before a word that is a sum the class of that word: "3 grand"."""
    run, following = found.runs[one], found.runs[one + 1]
    beside = found.text[run.end : following.start] in _SCALES
    a_sum = following.kind == WORD and decided[one + 1][:1] == ["MONEY"]
    if run.is_number and beside and a_sum:
        decided[one] = ["MONEY"]


_SCALES = (" ", " million ", " billion ", " thousand ", " hundred ")
_OF_CONDITION = frozenset(["CONDITION", "FAMILY"])
_FOR_SO_LONG = re.compile(r"[ -](?:weeks?|wks?|months?|mths?|days?|years?|yrs?) ")
"""Text between how long and what of: "22 weeks pregnant"."""


def _before_condition(found: Skeleton, decided: list[list[str | None]], one: int) -> None:
    """Give a number before the word of a condition a class: "22 weeks pregnant"."""
    run, following = found.runs[one], found.runs[one + 1]
    if run.is_number and following.kind == WORD and decided[one] == [None]:
        told = decided[one + 1][:1] and decided[one + 1][0] in _OF_CONDITION
        if told and _FOR_SO_LONG.fullmatch(found.text, run.end, following.start):
            decided[one] = ["NUMBER"]


_MONTH = re.compile(MONTH)
_STREET = re.compile(
    r"(?i)(?:.*[^\W\d_])?(?:street|road|lane|avenue|close|drive|crescent|terrace|stra(?:\u00dfe|sse)|weg|"
    r"allee|gasse|platz)"
)
_OF_DATE, _OF_HOUSE = re.compile(r"[0-3]?[0-9]|(?:19|20)[0-9]{2}"), re.compile(r"[0-9]{1,3}")
"""A month; the last word of a street; a day or year, also of two digits; the number of a house."""


def _after_word(found: Skeleton, decided: list[list[str | None]], one: int) -> None:
    """Give a number after a month that is a date, or after a street, its class: "Feb 25"."""
    run, following = found.runs[one], found.runs[one + 1]
    if run.kind != WORD or following.kind != NUMBER or not decided[one]:
        return
    if found.text[run.end : following.start] not in (" ", ". "):
        return
    word = found.text[slice(*run.words[-1])]
    number = found.text[following.start : following.end]
    if decided[one][-1] == "DATE" and _MONTH.fullmatch(word) and _OF_DATE.fullmatch(number):
        decided[one + 1] = ["DATE"]
    elif decided[one][-1] in NAMES and _STREET.fullmatch(word) and _OF_HOUSE.match(number):
        decided[one][-1] = "PLACE"
        decided[one + 1] = ["PLACE"]
