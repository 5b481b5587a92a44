"""What goes of merges when memories are erased: entities that nothing but these spoke of are not to be put back."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.graph.names import canonical
from memory.models import Entity, EntityMention, EntityMerge, Memory, current_owner
from memory.services.graph.naming import name_anew
from memory.services.sealed_values import is_closed


def forget_merges(memory_ids: Sequence[UUID]) -> None:
    """Forget merged entities of which no other memory spoke, with the names that they left to the one kept.

    Call it within the owner's scope, after `take_turn` and just before the memories are deleted. An entity that was
    stated without a memory stays known.

    Args:
        memory_ids: memories of the current owner that are about to be erased.
    """
    gone = list(memory_ids)
    entities = EntityMention.objects.filter(memory_id__in=gone).values("entity_id")
    for merge in EntityMerge.objects.filter(kept_id__in=entities, undone_at=None).order_by("pk"):
        if is_closed(merge, "record"):
            # Its key is destroyed: nobody can undo it, or read what it holds.
            continue
        mentions = [UUID(memory_id) for memory_id in merge.record["mentions"]]
        if merge.record["merged"]["stated"] or not set(mentions) & set(gone):
            continue
        if Memory.objects.filter(pk__in=mentions).exclude(pk__in=gone).exists():
            continue
        left = {canonical(name) for name in merge.record["names_added"]}
        merge.delete()
        kept = Entity.objects.filter(pk=merge.kept_id).first()
        if kept is not None and left:
            kept.aliases = [alias for alias in kept.aliases or () if canonical(alias) not in left] or None
            kept.save(update_fields=["aliases"])
            name_anew(kept, keyring().of(current_owner()))
