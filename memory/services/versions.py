"""Going back to what a memory said before."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from memory.errors import NotFound
from memory.models import Memory
from memory.services.actors import Actor
from memory.services.changes import CHANGEABLE, change_memory
from memory.services.clock import now
from memory.services.memories import history
from memory.text import limits


def restore_version(*, actor: Actor, memory_id: UUID, number: int, version: int | None = None) -> Memory:
    """Make a memory say what an earlier version said, as a new version, so that nothing is lost by it.

    Who may read it stays as it is now, and so does when it expires where that moment of then has passed.

    Args:
        actor: who goes back.
        memory_id: which memory.
        number: of the version, from 1.
        version: refuse when the memory has another version by now.

    Raises:
        NotFound: no such memory, or no such version of it.
        Conflict, InvalidInput: as `change_memory`.
    """
    later = [one for one in history(actor=actor, memory_id=memory_id) if one.number >= number]
    if not later or later[-1].number != number:
        raise NotFound("This memory has no version with this number.")
    changes: dict[str, Any] = {}
    for one in later:
        # From the newest to the oldest: what the oldest change replaced is what was so then.
        changes |= {name: value for name, value in one.changes.items() if name in CHANGEABLE}
    ends = changes.get("expires_at")
    if ends is not None and limits.checked_moment(ends) <= now():
        # Nobody goes back to what a memory said to have it gone.
        del changes["expires_at"]
    return change_memory(actor=actor, memory_id=memory_id, changes={**changes, "text": later[-1].text}, version=version)
