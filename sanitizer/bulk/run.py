"""A whole job: files in, the same files with sanitized columns out, a report; and back again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sanitizer.answers.restorer import Restorer
from sanitizer.bulk.engines import check_engine, run_parts
from sanitizer.bulk.files import Columns, InputFile, check_target, plan, rewrite, row_names
from sanitizer.bulk.job import BulkJob
from sanitizer.bulk.rows import RowSanitizer
from sanitizer.bulk.store import NANO, JobStore, StoredRow
from sanitizer.errors import VaultError
from sanitizer.progress import progress_bar
from sanitizer.storage.table import Entries

POLL_SECONDS = 0.5
"""How often the progress bar looks how many rows are done."""


@dataclass
class BulkReport:
    """What a job did; no text.

    Attributes:
        n_files, n_rows: of the output.
        n_before: rows that earlier runs of the job had done.
        n_refused: rows whose cells were left empty, by reason.
        n_things: things with stand-ins, counted in each row. n_drawn: stand-ins that were drawn.
        unit: what a budget belongs to: "row", or the name of the column of the unit.
        n_units: how many there are.
        epsilon_total: charged for all of them together.
        epsilon_max: of the unit that was charged most.
        units_by_epsilon: epsilon -> how many units were charged so much.
        originals: what the store holds now: "kept" or "dropped".
    """

    n_files: int = 0
    n_rows: int = 0
    n_before: int = 0
    n_refused: dict[str, int] = field(default_factory=dict)
    n_things: int = 0
    n_drawn: int = 0
    unit: str = "row"
    n_units: int = 0
    epsilon_total: float = 0.0
    epsilon_max: float = 0.0
    units_by_epsilon: dict[str, int] = field(default_factory=dict)
    originals: str = "kept"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def sanitize_files(
    job: BulkJob,
    source: Path,
    target: Path,
    *,
    engine: str = "local",
    workers: int = 1,
    progress: bool = False,
) -> BulkReport:
    """Sanitize the files of a job; return a report.

    Stopped or killed, and run again with the same job, it goes on: rows that are done are neither
    charged nor drawn again. The output appears when all rows are done, whole or not at all.

    Args:
        source: a .csv, .tsv, .jsonl, .ndjson or .parquet file, or a folder of such files.
        target: the output, of the same format; must not exist.
        engine: "local", "ray" or "spark".
        workers: processes, actors or cores; 0 works in this process ("local" only).

    Raises:
        ValueError: naming file, column or argument.
        BudgetExceeded, PolicyError: a row was refused, and `BulkJob.refused` is "stop".
        SanitizerError: policy, models, store or ledger cannot be used; what is done is kept.
    """
    check_engine(engine, workers)
    check_target(target)
    job = job.absolute()
    files = plan(source.absolute(), job.needed)
    parts = [part for file in files for part in file.parts]
    with RowSanitizer(job) as rows:  # makes the store, and fails before any worker starts
        store = rows.store
        store.settle()
        n_before, n_rows = store.n_done(), sum(part.n for part in parts)
        with _watched(store, n_rows, n_before) if progress else nullcontext():
            run_parts(engine, job, parts, workers)
        store.settle()
        report = _written(job, store, files, target)
        report.n_before = min(n_before, n_rows)
        if not job.keep_originals:
            store.drop_originals()
            report.originals = "dropped"
    return report


@contextmanager
def _watched(store: JobStore, n_rows: int, n_before: int) -> Iterator[None]:
    """Show how many rows are done, as the store has it, whatever the engine."""
    ended = threading.Event()

    def watch() -> None:
        done = n_before
        with progress_bar(max(0, n_rows - n_before), True) as advance:
            while not ended.wait(POLL_SECONDS):
                now = store.n_done()
                advance(now - done)
                done = now
            advance(store.n_done() - done)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _written(job: BulkJob, store: JobStore, files: list[InputFile], target: Path) -> BulkReport:
    """Write the output from the store; return the report."""
    report = BulkReport(n_files=len(files), unit=job.unit_column or "row")
    refused: Counter[str] = Counter()
    spent: Counter[int] = Counter()

    def change(file: InputFile, first: int, columns: Columns) -> Columns:
        found = _stored(store, job.id_column, file, first, columns)
        for row in found:
            report.n_rows += 1
            report.n_things += row.n_things
            report.n_drawn += row.n_drawn
            refused[row.refused] += bool(row.refused)
            spent[row.nano] += 1
        return {column.name: [row.cells[i] for row in found] for i, column in enumerate(job.parsed)}

    rewrite(files, target, job.needed, change)
    if job.unit_column is not None:
        spent = Counter(unit.spent for unit in store.units())
    report.n_refused = {why: n for why, n in sorted(refused.items()) if n}
    report.n_units = sum(spent.values())
    report.epsilon_total = sum(nano * n for nano, n in spent.items()) / NANO
    report.epsilon_max = max(spent, default=0) / NANO
    report.units_by_epsilon = {f"{nano / NANO:g}": n for nano, n in sorted(spent.items())}
    return report


def _stored(
    store: JobStore, id_column: str | None, file: InputFile, first: int, columns: Columns
) -> list[StoredRow]:
    """Return what is stored for rows of a file, in their order."""
    if id_column is not None:
        names = [str(value) for value in columns[id_column]]
    else:
        names = row_names(file.name, first, len(next(iter(columns.values()))))
    keys = [store.row_key(name) for name in names]
    found = store.find(keys)
    if missing := sum(key not in found for key in keys):
        raise VaultError(f"{store.where}: holds nothing for {missing} of the rows")
    return [found[key] for key in keys]


def restore_files(store: Path, source: Path, target: Path, columns: tuple[str, ...]) -> int:
    """Put the originals back into columns of files; return how many rows there were.

    The files may be the output of a job, or answers to it: rows are known by the job's `id_column`
    or, without one, by file name and place. Values inside links stay as they are.

    Args:
        store: of a job that kept the originals.
        source: file or folder. target: output; must not exist.
        columns: in which stand-ins are looked for.

    Raises:
        ValueError: naming file, column or argument.
        VaultError: another key, a damaged store, or a row that the job did not have.
    """
    check_target(target)
    n_rows = 0
    with JobStore(store) as kept:
        if not kept.facts["originals"]:
            raise VaultError(f"{kept.where}: the job kept no originals")
        id_column = kept.facts["id_column"]
        needed = tuple(dict.fromkeys([*columns, *filter(None, [id_column])]))
        files = plan(source, needed)
        restorers: dict[str, Restorer] = {}

        def change(file: InputFile, first: int, read: Columns) -> Columns:
            nonlocal n_rows
            rows = _stored(kept, id_column, file, first, read)
            n_rows += len(rows)
            if len(restorers) > 10_000:
                restorers.clear()
            each = [_restorer(kept, row, restorers) for row in rows]
            return {
                name: [
                    restorer.text(cell) if isinstance(cell, str) else cell
                    for restorer, cell in zip(each, read[name], strict=True)
                ]
                for name in columns
            }

        rewrite(files, target, needed, change)
    return n_rows


def _restorer(store: JobStore, row: StoredRow, known: dict[str, Restorer]) -> Restorer:
    """Return the restorer of a row's conversation; those of units are kept in `known`."""
    if not row.unit:
        return Restorer(Entries.of(row.table, {}).originals)
    if row.unit not in known:
        entries = store.unit(bytes.fromhex(row.unit)).entries()
        known[row.unit] = Restorer(entries.originals)
    return known[row.unit]
