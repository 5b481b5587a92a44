"""A purge in a process of its own that stops at one step and waits there to be killed.

Call it with the purge's id, the name of the step, and a file that is made when it is reached.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from uuid import UUID

SECONDS = 120.0


def main() -> None:
    import django

    django.setup()
    from memory.services.purge.runner import run_purge

    def stop(step: str) -> None:
        if step == sys.argv[2]:
            Path(sys.argv[3]).touch()
            time.sleep(SECONDS)

    run_purge(purge_id=UUID(sys.argv[1]), most=2, after_step=stop)


if __name__ == "__main__":
    main()
