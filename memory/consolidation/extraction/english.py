"""What English clauses about people say, verb by verb."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from memory.consolidation.extraction.being import being
from memory.consolidation.extraction.clause import Clause
from memory.consolidation.extraction.drafts import (
    AIM,
    DECISION,
    HEALTH,
    LEARNING,
    LIKING,
    POSSESSION,
    TOOLING,
    TRADE,
    TRAIT,
    Draft,
)
from memory.consolidation.extraction.endings import over, parted, stopped
from memory.consolidation.extraction.having import having
from memory.consolidation.extraction.values import is_pointing, is_vague, several, trimmed
from memory.consolidation.extraction.voice import retold, statement
from memory.consolidation.extraction.whereabouts import (
    comes,
    joins,
    leaves,
    lives,
    moves,
    names_something,
    reports,
    starts,
    works,
)
from memory.consolidation.extraction.words.people import FIRST_NAMES
from memory.consolidation.extraction.words.themes import TOPICS
from memory.consolidation.extraction.words.things import NATIONAL

LASTING: Final = frozenset({"present", "going", "perfect"})

_FROM_TO: Final = re.compile(r"(?:back\s+|here\s+|out\s+|over\s+)?from\s+(.+?)\s+to\s+(.+)", re.DOTALL)
_AIM: Final = re.compile(
    r"to\s+(?:learn|become|build|visit|travel|open|start|buy|study|write|own|adopt|run\s+(?:a|an|my)|"
    r"move\s+to|get\s+into|publish|"
    r"create|launch|found|retire|apply|go\s+(?:back\s+)?to\s+(?:[A-Z]|school|college|university)|"
    r"do\s+(?:a|an|my)|finish|quit|be\s+(?:a|an))\b.+",
    re.DOTALL,
)
_LANGUAGES: Final = re.compile(
    r"(?:fluent\s+|some\s+|basic\s+|good\s+|a\s+(?:little|bit\s+of)\s+|both\s+)?([A-Z][a-z]+(?:(?:,\s*|"
    r"\s+and\s+|,\s*and\s+)[A-Z][a-z]+){0,5})"
)
_NOT_LEARNT: Final = re.compile(
    r"(?:a\s+lot|a\s+ton|tons|so\s+much|that|from|more|new\s+things|about\s+(?:it|this|that|myself)|"
    r"to\s+(?:be|let|trust|love|accept|balance|"
    r"deal|appreciate)|the\s+(?:hard|importance)|as\b|how\s+(?:much|important)|lots|something|"
    r"the\s+\w+\s+of|hard\b|for\b|together)",
    re.IGNORECASE,
)
_BUSINESS: Final = re.compile(
    r"(?:an?|my\s+own|our\s+own|my|our|the)\s+(?!marathon|race|half|mile|test|few|couple|lot|risk|5k|"
    r"10k|fundraiser|campaign|"
    r"sale|errand)([\w\s'-]{3,50})",
    re.IGNORECASE,
)
_RAN_ALONE: Final = frozenset({"run", "manage", "lead"})


def _likes(clause: Clause, polarity: int) -> list[Draft]:
    if clause.tense not in ("present", "perfect", "former"):
        return []
    if clause.tense == "perfect" and "always" not in clause.told:
        return []
    tail = re.split(r"\s+(?:over|rather than|instead of|more than|better than)\s+", clause.tail)[0]
    if clause.verb == "prefer":
        tail = re.split(r"\s+to\s+(?!\w+ing\b)", tail)[0] if not tail.startswith("to ") else tail
    value = trimmed(tail)
    if is_vague(value) or _is_shown(value):
        return []
    if clause.tense == "former":
        return []
    sign = -polarity if clause.negated else polarity
    if clause.negated and polarity < 0:
        return []
    label = "likes" if sign > 0 else "dislikes"
    rank = LIKING._replace(importance=0.7) if clause.verb == "prefer" else LIKING
    base = Draft(rank, "likes", value, sign, label=label, target_type="topic")
    parts = several(value)
    if len(parts) == 1:
        return [base]
    return [base.but(value=part, tail=part) for part in parts if not is_vague(part)]


def _is_shown(value: str) -> bool:
    """Tell whether "the" points at something that only those present see: "the colours", not "the Alps"."""
    low = value.casefold()
    if not low.startswith("the "):
        return False
    rest = value[4:]
    words = rest.split()
    if len(words) > 1 and words[-1].casefold() in FIRST_NAMES:
        # The one who is spoken to: "I love the thought Nate".
        rest = " ".join(words[:-1])
    return not any(character.isupper() for character in rest) and low[4:] not in (
        "beach", "ocean", "sea", "mountains", "outdoors", "rain", "snow", "piano", "violin", "guitar", "theatre",
        "theater", "opera", "gym", "cold", "heat", "forest", "countryside", "city",
    )  # fmt: skip


def _uses(clause: Clause) -> list[Draft]:
    if clause.tense == "past":
        return []
    value = trimmed(re.split(r"\s+(?:to|for|as|in|on|with|at|from)\s+", clause.tail)[0])
    if is_vague(value) or not names_something(value):
        return []
    base = Draft(TOOLING, "uses", value, label="uses", target_type="tool")
    if clause.negated or clause.tense == "former":
        base = base.but(polarity=-1, ended=clause.ended or clause.tense == "former")
        base = base if base.ended else base.but(label="")
    return [base.but(value=part, tail=part) for part in several(value)] if len(several(value)) > 1 else [base]


def _speaks(clause: Clause) -> list[Draft]:
    match = _LANGUAGES.match(clause.tail)
    if match is None or clause.tense not in ("present", "going"):
        return []
    spoken = [word for word in re.findall(r"[A-Z][a-z]+", match[1]) if word.casefold() in NATIONAL]
    sign = -1 if clause.negated else 1
    return [
        Draft(TRAIT, "speaks", word, sign, label="speaks" if sign > 0 else "", tail=word if len(spoken) > 1 else "")
        for word in spoken
    ]


def _wants(clause: Clause) -> list[Draft]:
    if clause.tense not in ("present", "going", "perfect") or clause.negated or not _AIM.match(clause.tail):
        return []
    value = trimmed(clause.tail)
    return [] if len(value.split()) < 3 else [Draft(AIM, "wants", value, confidence=0.8)]


def _plays(clause: Clause) -> list[Draft]:
    if clause.tense not in LASTING and clause.tense != "former":
        return []
    value = re.sub(r"\A(?:the|my)\s+", "", trimmed(clause.tail), flags=re.IGNORECASE)
    known = [TOPICS[part.casefold()][0] for part in several(value) if part.casefold() in TOPICS]
    sign = -1 if clause.negated or clause.tense == "former" else 1
    label = "plays" if sign > 0 else ""
    return [Draft(LEARNING, "plays", word, sign, label=label, target_type="topic") for word in known[:1]]


def _studies(clause: Clause) -> list[Draft]:
    value = trimmed(re.split(r"\s+(?:at|with|in)\s+(?=[A-Z])", clause.tail)[0])
    gone = clause.ended or clause.tense == "former"
    lasts = clause.tense in LASTING and not clause.negated
    if not (lasts or gone) or is_vague(value) or _NOT_LEARNT.match(value):
        return []
    value = re.sub(r"\A(?:how\s+)?to\s+", "", value)
    if len(value.split()) > 5:
        return []
    base = Draft(LEARNING, "learns", value, label="studies", target_type="topic", confidence=0.8)
    return [base.but(polarity=-1, ended=True) if gone else base]


def _eats(clause: Clause) -> list[Draft]:
    value = trimmed(clause.tail)
    if not clause.negated or is_vague(value):
        return []
    return [Draft(LIKING._replace(importance=0.8), "eats" if clause.verb == "eat" else "drinks", value, -1)]


def _drives(clause: Clause) -> list[Draft]:
    value = trimmed(clause.tail)
    if clause.tense != "present" or clause.negated or not re.match(r"an?\s", value) or is_vague(value[2:]):
        return []
    return [Draft(POSSESSION, "drives", value, label="drives")]


def _simply(attribute: str, target_type: str = "topic") -> Callable[[Clause], list[Draft]]:
    def read(clause: Clause) -> list[Draft]:
        value = trimmed(re.split(r"\s+(?:at|in|for|with|from)\s+", clause.tail)[0])
        lasts = clause.tense in LASTING or clause.tense == "former"
        if not lasts or is_vague(value) or _is_shown(value) or len(value.split()) > 5:
            return []
        sign = -1 if clause.negated or clause.tense == "former" else 1
        return [Draft(POSSESSION, attribute, value, sign, label=attribute if sign > 0 else "", target_type=target_type)]

    return read


def _runs(clause: Clause) -> list[Draft]:
    match = _BUSINESS.match(clause.tail)
    if match is None or clause.tense not in LASTING or clause.negated:
        return []
    value = trimmed(match[1])
    if clause.verb == "run" and match.group().casefold().startswith("the "):
        return []
    if value.casefold() in ("team", "project", "group"):
        return []
    return [] if is_vague(value) else [Draft(TRADE, f"{clause.verb}s", value, confidence=0.8)]


def _switches(clause: Clause) -> list[Draft]:
    match = _FROM_TO.match(clause.tail) or re.match(r"()to\s+(.+)", clause.tail, re.DOTALL)
    if match is None or clause.tense not in ("past", "perfect"):
        return []
    old, new = trimmed(match[1]), trimmed(match[2])
    if is_vague(new) or not names_something(new):
        return []
    found = [Draft(TOOLING, "uses", new, label="uses", target_type="tool")]
    if old and names_something(old) and not is_vague(old):
        found.append(Draft(TOOLING, "uses", old, -1, label="uses", target_type="tool", ended=True, silent=True))
    return found


def _turns(clause: Clause) -> list[Draft]:
    match = re.match(r"(\d{1,3})\b(?!\s*(?:%|percent|o'clock))", clause.tail)
    if match is None or clause.tense == "going" or not 0 < int(match[1]) < 120:
        return []
    return [Draft(TRAIT, "age", match[1], single=True)]


def _suffers(clause: Clause) -> list[Draft]:
    match = re.match(r"from\s+(.+)", clause.tail, re.DOTALL)
    if match is None or clause.tense not in LASTING or clause.negated or is_vague(trimmed(match[1])):
        return []
    return [Draft(HEALTH, "has_condition", trimmed(match[1]), label="has_condition", target_type="topic")]


def _decides(clause: Clause) -> list[Draft]:
    patterns = {
        "decide": r"(?:to|that|on|against|not\s+to)\s+\w",
        "settle": r"on\s+\w",
        "agree": r"(?:to|that|on)\s+\w",
        "opt": r"(?:for|to)\s+\w",
    }
    pattern = patterns.get(clause.verb)
    if clause.tense not in ("past", "perfect") or clause.negated or not clause.subject.own:
        return []
    if pattern is None and (is_vague(trimmed(clause.tail)) or not names_something(clause.tail)):
        return []
    if pattern and not re.match(pattern, clause.tail):
        return []
    if is_pointing(" ".join(clause.tail.split()[:5])):
        return []
    return [Draft(DECISION, confidence=0.8)] if len(clause.tail.split()) >= 2 else []


_READERS: Final[dict[str, Callable[[Clause], list[Draft]]]] = {
    **dict.fromkeys(("love", "like", "enjoy", "adore", "prefer"), lambda clause: _likes(clause, 1)),
    **dict.fromkeys(("hate", "dislike", "detest", "loathe"), lambda clause: _likes(clause, -1)),
    **dict.fromkeys(("live", "reside"), lives),
    **dict.fromkeys(("move", "relocate"), moves),
    **dict.fromkeys(("eat", "drink"), _eats),
    **dict.fromkeys(("study", "learn"), _studies),
    **dict.fromkeys(("leave", "resign"), leaves),
    **dict.fromkeys(("break", "split", "separate", "divorce", "get"), parted),
    **dict.fromkeys(("decide", "choose", "pick", "settle", "agree", "opt"), _decides),
    **dict.fromkeys(("want", "hope", "plan"), _wants),
    **dict.fromkeys(_RAN_ALONE, _runs),
    "work": works, "use": _uses, "speak": _speaks, "play": _plays, "drive": _drives, "own": _simply("owns"),
    "collect": _simply("collects"), "teach": _simply("teaches"), "switch": _switches, "start": starts,
    "join": joins, "turn": _turns, "come": comes, "suffer": _suffers, "report": reports, "be": being,
    "have": having,
}  # fmt: skip
_STOPPING: Final = frozenset({"stop", "quit", "give"})


def drafts_of(clause: Clause) -> list[Draft]:
    """List what a clause says of its subject; nothing when that does not last or cannot be told for sure."""
    if clause.unsure or not clause.tail:
        return []
    if clause.verb in _STOPPING:
        return _stopped(clause)
    read = _READERS.get(clause.verb)
    found = (parted(clause) if clause.verb == "be" else []) or (read(clause) if read else [])
    return [over(clause, draft) for draft in found]


def _stopped(clause: Clause) -> list[Draft]:
    """List what is over, told in the words of the clause that ends it."""
    if clause.verb == "quit" and (left := leaves(clause)):
        return left
    what = stopped(clause)
    if not isinstance(what, Clause):
        return [what] if what else []
    told = statement(clause.subject.said, clause.told, retold(clause.tail))
    return [draft.but(text=told, tail="") for draft in drafts_of(what) if draft.polarity < 0]
