"""Tasks whose answer a program can check: what a task is, and how scripted answers are made.

A scripted answerer does what a capable model does with such a prompt: it reads what was SENT,
copies the parts it needs, and computes where numbers are there to compute with. It never sees the
original. `right` sees only the restored answer. Every person, firm and number is invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_SPACES = re.compile(r"\s+")


class NotAnswered(Exception):
    """What was sent is not enough to answer with."""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        name: of the task. kind: what it asks for, such as "translate".
        prompt: what the user writes; never in a repr.
        answer: what was sent -> an answer; raises NotAnswered.
        right: restored answer -> True if it does what was asked.
        formula: as `answer`, by a model that was told how to write formulas over hidden values;
            None where that helps nobody.
    """

    name: str
    kind: str
    prompt: str = field(repr=False)
    answer: Callable[[str], str] = field(repr=False)
    right: Callable[[str], bool] = field(repr=False)
    formula: Callable[[str], str] | None = field(default=None, repr=False)


def read(pattern: str, sent: str) -> Mapping[str, str]:
    """Return the named parts of what was sent, without white space around them.

    Raises:
        NotAnswered: it does not read like this.
    """
    found = re.search(pattern, sent, re.S)
    if found is None:
        raise NotAnswered
    return {name: part.strip() for name, part in found.groupdict().items()}


def copying(pattern: str, template: str) -> Callable[[str], str]:
    """Return an answerer that puts parts of what was sent into a template."""
    return lambda sent: template.format(**read(pattern, sent))


def amount(written: str) -> float:
    """Return a number as it is written in English; raise NotAnswered if it is none."""
    found = re.fullmatch(r"\W*(\d+(?:,\d{3})*(?:\.\d+)?)\W*", written.strip())
    if found is None:
        raise NotAnswered
    return float(found[1].replace(",", ""))


def block(sent: str) -> str:
    """Return the fenced code of what was sent; raise NotAnswered without any."""
    return read(r"```\w*\n(?P<code>.*?)```", sent)["code"] + "\n"


def same(expected: str) -> Callable[[str], bool]:
    """Return a check for one text, white space apart."""
    return lambda answer: _spaced(answer) == _spaced(expected)


def holds(*expected: str) -> Callable[[str], bool]:
    """Return a check for stretches that must all be in an answer, white space apart."""
    return lambda answer: all(_spaced(each) in _spaced(answer) for each in expected)


def mentions(*expected: str) -> Callable[[str], bool]:
    """Return a check for stretches that must all be in an answer, in any case."""
    return lambda answer: all(each.casefold() in answer.casefold() for each in expected)


def json_is(expected: Any) -> Callable[[str], bool]:
    """Return a check for a JSON value; a number may be a string of the same digits."""

    def right(answer: str) -> bool:
        try:
            return bool(_plain(json.loads(answer)) == _plain(expected))
        except ValueError:
            return False

    return right


def runs(check: Callable[[dict[str, Any]], bool]) -> Callable[[str], bool]:
    """Return a check of Python code by what it does.

    Only answers of our own scripted answerers are run, never a model's.
    """

    def right(answer: str) -> bool:
        names: dict[str, Any] = {}
        try:
            exec(answer, names)  # noqa: S102
            return check(names)
        except Exception:  # whatever broken code raises
            return False

    return right


def _spaced(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return str(value)
