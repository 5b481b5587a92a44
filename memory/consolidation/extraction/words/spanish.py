"""Spanish cues."""

from __future__ import annotations

from typing import Final

from memory.consolidation.extraction.words.cues import Language, cue, language

SPANISH: Final[Language] = language(
    "spanish",
    user="El usuario",
    openings="sí|si,|no,|y|pero|pues|bueno|hola|la verdad|por cierto|ah|oye|claro|además",
    not_meant="si|quizás|quizá|tal vez|ojalá|como si|cuando|me gustaría",
    cut="porque|pero|desde|cuando|y yo|ya que|aunque|sobre todo|hace|con mi|y me",
    articles="el|la|los|las|un|una|mi|mis",
    cues=(
        cue("likes", r"(?:a mí )?no me gustan? (?:nada )?(?P<v>.+)", "A {who} no le gusta {v}.", -1),
        cue("likes", r"(?:yo )?(?:odio|detesto) (?P<v>.+)", "{who} odia {v}.", -1),
        cue("likes", r"(?:a mí )?me (?:gustan?|encantan?) (?:mucho |muchísimo )?(?P<v>.+)", "A {who} le gusta {v}."),
        cue("likes", r"(?:yo )?prefiero (?P<v>.+)", "{who} prefiere {v}."),
        cue("lives_in", r"(?:yo )?(?:ahora )?vivo (?:ahora )?en (?P<v>.+)", "{who} vive en {v}."),
        cue("lives_in", r"me (?:mudé|he mudado) a (?P<v>.+)", "{who} vive en {v}."),
        cue("works_at", r"(?:yo )?trabajo (?:en|para) (?P<v>[A-ZÁÉÍÓÚÑ].+)", "{who} trabaja en {v}."),
        cue("job", r"(?:yo )?trabajo (?:como|de) (?P<v>.+)", "{who} trabaja como {v}."),
        cue("named", r"(?:me llamo|mi nombre es) (?P<v>.+)", "{who} se llama {v}."),
        cue("birthday", r"mi cumpleaños es el (?P<v>.+)", "El cumpleaños de {who} es el {v}."),
        cue("age", r"tengo (?P<v>\d{1,3}) años", "{who} tiene {v} años."),
        cue(
            "allergic_to",
            r"(?:yo )?soy (?:muy )?alérgic[oa] (?:a la|al|a los|a las|a) (?P<v>.+)",
            "{who} es alérgico a {v}.",
        ),
        cue(
            "speaks",
            r"(?:yo )?hablo (?:también )?(?P<v>(?:espa|ingl|alem|franc|ital|port|neer|chin|japo|árab|cata)\w+)",
            "{who} habla {v}.",
        ),
    ),
)
