"""What kinds of things and links are called on the pages of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _l

from memory.models import EdgeKind, EntityType, Kind
from memory.palace.presenters import label
from memory.services.graph_view.joining import MENTIONS

KINDS: Final[Mapping[str, str | Promise]] = {
    Kind.TURN: _l("turn of a conversation"),
    Kind.NOTE: _l("note"),
    Kind.FACT: _l("fact"),
    Kind.PREFERENCE: _l("preference"),
    Kind.DECISION: _l("decision"),
    Kind.INSTRUCTION: _l("instruction"),
    Kind.SKILL: _l("skill"),
    Kind.INSIGHT: _l("insight"),
    Kind.SUMMARY: _l("summary"),
    Kind.REFLECTION: _l("reflection"),
    Kind.PATTERN: _l("pattern"),
    EntityType.PERSON: _l("person"),
    EntityType.TOPIC: _l("topic"),
    EntityType.PROJECT: _l("project"),
    EntityType.TOOL: _l("tool"),
    EntityType.URL: _l("web address"),
    EntityType.CONCEPT: _l("concept"),
    EntityType.ORGANIZATION: _l("organisation"),
}
LINKS: Final[Mapping[str, str | Promise]] = {
    EdgeKind.RELATED_TO: _l("belongs with"),
    EdgeKind.CAUSED_BY: _l("caused by"),
    EdgeKind.SUPPORTS: _l("supports"),
    EdgeKind.CONTRADICTS: _l("contradicts"),
    EdgeKind.PART_OF: _l("part of"),
    EdgeKind.FOLLOWED_BY: _l("followed by"),
    EdgeKind.DERIVED_FROM: _l("drawn from"),
    EdgeKind.SIMILAR_TO: _l("like"),
    MENTIONS: _l("speaks of"),
}
TYPES: Final[Mapping[str, str | Promise]] = {one: KINDS[one] for one in EntityType.values}


def kind_word(kind: str) -> str:
    """Name a kind of memory or a type of entity."""
    return str(KINDS.get(kind, label(kind)))


def link_word(kind: str) -> str:
    """Name a kind of link, as it is read from its source to its target."""
    return str(LINKS.get(kind, label(kind)))
