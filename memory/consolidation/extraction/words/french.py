"""French cues."""

from __future__ import annotations

from typing import Final

from memory.consolidation.extraction.words.cues import Language, cue, language

FRENCH: Final[Language] = language(
    "french",
    user="L'utilisateur",
    openings="oui|non|et|mais|alors|bon|bonjour|salut|en fait|au fait|donc|ah|oh|d'ailleurs",
    not_meant="si|peut-être|est-ce|comme si|quand|j'aimerais",
    cut="parce|mais|car|depuis|quand|et je|et j'|puisque|surtout|pour|avec mon|avec ma",
    articles="le|la|les|un|une|des|du|mon|ma|mes",
    cues=(
        cue("likes", r"je n'aime (?:vraiment )?pas (?:du tout )?(?P<v>.+)", "{who} n'aime pas {v}.", -1),
        cue("likes", r"je d[ée]teste (?P<v>.+)", "{who} déteste {v}.", -1),
        cue("likes", r"j'(?:aime|adore) (?:beaucoup |bien |vraiment )?(?P<v>.+)", "{who} aime {v}."),
        cue("likes", r"je pr[ée]f[èe]re (?P<v>.+)", "{who} préfère {v}."),
        cue(
            "lives_in",
            r"(?:j'habite|je vis) (?:maintenant |actuellement )?(?:à|en|au|aux|dans) (?P<v>.+)",
            "{who} habite à {v}.",
        ),
        cue("works_at", r"je travaille (?:maintenant )?(?:chez|pour) (?P<v>.+)", "{who} travaille chez {v}."),
        cue("job", r"je travaille comme (?P<v>.+)", "{who} travaille comme {v}."),
        cue("named", r"(?:je m'appelle|mon nom est) (?P<v>.+)", "{who} s'appelle {v}."),
        cue("birthday", r"mon anniversaire est le (?P<v>.+)", "L'anniversaire de {who} est le {v}."),
        cue("age", r"j'ai (?P<v>\d{1,3}) ans", "{who} a {v} ans."),
        cue(
            "allergic_to",
            r"je suis (?:très )?allergique (?:à la|au|aux|à) (?P<v>.+)",
            "{who} est allergique à {v}.",
        ),
        cue(
            "speaks",
            r"je parle (?:aussi |couramment )?(?:le |l')?(?P<v>(?:fran|angl|alle|espa|ital|port|néer|"
            r"chin|japo|arab)\w+)",
            "{who} parle {v}.",
        ),
    ),
)
