"""What all requests of one proxy share: conversations, worker threads and metrics."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from sanitizer.errors import RequestRefused
from sanitizer.pipeline import Sanitizer
from sanitizer.proxy.access import KEY_HEADERS
from sanitizer.storage import message_key
from sanitizer.wire import Filter, short_enough

Result = TypeVar("Result")
HEADER = "sanitizer-conversation"
MAX_CONVERSATIONS = 10_000
_NAME = re.compile(r"[A-Za-z0-9._:@-]{1,128}")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Upper bounds of the histograms' buckets, in seconds: sanitizing identifiers takes under one
# millisecond, a long answer of a large model a minute.
BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)


class Conversations:
    """One filter per conversation, made when first needed. Safe for many threads.

    Args:
        key: key of the hashes that name conversations after API keys. With the same key, a
            conversation is found again by a ledger or a vault on disk after a restart.
        most: filters kept in memory. Beyond it the least recently used one is dropped; its
            originals and budget are kept in vault and ledger.
    """

    def __init__(self, sanitizer: Sanitizer, key: bytes, most: int = MAX_CONVERSATIONS) -> None:
        self._sanitizer = sanitizer
        self._key = key
        self._most = most
        self._filters: OrderedDict[str, Filter] = OrderedDict()
        self._lock = threading.Lock()

    def name(self, headers: Mapping[str, str]) -> str:
        """Return the name of the conversation that a request belongs to.

        With a `sanitizer-conversation` header: "NAME/HASH", or "NAME" if there is no API key.
        Without the header: "key/HASH", or "default". HASH is the keyed hash of the API key: it
        binds the name to its caller, so that whoever holds another key cannot see into the
        conversation.

        Raises:
            RequestRefused: the name is not 1 to 128 letters, digits or ._:@-
        """
        wanted = headers.get(HEADER)
        if wanted is not None and not _NAME.fullmatch(wanted):
            raise RequestRefused(
                f"{HEADER} must be 1 to 128 letters, digits or . _ : @ -", "conversation"
            )
        secrets = [headers.get("authorization", ""), headers.get("api-key", "")]
        secrets += [headers[name] for name in KEY_HEADERS[2:] if name in headers]
        if not any(secrets):
            return wanted or "default"
        holder = message_key(self._key, "api-key", *secrets).hex()[:32]
        return f"{wanted}/{holder}" if wanted else f"key/{holder}"

    def filter(self, name: str) -> Filter:
        """Return the filter of a conversation. Raises LedgerError, VaultError."""
        with self._lock:
            found = self._filters.get(name)
            if found is None:
                found = self._filters[name] = Filter(self._sanitizer.derive(conversation=name))
                if len(self._filters) > self._most:
                    self._filters.popitem(last=False)
            else:
                self._filters.move_to_end(name)
            return found


class Workers:
    """Thread pool for work that would block the event loop; quick work runs at once.

    Args:
        may_block: even short texts may take long (a model, a disk), so all work runs in a thread.
        threads: number of threads; by default one per core, at least two.
    """

    def __init__(self, may_block: bool, threads: int | None = None) -> None:
        self._may_block = may_block
        self._pool = ThreadPoolExecutor(
            threads or max(2, os.cpu_count() or 1), thread_name_prefix="sanitizer"
        )

    async def run(self, size: int, work: Callable[[], Result]) -> Result:
        """Run the work and return its result.

        Args:
            size: bytes that the work has to read, which decides where it runs.
        """
        if not self._may_block and short_enough(size):
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Drop the work that waits; what runs already ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


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

    Guarantee: labels are fixed words of this package, never text of a request.
    """

    def __init__(self) -> None:
        self._registry = registry = _Registry()
        self._requests = Counter(
            "sanitizer_requests",
            "API requests by endpoint and answer.",
            ["endpoint", "status"],
            registry=registry,
        )
        self._refusals = Counter(
            "sanitizer_refusals",
            "Requests that were not answered, by reason.",
            ["reason"],
            registry=registry,
        )
        self._times = {
            stage: Histogram(
                f"sanitizer_{stage}_seconds",
                f"Time of the stage: {stage}.",
                buckets=BOUNDS,
                registry=registry,
            )
            for stage in ("filter", "upstream", "request")
        }
        self._epsilon = Counter(
            "sanitizer_epsilon_spent", "Epsilon charged, in nats.", registry=registry
        )
        # The library's gauge cannot be raised and read in one step, as the limit of requests
        # needs, so the number is kept here.
        self._lock = threading.Lock()
        self._under_way = 0
        under_way = Gauge(
            "sanitizer_requests_under_way", "Requests at this moment.", registry=registry
        )
        under_way.set_function(lambda: self._under_way)

    def request(self, endpoint: str, status: str) -> None:
        """Count a request that ended.

        Args:
            endpoint: name of the endpoint, such as "chat/completions", or "other".
            status: status of the answer, such as "200", or "gone" if the client left.
        """
        self._requests.labels(endpoint, status).inc()

    def refusal(self, reason: str) -> None:
        """Count a request that was not answered; `reason` is a fixed word."""
        self._refusals.labels(reason).inc()

    def time(self, stage: str, seconds: float) -> None:
        """Record the duration of one stage of a request.

        Args:
            stage: "filter" (sanitizing the request), "upstream" (until the first byte of its
                answer), or "request" (all of it).
        """
        self._times[stage].observe(seconds)

    def charge(self, epsilon: float) -> None:
        """Add the epsilon that a budget was charged."""
        self._epsilon.inc(epsilon)

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
