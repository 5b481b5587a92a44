"""Finders of secrets: tokens by their structure, keys by their prefix or block, passwords by their label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory.text.stopwords import word_set

Place = tuple[str, int, int]

# Both parts of a JSON web token are JSON objects, so both begin with the base64 of `{"`.
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{4,}\.eyJ[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*")
_AWS = re.compile(r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])")
_PEM_EDGE = re.compile(r"-----(BEGIN|END) (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"(?:\s{0,4}[A-Za-z0-9+/=]{16,})*")

_KEY_PREFIX = re.compile(
    r"(?<![A-Za-z0-9_])(?:[sr]k_(?:live|test)_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|AIza|hf_|npm_|pypi-|shpat_)"
    r"[A-Za-z0-9_-]{16,}|(?<![A-Za-z0-9_])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    # Keys of agents and capabilities of the bus have a form of their own, whatever they are glued to.
    r"|loci(?:_[0-9a-f]{8}|cap1)_[A-Za-z0-9_-]{16,}"
)
_KEY_LABELLED = re.compile(
    r"(?:(?:api|secret|access|auth|private|client)[\s_-]?(?:key|token|secret|schlüssel)|clé\s(?:d')?api|clave\s(?:de\s)?api"
    r"|chave\s(?:de\s|da\s)?api|chiave\sapi|api(?:密钥|金鑰|キー))"
    r"(?:[\"']?\s{0,3}[:=是は]\s{0,3}[\"'`]?|\s(?:is|ist|lautet|est|es|è|é)[\s:]{1,2})([A-Za-z0-9_/+.=-]{32,})",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z]+)+")
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/:@?#]{0,64}:([^\s/@]{1,128})@")

_LABEL: Final = (
    r"(?:password|passwort|passwd|passcode|pwd|contraseña|kennwort|wachtwoord|hasło|senha|mot\sde\spasse|пароль"
    r"|(?<![A-Za-z])(?:pass|pw|secret|token)"
    r"|(?:api|access|secret|auth|private|client|bearer|session|refresh|recovery)[\s_-]?(?:key|token|secret|code))"
)
_JOIN: Final = (
    r"(?:[\"']?\s{0,3}(?:=>|->|[:=])\s{0,3}"
    r"|\s(?:(?:is|was)(?:\s(?:now|set\sto|still))?|ist|lautet|es|est|è|é|to|as)[\s:]{1,3})"
)
_ELSEWHERE: Final = frozenset({"ist", "lautet", "es", "est", "è", "é", "to", "as"})
# A value that is a marker and nothing else has been redacted before.
_NO_MARKER: Final = r"(?!\[[A-Z_]{3,24}\](?:[\s.,;:!?)\]}\"'`]|$))"
_CREDENTIAL = re.compile(
    rf"{_LABEL}({_JOIN}){_NO_MARKER}(?:([\"'`])([^\"'`\n]{{1,200}})\2|([^\s\"'`]{{2,200}}))", re.IGNORECASE
)
_PHRASE = re.compile(
    rf"(?:passphrase|(?:seed|recovery|mnemonic)\sphrase){_JOIN}{_NO_MARKER}[\"'`]?([^\n.,;!?\"'`\[]{{3,240}})",
    re.IGNORECASE,
)
_PIN = re.compile(
    r"(?<![a-z])pin(?:[\s-](?:code|number|nummer))?(?:\s{0,3}[:=]\s{0,3}|\s(?:is|ist|lautet|est|es|è|é)\s)"
    r"([0-9]{4,8})(?![0-9])",
    re.IGNORECASE,
)
_IN_HAN = re.compile(
    r"(?:密码|密碼|口令|パスワード|暗証番号|비밀번호)\s?(?:是|为|為|は|:|=|은|는)\s?[\"'「『]?([!-~]{3,128})"
)
# What stands for a value and is none: a variable, a call, a mask, a word to be replaced.
_STANDS_IN = re.compile(
    r"\$\{|\$\(|\$[A-Za-z_]{2,}$|\{\{|%[({sd]|<[A-Za-z_ -]{1,40}>?$|[*•x.]{3,}\W{0,3}$|[Yy](?:our|OUR)[-_]|YOUR"
    r"|(?:os|self|settings|config|env|process|request|req|args|options|params|data|this|secrets|vault)\."
    r"|[A-Za-z_][A-Za-z0-9_]{0,60}(?:\.[A-Za-z_][A-Za-z0-9_]{0,60}){0,4}[(\[]|[A-Za-z_]{1,60}\.[A-Za-z_]{1,60}[),]"
    r"|[^\s]{0,16}\.\.\."
)
_LEAST_DIGITS: Final = 4
_PASSWORD = re.compile(r"pass|pwd|contraseña", re.IGNORECASE)
# The password is "getting old", "written down", "usually long".
_SENTENCE_ENDINGS: Final = ("ing", "ed", "ten", "ly")
_TRAILING: Final = ".,;:)]}>"

# After "the password is", these words go on with a sentence and are no password.
_PROSE: Final[frozenset[str]] = word_set(
    "a about above all already also always an and any are as at bad based because been being below better blank "
    "broken but by case-sensitive changed compromised correct different easy empty encrypted expired false for "
    "from gone good hard hashed hidden here how in incorrect invalid it just kept known leaked less locked long "
    "longer lost made managed mandatory missing more needed never new no none not null of off often ok old on one "
    "only optional or our out public random refreshed rejected required requested reset returned revoked rotated "
    "safe same secret secure sent set short shared shorter simple so some still stored stolen strong string str "
    "than that the their there this to today too true truly undefined unique unknown unset up used valid very "
    "weak what when where which who why with wrong your my his her "
    "final bytes int bool object repr password token secret "
    "ask check enter see type use two three four five six seven eight ten twelve expire stronger something "
    "abgelaufen falsch geheim ungültig vergessen zu nicht caducada correcta demasiado incorrecta incorrecto "
    "obligatoria obligatorio secreta expiré obligatoire requis trop errada incorreta obrigatória "
    "muito corretta obbligatoria sbagliata scaduta troppo verkeerd verlopen te неверный обязателен устарел слишком не "
)


def find_jwts(text: str) -> Iterator[Place]:
    """Find JSON web tokens."""
    for match in _JWT.finditer(text):
        yield "jwt", match.start(), match.end()


def find_keys(text: str) -> Iterator[Place]:
    """Find AWS key ids, keys of services with a known prefix, and long values that are called a key."""
    for match in _AWS.finditer(text):
        yield "aws_key", match.start(), match.end()
    for match in _KEY_PREFIX.finditer(text):
        if any(char.isdigit() for char in match.group()):
            yield "api_key", match.start(), match.end()
    for match in _KEY_LABELLED.finditer(text):
        if _IDENTIFIER.fullmatch(match.group(1)):
            continue
        yield "api_key", match.start(1), match.end(1)


def find_private_keys(text: str) -> Iterator[Place]:
    """Find PEM private keys: the whole block, or the header and the base64 after it when the end is missing."""
    opened: re.Match[str] | None = None
    for edge in _PEM_EDGE.finditer(text):
        if edge.group(1) == "BEGIN":
            if opened:
                yield "private_key", opened.start(), _open_end(text, opened.end(), edge.start())
            opened = edge
        elif opened:
            yield "private_key", opened.start(), edge.end()
            opened = None
        else:
            yield "private_key", edge.start(), edge.end()
    if opened:
        yield "private_key", opened.start(), _open_end(text, opened.end(), len(text))


def _open_end(text: str, start: int, limit: int) -> int:
    body = _PEM_BODY.match(text, start, limit)
    return body.end() if body else start


def find_credentials(text: str) -> Iterator[Place]:
    """Find passwords, tokens and PINs by their label, and passwords in URLs; only the value is the place."""
    for match in _CREDENTIAL.finditer(text):
        place = _credential_value(match)
        if place:
            yield "credential", *place
    for match in _PHRASE.finditer(text):
        value = match.group(1).rstrip()
        if value.split(" ", 1)[0].casefold() not in _PROSE - {"correct"}:
            yield "credential", match.start(1), match.start(1) + len(value)
    for match in _PIN.finditer(text):
        yield "credential", match.start(1), match.end(1)
    for match in _URL_PASSWORD.finditer(text):
        if not _STANDS_IN.match(match.group(1)) and match.group(1).casefold() not in _PROSE:
            yield "credential", match.start(1), match.end(1)


def find_credentials_in_han(text: str) -> Iterator[Place]:
    """Find passwords that Chinese, Japanese and Korean sentences name."""
    for match in _IN_HAN.finditer(text):
        if not _STANDS_IN.match(match.group(1)):
            yield "credential", match.start(1), match.end(1)


def _credential_value(match: re.Match[str]) -> tuple[int, int] | None:
    """Give the place of a labelled value unless it reads like the sentence going on."""
    spoken = match.group(1).strip(" :\t\n\"'")
    if match.group(3) is not None:
        return None if _STANDS_IN.match(match.group(3)) else (match.start(3), match.end(3))
    value = match.group(4).rstrip(_TRAILING)
    if len(value) < 2 or value.casefold() in _PROSE or _STANDS_IN.match(match.group(4)):
        return None
    if match.group().casefold().startswith(value.casefold()):
        # A parameter that is named after what it holds.
        return None
    if value.isdigit() and len(value) < _LEAST_DIGITS:
        return None
    plain = value.isalpha() and value.islower()
    if plain and spoken in _ELSEWHERE:
        return None
    if plain and spoken[:1].isalpha() and not _stands_for_itself(match, value):
        return None
    return match.start(4), match.start(4) + len(value)


def _stands_for_itself(match: re.Match[str], value: str) -> bool:
    """Tell whether a plain word after "is" can be the secret itself and not the sentence going on."""
    after = match.start(4) + len(value)
    if not match.string.startswith(" ", after):
        return True
    return _PASSWORD.match(match.group()) is not None and not value.endswith(_SENTENCE_ENDINGS)
