"""What the actions of a repair plan have in common.

An action contains the state of its rows when the plan was written (generations, amounts, names).
It is performed in one transaction, which locks the rows, consumers first, then providers in the
order of ids, like every write. If the rows have changed since, the action is skipped.
Actions are performed one by one: a later action can rely on an earlier one (``move_allocations``
for each consumer of a provider, then ``delete_provider``).

The class of an action has its fields in a file, with the values that they accept; its statements;
and the rows that are recorded for its undo.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import NoneType
from typing import Annotated, Any, ClassVar, Final, Self, dataclass_transform, get_args, get_origin

from placement.core import claims
from placement.core.text import is_storable
from placement_insight.audit.repair import rows
from placement_insight.audit.repair.transaction import Repair

LONGEST_NAME: Final = 200
"""The maximum number of characters in the name of a provider."""

Line = Mapping[str, Any]
"""The JSON object of a line of a file."""


class InvalidRepairFile(Exception):  # noqa: N818
    """The file cannot be used; the message states the reason and the action."""


# --- types of fields, with the values that they accept in a file --------------------------


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_storable(value)


def _is_number(value: object) -> bool:
    return type(value) is int and value in rows.BIG_INTEGERS


def _is_id(value: object) -> bool:
    return _is_number(value) and value in rows.INTEGERS


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_amounts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(by_class, dict)
        and _is_texts([uuid, *by_class])
        and all(map(_is_number, by_class.values()))
        for uuid, by_class in value.items()
    )


def is_provider_name(value: object) -> bool:
    """Return whether the API accepts the name for a provider."""
    return _is_text(value) and 0 < len(str(value)) <= LONGEST_NAME


Text = Annotated[str, _is_text]
Texts = Annotated[Sequence[str], _is_texts]
Number = Annotated[int, _is_number]
Id = Annotated[int, _is_id]
ProviderName = Annotated[str, is_provider_name]
Amounts = Annotated[claims.Amounts, _is_amounts]


def _accepts(type_: object, value: object) -> bool:
    """Return whether a field of one of the types above, or of a union with None, has the value."""
    if get_origin(type_) is Annotated:
        return bool(get_args(type_)[1](value))
    if type_ is NoneType:
        return value is None
    return any(_accepts(part, value) for part in get_args(type_))


# --- actions --------------------------------------------------------------------------------


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Action(ABC):
    """One change; ``finding`` is the code of the finding that it repairs, or empty.

    ``kind`` is the name of the action in a file.
    """

    kind: ClassVar[str]
    finding: Text = ""

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def from_json(cls, values: Line) -> Self:
        """Return the action with these fields.  Raises: InvalidRepairFile."""
        types = {attribute.name: attribute.type for attribute in fields(cls)}
        if types.keys() != values.keys():
            raise InvalidRepairFile(
                f"An action {cls.kind} has the fields {', '.join(sorted(types))}; "
                f"the file has {', '.join(sorted(values)) or 'none'}."
            )
        for name, value in values.items():
            if not _accepts(types[name], value):
                raise InvalidRepairFile(
                    f"{json.dumps(value)} is not a value of {cls.kind}.{name}."
                )
        return cls(**values)

    def as_json(self) -> dict[str, object]:
        """Return the object that is the line of the action in a file."""
        return {"action": self.kind, **asdict(self)}

    @abstractmethod
    def perform(self, repair: Repair) -> None:
        """Lock the rows, compare them with the plan, record them, and change them.

        Raises: ChangedSince, and the errors of the same change over the API.
        """
