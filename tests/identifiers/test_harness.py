"""A neutral harness against the proxy: `pii-leak-benchmark` (PyPI), profile pii-secrets-v1.

It sends invented e-mail addresses, social security numbers, cards and keys through the proxy to a
capture server of its own, and looks for them in every byte that arrives, decoded in many ways.

The harness tells its own requests by five nouns, of which three must arrive. Under all policies but
`identifiers` such words may be private, so the nouns are declared public for this measurement;
everything else is as in the preset. Of `strict`, whose drawn words stay drawn in the answer, it is
asked only that nothing leaks ("anonymize"), of the others also that every value comes back.

Skipped only where the harness is not installed; `.ci/run` installs it.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.text.policy import PRESETS
from tests.proxy.servers import proxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("pii_leak_benchmark") is None,
        reason="the harness is not installed: pip install pii-leak-benchmark==0.6.0",
    ),
]
KINDS = {"AWS_ACCESS_KEY_ID", "CREDIT_CARD", "EMAIL", "GITHUB_TOKEN", "SLACK_TOKEN", "SSN"}


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def measured(target: str, capture: int, duty: str) -> tuple[int, str]:
    """Exit status of one run of the harness, and what it printed."""
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pii_leak_benchmark.cli", "selfcheck"),
            *("--target-base-url", target, "--profile", "pii-secrets-v1"),
            *("--capture-port", str(capture), "--duty", duty),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return run.returncode, run.stdout + run.stderr


def test_without_the_proxy_everything_leaks() -> None:
    status, said = measured("capture://self", free_port(), "restore")
    assert status == 1, said
    assert all(f"{kind} " in said for kind in KINDS)
    assert said.count("sent to the upstream unmasked") == len(KINDS)


@pytest.mark.parametrize("name", PRESETS)
def test_nothing_leaks_and_everything_comes_back(name: str) -> None:
    policy, capture = Policy.preset(name), free_port()
    if name != "identifiers":
        nouns = import_module("pii_leak_benchmark.http_profile")._NONCE_WORDS
        policy = replace(policy, public=policy.public | frozenset(nouns))
    # The harness's API repeats what it gets, a note to it too.
    sanitizer = Sanitizer(policy=replace(policy, wire=replace(policy.wire, note=False)))
    sanitizer.load()
    with proxy(f"http://127.0.0.1:{capture}/v1", sanitizer) as running:
        url = f"http://127.0.0.1:{running.port}/v1"
        duty = "anonymize" if name == "strict" else "restore"
        status, said = measured(url, capture, duty)
    assert status == 0, said
    assert said.count("never reached the upstream in this run") == len(KINDS)
