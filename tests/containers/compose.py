"""What compose.yaml says."""

from __future__ import annotations

import graphlib
import re
from collections.abc import Container
from typing import Any

import yaml

from tests.environment import PROJECT

COMPOSE = PROJECT / "compose.yaml"
SECRETS = "/run/secrets/"


def document() -> dict[str, Any]:
    """Read the file, merges carried out."""
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return found


def services() -> dict[str, dict[str, Any]]:
    """Give the services by name."""
    found: dict[str, dict[str, Any]] = document()["services"]
    return found


def ours() -> dict[str, dict[str, Any]]:
    """Give the services that run the project's own image."""
    return {name: one for name, one in services().items() if one["image"].startswith("loci:")}


def environment(service: dict[str, Any], settings: Container[str] | None = None) -> dict[str, str]:
    """Give the variables that a service sets, where an operator has named some settings; all of them when left out."""

    def chosen(found: re.Match[str]) -> str:
        return found[2] if settings is None or found[1] in settings else ""

    said = service.get("environment", {})
    return {name: re.sub(r"\$\{(\w+):\+([^}]*)\}", chosen, str(value)) for name, value in said.items()}


def order() -> list[str]:
    """Give the services without a profile, each after those that it depends on."""
    found = {name: set(one.get("depends_on", {})) for name, one in services().items() if "profiles" not in one}
    return list(graphlib.TopologicalSorter(found).static_order())
