"""Memories: storing, listing, changing, and what hangs on them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from memory.api.masking import mask_body
from memory.api.serializers.base import ItemErrorSerializer, NoteSerializer, PageQuery, Query, Strict
from memory.api.serializers.fields import (
    FILTER_MEANING,
    Categories,
    FilterText,
    Flag,
    Identifier,
    JsonObject,
    Labels,
    Lines,
    Moment,
    RawText,
    ReadScope,
    Unit,
    Word,
    Words,
    WriteScope,
)
from memory.consolidation.strength import strength
from memory.models import Kind, Memory, Status, SummaryLevel, Tier
from memory.services.actors import written_scope
from memory.services.clock import now
from memory.services.drafts import STORABLE_TIERS
from memory.services.past import holds
from memory.services.remember import MAX_BATCH
from memory.text import limits

STATEMENT_KINDS: Final = [kind for kind in Kind.values if kind != Kind.TURN]
TIERS: Final = [tier for tier in Tier.values if tier in STORABLE_TIERS]
MASKED_HELP: Final = (
    "Show personal data as lists show it to people: values by their kind, and what is personal by its meaning as its "
    "kind alone."
)
# Rows that a person has deleted are seen by their id only, for the seconds until they are gone.
LISTED: Final = [status for status in Status.values if status != Status.ERASING]


# More than nearly every memory has, so that a page of the longest ones stays small all the same.
SHOWN_CHARACTERS: Final = 8_000
SHOWN_HELP: Final = (
    f"Longer texts are cut and say `text_truncated`; {SHOWN_CHARACTERS} when left out, {limits.MAX_CONTENT_BYTES} is "
    "always the whole."
)


class DraftSerializer(Strict):
    """One statement to remember. Only `text` is required."""

    text = RawText(help_text="At most 256 KiB of UTF-8, kept as it is.")
    kind = Word(STATEMENT_KINDS, required=False, help_text="What sort of statement it is; `note` when left out.")
    category = RawText(
        required=False, help_text="What it is about; blank is `general`, and an unknown one becomes so, with a note."
    )
    tier = Word(TIERS, required=False, help_text="Follows from the kind when left out.")
    summary_level = Word(SummaryLevel.values, required=False, help_text="How much time it sums up; `raw` otherwise.")
    importance = Unit(required=False, help_text="0.5 when left out.")
    confidence = Unit(required=False, help_text="How sure the source is; 1 when left out.")
    tags = Labels(required=False)
    topics = Labels(required=False)
    source = RawText(required=False, allow_null=True, help_text="Namespaced, for example `user:al/chat`.")  # type: ignore[assignment]
    metadata = JsonObject(required=False, allow_null=True, help_text="Anything of your own, at most 16 KiB.")
    speaker = RawText(required=False, allow_null=True)
    occurred_at = Moment(required=False, help_text="When it happened; now when left out.")
    valid_from = Moment(required=False, allow_null=True)
    valid_until = Moment(required=False, allow_null=True)
    expires_at = Moment(required=False, allow_null=True, help_text="When it is archived by itself.")


class RememberSerializer(DraftSerializer):
    """A statement to remember, and who may read it."""

    scope = WriteScope()


class EachForItself(serializers.ListField):
    """A list whose items are checked one by one by the view, so that a bad one does not spoil the others."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Take a list as it came; its length is for the service to judge."""
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        return list(data)


class BatchSerializer(Strict):
    """Several statements for one scope."""

    items = EachForItself(child=DraftSerializer(), help_text=f"Between 1 and {MAX_BATCH} statements.")
    scope = WriteScope()


class ChangeSerializer(Strict):
    """New values of a memory's fields; fields left out keep theirs, null clears one that may be empty."""

    text = RawText(required=False)
    kind = Word(STATEMENT_KINDS, required=False)
    category = RawText(required=False)
    importance = Unit(required=False)
    confidence = Unit(required=False)
    tags = Labels(required=False)
    topics = Labels(required=False)
    source = RawText(required=False, allow_null=True)  # type: ignore[assignment]
    metadata = JsonObject(required=False, allow_null=True)
    occurred_at = Moment(required=False)
    valid_from = Moment(required=False, allow_null=True)
    valid_until = Moment(required=False, allow_null=True)
    expires_at = Moment(required=False, allow_null=True)
    scope = WriteScope()


class MemoryQuery(PageQuery):
    """Which memories to list; a parameter left out limits nothing, but `status` is `live` then."""

    status = Words(LISTED, required=False)
    tier = Words(TIERS, required=False)
    kind = Words(Kind.values, required=False)
    category = Categories(required=False)
    tag = Lines(required=False, help_text="Any of these tags.")
    source = Lines(required=False, help_text="Any of these sources, or path prefixes.")  # type: ignore[assignment]
    session = Identifier(required=False, help_text="Turns of this session.")
    agent = Identifier(required=False, help_text="What this agent stored.")
    created_from = Moment(required=False)
    created_until = Moment(required=False, help_text="Before this moment.")
    filter = FilterText(required=False, help_text=f"An expression in JSON. {FILTER_MEANING}")
    as_of = Moment(
        required=False,
        help_text="What was live, believed and held at this moment, as it was said then. `status` is what it is now.",
    )
    max_text_characters = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=limits.MAX_CONTENT_BYTES,
        help_text=SHOWN_HELP,
        error_messages={"invalid": "This has to be a whole number."},
    )
    masked = Flag(required=False, help_text=MASKED_HELP)
    scope = ReadScope()


class DisputeSerializer(Strict):
    """What is wrong with a memory."""

    reason = RawText(help_text="Why it is wrong, in words; at most 4 KiB.")


class MomentQuery(Query):
    """From which moment to look, and what to cover."""

    as_of = Moment(required=False, help_text="Show it as it stood at this moment.")
    masked = Flag(required=False, help_text=MASKED_HELP)


class StoredSerializer(serializers.Serializer[Any]):
    """What became of a statement."""

    id = serializers.UUIDField(source="memory_id", help_text="The memory that says this, new or found.")
    created = serializers.BooleanField(help_text="false when the same had been stored before; it has one more source.")
    vector_pending = serializers.BooleanField(help_text="Found by its words only, until the embedder is back.")
    notes = NoteSerializer(many=True)


class BatchItemSerializer(serializers.Serializer[Any]):
    """What became of one item of a batch."""

    index = serializers.IntegerField(help_text="Its place in the request, from 0.")
    outcome = serializers.CharField(help_text="`created`, `existing` or `refused`.")
    id = serializers.UUIDField(required=False)
    vector_pending = serializers.BooleanField(required=False)
    notes = NoteSerializer(many=True, required=False)
    error = ItemErrorSerializer(required=False)


class BatchAnswerSerializer(serializers.Serializer[Any]):
    """What became of a batch; the good items are stored whatever the others were."""

    created = serializers.IntegerField()
    existing = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = BatchItemSerializer(many=True)


class PersonalDataSerializer(serializers.Serializer[Any]):
    """Personal data found in a text, by kind."""

    kinds = serializers.ListField(child=serializers.CharField(), source="pii_kinds")
    tier = serializers.IntegerField(source="pii_tier", help_text="0 clear, 1 sensitive, 2 confidential.")


class MemorySerializer(serializers.Serializer[Any]):
    """One memory.

    Its context can limit the characters of the text (`most_characters`), name the moment to look from (`at`), and have
    personal data covered (`masked`).
    """

    id = serializers.UUIDField()
    text = serializers.SerializerMethodField()
    text_truncated = serializers.SerializerMethodField(
        help_text="Whether the text is cut here; `GET /memories/{memory_id}` gives the whole."
    )
    kind = serializers.CharField()
    tier = serializers.CharField()
    category = serializers.CharField()
    summary_level = serializers.CharField()
    status = serializers.CharField(help_text="live, superseded, archived or erasing.")
    scope = serializers.SerializerMethodField(help_text="Who may read it.")
    agent_id = serializers.UUIDField(allow_null=True, help_text="The agent that stored it.")
    importance = serializers.FloatField()
    salience = serializers.FloatField()
    confidence = serializers.FloatField()
    tags = serializers.SerializerMethodField()
    topics = serializers.SerializerMethodField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    metadata = serializers.DictField(allow_null=True)
    session_id = serializers.UUIDField(allow_null=True)
    position = serializers.IntegerField(allow_null=True, help_text="Its place in the session.")
    role = serializers.SerializerMethodField()
    speaker = serializers.CharField(allow_null=True)
    tool_name = serializers.CharField(allow_null=True)
    call_id = serializers.CharField(allow_null=True)
    reply_to_id = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    occurred_at = serializers.DateTimeField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    valid = serializers.SerializerMethodField(
        help_text="Whether it holds by valid_from and valid_until, now or at the moment looked from."
    )
    recorded_at = serializers.DateTimeField()
    retracted_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)
    archive_reason = serializers.CharField(allow_blank=True)
    erase_at = serializers.DateTimeField(allow_null=True, help_text="When a deletion becomes final.")
    personal_data = PersonalDataSerializer(source="*")
    injection_kinds = serializers.ListField(child=serializers.CharField())
    version = serializers.IntegerField(help_text="Also the ETag.")

    def to_representation(self, row: Memory) -> dict[str, Any]:
        """Show a memory, with personal data covered where that is asked for."""
        body: dict[str, Any] = super().to_representation(row)
        if not self.context.get("masked"):
            return body
        return mask_body(body, row, most_characters=self.context.get("most_characters"))

    def get_text(self, row: Memory) -> str:
        """Give the text, or its beginning."""
        return str(row.text)[: self.context.get("most_characters")]

    def get_text_truncated(self, row: Memory) -> bool:
        """Tell whether the text goes on."""
        most = self.context.get("most_characters")
        return most is not None and len(row.text) > most

    def get_valid(self, row: Memory) -> bool:
        """Tell whether the memory holds at the moment."""
        return holds(row, self.context.get("at") or now())

    def get_scope(self, row: Memory) -> str:
        """Write the scope in the form that requests take."""
        return written_scope(row.visibility, row.group_id)

    def get_tags(self, row: Memory) -> list[str]:
        """Give the tags, none as an empty list."""
        return list(row.tags or ())

    def get_topics(self, row: Memory) -> list[str]:
        """Give the topics, none as an empty list."""
        return list(row.topics or ())

    def get_role(self, row: Memory) -> str | None:
        """Give who spoke; null for what is not a turn."""
        return row.role or None


class CountedMemorySerializer(MemorySerializer):
    """One memory, with how often it was used and how strong it is.

    Its context gives the `uses` of the memories by id and the owner's retention `policy`.
    """

    access_count = serializers.SerializerMethodField(help_text="How often it was recalled or stated again.")
    last_accessed = serializers.SerializerMethodField()
    strength = serializers.SerializerMethodField(
        help_text="What time has left of its importance and its uses have added, 0 to 1; null looked at from the past."
    )

    def get_strength(self, row: Memory) -> float | None:
        """Compute the strength that the retention policy goes by."""
        if self.context.get("at") is not None:
            return None
        count, last = self._use(row)
        found = strength(
            importance=row.importance,
            created_at=row.created_at,
            last_accessed=last,
            access_count=count,
            half_life_days=self.context["policy"].half_life_days,
            moment=now(),
        )
        return round(found, 6)

    def get_access_count(self, row: Memory) -> int:
        """Give the count of uses that the view has looked up."""
        return self._use(row)[0]

    def get_last_accessed(self, row: Memory) -> datetime | None:
        """Give the last use that the view has looked up."""
        return self._use(row)[1]

    def _use(self, row: Memory) -> tuple[int, datetime | None]:
        uses: dict[UUID, tuple[int, datetime | None]] = self.context["uses"]
        return uses.get(row.pk, (0, None))


class RevealedSerializer(serializers.Serializer[Any]):
    """The words of one memory, without masks."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    speaker = serializers.CharField(allow_null=True)
    version = serializers.IntegerField()


class BriefMemorySerializer(serializers.Serializer[Any]):
    """One memory for a key that may not read: that something became of it, and nothing of what it says."""

    closed = True

    id = serializers.UUIDField()
    status = serializers.CharField(help_text="live, superseded, archived or erasing.")
    erase_at = serializers.DateTimeField(allow_null=True, help_text="When a deletion becomes final.")
    version = serializers.IntegerField(help_text="Also the ETag.")


CHANGED_MEMORY: Final = PolymorphicProxySerializer(
    component_name="ChangedMemory",
    serializers=[CountedMemorySerializer, BriefMemorySerializer],
    resource_type_field_name=None,
)
"""One memory after a change, for its description only: whole for callers that may read, else brief."""


class MemoryPageSerializer(serializers.Serializer[Any]):
    """A page of memories, newest first."""

    items = CountedMemorySerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class VersionSerializer(serializers.Serializer[Any]):
    """What a memory said before a change."""

    number = serializers.IntegerField(help_text="The version that the change replaced.")
    text = serializers.CharField()
    changes = serializers.DictField(help_text="The changed fields with their earlier values.")
    actor = serializers.CharField(help_text="`person`, `system` or `agent:<id>`.")
    reason = serializers.CharField()
    created_at = serializers.DateTimeField(help_text="When it was replaced.")


class HistorySerializer(serializers.Serializer[Any]):
    """Earlier versions, newest first."""

    items = VersionSerializer(many=True)


class SourceSerializer(serializers.Serializer[Any]):
    """One time that a memory was stated."""

    id = serializers.UUIDField()
    agent_id = serializers.UUIDField(allow_null=True)
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    turn_id = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()


class SourcesSerializer(serializers.Serializer[Any]):
    """The newest hundred statements of a memory."""

    items = SourceSerializer(many=True)
