"""The command `sanitizer chat`: a conversation with an API, every step of it shown."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sanitizer.cli.display import marked, safe
from sanitizer.cli.serve import LEDGER_KEY, VAULT_KEY, AddSetting, Build, Commands, secret
from sanitizer.errors import BudgetExceeded, SanitizerError

if TYPE_CHECKING:
    from sanitizer.clients import ChatConnection
    from sanitizer.pipeline import Sanitizer
    from sanitizer.results import Record, SanitizedText

INTERRUPTED = 130
MODEL = "gpt-4.1-mini"


def add_chat(commands: Commands, add_setting: AddSetting, build: Build) -> None:
    """Add the command.

    Args:
        add_setting: adds the options that choose policy, mechanism and model.
        build: makes the Sanitizer from these, `budget`, `ledger`, `vault`, `conversation` and
            `extractor`.
    """
    chat = commands.add_parser(
        "chat",
        help="talk to an API through the filter, one message a line",
        conflict_handler="resolve",
    )
    add_setting(chat)
    add = chat.add_argument
    add(
        "--upstream",
        required=True,
        metavar="URL",
        help="base URL of the API, such as https://api.openai.com/v1",
    )
    add(
        "--model",
        dest="api_model",
        default=MODEL,
        metavar="NAME",
        help=f"the API's model (default {MODEL})",
    )
    add("--key-env", metavar="NAME", help="send the API the key in $NAME")
    add(
        "--extractor",
        metavar="WAY",
        help="rewrite answers on this machine: lexical, lm, or the URL of a model server",
    )
    add("--budget", type=float, help="the most epsilon to spend")
    add("--ledger", type=Path, help=f"charge this ledger (key in ${LEDGER_KEY})")
    add("--vault", type=Path, help=f"keep originals in this encrypted file (key in ${VAULT_KEY})")
    add("--conversation", default="chat", help="its name, for ledger and vault (default chat)")
    add("--reveal", action="store_true", help="show the private words beside their replacements")
    chat.set_defaults(
        run=lambda options: _chat(options, build), model=None
    )  # "--model" is the API's here


def _chat(options: argparse.Namespace, build: Build) -> int:
    from sanitizer.clients import ChatConnection

    key = secret("key-env", options.key_env)
    sanitizer = build(options)
    with ChatConnection(options.upstream, sanitizer, model=options.api_model, key=key) as api:
        sanitizer.load()
        try:
            Chat(sanitizer, api, options.reveal).run(_lines())
        except KeyboardInterrupt:
            sys.stderr.write("sanitizer: interrupted\n")
            return INTERRUPTED
    return 0


def _lines() -> Iterator[str]:
    """What the user says, line by line, to the end of standard input; empty lines are left out."""
    if sys.stdin.isatty():
        while True:
            try:
                line = input("you> ")
            except EOFError:
                sys.stdout.write("\n")
                return
            if line.strip():
                yield line
    for raw in sys.stdin.buffer:
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise ValueError("the input is not UTF-8; convert it first") from None
        if line.strip():
            yield line


class Chat:
    """The loop. A message that could not be answered leaves the history, so that the next one
    stands by itself.

    Args:
        sanitizer: of the conversation. api: through the same Sanitizer. reveal: show originals.
    """

    def __init__(self, sanitizer: Sanitizer, api: ChatConnection, reveal: bool) -> None:
        self._sanitizer, self._api, self._reveal = sanitizer, api, reveal
        self._history: list[dict[str, str]] = []
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def run(self, lines: Iterator[str]) -> None:
        """Answer each line; an error is one line, and the loop goes on."""
        for line in lines:
            n_before = len(self._history)
            try:
                self._answer(line)
            except BudgetExceeded as error:
                _complain(
                    f"{error}; nothing was sent, a message with fewer private words may still fit"
                )
            except SanitizerError as error:
                del self._history[n_before:]
                _complain(str(error))

    def _answer(self, line: str) -> None:
        result = self._sanitizer.sanitize(line)
        _say(self._sent(line, result))
        self._history.append({"role": "user", "content": line})
        noisy: list[str] = []
        answer = self._sanitizer.restored_stream(_noted(self._api.answer(self._history), noisy))
        said: list[str] = []
        for piece in _noted(answer, said):
            _say(safe(piece), end="")
        self._sanitizer.inner.remember_answer("".join(noisy), "".join(said))
        self._history.append({"role": "assistant", "content": "".join(said)})
        _say("" if answer.note is None else f"\nnote: {answer.note}")
        _say(self._cost(result.record))

    def _sent(self, line: str, result: SanitizedText) -> str:
        """What the API sees of this message."""
        if not self._reveal:
            return f"sent: {safe(result.text)}"
        before, after = marked(line, result, self._colour)
        return f"said: {before}\nsent: {after}"

    def _cost(self, record: Record) -> str:
        """What this message cost, what is left, and what that means."""
        left = self._sanitizer.budget_left
        account = f"charged {record.charged:g}, spent {self._sanitizer.spent:g}"
        account += "" if left is None else f", left {left:g}"
        if record.mechanism == "none":
            return f"[no differential privacy: {record.reason}; {account}]"
        sure = "certified" if record.certified else f"NOT certified: {record.reason}"
        each = f"{record.epsilon_per_unit:g} for each of {record.n_units} private words"
        return f"[epsilon {record.epsilon_total:g}, {each}, {sure}; {account}]\n[compared: {record.neighboring_relation}]"


def _noted(pieces: Iterator[str], kept: list[str]) -> Iterator[str]:
    """The same pieces, which are kept too."""
    for piece in pieces:
        kept.append(piece)
        yield piece


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.buffer.write((text + end).encode("utf-8", "replace"))
    sys.stdout.flush()


def _complain(message: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"sanitizer: error: {safe(message)}\n")
    sys.stderr.flush()
