"""Presets and policy files."""

from __future__ import annotations

import re
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from sanitizer import Cape, DynText, Sanitizer
from sanitizer.errors import PolicyError
from sanitizer.text.policy import PRESETS, Policy, WordSet, word_list
from sanitizer.text.policy_file import _KEYS


def test_strict_has_the_179_stopwords() -> None:
    assert len(word_list("stopwords.txt")) == 179
    assert Policy.preset("strict").public == frozenset(word_list("stopwords.txt"))


def test_balanced_adds_3000_words_and_none_of_them_is_sensitive() -> None:
    added = word_list("public.txt")
    assert len(added) == len(set(added)) == 3000
    sensitive = WordSet.of(word_list("sensitive.txt"))
    assert [w for w in added if w in sensitive] == []
    assert Policy.preset("words").public == frozenset(word_list("stopwords.txt")) | frozenset(added)


@pytest.mark.parametrize(
    "word", ["cancer", "catholic", "gay", "democrat", "bankrupt", "prison", "murder", "jewish"]
)
def test_the_always_sensitive_list_covers_its_classes(word: str) -> None:
    assert word in WordSet.of(word_list("sensitive.txt"))


@pytest.mark.parametrize("preset", [p for p in PRESETS if Policy.preset(p).perturb])
def test_numerals_and_names_are_never_public(preset: str) -> None:
    policy = Policy.preset(preset)
    for word in ("two", "hundred", "million", "12", "Peter", "peter", "london", "monday"):
        assert not policy.is_public(word, opens_sentence=True)


@pytest.mark.parametrize(
    ("word", "opens", "public"),
    [
        ("the", False, True),
        ("The", True, True),
        ("The", False, False),
        ("Will", False, False),
        ("IT", False, False),
        ("it", False, True),
        ("I", False, True),
        ("don't", False, True),
        ("don’t", False, True),
        ("THE", True, False),
        ("hépatite", False, False),
        ("北京", False, False),
    ],
)
def test_a_word_is_public_only_as_it_is_usually_written(
    word: str, opens: bool, public: bool
) -> None:
    assert Policy.preset("strict").is_public(word, opens) is public


@pytest.mark.parametrize(
    ("word", "public"), [("Young", False), ("Please", False), ("The", True), ("Will", False)]
)
def test_after_a_private_word_and_a_full_stop_a_capital_may_be_a_name(
    word: str, public: bool
) -> None:
    assert Policy.preset("words").is_public(word, opens_sentence=True, doubtful=True) is public


def policy_of(tmp_path: Path, content: str) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(content, "utf-8")
    return Policy.from_toml(path)


@pytest.mark.parametrize("text", ["the company", "The Company's", "we don’t", "Acme-X rocks"])
def test_refusals_see_public_words_too(tmp_path: Path, text: str) -> None:
    policy = policy_of(tmp_path, '[refuse]\nwords = ["company", "don\'t", "acme"]\n')
    with pytest.raises(PolicyError):
        Sanitizer(policy=policy).inner.mask(text)


@pytest.mark.parametrize(
    ("sensitive", "text"),
    [
        ('words = ["she"]', "she's here"),
        ('words = ["don\'t"]', "don’t"),
        ('words = ["it\'s"]', "it's"),
        ('patterns = ["comp.*"]', "Company here"),
    ],
)
def test_sensitive_words_are_private_in_every_form(
    tmp_path: Path, sensitive: str, text: str
) -> None:
    masked = Sanitizer(policy=policy_of(tmp_path, f'base = "words"\n[sensitive]\n{sensitive}\n'))
    assert masked.inner.mask(text).words


@pytest.mark.parametrize(
    "line",
    [
        '[sensitive]\nwords = ["*"]',
        '[sensitive]\nwords = ["*pany"]',
        '[refuse]\nwords = ["new york"]',
        '[public]\nwords = ["2024"]',
        '[public]\nwords = ["a*"]',
        '[public]\nwords = [""]',
        '[public]\nwords = ["step*  4"]',
        '[public]\nwords = ["4 5"]',
        '[public]\nwords = ["--"]',
        '[sensitive]\nwords = ["ward *"]',
        '[sensitive]\nvalues = ["--"]',
        "[sensitive]\nvalues = [3]",
        '[roles]\nsystem = "open"',
        '[roles]\nuser = "public"',
    ],
)
def test_entries_that_could_never_match_are_mistakes(tmp_path: Path, line: str) -> None:
    with pytest.raises(PolicyError, match="line 2"):
        policy_of(tmp_path, line + "\n")


def test_a_policy_file(tmp_path: Path) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text(
        'base = "strict"\n[public]\nwords = ["Patient"]\n'
        '[sensitive]\nwords = ["off"]\npatterns = ["x+"]\n'
        '[refuse]\nwords = ["codename*"]\npatterns = ["BEGIN .* KEY"]\n'
        "[mechanism]\nepsilon = 4\nn_steps = 2\n"
    )
    policy = Policy.load(str(path))
    assert policy.name == "clinic"
    assert policy.is_public("patient", False)
    assert not policy.is_public("off", False)
    assert policy.mechanism is not None
    assert policy.mechanism.epsilon == 4
    with pytest.raises(PolicyError, match="clinic"):
        policy.check("my Codenamed", ["my", "Codenamed"])
    with pytest.raises(PolicyError, match="refuses"):
        policy.check("-- BEGIN RSA KEY --", [])
    policy.check("nothing special", ["nothing", "special"])


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("colour = 1\n", 1, "colour"),
        ('base = "lenient"\n', 1, "base"),
        ('base = "strict"\n\n[public]\nwords = "all"\n', 4, "words"),
        ("[public]\nwords = [1]\n", 2, "words"),
        ('[sensitive]\npatterns = ["("]\n', 2, "patterns"),
        ("[mechanism]\nepsilon = -1\n", 2, "epsilon"),
        ("[mechanism]\nepsilon = true\n", 2, "epsilon"),
        ('[mechanism]\nname = "magic"\n', 2, "name"),
        ('[mechanism]\nname = "dyntext"\nprofile = "prior"\n', 3, "profile"),
        ('[mechanism]\nname = "cape"\nk_min = 3\n', 3, "k_min"),
        ('[mechanism]\nname = "dyntext"\nk_min = 99\n', 3, "k_min"),
        ("[thresholds]\nPERSON = 1.5\n", 2, "PERSON"),
        ("[thresholds]\nname = 0.5\n", 2, "name"),
        ("[other]\nx = 1\n", 1, "other"),
        ("a = \n", 1, ""),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, text: str, line: int, key: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(PolicyError) as error:
        Policy.from_toml(path)
    assert "bad.toml" in str(error.value)
    assert f"line {line}" in str(error.value)
    assert key in str(error.value)


def test_a_policy_file_can_set_thresholds_and_refuse_languages(tmp_path: Path) -> None:
    text = "[thresholds]\nPERSON = 0.2\n[refuse]\nunlisted_languages = true\n"
    policy = policy_of(tmp_path, text)
    assert (policy.thresholds, policy.refuse_unlisted) == ({"PERSON": 0.2}, True)


def test_a_policy_file_can_choose_dyntext(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, '[mechanism]\nname = "dyntext"\nepsilon = 8\nk_min = 10\n')
    assert policy.mechanism == DynText(8, k_min=10)


def test_a_policy_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.load(str(tmp_path / "none.toml"))
    with pytest.raises(ValueError, match="policy must be one of"):
        Policy.load("lenient")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(PolicyError, match="UTF-8"):
        Policy.load(tmp_path / "latin.toml")


def test_phrases_and_known_values(tmp_path: Path) -> None:
    policy = policy_of(
        tmp_path,
        'base = "strict"\n[public]\nwords = ["Annual Leave", "step 4", "Ward"]\n'
        '[sensitive]\nwords = ["ward round", "off"]\nvalues = ["Bluebird", "K-4711"]\n',
    )
    sanitizer = Sanitizer(policy=policy)
    text = "Annual Leave, annual leave: BLUEBIRD's k-4711 off the Ward Round, step 4 of ward"
    masked = sanitizer.inner.mask(text)
    hidden = [(text[cut.start : cut.end], cut.kind) for cut in masked.cuts]
    assert [each for each in hidden if each[1] == "TERM"] == [
        ("BLUEBIRD", "TERM"),
        ("k-4711", "TERM"),
        ("Ward Round", "TERM"),
    ]
    assert [word.text for word in masked.words] == ["annual", "leave", "off"]
    assert masked.segmented.n_declared == 4
    assert policy.digest != Policy.preset("strict").digest


@pytest.mark.parametrize("base", ["identifiers", "balanced", "strict"])
def test_known_values_come_back_under_every_base(tmp_path: Path, base: str) -> None:
    listed = '[sensitive]\nwords = ["Project Bluebird"]\nvalues = ["zoltan", "x.org project"]\n'
    sanitizer = Sanitizer(policy=policy_of(tmp_path, f'base = "{base}"\n{listed}'))
    text = "Zoltan the anna@x.org Project Bluebird, zoltanek"
    out = sanitizer.sanitize(text)
    assert out.text.startswith("<TERM_1> the <EMAIL_1> <TERM_2>")
    assert sanitizer.restore(out.text).startswith("Zoltan the anna@x.org Project Bluebird")


def test_sensitive_wins_over_public_phrases_and_kept_ones(tmp_path: Path) -> None:
    listed = 'base = "words"\n[public]\nwords = ["the ward"]\n'
    listed += '[sensitive]\nwords = ["ward"]\nvalues = ["a b"]\n'
    masked = Sanitizer(policy=policy_of(tmp_path, listed)).inner.mask("the ward")
    assert [word.text for word in masked.words] == ["ward"]
    out = Sanitizer(policy=policy_of(tmp_path, listed)).sanitize("a b", keep=["a b", "b"])
    assert out.text == "<TERM_1>"


def test_roles_of_a_policy_file(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, '[roles]\nsystem = "public"\ndeveloper = "identifiers"\n')
    assert policy.roles == {"system": "public", "developer": "identifiers"}
    assert policy.digest != Policy.preset("words").digest
    light = policy.identifiers_only()
    assert (light.perturb, light.numbers, light.detector) == (False, "pass", "none")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"refuse_patterns": (re.compile("(a|aa)+$"),)}, "a" * 60 + "!"),
        ({"patterns": (re.compile("(a|aa)+b"),)}, "a" * 60),
    ],
)
def test_a_pattern_that_explodes_refuses_the_text_in_little_time(
    settings: dict[str, Any], text: str
) -> None:
    policy = replace(Policy.preset("strict"), **settings)
    begin = time.monotonic()
    with pytest.raises(PolicyError, match=r"pattern 1 of .* took longer than 1 s") as refusal:
        policy.check(text, []) if "refuse_patterns" in settings else policy.is_sensitive(text)
    assert "aaa" not in str(refusal.value)
    assert time.monotonic() - begin < 30


# ---- the page about policies ----

PAGE = Path(__file__).parents[2] / "docs" / "policy.md"


def example_of(page: str) -> str:
    """The example of a policy file, the only block of TOML."""
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    return str(block)


def test_the_example_of_the_page_loads(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(example_of(PAGE.read_text("utf-8")), "utf-8")
    assert Policy.load(tmp_path / "policy.toml").wire.keep_tools == ("web_search",)


@pytest.mark.parametrize("table", [t for t in _KEYS if t not in {"mechanism", "thresholds"}])
def test_every_key_of_a_policy_file_is_on_the_page(table: str) -> None:
    first, *others = re.split(r"^\[(\w+)\]", example_of(PAGE.read_text("utf-8")), flags=re.M)
    told = dict(zip(["", *others[::2]], [first, *others[1::2]], strict=True))
    assert sorted(set(_KEYS[table]) - set(re.findall(r"\w+", told[table]))) == []


def test_keys_of_a_mechanism_are_its_arguments_as_the_page_says() -> None:
    arguments = {each.name for kind in (Cape, DynText) for each in fields(kind)}
    assert set(_KEYS["mechanism"]) - {"name"} == arguments
