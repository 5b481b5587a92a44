"""An owner's settings and recall profiles."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import Strict, Values
from memory.api.serializers.fields import Number, RawText, Switch, Whole, Word, Words
from memory.models import Tier
from memory.recall.profiles import ARMS, DECAYS, FUSIONS, GRAPH_WAYS, INTENTS, LEXICAL_MODELS, RERANKERS
from memory.services.agent_settings import AGENT_SETTINGS
from memory.services.settings_table import OWNER_SETTINGS


def _setting_field(default: Any, help_text: str) -> serializers.Field[Any, Any, Any, Any]:
    """Give the field that takes values of a default's type; the service knows which of them are allowed."""
    if isinstance(default, bool):
        return Switch(required=False, allow_null=True, help_text=help_text)
    if isinstance(default, int):
        return Whole(required=False, allow_null=True, help_text=help_text)
    if isinstance(default, float):
        return Number(required=False, allow_null=True, help_text=help_text)
    return RawText(required=False, allow_null=True, help_text=help_text)


class SettingValuesSerializer(serializers.Serializer[Any]):
    """All settings."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Make a field of every setting that there is."""
        return {
            name: _setting_field(setting.default, f"{setting.meaning} Takes {setting.values}.")
            for name, setting in OWNER_SETTINGS.items()
        }


class ChangeSettingsSerializer(SettingValuesSerializer, Strict):
    """New values of settings; null gives one its default back."""

    unknown_code = "setting.unknown"
    unknown_message = "There is no such setting."


class SettingsSerializer(serializers.Serializer[Any]):
    """The owner's settings, with defaults where nothing was chosen."""

    values = SettingValuesSerializer()
    version = serializers.IntegerField(help_text="Also the ETag; 0 while nothing was chosen.")


class AgentSettingValuesSerializer(serializers.Serializer[Any]):
    """The settings that can differ by agent."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Make a field of every such setting."""
        return {
            name: _setting_field(OWNER_SETTINGS[name].default, f"Takes {OWNER_SETTINGS[name].values}.")
            for name in AGENT_SETTINGS
        }


class ChangeAgentSettingsSerializer(AgentSettingValuesSerializer, Strict):
    """New values of an agent's settings; null gives one the owner's value back."""

    unknown_code = "setting.unknown"
    unknown_message = "There is no such setting of agents."


class AgentSettingsSerializer(serializers.Serializer[Any]):
    """What holds for an agent: its own choice, else the owner's, else the default."""

    values = AgentSettingValuesSerializer()
    chosen = AgentSettingValuesSerializer(help_text="What was chosen for this agent alone.")
    version = serializers.IntegerField(help_text="Also the ETag; 0 while nothing was chosen.")


class Numbers(serializers.DictField):
    """A number for each of some names, all of which the service knows."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=Number(), **kwargs)


class ProfileFields(serializers.Serializer[Any]):
    """What makes up a profile; bounds are checked by the service."""

    arms = Words(ARMS, required=False, allow_empty=False)
    weights = Numbers(required=False, help_text="By arm.")
    fusion = Word(FUSIONS, required=False)
    rrf_k = Whole(required=False)
    lexical = Word(LEXICAL_MODELS, required=False)
    bm25_k1 = Number(required=False)
    bm25_b = Number(required=False)
    repeat_terms = Switch(required=False)
    normalise_lexical = Switch(required=False)
    graph = Word(GRAPH_WAYS, required=False)
    edge_seeds = Whole(required=False)
    edge_least = Number(required=False)
    edge_hits = Number(required=False)
    edge_others = Number(required=False)
    intent = Word(INTENTS, required=False)
    candidates = Whole(required=False)
    candidate_factor = Whole(required=False)
    half_life_days = Numbers(required=False, help_text=f"By tier ({', '.join(Tier.values)}); others do not decay.")
    decay_turns = Switch(required=False)
    decay_clock = Word(DECAYS, required=False)
    importance_base = Number(required=False, allow_null=True)
    salience_weight = Number(required=False)
    access_weight = Number(required=False)
    freshness_weight = Number(required=False)
    community_boost = Number(required=False)
    spread_before = Number(required=False)
    spread_after = Number(required=False)
    evidence = Switch(required=False)
    late_interaction = Switch(required=False)
    reranker = Word(RERANKERS, required=False)
    mmr_lambda = Number(required=False)
    threshold = Number(required=False)
    limit = Whole(required=False)
    decompose = Switch(required=False)
    expand = Switch(required=False)
    fallback = Switch(required=False)


class ChangeProfileSerializer(ProfileFields, Strict):
    """New values of a profile's fields; the others keep theirs."""


class ProfileSerializer(ProfileFields):
    """A profile as it stands for the owner."""

    name = serializers.CharField()
    version = serializers.IntegerField(help_text="Of the owner's changes; 0 for none.")

    def to_representation(self, instance: Any) -> Values:
        """Give the service's own description, which names every field."""
        return dict(instance)


class ProfilesSerializer(serializers.Serializer[Any]):
    """Every profile."""

    items = ProfileSerializer(many=True)
