"""Idempotency keys: a write that is sent again under its key is answered again and not done again.

The key is claimed in a transaction of its own before the work, and the answer is kept in another one after it, so that
no model is called inside a transaction. Answers are sealed with the owner's key like every other text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from uuid import UUID

from django.db.models import Q
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.authentication import actor_of
from memory.api.errors import InProgressError
from memory.api.problems import MEDIA_TYPE
from memory.crypto.keyring import keyring
from memory.errors import IdempotencyMismatch, InvalidInput, MemoryErased
from memory.models import IdempotencyRecord, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.remains import ERASED

if TYPE_CHECKING:
    from memory.api.views.base import LociView

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
MAX_KEY_LENGTH: Final = 255
KEPT: Final = timedelta(days=1)
# Longer than any request takes; a claim whose process was killed is free again after that.
LONGEST_REQUEST: Final = timedelta(minutes=10)
PASSWORD: Final = "password"  # noqa: S105 - the name of a field
KEPT_HEADERS: Final = ("Location", "ETag")
# Answers after which the very same request may succeed: later, or with another token.
NOT_KEPT: Final = frozenset({403, 409, 412, 429})

Handler = TypeVar("Handler", bound=Callable[..., Response])


def idempotent(handler: Handler) -> Handler:
    """Make a view's write heed the header `Idempotency-Key`.

    The same key with the same request gives the kept answer, for a day and to the same caller. With another request it
    is 422 `idempotency.mismatch`, and while the first one is running 409 `idempotency.in_progress`. Server errors and
    answers that ask to try again are not kept.
    """

    @wraps(handler)
    def answer(view: LociView, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(view, request, *args, **kwargs)
        actor = actor_of(request)
        record, claimed = _claim(actor, _checked(key), _request_digest(actor, request))
        if not claimed:
            return _again(record)
        try:
            response = handler(view, request, *args, **kwargs)
        except Exception as error:
            response = view.handle_exception(error)
        _settle(actor, record.pk, response, view.kept_answer(response.data))
        return response

    answer.takes_idempotency_key = True  # type: ignore[attr-defined]
    return cast(Handler, answer)


def _checked(key: str) -> str:
    if not (1 <= len(key) <= MAX_KEY_LENGTH and key.isascii() and key.isprintable()):
        raise InvalidInput(
            f"{HEADER} has between 1 and {MAX_KEY_LENGTH} printable ASCII characters.",
            code="idempotency.key",
        )
    return key


def _request_digest(actor: Actor, request: Request) -> bytes:
    data = request.data
    if isinstance(data, dict):
        # No digest of a password is kept, from which it could be guessed.
        data = {name: value for name, value in data.items() if name != PASSWORD}
    parts: list[Any] = [request.method, request.get_full_path(), request.headers.get("If-Match"), data]
    # What was answered to a key that may read is not given again to another key of the agent that may not.
    parts.append(Permission.READ in actor.permissions)
    # Keyed, since whoever steals the database could try guesses of a short text against a plain hash.
    return keyring().of(actor.owner_id).digest(f"request {json.dumps(parts, sort_keys=True)}")


def _claim(actor: Actor, key: str, request_digest: bytes) -> tuple[IdempotencyRecord, bool]:
    moment = now()
    key_digest = keyring().of(actor.owner_id).digest(f"idempotency {key}")
    with owner_scope(actor.owner_id):
        same = IdempotencyRecord.objects.filter(caller=actor.caller_id, key_digest=key_digest)
        same.filter(
            Q(created_at__lte=moment - KEPT) | Q(status=None, created_at__lte=moment - LONGEST_REQUEST)
        ).delete()
        record = IdempotencyRecord(
            owner_id=actor.owner_id,
            caller=actor.caller_id,
            key_digest=key_digest,
            request_digest=request_digest,
            created_at=moment,
        )
        # The unique constraint decides between two requests that come at once.
        IdempotencyRecord.objects.bulk_create([record], ignore_conflicts=True)
        standing = same.first()
    if standing is None:
        raise InProgressError
    if standing.pk == record.pk:
        return record, True
    if bytes(standing.request_digest) != request_digest:
        raise IdempotencyMismatch
    if standing.status is None:
        raise InProgressError
    return standing, False


def _again(record: IdempotencyRecord) -> Response:
    kept: Mapping[str, Any] = record.body
    if kept == ERASED:
        raise MemoryErased
    status = record.status or 200
    return Response(
        kept["body"],
        status=status,
        headers={**kept["headers"], REPLAYED: "true"},
        content_type=MEDIA_TYPE if status >= 400 else None,
    )


def _settle(actor: Actor, record_id: UUID, response: Response, body: Any) -> None:
    with owner_scope(actor.owner_id):
        record = IdempotencyRecord.objects.filter(pk=record_id).first()
        if record is None:
            return
        if response.status_code >= 500 or response.status_code in NOT_KEPT:
            record.delete()
            return
        record.status = response.status_code
        record.body = {
            "body": json.loads(JSONRenderer().render(body) or "null"),
            "headers": {name: response[name] for name in KEPT_HEADERS if name in response},
        }
        record.save(update_fields=["status", "body"])
