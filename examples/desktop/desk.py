"""What the window does with the SDK: free previews, and sending exactly what was previewed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from sanitizer import Cape, PrivacyError, SanitizedText, Sanitizer
from sanitizer.progress import reported_to
from sanitizer.randomness import SYSTEM_RANDOM

from .send import ask, reach
from .wish import REDRAWN, Cancelled, Failure, Target, Wish

MAX_CHARS = 1_000_000


@dataclass(frozen=True)
class Preview:
    """What would leave for a wish; `result.record.charged` is what sending it costs."""

    wish: Wish
    result: SanitizedText = field(repr=False)


class Desk:
    """One conversation with a budget, gone with the process: nothing is written to disk.

    Safe for many threads.

    Args:
        budget: the most epsilon to spend in all.
    """

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._sanitizer = Sanitizer(conversation="window", budget=budget, max_chars=MAX_CHARS)

    @property
    def spent(self) -> float:
        """Epsilon spent so far."""
        return self._sanitizer.spent

    def load(self) -> None:
        """Load the model. Raises ModelError."""
        self._sanitizer.load()

    def preview(self, wish: Wish, cancelled: threading.Event) -> Preview:
        """Return what would leave. Nothing is charged: nothing leaves.

        Raises:
            Cancelled, Failure, SanitizerError.
        """
        if len(wish.text) > MAX_CHARS:
            raise Failure(f"A text may have at most {MAX_CHARS:,} characters.")
        uncharged = self._derived(wish).derive(charged=False)
        until = _UntilCancelled(cancelled)
        with reported_to(lambda done, total, charged: until.check()):
            return Preview(wish, uncharged.sanitize(wish.text, source=until))

    def send(self, preview: Preview, target: Target) -> Iterator[str]:
        """Charge the preview and send exactly that; sending it again is free.

        Nothing is charged before something answers at the address (`reach`, which says nothing of
        the text).

        A preview has a table of its own: what is drawn within its class is drawn now. If it comes
        out otherwise than it was shown, nothing is sent, and the next preview shows it.

        Yields the restored answer in pieces.

        Raises:
            SanitizerError: nothing was sent.
            Failure: REDRAWN, nothing was sent; or the API did not answer as it should.
        """
        sanitizer, text = self._derived(preview.wish), preview.wish.text
        if 0 < preview.result.record.charged <= self._budget - self.spent:
            reach(target)  # only where something is at stake, and can be paid
        adopted = sanitizer.adopt(text, preview.result)
        if adopted.text != preview.result.text:
            if not sanitizer.policy.perturb:
                raise Failure(REDRAWN)
            raise PrivacyError(
                "this text was sent before in other words, and they are no longer remembered"
            )
        return ask(sanitizer, target, text)

    def _derived(self, wish: Wish) -> Sanitizer:
        return self._sanitizer.derive(policy=wish.policy, mechanism=Cape(wish.epsilon))


@dataclass(frozen=True)
class _UntilCancelled:
    """The system's randomness, with a check for cancellation before each drawn word."""

    cancelled: threading.Event

    def check(self) -> None:
        """Raise Cancelled once it is; the reading of a long text calls it part by part."""
        if self.cancelled.is_set():
            raise Cancelled

    def randbelow(self, n: int, /) -> int:
        self.check()
        return SYSTEM_RANDOM.randbelow(n)
