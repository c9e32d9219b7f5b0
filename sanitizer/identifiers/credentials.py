"""Passwords, tokens and keys by the name that announces them.

A value counts whatever its letters are if a name such as `password` stands before it in an
assignment, a flag, a tag, a header or a sentence, in English, German, French, Spanish, Italian,
Dutch and Portuguese; left out are expressions of code, variables, and words that say something
about a password ("wrong", "required").

Not protected: passwords of letters that no name announces, and those that are such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanitizer.identifiers.checks import looks_random

Span = tuple[int, int, str]

_PASSWORDS = frozenset(
    """
    password passwd passphrase passcode pwd pass psw psk pw passwort kennwort passwörter mdp
    wachtwoord contraseña contrasena clave senha passe passwords ordine parola acceso
    heslo hasło lösenord losenord passord adgangskode salasana jelszó parolă şifre пароль
    """.split()
)
_SECRETS = frozenset(
    """
    secret token credential credentials secrets tokens apikey secretkey accesskey privatekey
    authkey authtoken accesstoken jeton secreto segreto segredo geheim geheimnis sessionid sessid
    phpsessid jsessionid csrftoken jwt pat
    """.split()
)
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
_LAST_WORDS = tuple(_PASSWORDS | _STAGES | _SECRETS | _KEYS | _BEFORE_KEY)
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
_QUERY = re.compile(r"&[A-Za-z_][\w.-]*=")
_SIGN = re.compile(r"[^\w\s.,:;-]")
_HEADER = re.compile(r"(?i)(?<![\w-])x-[a-z-]{2,30}\Z")
_COMMENT = re.compile(r"[ \t]{1,8}(?:#|//|--)[ \t]")
_HYPHENED = re.compile(r"[a-z0-9]{2,20}(?:-[a-z0-9]{2,20}){2,8}")
"""Words with hyphens between, which many write for a secret."""
_OF_PLACEHOLDERS = frozenset(
    "your my key token here api secret example test dummy value insert goes replace me some the"
    " todo xxx xxxx sample demo fake".split()
)
_HIDDEN = re.compile(r"[*•.xX_?-]+\Z")
# Words that say something about a password, or stand for one; beginnings of words end in *.
_STATES = """
    none null nil true false str string text bytes int any bool boolean number varchar char
    required* optional yes no wrong* expire* incorrect* invalid* missing empty blank weak strong
    secure* insecure safe correct* hash* encrypt* stored compromised leaked reset changed locked
    set not too same needed shared unknown case protected public hidden redacted visible default
    important short long old new good bad okay fine different valid* accept* reject* work* forgot*
    lost gone mandatory must should has have can cannot will would value input field example
    placeholder changeme here yours mine never always also now then only instead option flag
    argument when with from your please enter the that this and file files prompt stdin
    undefined unset secretstr optional* list dict object
    falsch* abgelaufen* ungültig* richtig korrekt nicht leer erforderlich* sicher unsicher
    notwendig geheim vergessen* gesperrt gültig zu
    obligatoire* expir* inval* incorr* erron* manquant* vide trop pas oublié* requis*
    caduc* errónea obligatori* errat* sbagliat* scadut* mancant* corrett* necessari*
    verlopen onjuist* verkeerd* ongeldig* leeg niet juist* vereist* vergeten
    errad* vazi* inválid* obrigat* esquecid* olvidad* dimenticat*
    """.split()
_WHOLE_STATES = frozenset(word for word in _STATES if not word.endswith("*"))
_BEGINNINGS = tuple(word[:-1] for word in _STATES if word.endswith("*"))
_STEMS = ("password", "passwd", "passwort", "pwd", "secret", "token", "apikey", "api_key", "pass_")
_SPOKEN_STEMS = (
    *("passw", "phrase", "pw ", "pw:", "kennwort", "mot de passe", "wachtwoord", "senha"),
    *("heslo", "passord", "salasana", "parol"),
)
_OTHER_SPOKEN_STEMS = (*_SPOKEN_STEMS, "contraseña", "парол", "hasło", "lösen", "şifre")
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
# What a sentence says about a password beside `_STATES`, in the languages of the names.
_SAID_ABOUT = frozenset(
    """
    chosen given found stolen forgotten hidden read left told set lost shut met
    about absent active again alphanumeric already also annoying another anyway basically back bad
    being broken case close closed common complex complicated confidential constantly crap dead
    different difficult dumb easy either enough ever everywhere exactly expensive fine from garbage
    gone guessable half hard harder here identical impossible inside just kept known last less
    like likely literally longer lousy made maybe minimum mine missing more most much nearly
    never next nine nonsense nothing numeric obsolete obvious obviously okay open outdated over
    part perfect personal plain pretty private probably quite random ready really ridiculous right
    rubbish same seen segura seguro sent shorter shown simple simpler simply slow some
    somehow something somewhere still stronger stuck stupid such super taken temporary ten terrible
    than their them there these they this those totally trash true twelve twice under unique
    unlikely unsafe until unusable useless usually very weaker weird what when where whether
    which while whose why will
    within without working worse written your yours eight four five seven cheap permanent
    eine einer einfach etwas gleich immer jetzt kompliziert kurz lang leider länger kürzer mein
    noch nötig notwendig schon schwach schwer sehr stark stets unbekannt vielleicht viel wegen
    weg wieder wirklich wohl dasselbe identisch aktuell alt neu auch anders doch bereits bekannt
    aussi bien bloqué bon bonne celle celui compliqué dans déjà différent difficile encore
    enregistré facile faible faux fausse fort forte identique jamais juste longue mauvais même
    nécessaire perdu plus refusé sensible simple stocké toujours très trop vraiment votre vrai
    ahora algo antigua casi como corta débil demasiado diferente difícil distinta donde esta este
    fácil fuerte igual larga mala malo muy nueva para porque pública siempre sólo también tampoco
    una única vieja vuestra mejor
    ancora anche breve corta debole diversa facile giusta lunga molto nuova quella quello questa
    questo sempre sicura stata stato troppo uguale vecchia
    altijd anders bekend dezelfde fout goed hetzelfde kort lang makkelijk moeilijk nieuw nodig
    nog onveilig sterk veilig verkeerd weer zwak onbekend
    ainda aquela correta curta diferente essa esta fraca longa mesma muito nova sempre também
    """.split()
)
_PARTICIPLE = re.compile(
    r"[a-z]{2,}(?:ed|ing|ly|able|ible|less|ful|ary|ous|ated)|ge[a-zäöüß]{3,}(?:t|en|d)"
    r"|[a-zé]{3,}(?:ée?|iert|lich|ado|ada|ido|ida|ato|ata|uto|uta|itivo)"
    r"|be\w{3,}(?:t|en)|ver\w{3,}(?:t|en)"
)
"""Endings of words that say what was done with a password: "saved", "gespeichert", "guardada"."""
_GOES_ON = re.compile(
    r"\s{1,2}(?:and|but|so|which|because|since|or|und|aber|weil|oder|mais|et|car|ou|pero|y|porque|e"
    r"|ma|perché|maar|en|want|mas|if|does|doesn['’]?t|won['’]?t|now|please|thanks)\b|\s?[(—–]|\s-"
)
"""What may follow a password in a sentence that goes on."""
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
            if not any(stem in m[1].lower() for stem in _STEMS) and not is_state(m[1]):
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
    yield from _told(text, lowered, names)
    yield from _phrases(text, lowered)
    yield from _stated(text, lowered)
    yield from _paired(text, lowered)
    yield from _codes(text, lowered)
    if ("-" in text or "/p:" in text or "/user:" in text) and _ANY_FLAG.search(text):
        yield from _flags(text, lowered)
    if "<" in text and ("</" in text or "/>" in text):
        yield from _tags(text, lowered)


def _holds(text: str, words: Iterable[str]) -> bool:
    # a loop, since a generator takes twice as long
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def _shortened(name: str, sign: str) -> str:
    """Return a name without the type or the adjective behind it."""
    if sign == "=" and (typed := _TYPED.search(name)):
        return name[: typed.start()].rstrip(_AROUND_NAME)
    if sign == ":" and name[-1:].isalpha() and (said := _QUALIFIED.search(name)):
        return name[: said.start()]
    return name


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
_NO_PASSWORD = re.compile(
    r"(?i)v?[0-9][0-9.,:/-]*\Z|(?:[0-9]{1,2}:)?[0-9]+(?:\.[0-9]+)+[+~-][\w.+~-]*\Z"
    r"|(?:sha|md|aes|pbkdf|argon|scrypt|bcrypt|base|utf|oauth|hs|rs|es|ed)"
    r"-?[0-9]|[0-9]+(?:fa|th|st|nd|rd|[a-z]{1,2})\b"
)
_SEVERAL = re.compile(
    r"(?im)(?:\bpass[ -]?phrase\s?[:=]|^\s{0,8}(?:password|passwort|kennwort)\s?[:=])[ \t]{0,3}"
    r"([a-zäöüß]{2,16}(?:[ -][a-zäöüß]{2,16}){2,9})[ \t]*$"
)

_LOUD_WORDS = re.compile(
    r"(?m)^\s{0,12}[A-Z][A-Z0-9_]{0,40}(?:PASS|PASSWORD|PWD): {1,2}"
    r"(\w{2,20}(?: \w{1,20}){2,9})[ \t]*$"
)
"""A password of several words, as the value of a variable of an environment in YAML."""
_OF_SENTENCES = frozenset(
    "a an and as at be by for from if in is it of on or than that the to was we you der die das"
    " ist im in und zu muss wird le la les est".split()
)
"""Words that a passphrase has not and a sentence about one has."""


def _phrases(text: str, lowered: str) -> Iterator[Span]:
    """Yield what follows the name of a password without a sign, passphrases, and log-ins."""
    if _holds(lowered, _SPOKEN_STEMS if lowered.isascii() else _OTHER_SPOKEN_STEMS):
        for m in _SPOKEN.finditer(text):
            value = m[1].rstrip(".,:;?")
            digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
            if digits and letters and len(value) > 5 and not _is_expression(value):
                yield m.start(1), m.start(1) + len(value), "KEY"
        for m in _OF_THING.finditer(text):
            value = m[1].rstrip(".,:;?")
            if is_mixed(value) and not _is_expression(value):
                yield m.start(1), m.start(1) + len(value), "KEY"
        for m in _SEVERAL.finditer(text):
            words = m[1].replace("-", " ").split(" ")
            if not any(w in _OF_SENTENCES or (is_state(w) and w != "correct") for w in words):
                yield m.start(1), m.end(1), "KEY"
    if "pass: " in lowered or "pwd: " in lowered or "password: " in lowered:
        yield from _loud(text)
    if ("/" in text or "|" in text) and _holds(lowered, _LOGIN_WORDS):
        for m in _LOGIN.finditer(text):
            value = m[1].rstrip(".,:;?")
            if _STRONG.search(value) and not _is_expression(value):
                yield m.start(1), m.start(1) + len(value), "KEY"


def _loud(text: str) -> Iterator[Span]:
    for m in _LOUD_WORDS.finditer(text):
        if _OF_SENTENCES.isdisjoint(m[1].lower().split()):
            yield m.start(1), m.end(1), "KEY"


_LONG_NUMBER = 16
"""Digits of a number that may be the key of a network, not a version or an amount."""


def _stated(text: str, lowered: str) -> Iterator[Span]:
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
            if value.lower() in _PASSWORDS or value.lower() in _SECRETS:
                continue
            long = value.isdigit() and len(value) >= _LONG_NUMBER
            if (long or not _is_expression(value)) and (_STRONG.search(value) or not weakly):
                yield m.start(1), m.start(1) + len(value), "KEY"


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
            if not (kind or _SALT.search(m["name"])) or _is_expression(value) or is_state(value):
                continue
            loud = m["name"].isupper() and kind == "secret" and not _is_remark(value)
            loud = loud and value.isalnum() and len(value) >= _SHORTEST_SECRET
            if kind == "password" or not kind or loud or looks_random(value) or is_mixed(value):
                yield m.start(group), m.end(group), "KEY"


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


def _codes(text: str, lowered: str) -> Iterator[Span]:
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


def _is_expression(value: str) -> bool:
    """Return True for code, a variable, or what a sentence about passwords has in this place."""
    return bool(_NO_PASSWORD.match(value) or _CODE.match(value)) or _is_variable(value)


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
    if last in _SECRETS or last.endswith(_SECRET_COMPOUNDS):
        return "secret"
    return "password" if last in _PASSWORDS or last.endswith(_COMPOUNDS) else ""


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
        if text[end : end + 1] in {"(", "[", "{"} and not _SIGN.search(value):
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
    if is_mixed(value) and not (_is_variable(value) and not quoted and place.spaced):
        return True
    if any(stem in value.lower() for stem in _STEMS):
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
_WORDS_STEMS = (*_STEMS, "wort", "passe", "contrase", "senha", "wachtwoord", "parola")
_OF_FORMS = frozenset("enter type choose confirm repeat your user new neues ihr sample bad".split())


def _is_words_of_user(text: str, value: str, span: tuple[int, int]) -> bool:
    """Return True for words in quotes that are no sentence, near the name of a user."""
    if not _WORDS_OF_IT.fullmatch(value):
        return False
    words = value.lower().split(" ")
    if any(w in _OF_SENTENCES or w in _OF_FORMS or w in _NO_VALUES or is_state(w) for w in words):
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
        return written and not any(stem in value.lower() for stem in _STEMS)
    if place.is_nested and value.islower() and value.isalpha() and len(value) >= _SHORTEST_SECRET:
        return not _is_remark(value)
    qualified = place.is_qualified or (place.is_secret and not place.is_colon)
    if quoted and qualified and value.isalpha() and len(value) >= _SHORTEST_SECRET:
        return (value.islower() or value.istitle()) and not _is_remark(value)
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
    return _CODE.match(value) is not None and not (quoted and _CALL.match(value))


_NAMES_OF_IT = _PASSWORDS | {"username", "user", "userpass", "passwd", "pass"}
_NO_PASSWORD_VERSION = re.compile(r"(?:[0-9]{1,2}:)?[0-9]+(?:\.[0-9]+)+[+~][\w.+~-]*\Z")
_OPERATED = re.compile(r" (?:[+%*?|&]|if\b|or\b|and\b|==)")


def _is_variable(value: str) -> bool:
    return value.isidentifier() and "_" in value


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


def is_mixed(value: str) -> bool:
    """Return True for values with a digit, a sign, or both cases other than in a name."""
    if any(c.isdigit() for c in value) or _SIGN.search(value):
        return True
    plain = value.isidentifier() and (value.islower() or value.isupper() or value.istitle())
    return not plain and value.lower() != value and len(re.findall("[a-z][A-Z]", value)) > 1


def is_state(value: str) -> bool:
    """Return True for a word that says something about a password, or stands for one."""
    word = value.strip("\"'`.,;:!?*").lower()
    return word in _WHOLE_STATES or (word.isalpha() and word.startswith(_BEGINNINGS))


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
        if not is_state(value) and len(value) >= 4 and not _CODE.match(value):
            yield start, start + len(value), "KEY"
        return
    bare = value.rstrip(".,:;!?")
    verb = text[m.end(1) : start]
    states = is_state(value) and not ("lautet" in verb and bare.lower() not in _WHOLE_STATES)
    if len(bare) < 4 or _CODE.match(value) or states:
        return
    owned = _OWNED.search(text, max(0, begin - 48), begin) is not None
    owned = (
        owned
        or _OF_ACCOUNT.search(verb) is not None
        or (name == "pw" and text[begin - 1 : begin] in {"", "\n"})
    )
    ends = len(bare) < len(value) or text[m.end() : m.end() + 1] in {"", "\n", "\r", ")", ",", ";"}
    ends = ends or owned or "lautet" in verb or _GOES_ON.match(text, m.end()) is not None
    if is_mixed(bare) or (ends and (owned or not ambiguous) and _is_no_remark(bare)):
        # an exclamation mark before the end of the sentence belongs to the password
        kept = value.rstrip(".,:;?")
        yield start, start + len(kept), "KEY"


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
_NO_VALUES = frozenset(
    "protection manager managers field fields prompt policy authentication combination combo box"
    " recovery hint page form login logins hashing rotation strength length requirements settings"
    " expiry based less change changes auth access verification entry input column table".split()
)


def _told(text: str, lowered: str, names: list[str]) -> Iterator[Span]:
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
                if not any(is_state(w) or w.lower() in _OF_SENTENCES | _NO_VALUES for w in words):
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
            if not (ends or _VERB_BEHIND.match(text, end) or _GOES_ON.match(text, end)):
                continue
            plain = not is_state(value) and not _is_expression(value) and len(value) > 4
            if plain and (is_mixed(value) or not _is_remark(value)):
                yield m.start(1), end, "KEY"


_OTHERS = (" new ", " old ", " one ", " neue", " alte", " nou", " anc", " nuev", " nuo", " niew")


def _values_told(text: str, m: re.Match[str]) -> Iterator[Span]:
    """Yield the groups of a match that are passwords or PINs."""
    for group in range(1, (m.lastindex or 0) + 1):
        value = (m[group] or "").rstrip(".,:;?")
        if not value or is_state(value) or (_is_expression(value) and not value.isdigit()):
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
    if len(value) < _SHORTEST_CODE - 1 or value.lower() in _NO_VALUES or not _is_no_remark(value):
        return False
    if _is_quoted(text, m.start(group)):
        return True
    after = text[m.start(group) + len(value) : m.end() + 24]
    ends = after[:1] in {"", ".", ",", ";", "!", "?", "\n", ")"} or _GOES_ON.match(after)
    return bool(ends) or after.startswith(" to ")


def _is_quoted(text: str, start: int) -> bool:
    return text[start - 1 : start] in {'"', "'"}


def _is_no_remark(word: str) -> bool:
    """Return True for a word that says nothing about a password in a sentence."""
    return not _is_remark(word) and _PARTICIPLE.fullmatch(word) is None


def _is_remark(word: str) -> bool:
    plain = word.lower()
    return plain in _SAID_ABOUT or any(stem in plain for stem in _STEMS)


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
            if value.strip("\"'").lower() not in _PASSWORDS:
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
            if start and len(plain) >= 4 and not _CODE.match(plain) and not is_state(plain):
                begin = start + value.index(plain)
                yield begin, begin + len(plain), "KEY"
        at = text.find("</", at + 2)
    if "name=" in lowered:
        for m in _NAMED_TAG.finditer(text):
            if not (_CODE.match(m[1]) or is_state(m[1])):
                yield m.start(1), m.end(1), "KEY"
    if "value=" in lowered:
        for m in _ATTRIBUTE.finditer(text):
            if len(m[2]) >= 4 and not _CODE.match(m[2]) and not is_state(m[2]):
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
    return word in _NAMES_OF_IT or word in _SECRETS or is_state(word) or value[0] in "<{$%"


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
