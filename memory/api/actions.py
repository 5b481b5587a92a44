"""What each method of an endpoint needs and gives, in one table: routing, checks and the schema read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rest_framework.serializers import BaseSerializer

from memory.services.actors import Permission

if TYPE_CHECKING:
    from rest_framework.views import APIView

Rate = Literal["read", "write", "recall"]

MIB: Final = 1024 * 1024
RECEIPT_HEADER: Final = "X-Purge-Token"
LONGEST_PURGE_TOKEN: Final = 128
CAPABILITY_HEADER: Final = "X-Loci-Capability"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One method of one endpoint.

    Attributes:
        id: the operation's name in the schema.
        answers: the body of each success status, a serializer or, where there are several, their union; None for no
            body.
        permission: what a key needs; None when every authenticated caller may.
        body: the serializer of the request's body, None when none is read.
        query: the serializer of the query parameters; without one, every parameter is refused.
        rate: which limit requests count against.
        problems: error statuses beyond those that every endpoint has.
        most_bytes: how large the request's body may be.
        versioned: whether If-Match is heeded and ETag is given.
        locates: whether the answer carries a Location.
        capability: whether a token for the bus may come with the request.
        purge_token: whether the token of a purge may come with the request.
        public: whether no authentication is asked for.
    """

    id: str
    answers: Mapping[int, type[BaseSerializer[Any]] | BaseSerializer[Any] | None]
    permission: Permission | None = None
    body: type[BaseSerializer[Any]] | None = None
    query: type[BaseSerializer[Any]] | None = None
    rate: Rate = "read"
    problems: tuple[int, ...] = ()
    most_bytes: int = MIB
    versioned: bool = False
    locates: bool = False
    capability: bool = False
    purge_token: bool = False
    public: bool = False


def action_of(view: APIView, method: str | None) -> Action | None:
    """Give what a view's method needs; None for methods that the view does not have."""
    actions: Mapping[str, Action] = getattr(view, "actions", {})
    return actions.get("GET" if method == "HEAD" else method or "")


def is_public(view: APIView) -> bool:
    """Tell whether every method that a view has is public, so that the others are refused for what they are."""
    actions: Mapping[str, Action] = getattr(view, "actions", {})
    return bool(actions) and all(action.public for action in actions.values())
