"""The bounds within which an archive or a snapshot is read; whoever made it may have meant harm."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

MOST_FILE_BYTES: Final = 8 * GIB
"""Of an archive or snapshot as it comes in."""

MOST_FILES: Final = 100
"""Files inside an archive."""

MOST_DIRECTORY_BYTES: Final = 64 * KIB
"""Of the table of contents at its end, which is read whole."""

MOST_MEMBER_BYTES: Final = 16 * GIB
"""Of one file inside, unpacked."""

MOST_TOTAL_BYTES: Final = 32 * GIB
"""Of all of them."""

MOST_RATIO: Final = 250
"""How many times its packed size a file may have unpacked, once it has more than `FREE_BYTES`. Zeros pack 1:1000, lines
of an archive, with an id each, 1:20."""

FREE_BYTES: Final = 8 * MIB

MOST_LINE_BYTES: Final = 4 * MIB
"""Of one line: a memory has at most 256 KiB of text, of which JSON makes six times as much at worst."""

MOST_MANIFEST_BYTES: Final = 256 * KIB
MOST_DEPTH: Final = 32
"""Most objects and lists inside one another."""

MOST_VALUES: Final = 20_000
"""Values in one line, lists and objects among them: two bytes of a line can become a hundred in memory."""

VALUE_BYTES: Final = 64
"""What a value counts as at least, wherever bytes of lines are bounded."""

MOST_PAGE_BYTES: Final = 16 * MIB
"""Lines that are worked on at a time."""

MOST_ROWS_OF_ONE: Final = 20_000
MOST_BYTES_OF_ONE: Final = 4 * MIB
"""Lines that hang on one memory, entity, relation or event; further ones are left."""

MOST_CHANGES_BYTES: Final = 64 * KIB
"""Of the former values that one version of a memory keeps."""

MOST_SKILL_BYTES: Final = 64 * MIB
"""Of all skills, which are taken over together."""

PIECE: Final = 64 * KIB
"""How much is read, packed or sealed at a time."""
