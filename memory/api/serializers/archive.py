"""Archives and snapshots."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import Query, Strict
from memory.api.serializers.fields import RawText, Word, WriteScope
from memory.api.serializers.system import Counts, ImportErrorSerializer
from memory.services.archive.outcome import Mode


class TakeQuery(Query):
    """How an archive is taken over."""

    scope = WriteScope()
    mode = Word(
        [mode.value for mode in Mode],
        required=False,
        help_text="`missing` (when left out) leaves what was archived or erased here as it is; `all` brings it back.",
    )
    settings = Word(["true", "false"], required=False, help_text="Whether settings and profiles are taken over too.")


class ReceivedSerializer(serializers.Serializer[Any]):
    """The digest and size of a received file."""


class SnapshotSerializer(Strict):
    """How a snapshot is sealed."""

    passphrase = RawText(
        required=False,
        help_text="12 to 1,024 characters that open it anywhere. The owner's own key seals it when left out.",
    )


class ArchiveImportedSerializer(serializers.Serializer[Any]):
    """What became of an archive."""

    archive = serializers.UUIDField()
    created_at = serializers.DateTimeField(help_text="The moment that it shows.")
    fingerprint = serializers.CharField(help_text="Of the key that signed it.")
    signed_here = serializers.BooleanField(help_text="Whether that is this installation's key.")
    agents = Counts(help_text="`created` and `existing`.")
    groups = Counts(help_text="`created` and `existing`.")
    sessions = Counts(help_text="`created` and `existing`.")
    files = Counts(help_text="`created` and `existing`.")
    memories = Counts(help_text="`created`, `existing`, `restored`, `erased_since` and `erasing`.")
    history = Counts(help_text="Lines that came with created memories: `versions`, `sources`, `uses`, `claims`.")
    graph = serializers.DictField(child=Counts(), help_text="By part: `created`, `existing` and `skipped`.")
    skills = Counts(help_text="`created`, `existing` and `skipped`.")
    settings = serializers.IntegerField(allow_null=True, help_text="How many; null where they were not asked for.")
    left = Counts(help_text="By part, how many lines were not taken over.")
    errors = ImportErrorSerializer(many=True, help_text="The first 100 refused lines.")  # type: ignore[assignment]
    further_errors = serializers.IntegerField(help_text="How many more were refused.")
