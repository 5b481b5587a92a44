"""What comes of a search: hits with their reasons, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.errors import LociError, MemoryDisabled
from memory.models import Status
from memory.palace.covering import coverer
from memory.palace.errors import Problem, problem_of
from memory.palace.places import place_of, written_place
from memory.palace.presenters import Bond, HitView, hit_view, is_linked, listed_view
from memory.palace.recall_histogram import Histogram, histogram
from memory.palace.recall_state import RecallState
from memory.palace.recall_tuning import moved_by, overrides, standing
from memory.recall.gate import Verdict
from memory.recall.profiles import SHIPPED, RecallProfile
from memory.services.actors import Actor
from memory.services.graph.bonds import bonds_of
from memory.services.memories import ListRequest, list_memories
from memory.services.profiles import profile_of
from memory.services.recall import Hit, Recalled, recall
from memory.services.settings import chosen_settings
from memory.services.suggestions import completed, corrected
from memory.text.limits import is_blank

LISTED: Final = 20
ARM_NAMES: Final[Mapping[str, str | Promise]] = {
    "dense": gettext_lazy("meaning"),
    "lexical": gettext_lazy("words"),
    "graph": gettext_lazy("links between memories"),
    "time": gettext_lazy("time"),
}
DEGRADED: Final[Mapping[str, str | Promise]] = {
    "embedder.unavailable": gettext_lazy(
        "Search by meaning is unavailable, so these were found by words only. Nothing is lost."
    ),
    "embedder.unfamiliar": gettext_lazy("The model knows none of these signs, so they were looked for by words only."),
    "reranker.unavailable": gettext_lazy(
        "The model that puts hits in order did not answer, so they stand in the order they had."
    ),
    "expansion.unavailable": gettext_lazy("No further words could be thought of, so only yours were looked for."),
    "budget.exceeded": gettext_lazy(
        "The budget for models is used up, so this was found without them. Nothing is lost."
    ),
}


@dataclass(frozen=True, slots=True)
class Tuned:
    """How a search is set: the profile, what the owner has chosen beside it, and where its sliders stand."""

    profile: RecallProfile
    limit: int | None
    threshold: float | None
    stands: Mapping[str, float]

    @property
    def most(self) -> int:
        """Give how many memories are shown when the address names no number."""
        return self.limit or self.profile.limit


@dataclass(frozen=True, slots=True)
class Results:
    """What stands below the search box.

    `state` is `start` (nothing asked), `empty` (nothing stored yet), `found`, `listed` (by filters, without a
    question), `nothing`, `skip` and `unclear` (the question needs no search) or `problem`. `shown_for` is the other
    question that these results are for, and `meant` one that may have been meant. `recall_id` is that of a search which
    was meant and is kept, so that a person can say whether it has helped. `further` is where a list goes on.
    """

    state: str
    hits: list[HitView] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    problem: Problem | None = None
    profile: str = ""
    considered: int = 0
    shown_for: str = ""
    meant: RecallState | None = None
    recall_id: UUID | None = None
    times: Histogram | None = None
    further: str = ""

    @property
    def announcement(self) -> str:
        """Say in a few words what came out, for the live region."""
        count = len(self.hits)
        if self.state == "found":
            return ngettext("%(count)s memory found", "%(count)s memories found", count) % {"count": count}
        if self.state == "listed":
            return ngettext("%(count)s memory listed", "%(count)s memories listed", count) % {"count": count}
        return {
            "nothing": _("Nothing found"),
            "empty": _("I remember nothing yet"),
            "problem": _("The search did not work"),
        }.get(self.state, "")


def tuned_by(actor: Actor, state: RecallState) -> Tuned:
    """Give how a search is set: by the profile that it names, or by what the owner has chosen in the settings.

    Raises:
        NotFound: `profile.unknown`.
    """
    chosen = {} if state.profile else chosen_settings(actor=actor)
    profile = profile_of(actor=actor, name=state.profile or str(chosen.get("recall_profile", "default")))
    threshold = chosen.get("recall_threshold")
    return Tuned(profile, chosen.get("recall_limit"), threshold, standing(profile, threshold))


def untuned() -> Tuned:
    """Give how a search is set where the profile that its address names is none."""
    profile = SHIPPED["default"]
    return Tuned(profile, None, None, standing(profile))


def results_of(
    actor: Actor, state: RecallState, tuned: Tuned, *, at: datetime, counts: bool, typing: bool, after: str = ""
) -> Results:
    """Search for what an address says, list what its filters let through, or say what to do first.

    Args:
        actor: who asks.
        state: the search.
        tuned: how it is set.
        at: the present.
        counts: whether the search was meant, and not made while typing.
        typing: whether half a word may be completed.
        after: where a list goes on.
    """
    try:
        if not is_blank(state.q):
            results = _Search(actor, state, tuned, at, counts).run(typing=typing)
        elif state.narrowed:
            results = _listed(actor, state, at, after)
        else:
            results = Results("start")
        if results.state in ("start", "nothing") and not _is_anything_stored(actor):
            return replace(results, state="empty")
        return results
    except MemoryDisabled:
        raise
    except LociError as error:
        return Results("problem", problem=problem_of(error))


def _is_anything_stored(actor: Actor) -> bool:
    anything = ListRequest(statuses=(Status.LIVE, Status.SUPERSEDED, Status.ARCHIVED))
    return bool(list_memories(actor=actor, request=anything, after=None, size=1))


def _listed(actor: Actor, state: RecallState, at: datetime, after: str) -> Results:
    """List what the filters let through, newest first, where nothing is asked."""
    most = state.most or LISTED
    request = ListRequest(**state.narrowing(at))
    rows = list_memories(actor=actor, request=request, after=place_of(after), size=most + 1)
    shown = rows[:most]
    return Results(
        "listed" if shown else "nothing",
        hits=[listed_view(row, place, at) for place, row in enumerate(shown, start=1)],
        times=histogram([row.occurred_at for row in shown]),
        further=written_place(shown[-1].created_at, shown[-1].pk) if len(rows) > most else "",
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """One search with all that decides it."""

    actor: Actor
    state: RecallState
    tuned: Tuned
    at: datetime
    counts: bool

    def run(self, *, typing: bool) -> Results:
        """Search for what was typed, for its completion while it is half a word, or for its correction."""
        whole = completed(actor=self.actor, typed=self.state.q) if typing else None
        answer = self._ask(replace(self.state, q=whole) if whole else self.state)
        if answer.gate != Verdict.RECALL:
            return Results(str(answer.gate))
        other = None if whole else corrected(actor=self.actor, query=self.state.q)
        meant = replace(self.state, q=other) if other else None
        # Something of like meaning is nearly always found, so what counts is whether any word of the question was.
        if meant and not any(hit.matched for hit in answer.hits):
            again = self._ask(meant)
            if again.gate == Verdict.RECALL and again.hits:
                return self._shown(again, question=meant.q, shown_for=meant.q)
        return replace(self._shown(answer, question=whole or self.state.q, shown_for=whole or ""), meant=meant)

    def _ask(self, state: RecallState) -> Recalled:
        moved = moved_by(self.tuned.stands, state.sliders)
        changes = overrides(self.tuned.profile, moved)
        if self.tuned.threshold is not None:
            changes.setdefault("threshold", self.tuned.threshold)
        request = state.request(
            counts=self.counts,
            at=self.at,
            overrides=changes,
            # What the sliders say is said of this profile, so no experiment may choose another one.
            profile=self.tuned.profile.name if moved else "",
            limit=self.tuned.limit,
        )
        return recall(actor=self.actor, request=request)

    def _shown(self, answer: Recalled, *, question: str, shown_for: str) -> Results:
        bonds = _bonds(self.actor, answer.hits, question)
        hits = [
            hit_view(hit, place, self.at, bond=bonds.get(hit.memory.pk))
            for place, hit in enumerate(answer.hits, start=1)
        ]
        return Results(
            "found" if hits else "nothing",
            hits=hits,
            notices=_notices(answer),
            profile=answer.profile,
            considered=answer.considered,
            shown_for=shown_for,
            recall_id=answer.recall_id if self.counts and settings.TELEMETRY_ENABLED else None,
            times=histogram([hit.memory.occurred_at for hit in answer.hits]),
        )


def _bonds(actor: Actor, hits: list[Hit], question: str) -> dict[UUID, Bond]:
    """Name what links the hits of the graph with the question, with personal data covered."""
    places = {hit.memory.pk: place for place, hit in enumerate(hits, start=1)}
    linked = [hit.memory.pk for hit in hits if is_linked(hit)]
    shared = bonds_of(actor=actor, found=list(places), linked=linked, question=question)
    bonds: dict[UUID, Bond] = {}
    for hit in hits:
        one = shared.get(hit.memory.pk)
        if one is not None and one.memory_id is not None:
            bonds[hit.memory.pk] = Bond(place=places[one.memory_id], memory_id=one.memory_id)
        elif one is not None:
            bonds[hit.memory.pk] = Bond(name=coverer(hit.memory)(one.entity))
    return bonds


def _notices(answer: Recalled) -> list[str]:
    notices = []
    for code in answer.degraded:
        kind, _colon, arm = code.partition(":")
        if kind in DEGRADED:
            notices.append(str(DEGRADED[kind]))
        elif kind in {"arm.failed", "arm.timeout", "arm.skipped"}:
            said: Any = ARM_NAMES.get(arm, arm)
            notices.append(
                _("Search by %(name)s did not answer in time and was left out. Try again in a moment.") % {"name": said}
            )
    if answer.fallback:
        notices.append(_("No word of yours matched, so I looked for its letters in the newest 2,000 memories."))
    return notices
