"""What all integration tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings


@pytest.fixture(autouse=True)
def files_found_when_asked() -> Iterator[None]:
    """Look for a static file when it is asked for.

    Each client of Django's has handlers of its own, and each would list all files for itself: a fifth of the time of a
    test. The list is seen by the tests of operations, which start the product as a process.
    """
    with override_settings(WHITENOISE_AUTOREFRESH=True):
        yield
