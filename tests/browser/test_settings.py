"""Settings, agents and keys, the login, and quiet counters, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from memory.services.actors import Actor
from memory.services.agent_settings import change_agent_settings
from memory.services.agents import create_group, create_key, pause_agent, set_membership
from memory.services.bus.trusting import set_trust
from memory.services.drafts import Draft
from memory.services.health import heartbeat
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.settings import change_settings, get_settings
from tests.browser.conftest import Watch
from tests.browser.looking import look

Make = Callable[..., tuple[Actor, str]]


def live(page: Page) -> None:
    page.wait_for_function("() => document.documentElement.dataset.live === 'open'")


def store_over_rest(base_url: str, key: str, text: str) -> None:
    answer = httpx.post(
        f"{base_url}/api/v1/memories", json={"text": text}, headers={"Authorization": f"Bearer {key}"}, timeout=30
    )
    assert answer.status_code == 201, answer.text


def test_what_an_agent_stores_over_rest_is_counted_and_merged_on_request(
    palace: Page, alice: Actor, make_agent: Make, base_url: str, watch: Watch
) -> None:
    _, key = make_agent(alice, "Scribe")
    palace.goto("/")
    live(palace)
    counter = palace.locator(".side [data-news]")
    expect(counter).to_be_hidden()
    store_over_rest(base_url, key, "The ferry leaves at nine.")
    expect(counter).to_contain_text("1 new")
    expect(palace.locator("#recent-list")).not_to_contain_text("The ferry leaves at nine.")
    store_over_rest(base_url, key, "The ferry returns at six.")
    expect(counter).to_contain_text("2 new")
    counter.get_by_role("link", name="Show").click()
    expect(palace.locator("#recent-list")).to_contain_text("The ferry returns at six.")
    expect(counter).to_be_hidden()
    store_over_rest(base_url, key, "The ferry is blue.")
    expect(counter).to_contain_text("1 new")
    assert watch.complaints == []


def test_another_owners_memories_count_nothing(
    palace: Page, alice: Actor, mallory: Actor, make_agent: Make, base_url: str
) -> None:
    _, key = make_agent(alice, "Scribe")
    palace.goto("/")
    live(palace)
    remember(actor=mallory, draft=Draft(text="Nobody here may know."))
    store_over_rest(base_url, key, "The ferry leaves at nine.")
    expect(palace.locator(".side [data-news]")).to_contain_text("1 new")


def test_the_page_says_how_the_connection_stands(palace: Page) -> None:
    palace.goto("/settings/")
    live(palace)
    expect(palace.locator(".side [data-live-state]")).to_have_text("Live: what is new is told at once.")


def test_without_a_worker_every_page_says_so(palace: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    palace.goto("/settings/")
    expect(palace.locator('[data-notice="worker"]').first).to_be_hidden()
    monkeypatch.setattr(heartbeat, "SILENCE", timedelta(0))
    for page in ("/", "/settings/", "/agents/", "/telemetry/coverage/", "/telemetry/costs/", "/telemetry/health/"):
        palace.goto(page)
        expect(palace.locator('[data-notice="worker"]').first).to_contain_text("No worker is running")


def test_settings_work_without_scripts(plain_palace: Page, alice: Actor) -> None:
    page = plain_palace
    page.goto("/settings/")
    page.get_by_label("Recall limit").fill("0")
    page.locator("form.settings").first.get_by_role("button", name="Save").click()
    expect(page.locator("#id_recall_limit_error")).to_be_visible()
    expect(page.get_by_label("Recall limit")).to_have_value("0")
    page.get_by_label("Recall limit").fill("8")
    page.locator("form.settings").first.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. It holds from the next request on.")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Reset to 5")).click()
    expect(page.get_by_label("Recall limit")).to_have_value("5")
    assert get_settings(actor=alice)["values"]["recall_limit"] == 5


def test_enter_in_a_setting_saves_and_resets_no_other(plain_palace: Page, alice: Actor) -> None:
    change_settings(actor=alice, changes={"auto_recall": False})
    plain_palace.goto("/settings/")
    plain_palace.get_by_label("Recall limit").fill("7")
    plain_palace.get_by_label("Recall limit").press("Enter")
    expect(plain_palace.get_by_text("Saved. It holds from the next request on.")).to_be_visible()
    values = get_settings(actor=alice)["values"]
    assert (values["recall_limit"], values["auto_recall"]) == (7, False)


def test_an_agent_is_made_and_its_key_is_shown_once(palace: Page, base_url: str, watch: Watch) -> None:
    palace.goto("/agents/")
    palace.get_by_label("Name", exact=True).first.fill("Scribe")
    palace.get_by_role("button", name="Make it").first.click()
    expect(palace.get_by_role("heading", name="Scribe", level=1)).to_be_visible()
    palace.get_by_label("Label").fill("laptop")
    palace.get_by_role("button", name="Make a key").click()
    secret = palace.locator("#secret").inner_text().strip()
    assert re.fullmatch(r"loci_[0-9a-f]{8}_[\w-]{43}", secret)
    expect(palace.locator("#secret-command")).to_contain_text(f"Authorization: Bearer {secret}")
    store_over_rest(base_url, secret, "The ferry leaves at nine.")
    watch.wait_until_quiet(palace)
    palace.goto(palace.url.replace("/keys/", "/"))
    expect(palace.get_by_role("heading", name=re.compile("laptop"))).to_be_visible()
    assert secret not in palace.content()
    palace.get_by_role("button", name="Revoke laptop").click()
    expect(palace.get_by_text("The key is revoked.")).to_be_visible()
    refused = httpx.get(f"{base_url}/api/v1/memories", headers={"Authorization": f"Bearer {secret}"}, timeout=30)
    assert refused.status_code == 401
    assert watch.complaints == []


@pytest.fixture
def peopled(alice: Actor, make_agent: Make) -> dict[str, Any]:
    """Agents with keys, groups, settings and acts, one of them with a long name in another direction."""
    scribe, _ = make_agent(alice, "Scribe")
    assert scribe.agent_id is not None
    gardener, _ = make_agent(alice, "מזכירה " + "unbroken" * 12)
    assert gardener.agent_id is not None
    squad = create_group(actor=alice, kind="squad", name="night shift")
    for agent in (scribe, gardener):
        set_membership(actor=alice, group_id=squad.pk, agent_id=agent.agent_id, member=True)  # type: ignore[arg-type]
    create_key(actor=alice, agent_id=scribe.agent_id, label="phone", scopes=["memory:read", "privacy:manage"])
    pause_agent(actor=alice, agent_id=gardener.agent_id, paused=True)
    set_trust(actor=alice, agent_id=scribe.agent_id, trust=0.8)
    change_settings(actor=alice, changes={"recall_limit": 9})
    change_agent_settings(actor=alice, agent_id=scribe.agent_id, changes={"auto_capture": False, "recall_limit": 3})
    remember(actor=scribe, draft=Draft(text="The ferry leaves at nine. Call 030 1234567."))
    recall(actor=scribe, request=RecallRequest(query="ferry"))
    return {"scribe": scribe.agent_id, "gardener": gardener.agent_id}


def test_looks(visitor: Page, peopled: dict[str, Any], scheme: str, size: str, watch: Watch) -> None:
    visitor.goto("/settings/")
    look(visitor, "settings", scheme=scheme, size=size)
    visitor.get_by_label("Recall threshold").fill("7")
    visitor.locator("form.settings").first.get_by_role("button", name="Save").click()
    expect(visitor.locator("#id_recall_threshold_error")).to_be_visible()
    look(visitor, "settings-error", scheme=scheme, size=size)
    visitor.goto("/agents/")
    look(visitor, "agents", scheme=scheme, size=size)
    visitor.goto(f"/agents/{peopled['scribe']}/")
    look(visitor, "agent", scheme=scheme, size=size)
    visitor.get_by_text("A new key", exact=True).click()
    visitor.get_by_label("Label").fill("tablet")
    visitor.get_by_role("button", name="Make a key").click()
    expect(visitor.locator("#secret")).to_be_visible()
    look(visitor, "agent-key-shown", scheme=scheme, size=size)
    visitor.goto("/privacy/")
    visitor.get_by_text("Memories by tier, kind and agent").click()
    look(visitor, "privacy-by-agent", scheme=scheme, size=size)
    visitor.goto("/account/")
    look(visitor, "account", scheme=scheme, size=size)
    assert [one for one in watch.complaints if "status of 422" not in one] == []


def test_looks_without_agents(visitor: Page, scheme: str, size: str) -> None:
    visitor.goto("/agents/")
    look(visitor, "agents-empty", scheme=scheme, size=size)
