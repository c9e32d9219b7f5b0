"""Shared by the wire tests: requests in short, and JSON read without the code under test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer import Policy, Sanitizer
from sanitizer.testing.models import ToyBackbone
from sanitizer.wire.filter import Exchange, Filter

JSON = {"content-type": "application/json"}
CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
EMAIL = "peter.quill@example.com"
WORD = "Zorblaxian"  # private under every policy that perturbs


def scores(n: int, n_outputs: int) -> NDArray[np.float32]:
    return np.zeros((n, n_outputs), dtype=np.float32)


def toy(policy: str | Policy = "words", **settings: Any) -> Sanitizer:
    """A Sanitizer that perturbs without a model."""
    return Sanitizer(policy=policy, model=ToyBackbone(scores), **settings)


def send(body: Any, sanitizer: Sanitizer | None = None, path: str = CHAT) -> Exchange:
    """A request let through the filter."""
    sanitizer = sanitizer or Sanitizer(policy="identifiers")
    return Filter(sanitizer).request(
        "POST", path, JSON, body if isinstance(body, bytes) else spelled(body)
    )


def sent(body: Any, sanitizer: Sanitizer | None = None, path: str = CHAT) -> Any:
    """What would leave, read again."""
    return read(send(body, sanitizer, path).body)


def chat(content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": role, "content": content, **more}]}


def number(spelling: str) -> str:
    """Stands for a number of this spelling in `spelled`."""
    return f"@@{spelling}@@"


def spelled(value: Any) -> bytes:
    return re.sub('"@@([^"]*)@@"', r"\1", json.dumps(value)).encode()


def read(body: bytes | str) -> Any:
    """Numbers as `number` gives them."""
    return json.loads(body, parse_int=number, parse_float=number)


def strings(value: Any) -> Iterator[str]:
    """Every string value and key."""
    if isinstance(value, str) and not value.startswith("@@"):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)


def outline(value: Any) -> Any:
    """The shape: strings are alike, keys with private text too, all else stays."""
    if isinstance(value, list):
        return [outline(inner) for inner in value]
    if isinstance(value, dict):
        return [
            ("key" if "@" in k or "<" in k else k, outline(inner)) for k, inner in value.items()
        ]
    return "string" if isinstance(value, str) and not value.startswith("@@") else value
