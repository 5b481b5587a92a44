"""What changes who may do what, and what takes memories out or in, is recorded in its transaction."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from memory.errors import LociError
from memory.models import AuditEvent, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.agents import create_agent, create_group, create_key, pause_agent, revoke_key, set_membership
from memory.services.drafts import Draft
from memory.services.exporting import export_stream
from memory.services.importing import import_document
from memory.services.profiles import change_profile, reset_profile
from memory.services.remember import remember
from memory.services.settings import change_settings

Make = Callable[..., tuple[Actor, str]]


def acts(owner: Actor) -> list[tuple[str, str, UUID | None, str, int]]:
    """Give verb, kind, id, reason and count of what was recorded."""
    with owner_scope(owner.owner_id):
        return list(
            AuditEvent.objects.order_by("pk").values_list("verb", "object_kind", "object_id", "reason", "count")
        )


def test_agents_keys_and_groups(alice: Actor) -> None:
    agent = create_agent(actor=alice, name="assistant").pk
    key = create_key(actor=alice, agent_id=agent, label="key").key_id
    group = create_group(actor=alice, kind="squad", name="cooks").pk
    for member in (True, True, False, False):
        set_membership(actor=alice, group_id=group, agent_id=agent, member=member)
    for paused in (True, False):
        pause_agent(actor=alice, agent_id=agent, paused=paused)
    for _ in range(2):
        revoke_key(actor=alice, key_id=key)
    assert acts(alice) == [
        ("create", "agent", agent, "", 1),
        ("create", "key", key, f"agent:{agent}", 1),
        ("join", "group", group, f"agent:{agent}", 1),
        ("leave", "group", group, f"agent:{agent}", 1),
        ("pause", "agent", agent, "", 1),
        ("resume", "agent", agent, "", 1),
        ("revoke", "key", key, "", 1),
    ]


def test_settings_and_profiles(alice: Actor) -> None:
    change_settings(actor=alice, changes={"recall_limit": 7})
    change_settings(actor=alice, changes={"recall_limit": None, "context_tokens": 900})
    change_profile(actor=alice, name="default", changes={"limit": 7})
    for _ in range(2):
        reset_profile(actor=alice, name="default")
    assert acts(alice) == [
        ("change", "settings", None, "recall_limit", 1),
        ("change", "settings", None, "2 settings", 1),
        ("change", "profile", None, "default", 1),
        ("reset", "profile", None, "default", 1),
    ]


def test_what_was_refused_is_not_recorded(alice: Actor) -> None:
    for changes in ({"recall_limit": 0}, {"none": 1}):
        with pytest.raises(LociError):
            change_settings(actor=alice, changes=changes)
    with pytest.raises(LociError):
        create_agent(actor=alice, name="")
    assert acts(alice) == []


def test_exports_and_imports(alice: Actor, mallory: Actor, make_agent: Make) -> None:
    remember(actor=alice, draft=Draft(text="Alice prefers tea."))
    agent, _ = make_agent(alice, scopes=list(Permission))
    before = len(acts(alice))
    pieces = export_stream(actor=agent)
    assert len(acts(alice)) == before
    next(pieces)
    assert acts(alice)[before:] == [("export", "memories", None, "loci", 1)]
    import_document(actor=mallory, document={"memories": [{"content": "One."}, {"content": "Two."}]})
    assert acts(mallory)[0] == ("import", "memories", None, "", 2)
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.get(verb="export").actor == agent.label
