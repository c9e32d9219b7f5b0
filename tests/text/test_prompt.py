"""Templates and phrases: what is declared, and that nothing hidden reaches into it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import Policy, Prompt
from sanitizer.detect.detector import Detector
from sanitizer.detect.units import document
from sanitizer.detect.view import parted
from sanitizer.testing.models import ToyReader
from sanitizer.text.prompt import DeclaredText, Phrases, merged
from sanitizer.text.words import Article, Unit, overlapping
from tests.detect.splitting import split

STRICT = Policy.preset("strict")
PIECES = [
    *("anna@x.org", "Zoltan", "the", "1", ",", "250", " ", "\n", "<EMAIL_", "1>", "@", "mailto:"),
    *("https://x.org/?q=", "é\u0301", "'s", "an", "US", "Bank", "of", "\ud800", "12 May 2020"),
]


def declared(filled: DeclaredText) -> list[str]:
    return [filled.text[start:end] for start, end in filled.declared]


class TestPrompt:
    def test_literal_parts_and_public_values_are_declared(self) -> None:
        prompt = Prompt("Translate to {language:public}: {letter} Thanks {{me}}")
        filled = prompt.fill(language="German", letter="Dear Otto")
        assert filled.text == "Translate to German: Dear Otto Thanks {me}"
        assert declared(filled) == ["Translate to German: ", " Thanks {me}"]
        assert prompt.fields == ("language", "letter")

    def test_values_are_never_read_as_templates(self) -> None:
        filled = Prompt("a {x} b").fill(x="{y:public} {{")
        assert (filled.text, declared(filled)) == ("a {y:public} {{ b", ["a ", " b"])

    def test_numbers_are_values_and_filled_prompts_keep_what_they_declare(self) -> None:
        inner = Prompt("to {name}").fill(name="Otto")
        filled = Prompt("{n:public} letters {inner} {n:public}").fill(n=3, inner=inner)
        assert filled.text == "3 letters to Otto 3"
        assert declared(filled) == ["3 letters to ", " 3"]

    def test_a_field_may_have_the_name_of_an_argument(self) -> None:
        assert Prompt("{self} {values}").fill(self="a", values="b").text == "a b"

    @pytest.mark.parametrize(
        "template", ["{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:.2f}", "{a:public}{a}", "{", "}"]
    )
    def test_unusable_templates(self, template: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011
            Prompt(template)

    def test_missing_and_unknown_fields_are_named_and_values_are_not(self) -> None:
        with pytest.raises(TypeError, match=r"missing fields \['a'\], unknown fields \['b'\]") as e:
            Prompt("{a}").fill(b="Zoltan")
        assert "Zoltan" not in str(e.value)
        with pytest.raises(TypeError, match="'a' must be a str or a number, got list"):
            Prompt("{a}").fill(a=["Zoltan"])  # type: ignore[arg-type]

    def test_no_repr_holds_text(self) -> None:
        prompt = Prompt("Zoltan {a}")
        filled = DeclaredText.of(prompt.fill(a="Otto"), keep=["Quorn"])
        assert not any(word in repr((prompt, filled)) for word in ("Zoltan", "Otto", "Quorn"))

    def test_an_unfilled_prompt_is_no_text(self) -> None:
        with pytest.raises(TypeError, match="fill it first"):
            DeclaredText.of(Prompt("{a}"))


class Interpolation:
    def __init__(self, value: object, spec: str = "", conversion: str | None = None) -> None:
        self.value, self.format_spec, self.conversion = value, spec, conversion


def test_t_strings_declare_their_literal_parts() -> None:
    """A stand-in for the class of Python 3.14, which iterates over parts like this."""

    class Template(list[Any]):
        pass

    Template.__module__ = "string.templatelib"
    parts = ["Translate to ", Interpolation("German", "public"), ": ", Interpolation(1.5, ".2f")]
    filled = DeclaredText.of(Template([*parts, Interpolation("x", "", "r")]))
    assert filled.text == "Translate to German: 1.50'x'"
    assert declared(filled) == ["Translate to German: "]
    Template.__module__ = "elsewhere"
    with pytest.raises(TypeError, match="got Template"):
        DeclaredText.of(Template())


class TestPhrases:
    @pytest.mark.parametrize(
        ("phrase", "text", "found"),
        [
            ("Jira", "Jira, jira JIRA Jiras", ["Jira"]),
            ("Jira", "Jira's Jira’s", ["Jira's", "Jira’s"]),
            ("step 4", "step 4, step\n 4, step 40, step-4, a step 4.", ["step 4", "step\n 4"]),
            ("4", "4 4.5 1,4 4. 14", ["4", "4"]),
            ("C++", "C++ and C and C+", ["C++"]),
            ("#42", "42 #42", ["#42"]),
            ("don't", "don’t don't dont", ["don’t", "don't"]),
            ("a b", "a a b b", ["a b"]),
            ("caf\u00e9", "cafe\u0301", ["cafe\u0301"]),
        ],
    )
    def test_whole_words_as_written(self, phrase: str, text: str, found: list[str]) -> None:
        spans = Phrases([phrase]).spans(text)
        assert [text[a:b] for a, b in spans][: len(found)] == found
        assert len(spans) >= len(found)

    def test_private_phrases_are_found_in_any_case_and_without_the_clitic(self) -> None:
        finder, text = (
            Phrases(["Project Bluebird", "K-4711"], private=True),
            "PROJECT bluebird's k-4711.5",
        )
        assert [text[a:b] for a, b in finder.spans(text)] == ["PROJECT bluebird", "k-4711"]

    def test_phrases_that_overlap_are_one_stretch(self) -> None:
        assert Phrases(["a b", "b c"]).spans("a b c") == ((0, 5),)

    @given(
        st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
        st.lists(st.sampled_from(PIECES)),
    )
    def test_spans_are_ascending_and_apart(self, text: str, phrases: list[str]) -> None:
        finder = Phrases(p for p in phrases if any(c.isalnum() for c in p))
        spans = finder.spans(text)
        assert merged(spans) == spans
        assert all(0 <= a < b <= len(text) for a, b in spans)

    @pytest.mark.parametrize(
        ("keep", "error"),
        [("Jira", TypeError), ([1], TypeError), ([""], ValueError), (["++"], ValueError)],
    )
    def test_unusable_phrases(self, keep: Any, error: type[Exception]) -> None:
        with pytest.raises(error, match="keep must"):
            DeclaredText.of("text", keep)


class TestSplit:
    @pytest.mark.parametrize("preset", ["strict", "balanced", "identifiers"])
    @given(parts=st.lists(st.tuples(st.sampled_from(PIECES), st.booleans()), max_size=12))
    def test_no_unit_touches_declared_text(
        self, preset: str, parts: list[tuple[str, bool]]
    ) -> None:
        template = "".join(f"{{p{i}{':public' * public}}}" for i, (_, public) in enumerate(parts))
        filled = Prompt(template).fill(**{f"p{i}": text for i, (text, _) in enumerate(parts)})
        policy = Policy.preset(preset)
        found = split(filled.text, policy, filled.declared)
        cuts: list[Unit | Article] = [*found.units, *found.articles]
        for cut in cuts:
            assert not overlapping(filled.declared, cut.start, cut.end)
            assert cut.start < cut.end
        assert all(u.text == filled.text[u.start : u.end] for u in found.units)
        assert list(document(filled.text, policy, filled.declared).taken) == [
            u for u in found.units if u.kind.isupper() and u.kind != "NUMBER"
        ]

    @pytest.mark.parametrize(
        ("template", "value", "unit"),
        [
            ("mailto:{x}", "anna@x.org", ("anna@x.org", "EMAIL")),
            ("{x}@example.org", "anna", ("anna", "EMAIL")),
            ("https://x.org/?user={x}", "anna-lee", ("anna-lee", "URL")),
            ("{x}1>", "<EMAIL_", ("<EMAIL_", "TEXT")),
            ("{x} May 2020", "12", ("12", "DATE")),
        ],
    )
    def test_the_private_part_of_an_identifier_is_hidden(
        self, template: str, value: str, unit: tuple[str, str]
    ) -> None:
        filled = Prompt(template).fill(x=value)
        found = split(filled.text, STRICT, filled.declared)
        assert [(u.text, u.kind) for u in found.units] == [unit]

    def test_words_end_where_declared_text_begins(self) -> None:
        filled = Prompt("{a}son and {b}'s an {c}").fill(a="Peter", b="Otto", c="hour")
        found = split(filled.text, STRICT, filled.declared)
        assert [u.text for u in found.units] == ["Peter", "Otto", "hour"]
        assert found.articles == ()
        assert found.n_declared == 4

    def test_numbers_do_not_grow_over_declared_text(self) -> None:
        filled = Prompt("{a},{b}").fill(a=1, b=250)
        units = split(filled.text, Policy.preset("words"), filled.declared).units
        assert [(u.text, u.kind) for u in units] == [("1", "NUMBER"), ("250", "NUMBER")]

    def test_a_number_does_not_grow_over_a_public_word(self) -> None:
        units = split("3 and.5", Policy.preset("words")).units
        assert [u.text for u in units] == ["3", "5"]

    def test_identifiers_come_before_phrases_and_phrases_before_the_rest(self) -> None:
        text = "Zoltan knows Otto at otto.zoltan@x.org on 12 May 2020"
        found = split(text, STRICT, (), ("Zoltan", "otto", "May"))
        assert [u.text for u in found.units] == [
            "knows",
            "Otto",
            "otto.zoltan@x.org",
            "12 May 2020",
        ]
        whole = split(text, STRICT, (), ("at otto.zoltan@x.org",))
        assert "EMAIL" not in [u.kind for u in whole.units]


class TestReading:
    def test_declared_words_are_visible_and_part_runs(self) -> None:
        filled = Prompt("Call {a} Smith{b}").fill(a="Otto", b="qzson")
        found = parted(filled.text, (), filled.declared)
        assert [run.written for run in found.runs] == ["Otto", "qzson"]
        assert len(found.view.words) == 2
        apart = Prompt("{a} {b}").fill(a="Otto", b="Quorn")
        assert len(parted(apart.text, (), apart.declared).runs) == 2
        assert len(parted(apart.text).runs) == 1

    @given(
        value=st.sampled_from(["Otto", "Quorn", "zq", "Uwe"]),
        other=st.sampled_from(["Otto", "Quorn", "zq", "Uwe"]),
        head=st.sampled_from(["", "Elena ", "the ", "x. "]),
        tail=st.sampled_from(["", " Elena", ". The", "son"]),
    )
    def test_another_value_moves_nothing_else(
        self, value: str, other: str, head: str, tail: str
    ) -> None:
        views = []
        for text in (value, other):
            filled = Prompt(f"{head}{{x}}{tail}").fill(x=text)
            views.append(parted(filled.text, (), filled.declared).view)
        assert views[0] == views[1]

    @pytest.mark.parametrize("kind", ["PERSON", "ORGANIZATION", "MONEY"])
    def test_findings_do_not_join_over_declared_text(self, kind: str) -> None:
        detector = Detector(ToyReader(kind))
        filled = Prompt("{a} of {b} costs ${n} million").fill(a="Quorn", b="Zoltania", n=32)
        reading = detector.read(filled.text, (), filled.declared)
        found = [filled.text[f.start : f.end] for f in reading.findings]
        assert found == ["Quorn", "Zoltania", "32"]
        beside = Prompt("{a} {b}").fill(a="Quorn", b="Zoltania")
        assert len(detector.read(beside.text, (), beside.declared).findings) == 2
