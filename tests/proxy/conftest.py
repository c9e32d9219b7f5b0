"""The servers most tests need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.proxy.servers import Proxy, Upstream, proxy, upstream

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser, for one module: its event loop is the thread's until it is closed."""
    from tests.proxy.pages import chromium

    with chromium() as found:
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
