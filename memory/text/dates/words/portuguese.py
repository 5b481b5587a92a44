"""Portuguese words of time."""

from __future__ import annotations

from typing import Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary

PORTUGUESE: Final = Vocabulary(
    language="portuguese",
    months="""janeiro, fevereiro, março, abril, maio, junho, julho, agosto, setembro, outubro, novembro, dezembro""",
    weak_months="abril, março",
    short_months="jan, fev, mar, abr, mai, jun, jul, ago, set, out, nov, dez",
    weekdays="""segunda-feira, terça-feira, quarta-feira, quinta-feira, sexta-feira, sábado, domingo""",
    seasons="primavera, verão, outono, inverno",
    units={
        Unit.MINUTE: "minuto/minutos",
        Unit.HOUR: "hora/horas",
        Unit.DAY: "dia/dias",
        Unit.WEEK: "semana/semanas",
        Unit.WEEKEND: "fim de semana/fins de semana",
        Unit.MONTH: "mês/meses",
        Unit.QUARTER: "trimestre/trimestres",
        Unit.YEAR: "ano/anos",
        Unit.DECADE: "década/décadas",
    },
    numbers={
        1: "um/uma", 2: "dois/duas", 3: "três", 4: "quatro", 5: "cinco", 6: "seis", 7: "sete", 8: "oito", 9: "nove",
        10: "dez", 11: "onze", 12: "doze", 20: "vinte", 30: "trinta",
        (2, 5): "alguns/algumas/uns/umas", (3, 7): "vários/várias",
    },
    ordinals="primeiro/primeira, segundo/segunda, terceiro/terceira, quarto/quarta",
    days={
        -2: "anteontem", -1: "ontem", 0: "hoje/esta manhã/esta noite", 1: "amanhã", 2: "depois de amanhã",
    },
    modifiers={-1: "último/última/passado/passada", 0: "este/esta/neste/nesta", 1: "próximo/próxima"},
    trailing={-2: "retrasado/retrasada", -1: "passado/passada", 1: "que vem/próximo/próxima/seguinte"},
    parts={
        0: "início de/no início de/começo de/no começo de/início do/no início do",
        1: "meados de/em meados de",
        2: "fim de/no fim de/final de/no final de/fim do/no final do",
    },
    others={
        Role.ROLLING: "últimos/últimas/passados/passadas",
        Role.HALF: "metade",
        Role.AGO_BEFORE: "há/faz",
        Role.AGO_AFTER: "atrás",
        Role.AHEAD_BEFORE: "daqui a/dentro de",
        Role.IN: "em/no/na/durante/por",
        Role.ON: "no/na/em",
        Role.OF: "de/do/da",
        Role.ARTICLE: "o/a/os/as",
        Role.SINCE: "desde/a partir de",
        Role.BEFORE: "antes de/antes do",
        Role.AFTER: "depois de/depois do/após",
        Role.UNTIL: "até",
        Role.BETWEEN: "entre",
        Role.AND: "e",
        Role.FROM: "de/desde",
        Role.TO: "a/ao/até",
        Role.EVERY: "cada/todo/toda/todos os/todas as",
    },
    markers="""o os as é são foi era e que quando onde como quem não um uma com por para se seu sua meu minha eu em do
        da no na""",
)  # fmt: skip
