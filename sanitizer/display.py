"""A result as a person reads it on a terminal: before, after, and what it costs."""

from __future__ import annotations

import re
import textwrap

from sanitizer.audit import AuditReport
from sanitizer.types import Record, SanitizedText

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def before_after(original: str, result: SanitizedText, colour: bool) -> str:
    """Original and sanitized text with the replaced stretches marked, and the record under them.

    Args:
        colour: mark with terminal colours; otherwise with [brackets].
    """
    before, after = marked(original, result, colour)
    return f"before  {before}\nafter   {after}\n\n{describe(result.record)}"


def describe(record: Record) -> str:
    """The record in a few lines."""
    lines = [*(_no_claim(record) if record.mechanism == "none" else _claim(record)), f"public: {record.public}"]
    lines.append(f"not protected: {record.not_protected}")
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  ") for line in lines)


def _no_claim(record: Record) -> list[str]:
    counted = f"{record.n_identifiers} identifiers in the vault, {record.n_public} other words as they were"
    return [f"{counted}; NO differential privacy: {record.reason}"]


def _claim(record: Record) -> list[str]:
    strength = f"epsilon {record.epsilon_per_unit:g} per private word"
    if record.certified:
        strength += ", certified"
    else:
        claim = f"; the paper claims {record.claimed_epsilon:.2f}" if record.claimed_epsilon else ""
        strength += f" (nominal), NOT certified{claim}"
    delta = f" at delta {record.delta:g}" if record.delta else ""
    lines = [
        f"{record.mechanism} {record.variant}: {strength}",
        f"{record.n_units} private words, {record.n_numbers} random numbers, {record.n_identifiers} identifiers and "
        f"numbers in the vault, {record.n_public} public words; epsilon "
        f"{record.epsilon_total:g}{delta} for the whole text, {record.epsilon_per_word:g} for the most repeated word",
        f"compared: {record.neighboring_relation}",
    ]
    if record.reason:
        lines.insert(1, f"why not certified: {record.reason}")
    return lines


def describe_audit(report: AuditReport) -> str:
    """An audit in a few lines."""
    walked = "all" if report.complete else "a sample of"
    first, second = report.worst_inputs
    rows = [
        ("nominal", f"{report.nominal:.6g}"),
        ("claimed", "-" if report.claimed is None else f"{report.claimed:.6g}"),
        ("certified", "-" if report.certified is None else f"{report.certified:.6g}"),
        ("exact", f"{report.exact:.9g}"),
    ]
    lines = [f"{report.mechanism} {report.variant}: {walked} {report.n_inputs:,} inputs, {report.n_outputs:,} outputs"]
    lines += [f"  epsilon {name:10} {value}" for name, value in rows]
    lines.append(f'  told apart best: "{first}" and "{second}", by the output "{report.worst_output}"')
    if not report.complete:
        lines.append("  over a sample the exact value is a lower bound")
    return "\n".join(lines)


def marked(original: str, result: SanitizedText, colour: bool) -> tuple[str, str]:
    """Both texts with marks; places in the original follow from the lengths of what was replaced."""
    before: list[str] = []
    after: list[str] = []
    at_old, at_new = 0, 0
    for r in result.replacements:
        between = result.text[at_new : r.start]
        before += [safe(between), _mark(safe(r.original), colour, "31")]
        after += [safe(between), _mark(safe(r.replacement), colour, "32")]
        at_new = r.end
        at_old += len(between) + len(r.original)
    return "".join(before) + safe(original[at_old:]), "".join(after) + safe(result.text[at_new:])


def _mark(text: str, colour: bool, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else f"[{text}]"


def safe(text: str) -> str:
    """Control characters made visible: a prompt must not drive the terminal."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m.group()):02x}", text)
