"""The life of skills: promoting and demoting, uses, what they need, archiving and deleting, and what undoes that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.consolidation.skills import DEMOTED, PROMOTED, Numbers, after_use, trust_of
from memory.errors import Conflict, InvalidInput, InvalidScope
from memory.models import Memory, Skill, SkillDependency, SkillState, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.turn import take_turn_for
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from memory.services.skills import Standing, refuse_taken, save_skill, standing, standings, visible_skill
from memory.services.writing import note_uses

MOST_DEPENDENCIES: Final = 50
MOST_WALKED: Final = 1_000


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a skill needs, and what needs it; only those that the caller may see."""

    needs: Sequence[Standing]
    needed_by: Sequence[Standing]


def promote_skill(*, actor: Actor, skill_id: UUID) -> Standing:
    """Move a skill up: candidate, verified, released; degraded to verified; deprecated and archived ones to degraded.

    Raises:
        NotFound: not there or hidden.
        Conflict: `skill.state`, it is released already; or an archived one cannot come back, see `restore_skill`.
    """
    return _move(actor, skill_id, PROMOTED, "promote")


def demote_skill(*, actor: Actor, skill_id: UUID) -> Standing:
    """Move a skill down: released and verified to degraded, degraded and candidate to deprecated.

    Raises:
        NotFound: not there or hidden.
        Conflict: `skill.state`, it is deprecated or archived already.
    """
    return _move(actor, skill_id, DEMOTED, "demote")


def deprecate_skill(*, actor: Actor, skill_id: UUID) -> Standing:
    """Say that a skill is no longer to be followed; without effect when that was said already.

    Raises:
        NotFound: not there or hidden.
        Conflict: `skill.state`, it is archived.
    """
    deprecated: dict[str, SkillState] = dict.fromkeys(SkillState, SkillState.DEPRECATED)
    del deprecated[SkillState.ARCHIVED]
    return _move(actor, skill_id, deprecated, "deprecate")


def _move(actor: Actor, skill_id: UUID, moves: Mapping[str, SkillState], verb: str) -> Standing:
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        before = standing(visible_skill(actor, skill_id), now())
    if before.state == SkillState.ARCHIVED and SkillState.ARCHIVED in moves:
        return restore_skill(actor=actor, skill_id=skill_id)
    moment = now()
    with owner_scope(actor.owner_id):
        row = visible_skill(actor, skill_id, lock=True)
        state = standing(row, moment).state
        if state not in moves or state == SkillState.ARCHIVED:
            raise Conflict(f"A skill that is {state} cannot be moved that way.", code="skill.state", state=str(state))
        if moves[state] != row.state:
            _set_state(actor, row, moves[state], verb, moment)
        return standing(row, moment)


def _set_state(actor: Actor, row: Skill, state: SkillState, verb: str, moment: datetime) -> None:
    row.state, row.trust, row.updated_at = state, trust_of(row.origin, state), moment
    save_skill(row)
    record(actor=actor.label, verb=verb, object_kind="skill", object_id=row.pk, reason=str(state), at=moment)


def record_use(*, actor: Actor, skill_id: UUID, success: bool) -> Standing:
    """Count one use of a skill: its success rate is the mean of all, its utility rises by 0.1 or falls by 0.05.

    Raises:
        NotFound: not there or hidden.
        InvalidInput: `success` is no truth value.
        Conflict: `skill.archived`.
    """
    require_memory()
    actor.require(Permission.WRITE)
    if not isinstance(success, bool):
        raise InvalidInput("success is true or false.", code="field.type", field="success")
    moment = now()
    with owner_scope(actor.owner_id):
        row = visible_skill(actor, skill_id, lock=True)
        if standing(row, moment).state == SkillState.ARCHIVED:
            raise Conflict("An archived skill is not used. Restore it first.", code="skill.archived")
        numbers = after_use(
            Numbers(uses=row.uses, success_rate=row.success_rate, utility=row.utility, freshness=row.freshness),
            success=success,
        )
        row.uses, row.success_rate = numbers.uses, numbers.success_rate
        row.utility, row.freshness, row.last_used_at = numbers.utility, numbers.freshness, moment
        row.save(update_fields=["uses", "success_rate", "utility", "freshness", "last_used_at"])
        note_uses({row.memory_id: (1, moment)})
        return standing(row, moment)


def archive_skill(*, actor: Actor, skill_id: UUID) -> Standing:
    """Take a skill out of use, with its memory; it can be restored. Without effect when it is archived already.

    Raises:
        NotFound: not there or hidden.
    """
    require_memory()
    actor.require(Permission.DELETE)
    moment = now()
    with owner_scope(actor.owner_id):
        row = _locked_after_turn(actor, skill_id, moment)
        archive_memory(actor=actor, memory_id=row.memory_id, reason="skill archived")
        if row.state != SkillState.ARCHIVED:
            _set_state(actor, row, SkillState.ARCHIVED, "archive", moment)
        return standing(row, moment)


def restore_skill(*, actor: Actor, skill_id: UUID) -> Standing:
    """Bring an archived skill back as a degraded one, or undo a person's deletion in time, which changes no state.

    Raises:
        NotFound: not there, hidden or erased.
        Conflict: `skill.taken`, another one bears the name by now; `memory.duplicate`.
    """
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        row = visible_skill(actor, skill_id)
        refuse_taken(actor, row.name, scope=row.scope, but=row.pk)
    restore_memory(actor=actor, memory_id=row.memory_id)
    moment = now()
    with owner_scope(actor.owner_id):
        row = visible_skill(actor, skill_id, lock=True)
        if row.state == SkillState.ARCHIVED:
            _set_state(actor, row, SkillState.DEGRADED, "restore", moment)
        return standing(row, moment)


def delete_skill(*, actor: Actor, skill_id: UUID, version: int | None = None) -> Memory:
    """Delete a skill: an agent's delete archives it, a person's erases it after ten seconds, which can be undone.

    Args:
        actor: who deletes it.
        skill_id: which.
        version: refuse it when the skill has another version by now.

    Returns:
        Its memory, which says when it is erased.

    Raises:
        NotFound: not there or hidden.
        Conflict: `skill.version`; or `skill.needed`, other skills need it, whose ids the error names.
    """
    require_memory()
    actor.require(Permission.DELETE)
    moment = now()
    with owner_scope(actor.owner_id):
        row = _locked_after_turn(actor, skill_id, moment)
        if version is not None and row.version != version:
            raise Conflict(
                "The skill was changed meanwhile. Nothing was deleted.", code="skill.version", version=row.version
            )
        needing = _needing(row.pk)
        if needing:
            shown = [str(one.pk) for one in needing if actor.may_read(one.scope)]
            raise Conflict(
                "Other skills need this one. Nothing was deleted.",
                code="skill.needed",
                skills=shown[:MOST_DEPENDENCIES],
            )
        # What archived skills needed of it they no longer need, and could keep it from being erased.
        SkillDependency.objects.filter(needs_id=row.pk).delete()
        memory = delete_memory(actor=actor, memory_id=row.memory_id)
        if memory.status == Status.ARCHIVED and row.state != SkillState.ARCHIVED:
            _set_state(actor, row, SkillState.ARCHIVED, "archive", moment)
        return memory


def _locked_after_turn(actor: Actor, skill_id: UUID, moment: datetime) -> Skill:
    """Lock a skill whose memory is about to go, in the order of those who merge skills: the turn at the graph first."""
    take_turn_for([visible_skill(actor, skill_id).memory_id], at=moment)
    return visible_skill(actor, skill_id, lock=True)


def _needing(skill_id: UUID) -> list[Skill]:
    """List the skills in use that need one."""
    ids = SkillDependency.objects.filter(needs_id=skill_id).values("skill_id")
    return list(Skill.objects.filter(pk__in=ids).exclude(state=SkillState.ARCHIVED).order_by("pk"))


def add_dependency(*, actor: Actor, skill_id: UUID, needs_id: UUID) -> bool:
    """Say that a skill needs another one; tells whether that is new.

    Raises:
        NotFound: one of the two is not there or hidden.
        InvalidInput: `skill.self`; or `skill.cycle`, the other one needs this one, directly or by others.
        InvalidScope: the other one is hidden from some who may read this one.
        Conflict: `skill.needs_many`, a skill needs at most fifty.
    """
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        # Both locked in one order, so that two requests cannot close a circle between them.
        rows = {one: visible_skill(actor, one, lock=True) for one in sorted({skill_id, needs_id})}
        if skill_id == needs_id:
            raise InvalidInput("A skill cannot need itself.", code="skill.self", field="needs")
        if rows[needs_id].scope not in (rows[skill_id].scope, actor.owner_id):
            raise InvalidScope("That skill is hidden from some who may read this one.", field="needs")
        if reaches(needs_id, skill_id):
            raise InvalidInput("That skill needs this one already.", code="skill.cycle", field="needs")
        mine = SkillDependency.objects.filter(skill_id=skill_id)
        if mine.filter(needs_id=needs_id).exists():
            return False
        if mine.count() >= MOST_DEPENDENCIES:
            raise Conflict(f"A skill needs at most {MOST_DEPENDENCIES} others.", code="skill.needs_many")
        SkillDependency.objects.bulk_create([SkillDependency(skill_id=skill_id, needs_id=needs_id)])
        return True


def reaches(start: UUID, end: UUID) -> bool:
    """Tell whether a skill needs another one, directly or by others, within the owner's scope; too many mean yes."""
    seen, ring = {start}, {start}
    while ring and end not in seen:
        following = SkillDependency.objects.filter(skill_id__in=ring).values_list("needs_id", flat=True)
        ring = set(following) - seen
        seen |= ring
        if len(seen) > MOST_WALKED:
            return True
    return end in seen


def remove_dependency(*, actor: Actor, skill_id: UUID, needs_id: UUID) -> None:
    """Say that a skill no longer needs another one; without effect where it did not. Raises NotFound."""
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        visible_skill(actor, skill_id, lock=True)
        SkillDependency.objects.filter(skill_id=skill_id, needs_id=needs_id).delete()


@reads("dependencies", of="skill_id")
def dependencies_of(*, actor: Actor, skill_id: UUID) -> Dependencies:
    """Give what a skill needs and what needs it; raises NotFound when it is not there or hidden."""
    require_memory()
    actor.require(Permission.READ)
    moment = now()
    with owner_scope(actor.owner_id):
        visible_skill(actor, skill_id)
        needs = SkillDependency.objects.filter(skill_id=skill_id).values("needs_id")
        rows = [row for row in Skill.objects.filter(pk__in=needs).order_by("pk") if actor.may_read(row.scope)]
        needing = [row for row in _needing(skill_id) if actor.may_read(row.scope)]
        return Dependencies(standings(rows, moment), standings(needing, moment))
