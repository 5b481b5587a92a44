"""What workers run: thin entries into services. The queue keeps what they return and how they failed.

`request_id` is the id of the request that a task follows from; one that the clock starts has none.
"""

from __future__ import annotations

from django.core.management import call_command

from memory.services import due_work, missing_tokens, model_fetch, retention
from memory.services.audit import sealing
from memory.services.consolidation import due as due_runs
from memory.services.consolidation import triggers
from memory.services.job_runs import run_job
from memory.services.keys import rotation
from memory.services.projection import standing as projections
from memory.services.purge import runner as purges
from memory.services.purge.caches import forget_closed_owners
from memory.services.spaces import filling


def run_due_work(request_id: str = "") -> dict[str, int]:
    """Do all work that is due now; gives the number of rows done by kind of work."""
    return run_job("run_due_work", due_work.run_due_work, follows=request_id)


def consolidate_due(request_id: str = "") -> dict[str, int]:
    """Run consolidation for whom it is due; gives the number of runs."""
    return run_job("consolidate_due", due_runs.consolidate_due, follows=request_id)


def call_for_consolidation(request_id: str = "") -> int:
    """Let a worker look at owners of whom nothing is noted; gives their number."""
    return run_job("call_for_consolidation", triggers.call_for_consolidation, follows=request_id)


def remove_outdated(request_id: str = "") -> dict[str, int]:
    """Remove what is kept for a while only; gives the number of rows removed by kind."""
    return run_job("remove_outdated", retention.remove_outdated, follows=request_id)


def seal_audit(request_id: str = "") -> dict[str, int]:
    """Put what was recorded under seals; gives the number of owners, seals and events."""
    return run_job("seal_audit", sealing.seal_all, follows=request_id)


def run_purges(request_id: str = "") -> int:
    """Work on purges that wait; gives how many came to their end."""

    def run() -> int:
        # This process may have worked for an owner whom another one is purging.
        forget_closed_owners()
        return purges.run_due()

    return run_job("run_purges", run, follows=request_id)


def call_for_missing_tokens(request_id: str = "") -> int:
    """Call for work where token vectors are missing; gives the number of owners."""
    return run_job("call_for_missing_tokens", missing_tokens.call_for_missing_tokens, follows=request_id)


def call_for_projection(request_id: str = "") -> int:
    """Call for work where a projection to Neo4j is missing, behind or lost; gives the number of owners."""
    return run_job("call_for_projection", projections.call_for_projection, follows=request_id)


def look_after_spaces(request_id: str = "") -> bool:
    """Let the filling of an embedding space go on where its embedder answers again; tells whether it does."""
    return run_job("look_after_spaces", filling.look_after_spaces, follows=request_id)


def call_for_rotation(request_id: str = "") -> int:
    """Call for work where a text key is to be rotated; gives the number of owners."""
    return run_job("call_for_rotation", rotation.call_for_rotation, follows=request_id)


def fetch_model(request_id: str = "", order: object = None) -> int:
    """Go on with the model that Ollama was asked to fetch; gives 1 once it is there.

    Args:
        request_id: the request that it follows from.
        order: what the schedule carries; what holds is read anew.
    """
    return run_job("fetch_model", model_fetch.go_on, follows=request_id)


def clear_sessions(request_id: str = "") -> None:
    """Remove the logins of browsers that have expired."""
    run_job("clear_sessions", lambda: call_command("clearsessions"), follows=request_id)
