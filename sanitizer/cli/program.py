"""The program `sanitizer`: its commands, its exit status, and errors that quote nothing typed.

Exit status: 0 done, 1 refused (budget, policy, model), 2 bad arguments, 130 interrupted. Errors are
one line on standard error, without a traceback and without prompt text.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import chain
from shutil import get_terminal_size
from typing import Any

import click

from sanitizer.cli.api import chat, serve
from sanitizer.cli.corpora import bulk, synthesize
from sanitizer.cli.manage import budget, corrections, kinds, models
from sanitizer.cli.measure import advise, attack, audit, evaluate
from sanitizer.cli.options import (
    INTERRUPTED,
    STANDARD_OUTPUT,
    TextCommand,
    examples,
    flag,
    is_file_name,
)
from sanitizer.cli.run import run
from sanitizer.cli.texts import demo, restore, sanitize
from sanitizer.errors import SanitizerError

REFUSED, BAD_ARGUMENTS = 1, 2
OTHERWISE = {
    "--preset": "--policy",
    "--setting": "--policy",
    "--input": "--file",
    "--eps": "--epsilon",
    "--llm": "--api-model",
    "--base-url": "--upstream",
    "--export": "--json",
    "hide": "add",
    "keep": "add",
    "delete": "remove",
    "forget": "remove",
    "show": "list",
}
"""Options by the name that other programs have for them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    >>> main(["--version"])  # doctest: +ELLIPSIS
    sanitizer ...
    0
    >>> main(["sanitize", "--epsilon", "five", "My father Peter"])  # says why on standard error
    2

    Args:
        argv: arguments; by default those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _stand_in_for_closed_streams()
    try:
        # Not `program.main`: it would turn a closed pipe into status 1 and end the process.
        with program.make_context("sanitizer", arguments) as context:
            return int(program.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (click.UsageError, SanitizerError, ValueError, OSError, KeyboardInterrupt) as error:
        where, message, status = _explained(error)
        said = f"{where}: error: {message}"
        if sys.stderr.isatty():
            # One line elsewhere, so that programs can read it.
            said = textwrap.fill(said, get_terminal_size().columns - 1, subsequent_indent="  ")
        sys.stderr.write(f"{said}\n")
        return status


def _stand_in_for_closed_streams() -> None:
    """Replace a stream that was closed before the start, which Python leaves as None.

    What is then written to standard output fails like any other output that cannot be written; a
    command that writes nothing there, such as `serve`, does not notice.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, encoding="utf-8")  # noqa: SIM115  to the end of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  nobody to tell


def _explained(error: BaseException) -> tuple[str, str, int]:
    """Return (command, message, exit status) for an error."""
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "sanitizer"
        return where, without_values(error), BAD_ARGUMENTS
    if isinstance(error, SanitizerError):
        return "sanitizer", str(error), REFUSED
    if isinstance(error, OSError):
        reason = error.strerror or "input or output failed"
        # What is no file's name may be a text that was given to the wrong option.
        name = str(error.filename or "")
        is_name = name == STANDARD_OUTPUT or is_file_name(name) or os.path.exists(name)
        return "sanitizer", f"{name if is_name else 'file or output'}: {reason}", 2
    if isinstance(error, KeyboardInterrupt):
        return "sanitizer", "interrupted; nothing was released", INTERRUPTED
    return "sanitizer", str(error), BAD_ARGUMENTS


def without_values(error: click.UsageError) -> str:
    """Return a message that names the option at fault and quotes nothing that was typed.

    click's own messages quote values, surplus arguments and mistyped options. Any of these may be
    the prompt, or part of it. What is named is a command or option of the program.
    """
    if isinstance(error, click.MissingParameter):
        return f"{_name(error.param)} is required"
    if isinstance(error, click.BadParameter):
        kind = error.param.type if error.param else None
        if isinstance(kind, click.Choice):
            return f"{_name(error.param)}: invalid choice (not shown; {_one_of(kind.choices)})"
        if isinstance(kind, click.Tuple) and isinstance(error.param, click.Option):
            return f"{_name(error.param)}: must be {error.param.metavar} (not shown)"
        wanted = f"invalid {kind.name} value" if kind else "invalid value"
        return f"{_name(error.param)}: {wanted} (not shown)"
    if isinstance(error, click.BadOptionUsage):
        # click does not say of which command, so the name is looked for in all of them.
        parameters = [each for command in program.commands.values() for each in command.params]
        option = next((each for each in parameters if error.option_name in each.opts), None)
        return f"{_name(option)}: wrong number of values"
    return _unknown(error)


def _unknown(error: click.UsageError) -> str:
    """Return a message about a command, an option or an argument that there is none of."""
    command = error.ctx.command if error.ctx else program
    context = error.ctx or click.Context(command)
    is_option = isinstance(error, click.NoSuchOption)
    if isinstance(error, click.NoSuchOption):
        names = [n for o in command.get_params(context) for n in o.opts if n[:2] == "--"]
        if hint := _meant(error.option_name, names):
            return f"no such option{hint}"
    if isinstance(command, TextCommand) and not is_option:
        return "several arguments (put the text in quotes: it is one argument)"
    if is_option and (isinstance(command, TextCommand) or command is program):
        return "no such option (a text that begins with a dash: put -- before it)"
    if is_option or not isinstance(command, click.Group):
        what = "no such option" if is_option else "unrecognized arguments"
        return f"{what} (not shown); see: {context.command_path} --help"
    # The unknown command stands in the message only, between quotes.
    found = re.search("'(.*)'", error.message, re.S)
    typed = found[1] if found else ""
    if not typed:
        return f"a command is required; {_one_of(command.commands)}"
    hint = _meant(typed, list(command.commands))
    if not hint and command is program and re.search(r"\s", typed):
        hint = "; to sanitize a text: sanitizer sanitize TEXT"
    return f"no such command (not shown){hint or '; ' + _one_of(command.commands)}"


def _meant(typed: str, known: Sequence[str]) -> str:
    """Return a question after the name that was probably meant, or "" if none is near."""
    other = OTHERWISE.get(typed, typed)
    near = get_close_matches(other if other in known else typed, known, 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _name(parameter: click.Parameter | None) -> str:
    if parameter is None:
        return "an argument"
    if isinstance(parameter, click.Option):
        return f"argument {'/'.join(parameter.opts)}"
    return f"argument {parameter.human_readable_name.strip('[]')}"


def _one_of(names: Iterable[str]) -> str:
    return f"choose from {', '.join(names)}"


GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Texts and files": (demo, sanitize, restore),
    "Programs and APIs": (run, serve, chat),
    "Measure a setting": (audit, attack, advise, evaluate),
    "Corrections, budgets, models and kinds": (corrections, budget, models, kinds),
    "Tables, and synthetic texts": (bulk, synthesize),
}
"""The commands by what they are for, in the order of the help."""


class HelpFormatter(click.HelpFormatter):
    """Help that fits a narrow terminal: click writes at least 50 columns."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.width = min(self.width, max(get_terminal_size().columns - 2, 24))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        super().write_dl(list(rows), 12 if self.width < 60 else col_max, col_spacing)


class HelpContext(click.Context):
    """Context whose help fits the terminal."""

    formatter_class = HelpFormatter


class Program(click.Group):
    """The program: its help lists commands by group."""

    context_class = HelpContext

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(str(each.name), each.get_short_help_str(100)) for each in commands]
                )


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="COMMAND ...",
    epilog=examples(
        "sanitizer demo",
        'sanitizer sanitize "My father Peter has hepatitis."',
        "sanitizer sanitize letter.docx --output out.docx",
        "sanitizer run -- claude",
    ),
)
@flag("--version", "Show the version and exit.")
@click.pass_context
def program(context: click.Context, version: bool) -> None:
    """Replace private words in prompts on this machine, before a language-model API sees them."""
    if version:
        from sanitizer import __version__

        click.echo(f"sanitizer {__version__}")
        context.exit()
    if context.invoked_subcommand is None:
        # Not on standard output, which a pipe may carry on to where a private text is expected.
        click.echo(context.get_help(), err=True)
        context.exit(BAD_ARGUMENTS)


for _each in chain.from_iterable(GROUPS.values()):
    _each.context_class = HelpContext
    program.add_command(_each)
