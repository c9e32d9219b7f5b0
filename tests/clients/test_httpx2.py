"""The transports for httpx2."""

from __future__ import annotations

import httpx2

from sanitizer.clients import httpx2 as adapter
from tests.clients.transport_contract import TransportContract, server

__all__ = ["server"]


class TestTransports(TransportContract):
    lib, adapter = httpx2, adapter
