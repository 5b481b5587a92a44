"""The action of `manage.py telemetry` about the token of `/metrics`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.management.answers import answer
from telemetry.management.actions import InstallationAction, Options, Write


def tell_token(options: Options, write: Write) -> None:
    """Say where the token of `/metrics` stands; the token itself is not shown."""
    place = token_file()
    kept = str(place) if place else None
    lines = [
        f"The token of /metrics stands in {place}." if place else "The token of /metrics comes from METRICS_TOKEN.",
        "Give a collector that file, or what is in it, as a bearer token.",
    ]
    answer(write, {"file": kept, "from_environment": place is None}, as_json=options["json"], lines=lines)


def token_file() -> Path | None:
    """Give the file that holds the token; None where the environment itself holds it."""
    named = os.environ.get("METRICS_TOKEN_FILE", "").strip()
    if named:
        return Path(named).expanduser().resolve()
    if os.environ.get("METRICS_TOKEN"):
        return None
    return Path(settings.CONFIG_DIRECTORY) / "metrics.token"


ACTIONS: Final[Mapping[str, InstallationAction]] = {
    "metrics-token": InstallationAction("say where the token of /metrics stands", tell_token),
}
