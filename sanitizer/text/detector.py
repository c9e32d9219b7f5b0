"""What is private in a text: each hidden run read by itself, in sight of the public words.

Guarantee (detectors "local" and "skeleton"): the label of a run is a function of the run and of the
visible text. Visible text is decided by fixed lists; no run is shown to the reader of another. So a
run may be replaced by any other with the same labels, and nothing else is read differently
(docs/guarantees.md, theorem B). The detector "reading" shows the original text to the model: it is
not covered by the theorem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import MaskedLM, Models, Tagger, WordPieces, model_folder
from sanitizer.progress import report
from sanitizer.text.classes import (
    LISTS,
    NAMES,
    Finding,
    Gazetteers,
    concept_of,
    given_names,
    joined,
    mistyped,
    names_on,
    numbers_on,
    public_number,
    role,
    ruled_out,
)
from sanitizer.text.language import language_lists, language_of
from sanitizer.text.policy import DRAWN, word_list
from sanitizer.text.prompt import merged
from sanitizer.text.skeleton import NUMBERS, WORD, PublicForms, Run, Skeleton, skeleton
from sanitizer.text.syntax import Piece, is_code_word, pieces
from sanitizer.text.tables import LISTED, NAME_PARTS, Fields
from sanitizer.text.words import Unit, outside, overlapping

UNKNOWN = "TERM"
"""Class of a word that is on no list and that the tagger gives no class."""
FACT = "FACT"
"""Class of a word that is part of a sensitive fact; hidden as UNKNOWN."""

_READS = {**dict.fromkeys(NUMBERS, "two"), "PERSON": "she", "PLACE": "home", "ORGANIZATION": "work"}
_SLOT = "\ufffc"
_MARGIN = 32  # tokens that neighbouring windows of a long text share on each side
_THRESHOLDS = dict.fromkeys(("PERSON", "ORGANIZATION", "PLACE", "PRODUCT"), 0.05)
_NUMBERS = {"MONEY": 0.08, "DATE": 0.08, "ID": 0.08, "NUMBER": 0.2}
_THRESHOLD = 0.15
"""Least share of all classes together at which a word has one: a miss weighs more than a word too
many, most of all for names and numbers."""
_EVERYDAY, _FOREIGN_WORD, _MISSPELT = 0.7, 0.97, 0.3
"""Least share of all classes at which an everyday word counts as a name: of the lists, of the list
of another language, and one that is a typing error away from a visible word."""
_ONE = np.ones(1, dtype=np.int64)
_FOREIGN = ("de", "fr", "es")
_LEAST_TYPED, _MOST_TYPED = 5, 20  # letters of a word that may be misspelt
_FACT_LIMIT = 1.0  # log odds from which a sentence is warned about
_FENCE = re.compile(
    r"(?m)^[ \t>]*(?:```|~~~)[ \t]*(python|py|pycon|javascript|js|jsx|typescript|ts|tsx|json|jsonc|"
    r"yaml|yml|toml|ini|csv|tsv|sql|bash|sh|shell|zsh|console|powershell|html|xml|svg|css|scss|vue|"
    r"svelte|java|kotlin|scala|swift|go|rust|ruby|php|perl|lua|r|c|cpp|csharp|cs|dockerfile|make|"
    r"diff|text|txt|log|markdown|md|latex|graphql|proto|nginx|http)\b"
)
"""Beginning of a fenced block that names its language; the name stays."""
_OPENING = re.compile(r"(?:[.!?] |\n|\n[-*>#] )$")
"""Text before the beginning of a sentence or line."""
_SENTENCE = re.compile(r"[^.!?\n;]*(?:[.!?\n;]+|$)")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Madam|Mx|Rev|Judge)\.? $")
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
_MONTHS = frozenset(
    "January February March April May June July August September October November December".split()
)
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_COMPOUND = re.compile(r"(?i)sick (?:pay|leave|notes?|days?)\b")
"""Words about no illness, though one of them may be."""
_FRAMES = frozenset(["diagnosed", "diagnosis", "prescribed", "convicted"])
"""Words that say that something follows, which is hidden itself."""
_HOME = re.compile(r"(?:/home/|[/\\]Users[/\\]{1,2})$")
"""Visible text before a log-in name in a path."""
_GLUED = frozenset("-_./&'\u2019#@+0123456789")
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
    r"parcel|shipment|licen[cs]e|registration|matter)(?: (?:no\.?|nr\.?|number|id|code))?:? ?#?$"
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


@dataclass(frozen=True, slots=True)
class _Tokens:
    """A skeleton as the model reads it: ids int64 [n], the slot of each run, and where each token
    of visible text begins (-1 for slots)."""

    ids: NDArray[np.int64]
    slots: NDArray[np.int64]
    chars: NDArray[np.int64]


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
        self._model, self._pieces, self._tagger = model, pieces, tagger
        self._forms, self._gazetteers, self.mode = forms, gazetteers, mode
        thresholds = _THRESHOLDS | _NUMBERS
        self._thresholds = np.array([thresholds.get(c, _THRESHOLD) for c in tagger.classes])

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
        fields = Fields(text, parts, self._forms.known)
        code = sorted([*code, *fields.names]) if fields.names else code
        declared = merged([*declared, *fields.separators]) if fields.separators else declared
        found = skeleton(text, self._forms, taken, merged([*declared, *code]) if code else declared)
        if not found.runs and not found.n_visible:
            return Reading((), pieces=parts)
        language = language_of(_without(text, taken), _languages(), public_forms().anywhere)
        if language is None:
            return Reading((), n_visible=found.n_visible, language=None)
        labels, facts = self._labels(found, language)
        decided = self._kinds(found, labels, fields, language)
        findings: list[tuple[Finding, int]] = []
        everyday: list[tuple[int, int]] = []
        for number, (run, kinds) in enumerate(zip(found.runs, decided, strict=True)):
            for start, end, kind in _names_whole(text, _words(run) if kinds else (), kinds):
                if kind is None:
                    everyday.append((start, end))
                else:
                    findings.append((Finding(start, end, kind), number))
        things = tuple(joined(found, findings, declared))
        told = tuple(fact for fact in facts if any(outside(declared, *fact)))
        return Reading(things, tuple(everyday), told, found.n_visible, language, tuple(code), parts)

    def _kinds(
        self,
        found: Skeleton,
        labels: Sequence[Sequence[str | None]],
        fields: Fields,
        language: str,
    ) -> list[list[str | None]]:
        """Return the class of each word of each run, None for everyday words; none of identifiers.

        Args:
            labels: the tagger's classes.
        """
        shown = _Shown(found)
        decided: list[list[str | None]] = []
        for number, run in enumerate(found.runs):
            if run.kind != WORD and run.kind not in NUMBERS:
                decided.append([])
                continue
            before, field = shown.before(number), fields.kind_at(run.start)
            if run.kind in NUMBERS:
                word = found.text[run.start : run.end]
                known = field if field in _FIELDS_OF_NUMBERS else None
                after = shown.after(number)
                kind = known or self._number_kind(word, before, after, labels[number][0], field)
                before = shown.before(number, _SENTENCE_BEFORE)
                of_task = known is None and public_number(word, before, after)
                decided.append([None if of_task else kind])
                continue
            kinds = [
                None
                if (label is None and _lone(found.text, start, end))
                or _COMPOUND.match(found.text, start)
                else self._kind(found.text[start:end], before, label, field, language)
                for (start, end), label in zip(run.words, labels[number], strict=True)
            ]
            decided.append(names_on(found.text, run, kinds))
        numbers_on(found, decided)
        return decided

    def _kind(
        self, word: str, before: str, label: str | None, field: str | None, language: str
    ) -> str | None:
        """Return the class of a word, None for everyday words.

        Args:
            before: visible text before its run. label: the tagger's class.
            field: class of the table's column or of the key, "" if that tells none, None outside.
        """
        if field == LISTED:
            return None if self._forms.known(word) else label or UNKNOWN
        if field and field not in _FIELDS_OF_NUMBERS:
            return field
        if label is None:
            return self._rule(word, before, language)
        if word[:1].isupper():
            titled = label in NAMES and _TITLE.search(before) is not None
            if titled or (label == "OCCUPATION" and word.lower() in given_names()):
                return "PERSON"
        if label in _TOLD and word.lower() in _FRAMES:
            return None
        told = label == FACT or (label in NAMES and word.islower())
        listed = _told(word) if told or label in _TOLD else None
        return listed or ("DATE" if word in _MONTHS and label not in _TOLD else label)

    @staticmethod
    def _number_kind(
        word: str, before: str, after: str, label: str | None, field: str | None
    ) -> str | None:
        """Return the class of a number, None for one of the task.

        Args:
            before, after: visible text around its run. label, field: as `_kind`.
        """
        if label in NAMES:
            label = "DATE" if _YEAR.fullmatch(word) else "NUMBER"
        told = label == "DATE" and not word.isdecimal()
        if field in ("", LISTED) and not told and sum(map(str.isdecimal, word)) < _LONG:
            return None  # a count in a table is for the task
        if label is not None:
            return label
        if len(word) > 2 and word[0].isdecimal() and _NUMBERED.search(before):
            return "ID"
        return role(before, after, word)

    def _rule(self, word: str, before: str, language: str) -> str | None:
        """Return the class of a word to which the tagger gives none, or None for everyday words.

        Args:
            before: visible text before its run.
        """
        if _HOME.search(before) and word not in _ACCOUNTS:
            return "PERSON"
        if word[:1].isupper() and word.lower() in given_names() and not self._forms.listed(word):
            return "PERSON"
        if (listed := self._gazetteers.kind_of(word)) is not None:
            return listed
        if (named := _FIELD.search(before)) is not None and not self._forms.listed(word):
            return named.lastgroup
        known = self._known(word, language) or self._misspelt(word)
        return None if known else UNKNOWN

    def _known(self, word: str, language: str) -> bool:
        """Return True if a word is on any list, or on that of the text's language."""
        return self._forms.known(word) or word.lower() in foreign_words(language)

    def _misspelt(self, word: str) -> bool:
        """Return True if a word in lower case is one typing error away from a visible one."""
        if not _LEAST_TYPED <= len(word) <= _MOST_TYPED or not word.islower():
            return False
        return any(map(self._forms.known_public, mistyped(word)))

    def _labels(
        self, found: Skeleton, language: str
    ) -> tuple[list[list[str | None]], list[tuple[int, int]]]:
        """The tagger's class of each word of each run, and the sentences that tell a fact."""
        tokens = self._tokens(found)
        labels: list[list[str | None]] = [
            [None] * (1 if run.kind in NUMBERS else len(run.words)) for run in found.runs
        ]
        odds = np.full(len(tokens.ids), -np.inf, np.float32)
        for begin, end, first, last in _windows(len(tokens.ids), self._model.max_length - 2):
            ids = np.array(
                [self._pieces.cls, *tokens.ids[begin:end], self._pieces.sep], dtype=np.int64
            )
            states = self._model.states(ids, self._tagger.layers)
            inside = (tokens.slots >= first) & (tokens.slots < last)
            numbers = [
                int(i) for i in np.flatnonzero(inside) if found.runs[i].kind in {WORD, *NUMBERS}
            ]
            facts = self._label(found, tokens, numbers, begin, states, labels, language)
            odds[first:last] = facts[1 + first - begin : 1 + last - begin]
            report(last, len(tokens.ids))
        return labels, list(_facts(found.text, tokens, odds))

    def _label(
        self,
        found: Skeleton,
        tokens: _Tokens,
        numbers: Sequence[int],
        begin: int,
        states: dict[int, NDArray[np.float32]],
        labels: list[list[str | None]],
        language: str,
    ) -> NDArray[np.float32]:
        """Fill in the labels of the runs of one window; return the facts' log odds by token."""
        width = self._tagger.width
        read = [self._asked(found, found.runs[i]) for i in numbers]
        ids = np.full((len(read), width), self._pieces.mask, dtype=np.int64)
        lengths = np.empty(len(read), dtype=np.int64)
        for row, (run_ids, _) in enumerate(read):
            first = run_ids[:width]
            lengths[row] = len(first)
            ids[row, : len(first)] = first
        at = np.array([1 + tokens.slots[i] - begin for i in numbers], dtype=np.int64)
        if not read:  # the graph wants one run at least; how many there are is public
            ids, lengths = np.full((1, width), self._pieces.mask, dtype=np.int64), _ONE
            at = _ONE
        vectors = self._model.pieces.vectors(ids.reshape(-1)).reshape(len(ids), width, -1)
        scores, facts = self._tagger.scores(states, vectors, lengths, at)
        for row, (i, (run_ids, firsts)) in enumerate(zip(numbers, read, strict=True)):
            limits = self._name_limits(found, found.runs[i], language)
            for word, piece in enumerate(firsts):
                if piece < width:
                    labels[i][word] = self._decided(scores[row, piece], *limits[word])
            if len(run_ids) > width:
                self._label_rest(run_ids, firsts, int(at[row]), states, labels[i], limits)
        return facts

    def _label_rest(
        self,
        ids: Sequence[int],
        firsts: Sequence[int],
        at: int,
        states: dict[int, NDArray[np.float32]],
        labels: list[str | None],
        limits: Sequence[tuple[float, str]],
    ) -> None:
        """Label the words of a long run beyond its first pieces.

        They are read alone: the shape of what is read with others must not depend on them.
        """
        width = self._tagger.width
        place = np.array([at], dtype=np.int64)
        begin = 0
        while (left := [f for f in firsts if f >= begin + width]) and begin < len(ids):
            begin = left[0]
            known = np.array(ids[begin : begin + width], dtype=np.int64)
            padded = np.full((1, width), self._pieces.mask, dtype=np.int64)
            padded[0, : len(known)] = known
            vectors = self._model.pieces.vectors(padded.reshape(-1)).reshape(1, width, -1)
            scores, _ = self._tagger.scores(
                states, vectors, np.array([len(known)], dtype=np.int64), place
            )
            for word, piece in enumerate(firsts):
                if begin <= piece < begin + width:
                    labels[word] = self._decided(scores[0, piece - begin], *limits[word])

    def _decided(self, scores: NDArray[np.float32], name_limit: float, word: str) -> str | None:
        """Return the likeliest class, or None if all of them together are too unlikely.

        Args:
            name_limit: share of all classes from which an everyday word is a name; 0 for others.
            word: as written; its form rules classes out. An everyday word with such a class is
                judged by the others; any other word has the likeliest of these.
        """
        odds = np.exp(scores - scores.max())
        shares = odds[1:] / odds.sum()
        share = 1.0 - float(odds[0] / odds.sum())
        excluded = ruled_out(word)
        possible = np.array([name not in excluded for name in self._tagger.classes])
        if name_limit and not possible[shares.argmax()]:
            share = float(shares[possible].sum())
        best = int(np.where(possible, shares, -1.0).argmax())
        kind = self._tagger.classes[best]
        limit = float(self._thresholds[best])
        return None if share < (max(limit, name_limit) if kind in NAMES else limit) else kind

    def _name_limits(self, found: Skeleton, run: Run, language: str) -> list[tuple[float, str]]:
        """Return for each word of a run the share from which it is a name, and the word.

        The share is 0 for words that are not written as everyday words are.
        """
        if run.kind in NUMBERS:
            return [(0.0, found.text[run.start : run.end])]
        opening = run.start == 0 or _OPENING.search(found.text, max(0, run.start - 4), run.start)
        limits: list[tuple[float, str]] = []
        for number, (start, end) in enumerate(run.words):
            word = found.text[start:end]
            opens = opening is not None and number == 0
            letter = _EVERYDAY if _lone(found.text, start, end) else 0.0
            limits.append((letter or self._name_limit(word, opens, language), word))
        return limits

    def _name_limit(self, word: str, opens: bool, language: str) -> float:
        """Return the share from which a word is a name, 0 if it is not written as everyday words.

        Those are listed words in lower case, and listed words that are no names where a sentence or
        line opens, where all letters are capitals, and in German.
        """
        plain = word.lower()
        if plain in given_names():
            return 0.0
        free = word.islower() or opens or language == "de" or (word.isupper() and len(word) > 3)
        if free and plain in foreign_words(language):
            return _FOREIGN_WORD
        if not word.islower() and (not free or plain in self._forms.lower):
            return 0.0
        if self._forms.known(word):
            return _EVERYDAY
        return _MISSPELT if self._misspelt(word) else 0.0

    def _asked(self, found: Skeleton, run: Run) -> tuple[list[int], list[int]]:
        """Return a run's pieces as the tagger reads them; under "skeleton" that is one mask."""
        if self.mode == "skeleton":
            return [self._pieces.mask], [0] * (1 if run.kind in NUMBERS else len(run.words))
        return self._run_pieces(found, run)

    def _run_pieces(self, found: Skeleton, run: Run) -> tuple[list[int], list[int]]:
        """A run's word pieces, and the number of the first piece of each of its words."""
        if run.kind in NUMBERS:
            return self._pieces.encode(found.text[run.start : run.end]) or [self._pieces.unknown], [
                0
            ]
        ids: list[int] = []
        firsts: list[int] = []
        at = run.start
        for start, end in run.words:
            ids += self._pieces.encode(found.text[at:start])
            firsts.append(len(ids))
            ids += self._pieces.encode(found.text[start:end]) or [self._pieces.unknown]
            at = end
        return ids, firsts

    def _tokens(self, found: Skeleton) -> _Tokens:
        """The skeleton's tokens; in mode "reading", the original's."""
        ids: list[int] = []
        chars: list[int] = []
        slots: list[int] = []
        at = 0
        for run in found.runs:
            self._add(found.text, at, run.start, ids, chars)
            slots.append(len(ids))
            if run.kind == WORD:
                own = self._run_pieces(found, run)[0] if self.mode == "reading" else None
                ids += own or [self._pieces.mask]
            else:
                ids += self._pieces.encode(_READS.get(run.kind, run.kind.lower().replace("_", " ")))
            chars += [-1] * (len(ids) - len(chars))
            at = run.end
        self._add(found.text, at, len(found.text), ids, chars)
        return _Tokens(
            np.array(ids, dtype=np.int64),
            np.array(slots, dtype=np.int64),
            np.array(chars, dtype=np.int64),
        )

    def _add(self, text: str, start: int, end: int, ids: list[int], chars: list[int]) -> None:
        """Add the tokens of a stretch of visible text, and where each of them begins."""
        for token, offset in self._pieces.placed(text[start:end]):
            ids.append(token)
            chars.append(start + offset)


def _windows(n: int, room: int) -> Iterator[tuple[int, int, int, int]]:
    """Cover n tokens by windows of at most `room`: (begin, end, first, last), where `first` to
    `last` is what the window decides."""
    if n <= room:
        yield 0, n, 0, n
        return
    step = room - 2 * _MARGIN
    for first in range(0, n, step):
        last = min(first + step, n)
        yield max(0, first - _MARGIN), min(n, last + _MARGIN), first, last


def _names_whole(
    text: str, words: Sequence[tuple[int, int]], kinds: Sequence[str | None]
) -> Iterator[tuple[int, int, str | None]]:
    """Yield the words of a run with their classes, names such as "acme_payroll_2" as a whole."""
    held: tuple[int, int, str | None] | None = None
    for (start, end), kind in zip(words, kinds, strict=True):
        if held is not None and text[held[1] : start].strip("_") == "" and held[1] < start:
            held = held[0], end, held[2] or kind
            continue
        if held is not None:
            yield held
        held = start, end, kind
    if held is not None:
        yield held


class _Shown:
    """Visible text around a run, hidden runs shown as a slot."""

    def __init__(self, found: Skeleton) -> None:
        self._found = found

    def before(self, number: int, length: int = 40) -> str:
        """Return at most `length` characters of visible text before the run."""
        runs, text = self._found.runs, self._found.text
        shown = text[runs[number - 1].end if number else 0 : runs[number].start]
        while number and len(shown) < length:
            number -= 1
            start = runs[number - 1].end if number else 0
            shown = text[start : runs[number].start] + _SLOT + shown
        return shown[-length:]

    def after(self, number: int, length: int = 20) -> str:
        """Return at most `length` characters of visible text after the run, to the next run."""
        runs, text = self._found.runs, self._found.text
        end = runs[number + 1].start if number + 1 < len(runs) else len(text)
        shown = text[runs[number].end : min(end, runs[number].end + length)]
        return shown + _SLOT if len(shown) < length and number + 1 < len(runs) else shown


def _told(word: str) -> str | None:
    """Return the class of a word that a list of sensitive classes has by itself."""
    listed = (kind for kind in DRAWN if concept_of(kind, word, typed=False) is not None)
    return next(listed, None) or gazetteers().kind_of(word)


def _lone(text: str, start: int, end: int) -> bool:
    """Return True for a single letter that is no initial and no part of a number or name."""
    beside = text[max(0, start - 1) : start] + text[end : end + 1]
    return end - start == 1 and _GLUED.isdisjoint(beside)


def _words(run: Run) -> Sequence[tuple[int, int]]:
    """Return the words of a run as offsets; a number is one."""
    return [(run.start, run.end)] if run.kind in NUMBERS else run.words


def _without(text: str, taken: Sequence[Unit]) -> str:
    """Return the text with the stretches taken already blanked."""
    parts: list[str] = []
    at = 0
    for unit in taken:
        parts += [text[at : unit.start], " " * (unit.end - unit.start)]
        at = unit.end
    return "".join([*parts, text[at:]])


def _facts(text: str, tokens: _Tokens, odds: NDArray[np.float32]) -> Iterator[tuple[int, int]]:
    """Sentences whose visible words seem to tell a sensitive fact."""
    visible = np.flatnonzero(tokens.chars >= 0)
    places = tokens.chars[visible]
    for sentence in _SENTENCE.finditer(text):
        first, last = np.searchsorted(places, [sentence.start(), sentence.end()])
        if last - first < 3:
            continue
        scores = odds[visible[first:last]].astype(np.float64)
        if np.logaddexp.reduce(scores) - 0.5 * np.log(len(scores)) > _FACT_LIMIT:
            yield sentence.start(), sentence.end()


def public_code(
    text: str, forms: PublicForms, taken: Sequence[Unit], parts: Sequence[Piece]
) -> list[tuple[int, int]]:
    """Return the stretches of code that stay: keywords, tags, and names of known words alone.

    Which stretches are code follows from layout, punctuation and keywords; a name such as
    "salary_per_month" stays if each of its words is on a list.
    """
    hidden = [(unit.start, unit.end) for unit in taken]
    found = [tag.span(1) for tag in _FENCE.finditer(text)]
    for piece in parts:
        name = text[piece.start : piece.end]
        stays = piece.role in ("keyword", "tag") or (
            piece.role == "name"
            and (is_code_word(name, piece) or all(map(forms.known, NAME_PARTS.findall(name))))
        )
        if stays and not overlapping(hidden, piece.start, piece.end):
            found.append((piece.start, piece.end))
    return sorted(found)


def detector_for(models: Models, mode: str) -> Detector:
    """Return a detector over the packaged tagger and lists.

    Raises:
        ModelError: a model or a list is missing or damaged.
    """
    model, pieces = models.masked()
    return Detector(model, pieces, models.tagger(), public_forms(), gazetteers(), mode)


def load_lists() -> None:
    """Load all that `detector_for` does but for the models; raise ModelError as it does."""
    public_forms()
    gazetteers()
    _languages()
    for kind in LISTS:
        concept_of(kind, "")  # reads the plain names of all members


@cache
def public_forms() -> PublicForms:
    """Return the packaged lists of public words; raise ModelError if one is missing or damaged."""
    anywhere, opening, lower, judged = (
        frozenset(word_list(f"{name}.txt", "forms"))
        for name in ("anywhere", "opening", "lower", "judged")
    )
    ordinary = frozenset(word_list("ordinary.txt", "forms"))
    # Words that tell the language of a text are released whatever the language is.
    foreign = frozenset[str]().union(*language_lists(model_folder("words") / "languages").values())
    lower |= foreign - anywhere - opening - judged
    return PublicForms(anywhere, opening, lower, judged, ordinary)


@cache
def foreign_words(language: str) -> frozenset[str]:
    """Return the frequent words of a language, lower case; none of English and others.

    Raises:
        ModelError: a list is missing or damaged.
    """
    if language not in _FOREIGN:
        return frozenset()
    everyday = language_lists(model_folder("words") / "languages")[language]
    return everyday | frozenset(word_list(f"ordinary_{language}.txt", "forms"))


@cache
def _languages() -> Mapping[str, AbstractSet[str]]:
    """Return the lists by which a text's language is told; all their words are visible."""
    forms = public_forms()
    english = forms.anywhere | forms.opening | frozenset(word_list("lower.txt", "forms"))
    visible = forms.anywhere | forms.opening | forms.lower
    others = language_lists(model_folder("words") / "languages")
    return {"en": english} | {name: words & visible for name, words in others.items()}


@cache
def gazetteers() -> Gazetteers:
    """Return the packaged names of drugs and conditions; raise ModelError as `public_forms`."""
    kinds = dict.fromkeys(word_list("drugs.txt", "forms"), "TREATMENT")
    return Gazetteers(kinds | dict.fromkeys(word_list("conditions.txt", "forms"), "CONDITION"))
