"""Classes of things: their lists, how far a thing reaches, what visible words tell of a number.

Which illnesses, beliefs, origins and crimes have a common name is on lists. Names of drugs and of
medical conditions tell a class wherever they occur (`Gazetteers`). What a finding takes in is
visible text, decided by that text, by the finding's class and by its own run (docs/guarantees.md,
theorem B).

The lists are public. That a name is on one, and of which class, is part of how it is read; which
member it is, is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from sanitizer.text.policy import DRAWN, straight, word_list
from sanitizer.text.skeleton import NUMBERS, NUMERAL, Run, Skeleton, kind_of
from sanitizer.text.words import overlapping, word_spans

_LEAST_TYPED = 6  # letters of the shortest name of which a typing error is recognized
_MOST_WORDS = 5
_BEFORE = frozenset("a an the my his her their our your".split())
_EMPTY = _BEFORE | frozenset("of and or with disease disorder syndrome".split())


@dataclass(frozen=True)
class Gazetteers:
    """Words that have a class wherever they occur.

    Attributes:
        kinds: lower-case word -> class.
    """

    kinds: dict[str, str]

    def kind_of(self, word: str) -> str | None:
        """Return the class of a word, or None."""
        return self.kinds.get(word.lower())


class Listed(NamedTuple):
    """A listed name inside a text.

    Attributes:
        start, end: character offsets. kind: its class. concept: the member that it names.
    """

    start: int
    end: int
    kind: str
    concept: str


_LISTS = {"BELIEF": ("RELIGION", "POLITICS")}
"""Classes with several lists: a religion is drawn for a religion. Which one is public."""
LISTS = tuple(name for kind in DRAWN for name in _LISTS.get(kind, (kind,)))
"""Names of all lists from which stand-ins are drawn."""


def lists_of(kind: str) -> tuple[str, ...]:
    """Return the names of the lists of a class, or of the list of this name."""
    return _LISTS.get(kind, (kind,))


def list_of(kind: str, concept: str) -> str:
    """Return the name of the list of a class that a thing is on; the first if it is on none.

    Example:
        >>> list_of("BELIEF", "Muslim"), list_of("BELIEF", "socialist"), list_of("CRIME", "arson")
        ('RELIGION', 'POLITICS', 'CRIME')
    """
    first, *others = lists_of(kind)
    return next((name for name in others if concept in class_members(name)), first)


@cache
def class_members(kind: str) -> tuple[str, ...]:
    """Return the members of a class or a list, the commonest first.

    Raises:
        ModelError: as `word_list`.

    Example:
        >>> class_members("CONDITION")[:2], class_members("POLITICS")[:2]
        (('depression', 'asthma'), ('conservative', 'liberal'))
    """
    if kind in _LISTS:
        return tuple(member for name in _LISTS[kind] for member in class_members(name))
    return word_list(f"{kind.lower()}.txt", "classes")


@cache
def _concepts(kind: str) -> Mapping[str, str]:
    """Return name -> member of the class, for the members themselves and for other names."""
    known = {plain_name(member): member for member in class_members(kind)}
    for line in word_list("concepts.txt", "classes"):
        member, _, names = line.partition(" = ")
        if plain_name(member) in known:
            known |= {plain_name(name): member for name in names.split(", ")}
    return known


def plain_name(text: str) -> str:
    """Return a name as names are compared: words in lower case, without an article before them.

    Example:
        >>> plain_name("A Heart-Attack")
        'heart attack'
    """
    plain = straight(text.lower())
    words = [plain[begin:end] for begin, end in word_spans(plain)]
    return " ".join(words[words[0] in _BEFORE :]) if len(words) > 1 else " ".join(words) or plain


def content_words(text: str) -> list[str]:
    """Return the words of a name that tell something.

    Example:
        >>> content_words("Obstruction of justice")
        ['obstruction', 'justice']
    """
    return [word for word in plain_name(text).split() if word not in _EMPTY and len(word) > 1]


def concept_of(kind: str, text: str, typed: bool = True) -> str | None:
    """Return the member of a class that a name means, None if it means none.

    Args:
        typed: a name with one typing error counts, if only one member is so near.

    Example:
        >>> concept_of("CONDITION", "Hep C"), concept_of("CONDITION", "astmha")
        ('hepatitis C', 'asthma')
    """
    names, name = _concepts(kind), plain_name(text)
    found = names.get(name) or names.get(name.removesuffix("s"))
    if found is None and typed and len(name) >= _LEAST_TYPED:
        near = {names[one] for one in mistyped(name) if one in names}
        found = near.pop() if len(near) == 1 else None
    return found


def adjective_of(text: str) -> str | None:
    """Return BELIEF or ORIGIN if a stretch is exactly a name on that list: no firm or place.

    Example:
        >>> adjective_of("Muslim"), adjective_of("Leeds")
        ('BELIEF', None)
    """
    name = plain_name(text)
    return next((kind for kind in ("BELIEF", "ORIGIN") if name in _concepts(kind)), None)


def listed_in(text: str, start: int, end: int, kind: str) -> Listed | None:
    """Return the longest listed name in a stretch, of this class if there is one, or of another.

    Example:
        >>> listed_in("convicted of burglary", 0, 21, "CRIME")
        Listed(start=13, end=21, kind='CRIME', concept='burglary')
    """
    spans = [(start + a, start + b) for a, b in word_spans(text[start:end])]
    empty = [text[a:b].lower() in _EMPTY for a, b in spans]
    runs = [
        (spans[first][0], spans[first + n - 1][1], n)
        for n in range(min(len(spans), _MOST_WORDS), 0, -1)
        for first in range(len(spans) - n + 1)
        if not (empty[first] or empty[first + n - 1])
    ]
    # Typing errors are looked for last, and in single words and the whole only: it takes a while.
    for typed in (False, True):
        for kinds in ((kind,) if kind in DRAWN else (), DRAWN):
            for begin, stop, n in runs:
                for each in kinds if not typed or n in (1, len(spans)) else ():
                    if member := concept_of(each, text[begin:stop], typed):
                        return Listed(begin, stop, each, member)
    return None


def mistyped(name: str) -> Iterator[str]:
    """Yield what a name may have been meant as: one letter more, less, other, or two swapped."""
    letters = "abcdefghijklmnopqrstuvwxyz "
    for i in range(len(name) + 1):
        head, tail = name[:i], name[i:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in letters)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in letters)


# --- Extents and roles of findings

NAMES = frozenset(["PERSON", "ORGANIZATION", "PLACE", "PRODUCT"])
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
_AUDIENCE = re.compile(r"(?i)\b(?:to|for|like|by|with|teach(?:ing)?) (?:a|an|the|some)? ?$")
"""Visible text before the age of readers, such as "explain it to a 10 year old"."""
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
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
_TRADED = frozenset(["ORGANIZATION", "PRODUCT"])

_JOINS = {
    "PERSON": re.compile(
        r"[ \u00a0]|\. |-|(?i:[ -](?:(?:van|von|de|del|della|da|di|du|dos|el|al|bin|ibn|ben|la|le|"
        r"der|den|ter|zu|y|st\.?)[ -])+)"
    ),
    "ORGANIZATION": re.compile(
        r" |\. |-| & | of | of the | and | for | for the |'s |\u2019s |(?: [A-Z][a-z]+)+ "
    ),
    "PLACE": re.compile(r" |-| of | of the |, (?=\d)| the "),
    "PRODUCT": re.compile(r" |-|\.|_"),
    "DATE": re.compile(r" |, |[./:-]| of | the | at | around |T| ?[-\u2013] ?"),
    "MONEY": re.compile(r" |[.,-]"),
    "ID": re.compile(r" ?[-/#._] ?| "),
    "NUMBER": re.compile(r"[.,/:-]| "),
}
_JOIN = re.compile(r" |-| of | of the |'s |\u2019s ")
_UNIT = (
    r"(?:kilos?|kilograms?|kgs?|grams?|mg|mcg|\u00b5g|g|ml|dl|l|cm|mm|mmol|mol|meters?|metres?|km|m|"
    r"lbs?|stone|pounds|inch(?:es)?|ft|feet|foot|miles?|years?|yrs?|months?|mths?|weeks?|wks?|days?|nights?|"
    r"hours?|hrs?|minutes|mins?|seconds|percent|per cent|bpm|mph|people|employees|guests|"
    r"milligrams?|micrograms?|millilit(?:er|re)s?|units|beats|"
    r"Prozent|Jahre?n?|Monate?n?|Wochen?|Tagen?|Stunden|pour cent|ans|mois|semaines|jours|heures|"
    r"por ciento|a\u00f1os|meses|semanas|d\u00edas|horas)"
)
_NUMERAL_UNITS = rf"[ \u00a0-]?(?i:{_UNIT}(?:/{_UNIT})?(?:[ -]old)?)\b|\u00b0C?|%|[ ]%"
_MONTH = (
    r"(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|"
    r"januar|februar|m\u00e4rz|mai|juni|juli|oktober|dezember|"
    r"janvier|f\u00e9vrier|mars|avril|juin|juillet|ao\u00fbt|septembre|octobre|novembre|d\u00e9cembre|"
    r"enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
_LONG_MONTH = r"(?i:january|february|april|june|july|august|september|october|november|december)"
_DAY = r"(?i:mon|tues?|wed(?:nes)?|weds|thu(?:rs)?|fri|sat(?:ur)?|sun)(?i:day)?"
_PART_OF_DAY = r"(?i:morning|afternoon|evening|night|noon|midnight)"
_WEEKDAY = (
    rf"(?:{_DAY}|(?i:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|"
    r"jeudi|vendredi|samedi|dimanche|lunes|martes|mi\u00e9rcoles|jueves|viernes|s\u00e1bado|domingo))"
)
WEEKDAY = re.compile(r"(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?)")
"""A weekday alone: public, and nobody's name."""
_CALENDAR = re.compile(rf"{_MONTH}|{_WEEKDAY}")
"""Names of months and weekdays; shapes of text between one of them and a number beside it."""
_DAY_BEFORE = re.compile(r"(?:(?:st|nd|rd|th)\b)?\.?,?(?: of| de)? ")
_DAY_AFTER = re.compile(r"\.?,? (?:the |den |le |el )?")
_CAPITALIZED = (
    rf"(?<=[a-z,|] )(?!(?:{_WEEKDAY}|{_MONTH}|I|Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Madam|Dear|Hello|Hi|"
    r"English|German|French|Spanish|Italian|Chinese|Japanese|Latin|Greek)\b)[A-Z][a-z]+ $"
)
"""Visible text before a name: a word with a capital that opens no sentence."""
_ONES = re.compile(r"-(?:one|first|second|third)\b", re.I)
"""Visible end of a number in words: "forty-one"."""
_TAKEN_BEFORE = {
    "MONEY": re.compile(
        r"(?:(?:\b(?:R|CA|AU|A|US|NZ))?[$\u00a3\u20ac\u00a5\u20b9]|"
        r"\b(?:USD|EUR|GBP|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|INR|BRL|MXN|JPY|Rs\.?))\s?$"
    ),
    "DATE": re.compile(
        rf"(?:\b{_DAY}\.?,? (?:the )?|\b{_MONTH}\.? (?:the )?|\byesterday (?:at )?|\bmid-|"
        r"\b(?i:half past|quarter (?:past|to)) |"
        r"\b(?:the )?(?:beginning|start|middle|end|(?:first|last|second|third) (?:week|days)) of |"
        r"\bQ[1-4] |\b(?:last|next|early|late|mid) )+$"
    ),
    "PERSON": re.compile(
        r"\b(?:(?:Old|Big|Little|Young|Uncle|Auntie|Aunt|Grandma|Grandpa|Granny|Nana) |"
        r"(?:deploy|svc|admin|user)[-_.]|\b[a-z]\.)$"
    ),
    "ID": re.compile(r"(?:\b[a-z]+[-_])+$"),
    "PRODUCT": re.compile(
        rf"(?<![.!?] )\b(?:Project|Operation|Programme|Program) $|\b[A-Z][a-z]+ & $|{_CAPITALIZED}"
    ),
    "ORGANIZATION": re.compile(rf"\b[A-Z][a-z]+ & $|{_CAPITALIZED}"),
    "PLACE": re.compile(_CAPITALIZED),
    "OCCUPATION": re.compile(
        r"(?:(?:(?<=\ba )|(?<=\ban )|(?<=\bthe )|(?<=\bour )|(?<=\bmy )|(?<=, )|(?<=: )|(?<=\| ))"
        r"(?:mobile |senior |junior |retired |former |trainee |night )?"
        r"(?!(?:the|an?|and|or|but|so|not|now|then|still|also|just|who|as|is|was|to|of|in|at|on|for|"
        r"with|from|by|my|our|his|her|their|your|its|i|we|he|she|they|you|it)\b)[A-Za-z]+ |"
        r"(?i:\b(?:bus|lorry|truck|van|taxi|cab|train|tram|delivery|cabin|flight|line|head|sous|"
        r"pastry|night|care|social|youth|support|school|primary|dinner|dog|lab|call cent(?:re|er)|"
        r"warehouse|factory|hotel|ward|staff|district|veterinary|dental|legal|personal|sales|"
        r"project|product|office|estate|letting|travel|tour|security|prison|police|parole|"
        r"probation|fire|army|navy|lighthouse|shop|bar|site)[ -])+)$"
    ),
    "CONDITION": re.compile(
        r"(?i:(?:\b(?:(?:stage|grade) \w+|(?:four|six|\d+) weeks|breast|lung|bowel|colon|skin|"
        r"brain|blood|bone|heart|kidney|liver|chronic|severe|mild|acute|advanced|nearly|partly|nut|hearing|"
        r"back|chest|eating|mental|panic|high|head|recovering|broken|fractured|torn|fake|sickle|"
        r"(?:early|late)-onset|egg|milk|type (?:one|two|[12])|heavy|irregular|borderline|terminal|"
        r"inoperable|congenital|partial|postnatal|post-natal|clinical)[ -])+)$"
    ),
    "CRIME": re.compile(
        r"(?i:\b(?:drunk|drink|drug|tax|sexual|identity|armed|domestic|aggravated|attempted|"
        r"common|actual|grievous|benefit|insurance|(?:possession|supply|theft|handling) of)"
        r"[ -])$"
    ),
    "TREATMENT": re.compile(
        r"(?i:\b(?:speech|occupational|cognitive|behaviou?ral|hormone|replacement|radiation|"
        r"couples|family|group|art|music|oxygen|anti|weekly|daily|low-dose|high-dose|knee|hip|heart|"
        r"home|pain|sleeping|nicotine|insulin|hearing)[ -])$"
    ),
    "BELIEF": re.compile(
        r"(?i:\b(?:lapsed|strict|devout|practi[sc]ing|non-practi[sc]ing|orthodox|born[- ]again|"
        r"secular|converted|observant|staunch|lifelong|committed|former|ex)[ -])$"
    ),
    "ORIGIN": re.compile(r"(?i:\b(?:half|part|second[- ]generation|first[- ]generation)[ -])$"),
}
"""Visible text before a finding that becomes part of it."""
_TAKEN_AFTER = {
    "MONEY": re.compile(
        r"(?i:\s?(?:[\u20ac\u00a3%]|(?:million|billion|thousand|grand|euros?|dollars?|pounds?|btc|eth|bucks|quid|"
        r"cents|francs|kroner|kronor|rupees|lakh|crore|USD|EUR|GBP|CHF|CAD|AUD|k|m|bn)\b))*"
        r"(?i:(?:,-)? ?(?:/|a |an |per |each |every )"
        r"(?:hour|day|night|week|month|quarter|year|annum|shift|term|session|head|person)\b)?"
        r"(?i: (?:gross|net|brutto|netto|brut|bruts|nets)\b)?"
    ),
    "NUMBER": re.compile(_NUMERAL_UNITS),
    "PLACE": re.compile(
        r"(?i: (?:bridge|road|street|lane|avenue|house|court|park|square|close|hill|lake|sea|bay|"
        r"island|village|estate|heights|terrace|crescent|gardens|grove|mews|cottage|farm|beach|"
        r"valley|forest|station|harbou?r|airport|beck|drive|boulevard|plaza)\b)?"
    ),
    "ID": re.compile(
        r"(?:[-_][a-z]{2,}(?![A-Za-z])|\.(?:int|lan|local|internal|corp|com|net|org|io|example)\b)+"
    ),
    "DATE": re.compile(
        rf"(?:(?:st|nd|rd|th|s|[ ]?[ap]\.?m\.?|[ ]?o['\u2019]clock)\b)?(?:[.,]? (?:of |de )?"
        rf"{_MONTH}\b\.?|,? (?:of )?(?:{_DAY}\b|half[- ]term\b|bank holiday\b|"
        rf"(?:in the |at ){_PART_OF_DAY}\b|tomorrow\b|sharp\b))*"
    ),
    "PRODUCT": re.compile(r"(?:[-_][a-z]+(?![A-Za-z]))+|(?: [A-Z][a-z]+)+(?![A-Za-z])"),
    "ORGANIZATION": re.compile(
        r"(?: [A-Z][a-z]+(?![A-Za-z]))*(?:,? (?:plc|ltd|llc|inc|gmbh|ag|bv|co|corp)\b)?"
        r"(?i: (?:gym|bank|school|hospital|clinic|caf\u00e9|cafe|church|hotel|surgery|college|"
        r"university|academy|bakery|nursery|garage|hospice|energy|electrical|holidays|"
        r"police station|solicitors|lawyers|dental|builders|plumbing|heating|motors|kitchens|foods|"
        r"studios?|salon|council|housing|trust|society|union|club|pharmacy|library|museum|theatre|"
        r"restaurant|pub|associates|partners|logistics|textiles|insurance|assurances|estates|"
        r"lettings|properties|travel|airlines|brewery|farms?|group|labs?|primary|high school|"
        r"care home|medical cent(?:re|er)|leisure cent(?:re|er)|community cent(?:re|er))"
        r"\b)?"
    ),
    "CONDITION": re.compile(
        r"(?:['\u2019]s\b)?"
        r"(?i:[ -](?:cancer|disease|disorder|syndrome|infection|allergy|addiction|failure|loss|use|"
        r"user|pain|attacks?|lice|pregnant|symptoms|patient|cell|wrist|ankle|leg|arm|hip|knee|back|"
        r"shoulder|foot|hand|periods|fibrillation|pressure|tumou?r|deficiency|intolerance|injury|"
        r"impairment|problems?|disability|episode|diet|attack|trait|flare(?:[- ]?ups?)?|"
        r"in (?:one|both|her|his|my|the) (?:left |right )?"
        r"(?:ears?|eyes?|arms?|legs?|knees?|hips?|hands?|feet|foot|lungs?|kidneys?))\b)*"
    ),
    "TREATMENT": re.compile(
        r"(?i:[ -](?:pump|replacement|operation|surgery|therapy|treatment|cartridges|tube|tablets|"
        r"injections?|implants?|device|monitor|cream|leg|fusion|transfer|aids?|pads|patch(?:es)?|"
        r"pills?|scan|inhaler|drops|stockings|transplant|treatment|sessions|course|"
        r"\d+ ?(?:mg|mcg|ml))\b)+"
    ),
    "OCCUPATION": re.compile(
        r"(?i:[ -](?:manager|officer|assistant|teacher|engineer|driver|agent|cook|surgeon|groomer|"
        r"keeper|crew|rep|worker|nurse|operator|cleaner|porter|technician|analyst|clerk|guard|"
        r"instructor|trainer|designer|developer|owner|inspector|supervisor|attendant)\b)+"
    ),
    "CRIME": re.compile(r"(?i:[ -](?:driving|violence|possession|abuse|fraud|theft)\b)+"),
}
"""Visible text after a finding that becomes part of it."""
_MOST_NAMES = 4
_NEAR = 40  # characters on each side of a finding that may belong to it
_FIRM = re.compile(
    r"(?<![^\W_])(?:Ltd|Limited|LLC|LLP|Inc|Corp|PLC|plc|GmbH|AG|KG|SARL|Oy|BV|NV|SpA|Sons|University|"
    r"Hospital|Clinic|School|College|Bank|Insurance|Logistics|Pharmaceuticals|Holdings|Partners)\.?\Z"
)
"""End of a firm's name, whatever the tagger takes it for."""
_PREFIX = re.compile(r"[A-Z]{2,6}")  # of a number such as "OPS-4471"


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch that the detector gives a class.

    Attributes:
        start, end: character offsets. kind: the class, in capitals, or UNKNOWN.
    """

    start: int
    end: int
    kind: str


_ISO_DAY = re.compile(r"(?:19|20)\d\d-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d(?:[.,]\d+)?)?)?Z?)?)?")
_YEAR_OR_TIME = re.compile(r"1[6-9]\d\d|20\d\d|[01]\d[0-5]\d|2[0-3][0-5]\d|20\d{6}")
_OF_NUMBERS = frozenset(["MONEY", "DATE", "NUMBER", "ID"])
_OF_PERSONS = frozenset(
    "CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME OCCUPATION FAMILY".split()
)


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
        if _ISO_DAY.fullmatch(word):
            return _OF_PERSONS | {"MONEY", "NUMBER", "ID"}
        letters = any(map(str.isalpha, word))
        other = frozenset(["PERSON", "PLACE"]) if letters else _OF_PERSONS
        return other | (frozenset() if letters or may_be_day(word) else {"DATE"})
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
_MONTHS_AFTER = re.compile(r"(?i)[ -](?:months?|years?)\b(?! (?:pregnant|old|sober|clean))")
_TERM = re.compile(r"(?i)\b(?:within|in the next|for the next|over the next|a period of|next) $")
"""Visible text around a duration: a short one, a longer one, and the beginning of a term."""
_AT_MOST = re.compile(r"(?i)\b(?:max\.?|maximum|at most|no more than|limit(?:ed)? (?:of|to)|top) $")
_COUNTED = re.compile(
    r" (?:[a-z]+ )?(?:people|sentences?|paragraphs?|bullets?|points?|questions?|words?|lines?|"
    r"items?|steps?|pages?|examples?|options?|ideas?|tips?|employees|guests|rows?|columns?|tables?|"
    r"payments?|times|strengths|slides|versions?|parts?|sections?|chapters?|reasons|ways|things|"
    r"arguments|facts|headlines|titles|names|tickets?|orders?|invoices?|meals|portions|servings|"
    r"recipes|exercises|sets|reps|rounds|stanzas|verses|characters|letters|digits|decimals?|"
    r"degrees|columns|files|tests|users|requests|errors|retries|lessons|sessions|persons|seats|"
    r"bedrooms?|rooms|bags|boxes|eggs|cups|spoons|onions|copies|photos|pictures|emails|mails)\b"
)
"""Visible text after a count."""
_VERSION = re.compile(r"v?\d{1,2}\.\d{1,2}\.\d{1,2}")
_AT_ITEM = re.compile(r"(?:^|\n[ >*-]*|\.[a-z]{1,5}:|(?:^|[.:;\n\"] ?))$")
_ITEM = re.compile(r"(?:\d{1,2}[.)] |\d{1,2}\.\d{1,2}\.? (?=[A-Z])|\d{1,4}\))")
"""A version; visible text before, and number with the text after, of a list's item, a clause of a
contract or a line of a file."""
_MOST_DIGITS = 3  # of a count


def public_number(number: str, before: str, after: str) -> bool:
    """Return True if visible words say that a number is of the task: a count, a term or a limit.

    Example:
        >>> public_number("14", "a refund within ", " days or"), public_number("38", "I am ", ".")
        (True, False)
        >>> public_number("two", "", " sentences"), public_number("6", "she is ", " weeks late")
        (True, False)
    """
    if asked(before, after) or _AT_MOST.search(before):
        return True
    if _VERSION.fullmatch(number) or (_AT_ITEM.search(before) and _ITEM.match(number + after)):
        return True
    if sum(map(str.isdecimal, number)) > _MOST_DIGITS:
        return False
    if _SHORT.match(after) or _COUNTED.match(after):
        return True
    return _TERM.search(before) is not None and _MONTHS_AFTER.match(after) is not None


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


_DATED_AFTER = re.compile(rf"(?:st|nd|rd|th)? of {_MONTH}\b|(?:st|nd|rd|th)? {_LONG_MONTH}\b")
"""Visible text after the day of a month; "may" and "march" are verbs too."""


def role(before: str, after: str, number: str = "") -> str | None:
    """Return the class of a number that its form or visible words around it tell, or None."""
    if _ISO_DAY.fullmatch(number) or (_CLOCK.fullmatch(number) and _STAMPED.search(before)):
        return "DATE"
    if _DATED_AFTER.match(after):
        return "DATE"
    aged = (
        (_AFTER_NAME.search(before) and _AGED.match(after))
        or (_OLD_AFTER.match(after) and not _AUDIENCE.search(before))
        or (_OLD.search(before) and _AGE_AFTER.match(after))
        or _WEIGHS.search(before)
    )
    if aged:
        return "NUMBER"
    if _PLACED.search(before):
        return "ID"
    return "MONEY" if _OWNED.search(before) else None


def of_calendar(found: Skeleton, number: int, word: str) -> bool:
    """Return True for the name of a month or weekday beside a run that is a number.

    Which runs are numbers is public, as is the text between two runs.

    Args:
        number: of the word's run.
    """
    if not _CALENDAR.fullmatch(word):
        return False
    run, runs = found.runs[number], found.runs
    before = runs[number - 1] if number else None
    dated = before is not None and before.kind in NUMBERS
    if before is not None and dated and _DAY_BEFORE.fullmatch(found.text, before.end, run.start):
        return True
    following = runs[number + 1] if number + 1 < len(runs) else None
    if following is None or following.kind not in NUMBERS:
        return False
    return _DAY_AFTER.fullmatch(found.text, run.end, following.start) is not None


def names_on(text: str, run: Run, kinds: list[str | None]) -> list[str | None]:
    """Return the classes of a run's words, a name's also for the words with a capital beside it.

    Only the run itself is looked at: "Foods" belongs to the name in "Caldwell Foods".
    """
    found = list(kinds)
    for i in range(1, len(found)):
        given = text[slice(*run.words[i - 1])].lower() in given_names()
        if given and {found[i - 1], found[i]} <= NAMES and _beside(text, run, i):
            found[i - 1] = found[i] = "PERSON"
        follows = found[i] in NAMES or found[i] == "OCCUPATION"
        other = found[i] is None or (found[i - 1] == "PERSON" and follows)
        if other and found[i - 1] in NAMES and _beside(text, run, i):
            found[i] = found[i - 1]
    for i in reversed(range(1, len(found))):
        if found[i - 1] is None and found[i] in _TRADED and _beside(text, run, i):
            first = run.words[i - 1][0]
            found[i - 1] = found[i] if text[first].isupper() else None
    return found


def _beside(text: str, run: Run, number: int) -> bool:
    """Return True if a word of a run has a capital and one space before it."""
    start = run.words[number][0]
    return text[start].isupper() and text[run.words[number - 1][1] : start] == " "


def numbers_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Give words of one number the class of one of them: "four hundred ten", "12 thousand".

    Which runs are numbers, and which are in words, is public.
    """
    pairs = list(pairwise(range(len(decided))))
    for one, other in [*pairs, *((b, a) for a, b in reversed(pairs))]:
        first, last = sorted([found.runs[one], found.runs[other]], key=lambda run: run.start)
        beside = found.text[first.end : last.start] == " "
        if beside and first.kind in NUMBERS and last.kind == NUMERAL:
            decided[other] = [decided[other][0] or decided[one][0]]


def joined(
    found: Skeleton, words: Sequence[tuple[Finding, int]], declared: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    """Yield findings of one class that belong together as one, with the visible words around.

    Args:
        words: findings of single words, each with the number of its run.
        declared: stretches that nothing may take in.
    """
    groups: list[tuple[Finding, int, int]] = []
    for finding, run in words:
        if groups and _numbered(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, "ID"), first, run
            continue
        if groups and groups[-1][0].kind == finding.kind:
            held, first, _ = groups[-1]
            between = found.text[held.end : finding.start]
            apart = overlapping(declared, held.end, finding.start) or (
                held.kind == "NUMBER" and between == " " and found.runs[run].kind != NUMERAL
            )
            if not apart and _joins(found.text, held, finding):
                groups[-1] = Finding(held.start, finding.end, held.kind), first, run
                continue
        groups.append((finding, run, run))
    at = 0  # where the finding before ends
    for i, (group, first, last) in enumerate(groups):
        finding = Finding(group.start, group.end, _named(found.text, group))
        wide = _widened(found, finding, first, last)
        following = groups[i + 1][0].start if i + 1 < len(groups) else len(found.text)
        clear = at <= wide.start and wide.end <= following
        if not clear or overlapping(declared, wide.start, wide.end):
            wide = finding
        at = wide.end
        yield wide


def _joins(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if what is between two findings of one class is a part of one name.

    "Dunlevy and Aqua-Tek" may be one firm, "works for Dunlevy" is none.
    """
    between = text[held.end : finding.start]
    if _JOINS.get(held.kind, _JOIN).fullmatch(between) is None:
        return False
    alike = text[held.start].isupper() == text[finding.start].isupper()
    return alike or held.kind not in NAMES or not any(map(str.isalpha, between))


def _named(text: str, finding: Finding) -> str:
    """Return the class of a finding: of a name, by its given name or legal form if it has one."""
    if finding.kind not in NAMES:
        treated = finding.kind == "CONDITION" and is_treated(text, finding.end)
        return "TREATMENT" if treated else finding.kind
    written = text[finding.start : finding.end]
    if _FIRM.search(written):
        return "ORGANIZATION"
    words = written.split()
    person = len(words) <= _MOST_NAMES and words[0].lower() in given_names()
    return "PERSON" if person else finding.kind


_TREATED = re.compile(
    r"(?i)[ -](?:operation|surgery|medication|medicine|tablets|treatment|pump|inhaler|"
    r"injections?)\b"
)
"""Visible text after a condition that makes both a treatment."""


def is_treated(text: str, end: int) -> bool:
    """Return True if a condition that ends here is a part of its treatment's name.

    Example:
        >>> is_treated("his hernia operation", 10), is_treated("his hernia", 10)
        (True, False)
    """
    return _TREATED.match(text, end) is not None


def _numbered(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are one number with its prefix, such as "OPS-4471"."""
    return (
        text[held.end : finding.start] == "-"
        and _PREFIX.fullmatch(text[held.start : held.end]) is not None
        and text[finding.start : finding.end].isdecimal()
    )


def _widened(found: Skeleton, finding: Finding, first: int, last: int) -> Finding:
    """Return a finding with the visible words that belong to it: a currency, a unit, a weekday.

    Only visible text and the finding's own runs, `first` to `last`, are looked at.
    """
    text, runs = found.text, found.runs
    start, end = finding.start, finding.end
    low = max(runs[first - 1].end if first else 0, start - _NEAR)
    high = min(runs[last + 1].start if last + 1 < len(runs) else len(text), end + _NEAR)
    if runs[last].kind == NUMERAL and (match := _ONES.match(text[end:high])):
        end += len(match.group())
    return Finding(*with_words(text, finding.kind, start, end, low, high), finding.kind)


def with_words(text: str, kind: str, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """Return a stretch of a class with the words around that belong to it, from low to high.

    Example:
        >>> with_words("has severe asthma attacks now", "CONDITION", 11, 17, 0, 29)
        (4, 25)
    """
    before, after = _TAKEN_BEFORE.get(kind), _TAKEN_AFTER.get(kind)
    if before is not None and (match := before.search(text[low:start])):
        start -= len(match.group())
    if after is not None and (match := after.match(text[end:high])):
        end += len(match.group())
    return start, end


@cache
def words_of(name: str) -> frozenset[str]:
    """Return the words of "dates" or of "sums", lower case; raise ModelError as `public_forms`."""
    return frozenset(word_list(f"{name}.txt", "forms"))


@cache
def given_names() -> frozenset[str]:
    """Return the packaged given names, in lower case; raise ModelError as `public_forms`."""
    return frozenset(word_list("given_names.txt", "classes"))
