"""`shield` fails closed: refusals, retries, broken streams, WebSockets."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import io
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sanitizer import BudgetExceeded, Sanitizer, SanitizerError
from sanitizer.clients import shielding
from sanitizer.clients.shielding import shield
from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.testing.server import Answer, RecordingServer, error, event, html
from tests.clients.sdk_clients import (
    LIB,
    SECRETS,
    TEXT,
    assert_none,
    check_clean,
    identifiers,
    run,
    run_async,
    said,
    shielded,
    since,
)
from tests.clients.tool_calls import WORD, toy
from tests.lazily import lazily

if TYPE_CHECKING:
    import openai
else:
    openai = lazily("openai")

AT_ONCE = (("retry-after-ms", "1"),)


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def ask(client: Any, **more: Any) -> Any:
    return client.chat.completions.create(model="m", messages=said(), **more)


def a_file() -> io.BytesIO:
    return io.BytesIO(TEXT.encode())


REFUSED: dict[str, Callable[[Any], Any]] = {
    "files": lambda c: c.files.create(file=a_file(), purpose="assistants"),
    "uploads": lambda c: c.uploads.create(
        bytes=1, filename=TEXT, mime_type="text/plain", purpose="assistants"
    ),
    "images": lambda c: c.images.generate(prompt=TEXT),
    "image edits": lambda c: c.images.edit(image=a_file(), prompt=TEXT),
    "speech": lambda c: c.audio.speech.create(input=TEXT, model="tts-1", voice="alloy"),
    "transcriptions": lambda c: c.audio.transcriptions.create(
        file=a_file(), model="whisper-1", prompt=TEXT
    ),
    "batches": lambda c: c.batches.create(
        completion_window="24h",
        endpoint="/v1/chat/completions",
        input_file_id="f",
        metadata={"a": TEXT},
    ),
    "fine-tuning": lambda c: c.fine_tuning.jobs.create(
        model="m", training_file="f", metadata={"a": TEXT}
    ),
    "moderations": lambda c: c.moderations.create(input=TEXT),
    "embeddings": lambda c: c.embeddings.create(model="m", input=TEXT),
    "vector stores": lambda c: c.vector_stores.search("vs", query=TEXT),
    "conversations": lambda c: c.conversations.create(items=said()),
    "realtime secrets": lambda c: c.realtime.client_secrets.create(
        session={"type": "realtime", "instructions": TEXT}
    ),
    "an image": lambda c: ask(c, extra_body={"messages": [{"role": "user", "content": [image()]}]}),
    "any path": lambda c: c.post("/anything", body={"text": TEXT}, cast_to=object),
    "a query": lambda c: ask(c, extra_query={"q": TEXT}),
}


def image() -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


NEW = {
    "uploads": since(1, 37),
    "batches": since(1, 18),
    "fine-tuning": since(1, 66),
    "vector stores": since(1, 66),
    "conversations": since(1, 101),
    "realtime secrets": since(1, 103),
}
"""What the first versions of the SDK cannot ask."""


class TestRefusals:
    @pytest.mark.parametrize(
        "name", [pytest.param(name, marks=NEW.get(name, ())) for name in REFUSED]
    )
    def test_nothing_is_sent(self, server: RecordingServer, name: str) -> None:
        with shielded(server, max_retries=2) as client, pytest.raises(RequestRefused) as caught:
            REFUSED[name](client)
        assert isinstance(caught.value, openai.OpenAIError)
        assert not any(secret in str(caught.value) for secret in SECRETS)
        assert server.n_connections == 0

    def test_asynchronous_calls(self, server: RecordingServer) -> None:
        async def job(client: Any) -> None:
            await client.moderations.create(input=TEXT)

        with pytest.raises(RequestRefused):
            run_async(server, job, max_retries=2)
        assert server.n_connections == 0

    @since(1, 66)
    def test_the_budget_s_end(self, server: RecordingServer) -> None:
        with (
            shielded(server, toy(budget=1.0), max_retries=2) as client,
            pytest.raises(BudgetExceeded) as caught,
        ):
            client.responses.create(model="m", input=WORD)
        assert isinstance(caught.value, openai.OpenAIError)
        assert type(caught.value).__name__ == "BudgetExceeded"
        assert server.n_connections == 0

    def test_a_broken_filter_is_asked_once(
        self, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[int] = []

        def broken(*_: Any, **__: Any) -> Any:
            asked.append(1)
            raise MemoryError(TEXT)

        monkeypatch.setattr(Sanitizer, "sanitize_batch", broken)
        with (
            shielded(server, max_retries=2) as client,
            pytest.raises(SanitizerError, match="nothing was sent") as caught,
        ):
            ask(client)
        assert len(asked) == 1
        assert not any(secret in str(caught.value) for secret in SECRETS)
        assert server.n_connections == 0

    def test_an_sdk_that_wraps_what_is_raised_gets_an_answer(
        self, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So do the SDKs of test_older_sdks.py; here the installed one takes the same way."""
        *row, _ = shielding._SDKS["openai"]
        monkeypatch.setitem(shielding._SDKS, "openai", (*row, (99, 0)))

        async def job(client: Any) -> None:
            await client.moderations.create(input=TEXT)

        with shielded(server, max_retries=2) as client, pytest.raises(RequestRefused) as caught:
            client.moderations.create(input=TEXT)
        assert isinstance(caught.value, openai.OpenAIError)
        with pytest.raises(RequestRefused):
            run_async(server, job, max_retries=2)
        http_client = shielding.shielded_http_client(LIB.Client(), identifiers(), False)
        with (
            openai.OpenAI(base_url=server.url, api_key="k", http_client=http_client) as client,
            pytest.raises(openai.NotFoundError, match="are not let through"),
        ):
            client.moderations.create(input=TEXT)
        assert server.n_connections == 0
        server.script(html(), error(400, "about <EMAIL_1>"))
        with shielded(server, max_retries=2) as client:
            with pytest.raises(UpstreamError):
                ask(client)
            with pytest.raises(openai.BadRequestError, match=SECRETS[0]):
                ask(client)
        check_clean(server, n_requests=2)


class TestRetries:
    @pytest.mark.parametrize("sanitizer", [identifiers, toy])
    @pytest.mark.parametrize("stream", [False, True])
    def test_every_attempt_sends_the_same_bytes(
        self, server: RecordingServer, sanitizer: Callable[[], Sanitizer], stream: bool
    ) -> None:
        server.script(error(429, headers=AT_ONCE), error(500, headers=AT_ONCE))
        one = sanitizer()
        with shielded(server, one, max_retries=2) as client:
            answer = client.chat.completions.create(
                model="m", messages=said(f"{WORD}: {TEXT}"), stream=stream
            )
            record = next(iter(answer)).sanitizer_record if stream else answer.sanitizer_record
        assert len({request.body for request in server.requests}) == 1
        check_clean(server, n_requests=3)
        assert one.spent == (record["epsilon_total"] if one.policy.perturb else 0.0)  # paid once

    @since(1, 66)
    def test_asynchronous_attempts(self, server: RecordingServer) -> None:
        async def job(client: Any) -> Any:
            return (await client.responses.create(model="m", input=TEXT)).output_text

        server.script(error(429, headers=AT_ONCE), error(503, headers=AT_ONCE))
        assert run_async(server, job, max_retries=2) == TEXT
        assert len({request.body for request in server.requests}) == 1
        check_clean(server, n_requests=3)

    def test_errors_of_the_api_are_the_sdk_s(self, server: RecordingServer) -> None:
        server.script(error(400, "about <EMAIL_1>"))
        with shielded(server) as client, pytest.raises(openai.BadRequestError, match=SECRETS[0]):
            ask(client)
        check_clean(server)


class TestBadAnswers:
    @pytest.mark.parametrize("stream", [False, True])
    def test_a_page(self, server: RecordingServer, stream: bool) -> None:
        server.script(html())
        with shielded(server, max_retries=2) as client, pytest.raises(UpstreamError):
            ask(client, stream=stream)
        check_clean(server)

    def test_an_error_page(self, server: RecordingServer) -> None:
        server.script(html(502))
        with shielded(server) as client, pytest.raises(openai.InternalServerError) as caught:
            ask(client)
        assert "Bad gateway" not in str(caught.value)

    @pytest.mark.parametrize(
        "rest",
        [b'data: {"choices": [', b"data: <html>\n\n", b'data: {"type": "response.unknown"}\n\n'],
    )
    @since(1, 66)
    def test_a_stream_that_cannot_be_read_on(self, server: RecordingServer, rest: bytes) -> None:
        server.script(Answer(iter([rest]), content_type="text/event-stream"))
        with shielded(server) as client, pytest.raises(UpstreamError) as caught:
            list(client.responses.create(model="m", input=TEXT, stream=True))
        assert isinstance(caught.value, openai.OpenAIError)
        check_clean(server)

    def test_a_stream_that_hangs(self, server: RecordingServer) -> None:
        def hangs() -> Iterator[bytes]:
            yield event({"id": "1", "choices": [{"index": 0, "delta": {"content": "Hello"}}]})
            server.ended.wait(10)

        server.script(Answer(hangs(), content_type="text/event-stream"))
        with shielded(server, timeout=0.3) as client:
            stream = ask(client, stream=True)
            assert next(stream).choices[0].delta.content == "Hello"
            with pytest.raises((LIB.ReadTimeout, openai.APITimeoutError)):
                next(stream)
        check_clean(server)

    def test_an_api_that_hangs(self, server: RecordingServer) -> None:
        def hangs() -> Iterator[bytes]:
            server.ended.wait(10)
            yield b""

        server.script(Answer(hangs()))
        with shielded(server, timeout=0.3) as client, pytest.raises(openai.APITimeoutError):
            ask(client)
        check_clean(server)

    def test_a_stream_that_is_left_is_closed(self, server: RecordingServer) -> None:
        gone = threading.Event()

        def endless() -> Iterator[bytes]:
            try:
                while True:
                    yield event(
                        {"id": "1", "choices": [{"index": 0, "delta": {"content": "more " * 1000}}]}
                    )
            finally:
                gone.set()

        async def job(client: Any) -> None:
            begun = asyncio.Event()

            async def read() -> None:
                stream = await ask(client, stream=True)
                async for _ in stream:
                    begun.set()

            task = asyncio.create_task(read())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(gone.wait, 10)

        server.script(Answer(endless(), content_type="text/event-stream"))
        run_async(server, job)
        check_clean(server)


def connecting() -> list[str]:
    """Every resource of the SDK that opens WebSockets, with its module; read, not imported: that
    takes each worker seconds.
    """
    spec = find_spec("openai")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    found = []
    for path in sorted((root / "resources").rglob("*.py")):
        module = ".".join(("openai", *path.relative_to(root).with_suffix("").parts))
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and any(
                isinstance(each, ast.FunctionDef) and each.name == "connect" for each in node.body
            ):
                found.append(f"{module}.{node.name}")
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", connecting())
@pytest.mark.parametrize("azure", [False, True], ids=["openai", "azure"])
def test_websockets_are_refused_before_anything_is_opened(
    server: RecordingServer, name: str, azure: bool
) -> None:
    module, _, class_name = name.rpartition(".")
    kind: Any = getattr(importlib.import_module(module), class_name)
    options: dict[str, Any] = {"base_url": server.url, "api_key": "test"}
    if azure:
        options = {"azure_endpoint": f"http://{server.host}", "api_version": "1", "api_key": "test"}
    prefix = "Async" if kind.__name__.startswith("Async") else ""
    client: Any = getattr(openai, f"{prefix}{'Azure' if azure else ''}OpenAI")(**options)
    ours = shield(client, identifiers())

    async def enter(manager: Any) -> None:
        async with manager:
            raise AssertionError

    def connect(one: Any) -> None:
        connect_to: Any = kind(one).connect
        needed = [
            name
            for name, p in inspect.signature(connect_to).parameters.items()
            if p.default is inspect.Parameter.empty
        ]
        more = {"model": "m"} if "model" in inspect.signature(connect_to).parameters else {}
        manager = connect_to(**{**dict.fromkeys(needed, "x"), **more})
        if prefix:
            run(enter(manager))
        else:
            manager.__enter__()

    for one in (ours, ours.copy(), ours.with_options(websocket_base_url=f"ws://{server.host}")):
        with pytest.raises(RequestRefused, match="WebSocket"):
            connect(one)
    assert server.n_connections == 0
    assert_none(server.received)


@since(1, 58)
def test_the_sdk_s_websockets_are_found() -> None:
    assert {name.rpartition(".")[2] for name in connecting()} >= {"Realtime", "AsyncRealtime"}
