"""Ask a web process how it is: `python -m config.probing ready|worker ADDRESS`, for health checks of containers.

`ready` asks whether it can serve, `worker` whether it has heard of a worker lately. Standard library only, since it is
started every few seconds. Ends with 0 for yes and 1 for no, and says in a line what was found.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from typing import Any, Final

READY: Final = "/health/ready"
# A database that is away is noticed only after a while.
PATIENCE: Final = 10.0


def asked(address: str) -> dict[str, Any] | None:
    """Give what the web process answers, None where none answers; it says 503 when it cannot serve."""
    # Never by a proxy, which the environment may name for what is outside.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{address}{READY}", timeout=PATIENCE) as answer:
            body = answer.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    except OSError:
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def state_of(what: str, answer: dict[str, Any] | None) -> str:
    """Read `ok`, `degraded`, `failing` or `unknown` of all of it or of the worker out of an answer."""
    if answer is None:
        return "unknown"
    if what == "ready":
        return str(answer.get("status", "unknown"))
    checks = answer.get("checks")
    states = {check.get("name"): check.get("status") for check in checks} if isinstance(checks, list) else {}
    return str(states.get(what, "unknown"))


def main() -> int:
    """Answer by the exit code; less than all of Loci is served, while a worker that is silent does no work."""
    what, address = sys.argv[1:]
    state = state_of(what, asked(address))
    sys.stdout.write(f"{what}: {state}\n")
    good = ("ok", "degraded") if what == "ready" else ("ok",)
    return 0 if state in good else 1


if __name__ == "__main__":
    sys.exit(main())
