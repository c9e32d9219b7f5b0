"""LlamaIndex: shielded clients for its models of OpenAI's API, and any model wrapped.

llm = OpenAI(model="gpt-4.1-mini", **openai_clients(Sanitizer()))
"""

from __future__ import annotations

from typing import Any

from sanitizer.clients.frameworks import http_twins
from sanitizer.pipeline.sanitizer import Sanitizer


def openai_clients(sanitizer: Sanitizer) -> dict[str, Any]:
    """Return the HTTP clients for `OpenAI`, `OpenAIResponses`, `OpenAILike`, as arguments.

    Both at once: with a shielded `openai_client` alone, the model's asynchronous calls go through a
    client that LlamaIndex builds itself, and with `reuse_client=False` all its calls do.

    Guarantee: as `http_twins`.
    Not protected: what instrumentation sends that you have added.
    """
    return http_twins(sanitizer, async_name="async_http_client")
