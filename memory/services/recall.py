"""Recall: what the owner's memories have to say to a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import EmbedderUnavailable, InvalidInput, NotFound
from memory.ids import new_id
from memory.models import Memory, RecallRecord, Status, owner_scope
from memory.privacy import pii
from memory.providers.composition import embedder
from memory.recall import fallback
from memory.recall.gate import Verdict, gate
from memory.recall.late_interaction import embed_query
from memory.recall.pipeline import Ranked, Ranking, rank
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query, keyed_terms
from memory.services.actors import UNSET, Actor, Permission, read_scopes
from memory.services.clock import now
from memory.services.embedding import active_space
from memory.services.features import require_memory
from memory.services.filtering import Narrowed, filters_of, moment_of
from memory.services.opening import opened
from memory.services.past import as_then
from memory.services.profiles import effective_profile
from memory.services.reinforcement import reinforce
from memory.services.retention import EXPLANATIONS_KEPT
from memory.text import limits
from memory.text.signals import query_signals
from memory.text.tokens import term_frequencies

MAX_LIMIT: Final = 100
# Characters of a text in which the matched words are looked for; a hundred long texts would take seconds.
SEARCHED_FOR_MATCHES: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest(Narrowed):
    """What is asked.

    `limit` and `threshold` are the profile's own when left out. `reference_time` is the moment from which the query
    speaks, the present when left out. `reinforce` counts the hits as used; `record` keeps the explanation.
    """

    query: Any
    profile: str | None = None
    limit: int | None = None
    threshold: float | None = None
    scope: Any = UNSET
    reference_time: Any = None
    reinforce: bool = True
    record: bool = True


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory found, with the reasons for its place. `matched` are the query's words that stand in it."""

    memory: Memory
    score: float
    relevance: float
    matched: tuple[str, ...]
    reasons: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer to a recall.

    `degraded` lists what could not be done (`embedder.unavailable`, `arm.absent:graph` …); `gate` says when a query
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

    The query is embedded before the transaction. Uses are counted after the answer, in batches.

    Raises:
        InvalidInput: the query or a filter cannot be used.
        InvalidScope, NotFound, PermissionRefused: the scope or profile is not there or not readable.
    """
    require_memory()
    actor.require(Permission.READ)
    text = limits.checked_query(request.query)
    with owner_scope(actor.owner_id):
        profile = _tuned(effective_profile(actor, request.profile), request)
    # Before the gate, so that a request that cannot be used is refused whatever its query says.
    query = _without_vector(actor, text, request)
    verdict = gate(text)
    recall_id = new_id()
    if verdict is not Verdict.RECALL:
        return Recalled(recall_id, profile.name, [], gate=verdict)
    query = _with_vector(query) if "dense" in profile.arms else query
    with owner_scope(actor.owner_id):
        answer = search(query, profile, request, recall_id)
        if request.record:
            _record(actor, recall_id, answer, query)
    if request.reinforce:
        reinforce(actor.owner_id, [hit.memory.pk for hit in answer.hits], at=query.now)
    return answer


def prepare_query(actor: Actor, text: str, request: RecallRequest, *, wants_vector: bool = True) -> Query:
    """Make a query ready: its keyed words, and the vector of its text with personal data replaced."""
    query = _without_vector(actor, text, request)
    return _with_vector(query) if wants_vector else query


def _without_vector(actor: Actor, text: str, request: RecallRequest) -> Query:
    ring = keyring().of(actor.owner_id)
    terms = keyed_terms(text, ring)
    moment, asks = now(), query_signals(text)
    return Query(
        text=text,
        owner_id=actor.owner_id,
        scopes=read_scopes(actor, request.scope),
        terms=terms.counts,
        shares=terms.shares,
        words=terms.words,
        vector=None,
        space_id=None,
        dimension=0,
        filters=filters_of(request, actor=actor, ring=ring, at=moment),
        now=moment,
        reference=moment_of(request, "reference_time") or moment,
        asks=asks,
        names=frozenset(ring.name(name) for name in asks.names),
    )


def _with_vector(query: Query) -> Query:
    """Add the query's vector; without one where the embedder is unavailable."""
    try:
        model = embedder()
        space = active_space(model)
        ring = keyring().of(query.owner_id)
        vector, tokens = embed_query(model, pii.redact(query.text), ring)
    except EmbedderUnavailable:
        return query
    return replace(query, vector=vector, tokens=tokens, space_id=space.pk, dimension=space.dimension)


def search(query: Query, profile: RecallProfile, request: RecallRequest, recall_id: UUID) -> Recalled:
    """Rank, open and explain within the owner's scope; the timed heart of a recall."""
    ranking = rank(query, profile, limit=profile.limit)
    rows = _rows(query, [one.candidate.memory_id for one in ranking.ranked])
    wanted = set(query.words.values())
    hits = [
        _hit(rows[one.candidate.memory_id], one, wanted) for one in ranking.ranked if one.candidate.memory_id in rows
    ]
    fell_back = False
    if not hits and profile.fallback and not ranking.considered:
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


def explanation(*, actor: Actor, recall_id: UUID) -> dict[str, Any]:
    """Give the stored explanation of a recall to the one who made it; raises NotFound for anyone else."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        record = RecallRecord.objects.filter(
            pk=recall_id, caller=actor.caller_id, created_at__gt=now() - EXPLANATIONS_KEPT
        ).first()
        if record is None:
            raise NotFound("There is no such recall of yours, or its explanation has expired.")
        found: dict[str, Any] = record.explanation
        return found


def _tuned(profile: RecallProfile, request: RecallRequest) -> RecallProfile:
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


def _hit(row: Memory, one: Ranked, wanted: set[str]) -> Hit:
    spoken = f"{row.speaker}: {row.text}" if row.speaker else row.text
    matched = tuple(sorted(wanted & set(term_frequencies(spoken[:SEARCHED_FOR_MATCHES]))))
    reasons = {
        "arms": {name: {"rank": hit.rank, "score": round(hit.score, 6)} for name, hit in one.arms.items()},
        "fused": round(one.fused, 6),
        **{name: round(value, 6) for name, value in asdict(one.adjustment).items()},
        **({"evidence": {name: round(value, 4) for name, value in one.terms.items()}} if one.terms else {}),
    }
    return Hit(row, one.score, one.relevance, matched, reasons)


def _degraded(ranking: Ranking) -> list[str]:
    return [f"arm.absent:{name}" for name in ranking.absent] + [
        code if code != "arm.failed" else f"arm.failed:{name}" for name, code in ranking.failed.items()
    ]


def _record(actor: Actor, recall_id: UUID, answer: Recalled, query: Query) -> None:
    RecallRecord.objects.create(
        id=recall_id,
        caller=actor.caller_id,
        created_at=query.now,
        explanation={
            "recall_id": str(recall_id),
            "query": query.text,
            "profile": answer.profile,
            "intent": list(answer.intent),
            "degraded": answer.degraded,
            "fallback": answer.fallback,
            "considered": answer.considered,
            "hits": [
                {
                    "memory_id": str(hit.memory.pk),
                    "score": round(hit.score, 6),
                    "relevance": round(hit.relevance, 4),
                    "matched": list(hit.matched),
                    "reasons": dict(hit.reasons),
                }
                for hit in answer.hits
            ],
        },
    )
