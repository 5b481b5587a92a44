"""A process of its own that records turns: until it has recorded so many, or until it is killed.

Reads one line of JSON: the owner, the vault's directory and key, how many turns (0: without end), and a file into which
it writes how many calls have returned.
"""

from __future__ import annotations

import json
import mmap
import sys
from pathlib import Path
from uuid import UUID

COUNTER_BYTES = 8


def main() -> None:
    """Record."""
    told = json.loads(sys.stdin.readline())
    import django

    django.setup()
    from memory.crypto import keyring as ring
    from memory.crypto.keyring import Keyring
    from memory.providers.vault_directory import DirectoryVault
    from memory.services.actors import person
    from telemetry.services.turns.drafts import TurnDraft
    from telemetry.services.turns.recording import record

    vault = DirectoryVault(Path(told["vault"]), bytes.fromhex(told["key"]))
    ring.install(Keyring(lambda: vault))
    actor = person(UUID(told["owner"]))
    number = 0
    with open(told["counter"], "r+b") as file, mmap.mmap(file.fileno(), COUNTER_BYTES) as counter:
        while number < told["events"] or not told["events"]:
            record(actor=actor, event=TurnDraft(request=f"Request number {number}", id=str(number)))
            number += 1
            counter[:] = number.to_bytes(COUNTER_BYTES, "little")


if __name__ == "__main__":
    main()
