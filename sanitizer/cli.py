"""The command line: argument parsing and printing, no logic.

Exit status: 0 done, 1 refused (budget, policy, model), 2 bad arguments. Errors are one line on standard
error, without a traceback and without prompt text.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO

from sanitizer.errors import SanitizerError

REFUSED, BAD_ARGUMENTS, INTERRUPTED = 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """argparse quotes values; a value may be the prompt itself, so unrecognized ones are not shown."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            message = "unrecognized arguments (quote the text, or put -- before it)"
        sys.stderr.write(f"{self.prog}: error: {message}\n")
        raise SystemExit(BAD_ARGUMENTS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        return int(options.run(options))
    except SanitizerError as error:
        return _fail(str(error), REFUSED)
    except ValueError as error:
        return _fail(str(error), BAD_ARGUMENTS)
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or 'input or output failed'}", BAD_ARGUMENTS)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was released", INTERRUPTED)


def _fail(message: str, status: int) -> int:
    sys.stderr.write(f"sanitizer: error: {message}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sanitizer", description="Make prompts private on this machine, before any API call.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    sanitize = commands.add_parser("sanitize", help="replace the private words of a text")
    sanitize.add_argument("text", nargs="?", metavar="TEXT", help="the text; - or nothing reads standard input")
    sanitize.add_argument("-f", "--file", type=Path, help="read the text from a UTF-8 file")
    sanitize.add_argument("--mechanism", choices=["cape"], help="default: cape, or as the policy file says")
    sanitize.add_argument("--variant", choices=["certified", "published"])
    sanitize.add_argument("--epsilon", type=float, help="per private word, in nats (default 5)")
    sanitize.add_argument("--context", choices=["released", "original"])
    sanitize.add_argument("--backbone", choices=["masked"])
    sanitize.add_argument("--profile", choices=["staircase", "geometric"])
    sanitize.add_argument("--steps", type=int, dest="n_steps", metavar="N", help="groups of words drawn in turn")
    sanitize.add_argument("--consistent", action="store_true", default=None, help="one draw per distinct word")
    sanitize.add_argument("--policy", default="balanced", help="strict, balanced (default), or a .toml file")
    sanitize.add_argument("--model", type=Path, help="another model folder")
    sanitize.add_argument("--lines", action="store_true", help="each line of the input is a text of its own")
    sanitize.add_argument("--json", action="store_true", help="one JSON object per text")
    sanitize.add_argument("--reveal", action="store_true", help="show the private words beside their replacements")
    sanitize.set_defaults(run=_sanitize)
    models = commands.add_parser("models", help="list the packaged models, verify hashes, show quality")
    models.add_argument("--json", action="store_true")
    models.set_defaults(run=_models)
    return parser


def _sanitize(options: argparse.Namespace) -> int:
    from sanitizer.display import before_after
    from sanitizer.mechanisms.cape import Cape
    from sanitizer.pipeline import Sanitizer

    names = ("variant", "epsilon", "context", "backbone", "profile", "n_steps", "consistent")
    chosen = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    mechanism = Cape(**chosen) if chosen or options.mechanism else None
    sanitizer = Sanitizer(mechanism, options.policy, model=options.model)
    text = _read(options)
    texts = text.removesuffix("\n").split("\n") if options.lines else [text]
    results = sanitizer.sanitize_batch(texts, progress=options.lines and sys.stderr.isatty())
    pretty = not options.json and (options.reveal or sys.stdout.isatty())
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    lines: list[str] = []
    for original, result in zip(texts, results, strict=True):
        if options.json:
            lines.append(json.dumps(result.as_dict(options.reveal)))
        elif pretty:
            lines.append(before_after(original, result, colour))
        else:
            lines.append(result.text)
    _write("\n".join(lines), newline=options.json or options.lines or pretty or not text.endswith("\n"))
    return 0


def _read(options: argparse.Namespace) -> str:
    if options.text is not None and options.file is not None:
        raise ValueError("give TEXT or --file, not both")
    if options.file is not None:
        return str(options.file.read_bytes().decode("utf-8", "surrogateescape"))
    if options.text not in (None, "-"):
        return str(options.text)
    if options.text is None and sys.stdin.isatty():
        raise ValueError("give TEXT, --file FILE, or text on standard input")
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _write(text: str, newline: bool) -> None:
    """Write all at once: bytes that were not UTF-8 come out as they went in."""
    sys.stdout.buffer.write((text + "\n" * newline).encode("utf-8", "surrogateescape"))
    sys.stdout.flush()


def _models(options: argparse.Namespace) -> int:
    from sanitizer.files import Manifest, model_root

    out: TextIO = sys.stdout
    for folder in sorted(p.parent for p in model_root().glob("*/manifest.json")):
        manifest = Manifest.read(folder)
        manifest.verify()
        if options.json:
            out.write(json.dumps({"name": folder.name, "sha256": manifest.sha256, **manifest.data}) + "\n")
            continue
        size = sum(entry["bytes"] for entry in manifest.data["files"].values()) / 1e6
        out.write(f"{folder.name}: {manifest.data['summary']}\n")
        out.write(
            f"  {len(manifest.data['files'])} files, {size:.1f} MB, all hashes match; manifest {manifest.sha256[:16]}\n"
        )
        for name, figures in manifest.data["quality"].items():
            shown = figures.get("shipped", figures)
            out.write(f"  {name}: {', '.join(f'{key} {value}' for key, value in shown.items())}\n")
    return 0
