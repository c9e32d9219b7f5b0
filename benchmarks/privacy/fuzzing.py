"""Random and mutated request bodies through the filter, with identifiers at every position.

    python -m benchmarks.privacy.fuzzing [--quick] [--bodies N] [--seed FIRST] [--policy NAME]

For each body either a request comes out or a declared error. Of a request: it is one JSON object of
the same structure, no planted identifier of the conversation is in it, as written, unescaped,
decoded or as a number, and it is the same when it is sent again. Of an error: it quotes nothing. In
bodies whose bytes were damaged, what a cut glued to other letters is left out.
Half of the bodies hold kinds that are sure by their form, at positions of names too, and most of
these are mutated; the others hold keys, addresses of networks and telephone numbers as well, where
text or parameters of machines stand.

Bodies come in blocks of 2,000, each with a seed of its own, and a block's counts are added to
results/fuzzing.json when it ends. Blocks that are in the file already are not run again, so a run
that was stopped goes on; the file names the circumstances of the last block. A fault ends its block
and is noted with seed and number; the block counts only when it was run again without one.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from html import unescape
from itertools import islice
from time import process_time
from typing import Any
from urllib.parse import unquote

from benchmarks.common.machine import output_folder, parser, say, write
from benchmarks.privacy.bodies import ENDPOINTS, Bodies, Planted
from sanitizer import Sanitizer
from sanitizer.errors import RequestRefused, SanitizerError
from sanitizer.storage.vault import MemoryVault
from sanitizer.wire.filter import Exchange, Filter
from sanitizer.wire.headers import sent_headers

JSON = {"content-type": "application/json"}
BLOCK = 2_000
"""Bodies of one seed."""
EVERY_HEADER, EVERY_AGAIN = 4, 10
"""Of how many bodies one is tried in a header, and one is sent again."""
IN_A_CONVERSATION = 20
"""Bodies of one conversation: what one of them planted may not leave with a later one."""
REASONS = frozenset(
    "audio file header image json structure tokens size embeddings policy language".split()
)
"""Why a request may be refused."""
_TOKEN = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_APART_FORM = r"(?<![\w.+=/%-]){}(?![\w.+=/%@-])"
_APART = re.compile(r"[\s.-]+")


class Fault(AssertionError):
    """What must not happen; the message quotes no identifier."""


class Once(dict[str, Any]):
    """An object of JSON whose keys are different."""


def _once(pairs: list[tuple[str, Any]]) -> Once:
    found = Once(pairs)
    if len(found) != len(pairs):
        raise Fault("an object has a key twice")
    return found


def strings(document: Any) -> Iterator[str]:
    """Yield keys, strings and the spelling of numbers, of JSON in strings too."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from strings(value)
    elif isinstance(document, list):
        for value in document:
            yield from strings(value)
    elif isinstance(document, str):
        yield document
        if document[:1] in ("{", "[", '"'):
            with suppress(ValueError, RecursionError):
                yield from strings(json.loads(document))
    elif document is not None and not isinstance(document, bool):
        yield str(document)


def seeds(document: Any) -> Iterator[int]:
    """Yield the numbers that stand as `seed`."""
    if isinstance(document, dict):
        if isinstance(document.get("seed"), int):
            yield document["seed"]
        document = list(document.values())
    if isinstance(document, list):
        for value in document:
            yield from seeds(value)


@lru_cache(maxsize=50_000)
def readings(text: str) -> tuple[str, ...]:
    """Return a text as it is, unescaped, normalized, and what its tokens say when decoded."""
    return tuple(_readings(text))


def _readings(text: str) -> Iterator[str]:
    yield text
    for read in (unquote(text), unescape(text), unicodedata.normalize("NFKC", text)):
        if read != text:
            yield read
    for match in _TOKEN.finditer(text):
        token = match.group()
        for decode in (_base64, _hex):
            if (plain := decode(token)) is not None:
                yield plain


def _base64(token: str) -> str | None:
    body = token.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None


def _hex(token: str) -> str | None:
    try:
        return bytes.fromhex(token).decode("ascii")
    except ValueError:
        return None


def forms(planted: Iterable[Planted]) -> dict[str, str]:
    """Return how each identifier could be seen: as written, and for numbers without signs."""
    found = {}
    for each in planted:
        found[each.text] = each.kind
        if each.kind in ("CARD", "IBAN"):
            found[_APART.sub("", each.text)] = each.kind
    return found


def leaks(wanted: dict[str, str], texts: Iterable[str], apart: bool) -> Iterator[str]:
    """Yield the kinds of what can be seen in some texts.

    Args:
        apart: only where no letter, digit or sign of numbers touches it.
    """
    whole = "\n".join(read for text in texts for read in readings(text))
    for form, kind in wanted.items():
        if form in whole and (not apart or re.search(_APART_FORM.format(re.escape(form)), whole)):
            yield kind


def without_formulas(preset: str) -> dict[str, Any]:
    """Return a preset under which requests keep their structure: no system prompt is added."""
    return {"base": preset, "wire": {"formulas": False}}


def check_structure(before: Any, after: Any) -> None:
    """Raise Fault unless a document has the structure of another; numbers may be strings."""
    if isinstance(before, dict):
        if not isinstance(after, dict) or len(before) != len(after):
            raise Fault("an object changed")
        for (key, one), two in zip(before.items(), after.values(), strict=True):
            check_structure(one, two)
            if key == "arguments" and "name" in before and isinstance(one, str):
                _check_inner(one, two)
    elif isinstance(before, list):
        if not isinstance(after, list) or len(before) != len(after):
            raise Fault("a list changed")
        for one, two in zip(before, after, strict=True):
            check_structure(one, two)
    elif isinstance(before, str):
        if not isinstance(after, str):
            raise Fault("a string changed its type")
    elif before is None or isinstance(before, bool):
        if after is not before:
            raise Fault("a constant changed")
    elif not isinstance(after, str) and repr(after) != repr(before):
        raise Fault("a number changed")


def _check_inner(before: str, after: str) -> None:
    """Raise Fault if JSON in a string is none any more."""
    if before[:1] not in "{[" or after == before:
        return
    try:
        json.loads(before)
    except (ValueError, RecursionError):
        return
    try:
        json.loads(after)
    except ValueError:
        raise Fault("JSON in a string is none any more") from None


class Fuzzer:
    """Sends bodies through filters and counts what happens.

    Args:
        sanitizer: of the policy; each conversation is derived from it.
        bodies: where bodies come from.
    """

    def __init__(self, sanitizer: Sanitizer, bodies: Bodies) -> None:
        self._first, self._bodies = sanitizer, bodies
        self.counts: Counter[str] = Counter()
        self._start()

    def _start(self) -> None:
        self._n = 0
        name = f"c{self.counts['bodies']}"
        vault = MemoryVault(max_entries=100_000)
        self._filter = Filter(self._first.derive(conversation=name, vault=vault))
        self._wanted: dict[str, str] = {}

    def run(self, n: int) -> None:
        """Send n bodies.

        Raises:
            Fault: something must not have happened.
        """
        for body in islice(self._bodies, n):
            if self._n == IN_A_CONVERSATION:
                self._start()
            self._n += 1
            self._wanted |= forms(body.planted)
            self.counts["bodies"] += 1
            self.counts["planted"] += len(body.planted)
            self.counts["mutated"] += body.mutated
            self._one(body.path, *self._bodies.spelled(body.document))
            if self.counts["bodies"] % EVERY_HEADER == 0:
                self._header(body.planted)

    def _one(self, path: str, raw: bytes, damaged: bool) -> None:
        try:
            exchange = self._filter.request("POST", path, JSON, raw)
        except SanitizerError as error:
            self._refused(error)
            return
        except Exception as error:
            raise Fault(f"{type(error).__name__} is no declared error") from error
        self.counts["sent"] += 1
        self._sent(raw, exchange, damaged)
        if self.counts["bodies"] % EVERY_AGAIN == 0:
            again = self._filter.request("POST", path, JSON, raw)
            if again.body != exchange.body:
                raise Fault("a request that is sent again is another one")
            self.counts["sent again"] += 1

    def _refused(self, error: SanitizerError) -> None:
        reason = error.reason if isinstance(error, RequestRefused) else type(error).__name__
        self.counts[f"refused: {reason}"] += 1
        self.counts["refused"] += 1
        if isinstance(error, RequestRefused) and reason not in REASONS:
            raise Fault("a refusal has an unknown reason")
        self._check(f"a {reason} error", [str(error), repr(error), str(error.__context__)])

    def _sent(self, raw: bytes, exchange: Exchange, damaged: bool) -> None:
        try:
            after = json.loads(exchange.body, object_pairs_hook=_once)
        except ValueError:
            raise Fault("what leaves is no JSON") from None
        before = json.loads(raw)
        check_structure(before, after)
        # A seed of randomness is never replaced (docs/threat-model.md): a mutation put one there.
        told = {str(number) for number in seeds(before)}
        self._check("a body", [exchange.body.decode(), *strings(after)], damaged, told)
        self._check(
            "the record", [json.dumps(exchange.record.as_dict()), str(exchange.record.headers())]
        )

    def _header(self, planted: Iterable[Planted]) -> None:
        """Put an identifier of a sure kind into a header: it is refused."""
        for each in planted:
            if each.kind in ("CARD", "EMAIL", "IBAN", "SSN"):
                try:
                    sent_headers([("X-Request-Note", f"for {each.text}")])
                except RequestRefused as error:
                    self._check("a header's error", [str(error)])
                    self.counts["headers refused"] += 1
                    return
                raise Fault("a header with an identifier left")

    def _check(
        self,
        where: str,
        texts: Iterable[str],
        damaged: bool = False,
        told: Collection[str] = frozenset(),
    ) -> None:
        wanted = self._wanted
        if told:
            wanted = {form: kind for form, kind in wanted.items() if form not in told}
        for kind in leaks(wanted, texts, damaged):
            raise Fault(f"an identifier ({kind}) is in {where}")


def fuzzed(
    sanitizer: Sanitizer, n: int, seed: int, endpoints: tuple[str, ...] = ENDPOINTS
) -> Counter[str]:
    """Send n bodies; return the counts.

    Raises:
        Fault: something must not have happened.
    """
    fuzzer = Fuzzer(sanitizer, Bodies(seed, endpoints))
    fuzzer.run(n)
    return fuzzer.counts


def block(sanitizer: Sanitizer, seed: int) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Send a block of bodies; return the counts, and the fault that ended it, if one did."""
    fuzzer, faults = Fuzzer(sanitizer, Bodies(seed)), []
    try:
        fuzzer.run(BLOCK)
    except Fault as fault:
        faults = [{"seed": seed, "body": fuzzer.counts["bodies"], "fault": str(fault)}]
    return fuzzer.counts, faults


def main() -> None:
    """Fuzz, and add to results/fuzzing.json.

    Raises:
        SystemExit: a block ended with a fault.
    """
    line = parser(__doc__, "10,000 bodies")
    line.add_argument("--bodies", type=int, default=1_000_000, help="how many, in blocks")
    line.add_argument("--policy", default="identifiers", help="name of a preset")
    line.add_argument("--seed", type=int, default=1, help="of the first block; the rest follow")
    options = line.parse_args()
    n = -(-(min(options.bodies, 10_000) if options.quick else options.bodies) // BLOCK)
    sanitizer = Sanitizer(policy=without_formulas(options.policy))
    path = output_folder() / "fuzzing.json"
    found: dict[str, Any] = {
        "policy": options.policy, "seeds": [], "cpu_seconds": 0.0, "faults": [], "counts": {}
    }  # fmt: skip
    if path.exists():
        kept = json.loads(path.read_text("utf-8"))["results"]
        found = kept if kept["policy"] == options.policy else found
    n_faults = 0
    for seed in sorted(set(range(options.seed, options.seed + n)) - set(found["seeds"])):
        begin = process_time()
        counts, faults = block(sanitizer, seed)
        n_faults += len(faults)
        found["faults"] = [each for each in found["faults"] if each["seed"] != seed] + faults
        if not faults:
            found["seeds"] = sorted([*found["seeds"], seed])
            found["cpu_seconds"] = round(found["cpu_seconds"] + process_time() - begin, 1)
            found["counts"] = dict((Counter(found["counts"]) + counts).most_common())
        write("fuzzing", found)
        say(f"{found['counts'].get('bodies', 0):,} bodies, {len(found['faults'])} faults")
    if n_faults:
        raise SystemExit(f"{n_faults} blocks ended with a fault")


if __name__ == "__main__":
    main()
