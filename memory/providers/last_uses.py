"""How the last use of each model behind a provider went, in this process; nothing is asked for it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import TypeVar

from memory.errors import ProviderUnavailable

T = TypeVar("T")


class LastUses:
    """Remembers what failed last and has not worked since; may be used by several threads at once."""

    def __init__(self) -> None:
        """Begin with nothing used."""
        self.begin_anew()
        if hasattr(os, "register_at_fork"):
            reference = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _forget_parent(reference))

    def begin_anew(self) -> None:
        """Know nothing, with a fresh lock: a thread of the parent may have held the old one at the fork."""
        self._lock = threading.Lock()
        self._failing: dict[Hashable, str] = {}

    def noted(self, place: Hashable, call: Callable[[], T]) -> T:
        """Make a call and remember how it ended.

        Args:
            place: what is used, one of those that the configuration names.
            call: the call; errors other than ProviderUnavailable say nothing of the provider and are not noted.
        """
        try:
            result = call()
        except ProviderUnavailable as error:
            with self._lock:
                self._failing.pop(place, None)
                self._failing[place] = error.message
            raise
        with self._lock:
            self._failing.pop(place, None)
        return result

    def failure(self) -> str | None:
        """Give the reason of the latest failure among what has not worked since; None where all is well."""
        with self._lock:
            return next(reversed(self._failing.values()), None)


def _forget_parent(reference: weakref.ref[LastUses]) -> None:
    uses = reference()
    if uses is not None:
        uses.begin_anew()
