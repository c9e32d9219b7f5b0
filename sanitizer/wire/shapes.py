"""The table of each API: which strings of a document are not text. One file a format.

Every string at a position that is not listed is text: it is sanitized on the way out and restored
on the way back, whether the field is known or not. A section of a table is the shape of an object;
a row of it names what its fields hold:

text       Text: all strings below it, however deep; keys of objects are treated as light.
light      Text in which identifiers are replaced but words are not perturbed, and numbers that are
           identifiers: what developers write for the model to read exactly (descriptions of tools,
           JSON schemas, names of files), parameters of machines (stop, metadata), and keys of
           objects, which schemas name. All below it, however deep.
name       A model, type, role or id: stays as it is, and must look like one (no spaces, no e-mail
           address, no number of a card, an account or a person).
opaque     Bytes of the API's own in base64 or hexadecimal (encrypted reasoning, signatures): stays
           if it looks like that, and says no identifier of these kinds.
keep       A subtree that stays whole: grammars, settings of hosted tools. Refused if an identifier
           of these kinds is in it.
secret     A subtree that stays whatever it holds: credentials and addresses of hosted tools.
arguments  A JSON document in a string: its values are text, its keys light; all of it is text if it
           is not JSON. Numbers that are originals of the conversation are replaced, here and in
           objects with unknown fields.
input      A call's arguments as an object: as arguments, but not in a string.
person     A participant's name: text, but its replacement has no characters that the API forbids in
           names. A name if the role is "tool" or "function".
tokens     Text, or a list of texts; lists of token numbers are text in disguise and refused.
logprobs   Tokens of an answer: stay in answers (placeholders in them are not restored), refused in
           requests.
image, audio, file   No text: refused unless the policy lets them pass.
Shape      An object of this section; a string in its place is text; a list holds several.

Other rows tell of the object itself: `like` (it has the fields of these shapes too), `role` (whose
text it holds), `speaks` (its own role or type says whose), `call` (it calls the tool that its name
says), `string` (what a string in its place is), `types` (value of its type -> shape in its place).
Formats know the shapes of OpenAI's too.

Answers are restored at text, person, arguments and input positions only: what is restored anywhere
else would leave again with the next request.

Numbers beside known fields are parameters, such as a temperature: replaced only if their form or
their name tells an identifier (a card, `customer_number`), and never in `seed`.

Not protected: what occurs at secret positions, what else occurs at opaque, keep and name positions,
numbers that are no identifiers, and words (not identifiers) at light positions.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from importlib.resources import files
from typing import Any

from sanitizer.wire.endpoints import Endpoint


class Rule(Enum):
    """What happens to the strings at a position; the module's docstring explains each member."""

    TEXT = auto()
    LIGHT = auto()
    NAME = auto()
    OPAQUE = auto()
    KEEP = auto()
    SECRET = auto()
    ARGUMENTS = auto()
    INPUT = auto()
    PERSON = auto()
    TOKENS = auto()
    LOGPROBS = auto()
    IMAGE = auto()
    AUDIO = auto()
    FILE = auto()


@dataclass(frozen=True, eq=False)
class JsonShape:
    """An object with known fields.

    Attributes:
        role: whose text it holds; "" for that of the object around it.
        speaks: the object's own role or type says whose text it holds.
        is_call: the object is a call of the tool that its "name" says.
        string: rule for a string in place of the object.
        fields: key -> rule; other keys hold text.
        types: value of "type" -> shape of an object of this type, in place of this one.
    """

    role: str = ""
    speaks: bool = False
    is_call: bool = False
    string: Rule = Rule.TEXT
    fields: dict[str, Rule | JsonShape] = field(default_factory=dict)
    types: dict[str, JsonShape] = field(default_factory=dict)


_RULES = {rule.name.lower(): rule for rule in Rule}
_OF_OBJECT = frozenset(["like", "role", "speaks", "call", "string", "types"])
"""Rows of a section that are no fields."""


def request_shape(endpoint: Endpoint) -> JsonShape:
    """Return the shape of an endpoint's requests."""
    return shapes(endpoint.format)[f"request.{endpoint.name}"]


def answer_shape(endpoint: Endpoint) -> JsonShape:
    """Return the shape of an endpoint's whole answers."""
    return shapes(endpoint.format)[f"answer.{endpoint.name}"]


@cache
def shapes(format_name: str) -> dict[str, JsonShape]:
    """Return the shapes of a format by the names of their sections."""
    table = files(__package__).joinpath("formats", f"{format_name}.toml").read_text("utf-8")
    content = tomllib.loads(table)
    both = content.pop("spellings", 1) == 2
    sections = dict(_sections(content))
    shared = {} if format_name == "openai" else shapes("openai")
    found = shared | {
        name: JsonShape(
            row.get("role", ""),
            row.get("speaks", False),
            row.get("call", False),
            _RULES[row.get("string", "text")],
        )
        for name, row in sections.items()
    }

    def fields(name: str) -> Iterator[tuple[str, Rule | JsonShape]]:
        row = sections[name]
        for other in row.get("like", "").split():
            is_own = other in sections and other != name
            yield from fields(other) if is_own else shared[other].fields.items()
        for kind in row.keys() - _OF_OBJECT:
            rule = _RULES.get(kind) or found[kind]
            for each in row[kind].split():
                yield each, rule
                if both:
                    yield re.sub("[A-Z]", lambda m: "_" + m[0].lower(), each), rule

    for name, row in sections.items():
        found[name].fields.update(fields(name))
        types = row.get("types", {})
        types = sections[types]["types"] if isinstance(types, str) else types
        found[name].types.update((t, found[k]) for k, each in types.items() for t in each.split())
    return found


def _sections(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, section in content.items():
        if name in ("request", "answer"):
            yield from ((f"{name}.{endpoint}", row) for endpoint, row in section.items())
        else:
            yield name, section
