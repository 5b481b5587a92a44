"""Searches that a person keeps."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.agents import LegibleField
from memory.api.serializers.base import Strict
from memory.api.serializers.fields import RawText


class NewSavedSearchSerializer(Strict):
    """A search to keep."""

    name = RawText(help_text="At most 80 characters.")
    question = RawText(required=False, help_text="What is asked; may be left out where filters are chosen.")
    choices = RawText(
        required=False,
        help_text="What else the search page's address holds, such as `f=kind:fact`.",
    )


class SavedSearchSerializer(serializers.Serializer[Any]):
    """A search that was kept."""

    id = serializers.UUIDField()
    name = LegibleField()
    question = LegibleField()
    choices = LegibleField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class SavedSearchesSerializer(serializers.Serializer[Any]):
    """All of them, newest first."""

    items = SavedSearchSerializer(many=True)
