"""Hooks of the site: pages from outside docs/, the notebook, and formulas as MathML.

Pages keep their place in the repository; those of docs/ are at the top. Links between them are
written for the repository, and changed here, so that `mkdocs build --strict` checks them all.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = (
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
    "benchmarks/tables/*.md",
    "benchmarks/results/plots/*.png",
    "examples/desktop/README.md",
    "models/*/CARD.md",
)
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
FENCED = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)


def outside() -> list[str]:
    """Return the pages and pictures from outside docs/, as paths in the repository."""
    found = [path for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation's lists of tables and models."""
    lists = {"Tables": "benchmarks/tables/", "Models": "models/"}
    for section in config.nav or []:
        for entry in next(iter(section.values())) if isinstance(section, dict) else []:
            for name, folder in lists.items():
                if isinstance(entry, dict) and name in entry:
                    entry[name] = [p for p in outside() if p.startswith(folder)]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures from outside, and the notebook as a page."""
    for name in outside():
        if name.endswith(".md"):
            text = (ROOT / name).read_text("utf-8")
            files.append(File.generated(config, name, content=text))
        else:
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    notebook = ROOT / "docs" / "notebook.ipynb"
    files.append(File.generated(config, "notebook.md", content=as_markdown(notebook)))
    for file in list(files):
        if file.src_uri == "notebook.ipynb":
            files.remove(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write links as they are on the site, and formulas as MathML."""
    name = page.file.src_uri
    home = posixpath.dirname(name)
    if name not in outside():
        home = posixpath.join("docs", home)
    parts = FENCED.split(markdown)
    return "".join(
        part if FENCED.fullmatch(part) else _mathematics(LINK.sub(_moved(home, name), part))
        for part in parts
    )


def _moved(home: str, name: str) -> Callable[[re.Match[str]], str]:
    """Return what changes a link of a page in `home` to what it is on the site."""

    def change(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(home, found[2])).removeprefix("docs/")
        target = target.replace(".ipynb", ".md")
        return f"{found[1]}{posixpath.relpath(target, posixpath.dirname(name) or '.')}{found[3]}"

    return change


def _mathematics(text: str) -> str:
    def change(found: re.Match[str]) -> str:
        if found[1] is not None:
            return convert(found[1].strip(), display="block")
        return f"<span>{convert(found[2])}</span>"  # in a line of text, also at its beginning

    return FORMULA.sub(change, text)


def as_markdown(notebook: Path) -> str:
    """Return a notebook as Markdown: texts, code, and what it printed."""
    parts = []
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    """Return one output as Markdown: HTML where there is some, else what was printed."""
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'
    text = "".join(output.get("text") or data.get("text/plain") or "")
    return f"```text\n{text.rstrip()}\n```"
