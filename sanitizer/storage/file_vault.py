"""Vault that survives the process: originals and released messages, encrypted in one file.

Many threads and processes may use one file at once. What a call gives out is on the disk before it
returns (WAL, synchronous=FULL): an original whose placeholder was sent can be restored after a
power cut, and no number is used for another.

Guarantee: without the key, nothing private can be read from the files, and a changed, swapped,
copied, older or missing row is a VaultError, never a wrong restore. Names of conversations and keys
of messages are stored as HMAC-SHA256, everything else under AES-256-GCM with a random 96-bit nonce
and associated data that names the row's role and place; keys by scrypt from the caller's key and a
stored salt. Contents are padded to powers of two.
The files still show: how many entries and messages there are, which belong together, in which order
they came, their sizes as powers of two, and when the file was last written.
Not protected: memory of the running process and swap; whoever holds the key; all files replaced
together by older copies; old blocks that the disk or its backups keep after `forget`; network file
systems, on which WAL does not work. Keep `PATH`, `PATH-wal` and `PATH-mark` together.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from sanitizer.randomness import secret_key
from sanitizer.results import SanitizedText
from sanitizer.storage.sealing import (
    SALT_BYTES,
    SCRYPT_N,
    Keys,
    decoded,
    derived_keys,
    dumped,
    encoded,
    key_bytes,
)
from sanitizer.storage.table import Cache, Entries, Row
from sanitizer.storage.vault import MAX_ENTRIES, MAX_MESSAGES, StoredVault, Tags
from sanitizer.storage.vault_rows import VaultHead, VaultRows

KEY_VARIABLE = "SANITIZER_VAULT_KEY"
"""Environment variable that holds the key where none is given."""


@dataclass
class _Conversation:
    """One conversation, decrypted.

    Attributes:
        life: drawn when it begins; another one after it was forgotten, so that entries of an
            earlier life cannot be replayed.
        n: how many entries it has.
        chain: the chained HMAC that ends with entry n.
        entries: its identifiers.
        version: of the file when this was last found to be current.
    """

    life: bytes = field(default_factory=secret_key)
    n: int = 0
    chain: bytes = b""
    entries: Entries = field(default_factory=Entries, repr=False)
    version: int = -1

    def encoded(self) -> bytes:
        """Serialize what the file holds of it besides its entries."""
        return dumped([self.life.hex(), self.n, self.chain.hex(), self.entries.numbers])


class FileVault(StoredVault):
    """Vault in an encrypted file; implements the protocol `Vault`.

    Serves many threads; each process opens its own, after a fork again.

    Args:
        path: of the vault; `PATH-mark` and, while it is open, `PATH-wal` and `PATH-shm` lie beside
            it.
        key: a secret of at least 16 characters or bytes, the same at every opening; by default from
            the environment variable SANITIZER_VAULT_KEY. A passphrase should be long: whoever has
            the file can guess.
        create: make the vault if it is missing; False makes that an error.
        max_messages: released messages kept, at least 1; the oldest are dropped first.
        max_entries: forms of things kept in all, at least 1. A full vault refuses new ones: forget
            conversations.
        numbers: of placeholders, "apart" or "from 1": see `MemoryVault`.

    Raises:
        ValueError: no key, a short one, a limit below 1, or another numbering.
        VaultError: missing, damaged, not writable, another format or version, wrong key, or busy
            for a minute.

    >>> from tempfile import TemporaryDirectory
    >>> from sanitizer.storage import placeholders
    >>> with TemporaryDirectory() as folder:
    ...     with FileVault(f"{folder}/vault", "a long passphrase", numbers="from 1") as vault:
    ...         print(placeholders(vault, "c-17", [("EMAIL", "ada@example.org")]))
    ...     with FileVault(f"{folder}/vault", "a long passphrase", create=False) as vault:
    ...         print(vault.originals("c-17")["<EMAIL_1>"])
    ['<EMAIL_1>']
    ada@example.org
    """

    def __init__(
        self,
        path: str | Path,
        key: bytes | str | None = None,
        *,
        create: bool = True,
        max_messages: int = MAX_MESSAGES,
        max_entries: int = MAX_ENTRIES,
        numbers: str = "apart",
    ) -> None:
        super().__init__(max_messages, max_entries)
        self._path = Path(path).absolute()
        self._cache: Cache[bytes, _Conversation] = Cache()
        self._lock = threading.Lock()
        keys = partial(_keys, self._path, _key_bytes(key))
        if create and not self._path.exists():
            VaultRows.create(self._path, keys, secret_key()[:SALT_BYTES], secret_key())
        self._store = VaultRows(self._path, keys)
        with self._store.transaction("DEFERRED") as head:
            self._secret = head.secret
            self._note(head)
        self._tags = Tags(self._secret, numbers)

    @property
    def secret(self) -> bytes:
        return self._secret

    def get(self, key: bytes) -> SanitizedText | None:
        with self._lock, self._store.transaction("DEFERRED") as head:
            self._note(head)
            return self._message(head, key)

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        """Keep a result unless one is there already; return the one that is kept.

        Without `conversation`, the next conversation to be forgotten takes this message along.
        """
        with self._lock, self._store.transaction("IMMEDIATE") as head:
            if (kept := self._message(head, key)) is not None:
                return kept
            head.last_age += 1
            owner = None if conversation is None else self._id(conversation)
            self._store.put(head, self._message_id(key), owner, head.last_age, encoded(result))
            head.n_messages += 1
            self._store.remove(
                head, self._store.oldest(max(0, head.n_messages - self._max_messages))
            )
            self._note(head)
        return result

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        """Let one thread change a table, as `Vault.edit`."""
        conversation_id = self._id(conversation)
        with self._lock:
            state = self._current(conversation)
            entries, head = state.entries, VaultHead(b"")
            with ExitStack() as stack:

                def make_room(n: int) -> None:
                    nonlocal head
                    if not head.secret:
                        head = stack.enter_context(self._store.transaction("IMMEDIATE"))
                        self._load(head, conversation_id, state)
                        entries.floor = head.floor
                    n_held = head.n_entries + len(entries.rows) - state.n
                    self._check_room(n_held, n, str(self._path))

                with entries.editing(make_room):
                    yield entries
                if len(entries.rows) > state.n:
                    head.n_entries += len(entries.rows) - state.n
                    for row in entries.rows[state.n :]:
                        state.n += 1
                        state.chain = self._store.add_entry(
                            conversation_id, state.n, state.chain or state.life, dumped(row)
                        )
                    self._store.put(head, conversation_id, conversation_id, 0, state.encoded())
                    self._note(head)
            self._keep(conversation_id, state)

    def forget(self, conversation: str) -> None:
        """Remove a conversation's identifiers and messages.

        All messages that were kept without a conversation go too. What was released is not restored
        any more, and no conversation uses its numbers again.

        Raises:
            VaultError: nothing was removed; or, as the message says, the WAL could not be emptied.
        """
        conversation_id = self._id(conversation)
        with self._lock:
            floor = self._current(conversation).entries.floor_without()
            with self._store.transaction("IMMEDIATE") as head:
                self._cache.pop(conversation_id)
                if (plain := self._store.find(head, conversation_id)) is not None:
                    _, n, _, numbers = json.loads(plain)
                    head.n_entries -= n
                    head.floor = max([head.floor, floor, *numbers.values()])
                self._store.remove(head, self._store.belonging_to(conversation_id))
                self._note(head)
            self._store.scrub()

    def close(self) -> None:
        """Close the file, and forget what was decrypted."""
        with self._lock:
            self._cache.clear()
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        counts = f"{self._n_messages} messages, {self._n_entries} identifiers"
        return f"FileVault({str(self._path)!r}, {counts})"

    def _alone(self, conversation: str) -> AbstractContextManager[None]:
        return _held(self._lock)

    def _entries_of(self, conversation: str) -> Entries:
        return self._current(conversation).entries

    def _note(self, head: VaultHead) -> None:
        self._n_messages, self._n_entries = head.n_messages, head.n_entries

    def _id(self, conversation: str) -> bytes:
        return self._store.mac("conversation", conversation)

    def _message_id(self, key: bytes) -> bytes:
        return self._store.mac("message", key)

    def _message(self, head: VaultHead, key: bytes) -> SanitizedText | None:
        plain = self._store.find(head, self._message_id(key))
        return None if plain is None else decoded(plain, self._path)

    def _current(self, conversation: str) -> _Conversation:
        """Return the conversation as the file has it now.

        It comes from the cache for as long as no other process has written.
        """
        conversation_id = self._id(conversation)
        version = self._store.version()
        state = self._cache.get(conversation_id) or _Conversation()
        if state.version != version:
            with self._store.transaction("DEFERRED") as head:
                self._load(head, conversation_id, state)
        state.entries.tag = self._tags.of(conversation)
        self._keep(conversation_id, state)
        return state

    def _load(self, head: VaultHead, conversation_id: bytes, state: _Conversation) -> None:
        """Bring a conversation up to date, reading from the file what it does not have."""
        self._note(head)
        # Out of the cache until `_keep`: if the transaction fails, a half-read one must not stay.
        self._cache.pop(conversation_id)
        plain = self._store.find(head, conversation_id)
        life, n, end, numbers = (
            (secret_key().hex(), 0, "", {}) if plain is None else json.loads(plain)
        )
        if state.life.hex() != life or plain is None:
            state.life, state.n, state.chain = bytes.fromhex(life), 0, b""
            state.entries.clear()
        if plain is not None:
            new = self._store.entries(
                conversation_id, state.n + 1, n, state.chain or state.life, bytes.fromhex(end)
            )
            for entry in new:
                state.entries.add(Row.of(json.loads(entry)))
        state.n = n
        state.chain = bytes.fromhex(end)
        state.entries.numbers = Counter(numbers)
        state.version = self._store.version()

    def _keep(self, conversation_id: bytes, state: _Conversation) -> None:
        if state.n:
            self._cache.keep(conversation_id, state, state.n)


@contextmanager
def _held(lock: threading.Lock) -> Iterator[None]:
    with lock:
        yield


def _keys(path: Path, key: bytes, salt: bytes) -> Keys:
    return derived_keys(path, key, salt, SCRYPT_N)


def _key_bytes(key: bytes | str | None) -> bytes:
    key = os.environ.get(KEY_VARIABLE) if key is None else key
    if key is None:
        raise ValueError(f"key must be given, or set in the environment variable {KEY_VARIABLE}")
    return key_bytes(key)
