"""Freshness and truth: what is written is found at once, what is gone is not, and looking changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest
from django.db import connections

from memory.models import LexPosting, Memory, MemoryAccess, MemoryVector, Status, owner_scope
from memory.recall.profiles import SHIPPED
from memory.services import clock, reinforcement
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.drafts import Draft
from memory.services.profiles import change_profile
from memory.services.questions import RecallRequest
from memory.services.recall import Recalled, recall
from memory.services.remember import remember, remember_many
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from memory.services.turns import TurnDraft, ingest_turns

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PROFILES = tuple(SHIPPED)
# A date opens the time arm's window, and quotation marks the search for the phrase as written.
QUESTION = 'When did the heron nest at the "north weir" in March 2026?'

T = TypeVar("T")


class SetClock:
    """A clock that stands where the test puts it."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def time() -> Iterator[SetClock]:
    fixed = SetClock()
    clock.set_clock(fixed)
    yield fixed
    clock.set_clock(None)


def ask(actor: Actor, query: str = QUESTION, **request: Any) -> Recalled:
    options = {"threshold": 0, "limit": 50, "reinforce": False, "record": False, **request}
    return recall(actor=actor, request=RecallRequest(query=query, **options))


def found(actor: Actor, query: str = QUESTION, **request: Any) -> set[UUID]:
    """Give every id that an answer shows or mentions."""
    return {one for hit in ask(actor, query, **request).hits for one in (hit.memory.pk, *hit.also)}


def said(actor: Actor, texts: Sequence[str], *, session: str = "talk") -> list[UUID]:
    answer = ingest_turns(
        actor=actor,
        session=session,
        turns=[TurnDraft(draft=Draft(text=text, speaker="Nuala", role="user")) for text in texts],
    )
    return [one.memory_id for one in answer.turns if one.memory_id is not None]


def elsewhere(run: Callable[[], T]) -> T:
    """Run something on another connection, as another request would."""
    results: list[T] = []

    def work() -> None:
        try:
            results.append(run())
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """A row is recallable by everybody the moment its write is answered."""

    @pytest.fixture
    def owner(self, make_owner: Callable[..., Actor]) -> Actor:
        """Give an owner who has asked before, so that whatever a process remembers of the words is there already."""
        alice = make_owner()
        remember_many(actor=alice, drafts=[Draft(text=f"Weir number {number} was painted.") for number in range(8)])
        for profile in PROFILES:
            elsewhere(lambda name=profile: found(alice, profile=name))  # type: ignore[misc]
        return alice

    def everywhere(self, owner: Actor) -> list[set[UUID]]:
        return [elsewhere(lambda name=profile: found(owner, profile=name)) for profile in PROFILES]  # type: ignore[misc]

    def test_statements(self, owner: Actor) -> None:
        memory_id = remember(actor=owner, draft=Draft(text="The heron nests at the north weir.")).memory_id
        assert all(memory_id in ids for ids in self.everywhere(owner))

    def test_turns(self, owner: Actor) -> None:
        ids = said(owner, ["Where is the heron?", "At the north weir, since March 2026."])
        assert all(set(ids) & seen for seen in self.everywhere(owner))
        assert set(ids) <= elsewhere(lambda: found(owner))

    def test_changed_texts(self, owner: Actor) -> None:
        memory_id = remember(actor=owner, draft=Draft(text="The otter sleeps.")).memory_id
        change_memory(actor=owner, memory_id=memory_id, changes={"text": "The heron nests at the north weir."})
        assert all(memory_id in ids for ids in self.everywhere(owner))

    def test_restored_rows(self, owner: Actor) -> None:
        memory_id = remember(actor=owner, draft=Draft(text="The heron nests at the north weir.")).memory_id
        archive_memory(actor=owner, memory_id=memory_id)
        assert not any(memory_id in ids for ids in self.everywhere(owner))
        restore_memory(actor=owner, memory_id=memory_id)
        assert all(memory_id in ids for ids in self.everywhere(owner))


@pytest.mark.django_db
class TestGone:
    """Superseded, archived, deleted and expired rows stay out of every arm, of the neighbours and of the fallback."""

    @pytest.fixture
    def rows(self, alice: Actor, time: SetClock) -> list[UUID]:
        """Give turns that all arms find, the last two only as neighbours, and a statement."""
        turns = said(
            alice,
            ["Did the heron nest?", "Yes, at the north weir in March 2026.", "Good.", "So it is."],
        )
        statement = remember(actor=alice, draft=Draft(text="The heron nests at the north weir."))
        return [*turns, statement.memory_id]

    def test_they_are_found_while_they_are_live(self, alice: Actor, rows: list[UUID]) -> None:
        assert found(alice) == set(rows)

    @pytest.mark.parametrize("profile", PROFILES)
    @pytest.mark.parametrize("way", ["archived", "deleted", "superseded", "expired"])
    def test_they_stay_out(self, alice: Actor, rows: list[UUID], time: SetClock, profile: str, way: str) -> None:
        statement = remember(
            actor=alice, draft=Draft(text="A heron nested at the north weir.", expires_at=NOW + timedelta(hours=1))
        ).memory_id
        answer, neighbour = rows[1], rows[2]
        gone = {statement, answer, neighbour}
        assert statement in found(alice, profile=profile)
        for memory_id in gone:
            self.end(alice, memory_id, way)
        time.moment = NOW + (timedelta(hours=2) if way == "expired" else timedelta())
        assert found(alice, profile=profile)
        assert not found(alice, profile=profile) & gone
        assert not found(alice, "north weir heron", profile=profile) & gone

    def end(self, alice: Actor, memory_id: UUID, way: str) -> None:
        if way == "archived":
            archive_memory(actor=alice, memory_id=memory_id)
        elif way == "deleted":
            delete_memory(actor=alice, memory_id=memory_id)
        else:
            # Their postings and vectors are left where they are: recall does not rely on these copies.
            changes: dict[str, Any] = (
                {"status": Status.SUPERSEDED} if way == "superseded" else {"expires_at": NOW + timedelta(hours=1)}
            )
            with owner_scope(alice.owner_id):
                Memory.objects.filter(pk=memory_id).update(**changes)
                assert LexPosting.objects.filter(memory_id=memory_id, live=True).exists()
                assert MemoryVector.objects.filter(memory_id=memory_id, live=True).exists()

    @pytest.mark.parametrize("way", ["archived", "superseded", "expired"])
    def test_the_fallback_does_not_find_them(self, alice: Actor, time: SetClock, settings: Any, way: str) -> None:
        settings.EMBEDDING_PROVIDER = "none"
        ids = [
            remember(actor=alice, draft=Draft(text=text, expires_at=NOW + timedelta(days=1))).memory_id
            for text in ("Wanderfalken nisten am Turm.", "Turmfalken nisten im Dach.")
        ]
        assert found(alice, "falken") == set(ids)
        if way == "archived":
            archive_memory(actor=alice, memory_id=ids[0])
        with owner_scope(alice.owner_id):
            if way == "superseded":
                Memory.objects.filter(pk=ids[0]).update(status=Status.SUPERSEDED)
            if way == "expired":
                Memory.objects.filter(pk=ids[0]).update(expires_at=NOW)
        answer = ask(alice, "falken")
        assert [hit.memory.pk for hit in answer.hits] == [ids[1]]
        assert answer.fallback


class AtOnce(reinforcement.UseCounter):
    """Writes uses in the moment they are counted, the earliest at which they could change anything."""

    def add(self, owner_id: UUID, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        super().add(owner_id, memory_ids, at=at)
        self.flush()


@pytest.mark.django_db
class TestReinforcement:
    """Counting uses never changes the ranking of the call that they come from, and does change a later one's."""

    QUESTION = "What does the heron eat and where does the otter sleep?"

    @pytest.fixture
    def store(self, alice: Actor, time: SetClock, monkeypatch: pytest.MonkeyPatch) -> Actor:
        """Give an owner whose uses are written at once, and whose profiles all look at them, over several questions."""
        monkeypatch.setattr(reinforcement, "_counter", AtOnce(writes_itself=False))
        said(alice, ["What does the heron eat?", "Small fish.", "And the otter?", "It sleeps under the bridge."])
        remember_many(
            actor=alice,
            drafts=[Draft(text=text) for text in ("The heron eats frogs.", "The otter sleeps late.", "A heron waits.")],
        )
        with owner_scope(alice.owner_id):
            Memory.objects.update(created_at=NOW - timedelta(days=20))
        for profile in PROFILES:
            changes = {"decompose": True, "access_weight": 5.0, "decay_clock": "accessed", "fallback": True}
            change_profile(actor=alice, name=profile, changes=changes)
        return alice

    @pytest.mark.parametrize("profile", PROFILES)
    def test_the_same_call_is_not_changed(self, store: Actor, profile: str) -> None:
        looked = self.told(ask(store, self.QUESTION, profile=profile))
        used = ask(store, self.QUESTION, profile=profile, reinforce=True)
        assert self.told(used) == looked
        assert {hit.reasons["accesses"] for hit in used.hits} == {0.0}
        with owner_scope(store.owner_id):
            assert set(MemoryAccess.objects.values_list("memory_id", "access_count")) == {
                (hit.memory.pk, 1) for hit in used.hits
            }

    @pytest.mark.parametrize("profile", PROFILES)
    def test_a_later_one_is(self, store: Actor, time: SetClock, profile: str) -> None:
        first = ask(store, self.QUESTION, profile=profile, limit=1, reinforce=True).hits[0]
        time.moment = NOW + timedelta(minutes=1)
        again = {hit.memory.pk: hit for hit in ask(store, self.QUESTION, profile=profile).hits}
        assert again[first.memory.pk].reasons["accesses"] == 5.0
        assert {hit.reasons["accesses"] for pk, hit in again.items() if pk != first.memory.pk} == {0.0}

    def told(self, answer: Recalled) -> list[tuple[Any, ...]]:
        return [(hit.memory.pk, hit.score, hit.relevance, hit.reasons, hit.also) for hit in answer.hits]


@pytest.mark.parametrize("profile", ["default", "prax", "cortex", "engram"])
def test_expired_rows_that_are_still_in_the_indexes_crowd_nothing_out(alice: Actor, time: Any, profile: str) -> None:
    soon = NOW + timedelta(hours=1)
    drafts = [Draft(text=f"Kettle kettle kettle, number {number}.", expires_at=soon) for number in range(150)]
    remember_many(actor=alice, drafts=drafts)
    lasting = remember(actor=alice, draft=Draft(text="The old kettle in the boat house leaks a little at its lid."))
    time.moment = NOW + timedelta(hours=2)
    answer = recall(actor=alice, request=RecallRequest(query="kettle", profile=profile, limit=5, threshold=0.0))
    assert [hit.memory.pk for hit in answer.hits] == [lasting.memory_id]
    assert not answer.fallback
