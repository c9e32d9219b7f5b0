"""The privacy-utility frontier: every mechanism over its settings, on held-out Rotten Tomatoes
sentences.

    python -m benchmarks utility [--quick]
    python -m benchmarks.frontier.run [--quick] [--sentences N] [--draws R] [--only WORD] [--workers
    N]

What is measured is kept in the build cache and not measured again; results/frontier.json holds
means with 95 % bootstrap intervals over sentences. The sentences, their order and the bootstrap
have fixed seeds; the mechanisms draw from the system's source.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from benchmarks.common.intervals import SEED, summary
from benchmarks.common.machine import say, write
from benchmarks.frontier.cells import Cells, Circumstances
from benchmarks.frontier.claims import compare, left_less_both, lines
from benchmarks.frontier.exact import Audits, Exact
from benchmarks.frontier.groups import Tools
from benchmarks.frontier.left_context import fetched
from benchmarks.frontier.mechanisms import Makers
from benchmarks.frontier.settings import Setting, few_settings, settings
from sanitizer.lm import OnnxMaskedLM, WordPieces

N_SENTENCES, N_SENTENCES_QUICK = 250, 4
QUICK = Circumstances(n_guessed=1, n_inferred=1, n_training=300, size=2)
Entry = dict[str, Any]


def audits(circumstances: Circumstances, quick: bool) -> tuple[Tools, Audits]:
    """What finds exact epsilons: 40 contexts and all inputs; 4 and every fortieth for --quick."""
    model = OnnxMaskedLM()
    tools = Tools(model, WordPieces(model.folder / "tokenizer.json"))
    contexts, step = (4, 40) if quick else (40, 1)
    return tools, Audits(
        tools, Makers(model, tools.pieces), circumstances.training(), contexts, step
    )


def measured(
    chosen: Sequence[Setting],
    n_sentences: int,
    circumstances: Circumstances,
    workers: int,
    quick: bool,
) -> list[Entry]:
    """An entry for each setting: epsilons, and figures per sentence. Those that read with the
    causal model are left out where its weights are not.
    """
    if any(setting.reads_left for setting in chosen) and not fetched():
        say(
            "not measured: what reads with the causal model, for its weights are not here "
            "(sanitizer models fetch lm)"
        )
        chosen = [setting for setting in chosen if not setting.reads_left]
    tools, audit = audits(circumstances, quick)
    found: list[tuple[Setting, float, Exact]] = []
    for number, setting in enumerate(chosen, 1):
        found.append((setting, *audit.solved(setting)))
        if setting.solve:
            say(
                f"[{number}/{len(chosen)}] {setting.label}: own {found[-1][1]:.3f}, exact "
                f"{found[-1][2].epsilon:.3f}"
            )
    cells = Cells(circumstances, tools.model.sha256)
    cells.measure([(setting, own) for setting, own, _ in found], n_sentences, workers, say)
    return [_entry(cells, n_sentences, *one) for one in found]


def _entry(cells: Cells, n_sentences: int, setting: Setting, own: float, exact: Exact) -> Entry:
    figures, clean = cells.read(setting, own, n_sentences)
    shown = vars(setting) | {"options": setting.options}
    return {
        "setting": shown,
        "own_epsilon": own,
        **exact.as_dict(),
        "per_sentence": figures,
        "clean": clean,
    }


def results(entries: Sequence[Entry], circumstances: Circumstances) -> dict[str, Any]:
    """What a result file holds besides claims."""
    first = entries[0]
    return {
        "n_sentences": len(first["clean"]),
        "n_words": int(sum(first["per_sentence"]["n_words"])),
        "n_guessed": int(sum(first["per_sentence"]["n_guessed"])),
        "configuration": vars(circumstances),
        "bootstrap_seed": SEED,
        "clean_accuracy": summary({"accuracy": first["clean"]})["accuracy"],
        "rows": [
            {k: v for k, v in e.items() if k not in ("per_sentence", "clean")}
            | {"figures": summary(e["per_sentence"])}
            for e in entries
        ],
    }


def run(options: argparse.Namespace) -> None:
    """Measure what is not measured yet, and write the results."""
    n = options.sentences or (N_SENTENCES_QUICK if options.quick else N_SENTENCES)
    circumstances = QUICK if options.quick else Circumstances(n_draws=options.draws)
    chosen = [
        s for s in (few_settings() if options.quick else settings()) if options.only in s.label
    ]
    entries = measured(chosen, n, circumstances, options.workers, options.quick)
    command = (
        f"python -m benchmarks.frontier.run{' --quick' * options.quick} --sentences {n} "
        f"--draws {options.draws}"
    )
    if not options.only:
        comparisons = compare(entries)
        print(*lines(comparisons), sep="\n")
        found = {"claims": comparisons, "left less both": left_less_both(entries)}
        print(write("frontier", command, results(entries, circumstances) | found))


def main(quick: bool) -> None:
    """The whole frontier, or a few of its points."""
    run(arguments().parse_args(["--quick"] if quick else []))


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{N_SENTENCES_QUICK} sentences, fewer settings"
    )
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--draws", type=int, default=1, help="of each sentence")
    parser.add_argument(
        "--only", default="", help="measure labels that contain this; write no results"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes")
    return parser


if __name__ == "__main__":
    run(arguments().parse_args())
