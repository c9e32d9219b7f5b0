"""What every vault keeps, as tests that each kind of vault inherits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import pytest

from sanitizer.errors import VaultError
from sanitizer.results import Record, Replacement, SanitizedText
from sanitizer.storage.table import MAX_FORMED, Drawn, Entries, Wanted
from sanitizer.storage.vault import Vault, placeholders

KEY = b"a key of at least sixteen bytes"


Make = Callable[[str, str, int, Entries], str]
"""Function (kind, original, number, table) -> a value for the first form of a thing."""

ANNA, BERTA = ("EMAIL", "anna@example.org"), ("EMAIL", "berta@example.org")
PHONE = ("PHONE", "+44 20 7946 0958")


def placeholder(kind: str, original: str, number: int, table: Entries) -> str:
    return f"<{kind}_{number}>"


def substitutes(
    vault: Vault, conversation: str, wanted: Sequence[Wanted | tuple[str, str]], make: Make
) -> list[str]:
    """The values of forms, in order; those that have none are made, again while one is taken."""
    forms = [Wanted(*each) for each in wanted]
    with vault.edit(conversation) as table:
        if new := sum(table.find(each) is None for each in dict.fromkeys(forms)):
            table.make_room(new)
        for each in forms:
            value = table.find(each)
            while value is None:
                number = table.number(each)
                value = table.assign(each, make(each.kind, each.original, number, table))
        return [str(table.find(each)) for each in forms]


def drawn(kind: str, original: str, number: int, table: Entries) -> str:
    """A value that knows no number, for as long as it may be drawn."""
    if number > MAX_FORMED:
        return placeholder(kind, original, number, table)
    return f"drawn {number}" + " (PHONE)" * (kind == "PHONE")


def result(text: str, *originals: str, **changed: object) -> SanitizedText:
    """A result with every field of the record set."""
    values: dict[str, object] = {f.name: f"{f.name} é" for f in fields(Record)}
    values |= {
        "settings": {"clip": [0.1, -2.5]},
        "epsilon_total": math.inf,
        "certified": True,
        "reason": None,
    }
    replacements = tuple(
        Replacement(i, i + 1, "x", "EMAIL", original) for i, original in enumerate(originals)
    )
    return SanitizedText(text, replacements, Record(**(values | changed)))  # type: ignore[arg-type]


class VaultContract:
    """What every vault keeps. Subclasses say how one is made."""

    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        raise NotImplementedError

    @pytest.fixture
    def vault(self, tmp_path: Path) -> Vault:
        return self.make(tmp_path)

    def test_an_original_keeps_its_value_and_numbers_count_up_per_kind(self, vault: Vault) -> None:
        assert placeholders(vault, "c", [ANNA, PHONE, BERTA, ANNA]) == [
            "<EMAIL_1>",
            "<PHONE_1>",
            "<EMAIL_2>",
            "<EMAIL_1>",
        ]
        assert placeholders(vault, "c", [BERTA, ("EMAIL", "c@example.org")]) == [
            "<EMAIL_2>",
            "<EMAIL_3>",
        ]
        assert vault.originals("c")["<EMAIL_2>"] == BERTA[1]
        assert len(vault.originals("c")) == 4

    def test_nothing_wanted_is_nothing_given(self, vault: Vault) -> None:
        assert placeholders(vault, "c", []) == []
        assert vault.originals("c") == {}

    def test_conversations_know_nothing_of_each_other(self, vault: Vault) -> None:
        placeholders(vault, "c", [ANNA])
        placeholders(vault, "d", [BERTA])
        assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}
        assert vault.originals("d") == {"<EMAIL_1>": BERTA[1]}
        assert vault.originals("") == {}

    def test_a_value_that_is_taken_is_made_again_with_the_next_number(self, vault: Vault) -> None:
        def halves(kind: str, original: str, number: int, table: Entries) -> str:
            return f"v{number // 2}"

        values = substitutes(vault, "c", [("A", str(i)) for i in range(5)] + [("B", "x")], halves)
        assert len(set(values)) == 6

    @pytest.mark.parametrize("earlier", [[], [PHONE]], ids=["new conversation", "known one"])
    def test_after_an_exception_nothing_is_kept(
        self, vault: Vault, earlier: list[tuple[str, str]]
    ) -> None:
        placeholders(vault, "c", earlier)
        before = dict(vault.originals("c"))

        def failing() -> None:
            with vault.edit("c") as table:
                table.hide(Wanted(*ANNA))
                assert table.assign(Wanted("CONDITION", "asthma"), Drawn("gout", 5.0)) == "gout"
                raise KeyError

        with pytest.raises(KeyError):
            failing()
        assert vault.originals("c") == before
        assert vault.known("c", [ANNA[1], "asthma"]) == {}
        (value,) = placeholders(vault, "c", [ANNA])
        assert vault.originals("c") == before | {value: ANNA[1]}

    def test_a_block_sees_what_it_assigned_and_others_see_it_at_its_end(self, vault: Vault) -> None:
        anna = Wanted(*ANNA)
        with vault.edit("c") as table:
            assert table.find(anna) is None
            value = table.hide(anna)
            assert table.find(anna) == table.assign(anna, "another") == value
            assert table.assign(Wanted(*BERTA), value) is None, "it is taken"
        assert vault.originals("c") == {value: ANNA[1]}
        with vault.edit("c") as table:
            assert table.find(anna) == value
            assert table.find(Wanted(*BERTA)) is None
        assert vault.originals("c") == {value: ANNA[1]}

    def test_a_table_is_changed_in_a_block_only(self, vault: Vault) -> None:
        with vault.edit("c") as table:
            pass
        with pytest.raises(VaultError, match=r"Vault\.edit"):
            table.hide(Wanted(*ANNA))

    def test_a_full_table_refuses_and_keeps_what_it_has(self, tmp_path: Path) -> None:
        vault = self.make(tmp_path, max_entries=2)
        with pytest.raises(VaultError, match="max_entries=2"):
            placeholders(vault, "c", [ANNA, BERTA, PHONE])
        assert vault.originals("c") == {}
        assert placeholders(vault, "c", [ANNA, BERTA]) == ["<EMAIL_1>", "<EMAIL_2>"]
        with pytest.raises(VaultError, match="full"):
            placeholders(vault, "c", [PHONE])
        assert placeholders(vault, "c", [BERTA, ANNA]) == ["<EMAIL_2>", "<EMAIL_1>"]

    def test_the_first_result_stays(self, vault: Vault) -> None:
        first, second = result("one", ANNA[1]), result("two")
        assert vault.get(b"k") is None
        assert vault.put_first(b"k", first) is first
        assert vault.put_first(b"k", second) == first
        assert vault.get(b"k") == first

    def test_the_oldest_message_is_dropped(self, tmp_path: Path) -> None:
        vault = self.make(tmp_path, max_messages=2)
        for key in (b"a", b"b", b"c"):
            vault.put_first(key, result(key.decode()))
        assert vault.get(b"a") is None
        assert [vault.get(key) for key in (b"b", b"c")] == [result("b"), result("c")]

    def test_the_secret_stays_the_same(self, vault: Vault) -> None:
        assert vault.secret == vault.secret
        assert len(vault.secret) == 32

    @pytest.mark.parametrize("name", ["max_messages", "max_entries"])
    def test_limits_below_one_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
            self.make(tmp_path, **{name: 0})

    def test_threads_never_share_a_value_between_two_originals(self, vault: Vault) -> None:
        def work(number: int) -> list[tuple[str, str]]:
            wanted = [("EMAIL", f"{i}@example.org") for i in range(number, number + 12)]
            return list(
                zip(
                    (w[1] for w in wanted),
                    placeholders(vault, "c", wanted),
                    strict=True,
                )
            )

        with ThreadPoolExecutor(8) as pool:
            pairs = {pair for found in pool.map(work, range(16)) for pair in found}
        assert (
            len(pairs)
            == len({original for original, _ in pairs})
            == len({value for _, value in pairs})
            == 27
        )
        assert vault.originals("c") == {value: original for original, value in pairs}

    def test_threads_that_race_for_one_key_get_one_result(self, vault: Vault) -> None:
        with ThreadPoolExecutor(8) as pool:
            kept = list(pool.map(lambda i: vault.put_first(b"k", result(str(i))).text, range(16)))
        assert len(set(kept)) == 1

    def test_its_repr_holds_no_text(self, vault: Vault) -> None:
        placeholders(vault, "talk", [ANNA])
        vault.put_first(b"k", result("hello", ANNA[1]))
        assert not any(word in repr(vault) for word in ("anna", "talk", "hello"))

    def test_a_thing_has_one_stand_in_however_it_is_written(self, vault: Vault) -> None:
        forms = [("PERSON", "Elena Marsh"), ("PERSON", "ELENA  MARSH"), ("PLACE", "elena marsh")]
        assert placeholders(vault, "c", forms) == [
            "<PERSON_1>",
            "<PERSON_1_2>",
            "<PERSON_1_3>",
        ]
        assert vault.originals("c")["<PERSON_1_2>"] == "ELENA  MARSH", "byte for byte"
        assert vault.known("c", ["elena MARSH", "marsh"]) == {"elena MARSH": "PERSON"}

    def test_a_part_of_a_name_belongs_to_the_only_person_with_it(self, vault: Vault) -> None:
        people = [("PERSON", name) for name in ("Elena Marsh", "Tom Marsh", "Elena", "Marsh")]
        assert placeholders(vault, "c", people) == [
            "<PERSON_1>",
            "<PERSON_2>",
            "<PERSON_1:first>",
            "<PERSON_3>",
        ]

    def test_a_thing_is_drawn_once_and_stands_for_its_first_form(self, vault: Vault) -> None:
        drawn_for: list[str] = []

        def make(kind: str, original: str, number: int, table: Entries) -> str:
            drawn_for.append(original)
            return Drawn(["gout", "lupus"][len(table.drawn)], 5.0)

        wanted = [
            Wanted("CONDITION", "hep C", "hepatitis c"),
            Wanted("CONDITION", "HCV", "hepatitis c"),
        ]
        assert substitutes(vault, "c", wanted, make) == ["gout", "gout"]
        assert substitutes(vault, "c", [Wanted("CONDITION", "asthma")], make) == ["lupus"]
        assert substitutes(vault, "c", wanted[::-1], make) == ["gout", "gout"]
        assert drawn_for == ["hep C", "asthma"]
        assert vault.originals("c") == {"gout": "hep C", "lupus": "asthma"}
        assert vault.originals("c").drawn == {"gout": 5.0, "lupus": 5.0}

    def test_a_part_of_a_name_is_known_with_its_capital(self, vault: Vault) -> None:
        placeholders(vault, "c", [("PERSON", "Elena Marsh")])
        assert vault.known("c", ["Marsh", "MARSH", "marsh", "elena marsh", "Mar"]) == {
            "Marsh": "PERSON",
            "MARSH": "PERSON",
            "elena marsh": "PERSON",
        }
        placeholders(vault, "c", [("PERSON", "Peter Marsh")])
        assert set(vault.known("c", ["Marsh", "Peter"])) == {"Marsh", "Peter"}, "of whom, is open"

    def test_a_drawn_thing_stays_one_where_it_is_read_as_a_name(self, vault: Vault) -> None:
        """Once "ASTHMA", read as a person, became the original, and each word of the stand-in."""
        substitutes(
            vault, "c", [Wanted("CONDITION", "asthma")], lambda *_: Drawn("anxiety disorder", 5.0)
        )
        later = placeholders(vault, "c", [Wanted("PERSON", "ASTHMA")])
        assert later == ["anxiety disorder"]
        assert vault.originals("c") == {"anxiety disorder": "asthma"}
        assert vault.originals("c").names == {}

    def test_a_draw_that_is_taken_is_an_error_and_no_loop(self, vault: Vault) -> None:
        substitutes(vault, "c", [("CONDITION", "asthma")], lambda *_: Drawn("gout", 5.0))
        with pytest.raises(VaultError, match="taken"):
            substitutes(vault, "c", [("CONDITION", "lupus")], lambda *_: Drawn("gout", 5.0))
        assert vault.originals("c") == {"gout": "asthma"}

    def test_a_scratch_copy_changes_nothing(self, vault: Vault) -> None:
        placeholders(vault, "c", [ANNA])
        substitutes(vault, "c", [("CONDITION", "asthma")], lambda *_: Drawn("gout", 5.0))
        scratch = vault.scratch("c")
        assert placeholders(scratch, "c", [ANNA, BERTA]) == ["<EMAIL_1>", "<EMAIL_2>"]
        assert scratch.originals("c").drawn == {"gout": 5.0}
        assert len(vault.originals("c")) == 2
