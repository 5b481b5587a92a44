"""Receipts: what was signed verifies, what was changed or signed by somebody else does not."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from memory.crypto.signing import Signer, canonical, signer
from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import Purge
from memory.services.clock import now
from memory.services.purge.receipts import FORMAT, PURPOSE, issue, owner_stays, verify_receipt


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture(scope="module")
def receipt() -> dict[str, Any]:
    """A receipt as it was issued."""
    purge = Purge(pseudonym=new_id(), subject="owner", requested_at=now(), began_at=now())
    return issue(
        purge,
        erased={"memories": 3, "sessions": 0, "postings": 17},
        left={},
        looked_at={"tables_by_owner": 50},
        keys={"root": "destroyed"},
        stays=owner_stays(),
        at=now(),
    )


def test_it_verifies_also_after_a_journey_as_json(receipt: dict[str, Any]) -> None:
    assert verify_receipt(receipt)
    assert verify_receipt(json.loads(json.dumps(receipt, indent=2, sort_keys=True)))
    assert verify_receipt(receipt, signer().public_key)
    assert receipt["format"] == FORMAT
    assert receipt["erased"] == {"memories": 3, "postings": 17}


def test_every_changed_value_is_noticed(receipt: dict[str, Any]) -> None:
    changed = 0
    for path, value in leaves(receipt):
        forged = copy.deepcopy(receipt)
        place: Any = forged
        for name in path[:-1]:
            place = place[name]
        if path[0] in ("format", "signature"):
            continue
        place[path[-1]] = 0 if isinstance(value, int) and value else f"{value} "
        assert not verify_receipt(forged), path
        changed += 1
    assert changed > 25


def test_added_and_removed_parts_are_noticed(receipt: dict[str, Any]) -> None:
    assert not verify_receipt({**receipt, "more": 1})
    assert not verify_receipt({**receipt, "stays": receipt["stays"][:-1]})
    assert not verify_receipt({name: value for name, value in receipt.items() if name != "keys"})


def test_a_forger_who_signs_with_a_key_of_their_own_is_refused(receipt: dict[str, Any]) -> None:
    forger = Signer("a secret of a forger, long enough to make a key of")
    forged = {**receipt, "erased": {"memories": 1}}
    forged["key"] = {**receipt["key"], "public": base64.b64encode(forger.public_key).decode()}
    message = canonical({name: value for name, value in forged.items() if name != "signature"})
    forged["signature"] = base64.b64encode(forger.sign(message, purpose=PURPOSE)).decode()

    assert not verify_receipt(forged)
    assert verify_receipt(forged, forger.public_key), "whoever trusts that key may ask for it"
    assert not verify_receipt(receipt, forger.public_key)


def test_a_signature_for_another_purpose_is_refused(receipt: dict[str, Any]) -> None:
    message = canonical({name: value for name, value in receipt.items() if name != "signature"})
    for signature in (
        signer().sign(message, purpose="audit"),
        Ed25519PrivateKey.generate().sign(message),
        bytes(64),
        b"",
    ):
        assert not verify_receipt({**receipt, "signature": base64.b64encode(signature).decode()})


@pytest.mark.parametrize(
    "document",
    [None, [], "text", {}, {"format": FORMAT}, {"format": "loci-receipt/2", "signature": ""}],
    ids=["null", "list", "text", "empty", "unsigned", "later"],
)
def test_what_is_no_receipt_is_said_to_be_none(document: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        verify_receipt(document)
    assert refused.value.machine_code == "receipt.invalid"


@given(signature=st.one_of(st.text(max_size=100), st.integers(), st.none(), st.lists(st.integers(), max_size=3)))
def test_no_signature_breaks_it(signature: Any) -> None:
    document = {"format": FORMAT, "signature": signature}
    try:
        assert not verify_receipt(document)
    except InvalidInput as refused:
        assert refused.machine_code == "receipt.invalid"


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "\ud800", _nested(100_000)],
    ids=["nan", "infinite", "surrogate", "deep"],
)
def test_values_that_cannot_be_signed_are_refused(receipt: dict[str, Any], value: Any) -> None:
    with pytest.raises(InvalidInput):
        verify_receipt({**receipt, "erased": value})


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """List every value of a document that holds no others, with its path."""
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() for leaf in leaves(inner, (*path, name))]
    if isinstance(value, list):
        return [leaf for at, inner in enumerate(value) for leaf in leaves(inner, (*path, at))]
    return [(path, value)]
