"""What the whole suite shares: one loaded model, and which tests are slow.

Plain `pytest` leaves out what is marked `slow`: whatever needs a browser, a screen, a model server
or another SDK, and what takes many seconds. `pytest -m slow` runs just that.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Generator, Iterator
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from sanitizer.lm import loading, tokens
from sanitizer.lm import masked as masked_module
from sanitizer.lm.files import model_folder
from sanitizer.lm.loading import Models
from sanitizer.lm.masked import MaskedLM, OnnxMaskedLM
from sanitizer.lm.reader import OnnxReader
from sanitizer.lm.word_vectors import PieceTable, WordTable
from sanitizer.pipeline import engines
from sanitizer.pipeline.outputs import OneTokenOutputs, Outputs, WordSpace
from sanitizer.storage import vault
from sanitizer.testing import models

# Examples of a test that names no number of its own; more with --hypothesis-profile nightly.
settings.register_profile("quick", max_examples=30, deadline=2000)
settings.register_profile("nightly", max_examples=1000, deadline=None)
settings.load_profile("quick")

# Fixtures that start a program: every test that asks for one is slow.
PROGRAMS = {"browser", "display"}

QUICK = "not slow and not nightly"  # the -m of pyproject.toml

Told = Callable[..., None]
"""The fixture `told`."""


# Files that take a worker longest, longest first; the others follow in the order of their names. A
# file's tests run in one worker, so one of these at the end would leave the other worker idle.
LONG = (
    "tests/docs/test_recipes.py",
    "tests/examples/test_desktop.py",
    "tests/proxy/test_page_flow.py",
    "tests/proxy/test_page.py",
    "tests/bulk/test_engines.py",
    "tests/docs/test_site.py",
    "tests/docs/test_tutorial.py",
    "tests/storage/test_ledger_processes.py",
    "tests/examples/test_what_the_server_sees.py",
    "tests/proxy/test_server.py",
    "tests/cli/test_serve.py",
    "sanitizer/risk/advice.py",
    "tests/pipeline/test_sanitizer.py",
    "tests/risk/test_advice.py",
    "tests/wire/test_find_text.py",
    "tests/pipeline/test_classes.py",
)


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what `sanitizer run` notes out of the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if PROGRAMS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.nodeid.split("::")[0], len(LONG)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: looking through it again and again takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file that is slow as a whole where no slow test runs: it imports large SDKs."""
    if config.option.markexpr != QUICK or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text("utf-8")
    return True if re.search(r"^pytestmark = pytest\.mark\.slow$", text, re.M) else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests are the package's: a test module must not be imported a second time for its own."""
    found = yield
    return [each for each in found if not isinstance(each, DoctestModule)]


@pytest.fixture
def apart(from_one: Callable[[bytes, str], int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Number the placeholders of each conversation apart, as they are outside of tests."""
    monkeypatch.setattr(vault, "_tag", from_one)


@pytest.fixture(scope="session")
def model() -> OnnxMaskedLM:
    """The packaged masked LM, loaded once."""
    return packaged_masked()


@cache
def packaged_masked() -> OnnxMaskedLM:
    return OnnxMaskedLM(threads=1)


@cache
def packaged_reader() -> OnnxReader:
    return OnnxReader(threads=1)


@pytest.fixture(scope="session", autouse=True)
def packaged_models_are_loaded_once() -> Iterator[None]:
    """Give every Sanitizer of a worker the same packaged models, with one thread.

    A folder of its own is loaded as ever; programs that tests start load their models themselves.
    Toy models share the packaged tokenizers and tables, and what follows from these alone.
    """

    def masked(folder: Path | None = None, threads: int | None = None) -> OnnxMaskedLM:
        if folder is None and threads in {None, 1}:
            return packaged_masked()
        return OnnxMaskedLM(folder, threads)

    def reader(folder: Path | None = None, threads: int | None = None) -> OnnxReader:
        if folder is None and threads in {None, 1}:
            return packaged_reader()
        return OnnxReader(folder, threads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "OnnxMaskedLM", masked)
        patch.setattr(loading, "OnnxReader", reader)
        patch.setattr(tokens, "_tokenizer", of_packaged_once(tokens._tokenizer))
        settings_of = of_packaged_once(masked_module.read_settings)
        for module in (masked_module, models):
            patch.setattr(module, "read_settings", settings_of)
        for table in (WordTable, PieceTable):
            patch.setattr(table, "load", of_packaged_once(table.load))
        patch.setattr(OneTokenOutputs, "of", of_the_same_once(OneTokenOutputs.of))
        patch.setattr(engines, "WordSpace", shared_spaces())
        yield


def of_packaged_once(load: Callable[..., Any]) -> Callable[..., Any]:
    """Load once what is at a path of the packaged models, and all else anew each time."""
    found: dict[Path, Any] = {}
    packaged = model_folder("masked-lm").parent

    def loaded(path: Path, *more: Any) -> Any:
        if packaged not in path.parents:
            return load(path, *more)
        if path not in found:
            found[path] = load(path, *more)
        return found[path]

    return loaded


def of_the_same_once(of: Callable[..., OneTokenOutputs]) -> Callable[..., OneTokenOutputs]:
    """Find the words of one token once for the same tables and the same tokenizer."""
    found: dict[tuple[int, ...], tuple[object, OneTokenOutputs]] = {}

    def known(model: MaskedLM, of_causal: tokens.ByteTokens) -> OneTokenOutputs:
        read = (model.outputs, model.output_ids, model.words, model.pieces, of_causal._tokenizer)
        key = tuple(map(id, read))  # `read` is kept with it, so that no other object gets its id
        if key not in found:
            found[key] = read, of(model, of_causal)
        return found[key][1]

    return known


def shared_spaces() -> Callable[[Outputs, tokens.WordPieces], WordSpace]:
    """Make output spaces that look words up in one index where their words are the same list."""
    found: dict[int, tuple[list[str], WordSpace]] = {}

    def space(model: Outputs, pieces: tokens.WordPieces) -> WordSpace:
        if id(model.outputs) not in found:
            found[id(model.outputs)] = model.outputs, WordSpace(model, pieces)
        same = copy(found[id(model.outputs)][1])
        same._model, same._pieces = model, pieces
        return same

    return space


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Let every Sanitizer read words as a test says, and no other word as private.

    `told(PERSON="Elena Marsh", CONDITION="asthma")`: what a model finds is not the subject then.
    A text that was read before is not read again. `needs` are classes of what each request needs.
    """
    reader = models.ToyReader(None)

    def tell(needs: str = "", **classes: str) -> None:
        reader.needs = needs.split()
        reader.words = {word: kind for kind, those in classes.items() for word in those.split()}

    monkeypatch.setattr(Models, "reader", lambda self: reader)
    return tell


@pytest.fixture(scope="module")
def quick_keys() -> Iterator[None]:
    """Derive the keys of vaults at once, where that work is not the subject."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sanitizer.storage.sealing.SCRYPT_N", 2**4)
        yield


@pytest.fixture
def model_copy(tmp_path: Path) -> Path:
    """A model folder of links to the packaged files, so that one of them can be replaced."""
    folder = tmp_path / "masked-lm"
    folder.mkdir()
    for path in model_folder("masked-lm").iterdir():
        (folder / path.name).symlink_to(path.resolve())
    return folder
