"""MaxSim over sealed token vectors equals its definition, and leaves out what cannot be compared."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from numpy.typing import NDArray

from memory.crypto.keyring import OwnerRing, keyring
from memory.ids import new_id
from memory.models import EmbeddingSpace, Memory, TokenVectors, owner_scope
from memory.providers import composition
from memory.providers.minilm import MiniLmEmbedder
from memory.recall.late_interaction import MOST_ROWS, QueryTokens, embed_queries, nearest
from memory.recall.token_blobs import open_tokens
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember, remember_many

TEXTS = [
    "The lease says that the notice period is sixty days.",
    "Melanie painted the sunrise over the lake.",
    "Two herons stood in the reeds this morning, and a third one came later.",
    "Tea.",
]
QUESTION = "How long is the notice period?"


def max_sim(
    tokens: QueryTokens,
    rows: Sequence[tuple[UUID, UUID | None]],
    *,
    ring: OwnerRing,
    space_id: int,
    weights: NDArray[np.float32] | None = None,
) -> dict[UUID, float]:
    """Give the weighted mean of what each token of the question finds in each memory."""
    shares = np.ones(len(tokens.matrix)) if weights is None else weights
    found = nearest(tokens, rows, ring=ring, space_id=space_id)
    return {memory_id: float(np.clip(cosines @ shares / shares.sum(), 0, 1)) for memory_id, cosines in found.items()}


@pytest.fixture(scope="module")
def local() -> MiniLmEmbedder:
    return MiniLmEmbedder(threads=1)


@pytest.fixture(autouse=True)
def _chosen(local: MiniLmEmbedder, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(composition._EMBEDDERS, "local", lambda _: local)
    settings.EMBEDDING_PROVIDER = "local"


def ring(actor: Actor) -> OwnerRing:
    return keyring().of(actor.owner_id)


def asked(actor: Actor, text: str = QUESTION) -> QueryTokens:
    _, tokens = embed_queries(composition.embedder(), [text], ring(actor))[0]
    assert tokens is not None
    return tokens


def stored(actor: Actor, texts: Sequence[str] = TEXTS) -> list[UUID]:
    items = remember_many(actor=actor, drafts=[Draft(text=text) for text in texts])
    return [item.stored.memory_id for item in items if item.stored is not None]


def compared(actor: Actor, tokens: QueryTokens, ids: Sequence[UUID], **options: Any) -> dict[UUID, float]:
    space_id = EmbeddingSpace.objects.get().pk
    with owner_scope(actor.owner_id):
        return max_sim(tokens, [(pk, None) for pk in ids], ring=ring(actor), space_id=space_id, **options)


def in_plain_python(actor: Actor, tokens: QueryTokens, memory_id: UUID, weights: Sequence[float]) -> float:
    with owner_scope(actor.owner_id):
        value = bytes(TokenVectors.objects.get(memory_id=memory_id).sealed)
    matrix = open_tokens(
        value,
        ring=ring(actor),
        memory_id=memory_id,
        space_id=EmbeddingSpace.objects.get().pk,
        agent_id=None,
        width=48,
    )
    total = 0.0
    for weight, row in zip(weights, tokens.matrix.tolist(), strict=True):
        total += weight * max(
            sum(a / 127 * b / 127 for a, b in zip(row, other, strict=True)) for other in matrix.tolist()
        )
    return min(1.0, max(0.0, total / sum(weights)))


@pytest.mark.parametrize("weighted", [False, True], ids=["mean", "weighted"])
def test_it_equals_its_definition(alice: Actor, weighted: bool) -> None:
    ids = stored(alice)
    tokens = asked(alice)
    weights = np.linspace(0.5, 4, len(tokens.matrix), dtype=np.float32) if weighted else None
    counted: list[float] = [1.0] * len(tokens.matrix) if weights is None else weights.tolist()
    scores = compared(alice, tokens, ids, weights=weights)
    assert set(scores) == set(ids)
    for memory_id, score in scores.items():
        plain = in_plain_python(alice, tokens, memory_id, counted)
        assert score == pytest.approx(plain, abs=1e-5)
    assert max(scores, key=lambda one: scores[one]) == ids[0]


def test_a_text_fits_itself_best(alice: Actor) -> None:
    ids = stored(alice)
    for memory_id, text in zip(ids, TEXTS, strict=True):
        scores = compared(alice, asked(alice, text), ids)
        assert max(scores, key=lambda one: scores[one]) == memory_id
        assert 0.98 < scores[memory_id] <= 1


def test_too_many_rows_are_refused(alice: Actor) -> None:
    stored(alice)
    with pytest.raises(ValueError, match="200"):
        compared(alice, asked(alice), [new_id() for _ in range(MOST_ROWS + 1)])


def test_rows_without_tokens_are_left_out(alice: Actor) -> None:
    ids = stored(alice, [*TEXTS[:2], "?!"])
    with owner_scope(alice.owner_id):
        TokenVectors.objects.filter(memory_id=ids[1]).delete()
    assert set(compared(alice, asked(alice), [*ids, new_id()])) == {ids[0]}
    assert compared(alice, asked(alice), []) == {}
    assert compared(alice, asked(alice, "?!"), ids) == {}


def test_those_made_in_another_way_or_of_another_space_are_left_out(
    alice: Actor, caplog: pytest.LogCaptureFixture
) -> None:
    ids = stored(alice)
    tokens = asked(alice)
    with caplog.at_level(logging.WARNING):
        assert compared(alice, QueryTokens(tokens.matrix, b"old.", tokens.terms), ids) == {}
        with owner_scope(alice.owner_id):
            assert max_sim(tokens, [(pk, None) for pk in ids], ring=ring(alice), space_id=-1) == {}
    assert caplog.text == ""


def test_a_damaged_one_is_left_out_and_counted(alice: Actor, caplog: pytest.LogCaptureFixture) -> None:
    ids = stored(alice)
    whole = compared(alice, asked(alice), ids)
    for number, damage in enumerate(("substring(sealed FROM 5)", r"'\x00'", "overlay(sealed PLACING 'xx' FROM 60)")):
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE memory_tokenvectors SET sealed = {damage} WHERE owner_id = %s AND memory_id = %s",
                [alice.owner_id, ids[number]],
            )
    with caplog.at_level(logging.ERROR):
        scores = compared(alice, asked(alice), ids)
    assert scores == pytest.approx({ids[3]: whole[ids[3]]}, abs=1e-5)
    assert "of 2 memories do not open" in caplog.text
    assert "notice" not in caplog.text


def test_another_owners_are_not_compared(alice: Actor, mallory: Actor) -> None:
    theirs = stored(alice)
    stored(mallory)
    assert compared(mallory, asked(mallory), theirs) == {}


def test_private_ones_open_with_their_agents_key_only(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice)
    memory_id = remember(actor=agent, draft=Draft(text=TEXTS[0]), scope="agent").memory_id
    with owner_scope(alice.owner_id):
        row = Memory.objects.get(pk=memory_id)
        space_id = EmbeddingSpace.objects.get().pk
        tokens = asked(agent)
        assert max_sim(tokens, [(memory_id, None)], ring=ring(agent), space_id=space_id) == {}
        found = max_sim(tokens, [(memory_id, row.sealing_agent_id)], ring=ring(agent), space_id=space_id)
    assert set(found) == {memory_id}


class TestQuestion:
    def test_switched_off_or_without_tokens_only_the_vector_comes(self, alice: Actor, settings: Any) -> None:
        vector, tokens = embed_queries(composition.embedder(), [QUESTION], ring(alice))[0]
        assert tokens is not None
        settings.LATE_INTERACTION = False
        alone, nothing = embed_queries(composition.embedder(), [QUESTION], ring(alice))[0]
        assert nothing is None
        assert np.abs(alone - vector).max() < 1e-5
        settings.LATE_INTERACTION = True
        settings.EMBEDDING_PROVIDER = "stub"
        assert embed_queries(composition.embedder(), [QUESTION], ring(alice))[0][1] is None
