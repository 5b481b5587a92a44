"""An owner with rows in many tables, and a look at what is stored."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection, connections

from memory.crypto.keyring import keyring
from memory.crypto.sealing import Place, Sealed
from memory.models import EmbeddingSpace, Memory, TokenVectors, owner_scope
from memory.models.encrypted import EncryptedField
from memory.services.actors import Actor
from memory.services.agents import create_group
from memory.services.changes import change_memory
from memory.services.drafts import Draft
from memory.services.graph.edges import link_memories
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.keys.sealed_tables import sealed_tables
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from memory.services.token_vectors import insert_token_vectors
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.graph.conftest import entity, relate

MARK = b"\x01\x02\x03\x04"


def filled(owner: Actor, agent: Actor) -> dict[str, UUID]:
    """Store rows of many kinds, an archived one, one of an agent alone, and token vectors; gives some ids."""
    shared = remember(actor=owner, draft=Draft(text="Ann lives in Rome.", tags=["city"], source="user:ann")).memory_id
    private = remember(actor=agent, draft=Draft(text="The agent's own note."), scope="agent").memory_id
    archived = remember(actor=owner, draft=Draft(text="An archived note.", metadata={"colour": "red"})).memory_id
    change_memory(actor=owner, memory_id=shared, changes={"text": "Ann lives in Paris."})
    archive_memory(actor=owner, memory_id=archived)
    ingest_turns(actor=owner, session="talk", turns=[TurnDraft(draft=Draft(text="Hello.", speaker="Ann", role="user"))])
    create_group(actor=owner, kind="project", name="Garden")
    ann = entity(owner, "Ann", aliases=["Annie"], properties={"eyes": "blue"}, memory_id=shared)
    entity(owner, "Paris", memory_id=shared)
    relate(owner, ann, "lives in", "Paris", evidence="she said so", memory_id=shared)
    entity(agent, "Zorro", scope="agent")
    merge_temporal_event(actor=owner, text="the move", occurred_at="2026-01-01", memory_id=shared)
    add_causal_link(actor=owner, cause="rain", effect="mud", memory_id=shared)
    link_memories(actor=owner, source_id=shared, target_id=archived, relationship="reminds of")
    with owner_scope(owner.owner_id):
        rows = list(Memory.objects.order_by("pk"))
        matrices = [np.full((3, 48), place + 1, dtype=np.int8) for place, _ in enumerate(rows)]
        insert_token_vectors(rows, matrices, space_id=EmbeddingSpace.objects.get().pk, reduction=MARK)
    return {"shared": shared, "private": private, "archived": archived}


def copied(owner: Actor) -> list[tuple[Place, UUID | None, Sealed]]:
    """Copy every sealed text of an owner away, as somebody with a backup has them."""
    found = []
    with owner_scope(owner.owner_id):
        for table in sealed_tables():
            for row in table.model.objects.all():
                agent_id = getattr(row, "sealing_agent_id", None)
                for field in row._meta.local_concrete_fields:
                    value = row.__dict__[field.attname]
                    if isinstance(field, EncryptedField) and value is not None:
                        found.append((field.place(row), agent_id, value))
    return found


def opened(owner: Actor) -> dict[Place, str]:
    """Open every text of an owner."""
    ring = keyring().of(owner.owner_id)
    return {place: ring.unseal(value, place=place, agent_id=agent_id) for place, agent_id, value in copied(owner)}


def stored_text(owner: Actor) -> str:
    """Give all that stands in all tables of the database for an owner, as text, whatever the models say."""
    found = []
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def token_versions(owner: Actor) -> set[int]:
    """Give the versions that sealed the token vectors of an owner."""
    with owner_scope(owner.owner_id):
        return {
            int.from_bytes(bytes(value)[:4], "big") for value in TokenVectors.objects.values_list("sealed", flat=True)
        }


def database_urls() -> dict[str, str]:
    """Give the environment that leads another process to this test's database."""
    urls = {}
    for variable, alias in (("DATABASE_URL", "default"), ("DATABASE_SCHEMA_URL", "schema")):
        chosen: dict[str, Any] = connections[alias].settings_dict
        urls[variable] = f"postgresql://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}"
    return urls
