"""The suites of others: what is extracted from their folders, and what counts as found."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.identifiers import golang, python_tests
from benchmarks.identifiers.__main__ import measure, missed
from benchmarks.identifiers.samples import Sample, Spans, occurrences, phones, stdnum_numbers

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")

RECOGNIZER = """
class BoatRecognizer(PatternRecognizer):
    PATTERNS = [Pattern("boat", r"B-[0-9]{4}", 0.5)]
    CONTEXT = ["boat", "hull"]
"""
RECOGNIZER_TESTS = """
recognizer = BoatRecognizer()
@pytest.mark.parametrize("text, expected_len, expected_positions", [
    ("my boat is B-1234, yes", 1, ((11, 17),)),
    ("B-9999", 1, ((0, 6),)),
    ("nothing", 0, ()),
])
def test_boats(text, expected_len, expected_positions): ...
@pytest.mark.parametrize("text, expected_len", [("hull B-1111 or B-2222", 2), ("B-1", 1)])
def test_more_boats(text, expected_len): ...
"""
PLUGIN_TESTS = """
import pytest, responses

class Secret:
    secret_value = "s3cret"

class Plugin:
    secret_type = "a secret"
    def analyze_line(self, filename, line):
        return {Secret()} if "s3cret" in line else set()

@pytest.mark.parametrize("payload, should_flag", [("x=s3cret", True), ("y=s3cret", False)])
def test_plugin(payload, should_flag):
    raise AssertionError("collected, never run")
"""
TABLES = """package boats

var keyword = "boats"

func TestBoats(t *testing.T) {
	valid := "B" + "-1234"
	tests := []struct{ name, input string; want []string }{
		{name: "valid", input: fmt.Sprintf("%s key = '%s' %d", keyword, valid, 7),
			want: []string{valid, valid + ":joined"}},
		{name: "invalid", input: `B_1234`, want: nil},
	}
}
"""
RULES = """package rules

import (
	"github.com/zricethezav/gitleaks/v8/cmd/generate/config/utils"
	"github.com/zricethezav/gitleaks/v8/cmd/generate/secrets"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/regexp"
)

func Boats() *config.Rule {
	r := config.Rule{RuleID: "boats", Regex: regexp.MustCompile(`boat=(B-[0-9a-f]{8})`)}
	tps := []string{"boat=" + secrets.NewSecret(`B-[0-9a-f]{8}`) + ";"}
	return utils.Validate(r, tps, []string{"boat=none"})
}
"""


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def values(samples: Sequence[Sample]) -> list[tuple[str, str, list[str]]]:
    """What the table is made of: the kind, the text, and the values to hide."""
    return [(s.kind, s.text, [s.text[start:end] for start, end in s.spans]) for s in samples]


def test_of_presidio_sentences_have_one_position_each_and_bare_values_each_word_of_context(
    tmp_path: Path,
) -> None:
    (tmp_path / "presidio-analyzer/tests").mkdir(parents=True)
    (tmp_path / "presidio-analyzer/boat_recognizer.py").write_text(RECOGNIZER, "utf-8")
    (tmp_path / "presidio-analyzer/tests/test_boat_recognizer.py").write_text(RECOGNIZER_TESTS)
    kind = "BoatRecognizer"
    assert values(list(python_tests.presidio(tmp_path))) == [
        (kind, "my boat is B-1234, yes", ["B-1234"]),
        (kind, "boat: B-9999", ["B-9999"]),
        (kind, "hull: B-9999", ["B-9999"]),
        (kind, "hull B-1111 or B-2222", ["B-1111"]),
        (kind, "hull B-1111 or B-2222", ["B-2222"]),
    ]


def test_of_detect_secrets_the_value_is_what_its_plugin_reports(tmp_path: Path) -> None:
    write(tmp_path, tests__plugins__boat_test_DOT_py=PLUGIN_TESTS)
    assert values(list(python_tests.detect_secrets(tmp_path))) == [("boat", "x=s3cret", ["s3cret"])]


def test_a_folder_without_tests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="pytest found nothing"):
        list(python_tests.detect_secrets(tmp_path))


def test_of_trufflehog_values_that_stand_in_the_input_count(tmp_path: Path) -> None:
    write(
        tmp_path,
        pkg__detectors__boats__boats_test_DOT_go=TABLES,
        pkg__detectors__boats__live_test_DOT_go="//go:build detectors\n" + TABLES,
    )
    assert values(list(golang.trufflehog(tmp_path))) == [
        ("boats", "boats key = 'B-1234' 7", ["B-1234"]),
        ("boats", "B_1234", []),
    ]


@needs_go
def test_of_gitleaks_rules_are_run_and_drawn_alike_each_time(tmp_path: Path) -> None:
    write(
        tmp_path,
        cmd__generate__config__rules__boats_DOT_go=RULES,
        cmd__generate__config__main_DOT_go="rules.Boats(),",
        cmd__generate__config__utils__generate_DOT_go="package utils",
        cmd__generate__config__utils__patterns_DOT_go="package utils",
        regexp__stdlib_regex_DOT_go=(
            'package regexp\nimport re "regexp"\ntype Regexp = re.Regexp\n'
            "var MustCompile = re.MustCompile"
        ),
    )
    found = list(golang.gitleaks(tmp_path))
    assert found == list(golang.gitleaks(tmp_path))
    (positive, negative) = values(found)
    assert positive[1] == f"boat={positive[2][0]};"
    assert negative == ("boats", "boat=none", [])


def test_without_go_gitleaks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="go is needed"):
        list(golang.gitleaks(tmp_path))


def test_libraries_give_a_number_of_each_kind_with_its_long_name() -> None:
    numbers = {sample.kind: sample.text for sample in stdnum_numbers()}
    assert numbers["stdnum.us.ein"].startswith("The U.S. Employer Identification Number is 91")
    assert "stdnum.luhn" not in numbers
    assert len(numbers) > 200
    assert len({sample.kind for sample in phones()}) > 200


@pytest.mark.parametrize(
    ("spans", "covered", "left"),
    [
        (((3, 6),), ((0, 9),), ""),
        (((3, 6),), ((3, 4), (4, 6)), ""),
        (((3, 6),), ((3, 5),), "'..F'"),
        (((0, 1), (3, 6)), ((3, 6),), "'A'"),
        ((), ((0, 2),), "'AB'"),
        ((), (), ""),
    ],
)
def test_found_means_every_character_and_an_alarm_any(
    spans: Spans, covered: Spans, left: str
) -> None:
    assert missed(Sample("suite", "kind", "ABCDEFGHI", spans), covered) == left


def test_blanks_quotes_and_operators_around_a_value_are_not_part_of_it() -> None:
    assert occurrences('k ="ab==" ab==', '="ab=="') == ((4, 8),)


def test_failures_of_the_unseen_half_are_counted_and_never_given_out() -> None:
    samples = [Sample("suite", f"kind {n}", f"the word{n} waits", ((4, 8),)) for n in range(20)]
    counts, failures = measure(samples)
    unseen = [sample for sample in samples if sample.half == "unseen"]
    assert 0 < len(unseen) < len(samples)
    assert counts["suite", "unseen", "missed"] == len(unseen)
    assert [sample for sample, _ in failures] == [s for s in samples if s.half == "seen"]


def test_a_value_of_one_text_is_not_known_in_the_next() -> None:
    texts = ["SSN 536-90-4399", "the lot 536904399 came"]
    counts, _ = measure([Sample("suite", "kind", text, ((8, 11),)) for text in texts])
    assert sorted(counts.values()) == [1, 1]


def test_what_another_tool_found_is_counted_as_ours_is() -> None:
    samples = [Sample("suite", "kind", "word here", ((0, 4),)), Sample("suite", "kind", "none", ())]
    counts, _ = measure(samples, [[(0, 4, "KIND", 1.0)], [(0, 2, "KIND", 0.5)]])
    assert {outcome for *_, outcome in counts} == {"found", "alarm"}
