"""Documents: all text is read, edits keep the layout, and what is not read refuses."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.documents.files import (
    Edit,
    applied,
    apply_to_pieces,
    edits_between,
    edits_of,
    is_document,
    open_document,
)
from sanitizer.errors import PolicyError
from tests.cli.running import one_line, run

docx = pytest.importorskip("docx")
openpyxl = pytest.importorskip("openpyxl")
pptx = pytest.importorskip("pptx")
image = pytest.importorskip("PIL.Image")

MAIL, OTHER, AUTHOR = "anna@example.org", "joe@example.org", "Zoltan Quill"
PRIVATE = (MAIL, OTHER, "Zoltan", "Quill")
IDENTIFIERS = ("sanitize", "--policy", "identifiers")
KEY = {"SANITIZER_VAULT_KEY": "a key of sixteen bytes"}


def letter(path: Path) -> None:
    made = docx.Document()
    body = made.add_paragraph("Write to anna@")
    body.add_run("example.org").bold = True
    body.add_run(", today.").italic = True
    made.sections[0].header.paragraphs[0].text = f"From {OTHER}"
    made.add_table(1, 1).cell(0, 0).text = MAIL
    made.core_properties.author = AUTHOR
    made.add_comment(body.runs[0], text=f"or {OTHER}?", author=AUTHOR, initials="ZQ")
    link = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    made.part.relate_to(f"mailto:{MAIL}", link, is_external=True)
    made.save(path)


def staff(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = f"of {AUTHOR}@example.org".replace(" ", "")
    for row in (["Name", "Mail", "Hours"], ["a", MAIL, 7], ["b", OTHER, 8]):
        sheet.append(row)
    sheet["D2"] = f'=IF(C2>7,"{MAIL}","none")'
    sheet["E2"] = f"=SUM('{sheet.title}'!C2:C3)"
    sheet["A2"].comment = openpyxl.comments.Comment(f"or {OTHER}", AUTHOR)
    sheet["B3"].hyperlink = f"mailto:{OTHER}"
    sheet.oddHeader.center.text = MAIL
    book.properties.creator = AUTHOR
    book.save(path)


def talk(path: Path) -> None:
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[0])
    slide.shapes.title.text = f"Write to {MAIL}"
    slide.notes_slide.notes_text_frame.text = OTHER
    slide.placeholders[1].name = AUTHOR
    made.core_properties.author = AUTHOR
    made.save(path)


def mail(path: Path) -> None:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = f"Jörg <{OTHER}>", MAIL, f"About {MAIL}"
    made["Received"] = f"from {AUTHOR}"
    made.set_content(f"Write to {MAIL}.\n")
    made.add_alternative(
        f'<p id="Zoltan">Write <b>to</b> {MAIL} <!-- {AUTHOR} -->'
        f'<a href="mailto:{OTHER}">here</a>.</p><script>{AUTHOR}</script>',
        subtype="html",
    )
    path.write_bytes(made.as_bytes())


MADE = {"letter.docx": letter, "staff.xlsx": staff, "talk.pptx": talk, "mail.eml": mail}


def content(path: Path) -> bytes:
    """All bytes of a file, unpacked or decoded."""
    if path.suffix == ".eml":
        parts = BytesParser(policy=default).parsebytes(path.read_bytes()).walk()
        texts = [part.get_content() for part in parts if not part.is_multipart()]
        return path.read_bytes() + "\n".join(texts).encode()
    with zipfile.ZipFile(path) as packed:
        return b"\n".join(packed.read(name) for name in packed.namelist())


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("name", MADE)
def test_nothing_private_stays_and_all_comes_back(name: str, tmp_path: Path) -> None:
    path, sent, back = tmp_path / name, tmp_path / f"sent-{name}", tmp_path / f"back-{name}"
    MADE[name](path)
    vault = ("--vault", str(tmp_path / "vault"))
    done = run(*IDENTIFIERS, str(path), "-o", str(sent), *vault, environment=KEY)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"replaced, epsilon 0 charged" in done.stderr
    assert [word for word in PRIVATE if word.encode() in content(sent)] == []
    assert b"EMAIL_" in content(sent)
    done = run("restore", str(sent), "-o", str(back), *vault, environment=KEY)
    assert done.returncode == 0
    assert open_document(back).text == open_document(path).text
    assert MAIL in open_document(back).text


def test_a_letter_keeps_its_runs(tmp_path: Path) -> None:
    letter(tmp_path / "letter.docx")
    run(*IDENTIFIERS, str(tmp_path / "letter.docx"), "-o", str(tmp_path / "out.docx"))
    body = docx.Document(tmp_path / "out.docx").paragraphs[0]
    assert [each.text for each in body.runs] == ["Write to <EMAIL_1>", "", "", ", today."]
    assert [each.italic for each in body.runs] == [None, None, None, True]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Dear Peter,\nyours\n", b"Dear Elena,\nyours\n"),
        ("Grüße, Peter\n", b"Gr=C3=BC=C3=9Fe, Elena"),
        ("Peter " + "a" * 3000 + "\n", b"Elena aaaa"),
    ],
)
def test_the_text_of_a_mail_can_be_read_in_its_file(
    text: str, shown: bytes, tmp_path: Path
) -> None:
    made = EmailMessage()
    made["Subject"] = "News"
    made.set_content("Peter")
    made.set_payload(text.encode())
    made.replace_header("Content-Transfer-Encoding", "8bit")
    path, out = tmp_path / "a.eml", tmp_path / "out.eml"
    path.write_bytes(made.as_bytes())
    document = open_document(path)
    at = document.text.index("Peter")
    document.save(out, [Edit(at, at + 5, "Elena")])
    assert shown in out.read_bytes()
    assert max(map(len, out.read_bytes().split(b"\n"))) < 998
    assert text.replace("Peter", "Elena").strip() in open_document(out).text


def test_prompts_of_a_presentations_layouts_are_no_text_and_others_are(tmp_path: Path) -> None:
    made = pptx.Presentation()
    made.slides.add_slide(made.slide_layouts[0]).shapes.title.text = "Quarterly report"
    level = made.slide_layouts[1].placeholders[1].text_frame.paragraphs[1]
    level.text = f"Second level of {OTHER}"
    made.save(tmp_path / "talk.pptx")
    document = open_document(tmp_path / "talk.pptx")
    assert "Master" not in document.text
    assert "Third level" not in document.text
    assert "Quarterly report" in document.text
    assert document.text.count(OTHER) == 1
    document.save(tmp_path / "again.pptx", [])
    assert b"Click to edit Master title style" in content(tmp_path / "again.pptx")


def test_several_files_make_their_folder(tmp_path: Path) -> None:
    for name in ("one.docx", "two.docx"):
        letter(tmp_path / name)
    files = [str(tmp_path / name) for name in ("one.docx", "two.docx")]
    done = run(*IDENTIFIERS, *files, "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["one.docx", "two.docx"]
    done = run(*IDENTIFIERS, *files, "--output", str(tmp_path / "out.docx"))
    assert one_line(done.stderr)
    assert b"--output must be a folder" in done.stderr


def test_the_date_that_powerpoint_computes_in_a_layout_is_neither_text_nor_kept(
    tmp_path: Path,
) -> None:
    pptx.Presentation().save(tmp_path / "talk.pptx")
    layouts = content(tmp_path / "talk.pptx")
    (date,) = set(re.findall(rb'type="datetime[^>]*>.*?<a:t>([^<]+)</a:t>', layouts))
    document = open_document(tmp_path / "talk.pptx")
    assert date.decode() not in document.text
    document.save(tmp_path / "again.pptx", [])
    assert date not in content(tmp_path / "again.pptx")


def test_numbers_formulas_and_names_of_a_workbook_hold(tmp_path: Path) -> None:
    path = tmp_path / "staff.xlsx"
    staff(path)
    document = open_document(path)
    at = document.text.index("\t7") + 1
    document.save(tmp_path / "sent.xlsx", [Edit(at, at + 1, "<HOURS_1>")])
    restored = open_document(tmp_path / "sent.xlsx")
    lines, back = (restored.text.replace("<HOURS_1>", by).split("\n") for by in ("<HOURS_1>", "7"))
    restored.save(tmp_path / "back.xlsx", edits_between(lines, back))
    cells = openpyxl.load_workbook(tmp_path / "sent.xlsx").active
    assert cells["C2"].value == "<HOURS_1>"
    assert cells["D2"].value == f'=IF(C2>7,"{MAIL}","none")'
    assert openpyxl.load_workbook(tmp_path / "back.xlsx").active["C2"].value == 7
    run("sanitize", str(path), "-o", str(tmp_path / "out.xlsx"), "--policy", "identifiers")
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert book.active["E2"].value == f"=SUM('{book.active.title}'!C2:C3)"
    assert "EMAIL" in book.active.title


def test_a_pdf_gives_its_text_and_is_written_as_text(tmp_path: Path) -> None:
    arguments = (*IDENTIFIERS, str(Path(__file__).with_name("mail.pdf")))
    assert run(*arguments).stdout == b"Write to <EMAIL_1> now.\n"
    wrong = run(*arguments, "-o", str(tmp_path / "b.pdf"))
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert b"b.pdf: must end in .txt" in wrong.stderr
    assert run(*arguments, "-o", str(tmp_path / "b.txt")).returncode == 0
    assert (tmp_path / "b.txt").read_text().strip() == "Write to <EMAIL_1> now."


def picture(path: Path) -> Path:
    image.new("RGB", (2, 2)).save(path)
    return path


def test_images_refuse_unless_the_policy_lets_them_pass(tmp_path: Path) -> None:
    made = docx.Document()
    made.add_picture(str(picture(tmp_path / "Zoltan.png")))
    made.save(tmp_path / "a.docx")
    with pytest.raises(PolicyError, match="1 image; images are not read"):
        open_document(tmp_path / "a.docx")
    open_document(tmp_path / "a.docx", images=True).save(tmp_path / "b.docx", [])
    assert b"Zoltan" not in content(tmp_path / "b.docx")
    assert len(docx.Document(tmp_path / "b.docx").inline_shapes) == 1


def with_part(path: Path, name: str, data: bytes) -> None:
    letter(path)
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr(name, data)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("word/embeddings/a.xlsx", b"PK"),
        ("word/vbaProject.bin", b"\0"),
        ("word/charts/chart1.xml", b"<c><v>Zoltan</v></c>"),
        ("customXml/item9.xml", b"<a>Zoltan</a>"),
        ("word/odd.xml", b"<a"),
    ],
)
def test_what_is_not_read_refuses_the_document(name: str, data: bytes, tmp_path: Path) -> None:
    with_part(tmp_path / "a.docx", name, data)
    done = run("sanitize", str(tmp_path / "a.docx"), "-o", str(tmp_path / "b.docx"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert one_line(done.stderr)
    assert b"Zoltan" not in done.stderr
    assert not (tmp_path / "b.docx").exists()


def test_of_several_documents_the_damaged_one_is_named(tmp_path: Path) -> None:
    letter(tmp_path / "a.docx")
    (tmp_path / "b.docx").write_bytes(b"PK\x03\x04 cut off")
    done = run(*IDENTIFIERS, str(tmp_path / "a.docx"), str(tmp_path / "b.docx"))
    assert done.returncode == 1
    assert one_line(done.stderr)
    assert str(tmp_path / "b.docx").encode() in done.stderr


def attached(path: Path, **kind: Any) -> None:
    made = EmailMessage()
    made.set_content("See below.")
    made.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    path.write_bytes(made.as_bytes())


def charted(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append([1])
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(book.active, 1, 1))
    book.active.add_chart(chart, "C3")
    book.save(path)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.eml", attached),
        ("a.xlsx", charted),
        ("a.docx", lambda path: path.write_bytes(b"PK no")),
        ("a.xlsx", lambda path: path.write_bytes(b"")),
        ("a.pdf", lambda path: path.write_bytes(b"Zoltan Quill, not a PDF")),
        ("a.doc", lambda path: path.write_bytes(b"")),
    ],
)
def test_other_things_refuse_too_and_are_not_quoted(
    name: str, make: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(tmp_path / name)
    with pytest.raises(PolicyError):
        open_document(tmp_path / name)
    assert caplog.text == "", "the library of PDF files quotes damaged ones"


def test_entities_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("Zoltan")
    bomb = f'<!DOCTYPE a [<!ENTITY e SYSTEM "file://{secret}">]><p><t>&e;</t></p>'
    with_part(tmp_path / "a.docx", "word/footnotes.xml", bomb.encode())
    assert "Zoltan" not in open_document(tmp_path / "a.docx").text


def test_a_missing_document_is_no_text(tmp_path: Path) -> None:
    for command in ("sanitize", "restore"):
        vault = ("--vault", "v") if command == "restore" else ()
        done = run(command, "gone.docx", *vault, environment=KEY)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"gone.docx: no such file" in done.stderr


def test_formats_are_told_by_their_suffix() -> None:
    told = [is_document(Path(name)) for name in ("a.DOCX", "a.doc", "a.txt", "a")]
    assert told == [True, True, False, False]


@given(st.lists(st.text(max_size=4), min_size=1, max_size=6), st.data())
def test_edits_of_pieces_are_edits_of_the_whole(pieces: list[str], data: st.DataObject) -> None:
    whole = "".join(pieces)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [Edit(a, b, data.draw(st.text(max_size=3))) for a, b in pairs]
    wanted = whole
    for edit in reversed(edits):
        wanted = wanted[: edit.start] + edit.text + wanted[edit.end :]
    found = apply_to_pieces(pieces, edits)
    assert len(found) == len(pieces)
    assert "".join(found) == applied(whole, edits) == wanted


@given(st.lists(st.tuples(st.text("ab <_1>", max_size=12), st.text("ab <_1>", max_size=12))))
def test_edits_between_lines_make_one_of_the_other(lines: list[tuple[str, str]]) -> None:
    before, after = [old for old, _ in lines], [new for _, new in lines]
    assert applied("\n".join(before), edits_between(before, after)) == "\n".join(after)


def test_edits_of_a_result_make_its_text() -> None:
    text = f"Write to {MAIL} or {OTHER}."
    result = Sanitizer(policy="identifiers").sanitize(text)
    assert applied(text, edits_of(text, result)) == result.text
    with pytest.raises(ValueError, match="original"):
        edits_of("another text", result)


@pytest.mark.usefixtures("apart")
def test_neighbouring_cells_are_restored_each_in_its_place(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append([MAIL, OTHER, "today"])
    book.save(tmp_path / "a.xlsx")
    vault = ("--vault", str(tmp_path / "vault"), "-o")
    out, back = str(tmp_path / "b.xlsx"), str(tmp_path / "c.xlsx")
    run(*IDENTIFIERS, str(tmp_path / "a.xlsx"), *vault, out, environment=KEY)
    assert run("restore", out, *vault, back, environment=KEY).returncode == 0
    assert [cell.value for cell in openpyxl.load_workbook(back).active[1]] == [MAIL, OTHER, "today"]
