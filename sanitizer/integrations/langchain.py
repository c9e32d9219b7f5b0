"""LangChain: shielded clients for its models of OpenAI's API, and an agent's middleware.

model = ChatOpenAI(model="gpt-4.1-mini", **openai_clients(Sanitizer()))
"""

from __future__ import annotations

from typing import Any

from sanitizer.clients import http_twins
from sanitizer.pipeline import Sanitizer


def openai_clients(sanitizer: Sanitizer, *, trusted_tracing: bool = False) -> dict[str, Any]:
    """Return both HTTP clients for `ChatOpenAI`, `OpenAI` and their like, as arguments.

    With one of them alone, calls of the other sort go through a client that LangChain builds.

    Guarantee: as `http_twins`; refused while LangSmith's tracing is on.
    Not protected: callbacks that you have added.

    Args:
        sanitizer: Sanitizer of the conversation.
        trusted_tracing: LangSmith may see the messages as they are.

    Raises:
        RequestRefused: LangSmith's tracing is on.
    """
    return http_twins(sanitizer, trusted_tracing=trusted_tracing)
