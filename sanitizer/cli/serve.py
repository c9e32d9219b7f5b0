"""The command `sanitizer serve`: its arguments, and the proxy they describe."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sanitizer.pipeline import Sanitizer
    from sanitizer.proxy import ProxySettings

AddSetting = Callable[[argparse.ArgumentParser], None]
Build = Callable[[argparse.Namespace], "Sanitizer"]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
LEDGER_KEY, VAULT_KEY = "SANITIZER_LEDGER_KEY", "SANITIZER_VAULT_KEY"


def add_serve(commands: Commands, add_setting: AddSetting, build: Build) -> None:
    """Add the command.

    Args:
        add_setting: adds the options that choose policy, mechanism and model.
        build: makes the Sanitizer from these, `budget`, `ledger`, `vault` and `conversation`.
    """
    serve = commands.add_parser(
        "serve", help="run the proxy: the API's endpoints on this machine, and a page"
    )
    add = serve.add_argument
    add(
        "--upstream",
        required=True,
        metavar="URL",
        help="base URL of the API, such as https://api.openai.com/v1",
    )
    add("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    add("--port", type=int, default=8787, help="default 8787; 0 takes a free one")
    add(
        "--expose",
        action="store_true",
        help="allow a host that other machines reach; needs --token-env",
    )
    add_setting(serve)
    add(
        "--budget",
        type=float,
        help="the most epsilon to spend: of each conversation with a ledger, else of all",
    )
    add("--ledger", type=Path, help=f"charge this ledger (key in ${LEDGER_KEY})")
    add("--vault", type=Path, help=f"keep originals in this encrypted file (key in ${VAULT_KEY})")
    add("--key-env", metavar="NAME", help="send the upstream the key in $NAME, not the client's")
    add("--token-env", metavar="NAME", help="clients must send the token in $NAME")
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name of the proxy in Host headers",
    )
    add(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web page that may use the proxy",
    )
    add(
        "--max-body",
        type=int,
        default=10_000_000,
        metavar="BYTES",
        help="of a request (default 10000000)",
    )
    add(
        "--max-connections",
        type=int,
        default=1000,
        metavar="N",
        help="requests at once (default 1000); twice as many open",
    )
    add("--timeout", type=float, default=600.0, metavar="SECONDS", help="of silence (default 600)")
    add("--no-page", action="store_true", help="do not serve the page")
    add("--certfile", type=Path, help="PEM certificate, to serve https")
    add("--keyfile", type=Path, help="its key, if in another file")
    add(
        "--ca",
        type=Path,
        help="PEM certificates to trust for the upstream, in place of the usual ones",
    )
    # Without a name a ledger would have nothing to charge; each request's own conversation takes
    # its place.
    serve.set_defaults(run=lambda options: _serve(options, build), conversation="default")


def _serve(options: argparse.Namespace, build: Build) -> int:
    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise ValueError(f'serve needs {" and ".join(missing)}: pip install "sanitizer[proxy]"')
    from sanitizer.proxy import Listener, create_app, run

    settings = _settings(options)
    connections = 2 * options.max_connections
    listener = Listener(
        options.host, options.port, options.certfile, options.keyfile, options.expose, connections
    )
    listener.check(settings.token)
    sanitizer = build(options)
    sanitizer.load()
    app = create_app(
        sanitizer,
        settings,
        conversation_key=_conversation_key(),
        may_block=options.vault is not None,
    )
    run(
        app,
        listener,
        lambda url: _say(
            f"sanitizer: {url} -> {settings.upstream}, policy {sanitizer.policy.name}"
        ),
    )
    return 0


def _settings(options: argparse.Namespace) -> ProxySettings:
    from sanitizer.proxy import ProxySettings
    from sanitizer.urls import is_loopback

    return ProxySettings(
        upstream=options.upstream,
        key=secret("key-env", options.key_env),
        token=secret("token-env", options.token_env),
        hosts=(*options.allow_host, *([] if is_loopback(options.host) else [options.host])),
        origins=tuple(options.allow_origin),
        max_body=options.max_body,
        max_connections=options.max_connections,
        timeout=options.timeout,
        page=not options.no_page,
        ca=options.ca,
    )


def secret(option: str, name: str | None) -> str | None:
    """The value of an environment variable, which is not shown in messages."""
    if name is None:
        return None
    if not os.environ.get(name):
        # What was given may be the secret itself, so it is not shown.
        raise ValueError(
            f"{option} must name a variable of the environment that is set; the one given is not"
        )
    return os.environ[name]


def _conversation_key() -> bytes | None:
    """The same after a restart if something outlives the process, so that conversations are found
    again.
    """
    lasting = os.environ.get(LEDGER_KEY) or os.environ.get(VAULT_KEY)
    return hashlib.sha256(b"conversation " + lasting.encode()).digest() if lasting else None


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
