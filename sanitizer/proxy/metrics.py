"""Counts and times in the Prometheus text format: fixed words and numbers, never text of a request."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)


class Histogram:
    """Seconds, counted in buckets."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> list[str]:
        """In the text format: each bucket holds the ones below it."""
        shown, total = [], 0
        for bound, count in zip([*map(repr, BOUNDS), "+Inf"], self._counts, strict=True):
            total += count
            shown.append(f'{name}_bucket{{le="{bound}"}} {total}')
        return [*shown, f"{name}_sum {self._sum:.6f}", f"{name}_count {total}"]


class Metrics:
    """What has happened since the start. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._refusals: Counter[str] = Counter()
        self._times = {"filter": Histogram(), "upstream": Histogram(), "request": Histogram()}
        self._epsilon, self._under_way = 0.0, 0

    def request(self, endpoint: str, status: str) -> None:
        """A request ended. `endpoint` and `status` are fixed words: "chat/completions", "200",
        "gone".
        """
        with self._lock:
            self._requests[endpoint, status] += 1

    def refusal(self, reason: str) -> None:
        """A request was not answered; `reason` is a fixed word."""
        with self._lock:
            self._refusals[reason] += 1

    def time(self, stage: str, seconds: float) -> None:
        """Stages: "filter" (sanitizing the request), "upstream" (to its first byte), "request" (all
        of it).
        """
        with self._lock:
            self._times[stage].add(seconds)

    def charge(self, epsilon: float) -> None:
        """A budget was charged."""
        with self._lock:
            self._epsilon += epsilon

    def enter(self) -> int:
        """A request began; how many are under way with it."""
        with self._lock:
            self._under_way += 1
            return self._under_way

    def leave(self) -> None:
        """It ended."""
        with self._lock:
            self._under_way -= 1

    def text(self) -> bytes:
        """The text format."""
        with self._lock:
            requests = [
                f'sanitizer_requests_total{{endpoint="{endpoint}",status="{status}"}} {n}'
                for (endpoint, status), n in sorted(self._requests.items())
            ]
            refusals = [
                f'sanitizer_refusals_total{{reason="{r}"}} {n}'
                for r, n in sorted(self._refusals.items())
            ]
            lines = _family(
                "requests_total", "counter", "API requests by endpoint and answer.", requests
            )
            lines += _family(
                "refusals_total", "counter", "Requests that were not answered, by reason.", refusals
            )
            for stage, times in self._times.items():
                name = f"{stage}_seconds"
                lines += _family(
                    name,
                    "histogram",
                    f"Time of the stage: {stage}.",
                    times.lines(f"sanitizer_{name}"),
                )
            spent = [f"sanitizer_epsilon_spent_total {self._epsilon:.9g}"]
            lines += _family("epsilon_spent_total", "counter", "Epsilon charged, in nats.", spent)
            now = [f"sanitizer_requests_under_way {self._under_way}"]
            lines += _family("requests_under_way", "gauge", "Requests at this moment.", now)
        return ("\n".join(lines) + "\n").encode()


def _family(name: str, kind: str, about: str, samples: list[str]) -> list[str]:
    return [f"# HELP sanitizer_{name} {about}", f"# TYPE sanitizer_{name} {kind}", *samples]
