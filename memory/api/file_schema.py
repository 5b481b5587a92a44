"""How endpoints that take or give files are described."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.renderers import JSONRenderer

from memory.api.file_bodies import OCTETS, PASSPHRASE_HEADER, ZIP
from memory.api.schema import LociSchema


class FileSchema(LociSchema):
    """Describe an operation whose body or answer is a file, as its view says with `takes` and `gives`."""

    def get_request_serializer(self) -> Any:
        """Give the media type of the body, where it is a file."""
        taken = getattr(self.view, "takes", None)
        return super().get_request_serializer() if taken is None else {taken: OpenApiTypes.BINARY}

    def get_response_serializers(self) -> Any:
        """Give the media type of the answer, where it is a file."""
        answers = super().get_response_serializers()
        given = getattr(self.view, "gives", None)
        if given is not None:
            del answers[200]
            answers[200, given] = OpenApiResponse(OpenApiTypes.BINARY, description="The file.")
        return answers

    def get_override_parameters(self) -> list[Any]:
        """Add the header of a passphrase, where one may come."""
        parameters = super().get_override_parameters()
        if getattr(self.view, "asks_passphrase", False):
            parameters.append(
                OpenApiParameter(
                    PASSPHRASE_HEADER,
                    str,
                    "header",
                    description="The passphrase that the snapshot was sealed with, percent-encoded UTF-8.",
                )
            )
        return parameters


class ZipRenderer(JSONRenderer):
    """Lets a caller ask for a zip file; what is no file is JSON all the same."""

    media_type = ZIP
    format = "zip"


class OctetsRenderer(JSONRenderer):
    """Lets a caller ask for any bytes; what is no file is JSON all the same."""

    media_type = OCTETS
    format = "bin"
