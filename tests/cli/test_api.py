"""`sanitizer chat` against a real server: what leaves is sanitized, what is shown is restored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sanitizer.cli.api import Chat
from sanitizer.cli.display import WIDTH
from sanitizer.clients.chat import ChatConnection
from sanitizer.storage.table import Drawn, Wanted
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing.server import Answer, RecordingServer, error, says
from tests.cli.running import one_line, run, run_process
from tests.clients.tool_calls import toy

MAIL, CARD = "peter.quill@example.com", "4111 1111 1111 1111"
PRIVATE = ("Zorblaxian", MAIL, CARD)


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def talk(
    capsys: pytest.CaptureFixture[str], server: RecordingServer, *lines: str, **settings: object
) -> str:
    """What a conversation shows; errors after it. No model is run."""
    reveal = bool(settings.pop("reveal", False))
    sanitizer = toy(**{"policy": "strict", **settings})  # type: ignore[arg-type]
    with ChatConnection(server.url, sanitizer, model="tiny", key="sk-secret") as api:
        Chat(sanitizer, api, reveal).run(iter(lines))
    captured = capsys.readouterr()
    return captured.out + captured.err


def cut_off() -> Iterator[bytes]:
    """A connection that ends inside an answer."""
    yield b'data: {"choices": [{"delta": {"content": "half"}}]}\n\n'
    raise ConnectionError


def test_only_sanitized_text_leaves(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    shown = talk(capsys, server, f"My Zorblaxian, {MAIL}.", f"and {CARD}?", extractor="lexical")
    assert [word for word in PRIVATE if word in server.received.decode()] == []
    assert f"My Zorblaxian, {MAIL}." in shown
    assert f"\nand {CARD}?\n" in shown
    assert "sent: My " in shown
    assert "<EMAIL_1>" in shown
    assert server.requests[0].header("authorization") == "Bearer sk-secret"
    assert server.requests[0].json["model"] == "tiny"


def test_the_history_goes_back_as_it_came_and_is_free(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    lines = ("My Zorblaxian has it", "My Quizzik has it")
    shown = talk(capsys, server, *lines, extractor="lexical", budget=10)
    first, second = (request.json["messages"] for request in server.requests)
    assert second[0] == first[0]
    echo = {"role": "assistant", "content": first[0]["content"]}
    assert second[1] == echo
    assert shown.count("charged 5, ") == 2
    assert "spent 10, left 0" in shown


def test_the_record_says_what_it_is_worth(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    shown = talk(capsys, server, "My Zorblaxian has it")
    assert "[1 private word at epsilon 5, certified; charged 5, spent 5]" in shown
    assert "[neighbouring inputs: replace-one" in shown
    assert "no differential privacy" in talk(capsys, server, "Hello", policy="identifiers")
    drawn = talk(capsys, server, "My father has asthma", policy="guarded")
    assert "[1 drawn thing at epsilon 5, certified; charged 5, spent 5]" in drawn


@pytest.mark.parametrize("reveal", [False, True])
def test_an_answer_that_rests_on_a_drawn_thing_says_so(
    capsys: pytest.CaptureFixture[str], server: RecordingServer, reveal: bool
) -> None:
    vault = MemoryVault()
    with vault.edit("chat") as table:
        table.assign(Wanted("CONDITION", "asthma"), Drawn("gout", 5.0))
    settings = {"vault": vault, "conversation": "chat", "policy": "identifiers"}
    shown = talk(capsys, server, "What helps?", reveal=reveal, **settings)
    assert 'note: the model was told "gout"' in shown
    assert ("asthma" in shown) == reveal
    assert "note: " not in talk(capsys, server, "What helps?", policy="identifiers")


def test_a_spent_budget_refuses_and_the_chat_goes_on(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    lines = ("My Zorblaxian has it", "My Quizzik is a Flumbert", "and now")
    shown = talk(capsys, server, *lines, budget=10, policy="strict")
    assert "nothing was sent" in shown
    assert shown.count("sent: ") == 2
    assert [r.json["messages"][-1]["content"] for r in server.requests][-1] == "and now"
    assert len(server.requests) == 2


def test_a_failed_message_leaves_the_history(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    server.script(error(401, "wrong key \x1b[2J"))
    shown = talk(capsys, server, "My Zorblaxian has it", "and now")
    assert "sanitizer: error: the API answered with status 401: wrong key \\x1b[2J\n" in shown
    assert [m["content"] for m in server.requests[-1].json["messages"]] == ["and now"]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (Answer(b"{}"), "no chat completion"),
        (Answer(b"not JSON"), "not JSON"),
        (Answer(b"<html>", 502, "text/html"), "status 502"),
        (
            Answer([b'data: {"error": {"message": "x"}}\n\n'], content_type="text/event-stream"),
            "broke off",
        ),
        (Answer([b"data: oops\n\n"], content_type="text/event-stream"), "not JSON"),
        (Answer(cut_off(), content_type="text/event-stream"), "could not be reached"),
    ],
)
def test_a_bad_answer_is_one_line(
    capsys: pytest.CaptureFixture[str], server: RecordingServer, answer: Answer, complaint: str
) -> None:
    server.script(answer)
    shown = talk(capsys, server, "hello", "and now")
    assert complaint in shown
    assert shown.count("error: ") == 1
    assert "\nand now\n" in shown


def test_an_answer_that_does_not_stream_is_read_too(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    server.script(
        Answer(b'{"choices": [{"message": {"role": "assistant", "content": "To <EMAIL_1>"}}]}')
    )
    assert f"To {MAIL}\n" in talk(capsys, server, f"Write to {MAIL}")


def test_the_terminal_is_not_driven_by_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with RecordingServer(says("\x1b[2Jhi\r")) as server:
        assert "\\x1b[2Jhi\\x0d" in talk(capsys, server, "hello")


def test_originals_are_shown_beside_their_replacements_on_request(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    assert "said: My [Zorblaxian] has it\nsent: My [" in talk(
        capsys, server, "My Zorblaxian has it", reveal=True
    )
    assert "said: " not in talk(capsys, server, "My Zorblaxian has it")


def test_an_answer_that_could_not_be_extracted_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    with RecordingServer(says("and now")) as server:
        shown = talk(capsys, server, "My Zorblaxian", extractor="lexical")
    assert "\nand now\nnote: no word of the answer" in shown


def test_the_command_reads_lines_to_their_end(server: RecordingServer) -> None:
    chat = ("chat", "--upstream", server.url, "--policy", "identifiers", "--api-model", "tiny")
    done = run_process(*chat, stdin=f"Write to {MAIL}\n\nThanks\n".encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"\nWrite to {MAIL}\n" in done.stdout.decode()
    assert [len(r.json["messages"]) for r in server.requests] == [1, 3]
    assert MAIL.encode() not in server.received


def test_input_that_is_no_utf_8_is_refused(server: RecordingServer) -> None:
    done = run("chat", "--upstream", server.url, "--policy", "identifiers", stdin=b"caf\xe9\n")
    assert (done.returncode, server.requests) == (2, [])
    assert b"not UTF-8" in done.stderr


def test_the_status_tells_that_a_message_was_not_answered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with RecordingServer(says("well")) as server:
        server.script(says("well"), error(500, "broken"))
        done = run(
            *("chat", "--upstream", server.url, "--policy", "identifiers"),
            stdin=b"one\ntwo\nthree\n",
        )
    assert done.returncode == 1
    assert done.stdout.count(b"\nwell") == 2
    assert one_line(done.stderr)


def test_what_the_figures_mean_is_said_once(
    capsys: pytest.CaptureFixture[str], server: RecordingServer
) -> None:
    shown = talk(capsys, server, "My Zorblaxian", "His Zorblaxian", "Her Zorblaxian")
    assert shown.count(", certified; charged ") == 3
    assert shown.count("[neighbouring inputs: ") == 1
    assert max(map(len, shown.splitlines())) <= WIDTH
    shown = talk(capsys, server, "My father has asthma", "Thank you", policy="guarded")
    assert shown.count("note: the model was told") == 1
    assert "[nothing was drawn, certified; charged 0, spent 5]" in shown
