"""What workers run for telemetry: thin entries into services."""

from __future__ import annotations

from memory.services.job_runs import run_job
from telemetry.services.costs import reached
from telemetry.services.recalls import tuning


def tune_recall(request_id: str = "") -> int:
    """Let the tuner look at every owner who has it on; gives how many thresholds were changed."""
    return run_job("tune_recall", tuning.tune_all, follows=request_id)


def look_at_budgets(request_id: str = "") -> int:
    """Note anew whose budgets are reached; gives how many owners were looked at."""
    return run_job("look_at_budgets", reached.look_at_all, follows=request_id)
