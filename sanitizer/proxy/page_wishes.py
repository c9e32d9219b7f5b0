"""What the page asks for, and what it is asked with: wishes, settings, and the conversation so far.

All of it is in memory only: what is typed, half a sentence at a time, never reaches the disk.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sanitizer.errors import RequestRefused
from sanitizer.pipeline import Sanitizer, WordMechanism
from sanitizer.privacy import Cape, DynText
from sanitizer.results import SanitizedText
from sanitizer.risk import RiskMeter
from sanitizer.storage import MemoryVault
from sanitizer.text import PRESETS, Policy, word_spans

Key = TypeVar("Key")
Value = TypeVar("Value")

EPSILON_MIN, EPSILON_MAX = 1.0, 12.0
MAX_CHARS = 100_000
MAX_PHRASES, MAX_PHRASE = 200, 300  # phrases of each list, characters of a phrase
MAX_SETTINGS = 8  # pairs of mechanism and epsilon kept ready, each with its own risk meter
MAX_CONVERSATIONS = 100
MAX_REMEMBERED = 1000  # messages of previews
MAX_LEFT = 100  # texts of a conversation that left, the last ones
MAX_NAME = 200  # characters of a model's name
_MECHANISMS: dict[str, Callable[[float], WordMechanism]] = {"cape": Cape, "dyntext": DynText}


@dataclass(frozen=True)
class Wish:
    """One valid request of the page.

    Attributes:
        text: what was typed.
        policy: name of the policy.
        mechanism: name of the mechanism.
        epsilon: epsilon per private word, in nats.
        keep: phrases that leave as they are.
        hide: phrases that go to the vault wherever they occur.
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
    def of(cls, body: bytes, policies: list[str]) -> Wish:
        """Read a request from its body.

        Raises:
            RequestRefused: 400 or 413, naming the field and not its value.
        """
        values = _fields(body)
        policy, mechanism = values.get("policy"), values.get("mechanism")
        epsilon = values.get("epsilon", 0)
        text, answer = _text(values, "text", "a text"), _text(values, "answer", "an answer", "")
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
        keep, hide = _phrases(values, "keep"), _phrases(values, "hide")
        model = _model(values)
        return cls(text, str(policy), str(mechanism), float(epsilon), keep, hide, answer, model)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, those that `of` reads."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Correction:
    """A phrase that is to be hidden or kept in every text from now on, or neither.

    Attributes:
        phrase: as it is written. treatment: "hide", "keep" or "forget".
    """

    phrase: str = field(repr=False)
    treatment: str

    @classmethod
    def of(cls, body: bytes) -> Correction:
        """Read a request from its body.

        Raises:
            RequestRefused: 400, naming the field and not its value.
        """
        values = _fields(body)
        if values.get("treatment") not in ("hide", "keep", "forget"):
            raise RequestRefused("treatment must be one of hide, keep, forget", "field")
        (phrase,) = _phrases({"phrase": [values.get("phrase")]}, "phrase")
        if values["treatment"] == "keep" and not any(c.isalpha() for c in phrase):
            raise RequestRefused("a phrase to keep must hold a letter", "field")
        return cls(phrase, values["treatment"])


def key_of(body: bytes) -> str | None:
    """Return the key of the API that a request of the page brings along; None without one.

    Raises:
        RequestRefused: 400, never quoting the key.
    """
    key = _fields(body).get("key") or None
    # As headers need it.
    if key is not None and not (isinstance(key, str) and re.fullmatch(r"[!-~]{1,500}", key)):
        raise RequestRefused("key must be visible ASCII without spaces", "field")
    return key


def _fields(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestRefused("malformed JSON", "json") from None
    if not isinstance(values, dict):
        raise RequestRefused("a request must be a JSON object", "field")
    return values


def _model(values: dict[str, Any]) -> str:
    model = values.get("model", "")
    if not (isinstance(model, str) and len(model) <= MAX_NAME and model.isprintable()):
        raise RequestRefused(
            f"model must be a name of at most {MAX_NAME} printable characters", "field"
        )
    return model.strip()


def _text(values: dict[str, Any], name: str, what: str, default: str | None = None) -> str:
    text = values.get(name, default)
    if not isinstance(text, str):
        raise RequestRefused(f"{name} must be a string", "field")
    if len(text) > MAX_CHARS:
        raise RequestRefused(
            f"{what} on the page may have at most {MAX_CHARS} characters", "size", 413
        )
    return text


def _phrases(values: dict[str, Any], name: str) -> tuple[str, ...]:
    phrases = values.get(name, [])
    if not isinstance(phrases, list) or len(phrases) > MAX_PHRASES:
        raise RequestRefused(f"{name} must be a list of at most {MAX_PHRASES} phrases", "field")
    for phrase in phrases:
        if not isinstance(phrase, str) or len(phrase) > MAX_PHRASE or not any(word_spans(phrase)):
            raise RequestRefused(
                f"a phrase of {name} must be a string with a word, and of at most {MAX_PHRASE} "
                "characters",
                "field",
            )
    return tuple(dict.fromkeys(phrase.strip() for phrase in phrases))


@dataclass(frozen=True)
class Left:
    """A text that left the machine: it was charged, and copied by the page.

    Attributes:
        at: when, in seconds since 1970. result: what left.
    """

    at: float
    result: SanitizedText

    def as_dict(self) -> dict[str, Any]:
        """Return plain values without originals: what left, and its record."""
        return {
            "at": self.at,
            "text": self.result.text,
            "record": self.result.record.as_dict(),
        }


class Memory:
    """What a page shows again after a reload: the last wish, and what left. Safe for threads.

    It holds originals, in memory only. Of many conversations, the last used are kept.
    """

    def __init__(self) -> None:
        self._wishes: OrderedDict[str, Wish] = OrderedDict()
        self._left: OrderedDict[str, list[Left]] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, conversation: str, wish: Wish) -> None:
        """Keep the last wish of a conversation."""
        with self._lock:
            self._wishes[conversation] = wish
            self._wishes.move_to_end(conversation)
            if len(self._wishes) > MAX_CONVERSATIONS:
                self._wishes.popitem(last=False)

    def wish(self, conversation: str) -> Wish | None:
        """Return the last wish of a conversation."""
        with self._lock:
            return self._wishes.get(conversation)

    def add_left(self, conversation: str, left: Left) -> None:
        """Note that a text left; the same text is noted once."""
        with self._lock:
            all_left = kept(self._left, conversation, MAX_CONVERSATIONS, list)
            if left.result.text not in [each.result.text for each in all_left]:
                all_left.append(left)
                del all_left[:-MAX_LEFT]

    def left(self, conversation: str) -> list[Left]:
        """Return what left in a conversation, the oldest first."""
        with self._lock:
            return list(self._left.get(conversation, []))


class PageSanitizers:
    """Sanitizers for the settings chosen on the page, a few of them kept. Safe for many threads.

    They share a vault in memory.
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
            base = kept(
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
            base, meter = kept(
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
        """Return the proxy's own policy if it has the name that was asked for, else the preset.

        The phrases that are to be hidden are among its known values.
        """
        own = self._first.policy
        policy = own if wish.policy == own.name else Policy.preset(wish.policy)
        return replace(policy, values=policy.values | set(wish.hide)) if wish.hide else policy

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
            "max_chars": MAX_CHARS,
            "max_phrase": MAX_PHRASE,
            "remembers": self._first.corrections is not None,
        }

    def remember(self, correction: Correction) -> bool:
        """Keep a correction for good, in the user's own memory; return whether it changed.

        Raises:
            RequestRefused: the proxy has no memory.
            VaultError: it cannot be written.
        """
        memories = self._first.corrections
        if memories is None:
            raise RequestRefused("this proxy has no memory of corrections", "field")
        if correction.treatment == "forget":
            return memories.own.remove([correction.phrase]) > 0
        return memories.own.add([correction.phrase], correction.treatment) > 0


def kept(cache: OrderedDict[Key, Value], key: Key, most: int, make: Callable[[], Value]) -> Value:
    """Return a value of the cache, made if needed; keep the `most` that were used last."""
    if key not in cache:
        cache[key] = make()
        if len(cache) > most:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return cache[key]
