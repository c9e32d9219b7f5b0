"""The package as a whole: true names, doors that agree, a quick import, one source of randomness.

Who may import whom is checked by import-linter (`lint-imports`, contracts in pyproject.toml).
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sanitizer

PACKAGE = Path(sanitizer.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
DOORS = [
    "sanitizer",
    *sorted(f"sanitizer.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")),
]
MAX_FILES_IN_A_PACKAGE = 14
MAX_LINES = {
    "answers": 3_750,
    "bulk": 2_210,
    "cli": 3_250,
    "clients": 1_220,
    "corrections": 425,
    "detect": 2_010,
    "documents": 750,
    "identifiers": 3_350,
    "integrations": 880,
    "lm": 2_380,
    "pipeline": 4_660,
    "privacy": 2_600,
    "proxy": 4_020,
    "risk": 2_000,
    "storage": 3_900,
    "synthesis": 1_030,
    "testing": 780,
    "text": 2_730,
    "wire": 4_750,
}
"""Most lines of Python of each package: what it had when they were counted, and little more."""
MAX_LINES_IN_ALL, MAX_LINES_OF_DOORS = 47_650, 330


def imports(tree: ast.Module) -> set[str]:
    """Every module imported anywhere in the file, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("door", DOORS)
def test_a_door_says_what_goes_in_and_out_and_its_names_load(door: str) -> None:
    package = import_module(door)
    offered = getattr(package, "__all__", [])
    assert offered == sorted(offered)
    files = {path.stem for path in Path(str(package.__file__)).parent.iterdir()}
    assert not set(offered) & files, "a submodule of that name would hide it"
    assert (package.__doc__ or "").count("\n") >= 2 or door == "sanitizer"
    assert all(getattr(package, name) is not None for name in offered)
    with pytest.raises(AttributeError, match="Nothing"):
        getattr(package, "Nothing")  # noqa: B009


def test_the_package_offers_its_names_and_nothing_else() -> None:
    names = dir(sanitizer)
    assert vars(sanitizer)["__all__"] == names
    for name in names:
        assert getattr(sanitizer, name).__name__ == name


@pytest.mark.parametrize("door", DOORS)
def test_a_door_offers_what_it_names_for_type_checkers(door: str) -> None:
    package = import_module(door)
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    named = {
        f"{node.module}.{alias.name}"
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    offered = {name.rpartition(".")[2] for name in named if not name.endswith("__version__")}
    assert offered == set(getattr(package, "__all__", []))
    for path in named:
        module, _, name = path.rpartition(".")
        assert getattr(package, name) is getattr(import_module(module), name)


def test_packages_have_few_files() -> None:
    for folder in PACKAGE.iterdir():
        assert len(list(folder.glob("*.py"))) <= MAX_FILES_IN_A_PACKAGE, folder.name


@pytest.mark.parametrize("name", MAX_LINES)
def test_a_package_has_no_more_lines_than_it_had(name: str) -> None:
    files = (PACKAGE / name).rglob("*.py")
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= MAX_LINES[name]


def test_the_whole_has_no_more_lines_than_it_had() -> None:
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert sum(lines.values()) <= MAX_LINES_IN_ALL
    assert sum(n for path, n in lines.items() if path.name == "__init__.py") <= MAX_LINES_OF_DOORS


def test_every_package_has_a_limit() -> None:
    assert set(MAX_LINES) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_only_randomness_knows_a_generator(path: Path) -> None:
    tree, name = ast.parse(path.read_text("utf-8")), path.relative_to(PACKAGE).as_posix()
    used = {module.split(".")[0] for module in imports(tree)}
    assert not used & {"secrets"} or name == "randomness.py"
    assert not used & {"random"} or name.startswith("testing/")
    assert not used & {"torch", "onnx"}
    text = ast.unparse(tree)
    assert "np.random" not in text
    assert "urandom" not in text


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("numpy", "onnxruntime", "tokenizers", "nltk", "httpx", "cryptography", "click", "tqdm")
    assert run(f"import sys, sanitizer; print([m for m in {heavy!r} if m in sys.modules])") == "[]"


def test_importing_the_sanitizer_loads_no_model() -> None:
    made = "import sys; from sanitizer import Sanitizer; Sanitizer()"
    assert run(f"{made}; print('onnxruntime' in sys.modules)") == "False"
