"""The command that lists what the package takes for an identifier."""

from __future__ import annotations

import json
from itertools import groupby

import click

from sanitizer.cli.options import command, json_option, policy_option, write


@command(
    "list the kinds of identifiers that are found",
    "sanitizer kinds",
    "sanitizer kinds iban --json",
)
@click.argument("name", metavar="[NAME]", required=False)
@policy_option
@json_option
def kinds(name: str | None, policy: str, as_json: bool) -> None:
    """List the kinds of identifiers, by class: their names, what they are and how they are found.

    NAME is the name of a kind, or of a class such as IBAN. A policy file switches kinds off, and
    may have kinds of its own.
    """
    from sanitizer.text.policy import Policy

    rows = Policy.load(policy).registry.rows.values()
    chosen = sorted(
        (row for row in rows if name in (None, row.name, row.kind, row.kind.lower())),
        key=lambda row: (row.kind, row.name),
    )
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
