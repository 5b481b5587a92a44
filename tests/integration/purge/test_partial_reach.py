"""How far a partial purge reaches: ids that somebody typed, rows that are hidden from whoever asks, messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memory.models import (
    BusMessage,
    EntityMerge,
    IdempotencyRecord,
    Memory,
    MemorySource,
    Purge,
    RecallRecord,
    ReviewItem,
    owner_scope,
)
from memory.models.encrypted import EncryptedJSONField
from memory.services.actors import AGENT_DEFAULT, Actor, Permission
from memory.services.bus.accepting import accept_message
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.graph.merging import merge_two
from memory.services.purge.agent_parts import said
from memory.services.purge.partial_places import IDS, named_ids
from memory.services.purge.partial_requests import PartialRequest, begin_partial, preview_partial
from memory.services.purge.partial_stays import stays_of
from memory.services.purge.partial_verification import SAID, look_for, owned_models
from memory.services.purge.runner import run_purge
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.review_decisions import approve
from tests.integration.bus.conftest import say, token_for
from tests.integration.consolidation.reviewing import fact, opened
from tests.integration.graph.conftest import entity, memory

AgentMaker = Callable[..., tuple[Actor, str]]


def purge(actor: Actor, **request: Any) -> Purge:
    """Have something purged to the end."""
    made = begin_partial(actor=actor, request=PartialRequest(**request))
    return run_purge(purge_id=made.purge.pk)


def kept_answer(owner: Actor, body: Mapping[str, Any], status: int = 201) -> UUID:
    """Keep an answer under an idempotency key."""
    with owner_scope(owner.owner_id):
        return UUID(
            str(
                IdempotencyRecord.objects.create(
                    caller=owner.owner_id, key_digest=uuid4().bytes * 2, request_digest=b"x" * 32, status=status,
                    body={"body": body, "headers": {}}, created_at=now(),
                ).pk
            )
        )  # fmt: skip


@pytest.fixture
def clerk(alice: Actor, make_agent: AgentMaker) -> Actor:
    """An agent of Alice that may purge."""
    return make_agent(alice, "clerk", scopes=[*AGENT_DEFAULT, Permission.PRIVACY])[0]


class TestTypedIds:
    """An id that somebody typed keeps no purge from its end."""

    @pytest.mark.parametrize("status", [201, 404])
    def test_an_answer_that_names_the_agent_is_closed(self, alice: Actor, make_agent: AgentMaker, status: int) -> None:
        doomed, _ = make_agent(alice, "doomed")
        kept, closed = (kept_answer(alice, {"id": str(one)}, status) for one in (uuid4(), doomed.agent_id))
        assert purge(alice, agent=doomed.agent_id).state == "done"
        with owner_scope(alice.owner_id):
            assert {row.pk: row.status for row in IdempotencyRecord.objects.all()} == {kept: status, closed: 410}

    def test_an_answer_that_names_a_lost_source_is_closed(self, alice: Actor) -> None:
        for source in ("user:al", "user:bo"):
            stored = remember(actor=alice, draft=Draft(text="Said twice.", source=source)).memory_id
        with owner_scope(alice.owner_id):
            lost = MemorySource.objects.filter(memory_id=stored).order_by("created_at", "pk").first()
        assert lost is not None
        answer = kept_answer(alice, {"source_id": str(lost.pk)})
        assert purge(alice, source="user:al").state == "done"
        with owner_scope(alice.owner_id):
            assert IdempotencyRecord.objects.get(pk=answer).status == 410

    def test_a_question_that_quotes_it(self, alice: Actor) -> None:
        doomed = memory(alice, "Ann has an allergy to nuts.")
        memory(alice, "Zebras have stripes.")
        question = f"zebra stripes {doomed}"
        recall(actor=alice, request=RecallRequest(query=question))
        with owner_scope(alice.owner_id):
            record = RecallRecord.objects.get()
            record.explanation = {**record.explanation, "hits": []}
            record.save(update_fields=["explanation"])
        assert purge(alice, memories=[doomed]).state == "done"
        with owner_scope(alice.owner_id):
            assert RecallRecord.objects.get().explanation["query"] == question

    def test_an_entity_that_is_named_after_it_and_was_merged(self, alice: Actor) -> None:
        doomed = memory(alice, "Ann has an allergy to nuts.")
        merge_two(actor=alice, kept_id=entity(alice, "Bob"), merged_id=entity(alice, str(doomed)))
        assert purge(alice, memories=[doomed]).state == "done"
        with owner_scope(alice.owner_id):
            assert str(doomed) in str(EntityMerge.objects.get().record)

    def test_a_doubt_in_whose_words_an_agent_stands(self, alice: Actor, make_agent: AgentMaker) -> None:
        doomed, _ = make_agent(alice, "doomed")
        opened(alice, payload=fact(f"{doomed.agent_id} is an agent."))
        assert purge(alice, agent=doomed.agent_id).state == "done"
        with owner_scope(alice.owner_id):
            assert ReviewItem.objects.exists()

    def test_an_approval_whose_source_is_lost_is_still_undone(self, alice: Actor) -> None:
        stands = memory(alice, "Alice is allergic to peanuts.")
        turn = memory(alice, "Peanuts make me sick.")
        item = opened(alice, payload=fact("Alice is allergic to peanuts."), evidence=[(turn, "sick")])
        approve(actor=alice, item_id=item.pk)
        with owner_scope(alice.owner_id):
            added = MemorySource.objects.get(memory_id=stands, turn_id=turn)
            MemorySource.objects.filter(pk=added.pk).update(turn_id=None)
            assert ReviewItem.objects.get().outcome["sources"] == [str(added.pk)]
        assert purge(alice, source=added.source).state == "done"
        with owner_scope(alice.owner_id):
            assert ReviewItem.objects.get().outcome["sources"] == []


class TestLooking:
    def test_every_sealed_field_is_said_or_says_where_ids_stand(self) -> None:
        sealed = {
            model
            for model in owned_models()
            if any(isinstance(one, EncryptedJSONField) for one in model._meta.concrete_fields)
        }
        assert sealed == {*SAID, *said(), *IDS}

    @pytest.mark.parametrize(
        ("model", "value"),
        [
            (IdempotencyRecord, {"body": {"items": [{"id": "ID"}]}}),
            (IdempotencyRecord, {"headers": {"Location": "/api/v1/memories/ID"}}),
            (IdempotencyRecord, {"body": {"memory_ids": ["x", "ID"]}}),
            (RecallRecord, {"hits": [{"memory_id": "ID"}]}),
            (EntityMerge, {"relations_dropped": [{"evidence": [{"memory_id": "ID"}]}]}),
            (EntityMerge, {"mentions_added": ["ID"]}),
            (ReviewItem, {"older": "ID"}),
            (ReviewItem, {"rows": [["GraphEvidence", None, {"memory_id": "ID"}]]}),
        ],
        ids=range(8),
    )
    def test_ids_are_found_where_they_are_meant(self, model: Any, value: Any) -> None:
        one = uuid4()
        assert list(named_ids(model, _with(value, str(one)))) == [one]

    @pytest.mark.parametrize(
        ("model", "value"),
        [
            (IdempotencyRecord, {"body": {"text": "ID", "metadata": {"id": "ID"}}}),
            (IdempotencyRecord, {"body": {"session_id": "the one before ID"}}),
            (RecallRecord, {"query": "ID"}),
            (EntityMerge, {"merged": {"name": "ID", "aliases": ["ID"], "properties": {"x_id": "ID"}}}),
            (ReviewItem, {"text": "ID", "names": ["ID"]}),
        ],
        ids=range(5),
    )
    def test_ids_that_were_typed_are_passed_over(self, model: Any, value: Any) -> None:
        assert not list(named_ids(model, _with(value, str(uuid4()))))

    def test_a_record_that_was_not_closed_is_found(self, alice: Actor) -> None:
        doomed = uuid4()
        kept_answer(alice, {"id": str(doomed)})
        with owner_scope(alice.owner_id):
            RecallRecord.objects.create(
                caller=alice.owner_id, explanation={"hits": [{"memory_id": str(doomed)}]}, created_at=now()
            )
            assert look_for([doomed]).left == {"memory_idempotencyrecord": 1, "memory_recallrecord": 1}


class TestHidden:
    """What is hidden from an agent goes where it rests on what the agent erases, and the agent is not told of it."""

    @pytest.mark.parametrize("request_", ["memories", "source"])
    def test_what_was_drawn_from_it_alone(
        self, alice: Actor, make_agent: AgentMaker, clerk: Actor, request_: str
    ) -> None:
        other, _ = make_agent(alice, "other")
        first = remember(actor=alice, draft=Draft(text="Al said he goes to Rome.", source="user:al")).memory_id
        hidden = remember(actor=other, draft=Draft(text="Al might elope in Rome."), scope="agent").memory_id
        with owner_scope(alice.owner_id):
            MemorySource.objects.filter(memory_id=hidden).update(turn_id=first)
        recall(actor=alice, request=RecallRequest(query="Rome"))
        asked = {"memories": [first]} if request_ == "memories" else {"source": "user:al"}
        told = preview_partial(actor=clerk, request=PartialRequest(**asked)).counts
        assert told == {"memories": 1}
        assert preview_partial(actor=alice, request=PartialRequest(**asked)).counts == {"memories": 1, "drawn": 1}
        done = purge(clerk, **asked)
        assert (done.expected, done.erased) == (told, told)
        assert done.receipt is not None
        assert done.receipt["erased"] == told
        assert not {"ids", "sealed_values"} & set(done.receipt["verification"]["looked_at"])
        with owner_scope(alice.owner_id):
            assert not Memory.objects.exists(), "nothing quotes what was erased"

    def test_what_another_one_speaks_for_stays(self, alice: Actor, make_agent: AgentMaker, clerk: Actor) -> None:
        other, _ = make_agent(alice, "other")
        first = remember(actor=alice, draft=Draft(text="Al said he goes to Rome.")).memory_id
        hidden = remember(actor=other, draft=Draft(text="Al might elope in Rome."), scope="agent").memory_id
        with owner_scope(alice.owner_id):
            MemorySource.objects.create(
                memory_id=hidden, turn_id=first, scope=other.agent_id, agent_id=other.agent_id,
                created_at=now(),
            )  # fmt: skip
        purge(clerk, memories=[first])
        with owner_scope(alice.owner_id):
            assert list(Memory.objects.values_list("pk", flat=True)) == [hidden]
            assert MemorySource.objects.get().turn_id is None


class TestMessages:
    def accepted(self, sender: Actor, reader: Actor, text: str = "The deploy runs on Monday.") -> UUID:
        message = say(sender, text)
        return accept_message(actor=reader, token=token_for(reader), message_id=message.pk, scope="agent").memory_id

    def test_the_message_goes_from_which_it_was_accepted(self, alice: Actor, make_agent: AgentMaker) -> None:
        sender, reader = (make_agent(alice, name, scopes=list(Permission))[0] for name in ("sender", "reader"))
        doomed = self.accepted(sender, reader)
        say(sender, "Lunch is at noon.")
        with owner_scope(alice.owner_id):
            BusMessage.objects.update(published_at=now() - timedelta(minutes=1))
        asked = PartialRequest(memories=[doomed])
        assert preview_partial(actor=alice, request=asked).counts == {"memories": 1, "messages": 1}
        assert purge(alice, memories=[doomed]).erased == {"memories": 1, "messages": 1}
        with owner_scope(alice.owner_id):
            assert [row.text for row in BusMessage.objects.all()] == ["Lunch is at noon."]

    def test_a_message_that_says_the_same_by_chance_stays(self, alice: Actor, make_agent: AgentMaker) -> None:
        sender, _ = make_agent(alice, "sender", scopes=list(Permission))
        doomed = remember(actor=alice, draft=Draft(text="The deploy runs on Monday.")).memory_id
        say(sender)
        assert purge(alice, memories=[doomed]).erased == {"memories": 1}
        with owner_scope(alice.owner_id):
            assert BusMessage.objects.count() == 1


@pytest.mark.parametrize("subject", ["memory", "source", "agent"])
def test_the_receipt_says_what_no_key_seals(subject: str) -> None:
    """Vectors, keyed hashes and times are outside the text key; a rotation makes none of them unreadable."""
    said = {one.what: one for one in stays_of(subject)}
    outside = [one for what, one in said.items() if "ectors" in what and "keyed hashes" in what]
    assert len(outside) == 2
    assert not any("rotation" in one.until or "encrypted" in one.why for one in outside)
    assert any("indexes" in what for what in said)
    assert any("providers of embeddings" in what for what in said)
    assert any("bus" in what for what in said)
    assert any("digests and sizes" in what for what in said)


def _with(value: Any, one: str) -> Any:
    if isinstance(value, dict):
        return {name: _with(member, one) for name, member in value.items()}
    if isinstance(value, list):
        return [_with(member, one) for member in value]
    return value.replace("ID", one) if isinstance(value, str) else value
