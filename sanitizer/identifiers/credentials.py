"""Passwords, tokens and keys by the name that announces them.

A value counts whatever its letters are if a name such as `password` stands before it in an
assignment, a flag, a tag, a header or a sentence, in English, German, French, Spanish, Italian,
Dutch and Portuguese; left out are expressions of code, variables, and words that say something
about a password ("wrong", "required").

Not protected: passwords of letters that no name announces, and those that are such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanitizer.identifiers.checks import looks_random
from sanitizer.identifiers.keys import (
    CODE,
    GOES_ON,
    NO_VALUES,
    OF_SENTENCES,
    PASSWORDS,
    SECRETS,
    SIGN,
    STEMS,
    WHOLE_STATES,
    is_expression,
    is_mixed,
    is_no_remark,
    is_remark,
    is_state,
    is_variable,
)
from sanitizer.identifiers.stated import codes, phrases, stated, told

Span = tuple[int, int, str]

_KEYS = frozenset("key keys schlüssel schluessel clé clef chiave llave chave sleutel".split())
_OWNERS = frozenset(
    """
    api access secret private auth account client signing encryption subscription app master
    service admin secrète privée privato privata segreta privada secreta geheim
    """.split()
)
_OF_TABLES = frozenset(
    """
    public primary foreign sort cache partition routing idempotency object row group map registry
    unique sorting composite natural surrogate candidate shard hash lookup search index entry
    property config translation message dict answer state file path image bucket press any hot
    """.split()
)
"""Words before "key" that make it no secret, however random its value is."""
_NETWORKS = frozenset("wlan wifi wpa netzwerk network router".split())
"""Words before "key" that make it a password."""
_BEFORE_KEY = frozenset("api auth secrète privée privata segreta privada secreta geheim".split())
_SECOND_WORDS: dict[str, tuple[str, ...]] = {
    "ordine": ("d", "parola"),
    "passe": ("de", "palavra"),
    "acceso": ("de", "clave"),
    "parola": (),
}
"""Words that are the name of a password after one of these."""
_COMPOUNDS = (
    *("password", "passwd", "passwort", "kennwort", "pwd", "dbpass", "userpass", "pgpass"),
)
_SECRET_COMPOUNDS = (
    *("token", "secret", "apikey", "sessid", "accesskey", "accountkey", "secretkey", "privatekey"),
    *("signingkey", "encryptionkey", "masterkey", "sharedkey", "storagekey"),
)
_STAGES = frozenset("prod production dev staging stage live prd uat".split())
"""Words after the name of a password that say for which machines it is."""
_LAST_WORDS = tuple(PASSWORDS | _STAGES | SECRETS | _KEYS | _BEFORE_KEY)
_TAILS = ("_id", "_value", "_text", "_string", "_env", "_base", "-id")
_ENDINGS = (*_LAST_WORDS, *_TAILS)
_WORD = re.compile(r"[^\W\d_]+")
_NAME_SIZE = 32
_TYPED = re.compile(
    r"\s?:\s?(?:&?(?:'static )?str|string|secretstr|bytes|any|final|optional\[\w{1,12}\]?)"
    r"(?: \| none|\?)?\Z|(?<=\w) string\Z"
)
"""The type of a variable, between its name and "=": `token: &str`, `password string`."""
_QUALIFIED = re.compile(
    r" (?:provisoire|temporaire|initial|actuel|provisional|temporal|actual|nueva|provvisoria"
    r"|temporanea|attuale|provisória|provisoria|temporária|atual|tijdelijk|nieuw|tymczasowe"
    r"|временный|новый)\Z"
)
"""What follows "password" in languages whose adjectives come last."""
_BEHIND_NAMES = (
    *("str", "string", "bytes", "any", "final", "none", "?", "]"),
    *("re", "al", "el", "ia", "ea", "va", "jk", "uw", "we", "ый"),
)
"""Ends of types and of such adjectives."""
_AROUND_NAME = " \t\"'`])*_0123456789°\\"
_PLAIN = r"[^\s\"'`<>(){}\[\],;|]"
_VALUE = re.compile(
    rf"(?:[=>]{{0,2}})\s{{0,3}}(?:!!(?:str|binary) {{1,2}})?"
    rf"(?:\"([^\"\n]{{1,300}})\"|'([^'\n]{{1,300}})'|`([^`\n]{{1,300}})`"
    rf"|\\{{1,3}}\"([^\"\\\n]{{1,300}})\\{{1,3}}\"|({_PLAIN}{{1,300}}+))"
)
_QUERY = re.compile(r"&[A-Za-z_][\w.-]*=")
_HEADER = re.compile(r"(?i)(?<![\w-])x-[a-z-]{2,30}\Z")
_COMMENT = re.compile(r"[ \t]{1,8}(?:#|//|--)[ \t]")
_HYPHENED = re.compile(r"[a-z0-9]{2,20}(?:-[a-z0-9]{2,20}){2,8}")
"""Words with hyphens between, which many write for a secret."""
_OF_PLACEHOLDERS = frozenset(
    "your my key token here api secret example test dummy value insert goes replace me some the"
    " todo xxx xxxx sample demo fake".split()
)
_HIDDEN = re.compile(r"[*•.xX_?-]+\Z")
_COPULA_STEMS = (
    "pw",
    "mdp",
    "pass",
    "kennwort",
    "wachtwoord",
    "contrase",
    "senha",
    "clave",
    "ordine",
)
_COPULA = re.compile(
    r"([a-zñ]{0,6})[\"'`]?(?: (?:for|to|on|für|zu[mr]?|pour|para|per|voor|van|of|von|vom|del?"
    r"|du|d[aio]|della) [^\s.,:;]{1,30}(?: [^\s.,:;]{1,30})?)?"
    r"(?:\s(?:is|was|ist|lautet|war|est|était|es|era|è|é|será|(?:has|had) been)\b|(?<=\w)['’]s\b"
    r"|,? c['’]est\b)"
    r"(?: (?:now|still|currently|always|just|jetzt|immer noch|noch|nun|toujours|encore|todavía"
    r"|ancora|nog steeds|ainda))?(?: (?:re)?set to| changed to)?:?\s{1,2}"
    rf"(?:\"([^\"\n]{{1,100}})\"|'([^'\n]{{1,100}})'|`([^`\n]{{1,100}})`|({_PLAIN}{{4,100}}+))"
)
_SPOKEN_NAMES = frozenset(
    "password passwd passphrase passcode pwd psw pw mdp passwort kennwort wachtwoord contraseña"
    " contrasena senha ordine passe passwords parole paswoord".split()
)
_AMBIGUOUS_NAMES = frozenset({"pass", "clave", "pw"})
"""Names that count in speech if somebody owns them or the value is no word: "a ski pass is"."""
_OWNED = re.compile(
    r"(?i)\b(?:my|our|his|her|their|meine?|unser|seine?|ihre?|mon|notre|son|leur|mi|nuestra|mia"
    r"|nostra|sua|mijn|onze|ons|minha|nossa|wi-?fi|wlan|de acceso)(?:['’]s)?\s"
    r"(?:[\w-]{1,20}\s){0,2}\Z"
)
_OF_ACCOUNT = re.compile(
    r"(?i)\b(?:wi-?fi|wlan|router|red|cuenta|correo|acceso|banco|conta|account"
    r"|laptop|e-?mail|server|mail)\b"
)
"""What has a password, behind its name."""
_FLAG = re.compile(
    r"--(?:[a-z]{1,20}-){0,3}(?:password|passwd|passphrase|passcode|pass|pwd|token|api-?key"
    r"|secret(?:-?key)?|access-?key|private-?key)"
    r"(?: {1,2}|=)(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s\"'`<>()|;]{4,300}+))",
    re.IGNORECASE,
)
_SINGLE_FLAG = re.compile(r"(?<=\s)-(?:password|passwd|passphrase|secret)[ =]([^\s\"']{4,200})")
_ARGUMENT = r"([^\s\"'<>{}-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')"
_COMMANDS = {
    "mysql": re.compile(r"\s-p([^\s\"'-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')"),
    "mariadb": re.compile(r"\s-p([^\s\"'-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')"),
    "sshpass": re.compile(r"\s-p\s?([^\s\"'-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')"),
    "login": re.compile(
        r"\s-p\s{1,2}([^\s\"'-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')"
    ),
    "redis-cli": re.compile(r"\s-a\s{1,2}([^\s\"'-][^\s\"']{3,200})"),
    "curl": re.compile(
        r"\s(?:-u|--user|-U)\s{0,2}(?:\"[^\s:\"]{1,60}:(?P<double>[^\"\n]{3,200})\""
        r"|'[^\s:']{1,60}:(?P<single>[^'\n]{3,200})'|[^\s:\"']{1,60}:([^\s\"']{3,200}))"
    ),
    **dict.fromkeys(
        ("mongo", "cqlsh", "ncftp"),
        re.compile(rf"\s-p\s?{_ARGUMENT}"),
    ),
    **dict.fromkeys(("ipmitool", "isql", "bcp "), re.compile(rf"\s-P\s{_ARGUMENT}")),
    "htpasswd": re.compile(
        rf"\s-[A-Za-z]{{0,4}}b[A-Za-z]{{0,4}}\s\S{{1,80}}\s\S{{1,60}}\s{_ARGUMENT}"
    ),
    "lftp": re.compile(r"\s-u\s[\w.@-]{1,60},([^\s\"']{3,200})"),
    **dict.fromkeys(("rdesktop", "useradd"), re.compile(rf"\s-p\s{_ARGUMENT}")),
    **dict.fromkeys(("sqlcmd", "mosquitto_", "zip"), re.compile(rf"\s-P\s{_ARGUMENT}")),
    **dict.fromkeys(("ldapsearch", "ldapmodify", "ldapadd"), re.compile(rf"\s-w\s{_ARGUMENT}")),
    "ssh-keygen": re.compile(rf"\s-[NP]\s{_ARGUMENT}"),
    "xfreerdp": re.compile(r"\s/p:([^\s\"'<>{}]{4,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')"),
    "openssl": re.compile(rf"\s(?:-k\s|-pass(?:in|out)?\s{{1,2}}pass:){_ARGUMENT}"),
    "net use": re.compile(rf"\s/user:\S{{1,80}}\s{_ARGUMENT}"),
    "smbclient": re.compile(r"\s-U\s{0,2}[\"']?[^\s%\"']{1,60}%([^\s\"']{3,200})"),
}
_ANY_FLAG = re.compile(r"-(?:-[A-Za-z]|(?<=\s-)[bpuUaPwkN])|/(?:p|user):")
_COMMAND_SIZE = 300
_CLOSING_TAG = re.compile(r"</([a-z_:.-]{2,60})\s?>")
_ATTRIBUTE = re.compile(
    r"(?i)(?:name|key|id)=[\"'][^\"'\n]{0,60}(?:password|passwd|pwd|secret|token|apikey)[\"']"
    r"\s{1,4}value=([\"'])([^\"'\n]{1,300})\1"
)
_NAMED_TAG = re.compile(
    r"(?i)\sname=[\"'][^\"'\n]{0,60}(?:password|passwd|pwd|secret|token|apikey)[\"'][^>\n]{0,60}>"
    r"([^<>\n]{4,300})</"
)
_COOKIE = re.compile(r"(?P<name>[\w.$-]{1,80})=(?P<value>[^\s;,\"']{4,4000})")
_COOKIE_ATTRIBUTES = frozenset(
    "path domain expires max-age samesite version priority"
    " theme lang language locale tz timezone currency consent dark_mode darkmode".split()
)
"""Names in headers of cookies that are no cookies, or cookies that hold a setting."""
_URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>]{0,100}:([^\s/@\"'<>]{3,200})@")
_MOST_AGAIN = 64
"""Distinct secrets of a text that are searched for where they stand alone."""
_AUTHORIZED = re.compile(
    r"(?i)\bauthorization[\"']?\s?[:=]\s?[\"']?(?:bearer|basic|token|apikey)\s{1,3}"
    r"([A-Za-z0-9._~+/-]{6,4000}={0,2})"
)
_BARE_AUTHORIZATION = re.compile(
    r"(?i)\bauthorization[\"']?\s?[:=]\s?[\"']?([A-Za-z0-9._~+/-]{16,4000}={0,2})(?![\w ])"
)
_BEARER = re.compile(
    r"(?i)\b(?:bearer|basic|authorization: token) +([A-Za-z0-9._~+/-]{16,4000}={0,2})"
)


def secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield secrets that headers, names and sentences announce, wherever they occur.

    Args:
        text: the text.
        lowered: the text in lower case, at the same offsets.
    """
    yield from _headers(text, lowered)
    named = list(_named(text, lowered))
    yield from named
    yield from _again(text, {text[start:end] for start, end, _ in named})


def _headers(text: str, lowered: str) -> Iterator[Span]:
    """Yield what stands in headers of authorization."""
    if "bearer" in lowered or "basic " in lowered or "authorization" in lowered:
        for m in _BEARER.finditer(text):
            if looks_random(m[1]):
                yield m.start(1), m.end(1), "KEY"
        for m in _BARE_AUTHORIZATION.finditer(text):
            if looks_random(m[1]):
                yield m.start(1), m.end(1), "KEY"
        for m in _AUTHORIZED.finditer(text):
            if not any(stem in m[1].lower() for stem in STEMS) and not is_state(m[1]):
                yield m.start(1), m.end(1), "KEY"


def _named(text: str, lowered: str) -> Iterator[Span]:
    """Yield values that a name announces."""
    done = 0  # where the last header of cookies ends
    for sign in ("=", ":"):
        at = text.find(sign)
        while at >= 0:
            low = at - _NAME_SIZE if at > _NAME_SIZE else 0
            name = lowered[low:at].rstrip(_AROUND_NAME)
            if name.endswith(_BEHIND_NAMES):
                name = _shortened(name, sign)
            if name.endswith(_ENDINGS):
                yield from _assigned(text, name, at)
            elif sign == ":" and at >= done and name.endswith("cookie"):
                line = text.find("\n", at)
                done = line if line >= 0 else len(text)
                yield from _cookies(text, at + 1, done)
            at = text.find(sign, at + 1)
    names: list[str] = []  # of passwords, that the text holds
    for stem in _COPULA_STEMS:
        at = lowered.find(stem)
        names += [stem] if at >= 0 else []
        while at >= 0:
            end = at + len(stem)
            if m := _COPULA.match(text, end):
                yield from _said(text, lowered, at, m)
                end = m.end()
            at = lowered.find(stem, end)
    yield from told(text, lowered, names)
    yield from phrases(text, lowered)
    yield from stated(text, lowered)
    yield from _paired(text, lowered)
    yield from codes(text, lowered)
    if ("-" in text or "/p:" in text or "/user:" in text) and _ANY_FLAG.search(text):
        yield from _flags(text, lowered)
    if "<" in text and ("</" in text or "/>" in text):
        yield from _tags(text, lowered)


def _shortened(name: str, sign: str) -> str:
    """Return a name without the type or the adjective behind it."""
    if sign == "=" and (typed := _TYPED.search(name)):
        return name[: typed.start()].rstrip(_AROUND_NAME)
    if sign == ":" and name[-1:].isalpha() and (said := _QUALIFIED.search(name)):
        return name[: said.start()]
    return name


_PAIRS = (
    (
        "define",
        re.compile(
            r"\bdefine\(\s?['\"](?P<name>\w{3,60})['\"]\s?,\s{0,20}(?:'(?P<a>[^'\n]{4,200})'"
            r"|\"(?P<b>[^\"\n]{4,200})\")\s?\)"
        ),
    ),
    (
        "value",
        re.compile(
            r"(?i)\b(?:name|key)[\"']?\s?[:=]\s?[\"']?(?P<name>[\w.-]{3,60})[\"']?,?\s{1,24}[\"']?"
            r"value[\"']?\s?[:=]\s?(?:\"(?P<a>[^\"\n]{4,300})\"|(?P<b>[^\s\"'{}$][^\s\"']{3,300}))"
        ),
    ),
    (
        "env ",
        re.compile(
            r"(?:\bENV|\b[Ss]et[Ee]nv) (?P<name>[A-Z][A-Z0-9_]{2,60}) {1,2}"
            r"(?:\"(?P<a>[^\"\n]{4,300})\"|(?P<b>[^\s\"'$<{=][^\s\"']{3,300}))(?=\s|$)"
        ),
    ),
    (
        "env(",
        re.compile(
            r"env\(\s?[\"'](?P<name>\w{3,60})[\"'],\s{0,4}"
            r"(?:'(?P<a>[^'\n]{4,200})'|\"(?P<b>[^\"\n]{4,200})\")"
        ),
    ),
    (
        "environ.get(",
        re.compile(
            r"environ\.get\(\s?[\"'](?P<name>\w{3,60})[\"'],\s{0,4}"
            r"(?:'(?P<a>[^'\n]{4,200})'|\"(?P<b>[^\"\n]{4,200})\")"
        ),
    ),
    (
        "env.",
        re.compile(
            r"env\.(?P<name>\w{3,60})\s?(?:\|\||\?\?)\s?"
            r"(?:'(?P<a>[^'\n]{4,200})'|\"(?P<b>[^\"\n]{4,200})\")"
        ),
    ),
    (
        "${",
        re.compile(
            r"\$\{(?P<name>[A-Za-z][\w.]{2,60}):[-=]?"
            r"(?P<a>[^\s\"'{}$:?+=-][^\s\"'{}$]{3,200})(?P<b>)\}"
        ),
    ),
)
"""Statements that say a name and a value apart: constants of PHP, variables of containers, values
for an environment that has none."""
_SALT = re.compile(r"(?:AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)\Z")


def _paired(text: str, lowered: str) -> Iterator[Span]:
    """Yield values of names that stand in a statement of their own."""
    variables = "env" in lowered
    for mark, pattern in _PAIRS:
        if (mark.startswith("env") and not variables) or mark not in lowered:
            continue
        for m in pattern.finditer(text):
            group = "a" if m["a"] else "b"
            value, kind = m[group], _class_of(m["name"].lower().rstrip("_0123456789"))
            if not (kind or _SALT.search(m["name"])) or is_expression(value) or is_state(value):
                continue
            loud = m["name"].isupper() and kind == "secret" and not is_remark(value)
            loud = loud and value.isalnum() and len(value) >= _SHORTEST_SECRET
            if kind == "password" or not kind or loud or looks_random(value) or is_mixed(value):
                yield m.start(group), m.end(group), "KEY"


def _class_of(name: str) -> str:
    """Return "password", "secret" or "" for the words of a name, in lower case."""
    for tail in ("", *_TAILS):
        words = _WORD.findall(name[: len(name) - len(tail)])[-3:] if name.endswith(tail) else []
        if words and (found := _class_of_words(words)):
            return found
    return ""


def _class_of_words(words: list[str]) -> str:
    if words[-1] in _STAGES and len(words) > 1:
        words = words[:-1]
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _KEYS and before in _NETWORKS:
        return "password"
    if (last in _KEYS and before in _OWNERS) or (last in _BEFORE_KEY and before in _KEYS):
        return "secret"
    if last == "key" and before and before not in _OF_TABLES:
        return "random"
    if last in _SECOND_WORDS:
        return "password" if before in _SECOND_WORDS[last] else ""
    if last in SECRETS or last.endswith(_SECRET_COMPOUNDS):
        return "secret"
    return "password" if last in PASSWORDS or last.endswith(_COMPOUNDS) else ""


def _assigned(text: str, name: str, sign: int) -> Iterator[Span]:
    """Yield the value after a name and "=" or ":" at `sign`."""
    kind = _class_of(name)
    if not kind or text[sign + 1 : sign + 3] == "//" or text[sign - 1] in "!<>:":
        return
    m = _VALUE.match(text, sign + 1)
    if m is None:
        return
    group = m.lastindex or 5
    quoted, start, end = group < 5, m.start(group), m.end(group)
    value = m[group]
    if not quoted:
        if cut := _QUERY.search(value):
            value = value[: cut.start()]
        value = value.rstrip(".,:?")
        end = start + len(value)
        if text[end : end + 1] in {"(", "[", "{"} and not SIGN.search(value):
            return
    written = text[max(0, sign - _NAME_SIZE) : sign].rstrip(_AROUND_NAME)
    if _counts(text, value, (start, end), kind, quoted, _Place(text, sign, written)):
        yield start, end, "KEY"


_ONE_VALUE = re.compile(r": \S{1,80}[ \t]{0,8}(?:\n|\Z)")
_IN_MAPPING = re.compile(r"[ \t]{2,24}[\w-]{3,40}")
_QUALIFIED_SECRET = re.compile(
    r"(?:api|access|auth|client|app|refresh|bot|admin|master|signing|webhook|session)[ _-]?"
    r"(?:secret|token|key)\Z"
)


class _Place:
    """Where a value stands: the sign before it, and the name as it is written."""

    def __init__(self, text: str, sign: int, written: str) -> None:
        last = _WORD.findall(written)[-1:] or [""]
        self.is_colon = text[sign] == ":" and text[sign + 1 : sign + 2] != "="
        self.loud = last[0].isupper()
        self.is_folder = written.endswith("PWD") and last[0] in {"PWD", "OLDPWD"}
        self.is_header = _HEADER.search(written) is not None
        self.is_secret = last[0].lower().endswith("secret")
        head = text.rfind("\n", max(0, sign - 80), sign)
        self.is_nested = (
            self.is_secret
            and head >= 0
            and _IN_MAPPING.fullmatch(text, head + 1, sign) is not None
            and _ONE_VALUE.match(text, sign) is not None
        )
        self.is_qualified = _QUALIFIED_SECRET.search(written.lower()) is not None
        self.spaced = text[sign - 1] in " \t"
        line = text.rfind("\n", 0, sign) + 1 if sign - len(written) < 200 else sign
        self.foreign = last[0].lower() not in {"password", "pass", "pwd", "passphrase", "passwd"}
        opening = text.rfind("\n", max(0, sign - 80), sign) + 1
        self.opens_line = (
            _WORD.fullmatch(text[opening:sign].strip(_AROUND_NAME)) is not None
            and line <= opening <= sign
        )


def _counts(
    text: str, value: str, span: tuple[int, int], kind: str, quoted: bool, place: _Place
) -> bool:
    """Return True if a value is written out, and no expression, variable or word about it."""
    shells = place.is_folder and value[0] in "/~"  # the folder in which a shell is
    if (
        shells
        or len(value) < 4
        or _is_code(value, quoted)
        or _HIDDEN.match(value)
        or is_state(value)
    ):
        return False
    if kind in {"secret", "random"}:
        random = len(value) >= 20 and looks_random(value) and " " not in value
        return random or (kind == "secret" and _is_secret(value, quoted, place))
    if is_mixed(value) and not (is_variable(value) and not quoted and place.spaced):
        return True
    if any(stem in value.lower() for stem in STEMS):
        return False
    if quoted:
        return " " not in value or place.loud or _is_words_of_user(text, value, span)
    return _is_written_out(text, span[1], place)


_WORDS_OF_IT = re.compile(r"[\w'’&!-]{1,20}(?: [\w'’&!-]{1,20}){1,4}")
_USER_KEY = re.compile(
    r"(?i)\b(?:user(?:name)?|user_?id|login|e-?mail|account|host|server|uid)"
    r"[\"']?\s{0,2}(?:=>|[:=])"
)
_USER_REACH = 120
_WORDS_STEMS = (*STEMS, "wort", "passe", "contrase", "senha", "wachtwoord", "parola")
_OF_FORMS = frozenset("enter type choose confirm repeat your user new neues ihr sample bad".split())


def _is_words_of_user(text: str, value: str, span: tuple[int, int]) -> bool:
    """Return True for words in quotes that are no sentence, near the name of a user."""
    if not _WORDS_OF_IT.fullmatch(value):
        return False
    words = value.lower().split(" ")
    if any(w in OF_SENTENCES or w in _OF_FORMS or w in NO_VALUES or is_state(w) for w in words):
        return False
    if any(stem in value.lower() for stem in _WORDS_STEMS):
        return False
    start, end = span
    before = _USER_KEY.search(text, max(0, start - _USER_REACH), start)
    return bool(before or _USER_KEY.search(text, end, end + _USER_REACH))


def _is_secret(value: str, quoted: bool, place: _Place) -> bool:
    if looks_random(value) and len(value) >= 12:
        return True
    mixed = is_mixed(value)
    loud = place.loud or place.is_header
    if ((quoted and place.is_secret) or place.is_header) and _HYPHENED.fullmatch(value):
        written = not place.is_header or _OF_PLACEHOLDERS.isdisjoint(value.split("-"))
        return written and not any(stem in value.lower() for stem in STEMS)
    if place.is_nested and value.islower() and value.isalpha() and len(value) >= _SHORTEST_SECRET:
        return not is_remark(value)
    qualified = place.is_qualified or (place.is_secret and not place.is_colon)
    if quoted and qualified and value.isalpha() and len(value) >= _SHORTEST_SECRET:
        return (value.islower() or value.istitle()) and not is_remark(value)
    if len(value) < 8 or (not quoted and not loud and value.isidentifier() and not mixed):
        return False
    named = (place.loud and not place.is_colon) or place.is_header
    named = named and value.isalnum()
    return (mixed and any(c.isalpha() for c in value)) or named


_SHORTEST_SECRET = 8
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[].*[^)\]}]\Z")


def _is_code(value: str, quoted: bool) -> bool:
    """Return True for an expression; a quoted one that goes on behind its brackets is none."""
    if value.lower() in _NAMES_OF_IT or _NO_PASSWORD_VERSION.match(value):
        return True
    return CODE.match(value) is not None and not (quoted and _CALL.match(value))


_NAMES_OF_IT = PASSWORDS | {"username", "user", "userpass", "passwd", "pass"}
_NO_PASSWORD_VERSION = re.compile(r"(?:[0-9]{1,2}:)?[0-9]+(?:\.[0-9]+)+[+~][\w.+~-]*\Z")
_OPERATED = re.compile(r" (?:[+%*?|&]|if\b|or\b|and\b|==)")


def _is_written_out(text: str, end: int, place: _Place) -> bool:
    """Return True if a password of letters alone stands where no variable or sentence goes on."""
    following = text[end : end + 1]
    if place.is_colon:
        return (
            following in {"", "\n", "\r", "<"}
            or (following in {".", "!", ";"} and text[end + 1 : end + 2] in {"", " ", "\n"})
            or _COMMENT.match(text, end) is not None
        )
    if place.spaced:
        if _OPERATED.match(text, end):
            return False
        return place.foreign or place.loud or (place.opens_line and following in {"", "\n", "\r"})
    return place.loud or following not in {")", ","}


def _said(text: str, lowered: str, at: int, m: re.Match[str]) -> Iterator[Span]:
    """Yield the value of a sentence such as "my password is X".

    Args:
        at: where the stem of the name stands.
        m: what follows the stem, with the value.
    """
    begin = at
    while begin > at - _NAME_SIZE and text[begin - 1 : begin].isalpha():
        begin -= 1
    name = lowered[begin : m.end(1)]
    ambiguous = name in _AMBIGUOUS_NAMES
    if not (ambiguous or name in _SPOKEN_NAMES or name.endswith(_COMPOUNDS)):
        return
    group = m.lastindex or 5
    start, value = m.start(group), m[group]
    if group < 5:
        if not is_state(value) and len(value) >= 4 and not CODE.match(value):
            yield start, start + len(value), "KEY"
        return
    bare = value.rstrip(".,:;!?")
    verb = text[m.end(1) : start]
    states = is_state(value) and not ("lautet" in verb and bare.lower() not in WHOLE_STATES)
    if len(bare) < 4 or CODE.match(value) or states:
        return
    owned = _OWNED.search(text, max(0, begin - 48), begin) is not None
    owned = (
        owned
        or _OF_ACCOUNT.search(verb) is not None
        or (name == "pw" and text[begin - 1 : begin] in {"", "\n"})
    )
    ends = len(bare) < len(value) or text[m.end() : m.end() + 1] in {"", "\n", "\r", ")", ",", ";"}
    ends = ends or owned or "lautet" in verb or GOES_ON.match(text, m.end()) is not None
    if is_mixed(bare) or (ends and (owned or not ambiguous) and is_no_remark(bare)):
        # an exclamation mark before the end of the sentence belongs to the password
        kept = value.rstrip(".,:;?")
        yield start, start + len(kept), "KEY"


def _flags(text: str, lowered: str) -> Iterator[Span]:
    at = text.find("--")
    while at >= 0:
        end = at + 2
        if text[end : end + 1].isalpha() and (m := _FLAG.match(text, at)):
            group, end = m.lastindex or 3, m.end()
            value = m[group]
            if not (value[0] in "-$%{`" or is_state(value) or len(value.rstrip(".,:")) < 4):
                yield m.start(group), m.start(group) + len(value.rstrip(".,:")), "KEY"
        at = text.find("--", end)
    for m in _SINGLE_FLAG.finditer(text):
        if not (m[1][0] in "-$%{`<" or is_state(m[1])):
            yield m.start(1), m.end(1), "KEY"
    for command, flag in _COMMANDS.items():
        if command in lowered:
            yield from _of_command(text, lowered, command, flag)


def _of_command(text: str, lowered: str, command: str, flag: re.Pattern[str]) -> Iterator[Span]:
    at = lowered.find(command)
    while at >= 0:
        line = text.find("\n", at, at + _COMMAND_SIZE)
        end = line if line >= 0 else min(len(text), at + _COMMAND_SIZE)
        m = flag.search(text, at, end)
        group = (m.lastindex or 1) if m else 1
        if m and m[group][0] not in "$%{`<":
            quote = m[group][0] in "\"'"
            value = m[group] if quote else m[group].rstrip("`")  # of Markdown
            if value.strip("\"'").lower() not in PASSWORDS:
                yield m.start(group) + quote, m.start(group) + len(value) - quote, "KEY"
        at = lowered.find(command, max(m.end() if m else 0, at + len(command)))


def _tags(text: str, lowered: str) -> Iterator[Span]:
    """Yield what stands between the tags of a secret, or in the attribute beside its name."""
    at = text.find("</")
    while at >= 0:
        m = _CLOSING_TAG.match(lowered, at)
        if m and _class_of(m[1]):
            wrapped = text.startswith("]]>", at - 3)
            at_end = at - 3 if wrapped else at
            start = text.rfind("[" if wrapped else ">", max(0, at - 300), at_end) + 1
            value = text[start:at_end]
            plain = value.strip()
            if start and len(plain) >= 4 and not CODE.match(plain) and not is_state(plain):
                begin = start + value.index(plain)
                yield begin, begin + len(plain), "KEY"
        at = text.find("</", at + 2)
    if "name=" in lowered:
        for m in _NAMED_TAG.finditer(text):
            if not (CODE.match(m[1]) or is_state(m[1])):
                yield m.start(1), m.end(1), "KEY"
    if "value=" in lowered:
        for m in _ATTRIBUTE.finditer(text):
            if len(m[2]) >= 4 and not CODE.match(m[2]) and not is_state(m[2]):
                yield m.start(2), m.end(2), "KEY"


def _cookies(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the values of a `Cookie:` or `Set-Cookie:` header, not its attributes."""
    for m in _COOKIE.finditer(text, start, end):
        if m["name"].lower() not in _COOKIE_ATTRIBUTES and m["value"][0] not in "<{$%":
            yield m.start("value"), m.end("value"), "KEY"


def of_urls(text: str) -> Iterator[Span]:
    """Yield the passwords of URLs where they occur again alone."""
    values = {m[1] for m in _URL_PASSWORD.finditer(text)}
    yield from _again(text, {value for value in values if not _stands_for_one(value)})


def _stands_for_one(value: str) -> bool:
    """Return True for a word that examples have in place of a password."""
    word = value.lower().strip("_-")
    return word in _NAMES_OF_IT or word in SECRETS or is_state(word) or value[0] in "<{$%"


def _again(text: str, values: set[str]) -> Iterator[Span]:
    """Yield each other place where a secret stands as a whole word."""
    for value in sorted(values)[:_MOST_AGAIN]:
        if len(value) < 6 and not is_mixed(value):
            continue
        at = text.find(value)
        while at >= 0:
            end = at + len(value)
            before, after = text[at - 1 : at], text[end : end + 1]
            if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
                yield at, end, "KEY"
            at = text.find(value, end)
