"""What travels beside a body: the record of a request, and the headers that still fit.

A body that was sanitized or restored has another length, spelling and digest than the one the
headers were written for, so the headers that describe it are dropped here, for clients and the
proxy alike.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, AnyStr

from sanitizer.errors import RequestRefused
from sanitizer.results import Record, finite
from sanitizer.wire.walker import sure_kind

SHORT_BYTES = 4_000
"""Longest body, in bytes, that an event loop may work on: at most about 5 ms, reached where every
few words are an identifier.
"""

# Compression is not undone here. Names come as text or bytes: HTTP libraries hand out raw headers,
# the proxy decoded ones.
_OF_THE_BODY = "accept-encoding content-encoding content-length expect transfer-encoding".split()
_DROPPED = frozenset[str | bytes]([*_OF_THE_BODY, *(name.encode() for name in _OF_THE_BODY)])


@dataclass(frozen=True, slots=True)
class WireRecord:
    """The records of a request's texts, put together; it holds no text. Epsilons are in nats.

    Where only identifiers are replaced (descriptions of tools, keys of objects), no epsilon is
    counted: their words are outside the guarantee, like public words.

    >>> from sanitizer import Sanitizer
    >>> results = Sanitizer(policy="identifiers").sanitize_batch(["Ask anna@example.org", "Hi"])
    >>> record = WireRecord.of("identifiers", [result.record for result in results])
    >>> record.n_texts, record.n_identifiers
    (2, 1)
    >>> record.headers()["sanitizer-n-identifiers"]
    '1'

    Attributes:
        epsilon_total: sum over the texts, repeated ones too; 0 if nothing was released, infinite
            without a guarantee.
        epsilon_per_unit: largest value of any text.
        charged: what this request cost the budget.
        delta: sum over the texts.
        unit: what one unit is, in words.
        certified: True if every text's bound is proved.
        mechanism: name of the mechanism; "none" if no word was perturbed.
        n_texts: strings that were examined.
        n_units, n_numbers, n_identifiers: words perturbed, numbers made random, identifiers
            replaced.
        n_drawn: things of its texts whose stand-in was drawn within their class, now or earlier.
        conversation_epsilon: epsilon of all such draws of the conversation so far.
        n_claims_ended: things of this conversation that no claim covers any more: their originals
            stood in a typed field of an answer, or, if this request holds results of tools, went
            to a tool. What comes of that may show what they are.
        n_warnings: phrases of its texts that seem to tell a sensitive fact, and leave.
        n_hints: hints for the user's newest text: what its task may miss, what leaves for it.
        untouched: place -> how many of its strings or numbers left as they are, or, at places where
            only identifiers are replaced, with their words. Places are "api_names" (models,
            types, roles, ids), "numbers", "keys", "settings" and "credentials" of hosted tools,
            "opaque" bytes, "media", fields of the API ("description", "parameters", "metadata"),
            "messages of ROLE" that lose identifiers only; "needed CLASS": what the request needs.
        classes: class -> how many different stand-ins of it there are. claims_ended: the stand-ins
            of those things, as they were sent; in no header.
    """

    epsilon_total: float
    epsilon_per_unit: float
    charged: float
    delta: float
    unit: str
    certified: bool
    mechanism: str
    policy: str
    n_texts: int
    n_units: int
    n_numbers: int
    n_identifiers: int
    n_drawn: int = 0
    conversation_epsilon: float = 0.0
    n_claims_ended: int = 0
    n_warnings: int = 0
    n_hints: int = 0
    untouched: Mapping[str, int] = field(default_factory=dict, hash=False)
    classes: Mapping[str, int] = field(default_factory=dict, hash=False)
    claims_ended: tuple[str, ...] = ()

    @classmethod
    def of(cls, policy: str, full: Sequence[Record], light: Sequence[Record] = ()) -> WireRecord:
        """Add up the records of one request: of its texts, and of those that are `light`."""
        is_one = len(full) == 1 and not light
        return _of_one(policy, full[0]) if is_one else cls._sum(policy, full, light)

    @classmethod
    def _sum(cls, policy: str, full: Sequence[Record], light: Sequence[Record] = ()) -> WireRecord:
        main = max(full, key=lambda r: (r.mechanism != "none", r.epsilon_per_unit), default=None)
        both = [*full, *light]
        return cls(
            epsilon_total=sum([r.epsilon_total for r in full], 0.0),
            epsilon_per_unit=max([r.epsilon_per_unit for r in full], default=0.0),
            charged=sum([r.charged for r in full], 0.0),
            delta=sum([r.delta for r in full], 0.0),
            unit=main.unit if main else "",
            certified=all(r.certified for r in full),
            mechanism=main.mechanism if main else "none",
            policy=policy,
            n_texts=len(both),
            n_units=sum([r.n_units for r in both]),
            n_numbers=sum([r.n_numbers for r in both]),
            n_identifiers=sum([r.n_identifiers for r in both]),
            n_drawn=max([r.n_drawn for r in both], default=0),
            conversation_epsilon=max([r.conversation_epsilon for r in both], default=0.0),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a bound that is not finite is None there."""
        values = {name: getattr(self, name) for name in _HEADERS}
        values |= {name: dict(values[name]) for name in ("untouched", "classes")}
        return finite(values | {"claims_ended": list(self.claims_ended)})

    def headers(self) -> dict[str, str]:
        """Return response headers, "sanitizer-epsilon-total: 12.0" and so on; ASCII only."""
        return {header: _value(getattr(self, name)) for name, header in _HEADERS.items()}


# Cached because where nothing is perturbed, many requests release as much as another.
@lru_cache(maxsize=1024)
def _of_one(policy: str, record: Record) -> WireRecord:
    return WireRecord._sum(policy, (record,))


_HEADERS = {
    each.name: "sanitizer-" + each.name.replace("_", "-")
    for each in fields(WireRecord)
    if each.name != "claims_ended"
}
_CREDENTIALS = ("auth", "key", "token", "cookie", "secret", "signature")


def _value(value: float | str | Mapping[str, int]) -> str:
    if isinstance(value, Mapping):
        value = ", ".join(f"{place}={n}" for place, n in sorted(value.items()))
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(c if " " <= c <= "~" else "?" for c in text)


def short_enough(n_bytes: int) -> bool:
    """Return True if a body of this length may be worked on inside an event loop.

    It does not count the time of a language model or a disk.
    """
    return n_bytes <= SHORT_BYTES


def sent_headers(
    headers: Iterable[tuple[AnyStr, AnyStr]], only: Container[AnyStr] | None = None
) -> list[tuple[AnyStr, AnyStr]]:
    """Return a request's headers that fit its sanitized body.

    The caller has to ask for an uncompressed answer ("accept-encoding: identity").

    >>> sent_headers([("Content-Length", "12"), ("Authorization", "Bearer key")])
    [('Authorization', 'Bearer key')]

    Args:
        headers: names and values, all text or all bytes.
        only: lower-case names; if given, all other headers are dropped too.

    Raises:
        RequestRefused: reason "header": a value holds an e-mail address, or the number of a card,
            an account or a person. Credentials are not looked into.
    """
    kept = [
        (name, value)
        for name, value in headers
        if (lower := name.lower()) not in _DROPPED and (only is None or lower in only)
    ]
    for name, value in kept:
        _check_header(name, value)
    return kept


# Cached because a client sends the same headers with every request.
@lru_cache(maxsize=1024)
def _check_header(name: str | bytes, value: str | bytes) -> None:
    label, text = (
        each.decode("latin-1") if isinstance(each, bytes) else each for each in (name, value)
    )
    named = any(word in label.lower() for word in _CREDENTIALS)
    if not named and (kind := sure_kind(text)) is not None:
        raise RequestRefused(f"the header {label!r} holds an identifier ({kind})", "header")


def answer_headers(
    headers: Iterable[tuple[bytes, bytes]], only: re.Pattern[bytes] | None = None
) -> list[tuple[bytes, bytes]]:
    """Return an answer's headers that fit its restored body, without any that look like a record.

    If `only` is given, headers whose lower-case name it does not match are dropped too.

    >>> answer_headers([(b"Content-Encoding", b"gzip"), (b"Sanitizer-Epsilon-Total", b"0")])
    []
    """
    return [
        (name, value)
        for name, value in headers
        if (lower := name.lower()) not in _DROPPED
        and not lower.startswith(b"sanitizer-")  # an API must not forge the record
        and (only is None or only.fullmatch(lower))
    ]


@lru_cache(maxsize=256)
def record_headers(record: WireRecord) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of a record as HTTP libraries take them, encoded."""
    return tuple((name.encode(), value.encode()) for name, value in record.headers().items())
