"""A filling in a process of its own that stops in its second batch and waits there to be killed.

Call it with the owner's id and a file that is made when it is reached.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any
from uuid import UUID

SECONDS = 120.0


def main() -> None:
    import django

    django.setup()
    from memory.services import embedding
    from memory.services.clock import now
    from memory.services.spaces import filling

    embed, batches = embedding.embedded_by, []

    def stop(*args: Any, **options: Any) -> Any:
        batches.append(args)
        if len(batches) > 1:
            Path(sys.argv[2]).touch()
            time.sleep(SECONDS)
        return embed(*args, **options)

    embedding.embedded_by = stop
    # Work that has become due by the time that this process is up would end the turn after its first batch.
    filling._others_wait = lambda: False
    filling.fill_spaces(owner_id=UUID(sys.argv[1]), at=now())


if __name__ == "__main__":
    main()
