"""What is private in a text: each hidden run read by itself, in sight of the public words.

Guarantee (detectors "local" and "skeleton"): the label of a run is a function of the run and of the
visible text. Visible text is decided by fixed lists; no run is shown to the reader of another. So a
run may be replaced by any other with the same labels, and nothing else is read differently
(docs/guarantees.md, theorem B). The detector "reading" shows the original text to the model: it is
not covered by the theorem.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from sanitizer.detect.classes import (
    LISTS,
    Gazetteers,
    class_of,
    concept_of,
    gazetteers,
    given_names,
    known_to_all,
    misspelt,
    told_in,
    words_of,
)
from sanitizer.detect.counts import figure, is_limit, public_number
from sanitizer.detect.extents import UNKNOWN, Finding, joined, names_on, with_said
from sanitizer.detect.layout import (
    NORMS,
    is_exercise,
    is_general,
    is_no_person,
    is_norm,
    is_of_form,
    is_portion,
    is_reckoning,
    is_set_phrase,
    n_of_everybody,
    names_number,
    names_room,
    names_year,
    on_its_own,
    own_title,
    public_here,
)
from sanitizer.detect.literals import public_code, without
from sanitizer.detect.numbers import (
    FRACTION,
    as_measured,
    counts_on,
    exercise_on,
    is_aged,
    is_dated,
    is_measured,
    is_stamp,
    numbers_on,
    role,
    years_on,
)
from sanitizer.detect.skeleton import (
    FOREIGN,
    NUMERAL,
    SLOT,
    WORD,
    PublicForms,
    Run,
    Skeleton,
    foreign_words,
    is_compound,
    is_french_form,
    is_plain_compound,
    is_spanish_verb,
    languages,
    public_forms,
    skeleton,
    unelided,
)
from sanitizer.detect.surroundings import NAMES, TITLE, of_bytes, of_calendar, of_currency
from sanitizer.detect.tagging import Tagging, is_lone
from sanitizer.lm import MaskedLM, Models, Tagger, WordPieces
from sanitizer.text import (
    LISTED,
    UNREAD,
    Fields,
    Piece,
    Unit,
    languages_told,
    merged,
    outside,
    overlapping,
    pieces,
)

FACT = "FACT"
"""Class of a word that is part of a sensitive fact; hidden as UNKNOWN."""
_FIELD = re.compile(
    r"(?i)(?:^|[\n{,;(\"'\s<|])(?:(?P<PERSON>(?:first|last|middle|full|given|family|sur|maiden|"
    r"user|contact|customer|client|patient|employee|student|tenant|applicant|manager|author|"
    r"owner)?[ _-]?"
    r"name|from|to|cc|bcc|attn|patient|employee|applicant|tenant|landlord|sender|recipient)|"
    r"(?P<ORGANIZATION>company|employer|organi[sz]ation|firm|school|hospital|clinic|insurer)|"
    r"(?P<PLACE>city|town|address|street|county|birthplace|country))[\"']?[\"'>]? ?[:=] ?[\"'<]?$"
)
_FIELDS_OF_NUMBERS = frozenset(["NUMBER", "MONEY", "DATE", "ID"])
_TOLD = frozenset(["CONDITION", "TREATMENT", "BELIEF", "ORIGIN", "CRIME", "OCCUPATION", "FACT"])
"""Classes that the tagger may take for each other, and lists tell apart."""
_OF_WORDS = NAMES | _TOLD
_WORLDLY = _TOLD - {"FACT"} | {"SEXUALITY", "FAMILY"}
"""Classes of what a question about the world is about."""
_LISTED_WHOLE = frozenset(["BELIEF", "ORIGIN", "SEXUALITY"])
"""Classes whose words are all on lists: any other everyday word is one by mistake."""
_NO_SUM = re.compile(r"\bend(?:s|ing)(?: in| with)? $|\b(?:CVR|HRB|KvK|SIREN|SIRET):? $")
_PROGRAMS = frozenset(["python", "javascript", "sql", "shell"])
_LASTS = re.compile(r"[ -](?:days?|weeks?|months?|years?)(?!\w)")
"""Visible text before the last digits of a card and the number of a register, and after how long
something lasts."""
_CODED = re.compile(
    r"(?=.*[0-9].*[0-9])(?=.*[A-Z_-])[A-Za-z]{1,5}[A-Za-z0-9_-]{3,}|"
    r"(?=(?:[A-Za-z]*[0-9]+[A-Za-z]+){3})[A-Za-z0-9]{10,}|[A-Z][0-9][0-9A-Z]"
)
"""A number of a flight, a customer and so on: capitals and digits, as nobody's name has."""
_MONTHS = {
    language: frozenset(names.split())
    for language, names in {
        "en": "January February March April May June July August September October November "
        "December",
        "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre "
        "décembre",
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
        "diciembre",
    }.items()
}
"""Names of months by language; the tagger knows few words of the others."""
_IN = re.compile(rf"(?i)\bin (?:{SLOT} (?:or|and|to) )?$")
"""Visible text before a month alone, in a question about the world."""
_OF_LAW = re.compile(
    r"(?i)\b(?:normal|usual|common|typical|standard|enforceable|legal|illegal|lawful|allowed|valid|required|laws?|courts?|appl(?:y|ies)|"
    rf"happens?|tax(?:ed|es)?|rules?)\b[^.?!\n{SLOT}]{{0,30}}\bin (?:the )?$|"
    r"\b(?:wording|laws?|rules|version|spelling|regulations?|requirements?|visas?) "
    r"(?:for|of|in) (?:the )?$|"
    r"\b(?:English|French|German|Portuguese|Spanish|Arabic|Chinese) \($"
)
"""Visible text before the land whose law a question is about."""
_YEAR, _COUNTED = re.compile(r"(?:19|20)[0-9]{2}"), re.compile(r" ?(?:[%\u20ac\u00a3$]|[a-z])")
_FULL_DATE = re.compile(r"(?:0?[1-9]|[12][0-9]|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)?[0-9]{2}")
_DAY = re.compile(r"[1-9]|[12][0-9]|3[01]")
"""Before a hidden word it is a day rather than a sum, and between two rather than a count."""
_HOUR, _OF_DAY = re.compile(r"1[0-2]|[1-9]"), re.compile(r" ?[ap]\.?m\b")
"""An hour, and visible text after it."""
_PRICED = re.compile(
    r"(?:[$\u00a3\u20ac]|\b(?:USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN|CZK|INR|BRL|MXN|JPY|CAD|AUD|NZD)) ?$"
)
_PRICED_AFTER = re.compile(
    r"(?:,-)? ?\u20ac|(?:,-)? (?i:euros?|dollars|cents|pence|USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN)\b"
)
"""Visible text around a sum."""
_DAY_BEFORE = re.compile(r"(?i)(?:,|\b(?:on|since|by|until|till|from|dated|of)) $")
"""Visible text before the day of a month, where the next word is hidden."""
_NTH = re.compile(r"(?:[12]?[0-9]|3[01])(?:st|nd|rd|th)")
_NTH_WORD = re.compile(r"first|second|third|\w{2,9}th")
_NTH_OF = re.compile(
    r" (?:times?|attempt|reminder|e?-?mail|letter|message|call|round|edition|century|place|quarter|"
    r"party|row|"
    r"column|line|step|person|option|point|paragraph|sentence|section|question)\b"
)
"""Visible text after an ordinal that is no day."""
_SHEET = re.compile("[AB][0-6]")
_PRINTED = re.compile(r"(?i)\b(?:print\w*|paper|size[ds]?|format|pages?|sheets?|fits?|poster)\b")
"""A size of paper, and visible text before it."""
_SPOKEN = re.compile(
    r"(?i)\b(?:speaks?|spoke|speaking|into|learn(?:s|ing)?|translat\w+ (?:to|from))(?: \w+ly)? $"
)
"""Visible text before a language."""
_TONGUES = frozenset(
    "espa\u00f1ol castellano ingl\u00e9s franc\u00e9s alem\u00e1n italiano portugu\u00e9s "
    "fran\u00e7ais anglais "
    "allemand espagnol italien portugais deutsch deutsche deutschem englisch englische "
    "franz\u00f6sisch franz\u00f6sische spanisch spanische italienisch italienische polnisch "
    "polski "
    "portugu\u00eas nederlands english german french spanish".split()
)
_IN_TONGUE = re.compile(
    r"(?i)(?:\b(?:al|en|in|into|to|from|auf|ins|aus dem|vom|au|vers l['\u2019]|d[eu]l?|por|para el|"
    rf"von {SLOT})|l['\u2019]|\ben buen) ?$"
)
"""Names of languages, and visible text before what a text is to be translated to."""
_QUARTER = re.compile(r"Q[1-4]|H[12]|FY(?:[0-9]{2}){1,2}")
_PENCE = re.compile(r"[0-9]{1,3}p")
_CLOCK = re.compile(
    r"(?i)(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?: ?[ap]m)?|(?:1[0-2]|"
    r"[1-9])(?:\.[0-5][0-9])? ?[ap]m"
)
_MARK = re.compile(r"[0-9]{1,2}\.[0-9]")
"""Pence, a time of day, and a mark or measure such as "6.8"."""
_NOBODY = frozenset("Mon Tue Tues Wed Weds Thu Thurs Fri Sat Sun Dios Dieu Gott".split())
"""Names of weekdays, and who is thanked."""
_QUARTER_LOWER = re.compile(r"q[1-4]")
_NAMED_NUMBER = re.compile(
    r"(?!(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[0-9])[a-z]{3,}-?[0-9]+"
)
_PLACE_NUMBER = re.compile(r"[a-z]{1,2}[0-9]{1,3}")
"""A quarter, which tells of nobody; a table such as "t3"; and a machine such as "jump01", which is
no date."""
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:\.[0-9])?[kK]")
_TIMES = re.compile(r"[0-9]{1,3}[x\u00d7][0-9]{1,5}(?:[.,][0-9]{1,2})?")
_COUNT = re.compile(r"[0-9]+|[0-9]{1,2}\.[0-9]")  # or a mark, such as 4.5
_SHORT_DAY = re.compile(r"(?:0?[1-9]|[12][0-9]|3[01])[./](?:0?[1-9]|1[0-2])")
_ON = re.compile(r"(?i)\b(?:am|vom|zum|ab|seit|bis|le|du|el|del) $")
"""A day and its month in digits, and visible text before them."""
_HIDDEN_BEFORE = re.compile(rf"{SLOT}(?:[,.)]{{0,2}}| to| and) $")
_FOR_CALENDAR = _OF_WORDS | {None, UNKNOWN, "SEXUALITY", "FAMILY"}
_FRAMES = frozenset(
    "diagnosed diagnosis prescribed convicted treated medication medications medicine medicines "
    "prescription symptoms discharge".split()
)
"""Words that say that something follows, which is hidden itself."""
_OF_SOMEBODY = re.compile(
    r"(?i)\b(?:my|his|her|their|our|your|i (?:have|had|got)|(?:he|she|who) (?:has|had))"
    rf"(?: own| new| old| an?)?(?: type {SLOT})? $"
)
_AILING = frozenset(["CONDITION", "TREATMENT"])
"""Listed illnesses and drugs of somebody, as in "my asthma", are private whatever else is said."""
_CASED = re.compile(r"\b[A-Z][a-z]")
_SIGNED = re.compile(
    r"(?i)\b(?:sincerely|faithfully|truly|regards|wishes|cheers|thanks|love|gr\u00fc\u00dfen|"
    r"gr\u00fc\u00dfe|cordialement|atentamente|saludos),?[ \t]*\n+[ \t]*$"
)
"""Visible text before the name of who wrote a letter."""
_SIGNERS = frozenset(
    "Ace Al Art Ash Bea Bo Buck Cam Cat Chip Cliff Dot Duke Ed Em Flo Ginger Gus Hal Hank Jess Kit "
    "Lou Meg Mercy Miles Mo Norm Pat Peg Prudence Reg Rich Rob Russ Sid Sky Stew Tad Trip Val "
    "Vic Wade Wes Will Woody".split()
)
"""Names that are words as well."""
_INFLECTED = re.compile(r"(\w{4,}?)(?:e[mnrs]?)$")
"""A German adjective as it is declined."""
_ASKS_ME = re.compile(r"[\u00e1\u00e9\u00ed]\w{1,4}(?:me|nos)(?:l[aeo]s?)?$")
"""The end of a Spanish verb that asks, as a sentence opens with it: "Prep\u00e1rame"."""
_LEAST_MISTAKEN = 7  # letters of a misspelt word that the tagger takes for a name
_WORKS_AS = re.compile(r"(?i)\b(?:ich bin|bin|er ist|sie ist|als)(?: eine?)? $")
"""Visible text before an occupation in German, where it has a capital."""
_HASH = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,64}")
"""The short name of a commit."""
_POLITE = frozenset("Ihr Ihre Ihrem Ihren Ihrer Ihres Ihnen Sie".split())
_HOME = re.compile(r"(?:/home/|[/\\]Users[/\\]{1,2})$")
"""Visible text before a log-in name in a path."""
_LOGIN = re.compile(
    r"(?i)(?:^|[\s,;(&?\"'\[{])(?:user(?:name)?|usr|login|owner|author|assignee|reporter|committer)"
    r"[\"']?[=:] ?[\"']?(?:\w+[._-])?$"
)
"""Visible text before a log-in name in a line of a log."""
_ACCOUNTS = frozenset(
    "user users username ubuntu debian admin administrator root runner node app public shared "
    "default guest me you build builder ci docker git vagrant pi ec2 jovyan www data".split()
)
"""Log-in names of machines, not of people."""
_SENTENCE_BEFORE = 160  # characters of visible text in which a question is looked for
_LONG = 4  # digits from which a number in a table is judged like any other
_NUMBERED = re.compile(
    r"(?i)\b(?:customer|client|case|ticket|order|invoice|policy|account|member|membership|patient|"
    r"employee|staff|contract|claim|ref|reference|file|booking|reservation|tracking|docket|badge|"
    r"parcel|shipment|licen[cs]e|registration|matter|ext|extension)"
    r"(?: (?:no\.?|nr\.?|number|id|code))?:? ?#?$|\(id[:.]? ?#?$"
)
"""Visible text before a number that is a customer's, a case's and so on."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a detector found in one text.

    Attributes:
        findings: ascending, never overlapping. everyday: hidden words that were found to be
            everyday words and may be released, as offsets. facts: sentences that seem to tell a
            sensitive fact, as offsets. n_visible: words visible by the lists. language: language of
            the visible words; None if no list fits. code: what stays as code: names,
            keywords, tags.
    """

    findings: tuple[Finding, ...]
    everyday: tuple[tuple[int, int], ...] = field(default=())
    facts: tuple[tuple[int, int], ...] = field(default=())
    n_visible: int = 0
    language: str | None = "en"
    code: tuple[tuple[int, int], ...] = field(default=())
    pieces: tuple[Piece, ...] = field(default=())


class _Place(NamedTuple):
    """Where a number is: visible text around it, its field, the language, and stretches of code."""

    before: str
    sight: str
    after: str
    field: str | None
    language: str
    coded: Sequence[tuple[int, int]]


class Detector:
    """Finds what is private in texts. Safe for many threads.

    Args:
        model, pieces: the masked LM and its tokenizer. tagger: scores of runs.
        forms: the public lists. gazetteers: drugs and conditions by name.
        mode: "local" (each run reads itself and visible text), "skeleton" (visible text only), or
            "reading" (the original text; not certified).
    """

    def __init__(
        self,
        model: MaskedLM,
        pieces: WordPieces,
        tagger: Tagger,
        forms: PublicForms,
        gazetteers: Gazetteers,
        mode: str = "local",
    ) -> None:
        self._forms, self._gazetteers, self.mode = forms, gazetteers, mode
        self._of_language = {language: forms.of(language) for language in forms.native}
        self._tagging = Tagging(model, pieces, tagger, forms, mode)

    def read(
        self, text: str, taken: Sequence[Unit] = (), declared: Sequence[tuple[int, int]] = ()
    ) -> Reading:
        """Find what is private in a text.

        Args:
            taken: identifiers and other stretches that are hidden already, ascending.
            declared: stretches that are visible text and no part of a finding, ascending.

        Raises:
            ModelError: a model failed.
        """
        parts = pieces(text)
        code = public_code(text, self._forms, taken, parts)
        fields = Fields(text, parts, self._names_field)
        code = sorted([*code, *fields.names]) if fields.names else code
        declared = merged([*declared, *fields.separators]) if fields.separators else declared
        read = without(text, taken)
        languages_of = languages_told(read, languages(), public_forms().anywhere, UNREAD)
        language = languages_of.main
        forms = self._of_language.get(language or "", self._forms)
        shown = merged([*declared, *code]) if code else declared
        found = skeleton(text, forms, taken, shown, fields.of_kinds(NAMES))
        if not found.runs and not found.n_visible:
            return Reading((), pieces=parts)
        if language is None:
            return Reading((), n_visible=found.n_visible, language=None)
        programs = [(each.start, each.end) for each in parts if each.language in _PROGRAMS]
        labels, facts, sure = self._tagging.labels(found, language, merged(programs))
        coded = merged([(piece.start, piece.end) for piece in parts])
        decided = self._kinds(found, labels, sure, fields, language, coded)
        others = (languages_of.some & set(FOREIGN)) - {language}
        if others:
            self._pass_known(found, decided, others)
        if language == "en" and languages_of.n_unread >= _FEW_UNREAD:
            _unnamed(found, decided)
        findings: list[tuple[Finding, int]] = []
        everyday: list[tuple[int, int]] = []
        for number, (run, kinds) in enumerate(zip(found.runs, decided, strict=True)):
            for start, end, kind in _names_whole(text, _words(run) if kinds else (), kinds):
                if kind is None:
                    everyday.append((start, end))
                else:
                    findings.append((Finding(start, end, kind), number))
        things = tuple(joined(found, findings, declared))
        if language != "en" or not is_general(_Shown(found).text()):
            closed = merged([*declared, *code, *((unit.start, unit.end) for unit in taken)])
            things = tuple(with_said(found, things, closed, language))
            hidden = [(each.start, each.end) for each in things]
            everyday = [each for each in everyday if not overlapping(hidden, *each)]
        sums = [(each.start, each.end) for each in things if each.kind == "MONEY"]
        # The unit inside a hidden sum, "euros", tells nothing; "weeks" and "months" may.
        told = tuple(
            (fact.start, fact.end)
            for fact in facts
            if any(outside(declared, fact.start, fact.end))
            and any(any(outside(sums, at, at + 1)) for at in fact.by)
            and not _is_code(text, parts, (fact.start, fact.end))
        )
        return Reading(things, tuple(everyday), told, found.n_visible, language, tuple(code), parts)

    def _names_field(self, word: str) -> bool:
        """Return True if a word of a column's name is on a list of any language."""
        return self._forms.known(word) or any(
            word.lower() in foreign_words(each) for each in FOREIGN
        )

    def _kinds(
        self,
        found: Skeleton,
        labels: Sequence[Sequence[str | None]],
        sure: set[int],
        fields: Fields,
        language: str,
        coded: Sequence[tuple[int, int]],
    ) -> list[list[str | None]]:
        """Return the class of each word of each run, None for everyday words; none of identifiers.

        Args:
            labels: the tagger's classes. sure: runs that surely are somebody's numbers.
            coded: stretches of code, ascending.
        """
        shown = _Shown(found)
        general = language == "en" and is_general(shown.text())
        reckoning = language == "en" and is_reckoning(found, shown.text())
        norms = NORMS.search(shown.text()) is not None
        decided: list[list[str | None]] = []
        for number, run in enumerate(found.runs):
            if run.kind != WORD and not run.is_number:
                decided.append([])
                continue
            before, after = shown.before(number), shown.after(number)
            sight = shown.before(number, _SENTENCE_BEFORE)
            field = fields.kind_at(run.start)
            if run.is_number:
                known = field if field in _FIELDS_OF_NUMBERS else None
                of_task = known is None and (
                    public_number(found.text[run.start : run.end], sight, after, number in sure)
                    or is_of_form(found, run, before, after)
                    or is_norm(before, after, norms)
                    or (run.kind == NUMERAL and _is_nth(found.text[run.start : run.end], after))
                )
                at = _Place(before, sight, after, field, language, coded)
                kind = self._of_number(found.text, run, labels[number][0], at)
                decided.append([None if reckoning or of_task else kind])
                continue
            # Where names have capitals, a word of dictionaries without one is hidden, but no name.
            cased = len(run.words) == 1 and _CASED.search(sight) is not None
            words = [found.text[start:end] for start, end in run.words]
            own = on_its_own(words, sight, after, self._forms)
            of_all = n_of_everybody(words, sight, after)
            kinds = [
                None
                if own or place < of_all or _stays(found, number, place, label, before, after)
                else "ID"
                if _HASH.fullmatch(word)
                else self._kind(word, before, label, field, language, cased)
                for place, (word, label) in enumerate(zip(words, labels[number], strict=True))
            ]
            if language == "fr" and own_title(words[-1], after):
                kinds[-1] = None
            if language in FOREIGN:
                kinds = [
                    None if word in _ARTICLES and following.islower() else kind
                    for word, following, kind in zip(words, [*words[1:], "x"], kinds, strict=True)
                ]
            kinds = [
                _beside_number(found, number, found.text[a:b], kind)
                for (a, b), kind in zip(run.words, kinds, strict=True)
            ]
            if language in FOREIGN and self._is_native(found.text, run, before, language, cased):
                kinds = [None if kind in NAMES else kind for kind in kinds]
            kinds = names_on(found.text, run, kinds, language)
            if reckoning and found.text[slice(*run.words[0])] in _MONTHS[language]:
                kinds = [None]
            asked = general or _OF_LAW.search(sight)
            if asked and " ".join(words) in known_to_all("lands"):
                kinds = [None] * len(words)
            elif general:
                kinds = [
                    None if _is_worldly(word, kind, before) else kind
                    for word, kind in zip(words, kinds, strict=True)
                ]
            decided.append(kinds)
        numbers_on(found, decided)
        counts_on(found, decided)
        if language == "en" and is_exercise(shown.text()):
            exercise_on(found, decided)
        if general:
            years_on(found, decided)
        return decided

    def _pass_known(
        self, found: Skeleton, decided: Sequence[list[str | None]], others: Collection[str]
    ) -> None:
        """Take the classes from everyday words in lower case of a text's other languages."""
        for run, kinds in zip(found.runs, decided, strict=True):
            for place, (start, end) in enumerate(run.words if kinds and run.kind == WORD else ()):
                word = found.text[start:end]
                if kinds[place] is not None and word.islower():
                    told = any(word in told_in(each) for each in others) or class_of(word)
                    if not told and any(self._known(word, each) for each in others):
                        kinds[place] = None

    def _of_number(self, text: str, run: Run, label: str | None, at: _Place) -> str | None:
        """Return the class of a number that is not of the task."""
        word = text[run.start : run.end]
        in_code = bool(overlapping(at.coded, run.start, run.end))
        if in_code and len(word) == 1 and label is None:
            return None
        known = at.field if at.field in _FIELDS_OF_NUMBERS else None
        kind = known or self._number_kind(word, at.before, at.after, label, at.field)
        kind = as_measured(word, at.before, at.after, kind)
        if kind is None and at.field is None and at.language == "en" and not in_code:
            return figure(word, at.sight, at.after)
        return kind

    def _is_native(self, text: str, run: Run, before: str, language: str, cased: bool) -> bool:
        """Return True for a run of a foreign language's words that the tagger may take for a name.

        It read few such texts. Nouns have capitals in German; two side by side may be a firm.
        """
        words, german = [text[start:end] for start, end in run.words], language == "de"
        between = (word.islower() or (german and word in _POLITE) for word in words)
        beside = max((len(list(each)) for lower, each in groupby(between) if not lower), default=0)
        if beside > german or TITLE.search(before) or _SIGNED.search(before):
            return False
        return all(
            (german and is_plain_compound(word))
            or (
                self._known(word, language)
                and ((cased and word.islower()) or word.lower() not in given_names())
            )
            for word in words
        )

    def _kind(
        self,
        word: str,
        before: str,
        label: str | None,
        field: str | None,
        language: str,
        cased: bool,
    ) -> str | None:
        """Return the class of a word, None for everyday words.

        Args:
            before: visible text before its run. label: the tagger's class.
            field: class of the table's column or of the key, "" if that tells none, None outside.
            cased: it is alone, and names in the visible text would have capitals.
        """
        if field == LISTED:
            return None if self._forms.known(word) or len(word) == 1 else label or UNKNOWN
        if field and field not in _FIELDS_OF_NUMBERS:
            return (word.islower() and self._gazetteers.kind_of(word)) or field  # of a drug
        label = "NUMBER" if is_aged(word) else label
        label = "MONEY" if label is not None and _PENCE.fullmatch(word) else label
        label = "DATE" if label is not None and _CLOCK.fullmatch(word) else label
        label = "ID" if label == "DATE" and _NAMED_NUMBER.fullmatch(word) else label
        label = "ID" if label in NAMES and _PLACE_NUMBER.fullmatch(word) else label
        label = "MONEY" if _THOUSANDS.fullmatch(word) else label
        label = "NUMBER" if label is not None and _TIMES.fullmatch(word) else label
        label = "DATE" if label in (None, FACT) and _NTH.fullmatch(word) else label
        label = "DATE" if label in NAMES | {"ID"} and _QUARTER.fullmatch(word) else label
        if label is None:
            of_somebody = _OF_SOMEBODY.search(before) is not None
            ailing = class_of(word) if of_somebody and word.lower() not in _FRAMES else None
            return ailing if ailing in _AILING else self._rule(word, before, language)
        if self._is_person(word, before, label):
            return "PERSON"
        trades = label == "CRIME" and word.lower() in _TRADERS and not _OF_DRUGS.search(before)
        framing = (label in _TOLD and word.lower() in _FRAMES) or (
            label == "OCCUPATION" and word in _NO_POSTS
        )
        eaten = label in _OF_FOOD and word.lower() in words_of("foods")
        spoken = label == "ORIGIN" and _SPOKEN.search(before) is not None
        framing = framing or trades or spoken or (eaten and _REACTS.search(before) is None)
        framing = framing or (word.lower() in _TONGUES and _IN_TONGUE.search(before) is not None)
        if framing or (cased and language == "en" and self._is_mistaken(word, label)):
            return None
        return self._corrected(word, label, language, cased)

    def _is_mistaken(self, word: str, label: str) -> bool:
        """Return True for an everyday word that is misspelt, where names would have capitals."""
        long = len(word) >= _LEAST_MISTAKEN and label in NAMES
        return long and class_of(word) is None and misspelt(word, self._forms)

    def _is_person(self, word: str, before: str, label: str) -> bool:
        """Return True if visible text or a list makes a word with a class a person's name."""
        if label in NAMES and _HOME.search(before):
            return True
        if not word[:1].isupper() or label not in _OF_WORDS:
            return False
        if label in NAMES or not self._forms.known(word):
            titled = (TITLE.search(before) or _SIGNED.search(before)) is not None
            if titled or label in NAMES:
                return titled
        return word.lower() in given_names() and not self._forms.listed(word) and label in _TOLD

    def _corrected(self, word: str, label: str, language: str, cased: bool) -> str:
        """Return the class of a word that the tagger gives one: by the lists, where they tell."""
        if label in _TOLD and self._forms.compound(word):
            return "PRODUCT"
        noun = label in NAMES and (word.islower() or language == "de")
        if noun or label in _TOLD | {"FAMILY"}:
            listed = told_in(language).get(word.lower()) or class_of(word)
            if listed == "OCCUPATION" and label == "PERSON" and not word.islower():
                listed = None  # "Koch" is a name as well
        else:
            unnamed = label in NAMES and word.lower() not in given_names()
            kinds = ("CONDITION", "BELIEF") if cased else ("CONDITION",)
            told = (kind for kind in kinds if concept_of(kind, word, typed=False) is not None)
            listed = next(told, None) if unnamed else None
        if listed is not None:
            return listed
        if label in _LISTED_WHOLE and word.islower() and self._known(word, language):
            return UNKNOWN
        if label in ("PERSON", "PLACE", "ORGANIZATION") and _CODED.fullmatch(word):
            return "ID"
        if word in _MONTHS[language] and (label == FACT or label not in _TOLD):
            return "DATE"
        # Names have capitals in such a text, and the tagger knows few words of other languages.
        strange = language in FOREIGN or self._known(word, language)
        plain = label in NAMES and word.islower() and cased and strange
        return UNKNOWN if plain and word not in given_names() else label

    @staticmethod
    def _number_kind(
        word: str, before: str, after: str, label: str | None, field: str | None
    ) -> str | None:
        """Return the class of a number, None for one of the task.

        Args:
            before, after: visible text around its run. label, field: as `_kind`.
        """
        label = _by_form(word, before, after, label)
        if label in NAMES or (label == "ID" and not _NUMBERED.search(before)):
            named = "ID" if label == "ID" else "NUMBER"
            dated = _YEAR.fullmatch(word) or ("/" in word and _SHORT_DAY.fullmatch(word))
            label = "DATE" if dated else named
        if label == "NUMBER" and _YEAR.fullmatch(word) and not _COUNTED.match(after):
            label = "DATE"
        if label in ("NUMBER", "MONEY"):
            label = role("", after) or label
        elif label == "DATE" and is_measured(after):
            label = "NUMBER"
        if label == "DATE" and _DAY.fullmatch(word) and not is_dated(before, after):
            label = "NUMBER"
        short_day = _SHORT_DAY.fullmatch(word) and _ON.search(before)
        hour = label == "NUMBER" and _HOUR.fullmatch(word) and _OF_DAY.match(after)
        if hour or (label in ("NUMBER", "MONEY") and short_day):
            label = "DATE"
        label = _of_what(label, before, after)
        of_month = (
            label in (None, "NUMBER", "MONEY", "DATE")
            and after.startswith(f" {SLOT}")
            and _DAY.fullmatch(word) is not None
            and _DAY_BEFORE.search(before) is not None
        )
        label = "DATE" if of_month else label
        if _DAY.fullmatch(word) and after.startswith(f" {SLOT}"):
            between = label == "NUMBER" and _HIDDEN_BEFORE.search(before)
            label = "DATE" if label == "MONEY" or between else label
        told = label == "DATE" and (of_month or _COUNT.fullmatch(word) is None)
        if field in ("", LISTED) and not told and sum(map(str.isdecimal, word)) < _LONG:
            return None  # a count in a table is for the task
        if label is not None:
            return label
        if len(word) > 2 and word[0].isdecimal() and _NUMBERED.search(before):
            return "ID"
        priced = _PRICED.search(before) or _PRICED_AFTER.match(after)
        return role(before, after, word) or ("MONEY" if priced else None)

    def _rule(self, word: str, before: str, language: str) -> str | None:
        """Return the class of a word to which the tagger gives none, or None for everyday words.

        Args:
            before: visible text before its run.
        """
        if _HOME.search(before) and word not in _ACCOUNTS:
            return "PERSON"
        if _LOGIN.search(before) and word not in _ACCOUNTS and not self._forms.listed(word):
            return "PERSON"
        given = word.lower() in given_names()
        signed = (given or word in _SIGNERS) and _SIGNED.search(before) is not None
        given = given and not self._forms.listed(word)
        if word[:1].isupper() and (given or signed or TITLE.search(before)):
            return "PERSON"
        listed = told_in(language).get(word.lower()) or self._gazetteers.kind_of(word)
        listed = listed or ("DATE" if word in _MONTHS[language] else self._field(word, before))
        if listed is not None:
            return listed
        if language == "de" and word[:1].isupper() and _WORKS_AS.search(before):
            return "OCCUPATION"
        more = is_compound(word) if language == "de" else misspelt(word, self._forms)
        return None if more or self._known(word, language) else UNKNOWN

    def _field(self, word: str, before: str) -> str | None:
        """Return the class that the field before a word gives to it, None for listed words."""
        named = _FIELD.search(before)
        return None if named is None or self._forms.listed(word) else named.lastgroup

    def _known(self, word: str, language: str) -> bool:
        """Return True if a word is on any list, or on that of the text's language."""
        plain = unelided(word) if language == "fr" else word
        known = self._forms.known(plain) or plain.lower() in foreign_words(language)
        if not known and language == "fr" and word.islower():
            return is_french_form(plain)
        if not known and language == "es" and (word.islower() or _ASKS_ME.search(word)):
            return is_spanish_verb(plain.lower())
        if known or language != "de" or not word.islower():
            return known
        stem = _INFLECTED.match(word)
        return stem is not None and stem[1] in foreign_words(language)


_OF_FOOD = frozenset(["OCCUPATION", "TREATMENT", "FACT", "BELIEF", "CRIME"])
_REACTS = re.compile(r"(?i)(?:allerg|intoleran|react|anaphyla|coeliac|celiac|swallow|chok)")
"""What the tagger takes something to eat for, and visible text before what somebody may not eat."""
_NO_POSTS = frozenset(
    "applicant applicants client clients customer customers guest guests patient patients resident "
    "residents tenant tenants victim visitor visitors witness".split()
)
"""What somebody is to others, and no occupation."""
_TRADERS = frozenset(["dealer", "dealers", "dealership", "dealerships"])
_OF_DRUGS = re.compile(r"(?i)(?:drugs?|weed|coke|crack|heroin|meth|arms|my|his|her)[ -]$")
"""Who sells cars or art, and visible text before one who sells drugs."""
_ARTICLES = frozenset("Das Der Des Die El La Las Le Les Los Un Una Une".split())
"""Articles that open a sentence, and are names in others."""
_LINKED = re.compile(r"_+|&")
"""What is between the parts of one name."""


def _names_whole(
    text: str, words: Sequence[tuple[int, int]], kinds: Sequence[str | None]
) -> Iterator[tuple[int, int, str | None]]:
    """Yield the words of a run with their classes, "acme_payroll_2" and "Q&T" as a whole."""
    held: tuple[int, int, str | None] | None = None
    for (start, end), kind in zip(words, kinds, strict=True):
        if held is not None and _LINKED.fullmatch(text, held[1], start):
            held = held[0], end, "ID" if kind == "ID" else held[2] or kind
            continue
        if held is not None:
            yield held
        held = start, end, kind
    if held is not None:
        yield held


def _stays(
    found: Skeleton, number: int, place: int, label: str | None, before: str, after: str
) -> bool:
    """Return True if a word of a run stays for its form and what is visible around it.

    Args:
        number: of the run. place: of the word in it. label: the tagger's class.
        before, after: visible text around the run.
    """
    run, text = found.runs[number], found.text
    start, end = run.words[place]
    word = text[start:end]
    lone = label is None and is_lone(text, start, end)
    weekday = word in _NOBODY and not TITLE.search(before)
    nth = _is_nth(word, after) or (_SHEET.fullmatch(word) and _PRINTED.search(before))
    if lone or weekday or nth or _QUARTER_LOWER.fullmatch(word) or public_here(word, before, label):
        return True
    inside = before + text[run.start : start]
    if is_no_person(word, inside, text[end : run.end] + after, label):
        return True
    if is_set_phrase(text, start) or is_limit(found, number, place):
        return True
    if end == run.end and (names_number(word, after) or names_year(word, after)):
        return True
    following = text[run.words[place + 1][0] : run.end] if place + 1 < len(run.words) else ""
    if names_room(word, following):
        return True
    counted = any(map(str.isdigit, word)) and (place == 0 or text[run.start].islower())
    return counted and is_portion(word, inside, text[end : run.end] + after)


def _by_form(word: str, before: str, after: str, label: str | None) -> str | None:
    """Return the class of a number by its form: a time stamp, a time of day, a share, a mark."""
    if label is None:
        return None
    if is_stamp(word) or _FULL_DATE.fullmatch(word) or _CLOCK.fullmatch(word):
        return "DATE"
    if label not in ("MONEY", "DATE") or not (FRACTION.fullmatch(word) or _MARK.fullmatch(word)):
        return label
    priced = _PRICED.search(before) or _PRICED_AFTER.match(after)
    return label if priced or (label == "DATE" and is_dated(before, after)) else "NUMBER"


def _unnamed(found: Skeleton, decided: Sequence[list[str | None]]) -> None:
    """Make unknown words of what only the tagger takes for names, in lower case: it read no text in
    such a language.
    """
    for run, kinds in zip(found.runs, decided, strict=True):
        for place, (start, end) in enumerate(run.words if kinds and run.kind == WORD else ()):
            word = found.text[start:end]
            if kinds[place] in NAMES and word.islower() and word not in given_names():
                kinds[place] = UNKNOWN


_FEW_UNREAD = 6  # words that show that a part of a text is in such a language


def _is_nth(word: str, after: str) -> bool:
    """Return True for an ordinal that is no day: "3rd" or "FOURTH" before " time"."""
    ordinal = _NTH.fullmatch(word) or _NTH_WORD.fullmatch(word.lower())
    return ordinal is not None and _NTH_OF.match(after) is not None


def _of_what(label: str | None, before: str, after: str) -> str | None:
    """Return the class of a number that visible text tells: a sum, digits of a card, how long."""
    if label in ("NUMBER", "DATE") and _PRICED.search(before):
        return "MONEY"
    if label == "MONEY" and _NO_SUM.search(before):
        return "ID"
    return "NUMBER" if label in ("MONEY", "DATE", "ID") and _LASTS.match(after) else label


def _beside_number(found: Skeleton, number: int, word: str, kind: str | None) -> str | None:
    """Return the class of a word beside a number: of a month and a currency by their form."""
    if kind in _FOR_CALENDAR and of_calendar(found, number, word):
        return "DATE"
    if of_bytes(found, number, word):
        return None
    return "MONEY" if of_currency(found, number, word) else kind


def _is_worldly(word: str, kind: str | None, before: str) -> bool:
    """Return True if a word with a class is nobody's in a question about the world."""
    if kind in _WORLDLY or class_of(word) is not None:
        return True
    if kind == "DATE":
        return word in _MONTHS["en"] and _IN.search(before) is not None
    return kind in NAMES and word.lower() in words_of("places")


class _Shown:
    """Visible text around a run, hidden runs shown as a slot."""

    def __init__(self, found: Skeleton) -> None:
        self._found = found

    def text(self) -> str:
        """Return the whole visible text."""
        parts, at = [], 0
        for run in self._found.runs:
            parts += [self._found.text[at : run.start], SLOT]
            at = run.end
        return "".join([*parts, self._found.text[at:]])

    def before(self, number: int, length: int = 40) -> str:
        """Return at most `length` characters of visible text before the run."""
        runs, text = self._found.runs, self._found.text
        shown = text[runs[number - 1].end if number else 0 : runs[number].start]
        while number and len(shown) < length:
            number -= 1
            start = runs[number - 1].end if number else 0
            shown = text[start : runs[number].start] + SLOT + shown
        return shown[-length:]

    def after(self, number: int, length: int = 28) -> str:
        """Return at most `length` characters of visible text after the run, to the next run."""
        runs, text = self._found.runs, self._found.text
        end = runs[number + 1].start if number + 1 < len(runs) else len(text)
        shown = text[runs[number].end : min(end, runs[number].end + length)]
        return shown + SLOT if len(shown) < length and number + 1 < len(runs) else shown


def _words(run: Run) -> Sequence[tuple[int, int]]:
    """Return the words of a run as offsets; a number is one."""
    return [(run.start, run.end)] if run.is_number else run.words


def _is_code(text: str, parts: Sequence[Piece], sentence: tuple[int, int]) -> bool:
    """Return True if most letters of a sentence are names, keywords and tags of code."""
    start, end = sentence
    names = [
        text[max(start, piece.start) : min(end, piece.end)]
        for piece in parts
        if piece.role in ("name", "keyword", "tag") and piece.start < end and start < piece.end
    ]
    named, letters = (sum(map(str.isalpha, said)) for said in ("".join(names), text[start:end]))
    return 2 * named > letters


def load_lists() -> None:
    """Load all that `detector_for` does but for the models; raise ModelError as it does."""
    public_forms()
    gazetteers()
    languages()
    for kind in LISTS:
        concept_of(kind, "")  # reads the plain names of all members


def detector_for(models: Models, mode: str) -> Detector:
    """Return a detector over the packaged tagger and lists.

    Raises:
        ModelError: a model or a list is missing or damaged.
    """
    model, pieces = models.masked()
    return Detector(model, pieces, models.tagger(), public_forms(), gazetteers(), mode)
