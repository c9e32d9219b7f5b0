"""The command `sanitizer synthesize`: references from files, a synthetic text, and what it cost."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitizer.cli.display import safe
from sanitizer.cli.serve import Commands

if TYPE_CHECKING:
    from sanitizer.synthesis import Reference, SynthesisRecord, SynthesizedText

NOT_SETTINGS = ("references", "query", "field", "n_texts", "json")


def add_synthesize(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "synthesize", help="write a text like your private documents, with a privacy bound"
    )
    add = command.add_argument
    add(
        "--references",
        type=Path,
        required=True,
        metavar="PATH",
        help="folder of .txt files, or a .jsonl file",
    )
    add(
        "--field",
        help="the field of each JSON object that is the document; without it objects of several fields are "
        "demonstrations",
    )
    add(
        "--query",
        required=True,
        help="what to write; for demonstrations, the input, or a JSON object of fields",
    )
    add(
        "--method",
        choices=["invisibleink", "dps-mozo"],
        default=argparse.SUPPRESS,
        help="default invisibleink",
    )
    add("--variant", choices=["certified", "published"], default=argparse.SUPPRESS)
    numbers: dict[str, tuple[type, str]] = {
        "epsilon": (float, "of one reference, in nats (default 10)"),
        "delta": (float, "default 1e-6"),
        "max-tokens": (int, "of one text (default 64)"),
        "temperature": (float, "of invisibleink (default 0.8)"),
        "top-k": (int, "how many tokens may come (default 50; dps-mozo 100)"),
        "batch-size": (int, "references read for one text (default 8; dps-mozo 4)"),
        "n-queries": (
            int,
            "texts from these references that epsilon covers, this run's among them (default 1)",
        ),
    }
    for name, (kind, text) in numbers.items():
        add(f"--{name}", type=kind, default=argparse.SUPPRESS, help=text)
    add(
        "--n-texts",
        type=int,
        default=1,
        metavar="N",
        help="each from references of its own (default 1)",
    )
    add(
        "--template",
        default=argparse.SUPPRESS,
        help="with {query} and {reference}, or a demonstration's fields",
    )
    add("--model", type=Path, default=argparse.SUPPRESS, help="another model folder")
    add("--json", action="store_true", help="one JSON object per text")
    command.set_defaults(run=_synthesize)


def _synthesize(options: argparse.Namespace) -> int:
    from sanitizer.synthesis import synthesize_batch

    references = _references(options.references, options.field)
    demonstrations = bool(references) and isinstance(references[0], Mapping)
    query = (
        _object(options.query)
        if demonstrations and options.query.startswith("{")
        else options.query
    )
    settings = {k: v for k, v in vars(options).items() if k not in (*NOT_SETTINGS, "run")}
    marks = [0.0, 0.0]  # of the first token, of the last

    def mark(_: int) -> None:
        marks[:] = marks[0] or time.monotonic(), time.monotonic()

    settings |= {"progress": sys.stderr.isatty(), "on_token": mark}
    try:
        texts = synthesize_batch(references, query, options.n_texts, **settings)
    except TypeError as error:  # what the files hold is not what the query or template is for
        raise ValueError(str(error)) from None
    if options.json:
        _write("".join(json.dumps(text.as_dict()) + "\n" for text in texts))
        return 0
    _write("\n\n".join(safe(text) for text in texts) + "\n")
    n_tokens = sum(text.record.n_tokens for text in texts)
    sys.stderr.write(f"\n{describe_synthesis(texts)}\n{_speed(n_tokens, marks[1] - marks[0])}")
    return 0


def describe_synthesis(texts: Sequence[SynthesizedText]) -> str:
    """The record of texts that were made together, in a few lines."""
    record = texts[0].record
    n_tokens = ", ".join(str(text.record.n_tokens) for text in texts)
    lines = [
        f"{record.method} {record.variant}: {_strength(record)}",
        f"{record.n_references} references read for each text, {record.n_charged} tokens paid for, drawn: {n_tokens}",
        f"protected: {record.unit}",
        f"compared: {record.relation}",
        f"public: {record.public}",
        f"not protected: {record.not_protected}",
    ]
    lines[1:1] = [f"why not certified: {record.reason}"] if record.reason else []
    lines[1:1] = [f"NOTE: {record.note}"] if record.note else []
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  ") for line in lines)


def _strength(record: SynthesisRecord) -> str:
    claim = (
        ""
        if record.claimed_epsilon is None
        else f"; the paper's accounting gives {record.claimed_epsilon:g}"
    )
    if not record.certified:
        return f"NOT certified, no bound is known at delta {record.delta:g}{claim}"
    return f"epsilon {record.epsilon:g} at delta {record.delta:g} per reference, certified{claim}"


def _speed(n_tokens: int, seconds: float) -> str:
    """Reading the references is not counted, nor is the token that follows from it."""
    return (
        f"{(n_tokens - 1) / seconds:.1f} tokens per second\n"
        if seconds > 0 and n_tokens > 1
        else ""
    )


def _references(path: Path, field: str | None) -> list[Reference]:
    """The text files of a folder in the order of their names, or the lines of a JSONL file."""
    if path.is_dir():
        if field is not None:
            raise ValueError("--field belongs to a .jsonl file")
        return [_utf8(file) for file in sorted(path.glob("*.txt"))]
    lines = _utf8(path).split("\n")
    return [_reference(line, i, field) for i, line in enumerate(lines, 1) if line.strip()]


def _reference(line: str, number: int, field: str | None) -> Reference:
    """One line of JSON; messages do not show it."""
    try:
        value = json.loads(line)
    except ValueError:
        raise ValueError(f"line {number} of the references is not JSON") from None
    if isinstance(value, dict) and (
        field is not None or len(value) == 1
    ):  # a demonstration has two fields or more
        value = value.get(field) if field is not None else next(iter(value.values()))
    if isinstance(value, str) or (field is None and isinstance(value, dict)):
        return value
    wanted = (
        f"a string, or an object with a string {field!r}"
        if field
        else "a string, or an object of strings"
    )
    raise ValueError(f"line {number} of the references must be {wanted}")


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("query must be text or a JSON object")
    return found


def _utf8(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the references are not UTF-8; convert them first") from None


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
