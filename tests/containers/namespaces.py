"""Containers without an engine: the kernel's own namespaces, with what compose.yaml says of a service.

Each has a root that cannot be written, numbers of processes from 1, an unprivileged user without capabilities, and
the secrets and volumes that it was granted; all share one network that nothing else is in, so that addresses and ports
are those of compose.yaml. Needs root.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.containers import compose, image

PATIENCE = 150.0
UID = 10001
APP = "/opt/loci/app"
NEEDED = ("unshare", "nsenter", "setpriv", "chroot", "mount")
# Names as a network of containers would resolve them.
HOSTS = "127.0.0.1 localhost postgres web\n"

ROOT = """
set -eu
root=$1; shift
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir -p "$root/usr" "$root/etc" "$root/proc" "$root/dev/shm" "$root/run/secrets" "$root$APP" "$root/opt/loci/venv" \
    "$root$PYTHON_BASE"
for name in bin sbin lib lib64; do [ -e "/$name" ] && ln -s "usr/$name" "$root/$name"; done
readonly_bind() { mount --bind "$1" "$2"; mount -o remount,bind,ro "$2"; }
readonly_bind /usr "$root/usr"
case "$PYTHON_BASE" in /usr) ;; *) readonly_bind "$PYTHON_BASE" "$root$PYTHON_BASE" ;; esac
readonly_bind "$PYTHON_VENV" "$root/opt/loci/venv"
readonly_bind "$IMAGE" "$root$APP"
cp /etc/ld.so.cache "$root/etc/"
printf '%s' "$HOSTS" > "$root/etc/hosts"
printf 'loci:x:%s:%s::/nonexistent:/bin/false\n' "$UID_INSIDE" "$UID_INSIDE" > "$root/etc/passwd"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
for name in null zero urandom random; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
for place in $PLACES; do install -d -o "$UID_INSIDE" -g "$UID_INSIDE" -m 700 "$root$place"; done
for place in $TEMPORARY; do mkdir -p "$root$place"; mount -t tmpfs -o mode=1777 tmpfs "$root$place"; done
for name in $GRANTED; do touch "$root/run/secrets/$name"; readonly_bind "$SECRETS/$name" "$root/run/secrets/$name"; done
for pair in $VOLUMES; do mount --bind "${pair%%:*}" "$root${pair##*:}"; done
mount -o remount,ro "$root"
exec chroot "$root" setpriv --reuid "$UID_INSIDE" --regid "$UID_INSIDE" --clear-groups --no-new-privs \
    --inh-caps=-all --bounding-set=-all env -i "$@"
"""

# A network of one's own begins with a loopback interface that is down.
LOOPBACK = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
    fcntl.ioctl(any_one, 0x8914, struct.pack("16sh14x", b"lo", 0x1))
print("up", flush=True)
if sys.argv[1:]:
    os.execvp(sys.argv[1], sys.argv[1:])
"""

ASK = """
import json, sys, urllib.error, urllib.request
path, headers, body = json.loads(sys.argv[1])
data = None if body is None else json.dumps(body).encode()
request = urllib.request.Request("http://127.0.0.1:8420" + path, data=data, headers=headers)
try:
    with urllib.request.urlopen(request, timeout=30) as answer:
        status, text = answer.status, answer.read().decode()
except urllib.error.HTTPError as error:
    status, text = error.code, error.read().decode()
json.dump([status, text], sys.stdout)
"""


def lacking() -> str:
    """Say what this machine lacks for it; empty where nothing is."""
    if os.geteuid() != 0:
        return "not root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)}"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", 'mount -t tmpfs tmpfs /mnt && exec "$@"', "sh"]
        + [sys.executable, "-c", LOOPBACK],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if tried.returncode == 0 else tried.stderr.strip() or "no namespaces"


class Pod:
    """One network, one folder of secrets and of volumes, and the containers in it."""

    def __init__(self, home: Path, *, settings: Mapping[str, str]) -> None:
        """Make the network, and the image's tree in `home`; `settings` stand for the operator's `.env`."""
        self.home = home
        self.settings = dict(settings)
        self.secrets = home / "secrets"
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        (home / "image").mkdir()
        image.materialise(home / "image")
        self._holder = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-c", LOOPBACK, "sleep", "infinity"],
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"up\n"

    def inside(self, *command: str | Path) -> list[str]:
        """Give a command line that runs in the pod's network, as root and with this machine's files."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", *map(str, command)]

    def command(self, service: str, command: Sequence[str] | None = None) -> tuple[list[str], dict[str, str]]:
        """Give the command line of a service's container, and the environment that its making needs."""
        said = compose.services()[service]
        variables = {**image.environment(), **self.settings, **compose.environment(said, self.settings)}
        words = [f"--chdir={APP}", *(f"{name}={value}" for name, value in variables.items())]
        root = self.home / "roots" / service
        root.mkdir(parents=True, exist_ok=True)
        making = {
            "PATH": os.environ["PATH"],
            "APP": APP,
            "HOSTS": HOSTS,
            "IMAGE": str(self.home / "image"),
            "PYTHON_BASE": sys.base_prefix,
            "PYTHON_VENV": str(Path(sys.prefix).resolve()),
            "UID_INSIDE": str(UID),
            "SECRETS": str(self.secrets),
            "GRANTED": " ".join(said["secrets"]),
            "PLACES": " ".join(image.places()),
            "TEMPORARY": " ".join(one.partition(":")[0] for one in said["tmpfs"]),
            "VOLUMES": " ".join(self._volume(one) for one in said.get("volumes", ())),
        }
        apart = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "bash", "-c", ROOT, "container"]
        return self.inside(*apart, root, *words, *(command or said["command"])), making

    def run(self, service: str, command: Sequence[str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a service's container to its end, with another command where one is given."""
        line, making = self.command(service, command)
        return subprocess.run(
            line, env=making, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def documented(self, line: str, programs: Path, socket: Path) -> None:
        """Carry out a line of the documentation that begins with `docker compose`, as the engine would.

        Args:
            line: with a redirection at its end, perhaps; files are in the pod's folder.
            programs: those of the database server, which run on this machine.
            socket: the folder of the server's socket, which the programs of its container would use unasked.
        """
        words = shlex.split(line)
        assert words[:2] == ["docker", "compose"], line
        source, target = None, None
        if words[-2] in ("<", ">"):
            place = self.home / words[-1]
            source, target = (place, None) if words[-2] == "<" else (None, place)
            words = words[:-2]
        action, *rest = [word for word in words[2:] if word not in ("--rm", "--no-deps", "-T", "--detach")]
        making = None
        if action == "stop":
            for service in rest:
                self.stop(service)
            return
        if action == "up":
            for service in ("web", "worker"):
                self.start(service)
            return
        if action == "exec":
            assert rest.pop(0) == "postgres"
            command = [str(programs / rest[0]), f"--host={socket}", *rest[1:]]
        else:
            command, making = self.command(rest[0], rest[1:] or None)
        with open(source or os.devnull, "rb") as read, open(target or os.devnull, "wb") as written:
            done = subprocess.run(
                command, env=making, stdin=read, stdout=written, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
            )
        assert done.returncode == 0, (line, done.stderr.decode())

    def start(self, service: str) -> None:
        """Start a service's container."""
        line, making = self.command(service)
        with self.log(service).open("ab") as output:
            self.running[service] = subprocess.Popen(
                line, env=making, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

    def log(self, service: str) -> Path:
        """Give the file of what a container says."""
        return self.home / f"{service}.log"

    def first_process(self, service: str) -> psutil.Process:
        """Give the process that is number 1 in a container."""
        return psutil.Process(self.running[service].pid).children()[0]

    def stop(self, service: str) -> int:
        """Ask a container's first process to end; give its exit code, as the engine would tell it."""
        self.first_process(service).terminate()
        return self.running.pop(service).wait(timeout=PATIENCE)

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """Send a request to the web process; give status and text."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            told["Content-Type"] = "application/json"
        done = subprocess.run(
            self.inside(sys.executable, "-c", ASK, json.dumps([path, told, body])),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode != 0:
            return 0, done.stderr
        status, text = json.loads(done.stdout)
        return int(status), str(text)

    def end(self) -> None:
        """Leave nothing of it running."""
        for process in self.running.values():
            process.kill()
            process.wait()
        self._holder.kill()
        self._holder.communicate()

    def _volume(self, said: str) -> str:
        name, place = said.split(":")[:2]
        folder = self.home / "volumes" / name
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o700)
            os.chown(folder, UID, UID)
        return f"{folder}:{place}"
