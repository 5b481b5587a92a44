"""The arms compute the published formulas: checked against plain Python over the same tokens."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from memory.crypto.keyring import keyring
from memory.models import Memory, MemoryAccess, owner_scope
from memory.recall import dense, lexical
from memory.recall.profiles import RecallProfile, shipped, with_changes
from memory.recall.query import Query
from memory.recall.statistics import OwnerStatistics, owner_statistics
from memory.services import clock
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import recall
from memory.services.remember import remember_many
from memory.text.tokens import analyse, query_terms

TEXTS = [
    "The red fox jumps over the lazy dog while another fox sleeps.",
    "A dog barks at night.",
    "Foxes and dogs rarely meet; the fox prefers the forest at night, night after night.",
    "Error E-4012 appeared in the billing service.",
    "Nothing of the sort.",
]
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def corpus(alice: Actor) -> dict[Any, str]:
    results = remember_many(actor=alice, drafts=[Draft(text=text, importance=0.4) for text in TEXTS])
    return {result.stored.memory_id: TEXTS[result.index] for result in results if result.stored}


def ask(actor: Actor, text: str, profile: RecallProfile) -> tuple[Query, lexical.LexicalModel]:
    query = prepare_query(actor, text, RecallRequest(query=text))
    model = lexical.build_model(query, profile, owner_statistics(actor.owner_id))
    assert model is not None
    return query, model


def plain(scored: dict[Any, lexical.WordScore]) -> dict[Any, float]:
    return {memory_id: one.score for memory_id, one in scored.items()}


def bm25(query: str, text: str, *, k1: float, b: float, repeat: bool) -> float:
    analysed = {one: analyse(one) for one in TEXTS}
    average = sum(one.length for one in analysed.values()) / len(TEXTS)
    counts = Counter(analyse(query).frequencies)
    total = 0.0
    for term in query_terms(query):
        df = sum(term in one.frequencies for one in analysed.values())
        tf = analysed[text].frequencies.get(term, 0)
        idf = math.log(1 + (len(TEXTS) - df + 0.5) / (df + 0.5))
        weight = idf * (counts[term] if repeat else 1)
        total += weight * tf * (k1 + 1) / (tf + k1 * (1 - b + b * analysed[text].length / average))
    return total


@pytest.mark.parametrize(("profile", "repeat"), [("engram", False), ("praxis", True), ("default", False)])
def test_bm25(alice: Actor, corpus: dict[Any, str], profile: str, repeat: bool) -> None:
    chosen = shipped(profile)
    question = "fox night fox dog"
    with owner_scope(alice.owner_id):
        query, model = ask(alice, question, chosen)
        scores = plain(lexical.search(query, model, 10))
        assert plain(lexical.complete(query, model, list(corpus))) == pytest.approx(scores)
    expected = {
        one: bm25(question, text, k1=chosen.bm25_k1, b=chosen.bm25_b, repeat=repeat) for one, text in corpus.items()
    }
    assert scores == pytest.approx({one: score for one, score in expected.items() if score > 0})
    assert list(scores) == sorted(scores, key=lambda one: -scores[one])
    assert max(scores.values()) <= model.best_possible


def test_prax_sparse(alice: Actor, corpus: dict[Any, str]) -> None:
    question = "fox night fox"
    with owner_scope(alice.owner_id):
        query, model = ask(alice, question, shipped("prax"))
        scores = plain(lexical.search(query, model, 10))
    asked = analyse(question).frequencies
    for memory_id, text in corpus.items():
        stored = analyse(text).frequencies
        expected = sum(
            math.log(1 + 0.5 + 0.5 * asked[term] / max(asked.values()))
            * math.log(1 + 0.5 + 0.5 * stored[term] / max(stored.values()))
            for term in query_terms(question)
            if term in stored
        )
        assert scores.get(memory_id, 0.0) == pytest.approx(expected)


def test_praxis_end_to_end(alice: Actor, corpus: dict[Any, str]) -> None:
    with owner_scope(alice.owner_id):
        row = Memory.objects.get(pk=next(iter(corpus)))
        Memory.objects.filter(pk=row.pk).update(created_at=NOW - timedelta(days=60), salience=0.7)
        MemoryAccess.objects.create(memory_id=row.pk, access_count=4, last_accessed=NOW)
    fixed = type("Fixed", (), {"now": staticmethod(lambda: NOW)})()
    clock.set_clock(fixed)
    try:
        hits = recall(actor=alice, request=RecallRequest(query="lazy fox", profile="praxis")).hits
    finally:
        clock.set_clock(None)
    found = {hit.memory.pk: hit.score for hit in hits}
    expected = bm25("lazy fox", TEXTS[0], k1=1.5, b=0.75, repeat=True) + 0.7 + 0.1 * 4 + 1 / (1 + 60 / 30)
    assert found[row.pk] == pytest.approx(expected)
    assert set(found) == {one for one, text in corpus.items() if "fox" in text.lower()}


def test_cortex_end_to_end(alice: Actor, corpus: dict[Any, str]) -> None:
    week_old = next(iter(corpus))
    with owner_scope(alice.owner_id):
        Memory.objects.all().update(created_at=NOW)
        Memory.objects.filter(pk=week_old).update(created_at=NOW - timedelta(days=7))
    fixed = type("Fixed", (), {"now": staticmethod(lambda: NOW)})()
    clock.set_clock(fixed)
    try:
        hits = recall(actor=alice, request=RecallRequest(query="lazy fox", profile="cortex")).hits
    finally:
        clock.set_clock(None)
    for hit in hits:
        arms = hit.reasons["arms"]
        raw = arms["dense"]["score"] + arms.get("lexical", {"score": 0})["score"] / bm25(
            "lazy fox", TEXTS[0], k1=1.2, b=0.75, repeat=False
        )
        assert hit.score == pytest.approx(raw * (0.5 if hit.memory.pk == week_old else 1.0), abs=1e-4)


def test_rarest_first_completes_what_it_skipped(
    alice: Actor, corpus: dict[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = shipped("default")
    with owner_scope(alice.owner_id):
        query, model = ask(alice, "lazy fox night", profile)
        exact = plain(lexical.search(query, model, 10))
        monkeypatch.setattr(lexical, "LEAST_BUDGET", 1)
        _, tight = ask(alice, "lazy fox night", profile)
        assert tight.skipped
        assert len(tight.kept) == 1
        for memory_id, score in plain(lexical.search(query, tight, 10)).items():
            assert score == pytest.approx(exact[memory_id])


def test_at_most_sixteen_terms_the_rarest_first(alice: Actor, corpus: dict[Any, str]) -> None:
    everything = " ".join(TEXTS)
    with owner_scope(alice.owner_id):
        _, model = ask(alice, everything, shipped("default"))
    counted = [model.frequencies[term] for term in model.weights]
    assert len(counted) == 16
    assert counted == sorted(model.frequencies.values())[:16]


def test_dense_is_the_cosine(alice: Actor, corpus: dict[Any, str]) -> None:
    with owner_scope(alice.owner_id):
        query, _ = ask(alice, "A dog barks at night.", shipped("default"))
        exact = dense.search(query, 10, exact=True)
        indexed = dense.search(query, 10, exact=False)
        given = dense.complete(query, list(corpus))
    assert set(exact) == set(corpus)
    assert list(exact.values()) == sorted(exact.values(), reverse=True)
    assert exact == pytest.approx(given, abs=1e-6)
    assert exact == pytest.approx(indexed, abs=1e-6)
    best = max(exact, key=lambda one: exact[one])
    assert corpus[best] == "A dog barks at night."
    assert exact[best] == pytest.approx(1.0, abs=1e-3)
    assert np.isclose(float(np.linalg.norm(query.vector)), 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "partition", "exact"),
    [(0, 0, True), (10_000, 0, True), (10_001, 10_001, False), (20_000, 1_000_000, True), (40_000, 1_000_000, False)],
)
def test_the_choice_between_scan_and_index(rows: int, partition: float, exact: bool) -> None:
    assert dense.choose_exact(OwnerStatistics(rows, rows, partition)) is exact


@pytest.mark.parametrize(
    ("rows", "partition", "width"),
    [(100_000, 100_000, 600), (30_000, 50_000, 1000), (60_000, 80_000, 800), (5, 0, 600)],
)
def test_the_index_looks_at_enough_of_the_owners_rows(rows: int, partition: float, width: int) -> None:
    assert dense.breadth(OwnerStatistics(rows, rows, partition)) == width


def test_keys_of_terms_are_the_owners_own(alice: Actor, mallory: Actor) -> None:
    assert keyring().of(alice.owner_id).word("fox") != keyring().of(mallory.owner_id).word("fox")
    assert with_changes(shipped("default"), {}) == shipped("default")
