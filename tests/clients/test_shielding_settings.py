"""`shield` keeps what was set: options, proxies, mounts, hooks; copies stay shielded; the original
stays as it was.
"""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.clients.shielding import shield
from sanitizer.testing.server import Answer, RecordingServer, calls, event
from sanitizer.text.policy import WireRules
from tests.clients.sdk_clients import (
    LIB,
    SECRETS,
    TEXT,
    ForwardProxy,
    check_clean,
    identifiers,
    run,
    run_async,
    said,
    shielded,
    since,
)
from tests.clients.tool_calls import toy
from tests.lazily import lazily

if TYPE_CHECKING:
    import openai
else:
    openai = lazily("openai")

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    with ForwardProxy() as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=said())


class TestWaysOut:
    @pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
    def test_a_proxy_of_the_environment(
        self,
        server: RecordingServer,
        proxy: ForwardProxy,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
    ) -> None:
        monkeypatch.setenv(name, proxy.address)
        with shielded(server) as client:
            assert ask(client).choices[0].message.content == TEXT
        check_clean(server, proxy)

    def test_a_tunnel_gets_nothing_but_its_target(
        self, server: RecordingServer, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        with (
            shielded(server, base_url="https://api.invalid/v1") as client,
            pytest.raises(openai.APIConnectionError),
        ):
            ask(client)
        assert proxy.received.startswith(b"CONNECT api.invalid:443 ")
        assert not any(secret.encode() in proxy.received for secret in SECRETS)

    @since(1, 17)
    def test_a_proxy_and_a_mount_of_the_client(
        self, server: RecordingServer, proxy: ForwardProxy
    ) -> None:
        for options in (
            {"proxy": proxy.address},
            {"mounts": {"http://": LIB.HTTPTransport(proxy=proxy.address)}},
        ):
            proxy.forget()
            server.forget()
            with shielded(server, http_client=openai.DefaultHttpxClient(**options)) as client:
                assert ask(client).choices[0].message.content == TEXT
            check_clean(server, proxy)

    @since(1, 66)
    def test_a_proxy_of_an_asynchronous_client(
        self, server: RecordingServer, proxy: ForwardProxy
    ) -> None:
        async def work() -> None:
            http_client = openai.DefaultAsyncHttpxClient(proxy=proxy.address)
            async with openai.AsyncOpenAI(
                base_url=server.url, api_key="test", http_client=http_client
            ) as plain:
                await shield(plain, identifiers()).responses.create(model="m", input=TEXT)

        run(work())
        check_clean(server, proxy)


class TestSettings:
    @since(1, 92)
    def test_options_stay(self, server: RecordingServer) -> None:
        options: dict[str, Any] = {
            "organization": "org-1",
            "project": "proj-1",
            "max_retries": 7,
            "timeout": 12.5,
            "default_headers": {"x-kept": "yes"},
            "webhook_secret": "hook",
        }
        with openai.OpenAI(base_url=server.url, api_key="the-key", **options) as plain:
            client = shield(plain, identifiers())
            assert isinstance(client, openai.OpenAI)
            for name in (
                "api_key",
                "base_url",
                "organization",
                "project",
                "max_retries",
                "timeout",
                "webhook_secret",
            ):
                assert getattr(client, name) == getattr(plain, name)
            ask(client)
            ask(plain)
        ours, theirs = (dict(request.headers) for request in server.requests)
        changed = {"accept-encoding", "content-length"}
        assert {k.lower(): v for k, v in ours.items() if k.lower() not in changed} == {
            k.lower(): v for k, v in theirs.items() if k.lower() not in changed
        }

    @since(1, 17)
    def test_hooks_cookies_and_authentication_of_the_http_client_stay(
        self, server: RecordingServer
    ) -> None:
        seen: list[str] = []
        http_client = openai.DefaultHttpxClient(
            event_hooks={
                "request": [lambda r: seen.append("asked")],
                "response": [lambda r: seen.append("told")],
            },
            cookies={"session": "1"},
            params={"api-version": "2"},
        )
        with shielded(server, http_client=http_client) as client:
            ask(client)
        assert seen == ["asked", "told"]
        assert server.requests[0].header("cookie") == "session=1"

    @since(1, 17)
    def test_copies_are_shielded(self, server: RecordingServer) -> None:
        with shielded(server) as client, openai.DefaultHttpxClient() as other:
            copies = [
                client.copy(),
                client.copy().copy(max_retries=0),
                client.with_options(timeout=9),
                client.with_options(http_client=other),
                client.copy(base_url=server.url, api_key="new"),
            ]
            for copy in copies:
                assert ask(copy).choices[0].message.content == TEXT
        check_clean(server, n_requests=len(copies))


class TestTheOriginal:
    def test_it_works_on_unshielded(self, server: RecordingServer) -> None:
        with openai.OpenAI(base_url=server.url, api_key="test") as plain:
            ask(shield(plain, identifiers()))
            check_clean(server)
            ask(plain)
        assert SECRETS[0].encode() in server.requests[1].body

    def test_it_need_not_be_kept(self, server: RecordingServer) -> None:
        client = shield(openai.OpenAI(base_url=server.url, api_key="test"), identifiers())
        gc.collect()
        ask(client)
        ask(client)
        check_clean(server, n_requests=2)
        assert server.n_connections == 1  # nobody closed it between
        client.close()

    def test_it_may_go_while_an_answer_comes(self, server: RecordingServer) -> None:
        go = threading.Event()

        def halves() -> Iterator[bytes]:
            yield event({"id": "1", "choices": [{"index": 0, "delta": {"content": "Hello"}}]})
            assert go.wait(10)
            yield b"data: [DONE]\n\n"

        server.script(Answer(halves(), content_type="text/event-stream"))
        plain = openai.OpenAI(base_url=server.url, api_key="test")
        client = shield(plain, identifiers())
        stream = client.chat.completions.create(model="m", messages=said(), stream=True)
        assert next(stream).choices[0].delta.content == "Hello"
        del plain
        gc.collect()
        go.set()
        assert list(stream) == []
        client.close()

    @pytest.mark.parametrize("collected", [False, True])
    def test_closing_the_shielded_one_leaves_it_open(
        self, server: RecordingServer, collected: bool
    ) -> None:
        with openai.OpenAI(base_url=server.url, api_key="test", max_retries=0) as plain:
            client = shield(plain, identifiers())
            ask(client)
            if collected:
                del client
                gc.collect()
            else:
                client.close()
                assert client.is_closed()
                with pytest.raises((RuntimeError, openai.APIConnectionError)):
                    ask(client)
            assert not plain.is_closed()
            ask(plain)
        assert server.n_connections == 1

    def test_closing_it_does_not_close_the_shielded_one(self, server: RecordingServer) -> None:
        plain = openai.OpenAI(base_url=server.url, api_key="test")
        client = shield(plain, identifiers())
        plain.close()
        assert not client.is_closed()
        ask(client)
        client.close()
        check_clean(server)

    def test_closing_the_shielded_one_closes_the_connections_nobody_else_has(
        self, server: RecordingServer
    ) -> None:
        ended = threading.Event()
        server.when_closed = ended.set
        client = shield(openai.OpenAI(base_url=server.url, api_key="test"), identifiers())
        ask(client)
        gc.collect()  # clients of SDKs before 1.76 hold themselves
        client.close()
        assert ended.wait(10)

        async def work() -> None:
            async with shield(
                openai.AsyncOpenAI(base_url=server.url, api_key="test"), identifiers()
            ) as client:
                await ask(client)
                gc.collect()
            assert ended.wait(10)

        ended.clear()
        run(work())


class TestOtherClients:
    @pytest.mark.parametrize("client", [object(), "client", None])
    def test_they_are_refused_with_what_to_do(self, client: Any) -> None:
        with pytest.raises(TypeError, match=r"FilterTransport.*sanitizer serve"):
            shield(client, identifiers())

    def test_the_module_is_no_client(self) -> None:
        with pytest.raises(TypeError, match=r"FilterTransport.*sanitizer serve"):
            shield(importlib.import_module("openai"), identifiers())

    def test_a_client_is_shielded_once(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            for again in (client, client.copy()):
                with pytest.raises(ValueError, match="already"):
                    shield(again, identifiers())


def test_a_path_the_policy_lets_be_read(server: RecordingServer) -> None:
    policy = replace(Policy.preset("identifiers"), wire=WireRules(endpoints=("/models",)))
    models = {
        "object": "list",
        "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "x"}],
    }
    server.script(Answer(json.dumps(models).encode()))
    with shielded(server, Sanitizer(policy=policy)) as client:
        assert [model.id for model in client.models.list()] == ["m"]
    assert server.requests[0].body == b""


def test_importing_shield_imports_no_http_library() -> None:
    names = ("httpx", "httpx2", "openai")
    code = (
        f"import sys, sanitizer.clients.shielding; print([m for m in {names} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


class Telling:
    """An extractor that tells what it was given, and in which thread."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def load(self) -> None:
        pass

    def rewrite(self, prompt: str, noisy_answer: str) -> Iterator[str]:
        self.threads.append(threading.get_ident())
        yield f"Asked: {prompt} Told: {noisy_answer}"


class TestExtractor:
    """Whole answers are written for the original prompt; nothing of that leaves again."""

    WORDS = "My Zorblaxian has a Quizzik. Write to anna@example.org."

    def test_a_whole_answer_is_rewritten_and_goes_back_as_it_came(
        self, server: RecordingServer
    ) -> None:
        way = Telling()
        first = said(self.WORDS)
        with shielded(server, toy("strict", extractor=way)) as client:
            answer = client.chat.completions.create(model="m", messages=first)
            content = answer.choices[0].message.content
            assert content.startswith("Asked: My Zorblaxian has a Quizzik. Write to anna@")
            history = [*first, {"role": "assistant", "content": content}, *said("Thanks.")]
            client.chat.completions.create(model="m", messages=history)
        sent = [request.json["messages"] for request in server.requests]
        assert sent[1][0] == sent[0][0]
        assert sent[1][1]["content"] == sent[0][0]["content"], "the server is an echo"
        assert not any(word in server.received.decode() for word in ("Zorblaxian", "Quizzik"))

    def test_the_event_loop_is_not_held_up(self, server: RecordingServer) -> None:
        way = Telling()

        async def job(client: Any) -> Any:
            answer = await client.chat.completions.create(model="m", messages=said(self.WORDS))
            return threading.get_ident(), answer.choices[0].message.content

        loop, content = run_async(server, job, toy("strict", extractor=way))
        assert content.startswith("Asked: My Zorblaxian")
        assert way.threads
        assert loop not in way.threads

    def test_streams_and_arguments_of_tools_are_restored_only(
        self, server: RecordingServer
    ) -> None:
        way = Telling()
        tool: Any = {"type": "function", "function": {"name": "f", "parameters": {}}}
        with shielded(server, toy("strict", extractor=way)) as client:
            pieces = client.chat.completions.create(
                model="m", messages=said(self.WORDS), stream=True
            )
            text = "".join(each.choices[0].delta.content or "" for each in pieces if each.choices)
            assert "anna@example.org" in text
            server.script(calls("f"))
            answer = client.chat.completions.create(
                model="m", messages=said(self.WORDS), tools=[tool]
            )
        assert "anna@example.org" in answer.choices[0].message.tool_calls[0].function.arguments
        assert way.threads == []
