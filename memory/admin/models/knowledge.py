"""Skills and reflections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin import register
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memory.admin import columns
from memory.admin.models import parts
from memory.admin.row_actions import RowAction
from memory.admin.rows import RowsAdmin, Shown, link, related
from memory.admin.site import site
from memory.models import Reflection, Skill, SkillDependency, SkillState
from memory.palace.presenters import label
from memory.services.skill_life import archive_skill, demote_skill, deprecate_skill, promote_skill, restore_skill

KNOWLEDGE = _("Knowledge")


@register(Skill, site=site)
class SkillAdmin(RowsAdmin):
    """Skills: raised, lowered and taken out of use."""

    area, label, labels = KNOWLEDGE, _("skill"), _("skills")
    meaning = _("How to do something, with what its use has shown.")
    columns = (
        parts.text(_("Name"), "name"),
        parts.word(_("State"), "state"),
        parts.word(_("Made by"), "origin"),
        parts.number(_("Uses"), "uses"),
        parts.share(_("Success"), "success_rate"),
        parts.share(_("Utility"), "utility"),
        parts.moment(_("Changed"), "updated_at"),
    )
    ordering = ("-updated_at", "-id")
    list_filter = ("state", "origin", "visibility")
    id_columns = ("pk", "memory_id")
    search_help = _("An id of a skill or of its memory.")
    read_as = "skill"
    row_actions = (
        RowAction("promote", _("Raise"), lambda actor, one: promote_skill(actor=actor, skill_id=one)),
        RowAction("demote", _("Lower"), lambda actor, one: demote_skill(actor=actor, skill_id=one)),
        RowAction("deprecate", _("No longer follow"), lambda actor, one: deprecate_skill(actor=actor, skill_id=one)),
        RowAction(
            "archive",
            pgettext_lazy("act", "Archive"),
            lambda actor, one: archive_skill(actor=actor, skill_id=one),
            fits=lambda row: row.state != SkillState.ARCHIVED,
        ),
        RowAction(
            "restore",
            _("Restore"),
            lambda actor, one: restore_skill(actor=actor, skill_id=one),
            fits=lambda row: row.state == SkillState.ARCHIVED,
        ),
    )

    def describe(self, row: Skill) -> Shown:
        """List what it needs."""
        ids = SkillDependency.objects.filter(skill_id=row.pk).values_list("needs_id", flat=True)[:21]
        needed = Skill.objects.filter(pk__in=list(ids))
        return Shown(
            [
                related(
                    _("Needs"),
                    (_("Skill"), _("State")),
                    needed,
                    lambda one: (link(Skill, one.pk, columns.masked_text(one, "name")), label(one.state)),
                )
            ]
        )


@register(Reflection, site=site)
class ReflectionAdmin(RowsAdmin):
    """Reflections."""

    area, label, labels = KNOWLEDGE, _("reflection"), _("reflections")
    meaning = _("Patterns of behaviour that were drawn from episodes.")
    columns = (
        parts.memory(_("Memory")),
        parts.number(_("Events behind it"), "supporting_events"),
        parts.share(_("Confidence"), "confidence"),
        parts.moment(_("Last seen again"), "last_reinforced_at"),
    )
    ordering = ("-last_reinforced_at", "-id")
    id_columns = ("pk", "memory_id")
    search_help = _("An id of a reflection or of its memory.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the memories."""
        return parts.memories_of(row.memory_id for row in rows)
