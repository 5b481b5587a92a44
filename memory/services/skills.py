"""Skills: how to do something, written by a person, an agent or by consolidation, and found again.

The text of a skill is a memory of the procedural tier, so that recall finds it; what its use has shown stands beside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from memory.consolidation.skills import (
    RELIABLE_RATE,
    RELIABLE_USES,
    first_state,
    freshness_now,
    health,
    reliable,
    similarity,
    trust_of,
)
from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotFound
from memory.graph.names import canonical
from memory.models import Kind, Memory, Skill, SkillOrigin, SkillState, Status, Visibility, owner_scope
from memory.services.actors import UNSET, Actor, Permission, Target, read_scopes, write_target
from memory.services.audit.reading import reads
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import make_ready
from memory.services.embedding import embed_texts
from memory.services.features import require_memory
from memory.services.skill_drafts import (
    DESCRIPTION,
    SkillDraft,
    check_draft,
    checked_description,
    checked_name,
    checked_risk,
    checked_steps,
    memory_draft,
)
from memory.services.writing import build_row, insert_rows
from memory.text import limits
from memory.text.tokens import query_terms

MOST_COMPARED: Final = 200
MOST_SEARCHED: Final = 500
DAY: Final = timedelta(days=1)
CHANGEABLE: Final = frozenset({"name", "steps", "description", "risk"})

IS_RELIABLE: Final = (
    Q(state=SkillState.RELEASED)
    | Q(state=SkillState.VERIFIED, success_rate__gte=RELIABLE_RATE)
    | Q(state=SkillState.CANDIDATE, success_rate__gte=RELIABLE_RATE, uses__gte=RELIABLE_USES)
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A skill with what follows from its numbers at a moment; its encrypted fields are open."""

    skill: Skill
    description: str | None
    state: str
    freshness: float
    health: float
    reliable: bool


def create_skill(*, actor: Actor, draft: SkillDraft, scope: Any = UNSET, origin: SkillOrigin | None = None) -> Standing:
    """Store a skill; a person's is released at once, an agent's is a candidate.

    Args:
        actor: who writes it.
        draft: the skill.
        scope: who may read it; the key's default when left out.
        origin: who made it; `human` for a person and `llm` for an agent when left out.

    Raises:
        InvalidInput, TooLarge, InvalidScope: what came in cannot be used; nothing was stored.
        Conflict: `skill.taken`, a skill of this name is in the scope; `memory.duplicate`, a memory says the same.
    """
    require_memory()
    actor.require(Permission.WRITE)
    target = write_target(actor, scope)
    checked = check_draft(draft)
    made_by = origin or (SkillOrigin.LLM if actor.agent_id else SkillOrigin.HUMAN)
    ready = make_ready(memory_draft(checked), ring=keyring().of(actor.owner_id))
    embedded = embed_texts([ready.embeddable], owner_id=actor.owner_id, agent_id=actor.agent_id)
    moment = now()
    with owner_scope(actor.owner_id):
        refuse_taken(actor, checked.name, scope=target.scope)
        row = build_row(ready, actor=actor, target=target, now=moment)
        row.extracted_at = moment
        if row.pk not in insert_rows([row], [ready], embedded=embedded, now=moment):
            raise Conflict("A live memory says the same already. Nothing was stored.", code="memory.duplicate")
        return standing(insert_skill(actor, checked, target, memory_id=row.pk, origin=made_by, moment=moment), moment)


def insert_skill(
    actor: Actor, draft: SkillDraft, target: Target, *, memory_id: UUID, origin: SkillOrigin, moment: datetime
) -> Skill:
    """Store what stands beside the memory of a skill, within the owner's scope; raises Conflict as `create_skill`."""
    state = first_state(origin)
    row = Skill(
        memory_id=memory_id,
        visibility=target.visibility,
        scope=target.scope,
        name=draft.name,
        name_hash=name_hash(actor, draft.name),
        steps=list(draft.steps),
        state=state,
        origin=origin,
        trust=trust_of(origin, state),
        redundancy=_redundancy(draft.name, draft.steps, scope=target.scope, but=None),
        risk=draft.risk,
        created_at=moment,
        updated_at=moment,
    )
    save_skill(row, insert=True)
    return row


def save_skill(row: Skill, *, insert: bool = False) -> None:
    """Save a skill, turning a second one of the same name in its scope into a Conflict."""
    try:
        with transaction.atomic():
            row.save(force_insert=insert)
    except IntegrityError as error:
        if "skill_name_once" not in str(error):
            raise
        raise _taken() from error


def refuse_taken(actor: Actor, name: str, *, scope: UUID, but: UUID | None = None) -> None:
    """Raise Conflict when another skill of a scope bears a name."""
    same = Skill.objects.filter(scope=scope, name_hash=name_hash(actor, name)).exclude(state=SkillState.ARCHIVED)
    if same.exclude(pk=but).exists():
        raise _taken()


def _taken() -> Conflict:
    return Conflict("A skill of this name is there already. Nothing was changed.", code="skill.taken", field="name")


def name_hash(actor: Actor, name: str) -> int:
    """Hash the name of a skill, whatever its case, diacritics and spaces."""
    return keyring().of(actor.owner_id).name(f"skill\0{canonical(name)}")


@reads("skill", of="skill_id")
def get_skill(*, actor: Actor, skill_id: UUID) -> Standing:
    """Give one skill, whatever its state; raises NotFound when it is not there or hidden."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return standing(visible_skill(actor, skill_id), now())


@reads("skills")
def list_skills(
    *,
    actor: Actor,
    states: Collection[str] = (),
    only_reliable: bool = False,
    scope: Any = UNSET,
    after: tuple[datetime, UUID] | None = None,
    size: int = 50,
) -> list[Standing]:
    """List skills, the last changed first.

    Args:
        actor: who asks.
        states: of these states; all but archived ones when left out.
        only_reliable: those that an agent may follow without asking.
        scope: limit the list to one scope or several.
        after: when the last one of the page before was changed, and its id.
        size: most rows.

    Raises:
        InvalidScope, NotFound, PermissionRefused: the scope is not there or not readable.
    """
    require_memory()
    actor.require(Permission.READ)
    scopes = read_scopes(actor, scope)
    moment = now()
    with owner_scope(actor.owner_id):
        rows = _in_states(_readable(scopes), states)
        if only_reliable:
            rows = rows.filter(IS_RELIABLE)
        if after is not None:
            rows = rows.filter(Q(updated_at__lt=after[0]) | Q(updated_at=after[0], pk__lt=after[1]))
        return standings(list(rows.order_by("-updated_at", "-pk")[:size]), moment)


@reads("skills")
def search_skills(
    *, actor: Actor, query: Any, only_reliable: bool = False, scope: Any = UNSET, limit: int = 10
) -> list[Standing]:
    """Find skills by words of their names, descriptions and steps, the best first.

    A word of the name counts twice; rare words count more. The 500 last changed skills are searched, archived ones not.

    Raises:
        InvalidInput: the query cannot be used.
    """
    require_memory()
    actor.require(Permission.READ)
    terms = query_terms(limits.checked_query(query, field="q"))
    found = list_skills(actor=actor, only_reliable=only_reliable, scope=scope, size=MOST_SEARCHED)
    named = {one.skill.pk: set(query_terms(one.skill.name)) for one in found}
    told = {one.skill.pk: set(query_terms(" ".join([one.description or "", *one.skill.steps]))) for one in found}
    holding = Counter(term for one in found for term in set(terms) & (named[one.skill.pk] | told[one.skill.pk]))
    weights = {term: math.log1p(len(found) / count) for term, count in holding.items()}

    def score(one: Standing) -> float:
        key = one.skill.pk
        return sum(weights.get(term, 0) * (2 * (term in named[key]) + (term in told[key])) for term in terms)

    ranked = sorted((one for one in found if score(one) > 0), key=lambda one: (-score(one), -one.health, one.skill.pk))
    return ranked[:limit]


def change_skill(*, actor: Actor, skill_id: UUID, changes: Mapping[str, Any], version: int | None = None) -> Standing:
    """Change what a skill says; its version rises only when that makes a difference.

    Args:
        actor: who changes it.
        skill_id: which.
        changes: new values of `name`, `steps`, `description` or `risk`.
        version: refuse the change when the skill has another version by now.

    Raises:
        NotFound: not there or hidden.
        InvalidInput, TooLarge: a field or value that cannot be used; nothing was changed.
        Conflict: `skill.version`, `skill.archived`, or `skill.taken`.
    """
    require_memory()
    actor.require(Permission.WRITE)
    unknown = sorted(set(changes) - CHANGEABLE)
    if unknown:
        raise InvalidInput(f"These fields cannot be changed: {', '.join(unknown[:5])}.", code="field.unknown")
    with owner_scope(actor.owner_id):
        before = standing(visible_skill(actor, skill_id), now())
    _require_current(before, version)
    wanted = _wanted(before, changes)
    if (wanted.name, wanted.steps, wanted.description, wanted.risk) == (
        before.skill.name, before.skill.steps, before.description, before.skill.risk,
    ):  # fmt: skip
        return before
    with owner_scope(actor.owner_id):
        refuse_taken(actor, wanted.name, scope=before.skill.scope, but=skill_id)
    draft = memory_draft(wanted)
    # The memory first: a change that breaks off in between is whole when it is sent again.
    change_memory(
        actor=actor, memory_id=before.skill.memory_id, changes={"text": draft.text, "metadata": draft.metadata}
    )
    moment = now()
    with owner_scope(actor.owner_id):
        row = visible_skill(actor, skill_id, lock=True)
        _require_current(standing(row, moment), version if version is not None else before.skill.version)
        row.name, row.name_hash, row.steps = wanted.name, name_hash(actor, wanted.name), list(wanted.steps)
        row.risk = wanted.risk
        row.redundancy = _redundancy(wanted.name, wanted.steps, scope=row.scope, but=row.pk)
        row.version += 1
        row.updated_at = moment
        save_skill(row)
        return standing(row, moment)


def _wanted(before: Standing, changes: Mapping[str, Any]) -> SkillDraft:
    skill = before.skill
    return SkillDraft(
        name=checked_name(changes["name"]) if "name" in changes else skill.name,
        steps=checked_steps(changes["steps"]) if "steps" in changes else skill.steps,
        description=checked_description(changes["description"]) if "description" in changes else before.description,
        risk=checked_risk(changes["risk"]) if "risk" in changes else skill.risk,
    )


def _require_current(found: Standing, version: int | None) -> None:
    if version is not None and found.skill.version != version:
        raise Conflict(
            "The skill was changed meanwhile. Nothing was changed; read it again.",
            code="skill.version",
            version=found.skill.version,
        )
    if found.state == SkillState.ARCHIVED:
        raise Conflict("An archived skill cannot be changed. Restore it first.", code="skill.archived")


def skill_version(*, actor: Actor, skill_id: UUID) -> int:
    """Give the version of a skill, to callers that may read or change it; raises NotFound."""
    require_memory()
    if actor.permissions.isdisjoint({Permission.WRITE, Permission.DELETE}):
        actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return int(visible_skill(actor, skill_id).version)


def skill_stats(*, actor: Actor) -> dict[str, float]:
    """Count the skills that the actor may read by state and origin, their uses, and their mean health."""
    require_memory()
    actor.require(Permission.READ)
    moment = now()
    with owner_scope(actor.owner_id):
        rows = list(_readable(actor.readable).defer("name", "steps"))
    found: dict[str, float] = {"total": len(rows), **{str(state): 0 for state in SkillState}}
    found |= {f"by_{origin}": 0 for origin in SkillOrigin}
    for row in rows:
        found[row.state] += 1
        found[f"by_{row.origin}"] += 1
    living = [row for row in rows if row.state != SkillState.ARCHIVED]
    found["reliable"] = sum(reliable(state=row.state, success_rate=row.success_rate, uses=row.uses) for row in living)
    found["uses"] = sum(row.uses for row in rows)
    found["mean_health"] = round(sum(_health(row, moment) for row in living) / len(living), 4) if living else 0.0
    return found


def visible_skill(actor: Actor, skill_id: UUID, *, lock: bool = False) -> Skill:
    """Give a skill that the actor may see, within its owner's scope; raises NotFound otherwise."""
    rows: QuerySet[Skill] = Skill.objects.select_for_update() if lock else Skill.objects.all()
    row = rows.filter(pk=skill_id).first()
    if row is None or not actor.may_read(row.scope):
        raise NotFound("There is no skill with this id here.")
    if actor.kind == "agent" and Memory.objects.filter(pk=row.memory_id, status=Status.ERASING).exists():
        raise NotFound("There is no skill with this id here.")
    return row


def standings(rows: Sequence[Skill], moment: datetime) -> list[Standing]:
    """Tell how skills stand at a moment, within their owner's scope."""
    memories = {row.pk: row for row in Memory.objects.filter(pk__in=[one.memory_id for one in rows])}
    return [_standing(row, memories.get(row.memory_id), moment) for row in rows]


def standing(row: Skill, moment: datetime) -> Standing:
    """Tell how one skill stands at a moment."""
    return standings([row], moment)[0]


def _standing(row: Skill, memory: Memory | None, moment: datetime) -> Standing:
    _ = row.name, row.steps
    archived = memory is None or memory.status != Status.LIVE
    state = SkillState.ARCHIVED if archived else SkillState(row.state)
    description = (memory.metadata or {}).get(DESCRIPTION) if memory else None
    dependable = reliable(state=state, success_rate=row.success_rate, uses=row.uses)
    return Standing(row, description, state, _freshness(row, moment), _health(row, moment), dependable)


def _freshness(row: Skill, moment: datetime) -> float:
    return freshness_now(row.freshness, days=(moment - (row.last_used_at or row.created_at)) / DAY)


def _health(row: Skill, moment: datetime) -> float:
    return health(utility=row.utility, redundancy=row.redundancy, freshness=_freshness(row, moment), risk=row.risk)


def _redundancy(name: str, steps: Sequence[str], *, scope: UUID, but: UUID | None) -> float:
    """Give the similarity to the skill of a scope that is most like this one."""
    others = Skill.objects.filter(scope=scope).exclude(state=SkillState.ARCHIVED).exclude(pk=but)
    rows = others.order_by("-updated_at", "-pk")[:MOST_COMPARED]
    return round(max((similarity((name, steps), (row.name, row.steps)) for row in rows), default=0.0), 6)


def _readable(scopes: Sequence[UUID] | None) -> QuerySet[Skill]:
    rows: QuerySet[Skill] = Skill.objects.exclude(
        memory_id__in=Memory.objects.filter(kind=Kind.SKILL, status=Status.ERASING).values("pk")
    )
    return rows if scopes is None else rows.filter(scope__in=scopes)


def _in_states(rows: QuerySet[Skill], states: Collection[str]) -> QuerySet[Skill]:
    """Narrow skills to states; one whose memory was archived counts as archived."""
    live = Q(memory_id__in=Memory.objects.filter(kind=Kind.SKILL, status=Status.LIVE).values("pk"))
    wanted = set(states) or set(SkillState) - {SkillState.ARCHIVED}
    condition = live & Q(state__in=wanted - {SkillState.ARCHIVED})
    if SkillState.ARCHIVED in wanted:
        condition |= ~live
    return rows.filter(condition)


def target_of_skill(row: Skill) -> Target:
    """Give who may read a skill."""
    return Target(Visibility(row.visibility), row.scope, row.group_id)
