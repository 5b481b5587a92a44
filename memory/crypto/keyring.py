"""The ring of owners' keys of this process: loaded from the vault, their subkeys kept for a short time."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from uuid import UUID

from memory.crypto.derivation import derive, text_key
from memory.crypto.sealing import Place, Sealed, seal, seal_bytes, sealed_bytes_version, unseal, unseal_bytes
from memory.errors import KeysUnavailable
from memory.ports import KeyVault, OwnerKeys

# How long a process may use keys without asking the vault again. Where the vault can tell cheaply that an owner's keys
# have changed, they are asked for at once.
LIFETIME_SECONDS = 60.0
# How long even that cheap question is spared to readers; whoever seals asks it always.
GLANCE_SECONDS = 0.01
MOST_OWNERS = 4096


@dataclass(slots=True)
class OwnerRing:
    """The derived keys of one owner; whoever holds it sees new versions of the text key as the keyring does."""

    owner_id: UUID
    keys: OwnerKeys = field(repr=False)
    loaded_at: float
    renew: Callable[[OwnerRing, bool], None] | None = field(default=None, repr=False)
    mark: object = field(default=None, repr=False)
    looked_at: float = 0.0
    _text: dict[tuple[int, UUID | None], bytes] = field(default_factory=dict, repr=False)
    _named: dict[str, bytes] = field(default_factory=dict, repr=False)

    def newest(self) -> int:
        """Give the version of the text key that seals now, as the vault says."""
        self._look()
        return self.keys.text_version

    def take(self, keys: OwnerKeys) -> None:
        """Go on with other keys of the same owner, and forget versions that are gone."""
        self.keys = keys
        self._text = {name: key for name, key in self._text.items() if name[0] in keys.text_seeds}

    def seal(self, plain: str, *, place: Place, agent_id: UUID | None = None) -> Sealed:
        """Encrypt a text with the newest version of the owner's text key."""
        version = self.newest()
        return seal(plain, key=self._text_key(version, agent_id), version=version, place=place)

    def unseal(self, value: Sealed, *, place: Place, agent_id: UUID | None = None) -> str:
        """Decrypt a stored text; raises KeysUnavailable when its key version is gone or it does not open."""
        return unseal(value, key=self._text_key(value.version, agent_id), place=place)

    def seal_bytes(self, plain: bytes, *, place: Place, agent_id: UUID | None = None) -> bytes:
        """Encrypt bytes with the newest version of the owner's text key."""
        version = self.newest()
        return seal_bytes(plain, key=self._text_key(version, agent_id), version=version, place=place)

    def unseal_bytes(self, value: bytes, *, place: Place, agent_id: UUID | None = None) -> bytes:
        """Decrypt stored bytes; raises KeysUnavailable when their key version is gone or they do not open."""
        return unseal_bytes(value, key=self._text_key(sealed_bytes_version(value), agent_id), place=place)

    def word(self, token: str) -> int:
        """Hash a token of the lexical index to a signed 64-bit number, keyed so that owners' words differ."""
        return _signed64(token, self._purpose_key("words"))

    def name(self, text: str) -> int:
        """Hash a name, tag or path segment to a signed 64-bit number."""
        return _signed64(text, self._purpose_key("names"))

    def digest(self, text: str) -> bytes:
        """Hash a whole content to 32 bytes, for uniqueness."""
        return hmac.new(self._purpose_key("hashes"), text.encode(), sha256).digest()

    def mac(self, message: bytes, *, purpose: str) -> bytes:
        """Authenticate a message for one purpose with HMAC-SHA256: 32 bytes that only this owner's keys make."""
        return hmac.new(self._purpose_key(f"mac/{purpose}"), message, sha256).digest()

    def veiled(self, digest: bytes, *, row_id: UUID, purpose: str) -> bytes:
        """Hide a digest of 32 bytes that stands in one row, or show a hidden one: whoever has the database alone cannot
        compare it with digests of texts that they guess.
        """
        veil = self.mac(row_id.bytes, purpose=f"veil/{purpose}")
        return bytes(one ^ other for one, other in zip(digest, veil, strict=True))

    def words(self, tokens: Iterable[str]) -> list[int]:
        """Hash several tokens, in order."""
        key = self._purpose_key("words")
        return [_signed64(token, key) for token in tokens]

    def _text_key(self, version: int, agent_id: UUID | None) -> bytes:
        found = self._text.get((version, agent_id))
        if found is None:
            if version > self.keys.text_version:
                # Another process has made that version a moment ago.
                self._look(at_once=True)
            seed = self.keys.text_seeds.get(version)
            if seed is None:
                raise KeysUnavailable("The key of a stored text has been destroyed. The text cannot be read any more.")
            found = text_key(self.keys.root, seed, version=version, agent_id=agent_id)
            self._text[version, agent_id] = found
        return found

    def _look(self, *, at_once: bool = False) -> None:
        if self.renew is not None:
            self.renew(self, at_once)

    def _purpose_key(self, purpose: str) -> bytes:
        found = self._named.get(purpose)
        if found is None:
            found = self._named[purpose] = derive(self.keys.root, purpose=purpose)
        return found


def _signed64(text: str, key: bytes) -> int:
    return int.from_bytes(blake2b(text.encode(), key=key, digest_size=8).digest(), "big", signed=True)


class Keyring:
    """Hands out owners' rings; safe to use from several threads."""

    def __init__(self, open_vault: Callable[[], KeyVault], *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Build a ring over a vault.

        Args:
            open_vault: opens and checks the vault; called at the first use, so that commands without keys can run.
            monotonic: gives seconds; replaced in tests.
        """
        self._open_vault = open_vault
        self._vault: KeyVault | None = None
        self._monotonic = monotonic
        self._rings: dict[UUID, OwnerRing] = {}
        self._lock = threading.Lock()

    @property
    def vault(self) -> KeyVault:
        """Open the vault on first use; raises KeysUnavailable when the master key is missing or another one."""
        if self._vault is None:
            self._vault = self._open_vault()
        return self._vault

    def of(self, owner_id: UUID) -> OwnerRing:
        """Give an owner's ring.

        Raises:
            KeysUnavailable: the vault has no keys for this owner, or they do not open.
        """
        ring = self._rings.get(owner_id)
        if ring is not None:
            if self._monotonic() - ring.looked_at < GLANCE_SECONDS:
                return ring
            self._renew(ring)
            return ring
        now, mark = self._monotonic(), self.vault.mark(owner_id)
        keys = self.vault.load(owner_id)
        with self._lock:
            if len(self._rings) >= MOST_OWNERS:
                self._rings.pop(next(iter(self._rings)))
            ring = self._rings[owner_id] = OwnerRing(owner_id, keys, now, self._renew, mark, now)
            return ring

    def _renew(self, ring: OwnerRing, at_once: bool = False) -> None:
        """Ask the vault again when a ring is old, or its keys have changed as far as can be told cheaply."""
        now, mark = self._monotonic(), self.vault.mark(ring.owner_id)
        ring.looked_at = now
        if not at_once and mark == ring.mark and now - ring.loaded_at < LIFETIME_SECONDS:
            return
        keys = self.vault.load(ring.owner_id)
        with self._lock:
            if keys.root != ring.keys.root:
                self._rings.pop(ring.owner_id, None)
                raise KeysUnavailable("The keys of this owner were replaced by others. Nothing was read or written.")
            if keys == ring.keys:
                keys.wipe()
            else:
                ring.take(keys)
            ring.loaded_at, ring.mark = now, mark

    def create(self, owner_id: UUID) -> OwnerRing:
        """Make keys for a new owner."""
        self.vault.create(owner_id).wipe()
        return self.of(owner_id)

    def destroy(self, owner_id: UUID) -> None:
        """Destroy an owner's keys, forget them in this process, and overwrite those that can be."""
        self.vault.destroy(owner_id)
        with self._lock:
            ring = self._rings.pop(owner_id, None)
        if ring is not None:
            # Whoever still seals something for this owner loses nothing that is not lost.
            ring.keys.wipe()

    def owners(self) -> set[UUID]:
        """List the owners whose keys are cached in this process."""
        with self._lock:
            return set(self._rings)

    def forget(self, owner_id: UUID | None = None) -> None:
        """Drop cached keys, of one owner or of all."""
        with self._lock:
            if owner_id is None:
                self._rings.clear()
            else:
                self._rings.pop(owner_id, None)


_installed: Keyring | None = None


def install(keyring: Keyring | None) -> None:
    """Set the ring that this process uses; done once by the composition of the application."""
    global _installed
    _installed = keyring


def keyring() -> Keyring:
    """Give the ring of this process; raises KeysUnavailable before one was installed."""
    if _installed is None:
        raise KeysUnavailable("No key vault has been set up in this process.")
    return _installed
