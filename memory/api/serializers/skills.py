"""Skills: what comes in, what goes out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import PageQuery, Strict
from memory.api.serializers.fields import (
    Identifier,
    Labels,
    RawText,
    ReadScope,
    Switch,
    Unit,
    Word,
    Words,
    WriteScope,
)
from memory.consolidation.skills import LEAST_NAME, MOST_NAME
from memory.models import SkillState
from memory.services.actors import written_scope
from memory.services.skill_drafts import MAX_DESCRIPTION_CHARACTERS, MAX_STEP_CHARACTERS, MOST_STEPS
from memory.services.skills import Standing

NAME_HELP = f"{LEAST_NAME} to {MOST_NAME} characters; none that begins with test_, debug_, temp_ or tmp_."
STEPS_HELP = f"1 to {MOST_STEPS} lines in order, each of at most {MAX_STEP_CHARACTERS} characters."
DESCRIPTION_HELP = f"What it is for, at most {MAX_DESCRIPTION_CHARACTERS} characters."


class Steps(serializers.ListField):
    """The steps of a skill; the services check them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=RawText(), max_length=MOST_STEPS, help_text=STEPS_HELP, **kwargs)


class SkillBodySerializer(Strict):
    """A skill to store."""

    name = RawText(help_text=NAME_HELP)
    steps = Steps()
    description = RawText(required=False, allow_null=True, help_text=DESCRIPTION_HELP)
    risk = Unit(required=False, help_text="How much harm it can do; 0 when left out.")
    tags = Labels(required=False)
    source = RawText(required=False, help_text="Where it is from; a path.")  # type: ignore[assignment]
    scope = WriteScope()


class SkillChangeSerializer(Strict):
    """What to change of a skill."""

    name = RawText(required=False, help_text=NAME_HELP)
    steps = Steps(required=False)
    description = RawText(required=False, allow_null=True, help_text=DESCRIPTION_HELP)
    risk = Unit(required=False)


class UseSerializer(Strict):
    """How a skill was used."""

    success = Switch(help_text="Whether it did what it is for.")


class NeedSerializer(Strict):
    """A skill that another one needs."""

    needs = Identifier()


class SkillQuery(PageQuery):
    """Which skills to list."""

    q = RawText(required=False, help_text="Words of the name, description or steps; the best come first, on one page.")
    state = Words(SkillState.values, required=False, help_text="All but archived ones when left out.")
    reliable = Word(("true", "false"), required=False, help_text="`true` lists those that may be followed unasked.")
    scope = ReadScope()


class SkillSerializer(serializers.Serializer[Any]):
    """A skill and how it stands now."""

    id = serializers.UUIDField(source="skill.id")
    memory_id = serializers.UUIDField(source="skill.memory_id", help_text="The memory that holds its text.")
    name = serializers.CharField(source="skill.name")
    description = serializers.CharField(allow_null=True)
    steps = serializers.ListField(child=serializers.CharField(), source="skill.steps")
    scope = serializers.SerializerMethodField(help_text="Who may read it.")
    state = serializers.CharField(help_text=f"One of {', '.join(SkillState.values)}.")
    origin = serializers.CharField(source="skill.origin", help_text="human, llm, rules or builtin.")
    trust = serializers.IntegerField(source="skill.trust", help_text="0 to 4.")
    reliable = serializers.BooleanField(help_text="Whether it may be followed unasked.")
    uses = serializers.IntegerField(source="skill.uses")
    success_rate = serializers.FloatField(source="skill.success_rate")
    health = serializers.FloatField(help_text="0.35 utility + 0.25 (1 - redundancy) + 0.2 freshness + 0.2 (1 - risk).")
    utility = serializers.FloatField(source="skill.utility")
    redundancy = serializers.FloatField(source="skill.redundancy")
    freshness = serializers.FloatField(help_text="Falls to 0.05 within thirty days after the last use.")
    risk = serializers.FloatField(source="skill.risk")
    version = serializers.IntegerField(source="skill.version", help_text="Also the ETag.")
    created_at = serializers.DateTimeField(source="skill.created_at")
    updated_at = serializers.DateTimeField(source="skill.updated_at")
    last_used_at = serializers.DateTimeField(source="skill.last_used_at", allow_null=True)

    def get_scope(self, found: Standing) -> str:
        """Write who may read the skill."""
        return written_scope(found.skill.visibility, found.skill.group_id)


class BriefSkillSerializer(serializers.Serializer[Any]):
    """How a skill stands after a change, without what it says: the key may not be one that reads."""

    id = serializers.UUIDField(source="skill.id")
    memory_id = serializers.UUIDField(source="skill.memory_id")
    state = serializers.CharField()
    trust = serializers.IntegerField(source="skill.trust")
    version = serializers.IntegerField(source="skill.version")
    uses = serializers.IntegerField(source="skill.uses")
    success_rate = serializers.FloatField(source="skill.success_rate")
    health = serializers.FloatField()


class SkillPageSerializer(serializers.Serializer[Any]):
    """A page of skills, the last changed first; of a search the best."""

    items = SkillSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class DeletedSkillSerializer(serializers.Serializer[Any]):
    """A skill that was deleted."""

    id = serializers.UUIDField()
    memory_id = serializers.UUIDField()
    status = serializers.CharField(help_text="`archived`, or `erasing` until `erase_at`.")
    erase_at = serializers.DateTimeField(allow_null=True)


class DependenciesSerializer(serializers.Serializer[Any]):
    """What a skill needs, and what needs it."""

    needs = SkillSerializer(many=True)
    needed_by = SkillSerializer(many=True)


class NeedAnswerSerializer(serializers.Serializer[Any]):
    """What became of a dependency."""

    created = serializers.BooleanField(help_text="false when it was known.")


class SkillStatsSerializer(serializers.Serializer[Any]):
    """Counts of the skills that the caller may read."""

    total = serializers.IntegerField()
    candidate = serializers.IntegerField()
    verified = serializers.IntegerField()
    released = serializers.IntegerField()
    degraded = serializers.IntegerField()
    deprecated = serializers.IntegerField()
    archived = serializers.IntegerField()
    by_human = serializers.IntegerField()
    by_llm = serializers.IntegerField()
    by_rules = serializers.IntegerField()
    by_builtin = serializers.IntegerField()
    reliable = serializers.IntegerField()
    uses = serializers.IntegerField()
    mean_health = serializers.FloatField()
