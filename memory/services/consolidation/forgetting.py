"""Stage 12: what time has faded is archived, and the graph lets go of what nobody has spoken of for long.

Nothing is deleted but bare entities, which come back with the memories that speak of them. A run can be taken back as a
whole, see `memory.services.forgetting.restore_run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.consolidation.policies import (
    LEAST_ENTITY,
    LEAST_RELATION,
    Fading,
    RetentionPolicy,
    policy_named,
)
from memory.consolidation.strength import FADED, STRENGTH, strength_parameters
from memory.models import Memory, OwnerActivity, Relation, Status, owner_scope
from memory.services.agent_settings import chosen_by_agents
from memory.services.audit.recording import record
from memory.services.consolidation.situation import MADE_HERE, UNHEARD
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.graph.turn import take_turn_for
from memory.services.graph.writing import change_graph
from memory.services.writing import remove_from_indexes

EVERY: Final = timedelta(hours=24)
BATCH: Final = 500
REASON: Final = "decay"

# What waits for extraction, for a person's judgement or for an end that somebody has named, and the procedures that
# skills are, do not fade. Batches follow the ids, so that all writers lock rows in the same order.
_FADES: Final = """
    FROM memory_memory m
    LEFT JOIN memory_memoryaccess a ON a.owner_id = m.owner_id AND a.memory_id = m.id
    LEFT JOIN memory_reflection f ON f.owner_id = m.owner_id AND f.memory_id = m.id
    WHERE m.owner_id = %(owner)s AND m.id > %(after)s AND m.status = 'live' AND ({fading})
      AND (%(only)s::uuid[] IS NULL OR m.agent_id = ANY(%(only)s::uuid[]))
      AND (m.agent_id IS NULL OR m.agent_id <> ALL(%(others)s::uuid[]))
      AND (%(among)s::uuid[] IS NULL OR m.id = ANY(%(among)s::uuid[])) AND m.expires_at IS NULL
      AND NOT (%(extracting)s AND m.extracted_at IS NULL AND m.kind <> ALL(%(made)s) AND m.role <> ALL(%(unheard)s))
      AND NOT EXISTS (
          SELECT FROM memory_reviewevidence e JOIN memory_reviewitem i ON i.owner_id = e.owner_id AND i.id = e.item_id
          WHERE e.owner_id = m.owner_id AND e.memory_id = m.id AND i.state IN ('open', 'snoozed'))
      AND NOT EXISTS (
          SELECT FROM memory_skill s
          WHERE s.owner_id = m.owner_id AND s.memory_id = m.id AND s.state <> 'archived')
"""
FADING: Final = f"SELECT m.id {_FADES} ORDER BY m.id LIMIT {BATCH} FOR UPDATE OF m"
COUNTED: Final = f"SELECT count(*) FROM (SELECT {_FADES} LIMIT %(most)s) AS fading"
STALE: Final = (
    "GREATEST(m.created_at, COALESCE(f.last_reinforced_at, m.created_at), COALESCE(a.last_accessed, m.created_at)) "
    "< %(moment)s - make_interval(secs => 86400.0 * %({name})s)"
)
OLDER: Final = "m.created_at < %(moment)s - make_interval(secs => 86400.0 * %({name})s)"

# What somebody has stated himself ends by somebody's act only.
FADED_RELATIONS: Final = f"""
    SELECT r.id FROM memory_relation r
    WHERE r.owner_id = %(owner)s AND r.valid_until IS NULL AND r.retracted_at IS NULL
      AND {FADED.format(weight="r.weight", since="r.last_seen")} < {LEAST_RELATION}
      AND NOT EXISTS (SELECT FROM memory_graphevidence g
                      WHERE g.owner_id = r.owner_id AND g.relation_id = r.id AND g.memory_id IS NULL)
    ORDER BY r.id LIMIT {BATCH}
"""
# Bare ones: nothing is said of them, now or earlier, no memory in use speaks of them, and no decision hangs on them.
FADED_ENTITIES: Final = f"""
    SELECT e.id FROM memory_entity e
    WHERE e.owner_id = %(owner)s AND NOT e.stated
      AND {FADED.format(weight="e.importance", since="e.last_seen")} < {LEAST_ENTITY}
      AND NOT EXISTS (SELECT FROM memory_relation r WHERE r.owner_id = e.owner_id AND r.source_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_relation r WHERE r.owner_id = e.owner_id AND r.target_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_eventparticipant p WHERE p.owner_id = e.owner_id AND p.entity_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_causallink c WHERE c.owner_id = e.owner_id AND c.cause_entity_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_causallink c WHERE c.owner_id = e.owner_id AND c.effect_entity_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_entitymerge g WHERE g.owner_id = e.owner_id AND g.kept_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_entitiesapart t WHERE t.owner_id = e.owner_id AND t.first_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_entitiesapart t WHERE t.owner_id = e.owner_id AND t.second_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_entitymention x
                      JOIN memory_memory m ON m.owner_id = x.owner_id AND m.id = x.memory_id
                      WHERE x.owner_id = e.owner_id AND x.entity_id = e.id AND m.status <> 'archived')
    ORDER BY e.id LIMIT {BATCH}
"""
LET_GO: Final = """
    WITH gone AS (DELETE FROM memory_entity e WHERE e.owner_id = %(owner)s AND e.id = ANY(%(ids)s::uuid[])),
    silent AS (SELECT DISTINCT x.memory_id FROM memory_entitymention x
               WHERE x.owner_id = %(owner)s AND x.entity_id = ANY(%(ids)s::uuid[]))
    UPDATE memory_memory m SET extracted_at = NULL FROM silent
    WHERE m.owner_id = %(owner)s AND m.id = silent.memory_id
"""


def forget(context: StageContext) -> Sequence[StageReport]:
    """Archive the memories that the owner's policy lets go, then let the graph go of what has faded.

    On the memories of an agent for which another policy was chosen that one acts.

    At most once in 24 hours, unless somebody asks for it. Memories go in batches of 500, each in a transaction with a
    row of audit that names the run. What fades is computed from the row's own times, so that the same moment once more
    finds nothing.
    """
    policy = policy_named(context.settings["retention_policy"])
    with owner_scope(context.actor.owner_id):
        shares = shares_of(policy, chosen_by_agents("retention_policy"))
    reason = _why_not(context, shares)
    if reason:
        return [StageReport("decay", state=SKIPPED, skipped_reason=reason)]
    decay = StageReport("decay", counts={"archived": 0})
    for share in shares:
        if share.policy.tiers:
            _archive(context, share, decay)
    reports = [decay]
    if policy.graph:
        reports += [_retract_relations(context, policy), _drop_entities(context, policy)]
    _note_done(context)
    return reports


@dataclass(frozen=True, slots=True)
class Share:
    """The memories on which one policy acts: those of some agents, or of everybody but others."""

    policy: RetentionPolicy
    only: tuple[UUID, ...] | None = None
    others: tuple[UUID, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Give whose memories it acts on as `FADING` takes it."""
        return {"only": None if self.only is None else list(self.only), "others": list(self.others)}


def shares_of(policy: RetentionPolicy, by_agent: Mapping[UUID, str]) -> list[Share]:
    """Divide an owner's memories by the policies that act on them.

    Args:
        policy: the owner's.
        by_agent: names of the policies that were chosen for single agents.
    """
    agents: dict[str, list[UUID]] = {}
    for agent_id, name in sorted(by_agent.items()):
        agents.setdefault(name, []).append(agent_id)
    own = [Share(policy_named(name), only=tuple(ids)) for name, ids in sorted(agents.items())]
    return [Share(policy, others=tuple(sorted(by_agent))), *own]


def fading_condition(policy: RetentionPolicy) -> tuple[str, Mapping[str, Any]]:
    """Write which memories a policy lets go, in SQL over `m`, `a` and `f`, with its parameters but the moment's."""
    written: list[str] = []
    parameters: dict[str, Any] = {}
    for tier, fading in sorted(policy.tiers.items()):
        parts = [f"m.tier = '{tier}'"]
        for name, condition in _bounds(fading).items():
            key = f"{tier}_{name}"
            parts.append(condition.format(name=key))
            parameters[key] = getattr(fading, name)
        written.append(f"({' AND '.join(parts)})")
    return " OR ".join(written), parameters


def _bounds(fading: Fading) -> dict[str, str]:
    found = {"older_than_days": OLDER} if fading.older_than_days else {}
    if fading.least_strength is not None:
        found["least_strength"] = STRENGTH + " < %({name})s"
    if fading.salience_floor is not None:
        found["salience_floor"] = "m.salience <= %({name})s"
    if fading.stale_after_days is not None:
        found["stale_after_days"] = STALE
    return found


def _why_not(context: StageContext, shares: Sequence[Share]) -> str:
    if not context.settings["forgetting"]:
        return "forgetting.off"
    if not any(share.policy.tiers for share in shares) and not shares[0].policy.graph:
        return "policy.keeps"
    if context.by_hand:
        return ""
    with owner_scope(context.actor.owner_id):
        activity = OwnerActivity.objects.first()
    last = activity.last_forgotten_at if activity else None
    return "not.due" if last is not None and context.moment - last < EVERY else ""


def _archive(context: StageContext, share: Share, report: StageReport) -> None:
    condition, values = _fading(context.actor.owner_id, context.settings, share, context.moment)
    fading = FADING.format(fading=condition)
    # Looked for before they are locked, since the turn at the graph is taken first.
    while due := _found(context, fading, {**values, "among": None}):
        context.beat()
        with owner_scope(context.actor.owner_id):
            take_turn_for(due, at=context.moment)
            found = _ids(fading, {**values, "among": due})
            remove_from_indexes(found)
            Memory.objects.filter(pk__in=found).update(
                status=Status.ARCHIVED,
                archived_at=context.moment,
                archive_reason=REASON,
                updated_at=context.moment,
            )
            _audit(context, "archive", "memory", len(found))
        report.count("archived", len(found))
        values["after"] = due[-1]


def count_fading(*, owner_id: UUID, settings: Mapping[str, Any], share: Share, moment: datetime, most: int) -> int:
    """Count what a policy would archive at a moment, within the owner's scope.

    Args:
        owner_id: whose.
        settings: the owner's, by name.
        share: the policy, and on whose memories it acts.
        moment: when.
        most: where counting ends.
    """
    if not share.policy.tiers:
        return 0
    condition, values = _fading(owner_id, settings, share, moment)
    with connection.cursor() as cursor:
        cursor.execute(COUNTED.format(fading=condition), {**values, "among": None, "most": most})
        return int(cursor.fetchone()[0])


def _fading(owner_id: UUID, settings: Mapping[str, Any], share: Share, moment: datetime) -> tuple[str, dict[str, Any]]:
    condition, parameters = fading_condition(share.policy)
    values = {
        **parameters,
        **share.parameters,
        **strength_parameters(share.policy, moment=moment),
        "owner": owner_id,
        "extracting": settings["consolidation"],
        "made": list(MADE_HERE),
        "unheard": list(UNHEARD),
        "after": UUID(int=0),
    }
    return condition, values


def _retract_relations(context: StageContext, policy: RetentionPolicy) -> StageReport:
    """Take faded relations out of belief; what was known before is still found, and a run can be taken back."""
    report = StageReport("graph_decay", counts={"relations": 0})
    values = {**strength_parameters(policy, moment=context.moment), "owner": context.actor.owner_id}
    while _found(context, FADED_RELATIONS, values):
        context.beat()
        with change_graph(context.actor, now=context.moment):
            found = _ids(FADED_RELATIONS, values)
            Relation.objects.filter(pk__in=found).update(retracted_at=context.moment)
            _audit(context, "retract", "relation", len(found))
        report.count("relations", len(found))
    return report


def _drop_entities(context: StageContext, policy: RetentionPolicy) -> StageReport:
    """Delete bare entities; archived memories that spoke of them are read again if they are ever restored."""
    report = StageReport("graph_garbage", counts={"entities": 0})
    values = {**strength_parameters(policy, moment=context.moment), "owner": context.actor.owner_id}
    while _found(context, FADED_ENTITIES, values):
        context.beat()
        with change_graph(context.actor, now=context.moment), connection.cursor() as cursor:
            found = _ids(FADED_ENTITIES, values)
            cursor.execute(LET_GO, {"owner": context.actor.owner_id, "ids": found})
            _audit(context, "delete", "entity", len(found))
        report.count("entities", len(found))
    return report


def _found(context: StageContext, statement: str, values: Mapping[str, Any]) -> list[UUID]:
    """Look before the graph's version is raised, which everything computed from the graph hangs on."""
    with owner_scope(context.actor.owner_id):
        return _ids(statement, values)


def _ids(statement: str, values: Mapping[str, Any]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(statement, dict(values))
        return [row[0] for row in cursor.fetchall()]


def _audit(context: StageContext, verb: str, kind: str, count: int) -> None:
    """Write one row of audit for a batch, under the id of the run, by which it can be taken back."""
    if not count:
        return
    record(
        actor=context.actor.label,
        verb=verb,
        object_kind=kind,
        object_id=context.run_id,
        reason=REASON,
        count=count,
        at=context.moment,
    )


def _note_done(context: StageContext) -> None:
    with owner_scope(context.actor.owner_id), connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO memory_owneractivity (id, owner_id, turns_since_consolidation, last_forgotten_at)
            VALUES (gen_random_uuid(), %s, 0, %s)
            ON CONFLICT (owner_id) DO UPDATE
            SET last_forgotten_at = GREATEST(memory_owneractivity.last_forgotten_at, excluded.last_forgotten_at)""",
            [context.actor.owner_id, context.moment],
        )
