"""The command that runs another program with the proxy between it and its API: `run`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from sanitizer.cli.api import check_libraries, conversation_key
from sanitizer.cli.options import (
    budget_option,
    build_sanitizer,
    context_option,
    examples,
    ledger_option,
    model_option,
    open_vault,
    setting_options,
    vault_option,
)

if TYPE_CHECKING:
    from sanitizer.results import SanitizedText
    from sanitizer.storage import Entries, MemoryVault, Originals, Vault

OPENAI = "https://api.openai.com/v1"
NOT_FOUND, NOT_RUNNABLE = 127, 126  # exit statuses, as shells have them
START_SECONDS = 60.0
MAX_ANSWER = 50_000_000  # characters of answers that are searched for originals


@click.command(
    short_help="run a program with the proxy between it and its API",
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "sanitizer run -- python my_script.py",
        "sanitizer run --policy identifiers -- aider",
        "sanitizer run --upstream http://127.0.0.1:11434/v1 -- ./chat.sh",
    ),
)
@click.argument("command", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--upstream",
    metavar="URL",
    help=f"base URL of the API (default: $OPENAI_BASE_URL, or {OPENAI})",
)
@setting_options
@context_option
@model_option
@budget_option
@ledger_option
@vault_option
@click.option("--reveal", is_flag=True, help="list at the end what left in place of what")
@click.option("--quiet", is_flag=True, help="say nothing at the end")
def run(
    command: tuple[str, ...],
    upstream: str | None,
    budget: float | None,
    ledger: Path | None,
    vault: Path | None,
    reveal: bool,
    quiet: bool,
    **setting: Any,
) -> int:
    """Run COMMAND with the proxy between it and its API; return its exit status.

    The proxy takes a free port of this machine; the command finds it by OPENAI_BASE_URL and
    OPENAI_API_BASE (for an API of Anthropic: ANTHROPIC_BASE_URL). Programs that do not read these
    variables are not protected: the count of requests at the end tells.
    """
    if not command:
        raise ValueError("say what to run: sanitizer run -- COMMAND")
    check_libraries()
    from sanitizer.proxy import ProxySettings, create_app

    upstream = upstream or os.environ.get("OPENAI_BASE_URL") or OPENAI
    variables = variables_for(upstream)
    settings = ProxySettings(upstream=upstream)
    sanitizer = build_sanitizer(setting, conversation="run", budget=budget, ledger=ledger)
    watched = Watched(open_vault(vault) if vault else None)
    sanitizer = sanitizer.derive(vault=watched)
    sanitizer.load()
    app = create_app(
        sanitizer, settings, conversation_key=conversation_key(), may_block=vault is not None
    )
    seen = Traffic(app, watched.originals_of)
    with _serving(seen) as url:
        status = _run(command, _environment(variables, url))
    not_started = status in (NOT_FOUND, NOT_RUNNABLE) and not seen.n_requests
    if not (quiet or not_started):
        click.echo(seen.summary(upstream, watched, sanitizer.spent), err=True)
    if reveal:
        from sanitizer.cli.display import safe

        for value, original in sorted(watched.pairs.items()):
            click.echo(f"  {safe(value)}  was  {safe(original)}", err=True)
    return status


def variables_for(upstream: str) -> dict[str, str]:
    """Return the variables that make common clients ask the proxy, with the path each expects.

    Clients of other vendors are left alone: they would send their keys to this upstream.

    >>> variables_for("https://api.openai.com/v1")
    {'OPENAI_BASE_URL': '/v1', 'OPENAI_API_BASE': '/v1'}
    """
    if "anthropic" in (urlsplit(upstream).hostname or ""):
        return {"ANTHROPIC_BASE_URL": ""}
    return {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"}


def _environment(variables: dict[str, str], url: str) -> dict[str, str]:
    """Return the environment of the command; this machine is asked without another proxy."""
    found = dict(os.environ)
    found |= {name: url + path for name, path in variables.items()}
    for name in ("NO_PROXY", "no_proxy"):
        known = [each for each in found.get(name, "").split(",") if each]
        found[name] = ",".join(dict.fromkeys([*known, "127.0.0.1", "localhost"]))
    return found


# ---- the proxy, in a thread ----


@contextmanager
def _serving(app: Any) -> Iterator[str]:
    """Serve on a free port of this machine meanwhile; yield the URL.

    Raises:
        ValueError: it does not start.
    """
    from sanitizer.proxy import Listener, make_server

    listener, ready = Listener(port=0), threading.Event()
    with listener.open() as sock:
        server = make_server(app, listener, ready.set)
        # Signals are the main thread's, and go on to the command.
        thread = threading.Thread(target=lambda: server.run(sockets=[sock]), daemon=True)
        thread.start()
        if not ready.wait(START_SECONDS):
            raise ValueError("the proxy did not start")
        try:
            yield listener.url(sock.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(START_SECONDS)


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command to its end; signals go on to it. Return its exit status, as shells have it."""
    kept: dict[int, Any] = {}
    child: subprocess.Popen[bytes] | None = None
    # Whoever quotes a whole command line may have a text in it, which is not shown.
    named = command[0] if re.fullmatch(r"[\w./\\:+-]{1,80}", command[0]) else "the command"

    def forward(number: int, frame: Any) -> None:
        # On a terminal Ctrl-C reaches the command by itself, as it does this program.
        if child is not None and not (number == signal.SIGINT and sys.stdin.isatty()):
            child.send_signal(number)

    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
            if hasattr(signal, name):
                number = getattr(signal, name)
                kept[number] = signal.signal(number, forward)
        child = subprocess.Popen(command, env=environment)
        status = child.wait()
    except FileNotFoundError:
        click.echo(f"sanitizer run: error: {named} was not found", err=True)
        return NOT_FOUND
    except OSError:
        click.echo(f"sanitizer run: error: {named} cannot be run", err=True)
        return NOT_RUNNABLE
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


# ---- what left, and what came back ----


class Watched:
    """Vault that remembers which values were released in this run.

    Args:
        vault: where everything is kept; None: in this process.

    Attributes:
        pairs: released value -> original; of several conversations with one value, the last.
    """

    def __init__(self, vault: Vault | None) -> None:
        from sanitizer.storage import MemoryVault

        self._vault: Vault = vault or MemoryVault()
        self.pairs: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def secret(self) -> bytes:
        return self._vault.secret

    def get(self, key: bytes) -> SanitizedText | None:
        return self._vault.get(key)

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        return self._vault.put_first(key, result, conversation)

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        with self._vault.edit(conversation) as table:
            yield table
            used = table.used
        with self._lock:
            self.pairs |= used

    def originals(self, conversation: str) -> Originals:
        return self._vault.originals(conversation)

    def known(self, conversation: str, forms: Collection[str]) -> dict[str, str]:
        return self._vault.known(conversation, forms)

    def scratch(self, conversation: str) -> MemoryVault:
        return self._vault.scratch(conversation)

    def originals_of(self) -> set[str]:
        """Return what was replaced so far."""
        with self._lock:
            return set(self.pairs.values())


class Traffic:
    """The proxy's application, with its requests and answers counted. It keeps no text.

    Args:
        app: the proxy.
        originals: returns what was replaced so far, to be found in answers.

    Attributes:
        n_requests: requests of the command.
        n_answered: those that the API answered.
        came_back: originals that were in an answer.
    """

    def __init__(self, app: Any, originals: Callable[[], set[str]]) -> None:
        self._app = app
        self._originals = originals
        self.n_requests = self.n_answered = 0
        self.came_back: set[str] = set()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.n_requests += 1
        said: list[bytes] = []
        n_bytes = 0

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal n_bytes
            if message["type"] == "http.response.start":
                self.n_answered += message["status"] < 400
            elif n_bytes < MAX_ANSWER:
                said.append(message.get("body", b""))
                n_bytes += len(said[-1])
            await send(message)

        await self._app(scope, receive, watched)
        text = b"".join(said).decode("utf-8", "replace")
        self.came_back |= {each for each in self._originals() if _within(each, text)}

    def summary(self, upstream: str, vault: Watched, spent: float) -> str:
        """Return what left and what came back in two lines, without text of either."""
        refused = self.n_requests - self.n_answered
        lines = [
            f"sanitizer: {_counted(self.n_requests, 'request')} to {upstream}, "
            f"{self.n_answered} answered" + (f", {refused} refused or failed" if refused else "")
        ]
        if not self.n_requests:
            lines.append("sanitizer: the command did not use the proxy, so nothing was protected")
            return "\n".join(lines)
        n = len(vault.originals_of())
        lines.append(
            f"sanitizer: {_counted(n, 'private thing')} left as stand-ins, "
            f"{len(self.came_back)} came back in answers; epsilon {spent:g} charged in all"
        )
        return "\n".join(lines)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _within(original: str, text: str) -> bool:
    """Return True if an answer in JSON holds an original, in either spelling of its letters."""
    spelled = (json.dumps(original)[1:-1], json.dumps(original, ensure_ascii=False)[1:-1])
    return any(each in text for each in spelled)
