"""Partial purges: what goes, what stays, what is counted before, and that nothing of it is left anywhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from django.db import connection

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, KeysUnavailable, NotFound, PermissionRefused
from memory.models import (
    Agent,
    AgentKey,
    AuditEvent,
    BusMessage,
    EmbeddingSpace,
    Entity,
    IdempotencyRecord,
    Memory,
    MemoryRead,
    MemorySource,
    MemoryVersion,
    Purge,
    RecallRecord,
    Session,
    owner_scope,
)
from memory.models.tenancy import OwnedRow
from memory.ports.ledger import hashed
from memory.providers.composition import purge_ledger
from memory.services.actors import AGENT_DEFAULT, Actor, Permission
from memory.services.agents import authenticate
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge import partial
from memory.services.purge.partial import PartialOutcome, run_partial
from memory.services.purge.partial_requests import MOST_MEMORIES, PartialRequest, begin_partial, preview_partial
from memory.services.purge.partial_verification import id_columns, look_for, owned_models
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.token_vectors import insert_token_vectors
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.graph.conftest import entity, relate

Made = tuple[Actor, str]
AgentMaker = Callable[..., Made]


def stored(actor: Actor, text: str, **fields: Any) -> UUID:
    scope = {"scope": fields.pop("scope")} if "scope" in fields else {}
    return remember(actor=actor, draft=Draft(text=text, **fields), **scope).memory_id


def purged(actor: Actor, **request: Any) -> tuple[Purge, PartialOutcome]:
    """Ask for a purge and carry it out."""
    row = begin_partial(actor=actor, request=PartialRequest(**request)).purge
    return row, run_partial(purge=row, at=now())


def texts(owner: Actor) -> set[str]:
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.all()}


def counts(owner: Actor) -> dict[str, int]:
    """Count the rows of every owned table but the audit, which only grows."""
    with owner_scope(owner.owner_id):
        return {
            model._meta.db_table: model.objects.count()  # type: ignore[attr-defined]
            for model in owned_models()
            if model is not AuditEvent
        }


class TestOneMemory:
    def test_nothing_of_it_is_left_in_any_table(self, alice: Actor, make_agent: AgentMaker) -> None:
        agent, _ = make_agent(alice)
        stored(alice, "The cat is called Minka.")
        before = counts(alice)
        doomed = stored(alice, "Bruno met Clara in Vienna on 5 May 2024.", tags=["travel"], source="user:alice/chat")
        bruno = entity(alice, "Bruno", aliases=["Bru"], memory_id=doomed)
        relate(alice, bruno, "met", entity(alice, "Clara", memory_id=doomed), memory_id=doomed, evidence="met Clara")
        with owner_scope(alice.owner_id):
            row = Memory.objects.get(pk=doomed)
            matrix = np.full((3, 48), 1, dtype=np.int8)
            insert_token_vectors([row], [matrix], space_id=EmbeddingSpace.objects.get().pk, reduction=b"\1\2\3\4")
            MemoryVersion.objects.create(
                memory_id=doomed, number=1, text="Bruno met Carla.", changes={}, actor="person", reason="edited",
                scope=alice.owner_id, created_at=now(),
            )  # fmt: skip
            MemoryRead.objects.create(memory_id=doomed, reader=agent.agent_id, reads=1, first_at=now(), last_at=now())
        recall(actor=agent, request=RecallRequest(query="Bruno Vienna"))
        with owner_scope(alice.owner_id):
            found = look_for([doomed])
        for table in ("memory", "lexposting", "memoryvector", "tokenvectors", "memorylabel", "entitymention"):
            assert f"memory_{table}" in found.left, "the look finds what is there"
        _, outcome = purged(alice, memories=[doomed])
        assert outcome.left == {}
        assert outcome.erased == {"memories": 1, "explanations": 1}
        assert outcome.looked_at["tables"] > 40
        assert {name: n for name, n in counts(alice).items() if n != before[name]} == {"memory_graphstate": 1}

    def test_the_look_covers_every_table_of_an_owner(self, db: None) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT c.table_name, c.column_name FROM information_schema.columns c
                JOIN pg_class k ON k.relname = c.table_name WHERE c.table_schema = 'public' AND c.udt_name = 'uuid'
                  AND NOT k.relispartition AND c.column_name <> 'owner_id' AND EXISTS (
                    SELECT FROM information_schema.columns o WHERE o.table_schema = 'public'
                      AND o.table_name = c.table_name AND o.column_name = 'owner_id')"""
            )
            columns = set(cursor.fetchall())
        looked_at = {(model._meta.db_table, column) for model in owned_models() for column in id_columns(model)}
        assert columns - looked_at == {("memory_auditevent", "object_id")}

    def test_what_rests_on_it_alone_goes_along_and_what_others_say_stays(self, alice: Actor) -> None:
        ingested = ingest_turns(
            actor=alice,
            session="s",
            turns=[TurnDraft(draft=Draft(text=text, role="user")) for text in ("I like figs.", "Figs, really.")],
        )
        first, second = (one.memory_id for one in ingested.turns)
        assert first is not None
        assert second is not None
        alone, both = stored(alice, "Alice likes figs."), stored(alice, "Alice speaks of figs.")
        with owner_scope(alice.owner_id):
            MemorySource.objects.filter(memory_id__in=[alone, both]).delete()
            for memory_id, turn_id in ((alone, first), (both, first), (both, second)):
                MemorySource.objects.create(
                    memory_id=memory_id, turn_id=turn_id, scope=alice.owner_id, created_at=now()
                )
        seen = preview_partial(actor=alice, request=PartialRequest(memories=[first]))
        assert seen.counts == {"memories": 1, "drawn": 1}
        row, outcome = purged(alice, memories=[first])
        assert outcome.erased == seen.counts == row.expected
        assert texts(alice) == {"Figs, really.", "Alice speaks of figs."}

    def test_several_at_once_in_batches(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(partial, "BATCH", 2)
        ids = [stored(alice, f"Statement number {number}.") for number in range(5)]
        stored(alice, "Something else.")
        beats: list[int] = []
        row = begin_partial(actor=alice, request=PartialRequest(memories=ids)).purge
        outcome = run_partial(purge=row, at=now(), beat=lambda: beats.append(1))
        assert outcome.erased == {"memories": 5}
        assert len(beats) >= 3
        assert texts(alice) == {"Something else."}

    def test_the_ledger_names_it_without_saying_so(self, alice: Actor) -> None:
        doomed = stored(alice, "A secret.")
        row, _ = purged(alice, memories=[doomed])
        entries = [one for one in purge_ledger().entries() if one.purge_id == row.pk]
        assert [one.erased for one in entries] == [(hashed(entries[0].salt, doomed),)]
        assert entries[0].owner == hashed(entries[0].salt, alice.owner_id)

    def test_nothing_is_erased_where_the_ledger_cannot_be_written(
        self, alice: Actor, tmp_path: Any, settings: Any
    ) -> None:
        doomed = stored(alice, "A secret.")
        row = begin_partial(actor=alice, request=PartialRequest(memories=[doomed])).purge
        blocked = tmp_path / "file"
        blocked.write_text("")
        keyring().of(alice.owner_id)
        settings.KEYS_DIRECTORY = blocked
        with pytest.raises(KeysUnavailable, match="nothing was erased"):
            run_partial(purge=row, at=now())
        assert texts(alice) == {"A secret."}

    def test_the_audit_says_who_and_how_many(self, alice: Actor) -> None:
        row, _ = purged(alice, memories=[stored(alice, "A secret.")])
        with owner_scope(alice.owner_id):
            event = AuditEvent.objects.get(verb="erase")
        assert (event.actor, event.reason, event.object_id, event.count) == ("person", "purge", row.pk, 1)


class TestRemains:
    def test_answers_and_explanations_that_hold_it_are_closed(self, alice: Actor) -> None:
        doomed, kept = stored(alice, "Secret plan."), stored(alice, "Open plan.")
        with owner_scope(alice.owner_id):
            for one in (doomed, kept):
                IdempotencyRecord.objects.create(
                    caller=alice.owner_id, key_digest=uuid4().bytes * 2, request_digest=b"x" * 32, status=201,
                    body={"body": {"id": str(one), "text": "plan"}, "headers": {}}, created_at=now(),
                )  # fmt: skip
                RecallRecord.objects.create(
                    caller=alice.owner_id, explanation={"hits": [{"memory_id": str(one)}]}, created_at=now()
                )
        purged(alice, memories=[doomed])
        with owner_scope(alice.owner_id):
            assert {(row.status, "text" in str(row.body)) for row in IdempotencyRecord.objects.all()} == {
                (410, False),
                (201, True),
            }
            assert [row.explanation["hits"][0]["memory_id"] for row in RecallRecord.objects.all()] == [str(kept)]

    def test_an_alias_that_only_it_taught_is_unlearnt(self, alice: Actor) -> None:
        doomed = stored(alice, "Robert, whom they call Bobby Tables, has blue eyes.")
        other = stored(alice, "Robert, also Rob, lives in Graz.")
        robert = entity(alice, "Robert", aliases=["Bobby Tables", "Rob"], properties={"eyes": "blue"}, memory_id=doomed)
        assert entity(alice, "Robert", properties={"home": "Graz"}, memory_id=other) == robert
        purged(alice, memories=[doomed])
        with owner_scope(alice.owner_id):
            row = Entity.objects.get(pk=robert)
            assert (row.aliases, row.properties) == (["Rob"], {"home": "Graz"})
        assert entity(alice, "Bobby Tables", memory_id=other) != robert, "it is not found under that name any more"

    def test_everyday_erasing_leaves_what_was_stated(self, alice: Actor) -> None:
        robert = entity(alice, "Robert", aliases=["Bobby"])
        doomed = stored(alice, "Bobby likes tea.")
        assert entity(alice, "Bobby", memory_id=doomed) == robert
        from memory.services.erasing import erase_memories

        with owner_scope(alice.owner_id):
            erase_memories([doomed], at=now(), actor="person")
            assert Entity.objects.get(pk=robert).aliases == ["Bobby"]


class TestSource:
    def test_exactly_what_came_from_it_goes(self, alice: Actor, mallory: Actor) -> None:
        for owner in (alice, mallory):
            stored(owner, "From the chat.", source="user:al/chat")
            stored(owner, "From above.", source="user:al")
            stored(owner, "Somebody else's.", source="user:alice")
            twice = stored(owner, "Said twice.", source="user:al")
            assert stored(owner, "Said twice.", source="user:bo") == twice
        seen = preview_partial(actor=alice, request=PartialRequest(source="User:Al/"))
        assert seen.counts == {"memories": 2, "sources": 1}
        row, outcome = purged(alice, source="User:Al/")
        assert outcome.erased == seen.counts
        assert outcome.left == {}
        assert texts(alice) == {"Somebody else's.", "Said twice."}
        assert len(texts(mallory)) == 4
        assert "user:al" not in str(row.target), "only the keyed hash of the source is kept"
        with owner_scope(alice.owner_id):
            assert Memory.objects.get(pk__in=Memory.objects.filter(version=2)).source == "user:bo"

    def test_what_came_after_the_request_stays(self, alice: Actor) -> None:
        stored(alice, "Before.", source="user:al")
        row = begin_partial(actor=alice, request=PartialRequest(source="user:al")).purge
        stored(alice, "After.", source="user:al")
        run_partial(purge=row, at=now())
        assert texts(alice) == {"After."}


class TestAgent:
    def filled(self, alice: Actor, make_agent: AgentMaker) -> tuple[Made, Actor]:
        made = make_agent(alice, "doomed")
        doomed, other = made[0], make_agent(alice, "other")[0]
        stored(doomed, "Shared by the doomed.")
        stored(doomed, "Private to the doomed.", scope="agent")
        stored(doomed, "Said by both.")
        stored(other, "Said by both.")
        stored(other, "By the other alone.")
        ingest_turns(actor=doomed, session="talk", turns=[TurnDraft(draft=Draft(text="A turn.", role="user"))])
        for name in ("Zorro", "Tornado"):
            entity(doomed, name, scope="agent")
        relate(doomed, "Zorro", "rides", "Tornado", scope="agent")
        with owner_scope(alice.owner_id):
            BusMessage.objects.create(
                publisher_id=doomed.agent_id, visibility="owner", scope=alice.owner_id, text="Hello.", topics=[],
                importance=0.5, published_at=now(), expires_at=now(),
            )  # fmt: skip
            BusMessage.objects.create(
                publisher_id=other.agent_id, visibility="agent", scope=doomed.agent_id, text="To it.", topics=[],
                importance=0.5, published_at=now(), expires_at=now(),
            )  # fmt: skip
            for row in Memory.objects.filter(agent_id=other.agent_id):
                MemoryRead.objects.create(
                    memory_id=row.pk, reader=doomed.agent_id, reads=1, first_at=now(), last_at=now()
                )
        recall(actor=doomed, request=RecallRequest(query="shared"))
        return made, other

    def test_all_that_it_stored_goes_with_it(self, alice: Actor, make_agent: AgentMaker) -> None:
        (doomed, secret), other = self.filled(alice, make_agent)
        assert doomed.agent_id is not None
        seen = preview_partial(actor=alice, request=PartialRequest(agent=doomed.agent_id))
        assert seen.counts == {
            "memories": 3, "sources": 1, "sessions": 1, "keys": 1, "messages": 2, "reads": 1, "agents": 1,
        }  # fmt: skip
        _, outcome = purged(alice, agent=doomed.agent_id)
        assert outcome.left == {}
        assert (outcome.erased["memories"], outcome.erased["sources"], outcome.erased["agents"]) == (3, 1, 1)
        assert texts(alice) == {"Said by both.", "By the other alone."}
        with owner_scope(alice.owner_id):
            assert set(Agent.objects.values_list("pk", flat=True)) == {other.agent_id}
            assert set(AgentKey.objects.values_list("agent_id", flat=True)) == {other.agent_id}
            assert not BusMessage.objects.exists()
            assert not Session.objects.exists()
            assert not Entity.objects.exists()
            assert not MemoryRead.objects.exists()
            for model in owned_models():
                for column in id_columns(model):
                    rows = model.objects.filter(**{column: doomed.agent_id})  # type: ignore[attr-defined]
                    assert not rows.exists(), f"{model.__name__}.{column}"
        with pytest.raises(Exception, match="key"):
            authenticate(secret)
        hits = recall(actor=other, request=RecallRequest(query="said by both")).hits
        assert "Said by both." in {hit.memory.text for hit in hits}

    def test_it_is_silent_before_anything_goes(self, alice: Actor, make_agent: AgentMaker) -> None:
        doomed, secret = make_agent(alice, "doomed")
        stored(doomed, "A note.")
        row = begin_partial(actor=alice, request=PartialRequest(agent=doomed.agent_id)).purge

        class Stopped(Exception):
            pass

        def stop() -> None:
            raise Stopped

        with pytest.raises(Stopped):
            run_partial(purge=row, at=now(), beat=stop)
        assert texts(alice) == {"A note."}
        with pytest.raises(Exception, match="key"):
            authenticate(secret)
        assert run_partial(purge=row, at=now()).erased == {"keys": 1, "memories": 1, "agents": 1}


class TestInterrupted:
    def test_it_goes_on_and_counts_once(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(partial, "BATCH", 2)
        ids = [stored(alice, f"Statement number {number}.") for number in range(7)]
        row = begin_partial(actor=alice, request=PartialRequest(memories=ids)).purge
        calls = 0

        class Killed(Exception):
            pass

        def beat() -> None:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise Killed

        with pytest.raises(Killed):
            run_partial(purge=row, at=now(), beat=beat)
        assert 0 < len(texts(alice)) < 7
        again = Purge.objects.get(pk=row.pk)
        outcome = run_partial(purge=again, at=now())
        assert (outcome.erased, outcome.left, texts(alice)) == ({"memories": 7}, {}, set())
        assert Purge.objects.get(pk=row.pk).samples is None


class TestSealing:
    def test_it_says_when_remains_become_unreadable(self, alice: Actor, settings: Any) -> None:
        settings.KEY_ROTATION_DAYS = 90
        _, outcome = purged(alice, memories=[stored(alice, "A secret.")])
        assert outcome.keys["seal"] == "with_next_rotation"
        assert datetime.fromisoformat(outcome.keys["rotation_due"]) > datetime.now(UTC)

    def test_seal_now_begins_a_rotation_once(self, alice: Actor) -> None:
        row = begin_partial(actor=alice, request=PartialRequest(memories=[stored(alice, "A secret.")], seal=True)).purge

        def stop_at_the_end() -> None:
            if row.stage == "verification":
                raise TimeoutError

        with pytest.raises(TimeoutError):
            run_partial(purge=row, at=now(), beat=stop_at_the_end)
        outcome = run_partial(purge=Purge.objects.get(pk=row.pk), at=now())
        assert outcome.keys == {"seal": "begun", "sealed_by_version": 2}
        assert sorted(keyring().vault.versions(alice.owner_id)) == [1, 2]


class TestWhoMay:
    def test_an_agent_needs_the_permission(self, alice: Actor, make_agent: AgentMaker) -> None:
        agent, _ = make_agent(alice, "plain")
        for ask in (preview_partial, begin_partial):
            with pytest.raises(PermissionRefused):
                ask(actor=agent, request=PartialRequest(source="user:al"))

    def test_an_agent_purges_only_what_it_may_read(self, alice: Actor, make_agent: AgentMaker) -> None:
        agent, _ = make_agent(alice, "clerk", scopes=[*AGENT_DEFAULT, Permission.PRIVACY])
        other, _ = make_agent(alice, "other")
        hidden = stored(other, "Private.", scope="agent", source="user:al")
        stored(agent, "Shared.", source="user:al")
        with pytest.raises(NotFound):
            begin_partial(actor=agent, request=PartialRequest(memories=[hidden]))
        with pytest.raises(NotFound):
            begin_partial(actor=agent, request=PartialRequest(agent=other.agent_id))
        _, outcome = purged(agent, source="user:al")
        assert outcome.erased == {"memories": 1}
        assert texts(alice) == {"Private."}

    def test_another_owner_finds_nothing(self, alice: Actor, mallory: Actor, make_agent: AgentMaker) -> None:
        agent, _ = make_agent(alice)
        memory_id = stored(alice, "Private.", source="user:al")
        for request in (PartialRequest(memories=[memory_id]), PartialRequest(agent=agent.agent_id)):
            with pytest.raises(NotFound):
                begin_partial(actor=mallory, request=request)
        assert preview_partial(actor=mallory, request=PartialRequest(source="user:al")).counts == {}
        assert not Purge.objects.exists()

    @pytest.mark.parametrize(
        ("request_", "code"),
        [
            ({}, "purge.empty"),
            ({"source": "a", "memories": [UUID(int=1)]}, "purge.several"),
            ({"memories": []}, "memories.too_few"),
            ({"memories": [UUID(int=n) for n in range(MOST_MEMORIES + 1)]}, "memories.too_many"),
            ({"source": "/"}, "provenance.invalid"),
        ],
        ids=["nothing", "two", "no memory", "too many", "no source"],
    )
    def test_unusable_requests(self, alice: Actor, request_: dict[str, Any], code: str) -> None:
        with pytest.raises(InvalidInput) as error:
            begin_partial(actor=alice, request=PartialRequest(**request_))
        assert error.value.machine_code == code
        assert not Purge.objects.exists()

    def test_the_same_twice_is_refused_while_it_is_under_way(self, alice: Actor) -> None:
        memory_id = stored(alice, "A secret.")
        begin_partial(actor=alice, request=PartialRequest(memories=[memory_id]))
        with pytest.raises(Conflict) as error:
            begin_partial(actor=alice, request=PartialRequest(memories=[memory_id]))
        assert error.value.machine_code == "purge.under_way"


def test_private_tables_are_owned() -> None:
    from memory.services.purge.partial_agent import private_tables

    names = {model.__name__ for model in private_tables()}
    assert {"Entity", "Relation", "BusMessage", "ReviewItem", "EntityMerge"} <= names
    assert not names & {"Memory", "MemoryVector", "LexPosting"}
    assert all(issubclass(model, OwnedRow) for model in private_tables())
