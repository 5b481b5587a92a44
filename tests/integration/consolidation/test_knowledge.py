"""The stages of knowledge as a whole: what is drawn from turns, what is not, and what a run leaves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.models import (
    Entity,
    EntityMention,
    ExtractionFailure,
    Memory,
    Relation,
    ReviewItem,
    ReviewKind,
    Role,
    TemporalEvent,
    owner_scope,
)
from memory.ports import ExtractedCause, ExtractedEntity, ExtractedEvent, ExtractedFact, ExtractedRelation
from memory.services.actors import Actor
from memory.services.consolidation.stages import RunStopped
from memory.services.context import FORMATS, build_context
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.remember import remember
from memory.services.retirement import delete_memory, erase_due
from tests.integration.consolidation.scripted import (
    MAY,
    Everything,
    Item,
    Scripted,
    consolidate,
    facts_of,
    preference,
    texts_of,
    turns_of,
)
from tests.integration.consolidation.stage import say

pytestmark = pytest.mark.django_db

WORKS = "Alice works at Acme with Bob since the fire destroyed her office."
DRAWN: list[Item] = [
    ExtractedEntity(name="Alice", type="person", importance=0.7),
    ExtractedEntity(name="Acme", type="organization"),
    ExtractedEntity(name="Bob", type="person"),
    ExtractedRelation(source="Alice", label="works_at", target="Acme", evidence="works at Acme"),
    ExtractedRelation(source="Alice", label="knows", target="Zoe"),
    ExtractedFact(text="Alice works at Acme.", entities=("Alice", "Acme"), topics=("work",), importance=0.6),
    ExtractedEvent(
        text="A fire destroyed Alice's office.", occurred_at=MAY - timedelta(days=3), participants=("Alice",)
    ),
    ExtractedCause(cause="the fire", effect="Alice works with Bob", effect_entity="Bob"),
]


def test_a_turn_becomes_facts_and_graph(alice: Actor) -> None:
    _, (turn,) = say(alice, "chat", ("user", WORKS), at=MAY)
    reports, context = consolidate(alice, Scripted({WORKS: DRAWN}))
    assert list(reports) == ["selection", "extraction", "gate", "graph", "events", "facts", "contradictions"]
    (fact,) = facts_of(alice)
    assert (fact.text, fact.tier, fact.kind) == ("Alice works at Acme.", "semantic", "fact")
    assert (fact.source, fact.occurred_at, fact.topics) == ("consolidation/scripted", MAY, ["work"])
    assert turns_of(alice, fact.pk) == [turn]
    with owner_scope(alice.owner_id):
        mentions = set(EntityMention.objects.values_list("memory_id", flat=True))
        names = {row.name: row.mention_count for row in Entity.objects.all()}
        relation = Relation.objects.get()
        event = TemporalEvent.objects.get()
        assert Memory.objects.get(pk=turn).extracted_at == MAY
    assert mentions == {turn, fact.pk}
    assert names == {"Alice": 2, "Acme": 2, "Bob": 1}
    assert (relation.valid_from, relation.valid_until) == (MAY, None)
    assert event.occurred_at == MAY - timedelta(days=3)
    assert reports["graph"].counts["relations_new"] == 1
    assert reports["graph"].counts["unresolved"] == 1
    assert reports["events"].counts == {"unresolved": 0, "events_new": 1, "causes_new": 1}
    assert (context.totals.rows_seen, context.totals.batches) == (1, 1)
    assert context.totals.bytes_seen == len(WORKS.encode())
    assert (context.totals.backlog_rows, context.totals.backlog_bytes) == (0, 0)


def test_doing_it_again_changes_nothing(alice: Actor) -> None:
    say(alice, "chat", ("user", WORKS), at=MAY)
    extractor = Scripted({WORKS: DRAWN})
    consolidate(alice, extractor)
    with owner_scope(alice.owner_id):
        before = list(Memory.objects.order_by("pk").values()), list(Entity.objects.order_by("pk").values())
    reports, context = consolidate(alice, extractor, at=MAY + timedelta(hours=1))
    with owner_scope(alice.owner_id):
        after = list(Memory.objects.order_by("pk").values()), list(Entity.objects.order_by("pk").values())
    assert before == after
    assert extractor.calls == 1
    assert reports["selection"].counts["rows"] == 0
    assert context.totals.batches == 0


def test_only_what_is_sure_is_stored(alice: Actor) -> None:
    # Prax P20, P21: .4 waits for a person, .9 is stored, .6 is the bound.
    text = "Maybe Bob moved to Oslo."
    say(alice, "chat", ("user", text), at=MAY)
    drawn: list[Item] = [
        ExtractedEntity(name="Bob", type="person", confidence=0.4),
        ExtractedEntity(name="Oslo", type="topic", confidence=0.6),
        ExtractedFact(text="Bob moved to Oslo.", confidence=0.4),
        ExtractedFact(text="Oslo was spoken of.", confidence=0.9),
        ExtractedRelation(source="Bob", label="lives_in", target="Oslo", confidence=0.9),
        ExtractedEvent(text="Bob moved.", occurred_at=MAY, participants=("Bob",), confidence=0.3),
        ExtractedCause(cause="a job", effect="Bob moved", confidence=0.5),
    ]
    reports, _ = consolidate(alice, Scripted({text: drawn}))
    assert texts_of(alice) == ["Oslo was spoken of."]
    with owner_scope(alice.owner_id):
        assert [row.name for row in Entity.objects.all()] == ["Oslo"]
        assert not Relation.objects.exists()
        kinds = sorted(ReviewItem.objects.values_list("kind", flat=True))
        item = ReviewItem.objects.get(kind=ReviewKind.FACT)
    assert kinds == ["cause", "entity", "event", "fact"]
    assert item.payload["text"] == "Bob moved to Oslo."
    assert reports["gate"].counts == {"entity": 1, "fact": 1, "event": 1, "cause": 1}
    assert reports["graph"].counts["unresolved"] == 1
    assert "relations_new" not in reports["graph"].counts


def test_systems_tools_and_our_own_texts_are_not_heard(alice: Actor) -> None:
    say(alice, "chat", ("system", "You are a helpful agent."), ("tool", "rows: 3"), ("user", "I am here."), at=MAY)
    remember(actor=alice, draft=Draft(text="A summary of it all.", kind="summary"))
    remember(actor=alice, draft=Draft(text="Something drawn.", kind="fact", source="consolidation/rules"))
    extractor = Scripted({})
    reports, context = consolidate(alice, extractor)
    assert [passage.text for passage in extractor.seen] == ["I am here."]
    assert reports["selection"].counts["skipped_kind"] == 4
    assert context.totals.rows_seen == 1
    with owner_scope(alice.owner_id):
        assert not Memory.objects.filter(extracted_at=None).exists()


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_block_that_comes_back_is_not_heard(alice: Actor, form: str) -> None:
    remember(actor=alice, draft=Draft(text="The boiler is serviced in March by Mr Hill.", kind="fact"))
    block = build_context(actor=alice, request=RecallRequest(query="boiler", threshold=0.0), form=form)
    assert "boiler" in block.text
    say(alice, "echo", ("user", block.text), ("user", f"{block.text}\n\nWhen is it due?"), at=MAY)
    extractor = Scripted({})
    reports, _ = consolidate(alice, extractor)
    heard = [passage.text for passage in extractor.seen if passage.role]
    assert heard == ["When is it due?"]
    assert reports["selection"].counts["skipped_recalled"] == 1


def test_an_assistant_that_repeats_a_memory_says_nothing_new(alice: Actor) -> None:
    text = "The boiler is serviced in March."
    remember(actor=alice, draft=Draft(text=text, kind="fact"))
    say(alice, "chat", ("assistant", text), ("user", text), at=MAY)
    extractor = Scripted({})
    reports, _ = consolidate(alice, extractor)
    assert reports["selection"].counts["skipped_recalled"] == 1
    assert {passage.role for passage in extractor.seen} == {"", "user"}


def test_batches_hold_one_scope_and_conversation_and_are_bounded(alice: Actor, make_agent) -> None:  # type: ignore[no-untyped-def]
    agent, _ = make_agent(alice)
    say(alice, "one", *[("user", f"{number} " + "x" * 400) for number in range(4)], at=MAY)
    say(alice, "two", ("user", "Another conversation."), at=MAY)
    say(agent, "three", ("user", "A private word."), at=MAY, scope="agent")
    seen: list[list[str]] = []

    class Noting(Everything):
        def extract(self, passages):  # type: ignore[no-untyped-def]
            seen.append([passage.text[:10] for passage in passages])
            return super().extract(passages)

    _, context = consolidate(alice, Noting(), consolidation_batch_characters=900, consolidation_batches=3)
    assert [len(one) for one in seen] == [2, 2, 1]
    assert context.totals.backlog_rows == 1
    consolidate(alice, Noting(), consolidation_batch_characters=900)
    private = [row for row in facts_of(alice) if row.text == "A private word."]
    assert [(row.visibility, row.scope, row.agent_id) for row in private] == [("agent", agent.agent_id, agent.agent_id)]


def test_what_fails_is_listed_and_tried_again(alice: Actor) -> None:
    _, (bad, _) = say(alice, "chat", ("user", "bad"), ("user", "good"), at=MAY)
    script: dict[str, list[object]] = {"bad": ["llm.unusable"], "good": [ExtractedFact(text="All is well.")]}
    extractor = Scripted(script)  # type: ignore[arg-type]
    reports, _ = consolidate(alice, extractor)
    assert reports["extraction"].counts["failed"] == 1
    assert texts_of(alice) == ["All is well."]
    moment, waits = MAY, []
    for _ in range(6):
        with owner_scope(alice.owner_id):
            row = ExtractionFailure.objects.get(memory_id=bad)
            assert Memory.objects.get(pk=bad).extracted_at is None
        waits.append(None if row.next_at is None else row.next_at - row.failed_at)
        consolidate(alice, extractor, at=(row.next_at or moment) - timedelta(seconds=1))
        moment = row.next_at or moment + timedelta(days=1)
        consolidate(alice, extractor, at=moment)
    assert waits == [timedelta(minutes=5 * 2**count) for count in range(4)] + [None, None]
    assert [passage.text for passage in extractor.seen].count("bad") == 5


def test_a_later_success_takes_the_failure_off_the_list(alice: Actor) -> None:
    say(alice, "chat", ("user", "bad"), at=MAY)
    consolidate(alice, Scripted({"bad": ["llm.unusable"]}))
    consolidate(alice, Scripted({"bad": [ExtractedFact(text="It went well at last.")]}), at=MAY + timedelta(minutes=5))
    assert texts_of(alice) == ["It went well at last."]
    with owner_scope(alice.owner_id):
        assert not ExtractionFailure.objects.exists()


def test_an_absent_model_ends_the_run_and_uses_no_row_up(alice: Actor) -> None:
    for name in ("one", "two", "three"):
        say(alice, name, ("user", "bad"), at=MAY)
    extractor = Scripted({"bad": ["llm.unavailable"]})
    reports, _ = consolidate(alice, extractor)
    assert extractor.calls == 1
    assert reports["extraction"].notes == ["extractor.away"]
    for hour in range(1, 30):
        consolidate(alice, extractor, at=MAY + timedelta(hours=3 * hour))
    with owner_scope(alice.owner_id):
        assert not ExtractionFailure.objects.filter(next_at=None).exists()


def test_erasing_the_only_turn_erases_the_fact(alice: Actor) -> None:
    _, (first, second) = say(alice, "chat", ("user", "I love tea."), ("user", "Tea is what I love."), at=MAY)
    tea = preference("User loves tea.", "tea")
    also = preference("User really loves tea.", "tea")
    consolidate(alice, Scripted({"I love tea.": [tea], "Tea is what I love.": [also]}))
    (fact,) = facts_of(alice)
    assert turns_of(alice, fact.pk) == [first, second]
    for turn, left in ((first, 1), (second, 0)):
        row = delete_memory(actor=alice, memory_id=turn)
        assert row.erase_at is not None
        erase_due(owner_id=alice.owner_id, at=row.erase_at)
        assert len(facts_of(alice)) == left


def test_a_run_that_stops_keeps_what_is_done_and_loses_nothing(alice: Actor) -> None:
    for number in range(3):
        say(alice, f"chat {number}", ("user", f"This is statement number {number}."), at=MAY)
    beats = iter([None, RunStopped("time.up")])

    def beat() -> None:
        stop = next(beats, None)
        if stop is not None:
            raise stop

    with pytest.raises(RunStopped):
        consolidate(alice, Everything(), beat=beat)
    assert len(facts_of(alice)) == 1
    consolidate(alice, Everything())
    assert texts_of(alice) == [f"This is statement number {number}." for number in range(3)]


def test_a_turn_that_is_erased_while_it_is_read_leaves_nothing(alice: Actor) -> None:
    _, (turn, _) = say(alice, "chat", ("user", "Forget this."), ("user", "Keep this."), at=MAY)

    class Erasing(Everything):
        def extract(self, passages):  # type: ignore[no-untyped-def]
            row = delete_memory(actor=alice, memory_id=turn)
            assert row.erase_at is not None
            erase_due(owner_id=alice.owner_id, at=row.erase_at)
            return super().extract(passages)

    reports, _ = consolidate(alice, Erasing())
    assert texts_of(alice) == ["Keep this."]
    assert reports["extraction"].counts["changed_meanwhile"] == 1


def test_an_item_that_cannot_be_stored_costs_nothing_else(alice: Actor) -> None:
    text = "All sorts of things."
    say(alice, "chat", ("user", text), at=MAY)
    drawn: list[Item] = [
        ExtractedEntity(name="n" * 300, type="person"),
        ExtractedEntity(name="Alice", type="astronaut"),
        ExtractedEntity(name="Bob", type="person", aliases=("", "Bobby")),
        ExtractedEntity(name="Acme", type="organization"),
        ExtractedRelation(source="Bob", label="_ _", target="Acme"),
        ExtractedRelation(source="Bob", label="likes", target="Bobby"),
        ExtractedRelation(source="Bob", label="works_at", target="Acme"),
        ExtractedFact(text="a\x00b"),
        ExtractedFact(text="Bob works at Acme.", kind="rumour", importance=7.0),
        ExtractedEvent(text="", occurred_at=MAY),
    ]
    reports, _ = consolidate(alice, Scripted({text: drawn}))
    assert [(row.text, row.kind, row.importance) for row in facts_of(alice)] == [("Bob works at Acme.", "fact", 1.0)]
    with owner_scope(alice.owner_id):
        assert sorted(row.name for row in Entity.objects.all()) == ["Acme", "Bob"]
        assert Relation.objects.count() == 1
    assert reports["graph"].counts["unusable"] == 4
    assert reports["facts"].counts["unusable"] == 1
    assert reports["events"].counts["unusable"] == 1


def test_what_a_statement_says_stands_in_the_statement(alice: Actor) -> None:
    stored = remember(actor=alice, draft=Draft(text="Loves cheese pizza", kind="preference"))
    consolidate(alice, Scripted({"Loves cheese pizza": [preference("User loves cheese pizza.", "cheese pizza")]}))
    assert facts_of(alice) == []
    long = "Bob called. He moved to Oslo."
    remember(actor=alice, draft=Draft(text=long))
    consolidate(alice, Scripted({long: [ExtractedFact(text="Bob moved to Oslo.")]}))
    assert texts_of(alice) == ["Bob moved to Oslo."]
    with owner_scope(alice.owner_id):
        assert Memory.objects.get(pk=stored.memory_id).extracted_at == MAY


def test_long_and_repeated_texts(alice: Actor) -> None:
    many = " ".join(f"Name{number}" for number in range(500))
    long = "word " * 40_000 + "end"
    _, (first, _) = say(alice, "chat", ("user", many), ("user", long), at=MAY)
    people = [ExtractedEntity(name=f"Name{number % 250}", type="person") for number in range(500)]
    extractor = Scripted({many: people})
    _, context = consolidate(alice, extractor)
    parts = [passage.text for passage in extractor.seen if passage.text != many]
    assert "".join(parts) == long
    assert len(parts) == 13
    assert all(part.endswith((" ", "end")) for part in parts)
    with owner_scope(alice.owner_id):
        assert Entity.objects.count() == 250
        assert EntityMention.objects.filter(memory_id=first).count() == 250
        assert set(Entity.objects.values_list("mention_count", flat=True)) == {1}
    assert context.totals.bytes_seen == len(many) + len(long)


def test_roles_are_told_to_the_extractor(alice: Actor) -> None:
    say(alice, "chat", ("user", "Where is it?"), ("tool", "{}"), ("assistant", "In the cupboard."), at=MAY)
    extractor = Scripted({})
    consolidate(alice, extractor)
    assert [(one.role, one.text, one.before) for one in extractor.seen] == [
        (Role.USER, "Where is it?", ""),
        (Role.ASSISTANT, "In the cupboard.", "Where is it?"),
    ]
