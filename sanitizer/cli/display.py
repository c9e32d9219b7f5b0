"""Results, reports and records as a person reads them on a terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sanitizer.errors import plural
from sanitizer.results import joined_record, things_of, woven

if TYPE_CHECKING:
    from sanitizer.results import Record, SanitizedText
    from sanitizer.risk.advice import Advice, AdviceSetting
    from sanitizer.risk.attacks import AttackReport, Rate
    from sanitizer.risk.classes import ClassAdvice
    from sanitizer.risk.evaluation import Evaluation
    from sanitizer.risk.exact_audit import AuditReport
    from sanitizer.synthesis.plan import SynthesizedText

WIDTH = 100
"""Columns to which paragraphs are wrapped at most."""


def width() -> int:
    """Return the columns to wrap to: those of the terminal, from 40 to WIDTH."""
    if not sys.stdout.isatty():
        return WIDTH
    return max(40, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


# Control characters but tab and newline, and those that change the order in which text is shown.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def safe(text: str) -> str:
    """Return the text with control characters written out: a prompt must not drive the terminal."""
    return _UNSAFE.sub(lambda m: f"\\x{ord(m.group()):02x}", text)


def page(*lines: str) -> str:
    """Return paragraphs wrapped to the terminal, one below the other."""
    parts = (part for line in lines for part in line.split("\n"))
    return "\n".join(textwrap.fill(part, width(), subsequent_indent="  ") for part in parts)


# ---- one text ----


def before_after(results: Sequence[SanitizedText], names: Sequence[str] = ()) -> str:
    """Return originals and sanitized texts with what was replaced marked.

    Above them stand `names`, those of their files; after a refusal there may be more of these.
    """
    shown = ["before  {}\nafter   {}".format(*marked(result)) for result in results]
    if names:
        shown = [f"{safe(n)}:\n{each}" for n, each in zip(names, shown, strict=False)]
    return "\n\n".join(shown)


def in_short(results: Sequence[SanitizedText]) -> str:
    """Return what was hidden and what it cost in a few lines, which hold no text of the prompt."""
    record = joined_record(results)
    kinds = Counter(kind for kind, _ in things_of(results))
    found = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    counts = [plural(n, kind) if kind.islower() else f"{n} {kind}" for kind, n in found]
    hidden = ", ".join(counts) or "nothing"
    stay = f"{plural(record.n_public, 'word')} unchanged"
    if record.detector != "none":
        hidden += f" ({record.n_drawn} drawn at random)" if record.n_drawn else ""
        cost = f"epsilon {record.charged:g}"
        if record.conversation_epsilon > record.charged:
            cost += f", {record.conversation_epsilon:g} in this conversation"
    elif record.mechanism == "none":
        stay, cost = "all other words unchanged, names too", "no differential privacy"
    else:
        cost = f"epsilon {record.epsilon_per_unit:g} per word, {record.epsilon_total:g} in total"
    cost += ", certified" if record.certified else ", NOT certified"
    together = f"{len(results)} texts together: " if len(results) > 1 else ""
    return page(f"{together}hidden: {hidden}; {stay}", f"{cost} (in full: --record)")


def describe(record: Record, n_texts: int = 1) -> str:
    """Return the whole record in a page."""
    if record.detector != "none":
        claim = _things(record)
    elif record.mechanism == "none":
        held, stay = (
            plural(record.n_identifiers, "identifier"),
            plural(record.n_public, "other word"),
        )
        none = f"NO differential privacy: {record.reason}"
        claim = [f"{held} in the vault, {stay} unchanged; {none}"]
    else:
        claim = _claim(record)
    return page(
        *([f"{n_texts} texts together:"] if n_texts > 1 else []),
        *claim,
        f"public: {record.public}",
        f"not protected: {record.not_protected}",
    )


def _things(record: Record) -> list[str]:
    """Return the lines of a record of things that have stand-ins."""
    held = f"{plural(record.n_things - record.n_drawn, 'thing')} in the vault"
    kept = f"{plural(record.n_public, 'word')} unchanged"
    if not record.certified:
        return [f"{held}, {record.n_drawn} drawn, {kept}; NOT certified: {record.reason}"]
    if not record.n_drawn:
        return [f"{held}, {kept}; epsilon 0 within the class of each thing, certified"]
    return [
        f"{held} (epsilon 0 within the class of each), {record.n_drawn} drawn within the class "
        f"(epsilon {record.epsilon_per_unit:g} once, {record.mechanism}), {kept}; certified",
        f"epsilon {record.charged:g} now, {record.conversation_epsilon:g} in this conversation",
        f"neighbouring inputs: {record.neighboring_relation}",
    ]


def _claim(record: Record) -> list[str]:
    claim = f"; the paper claims {record.claimed_epsilon:.2f}" if record.claimed_epsilon else ""
    sure = ", certified" if record.certified else f" (nominal), NOT certified{claim}"
    strength = f"epsilon {record.epsilon_per_unit:g} per private word{sure}"
    delta = f" at delta {record.delta:g}" if record.delta else ""
    less = ""  # the bound at a small delta, where it is smaller than the plain sum
    if record.certified and record.epsilon_at_delta < record.epsilon_total:
        less = f" ({record.epsilon_at_delta:.4g} at delta {record.bound_delta:g})"
    lines = [
        f"{record.mechanism} {record.variant}: {strength}",
        f"{plural(record.n_units, 'private word')}, {plural(record.n_numbers, 'random number')}, "
        f"{plural(record.n_identifiers, 'value')} in the vault, {record.n_public} public; "
        f"epsilon {record.epsilon_total:g}{delta} for the whole text{less}, "
        f"{record.epsilon_per_word:g} for the most repeated word",
        f"neighbouring inputs: {record.neighboring_relation}",
    ]
    if record.reason:
        lines.insert(1, f"why not certified: {record.reason}")
    return lines


def marked(result: SanitizedText) -> tuple[str, str]:
    """Return original and sanitized text with what was replaced marked.

    On a terminal it is in colour, elsewhere in [brackets].
    """
    stays = [safe(each) for each in result.stays]
    before = [_mark(safe(each.original), "31") for each in result.replacements]
    after = [_mark(safe(each.replacement), "32") for each in result.replacements]
    return woven(stays, before), woven(stays, after)


def _mark(text: str, code: str) -> str:
    is_coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[{code}m{text}\x1b[0m" if is_coloured else f"[{text}]"


# ---- audit, attacks, advice ----


def describe_audit(report: AuditReport) -> str:
    """Return an audit in a few lines."""
    read = "all" if report.complete else "a sample of"
    first, second = report.worst_inputs
    sizes = f"{report.n_inputs:,} inputs, {report.n_outputs:,} outputs"
    lines = [f"{report.mechanism} {report.variant}: {read} {sizes}"]
    for name, digits in (("nominal", 6), ("claimed", 6), ("certified", 6), ("exact", 9)):
        value = getattr(report, name)
        lines.append(f"  epsilon {name:10} {'-' if value is None else f'{value:.{digits}g}'}")
    best = f'"{first}" and "{second}", by the output "{report.worst_output}"'
    lines.append(f"  easiest to distinguish: {best}")
    if not report.complete:
        lines.append("  of a sample, the exact value is a lower bound")
    return "\n".join(lines)


def attack_text(report: AttackReport) -> str:
    """Return a report of attacks in lines, which hold no text of the prompts."""
    texts = plural(report.n_texts, "text")
    words = f"{plural(report.n_words, 'private word')} of {texts}, {report.n_trials} draws of each"
    certified = "certified" if report.certified else "NOT certified"
    found = report.posterior
    rates = {
        "nearest word (top 1)": report.nearest.top_1,
        "nearest words (top 10)": report.nearest.top_10,
        "masked inference (top 1)": report.inference.top_1,
        "masked inference (top 10)": report.inference.top_10,
        "word kept (N_t)": report.retention,
    }
    return page(
        f"{report.mechanism} {report.variant}, epsilon {report.epsilon:g} ({certified}), "
        f"policy {report.policy}",
        f"{words}; {report.n_outside} of the words are not in the output vocabulary, "
        f"{report.n_unmeasured} have no vector. The best guess chooses among "
        f"{found.n_candidates:.0f} words, the original included. In brackets: "
        "95 % intervals over the draws.",
        "",
        *(f"{name:<28}{_rate(rate)}" for name, rate in rates.items()),
        f"{'distinct outputs (S_t)':<28}{report.mapping_size:8.1f} of {report.n_trials}",
        "",
        f"{'best guess, one output':<28}{_rate(found.success)}{_bound(found.success_ceiling)}",
        f"{'  from the context alone':<28}{found.context_alone:8.2%}",
        f"{'probability of the original':<28}{found.belief:8.2%}  before the output "
        f"{found.prior:.2%}{_bound(found.belief_ceiling)}",
        "no ceiling: the epsilon of this variant is not proved"
        if found.success_ceiling is None
        else "(the ceiling of the best guess holds for words as likely as the model says, that of "
        "the probability for all words)",
        "",
        f"{'best guess, text sent again':<28}{'drawn anew':>25}{'output repeated':>25}",
        *(
            f"{f'  {each.sends} times':<28}{_rate(each.fresh):>25}{_rate(each.remembered):>25}"
            for each in report.repeated
        ),
        f"repeated, a text had at most {plural(report.remembered_outputs, 'distinct output')}",
    )


def advice_text(advice: Advice) -> str:
    """Return advice in lines: choice, table, samples."""
    verdict = f"At most {advice.risk:.1%} per word: {_named(advice.choice)} keeps the most meaning."
    if not advice.met:
        verdict = f"No setting keeps every figure within {advice.risk:.1%}. "
        verdict += f"The safest is {_named(advice.choice)}."
    prior = (
        f"Before any output is seen the original has probability {advice.prior:.2%} on average and "
        f"{advice.worst_prior:.1%} at most; the context alone gives away "
        f"{advice.context_alone:.1%} of the words."
    )
    return page(
        verdict,
        prior,
        f"{advice.n_measured} of {plural(advice.n_words, 'private word')} measured.",
        "",
        f"  {'setting':<17}{'epsilon':>8}{'meaning':>9}{'kept':>8}{'attack':>8}{'ceiling':>9}"
        f"{'worst':>8}",
        *(_row(setting, setting == advice.choice) for setting in advice.table),
        "",
        "meaning: expected cosine; attack: best guess from one output "
        "(- where the ceiling rules it out); ceiling: the highest probability of the original "
        "that epsilon allows, on average and for the worst word.",
        "",
        *(f"sample: {safe(sample)}" for sample in advice.samples),
        advice.note,
    )


def class_advice_text(advice: ClassAdvice) -> str:
    """Return advice by class in lines: the largest epsilons, then what they were chosen from."""
    most = {k: "vault" if e is None else f"epsilon {e:g}" for k, e in advice.epsilons.items()}
    best = [f"  {kind:<12}{epsilon}" for kind, epsilon in most.items()]
    rows = [
        f"{'>' if advice.epsilons[row.kind] == row.epsilon else ' ':<2}{row.kind:<12}"
        f"{row.epsilon:>8g}{row.guess:>9.1%}{row.blind:>9.1%}{row.similarity:>9.3f}"
        for row in advice.table
    ]
    linked = "" if advice.n_linked == 1 else f", of {advice.n_linked} things that reveal each other"
    together = "No class can be drawn at this risk."
    if advice.epsilon is not None:
        vault = f", with {', '.join(advice.vault)} in the vault" if advice.vault else ""
        together = f"All classes together: Cape(epsilon={advice.epsilon:g}){vault}."
    return page(
        f"At most {advice.risk:.1%} for the best guess at one thing{linked}:",
        *best,
        together,
        "",
        f"  {'class':<12}{'epsilon':>8}{'guess':>9}{'blind':>9}{'meaning':>9}",
        *rows,
        "",
        "guess: how often the best guess is right (exact), for an attacker who knows the "
        "mechanism and sees the stand-in, if common things are more likely; blind: the same "
        "without seeing it; meaning: expected cosine. What public words reveal is left out.",
    )


def evaluation_text(report: Evaluation) -> str:
    """Return what was measured on labelled texts: a line, and a Markdown table."""
    from sanitizer.risk.evaluation import MEASURES

    columns = {"all": report.counts}
    if len(report.languages) > 1:
        columns |= report.languages
    if len(report.origins) > 1:
        columns |= {f"names: {name}": counts for name, counts in report.origins.items()}
    lines = [["", *map(safe, columns)], ["---"] * (1 + len(columns))]
    for name in filter(report.counts.__contains__, MEASURES):
        shares = [counts.get(name, (0, 0)) for counts in columns.values()]
        lines.append([name, *(f"{hits / n:.3f} of {n}" if n else "-" for hits, n in shares)])
    refused = f" ({report.n_refused} more were refused)" if report.n_refused else ""
    texts = plural(report.n_texts, "text")
    read = f"; read by {report.detector_sha256[:16]}" if report.detector_sha256 else ""
    head = f"policy {report.policy}, {texts}{refused}, {report.milliseconds:.1f} ms a text{read}"
    return "\n".join([head, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _row(setting: AdviceSetting, chosen: bool) -> str:
    attack = "-" if setting.attack is None else f"{setting.attack:.2%}"
    return (
        f"{'>' if chosen else ' '} {setting.name:<17}{setting.mechanism.epsilon:8g}"
        f"{setting.meaning:9.3f}{setting.kept:8.2%}{attack:>8}{setting.ceiling:9.2%}{setting.worst_ceiling:8.1%}"
    )


def _named(setting: AdviceSetting) -> str:
    return f"{setting.name} at epsilon {setting.mechanism.epsilon:g}"


def _rate(rate: Rate) -> str:
    return f"{rate.share:8.2%} [{rate.low:.2%}, {rate.high:.2%}]"


def _bound(value: float | None) -> str:
    return "" if value is None else f"  ceiling {value:.2%}"


# ---- synthesis ----


def describe_synthesis(texts: Sequence[SynthesizedText]) -> str:
    """Return the record of texts that were made together in a few lines."""
    record = texts[0].record
    n_tokens = ", ".join(str(text.record.n_tokens) for text in texts)
    claim = ""
    if record.claimed_epsilon is not None:
        claim = f"; the paper's accounting gives {record.claimed_epsilon:g}"
    strength = f"epsilon {record.epsilon:g} at delta {record.delta:g} per reference, certified"
    if not record.certified:
        strength = f"NOT certified, no bound is known at delta {record.delta:g}"
    return page(
        f"{record.method} {record.variant}: {strength}{claim}",
        *([f"NOTE: {record.note}"] if record.note else []),
        *([f"why not certified: {record.reason}"] if record.reason else []),
        f"{plural(record.n_references, 'reference')} read for each text, "
        f"{plural(record.n_charged, 'token')} charged, drawn: {n_tokens}",
        f"protected: {record.unit}",
        f"neighbouring inputs: {record.relation}",
        f"public: {record.public}",
        f"not protected: {record.not_protected}",
    )


def told(drawn: Mapping[str, str], reveal: bool = False) -> Iterator[str]:
    """Yield a note for each thing that was drawn: what an answer says of it is of something else.

    >>> list(told({"gout": "asthma"}))
    ['note: the model was told "gout" in place of something private: what it says of it is not \
about yours']
    """
    for value, original in drawn.items():
        instead = f'where you wrote "{original}"' if reveal else "in place of something private"
        said = (
            f'note: the model was told "{value}" {instead}: what it says of it is not about yours'
        )
        yield safe(said)
