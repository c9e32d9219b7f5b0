"""What the page asks for: its settings, what would leave, and to charge what is copied."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from sanitizer.errors import RequestRefused
from sanitizer.pipeline import Sanitizer, WordMechanism
from sanitizer.privacy import Cape, DynText
from sanitizer.proxy.conversations import Conversations
from sanitizer.proxy.metrics import Metrics
from sanitizer.proxy.request_body import read_body, while_client_waits
from sanitizer.proxy.settings import ProxySettings
from sanitizer.proxy.workers import Workers
from sanitizer.risk import NO_NOISE, Risk, RiskMeter
from sanitizer.storage import MemoryVault
from sanitizer.text import PRESETS, Policy

EPSILON_MIN, EPSILON_MAX = 1.0, 12.0
Key = TypeVar("Key")
Value = TypeVar("Value")

MAX_CHARS = 100_000
MAX_SETTINGS = 8
MAX_CONVERSATIONS = 100
MAX_REMEMBERED = 1000
_MECHANISMS: dict[str, Callable[[float], WordMechanism]] = {"cape": Cape, "dyntext": DynText}


@dataclass(frozen=True)
class Wish:
    """One valid request of the page."""

    text: str = field(repr=False)
    policy: str
    mechanism: str
    epsilon: float

    @classmethod
    def of(cls, body: bytes, policies: list[str]) -> Wish:
        """Raises RequestRefused: 400, naming the field and not its value."""
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise RequestRefused("malformed JSON", "json") from None
        if not isinstance(values, dict) or not isinstance(values.get("text"), str):
            raise RequestRefused("text must be a string", "field")
        policy, mechanism, epsilon = (
            values.get("policy"),
            values.get("mechanism"),
            values.get("epsilon", 0),
        )
        if len(values["text"]) > MAX_CHARS:
            raise RequestRefused(
                f"a text on the page may have at most {MAX_CHARS} characters", "size", 413
            )
        if policy not in policies:
            raise RequestRefused(f"policy must be one of {', '.join(policies)}", "field")
        if mechanism not in list(_MECHANISMS):  # a list, since any JSON value may be asked for
            raise RequestRefused(f"mechanism must be one of {', '.join(_MECHANISMS)}", "field")
        if type(epsilon) not in (int, float) or not EPSILON_MIN <= epsilon <= EPSILON_MAX:
            raise RequestRefused(
                f"epsilon must be from {EPSILON_MIN:g} to {EPSILON_MAX:g}", "field"
            )
        return cls(values["text"], str(policy), str(mechanism), float(epsilon))


class PageSanitizers:
    """Sanitizers by the page's settings, a few of each kept. Safe for many threads.

    What is typed goes to a memory of the page's own, gone with the process: half a sentence never
    reaches the disk.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._first = sanitizer.derive(vault=MemoryVault(max_messages=MAX_REMEMBERED))
        self._by_mechanism: OrderedDict[tuple[str, float], tuple[Sanitizer, RiskMeter]] = (
            OrderedDict()
        )
        self._charged: OrderedDict[str, Sanitizer] = OrderedDict()
        self._lock = threading.Lock()

    def charged(self, conversation: str, wish: Wish) -> Sanitizer:
        """What copies are charged to."""
        with self._lock:
            base = _kept(
                self._charged,
                conversation,
                MAX_CONVERSATIONS,
                lambda: self._first.derive(conversation=conversation),
            )
        return base.derive(policy=self.policy(wish), mechanism=self.mechanism(wish))

    def preview(self, conversation: str, wish: Wish) -> tuple[Sanitizer, RiskMeter | None]:
        """What draws without a charge, and what measures it; raises ModelError."""
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
        return base.derive(
            conversation=conversation, policy=policy, mechanism=base.mechanism, charged=False
        ), meter

    def _loaded(self, wish: Wish) -> tuple[Sanitizer, RiskMeter]:
        loaded = self._first.derive(policy="balanced", mechanism=self.mechanism(wish))
        return loaded, RiskMeter(loaded)

    def policy(self, wish: Wish) -> Policy:
        """The preset, or the policy the proxy was started with where it has the name."""
        return (
            self._first.policy
            if wish.policy == self._first.policy.name
            else Policy.preset(wish.policy)
        )

    def mechanism(self, wish: Wish) -> WordMechanism:
        """The one the proxy was started with, where name and epsilon are its own; else in its
        default shape.
        """
        own = self._first.mechanism
        if (own.name, own.epsilon) == (wish.mechanism, wish.epsilon):
            return own
        return _MECHANISMS[wish.mechanism](wish.epsilon)

    def settings(self) -> dict[str, Any]:
        """What the page may choose from, and where it starts."""
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
    """The page's endpoints; JSON in, JSON out."""

    def __init__(
        self,
        sanitizer: Sanitizer,
        settings: ProxySettings,
        conversations: Conversations,
        metrics: Metrics,
    ) -> None:
        self._sanitizers, self._settings, self._conversations = (
            PageSanitizers(sanitizer),
            settings,
            conversations,
        )
        # One thread: previews wait for each other and not the API for them; one that nobody waits
        # for is dropped.
        self._workers, self._metrics = Workers(may_block=True, threads=1), metrics

    async def settings(self, request: Request) -> Response:
        """What the page may choose from."""
        return _json(self._sanitizers.settings())

    async def preview(self, request: Request) -> Response:
        """What would leave. Nothing is charged: nothing has left."""
        return await self._answer(request, copied=False)

    async def copy(self, request: Request) -> Response:
        """The same, charged: it is about to leave."""
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
        risk = Risk(1.0, 1.0, NO_NOISE) if meter is None else meter.measure(preview, wish.text)
        left = charged.budget_left
        budget = {"spent": charged.spent, "left": left}
        return result.as_dict(reveal=True) | {"budget": budget, "risk": risk.as_dict()}

    def close(self) -> None:
        """Drop what waits."""
        self._workers.close()


def _json(value: dict[str, Any]) -> Response:
    body = json.dumps(value, allow_nan=False)
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


def _kept(cache: OrderedDict[Key, Value], key: Key, most: int, make: Callable[[], Value]) -> Value:
    """From the cache, or made; beyond `most` the one not used for longest goes."""
    if key not in cache:
        cache[key] = make()
        if len(cache) > most:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return cache[key]
