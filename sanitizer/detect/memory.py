"""Readings are remembered: a chat sends its whole history with each message.

What is kept are offsets and classes, never text, under keys that only this process can make. A key
holds the name of the conversation, and so the tenant and the holder of an API key: nobody can time
what another has sent.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from sanitizer.randomness import secret_key

_T = TypeVar("_T")
MOST = 4096
"""Texts of which something is kept; the one that was not asked for longest goes first."""
_KEY = secret_key()


class Memory:
    """Results by what they were made of. Safe for many threads.

    Example:
        >>> memory = Memory()
        >>> memory.get(("length", "abc"), lambda: 3), memory.get(("length", "abc"), lambda: 4)
        (3, 3)
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, object] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, of: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """Return what was made of these values before, or make it now.

        Args:
            of: all that the result depends on; values with a repr that tells them apart.
        """
        digest = hashlib.blake2b(key=_KEY, digest_size=32)
        for each in of:
            part = (each if isinstance(each, str) else repr(each)).encode("utf-8", "surrogatepass")
            digest.update(len(part).to_bytes(8) + part)
        key = digest.digest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]  # type: ignore[return-value]
        made = make()
        with self._lock:
            self._kept[key] = made
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return made
