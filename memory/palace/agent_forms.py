"""The forms about agents, their keys, tokens and groups; the services judge the values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.models import AgentGroup, AgentKey
from memory.palace.forms import PlainLine
from memory.palace.permission_words import PERMISSIONS, group_name
from memory.services.actors import AGENT_DEFAULT, written_scope
from memory.services.clock import now

EXPIRIES: Final = {"": None, "7": 7, "30": 30, "90": 90, "365": 365}
KEEP: Final = "keep"


class NameForm(forms.Form):
    """The name of an agent."""

    name = PlainLine(
        label=lazy("Name"),
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off", "maxlength": "200", "required": True}),
        help_text=lazy("For you to know it by. It is encrypted."),
    )


class GroupForm(forms.Form):
    """A project or squad."""

    kind = PlainLine(
        label=lazy("Kind"),
        widget=forms.Select(choices=[("project", lazy("project")), ("squad", lazy("squad"))]),
        required=False,
    )
    name = PlainLine(
        label=lazy("Name"),
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off", "maxlength": "200", "required": True}),
    )


class KeyForm(forms.Form):
    """A key: its label, what it may do, where it writes, and until when it works."""

    label = PlainLine(
        label=lazy("Label"),
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off", "maxlength": "200", "required": True}),
        help_text=lazy("Where the key is used, such as: laptop."),
    )
    scopes = forms.MultipleChoiceField(
        label=lazy("What it may do"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=[(str(name), words.name) for name, words in PERMISSIONS.items()],
    )
    default_scope = PlainLine(
        label=lazy("Who may read what it stores"),
        required=False,
        help_text=lazy("Where a request names nobody."),
    )
    expires = PlainLine(label=lazy("Works until"), required=False)

    def __init__(
        self, groups: Sequence[AgentGroup], data: Any = None, *, key: AgentKey | None = None, ends: str = ""
    ) -> None:
        """Build the form for a new key, or for one that there is.

        Args:
            groups: the agent's projects and squads.
            data: what was typed.
            key: the key that is changed.
            ends: the moment, in words, until which that one works; empty for one that does not end.
        """
        initial: dict[str, Any] = {"scopes": sorted(map(str, AGENT_DEFAULT)), "default_scope": "owner"}
        if key is not None:
            scope = written_scope(key.default_visibility, key.default_group_id)
            initial = {"scopes": list(key.scopes), "default_scope": scope, "expires": KEEP}
        super().__init__(data, initial=initial)
        own = [("owner", _("all your agents")), ("agent", _("this agent only"))]
        shared = [(f"{group.kind}:{group.pk}", group_name(group)) for group in groups]
        self.fields["default_scope"].widget = forms.Select({"dir": "auto"}, [*own, *shared])
        kept = [(KEEP, ends or _("for ever, as now"))] if key is not None else []
        days = [("" if count is None else str(count), _days(count)) for count in EXPIRIES.values()]
        self.fields["expires"].widget = forms.Select(choices=[*kept, *days])

    def choices(self) -> list[dict[str, Any]]:
        """Give the permissions with what they mean, and which of them are chosen."""
        chosen = set(self["scopes"].value() or ())
        return [
            {"value": str(scope), "name": words.name, "meaning": words.meaning, "checked": str(scope) in chosen}
            for scope, words in PERMISSIONS.items()
        ]

    def values(self) -> dict[str, Any]:
        """Give what was typed as the services take it."""
        typed = self.cleaned_data
        found: dict[str, Any] = {
            "label": typed["label"] or "",
            "scopes": typed["scopes"],
            "default_scope": typed["default_scope"] or "owner",
        }
        if typed["expires"] != KEEP:
            days = EXPIRIES.get(typed["expires"] or "")
            found["expires_at"] = (now() + timedelta(days=days)).isoformat() if days else None
        return found


class TokenForm(forms.Form):
    """A token for the bus between agents."""

    max_scope = PlainLine(label=lazy("As far as"), required=False)
    publish = forms.BooleanField(label=lazy("It may publish messages, not only read them"), required=False)
    hours = PlainLine(label=lazy("Works for"), required=False)

    def __init__(self, data: Any = None) -> None:
        """Build the form."""
        super().__init__(data, initial={"publish": True, "hours": "24", "max_scope": "owner"})
        self.fields["max_scope"].widget = forms.Select(
            choices=[
                ("owner", _("all your agents")),
                ("project", _("its projects")),
                ("squad", _("its squads")),
                ("agent", _("this agent only")),
            ]
        )
        self.fields["hours"].widget = forms.Select(
            choices=[("1", _("an hour")), ("24", _("a day")), ("168", _("a week")), ("720", _("30 days"))]
        )

    def grant(self) -> dict[str, Any]:
        """Give what the token is to allow as the service takes it."""
        typed = self.cleaned_data
        hours = int(typed["hours"]) if str(typed["hours"]) in ("1", "24", "168", "720") else 24
        return {
            "max_scope": typed["max_scope"],
            "can_publish": typed["publish"],
            # A minute less than the longest that there may be, since the clock goes on.
            "expires_at": (now() + timedelta(hours=hours) - timedelta(minutes=1)).isoformat(),
        }


class TrustForm(forms.Form):
    """How far an agent is trusted."""

    trust = PlainLine(
        label=lazy("Trust"),
        required=False,
        widget=forms.NumberInput(attrs={"min": "0", "max": "1", "step": "0.05"}),
        help_text=lazy(
            "0 to 1: whose statement stands when two agents contradict each other. Leave it empty when you do not know."
        ),
    )

    def value(self) -> Any:
        """Give the number that was typed, None for none; what is no number goes to the service as it stands."""
        typed = self.cleaned_data["trust"]
        try:
            return None if typed is None else float(typed)
        except ValueError:
            return typed


def _days(count: int | None) -> str:
    if count is None:
        return _("it does not end")
    return _("%(count)d days from now") % {"count": count}
