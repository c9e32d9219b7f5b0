"""Identifiers of places and papers: street addresses, postal codes, licence and passport numbers.

Addresses are found by their house numbers: each chunk of digits is tried as the first or the last
part of an address. Patterns are bounded in length; names of streets are words with a capital letter
unless the street type is unmistakable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int, str]

STREET_TYPES = (
    "Street|St|Avenue|Ave|Av|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq"
    "|Terrace|Ter|Way|Wy|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Trail|Trl|Crescent|Cres|Close|Grove"
    "|Gardens|Gdns|Mews|Alley|Aly|Plaza|Plz|Row|Walk|Loop|Path|Broadway|Turnpike|Tpke|Freeway|Fwy"
    "|Expressway|Quay|Esplanade|Promenade|Hill|Point|Pike|Run|Wharf|Parade|Crest|Croft"
    r"|(?<=['’]s )Rise"
)
_UNIT = (
    r"(?:[Aa]pt|[Aa]partment|[Ss]uite|[Ss]te|[Uu]nit|[Ff]lat|[Rr]oom|[Rr]m|[Ff]loor|[Bb]ldg"
    r"|[Bb]uilding|[Ll]ot)"
    r"\.?\s?#?\s?[0-9A-Za-z][0-9A-Za-z-]{0,5}\b|# ?[0-9][0-9A-Za-z-]{0,5}"
    r"|[0-9]{1,2}(?:st|nd|rd|th) [Ff]l(?:oor|r)\b"
)
STATES = """
    AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH
    NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC PR GU VI AS MP AA AE
    AP
    """.split()
_STATE = "(?:" + "|".join(STATES) + ")"
_UK_AREAS = """
    AB AL B BA BB BD BF BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN
    DT DY E EC EH EN EX FK FY G GL GU GY HA HD HG HP HR HS HU HX IG IM IP IV JE KA KT KW KY
    L LA LD LE LL LN LS LU M ME MK ML N NE NG NN NP NR NW OL OX PA PE PH PL PO PR RG RH RM S
    SA SE SG SK SL SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB W WA WC WD WF WN WR
    WS WV YO ZE
    """.split()
UK_AREAS = frozenset(_UK_AREAS)
UK_INWARD = "ABDEFGHJLNPQRSTUWXYZ"
CANADA_FIRST, CANADA_LETTERS = "ABCEGHJKLMNPRSTVXY", "ABCEGHJKLMNPRSTVWXYZ"

UK_POSTCODE = re.compile(
    rf"(?<![A-Za-z0-9])([A-Z]{{1,2}})[0-9][0-9A-Z]? ?[0-9][{UK_INWARD}]{{2}}(?![A-Za-z0-9])"
)
CANADA_POSTCODE = re.compile(
    rf"(?<![A-Za-z0-9])[{CANADA_FIRST}][0-9][{CANADA_LETTERS}][ -]?"
    rf"[0-9][{CANADA_LETTERS}][0-9](?![A-Za-z0-9])"
)
_ZIP = r"[0-9]{5}(?:-[0-9]{4})?(?![\w]|[-.,][0-9])"
_ZIP_HERE = re.compile(_ZIP)
_STATE_NAMES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia"
    "|Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts"
    "|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey"
    "|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania"
    "|Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington"
    "|West Virginia|Wisconsin|Wyoming|District of Columbia"
)
_STATE_BEFORE = re.compile(rf"(?:[A-Za-z.] ?,\s{{0,2}}|[a-z] )(?:{_STATE})\.?,? {{1,2}}\Z")
_MILITARY_BEFORE = re.compile(r"\b[AFD]PO,? A[AEP] \Z")
_ZIP_CONTEXT = re.compile(
    r"(?i)(?<![^\W_])(?:zip(?:[-_ ]?code)?|post(?:al)?[-_ ]?codes?|plz|postleitzahl|postnummer"
    r"|postal|postale|eircode)(?![^\W_])"
    r"(?: (?:number|is|was|of|in|for)\b)?[\s:=#\"']{1,5}"
    r"((?:[AC-FHKNPRTV-Y](?:[0-9]{2}|6W) ?[0-9AC-FHKNPRTV-Y]{4}"
    r"|(?:[A-Z]{1,2}-?)?[0-9]{3,6}(?:[ -](?:[0-9]{2,4}|[A-Z]{2})\b)?))(?![\w]|[.,][0-9])"
)

_NAME = r"(?:[^\W\d_][\w'’.-]{0,24}|[0-9]{1,3}(?:st|nd|rd|th))"
_CAPITAL = r"(?:(?=[^\W\d_a-z])[^\W\d_][\w'’.-]{0,24}|[0-9]{1,3}(?:st|nd|rd|th)|de|du|la|le|of|the)"
_TAIL = (
    rf"(?:,?\s{{1,2}}(?:{_UNIT}))?"
    rf"(?:,?\s{{1,2}}(?:[A-Z][\w'’.-]{{1,24}},?[ ]?){{0,3}}"
    rf"(?:,?\s{{0,2}}(?:{_STATE})\.?,?\s{{1,2}}{_ZIP}"
    rf"|,?\s{{0,2}}[A-Z]{{1,2}}[0-9][0-9A-Z]? [0-9][{UK_INWARD}]{{2}}\b))?"
)
_STREET = re.compile(
    rf"[0-9]{{1,6}}(?:-[0-9]{{1,4}}|[A-Za-z]\b|/[0-9]{{1,3}}| ?½)?,? "
    rf"(?:{_CAPITAL} ){{1,4}}(?:(?:{STREET_TYPES})\b\.?)"
    rf"(?: (?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\b\.?)?{_TAIL}"
)
_BROADWAY = re.compile(rf"[0-9]{{1,5}} (?:[NSEW]\.? )?Broadway\b{_TAIL}")
_TYPE_FIRST = re.compile(
    r"[0-9]{1,4}(?: ?(?:bis|ter|[A-Da-d])\b)?,? "
    r"(?:[Rr]ue|[Rr]ua|[Cc]alle|[Aa]venida|Via|[Cc]hemin|[Qq]uai|[Ii]mpasse|[Aa]llée|[Cc]ours"
    r"|avenue|av\.|boulevard|bd\.?|ruelle|(?:[Aa]venue|[Bb]oulevard|[Pp]lace)(?= d)"
    r"|(?:[Pp]lace|[Ss]quare|[Rr]oute|[Ll]otissement|[Rr]ésidence|[Cc]ité|[Ff]aubourg|[Ss]entier"
    r"|[Vv]illa|[Pp]assage|[Ee]splanade|[Pp]romenade|[Dd]omaine|[Hh]ameau|[Ll]ieu-dit|[Mm]ontée)"
    r"(?= [^\n,]{2,30},?\s[0-9]{5} [^\W\d_a-z])) "
    r"(?:(?:de|du|des|la|le|les|del|della|do|da|dos) |(?:d|l)['’]){0,3}"
    r"(?:[^\W\d_a-z][\w'’-]{1,24}(?: |\b)){1,3}"
)
_PLAIN_STREET = re.compile(
    r"(?i)[0-9]{1,6}[a-z]? ((?:[^\W\d_][\w'’-]{1,20} ){1,2})"
    r"(?:street|avenue|boulevard|road|rd|ave|blvd|crescent)\b"
)
_PLAIN_WORDS = frozenset(
    """
    a an the of in on at to by for from per down up along across off near and or with is was
    are were this that each every more other different lane lanes way mile miles minute
    minutes hour hours day days year years people cars feet meters blocks block times
    percent side dirt gravel busy main's new old
    """.split()
)
_UNIT_NUMBER = re.compile(
    rf"(?i)(?<=[\s,])(?:apt|suite|ste|unit|flat)\.? ?#?[0-9]{{1,5}}[a-z]?\b"
    rf"(?:[\s,]{{1,3}}[^\n\d?!;:.()]{{0,40}}[\s,]{{1,3}}(?:{_STATE} )?[0-9]{{5}}\b"
    rf"|,\s{{1,2}}(?P<town>{_NAME}(?: {_NAME}){{0,2}})(?:, (?:{_STATE})\b)?(?=\s?[,.;)\n]|\Z))?"
)
_BEFORE_UNIT = re.compile(r"(?<![\w.])[0-9]{1,6}[ ,]{1,2}[^\n;:?!]{2,50}[\s,]{1,2}\Z")
_WRITTEN_YEAR = re.compile(
    r"(?i)\b(?:in|since|by|of|during|until|after|before|from|circa|the|and|for)\s\Z"
)
_POBOX = re.compile(
    r"(?i)\b(?:p\.? ?o\.? ?box|post office box|postfach|apartado(?: de correos)?|bo[iî]te postale)"
    r"\.? ?#?[0-9]{1,6}\b"
)
_MILITARY = re.compile(
    r"(?i)\b(?:(?:psc|cmr|unit) [0-9]{1,5},? box [0-9]{1,5}|uss|usns|uscgc|usnv)"
    r"(?: [a-z'-]{2,20}){0,3}\s{1,2}"
    r"[AFD]PO,? A[AEP] [0-9]{5}(?:-[0-9]{4})?\b"
)
_LEADING_TYPES = frozenset(
    """
    rua rue calle avenida Rua Rue Via Viale Vicolo Calle C/ Avenida Av. Avda Avda. Plaza
    Plaça Praça Piazza Piazzale ul. Ul. al. pl. os. Boulevard Chemin Place Impasse Allée
    Quai Carrer Passeig Rúa Paseo Largo Travessa Corso Strada Ulica Camino Carretera Ctra.
    Estrada
    """.split()
)
_OPENS_WORD = re.compile("[(,\"']")
STREET_ENDINGS = tuple(
    """
    straße strasse str. gasse platz allee straat laan gracht plein gatan vägen gata gade vej veien
    stræde torvet ntie katu kuja kaari raitti rinne polku weg steig promenade kade
    """.split()
)
_HOUSE = re.compile("[ (]")
_HUNGARIAN = frozenset({"utca", "útja", "út", "tér", "krt.", "köz", "u."})

_LICENCE = re.compile(
    r"(?i)\b(?:driver'?s?|driver’s|driving)\s{1,2}licen[cs]e(?:\s{1,2}(?:number|num|no\.?|id))?"
    r"(?:\s{1,2}is|\s?[:=#])?[\s#:]{1,3}([A-Z0-9][A-Z0-9*-]{4,18})(?![\w-])"
)
_PASSPORT = re.compile(
    r"(?i)\bpassport(?:\s{1,2}(?:number|num|no\.?|id))?(?:\s{1,2}is|\s?[:=#])?"
    r"[\s#:]{1,3}([A-Z]{0,3}[0-9]{6,9}[A-Z]?)(?![\w-])"
)


_MACHINE_READABLE = re.compile(
    r"(?<![A-Z0-9<])[PVIAC][A-Z<][A-Z<]{3}[A-Z0-9<]{25,39}"
    r"(?:\s{1,3}(?=[A-Z0-9<]{0,43}[0-9])[A-Z0-9<]{30,44}){1,2}(?![A-Z0-9<])"
)
"""The lines of a passport or an identity card that machines read."""
_TOWN = r"(?=[^\W\d_a-z])[^\W\d_][\w'’.-]{1,30}"
_TOWNS = rf"{_TOWN}(?:(?: |-| an der | am | a/d |/){_TOWN}){{0,3}}"
CANADA = rf"[{CANADA_FIRST}][0-9][{CANADA_LETTERS}][ -]?[0-9][{CANADA_LETTERS}][0-9]\b"
_AFTER_CODE = re.compile(rf" {_TOWNS}(?: \([A-Z]{{2}}\))?")
_CODE_AT_END = re.compile(r"[,\s][0-9]{5}\Z")
_TOWN_AFTER = re.compile(
    r"(?:[ ]?[A-Za-z]\b(?: [0-9]{1,3}\b)?|-[A-Za-z0-9]{1,4}\b|[ ]?(?:bis|ter)\b)?,?\s{1,2}(?:"
    # 10115 Berlin, D-80331 München, 75011 Paris, 1010 Wien
    rf"(?:[A-Z]{{1,2}}-)?[0-9]{{4,5}} {_TOWNS}(?: [Cc][Ee][Dd][Ee][Xx](?: [0-9]{{1,2}})?)?"
    rf"|[1-9][0-9]{{3}} ?[A-Z]{{2}}(?:,? {_TOWNS})?"  # 1016 GV Amsterdam
    # 00-590 Warszawa, 111 36 Stockholm, 1000-001 Lisboa
    rf"|(?:[0-9]{{2}}-[0-9]{{3}}|[1-9][0-9]{{2}} [0-9]{{2}}|[0-9]{{4}}-[0-9]{{3}}) {_TOWNS}"
    rf"|{_TOWNS}(?: [-–] |, ?|/)[A-Z]{{2}},?\s{{1,2}}[0-9]{{5}}-[0-9]{{3}}"  # São Paulo - SP
    rf"|(?:{_TOWNS},?\s{{1,2}}){{1,2}}[A-Z]{{2}},?\s{{1,2}}{CANADA}"
    rf"|(?:{_TOWNS},?\s{{1,2}}){{1,2}}(?:NSW|VIC|QLD|SA|WA|TAS|ACT|NT),?\s{{1,2}}[0-9]{{4}}\b"
    rf"|(?:{_TOWNS},?\s{{1,2}}){{0,3}}[A-Z]{{1,2}}[0-9][0-9A-Z]? ?[0-9][{UK_INWARD}]{{2}}\b"
    rf"|(?:{_TOWNS},?\s{{1,2}}){{1,2}}(?:{_STATE}|{_STATE_NAMES})\.?,?\s{{1,2}}{_ZIP})"
    r"(?: \([A-Z]{2}\))?"
)
_HOUSE_AND_TOWN = re.compile(
    rf"([0-9]{{1,4}}(?:-[0-9]{{1,4}})?[a-z]?),? "
    rf"(?:[0-9]{{5}}|[A-Z]{{1,2}}-[0-9]{{4,5}}|[1-9][0-9]{{3}} ?[A-Z]{{2}}),? {_TOWN}"
)
_ANY_STREET = re.compile(
    rf"(?<!\w){_TOWN}"
    rf"(?: (?:{_TOWN}|an?|am|der|den|dem|de|van|het|zum|zur|im|la|le|du|des)){{0,3}} \Z"
)
_PARTS = frozenset(
    "Chapter Section Room Table Figure Page Article Part Number Item Line Row Step Kapitel Seite"
    " Abschnitt Raum Tabelle Nummer Artikel Chapitre Page Salle".split()
)
"""Words before a number that are the name of no street."""
_LONG_HOUSE, _DIGITS_BEFORE = 4, re.compile(r"[0-9][ -]\Z")
_FLAT_BEFORE = re.compile(
    r"\b(?:[Ff]lat|[Aa]pt\.?|[Aa]partment|[Uu]nit|[Ss]uite|[Rr]oom) ?#?[0-9A-Za-z]{1,5},\s{1,2}\Z"
)


def streets(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield addresses around the chunk of digits, with flat, postal code and town.

    The house number comes first, or last after a street's name.
    """
    for first, last, kind in _streets(text, start, end):
        flat = _FLAT_BEFORE.search(text, max(0, first - 24), first)
        coded = _CODE_AT_END.search(text, max(first, last - 6), last)
        town = (_AFTER_CODE if coded else _TOWN_AFTER).match(text, last)
        stop = last + len(town[0].rstrip(".")) if town else last
        yield flat.start() if flat else first, stop, kind


def _streets(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield street addresses whose house number is the chunk of digits from `start` to `end`.

    The number comes first, or last after a street's name.
    """
    if end - start > 20 or (start and (text[start - 1].isalnum() or text[start - 1] in "_.$€£#")):
        return
    follower = text[end : end + 1]
    if follower and (follower in " ,-" or follower.isalpha()):
        yield from _number_first(text, start)
        if last := text.rfind(" ", start, end) + 1:
            yield from _number_first(text, last)
    if text[start - 1 : start] == " ":
        yield from _number_last(text, start, end)
        if _HOUSE_AND_TOWN.match(text, start):
            yield from _before_town(text, start, end)


def _number_first(text: str, start: int) -> Iterator[Span]:
    m = _STREET.match(text, start) or _BROADWAY.match(text, start) or _TYPE_FIRST.match(text, start)
    if (
        not m
        and (m := _PLAIN_STREET.match(text, start))
        and _PLAIN_WORDS & set(m[1].lower().split())
    ):
        m = None
    if not m:
        return
    house = re.split(r"\D", m[0])[0]
    if len(house) > _LONG_HOUSE and _DIGITS_BEFORE.search(text, max(0, start - 2), start):
        return  # the end of "07700 900882, GP Dr Lund"
    year = (
        len(house) == 4
        and text[start] in "12"
        and _WRITTEN_YEAR.search(text, max(0, start - 8), start)
    )
    if not year:
        yield start, start + len(m[0].rstrip(" ,.\n")), "ADDRESS"


def _number_last(text: str, start: int, end: int) -> Iterator[Span]:
    low = start - 60 if start > 60 else 0
    line = text.rfind("\n", low, start) + 1 or low
    words = text[line : start - 1].split(" ")[-6:]
    last = words[-1].rstrip(",").lower()
    begin = None
    if not _LEADING_TYPES.isdisjoint(words) or _OPENS_WORD.search(text, line, start):
        begin = next(
            (i for i, word in enumerate(words[:-1]) if word.lstrip("(,\"'") in _LEADING_TYPES), None
        )
    if begin is None and last in _HUNGARIAN and len(words) > 1:
        begin = next((i for i, word in enumerate(words[:-1]) if word[:1].isupper()), None)
    elif (
        begin is None and len(last) > 6 and last.endswith(STREET_ENDINGS) and words[-1][0].isupper()
    ):
        begin = len(words) - 1
    # "Via email or via phone in 2 days": an Italian street is a name
    if begin is not None and words[begin].lstrip("(,\"'") == "Via" and words[-1].islower():
        begin = None
    if begin is not None and last[-1:].isalpha() | (last[-1:] == "."):
        first = start - 1 - len(" ".join(words[begin:]).lstrip("(,\"'"))
        yield first, _end_of_house(text, start, end), "ADDRESS"


def _before_town(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a street of any name whose number stands before a postal code and a town."""
    house = _HOUSE_AND_TOWN.match(text, start)
    street = _ANY_STREET.search(text, max(0, start - 60), start) if house else None
    if house and street and street[0].split(" ")[0] not in _PARTS:
        yield street.start(), house.end(1), "ADDRESS"


def _end_of_house(text: str, start: int, end: int) -> int:
    """Return the end of the house number at `start`, with its letter ("12b")."""
    end = start + len(_HOUSE.split(text[start:end], maxsplit=1)[0])
    return end + (text[end : end + 1].isalpha() and not text[end + 1 : end + 2].isalnum())


_UNIT_WORDS = ("apt", "suite", "ste", "unit", "flat")
_NO_STREET = _PLAIN_WORDS - {"the", "of", "and", "old", "lane", "lanes", "way", "new", "main's"} | {
    *"month months week weeks i we he she it they you my our his her their but who which".split(),
    *"pay paid live lives lived kids children adults rooms bedrooms have has had be been".split(),
}
"""Words that no street between its number and a flat has: "5 months old, and flat 12 is cold"."""
_MOST_WORDS = 7  # between the number of a house and its flat
_SENTENCE_BEFORE_UNIT = re.compile(r"\b(?!(?:st|rd|ave|dr|blvd|ln|ct|pl|n|s|e|w)\.)\w+\. ", re.I)


def units(text: str, lowered: str) -> Iterator[Span]:
    """Yield addresses that begin with a number and name a flat or suite soon after."""
    for at in _places_of(lowered, _UNIT_WORDS):
        m = _UNIT_NUMBER.match(text, at)
        begin = max(0, at - 62)
        while m and (before := _BEFORE_UNIT.search(text, begin, at)):
            if _is_street(before[0]):
                town = _NO_STREET.isdisjoint((m["town"] or "").lower().split())
                end = m.end() if town else m.start("town")
                yield before.start(), len(text[:end].rstrip(" ,\n")), "ADDRESS"
                break
            begin = before.start() + 1


def _is_street(before: str) -> bool:
    """Return True if what is before a flat may be a house's number and a street."""
    words = re.findall(r"[^\W\d_]+", before.lower())
    few = len(words) <= _MOST_WORDS and _NO_STREET.isdisjoint(words)
    return few and _SENTENCE_BEFORE_UNIT.search(before) is None


def _places_of(lowered: str, words: tuple[str, ...]) -> Iterator[int]:
    """Yield where each of some words begins."""
    for word in words:
        at = lowered.find(word)
        while at >= 0:
            yield at
            at = lowered.find(word, at + len(word))


def boxes(text: str, lowered: str) -> Iterator[Span]:
    """Yield addresses with a flat or suite, post office boxes and military mail."""
    yield from units(text, lowered)
    if "box" in lowered or "postfach" in lowered or "apartado" in lowered or "postale" in lowered:
        for m in _POBOX.finditer(text):
            town = _TOWN_AFTER.match(text, m.end())
            yield m.start(), town.end() if town else m.end(), "ADDRESS"
    if "po a" in lowered or "po, a" in lowered:
        for m in _MILITARY.finditer(text):
            yield m.start(), m.end(), "ADDRESS"


def postcodes(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the postal code around a chunk: UK and Canadian ones by form, US ones after a state."""
    if start and text[start - 1].isalpha():
        begin = start - 2 if start > 1 and text[start - 2].isalpha() else start - 1
        m = UK_POSTCODE.match(text, begin)
        if not m or m[1] not in UK_AREAS:
            m = CANADA_POSTCODE.match(text, begin)
        if m and text[begin - 1 : begin] != "#":  # a colour
            yield begin, m.end(), "POSTCODE"
    elif 5 <= end - start <= 10 and (m := _ZIP_HERE.match(text, start)):
        before = max(0, start - 10)
        if _STATE_BEFORE.search(text, before, start) or _MILITARY_BEFORE.search(
            text, before, start
        ):
            yield start, m.end(), "POSTCODE"


def announced(text: str, lowered: str) -> Iterator[Span]:
    """Yield postal codes, driving licences and passports after the words that name them."""
    for at in _places_of(lowered, ("zip", "post", "plz", "eircode")):
        if m := _ZIP_CONTEXT.match(text, at):
            yield m.start(1), m.end(1), "POSTCODE"
    if "licen" in lowered and "driv" in lowered:
        for m in _LICENCE.finditer(text):
            if sum(c.isdigit() for c in m[1]) >= 4:
                yield m.start(1), m.end(1), "LICENCE"
    if "<<" in text:
        for m in _MACHINE_READABLE.finditer(text):
            yield m.start(), m.end(), "PASSPORT"
    if "passport" in lowered:
        for m in _PASSPORT.finditer(text):
            yield m.start(1), m.end(1), "PASSPORT"
