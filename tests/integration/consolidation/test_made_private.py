"""A memory that is made private takes along what was drawn from it alone, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from memory.errors import NotFound
from memory.models import (
    CausalLink,
    Entity,
    EntityMention,
    GraphEvidence,
    Memory,
    MemoryClaim,
    Relation,
    Status,
    TemporalEvent,
    owner_scope,
)
from memory.ports import ExtractedCause, ExtractedEntity, ExtractedEvent, ExtractedFact, ExtractedRelation
from memory.services.actors import Actor
from memory.services.agents import create_group, set_membership
from memory.services.changes import change_memory
from memory.services.consolidation.summaries import summarise
from memory.services.drafts import Draft
from memory.services.memories import get_memory, history
from memory.services.remember import remember
from tests.integration.consolidation.scripted import MAY, Script, Scripted, consolidate, facts_of, preference, turns_of
from tests.integration.consolidation.stage import made, run, say

pytestmark = pytest.mark.django_db

SECRET = "I work at Acme with Bob since the fire."
OPEN = "Bob and I met at the harbour."
BOB = ExtractedEntity(name="Bob", type="person")
DRAWN: Script = {
    SECRET: [
        ExtractedEntity(name="user", type="person"),
        ExtractedEntity(name="Acme", type="organization"),
        BOB,
        ExtractedRelation(source="user", label="works_at", target="Acme", evidence="work at Acme"),
        ExtractedRelation(source="user", label="knows", target="Bob"),
        ExtractedFact(text="The user works at Acme.", entities=("user", "Acme")),
        ExtractedEvent(text="There was a fire.", occurred_at=MAY - timedelta(days=3), participants=("user",)),
        ExtractedCause(cause="the fire", effect="the user works with Bob", effect_entity="Bob"),
    ],
    OPEN: [
        ExtractedEntity(name="user", type="person"),
        BOB,
        ExtractedRelation(source="user", label="knows", target="Bob"),
        ExtractedFact(text="The user met Bob at the harbour.", entities=("user", "Bob")),
    ],
}


@pytest.fixture
def diarist(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> Actor:
    return make_agent(alice, "diarist")[0]


@pytest.fixture
def colleague(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> Actor:
    return make_agent(alice, "colleague")[0]


def told(diarist: Actor, alice: Actor) -> tuple[UUID, UUID]:
    """Tell both texts to the whole owner, draw from them, and give the turns."""
    _, (secret, harmless) = say(diarist, "chat", ("user", SECRET), ("user", OPEN), at=MAY, scope="owner")
    consolidate(alice, Scripted(DRAWN))
    return secret, harmless


def graph(alice: Actor) -> dict[str, set[tuple[str, UUID]]]:
    """Give what the graph says and for whom."""
    with owner_scope(alice.owner_id):
        return {
            "entities": {(row.name, row.scope) for row in Entity.objects.all()},
            "relations": {(row.label, row.scope) for row in Relation.objects.all()},
            "events": {(row.text, row.scope) for row in TemporalEvent.objects.all()},
            "causes": {(row.cause, row.scope) for row in CausalLink.objects.all()},
        }


def test_facts_follow_and_the_graph_forgets(alice: Actor, diarist: Actor, colleague: Actor) -> None:
    secret, harmless = told(diarist, alice)
    work, met = facts_of(alice)
    assert (work.text, turns_of(alice, work.pk)) == ("The user works at Acme.", [secret])
    assert get_memory(actor=colleague, memory_id=work.pk).text == work.text
    change_memory(actor=diarist, memory_id=secret, changes={}, scope="agent")
    with pytest.raises(NotFound):
        get_memory(actor=colleague, memory_id=work.pk)
    moved = get_memory(actor=diarist, memory_id=work.pk)
    assert (moved.text, moved.status, moved.scope, moved.sealing_agent_id) == (
        work.text, Status.LIVE, diarist.agent_id, diarist.agent_id,
    )  # fmt: skip
    assert [version.reason for version in history(actor=diarist, memory_id=work.pk)] == ["source made private"]
    assert get_memory(actor=colleague, memory_id=met.pk).text == met.text
    everyone = alice.owner_id
    assert graph(alice) == {
        "entities": {("user", everyone), ("Bob", everyone)},
        "relations": {("knows", everyone)},
        "events": set(),
        "causes": set(),
    }
    with owner_scope(everyone):
        assert set(GraphEvidence.objects.values_list("memory_id", flat=True)) == {harmless}
        spoken = EntityMention.objects.filter(memory_id__in=[harmless, met.pk])
        for row in Entity.objects.all():
            assert row.mention_count == EntityMention.objects.filter(entity_id=row.pk).count()
        assert spoken.count() == 4
        assert Memory.objects.get(pk=secret).extracted_at is None
        assert Memory.objects.get(pk=harmless).extracted_at == MAY


def test_the_next_run_draws_it_again_for_those_who_may_read_it(alice: Actor, diarist: Actor) -> None:
    secret, _ = told(diarist, alice)
    change_memory(actor=diarist, memory_id=secret, changes={}, scope="agent")
    consolidate(alice, Scripted(DRAWN), at=MAY + timedelta(hours=1))
    private, everyone = diarist.agent_id, alice.owner_id
    assert private is not None
    found = graph(alice)
    assert found["entities"] - {("user", everyone), ("Bob", everyone)} == {
        ("user", private), ("Bob", private), ("Acme", private),
    }  # fmt: skip
    assert found["relations"] == {("works_at", private), ("knows", private), ("knows", everyone)}
    assert found["events"] == {("There was a fire.", private)}
    assert found["causes"] == {("the fire", private)}
    work, _ = sorted(facts_of(alice), key=lambda row: row.text, reverse=True)
    assert (work.text, work.scope, turns_of(alice, work.pk)) == ("The user works at Acme.", private, [secret])
    assert len(facts_of(alice)) == 2
    with owner_scope(everyone):
        acme = next(row for row in Entity.objects.all() if row.name == "Acme")
        assert set(EntityMention.objects.filter(entity_id=acme.pk).values_list("memory_id", flat=True)) == {
            secret, work.pk,
        }  # fmt: skip


def test_what_another_turn_says_too_stays(alice: Actor, diarist: Actor, colleague: Actor) -> None:
    _, (first, second) = say(
        diarist, "chat", ("user", "I love tea."), ("user", "Tea is what I love."), at=MAY, scope="owner"
    )
    tea = preference("User loves tea.", "tea")
    consolidate(alice, Scripted({"I love tea.": [tea], "Tea is what I love.": [tea]}))
    (fact,) = facts_of(alice)
    change_memory(actor=diarist, memory_id=first, changes={}, scope="agent")
    assert get_memory(actor=colleague, memory_id=fact.pk).scope == alice.owner_id
    with owner_scope(alice.owner_id):
        assert set(MemoryClaim.objects.values_list("scope", flat=True)) == {alice.owner_id}
    change_memory(actor=diarist, memory_id=second, changes={}, scope="agent")
    with owner_scope(alice.owner_id):
        # The first turn is private by then, so that nothing which others may read speaks for the fact.
        assert set(MemoryClaim.objects.values_list("scope", flat=True)) == {diarist.agent_id}
    with pytest.raises(NotFound):
        get_memory(actor=colleague, memory_id=fact.pk)


def test_one_that_is_known_there_already_goes_into_the_archive(alice: Actor, diarist: Actor, colleague: Actor) -> None:
    secret, _ = told(diarist, alice)
    (work,) = [row for row in facts_of(alice) if "Acme" in row.text]
    remember(actor=diarist, draft=Draft(text=work.text), scope="agent")
    change_memory(actor=diarist, memory_id=secret, changes={}, scope="agent")
    moved = get_memory(actor=diarist, memory_id=work.pk)
    assert (moved.status, moved.archive_reason) == (Status.ARCHIVED, "source made private")
    with pytest.raises(NotFound):
        get_memory(actor=colleague, memory_id=work.pk)


def test_summaries_that_quote_it_are_made_anew(alice: Actor, diarist: Actor, colleague: Actor) -> None:
    secret, _ = told(diarist, alice)
    run(summarise, alice, MAY + timedelta(days=1))
    before = made(alice, kind="summary")
    assert before
    assert all("Acme" in row.text for row in before)
    change_memory(actor=diarist, memory_id=secret, changes={}, scope="agent")
    assert made(alice, kind="summary") == made(alice, kind="summary", status=Status.SUPERSEDED) == []
    run(summarise, alice, MAY + timedelta(days=1, hours=1))
    after = made(alice, kind="summary", scope=alice.owner_id)
    assert after
    assert all("harbour" in row.text and "Acme" not in row.text for row in after)


def test_from_all_to_a_squad_and_on_to_one_agent(alice: Actor, diarist: Actor, colleague: Actor) -> None:
    squad = create_group(actor=alice, kind="squad", name="night shift")
    assert diarist.agent_id is not None
    set_membership(actor=alice, group_id=squad.pk, agent_id=diarist.agent_id, member=True)
    secret, _ = told(diarist, alice)
    (work,) = [row for row in facts_of(alice) if "Acme" in row.text]
    change_memory(actor=alice, memory_id=secret, changes={}, scope=f"squad:{squad.pk}")
    assert get_memory(actor=alice, memory_id=work.pk).scope == squad.pk
    with pytest.raises(NotFound):
        get_memory(actor=colleague, memory_id=work.pk)


def test_widening_changes_nothing_that_was_drawn(alice: Actor, diarist: Actor) -> None:
    _, (turn,) = say(diarist, "chat", ("user", SECRET), at=MAY, scope="agent")
    consolidate(alice, Scripted(DRAWN))
    before, (fact,) = graph(alice), facts_of(alice)
    change_memory(actor=diarist, memory_id=turn, changes={}, scope="owner")
    assert graph(alice) == before
    assert facts_of(alice)[0].scope == fact.scope == diarist.agent_id
    with owner_scope(alice.owner_id):
        assert Memory.objects.get(pk=turn).extracted_at == MAY
