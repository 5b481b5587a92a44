"""Reading what hangs on rows side by side with these, since both files stand in the same order."""

from __future__ import annotations

from memory.services.archive import limits
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.reading import Archive, Record


class Following:
    """The lines of a part, given out by what they hang on; lines that hang on nothing are counted as left."""

    def __init__(self, archive: Archive, part: str, column: str, result: ArchiveImported) -> None:
        """Begin at the first line of a part, whose lines are ordered by a column."""
        self._lines = archive.sized_lines(part)
        self._part, self._column, self._result = part, column, result
        self._next: Record | None = None
        self._size = 0
        self.held = 0
        """Bytes that were given out; whoever has let go of them sets it back."""
        self._advance()

    def _advance(self) -> None:
        self._next, self._size = next(self._lines, (None, 0))

    def of(self, key: str) -> list[Record]:
        """Give the lines that hang on a row; ask for rows in the order of their ids.

        More than 20,000 of them, or 4 MiB, are left and counted.
        """
        found: list[Record] = []
        held = 0
        while self._next is not None:
            here = self._next.get(self._column)
            if not isinstance(here, str) or here < key:
                self._result.leave(self._part)
            elif here > key:
                break
            elif len(found) >= limits.MOST_ROWS_OF_ONE or held + self._size > limits.MOST_BYTES_OF_ONE:
                self._result.leave(self._part)
            else:
                found.append(self._next)
                held += self._size
            self._advance()
        self.held += held
        return found

    def finish(self) -> None:
        """Count the lines that nobody asked for."""
        while self._next is not None:
            self._result.leave(self._part)
            self._advance()
