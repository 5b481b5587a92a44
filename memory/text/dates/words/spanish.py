"""Spanish words of time."""

from __future__ import annotations

from typing import Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary

SPANISH: Final = Vocabulary(
    language="spanish",
    months="""enero, febrero, marzo, abril, mayo, junio, julio, agosto, septiembre/setiembre, octubre, noviembre,
        diciembre""",
    weak_months="abril, mayo, julio",
    short_months="ene, feb, mar, abr, may, jun, jul, ago, sep/sept, oct, nov, dic",
    weekdays="lunes, martes, miércoles, jueves, viernes, sábado, domingo",
    seasons="primavera, verano, otoño, invierno",
    units={
        Unit.MINUTE: "minuto/minutos",
        Unit.HOUR: "hora/horas",
        Unit.DAY: "día/días",
        Unit.WEEK: "semana/semanas",
        Unit.WEEKEND: "fin de semana/fines de semana",
        Unit.MONTH: "mes/meses",
        Unit.QUARTER: "trimestre/trimestres",
        Unit.YEAR: "año/años",
        Unit.DECADE: "década/décadas",
    },
    numbers={
        1: "un/una/uno", 2: "dos", 3: "tres", 4: "cuatro", 5: "cinco", 6: "seis", 7: "siete", 8: "ocho", 9: "nueve",
        10: "diez", 11: "once", 12: "doce", 20: "veinte", 30: "treinta",
        (2, 3): "un par de", (2, 5): "unos/unas/unos pocos/unas pocas/algunos/algunas", (3, 7): "varios/varias",
    },
    ordinals="primer/primero/primera, segundo/segunda, tercer/tercero/tercera, cuarto/cuarta",
    days={
        -2: "anteayer/antier/antes de ayer", -1: "ayer/anoche", 0: "hoy/esta mañana/esta tarde/esta noche",
        1: "mañana", 2: "pasado mañana",
    },
    modifiers={-1: "pasado/pasada/último/última", 0: "este/esta", 1: "próximo/próxima"},
    trailing={
        -2: "antepasado/antepasada", -1: "pasado/pasada", 0: "actual", 1: "próximo/próxima/que viene/entrante",
    },
    parts={
        0: "principios de/a principios de/principios del/a principios del/inicios de/a inicios de/comienzos de",
        1: "mediados de/a mediados de/mediados del/a mediados del",
        2: "finales de/a finales de/finales del/a finales del/fines de/a fines de",
    },
    others={
        Role.ROLLING: "últimos/últimas/pasados/pasadas",
        Role.HALF: "mitad",
        Role.AGO_BEFORE: "hace",
        Role.AGO_AFTER: "atrás",
        Role.AHEAD_BEFORE: "dentro de",
        Role.IN: "en/durante/para/por",
        Role.ON: "el",
        Role.OF: "de/del",
        Role.ARTICLE: "el/la/los/las",
        Role.SINCE: "desde/a partir de/desde hace",
        Role.BEFORE: "antes de/antes del",
        Role.AFTER: "después de/después del/tras",
        Role.UNTIL: "hasta",
        Role.BETWEEN: "entre",
        Role.AND: "y/e",
        Role.FROM: "de/del/desde",
        Role.TO: "a/al/hasta",
        Role.EVERY: "cada/todos los/todas las/los",
    },
    markers="""el los las es son fue era y que qué cuándo dónde cómo quién no una con por para se su mi yo en del al
        está ha he""",
)  # fmt: skip
