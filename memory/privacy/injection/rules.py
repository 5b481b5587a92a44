"""What a rule for injected phrases is, and the rules for the ten standard kinds in English."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final


class Level(IntEnum):
    """How much is taken for an injection; each level holds those before it."""

    STANDARD = 1
    STRICT = 2
    PARANOID = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern of one kind.

    `hints` are lower-case parts of which a text must hold one. `unless` is searched in what stands right before a
    find, and speaks against it. A rule that `widens` brings the sure forms of a graver level's kind down to its own,
    and names nothing where that kind is found as well. `latin` says that it reads look-alike letters as Latin ones.
    """

    kind: str
    level: Level
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    unless: re.Pattern[str] | None = None
    widens: bool = False
    latin: bool = True


# Between two words: spaces, line ends and the marks of emphasis or quoting, as many as there are.
GAP: Final = r"[\s\-_.,*\"'`~|/+\\:;^]++"


def words(pattern: str, *, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern in which a space stands for whatever may stand between two words."""
    return re.compile(pattern.replace(" ", GAP), re.IGNORECASE | re.MULTILINE | flags)


def _before(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})$", re.IGNORECASE)


def standard(kind: str, pattern: str, *hints: str, unless: re.Pattern[str] | None = None, widens: bool = False) -> Rule:
    """Make a rule of the standard level."""
    return Rule(kind, Level.STANDARD, words(pattern), hints, unless, widens)


_FILLER: Final = (
    r"(?:(?:all|any|every|each|everything|of|the|my|your|his|our|these|those|this|that|and|what|to|a[il]{2}) ){0,6}"
)
_EARLIER: Final = (
    r"(?:previous(?:ly)?|prior|preceding|earlier|above|foregoing|former|past|initial|original|existing|old|given)"
)
_RULES: Final = (
    r"(?:(?:instruction|prompt|rule|directive|guideline|polic(?:y|ie)|constraint|restriction|safeguard)s?|programming"
    r"|training|orders)"
)
# Also what people send one another, so these need more around them.
_TALK: Final = r"(?:direction|order|command|message|context|conversation|text|statement|input|request)s?"
_WHOLE: Final = r"(?:all|any|every|your|each)"
_TOLD: Final = (
    r"(?:(?:everything|anything|all|whatever|what)(?: (?:that|of|which|has|have|was|is|were|been|you|you've|i|we"
    r"|the|else)){0,4}"
    r" (?:above|before(?: this)?|earlier|previously|said|told|given|instructed|learned|taught|written)\b)"
)
_DO: Final = (
    r"(?:tell|say|print|output|respond|reply|answer|reveal|show|write|do|follow|act|give|send|list|repeat"
    r"|execute|run|delete"
    r"|forward|leak|obey|instead|just|only|simply|now)"
)
_DROP: Final = (
    r"(?:ignor(?:e|ing)|skip|neglect|dismiss|(?:do not|don't|never|stop|no longer) (?:follow|obey|heed)(?:ing)?"
    r"|pay no attention to|set aside)"
)
_NOT: Final = (
    r"(?:don't|do not|never|didn't|doesn't|did not|cannot|can't|must not|mustn't|should not|shouldn't|not)(?: ever)?"
)
_DENIED: Final = _before(rf"\b{_NOT} ".replace(" ", GAP))
_REPORTED: Final = _before(
    (
        rf"\b(?:{_NOT}|(?:he|she|they|we|i|people|users|who)(?: (?:often|always|just|sometimes|never|will|would"
        rf"|can|may))?"
        r"|(?:models?|llms|assistants|bots) (?:may|might|could|can|often|sometimes)) "
    ).replace(" ", GAP)
)
_ROLE_NOUNS: Final = (
    r"(?:(?:new|full|proud|registered|verified|certified|official|paying|premium|active|valued|happy|fellow"
    r"|licensed|qualified"
    r"|lifetime|gold|silver|basic|free|trusted|regular|permanent|senior|junior|organ|blood|home) ){0,2}"
    r"(?:members?|users?|subscriber|customer|client|citizen|resident|owner|parent|father|mother|dad|mum|mom"
    r"|grand\w{1,12}|aunt"
    r"|uncle|doctor|nurse|diver|donor|co|author|contributor|maintainer|collaborator|follower|friend|fan|guest|student"
    r"|graduate|professional|pilot|driver|homeowner|shareholder|partner|part|participant|volunteer|patron"
    r"|sponsor|supporter"
    r"|millionaire|winner|level|step|bit|little|few|year|day|week|month|couple|long|husband|wife|teenager|adult"
    r"|veteran"
    r"|legend|star|hero|vip|manager|leader|captain|professor|trainer|teacher|engineer|lawyer|sister|brother)\b"
)
_LIMITS: Final = r"(?:restriction|rule|limit|filter|constraint|polic|guideline|instruction|censor|chain|boundar)"
_NOW: Final = (
    rf"\byou(?: are|'re|re) (?-i:now|NOW|Now) (?:an?\b(?! {_ROLE_NOUNS})"
    r"|(?:called|named|renamed)\b|dan\b|(?:jailbroken|unrestricted|unfiltered|uncensored|unchained|liberated"
    r"|evil|amoral)\b"
    r"|(?:in|entering|running in|operating in) (?:developer|debug|god|admin|root|sudo|jailbreak|unrestricted|dan"
    r"|evil)\b"
    rf"|(?:\w{{1,12}} )?(?:free|freed|released|liberated|unbound|exempt) (?:from|of) (?:\w{{1,12}} ){{0,3}}{_LIMITS}"
    r"|(?:the|my|our) (?:\w{1,12} )?(?:administrator|admin|root|hacker|attacker|assistant|slave|servant|operator"
    r"|villain|shell)\b"
    rf"|(?:operating|working|acting|running|speaking|responding|answering) (?:without|with no|outside)\b"
    r"|going to (?:act|pretend|be|behave|respond|answer|play|simulate)\b"
    r"|\w{0,20}(?:gpt|bot)\b)"
    # A name in capitals after small letters; a shout is all capitals.
    r"|\byou(?: are|'re) (?-i:now )(?!VIP|CEO|CTO|CFO|COO|LIVE|ONLINE|OFFLINE|READY|HERE|PRO\b)(?-i:[A-Z]{3,12})\b"
)
_MODIFIED: Final = re.compile(
    r"(?:\b(?:operating|file|immune|heating|solar|metric|sound|school|eco|nervous|the|a|an|our|your|my|this|each"
    r"|every|any|new"
    r"|security|alarm|legal|political|health|payment|cooling|water|tax|banking|power|brake)\s*|[\w-])$",
    re.IGNORECASE,
)
_COMMAND: Final = (
    r"(?:you (?:are|must|should|will|shall|have to)|your (?:new|only|next|true|real|task|goal|mission|role)\b"
    r"|(?:please )?(?:ignore|disregard|forget|obey (?:me|my|the|all)|reveal|leak|pretend|override|bypass|exfiltrate"
    r"|act as|from now on"
    r"|follow (?:the|these|my|only)|new (?:instruction|order|task|rule)s?|(?:never|always|do not"
    r"|don't) (?:\w{1,12} )?"
    r"(?:refuse|reveal|answer|tell|obey|follow|mention)|answer (?:only|all|every)|respond (?:only|with)"
    r"|(?:forward|send|print|output|delete|show) (?:all|every|me|your)|grant (?:all|full|me|access)"
    r"|enable (?:developer|all|admin)))\b"
)
_SYSTEM: Final = (
    rf"\bsystem(?: (?:prompt|message|override|note|notice|alert|instructions?|command|update|directive|admin))?"
    rf"(?:\s*+[:=>]++\s*+|\s++-++\s*+){_COMMAND}"
    r"|\b(?:developer|admin|administrator|root)(?: (?:message|note|override|mode))?\s*+:\s*+you (?:must|shall"
    r"|have to|are (?:now|to))\b"
    r"|\bassistant (?:instructions?|directives?|prompt|override)\s*+:\s*+you (?:are|must|should|will|shall|have to)\b"
)
_FORGOTTEN: Final = _before(
    (
        rf"\b(?:{_NOT}|(?:i|we|they|he|she|it|people|users|children|who|i'll|we'll|i'd)(?: (?:\w{{1,10}}))?"
        r"|(?:made|make|makes|making|let|lets) (?:\w{1,12} ){0,2}\w{1,12}|(?<!you\s)to|easily|quickly|almost) "
    ).replace(" ", GAP)
)
# "Forget everything you know about rice."
_IDIOM: Final = (
    r"(?:know|knew|learned|heard|read|thought(?: you knew)?|think you know) about (?!your|the rules|safety|rules"
    r"|instructions|system|prompt"
    r"|policies|being|who)"
)
_GIVEN: Final = _before(
    r"\b(?:team|him|her|them|us|staff|crew|everyone|interns|got|received|left|wrote|sent|adds?|added|with|some"
    r"|few|of)\s{1,3}"
)
_CLAUSE: Final = (
    r"(?:(?:^|(?<=[.,:;!?\n\"'(\[>*#|~`-])|(?<=[.,:;!?>*#|-]\s))"
    r"|\b(?:please|must|should|now|then|just|kindly|instead|and|so|always|to you|you to"
    r"|you (?:can|will|must|should|may|shall|have to|are to|need to)) )"
)
_BOX: Final = (
    r"(?:memor(?:y|ies)|context|documents?|data|user_input|input|text|content|tool_(?:result|output|response)"
    r"|results?"
    r"|search_results|retrieved|knowledge|history|conversation|prompt|instructions|system|user|assistant|notes?"
    r"|untrusted\w{0,20}|quote|source|passage|snippet|chunk)"
)
_SPEAKER: Final = (
    r"(?:[\[<(]\s*+/?(?:system|assistant|developer|admin(?:istrator)?)(?:[\x20_](?:prompt|message))?\s*+[\]>)]"
    r"|(?:system|assistant|developer|admin(?:istrator)?)(?:[\x20_](?:prompt|message))?\s*+:)"
)
_TURN: Final = (
    r"(?:system|user|assistant|developer|tool\w{0,16}|im_\w{1,10}|end\w{0,24}|start\w{0,24}|begin\w{0,24}"
    r"|eo[tms]\w{0,12}|channel"
    r"|message|return|constrain|python_tag|fim_\w{1,10}|sep|\w{1,24}_token)"
)

ENGLISH: Final[tuple[Rule, ...]] = (
    standard(
        "ignore_previous",
        rf"\b{_DROP} (?:{_FILLER}{_EARLIER} (?:\w{{1,16}} ){{0,2}}?{_RULES}\b"
        rf"|{_FILLER}{_RULES} (?:above|before|given|so far|you (?:were|have|had|got))\b"
        rf"|(?:{_WHOLE} |of |the |my |these ){{0,4}}{_WHOLE} (?:\w{{1,12}} ){{0,3}}?"
        rf"{_EARLIER} (?:\w{{1,12}} )?{_TALK}\b"
        rf"|(?:all |any |every |of ){{0,3}}(?:of )?your (?:\w{{1,12}} ){{0,2}}?{_RULES}\b"
        rf"|the above (?:conversation|context|text|prompt)s?\b|{_TOLD}"
        rf"|(?:the|all) (?:of the )?above(?: and)? {_DO}\b)",
        "ignor", "skip", "neglect", "dismiss", "follow", "obey", "heed", "attention", "aside",
        unless=_REPORTED,
    ),
    standard(
        "ignore_previous",
        rf"\bdisregard(?:ing)? (?:{_FILLER}{_EARLIER} (?:\w{{1,16}} ){{0,2}}?{_RULES}\b"
        rf"|{_FILLER}{_RULES} (?:above|before|given)\b|(?:all |any |of ){{0,3}}your (?:\w{{1,12}} ){{0,2}}?{_RULES}\b"
        rf"|(?:the|all) (?:of the )?above(?: and)? {_DO}\b|{_TOLD})",
        "disregard",
        unless=_REPORTED,
        widens=True,
    ),
    standard("you_are_now", _NOW, "now"),
    standard("system_prefix", _SYSTEM, "system", "developer", "admin", "root", "assistant", unless=_MODIFIED),
    standard(
        "forget_everything",
        rf"\b(?:forget|erase|unlearn) (?:(?:everything|all)(?: (?:that|of|the|your))? (?:you\b(?! {_IDIOM})"
        rf"|about|above|before|{_EARLIER}|{_RULES})\b"
        rf"|{_TOLD}|{_FILLER}{_EARLIER} {_RULES}\b|(?:about )?(?:all )?(?:of )?your (?:\w{{1,12}} )?{_RULES}\b)",
        "forget", "erase", "unlearn",
        unless=_FORGOTTEN,
    ),
    standard(
        "new_instructions",
        r"\b(?:new|updated|revised|real|actual|true|changed) (?:system |secret )?instructions?(?:\s++(?:are|is"
        r"|follow))?\s*+:",
        "instruction",
        unless=_GIVEN,
    ),
    standard(
        "override",
        rf"\boverrid(?:e|ing) (?:(?:the|all|any|its|every) ){{0,3}}(?:safety\b(?! (?:interlock|valve|belt|catch"
        rf"|switch))"
        r"|system\b(?! (?:default|font|locale|time|theme|language|path|dns|proxy|python|package|colou?r|volume"
        r"|cert|trust|dark"
        r"|wide|librar))"
        rf"|your (?:\w{{1,12}} ){{0,2}}?(?:{_RULES}|safety|system|ethic|protocol|limit|filter|core|moral|censor))",
        "overrid",
        unless=_DENIED,
    ),
    standard(
        "bypass",
        rf"\b(?:bypass(?:ing)?|circumvent(?:ing)?) {_FILLER}(?:safety|content\b(?! (?:deliver|cach|hash|negotia"
        rf"|type|length|download))"
        r"|guard(?! (?:house|dog|tower|post|hut)|(?:house|dog))|(?:safety|content|moderation|output|input"
        r"|language) filter)[a-z]{0,16}"
        r"|\b(?:bypass(?:ing)?|circumvent(?:ing)?) (?:(?:all|any|your|my|every|these|of|the) ){0,3}(?:all|any"
        r"|your|every|these) filter"
        r"|\b(?:turn(?:ing)? off|disabl(?:e|ing)|deactivat(?:e|ing)|switch(?:ing)? off|remov(?:e|ing)|drop|lift)"
        r" (?:(?:all|any|the|of|your|its) ){0,3}(?:safety|content|moderation|ethic\w{0,4}|guard)"
        r"(?: )?(?:filter|guard|rail|polic|protocol|restriction|moderation|measure|control)",
        "bypass", "circumvent", "turn", "disabl", "deactivat", "switch", "remov", "drop", "lift",
        unless=_DENIED,
    ),
    standard(
        "pretend",
        rf"{_CLAUSE}\s*+(?:pretend (?:that )?(?:you(?: are| were| have| can|'re)\b|to be\b)"
        r"|imagine (?:that )?you(?: are| were|'re) (?:\w{1,12} ){0,3}?(?:ai|model|chatbot|bot|dan|hacker"
        r"|unrestricted|jailbroken)\b)",
        "pretend", "imagine",
    ),
    standard(
        "closing_brackets",
        rf"(?:\]\]>?|\}}\}}|\}}\]|</{_BOX}>"
        rf"|\bend of (?:the |user |all ){{0,2}}(?:memory|memories|context|data|documents?|input|prompt|notes?"
        rf"|text|conversation)\b[\s=*#-]*+)"
        rf"\s*+{_SPEAKER}",
        "]]", "}}", "}]", "</", "end of",
    ),
    standard(
        "system_tag",
        rf"<\s*+\|\s*+/?{_TURN}\s*+\|\s*+>|</?(?:start_of_turn|end_of_turn)>|<<\s*+/?sys\s*+>>"
        r"|\[/?(?:system_prompt|available_tools|tool_calls|tool_results)\]|</?s>\s*+(?:<s>\s*+)?\[/?inst\]",
        "<", "[",
    ),
)  # fmt: skip
