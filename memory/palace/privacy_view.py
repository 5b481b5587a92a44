"""What the pages of privacy show: sorts of rows, readers, acts and purges in words for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.models import Agent, Purge, PurgeState, PurgeSubject
from memory.palace.dates import Moment, moment, optional_moment
from memory.palace.numbers import whole
from memory.palace.presenters import label, object_word, reason_words
from memory.palace.sentences import said
from memory.services.audit.access_log import Entry, Reader
from memory.services.legible import UNREADABLE, legible
from memory.services.purge.held import Held, held_up, own_error, waits_only_elsewhere
from memory.services.purge.lease import OPEN

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Names of a purge's targets, gathered into what a person knows; the rest is counted as "other records".
SORTS: Final[Sequence[tuple[StrOrPromise, tuple[str, ...]]]] = (
    (lazy("Memories, with turns of conversations"), ("memories", "drawn")),
    (lazy("Earlier versions of memories"), ("memory_versions",)),
    (lazy("Sources"), ("memory_sources", "sources")),
    (
        lazy("Entries by which memories are found"),
        (
            "vectors",
            "token_vectors",
            "postings",
            "memory_labels",
            "mentioned_times",
            "pending_vectors",
            "posting_counts",
        ),
    ),
    (lazy("Who read and used what"), ("memory_reads", "memory_uses", "reads")),
    (lazy("Conversations"), ("sessions",)),
    (
        lazy("People and things in the graph, with relations and events"),
        (
            "entities",
            "entity_names",
            "entity_mentions",
            "entity_merges",
            "entities_apart",
            "relations",
            "temporal_events",
            "event_participants",
            "causal_links",
            "graph_evidence",
            "memory_edges",
            "memory_claims",
            "communities",
        ),
    ),
    (lazy("Skills and reflections"), ("skills", "skill_dependencies", "reflections")),
    (lazy("Doubts that waited for a decision"), ("review_items", "review_evidence")),
    (lazy("Agents, their groups and keys"), ("agents", "agent_groups", "group_memberships", "agent_keys", "keys")),
    (lazy("Messages between agents"), ("bus_messages", "messages")),
    (lazy("Questions and answers kept for a while"), ("recall_records", "idempotency_answers")),
    (lazy("What was sent to providers (digests only)"), ("outbound_requests",)),
    (lazy("Settings"), ("owner_settings", "agent_settings", "profile_overrides", "owner_activity", "saved_searches")),
    (lazy("Files of agents"), ("files", "file_versions")),
)
OTHER: Final = lazy("Other records of the work on them")


NO_NAME: Final = lazy("an agent that is gone, or whose name cannot be read")

ACTORS: Final = {
    "person": lazy("you"),
    "system": lazy("Loci itself"),
    "operator": lazy("whoever runs this server"),
    "staff": lazy("staff of this server"),
}


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One line of the access log; `memory` where it is about one memory."""

    at: Moment
    who: str
    what: str
    count: str
    why: str
    memory: UUID | None


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """One who has read a memory, how often, and when last."""

    name: str
    reads: int
    last: Moment


@dataclass(frozen=True, slots=True)
class Sort:
    """One line of a count: what it is and how many there are, as the language of the page writes it."""

    name: str
    count: str


@dataclass(frozen=True, slots=True)
class PurgeView:
    """A purge as its page shows it."""

    id: str
    subject: str
    state: str
    sentence: str
    held: list[str]
    stage: str
    requested: Moment
    finished: Moment | None
    erased: list[Sort]
    done: int
    total: int
    done_words: str
    total_words: str
    open: bool
    stays: Sequence[Mapping[str, str]]
    looked: bool


SUBJECTS: Final = {
    "owner": lazy("everything"),
    "agent": lazy("everything of one agent"),
    "source": lazy("everything from one source"),
    "memory": lazy("single memories"),
}
SENTENCES: Final = {
    PurgeState.WAITING: lazy("It begins as soon as a worker is free. You can close this page; it goes on by itself."),
    PurgeState.RUNNING: lazy("It is under way. You can close this page; it goes on by itself."),
    PurgeState.DONE: lazy("It is done. What was erased cannot be brought back."),
    PurgeState.FAILED: lazy("It could not be finished and needs whoever runs this server."),
}


def named(agent: Agent) -> str:
    """Give the name of an agent, or that it cannot be read, so that one that is damaged can still be erased."""
    return legible(agent, "name") or _(UNREADABLE)


def sorts(counts: Mapping[str, int]) -> list[Sort]:
    """Gather counts by target into lines for people, leaving out what there is none of."""
    found = [(name, sum(counts.get(part, 0) for part in parts)) for name, parts in SORTS]
    known = {part for _name, parts in SORTS for part in parts}
    found.append((OTHER, sum(count for name, count in counts.items() if name not in known)))
    return [Sort(str(name), whole(count)) for name, count in found if count]


def readers_row(reader: Reader, now: datetime) -> ReaderRow:
    """Describe one who has read a memory."""
    who: StrOrPromise = reader.name or NO_NAME
    if reader.agent_id is None:
        who = ACTORS["person"]
    elif reader.staff:
        who = ACTORS["staff"]
    name = str(who)
    return ReaderRow(name, reader.reads, moment(reader.last_at, now))


def access_row(entry: Entry, now: datetime) -> AccessRow:
    """Describe an event of the audit."""
    event = entry.event
    kind = object_word(event.object_kind)
    who = entry.agent_name or str(NO_NAME if entry.agent_id else ACTORS.get(event.actor.partition(":")[0], event.actor))
    return AccessRow(
        at=moment(event.created_at, now),
        who=who,
        what=f"{label(event.verb)}: {kind}" if kind else label(event.verb),
        count=whole(event.count),
        why=reason_words(event.reason),
        memory=event.object_id if event.object_kind == "memory" and event.count == 1 else None,
    )


def stays_said(stays: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Say what a purge leaves in the language of the page; the receipt itself is English."""
    return [{name: said(sentence) for name, sentence in one.items()} for one in stays]


def held_words(held: Held) -> str:
    """Say in a sentence or two what a store elsewhere holds up, and who or what ends that."""
    values = {"store": held.name, "code": held.code}
    if held.needs_operator:
        sentence = _(
            "What was copied to %(store)s stands where this server does not look any more (%(code)s). Whoever runs "
            "this server has to say where it is, or that it is gone."
        )
    else:
        sentence = _("%(store)s cannot be looked at now (%(code)s). What stands there is erased by itself later.")
    return sentence % values


def _sentence(purge: Purge) -> str:
    if waits_only_elsewhere(purge):
        if purge.subject == PurgeSubject.OWNER:
            return _("Everything here is erased, and the keys are destroyed. It is not done yet:")
        return _("What was to go is erased here. It is not done yet:")
    if purge.state == PurgeState.WAITING and (failed := own_error(purge)):
        return _("It was interrupted (%(code)s) and goes on by itself in a while.") % {"code": failed}
    return str(SENTENCES[PurgeState(purge.state)])


def purge_view(purge: Purge, now: datetime) -> PurgeView:
    """Describe a purge and, when it is done, its receipt."""
    receipt: Mapping[str, Any] = purge.receipt or {}
    erased = receipt.get("erased", purge.erased)
    done = sum(erased.values())
    total = max(sum(purge.expected.values()), done, 1)
    return PurgeView(
        id=str(purge.pk),
        subject=str(SUBJECTS[purge.subject]),
        state=purge.state,
        sentence=_sentence(purge),
        held=[held_words(one) for one in held_up(purge)],
        stage=purge.stage.replace("_", " "),
        requested=moment(purge.requested_at, now),
        finished=optional_moment(purge.finished_at, now),
        erased=sorts(erased),
        done=done,
        total=total,
        done_words=whole(done),
        total_words=whole(total),
        open=purge.state in OPEN,
        stays=stays_said(receipt.get("stays", ())),
        looked=bool(receipt) and not receipt["verification"]["left"],
    )
