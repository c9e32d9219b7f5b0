"""The tables of the formats: each field is told once, and every row means something."""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from sanitizer.wire.endpoints import ENDPOINTS
from sanitizer.wire.shapes import answer_shape, request_shape, shapes

FORMATS = sorted({each.format for each in ENDPOINTS})
NO_FIELDS = ("like", "role", "speaks", "call", "string", "types")


@pytest.mark.parametrize("name", FORMATS)
def test_a_section_tells_of_each_field_once(name: str) -> None:
    table = tomllib.loads(
        (files("sanitizer.wire") / "formats" / f"{name}.toml").read_text(encoding="utf-8")
    )
    sections: dict[str, Any] = {
        **{key: value for key, value in table.items() if key not in ("spellings",)},
        **table["request"],
        **table["answer"],
    }
    for section, rows in sections.items():
        if section in ("request", "answer"):
            continue
        fields = [
            each for row, names in rows.items() if row not in NO_FIELDS for each in names.split()
        ]
        assert [each for each, n in Counter(fields).items() if n > 1] == [], section


@pytest.mark.parametrize("row", [e for e in ENDPOINTS if e.treatment == "treated"], ids=str)
def test_what_is_treated_has_shapes(row: Any) -> None:
    assert request_shape(row).fields
    assert answer_shape(row).fields


def test_gemini_reads_both_spellings_of_a_field() -> None:
    fields = shapes("gemini")["Part"].fields
    assert fields["inlineData"] is fields["inline_data"]
