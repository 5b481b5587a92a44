"""Skills that are alike are made one: the learned one goes into the archive, and what its use has shown stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.consolidation.skills import ALIKE, similarity, trust_of
from memory.models import (
    EdgeKind,
    Memory,
    Skill,
    SkillDependency,
    SkillOrigin,
    SkillState,
    Status,
    owner_scope,
)
from memory.services.audit.recording import record
from memory.services.consolidation.derived import link
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.graph.writing import change_graph
from memory.services.retirement import archive_memory
from memory.services.skill_life import reaches
from memory.services.skills import target_of_skill

LEARNED: Final = (SkillOrigin.LLM, SkillOrigin.RULES)
MOST_COMPARED: Final = 200


def merge_alike(context: StageContext, report: StageReport) -> None:
    """Merge the skills of each scope that are alike; one that a person wrote is never archived by this."""
    with owner_scope(context.actor.owner_id):
        by_scope: dict[UUID, list[Skill]] = defaultdict(list)
        for row in _in_use():
            _ = row.name, row.steps
            by_scope[row.scope].append(row)
    for scope in sorted(by_scope):
        for kept, source in _pairs(by_scope[scope][:MOST_COMPARED]):
            context.beat()
            with change_graph(context.actor, now=context.moment):
                if _merge(context, kept, source):
                    report.count("merged")


def _in_use() -> list[Skill]:
    rows = Skill.objects.exclude(state=SkillState.ARCHIVED).order_by("-updated_at", "-pk")
    live = set(
        Memory.objects.filter(pk__in=[row.memory_id for row in rows], status=Status.LIVE).values_list("pk", flat=True)
    )
    return [row for row in rows if row.memory_id in live]


def _pairs(rows: Sequence[Skill]) -> list[tuple[UUID, UUID]]:
    """Give which skill takes up which: the more trusted, then the more used, then the older one stays."""
    ranked = sorted(rows, key=lambda row: (-row.trust, -row.uses, row.created_at, row.pk))
    gone: set[UUID] = set()
    found: list[tuple[UUID, UUID]] = []
    for place, kept in enumerate(ranked):
        if kept.pk in gone:
            continue
        for other in ranked[place + 1 :]:
            if other.pk in gone or other.origin not in LEARNED:
                continue
            if similarity((kept.name, kept.steps), (other.name, other.steps)) >= ALIKE:
                gone.add(other.pk)
                found.append((kept.pk, other.pk))
    return found


def _merge(context: StageContext, kept_id: UUID, source_id: UUID) -> bool:
    rows = {row.pk: row for row in Skill.objects.select_for_update().filter(pk__in=[kept_id, source_id]).order_by("pk")}
    kept, source = rows.get(kept_id), rows.get(source_id)
    if kept is None or source is None or SkillState.ARCHIVED in (kept.state, source.state):
        return False
    _take_numbers(kept, source, context.moment)
    _take_dependencies(kept, source)
    archive_memory(actor=context.actor, memory_id=source.memory_id, reason="merged")
    source.state, source.updated_at = SkillState.ARCHIVED, context.moment
    source.trust = trust_of(source.origin, source.state)
    source.save(update_fields=["state", "trust", "updated_at"])
    link(
        [(source.memory_id, kept.memory_id)],
        kind=EdgeKind.PART_OF,
        target=target_of_skill(kept),
        moment=context.moment,
    )
    record(
        actor=context.actor.label,
        verb="merge",
        object_kind="skill",
        object_id=source.pk,
        reason="alike",
        at=context.moment,
    )
    return True


def _take_numbers(kept: Skill, source: Skill, moment: datetime) -> None:
    uses = kept.uses + source.uses
    if uses:
        kept.success_rate = min(1.0, (kept.success_rate * kept.uses + source.success_rate * source.uses) / uses)
    kept.uses = uses
    kept.utility = max(kept.utility, source.utility)
    kept.freshness = max(kept.freshness, source.freshness)
    kept.risk = max(kept.risk, source.risk)
    used = [one for one in (kept.last_used_at, source.last_used_at) if one is not None]
    kept.last_used_at = max(used, default=None)
    kept.redundancy = 0.0
    kept.updated_at = moment
    kept.save(
        update_fields=[
            "uses",
            "success_rate",
            "utility",
            "freshness",
            "risk",
            "redundancy",
            "last_used_at",
            "updated_at",
        ]
    )


def _take_dependencies(kept: Skill, source: Skill) -> None:
    """Let what needed the source need the skill that takes it up; what the source needed goes with it."""
    needing = SkillDependency.objects.filter(needs_id=source.pk).exclude(skill_id=kept.pk)
    SkillDependency.objects.bulk_create(
        [
            SkillDependency(skill_id=skill_id, needs_id=kept.pk)
            for skill_id in list(needing.order_by("skill_id").values_list("skill_id", flat=True))
            if not reaches(kept.pk, skill_id)
        ],
        ignore_conflicts=True,
    )
    SkillDependency.objects.filter(needs_id=source.pk).delete()
