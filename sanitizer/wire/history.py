"""What the API wrote in a request's history: recognized, and left as it was sent.

Messages of the assistant and arguments of calls are compared with the answers that the conversation
remembers. Of those that came back changed, only what was put in is the user's.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from sanitizer.answers.alignment import Piece, Segment
from sanitizer.answers.restorer import Restorer
from sanitizer.pipeline.answering import ByParts, pieces_of
from sanitizer.pipeline.response_memory import Passage, Resent, declared
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.pipeline.surrogates import UNKNOWN
from sanitizer.wire.json_text import Spliced, TextSlot, inner, leaves, plain_json
from sanitizer.wire.walker import ARGUMENTS_ROLE, VALUE_ROLE, ArgumentsText, Walker

CALL_ROLE = "call"
"""Role in which texts of calls that are no JSON are noted besides."""
INPUT_ROLE = "input"
"""Role in which arguments that are no string are noted: they come back as an object."""
PIECE_ROLE = "piece"
"""Role in which the text of one event of a stream is noted, where it may come back as a part."""
WHOLE_ROLE = "whole"
"""Role of a text that is noted as both: as a message, and as a part of one."""
TYPED_ROLE = "typed"
"""Role in which what was written by its type, or could not be, is noted; no text comes back so."""
_ROLES = {
    CALL_ROLE: {"assistant": "assistant", CALL_ROLE: CALL_ROLE},
    WHOLE_ROLE: {"assistant": "assistant", PIECE_ROLE: PIECE_ROLE},
    INPUT_ROLE: {INPUT_ROLE: ARGUMENTS_ROLE},
}
"""Role of a note -> roles in which it is remembered, and those in which each is counted."""
IN_PASSING = frozenset(
    f"response.{part}.{end}"
    for part in ("output_text", "refusal", "content_part", "reasoning_summary_part", "output_item")
    for end in ("done", "added")
) - {"response.output_item.done"}
"""Tellings that repeat one text of an answer."""

Places = Counter[tuple[str, str]]
"""How many texts of a history there are of each role, those apart that stand aside, by field."""

_TOLD, _UNSENT = "[sanitizer: the model was told ", "; this line is not sent]"
"""Beginning and end of the last line of an answer, see `last_line`."""
_LAST_LINE = re.compile(rf"(?:\n\n)?{re.escape(_TOLD)}.*?(?:{re.escape(_UNSENT)}|\Z)", re.DOTALL)

_BETWEEN = "\0"
"""Stands between values of arguments: a token of its own."""
_END = Piece(_BETWEEN, _BETWEEN)


class Note(NamedTuple):
    """A text of an answer, whole or so far as it came.

    Attributes:
        sent, shown: as it came, and as the application sees it.
        role: in which it may come back; see `Restoration.note`.
        telling: by what it was told: a stream tells a text in pieces, and again as a whole.
        choice: which answer of several it is of.
        at: where it stands among the texts of its telling; in the order of their coming, if equal.
        ended: no more of it comes.
    """

    sent: str
    shown: str
    role: str
    aside: str = ""
    telling: str = ""
    choice: int = 0
    at: tuple[int, ...] = ()
    ended: bool = True


def roles_of(note: Note) -> dict[str, str]:
    """Return the roles in which a text is remembered, and those in which each is counted."""
    return _ROLES.get(note.role, {note.role: note.role})


def numbered(notes: Iterable[Note], before: Places) -> Iterator[tuple[Note, str, int]]:
    """Yield the texts of one answer, in the order of their coming, with their roles and places.

    Of several choices one is kept, and of several tellings one is read: each is counted from the
    texts that the request had. The first choice is last, since the last counts of those that look
    alike; what is told in passing, and rarely read, comes before.
    """
    counts: defaultdict[tuple[str, int], Places] = defaultdict(before.copy)
    for note in sorted(notes, key=lambda n: (-n.choice, n.telling not in IN_PASSING, n.at)):
        count = counts[note.telling, note.choice]
        for role, counted in roles_of(note).items():
            yield note, role, count[counted, note.aside]
            count[counted, note.aside] += 1


def joined(parts: Sequence[Passage], between: str) -> Passage:
    """Return the texts of a message as one, as applications put them together."""
    pieces = list(parts[0].pieces)
    for each in parts[1:]:
        pieces += [Piece(between, between), *each.pieces] if between else each.pieces
    sent, shown = (between.join(texts) for texts in zip(*(p[1:3] for p in parts), strict=True))
    return parts[0]._replace(sent=sent, shown=shown, pieces=tuple(pieces))


def places(walker: Walker) -> Places:
    """Return how many texts of each role a request has that an API may have written."""
    found: Places = Counter({(ARGUMENTS_ROLE, ""): len(walker.arguments)})
    for slot in _messages(walker):
        found.update([("assistant", slot.aside), (PIECE_ROLE, slot.aside)])
    return found


def last_line(notes: Iterable[str]) -> str:
    """Return what ends an answer for applications that show its text alone; "" without notes."""
    told = "; ".join(" ".join(note.replace("]", ")").split()) for note in notes)
    return f"\n\n[sanitizer: {told}{_UNSENT}" if told else ""


def drop_last_lines(walker: Walker, document: Any) -> None:
    """Take the last lines of answers out of a request, before anything of it is read.

    Told by beginning and end alone: a look at what stands between would tell of originals. Of an
    answer that was cut off within the line, all behind its beginning goes.

    Args:
        document: as the walker returned it; parts that were nothing else are taken out.
    """
    for slot in walker.slots[::-1]:
        if _TOLD not in slot.text or slot.kind != "text" or slot.role == VALUE_ROLE:
            continue
        text, end = slot.text, len(slot.text)
        if slot.role != "assistant":  # only of answers it may be cut off
            end = text.rfind(_UNSENT) + len(_UNSENT) if _UNSENT in text else 0
        slot.text = _LAST_LINE.sub("", text[:end]) + text[end:]
        path = slot.path[:-1]
        while not slot.text and path and isinstance(path[-1], int):
            parts = reduce(getitem, path[:-1], document)
            del parts[path[-1]]
            path = () if parts else path[:-2]
    walker.slots = [slot for slot in walker.slots if slot.text]


class Late(NamedTuple):
    """How much is known of a chat whose conversation has no table of its own any more.

    Attributes:
        others: conversations that may have had its answers, if this one is new.
        slides: its history is the latest part of a longer one.
    """

    others: Sequence[str] = ()
    slides: bool = False


def recognize(
    walker: Walker, sanitizer: Sanitizer, in_pieces: bool = False, late: Late | None = None
) -> int:
    """Put what the API sent in place of what it wrote, declare that, and return `n_turns`.

    Texts of the request that are the API's as a whole are no slots of the walker any more.

    Args:
        in_pieces: the history has each event of a stream as a text of its own.
        late: of a late conversation.

    Raises:
        VaultError: the answers cannot be read.
    """
    if sanitizer.policy.wire.tools == "keep":
        _declare_kept(walker, sanitizer)
    messages, calls = _messages(walker), walker.arguments
    if not messages and not calls:
        return sanitizer.inner.n_turns()
    said = [Resent("assistant", slot.text, None, slot.aside) for slot in messages]
    # The values of arguments are read as one text.
    values = [[value + _BETWEEN for value, _ in call.leaves] for call in calls]
    called = [
        Resent(ARGUMENTS_ROLE, call.text, "".join([_BETWEEN, *each]))
        for call, each in zip(calls, values, strict=True)
    ]
    others, slides = late or Late()
    if others:
        sanitizer.inner.follow([*said, *called], others)
    aligned = sanitizer.inner.align([*said, *called], sends=not in_pieces, slides=slides)
    if in_pieces:
        history = [*[each._replace(role=PIECE_ROLE) for each in said], *called]
        for i, piece in enumerate(sanitizer.inner.align(history, slides=slides)[: len(said)]):
            if isinstance(piece, str) or not aligned[i]:
                aligned[i] = piece
    found = iter(aligned)
    for slot, text in zip(messages, found, strict=False):
        _place(slot, text)
    for call, text in zip(calls, found, strict=True):
        if isinstance(text, str):
            _whole(call, text)
        elif text:
            _leaf_by_leaf(call, text)
    walker.slots = [slot for slot in walker.slots if slot.declared is not None]
    walker.numbers = [slot for slot in walker.numbers if slot.declared is not None]
    return sanitizer.inner.n_turns(reads=False)


def set_apart(walker: Walker, roles: Mapping[str, str]) -> None:
    """Let no text that the API may have written be compared with the table, or another text.

    Called for a history whose answers are not known: a guess in it would be confirmed.

    Args:
        walker: of a request, after `recognize`. roles: how the policy treats texts of some.
    """
    texts = [] if roles.get("assistant") == "public" else _messages(walker)
    for slot in [*texts, *(slot for call in walker.arguments for _, slot in call.leaves)]:
        if slot is not None and not slot.declared:
            slot.role = UNKNOWN


def _messages(walker: Walker) -> list[TextSlot]:
    return [slot for slot in walker.slots if slot.role == "assistant" and slot.kind == "text"]


def _declare_kept(walker: Walker, sanitizer: Sanitizer) -> None:
    """Declare the stand-ins in results of tools, which were called with them: the API knows them.

    Read as the user's words, one that equals an original would tell that.
    """
    restorer = sanitizer.inner.answers.restorer()
    for slot in walker.slots:
        if slot.role != "tool" or slot.kind != "text" or slot.declared:
            continue
        spans, at = [], 0
        for part in restorer.parts(slot.text)[0]:
            if part.original is not None:
                spans.append((at, at + len(part.text)))
            at += len(part.text)
        slot.declared = tuple(spans)


def _place(slot: TextSlot, said: str | tuple[Segment, ...]) -> None:
    """Write a text as it was sent, and declare what the API wrote of it."""
    if isinstance(said, str):
        slot.text, slot.declared = said, None
    elif said:
        read = declared(slot.text, said)
        slot.text = read.text
        # Spaces around it tell nothing.
        trimmed = len(read.text) - len(read.text.lstrip()), len(read.text.rstrip())
        slot.declared = None if read.declared == (trimmed,) else read.declared


def _whole(call: ArgumentsText, sent: str) -> None:
    """Write arguments as the API sent them."""
    is_value = isinstance(call.written, Spliced) and not call.written.in_string
    if is_value and plain_json(sent) is None:
        return  # it was said as a string, and would be no value here
    for _, slot in call.leaves:
        if slot is not None:
            slot.declared = None
    if isinstance(call.written, TextSlot):
        call.written.text = sent
    else:
        call.written.pieces[:] = [sent]


def _leaf_by_leaf(call: ArgumentsText, said: Sequence[Segment]) -> None:
    """Place what the API wrote in each value of arguments."""
    begin = len(_BETWEEN)
    for value, slot in call.leaves:
        end = begin + len(value)
        inside = tuple(_cut(said, begin, end))
        if slot is not None and inside:
            was_number = slot.kind == "number"
            if was_number:
                slot.text = value
            _place(slot, inside)
            if was_number and slot.text != value:
                slot.text = f'"{inner(slot.text)}"'
        begin = end + len(_BETWEEN)


def _cut(said: Sequence[Segment], begin: int, end: int) -> Iterator[Segment]:
    """Yield the parts of segments in a stretch, with offsets from its beginning."""
    for each in said:
        start, stop = max(each.start, begin), min(each.end, end)
        if start < stop:
            # What was restored lies within one value; only what the API wrote reaches over two.
            whole = start == each.start and stop == each.end
            sent = each.sent if whole else each.sent[start - each.start : stop - each.start]
            yield Segment(start - begin, stop - begin, sent)


def claims_ended(sanitizer: Sanitizer, texts: Restorer, told: bool) -> tuple[str, ...]:
    """Return the stand-ins of a conversation that no claim covers any more; raise VaultError.

    They were written by their types, or could not be; if tools have `told` what came of it, also
    those that were restored for tools.
    """
    roles = (TYPED_ROLE, ARGUMENTS_ROLE, CALL_ROLE) if told else (TYPED_ROLE,)
    restored = frozenset().union(*map(sanitizer.inner.restored_in, roles))
    known = restored.intersection(texts.originals)
    # A value may be several, as a date and a time.
    parts = (part for text in restored - known for part in texts.parts(text)[0])
    return tuple(sorted(known.union(part.text for part in parts if part.original is not None)))


def passage(
    sent: str, shown: str, role: str, texts: Restorer, others: Callable[[], ByParts]
) -> Passage:
    """Return a text of an answer as it is remembered.

    Args:
        texts: what restored plain text. others: returns what restored JSON, or strings in it,
            which is long to make.
    """
    if role == INPUT_ROLE:
        role = ARGUMENTS_ROLE
        sent, shown = _plain(quoted(sent, texts.originals)), _plain(shown)
    pieces = _pieces_of_call(sent, shown, texts) if role == ARGUMENTS_ROLE else None
    if pieces is None:
        pieces = pieces_of(sent, shown, (restorer() for restorer in (lambda: texts, others)))
        # What is no JSON comes back as one value.
        pieces = (_END, *pieces, _END) if role == ARGUMENTS_ROLE else pieces
    return Passage(role, sent, shown, pieces)


def _plain(document: str) -> str:
    """Return JSON in the spelling by which it is compared, so far as it came."""
    return plain_json(document) or plain_json(completed(document)) or document


def completed(document: str) -> str:
    """Return a JSON document that was cut off as far as its values are whole, closed.

    Applications read an object so that comes in pieces, before its end or without one.

    >>> completed('{"a": [1, {"b": "c"}, "d')
    '{"a": [1, {"b": "c"}]}'
    """
    closers: list[str] = []
    good, ends = 0, ""  # where the last whole value ends, and what closes the document there
    is_key = False
    for token in _JSON_TOKEN.finditer(document):
        mark = token[0]
        if mark == '"' or not (mark[0] in '"[]{},:' or _BARE.fullmatch(mark)):
            break
        if mark in "{[":
            closers.append("}" if mark == "{" else "]")
        elif mark in "}]":
            del closers[-1:]
        if mark in "{,":
            is_key = closers[-1:] == ["}"]
        elif mark == ":":
            is_key = False
        if mark not in ",:" and not (is_key and mark != "{"):
            good, ends = token.end(), "".join(reversed(closers))
            if not ends:
                break
    return document[:good] + ends


_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},:]|[^\s"{},:\][]+|"')
_BARE = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


def quoted(document: str, bare: Collection[str]) -> str:
    """Return a JSON document with quotes around released values that stand for strings."""
    for value in tuple(bare):  # other requests of the conversation may add to it meanwhile
        if value in document and not value.startswith('"'):
            token = re.compile(rf'"(?:[^"\\]|\\.)*"?|\\.|{re.escape(value)}', re.DOTALL)
            document = token.sub(
                lambda m: m[0] if m[0][0] in '"\\' else f'"{inner(m[0])}"', document
            )
    return document


def _pieces_of_call(sent: str, shown: str, texts: Restorer) -> tuple[Piece, ...] | None:
    """Return the pieces of the values of arguments; None if they are not alike."""
    before, after = leaves(sent), leaves(shown)
    if before is None and after is not None:
        before = leaves(quoted(sent, texts.originals))
    if before is None or after is None or len(before) != len(after):
        return None
    found = [_END]
    for was, now in zip(before, after, strict=True):
        found += [*pieces_of(was, now, [texts]), _END]
    return tuple(found)
