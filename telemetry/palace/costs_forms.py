"""The form for a budget; the services judge its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.palace.forms import PlainLine
from telemetry.models import BudgetPeriod
from telemetry.services.costs.budgets import BudgetDraft

AMOUNT: Final = {"inputmode": "decimal", "autocomplete": "off"}


class BudgetForm(forms.Form):
    """Whose budget, for how long, and its limits."""

    period = forms.ChoiceField(label=_("For a"), choices=[("month", _("month (UTC)")), ("day", _("day (UTC)"))])
    agent = forms.ChoiceField(label=_("Of"), required=False)
    soft = PlainLine(
        label=_("Soft limit, warn from here on"),
        required=False,
        widget=forms.TextInput(attrs=AMOUNT),
        help_text=_("Leave it empty for no warning."),
    )
    hard = PlainLine(
        label=_("Hard limit, at most"),
        required=False,
        widget=forms.TextInput(attrs=AMOUNT),
        help_text=_("From here on no model is asked that costs. Leave it empty for no limit."),
    )

    def __init__(self, data: Any = None, *, agents: Sequence[tuple[UUID, str]], currency: str) -> None:
        """Build the form.

        Args:
            data: what was sent.
            agents: the owner's, with their names.
            currency: of the limits.
        """
        super().__init__(data, initial={"period": BudgetPeriod.MONTH.value})
        choices = [("", _("all together")), *((str(pk), name) for pk, name in agents)]
        # A name may turn the direction of writing; it turns nothing beside it.
        widget = forms.Select({"dir": "auto"})
        self.fields["agent"] = forms.ChoiceField(label=_("Of"), required=False, choices=choices, widget=widget)
        for name in ("soft", "hard"):
            self.fields[name].label = f"{self.fields[name].label} ({currency})"

    def focus_first_error(self) -> None:
        """Let the browser begin at the first field that is wrong, which stands below the fold."""
        wrong = next((name for name in self.fields if name in self.errors), None)
        if wrong is not None:
            self.fields[wrong].widget.attrs["autofocus"] = True

    def draft(self) -> BudgetDraft:
        """Give what was wished for."""
        values = self.cleaned_data
        return BudgetDraft(
            period=values["period"],
            agent_id=UUID(values["agent"]) if values["agent"] else None,
            soft=values["soft"],
            hard=values["hard"],
        )
