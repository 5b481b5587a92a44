"""The models, one file for each group of tables."""

from memory.models.agent import Agent, AgentGroup, AgentKey, AgentSettings, GroupMembership
from memory.models.agent_file import AgentFile, AgentFileVersion, FileChange, MediaType
from memory.models.audit import AuditEvent, AuditSeal, MemoryRead, RetiredAuditEvent, RetiredAuditSeal
from memory.models.bus import BusMessage
from memory.models.communities import Community, CommunityState
from memory.models.consolidation import (
    ConsolidationLease,
    ConsolidationRun,
    ExtractionFailure,
    RiskClass,
    RunState,
    RunTrigger,
)
from memory.models.graph import (
    CausalLink,
    EdgeKind,
    Entity,
    EntityMention,
    EntityName,
    EntityType,
    EventParticipant,
    GraphEvidence,
    GraphState,
    MemoryEdge,
    NameKind,
    Relation,
    TemporalEvent,
)
from memory.models.history import MemoryAccess, MemoryLabel, MemorySource, MemoryVersion
from memory.models.index import (
    EmbeddingSpace,
    LexPosting,
    LexStats,
    MemoryVector,
    MentionedTime,
    PendingVector,
    SpaceFill,
    TokenVectors,
)
from memory.models.knowledge import MemoryClaim, Reflection, Skill, SkillDependency, SkillOrigin, SkillState
from memory.models.layout import GraphLayout, GraphPosition
from memory.models.memory import Memory
from memory.models.merges import EntitiesApart, EntityMerge
from memory.models.outbound import OutboundRequest
from memory.models.owner import Owner, OwnerActivity, OwnerSettings, User
from memory.models.projection import GraphChange, GraphPart, GraphProjection, ProjectionState
from memory.models.purge import Purge, PurgeState, PurgeSubject
from memory.models.requests import IdempotencyRecord, ProfileOverride, RecallRecord
from memory.models.review import ReviewEvidence, ReviewItem, ReviewKind, ReviewState
from memory.models.saved_search import SavedSearch
from memory.models.session import Session
from memory.models.tenancy import TenantModel, current_owner, owner_scope
from memory.models.vocabulary import (
    GroupKind,
    Kind,
    LabelKind,
    Role,
    SpaceState,
    Status,
    SummaryLevel,
    Tier,
    Visibility,
)
from memory.models.work import DueWork

__all__ = [
    "Agent",
    "AgentFile",
    "AgentFileVersion",
    "AgentGroup",
    "AgentKey",
    "AgentSettings",
    "AuditEvent",
    "AuditSeal",
    "BusMessage",
    "CausalLink",
    "Community",
    "CommunityState",
    "ConsolidationLease",
    "ConsolidationRun",
    "DueWork",
    "EdgeKind",
    "EmbeddingSpace",
    "EntitiesApart",
    "Entity",
    "EntityMention",
    "EntityMerge",
    "EntityName",
    "EntityType",
    "EventParticipant",
    "ExtractionFailure",
    "FileChange",
    "GraphChange",
    "GraphEvidence",
    "GraphLayout",
    "GraphPart",
    "GraphPosition",
    "GraphProjection",
    "GraphState",
    "GroupKind",
    "GroupMembership",
    "IdempotencyRecord",
    "Kind",
    "LabelKind",
    "LexPosting",
    "LexStats",
    "MediaType",
    "Memory",
    "MemoryAccess",
    "MemoryClaim",
    "MemoryEdge",
    "MemoryLabel",
    "MemoryRead",
    "MemorySource",
    "MemoryVector",
    "MemoryVersion",
    "MentionedTime",
    "NameKind",
    "OutboundRequest",
    "Owner",
    "OwnerActivity",
    "OwnerSettings",
    "PendingVector",
    "ProfileOverride",
    "ProjectionState",
    "Purge",
    "PurgeState",
    "PurgeSubject",
    "RecallRecord",
    "Reflection",
    "Relation",
    "RetiredAuditEvent",
    "RetiredAuditSeal",
    "ReviewEvidence",
    "ReviewItem",
    "ReviewKind",
    "ReviewState",
    "RiskClass",
    "Role",
    "RunState",
    "RunTrigger",
    "SavedSearch",
    "Session",
    "Skill",
    "SkillDependency",
    "SkillOrigin",
    "SkillState",
    "SpaceFill",
    "SpaceState",
    "Status",
    "SummaryLevel",
    "TemporalEvent",
    "TenantModel",
    "Tier",
    "TokenVectors",
    "User",
    "Visibility",
    "current_owner",
    "owner_scope",
]
