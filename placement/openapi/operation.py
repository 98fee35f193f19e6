"""What an operation takes and answers, as a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placement.schemas.base import Schema, Version, Windows

Answers = Sequence[tuple[Version, Mapping[int, Schema | None]]]
Bodies = Sequence[tuple[Version, Schema | None]]
Codes = frozenset[int]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: ``success`` is the answer by status, without a schema if it has no body.

    ``errors`` are the statuses of its own mistakes; those that any request can make are not
    among them.
    """

    success: Answers
    errors: Codes = frozenset()
    body: Bodies = ()
    query: Windows = ()
