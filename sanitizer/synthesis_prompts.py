"""Prompts of a synthesis: templates with fields, the public prompt, and the same with one reference in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Protocol

from sanitizer.chat_format import ChatFormat
from sanitizer.text import ByteTokens

SYSTEM = "You write texts."
TEMPLATE = "{query}\n\nHere is an example:\n\n{reference}\n\nWrite a new text of the same kind."
DEMONSTRATION = "Input: {input}\nOutput: {output}"

Reference = str | Mapping[str, str]


class Prompts(Protocol):
    """The prompts of one text."""

    public: list[int]
    """Reads no reference: what a reference replaced by null comes to."""
    n_public: int
    """Tokens of the longest prompt without its reference."""
    beginning: list[int]
    """What every private prompt begins with, whatever its reference."""
    end: frozenset[int]
    """Tokens at which the text ends."""

    def private(self, reference: Reference, limit: int) -> list[int]:
        """Reads the first tokens of one reference, `limit` at most."""


@dataclass(frozen=True)
class Template:
    """Text with fields in braces; a brace that is text is doubled, as in str.format.

    Attributes:
        parts: (text, name of the field after it, or None at the end) in order.
    """

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Raises ValueError for broken braces, and for fields that are not plain names."""
        _is_str("template", text)
        try:
            parsed = list(Formatter().parse(text))
        except ValueError:
            raise ValueError("template must have its braces in pairs; a brace that is text is doubled") from None
        for _, name, form, conversion in parsed:
            if name is not None and (form or conversion or not name.isidentifier()):
                raise ValueError(f"template fields must be plain names, got {name!r}")
        return cls(tuple((literal, name) for literal, name, _, _ in parsed))

    @property
    def fields(self) -> list[str]:
        """Names in order."""
        return [name for _, name in self.parts if name is not None]

    def filled(self, values: Mapping[str, str]) -> str:
        """The text with its fields replaced."""
        return "".join(text + (values[name] if name is not None else "") for text, name in self.parts)

    def around(self, field: str) -> tuple[Template, Template]:
        """What stands before a field, and after it."""
        at = next(i for i, (_, name) in enumerate(self.parts) if name == field)
        return Template((*self.parts[:at], (self.parts[at][0], None))), Template(self.parts[at + 1 :])


class DocumentPrompts:
    """For whole documents as references: the query is asked, with a document as an example of the answer.

    Args:
        query: not empty. template: of the message with a document, fields {query} and {reference}.

    Raises:
        ValueError: an empty query, unknown fields, or {reference} not exactly once. TypeError: not a string.
    """

    def __init__(self, query: Reference, template: str | None, tokens: ByteTokens) -> None:
        if not isinstance(query, str):
            raise TypeError(f"query must be a str where references are, got {type(query).__name__}")
        if not query.strip():
            raise ValueError("query must not be empty")
        parsed = Template.parse(TEMPLATE if template is None else template)
        if unknown := sorted(set(parsed.fields) - {"query", "reference"}):
            raise ValueError(f"template may have the fields query and reference, got {', '.join(unknown)}")
        if parsed.fields.count("reference") != 1:
            raise ValueError(f"template must have {{reference}} once, got it {parsed.fields.count('reference')} times")
        before, after = parsed.around("reference")
        self._tokens, self._format = tokens, ChatFormat(tokens)
        self._before, self._after = (tokens.encode(part.filled({"query": query})) for part in (before, after))
        self.public, self.end = self._format.prompt(query, SYSTEM), self._format.end
        self.n_public = max(len(self.public), len(self.private("", 0)))
        self.beginning = self._format.beginning(self._before, SYSTEM)

    def private(self, reference: Reference, limit: int) -> list[int]:
        """See `Prompts`."""
        document = self._tokens.encode(str(reference))[:limit]
        return self._format.chat([[*self._before, *document, *self._after]], SYSTEM)


class ShotPrompts:
    """For demonstrations as references: a worked example as an earlier turn of the chat, then the query's own.

    The last field of the template is the one to be generated.

    Args:
        query: values of the other fields; or the value, if there is only one. template: of a demonstration.

    Raises:
        ValueError: fewer than two fields, or fields missing or unknown. TypeError: not strings.
    """

    def __init__(self, query: Reference, template: str | None, tokens: ByteTokens) -> None:
        parsed = Template.parse(DEMONSTRATION if template is None else template)
        self.fields = parsed.fields
        if len(self.fields) < 2 or len(set(self.fields)) < len(self.fields):
            raise ValueError(
                f"template must have two or more fields, each once, got {', '.join(self.fields) or 'none'}"
            )
        self._asking, self._closing = parsed.around(self.fields[-1])
        self._tokens, self._format = tokens, ChatFormat(tokens)
        if isinstance(query, str) and len(self.fields) == 2:
            query = {self.fields[0]: query}
        if isinstance(query, Mapping) and (unknown := sorted(set(query) - set(self.fields[:-1]))):
            raise ValueError(f"query may have the fields {', '.join(self.fields[:-1])}, got {', '.join(unknown)}")
        self._query = self._asked(_checked("query", query, self.fields[:-1]))
        self.public, self.end = self.after([]), self._format.end
        self.n_public = len(self.after([([], [])]))
        self.beginning = self._format.beginning([], SYSTEM)

    def private(self, reference: Reference, limit: int) -> list[int]:
        """See `Prompts`. The input gives way before the output does, which keeps at least half of the limit."""
        return self.after([self.example(reference, limit)])

    def after(self, examples: Sequence[tuple[list[int], list[int]]]) -> list[int]:
        """The query after worked examples, as tokens."""
        return self._format.chat([*(turn for example in examples for turn in example), self._query], SYSTEM)

    def example(self, reference: Reference, limit: int) -> tuple[list[int], list[int]]:
        """Input and output of a worked example as tokens, `limit` at most together."""
        values = _checked("references", reference, self.fields)
        shown = self._asked(values)
        output = self._tokens.encode(values[self.fields[-1]] + self._closing.filled({}))
        output = output[: max(limit - len(shown), limit // 2)]
        return shown[: limit - len(output)], output

    def _asked(self, values: Mapping[str, str]) -> list[int]:
        return self._tokens.encode(self._asking.filled(values).rstrip())


def check_references(references: Sequence[Reference]) -> None:
    """Raises TypeError unless all are strings, or all are mappings."""
    kinds = {str if isinstance(r, str) else Mapping if isinstance(r, Mapping) else type(r) for r in references}
    if len(kinds) > 1 or not kinds <= {str, Mapping}:
        raise TypeError(
            f"references must all be str, or all mappings, got {', '.join(sorted(k.__name__ for k in kinds))}"
        )


def prompts_for(references: Sequence[Reference], query: Reference, template: str | None, tokens: ByteTokens) -> Prompts:
    """For documents if the references are strings, for demonstrations if they are mappings; raises as these do."""
    kind = DocumentPrompts if isinstance(references[0], str) else ShotPrompts
    return kind(query, template, tokens)


def _checked(what: str, values: Reference, fields: Sequence[str]) -> Mapping[str, str]:
    """Raises TypeError or ValueError unless `values` has these fields, as strings; messages show no value."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{what} must have the fields {', '.join(fields)}, got {type(values).__name__}")
    if missing := [name for name in fields if name not in values]:
        raise ValueError(f"{what} must have the template's fields, but {', '.join(missing)} is missing")
    for name in fields:
        _is_str(f"{name} of {what}", values[name])
    return values


def _is_str(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")
