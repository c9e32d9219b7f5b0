"""The reader: how many rows a call has changes no bit of what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.lm.reader import BEGIN, CELLS, WIDTHS, OnnxReader
from tests.conftest import packaged_reader

RUNS = st.lists(st.lists(st.integers(4, 70_000), min_size=1, max_size=40), min_size=1, max_size=20)


@pytest.fixture(scope="module")
def in_full_calls() -> OnnxReader:
    """A reader whose calls have the largest number of rows, however few there are."""
    reader = OnnxReader(threads=1)
    reader._sizes = {width: [CELLS // width] for width in WIDTHS}
    return reader


@settings(max_examples=25)
@given(runs=RUNS)
def test_a_run_has_the_same_scores_alone_beside_others_and_in_full_calls(
    in_full_calls: OnnxReader, runs: list[list[int]]
) -> None:
    reader = packaged_reader()
    view = [BEGIN + 5 + i for i in range(2 * len(runs))]
    slots = list(range(0, 2 * len(runs), 2))
    asked = [(run, list(range(len(run)))) for run in runs]
    read = reader.read((view, slots, [1]), asked)
    for i, run in enumerate(asked):
        hidden = [run if j == i else ([], []) for j in range(len(runs))]
        alone = reader.read((view, slots, [1]), hidden)
        assert all(map(np.array_equal, alone.runs[i], read.runs[i]))
    full = in_full_calls.read((view, slots, [1]), asked)
    for some, other in zip(read.runs, full.runs, strict=True):
        assert all(map(np.array_equal, some, other))
