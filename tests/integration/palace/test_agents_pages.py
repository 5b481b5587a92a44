"""Agents and keys: the list, one agent, keys that are shown once, and that nobody reaches another owner's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memory.errors import NotAuthenticated
from memory.models import AgentKey, owner_scope
from memory.palace.permission_words import PERMISSIONS
from memory.ports.recorder import model_called
from memory.services.actors import Actor, Permission
from memory.services.agent_settings import get_agent_settings
from memory.services.agents import (
    authenticate,
    change_key,
    create_agent,
    create_group,
    create_key,
    list_agents,
    list_groups,
    list_keys,
)
from memory.services.bus.capabilities import Grant, issue_capability
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from tests.integration.palace.conftest import client_of
from tests.integration.telemetry.providers import PRICES
from tests.integration.telemetry.test_usage import call_for

pytestmark = pytest.mark.django_db

Make = Callable[..., tuple[Actor, str]]
KEY = {"label": "laptop", "scopes": ["memory:read"], "default_scope": "owner", "expires": "30"}


def html_of(client: Client, name: str, *of: Any, status: int = 200) -> str:
    answer = client.get(reverse(f"palace:{name}", args=of))
    assert answer.status_code == status
    return answer.content.decode()


def post(client: Client, name: str, *of: Any, **typed: Any) -> Any:
    return client.post(reverse(f"palace:{name}", args=of), typed)


def agent_of(actor: Actor, name: str = "Scribe") -> UUID:
    return UUID(str(create_agent(actor=actor, name=name).pk))


def secret_in(answer: Any) -> str:
    found = re.search(r"loci_[0-9a-f]{8}_[\w-]{43}", answer.content.decode())
    assert found is not None
    return found[0]


def test_without_agents_the_page_says_what_one_is(alice: Actor) -> None:
    html = html_of(client_of(alice), "agents")
    assert "No agent yet" in html
    assert "Name one below, give it a key" in html


def test_an_agent_is_made_and_its_page_asks_for_a_key(alice: Actor) -> None:
    browser = client_of(alice)
    answer = post(browser, "agents", **{"agent-name": "Scribe"})
    (agent,) = list_agents(actor=alice)
    assert answer["Location"] == reverse("palace:agent", args=[agent.pk]) + "#new-key"
    assert "It has no key yet" in html_of(browser, "agent", agent.pk)
    again = post(browser, "agents", **{"agent-name": "scribe"})
    assert again.status_code == 409
    assert "An agent of this name exists already." in again.content.decode()
    assert post(browser, "agents", **{"agent-name": " "}).status_code == 422


def test_a_key_is_shown_once_with_a_request_that_works(alice: Actor) -> None:
    browser, agent_id = client_of(alice), agent_of(alice)
    answer = post(browser, "new-key", agent_id, **KEY)
    secret = secret_in(answer)
    html = answer.content.decode()
    assert f"Authorization: Bearer {secret}" in html.replace("&quot;", '"')
    assert "no-store" in answer["Cache-Control"]
    actor = authenticate(secret)
    assert (actor.agent_id, set(actor.permissions)) == (agent_id, {Permission.READ})
    assert secret not in html_of(browser, "agent", agent_id)
    assert "laptop" in html_of(browser, "agent", agent_id)


@pytest.mark.parametrize("typed", [{"label": ""}, {"scopes": []}, {"scopes": ["everything"]}, {"default_scope": "*"}])
def test_a_key_that_cannot_be_made(alice: Actor, typed: dict[str, Any]) -> None:
    agent_id = agent_of(alice)
    answer = post(client_of(alice), "new-key", agent_id, **{**KEY, **typed})
    assert answer.status_code == 422
    assert "loci_" not in answer.content.decode().split("<aside")[0].replace("loci_…", "")
    assert list_keys(actor=alice, agent_id=agent_id) == []


def test_what_a_key_may_do_can_be_changed_and_holds_at_once(alice: Actor) -> None:
    browser, agent_id = client_of(alice), agent_of(alice)
    made = create_key(actor=alice, agent_id=agent_id, label="laptop")
    html = html_of(browser, "agent-key", agent_id, made.key_id)
    assert 'value="laptop"' in html
    assert 'value="memory:write" checked' in html
    typed = {"label": "phone", "scopes": ["memory:read", "privacy:manage"], "default_scope": "agent", "expires": "keep"}
    assert post(browser, "agent-key", agent_id, made.key_id, **typed).status_code == 302
    actor = authenticate(made.secret)
    assert actor.permissions == {Permission.READ, Permission.PRIVACY}
    assert actor.default_visibility == "agent"
    (key,) = list_keys(actor=alice, agent_id=agent_id)
    assert (key.label, key.expires_at) == ("phone", None)


def test_a_revoked_key_is_not_changed_and_works_no_more(alice: Actor) -> None:
    browser, agent_id = client_of(alice), agent_of(alice)
    made = create_key(actor=alice, agent_id=agent_id, label="laptop")
    assert post(browser, "revoke-key", agent_id, made.key_id).status_code == 302
    with pytest.raises(NotAuthenticated):
        authenticate(made.secret)
    typed = {**KEY, "expires": ""}
    assert post(browser, "agent-key", agent_id, made.key_id, **typed).status_code == 409
    assert "revoked" in html_of(browser, "agent", agent_id)


def test_a_change_does_not_make_good_what_was_forged(alice: Actor) -> None:
    browser, agent_id = client_of(alice), agent_of(alice)
    made = create_key(actor=alice, agent_id=agent_id, label="laptop", scopes=["memory:read"])
    with owner_scope(alice.owner_id):
        AgentKey.objects.filter(pk=made.key_id).update(scopes=["memory:read", "transfer"])
    assert post(browser, "agent-key", agent_id, made.key_id, **KEY).status_code == 409
    with pytest.raises(NotAuthenticated):
        authenticate(made.secret)


def test_a_key_gives_no_other_key_more_than_it_has(alice: Actor, make_agent: Make) -> None:
    manager, _ = make_agent(alice, "manager", scopes=["agents:manage", "memory:read"])
    made = create_key(actor=alice, agent_id=agent_of(alice), label="laptop", scopes=["memory:read"])
    strong = create_key(actor=alice, agent_id=agent_of(alice, "strong"), label="x", scopes=["transfer"])
    for key_id, changes in (
        (made.key_id, {"scopes": ["transfer"]}),
        (strong.key_id, {"expires_at": None}),
    ):
        with pytest.raises(Exception, match="lacks the permission transfer"):
            change_key(actor=manager, key_id=key_id, **changes)


def test_an_agent_is_paused_from_the_list_and_resumed_from_its_page(alice: Actor) -> None:
    browser, agent_id = client_of(alice), agent_of(alice)
    secret = create_key(actor=alice, agent_id=agent_id, label="laptop").secret
    post(browser, "pause-agent", agent_id, paused="yes", **{"from": "list"})
    with pytest.raises(NotAuthenticated):
        authenticate(secret)
    assert "paused" in html_of(browser, "agents")
    post(browser, "pause-agent", agent_id, paused="no")
    assert authenticate(secret).agent_id == agent_id


def test_name_trust_groups_and_settings_are_changed_on_its_page(alice: Actor) -> None:
    browser, agent_id = client_of(alice), agent_of(alice)
    squad = create_group(actor=alice, kind="squad", name="night shift")
    post(browser, "rename-agent", agent_id, **{"name-name": "Chronicler"})
    post(browser, "trust-agent", agent_id, **{"trust-trust": "0.75"})
    post(browser, "agent-in-groups", agent_id, groups=[str(squad.pk)])
    post(browser, "agent-settings", agent_id, **{"settings-recall_limit": "3", "settings-auto_capture": "off"})
    html = html_of(browser, "agent", agent_id)
    for words in ("Chronicler", "trust 0.75", "squad night shift", "its own"):
        assert words in html
    chosen = get_agent_settings(actor=alice, agent_id=agent_id)["chosen"]
    assert chosen == {"recall_limit": 3, "auto_capture": False}
    post(browser, "agent-in-groups", agent_id)
    assert [members for _, members in list_groups(actor=alice)] == [[]]
    post(browser, "agent-settings", agent_id, **{"settings-recall_limit": "", "settings-auto_capture": ""})
    assert get_agent_settings(actor=alice, agent_id=agent_id)["chosen"] == {}


@pytest.mark.parametrize(
    ("name", "typed", "status"),
    [
        ("rename-agent", {"name-name": ""}, 422),
        ("trust-agent", {"trust-trust": "2"}, 422),
        ("trust-agent", {"trust-trust": "much"}, 422),
        ("agent-settings", {"settings-recall_limit": "0"}, 422),
        ("agent-settings", {"settings-context_format": "poem"}, 422),
        ("agent-in-groups", {"groups": ["everybody"]}, 404),
        ("agent-token", {"max_scope": "the world", "hours": "24"}, 422),
    ],
)
def test_wrong_values_change_nothing(alice: Actor, name: str, typed: dict[str, Any], status: int) -> None:
    agent_id = agent_of(alice)
    assert post(client_of(alice), name, agent_id, **typed).status_code == status
    (agent,) = list_agents(actor=alice)
    assert (agent.name, agent.trust) == ("Scribe", None)


def test_every_permission_has_words() -> None:
    assert set(PERMISSIONS) == set(Permission)


def test_a_group_is_made(alice: Actor) -> None:
    browser = client_of(alice)
    post(browser, "agent-groups", **{"group-kind": "project", "group-name": "Harbour"})
    assert "project Harbour" in html_of(browser, "agents")
    assert post(browser, "agent-groups", **{"group-kind": "crowd", "group-name": "x"}).status_code == 422


def test_a_token_is_shown_once_and_all_are_ended(alice: Actor) -> None:
    browser, agent_id = client_of(alice), agent_of(alice)
    answer = post(browser, "agent-token", agent_id, max_scope="agent", hours="720", publish="on")
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "X-Loci-Capability: " in html
    token = html.split("X-Loci-Capability: ")[1].split("&quot;")[0]
    assert token not in html_of(browser, "agent", agent_id)
    post(browser, "end-tokens", agent_id)
    assert issue_capability(actor=alice, agent_id=agent_id, grant=Grant()).token != token


def test_what_an_agent_did_is_on_its_page(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice, "Scribe")
    remember(actor=agent, draft=Draft(text="The kettle is blue."))
    recall(actor=agent, request=RecallRequest(query="kettle"))
    html = html_of(client_of(alice), "agent", agent.agent_id)
    assert "wrote 1 memory" in html
    assert "What it did last" in html
    assert "Read: recall" in html or "recall" in html.split("What it did last")[1]
    assert "The kettle is blue" not in html.split("<aside")[0]


def test_what_models_cost_an_agent_stands_on_its_page(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice, "Scribe")
    for _ in range(3):
        model_called(call_for(agent, at=now()))
    html = html_of(client_of(alice), "agents")
    # Nobody has set a price, which does not make them free.
    assert "3 calls of models in 30 days, no price" in html
    with override_settings(MODEL_PRICES=PRICES):
        model_called(call_for(agent, at=now(), input_tokens=10_000_000))
        html = html_of(client_of(alice), "agents")
    assert "4 calls of models in 30 days, 1.50 USD, and 3 without a price" in html


def test_nobody_reaches_the_agents_of_another_owner(alice: Actor, mallory: Actor) -> None:
    agent_id = agent_of(alice)
    made = create_key(actor=alice, agent_id=agent_id, label="laptop")
    stranger = client_of(mallory)
    html_of(stranger, "agent", agent_id, status=404)
    html_of(stranger, "agent-key", agent_id, made.key_id, status=404)
    for name, of in (
        ("pause-agent", [agent_id]),
        ("rename-agent", [agent_id]),
        ("trust-agent", [agent_id]),
        ("agent-in-groups", [agent_id]),
        ("agent-settings", [agent_id]),
        ("new-key", [agent_id]),
        ("revoke-key", [agent_id, made.key_id]),
        ("agent-token", [agent_id]),
        ("end-tokens", [agent_id]),
    ):
        typed = {"paused": "yes", "name-name": "x", "trust-trust": "1", **KEY, "max_scope": "owner", "hours": "24"}
        assert post(stranger, name, *of, **typed).status_code == 404, name
    assert authenticate(made.secret).agent_id == agent_id
    assert "Scribe" not in html_of(stranger, "agents")


def test_the_pages_do_not_grow_with_their_rows(
    alice: Actor, make_agent: Make, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    browser = client_of(alice)
    first, _ = make_agent(alice, "first")
    remember(actor=first, draft=Draft(text="The kettle is blue."))
    html_of(browser, "agents")
    with django_assert_max_num_queries(80) as of_list:
        html_of(browser, "agents")
    with django_assert_max_num_queries(100) as of_agent:
        html_of(browser, "agent", first.agent_id)
    most = len(of_list.captured_queries) + 2, len(of_agent.captured_queries) + 2
    for number in range(10):
        agent, _ = make_agent(alice, f"agent {number}")
        remember(actor=agent, draft=Draft(text=f"The kettle number {number} is blue."))
        create_key(actor=alice, agent_id=first.agent_id, label=f"key {number}")  # type: ignore[arg-type]
        create_group(actor=alice, kind="squad", name=f"squad {number}")
    html_of(browser, "agents")  # writes what waits, such as the usage of models
    with django_assert_max_num_queries(most[0]):
        html_of(browser, "agents")
    with django_assert_max_num_queries(most[1]):
        html_of(browser, "agent", first.agent_id)
