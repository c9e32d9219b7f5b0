"""Numbers that a word before them announces, in seven languages: they count without proof.

A word such as "passport" or "Kundennummer" says what the number after it is; check digits are not
asked for, since a mistyped number is private too. Everything is read backwards from a number, over
a bounded length. The head of a column announces the cells below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

Span = tuple[int, int, str]

BACK = 56
"""Characters before a number that are searched for a word which announces it."""

_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|[A-Z]")
_HUMP = re.compile("[a-z][A-Z]")
_NUMBERING = (
    r"n\.o|number|numbers|no|nos|nr|num|nbr|id|ids|code|ref|reference|nummer|numero|número|numéro|n"
    "|núm|nro|numer"
)
_GAP = re.compile(
    rf"(?:[\s_.,:#=°º'\"()/-]{{0,4}}(?:(?<![^\W_])|(?<=[a-z])(?=[A-Z]))"
    rf"(?:(?P<numbering>(?i:{_NUMBERING})(?!-?[0-9]))"
    r"|s|is|was|are|ist|lautet|war|est|es|è|é|e|[Cc]ard|[Kk]arte|carte|scheme|de|du|del|der|da|do"
    r"|the|of|his|her|my|español[a]?|italian[oa]|français|francés|portugu[eê]s|deutscher|british"
    r"|[A-Z]{2,3}(?=\))|client|clienti|cliente|dossier|compte|cuenta|conto"
    r"|conta|серия|номер|patient|assuré|for|für|fürs|zum|[Tt]oken|[Aa]pp|[Ss]afe|door|phone|sim|SIM)"
    r"(?![^\W_])){0,4}"
    # a question, and who answers it
    r"(?:[?.:]{0,2}\r?\n{1,2}(?:\[[0-9:]{4,8}\] ?)?[^\W\d_][\w ]{0,20}: "
    r"(?:(?i:it['’]?s|it is|sure|yes|ok|das ist|es ist|c['’]est|es el)[ ,]{1,2}){0,2})?"
    r"(?P<sign>(?:&nbsp;|[\s_.,:#=°º'\"()>\\\]-]){0,8})"
)
_RUN = r"[A-Za-z0-9]+(?:[-./:*_][A-Za-z0-9*]+)*"
_GROUPS = re.compile(rf"{_RUN}(?: (?:[A-Z0-9]*[0-9][A-Z0-9./-]*)(?![\w])){{0,6}}")
_WITH_LETTERS = re.compile(  # letters behind a full stop begin a sentence
    rf"{_RUN}(?:(?: |-)(?:[A-Z0-9]*[0-9][A-Z0-9./-]*|(?<!\. )[A-Z]{{1,3}})(?![\w])){{0,6}}"
)
_DIGITS_ONLY = re.compile(r"[0-9](?:[ ./-]?[0-9])*+(?![A-Za-z0-9])")
_CASED = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9*-]|[ ](?=[0-9])){3,24}")
_NATIONAL_SSN = re.compile(r"[0-9]{3}(?: ?[-./] ?| )?[0-9]{2}(?: ?[-./] ?| )?[0-9]{4}(?![0-9])")
_PLATE = re.compile(
    r"[A-ZÄÖÜ0-9]{1,7}(?:[- ·]{1,2}(?:[A-Z]{1,3}(?![A-Za-z])|[A-Z0-9]*[0-9][A-Z0-9]*)){0,3}"
)
_VIN = re.compile(r"[A-HJ-NPR-Za-hj-npr-z0-9]{11,17}(?![A-Za-z0-9])")
_DEVICE = re.compile(r"[0-9](?:[ ./-]?[0-9]){13,19}(?![0-9])")
_RU_PASSPORT = re.compile(r"[0-9]{2} ?[0-9]{2}(?:,? ?(?:№|[Nn]o?\.?|номер) ?| )[0-9]{6}(?![0-9])")
_DOTTED = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3}){2,3}(?![0-9.,])")
_PAN = re.compile(r"[A-Z]{5}[0-9]{4}[A-Z](?![A-Za-z0-9])")
_SIN = re.compile(r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3}(?![0-9-])")
_RFC = re.compile(r"[A-ZÑ&]{3,4}-?[0-9]{6}-?[A-Z0-9]{3}(?![A-Za-z0-9])")
_HKID = re.compile(r"[A-Z]{1,2}[0-9]{6} ?\(?[0-9A]\)?(?![A-Za-z0-9])")
_UK_PLATE = re.compile(r"[A-Z]{2}[0-9]{2} ?[A-Z]{3}(?![A-Za-z0-9])")
_FR_PLATE = re.compile(r"[A-Z]{2}[- ]?[0-9]{3}[- ]?[A-Z]{2}(?![A-Za-z0-9])")
_OF_CARS = re.compile(
    r"(?:[A-Z]{2}[0-9]{2} ?[A-Z]{3}|[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?[0-9]{1,4}[EH]?"
    r"|[A-Z]{2}[- ][0-9]{3}[- ][A-Z]{2}|[0-9][A-Z]{3}[0-9]{3})(?![A-Za-z0-9-])"
)
_WHOLE_VIN = re.compile(r"[A-HJ-NPR-Z0-9]{17}(?![A-Za-z0-9])")
_MEID = re.compile(r"[0-9A-Fa-f]{14}(?![A-Za-z0-9])|[0-9]{11,18}(?![A-Za-z0-9])")
_DOCKET = re.compile(r"(?:[0-9]:)?[0-9]{2}-[A-Za-z]{2}-[0-9]{3,6}(?:-[A-Z]{2,4}){0,3}")
_TRACKING = re.compile(
    r"(?:1Z[0-9A-Z]{16}|[0-9]{12,22}|[A-Z]{2}[0-9]{9}[A-Z]{2}|[0-9]{4}(?: [0-9]{4}){2,4})"
    r"(?![A-Za-z0-9])"
)
_VAT = re.compile(r"[A-Z]{2} ?[0-9](?: ?[0-9A-Z]){7,11}(?![A-Za-z0-9])")
_SORT_CODE = re.compile(r"[0-9]{2}[- ][0-9]{2}[- ][0-9]{2}(?![0-9-])")
_BSB = re.compile(r"[0-9]{3}[- ]?[0-9]{3}(?![0-9-])")
_IFSC = re.compile(r"[A-Z]{4}0[A-Z0-9]{6}(?![A-Za-z0-9])")
_SERIAL = re.compile(
    r"(?=[A-Z-]{0,18}[0-9])(?=[0-9-]{0,18}[A-Z])[A-Z0-9](?:[A-Z0-9-]){5,19}(?![A-Za-z0-9])"
)
_BOOKING = re.compile(r"(?=[A-Z]{0,6}[0-9])[A-Z0-9]{6,7}(?![A-Za-z0-9-])")
_PIN = re.compile(r"[0-9]{4,8}(?![\w.,:/-]?[0-9A-Za-z])")
_CODE = re.compile(r"(?:[0-9]{3}[ -][0-9]{3}|[0-9]{4,8})(?![\w.,:/-]?[0-9A-Za-z])")
_EXTENSION = re.compile(r"[0-9]{3,6}(?![\w.,:/-]?[0-9A-Za-z])")
_CARD_CODE = re.compile(r"[0-9]{3,4}(?![\w.,:/-]?[0-9A-Za-z])")
_TICKET = re.compile(r"[A-Z]{2,6}-?[0-9]{3,10}(?![\w-])")
_ROUTING = re.compile(r"[0-9]{9}(?![0-9-])")
_DEGREES = re.compile(r"[+-]?[0-9]{1,3}\.[0-9]{2,}(?:,\s?[+-]?[0-9]{1,3}\.[0-9]{2,})?")


class _Form(NamedTuple):
    """What a word announces: a kind, the form of its values, and how many digits they have.

    `numbered`: the word alone does not announce a number, "number", "ID", ":" or "#" must follow.
    """

    kind: str
    value: re.Pattern[str]
    n_digits: int
    numbered: bool = False


def _table() -> dict[str, _Form]:
    """Return what each word, or two words with a space between, announces."""
    rows = (
        (_Form("SSN", _NATIONAL_SSN, 9), "ssn ssns|social security"),
        (_Form("PHONE", _EXTENSION, 3), "ext extn durchwahl"),
        (_Form("PHONE", _EXTENSION, 3, numbered=True), "extension"),
        (
            _Form("PASSPORT", _CASED, 3),
            "passport passportno reisepass reisepassnummer passnummer passeport pasaporte"
            " passaporto paspoort paspoortnummer passaporte",
        ),
        (
            _Form("LICENCE", _CASED, 4),
            "führerschein fuehrerschein führerscheinnummer rijbewijs rijbewijsnummer"
            "|de permis|pilot licence|pilot license|driver licence"
            "|driver license|drivers licence|drivers license|s license|s licence"
            "|driving licence|driving license|de conduire|de conducir|de condução|di guida"
            "|carteira nacional",
        ),
        (
            _Form("NATIONAL_ID", _WITH_LETTERS, 4),
            "nino steuernummer steueridentifikationsnummer identifikationsnummer steueridnr"
            " sozialversicherungsnummer rentenversicherungsnummer svnr personalausweis"
            " personalausweisnummer ausweisnummer bsn burgerservicenummer sofinummer dni nie nif"
            " cpf cnpj curp cuil cuit pesel personnummer henkilötunnus aadhaar aadhar tfn"
            " insee nir itin ein contribuinte ahv oasi idnummer sécu rut fødselsnummer fødselsnr"
            " idnr steuerid rvnr rijksregisternummer rijksregister personnr nip regon nric kimlik"
            " ppsn pps cnp oib egn amka hetu jmbg isikukood kennitala nuip cédula cedula afm"
            " инн снилс иин рнокпп іпн унп егн лнч емшо αφμ αμκα αδτ emšo"
            " samordningsnummer|sv nr|ausweis nr|n ss|numéro national|sv nummer|id number"
            "|asmens kodas|voter id|emirates id"
            "|ust idnr|vat number|vat id|national insurance|ni number|ni no|steuer id"
            "|steuer identifikationsnummer|p iva|partita iva"
            "|sécurité sociale|securite sociale|codice fiscale|pan card|pan number"
            "|tax file|tax id|tax number|taxpayer identification|national id|national identity"
            "|identity card|social insurance|carte identité|d identité|documento nacional"
            "|seguridad social|segurança social|rodné číslo|ahv nummer|cpr nummer|cpr number"
            "|personal identity|id card|sin number|sin no|cartão cidadão|carta identità"
            "|d identità"
            "|ת ז|תעודת זהות|номер паспорта|numer dowodu|dowód osobisty|personas kods|matični broj",
        ),
        (_Form("PASSPORT", _RU_PASSPORT, 10), "паспорт паспорта паспортом серия"),
        (_Form("NATIONAL_ID", _DOTTED, 7), "cc ti|c c|cédula ciudadanía|de ciudadanía"),
        (_Form("NATIONAL_ID", _WITH_LETTERS, 7), "rg"),
        (
            _Form("NATIONAL_ID", _WITH_LETTERS, 7),
            "aufenthaltstitel|green card|alien number|alien registration|uscis number|resident card"
            "|residence permit|visa number|visa no|permit number|titre séjour|de séjour",
        ),
        (_Form("MEDICAL", _WITH_LETTERS, 4, numbered=True), "rx prescription rezept"),
        (_Form("NATIONAL_ID", _PAN, 4), "pan"),
        (_Form("NATIONAL_ID", _SIN, 9), "sin"),
        (_Form("NATIONAL_ID", _RFC, 6), "rfc"),
        (_Form("NATIONAL_ID", _HKID, 6), "hkid"),
        (_Form("PLATE", _UK_PLATE, 2), "reg registration"),
        (_Form("PLATE", _OF_CARS, 1), "auto wagen pkw kfz fahrzeug car vehicle voiture coche"),
        (_Form("LICENCE", _CASED, 4), "|license number|licence number|license no|licence no"),
        (_Form("PASSPORT", _CASED, 4), "|pass nr"),
        (_Form("ID", _WITH_LETTERS, 2, numbered=True), "az"),
        (_Form("ID", _GROUPS, 3), "|personal nr|kunden nr|mitglieds nr|vertrags nr|kd nr"),
        (_Form("INSURANCE", _WITH_LETTERS, 4), "|versicherten nr|versicherungs nr|vers nr"),
        (_Form("PLATE", _FR_PLATE, 3), "plaque"),
        (_Form("ACCOUNT", _SORT_CODE, 6), "sort"),
        (_Form("ACCOUNT", _BSB, 6), "bsb"),
        (_Form("ACCOUNT", _IFSC, 1), "ifsc"),
        (_Form("NATIONAL_ID", _VAT, 8), "vat"),
        (_Form("ID", _BOOKING, 1), "pnr"),
        (_Form("DEVICE", _SERIAL, 1), "|s n"),
        (_Form("LICENCE", _CASED, 4, numbered=True), "dl patente permis"),
        (_Form("ACCOUNT", _DIGITS_ONLY, 18), "clabe rib"),
        (_Form("ACCOUNT", _DIGITS_ONLY, 10), "nuban"),
        (_Form("VEHICLE", _WHOLE_VIN, 4), "chassis"),
        (_Form("DEVICE", _MEID, 6), "meid esn"),
        (_Form("ID", _DOCKET, 5), "docket"),
        (_Form("ID", _TRACKING, 8), "tracking"),
        (_Form("ID", _GROUPS, 4, numbered=True), "badge"),
        (_Form("ACCOUNT", _DIGITS_ONLY, 6, numbered=True), "|a c"),
        (_Form("ID", _WITH_LETTERS, 2, numbered=True), "serial"),
        (
            _Form("ACCOUNT", _DIGITS_ONLY, 6),
            "kontonummer kontonr blz bankleitzahl rekeningnummer aba sortcode"
            "|sort code|bank code|routing number|routing no|routing transit|transit number"
            "|de compte|de cuenta|di conto|da conta|de conta",
        ),
        (
            _Form("ACCOUNT", _DIGITS_ONLY, 6, numbered=True),
            "account acct acc konto kto rekening accountnumber",
        ),
        (_Form("ACCOUNT", _ROUTING, 9), "routing"),
        (
            _Form("MEDICAL", _WITH_LETTERS, 3),
            "mrn patientennummer patientnumber patientid patiëntnummer fallnummer"
            " npi kvnr|dea number|dea no|medical record|medical records|health record|nhs number"
            "|nhs no|hospital number|hospital no|chart number|chart no|patient no",
        ),
        (
            _Form("MEDICAL", _WITH_LETTERS, 3, numbered=True),
            "patient patiente patienten paciente paziente nhs chart",
        ),
        (
            _Form("INSURANCE", _WITH_LETTERS, 4),
            "versichertennummer krankenversichertennummer versicherungsnummer"
            " versicherungsscheinnummer policennummer polisnummer"
            "|insurance policy|policy number|policy no|member id|member number|subscriber id"
            "|group number|group no|medicare card|health insurance|medicare number|medicaid number"
            "|medicaid id|medicare id|d assuré"
            "|de sinistre|de siniestro|schaden nr"
            "|de póliza|de poliza|di polizza|da apólice|de police|tarjeta sanitaria",
        ),
        (
            _Form("INSURANCE", _WITH_LETTERS, 4, numbered=True),
            "medicare medicaid insurance policy subscriber",
        ),
        (
            _Form("PLATE", _PLATE, 2),
            "kennzeichen nummernschild autokennzeichen immatriculation immatriculée immatriculé"
            " matrícula matricula targa kenteken"
            "|license plate|licence plate|number plate|registration plate|vehicle registration"
            "|car registration|plate number|plate no|registration number|registration mark",
        ),
        (_Form("PLATE", _PLATE, 2, numbered=True), "plate"),
        (
            _Form("VEHICLE", _VIN, 3),
            "vin fahrgestellnummer fahrzeugidentifikationsnummer fin bastidor telaio"
            "|chassis number|chassis no|de châssis|di telaio",
        ),
        (_Form("DEVICE", _DEVICE, 14), "imei imeis imeisv imsi iccid"),
        (
            _Form("ID", _GROUPS, 3),
            "kundennummer kundennr klantnummer dossiernummer zaaknummer"
            " schwerbehindertenausweis dienstausweis truppenausweis studentenausweis schülerausweis"
            " mitgliedsausweis firmenausweis vorgangsnummer vertragskonto personalnummer"
            " matrikelnummer mitgliedsnummer"
            " vertragsnummer"
            " customerid customernumber clientid caseid casenumber employeeid matricule"
            " expediente accountid vertragsnr",
        ),
        (
            _Form("ID", _GROUPS, 3, numbered=True),
            "customer customers client clients case claim employee student staff member kunde"
            " dossier cliente processo pratica fall klant",
        ),
        (
            _Form("ID", _WITH_LETTERS, 2),
            "aktenzeichen geschäftszeichen seriennummer buchungsnummer sendungsnummer"
            "|serial number|serial no|ticket number|ticket no|ticket id|booking reference"
            "|frequent flyer|flyer number|loyalty card|loyalty number|membership number|serial nr"
            "|booking ref|booking number|reservation number|tracking number|confirmation number",
        ),
        (_Form("ID", _TICKET, 3), "ticket tickets incident"),
        (_Form("COORDINATES", _DEGREES, 3), "gps coordinates koordinaten coordonnées coordenadas"),
        (
            _Form("COORDINATES", _DEGREES, 3),
            "lat latitude lon lng long longitude breitengrad längengrad",
        ),
        (
            _Form("KEY", _PIN, 4),
            "pin pincode lockbox|key safe|pin code|pin number|atm pin|unlock pin|sim pin|card pin"
            "|my pin|his pin|her pin|their pin|phone pin|debit pin|account pin|login pin"
            "|voicemail pin",
        ),
        (
            _Form("KEY", _CODE, 4),
            "otp tan mtan bestätigungscode sicherheitscode verificatiecode"
            "|verification code|security code|confirmation code|login code|access code|auth code"
            "|de vérification|de verificación|di verifica|de verificação",
        ),
        (_Form("KEY", _CARD_CODE, 3), "cvv cvc kartenprüfnummer"),
    )
    found: dict[str, _Form] = {}
    for form, names in rows:
        single, *pairs = names.split("|")
        for name in (*single.split(), *pairs):
            found[name] = form
    for name in [name for name in found if name.endswith("nummer")]:
        stem = name.removesuffix("nummer")
        found.setdefault(f"{stem}nr", found[name])
        found.setdefault(f"{stem} nr", found[name])
    return found


_TABLE = _table()
_ALONE = frozenset(name for name in _TABLE if " " not in name)
_SECOND = frozenset(name.partition(" ")[2] for name in _TABLE if " " in name)
_WORDS = _ALONE | _SECOND
_ABBREVIATED = frozenset(
    "cc ti rg nie ein dni nir sin fin pin aba npi ahv svnr insee tan rut pan rfc dl rib nip"
    " cnp pps afm egn".split()
)
"""Names in capitals that are words in lower case."""
_OWNER = re.compile(
    r"(?i)\b(?:my|his|her|their|our|atm|unlock|sim|card|phone|debit|account|login|voicemail|code|código"
    r"|codice|mon|mi|meine?|mio|meu|mijn|il|el|le|die|de) \Z"
)
_SIGN = re.compile("[#:=]")


def by_words(text: str, lowered: str, start: int, end: int) -> Span | None:
    """Return the value that holds the chunk of digits from `start` to `end`, if it is announced."""
    low = start - BACK if start > BACK else 0
    head = lowered[low:start]
    words = _WORD.findall(head)
    if not _WORDS.isdisjoint(words) and _is_announcing(words):
        found = _announced(text, low, list(_WORD.finditer(head)), start, end)
        if found:
            return found
    if text.startswith(" (", end) and (found := _named_behind(text, start, end)):
        return found
    if _HUMP.search(text, low, start):  # socialSecurityNumber
        return _announced(text, 0, list(_CAMEL.finditer(text, low, start)), start, end)
    return None


_BEHIND = re.compile(r" \((?:(?:my|his|her|the|our) )?([^\W\d_]{2,30}(?: [^\W\d_]{2,20})?)\)")
_TOKEN_BEFORE = re.compile(r"(?<![\w-])[A-Z-]{1,6}\Z")


def _named_behind(text: str, start: int, end: int) -> Span | None:
    """Return the value around a chunk of digits whose name stands in brackets behind it."""
    name = _BEHIND.match(text, end)
    form = _TABLE.get(name[1].lower()) if name else None
    if form is None:
        return None
    letters = _TOKEN_BEFORE.search(text, max(0, start - 7), start)
    first = letters.start() if letters else start
    m = form.value.match(text, first)
    enough = m and sum(c.isdigit() for c in m[0]) >= max(form.n_digits, _FEWEST_BEHIND)
    return (first, m.end(), form.kind) if m and enough and m.end() == end else None


_FEWEST_BEHIND = 5


def _is_announcing(words: list[str]) -> bool:
    """Return True if one of some words announces a value, alone or with the one before it."""
    if not _ALONE.isdisjoint(words):
        return True
    return any(f"{one} {two}" in _TABLE for one, two in pairwise(words) if two in _SECOND)


def _announced(
    text: str, low: int, words: list[re.Match[str]], start: int, end: int
) -> Span | None:
    """Return the value that the last of some words announces; they are found from `low` on."""
    for i in range(len(words) - 1, -1, -1):
        word = words[i][0].lower()
        at = low + words[i].start()
        if word not in _WORDS or text[max(0, at - 1) : at].isdigit():  # part of a hash
            continue
        pair = f"{words[i - 1][0].lower()} {word}" if i else word
        form = _TABLE.get(pair) or _TABLE.get(word)
        if form and (span := _value(text, at, word, form, start, end)):
            return span
    return None


def _value(text: str, at: int, word: str, form: _Form, start: int, end: int) -> Span | None:
    """Return the value after the word at `at`, if it is of the form and holds the chunk."""
    gap = _GAP.match(text, at + len(word))
    if gap is None:
        return None
    plainly = end - start >= _PLAINLY_LONG and text[start:end].isdigit()
    first = gap.end()
    coded = bool(_CODED.match(text, first)) and not _ISO_DAY.match(text, first)
    coded = coded or bool(form.kind == "PLATE" and _OF_CARS.match(text, first))
    if form.numbered and not (plainly or coded or gap["numbering"] or _SIGN.search(gap["sign"])):
        return None
    lower = word in _ABBREVIATED and text[at : at + len(word)] != word.upper()
    owner = _OWNER.search(text, max(0, at - 12), at) if lower and word == "pin" else None
    if lower and not (word == "pin" and (owner or gap["numbering"])):
        return None
    if form.value is _DEGREES and text[first - 1] == "-":
        first -= 1
    m = form.value.match(text, first)
    if m is None or not (m.start() <= start < m.end()):
        return None
    last = first + len(m[0].rstrip(" .-/:*"))
    enough = sum(c.isdigit() for c in text[first:last]) >= form.n_digits
    long = form.kind == "PLATE" and last - first > _LONGEST_PLATE
    return (first, last, form.kind) if enough and not long else None


_CODED = re.compile(
    r"(?:(?=(?:[A-Z/-]{0,6}[0-9]){6})[A-Z0-9]+(?:[-/][A-Z0-9]+)+|[A-Z]{1,2}-[0-9]{4,9}"
    r"|[A-Z]{2,4}-?[0-9]{6,10})(?![\w-])"
)
"""A number with six digits or more and a hyphen, or with a letter before it, which a word such as
"policy" announces.
"""
_ISO_DAY = re.compile("[12][0-9]{3}-[01][0-9]-[0-3][0-9]")
_LONGEST_PLATE = 12
_PLAINLY_LONG = 8
"""Digits of a number that needs no "number" or ":" after a word such as "account"."""
_LAST_FOUR = re.compile(
    r"(?i)\blast (?:four|4)\b(?: digits)?(?: (?:of|on) (?:[a-z]{2,12} ){1,4}?)?"
    r"(?:\)[:=]? ?|\s?[:=]\s?| ?(?:is|are|were) )([0-9]{4})(?!\w|[.,-][0-9])"
    r"|\b(?:card|visa|mastercard|amex|acct|ssn)\b[^\n.]{0,30}?"
    r"\b(?:ending|ends) (?:in|with) ([0-9]{4})(?!\w|[.,-][0-9])"
)


def by_other_words(text: str, lowered: str) -> Iterator[Span]:
    """Yield what the heads of columns announce, and the last digits of numbers."""
    yield from last_four(text, lowered)
    if "iban" in lowered:
        for m in _SAID_IBAN.finditer(text):
            yield m.start(1), m.end(1), "IBAN"


_SAID_IBAN = re.compile(
    r"\b(?i:iban)\b(?i:(?: (?:is|no\.?|number|for|to|von|lautet))?[:=]?) ?"
    r"((?=(?:[A-Z ]{0,6}[0-9]){6})[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)"
    r"(?![A-Za-z0-9])"
)
"""An IBAN by name, though its check digits are wrong."""


def last_four(text: str, lowered: str) -> Iterator[Span]:
    """Yield the last four digits of a number, where a sentence says that they are these."""
    if "last four" in lowered or "last 4" in lowered or " end" in lowered:
        for m in _LAST_FOUR.finditer(text):
            group = m.lastindex or 1
            yield m.start(group), m.end(group), "ACCOUNT"


_CELL = re.compile(r"\s{0,4}[\"']?([^\"'\n]{0,200}?)[\"']?\s{0,4}\Z")
_IN_TABLES: dict[str, tuple[str, re.Pattern[str]]] = {
    **dict.fromkeys(
        ("dob", "birth", "birthdate", "birthday", "geburtsdatum", "geboren", "naissance"),
        (
            "DATE_OF_BIRTH",
            re.compile(r"[0-9]{1,4}[-/. ][0-9A-Za-z]{1,9}[-/. ]{1,2}[0-9]{1,4}|[0-9]{8}"),
        ),
    ),
    **dict.fromkeys(
        ("phone", "mobile", "tel", "telephone", "cell", "telefon", "handy", "téléphone", "fax"),
        ("PHONE", re.compile(r"\+?[0-9(][0-9 ()./-]{5,18}[0-9]")),
    ),
    **dict.fromkeys(
        ("password", "passwort", "token", "apikey", "secret", "pin"),
        ("KEY", re.compile(r"\S{4,200}")),
    ),
    **dict.fromkeys(
        ("address", "street", "adresse", "anschrift", "straße"),
        ("ADDRESS", re.compile(r"(?=.{0,60}[0-9]).{5,120}")),
    ),
    **dict.fromkeys(
        ("zip", "postcode", "plz", "zipcode"), ("POSTCODE", re.compile(r"[A-Z0-9][A-Z0-9 -]{3,9}"))
    ),
    **dict.fromkeys(("ssn", "social"), ("SSN", re.compile(r"[0-9]{3}-?[0-9]{2}-?[0-9]{4}"))),
    **dict.fromkeys(
        ("account", "iban"), ("ACCOUNT", re.compile(r"(?=(?:[A-Z ]{0,4}[0-9]){6})[A-Z0-9 -]{6,34}"))
    ),
}
"""What the head of a column says, beside the words that announce a value."""
_SEVERAL_CELLS = 2
_LONGEST_HEAD = 400


def by_columns(text: str) -> Iterator[Span]:
    """Yield the cells of tables whose heads announce them, in CSV, tabs or Markdown.

    A head is a line without digits whose cells are apart by one sign; the lines after it with as
    many cells are its rows.
    """
    heads: list[tuple[str, re.Pattern[str], int] | None] = []
    sign, at = "", 0
    for line in text.split("\n"):
        cells = line.split(sign) if sign else []
        if heads and len(cells) == len(heads):
            yield from _cells(cells, heads, at)
        else:
            sign, heads = _head(line)
        at += len(line) + 1


def _cells(
    cells: list[str], heads: list[tuple[str, re.Pattern[str], int] | None], at: int
) -> Iterator[Span]:
    """Yield the cells of a row that begins at `at`."""
    for cell, head in zip(cells, heads, strict=True):
        if head and (inner := _CELL.match(cell)):
            kind, pattern, n_digits = head
            value = inner[1]
            if pattern.fullmatch(value) and sum(map(str.isdigit, value)) >= n_digits:
                yield at + inner.start(1), at + inner.end(1), kind
        at += len(cell) + 1


def _head(line: str) -> tuple[str, list[tuple[str, re.Pattern[str], int] | None]]:
    """Return the sign between the cells of a head and what each announces; empty for others."""
    if len(line) > _LONGEST_HEAD or not _SEPARATOR.search(line) or _ANY_DIGIT.search(line):
        return "", []
    sign = max(",;\t|", key=line.count)
    # a sentence has more words between its commas
    if line.count(" ") > _MOST_WORDS * (line.count(sign) + 1):
        return "", []
    heads = [_announces(cell) for cell in line.split(sign)]
    n_named = len(heads) if sign in "|\t" else sum(map(bool, map(str.strip, line.split(sign))))
    return (sign, heads) if n_named >= _SEVERAL_CELLS and any(heads) else ("", [])


def _announces(cell: str) -> tuple[str, re.Pattern[str], int] | None:
    """Return the kind, the form and the number of digits of what the head of a column says."""
    words = [m[0].lower() for m in _CAMEL.finditer(cell)]
    if not 1 <= len(words) <= _MOST_WORDS:
        return None
    for i, word in enumerate(words):
        form = (_TABLE.get(f"{words[i - 1]} {word}") if i else None) or _TABLE.get(word)
        if form:
            return form.kind, form.value, form.n_digits
        if word in _IN_TABLES:
            return (*_IN_TABLES[word], 0)
    return None


_MOST_WORDS = 4
_SEPARATOR = re.compile("[,;\t|]")
_ANY_DIGIT = re.compile("[0-9]")
_CASELESS = (
    (
        "PHONE",
        re.compile(r"\+?[0-9][0-9 ()-]{5,16}[0-9]"),
        "手机 手機 电话 電話 携帯 전화 휴대폰 연락처",
    ),
    (
        "NATIONAL_ID",
        re.compile(r"[0-9][0-9-]{6,18}[0-9Xx]"),
        "身份证 身份證 マイナンバー 주민등록번호",
    ),
    (
        "KEY",
        re.compile(r"[!-~]{4,64}"),
        "密码 密碼 口令 パスワード 暗証番号 비밀번호",
    ),
    ("PASSPORT", re.compile(r"[A-Z]{0,2}[0-9]{6,9}"), "护照 護照 旅券 パスポート 여권"),
    (
        "DATE_OF_BIRTH",
        re.compile(r"[0-9]{4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}日?"),
        "生年月日 出生 生日 생년월일",
    ),
    ("SSN", _NATIONAL_SSN, "社会保障 社會保障"),
    (
        "POSTCODE",
        re.compile(r"[0-9]{3}-?[0-9]{4}(?![0-9])|[0-9]{5,6}(?![0-9])"),
        "〒 郵便番号 邮编",
    ),
    ("ID", re.compile(r"[A-Z0-9-]{4,20}"), "客户编号 客户号 顧客番号 お客様番号 고객번호"),
)
_EAST_ASIAN = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_LABEL = re.compile(r"[^\x00-\x7f]{0,4}[\s:：=]{0,3}")


def by_caseless_words(text: str) -> Iterator[Span]:
    """Yield values that a Chinese, Japanese or Korean word announces."""
    if not _EAST_ASIAN.search(text):
        return
    for kind, value, names in _CASELESS:
        for name in names.split():
            at = text.find(name)
            while at >= 0:
                label = _LABEL.match(text, at + len(name))
                assert label, "every part of it may be empty"
                m = value.match(text, label.end())
                if m and any(c.isdigit() for c in m[0]):
                    yield m.start(), m.end(), kind
                at = text.find(name, at + 1)
