"""Who asks: with a configuration its tenants, without one anybody with access to the proxy."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sanitizer.corrections.lists import Memories, memories_of
from sanitizer.errors import PolicyError, RequestRefused, SanitizerError, VaultError, plural
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.proxy.access import KEY_HEADERS, TOKEN, ProxySettings
from sanitizer.proxy.audit_log import AuditLog, Collector
from sanitizer.proxy.configuration import Configuration, Tenant, digest_of
from sanitizer.proxy.shared import (
    MAX_CONVERSATIONS,
    Conversations,
    Holder,
    LastUsed,
    conversation_in,
)
from sanitizer.proxy.upstream import Upstream
from sanitizer.storage.ledger import Budgets, MemoryLedger, PostgresLedger, Scope
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.stored_vault import PostgresVault
from sanitizer.storage.vault import MemoryVault, Vault
from sanitizer.wire.filter import Filter

UPSTREAM = "sanitizer-upstream"
log = logging.getLogger("sanitizer.proxy")


@dataclass(frozen=True)
class Caller:
    """Who asks, and what holds for this request.

    Attributes:
        who: for the audit log.
        conversations: in which the request is one. holder: whose it is.
        mount: path below which the upstream is served; "" if it is the only one.
    """

    who: Mapping[str, str]
    holder: Holder
    upstream: Upstream
    conversations: Conversations = field(repr=False)
    mount: str = ""


class Anyone:
    """All who may use a proxy without a configuration: conversations go by header and API key."""

    def __init__(self, settings: ProxySettings, conversations: Conversations, policy: str) -> None:
        self.audit = AuditLog()
        self.upstream = Upstream(settings)
        mounted = {m: Upstream(replace(settings, upstream=url)) for m, url in settings.mounts}
        self._upstreams = mounted or {"": self.upstream}
        self._conversations, self._who = conversations, {"policy": policy}

    def caller(self, headers: Mapping[str, str], certificate: str | None, path: str) -> Caller:
        """Return who asks for a path.

        Raises:
            RequestRefused: 400, a name that cannot be one; 404, no API there.
        """
        holder = self._conversations.holder(headers)
        for mount, upstream in self._upstreams.items():
            if path.startswith(f"{mount}/"):
                return Caller(self._who, holder, upstream, self._conversations, mount)
        raise RequestRefused("no API is served at this path", "endpoint", 404)

    def ready(self) -> None:
        """Do nothing: a vault or a ledger in files is ready once it is open."""

    async def close(self) -> None:
        """Close connections."""
        for each in {self.upstream, *self._upstreams.values()}:
            await each.close()


@dataclass(frozen=True)
class _Served:
    """A tenant with its Sanitizer, its conversations and its upstreams."""

    tenant: Tenant
    sanitizer: Sanitizer = field(repr=False)
    conversations: Conversations = field(repr=False)
    upstreams: Mapping[str, Upstream] = field(repr=False)


class Tenants:
    """The tenants of a configuration file. Safe for many threads.

    Guarantee: who asks is known by a key or a certificate of the file; the policy, the scopes that
    are charged and their limits follow from that alone. The name of a conversation ends with that
    of the tenant, so that no tenant reaches another's.

    Args:
        path: of the configuration.
        settings: of the proxy; those of each upstream take the place of `upstream`, `key`, `ca`.
        sanitizer: makes the first Sanitizer, whose models all others share, from vault, ledger and
            policy.

    Raises:
        PolicyError: the configuration cannot be used.
        VaultError, LedgerError: the storage cannot.
        AuditError: the audit log cannot be written.
    """

    def __init__(
        self,
        path: Path,
        settings: ProxySettings,
        sanitizer: Callable[[Tenant, Vault, Budgets], Sanitizer],
    ) -> None:
        self._path, self._settings = path, settings
        self._kept: LastUsed[str, tuple[Sanitizer, Filter]] = LastUsed(MAX_CONVERSATIONS)
        self._upstreams: dict[tuple[ProxySettings, frozenset[str]], Upstream] = {}
        configuration = Configuration.load(path)
        self._place = configuration.storage
        self._store = PostgresStore(**asdict(self._place)) if self._place else None
        try:
            self.ledger: Budgets = PostgresLedger(self._store) if self._store else MemoryLedger()
            vault: Vault = PostgresVault(self._store) if self._store else MemoryVault()
            self._base = sanitizer(configuration.tenants[0], vault, self.ledger)
            self._audit_to = configuration.audit, configuration.otlp
            copy = Collector(configuration.otlp) if configuration.otlp else None
            self.audit = AuditLog(configuration.audit, self._store, copy=copy)
            self._served = self._all(configuration)
        except BaseException:
            if self._store is not None:
                self._store.close()
            raise

    @property
    def n_waiting(self) -> int | None:
        """How many requests may wait for the database at once; None without one."""
        return self._place.connections if self._place else None

    def load(self) -> None:
        """Load what requests need, for every policy; raise ModelError."""
        for served in self._served.values():
            served.sanitizer.load()

    def caller(self, headers: Mapping[str, str], certificate: str | None, path: str) -> Caller:
        """Return who asks; `certificate` is the digest of the client's, if it showed one.

        Raises:
            RequestRefused: 401, nobody known; 400, a name that cannot be one.
        """
        served = self._found(headers, certificate)
        tenant = served.tenant
        chosen = headers.get(UPSTREAM, tenant.upstreams[0])
        if chosen not in tenant.upstreams:
            raise RequestRefused(f"{UPSTREAM} must name an upstream of your tenant", "upstream")
        shown = " ".join(map(digest_of, _keys(headers))) or str(certificate)
        holder = Holder(tenant.name, shown, conversation_in(headers))
        who = {"tenant": tenant.name, "policy": tenant.policy.name, "upstream": chosen}
        return Caller(who, holder, served.upstreams[chosen], served.conversations)

    def ready(self) -> None:
        """Raise SanitizerError if a request could not be answered now."""
        if self._store is not None:
            self._store.check()

    def reload(self) -> None:
        """Read the configuration again; one that cannot be used is logged, and changes nothing.

        Storage stays what it is: another one needs a restart.
        """
        try:
            configuration = Configuration.load(self._path)
            audit_to = (configuration.audit, configuration.otlp)
            if (configuration.storage, audit_to) != (self._place, self._audit_to):
                raise PolicyError(f"{self._path}: to change storage or audit, restart the proxy")
            served = self._all(configuration)
            self.audit.reopen()
        except Exception as error:
            told = error if isinstance(error, SanitizerError | ValueError) else type(error).__name__
            log.error("not reloaded, what was read before holds: %s", told)
            return
        changed = {name for name in self._served if self._served[name] is not served.get(name)}
        self._served = served
        self._kept.drop(lambda conversation: conversation.rpartition("/")[2] in changed)
        log.warning("%s was reloaded: %s", self._path, plural(len(served), "tenant"))

    async def close(self) -> None:
        """Close connections and files."""
        for upstream in self._upstreams.values():
            await upstream.close()
        self.audit.close()
        if self._store is not None:
            self._store.close()

    def _found(self, headers: Mapping[str, str], certificate: str | None) -> _Served:
        """Return the tenant that a request belongs to.

        A key in the proxy's own header comes first, so that the others may be the upstream's.
        """
        digests = [digest_of(each) for each in _keys(headers)]
        for served in list(self._served.values()):
            tenant = served.tenant
            if any(hmac.compare_digest(given, known) for given in digests for known in tenant.keys):
                return served
            if not digests and certificate in tenant.certificates:
                return served
        raise RequestRefused("the API key is missing or belongs to no tenant", "key", 401)

    def _all(self, configuration: Configuration) -> dict[str, _Served]:
        """Return the tenants of a configuration; those that did not change stay as they are."""
        self._set_limits(configuration)
        upstreams: dict[str, Upstream] = {}
        for name, each in configuration.upstreams.items():
            own = replace(self._settings, upstream=each.url, key=each.key, ca=each.ca)
            if (own, each.headers) not in self._upstreams:
                self._upstreams[own, each.headers] = Upstream(own, each.headers)
            upstreams[name] = self._upstreams[own, each.headers]
        old = getattr(self, "_served", {})
        served: dict[str, _Served] = {}
        for tenant in configuration.tenants:
            asked = {name: upstreams[name] for name in tenant.upstreams}
            before = old.get(tenant.name)
            if before is not None and (before.tenant, before.upstreams) == (tenant, asked):
                served[tenant.name] = before
                continue
            sanitizer = self._base.derive(
                policy=tenant.policy, scopes=tenant.scopes, corrections=_memories(tenant)
            )
            if self._store is not None:
                vault = PostgresVault(self._store, sanitizer.inner.digest)
                sanitizer = sanitizer.derive(vault=vault)
            conversations = Conversations(sanitizer, b"", idle=self._settings.idle, kept=self._kept)
            served[tenant.name] = _Served(tenant, sanitizer, conversations, asked)
        return served

    def _set_limits(self, configuration: Configuration) -> None:
        for name, epsilon in configuration.limits.items():
            kind, _, owner = name.partition(":")
            if owner:
                self.ledger.set_limit(Scope(kind, owner), epsilon)
            else:
                self.ledger.set_default_limit(kind, epsilon)
        for tenant in configuration.tenants:
            if tenant.budget is not None:
                self.ledger.set_limit(tenant.scopes[0], tenant.budget)


def _memories(tenant: Tenant) -> Memories | None:
    """Return the memories that a tenant names; None leaves those of the proxy."""
    if not tenant.corrections:
        return None
    try:
        return memories_of(tenant.corrections)
    except (ValueError, VaultError) as error:
        raise PolicyError(f"tenant {tenant.name}: corrections cannot be used: {error}") from None


def shown(address: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return what the audit log tells of somebody unknown: address, and digests of the keys.

    A digest is that of the configuration, cut: a key that was taken from it is found there.
    """
    keys = " ".join(f"sha256:{digest_of(key)[:16]}" for key in _keys(headers)[:4])
    return {"address": address} | ({"key": keys} if keys else {})


def _keys(headers: Mapping[str, str]) -> list[str]:
    """Return the API keys that a request shows: that of the proxy's own header, or all others."""
    if TOKEN in headers:
        return [headers[TOKEN]]
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    found = [bearer.strip()] if scheme.lower() == "bearer" else []
    found += [headers[name] for name in KEY_HEADERS[1:] if name in headers]
    return [each for each in found if each]
