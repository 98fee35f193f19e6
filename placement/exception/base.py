"""The base of all exceptions."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T", bound=type)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mistake(cls: _T) -> _T:
    """Give an exception class the constructor of a dataclass; instances stay distinct."""
    return dataclass(eq=False)(cls)  # type: ignore[return-value]


class PlacementException(Exception):
    """Anything that placement itself raises."""


def listed(names: Iterable[str]) -> str:
    """Return the names, sorted and joined, for a message."""
    return ", ".join(sorted(names))
