"""Addresses: which of them belong to this machine, and which URLs are safe to send to."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

_DATABASE = re.compile(
    r"postgres(?:ql)?://(?:[^@/?#]*@)?((?:\[[^]@]*\]|[^]\[:@/?#,]*)(?::\d+)?(?:,[^@/?#]*)?)"
    r"(?:[/?][^@#]*)?"
)  # nothing that may be a part of the password is taken for hosts and ports, the group


def check_base_url(name: str, url: str) -> str:
    """Return the host of an http or https URL that has host, port and path only.

    Args:
        name: of the argument, for the message. The URL itself is not shown: it may hold a password.
        url: the URL.

    Raises:
        ValueError: the URL has another scheme, or a user, a query or a fragment too.

    >>> check_base_url("base_url", "https://api.example.org/v1")
    'api.example.org'
    """
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        told = f"{name} must be an http or https URL with a valid host and port"
        raise ValueError(told) from None
    if not parts.scheme or "://" not in url:
        raise ValueError(f"{name} must begin with https:// or http://")
    is_odd = "@" in parts.netloc or re.search(r"[\s\x00-\x1f\x7f-\uffff]", url)
    if not whole or parts.query or parts.fragment or is_odd:
        raise ValueError(f"{name} must be an http or https URL of host, port and path only")
    return str(parts.hostname)


def is_loopback(host: str) -> bool:
    """Return True if an address or name can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("[::1]"), is_loopback("example.org")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def database_host(url: str) -> str:
    """Return host and port of a PostgreSQL URL. Raises ValueError, which shows nothing of it.

    >>> database_host("postgresql://ada:secret@127.0.0.1/budgets")
    '127.0.0.1:5432'
    """
    if (found := _DATABASE.fullmatch(url)) is None:
        raise ValueError(
            "must be like postgresql://USER:PASSWORD@HOST:PORT/DATABASE (not shown); in user and "
            "password write %40 for @, %2F for /, %3F for ? and %23 for #"
        )
    given = parse_qs(url.partition("?")[2])
    host, port = given.get("host", [found[1]])[-1], given.get("port", ["5432"])[-1]
    return host if re.search(r":\d+$", host) else f"{host or 'this machine'}:{port}"


def url_host(host: str) -> str:
    """Return a host as it is written in URLs: lower case, IPv6 addresses in brackets.

    >>> url_host("::1"), url_host("LocalHost")
    ('[::1]', 'localhost')
    """
    bare = host.strip("[]").lower()
    return f"[{bare}]" if ":" in bare else bare
