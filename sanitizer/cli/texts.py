"""The commands that write texts: `sanitize`, `restore` and `synthesize`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanitizer.cli.options import (
    VAULT_KEY,
    TextCommand,
    build_sanitizer,
    context_option,
    ledger_option,
    model_option,
    open_vault,
    read_file,
    read_text,
    setting_options,
    texts_of,
    together,
    write,
)
from sanitizer.errors import SanitizerError

if TYPE_CHECKING:
    from sanitizer.results import SanitizedText
    from sanitizer.synthesis import Reference

VAULT_HELP = (
    f"file that keeps the originals, encrypted (key in ${VAULT_KEY}); made if it is not there"
)


# ---- sanitize and restore ----


@click.command(cls=TextCommand, short_help="replace the private words of a text")
@click.argument("text", required=False)
@click.option("-f", "--file", type=Path, help="read the text from a UTF-8 file")
@setting_options
@context_option
@model_option
@click.option("--conversation", default="", help="name of the conversation, for the ledger")
@click.option("--budget", type=float, help="refuse what would spend more epsilon than this")
@ledger_option
@click.option("--vault", type=Path, help=VAULT_HELP)
@click.option("--lines", is_flag=True, help="each line of the input is a text of its own")
@click.option("--json", "as_json", is_flag=True, help="one JSON object per text")
@click.option("--reveal", is_flag=True, help="show the private words beside their replacements")
def sanitize(
    text: str | None,
    file: Path | None,
    conversation: str,
    budget: float | None,
    ledger: Path | None,
    vault: Path | None,
    lines: bool,
    as_json: bool,
    reveal: bool,
    **setting: Any,
) -> None:
    """Replace the private words of TEXT; - or nothing reads standard input."""
    sanitizer = build_sanitizer(
        setting, conversation=conversation, budget=budget, ledger=ledger, vault=vault
    )
    whole = read_text(text, file)
    texts = texts_of(whole, lines)

    def show(results: Sequence[SanitizedText]) -> None:
        _warn(results)
        pretty = not as_json and (reveal or sys.stdout.isatty())
        newline = as_json or lines or pretty or not whole.endswith("\n")
        if as_json:
            shown = [json.dumps(result.as_dict(reveal)) for result in results]
        elif pretty:
            shown = _pretty(texts, results)
        else:
            shown = [result.text for result in results]
        write("\n".join(shown), newline and bool(shown))

    try:
        show(sanitizer.sanitize_batch(texts, progress=lines and sys.stderr.isatty()))
    except SanitizerError as error:
        show(error.released)  # whole texts that were released and paid for
        raise


def _warn(results: Sequence[SanitizedText]) -> None:
    """Say on standard error what leaves although it may be sensitive; never the text itself."""
    n_facts = sum(len(result.warnings) for result in results)
    if n_facts:
        what = "sentence tells" if n_facts == 1 else "sentences seem to tell"
        message = f"{n_facts} {what} a sensitive fact in everyday words, which stay (--json: where)"
        click.echo(f"sanitizer: warning: {message}", err=True)
    foreign = {result.record.language for result in results} - {None, "en"}
    if foreign:
        names = ", ".join(sorted(str(name) for name in foreign))
        click.echo(
            f"sanitizer: warning: the tagger reads English, and this text is in {names}: more is "
            "missed, and more is hidden",
            err=True,
        )


def _pretty(texts: Sequence[str], results: Sequence[SanitizedText]) -> list[str]:
    from sanitizer.cli.display import before_after

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    # After a refusal there are fewer results than texts.
    pairs = zip(texts, results, strict=False)
    return [before_after(original, result, colour) for original, result in pairs]


@click.command(cls=TextCommand, short_help="put the originals back into an answer")
@click.argument("text", required=False)
@click.option("-f", "--file", type=Path, help="read the answer from a UTF-8 file")
@click.option("--conversation", default="", help="name of the conversation")
@click.option("--vault", type=Path, required=True, help=VAULT_HELP)
def restore(text: str | None, file: Path | None, conversation: str, vault: Path) -> None:
    """Put the originals back into the answer TEXT; - or nothing reads standard input."""
    from sanitizer.answers import Restorer

    answer = read_text(text, file)
    originals = open_vault(vault, create=False).originals(conversation)
    write(Restorer(originals).text(answer), newline=not answer.endswith("\n"))


# ---- synthesize ----

_numbers = together(
    click.option("--epsilon", type=float, help="of one reference, in nats (default 10)"),
    click.option("--delta", type=float, help="default 1e-6"),
    click.option("--max-tokens", type=int, help="of one text (default 64)"),
    click.option("--temperature", type=float, help="of invisibleink (default 0.8)"),
    click.option("--top-k", type=int, help="how many tokens may come (default 50; dps-mozo 100)"),
    click.option(
        "--batch-size", type=int, help="references read for one text (default 8; dps-mozo 4)"
    ),
    click.option(
        "--n-queries",
        type=int,
        help="texts from these references that epsilon covers, this run's among them (default 1)",
    ),
)


@click.command(short_help="write a text like your private documents, with a privacy bound")
@click.option(
    "--references",
    type=Path,
    required=True,
    metavar="PATH",
    help="folder of .txt files, or a .jsonl file",
)
@click.option(
    "--field",
    help="the field of each JSON object that is the document; without it objects of several "
    "fields are demonstrations",
)
@click.option(
    "--query",
    required=True,
    help="what to write; for demonstrations, the input, or a JSON object of fields",
)
@click.option(
    "--method", type=click.Choice(["invisibleink", "dps-mozo"]), help="default invisibleink"
)
@click.option("--variant", type=click.Choice(["certified", "published"]))
@_numbers
@click.option(
    "--n-texts",
    type=int,
    default=1,
    metavar="N",
    help="each from references of its own (default 1)",
)
@click.option("--template", help="with {query} and {reference}, or a demonstration's fields")
@model_option
@click.option("--json", "as_json", is_flag=True, help="one JSON object per text")
def synthesize(
    references: Path, field: str | None, query: str, n_texts: int, as_json: bool, **setting: Any
) -> None:
    """Write a text like your private documents, with a privacy bound."""
    from sanitizer.cli.display import describe_synthesis, safe, speed
    from sanitizer.synthesis import synthesize_batch

    documents = _references(references, field)
    are_demonstrations = bool(documents) and isinstance(documents[0], Mapping)
    wanted = _object(query) if are_demonstrations and query.startswith("{") else query
    given = {name: value for name, value in setting.items() if value is not None}
    times: list[float] = []  # of the first token and the last

    def on_token(_: int) -> None:
        times[1:] = [time.monotonic()]

    try:
        texts = synthesize_batch(
            documents, wanted, n_texts, progress=sys.stderr.isatty(), on_token=on_token, **given
        )
    except TypeError as error:
        # The files hold other things than the query or the template is for.
        raise ValueError(str(error)) from None
    if as_json:
        write("".join(json.dumps(text.as_dict()) + "\n" for text in texts), newline=False)
        return
    write("\n\n".join(safe(text) for text in texts))
    n_tokens = sum(text.record.n_tokens for text in texts)
    seconds = times[-1] - times[0] if times else 0.0
    sys.stderr.write(f"\n{describe_synthesis(texts)}\n{speed(n_tokens, seconds)}")


def _references(path: Path, field: str | None) -> list[Reference]:
    """Return the text files of a folder in the order of their names, or the lines of a file."""
    if path.is_dir():
        if field is not None:
            raise ValueError("--field belongs to a .jsonl file")
        return [_file(each) for each in sorted(path.glob("*.txt"))]
    lines = _file(path).split("\n")
    return [_reference(line, i, field) for i, line in enumerate(lines, 1) if line.strip()]


def _file(path: Path) -> str:
    return read_file(path, "the references are")


def _reference(line: str, number: int, field: str | None) -> Reference:
    """Return one reference from its line of JSON; messages give the number, not the line."""
    try:
        value = json.loads(line)
    except ValueError:
        raise ValueError(f"line {number} of the references is not JSON") from None
    # An object of one field is a document; a demonstration has two fields or more.
    if isinstance(value, dict) and (field is not None or len(value) == 1):
        value = value.get(field) if field is not None else next(iter(value.values()))
    if isinstance(value, str) or (field is None and isinstance(value, dict)):
        return value
    wanted = "a string, or an object "
    wanted += f"with a string {field!r}" if field else "of strings"
    raise ValueError(f"line {number} of the references must be {wanted}")


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("query must be text or a JSON object")
    return found
