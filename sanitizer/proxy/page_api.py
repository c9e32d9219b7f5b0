"""The page: its files, and its endpoints (settings, preview of what would leave, copy)."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sanitizer.errors import RequestRefused
from sanitizer.pipeline import Sanitizer, WordMechanism
from sanitizer.privacy import Cape, DynText
from sanitizer.proxy.access import ProxySettings
from sanitizer.proxy.api import read_body, while_client_waits
from sanitizer.proxy.shared import Conversations, Metrics, Workers
from sanitizer.results import SanitizedText
from sanitizer.risk import NO_NOISE, ClassMeter, Risk, RiskMeter
from sanitizer.storage import MemoryVault
from sanitizer.text import PRESETS, Policy

Key = TypeVar("Key")
Value = TypeVar("Value")
Endpoint = Callable[[Request], Awaitable[Response]]

EPSILON_MIN, EPSILON_MAX = 1.0, 12.0
MAX_CHARS = 100_000
MAX_SETTINGS = 8  # pairs of mechanism and epsilon kept ready, each with its own risk meter
MAX_CONVERSATIONS = 100
MAX_REMEMBERED = 1000  # messages of previews
_MECHANISMS: dict[str, Callable[[float], WordMechanism]] = {"cape": Cape, "dyntext": DynText}

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


@dataclass(frozen=True)
class Wish:
    """One valid request of the page.

    Attributes:
        text: what was typed.
        policy: name of the policy.
        mechanism: name of the mechanism.
        epsilon: epsilon per private word, in nats.
    """

    text: str = field(repr=False)
    policy: str
    mechanism: str
    epsilon: float

    @classmethod
    def of(cls, body: bytes, policies: list[str]) -> Wish:
        """Read a request from its body.

        Raises:
            RequestRefused: 400 or 413, naming the field and not its value.
        """
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise RequestRefused("malformed JSON", "json") from None
        if not isinstance(values, dict) or not isinstance(values.get("text"), str):
            raise RequestRefused("text must be a string", "field")
        policy, mechanism = values.get("policy"), values.get("mechanism")
        epsilon = values.get("epsilon", 0)
        if len(values["text"]) > MAX_CHARS:
            raise RequestRefused(
                f"a text on the page may have at most {MAX_CHARS} characters", "size", 413
            )
        if policy not in policies:
            raise RequestRefused(f"policy must be one of {', '.join(policies)}", "field")
        # A list, since JSON may hold values that cannot be looked up in a dictionary.
        if mechanism not in list(_MECHANISMS):
            raise RequestRefused(f"mechanism must be one of {', '.join(_MECHANISMS)}", "field")
        # `type`, since True and False are of class int too.
        if type(epsilon) not in (int, float) or not EPSILON_MIN <= epsilon <= EPSILON_MAX:
            raise RequestRefused(
                f"epsilon must be from {EPSILON_MIN:g} to {EPSILON_MAX:g}", "field"
            )
        return cls(values["text"], str(policy), str(mechanism), float(epsilon))


class PageSanitizers:
    """Sanitizers for the settings chosen on the page, a few of them kept. Safe for many threads.

    They share a vault in memory: what is typed, half a sentence at a time, never reaches the disk.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._first = sanitizer.derive(vault=MemoryVault(max_messages=MAX_REMEMBERED))
        self._by_mechanism: OrderedDict[tuple[str, float], tuple[Sanitizer, RiskMeter]] = (
            OrderedDict()
        )
        self._charged: OrderedDict[str, Sanitizer] = OrderedDict()
        self._lock = threading.Lock()

    def charged(self, conversation: str, wish: Wish) -> Sanitizer:
        """Return the Sanitizer whose budget a copy is charged to."""
        with self._lock:
            base = _kept(
                self._charged,
                conversation,
                MAX_CONVERSATIONS,
                lambda: self._first.derive(conversation=conversation),
            )
        return base.derive(policy=self.policy(wish), mechanism=self.mechanism(wish))

    def preview(self, conversation: str, wish: Wish) -> tuple[Sanitizer, RiskMeter | None]:
        """Return a Sanitizer that draws without a charge, and the meter of its risk.

        The meter is None for a policy without noise.

        Raises:
            ModelError: the model cannot be loaded.
        """
        policy = self.policy(wish)
        if not policy.perturb:
            return self._first.derive(conversation=conversation, policy=policy, charged=False), None
        with self._lock:
            base, meter = _kept(
                self._by_mechanism,
                (wish.mechanism, wish.epsilon),
                MAX_SETTINGS,
                lambda: self._loaded(wish),
            )
        derived = base.derive(
            conversation=conversation, policy=policy, mechanism=base.mechanism, charged=False
        )
        return derived, meter

    def _loaded(self, wish: Wish) -> tuple[Sanitizer, RiskMeter]:
        loaded = self._first.derive(policy="strict", mechanism=self.mechanism(wish))
        return loaded, RiskMeter(loaded)

    def policy(self, wish: Wish) -> Policy:
        """Return the proxy's own policy if it has the name that was asked for, else the preset."""
        own = self._first.policy
        return own if wish.policy == own.name else Policy.preset(wish.policy)

    def mechanism(self, wish: Wish) -> WordMechanism:
        """Return the proxy's own mechanism if name and epsilon agree, else one with defaults."""
        own = self._first.mechanism
        if (own.name, own.epsilon) == (wish.mechanism, wish.epsilon):
            return own
        return _MECHANISMS[wish.mechanism](wish.epsilon)

    def settings(self) -> dict[str, Any]:
        """Return what the page may choose from, and what is chosen at first."""
        own, policy = self._first.mechanism, self._first.policy.name
        return {
            "policies": list(dict.fromkeys([*PRESETS, policy])),
            "policy": policy,
            "mechanisms": list(_MECHANISMS),
            "mechanism": own.name,
            "epsilon": min(max(own.epsilon, EPSILON_MIN), EPSILON_MAX),
            "epsilon_min": EPSILON_MIN,
            "epsilon_max": EPSILON_MAX,
        }


class PageApi:
    """Endpoints of the page; JSON in, JSON out."""

    def __init__(
        self,
        sanitizer: Sanitizer,
        settings: ProxySettings,
        conversations: Conversations,
        metrics: Metrics,
    ) -> None:
        self._sanitizers = PageSanitizers(sanitizer)
        self._class_meters: OrderedDict[tuple[str, float], ClassMeter] = OrderedDict()
        self._settings = settings
        self._conversations = conversations
        self._metrics = metrics
        # One thread: previews wait for each other, and the API never waits for them. A preview
        # whose client has left is dropped before it begins.
        self._workers = Workers(may_block=True, threads=1)

    async def settings(self, request: Request) -> Response:
        """Answer with what the page may choose from."""
        return _json(self._sanitizers.settings())

    async def preview(self, request: Request) -> Response:
        """Answer with the text that would leave; nothing is charged, since nothing has left."""
        return await self._answer(request, copied=False)

    async def copy(self, request: Request) -> Response:
        """Answer with the text of the preview, charged, since it is about to leave."""
        return await self._answer(request, copied=True)

    async def _answer(self, request: Request, copied: bool) -> Response:
        headers: dict[str, str] = request.state.headers
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefused("content-type must be application/json", "content_type", 415)
        body = await read_body(
            request.receive, headers, self._settings.max_body, self._settings.timeout
        )
        wish = Wish.of(body, self._sanitizers.settings()["policies"])
        conversation = self._conversations.name(headers)
        work = self._workers.run(len(body), lambda: self._work(conversation, wish, copied))
        return _json(await while_client_waits(work, request.receive))

    def _work(self, conversation: str, wish: Wish, copied: bool) -> dict[str, Any]:
        preview, meter = self._sanitizers.preview(conversation, wish)
        result = preview.sanitize(wish.text)
        charged = self._sanitizers.charged(conversation, wish)
        if copied:
            result = charged.adopt(wish.text, result)
            self._metrics.charge(result.record.charged)
        risk = self._risk(preview, meter, wish.text, result)
        left = charged.budget_left
        budget = {"spent": charged.spent, "left": left}
        return result.as_dict(reveal=True) | {"budget": budget, "risk": risk.as_dict()}

    def _risk(
        self, preview: Sanitizer, meter: RiskMeter | None, text: str, result: SanitizedText
    ) -> Risk:
        if meter is not None:
            return meter.measure(preview, text)
        if not preview.policy.reads_models:
            return Risk(1.0, 1.0, NO_NOISE)
        chosen = preview.mechanism.name, preview.mechanism.epsilon
        meters, draws = self._class_meters, preview.inner.class_draws()
        return _kept(meters, chosen, MAX_SETTINGS, lambda: ClassMeter(draws)).measure(result)

    def close(self) -> None:
        """Drop the previews that wait."""
        self._workers.close()


def page_routes(page: PageApi) -> list[Route]:
    """Return the routes of the page: its files, read once, and its endpoints."""
    files = [path for path in sorted(PAGE.iterdir()) if path.suffix in _TYPES]
    return [
        *(Route(_address(path), _file(path)) for path in files),
        Route("/page/settings", page.settings),
        Route("/page/preview", page.preview, methods=["POST"]),
        Route("/page/copy", page.copy, methods=["POST"]),
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


def _kept(cache: OrderedDict[Key, Value], key: Key, most: int, make: Callable[[], Value]) -> Value:
    """Return a value of the cache, made if needed; keep the `most` that were used last."""
    if key not in cache:
        cache[key] = make()
        if len(cache) > most:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return cache[key]
