"""The commands that measure a setting: `audit`, `attack`, `advise` and `evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from sanitizer.cli.options import (
    TextCommand,
    build_sanitizer,
    command,
    file_option,
    flag,
    is_file_name,
    json_option,
    measured_options,
    model_option,
    option,
    policy_option,
    read_file,
    read_text,
    texts_of,
    together,
    words_policy_option,
    write,
)

_texts_options = together(
    click.argument("text", required=False),
    file_option("-f --file", "file of texts like those that you will send"),
    flag("--lines", "treat each line of the file as a separate text"),
    json_option,
)


def count(value: str) -> int | None:
    """Return the number of inputs, or None for all."""
    return None if value == "all" else int(value)


@command(
    "compute the exact epsilon of a setting",
    "sanitizer audit --epsilon 4",
    "sanitizer audit --variant published --inputs 500",
)
@measured_options
@file_option("-f --file", "text with private words (default: an example)")
@option("--position", "which private word of the text is audited, from 0", type=int)
@option("--inputs", "number of inputs, evenly spaced, or all (default)", "N", type=count)
@json_option
def audit(
    file: Path | None, position: int | None, inputs: int | None, as_json: bool, **setting: Any
) -> None:
    """Compute the exact epsilon of a setting by enumerating all inputs."""
    from sanitizer.cli.display import describe_audit
    from sanitizer.progress import progress_bar
    from sanitizer.risk.exact_audit import EXAMPLE, EXAMPLE_POSITION, domain
    from sanitizer.risk.exact_audit import audit as run_audit

    sanitizer = build_sanitizer(setting)
    text, default = (EXAMPLE, EXAMPLE_POSITION) if file is None else (read_file(file), 0)
    position = default if position is None else position
    with progress_bar(inputs or len(domain(sanitizer)), True) as advance:
        report = run_audit(sanitizer, text, position, inputs, advance)
    write(json.dumps(report.as_dict()) if as_json else describe_audit(report))


def _texts(text: str | None, file: Path | None, lines: bool) -> list[str]:
    """Return the texts of a command: its argument or a file that this names, or standard input."""
    if text is not None and file is None and is_file_name(text):
        file, text = Path(text), None
    return texts_of(read_text(text, file), lines)


@command(
    "attack a setting on your own texts before you trust it",
    'sanitizer attack "My father Peter has hepatitis."',
    "sanitizer attack -f prompts.txt --lines --epsilon 5",
    cls=TextCommand,
)
@measured_options
@_texts_options
@option("--trials", "number of draws for each text (default 100)", "N", default=100)
def attack(
    text: str | None, file: Path | None, lines: bool, as_json: bool, trials: int, **setting: Any
) -> None:
    """Attack a setting on TEXT, or on the texts of a file, before you trust it."""
    from sanitizer.cli.display import attack_text
    from sanitizer.risk.attacks import run_attacks

    sanitizer = build_sanitizer(setting)
    report = run_attacks(sanitizer, _texts(text, file, lines), trials, progress=True)
    write(json.dumps(report.as_dict()) if as_json else attack_text(report))


@command(
    "find the setting that keeps the most meaning at a tolerated risk",
    'sanitizer advise --risk 0.1 "My father Peter has hepatitis."',
    "sanitizer advise -f prompts.txt --lines --risk 0.1",
    "sanitizer advise --classes --risk 0.2",
    cls=TextCommand,
)
@_texts_options
@flag("--classes", "advise an epsilon for each class that guarded draws")
@option(
    "--linked",
    "with --classes: how many things reveal each other, 1 (default) or 2",
    "N",
    default=1,
)
@option("--risk", "tolerated attack success per word, between 0 and 1", type=float, required=True)
@words_policy_option
@model_option
def advise(
    text: str | None,
    file: Path | None,
    lines: bool,
    as_json: bool,
    classes: bool,
    linked: int,
    risk: float,
    policy: str,
    model: Path | None,
) -> None:
    """Find the setting that keeps the most meaning of TEXT, or of a file, at a tolerated risk."""
    from sanitizer.cli.display import advice_text, class_advice_text
    from sanitizer.risk.advice import advise as find_advice
    from sanitizer.risk.classes import advise_classes

    if classes:
        by_class = advise_classes(risk, n_linked=linked, model=model)
        write(json.dumps(by_class.as_dict()) if as_json else class_advice_text(by_class))
        return
    if text is None and file is None:
        raise ValueError("give TEXT, --file FILE, or --classes")
    texts = _texts(text, file, lines)
    found = find_advice(texts, risk, policy, model=model, progress=True)
    write(json.dumps(found.as_dict()) if as_json else advice_text(found))


@command(
    "measure what a policy hides in labelled texts, and what else it changes",
    "sanitizer evaluate labelled.txt",
    "sanitizer evaluate --policy my.toml more.jsonl --json",
)
@click.argument("files", metavar="FILE...", type=Path, nargs=-1, required=True)
@policy_option
@json_option
def evaluate(files: tuple[Path, ...], policy: str, as_json: bool) -> None:
    """Measure what a policy hides in the labelled texts in FILEs, and what else it changes.

    A file marks private spans, as in "### 1 | en | chat", a new line, "Ask ⟦PERSON:Ida Lund⟧", or
    has one {"text": ..., "spans": [[start, end, "PERSON"], ...]} in each line. Everything that is
    found is hidden here, even if a request needs it.
    """
    from sanitizer.cli.display import evaluation_text
    from sanitizer.pipeline.sanitizer import Sanitizer
    from sanitizer.risk.evaluation import evaluate as measure
    from sanitizer.risk.labelled import labelled_texts
    from sanitizer.text.policy import Policy

    texts = [each for file in files for each in labelled_texts(file)]
    rules = Policy.load(policy).leaving_nothing()
    report = measure(Sanitizer(policy=rules), texts, progress=True)
    write(json.dumps(report.as_dict()) if as_json else evaluation_text(report))
