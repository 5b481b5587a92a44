"""`/schema` and `/docs`: the description of this interface, for programs and for people."""

from __future__ import annotations

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response


@cache
def described() -> Any:
    """Draw the schema once for each process, since it is the same for everyone and takes a while."""
    return SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


class SchemaView(SpectacularAPIView):
    """The OpenAPI schema, as JSON or YAML by the Accept header."""

    schema = None
    throttle_classes = ()
    renderer_classes = [OpenApiJsonRenderer, OpenApiYamlRenderer]

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Give the schema."""
        return Response(described(), headers={"Cache-Control": "no-store"})


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from files of this server, with its start-up script at an address of its own.

    The template is ours since the packaged one has an inline style, which the content security policy refuses.
    """

    schema = None
    throttle_classes = ()
    template_name = "api/docs.html"
    url_name = "api:schema"

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Forbid every cache to keep the page, which holds the reader's CSRF token."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response
