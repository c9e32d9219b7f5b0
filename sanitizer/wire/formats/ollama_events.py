"""Lines of a stream of Ollama: each is an answer with more of the text, the last is "done"."""

from __future__ import annotations

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.history import Note
from sanitizer.wire.json_text import TextPath, TextSlot
from sanitizer.wire.shapes import shapes

_COMING = ("content", "thinking", "response")
"""Fields whose text comes in pieces."""


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
        """Restore one line, as `Events.event`.

        Raises:
            UpstreamError: it is no part of an answer and no error.
        """
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
