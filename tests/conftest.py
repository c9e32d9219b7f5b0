"""Shared: the packaged model is loaded once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizer.lm.files import model_folder
from sanitizer.lm.masked import OnnxMaskedLM


@pytest.fixture(scope="session")
def model() -> OnnxMaskedLM:
    """The packaged masked LM."""
    return OnnxMaskedLM()


@pytest.fixture
def model_copy(tmp_path: Path) -> Path:
    """A model folder of links to the packaged files, so that one of them can be replaced."""
    folder = tmp_path / "masked-lm"
    folder.mkdir()
    for path in model_folder("masked-lm").iterdir():
        (folder / path.name).symlink_to(path.resolve())
    return folder
