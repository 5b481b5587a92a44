"""Portuguese cues."""

from __future__ import annotations

from typing import Final

from memory.consolidation.extraction.words.cues import Language, cue, language

PORTUGUESE: Final[Language] = language(
    "portuguese",
    user="O utilizador",
    openings="sim|não,|e|mas|então|bom|bem|olá|oi|na verdade|aliás|ah|pois",
    not_meant="se|talvez|quem dera|como se|quando|gostaria|oxalá",
    cut="porque|mas|desde|quando|e eu|já que|embora|sobretudo|há|com o meu|com a minha",
    articles="o|a|os|as|um|uma|meu|minha",
    cues=(
        cue("likes", r"(?:eu )?não gosto (?:nada )?d(?:e|o|a|os|as) (?P<v>.+)", "{who} não gosta de {v}.", -1),
        cue("likes", r"(?:eu )?(?:odeio|detesto) (?P<v>.+)", "{who} odeia {v}.", -1),
        cue("likes", r"(?:eu )?gosto (?:muito )?d(?:e|o|a|os|as) (?P<v>.+)", "{who} gosta de {v}."),
        cue("likes", r"(?:eu )?(?:adoro|amo) (?P<v>.+)", "{who} adora {v}."),
        cue("likes", r"(?:eu )?prefiro (?P<v>.+)", "{who} prefere {v}."),
        cue(
            "lives_in",
            r"(?:eu )?(?:agora )?(?:moro|vivo|resido) (?:agora )?(?:em|no|na) (?P<v>.+)",
            "{who} mora em {v}.",
        ),
        cue(
            "works_at",
            r"(?:eu )?trabalho (?:na|no|para a|para o|em) (?P<v>[A-ZÁÉÍÓÚÂÊÔÃÕÇ].+)",
            "{who} trabalha em {v}.",
        ),
        cue("job", r"(?:eu )?trabalho como (?P<v>.+)", "{who} trabalha como {v}."),
        cue("named", r"(?:eu )?(?:chamo-me|me chamo|o meu nome é|meu nome é) (?P<v>.+)", "{who} chama-se {v}."),
        cue("age", r"(?:eu )?tenho (?P<v>\d{1,3}) anos", "{who} tem {v} anos."),
        cue(
            "allergic_to", r"(?:eu )?sou (?:muito )?alérgic[oa] (?:à|ao|aos|às|a) (?P<v>.+)", "{who} é alérgico a {v}."
        ),
        cue(
            "speaks",
            r"(?:eu )?falo (?:também )?(?P<v>(?:portu|ingl|alem|franc|ital|espan|holan|chin|japo|árab)\w+)",
            "{who} fala {v}.",
        ),
    ),
)
