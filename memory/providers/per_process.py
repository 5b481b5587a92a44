"""Hold a resource that must be made once per process and never be carried over a fork."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Makes a resource at first use, once, and makes another one in a forked child.

    Thread pools do not live on in a child, and two processes must not talk over one socket. Whatever the parent had is
    left alone: the child forgets it without destroying it.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        """Take the function that makes the resource; its errors reach whoever asks, and the next call tries again."""
        self._make = make
        self._lock = threading.Lock()
        self._made: T | None = None
        if hasattr(os, "register_at_fork"):
            reference = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _abandon(reference))

    def get(self) -> T:
        """Give the resource; the first call makes it while other threads wait."""
        made = self._made
        if made is not None:
            return made
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def made(self) -> T | None:
        """Give the resource when there is one, without making it."""
        return self._made

    def take(self) -> T | None:
        """Give up the resource, when there is one, so that the caller can close it; the next `get` makes another."""
        with self._lock:
            made, self._made = self._made, None
            return made

    def abandon(self) -> None:
        """Forget the parent's resource in a forked child, with a fresh lock: a thread may have held the old one."""
        self._lock = threading.Lock()
        made, self._made = self._made, None
        if made is not None:
            # Destroying it would wait for threads that exist in the parent only, at the latest when the child ends.
            # One reference that nobody gives back keeps it; the memory is the parent's, shared until written to.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))


def _abandon(reference: weakref.ref[PerProcess[T]]) -> None:
    holder = reference()
    if holder is not None:
        holder.abandon()
