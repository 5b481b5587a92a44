"""The master key in the keyring of the system or the desktop, through the optional library `keyring`.

An entry is named after the check value of the vault that its key opens, so that several installations of one user, and
the two keys of a change of the master key, do not meet.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable
from typing import Any, Final

from memory.crypto.derivation import KEY_BYTES
from memory.errors import KeysUnavailable
from memory.providers.vault import WrappedVault, parse_master_key

SERVICE: Final = "loci"
NAMED_BY: Final = 16


def entry_name(check_value: str) -> str:
    """Name the entry of the key whose vault has a check value."""
    return f"master-key {check_value[:NAMED_BY]}"


def find(check_value: str) -> bytearray | None:
    """Give the key of a vault, None when there is none; raises KeysUnavailable when the keyring cannot be used."""
    text = _asked(lambda library: library.get_password(SERVICE, entry_name(check_value)))
    return None if text is None else parse_master_key(text)


def store(check_value: str, key: bytes | bytearray) -> None:
    """Keep the key of a vault, and read it back.

    Raises:
        KeysUnavailable: the keyring cannot be used, or does not give back what it was given.
    """
    text = base64.b64encode(key).decode("ascii")
    _asked(lambda library: library.set_password(SERVICE, entry_name(check_value), text))
    kept = find(check_value)
    if kept is None or not hmac.compare_digest(bytes(kept), bytes(key)):
        raise KeysUnavailable("The system's keyring does not give back what it is given. Nothing was changed.")
    wipe(kept)


def remove(check_value: str) -> None:
    """Remove the key of a vault; without effect when there is none."""
    if find(check_value) is not None:
        _asked(lambda library: library.delete_password(SERVICE, entry_name(check_value)))


def kept_master_key(vault: WrappedVault, *, opened_with: Callable[[bytearray], WrappedVault]) -> bytearray:
    """Give the key of a vault, making it on the first use of an empty one.

    Args:
        vault: the vault, with any key.
        opened_with: gives the same vault with a key.

    Raises:
        KeysUnavailable: the keyring cannot be used, or has no key of a vault that was used before.
    """
    check = (vault.find_check() or {}).get("check")
    if check is None:
        with vault.locked():
            # Two processes that start together make one key: the second finds the check value of the first.
            check = (vault.find_check() or {}).get("check")
            if check is None:
                key = bytearray(secrets.token_bytes(KEY_BYTES))
                made = opened_with(key)
                store(made.wrapping.check_value, key)
                made.verify()
                return key
    found = find(str(check))
    if found is None:
        raise KeysUnavailable(
            "The system's keyring has no master key of this key vault. Nothing was read or written. Restore the "
            "keyring of this user, or take the key from elsewhere (LOCI_MASTER_KEY_SOURCE). `keys to-keyring` puts it "
            "there."
        )
    return found


def wipe(key: bytearray) -> None:
    """Overwrite a key with zeros; copies that Python has made of it on the way cannot be reached."""
    key[:] = bytes(len(key))


def _asked(question: Callable[[Any], Any]) -> Any:
    try:
        import keyring
    except ImportError:
        raise KeysUnavailable(
            "LOCI_MASTER_KEY_SOURCE=keyring needs the library keyring: .venv/bin/pip install --no-deps "
            "--require-hashes -r requirements/keyring.txt. Or choose another source."
        ) from None
    try:
        return question(keyring)
    except Exception as error:
        # Each system's service has errors of its own beside those of the library. Their messages may quote the key.
        raise KeysUnavailable(
            f"The system's keyring cannot be used ({type(error).__name__}). It has to be unlocked, and this user has "
            "to have one; a server without a desktop has none as a rule."
        ) from None
