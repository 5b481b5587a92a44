"""Contradictions: what was stated last stands, the other is history, and a person decides what is contested."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from memory.consolidation.extraction.rules import RulesExtractor
from memory.models import (
    AuditEvent,
    EdgeKind,
    LexPosting,
    Memory,
    MemoryClaim,
    MemoryEdge,
    MemoryVector,
    MemoryVersion,
    Relation,
    ReviewItem,
    ReviewKind,
    Status,
    owner_scope,
)
from memory.ports import Claim, ExtractedEntity, ExtractedFact, ExtractedRelation
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.retirement import restore_memory
from tests.integration.consolidation.scripted import (
    MAY,
    Scripted,
    consolidate,
    facts_of,
    home,
    preference,
    texts_of,
)
from tests.integration.consolidation.stage import say

pytestmark = pytest.mark.django_db

LATER = MAY + timedelta(days=30)
RULES = RulesExtractor()


def hear(owner: Actor, text: str, at: datetime, **settings: Any) -> None:
    """Say a turn in a conversation of its own and consolidate by the rules."""
    say(owner, f"session of {at.isoformat()}", ("user", text), at=at)
    consolidate(owner, RULES, at=max(at, MAY) + timedelta(hours=1), **settings)


@pytest.mark.parametrize("together", [True, False], ids=["one run", "two runs"])
def test_love_then_hate(alice: Actor, together: bool) -> None:
    say(alice, "one", ("user", "I love Chinese food."), at=MAY)
    if not together:
        consolidate(alice, RULES)
    say(alice, "two", ("user", "I hate Chinese food."), at=LATER)
    consolidate(alice, RULES, at=LATER + timedelta(hours=1))
    (now,) = facts_of(alice)
    (then,) = facts_of(alice, Status.SUPERSEDED)
    assert "hate" in now.text.lower() or "dislike" in now.text.lower()
    assert "love" in then.text.lower() or "like" in then.text.lower()
    assert (then.valid_until, then.retracted_at) == (LATER, LATER + timedelta(hours=1))
    assert then.occurred_at == MAY
    with owner_scope(alice.owner_id):
        edge = MemoryEdge.objects.get(kind=EdgeKind.CONTRADICTS)
        assert (edge.source_id, edge.target_id) == (now.pk, then.pk)
        assert AuditEvent.objects.filter(verb="supersede", object_id=then.pk).count() == 1
        assert not LexPosting.objects.filter(memory_id=then.pk).exists()
        assert not MemoryVector.objects.filter(memory_id=then.pk).exists()
        assert MemoryVersion.objects.get(memory_id=then.pk).changes == {"valid_until": None}
        # Turns stay as they are.
        assert Memory.objects.filter(session__isnull=False, status=Status.LIVE).count() == 2


def test_statements_take_part(alice: Actor) -> None:
    first = remember(actor=alice, draft=Draft(text="Loves cheese pizza", kind="preference", occurred_at=MAY))
    second = remember(actor=alice, draft=Draft(text="Dislikes cheese pizza", kind="preference", occurred_at=LATER))
    consolidate(alice, RULES, at=LATER)
    with owner_scope(alice.owner_id):
        older, newer = Memory.objects.get(pk=first.memory_id), Memory.objects.get(pk=second.memory_id)
    assert (older.status, older.valid_until) == (Status.SUPERSEDED, LATER)
    assert newer.status == Status.LIVE
    assert facts_of(alice) == []


def test_moving_house_closes_the_old_home(alice: Actor) -> None:
    hear(alice, "I live in Whitefield.", MAY)
    hear(alice, "I moved from Whitefield to Electronic City.", LATER)
    assert any("Electronic City" in text for text in texts_of(alice))
    (old,) = texts_of(alice, Status.SUPERSEDED)
    assert "Whitefield" in old
    assert "Electronic" not in old
    with owner_scope(alice.owner_id):
        homes = {row.target.name: row for row in Relation.objects.all() if row.label == "lives_in"}
        assert homes["Whitefield"].valid_until == LATER
        assert homes["Electronic City"].valid_until is None
        assert homes["Electronic City"].valid_from == LATER


def test_what_was_said_before_but_comes_later_is_history(alice: Actor) -> None:
    say(alice, "new", ("user", "now"), at=LATER)
    consolidate(alice, Scripted({"now": [home("User lives in Oslo.", "Oslo")]}), at=LATER)
    say(alice, "old", ("user", "then"), at=MAY)
    consolidate(alice, Scripted({"then": [home("User lives in Rome.", "Rome")]}), at=LATER)
    assert texts_of(alice) == ["User lives in Oslo."]
    (old,) = facts_of(alice, Status.SUPERSEDED)
    assert (old.text, old.valid_until) == ("User lives in Rome.", LATER)


def test_what_was_stated_again_since_stands(alice: Actor) -> None:
    script = {"pune": [home("User lives in Pune.", "Pune")], "delhi": [home("User lives in Delhi.", "Delhi")]}
    for day, text in ((0, "pune"), (20, "pune"), (10, "delhi")):
        say(alice, f"day {day}", ("user", text), at=MAY + timedelta(days=day))
        consolidate(alice, Scripted(script), at=LATER)
    assert texts_of(alice) == ["User lives in Pune."]
    assert texts_of(alice, Status.SUPERSEDED) == ["User lives in Delhi."]


def test_to_and_fro(alice: Actor) -> None:
    likes, hates = preference("User loves tea.", "tea"), preference("User hates tea.", "tea", -1)
    for day, (text, fact) in enumerate([("a", likes), ("b", hates), ("c", likes)]):
        say(alice, text, ("user", text), at=MAY + timedelta(days=day))
        consolidate(alice, Scripted({text: [fact]}), at=MAY + timedelta(days=day))
    assert texts_of(alice) == ["User loves tea."]
    assert texts_of(alice, Status.SUPERSEDED) == ["User hates tea.", "User loves tea."]


def test_mentioning_somebody_retires_nothing(alice: Actor) -> None:
    hear(alice, "Bob lives in Oslo.", MAY)
    before = texts_of(alice)
    assert before
    hear(alice, "I met Bob in Rome yesterday. Bob and I talked about Oslo.", LATER)
    assert set(before) <= set(texts_of(alice))
    assert texts_of(alice, Status.SUPERSEDED) == []


def test_several_values_stand_beside_each_other(alice: Actor) -> None:
    hear(alice, "I love tea.", MAY)
    hear(alice, "I love coffee.", LATER)
    assert len(texts_of(alice)) == 2
    assert texts_of(alice, Status.SUPERSEDED) == []


@pytest.mark.parametrize(("importance", "by_person"), [(0.9, False), (0.5, True)], ids=["weighty", "of a person"])
def test_an_unsure_extraction_only_asks(alice: Actor, make_agent: Any, importance: float, by_person: bool) -> None:
    agent, _ = make_agent(alice)
    stored = remember(
        actor=alice if by_person else agent,
        draft=Draft(text="User is allergic to nuts", kind="fact", importance=importance, occurred_at=MAY),
        scope="owner",
    )
    claim = Claim(subject="user", attribute="allergic_to", value="nuts")
    denial = Claim(subject="user", attribute="allergic_to", value="nuts", polarity=-1)
    script = {
        "User is allergic to nuts": [ExtractedFact(text="User is allergic to nuts", claim=claim)],
        "nuts are fine": [ExtractedFact(text="User is not allergic to nuts.", claim=denial, confidence=0.7)],
        "really": [ExtractedFact(text="User has no allergy to nuts.", claim=denial, confidence=0.95)],
    }
    consolidate(alice, Scripted(script))
    say(alice, "chat", ("user", "nuts are fine"), at=LATER)
    reports, _ = consolidate(alice, Scripted(script), at=LATER)
    assert reports["contradictions"].counts == {"conflicts": 1, "retired": 0, "contested": 1}
    (doubted,) = facts_of(alice)
    with owner_scope(alice.owner_id):
        item = ReviewItem.objects.get(kind=ReviewKind.CONTRADICTION)
        assert item.payload == {"older": str(stored.memory_id), "newer": str(doubted.pk), "reason": "contested"}
        assert Memory.objects.get(pk=stored.memory_id).status == Status.LIVE
    # Another run, or the same doubt once more, asks nothing new.
    consolidate(alice, Scripted(script), at=LATER)
    with owner_scope(alice.owner_id):
        assert ReviewItem.objects.count() == 1


@pytest.mark.parametrize(("mode", "counted"), [("log", 1), ("off", 0)])
def test_a_setting_only_reports_or_does_nothing(alice: Actor, mode: str, counted: int) -> None:
    say(alice, "one", ("user", "a"), ("user", "b"), at=MAY)
    drawn: dict[str, list[Any]] = {}
    for text, place in (("a", "Porto"), ("b", "Lisbon")):
        drawn[text] = [
            ExtractedEntity(name="Ana", type="person"),
            ExtractedEntity(name=place, type="topic"),
            ExtractedRelation(source="Ana", label="lives_in", target=place),
            home(f"Ana lives in {place}.", place, subject="Ana"),
        ]
    reports, _ = consolidate(alice, Scripted(drawn), consistency=mode)
    assert texts_of(alice) == ["Ana lives in Lisbon.", "Ana lives in Porto."]
    assert reports["contradictions"].counts.get("conflicts", 0) == counted
    assert reports["graph"].counts.get("conflicts", 0) == counted
    assert reports["graph"].counts["relations_ended"] == 0
    with owner_scope(alice.owner_id):
        assert Relation.objects.filter(valid_until=None).count() == 2


def test_a_single_relation_is_superseded_and_the_same_target_is_not(alice: Actor) -> None:
    # Prax P28: Lisbon ends Porto; LISBON again is a reaffirmation; many-valued labels end nothing.
    script: dict[str, list[Any]] = {
        text: [
            ExtractedEntity(name="Ana", type="person"),
            ExtractedEntity(name=place, type="topic"),
            ExtractedRelation(source="Ana", label=label, target=place),
        ]
        for text, label, place in (
            ("a", "lives_in", "Porto"),
            ("b", "lives_in", "Lisbon"),
            ("c", "lives_in", "LISBON"),
            ("d", "interested_in", "Porto"),
            ("e", "interested_in", "Lisbon"),
        )
    }
    counts = []
    for day, text in enumerate(script):
        say(alice, text, ("user", text), at=MAY + timedelta(days=day))
        reports, _ = consolidate(alice, Scripted(script), at=LATER)
        counts.append((reports["graph"].counts["conflicts"], reports["graph"].counts["relations_ended"]))
    assert counts == [(0, 0), (1, 1), (0, 0), (0, 0), (0, 0)]


def test_an_end_closes_and_is_never_opened_again(alice: Actor) -> None:
    people = [ExtractedEntity(name="Ana", type="person"), ExtractedEntity(name="Acme", type="organization")]
    works = ExtractedRelation(source="Ana", label="works_at", target="Acme")
    script: dict[str, list[Any]] = {
        "begins": [*people, works],
        "ends": [*people, ExtractedRelation(source="Ana", label="works_at", target="Acme", ended=True)],
        "again": [*people, works],
    }
    for day, text in enumerate(script):
        say(alice, text, ("user", text), at=MAY + timedelta(days=day))
        consolidate(alice, Scripted(script), at=LATER)
    with owner_scope(alice.owner_id):
        spans = list(Relation.objects.order_by("valid_from").values_list("valid_from", "valid_until"))
    assert spans == [(MAY, MAY + timedelta(days=1)), (MAY + timedelta(days=2), None)]


def test_an_end_of_what_was_not_known_is_history(alice: Actor) -> None:
    script: dict[str, list[Any]] = {
        "left": [
            ExtractedEntity(name="Ana", type="person"),
            ExtractedEntity(name="Acme", type="organization"),
            ExtractedRelation(source="Ana", label="works_at", target="Acme", ended=True),
        ]
    }
    say(alice, "one", ("user", "left"), at=MAY)
    consolidate(alice, Scripted(script))
    with owner_scope(alice.owner_id):
        row = Relation.objects.get()
    assert (row.valid_from, row.valid_until) == (MAY, MAY)


def test_a_person_can_bring_back_what_was_retired(alice: Actor) -> None:
    script = {"a": [preference("User loves tea.", "tea")], "b": [preference("User hates tea.", "tea", -1)]}
    for day, text in enumerate(script):
        say(alice, text, ("user", text), at=MAY + timedelta(days=day))
    consolidate(alice, Scripted(script), at=LATER)
    (old,) = facts_of(alice, Status.SUPERSEDED)
    row = restore_memory(actor=alice, memory_id=old.pk)
    assert (row.status, row.valid_until, row.retracted_at, row.version) == (Status.LIVE, None, None, 3)
    assert texts_of(alice) == ["User hates tea.", "User loves tea."]
    with owner_scope(alice.owner_id):
        assert LexPosting.objects.filter(memory_id=old.pk).exists()
        reasons = list(MemoryVersion.objects.filter(memory_id=old.pk).order_by("number").values_list("reason", "actor"))
    assert reasons == [("contradicted", "system"), ("restored", "person")]
    # No later run takes it away again by itself.
    consolidate(alice, Scripted(script), at=LATER + timedelta(days=1))
    assert texts_of(alice) == ["User hates tea.", "User loves tea."]


def test_a_changed_statement_is_read_anew(alice: Actor) -> None:
    script = {
        "a": [home("User lives in Rome.", "Rome")],
        "User lives in Oslo.": [home("User lives in Oslo.", "Oslo")],
        "b": [home("User lives in Oslo now.", "Oslo")],
        "c": [home("User lives in Bergen.", "Bergen")],
    }
    say(alice, "a", ("user", "a"), at=MAY)
    consolidate(alice, Scripted(script))
    (fact,) = facts_of(alice)
    change_memory(actor=alice, memory_id=fact.pk, changes={"text": "User lives in Oslo."})
    with owner_scope(alice.owner_id):
        assert not MemoryClaim.objects.exists()
    consolidate(alice, Scripted(script))
    say(alice, "b", ("user", "b"), at=LATER)
    consolidate(alice, Scripted(script), at=LATER)
    assert texts_of(alice) == ["User lives in Oslo."]
    say(alice, "c", ("user", "c"), at=LATER + timedelta(days=1))
    consolidate(alice, Scripted(script), at=LATER + timedelta(days=1))
    assert texts_of(alice) == ["User lives in Bergen."]
