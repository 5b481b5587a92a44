"""A person's own look at the key of the texts, and a new one when the person asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest

from memory.crypto.keyring import keyring
from memory.errors import Conflict
from memory.models import Owner, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.keys.rotation import begin_rotation, next_rotation
from memory.services.reauthentication import confirm_person


@dataclass(frozen=True, slots=True)
class TextKey:
    """How it stands with the key that an owner's texts are sealed with.

    Attributes:
        made_at: when the present one was made.
        next_at: when the next one is made by itself; None where that is on demand only.
        moving: whether texts are being sealed anew, so that an earlier key is still there.
    """

    made_at: datetime
    next_at: datetime | None
    moving: bool


def text_key(*, actor: Actor) -> TextKey:
    """Tell how old the key of the actor's texts is; raises PermissionRefused without `privacy:manage`."""
    actor.require(Permission.PRIVACY)
    known = keyring().vault.versions(actor.owner_id)
    # Vaults of earlier installations do not say when the first one was made.
    made = known[max(known)] or Owner.objects.values_list("created_at", flat=True).get(pk=actor.owner_id)
    return TextKey(made, next_rotation(owner_id=actor.owner_id), moving=len(known) > 1)


def renew_text_key(*, actor: Actor, password: str, request: HttpRequest) -> int:
    """Give the person's texts a new key, in the background; what is erased becomes unreadable with the old one.

    Args:
        actor: the person.
        password: as it was typed.
        request: from which address.

    Returns:
        The number of the new key.

    Raises:
        PermissionRefused: `auth.person_only`, `auth.password_wrong`.
        RateLimited: `auth.locked`, too many wrong passwords.
        Conflict: `key.moving`, the texts are still being moved to the key that was made before.
        KeysUnavailable: the keys cannot be written; nothing was changed.
    """
    confirm_person(actor=actor, password=password, confirm=None, request=request)
    if len(keyring().vault.versions(actor.owner_id)) > 1:
        raise Conflict("Your texts are still being moved to the last new key.", code="key.moving")
    version = begin_rotation(owner_id=actor.owner_id)
    with owner_scope(actor.owner_id):
        record(actor=actor.label, verb="create", object_kind="key", reason="texts", at=now())
    return version
