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
    r"(?<![A-Za-z0-9_])(?:[sr]k_(?:live|test)_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|AIza|hf_|npm_|pypi-)"
    r"[A-Za-z0-9_-]{16,}"
)
_KEY_LABELLED = re.compile(
    r"(?:api|secret|access|auth|private|client)[\s_-]?(?:key|token|secret)(?:[\"']?\s{0,3}[:=]\s{0,3}[\"'`]?|\sis\s)"
    r"([A-Za-z0-9_/+.=-]{32,})",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/:@?#]{0,64}:([^\s/@]{1,128})@")

_LABEL: Final = (
    r"(?:password|passwort|passwd|passcode|pwd|contraseña|(?<![A-Za-z])(?:pass|secret|token)"
    r"|(?:api|access|secret|auth|private|client|bearer|session|refresh|recovery)[\s_-]?(?:key|token|secret|code))"
)
_JOIN: Final = r"(?:[\"']?\s{0,3}(?:=>|->|[:=])\s{0,3}|\s(?:is|was|ist|es)(?:\sset\sto)?[\s:]{1,3})"
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
    r"(?<![a-z])pin(?:\s(?:code|number))?(?:\s{0,3}[:=]\s{0,3}|\sis\s)([0-9]{4,8})(?![0-9])", re.IGNORECASE
)
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
    for pattern in (_PIN, _URL_PASSWORD):
        for match in pattern.finditer(text):
            yield "credential", match.start(1), match.end(1)


def _credential_value(match: re.Match[str]) -> tuple[int, int] | None:
    """Give the place of a labelled value unless it reads like the sentence going on."""
    if match.group(3) is not None:
        return match.start(3), match.end(3)
    value = match.group(4).rstrip(_TRAILING)
    if len(value) < 2 or value.casefold() in _PROSE:
        return None
    spoken = match.group(1).strip()[:1].isalpha()
    if spoken and value.isalpha() and value.islower() and not _stands_for_itself(match, value):
        return None
    return match.start(4), match.start(4) + len(value)


def _stands_for_itself(match: re.Match[str], value: str) -> bool:
    """Tell whether a plain word after "is" can be the secret itself and not the sentence going on."""
    after = match.start(4) + len(value)
    if not match.string.startswith(" ", after):
        return True
    return _PASSWORD.match(match.group()) is not None and not value.endswith(_SENTENCE_ENDINGS)
