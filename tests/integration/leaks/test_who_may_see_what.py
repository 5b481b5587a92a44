"""Random walks of two owners, three agents and their groups, against a plain model of who may see what."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from pytest_django.plugin import DjangoDbBlocker

from memory.crypto.keyring import keyring
from memory.errors import InvalidScope, LociError, NotAuthenticated, NotFound, PermissionRefused
from memory.models import Status
from memory.services.actors import Actor
from memory.services.agents import (
    authenticate,
    create_agent,
    create_group,
    create_key,
    pause_agent,
    revoke_key,
    set_membership,
)
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.due_work import JOBS
from memory.services.memories import ListRequest, get_memory, list_memories
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from tests.gatherers import written_when_asked
from tests.integration.leaks.world import make_owner

LURE = "kettle"
AGENTS = ("ann", "ben", "eve")
OWNERS = {"ann": "first", "ben": "first", "eve": "second"}
PERSONS = ("first", "second")
GROUPS = {"garden": "first", "kitchen": "first", "harbour": "second"}
who = st.sampled_from((*AGENTS, *PERSONS))
scopes = st.sampled_from(("owner", "agent", *GROUPS))
numbers = st.integers(0, 30)


@dataclass(slots=True)
class Known:
    """What the model knows of one memory."""

    id: UUID
    owner: str
    scope: str
    agent: str | None
    status: str = "live"


@dataclass(slots=True)
class Model:
    """Who belongs where, who may come in, and what is stored."""

    members: set[tuple[str, str]] = field(default_factory=set)
    shut: set[str] = field(default_factory=set)
    memories: list[Known] = field(default_factory=list)

    def sees(self, name: str, memory: Known) -> bool:
        """Tell whether somebody may read a memory; one that is being erased is there for a person's undo alone."""
        if name in PERSONS:
            return memory.owner == name
        if OWNERS[name] != memory.owner or memory.status == "going":
            return False
        if memory.scope == "agent":
            return memory.agent == name
        return memory.scope == "owner" or (name, memory.scope) in self.members

    def may_write(self, name: str, scope: str) -> type[LociError] | None:
        """Give the error of writing for a scope; None where it may be done."""
        if scope == "agent":
            return InvalidScope if name in PERSONS else None
        if scope == "owner":
            return None
        if GROUPS[scope] != OWNERS.get(name, name):
            return NotFound
        return None if name in PERSONS or (name, scope) in self.members else PermissionRefused


class Walk(RuleBasedStateMachine):
    """The product beside the model; each step is done in both."""

    def __init__(self) -> None:
        """Make both owners, their agents with keys, and their groups."""
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.model = Model()
        self.count = 0
        self.persons = {name: make_owner(name) for name in PERSONS}
        self.agents = {name: create_agent(actor=self.persons[OWNERS[name]], name=name).pk for name in AGENTS}
        self.keys = {name: self.new_key(name) for name in AGENTS}
        self.groups = {
            name: create_group(actor=self.persons[owner], kind="project", name=name).pk
            for name, owner in GROUPS.items()
        }

    def teardown(self) -> None:
        """Undo everything of this walk."""
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)
        keyring().forget()

    def new_key(self, name: str) -> tuple[UUID, str]:
        made = create_key(actor=self.persons[OWNERS[name]], agent_id=self.agents[name], label=name)
        return made.key_id, made.secret

    def actor(self, name: str) -> Actor | None:
        """Let somebody come in as each request does; None where that must fail, and does."""
        if name in PERSONS:
            return self.persons[name]
        if name in self.model.shut:
            with pytest.raises(NotAuthenticated):
                authenticate(self.keys[name][1])
            return None
        return authenticate(self.keys[name][1])

    def written(self, scope: str) -> str:
        return f"project:{self.groups[scope]}" if scope in GROUPS else scope

    def chosen(self, number: int) -> Known:
        return self.model.memories[number % len(self.model.memories)]

    @rule(name=who, scope=scopes)
    def remembers(self, name: str, scope: str) -> None:
        actor, error = self.actor(name), self.model.may_write(name, scope)
        if actor is None:
            return
        self.count += 1
        draft = Draft(text=f"The {LURE} number {self.count} whistles.")
        if error is not None:
            with pytest.raises(error):
                remember(actor=actor, draft=draft, scope=self.written(scope))
            return
        stored = remember(actor=actor, draft=draft, scope=self.written(scope))
        agent = name if name in AGENTS else None
        self.model.memories.append(Known(stored.memory_id, OWNERS.get(name, name), scope, agent))

    @precondition(lambda self: self.model.memories)
    @rule(name=who, number=numbers, scope=scopes)
    def shares(self, name: str, number: int, scope: str) -> None:
        """Give a memory to other readers."""
        actor, memory = self.actor(name), self.chosen(number)
        if actor is None:
            return
        error = self.model.may_write(name, scope)
        if error is None and (not self.model.sees(name, memory) or memory.status == "erased"):
            error = NotFound
        if error is not None:
            with pytest.raises(error):
                change_memory(actor=actor, memory_id=memory.id, changes={}, scope=self.written(scope))
            return
        if memory.status != "live":
            return
        change_memory(actor=actor, memory_id=memory.id, changes={}, scope=self.written(scope))
        memory.scope = scope
        if scope == "agent":
            memory.agent = name

    @precondition(lambda self: self.model.memories)
    @rule(name=who, number=numbers, act=st.sampled_from(("change", "archive", "restore", "delete")))
    def does(self, name: str, number: int, act: str) -> None:
        """Change, archive, restore or delete; for one who may not see the memory it does not exist."""
        actor, memory = self.actor(name), self.chosen(number)
        if actor is None:
            return
        if not self.model.sees(name, memory) or memory.status == "erased":
            with pytest.raises(NotFound):
                self.act(actor, memory, act)
            return
        if (act == "restore") == (memory.status == "live"):
            return
        self.act(actor, memory, act)
        after = {"archive": "archived", "restore": "live", "delete": "archived" if name in AGENTS else "going"}
        memory.status = after.get(act, memory.status)

    def act(self, actor: Actor, memory: Known, act: str) -> None:
        self.count += 1
        if act == "change":
            changes = {"text": f"The {LURE} number {self.count} is cold."}
            change_memory(actor=actor, memory_id=memory.id, changes=changes)
        else:
            {"archive": archive_memory, "restore": restore_memory, "delete": delete_memory}[act](
                actor=actor, memory_id=memory.id
            )

    @rule(owner=st.sampled_from(PERSONS))
    def erases(self, owner: str) -> None:
        """Let the time run out in which a person's deletion can be undone."""
        for memory in self.model.memories:
            if memory.owner == owner and memory.status == "going":
                memory.status = "erased"
        JOBS["erase"](owner_id=self.persons[owner].owner_id, at=now() + timedelta(minutes=5))

    @rule(name=st.sampled_from(AGENTS), group=st.sampled_from(tuple(GROUPS)), member=st.booleans())
    def joins(self, name: str, group: str, member: bool) -> None:
        """Join or leave a group; one of another owner does not exist."""
        person = self.persons[OWNERS[name]]
        change = {"group_id": self.groups[group], "agent_id": self.agents[name], "member": member}
        if GROUPS[group] != OWNERS[name]:
            for one in self.persons.values():
                with pytest.raises(NotFound):
                    set_membership(actor=one, **change)  # type: ignore[arg-type]
            return
        set_membership(actor=person, **change)  # type: ignore[arg-type]
        (self.model.members.add if member else self.model.members.discard)((name, group))

    @rule(name=st.sampled_from(AGENTS), paused=st.booleans())
    def pauses(self, name: str, paused: bool) -> None:
        pause_agent(actor=self.persons[OWNERS[name]], agent_id=self.agents[name], paused=paused)
        (self.model.shut.add if paused else self.model.shut.discard)(name)

    @rule(name=st.sampled_from(AGENTS))
    def revokes(self, name: str) -> None:
        """Revoke a key and make another; the old one never works again."""
        key_id, old = self.keys[name]
        revoke_key(actor=self.persons[OWNERS[name]], key_id=key_id)
        with pytest.raises(NotAuthenticated):
            authenticate(old)
        self.keys[name] = self.new_key(name)

    @rule(name=who)
    def recalls(self, name: str) -> None:
        """Find by the word that all texts share exactly what may be seen."""
        actor = self.actor(name)
        if actor is None:
            return
        request = RecallRequest(query=LURE, limit=50, threshold=0, record=False, reinforce=False)
        found = {hit.memory.pk for hit in recall(actor=actor, request=request).hits}
        assert found == {one.id for one in self.model.memories if one.status == "live" and self.model.sees(name, one)}

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        for name in (*AGENTS, *PERSONS):
            actor = self.actor(name)
            if actor is None:
                continue
            expected = {one.id for one in self.model.memories if one.status == "live" and self.model.sees(name, one)}
            assert {row.pk for row in rows(actor)} == expected, name
            for memory in self.model.memories[-4:]:
                self.reads(name, actor, memory)

    def reads(self, name: str, actor: Actor, memory: Known) -> None:
        if self.model.sees(name, memory) and memory.status != "erased":
            assert LURE in get_memory(actor=actor, memory_id=memory.id).text
            return
        with pytest.raises(NotFound):
            get_memory(actor=actor, memory_id=memory.id)


def rows(actor: Actor) -> Any:
    """List what somebody is shown of live memories."""
    return list_memories(actor=actor, request=ListRequest(statuses=[Status.LIVE]), after=None, size=100)


def test_random_walks(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    with written_when_asked(), django_db_blocker.unblock():
        run_state_machine_as_test(
            Walk,
            settings=settings(
                max_examples=10,
                stateful_step_count=16,
                phases=[Phase.generate],
                derandomize=True,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
