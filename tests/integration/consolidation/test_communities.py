"""The division of a stored graph: labels, rows, numbers that stay, repeats, and what each reader sees of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.ids import new_id
from memory.models import Community, CommunityState, Entity, Memory, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation import communities as stage
from memory.services.consolidation import lease
from memory.services.consolidation.communities import divide_communities, divide_graph
from memory.services.consolidation.order import STEPS, Group
from memory.services.consolidation.stages import DONE, SKIPPED, RunStopped, StageContext
from memory.services.graph.communities import (
    bridges,
    divide_now,
    division,
    entities_of,
    get_community,
    list_communities,
    rename_community,
)
from memory.services.graph.reading import graph_version
from memory.services.memories import ListRequest, list_memories
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from tests.integration.consolidation.stage import NoExtractor
from tests.integration.graph.conftest import entity, memory, relate

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def divided(actor: Actor, *, again: bool = False, at: datetime = AT) -> stage.Division | None:
    return divide_graph(actor.owner_id, at=at, again=again)


def clique(actor: Actor, names: Sequence[str]) -> list[UUID]:
    """Make entities that all know each other."""
    made = [entity(actor, name) for name in names]
    for at, first in enumerate(made):
        for second in made[at + 1 :]:
            relate(actor, first, "knows", second, weight=0.9)
    return made


def labels(actor: Actor) -> dict[str, int | None]:
    with owner_scope(actor.owner_id):
        return {row.name: row.community for row in Entity.objects.all()}


@pytest.fixture
def potters(alice: Actor) -> list[UUID]:
    """Two groups with one relation between them, a memory of each, and one entity that is alone."""
    makers = clique(alice, ["Ann", "Ben", "Cid"])
    sailors = clique(alice, ["Dan", "Eva", "Fay", "Gil"])
    relate(alice, makers[0], "met", sailors[0], weight=0.3)
    entity(alice, "Ann", memory_id=memory(alice, "Ann fired the kiln."))
    entity(alice, "Dan", memory_id=memory(alice, "Dan mended the sail."))
    entity(alice, "Nobody")
    return [*makers, *sailors]


class TestDividing:
    def test_what_belongs_together_is_labelled(self, alice: Actor, potters: list[UUID]) -> None:
        found = divided(alice)
        assert found is not None
        assert (found.communities, found.nodes, found.edges, found.relabelled) == (2, 9, 12, 9)
        assert labels(alice) == {
            **dict.fromkeys(("Dan", "Eva", "Fay", "Gil"), 1),
            **dict.fromkeys(("Ann", "Ben", "Cid"), 2),
            "Nobody": None,
        }
        with owner_scope(alice.owner_id):
            assert {row.text: row.community for row in Memory.objects.all()} == {
                "Ann fired the kiln.": 2,
                "Dan mended the sail.": 1,
            }
            assert [(row.number, row.entities, row.memories) for row in Community.objects.order_by("number")] == [
                (1, 4, 1),
                (2, 3, 1),
            ]
            state = CommunityState.objects.get()
        assert (state.next_number, state.graph_version) == (3, graph_version(alice.owner_id))
        assert state.modularity == pytest.approx(found.modularity)
        # By hand: 5.4 + 1 within the one, 2.7 + 1 within the other, 0.3 between.
        total = 6.4 + 3.7 + 0.3
        assert found.modularity == pytest.approx(
            (6.4 + 3.7) / total - ((2 * 6.4 + 0.3) / (2 * total)) ** 2 - ((2 * 3.7 + 0.3) / (2 * total)) ** 2, abs=1e-6
        )

    def test_inner_and_outer_weights_are_kept(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        with owner_scope(alice.owner_id):
            found = {row.number: (row.inner_weight, row.outer_weight) for row in Community.objects.all()}
        assert found == {1: pytest.approx((6.4, 0.3)), 2: pytest.approx((3.7, 0.3))}

    def test_again_without_a_change_is_nothing(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        version = graph_version(alice.owner_id)
        assert divided(alice) is None
        with owner_scope(alice.owner_id):
            before = list(Community.objects.order_by("number").values())
        found = divided(alice, again=True, at=AT + timedelta(days=1))
        assert found is not None
        assert found.relabelled == 0
        assert graph_version(alice.owner_id) == version
        with owner_scope(alice.owner_id):
            assert list(Community.objects.order_by("number").values()) == before

    def test_numbers_and_names_stay_when_it_grows(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        rename_community(actor=alice, number=2, name="Potters")
        for name in ("Hal", "Ida", "Jon"):
            relate(alice, entity(alice, name), "knows", potters[0], weight=0.9)
        found = divided(alice)
        assert found is not None
        assert found.relabelled == 3
        assert {name for name, number in labels(alice).items() if number == 2} == {
            "Ann", "Ben", "Cid", "Hal", "Ida", "Jon",
        }  # fmt: skip
        # It is the larger one now, and still the second.
        assert [(one.number, one.title) for one in list_communities(actor=alice)] == [
            (2, "Potters"),
            (1, "Dan, Eva, Fay"),
        ]

    def test_a_run_that_dies_between_two_batches_is_repeated(
        self, alice: Actor, potters: list[UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stage, "BATCH", 2)
        beats: list[int] = []

        def die() -> None:
            beats.append(1)
            if len(beats) == 3:
                raise RunStopped("lease.lost")

        with pytest.raises(RunStopped):
            divide_graph(alice.owner_id, at=AT, beat=die)
        assert sum(number is not None for number in labels(alice).values()) == 4
        with owner_scope(alice.owner_id):
            assert not CommunityState.objects.exists()
        found = divided(alice)
        assert found is not None
        assert sorted(number for number in labels(alice).values() if number) == [1, 1, 1, 1, 2, 2, 2]

    def test_what_is_gone_loses_its_label(self, alice: Actor) -> None:
        said = memory(alice, "Ann fired the kiln.")
        entity(alice, "Ann", memory_id=said)
        divided(alice)
        with owner_scope(alice.owner_id):
            assert Memory.objects.get(pk=said).community == 1
            Memory.objects.filter(pk=said).update(status="archived")
        divided(alice, again=True)
        with owner_scope(alice.owner_id):
            assert Memory.objects.get(pk=said).community is None
            assert not Community.objects.exists()
            # Its number is not given to another.
            assert CommunityState.objects.get().next_number == 2

    def test_nobody_elses_rows_are_touched(self, alice: Actor, mallory: Actor, potters: list[UUID]) -> None:
        clique(mallory, ["Ann", "Ben", "Cid"])
        divided(alice)
        assert set(labels(mallory).values()) == {None}


class TestStage:
    def context(self, actor: Actor, *, by_hand: bool = False) -> StageContext:
        return StageContext(
            actor=actor,
            run_id=new_id(),
            moment=AT,
            settings={},
            extractor=NoExtractor(),
            by_hand=by_hand,
        )

    def test_it_reports_what_it_found(self, alice: Actor, potters: list[UUID]) -> None:
        (report,) = divide_communities(self.context(alice))
        assert report.state == DONE
        assert {name: report.counts[name] for name in ("communities", "nodes", "edges", "relabelled")} == {
            "communities": 2, "nodes": 9, "edges": 12, "relabelled": 9,
        }  # fmt: skip
        (report,) = divide_communities(self.context(alice))
        assert (report.state, report.skipped_reason) == (SKIPPED, "graph.unchanged")
        (report,) = divide_communities(self.context(alice, by_hand=True))
        assert (report.state, report.counts["relabelled"]) == (DONE, 0)

    def test_it_is_the_last_of_a_run(self) -> None:
        assert STEPS[-1].group is Group.COMMUNITIES
        assert STEPS[-1].stage is divide_communities

    def test_of_an_empty_graph(self, alice: Actor) -> None:
        (report,) = divide_communities(self.context(alice))
        assert report.skipped_reason == "graph.unchanged"
        assert list_communities(actor=alice) == []


class TestReading:
    def test_members_and_pages(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        first = list_communities(actor=alice, size=1)
        assert [(one.number, one.entities, one.memories) for one in first] == [(1, 4, 1)]
        second = list_communities(actor=alice, after=(first[0].size, first[0].id), size=5)
        assert [one.number for one in second] == [2]
        assert {row.name for row in entities_of(actor=alice, number=2, after=None, size=50)} == {"Ann", "Ben", "Cid"}
        paged = entities_of(actor=alice, number=2, after=None, size=1)
        rest = entities_of(actor=alice, number=2, after=(paged[0].mention_count, paged[0].pk), size=50)
        assert (paged[0].name, {row.name for row in rest}) == ("Ann", {"Ben", "Cid"})
        with pytest.raises(NotFound):
            get_community(actor=alice, number=3)

    def test_filters_name_a_community(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        memory(alice, "The kiln is cold.")

        def found(expression: object) -> set[str]:
            asked = recall(actor=alice, request=RecallRequest(query="kiln sail", filter=expression))
            listed = list_memories(actor=alice, request=ListRequest(filter=expression), after=None, size=50)
            assert {hit.memory.text for hit in asked.hits} <= {row.text for row in listed}
            return {row.text for row in listed}

        assert found({"community": 2}) == {"Ann fired the kiln."}
        assert found({"community": [1, 2]}) == {"Ann fired the kiln.", "Dan mended the sail."}
        assert found({"not": {"community": 2}}) == {"Dan mended the sail.", "The kiln is cold."}
        assert found({"community": 77}) == set()
        with pytest.raises(InvalidInput):
            found({"community": "2"})

    def test_bridges(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        (bridge,) = bridges(actor=alice)
        assert (bridge.first, bridge.second, bridge.count) == (1, 2, 1)
        assert bridge.weight == pytest.approx(0.3)
        assert [(row.source.name, row.target.name) for row in bridge.relations] == [("Ann", "Dan")]

    def test_a_list_takes_few_statements(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        with CaptureQueriesContext(connection) as queries:
            list_communities(actor=alice)
        asked = [one["sql"] for one in queries.captured_queries if "set_config" not in one["sql"]]
        # Sizes, the foremost entities' ids, these entities, the rows.
        assert sum("FROM" in sql for sql in asked) == 4

    def test_naming(self, alice: Actor, potters: list[UUID]) -> None:
        divided(alice)
        assert rename_community(actor=alice, number=1, name=" Sailors ").title == "Sailors"
        assert rename_community(actor=alice, number=1, name=None).title == "Dan, Eva, Fay"
        with pytest.raises(NotFound):
            rename_community(actor=alice, number=9, name="x")
        with pytest.raises(InvalidInput):
            rename_community(actor=alice, number=1, name="  ")
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            rename_community(actor=alice, number=1, name="Sailors")
            cursor.execute("SELECT name FROM memory_community WHERE number = 1")
            assert cursor.fetchone()[0].startswith("enc:")

    def test_by_hand(self, alice: Actor, potters: list[UUID], make_agent: Callable[..., tuple[Actor, str]]) -> None:
        assert divide_now(actor=alice).communities == 2
        with owner_scope(alice.owner_id):
            assert lease.take(new_id(), moment=datetime.now(UTC))
        with pytest.raises(Conflict) as refused:
            divide_now(actor=alice)
        assert refused.value.machine_code == "consolidation.running"
        with pytest.raises(PermissionRefused):
            divide_now(actor=make_agent(alice)[0])


class TestScopes:
    @pytest.fixture
    def two(self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> tuple[Actor, Actor]:
        """An agent with a private group around a public entity, and another one that must not learn of it."""
        first, _ = make_agent(alice, "first")
        second, _ = make_agent(alice, "second")
        ann = entity(alice, "Ann")
        ben = entity(alice, "Ben")
        relate(alice, ann, "knows", ben, weight=0.9)
        secret = memory(first, "Ann hides gold.", scope="agent")
        gold = entity(first, "Gold", "topic", memory_id=secret)
        for one in (ann, ben):
            relate(first, gold, "hidden_by", one, memory_id=secret, weight=0.9)
        cave = entity(first, "Cave", "topic", scope="agent")
        den = entity(first, "Den", "topic", scope="agent")
        relate(first, cave, "near", den, scope="agent", weight=0.9)
        divided(alice)
        return first, second

    def test_who_may_read_nothing_of_a_community_does_not_know_of_it(
        self, alice: Actor, two: tuple[Actor, Actor]
    ) -> None:
        first, second = two
        assert len(list_communities(actor=alice)) == len(list_communities(actor=first)) == 2
        (seen,) = list_communities(actor=second)
        hidden = next(one.number for one in list_communities(actor=alice) if one.number != seen.number)
        for ask in (
            lambda: get_community(actor=second, number=hidden),
            lambda: entities_of(actor=second, number=hidden, after=None, size=5),
        ):
            with pytest.raises(NotFound):
                ask()

    def test_sizes_names_and_weights_are_of_what_may_be_read(self, alice: Actor, two: tuple[Actor, Actor]) -> None:
        first, second = two
        (seen,) = list_communities(actor=second)
        rename_community(actor=alice, number=seen.number, name="Where the gold is")
        (seen,) = list_communities(actor=second)
        assert (seen.entities, seen.memories) == (2, 0)
        assert {entity.name for entity in seen.foremost} == {"Ann", "Ben"}
        assert (seen.name, seen.inner_weight, seen.outer_weight) == (None, None, None)
        assert "gold" not in seen.title.lower()
        assert {row.name for row in entities_of(actor=second, number=seen.number, after=None, size=9)} == {"Ann", "Ben"}
        whole = get_community(actor=alice, number=seen.number)
        assert (whole.entities, whole.memories, whole.title) == (3, 1, "Where the gold is")
        theirs = get_community(actor=first, number=seen.number)
        assert (theirs.entities, theirs.memories, theirs.name) == (3, 1, None)
        assert division(actor=second) is None
        assert division(actor=alice) is not None

    def test_only_people_name_and_divide(self, two: tuple[Actor, Actor]) -> None:
        with pytest.raises(PermissionRefused):
            rename_community(actor=two[0], number=1, name="Mine")

    def test_bridges_are_of_readable_relations(self, alice: Actor, two: tuple[Actor, Actor]) -> None:
        first, second = two
        relate(first, "Cave", "hides", "Gold", scope="agent", weight=0.2)
        divided(alice)
        assert len(bridges(actor=alice)) == len(bridges(actor=first)) == 1
        assert bridges(actor=second) == []
