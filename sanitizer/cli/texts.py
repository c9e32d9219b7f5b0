"""The commands that read texts and files: `sanitize`, `restore` and `demo`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sanitizer.cli.options import (
    INTERRUPTED,
    VAULT_KEY,
    TextCommand,
    budget_option,
    build_sanitizer,
    context_option,
    conversation_option,
    examples,
    is_file_name,
    is_standard_input,
    json_option,
    ledger_option,
    model_option,
    open_vault,
    read_file,
    read_text,
    setting_options,
    texts_of,
    vault_option,
    write,
)
from sanitizer.errors import PolicyError, SanitizerError

if TYPE_CHECKING:
    from sanitizer.documents import Document
    from sanitizer.pipeline import Sanitizer
    from sanitizer.results import SanitizedText

_file_option = click.option(
    "-f", "--file", "files", type=Path, multiple=True, metavar="FILE", help="read this UTF-8 file"
)
_output_option = click.option(
    "-o",
    "--output",
    type=Path,
    metavar="PATH",
    help="write here, in the format of the input; of several files: a folder",
)


class Source(NamedTuple):
    """One input of a command.

    Attributes:
        path: the file; None for a text that was typed or came in by a pipe.
        text: what it says.
        document: the file as a document, if it is one.
    """

    path: Path | None
    text: str
    document: Document | None = None


def sources(
    arguments: Sequence[str], files: Sequence[Path], images: bool, must_exist: bool = False
) -> list[Source]:
    """Return the inputs of a command: files by option or argument, one text, or standard input.

    Arguments that all name files are read as files.

    Args:
        images: True if images inside documents may stay.
        must_exist: True if a text that looks like a file's name cannot be meant as a text.

    Raises:
        ValueError: both a text and files, several texts, or nothing on a terminal.
        OSError: a file cannot be read.
        SanitizerError: a document cannot be used.
    """
    from sanitizer.documents import is_document

    paths = [Path(each) for each in arguments if _is_file(each)]
    if arguments and len(paths) == len(arguments):
        return [_read(path, images) for path in (*files, *paths)]
    if files and arguments:
        raise ValueError("give a text or files (-f), not both")
    if files:
        return [_read(path, images) for path in files]
    if len(arguments) > 1:
        missing = [each for each in arguments if is_file_name(each) and not _is_file(each)]
        if len(paths) + len(missing) == len(arguments):
            raise ValueError(f"{missing[0]}: no such file")
        raise ValueError("several arguments (put the text in quotes: it is one argument)")
    text = arguments[0] if arguments else None
    if text is not None and _is_folder(text):
        raise ValueError("the argument is a folder: name files in it")
    if text is not None and is_file_name(text):
        if must_exist or is_document(Path(text)):
            raise ValueError(f"{text}: no such file")
        click.echo("sanitizer: note: no such file, so the argument is taken as a text", err=True)
    return [Source(None, read_text(text, None))]


def _is_file(argument: str) -> bool:
    try:
        return argument != "-" and Path(argument).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def _is_folder(argument: str) -> bool:
    try:
        return os.sep in argument and Path(argument).is_dir()
    except (OSError, ValueError):
        return False


def _read(path: Path, images: bool) -> Source:
    from sanitizer.documents import is_document, open_document

    if is_standard_input(path):
        return Source(None, read_file(path))
    if is_document(path):
        try:
            document = open_document(path, images)
        except PolicyError as error:
            raise PolicyError(f"{path}: {error}") from None
        return Source(path, document.text, document)
    return Source(path, read_file(path))


def destinations(output: Path | None, inputs: Sequence[Source]) -> list[Path | None]:
    """Return where each input is written; None: to standard output. A folder is made.

    Raises:
        ValueError: several files for one file, or a place that is the input itself.
        OSError: the folder cannot be made.
    """
    if output is None:
        return [None] * len(inputs)
    if len(inputs) > 1 and not output.suffix and not output.exists():
        output.mkdir()
    if output.is_dir():
        if any(each.path is None for each in inputs):
            raise ValueError("--output must be a file for a text, got a folder")
        found = [output / each.path.name for each in inputs if each.path is not None]
    elif len(inputs) > 1:
        raise ValueError("--output must be a folder for several files, got a file")
    else:
        found = [output]
    for path, each in zip(found, inputs, strict=True):
        if each.path is not None and path.exists() and path.samefile(each.path):
            raise ValueError("--output must not be the input itself")
    if len(set(found)) < len(found):
        raise ValueError("several files have one name; write them one by one")
    return list(found)


# ---- sanitize ----


@click.command(
    cls=TextCommand,
    short_help="replace the private words of a text or of files",
    epilog=examples(
        'sanitizer sanitize "My father Peter has hepatitis."',
        "sanitizer sanitize letter.docx --output out.docx --vault my.vault",
        "sanitizer sanitize --lines --json -f prompts.txt",
        "pbpaste | sanitizer sanitize",
    ),
)
@click.argument("arguments", metavar="[TEXT | FILE...]", nargs=-1)
@_file_option
@_output_option
@vault_option
@conversation_option
@click.option("--lines", is_flag=True, help="each line of the input is a text of its own")
@json_option
@click.option("--reveal", is_flag=True, help="show the private words beside their replacements")
@click.option("--explain", is_flag=True, help="say what found each private thing")
@click.option("--record", is_flag=True, help="say in full what was done, and what is not protected")
@click.option(
    "--keep",
    multiple=True,
    metavar="PHRASE",
    help="let PHRASE leave as it is, written just like this; may be repeated",
)
@budget_option
@ledger_option
@setting_options
@context_option
@model_option
def sanitize(
    arguments: tuple[str, ...],
    files: tuple[Path, ...],
    output: Path | None,
    conversation: str,
    budget: float | None,
    ledger: Path | None,
    vault: Path | None,
    lines: bool,
    as_json: bool,
    reveal: bool,
    explain: bool,
    record: bool,
    keep: tuple[str, ...],
    **setting: Any,
) -> int:
    """Replace the private words of TEXT or of files; - or nothing reads standard input.

    Word, Excel, PowerPoint, mail (.eml) and PDF files need the extra "documents". With --output
    they are written in their own format (PDF: as text); restore brings the originals back.
    """
    sanitizer = build_sanitizer(
        setting, conversation=conversation, budget=budget, ledger=ledger, vault=vault
    )
    inputs = sources(arguments, files, sanitizer.policy.wire.images == "pass", output is not None)
    places = destinations(output, inputs)
    _check_formats(inputs, places)
    texts = [text for each in inputs for text in texts_of(each.text, lines)]
    _check_lengths(inputs, lines, sanitizer.inner.settings.max_chars)
    results: list[SanitizedText] = []
    status, refusal = 0, None
    try:
        # Each file or line is a conversation of its own, unless `restore` is to find them again.
        together = vault is not None or bool(conversation)
        bar = lines and sys.stderr.isatty()
        stopped = _sanitize(sanitizer, texts, keep, results, together, bar)
    except SanitizerError as error:
        stopped, refusal = False, error
    told = sanitizer.inner.answers.instruction(results)
    asked = any("write formulas" in hint for result in results for hint in result.hints)
    _warn(results, calculates=bool(told))
    if told and (asked or sanitizer.policy.wire.formulas is True):
        click.echo(f"sanitizer: send this along:\n{told}", err=True)
    if output is not None and not stopped and refusal is None:
        _save(inputs, places, texts, results, lines)
    else:
        _show(inputs, texts, results, as_json, reveal, lines)
    if explain:
        for result in results:
            click.echo(result.explain(), err=True)
    if results and not as_json:
        _account(results, reveal, record, output)
    if stopped:
        done = f"{len(results)} of {len(texts)} texts were released, and are printed"
        click.echo(
            f"sanitizer: error: interrupted; {done if results else 'nothing was released'}",
            err=True,
        )
        status = INTERRUPTED
    if refusal is not None:
        raise refusal  # whole texts that were released and paid for are printed already
    return status


def _sanitize(
    sanitizer: Sanitizer,
    texts: Sequence[str],
    keep: Sequence[str],
    results: list[SanitizedText],
    together: bool,
    bar: bool,
) -> bool:
    """Append the results of the texts in order; return True if the user stopped it.

    After Ctrl-C what is paid for is finished and kept; a second one ends it at once.
    """
    from sanitizer.progress import counted, reading_bar, reported_to

    stream = sanitizer.sanitize_stream(texts, keep=keep, together=together)
    with _stop_asked() as asked, reading_bar(sys.stderr.isatty() and not bar) as shown:

        def watcher(done: int, total: int, charged: bool) -> None:
            if asked.is_set() and not charged:
                raise KeyboardInterrupt
            shown(done, total, charged)

        with reported_to(watcher):
            try:
                for result in counted(stream, len(texts)) if bar else stream:
                    results.append(result)
                    if asked.is_set() and len(results) < len(texts):
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
            sys.stderr.write("\nending after what is paid for; Ctrl-C again ends at once\n")

    kept = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, kept)


def _show(
    inputs: Sequence[Source],
    texts: Sequence[str],
    results: Sequence[SanitizedText],
    as_json: bool,
    reveal: bool,
    lines: bool,
) -> None:
    """Print results: as JSON, side by side with the originals for a person, or as they are."""
    pretty = not as_json and (reveal or sys.stdout.isatty())
    if as_json:
        shown = [json.dumps(result.as_dict(reveal)) for result in results]
    elif pretty:
        from sanitizer.cli.display import before_after

        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        named = len(inputs) > 1 and not lines
        names = [str(each.path or "standard input") for each in inputs] if named else []
        found = before_after(texts, results, colour, names)
        shown = [found] if found else []
    else:
        shown = [result.text for result in results]
    whole = inputs[-1].text
    newline = as_json or lines or pretty or not whole.endswith("\n")
    joined = "\n" if as_json or lines or pretty else ""
    if not joined:
        # Files one after the other, as they are, but each on lines of its own.
        shown[:-1] = [text if text.endswith("\n") else f"{text}\n" for text in shown[:-1]]
    write(joined.join(shown), newline and bool(shown))


def _account(
    results: Sequence[SanitizedText], reveal: bool, record: bool, output: Path | None
) -> None:
    """Say what was done: in short to a person, in full if asked, and never among the texts."""
    from sanitizer.cli.display import describe, in_short, joined_record

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
            name = "the text" if each.path is None else str(each.path)
            way = "split it" if lines else "split it, or use --lines (each line a text of its own)"
            raise ValueError(
                f"{name} has {longest:,} characters, at most {most:,} can be one text: {way}"
            )


def _check_formats(inputs: Sequence[Source], places: Sequence[Path | None]) -> None:
    """Raise ValueError for an output in another format than its input, before anything is paid."""
    for each, place in zip(inputs, places, strict=True):
        wanted = each.document.suffix if each.document else None
        if place is not None and wanted is not None and place.suffix.lower() != wanted:
            name = place.name if is_file_name(place.name) else "--output"
            raise ValueError(f"{name}: must end in {wanted}, the format that is written")


def _save(
    inputs: Sequence[Source],
    places: Sequence[Path | None],
    texts: Sequence[str],
    results: Sequence[SanitizedText],
    lines: bool,
) -> None:
    """Write the results of each input to its place, and say so."""
    from sanitizer.documents import edits_of

    rest = list(zip(texts, results, strict=True))
    for each, place in zip(inputs, places, strict=True):
        n_texts = len(texts_of(each.text, lines))
        pairs, rest = rest[:n_texts], rest[n_texts:]
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


def _warn(results: Sequence[SanitizedText], calculates: bool) -> None:
    """Say on standard error what leaves although it may be sensitive; never the text itself.

    Args:
        calculates: the API is told to write formulas, so that no hint has to offer them.
    """
    n_facts = sum(len(result.warnings) for result in results)
    if n_facts:
        what = "phrase seems to tell" if n_facts == 1 else "phrases seem to tell"
        message = f"{n_facts} {what} a sensitive fact in everyday words, which stay (--json: where)"
        click.echo(f"sanitizer: warning: {message}", err=True)
    for hint in dict.fromkeys(hint for result in results for hint in result.hints):
        if calculates and "write formulas" in hint:
            continue
        click.echo(f"sanitizer: hint: {hint}", err=True)


# ---- restore ----


@click.command(
    cls=TextCommand,
    short_help="put the originals back into an answer",
    epilog=examples(
        'sanitizer restore "Write to <EMAIL_1>." --vault my.vault',
        "sanitizer restore answer.docx --output letter.docx --vault my.vault",
    ),
)
@click.argument("arguments", metavar="[TEXT | FILE...]", nargs=-1)
@_file_option
@_output_option
@conversation_option
@click.option(
    "--vault",
    type=Path,
    required=True,
    metavar="FILE",
    help=f"the vault that sanitize kept the originals in (key in ${VAULT_KEY})",
)
def restore(
    arguments: tuple[str, ...],
    files: tuple[Path, ...],
    output: Path | None,
    conversation: str,
    vault: Path,
) -> None:
    """Put the originals back into the answer TEXT or files; - or nothing reads standard input."""
    from sanitizer.answers import Restorer
    from sanitizer.cli.display import told

    inputs = sources(arguments, files, images=True, must_exist=output is not None)
    places = destinations(output, inputs)
    _check_formats(inputs, places)
    restorer = Restorer(open_vault(vault, create=False).originals(conversation))
    for each, place in zip(inputs, places, strict=True):
        if each.document is not None and place is not None:
            from sanitizer.documents import edits_between

            restored = [restorer.text(line) for line in each.text.split("\n")]
            each.document.save(place, edits_between(each.text.split("\n"), restored))
        else:
            text = restorer.text(each.text)
            if place is None:
                write(text, newline=not text.endswith("\n"))
            else:
                place.write_bytes(text.encode("utf-8", "surrogatepass"))
        if place is not None:
            click.echo(f"{place}: written, with the originals in it", err=True)
    originals = restorer.originals
    for note in told({value: originals[value] for value in originals.drawn}):
        click.echo(f"sanitizer: {note}", err=True)


# ---- demo ----

EXAMPLE = (
    "My father Peter has hepatitis and lives in Leeds. Write to peter.lund@example.com about it."
)


@click.command(
    cls=TextCommand,
    short_help="show the way in and the way back, without an API",
    epilog=examples("sanitizer demo", 'sanitizer demo "Call Anna at +44 20 7946 0958."'),
)
@click.argument("text", required=False)
@setting_options
def demo(text: str | None, **setting: Any) -> None:
    """Show the way in and the way back of an example, or of TEXT, without an API.

    Nothing leaves the machine: the answer that comes back is what left, word for word.
    """
    from sanitizer.cli.display import before_after, width

    sanitizer = build_sanitizer(setting)
    text = EXAMPLE if text is None else read_text(text, None)
    result = sanitizer.sanitize(text)
    answer = f"You wrote: {result.text}"
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    before, after = before_after([text], [result], colour).split("\n\n", 1)[0].split("\nafter   ")
    steps = [
        ("1. You write", before.removeprefix("before  ")),
        ("2. What leaves this machine", after),
        ("3. The API answers (here: an echo, made on this machine)", answer),
        ("4. What you read", sanitizer.restore(answer, result)),
    ]
    shown = [f"{title}\n{_indented(content, width())}" for title, content in steps]
    write("\n\n".join([*shown, _indented(result.record.summary(), width(), "")]))
    write(
        "\nNext:  sanitizer sanitize TEXT         your own text\n"
        "       sanitizer run -- COMMAND        a program that talks to an API\n"
        "       sanitizer --help                everything else"
    )


def _indented(text: str, columns: int, indent: str = "   ") -> str:
    """Return a text wrapped to a width, terminal colours not counted."""
    import re

    lines, line, n_shown = [], indent, len(indent)
    for word in re.findall(r"\S+\s*|\s+", text):
        n_word = len(re.sub("\x1b\\[[0-9]*m", "", word).rstrip())
        if n_shown + n_word > columns and n_shown > len(indent):
            lines.append(line.rstrip())
            line, n_shown = indent, len(indent)
        line += word
        n_shown += len(re.sub("\x1b\\[[0-9]*m", "", word))
    return "\n".join([*lines, line.rstrip()])
