"""The extractor behind an address: a model server on this machine that speaks OpenAI's API."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx

from sanitizer.addresses import check_base_url, is_loopback
from sanitizer.extractor import NotExtracted
from sanitizer.extractor_lm import INSTRUCTIONS, SYSTEM

MAX_BYTES = 2_000_000


class RemoteExtractor:
    """Asks a server for the answer to the original prompt, with the noisy answer as its material.

    It is sent the ORIGINAL words of the prompt (placeholders stand for identifiers), so it must be on this machine.
    No redirect is followed, and no proxy of the environment is used. Implements `Extractor`; serves many threads.

    Args:
        url: base URL, such as "http://127.0.0.1:8080/v1".
        model: name of the model, for servers that hold several.
        timeout: seconds for the whole answer.
        trusted_extractor_host: allow a host that is not this machine: original prompts are sent there.

    Raises:
        ValueError: no such URL, a host that is not this machine, or a timeout that is not above 0.
    """

    def __init__(
        self, url: str, *, model: str = "local", timeout: float = 120.0, trusted_extractor_host: bool = False
    ) -> None:
        host = check_base_url("extractor", url)
        if not (is_loopback(host) or trusted_extractor_host):
            raise ValueError(
                "extractor must be a server on this machine, such as http://127.0.0.1:8080/v1: it is sent the original "
                "prompt (trusted_extractor_host=True allows another)"
            )
        if not timeout > 0:
            raise ValueError(f"timeout must be above 0, got {timeout!r}")
        self._url, self._model, self._timeout = url.rstrip("/") + "/chat/completions", model, timeout

    def load(self) -> None:
        """See `Extractor.load`: the server is asked when an answer comes."""

    def rewrite(self, prompt: str, draft: str) -> Iterator[str]:
        """See `Extractor.rewrite`. The answer comes in one piece."""
        asked = INSTRUCTIONS.format(prompt=prompt, draft=draft)
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]
        body = {"model": self._model, "messages": messages, "temperature": 0, "stream": False}
        try:
            yield _said(self._post(body))
        except httpx.HTTPError as error:  # its message may hold the address only
            raise NotExtracted(f"the extractor's server could not be asked ({type(error).__name__})") from None

    def _post(self, body: object) -> bytes:
        """What the server answers, if that is bounded in size and time."""
        ends = time.monotonic() + self._timeout
        received = bytearray()
        headers = {"accept-encoding": "identity"}
        with (
            httpx.Client(trust_env=False, follow_redirects=False, timeout=self._timeout) as client,
            client.stream("POST", self._url, json=body, headers=headers) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise NotExtracted(f"the extractor's server answered with status {response.status_code}")
            for piece in response.iter_raw():
                received += piece
                if len(received) > MAX_BYTES or time.monotonic() > ends:
                    raise NotExtracted("the extractor's server answered with too much, or too slowly")
        return bytes(received)


def _said(body: bytes) -> str:
    """The text of a chat's first choice."""
    try:
        text = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise NotExtracted("the extractor's server answered with something that is no chat completion")
    return text.strip()
