"""Which conversation a request is of: by name, by the whole history, or a new one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.proxy.shared import Conversations, Holder
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.stored_vault import FileVault, PostgresVault
from sanitizer.storage.vault import MemoryVault, Vault
from sanitizer.wire.filter import Exchange
from tests.conftest import Told
from tests.proxy.servers import JSON, MAIL
from tests.storage.postgres_server import postgres_server
from tests.wire.test_transcripts import SECRETS, TURNS, Application, Turn, same

Json = dict[str, Any]
KEY = b"k" * 32
ME = Holder("me")
ILL = "My father has hepatitis."
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def guarded() -> Sanitizer:
    return Sanitizer(policy="guarded")


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class App:
    """An application that resends the whole history, and an API that answers as it is told."""

    conversations: Conversations
    holder: Holder = ME
    messages: list[Json] = field(default_factory=list)
    sent: str = ""
    name: str = ""

    def exchange(self, body: Json, path: str = CHAT, method: str = "POST") -> Exchange:
        raw = json.dumps(body).encode() if body else b""
        self.name, exchange = self.conversations.exchange(self.holder, method, path, JSON, raw)
        self.sent = exchange.body.decode()
        return exchange

    def send(self) -> Exchange:
        return self.exchange({"model": "m", "messages": self.messages})

    def say(self, text: str, answer: str | Callable[[str], str] = "I see.") -> str:
        """Say something; return the conversation's name. The answer may follow what was sent."""
        self.messages.append({"role": "user", "content": text})
        self.answer(self.send(), answer)
        return self.name

    def answer(self, exchange: Exchange, answer: str | Callable[[str], str] = "I see.") -> None:
        said = answer if isinstance(answer, str) else answer(self.sent)
        message = {"role": "assistant", "content": said}
        body = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
        shown = json.loads(exchange.response(200, "application/json", body))
        self.messages.append(shown["choices"][0]["message"])

    def copy(self) -> App:
        return App(self.conversations, self.holder, list(self.messages))


def conversations(sanitizer: Sanitizer, vault: Vault | None = None, **more: Any) -> Conversations:
    return Conversations(sanitizer.derive(vault=vault or MemoryVault()), KEY, **more)


def by_identifiers(vault: Vault | None = None, **more: Any) -> Conversations:
    return conversations(Sanitizer(policy="identifiers"), vault, **more)


def drawn(text: str) -> str:
    """What stands for the illness in what was sent."""
    found = re.search(r"father has ([^.]+)\.", text)
    assert found is not None
    return found[1]


# ---- the history finds its own ----


def test_a_history_that_comes_back_reopens_its_own_conversation(guarded: Sanitizer) -> None:
    app = App(conversations(guarded))
    first = app.say(ILL, "How long has he had it?")
    told = drawn(app.sent)
    assert "hepatitis" not in app.sent
    assert not told.startswith("<")
    assert app.say("For years.") == first
    assert drawn(app.sent) == told
    assert app.say("What now?", "Rest.") == first
    assert drawn(app.sent) == told


def test_two_chats_that_begin_alike_are_two_conversations() -> None:
    shared = by_identifiers()
    one, two = App(shared), App(shared)
    assert one.say("Hello", "Hi!") != two.say("Hello", "Good day!")
    names = one.name, two.name
    assert (one.say(f"Mail {MAIL}"), two.say("Mail joe@x.org")) == names
    two.say("Who?", lambda _: "<EMAIL_1>")
    assert two.messages[-1]["content"] == "joe@x.org"


def test_of_several_conversations_with_one_history_none_is_reopened(guarded: Sanitizer) -> None:
    """An API that answers two chats alike must not bring them together."""
    shared = conversations(guarded)
    one, two = App(shared), App(shared)
    one.say(f"{ILL} Mail {MAIL}.")
    two.say(f"{ILL} Mail {MAIL}.")
    assert one.name != two.name
    names = {one.name, two.name}
    for app in (one, two):
        assert app.say("And my mother has asthma.", "Oh.") not in names
        assert "<CONDITION_" in drawn(app.sent)
        assert "asthma" not in app.sent
    assert one.name != two.name
    assert one.say("And gout.", "Really?") == one.name


@pytest.mark.parametrize("other", [Holder("me", "another key"), Holder("you")])
def test_neither_another_tenant_nor_another_key_reopens_it(other: Holder) -> None:
    app = App(by_identifiers())
    first = app.say(f"Mail {MAIL}")
    theirs = App(app.conversations, other, list(app.messages))
    assert theirs.say("Who?", lambda _: "<EMAIL_1>") != first
    assert theirs.conversations._is_late(theirs.name)


def test_an_earlier_message_that_is_edited_goes_on_in_the_same_conversation(
    guarded: Sanitizer,
) -> None:
    app = App(conversations(guarded))
    first = app.say(ILL)
    told = drawn(app.sent)
    branch = app.copy()
    app.say("What helps?", "Rest.")
    app.say("What else?", "Tea.")
    assert branch.say("What hurts?", "Wine.") == first
    assert branch.say("Why?") == first
    assert drawn(branch.sent) == told


def test_instructions_may_change_and_spaces_too() -> None:
    app = App(by_identifiers())
    app.messages.append({"role": "system", "content": "Today is Monday."})
    first = app.say("Hello", " Hi!\n")
    app.messages[0]["content"] = "Today is Tuesday."
    app.messages[-1]["content"] = "Hi!"
    app.messages[1]["content"] = [{"type": "text", "text": "Hello"}]
    assert app.say("Go on") == first


def test_a_name_comes_first() -> None:
    shared = by_identifiers()
    app, named = App(shared), App(shared, Holder("me", named="case-7"))
    app.say("Hello")
    assert named.say("Hello") == "case-7/me"
    named.messages = list(app.messages)
    assert named.say("Go on") == "case-7/me"


def test_the_name_that_the_proxy_gave_may_be_sent_as_long_as_it_lasts() -> None:
    vault = MemoryVault()
    app = App(by_identifiers(vault))
    first = app.say(f"Mail {MAIL}")
    named = App(app.conversations, Holder("me", named=first.partition("/")[0]))
    assert named.say("Who?", lambda _: "<EMAIL_1>") == first
    assert named.messages[-1]["content"] == MAIL
    vault.forget(first, final=True)
    assert named.say("Who?") != first


# ---- first requests ----


def test_a_first_request_that_is_sent_again_draws_nothing_anew(guarded: Sanitizer) -> None:
    """An API could make a client try again by an error, or a user by a poor answer."""
    shared, before = conversations(guarded), guarded.spent
    told = set()
    for _ in range(8):
        app = App(shared)
        app.messages.append({"role": "user", "content": ILL})
        exchange = app.send()
        told.add(drawn(app.sent))
        app.answer(exchange, f"Answer {len(told)}.")
    assert len(told) == 1
    assert guarded.spent - before == 5.0


def test_what_an_application_leaves_out_of_an_answer_draws_nothing_anew(
    guarded: Sanitizer,
) -> None:
    app = App(conversations(guarded))
    app.say(ILL, "")
    told = drawn(app.sent)
    app.messages = [{"role": "user", "content": ILL}]
    app.say("Do you hear? She has asthma.")
    assert drawn(app.sent) == told


def test_of_two_equal_requests_at_once_one_draw_leaves(
    guarded: Sanitizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = conversations(guarded)
    slow, fast = App(shared), App(shared)
    for app in (slow, fast):
        app.messages.append({"role": "user", "content": ILL})
    is_first = shared._is_first

    def overtaken(*of: Any) -> bool:
        monkeypatch.setattr(shared, "_is_first", is_first)
        fast.send()
        return is_first(*of)

    monkeypatch.setattr(shared, "_is_first", overtaken)
    slow.send()
    assert drawn(slow.sent) == drawn(fast.sent)


def test_a_stranger_gets_what_the_same_text_draws_and_nothing_later(guarded: Sanitizer) -> None:
    shared = conversations(guarded)
    one, two = App(shared), App(shared)
    one.say(ILL, "Oh.")
    one.say(f"My sister has asthma, mail {MAIL}.", "Well.")
    two.say(ILL, lambda _: "<EMAIL_1>, <CONDITION_1>")
    assert two.messages[-1]["content"] == "<EMAIL_1>, <CONDITION_1>"
    table = shared._sanitizer.derive(conversation=two.name).inner
    assert set(table.vault.originals(two.name).values()) == {"hepatitis"}


# ---- without a table ----


def unknown(app: App) -> None:
    app.messages += [
        {"role": "user", "content": ILL},
        {"role": "assistant", "content": "How long?"},
    ]


def test_a_history_that_nobody_knows_draws_nothing_then_or_later(guarded: Sanitizer) -> None:
    app, before = App(conversations(guarded)), guarded.spent
    unknown(app)
    first = app.say("My sister has asthma.")
    assert drawn(app.sent).startswith("<CONDITION_")
    assert app.say("I have gout.") == first
    assert not {"hepatitis", "asthma", "gout"} & set(re.findall(r"\w+", app.sent))
    assert guarded.spent == before


def test_in_it_nothing_leaves_since_it_is_needed(told: Told) -> None:
    told("CONDITION", CONDITION="eczema asthma")
    shared = conversations(Sanitizer(policy="balanced"))
    plain, late = App(shared), App(shared)
    unknown(late)
    for text in ("Which cream is good for eczema?", "And what for asthma?"):
        plain.say(text)
        assert text in plain.sent
        late.say(text)
        assert not {"eczema", "asthma"} & set(re.findall(r"\w+", late.sent))


def test_what_an_api_may_have_written_in_it_is_not_compared() -> None:
    """A guess in an unknown answer would be confirmed by an equal stand-in."""
    for guess in (MAIL, "joe@x.org"):
        app = App(by_identifiers())
        app.messages += [
            {"role": "user", "content": f"Mail {MAIL}"},
            {"role": "assistant", "content": f"Is it {guess}?"},
        ]
        app.say("Yes")
        said = [each["content"] for each in json.loads(app.sent)["messages"]]
        assert said[1] == "Is it <EMAIL>?"
        assert "<EMAIL_1>" in said[0]


def test_a_window_that_slides_keeps_its_table_and_draws_nothing_more(guarded: Sanitizer) -> None:
    app, before = App(conversations(guarded)), guarded.spent
    first = app.say(ILL, "Answer 0.")
    told = drawn(app.sent)
    app.say("So?", "Answer 1.")
    for i in range(2, 6):
        app.messages = app.messages[-2:]
        assert app.say(f"{ILL} My aunt has asthma.", f"Answer {i}.") == first
        assert drawn(app.sent) == told
        assert "<CONDITION_2>" in app.sent
    assert guarded.spent - before == 5.0


def test_once_its_table_is_gone_it_is_late(guarded: Sanitizer) -> None:
    vault, before = MemoryVault(), guarded.spent
    app = App(conversations(guarded, vault))
    first = app.say(ILL)
    vault.forget(first)
    late = app.copy()
    assert app.say("She has asthma.") != first
    assert drawn(app.sent).startswith("<CONDITION_")
    assert late.say("And?") == app.name
    assert guarded.spent - before == 5.0


def test_a_named_conversation_without_a_table_is_late_too(guarded: Sanitizer) -> None:
    vault = MemoryVault()
    app = App(conversations(guarded, vault), Holder("me", named="case-7"))
    app.say(ILL)
    told = drawn(app.sent)
    app.say("And?")
    assert drawn(app.sent) == told
    vault.forget(app.name)
    app.say("And?")
    assert drawn(app.sent).startswith("<CONDITION_")


@dataclass
class Chats(Application):
    """A chat of the proxy, whose answers an API chooses.

    Attributes:
        twin: two chats are led alike, so that none is found. window: turns that are sent at most.
        forgets: the proxy loses every table between two requests.
    """

    twin: bool = False
    window: int = 0
    forgets: bool = False
    conversations: Conversations | None = None
    names: set[str] = field(default_factory=set)

    def _filter(self) -> Any:
        if self.conversations is None:
            self.conversations = by_identifiers(self.vault())
            if self.twin:
                replace(self, twin=False, sent=[]).run(self.turns)
        return self

    def run(self, turns: Sequence[Turn]) -> list[bytes]:
        self.turns = turns
        return super().run(turns)

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        assert self.conversations is not None
        for name in self.names if self.forgets else ():
            self.conversations._vault.forget(name)
        given = json.loads(body)
        given["messages"] = given["messages"][-self.window :]
        raw = json.dumps(given).encode()
        name, exchange = self.conversations.exchange(ME, method, path, headers, raw)
        self.names.add(name)
        return exchange


@pytest.mark.parametrize("how", ["twin", "window", "forgets", "examples"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(turns=TURNS, streams=st.booleans())
@example([Turn(f"<SSN_1> {SECRETS[1]}"), Turn(f"{SECRETS[1]} <SSN_1>")], False)
@example([Turn(SECRETS[0]), Turn("&lt;SSN_1&gt;"), Turn()], False)
@example([Turn("&lt;SSN_1&gt;"), Turn(SECRETS[0]), Turn()], False)
@example([Turn("", (f'{{"ssn": "{SECRETS[1]}", "to": "<SSN_1>"}}',)), Turn("x")], False)
def test_no_guess_of_an_api_is_confirmed_by_the_conversation(
    how: str, turns: list[Turn], streams: bool
) -> None:
    """Two users who differ in one identifier, in chats that are not found by their history."""
    more: dict[str, Any] = {how: 3 if how == "window" else True, "streams": streams}
    same(turns, Chats, **more)


# ---- the end ----


def test_an_idle_conversation_is_forgotten(guarded: Sanitizer) -> None:
    clock, vault = Clock(), MemoryVault()
    shared = conversations(guarded, vault, idle=1, clock=clock)
    app = App(shared)
    first = app.say(ILL)
    for hour in (0.9, 1.8, 2.7):
        clock.now = hour * 3600
        assert app.say("Go on.", f"At {hour}.") == first
    clock.now += 2 * 3600
    for _ in range(4):
        App(shared).say("Hello")
        clock.now += 2 * 3600
    assert not vault.originals(first)
    assert app.say("Again.") != first
    assert drawn(app.sent).startswith("<CONDITION_")


def test_one_that_another_process_uses_stays() -> None:
    clock, vault = Clock(), MemoryVault()
    here = by_identifiers(vault, idle=1, clock=clock)
    app = App(here)
    first = app.say(f"Mail {MAIL}")
    app.conversations = by_identifiers(vault)
    for hour in range(2, 10):
        clock.now = hour * 3600
        app.say("Go on.", f"At {hour}.")
        App(here).say("Hello")
    assert app.name == first
    assert vault.originals(first)


def test_numbers_of_chats_that_ended_do_not_count_for_others() -> None:
    clock, vault = Clock(), MemoryVault()
    shared = by_identifiers(vault, idle=1, clock=clock)
    App(shared).say(f"Mail {MAIL}")
    for _ in range(4):
        clock.now += 2 * 3600
        App(shared).say("Hello")
    app = App(shared)
    app.say("Mail joe@x.org")
    assert "<EMAIL_1>" in app.sent


# ---- with vaults of every kind ----


@pytest.fixture(params=["file", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Vault]]:
    """A function that opens one vault again and again, as processes do."""
    if request.param == "file":
        yield lambda: FileVault(tmp_path / "vault", "a long passphrase")
        return
    with ExitStack() as stack:
        url = stack.enter_context(postgres_server()).url

        def open_it() -> Vault:
            store = PostgresStore(url, "a long passphrase", seconds=20.0)
            return PostgresVault(stack.enter_context(store))

        yield open_it


def test_another_process_finds_the_conversation(opened: Callable[[], Vault]) -> None:
    app = App(by_identifiers(opened()))
    first = app.say(f"Mail {MAIL}")
    sent = app.sent
    app.conversations = by_identifiers(opened())
    assert app.say("Go on.", "Yes.") == first
    again = App(app.conversations, messages=list(app.messages))
    assert again.say("And?") == first
    assert json.loads(again.sent)["messages"][0] == json.loads(sent)["messages"][0]


def test_a_stored_conversation_is_forgotten_with_its_digests(
    opened: Callable[[], Vault], guarded: Sanitizer
) -> None:
    vault = opened()
    app = App(conversations(guarded, vault))
    first = app.say(ILL)
    vault.forget(first, final=True)
    assert app.say("She has asthma.") != first
    assert drawn(app.sent).startswith("<CONDITION_")
    assert app.say("And gout.") == app.name


# ---- every API ----


def completion(said: str) -> Json:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({"q": said})},
    }
    message = {"role": "assistant", "content": said, "tool_calls": [call]}
    return {"choices": [{"index": 0, "message": message}]}


def message(said: str) -> Json:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
        {"type": "text", "text": said},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"q": said, "n": 1}},
    ]
    return {"type": "message", "role": "assistant", "content": blocks}


def response(said: str) -> Json:
    output = [
        {"type": "reasoning", "id": "r1", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": said, "annotations": []}],
        },
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "f",
            "arguments": json.dumps({"q": said}),
        },
    ]
    return {"id": "resp_1", "object": "response", "output": output}


def candidate(said: str) -> Json:
    parts = [{"text": said}, {"functionCall": {"name": "f", "args": {"q": said}}}]
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}]}


def generated(said: str) -> Json:
    call = {"function": {"name": "f", "arguments": {"q": said}}}
    held = {"role": "assistant", "content": said, "thinking": "Hm.", "tool_calls": [call]}
    return {"model": "m", "done": True, "message": held}


APIS: Mapping[str, tuple[str, Callable[[str], Json], str, Callable[[Json], list[Json]]]] = {
    CHAT: ("messages", completion, "content", lambda a: [a["choices"][0]["message"]]),
    "/v1/messages": (
        "messages",
        message,
        "content",
        lambda a: [{"role": "assistant", "content": a["content"][1:]}],
    ),
    "/v1/responses": ("input", response, "content", lambda a: a["output"]),
    "/v1beta/models/gemini-2.5-pro:generateContent": (
        "contents",
        candidate,
        "parts",
        lambda a: [a["candidates"][0]["content"]],
    ),
    "/api/chat": ("messages", generated, "content", lambda a: [a["message"]]),
}


@pytest.mark.parametrize("path", APIS)
def test_chats_of_every_api_are_found(path: str) -> None:
    field_of, answered, content, back = APIS[path]
    app = App(by_identifiers())
    turns: list[Json] = []
    names = set()
    for i in range(4):
        text = f"{i}: mail {MAIL}"
        turns.append({"role": "user", content: [{"text": text}] if content == "parts" else text})
        exchange = app.exchange(
            {"model": "m", "max_tokens": 9, "stream": False, field_of: turns}, path
        )
        names.add(app.name)
        came = json.dumps(answered(f"Re {i}: <EMAIL_1>")).encode()
        shown = json.loads(exchange.response(200, "application/json", came))
        assert MAIL in json.dumps(shown)
        turns += back(shown)
    assert len(names) == 1
    assert MAIL not in app.sent
    assert not app.conversations._is_late(app.name)


def test_streams_are_found_too() -> None:
    app = App(by_identifiers())
    app.messages.append({"role": "user", "content": f"Mail {MAIL}"})
    exchange = app.exchange({"messages": app.messages, "stream": True})
    stream = exchange.stream("text/event-stream")
    for piece in ("It is <EMA", "IL_1>", ", I think"):
        event = {"choices": [{"index": 0, "delta": {"content": piece}}]}
        stream.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    stream.feed(b"data: [DONE]\n\n")
    first = app.name
    app.messages.append({"role": "assistant", "content": f"It is {MAIL}, I think"})
    assert app.say("Sure?") == first


def test_a_stream_that_breaks_off_is_found_as_far_as_it_came() -> None:
    app = App(by_identifiers())
    app.messages.append({"role": "user", "content": "Hello"})
    stream = app.exchange({"messages": app.messages, "stream": True}).stream("text/event-stream")
    event = {"choices": [{"index": 0, "delta": {"content": "Good da"}}]}
    stream.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    stream.leave()
    first = app.name
    app.messages.append({"role": "assistant", "content": "Good da"})
    assert app.say("Go on") == first


def test_what_an_api_keeps_is_found_by_the_name_that_it_gave() -> None:
    shared = by_identifiers()
    app = App(shared)
    exchange = app.exchange({"model": "m", "input": f"Mail {MAIL}"}, "/v1/responses")
    exchange.response(200, "application/json", json.dumps(response("Yes.")).encode())
    first = app.name
    body = {"model": "m", "input": "Who?", "previous_response_id": "resp_1"}
    again = app.exchange(body, "/v1/responses")
    assert app.name == first
    shown = again.response(200, "application/json", json.dumps(response("<EMAIL_1>")).encode())
    assert MAIL.encode() in shown
    app.exchange({}, "/v1/responses/resp_1", "GET")
    assert app.name == first
    # An API that gives one name to two chats brings none of them to the other.
    other = App(shared)
    exchange = other.exchange({"model": "m", "input": "Mail joe@x.org"}, "/v1/responses")
    exchange.response(200, "application/json", json.dumps(response("Yes.")).encode())
    assert other.name != first
    other.exchange(body, "/v1/responses")
    assert other.name != first
    assert shared._is_late(other.name)


def test_an_unknown_name_of_what_an_api_keeps_is_late_and_stays_one() -> None:
    app = App(by_identifiers())
    body = {"model": "m", "input": f"Mail {MAIL}", "conversation": {"id": "conv_1"}}
    app.exchange(body, "/v1/responses")
    first = app.name
    assert app.conversations._is_late(first)
    app.exchange(body, "/v1/responses")
    assert app.name == first


def test_counting_tokens_leaves_the_chat_as_it_is(guarded: Sanitizer) -> None:
    app = App(conversations(guarded))
    body = {"model": "m", "messages": [{"role": "user", "content": ILL}]}
    counted = app.exchange(body, "/v1/messages/count_tokens")
    told = drawn(app.sent)
    counted.response(200, "application/json", b'{"input_tokens": 9}')
    app.exchange({**body, "max_tokens": 9}, "/v1/messages")
    assert drawn(app.sent) == told


def test_requests_that_are_no_chat_and_policies_that_draw_words_have_one_for_each_key() -> None:
    app = App(by_identifiers())
    for prompt in ("One", "Two"):
        app.exchange({"model": "m", "prompt": prompt}, "/v1/completions")
        assert app.name == "key/me"
    words = App(conversations(Sanitizer(policy="strict")))
    assert words.say("Hello", "Hi") == words.say("Go on") == "key/me"
    assert App(by_identifiers(by_history=False)).say("Hello") == "key/me"
