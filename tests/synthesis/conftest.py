"""Causal models that the tests of synthesis share."""

from __future__ import annotations

import pytest

from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.files import Manifest, model_folder
from tests.lm.toy_text import load_toy

QUERY = "Write a note."
REFERENCES = [
    "Tea at four.",
    "Bring the red coat home, please.",
    "No milk left!",
    "Call Ann",
    "Feed the cat",
    "Done.",
]


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> OnnxCausalLM:
    """Load the tiny causal model."""
    return load_toy(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def real() -> OnnxCausalLM:
    """Load the packaged causal model; skip where its weights are missing."""
    path = Manifest.read(model_folder("lm")).weights
    if path is None or not path.exists():
        pytest.skip("the weights are not on this machine: sanitizer models fetch lm")
    return OnnxCausalLM()
