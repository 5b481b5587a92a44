"""The front page of the admin: how the installation is, in numbers, and nothing of what anybody has said."""

from __future__ import annotations

from typing import Any, Final

from django.urls import reverse
from django.utils.translation import gettext as _

from memory.admin import columns
from memory.admin.pages import panels
from memory.crypto.keyring import keyring
from memory.errors import LociError
from memory.models import ConsolidationRun, EmbeddingSpace, Memory, MemoryVector, PendingVector, owner_scope
from memory.palace.health_words import check_name
from memory.palace.numbers import whole
from memory.palace.presenters import label
from memory.palace.sentences import said
from memory.services.actors import Actor
from memory.services.findings import Finding
from memory.services.health import recent_findings, state_of
from memory.services.keys.rotation import next_rotation
from memory.services.queue_state import queue_state
from memory.services.reviews import count_open

LAST_RUNS: Final = 5


def dashboard(actor: Actor, *, everything: bool) -> dict[str, Any]:
    """Give what the front page shows.

    Args:
        actor: of the owner that was chosen.
        everything: whether the person looks after the installation.
    """
    findings = recent_findings()
    state = state_of(findings)
    queue = queue_state()
    with owner_scope(actor.owner_id):
        runs = list(ConsolidationRun.objects.order_by("-started_at", "-id")[:LAST_RUNS])
        backlog = count_open(actor)
        stored = [
            (_("memories"), whole(Memory.objects.count())),
            (_("vectors"), whole(MemoryVector.objects.count())),
            (_("waiting vectors"), whole(PendingVector.objects.count())),
        ]
    return {
        "state": state,
        "state_word": label(state),
        "findings": [_finding(found) for found in findings if everything or found.status != "ok"],
        "queue": [
            (_("waiting"), "–" if queue.waiting is None else whole(queue.waiting)),
            (_("oldest"), columns.when(queue.oldest)),
            (_("failed within a day"), whole(queue.failed)),
            (_("a worker was last seen"), columns.when(queue.worker_seen)),
        ],
        "runs": [
            {
                "address": reverse("admin:memory_consolidationrun_change", args=[run.pk]),
                "state": label(run.state),
                "trigger": label(run.trigger),
                "rows": whole(run.rows_seen),
                "error": run.error_code,
                "began": columns.when(run.started_at),
            }
            for run in runs
        ],
        "backlog": whole(backlog),
        "stored": stored,
        "spaces": [
            (space, label(space.state), reverse("loci-admin:space", args=[space.pk]))
            for space in EmbeddingSpace.objects.order_by("-pk")
        ],
        "keys": _keys(actor),
        "panels": [
            (panel.label, panel.read(actor), reverse(panel.page), reverse(panel.part) if panel.part else "")
            for panel in panels()
        ],
    }


def _finding(found: Finding) -> dict[str, str]:
    return {
        "name": check_name(found.name),
        "status": found.status,
        "status_word": label(found.status),
        "detail": said(found.detail),
        "remedy": said(found.remedy),
    }


def _keys(actor: Actor) -> list[tuple[Any, Any]]:
    """Tell how old the text keys are; a vault that cannot be read is the health's to explain."""
    try:
        versions = keyring().vault.versions(actor.owner_id)
        due = next_rotation(owner_id=actor.owner_id)
    except LociError as error:
        return [(_("cannot be told"), error.machine_code)]
    return [
        (_("newest version"), str(max(versions))),
        (_("made"), columns.when(versions[max(versions)])),
        (_("versions in use"), str(len(versions))),
        (_("next rotation"), columns.when(due)),
    ]
