"""Rows in the build cache, one JSON line each, so that a run that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from benchmarks.common.machine import say
from models.build.fetch import CACHE

Row = dict[str, Any]


class Kept:
    """Rows that are kept as they come; a last line that was cut off is left out.

    Args:
        name: of the file.
    """

    def __init__(self, name: str) -> None:
        self._path = CACHE / f"{name}.jsonl"
        found = self._path.read_bytes() if self._path.exists() else b""
        whole = found[: found.rfind(b"\n") + 1]
        self.rows: list[Row] = [json.loads(line) for line in whole.splitlines()]
        if len(whole) < len(found):
            self._path.write_bytes(whole)

    def add(self, row: Row) -> None:
        """Keep a row, and show it without its texts."""
        self.rows.append(row)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        say(str({key: value for key, value in row.items() if key not in {"text", "texts", "rows"}}))

    def missing(self, n: int, **values: Any) -> list[int]:
        """Return those of the numbers 0..n-1 for which no row with these values is kept."""
        known = {row.get("i") for row in self.rows if row.items() >= values.items()}
        return [i for i in range(n) if i not in known]


def fingerprint(value: Any, length: int = 12) -> str:
    """Return the hash of a JSON value, hexadecimal."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:length]
