"""Cut the vocabulary of multilingual-e5-small to what the languages need.

Kept are the special tokens, every single character, what the labelled texts and the frequent words
of all languages are made of, and the likeliest other pieces. `python -m
models.build.reader.vocabulary` writes build-cache/reader/tokenizer.json and kept.npy.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
from tokenizers import Tokenizer

from models.build.reader.labelled import all_texts
from models.build.reader.languages import CODES, MODELS, lines
from models.build.reader.sources import CACHE, tokenizer_json

SIZE = 72_000
"""Pieces that are kept: an installed package of all models must stay below 100 MB."""
N_FREQUENT = 60_000
_SPECIAL = 4  # <s>, <pad>, </s>, <unk> come first
_UNDERLINE = "\u2581"


def main() -> None:
    """Write the tokenizer and which rows of the embeddings it keeps."""
    from wordfreq import top_n_list

    whole = json.loads(tokenizer_json())
    vocabulary = whole["model"]["vocab"]
    tokenizer = Tokenizer.from_str(tokenizer_json().decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    counts: Counter[int] = Counter()

    def count(texts: list[str], weight: float) -> None:
        for encoded in tokenizer.encode_batch(texts, add_special_tokens=False):
            for i in encoded.ids:
                counts[i] += weight  # type: ignore[assignment]

    count([each.text for each in all_texts()], 3.0)
    for code in [*CODES, "zh", "ja", "he", "fa", "bn", "ca", "bg", "ms", "sh", "sk", "sl", "lt"]:
        frequent = top_n_list(code, N_FREQUENT if code in CODES or code in ("zh", "ja") else 8000)
        for begin in range(0, len(frequent), 20_000):
            some = frequent[begin : begin + 20_000]
            count([*some, *(w.capitalize() for w in some)], 0.3)
    count([w.capitalize() for w in lines(MODELS / "classes" / "given_names.txt")], 0.3)
    single = {
        i for i, (piece, _) in enumerate(vocabulary) if len(piece.removeprefix(_UNDERLINE)) <= 1
    }
    kept = {*range(_SPECIAL), *single}
    # Rarely used pieces give way to likelier ones: the scores are log odds in 100 languages.
    order = sorted(range(len(vocabulary)), key=lambda i: (-counts[i], -vocabulary[i][1]))
    for i in order:
        if len(kept) >= SIZE - 1:
            break
        kept.add(i)
    rows = sorted(kept)
    mask = len(vocabulary) - 1 if vocabulary[-1][0] == "<mask>" else 250_001
    whole["model"]["vocab"] = [vocabulary[i] for i in rows if i != mask]
    whole["added_tokens"] = [t for t in whole["added_tokens"] if t["content"] != "<mask>"]
    for key in ("truncation", "padding", "post_processor"):
        whole[key] = None
    rows = [i for i in rows if i != mask] + [mask]
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "tokenizer.json").write_text(
        json.dumps(whole, ensure_ascii=False, separators=(",", ":")), "utf-8"
    )
    np.save(CACHE / "kept.npy", np.array(rows, np.int32))
    used = sum(n for i, n in counts.items() if i in kept) / sum(counts.values())
    print(len(rows), "pieces;", f"{used:.4f} of all uses;", len(single), "single characters")


if __name__ == "__main__":
    main()
