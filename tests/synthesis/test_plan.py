"""Plans: runs of references by number only, and templates."""

from __future__ import annotations

from sanitizer.synthesis.plan import (
    Template,
    reference_batches,
)


def test_runs_of_references_follow_from_numbers_only() -> None:
    assert reference_batches(7, 3, None, 8) == [range(2), range(2, 4), range(4, 6)]
    assert reference_batches(100, 1, None, 8) == [range(8)]
    assert reference_batches(100, 2, 30, 8) == [range(30), range(30, 60)]


def test_templates_take_doubled_braces_for_text() -> None:
    template = Template.parse("{{x}} {a} and {b}.")
    assert template.fields == ["a", "b"]
    assert template.filled({"a": "{b}", "b": "2"}) == "{x} {b} and 2."
    before, after = template.around("b")
    assert before.filled({"a": "1"}) == "{x} 1 and "
    assert after.filled({}) == "."
