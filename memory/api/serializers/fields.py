"""Fields that take exactly their JSON type: nothing is trimmed, coerced or echoed in an error.

What a text holds is checked by the services, which know the codes; fields check only what would not reach them whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from memory.errors import InvalidInput, InvalidScope, MalformedBodyError
from memory.recall.filter_language import MAX_DEPTH, MAX_VALUES, MEMBERS
from memory.recall.profiles import shipped
from memory.text import limits
from memory.text.strict_json import load_json

MAX_LABEL_BYTES: Final = 800
MOST_FILTERS: Final = 50
SCOPE_FORM: Final = "owner, agent, squad:<id> or project:<id>"

MAX_FILTER_CHARACTERS: Final = 8_000
FILTER_MEANING: Final = (
    f"Conditions with and, or and not: {', '.join(MEMBERS)}. At most {MAX_DEPTH} objects deep, with at most "
    f"{MAX_VALUES} values."
)

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def parse_uuid(text: str) -> UUID | None:
    """Read an id in its usual form; None for anything else."""
    return UUID(text) if _UUID.fullmatch(text) else None


class RawText(serializers.CharField):
    """A string, given on as it came."""

    default_error_messages = {"invalid": "This has to be a string."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **kwargs)
        self.validators = []

    def run_validation(self, data: Any = empty) -> Any:
        """Check the type only; blank text is for the services to judge."""
        return serializers.Field.run_validation(self, data)

    def to_internal_value(self, data: Any) -> str:
        """Take a string."""
        if not isinstance(data, str):
            self.fail("invalid")
        return str(data)


class Line(RawText):
    """A short text that is looked up and not stored, such as a tag to filter by; checked here."""

    def to_internal_value(self, data: Any) -> str:
        """Take a string of sound characters; raises InvalidInput or TooLarge like the services."""
        name = self.field_name or (self.parent.field_name if self.parent else "") or "text"
        return limits.checked_text(super().to_internal_value(data), field=name, max_bytes=MAX_LABEL_BYTES)


class Number(serializers.FloatField):
    """A JSON number."""

    default_error_messages = {"invalid": "This has to be a number."}

    def to_internal_value(self, data: Any) -> float:
        """Take a number that is not a truth value."""
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        try:
            return float(data)
        except OverflowError:
            self.fail("invalid")


class Unit(Number):
    """A number from 0 to 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=1, **kwargs)


class Whole(serializers.IntegerField):
    """A whole JSON number."""

    default_error_messages = {"invalid": "This has to be a whole number."}

    def to_internal_value(self, data: Any) -> int:
        """Take a whole number that is not a truth value."""
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return int(data)


class Switch(serializers.BooleanField):
    """true or false."""

    default_error_messages = {"invalid": "This has to be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        """Take a truth value."""
        if not isinstance(data, bool):
            self.fail("invalid")
        return bool(data)


class Flag(serializers.BooleanField):
    """true or false in an address, and no other word for it."""

    TRUE_VALUES = {"true"}
    FALSE_VALUES = {"false"}
    NULL_VALUES = set()
    default_error_messages = {"invalid": "This has to be true or false."}


class Word(serializers.ChoiceField):
    """One of several words."""

    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        words = [str(choice) for choice in choices]
        super().__init__(choices=words, **kwargs)
        self.error_messages["invalid_choice"] = f"This is one of {', '.join(words)}."

    def to_internal_value(self, data: Any) -> str:
        """Take one of the words."""
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice")
        return data


class Words(serializers.ListField):
    """Several of some words."""

    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        super().__init__(child=Word(choices), max_length=MOST_FILTERS, **kwargs)


class Lines(serializers.ListField):
    """Several short texts to filter by."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=Line(), max_length=MOST_FILTERS, **kwargs)


class Labels(serializers.ListField):
    """Several short texts to store; the services check them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=RawText(), max_length=MOST_FILTERS, **kwargs)


class Identifier(serializers.UUIDField):
    """A UUID in its usual form."""

    def to_internal_value(self, data: Any) -> UUID:
        """Take an id; raises ValidationError with the code `id.invalid`."""
        found = parse_uuid(data) if isinstance(data, str) else None
        if found is None:
            raise serializers.ValidationError("This has to be an id.", code="id.invalid")
        return found


class Moment(serializers.DateTimeField):
    """A moment in ISO 8601; without a zone it counts as UTC."""

    def to_internal_value(self, value: Any) -> datetime:
        """Take a moment; raises InvalidInput with `date.invalid` or `date.out_of_range`."""
        name = self.field_name or "date"
        return limits.checked_moment(value if isinstance(value, str) else None, field=name)


class JsonObject(serializers.DictField):
    """A JSON object of any members; the services check its size."""

    default_error_messages = {"not_a_dict": "This has to be an object."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Take an object as it came."""
        if not isinstance(data, dict):
            self.fail("not_a_dict")
        return dict(data)


@extend_schema_field(
    {
        "type": "object",
        "additionalProperties": True,
        "description": FILTER_MEANING,
        "example": {"and": [{"tag": "work"}, {"or": [{"kind": "fact"}, {"source": "user:al"}]}]},
    }
)
class FilterExpression(serializers.Field[Any, Any, Any, Any]):
    """An expression of the filter language; the services check it."""

    def to_internal_value(self, data: Any) -> Any:
        """Give the expression on."""
        return data

    def to_representation(self, value: Any) -> Any:
        """Give the expression on."""
        return value


class FilterText(RawText):
    """An expression of the filter language, written as JSON in a query parameter."""

    def to_internal_value(self, data: Any) -> Any:
        """Parse the expression; raises InvalidInput with `filter.invalid`."""
        text = super().to_internal_value(data)
        if len(text) > MAX_FILTER_CHARACTERS:
            raise _unusable_filter(f"A filter in a query has at most {MAX_FILTER_CHARACTERS} characters.")
        try:
            found = load_json(text.encode("utf-8", "surrogatepass"))
        except MalformedBodyError as error:
            raise _unusable_filter("This is not valid JSON.") from error
        if found is None:
            # Which would be taken for no filter, and so for everything.
            raise _unusable_filter("null is no filter.")
        return found


def _unusable_filter(reason: str) -> InvalidInput:
    return InvalidInput(f"filter: {reason}", code="filter.invalid", field="filter", path="filter")


class ProfileName(RawText):
    """The name of a recall profile."""

    def to_internal_value(self, data: Any) -> str:
        """Take the name of a shipped profile; raises NotFound with `profile.unknown`."""
        return shipped(super().to_internal_value(data)).name


class Categories(serializers.ListField):
    """Categories to filter by, in any spelling of case and spaces."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=Line(), max_length=MOST_FILTERS, **kwargs)

    def to_internal_value(self, data: Any) -> list[str]:
        """Take known categories; raises ValidationError with the code `category.unknown`."""
        found = [limits.normalise_category(name) for name in super().to_internal_value(data)]
        if not all(known for _, known in found):
            raise serializers.ValidationError("There is no such category.", code="category.unknown")
        return [name for name, _ in found]


class _Scope(serializers.Field[Any, Any, Any, Any]):
    """Whatever was given as a scope; left out it stays left out, and null is never taken for that."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        """Refuse null; everything else is judged by the services."""
        if data is None:
            raise InvalidScope(field="scope")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        """Give the value on."""
        return data

    def to_representation(self, value: Any) -> Any:
        """Give the value on."""
        return value


@extend_schema_field(
    {"type": "string", "description": f"Who may read it: {SCOPE_FORM}. Left out, the key's default counts."}
)
class WriteScope(_Scope):
    """The scope that is written for."""


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_FILTERS},
        ],
        "description": f"Limit the search to one scope or several: {SCOPE_FORM}.",
    }
)
class ReadScope(_Scope):
    """The scopes that a read is limited to."""
