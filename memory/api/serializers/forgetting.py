"""Forgetting on purpose, bringing back, and the retention policies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import ItemErrorSerializer, Strict
from memory.api.serializers.fields import Identifier, Number, RawText, Switch
from memory.services.bringing_back import MOST_AT_ONCE

MOST_PURGED = 10_000


class PurgeSerializer(Strict):
    """What to forget; at least one of `expired`, `decay_days` and `provenance`."""

    expired = Switch(required=False, help_text="Whatever has expired by now.")
    decay_days = Number(
        required=False,
        help_text="Episodes stored more than so many days ago (0 to 36500) whose salience is at most `salience_floor`.",
    )
    salience_floor = Number(required=False, help_text="0.2 when left out.")
    provenance = RawText(
        required=False,
        help_text="What came from this source or from below it, and from nowhere else: `user:al` is also "
        "`user:al/chat` and never `user:alice`.",
    )
    erase = Switch(
        required=False,
        help_text="Erase for good instead of archiving, with what was drawn from it alone. Persons only.",
    )
    dry_run = Switch(required=False, help_text="Count and change nothing.")


class PurgedSerializer(serializers.Serializer[Any]):
    """What was forgotten, or would be."""

    id = serializers.UUIDField(help_text="Brings back what was archived: `run` of `POST /memories/restore`.")
    dry_run = serializers.BooleanField()
    erased = serializers.BooleanField(help_text="Whether it is gone for good; otherwise it was archived.")
    expired = serializers.IntegerField()
    decayed = serializers.IntegerField()
    provenance = serializers.IntegerField()
    drawn = serializers.IntegerField(help_text="Memories that were drawn from the others and from nothing else.")
    sources = serializers.IntegerField(help_text="Sources taken off memories for which others speak too.")
    more = serializers.BooleanField(help_text=f"There is more: {MOST_PURGED:,} memories go at once. Ask again.")


class RestoreSerializer(Strict):
    """What to bring back: some memories, or what one run or purge has archived."""

    ids = serializers.ListField(
        child=Identifier(), required=False, help_text=f"Between 1 and {MOST_AT_ONCE} archived memories."
    )
    run = Identifier(required=False, help_text="The id of a run of consolidation or of a purge.")
    after = Identifier(required=False, help_text="With `run`: the `next` of the answer before.")


class RefusedRestoreSerializer(ItemErrorSerializer):
    """Why one memory did not come back."""

    id = serializers.UUIDField()


class BroughtBackSerializer(serializers.Serializer[Any]):
    """What came back."""

    restored = serializers.IntegerField(help_text="Memories that are live now.")
    relations = serializers.IntegerField(help_text="Relations that are believed again.")
    refused = RefusedRestoreSerializer(many=True)
    more = serializers.BooleanField(help_text="There is more of this run; ask again with `after`.")
    next = serializers.UUIDField(allow_null=True, help_text="The last memory tried, where there is more.")


class FadingSerializer(serializers.Serializer[Any]):
    """When memories of a tier are archived; null where something does not count."""

    older_than_days = serializers.FloatField()
    least_strength = serializers.FloatField(allow_null=True, help_text="Archived below this strength.")
    salience_floor = serializers.FloatField(allow_null=True, help_text="Archived at this salience or below.")
    stale_after_days = serializers.FloatField(
        allow_null=True, help_text="Archived when neither confirmed nor used for so long."
    )


class GraphFadingSerializer(serializers.Serializer[Any]):
    """When the graph lets go of what nobody speaks of."""

    half_life_days = serializers.FloatField()
    least_relation = serializers.FloatField()
    least_entity = serializers.FloatField()


class PolicySerializer(serializers.Serializer[Any]):
    """A retention policy."""

    name = serializers.CharField()
    meaning = serializers.CharField()
    half_life_days = serializers.FloatField(help_text="Doubled above an importance of 0.7.")
    tiers = serializers.DictField(child=FadingSerializer(), help_text="By tier; the others do not fade.")
    graph = GraphFadingSerializer(allow_null=True)
    clip_characters = serializers.IntegerField(
        allow_null=True, help_text="To how many characters statements are cut when they are stored."
    )


class PoliciesSerializer(serializers.Serializer[Any]):
    """Every retention policy, and the one that holds."""

    current = serializers.CharField(help_text="As the setting `retention_policy` says.")
    items = PolicySerializer(many=True)
