"""German cues."""

from __future__ import annotations

from typing import Final

from memory.consolidation.extraction.words.cues import Language, cue, language

GERMAN: Final[Language] = language(
    "german",
    user="Der Nutzer",
    openings="ja|nein|also|und|aber|übrigens|ach|hallo|na ja|naja|eigentlich|gut|okay|ok|doch|mensch",
    not_meant="wenn|falls|würde|hätte|ob|vielleicht|als ob|was wäre",
    cut="weil|aber|denn|seit|wenn|obwohl|und ich|und wir|damit|sondern|mehr als|besonders|vor allem|da ich",
    articles="der|die|das|den|dem|ein|eine|einen|meine|meinen|mein",
    cues=(
        cue("likes", r"ich mag (?P<v>.+?) (?:überhaupt |gar |einfach )?nicht(?: so)?", "{who} mag {v} nicht.", -1),
        cue("likes", r"ich mag (?:überhaupt |gar )?kein(?:e|en|es)? (?P<v>.+)", "{who} mag {v} nicht.", -1),
        cue("likes", r"ich (?:hasse|verabscheue) (?P<v>.+)", "{who} hasst {v}.", -1),
        cue("likes", r"ich kann (?P<v>.+?) nicht (?:ausstehen|leiden)", "{who} kann {v} nicht ausstehen.", -1),
        cue("likes", r"ich liebe (?:wirklich |einfach )?(?P<v>.+)", "{who} liebt {v}."),
        cue("likes", r"ich mag (?:wirklich |sehr |am liebsten )?(?P<v>.+)", "{who} mag {v}."),
        cue("likes", r"ich bevorzuge (?P<v>.+)", "{who} bevorzugt {v}."),
        cue("lives_in", r"ich (?:wohne|lebe) (?:jetzt |zurzeit |seit .{1,30}? )?in (?P<v>.+)", "{who} wohnt in {v}."),
        cue("lives_in", r"ich bin (?:.{1,30}? )?nach (?P<v>.+?) (?:um)?gezogen", "{who} wohnt in {v}."),
        cue("works_at", r"ich arbeite (?:jetzt |seit .{1,30}? )?(?:bei|für) (?P<v>.+)", "{who} arbeitet bei {v}."),
        cue("job", r"ich arbeite als (?P<v>.+)", "{who} arbeitet als {v}."),
        cue("named", r"(?:ich heiße|mein name ist) (?P<v>.+)", "{who} heißt {v}."),
        cue("birthday", r"(?:ich habe am (?P<v>.+?) geburtstag)", "{who} hat am {v} Geburtstag."),
        cue("age", r"ich bin (?P<v>\d{1,3})(?: jahre alt)?", "{who} ist {v} Jahre alt."),
        cue("allergic_to", r"ich bin (?:\w+ )?allergisch (?:gegen|auf) (?P<v>.+)", "{who} ist allergisch gegen {v}."),
        cue("speaks", r"ich spreche (?:fließend |auch )?(?P<v>[A-ZÄÖÜ]\w+)", "{who} spricht {v}."),
    ),
)
