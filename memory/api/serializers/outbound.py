"""What left for providers, as the log of it shows it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class SentSerializer(serializers.Serializer[Any]):
    """One attempt to send a request to a provider."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField(help_text="When the attempt began.")
    kind = serializers.CharField(help_text="`embedding`, `llm` or `rerank`.")
    component = serializers.CharField(help_text="The part of Loci that asked.")
    host = serializers.CharField(help_text="Where it was sent.")
    size = serializers.IntegerField(help_text="Bytes of the body.")
    sha256 = serializers.CharField(help_text="SHA-256 of the exact body, in hexadecimal.")
    outcome = serializers.CharField(
        help_text="The class of the answer's status (`2xx`), the class of the error, or `sending` where none came yet."
    )
    left = serializers.BooleanField(help_text="Whether anything of it can have left this machine.")
    genuine = serializers.BooleanField(help_text="Whether its code is right; false for a row that somebody has forged.")


class SentPageSerializer(serializers.Serializer[Any]):
    """A page of requests, newest first."""

    items = SentSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
