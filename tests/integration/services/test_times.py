"""The times that memories speak of, through every way a memory can go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import Memory, MentionedTime, owner_scope
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.drafts import Draft
from memory.services.remember import remember, remember_many
from memory.services.retirement import archive_memory, delete_memory, erase_due, restore_memory
from memory.services.turns import TurnDraft, ingest_turns

SAID = datetime(2023, 5, 17, 12, tzinfo=UTC)


def days(actor: Actor) -> list[tuple[str, str]]:
    with owner_scope(actor.owner_id):
        return [
            (str(one.starts_at.date()), str(one.ends_at.date()))
            for one in MentionedTime.objects.order_by("starts_at", "ends_at")
        ]


class TestWriting:
    def test_phrases_are_resolved_against_the_moment_it_happened(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Yesterday the sensor failed.", occurred_at=SAID))
        assert days(alice) == [("2023-05-16", "2023-05-17")]

    def test_turns(self, alice: Actor) -> None:
        turns = [
            TurnDraft(draft=Draft(text=text, occurred_at=SAID + timedelta(days=place)))
            for place, text in enumerate(["We met last week.", "How are you?", "In March 2021, I moved."])
        ]
        ingest_turns(actor=alice, session="one", turns=turns)
        assert days(alice) == [("2021-03-01", "2021-04-01"), ("2023-05-08", "2023-05-15")]

    def test_each_span_once_and_no_vague_ones(self, alice: Actor) -> None:
        text = "In 2022, yes in 2022, after the 1990s and before 2020, since March 2021, ten years ago on 7 May 2023."
        remember(actor=alice, draft=Draft(text=text, occurred_at=SAID))
        assert days(alice) == [
            ("2013-01-01", "2014-01-01"),
            ("2022-01-01", "2023-01-01"),
            ("2023-05-07", "2023-05-08"),
        ]

    def test_at_most_eight(self, alice: Actor) -> None:
        text = ", ".join(f"{day} May 2023" for day in range(1, 20))
        remember(actor=alice, draft=Draft(text=text, occurred_at=SAID))
        assert days(alice) == [(f"2023-05-{day:02}", f"2023-05-{day + 1:02}") for day in range(1, 9)]

    def test_a_batch_takes_one_statement(self, alice: Actor) -> None:
        drafts = [Draft(text=f"Number {number}: seen on {number} May 2023", occurred_at=SAID) for number in range(1, 9)]
        with CaptureQueriesContext(connection) as captured:
            remember_many(actor=alice, drafts=drafts)
        assert sum("INTO memory_mentionedtime" in one["sql"] for one in captured) == 1
        assert len(days(alice)) == 8

    def test_texts_without_a_word_of_time_are_not_read(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbidden(*args: object, **kwargs: object) -> None:
            raise AssertionError("read")

        monkeypatch.setattr("memory.services.times.find_spans", forbidden)
        remember(actor=alice, draft=Draft(text="I like green tea."))
        assert days(alice) == []
        with pytest.raises(AssertionError, match="read"):
            remember(actor=alice, draft=Draft(text="I drank tea yesterday."))


class TestChanging:
    def test_with_the_text(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="The party was on 3 May 2023.", occurred_at=SAID)).memory_id
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "The party was on 4 May 2023."})
        assert days(alice) == [("2023-05-04", "2023-05-05")]
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "There was a party."})
        assert days(alice) == []

    def test_with_the_moment(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Yesterday it rained.", occurred_at=SAID)).memory_id
        change_memory(actor=alice, memory_id=memory_id, changes={"occurred_at": SAID + timedelta(days=3)})
        assert days(alice) == [("2023-05-19", "2023-05-20")]
        change_memory(
            actor=alice,
            memory_id=memory_id,
            changes={"occurred_at": SAID, "text": "The day before yesterday it rained."},
        )
        assert days(alice) == [("2023-05-15", "2023-05-16")]

    def test_other_changes_leave_them(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Yesterday it rained.", occurred_at=SAID)).memory_id
        with CaptureQueriesContext(connection) as captured:
            change_memory(actor=alice, memory_id=memory_id, changes={"importance": 0.9}, scope="owner")
        assert not any("mentionedtime" in one["sql"] for one in captured)
        assert days(alice) == [("2023-05-16", "2023-05-17")]


class TestLeaving:
    def test_archiving_and_restoring(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Yesterday it rained.", occurred_at=SAID)).memory_id
        remember(actor=alice, draft=Draft(text="It rained on 1 April 2023.", occurred_at=SAID))
        archive_memory(actor=alice, memory_id=memory_id)
        assert days(alice) == [("2023-04-01", "2023-04-02")]
        restore_memory(actor=alice, memory_id=memory_id)
        assert days(alice) == [("2023-04-01", "2023-04-02"), ("2023-05-16", "2023-05-17")]

    def test_erasing(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Yesterday it rained.", occurred_at=SAID)).memory_id
        delete_memory(actor=alice, memory_id=memory_id)
        assert days(alice) == []
        erase_due(owner_id=alice.owner_id, at=datetime.now(UTC) + timedelta(minutes=1))
        with owner_scope(alice.owner_id):
            assert not Memory.objects.exists()

    def test_owners_have_their_own(self, alice: Actor, mallory: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Yesterday it rained.", occurred_at=SAID)).memory_id
        remember(actor=mallory, draft=Draft(text="Tomorrow it rains.", occurred_at=SAID))
        archive_memory(actor=alice, memory_id=memory_id)
        assert days(alice) == []
        assert days(mallory) == [("2023-05-18", "2023-05-19")]
