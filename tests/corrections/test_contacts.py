"""Contacts and customers, read from CSV and vCards as common programs write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizer.corrections.lists import contacts_in


def phrases(path: Path, content: str, *columns: str) -> tuple[str, ...]:
    path.write_bytes(content.encode())
    return contacts_in(path, columns).phrases


def test_names_firms_addresses_and_numbers_of_a_table_are_taken(tmp_path: Path) -> None:
    table = (
        "\ufeffFirst Name,Last Name,Company,E-mail 1 - Value,Phone 1 - Value,Notes\r\n"
        'Elena,Marsh,"Caldwell, Foods Ltd",elena@example.org,+44 20 7946 0958,"likes\r\ntea"\r\n'
        "Tom,Berger,,tom@example.org,,\r\n"
    )
    told = "Caldwell, Foods Ltd|elena@example.org|+44 20 7946 0958|Elena Marsh|tom@example.org"
    assert "|".join(phrases(tmp_path / "a.csv", table)) == f"{told}|Tom Berger"


def test_other_delimiters_and_named_columns(tmp_path: Path) -> None:
    assert phrases(tmp_path / "a.csv", "Kunde;Ort\nCaldwell Foods;Leeds\n") == ("Caldwell Foods",)
    table = "Deal\tOwner\nProject Falcon\tElena Marsh\n"
    assert phrases(tmp_path / "a.tsv", table, "deal") == ("Project Falcon",)
    for columns in ((), ("Price",), ("Deal", "Price")):
        with pytest.raises(ValueError, match="no such column") as refused:
            phrases(tmp_path / "a.tsv", table, *columns)
        assert "Falcon" not in str(refused.value)


def test_everyday_words_and_short_ones_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name\nYoung\nAl\nZoltan\nRose Will\n\nZoltan\n")
    found = contacts_in(tmp_path / "a.csv")
    assert (found.phrases, found.n_left_out) == (("Zoltan", "Rose Will"), 2)
    assert "Zoltan" not in repr(found)


def test_vcards_of_three_versions(tmp_path: Path) -> None:
    cards = Path(__file__).with_name("cards.vcf").read_text("utf-8")
    told = "Elena Marsh|Dr. Elena Marsh|Caldwell, Foods|Lenchen|Elli Marsh|elena@example.org"
    told += "|Tom Berger|+44-20-7946-0958|J\u00fcrgen W\u00f6rner"
    for content in (cards, cards.replace("\n", "\r\n")):
        assert "|".join(phrases(tmp_path / "a.vcf", content)) == told


def test_other_files_are_refused_without_a_quote(tmp_path: Path) -> None:
    for name, content, told in (
        ("a.vcf", b"FN:Elena Marsh", "no vCard"),
        ("a.csv", b"name\nJ\xfcrgen W\xf6rner", "UTF-8"),
        ("a.json", b"{}", "must be a .csv"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=told) as refused:
            contacts_in(tmp_path / name)
        assert not any(word in str(refused.value) for word in ("Elena", "rner"))
