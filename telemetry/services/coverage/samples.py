"""The texts that a report shows: a few requests of each cluster that is shown, with personal data covered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from django.utils.translation import gettext_noop

from memory.privacy.masking import masked
from memory.privacy.pii import PiiTier
from memory.services.legible import legible
from telemetry.coverage.turns import Numbers, Turns
from telemetry.models import TurnEvent
from telemetry.services.coverage.analysis import Analysis
from telemetry.services.coverage.rows import uuid_of

SAMPLES: Final = 5
SAMPLE_LENGTH: Final = 200
LABEL_LENGTH: Final = 60
UNREADABLE: Final = gettext_noop("Requests that cannot be read")
OF_SPOKE: Final = gettext_noop("Requests handed to %(spoke)s")


@dataclass(frozen=True, slots=True)
class Texts:
    """What is shown of a cluster.

    Attributes:
        label: the request that came most often, shortened; for turns that are together for their spoke alone, that.
        sample_request: one of the longest requests.
        sample_requests: the newest different requests, at most five, each at most 200 characters.
    """

    label: str
    sample_request: str
    sample_requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The turns whose requests are opened for a cluster."""

    label: UUID
    newest: tuple[UUID, ...]
    longest: tuple[UUID, ...]


def texts_of(analysis: Analysis, clusters: Iterable[int]) -> dict[int, Texts]:
    """Open and cover the requests that are shown of clusters, in one statement; what does not open is left out."""
    chosen = {one: _choose(analysis.turns, analysis.groups.members(one)) for one in sorted(set(clusters))}
    ids = {event_id for one in chosen.values() for event_id in (one.label, *one.newest, *one.longest)}
    opened = _opened(ids)
    return {cluster: _texts(analysis, cluster, one, opened) for cluster, one in chosen.items()}


def _choose(turns: Turns, members: Numbers) -> _Chosen:
    _, first, counts = np.unique(turns.requests[members], return_index=True, return_counts=True)
    most_often = members[first[np.lexsort((first, -counts))[0]]]
    different = members[np.sort(first)]
    # Sealed texts tell their length to within some characters only, so the few longest are opened.
    longest = different[np.argsort(-turns.sizes[different], kind="stable")[:SAMPLES]]
    return _Chosen(
        uuid_of(turns.ids[most_often]),
        tuple(uuid_of(turns.ids[one]) for one in different[:SAMPLES]),
        tuple(uuid_of(turns.ids[one]) for one in longest),
    )


def _opened(ids: set[UUID]) -> dict[UUID, str]:
    rows = TurnEvent.objects.filter(pk__in=sorted(ids)).only("id", "owner_id", "request", "pii_kinds")
    opened = {}
    for row in rows:
        text = legible(row, "request")
        if text is not None:
            tier = PiiTier.SENSITIVE if row.pii_kinds else PiiTier.CLEAR
            opened[row.pk] = masked(text, row.pii_kinds, tier).text
    return opened


def _texts(analysis: Analysis, cluster: int, chosen: _Chosen, opened: dict[UUID, str]) -> Texts:
    # Covered texts are cut, so that no cut leaves half of what is to be covered.
    newest = [opened[one][:SAMPLE_LENGTH] for one in chosen.newest if one in opened]
    longest = max((opened[one] for one in chosen.longest if one in opened), key=len, default="")
    if analysis.groups.by_vector[cluster]:
        label = _shortened(opened.get(chosen.label) or next(iter(newest), UNREADABLE))
    else:
        label = OF_SPOKE % {"spoke": analysis.turns.spoke_names[int(analysis.groups.anchors[cluster])].name}
    return Texts(label, longest, tuple(newest))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LABEL_LENGTH else f"{line[: LABEL_LENGTH - 1].rstrip()}…"
