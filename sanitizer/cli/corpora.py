"""The commands for many texts: `bulk` (files with sanitized columns, and back) and `synthesize`
(texts like private documents).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanitizer.cli.options import (
    INTERRUPTED,
    VAULT_KEY,
    build_sanitizer,
    choice,
    command,
    file_option,
    flag,
    ledger_option,
    model_option,
    option,
    read_file,
    setting_options,
    write,
)
from sanitizer.errors import plural, to_install

if TYPE_CHECKING:
    from sanitizer.bulk.job import BulkJob
    from sanitizer.bulk.run import BulkReport
    from sanitizer.synthesis.plan import Reference


@command(
    "sanitize columns of CSV, JSONL and Parquet files",
    "sanitizer bulk mails.csv out.csv --column body --vault mails.vault",
    "sanitizer bulk reviews.parquet out.parquet --column text --drop-originals",
)
@click.argument("source", metavar="IN", type=Path)
@click.argument("target", metavar="OUT", type=Path)
@option(
    "--column columns",
    "column to sanitize; with =POLICY, under that policy; with =CLASS, each cell as one thing of "
    "the class, such as PERSON",
    "NAME[=POLICY|CLASS]",
    multiple=True,
    required=True,
)
@option("--unit-column", "treat rows with the same value here as one conversation", "NAME")
@option("--id-column", "column that identifies each row (default: its position)", "NAME")
@choice(
    "--refused",
    "if the policy or the budget refuses a row: stop (default), or leave it empty",
    "stop empty",
    default="stop",
)
@setting_options
@choice(
    "--engine",
    "what distributes the rows (default: local processes)",
    "local ray spark",
    default="local",
)
@option("--workers", "number of processes (default: one for each core)", "N", type=int)
@option(
    "--budget", "epsilon limit for a row, or for a value of --unit-column", "EPSILON", type=float
)
@ledger_option
@file_option(
    "--vault",
    "keep outputs, charges and originals of this job in this encrypted file (key in "
    f"${VAULT_KEY}); created if missing",
)
@flag("--drop-originals", "delete the originals at the end; OUT.job keeps outputs and charges")
@file_option("--report", "write a report to this file, as JSON")
@flag("--restore", "put the originals of a job back, from IN to OUT; needs --vault")
def bulk(source: Path, target: Path, report: Path | None, restore: bool, **options: Any) -> int:
    """Sanitize columns of IN, a file or a folder, into OUT.

    A job that was stopped continues when it is run again with the same arguments; nothing is
    charged twice. All other columns are copied unchanged.
    """
    if find_spec("pyarrow") is None:
        raise ValueError(f"bulk needs pyarrow: {to_install('bulk')}")
    from sanitizer.bulk.run import restore_files, sanitize_files
    from sanitizer.bulk.store import JobStore

    if restore:
        if options["vault"] is None:
            raise ValueError("--restore needs --vault, the file of the job")
        n_rows = restore_files(options["vault"], source, target, tuple(options["columns"]))
        write(f"{plural(n_rows, 'row')} restored")
        return 0
    n_cores, workers = os.cpu_count() or 1, options["workers"]
    job = _job(target, options, threads=max(1, n_cores // (workers or n_cores)))
    workers = n_cores if workers is None else workers
    try:
        found = sanitize_files(
            job, source, target, engine=options["engine"], workers=workers, progress=True
        )
    except KeyboardInterrupt:
        with JobStore(job.store) as store:
            done = f"interrupted; {plural(store.n_done(), 'row')} done and kept in {job.store}"
        click.echo(f"sanitizer: {done}; to continue, run the same command again", err=True)
        return INTERRUPTED
    if report is not None:
        report.write_text(json.dumps(found.as_dict(), indent=1) + "\n", "utf-8")
    write(_described(found, job))
    return 0


def _job(target: Path, options: dict[str, Any], threads: int) -> BulkJob:
    from sanitizer.bulk.job import BulkJob

    vault, dropped = options["vault"], options["drop_originals"]
    if (vault is None) != dropped:
        raise ValueError("give --vault FILE for the originals, or --drop-originals")
    # The job has stores and a budget of its own.
    settings = build_sanitizer(options, vault=None, ledger=None, budget=None).inner.settings
    names = ("unit_column", "id_column", "budget", "ledger", "refused")
    given = {name: options[name] for name in names}
    given |= {"policy": settings.policy, "mechanism": settings.mechanism, "threads": threads}
    store, columns = vault or target.with_name(f"{target.name}.job"), tuple(options["columns"])
    return BulkJob(store, columns, keep_originals=not dropped, **given)


def _described(report: BulkReport, job: BulkJob) -> str:
    """Return the report in a few lines."""
    n_refused = sum(report.n_refused.values())
    unit = "row" if job.unit_column is None else f"value of {job.unit_column!r}"
    kept = "and the encrypted originals" if job.keep_originals else "no originals"
    return (
        f"{plural(report.n_rows, 'row')} in {plural(report.n_files, 'file')}, {report.n_before} "
        f"done before, {n_refused} refused and left empty\n"
        f"{plural(report.n_things, 'thing')} replaced, {report.n_drawn} of them drawn\n"
        f"epsilon {report.epsilon_total:g} in total, at most {report.epsilon_max:g} for each "
        f"{unit} ({report.n_units} of them)\n"
        f"other columns were copied unchanged; {job.store} keeps outputs and charges, {kept}"
    )


@command(
    "write a text like your private documents, with a privacy bound",
    'sanitizer synthesize --references reviews.jsonl --query "Write a review of a film."',
)
@file_option("--references", "folder of .txt files, or a .jsonl file", "PATH", required=True)
@option(
    "--field",
    "field of each JSON object that holds the document; without it, objects with several fields "
    "are demonstrations",
)
@option(
    "--query",
    "what to write; with demonstrations, their input, or a JSON object of fields",
    required=True,
)
@choice("--method", "how to write (default invisibleink)", "invisibleink dps-mozo")
@choice("--variant", "with a proof (default), or as in the paper", "certified published")
@option("--epsilon", "privacy loss for one reference, in nats (default 10)", type=float)
@option("--delta", "probability that epsilon does not hold (default 1e-6)", type=float)
@option("--max-tokens", "length limit of a text (default 64)", type=int)
@option("--temperature", "sampling temperature of invisibleink (default 0.8)", type=float)
@option("--top-k", "number of tokens to choose from (default 50; dps-mozo 100)", type=int)
@option("--batch-size", "references read for one text (default 8; dps-mozo 4)", type=int)
@option(
    "--n-queries",
    "number of texts from these references that epsilon covers, with this run's (default 1)",
    type=int,
)
@option("--n-texts", "number of texts, each from other references (default 1)", "N", default=1)
@option("--template", "prompt with {query} and {reference}, or the fields of demonstrations")
@model_option
@flag("--json as_json", "one JSON object per text")
def synthesize(
    references: Path, field: str | None, query: str, n_texts: int, as_json: bool, **setting: Any
) -> None:
    """Write a text like your private documents, with a privacy bound."""
    from sanitizer.cli.display import describe_synthesis, safe
    from sanitizer.synthesis.texts import synthesize_batch

    documents = _references(references, field)
    are_demonstrations = bool(documents) and isinstance(documents[0], Mapping)
    wanted = _object(query) if are_demonstrations and query.startswith("{") else query
    given = {name: value for name, value in setting.items() if value is not None}
    try:
        texts = synthesize_batch(documents, wanted, n_texts, progress=True, **given)
    except TypeError as error:
        # The files hold other things than the query or the template is for.
        raise ValueError(str(error)) from None
    if as_json:
        write("".join(json.dumps(text.as_dict()) + "\n" for text in texts), newline=False)
        return
    write("\n\n".join(safe(text) for text in texts))
    sys.stderr.write(f"\n{describe_synthesis(texts)}\n")


def _references(path: Path, field: str | None) -> list[Reference]:
    """Return the text files of a folder in the order of their names, or the lines of a file."""
    if path.is_dir():
        if field is not None:
            raise ValueError("--field works with a .jsonl file only")
        return [read_file(each) for each in sorted(path.glob("*.txt"))]
    lines = read_file(path).split("\n")
    return [_reference(line, i, field) for i, line in enumerate(lines, 1) if line.strip()]


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
    with suppress(ValueError):
        if isinstance(found := json.loads(text), dict):
            return found
    raise ValueError("query must be text or a JSON object")
