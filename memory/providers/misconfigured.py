"""The error for provider settings that cannot work, raised when providers are put together."""

from __future__ import annotations

from memory.errors import LociError


class ProviderMisconfigured(LociError):
    """A provider's settings cannot be used as they stand. Nothing was started."""

    code = "provider.misconfigured"
    status = 500
