"""The commands that send requests to an API: `serve` for other programs, `chat` on a terminal."""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from socket import socket
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sanitizer.cli.display import marked, safe, told, width
from sanitizer.cli.options import (
    INTERRUPTED,
    LEDGER_KEY,
    URL_HELP,
    VAULT_KEY,
    build_sanitizer,
    command,
    conversation_option,
    decoded,
    file_option,
    flag,
    model_option,
    open_ledger,
    option,
    secret,
    setting_options,
    store_options,
)
from sanitizer.errors import BudgetExceeded, SanitizerError, plural, to_install

if TYPE_CHECKING:
    from sanitizer.clients.chat import ChatConnection
    from sanitizer.pipeline.sanitizer import Sanitizer
    from sanitizer.proxy.access import ProxySettings
    from sanitizer.proxy.configuration import Tenant
    from sanitizer.proxy.server import Listener
    from sanitizer.results import Record
    from sanitizer.storage.ledger import Budgets
    from sanitizer.storage.vault import Vault

MODEL = "gpt-4.1-mini"
"""Model of the API that `chat` talks to by default."""
EVERYONE = "proxy"
"""Name of the user scope that a proxy without tenants charges for all requests."""
START_SECONDS = 1.0
"""Least time between two starts of one worker."""
OF_TENANTS = ("budget", "ledger", "policy", "vault")
"""Settings that a configuration has for each tenant."""
PROXY_LIBRARIES = ("aiohttp", "prometheus_client", "starlette", "uvicorn")


# ---- serve ----


@command(
    "run the proxy, with a page for the browser",
    "sanitizer serve --upstream https://api.openai.com/v1",
)
@option("--upstream", URL_HELP, "URL")
@file_option(
    "--config", "TOML file of tenants, upstreams, limits and storage, instead of --upstream", None
)
@option("--host", "address to listen on (default 127.0.0.1)", default="127.0.0.1")
@option("--port", "port to listen on (default 8787; 0: any free port)", default=8787)
@flag("--expose", "allow a --host that other machines can reach; needs --token-env or --config")
@file_option("--certfile", "PEM certificate, to serve https", None)
@file_option("--keyfile", "key of the certificate, if in another file", None)
@file_option("--client-ca", "PEM authorities for client certificates (with --config)", None)
@option(
    "--workers",
    "number of processes; more than one needs [storage] in --config",
    "N",
    type=click.IntRange(1, 64),
    default=1,
)
@setting_options
@model_option
@store_options
@option("--key-env", "send the API the key in $NAME instead of the client's", "NAME")
@option("--token-env", "require clients to send the token in $NAME", "NAME")
@option("--allow-host", "accept this name, too, in Host headers", "NAME", multiple=True)
@option("--allow-origin", "let web pages of this origin use the proxy", "ORIGIN", multiple=True)
@option("--max-body", "size limit of a request (default 10000000)", "BYTES", default=10_000_000)
@option("--max-connections", "most requests at the same time (default 1000)", "N", default=1000)
@option("--timeout", "longest wait for data (default 600)", "SECONDS", default=600.0)
@option("--idle", "end conversations that are idle for so long (default 72)", "HOURS", default=72.0)
@flag("--no-page", "serve the API only, without the page")
@file_option("--ca", "PEM certificates to trust for the API, instead of the system's", None)
def serve(upstream: str | None, config: Path | None, workers: int, **options: Any) -> None:
    """Run the proxy: the API's endpoints on this machine, and a page for the browser.

    Without --upstream, only the page: copy what it shows into any chat, and paste the answer.
    --budget is one limit for all requests together; with --config, the file sets limits.
    """
    check_libraries()
    logging.basicConfig(format="%(asctime)s %(message)s")
    if config is None:
        if upstream is None and options["no_page"]:
            raise ValueError("--no-page needs --upstream URL: there is nothing to serve")
        if workers > 1:
            told = "--workers needs --config with [storage], or each would have its own budget"
            raise ValueError(told)
        _serve(upstream, options)
        return
    if upstream is not None:
        raise ValueError("--upstream cannot be used with --config: that file names the upstreams")
    given = click.get_current_context().get_parameter_source
    if any(given(name) is ParameterSource.COMMANDLINE for name in OF_TENANTS):
        named = ", ".join(f"--{name}" for name in OF_TENANTS)
        raise ValueError(f"{named} cannot be used with --config: that file says it")
    _serve_tenants(config, workers, options)


def check_libraries() -> None:
    """Raise ValueError if the extra "proxy" is not installed."""
    if missing := [name for name in PROXY_LIBRARIES if find_spec(name) is None]:
        raise ValueError(f"proxy needs {' and '.join(missing)}: {to_install('proxy')}")


def _serve(upstream: str | None, options: dict[str, Any]) -> None:
    from sanitizer.proxy.server import create_app, run

    settings, listener = _proxy(upstream, options)
    listener.check(settings.token)
    sanitizer = everyones_sanitizer(options)
    sanitizer.load()
    may_block = options["vault"] is not None
    app = create_app(sanitizer, settings, conversation_key=conversation_key(), may_block=may_block)
    to = f"-> {settings.upstream}" if upstream else "to copy from and paste into; no API"
    about = f"{to}, policy {sanitizer.policy.name}"
    run(app, listener, lambda url: click.echo(f"sanitizer: {url} {about}", err=True))


def everyones_sanitizer(options: dict[str, Any]) -> Sanitizer:
    """Return the Sanitizer of a proxy without tenants.

    Its limit is that of all requests: a client can always begin another conversation, or show
    another key.
    """
    from sanitizer.storage.ledger import DAY, Scope

    more: dict[str, Any] = {"conversation": "default"}
    if options["ledger"] is not None:
        ledger, everyone = open_ledger(options["ledger"]), Scope("user", EVERYONE)
        if options["budget"] is not None:
            ledger.set_limit(everyone, options["budget"])
        more |= {"budget": None, "ledger": ledger, "scopes": (everyone, DAY)}
    return build_sanitizer(options, **more)


def _serve_tenants(config: Path, workers: int, options: dict[str, Any]) -> None:
    """Serve the tenants of a configuration, by one process or several."""
    from sanitizer.proxy.server import create_app, run
    from sanitizer.proxy.tenants import Tenants

    settings, listener = _proxy("http://configured.invalid", options)
    listener.check(settings.token, has_tenants=True)
    threads = max(1, (os.cpu_count() or 1) // workers) if workers > 1 else None

    def sanitizer_of(tenant: Tenant, vault: Vault, ledger: Budgets) -> Sanitizer:
        own = {**options, "policy": tenant.policy}
        stores: dict[str, Any] = {"vault": vault, "ledger": ledger}
        return build_sanitizer(own, conversation="default", threads=threads, **stores)

    def work(ready: Callable[[], object], sock: socket | None = None) -> None:
        def announce(url: str) -> None:
            ready()
            click.echo(f"sanitizer: {url} -> tenants of {config}", err=True)

        tenants = Tenants(config, settings, sanitizer_of)
        if workers > 1 and tenants.n_waiting is None:
            raise ValueError("--workers needs [storage], or each would have its own budget")
        tenants.load()
        run(create_app(tenants, settings), listener, announce, tenants.reload, sock)

    if workers == 1:
        work(lambda: None)
        return
    read_lists(config)
    with listener.open() as sock:
        run_workers(workers, partial(work, sock=sock))


def read_lists(config: Path) -> None:
    """Read what all workers share before they begin: patterns and lists, and no model.

    A worker that takes the place of another is there the sooner, and takes less memory.
    """
    import sanitizer.proxy.server  # noqa: F401  all programs of a worker
    from sanitizer.pipeline.sanitizer import Sanitizer
    from sanitizer.proxy.configuration import Configuration

    for tenant in Configuration.load(config).tenants:
        Sanitizer(policy=tenant.policy).load(models=False)
    gc.freeze()  # a collection in a worker would copy the pages that it visits


def run_workers(count: int, work: Callable[[Callable[[], object]], None]) -> None:
    """Run `work` in several processes until SIGINT or SIGTERM; one that ends is replaced.

    SIGHUP is passed on. An error before any worker has served ends all of them: the configuration
    is wrong, and would be again. Later ones may pass, such as a database that is down.

    Args:
        count: of the processes.
        work: serves; calls what it is given once it does.
    """
    running: dict[int, float] = {}  # process -> when it began
    ending = has_served = False
    news, tell = os.pipe()
    os.set_blocking(news, False)
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def start() -> None:
        # A signal before a worker has handlers of its own would reach `pass_on` in the worker.
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        if number := os.fork():
            running[number] = monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            return
        for each in signals:
            signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        os._exit(_exit_status(lambda: work(partial(os.write, tell, b"."))))

    def pass_on(number: int, frame: object) -> None:
        nonlocal ending
        ending = ending or number != signal.SIGHUP
        for process in tuple(running):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, number)

    for each in signals:
        signal.signal(each, pass_on)
    for _ in range(count):
        start()
    while running:
        process, status = os.wait()
        seconds = monotonic() - running.pop(process)
        with suppress(BlockingIOError):
            has_served = has_served or bool(os.read(news, 1))
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) and not has_served and not ending:
            pass_on(signal.SIGTERM, None)
            while running:
                running.pop(os.wait()[0])
            raise ValueError("a worker stopped before it could serve; its message is above")
        if not ending:
            sleep(max(0.0, START_SECONDS - seconds))
        if not ending:
            start()


def _exit_status(work: Callable[[], None]) -> int:
    """Run a worker; return its exit status. Its errors are shown as those of a command are."""
    try:
        work()
    except (SanitizerError, ValueError, OSError) as error:
        click.echo(f"sanitizer: error: {safe(str(error))}", err=True)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _proxy(upstream: str | None, options: dict[str, Any]) -> tuple[ProxySettings, Listener]:
    from sanitizer.proxy.access import ProxySettings
    from sanitizer.proxy.server import Listener
    from sanitizer.urls import is_loopback

    own = [] if is_loopback(options["host"]) else [options["host"]]
    settings = ProxySettings(
        upstream=upstream or "",
        key=secret("key-env", options["key_env"]),
        token=secret("token-env", options["token_env"]),
        hosts=(*options["allow_host"], *own),
        origins=tuple(options["allow_origin"]),
        page=not options["no_page"],
        **{name: options[name] for name in "max_body max_connections timeout idle ca".split()},
    )
    listener = Listener(
        exposed=options["expose"],
        connections=2 * options["max_connections"],
        **{name: options[name] for name in ("host", "port", "certfile", "keyfile", "client_ca")},
    )
    return settings, listener


def conversation_key() -> bytes | None:
    """Return a key that is the same after a restart if a ledger or vault outlives the process.

    Conversations are found again by it, since they are named after its hash of API keys.
    """
    lasting = os.environ.get(LEDGER_KEY) or os.environ.get(VAULT_KEY)
    return hashlib.sha256(b"conversation " + lasting.encode()).digest() if lasting else None


# ---- chat ----


@command(
    "chat with a model in the terminal, one message per line",
    "sanitizer chat --upstream https://api.openai.com/v1 --key-env OPENAI_API_KEY",
)
@setting_options
@option("--upstream", URL_HELP, "URL", required=True)
@option("--api-model", f"model of the API (default {MODEL})", "NAME", default=MODEL)
@option("--key-env", "send the API the key in $NAME", "NAME")
@option(
    "--extractor",
    "rewrite answers on this machine: lexical, lm, or the URL of a model server",
    "EXTRACTOR",
)
@model_option
@store_options
@conversation_option
@flag("--reveal", "show the private words beside their replacements")
def chat(upstream: str, api_model: str, key_env: str | None, reveal: bool, **options: Any) -> int:
    """Chat with a model: each line is a message, which is sanitized before it is sent.

    The exit status is 1 if a message could not be sent or was not answered.
    """
    from sanitizer.clients.chat import ChatConnection

    key = secret("key-env", key_env)
    options["conversation"] = options["conversation"] or ("chat" if options["ledger"] else "")
    sanitizer = build_sanitizer(options)
    with ChatConnection(upstream, sanitizer, model=api_model, key=key) as api:
        sanitizer.load()
        try:
            n_failed = Chat(sanitizer, api, reveal).run(_lines())
        except KeyboardInterrupt:
            # The terminal has shown "^C" behind the prompt.
            sys.stderr.write("\n" * sys.stderr.isatty() + "sanitizer: interrupted\n")
            return INTERRUPTED
    return 1 if n_failed else 0


def _lines() -> Iterator[str]:
    """Yield the lines of standard input to its end, but for the empty ones."""
    if sys.stdin.isatty():
        while True:
            try:
                line = input("you> ")
            except EOFError:
                sys.stdout.write("\n")
                return
            if line.strip():
                yield line
    for raw in sys.stdin.buffer:
        line = decoded(raw).rstrip("\r\n")
        if line.strip():
            yield line


class Chat:
    """Conversation on a terminal, with every step of it shown.

    A message that could not be answered is removed from the history, so that the next one does not
    build on it. With `reveal` originals are shown beside their replacements.
    """

    def __init__(self, sanitizer: Sanitizer, api: ChatConnection, reveal: bool) -> None:
        self._sanitizer, self._api, self._reveal = sanitizer, api, reveal
        self._history: list[dict[str, str]] = []
        self._explained = ""
        self._told: set[str] = set()

    def run(self, lines: Iterator[str]) -> int:
        """Answer each line; return how many could not be sent or were not answered.

        After an error, which is shown as one line, it goes on with the next.
        """
        n_failed = 0
        for line in lines:
            n_before = len(self._history)
            try:
                self._answer(line)
            except SanitizerError as error:
                n_failed += 1
                del self._history[n_before:]
                message = str(error)
                if isinstance(error, BudgetExceeded):
                    message += "; nothing was sent; a message with fewer private words may fit"
                sys.stdout.flush()
                click.echo(f"sanitizer: error: {safe(message)}", err=True)
        return n_failed

    def _answer(self, line: str) -> None:
        result = self._sanitizer.sanitize(line)
        if self._reveal:
            _say("said: {}\nsent: {}".format(*marked(result)))
        else:
            _say(f"sent: {safe(result.text)}")
        self._history.append({"role": "user", "content": line})
        noisy: list[str] = []
        said: list[str] = []
        answer = self._sanitizer.restored_stream(_kept(self._api.answer(self._history), noisy))
        for piece in _kept(answer, said):
            _say(safe(piece), end="")
        self._sanitizer.inner.answers.remember_answer("".join(noisy), "".join(said))
        self._history.append({"role": "assistant", "content": "".join(said)})
        _say("" if answer.note is None else f"\nnote: {answer.note}")
        for note in told(answer.drawn, self._reveal):
            if note not in self._told:  # it holds for every later answer too
                self._told.add(note)
                _say(note)
        _say(self._cost(result.record))

    def _cost(self, record: Record) -> str:
        """Return what a message cost, what is left of the budget, and what the epsilon means."""
        left = self._sanitizer.budget_left
        account = f"charged {record.charged:g}, spent {self._sanitizer.spent:g}"
        account += "" if left is None else f", left {left:g}"
        if record.mechanism == "none":
            return f"[no differential privacy: {record.reason}; {account}]"
        sure = "certified" if record.certified else f"NOT certified: {record.reason}"
        what = "private word" if record.detector == "none" else "drawn thing"
        each = f"{plural(record.n_units, what)} at epsilon {record.epsilon_per_unit:g}"
        cost = f"[{each if record.n_units else 'nothing was drawn'}, {sure}; {account}]"
        # What the figures mean is said once, not below each message.
        if record.neighboring_relation == self._explained:
            return cost
        self._explained = record.neighboring_relation
        explained = f"[neighbouring inputs: {record.neighboring_relation}]"
        return "\n".join([cost, *textwrap.wrap(explained, width(), subsequent_indent=" ")])


def _kept(pieces: Iterator[str], kept: list[str]) -> Iterator[str]:
    for piece in pieces:
        kept.append(piece)
        yield piece


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.buffer.write((text + end).encode("utf-8", "replace"))
    sys.stdout.flush()
