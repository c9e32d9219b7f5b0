"""Passwords, tokens and keys by the name that announces them, and what a secret value looks like.

A value counts whatever its letters are if a name such as `password` stands before it in an
assignment or a sentence; left out are expressions of code, variables, and words that say something
about a password ("wrong", "required"). Headers, commands and statements are rows of
`kinds/secrets.toml`, keys with a vendor's prefix rows of `kinds/vendors.toml`; the words are in
`secret_words.toml`.

Not protected: passwords of letters that no name announces, and those that are such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sanitizer.identifiers.checks import entropy, looks_random
from sanitizer.identifiers.readings import plain_texts
from sanitizer.identifiers.rows import HUMPS, WORD, Search, any_of, word_lists

Named = tuple[int, int, str]

_LISTS = word_lists("secret_words")
_WORDS = {name: frozenset(words) for name, words in _LISTS.items()}
_PASSWORDS, _SECRETS, _KEYS = _WORDS["passwords"], _WORDS["secrets"], _WORDS["keys"]
_SECOND_WORDS = {"ordine": ("d", "parola"), "passe": ("de", "palavra"), "acceso": ("de", "clave")}
"""Words that name a password behind one of these only."""
_ENDINGS = tuple(
    _PASSWORDS | _WORDS["stages"] | _SECRETS | _KEYS | _WORDS["behind_keys"] | _WORDS["tails"]
)
_PASSWORD_ENDINGS = tuple(_LISTS["password_endings"])
_SECRET_ENDINGS = tuple(_LISTS["secret_endings"])
_WHOLE_STATES = frozenset(word for word in _LISTS["states"] if not word.endswith("*"))
_STATES = tuple(word[:-1] for word in _LISTS["states"] if word.endswith("*"))
_STEMS = tuple(_LISTS["stems"])

# --- What a secret value looks like, and what is said of one

_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|[$%{<&]|(?:os|self|this|settings|config|args|request|process|options"
    r"|env|secrets|params|props|data|opts)[.\[]|https?:|[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z"
    r"|!(?:vault|Ref|Sub|GetAtt|ImportValue|secret|env|reference)\b"
    r"|(?:[A-Za-z_]\w*\.)*[A-Z][A-Za-z0-9_]*(?:Keys?|Types?|Tokens?|Secrets?|Passwords?|Params?"
    r"|Credentials?|Config|Provider|Manager|Client|Fields?|Info)[)\]:,]{0,3}\Z"
    r"|(?:com|org|net|io|dev|app)(?:\.[a-z]\w*){2,}\Z|0x[0-9A-Fa-f]{1,16}\Z"
    r"|(?:\S{0,40}?)(?:\(\?[:=!<P]|\[[^\]\s]{0,12}[a-zA-Z0-9]-[a-zA-Z0-9]"
    r"[^\]\s]{0,20}\]|\\[dwsDWS][+*{?])"
)
"""Calls, variables, names of types, domains in reverse, numbers, regular expressions."""
_SIGN = re.compile(r"[^\w\s.,:;-]")
_STRONG = frozenset("0123456789!#$%&*@^+")
_PARTICIPLE = re.compile(
    r"[a-z]{2,}(?:ed|ing|ly|able|ible|less|ful|ary|ous|ated)|ge[a-zäöüß]{3,}(?:t|en|d)"
    r"|[a-zé]{3,}(?:ée?|iert|lich|ado|ada|ido|ida|ato|ata|uto|uta|itivo)"
    r"|be\w{3,}(?:t|en)|ver\w{3,}(?:t|en)"
)
"""Endings of words that say what was done with a password: "saved", "gespeichert", "guardada"."""
_NO_PASSWORD = re.compile(
    r"(?i)v?[0-9][0-9.,:/-]*\Z|(?:[0-9]{1,2}:)?[0-9]+(?:\.[0-9]+)+[+~-][\w.+~-]*\Z"
    r"|(?:sha|md|aes|pbkdf|argon|scrypt|bcrypt|base|utf|oauth|hs|rs|es|ed)"
    r"-?[0-9]|[0-9]+(?:fa|th|st|nd|rd|[a-z]{1,2})\b"
)
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[].*[^)\]}]\Z")
_VERSION = re.compile(r"(?:[0-9]{1,2}:)?[0-9]+(?:\.[0-9]+)+[+~][\w.+~-]*\Z")
_NAMES_OF_IT = _PASSWORDS | {"username", "user", "userpass"}
_LONG_NUMBER, _SHORTEST_SECRET, _LONGEST_PIN = 16, 8, 8


def is_expression(value: str) -> bool:
    """Return True for code, a variable, or what a sentence about passwords has in this place."""
    return bool(_NO_PASSWORD.match(value) or _CODE.match(value)) or _is_variable(value)


def _is_variable(value: str) -> bool:
    return value.isidentifier() and "_" in value


def is_mixed(value: str) -> bool:
    """Return True for values with a digit, a sign, or both cases other than in a name."""
    if any(c.isdigit() for c in value) or _SIGN.search(value):
        return True
    plain = value.isidentifier() and (value.islower() or value.isupper() or value.istitle())
    return not plain and value.lower() != value and len(re.findall("[a-z][A-Z]", value)) > 1


def is_state(value: str) -> bool:
    """Return True for a word that says something about a password, or stands for one."""
    word = value.strip("\"'`.,;:!?*").lower()
    return word in _WHOLE_STATES or (word.isalpha() and word.startswith(_STATES))


def _is_blank(value: str) -> bool:
    """Return True for a state, and for what examples and forms have in place of a secret."""
    return is_state(value) or not value.strip("*•.xX_?-")


def is_remark(word: str) -> bool:
    """Return True for a word that says something about a secret ("wrong", "required")."""
    plain = word.lower()
    return plain in _WORDS["remarks"] or any(stem in plain for stem in _STEMS)


def _is_no_remark(word: str) -> bool:
    return not is_remark(word) and _PARTICIPLE.fullmatch(word) is None


_SAME = re.compile(r"([xX*#._•-])\1{3,}")
_TO_FILL_IN = re.compile(
    r"(?i)(?<![a-z])your[_-]?(?:[a-z]{2,9}[_-]?)?(?:token|key|secret|password)(?![a-z])"
    r"|(?<![a-z])(?:token|key|secret|password)[_-]?here(?![a-z])"
)


def is_placeholder(value: str) -> bool:
    """Return True for what examples have in place of a key: "ghp_xxxxxxxx", "YOUR_TOKEN_HERE"."""
    if not 16 <= len(value) <= 200:
        return False
    same = sum(m.end() - m.start() for m in _SAME.finditer(value))
    return 3 * same >= 2 * len(value) or _TO_FILL_IN.search(value) is not None


# --- Checks of rows


def is_no_name(value: str) -> bool:
    """Return True for a token that does not hold the name of one, and no word about one."""
    return not any(stem in value.lower() for stem in _STEMS) and not is_state(value)


def is_written_out(value: str) -> bool:
    """Return True for a value that is written out: no expression, variable or name of one."""
    if value.lower() in _PASSWORDS or value.lower() in _SECRETS or is_state(value):
        return False
    return (value.isdigit() and len(value) >= _LONG_NUMBER) or not is_expression(value)


def is_plain(value: str) -> bool:
    """Return True for a value that is no code and no word about a secret."""
    return len(value) >= 4 and not _CODE.match(value) and not is_state(value)


def is_strong(value: str) -> bool:
    """Return True for a value that is written out and mixes letters with digits or signs."""
    return is_written_out(value) and not _STRONG.isdisjoint(value)


def is_argument(value: str) -> bool:
    """Return True for an argument that is written out, whatever its letters are."""
    word = value.strip("<>[]{}").lower()
    named = word in _PASSWORDS or word in _SECRETS
    return value[0] not in "-$%{`<" and not named and not is_state(value)


def has_letter_and_digit(value: str) -> bool:
    """Return True for a value with letters and digits that is no expression."""
    digit, letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    return digit and letter and len(value) > 5 and not is_expression(value)


def is_mixed_secret(value: str) -> bool:
    """Return True for a value that no word has, and that is no expression."""
    return is_mixed(value) and not is_expression(value)


def is_no_sentence(value: str) -> bool:
    """Return True for words of which none shows that they are a sentence."""
    return _WORDS["of_sentences"].isdisjoint(value.lower().split())


def is_phrase(value: str) -> bool:
    """Return True for words that may be a password: no sentence, and nothing said about one."""
    words = value.lower().replace("-", " ").split()
    return is_no_sentence(value) and not any(
        word in _WORDS["no_values"] or (is_state(word) and word != "correct") for word in words
    )


def is_told(value: str) -> bool:
    """Return True for a password or PIN that a sentence tells in other words than "is"."""
    if is_state(value) or (is_expression(value) and not value.isdigit()):
        return False
    pin = value.isdigit() and 4 <= len(value) <= _LONGEST_PIN
    word = len(value) > 4 and value.lower() not in _WORDS["no_values"] and _is_no_remark(value)
    return pin or (is_mixed(value) and len(value) > 4) or word


def is_password(value: str) -> bool:
    """Return True for a value that somebody changed a password to, or uses as one."""
    if is_state(value) or is_expression(value) or len(value) <= 4:
        return False
    return is_mixed(value) or not is_remark(value)


def is_token(value: str) -> bool:
    """Return True for a random value that is no name of code, and says nothing in base64."""
    return looks_random(value) and not _CODE.match(value) and not any(plain_texts(value))


def is_very_random(value: str) -> bool:
    """Return True for a value that is random as keys are, and says nothing in base64."""
    return looks_random(value) and entropy(value) > 4.3 and not any(plain_texts(value))


# --- Names

_NAME_SIZE = 32
_AROUND_NAME = " \t\"'`[])*_0123456789°\\?!.+|"
_TYPED = re.compile(
    r"\s?:\s?(?:&?(?:'static )?str|string|secretstr|bytes|any|final|optional\[\w{1,12}\]?)"
    r"(?: \| none|\?)?\Z|(?<=\w) string\Z"
)
"""The type of a variable, between its name and "=": `token: &str`, `password string`."""
_QUALIFIED = re.compile(rf" {any_of(_LISTS['adjectives_behind'])}\Z")
"""What follows "password" in languages whose adjectives come last."""
_PLAIN = r"[^\s\"'`<>(){}\[\],;|]"
_VALUE = re.compile(
    rf"(?:[=>]{{0,2}})\s{{0,3}}(?:!!(?:str|binary) {{1,2}})?"
    rf"@?(?:\"((?:[^\"\\\n]|\\.){{1,4000}})\"|'((?:[^'\\\n]|\\.){{1,4000}})'|`([^`\n]{{1,4000}})`"
    rf"|\\{{1,3}}\"([^\"\\\n]{{1,300}})\\{{1,3}}\"|({_PLAIN}{{1,4000}}+))"
)
_RUN = re.compile(r"[=>]{0,2}\s{0,3}@?([^\s\"'`]{12,200})")
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_HEADER = re.compile(r"(?i)(?<![\w-])x-[a-z-]{2,30}\Z")
_COMMENT = re.compile(r"[ \t]{1,8}(?:#|//|--)[ \t]")
_HYPHENED = re.compile(r"[a-z0-9]{2,20}(?:-[a-z0-9]{2,20}){1,8}")
"""Words with hyphens between, which many write for a secret."""
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def class_of(name: str) -> str:
    """Return what a name announces: "password", "secret", "random" (a random value only) or "".

    >>> class_of("DB_PASSWORD"), class_of("tidewaterKey"), class_of("primary_key")
    ('password', 'random', '')
    """
    for humps in (WORD, HUMPS):
        for tail in ("", *_LISTS["tails"]):
            if name.lower().endswith(tail):
                words = humps.findall(name[: len(name) - len(tail)])[-3:]
                if words and (found := _class_of_words([word.lower() for word in words])):
                    return found
    words = [word.lower() for word in HUMPS.findall(name)[-4:]]
    inside = any(_class_of_words(words[:end]) for end in range(1, len(words)))
    return "random" if inside and words[-1] not in _WORDS["behind_names"] else ""


def _class_of_words(words: list[str]) -> str:
    if words[-1] in _WORDS["stages"] and len(words) > 1:
        words = words[:-1]
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _KEYS and before in _WORDS["networks"]:
        return "password"
    if (last in _KEYS and before in _WORDS["owners"]) or (
        last in _WORDS["behind_keys"] and before in _KEYS
    ):
        return "secret"
    if last == "key" and before and before not in _WORDS["no_owners"]:
        return "random"
    if last in _SECOND_WORDS:
        return "password" if before in _SECOND_WORDS[last] else ""
    if last in _SECRETS or last.endswith(_SECRET_ENDINGS):
        return "secret"
    return "password" if last in _PASSWORDS or last.endswith(_PASSWORD_ENDINGS) else ""


def is_announced(name: str, value: str) -> bool:
    """Return True if a value in a statement of its own is a secret by its name."""
    kind = class_of(name.rstrip("_0123456789"))
    if not kind or _is_blank(value) or _CODE.match(value):
        return False
    is_long = value.isdigit() and len(value) >= _LONG_NUMBER
    if is_long or looks_random(value) or _UUID.fullmatch(value):
        return True
    if is_expression(value):
        return False
    if kind == "password":
        return True
    loud = name.isupper() and kind == "secret" and not is_remark(value)
    return is_mixed(value) or (loud and len(value) >= _SHORTEST_SECRET and " " not in value)


def _is_tangled(value: str) -> bool:
    """Return True if brackets close in another order than they open, as no expression has it."""
    opened: list[str] = []
    for char in value:
        if char in _CLOSED_BY:
            opened.append(_CLOSED_BY[char])
        elif char in ")]}" and opened and opened.pop() != char:
            return True
    return False


def find(asked: Search) -> Iterator[Named]:
    """Yield values that a name announces, and each other place where they stand alone."""
    text, lowered = asked.text, asked.lowered
    named = [*_assigned_values(text, lowered), *_said_values(text, lowered)]
    yield from ((start, end, "named-secret") for start, end in named)
    values = {text[start:end] for start, end in named}
    if "@" in text and "://" in text:
        values |= {m[1] for m in _URL_PASSWORD.finditer(text) if not _stands_for_one(m[1])}
    yield from _again(text, values)


def _assigned_values(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    for sign in ("=", ":"):
        at = text.find(sign)
        while at >= 0:
            low = at - _NAME_SIZE if at > _NAME_SIZE else 0
            name = lowered[low:at].rstrip(_AROUND_NAME + ":" if sign == "=" else _AROUND_NAME)
            if sign == "=" and (typed := _TYPED.search(name)):
                name = name[: typed.start()].rstrip(_AROUND_NAME)
            elif sign == ":" and name[-1:].isalpha() and (said := _QUALIFIED.search(name)):
                name = name[: said.start()]
            if name.endswith(_ENDINGS) or any(stem in name for stem in _LISTS["stems_of_names"]):
                yield from _assigned(text, text[low : low + len(name)], at)
            at = text.find(sign, at + 1)


def _assigned(text: str, name: str, sign: int) -> Iterator[tuple[int, int]]:
    """Yield the value after a name and "=" or ":" at `sign`."""
    kind = class_of(name)
    compared = text[sign - 1] == "!"
    if text.endswith("--- PASS", 0, sign):  # as Go says of a test
        return
    if not kind or text[sign + 1 : sign + 3] == "//" or text[sign - 1] in "<>":
        return
    if (run := _RUN.match(text, sign + 1)) and _is_tangled(run[1]) and not compared:
        yield run.start(1), run.start(1) + len(run[1].rstrip(",;"))
        return
    m = _VALUE.match(text, sign + 1)
    group = (m.lastindex or 5) if m else 5
    if m is None or (compared and group == 5):
        return
    quoted, start, end = group < 5, m.start(group), m.end(group)
    value = m[group]
    if not quoted:
        value = re.split(r"&[A-Za-z_][\w.-]*=", value, maxsplit=1)[0].rstrip(".,:?")
        end = start + len(value)
        if text[end : end + 1] in {"(", "[", "{"} and not _SIGN.search(value):
            return
    written = text[max(0, sign - _NAME_SIZE) : sign].rstrip(_AROUND_NAME + ":")
    place = _Place(text, sign, written, (WORD.findall(written)[-1:] or [""])[0])
    if _counts(text, value, (start, end), kind, quoted, place):
        yield start, end


_IN_MAPPING = re.compile(r"[ \t]{2,24}[\w-]{3,40}(?P<sign>: )\S{1,80}[ \t]{0,8}(?:\n|\Z)")
"""A line of its own in a mapping of YAML."""
_QUALIFIED_SECRET = re.compile(
    r"(?:api|access|auth|client|app|refresh|bot|admin|master|signing|webhook|session)[ _-]?"
    r"(?:secret|token|key)\Z"
)


@dataclass(frozen=True)
class _Place:
    """Where a value stands.

    Attributes:
        text: the whole text. sign: offset of the sign before the value.
        written: the name as it is written. last: its last word.
    """

    text: str
    sign: int
    written: str
    last: str

    @property
    def loud(self) -> bool:
        """Whether the name is in capitals."""
        return self.last.isupper()

    @property
    def is_colon(self) -> bool:
        """Whether the sign is ":"."""
        return self.text[self.sign] == ":" and self.text[self.sign + 1 : self.sign + 2] != "="

    @property
    def spaced(self) -> bool:
        """Whether a space stands before the sign."""
        return self.text[self.sign - 1] in " \t"

    @property
    def begin(self) -> int:
        """Offset of the first character of the line."""
        return self.text.rfind("\n", max(0, self.sign - 80), self.sign) + 1


def _counts(
    text: str, value: str, span: tuple[int, int], kind: str, quoted: bool, place: _Place
) -> bool:
    """Return True if a value is written out, and no expression, variable or word about it."""
    # the folder in which a shell is
    shells = place.last in {"PWD", "OLDPWD"} and value[0] in "/~"
    if shells or len(value) < 4 or _is_code(value, quoted) or _is_blank(value):
        return False
    if kind in {"secret", "random"}:
        secret = kind == "secret"
        return (
            (" " not in value and (_is_random(value, 20) or _is_tangled(value)))
            or _UUID.fullmatch(value) is not None
            or (value.isdigit() and len(value) >= 24)
            or (secret and (_is_random(value, 12) or _is_secret(value, quoted, place)))
        )
    if is_mixed(value) and not (_is_variable(value) and not quoted and place.spaced):
        return True
    if any(stem in value.lower() for stem in _STEMS):
        return False
    if quoted:
        return " " not in value or place.loud or _is_words_of_user(text, value, span)
    return _ends_there(text, span[1], place)


_WORDS_OF_IT = re.compile(r"[\w'’&!-]{1,20}(?: [\w'’&!-]{1,20}){1,4}")
_USER_KEY = re.compile(
    r"(?i)\b(?:user(?:name)?|user_?id|login|e-?mail|account|host|server|uid)"
    r"[\"']?\s{0,2}(?:=>|[:=])"
)
_USER_REACH = 120


def _is_words_of_user(text: str, value: str, span: tuple[int, int]) -> bool:
    """Return True for words in quotes that are no sentence, near the name of a user."""
    if not _WORDS_OF_IT.fullmatch(value) or not is_no_sentence(value):
        return False
    if any(word in _WORDS["no_values"] or is_state(word) for word in value.lower().split(" ")):
        return False
    if any(stem in value.lower() for stem in (*_STEMS, *_LISTS["stems_abroad"])):
        return False
    start, end = span
    before = _USER_KEY.search(text, max(0, start - _USER_REACH), start)
    return bool(before or _USER_KEY.search(text, end, end + _USER_REACH))


def _is_random(value: str, shortest: int) -> bool:
    return len(value) >= shortest and looks_random(value)


def _is_secret(value: str, quoted: bool, place: _Place) -> bool:
    is_header, is_secret = _HEADER.search(place.written), place.last.lower().endswith("secret")
    mixed, loud = is_mixed(value), place.loud or is_header
    if (loud or (quoted and is_secret)) and _HYPHENED.fullmatch(value):
        own = not is_header or _WORDS["placeholders"].isdisjoint(value.split("-"))
        return own and not any(stem in value.lower() for stem in _STEMS if not place.loud)
    if len(value) < _SHORTEST_SECRET:
        return False
    if value.islower() and value.isalpha() and is_secret and place.begin > 0:
        nested = _IN_MAPPING.match(place.text, place.begin)
        if nested and nested.start("sign") == place.sign:
            return not is_remark(value)
    qualified = _QUALIFIED_SECRET.search(place.written.lower())
    if quoted and value.isalpha() and (qualified or (is_secret and not place.is_colon)):
        return (value.islower() or value.istitle()) and not is_remark(value)
    if not quoted and not loud and value.isidentifier() and not mixed:
        return False
    named = (place.loud and not place.is_colon) or is_header
    return (mixed and any(c.isalpha() for c in value)) or bool(named and value.isalnum())


def _is_code(value: str, quoted: bool) -> bool:
    """Return True for an expression; a quoted one that goes on behind its brackets is none."""
    if value.lower() in _NAMES_OF_IT or _VERSION.match(value):
        return True
    return _CODE.match(value) is not None and not (quoted and _CALL.match(value))


_OPERATED = re.compile(r" (?:[+%*?|&]|if\b|or\b|and\b|==)")


def _ends_there(text: str, end: int, place: _Place) -> bool:
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
        if place.last.lower() not in _LISTS["usual_names"] or place.loud:
            return True
        before = text[place.begin : place.sign].strip(_AROUND_NAME)
        return WORD.fullmatch(before) is not None and following in {"", "\n", "\r"}
    return place.loud or following not in {")", ","}


# --- Sentences: "my password is X"

_COPULA = re.compile(
    r"([a-zñ]{0,6})[\"'`]?(?: (?:for|to|on|für|zu[mr]?|pour|para|per|voor|van|of|von|vom|del?"
    r"|du|d[aio]|della) [^\s.,:;]{1,30}(?: [^\s.,:;]{1,30})?)?"
    r"(?:\s(?:is|was|ist|lautet|war|est|était|es|era|è|é|será|(?:has|had) been)\b|(?<=\w)['’]s\b"
    r"|,? c['’]est\b)"
    r"(?: (?:now|still|currently|always|just|jetzt|immer noch|noch|nun|toujours|encore|todavía"
    r"|ancora|nog steeds|ainda))?(?: (?:re)?set to| changed to)?:?\s{1,2}"
    rf"(?:\"([^\"\n]{{1,100}})\"|'([^'\n]{{1,100}})'|`([^`\n]{{1,100}})`|({_PLAIN}{{4,100}}+))"
)
_OWNED = re.compile(
    rf"(?i)\b(?:{any_of(_LISTS['owned_by'])}|wi-?fi)(?:['’]s)?\s(?:[\w-]{{1,20}}\s){{0,2}}\Z"
)
_OF_ACCOUNT = re.compile(rf"(?i)\b(?:{any_of(_LISTS['accounts'])}|wi-?fi|e-?mail)\b")
"""What has a password, behind its name."""
_GOES_ON = re.compile(rf"\s{{1,2}}{any_of(_LISTS['conjunctions'])}\b|\s?[(—–]|\s-")
"""What may follow a password in a sentence that goes on."""


def _said_values(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    for stem in _LISTS["stems_of_sentences"]:
        at = lowered.find(stem)
        while at >= 0:
            end = at + len(stem)
            if m := _COPULA.match(text, end):
                yield from _said(text, lowered, at, m)
                end = m.end()
            at = lowered.find(stem, end)


def _said(text: str, lowered: str, at: int, m: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the value of "my password is X" or the like; the stem of the name is at `at`."""
    begin = at
    while begin > at - _NAME_SIZE and text[begin - 1 : begin].isalpha():
        begin -= 1
    name = lowered[begin : m.end(1)]
    ambiguous = name in _WORDS["ambiguous"]
    if not (ambiguous or name in _WORDS["spoken"] or name.endswith(_PASSWORD_ENDINGS)):
        return
    group = m.lastindex or 5
    start, value = m.start(group), m[group]
    if group < 5:
        if not is_state(value) and len(value) >= 4 and not _CODE.match(value):
            yield start, start + len(value)
        return
    bare = value.rstrip(".,:;!?")
    verb = text[m.end(1) : start]
    states = is_state(value) and not ("lautet" in verb and bare.lower() not in _WHOLE_STATES)
    if len(bare) < 4 or _CODE.match(value) or states:
        return
    owned = (
        _OWNED.search(text, max(0, begin - 48), begin) is not None
        or _OF_ACCOUNT.search(verb) is not None
        or (name == "pw" and text[begin - 1 : begin] in {"", "\n"})
    )
    ends = len(bare) < len(value) or text[m.end() : m.end() + 1] in {"", "\n", "\r", ")", ",", ";"}
    ends = ends or owned or "lautet" in verb or _GOES_ON.match(text, m.end()) is not None
    if is_mixed(bare) or (ends and (owned or not ambiguous) and _is_no_remark(bare)):
        # an exclamation mark before the end of the sentence belongs to the password
        yield start, start + len(value.rstrip(".,:;?"))


# --- The same secret again, lists and blocks

_URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>]{0,100}:([^\s/@\"'<>]{3,200})@")
_MOST_AGAIN = 64
"""Distinct secrets of a text that are searched for where they stand alone."""


def _stands_for_one(value: str) -> bool:
    """Return True for a word that examples have in place of a password."""
    word = value.lower().strip("_-")
    return word in _NAMES_OF_IT or word in _SECRETS or is_state(word) or value[0] in "<{$%"


def _again(text: str, values: set[str]) -> Iterator[Named]:
    """Yield each other place where a secret stands as a whole word."""
    for value in sorted(values)[:_MOST_AGAIN]:
        if len(value) < 6 and not is_mixed(value):
            continue
        at = text.find(value)
        while at >= 0:
            end = at + len(value)
            before, after = text[at - 1 : at], text[end : end + 1]
            if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
                yield at, end, "named-secret"
            at = text.find(value, end)


_COOKIE = re.compile(r"(?P<name>[\w.$-]{1,80})=(?P<value>[^\s;,\"']{4,4000})")
_COOKIES = re.compile(r"(?i)cookie[\"'`\])]{0,2}\s?:")


def cookies(asked: Search) -> Iterator[Named]:
    """Yield the values of a `Cookie:` or `Set-Cookie:` header, not its attributes."""
    text, done = asked.text, 0
    for head in _COOKIES.finditer(text) if "cookie" in asked.lowered else ():
        if head.start() < done:
            continue
        line = text.find("\n", head.end())
        done = line if line >= 0 else len(text)
        for m in _COOKIE.finditer(text, head.end(), done):
            named = m["name"].lower() not in _WORDS["cookie_attributes"]
            if named and m["value"][0] not in "<{$%":
                yield m.start("value"), m.end("value"), "cookie"


_CODES = re.compile(
    r"(?i)\b(?:recovery|backup|rescue|scratch|emergency|notfall|wiederherstellungs)"
    r"[ -]?codes?(?: are| is)?\s?:?\s"
    r"(?P<codes>(?:[\s,;*•-]{0,6}(?:[0-9]{1,2}[.)] )?"
    r"[0-9A-Za-z]{4,8}(?:[ -][0-9A-Za-z]{4,8}){0,3}){1,20})"
)
_ONE_CODE = re.compile(r"(?=[A-Za-z-]{0,17}[0-9])[0-9A-Za-z]{4,8}(?:-[0-9A-Za-z]{4,8}){0,3}")
_SHORTEST_CODE = 6


def recovery_codes(asked: Search) -> Iterator[Named]:
    """Yield the codes of a list that a line above announces."""
    text = asked.text
    for m in _CODES.finditer(text) if "code" in asked.lowered else ():
        for code in _ONE_CODE.finditer(text, m.start("codes"), m.end("codes")):
            if len(code[0]) >= _SHORTEST_CODE or not code[0].isdigit():
                yield code.start(), code.end(), "recovery-code"
