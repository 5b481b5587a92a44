"""Whether a question asks for several things at once, which no one memory may hold: lists, counts, what two share."""

from __future__ import annotations

import re
from typing import Final

_AUXILIARY: Final = r"(?:is|was|are|were|do|does|did|has|have|had|will|would|can|could|should|might)\b"
# How much of something is one thing, however many of its units there are.
_UNITS: Final = (
    r"(?:seconds|minutes|hours|days|weeks|months|years|degrees|percent|met(?:re|er)s|kilomet(?:re|er)s|miles|feet"
    r"|kilos|kilograms|grams|euros|dollars|pounds"
    r"|sekunden|minuten|stunden|tagen?|wochen|monaten?|jahren?|grad|prozent|meter|kilometer"
    r"|segundos|minutos|horas|d[ií]as|semanas|meses|años|grados|metros|kilómetros"
    r"|temps|secondes|heures|jours|semaines|mois|ans|degrés|mètres|kilomètres)\b"
)
_LEADS: Final = r"^\s{0,9}(?:(?:in|on|from|for|with|at|of|to)\s{1,3})?(?:what|which)\s{1,3}"
_OF_A_KIND: Final = r"(?:(?:kind|type|sort)s?\s{1,3}of\s{1,3})?"
# A word between, which must not be the verb: "what activities", "which small towns", but not "what is his".
_BETWEEN: Final = rf"(?:(?!{_AUXILIARY})[\w'’+-]{{1,30}}\s{{1,3}}){{0,2}}"
_PLURAL: Final = rf"(?!(?:this|goes|his|its|as|us|yes|news)\b|{_AUXILIARY}|{_UNITS})[a-z]{{2,30}}(?<![su'’])s\b"
# What follows the verb of one thing, and no noun in the plural: "which file holds the", "what keeps Ann".
_OBJECT: Final = (
    r"(?!\s{1,3}(?:(?:the|an?|this|that|these|those|my|your|his|her|its|our|their|me|you|him|it|us|them|so|no|any|each"
    r"|every|what|which|who|how|when|where)\b|[\w-]{0,30}\d|(?-i:[A-Z])))"
)
_PARTICIPLE: Final = r"(?:[\w'’]{1,30}\s{1,3}){0,3}?\w{1,30}(?:ed|en|ne|un|ut|ght|lt|de|ad)\b"
# "How long has" asks for one length, and "would have" for nothing that went on.
_HOW_MUCH: Final = r"\s{1,3}(?:long|old|far|much|often)\b"
_NO_MODAL: Final = r"(?:(?!\b(?:would|could|should|might|must|may)\b).){0,80}?"
_ASKED: Final = (
    # "What activities does …", "which kinds of books …"
    rf"{_LEADS}{_OF_A_KIND}{_BETWEEN}{_PLURAL}{_OBJECT}",
    # "What has she painted?", "Where have they been?": over some time, so more than once.
    rf"^\s{{0,9}}(?:in\s{{1,3}})?(?:what|which|where|who|how)\b(?!{_HOW_MUCH}){_NO_MODAL}\b(?:has|have)\s{{1,3}}{_PARTICIPLE}",
    # "What do the neighbours like?": those who do are several, unless they are spoken to.
    r"^\s{0,9}(?:what|which|where|who|whom)\s{1,3}do\s{1,3}(?!(?:i|you|we|they)\b)\w",
    rf"^\s{{0,9}}what\s{{1,3}}(?:are|were)\b(?!.{{0,60}}\b{_UNITS})|\bhow\s{{1,3}}many\s{{1,3}}(?!{_UNITS})",
    r"\bboth\b|\bin\s{1,3}common\b|\ball\s{1,3}the\s{1,3}(?!time\b)|\beach\s{1,3}of\b|\b(?:what|who|where)\s{1,3}else\b",
    rf"\bwelche\s{{1,3}}\w{{2,30}}(?:en|er|s)\b|\bwie\s{{1,3}}viele\s{{1,3}}(?!{_UNITS})",
    r"\bbeiden?\b|\balle[rn]?\b|\bgemeinsam\b",
    rf"\b(?:qué|cuáles)\s{{1,3}}(?!{_UNITS})\w{{2,30}}s\b|\bcuánt[oa]s\s{{1,3}}(?!{_UNITS})|\bamb[oa]s\b|\btod[oa]s\b",
    rf"\ben\s{{1,3}}común\b|\bquel(?:le)?s\b|\btous\b|\btoutes\b|\bcombien\s{{1,3}}d(?:e\s{{1,3}}|['’])(?!{_UNITS})",
    r"\ben\s{1,3}commun\b|哪些|所有|都有?[哪什]|(?:几|多少)[个個次本种種只隻条條家位人]|何(?:人|個|回|冊)|すべて|全部|모두",
)
_SEVERAL: Final = re.compile("|".join(_ASKED), re.IGNORECASE)


def asks_for_several(question: str) -> bool:
    """Tell whether a question asks for several things, by its form, without a model.

    English best; German, Spanish, French, Chinese, Japanese and Korean by their commonest words.
    """
    return bool(_SEVERAL.search(question))
