"""How far a reader has to jump to follow one call of `sanitize`."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import sanitizer
from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM

PACKAGE = Path(sanitizer.__file__).parent
PROMPT = "My father Peter has hepatitis and lives in Leeds."
MAX_FILES, MAX_JUMPS = 26, 120


def called(text: str, warm: Sanitizer, fresh: bool) -> list[str]:
    """Files of the package, one for each function that `sanitize` calls, in order."""
    files: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            files.append(path.relative_to(PACKAGE).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        warm.sanitize(text, fresh=fresh)
    finally:
        sys.setprofile(before)
    return files


def test_one_text_crosses_few_files_and_few_times(model: OnnxMaskedLM) -> None:
    warm = Sanitizer(model=model, policy="words")
    warm.sanitize(PROMPT)
    files = called(PROMPT, warm, fresh=True)
    assert len(set(files)) <= MAX_FILES, sorted(set(files))
    jumps = sum(file != following for file, following in pairwise(files))
    assert jumps <= MAX_JUMPS, jumps


def test_a_text_released_before_is_only_looked_up(model: OnnxMaskedLM) -> None:
    warm = Sanitizer(model=model, policy="words")
    warm.sanitize(PROMPT)
    files = set(called(PROMPT, warm, fresh=False))
    packages = {file.split("/")[0] for file in files - {"text/prompt.py"}}  # what is declared
    assert packages == {"pipeline", "storage"}
