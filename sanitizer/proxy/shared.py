"""What all requests of one proxy share: conversations and metrics."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from sanitizer.errors import RequestRefused
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.proxy.access import KEY_HEADERS
from sanitizer.storage.vault import MemoryVault, message_key
from sanitizer.wire.filter import Filter

Key = TypeVar("Key")
Value = TypeVar("Value")
HEADER = "sanitizer-conversation"
"""Header that names a conversation."""
MAX_CONVERSATIONS = 10_000
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


def conversation_in(headers: Mapping[str, str]) -> str | None:
    """Return the name in the header `sanitizer-conversation`; refuse one that cannot be a name."""
    wanted = headers.get(HEADER)
    if wanted is not None and not _NAME.fullmatch(wanted):
        told = f"{HEADER} must be 1 to 128 letters, digits or . _ : @ -"
        raise RequestRefused(told, "conversation")
    return wanted


class Conversations:
    """One Sanitizer and filter per conversation, of those used last. Safe for many threads.

    Args:
        key: key of the hashes that name conversations after API keys. With the same key, a
            conversation is found again by a ledger or a vault on disk after a restart.
        most: conversations kept here; originals and budgets of others are in vault and ledger.
        short: conversations are short and many, so that with one that is dropped its originals in
            memory must go: its answers keep their stand-ins.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        key: bytes,
        most: int = MAX_CONVERSATIONS,
        short: bool = False,
    ) -> None:
        self._sanitizer = sanitizer
        self._key = key
        self._kept: LastUsed[str, tuple[Sanitizer, Filter]] = LastUsed(most)
        self._apart = short and isinstance(sanitizer.inner.vault, MemoryVault)

    def name(self, headers: Mapping[str, str]) -> str:
        """Return the name of the conversation that a request belongs to.

        With a `sanitizer-conversation` header: "NAME/HASH", or "NAME" if there is no API key.
        Without the header: "key/HASH", or "default". HASH is the keyed hash of the API key: it
        binds the name to its caller, so that whoever holds another key cannot see into the
        conversation.

        Raises:
            RequestRefused: the header holds no name.
        """
        wanted = conversation_in(headers)
        secrets = [headers.get("authorization", ""), headers.get("api-key", "")]
        secrets += [headers[name] for name in KEY_HEADERS[2:] if name in headers]
        if not any(secrets):
            return wanted or "default"
        holder = message_key(self._key, "api-key", *secrets).hex()[:32]
        return f"{wanted}/{holder}" if wanted else f"key/{holder}"

    def of(self, name: str) -> tuple[Sanitizer, Filter]:
        """Return Sanitizer and filter of a conversation. Raises LedgerError, VaultError."""

        def make() -> tuple[Sanitizer, Filter]:
            vault = MemoryVault() if self._apart else None
            derived = self._sanitizer.derive(conversation=name, vault=vault)
            return derived, Filter(derived)

        return self._kept.get(name, make)


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
        self.requests = Counter(
            "sanitizer_requests",
            "API requests by endpoint and answer, tenant and policy.",
            ["endpoint", "status", "tenant", "policy"],
            registry=registry,
        )
        self.refusals = Counter(
            "sanitizer_refusals",
            "Requests that were not answered, by reason.",
            ["reason"],
            registry=registry,
        )
        self.epsilon = Counter(
            "sanitizer_epsilon_spent", "Epsilon charged, in nats.", registry=registry
        )
        self.times = {
            stage: Histogram(
                f"sanitizer_{stage}_seconds",
                f"Time of the stage: {stage}.",
                buckets=BOUNDS,
                registry=registry,
            )
            for stage in ("filter", "upstream", "request")
        }
        # The library's gauge cannot be raised and read in one step, as the limit of requests
        # needs, so the number is kept here.
        self._lock = threading.Lock()
        self._under_way = 0
        Gauge(
            "sanitizer_requests_under_way", "Requests at this moment.", registry=registry
        ).set_function(lambda: self._under_way)

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
