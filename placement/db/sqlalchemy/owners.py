"""The projects, users and types that consumers refer to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import ConsumerClaim
from placement.db.sqlalchemy.lookups import Lookup
from placement.db.sqlalchemy.models import consumer_types, projects, users

PROJECT, USER, TYPE = projects.c.external_id, users.c.external_id, consumer_types.c.name


class Owner(NamedTuple):
    """The ids of project, user and type of a consumer; ``type_id`` None keeps the type."""

    project_id: int
    user_id: int
    type_id: int | None


@dataclass(slots=True)
class OwnerIds:
    """The ids of projects, users and consumer types that this transaction has read.

    They are valid in this transaction only. A process that kept them would, after a restore of
    the database or a failover that lost commits, write claims as another project's.
    """

    by_column: dict[sa.Column[str], dict[str, int]] = field(
        default_factory=lambda: {PROJECT: {}, USER: {}, TYPE: {}}
    )
    looked_up: bool = False  # all names of the claims: what is missing does not exist

    def missing(self, claims: Iterable[ConsumerClaim]) -> list[Lookup]:
        """Return the names in the claims whose ids were not read, by column."""
        names: dict[sa.Column[str], dict[str, None]] = {PROJECT: {}, USER: {}, TYPE: {}}
        for claim in claims:
            names[PROJECT][claim.project_id] = names[USER][claim.user_id] = None
            if claim.type is not None:
                names[TYPE][claim.type] = None
        return [
            (column, missing)
            for column, own in names.items()
            if (missing := [name for name in own if name not in self.by_column[column]])
        ]

    def read_from(self, rows: Iterable[sa.Row[Any]]) -> None:
        """Add the current owners of consumers: in most claims they stay the same."""
        for row in rows:
            self.by_column[PROJECT][row.project] = row.project_id
            self.by_column[USER][row.user] = row.user_id
            self.by_column[TYPE][row.type] = row.type_id

    def of(self, claim: ConsumerClaim) -> Owner:
        """Return the ids for a claim whose names were all read."""
        return Owner(
            self.by_column[PROJECT][claim.project_id],
            self.by_column[USER][claim.user_id],
            None if claim.type is None else self.by_column[TYPE][claim.type],
        )
