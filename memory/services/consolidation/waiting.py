"""Whether users' work waits, for which consolidation makes way."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from memory.models import DueWork

USERS_WORK: Final = (DueWork.ERASE, DueWork.EXPIRE, DueWork.VECTORS)
"""What somebody waits for; token vectors of old rows are made in the background too and may take hours."""
# A worker that is free has it within a second or two.
LATE: Final = timedelta(seconds=5)


def user_work_waits(moment: datetime) -> bool:
    """Tell whether work that somebody waits for is late, of whichever owner."""
    return DueWork.objects.filter(job__in=USERS_WORK, due_at__lte=moment - LATE).exists()
