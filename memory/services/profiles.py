"""Recall profiles of an owner: the shipped ones with the owner's changes, which are versioned and can be reset."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Max

from memory.errors import InvalidInput, NotFound
from memory.models import Owner, OwnerSettings, ProfileOverride, owner_scope
from memory.ports.profile_choice import ChosenProfile, chosen_profile
from memory.recall.profiles import SHIPPED, RecallProfile, shipped, with_changes
from memory.services.actors import Actor, Permission
from memory.services.agent_settings import chosen_for
from memory.services.audit.recording import record
from memory.services.clock import now

# Among an owner's choices: the id of the experiment that runs, where one does. It is no setting that anybody chooses.
EXPERIMENT: Final = "experiment"


def profile_for(actor: Actor, name: str | None) -> tuple[RecallProfile, ChosenProfile | None]:
    """Give the profile that answers a request: the named one, else an experiment's, the agent's or the owner's.

    Run it in the owner's scope. An experiment costs no statement where none runs, since the owner's choices name it.

    Returns:
        The profile as it stands for the owner, and the experiment's choice where one has made it.

    Raises:
        NotFound: no such profile.
    """
    if name is not None:
        return effective_profile(name), None
    values = OwnerSettings.objects.values_list("values", flat=True).first() or {}
    running = values.get(EXPERIMENT)
    chosen = chosen_profile(actor.owner_id, actor.agent_id, UUID(running)) if running else None
    if chosen:
        return effective_profile(chosen.profile), chosen
    own = chosen_for(actor).get("recall_profile") or values.get("recall_profile", "default")
    return effective_profile(own), None


def run_experiment(*, actor: Actor, experiment_id: UUID | None) -> None:
    """Note which experiment chooses profiles for an owner's agents, within the owner's scope; None ends it."""
    actor.require(Permission.SETTINGS)
    row, _ = OwnerSettings.objects.select_for_update().get_or_create(owner_id=actor.owner_id, defaults={"version": 0})
    row.values = {name: value for name, value in row.values.items() if name != EXPERIMENT}
    if experiment_id is not None:
        row.values[EXPERIMENT] = str(experiment_id)
    row.save(update_fields=["values", "updated_at"])


def effective_profile(name: str) -> RecallProfile:
    """Give a profile as it stands for the owner, within the owner's scope; raises NotFound for another name."""
    profile = shipped(name)
    newest = ProfileOverride.objects.filter(profile=profile.name).order_by("-version").first()
    return with_changes(profile, newest.values) if newest else profile


def profile_of(*, actor: Actor, name: str | None = None) -> RecallProfile:
    """Give a profile as it stands for the owner, the chosen one where none is named; raises NotFound for another name.

    What an experiment chooses is left out: it decides for each request anew.
    """
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        if name is None:
            values = OwnerSettings.objects.values_list("values", flat=True).first() or {}
            name = str(values.get("recall_profile", "default"))
        return effective_profile(name)


def list_profiles(*, actor: Actor) -> list[dict[str, Any]]:
    """Describe every profile as it stands for the owner, with the version of its changes (0 for none)."""
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        versions = dict(ProfileOverride.objects.values_list("profile").annotate(Max("version")))
        return [describe(effective_profile(name), version=versions.get(name, 0)) for name in SHIPPED]


def get_profile(*, actor: Actor, name: str) -> dict[str, Any]:
    """Describe one profile as it stands for the owner; raises NotFound for another name."""
    actor.require(Permission.READ)
    shipped(name)
    with owner_scope(actor.owner_id):
        version = ProfileOverride.objects.filter(profile=name).aggregate(last=Max("version"))["last"] or 0
        return describe(effective_profile(name), version=version)


def change_profile(*, actor: Actor, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change fields of a profile for the owner, as a new version; fields not named keep their value.

    Raises:
        InvalidInput: no field named, an unknown one, or a value out of bounds; nothing was changed.
        NotFound: no such profile.
    """
    actor.require(Permission.SETTINGS)
    if not changes:
        raise InvalidInput("Name at least one field to change.", code="profile.invalid")
    base = shipped(name)
    with owner_scope(actor.owner_id):
        _one_at_a_time(actor)
        newest = ProfileOverride.objects.filter(profile=name).order_by("-version").first()
        values = {**(newest.values if newest else {}), **changes}
        changed = with_changes(base, values)
        version = (newest.version if newest else 0) + 1
        ProfileOverride.objects.create(profile=name, version=version, values=values, created_at=now())
        record(actor=actor.label, verb="change", object_kind="profile", reason=name, at=now())
    return describe(changed, version=version)


def reset_profile(*, actor: Actor, name: str) -> dict[str, Any]:
    """Give a profile back its shipped values, as a new version; without effect when nothing was changed."""
    actor.require(Permission.SETTINGS)
    base = shipped(name)
    with owner_scope(actor.owner_id):
        _one_at_a_time(actor)
        newest = ProfileOverride.objects.filter(profile=name).order_by("-version").first()
        if newest is None or not newest.values:
            return describe(base, version=newest.version if newest else 0)
        version = newest.version + 1
        ProfileOverride.objects.create(profile=name, version=version, values={}, created_at=now())
        record(actor=actor.label, verb="reset", object_kind="profile", reason=name, at=now())
    return describe(base, version=version)


@dataclass(frozen=True, slots=True)
class FormerChanges:
    """One version of an owner's changes to a profile; no values are a reset."""

    version: int
    at: datetime
    values: Mapping[str, Any]


def profile_history(*, actor: Actor, name: str, size: int = 10) -> list[FormerChanges]:
    """List the versions of the owner's changes to a profile, newest first; raises NotFound for another name."""
    actor.require(Permission.READ)
    shipped(name)
    with owner_scope(actor.owner_id):
        rows = ProfileOverride.objects.filter(profile=name).order_by("-version")[:size]
        return [FormerChanges(row.version, row.created_at, row.values) for row in rows]


def restore_profile(*, actor: Actor, name: str, version: int) -> dict[str, Any]:
    """Bring back a former version of the owner's changes to a profile, as a new version; 0 is the shipped profile.

    Raises:
        NotFound: no such profile, or no such version of its changes.
    """
    actor.require(Permission.SETTINGS)
    if version == 0:
        return reset_profile(actor=actor, name=name)
    base = shipped(name)
    with owner_scope(actor.owner_id):
        _one_at_a_time(actor)
        known = dict(ProfileOverride.objects.filter(profile=name).values_list("version", "values"))
        if version not in known:
            raise NotFound("There is no such version of this profile.", code="profile.version_unknown")
        changed, newest = with_changes(base, known[version]), max(known)
        if known[newest] == known[version]:
            return describe(changed, version=newest)
        ProfileOverride.objects.create(profile=name, version=newest + 1, values=known[version], created_at=now())
        record(actor=actor.label, verb="change", object_kind="profile", reason=name, at=now())
    return describe(changed, version=newest + 1)


def _one_at_a_time(actor: Actor) -> None:
    """Let one change of an owner's choices wait for another, so that each gets a version of its own."""
    Owner.objects.select_for_update(no_key=True).get(pk=actor.owner_id)


def describe(profile: RecallProfile, *, version: int) -> dict[str, Any]:
    """Turn a profile into plain values."""
    values = dataclasses.asdict(profile)
    values["arms"] = list(profile.arms)
    return {**values, "version": version}
