"""Forgetting where another policy was chosen for one agent, and what each policy would archive today."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor
from memory.services.agent_settings import change_agent_settings
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.retention_policies import count_outcomes
from memory.services.settings import change_settings
from tests.integration.consolidation.stage import Stopped
from tests.integration.consolidation.test_forgetting import forgetting

Make = Callable[..., tuple[Actor, str]]


def episode(actor: Actor, text: str) -> None:
    stored = remember(actor=actor, draft=Draft(text=text, tier="episodic", importance=0.1))
    with owner_scope(actor.owner_id):
        # What waits to be drawn from does not fade.
        row = Memory.objects.get(pk=stored.memory_id)
        Memory.objects.filter(pk=row.pk).update(extracted_at=row.created_at)


def choose(owner: Actor, agent: Actor, policy: str) -> None:
    assert agent.agent_id is not None
    change_agent_settings(actor=owner, agent_id=agent.agent_id, changes={"retention_policy": policy})


def statuses(owner: Actor) -> dict[Any, str]:
    with owner_scope(owner.owner_id):
        return {row.text: row.status for row in Memory.objects.all()}


def test_each_agents_memories_fade_by_its_own_policy(alice: Actor, make_agent: Make, time: Stopped) -> None:
    keeper, _ = make_agent(alice, "keeper")
    other, _ = make_agent(alice, "other")
    choose(alice, keeper, "keep")
    for actor, text in ((keeper, "It rained."), (other, "It snowed."), (alice, "It froze.")):
        episode(actor, text)
    report = forgetting(alice, time.pass_(days=400), retention_policy="prax")[1]["decay"]
    assert report.counts["archived"] == 2
    assert statuses(alice) == {
        "It rained.": Status.LIVE, "It snowed.": Status.ARCHIVED, "It froze.": Status.ARCHIVED,
    }  # fmt: skip


def test_an_agent_forgets_where_the_owner_keeps_everything(alice: Actor, make_agent: Make, time: Stopped) -> None:
    agent, _ = make_agent(alice)
    choose(alice, agent, "prax")
    episode(agent, "It rained.")
    episode(alice, "It snowed.")
    forgetting(alice, time.pass_(days=400), retention_policy="keep")
    assert statuses(alice) == {"It rained.": Status.ARCHIVED, "It snowed.": Status.LIVE}


def test_what_each_policy_would_archive_is_counted_and_nothing_is_archived(
    alice: Actor, mallory: Actor, make_agent: Make, time: Stopped
) -> None:
    agent, _ = make_agent(alice)
    choose(alice, agent, "keep")
    episode(alice, "It rained.")
    episode(agent, "It snowed.")
    episode(mallory, "It froze.")
    assert set(count_outcomes(actor=alice).values()) == {0}
    time.pass_(days=400)
    counts = count_outcomes(actor=alice)
    assert (counts["prax"], counts["keep"]) == (1, 0)
    assert set(statuses(alice).values()) == {Status.LIVE}
    change_settings(actor=alice, changes={"retention_policy": "keep"})
    assert count_outcomes(actor=alice) == counts
