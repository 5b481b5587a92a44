"""Skills in exports and imports: what stands beside their memories, and which others they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from memory.consolidation.skills import trust_of
from memory.errors import InvalidInput, LociError
from memory.ids import new_id
from memory.models import Kind, Memory, Skill, SkillDependency, SkillOrigin, SkillState, Status, owner_scope
from memory.services.actors import Actor, Target, write_target
from memory.services.clock import now
from memory.services.graph.exporting import readable_memories
from memory.services.graph.writing import checked_unit
from memory.services.skill_drafts import checked_name, checked_risk, checked_steps
from memory.services.skill_life import add_dependency
from memory.services.skills import name_hash, save_skill
from memory.text import limits

PART: Final = "skills"
PAGE: Final = 500
BATCH: Final = 100
MOST_ITEMS: Final = 20_000
MOST_USES: Final = 2_000_000_000
UNITS: Final[Mapping[str, float]] = {"success_rate": 0.0, "utility": 0.5, "redundancy": 0.0, "freshness": 1.0}

Item = Mapping[str, Any]


@dataclass(slots=True)
class ImportedSkills:
    """What became of an import's skills, and the refused ones by place."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("created", "existing", "skipped"), 0))
    errors: list[dict[str, Any]] = field(default_factory=list)

    def refuse(self, index: int, error: LociError) -> None:
        """Note why one was refused."""
        self.errors.append({"part": PART, "index": index, "code": error.machine_code, "message": error.message})


def exported_skills(actor: Actor) -> Iterator[dict[str, Any]]:
    """Give the skills whose memories an export holds, page by page; `memory` and `needs` are ids of these memories."""
    last: UUID | None = None
    while True:
        with owner_scope(actor.owner_id):
            rows = Skill.objects.filter(memory_id__in=readable_memories(actor).values("pk")).order_by("pk")
            page = list((rows.filter(pk__gt=last) if last else rows)[:PAGE])
            needs = _needs(actor, page)
            items = [_item(row, needs[row.pk]) for row in page]
        if not page:
            return
        yield from items
        last = page[-1].pk


def _needs(actor: Actor, page: Sequence[Skill]) -> Mapping[UUID, list[str]]:
    found: dict[UUID, list[str]] = defaultdict(list)
    pairs = SkillDependency.objects.filter(
        skill_id__in=[row.pk for row in page], needs__memory_id__in=readable_memories(actor).values("pk")
    )
    for skill_id, memory_id in pairs.order_by("skill_id", "needs_id").values_list("skill_id", "needs__memory_id"):
        found[skill_id].append(str(memory_id))
    return found


def _item(row: Skill, needs: list[str]) -> dict[str, Any]:
    return {
        "memory": str(row.memory_id),
        "name": row.name,
        "steps": row.steps,
        "state": row.state,
        "origin": row.origin,
        "trust": row.trust,
        "uses": row.uses,
        **{name: getattr(row, name) for name in UNITS},
        "risk": row.risk,
        "created_at": row.created_at.isoformat().replace("+00:00", "Z"),
        **({"last_used_at": row.last_used_at.isoformat().replace("+00:00", "Z")} if row.last_used_at else {}),
        "needs": needs,
    }


def refuse_unusable_skills(items: Any) -> None:
    """Raise InvalidInput unless the skills of a document are a list of at most 20,000."""
    if not isinstance(items, list):
        raise InvalidInput("The document's member skills is no list.", code="import.format")
    if len(items) > MOST_ITEMS:
        raise InvalidInput(f"An import holds at most {MOST_ITEMS} skills.", code="import.size")


def import_skills(*, actor: Actor, items: Sequence[Any], memories: Mapping[str, UUID], scope: Any) -> ImportedSkills:
    """Put the skills of an export beside their memories, with what their use has shown and what they need.

    A skill that stands beside its memory already is left as it is. One whose memory was not taken over is skipped.
    Trust follows from origin and state; `builtin` is taken as `human`, since nothing that is imported came with Loci.

    Args:
        actor: who imports.
        items: the skills; a bad one is reported and the others are stored.
        memories: what the ids of the document's memories stand for here.
        scope: as in `import_document`.
    """
    target = write_target(actor, scope)
    result = ImportedSkills()
    standing: dict[int, UUID] = {}
    for start in range(0, len(items), BATCH):
        with owner_scope(actor.owner_id):
            for index in range(start, min(start + BATCH, len(items))):
                try:
                    outcome, skill_id = _take(actor, target, items[index], memories)
                except LociError as error:
                    result.refuse(index, error)
                    continue
                result.counts[outcome] += 1
                if skill_id is not None:
                    standing[index] = skill_id
    _join(actor, items, memories, standing, result)
    return result


def _take(actor: Actor, target: Target, item: Any, memories: Mapping[str, UUID]) -> tuple[str, UUID | None]:
    if not isinstance(item, Mapping):
        raise InvalidInput("An item is not an object.", code="import.item")
    memory_id = _local(item.get("memory"), memories)
    # What is read is what the import's scope holds: an archived memory may stand in another one.
    memory = Memory.objects.filter(pk=memory_id, kind=Kind.SKILL, scope=target.scope).first() if memory_id else None
    if memory is None:
        return "skipped", None
    there = Skill.objects.filter(memory_id=memory.pk).values_list("pk", flat=True).first()
    if there is not None:
        return "existing", there
    row = _row(actor, target, item, memory)
    save_skill(row, insert=True)
    return "created", row.pk


def _row(actor: Actor, target: Target, item: Item, memory: Memory) -> Skill:
    moment = now()
    name = checked_name(item.get("name"))
    origin, state = _word(item, "origin", SkillOrigin.values), _word(item, "state", SkillState.values)
    if origin == SkillOrigin.BUILTIN:
        origin = SkillOrigin.HUMAN
    if state == SkillState.ARCHIVED and memory.status == Status.LIVE:
        # Its memory is in use here, and what comes back from the archive has to show anew what it is worth.
        state = SkillState.DEGRADED
    created, used = item.get("created_at"), item.get("last_used_at")
    return Skill(
        id=new_id(),
        memory_id=memory.pk,
        visibility=target.visibility,
        scope=target.scope,
        name=name,
        name_hash=name_hash(actor, name),
        steps=checked_steps(item.get("steps")),
        state=state,
        origin=origin,
        trust=trust_of(origin, state),
        uses=_uses(item.get("uses", 0)),
        **{unit: checked_unit(item.get(unit, usual), field=unit) for unit, usual in UNITS.items()},
        risk=checked_risk(item.get("risk", 0.0)),
        created_at=moment if created is None else min(limits.checked_moment(created, field="created_at"), moment),
        last_used_at=None if used is None else min(limits.checked_moment(used, field="last_used_at"), moment),
        updated_at=moment,
    )


def _join(
    actor: Actor,
    items: Sequence[Any],
    memories: Mapping[str, UUID],
    standing: Mapping[int, UUID],
    result: ImportedSkills,
) -> None:
    """Let skills need each other again, as far as both are here."""
    skills = {memories[items[index]["memory"]]: skill_id for index, skill_id in standing.items()}
    for index, skill_id in standing.items():
        needs = items[index].get("needs")
        local = [_local(one, memories) for one in (needs if isinstance(needs, list) else ())]
        try:
            for memory_id in dict.fromkeys(local):
                if memory_id in skills:
                    add_dependency(actor=actor, skill_id=skill_id, needs_id=skills[memory_id])
        except LociError as error:
            result.refuse(index, error)


def _local(value: Any, memories: Mapping[str, UUID]) -> UUID | None:
    return memories.get(value) if isinstance(value, str) else None


def _word(item: Item, name: str, known: Sequence[str]) -> str:
    value = item.get(name)
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{name} is one of {', '.join(known)}.", code=f"{name}.invalid", field=name)
    return value


def _uses(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_USES:
        raise InvalidInput("uses is a whole number.", code="uses.invalid", field="uses")
    return value
