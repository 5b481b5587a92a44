"""What is chosen for one agent instead of for all: its own value, else the owner's, else the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Agent, AgentSettings, DueWork, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.settings import checked_changes, current_settings, named
from memory.services.settings_table import OWNER_SETTINGS
from memory.services.writing import call_for_work

AGENT_SETTINGS: Final = (
    "auto_recall",
    "auto_capture",
    "recall_profile",
    "recall_limit",
    "recall_threshold",
    "context_tokens",
    "context_format",
    "retention_policy",
)
"""The settings that can differ by agent; the others hold for the owner as a whole."""


def get_agent_settings(*, actor: Actor, agent_id: UUID) -> dict[str, Any]:
    """Give the settings that hold for an agent, those of them that were chosen for it alone, and their version.

    Raises:
        NotFound: no such agent.
        PermissionRefused: the permission to manage agents is missing.
    """
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        _refuse_unknown(agent_id)
        return _settings_of(agent_id)


def agent_settings_version(*, actor: Actor, agent_id: UUID) -> int:
    """Give the version of an agent's settings, to callers that may read or change them; raises NotFound."""
    if Permission.SETTINGS not in actor.permissions:
        actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        _refuse_unknown(agent_id)
        return int(_settings_of(agent_id)["version"])


def change_agent_settings(
    *, actor: Actor, agent_id: UUID, changes: Mapping[str, Any], version: int | None = None
) -> dict[str, Any]:
    """Choose settings for one agent; null gives one the owner's value back.

    Raises:
        NotFound: no such agent.
        InvalidInput: a setting that agents do not have, or a value that it does not take; nothing was changed.
        Conflict: `version` is given and the settings have another one by now.
        PermissionRefused: the permission is missing; nothing was changed.
    """
    actor.require(Permission.SETTINGS)
    for name in changes:
        if name in OWNER_SETTINGS and name not in AGENT_SETTINGS:
            raise InvalidInput(
                f"{name} holds for the owner as a whole and not for one agent.",
                code="setting.not_of_agents",
                field=name,
            )
    checked_changes(changes)
    with owner_scope(actor.owner_id):
        _refuse_unknown(agent_id)
        row, _ = AgentSettings.objects.select_for_update().get_or_create(
            owner_id=actor.owner_id, agent_id=agent_id, defaults={"version": 0}
        )
        if version is not None and version != row.version:
            raise Conflict("The settings were changed meanwhile. Nothing was changed.", code="settings.version")
        values = {**row.values, **changes}
        row.values = {name: value for name, value in values.items() if value is not None}
        row.version += 1
        row.save()
        reason = named(changes)
        record(actor=actor.label, verb="change", object_kind="settings", object_id=agent_id, reason=reason, at=now())
        if "retention_policy" in changes:
            call_for_work(DueWork.CONSOLIDATE, due_at=now())
        return _settings_of(agent_id)


def settings_for(actor: Actor) -> dict[str, Any]:
    """Give the values that hold for who asks, within the owner's scope: an agent's own go before the owner's."""
    return {**current_settings()["values"], **chosen_for(actor)}


def chosen_for(actor: Actor) -> dict[str, Any]:
    """Give what was chosen for the agent that asks alone, within the owner's scope; nothing for a person."""
    if actor.agent_id is None:
        return {}
    return _known(AgentSettings.objects.filter(agent_id=actor.agent_id).values_list("values", flat=True).first() or {})


def chosen_by_agents(name: str) -> dict[UUID, Any]:
    """Give what was chosen for single agents in one setting, by agent, within the owner's scope."""
    rows = AgentSettings.objects.filter(values__has_key=name).values_list("agent_id", f"values__{name}")
    return dict(rows)


def _settings_of(agent_id: UUID) -> dict[str, Any]:
    row = AgentSettings.objects.filter(agent_id=agent_id).first()
    chosen = _known(row.values) if row else {}
    values = current_settings()["values"]
    return {
        "values": {name: chosen.get(name, values[name]) for name in AGENT_SETTINGS},
        "chosen": chosen,
        "version": row.version if row else 0,
    }


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in AGENT_SETTINGS}


def _refuse_unknown(agent_id: UUID) -> None:
    if not Agent.objects.filter(pk=agent_id).exists():
        raise NotFound("There is no agent with this id here.")
