"""What the person asked for: plain values, so that the window can be shown before the SDK is
loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_BUDGET = 200.0
DEFAULT_EPSILON, EPSILON_MIN, EPSILON_MAX = 5.0, 1.0, 12.0
POLICIES = {
    "strict": "Only 179 small words such as “the” and “with” stay as they are.",
    "balanced": "The 3,000 most frequent words stay too, so the text remains readable.",
    "identifiers": "Only e-mail addresses, card numbers and the like are replaced. No differential privacy.",
}
DEFAULT_POLICY = "balanced"


@dataclass(frozen=True)
class Wish:
    """A text, and how it is to be made private.

    Attributes:
        text: as typed. policy: one of POLICIES.
        epsilon: per private word, in nats; without meaning under "identifiers".
    """

    text: str = field(repr=False)
    policy: str
    epsilon: float


@dataclass(frozen=True)
class Target:
    """Where to send it.

    Attributes:
        address: base URL of an OpenAI-compatible API. model: its name there. key: "" for none;
            never in a repr.
    """

    address: str
    model: str
    key: str = field(repr=False)


class Failure(Exception):
    """Something failed; the message is one plain sentence for the person, without any of their
    words.
    """


class Cancelled(Exception):
    """Nobody waits for this any more."""
