"""Same text, same output: what a conversation has already released.

Fresh draws of one message average out (docs/guarantees.md); repeating the first output releases nothing new.
Messages are found by HMAC, so the memory holds no index of private text. It is bounded, and gone with the
process; a store that survives implements the same protocol.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import OrderedDict
from typing import Protocol

from sanitizer.types import SanitizedText

DEFAULT_SIZE = 10_000


class Memory(Protocol):
    """Where released messages are kept. Must be safe for many threads."""

    def get(self, key: bytes) -> SanitizedText | None:
        """The result kept under a key."""

    def put_first(self, key: bytes, result: SanitizedText) -> SanitizedText:
        """Keep a result unless one is there already; return the one that is kept."""


class ConversationMemory:
    """The last `size` messages of a conversation, in memory.

    Args:
        size: at least 1; the message not used for longest is forgotten first.
    """

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size!r}")
        self._size = size
        self._kept: OrderedDict[bytes, SanitizedText] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> SanitizedText | None:
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return found

    def put_first(self, key: bytes, result: SanitizedText) -> SanitizedText:
        with self._lock:
            kept = self._kept.setdefault(key, result)
            self._kept.move_to_end(key)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
            return kept

    def __len__(self) -> int:
        return len(self._kept)


def message_key(secret: bytes, conversation: str, role: str, content: str) -> bytes:
    """HMAC-SHA256 of a message; lengths keep the three parts apart."""
    parts = [part.encode("utf-8", "surrogatepass") for part in (conversation, role, content)]
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(secret, framed, hashlib.sha256).digest()
