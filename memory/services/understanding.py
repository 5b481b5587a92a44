"""What a statement would be understood as, before it is stored: nothing is kept, and no model elsewhere is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from memory.consolidation.extraction import rules_extractor
from memory.consolidation.trust import overlap
from memory.crypto.keyring import keyring
from memory.errors import EmbedderUnavailable, InvalidInput
from memory.ids import new_id
from memory.models import Kind, Memory, Status, owner_scope
from memory.ports import ExtractedEntity, ExtractedFact, Passage
from memory.providers.misconfigured import ProviderMisconfigured
from memory.recall.profiles import RecallProfile
from memory.services.actors import Actor, Permission, write_target
from memory.services.clock import now
from memory.services.drafts import Draft, Ready, make_ready, refuse_expired
from memory.services.features import require_memory
from memory.services.profiles import profile_for
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import Hit, search
from memory.services.spaces.in_use import embedder_in_use
from memory.text.dates.finder import find_spans
from memory.text.dates.spans import TimeSpan

READ_CHARACTERS: Final = 16_000
ASKED_CHARACTERS: Final = 1_000
CLOSE: Final = 3
LEAST_LIKENESS: Final = 0.5
LOOKED_AT: Final = 10
MOST_DATES: Final = 8
KEY: Final = "statement"


@dataclass(frozen=True, slots=True)
class Close:
    """A memory that says something like a statement; `likeness` is from 0 to 1: of meaning, or of words where more."""

    memory: Memory
    likeness: float


@dataclass(frozen=True, slots=True)
class Understood:
    """What a statement would be understood as.

    Attributes:
        ready: the statement with what patterns find in it: kinds of personal data, marks of injection, notes.
        entities, facts: what the rules draw from its first 16,000 characters.
        dates: times that it names.
        same: the memory that says exactly this already; storing it again would note it once more.
        close: at most three memories that say something like it, best first.
        by_words: whether those were looked for by words alone, since the embedder is not on this machine or is away.
    """

    ready: Ready
    entities: Sequence[ExtractedEntity] = ()
    facts: Sequence[ExtractedFact] = ()
    dates: Sequence[TimeSpan] = ()
    same: UUID | None = None
    close: list[Close] = field(default_factory=list)
    by_words: bool = False


def understand(*, actor: Actor, draft: Draft) -> Understood:
    """Tell what a statement would be understood as.

    Only rules read it: a text that nobody has decided to keep goes to no model, except to an embedder on this machine.

    Args:
        actor: who may store it then.
        draft: the statement, as `remember` takes it.

    Raises:
        InvalidInput, TooLarge, PermissionRefused: as `remember` would raise them.
    """
    require_memory()
    actor.require(Permission.READ)
    actor.require(Permission.WRITE)
    if draft.kind == Kind.TURN:
        raise InvalidInput(
            "Turns belong to a session: send them to the turns endpoint.", code="kind.invalid", field="kind"
        )
    moment = now()
    ready = make_ready(draft, ring=keyring().of(actor.owner_id))
    refuse_expired(ready, now=moment)
    said_at = ready.moments["occurred_at"] or moment
    text = ready.text[:READ_CHARACTERS]
    drawn = rules_extractor().extract([Passage(key=KEY, text=text, occurred_at=said_at)])
    close, by_words = _close(actor, ready)
    same = _same(actor, ready)
    return Understood(
        ready=ready,
        entities=drawn.entities,
        facts=drawn.facts,
        dates=find_spans(text, reference=said_at, limit=MOST_DATES),
        same=same,
        close=[one for one in close if one.memory.pk != same][:CLOSE],
        by_words=by_words,
    )


def _same(actor: Actor, ready: Ready) -> UUID | None:
    target = write_target(actor)
    with owner_scope(actor.owner_id):
        found = Memory.objects.filter(
            scope=target.scope, content_hash=ready.content_hash, status=Status.LIVE, session__isnull=True
        )
        known: UUID | None = found.values_list("pk", flat=True).first()
        return known


def _close(actor: Actor, ready: Ready) -> tuple[list[Close], bool]:
    """Find what says something like it, without asking, judging or recording as a recall does."""
    request = RecallRequest(query=ready.text[:ASKED_CHARACTERS], reinforce=False, record=False)
    near = _is_near()
    query = prepare_query(actor, ready.text[:ASKED_CHARACTERS], request, wants_vector=near)
    with owner_scope(actor.owner_id):
        profile = _plain(profile_for(actor, None)[0])
        found = search(query, profile, request, new_id())
    close = [Close(hit.memory, _likeness(hit, ready.text)) for hit in found.hits]
    close.sort(key=lambda one: -one.likeness)
    return [one for one in close if one.likeness >= LEAST_LIKENESS], query.vector is None


def _likeness(hit: Hit, text: str) -> float:
    """Tell how much a found memory is like a text: the cosine of their vectors, or the words that both have."""
    meaning = hit.reasons.get("arms", {}).get("dense", {}).get("score") or 0.0
    return min(1.0, max(float(meaning), overlap(text[:ASKED_CHARACTERS], hit.memory.text[:ASKED_CHARACTERS])))


def _plain(profile: RecallProfile) -> RecallProfile:
    """Take from a profile what would ask a model or widen the search."""
    return replace(profile, reranker="none", expand=False, fallback=False, limit=LOOKED_AT)


def _is_near() -> bool:
    """Tell whether the embedder works on this machine."""
    try:
        return embedder_in_use().local
    except (EmbedderUnavailable, ProviderMisconfigured):
        return False
