"""The pages of rows: a list, the page of one row, what was recorded about it, and acts by services. Nothing is edited.

Everything of an owned model is read, opened and drawn within the owner's scope; nothing is left for later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final
from uuid import UUID

from django.contrib.admin import FieldListFilter, ModelAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from memory.admin import columns
from memory.admin.access import OWN, actor_of
from memory.admin.lists import BoundedPaginator, RowsList, found_by, parameters_of, uuid_in
from memory.admin.owner_choice import may_choose, require_same
from memory.admin.row_actions import RowAction, act, chosen_ids
from memory.errors import InvalidInput, NotFound
from memory.models import AuditEvent, Memory, User, owner_scope
from memory.palace.dates import moment
from memory.palace.numbers import whole
from memory.palace.presenters import label, object_word
from memory.services.actors import Actor
from memory.services.audit.readers import note_reads
from memory.services.audit.staff import record_row, record_rows
from memory.services.clock import now

PER_PAGE: Final = 50
MOST_RELATED: Final = 20
MOST_HISTORY: Final = 200


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list.

    Args:
        label: its head.
        value: writes a row's value, given what was read for all rows of the page.
        number: whether it is set to the right.
    """

    label: Any
    value: Callable[[Any, Any], Any]
    number: bool = False


@dataclass(frozen=True, slots=True)
class Related:
    """Rows that hang on the row of a page: a title, heads, lines of cells, and whether there are more."""

    title: Any
    heads: Sequence[Any]
    lines: Sequence[Sequence[Any]]
    more: bool = False


@dataclass(slots=True)
class Shown:
    """What the page of a row has beyond its columns."""

    related: list[Related] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)


def related(
    title: Any,
    heads: Sequence[Any],
    rows: Iterable[Any],
    line: Callable[[Any], Sequence[Any]],
    most: int = MOST_RELATED,
) -> Related:
    """Write rows that hang on a row, of which one more than is shown was asked for."""
    read = list(rows)
    return Related(title, heads, [line(row) for row in read[:most]], len(read) > most)


def link(model: type[Model], pk: Any, text: Any = None) -> SafeString | str:
    """Write a link to the page of a row."""
    if pk is None:
        return columns.NOTHING
    shown = columns.code(str(pk)) if text is None else text
    try:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[pk])
    except NoReverseMatch:
        return str(shown)
    return format_html('<a href="{}">{}</a>', address, shown)


class RowsAdmin(ModelAdmin):  # type: ignore[type-arg]
    """Pages of a model's rows, for reading; what changes them is the services' alone."""

    label: ClassVar[Any] = ""
    labels: ClassVar[Any] = ""
    meaning: ClassVar[Any] = ""
    area: ClassVar[Any] = ""
    columns: ClassVar[tuple[Column, ...]] = ()
    row_actions: ClassVar[tuple[RowAction, ...]] = ()
    id_columns: ClassVar[tuple[str, ...]] = ("pk",)
    digest_column: ClassVar[str] = ""
    # A search of `memory.admin.lists`, as a static method.
    search: ClassVar[Any] = None
    search_help: ClassVar[Any] = ""
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"owner"})
    # The word of the audit for a read of one of them, where it has one.
    read_as: ClassVar[str] = ""
    owned: ClassVar[bool] = True

    actions = None
    list_per_page = PER_PAGE
    list_max_show_all = 0
    show_full_result_count = False
    sortable_by = ()
    paginator = BoundedPaginator
    search_fields = ("pk",)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let staff look; whose rows these are is decided by the owner that was chosen."""
        return True

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Let staff look."""
        return True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Make nothing here: the services do."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Write nothing here: the services do."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Delete nothing here: it would go round the purge and the audit."""
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Filter by the parameters that the list's own filters make and by nothing else.

        A column that is filtered by is no leave to compare it in other ways, or to go on from it to other tables.
        """
        return any(lookup in parameters_of(self, one, request) for one in self.list_filter)

    def get_urls(self) -> list[URLPattern]:
        """Give the addresses of the list, of a row, of its history, and of what can be done to it."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name=f"{name}_changelist"),
            path("<path:object_id>/history/", view(self.history_view), name=f"{name}_history"),
            path("<path:object_id>/change/", view(self.change_view), name=f"{name}_change"),
        ]

    def address(self, page: str = "changelist", *arguments: Any) -> str:
        """Give the address of the list, or of a page of a row."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}", args=arguments)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RowsList]:
        """Give the class of the list."""
        return RowsList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Give the rows, within the owner's scope."""
        rows: QuerySet[Any] = self.model._default_manager.all()
        return rows

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Narrow the rows to what is searched for, without reading any text."""
        found = found_by(
            queryset, search_term, ids=self.id_columns, digest=self.digest_column, search=type(self).search
        )
        return found, False

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read what the cells of all rows of a page need, in a fixed number of statements."""
        return None

    def describe(self, row: Any) -> Shown:
        """Give what hangs on a row, within the owner's scope."""
        return Shown()

    def title_of(self, row: Any) -> Any:
        """Give the heading of the page of a row."""
        return capfirst(str(self.label))

    def value_of(self, row: Any, column: Any) -> Any:
        """Write the value of a column on the page of a row."""
        if column.is_relation and column.attname != column.name:
            return link(column.related_model, getattr(row, column.attname))
        return columns.shown(row, column)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list, or do something to the rows that were ticked."""
        actor = actor_of(request)
        if request.method == "POST":
            return self._act(request, actor, chosen_ids(request), request.get_full_path())
        with self._scope(actor):
            answer = super().changelist_view(request, extra_context)
            cl = getattr(answer, "context_data", {}).get("cl")
            if cl is None:
                return answer
            extras = self.extras(cl.result_list)
            lines = [
                {
                    "pk": str(row.pk),
                    "address": self.address("change", row.pk),
                    "cells": [(column.value(row, extras), column.number) for column in self.columns],
                }
                for row in cl.result_list
            ]
            if self.owned:
                record_rows(actor=actor, count=len(lines), at=now(), searched=bool(cl.query))
            # The choices of some filters are read from the rows, as late as they are listed.
            context = {**self._frame(request), **_list_context(self, cl, lines)}
        return render(request, "admin/rows/list.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a row, or do something to it."""
        actor = actor_of(request)
        if request.method == "POST":
            one = uuid_in(object_id)
            if one is None:
                raise self._unknown()
            return self._act(request, actor, [one], request.path)
        return self._page(request, actor, object_id, dict(extra_context or {}))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show what the audit holds about a row."""
        actor = actor_of(request)
        one = uuid_in(object_id)
        if not self.owned or one is None or request.method == "POST":
            raise self._unknown()
        with owner_scope(actor.owner_id):
            events = list(AuditEvent.objects.filter(object_id=one).order_by("-created_at", "-pk")[:MOST_HISTORY])
            record_row(actor=actor, object_id=one, at=now(), sort="history")
        lines = [
            {
                "at": moment(event.created_at, now()),
                "verb": label(event.verb),
                "kind": object_word(event.object_kind),
                "actor": event.actor,
                "reason": columns.reason(event.reason),
                "count": whole(event.count),
            }
            for event in events
        ]
        context = {**self._frame(request), "title": _("Recorded about this row"), "lines": lines, "row_id": str(one)}
        return render(request, "admin/rows/history.html", context)

    def _page(
        self, request: HttpRequest, actor: Actor, object_id: str, extra: dict[str, Any], status: int = 200
    ) -> HttpResponse:
        with self._scope(actor):
            row = self._row(request, object_id)
            described = self.describe(row)
            fields = [
                (columns.named(column), self.value_of(row, column), column.name)
                for column in self.opts.concrete_fields
                if column.name not in self.hidden_fields
            ]
            fitting = [action for action in self.row_actions if action.fits(row)]
            title = self.title_of(row)
            if self.owned:
                record_row(actor=actor, object_id=uuid_in(str(row.pk)), at=now(), sort=self.read_as)
        if isinstance(row, Memory) and actor.staff_id is not None:
            note_reads(actor.owner_id, [row.pk], reader=actor.caller_id, at=now())
        context = {
            **self._frame(request),
            "title": title,
            "row": str(row.pk),
            "fields": fields,
            "related": described.related,
            "notes": described.notes,
            "actions": fitting,
            "history": self.owned,
            **extra,
        }
        return render(request, "admin/rows/page.html", context, status=status)

    def _row(self, request: HttpRequest, object_id: str) -> Any:
        try:
            key = self.opts.pk.to_python(object_id)
            row = self.get_queryset(request).filter(pk=key).first()
        except (ValueError, TypeError, OverflowError):
            row = None
        except Exception as error:
            if type(error).__name__ != "ValidationError":
                raise
            row = None
        if row is None:
            raise self._unknown()
        return row

    def _act(self, request: HttpRequest, actor: Actor, ids: list[UUID], back: str) -> HttpResponse:
        require_same(request, actor)
        wanted = request.POST.get("action", "")
        action = next((one for one in self.row_actions if one.name == wanted), None)
        if action is None:
            raise InvalidInput(_("Choose what to do. Nothing was changed."), code="rows.no_action")
        if action.meant and request.POST.get("confirmed") != "yes":
            context = {**self._frame(request), "title": action.label, "action": action, "ids": ids, "back": back}
            return render(request, "admin/rows/confirm.html", context)
        act(request, actor, action, ids)
        return HttpResponseRedirect(back)

    def _frame(self, request: HttpRequest) -> dict[str, Any]:
        return {**self.admin_site.each_context(request), "rows": self, "list_address": self.address()}

    def _scope(self, actor: Actor) -> Any:
        return owner_scope(actor.owner_id)

    def _unknown(self) -> NotFound:
        return NotFound(_("There is nothing with this id here."))


class FreeAdmin(RowsAdmin):
    """Pages of a model that belongs to no owner; those who may look at their own owner only see what is theirs."""

    owned = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Give all rows to those who look after the installation, and their own ones to others."""
        rows = super().get_queryset(request)
        user = request.user
        if isinstance(user, User) and may_choose(user):
            return rows
        return self.own_rows(rows, user, getattr(request, OWN))

    def own_rows(self, rows: QuerySet[Any], user: Any, owner_id: UUID) -> QuerySet[Any]:
        """Give the rows that somebody who looks at the own owner only may see."""
        return rows.none()


def _title_of(spec: Any) -> Any:
    """Give what a filter is called: that of a column as the column is."""
    return columns.named(spec.field) if isinstance(spec, FieldListFilter) else spec.title


def _list_context(admin: RowsAdmin, cl: RowsList, lines: list[dict[str, Any]]) -> dict[str, Any]:
    page, pages = cl.page_num, cl.paginator.num_pages
    count = cl.result_count - 1 if cl.more else cl.result_count
    return {
        "title": capfirst(str(admin.labels)),
        "lines": lines,
        "heads": admin.columns,
        "actions": admin.row_actions,
        "filters": [(_title_of(spec), list(spec.choices(cl))) for spec in cl.filter_specs],
        "filtered": cl.has_active_filters,
        "clear": cl.clear_all_filters_qs,
        "query": cl.query,
        "kept": [(name, value) for name, value in cl.params.items() if name != "q"],
        "count": count,
        "counted": whole(count),
        "more": cl.more,
        "page": page,
        "pages": pages,
        "previous": cl.get_query_string({"p": page - 1}) if page > 1 else "",
        "next": cl.get_query_string({"p": page + 1}) if page < pages else "",
    }
