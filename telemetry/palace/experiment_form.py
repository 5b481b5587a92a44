"""The form that begins a comparison of two profiles; the service judges its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from memory.palace.forms import PlainLine
from memory.palace.recall_state import PROFILE_MEANINGS
from telemetry.services.recalls.experiments import LONGEST_LABEL, ExperimentDraft

PROFILES: Final = [(name, format_lazy("{}: {}", name, meaning)) for name, meaning in PROFILE_MEANINGS.items()]


class ExperimentForm(forms.Form):
    """What is compared, and on how many and which agents."""

    label = PlainLine(
        label=_("What it is called"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": LONGEST_LABEL}),
    )
    control = forms.ChoiceField(label=_("Compare"), choices=PROFILES)
    variant = forms.ChoiceField(label=_("with"), choices=PROFILES)
    share = forms.IntegerField(
        label=_("Percent of the agents that try the second"),
        min_value=0,
        max_value=100,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _("This is a whole number from 0 to 100.")),
    )
    agents = forms.MultipleChoiceField(
        label=_("Agents that try the second in any case"),
        required=False,
        widget=forms.SelectMultiple(attrs={"size": 4, "dir": "auto"}),
        help_text=_("None has to be chosen. With 0 percent only these try it."),
    )

    def __init__(self, data: Any = None, *, agents: Sequence[tuple[UUID, str]]) -> None:
        """Build the form.

        Args:
            data: what was sent.
            agents: the owner's, with their names.
        """
        usual = {"control": PROFILES[0][0], "variant": PROFILES[1][0], "share": 50}
        super().__init__(data, initial=usual, auto_id="experiment_%s")
        self.has_agents = bool(agents)
        self.fields["agents"].choices = [(str(pk), name) for pk, name in agents]  # type: ignore[attr-defined]

    def focus_first_error(self) -> None:
        """Let the browser begin at the first field that is wrong, which stands below the fold."""
        wrong = next((name for name in self.fields if name in self.errors), None)
        if wrong is not None:
            self.fields[wrong].widget.attrs["autofocus"] = True

    def draft(self) -> ExperimentDraft:
        """Give what was wished for."""
        values = self.cleaned_data
        return ExperimentDraft(
            label=values["label"],
            control=values["control"],
            variant=values["variant"],
            share=values["share"] / 100,
            agents=[UUID(agent) for agent in values["agents"]],
        )
