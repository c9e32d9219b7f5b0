"""The command that writes texts like private documents: `synthesize`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanitizer.cli.options import examples, model_option, read_file, together, write

if TYPE_CHECKING:
    from sanitizer.synthesis import Reference

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


@click.command(
    short_help="write a text like your private documents, with a privacy bound",
    epilog=examples(
        'sanitizer synthesize --references reviews.jsonl --query "Write a review of a film."'
    ),
)
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
@click.option(
    "--variant",
    type=click.Choice(["certified", "published"]),
    help="ours (default), or the paper's algorithm",
)
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
    return read_file(path)


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
