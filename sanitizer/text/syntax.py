"""Code, markup and tables inside a prompt: what each stretch is, and how a placeholder is written.

Guarantee: pieces, roles and languages depend on layout, punctuation and fixed sets of words. Every
other run of word characters is opaque: replaced by another run of its kind (decimal digits, or
anything else), it moves offsets and changes nothing. So no real parser reads the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sanitizer.text.lexers import (
    LIBRARY,
    LINE,
    TAGGED,
    TAGS,
    VOID,
    WORD,
    Role,
    is_keyword,
    roles,
    separator,
)
from sanitizer.text.words import outside

Region = tuple[int, int, str]
Finder = Callable[[str, int, int], Iterator[Region]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of code of one role.

    Attributes:
        start, end: character offsets in the text, without the quotes of a string.
        role: "number" for decimal numbers and, in JSON and TOML, for every bare value, which is
            replaced as a whole. An escape such as "\\n" is a "keyword" between pieces of its
            string; "\\u00e9" is a part of a word.
        language: "python", "javascript", "sql", "json", "yaml", "csv", "shell", "html" (XML too),
            "toml" or "other".
    """

    start: int
    end: int
    role: Role
    language: str


_FENCE = re.compile(
    r"^[ \t>]*+(?P<mark>`{3,}+|~{3,}+)[ \t]*+\{?\.?(?P<tag>[^\s`{}]*+)[^`\n]*+$", re.M
)
_INLINE = re.compile(r"(?<!`)`(?!`)([^`\n]++)`(?!`)")
_JSON_START = re.compile(
    r"""\{\s*+"[^"\n]*+"\s*+:|\[\s*+(?:\{\s*+"|"[^"\n]*+"\s*+[,\]])|\{\s*+\}|\[\s*+\]"""
)
_JSON_STEP = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[{\[]|[}\]]', re.S)
_STARTS = (
    r"(?:SELECT\b|INSERT\s+INTO\b|UPDATE\s+[^\s;]++\s+SET\b|DELETE\s+FROM\b|WITH\s+[^\s;]++\s+AS\s*\("
    r"|(?:CREATE|ALTER|DROP)\s+(?:TABLE|VIEW|INDEX|DATABASE|UNIQUE|TEMP|TEMPORARY)\b)"
)
_SQL_START = re.compile(rf"(?<![^\s:>(]){_STARTS}|(?<![^\s:>(]){_STARTS.lower()}")
_SQL_NEXT = (
    r"(?:FROM|WHERE|AND|OR|LEFT|RIGHT|INNER|OUTER|FULL|CROSS|JOIN|ON|GROUP|ORDER|HAVING|LIMIT"
    r"|VALUES|SET|UNION|RETURNING|SELECT)\b"
)
_SQL_REST = re.compile(
    rf"(?:[^';.\n-]++|'[^'\n]*+'?|--[^\n]*+|-|\.(?!\s|\Z)"
    rf"|\n(?=[ \t]*+(?:[(),]|--|{_SQL_NEXT}|{_SQL_NEXT.lower()})|[ \t]++\S))*+;?"
)
_SQL_SIGN = re.compile(r"[*=(]|;\s*\Z")
_CANDIDATE = re.compile(
    rf"<[/!?]?+(?P<tag>{WORD}(?:{WORD}|[:.-])*+)(?=\s|/?>)[^<>]*+>|<!--.*?(?:-->|\Z)", re.S
)
_BLANK = re.compile(r"\n[ \t\r]*\n")
_STRONG = re.compile(
    rf"""[ \t]*+(?:(?:async\s+)?def\s+{WORD}+\s*\(|class\s+{WORD}+\s*[(:{{]
    |from\s+(?:{WORD}|\.)+\s+import\s|import\s.*\sfrom\s+['"]
    |import\s+(?:{WORD}|\.)+(?:\s+as\s+{WORD}+)?\s*;?\s*$|@{WORD}(?:{WORD}|\.)*\s*(?:\(|$)
    |(?:const|let|var)\s+(?:{WORD}|[{{\[])[^=\n]*=|(?:export\s+)?(?:async\s+)?function\b[^(\n]*\(
    |(?:{WORD}|[.\[\]])+[ \t]*[-+*/|&%]?=(?![=>])[ \t]*\S|(?:{WORD}|\.)+\(.*\)[ \t]*;?\s*$
    |(?:public|private|protected|static|func|fn)\s[^(\n]*\(|\#include\s
    |{WORD}+(?:[ \t]+[^\s;{{}}]+)*[ \t]*\{{[ \t\r]*$)""",
    re.X,
)
_FRAME = re.compile(
    rf"""[ \t]*(?:at[ ](?:(?:async|new)[ ])?
    (?:(?:{WORD}|[$<>`,\[\]+/])+[.:])+(?:{WORD}|[$<>`,\[\]])+\(
    |at[ ][^\n]*?[^\s()]:\d+(?::\d+)?\)?\s*$|File[ ]"[^"\n]+",[ ]line[ ]\d+
    |from[ ][^\s:]+:\d+:in[ ])""",
    re.X,
)
"""One line of a stack trace: of .NET, Java, JavaScript, Python or Ruby."""
_WEAK = re.compile(
    r"""[ \t]*(?:[)\]}\#]|//|(?:if|elif|else|for|while|try|except|finally|with|return|raise|await
    |assert|yield|break|continue|pass|switch|case|throw|catch|del|global)\b)""",
    re.X,
)
_PYTHON = re.compile(
    r"^[ \t]*(?:(?:async )?def |elif |except\b|import \S+\s*$|from \S+ import |[^\n]*:[ \t\r]*$)",
    re.M,
)
_JAVASCRIPT = re.compile(r"^[ \t]*(?:const|let|var|function|export|async)\b|=>|===|console\.", re.M)
_COMMAND = "|".join(sorted(LIBRARY["shell"] - {"set", "sleep", "test", "time"}))
_SHELL_LINE = re.compile(
    rf"[ \t]*+(?:\$[ ]+\S|\#!/|export\s+{WORD}+=|(?:{_COMMAND})\b"
    rf"(?:[^\n]*?\s--?{WORD}|[^\n]*?\s(?:\||&&|>>?|2>)\s|\s+(?:[~.]*/|['\"$])))"
)
_TOML_HEAD = re.compile(
    rf"^[ \t]*+\[\[?(?:{WORD}|[-.\" ])++\]\]?[ \t\r]*\n\s*+(?:(?:{WORD}|[-.\"])++[ \t]*=|\#|\[)",
    re.M,
)
_YAML_KEY = re.compile(
    rf"(?P<dash>[ \t]*(?:-[ ]+)*)(?:{WORD}|[-.])++:(?P<value>[ ][^\n]*|[ \t\r]*$)"
)


def _fences(text: str) -> Iterator[Region]:
    """Yield the bodies of fenced blocks; the last one may be open. No language: none is known."""
    opened: tuple[int, str, str] | None = None
    for match in _FENCE.finditer(text):
        mark, tag = match["mark"], match["tag"].lower()
        if opened is None:
            opened = (min(match.end() + 1, len(text)), mark, TAGGED.get(tag, ""))
        elif mark.startswith(opened[1]) and not tag:
            yield opened[0], match.start(), opened[2]
            opened = None
    if opened:
        yield opened[0], len(text), opened[2]


def _toml_regions(text: str, start: int, end: int) -> Iterator[Region]:
    """Yield the paragraphs that open with the head of a table."""
    while match := _TOML_HEAD.search(text, start, end):
        blank = _BLANK.search(text, match.end(), end)
        start = blank.start() + 1 if blank else end
        yield match.start(), start, "toml"


def _json_regions(text: str, start: int, end: int) -> Iterator[Region]:
    while match := _JSON_START.search(text, start, end):
        depth, start = 0, end
        for step in _JSON_STEP.finditer(text, match.start(), end):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(step.group(), 0)
            if depth == 0:
                start = step.end()
                break
        yield match.start(), start, "json"


def _html_regions(text: str, start: int, end: int) -> Iterator[Region]:
    found = list(_CANDIDATE.finditer(text, start, end))
    closing = any(match.group().startswith("</") for match in found)
    region, depth = (-1, -1), 0
    for match in found:
        whole, tag = match.group(), (match["tag"] or "").lower()
        sure = closing or "=" in whole or tag in TAGS or whole[1] in "!?" or whole[-2] == "/"
        if not sure:
            continue
        if region[0] >= 0 and depth <= 0 and _BLANK.search(text, region[1], match.start()):
            yield *region, "html"
            region = (-1, -1)
        region = (match.start() if region[0] < 0 else region[0], match.end())
        if whole[1] == "/":
            depth = max(0, depth - 1)
        elif whole[1] not in "!?" and whole[-2] != "/" and tag not in VOID:
            depth += 1
    if region[0] >= 0:
        yield *region, "html"


def _sql_regions(text: str, start: int, end: int) -> Iterator[Region]:
    while match := _SQL_START.search(text, start, end):
        rest = _SQL_REST.match(text, match.end(), end)
        start = rest.end() if rest else match.end()
        whole = text[match.start() : start]
        upper = match.group()[:1].isupper()
        selects = match.group() not in ("SELECT", "select")
        if (selects or re.search(r"\bfrom\b|\bFROM\b", whole)) and (
            upper or _SQL_SIGN.search(whole)
        ):
            yield match.start(), start, "sql"


def _line_kind(line: str, following: str) -> str:
    """Return what a line is alone: "shell", "strong", "weak" or "" for prose."""
    if _SHELL_LINE.match(line):
        return "shell"
    if _SQL_START.match(line.lstrip()):
        return ""
    bare = line.rstrip()
    if (
        _STRONG.match(line)
        or _FRAME.match(line)
        or (bare.endswith((";", "{")) and re.search(r"[=(]", bare))
    ):
        is_row = bare.lstrip()[:1] == "(" and bare.endswith(");")  # the last one of SQL's values
        return "" if is_row or bare.lstrip()[:1] in ("<", '"') else "strong"
    if not _WEAK.match(line):
        return ""
    opens = bare.endswith((":", "{")) and following[:1] in (" ", "\t")
    return "strong" if opens and re.search(r"[\[(=<>]", bare) else "weak"


def _code_regions(text: str, start: int, end: int) -> Iterator[Region]:
    lines = [match.span() for match in LINE.finditer(text, start, end) if match.group()]
    begin = stop = -1
    shell = False
    for n, (first, last) in enumerate(lines):
        line = text[first:last]
        kind = _line_kind(line, text[slice(*lines[n + 1])] if n + 1 < len(lines) else "")
        inside = begin >= 0 and (
            line[0] in " \t" or (kind == "weak" and stop == first) or not line.strip()
        )
        if begin >= 0 and (kind == "shell" if not shell else kind == "strong"):
            inside = False
        elif kind in ("strong", "shell"):
            inside, shell, begin = True, kind == "shell", begin if begin >= 0 else first
        if not inside:
            if begin >= 0:
                yield begin, stop, "shell" if shell else _code_language(text[begin:stop])
            begin = first if kind in ("strong", "shell") else -1
            shell, stop = kind == "shell", last
        elif line.strip():
            stop = last
    if begin >= 0:
        yield begin, stop, "shell" if shell else _code_language(text[begin:stop])


def _code_language(code: str) -> str:
    """Return the language of code by its keywords and line ends."""
    if _FRAME.match(code):
        return "other"
    if _JAVASCRIPT.search(code):
        return "javascript"
    return "python" if _PYTHON.search(code) or not re.search(r"[;{]\s*$", code, re.M) else "other"


def _data_regions(text: str, start: int, end: int) -> Iterator[Region]:
    """Yield the paragraphs that are a table or YAML, and tables with prose right beside them."""
    at = start
    for match in [*_BLANK.finditer(text, start, end), None]:
        stop = match.start() + 1 if match else end
        if language := _data_language(text[at:stop]):
            yield at, stop, language
        else:
            yield from _tables_inside(text, at, stop)
        at = match.end() if match else end


_FEW = 2
"""Rows, and separators in a row, that may be there by chance in running text."""


def _tables_inside(text: str, start: int, end: int) -> Iterator[Region]:
    """Yield the rows of a paragraph that have as many cells, three in each of three rows or more.

    A paragraph that is all one table needs less to be one.
    """
    rows: list[tuple[int, int]] = []
    for line in [*LINE.finditer(text, start, end), None]:
        span = line.span() if line else (end, end)
        row = text[slice(*span)].rstrip("\n")
        if rows and not _is_table([text[slice(*rows[0])].rstrip("\n"), row]):
            if len(rows) > _FEW:
                yield rows[0][0], rows[-1][1], "csv"
            rows = []
        if rows or row.count(separator(row)) >= _FEW:
            rows.append(span)


def _data_language(paragraph: str) -> str:
    lines = [line for line in paragraph.split("\n") if line.strip()]
    if not lines:
        return ""
    keys = [_YAML_KEY.match(line) for line in lines]
    deep = any(
        a and not a["value"].strip() and b[:1] in " -"
        for a, b in zip(keys, lines[1:], strict=False)
    )
    listed = any(key and "-" in key["dash"] for key in keys)
    opens = keys[0] is not None and sum(key is not None for key in keys) > 1
    if lines[0].rstrip() == "---" or (opens and (deep or listed)):
        return "yaml"
    return "csv" if _is_table(lines) else ""


def _is_table(lines: list[str]) -> bool:
    """Return True if all lines have as many cells, with no space after a separator."""
    comma = separator(lines[0])
    plain = [re.sub(r'"[^"]*+"', "x", line.strip(" \r")) for line in lines]
    count = plain[0].count(comma)
    if comma == "," and not any("," in _DECIMALS.sub("", line) for line in plain):
        return False  # sums, as "1.240,50"
    return (
        len(lines) > 1
        and comma != "|"
        and count > 0
        and all(plain[0].split(comma))
        and all(line.count(comma) == count and f"{comma} " not in line for line in plain)
        and not any(line[:1] in ("[", "{", "<", "(") for line in plain)
    )


_DECIMALS = re.compile(r"[0-9],[0-9]{2}(?![0-9])")
_FINDERS: tuple[Finder, ...] = (
    _toml_regions,
    _code_regions,
    _json_regions,
    _html_regions,
    _sql_regions,
    _data_regions,
)


def _inline(text: str, start: int, end: int) -> Iterator[Region]:
    for match in _INLINE.finditer(text, start, end):
        kind = _line_kind(match[1], "")
        yield *match.span(1), "shell" if kind == "shell" else "other"


def _within(text: str, start: int, end: int) -> list[Region]:
    """Return the regions of code that show by their structure."""
    found: list[Region] = []
    for finder in (*_FINDERS, _inline):
        for first, last in list(outside(sorted(found), start, end)):
            found.extend(finder(text, first, last))
    return found


def pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces of all code in a text, ascending; prose is not covered.

    >>> [(p.start, p.end, p.role) for p in pieces('Convert {"age": 41} to YAML')]
    [(10, 13, 'name'), (16, 18, 'number')]
    """
    regions: list[Region] = []
    for start, end, language in _fences(text):
        inner = [(start, end, language)] if language else _within(text, start, end)
        regions += [*inner, *((a, b, "") for a, b in outside(sorted(inner), start, end))]
    for start, end in list(outside(sorted(regions), 0, len(text))):
        regions += _within(text, start, end)
    return tuple(
        Piece(*part, language or "other")
        for start, end, language in sorted(regions)
        for part in roles(text, start, end, language)
    )


def form_for(kind: str, number: int, piece: Piece | None) -> str:
    """Return how a placeholder is written at a piece, or in prose if there is none.

    A number of JSON or TOML is replaced as a whole piece, with its sign.

    >>> form_for("PERSON", 1, None), form_for("SUM", 2, Piece(0, 2, "number", "json"))
    ('<PERSON_1>', '"<SUM_2>"')
    """
    bare = f"{kind}_{number}"
    if piece is None or piece.language in ("yaml", "csv"):
        return f"<{bare}>"
    if piece.language in ("shell", "html"):
        return bare
    if piece.role == "number" and piece.language in ("json", "toml"):
        return f'"<{bare}>"'
    return f"<{bare}>" if piece.role in ("string", "comment", "text") else bare


def is_code_word(word: str, piece: Piece) -> bool:
    """Return True if a word is a part of the language or of a well-known library.

    >>> is_code_word("SELECT", Piece(0, 6, "keyword", "sql"))
    True
    """
    language = piece.language
    if language == "html":
        return word.lower() in TAGS or word in LIBRARY["html"]
    known = LIBRARY.get(language, frozenset())
    sql = language == "sql" and word.isupper() and word.lower() in known
    return is_keyword(word, language) or word in known or sql
