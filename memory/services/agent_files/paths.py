"""What a file may be called."""

from __future__ import annotations

import unicodedata
from typing import Final

from memory.errors import InvalidInput
from memory.text import limits

MOST_CHARACTERS: Final = 200
MOST_SEGMENTS: Final = 10
# Control, format (bidirectional controls and zero-width characters among them), line ends, surrogates, private use and
# what is no character: a path must look like what it is.
_REFUSED: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"})
_NOT_IN_NAMES: Final = frozenset('\\:*?"<>|')


def checked_path(path: object, *, field: str = "path") -> str:
    """Check the path of a file and give it in its composed form (Unicode NFC).

    Args:
        path: names between slashes, such as `IDENTITY.md` or `notes/2026.md`.
        field: the name of the input, for the error.

    Raises:
        InvalidInput: `field.type`, `path.empty`, `path.too_long` (more than 200 characters or 10 names),
            `path.characters`, or `path.invalid`: it begins or ends with a slash, or has an empty name, `.` or `..`, or
            a name that begins or ends with a blank or ends with a dot.
    """
    if not isinstance(path, str):
        raise InvalidInput(f"'{field}' has to be text.", code="field.type", field=field)
    if not path or limits.is_blank(path):
        raise InvalidInput("A file needs a name, such as IDENTITY.md.", code="path.empty", field=field)
    if len(path) > MOST_CHARACTERS or path.count("/") >= MOST_SEGMENTS:
        raise InvalidInput(
            f"A file's name has at most {MOST_CHARACTERS} characters and {MOST_SEGMENTS} parts between slashes.",
            code="path.too_long",
            field=field,
            limit=MOST_CHARACTERS,
        )
    if any(char in _NOT_IN_NAMES or unicodedata.category(char) in _REFUSED for char in path):
        raise InvalidInput(
            "A file's name holds no invisible or control characters and none of \\ : * ? \" < > |.",
            code="path.characters",
            field=field,
        )
    found = unicodedata.normalize("NFC", path)
    if any(_unusable(name) for name in found.split("/")):
        raise InvalidInput(
            "A file's name is relative, such as notes/today.md: without . or .. and without blanks at the ends.",
            code="path.invalid",
            field=field,
        )
    if len(found) > MOST_CHARACTERS:
        raise InvalidInput(
            f"A file's name has at most {MOST_CHARACTERS} characters.",
            code="path.too_long",
            field=field,
            limit=MOST_CHARACTERS,
        )
    return found


def _unusable(name: str) -> bool:
    return not name or limits.is_blank(name) or name != name.strip() or name.endswith(".")


def same_path(path: str) -> str:
    """Give the form in which paths are compared: case makes no difference, as on many disks."""
    return unicodedata.normalize("NFC", path.casefold())
