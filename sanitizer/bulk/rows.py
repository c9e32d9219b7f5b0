"""The function over Arrow batches: rows in, the same rows with sanitized columns out.

It knows no engine and no file format. Each row is looked for in the store first; those that are not
there are sanitized in memory, and written with their charges before any of them is given out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sanitizer.bulk.job import BulkJob, Column
from sanitizer.bulk.store import NANO, JobStore, NewRow, StoredRow, UnitState
from sanitizer.errors import BudgetExceeded, NotCertified, PolicyError
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.randomness import secret_key
from sanitizer.results import SanitizedText
from sanitizer.storage.databases import Closing
from sanitizer.storage.ledger import as_printed
from sanitizer.storage.table import Entries, Row, Wanted
from sanitizer.storage.vault import Vault, placeholders, tag_of

if TYPE_CHECKING:
    import pyarrow as pa

    Batch = TypeVar("Batch", pa.RecordBatch, pa.Table)

COMMIT_SECONDS = 1.0
"""Longest that rows wait to be written: what a crash throws away. Nothing of it was released."""
MAX_COMMITTED = 1024
"""Most rows of one transaction."""
Cells = tuple[str | None, ...]


class _Table:
    """The table of one conversation, and the texts released in it."""

    def __init__(
        self,
        rows: Sequence[Row] = (),
        numbers: Mapping[str, int] | None = None,
        tag: int = 0,
    ) -> None:
        self.entries = Entries.of(rows, numbers or {}, tag)
        self.messages: dict[bytes, SanitizedText] = {}


class _RowVault(Vault):
    """Vault of the row that is being sanitized, for one thread.

    The names of conversations are not looked at: `table` is that of the present one.
    """

    def __init__(self) -> None:
        self.table = _Table()
        self.secret = secret_key()

    def get(self, key: bytes) -> SanitizedText | None:
        return self.table.messages.get(key)

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        return self.table.messages.setdefault(key, result)

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        # A row that fails is begun anew, with the table as it was before.
        with self.table.entries.editing(lambda n: None):
            yield self.table.entries


class _Input(NamedTuple):
    """One row as it was read: its key, the hash of what was read, cells, unit, and a label."""

    key: bytes
    digest: str
    cells: Cells
    unit: str | None
    label: str


class _Done(NamedTuple):
    """What sanitizing one row gave."""

    cells: Cells
    nano: int
    n_things: int
    n_drawn: int


@dataclass
class _Chunk:
    """Rows sanitized and not written yet, and the units they changed."""

    rows: list[NewRow] = field(default_factory=list)
    units: dict[bytes, UnitState] = field(default_factory=dict)
    tables: dict[bytes, _Table] = field(default_factory=dict)


class RowSanitizer(Closing):
    """Sanitizes the rows of Arrow batches for one job. For one thread; each process makes its own.

    Models are loaded when a row needs them, the store is opened at once.

    Attributes:
        stopped: asked after each commit; True ends the work with an InterruptedError.

    Args:
        create: make the job's store if it is missing; False makes that an error.

    Raises:
        ValueError: no key in the environment.
        SanitizerError: policy, store or ledger cannot be used.

    >>> import os
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from tempfile import TemporaryDirectory
    >>> os.environ["SANITIZER_VAULT_KEY"] = "a long enough passphrase"
    >>> with TemporaryDirectory() as folder:
    ...     job = BulkJob(Path(folder) / "store", ("text",), policy="identifiers", id_column="id")
    ...     with RowSanitizer(job) as sanitize:
    ...         batch = pa.table({"id": ["a"], "text": ["Mail ada@example.org"]})
    ...         sanitize(batch)["text"].to_pylist()
    ['Mail <EMAIL_1>']
    """

    def __init__(self, job: BulkJob, create: bool = True) -> None:
        self.job = job
        self._columns = job.parsed
        # Whole cells first: a name that a column tells of is known when the texts are read.
        self._order = sorted(range(len(self._columns)), key=lambda i: not self._columns[i].kind)
        self._vault = _RowVault()
        self.stopped: Callable[[], bool] = lambda: False
        self._limit = None if job.budget is None else int(as_printed(job.budget) * NANO)
        self._sanitizers = self._made()
        facts = _facts(job, self._sanitizers.values())
        self.store = JobStore(job.store, facts, job.ledger, create)

    def _made(self) -> dict[Column, Sanitizer]:
        first: Sanitizer | None = None
        made: dict[Column, Sanitizer] = {}
        for column in self._columns:
            if column.kind:
                continue
            policy = self.job.policy_of(column)
            if first is None:
                first = Sanitizer(
                    self.job.mechanism, policy, vault=self._vault, threads=self.job.threads
                )
            same = policy.digest == first.policy.digest
            own = self.job.mechanism
            made[column] = first if same else first.derive(policy=policy, mechanism=own)
        return made

    def __call__(self, batch: Batch, names: Sequence[str] | None = None) -> Batch:
        """Return the batch with its columns sanitized; other columns stay as they are.

        Args:
            batch: a RecordBatch or Table with the job's columns. Columns of texts hold strings or
                nulls; whole cells may hold numbers too. Sanitized columns become strings.
            names: of the rows, each different; default the job's `id_column`.

        Raises:
            ValueError: a column is missing, of another type, or the rows have no names.
            BudgetExceeded, PolicyError: a row was refused, and `BulkJob.refused` is "stop".
            SanitizerError: as `Sanitizer.sanitize`; rows that were written before stay written.
        """
        import pyarrow as pa

        inputs = list(self._inputs(batch, names))
        done = self._processed(inputs)
        for i, column in enumerate(self._columns):
            cells = pa.array([done[each.key].cells[i] for each in inputs], pa.string())
            place = batch.schema.get_field_index(column.name)
            batch = batch.set_column(place, pa.field(column.name, pa.string()), cells)
        return batch

    def process(self, batch: Batch, names: Sequence[str]) -> int:
        return len(self._processed(list(self._inputs(batch, names))))

    def close(self) -> None:
        self.store.close()

    # ---- reading ----

    def _inputs(self, batch: Batch, names: Sequence[str] | None) -> Iterator[_Input]:
        job = self.job
        if missing := [name for name in job.needed if name not in batch.schema.names]:
            raise ValueError(f"the rows have no column {', '.join(map(repr, missing))}")
        columns = [_cells(batch, column) for column in self._columns]
        units: Sequence[str | None] = [None] * batch.num_rows
        if job.unit_column is not None:
            units = _names(batch, job.unit_column)
        if job.id_column is not None:
            rows = _names(batch, job.id_column)
            labels = [f"row {i + 1} of a batch" for i in range(len(rows))]
        elif names is not None:
            rows = labels = list(names)
        else:
            raise ValueError("rows need names: give id_column")
        for name, label, unit, *cells in zip(rows, labels, units, *columns, strict=True):
            digest = self.store.digest([*cells, unit])
            yield _Input(self.store.row_key(name), digest, tuple(cells), unit, label)

    # ---- processing ----

    def _processed(self, inputs: Sequence[_Input]) -> dict[bytes, StoredRow]:
        """Return what is stored for each row, after sanitizing those that were not there."""
        done: dict[bytes, StoredRow] = {}
        first = {each.key: each for each in inputs}
        for each in inputs:
            if first[each.key].digest != each.digest:
                raise ValueError(f"{each.label}: another row has the same name")
        todo = list(first.values())
        while todo:
            found = self.store.find([each.key for each in todo])
            for each in todo:
                if each.key in found and found[each.key].digest != each.digest:
                    raise ValueError(
                        f"{each.label}: not what it was when the job began, or another row has "
                        "the same name; name another store for changed input"
                    )
            done |= found
            lost: set[bytes] = set()
            todo = [each for each in todo if each.key not in found]
            for chunk, written in self._chunks(todo):
                lost |= self._commit(chunk, written, done)
                if self.stopped():
                    raise InterruptedError("stopped")
            todo = [each for each in todo if each.key in lost]
        return done

    def _chunks(self, todo: Sequence[_Input]) -> Iterator[tuple[_Chunk, list[_Input]]]:
        """Yield the rows, sanitized, in chunks to be written together."""
        chunk, members, begin = _Chunk(), list[_Input](), time.monotonic()
        try:
            for each in todo:
                self._add(chunk, each)
                members.append(each)
                late = time.monotonic() - begin >= COMMIT_SECONDS
                if late or len(members) >= MAX_COMMITTED or self.stopped():
                    yield chunk, members
                    chunk, members, begin = _Chunk(), [], time.monotonic()
        except Exception:
            if members:  # rows before the one that failed are complete
                yield chunk, members
            raise
        if members:
            yield chunk, members

    def _commit(
        self, chunk: _Chunk, members: Sequence[_Input], done: dict[bytes, StoredRow]
    ) -> set[bytes]:
        """Write a chunk; return the keys of rows to do again. Raises BudgetExceeded."""
        try:
            lost = self.store.commit(chunk.rows, chunk.units)
        except BudgetExceeded as error:
            if len(members) > 1:  # those that fit are written one by one
                lost = set()
                for each in members:
                    single = _Chunk()
                    self._add(single, each)
                    lost |= self._commit(single, [each], done)
                return lost
            chunk = _Chunk()
            self._add(chunk, members[0], error)
            lost = self.store.commit(chunk.rows, chunk.units)
        done |= {row.key: row.stored for row in chunk.rows if row.key not in lost}
        return lost

    def _add(self, chunk: _Chunk, each: _Input, refusal: BudgetExceeded | None = None) -> None:
        """Sanitize a row, and add it to the chunk; empty if it is refused, as the ledger may."""
        unit = b"" if each.unit is None else self.store.unit_key(each.unit)
        # Both keys are HMACs under the secret of the store.
        tag = tag_of(unit or each.key, "")
        if unit and unit not in chunk.units:
            chunk.units[unit] = self.store.unit(unit)
            state = chunk.units[unit]
            chunk.tables[unit] = _Table(state.rows, state.numbers, tag)
        table = chunk.tables[unit] if unit else _Table(tag=tag)
        spent = chunk.units[unit].spent if unit else 0
        n_before, numbers = len(table.entries.rows), dict(table.entries.numbers)
        refused = ""
        try:
            if refusal is not None:
                raise refusal
            result = self._sanitized(each, table)
            if self._limit is not None and spent + result.nano > self._limit:
                raise BudgetExceeded("the budget of its unit has not enough left")
        except (PolicyError, BudgetExceeded) as error:
            if self.job.refused == "stop":
                raise type(error)(
                    f"{each.label}: {error}; rows that are refused can be left empty instead"
                ) from error
            refused = "budget" if isinstance(error, BudgetExceeded) else "policy"
            result = _Done((None,) * len(self._columns), 0, 0, 0)
            # What the row put into the table was not released, and must not be used.
            table = _Table(table.entries.rows[:n_before], numbers, tag)
        if unit:
            state = chunk.units[unit]
            chunk.tables[unit] = table
            # Another object: `numbers` and `rows` are those of the table from now on.
            chunk.units[unit] = replace(
                state,
                spent=spent + result.nano,
                rows=table.entries.rows,
                numbers=dict(table.entries.numbers),
            )
        kept = () if unit or not self.job.keep_originals else tuple(table.entries.rows)
        stored = StoredRow(each.digest, *result, refused=refused, unit=unit.hex(), table=kept)
        chunk.rows.append(NewRow(each.key, stored, each.unit or ""))

    def _sanitized(self, each: _Input, table: _Table) -> _Done:
        """Sanitize the cells of a row in memory."""
        self._vault.table = table
        cells = list(each.cells)
        nano = n_things = n_drawn = 0
        for i in self._order:
            column, cell = self._columns[i], cells[i]
            if not cell:
                continue
            if column.kind:
                wanted = [Wanted(column.kind, cell)]
                (cells[i],) = placeholders(self._vault, "", wanted)
                n_things += 1
                continue
            sanitizer = self._sanitizers[column]
            if len(cell) > sanitizer.inner.settings.max_chars:
                raise PolicyError("a text has more characters than max_chars")
            result = sanitizer.sanitize(cell)
            record = result.record
            if record.charged and not record.certified and (self._limit or self.job.ledger):
                raise NotCertified("a budget needs a certified mechanism")
            cells[i] = result.text
            nano += ceil(as_printed(record.charged) * NANO)
            n_things += record.n_things or record.n_identifiers
            n_drawn += record.n_units
        return _Done(tuple(cells), nano, n_things, n_drawn)


def _facts(job: BulkJob, sanitizers: Collection[Sanitizer]) -> dict[str, Any]:
    """Return what the store keeps about its job: a hash, and how rows are named."""
    models = {"reader", "masked-lm"} if any(s.policy.reads_models for s in sanitizers) else set()
    hashes = [Manifest.read(model_folder(name)).sha256 for name in sorted(models)]
    return {
        "job": [job.digest(), *hashes],
        "id_column": job.id_column,
        "ledger": job.ledger is not None,
        "originals": job.keep_originals,
    }


def _values(batch: Batch, name: str) -> list[Any]:
    return list(batch.column(batch.schema.get_field_index(name)).to_pylist())


def _cells(batch: Batch, column: Column) -> list[str | None]:
    """Return the cells of a column; numbers are written out where a cell is one thing."""
    values = _values(batch, column.name)
    if column.kind:
        values = [
            str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
            for value in values
        ]
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError(f"column {column.name!r} must hold strings")
    return values


def _names(batch: Batch, column: str) -> list[str]:
    values = _values(batch, column)
    if None in values or "" in values:
        raise ValueError(f"column {column!r} must have a value in each row")
    return [str(value) for value in values]
