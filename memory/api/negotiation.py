"""Content negotiation by the Accept header alone; a query parameter `format` means nothing special."""

from __future__ import annotations

from types import SimpleNamespace

from rest_framework.negotiation import DefaultContentNegotiation


class HeaderNegotiation(DefaultContentNegotiation):
    """Choose by header only, so that every query parameter is checked like the others."""

    settings = SimpleNamespace(URL_FORMAT_OVERRIDE=None)  # type: ignore[assignment]
