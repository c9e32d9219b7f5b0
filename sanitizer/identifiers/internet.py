"""Identifiers made of letters and signs: e-mail, URLs, domain names, IPv6, MAC addresses, keys.

Each finder looks first for a character or word that its identifiers must hold, then reads outwards
from there over a bounded length, so text without it costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanitizer.identifiers.checks import (
    FILE_ENDINGS,
    entropy,
    is_bare_domain,
    is_ip,
    is_top_level,
    looks_random,
)

Span = tuple[int, int, str]

_LOCAL = re.compile(r"[\w.!#$%'*+~=-]{1,64}\Z")
_LOCAL_NAME = re.compile(r"[A-Za-z_]{2,20}=(?=.)")
_AT_HOST = re.compile(
    r"@(?<=[\w'*+~%$#!.-]@)(?:(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}"
    r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![\w-]*@)"
    r"|\[(?:[0-9]{1,3}\.){3}[0-9]{1,3}\])"
)
_SERVICES = frozenset({"git", "hg", "svn"})


def emails(text: str) -> Iterator[Span]:
    """Yield e-mail addresses, read outwards from each "@".

    Remotes such as `git@host` and file names such as `x@2x.png` do not count.
    """
    for host in _AT_HOST.finditer(text):
        at = host.start()
        local = _LOCAL.search(text, max(0, at - 64), at)
        name = local[0].lstrip(".!#$%'*+~=-").rpartition("..")[2] if local else ""
        if named := _LOCAL_NAME.match(name):
            name = name[named.end() :].lstrip("'")
        end = at + _end_of_host(host[0])
        # a product of matrices in code, such as x@self.weight
        in_code = len(name) == 1 and not is_top_level(host[0].rpartition(".")[2].lower())
        if name and end > at and name not in _SERVICES and not in_code:
            yield at - len(name), end, "EMAIL"


def _end_of_host(host: str) -> int:
    """Return the length of a host, or a negative number if it is a file name.

    A word that follows without a space (`x.org.Then`) is not part of it.
    """
    labels = host.split(".")
    if labels[-1].lower() in FILE_ENDINGS:
        return -(10**9)
    if not is_top_level(labels[-1].lower()) and labels[-1][:1].isupper() and len(labels) > 2:
        return len(host) - len(labels[-1]) - 1
    return len(host)


_SCHEME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,15}\Z")
_REST = re.compile(r"[^\s<>\"`{}|\\^\x00-\x1f]{1,4096}")
# Markdown's "](" and a JSON or shell quote end a URL even without a space.
_CLOSING = re.compile(r"\]\(|',|'}")
_CLOSERS = {")": "(", "]": "["}
_DOT = re.compile(r"\.([A-Za-z]{2,6})(?![\w-]|\.[A-Za-z0-9])")
_LABELS = re.compile(
    r"(?<![A-Za-z0-9_@-])(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?\.){0,4}"
    r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?\Z"
)
_PATH = re.compile(r"(?::[0-9]{2,5})?(?:[/?#][^\s<>\"`{}|\\^]{0,4096})?")


def _trimmed(text: str, start: int, end: int) -> int:
    """Return the end of a URL without the punctuation of the sentence or markup around it."""
    while end > start:
        last = text[end - 1]
        opener = _CLOSERS.get(last)
        unbalanced = opener is not None and text.count(opener, start, end) < text.count(
            last, start, end
        )
        if not (last in ".,;:!?'*_~\"" or unbalanced):
            break
        end -= 1
    return end


def urls(text: str) -> Iterator[Span]:
    """Yield URLs with a scheme, with their credentials, and bare domain names with their path."""
    at, done = text.find("://"), 0
    while at >= 0:
        scheme = _SCHEME.search(text, max(done, at - 17), at)
        rest = _REST.match(text, at + 3) if scheme else None
        if scheme and rest:
            closer = _CLOSING.search(rest[0])
            done = _trimmed(text, at + 3, rest.start() + closer.start() if closer else rest.end())
            if done > at + 3:
                yield scheme.start(), done, "URL"
            at = text.find("://", rest.end())
        else:
            at = text.find("://", at + 3)
    yield from _bare_domains(text)


def _bare_domains(text: str) -> Iterator[Span]:
    for dot in _DOT.finditer(text):
        labels = _LABELS.search(text, max(0, dot.start() - 80), dot.start())
        if not labels or not is_bare_domain(labels[0] + dot[0]):
            continue
        end, following = dot.end(), text[dot.end() : dot.end() + 1]
        if following == "(" or text[labels.start() - 1 : labels.start()] in {".", "/", "\\", "$"}:
            continue
        path = _PATH.match(text, end)
        yield labels.start(), _trimmed(text, end, path.end() if path else end), "URL"


_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_LEFT_HEX = re.compile(r"[0-9A-Fa-f:]{1,40}\Z")
_RIGHT_HEX = re.compile(r"[0-9A-Fa-f:.]*")
_MAC = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\Z")
# Compressed IPv6 addresses have a first group in use, and another one. So Python's slices
# (`x[1::2]`) and numbers before two colons do not count.
_COMPRESSED = re.compile(r"(?i)::1\Z|::ffff:|64:ff9b::|0?0?[0-9a-f]{3,4}:[0-9a-f:.]*[0-9a-f]\Z")
_PREFIX = re.compile(r"(?:%[0-9A-Za-z]{1,15})?(?:/(?:1[01][0-9]|12[0-8]|[1-9]?[0-9])(?![0-9]))?")
_HYPHENS = re.compile(
    r"-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}(?![\w-])"
)
_DOTTED = re.compile(r"\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?!\w|\.\w)")


def addresses(text: str) -> Iterator[Span]:
    """Yield IPv6 addresses (with zone and prefix length) and MAC addresses in three notations."""
    done = 0
    for colon in _COLONS.finditer(text):
        if colon.start() < done:
            continue
        left = _LEFT_HEX.search(text, max(done, colon.start() - 40), colon.start())
        start = left.start() if left else colon.start()
        right = _RIGHT_HEX.match(text, colon.start())
        done = right.end() if right else colon.end()
        yield from _hex_run(text, start, done)
    if text.count("-") > 4 or text.count(".") > 1:
        yield from _other_macs(text)


def _hex_run(text: str, start: int, end: int) -> Iterator[Span]:
    while end > start and text[end - 1] in ".:" and text[end - 2 : end] != "::":
        end -= 1
    glued_before = start and (text[start - 1].isalnum() or text[start - 1] in "_.")
    glued_after = text[end : end + 1].isalnum()
    run = text[start:end]
    if glued_before or glued_after or end - start > 45 or not any(c.isdigit() for c in run):
        return
    if _MAC.match(run):
        yield start, end, "MAC"
    elif run.count(":") > 1 and is_ip(run):
        tail = _PREFIX.match(text, end)
        last = tail.end() if tail else end
        if "::" not in run or last > end or _COMPRESSED.match(run):
            yield start, last, "IP"


def _other_macs(text: str) -> Iterator[Span]:
    for pattern, n in ((_HYPHENS, 2), (_DOTTED, 4)):
        for m in pattern.finditer(text):
            start = m.start() - n
            whole = text[max(0, start) : m.end()]
            clear = start == 0 or (
                start > 0 and not (text[start - 1].isalnum() or text[start - 1] in "_-.")
            )
            hexadecimal = all(c in "0123456789abcdefABCDEF-." for c in whole[:n])
            if (
                clear
                and hexadecimal
                and any(c.isalpha() for c in whole)
                and any(c.isdigit() for c in whole)
            ):
                yield start, m.end(), "MAC"


KEY_FORMS: dict[str, str] = {
    "sk-": r"(?:ant-(?:api|admin)?[0-9]{0,2}-?|proj-|svcacct-|admin-|or-v1-|lf-)?[\w-]{20,300}",
    "pk-lf-": r"[\w-]{20,60}",
    "ghp_": r"[A-Za-z0-9]{30,255}",
    "gho_": r"[A-Za-z0-9]{30,255}",
    "ghu_": r"[A-Za-z0-9]{30,255}",
    "ghs_": r"[A-Za-z0-9]{30,255}",
    "ghr_": r"[A-Za-z0-9]{30,255}",
    "github_pat_": r"\w{22,255}",
    "AKIA": r"[A-Z0-9]{16}(?![A-Za-z0-9])",
    "ASIA": r"[A-Z0-9]{16}(?![A-Za-z0-9])",
    "xox": r"[abeprs]-[\w-]{10,250}",
    "xapp-": r"[\w-]{20,250}",
    "AIza": r"[\w-]{35}(?![\w-])",
    "ya29.": r"[\w-]{20,250}",
    "GOCSPX-": r"[\w-]{20,60}",
    "glpat-": r"[\w-]{20,60}",
    "hf_": r"[A-Za-z0-9]{30,60}",
    "SG.": r"[\w-]{16,64}\.[\w-]{16,64}",
    "npm_": r"[A-Za-z0-9]{36}(?![A-Za-z0-9])",
    "pypi-": r"[\w-]{50,300}",
    "sk_live_": r"[A-Za-z0-9]{16,250}",
    "sk_test_": r"[A-Za-z0-9]{16,250}",
    "rk_live_": r"[A-Za-z0-9]{16,250}",
    "rk_test_": r"[A-Za-z0-9]{16,250}",
    "pk_live_": r"[A-Za-z0-9]{16,250}",
    "pk_test_": r"[A-Za-z0-9]{16,250}",
    "whsec_": r"[A-Za-z0-9+/=]{20,120}",
    "dop_v1_": r"[0-9a-f]{64}",
    "gsk_": r"[A-Za-z0-9]{30,80}",
    "xai-": r"[A-Za-z0-9]{40,120}",
    "r8_": r"[A-Za-z0-9]{30,60}",
    "shpat_": r"[0-9a-fA-F]{32}",
    "lin_api_": r"[A-Za-z0-9]{32,60}",
    "dckr_pat_": r"[\w-]{20,60}",
    "eyJ": r"[\w-]{8,4000}\.eyJ[\w-]{8,8000}\.[\w-]{0,2000}",
}
"""Public prefixes of keys, and patterns of what follows.

The prefix stays when a key is replaced by another one.
"""
PEM_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_PEM_BODY = re.compile(r"[\sA-Za-z0-9+/=]{0,20000}")
_PEM_SIZE = 20_000
_SIGNS = "-_.Axy"
_MARKS = {
    sign: [mark for mark in KEY_FORMS if next(each for each in _SIGNS if each in mark) == sign]
    for sign in _SIGNS
}
"""Prefixes by a character that all of them hold: a text without it is not searched for them."""
_COMPILED: dict[str, re.Pattern[str]] = {}

_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd")
_SECRETS = ("secret", "token", "credential", "key")
_KEY_OWNER = re.compile(
    r"(?:api|access|secret|private|auth|account|client|signing|encryption|subscription)[_ -]?\Z"
)
_ASSIGNED = re.compile(
    r"(?:s|[_-]?id)?[\"']?\s{0,3}(?:=>|:=|==?|:|\b[Ii]s\b:?)\s{0,3}"
    r"(?:[\"'`]([^\s\"'`]{6,300})[\"'`]|([^\s\"'`,;<>()\[\]{}]{6,300}+)(?![(\[{]))"
)
_BEARER = re.compile(
    r"(?i)\b(?:bearer|basic|authorization: token) +([A-Za-z0-9._~+/-]{16,4000}={0,2})"
)
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[]|\$|%|\{|<|os\.|env|https?:|process\.")


def keys(text: str, lowered: str) -> Iterator[Span]:
    """Yield API keys, private key blocks, and values assigned to names such as `password`.

    Args:
        text: the text.
        lowered: the text in lower case, at the same offsets.
    """
    for sign, marks in _MARKS.items():
        if sign in text:
            for mark in marks:
                if mark in text:
                    yield from _marked(text, mark, KEY_FORMS[mark])
    if "-----BEGIN " in text:
        yield from _pem_blocks(text)
    for word in (*_PASSWORDS, *_SECRETS):
        if word in lowered:
            yield from _assigned(text, lowered, word)
    if "bearer" in lowered or "basic " in lowered or "authorization" in lowered:
        for m in _BEARER.finditer(text):
            if looks_random(m[1]):
                yield m.start(1), m.end(1), "KEY"


def _marked(text: str, mark: str, rest: str) -> Iterator[Span]:
    pattern = _COMPILED.setdefault(mark, re.compile(rest))
    at = text.find(mark)
    while at >= 0:
        end, clear = at + len(mark), not (at and (text[at - 1].isalnum() or text[at - 1] in "_-"))
        m = pattern.match(text, end) if clear else None
        if m:
            end = m.end() - (m[0][-1] in "-_")
            if looks_random(text[at + len(mark) : end]) or (
                len(m[0]) == 16 and entropy(m[0]) > 2.5
            ):
                yield at, end, "KEY"
        at = text.find(mark, end)


def _pem_blocks(text: str) -> Iterator[Span]:
    begins = list(PEM_BEGIN.finditer(text))
    limits = [*(m.start() for m in begins[1:]), len(text)]
    for begin, limit in zip(begins, limits, strict=False):  # none begins: nothing to limit
        stop = min(limit, begin.end() + _PEM_SIZE)
        at = text.find("-----END ", begin.end(), stop)
        end = (_PEM_END.match(text, at) if at >= 0 else None) or _PEM_BODY.match(
            text, begin.end(), stop
        )
        if end:
            yield (
                begin.start(),
                begin.start() + len(text[begin.start() : end.end()].rstrip()),
                "KEY",
            )


def _assigned(text: str, lowered: str, word: str) -> Iterator[Span]:
    at, password = lowered.find(word), word in _PASSWORDS
    while at >= 0:
        end = at + len(word)
        owned = word != "key" or _KEY_OWNER.search(lowered, max(0, at - 14), at)
        if owned and (m := _ASSIGNED.match(text, end)):
            end, value = m.end(), (m[1] or m[2]).rstrip(".,;:!?")
            start = m.start(1) if m[1] else m.start(2)
            if _is_password(value, m[1] is not None) if password else _is_secret(value):
                yield start, start + len(value), "KEY"
        at = lowered.find(word, end)


def _is_secret(value: str) -> bool:
    return len(value) >= 12 and not _CODE.match(value) and looks_random(value)


def _is_password(value: str, quoted: bool) -> bool:
    """Return True if the value is written out, and no expression, variable or word."""
    has_digit = any(c.isdigit() for c in value)
    return (has_digit and not _CODE.match(value) and entropy(value) >= 2.0) or (
        quoted and _is_mixed(value)
    )


def _is_mixed(value: str) -> bool:
    """Return True if a quoted password without digits mixes cases and signs."""
    signs = any(not c.isalnum() and c not in "._-$%{}()<>[]" for c in value)
    return signs and value.lower() != value
