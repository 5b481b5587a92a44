"""What a memory said before, with what each change took away and added, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from memory.models import Memory, MemoryVersion
from memory.palace.covering import coverer, former_text
from memory.palace.dates import Moment, moment
from memory.palace.presenters import label
from memory.privacy import meaning
from memory.privacy.masking import masked
from memory.text.differences import changes as changes_between

TELLING: Final = ("tags", "topics", "source", "metadata")
"""Former values that may tell what a text hides."""

AROUND: Final = 12
"""Words that are shown before and after a change; what lies between is left out."""

MOST_CHARACTERS: Final = 20_000
MOST_IN_ALL: Final = 400_000
"""Characters of all versions that are compared; of older ones only the former texts are shown."""

_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A run of words: `same`, `gone`, `new`, or `left out` where unchanged words are not shown."""

    sort: str
    text: str


@dataclass(frozen=True, slots=True)
class VersionView:
    """What the memory said before a change.

    Attributes:
        number: of the version that the change replaced.
        text: what it said then, None where the change left the text alone.
        pieces: the former text and the one after it as one.
        changes: names and former values of what else was changed.
        by: who changed it.
        when: when that was.
    """

    number: int
    text: str | None
    pieces: list[DiffPiece]
    changes: list[tuple[str, str]]
    by: str
    when: Moment


def version_views(
    row: Memory, versions: Sequence[MemoryVersion], agents: Mapping[UUID, str], now: datetime, *, revealed: bool
) -> list[VersionView]:
    """Describe the versions of a memory, the newest first; masked as its text is, unless it is revealed."""
    # What is personal by meaning in a text may have been so in what it said before, which no model has read.
    kinds = set(meaning.kinds_in(row.pii_kinds))
    covered = coverer(row)
    later = row.text
    later_shown = row.text if revealed else masked(row.text, row.pii_kinds, row.pii_tier).text
    shown = []
    room = MOST_IN_ALL
    for version in versions:
        kinds |= set(meaning.kinds_in(version.changes.get("pii_kinds", ())))
        changed = [(_former_name(name), _plain(value)) for name, value in version.changes.items()]
        text = version.text if revealed else former_text(version.text, kinds)
        if not revealed:
            changed = [(name, _("masked") if kinds and name in TELLING else covered(value)) for name, value in changed]
        differs = version.text != later
        compared = differs and room > 0
        if compared:
            room -= min(len(text), MOST_CHARACTERS) + min(len(later_shown), MOST_CHARACTERS)
        shown.append(
            VersionView(
                number=version.number,
                text=text if differs else None,
                pieces=difference(text, later_shown) if compared else [],
                changes=changed,
                by=actor_name(version.actor, agents),
                when=moment(version.created_at, now),
            )
        )
        later, later_shown = version.text, text
    return shown


def difference(before: str, after: str) -> list[DiffPiece]:
    """Write two texts as one: what both say, what only the former said and what only the later one says.

    Of texts of more than 20,000 characters only the beginnings are compared.
    """
    old, new = _WORD.findall(before[:MOST_CHARACTERS]), _WORD.findall(after[:MOST_CHARACTERS])
    pieces: list[DiffPiece] = []
    at = 0
    for change in changes_between(old, new):
        pieces += _same(old[at : change.start], first=not pieces)
        for sort, words in (("gone", old[change.start : change.end]), ("new", new[change.new_start : change.new_end])):
            if words:
                pieces.append(DiffPiece(sort, "".join(words)))
        at = change.end
    # Where masks hide the difference, there is none to show.
    return [*pieces, *_same(old[at:], last=True)] if pieces else []


def actor_name(written: str, agents: Mapping[UUID, str]) -> str:
    """Say who acted, as the history names it: `person`, `agent:<id>` …"""
    kind, _colon, agent_id = written.partition(":")
    if kind == "agent" and agent_id:
        return agents.get(UUID(agent_id), _("an agent"))
    known = {"person": _("you"), "operator": _("whoever runs this server"), "staff": _("staff of this server")}
    return known.get(kind, "Loci")


def _same(words: Sequence[str], *, first: bool = False, last: bool = False) -> Iterator[DiffPiece]:
    """Give unchanged words, without those that are far from any change."""
    head, tail = 0 if first else 2 * AROUND, 0 if last else 2 * AROUND
    if not words:
        return
    if len(words) <= head + tail + AROUND:
        yield DiffPiece("same", "".join(words))
        return
    if head:
        yield DiffPiece("same", "".join(words[:head]))
    yield DiffPiece("left out", "")
    if tail:
        yield DiffPiece("same", "".join(words[len(words) - tail :]))


def _former_name(name: str) -> str:
    return _("personal data") if name == "pii_kinds" else label(name)


def _plain(value: Any) -> str:
    if value in (None, "", []):
        return _("none")
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)
