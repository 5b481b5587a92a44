"""Keys of a new owner stay where nobody knows whether the owner was saved, and go where it was refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from memory.crypto.keyring import keyring
from memory.errors import Conflict
from memory.models import Owner
from memory.services.accounts import create_first_owner, create_owner, owners_without_keys
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)

WAYS: dict[str, Callable[[], object]] = {
    "one more": lambda: create_owner(username="alice", password=PASSWORD),
    "the first one": create_first_owner,
}


@pytest.mark.parametrize("create", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_an_owner_whose_commit_is_not_answered_has_keys(
    create: Callable[[], object], error: type[DatabaseError], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = connection.commit

    def unanswered() -> None:
        commit()
        raise error("the connection was lost")

    with monkeypatch.context() as broken:
        broken.setattr(connection, "commit", unanswered)
        with pytest.raises(error):
            create()
    owner = Owner.objects.get()
    assert owners_without_keys() == set()
    assert keyring().of(owner.pk).newest() == 1


def test_keys_of_one_that_was_refused_go() -> None:
    create_owner(username="alice", password=PASSWORD)
    known = keyring().vault.owners()
    with pytest.raises(Conflict):
        create_owner(username="alice", password=PASSWORD)
    assert keyring().vault.owners() == known
