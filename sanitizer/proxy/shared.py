"""What all requests of one proxy share: conversations and metrics."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from sanitizer.errors import RequestRefused, VaultError
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.proxy.access import IDLE_HOURS, KEY_HEADERS
from sanitizer.randomness import secret_key
from sanitizer.storage.table import BEGUN, LATE
from sanitizer.storage.vault import MemoryVault, message_key
from sanitizer.wire.chats import Chat, said
from sanitizer.wire.filter import Exchange, Filter, Preview
from sanitizer.wire.history import Late, Note

Key = TypeVar("Key")
Value = TypeVar("Value")
HEADER = "sanitizer-conversation"
"""Header that names a conversation."""
MAX_CONVERSATIONS = 10_000
MAX_BEGUN = 16
"""Turns of users before the first answer; where there are more, nothing is drawn."""
MAX_LOOKED_UP = 100
"""Latest turns of a late chat whose answers are looked for in other conversations."""
_CHAT = "chat-"
"""Beginning of the names of chats that no header named, each of which is given once."""
MAX_USED = 100_000
"""Conversations of which a process knows when they were used; the others are forgotten."""
log = logging.getLogger("sanitizer.proxy")
_NAME = re.compile(r"[A-Za-z0-9._:@-]{1,128}")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of the metrics."""
BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
"""Upper bounds of the histograms' buckets, in seconds: sanitizing identifiers takes under one
millisecond, a long answer of a large model a minute."""


class LastUsed(Generic[Key, Value]):
    """Values made when first needed; the last used `most` are kept. Safe for many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key, made if there is none."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        # A database may be asked, so not under the lock; the first one made is the one used.
        made = make()
        with self._lock:
            found = self._kept.setdefault(key, made)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return found

    def drop(self, unwanted: Callable[[Key], bool]) -> None:
        """Forget the values of some keys."""
        with self._lock:
            for key in [each for each in self._kept if unwanted(each)]:
                del self._kept[key]


def conversation_in(headers: Mapping[str, str]) -> str:
    """Return the name in the header `sanitizer-conversation` or ""; refuse what cannot be one."""
    wanted = headers.get(HEADER)
    if wanted is not None and not _NAME.fullmatch(wanted):
        told = f"{HEADER} must be 1 to 128 letters, digits or . _ : @ -"
        raise RequestRefused(told, "conversation")
    return wanted or ""


class Holder(NamedTuple):
    """Whose a request is.

    Attributes:
        owner: end of the names of its conversations: a tenant, or a keyed hash of the API key.
        key: tells the keys of one owner apart. named: by the header; "" if it was not sent.
    """

    owner: str
    key: str = ""
    named: str = ""

    @property
    def plain(self) -> str:
        """Name of the conversation of all requests that are no chat: "NAME/HASH".

        "key/HASH" without a `sanitizer-conversation` header, "NAME" or "default" without a key.
        """
        return self.name(self.named or ("key" if self.owner else "default"))

    def name(self, chat: str = "") -> str:
        """Return the full name of a conversation; by default of a new chat."""
        chat = chat or _CHAT + secret_key()[:8].hex()
        return f"{chat}/{self.owner}" if self.owner else chat


class Conversations:
    """One Sanitizer and filter per conversation, and which one a request is of. Safe for threads.

    A conversation ends when no request was of it for so long: then it is forgotten. A chat is found
    by its whole history, answers included, never by what two users may have in common. If several
    conversations have it, or none that still has its table, nothing is drawn or left in it from
    then on: a second draw for one thing would cost its epsilon again.

    Args:
        key: key of the hashes that name conversations after API keys. With the same key, a
            conversation is found again by a ledger or a vault on disk after a restart.
        most: conversations kept here; originals and budgets of others are in vault and ledger.
        short: conversations are short and many, so that with one that is dropped its originals in
            memory must go: its answers keep their stand-ins.
        idle: hours after which one ends, or twice as many, with a request of another.
        by_history: False: without a name, all requests with one key are one conversation.
        kept: in place of an own store of `most`. clock: returns seconds.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        key: bytes,
        most: int = MAX_CONVERSATIONS,
        short: bool = False,
        *,
        idle: float = IDLE_HOURS,
        by_history: bool = True,
        kept: LastUsed[str, tuple[Sanitizer, Filter]] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._sanitizer, self._vault = sanitizer, sanitizer.inner.vault
        self._key = key
        self._kept = LastUsed(most) if kept is None else kept
        self._apart = short and isinstance(self._vault, MemoryVault)
        self._idle, self._clock = idle * 3600, clock
        self._reader = Filter(sanitizer)
        self._by_history, self._perturbs = by_history, sanitizer.policy.perturb
        self._used: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._lock = threading.Lock()

    def holder(self, headers: Mapping[str, str]) -> Holder:
        """Return whose a request is, by its API key; whoever holds another key sees nothing of it.

        Raises:
            RequestRefused: the header `sanitizer-conversation` holds no name.
        """
        wanted = conversation_in(headers)
        secrets = [headers.get("authorization", ""), headers.get("api-key", "")]
        secrets += [headers[name] for name in KEY_HEADERS[2:] if name in headers]
        if not any(secrets):
            return Holder("", named=wanted)
        return Holder(message_key(self._key, "api-key", *secrets).hex()[:32], named=wanted)

    def of(self, name: str) -> tuple[Sanitizer, Filter]:
        """Return Sanitizer and filter of a conversation. Raises LedgerError, VaultError."""

        def make() -> tuple[Sanitizer, Filter]:
            vault = MemoryVault() if self._apart else None
            derived = self._sanitizer.derive(conversation=name, vault=vault)
            return derived, Filter(derived)

        self._end_idle(name)
        return self._kept.get(name, make)

    def preview(
        self, holder: Holder, path: str, headers: Mapping[str, str], body: bytes, most: int
    ) -> Preview:
        """Return what a POST request would send; no conversation begins or changes by it.

        Raises SanitizerError, as `Filter.preview`.
        """
        chat = self._reader.read("POST", path, headers, body, most).chat
        name = holder.plain
        if chat is not None and self._by_history and not (self._perturbs or holder.named):
            name = self._noted(self._history(holder, chat)) or holder.name()
        unsent = self._sanitizer.derive(conversation=name)
        return Filter(unsent).preview(path, headers, body, most)

    def exchange(
        self,
        holder: Holder,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int | None = None,
    ) -> tuple[str, Exchange]:
        """Return the name of a request's conversation, and what may be sent in place of it.

        `most` limits the bytes of the body, decompressed, if it is less than the filter's limit.
        Raises SanitizerError, as `Filter.request`, or LedgerError.
        """
        read = self._reader.read(method, path, headers, body, most)
        chat = read.chat
        # Texts of which each word is drawn would be drawn anew in each conversation.
        if chat is None or self._perturbs or not (holder.named or self._by_history):
            return holder.plain, self.of(holder.plain)[1].release(read)
        if holder.named.startswith(_CHAT) and self._is_late(holder.name(holder.named)) is None:
            holder = holder._replace(named="")  # it has ended, and its numbers are not used again
        name, late = self._found(holder, chat)
        is_first = not chat.goes_on and not holder.named and late is None
        draws = is_first and bool(self._sanitizer.policy.drawn)
        is_known = draws and self._draw_again(holder, chat, name)
        is_counted = read.endpoint.answer.endswith("number")  # of tokens
        kept = None if is_counted else partial(self._answered, holder, name, chat)
        exchange = self.of(name)[1].release(read, kept, late)
        if draws and not (is_known or self._is_first(holder, chat, name)):
            # The same text was sent meanwhile, from another thread or replica: what was drawn for
            # it there leaves here too, and what was drawn here never does.
            return self.exchange(holder, method, path, headers, body, most)
        return name, exchange

    # ---- by what a chat is found ----

    def _found(self, holder: Holder, chat: Chat) -> tuple[str, Late | None]:
        """Return the name of a chat's conversation, and what is known of a late one."""
        if holder.named:
            name = holder.name(holder.named)
            late = self._is_late(name)
            if late is None and chat.goes_on:
                late = self._is_late(name, LATE)
            return name, Late() if late else None
        name = holder.name()
        if not chat.goes_on and len(chat.turns) <= MAX_BEGUN:
            return name, None
        history = self._history(holder, chat)
        found = self._noted(history)
        if found is not None and (late := self._is_late(found)) is not None:
            return found, Late() if late else None
        if found is None and chat.n_known and not chat.kept_there:
            # Known by its last answer alone, as in a window that slides: what stands for a thing
            # goes on to, and what the API wrote is recognized, but nothing more is drawn.
            last = self._noted(self._digest(holder, "turns", chat.turns[chat.n_known - 1]))
            if last is not None and self._is_late(last) is not None:
                self._is_late(last, LATE)
                return last, Late(slides=True)
        if found is not None or chat.kept_there:
            later = self._digest(holder, "late", found or history.hex())
            name = holder.name(f"late-{later.hex()[:16]}")
        had = self._had(holder, chat) if self._is_late(name) is None else []
        self._is_late(name, LATE)
        return name, Late(had)

    def _had(self, holder: Holder, chat: Chat) -> list[str]:
        """Return conversations in which the answers of a late chat were given, as far as known.

        So an API is told nothing by chats that it made alike, or by a table that is gone.
        """
        turns = chat.turns[: chat.n_known]
        answers = [(turn,) for turn in turns[-MAX_LOOKED_UP:] if turn.who == "assistant"]
        for known in ([turns], answers):
            keys = dict.fromkeys(self._digest(holder, "turns", *each) for each in known)
            if found := [each.text for each in map(self._vault.get, keys) if each is not None]:
                return list(dict.fromkeys(found))
        return []

    def _is_late(self, name: str, mark: str = "") -> bool | None:
        """Return whether a table is late, now that it has a mark; None if it is gone."""
        with self._vault.edit(name) as table:
            if mark:
                table.mark(mark)
            return table.is_late if table.rows else None

    def _answered(
        self, holder: Holder, name: str, chat: Chat, notes: Sequence[Note], answer: str
    ) -> None:
        """Note by what the chat is found when it comes back with an answer."""
        self._is_late(name, BEGUN)  # whatever is found has a table, or had one
        if holder.named:
            return
        for words, values in () if chat.kept_there else said(notes):
            turns = chat.answered(words, values)
            for known in (turns, turns[-1:]):
                self._note(self._digest(holder, "turns", *known), name)
        if answer:
            self._note(self._digest(holder, "there", answer), name)

    def _note(self, key: bytes, name: str) -> None:
        note = self.of(name)[0].inner.note_chat
        if note(key, name) != name:
            note(key + b"several", name)

    def _noted(self, key: bytes) -> str | None:
        """Return the only name that was noted under a key."""
        found = self._vault.get(key)
        return None if found is None or self._vault.get(key + b"several") else found.text

    def _history(self, holder: Holder, chat: Chat) -> bytes:
        """Return the key of a chat's history: by its name with the API, or its known turns."""
        if chat.kept_there:
            return self._digest(holder, "there", chat.kept_there)
        return self._digest(holder, "turns", *chat.turns[: chat.n_known])

    def _digest(self, holder: Holder, what: str, *of: str | Iterable[str]) -> bytes:
        fields = map(json.dumps, (holder.owner, holder.key, what, *of))
        return message_key(self._vault.secret, "chat", *fields)

    # ---- first requests: of one that is sent again nothing is drawn a second time ----

    def _draw_again(self, holder: Holder, chat: Chat, name: str) -> bool:
        """Give a new table what was drawn when its text was sent before; True if all of it was."""
        for n in range(len(chat.turns), 0, -1):  # an API may have answered nothing to the first
            found = self._vault.get(self._digest(holder, "first", chat.beside, *chat.turns[:n]))
            if found is None:
                continue
            n_rows, _, before = found.text.partition(" ")
            with self._vault.edit(before) as table:
                drawn = [row for row in table.rows[: int(n_rows)] if row.epsilon]
            with self._vault.edit(name) as table:
                if drawn:
                    table.make_room(len(drawn))
                    for row in drawn:
                        table.add(row)
                else:
                    table.mark(LATE)
            return n == len(chat.turns)
        return False

    def _is_first(self, holder: Holder, chat: Chat, name: str) -> bool:
        """Return True unless another conversation drew for the same text before."""
        with self._vault.edit(name) as table:
            drawn = f"{len(table.rows)} {name}" if table.drawn else ""
        key = self._digest(holder, "first", chat.beside, *chat.turns)
        return not drawn or self.of(name)[0].inner.note_chat(key, drawn) == drawn

    # ---- the end ----

    def _end_idle(self, name: str) -> None:
        """Note that a conversation is used, and forget the one that was not for longest.

        Another process may have used it: then answers were added, and it stays once more.
        """
        now = self._clock()
        with self._lock:
            self._used.pop(name, None)
            self._used[name] = now, -1
            oldest, (used, n_before) = next(iter(self._used.items()))
            if now - used < self._idle and len(self._used) <= MAX_USED:
                return
            del self._used[oldest]
        n_turns = self._sanitizer.derive(conversation=oldest).inner.n_turns()
        if n_turns != n_before and len(self._used) < MAX_USED:
            with self._lock:
                self._used.setdefault(oldest, (now, n_turns))
            return
        self._kept.drop(lambda each: each == oldest)
        try:
            self._vault.forget(oldest, final=oldest.startswith(_CHAT))
        except VaultError as error:
            log.warning("an idle conversation was not forgotten: %s", error)


class _Registry(CollectorRegistry):
    """Metrics of one application, without the time at which each counter was made.

    The library's own switch for these times is global, and would change the host program too.
    """

    def collect(self) -> Iterator[Metric]:
        for family in super().collect():
            family.samples = [s for s in family.samples if not s.name.endswith("_created")]
            yield family


class Metrics:
    """Counts and times since the start, as Prometheus metrics. Safe for many threads.

    Guarantee: labels are words of this package or its configuration, never text of a request.

    Attributes:
        requests: that ended, by endpoint, status ("gone" if the client left), tenant and policy
            ("" for who is unknown).
        refusals: requests that were not answered, by reason.
        times: of "filter" (sanitizing the request), "upstream" (until the first byte of its
            answer), and "request" (all of it), in seconds.
        epsilon: what budgets were charged.
    """

    def __init__(self) -> None:
        self._registry = registry = _Registry()
        counter = partial(Counter, registry=registry)
        told = "API requests by endpoint and answer, tenant and policy."
        self.requests = counter("sanitizer_requests", told, "endpoint status tenant policy".split())
        self.refusals = counter("sanitizer_refusals", "Requests refused, by reason.", ["reason"])
        self.epsilon = counter("sanitizer_epsilon_spent", "Epsilon charged, in nats.")
        timer = partial(Histogram, buckets=BOUNDS, registry=registry)
        self.times = {
            stage: timer(f"sanitizer_{stage}_seconds", f"Time of the stage: {stage}.")
            for stage in ("filter", "upstream", "request")
        }
        # The library's gauge cannot be raised and read in one step, as the limit of requests
        # needs, so the number is kept here.
        self._lock = threading.Lock()
        self._under_way = 0
        told = "Requests at this moment."
        gauge = Gauge("sanitizer_requests_under_way", told, registry=registry)
        gauge.set_function(lambda: self._under_way)

    def enter(self) -> int:
        """Count a request that begins; return how many are under way, this one included."""
        with self._lock:
            self._under_way += 1
            return self._under_way

    def leave(self) -> None:
        """Count a request under way as ended."""
        with self._lock:
            self._under_way -= 1

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)
