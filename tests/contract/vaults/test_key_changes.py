"""Versions of text keys and the change of the master key, in every kind of vault, also when interrupted anywhere."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from memory.crypto.keyring import LIFETIME_SECONDS, Keyring
from memory.crypto.sealing import Place
from memory.errors import KeysUnavailable
from memory.providers.vault import WrappedVault
from memory.providers.vault_directory import DirectoryVault
from memory.providers.vault_rewrapping import abandon, finish, in_charge, rewrap, unfinished
from tests.contract.vaults.test_vaults import MASTER, Store, store, vault

__all__ = ["store", "vault"]

NEXT = secrets.token_bytes(32)
AT = datetime(2030, 1, 31, tzinfo=UTC)


class Killed(BaseException):
    """Stands for the death of the process."""


def place(owner: UUID) -> Place:
    return Place(owner, "memory_memory", "text", uuid4())


class TestVersions:
    def test_a_new_version_has_a_seed_of_its_own_and_seals_at_once(self, store: Store, vault: WrappedVault) -> None:
        owner = uuid4()
        first = vault.create(owner)
        second = vault.add_version(owner, after=1, at=AT)
        assert (second.root, second.text_version, second.made_at[2]) == (first.root, 2, AT)
        assert second.text_seeds[1] == first.text_seeds[1] != second.text_seeds[2]
        assert store.open(MASTER).load(owner) == second

    def test_a_version_that_exists_is_not_made_again(self, vault: WrappedVault) -> None:
        owner = uuid4()
        vault.create(owner)
        made = vault.add_version(owner, after=1, at=AT)
        assert vault.add_version(owner, after=1, at=AT) == made
        assert vault.add_version(owner, after=2, at=AT).text_version == 3

    def test_a_destroyed_version_opens_nothing_more(self, store: Store, vault: WrappedVault) -> None:
        owner = uuid4()
        ring = Keyring(lambda: vault)
        where = place(owner)
        sealed = ring.create(owner).seal("tea", place=where)
        vault.add_version(owner, after=1, at=AT)
        before = json.loads(store.read(owner))["text"]["1"]
        kept = vault.destroy_versions(owner, below=2)
        assert set(kept.text_seeds) == set(kept.made_at) == {2}
        assert before not in store.read(owner)
        with pytest.raises(KeysUnavailable, match="destroyed"):
            Keyring(lambda: store.open(MASTER)).of(owner).unseal(sealed, place=where)

    def test_the_newest_version_is_always_kept(self, vault: WrappedVault) -> None:
        owner = uuid4()
        vault.create(owner)
        assert set(vault.destroy_versions(owner, below=99).text_seeds) == {1}

    def test_an_entry_of_an_earlier_form_is_taken(self, store: Store, vault: WrappedVault) -> None:
        owner = uuid4()
        vault.create(owner)
        stored = json.loads(store.read(owner))
        del stored["made"]
        store.write(owner, json.dumps(stored))
        assert vault.load(owner).made_at == {}
        assert vault.add_version(owner, after=1, at=AT).made_at == {2: AT}


class TestAnotherProcess:
    def test_it_opens_what_a_version_sealed_that_it_does_not_know_yet(self, store: Store, vault: WrappedVault) -> None:
        owner, other = uuid4(), Keyring(lambda: store.open(MASTER), monotonic=lambda: 0.0)
        ring = Keyring(lambda: vault)
        ring.create(owner)
        held = other.of(owner)
        vault.add_version(owner, after=1, at=AT)
        ring.forget()
        where = place(owner)
        assert held.unseal(ring.of(owner).seal("tea", place=where), place=where) == "tea"
        assert held.seal("tea", place=where).version == 2

    def test_a_ring_held_for_long_seals_with_the_new_version(self, store: Store, vault: WrappedVault) -> None:
        clock = [0.0]
        owner, other = uuid4(), Keyring(lambda: store.open(MASTER), monotonic=lambda: clock[0])
        vault.create(owner)
        held = other.of(owner)
        vault.add_version(owner, after=1, at=AT)
        clock[0] = LIFETIME_SECONDS
        assert held.seal("tea", place=place(owner)).version == 2
        vault.destroy_versions(owner, below=2)
        clock[0] *= 2
        assert held.seal("tea", place=place(owner)).version == 2
        assert set(held.keys.text_seeds) == {2}

    def test_a_directory_tells_at_once(self, tmp_path: Path) -> None:
        vault = DirectoryVault(tmp_path / "vault", MASTER)
        owner = uuid4()
        other = Keyring(lambda: DirectoryVault(tmp_path / "vault", MASTER), monotonic=lambda: 0.0)
        vault.create(owner)
        held = other.of(owner)
        vault.add_version(owner, after=1, at=AT)
        assert held.seal("tea", place=place(owner)).version == 2


class TestWiping:
    def test_destroyed_keys_are_overwritten_in_this_process(self, vault: WrappedVault) -> None:
        ring = Keyring(lambda: vault)
        held = ring.create(uuid4())
        assert any(held.keys.root)
        ring.destroy(held.owner_id)
        assert not any(held.keys.root)
        assert not any(held.keys.text_seeds[1])

    def test_keys_of_one_caller_are_not_those_of_another(self, vault: WrappedVault) -> None:
        owner = uuid4()
        made = vault.create(owner)
        first, second = vault.load(owner), vault.load(owner)
        first.wipe()
        assert not any(first.root)
        assert second == made == vault.load(owner)

    def test_versions_are_told_without_a_key(self, store: Store, vault: WrappedVault) -> None:
        owner = uuid4()
        made = vault.create(owner).made_at[1]
        vault.add_version(owner, after=1, at=AT)
        assert store.open(NEXT).versions(owner) == {1: made, 2: AT}


class TestMasterKey:
    def test_everything_opens_with_the_new_one_and_the_old_one_is_refused(
        self, store: Store, vault: WrappedVault
    ) -> None:
        made = {owner: vault.create(owner) for owner in (uuid4(), uuid4())}
        before = [store.read(owner) for owner in made]
        assert rewrap(vault, store.open(NEXT)) == 2
        new = store.open(NEXT)
        new.verify()
        assert {owner: new.load(owner) for owner in made} == made
        assert not unfinished(new)
        for old in (vault, store.open(MASTER)):
            with pytest.raises(KeysUnavailable, match="not the one"):
                old.verify()
            for owner in made:
                with pytest.raises(KeysUnavailable):
                    old.load(owner)
            with pytest.raises(KeysUnavailable):
                old.add_version(next(iter(made)), after=1, at=AT)
        wraps = [json.loads(text)["root"] for text in before]
        assert not any(wrap in store.read(owner) for wrap in wraps for owner in made)

    @pytest.mark.parametrize("writes", range(12))
    def test_killed_after_any_write_nothing_is_lost_and_it_is_finished(
        self, store: Store, vault: WrappedVault, writes: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = {owner: vault.create(owner) for owner in (uuid4(), uuid4(), uuid4())}
        left = [writes]

        def dying(write: Callable[..., None]) -> Callable[..., None]:
            def written(*arguments: object) -> None:
                if not left[0]:
                    raise Killed
                left[0] -= 1
                write(*arguments)

            return written

        old, new = store.open(MASTER), store.open(NEXT)
        for one in (old, new):
            monkeypatch.setattr(one, "replace", dying(one.replace))
            # In a database the check entry is written by `replace` as well.
            if isinstance(one, DirectoryVault):
                monkeypatch.setattr(one, "replace_check", dying(one.replace_check))
        # Three entries twice, the check entry twice.
        if writes < 8:
            with pytest.raises(Killed):
                rewrap(old, new)
        else:
            rewrap(old, new)
        charge = store.open(NEXT) if in_charge(store.open(NEXT)) else store.open(MASTER)
        charge.verify()
        assert {owner: charge.load(owner) for owner in made} == made
        rewrap(store.open(MASTER), store.open(NEXT))
        assert {owner: store.open(NEXT).load(owner) for owner in made} == made
        assert not unfinished(store.open(NEXT))

    def test_owners_and_versions_that_come_meanwhile_are_not_lost(
        self, store: Store, vault: WrappedVault, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, two = uuid4(), uuid4()
        vault.create(one)
        old = store.open(MASTER)
        listed = old.owners

        def owners() -> set[UUID]:
            found = listed()
            monkeypatch.setattr(old, "owners", listed)
            # A process with the old key goes on after the owners were listed.
            vault.create(two)
            vault.add_version(one, after=1, at=AT)
            return found

        monkeypatch.setattr(old, "owners", owners)
        rewrap(old, store.open(NEXT))
        new = store.open(NEXT)
        assert new.load(one).text_version == 2
        assert new.load(two).text_version == 1

    def test_a_third_key_does_not_get_in_between(self, store: Store, vault: WrappedVault) -> None:
        vault.create(uuid4())
        begun(vault, store.open(NEXT))
        with pytest.raises(KeysUnavailable, match="another new master key"):
            rewrap(vault, store.open(secrets.token_bytes(32)))
        vault.verify()
        assert rewrap(vault, store.open(NEXT)) == 1

    def test_a_wrong_old_key_changes_nothing(self, store: Store, vault: WrappedVault) -> None:
        owner = uuid4()
        made = vault.create(owner)
        with pytest.raises(KeysUnavailable, match="not the one"):
            rewrap(store.open(secrets.token_bytes(32)), store.open(NEXT))
        vault.verify()
        assert vault.load(owner) == made
        assert "next" not in (vault.find_check() or {})

    def test_a_change_can_be_given_up_until_the_new_key_is_in_charge(self, store: Store, vault: WrappedVault) -> None:
        owner = uuid4()
        made = vault.create(owner)
        begun(vault, store.open(NEXT))
        assert abandon(vault) == 1
        assert vault.load(owner) == made
        assert "next" not in (vault.find_check() or {})
        with pytest.raises(KeysUnavailable):
            finish(store.open(NEXT))
        rewrap(vault, store.open(NEXT))
        with pytest.raises(KeysUnavailable):
            abandon(vault)

    def test_a_new_version_made_by_the_old_key_meanwhile_is_wrapped_too(
        self, store: Store, vault: WrappedVault
    ) -> None:
        owner = uuid4()
        vault.create(owner)
        begun(vault, store.open(NEXT))
        made = vault.add_version(owner, after=1, at=AT)
        rewrap(vault, store.open(NEXT))
        assert store.open(NEXT).load(owner) == made


def begun(old: WrappedVault, new: WrappedVault) -> None:
    """Leave a change of the master key as a process that died before the hand-over leaves it."""

    class Dying(type(old)):  # type: ignore[misc]
        """Dies at the hand-over."""

        def replace_check(self, entry: dict[str, object]) -> None:
            if "next" not in entry:
                raise Killed
            super().replace_check(entry)

    dying = object.__new__(Dying)
    dying.__dict__.update(old.__dict__)
    with pytest.raises(Killed):
        rewrap(dying, new)
    assert unfinished(old)
