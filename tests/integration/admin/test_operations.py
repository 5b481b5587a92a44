"""What is done from the admin: purges, keys, runs, jobs, logins, spaces and doubts, each by its service."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django_q.models import OrmQ, Task

from config.settings.chosen import env
from memory.crypto.keyring import keyring
from memory.models import (
    ConsolidationRun,
    EmbeddingSpace,
    MemoryVector,
    Owner,
    PendingVector,
    Purge,
    User,
    owner_scope,
)
from memory.services import storage as stores
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.jobs import SEAL_AUDIT, ensure_schedules
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from tests.conftest import PASSWORD
from tests.integration.admin.test_owners import acts, choose, pseudonym
from tests.integration.palace.conftest import HTMX

PAGES = ("owners", "storage", "logins", "spaces", "review", "consolidation", "keys", "purge", "jobs", "settings")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_drawn_for_an_owner_with_nothing(staff: Client, page: str) -> None:
    html = staff.get(reverse(f"loci-admin:{page}")).content.decode()
    assert "<h1>" in html
    assert " style=" not in html
    assert html.count("<script") == html.count("<script src")


def test_the_front_page_tells_how_the_installation_is(staff: Client, boss: Actor) -> None:
    remember(actor=boss, draft=Draft(text="A text that no dashboard repeats."))
    html = staff.get(reverse("admin:index")).content.decode()
    for heading in (
        "Health",
        "Job queue",
        "In doubt",
        "Stored",
        "Text keys",
        "Embedding spaces",
        "Coverage",
        "Telemetry, 30 days",
    ):
        assert heading in html
    assert "no dashboard repeats" not in html
    assert "turns of agents" in html


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_an_owner_is_purged_from_click_to_receipt(staff: Client, boss: Actor, alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Alice keeps bees."))
    choose(staff, alice)
    page = reverse("loci-admin:purge")
    assert "Memories, with turns" in staff.get(page, {"counted": "1"}).content.decode()
    form = {"owner": str(alice.owner_id), "confirm_name": "alice", "password": PASSWORD}
    for wrong, status in (({"confirm_name": "bob"}, 422), ({"password": "wrong"}, 403), ({"password": ""}, 422)):
        answer = staff.post(page, {**form, **wrong})
        assert answer.status_code == status, answer.content.decode()
    assert not Purge.objects.exists()
    answer = staff.post(page, form)
    assert answer.status_code == 302
    purge = Purge.objects.get()
    assert purge.requested_by == pseudonym(boss)
    run_purge(purge_id=purge.pk)
    assert "Download the receipt" in staff.get(answer["Location"]).content.decode()
    assert not Owner.objects.filter(pk=alice.owner_id).exists()
    assert "You see your own owner" in staff.get(reverse("admin:index")).content.decode()


def test_staff_who_erases_the_own_owner_is_logged_out(staff: Client, boss: Actor) -> None:
    form = {"owner": str(boss.owner_id), "confirm_name": "boss", "password": PASSWORD}
    assert staff.post(reverse("loci-admin:purge"), form).status_code == 302
    assert staff.get(reverse("admin:index")).status_code == 302


def test_a_text_key_is_rotated_after_the_password(staff: Client, boss: Actor) -> None:
    page, form = reverse("loci-admin:keys"), {"owner": str(boss.owner_id)}
    assert staff.post(page, {**form, "password": "wrong"}).status_code == 403
    assert max(keyring().vault.versions(boss.owner_id)) == 1
    assert staff.post(page, {**form, "password": PASSWORD}).status_code == 302
    assert max(keyring().vault.versions(boss.owner_id)) == 2
    assert "A rotation is under way" in staff.get(page).content.decode()
    assert staff.get(page, {"counted": "1"}).status_code == 200


def test_a_run_of_consolidation_is_asked_for(staff: Client, boss: Actor, alice: Actor) -> None:
    choose(staff, alice)
    page = reverse("loci-admin:consolidation")
    assert staff.post(page, {"owner": str(alice.owner_id)}).status_code == 302
    with owner_scope(alice.owner_id):
        assert ConsolidationRun.objects.count() == 1
    assert "waits for a worker" in staff.get(page).content.decode()


def test_schedules_are_shown_and_run_and_failures_without_values(staff: Client) -> None:
    ensure_schedules()
    Task.objects.create(
        id="1", name="one", func=SEAL_AUDIT, started=now(), stopped=now(), success=False,
        result="boom\nTraceback\nJobError: ValueError in chain.py, seal, line 3",
    )  # fmt: skip
    page = reverse("loci-admin:jobs")
    html = staff.get(page).content.decode()
    assert "seals of the audit" in html
    assert "JobError: ValueError in chain.py, seal, line 3" in html
    before = OrmQ.objects.count()
    assert staff.post(page, {"task": SEAL_AUDIT}).status_code == 302
    assert OrmQ.objects.count() == before + 1
    assert staff.post(page, {"task": "os.system"}).status_code == 404
    assert OrmQ.objects.count() == before + 1


def test_no_secret_stands_in_the_settings(staff: Client, settings: Any) -> None:
    html = staff.get(reverse("loci-admin:settings")).content.decode()
    assert "secret, never shown" in html
    assert settings.SECRET_KEY not in html
    assert settings.QUEUE_SIGNING_KEY not in html


def test_every_setting_with_a_value_shows_it(staff: Client, settings: Any) -> None:
    html = staff.get(reverse("loci-admin:settings")).content.decode()
    shown = dict(re.findall(r"<dt><code>([A-Z0-9_]+)</code> <span>([^<]*)</span>", html))
    assert set(shown) == set(env.declarations)
    with_value = {one.name for one in env.declarations.values() if one.default not in ("", "{}") and not one.secret}
    assert {name for name in with_value if shown[name] == "–"} == set()
    assert shown["LOCI_DATA_DIR"] == str(settings.DATA_DIRECTORY)
    assert shown["LOCI_RATE_WRITE"] == settings.RATE_WRITE
    assert shown["LOCI_LOG_LEVEL"] == settings.LOG_LEVEL
    assert shown["LOCI_DEBUG"] == "no"
    assert shown["LLM_BASE_URL"] == "–"
    assert {shown[one.name] for one in env.declarations.values() if one.secret} == {"secret, never shown"}


def _change(client: Client, name: str, act: str, password: str = PASSWORD) -> Any:
    form = {"form": "change", "username": name, "act": act, "password": password}
    return client.post(reverse("loci-admin:logins"), form)


def test_logins_are_made_shut_out_and_given_passwords_for_once(staff: Client, boss: Actor) -> None:
    form = {"form": "create", "username": "carol", "level": "none", "password": PASSWORD}
    html = staff.post(reverse("loci-admin:logins"), form).content.decode()
    (made,) = re.findall(r'<code class="secret">([^<]+)</code>', html)
    assert User.objects.get(username="carol").check_password(made)
    html = _change(staff, "carol", "password").content.decode()
    (other,) = re.findall(r'<code class="secret">([^<]+)</code>', html)
    carol = User.objects.get(username="carol")
    assert carol.check_password(other)
    assert not carol.check_password(made)
    _change(staff, "carol", "shut")
    assert not User.objects.get(username="carol").is_active
    _change(staff, "carol", "open")
    _change(staff, "carol", "level-own")
    carol.refresh_from_db()
    assert (carol.is_active, carol.is_staff, carol.is_superuser) == (True, True, False)
    owner = Owner.objects.get(user=carol)
    assert {event.actor for event in acts(Actor(owner.pk, "person"), "password")} == {pseudonym(boss)}
    assert [event.verb for event in acts(Actor(owner.pk, "person"), "disable")] == ["disable"]


@pytest.mark.parametrize(
    ("name", "act", "password", "status", "words"),
    [
        ("boss", "shut", PASSWORD, 409, "last login of staff"),
        ("boss", "level-none", PASSWORD, 409, "last login of staff"),
        ("nobody", "shut", PASSWORD, 404, "no login of this name"),
        ("\0", "password", PASSWORD, 404, "no login of this name"),
        ("\0", "shut", PASSWORD, 404, "no login of this name"),
        ("bo\0ss", "level-own", PASSWORD, 404, "no login of this name"),
        ("boss", "password", "wrong", 403, "The password is wrong"),
        ("boss", "explode", PASSWORD, 422, "Select a valid choice"),
    ],
)
def test_what_cannot_be_done_to_a_login_says_so(
    staff: Client, name: str, act: str, password: str, status: int, words: str
) -> None:
    answer = _change(staff, name, act, password)
    assert answer.status_code == status
    assert words in answer.content.decode()
    assert User.objects.get(username="boss").is_active


@pytest.mark.parametrize("level", ["none", "own", "all"])
@pytest.mark.parametrize("typed", ["Mol", "\uff2d\uff4f\uff4c"])
def test_a_login_has_the_form_of_its_name_that_people_type(staff: Client, boss: Actor, typed: str, level: str) -> None:
    form = {"form": "create", "username": typed, "level": level, "password": PASSWORD}
    answer = staff.post(reverse("loci-admin:logins"), form)
    html = answer.content.decode()
    assert answer.status_code == 200
    (made,) = re.findall(r'<code class="secret">([^<]+)</code>', html)
    login = User.objects.get(username="Mol")
    assert login.check_password(made)
    assert (login.is_staff, login.is_superuser) == (level != "none", level == "all")
    owner = Actor(Owner.objects.get(user=login).pk, "person")
    assert [event.actor for event in acts(owner, "promote")] == ([] if level == "none" else [pseudonym(boss)])
    assert _change(staff, typed, "shut").status_code == 200
    assert not User.objects.get(username="Mol").is_active


@pytest.mark.parametrize("typed", ["boss", "BOSS", "\uff42\uff4f\uff53\uff53", "\uff22\uff2f\uff33\uff33"])
def test_a_name_that_looks_like_one_there_is_is_taken(staff: Client, typed: str) -> None:
    form = {"form": "create", "username": typed, "level": "own", "password": PASSWORD}
    answer = staff.post(reverse("loci-admin:logins"), form)
    assert answer.status_code == 409
    assert "This name is taken" in answer.content.decode()
    assert (User.objects.count(), Owner.objects.count()) == (1, 1)


@pytest.mark.parametrize("name", ["boss", "", "a b", "\0", "a\0b"])
def test_a_name_that_cannot_be_used_makes_no_login(staff: Client, name: str) -> None:
    form = {"form": "create", "username": name, "level": "none", "password": PASSWORD}
    assert staff.post(reverse("loci-admin:logins"), form).status_code in (409, 422)
    assert User.objects.count() == 1


def test_a_space_answers_questions_with_distances_and_masks(staff: Client, boss: Actor, settings: Any) -> None:
    remember(actor=boss, draft=Draft(text="Write to anna.silva@example.org for invoices."))
    space = EmbeddingSpace.objects.get()
    page, form = reverse("loci-admin:space", args=[space.pk]), {"owner": str(boss.owner_id), "act": "ask"}
    assert "Make the missing vectors" in staff.get(page).content.decode()
    html = staff.post(page, {**form, "question": "invoices"}).content.decode()
    assert re.search(r"[01]\.\d{4}", html)
    assert "[EMAIL]" in html
    assert "anna.silva" not in html
    assert staff.post(page, {**form, "question": "  "}).status_code == 422
    assert staff.post(page, {**form, "question": "x" * 2001}).status_code == 422
    assert staff.get(reverse("loci-admin:space", args=[9999])).status_code == 404


def test_missing_vectors_are_called_for(staff: Client, boss: Actor) -> None:
    one = remember(actor=boss, draft=Draft(text="The tide turns at noon.")).memory_id
    with owner_scope(boss.owner_id):
        MemoryVector.objects.filter(memory_id=one).delete()
    space = EmbeddingSpace.objects.get()
    page = reverse("loci-admin:space", args=[space.pk])
    answer = staff.post(page, {"owner": str(boss.owner_id), "act": "vectors"}, follow=True)
    assert "1 memory waits for its vector." in answer.content.decode()
    with owner_scope(boss.owner_id):
        assert PendingVector.objects.filter(memory_id=one).count() == 1


def test_storage_is_counted_by_owner(staff: Client, boss: Actor, alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Alice keeps bees."))
    html = staff.get(reverse("loci-admin:storage")).content.decode()
    assert str(alice.owner_id) in html
    assert re.search(r">alice</bdi>.*?<td class=\"number\">1</td>", html, re.DOTALL)
    assert "There are no more owners." in staff.get(reverse("loci-admin:storage"), {"page": "99"}).content.decode()
    assert staff.get(reverse("loci-admin:storage"), {"page": "9" * 5_000}).status_code == HTTPStatus.OK


def test_the_front_page_shows_who_stores_the_most(
    staff: Client, boss: Actor, alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("loci-admin:largest")
    assert f'hx-get="{address}"' in staff.get(reverse("admin:index")).content.decode()
    assert staff.get(address)["Location"] == reverse("admin:index")
    remember(actor=boss, draft=Draft(text="I keep bees."))
    for text in ("Alice sails.", "Alice rows."):
        remember(actor=alice, draft=Draft(text=text))
    html = staff.get(address, headers=HTMX).content.decode()
    rows = re.findall(r'title="([^"]+)">([^<]+)</span></th><td class="number">([^<]+)</td>', html)
    assert rows == [(str(alice.owner_id), "alice", "2"), (str(boss.owner_id), "boss", "1")]
    assert "oldest owners" not in html
    monkeypatch.setattr(stores, "LARGEST_AMONG", 1)
    html = staff.get(address, headers=HTMX).content.decode()
    assert "alice" not in html
    assert "Among the 1 oldest owners." in html


def test_who_may_look_at_the_own_owner_only_sees_no_storage_of_others(staff: Client, boss: Actor, alice: Actor) -> None:
    User.objects.filter(username="boss").update(is_superuser=False)
    remember(actor=alice, draft=Draft(text="Alice sails."))
    html = staff.get(reverse("loci-admin:largest"), headers=HTMX).content.decode()
    assert "alice" not in html
    assert "boss" in html
    assert "Storage of every owner" not in staff.get(reverse("admin:index")).content.decode()
