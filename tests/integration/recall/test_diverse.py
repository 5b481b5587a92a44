"""Diversity over stored vectors, in the owner's scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import Memory, MemoryVector, owner_scope
from memory.providers.composition import embedder
from memory.recall.filters import Filters
from memory.recall.query import Query
from memory.recall.reranking import HEAD, Reranked, diverse, jaccard
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.embedding import active_space
from memory.services.remember import remember_many

pytestmark = pytest.mark.django_db

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
TEXTS = ["aaaa bbbb", "aaaa bbbb cc", "zz 9", "aaaa bbbb dd"]


def marginal(
    ids: list[UUID], scores: Mapping[UUID, float], words: Mapping[UUID, frozenset[str]], *, weight: float
) -> list[UUID]:
    """Order by maximal marginal relevance over words, step by step."""
    low, high = min(scores.values()), max(scores.values())
    taken: list[UUID] = []
    while len(taken) < len(ids):
        taken.append(
            max(
                (one for one in ids if one not in taken),
                key=lambda one: (
                    weight * (scores[one] - low) / ((high - low) or 1.0)
                    - (1 - weight) * max((jaccard(words[one], words[other]) for other in taken), default=0.0)
                ),
            )
        )
    return taken


def stored(actor: Actor, texts: list[str]) -> list[UUID]:
    items = remember_many(actor=actor, drafts=[Draft(text=text) for text in texts])
    return [item.stored.memory_id for item in items if item.stored]


def query(actor: Actor, *, space: bool = True) -> Query:
    return Query(
        text="q",
        owner_id=actor.owner_id,
        scopes=None,
        terms={},
        shares={},
        words={},
        vector=None,
        space_id=active_space().pk if space else None,
        dimension=0,
        filters=Filters(),
        now=MOMENT,
        reference=MOMENT,
    )


def reordered(
    actor: Actor, ids: list[UUID], scores: Mapping[UUID, float] | None = None, *, weight: float = 0.5, **options: Any
) -> tuple[list[int], Reranked]:
    asked = query(actor, **options)
    given = scores or {one: 1 - at / 10 for at, one in enumerate(ids)}
    with owner_scope(actor.owner_id):
        found = diverse(asked, ids, given, name="mmr", weight=weight)
    return [ids.index(one) for one in found.order], found


def test_it_is_marginal_relevance_over_the_stored_vectors(alice: Actor) -> None:
    ids = stored(alice, TEXTS)
    order, found = reordered(alice, ids)
    vectors = embedder().embed(TEXTS)
    similar = np.clip(vectors @ vectors.T, 0, 1)
    scores = (np.array([1, 0.9, 0.8, 0.7]) - 0.7) / 0.3
    expected: list[int] = []
    while len(expected) < len(ids):
        left = [at for at in range(len(ids)) if at not in expected]
        nearest = {at: max((similar[at, one] for one in expected), default=0.0) for at in left}
        expected.append(max(left, key=lambda at: 0.5 * scores[at] - 0.5 * nearest[at]))
    assert order == expected
    assert found.places[ids[0]].from_rank == 1
    assert found.places[ids[0]].score == pytest.approx(0.5)
    assert found.reasons(ids[2])["rerank"]["from_rank"] == 3


def test_one_keeps_the_order_and_zero_looks_at_diversity_only(alice: Actor) -> None:
    ids = stored(alice, ["aaaa bbbb", "aaaa bbbb c", "1"])
    assert reordered(alice, ids, weight=1.0)[0] == [0, 1, 2]
    assert reordered(alice, ids, weight=0.0)[0] == [0, 2, 1]


def test_one_statement_when_every_vector_is_there(alice: Actor) -> None:
    ids = stored(alice, TEXTS)
    asked = query(alice)
    with (
        owner_scope(alice.owner_id),
        CaptureQueriesContext(
            connection,
        ) as seen,
    ):
        diverse(asked, ids, dict.fromkeys(ids, 1.0), name="mmr", weight=0.5)
    assert len(seen) == 1


@pytest.mark.parametrize("without", ["all", "no-space"])
def test_without_vectors_it_is_the_words(alice: Actor, without: str) -> None:
    ids = stored(alice, TEXTS)
    if without == "all":
        with owner_scope(alice.owner_id):
            MemoryVector.objects.all().delete()
    order, _ = reordered(alice, ids, space=without == "all")
    words = {one: frozenset(text.split()) for one, text in zip(ids, TEXTS, strict=True)}
    scores = {one: 1 - at / 10 for at, one in enumerate(ids)}
    assert [ids[at] for at in order] == marginal(ids, scores, words, weight=0.5)


def test_a_missing_vector_is_made_up_for_by_words(alice: Actor) -> None:
    ids = stored(alice, ["red green", "red green blue", "moon"])
    with owner_scope(alice.owner_id):
        MemoryVector.objects.filter(memory_id=ids[1]).delete()
    # Of the second only the words are known: two of three are those of the first.
    assert reordered(alice, ids, dict.fromkeys(ids, 1.0), weight=0.0)[1].places[ids[1]].score == pytest.approx(-2 / 3)


def test_a_row_that_does_not_open_resembles_nothing(alice: Actor) -> None:
    ids = stored(alice, ["red green", "red green blue"])
    with owner_scope(alice.owner_id):
        MemoryVector.objects.all().delete()
        with connection.cursor() as cursor:
            cursor.execute("UPDATE memory_memory SET text = 'enc:v1:broken' WHERE id = %s", [ids[1]])
    order, found = reordered(alice, ids, weight=0.0)
    assert order == [0, 1]
    assert found.places[ids[1]].score == 0


def test_nothing_of_another_owner_is_looked_at(alice: Actor, mallory: Actor) -> None:
    theirs = stored(mallory, ["aaaa bbbb", "aaaa bbbb c"])
    order, found = reordered(alice, theirs, weight=0.0)
    assert order == [0, 1]
    assert [found.places[one].score for one in theirs] == [0, 0]


def test_only_the_head_is_reordered(alice: Actor) -> None:
    ids = stored(alice, [f"statement {number}" for number in range(HEAD + 5)])
    order, _ = reordered(alice, ids, {one: 1000.0 - at for at, one in enumerate(ids)}, weight=0.3)
    assert sorted(order[:HEAD]) == list(range(HEAD))
    assert order[:HEAD] != list(range(HEAD))
    assert order[HEAD:] == list(range(HEAD, HEAD + 5))


def test_relevance_may_be_another_than_the_order(alice: Actor) -> None:
    ids = stored(alice, ["aaaa", "1", "zz 9"])
    order, found = reordered(alice, ids, {ids[2]: 0.9, ids[0]: 0.1}, weight=1.0)
    assert order == [2, 0, 1]
    assert [found.places[one].from_rank for one in found.order] == [3, 1, 2]


def test_nothing_is_nothing(alice: Actor, make_owner: Callable[..., Actor]) -> None:
    assert reordered(alice, [], {}) == ([], Reranked("mmr", (), {}))
    with owner_scope(alice.owner_id):
        assert not Memory.objects.exists()
