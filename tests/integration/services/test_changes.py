"""Changing, archiving, deleting and restoring memories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.models import (
    AuditEvent,
    DueWork,
    LexPosting,
    LexStats,
    Memory,
    MemorySource,
    MemoryVector,
    MemoryVersion,
    owner_scope,
)
from memory.services import clock
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.drafts import Draft
from memory.services.due_work import run_due_work
from memory.services.memories import ListRequest, get_memory, history, list_memories, sources
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from memory.services.settings import change_settings
from memory.services.turns import TurnDraft, ingest_turns
from memory.services.versions import restore_version
from memory.text.tokens import ANALYZER_VERSION

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class SetClock:
    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def time() -> Any:
    fixed = SetClock()
    clock.set_clock(fixed)
    yield fixed
    clock.set_clock(None)


def found(actor: Actor, query: str) -> list[str]:
    return [hit.memory.text for hit in recall(actor=actor, request=RecallRequest(query=query)).hits]


def indexed(actor: Actor) -> tuple[int, int, int]:
    with owner_scope(actor.owner_id):
        stats = LexStats.objects.get()
        return stats.n, LexPosting.objects.values("memory_id").distinct().count(), MemoryVector.objects.count()


class TestChange:
    def test_the_new_text_is_found_and_the_old_one_kept(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="The meeting is on Tuesday.", tags=["work"])).memory_id
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "The meeting is on Friday.", "importance": 1})
        row = get_memory(actor=alice, memory_id=memory_id)
        assert (row.text, row.importance, row.tags, row.version) == ("The meeting is on Friday.", 1.0, ["work"], 2)
        assert found(alice, "Friday") == ["The meeting is on Friday."]
        (before,) = history(actor=alice, memory_id=memory_id)
        assert (before.number, before.text, before.changes) == (1, "The meeting is on Tuesday.", {"importance": 0.5})
        assert indexed(alice) == (1, 1, 1)

    def test_a_second_change_keeps_both_versions(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="one")).memory_id
        for text in ("two", "three"):
            change_memory(actor=alice, memory_id=memory_id, changes={"text": text})
        assert [version.text for version in history(actor=alice, memory_id=memory_id)] == ["two", "one"]

    def test_a_stale_version_is_refused(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="one")).memory_id
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "two"}, version=1)
        with pytest.raises(Conflict) as caught:
            change_memory(actor=alice, memory_id=memory_id, changes={"text": "three"}, version=1)
        assert caught.value.machine_code == "memory.version"
        assert get_memory(actor=alice, memory_id=memory_id).text == "two"

    def test_it_cannot_say_what_another_says(self, alice: Actor) -> None:
        other = remember(actor=alice, draft=Draft(text="two")).memory_id
        memory_id = remember(actor=alice, draft=Draft(text="one")).memory_id
        with pytest.raises(Conflict) as caught:
            change_memory(actor=alice, memory_id=memory_id, changes={"text": "two"})
        assert caught.value.details["memory_id"] == str(other)
        assert get_memory(actor=alice, memory_id=memory_id).text == "one"
        assert history(actor=alice, memory_id=memory_id) == []

    def test_the_scope_moves_with_its_index(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        one, _ = make_agent(alice, "one")
        two, _ = make_agent(alice, "two")
        memory_id = remember(actor=one, draft=Draft(text="The vault opens at nine.")).memory_id
        assert found(two, "vault") == ["The vault opens at nine."]
        change_memory(actor=one, memory_id=memory_id, changes={}, scope="agent")
        assert found(two, "vault") == []
        assert found(one, "vault") == ["The vault opens at nine."]
        with pytest.raises(NotFound):
            history(actor=two, memory_id=memory_id)
        (before,) = history(actor=one, memory_id=memory_id)
        assert (before.text, before.changes) == ("The vault opens at nine.", {"scope": "owner"})

    @pytest.mark.parametrize(
        ("changes", "error"),
        [({"id": "x"}, InvalidInput), ({"text": ""}, InvalidInput), ({"importance": 7}, InvalidInput)],
    )
    def test_bad_changes_change_nothing(self, alice: Actor, changes: dict[str, Any], error: type[Exception]) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="one")).memory_id
        with pytest.raises(error):
            change_memory(actor=alice, memory_id=memory_id, changes=changes)
        assert get_memory(actor=alice, memory_id=memory_id).version == 1

    def test_strangers(self, alice: Actor, mallory: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="one")).memory_id
        for call in (
            lambda: get_memory(actor=mallory, memory_id=memory_id),
            lambda: change_memory(actor=mallory, memory_id=memory_id, changes={"text": "x"}),
            lambda: archive_memory(actor=mallory, memory_id=memory_id),
            lambda: delete_memory(actor=mallory, memory_id=memory_id),
            lambda: restore_memory(actor=mallory, memory_id=memory_id),
            lambda: history(actor=mallory, memory_id=memory_id),
            lambda: sources(actor=mallory, memory_id=memory_id),
            lambda: get_memory(actor=alice, memory_id=uuid4()),
        ):
            with pytest.raises(NotFound):
                call()
        assert get_memory(actor=alice, memory_id=memory_id).text == "one"


class TestArchive:
    def test_out_of_every_read_and_back(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="The old pump squeaks.")).memory_id
        archive_memory(actor=alice, memory_id=memory_id)
        assert found(alice, "pump") == []
        assert list_memories(actor=alice, request=ListRequest(), after=None, size=9) == []
        archived = list_memories(actor=alice, request=ListRequest(statuses=["archived"]), after=None, size=9)
        assert [row.text for row in archived] == ["The old pump squeaks."]
        assert indexed(alice) == (0, 0, 0)
        restore_memory(actor=alice, memory_id=memory_id)
        assert found(alice, "pump") == ["The old pump squeaks."]
        assert indexed(alice) == (1, 1, 1)
        with owner_scope(alice.owner_id):
            assert list(AuditEvent.objects.order_by("pk").values_list("verb", flat=True)) == ["archive", "restore"]

    def test_the_same_statement_can_be_made_anew_and_bars_the_way_back(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        archive_memory(actor=alice, memory_id=memory_id)
        assert remember(actor=alice, draft=Draft(text="Tea.")).created
        with pytest.raises(Conflict):
            restore_memory(actor=alice, memory_id=memory_id)

    def test_an_archived_memory_is_not_changed(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        archive_memory(actor=alice, memory_id=memory_id)
        with pytest.raises(Conflict) as caught:
            change_memory(actor=alice, memory_id=memory_id, changes={"text": "Coffee."})
        assert caught.value.machine_code == "memory.not_live"

    def test_statistics_follow_every_way(self, alice: Actor) -> None:
        wordless = remember(actor=alice, draft=Draft(text="?!")).memory_id
        worded = remember(actor=alice, draft=Draft(text="The old pump squeaks.")).memory_id
        with owner_scope(alice.owner_id):
            before = LexStats.objects.get()
        assert (before.n, before.total) == (1, 4)
        change_memory(actor=alice, memory_id=worded, changes={"text": "The old pump squeaks again."})
        archive_memory(actor=alice, memory_id=wordless)
        with owner_scope(alice.owner_id):
            after = LexStats.objects.get()
        assert (after.n, after.total) == (1, 5)
        restore_memory(actor=alice, memory_id=wordless)
        archive_memory(actor=alice, memory_id=worded)
        with owner_scope(alice.owner_id):
            emptied = LexStats.objects.get()
        assert (emptied.n, emptied.total) == (0, 0)


class TestDelete:
    def test_an_agents_delete_archives(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        agent, _ = make_agent(alice)
        memory_id = remember(actor=agent, draft=Draft(text="Tea.")).memory_id
        assert delete_memory(actor=agent, memory_id=memory_id).status == "archived"
        assert restore_memory(actor=alice, memory_id=memory_id).status == "live"

    def test_an_agent_may_lack_the_permission(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        agent, _ = make_agent(alice, scopes=["memory:read", "memory:write"])
        memory_id = remember(actor=agent, draft=Draft(text="Tea.")).memory_id
        with pytest.raises(PermissionRefused):
            delete_memory(actor=agent, memory_id=memory_id)

    def test_a_persons_delete_can_be_undone_for_ten_seconds(self, alice: Actor, time: SetClock) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        row = delete_memory(actor=alice, memory_id=memory_id)
        assert (row.status, row.erase_at) == ("erasing", NOW + timedelta(seconds=10))
        assert found(alice, "tea") == []
        time.moment = NOW + timedelta(seconds=9)
        assert run_due_work()["erase"] == 0
        restore_memory(actor=alice, memory_id=memory_id)
        time.moment = NOW + timedelta(seconds=60)
        assert run_due_work()["erase"] == 0
        assert found(alice, "tea") == ["Tea."]

    def test_then_it_is_gone_with_what_came_only_from_it(self, alice: Actor, time: SetClock) -> None:
        turn_id = (
            ingest_turns(
                actor=alice, session="s", turns=[TurnDraft(draft=Draft(text="I moved to Porto.", role="user"))]
            )
            .turns[0]
            .memory_id
        )
        drawn = remember(actor=alice, draft=Draft(text="Lives in Porto.", kind="fact")).memory_id
        supported = remember(actor=alice, draft=Draft(text="Likes the sea.", kind="fact")).memory_id
        with owner_scope(alice.owner_id):
            MemorySource.objects.filter(memory_id=drawn).update(turn_id=turn_id)
            MemorySource.objects.create(memory_id=supported, turn_id=turn_id, scope=alice.owner_id, created_at=NOW)
        assert turn_id is not None
        delete_memory(actor=alice, memory_id=turn_id)
        time.moment = NOW + timedelta(seconds=11)
        assert run_due_work()["erase"] == 2
        with owner_scope(alice.owner_id):
            assert [row.text for row in Memory.objects.all()] == ["Likes the sea."]
            assert MemorySource.objects.filter(turn_id=turn_id).count() == 0
        assert not DueWork.objects.filter(job=DueWork.ERASE).exists()
        assert indexed(alice) == (1, 1, 1)

    def test_each_deletion_has_its_own_time(self, alice: Actor, time: SetClock) -> None:
        first = remember(actor=alice, draft=Draft(text="one")).memory_id
        second = remember(actor=alice, draft=Draft(text="two")).memory_id
        delete_memory(actor=alice, memory_id=first)
        time.moment = NOW + timedelta(seconds=5)
        delete_memory(actor=alice, memory_id=second)
        time.moment = NOW + timedelta(seconds=11)
        assert run_due_work()["erase"] == 1
        time.moment = NOW + timedelta(seconds=15)
        assert run_due_work()["erase"] == 1
        assert run_due_work()["erase"] == 0

    def test_an_agent_does_not_see_what_is_being_erased(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        agent, _ = make_agent(alice)
        memory_id = remember(actor=agent, draft=Draft(text="Tea.")).memory_id
        delete_memory(actor=alice, memory_id=memory_id)
        with pytest.raises(NotFound):
            restore_memory(actor=agent, memory_id=memory_id)


def test_expired_memories_are_not_found_and_then_archived(alice: Actor, time: SetClock) -> None:
    memory_id = remember(
        actor=alice, draft=Draft(text="Parked on level 3.", expires_at=NOW + timedelta(hours=1))
    ).memory_id
    assert found(alice, "parked") == ["Parked on level 3."]
    time.moment = NOW + timedelta(hours=2)
    assert found(alice, "parked") == []
    assert run_due_work()["expire"] == 1
    assert get_memory(actor=alice, memory_id=memory_id).archive_reason == "expired"
    assert run_due_work()["expire"] == 0


def test_of_a_long_history_the_newest_versions_are_given(alice: Actor) -> None:
    memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
    with owner_scope(alice.owner_id):
        MemoryVersion.objects.bulk_create(
            [
                MemoryVersion(
                    memory_id=memory_id, number=number, text=f"Tea {number}.", changes={}, actor="person",
                    scope=alice.owner_id, reason="changed", created_at=NOW,
                )
                for number in range(1, 121)
            ]
        )  # fmt: skip
    assert [row.number for row in history(actor=alice, memory_id=memory_id)] == list(range(120, 20, -1))


class TestEnds:
    """What comes back is in use, and goes when its time has come."""

    def parked(self, actor: Actor) -> Any:
        draft = Draft(text="Parked on level 3.", expires_at=NOW + timedelta(hours=1))
        return remember(actor=actor, draft=draft).memory_id

    def test_what_has_expired_is_restored_without_an_end(self, alice: Actor, time: SetClock) -> None:
        memory_id = self.parked(alice)
        time.moment = NOW + timedelta(hours=2)
        run_due_work()
        row = restore_memory(actor=alice, memory_id=memory_id)
        assert (row.status, row.expires_at, row.version) == ("live", None, 2)
        assert found(alice, "parked") == ["Parked on level 3."]
        [former] = history(actor=alice, memory_id=memory_id)
        assert (former.reason, former.changes) == ("restored", {"expires_at": (NOW + timedelta(hours=1)).isoformat()})
        assert run_due_work()["expire"] == 0
        assert found(alice, "parked") == ["Parked on level 3."]
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "Parked on level 4."})
        back = restore_version(actor=alice, memory_id=memory_id, number=1)
        assert (back.text, back.expires_at) == ("Parked on level 3.", None)

    def test_what_is_restored_before_it_expires_is_archived_then(self, alice: Actor, time: SetClock) -> None:
        memory_id = self.parked(alice)
        archive_memory(actor=alice, memory_id=memory_id)
        # The job finds nothing in use that expires, and notes nothing.
        DueWork.objects.filter(job=DueWork.EXPIRE).update(due_at=NOW)
        run_due_work()
        assert not DueWork.objects.filter(job=DueWork.EXPIRE).exists()
        row = restore_memory(actor=alice, memory_id=memory_id)
        assert (row.expires_at, row.version) == (NOW + timedelta(hours=1), 1)
        time.moment = NOW + timedelta(hours=2)
        assert run_due_work()["expire"] == 1
        assert get_memory(actor=alice, memory_id=memory_id).archive_reason == "expired"

    def test_every_writer_calls_for_work_in_one_order(self, alice: Actor, time: SetClock) -> None:
        change_settings(actor=alice, changes={"privacy_model": "all"})
        statements: list[str] = []

        def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            given = params if isinstance(params, list) else []
            if "INSERT INTO memory_lexstats" in sql:
                statements.append("statistics")
            elif "INSERT INTO memory_duework" in sql:
                statements.extend(str(one) for one in given if one in (DueWork.EXPIRE, DueWork.CLASSIFY))
            return execute(sql, params, many, context)

        orders = []
        draft = Draft(text="Mail al@example.com.", expires_at=NOW + timedelta(hours=1))
        with connection.execute_wrapper(watch):
            memory_id = remember(actor=alice, draft=draft).memory_id
            orders.append([*statements])
            statements.clear()
            change_memory(actor=alice, memory_id=memory_id, changes={"text": "Mail bo@example.com."})
            orders.append([*statements])
            archive_memory(actor=alice, memory_id=memory_id)
            statements.clear()
            restore_memory(actor=alice, memory_id=memory_id)
            orders.append([*statements])
        assert orders == [["statistics", DueWork.EXPIRE, DueWork.CLASSIFY]] * 3


def test_pages_are_complete(alice: Actor) -> None:
    for number in range(7):
        remember(actor=alice, draft=Draft(text=f"note {number}", tags=["even" if number % 2 == 0 else "odd"]))
    seen: list[str] = []
    after = None
    while page := list_memories(actor=alice, request=ListRequest(), after=after, size=3):
        seen += [row.text for row in page]
        after = (page[-1].created_at, page[-1].pk)
    assert seen == [f"note {number}" for number in reversed(range(7))]
    even = list_memories(actor=alice, request=ListRequest(tags=["EVEN"]), after=None, size=9)
    assert [row.text for row in even] == ["note 6", "note 4", "note 2", "note 0"]


def test_a_changed_text_is_marked_with_the_analyser_of_its_words(alice: Actor) -> None:
    stored = remember(actor=alice, draft=Draft(text="Old words."))
    with owner_scope(alice.owner_id):
        Memory.objects.filter(pk=stored.memory_id).update(analyzer_version=1)
    kept = change_memory(actor=alice, memory_id=stored.memory_id, changes={"importance": 0.9})
    assert kept.analyzer_version == 1
    changed = change_memory(actor=alice, memory_id=stored.memory_id, changes={"text": "New words."})
    assert changed.analyzer_version == ANALYZER_VERSION
