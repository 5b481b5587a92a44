"""Nothing of the graph stands in clear in its tables, and a private row opens with its agent's key only."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable
from memory.models import Entity, owner_scope
from memory.services.actors import Actor
from memory.services.graph.edges import link_memories
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from tests.apps import ours
from tests.integration.graph.conftest import entity, memory, relate

SECRET = "zyxomma"


def everything_stored(owner: Actor) -> str:
    """Give all that stands in the owned tables, as text."""
    found = []
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        for model in ours():
            cursor.execute(f'SELECT t::text FROM "{model._meta.db_table}" t')
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def test_no_text_of_the_graph_stands_in_clear(alice: Actor) -> None:
    said = memory(alice, f"Something about {SECRET}.")
    ann = entity(alice, f"Ann {SECRET}", aliases=[f"{SECRET} herself"], properties={SECRET: SECRET}, memory_id=said)
    entity(alice, "Rome", "topic")
    relate(alice, ann, f"has {SECRET} in", "Rome", evidence=SECRET, memory_id=said)
    merge_temporal_event(actor=alice, text=SECRET, occurred_at="2026-01-01", memory_id=said)
    add_causal_link(actor=alice, cause=SECRET, effect=f"more {SECRET}", memory_id=said)
    link_memories(actor=alice, source_id=said, target_id=memory(alice, "Other."), relationship=SECRET)
    stored = everything_stored(alice)
    assert stored.count("enc:v1:") > 10
    assert SECRET not in stored
    assert "Rome" not in stored


def test_private_rows_are_sealed_with_the_agents_key(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice, "assistant")
    private = entity(agent, "Zorro", scope="agent")
    with owner_scope(alice.owner_id):
        row = Entity.objects.get(pk=private)
        ring, place = keyring().of(alice.owner_id), Entity._meta.get_field("name").place(row)
        sealed = row.__dict__["name"]
    assert ring.unseal(sealed, place=place, agent_id=agent.agent_id) == "Zorro"
    with pytest.raises(KeysUnavailable):
        ring.unseal(sealed, place=place)


def test_equal_names_of_two_owners_have_different_hashes(alice: Actor, mallory: Actor) -> None:
    hashes = []
    for owner in (alice, mallory):
        entity(owner, "Ann")
        with owner_scope(owner.owner_id), connection.cursor() as cursor:
            cursor.execute("SELECT name FROM memory_entityname")
            hashes.append({row[0] for row in cursor.fetchall()})
    assert hashes[0].isdisjoint(hashes[1])
