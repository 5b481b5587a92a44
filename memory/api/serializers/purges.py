"""Purges: what to erase, what would go, and how far a purge is."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.serializers.base import Strict
from memory.api.serializers.fields import Identifier, RawText, Switch
from memory.models import Purge, PurgeState, PurgeSubject
from memory.services.purge.held import held_stores
from memory.services.purge.partial_requests import MOST_MEMORIES


class PurgeTargetSerializer(Strict):
    """What to erase; exactly one of these."""

    memories = serializers.ListField(
        child=Identifier(),
        required=False,
        help_text=f"Between 1 and {MOST_MEMORIES} memories, with what was drawn from them and from nothing else.",
    )
    source = RawText(  # type: ignore[assignment]
        required=False,
        help_text="What came from this source or from below it, and from nowhere else: `user:al` is also "
        "`user:al/chat` and never `user:alice`.",
    )
    agent = Identifier(
        required=False, help_text="An agent: all that it stored, its private scope, sessions, keys and messages."
    )
    owner = Switch(required=False, help_text="true: everything, with the login and the keys. Persons only.")


class NewPurgeSerializer(PurgeTargetSerializer):
    """A purge to begin."""

    seal = Switch(
        required=False,
        help_text="Rotate the text key at once, so that what is left in dead rows and backups becomes unreadable. "
        "Not with `owner`, whose keys are destroyed anyway.",
    )
    password = RawText(
        required=False, help_text="The password of the login; a person gives it whatever is erased, a key never."
    )
    confirm = RawText(required=False, help_text="With `owner`: the name of the login, typed to say that it is meant.")


class PurgeCountsSerializer(serializers.Serializer[Any]):
    """What a purge would erase."""

    subject = serializers.ChoiceField(choices=PurgeSubject.choices)
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="Rows by kind; what is not there is left out."
    )


class HeldStoreSerializer(serializers.Serializer[Any]):
    """A store elsewhere that holds up the end of a purge."""

    store = serializers.CharField(help_text="`neo4j` or `redis`.")
    error = serializers.CharField(help_text="The code of what it answered. The purge goes on when it answers again.")


class PurgeRowSerializer(serializers.Serializer[Any]):
    """How far a purge is."""

    id = serializers.UUIDField()
    subject = serializers.ChoiceField(choices=PurgeSubject.choices)
    state = serializers.ChoiceField(choices=PurgeState.choices)
    stage = serializers.CharField(help_text="What is being done; empty before and after.")
    expected = serializers.DictField(child=serializers.IntegerField(), help_text="What the preview counted.")
    erased = serializers.DictField(child=serializers.IntegerField(), help_text="What is gone by now, by kind.")
    requested_by = serializers.CharField(help_text="`person`, `operator`, `replay` or `agent:<id>`.")
    requested_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(
        source="error_code", help_text="Why the last attempt ended, a code; it is tried again. Empty when it did not."
    )
    held = serializers.SerializerMethodField(
        help_text="Stores elsewhere that are waited for while everything else goes on; empty when there are none."
    )

    @extend_schema_field(HeldStoreSerializer(many=True))
    def get_held(self, purge: Purge) -> list[dict[str, str]]:
        """Name the stores that hold up the purge."""
        return held_stores(purge)


class BegunPurgeSerializer(PurgeRowSerializer):
    """A purge just begun."""

    token = serializers.CharField(
        allow_null=True,
        help_text="Opens the receipt without a login, in the header X-Purge-Token. Shown once; null when an answer is "
        "given again under an idempotency key.",
    )


class PurgesSerializer(serializers.Serializer[Any]):
    """The newest purges of the owner, at most 50."""

    items = PurgeRowSerializer(many=True)


class ReceiptKeySerializer(serializers.Serializer[Any]):
    """The key that signed a receipt."""

    algorithm = serializers.CharField()
    public = serializers.CharField(help_text="32 bytes, in base64.")
    fingerprint = serializers.CharField(help_text="The first 16 bytes of its SHA-256, in hexadecimal.")


class ReceiptSerializer(serializers.Serializer[Any]):
    """A signed receipt. What is signed is all of it but `signature`, with sorted names and without blanks."""

    format = serializers.CharField()
    key = ReceiptKeySerializer()
    purge = serializers.DictField(help_text="Its id, the pseudonym of whose it was, its subject and its moments.")
    erased = serializers.DictField(child=serializers.IntegerField(), help_text="Rows by kind.")
    keys = serializers.DictField(help_text="Which keys were destroyed, or when they will be.")
    verification = serializers.DictField(help_text="What was looked at, and what was left.")
    stays = serializers.ListField(child=serializers.DictField(), help_text="What stays, until when, and why.")
    signature = serializers.CharField(help_text="Ed25519, in base64.")
