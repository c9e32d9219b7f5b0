"""What several commands share: options, the Sanitizer they describe, input and output.

Other modules of the package are imported inside functions, so that commands start quickly.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial, reduce
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sanitizer.errors import LedgerError

if TYPE_CHECKING:
    from sanitizer.pipeline.sanitizer import Sanitizer
    from sanitizer.storage.ledger import Budgets
    from sanitizer.storage.stored_vault import FileVault

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
LEDGER_KEY = "SANITIZER_LEDGER_KEY"
VAULT_KEY = "SANITIZER_VAULT_KEY"
LEAST_KEY = 16
"""Characters that a key has at least."""
STANDARD_OUTPUT = "standard output"
URL_HELP = "base URL of the API, such as https://api.openai.com/v1"


def together(*options: Decorator[Any]) -> Decorator[Any]:
    """Return one decorator that adds several options, listed in this order by --help."""
    return lambda function: reduce(lambda made, add: add(made), reversed(options), function)


def option(names: str, about: str, metavar: str | None = None, **more: Any) -> Decorator[Any]:
    """Return an option: its names in one string, and what --help says of it."""
    return click.option(*names.split(), metavar=metavar, help=about, **more)


def flag(names: str, about: str) -> Decorator[Any]:
    """Return an option without a value."""
    return option(names, about, is_flag=True)


def file_option(
    names: str, about: str, metavar: str | None = "FILE", **more: Any
) -> Decorator[Any]:
    """Return an option whose value is a path."""
    return option(names, about, metavar, type=Path, **more)


def choice(names: str, about: str, choices: str, **more: Any) -> Decorator[Any]:
    """Return an option whose value is one of a few words."""
    return option(names, about, type=click.Choice(choices.split()), **more)


CAPE_ONLY = ("context", "backbone", "profile", "n_steps")
SANITIZER_OPTIONS = "model threads conversation budget ledger scopes vault extractor".split()
MECHANISM_OPTIONS = ("variant", "epsilon", *CAPE_ONLY, "consistent")


def _folder(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and not path.is_dir():
        # A name may be a text that was given to the wrong option.
        shown = is_file_name(str(path)) or path.exists()
        fault = f"--model: {path} is not a folder" if shown else "--model: no such folder"
        has_other = any("--api-model" in each.opts for each in context.command.params)
        raise ValueError(f"{fault}; for the API's model, use --api-model" if has_other else fault)
    return path


_policy = partial(option, "--policy", metavar="PRESET")
_ANY = "identifiers, deidentify, code, balanced (default), guarded, strict, or a .toml file"
policy_option = _policy(_ANY, default="balanced")
_WORDS = "policy that draws word by word: strict (default), words, or a .toml file"
words_policy_option = _policy(_WORDS, default="strict")
model_option = file_option(
    "--model", "use the masked language model in this folder", "FOLDER", callback=_folder
)
_mechanism_options = together(
    choice("--mechanism", "how words are drawn (default: by the policy, or cape)", "cape dyntext"),
    choice(
        "--variant",
        "with a proof (default), or as in the paper, for comparison",
        "certified published",
    ),
    option("--epsilon", "privacy loss per draw, in nats (default: cape 5, dyntext 10)", type=float),
    choice(
        "--backbone", "model that reads the context; causal: the left side (cape)", "masked causal"
    ),
    choice("--profile", "shape of the weights (cape)", "staircase geometric prior medoids"),
    option("--steps n_steps", "number of groups in which words are drawn (cape)", "N", type=int),
    flag("--consistent", "draw once for each distinct word"),
    choice("--context", "which other words the model reads (cape)", "released original"),
)
setting_options = together(policy_option, _mechanism_options)
measured_options = together(words_policy_option, _mechanism_options, model_option)
json_option = flag("--json as_json", "print JSON")
ledger_option = file_option("--ledger", f"file of budgets to charge (key in ${LEDGER_KEY})")
_VAULT = f"encrypted file for the originals (key in ${VAULT_KEY}); created if missing"
store_options = together(
    file_option("--vault", _VAULT),
    ledger_option,
    option(
        "--budget", "limit on the epsilon spent in total; more is refused", "EPSILON", type=float
    ),
)
conversation_option = option(
    "--conversation", "name of the conversation in ledger and vault", "NAME", default=""
)
_FILE_NAME = re.compile(
    r"(?!\S*@)[^\s\x00-\x1f\"'<>]{0,200}(?:[/\\][^\s\"'<>]{1,100}|\.[A-Za-z]\w{0,4})"
)


def is_file_name(text: str) -> bool:
    """Return True if a text looks like a file's name, so that a message may show it."""
    return _FILE_NAME.fullmatch(text) is not None


def examples(*lines: str) -> str:
    """Return the end of a command's help: examples, one a line, which click does not wrap."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def command(
    about: str, *lines: str, cls: type[click.Command] = click.Command, **more: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a command: a line about it, and examples."""
    return click.command(cls=cls, short_help=about, epilog=examples(*lines), **more)


class TextCommand(click.Command):
    """Command whose argument is a text, which may begin with a dash.

    click takes every argument with a leading dash for an option. One that holds white space, such
    as the list "- milk", is a text here unless it begins with one of the command's own options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        names = {name for each in options for name in each.opts}
        with_value = {name for each in options if not each.is_flag for name in each.opts}
        before: list[str] = []
        texts: list[str] = []
        rest = iter(args)
        for arg in rest:
            if arg == "--":
                texts += list(rest)
            elif arg in with_value:
                before += [arg, *islice(rest, 1)]
            elif (
                re.match(r"-(?s:.)*\s", arg)
                and arg.partition("=")[0] not in names
                and arg[:2] not in names
            ):
                texts.append(arg)
            else:
                before.append(arg)
        return super().parse_args(ctx, [*before, "--", *texts] if texts else before)


def build_sanitizer(options: Mapping[str, Any], **more: Any) -> Sanitizer:
    """Return the Sanitizer that the options of a command describe.

    Args:
        options: values of `setting_options`, and of SANITIZER_OPTIONS if they are
            there; of ledger and vault, their files.
        more: of the same, which come first.

    Raises:
        ValueError: options that do not fit each other, or a key that is not set.
        SanitizerError: policy, ledger or vault cannot be used.
    """
    from sanitizer.pipeline.sanitizer import Sanitizer
    from sanitizer.privacy.cape import Cape
    from sanitizer.privacy.dyntext import DynText
    from sanitizer.text.policy import Policy

    given = {**options, **more}
    given["consistent"] = given["consistent"] or None  # without the flag the policy file decides
    chosen = {name: given[name] for name in MECHANISM_OPTIONS if given.get(name) is not None}
    policy = Policy.load(given["policy"])
    written = policy.mechanism.name if policy.mechanism else "cape"
    name = given["mechanism"] or written
    if name == "dyntext" and (foreign := set(CAPE_ONLY) & set(chosen)):
        raise ValueError(f"{', '.join(sorted(foreign))} belongs to cape, not to dyntext")
    settings = (policy.options if name == written else {}) | chosen
    for what, opened in (("ledger", open_ledger), ("vault", open_vault)):
        if isinstance(given.get(what), Path):
            given[what] = opened(given[what])
    mechanism = DynText(**settings) if name == "dyntext" else Cape(**settings)
    own = {name: given[name] for name in SANITIZER_OPTIONS if name in given}
    return Sanitizer(mechanism, policy, **own)


def key_of(name: str, whose: str) -> str:
    """Return a key from the environment; raise ValueError if it is not set, or short."""
    key = os.environ.get(name, "")
    if len(key) < LEAST_KEY:
        raise ValueError(f"set ${name} to the {whose}'s key, at least {LEAST_KEY} characters")
    return key


def open_vault(path: Path, create: bool = True) -> FileVault:
    """Open the vault in a file, with the key from the environment."""
    from sanitizer.storage.stored_vault import FileVault

    key_of(VAULT_KEY, "vault")
    return FileVault(path, create=create)


def open_ledger(path: Path, create: bool = False) -> Budgets:
    """Open the ledger in a file, with the key from the environment, or that of a proxy (.toml)."""
    from sanitizer.storage.ledger import Ledger, PostgresLedger
    from sanitizer.storage.postgres_store import PostgresStore

    if path.suffix == ".toml":
        from sanitizer.proxy.configuration import Configuration

        if create or (place := Configuration.load(path).storage) is None:
            raise ValueError(f"{path}: no [storage] (and --create is for a ledger in a file)")
        store = PostgresStore(**asdict(replace(place, create=False)))
        click.get_current_context().call_on_close(store.close)
        return PostgresLedger(store)
    key = key_of(LEDGER_KEY, "ledger").encode()
    if create:
        return Ledger.create(path, key)
    if not path.exists():
        raise LedgerError(f"{path}: no such ledger; to make one: sanitizer budget FILE --create")
    return Ledger(path, key)


def secret(option: str, name: str | None) -> str | None:
    """Return the value of the variable that an option names, if it was given.

    Raises:
        ValueError: the variable is empty or not set. What was given may be the secret itself, so it
            is not shown.
    """
    if name is not None and not os.environ.get(name):
        raise ValueError(f"--{option} must name an environment variable that is set (not shown)")
    return None if name is None else os.environ[name]


def read_text(text: str | None, file: Path | None) -> str:
    """Return the text of a command: its argument, a file, or standard input."""
    if text is not None and file is not None:
        raise ValueError("give TEXT or --file, not both")
    if file is not None:
        return read_file(file)
    if text is None and sys.stdin.isatty():
        raise ValueError("give TEXT, --file FILE, or text on standard input")
    return read_file(Path("-")) if text in (None, "-") else str(text)


def read_file(path: Path) -> str:
    """Return the text of a UTF-8 file; - is standard input."""
    if str(path) == "-":
        return decoded(sys.stdin.buffer.read())
    return decoded(path.read_bytes(), f"{path}:")


def decoded(content: bytes, what: str = "the input is") -> str:
    """Return the text of UTF-8 bytes; `what` begins the message if they are none.

    Letters in another encoding would look like characters between words, and pass as public.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{what} not UTF-8; convert it first") from None


def texts_of(text: str, lines: bool) -> list[str]:
    """Return the lines of a text, or the whole text as the only item."""
    return text.removesuffix("\n").split("\n") if lines else [text]


def write(text: str, newline: bool = True) -> None:
    """Write to standard output, all at once; errors name it as STANDARD_OUTPUT."""
    try:
        sys.stdout.buffer.write((text + "\n" * newline).encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
    except OSError as error:
        reason = error.strerror or "cannot be written"
        raise OSError(error.errno, reason, STANDARD_OUTPUT) from None
