"""What has to be there before traces are sent: an address that the operator has set, and the packages."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import urlsplit

from config.settings.env import SettingError

PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
PATH = "v1/traces"


def traces_address(base: str, own: str) -> str:
    """Give the address that spans are sent to.

    Args:
        base: a collector's, which the path of traces is added to.
        own: that of traces alone, taken as it is; it goes before the other.

    Raises:
        SettingError: neither is set, one is no address of HTTP, or the packages are not installed.
    """
    name = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" if own else "OTEL_EXPORTER_OTLP_ENDPOINT"
    address = own or base
    if not address:
        raise SettingError(
            "TRACING=otlp needs the address of a collector in OTEL_EXPORTER_OTLP_ENDPOINT, such as "
            "http://localhost:4318. Nothing is sent to a place that nobody has named."
        )
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or parts.username or parts.password:
        raise SettingError(
            f"{name} cannot be used: not an address such as http://localhost:4318. A key for the collector belongs "
            "into OTEL_EXPORTER_OTLP_HEADERS."
        )
    if not _installed():
        raise SettingError(
            "TRACING=otlp needs packages that are not installed: .venv/bin/pip install --no-deps --require-hashes "
            "-r requirements/tracing.txt. Nothing was started."
        )
    return address if own else f"{address.rstrip('/')}/{PATH}"


def _installed() -> bool:
    try:
        return all(find_spec(name) is not None for name in PACKAGES)
    except ModuleNotFoundError:
        # Of a package within one that is not there.
        return False
