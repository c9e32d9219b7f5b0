"""Numbers of the task: counts, terms, limits, settings, versions; and figures that a text tells.

What visible words say about a number decides, and the number's own form.
"""

from __future__ import annotations

import re

from sanitizer.detect.classes import words_of
from sanitizer.detect.numbers import (
    AGE_IN,
    ASKS,
    BRIEF,
    MONTHS_AFTER,
    MOST_DIGITS,
    OLD,
    OLD_AFTER,
    REQUESTS,
    SHORT,
    UNIT_AFTER,
    YEAR_OR_TIME,
    is_of_somebody,
    may_be_day,
    sentence_start,
)
from sanitizer.detect.skeleton import NUMBER, Skeleton

_READER = re.compile(
    r"(?i)(?:\b(?:like|as if|as though|imagine|pretend)(?: that)? "
    r"(?:i['\u2019]?m|i (?:am|was|were)|you['\u2019]?re|(?:we|you) (?:are|were))|"
    r"\b(?:as if|like|for) (?:talking )?to an?|\beli|"
    r"\b(?:at|for|to) (?:a |the )?reading age of) $|\beli$"
)
"""Visible text before the age that an explanation is for: "explain it like I'm 12"."""
_READ_BY = re.compile(
    r"(?i)\b(?:explain|describe|suitable|understandable|written|story|poem|quiz|game|version|"
    r"re(?:write|phrase|tell|word)|simplif(?:y|ied)|adapt(?:ed)?|summari[sz]e|summary|readable)\b"
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
_SHORT_ABROAD = re.compile(
    r" (?:jours?|semaines?|heures|minutes|d\u00edas?|semanas?|horas?|minutos?|Tagen?|Wochen?|"
    r"Stunden?|Minuten?)\b(?! (?:alt|de edad))"
)
_STATUS = re.compile(r"[1-5]\d\d")
_SHOWS = re.compile(
    r"(?i)\b(?:http(?: status)?|status(?: code)?|error(?: code)?|responds? with|responded with|"
    r"(?:page|server|endpoint|api|request|site|app|service|url|nginx|apache|proxy|gateway|browser|"
    r"curl|webhook|upstream|backend|cdn|balancer)s? (?:[\w\ufffc]+ )?"
    r"(?:shows?|returns?|returned|throws?|gives?|gets?|answers?)(?: an?)?(?: error)?):? $|"
    r"[Ee]xpected:? \ufffc[^.\n\ufffc]{0,20}\b(?:got|was|found|actual|but):? $"
)
"""Visible text after a short duration in other languages; and the answer of a web server, and
visible text before it."""
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
    r"(?i)(?:(?:\b(?:(?:i|we|they|you)['\u2019]?ve|i|we|he|she|they|it|who|which|nobody|everyone|"
    r"(?:my|our|his|her|their|the) \w+)|\ufffc\)?)"
    r"(?: (?:\w+ly|also|still|then|only|already|never|just|has|have|had))? "
    rf"{_PAST}\b|(?:^|[.!?;:,\n] *|\b(?:and|but) )(?:led|managed|supervised|trained|hired|closed|"
    r"handled|slept|lost|spent|waited|sold|won|stayed|cancel+ed|missed|worked|walked|drank|smoked)\b)"
    r"[^.!?;:\n]{0,50}$"
)
"""Visible text before what was counted when something happened: a fact, no count of the task."""
_STATED = re.compile(
    r"(?i)\b(?:your|my|his|her|their|our)(?: \w+){1,2} (?:is|are|was|were) $|"
    r"\b(?:is|are|am|was|were|waits?|waited|waiting|lies|sits|stuck) (?:here |there )?since $|"
    r"(?:^|[.!?;,\n] *)(?!need)[a-z]{4,}ed for $"
)
_LEFT_OF = re.compile(
    r"(?i) (?:days|weeks|hours) of (?:\w+ )?"
    r"(?:holidays?|leave|vacation|absence|overtime|service)\b|"
    r"(?: ?(?:minutes?|mins?|hours?|hrs?|miles?|km)['\u2019]?s? (?:away|walk|drive|on foot)|"
    r" days out)\b|"
    r" (?:[a-z]+ )?[a-z]+ (?:was|were|are|got) "
    r"(?:hurt|injured|killed|infected|arrested|fired|sacked)\b"
)
"""Visible text around what somebody has or is due, "your notice is four weeks", and how far it is
to somewhere."""
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
_AT_MOST = re.compile(
    r"(?i)\b(?:pass(?:ing)? (?:mark|grade|score)(?: is| of|:)?|cut-?off(?: is| of|:)?|"
    r"(?:HS|HTS|SIC|NACE|MCC|CPT|ICD)(?: codes?)?:?|"
    r"max\.?|maximum|at most|no more than|limit(?:ed)? (?:of|to)|nearest|top) $"
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
    r"songs|books|films|movies|games|plants|pots|plates|glasses|cycles|iterations|epochs)\b"
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
    r"double |fresh |dried |ground |whole )*(?P<food>[a-z]+)\b"
)
_STAPLES = frozenset(
    "water oil chocolate yeast pepper stock chickpeas carrots onions mushrooms lamb mince "
    "fish salmon prawns nuts almonds cinnamon jam breadcrumbs".split()
)
_OVEN = re.compile(r"(?i)\b(?:bake[ds]?|baking|roast|oven|preheat|grill)[^.\n\ufffc]{0,24} $")
_OVEN_AFTER = re.compile(r" ?\u00b0| (?:degrees|[FC]\b|minutes|\ufffc)|[CF]\b")
"""Visible text after how much of something to cook, or of a machine; around the heat of an oven."""
_TRIED = re.compile(r"(?i)\b(?:retry|retries|attempt|try|step|page|part|slide|question|batch)[ =]$")
_OF_MANY = re.compile(r"[0-9]{1,3}/[0-9]{1,3}")
"""Visible text before which one of how many, as in "retry 2/5"."""
_AS_EXAMPLE = re.compile(
    r"(?i)\b(?:(?:is|are|looks?|something) like|such as|e\.g\.,?|for example,?|"
    r"in the form(?:at)?(?: of)?|formats?|formatted (?:as|like)|as in)[:,]? [\"'\u201c\u2018`]$"
)
"""Visible text before an example of how something is written."""
_SCALED = re.compile(
    r"(?i)\bout of $|\bon (?:gpio |digital |analog )?pin $|"
    r"(?:^|[.!?\n] ?)(?:please )?convert (?:\ufffc ?[^.?!\n\ufffc]{0,20}(?: and|,|') ?)?$"
)
"""Visible text before the end of a scale, and before what is to be converted."""
_SETTING = re.compile(
    r"(?i)(?<!\w)(?:max_|min_|n_|num_)?(?:retries|backoff(?:_ms)?|multiplier|timeout(?:_ms|_s)?|"
    r"threads|workers|replicas|epochs|batch_size|dropout|momentum|learning_rate|max_tokens|top_[pk]|"
    r"n_jobs|max_depth|n_estimators|z-index|font-size|line-height|per_page|ttl|port|threshold|interval|"
    r"limit|attempts|delay|debounce|quota|"
    r"latency(?:_ms)?|duration(?:_ms|_s)?|elapsed(?:_ms)?)[\"']?\s?[:=]\s?$|"
    r"\b(?:port(?: number)?|listen) $|(?:\bTTY|\ufffc)=(?:(?:pts|\ufffc)/|tty)$|"
    r"\b(?:gas mark|serves) $|"
    r"\s(?:-[cjklnNtw]|--(?:batch-size|count|cpus|depth|epochs|limit|lines|max-[a-z]+|memory|"
    r"num-[a-z]+|port|replicas|retries|seed|size|threads|timeout|workers))(?: |=)$|"
    r"\bkill -$|\b(?:ORDER|GROUP) BY $|"
    r"\b(?:error|status|exit)(?: code)? (?:is )?$|(?-i:\b(?:LIMIT|OFFSET|TOP) $)"
)
"""Visible text before the value of a setting of a program."""
_RETURNED = re.compile(r"\b(?:else|return|yield) -?$|\brange\((?:\ufffc, ?)?$")
_RETURNED_AFTER = re.compile(r"[ \t]*(?:[;,:)\]}#+*/%-]|//|\n|$)")
"""Visible text around a small number that a program returns."""
_COEFFICIENT = re.compile(
    r"(?i)(?<![^\W_])(?:USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|INR|CAD|AUD|NZD|CNY|rate|ratio|factor|share|discount|vat|tax|alpha|beta|threshold|tolerance|tol|"
    r"weight|decay|margin|quantile|confidence)(?:: ?float)?[\"']?\s?[:=]\s?$"
)
_FACTOR = re.compile(r"[\w)\]] ?\* ?$")
_FRACTION = re.compile(r"[01]?\.\d{1,6}")
_UNITS = frozenset("7 12 24 30 31 52 60 100 360 365 365.25 1000 1024 1440 3600 86400".split())
_TURNED = re.compile(r"[\w)\]\ufffc] ?(?:[*/%]|//) ?$")
"""Visible text before a share of one in a program, and the share: "rate=0.19", "net * 0.9"; how
many days a year has and the like, and visible text before it."""
_ASSIGNED = re.compile(
    r"(?:^|[\n;({])[ \t]*(?:const |let |var |int |size_t )?"
    r"(?!\w*(?:age|kids|child|grade|stage|level|score|rating|depend|week|month|year))[a-z]\w* ?= ?$"
)
_SHORT = re.compile(r"[0-9]{1,2}")
_PLACE_OF_ROW = re.compile(
    r"[{,(\n][ \t]*[\"']?(?:id|index|idx|order|page|pos|position|qty|rank|row)[\"']? ?: ?$"
)
"""Visible text before the number of a row that is written down in a program or in JSON."""
_COMPARED = re.compile(r"[\w)\]\"`\ufffc] ?(?:===?|!==?|<>|[<>]=?|(?<= )= ?)$")
_BELOW = re.compile(
    r"[\w)\]\"'`\ufffc] (?:[<>]=?|-(?:gt|ge|lt|le|eq|ne)) ?$|"
    r"\s-(?:[acm]?(?:time|min)|size|maxdepth|mindepth) [+-]?$"
)
_BELOW_SUM = re.compile(
    r"(?i)(?:amount|balance|budget|cost|debt|fee|gift|income|paid|price|rent|revenue|salary|sales|"
    r"spend|total|value|wage)s?(?:_\w{1,8})?[\"'\])]* [<>]=? ?$"
)
_COMPARED_AFTER = re.compile(r"[ \t]*(?:(?i:and|or|group by|order by|limit)\b|&&|\|\||[;:){]|\n|$)")
"""Visible text around the 0 or 1 that a program or a query compares something with, and before a
limit of up to three digits in one, unless it is that of a sum."""
_LIMIT_AFTER = re.compile(
    r"[ \t]*(?:(?i:and|or|then|do|group|order|limit|having)\b|&&|\|\||[;:){\]?]|\n|$| -)"
)
_ONE_DIGIT, _ASSIGNED_AFTER = re.compile(r"[0-9]"), re.compile(r"[ \t]*(?:[;,)\n#]|//|if |$)")
_IN_LIST, _LIST_AFTER = (
    re.compile(r"(?:[=(] ?|\breturn )[\[{(](?:-?[0-9\ufffc], ?)*-?$"),
    re.compile(r", ?-?[0-9\ufffc]|[\]})]"),
)
"""One digit that a name of a program is given, or one in a list; visible text around it."""
_LINE_OF_FILE, _AT_LINE = re.compile(r"\w\.[a-z]{1,4}:$"), re.compile(r"[0-9]{1,5}(?::[0-9]{1,4})?")
"""Visible text before a line of a file, perhaps with a column."""
_REGEX = re.compile(r"(?:\(\?[:=!<]|\\[dwsbDWSB]).{0,80}(?:[\[{|(^>]|\\\+)$")
_REGEX_AFTER = re.compile(r"[\[\]}|)*+?$\\]")
"""Visible text around a number in a regular expression."""
_UPGRADED = re.compile(
    r"(?i)\b(?:(?:(?:up|down)grad|updat|bump)(?:e|ed|es|ing)?|(?:driver|firmware|plugin|kernel|bios|"
    r"library|package|client|compiler|patch)s?)\b[^.\n\ufffc]{0,40} "
    r"(?:from \ufffc to|from|to|version) $"
)
"""Visible text before the release that somebody moved to."""
_VERSION = re.compile(r"v?\d{1,2}\.\d{1,2}\.\d{1,2}")
_OF_DAY = re.compile(
    r"(?i)\b(?:on|since|until|till|by|dated|born|dob|d\.o\.b\.?|due|loss|accident|birth|expires?|"
    r"signed|incident|received|admitted|seen|paid|date):? $"
)
_DAY = re.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:0\d|[1-9]\d)")
_RELEASE, _PART = re.compile(r"\d{1,2}(?:\.\d{1,2})?"), re.compile(r"\d{1,3}(?:\.\d{1,2}){0,2}")
_OF_PERSON = re.compile(
    r"(?i)\b(?:room|ward|bed|seat|flat|apartment|apt|locker|suite|courtroom|cell|house|unit|patient|"
    r"customer|client|case|ticket|order|invoice|policy|account|member|employee|staff|contract|claim|"
    r"ref|file|booking|badge|parcel|tenant|user|number|aged?|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety)-$"
)
_SERVED = re.compile(r'HTTP/\ufffc" $')
"""Visible text before the status and the length of an answer in a web server's log."""
_AT_ITEM = re.compile(r"(?:(?:^|\n)[ >*-]*\(?|\.[a-z]{1,5}:|(?:^|[.;\n\"] ?))$")
_AT_FIRST, _FIRST = re.compile(r": ?$"), re.compile(r"1[.)] |\d{1,4}\)(?:\n|$)")
_ITEM = re.compile(r"(?:\d{1,2}[.)] |\d{1,2}\.\d{1,2}\.? (?=[A-Z])|\d{1,4}\))")
"""A version, and a day that looks like one; visible text before that day; and before, and the
number with the text after, of a list's item, a clause of a contract or a line of a file."""
_ENUMERATED, _UNOPENED = re.compile(r"[1-9]\) [a-zA-Z]"), re.compile(r"(?:^|[ \n])$")
"""A point of several in one line: "please 1) translate it, 2) answer"."""
_KEY_OF_ROW = re.compile(r"(?i)(?:\bvalues\s*|\),\s*)\($")
_KEY = re.compile(r"[0-9]{1,3},")
"""The first number of a row that is put into a table."""
_CLAUSE = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2}){1,2}\.? \ufffc")
_OF_RULES = re.compile(
    r"(?i)\b(?:agreement|contract|clauses?|shall|part(?:y|ies)|terms|hereby|herein|liable|liability|"
    r"bye?-?laws|regulations|statutes?|articles|policy)\b|\n\ufffc(?:\.? |\) )"
)
"""A clause that a hidden word opens, and visible text before it that tells of one."""
_OF_LINE = re.compile(
    r"(?i)(?:^|\n)[ \t>*#-]*(?:agent|applicant|candidate|case|client|comment|customer|day|email|"
    r"example|exhibit|input|level|message|option|output|participant|passage|patient|person|phase|"
    r"respondent|response|review|round|sample|scenario|speaker|stage|student|test|text|ticket|user|"
    r"week) $"
)
_LINED = re.compile(r"[0-9]{1,2}(?::|\)|\.[ \n]| ?[\u2013-] )")
"""Visible text before the number of one of several texts, and the number with what follows it."""
_KNOWN_PORTS = frozenset(
    "22 25 53 80 443 587 993 1433 1521 1883 2181 2375 3000 3306 4222 5000 5432 5601 5672 5900 6379 "
    "6443 7687 8000 8080 8081 8086 8443 8500 8883 8888 9000 9042 9090 9092 9200 9300 9418 11211 "
    "15672 27017".split()
)
"""Ports that everybody knows, behind the name of a host."""
_PORTS = re.compile(r"[0-9]{2,5}:[0-9]{2,5}")
"""Two ports, as containers map them."""
_OF_PRODUCT = re.compile(
    r"(?:\biP(?:hone|ad|od)s?|\b(?!HbA1c)[A-Z][a-z]+[A-Z]\w*|\.NET(?: Core)?|\bEF Core|"
    r"\b(?:Python|Java|Windows|Ubuntu|Debian|Fedora|Node(?:\.js)?|Excel|Office|Rails|Django|Angular|React|Swift|Kotlin|Ruby|Perl|Bash|Android|Chrome|Firefox|"
    r"Kubernetes|Docker|Postgres|Redis|Linux|PHP|HTML|CSS|TLS|HTTP|iOS|macOS|Word|"
    r"(?i:version|release|update|upgrade|firmware|patch))) $|\bHTTP/$"
)
_SUBSCRIBED = re.compile(r"\b(?:Office|Microsoft|Dynamics|Excel|Windows|Word|Outlook) $")
"""Visible text before the number in "Office 365"."""
_TAGGED = re.compile(r"(?i)(?:\bimages?:?|(?-i:^|\n)FROM) ?[\w.\ufffc-]+(?:/[\w.\ufffc-]+)*:$")
"""Visible text before the release of an image of a container: "image grafana/grafana:10.4"."""
_REFERRED = re.compile(
    r"(?i)\b(?:items?|points?|sections?|steps?|questions?|chapters?|pages?|lines?|rows?|columns?|"
    r"figures?|tables?|options?|parts?|paragraphs?|tasks?|exercises?|slides?|footnotes?|appendix|"
    r"articles?|clauses?|attempts?|prio(?:rity)?|severity|event)"
    r"(?: (?:no\.?|number|id:?))?(?: \ufffc(?:,| and| or| to))* $|"
    r"(?-i:\b(?:Alternative|Bid|Choice|Offer|Proposal|Quote|Scenario|Tier|Variant) $)"
)
"""Visible text before the number of a part of the text."""
_DOTTED = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3}){1,2}")
_RELEASED_AFTER = re.compile(
    r"(?i) (?:ships?|shipped|is (?:out|released|live|available|affected)|releases?|released|beta|"
    r"rc|adds|fixes|introduces|supports|drops|requires|breaks|comes with|"
    r"or (?:later|newer|above))\b"
)
"""A release, and visible text after that of a program whose name is hidden."""
_OF_PROTOCOL = re.compile(
    r" ?(?:rpm|\u00b5l|\u03bcl|ng/|mM|\u00b5M|kDa|bp)(?![A-Za-z])| s\b(?=[,;.) ])"
)
"""Visible text after what a machine of a laboratory is set to."""
_OF_PART = re.compile(r"(?<![\w./@\ufffc-])[a-z]{3,}-$|(?<=-)[a-z]{3,}-$")
"""Visible text before a version, and before the number of a part such as "worker-3"."""


def public_number(number: str, before: str, after: str, sure: bool = False) -> bool:
    """Return True if visible words say that a number is of the task: a count, a term or a limit.

    Args:
        before, after: visible text around the number. sure: the tagger has no doubt that a count or
            a term is somebody's.

    Example:
        >>> public_number("14", "a refund within ", " days or"), public_number("38", "I am ", ".")
        (True, False)
        >>> public_number("two", "", " sentences"), public_number("6", "she is ", " weeks late")
        (True, False)
    """
    if asked(before, after) or _AT_MOST.search(before) or _is_given(number, before, after):
        return True
    written = number + after
    item = _AT_ITEM.search(before) and (
        _ITEM.match(written) or (_CLAUSE.match(written) and _OF_RULES.search(before))
    )
    item = item or (_ENUMERATED.match(written) and _UNOPENED.search(before))
    item = item or (_KEY_OF_ROW.search(before) and _KEY.match(written))
    first = (_AT_FIRST.search(before) and _FIRST.match(written)) or (
        _LINED.match(written) and _OF_LINE.search(before)
    )
    if item or first or _SERVED.search(before) or _is_technical(number, before, after):
        return True
    if sum(map(str.isdecimal, number)) > MOST_DIGITS or is_of_somebody(before, after):
        return False
    cooked = _COOKED.match(after)
    eaten = cooked and (cooked["food"] in _STAPLES or cooked["food"] in words_of("foods"))
    measured = _MEASURED.match(after) or eaten
    in_oven = _OVEN.search(before) and _OVEN_AFTER.match(after)
    abroad = _SHORT_ABROAD.match(after) and not AGE_IN.search(before)
    asked_of = _OF_TERM.search(before) and _TERM_ASKED.match(after)
    if measured or in_oven or abroad or asked_of:
        return True
    if SHORT.match(after) or _COUNTED.match(after):
        return not (sure or _is_told(number, before, after))
    return _TERM.search(before) is not None and MONTHS_AFTER.match(after) is not None


_SCHEDULED = re.compile(
    r"(?i)\bcron(?:tab| expression| ?job)?\b[^\n]{0,80}\b(?:at|from|to|until|between|and|every) $|"
    r"\b(?:timeline|schedule|timetable|agenda|program(?:me)?|rota)\b[^.\n]{0,40}"
    r"\b(?:from|to|until|till|between|and) $"
)
_HOUR_AFTER = re.compile(
    r"(?i)(?::[0-5][0-9])? ?(?:am|pm|a\.m|p\.m|h|o['\u2019]?clock)?(?:[ ,.?!;:)-]|$)"
)
_COOKED_BEFORE = re.compile(r"(?:\ufffc ?(?:g|ml|tbsp|tsp|cups?|eggs?)\b[^.\n]{0,40}){1,6}, $")
_COOKED_AFTER = re.compile(r" ?(?:g|ml|tbsp|tsp|cups?) (?:\ufffc|[a-z]+)")
"""Visible text around an hour of a plan that is asked for, and around one more ingredient."""
_REFERENCE = re.compile(
    r"(?i)\((?:normal|range|ref(?:erence)?)[.:]? ?[<>\u2264\u2265]? ?$|"
    r"(?<!\bmy )(?<!\bher )(?<!\bhis )(?<!\bour )(?<!\byour )(?<!\btheir )(?<!'s )"
    r"\b(?:guidelines?|recommended|normal|official|reference)\b[^.\n\ufffc]{0,25} "
    r"(?:is|are|of|at|below|under|above) [<>]?$|"
    r"\b(?:VAT|GST|MwSt\.?|TVA|sales tax)(?: of| at| is|:)? $|"
    r"\bper $"
)
"""Visible text around what a test of anybody should show, a tax, a dose of so much, and a scale."""


def _of_everybody(number: str, before: str, after: str) -> bool:
    """Return True for what a test of anybody should show, a tax, and the end of a scale."""
    if sum(map(str.isdecimal, number)) > MOST_DIGITS:
        return False
    if before.endswith("\ufffc of "):
        return re.match(r" (?:points|marks|credits)\b", after) is not None
    return _REFERENCE.search(before) is not None or after.startswith((" zone ", " zone."))


def _is_given(number: str, before: str, after: str) -> bool:
    """Return True for the age of readers, the heat of an oven, an hour of a plan that is asked for,
    one more ingredient, and an example of a form."""
    read = _READ_BY.search(before) is not None or _OF_READERS.match(after) is not None
    shown = _READER.search(before) or _AS_EXAMPLE.search(before)
    if shown or (read and OLD_AFTER.match(after)) or _of_everybody(number, before, after):
        return True
    numbered = before.endswith("\n") and after.startswith("  ")  # a row of a table of columns
    short = number.isdecimal() and len(number) <= MOST_DIGITS
    if short and (numbered or _SCALED.search(before)):
        return True
    planned = _SCHEDULED.search(before) and _HOUR_AFTER.match(after)
    if planned or (_COOKED_BEFORE.search(before) and _COOKED_AFTER.match(after)):
        return True
    return _HEAT.fullmatch(number) is not None and _HEATED_TO.search(before) is not None


def _is_told(number: str, before: str, after: str) -> bool:
    """Return True if visible words say that a count or a time tells what happened, or how it is."""
    if "." in number and after.startswith(" times"):
        return True  # a ratio
    if (_HAS.search(before) and _STAFF.match(after)) or (
        OLD.search(before) and re.match(r"[ -](?:weeks|months)\b", after)
    ):
        return True
    if _is_stated(before, after):
        return True
    sentence = _told_in(before)
    if _FIGURE.search(sentence[-_NEAR:]) or (_WORKS.search(sentence) and SHORT.match(after)):
        return True
    if _NOT_TOLD.search(before) or (before.endswith("for ") and not SHORT.match(after)):
        return False
    return _HAPPENED.search(before[-2 * _NEAR :]) is not None


def _is_stated(before: str, after: str) -> bool:
    """Return True for how long somebody has something: "your notice is four weeks"."""
    lasting = SHORT.match(after) or MONTHS_AFTER.match(after)
    return bool((lasting and _STATED.search(before)) or _LEFT_OF.match(after))


def _is_technical(number: str, before: str, after: str) -> bool:
    """Return True for the number of a version or a part: "PostgreSQL 16", "item 2", "worker-3"."""
    if is_mathematical(before, after):
        return True
    ported = (_PORTS.fullmatch(number) and not may_be_day(number)) or (
        number in _KNOWN_PORTS and before.endswith(":") and not after[:1].isalnum()
    )
    tried = _OF_MANY.fullmatch(number) and _TRIED.search(before)
    if ported or tried or number == "50/50" or _is_release(number, before, after):
        return True
    is_set = _SETTING.search(before) or _is_literal(number, before, after)
    answered = _STATUS.fullmatch(number) and _SHOWS.search(before)
    placed = _LINE_OF_FILE.search(before) and _AT_LINE.fullmatch(number)
    written = (
        placed or (_REGEX.search(before) and _REGEX_AFTER.match(after)) or _OF_PROTOCOL.match(after)
    )
    if is_set or answered or written or (_REFERRED.search(before) and _PART.fullmatch(number)):
        return True
    if _OF_PERSON.search(before) or not _OF_PART.search(before) or not _PART.fullmatch(number):
        return False
    return not after[:1].isalnum() and after[:1] not in ("-", "\ufffc")


def _is_literal(number: str, before: str, after: str) -> bool:
    """Return True for a number of a program that is nobody's: a share, a unit, a small one."""
    if _FRACTION.fullmatch(number) and (_COEFFICIENT.search(before) or _FACTOR.search(before)):
        return True
    if number in _UNITS and _TURNED.search(before):
        return True
    short = number.isdecimal() and len(number) <= MOST_DIGITS
    returned = _PART.fullmatch(number) and _RETURNED.search(before)
    if returned and _RETURNED_AFTER.match(after):
        return True
    limits = short and _BELOW.search(before) and not _BELOW_SUM.search(before)
    placed = _SHORT.fullmatch(number) and _PLACE_OF_ROW.search(before)
    if placed or (limits and _LIMIT_AFTER.match(after)):
        return True
    if not _ONE_DIGIT.fullmatch(number):
        return False
    assigned = (_ASSIGNED.search(before) and _ASSIGNED_AFTER.match(after)) or (
        number in ("0", "1") and _COMPARED.search(before) and _COMPARED_AFTER.match(after)
    )
    return bool(assigned or (_IN_LIST.search(before) and _LIST_AFTER.match(after)))


_OF_FORMULA = re.compile(
    r"(?:[\s\ufffc^+*/=().,<>\u2264\u2265\u00b1\u00d7\u00b7\u00f7\u2212-]|"
    r"(?<![^\W_])(?:[a-z]|sin|cos|tan|log|ln|exp|sqrt|lim|mod|dx|dy|dt)(?![^\W_]))+"
)
_VARIABLE, _GRID = re.compile(r"(?<![^\W_])[nxyz](?![^\W_])"), re.compile(r"\|\ufffc\|")
"""A line of a formula; one of its variables; a cell of a grid of digits, such as a puzzle."""


def is_mathematical(before: str, after: str) -> bool:
    """Return True for an exponent, a number in a line that is a formula, and a cell of a grid.

    Args:
        before, after: visible text around the number.

    Example:
        >>> is_mathematical("Solve this.\\nx + ", " = y"), is_mathematical("rent + ", " = y")
        (True, False)
    """
    if before.endswith("^") or after.startswith("^"):
        return True
    line = f"{before.rsplit(chr(10), 1)[-1]}\ufffc{after.split(chr(10), 1)[0]}"
    if _GRID.search(line) and not any(map(str.isalpha, line)):
        return True
    equated = "=" in line or "^" in line
    return (
        equated and _VARIABLE.search(line) is not None and _OF_FORMULA.fullmatch(line) is not None
    )


def _is_release(number: str, before: str, after: str) -> bool:
    """Return True for the version of a program, and for that in the name "Office 365"."""
    if _DAY.fullmatch(number) and _OF_DAY.search(before):
        return False
    if _VERSION.fullmatch(number) or (_DOTTED.fullmatch(number) and _RELEASED_AFTER.match(after)):
        return True
    released = any(each.search(before) for each in (_OF_PRODUCT, _UPGRADED, _TAGGED))
    named = number == "365" and _SUBSCRIBED.search(before) is not None
    return named or (_RELEASE.fullmatch(number) is not None and released)


def asked(before: str, after: str) -> bool:
    """Return True if visible words say that a number is part of a question: a limit or a price.

    Example:
        >>> asked("Which of them worked more than ", " hours?"), asked("I worked more than ", "")
        (True, False)
        >>> asked("What do we owe in total at ", " an hour?"), asked("I earn ", " an hour.")
        (True, False)
    """
    found = ASKS.search(before)
    if found is None or _SOMEBODY.search(found["asked"]):
        return False
    if _LIMIT.search(before):
        return True
    return _RATE_BEFORE.search(before) is not None and _RATE_AFTER.match(after) is not None


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
        return text[end:begin] == " " and BRIEF.fullmatch(text, begin, stop) is not None
    if number + 1 == len(found.runs):
        return False
    following = found.runs[number + 1]
    rest = found.runs[number + 2].start if number + 2 < len(found.runs) else len(text)
    counted = following.kind == NUMBER and text[end : following.start] == " "
    return counted and _LIMITED.match(text, following.end, rest) is not None


_REQUESTED = re.compile(
    rf"(?i)(?:^|[,:(] *|\b(?:and|then|also|please|i|we|you|not|can|could) ){REQUESTS}\b|"
    r"^[\s>*|-]*(?:what|which|who|whom|whose|how|why|when|where|if|can|could|would|should|do|does|did|is|"
    r"are|am|may|might|will|shall|has|have|any|\d+[.)])\b|"
    r"\b(?:must|should|shall|would|may|needs?|wants?|like|at (?:most|least)|max\.?|min\.?|maximum|"
    r"minimum|limit(?:ed)?|exactly|up to|example|e\.g|formula|article|section|timeout|version|"
    r"character|pixels?|regex|query|port|default|config\w*|setting|parameters?|loop|index|array|tolerance|"
    r"confidence|accuracy|probability)\b"
)
_FIGURE = re.compile(
    r"(?i)\b(?:scores?|rating|marks?|stock|overtime|waiting|seen|cancel+ed|absent|headcount|turnover|"
    r"absences?|attendance|pulse|temp(?:erature)?|weight|height|potassium|sodium|creatinine|platelets|"
    r"ha?emoglobin|glucose|cholesterol|ferritin|pressure|saturation|humidity|balance|premiums?|excess|"
    r"arrears|profits?|loss(?:es)?|revenues?|sales|returns|complaints|visitors|members|staff|patients|"
    r"runway|lead time|left|mileage|"
    r"reading|baseline|debts?|budget|margin|ratio|yield|interest|grade|charged|dropped|"
    r"fell|rose|doubled|tripled|grew|sank|climbed)"
    r"(?: (?:is|was|are|were|of|at|to|from|by|now|only|about|around|given|seen|rose|fell|rises|"
    r"falls|went|up|down|charged|sick|\ufffc))*[:=]? $"
)
_LARGE = re.compile(r"[0-9]{1,3}(?:[ ,.'\u2019\u00a0][0-9]{3})+(?:[.,][0-9]{1,2})?|[0-9]{3,6}")
_GROUPED = re.compile(r"[0-9]{1,3}(?:[,.'\u2019\u00a0][0-9]{3})+")
"""A number in thousands: behind a hidden word, "earns", it is no name of a norm."""
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


def _told_in(before: str) -> str:
    """Return the visible beginning of the last sentence, "" if it is a request or a question."""
    sentence = before[sentence_start(before) :]
    return "" if _REQUESTED.search(sentence) else sentence


def figure(number: str, before: str, after: str) -> str | None:
    """Return the class of a number that tells how much, in a sentence that asks for nothing.

    What the tagger gives no class is a measure or a figure there: no task depends on it.

    Example:
        >>> figure("1,420", "Sales were down and returns doubled to ", ".")
        'NUMBER'
        >>> figure("500", "Add a discount for orders above ", " units")
    """
    if _is_stated(before, after):
        return "NUMBER"
    if not number.isascii() or number.isalpha():
        return None  # a numeral
    sentence = _told_in(before)
    measured = sentence and UNIT_AFTER.match(after) and not _TITLE_AFTER.search(after)
    if (
        measured
        or _FIGURE.search(sentence[-_NEAR:])
        or (_WORKS.search(sentence) and SHORT.match(after))
    ):
        return "NUMBER"
    if not sentence.strip() or YEAR_OR_TIME.fullmatch(number) or _TITLE_AFTER.search(after):
        return None
    grouped = _GROUPED.fullmatch(number) is not None and sentence.endswith("\ufffc ")
    cited = (_CITED.search(sentence) and not grouped) or after[:1] in _IN_CODE
    return "NUMBER" if _LARGE.fullmatch(number) and not cited else None
