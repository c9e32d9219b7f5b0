"""The commands that send requests to an API: `serve` for other programs, `chat` on a terminal."""

from __future__ import annotations

import gc
import hashlib
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

from sanitizer.cli.display import marked, safe, told, width
from sanitizer.cli.options import (
    INTERRUPTED,
    LEDGER_KEY,
    URL_HELP,
    VAULT_KEY,
    budget_option,
    build_sanitizer,
    context_option,
    conversation_option,
    decoded,
    examples,
    ledger_option,
    model_option,
    open_ledger,
    secret,
    setting_options,
    together,
    vault_option,
)
from sanitizer.errors import BudgetExceeded, SanitizerError

if TYPE_CHECKING:
    from sanitizer.clients import ChatConnection
    from sanitizer.pipeline import Sanitizer
    from sanitizer.proxy import Listener, ProxySettings
    from sanitizer.proxy.configuration import Tenant
    from sanitizer.results import Record, SanitizedText
    from sanitizer.storage import Budgets, Vault

MODEL = "gpt-4.1-mini"

upstream_option = click.option("--upstream", required=True, metavar="URL", help=URL_HELP)


# ---- serve ----

EVERYONE = "proxy"
"""Name of the user scope that a proxy without tenants charges for all requests."""
START_SECONDS = 1.0
"""Least time between two starts of one worker."""
PROXY_LIBRARIES = ("aiohttp", "prometheus_client", "starlette", "uvicorn")

_listener_options = together(
    click.option("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)"),
    click.option("--port", type=int, default=8787, help="default 8787; 0 takes a free one"),
    click.option(
        "--expose",
        is_flag=True,
        help="allow a host that other machines reach; needs --token-env",
    ),
    click.option("--certfile", type=Path, help="PEM certificate, to serve https"),
    click.option("--keyfile", type=Path, help="its key, if in another file"),
    click.option(
        "--client-ca", type=Path, help="PEM authorities of client certificates (with --config)"
    ),
    click.option(
        "--workers",
        type=click.IntRange(1, 64),
        default=1,
        metavar="N",
        help="processes that serve the address; more than one need a shared store (--config)",
    ),
)
_access_options = together(
    click.option(
        "--key-env", metavar="NAME", help="send the upstream the key in $NAME, not the client's"
    ),
    click.option("--token-env", metavar="NAME", help="clients must send the token in $NAME"),
    click.option(
        "--allow-host",
        multiple=True,
        metavar="NAME",
        help="another name of the proxy in Host headers",
    ),
    click.option(
        "--allow-origin",
        multiple=True,
        metavar="ORIGIN",
        help="a web page that may use the proxy",
    ),
)
_limit_options = together(
    click.option(
        "--max-body",
        type=int,
        default=10_000_000,
        metavar="BYTES",
        help="of a request (default 10000000)",
    ),
    click.option(
        "--max-connections",
        type=int,
        default=1000,
        metavar="N",
        help="requests at once (default 1000); twice as many open",
    ),
    click.option(
        "--timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="of silence (default 600)",
    ),
)


@click.command(
    short_help="run the proxy: the API's endpoints on this machine, and a page",
    epilog=examples("sanitizer serve --upstream https://api.openai.com/v1"),
)
@click.option("--upstream", metavar="URL", help=URL_HELP)
@click.option(
    "--config",
    type=Path,
    help="TOML file of tenants, upstreams, limits and storage, in place of --upstream",
)
@_listener_options
@setting_options
@context_option
@model_option
@budget_option
@ledger_option
@vault_option
@_access_options
@_limit_options
@click.option("--no-page", is_flag=True, help="do not serve the page")
@click.option(
    "--ca",
    type=Path,
    help="PEM certificates to trust for the upstream, in place of the usual ones",
)
def serve(
    upstream: str | None,
    config: Path | None,
    budget: float | None,
    ledger: Path | None,
    vault: Path | None,
    workers: int,
    **options: Any,
) -> None:
    """Run the proxy: the API's endpoints on this machine, and a page.

    The budget is that of all requests together; with --config, the file says whose is how much.
    """
    check_libraries()
    if upstream is None and config is None:
        raise ValueError("serve needs --upstream URL, or --config FILE")
    if upstream is not None and config is not None:
        raise ValueError("with --config, that file names the upstreams: leave out --upstream")
    if config is not None:
        if budget is not None or ledger is not None or vault is not None:
            raise ValueError("with --config, that file says where budgets and originals are")
        _serve_tenants(config, workers, options)
        return
    if workers > 1:
        raise ValueError("--workers needs --config with [storage]: each would have its own budget")
    _serve(upstream, budget, ledger, vault, options)


def check_libraries() -> None:
    """Raise ValueError if the extra "proxy" is not installed."""
    if missing := [name for name in PROXY_LIBRARIES if find_spec(name) is None]:
        raise ValueError(f'serve needs {" and ".join(missing)}: pip install "dp-sanitizer[proxy]"')


def _serve(
    upstream: str | None,
    budget: float | None,
    ledger: Path | None,
    vault: Path | None,
    options: dict[str, Any],
) -> None:
    from sanitizer.proxy import create_app, run

    settings, listener = _settings(upstream, options), _listener(options)
    listener.check(settings.token)
    sanitizer = _sanitizer(options, budget, ledger, vault)
    sanitizer.load()
    app = create_app(
        sanitizer,
        settings,
        conversation_key=conversation_key(),
        may_block=vault is not None,
    )
    about = f"-> {settings.upstream}, policy {sanitizer.policy.name}"
    run(app, listener, lambda url: click.echo(f"sanitizer: {url} {about}", err=True))


def _sanitizer(
    options: dict[str, Any], budget: float | None, ledger: Path | None, vault: Path | None
) -> Sanitizer:
    """Return the Sanitizer of a proxy without tenants.

    Its limit is that of all requests: a client can always begin another conversation, or show
    another key.
    """
    from sanitizer.storage import DAY, Scope

    if ledger is None:
        return build_sanitizer(options, conversation="default", budget=budget, vault=vault)
    opened, everyone = open_ledger(ledger), Scope("user", EVERYONE)
    if budget is not None:
        opened.set_limit(everyone, budget)
    return build_sanitizer(
        options, conversation="default", ledger=opened, vault=vault, scopes=(everyone, DAY)
    )


def _serve_tenants(config: Path, workers: int, options: dict[str, Any]) -> None:
    """Serve the tenants of a configuration, by one process or several."""
    from sanitizer.proxy import Tenants, create_app, run

    settings, listener = _settings("http://configured.invalid", options), _listener(options)
    listener.check(settings.token, has_tenants=True)
    threads = max(1, (os.cpu_count() or 1) // workers) if workers > 1 else None

    def serve_one(sock: socket | None, announce: Callable[[str], None]) -> None:
        tenants = Tenants(config, settings, partial(_for_tenants, options, threads))
        if workers > 1 and not tenants.may_block:
            raise ValueError("--workers needs [storage]: each would have its own budget")
        tenants.load()
        run(create_app(tenants, settings), listener, announce, tenants.reload, sock)

    def announce(url: str) -> None:
        click.echo(f"sanitizer: {url} -> tenants of {config}", err=True)

    if workers == 1:
        serve_one(None, announce)
        return
    _read_lists(config)

    def work(ready: Callable[[], None]) -> None:
        def serving(url: str) -> None:
            ready()
            announce(url)

        serve_one(sock, serving)

    with listener.open() as sock:
        run_workers(workers, work)


def _read_lists(config: Path) -> None:
    """Read what all workers share before they begin: patterns and lists, and no model.

    A worker that takes the place of another is there the sooner, and takes less memory.
    """
    import sanitizer.proxy.server  # noqa: F401  all programs of a worker
    from sanitizer import Sanitizer
    from sanitizer.proxy.configuration import Configuration

    for tenant in Configuration.load(config).tenants:
        Sanitizer(policy=tenant.policy).load(models=False)
    gc.freeze()  # a collection in a worker would copy the pages that it visits


def _for_tenants(
    options: dict[str, Any], threads: int | None, tenant: Tenant, vault: Vault, ledger: Budgets
) -> Sanitizer:
    """Return the Sanitizer whose models those of all tenants share."""
    setting = {**options, "policy": tenant.policy}
    return build_sanitizer(
        setting, conversation="default", vault=vault, ledger=ledger, threads=threads
    )


def run_workers(count: int, work: Callable[[Callable[[], None]], None]) -> None:
    """Run `work` in several processes until SIGINT or SIGTERM; one that ends is replaced.

    SIGHUP is passed on. An error before any worker has served ends all of them: the configuration
    is wrong, and would be again. Later ones may pass, such as a database that is down.

    Args:
        count: of the processes.
        work: serves; calls what it is given once it does.

    Raises:
        ValueError: a worker could not start; it has said why.
    """
    running: dict[int, float] = {}
    ending = False
    told, tell = os.pipe()
    os.set_blocking(told, False)

    def ready() -> None:
        os.write(tell, b".")

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
        os._exit(_exit_status(lambda: work(ready)))

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
    has_served = False
    while running:
        process, status = os.wait()
        seconds = monotonic() - running.pop(process)
        has_served = has_served or _can_be_read(told)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) and not has_served and not ending:
            pass_on(signal.SIGTERM, None)
            while running:
                running.pop(os.wait()[0])
            raise ValueError("a worker ended before it could serve; see its message")
        if not ending:
            sleep(max(0.0, START_SECONDS - seconds))
        if not ending:
            start()


def _can_be_read(end: int) -> bool:
    """Return True if something was written to a pipe that does not block."""
    try:
        return bool(os.read(end, 1))
    except BlockingIOError:
        return False


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


def _settings(upstream: str | None, options: dict[str, Any]) -> ProxySettings:
    from sanitizer.proxy import ProxySettings
    from sanitizer.urls import is_loopback

    own = [] if is_loopback(options["host"]) else [options["host"]]
    return ProxySettings(
        upstream=upstream or "",
        key=secret("key-env", options["key_env"]),
        token=secret("token-env", options["token_env"]),
        hosts=(*options["allow_host"], *own),
        origins=tuple(options["allow_origin"]),
        max_body=options["max_body"],
        max_connections=options["max_connections"],
        timeout=options["timeout"],
        page=not options["no_page"],
        ca=options["ca"],
    )


def _listener(options: dict[str, Any]) -> Listener:
    from sanitizer.proxy import Listener

    return Listener(
        host=options["host"],
        port=options["port"],
        certfile=options["certfile"],
        keyfile=options["keyfile"],
        client_ca=options["client_ca"],
        exposed=options["expose"],
        connections=2 * options["max_connections"],
    )


def conversation_key() -> bytes | None:
    """Return a key that is the same after a restart if a ledger or vault outlives the process.

    Conversations are found again by it, since they are named after its hash of API keys.
    """
    lasting = os.environ.get(LEDGER_KEY) or os.environ.get(VAULT_KEY)
    return hashlib.sha256(b"conversation " + lasting.encode()).digest() if lasting else None


# ---- chat ----


@click.command(
    short_help="talk to an API through the filter, one message a line",
    epilog=examples("sanitizer chat --upstream https://api.openai.com/v1 --key-env OPENAI_API_KEY"),
)
@setting_options
@context_option
@upstream_option
@click.option(
    "--api-model",
    default=MODEL,
    metavar="NAME",
    help=f"the API's model (default {MODEL})",
)
@click.option("--key-env", metavar="NAME", help="send the API the key in $NAME")
@click.option(
    "--extractor",
    metavar="EXTRACTOR",
    help="rewrite answers on this machine: lexical, lm, or the URL of a model server",
)
@model_option
@budget_option
@ledger_option
@vault_option
@conversation_option
@click.option("--reveal", is_flag=True, help="show the private words beside their replacements")
def chat(
    upstream: str,
    api_model: str,
    key_env: str | None,
    extractor: str | None,
    budget: float | None,
    ledger: Path | None,
    vault: Path | None,
    conversation: str,
    reveal: bool,
    **setting: Any,
) -> int:
    """Talk to an API through the filter, one message a line.

    The exit status is 1 if a message could not be sent or was not answered.
    """
    from sanitizer.clients import ChatConnection

    key = secret("key-env", key_env)
    sanitizer = build_sanitizer(
        setting,
        conversation=conversation or ("chat" if ledger else ""),
        budget=budget,
        ledger=ledger,
        vault=vault,
        extractor=extractor,
    )
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
    build on it.

    Args:
        sanitizer: Sanitizer of the conversation.
        api: connection to the API, through the same Sanitizer.
        reveal: True to show originals beside their replacements.
    """

    def __init__(self, sanitizer: Sanitizer, api: ChatConnection, reveal: bool) -> None:
        self._sanitizer = sanitizer
        self._api = api
        self._reveal = reveal
        self._history: list[dict[str, str]] = []
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._explained = ""
        self._told: set[str] = set()

    def run(self, lines: Iterator[str]) -> int:
        """Answer each line; after an error, which is shown as one line, go on with the next.

        Returns:
            how many messages could not be sent or were not answered.
        """
        n_failed = 0
        for line in lines:
            n_before = len(self._history)
            try:
                self._answer(line)
            except BudgetExceeded as error:
                n_failed += 1
                _complain(
                    f"{error}; nothing was sent, a message with fewer private words may still fit"
                )
            except SanitizerError as error:
                n_failed += 1
                del self._history[n_before:]
                _complain(str(error))
        return n_failed

    def _answer(self, line: str) -> None:
        result = self._sanitizer.sanitize(line)
        _say(self._sent(line, result))
        self._history.append({"role": "user", "content": line})
        noisy: list[str] = []
        said: list[str] = []
        answer = self._sanitizer.restored_stream(_kept(self._api.answer(self._history), noisy))
        for piece in _kept(answer, said):
            _say(safe(piece), end="")
        self._sanitizer.inner.remember_answer("".join(noisy), "".join(said))
        self._history.append({"role": "assistant", "content": "".join(said)})
        _say("" if answer.note is None else f"\nnote: {answer.note}")
        for note in told(answer.drawn, self._reveal):
            if note not in self._told:  # it holds for every later answer too
                self._told.add(note)
                _say(note)
        _say(self._cost(result.record))

    def _sent(self, line: str, result: SanitizedText) -> str:
        """Return what the API sees of a message, beside what was said if that is to be revealed."""
        if not self._reveal:
            return f"sent: {safe(result.text)}"
        before, after = marked(line, result, self._colour)
        return f"said: {before}\nsent: {after}"

    def _cost(self, record: Record) -> str:
        """Return what a message cost, what is left of the budget, and what the epsilon means."""
        left = self._sanitizer.budget_left
        account = f"charged {record.charged:g}, spent {self._sanitizer.spent:g}"
        account += "" if left is None else f", left {left:g}"
        if record.mechanism == "none":
            return f"[no differential privacy: {record.reason}; {account}]"
        sure = "certified" if record.certified else f"NOT certified: {record.reason}"
        what = "private word" if record.detector == "none" else "drawn thing"
        n = record.n_units
        each = f"{n} {what}{'' if n == 1 else 's'} at epsilon {record.epsilon_per_unit:g}"
        cost = f"[{each if n else 'nothing was drawn'}, {sure}; {account}]"
        # What the figures mean is said once, not below each message.
        if record.neighboring_relation == self._explained:
            return cost
        self._explained = record.neighboring_relation
        explained = f"[compared: {record.neighboring_relation}]"
        return "\n".join([cost, *textwrap.wrap(explained, width(), subsequent_indent=" ")])


def _kept(pieces: Iterator[str], kept: list[str]) -> Iterator[str]:
    """Yield the pieces, and append each to a list."""
    for piece in pieces:
        kept.append(piece)
        yield piece


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.buffer.write((text + end).encode("utf-8", "replace"))
    sys.stdout.flush()


def _complain(message: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"sanitizer: error: {safe(message)}\n")
    sys.stderr.flush()
