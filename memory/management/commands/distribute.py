"""`manage.py distribute`: prepare the database for owners that are spread over several servers by Citus."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from config.routers import SCHEMA
from memory.services.distribution.applying import carry_out
from memory.services.distribution.catalogue import read_catalogue
from memory.services.distribution.places import Place
from memory.services.distribution.planning import DEFAULT_SHARDS, Plan, make_plan
from memory.services.distribution.preparing import Step

# Other than 1, so that a script can tell "not here" from "failed".
NOT_HERE: Final = 3


class Command(BaseCommand):
    """Show, write out, check, or carry out the distribution of all tables by owner."""

    help = "Spread owners over several PostgreSQL servers with Citus: show the plan, write its SQL, check it, or do it."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what to do; without a choice the plan is carried out."""
        group = parser.add_mutually_exclusive_group()
        group.add_argument("--plan", action="store_true", help="show where each table goes and what changes before")
        group.add_argument("--sql", action="store_true", help="print the statements, to be read or run by psql")
        group.add_argument(
            "--check", action="store_true", help="say whether all tables and keys have a place; changes nothing"
        )
        parser.add_argument("--shards", type=int, default=DEFAULT_SHARDS, help="shards of each table, 1 to 4096")
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what is asked; exit code 1 when the plan has problems or fails, 3 where there is no Citus."""
        try:
            catalogue = read_catalogue(SCHEMA)
            projects = bool(settings.NEO4J_URI) or catalogue.projected
            plan = make_plan(catalogue, shards=options["shards"], projects=projects)
        except ValueError as error:
            raise CommandError(f"There is no plan: {error}.") from error
        except DatabaseError as error:
            raise CommandError(
                f"The database cannot be asked ({type(error).__name__}). Nothing was changed."
            ) from error
        if not plan.tables:
            raise CommandError("This database has no tables yet. Run `python3 manage.py migrate` first.")
        if options["plan"] or options["check"]:
            self._show(plan, as_json=options["json"], brief=options["check"])
            if options["check"] and plan.problems:
                raise SystemExit(1)
        elif options["sql"]:
            self._write(plan, as_json=options["json"])
        else:
            self._carry_out(plan, catalogue.distributed, as_json=options["json"])

    def _show(self, plan: Plan, *, as_json: bool, brief: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(plan.summary()))
            return
        for place in Place:
            tables = [one for one in plan.tables if one.place == place]
            if not tables:
                continue
            size = sum(one.bytes for one in tables) / 2**20
            self.stdout.write(f"{place}: {len(tables)} tables, {size:,.1f} MiB")
            for one in () if brief else tables:
                by = f" by {one.column}" if one.column else ""
                self.stdout.write(f"  {one.table}{by}: {one.why}")
        self.stdout.write(f"Changed first: {len(plan.prepare)}")
        for step in () if brief else plan.prepare:
            self.stdout.write(f"  {step.kind} {'.'.join(filter(None, (step.table, step.subject)))}: {step.why}")
        self.stdout.write(f"Shards of each table: {plan.shards}. Citus in this database: {_yes(plan.has_citus)}.")
        for problem in plan.problems:
            self.stdout.write(f"Problem: {problem}")
        if not plan.problems:
            self.stdout.write("Every table has a place, and every key that must change can be changed.")

    def _write(self, plan: Plan, *, as_json: bool) -> None:
        if plan.problems:
            raise CommandError("\n".join(["The plan has problems, so there are no statements.", *plan.problems]))
        if as_json:
            self.stdout.write(json.dumps({"prepare": _texts(plan.prepare), "spread": _texts(plan.spread)}))
            return
        for title, steps in (("Plain PostgreSQL", plan.prepare), ("Citus", plan.spread)):
            self.stdout.write(f"-- {title}\nBEGIN;")
            for step in steps:
                self.stdout.write(f"-- {step.kind} {step.subject}: {step.why}")
                for statement in step.statements:
                    self.stdout.write(f"{statement.strip().rstrip(';')};")
            self.stdout.write("COMMIT;")

    def _carry_out(self, plan: Plan, spread: frozenset[str], *, as_json: bool) -> None:
        if not plan.has_citus:
            changes = len(plan.prepare)
            raise CommandError(
                "This database has no Citus, so nothing can be spread and nothing was changed. On a coordinator with "
                "the extension (CREATE EXTENSION citus, by a superuser) this command does it. What it would do here: "
                f"{len(plan.tables)} tables, {changes} changes of keys, references and partitions first; "
                "`python3 manage.py distribute --plan` shows them, `--sql` writes them out.",
                returncode=NOT_HERE,
            )
        if plan.problems:
            raise CommandError("\n".join(["The plan has problems; nothing was changed.", *plan.problems]))
        if not settings.DATABASE_DISTRIBUTED:
            raise CommandError(
                "DATABASE_DISTRIBUTED is not set, so this program would not tell the owner's server whose transaction "
                "it is and find nothing there. Nothing was changed. Set it to true, stop all processes, and repeat."
            )
        done = [step for step in plan.spread if step.table in spread]
        left = [step for step in plan.spread if step not in done]
        try:
            for steps in (plan.prepare, left):
                carry_out(steps, using=SCHEMA, tell=lambda step: self._tell(step, as_json))
        except DatabaseError as error:
            raise CommandError(f"The database refused a statement: {error}") from error
        if as_json:
            self.stdout.write(json.dumps({"changed": len(plan.prepare), "spread": len(left), "already": len(done)}))
        else:
            self.stdout.write("All tables are where the plan has them. Start the processes again.")

    def _tell(self, step: Step, as_json: bool) -> None:
        if not as_json:
            self.stdout.write(f"{step.kind} {'.'.join(filter(None, (step.table, step.subject)))}")
            self.stdout.flush()


def _texts(steps: tuple[Step, ...]) -> list[str]:
    return [text for step in steps for text in step.statements]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
