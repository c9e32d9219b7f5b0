"""Numbers: what their form and the visible words around them tell.

An age, a sum or a room belongs to somebody; a count, a term, a limit or a version belongs to the
task. Everything here is a function of visible text and of the number's own form.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from sanitizer.detect.classes import (
    words_of,
)
from sanitizer.detect.extents import LONG_MONTH, MONTH, NAMES
from sanitizer.detect.skeleton import (
    NUMBER,
    NUMBERS,
    NUMERAL,
    WORD,
    Skeleton,
    kind_of,
)
from sanitizer.text import (
    straight,
)

_PLACED = re.compile(
    r"(?i)\b(?:room|ward|bed|seat|flat|apartment|apt\.?|locker|suite|courtroom|cell)"
    r"(?: (?:no\.?|nr\.?|number))? ?#?$"
)
"""Visible text before the number of a room, a bed or a seat."""
_OLD = re.compile(
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
_OLD_AFTER = re.compile(r"(?i)[ -](?:years?|yrs?|months?|weeks?|days?)[ -]olds?\b")
"""Visible text around an age: after a name, in brackets or between commas, and before "old"."""
_AGE_IN = re.compile(
    r"(?i)(?:\b(?:j['\u2019]ai|il a|elle a|\u00e2g\u00e9e? de|fils de|fille de|b\u00e9b\u00e9 de|"
    r"enfant de|gar\u00e7on de|tengo|tiene|tienen|cumple|cumpli\u00f3|hijo de|hija de|"
    r"ni\u00f1[oa] de)|,) $"
)
_AGE_OF = re.compile(r"(?i) (?:ans|a\u00f1os|jahre alt)\b")
"""Visible text around an age in French, Spanish and German."""
_AUDIENCE = re.compile(r"(?i)\b(?:to|for|like|by|with|teach(?:ing)?) (?:a|an|the|some)? ?$")
"""Visible text before the age of readers, such as "explain it to a 10 year old"."""
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_BRIEF = re.compile(r"\d{1,4}m?s")
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
_ASKS = re.compile(
    r"(?i)(?:^|[.!?:;\n] *|\b(?:please|and|then|so) )(?:which|who|what|how (?:many|much)|list|"
    r"count|show|find|filter|select|sort|give|keep|remove|delete|drop|return|mark|highlight|add up|"
    r"calculate|compute|exclude|include)\b(?P<asked>[^.!?\n]*)$"
)
"""Visible text from the word that asks to a number."""
_LIMIT = re.compile(
    r"(?i)\b(?:(?:more|less|fewer|longer|greater|higher|lower|larger|smaller|bigger|later|earlier|"
    r"older|younger) than|at (?:least|most)|up to|under|over|above|below|exceed(?:s|ing)?|within|"
    r"between(?: \ufffc and)?) [$\u00a3\u20ac]?$"
)
"""Visible text before a limit."""
_RATE_BEFORE = re.compile(r"(?i)\b(?:at|for|of|costs?|is) [$\u00a3\u20ac]?$")
_RATE_AFTER = re.compile(
    r"(?i) ?(?:[$\u00a3\u20ac]|euros?|dollars?|pounds?)?(?: each\b| apiece\b|(?: ?/ ?| an? | per )"
    r"(?:hour|piece|unit|item|page|word|kilo|kg|litre|liter|metre|meter|ticket|head|call|seat)\b)"
)
"""Visible text before and after a price of one."""
_SOMEBODY = re.compile(r"(?i)\b(?:i|my|he|his|she|her|me|i['\u2019]?m)\b")
_ISO_DAY = re.compile(
    r"(?:19|20)\d\d-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d(?:[.,]\d+)?)?)?Z?)?)?|"
    r"[0-3]?\d/[A-Z][a-z]{2}/(?:19|20)\d\d(?::\d\d){0,3}"
)
"""A day, perhaps with a time, as programs write it."""
_YEAR_OR_TIME = re.compile(r"1[6-9]\d\d|20\d\d|[01]\d[0-5]\d|2[0-3][0-5]\d|20\d{6}")
_OF_NUMBERS = frozenset(["MONEY", "DATE", "NUMBER", "ID"])
_OF_PERSONS = frozenset(
    "CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME OCCUPATION FAMILY".split()
)


_LEAST_ID = 7
"""Digits in a row from which a number is a sum or some reference, no age and no count."""
_OF_WORDS = frozenset(["PERSON", "PLACE", "ORGANIZATION"])
_SUM = re.compile(r"(?i)[0-9.,]+(?:k|m|mn|mio|bn|tsd|eur|euros?|usd|gbp|chf|p)")
"""A sum in one word."""


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
        sums = set[str]() if _SUM.fullmatch(word) else {"MONEY"}
        return _OF_PERSONS - {"CONDITION", "TREATMENT"} | _OF_WORDS | sums
    short = {"ID"} if len(word) <= 2 else set[str]()
    long = {"NUMBER"} if word.isdecimal() and len(word) >= _LEAST_ID else set[str]()
    return _OF_PERSONS | short | long | (set() if may_be_day(word) else {"DATE"})


def may_be_day(number: str) -> bool:
    """Return True if digits may be a day, a month, a year, a time or a span of these."""
    parts = re.findall("[0-9]+", number)
    values = [int(part) for part in parts]
    if not all(len(part) <= 2 or _YEAR_OR_TIME.fullmatch(part) for part in parts):
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


_SHORT = re.compile(
    r"(?i)[ -](?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|weekends?)\b"
    r"(?! (?:pregnant|late|old|along|sober|clean|overdue|postpartum|gestation|premature))"
)
_SHORT_ABROAD = re.compile(
    r" (?:jours?|semaines?|heures|minutes|d\u00edas?|semanas?|horas?|minutos?|Tagen?|Wochen?|"
    r"Stunden?|Minuten?)\b(?! (?:alt|de edad))"
)
_STATUS = re.compile(r"[45]\d\d")
_SHOWS = re.compile(
    r"(?i)\b(?:http(?: status)?|status(?: code)?|error(?: code)?|"
    r"(?:page|server|endpoint|api|request|site|app|service|url)s? (?:\w+ )?"
    r"(?:shows?|returns?|returned|throws?|gives?)(?: an?)?(?: error)?):? $"
)
"""Visible text after a short duration in other languages; and the answer of a web server, and
visible text before it."""
_MONTHS_AFTER = re.compile(r"(?i)[ -](?:months?|years?)\b(?! (?:pregnant|old|sober|clean))")
_TERM = re.compile(r"(?i)\b(?:within|in the next|for the next|over the next|a period of|next) $")
"""Visible text around a duration: a short one, a longer one, and the beginning of a term."""
_AT_MOST = re.compile(
    r"(?i)\b(?:max\.?|maximum|at most|no more than|limit(?:ed)? (?:of|to)|nearest|top) $"
)
_COUNTED = re.compile(
    r" (?:[a-z]+ )?(?:people|sentences?|paragraphs?|bullets?|points?|questions?|words?|lines?|"
    r"items?|steps?|pages?|examples?|options?|ideas?|tips?|employees|guests|rows?|columns?|tables?|"
    r"payments?|times|strengths|slides|versions?|parts?|sections?|chapters?|reasons|ways|things|"
    r"arguments|facts|headlines|titles|names|tickets?|orders?|invoices?|meals|portions|servings|"
    r"recipes|exercises|sets|reps|rounds|stanzas|verses|characters|letters|digits|decimals?|"
    r"degrees|columns|files|tests|users|requests|errors|retries|lessons|sessions|persons|seats|"
    r"adults|toddlers|travell?ers|passengers|bedrooms?|rooms|bags|boxes|eggs|cups|spoons|onions|copies|photos|pictures|emails|mails)\b"
)
"""Visible text after a count."""
_MEASURED = re.compile(
    r" ?(?:kg|g|grams?|ml|cl|dl|l|lit(?:er|re)s?|cups?|tbsp|tsp|tablespoons?|teaspoons?|oz|ounces?|"
    r"lbs?|pounds?|cloves?|slices?|tins?|cans?|sticks?|pinch(?:es)?|handfuls?) of "
    r"(?!weight|body|fat|muscle|cocaine|heroin|cannabis|weed)|"
    r" ?(?:[KMGTP]i?B|[kMG]bps|[kMG]Hz|fps|dpi|px)\b"
)
_COOKED = re.compile(
    r" ?(?:g|grams?|ml|cl|dl|cups?|tbsp|tsp|tablespoons?|teaspoons?|oz|ounces?|lbs?) "
    r"(?:plain |brown |caster |icing |self-raising |unsalted |soft |cold |warm |chopped |grated |"
    r"double |fresh |dried |ground |whole )*"
    r"(?:flour|sugar|butter|milk|cream|water|rice|pasta|oats|oil|honey|cheese|chocolate|cocoa|"
    r"yogh?urt|yeast|salt|pepper|stock|lentils|beans|chickpeas|potatoes|carrots|onions|tomatoes|"
    r"mushrooms|spinach|chicken|beef|pork|lamb|mince|fish|salmon|prawns|tofu|nuts|almonds|raisins|"
    r"berries|apples|lemon|garlic|ginger|cinnamon|vanilla|syrup|jam|breadcrumbs)\b"
)
_OVEN = re.compile(r"(?i)\b(?:bake[ds]?|baking|roast|oven|preheat|grill)[^.\n\ufffc]{0,24} $")
_OVEN_AFTER = re.compile(r" ?\u00b0| (?:degrees|[FC]\b|minutes|\ufffc)|[CF]\b")
"""Visible text after how much of something to cook, or of a machine; around the heat of an oven."""
_TRIED = re.compile(r"(?i)\b(?:retry|retries|attempt|try|step|page|part|slide|question|batch) $")
_OF_MANY = re.compile(r"[0-9]{1,3}/[0-9]{1,3}")
"""Visible text before which one of how many, as in "retry 2/5"."""
_SETTING = re.compile(
    r"(?i)(?<!\w)(?:max_|min_|n_|num_)?(?:retries|backoff(?:_ms)?|multiplier|timeout(?:_ms|_s)?|"
    r"threads|workers|replicas|epochs|batch_size|dropout|momentum|learning_rate|max_tokens|top_[pk]|"
    r"n_jobs|max_depth|n_estimators|z-index|font-size|line-height|per_page|ttl|port)[\"']?\s?[:=]\s?$"
    r"|(?i:\bport(?: number)? $)"
)
"""Visible text before the value of a setting of a program."""
_COEFFICIENT = re.compile(
    r"(?i)(?<![^\W_])(?:rate|ratio|factor|share|discount|vat|tax|alpha|beta|threshold|tolerance|tol|"
    r"weight|decay|margin|quantile|confidence)(?:: ?float)?[\"']?\s?[:=]\s?$"
)
_FACTOR = re.compile(r"[\w)\]] ?\* ?$")
_FRACTION = re.compile(r"0?\.\d{1,6}")
"""Visible text before a share of one in a program, and the share: "rate=0.19", "net * 0.9"."""
_REGEX = re.compile(r"(?:\(\?[:=!<]|\\[dwsbDWSB]).{0,80}(?:[\[{|(^]|\\\+)$")
_REGEX_AFTER = re.compile(r"[\]}|)*+?$\\]")
"""Visible text around a number in a regular expression."""
_UPGRADED = re.compile(
    r"(?i)\b(?:(?:up|down)grad|updat|bump)(?:e|ed|es|ing)?\b[^.\n\ufffc]{0,40} "
    r"(?:from \ufffc to|from|to|version) $"
)
"""Visible text before the release that somebody moved to."""
_VERSION = re.compile(r"v?\d{1,2}\.\d{1,2}\.\d{1,2}")
_RELEASE, _PART = re.compile(r"\d{1,2}(?:\.\d{1,2})?"), re.compile(r"\d{1,3}(?:\.\d{1,2}){0,2}")
_OF_PERSON = re.compile(
    r"(?i)\b(?:room|ward|bed|seat|flat|apartment|apt|locker|suite|courtroom|cell|house|unit|patient|"
    r"customer|client|case|ticket|order|invoice|policy|account|member|employee|staff|contract|claim|"
    r"ref|file|booking|badge|parcel|tenant|user|number|aged?|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety)-$"
)
_SERVED = re.compile(r'HTTP/\ufffc" $')
"""Visible text before the status and the length of an answer in a web server's log."""
_AT_ITEM = re.compile(r"(?:^|\n[ >*-]*|\.[a-z]{1,5}:|(?:^|[.:;\n\"] ?))$")
_ITEM = re.compile(r"(?:\d{1,2}[.)] |\d{1,2}\.\d{1,2}\.? (?=[A-Z])|\d{1,4}\))")
"""A version; visible text before, and number with the text after, of a list's item, a clause of a
contract or a line of a file."""
_MOST_DIGITS = 3  # of a count
_OF_PRODUCT = re.compile(
    r"(?:\b[A-Z][a-z]+[A-Z]\w*|\b(?:Python|Java|Windows|Ubuntu|Debian|Fedora|Node(?:\.js)?|Excel|"
    r"Office|Rails|Django|Angular|React|Swift|Kotlin|Ruby|Perl|Bash|Android|Chrome|Firefox|"
    r"Kubernetes|Docker|Postgres|Redis|Linux|PHP|HTML|CSS|TLS|HTTP|iOS|macOS|Word|"
    r"(?i:version|release))) $|\bHTTP/$"
)
_TAGGED = re.compile(r"(?i)\bimages?:? ?[\w.\ufffc-]+(?:/[\w.\ufffc-]+)*:$")
"""Visible text before the release of an image of a container: "image grafana/grafana:10.4"."""
_REFERRED = re.compile(
    r"(?i)\b(?:items?|points?|sections?|steps?|questions?|chapters?|pages?|lines?|rows?|columns?|"
    r"figures?|tables?|options?|parts?|paragraphs?|tasks?|exercises?|slides?|footnotes?|appendix|"
    r"articles?|clauses?|attempts?)(?: (?:no\.?|number))?(?: \ufffc(?:,| and| or| to))* $"
)
"""Visible text before the number of a part of the text."""
_OF_PART = re.compile(r"(?<![\w./@\ufffc-])[a-z]{3,}-$|(?<=-)[a-z]{3,}-$")
"""Visible text before a version, and before the number of a part such as "worker-3"."""


def public_number(number: str, before: str, after: str) -> bool:
    """Return True if visible words say that a number is of the task: a count, a term or a limit.

    Example:
        >>> public_number("14", "a refund within ", " days or"), public_number("38", "I am ", ".")
        (True, False)
        >>> public_number("two", "", " sentences"), public_number("6", "she is ", " weeks late")
        (True, False)
    """
    if asked(before, after) or _AT_MOST.search(before) or _VERSION.fullmatch(number):
        return True
    item = _AT_ITEM.search(before) and _ITEM.match(number + after)
    if item or _SERVED.search(before) or _is_technical(number, before, after):
        return True
    if sum(map(str.isdecimal, number)) > _MOST_DIGITS:
        return False
    abroad = _SHORT_ABROAD.match(after) and not _AGE_IN.search(before)
    if abroad or any(each.match(after) for each in (_SHORT, _COUNTED, _MEASURED, _COOKED)):
        return True
    if _OVEN.search(before) and _OVEN_AFTER.match(after):
        return True
    return _TERM.search(before) is not None and _MONTHS_AFTER.match(after) is not None


def _is_technical(number: str, before: str, after: str) -> bool:
    """Return True for the number of a version or a part: "PostgreSQL 16", "item 2", "worker-3"."""
    if number == "50/50" or (_OF_MANY.fullmatch(number) and _TRIED.search(before)):
        return True
    is_set = _SETTING.search(before) or (
        _FRACTION.fullmatch(number) and (_COEFFICIENT.search(before) or _FACTOR.search(before))
    )
    answered = _STATUS.fullmatch(number) and _SHOWS.search(before)
    if is_set or answered or (_REGEX.search(before) and _REGEX_AFTER.match(after)):
        return True
    if _REFERRED.search(before) and _PART.fullmatch(number):
        return True
    released = (_OF_PRODUCT, _UPGRADED, _TAGGED)
    if _RELEASE.fullmatch(number) and any(each.search(before) for each in released):
        return True
    if _OF_PERSON.search(before) or not _OF_PART.search(before) or not _PART.fullmatch(number):
        return False
    return not after[:1].isalnum() and after[:1] not in ("-", "\ufffc")


def asked(before: str, after: str) -> bool:
    """Return True if visible words say that a number is part of a question: a limit or a price.

    Example:
        >>> asked("Which of them worked more than ", " hours?"), asked("I worked more than ", "")
        (True, False)
        >>> asked("What do we owe in total at ", " an hour?"), asked("I earn ", " an hour.")
        (True, False)
    """
    found = _ASKS.search(before)
    if found is None or _SOMEBODY.search(found["asked"]):
        return False
    if _LIMIT.search(before):
        return True
    return _RATE_BEFORE.search(before) is not None and _RATE_AFTER.match(after) is not None


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
    r" ?(?:k?g|kilos?|k?m|cm|mm|ml|l|lit(?:er|re)s?|lbs?|oz|miles?|hours?|h)\b(?!/)"
)


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
    if label in ("MONEY", "NUMBER") and _CLOCKS.fullmatch(number):
        return "DATE"
    if label in ("MONEY", "NUMBER", "ID"):
        padded = _PADDED_DAY.fullmatch(number) and after.startswith(". ")
        if is_stamp(number) or padded or (_WHOLE_DAY.fullmatch(number) and may_be_day(number)):
            return "DATE"
    if label == "MONEY" and _PARTED.fullmatch(number):
        return "ID"
    measured = label == "MONEY" and _MEASURE.match(after)
    spanned = label in ("MONEY", "ID") and _SPAN.fullmatch(number)
    return "NUMBER" if measured or spanned else label


def is_brief(word: str, before: str) -> bool:
    """Return True for seconds as logs write them.

    Example:
        >>> is_brief("30s", "retrying in "), is_brief("30s", "a man in his ")
        (True, False)
    """
    return _BRIEF.fullmatch(word) is not None and _DECADE.search(before) is None


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
_TO_THE_CENT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]{2}|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]{2}")
"""A number in thousands with two places: a sum."""


def role(before: str, after: str, number: str = "") -> str | None:
    """Return the class of a number that its form or visible words around it tell, or None."""
    if is_stamp(number) or (_CLOCK.fullmatch(number) and _STAMPED.search(before)):
        return "DATE"
    if _DATED_AFTER.match(after):
        return "DATE"
    aged = (
        (_AFTER_NAME.search(before) and _AGED.match(after))
        or (_OLD_AFTER.match(after) and not _AUDIENCE.search(before))
        or (_OLD.search(before) and _AGE_AFTER.match(after))
        or (_AGE_IN.search(before) and _AGE_OF.match(after))
        or _WEIGHS.search(before)
    )
    if aged:
        return "NUMBER"
    serial = _SERIAL.fullmatch(number) and _RAN.search(before)
    if serial or _PLACED.search(before):
        return "ID"
    return "MONEY" if _TO_THE_CENT.fullmatch(number) or _OWNED.search(before) else None


_TO_COUNT, _COUNT_ENDS = (
    re.compile(r"[ :=\t]{1,3}"),
    re.compile(r"h?[,;|]?(?:[ \t]|\n|$)|h?\.?(?:\n|$)"),
)
_COUNT = re.compile(r"\d{1,3}(?:[.,]\d{1,2})?")
_LEAST_LINES = 2
_DATED_BEFORE = re.compile(
    rf"(?i:\b(?:the|on|by|until|till|til|since|from|between|before|after|due|born|dated?|day|at|"
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
    """Release the counts of a list such as "Mon: Anna 6, Ben 8", of which somebody wants sums.

    A list has several numbers, each behind a name, in one line and in another: values of a blood
    test, one a line, are none. Which runs are numbers is public; so is the text between runs.
    """
    runs, text = found.runs, found.text
    items = [
        i
        for i in range(1, len(runs))
        if runs[i].kind in NUMBERS
        and runs[i - 1].kind == WORD
        and _TO_COUNT.fullmatch(text, runs[i - 1].end, runs[i].start)
        and _COUNT_ENDS.match(text, runs[i].end)
    ]
    lines = Counter(text.count("\n", 0, runs[i].start) for i in items)
    if sum(n > 1 for n in lines.values()) < _LEAST_LINES:
        return
    for i in items:
        written = text[runs[i].start : runs[i].end]
        of_word = decided[i] in (["DATE"], ["PLACE"]) and decided[i - 1][-1:] == decided[i]
        if of_word:
            continue  # "Feb 25" in each row of a table
        if sum(map(str.isdecimal, written)) <= _MOST_DIGITS and _COUNT.fullmatch(written):
            decided[i] = [None]


_TO_MONTH = re.compile(r"(?:st|nd|rd|th|\.)? (?:(?:of|de) )?|/")
_TO_DAY = re.compile(
    r"(?:st|nd|rd|th|\.)?(?: ?[-\u2013/] ?| (?:to|and|or|until|till|bis|au|al) |, )"
)
_DAY = re.compile(r"[12]?[1-9]|10|20|3[01]")
_ZONE = re.compile(r":[0-5]\d ?[+-](?:0\d|1[0-4])(?:00|15|30|45)")
"""Text between a day and the month after it, and between two days; a day; the end of a time stamp
with its time zone."""


def numbers_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Give words of one number the class of one of them: "four hundred ten", "12 thousand"; days
    the class of the month after them: "14 to 18 October"; and sums that of their currency.

    Which runs are numbers, and which are in words, is public; that a run is a date is its class.
    """
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
    for one in range(len(decided) - 1):
        _after_word(found, decided, one)
    pairs = list(pairwise(range(len(decided))))
    for one, other in [*pairs, *((b, a) for a, b in reversed(pairs))]:
        first, last = sorted([found.runs[one], found.runs[other]], key=lambda run: run.start)
        beside = found.text[first.end : last.start] == " "
        if beside and first.kind in NUMBERS and last.kind == NUMERAL:
            decided[other] = [decided[other][0] or decided[one][0]]
        a_sum = (
            found.runs[one].kind == WORD and "MONEY" in decided[one] and decided[other] == [None]
        )
        if a_sum and last.start - first.end <= 1 and found.runs[other].kind == NUMBER:
            decided[other] = ["MONEY"]


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
