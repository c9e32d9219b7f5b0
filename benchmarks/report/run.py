"""What is written from results/*.json: benchmarks/README.md and its pages of tables, and the blocks
of figures in the main README, docs/paper.md and docs/comparison.md.

    python -m benchmarks report [--plots]

Every page is a template of pages/ (`benchmarks.report.template`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.common.machine import FOLDER, output_folder, say
from benchmarks.report.template import PAGES, rendered, with_blocks

HERE = Path(__file__).parents[1]
DOCUMENTS = tuple(
    HERE.parent / name for name in ("README.md", "docs/paper.md", "docs/comparison.md")
)
"""Documents with blocks of figures."""


def pages() -> dict[str, str]:
    """Return the page of questions and the pages of tables, by path from this folder."""
    tables = sorted((PAGES / "tables").glob("*.md"))
    found = {"README.md": rendered(PAGES / "questions.md")}
    return found | {f"tables/{path.name}": rendered(path) for path in tables}


def main(plots: bool) -> None:
    """Write all pages and, if they are asked for, the plots.

    A trial run's report goes where its results are, and what is in the repository stays.
    """
    trial = FOLDER in os.environ
    folder = output_folder() if trial else HERE
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")
    if not trial:
        for path in DOCUMENTS:
            path.write_text(with_blocks(path.read_text("utf-8")), "utf-8")
    if plots:
        from benchmarks.report.plots import SHOWN, draw  # needs matplotlib

        for name in SHOWN:
            draw(name)
    say(str(folder / "README.md"))


if __name__ == "__main__":
    main("--plots" in sys.argv[1:])
