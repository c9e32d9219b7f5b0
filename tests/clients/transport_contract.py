"""What the transports of both HTTP libraries do; the libraries' test files inherit it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sanitizer import Sanitizer
from sanitizer.errors import RequestRefused, SanitizerError, UpstreamError
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing.server import (
    Answer,
    Received,
    RecordingServer,
    echo,
    event,
    html,
    says,
    zipped,
)
from tests.clients.sdk_clients import (
    SECRETS,
    TEXT,
    ForwardProxy,
    check_clean,
    identifiers,
    run,
    said,
)
from tests.clients.tool_calls import WORD, toy

BODY = {"model": "m", "messages": said()}


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


class Ours(Exception):
    """Not known to anybody."""


class TransportContract:
    """Inherited with `lib`, the HTTP library, and `adapter`, the module of its transports."""

    lib: Any
    adapter: Any

    def client(self, sanitizer: Sanitizer | None = None, **options: Any) -> Any:
        transport = self.adapter.FilterTransport(
            self.lib.HTTPTransport(), sanitizer or identifiers()
        )
        return self.lib.Client(transport=transport, **options)

    def async_client(self, sanitizer: Sanitizer | None = None, **options: Any) -> Any:
        transport = self.adapter.AsyncFilterTransport(
            self.lib.AsyncHTTPTransport(), sanitizer or identifiers()
        )
        return self.lib.AsyncClient(transport=transport, **options)

    def post(
        self,
        server: RecordingServer,
        sanitizer: Sanitizer | None = None,
        body: Any = BODY,
        **more: Any,
    ) -> Any:
        with self.client(sanitizer) as client:
            return client.post(server.url + "/chat/completions", json=body, **more)

    def test_what_arrives_is_sanitized_and_the_answer_restored(
        self, server: RecordingServer
    ) -> None:
        response = self.post(server)
        assert response.json()["choices"][0]["message"]["content"] == TEXT
        check_clean(server)

    def test_the_request_has_the_length_of_what_is_sent(self, server: RecordingServer) -> None:
        self.post(server, headers={"x-kept": "yes"})
        request = server.requests[0]
        names = [name.lower() for name, _ in request.headers]
        assert request.header("content-length") == str(len(request.body))
        assert request.header("accept-encoding") == "identity"
        assert request.header("x-kept") == "yes"
        assert "transfer-encoding" not in names
        assert sorted(set(names)) == sorted(names)

    def test_a_request_can_be_sent_again(self, server: RecordingServer) -> None:
        with self.client() as client:
            request = client.build_request("POST", server.url + "/chat/completions", json=BODY)
            before = (request.content, dict(request.headers))
            client.send(request)
            client.send(request)
            assert (request.content, dict(request.headers)) == before
        first, second = server.requests
        assert first == second
        check_clean(server, n_requests=2)

    def test_bodies_that_come_in_pieces_are_read_whole(self, server: RecordingServer) -> None:
        pieces = [json.dumps(BODY).encode()[i : i + 5] for i in range(0, 1000, 5)]
        with self.client() as client:
            headers = {"content-type": "application/json"}
            client.post(server.url + "/chat/completions", content=iter(pieces), headers=headers)
        check_clean(server)

    def test_the_record_is_in_the_headers_and_cannot_be_forged(
        self, server: RecordingServer
    ) -> None:
        server.script(
            lambda r: Answer(
                echo(r).body, headers=(("Sanitizer-N-Identifiers", "0"), ("sanitizer-fake", "1"))
            )
        )
        headers = self.post(server).headers
        assert headers.get_list("sanitizer-n-identifiers") == [str(len(SECRETS))]
        assert "sanitizer-fake" not in headers

    def test_compressed_answers_are_restored(self, server: RecordingServer) -> None:
        server.script(zipped())
        response = self.post(server)
        assert response.json()["choices"][0]["message"]["content"] == TEXT
        assert "content-encoding" not in response.headers
        assert response.headers["content-length"] == str(len(response.content))

    def test_compressed_streams_are_restored(self, server: RecordingServer) -> None:
        server.script(zipped())
        assert TEXT in spoken(self.post(server, body={**BODY, "stream": True}).text)

    def test_errors_of_the_api_are_restored(self, server: RecordingServer) -> None:
        def complaint(received: Received) -> Answer:
            return Answer(
                json.dumps(
                    {"error": {"message": received.json["messages"][0]["content"]}}
                ).encode(),
                400,
            )

        server.script(complaint)
        response = self.post(server)
        assert response.status_code == 400
        assert response.json()["error"]["message"] == TEXT

    def test_a_page_instead_of_json_is_an_error(self, server: RecordingServer) -> None:
        server.script(html(200))
        with pytest.raises(UpstreamError):
            self.post(server)

    def test_an_error_page_becomes_an_error_in_the_api_s_shape(
        self, server: RecordingServer
    ) -> None:
        server.script(html(503))
        response = self.post(server)
        assert response.status_code == 503
        assert response.headers["content-type"] == "application/json"
        assert "Bad gateway" not in response.json()["error"]["message"]

    @pytest.mark.parametrize(
        "path", ["/files", "/audio/transcriptions", "/chat/completions?q=peter.quill@example.com"]
    )
    def test_nothing_is_sent_elsewhere(self, server: RecordingServer, path: str) -> None:
        with self.client() as client, pytest.raises(RequestRefused):
            client.post(server.url + path, json=BODY)
        assert server.n_connections == 0

    @pytest.mark.parametrize(
        "header",
        [
            ("digest", "sha-256=x"),
            ("X-Amz-Content-SHA256", "x"),
            ("authorization", "AWS4-HMAC-SHA256 x"),
        ],
    )
    def test_nothing_is_sent_with_a_digest_of_the_original(
        self, server: RecordingServer, header: Any
    ) -> None:
        with pytest.raises(RequestRefused) as caught:
            self.post(server, headers=[header])
        assert caught.value.reason == "signed"
        assert server.n_connections == 0

    def test_nothing_is_sent_when_the_filter_breaks(
        self, server: RecordingServer, monkeypatch: Any
    ) -> None:
        def broken(*_: Any, **__: Any) -> Any:
            raise Ours(TEXT)

        monkeypatch.setattr(Sanitizer, "sanitize_batch", broken)
        with pytest.raises(SanitizerError, match="nothing was sent: Ours in the filter") as caught:
            self.post(server)
        assert not any(secret in str(caught.value) for secret in SECRETS)
        assert caught.value.__cause__ is None
        assert server.n_connections == 0

    def test_a_filter_is_not_wrapped_again(self) -> None:
        for kind, base in (
            ("FilterTransport", "HTTPTransport"),
            ("AsyncFilterTransport", "AsyncHTTPTransport"),
        ):
            once = getattr(self.adapter, kind)(getattr(self.lib, base)(), identifiers())
            with pytest.raises(ValueError, match="already"):
                getattr(self.adapter, kind)(once, identifiers())

    def test_a_stream_comes_as_the_api_sends_it(self, server: RecordingServer) -> None:
        """The second half is sent only once the first has been seen."""
        seen = threading.Event()

        def halves() -> Iterator[bytes]:
            yield chunk("Hello ")
            assert seen.wait(10)
            yield chunk("world")
            yield b"data: [DONE]\n\n"

        server.script(Answer(halves(), content_type="text/event-stream"))
        got = ""
        with (
            self.client() as client,
            client.stream("POST", server.url + "/chat/completions", json=STREAM) as response,
        ):
            for line in response.iter_lines():
                got += line
                if "Hello " in line:
                    seen.set()
        assert "world" in got

    def test_closing_a_stream_closes_the_api_s(self, server: RecordingServer) -> None:
        endless = Endless(chunk("more" * 3000))
        server.script(Answer(endless.pieces(), content_type="text/event-stream"))
        with self.client() as client:
            with client.stream("POST", server.url + "/chat/completions", json=STREAM) as response:
                pieces = (
                    response.iter_bytes()
                )  # kept, so that nothing is closed because it was collected
                next(pieces)
            assert endless.gone.wait(10)

    def test_a_stream_that_was_left_is_in_the_vault(self, server: RecordingServer) -> None:
        """Another process reads it there: what the API wrote is not the user's."""
        vault, said = MemoryVault(), "It is 219-09-9999, so to say."

        def opened() -> Sanitizer:
            return Sanitizer(policy="identifiers", vault=vault, conversation="c")

        async def leave() -> None:
            async with (
                self.async_client(opened()) as client,
                client.stream("POST", server.url + "/chat/completions", json=STREAM) as response,
            ):
                await anext(response.aiter_bytes())

        unknown = opened().derive(conversation="another")
        assert unknown.sanitize(said, role="assistant").text != said
        endless = Endless(chunk(said))
        server.script(Answer(endless.pieces(), content_type="text/event-stream"))
        with (
            self.client(opened()) as client,
            client.stream("POST", server.url + "/chat/completions", json=STREAM) as response,
        ):
            next(response.iter_bytes())
        assert opened().sanitize(said, role="assistant").text == said
        vault = MemoryVault()
        server.script(Answer(endless.pieces(), content_type="text/event-stream"))
        run(leave())
        assert opened().sanitize(said, role="assistant").text == said

    def test_closing_an_asynchronous_stream_closes_the_api_s(self, server: RecordingServer) -> None:
        endless = Endless(chunk("more" * 3000))

        async def work() -> None:
            async with self.async_client() as client:
                async with client.stream(
                    "POST", server.url + "/chat/completions", json=STREAM
                ) as response:
                    pieces = response.aiter_bytes()
                    await anext(pieces)
                assert await asyncio.to_thread(endless.gone.wait, 10)

        server.script(Answer(endless.pieces(), content_type="text/event-stream"))
        run(work())

    def test_an_answer_that_is_no_stream_is_closed(self, server: RecordingServer) -> None:
        endless = Endless(b" " * 10_000)
        server.script(Answer(endless.pieces()))
        with self.client() as client:
            with pytest.raises(UpstreamError, match="event stream"):
                client.post(server.url + "/chat/completions", json=STREAM)
            assert endless.gone.wait(10)

    def test_an_answer_that_is_no_stream_is_closed_by_asynchronous_clients(
        self, server: RecordingServer
    ) -> None:
        endless = Endless(b" " * 10_000)

        async def work() -> None:
            async with self.async_client() as client:
                with pytest.raises(UpstreamError, match="event stream"):
                    await client.post(server.url + "/chat/completions", json=STREAM)
                assert await asyncio.to_thread(endless.gone.wait, 10)

        server.script(Answer(endless.pieces()))
        run(work())

    @pytest.mark.parametrize(
        "body",
        [b'data: {"choices": [', b"data: not json\n\n", b"data: [1]\n\n"],
    )
    def test_half_an_event_is_an_error(self, server: RecordingServer, body: bytes) -> None:
        server.script(Answer(iter([chunk("Hello"), body]), content_type="text/event-stream"))
        with pytest.raises(UpstreamError):
            self.post(server, body=STREAM)

    def test_a_hanging_stream_ends_with_the_client_s_timeout(self, server: RecordingServer) -> None:
        def hangs() -> Iterator[bytes]:
            yield chunk("Hello")
            server.ended.wait(10)

        server.script(Answer(hangs(), content_type="text/event-stream"))
        with pytest.raises(self.lib.ReadTimeout):
            self.post(server, body=STREAM, timeout=0.3)
        check_clean(server)

    def test_redirects_are_filtered_from_the_original_again(self, server: RecordingServer) -> None:
        """Not the sanitized body again: what arrives is the same, and comes back restored."""
        with RecordingServer() as other:
            moved = ("location", other.url + "/chat/completions")
            server.script(Answer(b"", 307, headers=(moved,)))
            with self.client(follow_redirects=True) as client:
                response = client.post(server.url + "/chat/completions", json=BODY)
            assert response.json()["choices"][0]["message"]["content"] == TEXT
            assert server.requests[0].body == other.requests[0].body
            check_clean(server, other)

    def test_redirects_elsewhere_are_refused(self, server: RecordingServer) -> None:
        server.script(Answer(b"", 307, headers=(("location", server.url + "/files"),)))
        with self.client(follow_redirects=True) as client, pytest.raises(RequestRefused):
            client.post(server.url + "/chat/completions", json=BODY)
        check_clean(server)

    def test_asynchronous_requests_are_sanitized(self, server: RecordingServer) -> None:
        async def work() -> None:
            async with self.async_client() as client:
                for stream in (False, True):
                    response = await client.post(
                        server.url + "/chat/completions", json={**BODY, "stream": stream}
                    )
                    assert TEXT in (
                        spoken(response.text)
                        if stream
                        else response.json()["choices"][0]["message"]["content"]
                    )

        run(work())
        check_clean(server, n_requests=2)

    @pytest.mark.parametrize("half", [False, True])
    def test_asynchronous_failures_are_errors(self, server: RecordingServer, half: bool) -> None:
        async def work() -> None:
            async with self.async_client() as client:
                await client.post(server.url + "/chat/completions", json=BODY)

        server.script(
            Answer(iter([b"data: {"]), content_type="text/event-stream") if half else html(200)
        )
        with pytest.raises(UpstreamError):
            run(work())

    @pytest.mark.parametrize(
        ("sanitizer", "n"), [(toy(), 1), (identifiers(), 1000)], ids=["words", "long"]
    )
    def test_the_event_loop_goes_on_while_texts_are_sanitized(
        self, server: RecordingServer, sanitizer: Sanitizer, n: int, monkeypatch: Any
    ) -> None:
        """Sanitizing waits for a task of the loop: inside the loop it would wait for ever."""
        ran, original = threading.Event(), Sanitizer.sanitize_batch

        def waits(self: Sanitizer, *given: Any, **more: Any) -> Any:
            assert ran.wait(10)
            return original(self, *given, **more)

        async def ticks() -> None:
            await asyncio.sleep(0)
            ran.set()

        async def work() -> None:
            async with self.async_client(sanitizer) as client:
                url, body = (
                    server.url + "/chat/completions",
                    {"model": "m", "messages": said(f"{WORD} " * n)},
                )
                await asyncio.gather(client.post(url, json=body), ticks())

        monkeypatch.setattr(Sanitizer, "sanitize_batch", waits)
        run(work())
        assert len(server.requests) == 1

    def test_a_call_cancelled_while_it_is_sanitized_sends_nothing(
        self, server: RecordingServer, monkeypatch: Any
    ) -> None:
        begun, go, ended = threading.Event(), threading.Event(), threading.Event()
        original = Sanitizer.sanitize_batch

        def waits(self: Sanitizer, *given: Any, **more: Any) -> Any:
            begun.set()
            assert go.wait(10)
            try:
                return original(self, *given, **more)
            finally:
                ended.set()

        async def work() -> None:
            async with self.async_client(toy()) as client:
                call = asyncio.create_task(client.post(server.url + "/chat/completions", json=BODY))
                await asyncio.to_thread(begun.wait, 10)
                call.cancel()
                go.set()
                with pytest.raises(asyncio.CancelledError):
                    await call
                await asyncio.to_thread(ended.wait, 10)

        monkeypatch.setattr(Sanitizer, "sanitize_batch", waits)
        run(work())
        assert ended.is_set()
        assert server.n_connections == 0

    def test_every_transport_of_a_client_is_filtered(self, server: RecordingServer) -> None:
        with ForwardProxy() as proxy, RecordingServer() as other:
            mounts = {
                f"http://{other.host}": self.lib.HTTPTransport(proxy=self.lib.Proxy(proxy.address)),
                "http://unused": None,
            }
            with (
                self.lib.Client(mounts=mounts) as plain,
                self.adapter.filtered(plain, identifiers()) as client,
            ):
                client.post(server.url + "/chat/completions", json=BODY)
                response = client.post(other.url + "/chat/completions", json=BODY)
            assert response.headers["x-proxy"] == "passed"
            assert response.json()["choices"][0]["message"]["content"] == TEXT
            check_clean(server, proxy, other)

    def test_the_given_client_stays_as_it_is(self, server: RecordingServer) -> None:
        with self.lib.Client(
            trust_env=False, cookies={"a": "b"}, headers={"x-kept": "yes"}
        ) as plain:
            with self.adapter.filtered(plain, identifiers()) as client:
                client.post(server.url + "/chat/completions", json=BODY)
            check_clean(server)
            assert server.requests[0].header("cookie") == "a=b"
            assert server.requests[0].header("x-kept") == "yes"
            plain.post(server.url + "/chat/completions", json=BODY)
        assert SECRETS[0].encode() in server.requests[1].body

    def test_a_client_with_its_own_way_is_refused(self) -> None:
        class Own(self.lib.Client):  # type: ignore[name-defined, misc]
            def _transport_for_url(self, url: Any) -> Any:
                return self._transport

        with Own() as own, pytest.raises(TypeError, match="Own"):
            self.adapter.filtered(own, identifiers())

    def test_words_are_perturbed_too(self, server: RecordingServer) -> None:
        self.post(server, toy(), body={"model": "m", "messages": said(f"I am {WORD}, {TEXT}")})
        check_clean(server)
        assert WORD.encode() not in server.received

    def test_placeholders_the_model_makes_up_stay(self, server: RecordingServer) -> None:
        server.script(says("<EMAIL_1> and <EMAIL_77>"))
        assert (
            self.post(server).json()["choices"][0]["message"]["content"]
            == f"{SECRETS[0]} and <EMAIL_77>"
        )


class Endless:
    """More than fits on the way. gone: set once nobody takes it any more."""

    def __init__(self, piece: bytes) -> None:
        self._piece, self.gone = piece, threading.Event()

    def pieces(self) -> Iterator[bytes]:
        try:
            for _ in range(5_000):
                yield self._piece
        finally:
            self.gone.set()


STREAM = {**BODY, "stream": True}


def chunk(text: str) -> bytes:
    return event(
        {"id": "1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    )


def spoken(stream: str) -> str:
    """The deltas of a stream of chat, put together."""
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return "".join(
        choice["delta"].get("content") or "" for found in events for choice in found["choices"]
    )
