"""The program `sanitizer`: its commands, its exit status, and errors that quote nothing typed.

Exit status: 0 done, 1 refused (budget, policy, model), 2 bad arguments, 130 interrupted. Errors are
one line on standard error, without a traceback and without prompt text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

from sanitizer.cli.api import chat, serve
from sanitizer.cli.bulk import bulk
from sanitizer.cli.measure import advise, attack, audit, budget, models
from sanitizer.cli.options import INTERRUPTED
from sanitizer.cli.texts import restore, sanitize, synthesize
from sanitizer.errors import SanitizerError

REFUSED, BAD_ARGUMENTS = 1, 2


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
    try:
        # Not `program.main`: it would turn a closed pipe into status 1 and end the process.
        with program.make_context("sanitizer", arguments) as context:
            return int(program.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (click.UsageError, SanitizerError, ValueError, OSError, KeyboardInterrupt) as error:
        where, message, status = _explained(error)
        sys.stderr.write(f"{where}: error: {message}\n")
        return status


def _explained(error: BaseException) -> tuple[str, str, int]:
    """Return (command, message, exit status) for an error."""
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "sanitizer"
        return where, without_values(error), BAD_ARGUMENTS
    if isinstance(error, SanitizerError):
        return "sanitizer", str(error), REFUSED
    if isinstance(error, OSError):
        # Without the file's name, which may be a text that was given to the wrong option.
        reason = error.strerror or "input or output failed"
        return "sanitizer", f"file or output: {reason}", BAD_ARGUMENTS
    if isinstance(error, KeyboardInterrupt):
        return "sanitizer", "interrupted; nothing was released", INTERRUPTED
    return "sanitizer", str(error), BAD_ARGUMENTS


def without_values(error: click.UsageError) -> str:
    """Return a message that names the option at fault and quotes nothing that was typed.

    click's own messages quote values, surplus arguments and mistyped options. Any of these may be
    the prompt, or part of it.
    """
    if isinstance(error, click.MissingParameter):
        return f"{_name(error.param)} is required"
    if isinstance(error, click.BadParameter):
        kind = error.param.type if error.param else None
        if isinstance(kind, click.Choice):
            return f"{_name(error.param)}: invalid choice (not shown; {_one_of(kind.choices)})"
        wanted = f"invalid {kind.name} value" if kind else "invalid value"
        return f"{_name(error.param)}: {wanted} (not shown)"
    if isinstance(error, click.BadOptionUsage):
        # click does not say of which command, so the name is looked for in all of them.
        parameters = [each for command in program.commands.values() for each in command.params]
        option = next((each for each in parameters if error.option_name in each.opts), None)
        return f"{_name(option)}: wrong number of values"
    in_a_command = error.ctx is None or error.ctx.command is not program
    if in_a_command or isinstance(error, click.NoSuchOption):
        return "unrecognized arguments (quote the text, or put -- before it)"
    return f"argument COMMAND: invalid choice (not shown; {_one_of(program.commands)})"


def _name(parameter: click.Parameter | None) -> str:
    if parameter is None:
        return "an argument"
    if isinstance(parameter, click.Option):
        return f"argument {'/'.join(parameter.opts)}"
    return f"argument {parameter.human_readable_name.strip('[]')}"


def _one_of(names: Iterable[str]) -> str:
    return f"choose from {', '.join(names)}"


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    # Slow to import and needed here only.
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"sanitizer {version('sanitizer')}")
    except PackageNotFoundError:
        click.echo("sanitizer (not installed, so without a version)")
    context.exit()


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="COMMAND ...",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def program(context: click.Context) -> None:
    """Make prompts private on this machine, before any API call."""
    if context.invoked_subcommand is None:
        # Not on standard output, which a pipe may carry on to where a private text is expected.
        click.echo(context.get_help(), err=True)
        context.exit(BAD_ARGUMENTS)


for _each in (
    sanitize,
    restore,
    audit,
    attack,
    advise,
    budget,
    serve,
    synthesize,
    chat,
    models,
    bulk,
):
    program.add_command(_each)
