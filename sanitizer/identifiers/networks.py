"""Identifiers of networks that no single form finds: e-mail, links, hosts, IP and MAC addresses.

Each finder looks first for a character that its identifiers must hold, then reads outwards from
there over a bounded length, so text without it costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

from sanitizer.identifiers.readings import plain_texts, token_around
from sanitizer.identifiers.rows import NUMBER, Search, any_of, word_lists

Found = tuple[int, int, str]

_WORDS = {name: frozenset(words) for name, words in word_lists("network_words").items()}


def _any_of(*lists: str) -> str:
    """Return a pattern for a word of some lists."""
    return any_of(word for name in lists for word in _WORDS[name])


# --- E-mail

_LOCAL = re.compile(r"[\w.!#$%'*+~=-]{1,64}\Z")
_LOCAL_NAME = re.compile(r"[A-Za-z_]{2,20}=(?=.)")
_AT_HOST = re.compile(
    r"@(?<=[\w'*+~%$#!.-]@)(?:(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}"
    r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![\w-]*@)"
    r"|\[(?:[0-9]{1,3}\.){3}[0-9]{1,3}\])"
)


def emails(asked: Search) -> Iterator[Found]:
    """Yield e-mail addresses, read outwards from each "@".

    Remotes such as `git@host` and file names such as `x@2x.png` do not count.
    """
    text = asked.bordered
    for host in _AT_HOST.finditer(text) if "@" in text else ():
        at = host.start()
        local = _LOCAL.search(text, max(0, at - 64), at)
        name = local[0].lstrip(".!#$%'*+~=-").rpartition("..")[2] if local else ""
        if named := _LOCAL_NAME.match(name):
            name = name[named.end() :].lstrip("'")
        end = at + _end_of_host(host[0])
        # a product of matrices in code, such as x@self.weight
        in_code = len(name) == 1 and not has_top_level(host[0])
        if name and end > at and name not in _WORDS["services"] and not in_code:
            yield at - len(name), end, "email"


def _end_of_host(host: str) -> int:
    """Return the length of a host, or a negative number if it is a file name.

    A word that follows without a space (`x.org.Then`) is not part of it.
    """
    labels = host.split(".")
    if labels[-1].lower() in _WORDS["file_endings"]:
        return -(10**9)
    if not has_top_level(host) and labels[-1][:1].isupper() and len(labels) > 2:
        return len(host) - len(labels[-1]) - 1
    return len(host)


# --- Links


def has_top_level(host: str) -> bool:
    """Return True if a host or an address ends in a top-level domain that this package knows."""
    label = host.rpartition(".")[2].lower()
    return label in _WORDS["top_levels"] or label in _WORDS["countries"]


def _is_bare_domain(name: str) -> bool:
    """Return True if dotted labels without a scheme are a domain name.

    They may also be a file name, an attribute in code, or the end of one sentence and the beginning
    of the next.

    The top-level domain must be in lower case, unless the whole name is in upper case. Under
    endings that are also words or file types, only names with `www.` or a second-level ending
    (`co.pl`) count.
    """
    labels = name.split(".")
    if not (labels[-1].islower() or name.isupper()) or labels[0] in _WORDS["objects"]:
        return False
    lower = [label.lower() for label in labels]
    if (
        lower[-1] in _WORDS["countries"]
        and len(labels) > 2
        and lower[-2] in _WORDS["second_levels"]
    ):
        return True
    if lower[-1] in _WORDS["also_words"] and lower[-1] not in {"io", "ai"}:
        return lower[0] == "www"
    return lower[-1] in _WORDS["top_levels"] and (
        len(labels[-2]) > 1 or lower[-1] in {"com", "org", "net"}
    )


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
        opener = _CLOSERS.get(last, "")
        unbalanced = text.count(opener, start, end) < text.count(last, start, end)
        if not (last in ".,;:!?'*_~\"" or (opener and unbalanced)):
            break
        end -= 1
    return end


_PLAIN_LINK = re.compile(
    r"(?:https?://)?(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:/[^?#@]*)?"
    r"|(?:https?|wss?)://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?"
    r"(?:/(?!\S{0,200}[0-9a-f]{8}(?:-[0-9a-f]{4}|[0-9a-f]{8}))[^?#@]*)?",
    re.I,
)
"""Addresses of pages: no user, query or fragment, and a host that may be public."""


def links(asked: Search) -> Iterator[Found]:
    """Yield links with a scheme, with their credentials, and bare domain names with their path."""
    text = asked.bordered
    for start, end in (*_with_scheme(text), *_bare_domains(text)):
        plain = _PLAIN_LINK.fullmatch(text, start, end)
        told = OF_MACHINE.match(text, start, end) or _OF_PERSON.match(text, start, end)
        yield start, end, "link" if plain and not told else "url"


def _with_scheme(text: str) -> Iterator[tuple[int, int]]:
    at, done = text.find("://"), 0
    while at >= 0:
        scheme = _SCHEME.search(text, max(done, at - 17), at)
        rest = _REST.match(text, at + 3) if scheme else None
        if scheme and rest:
            closer = _CLOSING.search(rest[0])
            done = _trimmed(text, at + 3, rest.start() + closer.start() if closer else rest.end())
            if done > at + 3:
                yield scheme.start(), done
            at = text.find("://", rest.end())
        else:
            at = text.find("://", at + 3)


_OPERATOR = re.compile(r" ?(?:\*(?!\*)|\+|==|[-*/+]=|= )")
"""Text after an attribute in code: "invoice.net * 1.19"."""


_SHORT_PATH = re.compile(r"/(?=[A-Za-z-]{0,20}[0-9]|[a-z]{1,20}[A-Z])[\w-]{3,}")
"""A path that no word and no division has: "bit.ly/3kXyZ"."""


def _is_shortened(labels: str, top: str) -> bool:
    """Return True for a name in lower case under any top-level domain but a file's ending."""
    is_known = has_top_level(top) and top not in _WORDS["file_endings"]
    known = is_known or top in _WORDS["shorteners"]
    return known and labels.islower() and len(labels.rpartition(".")[2]) > 2


def _bare_domains(text: str) -> Iterator[tuple[int, int]]:
    for dot in _DOT.finditer(text):
        labels = _LABELS.search(text, max(0, dot.start() - 80), dot.start())
        if not labels or not (
            _is_bare_domain(labels[0] + dot[0])
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
        yield labels.start(), _trimmed(text, end, path.end() if path else end)


# --- Hosts

_PRIVATE = re.compile(
    rf"\.{_any_of('of_networks', 'of_code', 'of_both')}(?![\w-]|\.[A-Za-z0-9]|\()"
)
_HOST_CONTEXT = re.compile(
    r"(?:\b(?:host|hosts|server|servers|ssh|ping|machine|node|hostname|nslookup|dig)\b\W{0,3}|@|://)\Z",
    re.IGNORECASE,
)
_RESERVED = re.compile(r"\.(?:example|test|invalid|int)(?![\w-]|\.[A-Za-z0-9]|\()")
_ROLES = rf"{_any_of('roles')}[0-9]*"
_MACHINE = re.compile(
    rf"(?<![\w./\\$-])(?=(?:[a-z][a-z0-9]*-)*{_ROLES}-)"
    r"(?:(?:[a-z][a-z0-9]*-){2,}[a-z]{0,3}[0-9]{1,4}|[a-z][a-z0-9]*-0[0-9]{1,3})(?![\w-]|\.\w)"
)
"""Names such as "web-stg-2" and "db-02": a word that tells of a machine, and a number at last."""
MACHINE_ROLE = re.compile(_ROLES)
OF_MACHINE = re.compile(
    r"(?i)(?:https?://)?(?:(?:[\w-]+\.)*(?:internal|corp|intra|intranet|lan|prod|prd|preprod|staging|"
    r"stage|stg|uat|qa|vpn|bastion)\.(?=[\w-]+\.)|[\w-]*[a-z](?:-[0-9]{1,3}|0[0-9])\.(?=[\w-]+\.))"
)
"""A host below a domain whose name tells that it is a machine, such as "kafka-3.shop.com"."""
_OF_PERSON = re.compile(
    rf"(?i)(?:https?://)?(?:[\w-]+\.)?(?:{_any_of('pages_of_persons')}"
    r"|(?:instagram|facebook)\.com/[\w.]{3,60}/?\Z|meet\.google\.com/[a-z]{3}-"
    r"|docs\.google\.com/(?:\w+/)?d/|drive\.google\.com/[a-z]|[\w-]+\.sharepoint\.com/)"
)
"""Pages of a person, and addresses that open what they lead to for whoever knows them."""


def hosts(asked: Search) -> Iterator[Found]:
    """Yield names of machines, and of hosts inside private networks.

    Under endings that are also attributes in code, a name counts if it has a digit, a hyphen or a
    label of networks, or words before it that tell of a host; under ".int" and endings that are
    reserved for tests, if it has a digit or a hyphen.
    """
    text = asked.bordered
    if "-" in text:
        yield from ((*m.span(), "host") for m in _MACHINE.finditer(text))
    for endings in (_RESERVED, _PRIVATE) if "." in text else ():
        for ending in endings.finditer(text):
            labels = _LABELS.search(text, max(0, ending.start() - 80), ending.start())
            told = labels and (endings is _PRIVATE or re.search(r"[0-9-]", labels[0]))
            if labels and told and _is_host(text, labels, ending):
                yield labels.start(), ending.end(), "host"


def _is_host(text: str, labels: re.Match[str], ending: re.Match[str]) -> bool:
    if text[labels.start() - 1 : labels.start()] in {".", "\\", "$", "-"}:
        return False
    name, parts = labels[0], labels[0].split(".")
    if ending[0][1:] in _WORDS["of_networks"] or any(c.isdigit() or c == "-" for c in name):
        return not name.isdigit()
    if not _WORDS["network_labels"].isdisjoint(parts) or (
        len(parts) > 1 and ending[0][1:] not in _WORDS["of_code"]
    ):
        return True
    port = text[ending.end() : ending.end() + 2]
    has_port = port[:1] == ":" and port[1:].isdecimal()
    return has_port or bool(_HOST_CONTEXT.search(text, max(0, labels.start() - 14), labels.start()))


# --- Addresses

_BACK = 48
"""Characters before an address that are searched for words which say what it is."""
_IPV4 = re.compile(
    r"(?<![^\W_])(?<!\.)(?<![A-Za-z]-)(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
    r"(?:/(?:3[0-2]|[12]?[0-9])(?![0-9/]))?(?![^\W_]|\.[0-9])"
)
_OF_HOST = re.compile(rf"(?i)(?:[@=/~]|\b{_any_of('before_addresses')}\b[^\n0-9]{{0,12}})\Z")
_SERVED = re.compile(r":[0-9]{2,5}(?![0-9])|/[0-9]")
"""What makes four single digits an address: they are a version anywhere else."""
_OF_ADDRESS = re.compile(rf"(?i)(?<![^\W_]){_any_of('in_names_of_files')}_\Z")
"""Words before "_" that make four numbers behind it an address, not the version of a file."""
_VERSION = re.compile(
    rf"(?i)(?:\b{_any_of('before_versions')}\b[.:=/]?"
    r"|\b(?:upgrad|downgrad|bump)\w{1,3}\b[^\n.;:]{0,20}?(?: from)? (?:[0-9.]{5,15} to )?"
    r"|§|[=<>~^!]=|~>|\^)\s{0,2}[\"']?\Z"
)
_COMPARED_HOST = re.compile(
    r"(?i)(?:\b|[_.])(?:ip|addr|address|host|server|src|dst|source|remote|client|peer|gateway|node)"
    r"\s{0,2}[=!]=\s{0,2}[\"']?\Z"
)


def is_ip(text: str) -> bool:
    """Return True if the standard library reads `text` as an IPv4 or IPv6 address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def ipv4s(asked: Search) -> Iterator[Found]:
    """Yield IPv4 addresses, with their prefix length; not version or section numbers."""
    text = asked.text
    for m in _IPV4.finditer(text) if text.count(".") > 2 else ():
        before = text[max(0, m.start() - _BACK) : m.start()]
        version = bool(_VERSION.search(before) and not _COMPARED_HOST.search(before))
        address = m[0].partition("/")[0]
        if len(address) == len("001.002.003.004"):
            address = ".".join(str(int(part)) for part in address.split("."))
        if text[m.end() : m.end() + 1] == "_" or before.endswith("_"):
            version = version or not _OF_ADDRESS.search(before)
        if len(m[0]) == len("1.2.3.4") and not _OF_HOST.search(before):
            version = version or not _SERVED.match(text, m.end())
        if is_ip(address) and not version and m[0] not in _WORDS["nowhere"]:
            yield m.start(), m.end(), "ipv4"


_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_LEFT_HEX = re.compile(r"[0-9A-Fa-f:]{1,40}\Z")
_RIGHT_HEX = re.compile(r"[0-9A-Fa-f:.]*")
_PARTS_OF_MAC = 6
_MAC = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\Z")
# Compressed IPv6 addresses have a first group in use, and another one. So Python's slices
# (`x[1::2]`) and numbers before two colons do not count.
_COMPRESSED = re.compile(r"(?i)::1\Z|::ffff:|64:ff9b::|0?0?[0-9a-f]{3,4}:[0-9a-f:.]*[0-9a-f]\Z")
_PREFIX = re.compile(r"(?:%[0-9A-Za-z]{1,15})?(?:/(?:1[01][0-9]|12[0-8]|[1-9]?[0-9])(?![0-9]))?")


def hexadecimal_addresses(asked: Search) -> Iterator[Found]:
    """Yield IPv6 addresses (with zone and prefix length) and MAC addresses in pairs."""
    text, done = asked.text, 0
    for colon in _COLONS.finditer(text):
        if colon.start() < done:
            continue
        left = _LEFT_HEX.search(text, max(done, colon.start() - 40), colon.start())
        start = left.start() if left else colon.start()
        right = _RIGHT_HEX.match(text, colon.start())
        done = right.end() if right else colon.end()
        yield from _hex_run(text, start, done)


def _hex_run(text: str, start: int, end: int) -> Iterator[Found]:
    while end > start and text[end - 1] in ".:" and text[end - 2 : end] != "::":
        end -= 1
    glued_before = start and (text[start - 1].isalnum() or text[start - 1] in "_.")
    glued_after = text[end : end + 1].isalnum()
    run = text[start:end]
    if glued_after or end - start > 45 or run.lower() in _WORDS["of_nobody"]:
        return
    if run.count(":") == _PARTS_OF_MAC - 1 and (found := _MAC.search(run)):
        yield start + found.start(), end, "mac"  # also behind "10.1.2.4", with nothing between
    elif glued_before or not any(c.isdigit() for c in run):
        return
    elif run.count(":") > 1 and is_ip(run):
        tail = _PREFIX.match(text, end)
        last = tail.end() if tail else end
        if "::" not in run or last > end or _COMPRESSED.match(run):
            yield start, last, "ipv6"


# --- What a token says

_MIXED = re.compile("[a-z+/][A-Z]")
_SHORTEST_TOKEN, _SHORTEST_HEX, _SHORTEST_WORD = 10, 14, 12
"""Characters of the shortest word that can be encoded, of one without letters, and of one without
digits."""


def encoded(asked: Search) -> Iterator[Found]:
    """Yield words that hold an identifier in base64 or hexadecimal."""
    from sanitizer.identifiers.search import candidates

    inner = asked.wanted - {"ENCODED", "DATE", "LINK"}
    for start, end in _long_words(asked.text):
        plain_ones = plain_texts(asked.text[start:end])
        if any(candidates(plain, inner, asked.registry) for plain in plain_ones):
            yield start, end, "encoded"


def _long_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield words that are long enough to be encoded: with a digit, or with both cases."""
    done = 0
    for group in NUMBER.finditer(text):
        first, last = group.span()
        glued = text[first - 1 : first].isalpha() or text[last : last + 1].isalpha()
        if first >= done and (glued or last - first >= _SHORTEST_HEX):
            first, done = token_around(text, first, last, done)
            if done - first >= _SHORTEST_TOKEN:
                yield first, done
    done = 0
    for mixed in _MIXED.finditer(text):
        if mixed.start() >= done:
            first, done = token_around(text, *mixed.span(), done)
            if done - first >= _SHORTEST_WORD and not NUMBER.search(text, first, done):
                yield first, done
