"""The owners' own table stands outside row-level security: what the application's role cannot do there all the same."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from memory.ids import new_id
from memory.models import Owner, User, owner_scope
from memory.models.tenancy import OWNER_SETTING
from memory.services.accounts import create_owner
from memory.services.actors import Actor
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.remember import remember

AT = "timestamptz '2030-01-01 00:00:00+00'"
REFUSED = {
    "another-id": "id = gen_random_uuid()",
    "another-beginning": "created_at = created_at - interval '1 day'",
    "another-pseudonym": "pseudonym = gen_random_uuid()",
    "no-login-while-it-is-open": "user_id = NULL",
    "closed-without-login-at-once": f"purging_at = {AT}, user_id = NULL",
}
REFUSED_OF_A_CLOSED_ONE = {
    "open-again": "purging_at = NULL",
    "closed-later": f"purging_at = {AT}",
    "another-pseudonym": "pseudonym = gen_random_uuid()",
    "another-login": "user_id = (SELECT id FROM memory_user WHERE username = 'spare')",
}


def run(statement: str, *parameters: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, list(parameters))


def refused(statement: str, *parameters: Any) -> None:
    with pytest.raises(DatabaseError, match="an owner"):
        run(statement, *parameters)


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_an_open_owner_stays_who_it_is(alice: Actor, change: str) -> None:
    before = Owner.objects.values().get(pk=alice.owner_id)
    refused(f"UPDATE memory_owner SET {change} WHERE id = %s", alice.owner_id)
    assert Owner.objects.values().get(pk=alice.owner_id) == before


@pytest.mark.parametrize("change", REFUSED_OF_A_CLOSED_ONE.values(), ids=REFUSED_OF_A_CLOSED_ONE)
def test_what_a_purge_has_closed_stays_closed(alice: Actor, change: str) -> None:
    User.objects.create_user("spare")
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=now())
    refused(f"UPDATE memory_owner SET {change} WHERE id = %s", alice.owner_id)


def test_a_login_leads_to_nobody_elses_memories(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Alice's narwhal."))
    spare = User.objects.create_user("spare")
    client = Client()
    client.force_login(User.objects.get(owner__id=mallory.owner_id))
    for owner_id in (alice.owner_id, mallory.owner_id):
        refused("UPDATE memory_owner SET user_id = %s WHERE id = %s", spare.pk, owner_id)
    assert "narwhal" not in client.get("/recent/").content.decode()


def test_a_login_that_had_no_owner_gets_none(db: None) -> None:
    owner, spare = Owner.objects.create(), User.objects.create_user("spare")
    refused("UPDATE memory_owner SET user_id = %s WHERE id = %s", spare.pk, owner.pk)


def again(owner_id: UUID) -> None:
    """Take an owner's row away and put another in its place, which a deferred foreign key would let pass."""
    run(
        "UPDATE memory_owner SET purging_at = now() WHERE id = %(id)s AND purging_at IS NULL;"
        "DELETE FROM memory_owner WHERE id = %(id)s;"
        "INSERT INTO memory_owner (id, created_at) VALUES (%(id)s, now())".replace("%(id)s", f"'{owner_id}'")
    )


def test_no_row_takes_the_place_of_another(alice: Actor) -> None:
    with owner_scope(alice.owner_id):
        record(actor="person", verb="erase", object_kind="memory", at=now())
    with pytest.raises(DatabaseError, match="begins with nothing"):
        again(alice.owner_id)
    refused("DELETE FROM memory_owner WHERE id = %s", alice.owner_id)
    assert Owner.objects.get(pk=alice.owner_id).purging_at is None


def test_the_check_leaves_the_scope_as_it_was(alice: Actor) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [OWNER_SETTING, str(alice.owner_id)])
        cursor.execute("INSERT INTO memory_owner (id, created_at) VALUES (%s, now())", [new_id()])
        cursor.execute("SELECT current_setting(%s)", [OWNER_SETTING])
        assert cursor.fetchone()[0] == str(alice.owner_id)


def test_an_owner_is_made_closed_and_loses_its_login(db: None) -> None:
    owner = create_owner(username="zoe", password="a long and quiet sentence")
    assert Owner.objects.filter(pk=owner.pk).update(purging_at=now()) == 1
    assert Owner.objects.filter(pk=owner.pk).update(user=None) == 1
    assert Owner.objects.filter(pk=owner.pk).update(user=None) == 1, "a purge that was interrupted does it again"
    run("DELETE FROM memory_owner WHERE id = %s", owner.pk)
    assert not Owner.objects.filter(pk=owner.pk).exists()
