"""Every key vault keeps the same promises, in a directory and in a database."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from memory.crypto.keyring import LIFETIME_SECONDS, Keyring
from memory.errors import KeysUnavailable
from memory.providers.vault import WrappedVault
from memory.providers.vault_database import CHECK_ID, DatabaseVault
from memory.providers.vault_directory import CHECK_FILE, DirectoryVault
from runtime.postgres.cluster import Cluster

MASTER = secrets.token_bytes(32)
DATABASE = "loci_test_keys"


class Store:
    """One kind of vault with direct access to what it has stored."""

    def __init__(
        self,
        open_: Callable[[bytes], WrappedVault],
        read: Callable[[UUID], str],
        write: Callable[[UUID, str], object],
        drop_check: Callable[[], object],
    ) -> None:
        self.open, self.read, self.write, self.drop_check = open_, read, write, drop_check


def directory_store(folder: Path) -> Store:
    def path(owner: UUID) -> Path:
        return folder / "owners" / f"{owner}.json"

    return Store(
        lambda key: DirectoryVault(folder, key),
        lambda owner: path(owner).read_text(),
        lambda owner, text: path(owner).write_text(text),
        lambda: (folder / CHECK_FILE).unlink(),
    )


def database_store(url: str) -> Store:
    def run(statement: str, *parameters: Any) -> Any:
        with psycopg.connect(url, autocommit=True) as connection:
            answer = connection.execute(statement.encode(), parameters)
            return answer.fetchall() if answer.description else None

    return Store(
        lambda key: DatabaseVault(url, key),
        lambda owner: json.dumps(run("SELECT entry FROM loci_keys WHERE owner_id = %s", owner)[0][0]),
        lambda owner, text: run("UPDATE loci_keys SET entry = %s::jsonb WHERE owner_id = %s", text, owner),
        lambda: run("DELETE FROM loci_keys WHERE owner_id = %s", CHECK_ID),
    )


@pytest.fixture(params=["directory", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "directory":
        yield directory_store(tmp_path / "keys")
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    name = f"{DATABASE}_{secrets.token_hex(4)}"
    admin = f"host={cluster.socket_directory} user=postgres dbname=postgres"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    try:
        yield database_store(f"host={cluster.socket_directory} user=postgres dbname={name}")
    finally:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@pytest.fixture
def vault(store: Store) -> WrappedVault:
    return store.open(MASTER)


def test_keys_survive_and_differ(store: Store, vault: WrappedVault) -> None:
    one, two = uuid4(), uuid4()
    assert not vault.used_before()
    made = vault.create(one)
    vault.create(two)
    again = store.open(MASTER)
    assert again.used_before()
    assert again.load(one) == made
    assert again.load(two).root != made.root
    assert again.owners() == {one, two}
    assert made.text_version == 1


def test_nothing_stored_is_a_key(store: Store, vault: WrappedVault) -> None:
    owner = uuid4()
    made = vault.create(owner)
    stored = store.read(owner)
    for secret in (made.root, made.text_seeds[1], MASTER):
        assert secret.hex() not in stored
        assert str(secret) not in stored


def test_another_master_key_is_refused(store: Store, vault: WrappedVault) -> None:
    owner = uuid4()
    vault.create(owner)
    other = store.open(secrets.token_bytes(32))
    with pytest.raises(KeysUnavailable, match="not the one"):
        other.verify()
    with pytest.raises(KeysUnavailable):
        other.load(owner)
    with pytest.raises(KeysUnavailable):
        other.create(uuid4())


def test_an_owner_gets_keys_once(vault: WrappedVault) -> None:
    owner = uuid4()
    made = vault.create(owner)
    with pytest.raises(KeysUnavailable, match="already"):
        vault.create(owner)
    assert vault.load(owner) == made


def test_keys_of_one_owner_do_not_pass_for_another(store: Store, vault: WrappedVault) -> None:
    one, two = uuid4(), uuid4()
    vault.create(one)
    vault.create(two)
    store.write(two, store.read(one))
    with pytest.raises(KeysUnavailable, match="do not open"):
        vault.load(two)


@pytest.mark.parametrize("content", ["{}", '{"format": 1}', '{"format": 2, "root": "", "text": {}}'])
def test_a_damaged_entry_is_refused(store: Store, vault: WrappedVault, content: str) -> None:
    owner = uuid4()
    vault.create(owner)
    store.write(owner, content)
    with pytest.raises(KeysUnavailable):
        vault.load(owner)


def test_keys_without_a_check_value_are_refused(store: Store, vault: WrappedVault) -> None:
    vault.create(uuid4())
    store.drop_check()
    with pytest.raises(KeysUnavailable, match="check value"):
        vault.verify()


def test_destroyed_keys_are_gone(vault: WrappedVault) -> None:
    owner = uuid4()
    vault.create(owner)
    vault.destroy(owner)
    vault.destroy(owner)
    assert vault.owners() == set()
    with pytest.raises(KeysUnavailable):
        vault.load(owner)


def test_a_seed_that_is_gone_takes_its_version_along(store: Store, vault: WrappedVault) -> None:
    owner = uuid4()
    vault.create(owner)
    stored = json.loads(store.read(owner))
    stored["text"] = {"2": vault.wrapping.wrap(secrets.token_bytes(32), owner, "text/2")}
    store.write(owner, json.dumps(stored))
    keys = vault.load(owner)
    assert keys.text_version == 2
    assert 1 not in keys.text_seeds


def test_the_keyring_asks_again_after_a_while(vault: WrappedVault) -> None:
    clock = [0.0]
    ring = Keyring(lambda: vault, monotonic=lambda: clock[0])
    owner = uuid4()
    ring.create(owner)
    vault.destroy(owner)
    clock[0] = LIFETIME_SECONDS + 1
    with pytest.raises(KeysUnavailable):
        ring.of(owner)


def test_an_unreachable_database_is_a_clear_error() -> None:
    vault = DatabaseVault("postgresql://nobody:secret@127.0.0.1:1/keys", MASTER)
    with pytest.raises(KeysUnavailable, match="KEYS_DATABASE_URL") as caught:
        vault.load(uuid4())
    assert "secret" not in str(caught.value)
