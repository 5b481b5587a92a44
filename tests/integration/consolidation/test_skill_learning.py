"""Learning skills from sessions: once, when tools were used often enough, by rules or by the model, per scope."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from memory.models import EdgeKind, Memory, Session, Skill, SkillDependency, Status, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.skill_learning import learn_skills, tool_calls
from memory.services.drafts import Draft
from memory.services.sessions import close_session
from memory.services.skill_drafts import SkillDraft
from memory.services.skill_life import add_dependency, archive_skill, record_use
from memory.services.skills import Standing, create_skill, list_skills, search_skills
from tests.integration.consolidation.stage import (
    MONDAY,
    Stopped,
    edges_from,
    edges_to,
    everything,
    made,
    run,
    say,
    sources_of,
)
from tests.unit.consolidation.chat import chatting

LATER = MONDAY + timedelta(hours=2)
ASKED = ("user", "Find the opening hours of the harbour and write them down.")


def call(tool: str, text: str = "ok", *, role: str = "tool", call_id: str | None = None) -> Draft:
    return Draft(text=text, role=role, tool_name=tool, call_id=call_id, occurred_at=MONDAY)


def work(actor: Actor, session: str, *tools: str, **options: Any) -> None:
    say(actor, session, ASKED, *(call(tool) for tool in tools), at=MONDAY, **options)


def skills(owner: Actor) -> list[Standing]:
    return list_skills(actor=owner)


def test_too_few_calls_teach_nothing(alice: Actor, time: Stopped) -> None:
    work(alice, "one", "search")
    work(alice, "same", "search", "search", "search", "search")
    assert run(learn_skills, alice, LATER).counts == {"sessions": 2, "too_few_calls": 2}
    assert skills(alice) == []


def test_tools_that_repeat_become_a_candidate(alice: Actor, time: Stopped) -> None:
    work(alice, "work", "search", "fetch", "search", "fetch")
    report = run(learn_skills, alice, LATER)
    assert (report.counts, report.notes) == ({"sessions": 1, "learned": 1}, ["way:rules"])
    (found,) = skills(alice)
    assert (found.skill.name, found.skill.steps) == ("Use search, then fetch", ["Call search.", "Call fetch."])
    assert found.description == f"For requests such as “{ASKED[1]}”"
    assert (found.state, found.skill.origin, found.skill.trust) == ("candidate", "rules", 1)
    (memory,) = made(alice, kind="skill")
    assert (memory.source, memory.tags, memory.tier) == ("consolidation/skills", ["learned"], "procedural")
    assert len(sources_of(alice, memory)) == 4
    assert edges_from(alice, memory.pk, EdgeKind.DERIVED_FROM) == sources_of(alice, memory)
    assert [one.skill.pk for one in search_skills(actor=alice, query="opening hours")] == [found.skill.pk]


def test_a_session_is_looked_at_once_and_when_it_has_ended(alice: Actor, time: Stopped) -> None:
    work(alice, "work", "search", "fetch", "search", "fetch")
    assert run(learn_skills, alice, MONDAY + timedelta(minutes=10)).counts == {}
    with owner_scope(alice.owner_id):
        session = Session.objects.get()
    close_session(actor=alice, session_id=session.pk)
    run(learn_skills, alice, MONDAY + timedelta(minutes=11))
    before = everything(alice)
    assert run(learn_skills, alice, LATER).counts == {}
    with owner_scope(alice.owner_id):
        assert Session.objects.get().learned_until == 5
        # As if the run had died after the skill and before its mark.
        Session.objects.update(learned_until=0)
    assert run(learn_skills, alice, LATER).counts == {"sessions": 1, "known": 1}
    assert everything(alice) == before
    assert len(skills(alice)) == 1


def test_what_repeats_over_sessions_is_learned(alice: Actor, time: Stopped) -> None:
    work(alice, "first", "list", "read", "write", "check")
    assert run(learn_skills, alice, LATER).counts == {"sessions": 1, "nothing_to_learn": 1}
    work(alice, "second", "list", "read", "write", "check")
    run(learn_skills, alice, LATER)
    assert [one.skill.steps for one in skills(alice)] == [["Call list.", "Call read.", "Call write.", "Call check."]]


def test_failures_are_no_lesson(alice: Actor, time: Stopped) -> None:
    failing = [call("search"), call("fetch", "Error: 404"), call("search"), call("fetch", '{"error": "gone"}')]
    say(alice, "work", ASKED, *failing, at=MONDAY)
    assert run(learn_skills, alice, LATER).counts == {"sessions": 1, "nothing_to_learn": 1}


def test_a_call_and_its_result_are_one(alice: Actor, time: Stopped) -> None:
    say(
        alice, "work",
        call("search", "searching", role="assistant", call_id="1"), call("search", "found", call_id="1"),
        call("fetch", "fetching", role="assistant"), call("fetch", "Traceback: boom"),
        call("fetch", "again"), ("user", "thanks"), call("fetch", "ok"),
        at=MONDAY,
    )  # fmt: skip
    with owner_scope(alice.owner_id):
        found = tool_calls(list(Memory.objects.order_by("position")))
    assert [(one.call.tool, one.call.success) for one in found] == [
        ("search", True), ("fetch", False), ("fetch", True), ("fetch", True),
    ]  # fmt: skip


def test_scopes_and_owners_stay_apart(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]], time: Stopped
) -> None:
    diarist, _ = make_agent(alice, "diarist")
    colleague, _ = make_agent(alice, "colleague")
    work(diarist, "private", "list", "read", "write", "check", scope="agent")
    work(diarist, "public", "list", "read", "write", "check", scope="owner")
    work(mallory, "theirs", "list", "read", "write", "check")
    run(learn_skills, alice, LATER)
    assert skills(alice) == []
    work(diarist, "private again", "list", "read", "write", "check", scope="agent")
    run(learn_skills, alice, LATER)
    (found,) = skills(diarist)
    assert (found.skill.scope, found.skill.sealing_agent_id) == (diarist.agent_id, diarist.agent_id)
    assert skills(colleague) == skills(mallory) == []


def test_a_model_teaches_or_skips(alice: Actor, time: Stopped) -> None:
    work(alice, "work", "search", "fetch", "write", "write")
    answer = {
        "name": "Write down opening hours",
        "description": "For harbours.",
        "steps": ["Search.", "Fetch.", "Write."],
    }
    with chatting([answer]) as chat:
        report = run(learn_skills, alice, LATER, model=chat.model)
        assert [part["tool"] for part in chat.parts()] == ["", "search", "fetch", "write", "write"]
    assert (report.counts, report.notes) == ({"sessions": 1, "learned": 1}, ["way:llm"])
    (found,) = skills(alice)
    assert (found.skill.name, found.skill.origin, found.description) == (
        "Write down opening hours",
        "llm",
        "For harbours.",
    )
    work(alice, "more", "search", "fetch", "search", "fetch")
    with chatting([{"skip": True}]) as chat:
        report = run(learn_skills, alice, LATER, model=chat.model)
    assert report.counts == {"sessions": 1, "nothing_to_learn": 1}
    work(alice, "trial", "search", "fetch", "search", "fetch")
    with chatting([{"name": "test_it", "steps": ["x"]}]) as chat:
        report = run(learn_skills, alice, LATER, model=chat.model)
        assert len(chat.asked) == 2
    assert report.notes == ["llm.unusable", "way:rules"]
    assert report.counts == {"sessions": 1, "llm_failures": 2 - 1, "learned": 1}
    assert {one.skill.name for one in skills(alice)} == {"Write down opening hours", "Use search, then fetch"}


def test_what_was_archived_is_not_learned_again(alice: Actor, time: Stopped) -> None:
    work(alice, "work", "search", "fetch", "search", "fetch")
    run(learn_skills, alice, LATER)
    archive_skill(actor=alice, skill_id=skills(alice)[0].skill.pk)
    work(alice, "more", "search", "fetch", "search", "fetch")
    assert run(learn_skills, alice, LATER).counts == {"sessions": 1, "known": 1}
    assert skills(alice) == []


def test_skills_that_are_alike_become_one(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]], time: Stopped
) -> None:
    agent, _ = make_agent(alice)
    steps = ["Build it.", "Copy it.", "Restart the server."]

    def skill(actor: Actor, name: str, steps: list[str]) -> Skill:
        return create_skill(actor=actor, draft=SkillDraft(name=name, steps=steps)).skill

    kept = skill(alice, "Deploy the site", steps)
    alike = skill(agent, "Deploy a site again", steps)
    needing = skill(agent, "Publish the news", ["Write them.", "Print them."])
    own = skill(alice, "Deploying the site", steps)
    add_dependency(actor=alice, skill_id=needing.pk, needs_id=alike.pk)
    record_use(actor=alice, skill_id=kept.pk, success=True)
    record_use(actor=alice, skill_id=alike.pk, success=False)
    report = run(learn_skills, alice, LATER)
    assert report.counts == {"merged": 1}
    left = {one.skill.name: one.skill for one in skills(alice)}
    assert set(left) == {"Deploy the site", "Publish the news", "Deploying the site"}
    assert (left["Deploy the site"].uses, left["Deploy the site"].success_rate) == (2, 0.5)
    (archived,) = list_skills(actor=alice, states=["archived"])
    assert (archived.skill.pk, archived.state) == (alike.pk, "archived")
    assert edges_to(alice, kept.memory_id, EdgeKind.PART_OF) == {alike.memory_id}
    with owner_scope(alice.owner_id):
        assert [(one.skill_id, one.needs_id) for one in SkillDependency.objects.all()] == [(needing.pk, kept.pk)]
        assert Memory.objects.get(pk=alike.memory_id).archive_reason == "merged"
        assert Memory.objects.get(pk=own.memory_id).status == Status.LIVE
    assert run(learn_skills, alice, LATER).counts == {}


def test_off(alice: Actor) -> None:
    assert run(learn_skills, alice, LATER, skills=False).skipped_reason == "skills.off"
