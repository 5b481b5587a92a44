"""Finders of where somebody lives: places that a sentence announces, labelled addresses, streets with a number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory.privacy.pii.people import CAPITALS, HAN, LETTERS, Place
from memory.text.stopwords import word_set

_LIVE = re.compile(
    r"(?<![a-z])(?:(?:i|we)\s(?:currently\s|now\s|still\s|have\s|used\sto\s)?(?:lived?|reside)"
    r"|(?:i|we)'ve\s(?:always\s)?lived|(?:i(?:'m|\sam|\swas)|we(?:'re|\sare|\swere))\s(?:currently\s|now\s|still\s)?living"
    r"|(?:i(?:'m|\sam)|we(?:'re|\sare))\sbased|my\shome\sis)\s(?:in|at|on|near)\s(the\s)?",
    re.IGNORECASE,
)
_LIVE_ELSEWHERE = re.compile(
    r"(?<![a-z])(?:(?:ich|wir)\s(?:wohnen?|leben?)\s(?:in|am|an|bei)|j'habite\s(?:à|en|au|aux)|je\svis\s(?:à|en|au)"
    r"|vivo\s(?:en|a|in|em)|vivimos\sen|abito\s(?:a|in)|moro\s(?:em|no|na)|я\sживу\s(?:в|на)|ik\swoon\sin"
    r"|mieszkam\swe?|jag\sbor\si)\s",
    re.IGNORECASE,
)
_PLACE_WORD: Final = rf"(?!I\b)[{CAPITALS}0-9](?:[{LETTERS}0-9'/-]|\.(?=[{LETTERS}0-9])){{0,40}}"
_PLACE = re.compile(rf"{_PLACE_WORD}(?:,?\s(?:(?:of|de|do|da|del|la|le|the|am|an|der)\s){{0,2}}{_PLACE_WORD}){{0,9}}")
_SMALL_PLACE = re.compile(
    rf"[{LETTERS}][{LETTERS}'-]{{1,40}}(?:,?\s[{LETTERS}][{LETTERS}'-]{{1,40}})?"
    r"(?=\s{0,2}(?:[.,;:!?)\]}\"\n]|$)|\s(?:and|with|now|since|but|for|right)\s)"
)
_NOT_A_PLACE: Final[frozenset[str]] = word_set(
    "a an all another any apartment bed both but chaos constant denial different fear harmony hell her his home "
    "house it its london-like luxury me mine my neither one our paradise peace places poverty reality same shared "
    "sin small some someone's student such that their there these this those two what which your "
    "hope interesting coffee comfort danger darkness debt exile fantasy flats hiding isolation misery pain present "
    "rural safety secret shame silence solitude town uncertainty very fairly quite pretty rather close nearby "
    "suburbia squalor what whatever where you us them "
    "angst armut frieden miete sorge untermiete wohngemeinschaft zwei drei "
)

_ADDRESS = re.compile(
    r"(?<![a-zà-ÿ])(?<!mail )(?<!ip )(?<!web )(?<!mac )(?<!memory )(?<!contract )"
    r"(?:(?:home|street|postal|mailing|shipping|billing)[\s_])?"
    r"(?:address|anschrift|dirección|adresse|endereço|indirizzo|адрес|adres)"
    r"([\s_]{0,2}[:=]\s{0,3}|[\"']\s?[:=]\s{0,3}(?=[\"'])|\s(?:is|ist|lautet|es|est|é|è|to)[\s:]{1,2})",
    re.IGNORECASE,
)
# A full stop ends it, except after the short Cyrillic words for street, house and flat.
_ADDRESS_VALUE = re.compile(
    r"(?:(?![!?](?:\s|$)|(?<![ ,][а-я])(?<![ ,][а-я]{2})\.(?:\s|$)|\sand\s(?:my|i|the)\b)[^\n;\[]){3,160}",
    re.IGNORECASE,
)
_CODE = re.compile(r"\w{1,60}(?:\.\w{1,60}){0,4}[(\[]|[A-Za-z_]{1,60}\.[A-Za-z_]{1,60},")
_POST_CODE = re.compile(
    r"(?<![a-z])(?:(?:zip|postal|post)(?:[\s_-]?code)?|plz|postleitzahl|code\spostal|código\spostal|postcode|cep|индекс|邮编)"
    r"(?:[\s\"']{0,2}[:=]\s{0,3}[\"']?|\s(?:is|ist|est|es|é)[\s:]{1,2})"
    r"([A-Z0-9]{0,4}[0-9][A-Z0-9]{0,6}(?:[ -][0-9][A-Z0-9]{1,4})?)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_STREET_LABELLED = re.compile(
    rf"(?<![a-z])(?i:street|straße)(?:\s{{0,2}}[:=]\s{{0,3}}|\sis[\s:]{{1,2}})({_PLACE_WORD}(?:\s{_PLACE_WORD}){{0,5}})"
)

_NAME: Final = rf"[{CAPITALS}](?:[{LETTERS}'-]|\.(?=[{LETTERS}])){{1,30}}"
_NUMBER: Final = r"[0-9]{1,5}(?:\s?[A-Za-z](?![A-Za-z]))?"
# The second of a street's two lines; only after a street, since five digits and a word are anything.
_TOWN: Final = rf"(?:,?\s(?:[A-Z]{{1,2}}-)?[0-9]{{4,5}}\s{_NAME}(?:\s{_NAME})?)?"
_STREET = re.compile(
    rf"(?<![0-9A-Za-z.,/-])[0-9]{{1,5}}[A-Za-z]?\s(?:(?:{_NAME}\.?|[0-9]{{1,3}}(?:st|nd|rd|th)|[NSEW]\.?)\s){{1,3}}"
    r"(?:(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Parkway|Pkwy|Highway|Terrace|Crescent|Ln)\b"
    # Words with a meaning of their own need the street to end there.
    r"|(?:Lane|Drive|Court|Square|Way|Place|Close|Row|Circle|Trail)\b"
    r"(?=\s{0,2}(?:[.,;:!?)\]\"\n]|$)|\s(?:in|on|at|and|by|near|with|for|from|today|since|is|was|until|please)\b))"
)
_NO_STREET = re.compile(r"\b(?:Of|The|And|For|Years|Days|Ways|Things|Reasons|Minutes|Hours|People)\b")
_LINKS: Final = (
    r"(?:(?:de la|de los|de las|de l'|della|dello|delle|dei|degli|do|dos|das|da|du|des|del|de|di|d')\s?){0,1}"
)
# In most languages the number follows the name.
_STREET_ELSEWHERE: Final = re.compile(
    rf"(?<![{LETTERS}0-9-])(?:"
    rf"[{CAPITALS}][{LETTERS}-]{{2,30}}(?:straße|strasse|str\.|allee|gasse|damm|ufer|chaussee|(?<!arbeits)(?<!park)"
    rf"(?<!sitz)(?<!stell)(?<!spiel)platz|(?<!rad)weg|straat|gracht|laan|plein|kade|singel)\s{_NUMBER}{_TOWN}"
    rf"|(?:Am|An der|An den|Im|Zum|Zur|Auf dem|Auf der|Unter den)\s{_NAME}\s{_NUMBER},?\s[0-9]{{5}}\s{_NAME}"
    rf"|(?:Calle|C/|Avenida|Avda\.|Av\.|Plaza|Paseo|Via|Viale|Piazza|Corso|Rua|Travessa|Praça|Largo|Alameda|ulica|ul\.)\s"
    rf"{_LINKS}{_NAME}(?:\s{_LINKS}{_NAME}){{0,3}},?\s(?:n\.?[º°]?\s)?{_NUMBER}{_TOWN}"
    rf"|(?:[Уу]л\.|[Уу]лица|[Пп]роспект|[Пп]р\.|[Пп]ер\.)\s?{_NAME}(?:\s{_NAME})?,?\s(?:д(?:\.|ом)?\s?)?{_NUMBER}"
    rf"(?:,?\sкв(?:\.|артира)?\s?[0-9]{{1,4}})?"
    rf"|[0-9]{{1,4}}(?:\s?(?:bis|ter))?,?\s(?:rue|avenue|boulevard|bd|place|chemin|allée|impasse|quai|route)\s"
    rf"{_LINKS}{_NAME}(?:\s{_LINKS}{_NAME}){{0,3}}{_TOWN}"
    rf")"
)
_HAN_STREET = re.compile(
    rf"[{HAN}]{{2,20}}(?:路|街|大道|巷|胡同|弄)[0-9一二三四五六七八九十百]{{1,6}}[号號][{HAN}0-9]{{0,12}}"
)
_HAN_PLACE = re.compile(
    rf"(?:我|我们)(?:现在|目前)?(?:住在|家在)(?!一|这|那|家|学校|宿舍|公司|乡下|城里|他|她|我|你|酒店|楼|附近)([{HAN}0-9]{{2,24}})"
    r"|((?!田舎|都会|一人|実家|家族|学校)[\u30a1-\u30ff\u3400-\u9fff]{2,12})(?:に|で)(?:住んで|暮らして)"
    rf"|(?:地址|住所)\s?(?:是|为|は|:)\s?((?=[^\n]{{0,30}}[0-9号路街])[{HAN}0-9-]{{4,40}})"
)


def find_places(text: str) -> Iterator[Place]:
    """Find the place after "I live in" and its like in other languages; only the place is the place."""
    for announced in _LIVE.finditer(text):
        start = announced.end()
        value = _PLACE.match(text, start)
        if value is None and not announced.group(1):
            value = _SMALL_PLACE.match(text, start)
        if value and _is_a_place(value.group()):
            yield "location", start, value.end()
    for announced in _LIVE_ELSEWHERE.finditer(text):
        value = _PLACE.match(text, announced.end())
        if value and _is_a_place(value.group()):
            yield "location", value.start(), value.end()


def _is_a_place(value: str) -> bool:
    return re.split(r"[,\s]", value, maxsplit=1)[0].casefold() not in _NOT_A_PLACE


def find_addresses(text: str) -> Iterator[Place]:
    """Find postal addresses, streets and post codes that are announced as such."""
    for announced in _ADDRESS.finditer(text):
        value = _ADDRESS_VALUE.match(text, announced.end())
        if value and _reads_like_an_address(value.group(), verb=announced.group(1).strip(" _")[:1].isalpha()):
            yield "address", value.start(), value.end()
    for match in _POST_CODE.finditer(text):
        yield "address", match.start(1), match.end(1)
    for match in _STREET_LABELLED.finditer(text):
        yield "address", match.start(1), match.end(1)


def find_streets(text: str) -> Iterator[Place]:
    """Find names of streets with the number of a house, in the forms of some languages."""
    for match in _STREET.finditer(text):
        if not _NO_STREET.search(match.group()):
            yield "address", match.start(), match.end()
    for match in _STREET_ELSEWHERE.finditer(text):
        yield "address", match.start(), match.end()


def find_places_in_han(text: str) -> Iterator[Place]:
    """Find streets and homes in Chinese and Japanese sentences."""
    for match in _HAN_STREET.finditer(text):
        yield "address", match.start(), match.end()
    for match in _HAN_PLACE.finditer(text):
        group = match.lastindex or 0
        yield ("address" if group == 3 else "location"), match.start(group), match.end(group)


def _reads_like_an_address(value: str, *, verb: bool) -> bool:
    """Tell an address from the rest of a sentence: it holds a number or begins with a capital."""
    first = value.split(" ", 1)[0]
    if first[0] in "{([<" or _CODE.match(first):
        return False
    if "@" in first or "://" in first or first.startswith("0x"):
        return False
    return (
        any(char.isdigit() for char in value) or value.lstrip("\"'")[:1].isupper() or not (verb or value[0].islower())
    )
