"""How code, JSON, YAML, tables, shell and markup are cut into roles, and their fixed sets of words.

Every function here takes offsets of a text, reads no further, and takes linear time. Guarantee: as
in syntax.py, which finds the regions.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Literal

Role = Literal["keyword", "name", "string", "comment", "number", "tag", "text"]
Found = tuple[int, int, Role]


_WORDS = {
    language: {name: words.split() for name, words in table.items()}
    for language, table in tomllib.loads(
        files("sanitizer.text").joinpath("code_words.toml").read_text("utf-8")
    ).items()
}


def _of(name: str) -> dict[str, frozenset[str]]:
    """Return language -> its words of one kind."""
    return {language: frozenset(kinds.get(name, ())) for language, kinds in _WORDS.items()}


_KEYWORDS = _of("keywords")
LIBRARY = _of("library")
"""Names of well-known libraries by language."""
TAGS = frozenset(_WORDS["html"]["tags"])
"""Tags of HTML."""
VOID = frozenset(_WORDS["html"]["void"])
"""Tags of HTML that are never closed."""
TAGGED = {tag: language for language, tags in _of("fences").items() for tag in tags}
"""Tag of a fenced block -> the language."""

WORD = "[0-9A-Za-z_\u00a1-\u1fff\u2070-\u2fff\u3001-\U0010ffff]"
"""A character of a word: wider than a letter, so that no rare script is taken for layout."""
_NUMBER = rf"(?:(?<![\w)\]}}])\.)?\d[\d_]*+(?!{WORD})(?:\.{WORD}++)*+(?:(?<=[\d.][eE])[+-]\d++)?"
LINE = re.compile(r"[^\n]*+\n?")
_ATOM = re.compile(rf"{WORD}++")
_SCALAR = re.compile(r"[-+]?+\d[\d_.,:/%-]*+")
_ESCAPE = re.compile(rf"\\(?:[abfnrtv0]|(?!{WORD}).)", re.S)
_F_HOLE = re.compile(r"\{\{|\{([^{}]*+)\}")
_JS_HOLE = re.compile(r"\$\{([^{}]*+)\}")
_PREFIXES = frozenset("r b f u rb br fr rf R B F U".split())


def _body(quote: str, more: str = "", escape: str = r"\\.") -> re.Pattern[str]:
    """Return the pattern of what follows an opening quote, up to the closing one or the end."""
    plain = rf"[^{quote}\\{more}]*+"
    return re.compile(rf"{plain}(?:(?:{escape}){plain})*+", re.S)


_DOUBLE, _SINGLE = _body('"', r"\n"), _body("'", r"\n")
_SQL_QUOTED = {q: re.compile(f"[^{q}]*+(?:{q}{q}[^{q}]*+)*+") for q in "'\"`"}
_TRIPLE = {q * 3: _body(q, "", rf"\\.|{q}(?!{q}{q})") for q in "'\""}
_LINE_QUOTES = {'"': _DOUBLE, "'": _SINGLE}


@dataclass(frozen=True)
class _Lexer:
    """How one language is cut: its comments, its quotes, and what follows a key of its data."""

    language: str
    comment: str
    quotes: dict[str, re.Pattern[str]]
    key: re.Pattern[str] | None = None
    bare: str = rf"{WORD}++"
    plain: Role = "name"
    names: str = ""
    head: str = r"(?!)"

    def token(self) -> re.Pattern[str]:
        """Return the pattern that finds the next token."""
        quote = "|".join(sorted(self.quotes, key=len, reverse=True))
        number = r"(?!)" if self.key else _NUMBER
        return re.compile(
            rf"(?P<head>{self.head})|(?P<comment>{self.comment})|(?P<quote>{quote})"
            rf"|(?P<number>{number})|(?P<bare>{self.bare})",
            re.S | re.M,
        )


_HASH, _SLASH = r"#[^\n]*+", r"//[^\n]*+|/\*.*?(?:\*/|\Z)"
_SHELL_QUOTES = {"'": re.compile(r"[^']*+"), '"': _body('"')}
_JSON = partial(_Lexer, comment=_SLASH, quotes=_LINE_QUOTES, bare=rf"(?:{WORD}|[-+.])++")
_LEXERS = {
    lexer.language: lexer
    for lexer in [
        _Lexer("python", _HASH, _LINE_QUOTES | _TRIPLE),
        _Lexer("javascript", _SLASH, _LINE_QUOTES | {"`": _body("`")}),
        _Lexer("other", rf"{_SLASH}|#(?=\s)[^\n]*+", _LINE_QUOTES),
        _Lexer("sql", r"--[^\n]*+|/\*.*?(?:\*/|\Z)", _SQL_QUOTED, names='"`'),
        _Lexer("shell", r"(?<!\S)#[^\n]*+", _SHELL_QUOTES),
        _JSON("json", key=re.compile(r"\s*+:"), plain="number"),
        _Lexer("yaml", r"(?<!\S)#[^\n]*+", _LINE_QUOTES, plain="string"),  # its flow collections
        _Lexer(
            "toml",
            _HASH,
            _LINE_QUOTES | _TRIPLE,
            key=re.compile(r"[ \t]*+="),
            bare=rf"(?:{WORD}|[-+.:])++(?:[ ]\d++:(?:{WORD}|[-+.:])++)?",
            plain="number",
            head=r"^[ \t]*+\[\[?+[^\]\n,=]*+\]\]?[ \t\r]*$",
        ),
    ]
}


@cache
def _token(language: str) -> re.Pattern[str]:
    """Return the pattern of a language's next token: each takes a hundredth of a second to make."""
    return _LEXERS[language].token()


def is_keyword(word: str, language: str) -> bool:
    """Return True for a keyword; those of SQL are written in lower case or in capitals.

    Not as in "Grant": a capitalized word may be a name, and must be read as any other.
    """
    known = _KEYWORDS[language]
    return word in known or (language == "sql" and word.isupper() and word.lower() in known)


def _tokens(text: str, start: int, end: int, language: str) -> Iterator[Found]:
    """Yield the pieces of code, JSON, TOML, SQL or shell."""
    lexer = _LEXERS[language]
    token = _token(language)
    prefix, at = "", start
    while match := token.search(text, at, end):
        at, kind, word = match.end(), match.lastgroup, match.group()
        if kind == "quote":
            begin, stop = at, lexer.quotes[word].match(text, at, end).end()  # type: ignore[union-attr]
            at = min(end, stop + len(word))
            named = word in lexer.names or (lexer.key and lexer.key.match(text, at, end))
            role: Role = "name" if named else "string"
            yield from _string(text, begin, stop, role, _holes(prefix, word), language)
        elif kind == "comment":
            yield match.start(), at, "comment"
        elif kind == "number":
            yield match.start(), at, "number"
        elif kind == "head" or (lexer.key and lexer.key.match(text, at, end)):
            for part in _ATOM.finditer(text, match.start(), at):
                yield part.start(), part.end(), "name"
        else:
            quoted = language == "python" and word in _PREFIXES and text[at : at + 1] in ('"', "'")
            known = quoted or is_keyword(word, language)
            if known or lexer.key is None or _ATOM.search(word):
                yield match.start(), at, "keyword" if known else lexer.plain
            prefix = word if quoted else ""
            continue
        prefix = ""


def _holes(prefix: str, quote: str) -> re.Pattern[str] | None:
    """Return the pattern of the code inside a string, or None."""
    if "f" in prefix.lower():
        return _F_HOLE
    return _JS_HOLE if quote == "`" else None


def _string(
    text: str, start: int, end: int, role: Role, holes: re.Pattern[str] | None, language: str
) -> Iterator[Found]:
    """Yield the pieces of a string: its text, its escapes, and the code in its holes."""
    if holes is None or language == "sql":
        yield from _split(text, start, end, role, None if language == "sql" else _ESCAPE)
        return
    at = start
    for hole in holes.finditer(text, start, end):
        if hole.group(1) is None:
            continue
        yield from _split(text, at, hole.start(), role, _ESCAPE)
        yield from _tokens(text, *hole.span(1), language)
        at = hole.end()
    yield from _split(text, at, end, role, _ESCAPE)


def _split(
    text: str, start: int, end: int, role: Role, public: re.Pattern[str] | None
) -> Iterator[Found]:
    """Yield a stretch with the escapes or entities in it as keywords of their own."""
    for match in public.finditer(text, start, end) if public else ():
        if start < match.start():
            yield start, match.start(), role
        yield match.start(), match.end(), "keyword"
        start = match.end()
    if start < end:
        yield start, end, role


_MARKUP = re.compile(
    rf"(?P<comment><!--.*?(?:-->|\Z))|(?P<cdata><!\[CDATA\[|\]\]>)"
    rf"|<[/!?]?+(?P<tag>(?!\d++(?!{WORD})){WORD}++(?::{WORD}++)?)",
    re.S,
)
_ATTRIBUTE = re.compile(rf"""(?P<end>>)|=\s*+(?:"([^"]*+)|'([^']*+)|({WORD}++))|({WORD}++)|["']""")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|copy|euro|ndash|mdash|hellip);")


def _html(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the pieces of HTML or XML."""
    at = start
    while match := _MARKUP.search(text, at, end):
        yield from _trimmed(text, at, match.start(), "text", _ENTITY)
        at = match.end()
        if match.lastgroup == "comment":
            yield match.start(), at, "comment"
        elif match.lastgroup == "cdata":
            yield match.start(), at, "keyword"
        else:
            for part in _ATOM.finditer(text, *match.span("tag")):
                yield part.start(), part.end(), "tag"
            while item := _ATTRIBUTE.search(text, at, end):
                at = item.end()
                if item["end"]:
                    break
                if item.lastindex:
                    role: Role = "name" if item.lastindex == 5 else "string"
                    yield from _split(text, *item.span(item.lastindex), role, _ENTITY)
                    at += item.lastindex in (2, 3)  # the closing quote
            else:
                at = end
        at = min(at, end)
    yield from _trimmed(text, at, end, "text", _ENTITY)


def _trimmed(
    text: str, start: int, end: int, role: Role, public: re.Pattern[str] | None = None
) -> Iterator[Found]:
    """Yield a stretch without the white space around it."""
    whole = text[start:end]
    start += len(whole) - len(whole.lstrip())
    yield from _split(text, start, start + len(whole.strip()), role, public)


_YAML_LINE = re.compile(
    r"""[ \t]*+(?:-[ \t]++)*+(?P<key>
    (?:"[^"\n]*+"|'[^'\n]*+'|[^\s\#"'\[\]{},:-][^\n:]*+)[ \t]*:(?=\s|\Z))?+(?P<value>[^\n]*+)\n?""",
    re.X,
)
_BLOCK = re.compile(r"[|>][-+\d]*+\s*(?:#.*)?")


def _yaml(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the pieces of YAML, line by line."""
    deeper = -1  # indentation of the key whose block of text follows
    while start < end and (match := _YAML_LINE.match(text, start, end)):
        line, at = match.group(), start
        indent = len(line) - len(line.lstrip())
        start = match.end()
        if deeper >= 0 and (indent > deeper or not line.strip()):
            yield from _trimmed(text, at, start, "string")
            continue
        deeper = -1
        if match["key"]:
            first, last = match.span("key")
            quoted = text[first] in "\"'"
            last = first + len(text[first : last - 1].rstrip())
            yield from _split(text, first + quoted, last - quoted, "name", None)
        begin, value = match.start("value"), match["value"]
        if _BLOCK.fullmatch(value.strip()):
            deeper = indent
        yield from _value(text, begin + len(value) - len(value.lstrip()), begin + len(value))


def _value(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the pieces of what follows a YAML key."""
    if text[start : start + 1] in ("[", "{", '"', "'", "#"):
        yield from _tokens(text, start, end, "yaml")
        return
    comment = re.compile(r"(?<=\s)#").search(text, start, end)
    stop = comment.start() if comment else end
    word = text[start:stop].strip()
    yield from _trimmed(text, start, stop, _scalar_role(word, "yaml"))
    if comment:
        yield stop, end, "comment"


def _scalar_role(word: str, language: str) -> Role:
    if _SCALAR.fullmatch(word):
        return "number"
    return "keyword" if word in _KEYWORDS[language] else "string"


def _cells(comma: str) -> re.Pattern[str]:
    return re.compile(
        rf'"(?P<quoted>[^"]*+(?:""[^"]*+)*+)"?|(?P<cell>[^{comma}"\r\n][^{comma}\r\n]*+)|[{comma}]|(?P<row>\n)'
    )


_SEPARATORS = {c: _cells(c) for c in ",;\t|"}


def separator(line: str) -> str:
    """Return the character that most likely separates the cells of a row."""
    return max(",;\t|", key=line.count)


_FIGURES = re.compile(r"\s*[\"']?[-+]?[$\u00a3\u20ac]?[0-9][0-9.,:/ -]*[\"']?\s*")
"""A cell with a date or a number."""


def _csv(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the cells of a table, those of its first row as names, if none of these is a number."""
    line = LINE.match(text, start, end)
    comma = separator(line.group() if line else "")
    heads = line.group().strip().split(comma) if line else []
    first, seen = not any(map(_FIGURES.fullmatch, heads)), False
    for cell in _SEPARATORS[comma].finditer(text, start, end):
        if cell["row"]:
            first, seen = first and not seen, False
        elif cell.lastgroup:
            seen = True
            word = cell[cell.lastgroup].strip()
            role: Role = "name" if first else _scalar_role(word, "csv")
            yield from _trimmed(text, *cell.span(cell.lastgroup), role)


def _text(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the lines of a fenced block that shows no code."""
    for line in LINE.finditer(text, start, end):
        yield from _trimmed(text, *line.span(), "text")


_OWN = {"html": _html, "yaml": _yaml, "csv": _csv, "": _text}


def roles(text: str, start: int, end: int, language: str) -> Iterator[Found]:
    """Yield the stretches of a region with their roles, ascending; no language: lines of text."""
    own = _OWN.get(language)
    return own(text, start, end) if own else _tokens(text, start, end, language)
