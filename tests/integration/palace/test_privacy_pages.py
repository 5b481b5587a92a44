"""The pages of privacy: counts, readers, taking along, and erasing with the question once more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from memory.crypto.signing import signer
from memory.models import Owner, Purge, PurgeState, User
from memory.palace.holdings_view import holdings_view
from memory.palace.privacy_view import purge_view, sorts
from memory.services.actors import Actor
from memory.services.agents import create_agent
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.holdings import Holdings
from memory.services.outbound import list_outbound
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.runner import run_due
from memory.services.remember import remember
from tests.integration.palace.conftest import HTMX, client_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

PASSWORD = "correct horse battery staple"


@pytest.fixture
def login(alice: Actor) -> User:
    """Alice's login, with a password that is known."""
    user = Owner.objects.get(pk=alice.owner_id).user
    assert user is not None
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def browser(alice: Actor, login: User) -> Client:
    return client_of(alice)


def page(client: Client, address: str, status: int = 200, headers: dict[str, str] | None = None) -> str:
    answer = client.get(address, headers=headers)
    assert answer.status_code == status, answer.content[:500]
    return answer.content.decode()


def test_the_page_counts_what_is_kept(browser: Client, store: Callable[..., UUID]) -> None:
    store("The notice period is three months.")
    html = page(browser, reverse("palace:privacy"))
    assert "Memories, with turns of conversations" in html
    assert "No agent has read anything yet." in html
    assert "Nothing. Texts are read by models in this machine only." in html
    assert "notice period is three" not in html.split("<aside")[0]


def test_numbers_are_written_as_the_language_writes_them() -> None:
    purge = Purge(
        subject="owner", state=PurgeState.RUNNING, requested_at=now(), expected={"memories": 54321},
        erased={"memories": 12345},
    )  # fmt: skip
    kept = holdings_view(Holdings(total=2000, tiers=Counter(semantic=2000), sensitive=Counter({1: 1200})))
    assert [line.count for line in sorts({"memories": 1300})] == ["1,300"]
    assert [line.count for line in (*kept.tiers, *kept.sensitive)] == ["2,000", "1,200"]
    html = render_to_string("palace/privacy/progress.html", {"purge": purge_view(purge, now())})
    assert "12,345 of about 54,321 rows" in html
    assert 'max="54321" value="12345"' in html
    assert [line.name for line in sorts({"review_items": 1})] == ["Doubts that waited for a decision"]


def test_nobody_sees_it_without_a_login(client: Client) -> None:
    for name in ("privacy", "access-log", "outbound", "purge"):
        assert client.get(reverse(f"palace:{name}")).status_code == 302


def test_a_whole_owner_is_erased_only_with_name_and_password(
    browser: Client, login: User, store: Callable[..., UUID]
) -> None:
    store("Something that must go.")
    address = reverse("palace:purge") + "?subject=owner"
    html = page(browser, address)
    assert "cannot be undone" in html
    for typed in (
        {},
        {"password": PASSWORD},
        {"password": "wrong", "confirm": login.username},
        {"password": PASSWORD, "confirm": "somebody else"},
    ):
        answer = browser.post(address, typed)
        assert answer.status_code in (403, 422), typed
        assert not Purge.objects.exists()
    answer = browser.post(address, {"password": PASSWORD, "confirm": login.username})
    assert answer.status_code == 302
    assert "_auth_user_id" not in browser.session


def test_the_receipt_is_read_without_a_login(browser: Client, login: User, store: Callable[..., UUID]) -> None:
    store("Something that must go.")
    address = browser.post(
        reverse("palace:purge") + "?subject=owner", {"password": PASSWORD, "confirm": login.username}
    ).headers["Location"]
    anybody = Client()
    waiting = page(anybody, address)
    assert "hx-get" in waiting
    assert page(anybody, address + "receipt.json", status=404)
    run_due()
    assert Purge.objects.get().state == PurgeState.DONE
    html = page(anybody, address)
    assert "hx-get" not in html
    assert "What stays" in html
    assert "nothing was found" in html
    receipt = json.loads(page(anybody, address + "receipt.json"))
    assert verify_receipt(receipt, signer().public_key)
    assert "<html" not in page(anybody, address, headers=HTMX)
    assert not User.objects.filter(pk=login.pk).exists()


@pytest.mark.parametrize("token", ["x", "a" * 43, "%00", "../../x"])
def test_another_token_opens_nothing(browser: Client, login: User, token: str) -> None:
    browser.post(reverse("palace:purge") + "?subject=owner", {"password": PASSWORD, "confirm": login.username})
    found = Client().get(f"/purges/{Purge.objects.get().pk}/{token}/")
    assert found.status_code in (400, 404)
    assert b"Erasing" not in found.content


def test_one_agent_is_erased_and_the_rest_stays(alice: Actor, browser: Client, store: Callable[..., UUID]) -> None:
    kept = store("This stays.")
    agent = create_agent(actor=alice, name="Scribe")
    own = Actor(owner_id=alice.owner_id, kind="agent", agent_id=agent.pk)
    gone = remember(actor=own, draft=Draft(text="The scribe's own words.")).memory_id
    address = f"{reverse('palace:purge')}?subject=agent&agent={agent.pk}"
    assert "everything of “Scribe”" in page(browser, address)
    answer = browser.post(address, {"password": PASSWORD})
    assert answer.status_code == 302
    run_due()
    assert page(browser, reverse("palace:memory", args=[kept]))
    assert page(browser, reverse("palace:memory", args=[gone]), status=404)
    html = page(browser, reverse("palace:privacy"))
    assert "Everything of one agent" in html
    receipt = browser.get(reverse("palace:own-receipt", args=[Purge.objects.get().pk]))
    assert verify_receipt(receipt.json(), signer().public_key)


def test_a_source_is_erased(browser: Client, store: Callable[..., UUID]) -> None:
    gone = store("From Al.", source="user:al/chat")
    kept = store("From Alice.", source="user:alice/chat")
    answer = browser.post(f"{reverse('palace:purge')}?subject=source&source=user:al", {"password": PASSWORD})
    assert answer.status_code == 302
    run_due()
    assert page(browser, reverse("palace:memory", args=[gone]), status=404)
    assert page(browser, reverse("palace:memory", args=[kept]))


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("subject=nobody", 422),
        ("subject=agent&agent=x", 404),
        ("subject=agent&agent=01890000-0000-7000-8000-000000000000", 404),
        ("subject=source&source=", 422),
    ],
    ids=["nothing", "unknown", "no id", "unknown agent", "no source"],
)
def test_what_cannot_be_named_is_said(browser: Client, query: str, status: int) -> None:
    page(browser, f"{reverse('palace:purge')}?{query}", status=status)


def test_another_owner_sees_and_erases_nothing(alice: Actor, browser: Client, stranger: Client) -> None:
    agent = create_agent(actor=alice, name="Scribe")
    page(stranger, f"{reverse('palace:purge')}?subject=agent&agent={agent.pk}", status=404)
    browser.post(f"{reverse('palace:purge')}?subject=agent&agent={agent.pk}", {"password": PASSWORD})
    run_due()
    page(stranger, reverse("palace:own-receipt", args=[Purge.objects.get().pk]), status=404)
    assert "Scribe" not in page(stranger, reverse("palace:access-log"))


def test_the_log_is_paged_and_filtered(browser: Client, store: Callable[..., UUID]) -> None:
    for number in range(3):
        store(f"Note {number}")
    html = page(browser, reverse("palace:access-log"))
    assert "login" in html
    filtered = page(browser, reverse("palace:access-log") + "?verb=export")
    assert "Nothing yet" in filtered
    page(browser, reverse("palace:access-log") + "?after=nonsense", status=422)


def test_a_snapshot_is_a_file(browser: Client, store: Callable[..., UUID]) -> None:
    store("In the snapshot.")
    address = reverse("palace:snapshot")
    answer: Any = browser.post(address, {"passphrase": "a long enough phrase", "again": "a long enough phrase"})
    content = b"".join(answer.streaming_content)
    assert answer["Content-Disposition"].startswith("attachment")
    assert len(content) % (512 * 1024) == 0
    assert b"In the snapshot" not in content
    assert browser.post(address, {"passphrase": "one", "again": "two"}).status_code == 422


def test_nothing_left_the_machine_in_tests(alice: Actor) -> None:
    assert not list_outbound(actor=alice, after=None, size=10)
