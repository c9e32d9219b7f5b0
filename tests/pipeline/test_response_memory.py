"""What the API said is recognized when it comes back, edited or not, by its place if need be."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import FileVault, Policy
from sanitizer.answers.alignment import Piece
from sanitizer.pipeline.record import answer_record
from sanitizer.pipeline.response_memory import Passage, Resent, ResponseMemory, declared
from sanitizer.storage.vault import MemoryVault, Vault

pytestmark = pytest.mark.usefixtures("quick_keys")

RECORD = answer_record(Policy.preset("identifiers"))
LONG = "Dear <P>, the number <N> that you gave us on Monday is not known here, so please call."
SHOWN = {"<P>": "Anna Nowak", "<N>": "4711"}


def passage(text: str, place: int = 0, shown: dict[str, str] = SHOWN) -> Passage:
    pieces, at = [], 0
    for start in sorted(i for value in shown for i in _places(text, value)):
        value = next(v for v in shown if text.startswith(v, start))
        pieces += [Piece(text[at:start], text[at:start]), Piece(value, shown[value])]
        at = start + len(value)
    pieces.append(Piece(text[at:], text[at:]))
    kept = tuple(piece for piece in pieces if piece.sent)
    return Passage("assistant", text, "".join(p.shown for p in kept), kept, place)


def _places(text: str, value: str) -> list[int]:
    return [i for i in range(len(text)) if text.startswith(value, i)]


@pytest.mark.parametrize("shown", ["", " ", "\n> "])
@pytest.mark.parametrize("said_", ["One <B> two three.", "\n<B> one two three.", "One two six <B>"])
def test_what_was_shown_without_a_word_is_kept_when_its_answer_is_edited(
    shown: str, said_: str
) -> None:
    memory = said(passage(said_, shown={"<B>": shown}))
    (out,) = back(memory, "Note: " + said_.replace("<B>", shown).rstrip() + " And so on.")
    assert " ".join(said_.split()) in " ".join(out.replace("<B>", " <B> ").split())


def said(*passages: Passage, vault: Vault | None = None) -> ResponseMemory:
    found = ResponseMemory(vault or MemoryVault(), RECORD)
    for each in passages:
        found.remember("c", [each])
    return found


def back(memory: ResponseMemory, *texts: str) -> list[str]:
    """What leaves, with what is the user's in brackets."""
    found = memory.align("c", [Resent("assistant", text) for text in texts])
    out = []
    for text, each in zip(texts, found, strict=True):
        if isinstance(each, str):
            out.append(each)
            continue
        read, at, marked = declared(text, each), 0, ""
        for start, end in [*read.declared, (len(read.text), len(read.text))]:
            own = read.text[at:start]
            marked += own.replace(own.strip(), f"[{own.strip()}]") if own.strip() else own
            marked += read.text[start:end]
            at = end
        out.append(marked)
    return out


def test_it_goes_back_as_it_came() -> None:
    memory = said(passage(LONG))
    assert back(memory, passage(LONG).shown) == [LONG]
    assert back(memory, "something else entirely, of which nothing is known") == [
        "[something else entirely, of which nothing is known]"
    ]


@pytest.mark.parametrize(
    ("was", "now", "out"),
    [
        ("Monday", "Tuesday 4711", LONG.replace("Monday", "[Tuesday 4711]")),
        ("Dear ", "  Dear\n\n", "  " + LONG.replace("Dear ", "Dear\n\n")),
        (", so please call.", "", LONG.replace(", so please call.", "")),
        ("Anna Nowak", "Anna", LONG.replace("<P>", "[Anna]")),
        (
            "Dear Anna Nowak, the number 4711 ",
            "",
            LONG.removeprefix("Dear <P>, the number <N> "),
        ),
    ],
)
def test_only_what_was_put_in_is_the_users(was: str, now: str, out: str) -> None:
    shown = passage(LONG).shown
    assert was in shown
    assert back(said(passage(LONG)), shown.replace(was, now)) == [out]


def test_two_answers_in_one_message() -> None:
    other = "We have moved to <P>, which is in the north of the town near the station."
    memory = said(passage(LONG), passage(other, 1, {"<P>": "Leeds"}))
    both = passage(LONG).shown + "\n" + passage(other, 1, {"<P>": "Leeds"}).shown
    assert back(memory, both) == [LONG + "\n" + other]


def test_what_looks_alike_is_told_apart_by_its_place() -> None:
    """In one world the guess is right: then both look alike, and must go back as they came."""
    guess, restored = passage("4711", 0), passage("<N>", 1)
    memory = said(guess, restored)
    assert back(memory, "4711", "4711") == ["4711", "<N>"]
    assert back(memory, "4711") == ["4711"]
    known = passage("An answer that nobody else gives, in the middle.", 2)
    memory.remember("c", [known])
    # The beginning of the history was cut off: the place of what is known tells by how much.
    assert back(memory, "4711", known.shown) == ["<N>", known.sent]


def test_an_answer_asked_for_again_is_the_latest() -> None:
    memory = said(passage("4711", 0), passage("<N>", 0))
    assert back(memory, "4711") == ["<N>"]


def test_conversations_and_roles_are_apart() -> None:
    memory = said(passage(LONG))
    shown = passage(LONG).shown
    assert memory.align("d", [Resent("assistant", shown)]) == [()]
    assert memory.align("c", [Resent("arguments", shown)]) == [()]


def test_it_is_kept_with_the_vault(tmp_path: Path) -> None:
    with FileVault(tmp_path / "v", "a long passphrase") as vault:
        first, second = said(vault=vault), said(vault=vault)
        first.remember("c", [passage(LONG)])
        assert back(second, passage(LONG).shown) == [LONG]
        second.remember("c", [passage("<N>", 1)])
        assert back(first, passage(LONG).shown, "4711") == [LONG, "<N>"]
        assert first.restored("c", "assistant") == {"<P>", "<N>"}
    assert b"Nowak" not in (tmp_path / "v").read_bytes()
    with FileVault(tmp_path / "v", "a long passphrase") as vault:
        assert back(said(vault=vault), passage(LONG).shown) == [LONG]


WORDS = st.lists(
    st.sampled_from(["a", "b", "<N>", "<P>", "4711", "x4711y", "\n", "."]), max_size=12
)


@given(WORDS, WORDS, st.integers(0, 40), st.integers(0, 40))
def test_segments_are_apart_and_never_hold_half_of_a_restored_one(
    one: list[str], two: list[str], start: int, end: int
) -> None:
    texts = [" ".join(one), "".join(two)]
    memory = said(*[passage(text, i) for i, text in enumerate(texts) if text])
    shown = "".join(passage(text).shown for text in texts)
    edited = shown[:start] + "inserted words" + shown[end:]
    (found,) = memory.align("c", [Resent("assistant", edited)])
    if isinstance(found, str):
        return
    at = 0
    for segment in found:
        assert at <= segment.start < segment.end <= len(edited)
        at = segment.end
        written = edited[segment.start : segment.end]
        assert segment.sent in (written, *(v for v, o in SHOWN.items() if o == written))
        assert "inserted" not in segment.sent


def test_what_is_forgotten_takes_its_answers_along_and_no_others(tmp_path: Path) -> None:
    with FileVault(tmp_path / "v", "a long passphrase") as vault:
        memory = said(passage(LONG), vault=vault)
        memory.remember("d", [passage(LONG)])
        vault.forget("c")
        again, shown = ResponseMemory(vault, RECORD), Resent("assistant", passage(LONG).shown)
        assert again.align("c", [shown], sends=False) == [()]
        assert again.align("d", [shown], sends=False) == [LONG]


def test_a_long_conversation_lets_others_go_and_they_are_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sanitizer.pipeline.response_memory.MAX_TURNS", 5)
    memory, shown = said(passage(LONG)), Resent("assistant", passage(LONG).shown)
    for i in range(9):
        memory.remember("long", [passage(f"{LONG} And {i}.", i)])
    assert memory.align("c", [shown], sends=False) == [LONG]
    held = memory._held.get("c")
    assert memory._held.get("long") is None
    assert held is not None
    assert memory._held._n_entries == held.n_held == 1
