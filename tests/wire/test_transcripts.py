"""An API that writes what it likes learns nothing about what is in the vault.

Two users differ in one identifier. The API sends both the same texts: guesses at either value,
stand-ins, pieces of them, in messages and calls. Every byte that leaves must be the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jiter import from_json

from sanitizer import FileVault, Policy, Sanitizer
from sanitizer.storage import vault as vault_module
from sanitizer.storage.vault import MemoryVault, Vault
from sanitizer.testing import other_apis
from sanitizer.text.policy import WireRules
from sanitizer.wire.filter import Filter
from tests.clients.tool_calls import CHAT, JSON, RESPONSES
from tests.wire.test_event_streams import call, chunk, concatenated, event, events, through

pytestmark = pytest.mark.usefixtures("quick_keys")
MESSAGES = "/v1/messages"

SECRETS = ("078-05-1120", "219-09-9999")
KEY = "a long passphrase"
PIECES = [
    *SECRETS,
    "<SSN_1>",
    "<SSN_2>",
    "<SSN_",
    "a<SSN_1>b",
    "078051120",
    "Paul",
    "1 2 3 4",
    "&lt;SSN_1&gt;",
    '"',
    "\\",
    "\n",
    " the number is ",
    "x",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join)
ARGUMENTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map(json.dumps),
    st.dictionaries(st.sampled_from(["to", "n", "<SSN_1>"]), TEXTS, max_size=3).map(json.dumps),
    st.integers(0, 10**9).map(lambda n: json.dumps({"n": n, "m": 78051120})),
    TEXTS,
)


@dataclass
class Turn:
    """What the API answers, and what the user writes next."""

    text: str = ""
    arguments: tuple[str, ...] = ()
    user: str = "Go on."


TURNS = st.lists(
    st.builds(Turn, TEXTS, st.lists(ARGUMENTS, max_size=3).map(tuple)), min_size=1, max_size=3
)


@dataclass
class Application:
    """A chat that resends its history.

    Attributes:
        edit, edit_text: what its library does to arguments, and to texts.
        examples: it shows the API what to answer, by the secret.
    """

    secret: str
    vault: Callable[[], Vault]
    policy: str | Policy = "identifiers"
    edit: Callable[[str], str] = str
    edit_text: Callable[[str], str] = str
    examples: bool = False
    streams: bool = False
    restarts: bool = False
    sent: list[bytes] = field(default_factory=list)

    def run(self, turns: Sequence[Turn]) -> list[bytes]:
        history: list[dict[str, Any]] = [
            *(shown_before(self.secret) if self.examples else ()),
            {"role": "user", "content": f"My SSN is {self.secret}, what now?"},
        ]
        filtered = self._filter()
        for number, turn in enumerate(turns):
            if self.restarts:
                filtered = self._filter()
            tool = {
                "type": "function",
                "function": {"name": "f", "description": "0 1 2 3 4 5 6 7 8 9 10 078-05-1120"},
            }
            body: dict[str, Any] = {"messages": history, "tools": [tool], "stream": self.streams}
            exchange = filtered.request("POST", CHAT, JSON, json.dumps(body).encode())
            self.sent.append(exchange.body + json.dumps(exchange.record.headers()).encode())
            message = self._answer(exchange, turn, number)
            for each in message.get("tool_calls", ()):
                each["function"]["arguments"] = self.edit(each["function"]["arguments"])
            message["content"] = self.edit_text(message["content"])
            history = [*history, message]
            for each in message.get("tool_calls", ()):
                history.append({"role": "tool", "tool_call_id": each["id"], "content": "done"})
            history.append({"role": "user", "content": turn.user})
        return self.sent

    def _filter(self) -> Filter:
        return Filter(Sanitizer(policy=self.policy, vault=self.vault(), conversation="c"))

    def _answer(self, exchange: Any, turn: Turn, number: int) -> dict[str, Any]:
        calls: list[dict[str, Any]] = [
            {"id": f"{number}-{i}", "type": "function", "function": {"name": "f", "arguments": a}}
            for i, a in enumerate(turn.arguments)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": turn.text}
        message |= {"tool_calls": calls} if calls else {}
        if not self.streams:
            raw = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
            answer = json.loads(exchange.response(200, "application/json", raw))
            return dict(answer["choices"][0]["message"])
        raw = b"".join(event(chunk({"content": piece})) for piece in turn.text)
        raw += b"".join(event(chunk(call(a, i))) for i, a in enumerate(turn.arguments))
        raw += event(chunk({}, "stop")) + event("[DONE]")
        shown = concatenated(through(exchange.stream("text/event-stream"), raw))
        message["content"] = shown.get((0, "content"), "")
        for i, each in enumerate(calls):
            each["function"]["arguments"] = shown.get((0, i), "")
        return message


@dataclass
class MessagesApplication(Application):
    """A chat with Anthropic's API, which wants calls back as objects and thoughts as they came."""

    leaves: bool = False

    def run(self, turns: Sequence[Turn]) -> list[bytes]:
        history: list[dict[str, Any]] = [
            {"role": "user", "content": f"My SSN is {self.secret}, what now?"}
        ]
        filtered = self._filter()
        for number, turn in enumerate(turns):
            filtered = self._filter() if self.restarts else filtered
            schema = {"type": "object", "description": "0 1 2 3 4 5 6 7 8 9 10 078-05-1120"}
            body: dict[str, Any] = {
                "system": [{"type": "text", "text": "Help.", "cache_control": {"type": "x"}}],
                "messages": history,
                "tools": [{"name": "f", "input_schema": schema}],
                "stream": self.streams,
            }
            exchange = filtered.request("POST", MESSAGES, JSON, json.dumps(body).encode())
            self.sent.append(exchange.body + json.dumps(exchange.record.headers()).encode())
            blocks = self._blocks(exchange, turn, number)
            results = [
                {"type": "tool_result", "tool_use_id": block["id"], "content": "done"}
                for block in blocks
                if block["type"] == "tool_use"
            ]
            history = [*history, {"role": "assistant", "content": blocks}]
            said = {"type": "text", "text": turn.user}
            history.append({"role": "user", "content": [*results, said]})
        return self.sent

    def _blocks(self, exchange: Any, turn: Turn, number: int) -> list[dict[str, Any]]:
        """The content of the answer as the application resends it."""
        said = [
            {"type": "thinking", "thinking": turn.text, "signature": "c2ln"},
            {"type": "text", "text": turn.text},
        ]
        calls = [
            {"type": "tool_use", "id": f"t{number}_{i}", "name": "f", "input": each}
            for i, each in enumerate(turn.arguments)
        ]
        if not self.streams:
            blocks = [*said, *({**call, "input": _object(call["input"])} for call in calls)]
            raw = json.dumps(other_apis.message(blocks)).encode()
            return list(json.loads(exchange.response(200, "application/json", raw))["content"])
        raw = b"".join(other_apis.message_events([*said, *calls], size=1))
        stream = exchange.stream("text/event-stream")
        # A stream that is left in the middle may be known by what came of it.
        shown = stream.feed(raw[: len(raw) * 2 // 3]) if self.leaves else through(stream, raw)
        blocks = _collected(shown)
        for block in blocks:
            if block["type"] == "tool_use":
                block["input"] = _object(block["input"])
        return blocks


def _object(arguments: str) -> Any:
    """As the SDK reads what came, whole or not."""
    try:
        return from_json(arguments.encode(), partial_mode=True)
    except ValueError:
        return {}


def _collected(raw: bytes) -> list[dict[str, Any]]:
    """The blocks of a stream put together, as an SDK does it; inputs as they came."""
    blocks: list[dict[str, Any]] = []
    for each in events(raw):
        if each["type"] == "content_block_start":
            block = each["content_block"]
            blocks.append({**block, "input": ""} if "input" in block else block)
        elif each["type"] == "content_block_delta":
            kind, (field, piece) = each["delta"]["type"], [*each["delta"].items()][1]
            blocks[each["index"]]["input" if kind == "input_json_delta" else field] += piece
    return blocks


def _same_vault(vault: Vault) -> Vault:
    return vault


def same(
    turns: Sequence[Turn], kind: type[Application] = Application, **settings: Any
) -> list[bytes]:
    """What leaves, which no secret changes."""
    sent = []
    for secret in SECRETS:
        opened = partial(_same_vault, MemoryVault())
        sent.append(kind(secret, opened, **settings).run(turns))
    assert sent[0] == sent[1]
    return sent[0]


def redumped(arguments: str) -> str:
    """As LangChain does: read and written again."""
    try:
        return json.dumps(json.loads(arguments), indent=1)
    except ValueError:
        return arguments


def example_call(secret: str) -> str:
    return json.dumps({"ssn": secret, "to": "the office"})


def shown_before(secret: str) -> list[dict[str, Any]]:
    function = {"name": "f", "arguments": example_call(secret)}
    call = {"id": "e", "type": "function", "function": function}
    return [
        {"role": "user", "content": "An example."},
        {"role": "assistant", "content": EXAMPLE.replace("<SSN_1>", secret), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "e", "content": "done"},
    ]


EXAMPLE = "The client has the number <SSN_1> and lives in a house of his own."
BYE = Turn("Bye.")
MANY = Turn(
    "Let me see.",
    tuple(json.dumps({"q": [f"{n:03}-05-1120", "219-09-9999"]}) for n in range(50, 120)),
)
ECHO = [Turn("It is 078-05-1120."), Turn("It is <SSN_1>."), Turn("a<SSN_1>b", ('["<SSN_1>"]',))]
quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("edit", [str, redumped, str.strip])
@pytest.mark.parametrize("streams", [False, True])
@given(turns=TURNS)
@example(turns=[MANY, Turn("Thanks.")])
@example(turns=ECHO)
@example(turns=[Turn("", (json.dumps([SECRETS[0]] * 2), SECRETS[0] + " \n")), Turn()])
@quick
def test_what_leaves_does_not_depend_on_the_secret(
    edit: Callable[[str], str], streams: bool, turns: list[Turn]
) -> None:
    for secret in SECRETS:
        sent = b"".join(same(turns, edit=edit, streams=streams))
        n_literal = sum(json.dumps([turn.text, turn.arguments]).count(secret) for turn in turns)
        assert n_literal or secret.encode() not in sent.replace(b"9 10 " + secret.encode(), b"")


def said_by(text: str) -> str:
    return f"Assistant: {text}"


def as_code(text: str) -> str:
    return f"```\n{text}\n```"


def noted(text: str) -> str:
    return f"{text}\nNOTE."


EDITS = [said_by, as_code, noted, lambda text: "\n".join(f"> {line}" for line in text.split("\n"))]
DECOY = [Turn(f"Or: {SECRETS[0]} is of: {SECRETS[1]} is a guess"), Turn("<SSN_1> is a")]


@pytest.mark.parametrize("edit", EDITS)
@given(turns=TURNS)
@example(turns=[Turn("<SSN_1>"), Turn("078-05-1120"), BYE])
@example(turns=[*DECOY, BYE])
@example(turns=[Turn("<SSN_1> is mine"), Turn("219-09-9999 is mine\nNOTE."), BYE])
@quick
def test_nor_where_an_application_puts_something_around_answers(
    edit: Callable[[str], str], turns: list[Turn]
) -> None:
    sent = b"".join(same([*turns, Turn("Bye.")], edit_text=edit, edit=redumped))
    literal = json.dumps([[turn.text, turn.arguments] for turn in turns])
    for secret in SECRETS:
        assert secret in literal or secret.encode() not in sent.replace(
            b"9 10 " + secret.encode(), b""
        )


ECHOES = [
    Turn(EXAMPLE.replace("<SSN_1>", said), (example_call(said),)) for said in (*SECRETS, "<SSN_1>")
]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("edit", [str, redumped])
def test_an_example_of_the_users_stays_the_users(
    restarts: bool, edit: Callable[[str], str], tmp_path: Path
) -> None:
    """The API repeats it with a guess: were it taken for the answer, the guess would leave."""
    sent = []
    for secret in SECRETS:
        path = tmp_path / secret

        def opened(path: Path = path) -> Vault:
            return FileVault(path, KEY) if restarts else MemoryVault()

        application = Application(secret, opened, restarts=restarts, examples=True, edit=edit)
        sent.append(application.run([*ECHOES, BYE, BYE]))
    assert sent[0] == sent[1]
    for body in sent[0]:
        messages = json.loads(body[: body.rindex(b"{")])["messages"]
        assert re.fullmatch(EXAMPLE.replace("<SSN_1>", r"<SSN_\w+>"), messages[1]["content"])
        arguments = messages[1]["tool_calls"][0]["function"]["arguments"]
        assert re.fullmatch(example_call("<S>").replace("<S>", r"<SSN_\w+>"), arguments)


@pytest.mark.parametrize(("streams", "leaves"), [(False, False), (True, False), (True, True)])
@given(turns=TURNS)
@example(turns=[MANY, Turn("Thanks.")])
@example(turns=ECHO)
@example(turns=[Turn("x", ('{"n": 1.50, "m": 2e3, "s": "219-09-9999"}', '{"n": 219099999}')), BYE])
@quick
def test_nor_does_what_leaves_for_messages(streams: bool, leaves: bool, turns: list[Turn]) -> None:
    same(turns, MessagesApplication, streams=streams, leaves=leaves)


SPELLED = st.lists(
    st.sampled_from(
        [
            *SECRETS,
            *("SSN_48213_1", "{SSN_48213_1}", "Ssn 48213-1", "< SSN_48213_1 >", "ssn\n48213 1"),
            *(
                "<SSN_48213_1>",
                "SSN_48213_2",
                "SSN_",
                "48213",
                "_1",
                "-1",
                "SSN",
                "{",
                "}",
                "<",
                ">",
            ),
            *("\\<SSN\\_48213\\_1\\>", "&lt;SSN_48213_1&gt;", "\\", '"', "x", " the number is "),
        ]
    ),
    max_size=6,
).map("".join)
SPELLED_TURNS = st.lists(
    st.builds(
        Turn,
        SPELLED,
        st.lists(
            st.one_of(SPELLED.map(json.dumps), SPELLED.map(lambda said: json.dumps({"q": said}))),
            max_size=2,
        ).map(tuple),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("kind", [Application, MessagesApplication])
@pytest.mark.parametrize("streams", [False, True])
@given(turns=SPELLED_TURNS)
@example(turns=[Turn("{SSN_48213_1} 078-05-1120", ('{"q": "Ssn 48213-1\\nSSN_48213_1"}',)), BYE])
@quick
def test_nor_does_any_spelling_of_a_stand_in(
    kind: type[Application], streams: bool, turns: list[Turn]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vault_module, "_tag", lambda secret, conversation: 48213)
        same([*turns, Turn("Bye.")], kind, edit=redumped, streams=streams)


def test_a_stand_in_in_another_spelling_goes_back_as_it_came() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vault_module, "_tag", lambda secret, conversation: 48213)
        said = "{SSN_48213_1}, `Ssn 48213-1`"
        sent = same([Turn(said, (json.dumps({"q": "Ssn 48213-1"}),)), BYE])[1]
    assert said.encode() in sent
    assert b'\\"Ssn 48213-1\\"' in sent


@pytest.mark.parametrize("turns", [[MANY, Turn("Thanks.")], ECHO, [*ECHO, MANY, *ECHO]])
def test_nor_after_a_restart_or_on_another_replica(tmp_path: Path, turns: list[Turn]) -> None:
    sent = []
    for secret in SECRETS:
        path = tmp_path / secret

        def opened(path: Path = path) -> FileVault:
            return FileVault(path, KEY)

        sent.append(Application(secret, opened, restarts=True, edit=redumped).run(turns))
    assert sent[0] == sent[1]


@pytest.mark.slow
@pytest.mark.parametrize("tools", ["keep", "restore"])
def test_nor_under_the_default_policy(tools: str) -> None:
    policy = replace(Policy.preset("balanced"), wire=WireRules(tools=tools))
    same([*ECHO, MANY, Turn("Bye.")], policy=policy, edit=redumped)


def test_an_answer_that_was_restored_next_to_letters_does_not_carry_it_out() -> None:
    sent = b"".join(same([Turn("a<SSN_1>b", ('{"x": "y<SSN_1>z"}',)), Turn("ok")]))
    assert b"a<SSN_1>b" in sent
    assert b"y<SSN_1>z" in sent


def test_what_the_user_puts_into_an_answer_is_the_users() -> None:
    """An answer that was edited: its stand-in and its literals stay, the insertion is hidden."""
    sanitizer = Sanitizer(policy="identifiers")
    filtered = Filter(sanitizer)
    prompt = {"role": "user", "content": "My SSN is 078-05-1120."}
    body = json.dumps({"messages": [prompt]}).encode()
    exchange = filtered.request("POST", CHAT, JSON, body)
    said = "The number <SSN_1> differs from 219-09-9999, which is not valid."
    raw = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]})
    answer = json.loads(exchange.response(200, "application/json", raw.encode()))
    shown = answer["choices"][0]["message"]["content"]
    assert "078-05-1120" in shown
    edited = shown.replace("which", "unlike 078-05-1120 and anna@example.org, which")
    messages = [prompt, {"role": "assistant", "content": edited}]
    out = filtered.request("POST", CHAT, JSON, json.dumps({"messages": messages}).encode()).body
    assert json.loads(out)["messages"][1]["content"] == (
        "The number <SSN_1> differs from 219-09-9999, unlike <SSN_1> and <EMAIL_1>,"
        " which is not valid."
    )


def test_reasoning_and_parts_go_back_as_they_came() -> None:
    """Fields of an answer that are no message: a Responses API has them resent as items."""
    sent = []
    for secret in SECRETS:
        filtered = Filter(Sanitizer(policy="identifiers"))
        items: list[dict[str, Any]] = [{"role": "user", "content": f"My SSN is {secret}."}]
        body = json.dumps({"input": items}).encode()
        exchange = filtered.request("POST", RESPONSES, JSON, body)
        output = [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Is it 078-05-1120? <SSN_1>"}],
            },
            {
                "type": "custom_tool_call",
                "call_id": "c1",
                "name": "f",
                "input": "078-05-1120 219-09-9999 <SSN_1>",
            },
        ]
        raw = json.dumps({"output": output}).encode()
        answer = json.loads(exchange.response(200, "application/json", raw))
        items += [*answer["output"], {"role": "user", "content": "And?"}]
        body = json.dumps({"input": items}).encode()
        sent.append(filtered.request("POST", RESPONSES, JSON, body).body)
    assert sent[0] == sent[1]
    assert b"078-05-1120 219-09-9999 <SSN_1>" in sent[0]


def test_a_call_that_was_cut_off_is_known_too() -> None:
    sent = []
    for secret in SECRETS:
        filtered = Filter(Sanitizer(policy="identifiers"))
        prompt = {"role": "user", "content": f"My SSN is {secret}."}
        body = json.dumps({"messages": [prompt], "stream": True}).encode()
        stream = filtered.request("POST", CHAT, JSON, body).stream("text/event-stream")
        shown = stream.feed(event(chunk({"content": "It is 078-05-1120, or <SSN_1>. So"})))
        text = "".join(re.findall(r'"content": ?"([^"]*)"', shown.decode()))
        history = [prompt, {"role": "assistant", "content": text}]
        body = json.dumps({"messages": history}).encode()
        sent.append(filtered.request("POST", CHAT, JSON, body).body)
    assert sent[0] == sent[1]


def first_sent(secret: str, said: str, edit: Callable[[str], str]) -> str:
    """What leaves for an answer that the application changed before it sends it again."""
    filtered = Filter(Sanitizer(policy="identifiers", vault=MemoryVault(numbers="from 1")))
    prompt = {"role": "user", "content": f"My SSN is {secret}."}
    exchange = filtered.request("POST", CHAT, JSON, json.dumps({"messages": [prompt]}).encode())
    raw = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]})
    answer = json.loads(exchange.response(200, "application/json", raw.encode()))
    shown = answer["choices"][0]["message"]["content"]
    messages = [prompt, {"role": "assistant", "content": edit(shown)}]
    out = filtered.request("POST", CHAT, JSON, json.dumps({"messages": messages}).encode()).body
    return str(json.loads(out)["messages"][1]["content"])


@pytest.mark.parametrize("n", [8, 16, 19, 22, -3, -9])
@pytest.mark.parametrize("mark", ["", "..."])
def test_an_answer_that_is_cut_off_does_not_carry_a_part_of_it_out(n: int, mark: str) -> None:
    """An API could write so much that the cut falls within what is restored."""

    def cut(shown: str) -> str:
        return shown[:n] + mark if n > 0 else shown[n:]

    sent = {first_sent(secret, "The number <SSN_1>", cut) for secret in SECRETS}
    (only,) = sent
    assert not any(digits in only for digits in ("078", "219", "120", "999"))


def test_guesses_in_an_answer_that_is_quoted_are_not_compared() -> None:
    def quoted(shown: str) -> str:
        return "\n".join("> " + line for line in shown.split("\n"))

    said = "No.\n078-05-1120\n219-09-9999\n<SSN_1>\nok?"
    sent = {first_sent(secret, said, quoted) for secret in SECRETS}
    assert sent == {quoted(said)}
