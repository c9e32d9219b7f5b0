"""Renders a Markdown template with the figures of results/*.json.

A template is a page as it will be, with fields of `str.format`:

- `{latency[results][cold_start][command_s]:.2f}` reads results/latency.json;
- `{claims}` calls a function of `benchmarks.report.views`, for what has to be counted or joined;
- a line `@audits[results] | {mechanism} | {exact:.2f} |` is written once for each row, whose own
  keys are fields then; of a mapping the key is `{key}`;
- `{+frontier}` puts another template of pages/ in.

Specs are those of Python and of `benchmarks.common.tables.written`. What is not there is "-".
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.common.tables import load, written
from benchmarks.report import views

PAGES = Path(__file__).parent / "pages"
BLOCK = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)
"""Figures of a document that others write: see `benchmarks.report.run`."""
_KEYS = re.compile(r"\[")
_LOOP = re.compile(r"@((?:[^ \[]|\[[^\]]*\])+) (.*)")


class _Formatter(string.Formatter):
    """Fields are read from a row, then from the views, then from the results.

    Args:
        row: of a loop.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row

    def get_field(self, field_name: str, args: Any = (), kwargs: Any = None) -> tuple[Any, str]:
        name, *keys = _KEYS.split(field_name.replace("]", ""))
        found = self._root(name)
        for key in keys:
            if isinstance(found, list):
                found = found[int(key)]
            else:
                found = found.get(key) if isinstance(found, Mapping) else None
        return found, field_name

    def _root(self, name: str) -> Any:
        if name in self._row:
            return self._row[name]
        if name.startswith("+"):
            return rendered(PAGES / f"{name[1:]}.md").rstrip("\n")
        if (view := getattr(views, name, None)) is not None:
            return view()
        return None if self._row else load(name)

    def format_field(self, value: Any, spec: str) -> str:
        return written(value, spec)


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if not (loop := _LOOP.fullmatch(line)):
            yield _Formatter({}).vformat(line, (), {})
            continue
        rows, _ = _Formatter({}).get_field(loop[1])
        if isinstance(rows, Mapping):
            rows = [{"key": key, "self": value, **value} for key, value in rows.items()]
        for row in rows or ():
            yield _Formatter(row).vformat(loop[2], (), {})


def rendered(path: Path) -> str:
    """Return a template with its figures."""
    return "\n".join(_lines(path.read_text("utf-8")))


def with_blocks(text: str) -> str:
    """Return a document with its blocks of figures made anew, each by the template of its name."""
    return BLOCK.sub(
        lambda found: f"{found[1]}{rendered(PAGES / f'{found[2]}.md')}{found[3]}", text
    )
