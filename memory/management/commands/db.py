"""`manage.py db`: start, stop and look at the embedded database, open it in psql, back it up and restore it."""

from __future__ import annotations

import json
import os
import secrets
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections
from psycopg.conninfo import make_conninfo

from memory.errors import LociError
from memory.management.database import borrowed_database
from memory.management.replaying import mark_restore, replay_after_restore
from memory.services.keys.lost_texts import REMEDY, described, owners_with_lost_texts
from memory.services.schema import schema_state
from runtime.errors import RuntimeFault
from runtime.instance import running_instance
from runtime.paths import data_directory
from runtime.postgres import binaries
from runtime.postgres.backup import backup, metadata_path, restore
from runtime.postgres.cluster import Cluster
from runtime.postgres.physical import check_files, copy_files, restore_files
from runtime.postgres.provision import provision, provision_server, superuser_conninfo
from runtime.postgres.roles import APP, BACKUP, OWNER, ROLES, script

NOT_OURS = (
    "DATABASE_URL is set, so the database is not Loci's to {act}. Use your server's own tools, or unset DATABASE_URL "
    "for the embedded database."
)
NOT_RUNNING_EXIT = 3
LOST_EXIT = 3
PASSWORD_BYTES = 24
# libpq has no environment variable for these.
SECRET_OPTIONS = ("sslpassword", "oauth_client_secret")
ALIASES: Mapping[str, str] = {"app": "default", "owner": "schema"}


NO_KEYS = "It holds no keys: back up the key vault and the master key apart from it."
BEFORE = (
    "This replaces database {database} by the backup. Text keys that were rotated out since it was made are gone: what "
    "they sealed opens only with a copy of the key vault from that time."
)


class Command(BaseCommand):
    """Look after the embedded database."""

    help = "Start, stop and look at the embedded database, open it in psql, back it up and restore it."
    # Checks may ask the database, which is what this command is there to start.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions and their options."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        actions.add_parser("start", help="start the server and set up roles and database")
        stop = actions.add_parser("stop", help="stop the server")
        stop.add_argument("--force", action="store_true", help="even while `up` runs, which starts it again")
        status = actions.add_parser("status", help="tell whether it runs; exit code 0 when it does, 3 when not")
        status.add_argument("--json", action="store_true", help="as one JSON object")
        psql = actions.add_parser("psql", help="open psql; arguments after -- are passed on")
        psql.add_argument(
            "--role",
            choices=["app", "owner", "superuser"],
            default="app",
            help="app (the default) and owner see the rows of one owner, see docs/operations.md; superuser sees all",
        )
        psql.add_argument("arguments", nargs="*", metavar="ARGUMENT")
        for action, meaning in (("backup", "write a backup file"), ("restore", "replace the database by a backup")):
            copying = actions.add_parser(action, help=meaning)
            copying.add_argument("path", type=Path)
            if action == "backup":
                copying.add_argument(
                    "--files",
                    action="store_true",
                    help="copy the server's files into a directory instead: quicker for large databases",
                )
            if action == "restore":
                copying.add_argument(
                    "--yes", action="store_true", help="without asking; needed where there is no terminal"
                )
        provisioning = actions.add_parser("provision", help="set up roles, database and extension on a server")
        provisioning.add_argument("--url", help="URL of a superuser of your own server; LOCI_SUPERUSER_URL hides it")
        provisioning.add_argument("--database", help="name of the database (default: loci)")
        passwords = provisioning.add_mutually_exclusive_group()
        passwords.add_argument("--passwords", action="store_true", help="give the roles new passwords and show them")
        passwords.add_argument(
            "--passwords-of-settings",
            action="store_true",
            help="give the roles the passwords in DATABASE_URL and DATABASE_SCHEMA_URL, and set up the database there",
        )
        provisioning.add_argument("--sql", action="store_true", help="only print the SQL")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "start": self._start,
            "stop": self._stop,
            "status": self._status,
            "psql": self._psql,
            "backup": self._backup,
            "restore": self._restore,
            "provision": self._provision,
        }
        try:
            actions[options["action"]](options)
        except RuntimeFault as error:
            raise CommandError(error.message) from error

    def _start(self, options: Mapping[str, Any]) -> None:
        cluster = self._cluster("start")
        started = cluster.start()
        provision(cluster.socket_directory, self._database)
        if started.status == "attached":
            self.stdout.write("The database runs already.")
        else:
            self.stdout.write(f"The database runs after {started.seconds:.1f} s.")

    def _stop(self, options: Mapping[str, Any]) -> None:
        cluster = self._cluster("stop")
        supervisor = running_instance(cluster.data)
        if supervisor is not None and not options["force"]:
            raise CommandError(
                f"`up` is running (process {supervisor}) and keeps the database running. Stop that process, which "
                "stops the database too."
            )
        self.stdout.write("The database is stopped." if cluster.stop() else "The database was not running.")

    def _status(self, options: Mapping[str, Any]) -> None:
        cluster = self._cluster("look after")
        found = cluster.status()
        if options["json"]:
            self.stdout.write(
                json.dumps(
                    {
                        "running": found.running,
                        "pid": found.pid,
                        "version": found.version,
                        "binaries": cluster.binaries.source,
                        "data": str(found.data),
                        "socket": str(found.socket),
                    }
                )
            )
        else:
            state = f"runs (process {found.pid})" if found.running else "does not run"
            if found.pid is not None and not found.running:
                state = f"is starting up or recovering (process {found.pid})"
            self.stdout.write(f"PostgreSQL {found.version} {state}.\nData: {found.data}\nSocket: {found.socket}")
        if not found.running:
            raise SystemExit(NOT_RUNNING_EXIT)

    def _psql(self, options: Mapping[str, Any]) -> None:
        programs = binaries.find()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        if options["role"] == "superuser":
            cluster = self._cluster("open as superuser")
            self._require_running(cluster)
            target = superuser_conninfo(cluster.socket_directory, self._database)
        else:
            if settings.EMBEDDED_DATABASE:
                self._require_running(self._cluster("open"))
            chosen = settings.DATABASES[ALIASES[options["role"]]]
            target = _conninfo(chosen)
            if chosen.get("PASSWORD"):
                # Not in the arguments, which every user of the machine can read.
                environment["PGPASSWORD"] = chosen["PASSWORD"]
        program = str(programs.program("psql"))
        self.stdout.flush()
        os.execve(program, [program, target, *options["arguments"]], environment)  # noqa: S606

    def _backup(self, options: Mapping[str, Any]) -> None:
        cluster = self._cluster("back up")
        if not (cluster.directory / "PG_VERSION").exists():
            raise CommandError(f"There is no database in {cluster.data} to back up. Check LOCI_DATA_DIR.")
        path: Path = options["path"]
        if options["files"]:
            with borrowed_database(cluster):
                size = copy_files(path, cluster=cluster)
            self.stdout.write(f"{path}: {size} bytes, the files of PostgreSQL {cluster.binaries.version}. {NO_KEYS}")
            return
        with borrowed_database(cluster):
            found = backup(
                path, socket_directory=cluster.socket_directory, database=self._database, binaries=cluster.binaries
            )
        self.stdout.write(f"{path}: {found.size} bytes, described by {metadata_path(path).name}. {NO_KEYS}")

    def _restore(self, options: Mapping[str, Any]) -> None:
        cluster = self._cluster("restore")
        if options["path"].is_dir():
            self._restore_files(cluster, options)
            return
        self._confirm(options)
        with borrowed_database(cluster):
            # Before the swap: whatever happens after it, the purges are not forgotten.
            mark_restore()
            found = restore(
                options["path"],
                socket_directory=cluster.socket_directory,
                database=self._database,
                binaries=cluster.binaries,
            )
            age = f" It was made at {found.created_at}." if found is not None else ""
            self.stdout.write(f"The backup is restored.{age} Migrations that it lacks are applied when `up` starts.")
            replay_after_restore(self.stdout.write)
            self._tell_lost_texts()

    def _restore_files(self, cluster: Cluster, options: Mapping[str, Any]) -> None:
        supervisor = running_instance(cluster.data)
        if supervisor is not None:
            raise CommandError(
                f"`up` is running (process {supervisor}), and files are put in place while the server is stopped. Stop "
                "that process first. Nothing was changed."
            )
        check_files(options["path"].expanduser().absolute(), binaries=cluster.binaries)
        self._confirm(options)
        was_running = cluster.stop()
        mark_restore()
        restore_files(options["path"], cluster=cluster)
        try:
            provision(cluster.socket_directory, self._database)
            self.stdout.write("The files are restored. Migrations that they lack are applied when `up` starts.")
            replay_after_restore(self.stdout.write)
            self._tell_lost_texts()
        finally:
            if not was_running:
                cluster.stop()

    def _tell_lost_texts(self) -> None:
        """Say it where the restored texts do not open; ends with 3 then."""
        try:
            state = schema_state()
            if state.pending or state.unknown:
                return
            lost = owners_with_lost_texts()
        except (LociError, DatabaseError) as error:
            self.stdout.write(
                f"Whether the restored texts open could not be looked at ({type(error).__name__}). Run "
                "`python3 manage.py doctor` before you go on."
            )
            return
        finally:
            connections.close_all()
        if lost.whole or lost.partly:
            self.stderr.write(f"{described(lost)} {REMEDY}")
            raise SystemExit(LOST_EXIT)

    def _confirm(self, options: Mapping[str, Any]) -> None:
        if options["yes"]:
            return
        if not sys.stdin.isatty():
            raise CommandError(
                "This replaces the database by the backup, and there is no terminal to ask at. Nothing was changed. "
                "Add --yes to say that you mean it."
            )
        if input(f"{BEFORE} Type yes to go on: ".format(database=self._database)).strip() != "yes":
            raise CommandError("Nothing was changed.")

    def _provision(self, options: Mapping[str, Any]) -> None:
        database = options["database"] or (self._database if options["passwords_of_settings"] else "loci")
        if options["sql"]:
            self.stdout.write(script(database), ending="")
            return
        url = options["url"] or settings.SUPERUSER_URL
        if options["passwords_of_settings"]:
            if not url:
                raise CommandError("--passwords-of-settings needs --url or LOCI_SUPERUSER_URL. Nothing was changed.")
            provision_server(url, database, passwords=_passwords_of_settings())
            self.stdout.write(f"Database {database} is set up, with the passwords of the settings.")
            return
        if not url:
            cluster = self._cluster("set up without --url or LOCI_SUPERUSER_URL")
            with borrowed_database(cluster):
                provision(cluster.socket_directory, database)
            self.stdout.write(f"Database {database} is set up on the embedded server.")
            return
        names = [role.name for role in ROLES] if options["passwords"] else []
        passwords = {name: secrets.token_urlsafe(PASSWORD_BYTES) for name in names}
        provision_server(url, database, passwords=passwords)
        self.stdout.write(f"Database {database} is set up.")
        if passwords:
            self.stdout.write("These passwords are shown once:")
            for name, use in ((APP, "DATABASE_URL"), (OWNER, "DATABASE_SCHEMA_URL"), (BACKUP, "for pg_dump")):
                self.stdout.write(f"  {name} ({use}): {passwords[name]}")

    @property
    def _database(self) -> str:
        return str(settings.DATABASES["default"]["NAME"])

    def _cluster(self, act: str) -> Cluster:
        if not settings.EMBEDDED_DATABASE:
            raise CommandError(NOT_OURS.format(act=act))
        return Cluster(data_directory())

    def _require_running(self, cluster: Cluster) -> None:
        if not cluster.status().running:
            raise CommandError("The database does not run. Start it with `manage.py db start`.")


def _passwords_of_settings() -> dict[str, str]:
    """Give the passwords that web, workers and migrations will use, by role.

    Raises:
        CommandError: an address is missing, names another role than it is for, or has no password.
    """
    passwords = {}
    for alias, role, name in (("default", APP, "DATABASE_URL"), ("schema", OWNER, "DATABASE_SCHEMA_URL")):
        chosen = settings.DATABASES[alias]
        if settings.EMBEDDED_DATABASE or chosen["USER"] != role or not chosen["PASSWORD"]:
            raise CommandError(f"{name} must name the role {role} and its password. Nothing was changed.")
        passwords[role] = chosen["PASSWORD"]
    return passwords


def _conninfo(chosen: Mapping[str, Any]) -> str:
    # Django's own options (a pool, for example) are no text; what is left is libpq's.
    options = {name: value for name, value in chosen.get("OPTIONS", {}).items() if isinstance(value, str)}
    secret = next((name for name in SECRET_OPTIONS if options.get(name)), None)
    if secret is not None:
        raise CommandError(
            f"psql takes `{secret}` among its arguments only, which every user of the machine can read. Call psql "
            f"yourself, from a connection service file that names it, or leave it out of the address."
        )
    parts = {
        "host": chosen.get("HOST"),
        "port": chosen.get("PORT"),
        "user": chosen.get("USER"),
        "dbname": chosen.get("NAME"),
    }
    return make_conninfo("", **options, **{name: str(value) for name, value in parts.items() if value})
