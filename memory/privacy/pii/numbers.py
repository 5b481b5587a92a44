"""Finders of numbers: SSN, payment cards, IBAN, phone numbers, IPv4 addresses, official documents.

Every finder takes the folded text and yields places in it. Each repetition is bounded, or begins only where the run of
characters begins, so that the cost is linear whatever the text holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory.privacy.pii.checks import IBAN_LENGTHS, is_card, is_iban, is_ssn

Place = tuple[str, int, int]

_SSN = re.compile(r"(?<![0-9])(?<![0-9][-.])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![0-9])(?![-.][0-9])")
_SSN_LABELLED = re.compile(
    r"(?<![a-z])(?:ssn|social[\s_-]security(?:[\s_-](?:number|no\.?|num|#))?)(?:[\s:=#\"',]|is|was|num|number){0,8}"
    r"([0-9]{3}[ .-]?[0-9]{2}[ .-]?[0-9]{4})(?![0-9])",
    re.IGNORECASE,
)
# What follows a plus is a phone number, and what letters of hexadecimal digits touch is part of a longer number.
_DIGIT_GROUPS = re.compile(r"(?<![+0-9])[0-9]+(?:[ .-][0-9]+)*")
_HEXADECIMAL: Final = frozenset("abcdefABCDEFxX")
_GROUP = re.compile(r"[0-9]+")
_MOST_CARD_DIGITS: Final = 19
_LEAST_CARD_DIGITS: Final = 13

_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ -]?[A-Za-z0-9])")
_IBAN_BODY = re.compile(r"[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,30}")
_LONGEST_IBAN: Final = 34 * 2

_PHONE_US = re.compile(
    r"(?<![0-9+])(?<![0-9][-. ])(?:1[ .-]?)?(?:\([2-9][0-9]{2}\)[ .-]?|[2-9][0-9]{2}[ .-])"
    r"[0-9]{3}[ .-][0-9]{4}(?![0-9])(?![-.][0-9])"
)
_PHONE_LABELLED = re.compile(
    r"(?<![a-zà-ÿ])(?:(?:phone|mobile|cell|telephone|tel|fax|whatsapp|contact|handy|telefon|mobil|rufnummer|téléphone|portable"
    r"|móvil|teléfono|cellulare|telefono|telefone|telemóvel|celular|телефон|тел|手机号?|手機|电话|電話)"
    r"|(?:call|text|ring|reach)\sme\s(?:at|on)|dial|(?:ruf|erreichst)\s(?:mich|du\smich)\s(?:unter|an)|appelle[rz]?[\s-]moi\sau"
    r"|(?:my|meine|mon|mi|mio|meu)\s(?:number|nummer|numéro|número|numero))"
    r"(?:[\s_-]{0,2}(?:number|nummer|no|me|num|号码|番号)(?![a-z]))?[\s.:=#\"',是は为]{0,4}"
    r"(?:(?:is|ist|lautet|est|es|è|é)[\s:]{1,2}(?:le\s|el\s|il\s|o\s)?|at\s|on\s|to\s)?"
    r"(\+?[0-9(](?:[ ().-]{0,2}[0-9]){6,14})(?![0-9])(?!\.[0-9]|-[0-9])",
    re.IGNORECASE,
)
_DECIMAL: Final = r"(?!\+[0-9]{1,3}\.[0-9]{3,7}(?![0-9.]))"
_PHONE_WORLD = re.compile(rf"(?<![0-9A-Za-z+]){_DECIMAL}\+\(?[1-9](?:[ ()./-]{{0,2}}[0-9]){{7,14}}(?![0-9])")
# The international prefix as it is dialled; without a space it could be any number.
_PHONE_DIALLED = re.compile(r"(?<![0-9A-Za-z.+-])00[1-9][0-9]{0,2}(?:[ /-][0-9]{2,5}){2,5}(?![0-9])(?![ .-][0-9])")

_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"(?<![0-9A-Za-z_.])(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9A-Za-z_])(?!\.[0-9]|-[A-Za-z])")
_VERSION = re.compile(
    r"(?:version|release|fassung|build|firmware|driver|assembly|section|chapter|kernel|revision|protocol|format|upgrade|bump"
    r"|update|versión|versione|версия|版本)s?(?:[\s:=v]|(?:from|to|auf|a|\w{1,16})\s){0,4}$"
    r"|(?:bump|upgrade|update|pin)[^.\n]{0,24}\s[0-9.]{5,15}\s(?:to|->)\s$",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"ip|ping|dns|server|host|address|adresse|resolver|ssh|@|/|curl|route|gateway|allow|block|login|from|client|connect"
    r"|upstream|proxy|listen|bind|peer|router|dirección|服务器|адрес|сервер",
    re.IGNORECASE,
)
_RESOLVERS: Final = frozenset({"1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9"})
_BEFORE: Final = 48
_SHORTEST_IPV4: Final = 7

_DOCUMENT = re.compile(
    r"(?<![a-zà-ÿ])(?:passport|driver'?s?[\s_]licen[cs]e|driving[\s_]licen[cs]e|national[\s_]id(?:entity)?|id(?:entity)?[\s_]card"
    r"|national[\s_]insurance|nhs|tax(?:payer)?[\s_]id|aadhaar|pan[\s_]card|(?:personal)?ausweis|reisepass|steuer-?id|führerschein"
    r"|sozialversicherungs|passeport|carte\s(?:nationale\s)?d'identité|permis\sde\sconduire|dni|nie|pasaporte|passaporto"
    r"|codice\sfiscale|carta\sd'identità|patente|cpf|nif|passaporte|pesel|bsn|paspoort|rijbewijs|паспорт|снилс|инн"
    r"|身份证|身分證|护照|マイナンバー)"
    r"(?:[\s_:=#.,\"'-]|card|id|number|num|no(?![a-z])|nummer|nr|n°|numéro|número|numero|de|is|was|ist|lautet|hat|die|est|es|è|é"
    r"|to|le|номер|серия|号码|号|號碼|是|は){1,10}"
    r"(?-i:([A-Z0-9](?:[ ./-]?[A-Z0-9]){4,24}|(?=[a-z0-9-]{0,12}[0-9])[a-z0-9-]{6,20}))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_LEAST_DOCUMENT_DIGITS: Final = 3
_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:[ ./-][0-9]{1,2}){0,2}|[0-9]{1,2}[./-][0-9]{1,2}[./-](?:19|20)?[0-9]{2}")


def find_ssn(text: str) -> Iterator[Place]:
    """Find social security numbers, hyphenated of any area, and labelled ones of nine valid digits."""
    for match in _SSN.finditer(text):
        yield "ssn", match.start(), match.end()
    for match in _SSN_LABELLED.finditer(text):
        digits = "".join(char for char in match.group(1) if char.isdigit())
        if is_ssn(digits):
            yield "ssn_digits", match.start(1), match.end(1)


def find_cards(text: str) -> Iterator[Place]:
    """Find payment cards of 13 to 19 digits, unbroken or in groups of three and more."""
    for run in _DIGIT_GROUPS.finditer(text):
        if run.end() - run.start() < _LEAST_CARD_DIGITS:
            continue
        if text[run.start() - 1 : run.start()] in _HEXADECIMAL or text[run.end() : run.end() + 1] in _HEXADECIMAL:
            continue
        groups = [(match.start(), match.end()) for match in _GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is None:
                first += 1
                continue
            yield "credit_card", groups[first][0], groups[last][1]
            first = last + 1


def _card_from(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """Give the last of the groups that make a card from the first one on, the longest card winning."""
    digits, found = "", None
    for index in range(first, len(groups)):
        start, end = groups[index]
        if end - start < 3 or len(digits) + end - start > _MOST_CARD_DIGITS:
            break
        digits += text[start:end]
        if is_card(digits):
            found = index
    return found


def find_ibans(text: str) -> Iterator[Place]:
    """Find IBANs in any grouping by single spaces or hyphens."""
    taken = 0
    for start in _IBAN_START.finditer(text):
        body = _IBAN_BODY.match(text, start.start(), start.start() + _LONGEST_IBAN)
        if start.start() < taken or body is None:
            continue
        taken = _iban_end(text, body.start(), body.end())
        if taken:
            yield "iban", start.start(), taken


def _iban_end(text: str, start: int, limit: int) -> int:
    """Give where the IBAN that begins at a place ends, or 0 when none does."""
    length = IBAN_LENGTHS.get(text[start : start + 2].upper())
    if length is None:
        return 0
    compact = ""
    for at in range(start, limit):
        if not text[at].isalnum():
            continue
        compact += text[at]
        if len(compact) == length:
            at_border = at + 1 == len(text) or not (text[at + 1].isascii() and text[at + 1].isalnum())
            return at + 1 if at_border and is_iban(compact) else 0
    return 0


def find_phones(text: str) -> Iterator[Place]:
    """Find phone numbers: US form, with a country code, or labelled as one."""
    for match in _PHONE_US.finditer(text):
        yield "phone_us", match.start(), match.end()
    if "+" in text:
        for match in _PHONE_WORLD.finditer(text):
            yield "phone_international", match.start(), match.end()
    for match in _PHONE_DIALLED.finditer(text):
        yield "phone_international", match.start(), match.end()
    for match in _PHONE_LABELLED.finditer(text):
        kind = "phone_international" if match.group(1).startswith("+") else "phone_us"
        yield kind, match.start(1), match.end(1)


def find_ip_addresses(text: str) -> Iterator[Place]:
    """Find IPv4 addresses: four parts of 0 to 255, not called a version.

    Of single digits only, they are taken for one where a network is spoken of.
    """
    for match in _IPV4.finditer(text):
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        if _VERSION.search(before):
            continue
        short = match.end() - match.start() == _SHORTEST_IPV4
        if short and match.group() not in _RESOLVERS and not _NETWORK.search(before):
            continue
        yield "ip_address", match.start(), match.end()


def find_documents(text: str) -> Iterator[Place]:
    """Find labelled numbers of official documents; a value with few digits is prose, and a date is a date."""
    for match in _DOCUMENT.finditer(text):
        value = _without_words(match.group(1))
        if sum(char.isdigit() for char in value) >= _LEAST_DOCUMENT_DIGITS and not _DATE.fullmatch(value):
            yield "government_id", match.start(1), match.start(1) + len(value)


def _without_words(value: str) -> str:
    """Leave out words in capitals that follow a number; a single letter belongs to it."""
    while True:
        head, gap, last = value.rpartition(" ")
        if not gap or len(last) == 1 or any(char.isdigit() for char in last):
            return value
        value = head
