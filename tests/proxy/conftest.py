"""The servers most tests need."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sanitizer import Sanitizer
from tests.proxy.servers import Proxy, Upstream, proxy, upstream

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from sanitizer.lm.masked import OnnxMaskedLM
    from tests.proxy.pages import Visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser, for one module: its event loop is the thread's until it is closed."""
    from tests.proxy.pages import chromium

    with chromium() as found:
        yield found


@pytest.fixture(autouse=True)
def upstream_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The upstream's key, which configurations of tests name."""
    monkeypatch.setenv("UPSTREAM_KEY", "sk-of-the-upstream")


@pytest.fixture
def sanitizer(model: OnnxMaskedLM) -> Sanitizer:
    """The Sanitizer of the page that is visited."""
    return Sanitizer(model=model, budget=200.0, policy="words")


@pytest.fixture
def visit(browser: Browser, sanitizer: Sanitizer) -> Iterator[Visit]:
    """A visit to a page of its own."""
    from tests.proxy.pages import visiting

    with visiting(browser, sanitizer) as found:
        yield found


@pytest.fixture
def up() -> Iterator[Upstream]:
    """An upstream that says what it was asked."""
    with upstream() as running:
        yield running


@pytest.fixture
def api(up: Upstream) -> Iterator[Proxy]:
    """The proxy in front of it, policy "identifiers"."""
    with proxy(up.url) as running:
        yield running


@pytest.fixture(scope="module")
def shared() -> Iterator[Proxy]:
    """One proxy for all examples of a property."""
    with upstream() as echoing, proxy(echoing.url) as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(certificate, key) of "localhost", its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    signed = built.add_extension(names, False).sign(key, hashes.SHA256())
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
    return folder / "cert.pem", folder / "key.pem"
