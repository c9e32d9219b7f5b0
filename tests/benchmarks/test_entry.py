"""The one entry to the benchmarks: its steps, timings and tables."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.__main__ import ALL, COMMANDS, EXTRAS, STEPS, main, run
from benchmarks.common.timing import difference, median, quantile, ratio, share
from benchmarks.speed.proxy import figures

ROOT = Path(__file__).parents[2]


def test_every_step_is_a_module_that_can_be_run() -> None:
    for step in ALL:
        found = find_spec(f"benchmarks.{step.module}")
        assert found is not None
        assert found.origin is not None
        assert '__name__ == "__main__"' in Path(found.origin).read_text("utf-8"), step.module


def test_a_benchmark_is_named_by_its_group_its_name_or_its_module() -> None:
    assert [step.name for step in COMMANDS["latency"]] == ["latency", "bulk"]
    assert [step.name for step in COMMANDS["speed.latency"]] == ["latency"]
    assert COMMANDS["classes"] == COMMANDS["privacy.classes"]
    assert [step.name for step in COMMANDS["privacy.audits"]] == ["audits", "audits_causal"]
    assert len({step.name for step in ALL}) == len(ALL)
    assert set(STEPS) <= set(COMMANDS)


def test_a_step_without_its_peer_is_not_run_and_does_not_fail(
    capfd: pytest.CaptureFixture[str],
) -> None:
    (step,) = COMMANDS["extraction"]
    assert run(step, False, {})
    assert "its peer is not given" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("name", "peers", "quick", "arguments"),
    [
        ("identifiers", {"presidio": "p", "xllamacpp": "x"}, False, ["--presidio", "p"]),
        ("usefulness", {}, True, ["--quick"]),
        (
            "usefulness",
            {"spacy": "p", "tab": "t"},
            False,
            ["--peer", "spacy=p", "--tab", "t"],
        ),
        ("extraction", {"presidio": "p"}, False, None),
    ],
)
def test_peers_are_handed_on(
    name: str, peers: dict[str, str], quick: bool, arguments: list[str] | None
) -> None:
    (step,) = COMMANDS[name]
    assert step.arguments(peers, quick) == arguments


def test_what_is_missing_is_told_before_anything_starts_and_its_steps_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(EXTRAS, "lm", ("get it", lambda: False))
    monkeypatch.setitem(EXTRAS, "bench", ("get it", lambda: True))
    monkeypatch.setattr("sys.argv", ["benchmarks", "generation"])
    assert main() == 0
    (line, *rest) = capsys.readouterr().out.splitlines()
    assert line.startswith("missing: lm (get it); left out: extraction, generation")
    assert rest == []


def test_a_peer_without_an_interpreter_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks", "peers", "--peer", "presidio"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert "must be NAME=PYTHON, got 'presidio'" in done.stderr


def test_all_of_it_is_expected_to_end_within_two_hours_and_forty_minutes() -> None:
    assert sum(step.minutes for steps in STEPS.values() for step in steps) <= 160


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
    pace = [(0.001 * (1 + i % 5), 0.002 * (1 + i % 5), 0.0) for i in range(40)]
    times = {
        "direct": pace,
        "ours": [(a + 1, b + 1, 0.75) for a, b, _ in pace],
        "peer": [(a + 2, b + 4, 0.0) for a, b, _ in pace],
    }
    found = figures("ours", times)
    assert found["whole_p95_ms"]["mean"] == pytest.approx(1010)
    assert found["added"]["whole_median_ms"] == pytest.approx(
        {"mean": 1000, "low": 1000, "high": 1000}
    )
    assert found["added"]["first_p95_ms beside reading"]["mean"] == pytest.approx(250)
    assert found["of_peer"]["first_median_ms"]["mean"] == pytest.approx(0.5)
    assert found["of_peer"]["whole_median_ms"]["mean"] == pytest.approx(0.25)
    assert figures("peer", times)["of_peer"] == {}
