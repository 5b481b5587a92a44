"""When logins end, open sockets are judged anew: a session that goes, another password, a login that is closed."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete, post_save

from memory.models import Owner, User
from memory.ports.live import announce_access

# What a session's validity depends on.
_FIELDS: Final = frozenset({"password", "is_active"})


def connect() -> None:
    """Join the signals of sessions and logins; done once."""
    post_delete.connect(_session_ended, sender=Session, dispatch_uid="loci.live.session")
    post_save.connect(_login_changed, sender=User, dispatch_uid="loci.live.login")


def _session_ended(sender: Any, instance: Session, **_: Any) -> None:
    """Follow a session that is deleted, within the transaction that deletes it: a log-out, or an operator."""
    user_id = instance.get_decoded().get(SESSION_KEY)
    if user_id is not None:
        _judge(user_id)


def _login_changed(
    sender: Any, instance: User, created: bool, update_fields: frozenset[str] | None = None, **_: Any
) -> None:
    if not created and (update_fields is None or update_fields & _FIELDS):
        _judge(instance.pk)


def _judge(user_id: UUID | str) -> None:
    owner_id = Owner.objects.filter(user_id=user_id, purging_at=None).values_list("pk", flat=True).first()
    if owner_id is not None:
        announce_access(owner_id)
