"""Reading: the four checks, who is given what, the filters, and that leaving a group counts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory.errors import InvalidScope, NotFound, PermissionRefused
from memory.models import BusMessage, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.agents import set_membership
from memory.services.bus.accepting import accept_message
from memory.services.bus.reading import ReadRequest, read_messages
from memory.services.bus.trusting import set_trust
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.bus.conftest import (
    Agents,
    StandingClock,
    audited,
    group,
    hear,
    leave,
    say,
    stored,
    texts,
    token_for,
)

SCOPES = ("agent", "squad", "project", "owner")


@pytest.fixture
def groups(alice: Actor, sender: Actor, reader: Actor) -> dict[str, UUID]:
    """A squad and a project of sender and reader."""
    return {kind: group(alice, kind, kind, sender, reader) for kind in ("squad", "project")}


@pytest.fixture
def told(sender: Actor, reader: Actor, groups: dict[str, UUID]) -> dict[str, BusMessage]:
    """One message for each scope, which says for which."""
    targets = {
        "agent": f"agent:{reader.agent_id}", "squad": f"squad:{groups['squad']}",
        "project": f"project:{groups['project']}", "owner": "owner",
    }  # fmt: skip
    return {scope: say(sender, f"For the {scope}.", target=target) for scope, target in targets.items()}


def heard(actor: Actor, **values: Any) -> set[str]:
    return {text.removeprefix("For the ").rstrip(".") for text in texts(hear(actor, **values))}


class TestChecks:
    def test_a_valid_token_reads(self, reader: Actor, told: dict[str, BusMessage]) -> None:
        assert heard(reader) == set(SCOPES)

    @pytest.mark.parametrize(("rank", "ceiling"), list(enumerate(SCOPES, start=1)))
    def test_the_ceiling_of_scope(
        self, reader: Actor, groups: dict[str, UUID], told: dict[str, BusMessage], rank: int, ceiling: str
    ) -> None:
        token = token_for(reader, max_scope=ceiling)
        assert heard(reader, token=token) == set(SCOPES[:rank])
        for asked, scope in enumerate(SCOPES, start=1):
            written = f"{scope}:{groups[scope]}" if scope in groups else scope
            if asked <= rank:
                assert heard(reader, token=token, scope=written) == {scope}
                continue
            with pytest.raises(PermissionRefused) as refused:
                hear(reader, token=token, scope=written)
            assert refused.value.machine_code == "capability.exceeded"

    def test_a_ceiling_is_no_membership(self, alice: Actor, agents: Agents, groups: dict[str, UUID], told: Any) -> None:
        outsider = agents("outsider")
        token = token_for(outsider, max_scope="owner")
        assert heard(outsider, token=token) == {"owner"}
        for kind, group_id in groups.items():
            with pytest.raises(PermissionRefused) as refused:
                hear(outsider, token=token, scope=f"{kind}:{group_id}")
            assert refused.value.machine_code == "auth.forbidden"

    def test_a_membership_is_no_ceiling(self, reader: Actor, told: dict[str, BusMessage]) -> None:
        assert heard(reader, token=token_for(reader, max_scope="agent")) == {"agent"}

    def test_a_squad_is_no_project(self, reader: Actor, groups: dict[str, UUID], told: dict[str, BusMessage]) -> None:
        with pytest.raises(NotFound):
            hear(reader, scope=f"project:{groups['squad']}")

    @pytest.mark.parametrize("scope", ["", None, [], "*", "world", "squad", "squad:*", ["owner"]], ids=str)
    def test_scopes_that_cannot_be_used(self, reader: Actor, told: Any, scope: Any) -> None:
        with pytest.raises(InvalidScope):
            hear(reader, scope=scope)

    def test_a_key_that_may_not_read(self, agents: Agents, told: Any) -> None:
        blind = agents("blind", scopes=[Permission.WRITE])
        with pytest.raises(PermissionRefused) as refused:
            hear(blind)
        assert refused.value.machine_code == "auth.forbidden"

    @pytest.mark.parametrize(("token", "code"), [(None, "capability.required"), ("", "capability.refused")])
    def test_no_token(self, reader: Actor, told: dict[str, BusMessage], token: str | None, code: str) -> None:
        with pytest.raises(PermissionRefused) as refused:
            read_messages(actor=reader, token=token, request=ReadRequest())
        assert refused.value.machine_code == code
        with pytest.raises(PermissionRefused) as refused:
            accept_message(actor=reader, token=token, message_id=told["owner"].pk)
        assert refused.value.machine_code == code

    def test_a_person_reads_all_without_one(self, alice: Actor, told: Any) -> None:
        assert heard(alice) == set(SCOPES)

    def test_a_stranger_reads_nothing(
        self, mallory: Actor, told: dict[str, BusMessage], groups: dict[str, UUID], make_agent: Callable[..., Any]
    ) -> None:
        spy, _ = make_agent(mallory, "spy", scopes=list(Permission))
        assert heard(spy) == heard(mallory) == set()
        for message in told.values():
            with pytest.raises(NotFound):
                accept_message(actor=spy, token=token_for(spy), message_id=message.pk)
        # An actor that claims groups which are not its owner's gets no further.
        claiming = replace(spy, groups={group_id: kind for kind, group_id in groups.items()})
        assert heard(claiming) == set()


class TestWalls:
    """No path of the bus shows anything of a group to an agent outside it."""

    @pytest.mark.parametrize("kind", ["squad", "project"])
    def test_an_agent_outside_a_group_sees_nothing_of_it(
        self, agents: Agents, reader: Actor, groups: dict[str, UUID], told: dict[str, BusMessage], kind: str
    ) -> None:
        outsider = agents("outsider")
        message = told[kind]
        token = token_for(outsider)
        assert message.text not in texts(hear(outsider, token=token))
        assert message.text not in texts(hear(outsider, token=token, source_agent=message.publisher_id))
        assert message.text not in texts(hear(outsider, token=token, least_importance=0.2, size=100))
        with pytest.raises(NotFound):
            accept_message(actor=outsider, token=token, message_id=message.pk)
        with pytest.raises(PermissionRefused):
            say(outsider, token=token, target=f"{kind}:{groups[kind]}")
        stale = replace(outsider, groups={groups[kind]: kind})
        assert message.text not in texts(hear(stale, token=token))
        with pytest.raises(PermissionRefused):
            hear(stale, token=token, scope=f"{kind}:{groups[kind]}")

    def test_what_is_for_one_agent_is_for_no_other(
        self, agents: Agents, sender: Actor, told: dict[str, BusMessage]
    ) -> None:
        for other in (agents("third"), sender):
            assert told["agent"].text not in texts(hear(other))
            assert told["agent"].text not in texts(hear(other, scope="agent"))
            with pytest.raises(NotFound):
                accept_message(actor=other, token=token_for(other), message_id=told["agent"].pk)

    @pytest.mark.parametrize("kind", ["squad", "project"])
    def test_leaving_a_group_counts_at_once(
        self, alice: Actor, reader: Actor, groups: dict[str, UUID], told: dict[str, BusMessage], kind: str
    ) -> None:
        token = token_for(reader)
        inside = replace(reader, groups={group_id: name for name, group_id in groups.items()})
        assert kind in heard(inside, token=token)
        leave(alice, groups[kind], reader)
        # The token is valid and the actor still claims its groups.
        assert heard(inside, token=token) == set(SCOPES) - {kind}
        with pytest.raises(PermissionRefused):
            hear(inside, token=token, scope=f"{kind}:{groups[kind]}")
        with pytest.raises(NotFound):
            accept_message(actor=inside, token=token, message_id=told[kind].pk)
        assert reader.agent_id is not None
        set_membership(actor=alice, group_id=groups[kind], agent_id=reader.agent_id, member=True)
        assert kind in heard(inside, token=token)

    def test_a_memory_of_a_group_is_not_betrayed_by_a_contradiction(
        self, alice: Actor, agents: Agents, sender: Actor, reader: Actor, groups: dict[str, UUID]
    ) -> None:
        remember(
            actor=replace(reader, groups={groups["squad"]: "squad"}),
            draft=Draft(text="The deploy runs on Friday."),
            scope=f"squad:{groups['squad']}",
        )
        say(sender, "The deploy runs on Monday.")
        outsider = agents("outsider")
        assert hear(outsider)[0].weighed.contradictions == ()
        assert len(hear(reader)[0].weighed.contradictions) == 1


class TestDelivery:
    def test_own_messages_are_passed_over(self, sender: Actor, reader: Actor) -> None:
        say(sender, "Mine.")
        say(reader, "Yours.")
        assert texts(hear(sender)) == ["Yours."]
        assert texts(hear(reader)) == ["Mine."]

    def test_filters(self, sender: Actor, reader: Actor, agents: Agents) -> None:
        other = agents("other")
        say(sender, "A", topics=["Deploys", "ops"], importance=0.3)
        say(sender, "B", topics=["food"], importance=0.9)
        say(other, "C", topics=["deploys"], importance=0.6)
        say(other, "D", importance=0.2)
        assert texts(hear(reader, topics=["deploys"])) == ["A", "C"]
        assert texts(hear(reader, topics=["ops", "FOOD"])) == ["A", "B"]
        assert texts(hear(reader, topics=["nothing"])) == []
        assert texts(hear(reader, least_importance=0.6)) == ["B", "C"]
        assert texts(hear(reader, source_agent=other.agent_id)) == ["C", "D"]
        assert texts(hear(reader, source_agent=UUID(int=7))) == []
        assert texts(hear(reader, topics=["deploys"], least_importance=0.5, source_agent=other.agent_id)) == ["C"]

    def test_pages_go_on_where_the_last_ended(self, sender: Actor, reader: Actor, standing: StandingClock) -> None:
        for number in range(25):
            say(sender, f"{number}")
        first = hear(reader)
        assert texts(first) == [str(number) for number in range(20)]
        last = first[-1].message
        second = hear(reader, after=(last.published_at, last.pk))
        assert texts(second) == [str(number) for number in range(20, 25)]
        last = second[-1].message
        assert hear(reader, after=(last.published_at, last.pk)) == []
        say(sender, "later")
        assert texts(hear(reader, after=(last.published_at, last.pk))) == ["later"]

    def test_trust_is_told(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        say(sender)
        assert hear(reader)[0].weighed.trust == 0.3
        assert sender.agent_id is not None
        set_trust(actor=alice, agent_id=sender.agent_id, trust=0.9)
        assert hear(reader)[0].weighed.trust == 0.9


class TestContradictions:
    def weighed(self, reader: Actor) -> Any:
        return hear(reader)[-1].weighed

    def test_a_memory_that_says_otherwise_is_named(self, reader: Actor, sender: Actor) -> None:
        known = remember(actor=reader, draft=Draft(text="The deploy runs on Tuesday.")).memory_id
        say(sender, "The deploy runs on Monday.")
        weighed = self.weighed(reader)
        (found,) = weighed.contradictions
        assert (found.memory.pk, found.overlap > 0.5, weighed.repeats) == (known, True, None)
        assert (found.resolution, found.ground) == ("keep_existing", "trust")

    def test_a_repetition_is_none(self, reader: Actor, sender: Actor) -> None:
        known = remember(actor=reader, draft=Draft(text="The deploy runs on Monday.")).memory_id
        say(sender, "the deploy runs on monday")
        weighed = self.weighed(reader)
        assert (weighed.repeats.pk, weighed.contradictions) == (known, ())

    def test_a_detail_is_none(self, reader: Actor, sender: Actor) -> None:
        remember(actor=reader, draft=Draft(text="The deploy runs on Monday."))
        say(sender, "The deploy runs on Monday at noon.")
        weighed = self.weighed(reader)
        assert (weighed.repeats, weighed.contradictions) == (None, ())

    @pytest.mark.parametrize(
        "known", ["hello world foo", "Bob went home early.", "The port is open and the server is fast."]
    )
    def test_what_shares_half_of_the_words_or_less_is_none(self, reader: Actor, sender: Actor, known: str) -> None:
        remember(actor=reader, draft=Draft(text=known))
        say(sender, "hello world bar")
        assert self.weighed(reader).contradictions == ()

    def test_turns_claim_nothing(self, reader: Actor, sender: Actor) -> None:
        turn = TurnDraft(draft=Draft(text="The deploy runs on Tuesday.", role="user"))
        ingest_turns(actor=reader, session="s", turns=[turn])
        say(sender, "The deploy runs on Monday.")
        assert self.weighed(reader).contradictions == ()

    def test_the_five_nearest_are_compared(self, reader: Actor, sender: Actor) -> None:
        for day in ("Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Mondays"):
            remember(actor=reader, draft=Draft(text=f"The deploy runs on {day} in spring."))
        say(sender, "The deploy runs on Monday in spring.")
        assert len(self.weighed(reader).contradictions) <= 5

    def test_what_has_expired_says_nothing(self, reader: Actor, sender: Actor, standing: StandingClock) -> None:
        until = standing.moment.replace(hour=13)
        remember(actor=reader, draft=Draft(text="The deploy runs on Tuesday.", expires_at=until))
        say(sender, "The deploy runs on Monday.")
        assert len(self.weighed(reader).contradictions) == 1
        standing.forward(hours=2)
        assert self.weighed(reader).contradictions == ()

    @pytest.mark.parametrize(
        ("incoming", "existing", "message_is_newer", "resolution", "ground"),
        [
            (None, None, True, "keep_existing", "trust"),
            (0.3, 0.5, True, "keep_existing", "trust"),
            (0.31, 0.5, True, "accept_incoming", "time"),
            (0.5, None, True, "accept_incoming", "time"),
            (0.5, None, False, "keep_existing", "time"),
            (0.7, 0.5, False, "keep_existing", "time"),
            (0.71, 0.5, False, "accept_incoming", "trust"),
            (1.0, 0.0, False, "accept_incoming", "trust"),
            (0.0, 1.0, True, "keep_existing", "trust"),
        ],
    )
    def test_trust_decides_and_else_time(
        self,
        alice: Actor,
        sender: Actor,
        reader: Actor,
        standing: StandingClock,
        incoming: float | None,
        existing: float | None,
        message_is_newer: bool,
        resolution: str,
        ground: str,
    ) -> None:
        assert sender.agent_id is not None
        assert reader.agent_id is not None
        set_trust(actor=alice, agent_id=sender.agent_id, trust=incoming)
        set_trust(actor=alice, agent_id=reader.agent_id, trust=existing)

        def state() -> None:
            remember(actor=reader, draft=Draft(text="The deploy runs on Tuesday."))
            standing.forward(minutes=1)

        if message_is_newer:
            state()
        say(sender, "The deploy runs on Monday.")
        standing.forward(minutes=1)
        if not message_is_newer:
            state()
        (found,) = self.weighed(reader).contradictions
        assert (found.resolution, found.ground) == (resolution, ground)

    def test_an_agent_may_correct_itself(self, sender: Actor, reader: Actor, standing: StandingClock) -> None:
        remember(actor=sender, draft=Draft(text="The deploy runs on Tuesday."))
        standing.forward(minutes=1)
        say(sender, "The deploy runs on Monday.")
        (found,) = self.weighed(reader).contradictions
        assert (found.resolution, found.ground) == ("accept_incoming", "time")

    def test_what_does_not_open_keeps_nothing_from_being_read(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        remember(actor=reader, draft=Draft(text="The deploy runs on Tuesday."))
        broken = say(sender, "Broken.")
        say(sender, "The deploy runs on Monday.")
        assert len(self.weighed(reader).contradictions) == 1
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute("UPDATE memory_memory SET text = overlay(text PLACING 'AAAA' FROM 12)")
            cursor.execute(
                "UPDATE memory_busmessage SET text = overlay(text PLACING 'AAAA' FROM 12) WHERE id = %s", [broken.pk]
            )
        assert texts(hear(reader)) == ["The deploy runs on Monday."]
        assert self.weighed(reader).contradictions == ()

    def test_stating_it_again_makes_a_memory_newer(
        self, alice: Actor, sender: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        assert sender.agent_id is not None
        set_trust(actor=alice, agent_id=sender.agent_id, trust=0.5)
        draft = Draft(text="The deploy runs on Tuesday.")
        remember(actor=reader, draft=draft)
        standing.forward(minutes=1)
        say(sender, "The deploy runs on Monday.")
        assert self.weighed(reader).contradictions[0].resolution == "accept_incoming"
        standing.forward(minutes=1)
        remember(actor=reader, draft=draft)
        assert self.weighed(reader).contradictions[0].resolution == "keep_existing"

    def test_saying_that_it_happens_tomorrow_makes_no_memory_newer(
        self, alice: Actor, sender: Actor, reader: Actor, standing: StandingClock
    ) -> None:
        assert sender.agent_id is not None
        set_trust(actor=alice, agent_id=sender.agent_id, trust=0.5)
        remember(actor=reader, draft=Draft(text="The deploy runs on Tuesday.", occurred_at="2150-01-01"))
        standing.forward(minutes=1)
        say(sender, "The deploy runs on Monday.")
        assert self.weighed(reader).contradictions[0].resolution == "accept_incoming"

    @pytest.mark.parametrize(("trust", "resolution"), [(0.79, "person_decides"), (0.8, "accept_incoming")])
    @pytest.mark.parametrize("protected", ["stated by a person", "weighty"])
    def test_what_a_person_stated_or_weighs_much_is_not_overridden_unsurely(
        self, alice: Actor, sender: Actor, reader: Actor, standing: StandingClock, protected: str, trust: float,
        resolution: str,
    ) -> None:  # fmt: skip
        assert sender.agent_id is not None
        set_trust(actor=alice, agent_id=sender.agent_id, trust=trust)
        by = alice if protected == "stated by a person" else reader
        importance = 0.5 if by is alice else 0.8
        remember(actor=by, draft=Draft(text="The deploy runs on Tuesday.", importance=importance))
        standing.forward(minutes=1)
        say(sender, "The deploy runs on Monday.")
        assert self.weighed(reader).contradictions[0].resolution == resolution


def test_reading_changes_nothing_and_is_recorded(alice: Actor, sender: Actor, reader: Actor) -> None:
    remember(actor=reader, draft=Draft(text="The deploy runs on Tuesday."))
    say(sender, "The deploy runs on Monday.")
    assert texts(hear(reader)) == texts(hear(reader)) == texts(hear(alice))
    assert stored(alice) == 1
    # A person's reads are not recorded.
    assert audited(alice, "read") == [(reader.label, "messages", None, "")] * 2
