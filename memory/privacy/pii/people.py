"""Finders of e-mail addresses, and of the names that the text itself announces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory.text.stopwords import word_set

Place = tuple[str, int, int]

# ASCII and letters of Latin, Greek and Cyrillic, so that Chinese or Japanese text around an address is no part of it.
LETTERS: Final = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u04ff"
CAPITALS: Final = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f\u0391-\u03a9\u0401\u0410-\u042f"
HAN: Final = "\u3400-\u9fff"
_LOCAL: Final = frozenset("0123456789._%+'-#$&*/=?^`{|}~!")
_LONGEST_LOCAL: Final = 64
_LABEL: Final = rf"[{LETTERS}0-9](?:[{LETTERS}0-9-]{{0,61}}[{LETTERS}0-9])?"
_DOMAIN = re.compile(
    rf"@(?:{_LABEL}\.){{1,8}}(?:[{LETTERS}]{{2,24}})(?![{LETTERS}])|@(?:{_LABEL}\.){{1,8}}xn--[A-Za-z0-9-]{{2,59}}"
)
_LETTER = re.compile(f"[{LETTERS}]")

_WORD: Final = rf"[{CAPITALS}][{LETTERS}'-]{{0,40}}"
_PARTICLES: Final = "van|von|der|den|de|da|do|dos|del|della|di|la|le|ten|bin|al"
_FULL_NAME: Final = rf"{_WORD}(?:\s(?:(?:{_PARTICLES})\s){{0,2}}{_WORD}){{0,3}}"
_NAME = re.compile(
    r"(?<![a-z])(?:my\s{1,2}(?:(?:full|first|last|given|middle|maiden|family|real)\s|sur|nick)?name(?:\s{1,2}is|'s|:)"
    r"|mein\sname\s(?:ist|lautet)|ich\shei(?:ß|ss)e|me\sllamo|mi\snombre\ses|je\sm'appelle|mon\snom\sest"
    r"|mi\schiamo|il\smio\snome\sè|me\schamo|meu\snome\sé|ik\sheet|mijn\snaam\sis|nazywam\ssię|mam\sna\simię"
    r"|jag\sheter|mitt\snamn\sär|меня\sзовут|мо[её]\sимя)\s{0,2}[:\s]\s{0,2}",
    re.IGNORECASE,
)
# These go on in many other ways, so the name has to be written with a capital.
_CALLED = re.compile(
    r"(?<![A-Za-z])(?i:(?:they|people|friends|everyone|everybody|please|just|can|you)\s(?:all\s|usually\s|can\s)?calls?"
    r"\sme|i(?:'m|\sam)\scalled)\s"
)
_LABELLED = re.compile(
    rf"(?:(?<![A-Za-z])(?i:full|first|last|given|family|patient|customer|contact)[\s_]?(?i:name)[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?"
    rf"(?={_WORD})|(?:^|(?<=[\n{{,;|\"(]))\s{{0,2}}[\"']?(?i:name)[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?(?={_WORD}\s{_WORD}))"
)
_NAME_VALUE = re.compile(_FULL_NAME)
# A name in small letters ends its clause; a word inside of one is a sentence going on.
_SMALL_NAME = re.compile(
    rf"[{LETTERS}][{LETTERS}'-]{{0,40}}(?:\s[{LETTERS}][{LETTERS}'-]{{0,40}})?"
    r"(?=\s{0,2}(?:[.,;:!?)\]}\"\n]|$)|\s(?:and|und|y|et|e|en|i|и|from|but)\s)"
)
_NOT_A_NAME: Final[frozenset[str]] = word_set(
    "a about actually all already also always an and as at because being but called common correct difficult easy "
    "for from hard here how in incorrect irrelevant it just kind known listed long missing mentioned misspelled "
    "mud my no not now of often on only or part pronounced quite rather really secret short so spelled spelt "
    "still taken that the there this to too unusual usually very what when which who with written wrong your "
    "important hidden private unknown empty required optional unique auf bekannt dich euch geheim sie willkommen "
    "hier da egal falsch lang kurz muy común raro secreto souvent long court rare connu comune strano comum longo "
    "nie nicht nur неважно важно как так bekend lang "
)

# Family names that begin most Chinese names; "I call" is the same word as "I am called".
_FAMILY_NAMES: Final = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪"
    "田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文張劉陳楊趙黃吳孫馬羅鄭謝韓馮鄧許"
)
_HAN_NAME = re.compile(
    rf"我(?:的名字)?叫([{_FAMILY_NAMES}][{HAN}]{{1,3}})(?![{HAN}])|我的(?:名字|姓名)(?:是|叫|为)\s?([{HAN}]{{2,4}}|{_FULL_NAME})"
    r"|(?:姓名|名前)\s?:\s?([\u3041-\u30ff\u3400-\u9fff]{2,8})"
    r"|(?:私|僕|わたし)の名前は\s?([\u30a1-\u30ff\u3400-\u9fff]{2,8})"
)


def find_emails(text: str) -> Iterator[Place]:
    """Find e-mail addresses from their `@`, backwards and forwards; at most 64 characters stand before it."""
    at, taken = text.find("@"), 0
    while at != -1:
        domain = _DOMAIN.match(text, at)
        if domain:
            start = _local_start(text, at, taken)
            if start < at:
                taken = domain.end()
                yield "email", start, taken
        at = text.find("@", at + 1)


def _local_start(text: str, at: int, lowest: int) -> int:
    start = at
    while start > max(lowest, at - _LONGEST_LOCAL) and (text[start - 1] in _LOCAL or _LETTER.match(text[start - 1])):
        start -= 1
    while start < at and not text[start].isalnum():
        start += 1
    return start


def find_names(text: str) -> Iterator[Place]:
    """Find the name after "my name is" and its like in other languages; only the name is the place."""
    for announced in _NAME.finditer(text):
        start = announced.end()
        value = _NAME_VALUE.match(text, start) or _SMALL_NAME.match(text, start)
        if value and _first_word(value.group()) not in _NOT_A_NAME:
            yield "person_name", start, value.end()
    for pattern in (_CALLED, _LABELLED):
        for announced in pattern.finditer(text):
            value = _NAME_VALUE.match(text, announced.end())
            if value and _first_word(value.group()) not in _NOT_A_NAME:
                yield "person_name", value.start(), value.end()


def find_names_in_han(text: str) -> Iterator[Place]:
    """Find the names that Chinese and Japanese sentences announce."""
    for match in _HAN_NAME.finditer(text):
        group = match.lastindex or 0
        yield "person_name", match.start(group), match.end(group)


def _first_word(value: str) -> str:
    return value.split(maxsplit=1)[0].casefold()
