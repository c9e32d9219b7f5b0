"""`sanitizer sanitize` and `restore` as a user meets them."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from sanitizer.cli.program import main
from sanitizer.errors import ModelError
from sanitizer.pipeline.conversation import Conversation
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.progress import report
from sanitizer.results import SanitizedText
from sanitizer.storage.stored_vault import FileVault
from sanitizer.storage.table import Drawn, Wanted
from tests.cli.running import PROMPT, Done, as_json, one_line, run, run_process
from tests.conftest import Told

KEY = "a key of at least sixteen bytes"


def refused(done: Done, said: str) -> None:
    """Expect that a command printed nothing and said why in one line."""
    assert (done.returncode, done.stdout) == (2, b"")
    assert one_line(done.stderr)
    assert said in done.stderr.decode()


def test_plain_text_comes_out() -> None:
    done = run_process("sanitize", PROMPT)
    assert done.returncode == 0
    assert done.stdout.startswith(b"My father ")
    assert b"Leeds" not in done.stdout
    assert done.stderr == b""


def test_json_has_no_originals_unless_revealed() -> None:
    found = as_json(PROMPT)
    assert set(found) == {"text", "replacements", "record", "warnings", "left", "hints"}
    assert found["record"]["certified"] is True
    assert found["record"]["epsilon_per_unit"] == 0.0
    assert all(set(r) == {"start", "end", "replacement", "kind"} for r in found["replacements"])
    revealed = as_json("--reveal", PROMPT)["replacements"]
    assert [r["original"] for r in revealed] == ["Peter", "hepatitis", "Leeds"]


def test_kept_phrases_leave_as_they_are(told: Told) -> None:
    told(PERSON="Elena Marsh", MONEY="30 50 12 euros", PLACE="Leeds Hexford")
    prompt = "Add up what Elena Marsh spent: 30.50 in Leeds and 12 euros in Hexford."
    arguments = ("--policy=deidentify", "--reveal", prompt)
    hidden = {each["original"] for each in as_json(*arguments)["replacements"]}
    kept = as_json(*arguments, "--keep", "30.50", "--keep=12 euros")
    assert {"30.50", "12 euros", "Leeds", "Elena Marsh"} <= hidden
    assert hidden - {each["original"] for each in kept["replacements"]} == {"30.50", "12 euros"}
    assert kept["record"]["declared"] == 4, "30 and 50 are two"


def test_a_policy_with_formulas_says_what_to_send_along(tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('base = "guarded"\n[wire]\nformulas = true\n', "utf-8")
    prompt = "Total these: Quill paid £1,250.00 and Marsh paid £980.50."
    told = run("sanitize", "--policy", str(policy), prompt)
    assert b"add this to your message" in told.stderr
    assert b"never guess them" in told.stderr
    assert b"hint: amounts" not in told.stderr
    assert b"never guess them" not in told.stdout
    assert b"add this to your message" in run("sanitize", "--policy=guarded", prompt).stderr
    policy.write_text('base = "guarded"\n[wire]\nformulas = false\n', "utf-8")
    assert b"hint: amounts" in run("sanitize", "--policy", str(policy), prompt).stderr


def test_published_claims_more_than_nominal() -> None:
    record = as_json("--policy=strict", "--variant=published", "--epsilon=6", PROMPT)["record"]
    assert record["certified"] is False
    assert record["claimed_epsilon"] > 6


@pytest.mark.parametrize(
    "content", [b"", b"...\n", "café \x00\r\n".encode(), "שלום 👩‍👩‍👧\r\n".encode()]
)
def test_bytes_between_words_come_out_as_they_went_in(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_bytes(content)
    from_file, from_stdin = run("sanitize", "-f", str(path)), run("sanitize", "-", stdin=content)
    assert from_file.returncode == from_stdin.returncode == 0
    for done in (from_file, from_stdin):
        assert done.stdout.count(b"\x00") == content.count(b"\x00")
        assert done.stdout.endswith(content[-2:] if content.endswith(b"\n") else b"\n")


@pytest.mark.parametrize(
    "content", ["Пётр болен".encode("cp1251"), "tommy".encode("utf-16"), b"caf\xe9"]
)
def test_other_encodings_are_refused_not_passed_through(content: bytes) -> None:
    refused(run("sanitize", "-", stdin=content), "UTF-8")


def test_what_was_paid_for_is_printed_before_the_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANITIZER_LEDGER_KEY", KEY)
    ledger = str(tmp_path / "ledger")
    assert run("budget", ledger, "--create", "--limit", "conversation:c", "10").returncode == 0
    options = ("--policy=strict", "--lines", "--ledger", ledger, "--conversation", "c")
    done = run("sanitize", *options, stdin=b"Peter\nAnna\nEve\n")
    assert done.returncode == 1
    assert done.stdout.count(b"\n") == 2
    assert one_line(done.stderr)
    assert b"0 of 10 left, 10 spent" in run("budget", ledger, "--show", "conversation:c").stdout
    assert run("budget", ledger, "--show", "nobody:x").returncode == 2
    assert run("budget", str(tmp_path / "other")).returncode == 1


def test_options_change_the_policys_mechanism_not_replace_it(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('base = "strict"\n[mechanism]\nepsilon = 1.5\n')
    record = as_json("--policy", str(path), "--consistent", PROMPT)["record"]
    assert record["epsilon_per_unit"] == 1.5
    assert record["settings"]["consistent"] is True
    path.write_text('base = "guarded"\n[mechanism]\nname = "dyntext"\nepsilon = 8\nk_min = 10\n')
    record = as_json("--policy", str(path), "--epsilon", "9", PROMPT)["record"]
    assert (record["mechanism"], record["epsilon_per_unit"]) == ("dyntext", 9.0)
    assert record["settings"]["k_min"] == 10
    other = as_json("--policy", str(path), "--mechanism", "cape", PROMPT)
    assert other["record"]["mechanism"] == "cape"


def test_each_line_can_be_a_text_of_its_own() -> None:
    done = run("sanitize", "--policy=strict", "--lines", "--json", stdin=b"Peter\n\nAnna and Eve\n")
    assert [json.loads(line)["record"]["n_units"] for line in done.stdout.splitlines()] == [1, 0, 2]


def test_a_failure_prints_nothing_partial(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ModelError("the model is broken")

    monkeypatch.setattr(Conversation, "draw", fail)
    assert main(["sanitize", "--policy", "strict", PROMPT]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err == "sanitizer: error: the model is broken\n"


def test_a_terminal_shows_the_text_and_few_lines(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["sanitize", PROMPT]) == 0
    shown = capsysbinary.readouterr().out.decode()
    before, after, empty, hidden, cost, way_back, page = shown.rstrip("\n").split("\n")
    assert (before[:8], after[:8], empty) == ("before  ", "after   ", "")
    assert hidden.startswith("hidden: 1 CONDITION, 1 PERSON, 1 PLACE")
    assert cost == "epsilon 0, certified (in full: --record)"
    assert "sanitizer restore" in way_back
    assert "sanitizer serve" in page
    assert main(["sanitize", "--policy", "guarded", PROMPT]) == 0
    shown = capsysbinary.readouterr().out.decode()
    assert "\nepsilon 5, certified (in full: --record)\n" in shown
    assert main(["sanitize", "--record", PROMPT]) == 0
    assert "not protected:" in capsysbinary.readouterr().out.decode()


def test_a_short_key_is_named() -> None:
    short = {"SANITIZER_VAULT_KEY": "short"}
    done = run("restore", "hello", "--vault", "a.vault", environment=short)
    assert (
        "set $SANITIZER_VAULT_KEY to the vault's key, at least 16 characters"
        in done.stderr.decode()
    )
    assert b"created if missing" not in run("restore", "--help").stdout


def test_a_text_that_is_too_long_is_named_before_anything_is_paid(tmp_path: Path) -> None:
    short, long = tmp_path / "short.txt", tmp_path / "long.txt"
    short.write_text("Peter is here.")
    long.write_text("one line\n" * 120_000)
    done = run("sanitize", "--policy", "identifiers", str(short), str(long))
    refused(done, "long.txt has 1,080,000 characters, but a text may have 1,000,000 at most")
    assert b"--lines" in done.stderr


def test_several_files_are_shown_by_name(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("Peter is here.")
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    shown = run("sanitize", "--reveal", *files).stdout.decode()
    assert shown.startswith(f"{files[0]}:\nbefore  ")
    assert f"\n\n{files[1]}:\nbefore  " in shown
    assert ":\nbefore" not in run("sanitize", "--reveal", files[0]).stdout.decode()


def test_the_record_is_beside_what_a_program_reads(tmp_path: Path) -> None:
    plain = run("sanitize", PROMPT)
    assert plain.stdout.count(b"\n") == 1
    assert plain.stderr == b""
    done = run("sanitize", "--record", PROMPT)
    assert done.stdout.count(b"\n") == 1
    assert b"not protected:" in done.stderr
    done = run("sanitize", "--record", "-o", str(tmp_path / "out.txt"), PROMPT)
    assert done.stdout == b""
    assert b"not protected:" in done.stderr


def test_no_text_and_a_terminal_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert main(["sanitize"]) == 2
    assert "standard input" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["- milk for a@b.com", "-5 degrees, a@b.com", "--so a@b.com\nand"])
def test_a_text_may_begin_with_a_dash(
    text: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["sanitize", "--policy", "identifiers", text]) == 0
    assert capsysbinary.readouterr().out.decode() == text.replace("a@b.com", "<EMAIL_1>") + "\n"


def test_restore_says_what_the_model_was_told_and_never_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANITIZER_VAULT_KEY", KEY)
    with FileVault(tmp_path / "vault", KEY) as vault, vault.edit("c") as table:
        table.assign(Wanted("CONDITION", "asthma"), Drawn("gout", 5.0))
    done = run("restore", "Rest.", "--vault", str(tmp_path / "vault"), "--conversation", "c")
    assert (done.returncode, done.stdout) == (0, b"Rest.\n")
    assert b'the model was told "gout"' in done.stderr
    assert b"asthma" not in done.stderr
    other = run("restore", "Rest.", "--vault", str(tmp_path / "vault"), "--conversation", "d")
    assert other.stderr == b""


def test_an_answer_gets_its_originals_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("SANITIZER_VAULT_KEY", KEY)
    vault = ["--vault", str(tmp_path / "vault"), "--conversation", "c"]
    assert main(["sanitize", *vault, "--policy", "identifiers", "Write to a@b.com"]) == 0
    assert main(["restore", *vault, "- to <EMAIL_1>"]) == 0
    assert capsysbinary.readouterr().out == b"Write to <EMAIL_1>\n- to a@b.com\n"


MAIL, OTHER = "anna@example.org", "joe@example.org"
IDENTIFIERS = ("sanitize", "--policy", "identifiers")


def test_arguments_that_name_files_are_read_as_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text(f"To {MAIL}")
    second.write_text(f"To {OTHER} and {MAIL}\n")
    for files in ((str(first), str(second)), ("-f", str(first), "-f", str(second))):
        done = run(*IDENTIFIERS, *files)
        assert done.stdout == b"To <EMAIL_1>\nTo <EMAIL_1> and <EMAIL_2>\n", "each file is its own"
        linked = run(*IDENTIFIERS, "--conversation", "c", *files)
        assert linked.stdout == b"To <EMAIL_1>\nTo <EMAIL_2> and <EMAIL_1>\n"
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_dash_is_standard_input_as_a_file_too() -> None:
    done = run("sanitize", "--policy", "identifiers", "-f", "-", stdin=b"peter@example.com here")
    assert done.returncode == 0
    assert re.fullmatch(rb"<EMAIL\w*_1> here\n", done.stdout)


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("Hello.", "utf-8")
    (tmp_path / "bad.txt").write_bytes("Köln".encode("latin-1"))
    done = run("sanitize", str(tmp_path / "good.txt"), str(tmp_path / "bad.txt"))
    refused(done, f"{tmp_path / 'bad.txt'}: not UTF-8; convert it first\n")


def test_a_missing_file_among_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    refused(run("sanitize", str(tmp_path / "a.txt"), "nosuch.txt"), "nosuch.txt: no such file")


def test_a_text_that_looks_like_a_file_is_said_to_be_none() -> None:
    done = run(*IDENTIFIERS, "letter.txt")
    assert done.returncode == 0
    assert b"no such file" in done.stderr
    assert one_line(done.stderr)


def test_files_are_written_to_a_folder_and_never_over_the_input(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, mail in zip(files, (MAIL, OTHER), strict=True):
        path.write_text(f"To {mail}\n")
    done = run(*IDENTIFIERS, *map(str, files), "-o", str(out))
    assert (done.returncode, done.stdout) == (0, b"")
    assert [(out / path.name).read_text() for path in files] == ["To <EMAIL_1>\n"] * 2
    for wrong in (tmp_path, files[0], tmp_path / "both.txt"):
        refused(run(*IDENTIFIERS, *map(str, files), "-o", str(wrong)), "--output must")
    assert files[0].read_text() == f"To {MAIL}\n"


def test_ctrl_c_keeps_what_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[tuple[SanitizedText, bool]] = []
    one_text = Sanitizer._leaving

    def slow(*args: Any) -> tuple[SanitizedText, bool]:
        if len(released) == 2:
            signal.raise_signal(signal.SIGINT)
        released.append(one_text(*args))
        return released[-1]

    monkeypatch.setattr(Sanitizer, "_leaving", slow)
    lines = "".join(f"To joe{i}@example.org\n" for i in range(5))
    done = run(*IDENTIFIERS, "--lines", stdin=lines.encode())
    assert done.returncode == 130
    assert done.stdout == b"To <EMAIL_1>\n" * 3
    assert b"3 of 5 texts were released" in done.stderr


def test_ctrl_c_while_a_text_is_read_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        report(1, 2)

    monkeypatch.setattr(Conversation, "reading", interrupted)
    done = run("sanitize", PROMPT)
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr == b"sanitizer: error: interrupted; nothing was released\n"


def test_the_demo_shows_the_way_in_and_back() -> None:
    done = run("demo", "--policy", "identifiers", f"To {MAIL}")
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode()
    written, left, answer, read = (part.split("\n")[1].strip() for part in shown.split("\n\n")[:4])
    assert (written, left) == (f"To [{MAIL}]", "To [<EMAIL_1>]")
    assert (answer, read) == ("You wrote: To <EMAIL_1>", f"You wrote: To {MAIL}")


@pytest.mark.usefixtures("apart")
def test_files_with_one_vault_are_conversations_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing shows that two of them speak of one person; `restore` finds each by its tag."""
    monkeypatch.setenv("SANITIZER_VAULT_KEY", KEY)
    vault, out = str(tmp_path / "vault"), tmp_path / "out"
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    out.mkdir()
    first.write_text("Mail ada@example.org.")
    second.write_text("Mail bob@example.org and ada@example.org.")
    options = ("--policy", "identifiers", "--vault", vault)
    run("sanitize", str(first), str(second), "--output", str(out), *options)
    left = [(out / path.name).read_text() for path in (first, second)]
    found = [re.findall(r"<EMAIL_(\d{5})_(\d)>", text) for text in left]
    assert [[number for _, number in each] for each in found] == [["1"], ["1", "2"]]
    assert found[0][0][0] != found[1][0][0]
    restored = run("restore", "\n".join(reversed(left)), "--vault", vault).stdout.decode()
    assert restored.split("\n")[:2] == [second.read_text(), first.read_text()]
    # A file that is sanitized again says nothing new.
    run("sanitize", str(first), "--output", str(tmp_path / "again.txt"), *options)
    assert (tmp_path / "again.txt").read_text() == left[0]
    # A name makes one conversation of them.
    named = run("sanitize", str(first), str(second), "--conversation", "both", *options)
    assert len(set(re.findall(r"\d{5}", named.stdout.decode()))) == 1
    back = run("restore", named.stdout.decode(), "--conversation", "both", "--vault", vault)
    assert "bob@example.org" in back.stdout.decode()
