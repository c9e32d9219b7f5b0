"""Words that stay because of their place: heads of lines, greetings, closings, names of code.

Everything here is a function of the run itself, of fixed lists and of the visible text around it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sanitizer.detect.classes import given_names
from sanitizer.detect.extents import NAMES, WEEKDAY
from sanitizer.detect.numbers import is_brief
from sanitizer.detect.skeleton import CAPITALS, PublicForms
from sanitizer.text import NAME_PARTS

_GENERAL = re.compile(
    r"(?i)(?:(?:please|can you|could you) )?(?:what|who|when|where|why|how|is|are|was|were|does|do|"
    r"did|which|explain|describe|compare|list|summari[sz]e|define|outline|discuss|tell me about|"
    r"give (?:me )?(?:some |an? )?(?:facts|overview|examples)|"
    r"write (?:an? )?(?:short |brief |long )?"
    r"(?:essay|poem|story|article|blog post|haiku|limerick|paragraph|overview|summary|quiz|song))"
    r"(?:'s|\u2019s)?\b"
)
_PERSONAL = re.compile(
    r"(?i)\b(?:i|i['\u2019]\w+|im|ive|my|mine|we|our|ours|us|he|him|his|she|her|hers|they|them|their|"
    r"mr|mrs|ms|miss|dr|dear|hi|hello|patients?|clients?|customers?|tenants?|landlords?|employees?|"
    r"employers?|colleagues?|cowork\w*|boss|managers?|\w*friends?|husband|wife|partner|mother|father|"
    r"mum|mom|dad|brothers?|sisters?|sons?|daughters?|boys?|girls?|m[ae]n|"
    r"wom[ae]n|guys?|person|people|teen\w*|toddlers?|year-olds?|schools?|near|child|children|"
    r"kids?|baby|babies|aunt|uncle|"
    r"cousins?|grand\w+|neighbou?rs?|\w+mates?|pupils?|someone|somebody|diagnosed|suffers|named|"
    r"called|born|aged|lives|works|names?|letters?|e-?mails?|messages?|reports?|notes?|records?|cv|"
    r"translate|your)\b|[\n\"\u201c\u201e\u00ab]"
)
_MOST_GENERAL = 30
"""How a question about the world begins; what makes a text one about somebody; and most words."""
_EXERCISE = re.compile(
    r"(?i)(?:^|[.!?:;] )(?:please )?(?:calculate|compute|solve|find|determine|derive|evaluate|"
    r"simplify|convert|differentiate|integrate|prove|balance|round|"
    r"how (?:long|far|fast|high|many|much|hot)|when (?:does|do|will)|what is)\b"
)
_LONGEST_EXERCISE = 600
_OF_BODY = re.compile(
    r"(?i)\b(?:bmi|body|blood|dos(?:e|es|age)|tablets?|calori\w+|glucose|insulin|pregnan\w+|weigh\w*|"
    r"age|kilos?|you|one's|date|today|company|firm|business|staff|salary|wages?|rent)\b"
)
_IMPERSONAL = re.compile(
    r"(?i)\b(?:(?:must|should|do|can|could|would) i|i (?:must|should|need to|have to|can))\b"
)
"""What asks for a calculation, its most characters, what makes it somebody's, and what does not."""
SLOT = "\ufffc"
"""What a hidden run is shown as in visible text."""
_GREETED = re.compile(r"(?i)\b(?:dear|hello|hi) $")
_ADDRESSEE = re.compile(
    r"(?:All|Board|Colleagues|Committee|Council|Customers?|Department|Desk|Editors?|Everyone|Friends|"
    r"Management|Managers?|Members|Neighbou?rs|Office|Officers?|Panel|Parents|Partners?|Residents|"
    r"Secretary|Services?|Students|Support|Teachers|Team|Tenants)"
)
"""Visible text before whom a letter greets, and the last word of a public addressee."""
_GREETING = re.compile(r"(?i)good|happy|merry")
_GREETING_AFTER = re.compile(
    r"(?i) (?:morning|afternoon|evening|day|night|birthday|christmas|new year|holidays)\b"
)
"""A word that greets, and visible text after it."""
_CLOSING = re.compile(
    r"(?i)best|cheers|regards|thanks|thx|sincerely|warmly|kindly|yours|love|xx?|atentamente|"
    r"cordialement|cordialmente|saludos|gr\u00fc(?:\u00df|ss)en?|amiti\u00e9s|bisous|abrazos?"
)
_CLOSING_END = re.compile(rf"[,!.]?[ \t]*(?:\n|$)|, {SLOT}[ \t]*(?:\n|$)")
"""Words that close a letter, and visible text after them."""
_CLOSED = re.compile(
    r"(?i)(?:^|\n)[ \t]*(?:mit )?(?:(?:freundlichen?|viele[rn]?|liebe[rn]?|beste[rn]?|"
    r"sch\u00f6nen?|herzlichen?|bien|tr\u00e8s|un|muchos|con|kind|best|warm) ){1,2}$"
)
"""Visible text of the line before the last word of a closing."""
_LINE_BEGIN, _OPENS = re.compile(r"(?:^|\n)[ >*|-]*$"), re.compile(r"(?:^|[.!?:] |\n)[ >*|-]*$")
_KEY_END = re.compile(r": ?[^\s]|:[ \t]*\n")
_HEADING_DAY = re.compile(r"Mon|Tues?|Weds?|Thu(?:rs?)?|Fri|Sat|Sun")
_OBJECT = re.compile(r" (?:them|this|these|those|the|it|all|both|each|every|my|our|an?|me|us)\b")
"""Visible text before and after what heads a line, and after a verb that opens a sentence."""
_WORDS_OF_SENTENCES = {
    "May": re.compile(r" (?:I|we|you|they)\b"),
    "Will": re.compile(r" (?:I|we|you|they|it|this|that|these|those|there|the)\b"),
    "Hope": re.compile(r" (?:you|this|that|to|all|everyone|everything|it)\b"),
    "Long": re.compile(r" ago\b"),
    "Young": re.compile(r" (?:people|adults|children|men|women|families)\b"),
    "Frank": re.compile(r" (?:words|talk|answers?|questions?|feedback)\b"),
}
"""Words that are names too, and visible text after them where they are none."""
_IN_PATH, _PATH_AFTER = re.compile(r"(?:\w[.]|::|->|@)$"), re.compile(r"[.]\w|\(|::")
"""Visible text beside a name of code."""
_CHOICES, _FIRST_CHOICE = frozenset("BCDEFbcdef"), re.compile(r"(?:^|\W)[Aa][.)] ")
_CHOICE = re.compile(rf"[.)] (?!{SLOT})|\)")
"""Letters of choices, and visible text around one that no initial has: "A. Noise. B. This hour"."""
_REPORTED = re.compile(r"(?i)\b(?:error|fault|exception|shows|displays|flashes|exit)(?: code)?:? $")
_CODE = re.compile(r"[A-Z]{1,3}-?[0-9]{1,4}")
"""Visible text before the code of an error that a machine reports, such as "E14"."""
_RELEASE = re.compile(r"v[0-9]{1,2}")  # of a program or an interface
_SHOUTED = re.compile(r"(?:^|[^A-Za-z])[A-Z]{2,}[,!?]? $")
"""Visible text in capitals, as before "IN" and "WHO" where all is in capitals."""
_COMPOUND = re.compile(
    r"(?i)sick (?:pay|leave|notes?|days?)\b|(?:unpaid|annual|parental|compassionate) leave\b"
)
"""Words about no illness, though one of them may be."""


def is_general(visible: str) -> bool:
    """Return True for a question about the world, in which nobody occurs.

    What it is about ("epilepsy", "Japan") is nobody's.

    Args:
        visible: the whole text, hidden runs shown as slots.

    Example:
        >>> is_general("Is \ufffc contagious?"), is_general("Is my \ufffc contagious?")
        (True, False)
    """
    plain = visible.strip()
    few = len(plain.split()) <= _MOST_GENERAL
    return few and _GENERAL.match(plain) is not None and _PERSONAL.search(plain) is None


def is_exercise(visible: str) -> bool:
    """Return True for a calculation in which nobody occurs: its numbers and times are nobody's.

    Args:
        visible: the whole text, hidden runs shown as slots.

    Example:
        >>> is_exercise("A train goes at \ufffc km/h. How far does it go in \ufffc hours?")
        True
        >>> is_exercise("My train goes at \ufffc km/h. How far does it go in \ufffc hours?")
        False
    """
    plain = visible.strip()
    if "\n" in plain or len(plain) > _LONGEST_EXERCISE or _EXERCISE.search(plain) is None:
        return False
    plain = _IMPERSONAL.sub(" ", plain)
    return _PERSONAL.search(plain) is None and _OF_BODY.search(plain) is None


def public_here(word: str, before: str, label: str | None) -> bool:
    """Return True for a weekday, for "30s", "v2", and for "IN" or "WHO" after text in capitals.

    Args:
        before: visible text before the word's run. label: the tagger's class.

    Example:
        >>> public_here("Monday", "see you on ", None), public_here("WHO", "A report of ", None)
        (True, False)
    """
    if is_brief(word, before) or _RELEASE.fullmatch(word):
        return True
    if label != "DATE" and WEEKDAY.fullmatch(word):
        return True
    return label not in NAMES and word in CAPITALS and _SHOUTED.search(before) is not None


def is_of_leave(text: str, start: int) -> bool:
    """Return True if "sick pay", "unpaid leave" or the like begins at a place of a text.

    Example:
        >>> is_of_leave("sick pay", 0), is_of_leave("sick man", 0)
        (True, False)
    """
    return _COMPOUND.match(text, start) is not None


def on_its_own(words: Sequence[str], before: str, after: str, forms: PublicForms) -> bool:
    """Return True for a run that stays because of its place.

    It heads a line, greets a "Hiring Team" or a "Good day", closes a letter, opens a sentence as a
    verb ("Rank them"), or belongs to a program: a flag (" -H "), the code of an error ("it shows
    E14"), the letter of a choice ("A. Yes. B. No"), a name in a path ("app.PdfWriter(").

    Args:
        words: of the run, as written. before, after: visible text around it.
    """
    known = [forms.listed(word) and word.lower() not in given_names() for word in words]
    if _GREETED.search(before) and all(known) and _ADDRESSEE.fullmatch(words[-1]):
        return True
    if len(words) > 1:
        return False
    word, listed = words[0], known[0]
    follows = _WORDS_OF_SENTENCES.get(word) or (_OBJECT if listed else None)
    opens = follows and _OPENS.search(before) and follows.match(after)
    greets = _GREETING.fullmatch(word) and _GREETING_AFTER.match(after)
    return (
        bool(opens or greets)
        or _is_technical(word, before, after, forms)
        or _is_closing(word, before, after)
        or _heads(word, before, after, listed)
    )


def _is_technical(word: str, before: str, after: str, forms: PublicForms) -> bool:
    """Return True for a flag, an error's code, a choice's letter, and a name of code in a path."""
    if len(word) == 1:
        flag = before.endswith(" -") and after[:1] in (" ", "\n")
        chosen = word in _CHOICES and _FIRST_CHOICE.search(before) and _OPENS.search(before)
        return flag or bool(chosen and _CHOICE.match(after))
    if _CODE.fullmatch(word) and _REPORTED.search(before):
        return True
    pathed = _IN_PATH.search(before) or _PATH_AFTER.match(after)
    return bool(pathed) and _is_name_of_code(word, forms)


def _is_closing(word: str, before: str, after: str) -> bool:
    """Return True for a line such as "Best," and the last word of "Kind regards"."""
    ends = _CLOSING.fullmatch(word) is not None and _CLOSING_END.match(after) is not None
    return ends and (_LINE_BEGIN.search(before) or _CLOSED.search(before)) is not None


def _heads(word: str, before: str, after: str, listed: bool) -> bool:
    """Return True for what heads a line, as "Sun:" and "Religion:" do."""
    if not _LINE_BEGIN.search(before):
        return False
    if _HEADING_DAY.fullmatch(word):
        return after.startswith((":", " :", " |", "|"))
    return listed and _KEY_END.match(after) is not None


def _is_name_of_code(word: str, forms: PublicForms) -> bool:
    """Return True for a name of several known words such as "PdfWriter"."""
    parts = NAME_PARTS.findall(word)
    return len(parts) > 1 and "".join(parts) == word and all(map(forms.known, parts))
