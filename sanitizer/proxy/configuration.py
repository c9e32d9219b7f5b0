"""The configuration file of a proxy for many: tenants, upstreams, limits, storage, audit log.

Who asks is decided here, by the digest of an API key or of a client certificate, and with it
policy, upstream and budget; nothing that a client sends changes them. Read by hand, as policy files
are: messages name the key of the file, and never a value that may be secret.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from sanitizer.errors import PolicyError
from sanitizer.proxy.access import TRACES
from sanitizer.storage.ledger import Scope
from sanitizer.storage.sealing import read_secret
from sanitizer.text.policy import Policy
from sanitizer.urls import check_base_url, database_host

Value = TypeVar("Value")

MIN_KEY = 16
"""Least characters of a tenant's key: its digest is no secret, and short keys can be guessed."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_HEADER = re.compile(r"[a-z0-9-]{1,64}")
_NEVER_PASSED = frozenset({"authorization", "api-key", "cookie", "host", "content-type", "accept"})


@dataclass(frozen=True)
class UpstreamPlace:
    """An API that requests are sent to.

    Attributes:
        url: base URL. key: sent in place of the client's; None passes what the client sends.
        ca: PEM file of the certificates to trust for it.
        headers: lower-case names of headers that pass besides the usual ones.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    ca: Path | None = None
    headers: frozenset[str] = frozenset(TRACES)


@dataclass(frozen=True)
class Tenant:
    """Someone who may ask, and what holds for them.

    Attributes:
        name: in the audit log and in names of conversations.
        keys, certificates: SHA-256 digests in hex, of API keys and of client certificates (DER).
        policy: what is public and what is not.
        upstreams: names of those that may be asked; the first unless a header chooses.
        scopes: charged in the ledger, besides the conversation.
        budget: limit of the first scope; None sets none.
        corrections: files of memories of corrections, one's own first; none: those of the proxy.
    """

    name: str
    keys: frozenset[str] = field(repr=False)
    certificates: frozenset[str] = field(repr=False)
    policy: Policy = field(repr=False)
    upstreams: tuple[str, ...]
    scopes: tuple[Scope, ...]
    budget: float | None = None
    corrections: tuple[Path, ...] = ()


@dataclass(frozen=True)
class StoragePlace:
    """Where originals and budgets are: PostgreSQL. Attributes: see `PostgresStore`."""

    url: str = field(repr=False)
    key: str = field(repr=False)
    create: bool = True
    seconds: float = 1.5
    connections: int = 8
    source: str = ""


@dataclass(frozen=True)
class Configuration:
    """What a configuration file says; docs/operations.md shows one with every key.

    Attributes:
        tenants: who may ask.
        upstreams: name -> API.
        limits: "day", a kind of scopes, or "kind:name" -> the most epsilon to spend.
        storage: None keeps everything in this process.
        audit: "stdout", "database", "file:PATH", or "" for none.
        otlp: URL of an OpenTelemetry collector that gets a copy of the log; "" for none.
    """

    tenants: tuple[Tenant, ...]
    upstreams: Mapping[str, UpstreamPlace]
    limits: Mapping[str, float] = field(default_factory=dict)
    storage: StoragePlace | None = None
    audit: str = ""
    otlp: str = ""

    @classmethod
    def load(cls, path: Path) -> Configuration:
        """Read a file; paths in it are relative to its folder.

        Raises:
            PolicyError: the file cannot be used; the message names the key.
        """
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise PolicyError(f"{path}: cannot be read: {why}") from None
        return cls.of(text, path)

    @classmethod
    def of(cls, text: str, path: Path = Path("configuration.toml")) -> Configuration:
        """Read the text of a file. Raises PolicyError."""
        try:
            top = _Table(tomllib.loads(text), str(path), path.parent)
            return _configuration(top)
        except tomllib.TOMLDecodeError as error:
            where = re.search(r"\(at line \d+, column \d+\)", str(error))
            raise PolicyError(f"{path}: bad TOML {where[0] if where else ''}".rstrip()) from None


class _Table:
    """One table of the file; each key is taken once, and none may be left."""

    def __init__(self, values: dict[str, Any], where: str, folder: Path) -> None:
        self._values = dict(values)
        self._known: set[str] = set()
        self.where = where
        self.folder = folder

    def take(self, key: str, kind: type[Value]) -> Value | None:
        """Return a value of the given type; None if it is missing."""
        self._known.add(key)
        value = self._values.pop(key, None)
        if kind is float and type(value) is int:
            value = float(value)
        if value is not None and type(value) is not kind:
            raise self.wrong(key, f"must be of type {kind.__name__}")
        return value

    def need(self, key: str, kind: type[Value]) -> Value:
        value = self.take(key, kind)
        if value is None:
            raise self.wrong(key, "is missing")
        return value

    def names(self, key: str) -> list[str]:
        return self._all(key, self.take(key, list) or [], str, "must be a list of strings")

    def tables(self, key: str) -> dict[str, _Table]:
        found: dict[str, Any] = self.take(key, dict) or {}
        self._all(key, found.values(), dict, f"must contain tables, as [{key}.NAME]")
        return {name: self.inner(f"{key}.{name}", each) for name, each in found.items()}

    def listed(self, key: str) -> list[_Table]:
        """Return an array of tables."""
        found = self._all(key, self.take(key, list) or [], dict, f"must be tables, as [[{key}]]")
        return [self.inner(f"{key}[{i}]", each) for i, each in enumerate(found, 1)]

    def _all(self, key: str, found: Iterable[Any], kind: type[Value], told: str) -> list[Value]:
        if not all(isinstance(each, kind) for each in found):
            raise self.wrong(key, told)
        return list(found)

    def inner(self, key: str, values: dict[str, Any] | None = None) -> _Table:
        """Return a table in this one, empty if it is missing."""
        found = self.take(key, dict) or {} if values is None else values
        return _Table(found, f"{self.where}: {key}", self.folder)

    def secret(self, key: str) -> str | None:
        """Return a secret from where the value says it is kept."""
        source = self.take(key, str)
        with self.naming(key):
            return None if source is None else read_secret(source, self.folder)

    def rest(self) -> dict[str, Any]:
        """Return all that was not taken, and take it."""
        values, self._values = self._values, {}
        return values

    def end(self) -> None:
        """Raise PolicyError if a key was not taken."""
        if self._values:
            unknown = min(self._values)
            near = get_close_matches(unknown, self._known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise self.wrong(unknown, f"is unknown{hint}")

    def wrong(self, key: str, what: str) -> PolicyError:
        return PolicyError(f"{self.where}: {key} {what}")

    @contextmanager
    def naming(self, key: str, what: str = "cannot be used") -> Iterator[None]:
        """Let an error of a value name its key."""
        try:
            yield
        except (PolicyError, ValueError) as error:
            raise self.wrong(key, f"{what}: {error}") from None


def _configuration(top: _Table) -> Configuration:
    upstreams = {name: _upstream(each) for name, each in top.tables("upstreams").items()}
    if not upstreams:
        raise top.wrong("upstreams", "must name at least one, as [upstreams.NAME]")
    tenants = tuple(_tenant(each, upstreams) for each in top.listed("tenants"))
    if not tenants:
        raise top.wrong("tenants", "must name at least one, as [[tenants]]")
    _check_distinct(top, tenants)
    storage, audit, limits = (top.inner(key) for key in ("storage", "audit", "limits"))
    found = Configuration(tenants, upstreams, _limits(limits), _storage(storage), *_audit(audit))
    top.end()
    if found.audit == "database" and found.storage is None:
        raise audit.wrong("to", "needs [storage] to be a database")
    return found


def _check_distinct(top: _Table, tenants: tuple[Tenant, ...]) -> None:
    """Raise if two tenants could be mistaken for each other."""
    for what in ("name", "keys", "certificates"):
        seen: set[str] = set()
        for tenant in tenants:
            values = {tenant.name} if what == "name" else getattr(tenant, what)
            if seen & values:
                raise top.wrong("tenants", f"must not have the same {what}: see {tenant.name}")
            seen |= values


def _upstream(table: _Table) -> UpstreamPlace:
    url, ca = table.need("url", str), table.take("ca", str)
    with table.naming("url", "is not a base URL"):
        check_base_url("url", url)
    headers = [name.lower() for name in table.names("headers")]
    if not all(_HEADER.fullmatch(name) and name not in _NEVER_PASSED for name in headers):
        raise table.wrong("headers", "must be names of headers that may be passed on")
    authorities = None if ca is None else table.folder / ca
    key, passed = table.secret("key"), frozenset({*TRACES, *headers})
    table.end()
    return UpstreamPlace(url, key, authorities, passed)


def _tenant(table: _Table, upstreams: Mapping[str, UpstreamPlace]) -> Tenant:
    name = table.need("name", str)
    if not _NAME.fullmatch(name):
        raise table.wrong("name", "must be 1 to 64 letters, digits or . _ -")
    table = _Table(table.rest(), f"{table.where} ({name})", table.folder)
    asked = tuple(table.names("upstreams")) or tuple(upstreams)[:1]
    if unknown := [each for each in asked if each not in upstreams]:
        raise table.wrong("upstreams", f"names an unknown upstream: {unknown[0]!r}")
    preset = table.take("policy", str) or "balanced"
    with table.naming("policy"):
        policy = Policy.load(table.folder / preset if preset.endswith(".toml") else preset)
    tenant = Tenant(
        name,
        frozenset(_key_digest(table, each) for each in table.names("keys")),
        frozenset(_digest(table, "certificates", each) for each in table.names("certificates")),
        policy,
        asked,
        tuple(_scope(table, each) for each in table.names("scopes") or [f"user:{name}", "day"]),
        _amount(table, "budget", table.take("budget", float)),
        tuple(table.folder / path for path in table.names("corrections")),
    )
    table.end()
    if not tenant.keys and not tenant.certificates:
        raise table.wrong("keys", "or certificates must name at least one")
    if tenant.budget is not None and tenant.scopes[0].kind == "day":
        raise table.wrong("budget", "limits the first scope, which must not be day")
    return tenant


def _key_digest(table: _Table, value: str) -> str:
    """Return the digest of a key: as it is written, or of a secret kept elsewhere."""
    if value.startswith("sha256:"):
        return _digest(table, "keys", value)
    with table.naming("keys", "(sha256:HEX or a secret) cannot be used"):
        secret = read_secret(value, table.folder)
    if len(secret) < MIN_KEY:
        raise table.wrong("keys", f"must have at least {MIN_KEY} characters")
    return digest_of(secret)


def _digest(table: _Table, key: str, value: str) -> str:
    if (found := _DIGEST.fullmatch(value)) is None:
        raise table.wrong(key, "must be sha256: and 64 digits of lower-case hex")
    return found[1]


def digest_of(secret: str | bytes) -> str:
    """Return the digest of a key or a certificate, as the file has it after "sha256:"."""
    return hashlib.sha256(secret if isinstance(secret, bytes) else secret.encode()).hexdigest()


def _scope(table: _Table, text: str, key: str = "scopes") -> Scope:
    kind, _, name = text.partition(":")
    with table.naming(key, "must be like user:NAME, team:NAME, day"):
        return Scope(kind, name)


def _amount(table: _Table, key: str, epsilon: float | None) -> float | None:
    if epsilon is not None and not 0 < epsilon <= 1e9:
        raise table.wrong(key, "must be positive and at most 1e9")
    return epsilon


def _limits(table: _Table) -> dict[str, float]:
    limits = table.rest()
    for name, value in limits.items():
        if type(value) not in (int, float):
            raise table.wrong(name, "must be a number")
        if name not in ("day", "user", "team", "conversation"):
            _scope(table, name, name)
        limits[name] = _amount(table, name, float(value))
    return limits


def _storage(table: _Table) -> StoragePlace | None:
    source, key = table.take("url", str), table.secret("key")
    if source is None and key is None:
        table.end()
        return None
    if source is None or key is None:
        raise table.wrong("url and key", "must both be given")
    with table.naming("url"):
        database_host(url := read_secret(source, table.folder))
    if len(key) < MIN_KEY:
        raise table.wrong("key", f"must have at least {MIN_KEY} characters")
    create, where = table.take("create", bool) is not False, source.partition(" ")[0]
    seconds = table.take("seconds", float) or StoragePlace.seconds
    connections = table.take("connections", int) or StoragePlace.connections
    table.end()
    return StoragePlace(url, key, create, seconds, connections, where)


def _audit(table: _Table) -> tuple[str, str]:
    """Return where the log goes, and where its copy does."""
    to, otlp = table.take("to", str) or "", table.take("otlp", str) or ""
    table.end()
    if otlp:
        with table.naming("otlp", "is not a URL"):
            check_base_url("otlp", otlp)
        if not to:
            raise table.wrong("otlp", "needs `to`: it sends a copy of the log that `to` names")
    if to.startswith("file:"):
        return f"file:{table.folder / to.removeprefix('file:')}", otlp
    if to not in ("", "stdout", "database"):
        raise table.wrong("to", "must be stdout, database or file:PATH")
    return to, otlp
