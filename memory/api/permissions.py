"""Whether a caller may use an endpoint at all; services check again for themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memory.api.actions import action_of, is_public
from memory.services.actors import Actor

if TYPE_CHECKING:
    from rest_framework.views import APIView


class HasScope(BasePermission):
    """Let authenticated callers in whose key has the permission that the method names, and anyone where it is public.

    The permission is asked before the body is looked at, so that a refused caller learns nothing else.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the caller is known; raises PermissionRefused when the permission is missing."""
        action = action_of(view, request.method)
        if action.public if action else is_public(view):
            return True
        if not isinstance(request.auth, Actor):
            return False
        if action is not None and action.permission is not None:
            request.auth.require(action.permission)
        return True
