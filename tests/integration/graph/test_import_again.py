"""The same export brought again: to whose memories it is, and to another owner's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from memory.models import (
    CausalLink,
    Entity,
    GraphEvidence,
    Memory,
    MemoryEdge,
    MemorySource,
    Relation,
    Session,
    Status,
    TemporalEvent,
    owner_scope,
)
from memory.services import importing
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.drafts import Draft
from memory.services.exporting import export_stream
from memory.services.graph.edges import link_memories
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.importing import Imported, import_document
from memory.services.retirement import archive_memory
from memory.services.superseding import Successor, supersede_contradicted
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.graph.moments import FixedClock

SCOPES = ["memory:read", "memory:write", "transfer"]


def exported(actor: Actor, form: str = "loci") -> Any:
    return json.loads("".join(export_stream(actor=actor, form=form)))


def created(found: Imported) -> set[int]:
    return {found.created, *(counts["created"] for counts in (*found.graph.values(), found.skills) if counts)}


def held(actor: Actor) -> dict[str, Any]:
    """Count everything that an import could double, and give all texts with their states."""
    with owner_scope(actor.owner_id):
        return {
            "memories": Counter((row.text, row.kind, row.status) for row in Memory.objects.all()),
            "sessions": Counter(row.label for row in Session.objects.all()),
            "edges": MemoryEdge.objects.count(),
            "entities": Counter((row.name, row.scope) for row in Entity.objects.all()),
            "relations": Counter((row.label, row.scope) for row in Relation.objects.all()),
            "events": TemporalEvent.objects.count() + CausalLink.objects.count(),
            "reasons": GraphEvidence.objects.count(),
        }


def said(actor: Actor, session: str, *texts: str) -> list[UUID]:
    turns = [
        TurnDraft(
            draft=Draft(text=text, role="assistant" if place % 2 else "user"), reply_to=place - 1 if place else None
        )
        for place, text in enumerate(texts)
    ]
    ids = [one.memory_id for one in ingest_turns(actor=actor, session=session, turns=turns).turns]
    return [one for one in ids if one is not None]


@pytest.fixture
def alice_with_two(alice: Actor, make_agent: Callable[..., tuple[Actor, str]], time: FixedClock) -> Actor:
    """Alice, whose two agents have a conversation of the same name, with facts, links, and what was put away."""
    coder, coach = make_agent(alice, "coder", scopes=SCOPES)[0], make_agent(alice, "coach", scopes=SCOPES)[0]
    first = said(coder, "Monday", "Al lives in Porto.", "Noted.", "Thanks.", "Noted.")
    time.moment += timedelta(minutes=1)
    second = said(coach, "Monday", "I ran ten miles.", "Noted.", "Thanks.")
    third = said(coach, "Tuesday", "I rested.")
    time.moment += timedelta(days=1)
    fact, shared = memory(coder, "Al lives in Porto.", kind="fact"), memory(alice, "Tea is warm.", source="user:al")
    old, diary = memory(alice, "Al lived in Faro."), memory(coach, "Al is tired.", scope="agent")
    before = memory(alice, "Al lives in Lisbon.", kind="fact")
    archive_memory(actor=alice, memory_id=old)
    archive_memory(actor=alice, memory_id=third[0])
    with owner_scope(alice.owner_id):
        supersede_contradicted(
            actor=alice,
            rows=list(Memory.objects.filter(pk=before)),
            successors={before: Successor(fact, time.moment)},
            moment=time.moment,
        )
    entity(alice, "Al", memory_id=first[0])
    entity(alice, "Porto", "concept", memory_id=fact)
    for place in ("Gym", "Track"):
        entity(coach, place, "concept", scope="agent", memory_id=diary)
    relate(coach, "Gym", "near", "Track", scope="agent", memory_id=diary, evidence="is tired")
    relate(coach, "Gym", "bores", "Al", scope="agent", memory_id=diary)
    merge_temporal_event(actor=coach, text="Al slept", occurred_at="2024-01-01", scope="agent", memory_id=diary)
    add_causal_link(actor=coach, cause="ten miles", effect="tiredness", scope="agent", memory_id=diary)
    relate(alice, "Al", "lives_in", "Porto", memory_id=first[0], evidence="lives in Porto")
    for source, target in (
        (fact, first[0]),
        (shared, second[0]),
        (old, fact),
        (first[1], first[3]),
        (diary, second[0]),
    ):
        link_memories(actor=alice, source_id=source, target_id=target, relationship="goes with")
    return alice


@pytest.mark.parametrize("form", ["loci", "engram"])
def test_ones_own_export_adds_nothing(alice_with_two: Actor, form: str) -> None:
    document, before = exported(alice_with_two, form), held(alice_with_two)
    with owner_scope(alice_with_two.owner_id):
        sources = MemorySource.objects.count()
    for _ in range(2):
        found = import_document(actor=alice_with_two, document=document)
        assert found.errors == []
        assert created(found) == {0}
        assert found.existing + found.skipped == len(document["memories"])
        assert held(alice_with_two) == before
    with owner_scope(alice_with_two.owner_id):
        assert MemorySource.objects.count() == sources


def test_an_agents_own_export_adds_nothing(alice_with_two: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    other, _ = make_agent(alice_with_two, "third", scopes=SCOPES)
    document, before = exported(other), held(alice_with_two)
    assert created(import_document(actor=other, document=document)) == {0}
    assert held(alice_with_two) == before


def test_another_owner_gets_everything_once(alice_with_two: Actor, mallory: Actor) -> None:
    document = exported(alice_with_two)
    found = import_document(actor=mallory, document=document)
    assert (found.errors, found.skipped) == ([], 1)
    assert found.created == len(document["memories"]) - 1
    with owner_scope(mallory.owner_id):
        rows = {row.text: row for row in Memory.objects.filter(session__isnull=False)}
        assert {row.label: row.turn_count for row in Session.objects.all()} == {
            "Monday": 4,
            "Monday (2)": 3,
            "Tuesday": 1,
        }
        assert Memory.objects.filter(reply_to__isnull=False).count() == 5
    assert rows["I ran ten miles."].session_id != rows["Al lives in Porto."].session_id
    before = held(mallory)
    again = import_document(actor=mallory, document=document)
    assert created(again) == {0}
    assert held(mallory) == before


@pytest.mark.parametrize("form", ["loci", "engram"])
def test_what_was_put_away_since_is_not_brought_again(alice_with_two: Actor, mallory: Actor, form: str) -> None:
    document = exported(alice_with_two, form)
    import_document(actor=mallory, document=document)
    with owner_scope(mallory.owner_id):
        ids = {row.text: row.pk for row in Memory.objects.filter(status=Status.LIVE, session=None)}
    archive_memory(actor=mallory, memory_id=ids["Tea is warm."])
    with owner_scope(mallory.owner_id):
        Memory.objects.filter(pk=ids["Al is tired."]).update(status=Status.SUPERSEDED)
    before = held(mallory)
    again = import_document(actor=mallory, document=document)
    assert (created(again), held(mallory)) == ({0}, before)


def test_a_text_that_was_changed_since_comes_back_beside_it(alice: Actor) -> None:
    tea = memory(alice, "Tea is warm.")
    document = exported(alice)
    change_memory(actor=alice, memory_id=tea, changes={"text": "Tea is cold."})
    assert import_document(actor=alice, document=document).created == 1


def test_the_words_of_a_turn_are_a_statement_elsewhere(alice: Actor, mallory: Actor) -> None:
    said(alice, "Monday", "I ran ten miles.")
    assert import_document(actor=mallory, document=exported(alice, "engram")).created == 1
    said(mallory, "Tuesday", "Tea is warm.")
    found = import_document(actor=mallory, document={"memories": [{"content": "Tea is warm."}]})
    assert (found.created, found.existing) == (0, 1)


def test_turns_without_ids_are_known_by_their_conversation(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    said(make_agent(alice, "coder")[0], "Monday", "Hello.", "Hello.")
    turns = [{"content": "Hello.", "kind": "turn", "session": "Monday", "position": place} for place in range(3)]
    for turn, role in zip(turns, ("user", "assistant", "user"), strict=True):
        turn["role"] = role
    found = import_document(actor=alice, document={"format": "loci-export/2", "memories": turns})
    assert (found.existing, found.created) == (2, 1)


def test_what_is_said_twice_in_a_file_is_one_memory_each_time(mallory: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)
    texts = [("Tea.", "archived"), ("Tea.", "live"), ("Milk.", "archived"), ("Rum.", "live"), ("Milk.", "archived")]
    items = [{"id": str(place), "content": text, "status": status} for place, (text, status) in enumerate(texts)]
    edges = [{"source": "3", "target": str(place), "kind": "related_to"} for place in (0, 1, 2, 4)]
    document = {"format": "loci-export/2", "memories": items, "edges": edges}
    found = import_document(actor=mallory, document=document)
    assert (found.created, found.existing, found.graph["edges"]["created"]) == (3, 2, 2)
    with owner_scope(mallory.owner_id):
        states = {row.text: row.status for row in Memory.objects.all()}
    assert states == {"Tea.": "live", "Milk.": "archived", "Rum.": "live"}
    before = held(mallory)
    assert created(import_document(actor=mallory, document=document)) == {0}
    assert held(mallory) == before
