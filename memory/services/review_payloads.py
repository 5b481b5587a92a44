"""What a review item would do once it is approved: the identity of a doubt, and what a person may change of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from memory.crypto.keyring import OwnerRing
from memory.errors import InvalidInput, TooLarge
from memory.graph.labels import snake_case
from memory.graph.names import canonical
from memory.models import ReviewKind

MAX_PAYLOAD_BYTES: Final = 64 * 1024

Payload = Mapping[str, Any]

EDITABLE: Final[Mapping[str, frozenset[str]]] = {
    ReviewKind.FACT: frozenset(
        {
            "text", "kind", "category", "importance", "confidence", "topics",
            "occurred_at", "valid_from", "valid_until",
        }
    ),
    ReviewKind.ENTITY: frozenset({"name", "type", "aliases", "properties", "importance"}),
    ReviewKind.RELATION: frozenset(
        {"source", "label", "target", "weight", "valid_from", "valid_until", "ended", "evidence"}
    ),
    ReviewKind.EVENT: frozenset({"text", "occurred_at", "participants"}),
    ReviewKind.CAUSE: frozenset({"cause", "effect", "cause_entity", "effect_entity"}),
    ReviewKind.MERGE: frozenset(),
    ReviewKind.CONTRADICTION: frozenset(),
    ReviewKind.DISPUTE: frozenset(),
}  # fmt: skip
"""What "edit and approve" may change; which rows a merge or a contradiction is about stays as it is."""


def checked_payload(payload: Any) -> dict[str, Any]:
    """Check that a payload is plain JSON of a bounded size, and give a copy of it.

    Raises:
        InvalidInput: no object, or not plain JSON.
        TooLarge: more than 64 KiB.
    """
    if not isinstance(payload, Mapping):
        raise InvalidInput("payload is an object.", code="field.type", field="payload")
    try:
        written = json.dumps(dict(payload), ensure_ascii=False, allow_nan=False)
        size = len(written.encode())
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "A payload is plain JSON without half characters or infinite numbers.",
            code="payload.invalid",
            field="payload",
        ) from error
    if size > MAX_PAYLOAD_BYTES:
        raise TooLarge(f"A payload may have {MAX_PAYLOAD_BYTES} bytes.", code="payload.too_large", field="payload")
    copy: dict[str, Any] = json.loads(written)
    return copy


def edited(kind: str, payload: Payload, changes: Payload) -> dict[str, Any]:
    """Give a payload with a person's changes; their values are checked when it is carried out.

    Raises:
        InvalidInput: `field.unknown`, a field that this kind does not have or that cannot be changed.
        TooLarge: the result has more than 64 KiB.
    """
    refused = sorted(set(changes) - EDITABLE[kind])
    if refused:
        raise InvalidInput(
            f"These fields cannot be changed: {', '.join(name[:40] for name in refused[:5])}.",
            code="field.unknown",
            field="changes",
        )
    whole = {**payload, **changes}
    if kind == ReviewKind.FACT and "text" in changes:
        # What the extractor read out of the former words may not be what the new ones say.
        whole["claim"] = None
    return checked_payload(whole)


def payload_hash(ring: OwnerRing, kind: str, payload: Payload) -> bytes:
    """Hash what a doubt is about, so that the same doubt is known again whatever else came with it."""
    identity = json.dumps(_IDENTITIES[kind](payload), ensure_ascii=False, sort_keys=True, default=str)
    return ring.digest(f"review {kind}\0{identity}")


def _text(value: Any) -> str:
    return " ".join(str(value or "").split()).casefold()


def _name(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [canonical(str(value.get("name", ""))), value.get("type")]
    return canonical(str(value or ""))


_IDENTITIES: Final[Mapping[str, Callable[[Payload], Any]]] = {
    ReviewKind.FACT: lambda payload: [_text(payload.get("text"))],
    ReviewKind.ENTITY: lambda payload: [_name(payload.get("name")), payload.get("type")],
    ReviewKind.RELATION: lambda payload: [
        _name(payload.get("source")),
        snake_case(str(payload.get("label") or "")),
        _name(payload.get("target")),
        bool(payload.get("ended")),
    ],
    ReviewKind.EVENT: lambda payload: [_text(payload.get("text")), payload.get("occurred_at")],
    ReviewKind.CAUSE: lambda payload: [_text(payload.get("cause")), _text(payload.get("effect"))],
    ReviewKind.MERGE: lambda payload: sorted(str(payload.get(end)) for end in ("first", "second")),
    ReviewKind.CONTRADICTION: lambda payload: [str(payload.get(end)) for end in ("older", "newer")],
    ReviewKind.DISPUTE: lambda payload: [str(payload.get("memory")), _text(payload.get("words"))],
}
