"""The program as a whole: help, version, exit status, and errors that quote nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.cli.options import TextCommand
from sanitizer.cli.program import main, program
from tests.cli.running import one_line, run

WORD = "Zorblaxian"
COMMANDS = sorted(program.commands)
REFUSED = Path(__file__).with_name("cases_refused.jsonl").read_text("utf-8").splitlines()
"""Command lines that are refused, with their status and a part of what is said."""


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_refused_is_said_in_one_line_that_quotes_nothing(line: str) -> None:
    case = json.loads(line)
    done = run(*case["typed"])
    assert (done.returncode, done.stdout) == (case["status"], b"")
    assert one_line(done.stderr)
    assert case["said"] in done.stderr.decode()
    assert WORD not in done.stderr.decode()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "typed",
    [
        [f"--{WORD}"],
        [f"-{WORD}"],
        [f"--json={WORD}"],
        [f"--{WORD}={WORD}"],
        ["x", "x", "x", WORD],
        ["--epsilon", WORD],
        ["--mechanism", WORD],
        ["--backbone", WORD],
        ["--method", WORD],
        ["--limit", "day", WORD],
        ["--port", WORD],
        ["--inputs", WORD],
    ],
)
def test_no_command_quotes_what_was_typed(
    command: str, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "run" and typed[0] == "x":
        pytest.skip("these are a command to run")
    assert main([command, *typed]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert one_line(shown.err.encode())
    assert WORD not in shown.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(command: str) -> None:
    shown = str(program.commands[command].epilog)
    assert f"  sanitizer {command}" in shown


def test_an_option_means_the_same_in_every_command() -> None:
    """Its metavar says what it takes: a file is never a name elsewhere."""
    taken: dict[str, set[str]] = {}
    for command in program.commands.values():
        context = click.Context(command)
        for each in command.params:
            if isinstance(each, click.Option) and not each.is_flag:
                for name in each.opts:
                    taken.setdefault(name, set()).add(each.make_metavar(context))
    assert {name: found for name, found in taken.items() if len(found) > 1} == {}


@pytest.mark.parametrize("columns", [50, 60, 80, 120])
def test_help_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in ([], *([name] for name in COMMANDS)):
        shown = run(*arguments, "--help").stdout.decode().split("Examples:")[0]
        assert max(map(len, shown.splitlines())) <= columns


def test_narrow_help_keeps_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("restore", "--help").stdout.decode().split("Examples:")[0]
    assert max(map(len, shown.splitlines())) <= 40
    assert "$SANITIZER_VAULT_KEY" in shown


def test_the_bare_program_shows_help_where_no_pipe_carries_it_on() -> None:
    done = run()
    assert (done.returncode, done.stdout) == (2, b"")
    for command in COMMANDS:
        assert f"  {command} ".encode() in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_asked_for_and_is_no_error(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, option]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"Usage: sanitizer {command} ")
    assert shown.err == ""


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"sanitizer {version('dp-sanitizer')}\n"


def test_an_interruption_is_one_line_and_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sanitizer.cli.texts.build_sanitizer", interrupt)
    assert main(["sanitize", "x"]) == 130
    assert capsys.readouterr().err == "sanitizer: error: interrupted; nothing was released\n"


def test_an_interruption_while_the_program_loads_is_one_line_too() -> None:
    code = """
import builtins, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a job in the background
found = builtins.__import__
def interrupting(name, *rest, **more):
    if name == "click":
        signal.raise_signal(signal.SIGINT)
    return found(name, *rest, **more)
builtins.__import__ = interrupting
from sanitizer.__main__ import main
sys.argv = ["sanitizer", "--version"]
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.stderr == b"sanitizer: error: interrupted; nothing was released\n"
    assert (done.returncode, done.stdout) == (130, b"")
    scripts = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts == {"sanitizer": "sanitizer.__main__:main"}


def test_commands_import_only_what_they_use() -> None:
    heavy = ("numpy", "onnxruntime", "tokenizers", "httpx", "cryptography", "starlette", "sqlite3")
    code = f"import sys, sanitizer.cli.program; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@settings(deadline=None)
@given(text=st.text(alphabet="-= \nfhx@", max_size=12))
def test_white_space_makes_a_text_of_what_is_no_option(text: str) -> None:
    taken: list[str | None] = []

    @click.command(cls=TextCommand)
    @click.argument("text", required=False)
    @click.option("-f", "--file")
    def command(text: str | None, file: str | None) -> None:
        taken.append(text)

    is_option = text[:2] in ("-f", "--") and not re.match(r"--\s", text)
    if is_option or not re.search(r"\s", text):
        return
    command.main([text], standalone_mode=False)
    assert taken == [text]


def test_a_folder_in_place_of_a_text_is_refused(tmp_path: Path) -> None:
    done = run("sanitize", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, b"")
    assert one_line(done.stderr)
    assert b"is a folder" in done.stderr


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_output_that_was_closed_before_is_no_traceback(closed: str) -> None:
    command = f'exec "$0" -m sanitizer sanitize --policy identifiers Hello {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == (1 if closed == ">&-" else 0)


@pytest.mark.parametrize("place", ["/dev/full", "&-"])
def test_an_output_that_cannot_be_written_is_named(place: str) -> None:
    command = f'exec "$0" -m sanitizer sanitize --policy identifiers Hello >{place}'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"sanitizer: error: standard output: ")


@pytest.mark.parametrize("command", [["sanitize", "--ledger"], ["budget"]])
def test_a_ledger_that_is_not_there_is_named_with_how_to_make_it(
    command: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "team.ledger"
    done = run(*command, str(path), environment={"SANITIZER_LEDGER_KEY": "0123456789abcdef"})
    assert (done.returncode, done.stdout) == (1, b"")
    hint = "no such ledger; to make one: sanitizer budget FILE --create"
    assert done.stderr == f"sanitizer: error: {path}: {hint}\n".encode()


def test_a_model_that_is_no_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    done = run("sanitize", "--model", str(path), WORD)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == f"sanitizer: error: --model: {path} is not a folder\n".encode()
