"""Skills by service: written, found, moved through their life, used, needed, merged, deleted and brought back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from memory.errors import Conflict, InvalidInput, InvalidScope, NotFound, PermissionRefused, TooLarge
from memory.models import Memory, MemoryVersion, Skill, SkillDependency, SkillOrigin, Status, owner_scope
from memory.services import clock
from memory.services.actors import Actor, Permission
from memory.services.memories import get_memory
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.retirement import archive_memory, erase_due
from memory.services.skill_drafts import SkillDraft
from memory.services.skill_life import (
    add_dependency,
    archive_skill,
    delete_skill,
    demote_skill,
    dependencies_of,
    deprecate_skill,
    promote_skill,
    record_use,
    remove_dependency,
    restore_skill,
)
from memory.services.skills import (
    Standing,
    change_skill,
    create_skill,
    get_skill,
    list_skills,
    search_skills,
    skill_stats,
)
from tests.integration.consolidation.stage import Stopped

STEPS = ["Build the site.", "Copy it to the server.", "Restart the server."]
MakeAgent = Callable[..., tuple[Actor, str]]


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Stopped:
    stopped = Stopped()
    monkeypatch.setattr(clock, "_clock", stopped)
    return stopped


def skill(actor: Actor, name: str = "Deploy the site", steps: Any = None, **options: Any) -> Standing:
    passed = {key: options.pop(key) for key in ("scope", "origin") if key in options}
    return create_skill(actor=actor, draft=SkillDraft(name=name, steps=steps or STEPS, **options), **passed)


def names(found: list[Standing]) -> list[str]:
    return [one.skill.name for one in found]


def test_a_person_s_skill_is_released_and_an_agent_s_a_candidate(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    own = skill(alice, description="When the site changed.", risk=0.2)
    assert (own.state, own.skill.trust, own.skill.origin, own.reliable) == ("released", 3, "human", True)
    assert own.health == pytest.approx(0.35 * 0.5 + 0.25 + 0.2 + 0.2 * 0.8)
    assert [own.skill.utility, own.skill.redundancy, own.freshness, own.skill.risk] == [0.5, 0, 1, 0.2]
    theirs = skill(agent, "Water the garden", ["Open the tap."])
    assert (theirs.state, theirs.skill.trust, theirs.skill.origin, theirs.reliable) == ("candidate", 1, "llm", False)
    builtin = skill(alice, "Greet the guests", ["Smile."], origin=SkillOrigin.BUILTIN)
    assert (builtin.state, builtin.skill.trust) == ("released", 4)


def test_recall_finds_the_text(alice: Actor) -> None:
    made = skill(alice, description="When the site changed.")
    memory = get_memory(actor=alice, memory_id=made.skill.memory_id)
    assert (memory.tier, memory.kind, memory.category) == ("procedural", "skill", "skill")
    assert memory.text == (
        "How to: Deploy the site\nWhen the site changed.\n1. Build the site.\n2. Copy it to the server.\n"
        "3. Restart the server."
    )
    hits = recall(actor=alice, request=RecallRequest(query="How do I deploy the site?", limit=3)).hits
    assert [hit.memory.pk for hit in hits] == [memory.pk]
    assert memory.extracted_at is not None


@pytest.mark.parametrize(
    ("fields", "error", "code"),
    [
        ({"name": "tmp_x_y"}, InvalidInput, "name.invalid"),
        ({"name": "Skill"}, InvalidInput, "name.invalid"),
        ({"name": 7}, InvalidInput, "field.type"),
        ({"steps": "Build."}, InvalidInput, "steps.invalid"),
        ({"steps": ["x"] * 51}, InvalidInput, "steps.invalid"),
        ({"steps": ["x", " "]}, InvalidInput, "text.empty"),
        ({"steps": ["x" * 501]}, TooLarge, "steps.too_long"),
        ({"description": "x" * 2_001}, TooLarge, "description.too_long"),
        ({"risk": 1.5}, InvalidInput, "risk.out_of_range"),
        ({"risk": True}, InvalidInput, "risk.out_of_range"),
    ],
)
def test_bad_skills_are_refused(alice: Actor, fields: dict[str, Any], error: type[Exception], code: str) -> None:
    with pytest.raises(error) as caught:
        create_skill(actor=alice, draft=SkillDraft(**{"name": "Deploy the site", "steps": STEPS, **fields}))
    assert caught.value.machine_code == code  # type: ignore[attr-defined]
    assert list_skills(actor=alice) == []


def test_a_name_stands_once_in_a_scope(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    first = skill(alice)
    with pytest.raises(Conflict) as caught:
        skill(alice, "DEPLOY  the site", ["Other."])
    assert caught.value.machine_code == "skill.taken"
    skill(agent, scope="agent")
    skill(mallory)
    archive_skill(actor=alice, skill_id=first.skill.pk)
    second = skill(alice, steps=["Push a button."])
    with pytest.raises(Conflict) as caught:
        restore_skill(actor=alice, skill_id=first.skill.pk)
    assert caught.value.machine_code == "skill.taken"
    assert names(list_skills(actor=alice, scope="owner")) == ["Deploy the site"]
    assert list_skills(actor=alice, scope="owner")[0].skill.pk == second.skill.pk


def test_walls(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice, "assistant")
    colleague, _ = make_agent(alice, "colleague")
    private = skill(agent, "Keep a diary", ["Write."], scope="agent")
    assert private.skill.sealing_agent_id == agent.agent_id
    assert names(list_skills(actor=agent)) == names(list_skills(actor=alice)) == ["Keep a diary"]
    for other in (colleague, mallory):
        assert list_skills(actor=other) == []
        assert search_skills(actor=other, query="diary") == []
        assert skill_stats(actor=other)["total"] == 0
        for call in (get_skill, promote_skill, archive_skill, delete_skill, dependencies_of):
            with pytest.raises(NotFound):
                call(actor=other, skill_id=private.skill.pk)
        with pytest.raises(NotFound):
            record_use(actor=other, skill_id=private.skill.pk, success=True)


def test_the_way_up_and_down(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    made = skill(agent).skill.pk
    seen = [(one.state, one.skill.trust) for one in (promote_skill(actor=alice, skill_id=made) for _ in range(2))]
    assert seen == [("verified", 2), ("released", 3)]
    with pytest.raises(Conflict) as caught:
        promote_skill(actor=alice, skill_id=made)
    assert caught.value.machine_code == "skill.state"
    assert demote_skill(actor=alice, skill_id=made).state == "degraded"
    assert promote_skill(actor=alice, skill_id=made).state == "verified"
    assert demote_skill(actor=alice, skill_id=made).state == "degraded"
    assert demote_skill(actor=alice, skill_id=made).state == "deprecated"
    with pytest.raises(Conflict):
        demote_skill(actor=alice, skill_id=made)
    assert deprecate_skill(actor=alice, skill_id=made).state == "deprecated"
    assert promote_skill(actor=alice, skill_id=made).state == "degraded"
    archived = archive_skill(actor=alice, skill_id=made)
    assert (archived.state, archived.skill.trust) == ("archived", 0)
    assert get_memory(actor=alice, memory_id=archived.skill.memory_id).status == Status.ARCHIVED
    with pytest.raises(Conflict):
        deprecate_skill(actor=alice, skill_id=made)
    with pytest.raises(Conflict):
        record_use(actor=alice, skill_id=made, success=True)
    back = promote_skill(actor=alice, skill_id=made)
    assert (back.state, back.skill.trust) == ("degraded", 1)
    assert get_memory(actor=alice, memory_id=archived.skill.memory_id).status == Status.LIVE


def test_uses_and_time(alice: Actor, time: Stopped) -> None:
    made = skill(alice).skill.pk
    time.pass_(days=15)
    assert get_skill(actor=alice, skill_id=made).freshness == pytest.approx(0.5)
    record_use(actor=alice, skill_id=made, success=True)
    found = record_use(actor=alice, skill_id=made, success=False)
    assert (found.skill.uses, found.skill.success_rate) == (2, 0.5)
    assert found.skill.utility == pytest.approx(0.55)
    assert found.freshness == pytest.approx(0.9)
    time.pass_(days=10)
    assert get_skill(actor=alice, skill_id=made).freshness == pytest.approx(0.6)
    with pytest.raises(InvalidInput):
        record_use(actor=alice, skill_id=made, success="yes")  # type: ignore[arg-type]


def test_a_change_raises_the_version_only_when_it_is_one(alice: Actor) -> None:
    made = skill(alice).skill
    assert change_skill(actor=alice, skill_id=made.pk, changes={"steps": STEPS, "name": made.name}).skill.version == 1
    changed = change_skill(
        actor=alice, skill_id=made.pk, changes={"steps": ["Push."], "description": "Rarely."}, version=1
    )
    assert (changed.skill.version, changed.skill.steps, changed.description) == (2, ["Push."], "Rarely.")
    memory = get_memory(actor=alice, memory_id=made.memory_id)
    assert memory.text == "How to: Deploy the site\nRarely.\n1. Push."
    with owner_scope(alice.owner_id):
        assert [row.text.splitlines()[1] for row in MemoryVersion.objects.all()] == ["1. Build the site."]
    with pytest.raises(Conflict) as caught:
        change_skill(actor=alice, skill_id=made.pk, changes={"name": "Ship the site"}, version=1)
    assert caught.value.machine_code == "skill.version"
    skill(alice, "Water the garden", ["Open the tap."])
    with pytest.raises(Conflict) as caught:
        change_skill(actor=alice, skill_id=made.pk, changes={"name": "water the garden"})
    assert caught.value.machine_code == "skill.taken"
    with pytest.raises(InvalidInput):
        change_skill(actor=alice, skill_id=made.pk, changes={"state": "released"})
    assert change_skill(actor=alice, skill_id=made.pk, changes={"name": "Ship the site"}).skill.version == 3


def test_search_and_filters(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    skill(alice)
    skill(alice, "Water the garden", ["Open the tap.", "Wait for the site manager."])
    verified = skill(agent, "Bake sourdough bread", ["Knead.", "Bake."]).skill.pk
    weak = skill(agent, "Bake rye bread", ["Stir.", "Rest."]).skill.pk
    deprecated = skill(alice, "Fax the invoice", ["Dial."]).skill.pk
    promote_skill(actor=alice, skill_id=verified)
    record_use(actor=alice, skill_id=verified, success=True)
    record_use(actor=alice, skill_id=verified, success=False)
    record_use(actor=alice, skill_id=weak, success=False)
    deprecate_skill(actor=alice, skill_id=deprecated)
    assert names(search_skills(actor=alice, query="deploy the site")) == ["Deploy the site", "Water the garden"]
    assert names(search_skills(actor=alice, query="baking bread", only_reliable=True)) == ["Bake sourdough bread"]
    assert search_skills(actor=alice, query="xyzzy") == []
    kept = {"Deploy the site", "Water the garden", "Bake sourdough bread"}
    assert set(names(list_skills(actor=alice, only_reliable=True))) == kept
    assert {one.skill.name for one in list_skills(actor=alice) if one.reliable} == kept
    assert names(list_skills(actor=alice, states=["deprecated"])) == ["Fax the invoice"]
    assert names(list_skills(actor=alice, states=["candidate", "verified"])) == [
        "Bake rye bread",
        "Bake sourdough bread",
    ]
    stats = skill_stats(actor=alice)
    keys = ("total", "released", "verified", "candidate", "deprecated", "by_human", "by_llm")
    assert [stats[key] for key in keys] == [5, 2, 1, 1, 1, 3, 2]
    assert (stats["uses"], stats["reliable"]) == (3, 3)
    assert all(isinstance(value, int | float) for value in stats.values())
    page = list_skills(actor=alice, size=2)
    last = page[-1].skill
    assert len(list_skills(actor=alice, after=(last.updated_at, last.pk))) == 3


def test_dependencies(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    deploy, build, test = (
        skill(alice, name, [name]).skill.pk for name in ("Deploy the site", "Build the site", "Check the site")
    )
    assert add_dependency(actor=alice, skill_id=deploy, needs_id=build)
    assert not add_dependency(actor=alice, skill_id=deploy, needs_id=build)
    assert add_dependency(actor=alice, skill_id=build, needs_id=test)
    for one, other, code in ((test, deploy, "skill.cycle"), (deploy, deploy, "skill.self")):
        with pytest.raises(InvalidInput) as caught:
            add_dependency(actor=alice, skill_id=one, needs_id=other)
        assert caught.value.machine_code == code
    private = skill(agent, "Keep a diary", ["Write."], scope="agent").skill.pk
    with pytest.raises(InvalidScope):
        add_dependency(actor=agent, skill_id=deploy, needs_id=private)
    assert add_dependency(actor=agent, skill_id=private, needs_id=deploy)
    found = dependencies_of(actor=alice, skill_id=build)
    assert (names(list(found.needs)), names(list(found.needed_by))) == (["Check the site"], ["Deploy the site"])
    with pytest.raises(Conflict) as refused:
        delete_skill(actor=alice, skill_id=build)
    assert refused.value.machine_code == "skill.needed"
    assert refused.value.details["skills"] == [str(deploy)]
    remove_dependency(actor=alice, skill_id=deploy, needs_id=build)
    delete_skill(actor=alice, skill_id=build)


def test_delete_and_undo(alice: Actor, make_agent: MakeAgent, time: Stopped) -> None:
    agent, _ = make_agent(alice)
    made = skill(alice).skill
    deleted = delete_skill(actor=agent, skill_id=made.pk)
    assert deleted.status == Status.ARCHIVED
    assert list_skills(actor=alice) == []
    assert names(list_skills(actor=alice, states=["archived"])) == ["Deploy the site"]
    assert restore_skill(actor=alice, skill_id=made.pk).state == "degraded"
    deleted = delete_skill(actor=alice, skill_id=made.pk)
    assert deleted.status == Status.ERASING
    assert list_skills(actor=alice) == list_skills(actor=alice, states=["archived"]) == []
    with pytest.raises(NotFound):
        get_skill(actor=agent, skill_id=made.pk)
    assert restore_skill(actor=alice, skill_id=made.pk).state == "degraded"
    delete_skill(actor=alice, skill_id=made.pk)
    erase_due(owner_id=alice.owner_id, at=time.pass_(minutes=1))
    with owner_scope(alice.owner_id):
        assert not Skill.objects.exists()
        assert not Memory.objects.exists()


def test_what_archived_skills_need_can_be_erased(alice: Actor, time: Stopped) -> None:
    deploy, build = (skill(alice, name, [name]).skill.pk for name in ("Deploy the site", "Build the site"))
    add_dependency(actor=alice, skill_id=deploy, needs_id=build)
    archive_skill(actor=alice, skill_id=deploy)
    delete_skill(actor=alice, skill_id=build)
    assert erase_due(owner_id=alice.owner_id, at=time.pass_(minutes=1))[0] == 1
    with owner_scope(alice.owner_id):
        assert not SkillDependency.objects.exists()


def test_a_skill_whose_memory_is_archived_counts_as_archived(alice: Actor) -> None:
    made = skill(alice).skill
    archive_memory(actor=alice, memory_id=made.memory_id)
    assert (get_skill(actor=alice, skill_id=made.pk).state, list_skills(actor=alice)) == ("archived", [])
    assert restore_skill(actor=alice, skill_id=made.pk).state == "released"


def test_permissions(alice: Actor, make_agent: MakeAgent) -> None:
    made: UUID = skill(alice).skill.pk
    reader, _ = make_agent(alice, "reader", scopes=[Permission.READ])
    assert names(list_skills(actor=reader)) == ["Deploy the site"]
    for call in (promote_skill, demote_skill, deprecate_skill, archive_skill, restore_skill, delete_skill):
        with pytest.raises(PermissionRefused):
            call(actor=reader, skill_id=made)
    writer, _ = make_agent(alice, "writer", scopes=[Permission.WRITE])
    with pytest.raises(PermissionRefused):
        get_skill(actor=writer, skill_id=made)
    assert record_use(actor=writer, skill_id=made, success=True).skill.uses == 1


def test_redundancy_is_the_likeness_to_another(alice: Actor, time: Stopped) -> None:
    skill(alice)
    time.at += timedelta(seconds=1)
    again = skill(alice, "Deploy a site again", STEPS)
    assert 0.6 < again.skill.redundancy < 1
    assert again.health < skill(alice, "Water the garden", ["Open the tap."]).health
