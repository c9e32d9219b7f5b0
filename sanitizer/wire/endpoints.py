"""The table of endpoints: what may be sent where, in which format, and why the rest may not.

A row of `endpoints.csv` is one endpoint. Every method and path without a row is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from sanitizer.errors import RequestRefused

_SEGMENT = "[A-Za-z0-9_][A-Za-z0-9._~-]*"
_TARGET = re.compile(
    rf"((?:/{_SEGMENT})+)"
    r"(?:\?(?:api-version=(?:[0-9][0-9-]{0,20}(?:-?preview)?|preview|latest)|beta=true))?",
    re.ASCII,
)
_PAIR = re.compile(
    "(after|after_id|alt|api-version|before|before_id|beta|client_version|include|include_obfuscation"
    r"|limit|order|page|page_token|pageSize|pageToken|verbose|view)(?:\[\]|%5B%5D)?"
    r"=((?:[\w.~:,-]|%3D|%2B|%2F){0,200})",
    re.ASCII | re.IGNORECASE,
)
"""A pair of the query of a GET: what lists take, and values without blanks."""
_PLAIN = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*", re.ASCII)
_PLACES = {"{model}": r"([A-Za-z0-9_][\w.-]*)", "{response}": r"([A-Za-z0-9_][\w-]*)"}
"""Parts of a path that clients choose, and their form."""
_NAMED = ("deployments", "engines")
"""Segments after which a name of the user's choice comes, which may look like a resource."""


class Endpoint(NamedTuple):
    """One endpoint of an API.

    Attributes:
        method: "POST", "GET" or "*".
        path: end of the path, below any base path; "{model}" is a name that clients choose.
        format: "openai", "anthropic", "gemini" or "ollama".
        treatment: "treated" (sanitized and restored), "passed" (read as it is) or "refused".
        stream: how it streams: "events", "lines", or "" if it does not.
        answer: field that makes a document an answer of this endpoint, and its type: "list",
            "number" or "any"; "" for a field that the shape of the answer lists.
        system: field of the system prompt in a request; "" if it has none.
        choices: path to how many answers a request asks for; "" if it does not tell.
        json: paths to what says that a request asks for answers in JSON.
        chat: field of a request that holds the turns of a chat; "" if it has none.
        reason: why it is passed or refused.
    """

    method: str
    path: str
    format: str
    treatment: str
    stream: str = ""
    answer: str = ""
    system: str = ""
    choices: str = ""
    json: str = ""
    chat: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        """Path without what clients choose, such as "chat/completions"; a method of Gemini."""
        path = self.path.partition("?")[0].partition("/{")
        return path[2].partition(":")[2] or path[0]


_LINES = files(__package__).joinpath("endpoints.csv").read_text("utf-8").splitlines()
ENDPOINTS = tuple(Endpoint(**row) for row in csv.DictReader(_LINES))
"""All rows of the table, in order."""
_REFUSED = sorted(
    (each for each in ENDPOINTS if each.treatment == "refused"), key=lambda row: -len(row.path)
)
"""Refused rows, the longest path first, which says most."""
_BY_NAME = {each.name: each for each in ENDPOINTS if each.method == "POST"}
_WORDS = frozenset(re.findall(r"[\w-]+", f"{[e[1:3] for e in ENDPOINTS]} v1 v1beta azure"))
"""Parts of paths that no client chose."""
_RESOURCES = frozenset(
    each.path.lower() if each.path.startswith("api/") else each.path.partition("/")[0].lower()
    for each in ENDPOINTS
)
"""Segments that no base path has: "/v1/files/x/responses" is an address of files."""


def find_endpoint(
    method: str, target: str, readable: Iterable[str] = ()
) -> tuple[Endpoint, tuple[str, ...]]:
    """Return the row that a request is for, and the names that the client chose in its path.

    A base path may come before it ("/v1", "/openai/deployments/NAME"): plain segments, none of
    them the name of another resource. A query may hold text, so few are let through: with GET
    those of lists (`limit=20`, `client_version=1.2`), else Azure's `api-version`, Anthropic's
    `beta=true` and Gemini's `alt=sse`.
    Not protected: names in the base path; they are the application's configuration. The names and
    values that the client chose must be no identifiers, which `Filter.request` checks.

    >>> find_endpoint("POST", "/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse")[0].name
    'streamGenerateContent'
    >>> find_endpoint("GET", "/v1/models/gpt-5")[1]
    ('gpt-5',)

    Args:
        method: in capitals.
        target: path as sent, not decoded, with the query string if there is one.
        readable: paths such as "/files", for GET.

    Raises:
        RequestRefused: reason "endpoint", status 404.
    """
    bare, mark, query = target.partition("?")
    plain = _TARGET.fullmatch(bare if method == "GET" else target)
    path, pairs = plain[1] if plain else "", list[str]()
    if method == "GET" and mark:
        pairs = [match[2] for pair in query.split("&") if (match := _PAIR.fullmatch(pair))]
        path = path if len(pairs) == query.count("&") + 1 else ""
    for each in (*map(_listed, readable), *ENDPOINTS):
        if each.method == method and each.treatment != "refused":
            found = _pattern(each.path).fullmatch(target if each.format == "gemini" else path)
            if found and _is_base(found[1]):
                return each, (*found.groups()[1:], *pairs)
    known = ", ".join(f"{e.method} /{e.path}" for e in ENDPOINTS if e.treatment != "refused")
    reason = next((f" ({row.reason})" for row in _REFUSED if _within(row.path).search(bare)), "")
    if mark and not reason:
        reason = " with this query"
    raise RequestRefused(
        f"this method and path are not let through{reason}; known are {known}, and GET of what the"
        " policy lists ([wire] endpoints)",
        "endpoint",
        404,
    )


def _listed(path: str) -> Endpoint:
    """Return the row of a path that the policy lists; of none if it is not plain."""
    bare = path.strip("/")
    method = "GET" if _PLAIN.fullmatch(bare) else ""
    return Endpoint(method, bare, "", "passed", reason="the policy lists it")


@cache
def _within(path: str) -> re.Pattern[str]:
    """Return the form of a path that lies below a refused one, or is it."""
    return re.compile(rf"/{_form(path)}(?:/|\Z)", re.ASCII)


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return the form of an endpoint's targets: its base path, and the names chosen in it."""
    return re.compile(rf"((?:/{_SEGMENT})*)/{_form(path)}", re.ASCII)


def _form(path: str) -> str:
    parts = re.split(r"(\{\w+\})", path)
    return "".join(_PLACES.get(part) or re.escape(part) for part in parts)


def _is_base(path: str) -> bool:
    """Return True if no segment of the path names a resource."""
    return not any(
        (segment.lower() in _RESOURCES or f"{before}/{segment}".lower() in _RESOURCES)
        and before not in _NAMED
        for before, segment in pairwise(path.split("/"))
    )


def endpoint_of(path: str) -> str:
    """Return the name of the endpoint of a path, such as "chat/completions", or "other".

    Metrics are labelled with it and never with the path itself, which clients may choose freely.

    >>> endpoint_of("/v1beta/models/gemini-2.5-pro:generateContent")
    'generateContent'
    """
    path = path.partition("?")[0]
    marks = {name: ":" if each.format == "gemini" else "/" for name, each in _BY_NAME.items()}
    return next((name for name, mark in marks.items() if path.endswith(mark + name)), "other")


def format_of(name: str) -> str:
    """Return the format of an endpoint by its name; OpenAI's for "other".

    >>> format_of("messages"), format_of("other")
    ('anthropic', 'openai')
    """
    return _BY_NAME[name].format if name in _BY_NAME else "openai"


def public_path(path: str) -> str:
    """Return a path with "..." in place of what clients choose: models, ids, words of their own."""
    return re.sub("[^/:]+", lambda part: part[0] if part[0] in _WORDS else "...", path)
