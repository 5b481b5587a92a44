"""Agents, their groups, their keys and the bus between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.admin import DateFieldListFilter, register
from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from memory.admin import columns
from memory.admin.lists import AgentFilter, by_name, presence_filter
from memory.admin.models import parts
from memory.admin.row_actions import RowAction
from memory.admin.rows import Column, RowsAdmin, Shown, link, related
from memory.admin.site import site
from memory.errors import NotFound
from memory.models import Agent, AgentGroup, AgentKey, BusMessage, GroupMembership, Memory, Session, owner_scope
from memory.palace.presenters import label
from memory.services.actors import Actor
from memory.services.agents import pause_agent, revoke_key, set_membership

AGENTS = _("Agents")


@register(Agent, site=site)
class AgentAdmin(RowsAdmin):
    """Agents: paused and let go on."""

    area, label, labels = AGENTS, _("agent"), _("agents")
    meaning = _("Programs that act for the owner.")
    columns = (
        parts.text(_("Name"), "name"),
        Column(_("State"), lambda row, extras: _("paused") if row.paused_at else _("works")),
        Column(_("Keys"), lambda row, extras: str(extras.get(row.pk, 0)), number=True),
        parts.share(_("Trust"), "trust"),
        parts.moment(_("Made"), "created_at"),
    )
    ordering = ("-id",)
    list_filter = (presence_filter("paused_at", _("state"), there=_("paused"), missing=_("works")),)
    search = staticmethod(by_name)
    search_help = _("An id, or the whole name.")
    row_actions = (
        RowAction(
            "pause",
            _("Pause"),
            lambda actor, one: pause_agent(actor=actor, agent_id=one, paused=True),
            fits=lambda row: row.paused_at is None,
        ),
        RowAction(
            "resume",
            _("Let it work again"),
            lambda actor, one: pause_agent(actor=actor, agent_id=one, paused=False),
            fits=lambda row: row.paused_at is not None,
        ),
    )

    def extras(self, rows: Sequence[Any]) -> Any:
        """Count the keys that work."""
        keys = AgentKey.objects.filter(agent__in=rows, revoked_at=None).order_by()
        return dict(keys.values_list("agent_id").annotate(n=Count("pk")))

    def describe(self, row: Agent) -> Shown:
        """List the keys, groups, conversations and newest memories of an agent."""
        mine = {"agent_id": row.pk}
        members = GroupMembership.objects.filter(**mine).select_related("group")[:21]
        return Shown(
            [
                related(
                    _("Keys"),
                    (_("Label"), _("Begins with"), _("Last used"), _("Revoked")),
                    AgentKey.objects.filter(**mine).order_by("-created_at")[:21],
                    lambda one: (
                        link(AgentKey, one.pk, columns.masked_text(one, "label")),
                        columns.code(one.prefix),
                        columns.when(one.last_used_at),
                        columns.when(one.revoked_at),
                    ),
                ),
                related(
                    _("Groups"),
                    (_("Name"), _("Sort")),
                    members,
                    lambda one: (
                        link(AgentGroup, one.group_id, columns.masked_text(one.group, "name")),
                        label(one.group.kind),
                    ),
                ),
                related(
                    _("Conversations"),
                    (_("Label"), _("Turns"), _("Last turn")),
                    Session.objects.filter(**mine).order_by("-id")[:21],
                    lambda one: (
                        link(Session, one.pk, columns.masked_text(one, "label")),
                        str(one.turn_count),
                        columns.when(one.last_turn_at),
                    ),
                ),
                parts.memory_rows(
                    _("Newest memories"), Memory.objects.filter(**mine).order_by("-created_at", "-id")[:21]
                ),
            ]
        )


@register(AgentKey, site=site)
class AgentKeyAdmin(RowsAdmin):
    """Keys: revoked, and never shown."""

    area, label, labels = AGENTS, _("key"), _("keys")
    meaning = _("Keys of agents, of which only a digest is kept.")
    columns = (
        parts.text(_("Label"), "label"),
        parts.AGENT,
        parts.codes(_("Begins with"), "prefix"),
        Column(_("May"), lambda row, extras: ", ".join(row.scopes)),
        parts.moment(_("Last used"), "last_used_at"),
        parts.moment(_("Expires"), "expires_at"),
        parts.moment(_("Revoked"), "revoked_at"),
    )
    ordering = ("-id",)
    list_filter = (
        AgentFilter,
        presence_filter("revoked_at", _("state"), there=_("revoked"), missing=_("works")),
        presence_filter("last_used_at", _("use"), there=_("used"), missing=_("never used")),
    )
    id_columns = ("pk", "agent_id")
    search_help = _("An id of a key or an agent.")
    hidden_fields = frozenset({"owner", "digest", "proof"})
    row_actions = (
        RowAction(
            "revoke",
            _("Revoke"),
            lambda actor, one: revoke_key(actor=actor, key_id=one),
            fits=lambda row: row.revoked_at is None,
            meant=_("They stop working at once and for good."),
        ),
    )

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the agents' names."""
        return {"agents": parts.agents_of(rows)}


@register(AgentGroup, site=site)
class AgentGroupAdmin(RowsAdmin):
    """Projects and squads."""

    area, label, labels = AGENTS, _("group"), _("groups")
    meaning = _("Projects and squads: agents that share what they store.")
    columns = (
        parts.text(_("Name"), "name"),
        parts.word(_("Sort"), "kind"),
        Column(_("Agents"), lambda row, extras: str(extras.get(row.pk, 0)), number=True),
        parts.moment(_("Made"), "created_at"),
    )
    ordering = ("-id",)
    list_filter = ("kind",)
    search = staticmethod(by_name)
    search_help = _("An id, or the whole name.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Count the members."""
        members = GroupMembership.objects.filter(group__in=rows).order_by()
        return dict(members.values_list("group_id").annotate(n=Count("pk")))

    def describe(self, row: AgentGroup) -> Shown:
        """List the members."""
        members = GroupMembership.objects.filter(group_id=row.pk).select_related("agent")[:21]
        return Shown(
            [
                related(
                    _("Agents"),
                    (_("Agent"), _("Since")),
                    members,
                    lambda one: (
                        link(Agent, one.agent_id, columns.masked_text(one.agent, "name")),
                        columns.when(one.created_at),
                    ),
                )
            ]
        )


def _leave(actor: Actor, one: UUID) -> None:
    with owner_scope(actor.owner_id):
        row = GroupMembership.objects.filter(pk=one).first()
    if row is None:
        raise NotFound("There is nothing with this id here.")
    set_membership(actor=actor, group_id=row.group_id, agent_id=row.agent_id, member=False)


@register(GroupMembership, site=site)
class GroupMembershipAdmin(RowsAdmin):
    """Places of agents in groups."""

    area, label, labels = AGENTS, _("membership"), _("memberships")
    meaning = _("Which agent belongs to which group.")
    columns = (
        parts.AGENT,
        Column(_("Group"), lambda row, extras: link(AgentGroup, row.group_id, columns.masked_text(row.group, "name"))),
        parts.moment(_("Since"), "created_at"),
    )
    ordering = ("-id",)
    list_select_related = ("group",)
    list_filter = (AgentFilter,)
    id_columns = ("pk", "group_id", "agent_id")
    search_help = _("An id of a group or an agent.")
    row_actions = (RowAction("leave", _("Take out of the group"), _leave),)

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the agents' names."""
        return {"agents": parts.agents_of(rows)}


@register(BusMessage, site=site)
class BusMessageAdmin(RowsAdmin):
    """Messages between agents."""

    area, label, labels = AGENTS, _("message"), _("messages")
    meaning = _("Messages between agents, which are kept for a day.")
    columns = (
        parts.text(_("Text"), "text"),
        Column(
            _("From"), lambda row, extras: link(Agent, row.publisher_id, columns.masked_text(row.publisher, "name"))
        ),
        parts.word(_("For"), "visibility"),
        parts.share(_("Importance"), "importance"),
        parts.moment(_("Published"), "published_at"),
        parts.moment(_("Expires"), "expires_at"),
    )
    ordering = ("-id",)
    list_select_related = ("publisher",)
    list_filter = ("visibility", ("published_at", DateFieldListFilter))
    id_columns = ("pk", "publisher_id", "scope")
    search_help = _("An id of a message, of its publisher, or of who it is for.")
    hidden_fields = frozenset({"owner", "topic_hashes"})
