"""Lines of a stream of Ollama: each is an answer with more of the text, the last is "done"."""

from __future__ import annotations

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.history import Note
from sanitizer.wire.json_text import TextPath
from sanitizer.wire.shapes import shapes

_COMING = ("content", "thinking", "response")
"""Fields whose text comes in pieces."""


class OllamaEvents(Events):
    """Handler of the lines of an answer of /api/chat or /api/generate.

    A text is identified by its place in the line: ("message", "content"), or ("response",). Text
    held back comes in one more line before the one that says it is done; a thought ends where the
    text begins.

    Args:
        endpoint: "api/chat" or "api/generate".
        restoration: of the answer.
    """

    def __init__(self, endpoint: str, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._shape = shapes("ollama")[f"answer.{endpoint}"]
        self._role = "assistant" if endpoint == "api/chat" else ""
        self._envelope: Json = {}

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one line, as `Events.event`.

        Raises:
            UpstreamError: it is no part of an answer and no error.
        """
        if "error" in event:
            return self._held(), self._error(event)
        if "done" not in event:
            raise UpstreamError("the API sent a line of an unknown type")
        self._envelope = {k: v for k, v in event.items() if k in ("model", "created_at")}
        message = event.get("message")
        text = message if isinstance(message, dict) else event
        path: TextPath = ("message",) if text is message else ()
        coming = {k: v for k, v in text.items() if k in _COMING and isinstance(v, str)}
        before: list[Json] = []
        if coming.get("content") or coming.get("response"):
            thought = (*path, "thinking")
            before = self._lines(self._channels.finish(lambda path: path == thought))
        shown = {key: self._feed((*path, key), piece) for key, piece in coming.items()}
        empty = dict.fromkeys(coming, "")
        rest = self._with(event, path, text | empty)
        others = self._restoration.document(self._shape, rest, "" if self._role else None)
        if event.get("done") is True:
            before += self._held()
        if shown == coming and others is rest:
            return before, event
        return before, self._with(others, path, (others["message"] if path else others) | shown)

    @staticmethod
    def _with(event: Json, path: TextPath, text: Json) -> Json:
        """Return a line with another object that holds its text."""
        return {**event, "message": text} if path else text

    def _feed(self, path: TextPath, piece: str) -> str:
        aside = "thinking" if path[-1] == "thinking" else ""
        kind = "arguments" if self._asked.in_json and not aside else "text"
        return self._channels.feed(path, piece, kind, note=Note("", "", self._role, aside))

    def _held(self) -> list[Json]:
        return self._lines(self._channels.finish(lambda path: True))

    def _lines(self, held: list[tuple[TextPath, str]]) -> list[Json]:
        """Return one more line for each text that was held back."""
        lines = []
        for path, text in held:
            said: Json = {str(path[-1]): text}
            if len(path) > 1:
                said = {"message": {"role": "assistant", "content": "", **said}}
            lines.append({**self._envelope, **said, "done": False})
        return lines
