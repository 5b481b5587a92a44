"""Words that count in names: numbers in words, opposites, titles, legal forms, and short forms of first names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _numbered(words: str, first: int = 1) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


NUMBERS: Final[Mapping[str, int]] = {
    **_numbered(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty",
        0,
    ),
    **_numbered("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"),
    **{word: 10 * number for word, number in _numbered("thirty forty fifty sixty seventy eighty ninety", 3).items()},
}
ROMAN: Final[Mapping[str, int]] = _numbered("i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx")
MONTHS: Final[Mapping[str, int]] = {
    **_numbered("january february march april may june july august september october november december"),
    **_numbered("jan feb mar apr may jun jul aug sep oct nov dec"),
    "sept": 9,
}
WEEKDAYS: Final[Mapping[str, int]] = _numbered("monday tuesday wednesday thursday friday saturday sunday")

OPPOSITES: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(words.split())
    for words in (
        "north south east west northeast northwest southeast southwest central northern southern eastern western",
        "upper lower middle",
        "inner outer",
        "left right",
        "front back rear",
        "old new former",
        "pre post",
        "junior jr senior sr",
        "elder younger",
        "big small large little mini max min",
        "internal external",
        "public private",
        "input output",
        "import export imports exports",
        "incoming outgoing inbound outbound",
        "spring summer autumn fall winter",
        "morning afternoon evening night",
        "daily weekly monthly quarterly yearly annual hourly",
        "mother father sister brother son daughter aunt uncle wife husband",
        "red green blue yellow black white grey gray orange purple pink brown",
        "alpha beta gamma delta epsilon omega",
        "dev development test testing staging prod production live",
        "client server",
        "read write",
        "source target",
        "male female men women boys girls",
        "before after",
        "open closed",
        "draft final",
    )
)
"""Sets of words of which one name may hold one: names that hold others, or of which one alone does, differ."""

GENERATIONS: Final = frozenset({"junior", "senior", "elder", "younger"})
"""Of the words with an opposite, those that count in the name of a person, who may be called Brown or West."""

SAME_WORD: Final[Mapping[str, str]] = {
    "jr": "junior",
    "jnr": "junior",
    "sr": "senior",
    "snr": "senior",
    "&": "and",
    "st": "saint",
    "mt": "mount",
    "dept": "department",
    "univ": "university",
    "no": "number",
    "intl": "international",
    "bros": "brothers",
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
    "grey": "gray",
    "prod": "production",
    "dev": "development",
    "fall": "autumn",
}
"""Short forms of words that are no names of people; single letters only count where they lead a place's name."""

TITLES: Final[Mapping[str, str]] = {
    "dr": "",
    "doctor": "",
    "prof": "",
    "professor": "",
    "sir": "m",
    "lord": "m",
    "mr": "m",
    "mister": "m",
    "mrs": "f",
    "ms": "f",
    "miss": "f",
    "madam": "f",
    "lady": "f",
    "dame": "f",
    "herr": "m",
    "frau": "f",
    "monsieur": "m",
    "madame": "f",
    "señor": "m",
    "senor": "m",
    "señora": "f",
    "senora": "f",
    "capt": "",
    "captain": "",
    "rev": "",
    "reverend": "",
}
"""Titles before the name of a person, with the sex that they tell where they do."""

_LEGAL_FORMS: Final = """
    inc incorporated ltd limited llc llp plc corp corporation co company gmbh ag sa sas srl spa bv nv oy ab as kk pty
    kg ug se
"""
LEGAL_FORMS: Final[frozenset[str]] = frozenset(_LEGAL_FORMS.split())
ARTICLES: Final[frozenset[str]] = frozenset({"the", "a", "an"})
FILLERS: Final[frozenset[str]] = frozenset({"of", "for", "and", "in", "on", "at", "de", "du", "la", "le", "der", "von"})

_SHORT: Final = """
    robert bob rob bobby robbie bert; william bill will billy liam willie; richard rick dick ricky rich;
    james jim jimmy jamie; john johnny jack jon; joseph joe joey; thomas tom tommy; michael mike mick mickey;
    charles charlie chuck; edward ed eddie ted ned; elizabeth liz beth betty eliza lizzie lisa; margaret maggie meg
    peggy greta; katherine catherine kate katie kathy cathy kat; alexander alex sasha xander; alexandra alex sasha
    sandra; samuel sam sammy; samantha sam; benjamin ben benny; daniel dan danny; david dave davey; anthony tony;
    andrew andy drew; matthew matt; christopher chris kit; christina chris tina; nicholas nick nicky; patrick pat
    paddy; patricia pat patty trish; susan sue susie; deborah deb debbie; jennifer jen jenny; jessica jess jessie;
    rebecca becky becca; stephen steven steve; timothy tim; gregory greg; jeffrey jeff; kenneth ken kenny; lawrence
    larry; leonard len lenny leo; raymond ray; ronald ron ronnie; theodore ted theo; victoria vicky tori; abigail
    abby; alfred alf fred; frederick fred freddy; albert al bert; alan al; gabriel gabe; george georgie; henry harry
    hank; jacob jake; joshua josh; nathaniel nate nathan; peter pete; philip phil; vincent vince; zachary zach;
    barbara barb babs; caroline carrie; cynthia cindy; dorothy dot dottie; eleanor nell ellie; emily em emmy; florence
    flo; isabella bella izzy; jacqueline jackie; josephine jo josie; judith judy; madeline maddie; natalie nat; olivia
    liv; pamela pam; penelope penny; sarah sally; teresa terry tess; valerie val; johannes hans; friedrich fritz;
    francisco paco pancho; jose pepe; maria mary marie; ivan vanya; dmitri dima mitya; mikhail misha; natalia natasha
"""
SHORT_FORMS: Final[tuple[frozenset[str], ...]] = tuple(frozenset(group.split()) for group in _SHORT.split(";"))
"""First names with their short forms; a name may stand in several groups, and is one person in none of them alone."""


def short_forms_of(name: str) -> frozenset[str]:
    """Give the first names that may stand for this one, without itself."""
    return frozenset().union(*(group for group in SHORT_FORMS if name in group)) - {name}
