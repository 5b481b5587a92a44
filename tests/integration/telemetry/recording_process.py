"""A process that records turns of an owner, without end or so many; it writes how many calls have returned.

Call it with the owner's id, the number of turns (0: without end), and the file of the count.
"""

from __future__ import annotations

import mmap
import sys
from uuid import UUID

COUNTER_BYTES = 8


def main() -> None:
    import django

    django.setup()
    from memory.services.actors import person
    from telemetry.services.turns.drafts import TurnDraft
    from telemetry.services.turns.recording import record

    actor, most = person(UUID(sys.argv[1])), int(sys.argv[2])
    number = 0
    with open(sys.argv[3], "r+b") as file, mmap.mmap(file.fileno(), COUNTER_BYTES) as counter:
        while number < most or not most:
            record(actor=actor, event=TurnDraft(request=f"Request number {number}", id=str(number)))
            number += 1
            counter[:] = number.to_bytes(COUNTER_BYTES, "little")


if __name__ == "__main__":
    main()
