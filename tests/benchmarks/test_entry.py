"""The one entry to the benchmarks: its steps, timings and tables."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import ALL, COMMANDS, STEPS, Step, run
from benchmarks.common.tables import figure, table
from benchmarks.common.timing import difference, median, quantile, ratio, share
from benchmarks.generation.summary import cost_summary
from benchmarks.papers import cape as papers_cape
from benchmarks.papers import dyntext as papers_dyntext
from benchmarks.report.paper import BLOCK
from benchmarks.report.run import in_readme
from benchmarks.speed.proxy import figures

ROOT = Path(__file__).parents[2]


def test_every_step_is_a_module_that_can_be_run() -> None:
    for step in ALL:
        found = find_spec(f"benchmarks.{step.module}")
        assert found is not None
        assert found.origin is not None
        assert '__name__ == "__main__"' in Path(found.origin).read_text("utf-8"), step.module


def test_a_benchmark_is_named_by_its_group_its_name_or_its_module() -> None:
    assert [step.name for step in COMMANDS["latency"]] == ["latency", "speed", "bulk"]
    assert [step.name for step in COMMANDS["speed.latency"]] == ["latency"]
    assert COMMANDS["audits"] == COMMANDS["privacy.audits"]
    assert {step.module for step in COMMANDS["generation.run"]} == {"generation.run"}
    assert len({step.name for step in ALL}) == len(ALL)
    assert set(STEPS) <= set(COMMANDS)


def test_a_step_without_its_peer_is_not_run_and_does_not_fail(
    capfd: pytest.CaptureFixture[str],
) -> None:
    (step,) = COMMANDS["identifiers"]
    assert run(step, False, {})
    assert "its peer is not given" in capfd.readouterr().out


def test_a_peer_is_handed_on() -> None:
    (step,) = COMMANDS["identifiers"]
    assert step.arguments({"presidio": "p", "xllamacpp": "x"}) == ["--presidio", "p"]


def test_a_peer_without_an_interpreter_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks", "peers", "--peer", "presidio"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert "must be NAME=PYTHON, got 'presidio'" in done.stderr


def test_all_of_it_is_expected_to_end_within_two_hours_and_forty_minutes() -> None:
    assert sum(step.minutes for steps in STEPS.values() for step in steps) <= 160


def test_a_step_that_ended_is_left_out_when_resumed_and_only_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.__main__.CACHE", tmp_path)
    step = Step("tables", "common.tables")  # a module that does nothing
    for resume, said in (
        (True, "done after"),
        (True, "not run (ended before"),
        (False, "done after"),
    ):
        assert run(step, False, {}, resume)
        assert said in capfd.readouterr().out


def test_medians_and_ratios_have_intervals_around_them() -> None:
    times = [0.001 * (1 + i % 7) for i in range(50)]
    found = median(times)
    assert abs(found["mean"] - 4.0) < 1e-9
    assert found["low"] <= found["mean"] <= found["high"]
    assert difference([2 * t for t in times], times)["mean"] == pytest.approx(4.0)
    assert ratio([2 * t for t in times], times) == pytest.approx(
        {"mean": 2.0, "low": 2.0, "high": 2.0}
    )
    assert quantile(times, 0.95)["mean"] == pytest.approx(7.0)
    assert share([t + 1 for t in times], [t + 4 for t in times], times, 0.95)[
        "high"
    ] == pytest.approx(0.25)


def test_what_the_proxy_adds_has_intervals_and_stands_beside_the_peer() -> None:
    pace = [(0.001 * (1 + i % 5), 0.002 * (1 + i % 5)) for i in range(40)]
    times = {
        "direct": pace,
        "ours": [(a + 1, b + 1) for a, b in pace],
        "peer": [(a + 2, b + 4) for a, b in pace],
    }
    found = figures("ours", times)
    assert found["whole_p95_ms"]["mean"] == pytest.approx(1010)
    assert found["added"]["whole_median_ms"] == pytest.approx(
        {"mean": 1000, "low": 1000, "high": 1000}
    )
    assert found["of_peer"]["first_median_ms"]["mean"] == pytest.approx(0.5)
    assert found["of_peer"]["whole_median_ms"]["mean"] == pytest.approx(0.25)
    assert figures("peer", times)["of_peer"] == {}


def test_a_token_s_time_has_an_interval_and_grows_in_a_line_with_references() -> None:
    steps = np.random.default_rng(0).uniform(0.9, 1.1, size=200)
    rows = [
        {"n_references": n, "seconds": [0.0, *np.cumsum(0.01 * (1 + n) * steps)]} for n in (1, 2, 4)
    ]
    found = cost_summary({"threads": 1, "rows": rows})
    each = found["by_tokens"][0]["seconds_per_token"]
    assert each["low"] < 0.02 * steps.mean() < each["high"]
    assert each["mean"] == pytest.approx(0.02 * steps.mean())
    assert found["by_rows"]["slope_interval"]["mean"] == pytest.approx(0.01 * steps.mean())


def test_the_papers_figures_have_a_column_for_each_nominal_epsilon() -> None:
    assert {
        len(row) for part in (papers_cape.ROUGE, papers_cape.ACCURACY) for row in part.values()
    } == {7}
    assert set(papers_cape.ROUGE) == set(papers_cape.ACCURACY) < set(papers_cape.MECHANISMS)
    assert set(papers_dyntext.MECHANISMS) == set(papers_dyntext.PAPER)


def test_tables_and_figures_read_as_markdown() -> None:
    shown = figure({"mean": 0.5, "low": 0.25, "high": 0.75})
    assert (
        table(["a", "b"], [["x", shown]])
        == "| a | b |\n| --- | --- |\n| x | 0.500 (0.250 to 0.750) |"
    )


def test_the_readme_s_figures_are_those_of_the_results() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert [found[1] for found in BLOCK.findall(text)] == ["usefulness", "speed"]
    assert in_readme(text) == text
