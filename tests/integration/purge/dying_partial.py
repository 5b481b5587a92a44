"""A partial purge in a process of its own, which kills itself before a chosen write.

Call it with the purge's id and the number of the write. It prints how many writes it has made.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

WRITES = ("INSERT", "UPDATE", "DELETE", "WITH")


def main(purge_id: str, fatal: str) -> None:
    import django

    django.setup()
    from django.db import connection

    from memory.services.purge import partial
    from memory.services.purge.runner import run_purge

    partial.BATCH = 2  # type: ignore[misc]
    count = 0

    def counting(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        nonlocal count
        text = str(sql).lstrip().upper()
        if text.startswith(WRITES) and any(word in text for word in WRITES[:3]):
            count += 1
            if count == int(fatal):
                os.kill(os.getpid(), signal.SIGKILL)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(counting):
        run_purge(purge_id=UUID(purge_id))
    sys.stdout.write(str(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
