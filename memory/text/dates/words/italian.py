"""Italian words of time."""

from __future__ import annotations

from typing import Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary

ITALIAN: Final = Vocabulary(
    language="italian",
    months="""gennaio, febbraio, marzo, aprile, maggio, giugno, luglio, agosto, settembre, ottobre, novembre,
        dicembre""",
    weak_months="marzo, aprile",
    short_months="gen, feb, mar, apr, mag, giu, lug, ago, set/sett, ott, nov, dic",
    weekdays="lunedì, martedì, mercoledì, giovedì, venerdì, sabato, domenica",
    seasons="primavera, estate, autunno, inverno",
    units={
        Unit.MINUTE: "minuto/minuti",
        Unit.HOUR: "ora/ore",
        Unit.DAY: "giorno/giorni",
        Unit.WEEK: "settimana/settimane",
        Unit.WEEKEND: "fine settimana/weekend/week-end",
        Unit.MONTH: "mese/mesi",
        Unit.QUARTER: "trimestre/trimestri",
        Unit.YEAR: "anno/anni",
        Unit.DECADE: "decennio/decenni",
    },
    numbers={
        1: "un/una/uno", 2: "due", 3: "tre", 4: "quattro", 5: "cinque", 6: "sei", 7: "sette", 8: "otto", 9: "nove",
        10: "dieci", 11: "undici", 12: "dodici", 20: "venti", 30: "trenta",
        (2, 3): "un paio di", (2, 5): "alcuni/alcune/qualche", (3, 7): "diversi/diverse",
    },
    ordinals="primo/prima, secondo/seconda, terzo/terza, quarto/quarta",
    days={
        -2: "l'altro ieri/avantieri/ieri l'altro/altroieri", -1: "ieri", 0: "oggi/stamattina/stasera/stanotte",
        1: "domani", 2: "dopodomani",
    },
    modifiers={
        -1: "scorso/scorsa/ultimo/ultima", 0: "questo/questa/quest", 1: "prossimo/prossima",
    },
    trailing={-1: "scorso/scorsa/passato/passata", 1: "prossimo/prossima/che viene"},
    parts={0: "inizio/all'inizio di/inizio di", 1: "metà/a metà", 2: "fine/alla fine di/fine di"},
    others={
        Role.ROLLING: "ultimi/ultime/scorsi/scorse",
        Role.HALF: "metà",
        Role.AGO_AFTER: "fa",
        Role.AHEAD_BEFORE: "tra/fra",
        Role.IN: "in/a/nel/nell/durante/nella",
        Role.ON: "il/l",
        Role.OF: "di/del/dell/della",
        Role.ARTICLE: "il/la/lo/gli/i/le/l",
        Role.SINCE: "da/dal/dall/dalla",
        Role.BEFORE: "prima di/prima del/prima della",
        Role.AFTER: "dopo/dopo il/dopo la",
        Role.UNTIL: "fino a/fino al/entro",
        Role.BETWEEN: "tra/fra",
        Role.AND: "e",
        Role.FROM: "da/dal",
        Role.TO: "a/al/fino a/fino al",
        Role.EVERY: "ogni/tutti i/tutte le",
    },
    markers="""il gli è sono era e che quando dove come chi non un una con per si suo sua mio mia io di del della ho
        ha nel""",
)  # fmt: skip
