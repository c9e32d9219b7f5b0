"""Addresses: which of them are this machine, and which URLs are what they seem."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit


def check_base_url(name: str, url: str) -> str:
    """The host of an http or https URL of host, port and path only.

    Args:
        name: of the argument, for the message. The URL itself is not shown: it may hold a password.

    Raises:
        ValueError: anything else; a user, a query or a fragment would not be what it seems.
    """
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        raise ValueError(
            f"{name} must be an http or https URL with a valid host and port"
        ) from None
    if not parts.scheme or "://" not in url:
        raise ValueError(f"{name} must begin with https:// or http://")
    if (
        not whole
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
        or re.search(r"[\s\x00-\x1f\x7f-\uffff]", url)
    ):
        raise ValueError(f"{name} must be an http or https URL of host, port and path only")
    return str(parts.hostname)


def is_loopback(host: str) -> bool:
    """Whether an address or name can be reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def url_host(host: str) -> str:
    """A host as it stands in URLs: lower case, IPv6 addresses in brackets."""
    bare = host.strip("[]").lower()
    return f"[{bare}]" if ":" in bare else bare
