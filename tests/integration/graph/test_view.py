"""The graph as a picture: what is around a seed, at which moments, for whom, and within which bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries

from memory.errors import InvalidInput, NotFound
from memory.models import DueWork, GraphLayout, GraphPosition, owner_scope
from memory.services.actors import Actor
from memory.services.due_work import run_due_work
from memory.services.graph.communities import divide_now
from memory.services.graph.edges import link_memories
from memory.services.graph.laying_out import lay_out_owner
from memory.services.graph.relations import supersede_relation
from memory.services.graph_view.request import ViewRequest
from memory.services.graph_view.view import GraphView, graph_view
from memory.services.retirement import archive_memory
from memory.services.settings import change_settings
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.graph.moments import FixedClock

# Seeds, step by step: the links, the relations, what speaks of what, and what is known of it.
MOST_STATEMENTS = 24


def view(actor: Actor, **asked: Any) -> GraphView:
    return graph_view(actor=actor, request=ViewRequest(**asked))


def names(found: GraphView) -> set[str]:
    return {one.label for one in found.things}


def chain(actor: Actor, *texts: str) -> list[UUID]:
    ids = [memory(actor, text) for text in texts]
    for first, second in zip(ids, ids[1:], strict=False):
        link_memories(actor=actor, source_id=first, target_id=second, kind="supports", weight=0.9)
    return ids


def test_each_step_reaches_further(alice: Actor) -> None:
    ids = chain(alice, "The first.", "The second.", "The third.", "The fourth.")
    assert names(view(alice, memory_id=ids[0])) == {"The first.", "The second."}
    assert names(view(alice, memory_id=ids[0], depth=3)) == {"The first.", "The second.", "The third.", "The fourth."}
    found = view(alice, memory_id=ids[0], depth=2)
    assert [one.label for one in found.things] == ["The first.", "The second.", "The third."]
    assert [one.more for one in found.things] == [0, 0, 1]
    assert (found.unseen, found.more_links) == (1, 1)
    assert found.things[0].seed
    assert not found.things[1].seed


def test_a_name_leads_to_its_relations_and_to_what_speaks_of_it(alice: Actor) -> None:
    said = memory(alice, "Ann moved to Lisbon.")
    ann = entity(alice, "Ann", memory_id=said)
    entity(alice, "Lisbon", "topic", memory_id=said)
    relate(alice, ann, "lives in", "Lisbon", memory_id=said, confidence=0.5)
    found = view(alice, entity_id=ann)
    assert names(found) == {"Ann", "Lisbon", "Ann moved to Lisbon."}
    kinds = {link.kind for link in found.links}
    assert kinds == {"relation", "mentions"}
    (relation,) = [link for link in found.links if link.kind == "relation"]
    assert found.labels[relation.label] == "lives in"
    assert relation.inferred
    assert names(view(alice, entity_id=ann, layer="entities")) == {"Ann", "Lisbon"}
    assert names(view(alice, memory_id=said, layer="memories")) == {"Ann moved to Lisbon."}


def test_the_two_times_are_kept_apart(alice: Actor, time: FixedClock) -> None:
    ann = entity(alice, "Ann")
    began = datetime(2026, 1, 10, tzinfo=UTC)
    lives = relate(alice, ann, "lives in", entity(alice, "Porto", "topic"), valid_from=began).relation
    time.moment += timedelta(days=100)
    learned = time.now()
    supersede_relation(actor=alice, relation_id=lives.pk, valid_until=began + timedelta(days=30))
    assert names(view(alice, entity_id=ann)) == {"Ann"}
    assert names(view(alice, entity_id=ann, valid_at=began + timedelta(days=10))) == {"Ann", "Porto"}
    assert names(view(alice, entity_id=ann, valid_at=began - timedelta(days=1))) == {"Ann"}
    before = learned - timedelta(days=1)
    assert names(view(alice, entity_id=ann, known_at=before)) == {"Ann", "Porto"}


def test_a_memory_is_shown_while_it_held_and_was_known(alice: Actor, time: FixedClock) -> None:
    first, second = chain(alice, "The shop opens at nine.", "The shop is in Rua Nova.")
    begun = time.now()
    time.moment += timedelta(days=10)
    link_memories(actor=alice, source_id=first, target_id=memory(alice, "It closes at six."), weight=0.9)
    assert "It closes at six." in names(view(alice, memory_id=first))
    assert names(view(alice, memory_id=first, known_at=begun + timedelta(days=1))) == {
        "The shop opens at nine.",
        "The shop is in Rua Nova.",
    }
    archive_memory(actor=alice, memory_id=second, reason="archived by person")
    assert "The shop is in Rua Nova." not in names(view(alice, memory_id=first))


def test_nobody_sees_what_is_not_for_him(alice: Actor, mallory: Actor, make_agent: Any) -> None:
    agent, _ = make_agent(alice, "scribe")
    other, _ = make_agent(alice, "clerk")
    open_one, private = memory(alice, "For all."), memory(agent, "For the scribe alone.", scope="agent")
    link_memories(actor=agent, source_id=open_one, target_id=private, weight=0.9)
    assert names(view(agent, memory_id=open_one)) == {"For all.", "For the scribe alone."}
    seen = view(other, memory_id=open_one)
    assert names(seen) == {"For all."}
    assert (seen.unseen, seen.more_links, seen.things[0].more) == (0, 0, 0)
    for stranger in (mallory, other):
        with pytest.raises(NotFound):
            view(stranger, memory_id=private)


def test_personal_data_is_masked(alice: Actor) -> None:
    said = memory(alice, "Write to anna.silva@example.org.")
    entity(alice, "anna.silva@example.org", memory_id=said)
    found = view(alice, memory_id=said)
    assert len(found.things) == 2
    assert all(one.masked and "anna" not in one.preview for one in found.things)


def test_what_is_contradicted_is_in_doubt_and_what_was_computed_is_concluded(alice: Actor) -> None:
    first, second = memory(alice, "The key is blue."), memory(alice, "The key is red.")
    third = memory(alice, "The keys hang by the door.", kind="insight")
    link_memories(actor=alice, source_id=first, target_id=second, kind="contradicts")
    link_memories(actor=alice, source_id=first, target_id=third, kind="similar_to")
    found = view(alice, memory_id=first)
    doubted = {one.label: (one.contested, one.inferred) for one in found.things}
    assert doubted == {
        "The key is blue.": (True, False),
        "The key is red.": (True, False),
        "The keys hang by the door.": (False, True),
    }
    assert {link.kind: link.inferred for link in found.links} == {"contradicts": False, "similar_to": True}


def test_it_opens_on_today_or_on_the_newest(alice: Actor, time: FixedClock) -> None:
    assert view(alice).seeds.sort == "nothing"
    entity(alice, "Ann")
    assert view(alice).seeds.sort == "newest"
    memory(alice, "New today.")
    assert view(alice).seeds.sort == "today"
    time.moment += timedelta(days=3)
    found = view(alice)
    assert (found.seeds.sort, names(found)) == ("newest", {"New today."})


def test_words_find_memories_and_names(alice: Actor) -> None:
    memory(alice, "The kiln fires at 1200 degrees.")
    entity(alice, "Kiln master")
    assert names(view(alice, query="kiln")) == {"The kiln fires at 1200 degr…", "Kiln master"}


def test_the_best_match_of_words_stands_before_what_counts_more(alice: Actor) -> None:
    keys = memory(alice, "Anna keeps the keys of the studio.", importance=1.0)
    kiln = memory(alice, "Melanie fires the kiln on Thursdays.", importance=0.1)
    link_memories(actor=alice, source_id=kiln, target_id=keys, kind="related_to", weight=1.0)
    assert [one.id for one in view(alice, query="kiln").things] == [kiln, keys]


def test_words_that_nothing_fits_start_nowhere(alice: Actor) -> None:
    for text in ("Anna keeps the keys of the studio.", "Melanie fires the kiln on Thursdays.", "We sail on Sunday."):
        memory(alice, text)
    assert view(alice, query="zzzqq").things == []
    change_settings(actor=alice, changes={"recall_threshold": 0.0})
    assert len(view(alice, query="zzzqq").things) == 3, "whoever wants everything gets what is nearest in meaning"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"depth": 0}, "depth.out_of_range"),
        ({"depth": 4}, "depth.out_of_range"),
        ({"layer": "all"}, "layer.invalid"),
        ({"most": 0}, "limit.out_of_range"),
        ({"most": 2001}, "limit.out_of_range"),
        ({"query": "kiln", "community": 1}, "seed.one_only"),
        ({"valid_at": "yesterday"}, "date.invalid"),
        ({"known_at": "later"}, "date.invalid"),
    ],
)
def test_what_cannot_be_used_is_refused(alice: Actor, asked: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        view(alice, **asked)
    assert refused.value.machine_code == code


def test_what_is_cut_is_counted(alice: Actor) -> None:
    hub = memory(alice, "The hub.")
    for place in range(12):
        link_memories(
            actor=alice, source_id=hub, target_id=memory(alice, f"Spoke {place}."), weight=round(0.3 + place / 20, 2)
        )
    found = view(alice, memory_id=hub, most=5)
    assert [one.label for one in found.things] == ["The hub.", "Spoke 11.", "Spoke 10.", "Spoke 9.", "Spoke 8."]
    assert (found.unseen, found.things[0].more) == (8, 8)


def test_statements_do_not_grow_with_the_graph(
    alice: Actor, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    hub = memory(alice, "The hub.")
    for place in range(15):
        spoke = memory(alice, f"Spoke {place}.")
        link_memories(actor=alice, source_id=hub, target_id=spoke)
        entity(alice, f"Name {place}", memory_id=spoke)
        relate(alice, "Name 0", "knows", f"Name {place}") if place else None
    with django_assert_max_num_queries(MOST_STATEMENTS):
        view(alice, memory_id=hub, depth=2)


def test_places_are_laid_out_once_and_stay(alice: Actor) -> None:
    ids = chain(alice, "One.", "Two.", "Three.", "Four.")
    first = view(alice, memory_id=ids[0], depth=3)
    assert first.laid_out == 0
    assert view(alice, memory_id=ids[0], depth=3).places == first.places
    divide_now(actor=alice)
    assert DueWork.objects.filter(owner_id=alice.owner_id, job=DueWork.LAYOUT).exists()
    assert run_due_work()[DueWork.LAYOUT] == 4
    placed = view(alice, memory_id=ids[0], depth=3)
    assert placed.laid_out == 4
    # The same graph again is not laid out again.
    assert lay_out_owner(owner_id=alice.owner_id, at=datetime.now(UTC)) == (0, None)
    new = memory(alice, "Five.")
    link_memories(actor=alice, source_id=ids[3], target_id=new)
    lay_out_owner(owner_id=alice.owner_id, at=datetime.now(UTC))
    later = view(alice, memory_id=ids[0], depth=3)
    assert later.places == placed.places
    with owner_scope(alice.owner_id):
        entered, beside = (GraphPosition.objects.get(pk=one) for one in (new, ids[3]))
        assert abs(entered.x - beside.x) + abs(entered.y - beside.y) < 2
        assert GraphLayout.objects.get().nodes == 5


def test_the_place_of_a_memory_goes_with_it(alice: Actor) -> None:
    ids = chain(alice, "One.", "Two.")
    lay_out_owner(owner_id=alice.owner_id, at=datetime.now(UTC))
    archive_memory(actor=alice, memory_id=ids[0], reason="archived by person")
    entity(alice, "Somebody")
    lay_out_owner(owner_id=alice.owner_id, at=datetime.now(UTC))
    with owner_scope(alice.owner_id):
        assert not GraphPosition.objects.exists()
