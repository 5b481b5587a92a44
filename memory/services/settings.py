"""An owner's settings: few, typed, with defaults; stored without personal data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.errors import Conflict, InvalidInput
from memory.models import DueWork, OwnerSettings, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.settings_table import CONSOLIDATION, OWNER_SETTINGS
from memory.services.writing import call_for_work


def get_settings(*, actor: Actor) -> dict[str, Any]:
    """Give all settings of the owner, with defaults where nothing was chosen, and the version."""
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return current_settings()


def chosen_settings(*, actor: Actor) -> dict[str, Any]:
    """Give those settings that the owner has chosen, without the defaults of the others."""
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        values = OwnerSettings.objects.values_list("values", flat=True).first() or {}
        return {name: value for name, value in values.items() if name in OWNER_SETTINGS}


def settings_version(*, actor: Actor) -> int:
    """Give the version of the owner's settings, to callers that may read or change them."""
    if Permission.SETTINGS not in actor.permissions:
        actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return int(current_settings()["version"])


def current_settings() -> dict[str, Any]:
    """Give the settings of the current owner's scope; see `get_settings`."""
    row = OwnerSettings.objects.first()
    chosen = row.values if row else {}
    values = {name: chosen.get(name, setting.default) for name, setting in OWNER_SETTINGS.items()}
    return {"values": values, "version": row.version if row else 0}


def change_settings(*, actor: Actor, changes: Mapping[str, Any], version: int | None = None) -> dict[str, Any]:
    """Change settings; null gives one its default back.

    Raises:
        InvalidInput: an unknown setting or a value it does not take; nothing was changed.
        Conflict: `version` is given and the settings have another one by now.
    """
    actor.require(Permission.SETTINGS)
    checked_changes(changes)
    with owner_scope(actor.owner_id):
        row, _ = OwnerSettings.objects.select_for_update().get_or_create(
            owner_id=actor.owner_id, defaults={"version": 0}
        )
        if version is not None and version != row.version:
            raise Conflict("The settings were changed meanwhile. Nothing was changed.", code="settings.version")
        values = {**row.values, **changes}
        row.values = {name: value for name, value in values.items() if value is not None}
        row.version += 1
        row.save()
        record(actor=actor.label, verb="change", object_kind="settings", reason=named(changes), at=now())
        if any(OWNER_SETTINGS[name].group in CONSOLIDATION for name in changes):
            # What is due, and when, depends on them; a worker looks anew.
            call_for_work(DueWork.CONSOLIDATE, due_at=now())
        if row.values.get("privacy_model", "off") != "off" and "privacy_model" in changes:
            # What was stored before is looked at too.
            call_for_work(DueWork.CLASSIFY, due_at=now())
        return current_settings()


def checked_changes(changes: Mapping[str, Any]) -> None:
    """Refuse an unknown setting, or a value that one does not take; raises InvalidInput."""
    for name, value in changes.items():
        setting = OWNER_SETTINGS.get(name)
        if setting is None:
            raise InvalidInput(f"There is no setting {name[:40]!r}.", code="setting.unknown", field=name[:40])
        if value is not None and not setting.accepts(value):
            raise InvalidInput(f"{name} takes {setting.values}.", code="setting.invalid", field=name)


def named(changes: Mapping[str, Any]) -> str:
    """Name what was changed: the setting, or how many."""
    return next(iter(changes)) if len(changes) == 1 else f"{len(changes)} settings"
