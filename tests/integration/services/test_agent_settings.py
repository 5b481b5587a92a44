"""What is chosen for one agent: its own value, else the owner's, else the default; and what each choice does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.ids import new_id
from memory.models import AuditEvent, Memory, RunTrigger, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.agent_settings import change_agent_settings, get_agent_settings
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.context import build_context
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.settings import change_settings
from memory.services.turns import TurnDraft, ingest_turns

Make = Callable[..., tuple[Actor, str]]


def choose(owner: Actor, agent: Actor, **changes: Any) -> dict[str, Any]:
    assert agent.agent_id is not None
    return change_agent_settings(actor=owner, agent_id=agent.agent_id, changes=changes)


def context(actor: Actor, query: str = "kettle", **options: Any) -> Any:
    return build_context(actor=actor, request=RecallRequest(query=query, threshold=0.0), **options)


def test_an_agents_value_goes_before_the_owners_and_that_before_the_default(alice: Actor, make_agent: Make) -> None:
    first, _ = make_agent(alice, "first")
    second, _ = make_agent(alice, "second")
    assert first.agent_id is not None
    assert second.agent_id is not None
    values = get_agent_settings(actor=alice, agent_id=first.agent_id)["values"]
    assert (values["recall_limit"], values["auto_recall"], values["auto_capture"]) == (5, True, True)
    change_settings(actor=alice, changes={"recall_limit": 9})
    choose(alice, first, recall_limit=2, recall_threshold=0.7)
    found = get_agent_settings(actor=alice, agent_id=first.agent_id)
    assert found["values"]["recall_limit"] == 2
    assert found["chosen"] == {"recall_limit": 2, "recall_threshold": 0.7}
    assert get_agent_settings(actor=alice, agent_id=second.agent_id)["values"]["recall_limit"] == 9
    assert choose(alice, first, recall_limit=None)["values"]["recall_limit"] == 9


def test_who_changed_which_setting_of_which_agent_is_recorded(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    choose(alice, agent, auto_capture=False)
    with owner_scope(alice.owner_id):
        event = AuditEvent.objects.get(object_kind="settings")
    assert (event.actor, event.verb, event.object_id, event.reason) == (
        "person", "change", agent.agent_id, "auto_capture",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"nothing": 1}, "setting.unknown"),
        ({"sleep": "off"}, "setting.not_of_agents"),
        ({"recall_limit": 0}, "setting.invalid"),
        ({"recall_limit": True}, "setting.invalid"),
        ({"auto_recall": "yes"}, "setting.invalid"),
        ({"retention_policy": "for ever"}, "setting.invalid"),
    ],
)
def test_what_cannot_be_chosen_for_an_agent(alice: Actor, make_agent: Make, changes: dict[str, Any], code: str) -> None:
    agent, _ = make_agent(alice)
    with pytest.raises(InvalidInput) as refused:
        choose(alice, agent, **changes)
    assert refused.value.machine_code == code
    assert agent.agent_id is not None
    assert get_agent_settings(actor=alice, agent_id=agent.agent_id)["version"] == 0


def test_settings_of_agents_belong_to_their_owner(alice: Actor, mallory: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    for stranger in (mallory, make_agent(mallory, "spy", scopes=list(Permission))[0]):
        with pytest.raises(NotFound):
            choose(stranger, agent, recall_limit=1)
        assert agent.agent_id is not None
        with pytest.raises(NotFound):
            get_agent_settings(actor=stranger, agent_id=agent.agent_id)
    with pytest.raises(PermissionRefused):
        choose(agent, agent, auto_recall=True)
    with pytest.raises(NotFound):
        change_agent_settings(actor=alice, agent_id=new_id(), changes={"recall_limit": 1})


def test_a_change_of_another_version_is_refused(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    choose(alice, agent, recall_limit=3)
    assert agent.agent_id is not None
    with pytest.raises(Conflict) as refused:
        change_agent_settings(actor=alice, agent_id=agent.agent_id, changes={"recall_limit": 4}, version=0)
    assert refused.value.machine_code == "settings.version"


def test_a_block_has_the_limit_and_form_of_the_agent_that_asks(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    other, _ = make_agent(alice, "other")
    for number in range(4):
        remember(actor=alice, draft=Draft(text=f"The kettle number {number} is blue."))
    choose(alice, agent, recall_limit=1, context_format="cortex")
    assert len(context(agent).memory_ids) == 1
    assert context(agent).text.startswith("--- Relevant Memory ---")
    assert len(context(other).memory_ids) == 4
    assert context(other).text.startswith("## Relevant Memories")


def test_a_recall_takes_the_profile_of_the_agent_unless_one_is_named(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    choose(alice, agent, recall_profile="prax")
    assert recall(actor=agent, request=RecallRequest(query="kettle")).profile == "prax"
    assert recall(actor=agent, request=RecallRequest(query="kettle", profile="cortex")).profile == "cortex"
    assert recall(actor=alice, request=RecallRequest(query="kettle")).profile == "default"


def test_without_auto_recall_a_block_is_empty_unless_somebody_has_asked_for_it(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    other, _ = make_agent(alice, "other")
    remember(actor=alice, draft=Draft(text="The kettle is blue."))
    choose(alice, agent, auto_recall=False)
    silent = context(agent)
    assert (silent.text, silent.memory_ids, silent.recalled.degraded) == ("", [], ["auto_recall.off"])
    assert "kettle" in context(agent, asked=True).text
    assert "kettle" in context(other).text
    assert recall(actor=agent, request=RecallRequest(query="kettle")).hits
    with pytest.raises(InvalidInput):
        context(agent, "")


def test_auto_recall_of_the_owner_holds_for_agents_that_choose_nothing_and_not_for_the_person(
    alice: Actor, make_agent: Make
) -> None:
    agent, _ = make_agent(alice)
    eager, _ = make_agent(alice, "eager")
    remember(actor=alice, draft=Draft(text="The kettle is blue."))
    change_settings(actor=alice, changes={"auto_recall": False})
    choose(alice, eager, auto_recall=True)
    assert context(agent).text == ""
    assert "kettle" in context(eager).text
    assert "kettle" in context(alice).text


def knowledge(owner: Actor) -> dict[str, int]:
    run = run_consolidation(owner_id=owner.owner_id, trigger=RunTrigger.HAND, groups=[Group.KNOWLEDGE])
    assert run is not None
    return next(report["counts"] for report in run.stages if report["name"] == "selection")


def say(actor: Actor, session: str, text: str) -> None:
    ingest_turns(actor=actor, session=session, turns=[TurnDraft(draft=Draft(text=text, role="user"))])


def test_nothing_is_drawn_from_the_turns_of_an_agent_without_auto_capture(alice: Actor, make_agent: Make) -> None:
    quiet, _ = make_agent(alice, "quiet")
    open_one, _ = make_agent(alice, "open")
    choose(alice, quiet, auto_capture=False)
    say(quiet, "one", "I prefer tea without sugar.")
    say(open_one, "two", "I prefer coffee without milk.")
    counts = knowledge(alice)
    assert (counts["skipped_capture"], counts["rows"]) == (1, 1)
    with owner_scope(alice.owner_id):
        drawn = [row.text for row in Memory.objects.filter(kind="preference")]
        assert Memory.objects.filter(kind="turn").count() == 2
    assert drawn
    assert not any("tea" in text for text in drawn)


def test_what_was_said_without_auto_capture_is_not_drawn_from_later_either(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    change_settings(actor=alice, changes={"auto_capture": False})
    say(agent, "one", "I prefer tea without sugar.")
    assert knowledge(alice)["skipped_capture"] == 1
    change_settings(actor=alice, changes={"auto_capture": True})
    say(agent, "one", "I prefer coffee without milk.")
    counts = knowledge(alice)
    assert (counts.get("skipped_capture", 0), counts["rows"]) == (0, 1)


def test_what_an_agent_states_itself_is_drawn_from_also_without_auto_capture(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    choose(alice, agent, auto_capture=False)
    remember(actor=agent, draft=Draft(text="Bob lives in Porto."))
    assert knowledge(alice)["rows"] == 1
