"""A result as a person reads it on a terminal: before, after, and what it costs.

What the attacks found, and the advice, as a person reads them on a terminal.
"""

from __future__ import annotations

import re
import textwrap

from sanitizer.results import Record, SanitizedText
from sanitizer.risk import PUBLISHED, Advice, AdviceSetting, AttackReport, AuditReport, Rate

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
    lines = [
        *(_no_claim(record) if record.mechanism == "none" else _claim(record)),
        f"public: {record.public}",
    ]
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
    lines = [
        f"{report.mechanism} {report.variant}: {walked} {report.n_inputs:,} inputs, {report.n_outputs:,} outputs"
    ]
    lines += [f"  epsilon {name:10} {value}" for name, value in rows]
    lines.append(
        f'  told apart best: "{first}" and "{second}", by the output "{report.worst_output}"'
    )
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


WIDTH = 100


def attack_text(report: AttackReport) -> str:
    """The report in lines; holds no prompt text."""
    words = (
        f"{report.n_words} private words of {report.n_texts} texts, {report.n_trials} draws of each"
    )
    certified = "certified" if report.certified else "NOT certified"
    lines = [
        f"{report.mechanism} {report.variant}, epsilon {report.epsilon:g} ({certified}), policy {report.policy}",
        *_wrapped(
            f"{words}; {report.n_outside} of the words are not in the output vocabulary, {report.n_unmeasured} have no "
            f"vector. The best guess weighs {report.posterior.n_candidates:.0f} words, the original among them. In "
            "brackets: 95 % intervals over the draws."
        ),
        "",
        *_simple(report),
        "",
        *_posterior(report),
        "",
        *_repeated(report),
        "",
        *_published(),
    ]
    return "\n".join(lines)


def advice_text(advice: Advice) -> str:
    """The advice in lines: choice, table, samples."""
    verdict = f"At most {advice.risk:.1%} per word: {_named(advice.choice)} keeps the most meaning."
    if not advice.met:
        verdict = f"No setting keeps every figure within {advice.risk:.1%}. The safest is {_named(advice.choice)}."
    known = (
        f"Before any output is seen the original has probability {advice.prior:.2%} on average and "
        f"{advice.worst_prior:.1%} at most; the context alone gives away {advice.context_alone:.1%} of the words."
    )
    lines = [
        *_wrapped(verdict),
        *_wrapped(known),
        f"{advice.n_measured} of {advice.n_words} private words measured.",
        "",
        f"  {'setting':<17}{'epsilon':>8}{'meaning':>9}{'kept':>8}{'attack':>8}{'ceiling':>9}{'worst':>8}",
        *(_row(setting, setting == advice.choice) for setting in advice.table),
        "",
        "meaning: expected cosine; attack: best guess from one output (- where the ceiling rules it out); ceiling:",
        "the most that epsilon lets anyone believe in the original, on average and for the worst word.",
        "",
        *(line for sample in advice.samples for line in _wrapped(f"sample: {_safe(sample)}")),
        *_wrapped(advice.note),
    ]
    return "\n".join(lines)


def _simple(report: AttackReport) -> list[str]:
    return [
        _line("nearest word (top 1)", report.nearest.top_1),
        _line("nearest words (top 10)", report.nearest.top_10),
        _line("masked inference (top 1)", report.inference.top_1),
        _line("masked inference (top 10)", report.inference.top_10),
        _line("word kept (N_t)", report.retention),
        f"{'distinct outputs (S_t)':<28}{report.mapping_size:8.1f} of {report.n_trials}",
        f"{'Rouge-L F1 with the text':<28}{report.rouge_l:8.1%}",
    ]


def _posterior(report: AttackReport) -> list[str]:
    found = report.posterior
    lines = [
        _line("best guess, one output", found.success) + _bound(found.success_ceiling),
        f"{'  from the context alone':<28}{found.context_alone:8.2%}",
        f"{'belief in the original':<28}{found.belief:8.2%}  before the output {found.prior:.2%}"
        + _bound(found.belief_ceiling),
    ]
    if found.success_ceiling is None:
        lines.append("no ceiling: the epsilon of this variant is not a theorem")
    else:
        lines.append(
            "(the ceiling of the best guess is for words as likely as the model says; that of belief for any)"
        )
    return lines


def _repeated(report: AttackReport) -> list[str]:
    lines = [f"{'best guess, sent again':<28}{'drawn anew':>28}{'with the memory':>28}"]
    for sends in report.repeated:
        lines.append(
            f"{f'  {sends.sends} times':<28}{_rate(sends.fresh):>28}{_rate(sends.remembered):>28}"
        )
    return [
        *lines,
        f"with the memory one text had at most {report.remembered_outputs} distinct output(s)",
    ]


def _published() -> list[str]:
    lines = ["published, other data (nominal epsilon as printed; not comparable one to one):"]
    for key in dict.fromkeys((p.mechanism, p.data, p.measure) for p in PUBLISHED):
        figures = [p for p in PUBLISHED if (p.mechanism, p.data, p.measure) == key]
        shown = ", ".join(f"{p.epsilon:g}: {p.value:g}" for p in figures)
        lines += _wrapped(f"  {key[0]} on {key[1]}, {key[2]}, by epsilon: {shown}")
    return lines


def _row(setting: AdviceSetting, chosen: bool) -> str:
    attack = "-" if setting.attack is None else f"{setting.attack:.2%}"
    return (
        f"{'>' if chosen else ' '} {setting.name:<17}{setting.mechanism.epsilon:8g}{setting.meaning:9.3f}"
        f"{setting.kept:8.2%}{attack:>8}{setting.ceiling:9.2%}{setting.worst_ceiling:8.1%}"
    )


def _named(setting: AdviceSetting) -> str:
    return f"{setting.name} at epsilon {setting.mechanism.epsilon:g}"


def _line(name: str, rate: Rate) -> str:
    return f"{name:<28}{_rate(rate)}"


def _rate(rate: Rate) -> str:
    return f"{rate.share:8.2%} [{rate.low:.2%}, {rate.high:.2%}]"


def _bound(value: float | None) -> str:
    return "" if value is None else f"  ceiling {value:.2%}"


def _wrapped(text: str) -> list[str]:
    return [
        line
        for part in text.split("\n")
        for line in textwrap.wrap(part, WIDTH, subsequent_indent="  ")
    ]


def _safe(text: str) -> str:
    """Control characters made visible: a prompt must not drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
