"""The settings of consolidation as forms, one for each group, made from the table of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _

from memory.palace import consolidation_words as words
from memory.palace.setting_words import LABELS, value_word, values_words
from memory.services.settings_table import CONSOLIDATION, OWNER_SETTINGS, OwnerSetting

SWITCH: Final = "consolidation"
"""The setting that has a button of its own."""


class SettingsForm(forms.Form):
    """The settings of one group; every field says what it means, what it takes and its default."""

    def __init__(self, group: str, values: Mapping[str, Any], data: Any = None) -> None:
        """Build the form from the present values, and what was typed."""
        super().__init__(data, auto_id=f"id_{group}_%s")
        self.group = group
        self.heading = str(words.SETTINGS_GROUPS[group])
        self._values = values
        for name in names_of(group):
            self.fields[name] = _field(name, OWNER_SETTINGS[name], values[name])

    @property
    def changed(self) -> bool:
        """Tell whether any setting has another value than its default."""
        return any(self._values[name] != OWNER_SETTINGS[name].default for name in names_of(self.group))

    def changes(self) -> dict[str, Any]:
        """Give the settings that were changed; one that was brought to its default is forgotten."""
        found = {}
        for name in names_of(self.group):
            value = self.cleaned_data[name]
            if value != self._values[name]:
                found[name] = None if value == OWNER_SETTINGS[name].default else value
        return found

    def defaults(self) -> dict[str, Any]:
        """Give the changes that bring every setting of the group to its default."""
        return {name: None for name in names_of(self.group) if self._values[name] != OWNER_SETTINGS[name].default}


def settings_forms(values: Mapping[str, Any], *, bound: SettingsForm | None = None) -> list[SettingsForm]:
    """Give a form for each group, with the one that was sent in place of its own."""
    return [
        bound if bound is not None and bound.group == group else SettingsForm(group, values)
        for group in CONSOLIDATION
        if names_of(group)
    ]


def names_of(group: str) -> list[str]:
    """Give the names of a group's settings, without the one that switches everything."""
    return [name for name, one in OWNER_SETTINGS.items() if one.group == group and name != SWITCH]


def _field(name: str, setting: OwnerSetting, value: Any) -> forms.Field:
    shown = str(LABELS[name])
    default = value_word(name, setting.default)
    meaning = _("%(meaning)s The default is %(default)s.") % {"meaning": _(setting.meaning), "default": default}
    if not isinstance(setting.default, bool | str):
        meaning = _("%(meaning)s Takes %(values)s; the default is %(default)s.") % {
            "meaning": _(setting.meaning),
            "values": values_words(setting.values),
            "default": default,
        }
    if isinstance(setting.default, bool):
        return forms.TypedChoiceField(
            label=shown,
            choices=[("true", _("on")), ("false", _("off"))],
            coerce=lambda typed: typed == "true",
            initial="true" if value else "false",
            help_text=meaning,
        )
    if isinstance(setting.default, str):
        taken = [one.strip() for one in str(setting.values).split(",")]
        choices = [(one, value_word(name, one)) for one in taken]
        return forms.ChoiceField(label=shown, choices=choices, initial=value, help_text=meaning)
    least, _to, most = str(setting.values).partition(" to ")
    wrong = _("This takes %(values)s.") % {"values": values_words(setting.values)}
    errors = dict.fromkeys(("required", "invalid", "min_value", "max_value"), wrong)
    if isinstance(setting.default, float):
        return forms.FloatField(
            label=shown, initial=str(value), min_value=float(least), max_value=float(most), step_size=None,
            widget=forms.NumberInput(attrs={"step": "0.01"}), help_text=meaning, error_messages=errors,
        )  # fmt: skip
    return forms.IntegerField(
        label=shown,
        initial=str(value),
        min_value=int(least.replace(",", "")),
        max_value=int(most.replace(",", "")),
        help_text=meaning,
        error_messages=errors,
    )
