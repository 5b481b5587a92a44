"""What is told of an operation that processes of the last release would not survive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One operation that breaks what still runs.

    Attributes:
        key: what a migration's `overlap` names to say that it is all right: the operation and its subject.
        why: what would happen.
        instead: what to do.
    """

    key: str
    why: str
    instead: str

    def is_named_by(self, declared: str) -> bool:
        """Tell whether an entry of `overlap` means this: the key, its beginning up to a space, or all but the model."""
        operation, _, subject = self.key.partition(" ")
        without_model = f"{operation} {subject.rpartition('.')[2]}"
        return declared in (self.key, without_model) or self.key.startswith(f"{declared} ")
