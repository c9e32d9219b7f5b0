"""Tell the language of a text by lists of everyday words; and how languages write dates and times.

The lists are public, and so is the answer: it is a function of the words that are on a list, the
number of the others, and the characters between words. Which words the others are does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sanitizer.lm import Manifest
from sanitizer.text.words import word_spans

DEFAULT = "en"
"""Language of a text that shows none, such as code, a table or a list of names."""
MIN_SHARE = 0.28
"""Least share of words that are on the list of the language; a word of several lists counts
`SHARED`. Both were chosen by errors on English prompts and short texts of nine languages, where any
share from .26 to .29 does as well. Short texts with rare words fall below it and are refused.
"""
MIN_DEFAULT = 0.2
"""Least share of words that are on the list of `DEFAULT`, shared ones at one, where more of its own
words occur than of any other language: names and rare words may be most of a short text.
"""
CLEAR, CLEAR_LEAD, MIN_CLEAR_SHARE = 6, 6, 0.22
"""Words that one language alone must have, how many times as many as the next, and the share that
is then enough: a German letter has names and nouns with capitals, which do not count.
"""
MOSTLY, MOSTLY_OWN = 0.45, 3
"""Share of words on the list of a language, twice that of any other, and words that it alone must
have: half of the everyday words of French are also on another list.
"""
LONG, MIN_LONG_SHARE = 30, 0.24
"""From so many words on chance does less, and this share is enough. A Spanish message of 50 words
with ten names in it has .27, long texts in Portuguese and Italian have .14 and .15.
"""
SHARED = 0.25
FEW_WORDS = 6
"""A text of fewer words shows too little to be refused."""
SHORT_WORDS = 10
"""Most words of a text for which one word of `DEFAULT`, and none of another language, is enough:
most of "Anna Lund met Peter in Leeds" are names.
"""
LEAST_UNREAD = 2
"""Words that languages without a list alone must have, where one that has a list has any."""
LEAST_OWN = 2
"""Words that another language alone must have for the same: "Ana Ruiz vive en Soria y tiene asma".
"""
MOST_SHARED = 0.5
"""Share of words on the list of a language from which one that is on no other list is enough."""
MAX_WORDS = 20_000
"""Words at the beginning of a text that are read, in a tenth of a second. A cut by characters would
depend on the lengths of hidden words.
"""
_FOREIGN_MARKS = "。、，；：！？「」『』《》【】（）،؛؟۔।॥"
"""Punctuation of scripts that none of the lists is written in."""
_STRUCTURE = '{}[]<>=|;_#*/\\",\t\n'
"""Characters between the words of code, tables and lists. The prose of the tests has at most one
for five words.
"""
_WORDS_PER_MARK = 3
"""A text with a character of `_STRUCTURE` for every three words counts as code, table or list."""
_UNREAD_LOWER = frozenset(
    "a aby asi až bez budu by byl byla být chci co dnes do jak jako je jeho jejich její "
    "ještě jsme jsou kde kdy která které mne moc mohu moje máme mého mému mít mě může na "
    "ne nebo nejsem nemám není než nic o od on pod podle pomoz pořád pro před při s se ses "
    "si sobě svou své svého svým ta tak také tato tento teď to tohle toho tomu tuto tyto "
    "této u už vaše ve vám vás váš však všechno zítra že "  # cs
    "af alle at blev bliver dem den denne der deres det dig dit du efter en er et far "
    "for fra få før gør ham har havde her hun hver hvis hvor i ikke ind ingen jer kan "
    "kommer man meget mellem men mig mine mit mod må nogen noget nogle nu når og også "
    "om op os over på skal som så til ud uden var ved vil vores være været "  # da
    "auta ehkä ei eikä eilen että he hei heidän huomenna hyvä hän hänellä hänen ja joka "
    "kanssa koska kuin kuka kun kyllä me meidän meillä minua minulla minulle minä missä "
    "mitä mutta myös niin nyt nämä olen olet oli onko ovat sekä sinun sinä sitten te teidän "
    "tuo tämä tämän vaan vain vielä voi voit "  # fi
    "az azt azért csak de egy el ez ha hanem hogy hol holnap is itt kell kérek lehet "
    "lesz mikor mint most már még nekem neki nekünk nem nincs tegnap ti többet után vagy "
    "vagyok van vannak vele volt én és ők "  # hu
    "abbiamo ad adesso ai allo anche ancora aveva bene c'è ci come con cosa cui da "
    "dal dalla dalle degli dei della delle dello devo di dobbiamo dopo e era essere "
    "fare gli hai il in l'ho la le lettera loro ma molto nel nella nelle nessuno non nostra "
    "ogni però più posso prego può quale quella quello queste qui quindi sei senza "
    "serve sia siamo sono sta stata stato sua sul suo suoi tra tua tutti tutto un "
    "vuole "  # it
    "aan als alsjeblieft altijd bij dat deze doen door dus een even ga gaan "
    "geen geweest goed haar had hadden heb hebben heeft hem het hier hij iets ik jij jou "
    "jullie komt krijg kunnen kwam maak maar meer met mij moet moeten morgen naar niemand "
    "niet niets nieuwe nog of omdat onder ons onze ook tegen toch toen tussen twee uit uw "
    "vandaag veel voor waren was wat we weer weet wel werd wie wij wil willen word worden "
    "wordt zal zeg zei zich zij zijn zo zoek zonder zou "  # nl
    "albo bardzo być był była było będzie coś dla dobry dziś gdy go ich im jego jest "
    "jeszcze jutro już każdy kto która które mam mamy mnie mną mogę moich moim mojego mojej "
    "mojemu może możesz nawet nie niego nikt nią niż one ponieważ przed przez przy swój są "
    "także tego tej teraz też twój tylko tym wczoraj więc wszystko żadnych że żeby "  # pl
    "ao aos as até bom como consigo das dela depois dos elas ele eles em entre essa esse "
    "esta estava este estou está estão eu fazer ficar foi fui hoje há isso isto já lhe mais "
    "mas mesmo meus mim minhas muitas muito no nos num numa nós onde ou para pela "
    "pelas pelo pelos perdi pode podes por porque porquê preciso qual que quem ser "
    "seu seus sobre suas só também tem tenho teu tudo têm um uma uns vai vou às "  # pt
    "aceasta această acest aici am are au avea azi aș ca care caut ce cea cu câte că dacă "
    "dar deci decât deja despre doar după ea fac face fie fost fără iar lor mea mele mult "
    "multe mă nevoie nici nimeni nimic noastră nostru oare ori pe pentru poate prin până "
    "rog sa sale sau spre spun spune sub să său toate trebuie tău unde unei unui vom vor "
    "vrem vă îi îl îmi în înainte între își îți și ți "  # ro
    "allt att av behöver bli blir denna ditt där ett från får för före går gör göra hade "
    "henne hennes honom hos här icke idag inte jag kom kunna mellan mitt mot mycket "
    "måste ni nya när någon något några och oss sedan sitt ska skulle säg säga säger söker "
    "tack under upp ut utan vara varit vilken vill våra vårt än är åt "  # sv
    "acil ama artık arıyorum aslında bazı belki bir biraz biri birkaç biz bizim bu bunun "
    "burada cevap daha defa değil diye diğer dolayı eğer fakat gibi göre hakkında hepsi hiç "
    "ilgili istiyorum istiyoruz kimse kimseye misin miyim mü mı mısın nerede olacak olan "
    "olarak oldu olduğu olur onu onun orada sadece senin size sizin sonra tüm veya ya "
    "yaz yok yüzden çok çünkü önce üzere üç şey şimdi şu ".split()  # tr
)
UNREAD_ANYWHERE = frozenset(
    "ahoj bydlím chtěl chtěla dobrý děkuji hledám jmenuji jsem kdo když kolik který mám můj "
    "můžeš můžu napiš naše nevím náš oprav potřebuji potřebuju prosím proč přelož přišel "
    "přišla shrň vysvětli včera zaplatil zaplatila "  # cs
    "forklar hjælp hvad hvem hvordan hvorfor jeg oversæt ret skriv "  # da
    "kiitos kirjoita korjaa käännä miksi minun miten selitä voitko "  # fi
    "foglald fordítsd hogyan javítsd kérem köszönöm magyarázd miért segíts szeretnék írd "
    "írj "  # hu
    "abito aiutami buonasera buongiorno chiedo correggi domani ieri nostro oggi perché puoi "
    "quando quanto questa questi questo riassumi scrivi scrivimi spiega spiegami traduci "
    "voglio vorrei "  # it
    "geachte gisteren goedendag graag kunt meneer mevrouw mijn schrijf verbeter vertaal "
    "waar waarom wanneer "  # nl
    "chciałabym chciałbym chcę cześć czy dlaczego dzień dziękuję gdzie ile jestem kiedy "
    "który mieszkam moja mój napisz nasz nasza nazywam pomóż popraw potrzebuję proszę "
    "przetłumacz się straciłam straciłem streść szukam witam wyjaśnij zapłaciłam zapłaciłem "  # pl
    "ajuda ajude amanhã chamo corrija escreva escreve meu minha nossa nosso não obrigada "
    "obrigado olá ontem paguei peço procuro resuma traduz traduza você "  # pt
    "ajută bunica bună corectează cât doresc explică fiica fiul locuiesc mulțumesc mâine "
    "poți puteți rezumă scrie sunt tatăl tradu vreau "  # ro
    "detta förklara hej hjälp hur igår imorgon rätta sammanfatta snälla vad varför vem vår "
    "översätt "  # sv
    "annem açıkla babam bana benim bugün bunu dün düzelt için işimi kardeşim karım kocam "
    "kızım lütfen mektup merhaba nasıl neden niye oğlum yarın çevir özetle ".split()  # tr
)
"""Words with which a request in such a language opens; no names, and no words of English."""
NATIVE_ANYWHERE = frozenset(
    "aber antworte beantworte bitte danke dass der diese diesen dieser dieses dienstag donnerstag "
    "eine einen einer erkläre erstelle fasse formuliere frau freitag für gestern guten heute herr "
    "herrn hilf ich ihnen ihr ihre ihrem ihren ihrer jetzt kannst kein keine können könnten "
    "könntest korrigiere leider mein meine meinem meinen meiner mittwoch montag nach nenne nicht "
    "noch oder raum samstag schreib schreibe sehr sie sonntag uhr und unser unsere unserem "
    "unseren unserer verbessere vielen wann warum weil wenn wie wir zum zur zusammen "
    "übersetze entwirf extrahiere generiere "  # de
    "además adjunta adjunto antes atentamente aunque ayer ayuda ayúdame buenas buenos corrige "
    "corrígeme cuando cuándo cuál cuánto cómo después dime dónde entonces escribe escríbeme "
    "escríbele "
    "estamos están está estimada estimadas estimado estimados estoy explica explícame gracias "
    "hazme hola hoy jueves lunes martes mañana mientras miércoles muchas muchos necesitamos "
    "necesito nuestra nuestro podrías porque puede puedes queremos quiero quisiera qué quién "
    "redacta saludos según sábado también tenemos tengo tiene tienes tradúceme traduce viernes "
    "vive traduzca traduzcan redacte escriba calcule haga ordene ayúdeme mejore responda extraiga "
    "extrae genere proponga propón adapte adapta simplifique simplifica acorte acorta sugiera "
    "elabore analice analiza clasifique clasifica elimine "  # es
    "après aujourd'hui avant bonjour bonsoir cette chère combien cordialement corrige corrigez "
    "demain depuis dimanche explique expliquez hier je jeudi lundi mardi merci mercredi notre nous "
    "où peux pourquoi pourrais pourriez pouvez quand quel quelle rédige rédigez résume résumez "
    "samedi traduis traduisez veuillez vendredi voici voilà votre vous écris écrivez "
    "réécrivez calculez classez complétez adaptez simplifiez raccourcissez relisez convertissez "
    "triez analysez extrayez générez listez améliorez".split()  # fr
)
"""German, Spanish and French words that are written with a capital, in letters, as nouns or where
a sentence opens, and are no names: they tell the language, and are public, in any form."""
UNREAD = UNREAD_ANYWHERE | _UNREAD_LOWER
"""Everyday words of languages that are not read, those that other languages have too among them:
a text in one of these is refused, however many of its words are on another list by chance. Written
by hand, without words that tell of anybody, and without names: "ben" is Dutch, and somebody."""


_A_FEW, _ONE_IN = 4, 25  # words of a language that a text has too: so many, and one in so many


def language_of(
    text: str,
    lists: Mapping[str, AbstractSet[str]],
    anywhere: AbstractSet[str] = frozenset(),
    unread: AbstractSet[str] = frozenset(),
) -> str | None:
    """Return the language whose list fits a text, or None if no list does.

    The first `MAX_WORDS` words are read. Texts of few words, code, tables and lists of names are in
    `DEFAULT` if nothing contradicts.

    Guarantee: the words that count are on a list, so a caller that releases them gives nothing else
    away. Of all other words only the number enters, plain numbers not counted: they are of a
    kind of their own.

    Args:
        text: any string, best without its identifiers: parts of an address would count as words.
        lists: everyday words of each language, in lower case. A word counts only as it is listed:
            written with a capital, it may be a name.
        anywhere: words of the lists that count with capitals too, such as "The" and "PLEASE".
        unread: everyday words of languages without a list: if more words are on this one alone than
            on one other list alone, the text is of none. A caller that releases the listed words
            releases these.

    Example:
        >>> lists = {"en": {"where", "is", "my"}, "de": {"wo", "ist", "mein"}}
        >>> language_of("wo ist mein Buch?", lists)
        'de'
        >>> print(language_of("gdzie jest moja nowa czerwona torba?", lists))
        None
    """
    return languages_told(text, lists, anywhere, unread).main


class Told(NamedTuple):
    """What the words of a text tell of its languages.

    Attributes:
        main: as `language_of` returns it. some: languages of which it has at least a few words that
            no other list has. n_unread: words of languages without a list, on no English list.
    """

    main: str | None
    some: frozenset[str]
    n_unread: int


def languages_told(
    text: str,
    lists: Mapping[str, AbstractSet[str]],
    anywhere: AbstractSet[str] = frozenset(),
    unread: AbstractSet[str] = frozenset(),
) -> Told:
    """Return what the words of a text tell of its languages; each word is looked up once.

    Args and guarantee: as for `language_of`.

    Example:
        >>> lists = {"en": {"where", "is", "my", "book"}, "de": {"wo", "ist", "mein", "bitte"}}
        >>> sorted(languages_told("where is my book? bitte wo ist mein Buch?", lists).some)
        ['de', 'en']
    """
    spans = list(islice(word_spans(text), MAX_WORDS))
    if len(spans) == MAX_WORDS:
        text = text[: spans[-1][1]]
    words = [word for begin, end in spans if not (word := text[begin:end]).isdecimal()]
    counted = Counter(_form(word, anywhere) for word in words)
    foreign = _is_unread(counted, lists, unread)
    main = None if foreign else _of_lists(text, words, counted, lists)
    own, _ = _on_lists(counted, lists)
    least = max(_A_FEW, len(words) // _ONE_IN)
    english = lists.get(DEFAULT, frozenset())
    n_unread = sum(word in unread and word not in english for word in words)
    return Told(main, frozenset(name for name, n in own.items() if n >= least), n_unread)


@cache
def language_lists(folder: Path) -> Mapping[str, frozenset[str]]:
    """Return the lists of a folder by language, read once; "fr.txt" is the list of "fr".

    Args:
        folder: holds the lists and their manifest, as the packaged `words/languages` does.

    Raises:
        ModelError: the manifest is missing or damaged, or a list differs from it.

    Example:
        >>> from sanitizer.lm import model_folder
        >>> sorted(language_lists(model_folder("words") / "languages"))
        ['de', 'es', 'fr']
    """
    manifest = Manifest.read(folder)
    manifest.verify()
    names = (Path(name) for name in manifest.data["files"])
    return MappingProxyType({name.stem: _entries(folder / name) for name in names})


def _entries(path: Path) -> frozenset[str]:
    lines = (line.split("#", 1)[0].strip() for line in path.read_text("utf-8").splitlines())
    return frozenset(line for line in lines if line)


def _fit(n_own: int, n_listed: int) -> float:
    """Return the number of listed words, those of several lists at less than one."""
    return n_own + SHARED * (n_listed - n_own)


def _of_lists(
    text: str, words: Sequence[str], counted: Counter[str], lists: Mapping[str, AbstractSet[str]]
) -> str | None:
    """Return the language whose list fits; `words` are those of the text but plain numbers."""
    own, listed = _on_lists(counted, lists)
    best = _most(own)
    if best is not None and _is_clear(best, own, listed, len(words)):
        return best
    if any(mark in text for mark in _FOREIGN_MARKS):
        return None
    if (short := _of_short(own, listed, len(words))) is not None:
        return short
    if best == DEFAULT and listed[DEFAULT] >= MIN_DEFAULT * len(words):
        return DEFAULT
    if len(words) >= FEW_WORDS and not _is_structured(text, len(words)):
        return None
    contradicted = best is not None and own[best] >= 3 and not own[DEFAULT]
    return best if contradicted else DEFAULT


def _form(word: str, anywhere: AbstractSet[str]) -> str:
    """Return the form of a word that lists may have."""
    # The pattern of words keeps a typographic apostrophe; lists have the typewriter's.
    form = word.replace("’", "'")
    return lowered if (lowered := form.lower()) in anywhere else form


def _is_unread(
    words: Counter[str], lists: Mapping[str, AbstractSet[str]], unread: AbstractSet[str]
) -> bool:
    """Return True if more words are of languages without a list than of any that has one.

    A word that such a language has too does not count for one that has a list.
    """
    of_none = sum(
        n
        for word, n in words.items()
        if word in unread and not any(word in entries for entries in lists.values())
    )
    own, _ = _on_lists(Counter({w: n for w, n in words.items() if w not in unread}), lists)
    if not own:
        return of_none > 0
    n_foreign = max((n for name, n in own.items() if name != DEFAULT), default=0)
    return of_none >= LEAST_UNREAD and of_none > own[DEFAULT] and 2 * of_none >= n_foreign


def _on_lists(
    words: Counter[str], lists: Mapping[str, AbstractSet[str]]
) -> tuple[Counter[str], Counter[str]]:
    """Count by language the words that are on its list alone, and all that are on its list."""
    own: Counter[str] = Counter()
    listed: Counter[str] = Counter()
    for word, n in words.items():
        languages = [language for language, entries in lists.items() if word in entries]
        for language in languages:
            listed[language] += n
        if len(languages) == 1:
            own[languages[0]] += n
    return own, listed


def _most(own: Counter[str]) -> str | None:
    """Return the language with most words; ties go to the default, then by alphabet."""
    return min(own, key=lambda name: (-own[name], name != DEFAULT, name), default=None)


def _is_clear(best: str, own: Counter[str], listed: Counter[str], n_words: int) -> bool:
    """Return True if enough words are of a language, or fewer, but hardly any of another."""
    share = MIN_SHARE if n_words < LONG else MIN_LONG_SHARE
    if _fit(own[best], listed[best]) >= share * n_words:
        return True
    second = max((n for name, n in own.items() if name != best), default=0)
    if own[best] >= max(CLEAR, CLEAR_LEAD * second):
        return _fit(own[best], listed[best]) >= MIN_CLEAR_SHARE * n_words
    other = max((n for name, n in listed.items() if name != best), default=0)
    mostly = listed[best] >= max(MOSTLY * n_words, 2 * other)
    return mostly and own[best] >= MOSTLY_OWN


def _of_short(own: Counter[str], listed: Counter[str], n_words: int) -> str | None:
    """Return the only language that few words, or words that are mostly shared, can be of."""
    if len(own) > 1:
        return None
    alone = next(iter(own), DEFAULT)
    if n_words <= SHORT_WORDS and (alone == DEFAULT or own[alone] >= LEAST_OWN):
        return alone if listed[alone] else None
    return alone if own and listed[alone] >= MOST_SHARED * n_words else None


def _is_structured(text: str, n_words: int) -> bool:
    """Return True if the characters between the words are those of code, a table or a list."""
    # No word holds one of these characters, so all of them are between words.
    marks = sum(text.count(mark) for mark in _STRUCTURE)
    return marks * _WORDS_PER_MARK >= n_words


@dataclass(frozen=True)
class Language:
    """How a language writes dates and times.

    Attributes:
        months, weekdays: from January, from Monday. dated: a date with "{d}", "{m}", "{y}".
        led: a weekday and a date, "{w}" and "{date}". clock: a time of day, "{h}" and "{n}".
        units: units of time, one and several. aged: "{n}" and "{unit}" of an age.
    """

    months: Sequence[str]
    weekdays: Sequence[str]
    dated: str
    led: str
    clock: str
    units: Mapping[str, tuple[str, str]]
    aged: str


_UNITS = ("minute", "hour", "day", "week", "month", "year")


def _language(
    months: str, weekdays: str, dated: str, led: str, clock: str, units: str, aged: str
) -> Language:
    """Return a language from its words, with spaces between them."""
    pairs = (pair.partition("/") for pair in units.split())
    named = {name: (one, many) for name, (one, _, many) in zip(_UNITS, pairs, strict=False)}
    return Language(months.split(), weekdays.split(), dated, led, clock, named, aged)


LANGUAGES = {
    "english": _language(
        "January February March April May June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "{d} {m} {y}",
        "{w} {date}",
        "{h}:{n}",
        "minute/minutes hour/hours day/days week/weeks month/months year/years",
        "{n} {unit} old",
    ),
    "german": _language(
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
        "{d}. {m} {y}",
        "{w}, {date}",
        "{h}:{n} Uhr",
        "Minute/Minuten Stunde/Stunden Tag/Tage Woche/Wochen Monat/Monate Jahr/Jahre",
        "{n} {unit} alt",
    ),
    "french": _language(
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "{d} {m} {y}",
        "{w} {date}",
        "{h} h {n}",
        "minute/minutes heure/heures jour/jours semaine/semaines mois/mois an/ans",
        "{n} {unit}",
    ),
    "spanish": _language(
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
        "{d} de {m} de {y}",
        "{w} {date}",
        "{h}:{n}",
        "minuto/minutos hora/horas día/días semana/semanas mes/meses año/años",
        "{n} {unit}",
    ),
    "italian": _language(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre "
        "novembre dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        "{d} {m} {y}",
        "{w} {date}",
        "{h}:{n}",
        "minuto/minuti ora/ore giorno/giorni settimana/settimane mese/mesi anno/anni",
        "{n} {unit}",
    ),
    "portuguese": _language(
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
        "{d} de {m} de {y}",
        "{w}, {date}",
        "{h}:{n}",
        "minuto/minutos hora/horas dia/dias semana/semanas mês/meses ano/anos",
        "{n} {unit}",
    ),
    "dutch": _language(
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        "{d} {m} {y}",
        "{w} {date}",
        "{h}:{n} uur",
        "minuut/minuten uur/uur dag/dagen week/weken maand/maanden jaar/jaar",
        "{n} {unit} oud",
    ),
    "polish": _language(
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
        "listopada grudnia",
        "poniedziałek wtorek środa czwartek piątek sobota niedziela",
        "{d} {m} {y}",
        "{w}, {date}",
        "{h}:{n}",
        "",  # one, a few and many have forms of their own
        "",
    ),
    "czech": _language(
        "ledna února března dubna května června července srpna září října listopadu prosince",
        "pondělí úterý středa čtvrtek pátek sobota neděle",
        "{d}. {m} {y}",
        "{w} {date}",
        "{h}:{n}",
        "",
        "",
    ),
    "swedish": _language(
        "januari februari mars april maj juni juli augusti september oktober november december",
        "måndag tisdag onsdag torsdag fredag lördag söndag",
        "{d} {m} {y}",
        "{w} {date}",
        "{h}.{n}",
        "minut/minuter timme/timmar dag/dagar vecka/veckor månad/månader år/år",
        "{n} {unit} gammal",
    ),
    "danish": _language(
        "januar februar marts april maj juni juli august september oktober november december",
        "mandag tirsdag onsdag torsdag fredag lørdag søndag",
        "{d}. {m} {y}",
        "{w} den {date}",
        "{h}.{n}",
        "minut/minutter time/timer dag/dage uge/uger måned/måneder år/år",
        "{n} {unit} gammel",
    ),
    "norwegian": _language(
        "januar februar mars april mai juni juli august september oktober november desember",
        "mandag tirsdag onsdag torsdag fredag lørdag søndag",
        "{d}. {m} {y}",
        "{w} {date}",
        "{h}.{n}",
        "minutt/minutter time/timer dag/dager uke/uker måned/måneder år/år",
        "{n} {unit} gammel",
    ),
    "turkish": _language(
        "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
        "Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi Pazar",
        "{d} {m} {y}",
        "{date} {w}",
        "{h}:{n}",
        "dakika/dakika saat/saat gün/gün hafta/hafta ay/ay yıl/yıl",
        "{n} {unit}",
    ),
    "romanian": _language(
        "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie "
        "noiembrie decembrie",
        "luni marți miercuri joi vineri sâmbătă duminică",
        "{d} {m} {y}",
        "{w}, {date}",
        "{h}:{n}",
        "",
        "",
    ),
}
