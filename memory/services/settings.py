"""An owner's settings: few, typed, with defaults; stored without personal data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory.errors import Conflict, InvalidInput
from memory.models import OwnerSettings, owner_scope
from memory.recall.profiles import SHIPPED
from memory.services.actors import Actor, Permission


@dataclass(frozen=True, slots=True)
class OwnerSetting:
    """One setting: its default, what it means and which values it takes."""

    default: Any
    meaning: str
    accepts: Callable[[Any], bool]
    values: str


def _whole(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _unit(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


OWNER_SETTINGS: Final[Mapping[str, OwnerSetting]] = {
    "recall_profile": OwnerSetting(
        "default",
        "Profile that recall uses when none is named.",
        lambda value: isinstance(value, str) and value in SHIPPED,
        ", ".join(SHIPPED),
    ),
    "recall_limit": OwnerSetting(5, "Memories in a context block.", _whole(1, 100), "1 to 100"),
    "recall_threshold": OwnerSetting(0.3, "Least relevance of a memory in a context block.", _unit, "0 to 1"),
    "context_tokens": OwnerSetting(500, "Token budget of a context block.", _whole(50, 32_000), "50 to 32000"),
    "context_format": OwnerSetting(
        "prax",
        "Form of a context block.",
        lambda value: value in ("prax", "praxis", "cortex"),
        "prax, praxis, cortex",
    ),
    "archive_retention_days": OwnerSetting(
        0, "Days after which archived memories are erased; 0 keeps them.", _whole(0, 36_500), "0 to 36500"
    ),
}


def get_settings(*, actor: Actor) -> dict[str, Any]:
    """Give all settings of the owner, with defaults where nothing was chosen, and the version."""
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return current_settings()


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
    for name, value in changes.items():
        setting = OWNER_SETTINGS.get(name)
        if setting is None:
            raise InvalidInput(f"There is no setting {name[:40]!r}.", code="setting.unknown", field=name[:40])
        if value is not None and not setting.accepts(value):
            raise InvalidInput(f"{name} takes {setting.values}.", code="setting.invalid", field=name)
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
        return current_settings()
