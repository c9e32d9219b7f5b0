"""Lines of a stream of Ollama: each is an answer with more of the text, the last is "done"."""

from __future__ import annotations

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, TextPath
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.formats.ollama import ANSWERS
from sanitizer.wire.history import Note
from sanitizer.wire.shapes import ERROR

_ENVELOPE = ("model", "created_at")
_COMING = ("content", "thinking", "response")


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
        self._shape = ANSWERS[endpoint]
        self._role = "assistant" if endpoint == "api/chat" else ""
        super().__init__(restoration)
        self._envelope: Json = {}

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one line, as `Events.event`.

        Raises:
            UpstreamError: it is no part of an answer and no error.
        """
        if "error" in event:
            return self._held(), self._restoration.document(ERROR, event)
        if "done" not in event:
            raise UpstreamError("the API sent a line of an unknown type")
        self._envelope = {k: v for k, v in event.items() if k in _ENVELOPE}
        message = event.get("message")
        text = message if isinstance(message, dict) else event
        path: TextPath = ("message",) if text is message else ()
        coming = {k: v for k, v in text.items() if k in _COMING and isinstance(v, str)}
        before = self._thought(path) if coming.get("content") or coming.get("response") else []
        shown = {key: self._feed((*path, key), piece) for key, piece in coming.items()}
        rest = self._without(event, text, coming)
        others = self._restoration.document(self._shape, rest, "" if self._role else None)
        if event.get("done") is True:
            before += self._held()
        if shown == coming and others is rest:
            return before, event
        return before, self._with(others, text is message, shown)

    @staticmethod
    def _without(event: Json, text: Json, coming: Json) -> Json:
        """Return a line without the text that comes in pieces."""
        rest = {k: "" if k in coming else v for k, v in text.items()}
        return rest if text is event else {**event, "message": rest}

    @staticmethod
    def _with(event: Json, in_message: bool, shown: Json) -> Json:
        return (
            {**event, "message": {**event["message"], **shown}}
            if in_message
            else {**event, **shown}
        )

    def _feed(self, path: TextPath, piece: str) -> str:
        as_json = path[-1] != "thinking" and self._restoration.in_json
        kind = "arguments" if as_json else "text"
        note = Note("", "", self._role, "thinking" if path[-1] == "thinking" else "")
        return self._channels.feed(path, piece, kind, note=note)

    def _thought(self, place: TextPath) -> list[Json]:
        thought = (*place, "thinking")
        return self._lines(self._channels.finish(lambda path: path == thought))

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
