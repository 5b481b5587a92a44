"""An owner with rows of many kinds for archives."""

from __future__ import annotations

from uuid import UUID

from memory.models import Memory, owner_scope
from memory.services.actors import Actor
from memory.services.agent_files.writing import create_file, delete_file, rename_file, write_file
from memory.services.agents import create_group, set_membership
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.graph.writing import Reference
from memory.services.profiles import change_profile
from memory.services.remember import remember
from memory.services.settings import change_settings
from memory.services.skill_drafts import SkillDraft
from memory.services.skill_life import add_dependency
from memory.services.skills import create_skill
from memory.services.superseding import Successor, supersede_contradicted
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.keys.filled import filled


def world(alice: Actor, agent: Actor) -> dict[str, UUID]:
    """Fill an owner with changed, archived and superseded rows, turns, a graph, skills and choices; gives some ids."""
    ids = filled(alice, agent)
    ingest_turns(
        actor=agent,
        session="kitchen",
        turns=[
            TurnDraft(draft=Draft(text="Shall we cook?", role="user")),
            TurnDraft(draft=Draft(text="Yes, soup.", role="assistant"), reply_to=0),
            TurnDraft(draft=Draft(text="ok", role="user")),
            TurnDraft(draft=Draft(text="ok", role="user"), reply_to=1),
        ],
    )
    moon = create_group(actor=alice, kind="project", name="Moon")
    assert agent.agent_id is not None
    set_membership(actor=alice, group_id=moon.pk, agent_id=agent.agent_id, member=True)
    remember(actor=alice, draft=Draft(text="Only for the moon project."), scope=f"project:{moon.pk}")
    change_memory(actor=alice, memory_id=ids["shared"], changes={"importance": 0.9, "tags": ["town"]})
    remember(actor=agent, draft=Draft(text="Ann lives in Paris.", source="user:ann/chat"))
    old = remember(actor=alice, draft=Draft(text="Ann lives in Oslo.", kind="fact")).memory_id
    with owner_scope(alice.owner_id):
        rows = list(Memory.objects.select_for_update().filter(pk=old))
        supersede_contradicted(actor=alice, rows=rows, successors={old: Successor(ids["shared"], now())}, moment=now())
    merge_temporal_event(
        actor=alice,
        text="Ann came to town",
        occurred_at="2026-02-03",
        participants=[Reference(name="Ann"), Reference(name="Paris")],
        memory_id=ids["shared"],
    )
    add_causal_link(actor=alice, cause="a storm", effect="no power", cause_entity=Reference(name="Paris"))
    soup = create_skill(actor=alice, draft=SkillDraft(name="Make soup", steps=["Chop.", "Boil."]))
    fire = create_skill(actor=alice, draft=SkillDraft(name="Light the stove", steps=["Strike a match."]))
    add_dependency(actor=alice, skill_id=soup.skill.pk, needs_id=fire.skill.pk)
    soul = create_file(actor=alice, path="SOUL.md", content="I am kind.", scope=f"agent:{agent.agent_id}")
    write_file(actor=alice, file_id=soul.pk, content="I am kind and brief.", language_model="a-model")
    rename_file(actor=alice, file_id=soul.pk, path="self/SOUL.md")
    create_file(actor=alice, path="USER.md", content="Is called Ann.")
    delete_file(actor=alice, file_id=create_file(actor=alice, path="OLD.txt").pk)
    change_settings(actor=alice, changes={"recall_limit": 7})
    change_profile(actor=alice, name="default", changes={"limit": 9})
    return {**ids, "old": old, "moon": moon.pk}
