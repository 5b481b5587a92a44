"""As whom commands act: the audit tells what an operator typed from what a person did."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memory.models import Agent, AgentKey, AuditEvent, Memory, Owner, owner_scope
from memory.services.accounts import create_first_owner
from memory.services.actors import Actor, operator, person, system
from memory.services.agents import create_agent
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.retirement import delete_memory

pytestmark = pytest.mark.django_db(transaction=True)


def events_of(owner: Actor) -> list[tuple[str, str, str]]:
    """Give who did what to which sort of thing."""
    with owner_scope(owner.owner_id):
        return sorted(AuditEvent.objects.values_list("actor", "verb", "object_kind"))


def typed(*arguments: object) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture
def stored(alice: Actor) -> Actor:
    """Alice with an agent and a memory that a program's voice has stored, and a clean audit."""
    create_agent(actor=alice, name="helper")
    remember(actor=alice, draft=Draft(text="Al drinks tea.", source="user:al"))
    return alice


@pytest.mark.parametrize(
    "arguments",
    [
        ("agent", "create", "second"),
        ("agent", "key", "helper"),
        ("agent", "trust", "helper", "0.5"),
        ("memory", "purge", "--forget-provenance", "user:al"),
        ("memory", "archive", "FILE"),
        ("memory", "snapshot", "FILE"),
        ("consolidation", "disable"),
    ],
    ids=" ".join,
)
def test_the_audit_names_the_operator(stored: Actor, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    before = events_of(stored)
    typed(*(tmp_path / "file" if one == "FILE" else one for one in arguments))
    after = events_of(stored)
    for event in before:
        after.remove(event)
    assert after, "nothing was recorded"
    assert {actor for actor, _, _ in after} == {"operator"}


def test_so_does_it_of_the_first_agent(db: None) -> None:
    made = create_first_owner()
    assert made is not None
    with owner_scope(made.owner_id):
        assert set(AuditEvent.objects.values_list("actor", flat=True)) == {"operator"}
        assert (Agent.objects.count(), AgentKey.objects.count()) == (1, 1)
    assert Owner.objects.count() == 1


def test_an_operator_deletes_as_a_person_does(alice: Actor) -> None:
    """It is erased and not archived, and what the system deletes is archived."""
    for actor, left in ((person(alice.owner_id), "erasing"), (operator(alice.owner_id), "erasing")):
        made = remember(actor=alice, draft=Draft(text=f"deleted by {actor.kind}"))
        assert delete_memory(actor=actor, memory_id=made.memory_id).status == left
    kept = remember(actor=alice, draft=Draft(text="deleted by the system"))
    assert delete_memory(actor=system(alice.owner_id), memory_id=kept.memory_id).status == "archived"
    with owner_scope(alice.owner_id):
        assert Memory.objects.count() == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "show"),
        ("outbound",),
        ("agent", "list"),
        ("consolidation", "run"),
        ("memory", "purge"),
    ],
    ids=" ".join,
)
def test_where_there_are_several_owners_it_is_said_what_to_type(
    alice: Actor, make_owner: Callable[..., Actor], arguments: tuple[str, ...]
) -> None:
    make_owner("bob")
    with pytest.raises(CommandError, match="Add --owner LOGIN"):
        typed(*arguments)
