"""How much of files is kept: their former versions, and those that were deleted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from memory.errors import InvalidInput
from memory.models import AgentFile, AgentFileVersion
from memory.services.agent_files.places import Whose

MOST_FILES: Final = 200
NEWEST_VERSIONS: Final = 100
KEPT: Final = timedelta(days=90)
# However fast a file is changed, so many of its versions are kept at most.
MOST_VERSIONS: Final = 1_000


def require_room(whose: Whose) -> None:
    """Raise InvalidInput where an agent, or an owner for all agents, has as many files as it may have."""
    if AgentFile.objects.filter(scope=whose.scope, deleted_at=None).count() >= MOST_FILES:
        raise InvalidInput(
            f"There are {MOST_FILES} files here, which is the limit. Delete some first.",
            code="files.too_many",
            limit=MOST_FILES,
        )


def keep_state(row: AgentFile, *, at: datetime) -> None:
    """Keep a file as it stands as a former version, and let go of the oldest ones; within the owner's scope.

    The newest 100 are kept, and all of 90 days, but never more than 1,000.
    """
    AgentFileVersion.objects.create(
        file_id=row.pk,
        sealed_for=row.sealing_agent_id,
        scope=row.scope,
        number=row.version,
        path=row.path,
        content=row.content,
        media_type=row.media_type,
        size=row.size,
        change=row.change,
        changed_by=row.changed_by,
        language_model=row.language_model,
        injection_kinds=row.injection_kinds,
        made_at=row.updated_at,
    )
    versions = AgentFileVersion.objects.filter(file_id=row.pk)
    _let_go(versions.filter(made_at__lt=at - KEPT), of=versions, most=NEWEST_VERSIONS)
    _let_go(versions, of=versions, most=MOST_VERSIONS)


def _let_go(going: QuerySet[AgentFileVersion], *, of: QuerySet[AgentFileVersion], most: int) -> None:
    oldest = of.order_by("-number").values_list("number", flat=True)[most - 1 : most].first()
    if oldest is not None:
        going.filter(number__lt=oldest).delete()


def sweep_deleted(whose: Whose, *, at: datetime) -> None:
    """Erase what was deleted 90 days ago, and the oldest beyond 200 deleted files; within the owner's scope."""
    deleted = AgentFile.objects.filter(scope=whose.scope, deleted_at__isnull=False)
    deleted.filter(deleted_at__lt=at - KEPT).delete()
    newest: list[UUID] = list(deleted.order_by("-deleted_at", "-pk").values_list("pk", flat=True)[:MOST_FILES])
    if len(newest) == MOST_FILES:
        deleted.exclude(pk__in=newest).delete()
