"""``placement-status``: checks whether a deployment is ready for an upgrade."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import sqlalchemy as sa
from oslo_config import cfg
from oslo_log import log
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from placement import conf as options
from placement import db_api, deploy, policy
from placement.cmd import errors
from placement.conf.base import parse, with_options_in_use
from placement.core.snapshot.provider_table import ParentLoop, tree_order
from placement.core.snapshot.rows import NO_ROW, numbers
from placement.db import usage_counters
from placement.db.maintenance import data_migrations
from placement.db.maintenance.used_numbers import used_numbers
from placement.db.schema import revisions
from placement.db.schema.revisions import IncompatibleSchema
from placement.db.store import Store
from placement.db.tables import (
    inventories,
    resource_classes,
    resource_provider_traits,
    resource_providers,
    traits,
)

CANNOT_CHECK = 255
MIGRATE = "Run `placement-manage db online_data_migrations`."

Query = tuple[str, sa.Select[Any]]
"""A sentence, and the statement for its number; 0 is no problem."""

_COUNT = sa.select(sa.func.count())
_ROOTS: Query = (
    "There is at least one resource provider table record which misses its root provider id. "
    f"{MIGRATE}",
    _COUNT.where(resource_providers.c.root_provider_id.is_(None)),
)
_CONSUMERS: Query = (
    f"There are {{}} incomplete consumers table records for existing allocations. {MIGRATE}",
    _COUNT.select_from(data_migrations.WITHOUT_RECORD.order_by(None).subquery()),
)
_INCONSISTENT: tuple[Query, ...] = (
    (
        "{} inventories have a resource class that does not exist. Delete these inventories.",
        _COUNT.where(inventories.c.resource_class_id.not_in(sa.select(resource_classes.c.id))),
    ),
    (
        "{} inventories have a step_size below 1. Set it to 1.",
        _COUNT.where(inventories.c.step_size < 1),
    ),
    (
        "{} associations of resource providers have a trait that does not exist. Delete them.",
        _COUNT.where(resource_provider_traits.c.trait_id.not_in(sa.select(traits.c.id))),
    ),
    (
        "{} resource providers have no name. Set the name of each, for instance to its UUID.",
        _COUNT.where(resource_providers.c.name.is_(None)),
    ),
)
_IS_ROOT = resource_providers.c.parent_provider_id.is_(None)
_LIMIT_OF_NOVA = 1000  # the default of [scheduler]max_placement_results
_NOT_ROTATED = "Set [placement]rotate_limited_candidates to true."
_DEPTH_FIRST = (
    "Set [placement]allocation_candidates_generation_strategy to breadth-first, or "
    "max_allocation_candidates to -1."
)
_PARENTS = sa.select(
    resource_providers.c.id, resource_providers.c.uuid, resource_providers.c.parent_provider_id
)


def _counted(connection: sa.Connection, *queries: Query) -> Iterator[str]:
    for sentence, statement in queries:
        if count := connection.scalar(statement):
            yield sentence.format(count)


def inconsistent_rows(connection: sa.Connection) -> Iterator[str]:
    """Yield a description and a remedy for each kind of inconsistent row."""
    yield from _counted(connection, *_INCONSISTENT)
    providers = connection.execute(_PARENTS).all()
    row_of = {provider.id: row for row, provider in enumerate(providers)}
    parents = numbers(row_of.get(one.parent_provider_id, NO_ROW) for one in providers)
    try:
        tree_order(parents, np.arange(len(providers), dtype=np.int32))
    except ParentLoop as loop:
        looped = sorted(providers[row].uuid for row in loop.rows.tolist())
        uuids = ", ".join(looped[:5])
        yield (
            f"{len(looped)} resource providers are in or below a loop of parents ({uuids}). "
            "Set parent_provider_id of one of each loop to NULL, and root_provider_id of all."
        )


def _usage_counters(connection: sa.Connection) -> Iterator[str]:
    columns = sa.inspect(connection).get_columns("inventories")
    if not any(column["name"] == "used" for column in columns):
        return  # `db sync` adds the column
    if wrong := len(usage_counters.differences(connection)):
        yield (
            f"The usage counters of {wrong} inventories differ from their allocations. "
            "Run `placement-manage db sync`."
        )


def _used_numbers(connection: sa.Connection) -> Iterator[str]:
    high = [used for used in used_numbers(connection) if used.is_high]
    if high:
        shares = ", ".join(f"{used.column} {used.share:.0%}" for used in high)
        yield (
            f"Most numbers of 32 bits are used: {shares}. At 100% writes are refused. "
            "See 'Numbers are used up' on the page 'Troubleshooting' of the documentation."
        )


def _result(code: Code, sentences: Iterable[str], separator: str = " ", end: str = "") -> Result:
    """Return a result with this code if there are sentences, otherwise success."""
    text = separator.join(sentences)
    return Result(code, text + end) if text else Result(Code.SUCCESS)


def _of_data(
    code: Code, find: Callable[[sa.Connection], Iterable[str]]
) -> Callable[["Checks"], Result]:
    """Return a check that has this code if it finds problems in the database."""

    def check(checks: "Checks") -> Result:
        with checks.store.read() as tx:
            sentences = list(find(tx.connection))
        return _result(code, (with_options_in_use(each, checks.conf) for each in sentences))

    return check


class Checks(upgradecheck.UpgradeCommands):
    """The checks; they also run against the schema of an earlier release."""

    store: Store

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf

    def _policy_file(self) -> Result:
        return common_checks.check_policy_json(self, self.conf)

    def _policy_rules(self) -> Result:
        try:
            _, warnings = policy.load(self.conf)
        except RuntimeError as error:
            return Result(Code.FAILURE, str(error))
        return _result(Code.WARNING, warnings, "; ", ". Correct or remove these rules.")

    def _startup(self) -> Result:
        """Check the conditions for the start of the API; its start may upgrade the schema."""
        try:
            deploy.check(self.conf)
            if not self.conf.placement_database.sync_on_startup:
                revisions.check_is_new_enough(self.store)
        except (RuntimeError, ImportError, cfg.Error) as error:
            reason = with_options_in_use(errors.message(error), self.conf)
            return Result(Code.FAILURE, f"The API does not start: {reason}")
        return Result(Code.SUCCESS)

    def _limited_candidates(self) -> Result:
        """Check that each root gets its turn where a limit leaves out roots."""
        settings = deploy.search_settings(self.conf)
        is_depth_first = settings.max_candidates is not None and not settings.breadth_first
        limit = settings.max_candidates if is_depth_first else _LIMIT_OF_NOVA
        with self.store.read() as tx:
            roots = tx.connection.scalar(_COUNT.where(_IS_ROOT)) or 0
        gets_turns = settings.rotate and not is_depth_first
        if settings.randomize or gets_turns or limit is None or roots <= limit:
            return Result(Code.SUCCESS)
        option = _DEPTH_FIRST if is_depth_first else _NOT_ROTATED
        return Result(
            Code.WARNING,
            f"A response with {limit:,} candidates always leaves out the same of {roots:,} root "
            f"providers, which may get no servers. {option}",
        )

    def _database_revision(self) -> Result:
        try:
            return _result(Code.WARNING, filter(None, [revisions.unknown_revision(self.store)]))
        except IncompatibleSchema as error:
            return Result(Code.FAILURE, str(error))

    _upgrade_checks = (
        ("API Startup", _startup),
        ("Database Revision", _database_revision),
        ("Missing Root Provider IDs", _of_data(Code.FAILURE, lambda data: _counted(data, _ROOTS))),
        ("Incomplete Consumers", _of_data(Code.WARNING, lambda data: _counted(data, _CONSUMERS))),
        ("Policy File JSON to YAML Migration", _policy_file),
        ("Policy Rules", _policy_rules),
        ("Usage Counters", _of_data(Code.FAILURE, _usage_counters)),
        ("Odd Rows", _of_data(Code.FAILURE, inconsistent_rows)),
        ("Limited Candidates", _limited_candidates),
        ("Used Numbers", _of_data(Code.WARNING, _used_numbers)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks and return the worst result; CANNOT_CHECK if they cannot be run."""
    conf = cfg.ConfigOpts()
    command_line = sys.argv[1:] if arguments is None else arguments
    command = partial(_run, conf, command_line)
    return errors.run("placement-status", command, conf, failure=CANNOT_CHECK)


def _run(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> int:
    log.register_options(conf)
    options.register_opts(conf)
    checks = Checks(conf)
    upgradecheck.register_cli_options(conf, checks)
    upgradecheck.CONF = conf  # the library reads --json from it
    parse(conf, arguments)
    with db_api.opened(conf) as checks.store:
        revisions.check_has_tables(checks.store)
        status: int = conf.command.action_fn()
        return status


if __name__ == "__main__":
    sys.exit(main())
