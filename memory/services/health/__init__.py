"""Whether this installation works: cheap checks that the health endpoints, `doctor` and the pages share.

Nothing here loads a model, asks a provider or opens a text, and nothing that is said is secret or personal.
"""

from __future__ import annotations

from memory.services.added_checks import add_check, remove_check
from memory.services.health.places import RESTORE_VAULT
from memory.services.health.providers import embedder_finding, stand_in
from memory.services.health.report import (
    forget_health,
    health,
    health_findings,
    recent_findings,
    recent_health,
    state_of,
)

__all__ = [
    "RESTORE_VAULT",
    "add_check",
    "embedder_finding",
    "forget_health",
    "health",
    "health_findings",
    "recent_findings",
    "recent_health",
    "remove_check",
    "stand_in",
    "state_of",
]
