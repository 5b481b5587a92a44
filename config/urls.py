"""The routes of the whole server."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from memory.admin.site import site
from telemetry.api.views.scraping import metrics

handler400 = "config.middleware.bad_request"
handler500 = "config.middleware.server_error"

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("telemetry.api.urls")),
    # The last of the interface, since it answers for every address that there is not.
    path("api/v1/", include("memory.api.urls")),
    # Before the site's own, which answer for every address below.
    path("admin/", include("memory.admin.urls")),
    path("admin/telemetry/", include("telemetry.admin.urls")),
    path("admin/", site.urls),
    path("metrics", metrics, name="metrics"),
    path("telemetry/", include("telemetry.palace.urls")),
    path("", include("memory.palace.urls")),
]
