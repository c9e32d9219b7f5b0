"""The tests of each framework, in an environment of its own that has the framework.

SANITIZER_TEST_CLIENTS names the folder in which `.ci/clients` made these environments. Without it,
a framework's tests run only where this environment has the framework.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = os.environ.get("SANITIZER_TEST_CLIENTS", "")
TESTS = {
    "gemini_ollama": ("gemini", "ollama"),
    "langchain": ("langchain",),
    "litellm": ("litellm", "litellm_proxy", "portkey"),
    "llama_index": ("llama_index",),
    "openai_agents": ("openai_agents",),
}
SECONDS = 600


@pytest.mark.slow
@pytest.mark.parametrize("framework", TESTS)
def test_in_an_environment_of_its_own(framework: str) -> None:
    python = Path(FOLDER) / framework / "bin" / "python"
    if not FOLDER or not python.exists():
        pytest.skip(f"SANITIZER_TEST_CLIENTS has no environment {framework} (.ci/clients makes it)")
    # absolute, since its tests look there for what npm installed
    clients = str(Path(FOLDER).resolve())
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SANITIZER_TEST_CLIENTS": clients}
    tests = [f"tests/integrations/test_{name}.py" for name in TESTS[framework]]
    # Frameworks warn of what they deprecate themselves; that is no failure of ours.
    options = ["-n", "0", "-m", "slow or not slow", "-p", "no:cacheprovider"]
    command = [
        str(python.absolute()),
        "-m",
        "pytest",
        *options,
        "-o",
        "filterwarnings=default",
        *tests,
    ]
    done = subprocess.run(
        command,
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout  # tests of another tool's gateway skip where it is not there
