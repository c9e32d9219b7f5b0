"""Who may ask: hosts, origins, tokens."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sanitizer.proxy.access import ProxySettings
from sanitizer.proxy.server import Listener
from sanitizer.urls import is_loopback
from tests.proxy.servers import MAIL, Proxy, Upstream, cases, fixed, proxy, reply, upstream

TOKEN = "a-token-of-the-proxy"  # noqa: S105  opens nothing
PATHS = ("/v1/chat/completions", "/page/preview", "/page/settings", "/", "/metrics")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1, a", "[::2]"],
)
def test_other_names_of_this_machine_are_refused(
    api: Proxy, up: Upstream, path: str, host: str
) -> None:
    answer = api.client.post(
        path, json={"messages": [{"role": "user", "content": "x"}]}, headers={"host": host}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "host")
    assert not up.raw


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:9", "proxy.example:443"]
)
def test_its_own_names_are_known(up: Upstream, host: str) -> None:
    with proxy(up.url, hosts=("proxy.example",)) as api:
        assert api.chat("x", host=host).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", ""]
)
def test_web_pages_of_other_origins_are_refused(
    api: Proxy, up: Upstream, path: str, origin: str
) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = api.client.request(
            method, path, headers={"origin": origin, "access-control-request-method": "POST"}
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin")
        assert "access-control-allow-origin" not in answer.headers
    assert not up.raw


def test_its_own_page_may_ask(api: Proxy) -> None:
    own = {"origin": f"http://127.0.0.1:{api.port}"}
    assert api.client.get("/page/settings", headers=own).status_code == 200


def test_an_allowed_origin_may_ask_and_read(up: Upstream) -> None:
    page = {"origin": "https://app.example"}
    asking = page | {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }
    with proxy(up.url, origins=("https://app.example",), token=TOKEN) as api:
        preflight = api.client.options("/v1/chat/completions", headers=asking)
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-headers"] == "authorization"
        answer = api.chat("x", page, sanitizer_token=TOKEN)
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in answer.headers
        refused = api.chat("x", page)
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == "https://app.example"
        elsewhere = api.client.options(
            "/v1/chat/completions", headers=asking | {"origin": "https://other.example"}
        )
        assert elsewhere.status_code == 403
    assert len(up.requests) == 1


@pytest.mark.parametrize(
    "given",
    [{}, {"sanitizer-token": TOKEN[:-1]}, {"sanitizer-token": "é"}, {"sanitizer-token": ""}],
)
def test_without_the_token_nothing_is_answered(up: Upstream, given: dict[str, str]) -> None:
    with proxy(up.url, token=TOKEN) as api:
        for path in PATHS:
            headers = [(name.encode(), value.encode()) for name, value in given.items()]
            answer = api.client.request("POST", path, content=b"{}", headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token")
            assert TOKEN[:-1] not in answer.text
        assert api.client.get("/healthz").status_code == 200
    assert not up.raw


def test_the_token_goes_beside_the_clients_key_and_no_further(up: Upstream) -> None:
    with proxy(up.url, token=TOKEN) as api:
        answer = api.chat(MAIL, sanitizer_token=TOKEN, authorization="Bearer sk-client")
        assert answer.status_code == 200
        as_key = api.chat(MAIL, authorization=f"Bearer {TOKEN}")
        assert as_key.status_code == 401
    assert up.requests[0].headers["authorization"] == "Bearer sk-client"
    assert TOKEN.encode() not in up.raw


def test_the_token_is_the_clients_key_where_the_proxy_has_the_upstreams(up: Upstream) -> None:
    with proxy(up.url, token=TOKEN, key="sk-proxy") as api:
        assert api.chat(MAIL, authorization=f"Bearer {TOKEN}").status_code == 200
        assert api.chat(MAIL, authorization="Bearer sk-client").status_code == 401
    assert up.requests[0].headers["authorization"] == "Bearer sk-proxy"
    assert TOKEN.encode() not in up.raw


def test_browsers_ask_their_user_for_the_token(up: Upstream) -> None:
    def basic(password: str) -> str:
        return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()

    with proxy(up.url, token=TOKEN) as api:
        asked = api.client.get("/")
        assert (asked.status_code, asked.headers["www-authenticate"][:5]) == (401, "Basic")

        def status(path: str, authorization: str, method: str = "GET") -> int:
            headers = {"authorization": authorization, "content-type": "application/json"}
            return api.client.request(method, path, content=b"{}", headers=headers).status_code

        assert status("/page/settings", basic(TOKEN)) == 200
        assert status("/metrics", f"Bearer {TOKEN}") == 200
        for wrong in (basic("wrong"), "Basic %%", "Basic"):
            assert status("/page/settings", wrong) == 401
        assert status("/v1/responses", basic(TOKEN), "POST") == 401
    assert not up.raw


# ---- settings ----


@cases("settings")
def test_settings_that_cannot_work_are_named_and_secrets_are_not_shown(
    case: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match=case["named"]) as caught:
        ProxySettings(**{"upstream": "https://h/v1", **case["settings"]})
    assert "secret" not in str(caught.value)


def test_secrets_are_not_in_a_repr() -> None:
    secrets = {"key": "hidden-key", "token": "hidden-token-0123456"}
    assert "hidden" not in repr(ProxySettings("https://h/v1", **secrets))  # type: ignore[arg-type]


EVERYWHERE = "0.0.0.0"  # noqa: S104  refused


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "192.0.2.1", "proxy.example", ""])
def test_other_machines_are_let_in_only_on_purpose_and_with_a_token(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(ValueError, match="expose"):
        Listener(host).check(TOKEN)
    with pytest.raises(ValueError, match="token"):
        Listener(host, exposed=True).check(None)
    Listener(host, exposed=True).check(TOKEN)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST"]
)
def test_this_machine_needs_neither(host: str) -> None:
    Listener(host).check(None)


def test_redirects_lead_nowhere() -> None:
    with upstream() as other:
        with (
            upstream(fixed(reply(b"", "text/plain", 307, f"location: {other.url}"))) as up,
            proxy(up.url) as api,
        ):
            assert api.chat(MAIL).status_code == 502
        assert not other.raw


def test_proxies_of_the_environment_are_not_used_for_this_machine(
    up: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with proxy(up.url) as api:
        assert api.chat("x").status_code == 200


def test_proxies_of_the_environment_are_used_for_others(
    up: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", up.url.removesuffix("/v1"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with proxy("http://api.example/v1") as api:
        assert api.chat(MAIL).status_code == 200
    assert up.requests[0].line == "POST http://api.example/v1/chat/completions HTTP/1.1"
    assert MAIL.encode() not in up.raw
