"""The gate: queries that need no recall, and queries that point at nothing."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """What the gate says about a query."""

    RECALL = "recall"
    SKIP = "skip"
    UNCLEAR = "unclear"


_GREETING: Final = re.compile(
    r"(hi|hello|hey|howdy|good (morning|afternoon|evening|night)|thanks?( you)?( (so|very) much)?|thx|ok(ay)?|k|yes|no|"
    r"yep|nope|sure|great|cool|nice|got it|i see|bye|goodbye|see you|lol|haha)"
    r"([ ,]+(there|everyone|all|again|then|so much|a lot))?",
    re.IGNORECASE,
)
_POINTING: Final = re.compile(
    r"(please )?(fix|do|redo|undo|change|delete|remove|continue|repeat|show|explain|finish|try)( me)? "
    r"(it|that|this|them|those|again)( again| please| now)?",
    re.IGNORECASE,
)


def gate(query: str) -> Verdict:
    """Judge a query: greetings and acknowledgements need no recall; requests that point at nothing say so."""
    bare = " ".join(re.sub(r"[^\w ]+", " ", query).split())
    if not bare:
        return Verdict.RECALL
    if _GREETING.fullmatch(bare):
        return Verdict.SKIP
    if _POINTING.fullmatch(bare):
        return Verdict.UNCLEAR
    return Verdict.RECALL
