"""Making questions ready for recall: keyed words, vectors, the parts of a compound question, further words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from memory.crypto.keyring import keyring
from memory.errors import BudgetExceeded, EmbedderUnavailable
from memory.graph.key_terms import key_terms
from memory.ports import gives_tokens
from memory.ports.outbound import on_behalf_of
from memory.privacy import pii
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.recall.decomposition import decompose
from memory.recall.late_interaction import embed_queries
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query, keyed_terms
from memory.recall.time_window import windows
from memory.services.actors import UNSET, Actor, read_scopes
from memory.services.clock import now
from memory.services.expansion import expand
from memory.services.filtering import Narrowed, filters_of, moment_of
from memory.services.spaces.in_use import Kept, spaces_in_use, standing_by
from memory.text.signals import query_signals

# What a word that a model added counts beside the question's own.
ADDED_SHARE: Final = 0.3
RECALLING: Final = "recall"
"""What questions are embedded and hits judged for, in the record of what leaves."""
STOOD_IN: Final = "embedder.standby"
"""Says that the embedder in use failed and the vectors of the space beside it were searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest(Narrowed):
    """What is asked.

    `limit` and `threshold` are the profile's own when left out, and `overrides` are other values of its fields, for
    this request alone and within the bounds of an owner's changes. `reference_time` is the moment from which the query
    speaks, the present when left out. `reinforce` counts the hits as used; `record` keeps the explanation. `sort` names
    the request in the audit.
    """

    query: Any
    profile: str | None = None
    limit: int | None = None
    threshold: float | None = None
    overrides: Mapping[str, Any] | None = None
    scope: Any = UNSET
    reference_time: Any = None
    reinforce: bool = True
    record: bool = True
    sort: str = "recall"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question made ready: whole, then in its parts where it has some; `degraded` names what could not be done."""

    queries: tuple[Query, ...]
    degraded: tuple[str, ...] = ()


def without_vector(actor: Actor, text: str, request: RecallRequest) -> Query:
    """Make a question ready as far as no model is needed.

    Raises:
        InvalidInput, InvalidScope, NotFound: a filter, moment or scope cannot be used.
    """
    ring = keyring().of(actor.owner_id)
    moment, asks = now(), query_signals(text)
    reference = moment_of(request, "reference_time") or moment
    named = tuple(windows(text, reference))
    terms = keyed_terms(text, ring, windows=named)
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
        reference=reference,
        asks=asks,
        names=frozenset(ring.name(name) for name in asks.names),
        windows=named,
        telling=terms.telling,
    )


def prepare_query(actor: Actor, text: str, request: RecallRequest, *, wants_vector: bool = True) -> Query:
    """Make one question ready, with the vector of its text with personal data replaced."""
    query = without_vector(actor, text, request)
    with on_behalf_of(actor.owner_id, RECALLING, agent_id=actor.agent_id):
        return _with_vectors([query]).queries[0] if wants_vector else query


def ask(actor: Actor, query: Query, request: RecallRequest, profile: RecallProfile) -> Asked:
    """Add what a profile wants beside the words: vectors, the question's parts, further words.

    Asks models, so never call it inside a transaction; all parts are embedded at once.
    """
    with on_behalf_of(actor.owner_id, RECALLING, agent_id=actor.agent_id):
        return _asked(actor, query, request, profile)


def _asked(actor: Actor, query: Query, request: RecallRequest, profile: RecallProfile) -> Asked:
    queries, degraded = [query], list[str]()
    if profile.decompose:
        parts = decompose(query.text)
        if len(parts) > 1:
            queries += [without_vector(actor, part, request) for part in parts]
    if profile.expand:
        added = expand(owner_id=actor.owner_id, query=query.text)
        degraded += added.degraded
        queries[0] = _expanded(query, added.words)
    if "dense" in profile.arms:
        embedded = _with_vectors(queries)
        queries, degraded = embedded.queries, [*degraded, *embedded.degraded]
        if "graph" in profile.arms and profile.graph == "prax" and embedded.model is not None:
            queries = _with_terms(queries, embedded.model)
    return Asked(tuple(queries), tuple(degraded))


def _expanded(query: Query, words: Sequence[str]) -> Query:
    if not words:
        return query
    added = keyed_terms(" ".join(words), keyring().of(query.owner_id))
    return replace(
        query,
        terms={**added.counts, **query.terms},
        shares={**{term: share * ADDED_SHARE for term, share in added.shares.items()}, **query.shares},
        words={**added.words, **query.words},
    )


def _with_terms(queries: Sequence[Query], model: GuardedEmbedder) -> list[Query]:
    """Add the vectors of the questions with their key terms appended, where the embedder gives any."""
    terms = [key_terms(query.text) for query in queries]
    asked = [place for place, query in enumerate(queries) if terms[place] and query.vector is not None]
    if not asked:
        return list(queries)
    texts = [pii.redact(" ".join([queries[at].text, *terms[at]])) for at in asked]
    try:
        vectors = model.embed(texts)
    except EmbedderUnavailable:
        return list(queries)
    found = dict(zip(asked, vectors, strict=True))
    return [replace(query, appended=found.get(place)) for place, query in enumerate(queries)]


@dataclass(frozen=True, slots=True)
class _Embedded:
    """Questions with the vectors that they could get, the model that made them, and what was done with less."""

    queries: list[Query]
    model: GuardedEmbedder | None = None
    degraded: tuple[str, ...] = ()


def _with_vectors(queries: Sequence[Query]) -> _Embedded:
    """Add the questions' vectors; without them where the embedder is unavailable or must not be asked.

    Where the embedder in use fails, another one stands in whose space lacks nothing of the owner.
    """
    try:
        return _embedded_by(spaces_in_use().active, queries)
    except BudgetExceeded as error:
        return _Embedded([replace(query, no_vector=error.machine_code) for query in queries])
    except EmbedderUnavailable:
        second = standing_by(queries[0].owner_id)
    if second is not None:
        with suppress(EmbedderUnavailable):
            return replace(_embedded_by(second, queries), degraded=(STOOD_IN,))
    return _Embedded(list(queries))


def _embedded_by(kept: Kept, queries: Sequence[Query]) -> _Embedded:
    model, space = kept.model, kept.space
    ring = keyring().of(queries[0].owner_id)
    texts = [pii.redact(query.text) for query in queries]
    embedded = embed_queries(model, texts, ring)
    familiar = [not gives_tokens(model) or model.understands(text) for text in texts]
    if any(len(vector) != space.dimension for vector, _ in embedded):
        raise EmbedderUnavailable("The embedder now answers with another width than its stored vectors have.")
    found = [
        replace(query, vector=vector, tokens=tokens, space_id=space.pk, dimension=space.dimension)
        if known
        else replace(query, no_vector="embedder.unfamiliar")
        for query, known, (vector, tokens) in zip(queries, familiar, embedded, strict=True)
    ]
    return _Embedded(found, model)
