"""Which paths are open: those of the table, below any plain base path, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.text.policy import WireRules
from sanitizer.wire.endpoints import ENDPOINTS, Endpoint, find_endpoint
from sanitizer.wire.filter import Filter
from tests.clients.tool_calls import JSON, chat, spelled

BASES = [
    "",
    "/v1",
    "/openai/v1",
    "/api/v1",
    "/v1beta/openai",
    "/openai/deployments/my-gpt-4.1",
    "/engines/text_1",
]


TREATED = [e for e in ENDPOINTS if (e.method, e.treatment) == ("POST", "treated")]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("row", TREATED, ids=lambda row: row.path)
def test_what_is_treated_is_open_below_a_base_path(base: str, row: Endpoint) -> None:
    path = f"{base}/{row.path}".replace("{model}", "gpt-5.1")
    assert find_endpoint("POST", path)[0] == row
    if row.format != "gemini":
        assert find_endpoint("POST", f"{path}?api-version=2024-10-21")[0] == row


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: row.path)
def test_every_row_says_why_it_is_not_treated(row: Endpoint) -> None:
    assert (row.treatment == "treated") != bool(row.reason)
    if row.treatment == "refused":
        for path in (f"/v1/{row.path}", f"/v1/{row.path}/responses"):
            with pytest.raises(RequestRefused, match=re.escape(row.reason)):
                find_endpoint("POST", path)


def test_a_deployment_may_have_any_plain_name() -> None:
    path = "/openai/deployments/embeddings/embeddings"
    assert find_endpoint("POST", path)[0].name == "embeddings"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "*",
        "/v1",
        "/v1/files",
        "/v1/batches",
        "/v1/realtime",
        "/v1/audio/transcriptions",
        "/v1/responses/input_tokens",
        "/v1/responses/resp_1/cancel",
        "/v1/threads/responses",
        "/v1/realtime/responses",
        "/v1/chat/completions/",
        "/v1/chat/completions/x",
        "/v1//chat/completions",
        "//evil.example/v1/chat/completions",
        "http://evil.example/v1/chat/completions",
        "v1/chat/completions",
        "/v1/chat/completions/../files",
        "/v1/files/../chat/completions",
        "/v1/./chat/completions",
        "/v1/files/%2e%2e/chat/completions",
        "/v1/%63hat/completions",
        "/v1/chat%2Fcompletions",
        "/v1/chat\\completions",
        "/v1/Chat/Completions",
        "/v1/CHAT/completions",
        "/v1/chat/completions?x=peter.quill@example.com",
        "/v1/chat/completions?api-version=",
        "/v1/chat/completions?api-version=a&user=peter",
        "/v1/chat/completions#x",
        "/v1/chat/completions;x",
        "/v1/chat/completions\n",
        "/v1/chat/completions ",
        "/v1/chat/completions\x00",
        "/ｖ1/chat/completions",
        "/peter.quill@example.com/chat/completions",
        "/v1/xchat/completionsx",
        "/models",
    ],
)
def test_nothing_else_is_open(path: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        find_endpoint("POST", path, ("/models",))
    assert (refused.value.reason, refused.value.status) == ("endpoint", 404)
    assert "evil" not in str(refused.value)


@pytest.mark.parametrize(
    "method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "post", "CONNECT"]
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_only_post_is_open(method: str, path: str) -> None:
    with pytest.raises(RequestRefused):
        find_endpoint(method, path)


def test_a_policy_opens_paths_for_reading() -> None:
    assert find_endpoint("GET", "/v1/some", ("/some",))[0].treatment == "passed"
    for method, path in [
        ("GET", "/v1/files/models"),
        ("DELETE", "/v1/models"),
        ("GET", "/v1"),
    ]:
        with pytest.raises(RequestRefused):
            find_endpoint(method, path, ("/models", "", "/"))


def test_what_is_read_passes_as_it_is() -> None:
    policy = replace(Policy.preset("identifiers"), wire=WireRules(endpoints=("/models",)))
    filtered = Filter(Sanitizer(policy=policy))
    exchange = filtered.request("GET", "/v1/models", {}, b"")
    assert (exchange.body, exchange.streams, exchange.record.n_texts) == (b"", False, 0)
    assert exchange.response(200, "application/json", b'{"data": [1.0]}') == b'{"data": [1.0]}'
    with pytest.raises(UpstreamError):
        exchange.stream("text/event-stream")
    with pytest.raises(RequestRefused):
        filtered.request("GET", "/v1/models", JSON, b"text")


def test_websockets_are_refused() -> None:
    filtered = Filter(Sanitizer(policy="identifiers"))
    with pytest.raises(RequestRefused) as refused:
        filtered.request(
            "POST", "/v1/responses", {**JSON, "upgrade": "WebSocket"}, b'{"input":"x"}'
        )
    assert refused.value.reason == "endpoint"
    filtered.request("POST", "/v1/chat/completions", {**JSON, "upgrade": "h2c"}, spelled(chat("x")))
