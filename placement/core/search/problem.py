"""The constraint-satisfaction problem of one root, without the names of its providers."""

from collections.abc import Mapping
from dataclasses import dataclass

Options = tuple[int, ...]
"""The options of a slot: the providers that it can be assigned to, in order of preference."""

Assignment = tuple[int, ...]
"""The option that each slot is assigned to, in the order of the slots."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything around a root that the solutions depend on. Compared by identity.

    Options are numbers: a provider of the root's own tree is its position in
    tree order, counting only providers that are an option of some slot; a sharing
    provider of another tree is ``~row``.

    ``options``      per slot, its options: own tree first
    ``allocatable``  per contended class (in the order of the plan), the allocatable
                     amount at the options of its slots, clipped to the sum of the
                     requested amounts
    ``any_of_bits``  per option of the unsuffixed slots, a bit for each of the plan's
                     ``any_of`` lists that its traits satisfy
    ``parents``      if the request has same_subtree: per position, that of the nearest
                     ancestor that is an option, -1 if there is none
    ``top``          index of a same_subtree, and the option that must be its highest
                     provider; None if any option may be
    ``ancestors``    if the request has same_subtree: per option of another tree, itself
                     and its ancestors
    ``tree_of``      per option a number for its tree, if a candidate must not use two
                     providers of one tree (below 1.29)
    """

    options: tuple[Options, ...]
    allocatable: tuple[Mapping[int, int], ...]
    any_of_bits: Mapping[int, int]
    parents: tuple[int, ...]
    ancestors: Mapping[int, frozenset[int]]
    tree_of: Mapping[int, int]
    top: tuple[int, int] | None
