"""The boost of communities: what a question is about, for whom, and what it adds to a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import Entity, Memory, owner_scope
from memory.recall import communities
from memory.recall.candidates import load_candidates
from memory.recall.communities import asked_about
from memory.recall.query import Query
from memory.services.actors import Actor
from memory.services.profiles import change_profile
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import Hit, recall
from tests.integration.graph.conftest import entity, memory

NAMING = "What about Ann?"
PLAIN = "Which kiln cracked?"


def asked(actor: Actor, text: str) -> Query:
    return prepare_query(actor, text, RecallRequest(query=text), wants_vector=False)


def about(query: Query, scores: dict[UUID, float]) -> frozenset[int]:
    with owner_scope(query.owner_id):
        return asked_about(query, load_candidates(query, scores), scores)


def belongs(actor: Actor, number: int, *, memories: Sequence[UUID], entities: Sequence[UUID]) -> None:
    """Put rows into a community, as a division does."""
    with owner_scope(actor.owner_id):
        Memory.objects.filter(pk__in=memories).update(community=number)
        Entity.objects.filter(pk__in=entities).update(community=number)


@pytest.fixture
def pots(alice: Actor) -> dict[str, UUID]:
    """Ann's pottery is community 1, and a garden 2; the rain belongs to none."""
    made = {
        "kiln": memory(alice, "The kiln cracked."),
        "glaze": memory(alice, "The glaze cracked."),
        "rose": memory(alice, "The rose cracked open."),
        "rain": memory(alice, "The rain cracked down."),
    }
    made["Ann"] = entity(alice, "Ann Lee")
    made["Ben"] = entity(alice, "Ben")
    belongs(alice, 1, memories=[made["kiln"], made["glaze"]], entities=[made["Ann"]])
    belongs(alice, 2, memories=[made["rose"]], entities=[made["Ben"]])
    return made


@pytest.mark.django_db
class TestAbout:
    def test_what_is_named_says_it(self, alice: Actor, pots: dict[str, UUID]) -> None:
        scores = {pots["rose"]: 1.0}
        assert about(asked(alice, "Where is Ann Lee?"), scores) == {1}
        assert about(asked(alice, "Did Ann Lee meet Ben?"), scores) == {1, 2}

    def test_a_word_of_a_name_counts_where_no_other_is_named(self, alice: Actor, pots: dict[str, UUID]) -> None:
        assert about(asked(alice, NAMING), {}) == {1}
        assert about(asked(alice, "What about Ann and Ben?"), {}) == {2}

    def test_else_most_of_the_best_hits_say_it(self, alice: Actor, pots: dict[str, UUID]) -> None:
        query = asked(alice, PLAIN)
        scores = {pots["rose"]: 4.0, pots["rain"]: 3.0, pots["kiln"]: 2.0, pots["glaze"]: 1.0}
        assert about(query, scores) == {1}
        assert about(query, {pots["rose"]: 2.0, pots["kiln"]: 1.0}) == {2}
        assert about(query, {pots["rain"]: 1.0}) == frozenset()
        assert about(query, {}) == frozenset()

    def test_only_the_best_five_are_asked(self, alice: Actor, pots: dict[str, UUID]) -> None:
        others = [memory(alice, f"Cracked {number}.") for number in range(4)]
        scores = {pots["rose"]: 9.0, **dict.fromkeys(others, 8.0), pots["kiln"]: 2.0, pots["glaze"]: 1.0}
        assert about(asked(alice, PLAIN), scores) == {2}

    def test_what_is_named_and_belongs_to_none_leaves_it_to_the_hits(self, alice: Actor, pots: dict[str, UUID]) -> None:
        entity(alice, "Cid")
        assert about(asked(alice, "Where is Cid?"), {pots["kiln"]: 1.0}) == {1}

    def test_what_the_reader_may_not_read_says_nothing(
        self, alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]], pots: dict[str, UUID]
    ) -> None:
        first, _ = make_agent(alice, "first")
        second, _ = make_agent(alice, "second")
        secret = memory(first, "The vault cracked.", scope="agent")
        vault = entity(first, "Vault", "topic", memory_id=secret, scope="agent")
        belongs(alice, 3, memories=[secret], entities=[vault])
        query = "Where is the Vault?"
        scores = {secret: 2.0, pots["rose"]: 1.0}
        assert about(asked(first, query), scores) == {3}
        assert about(asked(second, query), scores) == {2}
        assert about(asked(mallory, query), scores) == frozenset()

    def test_it_costs_at_most_two_statements(self, alice: Actor, pots: dict[str, UUID]) -> None:
        query = asked(alice, "Where is Ann Lee?")
        with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as queries:
            asked_about(query, {}, {})
        assert len(queries.captured_queries) == 2


def hits(actor: Actor, query: str, **changes: Any) -> dict[UUID, Hit]:
    """Recall by the default profile with some changes, and give the hits in their order."""
    change_profile(actor=actor, name="default", changes=changes)
    answer = recall(actor=actor, request=RecallRequest(query=query, profile="default", limit=50))
    assert answer.degraded in ([], ["embedder.unavailable"])
    return {hit.memory.pk: hit for hit in answer.hits}


@pytest.mark.django_db
class TestRecall:
    def test_on_a_logit_it_is_added(self, alice: Actor, pots: dict[str, UUID]) -> None:
        plain = hits(alice, PLAIN, community_boost=0)
        raised = hits(alice, PLAIN, community_boost=1.5)
        for name, gain in (("kiln", 1.5), ("glaze", 1.5), ("rose", 0.0), ("rain", 0.0)):
            assert raised[pots[name]].score == pytest.approx(plain[pots[name]].score + gain, abs=1e-4)
            assert raised[pots[name]].reasons["community"] == gain
            assert raised[pots[name]].reasons["fused"] == plain[pots[name]].reasons["fused"]
            assert raised[pots[name]].relevance == plain[pots[name]].relevance

    def test_elsewhere_scores_grow_by_this_part(self, alice: Actor, pots: dict[str, UUID]) -> None:
        ways: dict[str, Any] = {"evidence": False, "fusion": "rrf"}
        plain = hits(alice, PLAIN, community_boost=0, **ways)
        raised = hits(alice, PLAIN, community_boost=0.5, **ways)
        for name, factor in (("kiln", 1.5), ("glaze", 1.5), ("rose", 1.0), ("rain", 1.0)):
            assert raised[pots[name]].score == pytest.approx(plain[pots[name]].score * factor)

    def test_it_moves_what_belongs_to_the_community_of_who_is_named(self, alice: Actor, pots: dict[str, UUID]) -> None:
        found = hits(alice, "What cracked for Ben?", community_boost=10)
        assert next(iter(found)) == pots["rose"]
        raised = {name: found[pots[name]].reasons["community"] for name in ("kiln", "glaze", "rose", "rain")}
        assert raised == {"kiln": 0.0, "glaze": 0.0, "rose": 10.0, "rain": 0.0}

    def test_shipped_profiles_do_without_and_ask_nothing(
        self, alice: Actor, pots: dict[str, UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(communities, "OF_ENTITIES", "SELECT 1 FROM memory_nowhere")
        answer = recall(actor=alice, request=RecallRequest(query=NAMING, profile="default"))
        assert answer.degraded == []
        assert {hit.reasons["community"] for hit in answer.hits} == {0.0}

    def test_a_part_that_fails_is_said_and_left_out(
        self, alice: Actor, pots: dict[str, UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(communities, "OF_ENTITIES", "SELECT 1 FROM memory_nowhere")
        change_profile(actor=alice, name="default", changes={"community_boost": 1})
        answer = recall(actor=alice, request=RecallRequest(query="Where is Ann Lee's kiln?", profile="default"))
        assert answer.degraded == ["arm.failed:community"]
        assert {hit.reasons["community"] for hit in answer.hits} == {0.0}
