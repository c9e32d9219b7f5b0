"""The house rules: imports go down only, one owner per heavy dependency, a quick import, true names."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import sanitizer

PACKAGE = Path(sanitizer.__file__).parent

FLOORS = [
    {"types", "errors"},
    {
        "addresses",
        "sampling",
        "files",
        "gguf",
        "prefixes",
        "progress",
        "terms",
        "accounting",
        "ledger_store",
        "restore",
    },
    {"ledger", "memory", "vault_store"},
    {"vault"},
    {"text", "tables", "weights", "windows", "budget", "names", "wordlists", "identifier_checks"},
    {"identifier_numbers", "identifier_places", "identifier_words"},
    {"identifier_forms", "identifier_search"},
    {"identifiers"},
    {"backbone", "causal", "chat_format", "fetch"},
    {"decoding.base"},
    {"decoding.dps_mozo", "decoding.invisibleink", "synthesis_prompts", "synthesis_scores", "synthesis_types"},
    {"synthesis_plan"},
    {"mechanisms.base"},
    {"mechanisms.cape", "mechanisms.dyntext"},
    {"neighborhoods"},
    {"policy", "outputs"},
    {"findings"},
    {"draft"},
    {"causal_outputs", "left_context"},
    {"engines", "vocabulary"},
    {"jobs", "loading", "records"},
    {"extractor"},
    {"extractor_lm", "extractor_words"},
    {"extractor_remote"},
    {"extractor_stage"},
    {"answering"},
    {"synthesis_run"},
    {"synthesis"},
    {"synthesis_shots"},
    {"drawing"},
    {"pipeline", "posterior"},
    {"audit", "testing", "testing_answers", "attack_report", "trials"},
    {"advise", "attacks", "testing_server"},
    {"display", "display_attacks"},
    {"wire.codec", "wire.endpoints", "wire.known", "wire.record", "wire.shapes"},
    {"wire.walk"},
    {"wire.answers"},
    {"wire.channels"},
    {"wire.chunks", "wire.events"},
    {"wire.sse"},
    {"wire.core"},
    {"wire.carrier"},
    {"wire.httpx", "wire.httpx2", "wire.stamp"},
    {"wire.chat", "wire.shield"},
    {"proxy.answers", "proxy.conversations", "proxy.metrics", "proxy.reading", "proxy.risk", "proxy.settings"}
    | {"proxy.work"},
    {"proxy.forwarding", "proxy.guard", "proxy.serve", "proxy.upstream"},
    {"proxy.api", "proxy.gate", "proxy.page_api"},
    {"proxy.app"},
    {"cli_serve", "cli_synthesize"},
    {"cli_chat"},
    {"cli"},
    {"__main__"},
]
OWNERS = {
    "onnxruntime": {"backbone"},
    "tokenizers": {"text"},
    "nltk": {"text"},
    "cryptography": {"vault"},
    "spacy": {"names"},
    "httpx": {"wire.httpx", "wire.chat", "extractor_remote"},  # transports for others' clients; a client of our own
    "aiohttp": {"proxy.upstream"},
    "httpx2": {"wire.httpx2"},
    "starlette": {room for rooms in FLOORS for room in rooms if room.startswith("proxy.")},
    "uvicorn": {"proxy.serve"},
}
FREE = {"__init__", "decoding", "mechanisms", "proxy", "wire"}


@cache
def modules() -> dict[str, ast.Module]:
    trees = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        trees[name] = ast.parse(path.read_text("utf-8"))
    return trees


def imports(tree: ast.Module) -> set[str]:
    """Every module imported anywhere in the file, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the floor"
            module = node.module or ""
            package = module.removeprefix("sanitizer.") in FREE
            names |= {f"{module}.{alias.name}" for alias in node.names} if package else {module}
    return names


def floor(module: str) -> int:
    (found,) = [i for i, rooms in enumerate(FLOORS) if module in rooms]
    return found


def test_every_room_has_a_floor() -> None:
    assert set(modules()) - FREE == {room for rooms in FLOORS for room in rooms}


@pytest.mark.parametrize("module", sorted(set(modules()) - FREE))
def test_imports_go_down_only(module: str) -> None:
    for name in imports(modules()[module]):
        if name.startswith("sanitizer."):
            below = name.removeprefix("sanitizer.")
            assert floor(below) < floor(module) or (floor(below) == floor(module) and below < module), (module, below)


@pytest.mark.parametrize("module", sorted(modules()))
def test_heavy_dependencies_have_one_owner(module: str) -> None:
    for name in imports(modules()[module]):
        top = name.split(".")[0]
        assert module in OWNERS.get(top, {module}), f"{module} imports {top}"
        assert top not in {"torch", "onnx"}


@pytest.mark.parametrize("module", [m for m in sorted(modules()) if m.startswith("mechanisms.")])
def test_mechanisms_know_neither_model_nor_tokenizer(module: str) -> None:
    below = {n for n in imports(modules()[module]) if n.startswith("sanitizer")}
    assert below <= {"sanitizer.errors", "sanitizer.sampling", "sanitizer.mechanisms.base"}


@pytest.mark.parametrize("module", [m for m in sorted(modules()) if m.startswith("decoding.")])
def test_decoders_know_neither_model_nor_tokenizer(module: str) -> None:
    names = imports(modules()[module])
    allowed = {"sanitizer.errors", "sanitizer.sampling", "sanitizer.accounting", "sanitizer.decoding.base"}
    assert {n for n in names if n.startswith("sanitizer")} <= allowed
    assert {n.split(".")[0] for n in names} - sys.stdlib_module_names <= {"numpy", "sanitizer"}


def test_only_sampling_knows_a_generator() -> None:
    for module, tree in modules().items():
        used = {n.split(".")[0] for n in imports(tree)}
        assert not used & {"secrets"} or module == "sampling"
        assert not used & {"random"} or module == "testing"
        text = ast.unparse(tree)
        assert "np.random" not in text
        assert "urandom" not in text


def test_nothing_but_tests_uses_the_seeded_source() -> None:
    for module, tree in modules().items():
        assert "sanitizer.testing" not in imports(tree), module


def test_all_and_the_namespace_agree() -> None:
    assert sanitizer.__all__ == sorted(sanitizer.__all__)
    assert dir(sanitizer) == sanitizer.__all__
    for name in sanitizer.__all__:
        assert getattr(sanitizer, name).__name__ == name
    with pytest.raises(AttributeError, match="Nothing"):
        _ = sanitizer.Nothing


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("numpy", "onnxruntime", "tokenizers", "nltk", "httpx", "cryptography")
    code = f"import sys, sanitizer; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_importing_the_sanitizer_loads_no_model() -> None:
    code = "import sys; from sanitizer import Sanitizer; Sanitizer(); print('onnxruntime' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
