"""Jobs over invented rows, and what must hold whatever engine did them."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sanitizer.bulk import BulkJob
from sanitizer.bulk.store import JobStore

KEY = "an obviously fake key for tests"
PART_ROWS = 16
"""Rows of a part in these tests."""


def rows(n: int, n_users: int = 5) -> list[dict[str, str]]:
    """Rows with an address each, and one illness of each user."""
    ills = ("hepatitis", "gout", "asthma", "diabetes", "malaria")
    return [
        {
            "user_id": f"u{i % n_users}",
            "text": f'"Yes",\nshe has {ills[i % n_users % 5]}. Write to user{i}@example.org.',
            "number": f"{i:03}",
        }
        for i in range(n)
    ]


def write_rows(path: Path, some: list[dict[str, str]]) -> Path:
    """Write rows in the format that the file's name tells."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(some[0]))
            writer.writeheader()
            writer.writerows(some)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in some), "utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(some), path, row_group_size=max(1, len(some) // 3))
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".jsonl":
        text = path.read_text("utf-8").removesuffix("\n")
        return [json.loads(line) for line in text.split("\n")]
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def store_of(folder: Path) -> Path:
    """The store of a test: a file, or on the PostgreSQL that the environment names."""
    if "SANITIZER_DATABASE" not in os.environ:
        return folder / "store"
    return Path(f"postgres:t{hashlib.sha256(str(folder).encode()).hexdigest()[:30]}")


def job_of(folder: Path, **changes: Any) -> BulkJob:
    """Return a job over the column of texts."""
    given: dict[str, Any] = {"columns": ("text",), "policy": "identifiers", **changes}
    return BulkJob(given.pop("store", store_of(folder)), **given)


def sums(job: BulkJob) -> tuple[int, int, int]:
    """Return (rows, nano-epsilon of the rows, nano-epsilon of the units) in a job's store."""
    with JobStore(job.store) as store:
        batches = store._db.rows("SELECT id FROM batch")
        stored = [row for (number,) in batches for row in store._batch(number)]
        keys = store._db.rows("SELECT count(*) FROM line")[0][0]
        assert keys == len(stored)
        return len(stored), sum(row.nano for row in stored), sum(u.spent for u in store.units())
