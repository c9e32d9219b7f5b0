"""Identifiers of networks: e-mail, URLs, domain names, internal hosts, IPv6 and MAC addresses.

Each finder looks first for a character or word that its identifiers must hold, then reads outwards
from there over a bounded length, so text without it costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanitizer.identifiers.checks import (
    FILE_ENDINGS,
    is_bare_domain,
    is_ip,
    is_top_level,
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


_SPELLED_AT = re.compile(r"(?i)[\[({]\s?(?:at|@|ät|arobase)\s?[\])}]\s?")
_SPELLED_HOST = re.compile(
    r"(?i)[a-z0-9-]{1,40}(?:\s?(?:\.|[\[({]\s?(?:dot|punkt|point|\.)\s?[\])}])\s?[a-z0-9-]{2,40}){1,4}"
)


def spelled_emails(text: str) -> Iterator[Span]:
    """Yield addresses whose "@" is written as a word in brackets: `anna [at] example [dot] org`."""
    for at in _SPELLED_AT.finditer(text):
        end = at.start() - text[at.start() - 1 : at.start()].isspace()
        dotted = _SPELLED_LOCAL.search(text, max(0, end - 80), end)
        local = dotted or _LOCAL.search(text, max(0, end - 64), end)
        host = _SPELLED_HOST.match(text, at.end())
        if local and host and (local[0][-1].isalnum() or local[0][-1] in "_-"):
            yield local.start(), host.end(), "EMAIL"


_SPELLED_LOCAL = re.compile(
    r"(?i)(?<![\w.-])[\w-]{1,30}"
    r"(?:\s?[\[({]\s?(?:dot|punkt|point|punto|\.)\s?[\])}]\s?[\w-]{1,30}){1,3}\Z"
)
_APART = re.compile(
    r"(?<![\w.+-])(?=[\w.+-]{0,40}[._0-9])[\w+-][\w.+-]{1,40} @ "
    r"(?:[a-z0-9-]{1,40}\.){1,4}[a-z]{2,12}(?![\w-])"
)
"""An address with spaces around its "@", of a name with a dot, a digit or an underscore."""
_SPOKEN_EMAIL = re.compile(
    r"(?i)(?<![\w.-])(?!(?:work|working|look|looking|found|available|visit|bought|shop|order|am|is|are"
    r"|me|us|you|it) at )([\w-]{2,30}(?:(?:\.| dot )[\w-]{1,30}){0,3}) at "
    r"((?!the |this |that |a )[a-z0-9-]{2,40}(?: dot [a-z0-9-]{2,30}){0,2}) dot "
    r"(com|org|net|edu|gov|io|co|eu|de|fr|nl|es|it|uk|ch|at|be|pl|se|us|ca|au|in)(?![\w-])"
)
_DOTS_IN_BRACKETS = re.compile(
    r"(?i)[\w.+-]{1,64}@[a-z0-9-]{1,63}(?:(?:\.|\[\.\]|\(\.\)|\[dot\]|\(dot\))[a-z0-9-]{1,63}){1,5}"
)
_QUOTED_LOCAL = re.compile(
    r"(?<![\w@])\"[^\"\s@:,{}][^\"\n@:,{}]{0,62}\"@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24}"
    r"(?![\w-])"
)


def other_emails(text: str) -> Iterator[Span]:
    """Yield addresses that are spelled out, quoted, or have dots in brackets."""
    if " dot " in text or " DOT " in text:
        for m in _SPOKEN_EMAIL.finditer(text):
            yield m.start(), m.end(), "EMAIL"
    if "@" in text and ("[" in text or "(" in text):
        for m in _DOTS_IN_BRACKETS.finditer(text):
            if "[" in m[0] or "(" in m[0]:
                yield m.start(), m.end(), "EMAIL"
    if " @ " in text:
        for m in _APART.finditer(text):
            if is_top_level(m[0].rpartition(".")[2].lower()):
                yield m.start(), m.end(), "EMAIL"
    if '"@' in text:
        for m in _QUOTED_LOCAL.finditer(text):
            yield m.start(), m.end(), "EMAIL"


_DEFANGED = re.compile(r"(?<![\w.])(?:[0-9]{1,3}\[\.\]){3}[0-9]{1,3}(?!\w)")


def defanged(text: str) -> Iterator[Span]:
    """Yield IPv4 addresses whose dots stand in brackets, as reports of attacks write them."""
    for m in _DEFANGED.finditer(text):
        if is_ip(m[0].replace("[.]", ".")):
            yield m.start(), m.end(), "IP"


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
_DOT = re.compile(r"\.([A-Za-z]{2,11})(?![\w-]|\.[A-Za-z0-9])")
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


_OPERATOR = re.compile(r" ?(?:\*(?!\*)|\+|==|[-*/+]=|= )")
"""Text after an attribute in code: "invoice.net * 1.19"."""


_SHORT_PATH = re.compile(r"/(?=[A-Za-z-]{0,20}[0-9]|[a-z]{1,20}[A-Z])[\w-]{3,}")
"""A path that no word and no division has: "bit.ly/3kXyZ"."""
_SHORTENERS = frozenset(["gd", "gg", "gl", "ly"])


def _is_shortened(labels: str, top: str) -> bool:
    """Return True for a name in lower case under any top-level domain but a file's ending."""
    known = (is_top_level(top) and top not in FILE_ENDINGS) or top in _SHORTENERS
    return known and labels.islower() and len(labels.rpartition(".")[2]) > 2


def _bare_domains(text: str) -> Iterator[Span]:
    for dot in _DOT.finditer(text):
        labels = _LABELS.search(text, max(0, dot.start() - 80), dot.start())
        if not labels or not (
            is_bare_domain(labels[0] + dot[0])
            or (_SHORT_PATH.match(text, dot.end()) and _is_shortened(labels[0], dot[1]))
        ):
            continue
        end, following = dot.end(), text[dot.end() : dot.end() + 1]
        if (
            following == "("
            or _OPERATOR.match(text, end)
            or text[labels.start() - 1 : labels.start()] in {".", "/", "\\", "$"}
        ):
            continue
        path = _PATH.match(text, end)
        yield labels.start(), _trimmed(text, end, path.end() if path else end), "URL"


_PRIVATE = re.compile(
    r"\.(?:fritz\.box|home\.arpa|internal|local|lan|corp|intra|intranet|home|private|localdomain)"
    r"(?![\w-]|\.[A-Za-z0-9]|\()"
)
_OF_NETWORKS = frozenset(
    {".fritz.box", ".home.arpa", ".lan", ".corp", ".intra", ".intranet", ".localdomain"}
)
_OF_CODE = frozenset({".internal", ".private", ".home"})
_NETWORK_LABELS = frozenset("svc cluster ec2 compute corp ad prod dev staging test".split())
_HOST_CONTEXT = re.compile(
    r"(?:\b(?:host|hosts|server|servers|ssh|ping|machine|node|hostname|nslookup|dig)\b\W{0,3}|@|://)\Z",
    re.IGNORECASE,
)
_RESERVED = re.compile(r"\.(?:example|test|invalid|int)(?![\w-]|\.[A-Za-z0-9]|\()")
_ROLES = (
    r"(?:db|sql|web|app|api|srv|server|host|node|prod|prd|tst|ora|esx|ldap|stg|staging|dev|uat|qa|intra|cache|redis|kafka|"
    r"mail|smtp|k8s|vm|gw|proxy|nas|dc|jenkins|worker|bastion|vpn|lb|pg|mysql|postgres|mongo)[0-9]*"
)
_MACHINE = re.compile(
    rf"(?<![\w./\\$-])(?=(?:[a-z][a-z0-9]*-)*{_ROLES}-)"
    r"(?:(?:[a-z][a-z0-9]*-){2,}[a-z]{0,3}[0-9]{1,4}|[a-z][a-z0-9]*-0[0-9]{1,3})(?![\w-]|\.\w)"
)
"""Names such as "web-stg-2" and "db-02": a word that tells of a machine, and a number at last."""
_NUMBERED = re.compile("-[a-z]{0,3}[0-9]")
_LOGIN_COMMAND = re.compile(r"\b(?:ssh|scp|sftp|rsync|mosh)\b")
_LOGIN_HOST = re.compile(
    r"\b(?:ssh|scp|sftp|rsync|mosh)\b[^\n|;&@]{1,80}@"
    r"(?=[a-z-]{0,40}[0-9])([a-z][a-z0-9-]{2,40})(?![\w.@-])"
)
"""A machine in a command that logs in there."""
_PARTS_BEFORE = re.compile(r"[a-z][a-z0-9-]{0,79}\Z")
MACHINE_ROLE = re.compile(_ROLES)
OF_MACHINE = re.compile(
    r"(?i)(?:https?://)?(?:(?:[\w-]+\.)*(?:internal|corp|intra|intranet|lan|prod|prd|preprod|staging|"
    r"stage|stg|uat|qa|vpn|bastion)\.(?=[\w-]+\.)|[\w-]*[a-z](?:-[0-9]{1,3}|0[0-9])\.(?=[\w-]+\.))"
)
"""A host below a domain whose name tells that it is a machine, such as "kafka-3.shop.com"."""
OF_PERSON = re.compile(
    r"(?i)(?:https?://)?(?:[\w-]+\.)?(?:linkedin\.com/(?:in|pub)/|(?:instagram|facebook)\.com/[\w.]{3,60}/?\Z"
    r"|tiktok\.com/@|(?:t|wa|signal|paypal|line)\.me/|calendly\.com/|venmo\.com/|strava\.com/athletes/"
    r"|meet\.google\.com/[a-z]{3}-|zoom\.us/(?:j|my|s)/|teams\.microsoft\.com/l/"
    r"|docs\.google\.com/(?:\w+/)?d/|drive\.google\.com/[a-z]|dropbox\.com/s|1drv\.ms/"
    r"|[\w-]+\.sharepoint\.com/|forms\.gle/|chat\.whatsapp\.com/|discord\.gg/|maps\.app\.goo\.gl/"
    r"|pastebin\.com/)"
)
"""Pages of a person, and addresses that open what they lead to for whoever knows them."""
_UNC = re.compile(r"(?<![\w\\}\]).!?])(?:\\\\){1,4}([A-Za-z0-9][A-Za-z0-9.-]{1,62})\\")
"""A host of a share; what stands right behind a word is an escape (`\\\\u201d`)."""
_ESCAPED = re.compile("u[0-9a-fA-F]{4}")
_OF_DRIVE = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:\Z|%\Z")
"""What stands before a path on this machine, whose separators are escaped."""


def hosts(text: str) -> Iterator[Span]:
    """Yield names of machines, and of hosts inside private networks.

    Under endings that are also attributes in code, a name counts if it has a digit, a hyphen or a
    label of networks, or words before it that tell of a host; under ".int" and endings that are
    reserved for tests, if it has a digit or a hyphen.
    """
    if "-" in text:
        yield from _machines(text)
    if "@" in text and _LOGIN_COMMAND.search(text):
        for m in _LOGIN_HOST.finditer(text):
            yield m.start(1), m.end(1), "HOST"
    if "." in text:
        for ending in _RESERVED.finditer(text):
            labels = _LABELS.search(text, max(0, ending.start() - 80), ending.start())
            if labels and re.search(r"[0-9-]", labels[0]) and _is_host(text, labels, ending):
                yield labels.start(), ending.end(), "HOST"
        for ending in _PRIVATE.finditer(text):
            labels = _LABELS.search(text, max(0, ending.start() - 80), ending.start())
            if labels and _is_host(text, labels, ending):
                yield labels.start(), ending.end(), "HOST"


def _machines(text: str) -> Iterator[Span]:
    """Yield names of machines, each read from the beginning of its word."""
    done = 0
    for numbered in _NUMBERED.finditer(text):
        if numbered.start() < done:
            continue
        word = _PARTS_BEFORE.search(text, max(done, numbered.start() - 80), numbered.start())
        if word and (found := _MACHINE.match(text, word.start())):
            done = found.end()
            yield found.start(), done, "HOST"


def shares(text: str) -> Iterator[Span]:
    """Yield the hosts in paths of shares (`\\\\HOST\\share`)."""
    if "\\" in text and "\\\\" in text:
        for m in _UNC.finditer(text):
            if _OF_DRIVE.search(text, max(0, m.start() - 3), m.start()) or m[1][-1] in "-.":
                continue
            if any(c.isalnum() and not c.islower() for c in m[1]) and not _ESCAPED.match(m[1]):
                yield m.start(1), m.end(1), "HOST"


def _is_host(text: str, labels: re.Match[str], ending: re.Match[str]) -> bool:
    if text[labels.start() - 1 : labels.start()] in {".", "/", "\\", "$", "-"} - {"/"}:
        return False
    name, parts = labels[0], labels[0].split(".")
    if ending[0] in _OF_NETWORKS or any(c.isdigit() or c == "-" for c in name):
        return not name.isdigit()
    if not _NETWORK_LABELS.isdisjoint(parts) or (len(parts) > 1 and ending[0] not in _OF_CODE):
        return True
    port = (
        text[ending.end() : ending.end() + 1] == ":"
        and text[ending.end() + 1 : ending.end() + 2].isdigit()
    )
    return port or bool(_HOST_CONTEXT.search(text, max(0, labels.start() - 14), labels.start()))


_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_LEFT_HEX = re.compile(r"[0-9A-Fa-f:]{1,40}\Z")
_RIGHT_HEX = re.compile(r"[0-9A-Fa-f:.]*")
_PARTS_OF_MAC = 6
_OF_NOBODY = frozenset(
    {"::1", "::", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "ff02::1", "ff02::2"}
)
"""Addresses of the machine itself, of all machines and of none."""
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
    if glued_after or end - start > 45:
        return
    if run in _OF_NOBODY or run.lower() in _OF_NOBODY:
        return
    if run.count(":") == _PARTS_OF_MAC - 1 and (found := _MAC.search(run)):
        yield start + found.start(), end, "MAC"  # also behind "10.1.2.4", with nothing between
    elif glued_before or not any(c.isdigit() for c in run):
        return
    elif run.count(":") > 1 and is_ip(run):
        tail = _PREFIX.match(text, end)
        last = tail.end() if tail else end
        if "::" not in run or last > end or _COMPRESSED.match(run):
            yield start, last, "IP"


_PLAIN_MAC = re.compile(
    r"(?i)\bmac(?:[ _-]?(?:address|addr|adresse|id))?(?: is)?\W{0,3}"
    r"(?=[0-9a-f]{0,11}[0-9])([0-9a-f]{12})(?![0-9a-z])"
)


def all_addresses(text: str, lowered: str) -> Iterator[Span]:
    """Yield addresses of networks and of devices in them, however they are written."""
    yield from addresses(text)
    if "mac" in lowered:
        yield from announced_macs(text)
    if "[.]" in text:
        yield from defanged(text)


def announced_macs(text: str) -> Iterator[Span]:
    """Yield MAC addresses without separators after the word "MAC"."""
    for m in _PLAIN_MAC.finditer(text):
        yield m.start(1), m.end(1), "MAC"


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
