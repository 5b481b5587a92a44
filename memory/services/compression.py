"""Compressing: older memories are summed up, the summary takes their place, and they go into the archive.

Asked for by a person or a key that may delete. Nothing is lost: every memory stays linked to its summary, and undoing
brings all of them back and archives the summary.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Q

from memory.consolidation.asking import Asking, Unanswered
from memory.consolidation.summarising import MOST_CHARACTERS, Passage, Sentence, choose
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import EdgeKind, Kind, Memory, MemoryEdge, Role, Status, SummaryLevel, Tier, owner_scope
from memory.ports.outbound import on_behalf_of
from memory.privacy import injection
from memory.services.actors import UNSET, Actor, Permission, Target, read_scopes
from memory.services.audit.reading import reads
from memory.services.audit.recording import record
from memory.services.bringing_back import restore_memories
from memory.services.clock import now
from memory.services.consolidation.choices import tools_of
from memory.services.consolidation.derived import ABOUT, ORIGIN, Derivation, link, made_here, prepare, write
from memory.services.consolidation.summary_writing import MEASURES, Measure
from memory.services.drafts import Draft
from memory.services.features import require_memory
from memory.services.graph.writing import change_graph
from memory.services.memories import visible_memory
from memory.services.opening import opened
from memory.services.retirement import archive_memory
from memory.services.sessions import own_sessions
from memory.services.settings import current_settings
from memory.services.writing import remove_from_indexes
from memory.text import limits

SOURCE: Final = f"{ORIGIN}/compression"
COMPONENT: Final = "memory_summaries"
REASON: Final = "compressed"
LEAST_AT_ALL: Final = 2
MOST_AT_ONCE: Final = 500
DEFAULT_DAYS: Final = 30
DEFAULT_LEAST: Final = 5
DEFAULT_MOST: Final = 200
COMPRESSIBLE: Final = (Tier.EPISODIC, Tier.SEMANTIC)
LEFT_ALONE: Final = (Kind.SKILL, Kind.REFLECTION, Kind.PATTERN, Kind.INSTRUCTION)
SHARE: Final = 4
"""What is quoted has at most this part of the characters of what it stands for, but room for one long sentence."""
PROMPT_CHARACTERS: Final = 12_000
PROMPT_SENTENCES: Final = 200
WEEK: Final = timedelta(days=7)
DAY: Final = timedelta(days=1)

SYSTEM: Final = (
    "These memories of one person are to be replaced by one text. Write it in at most {sentences} sentences. Keep "
    "people, decisions, facts, numbers and dates, and who said what; leave out what is said twice. Write in the "
    "language of the memories, in the third person. Add nothing that they do not say. Write the text alone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressRequest:
    """Which memories to compress.

    Attributes:
        older_than_days: those that happened so long ago, 0 to 36,500.
        category: of one category only.
        tier: `episodic` or `semantic`; both when left out.
        session_id: the turns of one session only.
        scope: of one scope or several only; all that the actor may read when left out.
        least: a scope with fewer of them is left alone, 2 to 500.
        most: of all scopes together, the oldest first, 2 to 500.
        dry_run: only tell what would be done.
        use_model: let the language model write, where the owner lets consolidation use it.
    """

    older_than_days: int = DEFAULT_DAYS
    category: str | None = None
    tier: str | None = None
    session_id: UUID | None = None
    scope: Any = UNSET
    least: int = DEFAULT_LEAST
    most: int = DEFAULT_MOST
    dry_run: bool = False
    use_model: bool = True


@dataclass(frozen=True, slots=True)
class Compression:
    """One summary and what it stands for; without an id where nothing was stored."""

    summary_id: UUID | None
    target: Target
    memory_ids: Sequence[UUID]
    way: str = ""


@dataclass(slots=True)
class Compressed:
    """What was compressed, or would be; `left_alone` counts memories of scopes that have too few."""

    dry_run: bool
    made: list[Compression] = field(default_factory=list)
    left_alone: int = 0


def compress_memories(*, actor: Actor, request: CompressRequest) -> Compressed:
    """Sum up older memories, scope by scope, and archive them; the summaries are found by recall from now on.

    Skills, reflections, patterns and instructions are left alone, and so are summaries that stand for others.

    Raises:
        PermissionRefused: the actor may not delete.
        InvalidInput: a bound that cannot be used; nothing was changed.
        InvalidScope, NotFound: the scope or session is not there or not readable.
    """
    require_memory()
    actor.require(Permission.DELETE)
    actor.require(Permission.WRITE)
    _check(request)
    if request.session_id is not None:
        _require_session(actor, request.session_id)
    moment = now()
    found, left_alone = _chosen(actor, request, moment)
    answer = Compressed(request.dry_run, left_alone=left_alone)
    asking = _asking(actor) if request.use_model and not request.dry_run else None
    for target, rows in found:
        if request.dry_run:
            answer.made.append(Compression(None, target, [row.pk for row in rows]))
        elif (made := _compress(actor, target, rows, asking, moment, bool(request.session_id))) is not None:
            answer.made.append(made)
    return answer


def _check(request: CompressRequest) -> None:
    for name, least, most in (
        ("older_than_days", 0, 36_500),
        ("least", LEAST_AT_ALL, MOST_AT_ONCE),
        ("most", LEAST_AT_ALL, MOST_AT_ONCE),
    ):
        value = getattr(request, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InvalidInput(
                f"{name} is a whole number from {least} to {most}.", code=f"{name}.out_of_range", field=name
            )
    if request.tier is not None and request.tier not in COMPRESSIBLE:
        raise InvalidInput("tier is episodic or semantic.", code="tier.invalid", field="tier")
    if request.category is not None and not limits.normalise_category(request.category)[1]:
        raise InvalidInput("There is no such category.", code="category.unknown", field="category")


def _require_session(actor: Actor, session_id: UUID) -> None:
    with owner_scope(actor.owner_id):
        if not own_sessions(actor).filter(pk=session_id).exists():
            raise NotFound("There is no session with this id here.")


def _chosen(actor: Actor, request: CompressRequest, moment: datetime) -> tuple[list[tuple[Target, list[Memory]]], int]:
    """Choose the oldest memories that fit, by scope; scopes with too few are left alone, and how many those are."""
    scopes = read_scopes(actor, request.scope)
    rows = Memory.objects
    with owner_scope(actor.owner_id):
        fitting = rows.filter(
            status=Status.LIVE,
            tier__in=[request.tier] if request.tier else list(COMPRESSIBLE),
            occurred_at__lte=moment - timedelta(days=request.older_than_days),
        )
        fitting = fitting.exclude(kind__in=LEFT_ALONE).exclude(kind=Kind.SUMMARY).exclude(role=Role.SYSTEM)
        if scopes is not None:
            fitting = fitting.filter(scope__in=scopes)
        if request.category is not None:
            fitting = fitting.filter(category=limits.normalise_category(request.category)[0])
        if request.session_id is not None:
            fitting = fitting.filter(session_id=request.session_id)
        chosen = opened(list(fitting.order_by("occurred_at", "pk")[: request.most]))
    by_target: dict[Target, list[Memory]] = defaultdict(list)
    for row in chosen:
        by_target[Target(row.visibility, row.scope, row.group_id)].append(row)
    enough = {target: rows for target, rows in by_target.items() if len(rows) >= request.least}
    left_alone = len(chosen) - sum(len(rows) for rows in enough.values())
    return sorted(enough.items(), key=lambda one: str(one[0].scope)), left_alone


def _asking(actor: Actor) -> Asking | None:
    """Give what asks the language model, where one is configured and the owner lets consolidation use it."""
    with owner_scope(actor.owner_id):
        tools = tools_of(current_settings()["values"])
    if tools.model is None or not tools.everywhere:
        return None
    return Asking(tools.model, component=COMPONENT, local=tools.local)


def _compress(
    actor: Actor, target: Target, rows: Sequence[Memory], asking: Asking | None, moment: datetime, session: bool
) -> Compression | None:
    first, last = rows[0].occurred_at, rows[-1].occurred_at
    level = SummaryLevel.SESSION if session else _level(last - first)
    with on_behalf_of(actor.owner_id, COMPONENT, agent_id=actor.agent_id):
        text, way = _text(rows, asking, MEASURES[level])
    if not text:
        return None
    draft = Draft(
        text=f"{_heading(rows)}\n{text}",
        kind=Kind.SUMMARY,
        tier=Tier.EPISODIC if any(row.tier == Tier.EPISODIC for row in rows) else Tier.SEMANTIC,
        category="summary",
        summary_level=level,
        importance=max(row.importance for row in rows),
        tags=("compressed",),
        source=SOURCE,
        metadata={ABOUT: f"compression:{rows[0].pk}", "memories": len(rows)},
        occurred_at=last,
    )
    ids = [row.pk for row in rows]
    prepared = prepare(actor, Derivation(draft=draft, target=target, sources=ids, link=EdgeKind.PART_OF))
    versions = {row.pk: row.version for row in rows}
    with change_graph(actor, now=moment):
        current = list(Memory.objects.select_for_update().filter(pk__in=ids, status=Status.LIVE).order_by("pk"))
        if {row.pk: row.version for row in current} != versions:
            raise Conflict("A memory was changed meanwhile. Nothing of its scope was compressed; try again.")
        summary = write(actor, prepared, moment=moment)
        if summary is None:
            raise Conflict("A memory was erased meanwhile. Nothing of its scope was compressed; try again.")
        # All of them, beyond what `write` links: by these links undoing finds them.
        link([(one, summary.pk) for one in ids], kind=EdgeKind.PART_OF, target=target, moment=moment)
        remove_from_indexes(ids)
        for row in current:
            row.status, row.archive_reason, row.archived_at, row.updated_at = Status.ARCHIVED, REASON, moment, moment
            row.save(update_fields=["status", "archive_reason", "archived_at", "updated_at"])
        _audit(actor, "archive", summary.pk, len(ids), moment)
    return Compression(summary.pk, target, ids, way)


def _text(rows: Sequence[Memory], asking: Asking | None, measure: Measure) -> tuple[str, str]:
    """Sum memories up by the model, else by their sentences that say most."""
    passages = [
        Passage(key=row.pk, text=str(row.text), speaker=_who(row), occurred_at=row.occurred_at)
        for row in rows
        if row.role != Role.TOOL
    ]
    if asking is not None:
        told = [(one, one.text) for one in passages]
        if sum(len(text) for _, text in told) > PROMPT_CHARACTERS:
            chosen = choose(passages, most=PROMPT_SENTENCES, characters=PROMPT_CHARACTERS)
            told = [(one.passage, one.text) for one in chosen]
        parts = [{"when": f"{one.occurred_at:%Y-%m-%d}", "who": one.speaker, "text": text} for one, text in told]
        try:
            system = SYSTEM.format(sentences=measure.sentences)
            text = asking.text(system, parts, max_tokens=2_048).value[: 2 * measure.characters]
            if not injection.scan(text):
                return text, "llm"
            way = "rules:llm.injection"
        except Unanswered as error:
            way = f"rules:{error.machine_code}"
    else:
        way = "rules"
    lines = [
        f"- {one.passage.occurred_at:%Y-%m-%d}{f' {one.passage.speaker}' if one.passage.speaker else ''}: {one.text}"
        for one in _quoted(passages, measure)
    ]
    return "\n".join(lines), way


def _quoted(passages: Sequence[Passage[UUID]], measure: Measure) -> list[Sentence[UUID]]:
    """Choose what is quoted: statements, and questions only where nothing else is said."""
    room = sum(len(one.text) for one in passages) // SHARE
    characters = min(measure.characters, max(room, MOST_CHARACTERS))
    for questions in (False, True):
        chosen = choose(passages, most=measure.sentences, characters=characters, questions=questions)
        if chosen:
            return chosen
    return []


def _who(row: Memory) -> str:
    if row.kind != Kind.TURN:
        return ""
    return row.speaker or ("Assistant" if row.role == Role.ASSISTANT else "User")


def _heading(rows: Sequence[Memory]) -> str:
    days = dict.fromkeys((f"{rows[0].occurred_at:%Y-%m-%d}", f"{rows[-1].occurred_at:%Y-%m-%d}"))
    return f"{len(rows)} memories of {' to '.join(days)}."


def _level(span: timedelta) -> SummaryLevel:
    if span < DAY:
        return SummaryLevel.DAILY
    return SummaryLevel.WEEKLY if span <= WEEK else SummaryLevel.GLOBAL


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a compression did."""

    summary_id: UUID
    restored: int
    refused: Sequence[dict[str, str]]


def _summaries(answer: list[tuple[Memory, int]], values: object) -> list[UUID]:
    return [summary.pk for summary, _ in answer]


@reads("compressions", memories=_summaries)
def list_compressions(
    *, actor: Actor, after: tuple[datetime, UUID] | None = None, size: int = 50
) -> list[tuple[Memory, int]]:
    """List live summaries that memories were compressed into, the newest first, each with how many it stands for."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        edges = MemoryEdge.objects.filter(
            kind=EdgeKind.PART_OF,
            source_id__in=Memory.objects.filter(status=Status.ARCHIVED, archive_reason=REASON).values("pk"),
        )
        rows = Memory.objects.filter(kind=Kind.SUMMARY, status=Status.LIVE, pk__in=edges.values("target_id"))
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if after is not None:
            rows = rows.filter(Q(created_at__lt=after[0]) | Q(created_at=after[0], pk__lt=after[1]))
        found = opened(list(rows.order_by("-created_at", "-pk")[:size]))
        of_these = edges.filter(target_id__in=[row.pk for row in found]).order_by().values_list("target_id")
        counts = dict(of_these.annotate(Count("pk")))
        return [(row, counts.get(row.pk, 0)) for row in found]


def undo_compression(*, actor: Actor, summary_id: UUID) -> Undone:
    """Bring back all memories that a summary stands for, then archive it; repeating it has no further effect.

    A memory that says what another live one says by now stays in the archive, and so does one that was erased.

    Raises:
        PermissionRefused: the actor may not delete and write.
        NotFound: the summary is not there, hidden, or stands for nothing that was compressed.
    """
    require_memory()
    actor.require(Permission.DELETE)
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        summary = visible_memory(actor, summary_id)
        members = MemoryEdge.objects.filter(kind=EdgeKind.PART_OF, target_id=summary_id).values("source_id")
        ids = list(
            Memory.objects.filter(pk__in=members, status=Status.ARCHIVED, archive_reason=REASON)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        if summary.kind != Kind.SUMMARY or not made_here(summary) or not (summary.source or "").endswith("compression"):
            raise NotFound("There is no compression with this id here.", code="compression.unknown")
    back = restore_memories(actor=actor, memory_ids=ids) if ids else None
    with owner_scope(actor.owner_id):
        archive_memory(actor=actor, memory_id=summary_id, reason="compression undone")
        _audit(actor, "restore", summary_id, back.restored if back else 0, now())
    return Undone(summary_id, back.restored if back else 0, back.refused if back else ())


def _audit(actor: Actor, verb: str, summary_id: UUID, count: int, moment: datetime) -> None:
    record(
        actor=actor.label,
        verb=verb,
        object_kind="memory",
        object_id=summary_id,
        reason=REASON,
        count=count,
        at=moment,
    )
