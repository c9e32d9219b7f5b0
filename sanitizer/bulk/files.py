"""Input and output files: CSV, TSV, JSONL and Parquet, single or in folders.

A file is planned in one pass, which finds where parts of it begin, so that workers read their parts
alone; and written anew in one more, with only the sanitized columns changed. CSV cells are text and
stay as they are written ("007"); JSON objects keep their other fields; Parquet columns their types.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sanitizer.randomness import secret_key

PART_ROWS = 512
"""Rows of one part: what a worker is given at once."""
Columns = dict[str, list[Any]]
Change = Callable[["InputFile", int, Columns], Columns]
"""Function (file, number of the first row, columns that were read) -> columns that are changed."""

csv.field_size_limit(2**31 - 1)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one file that a worker sanitizes.

    Attributes:
        path: of the file. name: by which its rows are known, "" for a single file.
        first: number of its first row, from 1. n: how many there are.
        begin, end: where they are: bytes; of Parquet, the row group, and the row within it.
    """

    path: str
    name: str
    first: int
    n: int
    begin: int
    end: int


@dataclass(frozen=True)
class InputFile:
    """One file of the input.

    Attributes:
        path: where it is. name: relative to the folder that was given; "" for a single file.
        stamp: size and time, by which a change is noticed.
        parts: where its rows are.
    """

    path: Path
    name: str
    stamp: tuple[int, int]
    parts: tuple[Part, ...] = field(repr=False)


def row_names(name: str, first: int, n: int) -> list[str]:
    """Return the names of rows of a file that have none of their own.

    >>> row_names("a.csv", 1, 2)
    ['a.csv, row 1', 'a.csv, row 2']
    """
    label = f"{name}, row " if name else "row "
    return [f"{label}{number}" for number in range(first, first + n)]


def plan(source: Path, needed: Sequence[str]) -> list[InputFile]:
    """Return the files of an input with their parts; every file is opened and its columns checked.

    Files of a folder come in the order of their names, folders within it too; names that begin
    with "." or "_" are left out.

    Raises:
        ValueError: naming a file that is damaged, cut short, of another format, not UTF-8, or
            without a column.
        OSError: a file cannot be read.
    """
    if not source.is_dir():
        return [_planned(source, "", needed)]
    found = [path for path in sorted(source.rglob("*")) if path.is_file()]
    names = [(path, path.relative_to(source)) for path in found]
    wanted = [(path, name) for path, name in names if not any(p[0] in "._" for p in name.parts)]
    if not wanted:
        raise ValueError(f"{source}: no files")
    return [_planned(path, name.as_posix(), needed) for path, name in wanted]


def _planned(path: Path, name: str, needed: Sequence[str]) -> InputFile:
    form = _form(path)
    before = stamp(path)
    with _reading(path):
        parts = form.plan(path, name, needed)
    return InputFile(path, name, before, tuple(parts))


def stamp(path: Path) -> tuple[int, int]:
    """Return size and time of change of a file."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def read(part: Part, needed: Sequence[str]) -> pa.Table:
    """Return the needed columns of a part; raise ValueError, naming a damaged or changed file."""
    path = Path(part.path)
    with _reading(path):
        columns = _form(path).read(part, needed)
        lengths = {len(column) for column in columns.values()}
        if lengths != {part.n}:
            raise ValueError(
                "other rows than were counted; it was changed, or holds a quotation mark that "
                "is not in a quoted cell"
            )
        return pa.table({name: _array(name, values) for name, values in columns.items()})


def _array(name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueError(f"column {name!r} holds values of several types") from None


def _form(path: Path) -> _Format:
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise ValueError(f"{path}: must end in one of {', '.join(_FORMATS)}")
    return form


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name the file in errors, and quote nothing of it."""
    try:
        yield
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not UTF-8; convert it first") from None
    except csv.Error:
        raise ValueError(f"{path}: not a readable CSV file") from None
    except pa.ArrowException:
        raise ValueError(
            f"{path}: not a complete, undamaged Parquet file; was it still being written?"
        ) from None
    except OSError as error:
        if error.errno is None:  # Arrow's, of a page that cannot be read
            raise ValueError(f"{path}: not a complete, undamaged Parquet file") from None
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        told = str(error)
        raise ValueError(told if told.startswith(str(path)) else f"{path}: {told}") from None


def _missing(have: Sequence[str], needed: Sequence[str]) -> None:
    if missing := [name for name in needed if name not in have]:
        raise ValueError(f"no column {', '.join(map(repr, missing))}")
    if doubled := [name for name in needed if list(have).count(name) > 1]:
        raise ValueError(f"more than one column {', '.join(map(repr, doubled))}")


# ---- lines: CSV and JSONL ----


def _spans(file: io.BufferedReader, quoted: bool) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) in bytes of each record that is not an empty line.

    In CSV a record ends with a line at which the number of quotation marks so far is even.
    """
    begin = at = file.tell()
    odd = False
    for line in file:
        at += len(line)
        if quoted and line.count(b'"') % 2:
            odd = not odd
        if odd:
            continue
        if at - begin > 2 or line.strip(b"\r\n"):
            yield begin, at
        begin = at
    if odd:
        raise ValueError("a quoted cell does not end; the file is cut short")


def _parts(path: Path, name: str, spans: Iterator[tuple[int, int]]) -> Iterator[Part]:
    first = 1
    while some := list(islice(spans, PART_ROWS)):
        yield Part(str(path), name, first, len(some), some[0][0], some[-1][1])
        first += len(some)


def _bytes(part: Part) -> str:
    with Path(part.path).open("rb") as file:
        file.seek(part.begin)
        return file.read(part.end - part.begin).decode("utf-8")


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _csv_header(path: Path) -> tuple[list[str], int]:
    with path.open("rb") as file:
        begin, end = next(_spans(file, True), (0, 0))
        file.seek(begin)
        text = file.read(end - begin).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path)))
    if not rows:
        raise ValueError("empty; the first line must name the columns")
    return rows[0], end


def _csv_plan(path: Path, name: str, needed: Sequence[str]) -> list[Part]:
    header, begin = _csv_header(path)
    _missing(header, needed)
    with path.open("rb") as file:
        file.seek(begin)
        return list(_parts(path, name, _spans(file, True)))


def _csv_rows(path: Path, text: io.TextIOBase, width: int, first: int = 1) -> Iterator[list[str]]:
    for number, row in enumerate(csv.reader(text, delimiter=_delimiter(path)), first):
        if not row:
            continue
        if len(row) != width:
            raise ValueError(f"row {number} has another number of cells than the first line")
        yield row


def _csv_read(part: Part, needed: Sequence[str]) -> Columns:
    path = Path(part.path)
    header, _ = _csv_header(path)
    rows = list(_csv_rows(path, io.StringIO(_bytes(part), newline=""), len(header), part.first))
    return {name: [row[header.index(name)] for row in rows] for name in needed}


def _csv_write(file: InputFile, target: Path, needed: Sequence[str], change: Change) -> None:
    header, begin = _csv_header(file.path)
    at = [header.index(name) for name in needed]
    with (
        file.path.open("rb") as source,
        target.open("w", encoding="utf-8", newline="") as out,
    ):
        source.seek(begin)
        text = io.TextIOWrapper(source, "utf-8", newline="")
        # With another line end, cells that hold a lone "\r" would not be quoted.
        writer = csv.writer(out, delimiter=_delimiter(file.path), lineterminator="\r\n")
        writer.writerow(header)
        rows, first = _csv_rows(file.path, text, len(header)), 1
        while some := list(islice(rows, PART_ROWS)):
            columns = {name: [row[i] for row in some] for name, i in zip(needed, at, strict=True)}
            for name, values in change(file, first, columns).items():
                i = header.index(name)
                for row, value in zip(some, values, strict=True):
                    row[i] = "" if value is None else value
            writer.writerows(some)
            first += len(some)


def _json_plan(path: Path, name: str, needed: Sequence[str]) -> list[Part]:
    with path.open("rb") as file:
        parts = list(_parts(path, name, _spans(file, False)))
    if parts:
        _json_read(parts[0], needed)
    return parts


def _objects(text: Iterator[str], first: int) -> Iterator[dict[str, Any]]:
    for number, line in enumerate((line for line in text if line.strip("\r\n")), first):
        try:
            value = json.loads(line)
        except ValueError:
            raise ValueError(f"row {number} is not JSON") from None
        if not isinstance(value, dict):
            raise ValueError(f"row {number} is not a JSON object")
        yield value


def _fields(rows: Sequence[dict[str, Any]], needed: Sequence[str], first: int) -> Columns:
    columns: Columns = {}
    for name in needed:
        columns[name] = values = [row.get(name) for row in rows]
        for number, value in enumerate(values, first):
            if isinstance(value, dict | list):
                raise ValueError(f"row {number}: {name!r} must be a string")
    if rows and all(name not in row for name in needed for row in rows):
        raise ValueError(f"no column {', '.join(map(repr, needed))}")
    return columns


def _json_read(part: Part, needed: Sequence[str]) -> Columns:
    rows = list(_objects(iter(_bytes(part).split("\n")), part.first))
    return _fields(rows, needed, part.first)


def _json_write(file: InputFile, target: Path, needed: Sequence[str], change: Change) -> None:
    with (
        file.path.open("r", encoding="utf-8", newline="\n") as source,
        target.open("w", encoding="utf-8", newline="") as out,
    ):
        rows, first = _objects(source, 1), 1
        while some := list(islice(rows, PART_ROWS)):
            for name, values in change(file, first, _fields(some, needed, first)).items():
                for row, value in zip(some, values, strict=True):
                    if name in row:
                        row[name] = value
            out.writelines(
                json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in some
            )
            first += len(some)


# ---- Parquet ----


def _parquet_plan(path: Path, name: str, needed: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    with pq.ParquetFile(path) as file:
        _missing(file.schema_arrow.names, needed)
        first = 1
        for group in range(file.metadata.num_row_groups):
            n = file.metadata.row_group(group).num_rows
            for begin in range(0, n, PART_ROWS):
                size = min(PART_ROWS, n - begin)
                parts.append(Part(str(path), name, first, size, group, begin))
                first += size
    return parts


@lru_cache(maxsize=2)
def _row_group(path: str, group: int, needed: tuple[str, ...], made: tuple[int, int]) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, columns=list(needed))


def _parquet_read(part: Part, needed: Sequence[str]) -> Columns:
    table = _row_group(part.path, part.begin, tuple(needed), stamp(Path(part.path)))
    some = table.slice(part.end, part.n)
    return {name: some.column(name).to_pylist() for name in needed}


def _parquet_write(file: InputFile, target: Path, needed: Sequence[str], change: Change) -> None:
    with pq.ParquetFile(file.path) as source:
        writer: pq.ParquetWriter | None = None
        first = 1
        try:
            for group in range(source.metadata.num_row_groups):
                table = source.read_row_group(group)
                columns = {name: table.column(name).to_pylist() for name in needed}
                for name, values in change(file, first, columns).items():
                    at = table.schema.get_field_index(name)
                    cells = pa.array(values, pa.string())
                    table = table.set_column(at, pa.field(name, pa.string()), cells)
                writer = writer or pq.ParquetWriter(target, table.schema)
                writer.write_table(table, row_group_size=max(1, table.num_rows))
                first += table.num_rows
            if writer is None:
                writer = pq.ParquetWriter(target, source.schema_arrow)
        finally:
            if writer is not None:
                writer.close()


class _Format(NamedTuple):
    """How files of a format are planned, read and written."""

    plan: Callable[[Path, str, Sequence[str]], list[Part]]
    read: Callable[[Part, Sequence[str]], Columns]
    write: Callable[[InputFile, Path, Sequence[str], Change], None]


_CSV = _Format(_csv_plan, _csv_read, _csv_write)
_JSON = _Format(_json_plan, _json_read, _json_write)
_PARQUET = _Format(_parquet_plan, _parquet_read, _parquet_write)
_FORMATS = {".csv": _CSV, ".tsv": _CSV, ".jsonl": _JSON, ".ndjson": _JSON, ".parquet": _PARQUET}


# ---- output ----


def rewrite(
    files: Sequence[InputFile], target: Path, needed: Sequence[str], change: Change
) -> None:
    """Write all files anew, with changed columns; the target appears whole or not at all.

    Args:
        target: a file, or the folder that takes the place of the input's; must not exist.
        needed: columns that `change` is given.
        change: returns the changed columns of some rows.

    Raises:
        ValueError: the target exists, or a file was changed since it was planned.
    """
    check_target(target)
    unfinished = target.with_name(f".{target.name}-{secret_key()[:8].hex()}{target.suffix}")
    try:
        for file in files:
            path = unfinished / file.name if file.name else unfinished
            path.parent.mkdir(parents=True, exist_ok=True)
            with _reading(file.path):
                _form(file.path).write(file, path, needed, change)
                if stamp(file.path) != file.stamp:
                    raise ValueError("was changed while the job ran")
            _flush(path)
        check_target(target)
        unfinished.rename(target)
        _flush(target.parent)
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        else:
            unfinished.unlink(missing_ok=True)


def check_target(target: Path) -> None:
    """Raise ValueError if the target exists, or its folder does not."""
    if target.exists():
        raise ValueError(f"{target}: exists already; remove it, or name another output")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"{target}: its folder does not exist")


def _flush(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
