"""Words that stay because of their place: heads of lines, greetings, closings, names of code.

Everything here is a function of the run itself, of fixed lists and of the visible text around it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sanitizer.detect.classes import given_names, known_to_all
from sanitizer.detect.numbers import is_brief
from sanitizer.detect.skeleton import (
    CAPITALS,
    SLOT,
    WORD,
    PublicForms,
    Run,
    Skeleton,
    asks_in_line,
)
from sanitizer.detect.surroundings import MONTH, NAMES, WEEKDAY
from sanitizer.text import NAME_PARTS

_GENERAL = re.compile(
    r"(?i)(?:(?:please|can you|could you) )?(?:what|who|when|where|why|how|is|are|was|were|does|do|"
    r"did|which|explain|describe|compare|list|name|summari[sz]e|define|outline|discuss|"
    r"tell me about|"
    r"(?:give|make|show) (?:me )?(?:some |an? |the )?(?:short |brief |full )?"
    r"(?:facts|overview|examples|history|list|table|timeline|names|reasons|tips)|"
    r"(?:recommend|suggest) (?:some|three|five|ten|a few|\ufffc|books|films|places|sights)|"
    r"write (?:an? )?(?:short |brief |long )?"
    r"(?:essay|poem|text|story|article|blog post|haiku|limerick|paragraph|overview|summary|"
    r"quiz|song))"
    r"(?:'s|\u2019s)?\b"
)
_PERSONAL = re.compile(
    r"(?i)\b(?:i|i['\u2019]\w+|im|ive|my|mine|we|our|ours|us|he|him|his|she|her|hers|they|them|their|"
    r"mr|mrs|ms|miss|dr|dear|hi|hello|patients?|clients?|customers?|tenants?|landlords?|employees?|"
    r"employers?|colleagues?|cowork\w*|boss|managers?|\w*friends?|husband|wife|partner|mother|father|"
    r"mum|mom|dad|brothers?|sisters?|sons?|daughters?|boys?|girls?|m[ae]n|"
    r"wom[ae]n|guys?|person|people|teen\w*|toddlers?|year-olds?|schools?|near|child|children|"
    r"kids?|baby|babies|aunt|uncle|"
    r"cousins?|grand\w+|neighbou?rs?|"
    r"(?:class|team|room|house|flat|work|school|in|cell|soul|play)?mates?|pupils?|someone|somebody|"
    r"diagnosed|suffers|named|"
    r"called|born|aged|lives|works|names?|letters?|e-?mails?|messages?|reports?|notes?|records?|cv|"
    r"translate|your|midwife|nurse|clinic|appointment|since|said|told|ago|yesterday|tonight)\b|"
    r"[\n\"\u201c\u201e\u00ab]|\ufffc (?:weeks|months|days|kg|kilos|cm|lbs?|mg|mcg) (?!of\b|in\b)"
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
_THINGS_ARE = re.compile(r" (?:are|were|have|need|cost|must|should|will be)\b")
_GENRES = frozenset(
    "affidavit apology appeal complaint condolence condolences confession dismissal eulogy "
    "grievance homily obituary prayer resignation sermon termination testimonial tribute".split()
)
_WRITES = re.compile(
    r"(?i)\b(?:writ(?:e|ing)|draft(?:ing)?|compos(?:e|ing)|need|help (?:me )?with|prepar(?:e|ing)|"
    r"mak(?:e|ing)|giv(?:e|ing)|improve|shorten|translate)(?: me| us)?(?: an?| the| my| this)?"
    r"(?: (?!for\b|to\b|about\b|and\b)[a-z]+,?){0,3} $"
)
"""What somebody may ask to be written, and visible text before it; visible text after things."""
_WORDS_OF_SENTENCES = {
    "Act": re.compile(r" (?:as|like)\b"),
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
_MEMBER = re.compile(r"(?<![\w.])[a-z][a-z0-9_]{1,15}\.$")
"""Visible text before a member of a module: "sync.Mutex"."""
_CHOICES, _FIRST_CHOICE = frozenset("BCDEFbcdef"), re.compile(r"(?:^|\W)[Aa][.)] ")
_CHOICE = re.compile(rf"[.)] (?!{SLOT})|\)")
"""Letters of choices, and visible text around one that no initial has: "A. Noise. B. This hour"."""
_LETTERED = re.compile(r"(?i)\b(?:columns?|option|answer|choice|appendix|annex|vitamin|plan) $")
_REPORTED = re.compile(r"(?i)\b(?:error|fault|exception|shows|displays|flashes|exit)(?: code)?:? $")
_CODE = re.compile(r"[A-Z]{1,3}-?[0-9]{1,4}")
_ADDRESS = re.compile(r"0x[0-9A-Fa-f]{4,16}")  # in a machine's memory
"""Visible text before the code of an error that a machine reports, such as "E14"."""
_RELEASE = re.compile(r"v[0-9]{1,2}")  # of a program or an interface
_LISTING = re.compile(
    r"(?i)\b(?:(?:columns|fields|headers|headings|with (?:the |these )?keys|csv with|categories|"
    r"labels|classes|buckets|statuses|priorities)(?:: ?| \(| )|"
    r"(?:classify|categori[sz]e|label|tag|sort|mark|triage|flag|group|bucket|rate|grade|assign)\b"
    r"[^.?!\n]{0,50}? (?:as|into|to|under|either|one of)(?: either| one of)?:? )"
    rf"(?:[\"'`]?(?:\w+(?: \w+)?|{SLOT})[\"'`]?(?:, ?|,? and |,? or | ?/ ?)){{0,9}}[\"'`]?$"
)
"""Visible text before a column, key or label that is asked for: "columns Owner, Task", "classify it
as Bug or Question"."""
_ESCAPED, _ESCAPED_AFTER = frozenset("dwsbDWSB"), re.compile(r"[+*?{)|\]\\.$\"'(\[]")
"""Letters of regular expressions behind a backslash, and what follows one."""
_DEGREES = re.compile(
    r"(?i)\b(?:at|to|is|convert|oven|bake[ds]?|roast|preheat)[^.\n]{0,24}"
    rf"(?:[0-9]|{SLOT}) ?\u00b0?$"
)
"""Visible text before the F or C of a temperature."""
_PER_LITRE = re.compile(r"\b(?:mIU|IU|[munpk]?mol|[mun\u00b5]?g|U|cells|ng)/$")
_PLAIN = frozenset(
    "GP GPs male female landlady landladies bride groom bridegroom fianc\u00e9 fianc\u00e9e".split()
)
_NUMBERED, _ITS_NUMBER = (
    frozenset("NHS NI SSN BSN NIE NIF VAT UTR VIN IMEI".split()),
    re.compile(r"(?i) (?:number|no\b|num\b|card|code)"),
)
"""What a kind of number is called by, and visible text after it."""
_IN_FORMULA = re.compile(rf"=\s?[-+(]*(?:[A-Z]{{2,}}|{SLOT})\((?:[^\n]*[(:,;+*/<>=&-] ?)?\$?$")
_CELL = re.compile(r"[A-Z]{1,3}(?:[0-9]{1,5})?")
_LONG_FUNCTION = 6  # letters by which the name of a function is known in a sentence
"""Functions of spreadsheets; visible text before a cell in a formula such as "=SUM(B2:B40)"."""
_SALUTED = re.compile(
    r"(?i)estimad[oa]s?|querid[oa]s?|distinguid[oa]s?|apreciad[oa]s?|cher|ch\u00e8re|chers|hola|hallo|"
    r"bonjour|geehrte[rs]?|liebe[rs]?|muy|sehr"
)
_SALUTES = re.compile(r"(?:^|[.!?:\n\"\u201c\u201e\u00ab] ?)$")
"""Words that open a letter in Spanish, French and German, and visible text before them."""
_PARTY = re.compile(
    r"(?:Agent|Assignee|Bank|Borrower|Buyer|Client|Company|Consultant|Contractor|Customer|Employee|"
    r"Employer|Franchisee|Franchisor|Guarantor|Insurer|Insured|Landlord|Lender|Lessee|Lessor|"
    r"Licensee|Licensor|Manufacturer|Owner|Party|Parties|Partner|Principal|Processor|Controller|"
    r"Provider|Publisher|Purchaser|Recipient|Seller|Service|Subcontractor|Supplier|Tenant|Trustee|"
    r"User|Vendor)s?"
)
_AS_PARTY = re.compile(r"(?:(?:\(|\bas )(?:the )?[\"\u201c\u201e']|\b[Tt]he [\"\u201c]?)$")
"""Names that a contract gives to its parties, and visible text before them."""
_SHOUTED = re.compile(r"(?:^|[^A-Za-z])[A-Z]{2,}[,!?]? $")
"""Visible text in capitals, as before "IN" and "WHO" where all is in capitals."""
_STYLE = frozenset(
    "Short Sweet Kind Sharp Blunt Strong Gentle Bright Hardy Noble Wise Swift Small Cute".split()
)
_STYLED = re.compile(
    r",? (?:no|not|but|max|please|pls|under|about|simple|clear|warm|friendly|polite|funny|firm|"
    r"formal|informal|honest|sentences?|answers?|reply|replies|version|message|text|words|"
    r"and (?:to|sweet|simple|clear|warm|friendly|polite|funny|firm|formal|honest))\b"
)
"""Surnames that open a wish for a text, and visible text after them: "Short, no threats"."""
_BINARY, _MILLICORES = re.compile(r"[0-9]{1,5}[KMGT]i"), re.compile(r"[0-9]{1,5}m")
"""Memory and processors of a container."""
_TIMES = re.compile(r"x[0-9]{1,2}|[0-9]{1,2}x")
_THOUSANDS, _RECORDS = (
    re.compile(r"[0-9]{1,4}(?:\.[0-9])?[kKM]"),
    re.compile(
        r" (?:rows|records|lines|requests|events|files|images|tokens|samples|messages|queries|"
        r"calls)\b"
    ),
)
"""How many, in thousands, of what programs work on."""
_DISTANCE = re.compile(r"(?:5|10|15|21|42)[kK]")
_RUN_BEFORE = re.compile(
    r"(?i)\b(?:runs?|ran|running|races?|raced|jog|walk(?:ed)?|train(?:ing)? for|parkrun)\b"
    r"[^.\n]{0,20}$"
)
"""The distance of a race, and visible text before it."""
_PORTION = re.compile(r"[0-9]{1,4}(?:g|ml|cl|GB|MB|TB)|[0-9]kg")
_OF_SUM, _SUM_AFTER = (
    re.compile(r"[0-9]{1,2}[a-z]"),
    re.compile(r"\)?(?:\^[0-9])? ?[+*/=<>-] ?[\ufffc(a-z]"),
)
_OF_WHAT = re.compile(
    r" of (?!(?:weight|body|fat|muscle|cocaine|heroin|cannabis|weed|my|his|her)\b)[a-z]{3,}|"
    r" (?!(?:this|last|since|at|a|per|every|each|and|but|or|of|in|on|heavier|lighter|old|more|less|"
    r"too|baby|boy|girl|twice|daily|once|before|after|when|while|for|with|tablets?|capsules?|dose)\b)"
    r"[a-z]{3,}"
)
_ACROSS = re.compile(r"[0-9]{1,2}mm")
_OF_TOOL = re.compile(
    r" (?:needles?|hooks?|lens|lenses|screws?|bolts?|nails?|drill|plywood|pipes?|film|thick)\b"
)
_WEIGHED = re.compile(
    r"(?i)\b(?:weigh(?:s|ed|ing)?|lost|gained|born|drank|took|takes?)\b[^.\n]{0,20}$"
)
"""How many of something, how much of a food, how thick a thing is, and a term of an equation: "500g
mince", "x4" and "3x + 7"."""
_FORMAT, _FORMATTED = re.compile(r"[0-9]{1,2}[efgd]"), re.compile(r"[%:][0-9, +-]*\.$")
"""The end of a format such as "%.2f", and visible text before it."""
_WORKS_THERE = re.compile(
    r"(?i)\b(?:at|for|with|by|joined|join|left|works?|worked|employer|employed|boss|manager)"
    r"(?: the)? $"
)
_NEXT, _LAST = re.compile(r" ([A-Z]\w*)(?![\w'\u2019])"), re.compile(r"\b([A-Z]\w*) $")
_ARTICLED = re.compile(r"(?i)\b(?:an?|the|this|new|old)(?: (?:old|new|work|second))? $")
_APPLIANCE = re.compile(
    r"(?i) (?:phones?|smartphones?|tablets?|laptops?|notebooks?|printers?|tvs?|televisions?|"
    r"monitors?|cameras?|headphones|earbuds|consoles?|routers?|keyboards?|washing machine|fridge|"
    r"computers?|pcs?|chargers?|smartwatch(?:es)?)\b"
)
"""Visible text around the maker of a thing that everybody has: "an old Samsung phone"."""
_NUMBER_OF_MODEL = re.compile(r"[A-Z]{0,2}[0-9]{1,3}[A-Za-z]?")
"""Visible text before the name of an employer, and the number of a model."""
_OF_CAMERA = re.compile(r"(?:IMG|DSC|DSCN|DSCF|MVI|VID) [0-9]{1,4}")
"""The name that a camera gives to a picture, its parts."""
_RIVALS = (
    r"(?:ChatGPT|GPT\w*|OpenAI|Anthropic|LLMs?|chatbots?|DeepSeek|"
    r"AI (?:tools?|models?|assistants?)|language models?)"
)
_BESIDE_RIVAL = re.compile(
    rf"(?: or| and| vs\.?| versus| /|/)+ ?{_RIVALS}\b|"
    rf"(?: (?:is|was|any|better|worse|faster|cheaper|as good as|than|to))+ {_RIVALS}\b|"
    r" (?:Code|API|Desktop|Max)\b"
)
_AFTER_RIVAL = re.compile(
    rf"\b{_RIVALS}(?:['\u2019]s)?"
    r"(?:,| or| and| vs\.?| versus| than| like| such as| called| to|/)* ?$"
)
"""Names of language models, some of them given names, and visible text that tells these apart."""
_SET_PHRASE = re.compile(
    r"(?i)(?:(?<=\blamb )|(?<=\bpork )|(?<=\bbeef )|(?<=\bchicken )|(?<=\bturkey )|(?<=\bduck ))"
    r"(?:shoulders?|legs?|breasts?|necks?|belly|ribs?|thighs?|wings?|shanks?|livers?|cheeks?|bones?)\b|"
    r"sick (?:pay|leave|notes?|days?)\b|(?:unpaid|annual|parental|compassionate) leave\b|"
    r"(?:birth|death|marriage) certificates?\b|"
    r"termination (?:of (?:employment|this|the)|clause|date)\b|"
    r"(?:(?<=\bafter )|(?<=\bupon ))termination\b|(?<=\bgas )mark\b|"
    r"x-?ray(?:s|ed)?\b|(?<=\bx-)ray(?:s|ed)?\b|"
    r"nice (?:to|one|work|day|weekend|if|and)\b|broke (?:down|in|out|through|the)\b|"
    r"expecting (?:property name|value|'|to|that|the|a reply|an? answer)"
)
"""Words about no illness and no person, though one of them may be."""
_ON_PROBATION = re.compile(r"(?i)(?:\ufffc|three|six|twelve)[ -]months?(?:['\u2019]|['\u2019]s)? $")
"""Visible text before the probation of somebody who begins to work, which is no crime."""


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
    asks = _GENERAL.match(plain)
    return few and asks is not None and _PERSONAL.search(plain, asks.end()) is None


_RECKONING = re.compile(
    r"(?i)\b(?:days|weeks|months|years|hours|minutes|weekday|day of the week|what day|convert|plus|"
    r"minus|times|multipl\w+|divided?|subtract|percent|per cent|add up|sum|total|average|mean|"
    r"median|sort|order|rank|round|earlier|later|earliest|latest|bigger|larger|smaller|higher|"
    r"lower|how much|how many|sequence|series|nth term|equations?|puzzle|matrix|polynomial|primes?|"
    r"derivative|integral|probability)\b|%"
)
_DAY_TO_MONTH, _MONTH_TO_DAY = re.compile(r"(?:st|nd|rd|th)? (?:of )?"), re.compile(r",? ")
"""Visible text of a task with numbers; and between the day and the month of a date."""


def is_reckoning(found: Skeleton, visible: str) -> bool:
    """Return True for a task with numbers in which nobody occurs: they are nobody's.

    "How many days are there between 3 May and 1 June?" Which runs are numbers is public, and so is
    the text between runs; a hidden word counts only where a month stands beside a number.

    Args:
        visible: the whole text, hidden runs shown as slots.
    """
    plain = visible.strip()
    few = len(plain.split()) <= _MOST_GENERAL
    if not few or _PERSONAL.search(plain) or not _RECKONING.search(plain):
        return False
    runs, text = found.runs, found.text
    for i, run in enumerate(runs):
        if run.is_number:
            continue
        if run.kind != WORD or len(run.words) > 1:
            return False
        before = i > 0 and runs[i - 1].is_number
        after = i + 1 < len(runs) and runs[i + 1].is_number
        before = before and _DAY_TO_MONTH.fullmatch(text, runs[i - 1].end, run.start) is not None
        after = after and _MONTH_TO_DAY.fullmatch(text, run.end, runs[i + 1].start) is not None
        if not (before or after):
            return False
    return True


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


_PLAYED = re.compile(
    r"(?i)(?:\b(?:act|behave|respond|answer|reply|write|speak|talk|think|sound)(?:ing)? (?:as|like)"
    r"(?: if you (?:were|are))?|^\ufffc as|"
    r"\b(?:pretend|imagine)(?: that)? (?:to be|you(?:['\u2019]re| are))|"
    r"^\s*(?:[\"\u201c] ?)?you(?:['\u2019]re| are)(?: now)?) (?:an?|the|my)"
    r"(?: (?!who\b|and\b|at\b|in\b|with\b|for\b|of\b)[a-z-]+){0,3} $"
)
_PARTS_PLAYED = frozenset(["OCCUPATION", "FACT", "TREATMENT", "BELIEF", "CRIME"])
"""Visible text before whom the API is to play, and what the tagger may take that for."""


def public_here(word: str, before: str, label: str | None) -> bool:
    """Return True for a weekday, "30s", "v2", "GP", a new job's probation, "WHO" after capitals.

    Args:
        before: visible text before the word's run. label: the tagger's class.

    Example:
        >>> public_here("Monday", "see you on ", None), public_here("WHO", "A report of ", None)
        (True, False)
    """
    if is_brief(word, before) or _RELEASE.fullmatch(word) or word in _PLAIN:
        return True
    if label != "DATE" and WEEKDAY.fullmatch(word):
        return True
    if label in _PARTS_PLAYED and _PLAYED.search(before):
        return True
    if word == "probation" and _ON_PROBATION.search(before):
        return True
    return label not in NAMES and word in CAPITALS and _SHOUTED.search(before) is not None


_ROOMS = frozenset(
    "bay bed corridor cubicle desk flat floor gate platform room theatre unit ward".split()
)


_HOMES = frozenset(["flat", "unit", "desk"])  # a part of an address


def names_number(word: str, after: str) -> bool:
    """Return True for "NHS" in "NHS number".

    Args:
        after: visible text after the word.
    """
    return word.upper() in _NUMBERED and _ITS_NUMBER.match(after) is not None


def names_year(word: str, after: str) -> bool:
    """Return True for "Year" in "Year 4", of a school, and "Ward" in "Ward 6"."""
    named = word in ("Year", "Grade") or (word.istitle() and word.lower() in _ROOMS - _HOMES)
    return named and after.startswith(f" {SLOT}")


_BILLED = re.compile(
    r" (?:\ufffc|twice|double|again|extra|too|more|less|me|us|him|her|them|for|the|an?|my|our|his|"
    r"[$\u00a3\u20ac]|\ufffc ?(?:[$\u00a3\u20ac]|times|euros?|pounds|dollars))"
)
_MACHINE = re.compile(
    r"(?i)\b(?:vacuum|oven|drain|glass|carpet|toilet|screen|lens|pipe|printer|graphics|network|device|"
    r"video|usb|audio|password|package|task|file|window|session|memory|text|code|photo|image|html|"
    r"card|coffee|bread|query|form|page|media|music|record|dvd|user|web|state|event|cookie)[ -]$"
)
_DOES = re.compile(
    r"(?i)(?:clean|driv|manag|edit|read|mak|build|play|handl|agent|hunt|crawl|writ)(?:er|or|e)?r?s?"
)


def is_no_person(word: str, before: str, after: str, label: str | None) -> bool:
    """Return True for what charges in an invoice are, and for a machine: "vacuum cleaner".

    Args:
        before, after: visible text around the word. label: the tagger's class.

    Example:
        >>> is_no_person("charged", "I was ", " twice in", "CRIME")
        True
        >>> is_no_person("cleaner", "the vacuum ", ".", "OCCUPATION")
        True
    """
    if word in ("charged", "charges", "charge"):
        return _BILLED.match(after) is not None
    machine = label == "OCCUPATION" and _DOES.fullmatch(word) is not None
    return machine and _MACHINE.search(before) is not None


def names_room(word: str, following: str) -> bool:
    """Return True for "ward" in "ward 7B": the word before a number of a place."""
    numbered = any(map(str.isdecimal, following[:4]))
    return numbered and word.lower() in _ROOMS


def own_title(word: str, after: str) -> bool:
    """Return True for the French title "M." before a hidden name."""
    return word in ("M", "MM") and after.startswith(f". {SLOT}")


def is_set_phrase(text: str, start: int) -> bool:
    """Return True if "sick pay", "unpaid leave" or the like begins at a place of a text.

    Example:
        >>> is_set_phrase("sick pay", 0), is_set_phrase("sick man", 0)
        (True, False)
    """
    return _SET_PHRASE.match(text, start) is not None


def on_its_own(words: Sequence[str], before: str, after: str, forms: PublicForms) -> bool:
    """Return True for a run that stays because of its place.

    It heads a line, greets a "Hiring Team" or a "Good day", closes a letter, opens a sentence as a
    verb ("Rank them"), or belongs to a program: a flag (" -H "), the code of an error ("it shows
    E14"), the letter of a choice ("A. Yes. B. No"), a name in a path ("app.PdfWriter("), a class of
    a regular expression ("\\S+"), or names a column that is asked for ("the columns Owner, Due").

    Args:
        words: of the run, as written. before, after: visible text around it.
    """
    known = [forms.listed(word) and word.lower() not in given_names() for word in words]
    addressed = _GREETED.search(before) and _ADDRESSEE.fullmatch(words[-1])
    if all(known) and (addressed or _LISTING.search(before)):
        return True
    if len(words) > 1:
        return False
    word, listed = words[0], known[0]
    styled = _STYLED if word in _STYLE else None
    things = listed and word.endswith("s") and _OPENS.search(before) and _THINGS_ARE.match(after)
    if things or (word in _GENRES and _WRITES.search(before)):
        return True
    follows = _WORDS_OF_SENTENCES.get(word) or styled or (_OBJECT if listed else None)
    opens = follows and _OPENS.search(before) and follows.match(after)
    greets = _GREETING.fullmatch(word) and _GREETING_AFTER.match(after)
    return (
        bool(opens or greets)
        or _is_technical(word, before, after, forms)
        or _is_closing(word, before, after)
        or (_PARTY.fullmatch(word) is not None and _AS_PARTY.search(before) is not None)
        or (_SALUTED.fullmatch(word) is not None and _SALUTES.search(before) is not None)
        or _heads(word, before, after, listed)
    )


def n_of_everybody(words: Sequence[str], before: str, after: str) -> int:
    """Return how many words a run begins with that name what everybody knows.

    That is a device or program of a known maker, a language model beside another one, a people or
    state of history, and a famous work, game, epoch or sight.

    Args:
        words: of the run, as written. before, after: visible text around it.
    """
    named = next((i for i, word in enumerate(words) if word.islower()), len(words))
    if not named:
        return 0
    beside = after if named == len(words) else " " + " ".join(words[named:])
    return named if _is_of_everybody(words[:named], before, beside) else 0


def _is_of_everybody(words: Sequence[str], before: str, after: str) -> bool:
    written = " ".join(words)
    if (
        _OF_CAMERA.fullmatch(written)
        or written in known_to_all("peoples")
        or written in known_to_all("products")
        or written in known_to_all("works")
    ):
        return True
    if known_to_all("assistants").issuperset(words):
        beside = _BESIDE_RIVAL.match(after) or _AFTER_RIVAL.search(before)
        return beside is not None or (
            len(words) > 1 and known_to_all("sizes").issuperset(words[1:])
        )
    makers, devices = known_to_all("makers"), known_to_all("devices")
    made = words[0] in makers and not _WORKS_THERE.search(before)
    if written == "Mac" or (made and len(words) == 1 and _APPLIANCE.match(after)):
        return made or _ARTICLED.search(before) is not None
    if made and len(words) == 1:
        following = _NEXT.match(after)
        return following is not None and following[1] in devices
    last = _LAST.search(before)
    rest = words[1:] if made else words if last is not None and last[1] in makers else ()
    return bool(rest) and all(word in devices or _NUMBER_OF_MODEL.fullmatch(word) for word in rest)


_ALGEBRAIC, _COEFFICIENT = re.compile(r"[0-9]{1,3}[xyz]{1,2}"), re.compile(r"[0-9]{1,3}[a-z]")
_OPERATED, _OPERATOR = re.compile(r"[-+*/=(^] ?$"), re.compile(r"\^|\)| ?[-+*/=] ?[\w(\ufffc]")
"""A term such as "4x", and visible text before and after one in a formula."""


def is_portion(word: str, before: str, after: str) -> bool:
    """Return True for how much of a food, how thick a thing is, and how many.

    Args:
        before, after: visible text around the word's run, with the run's own words.

    Example:
        >>> is_portion("500g", "buy ", " mince"), is_portion("500g", "she lost ", " this week")
        (True, False)
    """
    if _BINARY.fullmatch(word) or (_MILLICORES.fullmatch(word) and before.endswith("cpu: ")):
        return True
    if _TIMES.fullmatch(word):
        return not before[-1:].isalnum() and not after[:1].isalnum()
    if _OF_SUM.fullmatch(word) and _SUM_AFTER.match(after):
        return True
    raised = _COEFFICIENT.fullmatch(word) and after.startswith("^")
    operated = _ALGEBRAIC.fullmatch(word) and (_OPERATED.search(before) or _OPERATOR.match(after))
    if raised or operated:
        return True
    recorded = _THOUSANDS.fullmatch(word) and _RECORDS.match(after)
    if recorded or (_DISTANCE.fullmatch(word) and _RUN_BEFORE.search(before)):
        return True
    much = _PORTION.fullmatch(word) is not None and _OF_WHAT.match(after) is not None
    thick = _ACROSS.fullmatch(word) is not None and _OF_TOOL.match(after) is not None
    return (much or thick) and _WEIGHED.search(before) is None


def _is_technical(word: str, before: str, after: str, forms: PublicForms) -> bool:
    """Return True for a flag, an error's code, the letter of a choice or a column, a name of
    code in a path, a class of a regular expression, and the F of a temperature."""
    if len(word) == 1:
        if word in _ESCAPED and before.endswith("\\") and _ESCAPED_AFTER.match(after):
            return True
        lettered = _LETTERED.search(before) and not after[:1].isalnum()
        measured = (word in "FC" and _DEGREES.search(before)) or (
            word == "L" and _PER_LITRE.search(before)
        )
        if lettered or measured:
            return True
        flag = before.endswith(" -") and after[:1] in (" ", "\n")
        chosen = word in _CHOICES and _FIRST_CHOICE.search(before) and _OPENS.search(before)
        return flag or bool(chosen and _CHOICE.match(after))
    if _ADDRESS.fullmatch(word) or (_CODE.fullmatch(word) and _REPORTED.search(before)):
        return True
    called = word in known_to_all("functions") and (
        after.startswith("(") or len(word) >= _LONG_FUNCTION
    )
    in_cell = _CELL.fullmatch(word) and _IN_FORMULA.search(before)
    if called or in_cell or (_FORMAT.fullmatch(word) and _FORMATTED.search(before)):
        return True
    pathed = _IN_PATH.search(before) or _PATH_AFTER.match(after)
    member = _MEMBER.search(before) and forms.known(word) and word.lower() not in given_names()
    return bool(member) or (bool(pathed) and _is_name_of_code(word, forms))


def _is_closing(word: str, before: str, after: str) -> bool:
    """Return True for a line such as "Best," and the last word of "Kind regards"."""
    if _CLOSING.fullmatch(word) is None or _CLOSING_END.match(after) is None:
        return False
    behind = _OPENS.search(before) and after.startswith(f", {SLOT}")  # in one line with the letter
    return bool(behind or _LINE_BEGIN.search(before) or _CLOSED.search(before))


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


_AT_LINE, _NO_MONTH = re.compile(r"(?:^|\n)[ \t]*$"), re.compile(rf"[ \t](?!{MONTH}\b)[A-Z][a-z]")


def is_of_form(found: Skeleton, run: Run, before: str, after: str) -> bool:
    """Return True for the number of a form's line: "2 First name:"."""
    marks = _AT_LINE.search(before) is not None and _NO_MONTH.match(after) is not None
    hidden = [(each.start, each.end) for each in found.runs]
    short = run.end - run.start <= len("99")
    return marks and short and asks_in_line(found.text, run.end, hidden)


NORMS = re.compile(
    r"(?i)\b(?:reference(?: range| values?)?|ref\.? (?:range|values?)|normal (?:range|values?)|"
    r"normbereich|referenzbereich|referen[z]|valeurs? de r\u00e9f\u00e9rence|"
    r"valores? de referencia)\b"
)
_LOW = re.compile(r"(?:  |\t|[(\[|]) ?$")
_TO_HIGH = re.compile(rf" ?[-\u2013] ?{SLOT}")
_HIGH = re.compile(rf"(?:  |\t|[(\[|]) ?{SLOT} ?[-\u2013] ?$")
_LINE_ENDS = re.compile(r"[ \t)\]|]*(?:\n|$)")
_BOUND = re.compile(r"(?:  |\t|[(\[|]) ?[<>\u2264\u2265] ?$")


_MEASURE_BEFORE = re.compile(
    rf"{SLOT} ?[^\s(){SLOT}]{{1,12}} ?\((?:(?:normal |ref\.? |reference )?(?:range )?|under |over |"
    r"below |above |up to |[<>\u2264\u2265] ?)$"
)


def is_norm(before: str, after: str, in_table: bool) -> bool:
    """Return True for what a test of anybody should show: "71 fL (80-100)", and "4.0 - 10.0" or
    "< 5" in the last column of a table. What somebody's test shows is before it.

    Args:
        in_table: the visible text names such a column.
    """
    if _MEASURE_BEFORE.search(before) and after.startswith(")"):
        return True
    if not in_table:
        return False
    if _LOW.search(before) and _TO_HIGH.match(after):
        return True
    ends = _LINE_ENDS.match(after) is not None
    return ends and (_HIGH.search(before) or _BOUND.search(before)) is not None
