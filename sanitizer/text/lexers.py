"""How code, JSON, YAML, tables, shell and markup are cut into roles, and their fixed sets of words.

Every function here takes offsets of a text, reads no further, and takes linear time. Guarantee: as
in syntax.py, which finds the regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

Role = Literal["keyword", "name", "string", "comment", "number", "tag", "text"]
Found = tuple[int, int, Role]


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
TAGS = _words("""a abbr address article aside audio b blockquote body br button canvas caption code
    col colgroup dd details div dl dt em embed fieldset figcaption figure footer form h1 h2 h3 h4 h5
    h6 head header hr html i iframe img input label legend li link main map mark meta nav object ol
    optgroup option p param path picture pre q s script section select small source span strong
    style sub summary sup svg table tbody td template textarea tfoot th thead time title tr u ul var
    video""")
VOID = _words("area base br col embed hr img input link meta param source track wbr")
LIBRARY = {
    "python": _words("""abs all any append args array ascending axis bool bytes columns compile
        concat csv dataclass DataFrame date datetime decode dict dtype dumps encode encoding
        enumerate Exception extend filter float format get groupby head header how index index_col
        inplace input int isinstance items join json keys kwargs len list loads logging lower main
        map math max merge min name np numpy object open os pandas path pd plot plt pop print range
        read read_csv replace requests reversed round sep set sort sorted split str strip sum super
        sys time tuple type typing update upper ValueError values write zip"""),
    "javascript": _words("""any Array addEventListener alert assign axios body boolean catch
        console constructor createElement data Date document entries Error event every express
        fetch filter find forEach function getElementById headers id includes indexOf innerHTML
        join json JSON key keys length localStorage log map Map Math method module never number
        Number Object onclick parse parseFloat parseInt path process Promise prototype props push
        querySelector React reduce replace require res req resolve response setState setTimeout
        slice some sort split state string String stringify then toFixed toLowerCase toString trim
        unknown useEffect useState value values window"""),
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
    "other": _words("""append args ArrayList Boolean Console count cout cpp cs Double echo endl err
        error Exception File fmt get go HashMap id in Integer iostream java js key kt len length
        line List Main main Map map Math name Object Ok Option out php print printf Println println
        Program push put puts py rb require Result set size Some std str String sum System toString
        ts value Vec vec vector Write WriteLine"""),
}
TAGGED = {
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

WORD = "[0-9A-Za-z_\u00a1-\u1fff\u2070-\u2fff\u3001-\U0010ffff]"
"""A character of a word: wider than a letter, so that no rare script is taken for layout."""
_NUMBER = rf"(?:(?<![\w)\]}}])\.)?\d[\d_]*+(?!{WORD})(?:\.{WORD}++)*+(?:(?<=[\d.][eE])[+-]\d++)?"
LINE = re.compile(r"[^\n]*+\n?")
_ATOM = re.compile(rf"{WORD}++")
_SCALAR = re.compile(r"[-+]?+\d[\d_.,:/%-]*+")
_ESCAPE = re.compile(rf"\\(?:[abfnrtv0]|(?!{WORD}).)", re.S)
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
