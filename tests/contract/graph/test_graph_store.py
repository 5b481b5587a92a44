"""What every store of the graph answers: the same ids, distances and numbers in the same order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from memory.crypto.keyring import keyring
from memory.graph.labels import label_hash
from memory.graph.names import name_hash
from memory.graph.store import GraphStore
from memory.graph.traversal import MOST_FRONTIER, Found, Reached, Step, View
from memory.ids import new_id
from memory.models import Entity, NameKind, owner_scope
from memory.services.actors import Actor
from memory.services.graph.relations import retract_relation, supersede_relation
from tests.contract.graph.conftest import Store
from tests.integration.graph.conftest import entity, relate
from tests.integration.graph.moments import FixedClock, day

pytestmark = pytest.mark.django_db

NOW = day("2026-03-15")


def walked(store: Store, actor: Actor, seed: UUID, *, hops: int = 1, limit: int = 50, **view: Any) -> Reached:
    return store.ask(
        actor,
        lambda found: found.neighbours([seed], hops=hops, view=View(**{"scopes": None, **view}), limit=limit),
    )


def stepped(store: Store, actor: Actor, frontier: list[UUID], *, each: int = 10, most: int = 50) -> list[Step]:
    return store.ask(actor, lambda found: found.one_hop(frontier, view=View(None), each=each, most=most))


def found(store: Store, actor: Actor, *names: str, **options: Any) -> list[list[UUID]]:
    """Give the entities of each name."""
    ring = keyring().of(actor.owner_id)
    hashes = [name_hash(ring, name) for name in names]
    answer = store.ask(actor, lambda asked: asked.by_whole_name(hashes, **{"scopes": None, **options}))
    assert set(answer) <= set(hashes)
    return [[one.entity_id for one in answer.get(hashed, [])] for hashed in hashes]


def _looked_up(hashed: int, asked: GraphStore) -> dict[int, list[Found]]:
    return asked.by_whole_name([hashed], scopes=None)


def chain(actor: Actor, *names: str) -> list[UUID]:
    ids = [entity(actor, name) for name in names]
    for first, second in zip(ids, ids[1:], strict=False):
        relate(actor, first, "knows", second)
    return ids


class TestSteps:
    def test_both_directions_with_weights_heaviest_first(self, store: Store, alice: Actor) -> None:
        ann, ben, cid, dan = (entity(alice, name) for name in ("Ann", "Ben", "Cid", "Dan"))
        light = relate(alice, ann, "knows", ben, weight=0.3).relation.pk
        heavy = relate(alice, cid, "knows", ann, weight=0.9).relation.pk
        relate(alice, cid, "knows", dan, weight=1.0)
        assert stepped(store, alice, [ann]) == [(heavy, ann, cid, 0.9), (light, ann, ben, 0.3)]

    def test_of_equal_weight_the_older_id_goes_first(self, store: Store, alice: Actor) -> None:
        hub = entity(alice, "Hub")
        made = [relate(alice, hub, "has", entity(alice, f"Spoke {n}"), weight=0.5).relation.pk for n in range(6)]
        assert [row[0] for row in stepped(store, alice, [hub], most=4)] == sorted(made)[:4]

    def test_each_entity_and_direction_and_all_together_are_bounded(self, store: Store, alice: Actor) -> None:
        hub, other = entity(alice, "Hub"), entity(alice, "Other")
        for number in range(6):
            spoke = entity(alice, f"Spoke {number}")
            relate(alice, hub, "has", spoke, weight=0.1 + number / 10)
            relate(alice, spoke, "belongs to", hub, weight=0.15 + number / 10)
            relate(alice, other, "has", spoke, weight=0.05)
        weights = [round(row[3], 2) for row in stepped(store, alice, [hub, other], each=2)]
        assert weights == [0.65, 0.6, 0.55, 0.5, 0.05, 0.05]
        assert len(stepped(store, alice, [hub, other], each=2, most=3)) == 3

    def test_a_relation_between_two_that_are_stepped_from_is_given_from_each(self, store: Store, alice: Actor) -> None:
        ann, ben = chain(alice, "Ann", "Ben")
        (first, *_), (second, *_) = stepped(store, alice, [ann, ben])
        assert first == second
        assert {(row[1], row[2]) for row in stepped(store, alice, [ann, ben])} == {(ann, ben), (ben, ann)}

    def test_from_nothing_nothing_is_reached(self, store: Store, alice: Actor) -> None:
        chain(alice, "Ann", "Ben")
        assert stepped(store, alice, []) == []
        assert stepped(store, alice, [new_id()]) == []


class TestNeighbours:
    def test_by_one_to_three_steps(self, store: Store, alice: Actor) -> None:
        ids = chain(alice, "Ann", "Ben", "Cid", "Dan", "Eva")
        for hops in (1, 2, 3):
            reached = walked(store, alice, ids[0], hops=hops)
            assert reached.distances == {one: distance for distance, one in enumerate(ids[: hops + 1])}
            assert len(reached.relations) == hops
        assert set(walked(store, alice, ids[2]).distances) == {ids[1], ids[2], ids[3]}

    def test_a_circle_is_walked_once(self, store: Store, alice: Actor) -> None:
        ids = chain(alice, "Ann", "Ben", "Cid")
        relate(alice, ids[2], "knows", ids[0])
        reached = walked(store, alice, ids[0], hops=3)
        assert reached.distances == {ids[0]: 0, ids[1]: 1, ids[2]: 1}
        assert len(reached.relations) == len(set(reached.relations)) == 3

    def test_a_hub_gives_its_heaviest_and_no_more_than_asked(self, store: Store, alice: Actor) -> None:
        hub = entity(alice, "Hub")
        spokes = [entity(alice, f"Spoke {number}") for number in range(30)]
        for number, spoke in enumerate(spokes):
            relate(alice, hub, "has", spoke, weight=0.1 + number / 100)
        beyond = entity(alice, "Beyond")
        relate(alice, spokes[0], "knows", beyond)
        reached = walked(store, alice, hub, limit=5)
        assert list(reached.distances) == [hub, *reversed(spokes[-5:])]
        assert len(reached.relations) == 5
        # What hangs on a spoke that was not kept is out of reach.
        assert beyond not in walked(store, alice, hub, hops=3, limit=5).distances
        assert walked(store, alice, hub, hops=2).distances[beyond] == 2

    def test_no_more_than_a_hundred_are_stepped_from(self, store: Store, alice: Actor) -> None:
        hub = entity(alice, "Hub")
        spokes = [entity(alice, f"Spoke {number}") for number in range(MOST_FRONTIER + 1)]
        for number, spoke in enumerate(spokes):
            relate(alice, hub, "has", spoke, weight=0.9 - number / 200)
        last = entity(alice, "Behind the lightest")
        relate(alice, spokes[-1], "knows", last)
        reached = walked(store, alice, hub, hops=2, limit=200)
        assert len(reached.distances) == MOST_FRONTIER + 2
        assert last not in reached.distances

    def test_an_entity_that_is_not_there_has_none(self, store: Store, alice: Actor) -> None:
        chain(alice, "Ann", "Ben")
        nobody = new_id()
        assert walked(store, alice, nobody, hops=3) == Reached({nobody: 0}, [])


class TestViews:
    def test_labels(self, store: Store, alice: Actor) -> None:
        ann, ben = chain(alice, "Ann", "Ben")
        town = entity(alice, "Oslo", "topic")
        relate(alice, ann, "lives_in", town)
        ring = keyring().of(alice.owner_id)
        labels = (label_hash(ring, "lives_in"), label_hash(ring, "hates"))
        assert list(walked(store, alice, ann, hops=2, labels=labels).distances) == [ann, town]
        assert list(walked(store, alice, ann, labels=labels[1:]).distances) == [ann]
        assert set(walked(store, alice, ann).distances) == {ann, ben, town}

    @pytest.mark.parametrize(
        ("moment", "town"),
        [(day("2019-12-31"), None), (day("2020-01-01"), "Rome"), (day("2024-12-31"), "Rome"), (NOW, "Oslo")],
    )
    def test_moments(self, store: Store, alice: Actor, time: FixedClock, moment: datetime, town: str | None) -> None:
        time.moment = NOW
        ann = entity(alice, "Ann")
        towns = {name: entity(alice, name, "topic") for name in ("Rome", "Oslo")}
        relate(alice, ann, "lives_in", "Rome", valid_from="2020-01-01")
        relate(alice, ann, "lives_in", "Oslo", valid_from="2025-01-01")
        expected = [ann] if town is None else [ann, towns[town]]
        assert list(walked(store, alice, ann, valid_at=moment).distances) == expected
        assert set(walked(store, alice, ann).distances) == {ann, *towns.values()}

    def test_what_ends_holds_no_longer_at_that_very_moment(self, store: Store, alice: Actor, time: FixedClock) -> None:
        time.moment = NOW
        ann, ben = entity(alice, "Ann"), entity(alice, "Ben")
        added = relate(alice, ann, "knows", ben, valid_from="2026-01-01")
        supersede_relation(actor=alice, relation_id=added.relation.pk)
        assert list(walked(store, alice, ann, valid_at=NOW).distances) == [ann]
        assert list(walked(store, alice, ann, valid_at=day("2026-03-14")).distances) == [ann, ben]

    def test_what_was_never_true_is_not_walked(self, store: Store, alice: Actor) -> None:
        ann, ben = entity(alice, "Ann"), entity(alice, "Ben")
        added = relate(alice, ann, "knows", ben)
        assert list(walked(store, alice, ann).distances) == [ann, ben]
        retract_relation(actor=alice, relation_id=added.relation.pk)
        assert list(walked(store, alice, ann).distances) == [ann]

    def test_scopes(self, store: Store, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
        agent, _ = make_agent(alice, "assistant")
        colleague, _ = make_agent(alice, "colleague")
        ann, ben = chain(alice, "Ann", "Ben")
        secret = entity(agent, "Secret", "topic", scope="agent")
        relate(agent, ann, "keeps", secret, scope="agent")
        assert set(walked(store, alice, ann, hops=2).distances) == {ann, ben, secret}
        assert set(walked(store, alice, ann, hops=2, scopes=agent.readable).distances) == {ann, ben, secret}
        assert set(walked(store, alice, ann, hops=2, scopes=colleague.readable).distances) == {ann, ben}
        assert set(walked(store, alice, ann, hops=2, scopes=()).distances) == {ann}
        assert found(store, alice, "Secret", scopes=agent.readable) == [[secret]]
        assert found(store, alice, "Secret", scopes=colleague.readable) == [[]]

    def test_another_owners_graph_is_not_there(self, store: Store, alice: Actor, mallory: Actor) -> None:
        ann, _ = chain(alice, "Ann", "Ben")
        own, _ = chain(mallory, "Ann", "Eve")
        store.catch_up(alice)
        assert walked(store, mallory, ann, hops=3) == Reached({ann: 0}, [])
        assert walked(store, mallory, own).distances.keys().isdisjoint(walked(store, alice, ann).distances)
        assert found(store, mallory, "Ann", "Ben") == [[own], []]
        # Hashes of another owner lead nowhere, since keys differ.
        hashes = [name_hash(keyring().of(alice.owner_id), "Ann")]
        assert store.ask(mallory, lambda asked: asked.by_whole_name(hashes, scopes=None)) == {}


class TestNames:
    def test_names_and_aliases_whatever_their_spelling(self, store: Store, alice: Actor) -> None:
        ann = entity(alice, "Ann Weber", aliases=["Annie"])
        ben = entity(alice, "Bén")
        assert found(store, alice, "ann  WEBER", "ANNIE", "ben", "Weber", "Zed") == [[ann], [ann], [ben], [], []]
        assert found(store, alice) == []

    def test_the_most_mentioned_first_then_own_names_before_aliases(self, store: Store, alice: Actor) -> None:
        alias = entity(alice, "Java Island", "topic", aliases=["Java"])
        tool, place = entity(alice, "Java", "tool"), entity(alice, "Java", "concept")
        for _ in range(2):
            entity(alice, "Java", "concept")
        assert found(store, alice, "java") == [[place, tool, alias]]
        assert found(store, alice, "java", type_="tool") == [[tool]]
        assert found(store, alice, "java", type_="person") == [[]]

    def test_what_is_said_of_each(self, store: Store, alice: Actor) -> None:
        ann = entity(alice, "Ann", aliases=["Annie"])
        entity(alice, "Ann")
        ring = keyring().of(alice.owner_id)
        for name, kind in (("Ann", NameKind.CANONICAL), ("Annie", NameKind.ALIAS)):
            hashed = name_hash(ring, name)
            answer = store.ask(alice, partial(_looked_up, hashed))
            (one,) = answer[hashed]
            assert (one.entity_id, one.mention_count, one.kind, one.scope) == (ann, 2, kind, alice.owner_id)

    def test_an_entity_that_is_gone_is_not_found(self, store: Store, alice: Actor) -> None:
        ann, ben = chain(alice, "Ann", "Ben")
        assert found(store, alice, "Ben") == [[ben]]
        with owner_scope(alice.owner_id):
            Entity.objects.filter(pk=ben).delete()
        assert found(store, alice, "Ben") == [[]]
        assert list(walked(store, alice, ann).distances) == [ann]
