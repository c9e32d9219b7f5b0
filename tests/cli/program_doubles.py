"""Doubles of the programs that `sanitizer run` knows: each finds its API as the real one does.

Run under the program's name: `codex exec TEXT`. It sends TEXT to the API it found, then tries its
vendor's own host, as programs do that report their use. Connections to other machines go to a
listener on this one that plays the vendors' hosts ($VENDORS), so that every knock is seen.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import httpx

_connect = socket.create_connection


def _to_the_listener(address: tuple[str, int], *args: Any, **kwargs: Any) -> socket.socket:
    is_here = address[0] in ("127.0.0.1", "localhost")
    place = address if is_here else ("127.0.0.1", int(os.environ["VENDORS"]))
    return _connect(place, *args, **kwargs)


socket.create_connection = cast("Any", _to_the_listener)
NAME, FLAGS, TEXT = Path(sys.argv[0]).name, sys.argv[1:-1], sys.argv[-1]


def flag(name: str, of: str = "") -> str:
    """Return what follows a flag, the last one that begins with `of`."""
    values = [value for key, value in pairwise(FLAGS) if key == name and value.startswith(of)]
    return values[-1].removeprefix(of) if values else ""


def variable(name: str, otherwise: str) -> str:
    return os.environ.get(name) or otherwise


OPENAI, ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com"
GEMINI = "https://generativelanguage.googleapis.com"


def codex() -> str:
    provider = flag("-c", "model_provider=").strip('"')
    table = flag("-c", f"model_providers.{provider}=")
    found = re.search(r'base_url="([^"]*)"', table)
    return (found[1] if found else OPENAI) + "/responses"


def claude() -> str:
    settings = json.loads(flag("--settings") or "{}")
    own = settings.get("env", {}).get("ANTHROPIC_BASE_URL")
    return (own or variable("ANTHROPIC_BASE_URL", ANTHROPIC)) + "/v1/messages"


def gemini() -> str:
    base = variable("GOOGLE_GEMINI_BASE_URL", GEMINI)
    return f"{base}/v1beta/models/gemini-3:generateContent"


def opencode() -> str:
    inline = json.loads(variable("OPENCODE_CONFIG_CONTENT", "{}"))
    own = inline.get("provider", {}).get("anthropic", {}).get("options", {}).get("baseURL")
    return (own or ANTHROPIC + "/v1") + "/messages"


def aider() -> str:
    return (flag("--openai-api-base") or "http://from-dotenv.invalid/v1") + "/chat/completions"


def llm() -> str:
    return variable("OPENAI_BASE_URL", OPENAI) + "/chat/completions"


def ollama() -> str:
    return variable("OLLAMA_HOST", "http://127.0.0.1:11434") + "/api/chat"


def careless() -> str:
    return OPENAI + "/chat/completions"


BODIES = {
    "codex": {"model": "m", "input": TEXT},
    "claude": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": TEXT}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": TEXT}]}]},
    "llm": {"model": "m", "messages": [{"role": "user", "content": TEXT}], "stream": False},
}
BODIES["opencode"] = BODIES["claude"]
BODIES["aider"] = BODIES["ollama"] = BODIES["careless"] = BODIES["llm"]

for url in (globals()[NAME](), "https://api.openai.com/v1/traces", "http://claude.ai/report"):
    try:
        said = httpx.post(url, json=BODIES[NAME], timeout=20).text
    except httpx.HTTPError as error:
        said = type(error).__name__
    sys.stdout.write(f"{said}\n")
