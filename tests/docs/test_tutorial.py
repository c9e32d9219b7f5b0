"""docs/tutorial.md: its marked blocks run as they stand, and print what it says."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from sanitizer.cli.program import main

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text("utf-8")
PYTHON = re.findall(r"<!-- run: [^\n]* -->\n```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.S)
SHELL = re.findall(r"<!-- run -->\n```sh\n(.*?)```", PAGE, re.S)


def tagged(text: str) -> str:
    """The text with the tag of the page's conversation in place of its own."""
    return re.sub(r"(?<=_)\d{5}(?=_\d)", "48213", text)


@pytest.mark.usefixtures("apart")
def test_the_python_blocks_print_what_follows_them() -> None:
    names: dict[str, object] = {}
    assert len(PYTHON) == PAGE.count("```python")
    for source, printed in PYTHON:
        with redirect_stdout(StringIO()) as output:
            exec(source, names)  # noqa: S102 - the page's own blocks
        assert tagged(output.getvalue()) == printed


def test_the_commands_run_and_hide_what_is_private(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert len(SHELL) == 4
    printed = []
    for command in SHELL:
        program, *arguments = shlex.split(command)
        assert program == "sanitizer"
        assert main(arguments) == 0
        printed.append(capfdbinary.readouterr().out.decode())
    sanitized, shown, drawn, audited = printed
    assert sanitized == "My father <PERSON_1> has <CONDITION_1> and lives in <PLACE_1>.\n"
    assert re.fullmatch(r"My father <PERSON_1> has [^<]+ and lives in <PLACE_1>\.\n", drawn)
    assert shown.count("<PERSON_1>") == 2
    assert "epsilon exact      5" in audited
