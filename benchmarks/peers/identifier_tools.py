"""One tool that finds identifiers, behind JSON lines: runs in the tool's own environment.

Run by `benchmarks.peers.identifiers` as `PYTHON -m benchmarks.peers.identifier_tools
ours|presidio|datafog` from the root of the repository; imports nothing of ours unless the tool is
ours.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

OURS, VERSIONS = "ours", "versions"
SHARED_KINDS = ("EMAIL", "PHONE", "SSN", "CARD", "IP", "DATE", "DATE_OF_BIRTH", "POSTCODE")
Spans = list[tuple[int, int, str, float]]
Find = Callable[[str], Spans]


def ours(shared: bool) -> Find:
    """`sanitizer.identifiers.search`, with all kinds or with those that datafog knows."""
    from sanitizer.identifiers import KINDS, find

    kinds = SHARED_KINDS if shared else KINDS
    return lambda text: [(i.start, i.end, i.kind, 1.0) for i in find(text, kinds)]


def presidio() -> Find:
    """Presidio's default English recognizers without a named-entity model."""
    spacy, tldextract = import_module("spacy"), import_module("tldextract")
    analyzer, nlp = (
        import_module("presidio_analyzer"),
        import_module("presidio_analyzer.nlp_engine"),
    )

    class Blank(nlp.SpacyNlpEngine):  # type: ignore[misc, name-defined]
        """Tokens only: the lower-cased token is its own lemma, and there are no entities."""

        def load(self) -> None:
            self.nlp = {"en": spacy.blank("en")}

        def process_text(self, text: str, language: str) -> Any:
            doc = self.nlp[language](text)
            return nlp.NlpArtifacts(
                [], doc, [t.idx for t in doc], [t.lower_ for t in doc], self, language
            )

    # Its e-mail check would ask the network for a newer list of domains; the packaged one serves.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())
    engine = Blank()
    engine.load()
    registry = analyzer.RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    for recognizer in [r for r in registry.recognizers if r.name == "SpacyRecognizer"]:
        registry.recognizers.remove(recognizer)
    analyze = analyzer.AnalyzerEngine(
        registry=registry, nlp_engine=engine, supported_languages=["en"]
    ).analyze
    return lambda text: [
        (r.start, r.end, r.entity_type, r.score) for r in analyze(text, language="en")
    ]


def datafog() -> Find:
    """datafog's regex engine with its default labels."""
    module = import_module("datafog.processing.text_processing.regex_annotator.regex_annotator")
    annotate = module.RegexAnnotator().annotate_with_spans
    return lambda text: [(s.start, s.end, s.label, 1.0) for s in annotate(text)[1].spans]


PACKAGES = {
    "ours": (),
    "presidio": ("presidio-analyzer", "spacy", "phonenumbers", "regex"),
    "datafog": ("datafog",),
}


def main() -> None:
    """Answer requests from standard input until it ends."""
    tool = sys.argv[1]
    finders: dict[str, Callable[[], tuple[Find, ...]]] = {
        OURS: lambda: (ours(False), ours(True)),
        "presidio": lambda: (presidio(),),
        "datafog": lambda: (datafog(),),
    }
    finds = finders[tool]()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == VERSIONS:
            answer: Any = {name: version(name) for name in PACKAGES[tool]}
        elif request["do"] == "find":
            answer = {"spans": [finds[0](text) for text in request["texts"]]}
        else:
            find = finds[-1] if request["shared"] else finds[0]
            find(request["texts"][0])
            begin = time.perf_counter()
            for text in request["texts"]:
                find(text)
            answer = time.perf_counter() - begin
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
