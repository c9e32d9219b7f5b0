"""What must be equal to the bit is so with several threads of OpenBLAS too.

The suite runs with one (tests/__init__.py); users run with as many as they have cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAME = (
    "tests/detect/test_detector.py",
    "tests/lm/test_word_vectors.py",
    "tests/pipeline/test_batches.py",
    "tests/pipeline/test_classes.py",
)
EQUAL = "equal or same or depend or certified or exact or whole_class or batch"
"""Parts of the names of tests that compare bits."""


@pytest.mark.slow
def test_with_two_threads_what_must_be_equal_is_equal() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-k", EQUAL, *SAME],
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
