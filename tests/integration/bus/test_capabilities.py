"""Issuing tokens, what an agent may grant, and every way in which one does not count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.crypto.capabilities import PREFIX
from memory.errors import CapabilityRefused, InvalidInput, NotFound, PermissionRefused
from memory.models import Agent, owner_scope
from memory.services.actors import Actor, Permission, system
from memory.services.agents import pause_agent
from memory.services.bus.capabilities import Grant, end_capabilities, issue_capability, presented
from memory.services.bus.trusting import set_trust, trust_of
from memory.services.clock import now
from tests.integration.bus.conftest import NOON, Agents, StandingClock, audited, hear, person_of, say, stored, token_for


def show(actor: Actor, token: str | None) -> Any:
    """Present a token, as every use of the bus does."""
    with owner_scope(actor.owner_id):
        return presented(actor=actor, token=token, moment=now())


class TestIssuing:
    def test_what_is_left_out_is_the_usual(self, alice: Actor, sender: Actor, standing: StandingClock) -> None:
        assert sender.agent_id is not None
        issued = issue_capability(actor=alice, agent_id=sender.agent_id)
        assert issued.token.startswith(PREFIX)
        found = show(sender, issued.token)
        assert found == issued.capability
        assert (found.max_scope, found.max_importance, found.can_publish, found.publish_rate) == ("owner", 1, True, 50)
        assert (found.issued_at, found.expires_at) == (NOON, NOON + timedelta(hours=24))
        assert audited(alice, "token") == [("person", "agent", sender.agent_id, "issued")]

    def test_what_is_asked_is_granted(self, alice: Actor, sender: Actor, standing: StandingClock) -> None:
        end = NOON + timedelta(days=30)
        token = token_for(
            sender, max_scope="squad", max_importance=0.5, can_publish=False, publish_rate=7, expires_at=end
        )
        found = show(sender, token)
        assert (found.max_scope, found.max_importance, found.can_publish, found.publish_rate) == (
            "squad",
            0.5,
            False,
            7,
        )
        assert found.expires_at == end

    def test_no_two_tokens_are_alike(self, sender: Actor, standing: StandingClock) -> None:
        assert token_for(sender) != token_for(sender)

    @pytest.mark.parametrize(
        ("grant", "code"),
        [
            ({"max_scope": "world"}, "max_scope.invalid"),
            ({"max_importance": 1.01}, "max_importance.out_of_range"),
            ({"max_importance": float("nan")}, "max_importance.out_of_range"),
            ({"publish_rate": 0}, "publish_rate.out_of_range"),
            ({"publish_rate": 1001}, "publish_rate.out_of_range"),
            ({"expires_at": NOON}, "date.past"),
            ({"expires_at": NOON + timedelta(days=30, microseconds=1)}, "expires_at.out_of_range"),
            ({"expires_at": "soon"}, "date.invalid"),
        ],
        ids=["scope", "importance", "nan", "no rate", "rate", "past", "far", "word"],
    )
    def test_values_out_of_range(
        self, sender: Actor, standing: StandingClock, grant: dict[str, Any], code: str
    ) -> None:
        with pytest.raises(InvalidInput) as refused:
            token_for(sender, **grant)
        assert refused.value.machine_code == code
        assert audited(sender, "token") == []

    def test_an_unknown_agent(self, alice: Actor, mallory: Actor, sender: Actor) -> None:
        for owner, agent_id in ((alice, UUID(int=7)), (mallory, sender.agent_id)):
            with pytest.raises(NotFound):
                issue_capability(actor=owner, agent_id=agent_id)  # type: ignore[arg-type]

    def test_a_key_without_the_permission(self, agents: Agents, reader: Actor) -> None:
        plain = agents("plain", scopes=["memory:read", "memory:write"])
        assert reader.agent_id is not None
        with pytest.raises(PermissionRefused) as refused:
            issue_capability(actor=plain, agent_id=reader.agent_id, own=token_for(plain))
        assert refused.value.machine_code == "auth.forbidden"
        with pytest.raises(PermissionRefused):
            end_capabilities(actor=plain, agent_id=reader.agent_id)


class TestGrantingOn:
    """An agent whose key may manage agents grants nothing that it does not have."""

    def issue(self, issuer: Actor, own: str | None, to: Actor, **grant: Any) -> Any:
        assert to.agent_id is not None
        return issue_capability(actor=issuer, agent_id=to.agent_id, grant=Grant(**grant), own=own).capability

    def test_without_a_token_of_its_own_it_grants_nothing(self, sender: Actor, reader: Actor) -> None:
        with pytest.raises(PermissionRefused) as refused:
            self.issue(sender, None, reader)
        assert refused.value.machine_code == "capability.required"
        with pytest.raises(CapabilityRefused):
            self.issue(sender, token_for(reader), reader)

    def test_what_is_left_out_is_its_own_ceiling(self, sender: Actor, reader: Actor, standing: StandingClock) -> None:
        own = token_for(
            sender, max_scope="squad", max_importance=0.4, can_publish=False, publish_rate=3,
            expires_at=NOON + timedelta(hours=2),
        )  # fmt: skip
        found = self.issue(sender, own, reader)
        assert (found.max_scope, found.max_importance, found.can_publish, found.publish_rate) == (
            "squad",
            0.4,
            False,
            3,
        )
        assert found.expires_at == NOON + timedelta(hours=2)
        wide = self.issue(sender, token_for(sender, publish_rate=900, expires_at=NOON + timedelta(days=9)), reader)
        assert (wide.publish_rate, wide.expires_at) == (50, NOON + timedelta(hours=24))

    @pytest.mark.parametrize(
        ("grant", "field"),
        [
            ({"max_scope": "project"}, "max_scope"),
            ({"max_importance": 0.41}, "max_importance"),
            ({"can_publish": True}, "can_publish"),
            ({"publish_rate": 4}, "publish_rate"),
            ({"expires_at": NOON + timedelta(hours=3)}, "expires_at"),
        ],
        ids=["scope", "importance", "publishing", "rate", "end"],
    )
    def test_nothing_above_it(
        self, sender: Actor, reader: Actor, standing: StandingClock, grant: dict[str, Any], field: str
    ) -> None:
        own = token_for(
            sender, max_scope="squad", max_importance=0.4, can_publish=False, publish_rate=3,
            expires_at=NOON + timedelta(hours=2),
        )  # fmt: skip
        for to in (reader, sender):
            with pytest.raises(PermissionRefused) as refused:
                self.issue(sender, own, to, **grant)
            assert refused.value.machine_code == "capability.above_issuer"
            assert refused.value.details["field"] == field

    def test_no_token_outlives_the_key_that_issued_it(
        self, agents: Agents, reader: Actor, standing: StandingClock
    ) -> None:
        end = NOON + timedelta(hours=1)
        brief = agents("brief", expires_at=end)
        own = token_for(brief)
        assert self.issue(brief, own, reader).expires_at == end
        with pytest.raises(PermissionRefused) as refused:
            self.issue(brief, own, reader, expires_at=end + timedelta(seconds=1))
        assert refused.value.machine_code == "capability.above_issuer"


class TestRefusals:
    """Whatever is wrong with a token, the answer is the same."""

    def refused(self, actor: Actor, token: str | None) -> None:
        with pytest.raises(CapabilityRefused) as error:
            show(actor, token)
        assert error.value.machine_code == "capability.refused"
        assert error.value.details == {}
        with pytest.raises(CapabilityRefused):
            say(actor, token=token)
        with pytest.raises(CapabilityRefused):
            hear(actor, token=token)

    def test_another_agents(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        self.refused(reader, token_for(sender))
        assert stored(alice) == 0

    def test_another_owners(
        self, alice: Actor, mallory: Actor, sender: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        spy, _ = make_agent(mallory, "spy", scopes=list(Permission))
        self.refused(sender, token_for(spy))
        self.refused(spy, token_for(sender))
        # Not even an actor that claims the other's agent under its own owner gets in.
        self.refused(replace(spy, agent_id=sender.agent_id), token_for(sender))
        assert (stored(alice), stored(mallory)) == (0, 0)

    def test_expired_to_the_moment(self, sender: Actor, standing: StandingClock) -> None:
        token = token_for(sender, expires_at=NOON + timedelta(hours=1))
        standing.forward(minutes=59, seconds=59)
        assert show(sender, token)
        standing.forward(seconds=1)
        self.refused(sender, token)

    def test_ended(self, alice: Actor, sender: Actor, reader: Actor) -> None:
        assert sender.agent_id is not None
        first, second, others = token_for(sender), token_for(sender), token_for(reader)
        end_capabilities(actor=alice, agent_id=sender.agent_id)
        self.refused(sender, first)
        self.refused(sender, second)
        assert show(reader, others)
        assert show(sender, token_for(sender))
        assert audited(alice, "token")[3] == ("person", "agent", sender.agent_id, "ended")

    def test_ending_those_of_nobody(self, alice: Actor, mallory: Actor, sender: Actor) -> None:
        for owner, agent_id in ((alice, UUID(int=7)), (mallory, sender.agent_id)):
            with pytest.raises(NotFound):
                end_capabilities(actor=owner, agent_id=agent_id)  # type: ignore[arg-type]
        assert show(sender, token_for(sender))

    def test_a_paused_agent(self, alice: Actor, sender: Actor) -> None:
        assert sender.agent_id is not None
        token = token_for(sender)
        pause_agent(actor=alice, agent_id=sender.agent_id, paused=True)
        self.refused(sender, token)

    def test_a_deleted_agent(self, alice: Actor, sender: Actor) -> None:
        token = token_for(sender)
        with owner_scope(alice.owner_id):
            Agent.objects.filter(pk=sender.agent_id).delete()
        self.refused(sender, token)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(place=st.integers(0, 300), sign=st.sampled_from("AZaz09-_="), cut=st.booleans())
    def test_forged_or_cut(self, sender: Actor, place: int, sign: str, cut: bool) -> None:
        token = token_for(sender)
        place %= len(token)
        forged = token[:place] if cut else token[:place] + sign + token[place + 1 :]
        if forged != token:
            with pytest.raises(CapabilityRefused):
                show(sender, forged)

    def test_none_at_all(self, sender: Actor) -> None:
        with pytest.raises(PermissionRefused) as refused:
            show(sender, None)
        assert refused.value.machine_code == "capability.required"

    @pytest.mark.parametrize("kind", ["person", "system"])
    def test_only_agents_speak(self, alice: Actor, sender: Actor, kind: str) -> None:
        speaker = person_of(alice) if kind == "person" else system(alice.owner_id)
        with pytest.raises(PermissionRefused) as refused:
            say(speaker, token=token_for(sender))
        assert refused.value.machine_code == "bus.agents_only"


class TestTrust:
    def test_it_is_a_persons_word(self, alice: Actor, sender: Actor) -> None:
        assert sender.agent_id is not None
        assert set_trust(actor=alice, agent_id=sender.agent_id, trust=1).trust == 1.0
        with owner_scope(alice.owner_id):
            assert trust_of([sender.agent_id], unset=0.3) == {sender.agent_id: 1.0}
        set_trust(actor=alice, agent_id=sender.agent_id, trust=None)
        with owner_scope(alice.owner_id):
            assert trust_of([sender.agent_id], unset=0.3) == {sender.agent_id: 0.3}
            assert trust_of([], unset=0.3) == {}
        assert audited(alice, "trust") == [("person", "agent", sender.agent_id, "")] * 2

    def test_no_agent_says_so_of_itself_or_another(self, sender: Actor, reader: Actor) -> None:
        for one in (sender, reader):
            assert one.agent_id is not None
            with pytest.raises(PermissionRefused) as refused:
                set_trust(actor=sender, agent_id=one.agent_id, trust=1)
            assert refused.value.machine_code == "auth.person_only"

    @pytest.mark.parametrize("trust", [-0.01, 1.01, float("nan"), float("inf"), True, "1", [1]], ids=str)
    def test_values_out_of_range(self, alice: Actor, sender: Actor, trust: Any) -> None:
        assert sender.agent_id is not None
        with pytest.raises(InvalidInput):
            set_trust(actor=alice, agent_id=sender.agent_id, trust=trust)

    def test_another_owners_agent(self, mallory: Actor, sender: Actor) -> None:
        assert sender.agent_id is not None
        with pytest.raises(NotFound):
            set_trust(actor=mallory, agent_id=sender.agent_id, trust=0)
