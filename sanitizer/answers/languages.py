"""How languages write dates, times and ages, for values that formulas give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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
