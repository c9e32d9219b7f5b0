"""LlamaIndex's real packages: no twin of a client sends past the filter."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.llms.openai", reason="llama-index-llms-openai is not installed")

import openai
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI, OpenAIResponses
from llama_index.llms.openai_like import OpenAILike

from sanitizer import RequestRefused, shield
from sanitizer.clients import check_shielded
from sanitizer.integrations.llama_index import openai_clients
from sanitizer.testing import RecordingServer
from tests.integrations.parties import TEXT, assert_clean, identifiers, leaked

pytestmark = pytest.mark.slow


def given(server: RecordingServer) -> dict[str, Any]:
    return {"model": "gpt-4o", "api_base": server.url, "api_key": "test", "max_retries": 0}


@pytest.mark.parametrize(("reuse", "asynchronous"), [(True, True), (False, False)])
def test_a_client_alone_has_an_unshielded_twin_and_that_is_noticed(
    reuse: bool, asynchronous: bool
) -> None:
    with RecordingServer() as server:
        shielded = shield(openai.OpenAI(base_url=server.url, api_key="test"), identifiers())
        model = OpenAI(openai_client=shielded, reuse_client=reuse, **given(server))
        with pytest.raises(RequestRefused, match=r"_get_a?client of OpenAI is not shielded"):
            check_shielded(model)
        if asynchronous:
            asyncio.run(model.acomplete(TEXT))
        else:
            model.complete(TEXT)
        assert leaked(server), "LlamaIndex shields the twin itself now: say so in the recipe"


def test_both_twins_are_shielded() -> None:
    with RecordingServer() as server:
        model = OpenAI(**given(server), **openai_clients(identifiers()))
        check_shielded(model)
        assert model.complete(TEXT).text == TEXT
        assert asyncio.run(model.acomplete(TEXT)).text == TEXT
        assert "".join(piece.delta or "" for piece in model.stream_complete(TEXT)) == TEXT
        assert_clean(server, n_requests=3)


def test_clients_that_are_not_reused_are_shielded_and_closed_by_llama_index() -> None:
    with RecordingServer() as server:
        model = OpenAI(reuse_client=False, **given(server), **openai_clients(identifiers()))
        check_shielded(model)
        assert model.complete(TEXT).text == TEXT
        with pytest.raises(openai.APIConnectionError):
            model.complete(TEXT)
        assert_clean(server)


def test_the_responses_api_and_compatible_servers() -> None:
    with RecordingServer() as server:
        clients = openai_clients(identifiers())
        responses = OpenAIResponses(**given(server), **clients)
        check_shielded(responses)
        like = OpenAILike(**given(server), is_chat_model=True, **openai_clients(identifiers()))
        check_shielded(like)
        message = [ChatMessage(role="user", content=TEXT)]
        assert responses.chat(message).message.content == TEXT
        assert asyncio.run(responses.achat(message)).message.content == TEXT
        assert like.chat(message).message.content == TEXT
        assert_clean(server, n_requests=3)
