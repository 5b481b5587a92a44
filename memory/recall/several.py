"""Whether a question asks for several things at once, which no one memory may hold: lists, counts, what two share."""

from __future__ import annotations

import re
from typing import Final

_LEADS: Final = r"(?:(?:in|on|from|for|with|at|of|to)\s{1,3})?(?:what|which)\s{1,3}"
_OF_A_KIND: Final = r"(?:(?:kind|type|sort)s?\s{1,3}of\s{1,3})?"
# A word between, which must not be the verb: "what activities", "which small towns", but not "what is his".
_VERB: Final = r"(?:is|was|are|were|do|does|did|has|have|had|will|would|can|could|should|might)\b"
_BETWEEN: Final = rf"(?:(?!{_VERB})[\w'’+-]{{1,30}}\s{{1,3}}){{0,2}}"
_NO_PLURAL: Final = (
    r"(?:this|is|was|does|has|his|its|as|us|yes|news|days|weeks|months|years|hours|minutes"
    r"|goes|comes|makes|takes|likes|loves|helps|lives|plays|works|wants|needs|means|gives|says|gets|keeps|leaves)\b"
)
_PLURAL: Final = rf"(?!{_NO_PLURAL})[a-z]{{2,30}}(?<![su'’])s\b"
_PARTICIPLE: Final = r"(?:[\w'’]{1,30}\s{1,3}){0,3}?\w{1,30}(?:ed|en|ne|un|ut|ght|lt|de|ad)\b"
_ASKED: Final = (
    # "What activities has …", "which kinds of books …"
    rf"^\s{{0,9}}{_LEADS}{_OF_A_KIND}{_BETWEEN}{_PLURAL}",
    # "What has Melanie painted?", "Where have they been camping?": over some time, so more than once.
    rf"^\s{{0,9}}(?:in\s{{1,3}})?(?:what|which|where|who|how)\b.{{0,80}}?\b(?:has|have)\s{{1,3}}{_PARTICIPLE}",
    # "Nate's favourite desserts"
    rf"\b\w{{1,30}}['’]s?\s{{1,3}}(?:\w{{1,30}}\s{{1,3}})?{_PLURAL}",
    r"^\s{0,9}what\s{1,3}are\b|\bhow\s{1,3}many\b|\bboth\b|\bin\s{1,3}common\b|\ball\s{1,3}the\b|\beach\s{1,3}of\b",
    r"\b(?:what|who|where)\s{1,3}else\b",
    r"\bwelche\s{1,3}\w{2,30}(?:en|er|s)\b|\bwie\s{1,3}viele\b|\bbeiden?\b|\balle[rn]?\b|\bgemeinsam\b",
    r"\b(?:qué|cuáles)\s{1,3}(?!(?:días|semanas|meses|años|horas|minutos)\b)\w{2,30}s\b",
    r"\bcuánt[oa]s\b|\bamb[oa]s\b|\btod[oa]s\b|\ben\s{1,3}común\b",
    r"\bquel(?:le)?s\b|\btous\b|\btoutes\b|\bcombien\b|\ben\s{1,3}commun\b",
    r"哪些|所有|都|几[个個]|多少|すべて|全部|모두",
)
_SEVERAL: Final = re.compile("|".join(_ASKED), re.IGNORECASE)


def asks_for_several(question: str) -> bool:
    """Tell whether a question asks for several things, by its form, without a model.

    English best; German, Spanish, French, Chinese, Japanese and Korean by their commonest words.
    """
    return bool(_SEVERAL.search(question))
