"""Searches that a person keeps under a name, to ask them again."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.models import Owner, SavedSearch, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.text import limits

MOST_SAVED: Final = 100
MOST_NAME_CHARACTERS: Final = 80
MOST_CHOICES_BYTES: Final = 4096
GONE: Final = "There is no such saved search. It may have been deleted."


def list_saved_searches(*, actor: Actor) -> list[SavedSearch]:
    """List the searches that were kept, newest first; raises PermissionRefused for an agent."""
    _require_person(actor, Permission.READ)
    with owner_scope(actor.owner_id):
        return list(SavedSearch.objects.order_by("-created_at", "-pk"))


def get_saved_search(*, actor: Actor, search_id: UUID) -> SavedSearch:
    """Give one search that was kept; raises NotFound for an unknown one."""
    _require_person(actor, Permission.READ)
    with owner_scope(actor.owner_id):
        row: SavedSearch | None = SavedSearch.objects.filter(pk=search_id).first()
        if row is None:
            raise NotFound(GONE)
        return row


def save_search(*, actor: Actor, name: Any, question: Any = "", choices: Any = "") -> SavedSearch:
    """Keep a search under a name.

    Args:
        actor: a person.
        name: what to call it, at most 80 characters.
        question: what is asked; empty where the search has filters only.
        choices: what else the search page's address holds after its question mark: filters, profile, numbers.

    Raises:
        InvalidInput: the name is blank or too long, a text cannot be stored, or there is nothing to keep.
        TooLarge: the choices have more than 4,096 bytes.
        Conflict: 100 are kept already.
        PermissionRefused: an agent asks.
    """
    _require_person(actor, Permission.SETTINGS)
    name = _checked_name(name)
    question = limits.checked_query(question, field="question") if question else ""
    choices = limits.checked_text(choices, field="choices", max_bytes=MOST_CHOICES_BYTES) if choices else ""
    if limits.is_blank(question) and not choices:
        raise InvalidInput(
            "There is nothing to keep yet: ask something or choose a filter first.",
            code="saved_search.empty",
            field="question",
        )
    with owner_scope(actor.owner_id):
        # One at a time, so that two do not pass the limit together.
        Owner.objects.select_for_update(no_key=True).get(pk=actor.owner_id)
        if SavedSearch.objects.count() >= MOST_SAVED:
            raise Conflict(f"{MOST_SAVED} searches are kept already. Delete one first.", code="saved_search.too_many")
        moment = now()
        made: SavedSearch = SavedSearch.objects.create(
            name=name, question=question, choices=choices, created_at=moment, updated_at=moment
        )
        return made


def rename_saved_search(*, actor: Actor, search_id: UUID, name: Any) -> SavedSearch:
    """Give a search another name; raises NotFound for an unknown one and InvalidInput for a name that cannot be."""
    _require_person(actor, Permission.SETTINGS)
    name = _checked_name(name)
    with owner_scope(actor.owner_id):
        row: SavedSearch | None = SavedSearch.objects.select_for_update().filter(pk=search_id).first()
        if row is None:
            raise NotFound(GONE)
        row.name, row.updated_at = name, now()
        row.save(update_fields=["name", "updated_at"])
        return row


def delete_saved_search(*, actor: Actor, search_id: UUID) -> None:
    """Delete a saved search; raises NotFound for an unknown one."""
    _require_person(actor, Permission.SETTINGS)
    with owner_scope(actor.owner_id):
        row = SavedSearch.objects.filter(pk=search_id).first()
        if row is None:
            raise NotFound(GONE)
        row.delete()


def _require_person(actor: Actor, permission: Permission) -> None:
    """Refuse agents: what a person asks again and again is that person's own affair."""
    actor.require(permission)
    if not actor.human:
        raise PermissionRefused(
            "Saved searches are a person's own; no agent sees or changes them.", code="auth.person_only"
        )


def _checked_name(value: Any) -> str:
    name = " ".join(limits.checked_text(value, field="name", max_bytes=4 * MOST_NAME_CHARACTERS).split())
    if len(name) > MOST_NAME_CHARACTERS:
        raise InvalidInput(f"A name has at most {MOST_NAME_CHARACTERS} characters.", code="name.too_long", field="name")
    return name
