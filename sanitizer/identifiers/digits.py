"""IPv4 addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanitizer.identifiers.checks import is_ip

Span = tuple[int, int, str]

_BACK = 48

_IPV4 = re.compile(
    r"(?<![^\W_])(?<!\.)(?<![A-Za-z]-)(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
    r"(?:/(?:3[0-2]|[12]?[0-9])(?![0-9/]))?(?![^\W_]|\.[0-9])"
)
_SMALL = re.compile(r"[0-9](?:\.[0-9]){3}")
_OF_HOST = re.compile(
    r"(?i)(?:[@=/~]|\b(?:ip|ips|ipv4|addr|address(?:es)?|host|hosts|server|client|peer|gateway|node|ping"
    r"|ssh|scp|curl|wget|traceroute|telnet|dns|nslookup|dig|whois|remote|src|dst|subnet|adresse)\b"
    r"[^\n0-9]{0,12})\Z"
)
_SERVED = re.compile(r":[0-9]{2,5}(?![0-9])|/[0-9]")
"""What makes four single digits an address: they are a version anywhere else."""
_OF_ADDRESS = re.compile(
    r"(?i)(?<![^\W_])(?:ip|ipv4|addr|address|host|client|server|log|src|dst|node|peer|from|at|remote"
    r"|device|machine|router|cam|camera|backup|scan|capture|ping|gw)_\Z"
)
"""Words before "_" that make four numbers behind it an address, not the version of a file."""
_PADDED = re.compile(r"(?:[0-9]{3}\.){3}[0-9]{3}")
_ZEROS = re.compile(r"\b0{1,2}(?=[0-9])")
_VERSION = re.compile(
    r"(?i)(?:\b(?:v|ver|versions?|release|build|firmware|revision|rev|section|sec|chapter"
    r"|clause|rule|appendix|paragraph|figure|table|step|python|java|node|windows|chrome|firefox"
    r"|safari|ios|android|linux|kernel)\b[.:=/]?"
    r"|\b(?:upgrad|downgrad|bump)\w{1,3}\b[^\n.;:]{0,20}?(?: from)? (?:[0-9.]{5,15} to )?"
    r"|§|[=<>~^!]=|~>|\^)\s{0,2}[\"']?\Z"
)
_COMPARED_HOST = re.compile(
    r"(?i)(?:\b|[_.])(?:ip|addr|address|host|server|src|dst|source|remote|client|peer|gateway|node)"
    r"\s{0,2}[=!]=\s{0,2}[\"']?\Z"
)
_NOWHERE = frozenset(
    {
        *("0.0.0.0", "127.0.0.1", "127.0.1.1", "255.255.255.0", "255.255.255.255"),  # noqa: S104
        *("255.255.0.0", "255.0.0.0", "169.254.169.254"),
        *("8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9"),
    }
)
"""What programs listen on, masks, and servers for everybody: addresses of nobody's machine."""


def _before(text: str, start: int) -> str:
    return text[max(0, start - _BACK) : start]


def ipv4s(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield IPv4 addresses, with their prefix length; not version or section numbers."""
    for m in _IPV4.finditer(text, start, end + 2):
        before = _before(text, m.start())
        version = _VERSION.search(before) and not _COMPARED_HOST.search(before)
        address = m[0].partition("/")[0]
        if _PADDED.fullmatch(address):
            address = _ZEROS.sub("", address)
        if text[m.end() : m.end() + 1] == "_" or before.endswith("_"):
            version = version or not _OF_ADDRESS.search(before)
        if _SMALL.fullmatch(m[0]) and not _OF_HOST.search(before):
            version = version or not _SERVED.match(text, m.end())
        if is_ip(address) and not version and m[0] not in _NOWHERE:
            yield m.start(), m.end(), "IP"
