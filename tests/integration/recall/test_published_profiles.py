"""The two published profiles of reciprocal ranks from end to end, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import numpy as np
import pytest

from memory.models import Memory, owner_scope
from memory.providers.stub_embedder import StubEmbedder
from memory.services import clock
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.graph.edges import link_memories
from memory.services.questions import RecallRequest
from memory.services.recall import Hit, Recalled, recall
from memory.services.remember import remember_many
from memory.text.tokens import analyse, query_terms
from tests.integration.graph.conftest import entity, relate

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
# Text, importance and age in days.
STORED: Final = (
    ("The ferry to Inis Oirr leaves at nine.", 0.9, 0),
    ("A ferry sank in 1912.", 0.1, 3),
    ("Ferries are slower than planes, and a ferry is cheaper.", 0.5, 7),
    ("Nine swans sat on the lake.", 0.5, 30),
    ("The harbour master is called Oona.", 0.3, 60),
    ("Swans do not like ferries at all.", 1.0, 1),
    ("Bread, butter and a pint of milk.", 0.5, 0),
    ("The lake is deep.", 0.7, 14),
)
RRF_K: Final = 60
LAMBDA: Final = 0.7

Scores = dict[UUID, float]


@pytest.fixture(autouse=True)
def _fixed() -> Iterator[None]:
    clock.set_clock(type("Fixed", (), {"now": staticmethod(lambda: NOW)})())
    yield
    clock.set_clock(None)


@pytest.fixture
def texts(alice: Actor) -> dict[UUID, str]:
    """Store the texts, each at its age."""
    drafts = [Draft(text=text, importance=importance) for text, importance, _ in STORED]
    results = remember_many(actor=alice, drafts=drafts)
    found = {one.stored.memory_id: STORED[one.index] for one in results if one.stored is not None}
    with owner_scope(alice.owner_id):
        for memory_id, (_, _, days) in found.items():
            Memory.objects.filter(pk=memory_id).update(created_at=NOW - timedelta(days=days))
    return {memory_id: text for memory_id, (text, _, _) in found.items()}


def ask(actor: Actor, query: str, profile: str, **request: Any) -> Recalled:
    return recall(actor=actor, request=RecallRequest(query=query, profile=profile, **request))


def cosines(query: str, texts: dict[UUID, str]) -> Scores:
    asked, *table = StubEmbedder().embed([query, *texts.values()]).astype(np.float16).astype(np.float64)
    return {
        memory_id: float(asked @ row / np.linalg.norm(asked) / np.linalg.norm(row))
        for memory_id, row in zip(texts, table, strict=True)
    }


def prax_sparse(query: str, texts: dict[UUID, str]) -> Scores:
    asked = analyse(query).frequencies
    found = {}
    for memory_id, text in texts.items():
        tf = analyse(text).frequencies
        found[memory_id] = sum(
            math.log(1.5 + 0.5 * asked[term] / max(asked.values())) * math.log(1.5 + 0.5 * tf[term] / max(tf.values()))
            for term in query_terms(query)
            if term in tf
        )
    return {memory_id: score for memory_id, score in found.items() if score}


def bm25(query: str, texts: dict[UUID, str]) -> Scores:
    analysed = {memory_id: analyse(text) for memory_id, text in texts.items()}
    average = sum(one.length for one in analysed.values()) / len(analysed)
    found = dict.fromkeys(texts, 0.0)
    for term in query_terms(query):
        df = sum(term in one.frequencies for one in analysed.values())
        for memory_id, one in analysed.items():
            if tf := one.frequencies.get(term, 0):
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                found[memory_id] += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * one.length / average))
    return {memory_id: score for memory_id, score in found.items() if score}


def best(scores: Scores, most: int) -> list[UUID]:
    return sorted(scores, key=lambda one: (-scores[one], one))[:most]


def reciprocal(arms: Sequence[tuple[list[UUID], float]]) -> Scores:
    found: Scores = {}
    for ranking, weight in arms:
        for rank, memory_id in enumerate(ranking, start=1):
            found[memory_id] = found.get(memory_id, 0.0) + weight / (RRF_K + rank)
    return found


def halved(scores: Scores, texts: dict[UUID, str], *, days: float, boosted: bool) -> Scores:
    plain = {text: (importance, age) for text, importance, age in STORED}
    found = {}
    for memory_id, score in scores.items():
        importance, age = plain[texts[memory_id]]
        found[memory_id] = score * math.exp(-math.log(2) / days * age) * ((0.5 + importance) if boosted else 1.0)
    return found


def scores_of(hits: Sequence[Hit]) -> Scores:
    return {hit.memory.pk: hit.score for hit in hits}


@pytest.mark.django_db
class TestPrax:
    @pytest.mark.parametrize(
        ("query", "dense", "sparse"),
        [
            ("ferry lake nine", 1.0, 1.0),
            ('"ferry" lake nine', 0.8, 1.5),
            ("tell me about the ferry on the lake", 1.4, 0.9),
            ("ferry of Oona Swans", 1.0, 1.2),
        ],
        ids=["neutral", "quoted", "open", "names"],
    )
    def test_end_to_end(self, alice: Actor, texts: dict[UUID, str], query: str, dense: float, sparse: float) -> None:
        for limit in (2, 5):
            answer = ask(alice, query, "prax", limit=limit)
            most = 2 * limit
            arms = [(best(cosines(query, texts), most), dense), (best(prax_sparse(query, texts), most), sparse)]
            expected = halved(reciprocal(arms), texts, days=7, boosted=True)
            assert scores_of(answer.hits) == pytest.approx({one: expected[one] for one in scores_of(answer.hits)})
            if '"' not in query:
                assert [hit.memory.pk for hit in answer.hits] == best(expected, limit)
            assert answer.degraded == []

    def test_it_shows_five(self, alice: Actor, texts: dict[UUID, str]) -> None:
        assert len(ask(alice, "ferry lake nine", "prax").hits) == 5

    def test_the_graph_is_the_third_arm(self, alice: Actor, texts: dict[UUID, str]) -> None:
        at = {text: memory_id for memory_id, text in texts.items()}
        ferry, swans, milk = at[STORED[0][0]], at[STORED[3][0]], at[STORED[6][0]]
        # Two of the question's entities stand in one memory, the neighbour of one of them in two others.
        entity(alice, "Ferry", "tool", memory_id=ferry)
        entity(alice, "Oona", memory_id=ferry)
        entity(alice, "Milk", "topic", memory_id=milk)
        entity(alice, "Milk", "topic", memory_id=swans)
        entity(alice, "Bread", "topic", memory_id=at[STORED[7][0]])
        relate(alice, "Oona", "drinks", "Milk")
        query = "ferry of Oona"
        overlaps = {ferry: 2, swans: 1, milk: 1}
        near = cosines("ferry of Oona ferry Oona", texts)
        graph = {one: near[one] * (1 + 0.2 * shared) for one, shared in overlaps.items()}
        for limit in (2, 5):
            arms = [
                (best(cosines(query, texts), 2 * limit), 1.0),
                (best(prax_sparse(query, texts), 2 * limit), 1.0),
                (best(graph, limit), 1.0),
            ]
            expected = halved(reciprocal(arms), texts, days=7, boosted=True)
            answer = ask(alice, query, "prax", limit=limit)
            assert [hit.memory.pk for hit in answer.hits] == best(expected, limit)
            assert scores_of(answer.hits) == pytest.approx({one: expected[one] for one in scores_of(answer.hits)})
        shown = {hit.memory.pk: hit.reasons["arms"].get("graph") for hit in ask(alice, query, "prax").hits}
        assert shown[ferry] == {"rank": best(graph, 3).index(ferry) + 1, "score": pytest.approx(graph[ferry], abs=1e-5)}

    def test_without_vectors_the_graph_counts_entities(
        self, alice: Actor, texts: dict[UUID, str], settings: Any
    ) -> None:
        at = {text: memory_id for memory_id, text in texts.items()}
        for name, text in (("Ferry", 0), ("Oona", 0), ("Oona", 4)):
            entity(alice, name, memory_id=at[STORED[text][0]])
        settings.EMBEDDING_PROVIDER = "none"
        answer = ask(alice, "ferry of Oona", "prax")
        graph = {hit.memory.pk: hit.reasons["arms"].get("graph") for hit in answer.hits}
        assert graph[at[STORED[0][0]]] == {"rank": 1, "score": 1.4}
        assert graph[at[STORED[4][0]]] == {"rank": 2, "score": 1.2}


@pytest.mark.django_db
class TestEngram:
    QUERY = "which ferry on the lake"
    # The factual intent: words .50, meaning .30.
    WORDS, MEANING = 0.50, 0.30

    def expected(self, texts: dict[UUID, str]) -> Scores:
        arms = [
            (best(cosines(self.QUERY, texts), 4 * len(STORED)), self.MEANING),
            (best(bm25(self.QUERY, texts), 4 * len(STORED)), self.WORDS),
        ]
        return halved(reciprocal(arms), texts, days=30, boosted=False)

    def test_scores(self, alice: Actor, texts: dict[UUID, str]) -> None:
        answer = ask(alice, self.QUERY, "engram", limit=len(STORED), threshold=0)
        assert answer.intent == ("factual",)
        assert scores_of(answer.hits) == pytest.approx(self.expected(texts))
        assert answer.degraded == []

    def test_the_graph_and_the_links(self, alice: Actor, texts: dict[UUID, str]) -> None:
        at = {text: memory_id for memory_id, text in texts.items()}
        ferry, sank, swans, milk, lake = (at[STORED[number][0]] for number in (0, 1, 3, 6, 7))
        entity(alice, "Ferry", "tool", memory_id=sank)
        for _ in range(2):
            entity(alice, "Oona", memory_id=milk)
        relate(alice, "Ferry", "steered_by", "Oona", weight=0.5)
        link_memories(actor=alice, source_id=ferry, target_id=lake, weight=0.9)
        link_memories(actor=alice, source_id=swans, target_id=ferry, kind="contradicts", weight=0.4)
        link_memories(actor=alice, source_id=ferry, target_id=milk, weight=0.2)
        telling = math.log((len(STORED) + 1) / 1.5)
        graph = {sank: telling, milk: 0.5 * 0.5 * telling}
        arms = [
            (best(cosines(self.QUERY, texts), 4 * len(STORED)), self.MEANING),
            (best(bm25(self.QUERY, texts), 4 * len(STORED)), self.WORDS),
            (best(graph, 4 * len(STORED)), 0.10),
        ]
        fused = reciprocal(arms)
        highest = max(fused.values())
        seeds = best(fused, 5)
        activation: Scores = {}
        for one, other, weight in ((ferry, lake, 0.9), (swans, ferry, 0.4)):
            for seed, reached in ((one, other), (other, one)):
                if seed in seeds:
                    activation[reached] = activation.get(reached, 0.0) + fused[seed] / highest * weight
        assert activation
        raised = {one: score + 0.2 * highest * activation.get(one, 0.0) for one, score in fused.items()}
        answer = ask(alice, self.QUERY, "engram", limit=len(STORED), threshold=0)
        assert scores_of(answer.hits) == pytest.approx(halved(raised, texts, days=30, boosted=False))

    def test_what_no_arm_found_comes_in_over_a_link(self, alice: Actor, texts: dict[UUID, str]) -> None:
        at = {text: memory_id for memory_id, text in texts.items()}
        query = "which Oona"
        # Of each arm the best four are asked for, so that some memory is in none.
        plain = ask(alice, query, "engram", limit=1, threshold=0)
        assert plain.considered < len(STORED)
        seed = best(cosines(query, texts), 1)[0]
        outside = best(cosines(query, texts), len(STORED))[-1]
        assert outside != at[STORED[4][0]]
        link_memories(actor=alice, source_id=seed, target_id=outside, weight=1.0)
        assert ask(alice, query, "engram", limit=1, threshold=0).considered == plain.considered + 1

    def test_the_order_is_that_of_marginal_relevance(self, alice: Actor, texts: dict[UUID, str]) -> None:
        expected = self.expected(texts)
        low, high = min(expected.values()), max(expected.values())
        waiting = {one: (score - low) / (high - low) for one, score in expected.items()}
        table = StubEmbedder().embed(list(texts.values())).astype(np.float16).astype(np.float64)
        vectors = {one: row / np.linalg.norm(row) for one, row in zip(texts, table, strict=True)}
        order: list[UUID] = []
        while waiting:
            order.append(
                max(
                    waiting,
                    key=lambda one: (
                        LAMBDA * waiting[one]
                        - (1 - LAMBDA) * max((float(vectors[one] @ vectors[other]) for other in order), default=0.0)
                    ),
                )
            )
            del waiting[order[-1]]
        answer = ask(alice, self.QUERY, "engram", limit=len(STORED), threshold=0)
        assert [hit.memory.pk for hit in answer.hits] == order
        assert order != best(expected, len(STORED))

    def test_it_shows_five_of_at_least_thirty_per_cent(self, alice: Actor, texts: dict[UUID, str]) -> None:
        everything = ask(alice, self.QUERY, "engram", limit=len(STORED), threshold=0).hits
        worth = {hit.memory.pk for hit in everything if hit.relevance >= 0.3}
        shown = ask(alice, self.QUERY, "engram").hits
        assert len(shown) == min(5, len(worth))
        assert {hit.memory.pk for hit in shown} <= worth
