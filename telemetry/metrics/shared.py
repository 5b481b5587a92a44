"""What several processes have counted, in files that they map into memory and that a scrape adds up.

The web process and the workers each write files of their own, named after the process, in the directory that
`PROMETHEUS_MULTIPROC_DIR` names (`manage.py up` sets it). Workers are replaced after some hundred tasks, so files of
processes that have ended are added to one that nobody writes, and removed.
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from runtime.locks import FileLock

logger = logging.getLogger(__name__)

VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
# In the place of a process: what ended processes have counted.
ENDED: Final = "ended"
LOCK: Final = "metrics.lock"
_UNKNOWN: Final = "0"


def directory() -> Path | None:
    """Give the directory of the files, None in a process that counts for itself alone."""
    named = os.environ.get(VARIABLE, "")
    return Path(named) if named else None


def name_processes() -> None:
    """Have files named after the process and its start, since numbers of processes come again."""
    if directory() is None:
        return
    from prometheus_client import values

    from telemetry.metrics.allocated import AllocatedDict

    values.MmapedDict = AllocatedDict  # type: ignore[attr-defined]
    values.ValueClass = values.MultiProcessValue(process_name)  # type: ignore[no-untyped-call]


def process_name() -> str:
    """Name this process; a forked child has another name."""
    return _name_of(os.getpid())


@cache
def _name_of(pid: int) -> str:
    return f"{pid}-{_start_of(pid) or _UNKNOWN}"


def _start_of(pid: int) -> str | None:
    """Tell when a process started, in ticks of this machine; None where it is gone or the system does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program stands in brackets and may hold anything; the 22nd field counts from behind it.
    return text.rpartition(")")[2].split()[19]


def is_alive(name: str) -> bool:
    """Tell whether the process of a name still runs."""
    pid, _, start = name.partition("-")
    if not pid.isdigit():
        return False
    if start != _UNKNOWN:
        return _start_of(int(pid)) == start
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def counted_by_all(place: Path) -> list[Any]:
    """Add up what all processes have counted, as the library's metrics; files of ended ones are put together first."""
    try:
        with _alone(place):
            _put_together(place)
            return _added_up(place)
    except OSError as error:
        _log_no_room(error)
        return _added_up(place)


def put_together() -> None:
    """Add what ended processes have counted to one file and remove theirs; without effect in a process by itself."""
    place = directory()
    if place is None:
        return
    try:
        with _alone(place):
            _put_together(place)
    except OSError as error:
        _log_no_room(error)


def _added_up(place: Path) -> list[Any]:
    from prometheus_client.multiprocess import MultiProcessCollector

    # A process that has just opened its file has counted nothing yet; the library reads no file without a head.
    begun = [str(file) for file in place.glob("*.db") if _size(file)]
    return list(MultiProcessCollector.merge(begun, accumulate=True))  # type: ignore[no-untyped-call]


def _size(file: Path) -> int:
    """Give the bytes of a file; none of one that has gone meanwhile."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _log_no_room(error: OSError) -> None:
    """Say that files stay as they are, which costs nothing but their number."""
    logger.warning("counts of ended processes cannot be put together: %s", type(error).__name__)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Keep others from reading while files are put together, or they would miss or double what is moved."""
    with FileLock(place / LOCK):
        yield


def _put_together(place: Path) -> None:
    sorts: dict[str, list[Path]] = {}
    for file in sorted(place.glob("*.db")):
        sort, _, name = file.stem.rpartition("_")
        if name == ENDED or is_alive(name):
            continue
        if sort.startswith("gauge_live"):
            file.unlink(missing_ok=True)
        else:
            sorts.setdefault(sort, []).append(file)
    for sort, files in sorts.items():
        _add_to_ended(place / f"{sort}_{ENDED}.db", files)


def _add_to_ended(ended: Path, files: Iterable[Path]) -> None:
    from prometheus_client.mmap_dict import MmapedDict

    sources = [*([ended] if ended.exists() else []), *files]
    highest = ended.name.startswith("gauge_max")
    added: dict[str, float] = {}
    for file in sources:
        try:
            values = [(key, value) for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file))]  # type: ignore[no-untyped-call]
        except (RuntimeError, ValueError, struct.error):
            # One that was damaged is passed over, or no scrape would ever be answered again.
            logger.warning("the counts of a process that has ended cannot be read and are dropped")
            continue
        for key, value in values:
            if key not in added:
                added[key] = value
            else:
                added[key] = max(added[key], value) if highest else added[key] + value
    # Written beside and put in place whole, so that a process that is killed here leaves the former one.
    fresh = ended.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    written = MmapedDict(str(fresh))  # type: ignore[no-untyped-call]
    try:
        for key, value in added.items():
            written.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
    finally:
        written.close()  # type: ignore[no-untyped-call]
    fresh.replace(ended)
    for file in files:
        file.unlink(missing_ok=True)
