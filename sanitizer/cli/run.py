"""The command that runs another program with the proxy between it and its API: `run`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from sanitizer.cli.api import check_libraries, conversation_key
from sanitizer.cli.options import (
    build_sanitizer,
    command,
    flag,
    model_option,
    open_vault,
    option,
    setting_options,
    store_options,
    write,
)
from sanitizer.cli.sealed import NOT_FOUND, NOT_RUNNABLE, Sealed
from sanitizer.errors import plural
from sanitizer.progress import Note, followed, notes

if TYPE_CHECKING:
    from sanitizer.storage.table import Entries
    from sanitizer.storage.vault import Vault

MAX_ANSWER = 50_000_000  # characters of answers that are searched for originals


@command(
    "run a program whose API requests go through the proxy",
    "sanitizer run -- python my_script.py",
    "sanitizer run -- claude",
    "sanitizer run --upstream http://127.0.0.1:11434/v1 -- ./chat.sh",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
@option(
    "--upstream",
    "base URL of the API, or NAME=URL for anthropic, gemini, ollama or azure"
    " (default: from variables such as $OPENAI_BASE_URL, or the vendor's)",
    "URL",
    multiple=True,
)
@flag("--sealed", "run it in a separate network that reaches only the proxy (Linux)")
@flag(
    "--unprotected",
    "run it even if it cannot be protected, and allow direct connections to known APIs",
)
@setting_options
@model_option
@store_options
@flag("--reveal", "list at the end what was replaced, with the originals")
@flag("--quiet", "print nothing at the start and at the end")
@flag("--watch", "show each request of another `sanitizer run` as it happens, until Ctrl-C")
def run(
    words: tuple[str, ...],
    upstream: tuple[str, ...],
    sealed: bool,
    unprotected: bool,
    budget: float | None,
    ledger: Path | None,
    vault: Path | None,
    reveal: bool,
    quiet: bool,
    watch: bool,
    **setting: Any,
) -> int:
    """Run COMMAND so that its API requests go through the proxy; return its exit status.

    The proxy listens on a free port of this machine, for the APIs of OpenAI, Anthropic, Gemini,
    Ollama and Azure. COMMAND finds it by variables such as OPENAI_BASE_URL, known programs also by
    options. Direct connections to known APIs are refused if COMMAND respects HTTPS_PROXY; with
    --sealed, always. Known coding agents run under the policy code unless --policy is given.
    """
    if watch:
        if words:
            raise ValueError("--watch takes no command; start it in another terminal")
        return _watch()
    if not words:
        raise ValueError("a command is required: sanitizer run -- COMMAND")
    if sealed and unprotected:
        raise ValueError("--sealed and --unprotected cannot be used together")
    check_libraries()
    from sanitizer.cli.programs import LOGINS, OPENAI, Plan, own_urls
    from sanitizer.proxy.access import ProxySettings
    from sanitizer.proxy.gate import Gate
    from sanitizer.proxy.server import Listener, create_app, serving

    plan = Plan.of(words, os.environ, own_urls(upstream))
    if plan.why_not and not unprotected:
        raise ValueError(f"{plan.why_not}; to run it anyway, add --unprotected")
    if shutil.which(words[0]) is None and not Path(words[0]).exists():
        click.echo(f"sanitizer run: error: {_named(words)} was not found", err=True)
        return NOT_FOUND
    source = click.get_current_context().get_parameter_source("policy")
    if source is ParameterSource.DEFAULT:
        setting["policy"] = plan.program.policy
    settings = ProxySettings(OPENAI.url, page=False, mounts=plan.mounts, by_history=False)
    sanitizer = build_sanitizer(setting, conversation="run", budget=budget, ledger=ledger)
    watched = Watched(open_vault(vault) if vault else None)
    # Programs write what arrives: nothing of it is a person's request.
    policy = sanitizer.policy.leaving_nothing()
    policy = replace(policy, public=policy.public | frozenset(plan.program.public))
    sanitizer = sanitizer.derive(vault=cast("Vault", watched), policy=policy)
    sanitizer.load()
    app = create_app(
        sanitizer, settings, conversation_key=conversation_key(), may_block=vault is not None
    )
    gate, listener = Gate(() if unprotected else plan.refused, LOGINS, sealed), Listener(port=0)
    with Sealed() if sealed else nullcontext() as room, ExitStack() as stack:
        sockets = room.sockets if room else (listener.open(), listener.open())
        inside, outside = map(stack.enter_context, sockets)
        way_out = listener.url(outside.getsockname()[1])
        note = stack.enter_context(notes())
        seen = Traffic(app, watched.originals_of, note)
        url = stack.enter_context(serving(seen, listener, inside, lambda: gate.serve(outside)))

        def tell(said: str) -> None:
            note(said)
            if not quiet:
                click.echo(said, err=True)

        tell(plan.told(_named(words), sanitizer.policy.name, sealed, unprotected))
        status = _run(plan.command(url), plan.environment(url, way_out), room)
        if status not in (NOT_FOUND, NOT_RUNNABLE) or seen.n_requests:
            tell(seen.summary(watched, sanitizer.spent))
            for domain, n in gate.n_refused.items():
                refused = f"{plural(n, 'connection')} to {domain} refused, nothing was sent"
                tell(f"sanitizer: {refused}")
    if reveal:
        from sanitizer.cli.display import safe

        for value, original in sorted(watched.pairs.items()):
            click.echo(f"  {safe(value)}  was  {safe(original)}", err=True)
    return status


def _watch() -> int:
    click.echo("sanitizer: waiting for requests of `sanitizer run -- COMMAND`", err=True)
    with suppress(KeyboardInterrupt):
        for said in followed():
            write(said, newline=False)
    return 0


def _named(command: Sequence[str]) -> str:
    """Return the name of a command that may be shown: a whole line may hold a text."""
    name = Path(command[0]).name
    return name if re.fullmatch(r"[\w.+-]{1,80}", name) else "the command"


def _run(command: list[str], environment: dict[str, str], room: Sealed | None) -> int:
    """Run a command to its end, in `room` if it has a network of its own; signals go on to it.

    Return its exit status, as shells have it.
    """
    kept: dict[int, Any] = {}
    child: subprocess.Popen[bytes] | None = None

    def forward(number: int, frame: Any) -> None:
        # On a terminal Ctrl-C reaches the command by itself, as it does this program.
        if child is not None and not (number == signal.SIGINT and sys.stdin.isatty()):
            child.send_signal(number)

    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
            if hasattr(signal, name):
                number = getattr(signal, name)
                kept[number] = signal.signal(number, forward)
        if room is None:
            child = subprocess.Popen(command, env=environment)
        else:
            child = room.process
            room.start(command, environment)
        status = child.wait()
    except OSError:
        click.echo(f"sanitizer run: error: {_named(command)} cannot be run", err=True)
        return NOT_RUNNABLE
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


# ---- what left, and what came back ----


class Watched:
    """A vault (of this process, if none is given) that remembers what was released in this run.

    Attributes:
        pairs: released value -> original; of several conversations with one value, the last.
        kinds: released value -> class of what it stands for.
    """

    def __init__(self, vault: Vault | None) -> None:
        from sanitizer.storage.vault import MemoryVault

        self._vault: Vault = vault or MemoryVault()
        self.pairs: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vault, name)

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        with self._vault.edit(conversation) as table:
            yield table
        with self._lock:
            self.pairs |= table.used
            kinds = table.kinds(table.used.values())
            self.kinds |= {value: kinds.get(o, "OTHER") for value, o in table.used.items()}

    def originals_of(self) -> set[str]:
        """Return what was replaced so far."""
        with self._lock:
            return set(self.pairs.values())


class Traffic:
    """The proxy's application, with its requests and answers counted. It keeps no text.

    Args:
        app: the proxy. originals: returns what was replaced so far, to be found in answers.
        note: called with a line about each request when its answer begins, or it is refused.

    Attributes:
        n_requests, n_answered: requests of the command, and those that the API answered.
        added: milliseconds that each took longer than it would have.
        came_back: originals that were in an answer.
    """

    def __init__(self, app: Any, originals: Callable[[], set[str]], note: Note) -> None:
        self._app, self._originals, self._note = app, originals, note
        self.n_requests = self.n_answered = 0
        self.added: list[float] = []
        self.came_back: set[str] = set()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.n_requests += 1
        said: list[bytes] = []
        n_bytes, begin = 0, perf_counter()

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal n_bytes
            if message["type"] == "http.response.start":
                self.n_answered += message["status"] < 400
                self._note(self._line(scope, message, perf_counter() - begin))
            elif n_bytes < MAX_ANSWER:
                said.append(message.get("body", b""))
                n_bytes += len(said[-1])
            await send(message)

        await self._app(scope, receive, watched)
        text = b"".join(said).decode("utf-8", "replace")
        self.came_back |= {
            each
            for each in self._originals()  # an answer in JSON may spell letters in two ways
            if any(json.dumps(each, ensure_ascii=way)[1:-1] in text for way in (True, False))
        }

    def _line(self, scope: Mapping[str, Any], begun: Mapping[str, Any], seconds: float) -> str:
        """Return what became of a request, without text."""
        from sanitizer.wire.endpoints import public_path

        headers = {name.decode().lower(): value.decode() for name, value in begun["headers"]}
        timing = headers.get("server-timing", "").partition("dur=")[2]  # of what was sent on
        self.added.append(float(timing or 1e3 * seconds))
        how = "passed" if timing else "failed" if begun["status"] >= 500 else "refused"
        left = headers.get("sanitizer-classes") or "nothing"
        told = f"{how} ({begun['status']}), hidden: {left}, {self.added[-1]:.0f} ms added"
        return f"{datetime.now():%H:%M:%S} {scope['method']} {public_path(scope['path'])}: {told}"

    def summary(self, vault: Watched, spent: float) -> str:
        """Return what left and what came back in two lines, without text of either."""
        refused = self.n_requests - self.n_answered
        said = f"sanitizer: {plural(self.n_requests, 'request')}, {self.n_answered} answered"
        said += f", {refused} refused or failed\n" if refused else "\n"
        if not self.n_requests:
            return f"{said}sanitizer: the command did not use the proxy, so nothing was protected"
        kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(vault.kinds.values()).most_common())
        replaced = plural(len(vault.originals_of()), "private thing") + " replaced"
        said += f"sanitizer: {replaced}{f' ({kinds})' if kinds else ''}, {len(self.came_back)} "
        said += f"restored in answers; epsilon {spent:g} charged in total"
        added = self.added or [0.0]
        each = f"median {median(added):.0f} ms, at most {max(added):.0f} ms"
        return f"{said}\nsanitizer: time added: {sum(added):.0f} ms in total, {each}"
