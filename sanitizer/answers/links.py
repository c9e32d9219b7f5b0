r"""Where an answer may have begun a link: who follows or shows it sends away what stands in it.

Renderers differ, so a wide reading counts. A link begins with a scheme, `www.`, or `//` behind a
sign such as "=", however its signs are written (`&#58;`, `\/`, `\u002f`, tabs in a scheme). In
running text it ends with white space or "("; in an attribute of HTML only with its quote, in the
destination of a Markdown link only with its parenthesis, between quotes with the quote.

A label in brackets becomes a link by a definition elsewhere (`[label]: destination`), so that a
label with a value in it would be a guess that is confirmed. Behind a definition values stay in
brackets; a definition that comes behind such a value is shown as text (`[label]\: destination`).

A text is read in pieces, and what is kept of it is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import partial
from html import unescape
from typing import NamedTuple

MAY_LINK = re.compile(
    r"/[\t\r\n]{0,8}/|\.(?<=www\.)|:(?:(?<=data:)|(?<=mailto:)|(?<=javascript:)|(?<=http:)"
    r"|(?<=https:))|<[A-Z_]+[0-9_]+><",
    re.I,
)
"""Matches where a text may hold a link, or the value of one with another value behind it.

Each part begins with a sign: long texts are searched seven times as fast as for letters.
"""

_GAP = r"[\t\r\n]{0,8}"  # browsers leave these out
_BEGINS = re.compile(rf"/{_GAP}/|www\.|(?:data|mailto|javascript|https?):", re.I)
"""Matches a value that is an address by itself."""
_LONGEST_OPENING = 80
_OPENING = re.compile(
    rf"[a-z0-9+.-]{_GAP}[a-z0-9+.-]{_GAP}:{_GAP}/{_GAP}/|(?<=[=(\"'`<])\s?/{_GAP}/"
    r"|\bhttps?:|\bwww\.|\b(?:data|mailto|javascript):(?=\S)",
    re.I,
)
_BACK = 64
"""Characters before an opening that tell between which signs the link stands."""
_LINE = 1_000
"""Characters in which the beginning of a line or a label is looked for: no label is longer."""
DEFUSED = "]\\:"
"""The end of the label of a definition that is shown as text."""
_DEFINING = r"(?:\A|\n)[ \t>*+.)0-9-]{0,40}\[[^\[\]]*"
_DEFINED_LABEL = re.compile(_DEFINING + r"\Z")
_DEFINITION = re.compile(r"\]:[ \t\r]*\n?[ \t\r]*(?:<[^<>\n]*>|[^\s<]\S*)[ \t\r]*(?:\n|\Z|[\"'(])")
_WHOLE_DEFINITION = re.compile(r"\]:[ \t\r]*\n?(?:[ \t\r]*\n|[ \t\r]*[^\s][^\n]*\n)")
_LABEL = re.compile(r"(?P<fixed>[!\]]?)\[[^\[\]]*\Z")
_LOADED = re.compile(
    rf"{_DEFINING}\]:\s*\S*\Z|\]\(\s*(?:<[^<>\n]*|[^\s()<>]*)\Z|\]\Z"
    r"|<[a-z][^<>]*\b(?:src|srcset|href|poster|data|background|action|style)\s*=\s*"
    r"(?:\"[^\"]*|'[^']*|[^\s\"'<>]*)\Z",
    re.I,
)
"""What a value stands behind that is a part of what is asked for, by a short address."""
_NO_STAND_IN = r"(?!/?\w+_[0-9][0-9_]*(?::\w+)?>)"
MAY_HOLD = re.compile(
    rf"/[\t\r\n]{{0,8}}/|www\.|data:|mailto:|javascript:|https?:|\]\s?[(\[:]|!\[|<{_NO_STAND_IN}[a-z/!?]"
    r"|[.@/\\&<\]]\{\{=|\}\}(?:[@/\\&]|[.:](?=[^\W\d]|\{)|\{\{=)",
    re.I,
)
"""Matches where an answer may hold a link, image, tag or definition, or one that a result ends."""
_ONE = re.compile(
    r"!?\[[^\[\]]*\]\([^()\s]*\)|</?[a-zA-Z][^<>]*>"
    r"|(?<![^\s<>()\[\]\"'`|])[^\s<>()\[\]\"'`|]*(?://|www\.|mailto:)[^\s<>()\[\]\"'`|]*(?<![.,;:!?])"
)
_SCHEME = re.compile(r"[\w+.-]{0,40}\Z")
_ATTRIBUTE = re.compile(r"=\s*([\"'])[\s\w+.-]{0,40}\Z")
_ANGLE = re.compile(r"\]\(\s*<[^<>\n]{0,40}\Z")
_DESTINATION = re.compile(r"\]\(\s*[\w+.-]{0,40}\Z")
_QUOTE = re.compile(r"([\"'`])[\w+.-]{0,40}\Z")
_BLANK_LINE = r"\n[ \t\r]*\n"
_STAND_IN = r"<[A-Z_]+[0-9_]*>"
_END_OF_ANGLE = re.compile(rf"{_STAND_IN}|(?P<end>[>\n])")
_BRACKETS = re.compile(rf"[()]|{_BLANK_LINE}")
_END_OF_BARE = re.compile(r"[\s(]|</[a-zA-Z][a-zA-Z0-9]*>")
_END_OF_LABEL = re.compile(r"\s|\]\(")
_END_OF_CELL = re.compile(r"[\s|]|</[a-zA-Z][a-zA-Z0-9]*>")
_ENDS_OF_QUOTES = {
    quote: (re.compile(quote), re.compile(rf"{quote}|{_BLANK_LINE}")) for quote in "\"'`"
}
_ESCAPE = re.compile(
    r"&(?:#[xX]?[0-9a-fA-F]{1,12}|[A-Za-z][A-Za-z0-9]{1,31});?|\\(?:u[0-9a-fA-F]{4}|.)", re.S
)
_UNFINISHED = re.compile(
    r"(?:(?P<entity>&[#\w]{0,40})|(?<!\\)(?:\\\\)*(?P<escape>\\(?:u[0-9a-fA-F]{0,3})?))\Z"
)
_ZEROS = re.compile(r"(?<=&#)([xX]?)0+(?=[0-9a-fA-F])")
_IN_STRING = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)
_STRING_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SIGNS = frozenset("\"'`()<>|\n\r\t ")
"""Signs that end a link only as they are, not where they are written as escapes."""
_LONGEST_KEPT, _LONGEST_SENT = 6_000, 2_000
_DEEPEST = 1_000
_LONGEST_RUN = 200
_MOST_RESTORED = 8
_RUNS = {
    closer: re.compile(rf"{signs}{{0,{_LONGEST_RUN}}}")
    for closer, signs in (("", r"\S"), ('"', r'[^"\n]'), ("'", r"[^'\n]"), (">", r"[^>\n]"))
}
"""What a link may go on with, by the sign that ends it; "": white space does."""

_AUTHORITY = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//[^/?#]*|www\.[^/?#]*", re.I)
_PLACED = re.compile(r"(?:=\s*(?P<quote>[\"'])|\]\((?P<angle>\s*<)?)\s*\Z")
"""Where all that follows, spaces too, is part of a link until its closing sign."""
_PUNCTUATION = r"[.,;:!'*_~)\]}]{0,8}"
_ENDS_HOST = re.compile(rf"{_PUNCTUATION}(?:[\s/?#<]|\Z)")
_MAY_END_HOST = re.compile(rf"\s{{0,8}}{_PUNCTUATION}\Z")
_CLOSERS = {'"': '"', "'": "'", "`": "`", "<": ">", "|": "|", "[": "]("}


class _Open(NamedTuple):
    """A link that has begun: offsets of what stands before it and of its opening's end."""

    start: int
    end: int


class Links:
    """Tells values inside links of an answer that was not in what was sent.

    Args:
        sent: texts with links that were sent: what stands in these may be restored.
        in_strings: answers are the insides of strings in JSON.
    """

    def __init__(self, sent: Collection[str] = (), in_strings: bool = False) -> None:
        self._sent = tuple(sent)
        self.in_strings = in_strings

    def of_strings(self) -> Links:
        """Return the same for texts that are the insides of strings in JSON."""
        return Links(self._sent, in_strings=True)

    def reader(self) -> LinkReader:
        """Return what reads one answer."""
        return LinkReader(self)

    def was_sent(self, link: str) -> bool:
        """Return True if a link was in what was sent, as far as it goes."""
        return len(link) <= _LONGEST_SENT and any(link in _plain(text) for text in self._sent)

    def holds_other(self, answer: str) -> bool:
        """Return True if an answer may hold a link, image, tag of HTML or definition of a reference
        that was not in what was sent, as the API wrote it: no value is read."""
        rest = _ONE.sub(lambda m: " " if any(m[0] in sent for sent in self._sent) else m[0], answer)
        return any(MAY_HOLD.search(each) for each in (rest, _plain(rest)))

    def ended_so(self, link: str, end: str) -> bool:
        """Return True if a link was in what was sent, and what this pattern matches behind it."""
        whole = re.compile(re.escape(link) + end)
        return any(whole.search(_plain(text)) for text in self._sent)


class LinkReader:
    """Reads one answer in pieces, and tells whether a value at its end belongs to a link."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._in_string = ""  # an escape of a string in JSON that is not finished
        self._unread = ""
        self._text = ""  # what is kept, with signs as they are
        self._from = 0  # where the next opening is looked for
        self._open: _Open | None = None
        self._restored: list[tuple[str, str]] = []  # originals that were read, and their values
        self._has_definition = self._has_label = False  # label: with a value in it

    def read(self, text: str) -> None:
        """Read more of the answer."""
        if self._links.in_strings:
            text, self._in_string = _of_string(self._in_string + text)
        self._unread += text
        if len(self._unread) > _LONGEST_KEPT:
            self._catch_up()

    def read_restored(self, original: str, written: str) -> None:
        """Read a value as what it stands for; what goes on behind it may be in what was sent."""
        self._restored = [
            *self._restored[1 - _MOST_RESTORED :],
            (_plain(original), _plain(written)),
        ]
        self.read(original)

    @property
    def is_inside(self) -> bool:
        """Whether what was read ends inside a link."""
        self._catch_up()
        return self._open is not None

    def holds(self, written: str, original: str, after: str, final: bool) -> bool | None:
        """Return True if a value after what was read has to stay; None if more must come first.

        Args:
            written: the value. original: what it stands for.
            after: what has come behind it. final: no more comes.
        """
        self._catch_up()
        rest = _plain(self._unread)  # an escape that was left unfinished
        before = "" if self._open or self._links.in_strings else self._text[-_LINE:] + rest
        if self._refers(before, original, _plain(written)):
            return True
        if self._open is None:
            is_host = _AUTHORITY.fullmatch(original) is not None
            link, before = _plain(written), self._text + rest
        else:
            link, before = self._text[self._open.start :] + rest, self._text[: self._open.start]
            is_host = _AUTHORITY.fullmatch(link) is not None
            link += _plain(written)
            if not any(map(self._links.was_sent, self._as_sent(link))):
                return True
        goes_on = _host_goes_on(before, after, final) if is_host else False
        if not goes_on:
            return goes_on
        return self._is_other(link, _PLACED.search(before[-_BACK:]), after, final)

    def defines(self, after: str, final: bool) -> bool | None:
        """Return True if a definition begins after what was read that has to be shown as text;
        None if more must come first.

        Args:
            after: what has come from the end of its label on. final: no more comes.
        """
        self._catch_up()
        label = _DEFINED_LABEL.search(self._text)
        if label is None or self._links.in_strings:
            return False
        if not final and len(after) < _LINE and _WHOLE_DEFINITION.match(after) is None:
            return None
        found = _DEFINITION.match(after)
        if found is None:
            return False
        sent = label[0].partition("[")[2] + found[0].rstrip("\n\"'(")
        is_other = not self._links.was_sent(_plain(sent))
        self._has_definition = self._has_definition or is_other
        return self._has_label and is_other

    def _refers(self, before: str, original: str, written: str) -> bool:
        """Return True for a value in a label of a reference, or in an address without a scheme."""
        loaded, label = _LOADED.search(before), _LABEL.search(before)
        self._has_label = self._has_label or label is not None
        if label is not None and self._has_definition:
            return True
        found = None if _BEGINS.match(original) else loaded
        found = found or (label if label is not None and label["fixed"] else None)
        return found is not None and not self._links.was_sent(found[0].lstrip() + written)

    def _is_other(
        self, link: str, placed: re.Match[str] | None, after: str, final: bool
    ) -> bool | None:
        """Return True if a link that goes on to its end was not sent so; None if unknown.

        Args:
            placed: where it stands, if that says by which sign it ends.
        """
        closer = (placed["quote"] or (">" if placed["angle"] else ")")) if placed else ""
        if closer == ")":
            return True  # parentheses in it may nest
        run = _RUNS[closer].match(after)
        assert run is not None
        if run.end() == len(after) < _LONGEST_RUN and not final:
            return None
        if run.end() == _LONGEST_RUN or not after.startswith(closer, run.end()):
            return True
        ends = partial(self._links.ended_so, end=re.escape(closer) or r"(?!\S)")
        return not any(map(ends, self._as_sent(link + _plain(run[0]))))

    def _as_sent(self, link: str) -> Iterator[str]:
        """Yield a link as it was read, and with the values of what was restored in it."""
        yield link
        for original, written in self._restored:
            if link.startswith(original):
                yield written + link[len(original) :]

    def _catch_up(self) -> None:
        """Read what has come, up to an escape that is not finished."""
        if not self._unread:
            return
        unread = _ZEROS.sub(r"\1", self._unread)
        cut = _UNFINISHED.search(unread)
        begin = cut.start(cut.lastgroup or 0) if cut else len(unread)
        self._text, self._unread = self._text + _plain(unread[:begin]), unread[begin:]
        self._follow()
        self._forget()

    def _follow(self) -> None:
        """Find out whether the text ends in a link."""
        while True:
            if self._open is None:
                found = _OPENING.search(self._text, self._from)
                if found is None:
                    self._from = max(self._from, len(self._text) - _LONGEST_OPENING)
                    return
                scheme = _SCHEME.search(self._text, max(0, found.start() - _BACK), found.start())
                self._open = _Open(scheme.start() if scheme else found.start(), found.end())
            end = _end(self._text, self._open)
            if end is None:
                return
            self._from, self._open = end, None

    def _forget(self) -> None:
        """Keep only what later text may be read with."""
        if self._open is None:
            begin = max(0, min(self._from, len(self._text)) - _LINE - _BACK)
            self._text, self._from = self._text[begin:], self._from - begin
            return
        start, end = self._open
        begin = max(0, start - _LINE - _BACK)
        head, rest = self._text[begin:end], self._text[end:]
        if len(rest) > _LONGEST_KEPT:
            depth = min(max(0, rest.count("(") - rest.count(")")), _DEEPEST)
            rest = "(" * depth + "x" * _LONGEST_SENT
        self._text, self._open = head + rest, _Open(start - begin, end - begin)


def _end(text: str, link: _Open) -> int | None:
    """Return where a link ends, None if it goes on."""
    before = text[max(0, link.start - _BACK) : link.start]
    if quoted := _ATTRIBUTE.search(before):
        found = _ENDS_OF_QUOTES[quoted[1]][0].search(text, link.end)
    elif _ANGLE.search(before):
        found = next((m for m in _END_OF_ANGLE.finditer(text, link.end) if m["end"]), None)
    elif _DESTINATION.search(before):
        return _end_of_destination(text, link.end)
    elif quoted := _QUOTE.search(before):
        found = _ENDS_OF_QUOTES[quoted[1]][1].search(text, link.end)
    elif before.endswith("["):
        found = _END_OF_LABEL.search(text, link.end)
    else:
        line = text[max(0, link.start - _LINE) : link.start].rpartition("\n")[2]
        pattern = _END_OF_CELL if line.lstrip().startswith("|") else _END_OF_BARE
        found = pattern.search(text, link.end)
    return found.start() if found else None


def _end_of_destination(text: str, at: int) -> int | None:
    depth = 0
    for sign in _BRACKETS.finditer(text, at):
        if sign[0] == "(":
            depth += 1
        elif sign[0] == ")" and depth:
            depth -= 1
        else:
            return sign.start()
    return None


def _host_goes_on(before: str, after: str, final: bool) -> bool | None:
    """Return True if what comes behind a host makes it another one; None if that is not known.

    Browsers read everything up to a slash as the host, or as a user of the host behind an "@".
    """
    placed = _PLACED.search(before[-_BACK:])
    if placed:
        closer = placed["quote"] or (">" if placed["angle"] else ")")
        ends = after[:1] in {"/", "?", "#"} or after.lstrip().startswith(closer)
    else:
        closer = _CLOSERS.get(before[-1:], "\0")
        ends = after.startswith(closer) or _ENDS_HOST.match(after) is not None
    if not final and _MAY_END_HOST.fullmatch(after) and not (ends and after.strip()):
        return None
    return not ends


def _plain(text: str) -> str:
    r"""Return a text with escaped signs as they are, and `\` as the `/` that browsers read.

    Signs that would end a link are left out: written so, they do not end it.
    """
    return _ESCAPE.sub(_unescaped, text) if "&" in text or "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    found = match[0]
    if found[0] == "&":
        signs = unescape(found)
    elif len(found) > 2:
        signs = chr(int(found[2:], 16))
    elif found[1] in "/\\":
        signs = "//"
    else:
        signs = "/" + found[1] if found[1].isalnum() else found[1]
    return "".join("/" if c == "\\" else c for c in signs if c not in _SIGNS)


def _of_string(text: str) -> tuple[str, str]:
    """Return the inside of a string in JSON as it reads, and the end that is not finished."""
    cut = re.search(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z", text)
    begin = cut.start(1) if cut else len(text)

    def sign(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _STRING_ESCAPES.get(match[2], match[2])

    return _IN_STRING.sub(sign, text[:begin]), text[begin:]
