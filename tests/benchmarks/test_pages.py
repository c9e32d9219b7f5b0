"""What the report writes: pages that agree with the results, and results that a page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.report import questions
from benchmarks.report.paper import BLOCK, in_paper
from benchmarks.report.run import HERE, PAPER, README, in_readme, sections

ROOT = HERE.parent
PAGES = [HERE / "README.md", *sorted((HERE / "tables").glob("*.md")), README, PAPER]
PNGS = sorted((HERE / "results" / "plots").iterdir())
RESULTS = sorted((HERE / "results").glob("*.json"))
SOURCES = [*PAGES, *sorted((ROOT / "docs").glob("*.md"))]


def test_the_pages_are_those_of_the_results() -> None:
    made = {HERE / "tables" / f"{name}.md": text for name, text in sections().items()}
    assert sorted(made) == sorted((HERE / "tables").iterdir())
    assert [path.name for path, text in made.items() if path.read_text("utf-8") != text] == []
    assert (HERE / "README.md").read_text("utf-8") == questions.page()


@pytest.mark.parametrize(("path", "written"), [(README, in_readme), (PAPER, in_paper)])
def test_figures_in_documents_are_those_of_the_results(path: Path, written: object) -> None:
    assert callable(written)
    text = path.read_text("utf-8")
    assert BLOCK.search(text)
    assert written(text) == text


def test_every_table_is_a_click_away_from_a_question() -> None:
    asked = {name for question in questions.QUESTIONS for name in question.tables}
    assert asked == set(sections())


@pytest.mark.parametrize("path", PNGS, ids=lambda path: path.name)
def test_every_plot_is_a_png_that_a_page_shows(path: Path) -> None:
    assert path.suffix == ".png"
    assert any(f"/plots/{path.name})" in page.read_text("utf-8") for page in PAGES)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_every_result_is_shown_by_a_page(path: Path) -> None:
    name = path.stem
    read = name in sections() or name in READ_BY
    assert read or any(f"results/{path.name}" in page.read_text("utf-8") for page in SOURCES)


READ_BY = {
    "causal_calibration": "causal_speed",
    "causal_quality": "causal_speed",
    "audits_causal": "audits",
    "limits": "tasks",
}
"""Results without a page of their own, and the page of tables that reads them."""


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
