"""Streams of which each event is an answer with more of the text: Gemini's, and Ollama's lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.formats.events import Events, Json, with_list
from sanitizer.wire.history import Note
from sanitizer.wire.json_text import SpelledNumber, TextPath, TextSlot
from sanitizer.wire.shapes import shapes

_COMING = ("content", "thinking", "response")
"""Fields whose text comes in pieces."""
_CONTENT = ("message", "content")


class ChatLines(Events):
    """Handler of the lines of an answer of /api/chat.

    A text is identified by its place in the line: ("message", "content"), or ("response",). Text
    held back comes in one more line before the one that says it is done; a thought ends where the
    text begins.
    """

    endpoint, role = "api/chat", "assistant"

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._envelope: Json = {}

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one line; raise UpstreamError if it is no part of an answer and no error."""
        if "error" in event:
            return self._held(), self._error(event)
        if "done" not in event:
            raise UpstreamError("the API sent a line of an unknown type")
        self._envelope = {k: v for k, v in event.items() if k in ("model", "created_at")}
        before: list[Json] = []
        message = event.get("message")
        if (isinstance(message, dict) and message.get("content")) or event.get("response"):
            before = self._held(lambda path: path[-1] == "thinking")
        telling = "" if self.role else None
        shape = shapes("ollama")[f"answer.{self.endpoint}"]
        restored = self._restoration.document(shape, event, telling, coming=self._coming)
        if event.get("done") is True:
            before += self._held()
            if (line := self._asked.last_line) and self._channels.says(_CONTENT.__eq__):
                said = restored.get("message") or {"role": "assistant"}
                said = {**said, "content": f"{said.get('content') or ''}{line}"}
                restored = {**restored, "message": said}
        return before, restored

    def _coming(self, slot: TextSlot) -> str | None:
        """Return what can be shown of a text that comes in pieces."""
        field = slot.path[-1]
        if slot.path not in (("message", field), (field,)) or field not in _COMING:
            return None
        aside = "thinking" if field == "thinking" else ""
        kind = "arguments" if self._asked.in_json and not aside else "text"
        note = Note("", "", self.role, aside)
        return self._channels.feed(slot.path, slot.text, kind, note=note)

    def _event_of(self, path: TextPath, text: str) -> Json:
        said: Json = {str(path[-1]): text}
        if len(path) > 1:
            said = {"message": {"role": "assistant", "content": "", **said}}
        return {**self._envelope, **said, "done": False}


class GenerateLines(ChatLines):
    """Handler of the lines of an answer of /api/generate, which no application sends back."""

    endpoint, role = "api/generate", ""


class GeminiEvents(Events):
    """Handler of the events of an answer.

    A text is identified by its candidate, by whether it is a thought and how many ended before it:
    ("0", "text", 0). It ends where the other kind begins, or the candidate; text held back is one
    more part there. What an application keeps of a stream may be each event's text alone, so they
    are remembered besides.
    """

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._open: dict[str, str] = {}  # candidate -> kind of the text that is coming
        self._n_ended: Counter[str] = Counter()
        self._envelope: Json = {}

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event; raise UpstreamError if it is no answer and no error."""
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
        event = event if others is rest else {**event, **others}
        return [], with_list(event, "candidates", restored)

    def _candidate(self, candidate: Any) -> Any:
        index = str(self._index(candidate))
        content = candidate.get("content", {})
        parts = content.get("parts", []) if isinstance(content, dict) else None
        if not isinstance(parts, list):
            raise UpstreamError("the API sent a candidate that cannot be read")
        shown = self._parts(index, parts)
        if any(candidate.get(name) is not None for name in ("finishReason", "finish_reason")):
            shown += self._ended(index)
            speaks = self._channels.says(lambda path: path[:2] == (index, "text"))
            if self._asked.last_line and speaks:
                last = shown.pop() if shown and _is_text(shown[-1]) else {"text": ""}
                shown.append({**last, "text": last["text"] + self._asked.last_line})
        rest = {k: v for k, v in candidate.items() if k != "content"}
        others = self._restoration.document(shapes("gemini")["Candidate"], rest)
        said = with_list(content, "parts", shown)
        if said is not content:
            return {**others, "content": {"role": "model", **said}}
        return candidate if others is rest else {**candidate, **others}

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
            as_json = kind == "text" and self._asked.in_json
            path = (index, kind, self._n_ended[index])
            note = Note("", "", "assistant", "" if kind == "text" else kind, choice=int(index))
            now = self._channels.feed(path, text, "arguments" if as_json else "text", note=note)
            shown.append(part if now == text else {**part, "text": now})
        return shown

    def _ended(self, index: str) -> list[Json]:
        """End the text of a candidate; return a part for what was held back."""
        kind = self._open.pop(index, None)
        if kind is None:
            return []
        found = self._channels.finish(lambda path: path[:2] == (index, kind))
        self._n_ended[index] += 1
        return [_part(kind, text) for _, text in found]

    def _whole(self, part: Any) -> Any:
        """Restore a part that is no text, and note what the model says in it."""
        content = {"role": "model", "parts": [part]}
        restored = self._restoration.document(shapes("gemini")["Said"], content, "")
        return part if restored is content else restored["parts"][0]

    def _held(self, which: Callable[[TextPath], bool] = lambda path: True) -> list[Json]:
        return [
            self._event_of((index, kind), part["text"])
            for index, kind in list(self._open.items())
            for part in self._ended(index)
        ]

    def _event_of(self, path: TextPath, text: str) -> Json:
        content = {"role": "model", "parts": [_part(str(path[1]), text)]}
        candidate = {"content": content, "index": SpelledNumber(path[0])}
        return {**self._envelope, "candidates": [candidate]}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and "text" in part and part.get("thought") is not True


def _part(kind: str, text: str) -> Json:
    return {"text": text, "thought": True} if kind == "thought" else {"text": text}
