"""The settings and profiles of an archive, taken over where that is asked for."""

from __future__ import annotations

from typing import Any

from memory.errors import LociError
from memory.services.actors import Actor
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.reading import Archive
from memory.services.profiles import EXPERIMENT, change_profile
from memory.services.settings import change_settings


def take_settings(actor: Actor, archive: Archive, result: ArchiveImported) -> None:
    """Take over what was chosen: each setting by itself, and of each profile the newest changes.

    What this version does not know, or does not take, is reported; the others are taken.
    """
    taken = 0
    for index, line in enumerate(archive.lines("settings")):
        values = line.get("values")
        for name, value in values.items() if isinstance(values, dict) else ():
            if name == EXPERIMENT:
                # Which profiles were compared there says nothing about what is chosen here.
                continue
            try:
                change_settings(actor=actor, changes={name: value})
                taken += 1
            except LociError as error:
                result.refuse("settings", index, error)
    for name, (index, values) in _newest(archive).items():
        try:
            change_profile(actor=actor, name=name, changes=values)
            taken += 1
        except LociError as error:
            result.refuse("profile_overrides", index, error)
    result.settings = taken


def _newest(archive: Archive) -> dict[str, tuple[int, dict[str, Any]]]:
    """Give the newest changes of each profile that has any."""
    found: dict[str, tuple[int, int, dict[str, Any]]] = {}
    for index, line in enumerate(archive.lines("profile_overrides")):
        name, version, values = line.get("profile"), line.get("version"), line.get("values")
        if isinstance(name, str) and isinstance(version, int) and isinstance(values, dict):
            former = found.get(name)
            if former is None or former[0] < version:
                found[name] = version, index, values
    return {name: (index, values) for name, (_, index, values) in found.items() if values}
