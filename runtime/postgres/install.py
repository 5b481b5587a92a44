"""Put the server's programs where the server's user can read them.

When root runs the product, the virtual environment may lie below /root, which the unprivileged user cannot enter.
The programs are copied below the data directory, owned by root, so the server can run them but not change them. Root
itself never runs anything from the copy.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
from pathlib import Path

from runtime.errors import ServerFault
from runtime.postgres.account import Account
from runtime.postgres.binaries import Binaries

UNNEEDED = shutil.ignore_patterns("*.a", "*.py", "*.pyi", "*.pyc", "py.typed", "__pycache__", "include", "pgxs", "doc")
PART_PREFIX = ".part-"


def server_programs(binaries: Binaries, data: Path, account: Account) -> Path:
    """Give the directory of programs to run as the server's user, copying the wheel's when root is another user.

    The caller holds the start lock and knows that no server of this data directory runs: copies of other versions are
    removed. The first call for a version copies about 40 MB.

    Raises:
        ServerFault: the copy cannot be written.
    """
    if not account.other or binaries.source != "wheel":
        return binaries.directory
    package = binaries.directory.parent.parent
    root = data / "server"
    target = root / f"{binaries.version}-{_fingerprint(package)}"
    programs = target / package.name / "pginstall" / "bin"
    try:
        root.mkdir(mode=0o755, exist_ok=True)
        root.chmod(0o755)
        if not programs.is_dir():
            _copy(package, root, target)
        for entry in root.iterdir():
            if entry != target:
                shutil.rmtree(entry)
    except OSError as error:
        raise ServerFault(
            f"The server's programs cannot be copied to {root}: {error.strerror or error}. Nothing was started."
        ) from error
    return programs


def _fingerprint(package: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted((package / "pginstall").rglob("*")):
        if path.is_file():
            found = path.stat()
            digest.update(f"{path.relative_to(package)}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:12]


def _copy(package: Path, root: Path, target: Path) -> None:
    part = root / f"{PART_PREFIX}{secrets.token_hex(6)}"
    # Libraries stand beside the package on Linux and inside it on macOS; programs look for them by relative path.
    shutil.copytree(package, part / package.name, symlinks=True, ignore=UNNEEDED)
    libraries = package.parent / f"{package.name}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, part / libraries.name, symlinks=True)
    _open_for_reading(part)
    part.rename(target)


def _open_for_reading(tree: Path) -> None:
    for folder, _, files in os.walk(tree):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                path.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
