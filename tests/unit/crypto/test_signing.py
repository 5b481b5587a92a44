"""Signatures count for the message, the purpose and the key that they were made with, and for nothing else."""

from __future__ import annotations

import pytest

from memory.crypto.signing import Signer, canonical, fingerprint, is_signed

HERE = Signer("a secret for tests only, of more than thirty-two bytes")
THERE = Signer("another secret for tests only, of more than thirty-two bytes")
MESSAGE = b"what is signed"
SIGNED = HERE.sign(MESSAGE, purpose="receipt")


def test_what_was_signed_here_counts() -> None:
    assert is_signed(MESSAGE, SIGNED, public_key=HERE.public_key, purpose="receipt")


@pytest.mark.parametrize(
    ("message", "signature", "public_key", "purpose"),
    [
        (b"what was signed", SIGNED, HERE.public_key, "receipt"),
        (MESSAGE, SIGNED[:-1], HERE.public_key, "receipt"),
        (MESSAGE, bytes(64), HERE.public_key, "receipt"),
        (MESSAGE, b"", HERE.public_key, "receipt"),
        (MESSAGE, SIGNED, THERE.public_key, "receipt"),
        (MESSAGE, SIGNED, b"short", "receipt"),
        (MESSAGE, SIGNED, HERE.public_key, "archive"),
    ],
    ids=["other message", "cut signature", "zeros", "empty", "other key", "no key", "other purpose"],
)
def test_anything_else_does_not_count(message: bytes, signature: bytes, public_key: bytes, purpose: str) -> None:
    assert not is_signed(message, signature, public_key=public_key, purpose=purpose)


def test_the_same_secret_gives_the_same_key() -> None:
    again = Signer("a secret for tests only, of more than thirty-two bytes")
    assert again.public_key == HERE.public_key
    assert fingerprint(again.public_key) == fingerprint(HERE.public_key) != fingerprint(THERE.public_key)


def test_the_signed_form_of_a_value_is_one_only() -> None:
    assert (
        canonical({"b": "ü", "a": [1, None]})
        == canonical({"a": [1, None], "b": "ü"})
        == '{"a":[1,null],"b":"ü"}'.encode()
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))


def test_a_code_counts_for_its_message_purpose_and_key() -> None:
    made = HERE.mac(MESSAGE, purpose="audit")
    assert len(made) == 32
    assert made == Signer("a secret for tests only, of more than thirty-two bytes").mac(MESSAGE, purpose="audit")
    others = [
        HERE.mac(b"another", purpose="audit"),
        HERE.mac(MESSAGE, purpose="receipt"),
        THERE.mac(MESSAGE, purpose="audit"),
    ]
    assert made not in others
