"""The tests of `shield` once more, with older SDKs, back to the oldest that the extras take.

`python -m tests.clients.test_older_sdks FOLDER` puts their packages into a folder, which
SANITIZER_TEST_SDKS then names; without it, they are installed in a temporary one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = Path(__file__).parent
SDKS = {
    "the oldest": ("openai==1.10.0", "anthropic==0.27.0", "httpx==0.25.2"),
    "openai 1": ("openai==1.109.1", "anthropic==0.97.0"),
    "openai 2": ("openai==2.54.0", "anthropic==0.125.0"),
}
"""Sets of versions, all on httpx. In the first two the SDKs wrap what a transport raises."""
BESIDE = ("distro==1.9.0", "sniffio==1.3.1")
"""What SDKs on httpx need, and the newest do not."""


def install(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Put a set of versions into a folder, without what they need beside it."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    return subprocess.run([*pip, *SDKS[name], *BESIDE], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SDKS)
def test_older_sdks_are_shielded_too(name: str, tmp_path: Path) -> None:
    folder = Path(os.environ.get("SANITIZER_TEST_SDKS", tmp_path)).resolve() / name
    if not folder.exists() and install(name, folder).returncode:
        pytest.skip(
            "the package registry cannot be reached, and SANITIZER_TEST_SDKS has no such set"
        )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )

    printed = 'print(f"openai=={openai.__version__} anthropic=={anthropic.__version__}")'
    found = python("-c", f"import anthropic, openai; {printed}").stdout
    assert found.split() == list(SDKS[name][:2])
    tests = [*OURS.glob("test_shield*.py"), OURS / "test_anthropic.py", OURS / "test_frameworks.py"]
    run = python("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *sorted(map(str, tests)))
    assert run.returncode == 0, run.stdout


if __name__ == "__main__":
    for each in SDKS:
        done = install(each, Path(sys.argv[1]) / each)
        if done.returncode:
            sys.exit(done.stderr)
