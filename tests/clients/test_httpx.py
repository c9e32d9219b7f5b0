"""The transports for httpx."""

from __future__ import annotations

import httpx

from sanitizer.clients import httpx as adapter
from tests.clients.transport_contract import TransportContract, server

__all__ = ["server"]


class TestTransports(TransportContract):
    lib, adapter = httpx, adapter
