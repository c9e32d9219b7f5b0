"""Replicas of the proxy as processes that can be killed, and writers that ask them."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

import sanitizer
from tests.proxy.servers import Upstream
from tests.storage.postgres_server import PostgresServer

KEY = "a-made-up-key-of-a-tenant"
STORE_KEY = "a made up key of the store"
EPSILON = 4.123456789
"""Of each draw: a sum that is off by one nano-epsilon shows."""
POLICY = f"""
[wire]
note = false  # the API repeats what it gets
[mechanism]
name = "cape"
epsilon = {EPSILON}
"""
CONDITIONS = ("hepatitis", "asthma", "epilepsy", "lupus", "gout")
PEOPLE = ("Peter Lund", "Mary Stone", "Ivan Petrov")
GIVE_UP_SECONDS, START_SECONDS = 60.0, 240.0
ROOT = Path(sanitizer.__file__).parent.parent


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@dataclass
class Replica:
    """One command of the proxy, always on the same port, with one worker or several."""

    port: int
    config: Path
    folder: Path
    workers: int = 1
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "sanitizer", "serve", "--config", str(self.config)]
        options = ["--port", str(self.port), "--workers", str(self.workers)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen([*command, *options], stderr=log, stdout=log, cwd=ROOT)

    def kill(self) -> None:
        """End the whole command at once, its workers too."""
        assert self.process is not None
        for number in [self.process.pid, *self.running()]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()

    def is_ready(self) -> bool:
        with suppress(httpx.HTTPError):
            url = f"http://127.0.0.1:{self.port}/readyz"
            return httpx.get(url, timeout=3, trust_env=False).status_code == 200
        return False

    def running(self) -> list[int]:
        """Processes of the workers, those that began first before others."""
        if self.process is None or self.process.poll() is not None or self.workers == 1:
            return []
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in path.read_text().split()]

    def n_announced(self) -> int:
        """How many workers ever served."""
        return self._log.read_text().count("sanitizer: http")

    @property
    def _log(self) -> Path:
        return self.folder / f"log-{self.port}"


def configured(server: PostgresServer, up: Upstream, folder: Path) -> Path:
    """The configuration of one tenant with a store on a server."""
    (folder / "policy.toml").write_text('base = "guarded"\n' + POLICY)
    (folder / "key").write_text(KEY)
    (folder / "store-key").write_text(STORE_KEY)
    (folder / "url").write_text(server.url)
    config = folder / "replicas.toml"
    config.write_text(
        f"""
[storage]
url = "file:{folder / "url"}"
key = "file:{folder / "store-key"}"
connections = 4
seconds = 5.0
[audit]
to = "database"
[upstreams.echo]
url = "{up.url}"
[[tenants]]
name = "ada"
policy = "policy.toml"
keys = ["sha256:{hashlib.sha256(KEY.encode()).hexdigest()}"]
scopes = ["user:ada", "team:legal", "day"]
budget = 1000000.0
"""
    )
    return config


@contextmanager
def replicas(
    server: PostgresServer, up: Upstream, folder: Path, count: int, workers: int = 1
) -> Iterator[list[Replica]]:
    """Replicas that share a store, with one tenant, all of them ready."""
    config = configured(server, up, folder)
    made = [Replica(free_port(), config, folder, workers) for _ in range(count)]
    try:
        for each in made:
            each.start()
        end = time.monotonic() + START_SECONDS
        while not all(each.n_announced() == workers and each.is_ready() for each in made):
            assert time.monotonic() < end, logs(folder)
            time.sleep(0.2)
        yield made
    finally:
        for each in made:
            if each.process is not None:
                each.kill()


def logs(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.glob("log-*"))


@dataclass
class Tally:
    """What happened to requests.

    Attributes:
        outcomes: status of the last answer, or "lost" if no replica ever gave one.
        broken: attempts that ended without an answer, and were repeated at another replica.
        charged: sum of what the answers said they were charged, in nano-epsilon.
        seconds: of each request, retries included.
        conversations: names of all that were asked in.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    charged: int = 0
    seconds: list[float] = field(default_factory=list)
    conversations: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Writer(threading.Thread):
    """Asks one replica after the other, as a client behind a balancer does, until told to end."""

    def __init__(self, number: int, ports: list[int], tally: Tally, stop: threading.Event) -> None:
        super().__init__()
        self._random = random.Random(number)
        self._ports = ports
        self._tally = tally
        self._ended = stop

    def run(self) -> None:
        with httpx.Client(timeout=20, trust_env=False) as client:
            round_ = 0
            while not self._ended.is_set():
                round_ += 1
                # Few conversations, so that writers meet in them; new ones as time goes by.
                conversation = f"c{round_ // 6 * 2 + self._random.randrange(3)}"
                condition = self._random.choice(CONDITIONS)
                person = self._random.choice(PEOPLE)
                self._ask_until_answered(client, conversation, person, condition)

    def _ask_until_answered(
        self, client: httpx.Client, conversation: str, person: str, condition: str
    ) -> None:
        text = f"My friend {person} has {condition} and lives in Leeds."
        body = {
            "model": f"{conversation}.{person[0]}.{condition[0]}",
            "messages": [{"role": "user", "content": text}],
        }
        headers = {"authorization": f"Bearer {KEY}", "sanitizer-conversation": conversation}
        begin, outcome = time.monotonic(), "lost"
        with self._tally.lock:
            self._tally.conversations.add(conversation)
        while time.monotonic() - begin < GIVE_UP_SECONDS:
            port = self._random.choice(self._ports)
            try:
                url = f"http://127.0.0.1:{port}/v1/chat/completions"
                answer = client.post(url, json=body, headers=headers)
            except httpx.HTTPError:
                with self._tally.lock:
                    self._tally.broken += 1
                time.sleep(0.05)
                continue
            outcome = str(answer.status_code)
            if answer.status_code == 200:
                said = answer.json()["choices"][0]["message"]["content"]
                if said != f"You wrote: {text}":
                    outcome = "wrong"
                with self._tally.lock:
                    charged = float(answer.headers["sanitizer-charged"])
                    self._tally.charged += round(charged * 10**9)
            break
        with self._tally.lock:
            self._tally.outcomes[outcome] += 1
            self._tally.seconds.append(time.monotonic() - begin)


class Killer:
    """Kills processes of the proxy that serve, never the last one that does.

    Args:
        made: replicas of one worker each, or a single one of several.
    """

    def __init__(self, made: list[Replica]) -> None:
        self._made = made
        self._chooser = random.Random(2026)
        self.n_killed = 0

    def kill_one(self) -> None:
        if self._made[0].workers > 1:
            self._kill_worker(self._made[0])
        else:
            self._kill_replica()

    def _kill_worker(self, replica: Replica) -> None:
        """Kill the worker that serves for the longest time; its command begins another."""
        if replica.n_announced() - self.n_killed > 1:
            os.kill(replica.running()[0], signal.SIGKILL)
            self.n_killed += 1

    def _kill_replica(self) -> None:
        ready = [each for each in self._made if each.is_ready()]
        if len(ready) > 1:
            victim = self._chooser.choice(ready)
            victim.kill()
            victim.start()
            self.n_killed += 1


def killed_while_written(
    server: PostgresServer, made: list[Replica], n_writers: int, seconds: float
) -> tuple[Tally, int]:
    """Let writers ask while a process is killed every second and the database restarted once.

    It goes on for a while if nothing was answered in time: a busy machine takes long to start both.

    Returns what happened, and how many were killed.
    """
    tally, stop, killer, restarted = Tally(), threading.Event(), Killer(made), False
    ports = [each.port for each in made]
    writers = [Writer(number, ports, tally, stop) for number in range(n_writers)]
    for writer in writers:
        writer.start()
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < seconds or (
        passed < seconds + GIVE_UP_SECONDS and not tally.outcomes["200"]
    ):
        if passed > seconds / 2 and not restarted:
            restarted = True
            server.stop()
            server.start()
        killer.kill_one()
        time.sleep(max(0.0, 1.0 - (time.monotonic() - begin - passed)))
    stop.set()
    for writer in writers:
        writer.join(2 * GIVE_UP_SECONDS)
        assert not writer.is_alive()
    return tally, killer.n_killed


def released(up: Upstream) -> dict[str, set[str]]:
    """Model, which names conversation, person and condition -> the texts that left for it."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in list(up.requests):
        found[each.json()["model"]].add(each.said())
    return found
