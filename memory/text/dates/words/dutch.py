"""Dutch words of time."""

from __future__ import annotations

from typing import Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary

DUTCH: Final = Vocabulary(
    language="dutch",
    months="""januari, februari, maart, april, mei, juni, juli, augustus, september, oktober, november, december""",
    weak_months="april, mei",
    short_months="jan, feb, mrt, apr, mei, jun, jul, aug, sep/sept, okt, nov, dec",
    weekdays="maandag, dinsdag, woensdag, donderdag, vrijdag, zaterdag, zondag",
    seasons="lente/voorjaar, zomer, herfst/najaar, winter",
    units={
        Unit.MINUTE: "minuut/minuten",
        Unit.HOUR: "uur/uren",
        Unit.DAY: "dag/dagen",
        Unit.WEEK: "week/weken",
        Unit.WEEKEND: "weekend/weekeinde/weekenden",
        Unit.MONTH: "maand/maanden",
        Unit.QUARTER: "kwartaal/kwartalen",
        Unit.YEAR: "jaar/jaren",
        Unit.DECADE: "decennium/decennia",
    },
    numbers={
        1: "een/één", 2: "twee", 3: "drie", 4: "vier", 5: "vijf", 6: "zes", 7: "zeven", 8: "acht", 9: "negen",
        10: "tien", 11: "elf", 12: "twaalf", 20: "twintig", 30: "dertig",
        (2, 5): "een paar/enkele/paar", (3, 7): "meerdere",
    },
    ordinals="eerste, tweede, derde, vierde",
    days={-2: "eergisteren", -1: "gisteren/gisteravond/afgelopen nacht", 0: "vandaag/vanavond/vanmorgen/vanochtend",
          1: "morgen", 2: "overmorgen"},
    modifiers={-1: "vorige/vorig/afgelopen/laatste", 0: "deze/dit", 1: "volgende/volgend/komende/komend"},
    parts={0: "begin", 1: "midden/half", 2: "eind/einde"},
    others={
        Role.HALF: "helft",
        Role.AGO_AFTER: "geleden",
        Role.AHEAD_BEFORE: "over",
        Role.IN: "in/tijdens/rond",
        Role.ON: "op",
        Role.OF: "van",
        Role.ARTICLE: "de/het",
        Role.SINCE: "sinds/vanaf",
        Role.BEFORE: "voor/vóór",
        Role.AFTER: "na",
        Role.UNTIL: "tot/tot en met",
        Role.BETWEEN: "tussen",
        Role.AND: "en",
        Role.FROM: "van",
        Role.TO: "tot/tot en met",
        Role.EVERY: "elke/elk/iedere/ieder/alle",
    },
    markers="""het een is zijn was waren ik je hij zij wij niet met voor op dat wat wanneer waar hoe wie heeft heb van
        te""",
)  # fmt: skip
