"""The type of the description of an operation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placement.schemas.base import Schema, Version, Windows

Responses = Sequence[tuple[Version, Mapping[int, Schema | None]]]
Bodies = Sequence[tuple[Version, Schema | None]]
Codes = frozenset[int]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: ``success`` maps a status to the schema of its body, None without a body.

    ``errors`` are the error statuses particular to the operation, not those of any request.
    ``line`` is the schema of each line, if the response can be newline-delimited JSON.
    """

    success: Responses
    errors: Codes = frozenset()
    body: Bodies = ()
    query: Windows = ()
    line: Schema | None = None
