"""The Settings tab: values, defaults, errors at their fields, who changed what, and what staff alone see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memory.models import Owner
from memory.services.actors import Actor
from memory.services.agent_settings import change_agent_settings
from memory.services.settings import change_settings, get_settings
from tests.integration.palace.conftest import client_of

pytestmark = pytest.mark.django_db

RECALL = {
    "part": "recall", "auto_recall": "on", "recall_limit": "5", "recall_threshold": "0.3", "recall_tuner": "off",
    "recall_profile": "default", "context_tokens": "500", "context_format": "prax",
}  # fmt: skip


def page(client: Client) -> str:
    answer = client.get(reverse("palace:settings"))
    assert answer.status_code == 200
    return answer.content.decode()


def save(client: Client, **typed: str) -> Any:
    return client.post(reverse("palace:change-settings"), {**RECALL, **typed})


def test_every_setting_shows_its_value_and_its_default(alice: Actor) -> None:
    change_settings(actor=alice, changes={"recall_limit": 9})
    html = page(client_of(alice))
    for words in ("Auto-recall", "Auto-capture", "Recall limit", "Recall threshold", "Profile", "Retention policy"):
        assert words in html
    assert 'value="9"' in html
    assert "By default: 5." in html
    assert "Reset to 5" in html


def test_what_is_typed_is_saved_and_nothing_else(alice: Actor) -> None:
    browser = client_of(alice)
    answer = save(browser, recall_limit="7", auto_recall="off")
    assert (answer.status_code, answer["Location"]) == (302, reverse("palace:settings") + "#recall")
    values = get_settings(actor=alice)["values"]
    assert (values["recall_limit"], values["auto_recall"], values["recall_threshold"]) == (7, False, 0.3)
    assert "Saved." in page(browser)
    version = get_settings(actor=alice)["version"]
    save(browser, recall_limit="7", auto_recall="off")
    assert get_settings(actor=alice)["version"] == version


def test_who_changed_a_setting_is_said_beside_it(alice: Actor, make_agent: Callable[..., Any]) -> None:
    browser = client_of(alice)
    save(browser, recall_limit="7")
    assert "changed by you" in page(browser)
    steward, _ = make_agent(alice, "Steward", scopes=["settings:write", "memory:read"])
    change_settings(actor=steward, changes={"recall_limit": 8})
    assert "changed by Steward" in page(browser)


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("recall_limit", "0"),
        ("recall_limit", "many"),
        ("recall_threshold", "1.5"),
        ("recall_profile", "no such profile"),
        ("context_tokens", "49"),
        ("auto_recall", "perhaps"),
    ],
)
def test_a_wrong_value_is_said_at_its_field_and_kept_there(alice: Actor, name: str, typed: str) -> None:
    answer = save(client_of(alice), **{name: typed})
    html = answer.content.decode()
    assert answer.status_code == 422
    assert f'id="id_{name}_error"' in html
    assert get_settings(actor=alice)["version"] == 0


def test_a_setting_gets_its_default_back(alice: Actor) -> None:
    change_settings(actor=alice, changes={"recall_limit": 9, "recall_threshold": 0.5})
    browser = client_of(alice)
    save(browser, reset="recall_limit", recall_limit="11")
    values = get_settings(actor=alice)["values"]
    assert (values["recall_limit"], values["recall_threshold"]) == (5, 0.5)
    assert "Recall limit is as it was by default." in page(browser)


def test_a_part_that_there_is_not_is_refused(alice: Actor) -> None:
    answer = client_of(alice).post(reverse("palace:change-settings"), {"part": "everything"})
    assert answer.status_code == 422


def test_only_staff_see_the_model_and_how_it_is_changed(alice: Actor) -> None:
    assert "EMBEDDING_MODEL" not in page(client_of(alice))
    user = Owner.objects.get(pk=alice.owner_id).user
    assert user is not None
    user.is_staff = True
    user.save()
    html = page(client_of(alice))
    assert "EMBEDDING_MODEL" in html
    assert "Width of a vector" in html


def test_settings_of_one_owner_are_nobody_elses(alice: Actor, mallory: Actor) -> None:
    save(client_of(mallory), recall_limit="77")
    assert get_settings(actor=alice)["values"]["recall_limit"] == 5
    assert 'value="77"' not in page(client_of(alice))


def test_the_page_does_not_grow_with_agents(
    alice: Actor, make_agent: Callable[..., Any], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    browser = client_of(alice)
    page(browser)
    with django_assert_max_num_queries(60) as few:
        page(browser)
    for number in range(12):
        agent, _ = make_agent(alice, f"agent {number}")
        change_agent_settings(actor=alice, agent_id=agent.agent_id, changes={"recall_limit": 3})
    with django_assert_max_num_queries(len(few.captured_queries) + 2):
        html = page(browser)
    assert html.count("#settings") == 12
