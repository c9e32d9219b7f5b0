"""Events of a stream of Gemini's streamGenerateContent: each is an answer with more of the text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.formats.events import Events, Json, with_list
from sanitizer.wire.history import PIECE_ROLE, Note
from sanitizer.wire.json_text import SpelledNumber
from sanitizer.wire.shapes import shapes


class GeminiEvents(Events):
    """Handler of the events of an answer.

    A text is identified by its candidate, by whether it is a thought and how many ended before it:
    ("0", "text", 0). It ends where the other kind begins, or the candidate; text held back is one
    more part there. What an application keeps of a stream may be each event's text alone, so they
    are remembered besides.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._open: dict[str, str] = {}  # candidate -> kind of the text that is coming
        self._kept: dict[str, str] = {}  # candidate -> what was held back of it, as it came
        self._n_ended: Counter[str] = Counter()
        self._candidates: set[str] = set()
        self._envelope: Json = {}

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event, as `Events.event`.

        Raises:
            UpstreamError: it is no answer and no error.
        """
        if "error" in event:
            return self._held(), self._error(event)
        shape = shapes("gemini")["answer.streamGenerateContent"]
        if shape.fields.keys().isdisjoint(event):
            raise UpstreamError("the API sent an event of an unknown type")
        self._envelope = {k: v for k, v in event.items() if k in ("modelVersion", "responseId")}
        candidates = event.get("candidates", [])
        if not isinstance(candidates, list):
            raise UpstreamError("the API sent candidates that cannot be read")
        restored = [self._candidate(each) for each in candidates]
        rest = {k: v for k, v in event.items() if k != "candidates"}
        others = self._restoration.document(shape, rest)
        if others is rest:
            return [], with_list(event, "candidates", restored)
        return [], {k: restored if k == "candidates" else others[k] for k in event}

    def _candidate(self, candidate: Any) -> Any:
        if not isinstance(candidate, dict):
            raise UpstreamError("the API sent a candidate that cannot be read")
        index = candidate.get("index", SpelledNumber(0))
        content = candidate.get("content", {})
        parts = content.get("parts", []) if isinstance(content, dict) else None
        if type(index) is not SpelledNumber or not isinstance(parts, list):
            raise UpstreamError("the API sent a candidate that cannot be read")
        self._candidates.add(index)
        wanted = self._asked.n_choices or len(self._candidates)
        if not index.isdecimal() or len(self._candidates) > wanted:
            raise UpstreamError("the API sent more candidates than were asked for")
        shown = self._parts(str(index), parts)
        if any(candidate.get(name) is not None for name in ("finishReason", "finish_reason")):
            shown += self._ended(str(index))
        rest = {k: v for k, v in candidate.items() if k != "content"}
        others = self._restoration.document(shapes("gemini")["Candidate"], rest)
        said = with_list(content, "parts", shown)
        if said is content:
            if others is rest:
                return candidate
            return {**others, "content": content} if "content" in candidate else others
        return {**others, "content": {"role": "model", **said}}

    def _parts(self, index: str, parts: list[Any]) -> list[Any]:
        shown: list[Any] = []
        for part in parts:
            text = part.get("text") if isinstance(part, dict) else None
            if not isinstance(text, str):
                shown += [*self._ended(index), self._whole(part)]
                continue
            kind = "thought" if part.get("thought") is True else "text"
            if self._open.get(index, kind) != kind:
                shown += self._ended(index)
            self._open[index] = kind
            now = self._feed(index, kind, text)
            shown.append(part if now == text else {**part, "text": now})
        return shown

    def _feed(self, index: str, kind: str, text: str) -> str:
        as_json = kind == "text" and self._asked.in_json
        path = (index, kind, self._n_ended[index])
        note = _note(index, kind)
        now = self._channels.feed(path, text, "arguments" if as_json else "text", note=note)
        came, held = self._kept.get(index, "") + text, self._channels.held(path)
        self._told(note, came[: len(came) - len(held)], now)
        self._kept[index] = held
        return now

    def _told(self, note: Note, sent: str, shown: str) -> None:
        """Note the text of one event, which may come back as a part of its own."""
        if shown:
            self._restoration.remember(note._replace(sent=sent, shown=shown, role=PIECE_ROLE))

    def _ended(self, index: str) -> list[Json]:
        """End the text of a candidate; return a part for what was held back."""
        kind = self._open.pop(index, None)
        came = self._kept.pop(index, "")
        if kind is None:
            return []
        found = self._channels.finish(lambda path: path[:2] == (index, kind))
        self._n_ended[index] += 1
        for _, held in found:
            self._told(_note(index, kind), came, held)
        mark = {"thought": True} if kind == "thought" else {}
        return [{"text": held, **mark} for _, held in found]

    def _whole(self, part: Any) -> Any:
        """Restore a part that is no text, and note what the model says in it."""
        content = {"role": "model", "parts": [part]}
        restored = self._restoration.document(shapes("gemini")["Said"], content, "")
        return part if restored is content else restored["parts"][0]

    def _held(self) -> list[Json]:
        held = {index: self._ended(index) for index in list(self._open)}
        said = {index: {"role": "model", "parts": parts} for index, parts in held.items() if parts}
        return [
            {**self._envelope, "candidates": [{"content": each, "index": SpelledNumber(index)}]}
            for index, each in said.items()
        ]


def _note(index: str, kind: str) -> Note:
    """Return how a text of a candidate is noted."""
    return Note("", "", "assistant", "" if kind == "text" else kind, choice=int(index))
