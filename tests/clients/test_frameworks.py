"""What frameworks would send past a shielded client is noticed. With the real ones:
tests/integrations.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sanitizer import RequestRefused, shield
from sanitizer.clients.frameworks import check_shielded, http_twins, refuse_tracing
from sanitizer.testing import RecordingServer
from tests.clients.sdk_clients import (
    TEXT,
    check_clean,
    identifiers,
    run,
    run_async,
    said,
    shielded,
    since,
)
from tests.lazily import lazily

if TYPE_CHECKING:
    import openai
else:
    openai = lazily("openai")


class Model(SimpleNamespace):
    """Stands for a framework's model."""


def asks(module: str) -> Any:
    """A function of a module of this name that asks whether a client is of another kind."""
    scope: dict[str, Any] = {"__name__": module}
    source = "class Handler: ...\ndef ask(client):\n    return isinstance(client, Handler)"
    exec(source, scope)  # noqa: S102
    return scope["ask"]


class TestReplacing:
    @pytest.mark.parametrize(
        "module", ["litellm.llms.custom_httpx.llm_http_handler", "litellm.llms.anthropic.chat"]
    )
    def test_a_module_that_would_build_its_own_is_refused(self, module: str) -> None:
        with RecordingServer() as server, shielded(server) as client:
            with pytest.raises(RequestRefused, match=r"sanitizer\.integrations\.litellm") as raised:
                asks(module)(client)
            assert isinstance(raised.value, openai.OpenAIError)
            with pytest.raises(RequestRefused):
                asks(module)(client.with_options(timeout=5.0))

    @pytest.mark.parametrize("module", ["litellm.llms.openai.openai", "litellm.utils", "elsewhere"])
    def test_others_may_ask(self, module: str) -> None:
        with RecordingServer() as server, shielded(server) as client:
            assert asks(module)(client) is False
            assert isinstance(client, openai.OpenAI)

    def test_the_function_that_drops_clients_is_watched_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bridge = SimpleNamespace(completion=lambda *args, **kwargs: "answered")
        extras = ModuleType("litellm.completion_extras")
        extras.responses_api_bridge = bridge  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "litellm.completion_extras", extras)
        with RecordingServer() as server, shielded(server) as client:
            watched = bridge.completion
            shield(openai.OpenAI(api_key="test"), identifiers())
            assert bridge.completion is watched
            assert bridge.completion(model="m", client=None) == "answered"
            with pytest.raises(RequestRefused, match=r"sanitizer\.integrations\.litellm"):
                bridge.completion(model="m", client=client)


class TestTwins:
    @since(1, 17)
    def test_both_are_shielded(self) -> None:
        with RecordingServer() as server:
            twins = http_twins(identifiers(), async_name="other")
            where: Any = {"base_url": server.url, "api_key": "test"}
            with openai.OpenAI(http_client=twins["http_client"], **where) as client:
                answer = client.chat.completions.create(model="m", messages=said())
            assert answer.choices[0].message.content == TEXT

            async def ask() -> str | None:
                async with openai.AsyncOpenAI(http_client=twins["other"], **where) as client:
                    answer = await client.chat.completions.create(model="m", messages=said())
                    return answer.choices[0].message.content

            assert run(ask()) == TEXT
            check_clean(server, n_requests=2)

    def test_a_model_is_checked(self) -> None:
        with RecordingServer() as server, shielded(server) as client:
            model = Model(name="m", client=client.chat.completions, root=client)
            check_shielded(model)
            model.twin = openai.AsyncOpenAI(api_key="test")
            with pytest.raises(RequestRefused, match="twin of Model is not shielded") as raised:
                check_shielded(model)
            assert raised.value.reason == "unshielded"
            model.twin = openai.OpenAI(api_key="test").chat.completions
            with pytest.raises(RequestRefused, match="twin of Model"):
                check_shielded(model)

    def test_clients_that_are_built_when_needed_are_checked(self) -> None:
        with RecordingServer() as server, shielded(server) as client:
            model = Model(_get_client=lambda: client)
            check_shielded(model)
            model._get_aclient = lambda: openai.AsyncOpenAI(api_key="test")
            with pytest.raises(RequestRefused, match="_get_aclient of Model"):
                check_shielded(model)

    def test_a_mount_past_the_filter_is_noticed(self) -> None:
        with RecordingServer() as server, shielded(server) as client:
            mounts = client._client._mounts
            client._client._mounts = {**mounts, "pattern": object()}
            with pytest.raises(RequestRefused):
                check_shielded(Model(client=client))
            client._client._mounts = mounts

    def test_a_model_without_clients_cannot_be_checked(self) -> None:
        with pytest.raises(TypeError, match="a Model holds none"):
            check_shielded(Model(name="m"))


class TestTraces:
    @pytest.fixture
    def traced(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        state: dict[str, Any] = {"on": True}
        for name in ("langchain_core", "langsmith", "langsmith.utils"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        utils: Any = sys.modules["langsmith.utils"]
        utils.tracing_is_enabled = lambda: state["on"]
        return state

    def test_nothing_leaves_while_they_are_on(self, traced: dict[str, Any]) -> None:
        with RecordingServer() as server, shielded(server) as client:
            with pytest.raises(RequestRefused, match="LANGSMITH_TRACING"):
                client.chat.completions.create(model="m", messages=said())
            assert server.requests == []
            traced["on"] = False
            client.chat.completions.create(model="m", messages=said())
            check_clean(server)

    @since(1, 66)
    def test_asynchronous(self, traced: dict[str, Any]) -> None:
        async def job(client: Any) -> None:
            with pytest.raises(RequestRefused):
                await client.responses.create(model="m", input=TEXT)

        with RecordingServer() as server:
            run_async(server, job)
            assert server.requests == []

    def test_a_check_that_fails_refuses(
        self, traced: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(sys.modules["langsmith.utils"], "tracing_is_enabled")
        with RecordingServer() as server, shielded(server) as client:
            with pytest.raises(openai.OpenAIError, match="whether traces are sent"):
                client.chat.completions.create(model="m", messages=said())
            assert server.requests == []

    @since(1, 17)
    def test_trusted(self, traced: dict[str, Any]) -> None:
        with RecordingServer() as server:
            given = openai.OpenAI(base_url=server.url, api_key="test")
            client = shield(given, identifiers(), trusted_tracing=True)
            client.with_options(timeout=5.0).chat.completions.create(model="m", messages=said())
            check_clean(server)
            given.close()
        http_twins(identifiers(), trusted_tracing=True)
        with pytest.raises(RequestRefused):
            http_twins(identifiers())

    def test_without_frameworks_nothing_is_refused(self) -> None:
        refuse_tracing()
