"""The site builds without a warning, links checked; the notebook prints what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.docs import paper
from tests.docs.notebook import PATH, ROOT, printed

MINUTES = 10
DRAWN = re.compile(r"'hepatitis' -> '(.+?)'")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the extra "docs", which `.ci/run` installs."""
    if find_spec("mkdocs") is None and "CI" not in os.environ:
        pytest.skip('the extra "docs" is not installed')
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once; a link that leads nowhere fails the build."""
    folder = tmp_path_factory.mktemp("site")
    done = python("mkdocs", "build", "--strict", "--site-dir", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_and_its_links_hold(site: Path) -> None:
    pages = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    assert {"index.html", "paper.html", "reference.html", "notebook.html"} <= set(pages)
    assert "<math" in pages["paper.html"].read_text("utf-8")
    assert "$" not in re.sub(r"<math.*?</math>|<script.*?</script>", "", _text(pages["paper.html"]))
    assert "sanitize_batch" in pages["reference.html"].read_text("utf-8")
    assert "benchmarks/tables/usefulness.html" in pages


def _text(page: Path) -> str:
    return page.read_text("utf-8").partition("<article")[2].partition("</article>")[0]


@pytest.mark.slow
def test_the_site_asks_no_other_host(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"(https?:[^\"]+)|rel=\"stylesheet\" href=\"(http[^\"]+)"
    )
    found = [
        hit for page in site.rglob("*.html") for hit in loaded.findall(page.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.slow
def test_the_paper_is_printed_as_a_pdf_with_all_its_sections(site: Path, tmp_path: Path) -> None:
    paper.printed(site, tmp_path / "paper.pdf")
    pages = [page.extract_text() for page in PdfReader(tmp_path / "paper.pdf").pages]
    said = re.sub(r"\s+", "", unicodedata.normalize("NFKC", "".join(pages)))
    sections = re.findall(r"^##+ (.+)$", (ROOT / "docs/paper.md").read_text("utf-8"), re.M)
    missing = [each for each in sections if re.sub(r"[\s`]+", "", each) not in said]
    assert missing == []
    assert len(pages) > 5


@pytest.mark.slow
def test_the_notebook_prints_what_it_shows() -> None:
    done = python("tests.docs.notebook", "--check")
    assert done.returncode == 0, done.stderr
    shown = printed(json.loads(PATH.read_text("utf-8")))
    assert _alike(json.loads(done.stdout)) == _alike(shown)


def _alike(outputs: list[str]) -> list[str]:
    """The outputs with what is another one each time made the same: the illness, the tag."""
    (drawn,) = DRAWN.findall("".join(outputs))
    untagged = (re.sub(r"(?<=[A-Z])_\d{5}_(?=\d)", "_", output) for output in outputs)
    return [output.replace(drawn, "<drawn>") for output in untagged]


def test_the_notebook_was_run_and_shows_all_its_outputs() -> None:
    notebook = json.loads(PATH.read_text("utf-8"))
    assert all(printed(notebook))
    assert not [c for c in notebook["cells"] for o in c.get("outputs", []) if o.get("ename")]
