"""Having Ollama fetch a model: one order for the installation, which workers carry out and every process can see.

The order is a schedule of the queue that comes again each minute until the model is there, so that a killed worker
loses nothing. How far the fetch is stands in what the schedule hands to its task. The server keeps what it has got and
lets all who ask for the same model share one transfer, so going on, or asking twice, does no harm.
"""

from __future__ import annotations

import ast
import logging
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final, Literal

from django.db import connection, transaction
from django_q.models import Schedule

from memory.errors import LociError, OwnerPurging, QueueUnavailable
from memory.ids import new_id
from memory.models import DueWork, PendingVector, owner_scope
from memory.providers.composition import ollama_server
from memory.providers.embedder_choices import ollama_choice
from memory.providers.ollama_server import Progress, checked_name, tagged
from memory.services.clock import now
from memory.services.jobs import FETCH_MODEL, call_worker
from memory.services.writing import call_for_work

logger = logging.getLogger(__name__)

NAME: Final = "fetch of a model"
MOST_TRIES: Final = 3
# A worker lets go after this time, so that other work gets its turn, and goes on behind that.
TURN_SECONDS: Final = 30.0
# Below what the queue allows a task; only the comparison of checksums can take so long.
LONGEST_TURN_SECONDS: Final = 540.0
SECONDS_BETWEEN_NOTES: Final = 1.0
# Who has not noted anything for so long is gone; while checksums are compared the server says nothing.
PATIENCE: Final = timedelta(seconds=60)
PATIENCE_UNHEARD: Final = timedelta(seconds=600)
# What trying again would not change.
FINAL_WORDS: Final = ("does not exist", "not found", "invalid", "newer version", "no space")

State = Literal["waiting", "running", "failed", "done"]
ENDED: Final = ("failed", "done")


@dataclass(frozen=True, slots=True)
class Fetch:
    """An order to fetch a model.

    Attributes:
        model: its name.
        state: `waiting` for a worker or for another try, `running`, `failed` for good, or `done`.
        turn: the turn of a worker that may note how far it is; another one after each claim.
        status: what the server said last.
        completed, total: bytes over all parts; 0 while not known.
        error: why the last try failed.
        tries: how many have failed in a row without getting further.
        noted_at: when this was noted last.
    """

    model: str
    noted_at: datetime
    state: State = "waiting"
    turn: str = ""
    status: str = ""
    completed: int = 0
    total: int = 0
    error: str = ""
    tries: int = 0

    @property
    def progress(self) -> Progress:
        """Give how far it is."""
        return Progress(self.status, self.completed, self.total)


class _Left(Exception):
    """The order was cancelled, replaced, or taken over by another worker."""


def present_fetch() -> Fetch | None:
    """Give the order there is; one statement."""
    row = Schedule.objects.filter(name=NAME).order_by("pk").first()
    return _read(row) if row is not None else None


def ask_for_fetch(*, model: str) -> Fetch:
    """Order a model and call a worker; an order for the same model that is under way stands, another is replaced.

    Raises:
        ProviderMisconfigured: no name of a model.
    """
    name, moment = checked_name(model), now()
    with transaction.atomic():
        row = _locked()
        found = _read(row) if row is not None else None
        if found is not None and tagged(found.model) == tagged(name) and found.state not in ENDED:
            order = found
        else:
            order = Fetch(model=name, noted_at=moment)
            Schedule.objects.filter(name=NAME).delete()
            Schedule.objects.create(
                name=NAME,
                func=FETCH_MODEL,
                schedule_type=Schedule.MINUTES,
                minutes=1,
                repeats=-1,
                next_run=moment + timedelta(minutes=1),
                kwargs=_written(order),
            )
    _call_worker()
    return order


def cancel_fetch() -> bool:
    """Give the order up; the worker that is at it leaves off at its next note. Tells whether there was one."""
    return bool(Schedule.objects.filter(name=NAME).delete()[0])


def go_on() -> int:
    """Carry the order out for one turn; 1 once the model is there, else 0.

    Without an order, or while another worker is at it, nothing is done. No transaction is open while the server works.
    """
    order = _claimed()
    if order is None:
        return 0
    try:
        done = _fetched(order)
    except _Left:
        return 0
    except LociError as error:
        _failed(order, error)
        return 0
    if not done:
        if _noted(order, state="waiting"):
            _call_worker()
        return 0
    if _noted(order, state="done"):
        _call_for_vectors()
    return 1


def _fetched(order: Fetch) -> bool:
    """Follow the server until the model is there, or the turn is over; tell which."""
    with closing(ollama_server(ollama_choice(order.model))) as server:
        if server.has(order.model):
            return True
        began = noted = monotonic()
        reached = order.completed
        with server.pull(order.model, seconds=LONGEST_TURN_SECONDS) as told:
            for progress in told:
                moment = monotonic()
                if moment - noted >= SECONDS_BETWEEN_NOTES or progress.status != order.status:
                    noted = moment
                    # What gets further each time is no failure.
                    tries = 0 if progress.completed > reached else order.tries
                    order = replace(order, **asdict(progress), error="", tries=tries)
                    if not _noted(order):
                        raise _Left
                if progress.loading and moment - began >= TURN_SECONDS:
                    return False
        return True


def _claimed() -> Fetch | None:
    with transaction.atomic():
        row = _locked()
        found = _read(row) if row is not None else None
        if row is None or found is None or found.state in ENDED:
            return None
        patience = PATIENCE if found.progress.loading else PATIENCE_UNHEARD
        if found.state == "running" and now() - found.noted_at < patience:
            return None
        order = replace(found, state="running", turn=str(new_id()), noted_at=now())
        _save(row, order)
        return order


def _noted(order: Fetch, *, state: State = "running") -> bool:
    """Note how far the fetch is; tell whether the turn is still this one."""
    with transaction.atomic():
        row = _locked()
        found = _read(row) if row is not None else None
        if row is None or found is None or found.turn != order.turn:
            return False
        kept = order if state == "running" else found
        _save(row, replace(kept, state=state, noted_at=now()))
        return True


def _failed(order: Fetch, error: LociError) -> None:
    logger.warning("fetching a model failed: %s", error.machine_code)
    with transaction.atomic():
        row = _locked()
        found = _read(row) if row is not None else None
        if row is None or found is None or found.turn != order.turn:
            return
        tries = found.tries + 1
        final = tries >= MOST_TRIES or any(word in error.message.lower() for word in FINAL_WORDS)
        state: State = "failed" if final else "waiting"
        _save(row, replace(found, state=state, error=error.message, tries=tries, noted_at=now()))


def _call_worker() -> None:
    try:
        call_worker(FETCH_MODEL)
    except QueueUnavailable:
        # The order stands, and its schedule calls the workers each minute, from when the queue is back.
        logger.warning("a model is to be fetched while the queue does not answer; it goes on when that is back")


def _call_for_vectors() -> None:
    """Have the vectors made that waited for the model."""
    moment = now()
    for owner_id in DueWork.objects.filter(job=DueWork.VECTORS).values_list("owner_id", flat=True).distinct():
        # One who is being erased needs none, and keeps nobody else from theirs.
        with suppress(OwnerPurging), owner_scope(owner_id):
            PendingVector.objects.filter(next_at__gt=moment).update(next_at=moment)
            call_for_work(DueWork.VECTORS, due_at=moment)


def _locked() -> Schedule | None:
    """Lock the order, and whether there is one: the queue's table has no unique name."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('loci.model_fetch'))")
    return Schedule.objects.select_for_update().filter(name=NAME).order_by("pk").first()


def _save(row: Schedule, order: Fetch) -> None:
    # A schedule without repeats stays and is run no more.
    Schedule.objects.filter(pk=row.pk).update(kwargs=_written(order), repeats=0 if order.state in ENDED else -1)


def _written(order: Fetch) -> str:
    """Write an order as the queue reads arguments: a literal of Python."""
    return repr({"order": {**asdict(order), "noted_at": order.noted_at.isoformat()}})


def _read(row: Schedule) -> Fetch | None:
    """Read an order; None for a row that is none of ours, which is as good as none."""
    try:
        values: dict[str, Any] = ast.literal_eval(row.kwargs or "")["order"]
        return Fetch(**{**values, "noted_at": datetime.fromisoformat(values["noted_at"])})
    except (ValueError, SyntaxError, TypeError, KeyError):
        return None
