"""Code, markup and tables inside a prompt: what each stretch is, and how a placeholder is written.

Guarantee: pieces, roles and languages depend on layout, punctuation and fixed sets of words. Every
other run of word characters is opaque: replaced by another run of its kind (decimal digits, or
anything else), it moves offsets and changes nothing. So no real parser reads the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

Role = Literal["keyword", "name", "string", "comment", "number", "tag", "text"]
Region = tuple[int, int, str]
Found = tuple[int, int, Role]
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = {
    "python": _words("""False None True and as assert async await break class continue def del elif
        else except finally for from global if import in is lambda nonlocal not or pass raise return
        try while with yield match case self cls"""),
    "javascript": _words("""async await break case catch class const continue debugger default
        delete do else enum export extends false finally for from function if implements import in
        instanceof interface let new null of private protected public return static super switch
        this throw true try type typeof undefined var void while with yield"""),
    "sql": _words("""add all alter and any as asc begin between by cascade case check column commit
        constraint create cross database default delete desc distinct drop else end except exists
        explain false foreign from full group having if in index inner insert intersect into is join
        key left like limit not null offset on or order outer over partition primary references
        returning right rollback select set table then transaction true truncate union unique update
        using values view when where with"""),
    "shell": _words("""if then else elif fi for while until do done case esac in function select
        time return export local readonly declare unset shift exit break continue true false"""),
    "json": _words("true false null"),
    "yaml": _words("true false null yes no on off True False Null"),
    "csv": _words("true false null TRUE FALSE NULL"),
    "toml": _words("true false inf nan"),
    "html": frozenset(),
    "other": _words("""abstract auto bool boolean break byte case catch char class const continue
        def default defer delete do double else elsif end enum extends extern false final finally
        float fn for foreach func function go goto if impl implements import in include int
        interface let long loop match mod mut namespace new nil null package private protected pub
        public return self short signed static string struct super switch this throw throws trait
        true try type typedef union unsigned use using var virtual void volatile while"""),
}
_TAGS = _words("""a abbr address article aside audio b blockquote body br button canvas caption code
    col colgroup dd details div dl dt em embed fieldset figcaption figure footer form h1 h2 h3 h4 h5
    h6 head header hr html i iframe img input label legend li link main map mark meta nav object ol
    optgroup option p param path picture pre q s script section select small source span strong
    style sub summary sup svg table tbody td template textarea tfoot th thead time title tr u ul var
    video""")
_VOID = _words("area base br col embed hr img input link meta param source track wbr")
_LIBRARY = {
    "python": _words("""abs all any append args array bool bytes csv datetime date decode dict
        dataclass DataFrame dumps encode enumerate Exception extend filter float format get groupby
        head index input int isinstance items join json keys kwargs len list loads logging lower
        main map math max merge min name np numpy object open os pandas path pd plot plt pop print range
        read read_csv replace requests reversed round set sort sorted split str strip sum super sys
        time tuple type typing update upper ValueError values write zip"""),
    "javascript": _words("""any Array addEventListener alert assign axios body boolean catch
        console constructor createElement data Date document entries Error event every express fetch filter
        find forEach function getElementById headers id includes indexOf innerHTML join json JSON
        key keys length localStorage log map Map Math method module never number Number Object onclick
        parse parseFloat parseInt path process Promise prototype props push querySelector React
        reduce replace require res req resolve response setState setTimeout slice some sort split
        state string String stringify then toFixed toLowerCase toString trim unknown useEffect
        useState value values window"""),
    "sql": _words("""abs array autoincrement avg bigint blob boolean cast char coalesce concat count
        current_date current_timestamp date datetime decimal double extract float id int integer
        json jsonb lag lead length lower max min money now numeric nvarchar rank real replace round
        row_number serial smallint substr substring sum text time timestamp tinyint trim upper uuid
        varchar year"""),
    "shell": _words("""apt awk bash brew cat cd chmod chown cp curl cut date df docker du echo env
        find ftp gcc git grep gunzip gzip head helm ifconfig java kill kubectl less ln ls make mkdir
        mv mysql nano npm npx node nslookup openssl php ping pip pip3 pnpm ps psql pwd python
        python3 rm rsync scp sed set sh sleep sort ssh sudo systemctl tail tar tee telnet test touch
        tr traceroute uniq unzip vi vim wc wget which xargs yarn zip"""),
    "html": _words("""action alt charset checked class colspan content data disabled enctype for
        height href id lang max maxlength media method min name onclick placeholder readonly rel
        required role rowspan selected src style tabindex target title type value version encoding
        width xml xmlns DOCTYPE doctype amp lt gt quot apos nbsp"""),
    "other": _words("""append args ArrayList Boolean Console cout count Double echo endl err error
        Exception fmt get HashMap id Integer iostream key len length List main map Map Math name Ok
        Option out print printf println Println push put puts require Result set size Some std
        String str sum System toString value vec Vec vector Write WriteLine"""),
}
_TAGGED = {
    tag: language
    for language, tags in {
        "python": "python py python3 pycon ipython",
        "javascript": "javascript js jsx ts tsx typescript node mjs",
        "sql": "sql postgres postgresql mysql sqlite plsql tsql",
        "json": "json jsonc json5 jsonl ndjson geojson",
        "yaml": "yaml yml",
        "csv": "csv tsv",
        "shell": "bash sh shell zsh console terminal dockerfile",
        "html": "html xml svg xhtml vue htm",
        "toml": "toml ini",
        "other": "java c cpp csharp cs go rust ruby rb php kotlin swift scala perl r lua dart",
    }.items()
    for tag in tags.split()
}

_A = "[0-9A-Za-z_\u00a1-\u1fff\u2070-\u2fff\u3001-\U0010ffff]"
"""A character of a word: wider than a letter, so that no rare script is taken for layout."""
_NUMBER = rf"\d[\d_]*+(?!{_A})(?:\.{_A}++)*+"
_LINE = re.compile(r"[^\n]*+\n?")
_ATOM = re.compile(rf"{_A}++")
_SCALAR = re.compile(r"[-+]?+\d[\d_.,:/%-]*+")
_ESCAPE = re.compile(rf"\\(?:[abfnrtv0]|(?!{_A}).)", re.S)
_F_HOLE = re.compile(r"\{\{|\{([^{}]*+)\}")
_JS_HOLE = re.compile(r"\$\{([^{}]*+)\}")
_PREFIXES = _words("r b f u rb br fr rf R B F U")


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
    bare: str = rf"{_A}++"
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
_JSON = partial(_Lexer, comment=_SLASH, quotes=_LINE_QUOTES, bare=rf"(?:{_A}|[-+.])++")
_LEXERS = {
    lexer.language: (lexer, lexer.token())
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
            bare=rf"(?:{_A}|[-+.:])++(?:[ ]\d++:(?:{_A}|[-+.:])++)?",
            plain="number",
            head=r"^[ \t]*+\[\[?+[^\]\n,=]*+\]\]?[ \t\r]*$",
        ),
    ]
}


def _is_keyword(word: str, language: str) -> bool:
    known = _KEYWORDS[language]
    return word in known or (language == "sql" and word.isupper() and word.lower() in known)


def _tokens(text: str, start: int, end: int, language: str) -> Iterator[Found]:
    """Yield the pieces of code, JSON, TOML, SQL or shell."""
    lexer, token = _LEXERS[language]
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
            known = quoted or _is_keyword(word, language)
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
    rf"|<[/!?]?+(?P<tag>(?!\d++(?!{_A})){_A}++(?::{_A}++)?)",
    re.S,
)
_ATTRIBUTE = re.compile(rf"""(?P<end>>)|=\s*+(?:"([^"]*+)|'([^']*+)|({_A}++))|({_A}++)|["']""")
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


def _cells(separator: str) -> re.Pattern[str]:
    return re.compile(
        rf'"(?P<quoted>[^"]*+(?:""[^"]*+)*+)"?|(?P<cell>[^{separator}"\r\n][^{separator}\r\n]*+)|[{separator}]|(?P<row>\n)'
    )


_SEPARATORS = {c: _cells(c) for c in ",;\t|"}


def _separator(line: str) -> str:
    return max(",;\t|", key=line.count)


def _csv(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the cells of a table, those of its first row as names."""
    first, seen = True, False
    line = _LINE.match(text, start, end)
    for cell in _SEPARATORS[_separator(line.group() if line else "")].finditer(text, start, end):
        if cell["row"]:
            first, seen = first and not seen, False
        elif cell.lastgroup:
            seen = True
            word = cell[cell.lastgroup].strip()
            role: Role = "name" if first else _scalar_role(word, "csv")
            yield from _trimmed(text, *cell.span(cell.lastgroup), role)


def _text(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the lines of a fenced block that shows no code."""
    for line in _LINE.finditer(text, start, end):
        yield from _trimmed(text, *line.span(), "text")


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
    rf"<[/!?]?+(?P<tag>{_A}(?:{_A}|[:.-])*+)(?=\s|/?>)[^<>]*+>|<!--.*?(?:-->|\Z)", re.S
)
_BLANK = re.compile(r"\n[ \t\r]*\n")
_STRONG = re.compile(
    rf"""[ \t]*+(?:(?:async\s+)?def\s+{_A}+\s*\(|class\s+{_A}+\s*[(:{{]|from\s+(?:{_A}|\.)+\s+import\s
    |import\s+(?:{_A}|\.)+(?:\s+as\s+{_A}+)?\s*;?\s*$|import\s.*\sfrom\s+['"]|@{_A}(?:{_A}|\.)*\s*(?:\(|$)
    |(?:const|let|var)\s+(?:{_A}|[{{\[])[^=\n]*=|(?:export\s+)?(?:async\s+)?function\b[^(\n]*\(
    |(?:{_A}|[.\[\]])+[ \t]*[-+*/|&%]?=(?![=>])[ \t]*\S|(?:{_A}|\.)+\(.*\)[ \t]*;?\s*$
    |(?:public|private|protected|static|func|fn)\s[^(\n]*\(|\#include\s)""",
    re.X,
)
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
_COMMAND = "|".join(sorted(_LIBRARY["shell"] - _words("date find head less make sleep sort time")))
_SHELL_LINE = re.compile(
    rf"[ \t]*+(?:\$[ ]+\S|\#!/|export\s+{_A}+=|(?:{_COMMAND}|date|find|head|less|make|sort)\b"
    rf"(?:[^\n]*?\s--?{_A}|[^\n]*?\s(?:\||&&|>>?|2>)\s|\s+(?:[~.]*/|['\"$])))"
)
_TOML_HEAD = re.compile(
    rf"\s*\[\[?(?:{_A}|[-.\" ])++\]\]?[ \t\r]*\n(?:\s*(?:{_A}|[-.\"])++\s*=|\s*#)"
)
_YAML_KEY = re.compile(rf"(?P<dash>[ \t]*(?:-[ ]+)*)(?:{_A}|[-.])++:(?P<value>[ ][^\n]*|[ \t\r]*$)")


def _gaps(taken: list[Region], end: int) -> Iterator[tuple[int, int]]:
    """Yield what lies between the regions."""
    at = 0
    for start, stop, _ in sorted(taken):
        if at < start:
            yield at, start
        at = stop
    if at < end:
        yield at, end


def _fences(text: str) -> Iterator[Region]:
    """Yield the bodies of fenced blocks; the last one may be open. No language: none is known."""
    opened: tuple[int, str, str] | None = None
    for match in _FENCE.finditer(text):
        mark, tag = match["mark"], match["tag"].lower()
        if opened is None:
            opened = (min(match.end() + 1, len(text)), mark, _TAGGED.get(tag, ""))
        elif mark.startswith(opened[1]) and not tag:
            yield opened[0], match.start(), opened[2]
            opened = None
    if opened:
        yield opened[0], len(text), opened[2]


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
        sure = closing or "=" in whole or tag in _TAGS or whole[1] in "!?" or whole[-2] == "/"
        if not sure:
            continue
        if region[0] >= 0 and depth <= 0 and _BLANK.search(text, region[1], match.start()):
            yield *region, "html"
            region = (-1, -1)
        region = (match.start() if region[0] < 0 else region[0], match.end())
        if whole[1] == "/":
            depth = max(0, depth - 1)
        elif whole[1] not in "!?" and whole[-2] != "/" and tag not in _VOID:
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
    if _STRONG.match(line) or (bare.endswith((";", "{")) and re.search(r"[=(]", bare)):
        return "" if bare.lstrip()[:1] in ("<", '"') else "strong"
    if not _WEAK.match(line):
        return ""
    opens = bare.endswith((":", "{")) and following[:1] in (" ", "\t")
    return "strong" if opens and re.search(r"[\[(=<>]", bare) else "weak"


def _code_regions(text: str, start: int, end: int) -> Iterator[Region]:
    lines = [match.span() for match in _LINE.finditer(text, start, end) if match.group()]
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
    if _JAVASCRIPT.search(code):
        return "javascript"
    return "python" if _PYTHON.search(code) or not re.search(r"[;{]\s*$", code, re.M) else "other"


def _data_regions(text: str, start: int, end: int) -> Iterator[Region]:
    """Yield the paragraphs that are a table, YAML or TOML."""
    at = start
    for match in [*_BLANK.finditer(text, start, end), None]:
        stop = match.start() + 1 if match else end
        if language := _data_language(text[at:stop]):
            yield at, stop, language
        at = match.end() if match else end


def _data_language(paragraph: str) -> str:
    lines = [line for line in paragraph.split("\n") if line.strip()]
    if not lines:
        return ""
    if _TOML_HEAD.match(paragraph):
        return "toml"
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
    separator = _separator(lines[0])
    plain = [re.sub(r'"[^"]*+"', "x", line.strip(" \r")) for line in lines]
    count = plain[0].count(separator)
    return (
        len(lines) > 1
        and separator != "|"
        and count > 0
        and all(plain[0].split(separator))
        and all(line.count(separator) == count and f"{separator} " not in line for line in plain)
        and not any(line[:1] in ("[", "{", "<", "(") for line in plain)
    )


_FINDERS: tuple[Finder, ...] = (
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
        for first, last in [(max(a, start), b) for a, b in _gaps(found, end) if b > start]:
            found.extend(finder(text, first, last))
    return found


_OWN = {"html": _html, "yaml": _yaml, "csv": _csv}


def pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces of all code in a text, ascending; prose is not covered.

    Example:
        >>> [(p.start, p.end, p.role) for p in pieces('Convert {"age": 41} to YAML')]
        [(10, 13, 'name'), (16, 18, 'number')]
    """
    regions: list[Region] = []
    for start, end, language in _fences(text):
        inner = [] if language else _within(text, start, end)
        regions.extend(inner)
        if language:
            regions.append((start, end, language))
        else:
            regions.extend((max(a, start), b, "") for a, b in _gaps(inner, end) if b > start)
    for start, end in list(_gaps(regions, len(text))):
        regions.extend(_within(text, start, end))
    found: list[Piece] = []
    for start, end, language in sorted(regions):
        cut = _OWN.get(language) or (partial(_tokens, language=language) if language else _text)
        found.extend(Piece(*piece, language or "other") for piece in cut(text, start, end))
    return tuple(found)


def form_for(kind: str, number: int, piece: Piece | None) -> str:
    """Return how a placeholder is written at a piece, or in prose if there is none.

    A number of JSON or TOML is replaced as a whole piece, with its sign.

    Example:
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

    Example:
        >>> is_code_word("SELECT", Piece(0, 6, "keyword", "sql"))
        True
    """
    language = piece.language
    if language == "html":
        return word.lower() in _TAGS or word in _LIBRARY["html"]
    known = _LIBRARY.get(language, frozenset())
    sql = language == "sql" and word.isupper() and word.lower() in known
    return _is_keyword(word, language) or word in known or sql
