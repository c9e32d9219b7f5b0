"""What several commands share: options, the Sanitizer they describe, input and output.

Other modules of the package are imported inside functions, so that commands start quickly.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sanitizer.errors import LedgerError

if TYPE_CHECKING:
    from sanitizer.pipeline import Sanitizer
    from sanitizer.storage import Budgets, FileVault, Ledger, Scope, Vault

Function = TypeVar("Function", bound=Callable[..., Any])

INTERRUPTED = 130  # exit status after Ctrl-C, as shells have it
LEDGER_KEY = "SANITIZER_LEDGER_KEY"
VAULT_KEY = "SANITIZER_VAULT_KEY"
LEAST_KEY = 16  # characters
STANDARD_OUTPUT = "standard output"
VAULT_HELP = (
    f"file that keeps the originals, encrypted (key in ${VAULT_KEY}); made if it is not there"
)
URL_HELP = "base URL of the API, such as https://api.openai.com/v1"


def together(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Return one decorator that adds several options, listed in this order by --help."""

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add


CAPE_ONLY = ("context", "backbone", "profile", "n_steps")
MECHANISM_OPTIONS = ("variant", "epsilon", *CAPE_ONLY, "consistent")

policy_option = click.option(
    "--policy",
    default="balanced",
    metavar="PRESET",
    help="identifiers, deidentify, balanced (default), strict, or a .toml file",
)
words_policy_option = click.option(
    "--policy",
    default="strict",
    metavar="PRESET",
    help="one that draws words one by one: strict (default), words, or a .toml file",
)


def _folder(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and not path.is_dir():
        # A name may be a text that was given to the wrong option.
        shown = is_file_name(str(path)) or path.exists()
        fault = f"--model: {path} is no folder" if shown else "--model: no such folder"
        has_other = any("--api-model" in each.opts for each in context.command.params)
        raise ValueError(f"{fault}; the API's model is --api-model" if has_other else fault)
    return path


model_option = click.option(
    "--model",
    type=Path,
    metavar="FOLDER",
    callback=_folder,
    help="another masked model on this machine",
)
context_option = click.option(
    "--context",
    type=click.Choice(["released", "original"]),
    help="what the model reads (cape)",
)
_mechanism_options = together(
    click.option(
        "--mechanism",
        type=click.Choice(["cape", "dyntext"]),
        help="default: cape, or as the policy file says",
    ),
    click.option(
        "--variant",
        type=click.Choice(["certified", "published"]),
        help="ours (default), or the paper's algorithm, for comparison",
    ),
    click.option(
        "--epsilon", type=float, help="per private word, in nats (default: cape 5, dyntext 10)"
    ),
    click.option(
        "--backbone",
        type=click.Choice(["masked", "causal"]),
        help="what scores the context: causal reads the left side (cape)",
    ),
    click.option(
        "--profile",
        type=click.Choice(["staircase", "geometric", "prior", "medoids"]),
        help="shape of the weights (cape)",
    ),
    click.option(
        "--steps",
        "n_steps",
        type=int,
        metavar="N",
        help="groups of words drawn in turn (cape)",
    ),
    click.option("--consistent", is_flag=True, help="one draw per distinct word"),
)
setting_options = together(policy_option, _mechanism_options)
measured_options = together(words_policy_option, _mechanism_options)
json_option = click.option("--json", "as_json", is_flag=True, help="print JSON")
ledger_option = click.option(
    "--ledger", type=Path, metavar="FILE", help=f"charge this ledger (key in ${LEDGER_KEY})"
)
vault_option = click.option("--vault", type=Path, metavar="FILE", help=VAULT_HELP)
budget_option = click.option(
    "--budget",
    type=float,
    metavar="EPSILON",
    help="refuse what would spend more epsilon than this in all",
)
conversation_option = click.option(
    "--conversation",
    default="",
    metavar="NAME",
    help="name of the conversation, for ledger and vault",
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


class TextCommand(click.Command):
    """Command whose argument is a text, which may begin with a dash.

    click takes every argument with a leading dash for an option. One that holds white space, such
    as the list "- milk", is a text here unless it begins with one of the command's own options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._texts_last(ctx, args))

    def _texts_last(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        """Return the arguments with all that are certainly texts behind "--"."""
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
        return [*before, "--", *texts] if texts else before


def build_sanitizer(
    setting: Mapping[str, Any],
    *,
    conversation: str = "",
    budget: float | None = None,
    ledger: Path | Budgets | None = None,
    vault: Path | Vault | None = None,
    extractor: str | None = None,
    scopes: Sequence[Scope] = (),
    threads: int | None = None,
) -> Sanitizer:
    """Return the Sanitizer that the options of a command describe.

    Args:
        setting: values of `setting_options`, and of "context" and "model" where a command has them.
        conversation: name of the conversation, for ledger and vault.
        budget: most epsilon to spend.
        ledger: the ledger to charge, or its file.
        vault: the vault to keep originals in, or its file.
        extractor: how answers are rewritten, if at all.
        scopes: charged in the ledger besides the conversation.
        threads: of one pass of a model.

    Raises:
        ValueError: options that do not fit each other, or a key that is not set.
        SanitizerError: policy, ledger or vault cannot be used.
    """
    from sanitizer.pipeline import Sanitizer
    from sanitizer.privacy import Cape, DynText
    from sanitizer.text import Policy

    # Without the flag the policy file decides.
    given = {**setting, "consistent": setting["consistent"] or None}
    chosen = {name: given[name] for name in MECHANISM_OPTIONS if given.get(name) is not None}
    policy = Policy.load(setting["policy"])
    written = policy.mechanism.name if policy.mechanism else "cape"
    name = setting["mechanism"] or written
    if name == "dyntext" and (foreign := set(CAPE_ONLY) & set(chosen)):
        raise ValueError(f"{', '.join(sorted(foreign))} belongs to cape, not to dyntext")
    options = (policy.options if name == written else {}) | chosen
    return Sanitizer(
        DynText(**options) if name == "dyntext" else Cape(**options),
        policy,
        model=setting.get("model"),
        threads=threads,
        conversation=conversation,
        budget=budget,
        ledger=open_ledger(ledger) if isinstance(ledger, Path) else ledger,
        scopes=scopes,
        vault=open_vault(vault) if isinstance(vault, Path) else vault,
        extractor=extractor,
    )


def open_vault(path: Path, create: bool = True) -> FileVault:
    """Open the vault in a file, with the key from the environment.

    Raises:
        ValueError: the key is not set.
        VaultError: the file is no vault, or its key is another one.
    """
    from sanitizer.storage import FileVault

    if len(os.environ.get(VAULT_KEY, "")) < LEAST_KEY:
        raise ValueError(f"set ${VAULT_KEY} to the vault's key, at least {LEAST_KEY} characters")
    return FileVault(path, create=create)


def open_ledger(path: Path, create: bool = False) -> Ledger:
    """Open the ledger in a file, with the key from the environment.

    Raises:
        ValueError: the key is not set.
        LedgerError: there is no such file, it is no ledger, or its key is another one.
    """
    from sanitizer.storage import Ledger

    key = os.environ.get(LEDGER_KEY, "").encode()
    if len(key) < LEAST_KEY:
        raise ValueError(f"set ${LEDGER_KEY} to the ledger's key, at least {LEAST_KEY} characters")
    if create:
        return Ledger.create(path, key)
    if not path.exists():
        raise LedgerError(f"{path}: no such ledger; to make one: sanitizer budget FILE --create")
    return Ledger(path, key)


def secret(option: str, name: str | None) -> str | None:
    """Return the value of an environment variable, which messages never show.

    Args:
        option: option that gave the name, for the message.
        name: name of the variable; None if the option was not given.

    Raises:
        ValueError: the variable is empty or not set.
    """
    if name is None:
        return None
    if not os.environ.get(name):
        # What was given may be the secret itself, so it is not shown.
        raise ValueError(
            f"{option} must name a variable of the environment that is set; the one given is not"
        )
    return os.environ[name]


def read_text(text: str | None, file: Path | None) -> str:
    """Return the text of a command: its argument, a file, or standard input.

    Raises:
        ValueError: argument and file were given, or neither on a terminal; or no UTF-8.
        OSError: the file cannot be read.
    """
    if text is not None and file is not None:
        raise ValueError("give TEXT or --file, not both")
    if file is not None:
        return read_file(file)
    if text not in (None, "-"):
        return str(text)
    if text is None and sys.stdin.isatty():
        raise ValueError("give TEXT, --file FILE, or text on standard input")
    return decoded(sys.stdin.buffer.read())


def read_file(path: Path) -> str:
    """Return the text of a UTF-8 file; - is standard input.

    Raises:
        ValueError: the file is not UTF-8.
        OSError: the file cannot be read.
    """
    if is_standard_input(path):
        return decoded(sys.stdin.buffer.read())
    return decoded(path.read_bytes(), f"{path}:")


def is_standard_input(path: Path) -> bool:
    """Return True for the name that means standard input."""
    return str(path) == "-"


def decoded(content: bytes, what: str = "the input is") -> str:
    """Return the text of UTF-8 bytes.

    Letters in another encoding would look like characters between words, and pass as public.

    Raises:
        ValueError: the bytes are not UTF-8; `what` begins the message.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{what} not UTF-8; convert it first") from None


def texts_of(text: str, lines: bool) -> list[str]:
    """Return the lines of a text, or the whole text as the only item."""
    return text.removesuffix("\n").split("\n") if lines else [text]


def write(text: str, newline: bool = True) -> None:
    """Write to standard output, all at once.

    Raises:
        OSError: it cannot be written, with STANDARD_OUTPUT as the name of the file.
    """
    try:
        sys.stdout.buffer.write((text + "\n" * newline).encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
    except OSError as error:
        reason = error.strerror or "cannot be written"
        raise OSError(error.errno, reason, STANDARD_OUTPUT) from None
