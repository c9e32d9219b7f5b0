"""The command `sanitizer corrections`: what is always hidden, and what never is.

Other modules of the package are imported inside functions, so that commands start quickly.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanitizer.cli.options import VAULT_KEY, examples, file_option, json_option, option, write

if TYPE_CHECKING:
    from sanitizer.corrections import Corrections

MEMORY = "SANITIZER_CORRECTIONS"
_memory_option = file_option("--memory", f"file of the memory; default the first of ${MEMORY}")
_phrases = click.argument("phrases", metavar="PHRASE...", nargs=-1, required=True)


@click.group(
    short_help="what is always hidden, and what never is",
    epilog=examples(
        f"export {MEMORY}=~/.sanitizer-corrections {VAULT_KEY}=...",
        'sanitizer corrections add "Project Falcon"',
        "sanitizer corrections add --keep Jira",
        "sanitizer corrections import customers.csv",
        "sanitizer corrections list",
    ),
)
def corrections() -> None:
    """Remember phrases for every text to come, encrypted by the key in $SANITIZER_VAULT_KEY.

    A team shares a second file, whose path stands behind one's own in $SANITIZER_CORRECTIONS.
    Every command, program and proxy that has this variable and the key follows all of them.
    """


@corrections.command(short_help="always hide phrases, or never")
@_phrases
@option("--keep/--hide", "let them leave as they are, written just like this; or hide (default)")
@_memory_option
def add(phrases: tuple[str, ...], keep: bool, memory: Path | None) -> int:
    """Always hide each PHRASE, in any case; with --keep, never hide it.

    A phrase is treated in one way: the later one counts.
    """
    n_new = opened(memory, create=True).add(phrases, "keep" if keep else "hide")
    click.echo(f"{n_new} of {len(phrases)} added", err=True)
    return 0


@corrections.command(short_help="forget phrases")
@_phrases
@_memory_option
def remove(phrases: tuple[str, ...], memory: Path | None) -> int:
    """Forget each PHRASE; texts are then read as if it had never been corrected."""
    n_gone = opened(memory).remove(phrases)
    click.echo(f"{n_gone} removed", err=True)
    return 0 if n_gone else 1


@corrections.command("list", short_help="show the phrases, on this terminal")
@json_option
@_memory_option
def show(as_json: bool, memory: Path | None) -> int:
    """Print what is kept: hide or keep, and the phrase. These are the private words themselves."""
    entries = opened(memory).entries()
    if as_json:
        write(json.dumps([{"treatment": how, "phrase": phrase} for how, phrase in entries]))
    elif entries:
        write("\n".join(f"{how}  {phrase}" for how, phrase in entries))
    return 0


@corrections.command("import", short_help="always hide the contacts or customers of a file")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=Path)
@option("--column columns", "head of a column to take", "HEAD", multiple=True)
@_memory_option
def take(files: tuple[Path, ...], columns: tuple[str, ...], memory: Path | None) -> int:
    """Always hide the names, firms, mail addresses and numbers of CSV tables or vCards (.vcf).

    Single words of everyday language are left out: they would be hidden in every text.
    """
    from sanitizer.corrections import contacts_in

    kept = opened(memory, create=True)
    for file in files:
        found = contacts_in(file, columns)
        n_new = kept.add(found.phrases, "hide")
        left = f"; {found.n_left_out} left out" if found.n_left_out else ""
        click.echo(f"{file.name}: {len(found.phrases)} found, {n_new} new{left}", err=True)
    return 0


def opened(memory: Path | None, create: bool = False) -> Corrections:
    """Open a memory: the one named, or the first of the environment."""
    from sanitizer.corrections import Corrections

    named = [path for path in os.environ.get(MEMORY, "").split(os.pathsep) if path]
    if memory is None and not named:
        raise ValueError(f"name the memory: --memory FILE, or set ${MEMORY} to its path")
    if not os.environ.get(VAULT_KEY):
        raise ValueError(f"set ${VAULT_KEY} to the memory's key, at least 16 characters")
    return Corrections((memory or Path(named[0])).expanduser(), create=create)
