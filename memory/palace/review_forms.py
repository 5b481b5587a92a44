"""Forms for changing what a review item proposes before it is approved; the services judge the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as lazy

from memory.errors import LociError
from memory.models import EntityType, ReviewKind
from memory.palace.dates import for_input
from memory.palace.forms import PlainLine, PlainText, WordList
from memory.palace.presenters import CATEGORY_CHOICES, label, lazy_label, ten
from memory.palace.review_words import type_word
from memory.services.review_memories import KINDS as FACT_KINDS
from memory.text.limits import checked_moment

WRONG_NUMBER: Final = lazy("Choose a whole number from 1 to 10.")


def _types() -> list[tuple[str, str]]:
    return [(value, type_word(value)) for value in EntityType.values]


def _number(shown: Any, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=shown,
        min_value=1,
        max_value=10,
        widget=forms.NumberInput(attrs={"data-slider": True}),
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), WRONG_NUMBER),
        help_text=help_text,
    )


def _moment(shown: Any, help_text: Any, *, required: bool = False) -> PlainLine:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "required": required}, format="%Y-%m-%dT%H:%M")
    return PlainLine(label=shown, required=False, widget=widget, help_text=help_text)


def _line(shown: Any, *, required: bool = True, help_text: Any = "") -> PlainLine:
    widget = forms.TextInput(attrs={"dir": "auto", "required": required})
    return PlainLine(label=shown, required=False, widget=widget, help_text=help_text)


def _text(shown: Any) -> PlainText:
    widget = forms.Textarea(attrs={"rows": 4, "dir": "auto", "required": True, "spellcheck": "true"})
    return PlainText(label=shown, required=False, widget=widget)


def _words(shown: Any) -> WordList:
    return WordList(
        label=shown,
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto"}),
        help_text=lazy("Between commas."),
    )


def _type(shown: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=shown, choices=_types, required=False)


class ProposalForm(forms.Form):
    """What an item proposes, in fields; `changes` gives those that a person has changed, as the payload has them."""

    def __init__(self, payload: Mapping[str, Any], data: Any = None) -> None:
        """Build the form from a payload, and what was typed into it."""
        super().__init__(data, initial=self.read(payload))
        self.payload = payload

    def read(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the fields show at first."""
        raise NotImplementedError

    def write(self, name: str) -> tuple[str, Any]:
        """Give the field of the payload that a changed field stands for, with its value."""
        return name, self.cleaned_data[name]

    def changes(self) -> dict[str, Any]:
        """Give the changed fields of the payload."""
        return dict(self.write(name) for name in self.fields if self._is_changed(name))

    def _is_changed(self, name: str) -> bool:
        field = self.fields[name]
        if isinstance(field, forms.BooleanField):
            return bool(self.cleaned_data[name]) != bool(self.initial.get(name))
        typed = str(self.data.get(name, "")).replace("\r\n", "\n").strip()
        return typed != str(self.initial.get(name, "")).strip()


class FactForm(ProposalForm):
    """A doubtful fact."""

    content = _text(lazy("What shall I remember?"))
    kind = forms.ChoiceField(label=lazy("Kind"), choices=[(one.value, lazy_label(one.value)) for one in FACT_KINDS])
    category = forms.ChoiceField(label=lazy("Category"), choices=CATEGORY_CHOICES, required=False)
    importance = _number(lazy("Importance"), lazy("1 is trivial, 10 must never be lost."))
    topics = _words(lazy("Topics"))
    occurred_at = _moment(lazy("Said"), lazy("In UTC."))
    valid_from = _moment(lazy("Holds from"), lazy("In UTC; leave empty when it always held."))
    valid_until = _moment(lazy("Holds until"), lazy("In UTC; leave empty while it still holds."))

    def read(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the fields show at first."""
        return {
            "content": payload.get("text") or "",
            "kind": payload.get("kind") or "fact",
            "category": payload.get("category") or "general",
            "importance": _ten(payload.get("importance")),
            "topics": _joined(payload.get("topics")),
            **{name: _input(payload.get(name)) for name in ("occurred_at", "valid_from", "valid_until")},
        }

    def write(self, name: str) -> tuple[str, Any]:
        """Give the field of the payload that a changed field stands for."""
        value = self.cleaned_data[name]
        if name == "importance":
            return name, value / 10
        return ("text", value) if name == "content" else (name, value)


class EntityForm(ProposalForm):
    """A doubtful name."""

    name = _line(lazy("Name"))
    type = _type(lazy("What it is"))
    aliases = _words(lazy("Also called"))
    importance = _number(lazy("Importance"), lazy("1 is trivial, 10 must never be lost."))

    def read(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the fields show at first."""
        return {
            "name": payload.get("name") or "",
            "type": payload.get("type") or EntityType.CONCEPT,
            "aliases": _joined(payload.get("aliases")),
            "importance": _ten(payload.get("importance")),
        }

    def write(self, name: str) -> tuple[str, Any]:
        """Give the field of the payload that a changed field stands for."""
        value = self.cleaned_data[name]
        return (name, value / 10) if name == "importance" else (name, value)


class RelationForm(ProposalForm):
    """A doubtful relation; each end has a name and a type of its own."""

    source = _line(lazy("Who or what"))
    source_type = _type(lazy("What the first is"))
    label = _line(lazy("How they stand to each other"), help_text=lazy("Such as: lives in, works with, likes."))
    target = _line(lazy("To whom or what"))
    target_type = _type(lazy("What the second is"))
    weight = _number(lazy("Weight"), lazy("1 is loose, 10 is close."))
    valid_from = _moment(lazy("Holds from"), lazy("In UTC; leave empty when it always held."))
    valid_until = _moment(lazy("Holds until"), lazy("In UTC; leave empty while it still holds."))
    ended = forms.BooleanField(label=lazy("It holds no longer"), required=False)

    def read(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the fields show at first."""
        return {
            "source": _name(payload.get("source")),
            "source_type": _kind(payload.get("source")),
            "label": label(str(payload.get("label") or "")),
            "target": _name(payload.get("target")),
            "target_type": _kind(payload.get("target")),
            "weight": _ten(payload.get("weight")),
            "valid_from": _input(payload.get("valid_from")),
            "valid_until": _input(payload.get("valid_until")),
            "ended": bool(payload.get("ended")),
        }

    def write(self, name: str) -> tuple[str, Any]:
        """Give the field of the payload that a changed field stands for."""
        values = self.cleaned_data
        end = name.removesuffix("_type")
        if end in ("source", "target"):
            return end, {"name": values[end], "type": values[f"{end}_type"] or EntityType.CONCEPT}
        return (name, values[name] / 10) if name == "weight" else (name, values[name])


class EventForm(ProposalForm):
    """A doubtful event."""

    content = _text(lazy("What happened?"))
    occurred_at = _moment(lazy("When"), lazy("In UTC."), required=True)
    participants = _words(lazy("Who took part"))

    def read(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the fields show at first."""
        return {
            "content": payload.get("text") or "",
            "occurred_at": _input(payload.get("occurred_at")),
            "participants": _joined(_name(one) for one in payload.get("participants") or ()),
        }

    def write(self, name: str) -> tuple[str, Any]:
        """Give the field of the payload that a changed field stands for; those who stay keep their types."""
        value = self.cleaned_data[name]
        if name != "participants":
            return ("text", value) if name == "content" else (name, value)
        types = {_name(one): _kind(one) for one in self.payload.get("participants") or ()}
        return name, [{"name": one, "type": types.get(one, EntityType.CONCEPT)} for one in value]


class CauseForm(ProposalForm):
    """A doubtful cause and its effect."""

    cause = _text(lazy("Because"))
    effect = _text(lazy("Therefore"))
    cause_entity = _line(lazy("What the cause is about"), required=False, help_text=lazy("A name; may be empty."))
    effect_entity = _line(lazy("What the effect is about"), required=False, help_text=lazy("A name; may be empty."))

    def read(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the fields show at first."""
        ends = {end: _name(payload.get(end)) for end in ("cause_entity", "effect_entity")}
        return {"cause": payload.get("cause") or "", "effect": payload.get("effect") or "", **ends}


FORMS: Final[Mapping[str, Callable[..., ProposalForm]]] = {
    ReviewKind.FACT: FactForm,
    ReviewKind.ENTITY: EntityForm,
    ReviewKind.RELATION: RelationForm,
    ReviewKind.EVENT: EventForm,
    ReviewKind.CAUSE: CauseForm,
}
"""By kind; what a merge or a contradiction is about stays as it is."""


def _ten(value: Any) -> str:
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return str(ten(float(value)) if usable else 5)


def _joined(values: Any) -> str:
    return ", ".join(str(one) for one in values or ())


def _name(value: Any) -> str:
    return str(value.get("name") or "") if isinstance(value, Mapping) else str(value or "")


def _kind(value: Any) -> str:
    return str((value.get("type") if isinstance(value, Mapping) else None) or EntityType.CONCEPT)


def _input(value: Any) -> str:
    if not value:
        return ""
    try:
        return for_input(checked_moment(value))
    except LociError:
        return str(value)
