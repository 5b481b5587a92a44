"""What is in doubt, of the chosen owner: the pages of the palace, in the admin."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest

from memory.admin.access import staff_page
from memory.admin.owner_choice import require_same
from memory.admin.site import site
from memory.palace.review_desk import Desk
from memory.palace.views.review import addresses
from memory.services.actors import Actor


def _frame(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    return site.each_context(request)


ADMIN: Final = Desk(
    app="loci-admin",
    memory="admin:memory_memory_change",
    layout="admin/review.html",
    frame=_frame,
    check=require_same,
    drawer=False,
    masks_agents=True,
)
review_addresses: Final = addresses(ADMIN, staff_page)
