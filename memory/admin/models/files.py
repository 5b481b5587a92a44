"""Files of agents, places of the graph, and what the owner has chosen for one agent or saved for searching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.admin import DateFieldListFilter, register
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memory.admin import columns
from memory.admin.lists import AgentFilter, presence_filter
from memory.admin.models import parts
from memory.admin.models.agents import AGENTS
from memory.admin.models.graph import GRAPH, entity
from memory.admin.models.work import WORK
from memory.admin.rows import Column, FreeAdmin, RowsAdmin, Shown, link, related
from memory.admin.site import site
from memory.models import (
    AgentFile,
    AgentFileVersion,
    AgentSettings,
    GraphLayout,
    GraphPosition,
    GraphProjection,
    SavedSearch,
)
from memory.palace.presenters import label


class _OfAgents(RowsAdmin):
    area = AGENTS
    list_filter: ClassVar[Any] = (AgentFilter,)

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the agents' names."""
        return {"agents": parts.agents_of(rows)}


@register(AgentFile, site=site)
class AgentFileAdmin(_OfAgents):
    """Files of agents; their texts are masked."""

    label, labels = _("file"), _("files of agents")
    meaning = _("Files that agents and people keep for agents.")
    columns = (
        parts.text(_("Path"), "path"),
        parts.AGENT,
        parts.number(_("Bytes"), "size"),
        parts.number(_("Version"), "version"),
        parts.word(_("Last change"), "change"),
        parts.moment(_("Changed"), "updated_at"),
    )
    ordering = ("-id",)
    list_filter = (
        AgentFilter,
        "change",
        presence_filter("deleted_at", _("state"), there=_("deleted"), missing=_("there")),
        ("updated_at", DateFieldListFilter),
    )
    id_columns = ("pk", "agent_id", "scope")
    digest_column = "path_hash"
    search_help = _("An id of a file or an agent, or a keyed hash of a path.")

    def describe(self, row: AgentFile) -> Shown:
        """List the earlier versions."""
        return Shown(
            [
                related(
                    _("Earlier versions"),
                    (_("Number"), pgettext_lazy("noun", "Change"), _("By"), _("When")),
                    AgentFileVersion.objects.filter(file_id=row.pk).order_by("-number").defer("content")[:21],
                    lambda one: (
                        link(AgentFileVersion, one.pk, one.number),
                        label(one.change),
                        one.changed_by,
                        columns.when(one.made_at),
                    ),
                )
            ]
        )


@register(AgentFileVersion, site=site)
class AgentFileVersionAdmin(RowsAdmin):
    """What files were before."""

    area, label, labels = AGENTS, _("earlier version of a file"), _("earlier versions of files")
    meaning = _("What files of agents were before they were changed.")
    columns = (
        parts.text(_("Path"), "path"),
        parts.number(_("Number"), "number"),
        parts.number(_("Bytes"), "size"),
        parts.word(pgettext_lazy("noun", "Change"), "change"),
        parts.moment(_("Since"), "made_at"),
    )
    ordering = ("-id",)
    list_filter = ("change", ("made_at", DateFieldListFilter))
    id_columns = ("pk", "file_id")
    search_help = _("An id of a version or of its file.")


@register(AgentSettings, site=site)
class AgentSettingsAdmin(_OfAgents):
    """Choices for one agent."""

    label, labels = _("choice for an agent"), _("choices for agents")
    meaning = _("What the owner has chosen for one agent instead of for all.")
    columns = (
        parts.AGENT,
        Column(_("Values"), lambda row, extras: columns.shortened(columns.plain(row.values))),
        parts.moment(_("Changed"), "updated_at"),
    )
    ordering = ("-id",)
    id_columns = ("pk", "agent_id")
    search_help = _("An id of the row or of an agent.")


@register(SavedSearch, site=site)
class SavedSearchAdmin(RowsAdmin):
    """Saved searches, whose questions are the person's own."""

    area, label, labels = WORK, _("saved search"), _("saved searches")
    meaning = _("That searches were saved, and their masked names; the questions are not shown.")
    columns = (
        parts.text(_("Name"), "name"),
        parts.moment(_("Saved"), "created_at"),
        parts.moment(_("Changed"), "updated_at"),
    )
    ordering = ("-created_at", "-id")
    hidden_fields = frozenset({"owner", "question", "choices"})


@register(GraphLayout, site=site)
class GraphLayoutAdmin(RowsAdmin):
    """The newest layout of the graph."""

    area, label, labels = GRAPH, _("layout"), _("layout of the graph")
    meaning = _("When the graph was last laid out.")
    columns = (
        parts.number(_("Version of the graph"), "graph_version"),
        parts.number(_("Places"), "nodes"),
        parts.moment(_("Computed"), "computed_at"),
    )
    id_columns = ("owner_id",)
    hidden_fields = frozenset()


@register(GraphProjection, site=site)
class GraphProjectionAdmin(FreeAdmin):
    """How far the projection to Neo4j is."""

    area, label, labels = GRAPH, _("projection to Neo4j"), _("projection to Neo4j")
    meaning = _("How far the projection of the graph to Neo4j is; ids, counts and times only.")
    columns = (
        parts.word(_("State"), "state"),
        parts.number(_("Changes waiting"), "waiting"),
        parts.moment(_("Behind since"), "behind_since"),
        parts.moment(_("Projected"), "projected_at"),
        parts.codes(_("Error"), "error_code"),
    )
    ordering = ("pk",)
    id_columns = ("owner_id",)
    search_help = _("The id of an owner.")
    hidden_fields = frozenset()

    def own_rows(self, rows: Any, user: Any, owner_id: Any) -> Any:
        """Give the own owner's projection."""
        return rows.filter(owner_id=owner_id)

    def value_of(self, row: Any, column: Any) -> Any:
        """Write an owner by the id alone."""
        return columns.code(str(row.owner_id)) if column.name == "owner" else super().value_of(row, column)


@register(GraphPosition, site=site)
class GraphPositionAdmin(RowsAdmin):
    """Places in the graph."""

    area, label, labels = GRAPH, _("place"), _("places in the graph")
    meaning = _("Where memories, people and things stand in the graph.")
    columns = (
        parts.memory(_("Memory")),
        entity(_("Person or thing"), "entity"),
        Column(_("x"), lambda row, extras: columns.share(row.x), number=True),
        Column(_("y"), lambda row, extras: columns.share(row.y), number=True),
    )
    ordering = ("-id",)
    list_select_related = ("entity",)
    id_columns = ("pk", "memory_id", "entity_id")
    search_help = _("An id of a memory, a person or a thing.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the memories."""
        return parts.memories_of(row.memory_id for row in rows)
