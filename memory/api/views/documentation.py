"""`/schema` and `/docs`: the description of this interface, for programs and for people."""

from __future__ import annotations

from functools import cache
from threading import RLock
from typing import Any, Final

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

# The generator is not made for several threads, and each of them would take seconds of a processor.
_drawing: Final = RLock()
_written: Final[dict[str, str | bytes]] = {}


def described() -> Any:
    """Draw the schema once for each process, since it is the same for everyone and takes a while."""
    with _drawing:
        return _described()


def written(renderer: BaseRenderer) -> str | bytes:
    """Give the schema as a renderer writes it; each form is written once for each process."""
    with _drawing:
        if renderer.format not in _written:
            _written[renderer.format] = renderer.render(_described(), renderer_context={})
        return _written[renderer.format]


@cache
def _described() -> Any:
    return SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


class Described(APIView):
    """What both descriptions share: anyone may read them, nobody may keep them, errors are JSON like everywhere."""

    schema = None
    throttle_classes = ()

    def handle_exception(self, exc: Exception) -> Response:
        """Write an error as JSON, although the answers themselves are none."""
        self.request.accepted_renderer = JSONRenderer()
        self.request.accepted_media_type = JSONRenderer.media_type
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Forbid every cache to keep the answer: the page holds its reader's CSRF token."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response


class SchemaView(Described, SpectacularAPIView):
    """The OpenAPI schema, as JSON or YAML by the Accept header."""

    renderer_classes = [OpenApiJsonRenderer, OpenApiJsonRenderer2, OpenApiYamlRenderer, OpenApiYamlRenderer2]

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Give the schema."""
        renderer = request.accepted_renderer
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        return HttpResponse(written(renderer), content_type=f"{renderer.media_type}{charset}")


class DocsView(Described, SpectacularSwaggerSplitView):
    """Swagger UI from files of this server, with its start-up script at an address of its own.

    The template is ours since the packaged one has an inline style, which the content security policy refuses.
    """

    template_name = "api/docs.html"
    url_name = "api:schema"
