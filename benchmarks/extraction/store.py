"""Answers kept as they come, one JSON line each, so that a run can be taken up again."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Key:
    """Which text it is: the item's number, the condition, and its kind."""

    item: int
    condition: str
    kind: str


class Store:
    """Texts by key, in a file that only grows. Safe for the threads of one process.

    Args:
        path: read if it is there; a last line that was cut off is left out.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._texts: dict[Key, str] = {}
        self._extracted: set[Key] = set()
        if path.exists():
            found = path.read_bytes()
            whole = found[: found.rfind(b"\n") + 1]
            for line in whole.splitlines():
                self._take(json.loads(line))
            if len(whole) < len(found):
                path.write_bytes(whole)
        path.parent.mkdir(parents=True, exist_ok=True)

    def __contains__(self, key: Key) -> bool:
        return key in self._texts

    def get(self, key: Key) -> str | None:
        """The text; None if it is not there yet."""
        return self._texts.get(key)

    def extracted(self, key: Key) -> bool:
        """Whether the text was marked as rewritten."""
        return key in self._extracted

    def put(self, key: Key, text: str, extracted: bool = False) -> None:
        """Keep one; what is there stays."""
        entry = {
            "item": key.item,
            "condition": key.condition,
            "kind": key.kind,
            "text": text,
            "extracted": extracted,
        }
        with self._lock:
            if key not in self._texts:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry) + "\n")
                self._take(entry)

    def _take(self, entry: dict[str, Any]) -> None:
        key = Key(entry["item"], entry["condition"], entry["kind"])
        self._texts[key] = entry["text"]
        if entry["extracted"]:
            self._extracted.add(key)


def fingerprint(value: Any, length: int = 12) -> str:
    """Of a JSON value, hexadecimal."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:length]
