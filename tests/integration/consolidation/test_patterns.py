"""Patterns of memories that are about the same: found per scope, kept under one identity, never doubled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import numpy as np

from memory.models import (
    AuditEvent,
    EdgeKind,
    EmbeddingSpace,
    Memory,
    MemoryAccess,
    MemorySource,
    Status,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.consolidation.patterns import find_patterns
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from memory.services.writing import Embedded, insert_vectors, remove_from_indexes
from tests.integration.consolidation.stage import MONDAY, edges_from, everything, made, run, sources_of
from tests.unit.consolidation.chat import chatting


def store(actor: Actor, *texts: str, axis: int, scope: str = "owner", lean: float = 0.1) -> list[UUID]:
    """Remember statements whose vectors point along an axis, each a little to a side of its own."""
    ids = [remember(actor=actor, draft=Draft(text=text), scope=scope).memory_id for text in texts]
    place(actor, ids, axis=axis, lean=lean)
    return ids


def place(actor: Actor, ids: Sequence[UUID], *, axis: int, lean: float = 0.1) -> None:
    with owner_scope(actor.owner_id):
        rows = [Memory.objects.get(pk=one) for one in ids]
        space = EmbeddingSpace.objects.get()
        vectors = np.zeros((len(rows), space.dimension), dtype=np.float32)
        vectors[:, axis] = 1
        for number in range(len(rows)):
            vectors[number, 30 + number] = lean * number
        insert_vectors(rows, Embedded(space.pk, vectors))


def test_an_empty_store_gives_zeros(alice: Actor) -> None:
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 0, "clusters": 0, "singletons": 0}


def test_one_memory_is_a_singleton(alice: Actor) -> None:
    store(alice, "Al sails.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 1, "clusters": 0, "singletons": 1}


def test_two_are_no_pattern_and_three_are_one(alice: Actor) -> None:
    first = store(alice, "Al sails to Faro.", "Al sails at night.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts["clusters"] == 0
    third = store(alice, "Al sails with Renée.", axis=0)
    report = run(find_patterns, alice, MONDAY)
    assert (report.counts, report.notes) == (
        {"rows": 3, "clusters": 1, "singletons": 0, "patterns": 1},
        ["way:rules"],
    )
    (pattern,) = made(alice, kind="pattern")
    assert pattern.text == "A recurring theme: Al sails to Faro."
    assert (pattern.tier, pattern.source, pattern.tags) == ("reflection", "consolidation/patterns", ["pattern"])
    assert edges_from(alice, pattern.pk, EdgeKind.DERIVED_FROM) == {*first, *third}
    assert sources_of(alice, pattern) == {*first, *third}


def test_what_only_agrees_or_thanks_is_no_theme(alice: Actor) -> None:
    store(alice, "Agreed.", "Thanks, Al!", "Okay then.", "Einverstanden.", "D’accord, merci.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 5, "clusters": 0, "singletons": 5}
    # Beside what says something it adds nothing to it.
    told = store(alice, "Agreed, we sail to Faro.", "Al sails at night.", "Okay, Al sails with Renée.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 8, "clusters": 1, "singletons": 5, "patterns": 1}
    (pattern,) = made(alice, kind="pattern")
    assert pattern.text == "A recurring theme: Agreed, we sail to Faro."
    assert sources_of(alice, pattern) == set(told)


def test_no_model_is_asked_about_thanks(alice: Actor) -> None:
    store(alice, "Agreed.", "Thanks, Al!", "Okay then.", axis=0)
    with chatting(["They often agree."]) as chat:
        report = run(find_patterns, alice, MONDAY, model=chat.model)
        assert (report.counts["clusters"], chat.asked) == (0, [])


def test_a_turn_and_what_was_drawn_from_it_are_one_saying(alice: Actor) -> None:
    turn, *facts = store(alice, "I lead four people; my boss is Jo.", "Al leads four.", "Al's boss is Jo.", axis=0)
    with owner_scope(alice.owner_id):
        assert MemorySource.objects.filter(memory_id__in=facts).update(turn_id=turn) == 2
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 3, "clusters": 0, "singletons": 3}
    store(alice, "Al hired a fifth.", "Al leads no more.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 5, "clusters": 1, "singletons": 0, "patterns": 1}


def test_two_groups_are_two_patterns_and_repeating_changes_nothing(alice: Actor) -> None:
    store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    store(alice, "Marta repairs roofs.", "Marta repairs barns.", "Marta repairs boats.", axis=1)
    store(alice, "The moon is far.", axis=2)
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 7, "clusters": 2, "singletons": 1, "patterns": 2}
    before = everything(alice)
    assert run(find_patterns, alice, MONDAY).counts == {"rows": 7, "clusters": 2, "singletons": 1, "unchanged": 2}
    assert everything(alice) == before


def test_a_group_that_grows_keeps_its_pattern(alice: Actor) -> None:
    old = store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    run(find_patterns, alice, MONDAY)
    (pattern,) = made(alice, kind="pattern")
    new = store(alice, "Al bought a new sail.", "Al caulks his boat.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts["grown"] == 1
    (same,) = made(alice, kind="pattern")
    assert (same.pk, same.text) == (pattern.pk, pattern.text)
    assert edges_from(alice, same.pk, EdgeKind.DERIVED_FROM) == {*old, *new}


def fade(actor: Actor, ids: Sequence[UUID], reason: str = "decay") -> None:
    """Archive memories as time does, or as somebody did for another reason."""
    with owner_scope(actor.owner_id):
        remove_from_indexes(ids)
        Memory.objects.filter(pk__in=ids).update(status=Status.ARCHIVED, archive_reason=reason, archived_at=MONDAY)


def test_a_pattern_that_has_faded_is_not_made_again_and_comes_back_when_it_grows(alice: Actor) -> None:
    old = store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    run(find_patterns, alice, MONDAY)
    (pattern,) = made(alice, kind="pattern")
    fade(alice, [pattern.pk])
    assert run(find_patterns, alice, MONDAY).counts["unchanged"] == 1
    assert made(alice, kind="pattern") == []
    new = store(alice, "Al bought a new sail.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts["grown"] == 1
    (same,) = made(alice, kind="pattern")
    assert (same.pk, same.archive_reason) == (pattern.pk, "")
    assert edges_from(alice, same.pk, EdgeKind.DERIVED_FROM) == {*old, *new}
    with owner_scope(alice.owner_id):
        assert Memory.objects.filter(kind="pattern").count() == 1
        assert AuditEvent.objects.filter(verb="restore", object_id=same.pk).count() == 1


def test_the_same_words_are_the_same_pattern_though_its_members_have_faded(alice: Actor) -> None:
    old = store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    run(find_patterns, alice, MONDAY)
    (pattern,) = made(alice, kind="pattern")
    fade(alice, [pattern.pk, *old[1:]])
    store(alice, "Al bought a sail.", "Al caulks his boat.", "Al moors in Olhão.", "Al rows.", axis=0)
    place(alice, old[:1], axis=0, lean=0.0)
    report = run(find_patterns, alice, MONDAY)
    (same,) = made(alice, kind="pattern")
    assert (same.pk, report.counts["grown"]) == (pattern.pk, 1)


def test_a_pattern_that_somebody_put_away_stays_away(alice: Actor) -> None:
    store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    run(find_patterns, alice, MONDAY)
    (pattern,) = made(alice, kind="pattern")
    archive_memory(actor=alice, memory_id=pattern.pk)
    store(alice, "Al bought a new sail.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts["unchanged"] == 1
    with owner_scope(alice.owner_id):
        assert [row.status for row in Memory.objects.filter(kind="pattern")] == [Status.ARCHIVED]


def test_growing_keeps_a_pattern_from_fading(alice: Actor) -> None:
    store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    run(find_patterns, alice, MONDAY)
    (pattern,) = made(alice, kind="pattern")
    store(alice, "Al bought a new sail.", axis=0)
    run(find_patterns, alice, MONDAY)
    with owner_scope(alice.owner_id):
        assert MemoryAccess.objects.get(memory_id=pattern.pk).last_accessed == MONDAY


def test_two_groups_that_become_one_have_one_pattern(alice: Actor) -> None:
    left = store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    right = store(alice, "The boat leaks.", "The boat is painted.", "The boat is old.", axis=1)
    run(find_patterns, alice, MONDAY)
    place(alice, right, axis=0)
    run(find_patterns, alice, MONDAY)
    (pattern,) = made(alice, kind="pattern")
    assert edges_from(alice, pattern.pk, EdgeKind.DERIVED_FROM) == {*left, *right}
    assert len(made(alice, kind="pattern", status=Status.SUPERSEDED)) == 1


def test_scopes_and_owners_stay_apart(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    diarist, _ = make_agent(alice, "diarist")
    store(diarist, "I fear flying.", "I fear heights.", axis=0, scope="agent")
    store(alice, "Al fears flying.", "Al fears heights.", axis=0)
    store(mallory, "Fear of flying.", "Fear of heights.", "Fear of depths.", axis=0)
    assert run(find_patterns, alice, MONDAY).counts["clusters"] == 0
    store(diarist, "I fear depths.", axis=0, scope="agent")
    run(find_patterns, alice, MONDAY)
    (pattern,) = made(alice, kind="pattern")
    assert (pattern.visibility, pattern.scope, pattern.sealing_agent_id) == (
        "agent", diarist.agent_id, diarist.agent_id,
    )  # fmt: skip
    assert made(mallory, kind="pattern") == []


def test_what_was_made_here_is_no_member(alice: Actor) -> None:
    store(alice, "Al sails to Faro.", "Al sails at night.", axis=0)
    place(alice, [remember(actor=alice, draft=Draft(text="Al sails.", kind="summary")).memory_id], axis=0)
    assert run(find_patterns, alice, MONDAY).counts["clusters"] == 0


def test_a_model_says_what_recurs(alice: Actor) -> None:
    store(alice, "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.", axis=0)
    with chatting(["Al spends his free time sailing."]) as chat:
        report = run(find_patterns, alice, MONDAY, model=chat.model)
        assert {part["text"] for part in chat.parts()} == {
            "Al sails to Faro.", "Al sails at night.", "Al sails with Renée.",
        }  # fmt: skip
    assert report.notes == ["way:llm"]
    assert [row.text for row in made(alice, kind="pattern")] == ["Al spends his free time sailing."]
