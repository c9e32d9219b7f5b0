"""Which paths are open: those of the table, below any plain base path, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.text.policy import WireRules
from sanitizer.wire.endpoints import ENDPOINTS, Endpoint, find_endpoint, public_path
from sanitizer.wire.filter import Filter
from tests.clients.tool_calls import JSON, chat, spelled
from tests.wire.cases import cases

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
        own = re.sub(r"\{\w+\}", "x_1", row.path)
        for path in (f"/v1/{own}", f"/v1/{own}/responses"):
            with pytest.raises(RequestRefused, match=re.escape(row.reason)):
                find_endpoint("POST", path)


def test_a_deployment_may_have_any_plain_name() -> None:
    path = "/openai/deployments/embeddings/embeddings"
    assert find_endpoint("POST", path)[0].name == "embeddings"


@pytest.mark.parametrize("path", cases("paths"))
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


@pytest.mark.parametrize(
    "query",
    [
        "client_version=0.98.0",
        "limit=1000&after_id=model_1&beta=true",
        "pageSize=50&pageToken=Ch9hYmM%3D",
        "include%5B%5D=file_search_call.results&include[]=x",
        "api-version=2024-10-21",
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/gpt-5", "/v1/responses/r_1", "/some"])
def test_what_is_read_may_have_the_queries_of_lists(path: str, query: str) -> None:
    assert find_endpoint("GET", f"{path}?{query}", ("/some",))[0].method == "GET"


@pytest.mark.parametrize(
    "query",
    [
        "q=Peter",
        "limit=Peter%20Quill",
        "limit=1&user=peter",
        "after=a+b",
        "key=AIzaSyA",
        "limit",
        "&",
        "limit=1;b=2",
        "after=" + "x" * 201,
    ],
)
def test_other_queries_are_refused(query: str) -> None:
    with pytest.raises(RequestRefused, match="with this query"):
        find_endpoint("GET", f"/v1/models?{query}")


def test_a_query_holds_no_identifier() -> None:
    with pytest.raises(RequestRefused, match="identifier"):
        Filter(Sanitizer(policy="identifiers")).request(
            "GET", "/v1/models?after=4111111111111111", {}, b""
        )


def test_tokens_of_a_response_are_counted_of_what_would_leave() -> None:
    body = spelled({"model": "m", "input": "Write to anna@example.org.", "instructions": "Help."})
    filtered = Filter(Sanitizer(policy="identifiers"))
    exchange = filtered.request("POST", "/v1/responses/input_tokens", JSON, body)
    assert b"anna" not in exchange.body
    answer = b'{"object":"response.input_tokens","input_tokens":11}'
    assert exchange.response(200, "application/json", answer) == answer
    with pytest.raises(UpstreamError):
        exchange.response(200, "application/json", b'{"output":[]}')


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/responses/compact", "encrypted"),
        ("/v1/messages/batches", "later"),
        ("/v1/batches", "in a file"),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", "alt=sse"),
        ("/api/embed", "search"),
    ],
)
def test_the_longest_row_says_why(path: str, says: str) -> None:
    with pytest.raises(RequestRefused, match=says):
        find_endpoint("POST", path)


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
    assert (refused.value.reason, refused.value.status) == ("websocket", 426)
    filtered.request("POST", "/v1/chat/completions", {**JSON, "upgrade": "h2c"}, spelled(chat("x")))


def test_the_page_has_the_table() -> None:
    begin, end = "<!-- endpoints -->\n", "<!-- /endpoints -->"
    page = Path("docs/proxy.md").read_text("utf-8").partition(begin)[2].partition(end)[0]
    names = {"openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Gemini", "ollama": "Ollama"}
    rows = [
        f"| {names[row.format]} | {row.method.replace('*', 'any')} | `{row.path}` "
        f"| {row.treatment} | {row.reason} |"
        for name in names
        for row in ENDPOINTS
        if row.format == name
    ]
    head = ["| API | method | path | what happens | why |", "|---|---|---|---|---|"]
    assert page.splitlines() == [*head, *rows]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/openai/v1/chat/completions", "/openai/v1/chat/completions"),
        (
            "/gemini/v1beta/models/my-own:generateContent",
            "/gemini/v1beta/models/...:generateContent",
        ),
        ("/anthropic/v1/files/marit.pdf", "/anthropic/v1/files/..."),
        ("/Marit Solberg", "/..."),
        ("/", "/"),
    ],
)
def test_a_path_is_shown_without_what_clients_chose(path: str, shown: str) -> None:
    assert public_path(path) == shown
