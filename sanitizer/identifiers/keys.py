"""Keys by their form: a vendor's public prefix, a private key block, the address of a webhook; and
what tells a secret value from what is said about one.

A prefix with its length suffices; a prefix that text may hold by chance needs letters that look
random behind it.

Not protected: keys of vendors that are not listed, unless a name announces them (credentials.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sanitizer.identifiers.checks import looks_random

Span = tuple[int, int, str]

KEY_FORMS: dict[str, str] = {
    "sk-proj-": r"[\w-]{20,300}",
    "sk-ant-api": r"[0-9]{2}-[\w-]{20,300}",
    "sk-": r"(?:ant-(?:api|admin)?[0-9]{0,2}-?|svcacct-|admin-|or-v1-|lf-)?[\w-]{20,300}",
    "pk-lf-": r"[\w-]{20,60}",
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{30,255}"),
    "github_pat_": r"\w{22,255}",
    **dict.fromkeys(("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "xox": r"(?:e\.xox)?[abeprs]-[\w-]{10,250}",
    "xapp-": r"[\w-]{20,250}",
    "AIza": r"[\w-]{30,39}(?![\w-])",
    "ya29.": r"[\w-]{20,250}",
    "GOCSPX-": r"[\w-]{20,60}",
    **dict.fromkeys(
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct-".split(),
        r"[\w.-]{20,60}",
    ),
    "GR1348941": r"[\w-]{20}(?![\w-])",
    **dict.fromkeys(("sk.eyJ", "pk.eyJ", "tk.eyJ"), r"[\w-]{20,400}\.[\w-]{15,40}(?![\w-])"),
    "hf_": r"[A-Za-z0-9]{30,60}",
    "SG.": r"[\w-]{16,64}\.[\w-]{16,64}",
    "npm_": r"[A-Za-z0-9]{36}(?![A-Za-z0-9])",
    "pypi-": r"[\w-]{50,300}",
    **dict.fromkeys(
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"),
        r"[A-Za-z0-9]{16,250}",
    ),
    "whsec_": r"[A-Za-z0-9+/=]{20,120}",
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}"),
    "gsk_": r"[A-Za-z0-9]{30,80}",
    "xai-": r"[A-Za-z0-9]{40,120}",
    "r8_": r"[A-Za-z0-9]{30,60}",
    **dict.fromkeys(("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9a-fA-F]{32}"),
    "lin_api_": r"[A-Za-z0-9]{32,60}",
    "dckr_pat_": r"[\w-]{20,60}",
    "eyJ": r"[\w-]{8,4000}\.eyJ[\w-]{8,8000}\.[\w-]{0,2000}",
    **dict.fromkeys(("hvs.", "hvb.", "hvr."), r"[\w-]{20,400}"),
    "dp.": r"(?:st|pt|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{32,60}",
    "dapi": r"[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])",
    **dict.fromkeys(("ATATT3", "ATCTT3"), r"[\w-]{40,400}(?:=[0-9A-F]{8})?"),
    **dict.fromkeys(("figd_", "figu_", "figo_"), r"[\w-]{30,60}"),
    **dict.fromkeys(("NRAK-", "NRJS-", "NRII-"), r"[A-Za-z0-9_-]{19,40}"),
    **dict.fromkeys(("xkeysib-", "xsmtpsib-"), r"[0-9a-f]{64}-[A-Za-z0-9]{12,20}"),
    "pplx-": r"[A-Za-z0-9]{40,64}",
    "nvapi-": r"[\w-]{40,80}",
    "AGE-SECRET-KEY-1": r"[A-Z0-9]{40,70}(?![A-Z0-9])",
    "PMAK-": r"[0-9a-f]{24}-[0-9a-f]{34}",
    "ntn_": r"[A-Za-z0-9]{40,60}",
    "secret_": r"[A-Za-z0-9]{40,60}(?![A-Za-z0-9])",
    "EAA": r"[\w-]{40,300}",
    "glsa_": r"[A-Za-z0-9]{32}_[0-9a-f]{8}",
    "sbp_": r"[0-9a-f]{40}",
    "sntrys_": r"[\w+/=-]{40,400}",
    "sntryu_": r"[0-9a-f]{64}",
    "glc_": r"[A-Za-z0-9+/]{32,400}={0,2}",
    "sb_secret_": r"[\w-]{20,60}",
    "eyJrIjoi": r"[A-Za-z0-9+/]{40,400}={0,2}",
    "ATBB": r"[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    "CCIPAT_": r"[A-Za-z0-9]{20,24}_[0-9a-f]{40}",
    "fo1_": r"[\w-]{40,50}",
    **dict.fromkeys(("fm1_", "fm1a_", "fm2_"), r"[A-Za-z0-9+/]{60,2000}={0,2}"),
    "nfp_": r"[A-Za-z0-9]{36,40}",
    "rnd_": r"[A-Za-z0-9]{28,32}(?![A-Za-z0-9_])",
    **dict.fromkeys(("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[\w=.-]{32,64}"),
    "re_": r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9_])",
    **dict.fromkeys(
        ("pat-na1-", "pat-eu1-"), r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    ),
    "HRKU-": r"[\w-]{36,64}",
    **dict.fromkeys(("EZAK", "EZTK"), r"[A-Za-z0-9]{54}(?![A-Za-z0-9])"),
    **dict.fromkeys(("IGQV", "IGAA"), r"[\w-]{80,300}"),
    "amzn.mws.": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "amzn1.application-oa2-client.": r"[0-9a-f]{32}",
    "amzn1.oa2-cs.v1.": r"[0-9a-f]{64}",
    "LTAI": r"[A-Za-z0-9]{12,24}(?![A-Za-z0-9])",
    "AKID": r"[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    "tskey-": r"[A-Za-z0-9-]{24,100}",
    "tfp_": r"[\w.=-]{40,80}",
    **dict.fromkeys(("dt0c01.", "dt0s01."), r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    **dict.fromkeys(("phc_", "phx_"), r"[A-Za-z0-9]{40,60}(?![A-Za-z0-9_])"),
    "sl.": r"(?:u\.)?[\w-]{100,2000}",
    "cio": r"[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    "AKCp": r"[A-Za-z0-9]{60,80}(?![A-Za-z0-9])",
    "cmVmdGtu": r"[A-Za-z0-9+/]{40,64}(?![A-Za-z0-9])",
    **dict.fromkeys(("squ_", "sqp_", "sqa_"), r"[0-9a-f]{40}"),
    "oy2": r"[a-z0-9]{43}(?![A-Za-z0-9])",
    **dict.fromkeys(("shippo_live_", "shippo_test_"), r"[0-9a-f]{40}"),
    **dict.fromkeys(("duffel_live_", "duffel_test_"), r"[\w-]{43}"),
    **dict.fromkeys(("FLWSECK-", "FLWSECK_TEST-"), r"[0-9a-fA-F]{32}-X"),
    "fw_": r"[A-Za-z0-9]{24}(?![A-Za-z0-9_])",
    "jina_": r"[A-Za-z0-9]{60}",
    "pcsk_": r"[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,70}",
    "llx-": r"[A-Za-z0-9]{40,60}",
    **dict.fromkeys(("xprv", "yprv", "zprv"), r"[1-9A-HJ-NP-Za-km-z]{100,112}(?![A-Za-z0-9])"),
    "v1.0-": r"[0-9a-f]{24}-[0-9a-f]{146}",
    "lsv2_pt_": r"[0-9a-f]{32}_[0-9a-f]{10}",
    "rubygems_": r"[0-9a-f]{48}",
    "pul-": r"[0-9a-f]{40}(?![0-9a-f])",
    "sq0atp-": r"[\w-]{22}",
    "sq0csp-": r"[\w-]{43}",
    "CFPAT-": r"[\w-]{43}",
    "tvly-": r"(?:dev-)?[A-Za-z0-9]{32}",
}
"""Public prefixes of keys, and patterns of what follows.

The prefix stays when a key is replaced by another one.
"""
_LOOSE = frozenset("sk- SG. pk-lf- ya29. secret_ EAA re_ fw_ sl. cio oy2 LTAI rnd_ IGQV".split())
"""Prefixes that text may hold by chance: what follows must look random."""
_EXACT = {
    "SG.": re.compile(r"[\w-]{22}\.[\w-]{43}"),
    "sk-": re.compile(r"[A-Za-z0-9]{48}"),
    "ya29.": re.compile(r"[\w-]{120,250}"),
}
"""Lengths of such keys that nothing else has, whatever the letters."""
_LONG = {
    "-": re.compile(r"-[\w.-]{14}"),
    "_": re.compile(r"_[\w.+/=-]{14}"),
    ".": re.compile(r"\.[\w.-]{20}"),
    "A": re.compile(
        r"A(?:KIA|SIA|BIA|CCA|Iza|TATT3|TCTT3|TBB|KID|KCp|K[A-Za-z0-9]{54}|A[\w-]{40}"
        r"|I[A-Za-z0-9]{12})"
    ),
    "": re.compile(""),
}
"""What every key with a prefix that holds this sign holds too: a quick search for each of them."""
_MARKS = {
    sign: [mark for mark in KEY_FORMS if next(each for each in _LONG if each in mark) == sign]
    for sign in _LONG
}
_IN_WORDS = frozenset({"dapi", "sk-proj-", "sk-ant-api", "rnd_", "v1.0-", "llx-", "IGAA"})
_GLUED = frozenset(mark for mark in KEY_FORMS if len(mark) > 3) - _LOOSE - _IN_WORDS
"""Prefixes that count inside a word too."""

PEM_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_PEM_BODY = re.compile(r"[\sA-Za-z0-9+/=]{0,20000}")
_PEM_SIZE = 20_000
_RUN = re.compile(r"[A-Za-z0-9]{20,}")
_PUTTY = re.compile(
    r"Private-Lines: [0-9]{1,3}\r?\n((?:[A-Za-z0-9+/=]{4,80}\r?\n){1,200})"
    r"|Private-(?:MAC|Hash): ([0-9a-f]{40,64})"
)
_FORMED = (
    ("SK", re.compile(r"SK(?<![A-Za-z0-9]..)[0-9a-f]{32}(?![A-Za-z0-9])")),
    ("AC", re.compile(r"AC(?<![A-Za-z0-9]..)[0-9a-f]{32}(?![A-Za-z0-9])")),
    ("-us", re.compile(r"-(?<=[0-9a-f]{32}-)us[0-9]{1,2}(?![\w-])")),
    ("-", re.compile(r"-(?<=[0-9a-f]{32}-)[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])")),
    ("NRAL", re.compile(r"(?<=[0-9a-f]{32})(?:[0-9a-f]{4}|FFFF)NRAL(?![A-Za-z0-9])")),
    (".", re.compile(r"\.(?<=pat[A-Za-z0-9]{14}\.)[0-9a-f]{64}(?![0-9a-f])")),
    (":APA91b", re.compile(r":APA91b[\w-]{100,200}")),
    (
        "$",
        re.compile(
            r"\$(?:1|2[abxy]|5|6|y|7|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-sha[0-9]{1,3})\$"
            r"[^\s:'\"`,;<>]{16,200}"
        ),
    ),
    (
        "-",
        re.compile(
            r"-(?<=(?<![\w-])[A-Z0-9]{5}-)(?=[A-Z-]{0,22}[0-9])(?=[0-9-]{0,22}[A-Z])"
            r"(?:[A-Z0-9]{5}-){3}[A-Z0-9]{5}(?![\w-])"
        ),
    ),
    ("-", re.compile(r"-(?<=(?<![\w-])[0-9]{6}-)(?:[0-9]{6}-){6}[0-9]{6}(?![\w-])")),
)
"""Keys of a form of their own, each with a string that they hold: Twilio, Mailchimp, Mailgun, New
Relic, Airtable, Firebase, hashes of passwords, product keys, recovery keys of BitLocker.
"""
_WHOLE_WORD = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_TELEGRAM = re.compile(r":AA[\w-]{32,34}(?![\w-])")
_TELEGRAM_BOT = re.compile(r"(?<![0-9])[0-9]{8,10}\Z")
_DISCORD = re.compile(r"\.[\w-]{6}\.[\w-]{27,40}(?![\w-])")
_DISCORD_BOT = re.compile(r"(?<![\w-])[MNO][\w-]{22,27}\Z")
_HOOK_PATHS = re.compile(
    r"/(?:(?:services|workflows|triggers)/[A-Z][\w/+-]{19,200}"
    r"|api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{15,22}/[\w-]{20,100}|webhookb2/[\w@/-]{20,400})"
)
_HOOK_HOST = re.compile(
    r"(?:https?://)?(?:hooks\.slack\.com|(?:(?:canary|ptb|www)\.)?(?:discord|discordapp)\.com"
    r"|[a-z0-9-]{1,60}\.webhook\.office\.com)\Z"
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_REACH = 300


def keys(text: str) -> Iterator[Span]:
    """Yield keys with a public prefix or a form of their own, private key blocks and webhooks."""
    for mark in ("AKIA", "ASIA", "ABIA", "ACCA"):
        if mark in text:
            yield from _marked(text, mark)
    yield from _shaped(text)
    yield from _formed(text)
    if "-" in text and "-----BEGIN " in text:
        yield from _pem_blocks(text)
    if "Private-" in text:
        for m in _PUTTY.finditer(text):
            group = m.lastindex or 0
            yield m.start(group), m.end(group), "KEY"


def _marked(text: str, mark: str) -> Iterator[Span]:
    pattern = _form(mark)
    at = text.find(mark)
    while at >= 0:
        end = at + len(mark)
        clear = mark in _GLUED or at == 0 or not text[at - 1].isalnum()
        m = pattern.match(text, end) if clear else None
        if m:
            end = m.end() - (m[0][-1] in "-_.")
            secret = text[at + len(mark) : end]
            exact = mark in _EXACT and _EXACT[mark].fullmatch(secret) and len(set(secret)) > 1
            if mark not in _LOOSE or exact or _is_no_word(secret):
                yield at, end, "KEY"
                if m.re is _form("AKIA"):
                    yield from _beside(text, at, end)
        at = text.find(mark, end)


@cache
def _form(mark: str) -> re.Pattern[str]:
    return re.compile(KEY_FORMS[mark])


def _is_no_word(secret: str) -> bool:
    """Return True for what looks random, or is a run of letters of both cases that is no name."""
    return looks_random(secret) or any(is_mixed(run) for run in _RUN.findall(secret))


def _beside(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the secret access key near an access key id of AWS."""
    for m in _AWS_SECRET.finditer(text, max(0, start - _AWS_REACH), end + _AWS_REACH):
        if not m[0].isalpha() and not re.fullmatch("[0-9a-f]{40}", m[0]):
            yield m.start(), m.end(), "KEY"


def _shaped(text: str) -> Iterator[Span]:
    """Yield tokens of bots, and addresses of webhooks."""
    if ":" in text:
        for m in _TELEGRAM.finditer(text):
            if bot := _TELEGRAM_BOT.search(text, max(0, m.start() - 11), m.start()):
                yield bot.start(), m.end(), "KEY"
    if "." in text:
        for m in _DISCORD.finditer(text):
            if bot := _DISCORD_BOT.search(text, max(0, m.start() - 29), m.start()):
                yield bot.start(), m.end(), "KEY"
    if "/" in text:
        for path in _HOOK_PATHS.finditer(text):
            host = _HOOK_HOST.search(text, max(0, path.start() - 90), path.start())
            if host:
                yield host.start(), path.end(), "KEY"


def _formed(text: str) -> Iterator[Span]:
    """Yield keys of a form of their own."""
    for mark, pattern in _FORMED:
        if mark in text:
            for m in pattern.finditer(text):
                start = m.start()
                if mark != "$" and (before := _WHOLE_WORD.search(text, max(0, start - 64), start)):
                    start = before.start()
                yield start, m.end(), "KEY"


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


# --- What a secret value looks like, and what is said of one

PASSWORDS = frozenset(
    """
    password passwd passphrase passcode pwd pass psw psk pw passwort kennwort passwörter mdp
    wachtwoord contraseña contrasena clave senha passe passwords ordine parola acceso
    heslo hasło lösenord losenord passord adgangskode salasana jelszó parolă şifre пароль
    """.split()
)
SECRETS = frozenset(
    """
    secret token credential credentials secrets tokens apikey secretkey accesskey privatekey
    authkey authtoken accesstoken jeton secreto segreto segredo geheim geheimnis sessionid sessid
    phpsessid jsessionid csrftoken jwt pat
    """.split()
)
CODE = re.compile(
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
SIGN = re.compile(r"[^\w\s.,:;-]")
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
WHOLE_STATES = frozenset(word for word in _STATES if not word.endswith("*"))
_BEGINNINGS = tuple(word[:-1] for word in _STATES if word.endswith("*"))
STEMS = ("password", "passwd", "passwort", "pwd", "secret", "token", "apikey", "api_key", "pass_")
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
GOES_ON = re.compile(
    r"\s{1,2}(?:and|but|so|which|because|since|or|und|aber|weil|oder|mais|et|car|ou|pero|y|porque|e"
    r"|ma|perché|maar|en|want|mas|if|does|doesn['’]?t|won['’]?t|now|please|thanks)\b|\s?[(—–]|\s-"
)
"""What may follow a password in a sentence that goes on."""
_NO_PASSWORD = re.compile(
    r"(?i)v?[0-9][0-9.,:/-]*\Z|(?:[0-9]{1,2}:)?[0-9]+(?:\.[0-9]+)+[+~-][\w.+~-]*\Z"
    r"|(?:sha|md|aes|pbkdf|argon|scrypt|bcrypt|base|utf|oauth|hs|rs|es|ed)"
    r"-?[0-9]|[0-9]+(?:fa|th|st|nd|rd|[a-z]{1,2})\b"
)
OF_SENTENCES = frozenset(
    "a an and as at be by for from if in is it of on or than that the to was we you der die das"
    " ist im in und zu muss wird le la les est".split()
)
"""Words that a passphrase has not and a sentence about one has."""


def is_expression(value: str) -> bool:
    """Return True for code, a variable, or what a sentence about passwords has in this place."""
    return bool(_NO_PASSWORD.match(value) or CODE.match(value)) or is_variable(value)


def is_variable(value: str) -> bool:
    """Return True for what may be a variable's name."""
    return value.isidentifier() and "_" in value


def is_mixed(value: str) -> bool:
    """Return True for values with a digit, a sign, or both cases other than in a name."""
    if any(c.isdigit() for c in value) or SIGN.search(value):
        return True
    plain = value.isidentifier() and (value.islower() or value.isupper() or value.istitle())
    return not plain and value.lower() != value and len(re.findall("[a-z][A-Z]", value)) > 1


def is_state(value: str) -> bool:
    """Return True for a word that says something about a password, or stands for one."""
    word = value.strip("\"'`.,;:!?*").lower()
    return word in WHOLE_STATES or (word.isalpha() and word.startswith(_BEGINNINGS))


NO_VALUES = frozenset(
    "protection manager managers field fields prompt policy authentication combination combo box"
    " recovery hint page form login logins hashing rotation strength length requirements settings"
    " expiry based less change changes auth access verification entry input column table".split()
)


def is_no_remark(word: str) -> bool:
    """Return True for a word that says nothing about a password in a sentence."""
    return not is_remark(word) and _PARTICIPLE.fullmatch(word) is None


def is_remark(word: str) -> bool:
    """Return True for a word that says something about a secret ("wrong", "required")."""
    plain = word.lower()
    return plain in _SAID_ABOUT or any(stem in plain for stem in STEMS)
