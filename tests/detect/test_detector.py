"""The detector with the packaged tagger: no run is read by the reader of another."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from sanitizer import Sanitizer
from sanitizer.detect import extents
from sanitizer.detect.classes import gazetteers, given_names, listed_in
from sanitizer.detect.detector import Detector, Reading, detector_for
from sanitizer.detect.skeleton import public_forms as forms
from sanitizer.detect.skeleton import skeleton
from sanitizer.detect.tagging import Lexicon
from sanitizer.lm import Models, Tagger
from sanitizer.text import pieces

TEXT = (
    "Hi, my cousin Priya Raman works at Halden Logistics GmbH in Leeds since 2019 and earns 32,000 "
    "pounds. Please tell Dr. Young that she takes sertraline for panic disorder, and write 3 "
    "sentences to Otto about the delayed invoice HX-4471."
)
OTHERS = ["Quorn", "Zebediah", "Xanthippe", "Ng", "Featherstonehaugh", "qzzk", "東京", "Smith"]


@pytest.fixture(scope="module")
def models() -> Models:
    return Models(None, 1)


@pytest.fixture(scope="module")
def local(models: Models) -> Detector:
    return detector_for(models, "local")


class Recorder:
    """A tagger that keeps what it was asked and what it answered."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self.classes, self.layers, self.width = tagger.classes, tagger.layers, tagger.width
        self.sha256 = tagger.sha256
        self.scores_of: list[NDArray[np.float32]] = []
        self.known: list[NDArray[np.float32] | None] = []

    def scores(
        self,
        states: dict[int, NDArray[np.float32]],
        pieces: NDArray[np.float32],
        lengths: NDArray[np.int64],
        at: NDArray[np.int64],
        known: NDArray[np.float32] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        found = self._tagger.scores(states, pieces, lengths, at, known)
        self.known.append(known)
        self.scores_of.append(found[0])
        return found


def scores(models: Models, text: str, mode: str = "local") -> NDArray[np.float32]:
    """Scores of the first pass over a text, float32 [n_runs, width, 1 + n_classes]."""
    model, pieces = models.masked()
    recorder = Recorder(models.tagger())
    Detector(model, pieces, recorder, forms(), gazetteers(), mode).read(text)
    return recorder.scores_of[0]


@pytest.fixture(scope="module")
def scores_before(models: Models) -> NDArray[np.float32]:
    return scores(models, TEXT)


def replaced(text: str, number: int, other: str) -> str:
    run = skeleton(text, forms()).runs[number]
    return text[: run.start] + other + text[run.end :]


@pytest.mark.parametrize("number", range(0, 9, 2))
@pytest.mark.parametrize("other", OTHERS)
def test_scores_of_other_runs_are_equal_to_the_bit(
    models: Models, scores_before: NDArray[np.float32], number: int, other: str
) -> None:
    """Condition (b) of theorem B, for runs of very different length and script."""
    found = skeleton(TEXT, forms())
    if found.runs[number].kind != "word":
        pytest.skip("a number is replaced by a number only")
    changed = replaced(TEXT, number, other)
    if len(skeleton(changed, forms()).runs) != len(found.runs):
        pytest.fail("a hidden word moved another run")
    after = scores(models, changed)
    rest = np.arange(len(after)) != number
    assert np.array_equal(scores_before[rest], after[rest])


def test_a_reading_detector_is_not_local(models: Models) -> None:
    """The test above can fail: the mode that reads everything fails it."""
    changed = replaced(TEXT, 2, "Featherstonehaugh")
    before, after = scores(models, TEXT, "reading"), scores(models, changed, "reading")
    rest = np.arange(len(before)) != 2
    assert not np.array_equal(before[rest], after[rest])


def test_the_skeleton_detector_reads_no_run(models: Models) -> None:
    found = skeleton(TEXT, forms())
    at = next(i for i, run in enumerate(found.runs) if run.kind == "word")
    changed = replaced(TEXT, at, "Quorn")
    before, after = scores(models, TEXT, "skeleton"), scores(models, changed, "skeleton")
    assert np.array_equal(before[:, 0], after[:, 0])


def test_what_is_known_of_a_word_depends_on_its_run_alone() -> None:
    lexicon = Lexicon(Models(None, 1).masked()[0].words, forms())
    pair, alone = lexicon.known(["asthma", "Marsh"], "word"), lexicon.known(["Marsh"], "word")
    assert pair.shape == (2, lexicon.width)
    n = 200
    assert np.array_equal(pair[1, :n], alone[0, :n])
    assert np.array_equal(pair[1, n : 2 * n], pair[0, :n])
    assert np.array_equal(pair[0, 2 * n : 3 * n], pair[1, :n])
    assert pair[0, :n].any()
    assert not alone[0, n : 3 * n].any()


def test_a_word_without_a_vector_is_known_by_its_flags() -> None:
    lexicon = Lexicon(Models(None, 1).masked()[0].words, forms())
    (found,) = lexicon.known(["qzzkx"], "word")
    assert not found[:600].any()
    assert found[600:].any()


def test_words_beyond_the_first_pieces_are_known_too(models: Models) -> None:
    """A long run is read in parts, and each part gets what is known of its own words."""
    text = "Ask " + "Featherstonehaugh " * 3 + "chemotherapist about it."
    model, pieces = models.masked()
    recorder = Recorder(models.tagger())
    Detector(model, pieces, recorder, forms(), gazetteers()).read(text)
    parts = [known for known in recorder.known if known is not None]
    assert len(parts) > 1
    n_known = sum(int((part != 0).any(-1).sum()) for part in parts)
    (run,) = skeleton(text, forms()).runs
    assert n_known == len(run.words)


@pytest.mark.parametrize("mode", ["skeleton", "reading"])
def test_only_the_local_detector_reads_what_is_known(models: Models, mode: str) -> None:
    model, pieces = models.masked()
    recorder = Recorder(models.tagger())
    Detector(model, pieces, recorder, forms(), gazetteers(), mode).read(TEXT)
    assert recorder.known == [None]


def kinds(reading: Reading, text: str) -> dict[str, str]:
    return {text[each.start : each.end]: each.kind for each in reading.findings}


def test_things_of_many_classes(local: Detector) -> None:
    found = kinds(local.read(TEXT), TEXT)
    assert found["Priya Raman"] == "PERSON"
    assert found["sertraline"] == "TREATMENT"
    assert found["Otto"] in ("PERSON", "ORGANIZATION")  # classes of names may be confused
    assert "3" not in found
    assert any("32,000" in text for text in found)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("My hepatitis came back.", "hepatitis"),
        ("Note to the teacher: my asthma is worse.", "asthma"),
        ("Help: my depression is back", "depression"),
        ("Dear Peter Lund, your asthma review is on 14 March.", "asthma"),
    ],
)
def test_a_listed_illness_of_somebody_is_private(local: Detector, text: str, word: str) -> None:
    assert kinds(local.read(text), text)[word] == "CONDITION"


HOURS = """Total hours per person, please:

Mon: Aoife 6, Dmitri 8, Wen 4.5
Wed: Aoife 7, Wen 8
Sun: Aoife 5, Dmitri 4
"""


def test_counts_of_a_list_stay_for_its_sums(local: Detector) -> None:
    found = kinds(local.read(HOURS), HOURS)
    assert set(found) == {"Aoife", "Dmitri", "Wen"}
    blood = "Explain my results\nferritin 6\ntsh 7.2\nhb 98\nI am 29."
    assert {"6", "7.2", "98"} <= set(kinds(local.read(blood), blood))


def test_words_that_close_a_letter_are_no_names(local: Detector) -> None:
    text = "Can we talk on Monday?\n\nBest\nMarit Halvorsen\nKey Account Manager\n"
    assert kinds(local.read(text), text) == {
        "Marit Halvorsen": "PERSON",
        "Key Account Manager": "OCCUPATION",
    }


@pytest.mark.parametrize(
    ("text", "thing", "kind"),
    [
        ("My scores went up to 17. I am scared.", "17", "NUMBER"),
        ("He pays me £640/month.", "£640/month", "MONEY"),
        ("He owes me money from the till shortage in May.", "May", "DATE"),
        ("She works at Brightwater Plastics now.", "Brightwater Plastics", "ORGANIZATION"),
        ("I am a patient on dialysis.", "dialysis", "TREATMENT"),
        ("Minutes of the works council, 12 February", "12 February", "DATE"),
        ('{"body": "I was charged twice on 3 June."}', "3 June", "DATE"),
        ("My manager is Caroline, cost centre 4410-UK.", "Caroline", "PERSON"),
        ("Memory: Alzheimer's diagnosed 2021, repeats questions", "Alzheimer's", "CONDITION"),
        ("Memory: Alzheimer's diagnosed 2021, repeats questions", "2021", "DATE"),
        (
            "The customer is the Ministry of Transport in Lisbon.",
            "Ministry of Transport",
            "ORGANIZATION",
        ),
        ("Er hat sich im Oktober bei uns als Leiter beworben.", "Oktober", "DATE"),
        ("Present: K. Adeyemi, T. van Houten, M. Castellano", "M. Castellano", "PERSON"),
        ("Present: K. Adeyemi, T. van Houten, M. Castellano", "T. van Houten", "PERSON"),
        ("Yours, Frances Dunmore", "Frances Dunmore", "PERSON"),
        ("We bought it from Aster & Vale Ltd in spring.", "Aster & Vale Ltd", "ORGANIZATION"),
        ("I lost my job and am ill. Ask Anna Lund on web-stg-2.", "Anna Lund", "PERSON"),
        ("Yours sincerely,\nRosalind Hollins\n", "Rosalind Hollins", "PERSON"),
        ("The fair in Gdańsk is on 14 to 18 October.", "14", "DATE"),
        ("| 214 | halal | arrives 3 August, 22:40 |", "3 August, 22:40", "DATE"),
        ('x - - [14/Oct/2024:03:11:52 +0200] "GET', "14/Oct/2024:03:11:52 +0200", "DATE"),
        ("My son is self-harming again.", "self-harming", "FACT"),
        ("in a convent till 2021, then cervical cancer. im 38.", "cervical cancer", "CONDITION"),
        ("I did eighteen months inside (burglary, 2009).", "burglary", "CRIME"),
        ("The fee is due through ParkWell by Friday, as always.", "ParkWell", "PRODUCT"),
        ("I AM 8 MONTHS PREGNANT AND NOBODY COMES", "PREGNANT", "CONDITION"),
        ("I am waiting for a hip replacement.", "hip replacement", "TREATMENT"),
        ("it is in /home/bszabo/app/main.py", "bszabo", "PERSON"),
        ("2025-11-02T03:14:07Z WARN disk is full", "2025-11-02T03:14:07Z", "DATE"),
        ("I have been divorced since then.", "divorced", "FAMILY"),
        ("ERROR run 8841290 failed, see the log", "8841290", "ID"),
        ('For input string: "12.480,50" in the invoice', "12.480,50", "MONEY"),
        ("The customer is Obst-Pfeiffer KG in Ulm.", "Obst-Pfeiffer KG", "ORGANIZATION"),
        ("i spent 3 grand on a horse", "3 grand", "MONEY"),
        ("I am 34 weeks pregnant and cannot fly.", "34 weeks", "NUMBER"),
        ("she lost my dad in march", "march", "FACT"),
        ("My uncle Claude died there.", "Claude", "PERSON"),
        ("My uncle Claude Mistral died there.", "Claude Mistral", "PERSON"),
        ("she has the kids 24th and i pay for them", "24th", "DATE"),
        ('my =IF(A2="Ondine",1,0) is wrong', "Ondine", "PERSON"),
        ("Going there with a 7 month old and my mother.", "7 month old", "NUMBER"),
        ("My boss Claude, ChatGPT fan, is away.", "Claude", "PERSON"),
        ("Yes. Short, my neighbour, complains.", "Short", "PERSON"),
        ("He works at Samsung Electronics now.", "Samsung Electronics", "ORGANIZATION"),
    ],
)
def test_classes_that_words_and_forms_tell(
    local: Detector, text: str, thing: str, kind: str
) -> None:
    assert kinds(local.read(text), text)[thing] == kind


@pytest.mark.parametrize(
    ("text", "thing", "kind"),
    [
        ("My flight TAP1352 to Lisbon was cancelled.", "TAP1352", "ID"),
        ("He was arrested for shoplifting last week.", "shoplifting", "CRIME"),
        ("My daughter is coeliac and her school refuses help.", "coeliac", "CONDITION"),
        ("I was sacked from my job as a scaffolder.", "scaffolder", "OCCUPATION"),
    ],
)
def test_the_second_stage_knows_what_a_word_means(
    local: Detector, text: str, thing: str, kind: str
) -> None:
    assert kinds(local.read(text), text)[thing] == kind


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("Should I halve the dose if it makes me drowsy?", "halve"),
        ("Write a formula that shows who earns more than average.", "earns"),
        ("name,department,salary\nJane Moss,Finance,41200\nTom Reed,IT,39950\n", "Finance"),
        ("Rewrite politely: we regret the delay of your parcel.", "regret"),
    ],
)
def test_words_of_the_task_are_told_from_private_ones(
    local: Detector, text: str, stays: str
) -> None:
    assert stays not in kinds(local.read(text), text)


def test_a_month_of_another_language_is_no_name(local: Detector) -> None:
    text = "Necesito el dinero que le presté en enero, sin pelear con mi hermana."
    assert kinds(local.read(text), text)["enero"] == "DATE"


@pytest.mark.parametrize(
    ("text", "thing", "kind"),
    [
        ("Meine Mutter wohnt in Kassel und hat Diabetes.", "Diabetes", "CONDITION"),
        ("Mein Bruder ist schwul, und mein Vater weiß es nicht.", "schwul", "SEXUALITY"),
        ("Je suis malade depuis ma dépression de l'an dernier.", "dépression", "CONDITION"),
        ("Mi hermana es judía y no come carne de cerdo.", "judía", "BELIEF"),
        ("Ich bin Hebamme und habe keine Zeit mehr dafür.", "Hebamme", "OCCUPATION"),
        ("Bonjour, j'ai 47 ans et je cherche un emploi à Lille.", "47 ans", "NUMBER"),
        ("Frau Kolb hat ihn am 11.11. vor der Klasse gesehen.", "11.11", "DATE"),
        ("Meine Tante wohnt in der Lindenstraße 14.", "Lindenstraße 14", "PLACE"),
    ],
)
def test_listed_words_of_another_language_have_a_class(
    local: Detector, text: str, thing: str, kind: str
) -> None:
    assert kinds(local.read(text), text)[thing] == kind


def test_code_is_not_warned_about(local: Detector) -> None:
    text = 'Why?\n\n```python\nconn = psycopg2.connect(host="x")\ncur = conn.cursor()\n```\n'
    assert local.read(text).facts == ()


@pytest.mark.parametrize(
    "text",
    [
        "Dear Peter Lund, your bill is 400 euros.",
        "My invoice of 2,000 dollars is due.",
        "Hello Ann, your rent is 900 pounds.",
    ],
)
def test_the_unit_of_a_hidden_sum_tells_no_fact(local: Detector, text: str) -> None:
    assert local.read(text).facts == ()
    assert local.read(f"{text} He hit our son.").facts == ((len(text), len(text) + 16),)


def test_the_unit_of_a_hidden_time_may_tell_a_fact(local: Detector) -> None:
    assert local.read("I'm eleven weeks and haven't told anyone, not even mum.").facts


def test_words_that_no_list_knows_are_findings(local: Detector) -> None:
    reading = local.read("please explain zorblaxian and qxyzzy to me")
    assert {"zorblaxian", "qxyzzy"} <= {
        "please explain zorblaxian and qxyzzy to me"[f.start : f.end] for f in reading.findings
    }


@pytest.mark.parametrize("text", ["", " ", "\n", "\ud800", "\x00", "the", "....", "12", "🙂" * 50])
def test_odd_texts(local: Detector, text: str) -> None:
    reading = local.read(text)
    assert all(0 <= f.start < f.end <= len(text) for f in reading.findings)


def test_a_very_long_word_and_a_very_long_text(local: Detector) -> None:
    word = "x" * 20_000
    found = local.read(f"call {word} now").findings
    assert [(each.start, each.end) for each in found] == [(5, 5 + len(word))]
    text = "Please call Otto Quorn tomorrow. " * 120
    persons = [f for f in local.read(text).findings if text[f.start : f.end] == "Otto Quorn"]
    assert len(persons) >= 117
    assert all(a.end <= b.start for a, b in pairwise(persons))


def test_findings_do_not_depend_on_the_texts_around(local: Detector) -> None:
    first = local.read(TEXT)
    local.read("Something else entirely, about Ulm.")
    assert local.read(TEXT) == first
    assert dataclasses.asdict(first)


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("Please send the rotas and the pancakes recipe to everybody.", ("rotas", "pancakes")),
        ("we havent asked, and nobody is freaking out", ("havent", "nobody")),
        ("plese fix the speling of this sentense for me", ("plese", "speling")),
        ("Which is better, option A or option B?", ("A", "B")),
        ("Schreib mir bitte ein Anschreiben und kürze den Widerspruch.", ("Anschreiben",)),
        ("Open /usr/lib/app and restart the decoder.", ("usr", "lib", "decoder")),
        ("My manager refused 6 weeks of unpaid leave.", ("unpaid", "leave")),
        ("It retries after 30s, and the amount owed is below.", ("30s", "owed")),
        ("It fails since PostgreSQL 16: md5 or scram-sha-256?", ("16", "md5", "256")),
        ("Name: Doreen Orr\nReligion: Methodist\nMemory: fine", ("Religion", "Memory")),
        ("Turn it into an email, leave out item 2.", ("2",)),
        ("The rate is double on Sundays, see the invoices.", ("Sundays",)),
        ("How do probation and parole differ?", ("probation", "parole")),
        ('\ufeff"GET /a HTTP/1.1" 401 112', ("1.1", "401", "112")),
        ("at net.mill.CheckIn.bind(CheckIn.kt:88) a TypeError", ("CheckIn", "TypeError")),
        ("POST /api/v1/orders takes 30s", ("v1",)),
        ("java.lang.IllegalStateException: the file is closed", ("IllegalStateException",)),
        ("at System.IO.Path.Join(String path)", ("System", "IO", "Path")),
        ("Schreib mir bitte einen kurzen Brief an die Krankenkasse.", ("Brief", "Krankenkasse")),
        ("It returns a datetime in Europe/Paris.", ("Europe", "Paris", "Europe/Paris")),
        ("Is a Mac or an old Samsung phone better?", ("Mac", "Samsung")),
        ('(1) Orr Ltd ("Supplier")\n2.1 The Supplier shall deliver.', ("Supplier", "1", "2.1")),
        ("Explain SUMIFS over C2:C500 in Office 365.", ("SUMIFS", "C2:C500", "365")),
        ("Could you shorten it? Best, Tamar Orr", ("Best",)),
        ("Compute the payment on a loan of 200,000 at 4.5%.", ("200,000",)),
        ("It stops at LR=0x08011a3d", ("0x08011a3d",)),
        ("SELECT a FROM t WHERE b = 'Orr' LIMIT 10; it is slow", ("10",)),
        ("The OAuth migration waits for the death certificate.", ("migration", "death")),
        ("| Region | Q1 | H2 |\n|---|---|---|\n| North | 12 | 14 |\n", ("Q1", "H2", "North")),
        ("Dear Hiring Team,\nI know Airflow and Hadoop.", ("Hiring", "Team", "Airflow", "Hadoop")),
        ("Lena asks legal about clause 14.2 today.", ("14.2",)),
        ("Here are three offers. Rank them by price.", ("Rank",)),
        ("See you.\n\nBest, Ilse", ("Best",)),
        ("Ich warte.\n\nMit freundlichen Gr\u00fc\u00dfen\nA. Lund", ("Gr\u00fc\u00dfen",)),
        ("Good afternoon,\nwe upgraded Django to 4.1.", ("Good", "Django", "4.1")),
        ("at app.Export.PdfWriter.Save(x)", ("PdfWriter",)),
        ("Add 1.5 kg of chicken. We moved 40 TB of logs.", ("1.5", "1.5 kg", "TB", "40 TB")),
        ("Since then the boiler shows E14, error H2.", ("E14", "H2")),
        ("curl -X POST -H 'Accept: text/csv' localhost", ("X", "H")),
        ("Why did he fail? A. Loud sounds. B. The hour. C) Noise", ("B", "C")),
        ("Config: retries: 5, multiplier: 1.5", ("5", "1.5")),
        (r"Check this regex: ^(?:\+49|0)[1-9]\d{7,11}$", ("49", "0", "1-9", "7,11")),
        ("We upgraded Django from 3.2 to 4.1 for two adults.", ("3.2", "4.1", "two")),
        ("A train leaves at 09:15 at 80 km/h. How far is it at 11:00?", ("80", "09:15", "11:00")),
        ("Convert 20 °C to kelvin. How much heat do 3 kg of iron give off?", ("20", "3")),
        ("Compare Catholic and Orthodox traditions.", ("Catholic", "Orthodox")),
        ("Write an essay about Buddhism in Japan.", ("Buddhism", "Japan")),
        ("Is malaria contagious?", ("malaria",)),
        ("Is Claude better than ChatGPT? Or Claude Code?", ("Claude",)),
        ("Anthropic has a model, and 2fa is off.", ("Anthropic", "2fa")),
        ("God forbid, the Huns left the Roman Empire.", ("God", "Huns", "Roman Empire")),
        ("Is my Samsung Galaxy A54 waterproof?", ("Samsung", "Galaxy", "A54", "Samsung Galaxy")),
        ("I use Adobe Premiere Pro daily.", ("Adobe", "Premiere", "Adobe Premiere Pro")),
        ("My Nintendo Switch is slow.", ("Nintendo", "Nintendo Switch")),
        ("Buy 500g mince and tomatoes x4.", ("500g", "x4")),
        ("Write to the tenant. Short, no threats.", ("Short",)),
        ('Use "%.2f" for each cell.', ("2f",)),
        (
            "my =VLOOKUP(A2,Sheet2!A:B,2,FALSE) gives #N/A here",
            ("A2", "Sheet2", "B", "N"),
        ),
        ("who won the world cup in 2014", ("2014",)),
        ("Is it cheaper to fly to Rome in May or June?", ("May", "June")),
        ("please solve 3x + 7 = 22", ("3x",)),
        ("My NHS number is below, her NI number too.", ("NHS", "NI")),
        ("Solve it.\nx^3 - 4x^2 + 6x - 24 = 0", ("3", "4x", "2", "24")),
        ("Integrate sin(2x) and 5a^2.", ("2x", "5a")),
        ("Fill it in:\n|8|3|4|6|\n|2|9| |1|", ("3", "6", "9", "1")),
        ("Complete the sequence: 2, 14, 23, 32", ("14", "23", "32")),
        ("Write a haiku about the Eiffel Tower and Breaking Bad.", ("Eiffel", "Breaking")),
        ("Watched Star Wars with my brother Otto.", ("Star", "Wars", "Star Wars")),
        ("Name the tallest peaks of Norway.", ("Norway",)),
        ("Write a short paragraph about the climate of South America.", ("South", "America")),
        ("rename IMG_0001.jpg to a.jpg", ("IMG_0001",)),
        ("a story about a dragon for 6 year olds", ("6", "6 year")),
        ("roast a 2kg chicken at 180 and cover it", ("2kg", "180")),
        ("Dx unclear. CRP to follow, sats fine.", ("Dx", "CRP", "sats")),
        ("It ends after retry 2/5; we split costs 50/50.", ("2/5", "50/50")),
        ("| Name | Score |\n|---|---|\n| Ida Lund | 4.5 |\n", ("4.5",)),
        ("Formuliere bitte ein h\u00f6fliches Schreiben an sie.", ("h\u00f6fliches",)),
        ("Die Restschuld soll in die Anschlussfinanzierung.", ("Restschuld",)),
        ("Halcyon v2.1 crashes, v2.14.3 too.", ("v2", "1", "14.3")),
        ("Max 3 pages, max 20% more.", ("Max", "max")),
        ("Max 2h per day, a 6-month probation.", ("Max", "2h", "probation")),
        ("Was ist brutto, was ist netto?", ("brutto", "netto")),
        ("emp = load(1)\nrate = RATES[emp['state']]", ("emp",)),
        ("Écris que l'expert n'est pas venu aujourd'hui.", ("l'expert",)),
        (
            "For Philippa: 8 oz flour, bake at 350 F, to the nearest 5.",
            ("8", "oz", "350", "F", "5"),
        ),
        ("A table for Ida Lund with the columns Owner, Task, Due.", ("Owner", "Task", "Due")),
        (r'Ida Lund: fix found = re.search(r"user=(\S+)", line)', ("S",)),
        ("I'm female and my GP and my landlady know Ida Lund.", ("female", "GP", "landlady")),
        ("A speech: bride Ida Lund, groom Bo Orr, best man Nils.", ("bride", "groom")),
        ('=SUMIF(B2:B40,"Lund",D2:D40)/COUNTIF(B2:B40,"Orr")', ("B2", "D40", "COUNTIF")),
        ("For Ida: image mill/web:10.4 on port 3000, rate=0.19", ("10.4", "3000", "0.19")),
        ("Ich hei\u00dfe Ida Lund, Vertragsnummer 4471-882, bitte.", ("Vertragsnummer",)),
        ("Estimado se\u00f1or Lund, le confirmamos su cita de hoy.", ("Estimado", "confirmamos")),
        ("Ida Lund applied for the posistion of a clerk.", ("posistion",)),
        ("How many days are there between 3 May 2026 and 1 June 2027?", ("3 May 2026",)),
        ("Sort these dates: 3 May 2024, 1 June 2022.", ("3 May 2024", "1 June 2022")),
        ("What is 48.20 plus 130.00 plus 27.30?", ("48.20", "27.30")),
        ("Ida Lund: fix it.\n```python\nnet = total * 0.9\n```", ("0.9",)),
        ("deepak: login page shows 502, ulla: rollback of auth-service", ("502", "auth")),
        ("Ida Lund runs our R&D, the Q&A and the P&L.", ("R", "D", "R&D", "Q", "Q&A", "L", "P&L")),
        ("Ida broke a leg and went to A&E.", ("E", "A&E")),
        ("Repeat the chest X-ray of Ida Lund in 6 weeks.", ("X", "ray", "X-ray")),
        ("Ida Lund and I signed it. Is it enforceable in England?", ("England",)),
        ("My sister told our parents about my abortion. Dad and Mum cry.", ("Dad", "Mum")),
        ("Ida Lund: EBITDA, two FTEs, UAT, IELTS 7, our MoU, Prof. Orr", ("FTEs", "UAT", "Prof")),
        ("Sort the mails of Ida Lund: classify each as Technical, Billing or Sales.", ("Billing",)),
        ("Customer 1: net down (Ida Lund)\nCustomer 2: billed twice", ("1", "2")),
        ("Ida Lund pays for 12 months after termination.", ("termination",)),
        ("Ida Lund: no valid credential, reconnect the frontend.", ("credential", "frontend")),
        ("Ida: `map(u => u.nmae)` is undefined, `usre.name` too", ("nmae", "usre")),
        ("copies = 2 if name == 'Quorn' else 1", ("2", "1")),
        ("int main() {\n  vector<int> v = {3, 1, 2};  // Ida Lund\n}", ("3", "1", "2")),
        ("df['age'] = (now - df['dob']).dt.days // 365\nnet = df.loc[0] * 1.12", ("365", "1.12")),
        ("FROM python:3.12-slim\nCMD x -b 0.0.0.0:8000", ("3.12", "0.0.0.0:8000")),
        ("instance_type = 't3.micro'  # Ida Lund", ("t3", "micro")),
        ("f.attach(pdf, maintype='x', subtype='y')\nsmtplib.SMTP(h)", ("maintype", "smtplib")),
        ("Nov 18 sshd[20417]: Accepted publickey from host port 60231 ssh2", ("publickey", "ssh2")),
    ],
)
def test_ordinary_words_stay(local: Detector, text: str, stays: tuple[str, ...]) -> None:
    """Of dictionaries, chats, other languages and programs; misspelt; single letters."""
    hidden = {text[f.start : f.end] for f in local.read(text).findings}
    assert hidden.isdisjoint(stays)


@pytest.mark.parametrize(
    ("text", "wholes"),
    [
        ("I left M&S for AT&T.", ("M&S", "AT&T")),
        ("Our P&O cruise with Ida Lund.", ("P&O", "Ida Lund")),
        ("She left Deloitte for Accenture.", ("Deloitte", "Accenture")),
        ("a3f9c21 Fix rounding for Ida Lund\n77be012 Review", ("a3f9c21", "77be012")),
        ("Ida Lund earns CHF 142,000 and paid 355 NOK.", ("CHF 142,000", "355 NOK")),
    ],
)
def test_names_with_an_ampersand_and_codes_are_single_things(
    local: Detector, text: str, wholes: tuple[str, ...]
) -> None:
    assert set(wholes) <= {text[f.start : f.end] for f in local.read(text).findings}


def test_a_short_name_is_no_misspelt_word_or_illness() -> None:
    left = (
        Sanitizer(policy="balanced")
        .sanitize("Nov 18 23:51:07 hermes sshd: Failed password, says Ida Lund.")
        .text
    )
    assert "gonorrhea" not in left
    assert "hermes" not in left


def test_an_age_with_a_sex_and_a_coded_number_have_their_class(local: Detector) -> None:
    text = "I'm 34F and he (M36) flew with TAP1352 on Monday. He asks for 95k."
    found = kinds(local.read(text), text)
    assert [found[it] for it in ("34F", "M36", "TAP1352", "95k")] == [
        *2 * ["NUMBER"],
        "ID",
        "MONEY",
    ]


def test_what_a_question_about_somebody_is_about_is_hidden(local: Detector) -> None:
    text = "Is malaria contagious? My brother has malaria and lives in Japan."
    assert {"malaria", "Japan"} <= set(kinds(local.read(text), text))


def test_two_words_of_one_name_have_one_class(local: Detector) -> None:
    text = "Write one greeting for each person:\n- Olga Petersen\n- Piet Brand\n"
    assert kinds(local.read(text), text) == {"Olga Petersen": "PERSON", "Piet Brand": "PERSON"}


@pytest.mark.parametrize("word", ["M\u00e4rz", "gestern", "zw\u00f6lften"])
def test_which_word_follows_a_day_does_not_decide_what_is_joined(word: str) -> None:
    text = f"3. {word}"
    day, other = extents.Finding(0, 1, "DATE"), extents.Finding(3, len(text), "DATE")
    assert extents._joins(text, day, other)


def test_measures_of_somebody_are_no_settings(local: Detector) -> None:
    text = '{"patient": "Ida Lund", "height": 172, "credit_limit": 5000}'
    assert {"172", "5000"} <= set(kinds(local.read(text), text))


def test_a_letter_that_stands_for_somebody_is_hidden(local: Detector) -> None:
    text = "Did not sleep. M. came home at four. B. was there too."
    assert {"M", "B"} <= {it.rstrip(".") for it in kinds(local.read(text), text)}


def test_a_german_and_a_spanish_date_are_one(local: Detector) -> None:
    text = "Sie hat mir am 3. M\u00e4rz geschrieben."
    assert kinds(local.read(text), text) == {"3. M\u00e4rz": "DATE"}
    text = "Lleva roto desde el 12 de enero."
    assert kinds(local.read(text), text)["12 de enero"] == "DATE"


def test_days_of_a_list_are_days_of_their_own(local: Detector) -> None:
    text = "Ida Lund was away on 3 May 2024, 14 March 2023, 1 June 2022 at 10:30."
    days = [it for it, kind in kinds(local.read(text), text).items() if kind == "DATE"]
    assert days == ["3 May 2024", "14 March 2023", "1 June 2022", "10:30"]


def test_a_weekday_before_a_day_is_not_of_the_day_before(local: Detector) -> None:
    text = "Ida Lund can come on Monday 4 May, Tuesday 5 May or Friday 8 May, Sunday at last."
    days = [it for it, kind in kinds(local.read(text), text).items() if kind == "DATE"]
    assert days == ["Monday 4 May", "Tuesday 5 May", "Friday 8 May, Sunday"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("How many days has Ida Lund been away since 3 May 2026?", "3 May 2026"),
        ("How many days is it from 3 May 2026 to my operation?", "3 May 2026"),
        ("What is the sum of what Nordwind paid, 48.20 and 27,300.00?", "27,300.00"),
        ("The keys in the fields Owner, Baker are lost, says Judah Baker.", "Judah Baker"),
        ("Herr Lund und Frau Wollschl\u00e4ger wohnen bei uns.", "Wollschl\u00e4ger"),
        ("She weighed 7 lb at birth, Ida Lund said.", "7 lb"),
        ("Ida Lund paid for seat B2 and plate AB123 yesterday.", "B2"),
    ],
)
def test_numbers_and_names_of_somebody_stay_hidden(local: Detector, text: str, word: str) -> None:
    assert any(word in found for found in kinds(local.read(text), text))


@pytest.mark.parametrize("other", ["Quorn", "Mallory", "Prewett"])
def test_another_name_moves_nothing_in_a_task_with_numbers(local: Detector, other: str) -> None:
    """Theorem B: whether numbers are of a task is told by visible text and places of runs."""
    text = "How many days are there between 3 May 2026 and 1 June 2027, {} asked?"
    read = [local.read(text.format(name)) for name in ("Lund", other)]
    first, second = ([(f.start, f.kind) for f in each.findings] for each in read)
    assert first == second
    assert len(first) == 3


def test_forms_and_units_tell_the_class_of_a_number(local: Detector) -> None:
    text = "supplier,due\nHollis Paper,2026-01-15\nGrantley Inks,2026-02-20\nWho is late, Ida?"
    found = kinds(local.read(text), text)
    assert (found["2026-01-15"], found["2026-02-20"]) == ("DATE", "DATE")
    text = "Ida Lund has a parcel of 3.5 kg under 5510-3387 at 11:00-12:00 on Monday."
    found = kinds(local.read(text), text)
    assert "MONEY" not in found.values()


def test_who_somebody_is_to_somebody_is_no_part_of_a_name(local: Detector) -> None:
    text = "Schreibe eine Karte f\u00fcr meine Kollegin Friederike, die gern wandert."
    assert kinds(local.read(text), text) == {"Friederike": "PERSON"}


def test_who_somebody_is_stays_in_german_and_the_name_is_a_persons(local: Detector) -> None:
    text = "Sehr geehrter Herr Kravcik, Ihr Sohn Leon hat am Montag gefehlt. Bitte rufen Sie an."
    found = {text[each.start : each.end]: each.kind for each in local.read(text).findings}
    assert found == {"Kravcik": "PERSON", "Leon": "PERSON"}


def test_titles_and_greetings_of_a_german_letter_stay(local: Detector) -> None:
    text = "Liebe Frau Hollerith, bitte geben Sie den Laptop bei Herrn Sobotta ab."
    assert kinds(local.read(text), text) == {"Hollerith": "PERSON", "Sobotta": "PERSON"}
    text = "R\u00e9dige une r\u00e9ponse: M. Bastien Lacombe doit renvoyer le pull sous 14 jours."
    assert kinds(local.read(text), text) == {"Bastien Lacombe": "PERSON"}


def test_a_table_beside_prose_has_columns(local: Detector) -> None:
    text = (
        "Staff:\nname,department,due\nIda Lund,Finance,240\nBo Orr,IT,60\nWho owes more, and why?"
    )
    found = kinds(local.read(text), text)
    assert (found["240"], found["60"]) == ("MONEY", "MONEY")
    assert not {"Finance", "IT"} & set(found)


def test_the_dot_of_a_saint_ends_no_name(local: Detector) -> None:
    text = "He saw Dr. Brandt at St. Erik's clinic. Erik was there."
    assert any(name.startswith("St. Erik") for name in kinds(local.read(text), text))


def test_which_number_follows_does_not_decide_whether_max_is_a_name(local: Detector) -> None:
    for number in ("3", "1.200,50", "2019"):
        text = f"Max {number} pages, please."
        assert "Max" not in kinds(local.read(text), text)
        text = f"Max {number} and Leo are my sons."
        assert kinds(local.read(text), text)["Max"] == "PERSON"


def test_an_everyday_word_is_no_illness_with_a_typing_error() -> None:
    text = "a terrible dancer, perhaps astmha"
    assert listed_in(text, 0, 17, "CONDITION") is None
    assert listed_in(text, 19, len(text), "CONDITION") == (27, 33, "CONDITION", "asthma")


def test_a_table_has_months_and_their_years(local: Detector) -> None:
    text = "Tenant\tRent\tPaid to\nAnna Lund\t£780\tFeb 25\nOtto Quorn\t£815\tMay 25\n"
    assert {"Feb 25", "May 25"} <= set(kinds(local.read(text), text))


def test_a_german_name_of_two_nouns_is_no_everyday_word(local: Detector) -> None:
    text = "Mein Arbeitgeber, die Bäckerei Rosenstengel, will mich nicht weiter beschäftigen."
    hidden = " ".join(kinds(local.read(text), text))
    assert "Rosenstengel" in hidden
    text = "Ich war gestern bei Frau Vertrag und habe mit ihr gesprochen."
    assert kinds(local.read(text), text)["Vertrag"] == "PERSON"


def test_letters_of_names_and_numbers_are_not_single(local: Detector) -> None:
    text = "Ask Ines B. about P-3391."
    hidden = " ".join(text[f.start : f.end] for f in local.read(text).findings)
    assert {"Ines", "B", "P", "3391"} <= set(hidden.split())


def test_no_list_of_ordinary_words_names_illness_belief_or_people() -> None:
    lists = forms()
    for word in ("chlamydia", "burglary", "insulin", "wheelchair", "priya", "leeds", "widowed"):
        assert word not in lists.ordinary
    called = set(
        "abbey angel crystal dawn grant hunter junior marine pearl penny queen ville violet "
        "wolf".split()
    )
    assert lists.ordinary & given_names() == called


@pytest.mark.parametrize(
    ("text", "word"), [("I have just been diagnosed with MS.", "MS"), ("She has CF, too.", "CF")]
)
def test_short_names_of_illnesses_are_hidden(local: Detector, text: str, word: str) -> None:
    assert word in {text[each.start : each.end] for each in local.read(text).findings}


def test_letters_of_offices_have_a_language(local: Detector) -> None:
    text = (
        "Ihrem Antrag auf Wohngeld kann nicht entsprochen werden, da das Gesamteinkommen Ihres "
        "Haushalts die H\u00f6chstgrenze \u00fcberschreitet. Ich will Widerspruch einlegen."
    )
    reading = local.read(text)
    assert reading.language == "de"
    assert reading.findings == ()


@pytest.mark.parametrize("cell", ["8", "80", "800"])
def test_what_a_cell_holds_decides_about_no_other(local: Detector, cell: str) -> None:
    text = f"Name, Mon, Tue, Wed\nLotte, 7, 9, {cell}\nSamir, 6, 5, 4\nWho worked most?"
    hidden = {text[each.start : each.end] for each in local.read(text).findings}
    assert hidden - {cell} == {"Lotte", "Samir"}


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("My brother has a bad back and low mood.", {"bad back", "low mood"}),
        ("My son has learning difficulties.", {"learning difficulties"}),
        ("She has leave to remain, and points on her licence.", {"leave to remain"}),
        ("Dana came with her wife.", {"wife"}),
        ("She works as a care assistant.", {"care assistant"}),
        ("I am room attendant at the hotel.", {"room attendant"}),
    ],
)
def test_phrases_of_everyday_words_tell_of_somebody(
    local: Detector, text: str, hidden: set[str]
) -> None:
    assert hidden <= set(kinds(local.read(text), text))


@pytest.mark.parametrize(
    "text",
    [
        "What helps against a bad back?",
        "Write a post on work permits and green cards.",
        "Explain memory loss in programs: which tools show what is lost?",
    ],
)
def test_phrases_that_are_nobodys_stay(local: Detector, text: str) -> None:
    assert kinds(local.read(text), text) == {}


@pytest.mark.parametrize("other", ["Vanbrugh", "Zdenka", "Bad"])
def test_another_name_moves_no_phrase_and_no_post(local: Detector, other: str) -> None:
    """Which phrases are hidden is told by visible text and by the hidden word in them alone."""
    text = "Ida Quornhoek, team lead, has a bad back. Quornhoek's wife Ida is a care assistant."
    one, two = text, text.replace("Quornhoek", other)
    found = [sorted(kinds(local.read(each), each).items()) for each in (one, two)]
    told = [[(form, kind) for form, kind in each if kind != "PERSON"] for each in found]
    assert told[0] == told[1] != []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mon 4:00pm-9:15pm, then Ida came.", {"4:00pm", "9:15pm"}),
        ("Ida works 09:00-17:30 here.", {"09:00", "17:30"}),
        ("Ida took 1 1/2 cups of it, and 2x95 of mine.", {"1 1/2", "2x95"}),
        ("My rent: 25p a unit, says Ida.", {"25p"}),
        ("Ida paid me 15 thousand for it.", {"15 thousand"}),
        ("My ticket AB1204-2 is lost, Ida.", {"AB1204-2"}),
        ("Ida Zabelo sits at t3.", {"Ida Zabelo", "t3"}),
    ],
)
def test_numbers_and_times_are_found_as_single_things(
    local: Detector, text: str, found: set[str]
) -> None:
    assert any(
        found <= {text[each.start : each.end].removeprefix("Mon ") for each in reading.findings}
        for reading in [local.read(text)]
    )


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("This is the 3rd time that I write to Ida.", "3rd"),
        ("This is the FOURTH time that I write to Ida.", "FOURTH"),
        ("Ida can do Mon\u2013Thu and Sat/Sun.", "Sun"),
        ("Sort them A-Z, with Ida first.", "A-Z"),
        ("Print it on A5 for Ida.", "A5"),
        ("Ida and I sold more in q3 than in q2.", "q3"),
        ("I was charged 780 for it, Ida.", "charged"),
        ("Nice to meet you, Ida. My bus broke down.", "broke"),
    ],
)
def test_words_of_everybody_stay(local: Detector, text: str, stays: str) -> None:
    at = text.index(stays)
    assert all(
        each.end <= at or at + len(stays) <= each.start for each in local.read(text).findings
    )


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (
            "Traduzca al espa\u00f1ol formal, por favor, para mi abuela: I, Ida Lund, sell my flat "
            "at "
            "the price below and will not lower it.",
            "espa\u00f1ol",
        ),
        (
            "Die Sterbeurkunde und der Erbschein von Ida Lund fehlen uns leider noch.",
            "Sterbeurkunde",
        ),
        (
            "R\u00e9\u00e9crivez-le pour ma m\u00e8re, s'il vous pla\u00eet, elle est malade.",
            "R\u00e9\u00e9crivez",
        ),
        ("Please categorise these mails of my sister Ida.", "categorise"),
    ],
)
def test_words_of_the_task_stay_in_other_languages_and_spellings(
    local: Detector, text: str, stays: str
) -> None:
    at = text.index(stays)
    assert all(
        each.end <= at or at + len(stays) <= each.start for each in local.read(text).findings
    )


@pytest.mark.parametrize(
    ("text", "thing", "kind"),
    [
        ("Ich bin Fahrlehrer und habe hohen Blutdruck.", "Fahrlehrer", "OCCUPATION"),
        (
            "Mein Bruder hat eine k\u00fcnstliche H\u00fcfte und ich auch.",
            "k\u00fcnstliche H\u00fcfte",
            "CONDITION",
        ),
        (
            "Mon fr\u00e8re a deux proth\u00e8ses auditives depuis hier.",
            "proth\u00e8ses auditives",
            "TREATMENT",
        ),
        ("Mi hermano tiene una orden de alejamiento.", "orden de alejamiento", "CRIME"),
    ],
)
def test_phrases_and_occupations_of_other_languages_have_a_class(
    local: Detector, text: str, thing: str, kind: str
) -> None:
    assert kinds(local.read(text), text)[thing] == kind


def test_a_list_of_sums_with_a_decimal_comma_is_no_table() -> None:
    found = pieces("01-09  Koffie   card  -4,80\n02-09  Hoek   card   -50,00\n")
    assert not [piece for piece in found if piece.language == "csv"]


def test_lower_case_words_of_an_unread_language_are_no_names(local: Detector) -> None:
    text = (
        "Translate this for my insurance: il Sig. Lund \u00e8 stato ricoverato per una colica con "
        "degenza di due settimane e si raccomanda di evitare sforzi fisici per un mese, anche a "
        "casa."
    )
    found = kinds(local.read(text), text)
    assert not [form for form, kind in found.items() if form.islower() and kind == "PERSON"]
    assert any("Lund" in form for form in found)
