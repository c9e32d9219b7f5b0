"""Random request bodies with identifiers planted at every position, and mutations of them.

Everything is invented or random; equal seeds give equal bodies. What bodies look like, bodies.json
says, a rule a line. In a rule "$text" stands for what the function `text` makes, or for another
rule; `$any` for one of a list; `$some` for a list of up to `most`; an object has the fields of
`$more` too, and some of `$chosen`, each with probability `$share`.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

RULES: dict[str, Any] = json.loads(Path(__file__).with_name("bodies.json").read_text("utf-8"))
ENDPOINTS = tuple(name for name in RULES if name.startswith("/"))
SURE = ("CARD", "EMAIL", "IBAN", "SSN")
"""Kinds whose form alone is proof: they may stand at any position at all."""
OTHERS = ("KEY", "IP", "MAC", "PHONE", "URL")
"""Kinds that are planted where words or names of machines would stand."""
WORDS = (
    "please the answer is about our order and write to them again with thanks for all of this "
    "when it comes back, call me: note; reply (soon) as before. Elena Marsh Leeds hepatitis 7 "
    "total= user: \u00e9t\u00e9 \U0001f642 \u4e2d\u6587 {x} <b> [1] \\n \u201cso\u201d"
).split(" ")
NAMES = ("look_up", "send-mail", "city", "crm", "call_1", "gpt-4o-2024-08-06", "text", "user")
T = TypeVar("T")
_LETTERS = string.ascii_letters + string.digits
_WIDE = {ord(digit): ord(digit) + 0xFEE0 for digit in string.digits}
"""Digits -> their full-width forms."""


@dataclass(frozen=True)
class Planted:
    """An identifier of a body.

    Attributes:
        kind: of `SURE` or `OTHERS`. text: as it is written by itself; not shown by `repr`.
    """

    kind: str
    text: str

    def __repr__(self) -> str:
        return f"Planted({self.kind})"


@dataclass(frozen=True)
class Body:
    """A request.

    Attributes:
        path: of an endpoint. document: the body before it is written.
        planted: what must not leave. mutated: whether it was changed after it was well formed.
    """

    path: str
    document: Any
    planted: tuple[Planted, ...]
    mutated: bool = False


def luhn(digits: str) -> str:
    """Return digits with their check digit."""
    doubled = [int(d) * (2 if i % 2 == 0 else 1) for i, d in enumerate(reversed(digits))]
    return digits + str(-sum(d // 10 + d % 10 for d in doubled) % 10)


class Bodies:
    """Iterator over random bodies.

    Args:
        seed: equal seeds give equal bodies.
        endpoints: paths of the requests.
    """

    def __init__(self, seed: int, endpoints: tuple[str, ...] = ENDPOINTS) -> None:
        self.random = random.Random(seed)
        self._endpoints = endpoints
        self._planted: list[Planted] = []
        self._anywhere = False

    def __iter__(self) -> Iterator[Body]:
        while True:
            yield self.body()

    def body(self) -> Body:
        """Return the next body; a third of them are mutated."""
        self._planted = []
        # Identifiers of sure kinds may stand at any position; the others only where text may.
        self._anywhere = self._chance(0.5)
        path = self._one(self._endpoints)
        document = self.made(RULES[path])
        if mutated := self._anywhere and self._chance(0.6):
            for _ in range(self.random.randint(1, 3)):
                document = self._mutated(document)
        return Body(path, document, tuple(self._planted), mutated)

    def planted(self) -> Planted:
        """Return a new identifier, or one of this body again."""
        if self._planted and self._chance(0.3):
            return self._one(self._planted)
        kind = self._one(SURE if self._anywhere else (*SURE, *OTHERS))
        new = Planted(kind, _IDENTIFIERS[kind](self.random))
        self._planted.append(new)
        return new

    def text(self) -> str:
        """Return words, often with an identifier, plain or encoded."""
        words = [self._one(WORDS) for _ in range(self.random.randint(0, 6))]
        while self._chance(0.5):
            words.insert(self.random.randint(0, len(words)), self._written(self.planted()))
        return self._one((" ", " ", "\n", "  ")).join(words)

    def name(self) -> str:
        """Return what stands where the API wants a name; rarely an identifier."""
        if self._anywhere and self._chance(0.03):
            return self._written(self.planted())
        return self._one(NAMES)

    def key(self) -> str:
        """Return the key of an object."""
        if self._chance(0.1):
            return self.planted().text
        return self._one((*NAMES, "a", "long name", "e-mail", "brand_new_field", ""))

    def tree(self, depth: int = 3) -> Any:
        """Return free JSON."""
        if depth == 0 or self._chance(0.4):
            leaf = self._one(("text", "text", "number", "literal"))
            return self._one(_LITERALS) if leaf == "literal" else getattr(self, leaf)()
        if self._chance(0.4):
            return [self.tree(depth - 1) for _ in range(self.random.randint(0, 3))]
        return {self.key(): self.tree(depth - 1) for _ in range(self.random.randint(0, 3))}

    def number(self) -> Any:
        """Return a number; sometimes that of a card."""
        if self._chance(0.15):
            card = Planted("CARD", _IDENTIFIERS["CARD"](self.random).replace(" ", ""))
            card = Planted("CARD", card.text.replace("-", ""))
            self._planted.append(card)
            return int(card.text)
        return self._one((0, -1, 0.5, 1e5, 42, 1.5e-7, 10**20, 2_000))

    def arguments(self) -> str:
        """Return arguments of a tool: JSON in a string, now and then none."""
        written = json.dumps(self.tree())
        return self._one((written, written, written, self.text(), written[:-1]))

    def made(self, form: Any) -> Any:
        """Return a value by a rule."""
        if isinstance(form, str) and form.startswith("$"):
            rule = RULES.get(form[1:])
            return getattr(self, form[1:])() if rule is None else self.made(rule)
        if isinstance(form, list):
            return [self.made(each) for each in form]
        if not isinstance(form, dict):
            return form
        if "$any" in form:
            return self.made(self._one(form["$any"]))
        if "$some" in form:
            n = self.random.randint(0, form.get("most", 3))
            return [self.made(form["$some"]) for _ in range(n)]
        fields = {key: value for key, value in form.items() if key[0] != "$"}
        if "$key" in form:
            fields[self.key()] = form["$key"]
        share = form.get("$share", 0.3)
        fields |= {k: v for k, v in form.get("$chosen", {}).items() if self._chance(share)}
        found = {key: self.made(value) for key, value in fields.items()}
        return found | (self.made(form["$more"]) if "$more" in form else {})

    def spelled(self, document: Any) -> tuple[bytes, bool]:
        """Return a body as bytes, with escapes or without, and whether some are damaged."""
        ascii_only, gaps = self._chance(0.5), self._one((None, 1, 2))
        text = json.dumps(document, ensure_ascii=ascii_only, indent=gaps)
        raw = text.encode("utf-8", "surrogatepass")
        return (self._damaged(raw), True) if self._chance(0.1) else (raw, False)

    def _written(self, planted: Planted) -> str:
        """Return an identifier as it is, with signs around it, or encoded as a whole."""
        text = planted.text
        if self._chance(0.75):
            return self._one(("{}", "{}", "{}", "({})", '"{}"', "<{}>", "{},", "{}.")).format(text)
        raw = text.encode()
        encodings: tuple[Callable[[], str], ...] = (
            lambda: base64.b64encode(raw).decode().rstrip("="),
            lambda: base64.urlsafe_b64encode(raw).decode().rstrip("="),
            raw.hex,
            lambda: text.replace("@", "%40"),
            lambda: text.replace("@", "&#64;"),
            lambda: quote(text, safe="") if planted.kind in SURE else text,
            lambda: text.translate(_WIDE) if planted.kind in SURE else text,
        )
        return self._one(encodings)()

    def _mutated(self, document: Any) -> Any:
        """Return a document of which one part is moved, doubled, wrapped, renamed or replaced."""
        document = copy.deepcopy(document)
        places = list(_places(document))
        if not places:
            return self.tree()
        holder, key = self._one(places)
        value = holder[key]
        how = self.random.randrange(8)
        if how == 0:
            other, at = self._one(places)
            holder[key], other[at] = copy.deepcopy(other[at]), copy.deepcopy(value)
        elif how == 1:
            holder[key] = [value, copy.deepcopy(value)]
        elif how == 2:
            holder[key] = {self.key(): value}
        elif how == 3 and isinstance(holder, dict):
            holder[self.key()] = holder.pop(key)
        elif how == 4:
            holder[key] = self.tree()
        elif how == 5:
            holder[key] = self._one(_LITERALS)
        elif how == 6:
            holder[key] = json.dumps(value)
        else:
            del holder[key]
        return document

    def _damaged(self, raw: bytes) -> bytes:
        """Return bytes of which a few are cut out, doubled or replaced."""
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(raw) + 1)
            end = min(len(raw), at + self._one((0, 1, 1, 2, 8)))
            new = self._one(
                (b"", b"", b"\x00", b'"', b"}", b"\xff", b",", b"\\u00", raw[at:end] * 2)
            )
            raw = raw[:at] + new + raw[end:]
        return raw

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _one(self, of: Sequence[T]) -> T:
        return self.random.choice(of)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield holders and keys of everything in a document."""
    items: Any = ()
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    for key, value in items:
        yield document, key
        yield from _places(value)


_LITERALS: tuple[Any, ...] = (None, True, False, "", [], {}, 0, "x", "\ud800", "\x00")


def _email(source: random.Random) -> str:
    user = "".join(source.choices(string.ascii_lowercase, k=source.randint(3, 9)))
    mark = source.choice((".", "_", "+", "-", ""))
    return f"{user}{mark}{source.randrange(1000)}@{source.choice(_HOSTS)}"


_HOSTS = ("example.org", "mail.example.com", "example.co.uk", "quill.example.net")


def _card(source: random.Random) -> str:
    start = source.choice(("4", "51", "55", "2221"))
    whole = luhn(start + "".join(source.choices(string.digits, k=15 - len(start))))
    sign = source.choice(("", " ", "-"))
    return sign.join(whole[i : i + 4] for i in range(0, 16, 4))


def _iban(source: random.Random) -> str:
    account = "".join(source.choices(string.digits, k=18))
    check = 98 - int(account + "131400") % 97  # "DE00" with letters as numbers
    whole = f"DE{check:02}{account}"
    sign = source.choice(("", " "))
    return sign.join(whole[i : i + 4] for i in range(0, len(whole), 4))


def _ssn(source: random.Random) -> str:
    area = source.choice((source.randint(1, 665), source.randint(667, 899)))
    return f"{area:03}-{source.randint(1, 99):02}-{source.randint(1, 9999):04}"


def _key(source: random.Random) -> str:
    start, n = source.choice((("ghp_", 36), ("sk-proj-", 48), ("hf_", 34), ("glpat-", 20)))
    return start + "".join(source.choices(_LETTERS, k=n))


def _ip(source: random.Random) -> str:
    return ".".join(str(source.randint(1, 254)) for _ in range(4))


def _mac(source: random.Random) -> str:
    return ":".join(f"{source.randrange(256):02x}" for _ in range(6))


def _phone(source: random.Random) -> str:
    forms = ("+44 20 7946 0{:03}", "+1-202-555-0{:03}", "(555) 234-5{:03}")
    return source.choice(forms).format(source.randrange(1000))


def _url(source: random.Random) -> str:
    token = "".join(source.choices(_LETTERS, k=12))
    return f"https://user:{token}@db{source.randrange(100)}.example.org/x?id={token}"


_IDENTIFIERS: dict[str, Callable[[random.Random], str]] = {
    "CARD": _card,
    "EMAIL": _email,
    "IBAN": _iban,
    "SSN": _ssn,
    "KEY": _key,
    "IP": _ip,
    "MAC": _mac,
    "PHONE": _phone,
    "URL": _url,
}
