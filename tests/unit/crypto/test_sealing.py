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
from memory.crypto.sealing import Place, Sealed, seal, unseal
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
