"""The one place that builds the ports from the settings."""

from __future__ import annotations

from django.conf import settings

from memory.crypto import keyring as ring
from memory.crypto.keyring import Keyring
from memory.ports import KeyVault
from memory.providers.master_key import master_key
from memory.providers.vault import DirectoryVault


def open_vault() -> KeyVault:
    """Open and check the key vault that the settings name.

    Raises:
        KeysUnavailable: the master key is missing, unusable or not the one this vault was made with.
    """
    key = master_key(
        settings.MASTER_KEY,
        config_directory=settings.CONFIG_DIRECTORY,
        keys_directory=settings.KEYS_DIRECTORY,
    )
    vault = DirectoryVault(settings.KEYS_DIRECTORY, key)
    vault.verify()
    return vault


def install_keyring() -> None:
    """Give this process its keyring; the vault is opened at the first use."""
    ring.install(Keyring(open_vault))
