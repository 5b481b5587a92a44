"""The site of the admin, which has no door of its own: logins go through the palace, where guesses are counted."""

from __future__ import annotations

from typing import Any, Final, cast

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, URLResolver, reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from memory.admin.access import actor_of, staff_page
from memory.admin.dashboard import dashboard
from memory.admin.menu import areas
from memory.admin.owner_choice import choice_of, may_choose
from memory.admin.pages import pages
from memory.models import User
from memory.palace.access import to_login
from memory.palace.notices import notices
from memory.services.actors import Actor

# The palace has the way out. Passwords are asked for in one place only, and no address tells whether an object exists.
LEFT_OUT: Final = frozenset(
    {"logout", "password_change", "password_change_done", "view_on_site", "autocomplete", "jsi18n", "app_list"}
)


class LociAdminSite(AdminSite):
    """Django's admin behind the palace's login, for staff, over one owner at a time."""

    site_header = "Loci administration"
    site_title = "Loci"
    index_title = "Administration"
    enable_nav_sidebar = False

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Give the site's addresses without those that are left out."""
        return [one for one in super().get_urls() if getattr(one, "name", None) not in LEFT_OUT]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Let only staff through to a view; others are led to the palace's login or told that it is not for them."""
        inner = super().admin_view(view, cacheable)

        @staff_page("GET", "HEAD", "POST")
        def guarded(request: HttpRequest, actor: Actor, *args: Any, **kwargs: Any) -> Any:
            return inner(request, *args, **kwargs)

        return guarded

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Lead to the palace's login, whatever was sent."""
        return to_login(request.GET.get("next") or reverse("admin:index"))

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the front page: how the installation is, and what apps have to say to the person."""
        actor = actor_of(request)
        user = cast("User", request.user)
        context = {
            **self.each_context(request),
            "title": _("Administration"),
            "notices": notices(actor),
            **dashboard(actor, everything=may_choose(user)),
        }
        return render(request, "admin/index.html", context)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Give what every page of the admin shows: whose rows these are, and the navigation."""
        user = request.user
        return {
            "site_header": self.site_header,
            "site_title": self.site_title,
            "pages": pages(),
            "areas": areas(request, self),
            "choice": choice_of(actor_of(request)),
            "may_choose": isinstance(user, User) and may_choose(user),
        }


site: Final = LociAdminSite(name="admin")
