"""Guard endpoints: a gateway hands over texts and gets stand-ins, then answers and gets originals.

They speak to gateways that ask the provider themselves: LiteLLM's guardrail `llm_shield_proxy`
(`/v1/guard/redact`, `/v1/guard/rehydrate`, `/v1/guard/rehydrate/stream`), and Portkey's webhook
(`/v1/guard/portkey`). The upstream of this proxy is not asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sanitizer.answers.restorer import Restorer
from sanitizer.errors import RequestRefused
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.proxy.access import ProxySettings
from sanitizer.proxy.api import answered, read_json
from sanitizer.proxy.shared import HEADER, Conversations, Metrics
from sanitizer.proxy.workers import Workers
from sanitizer.wire.filter import Exchange, Filter

SESSION = "x-session-id"
"""Header that names a session: one exchange of LiteLLM's, a conversation of Portkey's."""
MAX_TEXTS = 10_000
"""Most texts of one call."""

CHAT = "/v1/chat/completions"
_BEFORE = 2_000
"""Characters of an answer before a piece, in which a link may have begun."""
_JSON = {"content-type": "application/json"}
# "<" and ">" as some writers of JSON escape them; an escaped backslash before them is another one.
_ANGLE = re.compile(r"((?<!\\)(?:\\\\)*)\\u003([ce])", re.I)
Json = dict[str, Any]
Work = Callable[[Sanitizer, Filter, Json], Json]


def redacted(session: Filter, texts: list[str]) -> tuple[list[str], Exchange]:
    """Return the texts as they may leave, and the exchange that sanitized them.

    A text that is a JSON object or array, as arguments of tools are, stays one: its values are
    sanitized, and its keys lose identifiers.

    Raises:
        SanitizerError: as `Filter.request`; none of the texts may leave.
    """
    messages: list[Json] = []
    for text in texts:
        call = {"type": "function", "function": {"name": "tool", "arguments": text}}
        as_call = {"role": "assistant", "tool_calls": [call]}
        messages.append(as_call if _is_json(text) else {"role": "user", "content": text})
    exchange = session.request("POST", CHAT, _JSON, json.dumps({"messages": messages}).encode())
    sent = json.loads(exchange.body)["messages"]
    return [
        each["tool_calls"][0]["function"]["arguments"] if "tool_calls" in each else each["content"]
        for each in sent
    ], exchange


def _is_json(text: str) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(text), dict | list)
    return False


def rehydrated(restorer: Restorer, text: str) -> str:
    """Return a text of an answer with originals; a JSON object or array stays one."""
    if not _is_json(text):
        return restorer.text(text)
    plain = _ANGLE.sub(lambda found: found[1] + {"c": "<", "e": ">"}[found[2].lower()], text)
    return _shown(restorer.parts(plain)[0], in_json=True)


def _shown(parts: list[Any], in_json: bool) -> str:
    def escaped(original: str) -> str:
        return json.dumps(original, ensure_ascii=False)[1:-1] if in_json else original

    return "".join(p.text if p.original is None else escaped(p.original) for p in parts)


@dataclass(frozen=True)
class Carry:
    """What a gateway carries from one piece of a text to the next; the proxy keeps nothing.

    Attributes:
        held: end of the text that may become a released value.
        before: text before it, as the API wrote it, in which a link may have begun.
        in_json: the text is a JSON object, so that originals are escaped.
    """

    held: str = ""
    before: str = ""
    in_json: bool = False

    @classmethod
    def read(cls, written: str, piece: str) -> Carry:
        """Read what came with a piece; the first piece decides whether the text is JSON.

        Raises:
            RequestRefused: it was not written by `write`.
        """
        if not written:
            return cls(in_json=piece.lstrip().startswith("{"))
        try:
            held, before, in_json = json.loads(written)
        except (ValueError, TypeError, RecursionError):
            held = before = in_json = None
        if not (isinstance(held, str) and isinstance(before, str) and isinstance(in_json, bool)):
            raise RequestRefused("carry must be what this endpoint returned last", "field")
        return cls(held, before, in_json)

    def write(self) -> str:
        """Return it as a text."""
        return json.dumps([self.held, self.before, self.in_json])


def step(restorer: Restorer, piece: str, carry: Carry, final: bool) -> tuple[str, str]:
    """Feed one piece of an answer; return the text that can be shown now, and what to carry on."""
    text = carry.held + piece
    # Of what is not carried along it is not known whether it held a link.
    came = carry.before if len(carry.before) < _BEFORE else "//"
    parts, held = restorer.parts(text, final, carry.before, came=came if final else "")
    if final:
        return _shown(parts, carry.in_json), ""
    before = (carry.before + text[: len(text) - len(held)])[-_BEFORE:]
    return _shown(parts, carry.in_json), Carry(held, before, carry.in_json).write()


@dataclass(frozen=True)
class GuardApi:
    """The guard endpoints; JSON in, JSON out.

    Guarantee: `redact` answers with texts that the filter released, or with an error. What it
    counts and logs holds no text.
    Not protected: what the gateway itself keeps and logs; strings that it does not hand over. Each
    session is a conversation of its own: what a policy draws is drawn, and paid for, in each.

    Attributes:
        sessions: their Sanitizers, bound to the caller's key.
        settings: limits of bodies and times.
    """

    sessions: Conversations
    settings: ProxySettings
    metrics: Metrics
    workers: Workers

    def routes(self) -> list[Route]:
        """Return the routes of the endpoints."""
        endpoints: dict[str, Work] = {"redact": self._redact, "rehydrate": self._rehydrate}
        endpoints |= {"rehydrate/stream": self._rehydrate_piece, "portkey": self._portkey}
        return [
            Route(f"/v1/guard/{name}", partial(self._answer, work), methods=["POST"])
            for name, work in endpoints.items()
        ]

    async def _answer(self, work: Work, request: Request) -> Response:
        headers: dict[str, str] = request.state.headers
        name = headers.get(SESSION) or headers.get(HEADER)
        if not name:
            raise RequestRefused(f"the header {SESSION} must name a session", "conversation")
        # Bound to the key that the caller sends.
        session = f"guard/{self.sessions.holder({**headers, HEADER: name}).plain}"
        given, size = await read_json(request, self.settings)
        done = self.workers.run(size, lambda: work(*self.sessions.of(session), given))
        return await answered(done, request)

    def _redact(self, _: Sanitizer, session: Filter, given: Json) -> Json:
        texts, exchange = redacted(session, _texts(given))
        self.metrics.epsilon.inc(exchange.record.charged)
        return {"texts": texts}

    def _rehydrate(self, session: Sanitizer, _: Filter, given: Json) -> Json:
        restorer = session.inner.answers.restorer()
        return {"texts": [rehydrated(restorer, text) for text in _texts(given)]}

    def _rehydrate_piece(self, session: Sanitizer, _: Filter, given: Json) -> Json:
        piece, carry, final = given.get("text"), given.get("carry", ""), given.get("final", False)
        if not (isinstance(piece, str) and isinstance(carry, str) and isinstance(final, bool)):
            raise RequestRefused("text and carry must be strings, final true or false", "field")
        restorer = session.inner.answers.restorer()
        text, carried = step(restorer, piece, Carry.read(carry, piece), final)
        return {"text": text, "carry": carried}

    def _portkey(self, sanitizer: Sanitizer, session: Filter, given: Json) -> Json:
        """Answer Portkey's webhook: the request with stand-ins, or the answer with originals."""
        hooks = {"beforeRequestHook": "request", "afterRequestHook": "response"}
        part = hooks.get(str(given.get("eventType")))
        held = given.get(part) if part else None
        document = held.get("json") if isinstance(held, dict) else None
        if not isinstance(document, dict):
            raise RequestRefused("eventType must be a hook of Portkey's, with its JSON", "field")
        if part == "response":
            restorer = sanitizer.inner.answers.restorer()
            changed = _everywhere(document, lambda text: rehydrated(restorer, text))
        else:
            kinds = {"chatComplete": "chat/completions", "complete": "completions"}
            endpoint = kinds.get(str(given.get("requestType")))
            if endpoint is None:
                raise RequestRefused("requestType must be chatComplete or complete", "endpoint")
            body = json.dumps(document).encode()
            exchange = session.request("POST", f"/v1/{endpoint}", _JSON, body)
            self.metrics.epsilon.inc(exchange.record.charged)
            changed = json.loads(exchange.body)
        return {"verdict": True, "transformedData": {part: {"json": changed}}}


def _texts(given: Json) -> list[str]:
    texts = given.get("texts")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RequestRefused("texts must be a list of strings", "field")
    if len(texts) > MAX_TEXTS:
        raise RequestRefused(f"texts must be at most {MAX_TEXTS}", "size", 413)
    return texts


def _everywhere(value: Any, change: Callable[[str], str]) -> Any:
    """Return a document with every string value changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_everywhere(inner, change) for inner in value]
    if isinstance(value, dict):
        return {key: _everywhere(inner, change) for key, inner in value.items()}
    return value
