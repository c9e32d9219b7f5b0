"""How much an extractor mends answers to perturbed prompts, measured as in the Cape paper's
open-ended generation.

    python -m benchmarks.extraction.run --peer PYTHON [--n 200] [--quick]

PYTHON is the interpreter of an environment with `xllamacpp`. A small instruct model on this machine
stands for the remote model. For each beginning of a held-out Wikipedia paragraph it is asked to go
on, once with the beginning as it is and once for each epsilon with all words but stopwords drawn
anew (certified Cape, policy "strict"). Each noisy answer is then put right by each extractor, and
the packaged local model also writes an answer alone, from the original beginning: what an extractor
gains must be held against that. Every answer is kept in the build cache as it comes.

As in the paper (section 5.1.2), with x the original beginning, y the answer of the remote model to
it, and y' the text in question: coherence is the cosine of the sentence vectors of x and y',
alignment that of y and y'. `following` is, beside them, the cosine of y' and the words that follow
in the article. Sentence vectors are those of all-MiniLM-L6-v2 (the paper: SimCSE), so figures are
comparable among themselves only. `copied` is the share of the text's runs of three words that stand
in the beginning: to say it again is coherent, and no continuation. Whole documents are drawn again
for the intervals, since paragraphs of one page are alike.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

import sanitizer.answers
from benchmarks.common.intervals import interval, means
from benchmarks.common.kept import Kept, Row, fingerprint
from benchmarks.common.machine import parser, write
from benchmarks.common.sentences import SentenceEncoder
from benchmarks.extraction.texts import Item, items
from models.build.fetch import CACHE, REMOTE_PARTS, member, sha256
from sanitizer.answers.extractors import LmExtractor
from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import ByteTokens, ChatFormat
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.privacy.cape import Cape
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing import SeededSource

EPSILONS = (3.0, 4.0, 5.0, 6.0, 8.0)
POLICY = "strict"
SEED = 20_261
NONE = "none"
"""Condition in which a beginning is sent as it is."""
READERS = {"noisy": None, "lexical": "lexical", "lm": "lm"}
"""Way to read an answer -> the extractor."""
ALONE = ("asked", "continued")
"""Ways in which the local model writes without help: asked as the remote model is, or the beginning
is read as the model's own text."""
MEASURES = ("coherence", "alignment", "following")
RUN = 3
GAINS = (
    ("lexical", "noisy"),
    ("lm", "noisy"),
    ("lm", "lexical"),
    ("lm", "asked"),
    ("lm", "continued"),
)
REMOTE_SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
"""Of the remote model, Qwen2.5-Coder-0.5B-Instruct, joined from its archives."""
MAX_TOKENS = 32
REQUEST = {"max_tokens": MAX_TOKENS, "temperature": 0, "repeat_penalty": 1.3, "repeat_last_n": 256}
"""Deterministic. Without the penalty this model says the beginning again instead of going on."""
SYSTEM = "The user gives the beginning of an article. Write only the sentence that comes next."
Values = NDArray[np.float64]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]
Texts = Mapping[str, Sequence[str]]


def gguf() -> Path:
    """Return the remote model's file, joined at the first call.

    Raises:
        RuntimeError: its hash is not the pinned one.
    """
    path = CACHE / "remote-model.gguf"
    if not path.exists():
        numbers = range(1, len(REMOTE_PARTS) + 1)
        path.write_bytes(b"".join(member(f"remote{i}", f"/part0{i}.bin", CACHE) for i in numbers))
    if (found := sha256(path)) != REMOTE_SHA256:
        raise RuntimeError(f"remote model: sha256 {found}, expected {REMOTE_SHA256}")
    return path


@contextmanager
def remote(python: Path) -> Iterator[Callable[[str], str]]:
    """Run the remote model in a process of its own; yield what says what comes next.

    Raises:
        RuntimeError: it did not start.
    """
    script = Path(__file__).parents[1] / "peers" / "llama_server.py"
    process = subprocess.Popen(
        [str(python), str(script), str(gguf()), "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    line = next((line for line in process.stdout if line.startswith("serving ")), None)
    if line is None:
        raise RuntimeError("the remote model did not start")
    with httpx.Client(base_url=line.split()[2], timeout=600, trust_env=False) as client:

        def answer(beginning: str) -> str:
            said = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": beginning}]
            reply = client.post("/v1/chat/completions", json={**REQUEST, "messages": said})
            content = reply.raise_for_status().json()["choices"][0]["message"]["content"]
            return str(content).strip()

        yield answer
    process.communicate()


class Local:
    """The models of this machine.

    Args:
        sample: all beginnings; each condition draws them in order, the same in every run.
    """

    def __init__(self, sample: Sequence[Item]) -> None:
        self._sample = sample
        self._model = OnnxCausalLM(threads=1)
        self._tokens = ByteTokens(self._model.folder / "tokenizer.json")
        lm = LmExtractor(lambda: (self._model, self._tokens))
        masked = OnnxMaskedLM(threads=1)
        self._readers: dict[float, dict[str, Sanitizer]] = {}
        for epsilon in EPSILONS:
            vault = MemoryVault()
            self._readers[epsilon] = {
                kind: Sanitizer(
                    Cape(epsilon), POLICY, model=masked, vault=vault,
                    extractor=lm if name == "lm" else name,
                )
                for kind, name in READERS.items()
            }  # fmt: skip

    def read(self, i: int, epsilon: float | None, ask: Callable[[str], str]) -> Row:
        """Return what is sent of one beginning, and all that is written for it."""
        beginning = self._sample[i].beginning
        if epsilon is None:
            alone = {way: self._alone(way, beginning) for way in ALONE}
            return {"texts": {"sent": beginning, "answer": ask(beginning), **alone}}
        readers = self._readers[epsilon]
        source = SeededSource(SEED + 1_000_003 * int(1000 * epsilon) + i)
        sent = readers["noisy"].sanitize(beginning, source=source)
        texts, extracted = {"sent": sent.text}, {}
        answer = ask(sent.text)
        for kind, reader in readers.items():
            found = reader.restore(answer, prompt=sent)
            texts[kind], extracted[kind] = str(found), found.extracted
        return {"texts": texts, "extracted": extracted}

    def _alone(self, way: str, beginning: str) -> str:
        """Return what this model itself says comes next, its likeliest tokens."""
        form = ChatFormat(self._tokens)
        ids = form.prompt(beginning, SYSTEM) if way == "asked" else self._tokens.encode(beginning)
        rows = self._model.prefill([ids])
        written: list[int] = []
        while len(written) < MAX_TOKENS and (token := int(rows.logits[0].argmax())) not in form.end:
            written.append(token)
            rows.step([token])
        return self._tokens.decode(written).strip()


def kept_answers(split: str) -> Kept:
    """Return the answers that are kept; the file is named after all that they depend on."""
    package = Path(str(sanitizer.answers.__file__)).parent
    models = [Manifest.read(model_folder(name)).sha256 for name in ("masked-lm", "lm")]
    code = [path.read_text("utf-8") for path in sorted(package.glob("*.py"))]
    parts = [split, REMOTE_SHA256, REQUEST, SYSTEM, POLICY, SEED, EPSILONS, *models, *code]
    return Kept(f"extraction-{split}-{fingerprint(parts)}")


def copied(text: str, beginning: str) -> float:
    """Return the share of the text's runs of RUN words that occur in the beginning, in any case."""
    runs, known = (
        [tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)]
        for words in (re.findall(r"\w+", t.casefold()) for t in (text, beginning))
    )
    return sum(run in known for run in runs) / max(1, len(runs))


def texts_of(rows: Sequence[Row]) -> tuple[list[int], dict[str, list[str]], dict[str, list[bool]]]:
    """Return the items for which all is there, their texts ("expected", "asked", "continued", and
    "sent EPSILON", "noisy EPSILON" and so on), and whether extractors changed them.
    """
    found = {(row["i"], row["condition"]): row for row in rows}
    conditions = [NONE, *(f"{e:g}" for e in EPSILONS)]
    whole = sorted({i for i, _ in found if all((i, c) in found for c in conditions)})
    texts: dict[str, list[str]] = {}
    extracted: dict[str, list[bool]] = {}
    for condition in conditions:
        for i in whole:
            row = found[i, condition]
            for kind, text in row["texts"].items():
                name = (
                    {"answer": "expected"}.get(kind, kind)
                    if condition == NONE
                    else (f"{kind} {condition}")
                )
                texts.setdefault(name, []).append(text)
            for kind, changed in row.get("extracted", {}).items():
                extracted.setdefault(f"{kind} {condition}", []).append(changed)
    return whole, texts, extracted


def measured(
    sample: Sequence[Item], texts: Texts, extracted: Mapping[str, Sequence[bool]], encode: Encode
) -> dict[str, Any]:
    """Return the results.

    Args:
        texts, extracted: as from `texts_of`, one for each item of the sample.
    """
    documents = [x.document for x in sample]
    others = {
        "coherence": encode([x.beginning for x in sample]),
        "alignment": encode(texts["expected"]),
        "following": encode([x.following for x in sample]),
    }

    def cosines(name: str) -> dict[str, Values]:
        vectors = encode(texts[name])
        return {
            m: np.einsum("ij,ij->i", vectors, other).astype(np.float64)
            for m, other in others.items()
        }

    found = {name: cosines(name) for name in texts}

    def spread(values: Sequence[float] | Values) -> dict[str, float]:
        return interval(means(values, documents))

    def described(name: str) -> dict[str, Any]:
        words = [len(text.split()) for text in texts[name]]
        again = [copied(t, x.beginning) for t, x in zip(texts[name], sample, strict=True)]
        return {m: spread(v) for m, v in found[name].items()} | {
            "copied": spread(again),
            "words": spread(words),
        }

    def row(epsilon: str) -> dict[str, Any]:
        names = {kind: f"{kind} {epsilon}" for kind in READERS} | {way: way for way in ALONE}
        gains = {
            f"{a} - {b}": {m: spread(found[names[a]][m] - found[names[b]][m]) for m in MEASURES}
            for a, b in GAINS
        }
        shares = {kind: spread(extracted[f"{kind} {epsilon}"]) for kind in ("lexical", "lm")}
        kept = spread(found[f"sent {epsilon}"]["coherence"])
        figures = {kind: described(names[kind]) for kind in READERS}
        return {
            "epsilon": float(epsilon),
            "prompt_cosine": kept,
            **figures,
            "extracted": shares,
            "gains": gains,
        }

    return {
        "n_items": len(sample),
        "n_documents": len(set(documents)),
        "without_noise": described("expected"),
        **{way: described(way) for way in ALONE},
        "rows": [row(f"{e:g}") for e in EPSILONS],
    }


def main() -> None:
    """Measure, and write results/extraction.json."""
    line = parser(__doc__, "10 of the calibration split")
    line.add_argument(
        "--peer", type=Path, required=True, metavar="PYTHON", help="an environment with xllamacpp"
    )
    line.add_argument("--n", type=int, default=200, help="beginnings")
    options = line.parse_args()
    n, split = (10, "calibration") if options.quick else (options.n, "heldout")
    sample, kept = items(split, n), kept_answers(split)
    local = Local(sample)
    with remote(options.peer) as ask:
        for epsilon in (None, *EPSILONS):
            condition = NONE if epsilon is None else f"{epsilon:g}"
            for i in kept.missing(n, condition=condition):
                kept.add({"i": i, "condition": condition} | local.read(i, epsilon, ask))
    whole, texts, extracted = texts_of([row for row in kept.rows if row["i"] < n])
    found = measured([sample[i] for i in whole], texts, extracted, SentenceEncoder().encode)
    write("extraction", {"texts_sha256": fingerprint(texts, 64), **found})


if __name__ == "__main__":
    main()
