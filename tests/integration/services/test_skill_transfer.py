"""Skills in exports: they come back beside their memories, with what their use has shown and what they need."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from memory.models import Memory, Skill, owner_scope
from memory.services.actors import Actor
from memory.services.exporting import export_stream
from memory.services.importing import import_document
from memory.services.skill_drafts import SkillDraft
from memory.services.skill_life import (
    add_dependency,
    archive_skill,
    demote_skill,
    dependencies_of,
    promote_skill,
    record_use,
)
from memory.services.skills import Standing, create_skill, list_skills

NUMBERS = ("name", "steps", "state", "origin", "trust", "uses", "success_rate", "utility", "redundancy", "risk")


def skill(actor: Actor, name: str, **options: Any) -> UUID:
    draft = SkillDraft(name=name, steps=[f"First of {name}.", "Done."], **options)
    return UUID(str(create_skill(actor=actor, draft=draft).skill.pk))


def exported(actor: Actor) -> Any:
    return json.loads("".join(export_stream(actor=actor)))


def shown(actor: Actor) -> list[dict[str, Any]]:
    every = ("candidate", "verified", "released", "degraded", "deprecated", "archived")
    found: list[Standing] = list_skills(actor=actor, states=every)
    rows = [
        {
            **{name: getattr(one.skill, name) for name in NUMBERS},
            "shown": (one.description, one.state, one.reliable, one.skill.created_at, one.skill.last_used_at),
        }
        for one in found
    ]
    return sorted(rows, key=lambda row: str(row["name"]))


@pytest.fixture
def document(alice: Actor) -> Any:
    """Alice's export: a skill that was used and needs another one, one that was put down, and one in the archive."""
    deploy = skill(alice, "Deploy the site", description="For the blog.", risk=0.3)
    build = skill(alice, "Build the pages")
    add_dependency(actor=alice, skill_id=deploy, needs_id=build)
    for success in (True, True, False):
        record_use(actor=alice, skill_id=deploy, success=success)
    demote_skill(actor=alice, skill_id=build)
    archive_skill(actor=alice, skill_id=skill(alice, "Water the plants"))
    return exported(alice)


def test_skills_come_back_as_they_were(alice: Actor, mallory: Actor, document: Any) -> None:
    found = import_document(actor=mallory, document=document)
    assert (found.errors, found.skills) == ([], {"created": 3, "existing": 0, "skipped": 0})
    assert shown(mallory) == shown(alice)
    assert [row["shown"][1] for row in shown(mallory)] == ["degraded", "released", "archived"]
    [deploy] = [one for one in list_skills(actor=mallory) if one.skill.name == "Deploy the site"]
    needs = dependencies_of(actor=mallory, skill_id=deploy.skill.pk).needs
    assert [one.skill.name for one in needs] == ["Build the pages"]
    again = import_document(actor=mallory, document=document)
    assert (again.errors, again.skills) == ([], {"created": 0, "existing": 3, "skipped": 0})
    assert shown(mallory) == shown(alice)
    assert promote_skill(actor=mallory, skill_id=needs[0].skill.pk).state == "verified"


def test_what_cannot_be_used_is_reported(mallory: Actor, document: Any) -> None:
    rows = {row["name"]: row for row in document["skills"]}
    builtin, bad, gone = rows["Deploy the site"], rows["Build the pages"], rows["Water the plants"]
    builtin |= {"origin": "builtin", "state": "released", "trust": 4}
    gone["memory"] = "elsewhere"
    items = [
        builtin, bad | {"state": "great"}, bad | {"utility": 2}, bad | {"uses": -1}, bad | {"steps": []},
        bad | {"name": "deploy the SITE"}, gone, "x",
    ]  # fmt: skip
    found = import_document(actor=mallory, document={**document, "skills": items})
    assert found.skills == {"created": 1, "existing": 0, "skipped": 1}
    assert [(one["part"], one["index"], one["code"]) for one in found.errors] == [
        ("skills", 1, "state.invalid"),
        ("skills", 2, "utility.out_of_range"),
        ("skills", 3, "uses.invalid"),
        ("skills", 4, "steps.invalid"),
        ("skills", 5, "skill.taken"),
        ("skills", 7, "import.item"),
    ]
    [row] = shown(mallory)
    assert (row["origin"], row["trust"]) == ("human", 3)


def test_a_skill_whose_memory_is_in_use_here_is_not_archived(mallory: Actor, document: Any) -> None:
    for item in document["memories"]:
        item["status"] = "live"
    import_document(actor=mallory, document=document)
    assert [row["state"] for row in shown(mallory)] == ["degraded", "released", "degraded"]


def test_nothing_but_the_memory_of_a_skill_becomes_one(mallory: Actor, document: Any) -> None:
    for item in document["memories"]:
        item["kind"] = "note"
    found = import_document(actor=mallory, document=document)
    assert found.skills == {"created": 0, "existing": 0, "skipped": 3}
    with owner_scope(mallory.owner_id):
        assert (Memory.objects.count(), Skill.objects.count()) == (3, 0)
