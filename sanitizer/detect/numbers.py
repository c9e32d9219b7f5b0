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
_READER = re.compile(
    r"(?i)(?:\b(?:like|as if|as though|imagine|pretend)(?: that)? "
    r"(?:i['\u2019]?m|i (?:am|was|were)|you['\u2019]?re|(?:we|you) (?:are|were))|"
    r"\b(?:as if|like|for) (?:talking )?to an?|\beli) $|\beli$"
)
"""Visible text before the age that an explanation is for: "explain it like I'm 12"."""
_READ_BY = re.compile(
    r"(?i)\b(?:explain|describe|suitable|understandable|written|story|poem|quiz|game)\b"
    r"[^.!?\n]{0,60}\b(?:to|for|like) an? $"
)
_OF_READERS = re.compile(r"(?i)[ -]years?[ -]olds\b")
"""Visible text around the age of readers: "a story for a 5 year old", "for 6 year olds"."""
_HEAT = re.compile(r"1[0-9]0|2[0-6]0|[34][0-9]0")
_HEATED_TO = re.compile(
    r"(?i)\b(?:roast|bake|baked?|oven|fry|fryer|grill|preheat(?:ed)?|cook)\b[^.!?\n]{0,60}"
    r"\b(?:at|to|is|on) $"
)
"""The heat of an oven, and visible text before it."""
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_CLOCK_OR_SMALL = re.compile(rf"{_CLOCK.pattern}|\d{{1,2}}(?:\.\d+)?")
_BRIEF = re.compile(r"\d{1,4}m?s|\d{1,2}h(?:rs?)?|\d{1,3}mins?")
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
    r"calculate|compute|exclude|include|add|apply|set|use|raise|increase|reduce)\b(?P<asked>[^.!?\n]*)$"
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
    r"(?i)[ -](?:(?:working|business|calendar|full) )?"
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|weekends?)\b"
    r"(?! (?:pregnant|late|old|along|sober|clean|overdue|postpartum|gestation|premature|"
    r"behind|sick|absent|in arrears))"
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
_BEHIND = re.compile(
    r"(?i)[ -](?:(?:days?|weeks?|months?|years?) (?:late|behind|overdue|sick|absent|in arrears|"
    r"sober|clean|pregnant)|(?:day|week|month|year)s? (?:history|absence)(?: of)?)\b"
)
"""Visible text after how long something has been so, which is a fact and no term."""
_OF_TERM = re.compile(r"(?i)\b(?:after|for|in|within|every|than|last) $")
_TERM_ASKED = re.compile(r"(?i)[ -](?:days?|weeks?|months?|years?)\?")
"""Visible text around a term that somebody asks about: "may they do so after two months?"."""
_PAST = (
    r"(?:was|were|been|had|did|took|lost|spent|slept|kept|lay|led|ran|sold|hired|fired|won|built|made|gave|"
    r"got|went|came|sat|stood|drove|grew|bought|beat|bled|held|saw|met|"
    r"(?!(?:need|ask|want|order|requir|request|allow|promis|propos|recommend|suggest|agre|prefer)e?d)"
    r"[a-z]{3,}ed)"
)
_HAPPENED = re.compile(
    r"(?i)(?:(?:\b(?:i|we|he|she|they|it|who|which|nobody|everyone|"
    r"(?:my|our|his|her|their|the) \w+)|\ufffc\)?)"
    r"(?: (?:\w+ly|also|still|then|only|already|never|just|has|have|had))? "
    rf"{_PAST}\b|(?:^|[.!?;:,\n] *|\b(?:and|but) )(?:led|managed|supervised|trained|hired|closed|"
    r"handled|slept|lost|spent|waited|sold|won|stayed|cancel+ed|missed|worked|walked|drank|smoked)\b)"
    r"[^.!?;\n]{0,50}$"
)
"""Visible text before what was counted when something happened: a fact, no count of the task."""
_NEAR = 50  # characters before a number in which what it is of is looked for
_NOT_TOLD = re.compile(r"(?i)\b(?:within|after|every|next|least|most|than|been) $")
_HAS = re.compile(
    r"(?i)\b(?:has|have|had|employs?|employing|with|were)"
    r"(?: only| about| around| over| some| just)? $"
)
_STAFF = re.compile(r" (?:[a-z]+ )?(?:people|employees|staff|workers|jobs|adults)\b")
"""Visible text around how many people work for a firm, or travel."""
_TERM = re.compile(r"(?i)\b(?:within|in the next|for the next|over the next|a period of|next) $")
"""Visible text around a duration: a short one, a longer one, and the beginning of a term."""
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
_AT_MOST = re.compile(
    r"(?i)\b(?:max\.?|maximum|at most|no more than|limit(?:ed)? (?:of|to)|nearest|top) $"
)
_COUNTED = re.compile(
    r" (?!(?:years?|yrs?|months?|weeks?|days?|hours?|hrs?) )(?:[a-z]+ )?"
    r"(?:people|sentences?|paragraphs?|bullets?|points?|questions?|words?|lines?|"
    r"items?|steps?|pages?|examples?|options?|ideas?|tips?|employees|guests|rows?|columns?|tables?|"
    r"payments?|times|strengths|slides|versions?|parts?|sections?|chapters?|reasons|ways|things|"
    r"arguments|facts|headlines|titles|names|tickets?|orders?|invoices?|meals|portions|servings|"
    r"recipes|exercises|sets|reps|rounds|stanzas|verses|characters|letters|digits|decimals?|"
    r"degrees|columns|files|tests|users|requests|errors|retries|lessons|sessions|persons|seats|"
    r"adults|toddlers|travell?ers|passengers|bedrooms?|rooms|bags|boxes|eggs|cups|spoons|onions|copies|photos|pictures|"
    r"emails|mails|offers|commits|branches|balls|pieces|sheets|layers|colou?rs|drinks|dishes|courses|"
    r"songs|books|films|movies|games|plants|pots|plates|glasses)\b"
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
    r"n_jobs|max_depth|n_estimators|z-index|font-size|line-height|per_page|ttl|port|threshold|interval|"
    r"limit|attempts|delay|debounce|quota)[\"']?\s?[:=]\s?$|\b(?:port(?: number)?|listen) $|"
    r"\b(?:error|status|exit)(?: code)? (?:is )?$"
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
_AT_ITEM = re.compile(r"(?:^|\n[ >*-]*|\.[a-z]{1,5}:|(?:^|[.;\n\"] ?))$")
_AT_FIRST, _FIRST = re.compile(r": ?$"), re.compile(r"1[.)] |\d{1,4}\)(?:\n|$)")
_ITEM = re.compile(r"(?:\d{1,2}[.)] |\d{1,2}\.\d{1,2}\.? (?=[A-Z])|\d{1,4}\))")
"""A version; visible text before, and number with the text after, of a list's item, a clause of a
contract or a line of a file."""
_PORTS = re.compile(r"[0-9]{2,5}:[0-9]{2,5}")
"""Two ports, as containers map them."""
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
    if asked(before, after) or _AT_MOST.search(before) or _is_given(number, before, after):
        return True
    written = number + after
    item = _AT_ITEM.search(before) and _ITEM.match(written)
    first = _AT_FIRST.search(before) and _FIRST.match(written)
    if item or first or _SERVED.search(before) or _is_technical(number, before, after):
        return True
    if sum(map(str.isdecimal, number)) > _MOST_DIGITS or _is_of_somebody(before, after):
        return False
    measured = _MEASURED.match(after) or _COOKED.match(after)
    in_oven = _OVEN.search(before) and _OVEN_AFTER.match(after)
    abroad = _SHORT_ABROAD.match(after) and not _AGE_IN.search(before)
    asked_of = _OF_TERM.search(before) and _TERM_ASKED.match(after)
    if measured or in_oven or abroad or asked_of:
        return True
    if _SHORT.match(after) or _COUNTED.match(after):
        return not _is_told(number, before, after)
    return _TERM.search(before) is not None and _MONTHS_AFTER.match(after) is not None


def _is_given(number: str, before: str, after: str) -> bool:
    """Return True for the age of readers, and for the heat of an oven."""
    read = _READ_BY.search(before) is not None or _OF_READERS.match(after) is not None
    if _READER.search(before) or (read and _OLD_AFTER.match(after)):
        return True
    return _HEAT.fullmatch(number) is not None and _HEATED_TO.search(before) is not None


def _is_of_somebody(before: str, after: str) -> bool:
    """Return True for an age in weeks, and for how long somebody endured something.

    Example:
        >>> _is_of_somebody("my son is ", " weeks and"), _is_of_somebody("boil it for ", " hours")
        (True, False)
        >>> _is_of_somebody("I have had this cough for about ", " weeks now")
        True
    """
    if _NEWBORN.search(before) and _AGE_SAID.match(after):
        return True
    endured = _ENDURED.search(before)
    if endured is None or not (_SHORT.match(after) or _MONTHS_AFTER.match(after)):
        return False
    return _ASKED_FOR.search(_ENDS.split(before)[-1]) is None


def _is_told(number: str, before: str, after: str) -> bool:
    """Return True if visible words say that a count or a time tells what happened, or how it is."""
    if "." in number and after.startswith(" times"):
        return True  # a ratio
    if (_HAS.search(before) and _STAFF.match(after)) or (
        _OLD.search(before) and re.match(r"[ -](?:weeks|months)\b", after)
    ):
        return True
    sentence = _told_in(before)
    if _FIGURE.search(sentence[-_NEAR:]) or (_WORKS.search(sentence) and _SHORT.match(after)):
        return True
    if _NOT_TOLD.search(before) or (before.endswith("for ") and not _SHORT.match(after)):
        return False
    return _HAPPENED.search(before[-2 * _NEAR :]) is not None


def _is_technical(number: str, before: str, after: str) -> bool:
    """Return True for the number of a version or a part: "PostgreSQL 16", "item 2", "worker-3"."""
    ported = _PORTS.fullmatch(number) and not may_be_day(number)
    tried = _OF_MANY.fullmatch(number) and _TRIED.search(before)
    if ported or tried or number == "50/50" or _VERSION.fullmatch(number):
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
    """Return True for seconds, minutes and hours as logs and plans write them.

    Example:
        >>> is_brief("30s", "retrying in "), is_brief("30s", "a man in his "), is_brief("2h", "")
        (True, False, True)
    """
    return _BRIEF.fullmatch(word) is not None and _DECADE.search(before) is None


_LIMITS = re.compile(r"(?i)max|min")
_LIMITED = re.compile(
    r"(?i) ?(?:h|hrs?|hours?|min|minutes?|days?|weeks?|words?|lines?|sentences?|pages?|people|"
    r"guests|characters|items?|%|[$\u00a3\u20ac])(?!\w)"
)
"""A limit, and visible text after its number."""


def is_limit(found: Skeleton, number: int, place: int) -> bool:
    """Return True for "Max" in "Max 3 pages" and "Max 2h", which names nobody.

    Which runs are numbers is public, as is what is visible behind them; "2h" is in the same run.

    Args:
        number: of the run. place: of the word in it.
    """
    run, text = found.runs[number], found.text
    start, end = run.words[place]
    if not _LIMITS.fullmatch(text, start, end):
        return False
    if place + 1 < len(run.words):
        begin, stop = run.words[place + 1]
        return text[end:begin] == " " and _BRIEF.fullmatch(text, begin, stop) is not None
    if number + 1 == len(found.runs):
        return False
    following = found.runs[number + 1]
    rest = found.runs[number + 2].start if number + 2 < len(found.runs) else len(text)
    counted = following.kind == NUMBER and text[end : following.start] == " "
    return counted and _LIMITED.match(text, following.end, rest) is not None


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
_DOSED = re.compile(r" ?(?:mg|mcg|\u00b5g|micrograms?|milligrams?)\b(?! ?/)")
"""Visible text after a dose."""
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_LIVED = re.compile(
    r"(?i)\b(?:finished|graduated|qualified|born|joined|retired|married|divorced|moved|emigrated|hired|"
    r"diagnosed|bought|started|left)\b[^.!?;\n]{0,25} in $"
)
"""A year, and visible text before one of somebody's life."""
_PERCENT = re.compile(r"(?i) ?(?:%|per ?cent\b)")
_SHARE_AFTER = re.compile(
    r"(?i) ?(?:%|per ?cent) (?:bonus|discount|stake|share|equity|commission|of (?:the |all )?"
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


def role(before: str, after: str, number: str = "") -> str | None:
    """Return the class of a number that its form or visible words around it tell, or None."""
    if is_stamp(number) or (_CLOCK.fullmatch(number) and _STAMPED.search(before)):
        return "DATE"
    lived = _YEAR.fullmatch(number) and _LIVED.search(before)
    if lived or _DATED_AFTER.match(after):
        return "DATE"
    aged = (
        (_AFTER_NAME.search(before) and _AGED.match(after))
        or (_OLD_AFTER.match(after) and not _AUDIENCE.search(before))
        or (_OLD.search(before) and _AGE_AFTER.match(after))
        or (_AGE_IN.search(before) and _AGE_OF.match(after))
        or _WEIGHS.search(before)
        or _BEHIND.match(after)
        or _DOSED.match(after)
        or (_PERCENT.match(after) and _is_share(before, after))
        or _TARGET.search(before)
        or _is_of_somebody(before, after)
    )
    if aged:
        return "NUMBER"
    serial = _SERIAL.fullmatch(number) and _RAN.search(before)
    if serial or _PLACED.search(before):
        return "ID"
    return "MONEY" if _TO_THE_CENT.fullmatch(number) or _OWNED.search(before) else None


def _is_share(before: str, after: str) -> bool:
    """Return True if visible words say that a percentage is somebody's or a firm's."""
    if _ASKS.search(before) or _ORDERS.match(before, _sentence(before)):
        return False
    return (_SHARE_AFTER.match(after) or _SHARE_BEFORE.search(before)) is not None


_SENTENCE = re.compile(r"(?:[.!?;]['\")\]]* +|\n)(?=[^.!?;\n]*$)")
_REQUESTS = (
    r"(?:add|answer|apply|ask|assume|avoid|build|calculate|change|check|cite|clean|compare|compute|convert|"
    r"create|cut|delete|describe|design|draft|draw|explain|filter|find|fix|generate|give|help|improve|"
    r"include|increase|keep|let|limit|list|make|mention|need|offer|pick|plan|please|print|propose|put|rank|"
    r"rate|recommend|reduce|remove|rephrase|replace|return|rewrite|round|say|select|set|shorten|show|"
    r"solve|sort|split|structure|suggest|summari[sz]e|suppose|take|tell|test|translate|turn|use|write)"
)
_REQUESTED = re.compile(
    rf"(?i)(?:^|[,:(] *|\b(?:and|then|also|please|i|we|you|not|can|could) ){_REQUESTS}\b|"
    r"^[\s>*|-]*(?:what|which|who|whom|whose|how|why|when|where|if|can|could|would|should|do|does|did|is|"
    r"are|am|may|might|will|shall|has|have|any|\d+[.)])\b|"
    r"\b(?:must|should|shall|would|may|needs?|wants?|like|at (?:most|least)|max\.?|min\.?|maximum|"
    r"minimum|limit(?:ed)?|exactly|up to|example|e\.g|formula|article|section|timeout|version|"
    r"character|pixels?|regex|query|port|default|config\w*|setting|parameters?|loop|index|array|tolerance|"
    r"confidence|accuracy|probability)\b"
)
_ORDERS = re.compile(rf"(?i)[\s>*|-]*(?:please |and |then )?{_REQUESTS}\b")
"""The beginning of the last sentence; what makes it a request, a question or a rule, whose numbers
are those of the task."""
_FIGURE = re.compile(
    r"(?i)\b(?:scores?|rating|marks?|stock|overtime|waiting|seen|cancel+ed|absent|headcount|turnover|"
    r"absences?|attendance|pulse|temp(?:erature)?|weight|height|potassium|sodium|creatinine|platelets|"
    r"ha?emoglobin|glucose|cholesterol|ferritin|pressure|saturation|humidity|balance|premiums?|excess|"
    r"arrears|profits?|loss(?:es)?|revenues?|sales|returns|complaints|visitors|members|staff|patients|"
    r"runway|mileage|reading|baseline|debts?|budget|margin|ratio|yield|interest|grade|charged|dropped|"
    r"fell|rose|doubled|tripled|grew|sank|climbed)"
    r"(?: (?:is|was|are|were|of|at|to|from|by|now|only|about|around|given|seen|rose|fell|rises|"
    r"falls|went|up|down|charged|sick|\ufffc))*[:=]? $"
)
_LARGE = re.compile(r"[0-9]{1,3}(?:[ ,.'\u2019\u00a0][0-9]{3})+(?:[.,][0-9]{1,2})?|[0-9]{3,6}")
_UNIT_AFTER = re.compile(
    r"[ \u00a0]?(?:%|m\u00b2|(?:kg|mg|mcg|\u00b5g|cm|mm|km|ha|sqm|bpm|mmol|mph|"
    r"(?i:per ?cent|kilos?|grams|tonnes?|tons?|hectares?|acres?|litres?|liters?|miles|metres|"
    r"meters|yards|units|square|points?|stone|lbs?|inches|feet|million|billion|shares|pallets|boxes|cases|cartons|bottles|"
    r"children|grandchildren|stitches|instal+ments|shifts|visits|complaints|warnings|offences|convictions))\b)"
)
_TITLE_AFTER, _IN_CODE = re.compile(r"^ ?%? (?:[A-Z]|faster|slower)"), tuple("/:_=-)>\"'}")
_WORKS = re.compile(
    r"(?i)\b(?:works?|worked|working|contract(?:ed)?|employed|rostered|job)(?: \w+){0,3} $"
)
_CITED = re.compile(
    r"(?i)(?:[\ufffc\u00a7#/\\=(\[<>+*-]|[:\"'{,](?=$)|\b(?:iso|rfc|http|error|code|"
    r"status|line|page|route|act|class|type|model|form|level|year|in|since|until|chapter|step|no\.?|nr\.?|number|version|"
    r"bit|channel|highway|flight|track|release|build|draft)) ?$"
)
"""What a figure is of; a number of some size; units of what somebody has; visible text before the
hours that somebody works, around the number in a name or in code, and before that of a norm."""


def _sentence(before: str) -> int:
    """Return where the last sentence begins."""
    begins = _SENTENCE.search(before)
    return begins.end() if begins else 0


def _told_in(before: str) -> str:
    """Return the visible beginning of the last sentence, "" if it is a request or a question."""
    sentence = before[_sentence(before) :]
    return "" if _REQUESTED.search(sentence) else sentence


def is_measured(after: str) -> bool:
    """Return True if a unit that is none of time follows a number.

    Example:
        >>> is_measured(" hectares of"), is_measured(" km"), is_measured(" pm")
        (True, True, False)
    """
    return _UNIT_AFTER.match(after) is not None


def figure(number: str, before: str, after: str) -> str | None:
    """Return the class of a number that tells how much, in a sentence that asks for nothing.

    What the tagger gives no class is a measure or a figure there: no task depends on it.

    Example:
        >>> figure("1,420", "Sales were down and returns doubled to ", ".")
        'NUMBER'
        >>> figure("500", "Add a discount for orders above ", " units")
    """
    sentence = _told_in(before)
    measured = sentence and _UNIT_AFTER.match(after) and not _TITLE_AFTER.search(after)
    if (
        measured
        or _FIGURE.search(sentence[-_NEAR:])
        or (_WORKS.search(sentence) and _SHORT.match(after))
    ):
        return "NUMBER"
    if not sentence.strip() or _YEAR_OR_TIME.fullmatch(number) or _TITLE_AFTER.search(after):
        return None
    cited = _CITED.search(sentence) or after[:1] in _IN_CODE
    return "NUMBER" if _LARGE.fullmatch(number) and not cited else None


_TO_COUNT, _COUNT_ENDS = (
    re.compile(r"[ :=\t]{1,3}"),
    re.compile(r"h?[,;|]?(?:[ \t]|\n|$)|h?\.?(?:\n|$)"),
)
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


_YEAR = re.compile(r"(?:1[0-9]|20)[0-9]{2}")


def years_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Release the years of a question about the world, if no name or other date occurs in it."""
    others = (
        kinds
        for run, kinds in zip(found.runs, decided, strict=True)
        if kinds != ["DATE"] or not _YEAR.fullmatch(found.text, run.start, run.end)
    )
    if not any((NAMES | {"DATE"}).intersection(filter(None, kinds)) for kinds in others):
        for kinds in decided:
            kinds[:] = [None] if kinds == ["DATE"] else kinds


def exercise_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Release the numbers and the times of day of an exercise, if no name occurs in it.

    Which classes the other things have decides, and no letter of them.
    """
    if any(NAMES.intersection(filter(None, kinds)) for kinds in decided):
        return
    dated = any(
        "DATE" in kinds
        for run, kinds in zip(found.runs, decided, strict=True)
        if run.kind not in NUMBERS
    )
    for run, kinds in zip(found.runs, decided, strict=True):
        written = found.text[run.start : run.end]
        timed = kinds == ["DATE"] and not dated and _CLOCK_OR_SMALL.fullmatch(written)
        if run.kind in NUMBERS and (kinds == ["NUMBER"] or timed):
            kinds[:] = [None]


_TO_MONTH = re.compile(r"(?:st|nd|rd|th|\.)? (?:(?:of|de) )?|/")
_TO_DAY = re.compile(
    r"(?:st|nd|rd|th|\.)?(?: ?[-\u2013/] ?| (?:to|and|or|until|till|bis|au|al) |, )"
)
_DAY = re.compile(r"[12]?[1-9]|10|20|3[01]")
_ZONE = re.compile(r":[0-5]\d ?[+-](?:0\d|1[0-4])(?:00|15|30|45)")
"""Text between a day and the month after it, and between two days; a day; the end of a time stamp
with its time zone."""


_RELEASE_HEAD = re.compile(r"v[0-9]{1,2}")


def _is_part_of_release(found: Skeleton, one: int) -> bool:
    """Return True if a run ends with a word such as "v2", and ".1" follows."""
    run, following, text = found.runs[one], found.runs[one + 1], found.text
    if run.kind != WORD or following.kind != NUMBER or text[run.end : following.start] != ".":
        return False
    return _RELEASE_HEAD.fullmatch(text, *run.words[-1]) is not None


def numbers_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Give words of one number the class of one of them: "four hundred ten", "12 thousand"; days
    the class of the month after them: "14 to 18 October"; and sums that of their currency.

    Which runs are numbers, and which are in words, is public; that a run is a date is its class.
    """
    for one in range(len(decided) - 1):
        if decided[one][-1:] == [None] and _is_part_of_release(found, one):
            decided[one + 1] = [None]
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
        _before_sum(found, decided, one)
        _before_condition(found, decided, one)
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


def _before_sum(found: Skeleton, decided: list[list[str | None]], one: int) -> None:
    """Give a number before a word that is a sum the class of that word: "3 grand"."""
    run, following = found.runs[one], found.runs[one + 1]
    beside = found.text[run.end : following.start] == " "
    a_sum = following.kind == WORD and decided[one + 1][:1] == ["MONEY"]
    if run.kind in NUMBERS and beside and a_sum:
        decided[one] = ["MONEY"]


_OF_CONDITION = frozenset(["CONDITION", "FAMILY"])
_FOR_SO_LONG = re.compile(r"[ -](?:weeks?|wks?|months?|mths?|days?|years?|yrs?) ")
"""Text between how long and what of: "22 weeks pregnant"."""


def _before_condition(found: Skeleton, decided: list[list[str | None]], one: int) -> None:
    """Give a number before the word of a condition a class: "22 weeks pregnant"."""
    run, following = found.runs[one], found.runs[one + 1]
    if run.kind in NUMBERS and following.kind == WORD and decided[one] == [None]:
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
