"""The page: its files, and its endpoints (settings, preview, copy, send, restore, corrections)."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from math import ceil, comb, floor, sqrt
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.pipeline import Sanitizer
from sanitizer.progress import reported_to
from sanitizer.proxy.access import ProxySettings
from sanitizer.proxy.api import read_body, while_client_waits
from sanitizer.proxy.page_wishes import (
    MAX_SETTINGS,
    Correction,
    Left,
    Memory,
    PageSanitizers,
    Wish,
    kept,
    key_of,
)
from sanitizer.proxy.shared import Conversations, Metrics, Workers
from sanitizer.proxy.upstream import ChatApi, Upstream
from sanitizer.results import Replacement, SanitizedText
from sanitizer.risk import NO_NOISE, ClassMeter, Risk, RiskMeter
from sanitizer.text import WORD_KINDS, DeclaredText, Policy, word_spans
from sanitizer.urls import is_loopback

Endpoint = Callable[[Request], Awaitable[Response]]

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class _Cancelled(Exception):
    """Nobody waits for this work any more."""


class _Run:
    """How far one piece of work has come, and whether somebody waits for it."""

    def __init__(self) -> None:
        self.done = self.total = 0
        self.cancelled = False

    def watch(self, done: int, total: int, charged: bool) -> None:
        """Note the progress; raise _Cancelled where nobody waits and nothing is charged."""
        if self.cancelled and not charged:
            raise _Cancelled
        self.done, self.total = done, total


@dataclass(frozen=True)
class KnownWords:
    """How many words of a text its reader has or guesses, over all words of the text.

    The denominator is the same under every setting, so that settings can be compared.

    Attributes:
        total: words of the text.
        shown: words that leave as they are.
        expected: of the drawn words, how many a best guess gets right on average; None if that is
            not known.
        low, high: where that number lies in 95 of 100 texts like this one, each drawn thing being
            guessed by itself.
    """

    total: int
    shown: int
    expected: float | None
    low: float
    high: float

    @classmethod
    def of(
        cls, text: str, result: SanitizedText, policy: Policy, guessed: float | None
    ) -> KnownWords:
        """Return the words known of one text.

        Args:
            text: the original.
            policy: under which the result was made.
            guessed: probability that the best guess at a drawn thing is right; None if unknown.
        """
        hidden = [each for each in result.replacements if each.kind != "article"]
        total = sum(1 for _ in word_spans(text))
        shown = max(0, total - sum(map(_n_words, hidden)))
        drawn = [each for each in hidden if _is_drawn(each, policy)]
        words = sum(map(_n_words, drawn))
        if guessed is None:
            return cls(total, shown, None, 0.0, float(words))
        n = len({(each.kind, each.original.casefold()) for each in drawn})
        low, high = binomial_range(n, guessed)
        each_words = words / n if n else 0.0
        return cls(total, shown, guessed * words, low * each_words, high * each_words)


def _n_words(replacement: Replacement) -> int:
    return sum(1 for _ in word_spans(replacement.original))


def _is_drawn(replacement: Replacement, policy: Policy) -> bool:
    """Return True for what a mechanism drew: a word, or a member of a class.

    Numbers are random: what leaves does not depend on them.
    """
    in_class = replacement.kind in policy.drawn and not replacement.replacement.startswith("<")
    return replacement.kind == "word" or in_class


def binomial_range(n: int, p: float) -> tuple[int, int]:
    """Return the smallest range that leaves at most 2.5 % of a binomial count on either side.

    >>> binomial_range(3, 0.05), binomial_range(100, 0.5), binomial_range(0, 0.5)
    ((0, 1), (40, 60), (0, 0))
    """
    if n > 1000:  # the normal distribution is near enough, and powers would vanish
        half = 1.96 * sqrt(n * p * (1 - p))
        return max(0, floor(n * p - half)), min(n, ceil(n * p + half))
    below, low = 0.0, None
    for k in range(n + 1):
        below += comb(n, k) * p**k * (1 - p) ** (n - k)
        if low is None and below > 0.025:
            low = k
        if below >= 0.975:
            return low or 0, k
    return low or 0, n


class PageApi:
    """Endpoints of the page; JSON in, JSON out.

    Args:
        upstream: where a text goes that is sent from the page.
        clock: seconds since 1970, for the list of what left.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        settings: ProxySettings,
        conversations: Conversations,
        metrics: Metrics,
        upstream: Upstream,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sanitizers = PageSanitizers(sanitizer)
        self._class_meters: OrderedDict[tuple[str, float], ClassMeter] = OrderedDict()
        self._settings = settings
        self._conversations = conversations
        self._metrics = metrics
        self._upstream = upstream
        self._clock = clock
        self._memory = Memory()
        self._runs: dict[str, _Run] = {}
        # One thread: previews wait for each other, and the API never waits for them. A preview
        # whose client has left is dropped before it begins, or between two steps.
        self._workers = Workers(may_block=True, threads=1)
        self._restorers = Workers(may_block=True, threads=1)

    async def settings(self, request: Request) -> Response:
        """Answer with what the page may choose from, and where it sends to."""
        parts = urlsplit(self._settings.upstream)
        asked = {
            "upstream": parts.netloc,
            "upstream_is_local": is_loopback(parts.hostname or ""),
            "needs_key": self._settings.key is None,
        }
        return _json(self._sanitizers.settings() | asked)

    async def state(self, request: Request) -> Response:
        """Answer with what the page showed before it was loaded again."""
        conversation = self._conversations.name(request.state.headers)
        wish = self._memory.wish(conversation)
        left = [each.as_dict() for each in self._memory.left(conversation)]
        return _json({"wish": wish.as_dict() if wish else None, "left": left})

    async def draft(self, request: Request) -> Response:
        """Keep in memory what was typed, for a reload; nothing else happens to it."""
        conversation, wish, _ = await self._wish(request)
        self._memory.remember(conversation, wish)
        return _json({})

    async def progress(self, request: Request) -> Response:
        """Answer with how many steps of how many are done for the text that is awaited."""
        run = self._runs.get(self._conversations.name(request.state.headers), _Run())
        return _json({"done": run.done, "total": run.total})

    async def preview(self, request: Request) -> Response:
        """Answer with the text that would leave; nothing is charged, since nothing has left."""
        return await self._answer(request, self._preview)

    async def copy(self, request: Request) -> Response:
        """Answer with the text of the preview, charged, since it is about to leave."""
        return await self._answer(request, self._copy)

    async def send(self, request: Request) -> Response:
        """Answer with the text of the preview, charged and sent, and what the model answered.

        The text leaves alone, without what was sent before. Nothing is charged before an API
        answers at the address and takes the key; what goes wrong later is told in `failed`.
        """
        headers, body = await self._body(request)
        wish = Wish.of(body, self._sanitizers.settings()["policies"])
        if not wish.model:
            raise RequestRefused("name a model", "field")
        conversation, api = self._conversations.name(headers), self._chat_api(body)
        self._memory.remember(conversation, wish)
        sending = self._sent(conversation, wish, len(body), api)
        return _json(await while_client_waits(sending, request.receive))

    async def models(self, request: Request) -> Response:
        """Answer with the names of the API's models."""
        _, body = await self._body(request)
        found = self._chat_api(body).models()
        return _json({"models": await while_client_waits(found, request.receive)})

    def _chat_api(self, body: bytes) -> ChatApi:
        key = key_of(body)
        return ChatApi(self._upstream, self._settings.key or key, self._settings.timeout)

    async def _sent(self, conversation: str, wish: Wish, size: int, api: ChatApi) -> dict[str, Any]:
        await api.models()
        shown = await self._workers.run(size, lambda: self._copy(conversation, wish))
        try:
            said, failed = await api.answer(wish.model, shown["text"])
        except UpstreamError as error:
            said, failed = "", str(error)
        if said:
            self._memory.remember(conversation, replace(wish, answer=said))
        return shown | {"answer": said, "failed": failed}

    async def restore(self, request: Request) -> Response:
        """Answer with the model's answer, originals put back by the conversation's table."""
        conversation, wish, size = await self._wish(request)
        self._memory.remember(conversation, wish)
        work = self._restorers.run(size, lambda: self._restore(conversation, wish))
        return _json(await while_client_waits(work, request.receive))

    async def remember(self, request: Request) -> Response:
        """Keep a correction for every text to come, in the memory of this machine."""
        _, body = await self._body(request)
        correction = Correction.of(body)
        work = self._restorers.run(len(body), lambda: self._sanitizers.remember(correction))
        return _json({"changed": await while_client_waits(work, request.receive)})

    async def _wish(self, request: Request) -> tuple[str, Wish, int]:
        """Return the conversation, the wish, and the size of its body in bytes."""
        headers, body = await self._body(request)
        wish = Wish.of(body, self._sanitizers.settings()["policies"])
        return self._conversations.name(headers), wish, len(body)

    async def _body(self, request: Request) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of a request in JSON."""
        headers: dict[str, str] = request.state.headers
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefused("content-type must be application/json", "content_type", 415)
        body = await read_body(
            request.receive, headers, self._settings.max_body, self._settings.timeout
        )
        return headers, body

    async def _answer(
        self, request: Request, work: Callable[[str, Wish], dict[str, Any]]
    ) -> Response:
        conversation, wish, size = await self._wish(request)
        self._memory.remember(conversation, wish)
        run = self._runs[conversation] = _Run()

        def watched() -> dict[str, Any]:
            with reported_to(run.watch):
                return work(conversation, wish)

        try:
            working = self._workers.run(size, watched)
            return _json(await while_client_waits(working, request.receive))
        finally:
            run.cancelled = True
            if self._runs.get(conversation) is run:
                del self._runs[conversation]

    def _preview(self, conversation: str, wish: Wish) -> dict[str, Any]:
        preview, meter = self._sanitizers.preview(conversation, wish)
        result = preview.sanitize(wish.text, keep=wish.keep)
        charged = self._sanitizers.charged(conversation, wish)
        return self._shown(wish, result, charged, self._risk(preview, meter, wish, result))

    def _copy(self, conversation: str, wish: Wish) -> dict[str, Any]:
        preview, meter = self._sanitizers.preview(conversation, wish)
        charged = self._sanitizers.charged(conversation, wish)
        if charged.policy.perturb:
            drawn = preview.sanitize(wish.text, keep=wish.keep)
            result = charged.adopt(wish.text, drawn, keep=wish.keep)
        else:  # what a preview draws is for the preview's table only
            result = charged.sanitize(wish.text, keep=wish.keep)
        self._metrics.charge(result.record.charged)
        self._memory.add_left(conversation, Left(self._clock(), result))
        return self._shown(wish, result, charged, self._risk(preview, meter, wish, result))

    def _shown(
        self, wish: Wish, result: SanitizedText, charged: Sanitizer, risk: Risk
    ) -> dict[str, Any]:
        policy = charged.policy
        known = KnownWords.of(wish.text, result, policy, risk.expected)
        released = charged.inner.released
        left = released.vault.originals(released.conversation)
        replacements = [
            each.as_dict(reveal=True)
            | {"drawn": _is_drawn(each, policy), "left": each.replacement in left}
            for each in result.replacements
        ]
        return result.as_dict() | {
            "replacements": replacements,
            "budget": {"spent": charged.spent, "left": charged.budget_left},
            "risk": risk.as_dict() | {"words": asdict(known)},
        }

    def _restore(self, conversation: str, wish: Wish) -> dict[str, Any]:
        sanitizer = self._sanitizers.charged(conversation, wish)
        left = [each.result for each in self._memory.left(conversation)]
        restored = sanitizer.restore(wish.answer, left)
        restorer = sanitizer.inner.answers.restorer(left)
        parts = [(restored, None)] if restored.extracted else restorer.parts(wish.answer)[0]
        originals = restorer.originals
        return {
            "parts": [{"text": text, "original": original} for text, original in parts],
            "notes": [{"told": told, "wrote": originals[told]} for told in originals.drawn],
            "words_stay": any(each.record.mechanism != "none" for each in left)
            and any(r.kind in WORD_KINDS for each in left for r in each.replacements),
            "left": len(left),
        }

    def _risk(
        self, preview: Sanitizer, meter: RiskMeter | None, wish: Wish, result: SanitizedText
    ) -> Risk:
        if meter is not None:
            return meter.measure(preview, DeclaredText.of(wish.text, wish.keep))
        if not preview.policy.reads_models:
            return Risk(1.0, 1.0, NO_NOISE)
        chosen = preview.mechanism.name, preview.mechanism.epsilon
        meters, draws = self._class_meters, preview.inner.class_draws()
        return kept(meters, chosen, MAX_SETTINGS, lambda: ClassMeter(draws)).measure(result)

    def close(self) -> None:
        """Drop the previews that wait."""
        self._workers.close()
        self._restorers.close()


def page_routes(page: PageApi) -> list[Route]:
    """Return the routes of the page: its files, read once, and its endpoints."""
    files = [path for path in sorted(PAGE.iterdir()) if path.suffix in _TYPES]
    return [
        *(Route(_address(path), _file(path)) for path in files),
        Route("/page/settings", page.settings),
        Route("/page/state", page.state),
        Route("/page/progress", page.progress),
        Route("/page/draft", page.draft, methods=["POST"]),
        Route("/page/preview", page.preview, methods=["POST"]),
        Route("/page/copy", page.copy, methods=["POST"]),
        Route("/page/send", page.send, methods=["POST"]),
        Route("/page/models", page.models, methods=["POST"]),
        Route("/page/restore", page.restore, methods=["POST"]),
        Route("/page/remember", page.remember, methods=["POST"]),
    ]


def _address(path: Path) -> str:
    return "/" if path.name == "index.html" else f"/page/{path.name}"


def _file(path: Path) -> Endpoint:
    content, media_type = path.read_bytes(), _TYPES[path.suffix]

    async def show(request: Request) -> Response:
        return Response(content, media_type=media_type, headers=_PAGE_HEADERS)

    return show


def _json(value: dict[str, Any]) -> Response:
    body = json.dumps(value, allow_nan=False)
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})
