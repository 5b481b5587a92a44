"""Turns as agents tell of them, checked before anything is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf import settings

from memory.errors import InvalidInput, TooLarge
from memory.text.limits import EARLIEST, checked_moment, checked_text
from telemetry.models import Outcome
from telemetry.services.turns.spoke_names import DIRECT, one_form

MOST_REQUEST: Final = 500
MOST_ID: Final = 128
MOST_NAME: Final = 64
MOST_DELEGATIONS: Final = 32
MOST_EXTRA: Final = 4 * 1024
"""Bytes of `extra` as JSON."""
MOST_COUNT: Final = 2_000_000_000
MOST_MILLISECONDS: Final = 365 * 24 * 3600 * 1000
TOLERANCE: Final = timedelta(minutes=5)
"""How far another machine's clock may go ahead; an event from within counts as of now."""
LEAST_SECONDS: Final = int(EARLIEST.timestamp())
MOST_SECONDS: Final = 100_000_000_000
"""Since 1970: the year 5138; milliseconds of today lie beyond."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

CUT: Final = {
    "code": "request.cut",
    "message": f"The request was longer than {MOST_REQUEST} characters; the first {MOST_REQUEST} were kept.",
}
AHEAD: Final = {
    "code": "timestamp.ahead",
    "message": "The timestamp lies up to five minutes ahead of this machine's clock; it counts as now.",
}
IGNORED_USER: Final = {
    "code": "user_id.ignored",
    "message": "user_id is not kept: an event belongs to the owner of the key that sends it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """One turn of an agent as it came in; nothing of it is trusted.

    Attributes:
        request: what the agent was asked; the first 500 characters are kept.
        id: the sender's own id of the event, 1 to 128 characters. The same id of the same agent is one event, however
            often it is sent. Without one, each is an event of its own.
        timestamp: when the turn began: seconds since 1970, ISO 8601 text, or a datetime; now when left out.
        matched_spoke: the part of the agent that the request was handed to, `direct` when none.
        delegations: the parts that had a share in it, at most 32.
        outcome, outcome_status: `completed`, `failed` or `timeout`, under either name; `completed` when left out.
        tool_call_count: how many tools were called.
        duration_ms: how long it took, in milliseconds.
        extra: a JSON object of at most 4 KiB.
        user_id: is passed over; the owner is the key's.
    """

    request: object
    id: object = None
    timestamp: object = None
    matched_spoke: object = None
    delegations: object = ()
    outcome: object = None
    outcome_status: object = None
    tool_call_count: object = 0
    duration_ms: object = 0
    extra: object = None
    user_id: object = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A checked turn.

    `details` is the JSON of delegations, extra and id, made when it came, so that nothing changes it later. `notes` say
    what was not taken as it came.
    """

    id: str | None
    occurred_at: datetime
    request: str
    spoke: str
    details: str
    outcome: str
    tool_call_count: int
    duration_ms: int
    notes: tuple[Mapping[str, str], ...]


def checked_turn(draft: TurnDraft, *, at: datetime) -> Turn:
    """Check a turn.

    Args:
        draft: as it came.
        at: the moment that counts as now.

    Raises:
        InvalidInput: `field.type`; of the request and of names the codes of `checked_text`; `id.invalid`,
            `timestamp.invalid`, `date.invalid`, `timestamp.future` (more than five minutes ahead), `timestamp.outdated`
            (older than what is kept), `spoke.too_long`, `delegations.too_many`, `outcome.invalid`,
            `tool_call_count.out_of_range`, `duration_ms.out_of_range`, `extra.invalid`.
        TooLarge: `extra.too_large`.
    """
    event_id = None if draft.id is None else _id(draft.id)
    request, cut = _request(draft.request)
    occurred_at, ahead = _occurred_at(draft.timestamp, at)
    notes = [note for note, given in ((CUT, cut), (AHEAD, ahead), (IGNORED_USER, draft.user_id is not None)) if given]
    return Turn(
        id=event_id,
        occurred_at=occurred_at,
        request=request,
        spoke=_spoke(draft.matched_spoke),
        details=_details(draft, event_id),
        outcome=_outcome(draft),
        tool_call_count=_tool_call_count(draft.tool_call_count),
        duration_ms=_duration(draft.duration_ms),
        notes=tuple(notes),
    )


def _request(value: object) -> tuple[str, bool]:
    cut = isinstance(value, str) and len(value) > MOST_REQUEST
    return checked_text(value[:MOST_REQUEST] if isinstance(value, str) else value, field="request"), cut


def _id(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MOST_ID:
        raise InvalidInput(f"'id' is a string of 1 to {MOST_ID} characters.", code="id.invalid", field="id")
    if "\x00" in value:
        raise InvalidInput("'id' holds a NUL character.", code="text.nul", field="id")
    if not value.isascii() and _SURROGATE.search(value):
        raise InvalidInput("'id' holds half of a surrogate pair.", code="text.surrogate", field="id")
    if not value.isprintable():
        raise InvalidInput(
            "'id' holds a control character, or another that does not print.", code="text.control", field="id"
        )
    return value


def _occurred_at(value: object, at: datetime) -> tuple[datetime, bool]:
    if value is None:
        return at, False
    moment = _moment(value)
    if moment > at + TOLERANCE:
        raise InvalidInput(
            "'timestamp' lies more than five minutes in the future. Set the clock of the machine that sends it.",
            code="timestamp.future",
            field="timestamp",
        )
    days: int = settings.TELEMETRY_RETENTION_DAYS
    if moment < at - timedelta(days=days):
        raise InvalidInput(
            f"'timestamp' is older than the {days} days for which events are kept.",
            code="timestamp.outdated",
            field="timestamp",
            limit=days,
        )
    return min(moment, at), moment > at


def _moment(value: object) -> datetime:
    if isinstance(value, str | datetime):
        return checked_moment(value, field="timestamp")
    # No number that is none, endless, too small or too large passes this.
    if isinstance(value, int | float) and not isinstance(value, bool) and LEAST_SECONDS <= value < MOST_SECONDS:
        return datetime.fromtimestamp(value, UTC)
    raise InvalidInput(
        "'timestamp' is seconds since 1970 or ISO 8601, for example 1743638400.0 or 2026-01-02T15:04:05Z.",
        code="timestamp.invalid",
        field="timestamp",
    )


def _spoke(value: object) -> str:
    if value is None or value == "":
        return DIRECT
    return _name(value, "matched_spoke")


def _name(value: object, field: str) -> str:
    if isinstance(value, str) and len(value) > MOST_NAME:
        raise _too_long(field)
    # Some single characters stand for whole words.
    name = one_form(checked_text(value, field=field))
    if len(name) > MOST_NAME:
        raise _too_long(field)
    return checked_text(name, field=field)


def _too_long(field: str) -> InvalidInput:
    return InvalidInput(
        f"A name in '{field}' has at most {MOST_NAME} characters.", code="spoke.too_long", field=field, limit=MOST_NAME
    )


def _details(draft: TurnDraft, event_id: str | None) -> str:
    given = draft.delegations
    if not isinstance(given, list | tuple):
        raise InvalidInput("'delegations' is a list of names.", code="field.type", field="delegations")
    if len(given) > MOST_DELEGATIONS:
        raise InvalidInput(
            f"'delegations' has at most {MOST_DELEGATIONS} names.",
            code="delegations.too_many",
            field="delegations",
            limit=MOST_DELEGATIONS,
        )
    delegations = [_name(name, "delegations") for name in given]
    return f'{{"delegations":{_json(delegations)},"extra":{_extra(draft.extra)},"id":{_json(event_id)}}}'


def _extra(value: object) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, Mapping):
        raise InvalidInput("'extra' is a JSON object.", code="field.type", field="extra")
    try:
        written = _json(dict(value))
        size = len(written.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("'extra' holds something that is no JSON.", code="extra.invalid", field="extra") from error
    if size > MOST_EXTRA:
        raise TooLarge(
            f"'extra' has {size} bytes as JSON; {MOST_EXTRA} are the limit.",
            code="extra.too_large",
            field="extra",
            limit=MOST_EXTRA,
            size=size,
        )
    if "\\u0000" in written and any("\x00" in text for text in _texts(json.loads(written))):
        raise InvalidInput("'extra' holds a NUL character.", code="text.nul", field="extra")
    return written


def _texts(value: Any) -> Iterator[str]:
    """Go through the names and texts of a JSON value, however deep it is."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)


def _outcome(draft: TurnDraft) -> str:
    given = {str(one): one for one in (draft.outcome, draft.outcome_status) if one is not None}
    if len(given) > 1:
        raise InvalidInput(
            "'outcome' and 'outcome_status' are two names of one thing. Send one.",
            code="outcome.invalid",
            field="outcome_status",
        )
    if not given:
        return Outcome.COMPLETED.value
    word, value = given.popitem()
    if isinstance(value, str) and word in Outcome.values:
        return word
    raise InvalidInput(
        f"'outcome' is one of {', '.join(Outcome.values)}.",
        code="outcome.invalid",
        field="outcome",
        known=list(Outcome.values),
    )


def _tool_call_count(value: object) -> int:
    number = _whole(value, "tool_call_count")
    if not 0 <= number <= MOST_COUNT:
        raise InvalidInput(
            f"'tool_call_count' lies between 0 and {MOST_COUNT}.",
            code="tool_call_count.out_of_range",
            field="tool_call_count",
            limit=MOST_COUNT,
        )
    return number


def _duration(value: object) -> int:
    number = _whole(value, "duration_ms")
    if not 0 <= number <= MOST_MILLISECONDS:
        raise InvalidInput(
            f"'duration_ms' lies between 0 and {MOST_MILLISECONDS}, a year.",
            code="duration_ms.out_of_range",
            field="duration_ms",
            limit=MOST_MILLISECONDS,
        )
    return number


def _whole(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"'{field}' is a whole number.", code="field.type", field=field)
    return value
