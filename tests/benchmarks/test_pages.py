"""What the report writes: pages that agree with the results, and results that a page shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.common.tables import written
from benchmarks.report.run import DOCUMENTS, HERE, pages
from benchmarks.report.template import BLOCK, PAGES, rendered, with_blocks

ROOT = HERE.parent
TABLES = sorted((HERE / "tables").glob("*.md"))
SHOWN = [HERE / "README.md", *TABLES, *DOCUMENTS]
PNGS = sorted((HERE / "results" / "plots").iterdir())
TEXTS = [path.read_text("utf-8") for path in (*SHOWN, *sorted((ROOT / "docs").glob("*.md")))]
TEXTS += [path.read_text("utf-8") for path in PAGES.rglob("*.md")]


def test_the_pages_are_those_of_the_results() -> None:
    made = pages()
    assert sorted(made) == ["README.md", *(f"tables/{path.name}" for path in TABLES)]
    assert [name for name, text in made.items() if (HERE / name).read_text("utf-8") != text] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_figures_in_documents_are_those_of_the_results(path: Path) -> None:
    text = path.read_text("utf-8")
    assert BLOCK.search(text)
    assert with_blocks(text) == text


def test_every_table_is_a_click_away_from_a_question() -> None:
    page = SHOWN[0].read_text("utf-8")
    assert {path.name for path in TABLES} == set(re.findall(r"\(tables/([\w.]+)\)", page))


@pytest.mark.parametrize("path", PNGS, ids=lambda path: path.name)
def test_every_plot_is_a_png_that_a_page_shows(path: Path) -> None:
    assert path.suffix == ".png"
    assert any(f"/plots/{path.name})" in text for text in TEXTS)


@pytest.mark.parametrize(
    "path", sorted((HERE / "results").glob("*.json")), ids=lambda path: path.name
)
def test_every_result_is_shown_by_a_page(path: Path) -> None:
    assert any(f"results/{path.name}" in text or f"{{{path.stem}[" in text for text in TEXTS)


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in SHOWN:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (None, ".2f", "-"),
        ("inf", ".2f", "infinite"),
        (2.345, ".2f", "2.35"),
        (1234.5, "3", "1,234"),
        (0.12345, "3 ms", "0.123 ms"),
        (0.5, "%", "50"),
        (0.0321, ".1%", "3.2"),
        ([1.0, 2.0], ".1f", "1.0 to 2.0"),
        ({"mean": 0.5, "low": 0.25, "high": 0.75}, "f", "0.500 (0.250 to 0.750)"),
        ({"mean": 50, "low": 25, "high": 75}, "f", "50 (25 to 75)"),
        ({"share": 0.5, "low": 0.25, "high": 0.75}, "%", "50 (25 to 75)"),
        ({"mean": 0.1, "low": -0.1, "high": 0.2}, "+.1f", "+0.1 (-0.1 to +0.2)"),
        ({"mean": 1500.0, "low": 2.5, "high": 3000.0}, "3 ms", "1,500 ms (2.5 to 3,000)"),
        ({"mean": 0.25, "low": 0, "high": 1, "n": 8}, "s", ".250"),
        ({"mean": 0.25, "low": 0, "high": 1, "n": 8}, "of", "2 of 8"),
    ],
)
def test_figures_are_written_with_their_intervals(value: Any, spec: str, text: str) -> None:
    assert written(value, spec) == text


def test_a_template_has_fields_of_results_and_a_line_for_each_row(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "{counterexamples[results][cape][nothing]:.1f}\n"
        "@counterexamples[results][dps-mozo] | {shots} | {claimed:.0f} | {not there} |\n"
        "{+mozo}\n",
        "utf-8",
    )
    first, *rows = rendered(page).splitlines()
    assert first == "-"
    assert rows[:3] == ["| 4 | 7 | - |", "| 1 | 7 | - |", "| 4 | 8 | - |"]
    assert rows[3:] == (rendered(PAGES / "mozo.md")).rstrip().splitlines()
