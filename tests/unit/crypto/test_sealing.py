"""Sealed values open in their own place with their own key and nowhere else."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.crypto.derivation import text_key
from memory.crypto.sealing import Place, Sealed, seal, seal_bytes, sealed_bytes_version, unseal, unseal_bytes
from memory.errors import KeysUnavailable

KEY = secrets.token_bytes(32)
PLACE = Place(uuid4(), "memory_memory", "text", uuid4())


@given(st.text())
def test_round_trip(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    sealed = seal(text, key=KEY, version=3, place=PLACE)
    assert sealed.startswith("enc:v3:")
    assert sealed.version == 3
    assert unseal(sealed, key=KEY, place=PLACE) == text


def test_equal_texts_differ() -> None:
    assert seal("same", key=KEY, version=1, place=PLACE) != seal("same", key=KEY, version=1, place=PLACE)


@pytest.mark.parametrize("field", ["owner_id", "table", "field", "row_id"])
def test_a_moved_value_does_not_open(field: str) -> None:
    sealed = seal("secret", key=KEY, version=1, place=PLACE)
    changed: dict[str, Any] = {field: uuid4() if isinstance(getattr(PLACE, field), UUID) else "elsewhere"}
    moved = replace(PLACE, **changed)
    with pytest.raises(KeysUnavailable):
        unseal(sealed, key=KEY, place=moved)


def test_another_version_or_key_does_not_open() -> None:
    sealed = seal("secret", key=KEY, version=1, place=PLACE)
    with pytest.raises(KeysUnavailable):
        unseal(Sealed(sealed.replace("enc:v1:", "enc:v2:")), key=KEY, place=PLACE)
    with pytest.raises(KeysUnavailable):
        unseal(sealed, key=secrets.token_bytes(32), place=PLACE)


@pytest.mark.parametrize("value", ["plain text", "enc:v1:", "enc:v1:!!", "enc:v0:AAAA", "enc:AAAA", "enc:v1:AAAA", ""])
def test_what_is_not_sealed_is_never_shown(value: str) -> None:
    with pytest.raises(KeysUnavailable) as caught:
        unseal(Sealed(value), key=KEY, place=PLACE)
    if value:
        assert value not in str(caught.value)


def test_keys_differ_by_version_seed_and_agent() -> None:
    root, seed, agent = secrets.token_bytes(32), secrets.token_bytes(32), uuid4()
    keys = {
        text_key(root, seed, version=1, agent_id=None),
        text_key(root, seed, version=2, agent_id=None),
        text_key(root, seed, version=1, agent_id=agent),
        text_key(root, secrets.token_bytes(32), version=1, agent_id=None),
        text_key(secrets.token_bytes(32), seed, version=1, agent_id=None),
    }
    assert len(keys) == 5
    assert text_key(root, seed, version=1, agent_id=agent) in keys


class TestBytes:
    @given(st.binary(max_size=300))
    def test_round_trip_with_a_readable_version(self, plain: bytes) -> None:
        sealed = seal_bytes(plain, key=KEY, version=70_000, place=PLACE)
        assert len(sealed) == len(plain) + 32
        assert sealed_bytes_version(sealed) == int.from_bytes(sealed[:4], "big") == 70_000
        assert unseal_bytes(sealed, key=KEY, place=PLACE) == plain

    def test_equal_bytes_differ(self) -> None:
        first, second = (seal_bytes(b"same", key=KEY, version=1, place=PLACE) for _ in range(2))
        assert first != second

    @pytest.mark.parametrize("field", ["owner_id", "table", "field", "row_id"])
    def test_a_moved_value_does_not_open(self, field: str) -> None:
        sealed = seal_bytes(b"secret", key=KEY, version=1, place=PLACE)
        changed: dict[str, Any] = {field: uuid4() if isinstance(getattr(PLACE, field), UUID) else "elsewhere"}
        with pytest.raises(KeysUnavailable):
            unseal_bytes(sealed, key=KEY, place=replace(PLACE, **changed))

    def test_another_version_or_key_or_a_changed_byte_does_not_open(self) -> None:
        sealed = seal_bytes(b"secret", key=KEY, version=1, place=PLACE)
        for damaged in (b"\0\0\0\2" + sealed[4:], sealed[:-1] + bytes([sealed[-1] ^ 1]), sealed[:20]):
            with pytest.raises(KeysUnavailable):
                unseal_bytes(damaged, key=KEY, place=PLACE)
        with pytest.raises(KeysUnavailable):
            unseal_bytes(sealed, key=secrets.token_bytes(32), place=PLACE)

    @pytest.mark.parametrize("value", [b"", b"\0" * 40, b"\0\0\0\1", b"\0\0\0\1" + b"x" * 27])
    def test_what_is_not_sealed_is_refused(self, value: bytes) -> None:
        with pytest.raises(KeysUnavailable):
            sealed_bytes_version(value)
        with pytest.raises(KeysUnavailable):
            unseal_bytes(value, key=KEY, place=PLACE)
