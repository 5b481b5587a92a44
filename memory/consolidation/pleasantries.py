"""Sentences that say nothing to remember: greetings, thanks and acknowledgements, with or without a name."""

from __future__ import annotations

import re
from typing import Final

from memory.consolidation.acknowledgements import only_acknowledges
from memory.recall.gate import Verdict, gate

LONGEST: Final = 80
"""Characters; a longer sentence says something."""

# At the end of a sentence: whom it is said to. A day is nobody: "Agreed, Thursday." says something.
_DAYS: Final = (
    r"(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|tonight|yesterday|heute|morgen|gestern"
    r"|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lunes|martes|miércoles|jueves|viernes|sábado|domingo|hoy|mañana"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|(?:lune|marte|mercole|giove|vener)dì|sabato|domenica"
    r"|domani|(?:segunda|terça|quarta|quinta|sexta)(?:-feira)?|amanhã|hoje"
    r"|(?:maan|dins|woens|donder|vrij|zater|zon)dag|vandaag|januar\w*|februar\w*|march|april|may|june|july|august"
    r"|(?:septem|octo|novem|decem)ber)\b"
)
_ADDRESSED: Final = re.compile(rf",\s*(?!{_DAYS})[^\W\d_][\w'-]*(?:\s+[^\W\d_a-z][\w'-]*)?\s*[.!?…]*\s*\Z")
_PLEASANT: Final = re.compile(
    r"(?:(?:hi|hello|hey|well|oh|ah|wow|thanks|okay|ok|yes|yeah)\b[\s,!.]*)*"
    r"(?:(?:it(?:'s| is| was)|that(?:'s| is)|i(?:'m| am))\s+)?(?:so\s+|very\s+|really\s+|always\s+)?"
    r"(?:(?:nice|good|great|lovely|pleased|glad|happy|wonderful|a pleasure|pleasure)\s+to\s+"
    r"(?:meet|see|hear(?:\s+from)?|know|chat\s+with|talk\s+to)(?:\s+(?:you|that|it|this|again|too|back))*"
    r"|(?:nice|good|great|lovely|cool|awesome|wonderful|amazing|fantastic|interesting|sounds)"
    r"(?:\s+(?:good|great|nice|fun|lovely|idea|choice|point|one|job|work|to\s+me|news))*"
    r"|(?:have\s+a|enjoy\s+(?:your|the))\s+(?:\w+\s+){0,2}(?:day|evening|weekend|night|time|one|trip|meal)"
    r"|(?:talk|speak|see)\s+(?:to\s+)?you\s+(?:soon|later|then|tomorrow)|you(?:'re| are)\s+(?:very\s+)?welcome"
    r"|(?:duly\s+)?noted|will\s+do|no\s+worries|my\s+pleasure|(?:of\s+)?course|congratulations|congrats|welcome(?:\s+back)?"
    r"|(?:i\s+)?(?:got|understand|understood)(?:\s+(?:it|that))?|i(?:'ll|\s+will)\s+(?:remember|note|keep)\s+"
    r"(?:that|it|this)(?:\s+in\s+mind)?"
    r"|(?:schön|freut mich|nett|sehr erfreut)(?:[,]?\s+(?:dich|sie|euch|zu|kennen\s?zu\s?lernen|kennenzulernen))*"
    r"|(?:mucho gusto|encantad[oa]|enchantée?|ravie? de (?:te|vous) rencontrer))"
    r"[\s.!…]*",
    re.IGNORECASE,
)


def is_pleasantry(sentence: str) -> bool:
    """Tell whether a sentence only greets, thanks, wishes well or acknowledges.

    What the gate of recall lets pass is none, and neither is what says something more ("Thanks, I moved to Rome.").
    English is known best, German, Spanish, French, Italian, Portuguese, Dutch and Chinese by their commonest phrases.
    """
    if len(sentence) > LONGEST:
        return False
    plain = sentence.translate({0x2019: "'"}).strip()
    bare = _ADDRESSED.sub("", plain)
    return any(_is_empty(one) for one in {plain, bare} if one)


def _is_empty(sentence: str) -> bool:
    return gate(sentence) is Verdict.SKIP or _PLEASANT.fullmatch(sentence) is not None or only_acknowledges(sentence)
