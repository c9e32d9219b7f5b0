"""The page: its files, and its endpoints (settings, preview, copy, send, restore, corrections).

What is typed, half a sentence at a time, is in memory only and never reaches the disk.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import ceil, comb, floor, sqrt
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.pipeline.engines import WordMechanism
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import DynText
from sanitizer.progress import reported_to
from sanitizer.proxy.access import ProxySettings
from sanitizer.proxy.api import answered, json_answer, read_json, while_client_waits
from sanitizer.proxy.shared import Conversations, LastUsed, Metrics
from sanitizer.proxy.upstream import ChatApi, Upstream
from sanitizer.proxy.workers import Workers
from sanitizer.results import Left, Replacement, SanitizedText
from sanitizer.risk.advice import NO_NOISE, Risk, RiskMeter
from sanitizer.risk.classes import ClassMeter
from sanitizer.storage.vault import MemoryVault
from sanitizer.text.policy import DRAWN, ELIGIBLE, PRESETS, Policy
from sanitizer.text.prompt import DeclaredText
from sanitizer.text.words import WORD_KINDS, word_spans
from sanitizer.urls import is_loopback

Json = dict[str, Any]
Drawing = tuple[str, float]  # a mechanism's name and its epsilon

PAGE = Path(__file__).parent / "page"
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
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

EPSILON_MIN, EPSILON_MAX = 1.0, 12.0
MAX_CHARS = 100_000
MAX_PHRASES, MAX_PHRASE = 200, 300
"""Phrases of each list, and characters of a phrase."""
MAX_SETTINGS = 8
"""Pairs of mechanism and epsilon kept ready, each with its own risk meter."""
MAX_CONVERSATIONS = 100
MAX_REMEMBERED = 1000
"""Messages of previews."""
MAX_LEFT = 100
"""Texts of a conversation that left, the last ones."""
MAX_NAME = 200
"""Characters of a model's name."""
_MECHANISMS: dict[str, Callable[[float], WordMechanism]] = {"cape": Cape, "dyntext": DynText}


# ---- what the page asks for ----


@dataclass(frozen=True)
class Wish:
    """One valid request of the page.

    Attributes:
        epsilon: per private word, in nats.
        keep, hide: phrases that leave as they are, or go to the vault wherever they occur.
        answer: answer of a model, sent for or pasted, to be restored.
        model: name of the model that is asked; "" until one is named.
    """

    text: str = field(repr=False)
    policy: str
    mechanism: str
    epsilon: float
    keep: tuple[str, ...] = field(default=(), repr=False)
    hide: tuple[str, ...] = field(default=(), repr=False)
    answer: str = field(default="", repr=False)
    model: str = ""

    @classmethod
    def of(cls, given: Json, policies: list[str]) -> Wish:
        """Read a request. Raises RequestRefused, which names the field and not its value."""
        text = _text(given, "text", "a text")
        answer = _text({"answer": "", **given}, "answer", "an answer")
        policy, mechanism = given.get("policy"), given.get("mechanism")
        _require(policy in policies, f"policy must be one of {', '.join(policies)}")
        # A list, since JSON may hold values that cannot be looked up in a dictionary.
        known = list(_MECHANISMS)
        _require(mechanism in known, f"mechanism must be one of {', '.join(known)}")
        epsilon = given.get("epsilon", 0)
        # `type`, since True and False are of class int too.
        fits = type(epsilon) in (int, float) and EPSILON_MIN <= epsilon <= EPSILON_MAX
        _require(fits, f"epsilon must be from {EPSILON_MIN:g} to {EPSILON_MAX:g}")
        keep, hide = _phrases(given, "keep"), _phrases(given, "hide")
        model = given.get("model", "")
        fits = isinstance(model, str) and len(model) <= MAX_NAME and model.isprintable()
        _require(fits, f"model must be a name of at most {MAX_NAME} printable characters")
        name, epsilon = model.strip(), float(epsilon)
        return cls(text, str(policy), str(mechanism), epsilon, keep, hide, answer, name)


def _require(condition: bool, told: str) -> None:
    if not condition:
        raise RequestRefused(told, "field")


def _text(given: Json, name: str, what: str) -> str:
    text = given.get(name)
    if not isinstance(text, str):
        raise RequestRefused(f"{name} must be a string", "field")
    if len(text) > MAX_CHARS:
        told = f"{what} on the page may have at most {MAX_CHARS} characters"
        raise RequestRefused(told, "size", 413)
    return text


def _phrases(given: Json, name: str) -> tuple[str, ...]:
    phrases = given.get(name, [])
    fits = isinstance(phrases, list) and len(phrases) <= MAX_PHRASES
    _require(fits, f"{name} must be a list of at most {MAX_PHRASES} phrases")
    told = f"must be a string with a word, and of at most {MAX_PHRASE} characters"
    for each in phrases:
        fits = isinstance(each, str) and len(each) <= MAX_PHRASE and any(word_spans(each))
        _require(fits, f"a phrase of {name} {told}")
    return tuple(dict.fromkeys(phrase.strip() for phrase in phrases))


class Turn(NamedTuple):
    """One message of a conversation and its answer.

    Attributes:
        wish: what the person wrote, and how it was treated. result: what left of it.
        note: what the model was told behind it. answer: as it came.
    """

    wish: Wish
    result: SanitizedText
    note: str
    answer: str


@dataclass
class Shown:
    """What a page shows again after a reload; it holds originals.

    Attributes:
        wish: the last one.
        left: texts that left, each once, the oldest first, and when, in seconds since 1970.
        turns: what was sent and answered, the oldest first.
    """

    wish: Wish | None = None
    left: list[tuple[float, SanitizedText]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)


class PageSanitizers:
    """Sanitizers for settings of the page, which share a vault in memory. Safe for many threads."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._first = sanitizer.derive(vault=MemoryVault(max_messages=MAX_REMEMBERED))
        self._drawing: LastUsed[Drawing, tuple[Sanitizer, RiskMeter]] = LastUsed(MAX_SETTINGS)
        self._class_meters: LastUsed[Drawing, ClassMeter] = LastUsed(MAX_SETTINGS)
        self._charged: LastUsed[str, Sanitizer] = LastUsed(MAX_CONVERSATIONS)
        self.corrections = self._first.corrections

    def charged(self, conversation: str, wish: Wish) -> Sanitizer:
        """Return the Sanitizer whose budget a copy is charged to."""
        derive = partial(self._first.derive, conversation=conversation)
        base = self._charged.get(conversation, derive)
        return base.derive(policy=self._policy(wish), mechanism=self._mechanism(wish))

    def preview(self, conversation: str, wish: Wish) -> tuple[Sanitizer, RiskMeter | None]:
        """Return a Sanitizer that draws without a charge, and the meter of its risk.

        The meter is None for a policy without noise. Raises ModelError.
        """
        policy = self._policy(wish)
        settings: Json = {"conversation": conversation, "policy": policy, "charged": False}
        if not policy.perturb:
            return self._first.derive(**settings), None

        def load() -> tuple[Sanitizer, RiskMeter]:
            loaded = self._first.derive(policy="strict", mechanism=self._mechanism(wish))
            return loaded, RiskMeter(loaded)

        base, meter = self._drawing.get((wish.mechanism, wish.epsilon), load)
        return base.derive(mechanism=base.mechanism, **settings), meter

    def risk(
        self, preview: Sanitizer, meter: RiskMeter | None, wish: Wish, result: SanitizedText
    ) -> Risk:
        """Return what a guesser gets right of a result of `preview`."""
        if meter is not None:
            return meter.measure(preview, DeclaredText.of(wish.text, wish.keep))
        if not preview.policy.reads_models:
            return Risk(1.0, 1.0, NO_NOISE)
        key, draws = (preview.mechanism.name, preview.mechanism.epsilon), preview.inner.class_draws
        return self._class_meters.get(key, lambda: ClassMeter(draws)).measure(result)

    def needed(self, conversation: str, wish: Wish, result: SanitizedText) -> list[Left]:
        """Return what of a text is hidden though the request seems to need it, if a detector reads.

        It is what "balanced" would leave of the text alone; no table is changed.
        """
        kinds = {each.kind for each in result.replacements}
        if result.record.detector == "none" or ELIGIBLE.isdisjoint(kinds):
            return []
        rules = replace(self._policy(replace(wish, policy="balanced")), leave_at_most=MAX_CHARS)
        settings: Json = {"policy": rules, "vault": MemoryVault(), "charged": False}
        alone = self._first.derive(conversation=conversation, **settings)
        found = alone.sanitize(wish.text, keep=wish.keep).left
        return [each for each in found if each not in result.left]

    def _policy(self, wish: Wish) -> Policy:
        """Return the proxy's own policy if it has the name that was asked for, else the preset.

        The phrases that are to be hidden are among its known values.
        """
        own = self._first.policy
        policy = own if wish.policy == own.name else Policy.preset(wish.policy)
        return replace(policy, values=policy.values | set(wish.hide)) if wish.hide else policy

    def _mechanism(self, wish: Wish) -> WordMechanism:
        """Return the proxy's own mechanism if name and epsilon agree, else one with defaults."""
        own = self._first.mechanism
        if (own.name, own.epsilon) == (wish.mechanism, wish.epsilon):
            return own
        return _MECHANISMS[wish.mechanism](wish.epsilon)

    def settings(self) -> Json:
        """Return what the page may choose from, and what is chosen at first."""
        own, policy = self._first.mechanism, self._first.policy.name
        limits = {"epsilon_min": EPSILON_MIN, "epsilon_max": EPSILON_MAX, "max_chars": MAX_CHARS}
        return limits | {
            "policies": list(dict.fromkeys([*PRESETS, policy])),
            "policy": policy,
            "mechanisms": list(_MECHANISMS),
            "mechanism": own.name,
            "epsilon": min(max(own.epsilon, EPSILON_MIN), EPSILON_MAX),
            "remembers": self.corrections is not None,
        }


# ---- what it is told ----


def known_words(text: str, result: SanitizedText, guessed: float | None) -> Json:
    """Return how many words of a text its reader has or guesses, over all words of the text.

    The denominator is the same under every setting, so that settings can be compared.

    Args:
        text: the original.
        guessed: probability that the best guess at a drawn thing is right; None if unknown.

    Returns:
        total: words of the text; shown: those that leave as they are; expected: of the drawn
        words, how many a best guess gets right on average, None if that is not known; low, high:
        where that number lies in 95 of 100 texts like this one, each drawn thing being guessed by
        itself.
    """
    hidden = [each for each in result.replacements if each.kind != "article"]
    drawn, total = [each for each in hidden if _is_drawn(each)], len([*word_spans(text)])
    n_drawn = sum(len([*word_spans(each.original)]) for each in drawn)
    shown = max(0, total - sum(len([*word_spans(each.original)]) for each in hidden))
    expected, low, high = None, 0.0, float(n_drawn)
    if guessed is not None:
        n = len({(each.kind, each.original.casefold()) for each in drawn})
        expected, each_words = guessed * n_drawn, n_drawn / n if n else 0.0
        low, high = (each_words * end for end in binomial_range(n, guessed))
    return {"total": total, "shown": shown, "expected": expected, "low": low, "high": high}


def _is_drawn(replacement: Replacement) -> bool:
    """Return True for what a mechanism drew: a word, or a member of a class, but no number."""
    kind, placed = replacement.kind, replacement.replacement.startswith("<")
    return kind == "word" or (kind in DRAWN and not placed)


def binomial_range(n: int, p: float) -> tuple[int, int]:
    """Return the smallest range that leaves at most 2.5 % of a binomial count on either side.

    >>> binomial_range(3, 0.05), binomial_range(100, 0.5), binomial_range(0, 0.5)
    ((0, 1), (40, 60), (0, 0))
    """
    if n > 1000:  # the normal distribution is near enough, and powers would vanish
        half = 1.96 * sqrt(n * p * (1 - p))
        return max(0, floor(n * p - half)), min(n, ceil(n * p + half))
    below = np.cumsum([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
    return int(np.searchsorted(below, 0.025, "right")), min(n, int(np.searchsorted(below, 0.975)))


# ---- the endpoints ----


class PageApi:
    """Endpoints of the page; JSON in, JSON out. What is sent from it goes to the upstream."""

    def __init__(
        self,
        sanitizer: Sanitizer,
        settings: ProxySettings,
        conversations: Conversations,
        metrics: Metrics,
        upstream: Upstream,
    ) -> None:
        self._sanitizers = PageSanitizers(sanitizer)
        self._settings, self._metrics = settings, metrics
        self._conversations, self._upstream = conversations, upstream
        self._of = partial(LastUsed[str, Shown](MAX_CONVERSATIONS).get, make=Shown)
        self._steps: LastUsed[str, list[int]] = LastUsed(MAX_CONVERSATIONS)  # done, of how many
        # One thread: previews wait for each other, and the API never waits for them. A preview
        # whose client has left is dropped before it begins, or between two steps.
        self._workers = Workers(may_block=True, threads=1)
        self._restorers = Workers(may_block=True, threads=1)

    def routes(self) -> list[Route]:
        """Return the routes of the page: its files, read once, and its endpoints."""
        asked = (self.settings, self.state, self.progress)
        drawn = (self.draft, self.preview, self.copy, self.send)
        others = (self.models, self.restore, self.release, self.remember)
        return [
            *(_file(path) for path in sorted(PAGE.iterdir()) if path.suffix[1:] in _TYPES),
            *(Route(f"/page/{each.__name__}", each) for each in asked),
            *(Route(f"/page/{each.__name__}", each, methods=["POST"]) for each in drawn + others),
        ]

    async def settings(self, request: Request) -> Response:
        """Answer with what the page may choose from, and where it sends to."""
        parts, settings = urlsplit(self._settings.upstream), self._sanitizers.settings()
        there = {"upstream": parts.netloc, "upstream_is_local": is_loopback(parts.hostname or "")}
        return json_answer(settings | there | {"needs_key": self._settings.key is None})

    async def state(self, request: Request) -> Response:
        """Answer with what the page showed before it was loaded again."""
        conversation = self._conversations.holder(request.state.headers).plain

        def told() -> Json:
            own = self._of(conversation)
            wish = asdict(own.wish) if own.wish else None
            left = [{"at": at, "text": s.text, "record": s.record.as_dict()} for at, s in own.left]
            return {"wish": wish, "left": left, "turns": self._turns(conversation)}

        return await answered(self._restorers.run(0, told), request)

    async def progress(self, request: Request) -> Response:
        """Answer with how many steps of how many are done for the text that is awaited."""
        name = self._conversations.holder(request.state.headers).plain
        done, total = self._steps.get(name, lambda: [0, 0])
        return json_answer({"done": done, "total": total})

    async def draft(self, request: Request) -> Response:
        """Keep in memory what was typed, for a reload; nothing else happens to it."""
        await self._wish(request)
        return json_answer({})

    async def preview(self, request: Request) -> Response:
        """Answer with the text that would leave; nothing is charged, since nothing has left."""
        return await self._drawn(request, charged=False)

    async def copy(self, request: Request) -> Response:
        """Answer with the text of the preview, charged, since it is about to leave."""
        return await self._drawn(request, charged=True)

    async def send(self, request: Request) -> Response:
        """Answer with the text of the preview, charged and sent, and what the model answered.

        The text leaves behind the turns before it, all as they left and came, with a note on
        placeholders. Nothing is charged before an API answers at the address and takes the key;
        what goes wrong later is told in `failed`. `turn`, if given, is the number of the turn that
        is sent again: it and what follows it are forgotten once it is answered.
        """
        conversation, wish, given = await self._wish(request)
        _require(bool(wish.model), "model must be given")
        api, own = self._chat_api(given), self._of(conversation)
        turn = given.get("turn", len(own.turns))
        fits = type(turn) is int and 0 <= turn <= len(own.turns)
        _require(fits, "turn must be the number of a turn")
        release = partial(self._released, conversation, wish, charged=True)

        async def sent() -> Json:
            await api.models()
            before = own.turns[:turn]
            result, shown = await self._workers.run(0, release)
            texts = [each for t in before for each in (t.result.text + t.note, t.answer)]
            # Once in a conversation, so that an API's cache holds.
            new = [each for each in shown["notes"] if not any(each in t.note for t in before)]
            note = "".join(f"\n\n{each}" for each in new if each)
            try:
                said, failed = await api.answer(wish.model, [*texts, shown["text"] + note])
            except UpstreamError as error:
                said, failed = "", str(error)
            if said:
                own.turns = [*before, Turn(wish, result, note, said)][-MAX_LEFT:]
                own.wish = replace(wish, text="", answer="")
            turns = await self._restorers.run(0, lambda: self._turns(conversation))
            return shown | {"turns": turns, "failed": failed}

        return await answered(sent(), request)

    async def models(self, request: Request) -> Response:
        """Answer with the names of the API's models."""
        api = self._chat_api((await self._asked(request))[1])
        return json_answer({"models": await while_client_waits(api.models(), request.receive)})

    async def restore(self, request: Request) -> Response:
        """Answer with the model's answer, originals put back by the conversation's table."""
        conversation, wish, _ = await self._wish(request)
        work = self._restorers.run(0, lambda: self._restored(conversation, wish))
        return await answered(work, request)

    async def release(self, request: Request) -> Response:
        """Let values leave, or keep them hidden, that the answer asks for."""
        conversation, wish, given = await self._wish(request)
        chosen = given.get("chosen")
        fits = isinstance(chosen, list) and all(isinstance(each, str) for each in chosen)
        _require(fits, "chosen must be a list of placeholders")

        def decided() -> Json:
            inner = self._sanitizers.charged(conversation, wish).inner
            needs = inner.answers.needs(wish.answer)
            return {"released": inner.answers.decide(wish.text, needs, chosen or ())}

        return await answered(self._restorers.run(0, decided), request)

    async def remember(self, request: Request) -> Response:
        """Keep a phrase hidden or visible in every text to come, or forget it, on this machine."""
        _, given = await self._asked(request)
        treatment = given.get("treatment")
        known = ["hide", "keep", "forget"]
        _require(treatment in known, f"treatment must be one of {', '.join(known)}")
        (phrase,) = _phrases({"phrase": [given.get("phrase")]}, "phrase")
        fits = treatment != "keep" or any(map(str.isalpha, phrase))
        _require(fits, "a phrase to keep must contain a letter")
        if (memories := self._sanitizers.corrections) is None:
            raise RequestRefused("this proxy has no file of corrections", "field")
        add = partial(memories.own.add, treatment=str(treatment))
        change = memories.own.remove if treatment == "forget" else add
        work = self._restorers.run(0, lambda: {"changed": change([phrase]) > 0})
        return await answered(work, request)

    def _chat_api(self, given: Json) -> ChatApi:
        key = given.get("key") or None
        # As headers need it.
        fits = key is None or (isinstance(key, str) and re.fullmatch(r"[!-~]{1,500}", key))
        _require(bool(fits), "key must be visible ASCII without spaces")
        return ChatApi(self._upstream, self._settings.key or key)

    async def _asked(self, request: Request) -> tuple[str, Json]:
        """Return the conversation, and what a request in JSON gives."""
        headers: dict[str, str] = request.state.headers
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefused("content-type must be application/json", "content_type", 415)
        given, _ = await read_json(request, self._settings)
        return self._conversations.holder(headers).plain, given

    async def _wish(self, request: Request) -> tuple[str, Wish, Json]:
        """Return the conversation, the wish, which is kept for a reload, and all that is given."""
        conversation, given = await self._asked(request)
        wish = self._of(conversation).wish = Wish.of(given, self._sanitizers.settings()["policies"])
        return conversation, wish, given

    async def _drawn(self, request: Request, charged: bool) -> Response:
        conversation, wish, _ = await self._wish(request)
        steps = self._steps.get(conversation, lambda: [0, 0])

        def note(done: int, total: int, charged: bool) -> None:
            steps[:] = done, total

        def watched() -> Json:
            with reported_to(note):
                return self._released(conversation, wish, charged)[1]

        try:
            return await answered(self._workers.run(0, watched), request)
        finally:
            steps[:] = 0, 0

    def _released(self, conversation: str, wish: Wish, charged: bool) -> tuple[SanitizedText, Json]:
        """Return what leaves, or would leave, and what is told of it."""
        preview, meter = self._sanitizers.preview(conversation, wish)
        paying = self._sanitizers.charged(conversation, wish)
        # Unless each word is drawn, what a preview draws is for the preview's table only.
        shows_preview = not charged or paying.policy.perturb
        result = (preview if shows_preview else paying).sanitize(wish.text, keep=wish.keep)
        if charged and shows_preview:
            result = paying.adopt(wish.text, result, keep=wish.keep)
        if charged:
            self._metrics.epsilon.inc(result.record.charged)
            own = self._of(conversation)
            if all(result.text != each.text for _, each in own.left):
                own.left = [*own.left, (time.time(), result)][-MAX_LEFT:]
        risk = self._sanitizers.risk(preview, meter, wish, result)
        inner = paying.inner
        left = inner.vault.originals(inner.conversation)
        replacements = [
            each.as_dict(reveal=True) | {"drawn": _is_drawn(each), "left": each.replacement in left}
            for each in result.replacements
        ]
        needed = [] if charged else self._sanitizers.needed(conversation, wish, result)
        return result, result.as_dict() | {
            "replacements": replacements,
            "needed": [asdict(each) for each in needed],
            "notes": [inner.answers.note([result]), inner.answers.instruction([result])],
            "budget": {"spent": paying.spent, "left": paying.budget_left},
            "risk": risk.as_dict() | {"words": known_words(wish.text, result, risk.expected)},
        }

    def _turns(self, conversation: str) -> list[Json]:
        """Return the turns as the person reads them, and beside them what left."""
        return [
            {"wrote": t.wish.text, "sent": t.result.text, "note": t.note.strip()}
            | {"answer": t.answer}
            | self._restored(conversation, replace(t.wish, answer=t.answer))
            for t in self._of(conversation).turns
        ]

    def _restored(self, conversation: str, wish: Wish) -> Json:
        sanitizer = self._sanitizers.charged(conversation, wish)
        left = [each for _, each in self._of(conversation).left]
        restored = sanitizer.restore(wish.answer, left)
        restorer = sanitizer.inner.answers.restorer(left, capitals=True)
        parts = [(restored, None)] if restored.extracted else restorer.parts(wish.answer)[0]
        originals = restorer.originals
        return {
            "parts": [
                # What the answer asks for is shown as it came.
                {"text": text, "original": None if text == original else original}
                for text, original in parts
            ],
            "notes": [{"told": told, "wrote": originals[told]} for told in originals.drawn],
            "words_stay": any(each.record.mechanism != "none" for each in left)
            and any(r.kind in WORD_KINDS for each in left for r in each.replacements),
            "needs": [need._asdict() for need in sanitizer.needs(wish.answer)],
            "left": len(left),
        }

    def close(self) -> None:
        """Drop the previews that wait."""
        self._workers.close()
        self._restorers.close()


def _file(path: Path) -> Route:
    content, media_type = path.read_bytes(), _TYPES[path.suffix[1:]]

    async def show(request: Request) -> Response:
        return Response(content, media_type=media_type, headers=_PAGE_HEADERS)

    return Route("/" if path.name == "index.html" else f"/page/{path.name}", show)
