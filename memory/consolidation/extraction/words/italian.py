"""Italian cues."""

from __future__ import annotations

from typing import Final

from memory.consolidation.extraction.words.cues import Language, cue, language

ITALIAN: Final[Language] = language(
    "italian",
    user="L'utente",
    openings="sì|no,|e|ma|allora|beh|ciao|in realtà|comunque|ah|dunque|anche",
    not_meant="se|forse|magari|come se|quando|vorrei",
    cut="perché|ma|da quando|quando|e io|siccome|anche se|soprattutto|da (?:un|due|tre|quattro|cinque|\\d+)",
    articles="il|lo|la|i|gli|le|un|una|il mio|la mia",
    cues=(
        cue("likes", r"(?:a me )?non mi (?:piace|piacciono) (?:per niente )?(?P<v>.+)", "A {who} non piace {v}.", -1),
        cue("likes", r"(?:io )?(?:odio|detesto) (?P<v>.+)", "{who} odia {v}.", -1),
        cue("likes", r"(?:a me )?mi (?:piace|piacciono) (?:molto |tanto )?(?P<v>.+)", "A {who} piace {v}."),
        cue("likes", r"(?:io )?(?:adoro|amo) (?P<v>.+)", "{who} adora {v}."),
        cue("likes", r"(?:io )?preferisco (?P<v>.+)", "{who} preferisce {v}."),
        cue("lives_in", r"(?:io )?(?:ora )?(?:vivo|abito) (?:ora )?(?:a|in) (?P<v>.+)", "{who} vive a {v}."),
        cue("works_at", r"(?:io )?lavoro (?:per|presso|alla|da) (?P<v>[A-Z].+)", "{who} lavora per {v}."),
        cue("job", r"(?:io )?lavoro come (?P<v>.+)", "{who} lavora come {v}."),
        cue("named", r"(?:mi chiamo|il mio nome è) (?P<v>.+)", "{who} si chiama {v}."),
        cue("age", r"ho (?P<v>\d{1,3}) anni", "{who} ha {v} anni."),
        cue(
            "allergic_to",
            r"(?:io )?sono (?:molto )?allergic[oa] (?:alle|agli|ai|alla|al|a) (?P<v>.+)",
            "{who} è allergico a {v}.",
        ),
        cue(
            "speaks",
            r"(?:io )?parlo (?:anche )?(?:l'|il |lo )?(?P<v>(?:ital|ingl|tedes|franc|spagn|porto|oland|"
            r"cines|giapp|arab)\w+)",
            "{who} parla {v}.",
        ),
    ),
)
