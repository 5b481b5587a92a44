"""Bases of the serializers, and the shapes that several resources share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from memory.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from memory.api.serializers.fields import RawText, ReadScope

MOST_UNKNOWN: Final = 20
MAX_NAME: Final = 60

Values = dict[str, Any]


class Strict(serializers.Serializer[Any]):
    """A request body that refuses members it does not know."""

    unknown_code = "field.unknown"
    unknown_message = "There is no such field."

    def to_internal_value(self, data: Any) -> Values:
        """Check a body and gather all errors, unknown members first."""
        errors: dict[str, Any] = {}
        if isinstance(data, Mapping):
            unknown = [str(name) for name in data if name not in self.fields][:MOST_UNKNOWN]
            problem = [ErrorDetail(self.unknown_message, code=self.unknown_code)]
            errors = {name[:MAX_NAME]: problem for name in unknown}
        try:
            values: Values = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError({**errors, **cast("dict[str, Any]", error.detail)}) from error
        if errors:
            raise ValidationError(errors)
        return values


class NoBody(Strict):
    """No members at all, for methods that take nothing: what is sent there would be passed over silently."""


class Query(Strict):
    """Query parameters; lists are given by naming a parameter several times."""

    unknown_code = "query.unknown"
    unknown_message = "There is no such parameter."

    @classmethod
    def read(cls, parameters: QueryDict) -> Values:
        """Check the parameters of a request; raises ValidationError."""
        query = cls()
        data: Values = {}
        for name, values in parameters.lists():
            field = query.fields.get(name)
            if isinstance(field, serializers.ListField) or (isinstance(field, ReadScope) and len(values) > 1):
                data[name] = values
            elif len(values) > 1:
                raise ValidationError({name[:MAX_NAME]: [ErrorDetail("Name this once.", code="query.repeated")]})
            else:
                data[name] = values[0]
        found: Values = query.run_validation(data)
        return found


class NoQuery(Query):
    """No parameters at all."""


class PageQuery(Query):
    """Where to go on in a list, and how many rows to give."""

    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text=f"Rows on a page, {DEFAULT_LIMIT} when left out.",
        error_messages={"invalid": "This has to be a whole number."},
    )
    cursor = RawText(required=False, help_text="`next` of the page before.")


class ProblemSerializer(serializers.Serializer[Any]):
    """An error after RFC 9457; further members depend on the code."""

    type = serializers.CharField(help_text="`urn:loci:problem:` and the code.")
    title = serializers.CharField(help_text="The name of the status.")
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="What happened, what was kept and what to do.")
    code = serializers.CharField(help_text="The machine code.")


class NoteSerializer(serializers.Serializer[Any]):
    """Something that the caller should know about what was stored."""

    code = serializers.CharField()
    message = serializers.CharField()


class ItemErrorSerializer(serializers.Serializer[Any]):
    """Why one item of several was refused; further members depend on the code."""

    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
