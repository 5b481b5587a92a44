"""Texts and names that do not open keep nobody from the pages of privacy, nor from erasing everything."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from memory.models import Agent, AuditEvent, Owner, Purge, PurgeState, User, owner_scope
from memory.services.actors import Actor
from memory.services.agents import create_agent, create_key
from memory.services.purge.runner import run_due
from tests.integration.palace.conftest import client_of
from tests.integration.palace.test_privacy_pages import PASSWORD, page

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

UNREADABLE = "name cannot be read"


@pytest.fixture
def agents(alice: Actor) -> list[Agent]:
    """Two agents, the first with a key; the name of the first, and the label of its key, do not open."""
    made = [create_agent(actor=alice, name=name) for name in ("Scribe", "Clerk")]
    create_key(actor=alice, agent_id=made[0].pk, label="laptop")
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute("UPDATE memory_agent SET name = 'plain' WHERE id = %s", [made[0].pk])
        cursor.execute("UPDATE memory_agentkey SET label = 'plain'")
    return made


@pytest.fixture
def browser(alice: Actor, login: User) -> Client:
    return client_of(alice)


@pytest.fixture
def login(alice: Actor) -> User:
    user = Owner.objects.get(pk=alice.owner_id).user
    assert user is not None
    user.set_password(PASSWORD)
    user.save()
    return user


def nothing_opens(alice: Actor) -> None:
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute("UPDATE memory_memory SET text = 'plain'")


def test_the_page_shows_the_others(browser: Client, agents: list[Agent], store: Callable[..., UUID]) -> None:
    memory = store("The red pump is quiet.")
    html = page(browser, reverse("palace:privacy"))
    assert UNREADABLE in html
    assert "Clerk" in html
    address = f"{reverse('palace:purge')}?subject=agent&agent={agents[0].pk}"
    assert f"everything of “{UNREADABLE}”" in page(browser, address)
    assert browser.post(address, {"password": PASSWORD}).status_code == 302
    run_due()
    assert Purge.objects.get().state == PurgeState.DONE
    assert UNREADABLE not in page(browser, reverse("palace:privacy"))
    page(browser, reverse("palace:memory", args=[memory]))


def test_rest_and_the_command_list_the_others(browser: Client, alice: Actor, agents: list[Agent]) -> None:
    listed = json.loads(page(browser, "/api/v1/agents"))["items"]
    assert [one["name"] for one in listed] == [None, "Clerk"]
    keys = json.loads(page(browser, f"/api/v1/agents/{agents[0].pk}/keys"))["items"]
    assert [one["label"] for one in keys] == [None]
    told = StringIO()
    call_command("agent", "list", stdout=told)
    assert UNREADABLE in told.getvalue()
    assert "Clerk" in told.getvalue()
    call_command("agent", "pause", str(agents[0].pk), stdout=StringIO())
    with owner_scope(alice.owner_id):
        assert Agent.objects.get(pk=agents[0].pk).paused_at


def test_everything_is_erased_although_nothing_opens(
    alice: Actor, browser: Client, login: User, agents: list[Agent], store: Callable[..., UUID]
) -> None:
    store("The blue pump squeaks.")
    nothing_opens(alice)
    assert "The newest memories cannot be read" in page(browser, reverse("palace:privacy"))
    address = reverse("palace:purge") + "?subject=owner"
    assert "Type it to say that you mean everything." in page(browser, address)
    done = browser.post(address, {"password": PASSWORD, "confirm": login.username})
    assert done.status_code == 302
    run_due()
    assert "Download it now" in page(Client(), done.headers["Location"])
    assert not Owner.objects.filter(pk=alice.owner_id).exists()


@pytest.mark.parametrize("typed", ["", None])
def test_no_password_is_no_failed_login(
    alice: Actor, browser: Client, store: Callable[..., UUID], typed: str | None
) -> None:
    store("Kept.", source="user:al")
    for query in ("subject=source&source=user:al", "subject=owner"):
        sent = {} if typed is None else {"password": typed}
        answer = browser.post(f"{reverse('palace:purge')}?{query}", sent)
        assert answer.status_code == 422
        assert "Type your password. Nothing was erased." in answer.content.decode()
    with owner_scope(alice.owner_id):
        assert not AuditEvent.objects.filter(verb="login_failed").exists()
    assert not Purge.objects.exists()


def test_the_address_of_revealing_leads_to_the_page(alice: Actor, browser: Client, store: Callable[..., UUID]) -> None:
    memory = store("Write to al@example.org.")
    answer = browser.get(reverse("palace:reveal", args=[memory]))
    assert (answer.status_code, answer.headers["Location"]) == (302, reverse("palace:memory", args=[memory]))
    with owner_scope(alice.owner_id):
        assert not AuditEvent.objects.filter(verb="reveal").exists()


def test_the_log_is_filtered_by_every_word_that_it_has(browser: Client) -> None:
    html = page(browser, reverse("palace:access-log"))
    assert '<option value="login_failed">login failed</option>' in html
    assert '<option value="supersede">supersede</option>' in html
    page(browser, reverse("palace:access-log") + "?verb=foo", status=422)
