"""German words of time."""

from __future__ import annotations

from typing import Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary

GERMAN: Final = Vocabulary(
    language="german",
    months="""januar/jänner/januars, februar/feber, märz/maerz, april, mai, juni, juli, august, september, oktober,
        november, dezember""",
    weak_months="april, mai, august",
    short_months="jan, feb, mär, apr, mai, jun, jul, aug, sep/sept, okt, nov, dez",
    weekdays="""montag/montagabend, dienstag/dienstagabend, mittwoch/mittwochabend, donnerstag/donnerstagabend,
        freitag/freitagabend, samstag/sonnabend/samstagabend, sonntag/sonntagabend""",
    seasons="""frühling/frühjahr/frühlings/frühjahrs, sommer/sommers, herbst/herbsts/herbstes, winter/winters""",
    units={
        Unit.MINUTE: "minute/minuten",
        Unit.HOUR: "stunde/stunden",
        Unit.DAY: "tag/tage/tagen/tages",
        Unit.WEEK: "woche/wochen",
        Unit.WEEKEND: "wochenende/wochenenden/wochenendes",
        Unit.MONTH: "monat/monate/monaten/monats",
        Unit.QUARTER: "quartal/quartale/quartalen/quartals",
        Unit.YEAR: "jahr/jahre/jahren/jahres",
        Unit.DECADE: "jahrzehnt/jahrzehnte/jahrzehnten",
    },
    numbers={
        1: "ein/eine/einen/einem/einer/eines", 2: "zwei", 3: "drei", 4: "vier", 5: "fünf/fuenf", 6: "sechs",
        7: "sieben", 8: "acht", 9: "neun", 10: "zehn", 11: "elf", 12: "zwölf/zwoelf", 20: "zwanzig", 30: "dreißig",
        (2, 5): "einige/einigen/ein paar/paar", (3, 7): "mehrere/mehreren",
    },
    ordinals="""erste/ersten/erster/erstes, zweite/zweiten/zweiter/zweites, dritte/dritten/drittes,
        vierte/vierten/viertes""",
    days={
        -3: "vorvorgestern", -2: "vorgestern", -1: "gestern/letzte nacht", 0: "heute", 1: "morgen",
        2: "übermorgen/uebermorgen",
    },
    modifiers={
        -2: "vorletzte/vorletzten/vorletzter/vorletztes/vorletztem",
        -1: "letzte/letzten/letzter/letztes/letztem/vorige/vorigen/voriger/voriges/vorigem/vergangene/vergangenen/"
        "vergangener/vergangenes",
        0: "diese/diesen/dieser/dieses/diesem",
        1: "nächste/nächsten/nächster/nächstes/nächstem/naechste/naechsten/naechstes/kommende/kommenden/kommender/"
        "kommendes",
        2: "übernächste/übernächsten/übernächstes",
    },
    parts={0: "anfang/zu beginn/beginn", 1: "mitte", 2: "ende/gegen ende"},
    others={
        Role.HALF: "hälfte",
        Role.AGO_BEFORE: "vor",
        Role.AHEAD_BEFORE: "in",
        Role.IN: "im/in/während/um/gegen/ab",
        Role.ON: "am/an/vom/zum",
        Role.OF: "von/des/vom",
        Role.ARTICLE: "der/den/dem/die/das",
        Role.SINCE: "seit",
        Role.BEFORE: "vor/bevor",
        Role.AFTER: "nach",
        Role.UNTIL: "bis/bis zum/bis zu",
        Role.BETWEEN: "zwischen",
        Role.AND: "und",
        Role.FROM: "von/vom/ab",
        Role.TO: "bis/bis zum/bis zu",
        Role.EVERY: "jeden/jeder/jedes/jede/alle",
    },
    markers="""der die das und ist sind war waren ich du er wir ihr nicht ein eine einen dem den mit von auf für wie
        wann wo hat habe haben wurde wird als auch im am es zu""",
)  # fmt: skip
