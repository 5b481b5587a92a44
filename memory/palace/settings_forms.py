"""Forms of settings, for an owner and for one agent; the services judge the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _

from memory.errors import InvalidInput
from memory.palace.errors import add_to_form
from memory.palace.forms import PlainLine
from memory.palace.setting_words import LABELS, MEANINGS, short, value_word, values_words
from memory.services.settings_table import OWNER_SETTINGS

ON: Final = "on"
OFF: Final = "off"


class SettingsForm(forms.Form):
    """Some settings. Where an owner's values stand behind them, an empty field takes those."""

    def __init__(
        self,
        names: Sequence[str],
        values: Mapping[str, Any],
        data: Any = None,
        *,
        behind: Mapping[str, Any] | None = None,
        prefix: str | None = None,
    ) -> None:
        """Build the form.

        Args:
            names: the settings, in their order.
            values: what was chosen; for an owner every setting has a value.
            data: what was typed.
            behind: what holds where nothing was chosen; None for an owner's own settings.
            prefix: of the fields' ids and names.
        """
        super().__init__(data, prefix=prefix)
        self._chosen, self._behind = values, behind
        for name in names:
            self.fields[name] = self._field(name)

    def changes(self) -> dict[str, Any]:
        """Give the settings that were changed, None for those that take back what was chosen."""
        found = {}
        for name in self.fields:
            value = _read(name, self.cleaned_data[name])
            if value is None and self._behind is None:
                continue
            if value != self._chosen.get(name):
                found[name] = value
        return found

    def _field(self, name: str) -> PlainLine:
        default = OWNER_SETTINGS[name].default
        field = PlainLine(
            label=str(LABELS[name]),
            required=False,
            widget=self._widget(name),
            initial=_written(self._chosen.get(name)),
            help_text=str(MEANINGS[name]),
        )
        if self._behind is None:
            field.help_text += " " + _("By default: %(value)s.") % {"value": short(default)}
        return field

    def _widget(self, name: str) -> forms.Widget:
        setting = OWNER_SETTINGS[name]
        default = setting.default
        if isinstance(default, bool | str):
            taken = [ON, OFF] if isinstance(default, bool) else [one.strip() for one in setting.values.split(",")]
            words = [(one, value_word(name, one == ON if isinstance(default, bool) else one)) for one in taken]
            return forms.Select(choices=[*self._inherited(name), *words])
        least, _to, most = setting.values.partition(" to ")
        attributes = {"min": least, "max": most, "step": "0.01" if isinstance(default, float) else "1"}
        if self._behind is not None:
            attributes["placeholder"] = _written(self._behind[name]) or ""
        return forms.NumberInput(attrs=attributes)

    def _inherited(self, name: str) -> list[tuple[str, str]]:
        if self._behind is None:
            return []
        said = value_word(name, self._behind[name])
        return [("", _("as for all agents (%(value)s)") % {"value": said})]


def refused(form: SettingsForm, error: InvalidInput) -> None:
    """Put what a setting does not take beside its field; above the form where no field is named."""
    name = str(error.details.get("field", ""))
    if error.machine_code == "setting.invalid" and name in form.fields:
        form.add_error(name, _("This takes %(values)s.") % {"values": values_words(OWNER_SETTINGS[name].values)})
    else:
        add_to_form(form, error)


def _written(value: Any) -> str | None:
    """Write a value as its field takes it, in no language."""
    if value is None:
        return None
    if isinstance(value, bool):
        return ON if value else OFF
    return str(value)


def _read(name: str, typed: str | None) -> Any:
    """Read what was typed as the service takes it; what cannot be read goes to the service as it stands."""
    default = OWNER_SETTINGS[name].default
    if typed is None or isinstance(default, str):
        return typed
    if isinstance(default, bool):
        return {ON: True, OFF: False}.get(typed, typed)
    try:
        return float(typed) if isinstance(default, float) else int(typed)
    except ValueError:
        return typed
