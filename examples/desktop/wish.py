"""Values typed or chosen by the person; plain, so that the window is shown before the SDK is
loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_BUDGET = 200.0
DEFAULT_EPSILON, EPSILON_MIN, EPSILON_MAX = 5.0, 1.0, 12.0
POLICIES = {
    "identifiers": "Only e-mail addresses, card numbers and the like are replaced. "
    "No differential privacy.",
    "deidentify": "Hides names of people, firms, places and products, dates, and amounts unless "
    "your question needs them. What you say about them leaves.",
    "code": "For source code and logs: hides keys, hosts, names that are sure to be some, and rows "
    "of data.",
    "balanced": "Hides names always, and amounts and sensitive facts unless your question needs "
    "them.",
    "guarded": "Hides the same as “balanced” even if your question needs it. Another illness, "
    "belief, origin or crime may stand for yours.",
    "strict": "Only 179 small words such as “the” and “with” stay as they are.",
}
DEFAULT_POLICY = "balanced"
REDRAWN = "The stand-ins are drawn and paid for now. Read once more what leaves, then send it."
"""Why a text was not sent yet: what leaves is not what was shown."""


@dataclass(frozen=True)
class Wish:
    """A text, and the settings to make it private.

    Attributes:
        text: as typed.
        policy: one of POLICIES.
        epsilon: per private word, in nats; unused where no word is drawn.
    """

    text: str = field(repr=False)
    policy: str
    epsilon: float


@dataclass(frozen=True)
class Target:
    """The API to send to.

    Attributes:
        address: base URL of an OpenAI-compatible API.
        model: its name there.
        key: "" for none; never in a repr.
    """

    address: str
    model: str
    key: str = field(repr=False)


class Failure(Exception):
    """A failure to show; the message is one plain sentence without any of the person's words."""


class Cancelled(Exception):
    """The preview is no longer wanted."""
