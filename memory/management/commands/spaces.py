"""`manage.py spaces`: move an installation to another embedder while it runs, and back."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.core.management.base import BaseCommand

from memory.management.answers import answer, counted, errors_for_operators
from memory.models import EmbeddingSpace, SpaceState
from memory.services.amounts import owners
from memory.services.spaces.emptying import Tell
from memory.services.spaces.in_use import BESIDE, model_of
from memory.services.spaces.indexes import indexes_of
from memory.services.spaces.moving import fill_now, open_space, retire_space, switch_space
from memory.services.spaces.progress import progress_of

# The space beside the one in use pauses, or that in use is not the configured embedder's.
ATTENTION: Final = 3
NOT_YET: Final = "No memory has a vector yet; the first one opens the space of EMBEDDING_PROVIDER."
SETTINGS: Final = (
    "PROVIDER",
    "MODEL",
    "BASE_URL",
    "API_KEY",
    "MODEL_PATH",
)


class Command(BaseCommand):
    """Look after embedding spaces."""

    help = "Move to another embedder while recall goes on: open its space, fill it, switch, switch back, retire."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        status = actions.add_parser(
            "status", help=f"list the spaces and how far filling is; ends with {ATTENTION} when that pauses"
        )
        opening = actions.add_parser(
            "open", help="open the space of the second embedder, make its indexes, and have the workers fill it"
        )
        fill = actions.add_parser("fill", help="make the missing vectors here and now, beside the workers")
        switch = actions.add_parser(
            "switch", help="use the space beside the one in use, in every process at once; again, to go back"
        )
        switch.add_argument(
            "--force", action="store_true", help="although vectors are missing; words find those memories until then"
        )
        retire = actions.add_parser(
            "retire", help="give up the space beside the one in use; its vectors and indexes are removed"
        )
        retire.add_argument(
            "id", type=int, nargs="?", metavar="ID", help="one that was given up before, of which something is left"
        )
        for action in (status, opening, fill, switch, retire):
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "status": self._status,
            "open": self._open,
            "fill": self._fill,
            "switch": self._switch,
            "retire": self._retire,
        }
        with errors_for_operators():
            actions[options["action"]](options)

    def _status(self, options: dict[str, Any]) -> None:
        spaces = [_described(space) for space in EmbeddingSpace.objects.order_by("pk")]
        lines = [line for space in spaces for line in _lines(space)] or [NOT_YET]
        answer(self.stdout.write, {"spaces": spaces}, as_json=options["json"], lines=lines)
        if any(space["pause"] or (space["state"] == SpaceState.ACTIVE and not space["configured"]) for space in spaces):
            raise SystemExit(ATTENTION)

    def _open(self, options: dict[str, Any]) -> None:
        space = _described(open_space(tell=self._progress(options)))
        lines = [*_lines(space), "The workers fill it. `manage.py spaces status` shows how far it is."]
        answer(self.stdout.write, {"space": space}, as_json=options["json"], lines=lines)

    def _fill(self, options: dict[str, Any]) -> None:
        space = _described(fill_now(tell=self._progress(options)))
        answer(self.stdout.write, {"space": space}, as_json=options["json"], lines=_lines(space))

    def _switch(self, options: dict[str, Any]) -> None:
        switched = switch_space(force=options["force"], tell=self._progress(options))
        active, standby = _described(switched.active), _described(switched.standby)
        value = {"active": active, "standby": standby, "missing": switched.missing}
        lines = [*_lines(active), *_lines(standby), *_what_to_set()]
        if switched.missing:
            lines.insert(0, f"{counted(switched.missing, 'memory', 'memories')} without a vector: words find them.")
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)

    def _retire(self, options: dict[str, Any]) -> None:
        space = _described(retire_space(space_id=options["id"], tell=self._progress(options)))
        lines = [*_lines(space), "Its vectors and indexes are removed."]
        answer(self.stdout.write, {"space": space}, as_json=options["json"], lines=lines)

    def _progress(self, options: dict[str, Any]) -> Tell:
        """Tell how far a step is, at each tenth of it; nothing beside an answer in JSON."""

        def tell(step: str, done: int, total: int) -> None:
            if not options["json"] and (done == total or 10 * done // total > 10 * (done - 1) // total):
                self.stdout.write(f"{step}: {done} of {total}")

        return tell


def _described(space: EmbeddingSpace) -> dict[str, Any]:
    indexes = indexes_of(space.pk)
    return {
        "id": space.pk,
        "provider": space.provider,
        "model": space.model,
        "dimension": space.dimension,
        "state": str(space.state),
        "opened_at": space.created_at,
        "switched_at": space.switched_at,
        "configured": model_of(space) is not None,
        "pause": space.pause,
        "paused_at": space.paused_at,
        "indexes": {"count": indexes.count, "bytes": indexes.size, "valid": indexes.valid},
        "progress": progress_of(space).described() if space.state in BESIDE else None,
    }


def _lines(space: Mapping[str, Any]) -> list[str]:
    indexes = space["indexes"]
    this = f"{space['state']}  {space['provider']}/{space['model']}, {space['dimension']} dimensions"
    lines = [f"{space['id']}  {this}, {counted(indexes['count'], 'index', 'indexes')}"]
    if indexes["count"] and not indexes["valid"]:
        lines.append("    Not all indexes can be used. `manage.py spaces open` makes them anew.")
    progress = space["progress"]
    if progress is not None:
        waiting = f"{progress['owners_waiting']} waiting"
        lines.append(
            f"    {progress['done']} of {progress['total']} memories ({progress['percent']} %), "
            f"{owners(progress['owners_whole'])} whole, {waiting}"
            if progress["percent"] is not None
            else f"    not counted yet, {waiting}"
        )
        if progress["closed"]:
            without = counted(progress["closed"], "text got", "texts got")
            lines.append(f"    {without} no vector: not to be opened, or refused by the embedder.")
    if space["pause"]:
        lines.append(f"    Paused: {space['pause']}. It is tried again every minute.")
    if not space["configured"] and space["state"] != SpaceState.RETIRED:
        lines.append("    No configured embedder is this one.")
    return lines


def _what_to_set() -> list[str]:
    """Say what follows from a switch; processes that run need nothing."""
    names = ", ".join(f"EMBEDDING_{name}" for name in SETTINGS)
    exchange = (
        f"Exchange the values of {names} and those of EMBEDDING_SECOND_… before the next start: the first embedder is "
        "the one in use. While the former one stands by, keep it as the second; `manage.py spaces switch` goes back."
    )
    return [
        "Every process uses it now; none has to be restarted.",
        exchange,
        "When you are sure: `manage.py spaces retire`, then remove EMBEDDING_SECOND_….",
    ]
