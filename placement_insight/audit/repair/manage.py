"""``placement-manage audit --plan`` and ``--apply``: repairs in two steps, and their undo."""

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from oslo_config import cfg

from placement import db_api
from placement.cmd.errors import CommandError
from placement.conf.base import manage_command
from placement.core.model import IncompleteConsumer
from placement.core.text import printable
from placement.db.resources.providers import provider_names
from placement.db.store import Store
from placement_insight.audit.repair.action import Action, InvalidRepairFile
from placement_insight.audit.repair.apply import (
    ALREADY,
    SKIPPED,
    Outcome,
    apply_action,
    is_applied,
    undo_action,
)
from placement_insight.audit.repair.durable_file import open_own, sync_folder
from placement_insight.audit.repair.plan_file import (
    UNDO,
    Entry,
    Header,
    RepairFile,
    apply_command,
    is_begun,
    latest_entries,
    line,
    planned_actions,
    read_file,
)
from placement_insight.audit.text import value_text
from placement_insight.documents import document
from placement_insight.names import named, texts_in

COMPLETE: Final = 0
SOME_SKIPPED: Final = 4
"""The exit status if actions were skipped because their rows have changed since the plan."""

Result = tuple[Action, Outcome]


class Journal:
    """An undo file, opened for a plan or an undo.

    Before each commit a line is forced to the disk, and after the commit a line that confirms it.
    A killed program leaves at most one incomplete line, which the next run removes: the header, an
    entry whose action was not committed, or a confirmation. One program at a time writes to the
    file.
    """

    def __init__(self, file: IO[bytes], path: Path, header: Header) -> None:
        self._file = file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(
                f"Another program writes to {path}. Wait until it has exited, then try again."
            ) from None
        content = file.read()
        self.recorded = _recorded(content, path, header)
        self._end = content.rfind(b"\n") + 1
        file.truncate(self._end)
        if not self._end:
            self.append(header)
        sync_folder(path.parent)

    def append(self, content: Header | Entry) -> None:
        """Append a line, and force it to the disk.  Raises: OSError, and nothing remains."""
        encoded = content.line().encode()
        try:
            self._file.seek(self._end)
            self._file.write(encoded)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            os.ftruncate(self._file.fileno(), self._end)
            raise
        self._end += len(encoded)


def _recorded(content: bytes, path: Path, header: Header) -> dict[str, Entry]:
    """Return the last entry of each action, by the line of the action."""
    try:
        text = content.decode()
        if is_begun(text):
            return {}
        file = read_file(text)
        if (file.header.kind, file.header.plan) != (UNDO, header.plan):
            raise CommandError(
                f"{path} is not the undo file of this plan. Name another file by --undo, or move "
                "it."
            )
        return latest_entries(file)
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{path} is not an undo file: it is not UTF-8. Name another by --undo, or move it."
        ) from error
    except InvalidRepairFile as error:
        raise CommandError(f"{path}: {error}") from error


# --- applying and undoing -----------------------------------------------------------------


def run(conf: cfg.ConfigOpts) -> int:
    """Apply the plan or the undo file; return 0, or 4 if an action was skipped."""
    options = conf.category
    path = Path(options.apply)
    text = _text(path)
    try:
        file = read_file(text)
        with db_api.opened(conf) as store:
            _check_database(store, file, path, any_epoch=options.any_epoch)
            if file.header.kind == UNDO:
                with open(path, "r+b", opener=open_own) as undo:
                    journal = Journal(undo, path, file.header)
                    undone = list(_undo(store, journal, unconfirmed=options.unconfirmed))
                return _report(conf, store, undone, None)
            undo_path = Path(options.undo) if options.undo else path.with_name(f"{path.name}.undo")
            actions = planned_actions(file)
            digest = hashlib.sha256(text.encode()).hexdigest()
            header = Header.now(UNDO, file.header.database, digest)
            with open(undo_path, "r+b", opener=_or_created) as undo:
                journal = Journal(undo, undo_path, header)
                results = list(_apply(store, actions, journal, db_api.incomplete_consumer(conf)))
            return _report(conf, store, results, undo_path)
    except InvalidRepairFile as error:
        raise CommandError(f"{path}: {error}") from error


def _or_created(path: str, flags: int) -> int:
    return open_own(path, flags | os.O_CREAT)


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", opener=open_own) as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not a plan of repairs: it is not UTF-8.") from error


def _check_database(store: Store, file: RepairFile, path: Path, *, any_epoch: bool) -> None:
    epoch = str(store.epoch())
    if file.header.database != epoch and not any_epoch:
        raise CommandError(
            f"{path} was written for the database with epoch {file.header.database}, but this "
            f"database has epoch {epoch}: it is another database, was restored, or `db sync` was "
            "run. Write a new plan, or add --any-epoch if you know that it is the same database."
        )


def _apply(
    store: Store, actions: Iterable[Action], journal: Journal, incomplete: IncompleteConsumer
) -> Iterator[Result]:
    for action in actions:
        outcome = apply_action(store, action, incomplete, journal.append)
        recorded = journal.recorded.get(line(action.as_json()))
        if outcome.status == SKIPPED and recorded and is_applied(store, recorded):
            outcome = Outcome(ALREADY)
        yield action, outcome


def _undo(store: Store, journal: Journal, *, unconfirmed: bool) -> Iterator[Result]:
    for entry in reversed(journal.recorded.values()):  # the last one first
        outcome = undo_action(store, entry, journal.append, unconfirmed=unconfirmed)
        yield entry.action, outcome


def _report(
    conf: cfg.ConfigOpts, store: Store, results: Sequence[Result], undo: Path | None
) -> int:
    skipped = [(action, outcome) for action, outcome in results if outcome.status == SKIPPED]
    texts = {text for action, _ in skipped for text in texts_in(action.as_json())}
    with store.read() as tx:
        names = provider_names(tx.connection, texts)
    options, manage = conf.category, manage_command(conf)
    print(_as_json(results, undo, names) if options.json else _as_text(results, names))
    if undo and not options.json:
        print(f"To undo: {apply_command(str(undo), manage, any_epoch=options.any_epoch)}")
    return SOME_SKIPPED if skipped else COMPLETE


def _as_json(results: Iterable[Result], undo: Path | None, names: Mapping[str, str]) -> str:
    rows = [
        {"status": outcome.status, "reason": outcome.reason, "action": action.as_json()}
        for action, outcome in results
    ]
    undo_path = str(undo) if undo else None
    return json.dumps(document(undo=undo_path, actions=rows, names=dict(names)))


def _as_text(results: Iterable[Result], names: Mapping[str, str]) -> str:
    counts = Counter(outcome.status for _, outcome in results)
    lines = [
        printable(f"skipped {_fields(action, names)}: {named(outcome.reason, names)}")
        for action, outcome in results
        if outcome.status == SKIPPED
    ]
    lines.append(
        f"{counts['applied']} applied, {counts['already']} applied already, "
        f"{counts['skipped']} skipped"
    )
    return "\n".join(lines)


def _fields(action: Action, names: Mapping[str, str]) -> str:
    fields = action.as_json()
    texts = (f"{name} {value_text(value, names)}" for name, value in fields.items() if value)
    return ", ".join(texts).removeprefix("action ")
