"""The commands that read texts and files: `sanitize`, `restore` and `demo`."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sanitizer.cli.options import (
    INTERRUPTED,
    VAULT_KEY,
    TextCommand,
    build_sanitizer,
    command,
    conversation_option,
    file_option,
    flag,
    is_file_name,
    json_option,
    model_option,
    open_vault,
    option,
    read_file,
    read_text,
    setting_options,
    store_options,
    texts_of,
    together,
    write,
)
from sanitizer.errors import PolicyError, SanitizerError, VaultError, plural

if TYPE_CHECKING:
    from sanitizer.documents.files import Document
    from sanitizer.pipeline.sanitizer import Sanitizer
    from sanitizer.results import SanitizedText
    from sanitizer.storage.table import Originals
    from sanitizer.storage.vault import Vault

MAX_NAMES = 8
"""Names that are tried for the conversation of a file until one has a tag that no other has."""
_input_options = together(
    click.argument("arguments", metavar="[TEXT | FILE...]", nargs=-1),
    file_option("-f --file files", "read this UTF-8 file", multiple=True),
    file_option(
        "-o --output", "write here, in the format of the input; for several files, a folder", "PATH"
    ),
)


class Source(NamedTuple):
    """One input of a command: what a file, or a text that was typed or piped in, says.

    Attributes:
        document: the file as a document, if it is one.
        place: where the result is written; None: to standard output.
    """

    path: Path | None
    text: str
    document: Document | None = None
    place: Path | None = None


def sources(
    arguments: Sequence[str], files: Sequence[Path], output: Path | None, images: bool
) -> list[Source]:
    """Return the inputs of a command, each with the place of its result, of which a folder is made.

    An output in another format than its input is refused before anything is paid. With `images`
    those inside documents may stay.
    """
    inputs = _read_all(arguments, files, images, must_exist=output is not None)
    if output is None:
        return inputs
    if len(inputs) > 1 and not output.suffix and not output.exists():
        output.mkdir()
    if not output.is_dir() and len(inputs) > 1:
        raise ValueError("--output must be a folder for several files, got a file")
    found: list[Source] = []
    for each in inputs:
        place = output
        if output.is_dir():
            if each.path is None:
                raise ValueError("--output must be a file for a text, got a folder")
            place = output / each.path.name
        if each.path is not None and place.exists() and place.samefile(each.path):
            raise ValueError("--output must not be the input itself")
        if each.document is not None and place.suffix.lower() != each.document.suffix:
            name = place.name if is_file_name(place.name) else "--output"
            suffix = each.document.suffix
            raise ValueError(f"{name}: must end in {suffix}, the format of the input")
        found.append(each._replace(place=place))
    if len({each.place for each in found}) < len(found):
        raise ValueError("several files have the same name; write them one by one")
    return found


def _read_all(
    arguments: Sequence[str], files: Sequence[Path], images: bool, must_exist: bool
) -> list[Source]:
    """Read files by option or argument, one text, or standard input.

    Arguments that all name files are read as files. With `must_exist` a text that looks like a
    file's name cannot be meant as a text.
    """
    from sanitizer.documents.files import is_document

    # Of what is too long for a name, or holds a zero byte, `os.path` says that it is none.
    paths = [Path(each) for each in arguments if each != "-" and os.path.isfile(each)]
    if (files or arguments) and len(paths) == len(arguments):
        return [_read(path, images) for path in (*files, *paths)]
    if files:
        raise ValueError("give a text or files (-f), not both")
    if len(arguments) > 1:
        missing = [each for each in arguments if is_file_name(each) and Path(each) not in paths]
        if len(paths) + len(missing) == len(arguments):
            raise ValueError(f"{missing[0]}: no such file")
        raise ValueError("several arguments (put the text in quotes: it is one argument)")
    text = arguments[0] if arguments else None
    if text is not None and os.sep in text and os.path.isdir(text):
        raise ValueError("the argument is a folder; name the files in it")
    if text is not None and is_file_name(text):
        if must_exist or is_document(Path(text)):
            raise ValueError(f"{text}: no such file")
        click.echo("sanitizer: note: no such file, so the argument is taken as a text", err=True)
    return [Source(None, read_text(text, None))]


def _read(path: Path, images: bool) -> Source:
    from sanitizer.documents.files import is_document, open_document

    if not is_document(path):
        return Source(None if str(path) == "-" else path, read_file(path))
    try:
        document = open_document(path, images)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None
    return Source(path, document.text, document)


# ---- sanitize ----


@command(
    "replace the private words in a text or in files",
    'sanitizer sanitize "My father Peter has hepatitis."',
    "sanitizer sanitize letter.docx --output out.docx --vault my.vault",
    "sanitizer sanitize --lines --json -f prompts.txt",
    "pbpaste | sanitizer sanitize",
    cls=TextCommand,
)
@_input_options
@store_options
@conversation_option
@flag("--lines", "treat each line of the input as a separate text")
@json_option
@flag("--reveal", "show the private words beside their replacements")
@flag("--explain", "show what found each private thing")
@flag("--record", "print in full what was done, and what is not protected")
@option(
    "--keep",
    "do not replace PHRASE, written exactly like this; may be repeated",
    "PHRASE",
    multiple=True,
)
@setting_options
@model_option
def sanitize(
    arguments: tuple[str, ...],
    files: tuple[Path, ...],
    output: Path | None,
    lines: bool,
    as_json: bool,
    reveal: bool,
    explain: bool,
    record: bool,
    keep: tuple[str, ...],
    **options: Any,
) -> int:
    """Replace the private words in TEXT or files; without either, or with -, in standard input.

    Word, Excel, PowerPoint, mail (.eml) and PDF files need the extra "documents". With --output
    they are written in their own format (PDF: as text); restore brings the originals back.
    """
    sanitizer = build_sanitizer(options)
    inputs = sources(arguments, files, output, sanitizer.policy.wire.images == "pass")
    _check_lengths(inputs, lines, sanitizer.inner.settings.max_chars)
    if lines or any(each.document is not None for each in inputs):  # no requests
        sanitizer = sanitizer.derive(policy=sanitizer.policy.leaving_nothing())
    parts = [texts_of(each.text, lines) for each in inputs]
    texts = list(chain.from_iterable(parts))
    results: list[SanitizedText] = []
    stopped, refusal = False, None
    named, kept = bool(options["conversation"]), options["vault"] is not None
    stream = sanitizer.sanitize_stream(texts, keep=keep, together=named)
    if kept and not named:  # one for each file, which `restore` finds again
        stream = chain.from_iterable(
            _of_file(sanitizer, each).sanitize_stream(part, keep=keep, together=True)
            for each, part in zip(inputs, parts, strict=True)
        )
    try:
        stopped = _collect(stream, len(texts), results, bar=lines)
    except SanitizerError as error:
        refusal = error
    _warn(results, sanitizer)
    if output is not None and not stopped and refusal is None:
        _save(inputs, texts, results, lines)
    else:
        _show(inputs, results, as_json, reveal, lines)
    if explain:
        for result in results:
            click.echo(result.explain(), err=True)
    if results and not as_json:
        _account(results, reveal, record, output)
        if sys.stdout.isatty() and not kept and any(each.replacements for each in results):
            write("to put the originals back into an answer: --vault FILE, then sanitizer restore;")
            write("or paste text and answer into the page of `sanitizer serve`")
    if refusal is not None:
        raise refusal  # whole texts that were released and paid for are printed already
    if not stopped:
        return 0
    done = f"{len(results)} of {len(texts)} texts were released, and are printed"
    done = done if results else "nothing was released"
    click.echo(f"sanitizer: error: interrupted; {done}", err=True)
    return INTERRUPTED


def _of_file(sanitizer: Sanitizer, given: Source) -> Sanitizer:
    """Return the Sanitizer of a file's own conversation; that of texts without a file is "".

    By its tag, which placeholders carry, `restore` finds it: of one that is taken another is made.
    """
    from sanitizer.storage.vault import message_key, tag_of

    vault, path = sanitizer.inner.vault, given.path and given.path.resolve()
    if path is None:
        return sanitizer
    for n in range(MAX_NAMES):
        name = f"{path}{n or ''}"
        own = sanitizer.derive(conversation=name)
        key = message_key(vault.secret, "file", str(tag_of(vault.secret, name)))
        if own.inner.note_chat(key, name) == name:
            return own
    raise VaultError("the vault has too many files: name the conversation (--conversation)")


def _originals(text: str, vault: Vault) -> tuple[str, Originals]:
    """Return the conversation that an answer is of, by the tags in it, and its originals.

    With them come those behind placeholders of other files that it holds.
    """
    from sanitizer.storage.vault import message_key

    tags = Counter(re.findall(r"<[A-Z_]+_([1-9]\d{4})_\d", text))
    found = (vault.get(message_key(vault.secret, "file", tag)) for tag, _ in tags.most_common())
    first, *others = [each.text for each in found if each is not None] or [""]
    originals = deepcopy(vault.originals(first))
    for name in {*others, ""}:
        for value, original in vault.originals(name).items():
            if value.startswith("<") and value not in originals:
                originals[value] = original
    return first, originals


def _collect(
    stream: Iterator[SanitizedText], n_texts: int, results: list[SanitizedText], bar: bool
) -> bool:
    """Append the results in order; return True if the user stopped it.

    After Ctrl-C what is paid for is finished and kept; a second one ends it at once.
    """
    from sanitizer.progress import counted, reading_bar, reported_to

    with _stop_asked() as asked, reading_bar(not bar) as shown:

        def watcher(done: int, total: int, charged: bool) -> None:
            if asked.is_set() and not charged:
                raise KeyboardInterrupt
            shown(done, total, charged)

        with reported_to(watcher):
            try:
                for result in counted(stream, n_texts) if bar else stream:
                    results.append(result)
                    if asked.is_set() and len(results) < n_texts:
                        return True
            except KeyboardInterrupt:
                return True
    return False


@contextmanager
def _stop_asked() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; the second raises KeyboardInterrupt."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        if sys.stderr.isatty():
            sys.stderr.write("\nstopping after what is charged; Ctrl-C again stops at once\n")

    kept = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, kept)


def _show(
    inputs: Sequence[Source],
    results: Sequence[SanitizedText],
    as_json: bool,
    reveal: bool,
    lines: bool,
) -> None:
    """Print results: as JSON, side by side with the originals for a person, or as they are."""
    has_end = False
    if as_json:
        shown = [json.dumps(result.as_dict(reveal)) for result in results]
    elif reveal or sys.stdout.isatty():
        from sanitizer.cli.display import before_after

        named = len(inputs) > 1 and not lines
        names = [str(each.path or "standard input") for each in inputs] if named else []
        shown = [before_after(results, names)] if results else []
    else:
        shown = [result.text for result in results]
        if not lines:  # files one after the other, as they are, but each on lines of its own
            shown[:-1] = [text.removesuffix("\n") for text in shown[:-1]]
            has_end = inputs[-1].text.endswith("\n")
    write("\n".join(shown), bool(shown) and not has_end)


def _account(
    results: Sequence[SanitizedText], reveal: bool, record: bool, output: Path | None
) -> None:
    """Say what was done: in short to a person, in full if asked, and never among the texts."""
    from sanitizer.cli.display import describe, in_short
    from sanitizer.results import joined_record

    beside = output is None and (reveal or sys.stdout.isatty())
    if not (record or beside):
        return
    said = describe(joined_record(results), len(results)) if record else in_short(results)
    if beside:
        write(f"\n{said}")
    else:
        click.echo(said, err=True)


def _check_lengths(inputs: Sequence[Source], lines: bool, most: int) -> None:
    """Raise ValueError for an input that is too long for one text, with its name and a way out."""
    for each in inputs:
        longest = max(map(len, texts_of(each.text, lines)))
        if longest > most:
            told = f"{longest:,} characters, but a text may have {most:,} at most: split it"
            way = "" if lines else ", or use --lines (each line is a separate text)"
            raise ValueError(f"{each.path or 'the text'} has {told}{way}")


def _save(
    inputs: Sequence[Source], texts: Sequence[str], results: Sequence[SanitizedText], lines: bool
) -> None:
    """Write the results of each input to its place, and say so."""
    from sanitizer.documents.files import edits_of

    rest = iter(zip(texts, results, strict=True))
    for each in inputs:
        pairs = list(islice(rest, len(texts_of(each.text, lines))))
        place = each.place
        assert place is not None
        if each.document is None:
            end = "\n" if lines and each.text.endswith("\n") else ""
            content = "\n".join(result.text for _, result in pairs) + end
            place.write_bytes(content.encode("utf-8", "surrogatepass"))
        else:
            edits, at = [], 0
            for original, result in pairs:
                edits += [edit.shifted(at) for edit in edits_of(original, result)]
                at += len(original) + 1
            each.document.save(place, edits)
        n_replaced = sum(len(result.replacements) for _, result in pairs)
        charged = sum(result.record.charged for _, result in pairs)
        click.echo(f"{place}: {n_replaced} replaced, epsilon {charged:g} charged", err=True)


def _warn(results: Sequence[SanitizedText], sanitizer: Sanitizer) -> None:
    """Say on standard error what leaves although it may be sensitive; never the text itself.

    If the API is to be told to write formulas, no hint has to offer them.
    """
    if n_facts := sum(len(result.warnings) for result in results):
        told = "may reveal a sensitive fact in everyday words, which are not hidden (--json: where)"
        click.echo(f"sanitizer: warning: {plural(n_facts, 'phrase')} {told}", err=True)
    hints = dict.fromkeys(hint for result in results for hint in result.hints)
    offers = [hint for hint in hints if "write formulas" in hint]
    instruction = sanitizer.inner.answers.instruction(results)
    for hint in hints:
        if not (instruction and hint in offers):
            click.echo(f"sanitizer: hint: {hint}", err=True)
    if instruction and (offers or sanitizer.policy.wire.formulas is True):
        click.echo(f"sanitizer: add this to your message:\n{instruction}", err=True)


# ---- restore ----


@command(
    "put the originals back into an answer",
    'sanitizer restore "Write to <EMAIL_1>." --vault my.vault',
    "sanitizer restore answer.docx --output letter.docx --vault my.vault",
    cls=TextCommand,
)
@_input_options
@conversation_option
@file_option(
    "--vault", f"the vault that sanitize kept the originals in (key in ${VAULT_KEY})", required=True
)
def restore(
    arguments: tuple[str, ...],
    files: tuple[Path, ...],
    output: Path | None,
    conversation: str,
    vault: Path,
) -> None:
    """Put the originals back into an answer: TEXT, files, or, without either, standard input."""
    from sanitizer.answers.restorer import Restorer
    from sanitizer.cli.display import told
    from sanitizer.documents.files import edits_between

    inputs = sources(arguments, files, output, images=True)
    opened = open_vault(vault, create=False)
    notes: dict[str, None] = {}
    for each in inputs:
        name, originals = conversation, opened.originals(conversation)
        if not name:
            name, originals = _originals(each.text, opened)
        restorer = Restorer(originals)
        if each.document is not None and each.place is not None:
            before = each.text.split("\n")
            after = [restorer.text(line) for line in before]
            each.document.save(each.place, edits_between(before, after))
        else:
            text = restorer.text(each.text)
            if each.place is None:
                write(text, newline=not text.endswith("\n"))
            else:
                each.place.write_bytes(text.encode("utf-8", "surrogatepass"))
        if each.place is not None:
            click.echo(f"{each.place}: written, with the originals put back", err=True)
        notes |= dict.fromkeys(told({value: originals[value] for value in originals.drawn}))
        _decide(each.text, opened, name)
    for note in notes:
        click.echo(f"sanitizer: {note}", err=True)


def _decide(answer: str, vault: Vault, conversation: str) -> None:
    """Ask what may leave of what an answer asks for; say what to add to the next message."""
    from sanitizer.answers.asking import needs_of
    from sanitizer.pipeline.leaving import decide
    from sanitizer.storage.table import RELEASED
    from sanitizer.text.policy import ELIGIBLE, Policy

    needs = list(needs_of(answer, vault.originals(conversation), ELIGIBLE))
    if not needs:
        return
    kinds = ", ".join(dict.fromkeys(need.kind for need in needs))
    click.echo(f"sanitizer: the answer asks for hidden values: {kinds}", err=True)
    asked = needs if sys.stdin.isatty() else []
    reveal = partial(click.confirm, err=True)
    chosen = [n.placeholder for n in asked if reveal(f"Reveal {n.original!r} to the API?")]
    with vault.edit(conversation) as table:
        decide(table, answer, needs, chosen, Policy.preset("balanced"))
        released = [row for row in table.decided[answer] if row.place == RELEASED]
    for row in released:
        click.echo(f"sanitizer: add to your next message: {row.value} = {row.original}", err=True)


# ---- demo ----

EXAMPLE = (
    "My father Peter has hepatitis and lives in Leeds. Write to peter.lund@example.com about it."
)


@command(
    "show each step from prompt to answer, without an API",
    "sanitizer demo",
    'sanitizer demo "Call Anna at +44 20 7946 0958."',
    cls=TextCommand,
)
@click.argument("text", required=False)
@setting_options
def demo(text: str | None, **setting: Any) -> None:
    """Show each step from prompt to answer, for an example or for TEXT.

    Nothing leaves this machine: in place of an API's answer, the sanitized text is repeated.
    """
    from sanitizer.cli.display import marked, width

    sanitizer = build_sanitizer(setting)
    text = EXAMPLE if text is None else read_text(text, None)
    result = sanitizer.sanitize(text)
    answer = f"You wrote: {result.text}"
    before, after = marked(result)
    steps = {
        "1. You write": before,
        "2. What leaves this machine": after,
        "3. The API answers (here: an echo, made on this machine)": answer,
        "4. What you read": sanitizer.restore(answer, result),
    }
    shown = [f"{title}\n{_indented(content, width())}" for title, content in steps.items()]
    write("\n\n".join([*shown, _indented(result.record.summary(), width(), "")]))
    write(
        "\nNext:  sanitizer sanitize TEXT         your own text\n"
        "       sanitizer run -- COMMAND        a program that talks to an API\n"
        "       sanitizer --help                everything else"
    )


def _indented(text: str, columns: int, indent: str = "   ") -> str:
    """Return a text wrapped to a width, terminal colours not counted."""
    lines, line, n_shown = [], indent, len(indent)
    for word in re.findall(r"\S+\s*|\s+", text):
        n_word = len(click.unstyle(word).rstrip())
        if n_shown + n_word > columns and n_shown > len(indent):
            lines.append(line.rstrip())
            line, n_shown = indent, len(indent)
        line += word
        n_shown += len(click.unstyle(word))
    return "\n".join([*lines, line.rstrip()])
