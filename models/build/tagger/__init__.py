"""Scripts that make models/tagger: which class each hidden word of a text has.

    python -m models.build.tagger.train --data FOLDER      # build-cache/tagger.pt and its log
    python -m models.build.tagger.encoded write --data FOLDER --texts FOLDER   # for a GPU
    python -m models.build.tagger.encoded train --texts FOLDER --body FILE --start FILE --out FILE
    python -m models.build.tagger.known --data FOLDER --first build-cache/tagger.pt
    python -m models.build.tagger.package --data FOLDER    # models/tagger

The packaged masked LM (`models.build.package`) and public forms
(`models.build.forms`) are made before: train and package again whenever one of them changes.

FOLDER holds what names real people and is no part of this repository: `ner/` with `wikigold`,
`wnut17`, `btc` and `sec-filings`, `presidio-research/`, `pupa/` and `self-instruct/`, each as in
the repository and commit that models/tagger/CARD.md names, with the hash of each file.

In the order of use: `fill` draws names and other values, `data` makes labelled texts, `encode`
skeletons and pieces, `batches` batches; `model` and `train`, or `encoded` where a GPU is, train the
first stage, `known` the second; `export` writes the graph, `quality` measures, `package` does both
and writes manifest and card.
"""
