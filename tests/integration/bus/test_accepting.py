"""Accepting: a message becomes a memory, and trust, time or a person decide about what it contradicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory.errors import InvalidInput, InvalidScope, NotFound, PermissionRefused
from memory.models import (
    EdgeKind,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryVersion,
    ReviewItem,
    Status,
    owner_scope,
)
from memory.providers import composition
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.providers.stub_embedder import StubEmbedder
from memory.services.actors import Actor, Permission
from memory.services.agents import authenticate, create_key
from memory.services.bus.accepting import Accepted, accept_message
from memory.services.bus.trusting import set_trust
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import restore_memory
from memory.services.review_decisions import approve, reject
from memory.services.spaces import in_use
from tests.integration.bus.conftest import (
    Agents,
    StandingClock,
    audited,
    group,
    hear,
    say,
    token_for,
)

MONDAY, TUESDAY = "The deploy runs on Monday.", "The deploy runs on Tuesday."


def accept(actor: Actor, message: Any, **values: Any) -> Accepted:
    return accept_message(actor=actor, token=token_for(actor), message_id=message.pk, **values)


def row(owner: Actor, memory_id: UUID) -> Memory:
    with owner_scope(owner.owner_id):
        memory: Memory = Memory.objects.get(pk=memory_id)
        return memory


def found(actor: Actor, query: str = "deploy") -> set[str]:
    return {hit.memory.text for hit in recall(actor=actor, request=RecallRequest(query=query)).hits}


def trust(owner: Actor, agent: Actor, value: float | None) -> None:
    assert agent.agent_id is not None
    set_trust(actor=owner, agent_id=agent.agent_id, trust=value)


@pytest.fixture
def trusted(alice: Actor, sender: Actor) -> Actor:
    """The sender, trusted as much as what is remembered."""
    trust(alice, sender, 0.5)
    return sender


class TestStoring:
    def test_it_becomes_a_memory_of_the_reader(
        self, alice: Actor, sender: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        message = say(sender, MONDAY, topics=["ops"], importance=0.7)
        standing.forward(minutes=5)
        done = accept(reader, message, kind="fact")
        assert (done.created, done.status, done.superseded, done.reviews) == (True, Status.LIVE, [], [])
        memory = row(alice, done.memory_id)
        with owner_scope(alice.owner_id):
            assert (memory.text, memory.source, memory.topics) == (MONDAY, f"bus/{sender.agent_id}", ["ops"])
        assert (memory.agent_id, memory.kind, memory.importance) == (reader.agent_id, "fact", 0.7)
        assert (memory.visibility, memory.scope) == ("owner", alice.owner_id)
        # As sure as its agent is trusted, and said when it was published.
        assert (memory.confidence, memory.occurred_at) == (0.3, message.published_at)
        assert found(reader) == {MONDAY}
        assert audited(alice, "accept") == [(reader.label, "bus_message", message.pk, "stored")]

    def test_again_it_is_reinforced(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        message = say(sender, MONDAY)
        first = accept(reader, message)
        second = accept(reader, message)
        assert (second.memory_id, second.created) == (first.memory_id, False)
        with owner_scope(alice.owner_id):
            assert Memory.objects.count() == 1
            assert MemorySource.objects.filter(memory_id=first.memory_id).count() == 2

    def test_what_says_the_same_in_other_words_is_reinforced(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        known = remember(actor=reader, draft=Draft(text="Al really likes tea.")).memory_id
        done = accept(reader, say(sender, "Al loves tea."))
        assert (done.memory_id, done.created) == (known, False)
        with owner_scope(alice.owner_id):
            sources = {one.source for one in MemorySource.objects.filter(memory_id=known)}
        assert f"bus/{sender.agent_id}" in sources

    def test_from_an_agent_nobody_knows_nothing_more_is_drawn(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        """Else the graph would be told by it what the statement itself could not override."""
        first = row(alice, accept(reader, say(sender, "Ann lives in Porto.")).memory_id)
        assert None not in (first.extracted_at, first.slept_at)
        trust(alice, sender, 0.31)
        second = row(alice, accept(reader, say(sender, "Bob lives in Faro.")).memory_id)
        assert (second.extracted_at, second.slept_at) == (None, None)

    @pytest.mark.parametrize("kind", ["turn", "summary", "skill", "world"])
    def test_only_as_a_statement(self, alice: Actor, sender: Actor, reader: Actor, kind: str) -> None:
        with pytest.raises(InvalidInput) as refused:
            accept(reader, say(sender, MONDAY), kind=kind)
        assert refused.value.machine_code == "kind.invalid"

    @pytest.mark.parametrize("lacking", [Permission.READ, Permission.WRITE])
    def test_it_takes_reading_and_writing(
        self, alice: Actor, sender: Actor, reader: Actor, lacking: Permission
    ) -> None:
        assert reader.agent_id is not None
        key = create_key(
            actor=alice, agent_id=reader.agent_id, label="x", scopes=[one for one in Permission if one != lacking]
        )
        with pytest.raises(PermissionRefused):
            accept(authenticate(key.secret), say(sender, MONDAY))

    def test_messages_that_are_not_delivered(self, sender: Actor, reader: Actor, standing: StandingClock) -> None:
        message = say(sender, MONDAY)
        with pytest.raises(NotFound):
            accept(sender, message)
        with pytest.raises(NotFound):
            accept_message(actor=reader, token=token_for(reader, max_scope="project"), message_id=message.pk)
        with pytest.raises(NotFound):
            accept_message(actor=reader, token=token_for(reader), message_id=UUID(int=7))
        standing.forward(hours=24)
        with pytest.raises(NotFound):
            accept(reader, message)


class TestScopes:
    """The memory is never for anybody whom the message was not for."""

    def test_left_out_it_is_the_messages_own(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        squad = group(alice, "squad", "s", sender, reader)
        for target, visibility, scope in (
            (f"agent:{reader.agent_id}", "agent", reader.agent_id),
            (f"squad:{squad}", "squad", squad),
            ("owner", "owner", alice.owner_id),
        ):
            memory = row(alice, accept(reader, say(sender, f"For {visibility}.", target=target)).memory_id)
            assert (memory.visibility, memory.scope) == (visibility, scope)

    def test_it_may_be_narrower(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        squad = group(alice, "squad", "s", sender, reader)
        own = accept(reader, say(sender, "For the squad.", target=f"squad:{squad}"), scope="agent")
        assert row(alice, own.memory_id).scope == reader.agent_id
        ours = accept(reader, say(sender, "For all."), scope=f"squad:{squad}")
        assert row(alice, ours.memory_id).scope == squad
        assert found(sender, "squad") == set()

    def test_it_is_never_wider_nor_for_other_groups(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        squad, project = group(alice, "squad", "s", reader), group(alice, "project", "p", sender, reader)
        ours = say(sender, "For the project.", target=f"project:{project}")
        private = say(sender, "For one.", target=f"agent:{reader.agent_id}")
        # A squad ranks below a project, and has other members.
        for message, scope in (
            (ours, "owner"), (ours, f"squad:{squad}"), (private, "owner"), (private, f"project:{project}"),
        ):  # fmt: skip
            with pytest.raises(PermissionRefused) as refused:
                accept(reader, message, scope=scope)
            assert refused.value.machine_code == "scope.wider"
        with owner_scope(alice.owner_id):
            assert Memory.objects.count() == 0

    def test_a_person_reads_and_accepts_none(self, alice: Actor, sender: Actor) -> None:
        message = say(sender, MONDAY)
        for message_id, error in ((message.pk, PermissionRefused), (UUID(int=7), NotFound)):
            with pytest.raises(error):
                accept_message(actor=alice, token=None, message_id=message_id)

    @pytest.mark.parametrize("scope", ["", None, [], "*"], ids=str)
    def test_that_cannot_be_used(self, sender: Actor, reader: Actor, scope: Any) -> None:
        with pytest.raises(InvalidScope):
            accept(reader, say(sender, MONDAY), scope=scope)


class TestSettling:
    def test_a_newer_unknown_agent_does_not_override(
        self, alice: Actor, sender: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        known = remember(actor=reader, draft=Draft(text=TUESDAY)).memory_id
        standing.forward(minutes=1)
        done = accept(reader, say(sender, MONDAY))
        assert (done.created, done.status, done.kept, done.superseded) == (True, Status.SUPERSEDED, known, [])
        assert row(alice, known).status == Status.LIVE
        assert found(reader) == {TUESDAY}
        # It is kept as history, linked to what stands against it, and can be brought back.
        with owner_scope(alice.owner_id):
            link = MemoryEdge.objects.get(kind=EdgeKind.CONTRADICTS)
            assert (link.source_id, link.target_id) == (known, done.memory_id)
        restore_memory(actor=alice, memory_id=done.memory_id)
        assert row(alice, done.memory_id).status == Status.LIVE
        assert audited(alice, "accept")[0][3] == "kept"

    def test_between_equals_the_newer_takes_the_place(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        known = remember(actor=reader, draft=Draft(text=TUESDAY)).memory_id
        standing.forward(minutes=1)
        done = accept(reader, say(trusted, MONDAY))
        assert (done.status, done.superseded, done.kept) == (Status.LIVE, [known], None)
        assert row(alice, known).status == Status.SUPERSEDED
        assert found(reader) == {MONDAY}
        assert audited(alice, "supersede") == [(reader.label, "memory", known, "contradicted")]
        with owner_scope(alice.owner_id):
            assert MemoryVersion.objects.get(memory_id=known).actor == reader.label
        assert audited(alice, "accept")[0][3] == "superseded"

    def test_an_older_message_of_an_equal_makes_way(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        message = say(trusted, MONDAY)
        standing.forward(minutes=1)
        known = remember(actor=reader, draft=Draft(text=TUESDAY)).memory_id
        assert accept(reader, message).kept == known

    def test_much_more_trust_overrides_whatever_is_newer(
        self, alice: Actor, sender: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        trust(alice, sender, 0.9)
        message = say(sender, MONDAY)
        standing.forward(minutes=1)
        known = remember(actor=reader, draft=Draft(text=TUESDAY)).memory_id
        assert accept(reader, message).superseded == [known]

    def test_whoever_accepts_vouches_for_it(
        self, alice: Actor, agents: Agents, sender: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        """It counts with the trust in the agent that accepted it, not with that in the one it came from."""
        trust(alice, reader, 0.9)
        known = accept(reader, say(sender, TUESDAY)).memory_id
        standing.forward(minutes=1)
        other = agents("other")
        trust(alice, other, 0.6)
        assert accept(reader, say(other, MONDAY)).kept == known

    def test_what_a_person_stated_is_put_to_a_person(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        known = remember(actor=alice, draft=Draft(text=TUESDAY)).memory_id
        standing.forward(minutes=1)
        done = accept(reader, say(trusted, MONDAY))
        assert (done.status, done.superseded, done.kept, len(done.reviews)) == (Status.LIVE, [], None, 1)
        assert found(reader) == {MONDAY, TUESDAY}
        # Consolidation must not settle meanwhile what a person is asked about.
        assert row(alice, done.memory_id).extracted_at is not None
        with owner_scope(alice.owner_id):
            item = ReviewItem.objects.get()
            assert (item.kind, item.reason) == ("contradiction", "bus.contested")
            assert (item.payload["older"], item.payload["newer"]) == (str(known), str(done.memory_id))
        approve(actor=alice, item_id=item.pk)
        assert (row(alice, known).status, row(alice, done.memory_id).status) == (Status.SUPERSEDED, Status.LIVE)
        assert audited(alice, "accept")[0][3] == "review"

    def test_a_rejected_doubt_is_not_asked_again(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        remember(actor=alice, draft=Draft(text=TUESDAY))
        standing.forward(minutes=1)
        message = say(trusted, MONDAY)
        reject(actor=alice, item_id=accept(reader, message).reviews[0])
        assert accept(reader, message).reviews == []

    def test_several_contradictions_are_settled_each(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        known = [
            remember(actor=reader, draft=Draft(text=f"The deploy runs on {day}.")).memory_id
            for day in ("Tuesday", "Friday")
        ]
        by_person = remember(actor=alice, draft=Draft(text="The deploy runs on Sunday.")).memory_id
        standing.forward(minutes=1)
        done = accept(reader, say(trusted, MONDAY))
        assert (set(done.superseded), len(done.reviews)) == (set(known), 1)
        assert row(alice, by_person).status == Status.LIVE

    def test_one_stronger_statement_is_enough(
        self, alice: Actor, agents: Agents, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        strong = agents("strong")
        trust(alice, strong, 1.0)
        weak = remember(actor=reader, draft=Draft(text=TUESDAY)).memory_id
        best = remember(actor=strong, draft=Draft(text="The deploy runs on Friday.")).memory_id
        standing.forward(minutes=1)
        done = accept(reader, say(trusted, MONDAY))
        assert (done.kept, done.superseded) == (best, [])
        assert row(alice, weak).status == Status.LIVE

    @pytest.mark.parametrize("stored_for", ["squad", "agent"])
    def test_no_memory_makes_way_for_what_its_readers_may_not_read(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock, stored_for: str
    ) -> None:
        squad = group(alice, "squad", "s", trusted, reader)
        known = remember(actor=reader, draft=Draft(text=TUESDAY)).memory_id
        standing.forward(minutes=1)
        target = f"squad:{squad}" if stored_for == "squad" else f"agent:{reader.agent_id}"
        done = accept(reader, say(trusted, MONDAY, target=target))
        assert (done.status, done.superseded, done.kept) == (Status.LIVE, [], None)
        assert row(alice, known).status == Status.LIVE
        assert found(alice) == {MONDAY, TUESDAY}

    def test_what_is_narrower_makes_way_for_what_is_for_all(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        known = remember(actor=reader, draft=Draft(text=TUESDAY), scope="agent").memory_id
        standing.forward(minutes=1)
        assert accept(reader, say(trusted, MONDAY)).superseded == [known]

    def test_an_untrusted_private_message_makes_way_for_what_all_know(
        self, alice: Actor, sender: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        known = remember(actor=alice, draft=Draft(text=TUESDAY)).memory_id
        standing.forward(minutes=1)
        done = accept(reader, say(sender, MONDAY, target=f"agent:{reader.agent_id}"))
        assert done.kept == known
        assert found(reader) == {TUESDAY}

    def test_a_memory_that_is_no_longer_live_is_left_alone(
        self, alice: Actor, trusted: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        known = remember(actor=reader, draft=Draft(text=TUESDAY)).memory_id
        standing.forward(minutes=1)
        message = say(trusted, MONDAY)
        assert len(hear(reader)[0].weighed.contradictions) == 1
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk=known).update(status=Status.ARCHIVED)
        assert accept(reader, message).superseded == []


class Watchful(StubEmbedder):
    """Refuses to work inside a transaction of the calling thread."""

    calls = 0

    def embed(self, texts: Any) -> Any:
        assert not connection.in_atomic_block, "the model was asked inside a transaction"
        type(self).calls += 1
        return super().embed(texts)


@pytest.mark.django_db(transaction=True)
def test_the_embedder_is_asked_outside_of_every_transaction(
    make_owner: Callable[..., Actor],
    make_agent: Callable[..., tuple[Actor, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watchful = GuardedEmbedder(Watchful())
    for module in (composition, in_use):
        monkeypatch.setattr(module, "embedder", lambda: watchful)
    owner = make_owner("alice")
    one, other = (make_agent(owner, name)[0] for name in ("one", "other"))
    remember(actor=other, draft=Draft(text=TUESDAY))
    trust(owner, one, 1.0)
    message = say(one, MONDAY)
    assert hear(other)[0].weighed.contradictions
    assert Watchful.calls == 1
    assert accept(other, message).superseded
    assert Watchful.calls == 2
