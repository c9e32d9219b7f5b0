"""The tests of `shield` once more, with the last major of the SDK that used httpx.

Its packages are looked for in the folder SANITIZER_TEST_OPENAI2; without it, they are installed in
a temporary one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.sdk_clients import SDK

PACKAGES = ("openai==2.54.0", "distro==1.9.0", "sniffio==1.3.1")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("SANITIZER_TEST_OPENAI2"):
        return Path(given).resolve()
    target = tmp_path_factory.mktemp("openai2")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(target),
        *PACKAGES,
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(
            "the package registry cannot be reached, and SANITIZER_TEST_OPENAI2 names no folder"
        )
    return target


@pytest.mark.slow
@pytest.mark.skipif(SDK < 3, reason="these tests are being run with it")
def test_the_sdk_on_httpx_is_shielded_too(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    version = [sys.executable, "-c", "import openai; print(openai.__version__)"]
    found = subprocess.run(
        version, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("2.")
    tests = sorted(str(path) for path in Path(__file__).parent.glob("test_shield*.py"))
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *tests]
    run = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
