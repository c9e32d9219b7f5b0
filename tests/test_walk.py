"""How far a reader has to jump to follow one call of `sanitize`, or one request through the proxy.

A jump is a call, or a generator that goes on, from one file of the package into another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sanitizer
from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.wire.filter import Filter

PACKAGE = Path(sanitizer.__file__).parent
STEPS = [
    *("Conversation.document", "opened", "Detector.labels", "entities"),
    *("Conversation.policy", "Conversation.surrogates"),
    *("MaskedText.render", "Conversation.record"),
]
PROMPT = (
    "My father Peter Lund has hepatitis and lives in {} near Harrow Mill. He pays £1,240 a month. "
    "Write to peter.lund@example.com."
)


class Walk:
    """The files and functions that a call runs through, and the jumps between files."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self.files: set[str] = set()
        self.names: list[str] = []
        self.n_jumps = 0
        self._stack: list[str] = []
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            call(*arguments)
        finally:
            sys.setprofile(before)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "return" and self._stack:
            self._stack.pop()
        if event != "call":
            return
        last, path = self._stack[-1] if self._stack else "", Path(frame.f_code.co_filename)
        if PACKAGE not in path.parents:
            self._stack.append(last)
            return
        file = path.relative_to(PACKAGE).as_posix()
        self.n_jumps += bool(last) and last != file
        self.files.add(file)
        self.names.append(frame.f_code.co_qualname)
        self._stack.append(file)


@pytest.mark.parametrize(
    ("policy", "n_files", "n_jumps"), [("balanced", 30, 207), ("words", 28, 240)]
)
def test_one_text_crosses_few_files_and_few_times(
    model: OnnxMaskedLM, policy: str, n_files: int, n_jumps: int
) -> None:
    warm = Sanitizer(model=model, policy=policy)
    warm.sanitize(PROMPT.format("Leeds"))
    walk = Walk(warm.sanitize, PROMPT.format("Derby"))
    assert len(walk.files) <= n_files, sorted(walk.files)
    assert walk.n_jumps <= n_jumps, walk.n_jumps


def test_a_request_and_its_answer_cross_few_files(model: OnnxMaskedLM) -> None:
    proxied = Filter(Sanitizer(model=model, policy="balanced"))
    headers = {"content-type": "application/json"}

    def exchange(text: str) -> None:
        messages = [{"role": "user", "content": text}]
        body = json.dumps({"model": "m", "messages": messages}).encode()
        sent = proxied.request("POST", "/v1/chat/completions", headers, body)
        answer = {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Dear Peter"}}]
        }
        sent.response(200, "application/json", json.dumps(answer).encode())

    exchange(PROMPT.format("Leeds"))
    walk = Walk(exchange, PROMPT.format("Derby"))
    assert len(walk.files) <= 46, sorted(walk.files)
    assert walk.n_jumps <= 322, walk.n_jumps


def test_a_text_is_made_private_in_eight_steps(model: OnnxMaskedLM) -> None:
    warm = Sanitizer(model=model, policy="balanced")
    warm.sanitize(PROMPT.format("Leeds"))
    names = Walk(warm.sanitize, PROMPT.format("Derby")).names
    assert sorted(STEPS, key=names.index) == STEPS


def test_a_text_released_before_is_only_looked_up(model: OnnxMaskedLM) -> None:
    warm = Sanitizer(model=model, policy="words")
    warm.sanitize(PROMPT)
    packages = {
        file.split("/")[0] for file in Walk(warm.sanitize, PROMPT).files - {"text/prompt.py"}
    }
    assert packages == {"pipeline", "storage"}, "but for what is declared"
