"""Forgetting on purpose: by time, by salience and by source; archived or erased, counted first, taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory.admin.models.work import ConsolidationRunAdmin
from memory.errors import InvalidInput, LociError, NotFound, PermissionRefused
from memory.models import AuditEvent, Memory, MemoryLabel, MemorySource, MemoryVersion, Status, owner_scope
from memory.services import bringing_back, clock
from memory.services.actors import Actor
from memory.services.bringing_back import restore_memories, restore_run
from memory.services.changes import change_memory
from memory.services.consolidation.derived import supersede
from memory.services.drafts import Draft
from memory.services.facts import facts
from memory.services.forgetting import (
    PurgeRequest,
    decay_episodic,
    forget_by_provenance,
    purge,
    purge_expired,
)
from memory.services.memories import ListRequest, history, list_memories
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from memory.services.settings import change_settings
from memory.services.turns import TurnDraft, ingest_turns

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


class SetClock:
    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    fixed = SetClock()
    monkeypatch.setattr(clock, "_clock", fixed)
    return fixed


def stored(actor: Actor, text: str, **fields: Any) -> UUID:
    scope = {"scope": fields.pop("scope")} if "scope" in fields else {}
    return remember(actor=actor, draft=Draft(text=text, **fields), **scope).memory_id


def turn(actor: Actor, text: str, **fields: Any) -> UUID:
    draft = TurnDraft(draft=Draft(text=text, role="user", **fields))
    found = ingest_turns(actor=actor, session="s", turns=[draft]).turns[0].memory_id
    assert found is not None
    return found


def drawn(owner: Actor, text: str, *turns: UUID) -> UUID:
    """Store what consolidation would draw from some turns, and nobody has stated."""
    memory_id = stored(owner, text, kind="fact")
    with owner_scope(owner.owner_id):
        MemorySource.objects.filter(memory_id=memory_id).delete()
        for one in turns:
            MemorySource.objects.create(memory_id=memory_id, turn_id=one, scope=owner.owner_id, created_at=NOW)
    return memory_id


def texts(owner: Actor, status: str | None = Status.LIVE) -> set[str]:
    with owner_scope(owner.owner_id):
        rows = Memory.objects.all() if status is None else Memory.objects.filter(status=status)
        return {row.text for row in rows}


def everything(owner: Actor) -> dict[str, list[Any]]:
    """Give the rows of every table that has an owner, as the database holds them."""
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.table_name FROM information_schema.columns c JOIN pg_class k ON k.relname = c.table_name
            WHERE c.table_schema = 'public' AND c.column_name = 'owner_id' AND NOT k.relispartition ORDER BY 1"""
        )
        tables = [row[0] for row in cursor.fetchall()]
        assert len(tables) > 30
        found = {}
        for table in tables:
            cursor.execute(f"SELECT t::text FROM {table} t WHERE owner_id = %s ORDER BY 1", [owner.owner_id])
            found[table] = [row[0] for row in cursor.fetchall()]
        return found


class TestExpired:
    def test_exactly_what_has_expired_is_archived(self, alice: Actor, mallory: Actor, time: SetClock) -> None:
        for owner in (alice, mallory):
            stored(owner, "past", expires_at=NOW + timedelta(days=1))
            stored(owner, "past episode", tier="episodic", expires_at=NOW + timedelta(days=2))
            stored(owner, "future", expires_at=NOW + timedelta(days=2, seconds=1))
            stored(owner, "lasting")
        time.moment = NOW + timedelta(days=2)
        purged = purge_expired(actor=alice)
        assert (purged.expired, purged.erased, purged.more) == (2, False, False)
        assert texts(alice) == {"future", "lasting"}
        assert len(texts(mallory)) == 4
        archive = list_memories(actor=alice, request=ListRequest(statuses=["archived"]), after=None, size=9)
        assert {row.archive_reason for row in archive} == {"purge.expired"}

    def test_erasing_takes_the_archived_ones_too(self, alice: Actor, time: SetClock) -> None:
        first = stored(alice, "archived", expires_at=NOW + timedelta(days=1))
        stored(alice, "live", expires_at=NOW + timedelta(days=1))
        stored(alice, "lasting")
        archive_memory(actor=alice, memory_id=first)
        time.moment = NOW + timedelta(days=1)
        assert purge_expired(actor=alice, erase=True).expired == 2
        assert texts(alice, None) == {"lasting"}
        with owner_scope(alice.owner_id):
            assert AuditEvent.objects.filter(verb="erase", reason="purge.expired", count=2).exists()

    def test_an_agent_purges_what_it_may_read(
        self, alice: Actor, make_agent: Callable[..., Any], time: SetClock
    ) -> None:
        mine, _ = make_agent(alice, "mine")
        other, _ = make_agent(alice, "other")
        for one, scope in ((mine, "agent"), (other, "agent"), (other, "owner")):
            stored(one, f"{scope} of {one.agent_id}", scope=scope, expires_at=NOW + timedelta(days=1))
        time.moment = NOW + timedelta(days=1)
        assert purge_expired(actor=mine).expired == 2
        assert texts(alice) == {f"agent of {other.agent_id}"}


class TestDecay:
    def test_older_and_of_low_salience(self, alice: Actor, time: SetClock) -> None:
        ages = {"low and old": 91, "low and exactly so old": 90, "low and young": 10, "raised": 91, "known": 400}
        for text, days in ages.items():
            memory_id = stored(alice, text, tier="semantic" if text == "known" else "episodic")
            with owner_scope(alice.owner_id):
                Memory.objects.filter(pk=memory_id).update(
                    created_at=NOW - timedelta(days=days), salience=0.21 if text == "raised" else 0.2
                )
        assert decay_episodic(actor=alice).decayed == 1
        assert texts(alice, Status.ARCHIVED) == {"low and old"}
        assert decay_episodic(actor=alice, max_age_days=5, floor=0.2).decayed == 2
        assert decay_episodic(actor=alice, max_age_days=0.5, floor=1).decayed == 1
        assert texts(alice) == {"known"}

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"decay_days": -1}, "decay_days.out_of_range"),
            ({"decay_days": 40_000}, "decay_days.out_of_range"),
            ({"decay_days": float("nan")}, "decay_days.out_of_range"),
            ({"decay_days": "90"}, "field.type"),
            ({"decay_days": True}, "field.type"),
            ({"decay_days": 90, "salience_floor": 1.1}, "salience_floor.out_of_range"),
            ({"provenance": ""}, "text.empty"),
            ({"provenance": "/"}, "provenance.invalid"),
            ({"provenance": 7}, "field.type"),
            ({"provenance": "x" * 900}, "text.too_large"),
            ({}, "purge.empty"),
            ({"erase": True}, "purge.empty"),
        ],
    )
    def test_what_cannot_be_used(self, alice: Actor, fields: dict[str, Any], code: str) -> None:
        stored(alice, "stays", tier="episodic", source="x")
        with pytest.raises(LociError) as raised:
            purge(actor=alice, request=PurgeRequest(**fields))
        assert raised.value.machine_code == code
        assert texts(alice) == {"stays"}


class TestProvenance:
    def test_whole_segments(self, alice: Actor, mallory: Actor, time: SetClock) -> None:
        sources = ["user:al", "user:al/x", "USER:AL/x/y", "user:alice", "user:alice/x", "user", "x/user:al", None]
        for owner in (alice, mallory):
            for source in sources:
                stored(owner, f"from {source}", source=source)
        assert forget_by_provenance(actor=alice, prefix=" User:Al/ ").provenance == 3
        assert texts(alice) == {
            "from user:alice", "from user:alice/x", "from user", "from x/user:al", "from None",
        }  # fmt: skip
        assert len(texts(mallory)) == len(sources)

    def test_below(self, alice: Actor, time: SetClock) -> None:
        for source in ("user:al", "user:al/x", "user:al/xy"):
            stored(alice, f"from {source}", source=source)
        assert forget_by_provenance(actor=alice, prefix="user:al/x").provenance == 1
        assert texts(alice) == {"from user:al", "from user:al/xy"}

    @pytest.mark.parametrize("erase", [False, True])
    @pytest.mark.parametrize("first", ["user:al/x", "user:bo"])
    def test_what_others_say_too_stays_and_loses_the_source(
        self, alice: Actor, time: SetClock, first: str, erase: bool
    ) -> None:
        second = {"user:al/x": "user:bo", "user:bo": "user:al/x"}[first]
        memory_id = stored(alice, "Tea is warm.", source=first)
        time.moment += timedelta(hours=1)
        stored(alice, "Tea is warm.", source=second)
        purged = forget_by_provenance(actor=alice, prefix="user:al", erase=erase)
        assert (purged.provenance, purged.sources) == (0, 1)
        with owner_scope(alice.owner_id):
            row = Memory.objects.get()
            assert row.source == "user:bo"
            assert [one.source for one in MemorySource.objects.all()] == ["user:bo"]
            assert MemoryLabel.objects.filter(kind=3).count() == 1
        asked = ListRequest(sources=["user:bo"])
        assert [one.pk for one in list_memories(actor=alice, request=asked, after=None, size=9)] == [memory_id]
        kept = [one.changes for one in history(actor=alice, memory_id=memory_id)]
        assert kept == ([{"source": "user:al/x"}] if first == "user:al/x" and not erase else [])
        assert forget_by_provenance(actor=alice, prefix="user:al", erase=erase).sources == 0

    def test_erasing_takes_the_source_out_of_the_history(self, alice: Actor, time: SetClock) -> None:
        memory_id = stored(alice, "Tea is warm.", source="user:bo")
        change_memory(actor=alice, memory_id=memory_id, changes={"source": "user:al", "importance": 0.9})
        stored(alice, "Tea is warm.", source="user:bo")
        change_memory(actor=alice, memory_id=memory_id, changes={"importance": 0.1})
        forget_by_provenance(actor=alice, prefix="user:al", erase=True)
        with owner_scope(alice.owner_id):
            assert Memory.objects.get().source == "user:bo"
            assert not [one for one in MemoryVersion.objects.all() if "user:al" in str(one.changes)]

    def test_a_corrected_source_is_the_one_that_counts(self, alice: Actor, time: SetClock) -> None:
        corrected = stored(alice, "one", source="user:al")
        change_memory(actor=alice, memory_id=corrected, changes={"source": "user:bo"})
        wrong = stored(alice, "two", source="user:bo")
        change_memory(actor=alice, memory_id=wrong, changes={"source": "user:al"})
        assert forget_by_provenance(actor=alice, prefix="user:al").provenance == 1
        assert texts(alice) == {"one"}

    @pytest.mark.parametrize("erase", [False, True])
    def test_what_rests_on_it_alone_goes_along(self, alice: Actor, time: SetClock, erase: bool) -> None:
        first, second = (turn(alice, f"said {number}", source="user:al/chat") for number in (1, 2))
        other = turn(alice, "said by another", source="user:bo")
        drawn(alice, "from both turns", first, second)
        twice = drawn(alice, "from one", first)
        drawn(alice, "from what was drawn", twice)
        drawn(alice, "from another too", second, other)
        mixed = drawn(alice, "drawn and stated", first)
        with owner_scope(alice.owner_id):
            MemorySource.objects.create(
                memory_id=mixed, source="user:al", scope=alice.owner_id, created_at=NOW + timedelta(hours=1)
            )
        would = forget_by_provenance(actor=alice, prefix="user:al", erase=erase, dry_run=True)
        purged = forget_by_provenance(actor=alice, prefix="user:al", erase=erase)
        assert (purged.provenance, purged.drawn) == (would.provenance, would.drawn) == (2, 4)
        assert texts(alice) == {"said by another", "from another too"}
        assert (texts(alice, Status.ARCHIVED) == set()) == erase


class TestSafety:
    @pytest.mark.parametrize("erase", [False, True])
    def test_a_dry_run_counts_the_same_and_changes_nothing(self, alice: Actor, time: SetClock, erase: bool) -> None:
        said = turn(alice, "said", source="user:al/chat")
        drawn(alice, "drawn", said)
        stored(alice, "Tea is warm.", source="user:al")
        stored(alice, "Tea is warm.", source="user:bo")
        stored(alice, "expired", source="user:al", tier="episodic", expires_at=NOW + timedelta(days=1))
        time.moment = NOW + timedelta(days=100)
        before = everything(alice)
        request: dict[str, Any] = {
            "expired": True,
            "decay_days": 90,
            "salience_floor": 0.6,
            "provenance": "user:al",
            "erase": erase,
        }
        would = purge(actor=alice, request=PurgeRequest(**request, dry_run=True))
        assert everything(alice) == before
        did = purge(actor=alice, request=PurgeRequest(**request))
        counts = ("expired", "decayed", "provenance", "sources", "erased")
        assert [getattr(would, name) for name in counts] == [getattr(did, name) for name in counts]
        assert [getattr(did, name) for name in counts[:4]] == [1, 1, 0, 1]
        assert would.drawn == did.drawn == 1

    def test_no_more_than_asked_for(self, alice: Actor, time: SetClock) -> None:
        for number in range(5):
            stored(alice, f"number {number}", source="user:al")
        request = PurgeRequest(provenance="user:al", most=2)
        found = [purge(actor=alice, request=request) for _ in range(3)]
        assert [(one.provenance, one.more) for one in found] == [(2, True), (2, True), (1, False)]

    def test_batches(self, alice: Actor, time: SetClock, monkeypatch: pytest.MonkeyPatch) -> None:
        from memory.services import forgetting

        monkeypatch.setattr(forgetting, "BATCH", 2)
        for number in range(5):
            stored(alice, f"number {number}", source="user:al")
        purged = forget_by_provenance(actor=alice, prefix="user:al", erase=True)
        assert (purged.provenance, texts(alice, None)) == (5, set())

    def test_an_agent_cannot_erase(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        agent, _ = make_agent(alice)
        stored(agent, "mine", source="user:al")
        with pytest.raises(PermissionRefused):
            forget_by_provenance(actor=agent, prefix="user:al", erase=True)
        assert forget_by_provenance(actor=agent, prefix="user:al").provenance == 1

    def test_nothing_of_an_erased_turn_is_left_in_any_table(self, alice: Actor, time: SetClock) -> None:
        said = turn(alice, "Porto is where I live.", source="user:al/chat", tags=["home"])
        fact = drawn(alice, "Lives in Porto.", said)
        kept = stored(alice, "Likes the sea.")
        recall(actor=alice, request=RecallRequest(query="Porto"))
        forget_by_provenance(actor=alice, prefix="user:al", erase=True)
        tables = everything(alice)
        assert texts(alice, None) == {"Likes the sea."}
        for gone in (said, fact):
            assert [name for name, rows in tables.items() if any(str(gone) in row for row in rows)] == []
        assert any(str(kept) in row for row in tables["memory_lexposting"])


class TestBringingBack:
    def test_a_whole_purge(self, alice: Actor, time: SetClock) -> None:
        said = turn(alice, "The ferry was late.", source="user:al/chat")
        drawn(alice, "Takes the ferry.", said)
        archive_memory(actor=alice, memory_id=stored(alice, "archived before", source="user:al"))
        purged = forget_by_provenance(actor=alice, prefix="user:al")
        assert texts(alice) == set()
        found = restore_run(actor=alice, run_id=purged.id)
        assert (found.restored, found.refused, found.more) == (2, [], False)
        assert texts(alice) == {"The ferry was late.", "Takes the ferry."}
        assert len(recall(actor=alice, request=RecallRequest(query="ferry")).hits) == 2
        assert restore_run(actor=alice, run_id=purged.id).restored == 0

    def test_all_of_it_from_the_admin(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bringing_back, "MOST_AT_ONCE", 2)
        for number in range(5):
            stored(alice, f"Number {number}.", source="user:al")
        purged = forget_by_provenance(actor=alice, prefix="user:al")
        assert texts(alice) == set()
        (action,) = ConsolidationRunAdmin.row_actions
        action.run(alice, purged.id)
        assert texts(alice) == {f"Number {number}." for number in range(5)}

    def test_history_goes_with_its_source_and_comes_back_as_history(self, alice: Actor, time: SetClock) -> None:
        said = turn(alice, "I moved to Porto.", source="user:al/chat")
        old = drawn(alice, "Lives in Porto.", said)
        stated = stored(alice, "Lives in Faro.", kind="fact", source="user:al")
        stored(alice, "Lives in Lisbon.", kind="fact", source="user:bo")
        with owner_scope(alice.owner_id):
            for row in Memory.objects.filter(pk__in=[old, stated]):
                supersede(row, moment=NOW)
        assert len(facts(actor=alice, superseded=True)) == 3
        would = forget_by_provenance(actor=alice, prefix="user:al", dry_run=True)
        time.moment += timedelta(hours=1)
        purged = forget_by_provenance(actor=alice, prefix="user:al")
        assert (purged.provenance, purged.drawn) == (would.provenance, would.drawn) == (2, 1)
        assert [fact.memory.text for fact in facts(actor=alice, superseded=True)] == ["Lives in Lisbon."]
        assert restore_run(actor=alice, run_id=purged.id).restored == 3
        assert texts(alice, Status.SUPERSEDED) == {"Lives in Porto.", "Lives in Faro."}
        assert {fact.memory.text for fact in facts(actor=alice)} == {"Lives in Lisbon."}
        assert len(facts(actor=alice, superseded=True)) == 3
        with owner_scope(alice.owner_id):
            row = Memory.objects.get(pk=stated)
            assert (row.archive_reason, row.archived_at, row.retracted_at) == ("superseded", NOW, NOW)

    def test_what_time_archives_is_live_only(self, alice: Actor, time: SetClock) -> None:
        memory_id = stored(alice, "Was so.", expires_at=NOW + timedelta(minutes=1))
        with owner_scope(alice.owner_id):
            supersede(Memory.objects.get(pk=memory_id), moment=NOW)
        time.moment += timedelta(hours=1)
        assert purge_expired(actor=alice).expired == 0
        assert texts(alice, Status.SUPERSEDED) == {"Was so."}

    def test_what_is_said_again_meanwhile_stays_archived(self, alice: Actor, time: SetClock) -> None:
        first = stored(alice, "Tea is warm.", source="user:al")
        second = stored(alice, "Coffee is hot.", source="user:al")
        purged = forget_by_provenance(actor=alice, prefix="user:al")
        stored(alice, "Tea is warm.", source="user:bo")
        found = restore_run(actor=alice, run_id=purged.id)
        assert found.restored == 1
        assert [(one["id"], one["code"]) for one in found.refused] == [(str(first), "memory.duplicate")]
        assert restore_memories(actor=alice, memory_ids=[second]).restored == 1

    def test_strangers_and_unknown_ids(self, alice: Actor, mallory: Actor, time: SetClock) -> None:
        memory_id = stored(alice, "mine", source="user:al")
        purged = forget_by_provenance(actor=alice, prefix="user:al")
        with pytest.raises(NotFound) as raised:
            restore_run(actor=mallory, run_id=purged.id)
        assert raised.value.machine_code == "archive.unknown"
        assert restore_memories(actor=mallory, memory_ids=[memory_id]).refused[0]["code"] == "not_found"
        assert texts(alice) == set()

    def test_limits(self, alice: Actor) -> None:
        for ids in ([], [alice.owner_id] * 501):
            with pytest.raises(InvalidInput):
                restore_memories(actor=alice, memory_ids=ids)


class TestClipping:
    def test_the_policy_praxis_cuts_statements_and_says_so(self, alice: Actor) -> None:
        change_settings(actor=alice, changes={"retention_policy": "praxis"})
        answer = remember(actor=alice, draft=Draft(text="y" * 300))
        assert [note["code"] for note in answer.notes] == ["text.clipped"]
        assert texts(alice) == {"y" * 280 + "…"}
        assert not remember(actor=alice, draft=Draft(text="y" * 400)).created
        turn(alice, "z" * 300)
        stored(alice, "e" * 300, tier="episodic")
        assert {len(text) for text in texts(alice)} == {281, 300}

    def test_others_keep_them_whole(self, alice: Actor) -> None:
        assert remember(actor=alice, draft=Draft(text="y" * 300)).notes == []
        assert texts(alice) == {"y" * 300}
