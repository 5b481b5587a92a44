"""Sentences that only agree, acknowledge or exclaim, in the languages that the rules read."""

from __future__ import annotations

import re
from typing import Final

_ENGLISH: Final = (
    r"agreed|(?:i|we) (?:fully |totally |completely )?agree(?: with (?:you|that|this))?|exactly|precisely|indeed"
    r"|absolutely|definitely|certainly|totally"
    r"|(?:that(?:'s| is) |you(?:'re| are) |quite |too )?(?:right|true|correct)"
    r"|(?:that(?:'s| is) )?(?:fine|fair|ok|okay)(?: (?:by|with|for) me| enough)?|all ?right|alright"
    r"|(?:very )?(?:well|good)|well done|done|all done|(?:it(?:'s| is) a )?deal|roger(?: that)?|copy that"
    r"|okey[- ]?dokey|ok(?:ay)?|yes(?: please)?|yeah|yep|yup|no|nope|sure(?: thing)?|great|nice|cool|perfect"
    r"|excellent|brilliant|wonderful|lovely|not at all|don't mention it|any ?time|of course|as you (?:wish|like|say)"
    r"|consider it done|(?:i(?:'m| am) )?on it|you bet|will do|i see"
    r"|(?:many )?thanks?(?: you)?(?: (?:again|anyway|in advance|a lot|so much|very much|for (?:that|this|everything)))?"
    r"|(?:much |i (?:really )?)?appreciated?(?: (?:it|that))?|(?:happy|glad) to help|you too|same (?:to you|here)"
    r"|likewise|please|ouch|oh (?:dear|no|well|my)|h+m+|mm+|a+h+|o+h+|aha|uh|wow|oops|(?:ha){2,}|never ?mind"
    r"|no (?:problem|worries)|so be it"
)
_GERMAN: Final = (
    r"einverstanden|abgemacht|ausgemacht|genau|richtig|(?:das )?(?:stimmt|passt)(?: so| schon)?|du hast recht"
    r"|sie haben recht|da (?:hast du|haben sie) recht|natürlich|selbstverständlich|(?:sehr |aber )?gerne?"
    r"|(?:na|nun|also|schon|alles|sehr) gut|gut|(?:na )?klar|(?:sehr )?schön|wunderbar|toll|großartig|prima|super"
    r"|jawohl|ja|jo|jep|nein|doch|erledigt|(?:wird )?gemacht|mach ich|(?:ich )?verstehe|verstanden|keine ursache"
    r"|nichts zu danken|bitte(?: schön| sehr)?|danke(?: dir| ihnen| euch| schön| sehr| nochmals?)?"
    r"|(?:vielen|besten|herzlichen) dank|ach(?: so)?|tja|in ordnung"
)
_SPANISH: Final = (
    r"(?:estoy )?de acuerdo(?: contigo)?|vale|exacto|exactamente|eso es|así es|claro(?: que sí)?|por supuesto"
    r"|desde luego|cierto|es verdad|tienes razón|correcto|entendido|hecho|listo|trato hecho|está bien|(?:muy )?bien"
    r"|perfecto|genial|estupendo|con mucho gusto|no hay de qué|de nada|(?:muchas |mil )?gracias(?: a ti| por todo)?"
    r"|ya veo|bueno|pues|sí"
)
_FRENCH: Final = (
    r"(?:je suis )?d'accord|tout à fait|exact|exactement|c'est (?:ça|vrai|exact|noté|bon|parfait|entendu|clair|fait)"
    r"|tu as raison|vous avez raison|bien sûr|évidemment|entendu|noté|compris|je (?:vois|comprends)"
    r"|(?:très |eh )?bien|parfait|super|génial|ça (?:va|marche|roule)|avec plaisir|de rien|il n'y a pas de quoi"
    r"|pas de (?:problème|souci)s?|merci(?: beaucoup| bien| encore| à (?:toi|vous))?|oui|non|ah bon|bon|voilà"
    r"|volontiers|marché conclu"
)
_ITALIAN: Final = (
    r"(?:sono )?d'accordo|va (?:bene|benissimo)|esatto|esattamente|proprio così|giusto|certo|certamente|ovviamente"
    r"|(?:ho )?capito|ricevuto|inteso|perfetto|ottimo|benissimo|(?:molto )?bene|affare fatto|fatto|hai ragione"
    r"|(?:è )?vero|grazie(?: mille| tante| a te| ancora)?|prego|di niente|figurati|nessun problema|volentieri|sì"
    r"|ciao|beh|ecco"
)
_PORTUGUESE: Final = (
    r"de acordo|concordo|combinado|certo|está (?:bem|certo|bom)|tudo bem|tá(?: bom| certo)?|exato|exatamente"
    r"|isso(?: mesmo)?|é verdade|tens? razão|tem razão|com certeza|entendi|percebi|perfeito|ótimo|(?:muito )?bem"
    r"|beleza|feito|(?:muito )?obrigad[oa]|não há de quê|por nada|sem problemas?|sim|não|olá|oi|pois|valeu"
)
_DUTCH: Final = (
    r"akkoord|afgesproken|(?:dat )?klopt|precies|inderdaad|juist|zeker|natuurlijk|uiteraard|begrepen|duidelijk"
    r"|ik begrijp het|goed(?: zo)?|prima|top|mooi|geregeld|gedaan|komt (?:goed|in orde|voor elkaar)|in orde"
    r"|je hebt gelijk|(?:ik ben het )?(?:er ?)?mee eens|dank(?: je| u| jullie)?(?: wel)?|bedankt|graag gedaan"
    r"|geen (?:probleem|dank)|nee|hoi|hallo|oké|okee|nou"
)
_CHINESE: Final = (
    r"同意|赞成|没错|沒錯|当然|當然|成交|就这样|一言为定|确实|对的?|好的?|好吧|行|可以|是的?|没问题|没关系|明白了?"
    r"|知道了|懂了|了解|收到|谢谢(?:你|您)?|嗯"
)
_TAIL: Final = (
    "then|now|too|again|there|all|everyone|for now|dann|also|mal|entonces|ya|alors|donc|allora|dunque|então|dan"
    "|hoor|maar"
)
_SAID: Final = re.compile(
    "|".join((_ENGLISH, _GERMAN, _SPANISH, _FRENCH, _ITALIAN, _PORTUGUESE, _DUTCH)), re.IGNORECASE
)
_ADDED: Final = re.compile(_TAIL, re.IGNORECASE)
_BETWEEN: Final = re.compile(r"[\s,.!…¡¿–-]+")
_MOST_WORDS: Final = 6
"""Of one phrase."""
# What a loop has taken it keeps, since the same signs can be read as several phrases.
_SAID_IN_CHINESE: Final = re.compile(
    rf"(?:{_CHINESE})(?:[\s，、。！,!]*+(?:{_CHINESE}|[呀啊吧啦哦了]))*+[\s。！!.…]*",
)


def only_acknowledges(sentence: str) -> bool:
    """Tell whether a sentence, at most a line long, only agrees, acknowledges or exclaims ("Agreed.", "Okay then").

    One that goes on to say something does not ("Agreed, no pushing on Fridays."). English, German, Spanish, French,
    Italian, Portuguese, Dutch and Chinese are known. The cost is linear in the number of words.
    """
    if _SAID_IN_CHINESE.fullmatch(sentence):
        return True
    words = [word for word in _BETWEEN.split(sentence) if word]
    reached = {0}
    for start in range(len(words)):
        if start in reached:
            reached |= {end for end in _ends(words, start) if _is_phrase(" ".join(words[start:end]), first=start == 0)}
    return bool(words) and len(words) in reached


def _ends(words: list[str], start: int) -> range:
    return range(start + 1, min(start + _MOST_WORDS, len(words)) + 1)


def _is_phrase(words: str, *, first: bool) -> bool:
    return _SAID.fullmatch(words) is not None or (not first and _ADDED.fullmatch(words) is not None)
