"""Answers rewritten: by a model or a server on this machine, for the right prompt, or said not."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sanitizer import ModelError, SanitizedText, Sanitizer
from sanitizer.answers.extractors import (
    LOST,
    MAX_BYTES,
    MAX_PROMPTS,
    MAX_TOKENS,
    NO_PROMPT,
    NO_RELEASED,
    NO_WORDS,
    NOTHING,
    LmExtractor,
    NotExtracted,
    RemoteExtractor,
    RestoredAnswer,
    original_prompt,
    replaced_words,
)
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.storage.table import Drawn, Wanted
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing.models import SeededSource
from sanitizer.testing.server import Answer, Received, RecordingServer, Responder, error, html, says
from tests.clients.tool_calls import toy
from tests.lm.scripted_lm import TOKENS, ScriptedLM

MAIL = "peter.quill@example.com"
TEXT = f"My Zorblaxian has a Quizzik. Write to {MAIL}."


def made(extractor: Any, **settings: Any) -> tuple[Sanitizer, SanitizedText]:
    """A Sanitizer that draws without a model, and a result for TEXT in which no two words have one
    stand-in, so that an answer has one reading."""
    for seed in range(100):
        sanitizer = toy("strict", extractor=extractor, **settings)
        result = sanitizer.sanitize(TEXT, source=SeededSource(seed))
        drawn = [word.replacement.lower() for word in result.replacements]
        if replaced_words(result) and len(set(drawn)) == len(drawn):
            return sanitizer, result
    raise AssertionError("no seed gives each word a stand-in of its own")


def released(result: SanitizedText, original: str) -> str:
    return next(r.replacement for r in result.replacements if r.original == original)


def scripted(text: str | None, **settings: Any) -> tuple[LmExtractor, ScriptedLM]:
    model = ScriptedLM(text, **settings)
    return LmExtractor(lambda: (model, TOKENS)), model


class TestWithout:
    def test_identifiers_come_back_and_nothing_else_happens(self) -> None:
        sanitizer, result = made(None)
        answer = sanitizer.restore(f"<EMAIL_1>: {released(result, 'Quizzik')}")
        assert answer == f"{MAIL}: {released(result, 'Quizzik')}"
        assert (answer.extracted, answer.note) == (False, None)

    def test_a_restored_answer_is_a_string_that_can_be_kept(self) -> None:
        answer = toy().restore("hello")
        assert isinstance(answer, str)
        again = copy.deepcopy(answer)
        assert (again, again.extracted, again.note) == (answer, False, None)


class TestNotes:
    """An answer that rests on a drawn thing says so, whether it speaks of it or not."""

    NOTE = 'the model was told "gout" where you wrote "asthma"'

    def made(self) -> Sanitizer:
        vault = MemoryVault()
        with vault.edit("c") as table:
            table.assign(Wanted("CONDITION", "asthma"), Drawn("gout", 5.0))
        return toy(vault=vault, conversation="c")

    def test_the_answer_and_its_stream_say_what_the_model_was_told(self) -> None:
        sanitizer = self.made()
        assert sanitizer.restore("Rest.").notes == (self.NOTE,)
        stream = sanitizer.restored_stream(["Gout ", "hurts."])
        assert "".join(stream) == "Asthma hurts."
        assert (stream.notes, dict(stream.drawn)) == ((self.NOTE,), {"gout": "asthma"})

    def test_in_an_event_loop_too(self) -> None:
        async def pieces() -> AsyncIterator[str]:
            yield "Rest."

        async def notes() -> tuple[str, ...]:
            stream = self.made().arestored_stream(pieces())
            assert "".join([piece async for piece in stream]) == "Rest."
            return stream.notes

        assert asyncio.run(notes()) == (self.NOTE,)

    def test_a_prompt_without_a_drawn_thing_has_none(self) -> None:
        sanitizer = self.made()
        assert sanitizer.restore("Rest.", sanitizer.sanitize("Hello.")).notes == ()


class TestPrompts:
    def test_the_original_prompt_is_put_together_again(self) -> None:
        _, result = made(None)
        assert original_prompt(result) == TEXT.replace(MAIL, "<EMAIL_1>")

    @pytest.mark.parametrize("way", ["lexical", scripted("never asked")[0]])
    def test_no_prompt_is_known_at_first(self, way: Any) -> None:
        answer = toy("strict", extractor=way).restore("An answer.")
        assert (answer, answer.extracted, answer.note) == ("An answer.", False, NO_PROMPT)

    @pytest.mark.parametrize("way", ["lexical", scripted("never asked")[0]])
    def test_nothing_is_put_right_where_no_word_was_replaced(self, way: Any) -> None:
        sanitizer = Sanitizer(policy="identifiers", extractor=way)
        sanitizer.sanitize(TEXT)
        answer = sanitizer.restore("To <EMAIL_1>.")
        assert (answer, answer.extracted, answer.note) == (f"To {MAIL}.", False, NO_WORDS)

    def test_the_last_one_is_answered_unless_another_is_given(self) -> None:
        way, model = scripted("Good.")
        sanitizer, first = made(way)
        sanitizer.sanitize("A Flumbert")
        sanitizer.restore("Hm.")
        sanitizer.restore("Hm.", first)
        assert "Flumbert" in model.read[0]
        assert "Zorblaxian" not in model.read[0]
        assert "Zorblaxian" in model.read[1]

    def test_a_repeated_message_is_the_last_one_again(self) -> None:
        way, model = scripted("Good.")
        sanitizer, _ = made(way)
        sanitizer.sanitize("A Flumbert")
        sanitizer.sanitize(TEXT)
        sanitizer.restore("Hm.")
        assert "Zorblaxian" in model.read[0]

    def test_words_of_earlier_messages_are_mapped_too(self) -> None:
        sanitizer, result = made("lexical")
        sanitizer.sanitize("thank you", source=SeededSource(2))
        assert sanitizer.restore(f"the {released(result, 'Quizzik')}") == "the Quizzik"

    def test_what_the_user_did_not_say_is_no_prompt(self) -> None:
        sanitizer = toy("strict", extractor="lexical")
        sanitizer.sanitize(TEXT, role="system")
        sanitizer.derive(charged=False).sanitize("A Flumbert")
        assert sanitizer.restore("Hm.").note == NO_PROMPT

    def test_a_derived_conversation_knows_none_of_them(self) -> None:
        sanitizer, _ = made("lexical")
        assert sanitizer.derive(conversation="other").restore("Hm.").note == NO_PROMPT
        assert sanitizer.restore("Hm.").note == NO_RELEASED

    def test_few_are_kept(self) -> None:
        sanitizer, result = made("lexical")
        for i in range(MAX_PROMPTS):
            sanitizer.sanitize(f"thank you {'very ' * i}", source=SeededSource(2))
        assert sanitizer.restore(f"the {released(result, 'Quizzik')}").extracted is False

    def test_threads_that_name_their_prompt_get_its_answer(self) -> None:
        sanitizer = toy("strict", extractor="lexical")
        texts = [f"A {chr(97 + i) * 9}" for i in range(20)]

        def ask(text: str) -> str:
            result = sanitizer.sanitize(text)
            return sanitizer.restore(result.text, result)

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, texts))
        assert [a for a, t in zip(answers, texts, strict=True) if t.split()[1] in a] == answers


class TestHistory:
    def test_an_extracted_answer_goes_back_as_it_came(self) -> None:
        sanitizer, result = made("lexical")
        noisy = f"Your {released(result, 'Zorblaxian')}!"
        sanitizer.inner.answers.remember_answer(noisy, noisy)  # as shield does when an answer comes
        said = sanitizer.restore(noisy)
        assert said == "Your Zorblaxian!"
        assert sanitizer.sanitize(said, role="assistant").text == noisy

    def test_a_text_that_no_api_sent_is_not_let_out(self) -> None:
        sanitizer, result = made("lexical")
        said = sanitizer.restore(f"Gribbling {released(result, 'Zorblaxian')}")
        assert said == "Gribbling Zorblaxian"
        assert "Gribbling" not in sanitizer.sanitize(said, role="assistant").text


class TestModel:
    def test_it_writes_the_answer(self) -> None:
        way, model = scripted("Your Zorblaxian is ill.")
        sanitizer, _ = made(way)
        answer = sanitizer.restore("Your thing is ill.")
        assert (answer, answer.extracted, answer.note) == ("Your Zorblaxian is ill.", True, None)
        assert "Your thing is ill." in model.read[0]

    def test_it_sees_no_identifier(self) -> None:
        way, model = scripted("Sent to <EMAIL_1>.")
        sanitizer, _ = made(way)
        assert sanitizer.restore("Mail <EMAIL_1>.") == f"Sent to {MAIL}."
        assert MAIL not in model.read[0]
        assert model.read[0].count("<EMAIL_1>") == 2

    def test_what_is_beyond_doubt_is_mapped_for_it(self) -> None:
        way, model = scripted("Good.")
        sanitizer, result = made(way)
        sanitizer.restore(f"A {released(result, 'Quizzik')} hurts.")
        assert "A Quizzik hurts." in model.read[0]

    def test_an_answer_that_lost_an_identifier_is_not_shown(self) -> None:
        sanitizer, _ = made(scripted("Sent.")[0])
        answer = sanitizer.restore("Mail <EMAIL_1>.")
        assert (answer, answer.extracted, answer.note) == (f"Mail {MAIL}.", False, LOST)

    def test_an_empty_answer_is_not_shown(self) -> None:
        sanitizer, _ = made(scripted("")[0])
        answer = sanitizer.restore("Hm.")
        assert (answer, answer.extracted, answer.note) == ("Hm.", False, NOTHING)

    def test_too_long_a_prompt_is_not_read(self) -> None:
        way, model = scripted("Good.", max_length=60)
        sanitizer, _ = made(way)
        answer = sanitizer.restore("Hm.")
        assert (answer, answer.extracted) == ("Hm.", False)
        assert "too long" in str(answer.note)
        assert model.read == []

    def test_too_long_a_draft_is_not_cut_short(self) -> None:
        model = ScriptedLM(None)
        sanitizer, _ = made(LmExtractor(lambda: (model, TOKENS)))
        answer = sanitizer.restore("one two " * (MAX_TOKENS // 2) + "three")
        assert (answer.split()[-1], answer.extracted) == ("three", False)

    def test_it_ends_even_if_the_model_does_not(self) -> None:
        sanitizer, _ = made(scripted(" ".join(map(str, range(99))), ends=False)[0])
        answer = sanitizer.restore("Hm.")
        assert answer.extracted
        assert "no end" in str(answer.note)
        assert len(TOKENS.encode(answer)) <= 2 * len(TOKENS.encode("Hm.")) + 16

    def test_no_four_tokens_come_twice(self) -> None:
        sanitizer, _ = made(scripted("la la la la la la la la", ends=False)[0])
        ids = TOKENS.encode(sanitizer.restore("Hm. Hm. Hm. Hm. Hm."))
        fours = list(zip(ids, ids[1:], ids[2:], ids[3:], strict=False))
        assert len(fours) == len(set(fours))

    @pytest.mark.parametrize(
        "draft", ["Hm.", "Grüße: la la la la la la, la la la la la la!", "Mail <EMAIL_1> soon."]
    )
    def test_a_model_without_an_opinion_keeps_the_draft(self, draft: str) -> None:
        sanitizer, _ = made(scripted(None)[0])
        answer = sanitizer.restore(draft)
        assert (answer, answer.extracted, answer.note) == (
            draft.replace("<EMAIL_1>", MAIL),
            True,
            None,
        )

    def test_it_streams_what_it_writes(self) -> None:
        sanitizer, _ = made(scripted("  Grüße aus 東京, 🙂 ok  ")[0])
        answer = sanitizer.restored_stream(["H", "m."])
        pieces = list(answer)
        assert "".join(pieces) == "Grüße aus 東京, 🙂 ok"
        assert len(pieces) > 3
        assert "\ufffd" not in "".join(pieces)
        assert answer.extracted

    def test_a_stream_with_identifiers_is_looked_at_before_it_is_shown(self) -> None:
        sanitizer, _ = made(scripted("Sent to nobody at all.")[0])
        answer = sanitizer.restored_stream(["Mail <EMA", "IL_1>."])
        assert "".join(answer) == f"Mail {MAIL}."
        assert answer.note == LOST

    def test_missing_weights_are_an_error_that_says_how_to_get_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SANITIZER_CACHE", str(tmp_path))
        sanitizer, _ = made("lm")
        with pytest.raises(ModelError, match="sanitizer models fetch lm"):
            sanitizer.load()
        with pytest.raises(ModelError, match="sanitizer models fetch lm"):
            sanitizer.restore("Hm.")

    def test_the_packaged_model_writes_an_answer(self) -> None:
        path = Manifest.read(model_folder("lm")).weights
        if path is None or not path.exists():
            pytest.skip("the weights are not on this machine: sanitizer models fetch lm")
        sanitizer, result = made("lm")
        noisy = f"Your {released(result, 'Zorblaxian')} should rest."
        first, second = sanitizer.restore(noisy, result), sanitizer.restore(noisy, result)
        assert first.extracted
        assert first
        assert first == second


class Custom:
    """An extractor of a user's own."""

    def __init__(self, *pieces: str | Exception) -> None:
        self._pieces = pieces

    def load(self) -> None:
        """Nothing to load."""

    def rewrite(self, prompt: str, noisy_answer: str) -> Iterator[str]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece


def test_an_extractor_of_one_s_own() -> None:
    sanitizer, _ = made(Custom("Very ", "good."))
    assert sanitizer.restore("Hm.") == "Very good."


def test_half_an_answer_is_not_shown_if_the_whole_was_asked_for() -> None:
    sanitizer, _ = made(Custom("Very ", NotExtracted("it broke")))
    answer = sanitizer.restore("Hm.")
    assert (answer, answer.extracted, answer.note) == ("Hm.", False, "it broke")


def test_a_stream_that_breaks_off_says_so() -> None:
    sanitizer, _ = made(Custom("Very ", NotExtracted("it broke")))
    answer = sanitizer.restored_stream(["Hm."])
    assert "".join(answer) == "Very "
    assert (answer.extracted, answer.note) == (True, "it broke")


@pytest.mark.parametrize("wrong", ["LM", "", "lexical,lm", "model.onnx"])
def test_unknown_names_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="extractor"):
        Sanitizer(extractor=wrong, policy="words")


def test_what_is_no_extractor_is_refused() -> None:
    with pytest.raises(TypeError, match="int"):
        Sanitizer(extractor=3, policy="words")  # type: ignore[arg-type]


def test_a_prompt_as_text_is_refused() -> None:
    ours = Sanitizer(policy="identifiers", extractor="lexical")
    with pytest.raises(TypeError, match="what sanitize returned"):
        ours.restore("Fine.", "mail ann@x.org")  # type: ignore[arg-type]


def asked(server: RecordingServer, answer: str = "Hm.", **settings: Any) -> RestoredAnswer:
    sanitizer = toy("strict", extractor=RemoteExtractor(server.url, **settings))
    sanitizer.sanitize(TEXT, source=SeededSource(1))
    return sanitizer.restore(answer)


def test_the_server_writes_the_answer() -> None:
    with RecordingServer(says("Your Zorblaxian wrote to <EMAIL_1>.")) as server:
        answer = asked(server, "The draft, <EMAIL_1>.")
        (request,) = server.requests
    assert (answer, answer.extracted, answer.note) == (
        f"Your Zorblaxian wrote to {MAIL}.",
        True,
        None,
    )
    assert request.endpoint == "chat/completions"
    assert "Zorblaxian" in request.json["messages"][-1]["content"]
    assert "The draft, <EMAIL_1>." in request.json["messages"][-1]["content"]
    assert MAIL not in json.dumps(request.json)


def redirect(received: Received) -> Answer:
    return Answer(b"", 307, headers=(("location", "/v1/elsewhere"),))


FAILURES: list[Responder] = [
    lambda received: error(500),
    lambda received: html(),
    lambda received: Answer(b'{"choices": []}'),
    lambda received: Answer(b'{"choices": [{"message": {"content": null}}]}'),
    lambda received: Answer(b"[" * 100_000),
    lambda received: Answer([b" " * (MAX_BYTES // 2)] * 3),
    says(""),
    redirect,
]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_server_loses_no_answer(failure: Responder) -> None:
    with RecordingServer(failure) as server:
        answer = asked(server, "Mail <EMAIL_1>.")
        assert len(server.requests) == 1
    assert (answer, answer.extracted) == (f"Mail {MAIL}.", False)
    assert answer.note


def test_a_server_that_is_not_there_loses_no_answer() -> None:
    with RecordingServer() as server:
        pass
    answer = asked(server)
    assert (answer, answer.extracted) == ("Hm.", False)
    assert "could not be asked" in str(answer.note)


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with RecordingServer() as server:

        def silent(received: Received) -> Answer:
            server.ended.wait()
            return Answer()

        server.script(silent)
        answer = asked(server, timeout=0.05)
    assert (answer, answer.extracted) == ("Hm.", False)


def test_a_server_that_drips_is_not_waited_for() -> None:
    with RecordingServer() as server:
        drops = iter(lambda: None if server.ended.wait(0.01) else b" ", None)
        server.script(Answer(drop for drop in drops))
        answer = asked(server, timeout=0.1)
    assert "too slowly" in str(answer.note)


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer(says("Good.")) as server, RecordingServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://{proxy.host}")
        assert asked(server) == "Good."
        assert proxy.n_connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://10.0.0.7:8080/v1",
        "http://0.0.0.0:8080/v1",
        "http://localhost.example/v1",
    ],
)
def test_another_machine_needs_to_be_trusted_by_name(url: str) -> None:
    with pytest.raises(ValueError, match="on this machine"):
        Sanitizer(extractor=url, policy="words")
    Sanitizer(extractor=url, trusted_extractor_host=True, policy="words")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1/v1"]
)
def test_this_machine_needs_no_trust(url: str) -> None:
    Sanitizer(extractor=url, policy="words")


@pytest.mark.parametrize(
    "url", ["http://a:b@127.0.0.1/v1", "ftp://127.0.0.1/", "http://127.0.0.1/v1?x=1", "http://"]
)
def test_an_address_must_be_what_it_seems(url: str) -> None:
    with pytest.raises(ValueError, match="extractor must"):
        Sanitizer(extractor=url, policy="words")


def test_a_timeout_must_be_above_zero() -> None:
    with pytest.raises(ValueError, match="timeout"):
        RemoteExtractor("http://127.0.0.1/v1", timeout=0)
