"""Secrets that sentences state: passwords, PINs, codes of doors, in English and six languages more.

"The password is", "log in with", "unser WLAN-Passwort lautet": the words around a value announce
it; what is said about a password ("wrong", "required") is none.

Not protected: what no such words announce, and a password that is an everyday word without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanitizer.identifiers.keys import (
    GOES_ON,
    NO_VALUES,
    OF_SENTENCES,
    PASSWORDS,
    SECRETS,
    is_expression,
    is_mixed,
    is_no_remark,
    is_remark,
    is_state,
)

Span = tuple[int, int, str]

_SPOKEN_STEMS = (
    *("passw", "phrase", "pw ", "pw:", "kennwort", "mot de passe", "wachtwoord", "senha"),
    *("heslo", "passord", "salasana", "parol"),
)
_OTHER_SPOKEN_STEMS = (*_SPOKEN_STEMS, "contraseña", "парол", "hasło", "lösen", "şifre")


def _holds(text: str, words: Iterable[str]) -> bool:
    # a loop, since a generator takes twice as long
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


_LOGIN = re.compile(
    r"(?i)\b(?:log in (?:with|as)|(?:log-?in|credentials|creds|zugangsdaten|anmeldung|identifiants"
    r"|wi-?fi|wlan|ssid)(?:\s?[:=]| is| are))\s?[\w.@+-]{2,40}\s?[/|]\s?([^\s\"'`<>]{4,64})"
)
_LOGIN_WORDS = (
    *(
        "login",
        "log-in",
        "log in",
        "cred",
        "zugangsdaten",
        "anmeldung",
        "identifiants",
        "wifi",
        "wi-fi",
    ),
    *("wlan", "ssid"),
)
_SPOKEN = re.compile(
    r"(?i)\b(?:password|passphrase|pass phrase|passwd|passwort|kennwort|mot de passe|contraseña"
    r"|wachtwoord|senha|пароль|hasło|heslo|lösenord|passord|salasana|parola|parolă|şifre)"
    r"\s(?:(?:→|->|=>)\s?)?([^\s\"'`<>()]{6,64})"
)
_STRONG = re.compile(r"[0-9!#$%&*@^+]")
_OF_THING = re.compile(
    r"(?i)\b(?:password|passphrase|passwort|kennwort|mot de passe|contraseña|wachtwoord|senha|pw)"
    r" (?:for|to|of|für|zum|zur|pour|para|voor|van|do|da|du|del|della|fürs|wi-?fi|wlan)"
    r"(?: [^\n.,:;]{1,40})?\s?:\s{1,3}"
    r"([^\s\"'`<>()]{4,64})"
)
_STATED = (
    ("identified by", re.compile(r"(?i)\bidentified by (?:password )?['\"]([^'\"\n]{3,64})['\"]")),
    ("password '", re.compile(r"(?i)\bpassword '([^'\n]{4,64})'")),
    ("storepass", re.compile(r"-(?:src|dest)?storepass[ =]([^\s\"']{4,64})")),
    ("keypass", re.compile(r"-(?:src|dest)?keypass[ =]([^\s\"']{4,64})")),
    ("7z", re.compile(r"\b7z[ar]?\s[^\n]{0,80}?\s-p([^\s\"']{4,64})")),
    ("sudo -s", re.compile(r"\becho ['\"]?([^\s'\"|]{4,64})['\"]? ?\| ?sudo -S\b")),
    (
        "login ",
        re.compile(r"(?i)\bmachine \S{1,80}\s{1,8}login \S{1,64}\s{1,8}password ([^\s\"']{4,64})"),
    ),
    ("_auth", re.compile(r"(?<![\w])_auth ?= ?['\"]?([A-Za-z0-9+/=_-]{8,400})")),
    ('"auth"', re.compile(r"\"auth\"\s?:\s?\"([A-Za-z0-9+/]{8,400}={0,2})\"")),
    ("sig=", re.compile(r"(?<![\w])sig=([\w%+/=-]{20,200})")),
    ("signature=", re.compile(r"(?i)signature=([0-9a-f]{64})(?![0-9a-f])")),
    ("digest", re.compile(r"\b[Dd]igest [^\n]{0,400}?response=\"([0-9a-f]{32})\"")),
    ("sqlplus", re.compile(r"\bsqlplus (?:-\S{1,9} ){0,3}['\"]?\w{1,40}/([^\s@'\"]{3,64})")),
    (
        "--password-stdin",
        re.compile(r"\becho ['\"]?([^\s'\"|$]{4,200})['\"]? ?\|[^\n|]{1,80}-stdin"),
    ),
    (
        "chpasswd",
        re.compile(r"\becho ['\"]?[\w.-]{1,40}:([^\s'\"|$]{4,200})['\"]? ?\| ?(?:sudo )?chpasswd"),
    ),
    ("net user", re.compile(r"(?i)\bnet user \"?[\w.-]{1,40}\"? ([^\s/*<>\"'][^\s<>\"']{3,64})")),
    ("ftp> user", re.compile(r"ftp> user \S{1,64} (\S{4,64})")),
    ("wifi:", re.compile(r"\bWIFI:[^\n]{0,80}?\bP:([^;\n]{4,64})")),
    (
        "auth=(|basicauth(|digestauth(|login(|auth(",
        re.compile(
            r"(?i)(?:auth=|basicauth|digestauth|\blogin|\bauth)\([\"'][^\"'\n]{1,64}[\"'],\s?"
            r"[\"']([^\"'\n]{4,100})[\"']\)"
        ),
    ),
    (
        "setpassword|set_password|setsecret|setapikey|settoken|withpassword",
        re.compile(
            r"(?i)\b(?:set_?(?:password|secret|api_?key|token)|withpassword)"
            r"\([\"']([^\"'\n]{4,200})[\"']\)"
        ),
    ),
    (
        "new pdo(|mysqli|getconnection(|ftp_login(|mysql_connect(|imap_open(",
        re.compile(
            r"(?:new PDO|mysqli(?:_connect)?|mysql_connect|getConnection|ftp_login|imap_open)"
            r"\([^,()\n]{1,120},\s?[\"'][^\"'\n]{1,60}[\"'],\s?[\"']([^\"'\n]{4,100})[\"']"
        ),
    ),
    ("wandb login", re.compile(r"\bwandb login (?:--relogin )?([0-9a-f]{40})")),
    (
        ", password|, passwort|, pw|and password",
        re.compile(
            r"(?i)\b(?:wi-?fi|wlan|user(?:name)?|login|network)\b[^\n;]{1,60}?,? (?:and )?(?:the )?"
            r"(?<=[, ])(?:password|passwort|pw) ([a-z]{3,20}(?:-[a-z]{3,20}){1,4})(?=[.,;\s]|$)"
        ),
    ),
    (
        "app password|app-password",
        re.compile(r"(?i)\bapp[- ]password(?: is|:| =)? ((?:[a-z]{4} ){3}[a-z]{4})(?![a-z])"),
    ),
    (
        ":",
        re.compile(
            r"(?m):(?<=[\w*]:)(?:[0-9]{4,5}|\*):(?:[\w-]{1,63}|\*):(?:[\w-]{1,63}|\*):"
            r"([^\s:]{4,100})$"
        ),
    ),
    (
        "2fa|otp|mfa|two-factor|authenticator",
        re.compile(
            r"(?i)\b(?:2fa|totp|otp|mfa|two-factor|authenticator)"
            r"[ _-](?:secret|key|seed|setup key)"
            r"(?: is)?\W{1,3}((?:[A-Z2-7]{4}[ -]?){4,16})(?![A-Za-z0-9])"
        ),
    ),
    (
        " answer",
        re.compile(
            r"(?i)\b(?:security|secret) (?:question[^\n]{0,80}?[ ,?.]\s{0,2}(?:the )?)?answer"
            r"(?: is|:| =) ([A-Z0-9][\w' -]{2,40}?)(?=[.,;\n]|$)"
        ),
    ),
    (
        "phrase",
        re.compile(
            r"(?i)\b(?:seed|mnemonic|recovery|backup)(?: seed)?[ -]phrase(?: is)?\W{1,3}"
            r"((?:[a-z]{3,8}[ \n]){11,23}[a-z]{3,8})(?![a-z])"
        ),
    ),
    (
        "default",
        re.compile(
            r"(?i)\bvariable\s{1,3}\"[\w-]{0,60}(?:password|passwd|pwd|secret|token|api_?key)\"\s{0,3}"
            r"\{[^{}]{0,200}?\bdefault\s{0,4}=\s{0,4}\"([^\"\n$]{4,300})\""
        ),
    ),
    ("_auth", re.compile(r"[A-Z0-9]_AUTH ?[=:] ?['\"]?([0-9A-Za-z_-]{20,64})(?![0-9A-Za-z_-])")),
)
"""Statements and commands that say a password, each with a stretch of it in lower case."""
_STATED_WEAKLY = (
    (
        "root / |admin / |postgres / |administrator / |root/|admin/",
        re.compile(r"\b(?:root|admin|postgres|administrator) ?/ ?([^\s/]{6,64})(?=[\s.,;]|$)"),
    ),
    (
        "ssid|wifi|wi-fi|wlan",
        re.compile(
            r"(?i)\b(?:ssid|wi-?fi|wlan)\b[^\n]{1,40}?\b(?:key|password|pass|pw)"
            r"[: =]{1,3}(\S{6,64})"
        ),
    ),
    (
        "?\n|?\r",
        re.compile(
            r"(?im)\b(?:passw(?:or[dt]|d)|pass(?:code|phrase)?|pw|kennwort|mot de passe|contraseña"
            r"|wachtwoord|senha|wi-?fi (?:code|key)|wlan-?(?:code|schlüssel))\b[^\n?]{0,40}\?\r?\n"
            r"(?:\[[0-9:]{4,8}\] ?)?[^\W\d_][\w ]{0,20}: (\S{6,64})\s*$"
        ),
    ),
    (
        " key | token | secret |-key |_key ",
        re.compile(
            r"(?i)(?<![^\W_])(?:api|access|secret|auth|private|license|licence|app|admin|service|session"
            r"|twilio|datadog|stripe|mailgun|mailchimp|vault|github|gitlab|openai|aws|alibaba)"
            r"(?:[ _-](?:api|access|auth|secret))?[ _-](?:key|token|secret) (?:is |was )?"
            r"([\w+/=.-]{16,300})(?![\w])"
        ),
    ),
    (
        "(pass|(pw|(kennwort|(mot de passe|(contrase",
        re.compile(
            r"(?i)(?<!\S)(\S{5,64}) \((?:my |the |das |le )?"
            r"(?:password|passwort|passcode|pw|kennwort|mot de passe|contraseña)\)"
        ),
    ),
    (
        "? it|? es |? c'|? here",
        re.compile(
            r"(?i)(?<!\w)(?:passw(?:or[dt]|d)|pass(?:code|phrase)|pw|kennwort|mot de passe"
            r"|contraseña)"
            r"\? (?:it['’]?s|it is|here(?: it is|['’]s it)?|es ist|c['’]est|es):? (\S{6,64})"
        ),
    ),
    (" set to ", re.compile(r"(?i)\b(?:password|passwort) (?:is |was )?(?:re)?set to (\S{6,64})")),
    ("_pass", re.compile(r"(?i)[a-z]_pass(?:word|wd)? ([^\s\"'`<>(){}=:]{6,64})")),
    (
        "@",
        re.compile(
            r"(?<![\w/:.@-])(?!mailto|sips?:|xmpp|acct|git:|ssh:|npm:|pypi:|gem:|docker:)"
            r"[a-z_][\w-]{1,31}:"
            r"([^\s:@/'\"<>()]{6,64})@(?=(?:[0-9]{1,3}\.){3}[0-9]|[\w-]{1,63}\.[a-z]|(?:tcp|unix)\()"
        ),
    ),
)
"""The same where only a value that mixes letters with digits or signs is taken for one."""
_SIGNS = (*("pass", "login", "=", '"', "_", "-", ">", "/", "?", "(", "@", "auth", "key", "set"), "")
_STATEMENTS: dict[str, list[tuple[str, re.Pattern[str], bool]]] = {sign: [] for sign in _SIGNS}
"""What each statement holds, its pattern and whether the value must be strong, by a rarer part."""
for _weakly, _rows in ((False, _STATED), (True, _STATED_WEAKLY)):
    for _marks, _pattern in _rows:
        for _mark in _marks.split("|"):
            _first = next(sign for sign in _SIGNS if sign in _mark)
            _STATEMENTS[_first].append((_mark, _pattern, _weakly))
_SEVERAL = re.compile(
    r"(?im)(?:\bpass[ -]?phrase\s?[:=]|^\s{0,8}(?:password|passwort|kennwort)\s?[:=])[ \t]{0,3}"
    r"([a-zäöüß]{2,16}(?:[ -][a-zäöüß]{2,16}){2,9})[ \t]*$"
)
_LOUD_WORDS = re.compile(
    r"(?m)^\s{0,12}[A-Z][A-Z0-9_]{0,40}(?:PASS|PASSWORD|PWD): {1,2}"
    r"(\w{2,20}(?: \w{1,20}){2,9})[ \t]*$"
)
"""A password of several words, as the value of a variable of an environment in YAML."""


def phrases(text: str, lowered: str) -> Iterator[Span]:
    """Yield what follows the name of a password without a sign, passphrases, and log-ins."""
    if _holds(lowered, _SPOKEN_STEMS if lowered.isascii() else _OTHER_SPOKEN_STEMS):
        for m in _SPOKEN.finditer(text):
            value = m[1].rstrip(".,:;?")
            digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
            if digits and letters and len(value) > 5 and not is_expression(value):
                yield m.start(1), m.start(1) + len(value), "KEY"
        for m in _OF_THING.finditer(text):
            value = m[1].rstrip(".,:;?")
            if is_mixed(value) and not is_expression(value):
                yield m.start(1), m.start(1) + len(value), "KEY"
        for m in _SEVERAL.finditer(text):
            words = m[1].replace("-", " ").split(" ")
            if not any(w in OF_SENTENCES or (is_state(w) and w != "correct") for w in words):
                yield m.start(1), m.end(1), "KEY"
    if "pass: " in lowered or "pwd: " in lowered or "password: " in lowered:
        yield from _loud(text)
    if ("/" in text or "|" in text) and _holds(lowered, _LOGIN_WORDS):
        for m in _LOGIN.finditer(text):
            value = m[1].rstrip(".,:;?")
            if _STRONG.search(value) and not is_expression(value):
                yield m.start(1), m.start(1) + len(value), "KEY"


def _loud(text: str) -> Iterator[Span]:
    for m in _LOUD_WORDS.finditer(text):
        if OF_SENTENCES.isdisjoint(m[1].lower().split()):
            yield m.start(1), m.end(1), "KEY"


_LONG_NUMBER = 16
"""Digits of a number that may be the key of a network, not a version or an amount."""


def stated(text: str, lowered: str) -> Iterator[Span]:
    """Yield what statements and commands say."""
    found = {  # each pattern once, whichever of its marks the text holds
        pattern: weakly
        for sign, rows in _STATEMENTS.items()
        if sign in lowered
        for mark, pattern, weakly in rows
        if mark in lowered
    }
    for pattern, weakly in found.items():
        for m in pattern.finditer(text):
            value = m[1].rstrip(".,:;?") if weakly else m[1]
            if value.lower() in PASSWORDS or value.lower() in SECRETS:
                continue
            long = value.isdigit() and len(value) >= _LONG_NUMBER
            if (long or not is_expression(value)) and (_STRONG.search(value) or not weakly):
                yield m.start(1), m.start(1) + len(value), "KEY"


_CODES = re.compile(
    r"(?i)\b(?:recovery|backup|rescue|scratch|emergency|notfall|wiederherstellungs)"
    r"[ -]?codes?(?: are| is)?\s?:?\s"
    r"(?P<codes>(?:[\s,;*•-]{0,6}(?:[0-9]{1,2}[.)] )?"
    r"[0-9A-Za-z]{4,8}(?:[ -][0-9A-Za-z]{4,8}){0,3}){1,20})"
)
_KEPT_CODES = (
    "notfall",
    "emergency",
    "recovery",
    "backup",
    "rescue",
    "scratch",
    "wiederherstellung",
)
_DOOR = (
    r"(?:door|gate|alarm|safe|lock|vault|locker|building|garage|keypad|shed|padlock|lockbox"
    r"|entrance)"
)
_TO_DOOR = rf" (?:to|for|of) (?:the|our|my|his|her) (?:[a-z]{{2,12}} ){{0,2}}{_DOOR}"
_OF_DOOR = re.compile(
    rf"(?i)\b(?:(?:code|combination|combo|pin){_TO_DOOR}"
    r"|(?:door|gate|alarm|safe|entry|lock|keypad|garage|building|unlock|vault|locker|lockbox)"
    rf"[ -](?:code|combination|combo|pin)(?:{_TO_DOOR})?)"
    r"(?: is| was|:| =)? ([0-9][0-9#*-]{2,11}[A-Z]?)(?!\w|\.[0-9])"
)
_OF_DOOR_ABROAD = re.compile(
    r"(?i)(?:\b(?:code|código|codice) (?:de la |de l['’]|del(?:la|lo|l['’])? |du |de |do |da "
    r"|van (?:de|het) |d['’]|für (?:die |das |den )?|(?:zu[mr]?|der|des) )?"
    r"(?:portail|porte|portillon|immeuble|entrée|alarme|garage|coffre|cadenas|digicode"
    r"|puerta|portal"
    r"|alarma|garaje|caja|candado|porta|portone|cancello|allarme|cassaforte|portão|alarme|cofre"
    r"|deur|poort|alarm|kluis|slot|tür|tor|haustür|alarmanlage|safes?|tresors?|schloss)"
    r"|digicode|(?:tür|tor|alarm|safe|tresor|deur|poort|kluis)-?code)"
    r"(?: ist| lautet| est| es| è| é| is| era| war)?\s?:?\s"
    r"([0-9][0-9#*-]{2,11}[A-Z]?)(?!\w|\.[0-9])"
)
"""The same in German, French, Spanish, Italian, Portuguese and Dutch."""
_CODES_ABROAD = (
    "code |código |codice |digicode|türcode|torcode|alarmcode|safecode|tresorcode|deurcode"
    "|poortcode"
    "|kluiscode|tür-code|alarm-code"
)
_CODE_WORDS = (" code", " combination", " combo", "pin ")
_SHORTEST_CODE = 6
_ONE_CODE = re.compile(r"(?=[A-Za-z-]{0,17}[0-9])[0-9A-Za-z]{4,8}(?:-[0-9A-Za-z]{4,8}){0,3}")


def codes(text: str, lowered: str) -> Iterator[Span]:
    """Yield codes of doors, and those of a list that a line above announces."""
    if _holds(lowered, _CODE_WORDS):
        for m in _OF_DOOR.finditer(text):
            yield m.start(1), m.end(1), "KEY"
    if "code" in lowered or "códi" in lowered or "codic" in lowered:
        for m in _matches(text, lowered, _CODES_ABROAD, _OF_DOOR_ABROAD):
            yield m.start(1), m.end(1), "KEY"
    if "code" in lowered and _holds(lowered, _KEPT_CODES):
        for m in _CODES.finditer(text):
            for code in _ONE_CODE.finditer(text, m.start("codes"), m.end("codes")):
                if len(code[0]) >= _SHORTEST_CODE or not code[0].isdigit():
                    yield code.start(), code.end(), "KEY"


_NAME_OF_IT = (
    r"(?:password|passwort|passcode|passphrase|passwd|kennwort|mot de passe|contraseña|wachtwoord"
    r"|senha|pwd?|pass(?=\s?[:=]))"
)
_TOLD_STEMS = ("passw", "passc", "passphr", "pass:", "pass =", "de passe")
_RARELY_TOLD = frozenset({"pass", "clave", "ordine"})
_TOLD_VALUE = r"(?:\"([^\"\n]{4,100})\"|'([^'\n]{4,100})'|([^\s\"'`<>(){}\[\],;]{4,64}))"
_TOLD = (
    (
        "set |chang|updat|switch",
        (" pin",),
        re.compile(
            r"(?i)(?:(?<!\w)|(?<=\bre))(?:set|chang(?:e|ed|ing)|updated?|switch(?:ed)?)"
            r" (?:my|our|his|her|their|the) (?:[\w-]{1,16} ){0,3}?"
            r"(?:password|passwort|passcode|passphrase|pw|pin(?: code)?)"
            rf"(?: from {_TOLD_VALUE})?(?: back)? to {_TOLD_VALUE}"
        ),
    ),
    (
        "user|login|account|benutzer|usuario|utilisateur|utente|gebruiker",
        (),
        re.compile(
            r"(?i)\b(?:user(?:name)?|login|account|benutzer(?:name)?|usuario|utilisateur|utente"
            r"|gebruiker(?:snaam)?)(?: is| ist)?\s?[:=]?\s[^\s,;{}()\"']{2,60}[,;/]?\s{1,2}"
            rf"(?:(?:and|und|with|et|y|e|en) )?(?:the )?{_NAME_OF_IT}(?: is| ist)?\s?[:=]?\s{{1,2}}"
            rf"{_TOLD_VALUE}"
        ),
    ),
    (
        "wifi|wi-fi|wlan",
        (),
        re.compile(
            r"(?i)\b(?:wi-?fi|wlan)[ -](?:password|passwort|pw|pass|key|code|passphrase|schlüssel)"
            rf"\s?[-–—:=]{{1,2}}\s{{1,2}}{_TOLD_VALUE}"
        ),
    ),
)
"""What somebody tells of an account: changed to, beside the user's name, of a network.

The words that it begins with, what it may hold instead of the name of a password, and its pattern.
"""
_TOLD_ABROAD = (
    (
        "passwort|kennwort|mot de passe|contraseña|password|senha|wachtwoord",
        re.compile(
            r"(?i)(?:passwort|kennwort|mot de passe|contraseña|password|senha|wachtwoord)"
            r"(?: (?:[^\s.,:;]{2,14})){0,2}? (?:auf|in|zu|en|à|par|pour|a|por|con|para|naar) "
            r"([^\s\"'`<>(){}\[\],;]{5,64})"
        ),
        re.compile(
            r"(?i)\b(?:geändert|ändern|gesetzt|umgestellt|changé|mis|modifié"
            r"|cambiad[oa]|cambié|puesto"
            r"|cambiato|impostato|messo|mudei|alterei|troquei|coloquei|gewijzigd|veranderd|gezet)\b"
        ),
    ),
    (
        "use|using|chose|pick|took|mis |utilis|usado|puesto|usato|messo|verwende|benutze|nehme"
        "|gebruik",
        re.compile(
            r"(?i)\b(?:used?|using|chosen?|choose|picked|took|mis|utilise|utilisé"
            r"|usado|puesto|usato"
            r"|messo|verwende|benutze|nehme|gebruik) ([^\s\"'`<>(){}\[\],;]{5,64}) "
            r"(?:as|comme|como|come|als) (?:(?:my|our|the|mein|mon|mi|la mia|mijn|minha) )?"
            r"(?:[\w-]{2,16} )?(?:password|passwort|passcode|kennwort|mot de passe|contraseña|senha"
            r"|wachtwoord)(?=[.,;!?\n]|$| (?:every\w*|for|and|but|on|in"
            r"|für|und|pour|et|para|y|per|e)\b)"
        ),
        None,
    ),
)
"""What somebody changed a password to in other languages, or says to use as one.

The words that it begins with, its pattern, and what must stand near it.
"""
_NEAR_TOLD = 60
_OTHER_NAMES = (
    "password|passwort|passcode|passphrase|kennwort|mot de passe|contraseña|wachtwoord|senha"
)
_OTHER_ONE = re.compile(
    r"(?i)(?:password|passwort|passcode|passphrase|kennwort|mot de passe|contraseña|wachtwoord"
    r"|senha)"
    r"\b[^.\n?!]{0,80}?\b(?:new|old|other|current|previous|neues?|altes?|andere|nouveau|ancien"
    r"|nueva"
    r"|antigua|actual|nuova|vecchia|nieuwe|oude|nova|antiga)(?: one)?"
    r" (?:is|was|ist|war|est|était|es|era|è|é) "
    rf"{_TOLD_VALUE}"
)
"""The second password of a sentence: "my password was X, the new one is Y"."""
_TITLED = re.compile(r"(?m) ?([A-ZÄÖÜ][\w'’&-]{1,20}(?: [A-ZÄÖÜ0-9][\w'’&!-]{0,20}){1,3})[ \t]*$")
"""A password of several words in capitals, to the end of a line."""
_TITLE_NAMES = (
    *("password: ", "passwort: ", "kennwort: ", "passphrase: ", "passcode: ", "wachtwoord: "),
    *("de passe: ", "de passe : ", "contraseña: ", "senha: "),
)


def told(text: str, lowered: str, names: list[str]) -> Iterator[Span]:
    """Yield what a sentence tells of an account in other words than "is".

    Args:
        names: which of `_COPULA_STEMS` the text holds.
    """
    named = any(name not in _RARELY_TOLD for name in names)
    named = named or ("pass" in names and _holds(lowered, _TOLD_STEMS))
    for marks, stems, pattern in _TOLD:
        if not (named or _holds(lowered, stems)):
            continue
        for m in _matches(text, lowered, marks, pattern):
            yield from _values_told(text, m)
    if named:
        yield from _told_abroad(text, lowered)
    if named and _holds(lowered, _OTHERS):
        for m in _matches(text, lowered, _OTHER_NAMES, _OTHER_ONE):
            yield from _values_told(text, m)
    for name in _TITLE_NAMES if named else ():
        at = lowered.find(name)
        while at >= 0:
            at += len(name)
            if titled := _TITLED.match(text, at):
                words = titled[1].split(" ")
                if not any(is_state(w) or w.lower() in OF_SENTENCES | NO_VALUES for w in words):
                    yield titled.start(1), titled.end(1), "KEY"
            at = lowered.find(name, at)


_VERB_BEHIND = re.compile(
    r" (?:ge\w{2,12}(?:t|en|d)|umge\w{3,9}|ver\w{3,9}t|ändern|as|comme|como|come|als)\b"
)


def _told_abroad(text: str, lowered: str) -> Iterator[Span]:
    """Yield what somebody changed a password to in other languages, or uses as one."""
    for marks, pattern, near in _TOLD_ABROAD:
        for m in _matches(text, lowered, marks, pattern):
            value = m[1].rstrip(".,:;?!")
            around = (max(0, m.start() - _NEAR_TOLD), m.end() + _NEAR_TOLD)
            if near and not near.search(text, *around):
                continue
            end = m.start(1) + len(value)
            ends = text[end : end + 1] in {"", ".", ",", ";", "!", "?", "\n", ")"}
            if not (ends or _VERB_BEHIND.match(text, end) or GOES_ON.match(text, end)):
                continue
            plain = not is_state(value) and not is_expression(value) and len(value) > 4
            if plain and (is_mixed(value) or not is_remark(value)):
                yield m.start(1), end, "KEY"


_OTHERS = (" new ", " old ", " one ", " neue", " alte", " nou", " anc", " nuev", " nuo", " niew")


def _values_told(text: str, m: re.Match[str]) -> Iterator[Span]:
    """Yield the groups of a match that are passwords or PINs."""
    for group in range(1, (m.lastindex or 0) + 1):
        value = (m[group] or "").rstrip(".,:;?")
        if not value or is_state(value) or (is_expression(value) and not value.isdigit()):
            continue
        pin = value.isdigit() and 4 <= len(value) <= _LONGEST_PIN
        if pin or (is_mixed(value) and len(value) > 4) or _is_word_told(text, m, group):
            yield m.start(group), m.start(group) + len(value), "KEY"


def _matches(
    text: str, lowered: str, marks: str, pattern: re.Pattern[str]
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that begins with one of some words, found without it."""
    for mark in marks.split("|"):
        at = lowered.find(mark)
        while at >= 0:
            m = pattern.match(text, at)
            if m:
                yield m
            at = lowered.find(mark, m.end() if m else at + len(mark))


_LONGEST_PIN = 8


def _is_word_told(text: str, m: re.Match[str], group: int) -> bool:
    """Return True for a plain word that ends a sentence or a part of it, and is no remark."""
    value = m[group].rstrip(".,:;?")
    if len(value) < _SHORTEST_CODE - 1 or value.lower() in NO_VALUES or not is_no_remark(value):
        return False
    if _is_quoted(text, m.start(group)):
        return True
    after = text[m.start(group) + len(value) : m.end() + 24]
    ends = after[:1] in {"", ".", ",", ";", "!", "?", "\n", ")"} or GOES_ON.match(after)
    return bool(ends) or after.startswith(" to ")


def _is_quoted(text: str, start: int) -> bool:
    return text[start - 1 : start] in {'"', "'"}
