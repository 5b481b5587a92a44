"""Fields that hold text encrypted: sealed in the database and on loaded rows, opened when an attribute is read."""

from __future__ import annotations

import json
from typing import Any, TypeVar, overload
from uuid import UUID

from django.core.exceptions import FieldError
from django.db import models

from memory.crypto.keyring import keyring
from memory.crypto.sealing import Place, Sealed

T = TypeVar("T")


class EncryptedAttribute:
    """The attribute of an encrypted field on a model's instances."""

    def __init__(self, field: EncryptedField) -> None:
        """Bind the attribute to its field."""
        self.field = field
        self.opened = f"_opened_{field.attname}"

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> EncryptedAttribute: ...
    @overload
    def __get__(self, instance: models.Model, owner: type | None = None) -> Any: ...
    def __get__(self, instance: models.Model | None, owner: type | None = None) -> Any:
        """Open the value, once for each loaded row; raises KeysUnavailable rather than show ciphertext."""
        if instance is None:
            return self
        stored = instance.__dict__
        if self.field.attname not in stored:
            # A deferred column: load it through the model's own, owner-scoped manager.
            instance.refresh_from_db(fields=[self.field.attname])
        value = stored[self.field.attname]
        if not isinstance(value, Sealed):
            return value
        if self.opened not in stored:
            stored[self.opened] = self.field.open(instance, value)
        return stored[self.opened]

    def __set__(self, instance: models.Model, value: Any) -> None:
        """Set a plain value, or a sealed one as it came from the database."""
        instance.__dict__.pop(self.opened, None)
        instance.__dict__[self.field.attname] = value


class EncryptedField(models.TextField):  # type: ignore[type-arg]
    """A text column that holds only sealed values.

    The value is bound to owner, table, field, row and key version. Rows that only one agent may read are sealed
    with that agent's key: a model says so through a property `sealing_agent_id`. Statements that would bypass the
    sealing (`update`, `bulk_update`, filters on the column) raise FieldError.
    """

    def contribute_to_class(self, cls: type[models.Model], name: str, private_only: bool = False) -> None:
        """Put the opening attribute on the model."""
        super().contribute_to_class(cls, name, private_only)
        setattr(cls, self.attname, EncryptedAttribute(self))

    def to_stored_text(self, value: Any) -> str:
        """Turn a plain value into the text that is sealed."""
        if not isinstance(value, str):
            raise FieldError(f"{self.name} takes text.")
        return value

    def from_stored_text(self, text: str) -> Any:
        """Turn opened text into the plain value."""
        return text

    def place(self, instance: Any) -> Place:
        """Say where this field of a row stands."""
        return Place(instance.owner_id, instance._meta.db_table, self.attname, instance.pk)

    def open(self, instance: Any, value: Sealed) -> Any:
        """Open a sealed value of a row."""
        agent_id: UUID | None = getattr(instance, "sealing_agent_id", None)
        ring = keyring().of(instance.owner_id)
        return self.from_stored_text(ring.unseal(value, place=self.place(instance), agent_id=agent_id))

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Seal a plain value just before it is written; an untouched sealed one stays as it is.

        Where the text key was rotated since the row was loaded, the value is sealed anew: the former version may be
        destroyed at any time, and nothing may be written under it any more.
        """
        value = model_instance.__dict__.get(self.attname)
        if value is None:
            return None
        if isinstance(value, Sealed):
            if value.version >= keyring().of(model_instance.owner_id).keys.text_version:  # type: ignore[attr-defined]
                return value
            value = self.open(model_instance, value)
        return seal_value(model_instance, self, value)

    def get_prep_value(self, value: Any) -> Any:
        """Let sealed values through and refuse every plain one."""
        if value is None or isinstance(value, Sealed):
            return value
        raise FieldError(f"{self.name} is encrypted: save the row; it cannot be updated or filtered in SQL.")

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Sealed | None:
        """Mark a loaded value as sealed."""
        return None if value is None else Sealed(value)

    def value_to_string(self, obj: models.Model) -> str:
        """Refuse Django's serialisers, which would write plain text to a fixture."""
        raise FieldError(f"{self.name} is encrypted: use the export.")


class EncryptedTextField(EncryptedField):
    """An encrypted text."""


class EncryptedJSONField(EncryptedField):
    """An encrypted JSON value; an empty list or object is stored sealed like any other."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def to_stored_text(self, value: Any) -> str:
        """Serialise the value compactly, with sorted keys."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    def from_stored_text(self, text: str) -> Any:
        """Parse the opened text."""
        return json.loads(text)


def seal_value(instance: Any, field: EncryptedField, value: Any) -> Sealed:
    """Seal a plain value for a field of a row, for statements that are not made by `save`."""
    agent_id: UUID | None = getattr(instance, "sealing_agent_id", None)
    ring = keyring().of(instance.owner_id)
    return ring.seal(field.to_stored_text(value), place=field.place(instance), agent_id=agent_id)


def reseal(instance: Any) -> None:
    """Open every encrypted field of a row and leave it plain, so that saving seals it with the key that fits now."""
    for field in instance._meta.local_fields:
        if isinstance(field, EncryptedField):
            value = getattr(instance, field.attname)
            setattr(instance, field.attname, value)
