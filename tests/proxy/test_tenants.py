"""With a configuration, keys decide policy, upstream and budget; what clients send does not."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from sanitizer import Corrections, Sanitizer
from sanitizer.errors import AuditError, PolicyError
from sanitizer.proxy.access import ProxySettings
from sanitizer.proxy.audit_log import AuditLog
from sanitizer.proxy.configuration import Configuration, Tenant, digest_of
from sanitizer.proxy.server import Listener, create_app
from sanitizer.proxy.tenants import Tenants
from sanitizer.storage.ledger import DAY, Budgets, Scope
from sanitizer.storage.vault import Vault
from tests.proxy.servers import MAIL, Proxy, Upstream, cases, serving, upstream

ADA, BEA = "a-made-up-key-of-ada", "a-made-up-key-of-bea"
TRACE = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
ILL = "My father Peter has {} and lives in Leeds."


@dataclass
class Served:
    """A proxy with tenants; its file can be changed."""

    api: Proxy
    tenants: Tenants
    folder: Path

    def ask(self, text: str, key: str = ADA, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.api.chat(text, {"authorization": f"Bearer {key}", **named})

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "audit").read_text().splitlines()]

    def spent(self, kind: str, name: str = "") -> float:
        return self.tenants.ledger.balance(Scope(kind, name)).spent


def text_of(url: str, more: str = "", ada: str = "") -> str:
    return f"""
[audit]
to = "file:audit"
[upstreams.first]
url = "{url}"
key = "env:UPSTREAM_KEY"
headers = ["X-Team-Id"]
[upstreams.second]
url = "{url}/other"
[[tenants]]
name = "ada"
keys = ["sha256:{digest_of(ADA)}"]
policy = "identifiers"
upstreams = ["first", "second"]
scopes = ["user:ada", "team:legal", "day"]
{ada}
[[tenants]]
name = "bea"
keys = ["sha256:{digest_of(BEA)}"]
policy = "identifiers"
{more}
"""


def sanitizer_for(tenant: Tenant, vault: Vault, ledger: Budgets) -> Sanitizer:
    return Sanitizer(policy=tenant.policy, vault=vault, ledger=ledger, conversation="default")


@contextmanager
def served(
    up: Upstream,
    folder: Path,
    text: str = "",
    listener: Listener = Listener(port=0),  # noqa: B008  frozen
    verify: ssl.SSLContext | bool = True,
    **settings: Any,
) -> Iterator[Served]:
    path = folder / "proxy.toml"
    path.write_text(text or text_of(up.url))
    made = ProxySettings("http://configured.invalid", **settings)
    tenants = Tenants(path, made, sanitizer_for)
    with serving(create_app(tenants, made), listener, verify, "localhost") as running:
        yield Served(running, tenants, folder)


@pytest.fixture
def proxy(up: Upstream, tmp_path: Path) -> Iterator[Served]:
    with served(up, tmp_path) as running:
        yield running


# ---- who asks ----


def test_a_key_of_the_file_is_needed_and_never_leaves(proxy: Served, up: Upstream) -> None:
    assert proxy.ask(f"Mail {MAIL}").status_code == 200
    assert up.requests[0].headers["authorization"] == "Bearer sk-of-the-upstream"
    assert ADA.encode() not in up.raw
    assert MAIL.encode() not in up.raw
    for wrong in ({"authorization": "Bearer nobody-knows-this-key"}, {"api-key": ""}, {}):
        answer = proxy.api.chat("Hello", wrong)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "key")
    assert len(up.requests) == 1


@pytest.mark.parametrize("header", ["api-key", "x-api-key", "sanitizer-token"])
def test_the_key_may_come_in_other_headers(proxy: Served, header: str) -> None:
    assert proxy.api.chat("Hello", {header: ADA}).status_code == 200


def test_with_a_key_of_its_own_header_the_clients_other_key_goes_to_the_upstream(
    proxy: Served, up: Upstream
) -> None:
    headers = {
        "sanitizer-token": ADA,
        "authorization": "Bearer sk-own",
        "sanitizer-upstream": "second",
    }
    proxy.api.chat("Hello", headers)
    assert up.requests[0].headers["authorization"] == "Bearer sk-own"
    assert up.requests[0].line.startswith("POST /v1/other/chat/completions")


def test_only_the_upstreams_of_the_tenant_can_be_chosen(proxy: Served, up: Upstream) -> None:
    assert proxy.ask("Hello", BEA, sanitizer_upstream="second").status_code == 400
    assert proxy.ask("Hello", BEA).status_code == 200
    assert len(up.requests) == 1


def test_no_tenant_reaches_the_conversation_of_another(proxy: Served) -> None:
    mine = proxy.ask(f"Mail {MAIL}", sanitizer_conversation="c")
    assert mine.headers["sanitizer-conversation"] == "c/ada"
    theirs = proxy.ask("Who is <EMAIL_1>?", BEA, sanitizer_conversation="c")
    assert MAIL not in theirs.text
    assert proxy.ask("x", BEA, sanitizer_conversation="c/ada").status_code == 400


def test_traces_and_listed_headers_pass_where_they_are_well_formed(
    proxy: Served, up: Upstream
) -> None:
    more = {"traceparent": TRACE, "tracestate": "a=1", "x-team-id": "legal", "x-other": "no"}
    proxy.ask("Hello", **{name.replace("-", "_"): value for name, value in more.items()})
    proxy.ask("Hello", traceparent="00-peter.lund-1-2", tracestate="a=1")
    first, second = (each.headers for each in up.requests)
    assert {name: first.get(name) for name in more} == {**more, "x-other": None}
    assert not {"traceparent", "tracestate"} & set(second)


def test_a_client_certificate_of_the_file_is_as_good_as_a_key(
    up: Upstream, tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    der = x509.load_pem_x509_certificate(cert.read_bytes()).public_bytes(Encoding.DER)
    text = text_of(up.url, ada=f'certificates = ["sha256:{digest_of(der)}"]')
    with_it, without = (ssl.create_default_context(cafile=str(cert)) for _ in range(2))
    with_it.load_cert_chain(cert, key)
    listener = Listener(port=0, certfile=cert, keyfile=key, client_ca=cert)
    for context, status in ((with_it, 200), (without, 401)):
        with served(up, tmp_path, text, listener, context) as running:
            assert running.api.chat("Hello").status_code == status
            named = {"certificate": digest_of(der), "x-client-cert": digest_of(der)}
            again = running.api.chat("Hello", named)
            assert again.status_code == status, "no header stands for a certificate"


# ---- budgets ----


@pytest.fixture
def limited(up: Upstream, tmp_path: Path) -> Iterator[Served]:
    """Two users of one team: 5 for each draw."""
    text = text_of(up.url, ada="budget = 10.0").replace('"identifiers"', '"guarded"')
    text = text.replace("[audit]", '[limits]\nday = 20.0\n"team:legal" = 12.0\n[audit]')
    with served(up, tmp_path, text + 'scopes = ["user:bea", "team:legal", "day"]\n') as running:
        yield running


def test_no_header_and_no_key_begins_another_budget(limited: Served, up: Upstream) -> None:
    illnesses = ("hepatitis", "asthma", "epilepsy", "lupus")
    answers = [
        limited.ask(ILL.format(illness), sanitizer_conversation=f"c{number}")
        for number, illness in enumerate(illnesses)
    ]
    assert [each.status_code for each in answers] == [200, 200, 403, 403]
    assert answers[2].json()["error"]["code"] == "budget_exceeded"
    for made_up in ("another-made-up-key-1", "another-made-up-key-2"):
        assert limited.ask(ILL.format("gout"), made_up).status_code == 401
    more = {"openai-organization": "org-2", "sanitizer-upstream": "second"}
    assert limited.ask(ILL.format("gout"), **more, sanitizer_conversation="d").status_code == 403
    assert limited.ask(ILL.format("gout"), BEA).status_code == 403, "the team has 2 left"
    assert limited.spent("user", "ada") == limited.spent("team", "legal") == 10.0
    assert limited.tenants.ledger.balance(DAY).spent == 10.0
    assert len(up.requests) == 2


def test_the_conversation_is_charged_too(limited: Served) -> None:
    limited.ask(ILL.format("hepatitis"), sanitizer_conversation="c")
    limited.ask(ILL.format("hepatitis"), sanitizer_conversation="c")
    assert limited.spent("conversation", "c/ada") == 5.0


# ---- the audit log ----


def test_the_log_tells_who_and_how_much_and_no_text(proxy: Served) -> None:
    proxy.ask(f"Mail {MAIL}", traceparent=TRACE, sanitizer_conversation="about-peter")
    proxy.ask("Hello", key="nobody-knows-this-key")
    sent, refused = proxy.log()
    assert (sent["event"], sent["tenant"], sent["policy"]) == ("sent", "ada", "identifiers")
    assert (sent["n_identifiers"], sent["charged"], sent["upstream"]) == (1, 0.0, "first")
    assert sent["trace"] == TRACE.split("-")[1]
    assert (refused["event"], refused["reason"]) == ("refused", "key")
    assert refused["key"] == f"sha256:{digest_of('nobody-knows-this-key')[:16]}"
    assert refused["address"] == "127.0.0.1"
    metrics = proxy.api.client.get("/metrics").text
    labels = 'endpoint="chat/completions",policy="identifiers",status="200",tenant="ada"'
    assert f"sanitizer_requests_total{{{labels}}} 1.0" in metrics
    whole = (proxy.folder / "audit").read_text()
    assert not any(word in whole for word in (MAIL, "about-peter", "Hello", ADA, "nobody"))


def test_where_the_log_cannot_be_written_nothing_is_sent(proxy: Served, up: Upstream) -> None:
    proxy.tenants.audit.close()
    answer = proxy.ask("Hello")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "audit")
    assert up.requests == []


def test_standard_output_takes_the_log_too(capsys: pytest.CaptureFixture[str]) -> None:
    AuditLog("stdout").refused({"tenant": "ada"}, {}, "key")
    assert json.loads(capsys.readouterr().out)["tenant"] == "ada"


# ---- probes ----


def test_probes_need_no_key_and_no_known_host(proxy: Served) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        answer = proxy.api.client.get(path, headers={"host": "10.1.2.3:8787"})
        assert answer.status_code == 200, path
    assert proxy.api.client.get("/", headers={"host": "localhost"}).status_code == 401


def test_probes_are_answered_while_the_proxy_is_full(tmp_path: Path) -> None:
    waiting, go_on = threading.Event(), threading.Event()

    async def behave(received: Any, writer: Any) -> None:
        import asyncio

        waiting.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        writer.close()

    with upstream(behave) as up, served(up, tmp_path, max_connections=1) as running:
        asking = threading.Thread(target=running.ask, args=("Hello",))
        asking.start()
        try:
            assert waiting.wait(10)
            for path in ("/healthz", "/readyz", "/metrics"):
                assert running.api.client.get(path).status_code == 200, path
            full = running.ask("Hello")
            assert (full.status_code, full.headers["retry-after"]) == (429, "1")
        finally:
            go_on.set()
            asking.join(10)


# ---- reloading ----


def test_a_file_that_changed_is_read_again(proxy: Served, up: Upstream) -> None:
    proxy.ask(f"Mail {MAIL}")
    before = proxy.tenants._found({"sanitizer-token": ADA}, None)
    text = (proxy.folder / "proxy.toml").read_text()
    (proxy.folder / "proxy.toml").write_text(text.replace(digest_of(BEA), digest_of("b" * 20)))
    proxy.tenants.reload()
    assert proxy.ask("Hello", BEA).status_code == 401
    assert proxy.ask("Hello", "b" * 20).status_code == 200
    assert proxy.tenants._found({"sanitizer-token": ADA}, None) is before, "what did not change"


def test_a_file_that_is_wrong_changes_nothing(
    proxy: Served, caplog: pytest.LogCaptureFixture
) -> None:
    path = proxy.folder / "proxy.toml"
    right = path.read_text()
    wrong = {
        "tenants = 3": "upstreams must name at least one",
        right.replace(
            "[upstreams.second]", '[upstreams.second]\nca = "nowhere.pem"'
        ): "nowhere.pem: no PEM file: No such file or directory",
    }
    for text, why in wrong.items():
        path.write_text(text)
        proxy.tenants.reload()
        assert caplog.messages[-1].startswith("not reloaded, what was read before holds: ")
        assert why in caplog.messages[-1]
        assert proxy.ask("Hello").status_code == 200


def test_a_reload_says_how_many_tenants_there_are(
    proxy: Served, caplog: pytest.LogCaptureFixture
) -> None:
    path = proxy.folder / "proxy.toml"
    proxy.tenants.reload()
    path.write_text(path.read_text().rpartition("[[tenants]]")[0])
    proxy.tenants.reload()
    assert caplog.messages == [f"{path} was reloaded: {n}" for n in ("2 tenants", "1 tenant")]


# ---- the file ----


@cases("mistake")
def test_a_mistake_in_the_file_is_named(
    case: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {"ADA": digest_of(ADA), "BEA": digest_of(BEA)}
    old, new = (case[key].replace("{ADA}", digests["ADA"]) for key in ("old", "new"))
    text = text_of("https://api.example/v1", ada="budget = 3" if old == '"user:ada"' else "")
    assert old in text
    monkeypatch.setenv("A_DATABASE", "postgresql://somebody@nowhere/database")
    monkeypatch.setenv("SHORT", "short")
    with pytest.raises(PolicyError) as caught:
        Configuration.of(text.replace(old, new.replace("{BEA}", digests["BEA"]), 1))
    assert case["told"] in str(caught.value)
    assert "sk-a-real" not in str(caught.value)


def test_a_log_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "audit"
    with pytest.raises(AuditError, match=f"{path} cannot be opened: No such file"):
        AuditLog(f"file:{path}")


def test_a_file_without_tenants_or_upstreams_is_refused() -> None:
    for text in ("", '[upstreams.a]\nurl = "https://api.example/v1"'):
        with pytest.raises(PolicyError, match="at least one"):
            Configuration.of(text)


def test_each_tenant_has_memories_of_its_own(
    up: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a passphrase of many letters"
    monkeypatch.setenv("SANITIZER_VAULT_KEY", key)
    for name, phrase in (("ada", "Project Falcon"), ("team", "Caldwell")):
        Corrections(tmp_path / name, key, create=True).add([phrase], "hide")
    text = text_of(up.url, ada='corrections = ["ada", "team"]')
    said = "Caldwell pays for project falcon."
    with served(up, tmp_path, text) as running:
        assert running.ask(said).status_code == running.ask(said, BEA).status_code == 200
        assert up.requests[-2].said() == "<TERM_1> pays for <TERM_2>."
        assert up.requests[-1].said() == said
    (tmp_path / "team").unlink()
    with pytest.raises(PolicyError, match="tenant ada: corrections"), served(up, tmp_path, text):
        pass
