"""How the admin writes values: moments, shares, ids, bytes and stored texts, the latter masked and never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import models
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from memory.admin.field_names import NAMES
from memory.crypto.sealing import Sealed
from memory.errors import KeysUnavailable
from memory.models import Memory
from memory.palace.covering import cover, coverer, former_text
from memory.palace.dates import moment
from memory.palace.numbers import local, whole
from memory.palace.presenters import label, reason_words
from memory.palace.vocabulary import WORDS
from memory.privacy.masking import masked_value
from memory.services.clock import now

PREVIEW: Final = 90
MOST_CHARACTERS: Final = 2_000
NOTHING: Final = "–"
IDENTIFIER: Final = re.compile(r"[a-z]+([._:][a-z]+)+")
"""What only programs say, such as the code of an error."""


def when(value: datetime | None) -> SafeString | str:
    """Write a moment, roughly in words and exactly on hover."""
    if value is None:
        return NOTHING
    return SafeString(render_to_string("palace/parts/when.html", {"when": moment(value, now())}).strip())


def share(value: float | None) -> str:
    """Write a number from 0 to 1 with two places."""
    return NOTHING if value is None else local(f"{value:.2f}")


def shortened(text: str, most: int = PREVIEW) -> str:
    """Cut a text after so many characters, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def stored(text: str) -> SafeString:
    """Write a stored text as text, in its own direction."""
    return format_html('<bdi dir="auto">{}</bdi>', text)


def memory_text(row: Memory, most: int = PREVIEW) -> SafeString:
    """Write the masked text of a memory, or that it cannot be read."""
    try:
        return stored(shortened(cover(row).text, most))
    except KeysUnavailable:
        return unreadable()


def masked_text(row: models.Model, field: str, most: int = PREVIEW) -> SafeString | str:
    """Write an encrypted value of a row with personal data covered, or that it cannot be read."""
    try:
        value = getattr(row, field)
    except KeysUnavailable:
        return unreadable()
    if value in (None, "", [], {}):
        return NOTHING
    # Beside a memory stand values of its text, which alone may have lost what gives them away.
    covered = coverer(row)(value) if isinstance(row, Memory) else masked_value(value)
    return stored(shortened(plain(covered), most))


def text_of(row: models.Model, field: str, kinds: Iterable[str]) -> SafeString | str:
    """Write what a row holds of a memory's text, masked as that memory is.

    Args:
        row: the row.
        field: which of its texts.
        kinds: the kinds of personal data in the memory.
    """
    try:
        value = getattr(row, field)
    except KeysUnavailable:
        return unreadable()
    if value in (None, "", [], {}):
        return NOTHING
    return stored(shortened(former_text(plain(value), kinds), MOST_CHARACTERS))


def unreadable() -> SafeString:
    """Say that a text does not open with the owner's key."""
    return format_html('<span class="strong">{}</span>', _("cannot be read"))


def plain(value: Any) -> str:
    """Write a value of any sort as one text."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Decimal):
        return local(f"{value.normalize():f}")
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {plain(inner)}" for name, inner in value.items()) or NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, Sequence):
        return ", ".join(plain(inner) for inner in value) or NOTHING
    return str(value)


def amount(value: Any) -> str:
    """Write a number of things as the language of the page does; of a value that is none as any other."""
    return whole(value) if isinstance(value, int) and not isinstance(value, bool) else plain(value)


def shown(row: models.Model, field: models.Field[Any, Any]) -> SafeString | str:
    """Write the value of a column on the page of a row."""
    raw = row.__dict__.get(field.attname)
    if isinstance(raw, Sealed):
        if isinstance(row, Memory) and field.attname == "text":
            return memory_text(row, MOST_CHARACTERS)
        return masked_text(row, field.attname, MOST_CHARACTERS)
    if isinstance(raw, datetime):
        return when(raw)
    if isinstance(raw, UUID | bytes | memoryview):
        return code(plain(raw))
    if isinstance(raw, float):
        return share(raw)
    if isinstance(raw, str) and (field.choices or raw in WORDS) and raw:
        return capfirst(label(raw))
    written = shortened(plain(raw), MOST_CHARACTERS)
    return code(written) if isinstance(raw, Mapping | list) or IDENTIFIER.fullmatch(written) else written


def reason(written: str) -> SafeString | str:
    """Write why something was done: our words as words, the codes of programs as codes."""
    said = reason_words(written)
    return code(written) if said == written and IDENTIFIER.fullmatch(written) else said


def code(text: str) -> SafeString:
    """Write an id or a digest."""
    return format_html("<code>{}</code>", text)


def named(field: models.Field[Any, Any]) -> str:
    """Give the name of a column for people."""
    known = NAMES.get(field.name)
    return str(known) if known is not None else capfirst(str(field.verbose_name).replace("_", " "))
