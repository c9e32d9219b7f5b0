# Recipes for development, run with just (https://just.systems) in an environment that has
# pip install -e ".[test]".

# everything that a commit should pass
default: check test

# static checks: style, types, layers, spelling
check: lint
    mypy
    lint-imports
    codespell

# style only
lint:
    ruff check .
    ruff format --check .

# the suite that a change should pass, in a few minutes; arguments go to pytest
test *arguments:
    pytest {{arguments}}

# what needs a browser, a screen, a model server, another SDK, or many seconds
slow *arguments:
    pytest -m slow {{arguments}}

# all tests, those of minutes too, with ten times as many random examples, and every framework and client of the recipes; those
# of Ray and Spark need both installed (pip install -e ".[ray,spark]") and a Java 17, that of the desktop's single file pyinstaller
# and this package installed, else they skip
nightly:
    .ci/clients build-cache/clients
    SANITIZER_TEST_CLIENTS=build-cache/clients pytest -m "slow or not slow" --hypothesis-profile nightly

# little of every benchmark; results go to a temporary folder
bench-quick:
    python -m benchmarks all --quick

# run what the documents and the docstrings show
docs:
    pytest -m "slow or not slow" tests/docs sanitizer

# the site, into build-cache/site; links are checked (pip install -e ".[docs]")
site:
    mkdocs build --strict

# the paper as a PDF, build-cache/paper.pdf
paper: site
    python -m tests.docs.paper build-cache/site build-cache/paper.pdf

# what docs/notebook.ipynb shows, made anew
notebook:
    python -m tests.docs.notebook

# everything in a fresh environment, as a reviewer would
ci:
    .ci/run
