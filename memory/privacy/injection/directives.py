"""The rules of the two graver levels: eight kinds of disguised roles and directives, five of active content."""

from __future__ import annotations

from typing import Final

from memory.privacy.injection.rules import Level, Rule, words

_ROLE: Final = r"(?:system(?:[\x20_](?:prompt|message))?|assistant|user|human|developer|tool|instructions?|admin)"
_EARLIER: Final = r"(?:previous|prior|preceding|earlier|above|foregoing|former|past)"
_ORDERS: Final = (
    r"(?:(?:instruction|prompt|rule|direction|directive|guideline|order|command|message|context|conversation)s?"
    r"|polic(?:y|ies))"
)
_FILLER: Final = r"(?:(?:all|any|every|of|the|my|your|his|our|these|those|this|that|and|what|system|safety) ){0,5}"


def _strict(kind: str, pattern: str, *hints: str) -> Rule:
    return Rule(kind, Level.STRICT, words(pattern), hints)


def _paranoid(kind: str, pattern: str, *hints: str) -> Rule:
    return Rule(kind, Level.PARANOID, words(pattern), hints)


STRICT: Final[tuple[Rule, ...]] = (
    _strict("heading_role", rf"^[\t\x20]{{0,3}}\#{{1,6}}[\t\x20]*+{_ROLE}\b[\t\x20]*+:?", "#"),
    _strict(
        "bold_role",
        rf"(?:\*{{2,3}}|__)[\t\x20]*+{_ROLE}[\t\x20]*+:?[\t\x20]*+(?:\*{{2,3}}|__)[\t\x20]*+:?",
        "**", "__",
    ),
    _strict("fence_role", rf"(?:```|~~~)[\t\x20]*+{_ROLE}\b", "```", "~~~"),
    _strict(
        "rule_role",
        r"^[\t\x20]{0,3}(?:-{3,}+|\*{3,}+|_{3,}+|={3,}+|(?:\*\x20){2,8}\*|(?:-\x20){2,8}-)[\t\x20]*+"
        rf"\n\s*+{_ROLE}\b[\t\x20]*+:?",
        "\n",
    ),
    _strict("bracket_role", rf"[\[<]\s*+/?(?:{_ROLE}|inst|sys)\s*+[\]>]", "[", "<"),
    _strict("act_as", r"\bact(?:ing)? (?:as|like)\b", "act"),
    _strict(
        "from_now_on",
        r"\b(?:from (?:now|here|this (?:moment|point|message)|today) on(?:wards?)?|henceforth|going forward) "
        r"(?:you|your|ignore|always|never|respond|answer|only|do not|don't|speak|act|reply|obey|the assistant)\b",
        "from", "henceforth", "forward",
    ),
    _strict(
        "disregard",
        rf"\bdisregard(?:ing)? (?:{_FILLER}(?:{_EARLIER}|{_ORDERS})\b|(?:everything|anything|what|whatever)\b)",
        "disregard",
    ),
)  # fmt: skip

PARANOID: Final[tuple[Rule, ...]] = (
    _paranoid("data_uri", r"\bdata:[\w.+-]{0,40}/?[\w.+-]{0,60}(?:;[\w=-]{1,40}){0,4},[^\s\"'<>)]*+", "data:"),
    _paranoid(
        "url",
        r"\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"')\]]++|\b(?:javascript|mailto|vbscript):[^\s<>\"']*+",
        "://", "www.", "javascript:", "mailto:", "vbscript:",
    ),
    _paranoid(
        "html_tag",
        r"<!--(?:(?!<!--|-->)[\s\S]){0,2000}(?:-->)?|</?[a-z][^<>]{0,500}>|&lt;/?[a-z][^<>&]{0,200}(?:&gt;)?",
        "<", "&lt;",
    ),
    _paranoid("base64", r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+={0,2}(?![A-Za-z0-9+/=])", ""),
    # The fence comes last since its pattern is only the edge; the block between two of them is found by pairing.
    _paranoid("code_block", r"`{3,}+|~{3,}+", "```", "~~~"),
)  # fmt: skip
