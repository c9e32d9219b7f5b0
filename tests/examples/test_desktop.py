"""The desktop example: what leaves, what it costs, and what comes back. The judge is a server that
keeps every byte.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from examples.desktop import wish
from examples.desktop.desk import Desk
from examples.desktop.sentences import notices
from examples.desktop.wish import REDRAWN, Cancelled, Wish
from sanitizer import Sanitizer
from sanitizer.pipeline.classes import ClassDraws
from sanitizer.results import FactWarning
from sanitizer.testing.server import Answer, error, html, says
from sanitizer.text.policy import PRESETS
from tests.examples.conftest import Api
from tests.examples.screens import SECRETS, TEXT, Person, application, person, until

from PySide6.QtCore import Qt  # isort: skip  # after screens, which skips where it is missing
from PySide6.QtTest import QTest  # isort: skip
from PySide6.QtWidgets import QLineEdit  # isort: skip

pytestmark = pytest.mark.usefixtures("display")

NOTE = "\n\n[Note"
"""What the API is told behind the text that is seen."""


def test_what_is_seen_is_what_leaves_and_nothing_private_does(someone: Person, api: Api) -> None:
    someone.types(TEXT)
    someone.reads()
    assert someone.sends(api.url) == ""
    (received,) = api.requests
    (message,) = received.json["messages"]
    assert message["content"].partition(NOTE)[0] == someone.reads()
    # A word may be drawn for itself, rarely.
    private = [secret for secret in SECRETS if secret not in someone.reads()]
    assert {"Peter", "Leeds", "peter@example.org"} <= set(private)
    assert not [secret for secret in private if secret.encode() in api.received]


def test_what_is_drawn_only_now_is_shown_before_it_is_sent(
    someone: Person, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["gout", "lupus"])
    monkeypatch.setattr(ClassDraws, "draw", lambda *_: next(names))
    someone.chooses("guarded")
    someone.types(TEXT)
    assert "has gout" in someone.reads()
    someone.window.address.setText(api.url)
    assert someone.clicks() == REDRAWN
    assert api.requests == []
    assert "has lupus" in someone.reads()
    assert someone.clicks() == ""
    assert "has lupus" in api.requests[0].json["messages"][0]["content"]


def test_the_answer_is_restored(someone: Person, api: Api) -> None:
    api.script(says("I will write to <EMAIL_1>. <EMAIL_2> is not known to me."))
    someone.types(TEXT)
    someone.sends(api.url)
    restored = "I will write to peter@example.org. <EMAIL_2> is not known to me."
    assert someone.window.answer.toPlainText() == restored


def test_separators_inside_an_answer_are_kept_apart_from_those_of_events(
    someone: Person, api: Api
) -> None:
    api.script(says("one\u2028two\x85three", size=20))
    someone.types(TEXT)
    assert someone.sends(api.url) == ""
    assert someone.window.answer.toPlainText() == "one\ntwo\x85three"


def test_a_text_is_paid_for_once(someone: Person, api: Api) -> None:
    someone.chooses("guarded")
    someone.types(TEXT)
    someone.reads()
    assert someone.window.balance.text() == "Budget: spent 0 of 200. Sending this text costs 5."
    someone.sends(api.url)
    seen = someone.reads()
    paid = "Budget: spent 5 of 200. This text is paid for; sending it again costs nothing."
    assert someone.window.balance.text() == paid
    someone.sends(api.url)
    assert someone.window.balance.text() == paid
    sent = [r.json["messages"][0]["content"].partition(NOTE)[0] for r in api.requests]
    assert sent == [seen, seen]


def test_a_text_that_is_typed_again_has_its_price(someone: Person, api: Api) -> None:
    someone.chooses("strict")
    someone.types(TEXT)
    seen = someone.reads()
    someone.pastes("something else")
    someone.reads()
    someone.pastes(TEXT)
    assert someone.reads() == seen
    someone.sends(api.url)
    assert someone.window.balance.text().startswith("Budget: spent 25 of 200.")


def test_a_used_up_budget_sends_nothing(api: Api) -> None:
    with person(budget=3.0) as someone:
        someone.chooses("guarded")
        someone.types(TEXT)
        someone.reads()
        assert someone.window.balance.text().endswith("costs 5, more than is left.")
        told = someone.sends(api.url)
        assert told.startswith("This needs epsilon 5, the budget has 3 of 3 left: raise the limit")
    assert api.n_connections == 0


def test_nothing_is_charged_before_an_address_answers(api: Api) -> None:
    with person(budget=5.0) as someone:
        someone.chooses("guarded")
        someone.types(TEXT)
        assert someone.sends("http://127.0.0.1:9/v1") == "Nothing answers at this address."
        assert someone.window.balance.text().startswith("Budget: spent 0 of 5.")
        assert someone.sends(api.url) == ""
        assert someone.window.balance.text().startswith("Budget: spent 5 of 5.")
    assert len(api.requests) == len(api.reached) == 1
    assert api.reached[0].body == b""


def test_nothing_is_charged_if_the_key_is_refused(someone: Person, api: Api) -> None:
    api.models = error(401, "Peter")
    someone.chooses("guarded")
    someone.types(TEXT)
    assert someone.sends(api.url) == "The API refuses this key: 401 Unauthorized."
    assert someone.window.balance.text().startswith("Budget: spent 0 of 200.")
    assert api.requests == []


def test_a_text_that_is_paid_for_can_be_sent_to_another_address(api: Api) -> None:
    with person(budget=5.0) as someone:
        someone.types(TEXT)
        assert someone.sends(api.url) == ""
        assert someone.sends("http://127.0.0.1:9/v1") == "Nothing answers at this address."
        assert someone.sends(api.url) == ""
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    "address", ["", "ftp://127.0.0.1/v1", "127.0.0.1", "http://127.0.0.1:port/v1"]
)
def test_an_address_that_is_none(someone: Person, address: str) -> None:
    someone.types("Hello.")
    said = "The address must begin with http:// or https:// and name a host."
    assert someone.sends(address) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (error(401, "Peter"), "The API answered with an error: 401 Unauthorized."),
        (html(), "The API did not answer with an event stream."),
        (
            Answer(b"data: {", content_type="text/event-stream"),
            "The API's stream ended inside an event.",
        ),
    ],
)
def test_an_answer_that_is_none(someone: Person, api: Api, answer: Answer, said: str) -> None:
    api.script(answer)
    someone.types(TEXT)
    assert someone.sends(api.url) == said


def test_a_broken_connection(someone: Person, api: Api) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'data: {"choices":[{"index":0,"delta":{"content":"So far"}}]}\n\n'
        raise ConnectionError

    api.script(Answer(pieces(), content_type="text/event-stream"))
    someone.types(TEXT)
    assert someone.sends(api.url) == "The connection to the API broke."
    assert someone.window.answer.toPlainText() == "So far"


def test_what_was_not_seen_cannot_be_sent(someone: Person, api: Api) -> None:
    someone.chooses("strict")  # what is shown is what is sent with the first click
    someone.types(TEXT)
    someone.reads()
    someone.window.address.setText(api.url)
    someone.types(" Paul knows.")
    QTest.keyClick(someone.window.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    someone.reads()
    assert api.n_connections == 0
    QTest.keyClick(someone.window.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    until(lambda: len(api.requests) == 1)
    assert "\n" not in someone.window.text.toPlainText(), (
        "Ctrl+Enter sends, and writes no line break"
    )


def test_identifiers_have_no_differential_privacy(someone: Person, api: Api) -> None:
    someone.window.policy.setCurrentText("identifiers")
    someone.types(TEXT)
    assert someone.reads() == TEXT.replace("peter@example.org", "<EMAIL_1>")
    said = someone.window.guarantee.text()
    assert said.startswith("No differential privacy. 1 identifier replaced")
    assert not someone.window.epsilon.isEnabled()
    someone.sends(api.url)
    assert someone.window.balance.text().startswith("Budget: spent 0 of 200.")


def test_what_is_promised_is_said_in_plain_words(someone: Person) -> None:
    someone.types(TEXT)
    someone.reads()
    assert someone.window.guarantee.text() == (
        "Certified: 4 things replaced. What replaces a thing depends on its kind only. "
        "What was not found leaves as it is."
    )
    someone.chooses("guarded")
    someone.reads()
    assert someone.window.guarantee.text() == (
        "Certified: 4 things replaced. What replaces a thing depends on its kind only, "
        "except 1 drawn at epsilon 5. What was not found leaves as it is."
    )


def test_what_leaves_though_it_may_be_private_is_said_before_it_is_sent(someone: Person) -> None:
    someone.types("My father Peter has hepatitis. What may he eat with hepatitis?")
    someone.reads()
    assert someone.window.notices.text() == (
        "“hepatitis” leaves as you wrote it, because your question seems to need it."
    )
    someone.pastes("My husband hit our son yesterday.")
    someone.reads()
    assert someone.window.notices.text() == (
        "“hit our son” may reveal something sensitive in everyday words, which are not hidden."
    )
    assert someone.window.notices.isVisible()
    someone.pastes("I earn 4,200 euros at Siemens. Is that more than 3,900 euros?")
    someone.reads()
    said = someone.window.notices.text()
    assert said.startswith("Amounts are hidden, and this text seems to ask to ")
    assert ";" not in said, "what programs may do about it is not for the window"
    someone.pastes("Hello.")
    someone.reads()
    assert not someone.window.notices.isVisible()


def test_many_notices_are_cut_short() -> None:
    text = " ".join(f"fact-{n}" for n in range(9))
    facts = tuple(FactWarning(7 * n, 7 * n + 6) for n in range(9))
    result = replace(Sanitizer(policy="identifiers").sanitize(text), warnings=facts)
    assert notices(text, result).endswith("not hidden.\nAnd 4 more.")
    assert "word …”" in notices("word " * 99, replace(result, warnings=(FactWarning(0, 495),)))


def test_a_note_says_that_an_answer_rests_on_what_was_drawn(
    someone: Person, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClassDraws, "draw", lambda *_: "gout")
    someone.chooses("guarded")
    someone.types(TEXT)
    someone.sends(api.url)
    said = "The model read “gout” where you wrote “hepatitis”: its advice may not fit."
    assert someone.window.notes.text() == said
    someone.pastes("Mail peter@example.org")
    someone.reads()
    assert someone.window.notes.text() == said, "the answer is still there"
    someone.sends(api.url)
    assert not someone.window.notes.isVisible()
    someone.chooses("strict")
    someone.sends(api.url)
    assert someone.window.notes.text().startswith("Words that were drawn one by one stay")


def test_the_slider_sets_epsilon(someone: Person) -> None:
    someone.chooses("strict")
    someone.types(TEXT)
    someone.reads()
    QTest.keyClick(someone.window.epsilon, Qt.Key.Key_Right)
    someone.reads()
    assert someone.window.meaning.text().startswith("5.5 ")
    said = someone.window.guarantee.text()
    assert said.startswith("Certified: epsilon 5.5 per word, 27.5 in all.")


def test_a_text_that_is_too_long_is_refused(someone: Person) -> None:
    someone.pastes("word\n" * 200_001)
    until(lambda: bool(someone.window.status.text()) and "…" not in someone.window.status.text())
    assert someone.window.status.text() == "A text may have at most 1,000,000 characters."
    assert not someone.window.send.isEnabled()


def test_an_emptied_text_leaves_nothing(someone: Person) -> None:
    someone.types(TEXT)
    someone.reads()
    someone.pastes(" \n")
    until(lambda: someone.window.leaving.toPlainText() == "")
    assert not someone.window.send.isEnabled()


def test_the_key_is_hidden_and_goes_to_the_api_only_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, api: Api
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    with person() as someone:
        assert someone.window.key.echoMode() == QLineEdit.EchoMode.Password
        someone.types("Hello.")
        someone.sends(api.url)
        someone.window.key.clear()
        someone.sends(api.url)
    assert [r.header("authorization") for r in api.requests] == ["Bearer from-environment", None]


def test_the_clipboard_is_left_alone(someone: Person, api: Api) -> None:
    clipboard = application().clipboard()
    clipboard.setText("of another program")
    someone.types(TEXT)
    someone.sends(api.url)
    assert clipboard.text() == "of another program"


def test_the_window_offers_what_the_sdk_has() -> None:
    assert list(wish.POLICIES) == list(PRESETS)
    default = (wish.DEFAULT_POLICY, wish.DEFAULT_EPSILON)
    assert (Sanitizer().policy.name, Sanitizer().mechanism.epsilon) == default


def test_previews_that_nobody_waits_for_are_not_drawn() -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        Desk(1.0).preview(Wish(TEXT, "balanced", 5.0), cancelled)
