"""Run docs/notebook.ipynb and write what it prints into it: `python -m tests.docs.notebook`.

With --check nothing is written: what it prints now goes to standard output, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATH = ROOT / "docs" / "notebook.ipynb"
SECONDS = 300  # for a cell


def run() -> Any:
    """Return the notebook with what all cells print, in a kernel of this interpreter."""
    from nbclient import NotebookClient

    nbformat: Any = import_module("nbformat")  # untyped
    os.environ["PYTHONPATH"] = str(ROOT)
    notebook = nbformat.read(PATH, as_version=4)
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3")
    return client.execute(cwd=str(ROOT))


def printed(notebook: dict[str, Any]) -> list[str]:
    """Return what each code cell prints, as one text: HTML where there is some."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(_text(output) for output in cell["outputs"]) for cell in cells]


def _text(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    return "".join(output.get("text") or data.get("text/html") or data.get("text/plain") or "")


def save(notebook: Any) -> None:
    """Write the notebook, without what differs from machine to machine."""
    nbformat: Any = import_module("nbformat")
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    PATH.write_text(nbformat.writes(notebook) + "\n", "utf-8")


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.stdout.write(json.dumps(printed(run())))
    else:
        save(run())
