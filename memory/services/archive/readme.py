"""The page inside an archive that people read first."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from memory.services.archive.registry import parts

HEAD: Final = """\
What this is
============

Everything that Loci had stored about one owner on {day} at {time} UTC, in clear. Whoever has this file can read
all of it: keep it as you would keep a diary.

Each file with the ending .jsonl is a list. Each of its lines is one JSON object (UTF-8), which any text editor shows
and any program reads. Ids join the lines: `memory_id` in one file is `id` in memories.jsonl. Moments are in UTC.
Where a line has a member `unreadable`, the values named there did not open with the owner's keys and are null.

manifest.json names every file with its lines, its size and its SHA-256, and says which tables are left out and why.
The file `signature` is an Ed25519 signature, in hexadecimal digits, over the bytes "loci/archive", one zero byte, and
manifest.json as it stands. The key to check it with is `public_key` in the manifest; its fingerprint, the first half of
its SHA-256, should be the one that the installation shows.

Another installation of Loci takes this file over: manage.py memory archive-import FILE

The files
=========

"""


def readme(moment: datetime) -> bytes:
    """Write the page, in English, with a line for each file."""
    width = max(len(part.name) for part in parts()) + len(".jsonl")
    lines = [f"{part.name + '.jsonl':<{width}}  {part.about}" for part in parts()]
    return (HEAD.format(day=f"{moment:%Y-%m-%d}", time=f"{moment:%H:%M}") + "\n".join(lines) + "\n").encode()
