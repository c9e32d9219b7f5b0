"""Random request bodies with identifiers planted at every position, and mutations of them.

Everything is invented or random; equal seeds give equal bodies.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

ENDPOINTS = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/messages/count_tokens",
)
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
        document = _MAKERS[path](self)
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
            return self.any_of((self.text, self.text, self.number, lambda: self._one(_LITERALS)))
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

    def some(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        """Return a list of up to `most`."""
        return [make() for _ in range(self.random.randint(0, most))]

    def any_of(self, makers: Sequence[Callable[[], Any]]) -> Any:
        """Return what one of the functions makes."""
        return self._one(makers)()

    def chosen(self, fields: dict[str, Callable[[], Any]], share: float = 0.3) -> dict[str, Any]:
        """Return some of the fields."""
        return {key: make() for key, make in fields.items() if self._chance(share)}

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
        encoded: str = self.any_of((
            lambda: base64.b64encode(raw).decode().rstrip("="),
            lambda: base64.urlsafe_b64encode(raw).decode().rstrip("="),
            raw.hex,
            lambda: text.replace("@", "%40") if "@" in text else text,
            lambda: text.replace("@", "&#64;") if "@" in text else text,
            lambda: quote(text, safe="") if planted.kind in SURE else text,
            lambda: "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text)
            if planted.kind in SURE else text,
        ))  # fmt: skip
        return encoded

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


def _schema(b: Bodies) -> dict[str, Any]:
    field = b.chosen({
        "type": lambda: "string",
        "description": b.text,
        "enum": lambda: b.some(b.text),
        "default": b.tree,
        "const": b.text,
        "examples": lambda: b.some(b.tree),
        "pattern": b.text,
        "title": b.text,
        "$comment": b.text,
        "minimum": b.number,
    }, 0.4)  # fmt: skip
    return {"type": "object", "properties": {b.key(): field}, "required": [b.key()]}


def _tools(b: Bodies) -> list[Any]:
    def function() -> dict[str, Any]:
        more = b.chosen({"description": b.text, "strict": lambda: True})
        return {"name": b.name(), "parameters": _schema(b), **more}

    kinds = (
        lambda: {"type": "function", "function": function()},
        lambda: {"type": "function", **function()},
        lambda: {"name": b.name(), "description": b.text(), "input_schema": _schema(b)},
        lambda: {"type": "web_search", "filters": {"allowed_domains": b.some(b.name)},
                 "user_location": {"type": "approximate", "city": b.text()}},
        lambda: {"type": "custom", "name": b.name(), "format": {"type": "grammar",
                 "syntax": "lark", "definition": b.text()}},
        lambda: {"type": "mcp", "server_label": b.name(), "server_description": b.text(),
                 "allowed_tools": b.some(b.name), "require_approval": "never"},
    )  # fmt: skip
    return b.some(lambda: b.any_of(kinds), 2)


def _arguments(b: Bodies) -> str:
    written = json.dumps(b.tree())
    return b._one((written, written, written, b.text(), written[:-1]))


def _common(b: Bodies) -> dict[str, Any]:
    return b.chosen({
        "user": b.text,
        "safety_identifier": b.text,
        "prompt_cache_key": b.text,
        "metadata": lambda: {b.key(): b.text()},
        "stop": lambda: b._one((b.text(), b.some(b.text))),
        "temperature": lambda: 0.5,
        "seed": lambda: b.random.randrange(1000),
        "stream": lambda: b._one((True, False)),
        "tools": lambda: _tools(b),
        "tool_choice": lambda: b._one(("auto", {"type": "function", "name": b.name()})),
        "response_format": lambda: {"type": "json_schema", "json_schema": _schema(b)},
        "service_tier": b.name,
        "logit_bias": lambda: {"50256": -100},
        "guided_choice": lambda: b.some(b.text),
        "chat_template_kwargs": b.tree,
        "brand_new_field": b.tree,
    }, 0.15)  # fmt: skip


def _content(b: Bodies) -> Any:
    parts = (
        lambda: {"type": "text", "text": b.text()},
        lambda: {"type": b._one(("input_text", "output_text")), "text": b.text()},
        lambda: {"type": "refusal", "refusal": b.text()},
        lambda: {"type": "brand_new_part", "payload": b.tree()},
        lambda: {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0"}},
    )
    kinds = (b.text, b.text, lambda: None, lambda: b.some(lambda: b.any_of(parts[:4]), 3))
    rare = b.some(lambda: b.any_of(parts), 2) if b._chance(0.02) else None
    return rare or b.any_of(kinds)


def _call(b: Bodies) -> dict[str, Any]:
    function = {"name": b.name(), "arguments": _arguments(b)}
    return {"id": b.name(), "type": "function", "function": function}


def _message(b: Bodies) -> dict[str, Any]:
    role = b._one(("user", "user", "user", "system", "developer", "assistant", "tool"))
    message = {"role": role, "content": _content(b)}
    if role == "assistant":
        fields = {"tool_calls": lambda: b.some(lambda: _call(b), 2), "reasoning_content": b.text,
                  "function_call": lambda: {"name": b.name(), "arguments": _arguments(b)},
                  }  # fmt: skip
        message |= b.chosen(fields, 0.4)
    if role == "tool":
        message["tool_call_id"] = b.name()
    if b._chance(0.2):
        message["name"] = b.name() if role == "tool" else b.any_of((b.text, b.name))
    return message | b.chosen({"brand_new_field": b.tree}, 0.1)


def _chat(b: Bodies) -> dict[str, Any]:
    return {"model": b.name(), "messages": b.some(lambda: _message(b), 4), **_common(b)}


def _responses(b: Bodies) -> dict[str, Any]:
    kinds = (
        lambda: {"role": b._one(("user", "assistant", "system")), "content": _content(b)},
        lambda: {"type": "function_call", "call_id": b.name(), "name": b.name(),
                 "arguments": _arguments(b)},
        lambda: {"type": "function_call_output", "call_id": b.name(), "output": _content(b)},
        lambda: {"type": "reasoning", "summary": _content(b), "encrypted_content": "gAAAAA+/="},
        lambda: {"type": "web_search_call", "action": {"type": "search", "query": b.text()}},
        lambda: {"type": "local_shell_call", "action": {"type": "exec", "command": b.some(b.text),
                 "env": {b.key(): b.text()}}},
        lambda: {"type": "mcp_call", "server_label": b.name(), "arguments": _arguments(b),
                 "output": b.text()},
        lambda: {"type": "file_search_call", "queries": b.some(b.text), "results": [
                 {"text": b.text(), "filename": b.text(), "attributes": b.tree()}]},
        lambda: {"type": "brand_new_item", "payload": b.tree()},
    )  # fmt: skip
    some = b.any_of((b.text, lambda: b.some(lambda: b.any_of(kinds), 4)))
    more = b.chosen({"instructions": b.text, "previous_response_id": b.name,
                     "prompt": lambda: {"id": b.name(), "variables": {b.key(): b.text()}},
                     })  # fmt: skip
    return {"model": b.name(), "input": some, **more, **_common(b)}


def _block(b: Bodies) -> dict[str, Any]:
    kinds = (
        lambda: {"type": "text", "text": b.text(), "citations": None},
        lambda: {"type": "tool_use", "id": b.name(), "name": b.name(), "input": b.tree()},
        lambda: {"type": "tool_result", "tool_use_id": b.name(), "content": b.text()},
        lambda: {"type": "thinking", "thinking": b.text(), "signature": "EqQBCgIYAhIM"},
        lambda: {"type": "document", "title": b.text(), "context": b.text(),
                 "source": {"type": "text", "media_type": "text/plain", "data": b.text()}},
        lambda: {"type": "brand_new_block", "payload": b.tree()},
    )  # fmt: skip
    made: dict[str, Any] = b.any_of(kinds)
    return made


def _messages(b: Bodies) -> dict[str, Any]:
    def message() -> dict[str, Any]:
        content = b.any_of((b.text, lambda: b.some(lambda: _block(b), 3)))
        return {"role": b._one(("user", "assistant")), "content": content}

    more = b.chosen({"system": lambda: b._one((b.text(), [_block(b)])), "metadata": b.tree,
                     "stop_sequences": lambda: b.some(b.text), "tools": lambda: _tools(b),
                     })  # fmt: skip
    return {"model": b.name(), "max_tokens": 100, "messages": b.some(message, 4), **more}


def _completions(b: Bodies) -> dict[str, Any]:
    prompt = b.any_of((b.text, lambda: b.some(b.text), lambda: [1, 2] if b._chance(0.1) else "x"))
    more = b.chosen({"suffix": b.text, "echo": lambda: True})
    return {"model": b.name(), "prompt": prompt, **more, **_common(b)}


def _embeddings(b: Bodies) -> dict[str, Any]:
    some = b.any_of((b.text, lambda: b.some(b.text)))
    return {"model": b.name(), "input": some, **b.chosen({"user": b.text, "dimensions": b.number})}


_MAKERS: dict[str, Callable[[Bodies], Any]] = {
    "/v1/chat/completions": _chat,
    "/v1/responses": _responses,
    "/v1/messages": _messages,
    "/v1/messages/count_tokens": _messages,
    "/v1/completions": _completions,
    "/v1/embeddings": _embeddings,
}
