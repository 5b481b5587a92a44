"""Statements that are no plain clause about a person: favourites, particulars, instructions, decisions, findings."""

from __future__ import annotations

import re
from typing import Final

from memory.consolidation.extraction.clause import Subject
from memory.consolidation.extraction.drafts import (
    DECISION,
    FINDING,
    HEALTH,
    IDENTITY,
    INSTRUCTION,
    LIKING,
    REMEMBERED,
    TRADE,
    TRAIT,
    WORK,
    Draft,
)
from memory.consolidation.extraction.names import themes_of
from memory.consolidation.extraction.values import is_vague, normal, trimmed
from memory.consolidation.extraction.voice import possessive, retold, statement, third_person
from memory.consolidation.extraction.words.noise import NOISE
from memory.consolidation.extraction.words.openings import TO_SOMEBODY
from memory.consolidation.extraction.words.verbs import ORDERS

LEAST_FINDING: Final = 100
"""Characters that an assistant's turn has more of before a finding is looked for in it (Engram)."""

_FAVOURITE: Final = re.compile(
    r"(?:my|our)\s+(?:all[- ]time\s+|absolute\s+|current\s+)?(?:favou?rite|"
    r"fave)\s+([\w\s'-]{2,40}?)\s+(?:is|are|'s|has\s+always\s+been|would\s+be)\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_IS_FAVOURITE: Final = re.compile(
    r"([\w\"'\s-]{2,60}?)\s+(?:is|are)\s+(?:definitely\s+|by\s+far\s+|"
    r"probably\s+)?my\s+(?:all[- ]time\s+|absolute\s+)?(?:favou?rite|fave)\s+([\w\s'-]{2,40})",
    re.IGNORECASE,
)
_IS_LIKED: Final = re.compile(
    r"(?!(?:he|she|we|they|you|who)\b)([\w\"'\s-]{2,60}?)(?:\s+(?:is|are)|'s)\s+(?:definitely\s+|by\s+far\s+)?"
    r"my\s+(?:all[- ]time\s+|absolute\s+)?(?:favou?rite|fave)(?:\s+(?:thing|one))?\s*[.!]*\Z",
    re.IGNORECASE,
)
_PARTICULARS: Final[dict[str, tuple[str, bool]]] = {
    "name": ("named", True), "full name": ("named", True), "first name": ("named", True),
    "birthday": ("birthday", True), "birth date": ("birthday", True), "date of birth": ("birthday", True),
    "timezone": ("timezone", True), "time zone": ("timezone", True), "job": ("job", True), "age": ("age", True),
    "profession": ("job", True), "occupation": ("job", True), "nationality": ("nationality", False),
    "native language": ("native_language", True), "mother tongue": ("native_language", True),
    "first language": ("native_language", True), "email": ("email", False), "email address": ("email", False),
    "phone number": ("phone", False), "number": ("phone", False), "address": ("address", True),
    "blood type": ("blood_type", True), "shoe size": ("shoe_size", True), "hometown": ("comes_from", True),
    "anniversary": ("anniversary", True), "wedding anniversary": ("anniversary", True), "height": ("height", True),
    "pronouns": ("pronouns", True), "license plate": ("number_plate", True), "username": ("username", False),
    "handle": ("username", False), "passport": ("passport", False), "employer": ("works_at", True),
    "biggest fear": ("fears", False), "hobby": ("likes", False), "dream job": ("wants", False),
    "middle name": ("middle_name", True), "surname": ("surname", True), "last name": ("surname", True),
}  # fmt: skip
_PARTICULAR: Final = re.compile(
    rf"my\s+({'|'.join(sorted(_PARTICULARS, key=len, reverse=True))})(?:\s+is|'s|\s+are|"
    rf"\s+falls|\s+has\s+always\s+been)\s+(?!not\b)(?:on\s+|in\s+)?(.+)",
    re.IGNORECASE | re.DOTALL,
)
_CALL_ME: Final = re.compile(
    r"(?:please\s+)?(?:you\s+can\s+)?(?:just\s+)?call\s+me\s+([A-Z][\w-]+(?:\s[A-Z][\w-]+)?)\s*(?:[.,!]|\Z)"
)
_CONTEXT: Final = re.compile(
    r"(?:my|our|the)\s+(?:(?:main|current|side|new|whole)\s+)?(project|repo|repository|app|codebase|"
    r"stack|team|database|backend|frontend|"
    r"website|company|startup|server|pipeline)(?:'s\s+name)?\s+(?:is|uses|runs|lives|has|consists|"
    r"stores|sits|depends|relies|targets)\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_ALWAYS: Final = re.compile(
    r"(?:please\s+|and\s+|so\s+|from\s+now\s+on,?\s+|in\s+(?:the\s+)?future,?\s+)*(?P<how>always|never|"
    r"don't\s+ever|do\s+not\s+ever)\s+(?P<verb>[\w-]+)\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_FROM_NOW: Final = re.compile(
    r"(?:from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future),?\s+(?:please\s+)?(?:(?P<deny>don't|"
    r"do\s+not)\s+)?(?P<verb>[\w-]+)\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_CARE: Final = re.compile(
    r"(?:please\s+)?(?P<how>remember|don't\s+forget|do\s+not\s+forget|make\s+sure|be\s+sure|"
    r"keep\s+in\s+mind)\s+(?P<link>to|that|you|,|:)\s*(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_WHENEVER: Final = re.compile(
    r"when(?:ever)?\s+you\s+(?P<when>[\w\s`'/-]{3,80}?),\s+(?:please\s+)?(?:always\s+)?(?:(?P<deny>don't|do\s+not|never)\s+)?(?P<verb>[\w-]+)\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_LETS: Final = re.compile(
    r"(?:let's|let\s+us)\s+(?:go\s+with|use|stick\s+(?:with|to)|take|choose|settle\s+on)\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_IT_IS: Final = re.compile(
    r"(?:then\s+|so\s+|"
    r"okay,?\s+)?([A-Z][\w.+#-]{1,24}(?:\s[A-Z0-9][\w.+#-]{0,24}){0,2})\s+it\s+is(?:\s+then)?\s*(?:[,.!]|\Z)"
)
_ABOUT_SELF: Final = re.compile(r"\b(?:my|me|I|our|we|I'm|mine|us)\b")
_FINDING: Final = re.compile(
    r"\b(?:I\s+found|I\s+(?:have\s+)?discovered|I\s+(?:have\s+)?confirmed|the\s+(?:root\s+cause|issue|"
    r"problem|bug|culprit|error|fix|solution)\s+(?:is|was|lies|turned)|"
    r"(?:it\s+)?turns\s+out|caused\s+by|the\s+reason\s+is|after\s+(?:checking|investigating|testing|"
    r"analysing|analyzing)|"
    r"(?:analysis|results?|tests?|logs?|data)\s+(?:shows?|suggests?|indicates?|confirms?|reveals?)|"
    r"in\s+conclusion|key\s+finding)\b",
    re.IGNORECASE,
)
_SLASH: Final = re.compile(r"\A\s*/remember\s+(.+)\Z", re.IGNORECASE | re.DOTALL)
_COMMAND: Final = re.compile(r"\A\s*/[a-z][\w-]*(?:\s|\Z)", re.IGNORECASE)


def slash_command(text: str) -> str | None:
    """Give what "/remember" asks to keep; empty for any other command, None for no command."""
    match = _SLASH.match(text)
    if match:
        return " ".join(match[1].split())
    return "" if _COMMAND.match(text) else None


def remembered(text: str) -> Draft:
    """Make a statement of what somebody asked to keep."""
    return Draft(REMEMBERED, text=statement(text), confidence=1.0)


def particulars(clause: str, speaker: Subject) -> list[Draft]:
    """Read favourites, particulars of the speaker, and what his projects are made with."""
    for read in (_favourite, _particular, _called, _context):
        found = read(clause, speaker)
        if found:
            return found
    return []


def instructions(clause: str, speaker: Subject) -> list[Draft]:
    """Read what an assistant is to do from now on; encouragement and idle phrases are none."""
    asks = f"{speaker.said} asks"
    if match := _WHENEVER.match(clause):
        if match["verb"].casefold() in ORDERS:
            how = "never " if match["deny"] else "to "
            does, _, more = match["when"].partition(" ")
            when = retold(f"{third_person(does)} {more}".strip())
            told = f"{asks}, when the assistant {when}, {how}{match['verb']} {retold(match['rest'])}"
            return [Draft(INSTRUCTION, text=statement(told))]
        return []
    for pattern in (_FROM_NOW, _ALWAYS):
        match = pattern.match(clause)
        if match and match["verb"].casefold() in ORDERS and not _is_cheer(match["rest"]):
            denied = (pattern is _FROM_NOW and match["deny"]) or (
                pattern is _ALWAYS and match["how"].casefold() != "always"
            )
            how = "never to" if denied else ("always to" if pattern is _ALWAYS else "from now on to")
            return [Draft(INSTRUCTION, text=statement(f"{asks} {how} {match['verb']} {retold(match['rest'])}"))]
    return _care(clause, asks)


def decisions(clause: str, speaker: Subject) -> list[Draft]:
    """Read "let's go with Redis" and "Dramatiq it is"."""
    if match := _LETS.match(clause):
        value = trimmed(match[1])
        if not is_vague(value) and re.search(r"[A-Z]|`|_|\d", value):
            return [
                Draft(
                    DECISION,
                    text=statement(f"{speaker.said} and others decided on {retold(match[1])}"),
                    confidence=0.75,
                )
            ]
    if (match := _IT_IS.match(clause)) and match[1].split()[0].casefold() not in NOISE:
        return [Draft(DECISION, text=statement(f"{speaker.said} decided on {match[1]}"), confidence=0.75)]
    return []


def findings(text: str, sentences: list[str]) -> list[Draft]:
    """Read what an assistant found out: at most one finding of a turn that is longer than 100 characters."""
    if len(text.strip()) <= LEAST_FINDING:
        return []
    for sentence in sentences:
        if _FINDING.search(sentence) and not sentence.rstrip().endswith("?"):
            return [Draft(FINDING, text=statement(f"Agent finding: {sentence}"), confidence=0.7)]
    return []


def _favourite(clause: str, speaker: Subject) -> list[Draft]:
    if liked := _IS_LIKED.match(clause):
        value = trimmed(liked[1])
        text = statement(f"{possessive(speaker.said)} favourite is", retold(value))
        return [] if is_vague(value) else [Draft(LIKING, "likes", value, label="likes", target_type="topic", text=text)]
    match = _FAVOURITE.match(clause)
    if match:
        thing, value = match[1], trimmed(match[2])
    elif found := _IS_FAVOURITE.match(clause):
        value, thing = trimmed(found[1]), trimmed(found[2])
    else:
        return []
    attribute = re.sub(r"[^a-z0-9]+", "_", normal(thing)).strip("_")[:48]
    value = value.strip('"')
    if not attribute or is_vague(value) or is_vague(thing) or len(attribute.split("_")) > 3 or value[:1] in "'":
        return []
    text = statement(f"{possessive(speaker.said)} favourite {thing} is", retold(value))
    return [Draft(LIKING, f"favourite_{attribute}", value, single=True, label="likes", target_type="topic", text=text)]


def _particular(clause: str, speaker: Subject) -> list[Draft]:
    match = _PARTICULAR.match(clause)
    if match is None:
        return []
    word = " ".join(match[1].casefold().split())
    attribute, single = _PARTICULARS[word]
    value = trimmed(match[2])
    if (
        is_vague(value)
        or len(value.split()) > 6
        or re.match(r"(?:\w+ing|coming|soon|great|awesome|so|too|getting)\b", value)
    ):
        return []
    if attribute == "named" and not value[:1].isupper():
        return []
    rank = IDENTITY if attribute in ("named", "birthday") else TRADE if attribute in ("job", "works_at") else TRAIT
    rank = HEALTH._replace(importance=0.8) if attribute == "blood_type" else rank
    label = attribute if attribute in ("comes_from", "works_at") else ""
    text = statement(f"{possessive(speaker.said)} {word} is", retold(value))
    return [Draft(rank, attribute, value, single=single, label=label, text=text)]


def _called(clause: str, speaker: Subject) -> list[Draft]:
    match = _CALL_ME.match(clause)
    if match is None:
        return []
    text = statement(f"{speaker.said} wants to be called {match[1]}")
    return [Draft(IDENTITY, "called", match[1], single=True, text=text)]


def _context(clause: str, speaker: Subject) -> list[Draft]:
    match = _CONTEXT.match(clause)
    if match is None or TO_SOMEBODY.search(clause):
        return []
    if not re.search(r"[A-Z][\w+#.-]|`|_|\d", match[2]) or re.match(
        r"(?:\w+ing|so|very|really|not|a\s+bit)\b", match[2]
    ):
        return []
    kind = clause[: match.start(2)].strip()
    own = re.sub(r"\A(?:my|our|the)\s+", "", kind, flags=re.IGNORECASE)
    text = statement(f"{possessive(speaker.said)} {own}", retold(match[2]))
    category = (
        "technical" if match[1].casefold() in ("stack", "database", "backend", "frontend", "server") else "project"
    )
    return [Draft(WORK._replace(category=category), text=text, confidence=0.8)]


def _care(clause: str, asks: str) -> list[Draft]:
    match = _CARE.match(clause)
    if match is None or _is_cheer(match["rest"]):
        return []
    link, rest = match["link"].casefold(), match["rest"].strip()
    first = rest.split()[0].casefold() if rest.split() else ""
    if link in ("that", ",", ":") or first not in ORDERS:
        return []
    how = "not to forget to" if "forget" in match["how"].casefold() else "to"
    return [Draft(INSTRUCTION, text=statement(f"{asks} {how} {retold(rest)}"), confidence=0.85)]


def reminder(clause: str) -> str:
    """Give what somebody wants to be remembered, "my pass expires in May", where it is about himself; else nothing."""
    match = _CARE.match(clause)
    if match is None or match["link"].casefold() not in ("that", ",", ":") or match["how"].casefold() == "make sure":
        return ""
    rest = match["rest"].strip()
    return rest if _ABOUT_SELF.search(rest) and not TO_SOMEBODY.search(rest) else ""


def reminded(rest: str, speaker: Subject) -> Draft:
    """Make a statement of a reminder that is no clause of a known kind."""
    own = rest[:3].casefold() in ("my ", "our")
    told = (
        f"{possessive(speaker.said)} {retold(rest[3:])}" if own else f"{speaker.said} asks to remember: {retold(rest)}"
    )
    return Draft(REMEMBERED, text=statement(told))


def _is_cheer(rest: str) -> bool:
    """Tell encouragement from an instruction: it is about the one who is spoken to."""
    return (
        re.search(
            r"\b(?:yourself|your\s+(?:dreams?|heart|best|health|goals?|head|passion)|fun|enjoy|"
            r"dreaming|believing|trying|pushing|smiling|going)\b|\A(?:up|it|going)\b",
            rest,
            re.IGNORECASE,
        )
        is not None
    )


def topics_of(text: str) -> tuple[str, ...]:
    """List the themes of a statement, at most four."""
    return themes_of(text)[:4]
