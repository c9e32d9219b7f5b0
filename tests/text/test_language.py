"""The language of a text: what the lists say, and that hidden words say nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.detect.skeleton import languages, public_forms
from sanitizer.errors import ModelError
from sanitizer.lm import model_folder
from sanitizer.text import UNREAD, UNREAD_ANYWHERE, language_lists, language_of
from sanitizer.text.language import LONG, MAX_WORDS
from sanitizer.text.policy import word_list
from sanitizer.text.policy_file import WordSet
from sanitizer.text.words import word_spans
from tests.text.languages import TEXTS

FOLDER = model_folder("words") / "languages"
ENGLISH = frozenset(word_list("stopwords.txt")) | frozenset(word_list("public.txt"))
LISTS: Mapping[str, frozenset[str]] = {**language_lists(FOLDER), "en": ENGLISH}
LISTED = sorted(UNREAD.union(*LISTS.values()))
KNOWN = [(name, text) for name in ("de", "en", "es", "fr") for text in TEXTS[name]]
MISTAKEN = pytest.mark.xfail(strict=True, reason="Italian of words that are Spanish as well")
UNKNOWN = [
    pytest.param(text, marks=MISTAKEN if text.startswith("Mescolate") else ())
    for name in ("it", "nl", "pl", "zh", "ar")
    for text in TEXTS[name]
]


@pytest.mark.parametrize(("language", "text"), KNOWN)
def test_a_listed_language_is_told_in_any_case_of_letters(language: str, text: str) -> None:
    assert language_of(text, LISTS) == language
    assert language_of(text.lower(), LISTS) == language


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_language_without_a_list_is_none(text: str) -> None:
    assert language_of(text, LISTS) is None
    assert language_of(text.lower(), LISTS) is None


NAMES_AND_SHARED_WORDS = (
    "Necesito una carta para la señora Ibarrola de la Residencia Maruxa. Vive en la calle "
    "Ferreiros con Anxo Bermello, que es de Cuntis y debe la cuota a la Clínica Oroza. Yo quiero "
    "que la pague sin pelear. Corta, con dos firmas."
)


GERMAN = (
    "Sehr geehrter Herr Kravcik, Ihr Sohn Lenn hat am Montag erneut Mitschüler geschlagen. Wir "
    "erwarten Sie um vier Uhr in Raum zwei.",
    "Übersetze ins Englische: Der Mieter Amet Kaja zahlt seit Mai keine Miete.",
    "Meine Chefin Ude will mich entlassen, weil ich zu spät kam.",
)


SPANISH_AND_FRENCH = {
    "es": "Hola, resume esta nota: La paciente Lucía Quirós, de 47 años, ingresó el 3 de mayo en "
    "el Hospital San Telmo con dolor torácico. Antecedentes: hipertensión. Vive en Getafe.",
    "fr": "Bonjour, pouvez-vous corriger ? Veuillez noter mon départ au 31 décembre. Cordialement",
}


@pytest.mark.parametrize("language", SPANISH_AND_FRENCH)
def test_words_that_open_spanish_and_french_sentences_tell_the_language(language: str) -> None:
    text, anywhere = SPANISH_AND_FRENCH[language], public_forms().anywhere
    assert language_of(text, languages(), anywhere, UNREAD) == language


@pytest.mark.parametrize("text", GERMAN)
def test_german_words_with_capitals_tell_the_language(text: str) -> None:
    assert language_of(text, languages(), public_forms().anywhere, UNREAD) == "de"


UNREAD_SENTENCES = (
    "Moja mama ma w domu psa i kota.",
    "Mój syn ma astmę.",
    "Ile kosztuje bilet z Gdańska do Warszawy?",
    "Můj otec Jaroslav má rakovinu plic a leží v nemocnici.",
    "Jak to mám říct své ženě?",
    "Přelož to do angličtiny.",
    "Scrivi una lettera al mio capo.",
    "Ho pagato 450 euro per la riparazione della lavatrice e ancora non funziona.",
    "Traduci questo in inglese.",
    "Mijn zoon heeft astma.",
    "De broer van Thijs woont nu in Berlijn.",
    "Ik weet niet wat ik met mijn zoon moet doen.",
    "O meu filho tem asma.",
    "Peço uma resposta urgente sobre o contrato de arrendamento.",
    "Não sei o que fazer com o meu filho.",
    "Min mamma har en hund och en katt hemma.",
    "Kan du rätta den här texten?",
    "Jag bor i Uppsala på Långgatan 7.",
    "Babam Kemal akciğer kanseri ve hastanede yatıyor.",
    "Bunu karıma nasıl söyleyeceğim?",
    "Dün doktor Yeşil'e gittim ve yeni ilaçlar aldım.",
    "Fiul meu are astm.",
    "Scrie o scrisoare șefului meu.",
    "Tradu asta în engleză.",
)
"""Polish, Czech, Italian, Dutch, Portuguese, Swedish, Turkish, Romanian; all had passed as a
language that is read."""


@pytest.mark.parametrize("text", UNREAD_SENTENCES)
def test_a_sentence_of_a_language_without_a_list_is_none(text: str) -> None:
    assert language_of(text, languages(), public_forms().anywhere, UNREAD) is None


@pytest.mark.parametrize(("language", "text"), KNOWN)
def test_words_of_other_languages_refuse_no_text_that_is_read(language: str, text: str) -> None:
    assert language_of(text, languages(), public_forms().anywhere, UNREAD) == language


@pytest.mark.parametrize(
    "text",
    [
        "Translate 'Ik heb geen tijd' into English.",
        'What does "non è vero" mean?',
        "Ola Nowak met Jan Kowalik in Gdansk.",
        "Is Pan Tadeusz a good book?",
    ],
)
def test_english_that_quotes_another_language_is_english(text: str) -> None:
    assert language_of(text, languages(), public_forms().anywhere, UNREAD) == "en"


def test_words_that_refuse_a_text_are_visible_and_tell_of_nobody() -> None:
    forms = public_forms()
    assert {word for word in UNREAD if not forms.visible(word, opens=False)} == set()
    assert {w for w in UNREAD_ANYWHERE if not forms.visible(w.capitalize(), opens=False)} == set()
    assert sorted(UNREAD_ANYWHERE & frozenset().union(*languages().values())) == []
    new = UNREAD - frozenset().union(*languages().values())
    assert sorted(new & WordSet.of(word_list("sensitive.txt")).exact) == []
    assert sorted(new & set(word_list("given_names.txt", "classes"))) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (
            'Kannst du diese Mail höflicher machen? "Hallo Frau Yılmaz, Ihre Rechnung Nr. 2024-118 '
            "über 480 Euro ist seit 3 Wochen offen. Ich will mein Geld. Grüße, Jörg Petersen, "
            'Malerbetrieb Petersen, Bottrop"',
            "de",
        ),
        (
            "Écris un mail à mon propriétaire, M. Lefèvre-Kouassi, pour dire que le chauffage est "
            "en panne depuis le 4 janvier et que ma fille a de l'asthme.",
            "fr",
        ),
    ],
)
def test_names_nouns_and_shared_words_do_not_hide_a_language(text: str, language: str) -> None:
    assert language_of(text, languages(), public_forms().anywhere) == language


def test_a_longer_text_may_hold_more_names() -> None:
    lists = languages()
    assert language_of(NAMES_AND_SHARED_WORDS, lists, public_forms().anywhere) == "es"
    n = len(list(word_spans(NAMES_AND_SHARED_WORDS)))
    assert n >= LONG


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "Theo Larkin",
        "Anna Marlowe, Theo Larkin, Jost Wendlaken, Aubin Terrasol, Elmo Trevisani",
        "Anna Marlowe\nTheo Larkin\nJost Wendlaken\nAubin Terrasol\nElmo Trevisani",
        '{"id": 17, "usr_nm": "Larkin", "qx": null, "vals": [1, 2, 3], "zz": {"aq": "bq"}}',
        "def f(xs):\n    ys = []\n    for x in xs:\n        ys.append(g(x))\n    return ys",
        "| nm | qty | amt |\n|---|---|---|\n| Larkin | 3 | 41.5 |\n| Marlowe | 7 | 12.0 |",
        "pls check teh file agian, i thnik it was still there when we looked",
        "12 34 56 78 90 12 34 56",
    ],
)
def test_names_code_tables_and_typing_errors_are_english(text: str) -> None:
    assert language_of(text, LISTS) == "en"


@pytest.mark.parametrize(("word", "language"), [("hola", "es"), ("merci", "fr"), ("danke", "de")])
def test_few_words_of_a_list_are_enough(word: str, language: str) -> None:
    assert language_of(word, LISTS) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Meine Mutter Erika Baumann wohnt in Kassel und hat Diabetes.", "de"),
        ("Ma tante Odile Petit vit à Lannion et a un diabète.", "fr"),
        ("Mi madre Elena Ruiz vive en Sevilla y tiene asma.", "es"),
        ("Tengo que pagar la operación de vesícula de mi hermano Pablo en Soria.", "es"),
        ("Ana Virtanen asuu Oulussa ja hänellä on paha astma.", None),
    ],
)
def test_a_short_sentence_full_of_names_has_a_language(text: str, language: str | None) -> None:
    assert language_of(text, LISTS) == language


def test_a_table_with_words_of_one_other_language_is_of_that_language() -> None:
    text = "| Qx | vielleicht |\n| Rz | manchmal |\n| Tz | überall |\n| Vw | Wz | Yq | Xx | Zz |"
    assert language_of(text, LISTS) == "de"


def test_most_words_decide_where_languages_are_mixed() -> None:
    letter = TEXTS["de"][0]
    assert language_of("Please translate: " + letter, LISTS) == "de"
    assert language_of("Please translate 'guten tag' for me into the other one", LISTS) == "en"


@given(st.lists(st.sampled_from(LISTED), max_size=12), st.permutations(sorted(LISTS)))
def test_the_order_of_the_lists_does_not_matter(words: list[str], order: list[str]) -> None:
    text = " ".join(words)
    assert language_of(text, {name: LISTS[name] for name in order}) == language_of(text, LISTS)


hidden = st.text(st.characters(categories=["L"]), min_size=1, max_size=9).filter(
    lambda w: (
        list(word_spans(w)) == [(0, len(w))]
        and not any(w in one for one in (UNREAD, *LISTS.values()))
    )
)


@given(st.lists(st.sampled_from(LISTED) | st.none(), max_size=15), st.data())
def test_only_the_number_of_hidden_words_matters(
    words: Sequence[str | None], data: st.DataObject
) -> None:
    def filled() -> str:
        return " ".join(data.draw(hidden) if word is None else word for word in words)

    def told() -> str | None:
        return language_of(filled(), LISTS, unread=UNREAD)

    assert told() == told()


def test_a_capital_hides_a_word_unless_it_may_stand_anywhere() -> None:
    text = "Where Are The Other Ones And What Should They Do"
    assert language_of(text, LISTS) is None
    assert language_of(text, LISTS, anywhere=ENGLISH) == "en"
    assert language_of(text.upper(), LISTS, anywhere=ENGLISH) == "en"


def test_a_typographic_apostrophe_changes_nothing() -> None:
    assert language_of("aujourd’hui", LISTS) == language_of("aujourd'hui", LISTS) == "fr"


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    begin = "bitte schreibe das noch einmal " * (MAX_WORDS // 5)
    assert language_of(begin + "。 please write that again " * MAX_WORDS, LISTS) == "de"


def test_lists_are_read_once_and_hold_enough_words() -> None:
    lists = language_lists(FOLDER)
    assert lists is language_lists(FOLDER)
    assert sorted(lists) == ["de", "es", "fr"]
    for words in lists.values():
        assert 1500 <= len(words) <= 6000
        assert all(word == word.lower() for word in words)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "krebs muslim schwanger polizei anwalt schulden hans geschieden deutsche mord"),
        ("fr", "cancer musulman enceinte police avocat dette pierre divorcé français mort"),
        ("es", "cáncer musulmán embarazada policía abogado deuda rosa divorcio español muerte"),
    ],
)
def test_no_list_holds_sensitive_words_or_names(language: str, words: str) -> None:
    assert not set(words.split()) & LISTS[language]


def test_what_is_sensitive_in_english_is_on_no_other_list() -> None:
    # The list's prefixes match harmless foreign words too, such as "suficiente" and "premier".
    sensitive = WordSet.of(word_list("sensitive.txt")).exact
    for language in ("de", "es", "fr"):
        assert sorted(LISTS[language] & sensitive) == []


def test_a_damaged_list_is_refused(tmp_path: Path) -> None:
    for name in ("de.txt", "es.txt", "fr.txt", "manifest.json", "manifest.json.sha256"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    (tmp_path / "fr.txt").write_text("bonjour\n", "utf-8")
    with pytest.raises(ModelError, match=r"fr\.txt"):
        language_lists(tmp_path)


def test_the_manifest_names_source_and_licence() -> None:
    (source,) = json.loads((FOLDER / "manifest.json").read_text("utf-8"))["sources"]
    assert "MIT" in source["licence"]
    assert len(source["sha256"]) == 64
