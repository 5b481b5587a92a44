"""Recall: what the owner's memories have to say to a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import Kind, Memory, Status, SummaryLevel, owner_scope
from memory.ports.outbound import on_behalf_of
from memory.providers.composition import llm_judge, reranker
from memory.recall import fallback
from memory.recall.decomposition import interleave
from memory.recall.duplicates import Distinct, Saying, distinct
from memory.recall.evidence import WEIGHTS
from memory.recall.gate import Verdict, gate
from memory.recall.pipeline import Ranked, Ranking, rank
from memory.recall.profiles import RecallProfile, with_changes
from memory.recall.query import Query
from memory.recall.reranking import EXTERNAL, OpenedHit, rescored, wanted
from memory.recall.resting import BREADTH, Found, rests_on, without_retold
from memory.recall.stopwatch import stage, timed
from memory.services import replica
from memory.services.actors import Actor, Permission
from memory.services.audit.readers import note_reads
from memory.services.audit.reading import is_recorded, record_read
from memory.services.explanations import keep_explanation
from memory.services.features import require_memory
from memory.services.opening import opened
from memory.services.past import as_then
from memory.services.profiles import profile_for
from memory.services.questions import RECALLING, RecallRequest, ask, without_vector
from memory.services.recall_observed import tell
from memory.services.reinforcement import reinforce
from memory.text import limits
from memory.text.tokens import term_frequencies

MAX_LIMIT: Final = 100
# Hits beyond the limit that take the places of those that say the same as a better one.
SPARE: Final = 5
# Characters of a text in which the matched words are looked for; a hundred long texts would take seconds.
SEARCHED_FOR_MATCHES: Final = 20_000
_WEIGHTS: Final = {weight.signal: weight.value for weight in WEIGHTS}


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory found, with the reasons for its place.

    `matched` are the query's words that stand in it, `also` the memories that say the same and are not shown.
    """

    memory: Memory
    score: float
    relevance: float
    matched: tuple[str, ...]
    reasons: Mapping[str, Any]
    also: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer to a recall.

    `degraded` lists what could not be done (`embedder.unavailable`, `arm.timeout:graph` …); `gate` says when a query
    needed no recall or pointed at nothing.
    """

    recall_id: UUID
    profile: str
    hits: list[Hit]
    gate: str = Verdict.RECALL
    intent: tuple[str, ...] = ()
    degraded: list[str] = field(default_factory=list)
    fallback: bool = False
    considered: int = 0


def recall(*, actor: Actor, request: RecallRequest) -> Recalled:
    """Find the memories that fit a query, best first, among those that the actor may read.

    Models are asked before and after the transaction, never in it. Uses are counted after the answer, in batches.

    Raises:
        InvalidInput: the query, a filter or an override cannot be used.
        InvalidScope, NotFound, PermissionRefused: the scope or profile is not there or not readable.
    """
    require_memory()
    actor.require(Permission.READ)
    text = limits.checked_query(request.query)
    with timed() as watch:
        with stage("prepare"):
            with owner_scope(actor.owner_id):
                effective, chosen = profile_for(actor, request.profile)
                since = replica.position()
            profile = _tuned(effective, request)
            # Before the gate, so that a request that cannot be used is refused whatever its query says.
            query = without_vector(actor, text, request)
            verdict = gate(text)
        place: replica.Place = ""
        if verdict is Verdict.RECALL:
            answer, place = _answered(actor, request, query, profile, since)
        else:
            answer = Recalled(new_id(), profile.name, [], gate=verdict)
    tell(actor, request, answer, profile=profile, chosen=chosen, watch=watch, at=query.now, place=place)
    return answer


def _answered(
    actor: Actor, request: RecallRequest, query: Query, profile: RecallProfile, since: replica.Position | None
) -> tuple[Recalled, replica.Place]:
    """Ask, search, judge and note what came out; tell where the search was."""
    with stage("embed"):
        asked = ask(actor, query, request, profile)
    recall_id = new_id()

    def searched() -> list[Recalled]:
        return [search(one, profile, request, recall_id) for one in asked.queries]

    with stage("search"):
        answers, place = replica.read(actor.owner_id, since, searched, sound=_are_sound)
    with stage("judge"), on_behalf_of(actor.owner_id, RECALLING, agent_id=actor.agent_id):
        answer = _judged(query, profile, _merged(answers, profile))
    answer.degraded.extend(code for code in asked.degraded if code not in answer.degraded)
    with stage("keep"):
        _note(actor, request, answer, query)
    return answer, place


def _are_sound(answers: Sequence[Recalled]) -> bool:
    """Tell whether no part failed; one that took too long would do so in the database as well."""
    return not any(code.startswith("arm.failed") for answer in answers for code in answer.degraded)


def _note(actor: Actor, request: RecallRequest, answer: Recalled, query: Query) -> None:
    """Keep the explanation, record an agent's read in the same transaction, and count uses and readers."""
    ids, recorded = [hit.memory.pk for hit in answer.hits], is_recorded(actor)
    if request.record or recorded:
        with owner_scope(actor.owner_id):
            if request.record:
                keep_explanation(actor, answer, query)
            if recorded:
                record_read(actor=actor, sort=request.sort, count=len(ids), at=query.now, object_id=answer.recall_id)
    if recorded:
        note_reads(actor.owner_id, ids, reader=actor.caller_id, at=query.now)
    if request.reinforce:
        reinforce(actor.owner_id, ids, at=query.now)


def search(query: Query, profile: RecallProfile, request: RecallRequest, recall_id: UUID) -> Recalled:
    """Rank, open and explain within the owner's scope; the timed heart of a recall.

    Where a model has the last word it gives more hits than the profile's limit, for the model to choose from.
    """
    limit = wanted(profile.reranker, profile.limit) if profile.reranker in EXTERNAL else profile.limit
    # Those to spare must not widen the arms: a published profile asks them for a multiple of what is shown.
    asked = replace(profile, candidates=profile.asked_of_arm(limit))
    ranking = rank(query, asked, limit=limit + SPARE)
    with stage("open"):
        hits = _hits(query, ranking.ranked, limit)
    fell_back = False
    if not hits and profile.fallback and not ranking.considered:
        with stage("fallback"):
            found = fallback.scan(query, limit=profile.limit)
            rows = _rows(query, found)
        hits = [Hit(rows[one], 0.0, 0.0, (), {"fallback": True}) for one in found if one in rows]
        fell_back = bool(hits)
    return Recalled(
        recall_id=recall_id,
        profile=profile.name,
        hits=hits,
        intent=ranking.intent.signs,
        degraded=_degraded(ranking),
        fallback=fell_back,
        considered=ranking.considered,
    )


def _hits(query: Query, ranked: Sequence[Ranked], limit: int) -> list[Hit]:
    """Open as many rows as are shown; each statement is shown once, and its hit names the others that say the same."""
    rows: dict[UUID, Memory] = {}
    shown: list[Distinct] = []
    past = query.filters.past is not None
    words = set(query.words.values())
    summaries = [one.candidate.memory_id for one in ranked if one.candidate.kind == Kind.SUMMARY]
    # One query, and none where no summary was found.
    sources = rests_on(query.owner_id, summaries) if summaries and len(ranked) > 1 else {}
    for start, end in ((0, limit), (limit, limit + SPARE)):
        if len(shown) < limit:
            rows |= _rows(query, [one.candidate.memory_id for one in ranked[start:end]])
            shown = distinct(
                [_saying(rows[one], past) for one in (hit.candidate.memory_id for hit in ranked) if one in rows]
            )
            if sources:
                found = {one.memory_id: _found(rows[one.memory_id], words) for one in shown}
                shown = without_retold(shown, found, sources)
    by_id = {one.candidate.memory_id: one for one in ranked}
    return [_hit(rows[one.memory_id], by_id[one.memory_id], words, tuple(one.also)) for one in shown[:limit]]


def _found(row: Memory, words: set[str]) -> Found:
    return Found(_matched(row, words), BREADTH[SummaryLevel(row.summary_level)] if row.kind == Kind.SUMMARY else None)


def _saying(row: Memory, past: bool) -> Saying:
    # The stored hash is that of the present text.
    said = row.text.encode() if past else bytes(row.content_hash)
    return Saying(
        memory_id=row.pk,
        text=row.text,
        content_hash=said,
        is_turn=row.kind == Kind.TURN,
        speaker=row.speaker,
    )


def _merged(answers: Sequence[Recalled], profile: RecallProfile) -> Recalled:
    """Merge the answers to a whole question and to its parts, by turns."""
    whole = answers[0]
    if len(answers) == 1:
        return whole
    hits = {hit.memory.pk: hit for answer in reversed(answers) for hit in answer.hits}
    order = interleave(
        [[hit.memory.pk for hit in answer.hits] for answer in answers], limit=wanted(profile.reranker, profile.limit)
    )
    return replace(
        whole,
        hits=[
            replace(hits[one.memory_id], reasons={**hits[one.memory_id].reasons, "asked": list(one.queries)})
            for one in order
        ],
        degraded=list(dict.fromkeys(code for answer in answers for code in answer.degraded)),
        considered=max(answer.considered for answer in answers),
    )


def _judged(query: Query, profile: RecallProfile, answer: Recalled) -> Recalled:
    """Let a model have the last word about the order where the profile wants that, and cut to the limit."""
    if profile.reranker not in EXTERNAL or not answer.hits:
        return replace(answer, hits=answer.hits[: profile.limit])
    hits = {hit.memory.pk: hit for hit in answer.hits}
    judged = rescored(
        reranker if profile.reranker == "cross_encoder" else llm_judge,
        query.text,
        [OpenedHit(hit.memory.pk, _spoken(hit.memory), hit.score) for hit in answer.hits],
        name=profile.reranker,
    )
    return replace(
        answer,
        hits=[
            replace(hits[one], reasons={**hits[one].reasons, **judged.reasons(one)})
            for one in judged.order[: profile.limit]
        ],
        degraded=list(dict.fromkeys([*answer.degraded, *judged.degraded])),
    )


def _tuned(profile: RecallProfile, request: RecallRequest) -> RecallProfile:
    if request.overrides is not None:
        if not isinstance(request.overrides, Mapping):
            raise InvalidInput("overrides names fields of a profile.", code="profile.invalid", field="overrides")
        profile = with_changes(profile, request.overrides)
    changes: dict[str, Any] = {}
    if request.limit is not None:
        if isinstance(request.limit, bool) or not 1 <= request.limit <= MAX_LIMIT:
            raise InvalidInput(f"limit is a number from 1 to {MAX_LIMIT}.", code="limit.out_of_range", field="limit")
        changes["limit"] = request.limit
    if request.threshold is not None:
        if not 0 <= request.threshold <= 1:
            raise InvalidInput("threshold is a number from 0 to 1.", code="threshold.out_of_range", field="threshold")
        changes["threshold"] = request.threshold
    return replace(profile, **changes)


def _rows(query: Query, memory_ids: Sequence[UUID]) -> dict[UUID, Memory]:
    rows = opened(list(Memory.objects.filter(pk__in=memory_ids, status=Status.LIVE)))
    past = query.filters.past
    return {row.pk: row for row in (rows if past is None else as_then(rows, at=past.at))}


def _hit(row: Memory, one: Ranked, words: set[str], also: tuple[UUID, ...]) -> Hit:
    matched = tuple(sorted(_matched(row, words)))
    reasons = {
        "arms": {name: {"rank": hit.rank, "score": round(hit.score, 6)} for name, hit in one.arms.items()},
        "fused": round(one.fused, 6),
        **{name: round(value, 6) for name, value in asdict(one.adjustment).items()},
        **({"evidence": {name: _term(name, added) for name, added in one.terms.items()}} if one.terms else {}),
        **one.rerank,
    }
    return Hit(row, one.score, one.relevance, matched, reasons, also)


def _matched(row: Memory, words: set[str]) -> set[str]:
    return words & set(term_frequencies(_spoken(row)[:SEARCHED_FOR_MATCHES]))


def _term(signal: str, added: float) -> dict[str, float]:
    weight = _WEIGHTS[signal]
    return {"weight": weight, "value": round(added / weight, 4), "added": round(added, 4)}


def _spoken(row: Memory) -> str:
    return f"{row.speaker}: {row.text}" if row.speaker else row.text


def _degraded(ranking: Ranking) -> list[str]:
    return [f"{code}:{name}" if code.startswith("arm.") else code for name, code in ranking.failed.items()]
