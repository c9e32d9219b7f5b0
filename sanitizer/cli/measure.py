"""The commands that measure a setting: `audit`, `attack` and `advise`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from sanitizer.cli.options import (
    build_sanitizer,
    context_option,
    json_option,
    model_option,
    policy_option,
    read_file,
    setting_options,
    texts_of,
    together,
    write,
)

lines_option = click.option(
    "--lines", is_flag=True, help="each line of the file is a text of its own"
)
texts_options = together(
    click.option(
        "--text",
        "file",
        type=Path,
        required=True,
        metavar="FILE",
        help="texts like those to be sent",
    ),
    lines_option,
    json_option,
)


def count(value: str) -> int | None:
    """Return the number of inputs, or None for all."""
    return None if value == "all" else int(value)


@click.command(short_help="exact epsilon of a setting, by enumerating all inputs")
@setting_options
@model_option
@click.option(
    "--context",
    "context_file",
    type=Path,
    help="a text with private words; default an example",
)
@click.option("--position", type=int, help="which private word of the context, from 0")
@click.option("--inputs", type=count, metavar="N", help="all (default), or how many, evenly spaced")
@json_option
def audit(
    context_file: Path | None,
    position: int | None,
    inputs: int | None,
    as_json: bool,
    **setting: Any,
) -> None:
    """Compute the exact epsilon of a setting by enumerating all inputs."""
    from sanitizer.cli.display import describe_audit
    from sanitizer.progress import progress_bar
    from sanitizer.risk import EXAMPLE, EXAMPLE_POSITION, domain
    from sanitizer.risk import audit as run_audit

    sanitizer = build_sanitizer(setting)
    text, default = (
        (EXAMPLE, EXAMPLE_POSITION) if context_file is None else (read_file(context_file), 0)
    )
    position = default if position is None else position
    with progress_bar(inputs or len(domain(sanitizer)), sys.stderr.isatty()) as advance:
        report = run_audit(sanitizer, text, position, inputs, advance)
    write(json.dumps(report.as_dict()) if as_json else describe_audit(report))


@click.command(short_help="attack a setting on texts of yours before trusting it")
@setting_options
@context_option
@model_option
@texts_options
@click.option(
    "--trials", type=int, default=100, metavar="N", help="draws of each text (default 100)"
)
def attack(file: Path, lines: bool, as_json: bool, trials: int, **setting: Any) -> None:
    """Attack a setting on texts of yours before trusting it."""
    from sanitizer.cli.display import attack_text
    from sanitizer.risk import run_attacks

    sanitizer = build_sanitizer(setting)
    texts = texts_of(read_file(file), lines)
    report = run_attacks(sanitizer, texts, trials, progress=sys.stderr.isatty())
    write(json.dumps(report.as_dict()) if as_json else attack_text(report))


@click.command(short_help="find the setting that keeps the most meaning at a tolerated risk")
@texts_options
@click.option(
    "--risk",
    type=float,
    required=True,
    help="tolerated attack success per word, between 0 and 1",
)
@policy_option
@model_option
def advise(
    file: Path, lines: bool, as_json: bool, risk: float, policy: str, model: Path | None
) -> None:
    """Find the setting that keeps the most meaning at a tolerated risk."""
    from sanitizer.cli.display import advice_text
    from sanitizer.risk import advise as find_advice

    texts = texts_of(read_file(file), lines)
    found = find_advice(texts, risk, policy, model=model, progress=sys.stderr.isatty())
    write(json.dumps(found.as_dict()) if as_json else advice_text(found))
