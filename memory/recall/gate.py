"""The gate: queries that need no recall, and queries that point at nothing.

Only whole queries are judged, so a greeting before a question, or a question about thanks, is recalled for.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import Final

from memory.text.tokens import quoted_phrases


class Verdict(StrEnum):
    """What the gate says about a query."""

    RECALL = "recall"
    SKIP = "skip"
    UNCLEAR = "unclear"


# Nothing longer is a greeting or a bare request.
LONGEST: Final = 80

_ENGLISH: Final = (
    r"hi|hello|hey|howdy|good (?:morning|afternoon|evening|night)|(?:many )?thanks?(?: you)?(?: (?:so|very) much)?"
    r"|thx|cheers|ok(?:ay)?|k|yes|no|yep|yeah|nope|sure|alright|great|cool|nice|perfect|got it|i see|makes sense"
    r"|understood|bye|goodbye|see you|lol|haha|you re welcome|no problem|never ?mind"
)
_GERMAN: Final = (
    r"hallo|moin|servus|grüß (?:dich|gott)|guten (?:morgen|tag|abend)|gute nacht|danke(?: (?:schön|sehr|dir|ihnen))?"
    r"|vielen dank|herzlichen dank|besten dank|ja|nein|doch|klar|gut|alles klar|in ordnung|passt|prima|super|verstanden"
    r"|ach so|tschüss?|auf wiedersehen|bis (?:bald|dann|später|morgen)|gern geschehen|kein problem"
)
_SPANISH: Final = (
    r"hola|buen(?:os)? días?|buenas (?:tardes|noches)|(?:muchas |mil )?gracias|sí|vale|claro|de acuerdo|entendido"
    r"|perfecto|genial|muy bien|está bien|adiós|hasta (?:luego|pronto|mañana)|de nada"
)
_FRENCH: Final = (
    r"bonjour|bonsoir|salut|bonne nuit|merci(?: (?:beaucoup|bien|à toi|à vous))?|oui|non|d accord|entendu|bien sûr"
    r"|parfait|compris|j ai compris|ça marche|très bien|au revoir|à (?:bientôt|demain|plus(?: tard)?)|de rien"
)
_CHINESE: Final = (
    r"你好|您好|大家好|早上好|下午好|晚上好|早安|晚安|谢谢(?:你|您|大家)?|謝謝(?:你|您)?|多谢|感谢|好的?|好吧|行|可以|是的?|对|不是|不|没问题"
    r"|明白了?|知道了|懂了|了解|收到|嗯|哈哈|再见|拜拜|不客气"
)
_TAIL: Final = r"there|everyone|all|again|then|so much|a lot|zusammen|an alle|a todos|à tous|呀|啊|吧|啦|哦|了"

_ACKNOWLEDGEMENT: Final = re.compile(
    rf"(?:{_ENGLISH}|{_GERMAN}|{_SPANISH}|{_FRENCH})(?: (?:{_ENGLISH}|{_GERMAN}|{_SPANISH}|{_FRENCH}|{_TAIL})){{0,4}}",
    re.IGNORECASE,
)
_ACKNOWLEDGEMENT_IN_CHINESE: Final = re.compile(rf"(?:{_CHINESE})(?: ?(?:{_CHINESE}|{_TAIL})){{0,4}}")
_HOW_ARE_YOU: Final = re.compile(
    rf"(?:(?:{_ENGLISH}|{_GERMAN}|{_SPANISH}|{_FRENCH}) )?"
    r"(?:how are you(?: today| doing)?|what s up|wie geht (?:s|es)(?: dir| ihnen)?|(?:cómo|qué) (?:estás|está|tal)"
    r"|(?:comment )?ça va|comment (?:vas tu|allez vous))"
    r"|(?:你好 ?)?(?:你)?(?:好吗|最近怎么样)",
    re.IGNORECASE,
)

_POINTING: Final = re.compile(
    r"(?:please )?(?:fix|do|redo|undo|change|delete|remove|continue|repeat|show|explain|finish|try)(?: me)? "
    r"(?:it|that|this|them|those|again)(?: again)?(?: please| now)?"
    r"|(?:please )?(?:continue|go on|carry on|(?:once|one more time|try|do) again|once more|redo|undo)(?: please)?"
    # German: an imperative, what it points at, and how often.
    r"|(?:bitte )?(?:(?:mach|lösch|änder|korrigier|wiederhol|erklär|zeig|reparier|versuch)e?|machen sie|tu|beende)"
    r"(?: bitte)?(?: mir)? (?:das|es|dies|die|sie|ihn)"
    r"(?: bitte)?(?: (?:nochmals?|noch ?mal|noch einmal|wieder|weiter|rückgängig|fertig|jetzt))?(?: bitte)?"
    r"|(?:bitte )?(?:mach |mache )?(?:weiter|nochmals?|noch ?mal|noch einmal|rückgängig)(?: bitte)?"
    # Spanish and French write what is pointed at into the verb, or beside it.
    r"|(?:por favor )?(?:hazlo|repítelo|bórralo|elimínalo|cámbialo|arréglalo|corrígelo|explícalo|muéstramelo|termínalo"
    r"|inténtalo|continúa|sigue|deshazlo|rehazlo)(?: (?:otra vez|de nuevo|ahora))?(?: por favor)?"
    r"|(?:otra vez|de nuevo)(?: por favor)?"
    r"|(?:refais|fais|répète|supprime|efface|change|corrige|explique|montre|termine|annule|réessaie)(?: moi)?"
    r" (?:le|la|les|ça|cela|encore)(?: moi)?(?: encore(?: une fois)?| de nouveau| maintenant)?"
    r"(?: s il (?:te|vous) plaît)?"
    r"|(?:recommence|continue|réessaie|annule|encore une fois)(?: s il (?:te|vous) plaît)?",
    re.IGNORECASE,
)
_POINTING_IN_CHINESE: Final = re.compile(
    r"请?(?:再(?:做|来|试|说|写)(?:一次|一遍|一下)(?:吧)?|继续(?:吧|做)?|重做|重来|撤销|重复一(?:遍|次|下)"
    r"|(?:改|修|修改|删除|删掉|解释|修复|完成)(?:一下|它|这个|那个)(?:吧)?|把(?:它|这个|那个)(?:改|删|修)(?:了|掉|好|一下)|做(?:那个|这个|它))"
)


def gate(query: str) -> Verdict:
    """Judge a query: greetings and acknowledgements need no recall; requests that point at nothing say so.

    English, German, Spanish, French and Chinese are known. What stands in quotation marks is looked for as it is, and
    of what ends as a question only "how are you" is a greeting.
    """
    if len(query) > LONGEST or quoted_phrases(query):
        return Verdict.RECALL
    bare = " ".join(re.sub(r"[^\w ]+", " ", unicodedata.normalize("NFKC", query)).split())
    if not bare:
        return Verdict.RECALL
    if _HOW_ARE_YOU.fullmatch(bare):
        return Verdict.SKIP
    if not any(mark in query for mark in "?？") and (
        _ACKNOWLEDGEMENT.fullmatch(bare) or _ACKNOWLEDGEMENT_IN_CHINESE.fullmatch(bare)
    ):
        return Verdict.SKIP
    if _POINTING.fullmatch(bare) or _POINTING_IN_CHINESE.fullmatch(bare):
        return Verdict.UNCLEAR
    return Verdict.RECALL
