"""What this app keeps of owners, each thing once, in the order in which a purge erases it: children before parents.

Deleting a memory alone would have the database look for its children in some twenty tables; where those are empty
already it finds nothing, and looks quickly.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings

from memory.consolidation.resolution.names import taken_apart
from memory.crypto.keyring import keyring
from memory.graph.adjacency import adjacencies
from memory.models import (
    Agent,
    AgentFile,
    AgentFileVersion,
    AgentGroup,
    AgentKey,
    AgentSettings,
    BusMessage,
    CausalLink,
    Community,
    CommunityState,
    ConsolidationLease,
    ConsolidationRun,
    DueWork,
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
    OwnerActivity,
    OwnerSettings,
    PendingVector,
    ProfileOverride,
    RecallRecord,
    Reflection,
    Relation,
    ReviewEvidence,
    ReviewItem,
    SavedSearch,
    Session,
    Skill,
    SkillDependency,
    SpaceFill,
    TemporalEvent,
    TokenVectors,
)
from memory.recall.dense import scan_choices
from memory.recall.document_frequency import document_frequencies
from memory.recall.vocabulary import vocabularies
from memory.services import outbound, reinforcement
from memory.services.audit import readers
from memory.services.expansion import forget_expansions
from memory.services.projection.erasing import Neo4jTarget
from memory.services.purge.agent_parts import add_agent_part, rows_of_agent
from memory.services.purge.caches import CachesTarget, register_cache
from memory.services.purge.logins import BrowserSessionsTarget, LoginTarget
from memory.services.purge.queue import QueueTarget
from memory.services.purge.registry import Phase, register
from memory.services.purge.standing import AuditTarget, KeysTarget, PurgesTarget
from memory.services.purge.tables import TableTarget
from memory.text.tokens import forget_words

TABLES: Final = (
    TableTarget("due_work", DueWork),
    TableTarget("space_fills", SpaceFill),
    TableTarget("consolidation_leases", ConsolidationLease),
    TableTarget("review_evidence", ReviewEvidence),
    TableTarget("review_items", ReviewItem),
    TableTarget("consolidation_runs", ConsolidationRun),
    TableTarget("extraction_failures", ExtractionFailure),
    # Before the graph, so that nothing of what is erased is noted any more.
    TableTarget("graph_projections", GraphProjection),
    TableTarget("graph_changes", GraphChange),
    TableTarget("graph_positions", GraphPosition),
    TableTarget("graph_layouts", GraphLayout),
    TableTarget("graph_evidence", GraphEvidence),
    TableTarget("event_participants", EventParticipant),
    TableTarget("temporal_events", TemporalEvent),
    TableTarget("causal_links", CausalLink),
    TableTarget("relations", Relation),
    TableTarget("entity_mentions", EntityMention),
    TableTarget("entities_apart", EntitiesApart),
    TableTarget("entity_merges", EntityMerge),
    TableTarget("entity_names", EntityName),
    TableTarget("entities", Entity),
    TableTarget("graph_states", GraphState),
    TableTarget("communities", Community),
    TableTarget("community_states", CommunityState),
    TableTarget("memory_edges", MemoryEdge),
    TableTarget("memory_claims", MemoryClaim),
    TableTarget("skill_dependencies", SkillDependency),
    TableTarget("skills", Skill),
    TableTarget("reflections", Reflection),
    TableTarget("vectors", MemoryVector),
    TableTarget("token_vectors", TokenVectors),
    TableTarget("pending_vectors", PendingVector),
    TableTarget("postings", LexPosting),
    TableTarget("posting_counts", LexStats),
    TableTarget("mentioned_times", MentionedTime),
    TableTarget("memory_reads", MemoryRead),
    TableTarget("memory_uses", MemoryAccess),
    TableTarget("memory_labels", MemoryLabel),
    TableTarget("memory_sources", MemorySource),
    TableTarget("memory_versions", MemoryVersion),
    TableTarget("memories", Memory),
    TableTarget("sessions", Session),
    TableTarget("bus_messages", BusMessage),
    TableTarget("outbound_requests", OutboundRequest),
    TableTarget("idempotency_answers", IdempotencyRecord),
    TableTarget("recall_records", RecallRecord),
    TableTarget("saved_searches", SavedSearch),
    TableTarget("profile_overrides", ProfileOverride),
    TableTarget("file_versions", AgentFileVersion),
    TableTarget("files", AgentFile),
    TableTarget("agent_settings", AgentSettings),
    TableTarget("agent_keys", AgentKey),
    TableTarget("group_memberships", GroupMembership),
    TableTarget("agents", Agent),
    TableTarget("agent_groups", AgentGroup),
    TableTarget("owner_settings", OwnerSettings),
    TableTarget("owner_activity", OwnerActivity),
)


def register_targets() -> None:
    """Register the targets and caches of this app."""
    register(BrowserSessionsTarget(), phase=Phase.DOORS)
    register(LoginTarget(), phase=Phase.DOORS)
    register(QueueTarget(), phase=Phase.STORES)
    register(Neo4jTarget(), phase=Phase.STORES)
    register(CachesTarget(), phase=Phase.STORES)
    if settings.REDIS:
        from memory.services.purge.redis_store import RedisTarget

        register(RedisTarget(), phase=Phase.STORES)
    for table in TABLES:
        register(table, phase=Phase.ROWS)
    add_agent_part(rows_of_agent("files", AgentFile))
    add_agent_part(rows_of_agent("agent_settings", AgentSettings))
    register(PurgesTarget(), phase=Phase.ROWS)
    register(AuditTarget(), phase=Phase.AUDIT)
    register(KeysTarget(), phase=Phase.KEYS)
    register_caches()


def register_caches() -> None:
    """Register what processes keep in their memory; caches that cannot tell owners apart are emptied."""
    register_cache("keys", lambda owner_id: keyring().forget(owner_id))
    register_cache("vocabularies", vocabularies.forget)
    register_cache("expansions", forget_expansions)
    register_cache("waiting uses", reinforcement.forget)
    register_cache("waiting reads", readers.forget)
    register_cache("waiting records of requests", outbound.forget)
    register_cache("document frequencies", lambda owner_id: document_frequencies.forget())
    register_cache("scan choices", lambda owner_id: scan_choices.forget())
    register_cache("graph matrices", lambda owner_id: adjacencies.forget())
    register_cache("words read", lambda owner_id: forget_words())
    register_cache("names read", lambda owner_id: taken_apart.cache_clear())
