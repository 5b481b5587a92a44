"""Answers as CSV, for whoever puts them into a spreadsheet: by `?format=csv`, or by the Accept header."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.renderers import JSONRenderer

from memory.api.schema import LociSchema
from memory.api.serializers.fields import Word
from memory.api.views.base import LociView
from telemetry.tables import table

CSV: Final = "text/csv"
FORMS: Final = ("json", "csv")


class CsvRenderer(JSONRenderer):
    """Lets a caller ask for CSV; what is no table is JSON all the same."""

    media_type = CSV
    format = "csv"


class CsvSchema(LociSchema):
    """Describe an operation whose answer comes as JSON or as CSV."""

    def get_response_serializers(self) -> Any:
        """Add CSV to the answer."""
        answers = super().get_response_serializers()
        if self.method == "GET":
            answers[200, CSV] = OpenApiResponse(OpenApiTypes.STR, description="A table, with its header first.")
        return answers


def form_field() -> Word:
    """Make the query parameter `format`."""
    return Word(FORMS, required=False, help_text="`json` or `csv`; left out, the Accept header decides.")


def wants_csv(view: LociView) -> bool:
    """Tell whether a request asks for CSV; what the query says counts for more than the header."""
    named = view.query.get("format")
    return bool(named == "csv" if named else view.request.accepted_renderer.format == "csv")


def csv_answer(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *, name: str, following: str | None = None
) -> HttpResponse:
    """Answer with a table.

    Args:
        header: names of the columns.
        rows: values; what is no text or number is written as JSON, None as nothing.
        name: of the file.
        following: the cursor of the next page, which the header `X-Loci-Next` carries; a table has no place for it.
    """
    answer = HttpResponse(table(header, rows), content_type=f"{CSV}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    if following is not None:
        answer["X-Loci-Next"] = following
    return answer
