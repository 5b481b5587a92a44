"""The admin shows one owner at a time, and that staff looks at another is told to that one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memory.admin.owner_choice import KEPT_IN, LASTS
from memory.models import AuditEvent, Memory, Owner, Status, User, owner_scope
from memory.services.actors import Actor
from memory.services.audit.access_log import LogRequest, access_log, who_read
from memory.services.audit.readers import flush
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.remember import remember
from tests.integration.palace.conftest import client_of


def choose(client: Client, owner: Actor) -> Any:
    return client.post(reverse("loci-admin:owners"), {"chosen": str(owner.owner_id)})


def acts(owner: Actor, verb: str) -> list[AuditEvent]:
    with owner_scope(owner.owner_id):
        return list(AuditEvent.objects.filter(verb=verb).order_by("created_at"))


def pseudonym(owner: Actor) -> str:
    return f"staff:{Owner.objects.get(pk=owner.owner_id).pseudonym}"


def test_staff_find_and_choose_an_owner_which_every_page_says(staff: Client, boss: Actor, alice: Actor) -> None:
    page = reverse("loci-admin:owners")
    assert str(alice.owner_id) in staff.get(page, {"q": "ali"}).content.decode()
    assert str(alice.owner_id) in staff.get(page, {"q": str(alice.owner_id)}).content.decode()
    assert "No owner fits." in staff.get(page, {"q": "zebra"}).content.decode()
    assert choose(staff, alice).status_code == 302
    one = remember(actor=alice, draft=Draft(text="Alice keeps bees.")).memory_id
    for path in (reverse("admin:index"), reverse("admin:memory_memory_changelist"), reverse("loci-admin:keys")):
        html = staff.get(path).content.decode()
        assert "You look at another owner" in html
        assert str(alice.owner_id) in html
    assert "Alice keeps bees." in staff.get(reverse("admin:memory_memory_change", args=[one])).content.decode()
    staff.post(reverse("loci-admin:own"))
    html = staff.get(reverse("admin:memory_memory_changelist")).content.decode()
    assert "You see your own owner" in html
    assert "bees" not in html


def test_the_owner_reads_in_the_access_log_that_and_what_staff_looked_at(
    staff: Client, boss: Actor, alice: Actor
) -> None:
    one = remember(actor=alice, draft=Draft(text="Alice keeps bees.")).memory_id
    choose(staff, alice)
    (looked,) = acts(alice, "look")
    assert looked.actor == pseudonym(boss)
    staff.get(reverse("admin:memory_memory_changelist"))
    staff.get(reverse("admin:memory_memory_change", args=[one]))
    assert {(event.actor, event.object_kind) for event in acts(alice, "read")} == {
        (pseudonym(boss), "rows"),
        (pseudonym(boss), "memory"),
    }
    log = client_of(alice).get(reverse("palace:access-log")).content.decode()
    assert "staff of this server" in log
    assert len(access_log(actor=alice, request=LogRequest(actor=pseudonym(boss)))) == 3
    flush()
    found = who_read(actor=alice, memory_id=one)
    assert [reader.staff for reader in found if reader.agent_id] == [True]
    assert acts(boss, "look") == []


def test_each_search_of_staff_stands_in_the_owners_access_log(staff: Client, boss: Actor, alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Write to anna.silva@example.org for invoices."))
    choose(staff, alice)
    page = reverse("admin:memory_memory_changelist")
    found = staff.get(page, {"q": "invoices"}).content.decode()
    assert "[EMAIL]" in found
    assert "masked ones too" in found
    assert "There is nothing here." in staff.get(page, {"q": "zebra"}).content.decode()
    searches = [event for event in acts(alice, "read") if event.object_kind == "row_search"]
    assert [(event.actor, event.count) for event in searches] == [(pseudonym(boss), 1), (pseudonym(boss), 0)]
    log = client_of(alice).get(reverse("palace:access-log")).content.decode()
    assert log.count("row search") >= 2
    assert "zebra" not in log


def test_what_staff_reads_of_the_own_owner_is_not_recorded(staff: Client, boss: Actor) -> None:
    remember(actor=boss, draft=Draft(text="The boss keeps goats."))
    staff.get(reverse("admin:memory_memory_changelist"))
    assert acts(boss, "read") == []


def test_staff_reveals_what_is_anothers_for_a_reason_only(staff: Client, boss: Actor, alice: Actor) -> None:
    one = remember(actor=alice, draft=Draft(text="Write to anna.silva@example.org for invoices.")).memory_id
    choose(staff, alice)
    address = reverse("admin:memory_memory_change", args=[one])
    form = {"action": "reveal", "owner": str(alice.owner_id)}
    for reason in ("", "curious"):
        answer = staff.post(address, {**form, "reason": reason})
        assert answer.status_code == 422
        assert "anna.silva" not in answer.content.decode()
    assert acts(alice, "reveal") == []
    assert "anna.silva@example.org" in staff.post(address, {**form, "reason": "support"}).content.decode()
    (revealed,) = acts(alice, "reveal")
    assert (revealed.actor, revealed.reason, revealed.object_id) == (pseudonym(boss), "support", one)


def test_a_form_of_the_owner_that_was_chosen_before_does_nothing(staff: Client, boss: Actor, alice: Actor) -> None:
    one = remember(actor=alice, draft=Draft(text="Alice keeps bees.")).memory_id
    choose(staff, alice)
    form = {"action": "archive", "_selected_action": [str(one)], "owner": str(boss.owner_id)}
    answer = staff.post(reverse("admin:memory_memory_changelist"), form)
    assert answer.status_code == 409
    assert "admin.other_owner" in answer.content.decode()
    for page in ("purge", "keys", "consolidation"):
        answer = staff.post(reverse(f"loci-admin:{page}"), {"owner": str(boss.owner_id)})
        assert answer.status_code == 409, page
    with owner_scope(alice.owner_id):
        assert Memory.objects.get(pk=one).status == Status.LIVE


def test_what_staff_does_to_anothers_rows_is_recorded_as_staffs(staff: Client, boss: Actor, alice: Actor) -> None:
    one = remember(actor=alice, draft=Draft(text="Alice keeps bees.")).memory_id
    choose(staff, alice)
    address = reverse("admin:memory_memory_change", args=[one])
    staff.post(address, {"action": "archive", "owner": str(alice.owner_id)})
    (archived,) = acts(alice, "archive")
    assert archived.actor == pseudonym(boss)


def test_a_choice_ends_by_itself(staff: Client, boss: Actor, alice: Actor) -> None:
    choose(staff, alice)
    assert "You look at another owner" in staff.get(reverse("loci-admin:spaces")).content.decode()
    session = staff.session
    owner_id, _ = session[KEPT_IN]
    session[KEPT_IN] = [owner_id, (now() - LASTS - timedelta(seconds=1)).isoformat()]
    session.save()
    assert "You see your own owner" in staff.get(reverse("loci-admin:spaces")).content.decode()


def test_who_no_longer_looks_after_the_installation_is_back_at_the_own_owner(
    staff: Client, boss: Actor, alice: Actor
) -> None:
    choose(staff, alice)
    User.objects.filter(username="boss").update(is_superuser=False)
    html = staff.get(reverse("admin:index")).content.decode()
    assert "You see your own owner" in html
    assert str(alice.owner_id) not in html


@pytest.mark.parametrize("page", ["owners", "storage", "logins", "jobs", "settings"])
def test_staff_for_the_own_owner_only_gets_no_page_of_the_installation(boss: Actor, alice: Actor, page: str) -> None:
    User.objects.filter(username="boss").update(is_superuser=False)
    client = client_of(boss)
    assert client.get(reverse(f"loci-admin:{page}")).status_code == 403
    assert choose(client, alice).status_code == 403
    for name in ("owner", "user", "purge", "retiredauditevent", "duework"):
        html = client.get(reverse(f"admin:memory_{name}_changelist")).content.decode()
        assert "alice" not in html
        assert str(alice.owner_id) not in html


@pytest.mark.parametrize("chosen", ["", "x", "01890a5d-ac96-774b-bcce-b302099a8057"])
def test_who_is_no_owner_cannot_be_chosen(staff: Client, chosen: str) -> None:
    assert staff.post(reverse("loci-admin:owners"), {"chosen": chosen}).status_code in (404, 422)


def test_an_owner_who_is_being_erased_is_no_longer_shown(staff: Client, alice: Actor) -> None:
    choose(staff, alice)
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=now())
    assert "You see your own owner" in staff.get(reverse("admin:index")).content.decode()
    assert str(alice.owner_id) not in staff.get(reverse("loci-admin:owners")).content.decode()
