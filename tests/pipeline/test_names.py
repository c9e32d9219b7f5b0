"""Natural names in place of names: what they depend on, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from sanitizer import FileVault, Policy, PolicyError, Sanitizer
from sanitizer.answers.restorer import Restorer
from sanitizer.detect.view import languages
from sanitizer.storage.table import Originals, name_marks
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing.models import SeededSource
from sanitizer.text.policy import word_list
from tests.conftest import Told

pytestmark = pytest.mark.usefixtures("quick_keys")

NATURAL = {"base": "deidentify", "style": {"names": "natural"}}
LETTER = (
    "Dear Ms. Elena Marsh, your brother Peter lives in Leeds and works for Caldwell Foods. "
    "MARSH is well, and so is Marsh."
)


@pytest.fixture(autouse=True)
def read(told: Told) -> None:
    """What is read is not the subject here."""
    told(
        PERSON="Elena Marsh MARSH marsh Peter Lund Tom Berger Anton Gemma Vazquez Xu Q Ola Ito "
        "Novak Silva Okafor",
        PLACE="Leeds",
        ORGANIZATION="Caldwell Foods caldwell",
    )


@pytest.fixture
def natural() -> Sanitizer:
    return Sanitizer(policy=NATURAL)


def names_of(sanitizer: Sanitizer) -> dict[str, str]:
    """Original -> natural name."""
    originals = sanitizer.inner.vault.originals(sanitizer.conversation)
    return {original: name for name, original in originals.names.items()}


def test_names_get_names_and_come_back_byte_for_byte(natural: Sanitizer) -> None:
    sent = natural.sanitize(LETTER, source=SeededSource(1))  # a name may be drawn for itself
    assert "<" not in sent.text
    assert not any(w in sent.text for w in ("Elena", "arsh", "MARSH", "Peter", "Leeds", "Caldwell"))
    assert natural.restore(sent.text) == LETTER
    assert natural.sanitize(LETTER).text == sent.text


def test_parts_and_other_cases_are_parts_and_cases_of_the_name(natural: Sanitizer) -> None:
    natural.sanitize(LETTER, source=SeededSource(1))
    names = names_of(natural)
    given, family = names["Elena Marsh"].split()
    assert {names["MARSH"], names["Marsh"]} == {family, family.upper()}
    upper = names_back(natural, family.upper())
    answer = f"{given} and {family.upper()}'s dog; {given.lower()}. {given}{family} {given}_x"
    assert natural.restore(answer) == f"Elena and {upper}'s dog; Elena. {given}{family} {given}_x"


def names_back(sanitizer: Sanitizer, name: str) -> str:
    return sanitizer.inner.vault.originals(sanitizer.conversation).names[name]


@pytest.mark.parametrize("others", [("Tom Berger", "Anton"), ("Gemma Vazquez", "Xu"), ("Q", "Ola")])
def test_the_same_random_numbers_give_the_same_names_whatever_they_replace(
    others: tuple[str, str],
) -> None:
    """Theorem A: the stand-in reads the class, visible text and earlier stand-ins only."""

    def sent(person: str, other: str) -> str:
        text = f"Dear Ms. {person}, Mr. {other} called. Ask Dr. {person} when he comes."
        sanitizer = Sanitizer(policy=NATURAL, vault=MemoryVault(numbers="from 1"))
        return sanitizer.sanitize(text, source=SeededSource(7)).text

    assert sent(*others) == sent("Elena Marsh", "Peter Lund")


def test_a_name_is_not_excluded_because_it_is_the_private_one(told: Told) -> None:
    def sent(person: str) -> str:
        sanitizer = Sanitizer(policy=NATURAL)
        return sanitizer.sanitize(f"Dear Ms. {person}, hello.", source=SeededSource(3)).text

    first = sent("Elena Marsh")
    own = first.removeprefix("Dear Ms. ").removesuffix(", hello.")
    told(PERSON=own)
    assert sent(own) == first


def test_visible_text_and_earlier_names_exclude_what_could_be_confused(natural: Sanitizer) -> None:
    people = [f"Mr. {name}" for name in ("Lund", "Berger", "Ito", "Novak", "Silva", "Okafor")]
    natural.sanitize("We met " + ", ".join(people) + " there.")
    words = [set(name.split()) for name in names_of(natural).values()]
    assert len(words) == len(people)
    for one, two in combinations(words, 2):
        for a in one:
            assert all(name_marks(a).isdisjoint(name_marks(b)) for b in two)
    drawn = {}
    for keep in ((), tuple(sorted(words[0]))):
        sanitizer = Sanitizer(policy=NATURAL)
        shown = f"We met Mr. Lund there, with {' '.join(keep)}."
        sanitizer.sanitize(shown, keep=keep, source=SeededSource(1))
        drawn[keep] = set(names_of(sanitizer)["Lund"].split())
    assert drawn[keep].isdisjoint(keep)


@pytest.mark.slow
def test_gender_follows_visible_text() -> None:
    people = {
        kind: set(names.split())
        for line in word_list("people.txt", "classes")
        for kind, _, names in [line.partition(" = ")]
    }
    for text, kind in (
        ("Dear Mrs. Marsh, hello.", "en female"),
        ("Then Marsh lost his keys.", "en male"),
        ("My brother Marsh lost it there.", "en male"),
    ):
        for seed in range(5):
            sanitizer = Sanitizer(policy=NATURAL)
            sanitizer.sanitize(text, source=SeededSource(seed))
            (name,) = names_of(sanitizer).values()
            assert name.split()[0] in people[kind], text


def test_no_name_on_the_lists_is_a_word_of_its_language() -> None:
    n_names = 0
    for line in [*word_list("people.txt", "classes"), *word_list("towns.txt", "classes")]:
        head, _, names = line.partition(" = ")
        n_names += len(names.split())
        for code in ("en", head.split()[0]):
            shows = languages()[code].shows
            assert not [name for name in names.split() if shows(name, opens=True)], code
    assert n_names > 5000


def test_code_keeps_placeholders_and_exhausted_lists_do_too() -> None:
    sanitizer = Sanitizer(policy=NATURAL)
    code = (
        "```python\ndef run_caldwell_export(marsh_id):\n    return marsh_id\n```\nAsk Elena Marsh."
    )
    sent = sanitizer.sanitize(code).text
    assert sanitizer.restore(sent) == code

    class First:
        """Always the same number: every name after the first is taken."""

        def randbelow(self, n: int, /) -> int:
            return 0

    text = "We met Mr. Lund and Mr. Berger."
    out = Sanitizer(policy=NATURAL).sanitize(text, source=First()).text
    assert "<PERSON_" in out


def test_a_vault_in_a_file_knows_names_again(tmp_path: Path) -> None:
    key = "a passphrase of many letters"
    with FileVault(tmp_path / "vault", key) as vault:
        one = Sanitizer(policy=NATURAL, vault=vault, conversation="c")
        sent = one.sanitize(LETTER).text
        given = names_of(one)["Elena Marsh"].split()[0]
    with FileVault(tmp_path / "vault", key) as vault:
        two = Sanitizer(policy=NATURAL, vault=vault, conversation="c")
        assert two.restore(sent) == LETTER
        assert two.restore(f"So, {given}?") == "So, Elena?"
        assert two.sanitize(LETTER).text == sent
        assert two.derive(charged=False).sanitize(LETTER).text == sent


def splits(text: str) -> Iterator[list[str]]:
    yield list(text)
    yield from ([text[:i], text[i:]] for i in range(1, len(text)))


def test_every_split_of_a_stream_restores_the_same() -> None:
    originals = Originals()
    originals.add_name("Lena Okoro", "Elena Marsh", "PERSON")
    originals.add_name("Okoro", "Marsh", "PERSON")
    originals.add_name("Tampere", "Leeds", "PLACE")
    originals["<EMAIL_1>"] = "elena@example.org"
    restorer = Restorer(originals)
    answer = "Lena Okoro's <EMAIL_1>, Lena\n Okoros, LENA of Tampere. Lenas, Lenax, Len, Okoro"
    whole = (
        "Elena Marsh's elena@example.org, Elena Marshs, ELENA of Leeds. Elenas, Lenax, Len, Marsh"
    )
    assert restorer.text(answer) == whole
    for pieces in splits(answer):
        stream = restorer.stream()
        assert "".join([*map(stream.feed, pieces), stream.finish()]) == whole, pieces


def test_a_class_may_have_names_alone() -> None:
    policy = Policy.from_dict({"base": "deidentify", "style": {"PLACE": "natural"}})
    assert policy.natural == {"PLACE"}
    text = "Mr. Lund lives in Leeds."
    sent = Sanitizer(policy=policy).sanitize(text, source=SeededSource(1)).text
    assert "<PERSON_1>" in sent
    assert "Leeds" not in sent
    assert "<PLACE" not in sent
    with pytest.raises(PolicyError, match="must be one of placeholder, natural"):
        Policy.from_dict({"style": {"names": "real"}})
