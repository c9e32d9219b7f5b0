"""Errors: one tree.

SanitizerError
├── ModelError         a packaged file is missing, damaged or unusable
├── PrivacyError       a guarantee cannot be given
│   ├── BudgetExceeded     the request would spend more than the budget left
│   └── NotCertified       the model's scores cannot carry a certified release
├── PolicyError        a policy file is wrong, or the policy refuses this content
│   └── RequestRefused     an API request must not leave: unknown endpoint, image, malformed body
├── VaultError         a vault is missing, damaged, full, not writable, or has another key
├── AuditError         the audit log cannot be written
├── UpstreamError      the API could not be reached, or its answer cannot be restored
└── LedgerError        a ledger is missing, damaged, not writable, or has another key

Bad arguments raise ValueError naming argument and value. No message ever contains prompt text.
"""

from math import isnan, nan
from typing import Any


def plural(n: int, noun: str) -> str:
    """Return a count with its noun, for messages.

    >>> plural(1, "text"), plural(2, "text")
    ('1 text', '2 texts')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def to_install(extra: str) -> str:
    """Return the command that installs an extra of this package, from an index or in a clone."""
    return f'pip install "dp-sanitizer[{extra}]" (in a clone: pip install ".[{extra}]")'


class SanitizerError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        released: results of a batch that were released and charged before the error.
        retry_after: seconds after which the same may succeed; None if waiting does not help.
        is_repeated: True if what fails was logged when it began, so that logs need it no more.
    """

    released: tuple[Any, ...] = ()
    retry_after: float | None = None
    is_repeated: bool = False


class ModelError(SanitizerError):
    """A packaged model, table or word list is missing, damaged or unusable."""


class PrivacyError(SanitizerError):
    """A privacy guarantee cannot be given; nothing was released."""


_OTHERWISE = {"conversation": "begin another conversation, ", "day": "wait for tomorrow, "}
"""What else helps where a limit of this kind is reached."""


class BudgetExceeded(PrivacyError):
    """The request needs more epsilon than the budget has left; what exceeds it was not released.

    The message says what to do next: a draw costs epsilon, a placeholder nothing.

    Attributes:
        needed: epsilon that the request needs, in nats.
        left: epsilon that the budget has left.
        limit: epsilon that the budget had in all.
        scope: kind of the budget: "conversation", "user" or "day" in a ledger, else "process".

    >>> from sanitizer import Sanitizer
    >>> try:
    ...     _ = Sanitizer(policy="strict", budget=7.5).sanitize("I live in Leeds.")
    ... except BudgetExceeded as error:
    ...     error.needed, error.left, error.limit, error.scope
    (10.0, 7.5, 7.5, 'process')
    """

    def __init__(
        self,
        message: str,
        needed: float = nan,
        left: float = nan,
        limit: float = nan,
        scope: str = "process",
    ) -> None:
        if not isnan(needed):
            first = _OTHERWISE.get(scope, "")
            message += f": {first}raise the limit, or use a policy that spends nothing (deidentify)"
        super().__init__(message)
        self.needed, self.left, self.limit, self.scope = needed, left, limit, scope


class NotCertified(PrivacyError):
    """The scores at hand cannot carry a certified release; nothing was released."""


class PolicyError(SanitizerError):
    """A policy file cannot be used, or the policy refuses this content."""


class RequestRefused(PolicyError):
    """An API request must not leave the machine; nothing was sent.

    Attributes:
        reason: a short fixed word for metrics, such as "endpoint" or "image".
        status: the HTTP status that fits, 400 to 499.
    """

    def __init__(self, message: str, reason: str, status: int = 400) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.reason, self.status), self.__dict__


class VaultError(SanitizerError):
    """A vault is missing, damaged, full, not writable, or has another key. Nothing was released."""


class AuditError(SanitizerError):
    """The audit log cannot be written; nothing was sent."""


class UpstreamError(SanitizerError):
    """The API could not be reached, or what it answered cannot be restored.

    Attributes:
        status: the HTTP status to answer with: 502, or 504 after a timeout.
    """

    def __init__(self, message: str, status: int = 502) -> None:
        super().__init__(message)
        self.status = status


class LedgerError(SanitizerError):
    """A ledger is missing, damaged, not writable, or has another key. Nothing was granted."""
