"""Dutch cues."""

from __future__ import annotations

from typing import Final

from memory.consolidation.extraction.words.cues import Language, cue, language

DUTCH: Final[Language] = language(
    "dutch",
    user="De gebruiker",
    openings="ja|nee|en|maar|dus|nou|hallo|hoi|eigenlijk|trouwens|ach|goed",
    not_meant="als|misschien|stel|alsof|wanneer|zou",
    cut="omdat|maar|want|sinds|wanneer|hoewel|en ik|vooral|al (?:\\d+|twee|drie|vier|vijf)",
    articles="de|het|een|mijn",
    cues=(
        cue("likes", r"ik hou(?:d)? (?:helemaal )?niet van (?P<v>.+)", "{who} houdt niet van {v}.", -1),
        cue("likes", r"ik haat (?P<v>.+)", "{who} haat {v}.", -1),
        cue("likes", r"ik hou(?:d)? (?:heel erg |erg |echt )?van (?P<v>.+)", "{who} houdt van {v}."),
        cue("likes", r"ik vind (?P<v>.+?) (?:heel |erg |echt )?(?:leuk|lekker|fijn)", "{who} vindt {v} leuk."),
        cue("lives_in", r"ik woon (?:nu |tegenwoordig )?in (?P<v>.+)", "{who} woont in {v}."),
        cue("lives_in", r"ik ben (?:.{1,30}? )?naar (?P<v>.+?) verhuisd", "{who} woont in {v}."),
        cue("works_at", r"ik werk (?:nu )?(?:bij|voor) (?P<v>.+)", "{who} werkt bij {v}."),
        cue("job", r"ik werk als (?P<v>.+)", "{who} werkt als {v}."),
        cue("named", r"(?:ik heet|mijn naam is) (?P<v>.+)", "{who} heet {v}."),
        cue("age", r"ik ben (?P<v>\d{1,3})(?: jaar(?: oud)?)?", "{who} is {v} jaar oud."),
        cue("allergic_to", r"ik ben (?:\w+ )?allergisch voor (?P<v>.+)", "{who} is allergisch voor {v}."),
        cue("speaks", r"ik spreek (?:ook |vloeiend )?(?P<v>[A-Z]\w+)", "{who} spreekt {v}."),
    ),
)
