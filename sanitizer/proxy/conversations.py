"""Whose conversation a request belongs to, and the filter of each."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping

from sanitizer.errors import RequestRefused
from sanitizer.pipeline import Sanitizer
from sanitizer.storage import message_key
from sanitizer.wire import Filter

HEADER = "sanitizer-conversation"
MAX_CONVERSATIONS = 10_000
_NAME = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


class Conversations:
    """One filter per conversation, made when first needed. Safe for many threads.

    Args:
        key: of the hashes that stand for API keys. With the same key, a conversation is found again
            by a ledger or a vault on disk after a restart.
        most: beyond it, the one not used for longest is forgotten here; its memory and budget are
            kept elsewhere.
    """

    def __init__(self, sanitizer: Sanitizer, key: bytes, most: int = MAX_CONVERSATIONS) -> None:
        self._sanitizer, self._key, self._most = sanitizer, key, most
        self._filters: OrderedDict[str, Filter] = OrderedDict()
        self._lock = threading.Lock()

    def name(self, headers: Mapping[str, str]) -> str:
        """ "NAME/HASH": the header's, bound to the caller's key, since whoever holds another key
        must not see into it.

        Without the header "key/HASH"; without a key "NAME" as it stands, or "default". HASH is the
        key's keyed hash.

        Raises:
            RequestRefused: not 1 to 128 letters, digits or ._:@-
        """
        wanted = headers.get(HEADER)
        if wanted is not None and not _NAME.fullmatch(wanted):
            raise RequestRefused(
                f"{HEADER} must be 1 to 128 letters, digits or . _ : @ -", "conversation"
            )
        secrets = [headers.get("authorization", ""), headers.get("api-key", "")]
        if not any(secrets):
            return wanted or "default"
        holder = message_key(self._key, "api-key", *secrets).hex()[:32]
        return f"{wanted}/{holder}" if wanted else f"key/{holder}"

    def filter(self, name: str) -> Filter:
        """The filter of a conversation. Raises LedgerError, VaultError."""
        with self._lock:
            found = self._filters.get(name)
            if found is None:
                found = self._filters[name] = Filter(self._sanitizer.derive(conversation=name))
                if len(self._filters) > self._most:
                    self._filters.popitem(last=False)
            else:
                self._filters.move_to_end(name)
            return found
