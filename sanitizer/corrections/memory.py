"""A memory of corrections in one file, encrypted and authenticated as a whole.

Guarantee: without the key nothing of the phrases can be read from the file, and a changed file is a
VaultError. Keys come from the caller's secret and a stored salt by scrypt, contents are under
AES-256-GCM and padded to a power of two. Changes are atomic, among processes too.
Not protected: about how much is kept; an older copy of the file that is put in its place; memory of
the running process.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sanitizer.corrections.lists import Listed
from sanitizer.errors import VaultError
from sanitizer.randomness import secret_key
from sanitizer.storage.databases import make_file
from sanitizer.storage.sealing import Keys, derived_keys, key_bytes
from sanitizer.storage.table import same_thing
from sanitizer.text.words import word_spans

MAX_PHRASE = 300
"""Characters of the longest phrase."""
MAX_PHRASES = 1_000_000
SETTLED_SECONDS = 2.0
"""Age of a file from which its time of change is trusted: clocks of file systems are coarse."""

_COST = 2**15
_TREATMENTS = ("hide", "keep")
_BOUND = "corrections", 1
Kept = list[tuple[str, str]]  # (treatment, phrase)


class Corrections:
    """The memory of one user or team, in a file. Safe for many threads and processes.

    Args:
        key: a secret of at least 16 characters or bytes; by default from the environment variable
            SANITIZER_VAULT_KEY.
        create: make the file if it is missing; otherwise that is an error, since a memory that is
            gone would hide nothing.

    Raises:
        ValueError: no key, or a short one.
        VaultError: here and from every method: missing, damaged, another key, or not writable.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     memory = Corrections(f"{folder}/mine", "a long passphrase", create=True)
    ...     memory.add(["Project Falcon"], "hide"), memory.add(["Jira"], "keep")
    ...     sorted(memory.current().hidden), sorted(memory.current().kept)
    (1, 1)
    (['Project Falcon'], ['Jira'])
    """

    def __init__(
        self, path: str | Path, key: bytes | str | None = None, *, create: bool = False
    ) -> None:
        self.path = Path(path).absolute()
        self._secret = key_bytes(key)
        self._lock = threading.Lock()
        self._keys: tuple[bytes, Keys] | None = None
        self._seen: tuple[object, float, Listed] | None = None
        if create and not self.path.exists():
            self._create()
        self.current()

    def current(self) -> Listed:
        """Return what the memory says now; the file is read only if it may have changed."""
        with self._lock:
            stamp, now = self._stamp(), time.time()
            if self._seen is not None and self._seen[0] == stamp and stamp[1] / 1e9 < self._seen[1]:
                return self._seen[2]
            with self._opened() as database:
                listed = self._listed(*self._read(database))
            if self._seen is not None and self._seen[2].mark == listed.mark:
                listed = self._seen[2]  # the same object: nothing has changed
            self._seen = stamp, now - SETTLED_SECONDS, listed
            return listed

    def entries(self) -> Kept:
        """Return (treatment, phrase) of all that is kept, in the order of their first letters."""
        with self._lock, self._opened() as database:
            return sorted(self._read(database)[1], key=lambda entry: same_thing(entry[1]))

    def add(self, phrases: Iterable[str], treatment: str) -> int:
        """Keep phrases; return how many are new or were treated in the other way.

        Args:
            treatment: "hide" or "keep".

        Raises:
            ValueError: a phrase without a word, or too long; or to keep one without a letter.
        """
        if treatment not in _TREATMENTS:
            raise ValueError(f"treatment must be one of {_TREATMENTS}, got {treatment!r}")
        wanted = list(dict.fromkeys(_checked(phrase, treatment) for phrase in phrases))

        def changed(old: Kept) -> Kept:
            known, gone = set(old), {same_thing(phrase) for phrase in wanted}
            other = [e for e in old if e[0] == treatment or same_thing(e[1]) not in gone]
            new = [(treatment, phrase) for phrase in wanted if (treatment, phrase) not in known]
            if len(other) + len(new) > MAX_PHRASES:
                raise ValueError(f"a memory holds at most {MAX_PHRASES} phrases")
            return other + new

        before, after = self._change(changed)
        return len(set(after) - set(before))

    def remove(self, phrases: Iterable[str]) -> int:
        """Forget phrases, however they are treated; return how many were kept."""
        gone = {same_thing(phrase.strip()) for phrase in phrases}
        before, after = self._change(lambda old: [e for e in old if same_thing(e[1]) not in gone])
        return len(before) - len(after)

    def __repr__(self) -> str:
        return f"Corrections({str(self.path)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a memory of corrections cannot be pickled: it holds its key")

    def _stamp(self) -> tuple[int, int, int]:
        try:
            found = self.path.stat()
        except OSError as error:
            raise VaultError(
                f"{self.path}: no memory of corrections ({error.strerror}); "
                "`sanitizer corrections add` makes one"
            ) from None
        return found.st_ino, found.st_mtime_ns, found.st_size

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self._stamp()
        try:
            place = f"{self.path.as_uri()}?mode=rw"
            connection = sqlite3.connect(place, uri=True, timeout=60, isolation_level=None)
            with closing(connection):
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("PRAGMA synchronous = FULL")
                yield connection
        except sqlite3.Error as error:
            raise VaultError(f"{self.path}: cannot be used: {type(error).__name__}") from None

    def _create(self) -> None:
        salt = secret_key()[:16]
        sealed = self._keys_for(salt).seal(b"[]", *_BOUND)
        made = ("CREATE TABLE memory (salt BLOB, seal BLOB, body BLOB)", ())
        try:
            # Without a WAL: by its own time of change it is seen that the file has changed.
            make_file(self.path, [made, ("INSERT INTO memory VALUES (?, ?, ?)", (salt, *sealed))])
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise VaultError(f"{self.path}: cannot be made: {reason}") from None

    def _keys_for(self, salt: bytes) -> Keys:
        if self._keys is None or self._keys[0] != salt:
            self._keys = salt, derived_keys(self.path, self._secret, salt, _COST)
        return self._keys[1]

    def _read(self, database: sqlite3.Connection) -> tuple[Keys, Kept]:
        rows = database.execute("SELECT salt, seal, body FROM memory LIMIT 2").fetchall()
        if len(rows) != 1 or not all(isinstance(value, bytes) for value in rows[0]):
            raise VaultError(f"{self.path}: damaged: there must be one row")
        salt, seal, body = rows[0]
        keys = self._keys_for(salt)
        plain = keys.open(seal, body, *_BOUND)
        return keys, [(treatment, phrase) for treatment, phrase in json.loads(plain)]

    def _listed(self, keys: Keys, entries: Kept) -> Listed:
        mark = keys.mac("corrections", sorted(entries)).hex()
        hidden, kept = (
            frozenset(p for how, p in entries if how == wanted) for wanted in _TREATMENTS
        )
        return Listed(hidden, kept, mark)

    def _change(self, change: Callable[[Kept], Kept]) -> tuple[Kept, Kept]:
        """Change what is kept; return what was and what is."""
        with self._lock, self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            keys, before = self._read(database)
            after = change(before)
            if after != before:
                plain = json.dumps(after, ensure_ascii=False).encode("utf-8", "surrogatepass")
                sealed = keys.seal(plain, *_BOUND)
                database.execute("UPDATE memory SET seal = ?, body = ?", sealed)
            database.execute("COMMIT")
            self._seen = None if after != before else self._seen
            return before, after


def _checked(phrase: str, treatment: str) -> str:
    phrase = " ".join(phrase.split())
    if not any(word_spans(phrase)) or len(phrase) > MAX_PHRASE:
        raise ValueError(f"a phrase must hold a word, and at most {MAX_PHRASE} characters")
    if treatment == "keep" and not any(c.isalpha() for c in phrase):
        raise ValueError("a number is never public: a phrase to keep must hold a letter")
    return phrase
