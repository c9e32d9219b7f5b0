"""Which APIs `sanitizer run` protects, and how programs are led to them: rows of programs.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import PurePath
from urllib.parse import urlsplit

from sanitizer.urls import check_base_url


@dataclass(frozen=True, eq=False)
class KnownApi:
    """An API whose endpoints the proxy treats.

    Attributes:
        name: as users know it.
        url: the vendor's base URL; "" if only the user's own is known.
        mount: path of the proxy that stands for the base URL.
        variables: variable -> what it holds behind the base URL. The first that is set, and holds
            the base URL alone, names the user's own.
        port: port of a host that is named without one.
    """

    name: str
    url: str
    mount: str
    variables: Mapping[str, str]
    port: int | None = None

    def upstream(self, environment: Mapping[str, str]) -> str:
        """Return the base URL to ask: the user's own, or the vendor's.

        Raises:
            ValueError: the user's own is none.
        """
        names = [name for name, path in self.variables.items() if not path]
        variable = next((name for name in names if environment.get(name)), None)
        if variable is None:
            return self.url
        own = environment[variable]
        if self.port is not None and "://" not in own:
            # Ollama's own programs take a host alone, and 0.0.0.0 for "listen everywhere".
            host, path = f"{own}/".replace("0.0.0.0", "127.0.0.1").split("/", 1)  # noqa: S104
            own = f"http://{host}{'' if ':' in host else f':{self.port}'}/{path}"
        check_base_url(variable, own)
        return own.rstrip("/")


@dataclass(frozen=True)
class Program:
    """How a program is led to the proxy. "{Name}" stands for the proxy's base URL of an API.

    Attributes:
        names: of its command and its packages.
        said: how it is pointed to the proxy, or why it cannot be protected.
        apis: names of the APIs that are protected.
        arguments: come right after its name.
        variables: set for it.
        elsewhere: variables that point it to an API that is not protected, if set.
        policy: the preset that it runs under unless the user names another.
        public: phrases of its own texts that look private, and leave.
    """

    names: Sequence[str]
    said: str
    apis: Sequence[str] = ()
    arguments: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Sequence[str] = ()
    policy: str = "balanced"
    public: Sequence[str] = ()


_TABLES = tomllib.loads(files(__package__).joinpath("programs.toml").read_text("utf-8"))
APIS = tuple(KnownApi(**row) for row in _TABLES["apis"])
"""What one proxy of `run` serves at once."""
OPENAI = APIS[0]
PROGRAMS = tuple(Program(**row) for row in _TABLES["programs"])
"""Programs that read none of the variables, or not surely."""
OTHER = Program((), "by $OPENAI_BASE_URL and others, if it reads them", [api.name for api in APIS])
"""All other programs."""
HOSTS: Sequence[str] = _TABLES["hosts"]
"""Domains of known APIs, with all names below them, to which nothing passes unread."""
LOGINS: Sequence[str] = _TABLES["logins"]
"""Hosts below these domains that renew logins, and take no texts."""
OFF = ("", "0", "false")
"""Values of a variable that is not meant to be set."""


def program_of(command: Sequence[str]) -> tuple[Program, int]:
    """Return the row of a command, and where in it the program's own arguments begin.

    >>> program_of(["npx", "-y", "@openai/codex@latest", "exec"])[1]
    3
    >>> program_of(["python", "codex"]) == (OTHER, 0)
    True
    """
    starts = PurePath(command[0]).name in _TABLES["starters"]
    for place, word in enumerate(command if starts else command[:1]):
        package = re.sub(r"(?<=.)(@|==).*", "", word)
        names = {package, PurePath(package).name.removesuffix(".exe")}
        for row in PROGRAMS:
            if names.intersection(row.names):
                return row, place + 1
    return OTHER, 0


def own_urls(upstreams: Sequence[str]) -> dict[str, str]:
    """Return name of an API -> base URL that the user gave.

    Raises:
        ValueError: a name that is none, or no base URL.
    """
    known = {api.name.lower(): api for api in APIS}
    by_host = {urlsplit(api.url).hostname: api for api in APIS if api.url.startswith("https:")}
    found: dict[str, str] = {}
    for each in upstreams:
        name, is_named, url = each.rpartition("=")
        host = check_base_url("upstream", url)
        if is_named and name.lower() not in known:
            raise ValueError(f"upstream must be a URL or NAME=URL; names: {', '.join(known)}")
        api = known[name.lower()] if is_named else by_host.get(host, OPENAI)
        url = url.rstrip("/")
        # Their programs ask for a path that begins with "/v1" itself.
        found[api.name] = url if api is OPENAI else url.removesuffix("/v1")
    return found


@dataclass(frozen=True)
class Plan:
    """How a command is led to the proxy.

    Attributes:
        words: the command, as typed.
        place: where in it the arguments of the program begin.
        upstreams: API -> its base URL.
        outside: the environment of `run` itself.
    """

    words: tuple[str, ...]
    place: int
    program: Program
    upstreams: Mapping[KnownApi, str]
    outside: Mapping[str, str]

    @classmethod
    def of(
        cls, words: Sequence[str], environment: Mapping[str, str], own: Mapping[str, str]
    ) -> Plan:
        """Return the plan for a command; `own` are base URLs that go before the environment's."""
        program, place = program_of(words)
        upstreams = {api: own.get(api.name) or api.upstream(environment) for api in APIS}
        there = {api: url for api, url in upstreams.items() if url}
        return cls(tuple(words), place, program, there, environment)

    @property
    def mounts(self) -> tuple[tuple[str, str], ...]:
        """(path, base URL) of each API, for the proxy."""
        return tuple((api.mount, url) for api, url in self.upstreams.items())

    @property
    def refused(self) -> tuple[str, ...]:
        """Domains that the command reaches through the proxy only."""
        return (*HOSTS, *(urlsplit(url).hostname or "" for url in self.upstreams.values()))

    @property
    def why_not(self) -> str:
        """Why the program cannot be protected; "" if it can."""
        if not self.program.apis:
            return f"{self.program.names[0]} cannot be protected: {self.program.said}"
        set_ = [name for name in self.program.elsewhere if self.outside.get(name, "0") not in OFF]
        return f"{set_[0]} points it to an API that the proxy does not serve" if set_ else ""

    def command(self, url: str) -> list[str]:
        """Return the command with the program's own arguments, for a proxy at a URL."""
        added = [self._filled(each, url) for each in self.program.arguments]
        return [*self.words[: self.place], *added, *self.words[self.place :]]

    def environment(self, url: str, way_out: str) -> dict[str, str]:
        """Return the environment of the command.

        Args:
            url: of the proxy.
            way_out: URL of the proxy for all other hosts, those of NO_PROXY too: `Gate` knows them.
        """
        found = {**self.outside, **_TABLES["settings"]}
        for api in self.upstreams:
            found |= {name: url + api.mount + path for name, path in api.variables.items()}
        own = self.program.variables.items()
        found |= {name: self._filled(value, url) for name, value in own}
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            found[name] = found[name.lower()] = way_out
        found["NO_PROXY"] = found["no_proxy"] = "127.0.0.1,localhost,::1"
        return found

    def _filled(self, text: str, url: str) -> str:
        for api in self.upstreams:
            text = text.replace(f"{{{api.name}}}", url + api.mount)
        return text

    def told(self, name: str, policy: str, sealed: bool, unprotected: bool) -> str:
        """Return which requests are sanitized, and by which policy, for the user."""
        if self.why_not:
            return f"sanitizer: {self.why_not}: it runs UNPROTECTED"
        apis = ", ".join(api.name for api in self.upstreams if api.name in self.program.apis)
        lines = [
            f"sanitizer: {name}: requests to {apis} are sanitized (proxy set {self.program.said})",
            f"sanitizer: policy {policy}",
        ]
        if unprotected:
            lines.append("sanitizer: what it sends to these APIs directly leaves UNPROTECTED")
        else:
            sure = "its network reaches only the proxy" if sealed else "if it respects HTTPS_PROXY"
            lines.append(f"sanitizer: other connections to known APIs are refused ({sure})")
        return "\n".join(lines)
