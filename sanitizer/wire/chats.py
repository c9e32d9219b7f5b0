"""The turns of a chat, as applications send them back: by them its conversation is found again.

What is compared is what every application sends back alike: who speaks, and the words. White space,
instructions, thoughts, names of tools, and numbers and keys in arguments of calls are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from sanitizer.wire.endpoints import Endpoint
from sanitizer.wire.history import CALL_ROLE, INPUT_ROLE, WHOLE_ROLE, Note
from sanitizer.wire.json_text import spelled_leaves
from sanitizer.wire.walker import ARGUMENTS_ROLE, VALUE_ROLE, Walker, is_json, speaker

_API, _BESIDE = "assistant", ("system", "developer")
_KEPT_THERE = ("previous_response_id", "conversation")
"""Fields of a request that name what an API keeps of a chat."""


class Turn(NamedTuple):
    """What is said at a time: all that an API writes until somebody else speaks is one turn.

    Attributes:
        who: "user", "assistant" or "tool". words, values: without spaces; values in arguments.
    """

    who: str
    words: str
    values: str = ""


class Chat(NamedTuple):
    """What a request sends of a chat.

    Attributes:
        turns: in order. n_known: how many there are up to the last that an API wrote.
        beside: all texts of the request that are no turns, such as instructions.
        kept_there: name of an earlier part that the API keeps; "" if the request holds all of it.
    """

    turns: tuple[Turn, ...]
    n_known: int
    beside: tuple[str, ...] = ()
    kept_there: str = ""

    @property
    def goes_on(self) -> bool:
        """True if an API has answered in it before."""
        return bool(self.n_known or self.kept_there)

    def answered(self, words: str, values: str) -> tuple[Turn, ...]:
        """Return the turns with those of an answer, which goes on with what was begun for it."""
        turns = list(self.turns)
        _add(turns, Turn(_API, words, values))
        return tuple(turns)


def chat_of(endpoint: Endpoint, document: Mapping[str, Any], walker: Walker) -> Chat | None:
    """Return the chat of a request that was walked through; None if its endpoint has none."""
    if not (field := endpoint.chat):
        return None
    held = document.get(field, [])
    elements = held if isinstance(held, list) else [held]
    speakers = [speaker(each, "user") for each in elements]
    texts: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    beside: list[str] = []
    for slot in walker.slots:
        first, at = (*slot.path, 0, 0)[:2]
        at = at if isinstance(at, int) else 0
        if first != field or speakers[at] in _BESIDE:
            beside.append(slot.text)
        elif slot.kind == "text" and not slot.aside:
            texts[at, slot.role == VALUE_ROLE].append(slot.text)
    turns: list[Turn] = []
    n_known = 0
    for at, who in enumerate(speakers):
        if who not in _BESIDE:
            _add(turns, Turn(who, _squeezed(texts[at, False]), _squeezed(texts[at, True])))
            n_known = len(turns) if who == _API else n_known
    kept = next((document[name] for name in _KEPT_THERE if document.get(name)), "")
    kept = kept.get("id", "") if isinstance(kept, dict) else kept
    return Chat(tuple(turns), n_known, tuple(beside), str(kept))


def _add(turns: list[Turn], turn: Turn) -> None:
    """Add a turn; what an API writes goes on with what it wrote just before."""
    if turn.who == _API and turns and turns[-1].who == _API:
        last = turns.pop()
        turn = Turn(_API, last.words + turn.words, last.values + turn.values)
    turns.append(turn)


def said(notes: Iterable[Note]) -> Iterator[tuple[str, str]]:
    """Yield the words and values of an answer, as an application may send them back.

    Of several choices one is kept, and of several tellings one is read.
    """
    told: defaultdict[tuple[int, bool], defaultdict[str, list[str]]]
    told = defaultdict(lambda: defaultdict(list))
    for note in sorted(notes, key=lambda note: note.at):
        if note.role in (ARGUMENTS_ROLE, INPUT_ROLE):
            strings = [note.shown]
            if is_json(note.shown):
                found = spelled_leaves(note.shown)
                strings = [value for value, _, kind in found if kind == "string"]
            told[note.choice, True][note.telling] += strings
        elif note.role in (_API, WHOLE_ROLE, CALL_ROLE) and not note.aside:
            told[note.choice, False][note.telling].append(note.shown)
    for choice in {choice for choice, _ in told} or {0}:
        words, values = (
            {_squeezed(texts) for texts in told[choice, in_calls].values()} or {""}
            for in_calls in (False, True)
        )
        yield from product(sorted(words), sorted(values))


def _squeezed(texts: Iterable[str]) -> str:
    return "".join("".join(texts).split())
