"""The commands for many texts: `bulk` (files with sanitized columns, and back) and `synthesize`
(texts like private documents).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanitizer.cli.options import (
    INTERRUPTED,
    VAULT_KEY,
    build_sanitizer,
    context_option,
    examples,
    ledger_option,
    model_option,
    read_file,
    setting_options,
    together,
    write,
)

if TYPE_CHECKING:
    from sanitizer.bulk import BulkJob, BulkReport
    from sanitizer.synthesis import Reference

_row_options = together(
    click.option(
        "--column",
        "columns",
        multiple=True,
        required=True,
        metavar="NAME[=POLICY|CLASS]",
        help="a column to sanitize, under a policy of its own, or each cell as one thing of a "
        "class such as PERSON",
    ),
    click.option("--unit-column", metavar="NAME", help="rows with the same value belong together"),
    click.option("--id-column", metavar="NAME", help="names each row (default: its place)"),
    click.option(
        "--refused",
        type=click.Choice(["stop", "empty"]),
        default="stop",
        help="a row that policy or budget refuses ends the job (default), or is left empty",
    ),
)
_run_options = together(
    click.option(
        "--engine",
        type=click.Choice(["local", "ray", "spark"]),
        default="local",
        help="what spreads the rows (default: local processes)",
    ),
    click.option("--workers", type=int, metavar="N", help="default: one for each core"),
)
_store_options = together(
    click.option(
        "--vault",
        type=Path,
        metavar="FILE",
        help="keep outputs, charges and originals of this job in this encrypted file (key in "
        f"${VAULT_KEY}); made if it is not there",
    ),
    click.option(
        "--drop-originals",
        is_flag=True,
        help="keep no originals once it is done; outputs and charges are in OUT.job",
    ),
)


@click.command(
    short_help="sanitize columns of CSV, JSONL and Parquet files",
    epilog=examples(
        "sanitizer bulk mails.csv out.csv --column body --vault mails.vault",
        "sanitizer bulk reviews.parquet out.parquet --column text --drop-originals",
    ),
)
@click.argument("source", metavar="IN", type=Path)
@click.argument("target", metavar="OUT", type=Path)
@_row_options
@setting_options
@context_option
@_run_options
@click.option(
    "--budget",
    type=float,
    metavar="EPSILON",
    help="most epsilon of one unit; of one row without --unit-column",
)
@ledger_option
@_store_options
@click.option("--report", type=Path, metavar="FILE", help="write the report as JSON")
@click.option("--restore", is_flag=True, help="put the originals of a job back; needs --vault")
def bulk(source: Path, target: Path, report: Path | None, restore: bool, **options: Any) -> int:
    """Sanitize columns of IN, a file or a folder, into OUT.

    Stopped, and run again with the same arguments, it goes on and pays for nothing twice. All other
    columns leave as they are.
    """
    if find_spec("pyarrow") is None:
        raise ValueError('bulk needs pyarrow: pip install "dp-sanitizer[bulk]"')
    if restore:
        return _restore(source, target, options)
    from sanitizer.bulk import sanitize_files

    job = _job(target, options)
    shown = sys.stderr.isatty()
    workers = options["workers"]
    workers = (os.cpu_count() or 1) if workers is None else workers
    try:
        found = sanitize_files(
            job, source, target, engine=options["engine"], workers=workers, progress=shown
        )
    except KeyboardInterrupt:
        click.echo(
            f"sanitizer: interrupted; {_n_done(job)} rows are done and kept in {job.store}: the "
            "same command goes on with the rest",
            err=True,
        )
        return INTERRUPTED
    if report is not None:
        report.write_text(json.dumps(found.as_dict(), indent=1) + "\n", "utf-8")
    write(_described(found, job))
    return 0


def _job(target: Path, options: dict[str, Any]) -> BulkJob:
    from sanitizer.bulk import BulkJob

    vault, dropped = options["vault"], options["drop_originals"]
    if (vault is None) != dropped:
        raise ValueError("give --vault FILE for the originals, or --drop-originals")
    settings = build_sanitizer(options).inner.settings
    workers = options["workers"] or os.cpu_count() or 1
    return BulkJob(
        vault or target.with_name(f"{target.name}.job"),
        tuple(options["columns"]),
        policy=settings.policy,
        mechanism=settings.mechanism,
        unit_column=options["unit_column"],
        id_column=options["id_column"],
        keep_originals=not dropped,
        budget=options["budget"],
        ledger=options["ledger"],
        refused=options["refused"],
        threads=max(1, (os.cpu_count() or 1) // workers),
    )


def _restore(source: Path, target: Path, options: dict[str, Any]) -> int:
    from sanitizer.bulk import restore_files

    if options["vault"] is None:
        raise ValueError("--restore needs --vault, the file of the job")
    n = restore_files(options["vault"], source, target, tuple(options["columns"]))
    write(f"{n} rows restored")
    return 0


def _n_done(job: BulkJob) -> int:
    from sanitizer.bulk import JobStore

    with JobStore(job.store) as store:
        return store.n_done()


def _described(report: BulkReport, job: BulkJob) -> str:
    """Return the report in a few lines."""
    n_refused = sum(report.n_refused.values())
    unit = "row" if job.unit_column is None else f"value of {job.unit_column!r}"
    lines = [
        f"{report.n_rows} rows in {report.n_files} files, {report.n_before} of them done before, "
        f"{n_refused} refused and left empty",
        f"{report.n_things} things with stand-ins, {report.n_drawn} of them drawn",
        f"epsilon {report.epsilon_total:g} in all, at most {report.epsilon_max:g} for each "
        f"{unit} ({report.n_units} of them)",
        f"columns that are not named left as they were; kept in {job.store}: outputs and charges, "
        + ("and the originals, encrypted" if job.keep_originals else "no originals"),
    ]
    return "\n".join(lines)


_epsilon_options = together(
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
@_epsilon_options
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
