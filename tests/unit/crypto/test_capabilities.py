"""Capability tokens: only what was signed opens, and only as it was signed."""

from __future__ import annotations

import base64
import hmac
import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.crypto.capabilities import MAX_TOKEN_CHARACTERS, PREFIX, RANKS, Capability, encode, sign, verify
from memory.errors import CapabilityRefused

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
ISSUED = datetime(2026, 5, 4, 12, tzinfo=UTC)
GRANT = Capability(
    owner_id=UUID(int=1),
    agent_id=UUID(int=2),
    epoch=3,
    max_scope="squad",
    max_importance=0.5,
    can_publish=True,
    publish_rate=50,
    issued_at=ISSUED,
    expires_at=ISSUED + timedelta(days=1),
    nonce=b"n" * 16,
)
moments = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
grants = st.builds(
    Capability,
    owner_id=st.uuids(),
    agent_id=st.uuids(),
    epoch=st.integers(0, 2**63),
    max_scope=st.sampled_from(sorted(RANKS)),
    max_importance=st.floats(0, 1),
    can_publish=st.booleans(),
    publish_rate=st.integers(0, 2**32 - 1),
    issued_at=moments,
    expires_at=moments,
    nonce=st.binary(min_size=16, max_size=16),
)


def mac_with(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, sha256).digest()


mac = partial(mac_with, KEY)
TOKEN = sign(GRANT, mac=mac)


@given(grants)
def test_what_was_signed_opens(grant: Capability) -> None:
    token = sign(grant, mac=mac)
    assert token.startswith(PREFIX)
    assert len(token) <= MAX_TOKEN_CHARACTERS
    assert token.isascii()
    assert verify(token, mac=mac) == grant


@given(grants, grants)
def test_other_fields_give_another_token(one: Capability, other: Capability) -> None:
    assert (encode(one) == encode(other)) == (one == other)
    assert (sign(one, mac=mac) == sign(other, mac=mac)) == (one == other)


@given(
    name=st.sampled_from(
        ["owner_id", "agent_id", "epoch", "max_scope", "max_importance", "can_publish", "publish_rate"]
        + ["issued_at", "expires_at", "nonce"]
    ),
    other=grants,
)
def test_no_single_field_is_left_out(name: str, other: Capability) -> None:
    changed = replace(GRANT, **{name: getattr(other, name)})
    assert (sign(changed, mac=mac) == TOKEN) == (getattr(other, name) == getattr(GRANT, name))


@given(st.lists(st.text("ab", max_size=3), min_size=2, max_size=2))
def test_lengths_keep_neighbouring_fields_apart(words: list[str]) -> None:
    """Without them `ab` + `c` and `a` + `bc` would be one message."""
    written = [encode(replace(GRANT, max_scope=scope, nonce=nonce.encode())) for scope, nonce in (words, words[::-1])]
    assert (written[0] == written[1]) == (words[0] == words[1])


@given(st.integers(0, 8 * len(TOKEN) - 1))
def test_any_flipped_bit_of_the_text_is_refused(bit: int) -> None:
    raw = bytearray(TOKEN.encode())
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CapabilityRefused):
        verify(raw.decode("latin-1"), mac=mac)


def body_of(token: str) -> bytes:
    text = token[len(PREFIX) :]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@given(st.data())
def test_any_flipped_bit_of_the_content_is_refused(data: Any) -> None:
    raw = bytearray(body_of(TOKEN))
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CapabilityRefused):
        verify(PREFIX + base64.urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode(), mac=mac)


def test_every_truncation_is_refused() -> None:
    for end in range(len(TOKEN)):
        with pytest.raises(CapabilityRefused):
            verify(TOKEN[:end], mac=mac)


@pytest.mark.parametrize(
    "text",
    [
        "",
        PREFIX,
        f"{PREFIX}AAAA",
        f"{TOKEN}=",
        f"{TOKEN}A",
        f" {TOKEN}",
        f"{TOKEN}\n",
        f"{TOKEN}\xe9",
        PREFIX + "A" * 5000,
    ],
    ids=["empty", "prefix", "short", "padded", "longer", "blank", "line", "letter", "endless"],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(CapabilityRefused):
        verify(text, mac=mac)


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    for candidate in (text, PREFIX + text):
        with pytest.raises(CapabilityRefused):
            verify(candidate, mac=mac)


def test_another_key_signs_nothing_here() -> None:
    with pytest.raises(CapabilityRefused):
        verify(sign(GRANT, mac=partial(mac_with, OTHER_KEY)), mac=mac)


@pytest.mark.parametrize(
    "body",
    [
        encode(replace(GRANT, max_scope="world")),
        encode(replace(GRANT, max_importance=float("nan"))),
        encode(replace(GRANT, max_importance=1.5)),
        encode(GRANT)[:-1],
        encode(GRANT) + struct.pack(">H", 0),
        b"",
    ],
    ids=["scope", "nan", "above one", "cut", "one field more", "nothing"],
)
def test_what_nobody_here_would_sign_is_refused_although_signed(body: bytes) -> None:
    signature = mac(b"loci capability 1\0" + body)
    with pytest.raises(CapabilityRefused):
        verify(PREFIX + base64.urlsafe_b64encode(body + signature).rstrip(b"=").decode(), mac=mac)


def test_minus_zero_is_zero() -> None:
    assert encode(replace(GRANT, max_importance=-0.0)) == encode(replace(GRANT, max_importance=0.0))


@pytest.mark.parametrize("ceiling", sorted(RANKS))
def test_a_ceiling_reaches_what_is_not_above_it(ceiling: str) -> None:
    grant = replace(GRANT, max_scope=ceiling)
    assert {scope for scope in RANKS if grant.reaches(scope)} == {
        scope for scope, rank in RANKS.items() if rank <= RANKS[ceiling]
    }


def test_scopes_are_ranked_as_published() -> None:
    assert RANKS == {"agent": 1, "squad": 2, "project": 3, "owner": 4}
