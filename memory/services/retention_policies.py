"""The retention policies as an owner sees them, and the one that holds for him."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from memory.consolidation.policies import LEAST_ENTITY, LEAST_RELATION, POLICIES, RetentionPolicy, policy_named
from memory.models import owner_scope
from memory.services.actors import Actor, Permission
from memory.services.agent_settings import chosen_by_agents, settings_for
from memory.services.clock import now
from memory.services.consolidation.forgetting import Share, count_fading
from memory.services.features import require_memory
from memory.services.settings import current_settings

MOST_COUNTED: Final = 1_000


def list_policies(*, actor: Actor) -> dict[str, Any]:
    """Describe all retention policies with their numbers, and name the one that the owner has chosen."""
    require_memory()
    actor.require(Permission.READ)
    return {"current": policy_of(actor).name, "items": [_described(policy) for policy in POLICIES.values()]}


def policy_of(actor: Actor) -> RetentionPolicy:
    """Give the retention policy that the actor's owner has chosen."""
    with owner_scope(actor.owner_id):
        return policy_named(current_settings()["values"]["retention_policy"])


def policy_for(actor: Actor) -> RetentionPolicy:
    """Give the retention policy by which what somebody states is stored: an agent's own, else the owner's."""
    with owner_scope(actor.owner_id):
        return policy_named(settings_for(actor)["retention_policy"])


def count_outcomes(*, actor: Actor) -> dict[str, int]:
    """Count by policy what each would archive today of the memories on which the owner's policy acts.

    Memories of agents for which a policy was chosen are not among them. Counting ends at a thousand and one.
    """
    require_memory()
    actor.require(Permission.READ)
    actor.require(Permission.SETTINGS)
    moment = now()
    with owner_scope(actor.owner_id):
        settings = current_settings()["values"]
        others = tuple(sorted(chosen_by_agents("retention_policy")))
        return {
            name: count_fading(
                owner_id=actor.owner_id,
                settings=settings,
                share=Share(policy, others=others),
                moment=moment,
                most=MOST_COUNTED + 1,
            )
            for name, policy in POLICIES.items()
        }


def _described(policy: RetentionPolicy) -> dict[str, Any]:
    graph = None
    if policy.graph:
        graph = {
            "half_life_days": policy.graph_half_life_days,
            "least_relation": LEAST_RELATION,
            "least_entity": LEAST_ENTITY,
        }
    return {
        "name": policy.name,
        "meaning": policy.meaning,
        "half_life_days": policy.half_life_days,
        "tiers": {str(tier): asdict(fading) for tier, fading in policy.tiers.items()},
        "graph": graph,
        "clip_characters": policy.clip_characters,
    }
