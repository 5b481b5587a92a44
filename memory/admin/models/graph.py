"""The graph: people and things, relations, events, causes, merges and links between memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin import DateFieldListFilter, register
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memory.admin import columns
from memory.admin.lists import by_entity_name, presence_filter
from memory.admin.models import parts
from memory.admin.row_actions import RowAction
from memory.admin.rows import Column, RowsAdmin, Shown, link, related
from memory.admin.site import site
from memory.models import (
    CausalLink,
    Community,
    CommunityState,
    Entity,
    EntityMention,
    EntityMerge,
    EventParticipant,
    GraphEvidence,
    GraphState,
    MemoryEdge,
    Relation,
    TemporalEvent,
)
from memory.services.graph.relations import retract_relation, supersede_relation
from memory.services.review_decisions import undo_merge_by_id

GRAPH = _("Graph")


def entity(head: Any, field: str) -> Column:
    """Make a column of people and things, which the list's statement joins."""

    def value(row: Any, extras: Any) -> Any:
        found = getattr(row, field)
        return link(Entity, found.pk, columns.masked_text(found, "name")) if found else columns.NOTHING

    return Column(head, value)


@register(Entity, site=site)
class EntityAdmin(RowsAdmin):
    """People and things."""

    area, label, labels = GRAPH, _("person or thing"), _("people and things")
    meaning = _("What memories speak of.")
    columns = (
        parts.text(_("Name"), "name"),
        parts.word(_("Type"), "type"),
        parts.word(_("Who reads it"), "visibility"),
        parts.number(_("Mentions"), "mention_count"),
        parts.share(_("Importance"), "importance"),
        parts.moment(_("Last seen"), "last_seen"),
    )
    ordering = ("-mention_count", "-id")
    list_filter = ("type", "visibility", ("last_seen", DateFieldListFilter))
    id_columns = ("pk", "scope")
    search = staticmethod(by_entity_name)
    search_help = _("An id, or a whole name or alias.")
    read_as = "entity"

    def describe(self, row: Entity) -> Shown:
        """List relations and mentions."""
        mine = Q(source_id=row.pk) | Q(target_id=row.pk)
        relations = Relation.objects.filter(mine).select_related("source", "target").order_by("-weight", "id")[:21]
        mentions = list(EntityMention.objects.filter(entity_id=row.pk)[:21])
        memories = parts.memories_of(one.memory_id for one in mentions)
        return Shown(
            [
                related(
                    _("Relations"),
                    (_("From"), _("Relation"), _("To"), _("Until")),
                    relations,
                    lambda one: (
                        columns.masked_text(one.source, "name"),
                        link(Relation, one.pk, columns.masked_text(one, "label")),
                        columns.masked_text(one.target, "name"),
                        columns.when(one.valid_until),
                    ),
                ),
                related(
                    _("Memories that speak of it"),
                    (_("Memory"),),
                    mentions,
                    lambda one: (memories.get(one.memory_id),),
                ),
            ]
        )


@register(Relation, site=site)
class RelationAdmin(RowsAdmin):
    """Relations: ended and taken back."""

    area, label, labels = GRAPH, _("relation"), _("relations")
    meaning = _("How people and things stand to one another, and for how long.")
    columns = (
        entity(_("From"), "source"),
        parts.text(_("Relation"), "label"),
        entity(_("To"), "target"),
        parts.share(_("Weight"), "weight"),
        parts.share(_("Confidence"), "confidence"),
        parts.moment(_("Holds from"), "valid_from"),
        parts.moment(_("Until"), "valid_until"),
        parts.moment(_("Taken back"), "retracted_at"),
    )
    ordering = ("-id",)
    list_select_related = ("source", "target")
    list_filter = (
        presence_filter("valid_until", _("state"), there=_("ended"), missing=pgettext_lazy("state", "open")),
        presence_filter(
            "retracted_at", pgettext_lazy("column", "belief"), there=_("taken back"), missing=_("believed")
        ),
        ("recorded_at", DateFieldListFilter),
    )
    id_columns = ("pk", "source_id", "target_id")
    search_help = _("An id of a relation or of one of its two sides.")
    read_as = "relation"
    row_actions = (
        RowAction(
            "end",
            _("End it"),
            lambda actor, one: supersede_relation(actor=actor, relation_id=one),
            fits=lambda row: row.valid_until is None and row.retracted_at is None,
        ),
        RowAction(
            "retract",
            _("Take it back"),
            lambda actor, one: retract_relation(actor=actor, relation_id=one),
            fits=lambda row: row.retracted_at is None,
            meant=_("Loci will say that they never held. They are not brought back."),
        ),
    )

    def describe(self, row: Relation) -> Shown:
        """List what it rests on."""
        return Shown([_evidence(GraphEvidence.objects.filter(relation_id=row.pk))])


def _evidence(rows: Any) -> Any:
    read = list(rows.order_by("-created_at", "-pk")[:21])
    memories = parts.memories_of(one.memory_id for one in read)
    return related(
        _("Evidence"),
        (_("Memory"), _("When")),
        read,
        lambda one: (
            memories.get(one.memory_id, columns.NOTHING),
            columns.when(one.created_at),
        ),
    )


@register(TemporalEvent, site=site)
class TemporalEventAdmin(RowsAdmin):
    """Events."""

    area, label, labels = GRAPH, _("event"), _("events")
    meaning = _("What happened at a moment.")
    columns = (
        parts.text(_("What"), "text"),
        parts.word(_("Who reads it"), "visibility"),
        parts.moment(_("Happened"), "occurred_at"),
        parts.moment(_("Recorded"), "recorded_at"),
    )
    ordering = ("-occurred_at", "-id")
    list_filter = ("visibility", ("occurred_at", DateFieldListFilter))
    digest_column = "text_hash"
    search_help = _("An id or a content hash.")

    def describe(self, row: TemporalEvent) -> Shown:
        """List who took part, and what it rests on."""
        ids = EventParticipant.objects.filter(event_id=row.pk).values_list("entity_id", flat=True)[:21]
        people = Entity.objects.filter(pk__in=list(ids))
        return Shown(
            [
                related(
                    _("Who took part"),
                    (_("Name"),),
                    people,
                    lambda one: (link(Entity, one.pk, columns.masked_text(one, "name")),),
                ),
                _evidence(GraphEvidence.objects.filter(event_id=row.pk)),
            ]
        )


@register(CausalLink, site=site)
class CausalLinkAdmin(RowsAdmin):
    """Causes."""

    area, label, labels = GRAPH, _("cause"), _("causes")
    meaning = _("That one thing led to another.")
    columns = (
        parts.text(_("Cause"), "cause"),
        parts.text(_("Effect"), "effect"),
        parts.share(_("Confidence"), "confidence"),
        parts.moment(_("Recorded"), "recorded_at"),
    )
    ordering = ("-recorded_at", "-id")
    list_filter = ("visibility", ("recorded_at", DateFieldListFilter))
    id_columns = ("pk", "cause_entity_id", "effect_entity_id")
    digest_column = "text_hash"
    search_help = _("An id of a cause or of one of its two sides, or a content hash.")

    def describe(self, row: CausalLink) -> Shown:
        """List what it rests on."""
        return Shown([_evidence(GraphEvidence.objects.filter(cause_id=row.pk))])


@register(GraphEvidence, site=site)
class GraphEvidenceAdmin(parts.HoldsText):
    """Reasons to believe."""

    area, label, labels = GRAPH, _("evidence"), _("evidence")
    meaning = _("Which memory a relation, event or cause rests on.")
    columns = (
        Column(
            _("For"),
            lambda row, extras: (
                link(Relation, row.relation_id, _("relation"))
                if row.relation_id
                else link(TemporalEvent, row.event_id, _("event"))
                if row.event_id
                else link(CausalLink, row.cause_id, _("cause"))
            ),
        ),
        parts.memory(_("Memory")),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-id",)
    id_columns = ("pk", "memory_id", "relation_id", "event_id", "cause_id")
    search_help = _("An id of the evidence, its memory, or what it is for.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the memories."""
        return parts.memories_of(row.memory_id for row in rows)


@register(MemoryEdge, site=site)
class MemoryEdgeAdmin(RowsAdmin):
    """Links between memories."""

    area, label, labels = GRAPH, _("link"), _("links between memories")
    meaning = _("Typed links from one memory to another.")
    columns = (
        parts.memory(_("From"), "source_id"),
        parts.word(_("Kind"), "kind"),
        parts.memory(_("To"), "target_id"),
        parts.share(_("Weight"), "weight"),
        parts.text(_("In words"), "relationship"),
        parts.moment(_("Made"), "created_at"),
    )
    ordering = ("-id",)
    list_filter = ("kind", ("created_at", DateFieldListFilter))
    id_columns = ("pk", "source_id", "target_id", "insight_id")
    search_help = _("An id of a link or of one of its memories.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the memories of both sides."""
        return parts.memories_of(one for row in rows for one in (row.source_id, row.target_id))


@register(EntityMerge, site=site)
class EntityMergeAdmin(RowsAdmin):
    """Merges: taken back."""

    area, label, labels = GRAPH, _("merge"), _("merges")
    meaning = _("Where two people or things were made one.")
    columns = (
        entity(_("Kept"), "kept"),
        parts.codes(_("Merged"), "merged_id"),
        parts.word(_("Rule"), "rule"),
        parts.share(_("Score"), "score"),
        parts.codes(_("By"), "actor"),
        parts.moment(_("When"), "merged_at"),
        parts.moment(_("Undone"), "undone_at"),
    )
    ordering = ("-merged_at", "-id")
    list_select_related = ("kept",)
    list_filter = (presence_filter("undone_at", _("state"), there=_("undone"), missing=_("stands")),)
    id_columns = ("pk", "kept_id", "merged_id")
    search_help = _("An id of a merge or of one of the two.")
    # What was moved, by ids and sealed values, for the service that takes a merge back.
    hidden_fields = frozenset({"owner", "record"})
    row_actions = (
        RowAction(
            "undo",
            _("Take it back"),
            lambda actor, one: undo_merge_by_id(actor=actor, merge_id=one),
            fits=lambda row: row.undone_at is None,
        ),
    )


@register(Community, site=site)
class CommunityAdmin(RowsAdmin):
    """Communities."""

    area, label, labels = GRAPH, _("community"), _("communities")
    meaning = _("Memories and people that belong together more than to the rest.")
    columns = (
        parts.number(_("Number"), "number"),
        parts.text(_("Name"), "name"),
        parts.number(_("Memories"), "memories"),
        parts.number(_("People and things"), "entities"),
        parts.moment(_("Changed"), "updated_at"),
    )
    ordering = ("number",)


class _State(RowsAdmin):
    area = GRAPH
    id_columns = ("owner_id",)
    search_help = _("The id of the owner.")
    hidden_fields = frozenset()


@register(CommunityState, site=site)
class CommunityStateAdmin(_State):
    """The newest division into communities."""

    label, labels = _("division into communities"), _("division into communities")
    meaning = _("The newest division of the graph, and how well it separates.")
    columns = (
        parts.number(_("Version of the graph"), "graph_version"),
        parts.share(_("Modularity"), "modularity"),
        parts.number(_("Communities"), "communities"),
        parts.number(_("Nodes"), "nodes"),
        parts.number(_("Links"), "edges"),
        parts.moment(_("Computed"), "computed_at"),
    )


@register(GraphState, site=site)
class GraphStateAdmin(_State):
    """The version of the graph."""

    label, labels = _("version of the graph"), _("version of the graph")
    meaning = _("How often the graph was changed, and when last.")
    columns = (parts.number(_("Version"), "version"), parts.moment(_("Changed"), "changed_at"))
