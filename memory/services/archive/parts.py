"""What an archive holds of this app: one part for each kind of row, and what is left out of it and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.db import models
from django.db.models import Q

from memory.models import (
    Agent,
    AgentFile,
    AgentFileVersion,
    AgentGroup,
    AgentKey,
    AgentSettings,
    AuditEvent,
    AuditSeal,
    BusMessage,
    CausalLink,
    Community,
    CommunityState,
    ConsolidationLease,
    ConsolidationRun,
    DueWork,
    EmbeddingSpace,
    EntitiesApart,
    Entity,
    EntityMention,
    EntityMerge,
    EntityName,
    EventParticipant,
    ExtractionFailure,
    GraphChange,
    GraphEvidence,
    GraphLayout,
    GraphPosition,
    GraphProjection,
    GraphState,
    GroupMembership,
    IdempotencyRecord,
    LexPosting,
    LexStats,
    Memory,
    MemoryAccess,
    MemoryClaim,
    MemoryEdge,
    MemoryLabel,
    MemoryRead,
    MemorySource,
    MemoryVector,
    MemoryVersion,
    MentionedTime,
    OutboundRequest,
    Owner,
    OwnerActivity,
    OwnerSettings,
    PendingVector,
    ProfileOverride,
    Purge,
    RecallRecord,
    Reflection,
    Relation,
    RetiredAuditEvent,
    RetiredAuditSeal,
    ReviewEvidence,
    ReviewItem,
    SavedSearch,
    Session,
    Skill,
    SkillDependency,
    SpaceFill,
    TemporalEvent,
    TokenVectors,
    User,
)
from memory.services.actors import Actor
from memory.services.archive.registry import Part, Readable, Rows, register
from memory.services.graph.exporting import readable_memories
from memory.services.sessions import own_sessions


def _scoped(rows: Rows, actor: Actor) -> Rows:
    return rows.filter(scope__in=actor.readable)


def _all(rows: Rows, actor: Actor) -> Rows:
    return rows


def _memories(rows: Rows, actor: Actor) -> Rows:
    return readable_memories(actor)


def _of_memories(*columns: str) -> Readable:
    def readable(rows: Rows, actor: Actor) -> Rows:
        for column in columns:
            rows = rows.filter(**{f"{column}__in": readable_memories(actor).values("pk")})
        return rows

    return readable


def _both(*conditions: Readable) -> Readable:
    def readable(rows: Rows, actor: Actor) -> Rows:
        for condition in conditions:
            rows = condition(rows, actor)
        return rows

    return readable


def _of_entities(*columns: str) -> Readable:
    def readable(rows: Rows, actor: Actor) -> Rows:
        for column in columns:
            seen = Entity.objects.filter(scope__in=actor.readable).values("pk")
            rows = rows.filter(**{f"{column}__in": seen})
        return rows

    return readable


def _evidence(rows: Rows, actor: Actor) -> Rows:
    known = Q(memory=None) | Q(memory__in=readable_memories(actor).values("pk"))
    return rows.filter(known, scope__in=actor.readable)


def _sessions(rows: Rows, actor: Actor) -> Rows:
    return own_sessions(actor)


def _own(column: str) -> Readable:
    def readable(rows: Rows, actor: Actor) -> Rows:
        return rows.filter(**{column: actor.agent_id})

    return readable


def _groups(rows: Rows, actor: Actor) -> Rows:
    return rows.filter(pk__in=list(actor.groups))


def _of_events(rows: Rows, actor: Actor) -> Rows:
    return rows.filter(event__in=TemporalEvent.objects.filter(scope__in=actor.readable).values("pk"))


def _of_skills(rows: Rows, actor: Actor) -> Rows:
    seen = Skill.objects.filter(scope__in=actor.readable, memory__in=readable_memories(actor).values("pk"))
    return rows.filter(skill__in=seen.values("pk"), needs__in=seen.values("pk"))


def _without(*names: str) -> frozenset[str]:
    return frozenset(names)


PARTS: Final = (
    Part("owner", Owner, "You: when your memories began, and the pseudonym under which your audit is kept."),
    Part("login", User, "Your login.", without=_without("password", "is_superuser")),
    Part("settings", OwnerSettings, "What you have chosen.", readable=_all),
    Part("agent_settings", AgentSettings, "What you have chosen for single agents."),
    Part("profile_overrides", ProfileOverride, "Your changes to recall profiles, by version.", readable=_all),
    Part("activity", OwnerActivity, "Counters of your activity."),
    Part("agents", Agent, "Programs that act for you.", readable=_own("pk"), without=_without("name_hash")),
    Part("groups", AgentGroup, "Projects and squads.", readable=_groups, without=_without("name_hash")),
    Part("memberships", GroupMembership, "Which agent belongs to which group.", readable=_own("agent")),
    Part(
        "keys",
        AgentKey,
        "Keys of agents, without what could be used to log in.",
        without=_without("digest", "proof", "prefix"),
    ),
    Part(
        "files",
        AgentFile,
        "Files that agents are made of, deleted ones that can be brought back among them.",
        readable=_scoped,
        without=_without("path_hash"),
    ),
    Part(
        "file_versions",
        AgentFileVersion,
        "What these files were before they were changed.",
        readable=_scoped,
        order=("file_id", "number"),
    ),
    Part("sessions", Session, "Conversations.", readable=_sessions, without=_without("label_hash")),
    Part(
        "memories",
        Memory,
        "All memories, turns of conversations among them, of every status.",
        readable=_memories,
        without=_without("content_hash", "speaker_hashes", "name_hashes"),
    ),
    Part(
        "sources",
        MemorySource,
        "Each time that a memory was stated.",
        readable=_both(_scoped, _of_memories("memory")),
        order=("memory_id", "id"),
    ),
    Part(
        "versions",
        MemoryVersion,
        "What memories said before they were changed.",
        readable=_both(_scoped, _of_memories("memory")),
        order=("memory_id", "id"),
    ),
    Part(
        "uses",
        MemoryAccess,
        "How often memories were recalled.",
        readable=_of_memories("memory"),
        order=("memory_id",),
    ),
    Part("reads", MemoryRead, "Who has read which memory.", order=("memory_id", "reader")),
    Part(
        "claims",
        MemoryClaim,
        "What statements claim, as numbers by which contradictions are found.",
        readable=_both(_scoped, _of_memories("memory")),
        order=("memory_id", "slot", "value"),
    ),
    Part(
        "failures",
        ExtractionFailure,
        "Memories from which nothing could be drawn.",
        readable=_of_memories("memory"),
        order=("memory_id",),
    ),
    Part("entities", Entity, "People, things and subjects that memories speak of.", readable=_scoped),
    Part(
        "mentions",
        EntityMention,
        "Which memory speaks of which entity.",
        readable=_both(_of_memories("memory"), _of_entities("entity")),
        order=("entity_id", "memory_id"),
    ),
    Part(
        "relations",
        Relation,
        "How entities stand to one another, and when.",
        readable=_both(_scoped, _of_entities("source", "target")),
        without=_without("label_hash"),
    ),
    Part(
        "relation_evidence",
        GraphEvidence,
        "Why a relation is believed.",
        readable=_evidence,
        order=("relation_id", "id"),
        only=Q(relation__isnull=False),
    ),
    Part("events", TemporalEvent, "What happened.", readable=_scoped, without=_without("text_hash")),
    Part(
        "event_evidence",
        GraphEvidence,
        "Why an event is believed.",
        readable=_evidence,
        order=("event_id", "id"),
        only=Q(event__isnull=False),
    ),
    Part(
        "participants",
        EventParticipant,
        "Who took part in an event.",
        readable=_both(_of_events, _of_entities("entity")),
        order=("event_id", "entity_id"),
    ),
    Part("causes", CausalLink, "What caused what.", readable=_scoped, without=_without("text_hash")),
    Part(
        "cause_evidence",
        GraphEvidence,
        "Why a cause is believed.",
        readable=_evidence,
        order=("cause_id", "id"),
        only=Q(cause__isnull=False),
    ),
    Part(
        "edges",
        MemoryEdge,
        "Links between memories.",
        readable=_both(_scoped, _of_memories("source", "target")),
        without=_without("relationship_hash"),
    ),
    Part("merges", EntityMerge, "Entities that were merged."),
    Part("apart", EntitiesApart, "Entities that you have said are not the same.", order=("first_id", "second_id")),
    Part(
        "skills",
        Skill,
        "How to do things.",
        readable=_both(_scoped, _of_memories("memory")),
        without=_without("name_hash"),
    ),
    Part(
        "skill_dependencies",
        SkillDependency,
        "Which skill needs which.",
        readable=_of_skills,
        order=("skill_id", "needs_id"),
    ),
    Part(
        "reflections",
        Reflection,
        "Patterns of behaviour.",
        readable=_both(_scoped, _of_memories("memory")),
        without=_without("pattern_hash"),
    ),
    Part("communities", Community, "Groups of memories and entities that belong together."),
    Part("community_state", CommunityState, "When communities were last computed.", order=("owner_id",)),
    Part("reviews", ReviewItem, "What waited for a decision, and what was decided.", without=_without("payload_hash")),
    Part("review_evidence", ReviewEvidence, "The words that a review item was drawn from."),
    Part("runs", ConsolidationRun, "Runs of consolidation."),
    Part("access_log", AuditEvent, "Who did what.", without=_without("proof")),
    Part("access_log_seals", AuditSeal, "The signed chain of the access log."),
    Part(
        "outbound",
        OutboundRequest,
        "What was sent to outside providers: digests, no content.",
        without=_without("digest", "signature"),
        read=("sha256",),
    ),
    # An agent reads messages with a token of its own, within the bounds of that.
    Part("bus", BusMessage, "Messages between your agents.", without=_without("topic_hashes")),
    Part("saved_searches", SavedSearch, "Searches that you keep under a name."),
    Part("recalls", RecallRecord, "How recalls came to their answers; kept for days.", readable=_own("caller")),
    Part(
        "kept_answers",
        IdempotencyRecord,
        "Answers kept for a day for requests that are sent again.",
        readable=_own("caller"),
        without=_without("key_digest", "request_digest"),
    ),
    Part("purges", Purge, "Erasures that were asked for.", without=_without("token_digest", "samples", "position")),
)

LEFT_OUT: Final[Mapping[type[models.Model], str]] = {
    MemoryLabel: "Keyed hashes of the tags, topics, names and sources that stand with the memories.",
    EntityName: "Keyed hashes of the names and aliases that stand with the entities.",
    LexPosting: "Keyed hashes of the words of the memories; the index of recall, made of their texts.",
    LexStats: "Counts of the index of words.",
    MemoryVector: "Numbers made of the memories' texts by a model; made anew from the texts.",
    TokenVectors: "Numbers made of the memories' words by a model; made anew from the texts.",
    MentionedTime: "Dates read in the memories' texts; read anew from the texts.",
    PendingVector: "A list of work that waits, without content.",
    DueWork: "A list of work that waits, without content.",
    GraphState: "A counter of changes.",
    GraphLayout: "When the picture of the graph was last laid out, without content.",
    GraphProjection: "How far the projection to Neo4j is, without content.",
    GraphChange: "A list of changes that wait to be projected, without content.",
    GraphPosition: "Where things stand in the picture of the graph; laid out anew from what it shows.",
    ConsolidationLease: "Who works at this moment, without content.",
    SpaceFill: "How far vectors are made in a space, without content.",
    EmbeddingSpace: "Names a model and no person.",
    RetiredAuditEvent: "Of owners who were erased; names nobody.",
    RetiredAuditSeal: "Of owners who were erased; names nobody.",
}


def register_parts() -> None:
    """Register the parts of this app."""
    register(*PARTS, left_out=LEFT_OUT)
