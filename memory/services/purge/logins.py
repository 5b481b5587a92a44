"""The doors: the login that is joined to an owner, what is recorded of it, and the sessions of its browsers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from axes.models import AccessAttempt, AccessAttemptExpiration, AccessFailureLog, AccessLog
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db.models import Model, Q, QuerySet

from memory.models import Owner, User
from memory.services.purge.registry import Subject, Traces

CHUNK: Final = 500


class BrowserSessionsTarget:
    """Sessions of browsers that were logged in as the owner, or whose content names the owner."""

    name: Final = "browser_sessions"
    tables: Sequence[str] = (Session._meta.db_table,)
    outside = False

    def count(self, subject: Subject) -> int:
        """Count the sessions; each one of the installation is opened."""
        return sum(1 for _ in _sessions_of(subject))

    def erase(self, subject: Subject, most: int) -> int:
        """Delete some of the sessions."""
        keys = []
        for key in _sessions_of(subject):
            keys.append(key)
            if len(keys) >= most:
                break
        return Session.objects.filter(pk__in=keys).delete()[0] if keys else 0

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the sessions that are left."""
        return self.count(subject)


class LoginTarget:
    """The login with its groups, what administrators did as it or to it, and attempts to log in with its name."""

    name: Final = "login"
    tables: Sequence[str] = (
        User._meta.db_table,
        User.groups.through._meta.db_table,
        User.user_permissions.through._meta.db_table,
        LogEntry._meta.db_table,
        AccessAttemptExpiration._meta.db_table,
        AccessAttempt._meta.db_table,
        AccessFailureLog._meta.db_table,
        AccessLog._meta.db_table,
    )
    outside = False

    def count(self, subject: Subject) -> int:
        """Count the login and the rows about it."""
        return sum(rows.count() for rows in _rows_of(subject))

    def erase(self, subject: Subject, most: int) -> int:
        """Delete the login with all the rows about it, which are few."""
        Owner.objects.filter(pk=subject.owner_id).update(user=None)
        return sum(rows._raw_delete(rows.db) or 0 for rows in _rows_of(subject))

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the rows that are left."""
        return self.count(subject)


def _sessions_of(subject: Subject) -> Iterator[str]:
    """Find the sessions that name the owner or the login; one that does not open is nobody's."""
    wanted = {str(one) for one in subject.ids}
    after = ""
    while True:
        rows = list(Session.objects.filter(pk__gt=after).order_by("pk")[:CHUNK])
        for row in rows:
            content = json.dumps(row.get_decoded(), default=str)
            if any(one in content for one in wanted):
                yield str(row.pk)
        if len(rows) < CHUNK:
            return
        after = rows[-1].pk


def _rows_of(subject: Subject) -> list[QuerySet[Any]]:
    """Give the rows of and about a login, those that refer to others first."""
    ids = [str(one) for one in subject.ids]
    about = Q(object_id__in=ids)
    if subject.user_id is None:
        return [LogEntry.objects.filter(about)]
    user = User.objects.filter(pk=subject.user_id)
    names = list(user.values_list("username", flat=True))
    tried: list[type[Model]] = [AccessAttempt, AccessFailureLog, AccessLog]
    return [
        User.groups.through.objects.filter(user_id=subject.user_id),
        User.user_permissions.through.objects.filter(user_id=subject.user_id),
        LogEntry.objects.filter(about | Q(user_id=subject.user_id)),
        AccessAttemptExpiration.objects.filter(access_attempt__username__in=names),
        *[model._default_manager.filter(username__in=names) for model in tried],
        user,
    ]
