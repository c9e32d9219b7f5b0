"""Identifiers made of digits: cards, IBANs, US social security numbers, IPv4, dates, telephones.

One pass finds the chunks of digits and separators; the expensive patterns are tried only inside a
chunk. Every pattern is bounded in length and takes one digit per step, so the time is linear in the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanitizer.identifiers.checks import (
    IBAN_LENGTHS,
    MONTHS,
    calling_code,
    is_day,
    is_iban,
    is_issued,
    is_numeric_day,
    is_ssn,
    passes_luhn,
)

Span = tuple[int, int, str]

CHUNK = re.compile(r"[0-9]+(?:[ .\-/()]{1,3}[0-9]+)*")
BACK = 48
"""Characters before a number that are searched for words which announce it."""
AHEAD = 32
"""Characters after a chunk that an extension, a time or a time zone may take."""

_CARD = re.compile(
    r"(?<![0-9.])(?<![0-9]_)(?:[1-8][0-9]{11,18}"
    r"|[1-8][0-9]{3}([ -]| {2,3}|[./\t_])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|[1-8][0-9]{3}([ -]| {2,3}|[./\t_])[0-9]{6}\2[0-9]{4,5}"
    r"|[1-8][0-9]{3}(?:[ -][0-9]{4}){3})(?![^\W_]|[_-][0-9]|\.(?!00?(?!\w|\.[0-9]))[0-9])"
)
"""A spreadsheet writes a card's number with ".0" behind."""
_TABBED_CARD = re.compile(r"(?<![\w.])[1-8][0-9]{3}([\t_])[0-9]{4,6}\1[0-9]{4}")
_CARD_WORD = re.compile(
    r"(?i)(?<![^\W_])(?:card|cards|no|nr|number|cc|visa|pan|karte|carte|tarjeta)\Z"
)
"""Words that may stand before a card's number without a space."""
_TAIL = re.compile(r"[0-9]-$")
"""The rest of a number with hyphens, whose last group is no card's first."""
_CARD_CONTEXT = re.compile(
    r"(?i)\b(?:card|cc|visa|master ?card|maestro|amex|american express|discover|diners|jcb)\b"
)
_SSN = re.compile(
    r"(?<![0-9-])(?<![0-9][./_])([0-9]{3})([ -]?)([0-9]{2})\2([0-9]{4})(?![^\W_]|[-./_][0-9])"
)
_SSN_CONTEXT = re.compile(
    r"(?i)\b(?:ssns?|social\s+sec|taxpayer|tax\s+id|itin|tin)\b|social security"
)
_TIME = (
    r"(?:[T ,]{1,2}(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-6][0-9](?:\.[0-9]{1,9})?)?"
    r"(?: ?[AaPp][Mm]\b)?(?:Z\b| ?[+-][0-9]{2}:?[0-9]{2})?)?"
)
_DAY = re.compile(
    r"(?<![\w])(?<![0-9][.\-/+])(?:([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})"
    r"|([0-9]{1,2})([-/.])([0-9]{1,2})\6([0-9]{4}|[0-9]{2}))"
    + _TIME
    + r"(?![0-9]|[-/.][0-9]|[A-Za-z])"
)
_COMPACT_DAY = re.compile(r"(?<!\w)[0-9]{8}(?!\w)")
_MONTH = (
    "(?:" + "|".join(rf"{m[:3]}(?:{m[3:]})?" if len(m) > 3 else m for m in MONTHS) + r"|sept)\b\.?"
)
_DAY_FIRST = re.compile(
    rf"(?i)([0-9]{{1,2}})(?:st|nd|rd|th)?(?: |-|/)(?:of )?({_MONTH})"
    rf"(?:(?:,? |-|/)([0-9]{{4}}|[0-9]{{2}}(?=\b(?! ?[:%]))))?{_TIME}(?![0-9])"
)
_YEAR_FIRST = re.compile(
    rf"(?i)([12][0-9]{{3}})(?: |-|/)({_MONTH})(?: |-|/)([0-9]{{1,2}})(?:st|nd|rd|th)?\b{_TIME}"
)
_OTHER_MONTHS = re.compile(
    r"(?i)[0-9]{1,2}(?:er|\.)? (?:de )?(?:janvier|février|fevrier|mars|avril|mai|juin|juillet|août"
    r"|aout|septembre|octobre|novembre|décembre|decembre|januar|jänner|februar|märz|juni|juli"
    r"|oktober|dezember|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre"
    r"|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre"
    r"|januari|februari|maart|mei|augustus|janeiro|fevereiro|março|maio|junho|julho|setembro"
    r"|outubro|novembro|dezembro|april|august|september|november|stycznia|lutego|marca|kwietnia"
    r"|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia|января|февраля|марта"
    r"|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря|maj|augusti|oktober"
    r")(?: de)? [12][0-9]{3}(?![0-9])"
)
_BEFORE_DAY = re.compile(rf"(?i)(?<!\w)({_MONTH})[ -]{{1,2}}\Z")
_AFTER_MONTH = re.compile(
    rf"(?i)([0-9]{{1,2}})(?:st|nd|rd|th)?(?:(?:,? |, ?|-)([12][0-9]{{3}}))?\b(?!:){_TIME}"
)
_BIRTH = re.compile(
    r"(?i)(?:\b(?:born|birth(?:date|day)?|b-?day|dob|geboren|geburtsdatum|née?|naissance|nacimiento"
    r"|nacid[oa]|nascita|nascimento|nascid[oa]|geboortedatum|nat[oa] (?:a \S{2,20} )?il|geburtstag"
    r"|f\. ?nac|fecha_nac|urodzenia|urodzon[ya]|рождения|родил\w{1,3}|född|født|fødselsdato"
    r"|syntynyt|született|narozen[aí]?)\b|\bd\.o\.b|\bgeb\."
    r"|birth[_ ]?(?:date|day)|date[_ ]?of[_ ]?birth"
    r"|birthdt)[^0-9]{0,40}\Z"
)
_BIRTH_STEM = re.compile(
    r"b(?:orn|irth|-?day)|dob|d\.o\.b|geb|né|nai|na[cst]|urodz|рожд|родил|föd|fød|syn|szül|naro"
)
"""What every match of `_BIRTH` holds in lower case."""
_DATED = re.compile(r"(?i)\b(?:dated?|on|expir\w+|since|until|from|due)\b\W{0,3}\Z")

_SEP = r"(?:\) ?|\)-|[ .\-/]\(?|\(| \(| [/-] )?"
_EXT = r"(?: ?[,;]? ?(?:x|ext[.=]?|extension) ?[0-9]{1,6}\b)?"
_EDGE = r"(?<![\w$€£#])(?<![0-9][.,\-/])(?<![$€£] )"
_END = r"(?![0-9%])(?![.,\-/:][0-9])(?![A-Za-wyz_])"
_INTERNATIONAL = re.compile(
    rf"(?<![\w+.-])\(?(?:\+|00(?=[1-9]))\(?[1-9](?:{_SEP}[0-9]){{6,14}}{_EXT}{_END}"
)
_NATIONAL = re.compile(
    rf"(?:{_EDGE}|(?<=[0-9],)(?=\())"  # "720,(555)": a comma between two numbers, not in one
    r"(?:(?:(?:1|001|01)[ .\-]|1)?(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}([.\- ]))"
    r"[2-9][0-9]{2}[.\- ][0-9]{4}"
    r"|\(?0[1-9](?:[0-9]{0,3}\)? ?[0-9]{3,4}[ -][0-9]{3,4}|[0-9]{3}\)?[ -][0-9]{6}"
    r"|(?:[ .\-][0-9]{2}){4})"
    r"|0[1-9][0-9]{1,4} ?/ ?[1-9][0-9]{1,5}(?:[ -]?[0-9]{1,4}){1,3}"
    r"|8 ?\([0-9]{3}\) ?[0-9]{3}-[0-9]{2}-[0-9]{2}"
    r"|0[0-9]{1,4}-[0-9]{1,4}-[0-9]{4}(?<=[0-9-]{12})"
    r"|07[1-9][0-9]{8}|06[ -][0-9]{8}|0[1-9][0-9]{1,2}(?: [0-9]{2,3}){3})" + _EXT + _END
)
_LOOSE = re.compile(rf"{_EDGE}\(?\+?\(?[0-9](?:{_SEP}[0-9]){{5,14}}{_EXT}{_END}")
_PHONE_CONTEXT = re.compile(
    r"(?i)(?:(?<![^\W_])(?:tel|telephone|phones?|phone_?(?:number|no|nr)|mobile_?(?:number|no|phone)"
    r"|tlf|gsm|puh|puhelin|тел|телефон\w{0,3}|моб\w{0,8}|звон\w{1,4}|mobile|cell(?:phone)?|fax|desk|landline|hotline|whatsapp"
    r"|sms|voicemail|dial|telefon\w{0,8}|rufnummer|handy\w{0,8}|mobil\w{0,8}|festnetz|rufen|anrufen"
    r"|erreichbar|téléphone|telefono|teléfono|telefone|telefoon\w{0,6}|portable|móvil|movil|celular"
    r"|cellulare|telemóvel|telemovel|appelez|appeler|appelle|joindre|llam[ae]\w{0,3}|llámame"
    r"|llámeme|chiam[aio]\w{0,4}|bel|bellen|ligue|ligar|liga)(?![^\W_])"
    r"|\b(?:call|ring|text|reach|phone|contact|message|messages|answering|calling)(?: \w+){0,3}"
    r" (?:at|on|to|is)\b|\b(?:call|ring|dial|text)(?: me| us| him| her)?\b|\bmy number\b)"
    r"[^0-9\n]{0,24}\n?[^0-9\n]{0,4}\Z"
)
_PHONE_STEM = re.compile(
    "t[eé]l|phone|mobil|m[oó]vil|tlf|gsm|puh|тел|моб|звон|cel|fax|desk|landline|hotline|whatsapp|sms"
    "|voicemail|dial|ruf|handy|festnetz|erreich|portab|appel|joindre|ll[aá]m|chiam|bel|lig|call"
    "|ring|text|reach|contact|messag|answer|number"
)
"""What every match of `_PHONE_CONTEXT` holds in lower case: found in a tenth of the time."""
_OTHER_NUMBER = re.compile(
    r"(?i)\b(?:isbn(?:-1[03])?|issn|doi|arxiv|order|invoice|tracking|serial|model|part|case|ticket"
    r"|sku|upc|ean|ref|reference|account|licen[cs]e|card|version|id|pid|port|imei)\b"
    r"(?: (?:number|no|id|is))*[\s.:#]{0,4}\Z"
)
_IBAN_REST = re.compile(r"[0-9] ?[0-9](?:[ .\-\r\n\t>]{0,3}[A-Za-z0-9]){11,31}")
_SPREAD_COUNTRY = re.compile(r"(?<![A-Za-z0-9])[A-Z] [A-Z] \Z")
"""The country of an IBAN with a space after each character."""
_BANK_AFTER = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?(?![A-Za-z0-9])")
"""The code of a bank (BIC) that follows without a space."""


def _before(text: str, start: int) -> str:
    return text[max(0, start - BACK) : start]


def cards(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield payment cards in a chunk, in groups or not; those that share groups as one.

    Those of unknown issuers count only after words such as "card".

    Example:
        >>> text = "5728 5182 5450 2322 1537"  # two readings: which is the card, nobody can say
        >>> list(cards(text, 0, len(text)))
        [(0, 24, 'CARD')]
    """
    first = last = -1
    at = start
    while (m := _CARD.search(text, at, end + 1)) is not None:
        # The last group of another number may look like the first of a card.
        at = m.start() + 1
        if text[m.start() - 1 : m.start()].isalpha() and not _CARD_WORD.search(
            text, max(0, m.start() - 12), m.start()
        ):
            continue
        if m[1] not in (None, "-") and _TAIL.search(text, max(0, m.start() - 2), m.start()):
            continue
        # four groups and three digits more: a card of 19 digits, or one of 16 and another number
        shorter = len(m[0]) - 3 - len(m[1] or "")
        for size in (len(m[0]), shorter) if m[1] and m[0].count(m[1]) == 4 else (len(m[0]),):
            digits = "".join(filter(str.isdigit, m[0][:size]))
            if passes_luhn(digits) and (
                is_issued(digits) or _CARD_CONTEXT.search(_before(text, m.start()))
            ):
                if m.start() >= last:
                    if last >= 0:
                        yield first, last, "CARD"
                    first = m.start()
                last = max(last, m.start() + size)
                break
    if last >= 0:
        yield first, last, "CARD"


_BROKEN = re.compile(r"[0-9]\r?\n(?:> )?[0-9]{4}")
_ALL_BREAKS = 3
"""Line ends of a card whose groups stand in lines of their own, which a word must announce."""
_BROKEN_CARD = re.compile(
    r"(?<![\w.])[1-8][0-9]{3}(?=(?:[ -]?[0-9]){0,8}\r?\n)"
    r"(?:(?:[ -]|\r?\n(?:> )?)?[0-9]{4}){3}(?!\w)"
)
_SPREAD_CARD = re.compile(r"(?<![\w.])(?<![0-9] )[1-8](?: [0-9]){14,15}(?! ?\w)")


def broken_cards(text: str) -> Iterator[Span]:
    """Yield payment cards with a line end among their groups, or after each."""
    if "\n" in text and _BROKEN.search(text):
        for m in _BROKEN_CARD.finditer(text):
            digits = "".join(filter(str.isdigit, m[0]))
            broken = m[0].count("\n")
            said = broken == 1 or (
                broken == _ALL_BREAKS and _CARD_CONTEXT.search(_before(text, m.start()))
            )
            if said and passes_luhn(digits) and is_issued(digits):
                yield m.start(), m.end(), "CARD"


def other_cards(text: str) -> Iterator[Span]:
    """Yield payment cards whose groups are not apart by a space or a sign."""
    yield from tabbed_cards(text)
    yield from broken_cards(text)


def tabbed_cards(text: str) -> Iterator[Span]:
    """Yield payment cards whose groups are apart by tabs or underscores."""
    if "\t" in text or "_" in text:
        for m in _TABBED_CARD.finditer(text):
            yield from cards(text, m.start(), m.end() + 9)


def ibans(text: str, start: int) -> Iterator[Span]:
    """Yield the IBAN whose check digits begin at `start`, in groups or not, in either case."""
    spaced = text[start - 1] == " "
    begin = start - 2 - spaced
    country = text[max(0, begin) : max(0, begin) + 2]
    if spaced and _SPREAD_COUNTRY.search(text, max(0, start - 5), start):
        begin = start - 4
        country = text[begin] + text[begin + 2]
    length = IBAN_LENGTHS.get(country.upper())
    glued = begin > 0 and text[begin - 1].isalnum() and text[max(0, begin - 4) : begin] != "IBAN"
    if length is None or glued or not (m := _IBAN_REST.match(text, start)):
        return
    compact, end = "", start
    while end < m.end() and len(compact) < length - 2:
        compact += text[end] if text[end].isalnum() else ""
        end += 1
    glued = end < len(text) and text[end].isalnum() and not _BANK_AFTER.match(text, end)
    if not glued and is_iban(country + compact):
        yield begin, end, "IBAN"


def ssns(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield US social security numbers.

    They have hyphens, or come after words that announce one.
    """
    for m in _SSN.finditer(text, start, end + 2):
        glued = text[m.start() - 1 : m.start()].isalpha()
        announced = m[2] == "-" or (not glued and _SSN_CONTEXT.search(_before(text, m.start())))
        if announced and is_ssn(m[1] + m[3] + m[4]):
            yield m.start(), m.end(), "SSN"


def _kind_of_day(text: str, start: int) -> str:
    before = _before(text, start)
    is_birth = _BIRTH_STEM.search(before.lower()) and _BIRTH.search(before)
    return "DATE_OF_BIRTH" if is_birth else "DATE"


def numeric_days(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield dates in digits.

    Two-digit years need slashes, or words before them that announce a date.
    """
    for m in _DAY.finditer(text, start, min(len(text), end + AHEAD)):
        if m.start() >= end:
            return
        kind = _kind_of_day(text, m.start())
        if m[1]:
            valid = is_day(int(m[1]), int(m[3]), int(m[4]))
        else:
            plain = m[6] == "/" or len(m[8]) == 4
            announced = plain or kind != "DATE" or _DATED.search(_before(text, m.start()))
            valid = bool(announced) and is_numeric_day(m[8], m[5], m[7])
        if valid:
            yield m.start(), m.end(), kind


def compact_days(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a date of birth in eight digits, after words that announce one."""
    m = _COMPACT_DAY.match(text, start) if end - start == 8 else None
    if m and _kind_of_day(text, start) == "DATE_OF_BIRTH":
        whole = m[0]
        days = ((whole[:4], whole[4:6], whole[6:]), (whole[4:], whole[:2], whole[2:4]))
        if any(is_numeric_day(*day) for day in days):
            yield start, end, "DATE_OF_BIRTH"


_BEFORE_DAYS = frozenset(" -")
_NEAR_MONTH = re.compile(r"[0-9]{1,4}(?:[a-z]{2}|\.)?[ /-][^\W\d]", re.IGNORECASE)


def month_days(text: str, start: int) -> Iterator[Span]:
    """Yield the date with an English month name around the number at `start`.

    Without a year it counts only as a date of birth.
    """
    before = text[start - 1] if start else ""
    if before.isalnum() or before in {"_", "."}:
        return
    if (m := _OTHER_MONTHS.match(text, start)) and _kind_of_day(text, start) == "DATE_OF_BIRTH":
        yield start, m.end(), "DATE_OF_BIRTH"
    elif m := _DAY_FIRST.match(text, start):
        yield from _month_day(text, start, m.end(), m[1], m[2], m[3])
    elif m := _YEAR_FIRST.match(text, start):
        yield from _month_day(text, start, m.end(), m[3], m[2], m[1])
    elif before and before in " -":
        month = _BEFORE_DAY.search(text, max(0, start - 12), start)
        if month and (m := _AFTER_MONTH.match(text, start)):
            yield from _month_day(text, month.start(), m.end(), m[1], month[1], m[2])


def _month_day(
    text: str, start: int, end: int, day: str, month: str, year: str | None
) -> Iterator[Span]:
    kind = _kind_of_day(text, start)
    number = next(i for i, name in enumerate(MONTHS, 1) if name[:3] == month[:3].lower())
    full = 2000 if year is None else int(year) if len(year) == 4 else 2000 + int(year)
    if (year or kind == "DATE_OF_BIRTH") and is_day(full, number, int(day)):
        yield start, end, kind


def phones(text: str, start: int, end: int, taken: list[Span]) -> Iterator[Span]:
    """Yield telephone numbers: international, in a national form, or announced by words.

    Args:
        taken: other identifiers in the chunk, which no number overlaps.
    """
    begin, stop = max(0, start - 3), min(len(text), end + AHEAD)
    found = []
    if text.find("+", begin, end) >= 0 or text.find("00", begin, end) >= 0:
        found = [
            m.span()
            for m in _INTERNATIONAL.finditer(text, begin, stop)
            if m.start() < end and _is_dialled(m[0]) and not _meets(m, taken)
        ]
    # without a sign between its digits only a British mobile has a form of its own
    if not text[start:end].isdigit() or text.startswith("07", start):
        found += [
            m.span()
            for m in _NATIONAL.finditer(text, begin, stop)
            if m.start() < end
            and not any(m.start() < last and first < m.end() for first, last in found)
        ]
    if found:
        if text.find("(", start, end) >= 0:
            # What looks like a code before "(555)" may be the end of the number before it.
            codes = [(m, last) for m, last in ((_CODE_BEFORE.match(text, *s), s[1]) for s in found)]
            found += [(m.end(1), last) for m, last in codes if m]
        found = [s for s in found if not any(s[0] < e and b < s[1] for b, e, _ in taken)]
    if found:
        # Words before a chunk announce its first number only: "order 118-77-1949. (555) 234-5009".
        other = _OTHER_NUMBER.search(text, max(0, start - BACK), start) is not None
        yield from ((first, last, "PHONE") for first, last in found if not other or first > start)
        return
    m = _LOOSE.search(text, begin, stop)
    if (
        m
        and m.start() <= start
        and not _meets(m, taken)
        and _PHONE_STEM.search(_before(text, start).lower())
        and _PHONE_CONTEXT.search(text, max(0, start - BACK), start)
        and not _OTHER_NUMBER.search(text, max(0, start - BACK), start)
    ):
        yield m.start(), m.end(), "PHONE"


_CODE_BEFORE = re.compile(r"(0?0?1 ?)\([0-9]{3}\)")


def _meets(m: re.Match[str], spans: list[Span]) -> bool:
    return any(m.start() < end and start < m.end() for start, end, _ in spans)


_SHORTEST_ABROAD = 10
"""Digits after `00` of a telephone number in another country."""


def _is_dialled(number: str) -> bool:
    written = "".join(filter(str.isdigit, re.split("[xe,;]", number)[0]))
    digits = written.removeprefix("00")
    code = calling_code(digits)
    enough = digits == written or len(digits) >= _SHORTEST_ABROAD
    return enough and code is not None and (code != "1" or len(digits) == 11)


def in_chunk(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield every identifier made of digits in one chunk.

    Telephone numbers, whose patterns are the widest, are dropped where another kind was found.
    """
    size, before = end - start, text[start - 1] if start else ""
    found: list[Span] = []
    if size <= 7 and (before in _BEFORE_DAYS or _NEAR_MONTH.match(text, start)):
        yield from month_days(text, start)
    if start > 1 and (before.isalpha() or (before == " " and text[start - 2].isupper())):
        found = list(ibans(text, start))
        yield from found
    if size < 6:
        return
    specific = list(_specific(text, start, end, size))
    yield from specific
    found += specific
    if size >= 7:
        yield from phones(text, start, end, found)


def _specific(text: str, start: int, end: int, size: int) -> Iterator[Span]:
    if size >= 12:
        yield from cards(text, start, end)
        if text[start + 1] == " " and (spread := _SPREAD_CARD.match(text, start)):
            digits = spread[0].replace(" ", "")
            if passes_luhn(digits) and is_issued(digits):
                yield start, spread.end(), "CARD"
    if size >= 9:
        yield from ssns(text, start, end)
    if text[start:end].isdigit():
        yield from compact_days(text, start, end)
    else:
        yield from numeric_days(text, start, end)
