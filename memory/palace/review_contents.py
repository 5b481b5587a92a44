"""What a review item proposes, kind by kind: a statement or two sides, and lines about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import LociError
from memory.graph.labels import spoken
from memory.models import Memory, ReviewKind
from memory.palace import review_words as words
from memory.palace.covering import coverer
from memory.palace.dates import moment
from memory.palace.numbers import local
from memory.palace.presenters import label, ten
from memory.privacy.masking import masked
from memory.services.review_context import Standing, Touched
from memory.text.limits import checked_moment

Cover = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Line:
    """A name and its value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two things that an item sets against each other: a statement, an entity, a cause or its effect."""

    heading: str
    text: str
    lines: tuple[Line, ...] = ()
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What an item's content is described from."""

    payload: Mapping[str, Any]
    cover: Cover
    behind: Mapping[UUID, Memory]
    touched: Touched | None
    now: datetime
    revealed: bool

    def text(self, name: str) -> str:
        """Give a text of the payload, covered."""
        return self.cover(str(self.payload.get(name) or ""))

    def listed(self, name: str) -> str:
        """Give the texts of a list of the payload, covered."""
        return ", ".join(self.cover(_name(one)) for one in self.payload.get(name) or ())

    def day(self, name: str) -> str:
        """Give a moment of the payload."""
        value = self.payload.get(name)
        if not value:
            return ""
        try:
            return moment(checked_moment(value), self.now).absolute
        except LociError:
            return self.cover(str(value))

    def ten(self, name: str) -> str:
        """Give a number from 0 to 1 on the scale that people see."""
        value = self.payload.get(name)
        usable = isinstance(value, int | float) and not isinstance(value, bool)
        return _("%(number)s of 10") % {"number": ten(float(value or 0))} if usable else ""


Content = tuple[str, Sequence[Side], Sequence[tuple[str, str]]]


def _fact(item: Material) -> Content:
    lines = [
        (_("Kind"), label(item.text("kind"))),
        (_("Category"), label(item.text("category"))),
        (_("Importance"), item.ten("importance")),
        (_("Said"), item.day("occurred_at")),
        (_("Holds from"), item.day("valid_from")),
        (_("Holds until"), item.day("valid_until")),
        (_("Topics"), item.listed("topics")),
        (_("Names"), item.listed("entities")),
    ]
    return item.text("text"), (), lines


def _entity(item: Material) -> Content:
    properties = item.payload.get("properties") or {}
    told = [(item.cover(label(str(name))), item.cover(_name(value))) for name, value in properties.items()]
    lines = [
        (_("What it is"), words.type_word(item.payload.get("type"))),
        (_("Also called"), item.listed("aliases")),
        (_("Importance"), item.ten("importance")),
        *told,
    ]
    return item.text("name"), (), lines


def _relation(item: Material) -> Content:
    source, target = item.payload.get("source"), item.payload.get("target")
    tie = item.cover(spoken(str(item.payload.get("label") or "")))
    said = f"{item.cover(_name(source))} {tie} {item.cover(_name(target))}"
    if item.payload.get("ended"):
        said = _("No longer: %(relation)s") % {"relation": said}
    lines = [
        (item.cover(_name(source)), words.type_word(_type(source))),
        (item.cover(_name(target)), words.type_word(_type(target))),
        (_("Weight"), item.ten("weight")),
        (_("Holds from"), item.day("valid_from")),
        (_("Holds until"), item.day("valid_until")),
    ]
    return said, (), lines


def _event(item: Material) -> Content:
    return (
        item.text("text"),
        (),
        [(_("Happened"), item.day("occurred_at")), (_("Took part"), item.listed("participants"))],
    )


def _cause(item: Material) -> Content:
    sides = [
        Side(_("Because"), item.text("cause"), _about(item, "cause_entity")),
        Side(_("Therefore"), item.text("effect"), _about(item, "effect_entity")),
    ]
    return "", sides, ()


def _about(item: Material, name: str) -> tuple[Line, ...]:
    value = item.payload.get(name)
    return (Line(_("About"), item.cover(_name(value))),) if value else ()


def _merge(item: Material) -> Content:
    names = [str(one) for one in item.payload.get("names") or ()]
    standing = item.touched.entities if item.touched is not None else {}
    sides = []
    for place, (end, heading) in enumerate((("first", _("One")), ("second", _("The other")))):
        found = standing.get(end)
        if found:
            sides.append(_entity_side(heading, found[0], item))
        elif item.touched is None and place < len(names):
            sides.append(Side(heading, item.cover(names[place])))
        else:
            sides.append(Side(heading, _("It is not there any more.")))
    return "", sides, ()


def _entity_side(heading: str, standing: Standing, item: Material) -> Side:
    row = standing.entity
    mentions = ngettext("%(count)s time", "%(count)s times", row.mention_count) % {"count": row.mention_count}
    lines = [
        Line(_("What it is"), words.type_word(row.type)),
        Line(_("Also called"), ", ".join(item.cover(str(one)) for one in row.aliases or ())),
        Line(_("Spoken of"), mentions),
        Line(_("First"), moment(row.first_seen, item.now).relative),
        Line(_("Last"), moment(row.last_seen, item.now).relative),
        *(Line(_("Stands"), item.cover(line)) for line in standing.relations),
    ]
    return Side(heading, item.cover(row.name), tuple(line for line in lines if line.value))


def _statement_side(heading: str, row: Memory, item: Material) -> Side:
    lines = [
        Line(_("Said"), moment(row.occurred_at, item.now).absolute),
        Line(_("Importance"), _("%(number)s of 10") % {"number": ten(row.importance)}),
        Line(_("Certainty"), local(f"{row.confidence:.0%}")),
        Line(_("Source"), (row.source or "") if item.revealed else coverer(row)(row.source or "")),
    ]
    text = row.text if item.revealed else masked(row.text, row.pii_kinds, row.pii_tier).text
    return Side(heading, text, tuple(line for line in lines if line.value), row.pk)


def _contradiction(item: Material) -> Content:
    sides = []
    for end, heading in (("older", _("Older")), ("newer", _("Newer"))):
        row = item.behind.get(UUID(str(item.payload.get(end)))) if item.payload.get(end) else None
        if row is None:
            sides.append(Side(heading, _("It is not there any more.")))
            continue
        sides.append(_statement_side(heading, row, item))
    return "", sides, ()


def _dispute(item: Material) -> Content:
    row = item.behind.get(UUID(str(item.payload.get("memory")))) if item.payload.get("memory") else None
    heading = _("What is disputed")
    side = Side(heading, _("It is not there any more.")) if row is None else _statement_side(heading, row, item)
    return "", [side, Side(_("Why"), item.text("words"))], ()


CONTENTS: Final[Mapping[str, Callable[[Material], Content]]] = {
    ReviewKind.FACT: _fact,
    ReviewKind.ENTITY: _entity,
    ReviewKind.RELATION: _relation,
    ReviewKind.EVENT: _event,
    ReviewKind.CAUSE: _cause,
    ReviewKind.MERGE: _merge,
    ReviewKind.CONTRADICTION: _contradiction,
    "dispute": _dispute,
}


def _name(value: Any) -> str:
    return str(value.get("name") or "") if isinstance(value, Mapping) else str(value if value is not None else "")


def _type(value: Any) -> Any:
    return value.get("type") if isinstance(value, Mapping) else None
