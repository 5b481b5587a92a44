"""French words of time."""

from __future__ import annotations

from typing import Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary

FRENCH: Final = Vocabulary(
    language="french",
    months="janvier, février, mars, avril, mai, juin, juillet, août, septembre, octobre, novembre, décembre",
    weak_months="mars, avril, mai",
    short_months="janv, févr, mars, avr, mai, juin, juil, août, sept, oct, nov, déc",
    weekdays="lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche",
    seasons="printemps, été, automne, hiver",
    units={
        Unit.MINUTE: "minute/minutes",
        Unit.HOUR: "heure/heures",
        Unit.DAY: "jour/jours",
        Unit.WEEK: "semaine/semaines",
        Unit.WEEKEND: "week-end/week-ends/weekend/weekends",
        Unit.FORTNIGHT: "quinzaine",
        Unit.MONTH: "mois",
        Unit.QUARTER: "trimestre/trimestres",
        Unit.YEAR: "an/ans/année/années",
        Unit.DECADE: "décennie/décennies",
    },
    numbers={
        1: "un/une", 2: "deux", 3: "trois", 4: "quatre", 5: "cinq", 6: "six", 7: "sept", 8: "huit", 9: "neuf",
        10: "dix", 11: "onze", 12: "douze", 15: "quinze", 20: "vingt", 30: "trente",
        (2, 5): "quelques", (3, 7): "plusieurs",
    },
    ordinals="premier/première, deuxième/second/seconde, troisième, quatrième",
    days={
        -2: "avant-hier/avant hier", -1: "hier", 0: "aujourd'hui/ce matin/cet après-midi/ce soir", 1: "demain",
        2: "après-demain/après demain",
    },
    modifiers={-1: "dernier/dernière", 0: "ce/cet/cette", 1: "prochain/prochaine"},
    trailing={-1: "dernier/dernière/passé/passée", 1: "prochain/prochaine/qui vient"},
    parts={
        0: "début/au début de/au début du/début de",
        1: "mi/milieu de/au milieu de",
        2: "fin/à la fin de/à la fin du/fin de",
    },
    others={
        Role.ROLLING: "derniers/dernières",
        Role.HALF: "moitié",
        Role.AGO_BEFORE: "il y a/y a",
        Role.AHEAD_BEFORE: "dans",
        Role.IN: "en/au/durant/pendant/vers/courant",
        Role.ON: "le",
        Role.OF: "de/du/des/d",
        Role.ARTICLE: "le/la/les/l",
        Role.SINCE: "depuis/à partir de/dès",
        Role.BEFORE: "avant/avant le",
        Role.AFTER: "après/après le",
        Role.UNTIL: "jusqu'à/jusqu'au/jusqu'en",
        Role.BETWEEN: "entre",
        Role.AND: "et",
        Role.FROM: "de/du/d",
        Role.TO: "à/au/jusqu'à/jusqu'au",
        Role.EVERY: "chaque/tous les/toutes les",
    },
    markers="""le les des et est sont était il elle nous vous ils je j ne pas une dans pour qui que quand où comment
        avec sur ai a ce cette mon ma mes au aux c d l depuis avant soir jusqu""",
    shy="hier",
)  # fmt: skip
