"""Lists of rows: pages without counting a large table, searches by ids and keyed hashes, and the filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, cast
from uuid import UUID

from django.contrib.admin import FieldListFilter, SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import DataError, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.crypto.keyring import keyring
from memory.graph.names import name_hash
from memory.models import Agent, EntityName, LexPosting, NameKind, current_owner
from memory.privacy.masking import masked_value
from memory.services.legible import UNREADABLE, legible
from memory.text.tokens import query_terms

MOST_COUNTED: Final = 5_000
MOST_AGENTS: Final = 200
MOST_WORDS: Final = 8
LONGEST_SEARCH: Final = 500
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages over the first rows of a list, counted up to a bound: counting all of a large table takes its time."""

    @cached_property
    def count(self) -> int:
        """Count the rows, up to one more than the bound."""
        rows = cast("QuerySet[Any]", self.object_list)
        return int(rows.order_by()[: MOST_COUNTED + 1].count())

    @property
    def more(self) -> bool:
        """Tell whether there are more rows than are counted."""
        return bool(self.count > MOST_COUNTED)


def parameters_of(admin: Any, offered: Any, request: HttpRequest | None) -> list[str]:
    """Give the parameters that a filter of a list makes, with all that it does to a column.

    Args:
        admin: whose list it is.
        offered: the filter, as `list_filter` names it.
        request: which asks.
    """
    if isinstance(offered, type):
        return [str(cast("type[SimpleListFilter]", offered).parameter_name)]
    name, make = offered if isinstance(offered, tuple) else (offered, FieldListFilter.create)
    made = make(admin.opts.get_field(name), request, {}, admin.model, admin, field_path=name)
    return [str(one) for one in made.expected_parameters()]


class RowsList(ChangeList):
    """Django's list, whose rows are read at once, so that what draws them asks nothing more."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the rows of the page; raises IncorrectLookupParameters for values that the database does not take."""
        try:
            # Of its own, so that the transaction around it goes on when the database refuses a value.
            with transaction.atomic():
                super().get_results(request)
                self.result_list: Any = list(self.result_list)
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters(error) from error
        self.more: bool = self.paginator.more


def uuid_in(text: str) -> UUID | None:
    """Read an id, None where the text is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def digest_in(text: str) -> bytes | None:
    """Read a SHA-256 digest in hexadecimal digits, None where the text is none."""
    return bytes.fromhex(text) if _DIGEST.fullmatch(text) else None


Searching = Callable[[QuerySet[Any], str], QuerySet[Any]]


def by_name(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Search for a whole name, whatever its case, by its keyed hash."""
    return rows.filter(name_hash=keyring().of(current_owner()).name(text.casefold()))


def by_label(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Search for a whole label by its keyed hash."""
    return rows.filter(label_hash=keyring().of(current_owner()).name(text))


def by_entity_name(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Search entities for a whole name or alias by its keyed hash."""
    hashed = name_hash(keyring().of(current_owner()), text)
    named = EntityName.objects.filter(kind__in=[NameKind.CANONICAL, NameKind.ALIAS], name=hashed)
    return rows.filter(pk__in=named.values("entity_id"))


def by_words(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Search memories for all words of a text by their keyed hashes."""
    ring = keyring().of(current_owner())
    words = [terms for word in text.split()[:MOST_WORDS] if (terms := query_terms(word, keep_stop_words=True))]
    if not words:
        return rows.none()
    for terms in words:
        rows = rows.filter(pk__in=LexPosting.objects.filter(term__in=ring.words(terms)).values("memory_id"))
    return rows


def found_by(rows: QuerySet[Any], text: str, *, ids: tuple[str, ...], digest: str, search: Searching | None) -> Any:
    """Narrow a list to what a search names.

    Args:
        rows: the list.
        text: what was typed.
        ids: the columns in which an id is looked for.
        digest: the column of the content hash, empty where there is none.
        search: looks for words or names, None where there are none.
    """
    text = text.strip().replace("\0", "")[:LONGEST_SEARCH]
    if not text:
        return rows
    one = uuid_in(text)
    if one is not None:
        wanted = Q()
        for column in ids:
            wanted |= Q(**{column: one})
        return rows.filter(wanted)
    found = digest_in(text)
    if found is not None and digest:
        return rows.filter(**{digest: found})
    return search(rows, text) if search else rows.none()


class AgentFilter(SimpleListFilter):
    """Rows of one agent, which is chosen by its name; a single statement names them all."""

    title = gettext_lazy("agent")
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """List the agents of the owner."""
        rows = Agent.objects.order_by("created_at", "pk")[:MOST_AGENTS]
        names = [(str(row.pk), masked_value(legible(row, "name") or _(UNREADABLE))) for row in rows]
        return [("none", _("no agent")), *names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list."""
        value = self.value()
        if value is None:
            return queryset
        if value == "none":
            return queryset.filter(agent=None)
        one = uuid_in(value)
        return queryset.filter(agent_id=one) if one else queryset.none()


def word_filter(column: str, label: Any, words: Sequence[tuple[str, Any]]) -> type[SimpleListFilter]:
    """Make a filter by the words of a vocabulary that the column itself does not name; no row is read for it.

    Args:
        column: which.
        label: what people call it.
        words: the words as they are stored and as people read them.
    """

    class Words(SimpleListFilter):
        title = label
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(word, str(shown)) for word, shown in words]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            value = self.value()
            return queryset if value is None else queryset.filter(**{column: value})

    return Words


def presence_filter(column: str, label: Any, *, there: Any, missing: Any) -> type[SimpleListFilter]:
    """Make a filter by whether a column holds something.

    Args:
        column: which.
        label: what people call it.
        there: what the choice of rows with a value says.
        missing: what that of rows without one says.
    """

    class Presence(SimpleListFilter):
        title = label
        parameter_name = f"has_{column}"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [("1", there), ("0", missing)]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if self.value() not in ("0", "1"):
                return queryset
            return queryset.filter(**{f"{column}__isnull": self.value() == "0"})

    return Presence
