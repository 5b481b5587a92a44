"""What several processes have counted, in files that they map into memory and that a scrape adds up.

The web process and the workers each write files of their own, named after the process, in the directory that
`PROMETHEUS_MULTIPROC_DIR` names (`manage.py up` sets it). Workers are replaced after some hundred tasks, so files of
processes that have ended are added to one that nobody writes, and removed.

Containers that share the directory count processes each from 1 and do not see those of the other. So a name also says
where its number counts, and each process holds a lock for as long as it lives, by which the others know that it does.
"""

from __future__ import annotations

import fcntl
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
ALIVE: Final = ".alive"
_UNKNOWN: Final = "0"
# Open files whose locks say that this process lives; a lock of this kind is neither inherited nor left behind.
_held: Final[dict[str, int]] = {}


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
    name = f"{pid}-{_start_of(pid) or _UNKNOWN}-{_numbering()}"
    place = directory()
    if place is not None:
        _hold(place / f"{name}{ALIVE}")
    return name


def _numbering() -> str:
    """Say where numbers of processes are counted: containers have a counting each."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return _UNKNOWN


def _hold(path: Path) -> None:
    try:
        while path.name not in _held:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Not that of `flock`, which a forked child would hold on after its parent's end.
            fcntl.lockf(descriptor, fcntl.LOCK_EX)
            # Somebody may have removed the file between the two, since nobody held it then.
            if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
                _held[path.name] = descriptor
            else:
                os.close(descriptor)
    except OSError as error:
        _log_no_room(error)


def _is_held(path: Path) -> bool:
    """Tell whether the process that made the file still lives; asked only of files of other countings."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _start_of(pid: int) -> str | None:
    """Tell when a process started, in ticks of this machine; None where it is gone or the system does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program stands in brackets and may hold anything; the 22nd field counts from behind it.
    return text.rpartition(")")[2].split()[19]


def is_alive(name: str) -> bool:
    """Tell whether the process of a name still runs, in this container or in another one that shares the directory."""
    pid, _, rest = name.partition("-")
    start, _, numbering = rest.partition("-")
    if not pid.isdigit():
        return False
    place = directory()
    if place is not None and numbering not in ("", _numbering()):
        return _is_held(place / f"{name}{ALIVE}")
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
    for mark in place.glob(f"*{ALIVE}"):
        if not is_alive(mark.name.removesuffix(ALIVE)):
            mark.unlink(missing_ok=True)


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
